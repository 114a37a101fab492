/* test_cross.c - tables whose primary key lacks partition columns: keys that move. */
#include "write_maker.h"

static const char *const columns = "0 p STRING|1 id INT NOT NULL|2 v STRING|3 w INT";

static void begin(write_maker *m, const char *options) {
  char all[256];
  snprintf(all, sizeof(all), "bucket=-1;dynamic-bucket.target-row-num=3%s%s",
           options[0] != '\0' ? ";" : "", options);
  wm_begin(m, columns, "p", "id", all);
}

static const char *written(write_maker *m) {
  tn_committable c = wm_prepare(m);
  const char *text = wm_messages(m, &c);
  wm_commit_it(m, &c);
  return text;
}

/* ------------------------------------------------------------------ engines */

static const char *const first = "a|1|v1|1;a|2|v1|2;a|3|v1|3;a|4|v1|4;b|5|v1|5;b|6|v1|6";

static void engines__decide_what_a_key_in_another_partition_does(void **state) {
  static const struct {
    const char *options, *second, *files, *rows;
  } cases[] = {
      {"", "b|1|v2|10;a|2|v2|20;c|5|v2|null;c|7|v2|70",
       "p=a/b0[2 rows, 3-4, -1] p=b/b0[2 rows, 2-3, -1] p=c/b0[2 rows, 0-1]",
       "a|2|v2|20;a|3|v1|3;a|4|v1|4;b|1|v2|10;b|6|v1|6;c|5|v2|null;c|7|v2|70"},
      {"merge-engine=partial-update", "b|1|null|10;a|2|v2|null;c|5|v2|null;c|7|v2|70",
       "p=a/b0[2 rows, 3-4] p=b/b0[1 rows, 2-2] p=c/b0[1 rows, 0-0]",
       "a|1|v1|10;a|2|v2|2;a|3|v1|3;a|4|v1|4;b|5|v2|5;b|6|v1|6;c|7|v2|70"},
      {"merge-engine=aggregation;fields.w.aggregate-function=sum",
       "b|1|v2|10;a|2|v2|20;c|5|v2|null;c|7|v2|70",
       "p=a/b0[2 rows, 3-4] p=b/b0[1 rows, 2-2] p=c/b0[1 rows, 0-0]",
       "a|1|v2|11;a|2|v2|22;a|3|v1|3;a|4|v1|4;b|5|v2|5;b|6|v1|6;c|7|v2|70"},
      {"merge-engine=first-row", "b|1|v2|10;a|2|v2|20;c|5|v2|null;c|7|v2|70",
       "p=a/b0[1 rows, 3-3] p=c/b0[1 rows, 0-0]", NULL},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    for (int reopens = 0; reopens < 2; reopens++) { /* by keys in memory, and by those it reads */
      write_maker m;
      begin(&m, cases[i].options);
      wm_write(&m, first);
      assert_string_equal(written(&m),
                          "p=a/b0[3 rows, 0-2] p=a/b1[1 rows, 0-0] p=b/b0[2 rows, 0-1]");
      if (reopens) {
        wm_open(&m);
      }
      wm_write(&m, cases[i].second);
      assert_string_equal(written(&m), cases[i].files);
      if (cases[i].rows != NULL) { /* rows of first-row tables wait for a compaction */
        assert_string_equal(wm_rows(&m), cases[i].rows);
      }
      wm_end(&m);
    }
  }
}

static void deduplicate__a_key_may_move_within_a_batch_and_back(void **state) {
  write_maker m;
  (void)state;
  begin(&m, "");
  wm_write(&m, "a|1|x|1;b|1|y|2;c|1|z|3;a|1|u|4;-D b|2|n|1;b|2|m|2;null|2|k|3");
  assert_string_equal(written(&m),
                      "p=a/b0[1 rows, 2-2] p=b/b0[2 rows, 1-4, -2] p=c/b0[1 rows, 1-1, -1] "
                      "p=__DEFAULT_PARTITION__/b0[1 rows, 0-0]");
  assert_string_equal(wm_rows(&m), "a|1|u|4;null|2|k|3");
  wm_open(&m);
  wm_write(&m, "b|2|r|1;-D a|1|u|4");
  wm_commit(&m);
  assert_string_equal(wm_rows(&m), "b|2|r|1");
  wm_end(&m);
}

