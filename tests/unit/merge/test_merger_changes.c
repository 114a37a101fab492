/* Merging key by key: the row that was there before, what is looked up, late values, steps. */
#include <stdio.h>
#include <stdlib.h>

#include "engine_test.h"
#include "merge_test.h"
#include "support/torture.h"

/* Tables with changelog-producer = lookup, first-row tables, changelog-producer = full-compaction
 * (levels 0 to 5), and rewrites without a changelog. */
enum { LOOKUP, FIRST_ROW, FULL, PLAIN };

typedef struct change_case {
  const char *name;
  int mode;
  bool has_user, ignore_delete, hides_rows;
  const char *runs[4];
  const char *expected; /* NULL: fails with `status` */
  tarn_status status;
} change_case;

static const change_case cases[] = {
    /* changelog-producers, 4: before and after of each row of the table */
    {.name = "lookup: nothing before, an add", .runs = {"1:5:+:a"}, .expected = "+I5[1,a]fs"},
    {.name = "lookup: a retraction before that is looked up, an add",
     .runs = {"1:5:+:a", "~ @3 1:2:-:x"},
     .expected = "+I5[1,a]<-D2[1,x]@1:0fB"},
    {.name = "lookup: a retraction before in the input, an add",
     .runs = {"1:5:u:a", "@3 1:2:-:x"},
     .expected = "+U5[1,a]<-D2[1,x]@1:0f"},
    {.name = "lookup: nothing before, a retraction", .runs = {"1:5:-:a"}, .expected = "-D5[1,a]fs"},
    {.name = "lookup: a retraction before, a retraction",
     .runs = {"1:5:-:a", "~ @1 1:2:-:x"},
     .expected = "-D5[1,a]<-D2[1,x]@1:0fB"},
    {.name = "lookup: an add before, a retraction",
     .runs = {"1:5:-:a", "~ @1 1:2:+:x"},
     .expected = "-D5[1,a]<+I2[1,x]@1:0fB"},
    {.name = "lookup: an add before, an add",
     .runs = {"1:5:+:a", "~ @1 1:2:+:x"},
     .expected = "+I5[1,a]<+I2[1,x]@1:0fB"},
    {.name = "lookup: an add before, an equal add",
     .runs = {"1:5:+:a", "@1 1:2:+:a"},
     .expected = "+I5[1,a]<+I2[1,a]@1:0f"},
    {.name = "lookup: several rows of level 0 are one change",
     .runs = {"1:5:+:a", "1:7:+:c", "1:6:-:b"},
     .expected = "+I7[1,c]f"},
    {.name = "lookup: nothing changes without a row of level 0, and no row before is given",
     .runs = {"@2 1:3:+:b 2:1:+:c", "@5 1:1:+:a"},
     .expected = "+I3[1,b]<?@0:0 +I1[2,c]<?@0:1s"},
    {.name = "lookup: the smallest level is before, deeper rows are stale",
     .has_user = true,
     .runs = {"1:5:+:a:1", "@4 1:1:+:stale:9", "@2 1:2:+:x:0", "~ @5 1:0:+:deep:8"},
     .expected = "+I5[1,a]<+I2[1,x]@2:0f"},
    {.name = "lookup: among looked-up rows, too",
     .runs = {"1:5:+:a", "~ @4 1:2:+:stale", "~ @3 1:1:+:x"},
     .expected = "+I5[1,a]<+I1[1,x]@2:0fB"},
    {.name = "lookup: a row that is looked up wins by its sequence field and stays",
     .has_user = true,
     .runs = {"1:5:+:a:1", "~ @3 1:2:+:x:7"},
     .expected = "+I2[1,x]<+I2[1,x]@1:0fAB"},
    {.name = "lookup: rows that are looked up make no groups",
     .runs = {"3:5:+:a", "~ @3 1:2:+:x 2:2:+:y 4:1:+:z", "~ @5 2:2:+:w 3:1:+:v"},
     .expected = "+I5[3,a]<+I1[3,v]@2:1fB"},
    {.name = "lookup: nor do dead rows with them",
     .runs = {"!1:5:+:a 2:6:+:b", "~ @3 1:2:+:x !2:2:+:y"},
     .expected = "+I6[2,b]fs"},
    {.name = "lookup: places in files count rows that are not alive, over batches",
     .hides_rows = true,
     .runs = {"1:9:+:a 4:9:-:b 5:9:+:c 7:9:+:d",
              "~ @3 !0:1:+:x 1:1:+:x 2:1:+:x | !3:1:+:x 4:1:+:x | 5:1:+:x 6:1:+:x", "@2 7:2:+:y"},
     .expected = "+I9[1,a]<?@1:1fB -D9[4,b]<?@1:4fB +I9[5,c]<?@1:5fB +I9[7,d]<?@2:0f"},
    {.name = "lookup: an engine that leaves nothing",
     .ignore_delete = true,
     .runs = {"1:5:-:a 2:5:-:b 3:5:-:c", "~ @3 2:1:-:y 3:1:+:z"},
     .expected = "0fs 0<-D1[2,y]@1:0fB +I1[3,z]<+I1[3,z]@1:1fAB"},

    /* first-row */
    {.name = "first-row: a new key",
     .mode = FIRST_ROW,
     .runs = {"1:5:+:a"},
     .expected = "+I5[1,a]fs"},
    {.name = "first-row: the first of two new rows",
     .mode = FIRST_ROW,
     .runs = {"1:6:+:b", "1:5:+:a"},
     .expected = "+I5[1,a]f"},
    {.name = "first-row: a row that is looked up stays",
     .mode = FIRST_ROW,
     .runs = {"1:5:+:a 2:6:+:b", "~ @2 1:1:+:x"},
     .expected = "+I1[1,x]<?@1:0fAB +I6[2,b]fs"},
    {.name = "first-row: it does so with a larger sequence number",
     .mode = FIRST_ROW,
     .runs = {"1:5:+:a", "~ @2 1:9:+:x"},
     .expected = "+I9[1,x]<?@1:0fAB"},
    {.name = "first-row: a row of a deeper level in the input stays",
     .mode = FIRST_ROW,
     .runs = {"1:5:+:a", "@2 1:1:+:x", "~ @4 1:0:+:stale"},
     .expected = "+I1[1,x]<?@1:0f"},
    {.name = "first-row: retractions are refused",
     .mode = FIRST_ROW,
     .runs = {"1:5:-:a", "~ @2 1:1:+:x"},
     .status = TARN_E_INVALID},

    /* changelog-producers, 5 */
    {.name = "full: no top, an add",
     .mode = FULL,
     .runs = {"1:5:+:a", "@2 1:3:+:b"},
     .expected = "+I5[1,a]f"},
    {.name = "full: no top, a retraction",
     .mode = FULL,
     .runs = {"1:5:-:a", "@2 1:3:+:b"},
     .expected = "-D5[1,a]f"},
    {.name = "full: a top, a retraction",
     .mode = FULL,
     .runs = {"1:5:-:a", "@5 1:3:+:b"},
     .expected = "-D5[1,a]<+I3[1,b]@1:0f"},
    {.name = "full: a top, an add",
     .mode = FULL,
     .runs = {"1:5:+:a", "@5 1:3:+:b", "@3 1:4:+:c"},
     .expected = "+I5[1,a]<+I3[1,b]@1:0f"},
    {.name = "full: a top, an equal add, nothing fresh",
     .mode = FULL,
     .runs = {"@4 1:5:+:a", "@5 1:3:+:a"},
     .expected = "+I5[1,a]<+I3[1,a]@1:0"},
    {.name = "full: the top wins",
     .mode = FULL,
     .has_user = true,
     .runs = {"1:5:+:a:1", "@5 1:3:+:b:2"},
     .expected = "+I3[1,b]<+I3[1,b]@1:0f"},
    {.name = "full: single rows",
     .mode = FULL,
     .runs = {"1:5:+:a 2:6:-:b", "@2 3:3:+:c", "@5 4:1:+:d"},
     .expected = "+I5[1,a]fs -D6[2,b]fs +I3[3,c]s +I1[4,d]<?@2:0s"},
    {.name = "full: two rows of the top level",
     .mode = FULL,
     .runs = {"@5 0:2:+:z 1:5:+:a", "@5 1:3:+:b"},
     .status = TARN_E_CORRUPT},

    {.name = "plain: there is no row before",
     .mode = PLAIN,
     .runs = {"1:5:+:a", "@5 1:3:+:b 2:1:+:c"},
     .expected = "+I5[1,a]f +I1[2,c]s"},
    {.name = "no rows at all", .runs = {"", "~ @3 1:1:+:a"}, .expected = ""},
};

