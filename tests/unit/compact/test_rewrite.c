/* test_rewrite.c - sections of runs rewritten: what rows, changelog and marks come of them. */
#include "rewrite_cases.h"

#include "support/files.h"

static void run_cases(const rewrite_case *cases, size_t n, const char *columns) {
  for (size_t i = 0; i < n; i++) {
    static const char *const formats[] = {"avro", "parquet"};
    for (int f = 0; f < 2; f++) {
      rewrite_maker m;
      open_case(&m, NULL, &cases[i], columns, formats[f]);
      rm_assert(&m, cases[i].expected);
      rm_close(&m);
    }
  }
}

/* ------------------------------------------------------------------ plain */

static void rewrite__merges_plainly(void **state) {
  static const rewrite_case cases[] = {
      {"", TN_REWRITE_PLAIN, 5, .files = {"0L0 3|+|1|c;4|-|2|d", "0L5 1|+|1|a;2|+|2|b;2|+|3|x"},
       .expected = "[3|+I|1|c;2|+I|3|x]"},
      /* Retractions stay where something older may lie below. */
      {"", TN_REWRITE_PLAIN, 3, .keeps_deletes = true,
       .files = {"0L0 3|u|1|c;4|-|2|d", "0L3 1|+|1|a;2|+|2|b"}, .expected = "[3|+U|1|c;4|-D|2|d]"},
      /* All gone: no file. */
      {"", TN_REWRITE_PLAIN, 5, .files = {"0L0 3|-|1|c", "0L5 1|+|1|a"}, .expected = ""},
      /* Sections of one run and of more go to one writer. */
      {"", TN_REWRITE_PLAIN, 5,
       .files = {"0L0 5|+|1|a;6|-|2|b", "1L0 7|+|4|e", "1L5 1|+|4|d;2|+|6|f"},
       .expected = "[5|+I|1|a;7|+I|4|e;2|+I|6|f]"},
      /* Rows that a vector deletes are no rows. */
      {"", TN_REWRITE_PLAIN, 5,
       .files = {"0L4 5|+|1|a;6|+|2|b;7|+|3|c ~1", "0L5 1|+|1|d;2|+|2|e ~0"},
       .expected = "[5|+I|1|a;2|+I|2|e;7|+I|3|c]"},
      {"", TN_REWRITE_PLAIN, 5, .files = {"0L5 5|+|1|a;6|+|2|b;7|+|3|c ~0,2"},
       .expected = "[6|+I|2|b]"},
      {"ignore-delete=true", TN_REWRITE_PLAIN, 5, .files = {"0L0 3|-|1|c", "0L5 1|+|1|a"},
       .expected = "[1|+I|1|a]"},
      {"merge-engine=first-row", TN_REWRITE_PLAIN, 5, .files = {"0L4 3|+|1|c", "0L5 1|+|1|a"},
       .expected = "[1|+I|1|a]"},
  };
  (void)state;
  run_cases(cases, TN_COUNT(cases), KV);
}

static void rewrite__orders_by_sequence_fields(void **state) {
  static const rewrite_case cases[] = {
      {"sequence.field=s", TN_REWRITE_PLAIN, 5,
       .files = {"0L0 3|+|1|4|c;4|+|2|9|d", "0L5 1|+|1|5|a;2|+|2|8|b"},
       .expected = "[1|+I|1|5|a;4|+I|2|9|d]"},
  };
  (void)state;
  run_cases(cases, TN_COUNT(cases), KSV);
}

