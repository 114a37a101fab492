/* Reading splits: raw, merged, not merged; filters, limits, row kinds; several threads; trouble. */
#include <stdio.h>
#include <stdlib.h>

#include "read_test.h"
#include "support/files.h"
#include "support/torture.h"

#define B "/t/bucket-0"

static tn_data_file append_file(read_test *t, const char *name, const char *rows) {
  return dm_append(&t->tm, B, name, "a INT|b STRING", rows);
}

static void begin_append(read_test *t, int32_t threads, const char *dynamic) {
  rt_begin(t, threads);
  tm_schema(&t->tm, 0, "0 a INT|1 b STRING", "", "", "");
  rt_open(t, dynamic);
}

static tn_data_file keyed_file(read_test *t, const char *name, const char *rows) {
  return dm_keyed(&t->tm, B, name, 1, "k INT NOT NULL|v STRING", rows);
}

static void begin_keyed(read_test *t, int32_t threads, const char *options) {
  rt_begin(t, threads);
  tm_schema(&t->tm, 0, "0 k INT NOT NULL|1 v STRING", "", "k", options);
  rt_open(t, "");
}

/* ------------------------------------------------------------------ append tables */

static void read__gives_rows_of_files_in_order(void **state) {
  read_test t;
  (void)state;
  begin_append(&t, 1, "");
  rt_assert(&t, ""); /* no split */
  rt_split(&t, true);
  rt_add(&t, append_file(&t, "f1.avro", "1|x;2|null"));
  rt_add(&t, append_file(&t, "f2.avro", "3|y"));
  rt_split(&t, true);
  rt_add(&t, append_file(&t, "f3.avro", "4|z"));
  rt_assert(&t, "1|x;2|null;3|y;4|z");
  rt_select(&t, "b");
  rt_assert(&t, "x;null;y;z");
  rt_select(&t, "b,a,b");
  rt_assert(&t, "x|1|x;null|2|null;y|3|y;z|4|z");
  rt_select(&t, "");
  rt_assert(&t, "();();();()");
  rt_end(&t);
}

static const struct filter_case {
  const char *where, *select, *expected;
} filter_cases[] = {
    {"a > 1", "a,b", "2|null;3|y"},
    {"a > 1", "b", "null;y"}, /* the tested column is not given */
    {"b IS NULL", "a", "2"},
    {"a = 1 OR b = 'y'", "a,b", "1|x;3|y"},
    {"a = 9", "a", ""},
    {"a >= 0", "b,a", "x|1;null|2;y|3"},
};

static void read__filters_exactly(void **state) {
  read_test t;
  (void)state;
  begin_append(&t, 1, "");
  rt_split(&t, true);
  rt_add(&t, append_file(&t, "f1.avro", "1|x;2|null;3|y"));
  for (size_t i = 0; i < sizeof(filter_cases) / sizeof(filter_cases[0]); i++) {
    t.where = filter_cases[i].where;
    rt_select(&t, filter_cases[i].select);
    rt_assert(&t, filter_cases[i].expected);
  }
  rt_end(&t);
}

static void read__limits_rows_of_all_splits_together(void **state) {
  static const char *const expected[] = {
      "", "1|x", "1|x;2|null", "1|x;2|null;3|y", "1|x;2|null;3|y;4|z", "1|x;2|null;3|y;4|z"};
  read_test t;
  (void)state;
  begin_append(&t, 1, "");
  rt_split(&t, true);
  rt_add(&t, append_file(&t, "f1.avro", "1|x;2|null;3|y"));
  rt_split(&t, true);
  rt_add(&t, append_file(&t, "f2.avro", "4|z"));
  for (int64_t limit = 0; limit < 6; limit++) {
    t.o.limit = limit;
    rt_assert(&t, expected[limit]);
  }
  t.o.limit = 2;
  t.where = "a <> 2";
  rt_assert(&t, "1|x;3|y");
  rt_end(&t);
}