static tn_merge_changes changes_of(int mode, bool hides_rows) {
  static const tn_merge_before before[] = {TN_BEFORE_DEEPER, TN_BEFORE_DEEPER, TN_BEFORE_TOP,
                                           TN_BEFORE_NONE};
  return (tn_merge_changes){.before = before[mode],
                            .top_level = 5,
                            .gives_before_rows = !hides_rows && mode != FIRST_ROW};
}

static void run_case(const change_case *c, bool needs_lookup, bool has_small_inputs) {
  tn_merge_changes changes = changes_of(c->mode, c->hides_rows);
  merge_test m;
  char *text;
  tarn_error err = {0};
  tarn_status st;
  merge_test_open(&m, "BIGINT", c->has_user);
  m.spec.engine = c->mode == FIRST_ROW ? &tn_engine_first_row : &tn_engine_deduplicate;
  m.spec.ignore_delete = c->ignore_delete;
  m.spec.needs_lookup = needs_lookup;
  m.spec.merges_single_rows = c->mode == LOOKUP;
  m.spec.input_rows = has_small_inputs ? 1 : m.spec.input_rows;
  for (int r = 0; r < 4 && c->runs[r] != NULL; r++) {
    add_run(&m, c->runs[r]);
  }
  st = changes_to_text(&m, &changes, &text, &err);
  assert_case(c->name, st, &err, text, c->status, c->expected);
  free(text);
  merge_test_end(&m);
}

