/* Merging runs: order, groups, engines, late values, batches; and against a plain reference. */
#include <stdio.h>
#include <stdlib.h>

#include "merge_test.h"
#include "support/torture.h"

/* ------------------------------------------------------------------ tables of small merges */

typedef struct merge_case {
  const char *name;
  const tn_engine_ops *engine; /* NULL: deduplicate */
  bool has_user, is_descending, ignore_delete, needs_lookup, merges_single_rows, keeps_deletes;
  const char *runs[4];
  const char *expected; /* NULL: fails with `status` */
  tarn_status status;
} merge_case;

static const merge_case cases[] = {
    {.name = "the largest sequence number wins",
     .runs = {"1:0:+:a 3:2:+:c", "1:5:+:A 2:6:+:B", "1:3:+:x 3:9:+:C"},
     .expected = "1=A+ 2=B+ 3=C+"},
    {.name = "one run is given as it is", .runs = {"1:0:+:a 2:1:u:b"}, .expected = "1=a+ 2=bu"},
    {.name = "no run gives nothing", .expected = ""},
    {.name = "empty runs are no trouble", .runs = {"", "5:0:+:a", ""}, .expected = "5=a+"},
    {.name = "a retraction that wins hides the key",
     .runs = {"1:0:+:a 2:1:+:b", "1:2:-:a 2:3:b:b"},
     .expected = ""},
    {.name = "a retraction that loses does nothing",
     .runs = {"1:0:-:a", "1:2:+:b"},
     .expected = "1=b+"},
    {.name = "retractions are kept when asked for",
     .keeps_deletes = true,
     .runs = {"1:0:+:a 2:1:-:b", "1:2:-:a"},
     .expected = "1=a- 2=b-"},
    {.name = "ignore-delete looks behind retractions",
     .ignore_delete = true,
     .runs = {"1:0:+:a 2:0:-:n", "1:2:-:x 2:4:b:m"},
     .expected = "1=a+"},
    {.name = "ignore-delete leaves a lone retraction as it is",
     .ignore_delete = true,
     .keeps_deletes = true,
     .runs = {"1:0:-:a"},
     .expected = "1=a-"},
    {.name = "reading a table that needs lookup leaves it, too",
     .ignore_delete = true,
     .keeps_deletes = true,
     .needs_lookup = true,
     .runs = {"1:0:-:a"},
     .expected = "1=a-"},
    {.name = "a compaction for lookup merges a lone retraction",
     .ignore_delete = true,
     .keeps_deletes = true,
     .needs_lookup = true,
     .merges_single_rows = true,
     .runs = {"1:0:-:a"},
     .expected = ""},
    {.name = "equal sequence numbers: the larger rank is newer",
     .runs = {"#7 1:5:+:a 2:5:+:c", "#3 1:5:+:b 2:5:-:d"},
     .expected = "1=a+ 2=c+"},
    {.name = "equal ranks: the later input is newer",
     .runs = {"#1 1:5:+:a", "#1 1:5:+:b", "#1 1:5:+:c"},
     .expected = "1=c+"},
    {.name = "user sequence decides before the sequence number",
     .has_user = true,
     .runs = {"1:9:+:a:1 2:9:+:c:7", "1:1:+:b:2 2:1:+:d:7"},
     .expected = "1=b+ 2=c+"},
    {.name = "a null user sequence is the oldest",
     .has_user = true,
     .runs = {"1:0:+:a:5 2:0:+:x:-", "1:1:+:b:- 2:1:+:y:-", "1:2:+:c:-7"},
     .expected = "1=a+ 2=y+"},
    {.name = "descending: the smallest user sequence wins, null stays the oldest",
     .has_user = true,
     .is_descending = true,
     .runs = {"1:0:+:a:5", "1:1:+:b:3", "1:2:+:n:-", "1:3:+:c:4"},
     .expected = "1=b+"},
    {.name = "a retraction with an older user sequence loses",
     .has_user = true,
     .runs = {"1:0:+:a:5 2:0:-:a:9", "1:1:-:a:3 2:1:+:b:5"},
     .expected = "1=a+"},
    {.name = "first-row takes the oldest",
     .engine = &tn_engine_first_row,
     .runs = {"1:5:+:new 2:9:+:d", "1:0:+:old"},
     .expected = "1=old+ 2=d+"},
    {.name = "first-row refuses a retraction",
     .engine = &tn_engine_first_row,
     .runs = {"1:0:+:a", "1:1:-:b"},
     .status = TARN_E_INVALID},
    {.name = "first-row refuses a lone retraction",
     .engine = &tn_engine_first_row,
     .runs = {"1:0:+:a 2:1:-:b"},
     .status = TARN_E_INVALID},
    {.name = "first-row with ignore-delete skips retractions",
     .engine = &tn_engine_first_row,
     .ignore_delete = true,
     .runs = {"1:0:-:x 2:0:-:y", "1:1:+:a", "1:2:+:b"},
     .expected = "1=a+"},
    {.name = "lookup: of the levels above 0 only the smallest counts",
     .needs_lookup = true,
     .has_user = true,
     .runs = {"@5 1:0:+:stale:9", "@2 1:1:+:upper:1"},
     .expected = "1=upper+"},
    {.name = "lookup: level 0 always counts",
     .needs_lookup = true,
     .has_user = true,
     .runs = {"@5 1:0:+:stale:9", "@2 1:1:+:upper:1", "@0 1:2:+:zero:3"},
     .expected = "1=zero+"},
    {.name = "without lookup every level counts",
     .has_user = true,
     .runs = {"@5 1:0:+:deep:9", "@2 1:1:+:upper:1"},
     .expected = "1=deep+"},
    {.name = "deleted rows are not there",
     .runs = {"!1:0:+:a 2:1:+:b !3:2:+:c", "1:0:+:A !2:9:+:B"},
     .expected = "1=A+ 2=b+"},
    {.name = "batches of deleted rows alone are passed over",
     .runs = {"!1:0:+:a !2:1:+:b | 3:2:+:c | !4:3:+:d", "3:0:+:x 5:1:+:e"},
     .expected = "3=c+ 5=e+"},
    {.name = "groups go over the ends of batches",
     .runs = {"1:0:+:a | 2:1:+:b | 3:2:+:c", "1:5:+:A 2:6:+:B | 3:7:+:C"},
     .expected = "1=A+ 2=B+ 3=C+"},
    {.name = "keys that descend are an error",
     .runs = {"1:0:+:a", "5:0:+:a 4:1:+:b"},
     .status = TARN_E_CORRUPT},
    {.name = "keys that descend from batch to batch are an error",
     .runs = {"5:0:+:a | 4:1:+:b"},
     .status = TARN_E_CORRUPT},
    {.name = "a null key is an error", .runs = {"null:0:+:a"}, .status = TARN_E_CORRUPT},
};