static void rewrite__folds(void **state) {
  static const rewrite_case cases[] = {
      {"merge-engine=aggregation;fields.n.aggregate-function=sum", TN_REWRITE_PLAIN, 5,
       .files = {"0L0 3|+|1|10;4|+|2|1", "0L5 1|+|1|5;2|+|3|7"},
       .expected = "[3|+I|1|15;4|+I|2|1;2|+I|3|7]"},
      /* A lone retraction is taken unchanged ... */
      {"merge-engine=aggregation;fields.n.aggregate-function=sum", TN_REWRITE_PLAIN, 3,
       .keeps_deletes = true, .files = {"0L0 3|-|1|10", "0L3 2|+|3|7"},
       .expected = "[3|-D|1|10;2|+I|3|7]"},
      /* ... but not where the table needs lookup. */
      {"merge-engine=aggregation;fields.n.aggregate-function=sum;force-lookup=true",
       TN_REWRITE_LOOKUP, 3, .keeps_deletes = true, .files = {"0L0 3|-|1|10", "0L3 2|+|3|7"},
       .expected = "[3|+I|1|-10;2|+I|3|7]"},
      {"merge-engine=partial-update", TN_REWRITE_PLAIN, 5,
       .files = {"0L0 3|+|1|null;4|+|2|1", "0L5 1|+|1|5;2|+|3|7"},
       .expected = "[3|+I|1|5;4|+I|2|1;2|+I|3|7]"},
      /* Of rows at levels > 0 one counts: the other's value is in it. */
      {"merge-engine=aggregation;fields.n.aggregate-function=sum;force-lookup=true",
       TN_REWRITE_PLAIN, 5, .files = {"0L4 3|+|1|12", "0L5 1|+|1|5;2|+|3|7"},
       .expected = "[3|+I|1|12;2|+I|3|7]"},
  };
  (void)state;
  run_cases(cases, TN_COUNT(cases), KSUM);
}

/* A dead row between two of other keys, behind so many rows of one run that those are taken without
 * comparing: the key of the dead one is not that of the row before it. */
static void rewrite__steps_over_dead_rows(void **state) {
  for (int dead = 2; dead < 60; dead++) {
    rewrite_maker m;
    char deep[1200] = "0L5 ", shallow[40], vector[16];
    int64_t n = 0;
    (void)state;
    rm_open(&m, KV, "k", "bucket=1");
    for (int k = 0; k < 60; k++) {
      sprintf(deep + strlen(deep), "%s1|+|%d|a", k > 0 ? ";" : "", k);
    }
    sprintf(vector, " ~%d", dead);
    strcat(deep, vector);
    sprintf(shallow, "0L4 2|+|%d|b", dead);
    rm_file(&m, shallow);
    rm_file(&m, deep);
    OK(rm_try(&m, err));
    for (int i = 0; i < m.result.n_files; i++) {
      n += m.result.files[i].row_count;
    }
    assert_int_equal(n, 60);
    rm_close(&m);
  }
}

/* ------------------------------------------------------------------ full compaction */

static void rewrite__tells_changes_against_the_top_level(void **state) {
  static const rewrite_case cases[] = {
      {FULL, TN_REWRITE_FULL, 5, .files = {"0L0 1|+|1|a;2|+|2|b"},
       .expected = "[1|+I|1|a;2|+I|2|b] ~[1|+I|1|a;2|+I|2|b]"},
      {FULL, TN_REWRITE_FULL, 5,
       .files = {"0L0 4|+|1|a;5|-|2|x;6|+|4|d;7|-|9|y", "0L5 1|+|1|a;2|+|2|b;3|+|3|c"},
       .expected = "[4|+I|1|a;3|+I|3|c;6|+I|4|d] "
                   "~[1|-U|1|a;4|+U|1|a;2|-D|2|b;6|+I|4|d]"},
      {FULL ";changelog-producer.row-deduplicate=true", TN_REWRITE_FULL, 5,
       .files = {"0L0 4|+|1|a;5|-|2|x;6|+|4|d;7|-|9|y", "0L5 1|+|1|a;2|+|2|b;3|+|3|c"},
       .expected = "[4|+I|1|a;3|+I|3|c;6|+I|4|d] ~[2|-D|2|b;6|+I|4|d]"},
      /* Steps between are not seen. */
      {FULL, TN_REWRITE_FULL, 5, .files = {"0L0 8|+|1|c", "0L0 4|-|1|b", "0L3 2|+|1|a"},
       .expected = "[8|+I|1|c] ~[8|+I|1|c]"},
      /* An upgrade: rows are told, not written. */
      {FULL, TN_REWRITE_FULL, 5, .no_data = true, .files = {"0L0 1|u|1|a;2|+|2|b"},
       .expected = " ~[1|+I|1|a;2|+I|2|b]"},
      /* The top level alone has nothing to tell. */
      {FULL, TN_REWRITE_FULL, 5, .files = {"0L5 1|+|1|a;2|+|2|b ~0"}, .expected = "[2|+I|2|b]"},
  };
  (void)state;
  run_cases(cases, TN_COUNT(cases), KV);
}

/* The top row counts as what was there, though the merge leaves it out (its value is in level 3).
 */