static void changes__follow_the_rules(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    bool needs_lookup = cases[i].mode == LOOKUP;
    run_case(&cases[i], needs_lookup, false);
    run_case(&cases[i], needs_lookup, true);
  }
}

static void changes__of_first_row_tables_need_not_say_that_they_look_up(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    if (cases[i].mode == FIRST_ROW) {
      run_case(&cases[i], true, false);
    }
  }
}

static void changes__refuse_a_filter(void **state) {
  tn_merge_changes changes = changes_of(LOOKUP, false);
  tn_pred *filter = (tn_pred *)&changes; /* not looked at */
  merge_test m;
  char *text;
  tarn_error err;
  (void)state;
  merge_test_open(&m, "INT", false);
  m.spec.filter = filter;
  add_run(&m, "1:5:+:a");
  assert_int_not_equal(changes_to_text(&m, &changes, &text, &err), TARN_OK);
  free(text);
  merge_test_end(&m);
}

/* ------------------------------------------------------------------ steps, late values */

static void assert_changes(merge_test *m, const tn_merge_changes *changes, const char *expected) {
  char *text;
  tarn_error err = {0};
  assert_works(changes_to_text(m, changes, &text, &err), err);
  assert_string_equal(text, expected);
  free(text);
}

static void steps__end_at_batch_rows(void **state) {
  tn_merge_changes changes = changes_of(LOOKUP, false);
  merge_test m;
  (void)state;
  merge_test_open(&m, "INT", false);
  m.spec.needs_lookup = true;
  m.spec.batch_rows = 2;
  add_run(&m, "1:5:+:a 2:6:+:b | 3:7:+:c 5:8:-:e");
  add_run(&m, "~ @3 0:0:+:o 1:0:+:p | 3:1:+:q 4:1:+:r | 5:1:+:s 9:0:+:t");
  add_run(&m, "3:9:+:C | 7:9:+:G");
  assert_changes(&m, &changes,
                 "+I5[1,a]<+I0[1,p]@1:1fB +I6[2,b]fs | +I9[3,C]<+I1[3,q]@1:2fB "
                 "-D8[5,e]<+I1[5,s]@1:4fB | +I9[7,G]fs");
  merge_test_end(&m);
}

static int values_calls_of_looked_up(bool hides_rows, const char *fresh, const char *deeper) {
  tn_merge_changes changes = changes_of(LOOKUP, hides_rows);
  merge_test m;
  char *text;
  test_run *run;
  int n_calls;
  tarn_error err;
  merge_test_open(&m, "INT", true);
  m.spec.needs_lookup = true;
  add_run(&m, fresh);
  run = add_run(&m, deeper);
  assert_int_equal(changes_to_text(&m, &changes, &text, &err), TARN_OK);
  n_calls = run->n_values_calls;
  free(text);
  merge_test_end(&m);
  return n_calls;
}

