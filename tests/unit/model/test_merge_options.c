/* Options of merge engines: sequence groups, functions of columns, what excludes what. */
#include "model/table.h"
#include "unit/model/model_test.h"

/* Columns p k a b c g h with ids 10 .. 16; the primary key is p and k, p the partition. */
static const char *const names[] = {"p", "k", "a", "b", "c", "g", "h"};
enum { P, K, A, B, C, G, H, N_COLUMNS };

/* `options` as JSON members; `renamed` is what column a is called by the latest schema. */
static tn_schema *make_schema(fixture *f, const char *options, const char *renamed, int n) {
  char fields[1024] = "";
  tn_schema *schema;
  char *json;
  for (int i = 0; i < n; i++) {
    snprintf(fields + strlen(fields), sizeof(fields) - strlen(fields),
             "%s{\"id\":%d,\"name\":\"%s\",\"type\":\"INT%s\"}", i > 0 ? "," : "", 10 + i,
             i == A ? renamed : names[i], i <= K ? " NOT NULL" : "");
  }
  json = tn_arena_printf(&f->arena,
                         "{\"version\":3,\"id\":1,\"fields\":[%s],\"partitionKeys\":[\"p\"],"
                         "\"primaryKeys\":[\"p\",\"k\"],\"options\":{\"bucket\":\"1\"%s%s}}",
                         fields, options[0] != '\0' ? "," : "", options);
  assert_non_null(json);
  expect_ok(f, tn_schema_decode(f->env, tn_slice_text(json), "schema-1", &schema, &f->err));
  return schema;
}

static tarn_status open_table(fixture *f, const char *options, tn_table **out) {
  tn_schema *schema = make_schema(f, options, "a", N_COLUMNS);
  tarn_status st = tn_table_create(f->env, f->storage, "db.t", "/t", "main", "/t", schema, NULL, 0,
                                   out, &f->err);
  tn_schema_release(schema);
  return st;
}

#define PARTIAL "\"merge-engine\":\"partial-update\""
#define AGGREGATION "\"merge-engine\":\"aggregation\""
#define GROUP(g, members) ",\"fields." g ".sequence-group\":\"" members "\""
#define FUNCTION(c, function) ",\"fields." c ".aggregate-function\":\"" function "\""
#define ON(option) ",\"" option "\":\"true\""

/* ------------------------------------------------------------------ functions */

static const struct {
  const char *options;
  const char *functions[N_COLUMNS];
} functions[] = {
    {PARTIAL, {NULL}},
    {PARTIAL GROUP("g", "a,b") FUNCTION("a", "sum"), {[A] = "sum"}},
    {PARTIAL FUNCTION("a", "last_non_null_value"), {[A] = "last_non_null_value"}},
    {PARTIAL GROUP("g", "a,b,c,h") ",\"fields.default-aggregate-function\":\"max\"" FUNCTION("a",
                                                                                             "sum"),
     {[A] = "sum", [B] = "max", [C] = "max", [H] = "max"}},
    {AGGREGATION,
     {[A] = "last_non_null_value",
      [B] = "last_non_null_value",
      [C] = "last_non_null_value",
      [G] = "last_non_null_value",
      [H] = "last_non_null_value"}},
    {AGGREGATION FUNCTION("a", "sum") FUNCTION("k", "sum") FUNCTION(
         "nope", "sum") ",\"fields.default-aggregate-function\":\"max\",\"sequence.field\":\"h,k\"",
     {[A] = "sum", [B] = "max", [C] = "max", [G] = "max", [H] = "last_value"}},
};