static void merger__follows_the_rules(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    const merge_case *c = &cases[i];
    merge_test m;
    char *text;
    tarn_error err = {0};
    tarn_status st;
    merge_test_open(&m, "BIGINT", c->has_user);
    m.spec.engine = c->engine != NULL ? c->engine : &tn_engine_deduplicate;
    m.spec.sequence_descending = c->is_descending;
    m.spec.ignore_delete = c->ignore_delete;
    m.spec.needs_lookup = c->needs_lookup;
    m.spec.merges_single_rows = c->merges_single_rows;
    m.spec.keeps_deletes = c->keeps_deletes;
    for (int r = 0; r < 4 && c->runs[r] != NULL; r++) {
      add_run(&m, c->runs[r]);
    }
    st = merge_to_text(&m, true, &text, &err);
    assert_case(c->name, st, &err, text, c->status, c->expected);
    free(text);
    merge_test_end(&m);
  }
}

/* ------------------------------------------------------------------ batches and late values */

static void merger__ends_batches_at_batch_rows(void **state) {
  merge_test m;
  (void)state;
  merge_test_open(&m, "INT", false);
  m.spec.batch_rows = 2;
  add_run(&m, "1:0:+:a 2:1:+:b 4:2:+:d 5:3:+:e");
  add_run(&m, "1:9:+:A 3:9:+:C 4:9:-:D");
  assert_merged(&m, false, "1=A 2=b | 3=C | 5=e");
  merge_test_end(&m);
}

static void merger__asks_inputs_for_no_more_than_input_rows(void **state) {
  merge_test m;
  (void)state;
  merge_test_open(&m, "INT", false);
  m.spec.input_rows = 1;
  add_run(&m, "1:0:+:a 2:1:+:b 4:2:+:d");
  add_run(&m, "1:9:+:A 4:9:+:D");
  assert_merged(&m, false, "1=A 2=b 4=D");
  merge_test_end(&m);
}