static void values__of_looked_up_rows_are_read_where_they_are_wanted(void **state) {
  static const char *const deeper = "~ @3 1:0:+:p:1 2:0:+:q:1 | 3:1:+:r:1 4:1:+:s:1 | 5:1:+:t:1";
  (void)state;
  /* A row before is given: of the batch that has it. */
  assert_int_equal(values_calls_of_looked_up(false, "3:5:+:a:2", deeper), 1);
  assert_int_equal(values_calls_of_looked_up(false, "2:5:+:a:2 3:5:+:a:2", deeper), 2);
  /* Only its place is. */
  assert_int_equal(values_calls_of_looked_up(true, "2:5:+:a:2 3:5:+:a:2", deeper), 0);
  /* It is the merged row. */
  assert_int_equal(values_calls_of_looked_up(true, "2:5:+:a:2 3:5:+:a:0", deeper), 1);
  /* No row of the input is alive, or has the key. */
  assert_int_equal(values_calls_of_looked_up(false, "!2:5:+:a:2 !3:5:+:a:2 7:5:+:a:0", deeper), 0);
}

/* The steps' text as that of one step; returns how many there were. */
static int join_steps(char *text) {
  int n = 1;
  for (char *p; (p = strstr(text, "| ")) != NULL; n++) {
    memmove(p, p + 2, strlen(p + 2) + 1);
  }
  return n;
}

/* 40 keys, with a budget or none; long values have 26 bytes. */
static char *changes_of_long_values(size_t budget, const char *fresh, const char *deeper) {
  tn_merge_changes changes = changes_of(LOOKUP, false);
  merge_test m;
  char rows[40 * 64] = "", *text;
  size_t at = 0;
  tarn_error err;
  merge_test_open(&m, "INT", false);
  m.env->mem.budget_bytes = budget > 0 ? budget : m.env->mem.budget_bytes;
  for (int i = 0; i < 40; i++) {
    at += (size_t)sprintf(rows + at, "%d:%d:+:%s ", i, i + 1, fresh);
  }
  add_run(&m, rows);
  at = (size_t)sprintf(rows, "~ @3 ");
  for (int i = 0; i < 40; i++) {
    at += (size_t)sprintf(rows + at, "%d:0:+:%s ", i, deeper);
  }
  add_run(&m, rows);
  assert_int_equal(changes_to_text(&m, &changes, &text, &err), TARN_OK);
  merge_test_end(&m);
  return text;
}

/* The budget's sixteenth is 512 bytes. */
static void steps__end_before_they_grow_too_large(void **state) {
  static const char *const values[][2] = {{"abcdefghijklmnopqrstuvwxyz", "x"},
                                          {"x", "abcdefghijklmnopqrstuvwxyz"}};
  (void)state;
  for (int i = 0; i < 2; i++) {
    char *whole = changes_of_long_values(0, values[i][0], values[i][1]);
    char *parts = changes_of_long_values(8192, values[i][0], values[i][1]);
    int n = join_steps(parts);
    assert_true(n >= 40 * 26 / 512 && n < 20);
    assert_int_equal(join_steps(whole), 1);
    assert_string_equal(parts, whole);
    free(parts);
    free(whole);
  }
}

static char *folded_changes(size_t budget, const char *rows) {
  tarn_env *env = tn_test_env(1, 0);
  tn_merge_changes changes = changes_of(LOOKUP, false);
  engine_table t;
  char *text;
  tarn_error err;
  assert_int_equal(engine_table_open(&t, env, &tn_engine_aggregation, "k INT, s STRING",
                                     "fields.s.aggregate-function=listagg", &err),
                   TARN_OK);
  t.changes = &changes;
  t.needs_lookup = t.merges_single_rows = true;
  env->mem.budget_bytes = budget > 0 ? budget : env->mem.budget_bytes;
  assert_int_equal(engine_merge_text(&t, rows, &text, &err), TARN_OK);
  engine_table_close(&t);
  tarn_env_free(env);
  return text;
}

static void steps__of_folding_engines_do_so_too(void **state) {
  char rows[64 * 64], *whole, *parts;
  size_t at = (size_t)sprintf(rows, "~@3 ");
  int n;
  (void)state;
  for (int i = 0; i < 30; i++) {
    at += (size_t)sprintf(rows + at, "+I[%d,\"%d-abcdefghijklmnopqrstuvwxyz\"] ", i, i);
  }
  at += (size_t)sprintf(rows + at, "~@0 ");
  for (int i = 0; i < 30; i++) {
    at += (size_t)sprintf(rows + at, "+I[%d,\"%d-ABC\"] ", i, i);
  }
  whole = folded_changes(0, rows);
  parts = folded_changes(8192, rows);
  n = join_steps(parts);
  assert_true(n >= 30 * 29 / 512 && n > 1 && n < 20);
  assert_int_equal(join_steps(whole), 1);
  assert_string_equal(parts, whole);
  free(parts);
  free(whole);
}

