/* Two states compared, and changes read as they are. */
#include <stdio.h>
#include <string.h>

#include "read_test.h"

#define B "/t/bucket-0"

static tn_data_file file(read_test *t, const char *name, const char *rows) {
  return dm_keyed(&t->tm, B, name, 1, "k INT NOT NULL|v STRING", rows);
}

static void begin(read_test *t, int32_t threads, const char *options) {
  rt_begin(t, threads);
  tm_schema(&t->tm, 0, "0 k INT NOT NULL|1 v STRING", "", "k", options);
  rt_open(t, "");
}

/* The files of the last split that were added so far are those before. */
static void after(read_test *t) {
  tn_split *s = &t->splits[t->n_splits - 1];
  s->is_incremental = true;
  s->before = s->files;
  s->n_before = s->n_files;
  s->before_deletions = s->deletions;
  s->files = s->files + s->n_files;
  s->n_files = 0;
  s->deletions = NULL;
}

static void add_after(read_test *t, tn_data_file added) {
  tn_split *s = &t->splits[t->n_splits - 1];
  t->files[t->n_splits - 1][s->n_before + s->n_files++] = added;
}

/* Key 1 stays, 2 changes, 3 goes, 4 comes, 5 is retracted after, 6 is written again as it was. */
static void put_states(read_test *t) {
  rt_split(t, false);
  rt_add(t, file(t, "b1.avro", "0|+|1|a;1|+|2|old;2|+|3|c;3|+|5|e;4|+|6|f"));
  after(t);
  add_after(t, file(t, "a1.avro", "0|+|1|a;5|+|2|new;8|+|6|f"));
  add_after(t, file(t, "a2.avro", "6|+|4|d;7|-|5|gone"));
}

static void diff__gives_what_has_changed(void **state) {
  read_test t;
  (void)state;
  begin(&t, 1, "bucket=1");
  rt_assert(&t, "");
  put_states(&t);
  rt_assert(&t, "2|new;4|d");
  rt_select(&t, "v");
  rt_assert(&t, "new;d");
  rt_select(&t, "");
  rt_assert(&t, "();()");
  rt_end(&t);
}

static void diff__tells_deletions_when_they_are_kept(void **state) {
  read_test t;
  (void)state;
  begin(&t, 1, "bucket=1");
  put_states(&t);
  t.o.with_row_kind = true;
  rt_assert(&t, "0|2|new;0|4|d");
  t.o.keeps_deletes = true;
  rt_assert(&t, "0|2|new;3|3|c;0|4|d;3|5|gone");
  rt_end(&t);
}

static void diff__filters_rows_that_are_given(void **state) {
  static const struct {
    const char *where, *expected;
  } CASES[] = {
      {"k = 2", "0|2|new"}, {"k >= 3", "3|3|c;0|4|d;3|5|gone"}, {"v = 'new'", "0|2|new"},
      {"v = 'old'", ""}, /* it has become another */
      {"v = 'c'", "3|3|c"}, {"v = 'd' AND k = 4", "0|4|d"},     {"k = 1", ""},
  };
  read_test t;
  (void)state;
  begin(&t, 1, "bucket=1");
  put_states(&t);
  t.o.with_row_kind = t.o.keeps_deletes = true;
  for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
    t.where = CASES[i].where;
    rt_assert(&t, CASES[i].expected);
  }
  /* The tested column need not be given. */
  rt_select(&t, "k");
  t.where = "v = 'new'";
  rt_assert(&t, "0|2");
  rt_end(&t);
}

static void diff__one_state_may_be_empty(void **state) {
  read_test t;
  (void)state;
  begin(&t, 1, "bucket=1");
  rt_split(&t, false);
  after(&t);
  add_after(&t, file(&t, "a1.avro", "0|+|1|a;1|+|2|b"));
  rt_split(&t, false);
  rt_add(&t, file(&t, "b1.avro", "0|+|7|x;1|+|8|y"));
  after(&t);
  rt_assert(&t, "1|a;2|b");
  t.o.with_row_kind = t.o.keeps_deletes = true;
  rt_assert(&t, "0|1|a;0|2|b;3|7|x;3|8|y");
  rt_end(&t);
}

/* An older sequence number does not make a row one of the state before. */
static void diff__knows_states_by_their_files(void **state) {
  read_test t;
  (void)state;
  begin(&t, 1, "bucket=1");
  rt_split(&t, false);
  rt_add(&t, file(&t, "b1.avro", "9|+|1|later"));
  after(&t);
  add_after(&t, file(&t, "a1.avro", "1|+|1|sooner"));
  rt_assert(&t, "1|sooner");
  rt_end(&t);
}

/* Columns that are not asked for count, too. */
static void diff__compares_whole_rows(void **state) {
  read_test t;
  (void)state;
  begin(&t, 1, "bucket=1");
  rt_split(&t, false);
  rt_add(&t, file(&t, "b1.avro", "0|+|1|a;1|+|2|null;2|+|3|null"));
  after(&t);
  add_after(&t, file(&t, "a1.avro", "3|+|1|b;4|+|2|null;5|+|3|c"));
  rt_select(&t, "k");
  rt_assert(&t, "1;3");
  rt_end(&t);
}