static void merger__reads_values_of_surviving_batches_only(void **state) {
  merge_test m;
  test_run *old, *new;
  (void)state;
  merge_test_open(&m, "INT", false);
  old = add_run(&m, "1:0:+:a 2:1:+:b | 3:2:+:c 4:3:+:d | 5:4:+:e");
  new = add_run(&m, "1:9:+:A 2:9:+:B 3:9:+:C 4:9:-:D");
  assert_merged(&m, false, "1=A 2=B 3=C 5=e");
  assert_int_equal(old->n_values_calls, 1); /* of {5} */
  assert_int_equal(new->n_values_calls, 1);
  merge_test_end(&m);
}

static void merger__asks_for_values_once_over_several_outputs(void **state) {
  merge_test m;
  test_run *run;
  (void)state;
  merge_test_open(&m, "INT", false);
  m.spec.batch_rows = 1;
  run = add_run(&m, "1:0:+:a 2:1:+:b 3:2:+:c");
  assert_merged(&m, false, "1=a | 2=b | 3=c");
  assert_int_equal(run->n_values_calls, 1);
  merge_test_end(&m);
}

static void merger__takes_constant_sequence_numbers(void **state) {
  merge_test m;
  (void)state;
  merge_test_open(&m, "INT", false);
  add_run(&m, "1:20:+:a 2:1:+:b")->has_constant_sequence = true;
  add_run(&m, "1:10:+:A 2:90:+:B")->has_constant_sequence = true;
  assert_merged(&m, false, "1=a 2=b");
  merge_test_end(&m);
}

/* The filter tests the user sequence field here. */
static void merger__filters_merged_rows_before_values_are_read(void **state) {
  merge_test m;
  tn_datum literal = {.v.i64 = 5};
  static const int32_t columns[] = {1};
  test_run *run;
  (void)state;
  merge_test_open(&m, "INT", true);
  m.spec.filter = tn_pred_leaf(&m.arena, TN_PRED_GE, &m.key_fields[1], &literal, 1);
  m.spec.filter_fields = &m.key_fields[1];
  m.spec.filter_columns = columns;
  m.spec.n_filter_columns = 1;
  m.spec.batch_rows = 2;
  run = add_run(&m, "1:0:+:a:1 2:1:+:b:9 3:2:+:c:2 | 4:2:+:d:- 5:3:+:e:1 | 6:4:+:f:5");
  add_run(&m, "1:9:+:A:7 2:9:-:B:9 3:9:+:C:4 7:9:+:G:5");
  assert_merged(&m, true, "1=A+ | 6=f+ | 7=G+");
  assert_int_equal(run->n_values_calls, 1); /* of {6} */
  merge_test_end(&m);
}

/* 40 values of 26 bytes against a budget whose sixteenth is 512 bytes. */
static void merger__ends_batches_before_they_grow_too_large(void **state) {
  merge_test m;
  char text[40 * 64] = "", *merged;
  size_t at = 0;
  int n_batches = 1;
  tarn_error err;
  (void)state;
  merge_test_open(&m, "INT", false);
  m.env->mem.budget_bytes = 8192;
  for (int i = 0; i < 40; i++) {
    at += (size_t)sprintf(text + at, "%d:%d:+:abcdefghijklmnopqrstuvwxyz ", i, i);
  }
  add_run(&m, text);
  assert_int_equal(merge_to_text(&m, false, &merged, &err), TARN_OK);
  for (char *p = merged; (p = strstr(p, " | ")) != NULL; p++) {
    n_batches++;
  }
  assert_true(n_batches >= 40 * 26 / 512 && n_batches < 20);
  assert_non_null(strstr(merged, "39=abc"));
  free(merged);
  merge_test_end(&m);
}

static void merger__hands_on_failures_of_inputs(void **state) {
  (void)state;
  for (int which = 0; which < 2; which++) {
    merge_test m;
    test_run *run;
    char *text;
    tarn_error err;
    merge_test_open(&m, "INT", false);
    add_run(&m, "1:0:+:a");
    run = add_run(&m, "2:0:+:a | 3:0:+:b");
    *(which == 0 ? &run->fails_next : &run->fails_values) = TARN_E_IO;
    assert_int_equal(merge_to_text(&m, false, &text, &err), TARN_E_IO);
    assert_non_null(strstr(err.message, which == 0 ? "next fails" : "values fail"));
    free(text);
    merge_test_end(&m);
  }
}