/* ------------------------------------------------------------------ looking up in vain */

/* The most memory that is taken while n looked-up rows pass by between two keys. */
static int64_t peak_of_looking_up(int n, int64_t input_rows) {
  tn_test_alloc alloc;
  tarn_allocator hooks;
  tarn_env_options options = TARN_ENV_OPTIONS_INIT;
  tn_merge_changes changes = changes_of(LOOKUP, false);
  tarn_env *env;
  tarn_error err;
  merge_test m;
  char *runs = malloc((size_t)n * 32 + 32);
  size_t at = (size_t)sprintf(runs, "~ @3 ");
  char last[64];
  int64_t peak;
  tn_test_alloc_init(&alloc);
  hooks = tn_test_alloc_hooks(&alloc);
  options.allocator = &hooks;
  options.threads = 1;
  assert_int_equal(tarn_env_create(&options, &env, &err), TARN_OK);
  merge_test_begin(&m, env, "INT", false);
  m.spec.needs_lookup = true;
  m.spec.batch_rows = 16;
  m.spec.input_rows = input_rows;
  for (int i = 0; i < n; i++) {
    at += (size_t)sprintf(runs + at, "%d:0:+:x ", i);
  }
  add_run(&m, runs);
  snprintf(last, sizeof(last), "0:1:+:a %d:1:+:b", n - 1);
  add_run(&m, last);
  snprintf(last, sizeof(last), "+I1[0,a]<+I0[0,x]@0:0fB +I1[%d,b]<+I0[%d,x]@0:%dfB", n - 1, n - 1,
           n - 1);
  alloc.peak_bytes = 0;
  assert_changes(&m, &changes, last);
  peak = alloc.peak_bytes;
  merge_test_end(&m);
  tarn_env_free(env);
  free(runs);
  return peak;
}

static void looked_up_rows__take_no_memory_in_vain(void **state) {
  (void)state;
  assert_true(peak_of_looking_up(4000, 10) < peak_of_looking_up(200, 10) * 11 / 10);
}

static void looked_up_rows__are_stepped_over_in_stretches(void **state) {
  (void)state;
  for (int64_t input_rows = 30; input_rows < 4000; input_rows *= 3) {
    peak_of_looking_up(2000, input_rows); /* the result is what is asserted */
  }
}

/* ------------------------------------------------------------------ folding engines */

typedef struct fold_case {
  const tn_engine_ops *engine;
  const char *columns, *options;
  int mode;
  bool hides_rows;
  const char *rows, *expected;
} fold_case;

static const fold_case fold_cases[] = {
    {&tn_engine_aggregation, "k INT, s INT", "fields.s.aggregate-function=sum", LOOKUP, false,
     "~@3 +I[1,10] +I[9,9] ~@0 +I[1,5] +I[2,7] -D[3,3]",
     "+I2[1,15]<+I0[1,10]@0:0fB +I3[2,7]fs +I4[3,-3]fs"},
    {&tn_engine_aggregation, "k INT, s INT", "fields.s.aggregate-function=sum", LOOKUP, true,
     "@5 +I[1,100] @3 +I[1,10] @0 +I[1,5] -D[1,1]", "+I3[1,14]<?@1:0f"},
    {&tn_engine_aggregation, "k INT, s INT", "fields.s.aggregate-function=sum", FULL, false,
     "@5 +I[1,100] +I[2,3] @3 +I[1,10] @0 +I[1,5]", "+I3[1,115]<+I0[1,100]@0:0f +I1[2,3]<?@1:0s"},
    {&tn_engine_aggregation, "k INT, s INT",
     "fields.s.aggregate-function=sum; aggregation.remove-record-on-delete=true", LOOKUP, false,
     "~@3 +I[1,10] ~@0 -D[1,5]", "-D1[1,5]<+I0[1,10]@0:0fB"},
    {&tn_engine_partial_update, "k INT, a INT, b STRING", "", LOOKUP, false,
     "~@3 +I[1,1,\"x\"] ~@0 +I[1,null,\"y\"] +I[2,7,null]",
     "+I1[1,1,y]<+I0[1,1,x]@0:0fB +I2[2,7,null]fs"},
    {&tn_engine_partial_update, "k INT, a INT, b STRING", "", FULL, false,
     "@5 +I[1,1,\"x\"] @2 +I[1,2,null] @0 +I[1,null,\"y\"]", "+I2[1,2,y]<+I0[1,1,x]@0:0f"},
    {&tn_engine_partial_update, "k INT, g INT, a INT", "fields.g.sequence-group=a", LOOKUP, false,
     "~@3 +I[1,9,1] ~@0 +I[1,5,2] -D[2,1,1]", "+I1[1,9,1]<+I0[1,9,1]@0:0fB -D2[2,1,null]fs"},
    {&tn_engine_partial_update, "k INT, a INT", "partial-update.remove-record-on-delete=true",
     LOOKUP, false, "~@3 +I[1,9] ~@0 -D[1,5]", "-D1[1,5]<+I0[1,9]@0:0fB"},
};