static void diff__over_many_batches(void **state) {
  read_test t;
  char before[6000] = "", changed[6000] = "", expected[3000] = "";
  (void)state;
  begin(&t, 2, "bucket=1");
  for (int i = 0, b = 0, a = 0, e = 0; i < 300; i++) {
    if (i % 3 != 2) {
      b += sprintf(before + b, "%s%d|+|%d|x", b > 0 ? ";" : "", i, i);
    }
    if (i % 3 != 1) {
      a += sprintf(changed + a, "%s%d|+|%d|%s", a > 0 ? ";" : "", 400 + i, i, i % 2 ? "x" : "y");
      if (i % 3 == 2 || i % 2 == 0) {
        e += sprintf(expected + e, "%s%d|%s", e > 0 ? ";" : "", i, i % 2 ? "x" : "y");
      }
    }
  }
  rt_split(&t, false);
  rt_add(&t, file(&t, "b1.avro", before));
  after(&t);
  add_after(&t, file(&t, "a1.avro", changed));
  for (int64_t rows = 1; rows < 1000; rows = rows * 7 + 1) {
    t.o.batch_rows = rows;
    rt_assert(&t, expected);
  }
  rt_end(&t);
}

static void diff__limits_rows(void **state) {
  read_test t;
  (void)state;
  begin(&t, 1, "bucket=1");
  put_states(&t);
  t.o.limit = 1;
  rt_assert(&t, "2|new");
  rt_end(&t);
}

static void diff__of_append_tables_reads_what_is_after(void **state) {
  read_test t;
  (void)state;
  rt_begin(&t, 1);
  tm_schema(&t.tm, 0, "0 a INT|1 b STRING", "", "", "bucket=-1");
  rt_open(&t, "");
  rt_split(&t, false);
  rt_add(&t, dm_append(&t.tm, B, "b1.avro", "a INT|b STRING", "1|x"));
  after(&t);
  add_after(&t, dm_append(&t.tm, B, "a1.avro", "a INT|b STRING", "2|y"));
  rt_assert(&t, "2|y");
  rt_end(&t);
}

/* ------------------------------------------------------------------ changes */

static void changes__keep_their_kinds_where_kinds_are_seen(void **state) {
  read_test t;
  (void)state;
  begin(&t, 1, "bucket=1");
  rt_split(&t, true)->is_streaming = true;
  rt_add(&t, file(&t, "f1.avro", "0|+|1|a;1|u|2|b;2|-|3|c"));
  rt_add(&t, file(&t, "f2.avro", "3|+|1|a2"));
  rt_assert(&t, "1|a;2|b;1|a2"); /* not merged; a batch without kinds holds no retractions */
  t.o.with_row_kind = true;
  rt_assert(&t, "0|1|a;2|2|b;3|3|c;0|1|a2");
  t.where = "v = 'c'";
  rt_assert(&t, "3|3|c");
  rt_end(&t);
}

/* ------------------------------------------------------------------ branches */

static void branches__are_read_with_their_own_schema(void **state) {
  read_test t;
  tn_table *other;
  tn_schema *own;
  (void)state;
  rt_begin(&t, 1);
  own = tm_schema(&t.tm, 0, "0 a INT|1 b STRING", "", "", "bucket=-1");
  tm_schema(&t.tm, 1, "7 x INT|9 y STRING", "", "", "bucket=-1");
  other = tm_table(&t.tm, "");
  t.tm.schema = own;
  rt_open(&t, "");
  rt_split(&t, true);
  rt_add(&t, dm_append(&t.tm, B, "f1.avro", "a INT|b STRING", "1|mine"));
  {
    tn_split *s = rt_split(&t, true);
    tn_data_file f = dm_append(&t.tm, B, "f2.avro", "x INT|y STRING", "2|theirs");
    f.schema_id = 1;
    rt_add(&t, f);
    s->table = other;
    s->has_branch = s->is_fallback = true;
  }
  rt_assert(&t, "1|mine;2|theirs");
  t.where = "b = 'theirs'";
  rt_assert(&t, "2|theirs");
  t.where = NULL;
  rt_select(&t, "b");
  rt_assert(&t, "mine;theirs");
  tn_table_release(other);
  rt_end(&t);
}

/* ------------------------------------------------------------------ failing allocations */

static void make_diff(read_test *t, tarn_env *env) {
  rt_begin_in(t, env);
  tm_schema(&t->tm, 0, "0 k INT NOT NULL|1 v STRING", "", "k", "bucket=1");
  rt_open(t, "");
  put_states(t);
  t->o.predicate = tm_where(&t->tm, t->table, "v <> 'd'");
  t->o.with_row_kind = t->o.keeps_deletes = true;
  t->o.batch_rows = 2;
}

static void diff__survives_failing_allocations(void **state) {
  (void)state;
  assert_true(rt_fail_each_allocation(make_diff, 3) > 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(diff__gives_what_has_changed),
      cmocka_unit_test(diff__tells_deletions_when_they_are_kept),
      cmocka_unit_test(diff__filters_rows_that_are_given),
      cmocka_unit_test(diff__one_state_may_be_empty),
      cmocka_unit_test(diff__knows_states_by_their_files),
      cmocka_unit_test(diff__compares_whole_rows),
      cmocka_unit_test(diff__over_many_batches),
      cmocka_unit_test(diff__limits_rows),
      cmocka_unit_test(diff__of_append_tables_reads_what_is_after),
      cmocka_unit_test(changes__keep_their_kinds_where_kinds_are_seen),
      cmocka_unit_test(branches__are_read_with_their_own_schema),
      cmocka_unit_test(diff__survives_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