static void merge_options__choose_functions(void **state) {
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(functions); i++) {
    tn_table *table;
    expect_ok(f, open_table(f, functions[i].options, &table));
    for (int c = 0; c < N_COLUMNS; c++) {
      const char *expected = functions[i].functions[c];
      const char *got = table->facts.merge->columns[c].function;
      assert_int_equal(table->facts.merge->columns[c].is_key, c <= K);
      if (c == K && got != NULL) {
        continue; /* a key column that orders: its function does not matter */
      }
      if ((expected == NULL) != (got == NULL) || (got != NULL && strcmp(got, expected) != 0)) {
        fail_msg("%s: %s has %s", functions[i].options, names[c], got != NULL ? got : "none");
      }
    }
    tn_table_release(table);
  }
}

static void merge_options__know_what_columns_ask_for(void **state) {
  fixture *f = *state;
  tn_table *table;
  const tn_column_merge *c;
  expect_ok(f, open_table(f,
                          AGGREGATION ",\"fields.a.ignore-retract\":\"true\",\"fields.a.distinct\":"
                                      "\"true\",\"fields.a.list-agg-delimiter\":\"; \","
                                      "\"fields.a.count-limit\":\"7\",\"fields.a.nested-key\":"
                                      "\"x,y\",\"fields.a.ts-field\":\"t\"",
                          &table));
  c = &table->facts.merge->columns[A];
  assert_true(c->ignores_retract && c->is_distinct);
  assert_string_equal(c->delimiter, "; ");
  assert_int_equal(c->count_limit, 7);
  assert_string_equal(c->nested_key, "x,y");
  assert_string_equal(c->time_field, "t");
  c = &table->facts.merge->columns[B];
  assert_false(c->ignores_retract || c->is_distinct);
  assert_string_equal(c->delimiter, ",");
  assert_int_equal(c->count_limit, INT32_MAX);
  assert_null(c->nested_key);
  assert_null(c->time_field);
  tn_table_release(table);
}

static void merge_options__are_for_two_engines_only(void **state) {
  fixture *f = *state;
  tn_table *table;
  expect_ok(f, open_table(f, "\"merge-engine\":\"deduplicate\"" GROUP("nope", "nope"), &table));
  assert_null(table->facts.merge);
  tn_table_release(table);
}

/* ------------------------------------------------------------------ groups */

static void merge_options__make_groups(void **state) {
  fixture *f = *state;
  tn_table *table;
  const tn_merge_options *o;
  expect_ok(f, open_table(f,
                          PARTIAL GROUP("g,h", "a,b,") ",\"partial-update.remove-record-on-"
                                                       "sequence-group\":\"h\"",
                          &table));
  o = table->facts.merge;
  assert_int_equal(o->n_groups, 1);
  assert_int_equal(o->groups[0].n_columns, 2);
  assert_int_equal(o->groups[0].columns[0], G);
  assert_int_equal(o->groups[0].columns[1], H);
  assert_true(o->groups[0].removes_record);
  assert_int_equal(o->columns[A].group, 0);
  assert_false(o->columns[A].orders_group);
  assert_true(o->columns[G].orders_group && o->columns[H].orders_group);
  assert_int_equal(o->columns[C].group, -1);
  tn_table_release(table);
}

static void merge_options__need_sequence_columns_of_what_is_read(void **state) {
  static const struct {
    const char *more;
    int wanted;
    bool needs_g, needs_h;
  } cases[] = {
      {"", C, false, false},
      {"", A, true, false},
      {"", G, true, false},
      {"", B, false, true},
      {",\"partial-update.remove-record-on-sequence-group\":\"h\"", C, false, true},
  };
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    bool wanted[N_COLUMNS] = {false};
    char options[256];
    tn_table *table;
    snprintf(options, sizeof(options), PARTIAL GROUP("g", "a") GROUP("h", "b") "%s", cases[i].more);
    expect_ok(f, open_table(f, options, &table));
    wanted[cases[i].wanted] = true;
    for (int c = 0; c < N_COLUMNS; c++) {
      bool expected = wanted[c] || (c == G && cases[i].needs_g) || (c == H && cases[i].needs_h);
      assert_int_equal(tn_merge_options_needs(table->facts.merge, wanted, c), expected);
    }
    tn_table_release(table);
  }
}