static void changes__of_folding_engines(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(fold_cases) / sizeof(fold_cases[0]); i++) {
    const fold_case *c = &fold_cases[i];
    for (int64_t batch_rows = 1; batch_rows < 10; batch_rows += 8) {
      tarn_env *env = tn_test_env(1, 0);
      tn_merge_changes changes = changes_of(c->mode, c->hides_rows);
      engine_table t;
      char *text = NULL;
      tarn_error err = {0};
      if (engine_table_open(&t, env, c->engine, c->columns, c->options, &err) != TARN_OK) {
        fail_msg("%s", err.message);
      }
      t.changes = &changes;
      t.batch_rows = batch_rows;
      t.needs_lookup = t.merges_single_rows = c->mode == LOOKUP;
      if (engine_merge_text(&t, c->rows, &text, &err) != TARN_OK) {
        fail_msg("%s", err.message);
      }
      join_steps(text);
      assert_string_equal(text, c->expected);
      free(text);
      engine_table_close(&t);
      tarn_env_free(env);
    }
  }
}

/* ------------------------------------------------------------------ against a model */

typedef struct model {
  tn_merge_changes changes;
  bool has_texts, needs_lookup, ignores_deletes, merges_single_rows, is_first_row;
  char *text;
  size_t length;
} model;

static void put_row(model *o, const random_row *row) {
  static const char *const kinds[] = {"+I", "-U", "+U", "-D"};
  o->length += (size_t)sprintf(
      o->text + o->length, o->has_texts ? "%s%d[key-%09d,r%d.%d]" : "%s%d[%d,r%d.%d]",
      kinds[row->kind], (int)row->sequence, row->key, row->run, row->position);
}

static bool retracts(const random_row *row) {
  return row->kind == 1 || row->kind == 3;
}

/* The survivor of n rows; NULL: there is none. */
static const random_row *pick(const model *o, const random_row *const *rows, int n,
                              const random_row *before) {
  const random_row *picked = NULL;
  if (o->is_first_row) {
    for (int i = n; i-- > 0;) {
      picked = retracts(rows[i]) ? picked : rows[i];
    }
    return o->changes.before == TN_BEFORE_DEEPER && before != NULL && before->is_looked_up &&
                   !retracts(before)
               ? before
               : picked;
  }
  if (n == 1 && !o->merges_single_rows) {
    return rows[0];
  }
  for (int i = 0; i < n; i++) {
    picked = o->ignores_deletes && retracts(rows[i]) ? picked : rows[i];
  }
  return picked;
}

/* What the n rows of a key come to, in merge order. */
static void put_key(model *o, const random_row *rows, int n) {
  const random_row *kept[16], *before = NULL, *deeper = NULL, *after;
  int n_kept = 0, n_looked_up = 0;
  bool is_fresh = false, is_given;
  for (int i = 0; i < n; i++) {
    const random_row *row = &rows[i];
    n_looked_up += row->is_looked_up;
    is_fresh |= row->level == 0;
    deeper = row->level > 0 && (deeper == NULL || row->level < deeper->level) ? row : deeper;
    before = o->changes.before == TN_BEFORE_TOP && row->level == 5 ? row : before;
  }
  if (n_looked_up == n) {
    return;
  }
  before = o->changes.before == TN_BEFORE_DEEPER ? deeper : before;
  for (int i = 0; i < n; i++) {
    bool is_stale = rows[i].level > 0 && &rows[i] != deeper;
    bool drops = o->needs_lookup || (o->is_first_row && o->changes.before == TN_BEFORE_DEEPER);
    if (!drops || !is_stale) {
      kept[n_kept++] = &rows[i];
    }
  }
  after = pick(o, kept, n_kept, before);
  is_given =
      o->changes.gives_before_rows && (o->changes.before == TN_BEFORE_DEEPER ? is_fresh : n > 1);
  o->length += (size_t)sprintf(o->text + o->length, "%s", o->length > 0 ? " " : "");
  if (after != NULL) {
    put_row(o, after);
  } else {
    o->length += (size_t)sprintf(o->text + o->length, "0");
  }
  if (before != NULL) {
    o->length += (size_t)sprintf(o->text + o->length, "<");
    if (is_given) {
      put_row(o, before);
    } else {
      o->length += (size_t)sprintf(o->text + o->length, "?");
    }
    o->length += (size_t)sprintf(o->text + o->length, "@%d:%d", before->run, before->position);
  }
  o->length += (size_t)sprintf(o->text + o->length, "%s%s%s%s", is_fresh ? "f" : "",
                               n == 1 ? "s" : "", after != NULL && after->is_looked_up ? "A" : "",
                               before != NULL && before->is_looked_up ? "B" : "");
}