static void read__ends_batches_at_batch_rows(void **state) {
  read_test t;
  (void)state;
  begin_append(&t, 1, "");
  rt_split(&t, true);
  rt_add(&t, append_file(&t, "f1.avro", "1|x;2|null;3|y"));
  t.o.batch_rows = 2;
  rt_assert(&t, "1|x;2|null;3|y");
  assert_int_equal(t.n_batches, 2);
  rt_end(&t);
}

static void read__joins_small_batches(void **state) {
  read_test t;
  (void)state;
  begin_append(&t, 1, "");
  rt_split(&t, true);
  for (int i = 0; i < 15; i++) {
    char name[16], rows[32];
    sprintf(name, "f%d.avro", i);
    sprintf(rows, "%d|%s", i, i % 3 == 0 ? "null" : "x");
    rt_add(&t, append_file(&t, name, rows));
  }
  rt_select(&t, "a");
  rt_assert(&t, "0;1;2;3;4;5;6;7;8;9;10;11;12;13;14");
  assert_int_equal(t.n_batches, 1);
  t.o.batch_rows = 16; /* a batch of four rows is large enough */
  rt_assert(&t, "0;1;2;3;4;5;6;7;8;9;10;11;12;13;14");
  assert_int_equal(t.n_batches, 4);
  rt_select(&t, "b");
  t.where = "a >= 11";
  rt_assert(&t, "x;null;x;x");
  rt_end(&t);
}

static void read__drops_rows_that_a_vector_deletes(void **state) {
  read_test t;
  (void)state;
  begin_append(&t, 1, "");
  rt_split(&t, true);
  rt_add(&t, append_file(&t, "f1.avro", "1|x;2|null;3|y"));
  rt_delete(&t, "1");
  rt_add(&t, append_file(&t, "f2.avro", "4|z"));
  rt_add(&t, append_file(&t, "f3.avro", "5|w"));
  rt_delete(&t, "0");
  rt_assert(&t, "1|x;3|y;4|z");
  t.where = "a > 1";
  rt_assert(&t, "3|y;4|z");
  rt_select(&t, "");
  t.where = NULL;
  rt_assert(&t, "();();()");
  rt_end(&t);
}

static void read__tells_row_kinds_of_raw_rows(void **state) {
  read_test t;
  (void)state;
  begin_append(&t, 1, "");
  t.o.with_row_kind = true;
  rt_split(&t, true);
  rt_add(&t, append_file(&t, "f1.avro", "1|x;2|y"));
  rt_assert(&t, "0|1|x;0|2|y");
  t.where = "a = 2";
  rt_assert(&t, "0|2|y");
  rt_end(&t);
}

/* ------------------------------------------------------------------ primary-key tables */

static void add_versions(read_test *t) {
  rt_split(t, false);
  rt_add(t, keyed_file(t, "f1.avro", "0|+|1|old1;1|+|2|old2;2|+|3|old3;3|+|9|old9"));
  rt_add(t, keyed_file(t, "f2.avro", "4|u|1|new1;5|-|2|gone;6|+|4|new4"));
}

static void read__merges_versions_of_a_key(void **state) {
  read_test t;
  (void)state;
  begin_keyed(&t, 1, "bucket=1");
  add_versions(&t);
  rt_assert(&t, "1|new1;3|old3;4|new4;9|old9");
  rt_select(&t, "v");
  rt_assert(&t, "new1;old3;new4;old9");
  rt_select(&t, "k");
  rt_assert(&t, "1;3;4;9");
  rt_select(&t, "v,k,v");
  rt_assert(&t, "new1|1|new1;old3|3|old3;new4|4|new4;old9|9|old9");
  t.o.batch_rows = 1;
  rt_assert(&t, "new1|1|new1;old3|3|old3;new4|4|new4;old9|9|old9");
  rt_end(&t);
}

/* A value filter must not bring old versions back; a key filter may do what it likes. */
static const struct filter_case merge_filters[] = {
    {"v = 'old1'", "k,v", ""},
    {"v = 'old2'", "k,v", ""},
    {"v = 'new1'", "k,v", "1|new1"},
    {"v LIKE 'old%'", "k", "3;9"},
    {"k = 2", "k,v", ""},
    {"k >= 3", "v", "old3;new4;old9"},
    {"k >= 3 AND v LIKE 'old%'", "v", "old3;old9"},
    {"k = 1 OR v = 'old3'", "k", "1;3"},
};

