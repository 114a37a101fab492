/* Statistics of columns: gathered, cut by mode, as rows. */
#include "datafile/stats_collector.h"

#include <math.h>

#include "base/bytes.h"
#include "support/files.h"
#include "support/test.h"
#include "support/torture.h"

/* ------------------------------------------------------------------ modes */

static void stats_mode__is_told_by_its_name(void **state) {
  static const struct {
    const char *text;
    int kind; /* -1: none */
    int32_t length;
  } cases[] = {
      {"none", TN_STATS_NONE, 0},
      {"COUNTS", TN_STATS_COUNTS, 0},
      {"Full", TN_STATS_FULL, 0},
      {"truncate(16)", TN_STATS_TRUNCATE, 16},
      {"TRUNCATE(2147483647)", TN_STATS_TRUNCATE, INT32_MAX},
      {"truncate(0)", -1, 0},
      {"truncate(2147483648)", -1, 0},
      {"truncate(99999999999999999999)", -1, 0},
      {"truncate(16", -1, 0},
      {"truncate()", -1, 0},
      {"truncate(1) ", -1, 0},
      {"truncate", -1, 0},
      {"some", -1, 0},
      {"", -1, 0},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tn_stats_mode mode;
    tarn_error err;
    tarn_status st = tn_stats_mode_parse(cases[i].text, &mode, &err);
    assert_int_equal(st, cases[i].kind < 0 ? TARN_E_INVALID : TARN_OK);
    if (st == TARN_OK) {
      assert_int_equal(mode.kind, cases[i].kind);
      assert_int_equal(mode.length, cases[i].length);
    }
  }
}

/* ------------------------------------------------------------------ columns */

typedef struct columns {
  tarn_env *env;
  tn_arena arena;
  tn_field fields[8];
  tn_vec vecs[8];
  int32_t n;
} columns;

static void begin(columns *c) {
  memset(c, 0, sizeof(*c));
  c->env = tn_test_env(1, 0);
  tn_arena_init(&c->arena, &c->env->mem, SIZE_MAX);
}

static void end(columns *c) {
  for (int32_t i = 0; i < c->n; i++) {
    tn_vec_reset(c->env, &c->vecs[i]);
  }
  tn_arena_reset(&c->arena);
  tarn_env_free(c->env);
}

/* A column of n values. */
static void add_column(columns *c, const char *name, const char *type, const tn_datum *values,
                       int32_t n) {
  tn_field *field = &c->fields[c->n];
  tn_vec singles[16];
  const tn_vec *sources[16];
  tn_row_ref refs[16];
  tarn_error err;
  memset(singles, 0, sizeof(singles));
  *field = (tn_field){.id = c->n, .name = name};
  assert_works(tn_type_from_sql(&c->arena, type, NULL, &field->type, &err), err);
  for (int32_t i = 0; i < n; i++) {
    assert_works(tn_datum_to_vec(c->env, &field->type, &values[i], &singles[i], &err), err);
    sources[i] = &singles[i];
    refs[i] = (tn_row_ref){(uint32_t)i, 0};
  }
  assert_works(tn_vec_gather(c->env, &field->type, sources, n, refs, n, &c->vecs[c->n], &err), err);
  for (int32_t i = 0; i < n; i++) {
    tn_vec_reset(c->env, &singles[i]);
  }
  c->n++;
}

static tn_datum text_of(const char *text) {
  return (tn_datum){.v.bytes = tn_slice_text(text)};
}

static const tn_datum null = {.is_null = true};

/* The statistics of the one column after the batch was given `times` times. */
static tn_stat gather(columns *c, tn_stats_mode mode, int times) {
  tn_stats_collector *collector;
  tn_batch batch = {
      .n_rows = c->vecs[0].length, .n_columns = 1, .fields = c->fields, .columns = c->vecs};
  tarn_error err;
  tn_stat stat;
  assert_works(tn_stats_collector_create(c->env, c->fields, 1, &mode, &collector, &err), err);
  for (int i = 0; i < times; i++) {
    assert_works(tn_stats_collector_add(collector, &batch, &err), err);
  }
  tn_stats_collector_stat(collector, 0, &stat);
  if (stat.has_bounds && tn_type_is_string(&c->fields[0].type)) {
    assert_true(tn_datum_copy(&c->arena, &c->fields[0].type, &stat.min, &stat.min));
    assert_true(tn_datum_copy(&c->arena, &c->fields[0].type, &stat.max, &stat.max));
  }
  tn_stats_collector_free(collector);
  return stat;
}

