/* Reading Parquet files whole: every encoding, codec and nesting, against what pyarrow reads. */
#include "format/parquet/parquet.h"
#include "parquet_cases.h"
#include "rows_text.h"
#include "support/test.h"

static void check_case(const parquet_case *c, bool allows_encoded, int64_t batch_rows) {
  format_test t;
  tarn_error err;
  rows_text rows;
  rows_request request = {0};
  format_test_begin(&t);
  tn_format_file *file = must_open(&t, &tn_parquet_format,
                                   data_path(&t, tn_arena_printf(&t.arena, "%s.parquet", c->name)));
  request.allows_encoded = allows_encoded;
  request.batch_rows = batch_rows;
  assert_works(read_rows(&t, file, &request, &rows, &err), err);
  assert_int_equal(file->n_rows, c->n_rows);
  if (rows.n != c->n_rows || rows_crc(&rows) != c->crc) {
    fail_msg("%s: %lld rows with CRC 0x%08x, expected %lld with 0x%08x", c->name, (long long)rows.n,
             (unsigned)rows_crc(&rows), (long long)c->n_rows, (unsigned)c->crc);
  }
  for (int64_t i = 0; i < rows.n; i++) {
    assert_int_equal(rows.positions[i], i);
  }
  tn_format_file_release(file);
  format_test_end(&t);
}

static void read__gives_the_rows_of_pyarrow(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(parquet_cases); i++) {
    check_case(&parquet_cases[i], false, 0);
  }
}

static void read__gives_the_same_rows_encoded(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(parquet_cases); i++) {
    check_case(&parquet_cases[i], true, 0);
  }
}

static void read__gives_the_same_rows_in_batches_of_any_size(void **state) {
  static const int64_t sizes[] = {1, 2, 7, 64};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(parquet_cases); i++) {
    for (size_t k = 0; k < TN_COUNT(sizes); k++) {
      check_case(&parquet_cases[i], k % 2 == 0, sizes[k]);
    }
  }
}

/* Line by line, so that a difference is seen where it is. */
static void check_lines(const char *parquet, const char *expected) {
  format_test t;
  tarn_error err;
  rows_text rows, wanted;
  rows_request request = {0};
  format_test_begin(&t);
  tn_format_file *file = must_open(&t, &tn_parquet_format, data_path(&t, parquet));
  wanted = expected_rows(&t, expected);
  assert_works(read_rows(&t, file, &request, &rows, &err), err);
  for (int64_t i = 0; i < wanted.n && i < rows.n; i++) {
    assert_string_equal(rows.lines[i], wanted.lines[i]);
  }
  assert_int_equal(rows.n, wanted.n);
  tn_format_file_release(file);
  format_test_end(&t);
}

static void read__gives_each_value_of_flat_columns(void **state) {
  (void)state;
  check_lines("plain_v1.parquet", "plain_v1.rows");
}

static void read__gives_each_value_of_nested_columns(void **state) {
  (void)state;
  check_lines("nested_v1.parquet", "nested_v1.rows");
  check_lines("nested_v2.parquet", "nested_v1.rows");
  check_lines("nested_index.parquet", "nested_v1.rows");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(read__gives_each_value_of_flat_columns),
      cmocka_unit_test(read__gives_each_value_of_nested_columns),
      cmocka_unit_test(read__gives_the_rows_of_pyarrow),
      cmocka_unit_test(read__gives_the_same_rows_encoded),
      cmocka_unit_test(read__gives_the_same_rows_in_batches_of_any_size),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