/* An older schema has columns under other names, and lacks some. */
static void merge_options__find_columns_of_older_schemas(void **state) {
  fixture *f = *state;
  tn_schema *old = make_schema(f, PARTIAL, "was_called_otherwise", H);
  tn_table *table, *then;
  expect_ok(f, open_table(f, PARTIAL GROUP("g", "a,h") FUNCTION("a", "sum"), &table));
  expect_ok(f, tn_table_with_schema(table, old, &then, &f->err));
  assert_string_equal(then->facts.merge->columns[A].function, "sum");
  assert_int_equal(then->facts.merge->columns[A].group, 0);
  tn_table_release(then);
  tn_table_release(table);
  expect_ok(f, open_table(f, PARTIAL GROUP("h", "a"), &table));
  expect_error(f, tn_table_with_schema(table, old, &then, &f->err), TARN_E_UNSUPPORTED,
               "did not have yet");
  tn_table_release(table);
  tn_schema_release(old);
}

/* ------------------------------------------------------------------ refusals */

static const struct {
  const char *options;
  tarn_status status;
  const char *words;
} refusals[] = {
    {PARTIAL GROUP("g", "nope"), TARN_E_INVALID, "nope can not be found"},
    {PARTIAL GROUP("nope", "a"), TARN_E_INVALID, "nope can not be found"},
    {PARTIAL GROUP("g", "a") GROUP("h", "b,a"), TARN_E_INVALID, "defined repeatedly"},
    {PARTIAL GROUP("g", "a,h") GROUP("h", "b"), TARN_E_UNSUPPORTED, "belongs to another"},
    {PARTIAL GROUP("g", "a") GROUP("g,h", "b"), TARN_E_UNSUPPORTED, "belongs to another"},
    {PARTIAL FUNCTION("a", "sum"), TARN_E_INVALID, "must use sequence group"},
    {PARTIAL ",\"fields.default-aggregate-function\":\"sum\"", TARN_E_INVALID,
     "must use sequence group"},
    {PARTIAL GROUP("g", "a") ",\"partial-update.remove-record-on-sequence-group\":\"a\"",
     TARN_E_INVALID, "must be part of sequence groups"},
    {PARTIAL GROUP("g", "a") ",\"partial-update.remove-record-on-sequence-group\":\"nope\"",
     TARN_E_INVALID, "must be part of sequence groups"},
    {PARTIAL ON("ignore-delete") ON("partial-update.remove-record-on-delete"), TARN_E_INVALID,
     "conflicting behavior"},
    {PARTIAL GROUP("g", "a")
         ON("ignore-delete") ",\"partial-update.remove-record-on-sequence-group\":\"g\"",
     TARN_E_INVALID, "conflicting behavior"},
    {PARTIAL GROUP("g", "a") ON("partial-update.remove-record-on-delete"), TARN_E_INVALID,
     "conflicting behavior"},
    {AGGREGATION ON("aggregation.remove-record-on-delete") ON("fields.a.ignore-retract"),
     TARN_E_INVALID, "conflicting behavior"},
    {AGGREGATION ",\"fields.a.distinct\":\"perhaps\"", TARN_E_INVALID, "fields.a.distinct"},
};

static void merge_options__refuse_what_java_refuses(void **state) {
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(refusals); i++) {
    tn_table *table;
    expect_error(f, open_table(f, refusals[i].options, &table), refusals[i].status,
                 refusals[i].words);
    assert_null(table);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      MODEL_TEST(merge_options__choose_functions),
      MODEL_TEST(merge_options__know_what_columns_ask_for),
      MODEL_TEST(merge_options__are_for_two_engines_only),
      MODEL_TEST(merge_options__make_groups),
      MODEL_TEST(merge_options__need_sequence_columns_of_what_is_read),
      MODEL_TEST(merge_options__find_columns_of_older_schemas),
      MODEL_TEST(merge_options__refuse_what_java_refuses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