static const tn_stats_mode full = {TN_STATS_FULL, 0};

static void stats_collector__gathers_bounds_and_nulls_over_batches(void **state) {
  const tn_datum values[] = {null, {.v.i64 = 7}, {.v.i64 = -3}, null, {.v.i64 = 5}};
  columns c;
  tn_stat stat;
  (void)state;
  begin(&c);
  add_column(&c, "a", "INT", values, 5);
  stat = gather(&c, full, 2);
  assert_true(stat.has_bounds);
  assert_int_equal(stat.min.v.i64, -3);
  assert_int_equal(stat.max.v.i64, 7);
  assert_int_equal(stat.null_count, 4);
  assert_int_equal(stat.row_count, 10);
  stat = gather(&c, (tn_stats_mode){TN_STATS_COUNTS, 0}, 1);
  assert_false(stat.has_bounds);
  assert_int_equal(stat.null_count, 2);
  end(&c);
}

static void stats_collector__orders_floats_as_java_does(void **state) {
  const tn_datum values[] = {
      {.v.f64 = 0.0}, {.v.f64 = -0.0}, {.v.f64 = (double)NAN}, {.v.f64 = 1e300}};
  columns c;
  tn_stat stat;
  (void)state;
  begin(&c);
  add_column(&c, "a", "DOUBLE", values, 4);
  stat = gather(&c, full, 1);
  assert_true(stat.min.v.f64 == 0 && signbit(stat.min.v.f64));
  assert_true(isnan(stat.max.v.f64));
  end(&c);
}

static void stats_collector__takes_constant_columns_and_columns_of_nulls(void **state) {
  const tn_datum one = {.v.bytes = {(const uint8_t *)"x", 1}};
  columns c;
  tn_vec constant = {0}, flat;
  tn_stat stat;
  tarn_error err;
  (void)state;
  begin(&c);
  add_column(&c, "a", "STRING", &one, 1);
  tn_vec_move(&flat, &c.vecs[0]);
  assert_works(tn_vec_init_const(c.env, &c.fields[0].type, 5, &flat, &constant, &err), err);
  tn_vec_move(&c.vecs[0], &constant);
  stat = gather(&c, full, 1);
  assert_true(stat.has_bounds && tn_slice_is(stat.min.v.bytes, "x"));
  assert_int_equal(stat.row_count, 5);
  tn_vec_reset(c.env, &c.vecs[0]);
  assert_works(tn_vec_init_nulls(c.env, &c.fields[0].type, 6, false, &c.vecs[0], &err), err);
  stat = gather(&c, full, 1);
  assert_false(stat.has_bounds);
  assert_int_equal(stat.null_count, 6);
  end(&c);
}

static void stats_collector__has_no_bounds_of_bytes_and_nested_columns(void **state) {
  static const struct {
    const char *sql;
    bool has;
  } cases[] = {{"BOOLEAN", true},          {"DECIMAL(38, 2)", true}, {"CHAR(3)", true},
               {"BINARY(3)", false},       {"BYTES", false},         {"DATE", true},
               {"TIMESTAMP_LTZ(9)", true}, {"ARRAY<INT>", false},    {"ROW<a INT>", false},
               {"VARIANT", false},         {"BLOB", false},          {"VECTOR<FLOAT, 3>", false}};
  columns c;
  (void)state;
  begin(&c);
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tn_type type;
    tarn_error err;
    assert_works(tn_type_from_sql(&c.arena, cases[i].sql, NULL, &type, &err), err);
    assert_int_equal(tn_stats_has_bounds(&type), cases[i].has);
  }
  end(&c);
}

/* ------------------------------------------------------------------ cutting */

#define TOP "\xf4\x8f\xbf\xbf" /* U+10FFFF */

typedef struct cut {
  int32_t length;
  const char *min, *max;         /* of the values */
  const char *cut_min, *cut_max; /* NULL: no bounds */
} cut;