static void read__filters_after_merging(void **state) {
  read_test t;
  (void)state;
  begin_keyed(&t, 1, "bucket=1");
  add_versions(&t);
  for (size_t i = 0; i < sizeof(merge_filters) / sizeof(merge_filters[0]); i++) {
    t.where = merge_filters[i].where;
    rt_select(&t, merge_filters[i].select);
    rt_assert(&t, merge_filters[i].expected);
  }
  rt_end(&t);
}

static void read__keeps_kinds_of_merged_rows(void **state) {
  read_test t;
  (void)state;
  begin_keyed(&t, 1, "bucket=1");
  add_versions(&t);
  t.o.with_row_kind = true;
  rt_assert(&t, "2|1|new1;0|3|old3;0|4|new4;0|9|old9");
  t.o.keeps_deletes = true;
  rt_assert(&t, "2|1|new1;3|2|gone;0|3|old3;0|4|new4;0|9|old9");
  rt_end(&t);
}

static void read__reads_sections_of_one_run_without_merging(void **state) {
  read_test t;
  (void)state;
  begin_keyed(&t, 1, "bucket=1");
  rt_split(&t, false);
  rt_add(&t, keyed_file(&t, "f2.avro", "4|u|5|e;5|-|6|f;6|+|7|g"));
  rt_add(&t, keyed_file(&t, "f1.avro", "0|+|1|a;1|b|2|b"));
  rt_assert(&t, "1|a;5|e;7|g");
  t.where = "v <> 'e'";
  rt_assert(&t, "1|a;7|g");
  t.where = NULL;
  t.o.with_row_kind = true;
  rt_assert(&t, "0|1|a;2|5|e;0|7|g");
  t.o.keeps_deletes = true;
  rt_assert(&t, "0|1|a;1|2|b;2|5|e;3|6|f;0|7|g");
  rt_end(&t);
}

static void read__takes_raw_convertible_splits_as_they_are(void **state) {
  read_test t;
  (void)state;
  begin_keyed(&t, 1, "bucket=1");
  t.o.with_row_kind = true;
  rt_split(&t, true);
  rt_add(&t, keyed_file(&t, "f1.avro", "0|u|1|a;1|+|2|b"));
  rt_assert(&t, "0|1|a;0|2|b");
  /* Old writers did not count deletions: the split is merged. */
  rt_add(&t, keyed_file(&t, "f2.avro", "5|-|1|a;6|+|3|c"))->has_delete_row_count = false;
  rt_assert(&t, "0|2|b;0|3|c");
  rt_end(&t);
}

static void read__does_not_merge_splits_of_a_stream(void **state) {
  read_test t;
  (void)state;
  begin_keyed(&t, 1, "bucket=1");
  rt_split(&t, true)->is_streaming = true;
  rt_add(&t, keyed_file(&t, "f1.avro", "0|+|1|a;1|b|2|b;2|u|2|c"));
  rt_add(&t, keyed_file(&t, "f2.avro", "3|-|1|a"));
  t.o.with_row_kind = true;
  t.o.keeps_deletes = true;
  rt_assert(&t, "0|1|a;1|2|b;2|2|c;3|1|a");
  t.where = "k = 2";
  rt_assert(&t, "1|2|b;2|2|c");
  rt_end(&t);
}

static void read__looks_at_rows_where_sequence_ranges_overlap(void **state) {
  read_test t;
  (void)state;
  begin_keyed(&t, 1, "bucket=1");
  rt_split(&t, false); /* the file that begins later holds the older row of key 2 */
  rt_add(&t, keyed_file(&t, "f1.avro", "0|+|1|a;9|+|2|A"));
  rt_add(&t, keyed_file(&t, "f2.avro", "7|+|1|b;8|+|2|B"));
  rt_assert(&t, "1|b;2|A");
  rt_end(&t);
}