/* ------------------------------------------------------------------ keys and buckets */

static void keys__of_several_columns_and_types_are_found_again(void **state) {
  write_maker m;
  (void)state;
  wm_begin(&m, "0 p INT NOT NULL|1 q INT NOT NULL|2 k STRING NOT NULL|3 n INT NOT NULL|4 v INT",
           "p,q", "p,k,n", "bucket=-1");
  wm_write(&m, "1|1|abcdefghijk|1|1;1|1||2|2;2|1||2|3;1|2|abcdefghijk|1|4");
  wm_commit(&m);
  assert_string_equal(wm_rows(&m), "1|1||2|2;1|2|abcdefghijk|1|4;2|1||2|3");
  wm_open(&m);
  wm_write(&m, "1|3|abcdefghijk|1|5;2|2||2|6");
  wm_commit(&m);
  assert_string_equal(wm_rows(&m), "1|1||2|2;1|3|abcdefghijk|1|5;2|2||2|6");
  wm_end(&m);
}

static void buckets__that_keys_left_are_filled_again(void **state) {
  write_maker m;
  (void)state;
  begin(&m, "");
  wm_write(&m, "a|1|x|1;a|2|x|1;a|3|x|1;a|4|x|1");
  wm_commit(&m);
  wm_write(&m, "b|2|y|1;a|5|y|1;a|6|y|1;a|7|y|1;a|8|y|1");
  assert_string_equal(
      written(&m),
      "p=a/b0[2 rows, 3-4, -1] p=a/b1[2 rows, 1-2] p=b/b0[1 rows, 0-0] p=a/b2[1 rows, 0-0]");
  wm_end(&m);
}

static void keys__that_many_grow_the_table(void **state) {
  write_maker m;
  tn_buf text;
  (void)state;
  wm_begin(&m, columns, "p", "id", "bucket=-1");
  tn_buf_init(&text, &m.tm.env->mem, 1 << 20);
  for (int round = 0; round < 2; round++) {
    text.len = 0;
    for (int i = 0; i < 3000; i++) {
      OK(tn_buf_printf(&text, err, "%s%c|%d|v|%d", i > 0 ? ";" : "", "ab"[(i + round) % 2], i,
                       round));
    }
    OK(tn_buf_append(&text, "", 1, err));
    wm_write(&m, (const char *)text.data);
    assert_string_equal(written(&m), round == 0
                                         ? "p=a/b0[1500 rows, 0-1499] p=b/b0[1500 rows, 0-1499]"
                                         : "p=a/b0[3000 rows, 1500-4499, -1500] "
                                           "p=b/b0[3000 rows, 1500-4499, -1500]");
    wm_open(&m);
  }
  tn_buf_reset(&text);
  wm_end(&m);
}

static int64_t later(void *ctx) {
  (void)ctx;
  return INT64_C(4102444800000); /* 2100-01-01 */
}

static void bootstrap__leaves_out_files_that_are_too_old(void **state) {
  write_maker m;
  (void)state;
  begin(&m, "cross-partition-upsert.index-ttl=1 ms");
  wm_write(&m, "a|1|x|1");
  wm_commit(&m);
  m.tm.env->clock_ms = later;
  wm_open(&m);
  wm_write(&m, "b|1|y|1");
  assert_string_equal(written(&m), "p=b/b0[1 rows, 0-0]");
  wm_end(&m);
}