static const cut cuts[] = {
    {3, "abcdef", "abcdef", "abc", "abd"},
    {3, "ab", "abc", "ab", "abc"},
    {3, "", "", "", ""},
    {2, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
     "\xc3\xa4\xe2\x82\xac", "\xc3\xa4\xe2\x82\xad"},
    {1, "\x7fz", "\x7fz", "\x7f", "\xc2\x80"},
    {1, "\xdf\xbfz", "\xdf\xbfz", "\xdf\xbf", "\xe0\xa0\x80"},
    {1, "\xef\xbf\xbfz", "\xef\xbf\xbfz", "\xef\xbf\xbf", "\xf0\x90\x80\x80"},
    {1, "\xed\x9f\xbfz", "\xed\x9f\xbfz", "\xed\x9f\xbf", "\xee\x80\x80"}, /* no surrogates */
    {2, "a" TOP "z", "a" TOP "z", "a" TOP, "b"},
    {2, "a", TOP TOP, "a", TOP TOP},
    {2, "a", TOP TOP "z", NULL, NULL},
    {2, "a",
     "b\xff"
     "c",
     "a", "c"}, /* what is no character is not raised */
};

static void stats__are_cut_at_characters(void **state) {
  columns c;
  tn_type type;
  tarn_error err;
  (void)state;
  begin(&c);
  assert_works(tn_type_from_sql(&c.arena, "STRING", NULL, &type, &err), err);
  for (size_t i = 0; i < TN_COUNT(cuts); i++) {
    tn_stat stat = {.has_bounds = true,
                    .min = text_of(cuts[i].min),
                    .max = text_of(cuts[i].max),
                    .null_count = 3};
    tn_column_stats out;
    assert_works(tn_stats_cut(&c.arena, (tn_stats_mode){TN_STATS_TRUNCATE, cuts[i].length}, &type,
                              &stat, &out, &err),
                 err);
    assert_true(out.is_kept);
    assert_int_equal(out.null_count, 3);
    assert_int_equal(out.has_bounds, cuts[i].cut_min != NULL);
    if (out.has_bounds) {
      assert_true(tn_slice_is(out.min.v.bytes, cuts[i].cut_min));
      assert_true(tn_slice_is(out.max.v.bytes, cuts[i].cut_max));
      assert_true(tn_slice_compare(out.max.v.bytes, stat.max.v.bytes) >= 0);
    }
  }
  end(&c);
}

static void stats__keep_what_their_mode_says(void **state) {
  static const struct {
    tn_stats_kind kind;
    bool is_kept, has_bounds, has_count;
  } cases[] = {{TN_STATS_NONE, false, false, false},
               {TN_STATS_COUNTS, true, false, true},
               {TN_STATS_TRUNCATE, true, true, true},
               {TN_STATS_FULL, true, true, true}};
  tn_type type = {.root = TN_INT, .is_nullable = true};
  tn_stat stat = {.has_bounds = true, .null_count = 4};
  columns c;
  (void)state;
  begin(&c);
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tn_column_stats out;
    tarn_error err;
    assert_works(
        tn_stats_cut(&c.arena, (tn_stats_mode){cases[i].kind, 2}, &type, &stat, &out, &err), err);
    assert_int_equal(out.is_kept, cases[i].is_kept);
    assert_int_equal(out.has_bounds, cases[i].has_bounds);
    assert_int_equal(out.null_count, cases[i].has_count ? 4 : INT64_MIN);
  }
  end(&c);
}

/* ------------------------------------------------------------------ rows */

static void assert_hex(tn_slice bytes, const char *hex) {
  size_t n;
  uint8_t *wanted = tn_test_hex(hex, &n);
  assert_int_equal(bytes.len, n);
  assert_memory_equal(bytes.data, wanted, n);
  free(wanted);
}

static const tn_field three[3] = {
    {.id = 0, .name = "a", .type = {.root = TN_INT, .is_nullable = true}},
    {.id = 1, .name = "b", .type = {.root = TN_VARCHAR, .is_nullable = true, .length = INT32_MAX}},
    {.id = 2, .name = "c", .type = {.root = TN_ARRAY, .is_nullable = true}}};