static void merger__stops_when_cancelled(void **state) {
  tarn_cancel *cancel;
  merge_test m;
  char *text;
  tarn_error err;
  (void)state;
  merge_test_open(&m, "INT", false);
  assert_int_equal(tarn_cancel_create(m.env, &cancel, &err), TARN_OK);
  tarn_cancel_set(cancel);
  m.spec.cancel = cancel;
  add_run(&m, "1:0:+:a");
  assert_int_equal(merge_to_text(&m, false, &text, &err), TARN_E_CANCELLED);
  free(text);
  tarn_cancel_free(cancel);
  merge_test_end(&m);
}

/* ------------------------------------------------------------------ long stretches */

/* Runs that lead for long are copied in stretches: with a few rows of another run between them. */
static void merger__gives_long_stretches_whole(void **state) {
  static const char *const keys[] = {"INT", "STRING"};
  (void)state;
  for (int k = 0; k < 2; k++) {
    for (int batch = 5; batch < 3000; batch *= 7) {
      merge_test m;
      char *text = malloc(3000 * 24), *merged;
      size_t at = 0;
      int n = 0;
      tarn_error err;
      merge_test_open(&m, keys[k], false);
      m.spec.batch_rows = batch;
      for (int i = 0; i < 3000; i++) {
        at += (size_t)sprintf(text + at, "%scommon%d:%d:+:v ", i % 500 == 499 ? "| " : "",
                              i + 10000, i);
      }
      if (k == 0) { /* keys are numbers then */
        at = 0;
        for (int i = 0; i < 3000; i++) {
          at +=
              (size_t)sprintf(text + at, "%s%d:%d:+:v ", i % 500 == 499 ? "| " : "", i + 10000, i);
        }
      }
      add_run(&m, text);
      add_run(&m, k == 0 ? "10000:9:+:n 11111:9999:+:n 12222:9999:-:n 13500:0:+:n"
                         : "common10000:9:+:n common11111:9999:+:n common12222:9999:-:n z:0:+:n");
      assert_int_equal(merge_to_text(&m, false, &merged, &err), TARN_OK);
      for (char *p = merged; *p != '\0'; p++) {
        n += *p == '=';
      }
      assert_int_equal(n, 3000);
      assert_null(strstr(merged, "12222"));
      assert_non_null(strstr(merged, k == 0 ? "11111=n" : "common11111\"=n"));
      free(merged);
      free(text);
      merge_test_end(&m);
    }
  }
}

/* ------------------------------------------------------------------ random merges */

static void key_text(const char *sql, int key, char *out) {
  if (strcmp(sql, "STRING") == 0) { /* in the order of the numbers, with common beginnings */
    sprintf(out, "key-number-%05d", key);
  } else if (strcmp(sql, "DECIMAL(38, 0)") == 0) {
    sprintf(out, "\"1%024d\"", key);
  } else {
    sprintf(out, "%d", key);
  }
}