/* A run of random rows; those that are alive are added to `rows`. Returns how many. */
static int add_random_run(merge_test *m, uint32_t *seed, random_row like, int n_keys,
                          bool has_texts, random_row *rows) {
  bool has_user = m->spec.n_sequence_fields > 0;
  char *text = malloc(MAX_ROWS * 64);
  size_t at = (size_t)sprintf(text, "%s @%d ", like.is_looked_up ? "~" : "", like.level);
  uint32_t density = 1 + next_random(seed) % 8;
  int n = 0, position = 0;
  bool has_dead = next_random(seed) % 2 == 0;
  for (int k = 0; k < n_keys; k++) {
    random_row row = like;
    bool is_dead = has_dead && next_random(seed) % 6 == 0;
    /* Now and then a long gap, or a long stretch. */
    density = next_random(seed) % 64 == 0 ? next_random(seed) % 9 : density;
    if (next_random(seed) % 8 >= density) {
      continue;
    }
    row.key = k;
    row.position = position++;
    row.sequence = next_random(seed) % 6;
    row.kind = next_random(seed) % 5 == 0 ? 3 : 0;
    row.user = random_user(seed, has_user);
    at += (size_t)sprintf(text + at, "%s%s", next_random(seed) % 16 == 0 ? "| " : "",
                          is_dead ? "!" : "");
    at += (size_t)sprintf(text + at, has_texts ? "key-%09d" : "%d", k);
    at += (size_t)sprintf(text + at, ":%d:%c:r%d.%d", (int)row.sequence, "+bu-"[row.kind], row.run,
                          row.position);
    at += has_user && row.user >= 0 ? (size_t)sprintf(text + at, ":%d ", row.user)
                                    : (size_t)sprintf(text + at, has_user ? ":- " : " ");
    if (!is_dead) {
      rows[n++] = row;
    }
  }
  add_run(m, text);
  free(text);
  return n;
}

static void run_random_case(uint32_t seed) {
  model o = {.text = calloc(1, MAX_ROWS * 100)};
  random_row *rows = calloc(8 * MAX_ROWS, sizeof(*rows));
  merge_test m;
  int n_runs = 1 + (int)(next_random(&seed) % 7), n = 0, at = 0, next_level = 1;
  int n_keys = 20 + (int)(next_random(&seed) % 400);
  char *got;
  tarn_error err = {0};
  o.changes =
      changes_of((int[]){LOOKUP, FULL, PLAIN}[next_random(&seed) % 3], next_random(&seed) % 2 == 0);
  o.has_texts = next_random(&seed) % 2 == 0;
  o.is_first_row = next_random(&seed) % 3 == 0;
  bool has_user = !o.is_first_row && next_random(&seed) % 2 == 0;
  o.needs_lookup = next_random(&seed) % 2 == 0;
  o.ignores_deletes = o.is_first_row || next_random(&seed) % 2 == 0;
  o.merges_single_rows = next_random(&seed) % 2 == 0;
  merge_test_open(&m, o.has_texts ? "STRING" : "INT", has_user);
  m.spec.engine = o.is_first_row ? &tn_engine_first_row : &tn_engine_deduplicate;
  m.spec.needs_lookup = o.needs_lookup;
  m.spec.ignore_delete = o.ignores_deletes;
  m.spec.merges_single_rows = o.merges_single_rows;
  m.spec.batch_rows = 1 + next_random(&seed) % 60;
  m.spec.input_rows = 1 + next_random(&seed) % 100;
  for (int r = 0; r < n_runs; r++) {
    random_row like = {.run = r};
    if (next_random(&seed) % 2 == 0 && next_level <= 5) {
      like.level = next_level;
      next_level +=
          next_level == 5 ? 1 : 1 + (int)(next_random(&seed) % (uint32_t)(5 - next_level));
      like.is_looked_up = next_random(&seed) % 2 == 0;
    }
    n += add_random_run(&m, &seed, like, n_keys, o.has_texts, rows + n);
  }
  qsort(rows, (size_t)n, sizeof(*rows), random_row_order);
  for (int end = 0; at < n; at = end) {
    for (end = at; end < n && rows[end].key == rows[at].key;) {
      end++;
    }
    put_key(&o, rows + at, end - at);
  }
  assert_works(changes_to_text(&m, &o.changes, &got, &err), err);
  join_steps(got);
  assert_string_equal(got, o.text);
  free(got);
  free(o.text);
  free(rows);
  merge_test_end(&m);
}