static void stats__leave_columns_out_of_dense_records(void **state) {
  tn_column_stats stats[3] = {
      {.null_count = INT64_MIN},
      {.is_kept = true, .has_bounds = true, .min = text_of("ab"), .max = text_of("abcdefghi")},
      {.is_kept = true, .null_count = INT64_MIN}};
  tn_simple_stats out;
  tn_record_array names;
  bool has_names;
  columns c;
  tarn_error err;
  (void)state;
  begin(&c);
  assert_works(tn_stats_record(&c.arena, three, stats, 3, true, &out, &names, &has_names, &err),
               err);
  assert_hex(out.min_values, "00000002 0002000000000000 6162000000000082 0000000000000000");
  assert_hex(out.max_values,
             "00000002 0002000000000000 0900000018000000 0000000000000000"
             "6162636465666768 6900000000000000");
  assert_true(out.has_null_counts);
  assert_int_equal(out.null_counts.count, 2);
  assert_int_equal(((int64_t *)out.null_counts.items)[0], 0);
  assert_true(((int64_t *)out.null_counts.items)[1] == INT64_MIN);
  assert_true(has_names);
  assert_int_equal(names.count, 2);
  assert_true(tn_slice_is(((tn_slice *)names.items)[0], "b"));
  assert_true(tn_slice_is(((tn_slice *)names.items)[1], "c"));
  end(&c);
}

static void stats__have_no_names_when_all_columns_are_there(void **state) {
  tn_column_stats stats[3] = {
      {.is_kept = true, .null_count = 1}, {.is_kept = true}, {.is_kept = true}};
  tn_simple_stats out;
  tn_record_array names;
  bool has_names;
  columns c;
  tarn_error err;
  (void)state;
  begin(&c);
  for (int i = 0; i < 2; i++) { /* dense; not dense, without the first */
    stats[0].is_kept = i == 0;
    assert_works(tn_stats_record(&c.arena, three, stats, 3, i == 0, &out, &names, &has_names, &err),
                 err);
    assert_false(has_names);
    assert_int_equal(out.null_counts.count, 3);
    assert_hex(out.min_values,
               "00000003 0007000000000000 0000000000000000 0000000000000000 0000000000000000");
  }
  stats[0].is_kept = stats[1].is_kept = stats[2].is_kept = false;
  assert_works(tn_stats_record(&c.arena, three, stats, 3, true, &out, &names, &has_names, &err),
               err);
  assert_true(has_names);
  assert_int_equal(names.count, 0);
  assert_hex(out.min_values, "00000000 0000000000000000");
  end(&c);
}

static tarn_status record_once(void *ctx, tarn_env *env, tarn_error *err) {
  tn_column_stats stats[3] = {{.is_kept = true}, {.is_kept = true}, {.null_count = 2}};
  tn_stat stat = {.has_bounds = true, .min = text_of("abcd"), .max = text_of("abcd")};
  tn_simple_stats out;
  tn_record_array names;
  bool has_names;
  tn_arena arena;
  tarn_status st;
  (void)ctx;
  tn_arena_init(&arena, &env->mem, SIZE_MAX);
  st = tn_stats_cut(&arena, (tn_stats_mode){TN_STATS_TRUNCATE, 2}, &three[1].type, &stat, &stats[1],
                    err);
  if (st == TARN_OK) {
    st = tn_stats_record(&arena, three, stats, 3, true, &out, &names, &has_names, err);
  }
  tn_arena_reset(&arena);
  return st;
}

static void stats__survive_failing_allocations(void **state) {
  (void)state;
  assert_true(tn_torture(record_once, NULL, TARN_OK) > 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stats_mode__is_told_by_its_name),
      cmocka_unit_test(stats_collector__gathers_bounds_and_nulls_over_batches),
      cmocka_unit_test(stats_collector__orders_floats_as_java_does),
      cmocka_unit_test(stats_collector__takes_constant_columns_and_columns_of_nulls),
      cmocka_unit_test(stats_collector__has_no_bounds_of_bytes_and_nested_columns),
      cmocka_unit_test(stats__are_cut_at_characters),
      cmocka_unit_test(stats__keep_what_their_mode_says),
      cmocka_unit_test(stats__leave_columns_out_of_dense_records),
      cmocka_unit_test(stats__have_no_names_when_all_columns_are_there),
      cmocka_unit_test(stats__survive_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