static void read__breaks_ties_by_age_of_files(void **state) {
  read_test t;
  (void)state;
  begin_keyed(&t, 1, "bucket=1");
  rt_split(&t, false);
  rt_add(&t, keyed_file(&t, "f1.avro", "5|+|1|first;6|+|2|first"));
  rt_add(&t, keyed_file(&t, "f2.avro", "5|+|1|second;6|+|2|second"));
  rt_assert(&t, "1|second;2|second");
  t.files[0][1].creation_time_ms -= 5; /* older by the clock, though later in the list */
  rt_assert(&t, "1|first;2|first");
  t.files[0][0].level = 5; /* deeper is older whatever the clock says */
  rt_assert(&t, "1|second;2|second");
  rt_end(&t);
}

static void read__applies_vectors_before_merging(void **state) {
  read_test t;
  (void)state;
  begin_keyed(&t, 1, "bucket=1");
  add_versions(&t);
  rt_delete(&t, "0,1"); /* of f2: new1 and the deletion of 2 */
  rt_assert(&t, "1|old1;2|old2;3|old3;4|new4;9|old9");
  rt_end(&t);
}

static void read__orders_by_user_sequence_fields(void **state) {
  read_test t;
  (void)state;
  rt_begin(&t, 1);
  tm_schema(&t.tm, 0, "0 k INT NOT NULL|1 s INT|2 v STRING", "", "k", "bucket=1;sequence.field=s");
  rt_open(&t, "");
  rt_split(&t, false);
  rt_add(&t, dm_keyed(&t.tm, B, "f1.avro", 1, "k INT NOT NULL|s INT|v STRING",
                      "0|+|1|5|a;1|+|2|5|a;2|+|3|null|a"));
  rt_add(&t, dm_keyed(&t.tm, B, "f2.avro", 1, "k INT NOT NULL|s INT|v STRING",
                      "3|+|1|3|b;4|+|2|5|b;5|+|3|-7|b"));
  rt_assert(&t, "1|5|a;2|5|b;3|-7|b");
  rt_select(&t, "v"); /* the sequence field is read, not given */
  rt_assert(&t, "a;b;b");
  rt_end(&t);
}

static void read__takes_the_first_row_of_first_row_tables(void **state) {
  read_test t;
  (void)state;
  begin_keyed(&t, 1, "bucket=1;merge-engine=first-row");
  rt_split(&t, false);
  rt_add(&t, keyed_file(&t, "f1.avro", "0|+|1|first;1|+|3|c"))->level = 5;
  rt_add(&t, keyed_file(&t, "f2.avro", "2|+|1|later;3|+|2|b"))->level = 4;
  rt_assert(&t, "1|first;2|b;3|c");
  t.where = "v = 'later'";
  rt_assert(&t, "");
  rt_end(&t);
}

static void read__reads_older_schemas_of_a_merged_table(void **state) {
  read_test t;
  (void)state;
  rt_begin(&t, 1);
  tm_schema(&t.tm, 0, "0 k INT NOT NULL|1 v INT", "", "k", "bucket=1");
  tn_data_file old = dm_keyed(&t.tm, B, "f1.avro", 1, "k INT NOT NULL|v INT", "0|+|1|10;1|+|2|20");
  tm_schema(&t.tm, 1, "0 id INT NOT NULL|2 added INT|1 v BIGINT", "", "id", "bucket=1");
  rt_open(&t, "");
  rt_split(&t, false);
  rt_add(&t, old);
  rt_add(&t, dm_keyed(&t.tm, B, "f2.avro", 1, "id INT NOT NULL|added INT|v BIGINT",
                      "2|+|2|7|5000000000"));
  rt_assert(&t, "1|null|10;2|7|5000000000");
  t.where = "v > 15";
  rt_assert(&t, "2|7|5000000000");
  rt_end(&t);
}

/* ------------------------------------------------------------------ refusals */

/* ------------------------------------------------------------------ threads */

