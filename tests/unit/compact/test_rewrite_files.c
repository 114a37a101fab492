/* test_rewrite_files.c - the files that a rewrite reads and writes: their descriptions and sizes,
 * runs of several files, files of older schemas.
 */
#include "rewrite_cases.h"

#include "support/files.h"

static bool ends_with(tn_slice text, const char *end) {
  size_t n = strlen(end);
  return text.len >= n && memcmp(text.data + text.len - n, end, n) == 0;
}

static void rewrite__describes_its_files(void **state) {
  rewrite_maker m;
  const tn_data_file *f;
  (void)state;
  rm_open(&m, KV, "k",
          "bucket=1;file.format=parquet;file.format.per.level=4:avro;" LOOKUP
          ";changelog-file.format=parquet;changelog-file.prefix=changes-");
  m.request.mode = TN_REWRITE_LOOKUP;
  m.request.output_level = 4;
  rm_file(&m, "0L0 3|+|2|b;4|u|5|c");
  rm_file(&m, "dL5 1|+|2|a");
  OK(rm_try(&m, err));
  assert_int_equal(m.result.n_files, 1);
  assert_int_equal(m.result.n_changelog, 1);
  f = &m.result.files[0];
  assert_int_equal(f->level, 4);
  assert_int_equal(f->source, TN_SOURCE_COMPACT);
  assert_int_equal(f->row_count, 2);
  assert_int_equal(f->min_sequence, 3);
  assert_int_equal(f->max_sequence, 4);
  assert_true(ends_with(f->file_name, ".avro"));
  f = &m.result.changelog[0];
  assert_int_equal(f->level, 4);
  assert_int_equal(f->source, TN_SOURCE_APPEND);
  assert_int_equal(f->row_count, 3);
  assert_int_equal(f->delete_row_count, 1);
  assert_int_equal(f->min_sequence, 1);
  assert_memory_equal(f->file_name.data, "changes-", 8);
  assert_true(ends_with(f->file_name, ".parquet"));
  assert_int_equal(m.result.n_rows_in, 2);
  assert_int_equal(m.result.n_rows_out, 2);
  rm_close(&m);
}

static void rewrite__rolls_at_the_target_size(void **state) {
  char *rows = malloc(1 << 18), *at = rows;
  rewrite_maker m;
  int64_t n = 0;
  (void)state;
  rm_open(&m, KV, "k", "bucket=1;target-file-size=2 kb;file.compression=none");
  at += sprintf(at, "0L0 ");
  for (int i = 0; i < 4000; i++) {
    at += sprintf(at, "%s%d|+|%d|value %d", i > 0 ? ";" : "", i + 10000, i, i);
  }
  rm_file(&m, rows);
  rm_file(&m, "0L5 1|+|5|x");
  OK(rm_try(&m, err));
  assert_true(m.result.n_files > 1);
  for (int32_t i = 0; i < m.result.n_files; i++) {
    n += m.result.files[i].row_count;
  }
  assert_int_equal(n, 4000);
  rm_close(&m);
  free(rows);
}

static void rewrite__copies_the_smallest_of_many_runs(void **state) {
  char *folder = tn_test_temp_dir();
  rewrite_maker m;
  (void)state;
  rm_open(&m, KSV, "k",
          "bucket=1;sort-spill-threshold=2;record-level.expire-time=100 s;"
          "record-level.time-field=s");
  m.spill_folder = folder;
  m.request.now_ms = 1000000;
  rm_file(&m, "0L0 9|+|1|950|i;9|+|6|950|q")->file_size = 5000;
  rm_file(&m, "0L0 8|+|1|950|h;8|-|2|950|h");
  rm_file(&m, "0L0 7|+|1|950|g;7|+|3|800|g");
  rm_file(&m, "0L3 6|+|1|950|f;6|+|3|950|f;6|+|4|950|z ~2");
  rm_file(&m, "0L5 1|+|2|950|a;2|+|5|950|b")->file_size = 9000;
  rm_assert(&m, "[9|+I|1|950|i;6|+I|3|950|f;2|+I|5|950|b;9|+I|6|950|q]");
  assert_true(m.result.n_spilled_bytes > 0);
  rm_close(&m);
  tn_test_temp_dir_remove(folder);
}

/* A run holds files of any level: each row keeps that of its file, on disk, too. */
static void rewrite__keeps_levels_within_runs(void **state) {
  char *folder = tn_test_temp_dir();
  (void)state;
  for (int spills = 0; spills < 2; spills++) {
    tn_rewrite_run runs[3];
    rewrite_maker m;
    rm_open(&m, KV, "k", "bucket=1;sort-spill-threshold=2;" LOOKUP);
    m.spill_folder = spills ? folder : NULL;
    m.request.mode = TN_REWRITE_LOOKUP;
    m.request.output_level = 4;
    rm_file(&m, "0L0 7|+|1|a;8|+|2|b");
    rm_file(&m, "0L4 3|+|5|c;4|+|6|d");
    rm_file(&m, "0L4 1|+|1|x;2|+|2|y");
    rm_file(&m, "0L0 9|+|5|e;9|-|6|f");
    rm_file(&m, "0L0 6|+|2|z;6|+|6|g")->file_size = 9000;
    runs[0] = (tn_rewrite_run){&m.files[0], 2};
    runs[1] = (tn_rewrite_run){&m.files[2], 2};
    runs[2] = (tn_rewrite_run){&m.files[4], 1};
    m.sections[0] = (tn_rewrite_section){runs, 3};
    rm_assert(&m,
              "[7|+I|1|a;8|+I|2|b;9|+I|5|e] "
              "~[1|-U|1|x;7|+U|1|a;2|-U|2|y;8|+U|2|b;3|-U|5|c;9|+U|5|e;4|-D|6|d]");
    assert_int_equal(m.result.n_spilled_bytes > 0, spills);
    rm_close(&m);
  }
  tn_test_temp_dir_remove(folder);
}

static void rewrite__reads_old_schemas(void **state) {
  rewrite_maker m;
  (void)state;
  rm_open(&m, KV, "k", "bucket=1");
  rm_file(&m, "0L5 1|+|1|a;2|+|2|b");
  tm_schema(&m.tm, 1, "0 k INT NOT NULL|1 w STRING|2 n INT", "", "k", "bucket=1");
  tn_table_release(m.table);
  m.table = tm_table(&m.tm, "");
  m.columns = "k INT NOT NULL|w STRING|n INT";
  tm_put(&m.tm, "schema/schema-0",
         "{\"version\":3,\"id\":0,\"fields\":[{\"id\":0,\"name\":\"k\",\"type\":\"INT NOT NULL\"},"
         "{\"id\":1,\"name\":\"v\",\"type\":\"STRING\"}],\"highestFieldId\":1,\"partitionKeys\":[],"
         "\"primaryKeys\":[\"k\"],\"options\":{\"bucket\":\"1\"},\"timeMillis\":1}");
  rm_file(&m, "0L0 3|+|2|c|7")->schema_id = 1;
  rm_assert(&m, "[1|+I|1|a|null;3|+I|2|c|7]");
  assert_int_equal(m.result.files[0].schema_id, 1);
  rm_close(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rewrite__describes_its_files),
      cmocka_unit_test(rewrite__rolls_at_the_target_size),
      cmocka_unit_test(rewrite__copies_the_smallest_of_many_runs),
      cmocka_unit_test(rewrite__keeps_levels_within_runs),
      cmocka_unit_test(rewrite__reads_old_schemas),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
