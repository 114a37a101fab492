/* A VARIANT column that Java shredded (data/shredded.parquet), against the bytes that Java itself
 * put together when it rewrote the file without shredding (data/shredded.rows: id, metadata and
 * value in hex). All cases of the format's own test files are in test_parquet_testing.
 */
#include "format/parquet/parquet.h"
#include "rows_text.h"
#include "support/test.h"
#include "support/torture.h"

static tarn_status put_hex(tn_buf *out, tn_slice bytes, tarn_error *err) {
  TN_TRY(tn_buf_text(out, " ", err));
  for (size_t i = 0; i < bytes.len; i++) {
    TN_TRY(tn_buf_printf(out, err, "%02x", bytes.data[i]));
  }
  return TARN_OK;
}

static tarn_status put_rows(const tn_batch *batch, tn_buf *out, tarn_error *err) {
  const tn_vec *v = &batch->columns[1];
  for (int64_t row = 0; row < batch->n_rows; row++) {
    TN_TRY(tn_buf_printf(out, err, "%d", ((const int32_t *)batch->columns[0].values)[row]));
    if (tn_vec_is_null(v, row)) {
      TN_TRY(tn_buf_text(out, " null", err));
    } else {
      TN_TRY(put_hex(out, tn_vec_bytes(&v->children[0], row), err));
      TN_TRY(put_hex(out, tn_vec_bytes(&v->children[1], row), err));
    }
    TN_TRY(tn_buf_text(out, "\n", err));
  }
  return TARN_OK;
}

static tarn_status read_bytes(tarn_env *env, tn_format_file *file, const tn_field *fields,
                              int64_t max_rows, tn_buf *out, tarn_error *err) {
  tn_read_request request = {.fields = fields, .n_fields = 2};
  tarn_status st;
  tn_reader *reader = NULL;
  tn_batch batch;
  memset(&batch, 0, sizeof(batch));
  TN_TRY_TO(done, tn_batch_init(env, fields, 2, &batch, err));
  TN_TRY_TO(done, file->ops->read(file, &request, &reader, err));
  do {
    TN_TRY_TO(done, tn_reader_next(reader, max_rows, &batch, err));
    for (int32_t i = 0; i < 2; i++) {
      assert_int_equal(tn_vec_validate(&batch.columns[i], NULL), TARN_OK);
    }
    TN_TRY_TO(done, put_rows(&batch, out, err));
  } while (batch.n_rows > 0);
done:
  tn_reader_free(reader);
  tn_batch_reset(env, &batch);
  return st;
}

static void shredded_variants__are_the_bytes_java_makes(void **state) {
  static const int64_t BATCH_ROWS[] = {1000, 5, 1};
  format_test t;
  tarn_error err;
  tn_format_file *file;
  const tn_field *fields;
  int32_t n_fields;
  rows_text wanted;
  (void)state;
  format_test_begin(&t);
  file = must_open(&t, &tn_parquet_format, data_path(&t, "shredded.parquet"));
  fields = sql_fields(&t, "ROW<id INT, v VARIANT>", &n_fields);
  wanted = expected_rows(&t, "shredded.rows");
  assert_int_equal(wanted.n, 16);
  for (size_t i = 0; i < TN_COUNT(BATCH_ROWS); i++) {
    tn_buf found;
    char *at;
    tn_buf_init(&found, &t.env->mem, 1 << 20);
    assert_works(read_bytes(t.env, file, fields, BATCH_ROWS[i], &found, &err), err);
    assert_works(tn_buf_append(&found, "", 1, &err), err);
    at = (char *)found.data;
    for (int64_t row = 0; row < wanted.n; row++) {
      char *end = strchr(at, '\n');
      assert_non_null(end);
      *end = '\0';
      assert_string_equal(at, wanted.lines[row]);
      at = end + 1;
    }
    assert_int_equal(*at, '\0');
    tn_buf_reset(&found);
  }
  tn_format_file_release(file);
  format_test_end(&t);
}

static tarn_status read_in_need(void *ctx, tarn_env *env, tarn_error *err) {
  static const tn_field FIELDS[] = {{.id = 0, .name = "id", .type = {.root = TN_INT}},
                                    {.id = 1, .name = "v", .type = {.root = TN_VARIANT}}};
  tarn_status st;
  tn_storage *storage = NULL;
  tn_format_file *file = NULL;
  tn_buf out;
  tn_buf_init(&out, &env->mem, 1 << 20);
  TN_TRY_TO(done, tn_storage_local(env, &storage, err));
  TN_TRY_TO(done, tn_format_open(env, storage, &tn_parquet_format, ctx, &file, err));
  st = read_bytes(env, file, FIELDS, 1000, &out, err);
done:
  tn_buf_reset(&out);
  tn_format_file_release(file);
  tn_storage_release(storage);
  return st;
}

static void shredded_variants__survive_any_failed_allocation(void **state) {
  format_test t;
  char path[4096];
  (void)state;
  format_test_begin(&t);
  snprintf(path, sizeof(path), "%s", data_path(&t, "shredded.parquet"));
  format_test_end(&t);
  assert_true(tn_torture(read_in_need, path, TARN_OK) > 50);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shredded_variants__are_the_bytes_java_makes),
      cmocka_unit_test(shredded_variants__survive_any_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