static void add_many(read_test *t, bool is_keyed, int n_splits, int n_files) {
  for (int s = 0; s < n_splits; s++) {
    rt_split(t, !is_keyed);
    for (int f = 0; f < n_files; f++) {
      char name[32], rows[400 * 24];
      size_t at = 0;
      sprintf(name, "s%df%d.avro", s, f);
      for (int i = 0; i < 300; i++) {
        int key = s * 10000 + (is_keyed ? i * (f + 1) : f * 300 + i);
        at += (size_t)sprintf(rows + at, is_keyed ? "%s%d|+|%d|v%d" : "%s%d|x%d", i > 0 ? ";" : "",
                              is_keyed ? f * 300 + i : key, is_keyed ? key : f, f);
      }
      rt_add(t, is_keyed ? keyed_file(t, name, rows) : append_file(t, name, rows));
    }
  }
}

static void read__gives_the_same_rows_with_any_number_of_threads(void **state) {
  (void)state;
  for (int is_keyed = 0; is_keyed < 2; is_keyed++) {
    for (int n_splits = 1; n_splits < 6; n_splits += 2) {
      char *expected = NULL;
      for (int32_t threads = 1; threads < 5; threads++) {
        read_test t;
        if (is_keyed) {
          begin_keyed(&t, threads, "bucket=1");
        } else {
          begin_append(&t, threads, "");
        }
        t.sorts_rows = true;
        t.o.batch_rows = 64;
        add_many(&t, is_keyed, n_splits, 3);
        OK(rt_read(&t, err));
        OK(tn_buf_append(&t.text, "", 1, err));
        if (expected == NULL) {
          expected = strdup((const char *)t.text.data);
          assert_true(strlen(expected) > 1000);
        }
        assert_string_equal((const char *)t.text.data, expected);
        rt_end(&t);
      }
      free(expected);
    }
  }
}

static void read__keeps_the_order_of_a_split_with_threads(void **state) {
  (void)state;
  for (int32_t threads = 2; threads < 5; threads++) {
    read_test t;
    long last = -1;
    begin_append(&t, threads, "");
    t.o.batch_rows = 32;
    add_many(&t, false, 1, 5); /* fewer splits than threads: read by files */
    rt_select(&t, "a");
    OK(rt_read(&t, err));
    OK(tn_buf_append(&t.text, "", 1, err));
    for (char *p = (char *)t.text.data; *p != '\0'; p += *p == ';') {
      long value = strtol(p, &p, 10);
      assert_true(value > last);
      last = value;
    }
    assert_int_equal(last, 1499);
    rt_end(&t);
  }
}

static void read__limits_rows_with_threads(void **state) {
  read_test t;
  int n = 1;
  (void)state;
  begin_append(&t, 3, "");
  t.o.batch_rows = 32;
  t.o.limit = 777;
  add_many(&t, false, 4, 2);
  OK(rt_read(&t, err));
  OK(tn_buf_append(&t.text, "", 1, err));
  for (const char *p = (const char *)t.text.data; *p != '\0'; p++) {
    n += *p == ';';
  }
  assert_int_equal(n, 777);
  rt_end(&t);
}

static void read__can_be_given_up_at_any_time(void **state) {
  (void)state;
  for (int n_batches = 0; n_batches < 12; n_batches++) {
    for (int is_keyed = 0; is_keyed < 2; is_keyed++) {
      read_test t;
      tn_read *read;
      if (is_keyed) {
        begin_keyed(&t, 3, "bucket=1");
      } else {
        begin_append(&t, 3, "");
      }
      t.o.batch_rows = 50;
      add_many(&t, is_keyed, 3, 2);
      OK(tn_read_create(t.tm.env, &t.o, t.split_ptrs, t.n_splits, &read, err));
      for (int i = 0; i < n_batches; i++) {
        tn_batch batch;
        OK(tn_read_next(read, &batch, err));
        tn_batch_reset(t.tm.env, &batch);
      }
      tn_read_free(read);
      rt_end(&t);
    }
  }
}

/* ------------------------------------------------------------------ trouble */

static void read__tells_of_a_failure_after_rows_were_given(void **state) {
  (void)state;
  for (int32_t threads = 1; threads < 4; threads++) {
    read_test t;
    begin_append(&t, threads, "");
    rt_split(&t, true);
    rt_add(&t, append_file(&t, "f1.avro", "1|x;2|null"));
    rt_add(&t, tm_entry("gone.avro", 3).file);
    rt_assert_fails(&t, TARN_E_NOT_FOUND, "gone.avro");
    assert_true(t.n_batches <= 1);
    rt_end(&t);
  }
}