static void rewrite__sees_the_top_row_below_others(void **state) {
  static const rewrite_case cases[] = {
      {FULL ";force-lookup=true;merge-engine=aggregation;fields.n.aggregate-function=sum",
       TN_REWRITE_FULL, 5, .files = {"0L0 9|+|1|10", "0L3 8|+|1|12", "0L5 1|+|1|5;1|+|2|6"},
       .expected = "[9|+I|1|22;1|+I|2|6] ~[1|-U|1|5;9|+U|1|22]"},
  };
  (void)state;
  run_cases(cases, TN_COUNT(cases), KSUM);
}

static void rewrite__refuses_two_rows_at_the_top(void **state) {
  static const rewrite_case c = {FULL, TN_REWRITE_FULL, 5,
                                 .files = {"0L0 9|+|1|c", "0L5 1|+|1|a", "0L5 2|+|1|b"}};
  rewrite_maker m;
  (void)state;
  open_case(&m, NULL, &c, KV, "avro");
  rm_assert_fails(&m, TARN_E_CORRUPT, "another file of level 5");
  assert_int_equal(rm_n_files(&m), 3);
  rm_close(&m);
}

/* ------------------------------------------------------------------ lookup */

static void rewrite__looks_up_deeper_rows(void **state) {
  static const rewrite_case cases[] = {
      {LOOKUP, TN_REWRITE_LOOKUP, 4,
       .files = {"0L0 4|+|1|c;5|-|2|x;6|-|3|y;7|+|8|n", "dL5 1|+|1|a;2|+|2|b;3|+|7|z"},
       .expected = "[4|+I|1|c;7|+I|8|n] ~[1|-U|1|a;4|+U|1|c;2|-D|2|b;7|+I|8|n]"},
      /* Retractions that are kept. */
      {LOOKUP, TN_REWRITE_LOOKUP, 4, .keeps_deletes = true,
       .files = {"0L0 4|+|1|c;5|-|2|x", "dL5 1|+|1|a;2|+|2|b"},
       .expected = "[4|+I|1|c;5|-D|2|x] ~[1|-U|1|a;4|+U|1|c;2|-D|2|b]"},
      /* The shallower row counts, in the input and below it. */
      {LOOKUP, TN_REWRITE_LOOKUP, 3,
       .files = {"0L0 8|+|1|d;9|+|2|e", "0L3 5|+|1|c", "dL4 3|+|1|x;4|+|2|b", "dL5 1|+|2|y"},
       .expected = "[8|+I|1|d;9|+I|2|e] ~[5|-U|1|c;8|+U|1|d;4|-U|2|b;9|+U|2|e]"},
      /* What was retracted was not there. */
      {LOOKUP, TN_REWRITE_LOOKUP, 3, .keeps_deletes = true,
       .files = {"0L0 8|+|1|d;9|-|2|e", "dL4 3|-|1|x;4|-|2|b"},
       .expected = "[8|+I|1|d;9|-D|2|e] ~[8|+I|1|d]"},
      /* No row of level 0, no change. */
      {LOOKUP, TN_REWRITE_LOOKUP, 4,
       .files = {"0L0 8|+|1|d", "0L3 5|+|2|c", "0L4 3|+|2|b", "dL5 1|+|2|y"},
       .expected = "[8|+I|1|d;5|+I|2|c] ~[8|+I|1|d]"},
      {LOOKUP, TN_REWRITE_LOOKUP, 4, .files = {"0L3 5|+|2|c", "0L4 3|+|2|b", "dL5 1|+|2|y"},
       .expected = "[5|+I|2|c]"},
      /* An upgrade. */
      {LOOKUP, TN_REWRITE_LOOKUP, 4, .no_data = true,
       .files = {"0L0 8|+|1|d;9|+|2|e", "dL5 1|+|2|y"},
       .expected = " ~[8|+I|1|d;1|-U|2|y;9|+U|2|e]"},
      {LOOKUP ";changelog-producer.row-deduplicate=true", TN_REWRITE_LOOKUP, 4,
       .files = {"0L0 8|+|1|d;9|+|2|null;9|+|3|x", "dL5 1|+|1|d;2|+|2|null;3|+|3|null"},
       .expected = "[8|+I|1|d;9|+I|2|null;9|+I|3|x] ~[3|-U|3|null;9|+U|3|x]"},
      /* Without the producer there is nothing to tell. */
      {"force-lookup=true", TN_REWRITE_LOOKUP, 4, .files = {"0L0 8|+|1|d", "dL5 1|+|1|y"},
       .expected = "[8|+I|1|d]"},
      /* Rows that a vector deletes are not found. */
      {LOOKUP, TN_REWRITE_LOOKUP, 4, .files = {"0L0 8|+|1|d;9|+|2|e", "dL5 1|+|1|x;2|+|2|y ~0"},
       .expected = "[8|+I|1|d;9|+I|2|e] ~[8|+I|1|d;2|-U|2|y;9|+U|2|e]"},
  };
  (void)state;
  run_cases(cases, TN_COUNT(cases), KV);
}