static void run_random_case(uint32_t seed, const char *sql) {
  merge_test m;
  random_row *rows = calloc(8000, sizeof(*rows));
  char *expected = calloc(8000, 40), *got, *text = malloc(MAX_ROWS * 64);
  int n_runs = 1 + (int)(next_random(&seed) % 9), n = 0,
      n_keys = 20 + (int)(next_random(&seed) % 400);
  size_t length = 0;
  tarn_error err = {0};
  bool has_user_sequence = next_random(&seed) % 2 == 0;
  merge_test_open(&m, sql, has_user_sequence);
  m.spec.batch_rows = 1 + next_random(&seed) % 100;
  m.spec.input_rows = 1 + next_random(&seed) % 100;
  for (int r = 0; r < n_runs; r++) {
    uint32_t density = 1 + next_random(&seed) % 8;
    size_t at = 0;
    text[0] = '\0';
    for (int k = 0; k < n_keys; k++) {
      random_row row = {.key = k, .run = r};
      char key[48];
      if (next_random(&seed) % 8 >= density) {
        continue;
      }
      row.sequence = next_random(&seed) % 6;
      row.kind = next_random(&seed) % 5 == 0 ? 3 : 0;
      row.is_deleted = next_random(&seed) % 10 == 0;
      row.user = random_user(&seed, has_user_sequence);
      key_text(sql, k, key);
      at += (size_t)sprintf(text + at, "%s%s%s:%d:%c:r%d.%d",
                            next_random(&seed) % 16 == 0 ? "| " : "", row.is_deleted ? "!" : "",
                            key, (int)row.sequence, "+bu-"[row.kind], r, k);
      at += has_user_sequence && row.user >= 0
                ? (size_t)sprintf(text + at, ":%d ", row.user)
                : (size_t)sprintf(text + at, has_user_sequence ? ":- " : " ");
      if (!row.is_deleted) {
        rows[n++] = row;
      }
    }
    add_run(&m, text);
  }
  qsort(rows, (size_t)n, sizeof(*rows), random_row_order);
  for (int i = 0; i < n; i++) {
    if ((i + 1 == n || rows[i + 1].key != rows[i].key) && rows[i].kind == 0) {
      length += (size_t)sprintf(expected + length, "%sr%d.%d", length > 0 ? " " : "", rows[i].run,
                                rows[i].key);
    }
  }
  assert_works(merge_to_text(&m, false, &got, &err), err);
  length = 0; /* got: only the values, batches joined */
  for (char *p = got; *p != '\0';) {
    char *value = strchr(p, '='), *end;
    if (value == NULL) {
      break;
    }
    end = value + strcspn(value, " ");
    length += (size_t)snprintf(text + length, MAX_ROWS * 64 - length, "%s%.*s",
                               length > 0 ? " " : "", (int)(end - value - 1), value + 1);
    p = *end == ' ' ? end + 1 : end;
    p += *p == '|' ? 2 : 0;
  }
  text[length] = '\0';
  assert_string_equal(text, expected);
  free(got);
  free(expected);
  free(text);
  free(rows);
  merge_test_end(&m);
}

static void merger__agrees_with_sorting_everything(void **state) {
  static const char *const keys[] = {"INT", "BIGINT", "STRING", "DECIMAL(38, 0)", "DOUBLE"};
  (void)state;
  for (uint32_t seed = 1; seed <= 100; seed++) {
    run_random_case(seed * 7919, keys[seed % 5]);
  }
}

/* ------------------------------------------------------------------ memory */

static tarn_status merge_once(void *ctx, tarn_env *env, tarn_error *err) {
  merge_test m;
  char *text = NULL;
  tarn_status st;
  (void)ctx;
  merge_test_begin(&m, env, "BIGINT", true);
  if (m.spec.engine == NULL) {
    merge_test_end(&m);
    return TARN_E_NOMEM;
  }
  m.spec.batch_rows = 3;
  add_run(&m, "1:0:+:a:5 | 2:1:+:b:- | 3:2:+:c:3 !4:4:+:x:1");
  add_run(&m, "1:1:+:A:6 3:3:-:C:9 | 5:0:+:e:1 6:0:+:f:1");
  add_run(&m, "0:1:+:z:6 6:3:+:F:9");
  st = merge_to_text(&m, true, &text, err);
  if (st == TARN_OK) {
    assert_string_equal(text, "0=z+ 1=A+ 2=b+ | 5=e+ 6=F+");
  }
  free(text);
  merge_test_end(&m);
  return st;
}

static void merger__survives_failing_allocations(void **state) {
  (void)state;
  assert_true(tn_torture(merge_once, NULL, TARN_OK) > 50);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(merger__follows_the_rules),
      cmocka_unit_test(merger__ends_batches_at_batch_rows),
      cmocka_unit_test(merger__asks_inputs_for_no_more_than_input_rows),
      cmocka_unit_test(merger__reads_values_of_surviving_batches_only),
      cmocka_unit_test(merger__asks_for_values_once_over_several_outputs),
      cmocka_unit_test(merger__takes_constant_sequence_numbers),
      cmocka_unit_test(merger__filters_merged_rows_before_values_are_read),
      cmocka_unit_test(merger__ends_batches_before_they_grow_too_large),
      cmocka_unit_test(merger__hands_on_failures_of_inputs),
      cmocka_unit_test(merger__stops_when_cancelled),
      cmocka_unit_test(merger__gives_long_stretches_whole),
      cmocka_unit_test(merger__agrees_with_sorting_everything),
      cmocka_unit_test(merger__survives_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