static void read__tells_of_kinds_that_are_none(void **state) {
  read_test t;
  tn_data_file file;
  (void)state;
  rt_begin(&t, 1);
  /* A file whose _VALUE_KIND says 7. */
  tm_schema(&t.tm, 0, "0 k INT NOT NULL|1 v STRING", "", "k", "bucket=1");
  rt_open(&t, "");
  file = keyed_file(&t, "f1.avro", "0|-|1|a");
  dm_append(&t.tm, B, "f1.avro",
            "_KEY_k INT NOT NULL|_SEQUENCE_NUMBER BIGINT NOT NULL|_VALUE_KIND TINYINT NOT NULL|"
            "k INT NOT NULL|v STRING",
            "1|0|7|1|a");
  rt_split(&t, false);
  rt_add(&t, file);
  rt_assert_fails(&t, TARN_E_CORRUPT, "_VALUE_KIND");
  rt_add(&t, keyed_file(&t, "f2.avro", "1|+|1|b"));
  rt_assert_fails(&t, TARN_E_CORRUPT, "f1.avro: _VALUE_KIND");
  rt_end(&t);
}

static void read__tells_of_files_that_are_not_sorted(void **state) {
  read_test t;
  (void)state;
  begin_keyed(&t, 1, "bucket=1");
  rt_split(&t, false);
  rt_add(&t, keyed_file(&t, "f1.avro", "0|+|1|a;1|+|9|b;2|+|3|c;3|+|10|d"));
  rt_add(&t, keyed_file(&t, "f2.avro", "4|+|1|a"));
  rt_assert_fails(&t, TARN_E_CORRUPT, "f1.avro");
  rt_end(&t);
}

static void read__stops_when_cancelled(void **state) {
  (void)state;
  for (int32_t threads = 1; threads < 4; threads++) {
    read_test t;
    tn_read *read;
    tn_batch batch;
    tarn_cancel *cancel;
    tarn_error error;
    tarn_status st = TARN_OK;
    begin_keyed(&t, threads, "bucket=1");
    OK(tarn_cancel_create(t.tm.env, &cancel, err));
    t.o.cancel = cancel;
    t.o.batch_rows = 50;
    add_many(&t, true, 2, 2);
    OK(tn_read_create(t.tm.env, &t.o, t.split_ptrs, t.n_splits, &read, err));
    OK(tn_read_next(read, &batch, err));
    tn_batch_reset(t.tm.env, &batch);
    tarn_cancel_set(cancel);
    st = tn_read_next(read, &batch, &error);
    assert_int_equal(st, TARN_E_CANCELLED);
    tn_read_free(read);
    tarn_cancel_free(cancel);
    rt_end(&t);
  }
}