static void rewrite__marks_superseded_rows(void **state) {
  static const rewrite_case cases[] = {
      {"deletion-vectors.enabled=true", TN_REWRITE_LOOKUP, 4, .has_marks = true,
       .files = {"0L0 8|+|1|d;9|-|3|e", "dL5 1|+|0|w;1|+|1|x;2|+|2|y;3|+|3|z"},
       .expected = "[8|+I|1|d] !f1:1 f1:3"},
      /* Rows of the input go with it; those below them are marked already. */
      {"deletion-vectors.enabled=true", TN_REWRITE_LOOKUP, 4, .has_marks = true,
       .files = {"0L0 8|+|1|d;9|+|2|e", "0L4 4|+|1|c", "dL5 1|+|1|x;2|+|2|y ~0"},
       .expected = "[8|+I|1|d;9|+I|2|e] !f2:1"},
      {LOOKUP ";deletion-vectors.enabled=true", TN_REWRITE_LOOKUP, 3, .has_marks = true,
       .no_data = true, .files = {"0L0 8|+|1|d", "dL4 4|+|5|c", "dL5 1|+|1|x;2|+|5|y"},
       .expected = " ~[1|-U|1|x;8|+U|1|d] !f2:0"},
  };
  (void)state;
  run_cases(cases, TN_COUNT(cases), KV);
}

/* Only marks are wanted: values are not read. */
static void rewrite__marks_by_keys_alone(void **state) {
  static const rewrite_case cases[] = {
      {"deletion-vectors.enabled=true", TN_REWRITE_LOOKUP, 4, .has_marks = true, .no_data = true,
       .files = {"0L0 8|+|1|d;9|-|3|e", "dL5 1|+|0|w;1|+|1|x;2|+|2|y;3|+|3|z"},
       .expected = " !f1:1 f1:3"},
      {"deletion-vectors.enabled=true;sort-spill-threshold=2", TN_REWRITE_LOOKUP, 4,
       .has_marks = true, .no_data = true,
       .files = {"0L0 8|+|1|d;9|-|3|e", "0L0 7|+|2|c", "0L0 7|+|5|c",
                 "dL5 1|+|0|w;1|+|1|x;2|+|2|y;3|+|3|z"},
       .expected = " !f3:1 f3:2 f3:3"},
      {"deletion-vectors.enabled=true", TN_REWRITE_LOOKUP, 5, .has_marks = true, .no_data = true,
       .files = {"0L0 8|+|1|d;9|-|3|e"}, .expected = ""},
  };
  char *folder = tn_test_temp_dir();
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    rewrite_maker m;
    open_case(&m, NULL, &cases[i], KV, "avro");
    m.spill_folder = folder;
    rm_assert(&m, cases[i].expected);
    assert_int_equal(m.result.n_spilled_bytes > 0, i == 1);
    rm_close(&m);
  }
  tn_test_temp_dir_remove(folder);
}

static void rewrite__folds_what_it_looks_up(void **state) {
  static const rewrite_case cases[] = {
      {LOOKUP ";merge-engine=aggregation;fields.n.aggregate-function=sum", TN_REWRITE_LOOKUP, 4,
       .files = {"0L0 8|+|1|10;9|+|2|1", "dL5 1|+|1|5"},
       .expected = "[8|+I|1|15;9|+I|2|1] ~[1|-U|1|5;8|+U|1|15;9|+I|2|1]"},
      {LOOKUP ";merge-engine=partial-update", TN_REWRITE_LOOKUP, 4,
       .files = {"0L0 8|+|1|null;9|+|2|1", "dL5 1|+|1|5"},
       .expected = "[8|+I|1|5;9|+I|2|1] ~[1|-U|1|5;8|+U|1|5;9|+I|2|1]"},
  };
  (void)state;
  run_cases(cases, TN_COUNT(cases), KSUM);
}