static void keys__in_two_places_are_told(void **state) {
  write_maker m;
  tarn_error err;
  (void)state;
  begin(&m, "dynamic-partition-overwrite=false");
  wm_write(&m, "a|1|x|1");
  wm_commit(&m);
  m.options.ignores_previous = true; /* as if another writer wrote it meanwhile */
  wm_open(&m);
  wm_write(&m, "b|1|y|1");
  wm_commit(&m);
  m.options.ignores_previous = false;
  wm_open(&m);
  assert_int_equal(wm_try_write(&m, "b|2|y|1", &err), TARN_E_CORRUPT);
  assert_contains(err.message, "a primary key is in two partitions or buckets");
  wm_end(&m);
}

static void overwrite__of_single_partitions_is_refused(void **state) {
  write_maker m;
  tarn_error err;
  (void)state;
  begin(&m, "");
  m.options.ignores_previous = true;
  wm_close(&m);
  assert_int_equal(wm_try_open(&m, &err), TARN_E_UNSUPPORTED);
  assert_contains(err.message, "'dynamic-partition-overwrite' = 'false'");
  wm_end(&m);
}

/* The writer cannot know which partitions stay. */
static void overwrite__of_a_given_partition_is_refused(void **state) {
  write_maker m;
  tarn_error error = {0};
  tn_commit_options o = {.user = "u"};
  tn_committable c, nothing = {.identifier = INT64_MAX};
  tn_commit_result r;
  const tn_pred *only_b;
  (void)state;
  begin(&m, "dynamic-partition-overwrite=false");
  wm_write(&m, "a|1|x|1");
  wm_commit(&m);
  only_b = tm_where(&m.tm, m.table, "p = 'b'");
  m.options.ignores_previous = true;
  wm_open(&m);
  wm_write(&m, "b|1|y|1");
  c = wm_prepare(&m);
  assert_int_equal(tn_commit_overwrite(m.table, &o, &c, only_b, false, &r, &error),
                   TARN_E_UNSUPPORTED);
  assert_contains(error.message, "as a whole only");
  OK(tn_commit_abort(m.table, &c, err));
  assert_string_equal(wm_rows(&m), "a|1|x|1");
  OK(tn_commit_overwrite(m.table, &o, &nothing, tm_where(&m.tm, m.table, "p = 'a'"), false, &r,
                         err)); /* emptied */
  assert_string_equal(wm_rows(&m), "");
  wm_end(&m);
}

static void ignore_delete__leaves_the_old_row_as_java_does(void **state) {
  write_maker m;
  (void)state;
  begin(&m, "ignore-delete=true");
  wm_write(&m, "a|1|x|1;b|1|y|1");
  assert_string_equal(written(&m), "p=a/b0[1 rows, 0-0] p=b/b0[1 rows, 0-0]");
  wm_end(&m);
}

static void rowkind_field__does_not_undo_the_delete_of_a_move(void **state) {
  write_maker m;
  (void)state;
  begin(&m, "rowkind.field=v");
  wm_write(&m, "a|1|+I|1;b|1|+I|2");
  wm_commit(&m);
  assert_string_equal(wm_rows(&m), "b|1|+I|2");
  wm_end(&m);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(engines__decide_what_a_key_in_another_partition_does),
      cmocka_unit_test(deduplicate__a_key_may_move_within_a_batch_and_back),
      cmocka_unit_test(keys__of_several_columns_and_types_are_found_again),
      cmocka_unit_test(buckets__that_keys_left_are_filled_again),
      cmocka_unit_test(keys__that_many_grow_the_table),
      cmocka_unit_test(bootstrap__leaves_out_files_that_are_too_old),
      cmocka_unit_test(keys__in_two_places_are_told),
      cmocka_unit_test(overwrite__of_single_partitions_is_refused),
      cmocka_unit_test(overwrite__of_a_given_partition_is_refused),
      cmocka_unit_test(ignore_delete__leaves_the_old_row_as_java_does),
      cmocka_unit_test(rowkind_field__does_not_undo_the_delete_of_a_move),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