/* Strings that do not fit the budget's share of a batch: more batches, the same rows. */
static void read__ends_batches_of_large_values_earlier(void **state) {
  (void)state;
  for (int is_keyed = 0; is_keyed < 2; is_keyed++) {
    read_test t;
    char *rows = malloc(200 * 1200), value[1000];
    size_t at = 0;
    int n = 1;
    memset(value, 'x', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    if (is_keyed) {
      begin_keyed(&t, 1, "bucket=1");
    } else {
      begin_append(&t, 1, "");
    }
    for (int i = 0; i < 200; i++) {
      at += (size_t)sprintf(rows + at, "%s%d|", i > 0 ? ";" : "", i);
      at += is_keyed ? (size_t)sprintf(rows + at, "+|%d|%s", i, value)
                     : (size_t)sprintf(rows + at, "%s", value);
    }
    rt_split(&t, !is_keyed);
    rt_add(&t, is_keyed ? keyed_file(&t, "f1.avro", rows) : append_file(&t, "f1.avro", rows))
        ->file_size = (int64_t)at;
    if (is_keyed) {
      rt_add(&t, keyed_file(&t, "f2.avro", "900|+|0|new"));
    }
    t.tm.env->mem.budget_bytes = 1 << 20;
    OK(rt_read(&t, err));
    assert_true(t.n_batches > 2);
    OK(tn_buf_append(&t.text, "", 1, err));
    for (const char *p = (const char *)t.text.data; *p != '\0'; p++) {
      n += *p == ';';
    }
    assert_int_equal(n, 200);
    free(rows);
    rt_end(&t);
  }
}

/* 300 values of 100,000 bytes that shrink to nothing in the file, against 8 MiB. */
static void read__goes_on_in_smaller_batches_when_rows_are_larger_than_guessed(void **state) {
  char *path = tn_test_path(TARN_SOURCE_DIR, "tests/unit/datafile/data/large.parquet");
  size_t n;
  uint8_t *bytes = tn_test_read_file(path, &n);
  (void)state;
  for (int with_filter = 0; with_filter < 2; with_filter++) {
    read_test t;
    tn_read *read;
    int64_t n_rows = 0;
    begin_append(&t, 1, "");
    OK(tn_storage_memory_put(t.tm.storage, B "/large.parquet", tn_slice_of(bytes, n), err));
    rt_split(&t, true);
    rt_add(&t, tm_entry("large.parquet", 300).file);
    t.tm.env->mem.budget_bytes = 8 << 20;
    t.o.predicate = with_filter ? tm_where(&t.tm, t.table, "a >= 100") : NULL;
    OK(tn_read_create(t.tm.env, &t.o, t.split_ptrs, t.n_splits, &read, err));
    for (;;) {
      tn_batch batch;
      int64_t got;
      OK(tn_read_next(read, &batch, err));
      got = batch.n_rows;
      for (int64_t i = 0; i < got; i++) {
        int32_t a = ((const int32_t *)batch.columns[0].values)[i];
        tn_slice b = tn_vec_bytes(&batch.columns[1], i);
        assert_int_equal(a, n_rows + i + 100 * with_filter);
        assert_int_equal(b.len, 100000);
        assert_int_equal(b.data[0], 'a' + a % 26);
      }
      n_rows += got;
      tn_batch_reset(t.tm.env, &batch);
      if (got == 0) {
        break;
      }
    }
    assert_int_equal(n_rows, 300 - 100 * with_filter);
    tn_read_free(read);
    t.tm.env->mem.budget_bytes = 256 << 20;
    rt_end(&t);
  }
  free(bytes);
  free(path);
}

static void read__tells_what_a_merge_that_does_not_fit_needs(void **state) {
  read_test t;
  char *rows = malloc(300 * 1200), value[1000];
  (void)state;
  memset(value, 'x', sizeof(value) - 1);
  value[sizeof(value) - 1] = '\0';
  begin_keyed(&t, 1, "bucket=1");
  rt_split(&t, false);
  for (int f = 0; f < 4; f++) {
    char name[16];
    size_t at = 0;
    sprintf(name, "f%d.avro", f);
    for (int i = 0; i < 300; i++) {
      at += (size_t)sprintf(rows + at, "%s%d|+|%d|%s", i > 0 ? ";" : "", f * 300 + i, i, value);
    }
    rt_add(&t, keyed_file(&t, name, rows));
  }
  t.tm.env->mem.budget_bytes = 64 << 10;
  rt_assert_fails(&t, TARN_E_LIMIT, "merging 4 sorted runs");
  rt_assert_fails(&t, TARN_E_LIMIT, "--memory");
  t.tm.env->mem.budget_bytes = 256 << 20;
  free(rows);
  rt_end(&t);
}

/* ------------------------------------------------------------------ failing allocations */

static void make_raw(read_test *t, tarn_env *env) {
  rt_begin_in(t, env);
  tm_schema(&t->tm, 0, "0 a INT|1 b STRING", "", "", "");
  rt_open(t, "");
  rt_split(t, true);
  rt_add(t, append_file(t, "f1.avro", "1|x;2|null;3|y"));
  rt_delete(t, "1");
  rt_add(t, append_file(t, "f2.avro", "4|z;5|w"));
  t->o.predicate = tm_where(&t->tm, t->table, "a <> 4");
  t->o.with_row_kind = true;
}

static void make_merged(read_test *t, tarn_env *env) {
  rt_begin_in(t, env);
  tm_schema(&t->tm, 0, "0 k INT NOT NULL|1 v STRING", "", "k", "bucket=1");
  rt_open(t, "");
  add_versions(t);
  rt_add(t, keyed_file(t, "f3.avro", "7|+|1|x;8|+|7|y"));
  rt_delete(t, "0");
  rt_add(t, keyed_file(t, "f4.avro", "9|+|100|alone;10|-|101|alone"));
  t->o.predicate = tm_where(&t->tm, t->table, "v <> 'old9' AND k > 0");
  t->o.with_row_kind = true;
  t->o.batch_rows = 2;
}

/* 1,000 rows in four row groups; a filter that statistics cannot answer alone. */
static void make_parquet(read_test *t, tarn_env *env) {
  char *path = tn_test_path(TARN_SOURCE_DIR, "tests/unit/datafile/data/paged.parquet");
  size_t n;
  uint8_t *bytes = tn_test_read_file(path, &n);
  rt_begin_in(t, env);
  tm_schema(&t->tm, 0, "0 a INT|1 b STRING", "", "", "");
  rt_open(t, "");
  OK(tn_storage_memory_put(t->tm.storage, B "/paged.parquet", tn_slice_of(bytes, n), err));
  rt_split(t, true);
  rt_add(t, tm_entry("paged.parquet", 1000).file);
  rt_delete(t, "0,5,999");
  t->o.predicate = tm_where(&t->tm, t->table, "a < 10 OR a >= 995");
  free(bytes);
  free(path);
}

static void read__survives_failing_allocations(void **state) {
  (void)state;
  assert_true(rt_fail_each_allocation(make_parquet, 12) > 50);
  assert_true(rt_fail_each_allocation(make_raw, 3) > 50);
  assert_true(rt_fail_each_allocation(make_merged, 5) > 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(read__gives_rows_of_files_in_order),
      cmocka_unit_test(read__filters_exactly),
      cmocka_unit_test(read__limits_rows_of_all_splits_together),
      cmocka_unit_test(read__ends_batches_at_batch_rows),
      cmocka_unit_test(read__joins_small_batches),
      cmocka_unit_test(read__drops_rows_that_a_vector_deletes),
      cmocka_unit_test(read__tells_row_kinds_of_raw_rows),
      cmocka_unit_test(read__merges_versions_of_a_key),
      cmocka_unit_test(read__filters_after_merging),
      cmocka_unit_test(read__keeps_kinds_of_merged_rows),
      cmocka_unit_test(read__reads_sections_of_one_run_without_merging),
      cmocka_unit_test(read__takes_raw_convertible_splits_as_they_are),
      cmocka_unit_test(read__does_not_merge_splits_of_a_stream),
      cmocka_unit_test(read__looks_at_rows_where_sequence_ranges_overlap),
      cmocka_unit_test(read__breaks_ties_by_age_of_files),
      cmocka_unit_test(read__applies_vectors_before_merging),
      cmocka_unit_test(read__orders_by_user_sequence_fields),
      cmocka_unit_test(read__takes_the_first_row_of_first_row_tables),
      cmocka_unit_test(read__reads_older_schemas_of_a_merged_table),
      cmocka_unit_test(read__gives_the_same_rows_with_any_number_of_threads),
      cmocka_unit_test(read__keeps_the_order_of_a_split_with_threads),
      cmocka_unit_test(read__limits_rows_with_threads),
      cmocka_unit_test(read__can_be_given_up_at_any_time),
      cmocka_unit_test(read__tells_of_a_failure_after_rows_were_given),
      cmocka_unit_test(read__tells_of_kinds_that_are_none),
      cmocka_unit_test(read__tells_of_files_that_are_not_sorted),
      cmocka_unit_test(read__stops_when_cancelled),
      cmocka_unit_test(read__ends_batches_of_large_values_earlier),
      cmocka_unit_test(read__goes_on_in_smaller_batches_when_rows_are_larger_than_guessed),
      cmocka_unit_test(read__tells_what_a_merge_that_does_not_fit_needs),
      cmocka_unit_test(read__survives_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