static void rewrite__ignores_columns_that_may_differ(void **state) {
  static const rewrite_case cases[] = {
      {LOOKUP ";changelog-producer.row-deduplicate=true;"
              "changelog-producer.row-deduplicate-ignore-fields=s",
       TN_REWRITE_LOOKUP, 4, .files = {"0L0 8|+|1|6|a;9|+|2|6|b", "dL5 1|+|1|5|a;2|+|2|5|x"},
       .expected = "[8|+I|1|6|a;9|+I|2|6|b] ~[2|-U|2|5|x;9|+U|2|6|b]"},
  };
  (void)state;
  run_cases(cases, TN_COUNT(cases), KSV);
}

static void rewrite__keeps_first_rows(void **state) {
#define FIRST "merge-engine=first-row;"
  static const rewrite_case cases[] = {
      {FIRST LOOKUP, TN_REWRITE_LOOKUP, 4,
       .files = {"0L0 8|+|1|d;9|+|2|e;9|+|3|f", "0L4 4|+|2|c", "dL5 1|+|3|x"},
       .expected = "[8|+I|1|d;4|+I|2|c] ~[8|+I|1|d]"},
      {FIRST "changelog-producer=none", TN_REWRITE_LOOKUP, 4,
       .files = {"0L0 8|+|1|d", "dL5 1|+|3|x"}, .expected = "[8|+I|1|d]"},
      {FIRST LOOKUP, TN_REWRITE_LOOKUP, 5, .no_data = true, .files = {"0L0 8|+|1|d"},
       .expected = " ~[8|+I|1|d]"},
  };
  static const rewrite_case refused = {FIRST LOOKUP, TN_REWRITE_LOOKUP, 4,
                                       .files = {"0L0 8|-|1|d"}};
  rewrite_maker m;
  (void)state;
  run_cases(cases, TN_COUNT(cases), KV);
  open_case(&m, NULL, &refused, KV, "avro");
  rm_assert_fails(&m, TARN_E_INVALID, "first-row");
  rm_close(&m);
}

/* Few keys of level 0 against many deeper rows, and many against few: the same. */
static void rewrite__finds_few_keys_among_many(void **state) {
  char *rows = malloc(1 << 16), *at = rows;
  rewrite_maker m;
  (void)state;
  rm_open(&m, KV, "k", "bucket=1;deletion-vectors.enabled=true;" LOOKUP);
  m.request.mode = TN_REWRITE_LOOKUP;
  m.request.output_level = 4;
  m.request.marks = (tn_rewrite_marks){rm_mark, &m};
  rm_file(&m, "0L0 9001|+|20|a;9002|+|21|b;9003|+|3001|c;9004|+|3998|d");
  rm_file(&m, "0L0 9005|-|1000|e");
  at += sprintf(at, "dL5 ");
  for (int i = 0; i < 2000; i++) { /* even keys */
    at += sprintf(at, "%s%d|+|%d|x%d", i > 0 ? ";" : "", i + 1, 2 * i, i);
  }
  rm_file(&m, rows);
  rm_assert(&m,
            "[9001|+I|20|a;9002|+I|21|b;9003|+I|3001|c;9004|+I|3998|d] "
            "~[11|-U|20|x10;9001|+U|20|a;9002|+I|21|b;501|-D|1000|x500;9003|+I|3001|c;"
            "2000|-U|3998|x1999;9004|+U|3998|d] !f2:10 f2:500 f2:1999");
  rm_close(&m);
  free(rows);
}

/* ------------------------------------------------------------------ expiry */