static void changes__agree_with_a_model(void **state) {
  (void)state;
  for (uint32_t seed = 1; seed <= 300; seed++) {
    run_random_case(seed * 7919);
  }
}

/* ------------------------------------------------------------------ memory */

static tarn_status selecting_once(void *ctx, tarn_env *env, tarn_error *err) {
  tn_merge_changes changes = changes_of(LOOKUP, false);
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
  m.spec.needs_lookup = true;
  add_run(&m, "1:5:+:a:5 | 2:5:+:b:- | 3:5:-:c:3 !4:4:+:x:1 7:5:+:g:1");
  add_run(&m, "~ @2 1:1:+:A:4 3:3:+:C:1 | 5:0:+:e:1 6:0:+:f:1");
  add_run(&m, "~ @4 1:1:+:z:6 7:3:+:G:9");
  st = changes_to_text(&m, &changes, &text, err);
  if (st == TARN_OK) {
    assert_string_equal(text,
                        "+I5[1,a]<+I1[1,A]@1:0fB +I5[2,b]fs -D5[3,c]<+I3[3,C]@1:1fB | "
                        "+I3[7,G]<+I3[7,G]@2:1fAB");
  }
  free(text);
  merge_test_end(&m);
  return st;
}

static tarn_status folding_once(void *ctx, tarn_env *env, tarn_error *err) {
  tn_merge_changes changes = changes_of(LOOKUP, false);
  engine_table t;
  char *text = NULL;
  tarn_status st;
  (void)ctx;
  st = engine_table_open(&t, env, &tn_engine_aggregation, "k INT, s STRING, n INT",
                         "fields.s.aggregate-function=listagg; fields.n.aggregate-function=sum",
                         err);
  if (st == TARN_OK) {
    t.changes = &changes;
    t.needs_lookup = t.merges_single_rows = true;
    t.batch_rows = 2;
    st = engine_merge_text(
        &t, "~@3 +I[1,\"a\",1] +I[5,\"x\",1] ~@0 +I[1,\"b\",1] +I[2,\"c\",2] +I[3,\"d\",1]", &text,
        err);
  }
  if (st == TARN_OK) {
    assert_string_equal(text, "+I2[1,a,b,2]<+I0[1,a,1]@0:0fB +I3[2,c,2]fs | +I4[3,d,1]fs");
  }
  free(text);
  engine_table_close(&t);
  return st;
}

static void changes__survive_failing_allocations(void **state) {
  (void)state;
  assert_true(tn_torture(selecting_once, NULL, TARN_OK) > 50);
  assert_true(tn_torture(folding_once, NULL, TARN_OK) > 50);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(changes__follow_the_rules),
      cmocka_unit_test(changes__of_first_row_tables_need_not_say_that_they_look_up),
      cmocka_unit_test(changes__refuse_a_filter),
      cmocka_unit_test(steps__end_at_batch_rows),
      cmocka_unit_test(values__of_looked_up_rows_are_read_where_they_are_wanted),
      cmocka_unit_test(steps__end_before_they_grow_too_large),
      cmocka_unit_test(steps__of_folding_engines_do_so_too),
      cmocka_unit_test(looked_up_rows__take_no_memory_in_vain),
      cmocka_unit_test(looked_up_rows__are_stepped_over_in_stretches),
      cmocka_unit_test(changes__of_folding_engines),
      cmocka_unit_test(changes__agree_with_a_model),
      cmocka_unit_test(changes__survive_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