static void rewrite__drops_what_expired(void **state) {
#define EXPIRES "record-level.expire-time=100 s;record-level.time-field=s"
  static const rewrite_case cases[] = {
      /* Before merging: an older row comes back. now: 1000 s. */
      {EXPIRES, TN_REWRITE_PLAIN, 5,
       .files = {"0L0 3|+|1|899|c;4|+|2|900|d", "0L5 1|+|1|950|a;2|+|2|950|b;2|+|3|null|x"},
       .expected = "[1|+I|1|950|a;4|+I|2|900|d;2|+I|3|null|x]"},
      {EXPIRES, TN_REWRITE_PLAIN, 5, .files = {"0L5 1|+|1|899|a;2|+|2|950|b;2|+|3|null|x ~1"},
       .expected = "[2|+I|3|null|x]"},
      /* What is looked up, too; but rows that a vector must mark are met. */
      {EXPIRES ";" LOOKUP, TN_REWRITE_LOOKUP, 4,
       .files = {"0L0 9|+|1|950|c;9|+|2|800|d", "dL5 1|+|1|800|a;1|+|2|950|b"},
       .expected = "[9|+I|1|950|c] ~[9|+I|1|950|c]"},
      {EXPIRES ";deletion-vectors.enabled=true;" LOOKUP, TN_REWRITE_LOOKUP, 4, .has_marks = true,
       .files = {"0L0 9|+|1|950|c", "dL5 1|+|1|800|a"},
       .expected = "[9|+I|1|950|c] ~[1|-U|1|800|a;9|+U|1|950|c] !f1:0"},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    rewrite_maker m;
    open_case(&m, NULL, &cases[i], KSV, "avro");
    m.request.now_ms = 1000999;
    rm_assert(&m, cases[i].expected);
    rm_close(&m);
  }
}

/* BIGINT times count milliseconds from 10^12 on. */
static void rewrite__knows_units_of_time(void **state) {
  static const struct {
    int64_t now_ms;
    const char *rows, *expected;
  } cases[] = {
      {1000999, "0L5 1|+|1|899;1|+|2|900", "[1|+I|2|900]"},
      {1000000100999, "0L5 1|+|1|999999999;1|+|2|1000000000000", "[1|+I|2|1000000000000]"},
      {1000000101000, "0L5 1|+|1|1000000000999;1|+|2|1000000001000", "[1|+I|2|1000000001000]"},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    rewrite_maker m;
    rm_open(&m, "k INT NOT NULL|s BIGINT", "k", "bucket=1;" EXPIRES);
    m.request.now_ms = cases[i].now_ms;
    rm_file(&m, cases[i].rows);
    rm_assert(&m, cases[i].expected);
    rm_close(&m);
  }
}

static void has_expired__asks_statistics(void **state) {
  static const rewrite_case c = {"record-level.expire-time=100 s;record-level.time-field=s",
                                 TN_REWRITE_PLAIN, 5,
                                 .files = {"0L0 3|+|1|950|c", "0L5 2|+|2|960|b;2|+|3|null|x"}};
  rewrite_maker m;
  bool is_old;
  (void)state;
  open_case(&m, NULL, &c, KSV, "parquet");
  m.request.now_ms = 1000999;
  rm_assert(&m, "[3|+I|1|950|c;2|+I|2|960|b;2|+I|3|null|x]");
  OK(tn_rewriter_has_expired(m.rewriter, &m.result.files[0], 1050999, &is_old, err));
  assert_false(is_old);
  OK(tn_rewriter_has_expired(m.rewriter, &m.result.files[0], 1051000, &is_old, err));
  assert_true(is_old);
  /* Without statistics nothing is known to be old. */
  OK(tn_rewriter_has_expired(m.rewriter, &m.metas[0], 99999999, &is_old, err));
  assert_false(is_old);
  rm_close(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rewrite__merges_plainly),
      cmocka_unit_test(rewrite__orders_by_sequence_fields),
      cmocka_unit_test(rewrite__folds),
      cmocka_unit_test(rewrite__steps_over_dead_rows),
      cmocka_unit_test(rewrite__tells_changes_against_the_top_level),
      cmocka_unit_test(rewrite__sees_the_top_row_below_others),
      cmocka_unit_test(rewrite__refuses_two_rows_at_the_top),
      cmocka_unit_test(rewrite__looks_up_deeper_rows),
      cmocka_unit_test(rewrite__marks_superseded_rows),
      cmocka_unit_test(rewrite__marks_by_keys_alone),
      cmocka_unit_test(rewrite__folds_what_it_looks_up),
      cmocka_unit_test(rewrite__ignores_columns_that_may_differ),
      cmocka_unit_test(rewrite__keeps_first_rows),
      cmocka_unit_test(rewrite__finds_few_keys_among_many),
      cmocka_unit_test(rewrite__drops_what_expired),
      cmocka_unit_test(rewrite__knows_units_of_time),
      cmocka_unit_test(has_expired__asks_statistics),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
