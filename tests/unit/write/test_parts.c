/* test_parts.c - rows whose BLOB and VECTOR columns lie in files of their own. */
#include "base/bytes.h"
#include "format/blob/blob_descriptor.h"
#include "write_maker.h"

#define EVOLUTION "bucket=-1;row-tracking.enabled=true;data-evolution.enabled=true"

static const char *const with_blobs = "0 id INT|1 a BLOB|2 v STRING|3 b BLOB";

/* What a file of message 0 holds, as hexadecimal digits. */
static const char *file_bytes(write_maker *m, const tn_committable *c, int32_t i) {
  const tn_data_file *file = &c->messages[0].new_files.items[i];
  const char *path =
      tn_arena_printf(&m->tm.arena, "/t/bucket-0/%.*s", TN_SLICE_ARG(file->file_name));
  tn_buf bytes, text;
  tn_buf_init(&bytes, &m->tm.env->mem, 1 << 20);
  tn_buf_init(&text, &m->tm.env->mem, 1 << 20);
  OK(tn_storage_read_all(m->table->storage, path, &bytes, err));
  for (size_t k = 0; k < bytes.len; k++) {
    OK(tn_buf_printf(&text, err, "%02x", bytes.data[k]));
  }
  path = tn_arena_strndup(&m->tm.arena, (const char *)text.data, text.len);
  tn_buf_reset(&bytes);
  tn_buf_reset(&text);
  return path;
}

/* "id,v: 3 rows; a: 3 rows": the files of message 0 with their columns. */
static const char *parts(write_maker *m, const tn_committable *c) {
  const tn_data_files *files = &c->messages[0].new_files;
  const char *text = "";
  for (int32_t i = 0; i < files->n; i++) {
    const tn_data_file *f = &files->items[i];
    const tn_slice *names = f->write_cols.items;
    text = tn_arena_printf(&m->tm.arena, "%s%s", text, i > 0 ? "; " : "");
    for (int64_t k = 0; k < f->write_cols.count; k++) {
      text =
          tn_arena_printf(&m->tm.arena, "%s%s%.*s", text, k > 0 ? "," : "", TN_SLICE_ARG(names[k]));
    }
    text = tn_arena_printf(&m->tm.arena, "%s: %lld rows", text, (long long)f->row_count);
    assert_int_equal(f->min_sequence, 0);
    assert_int_equal(f->max_sequence, f->row_count - 1);
  }
  return text;
}

static void blob__files_have_the_bytes_and_entries_of_java(void **state) {
  write_maker m;
  tn_committable c;
  const tn_data_file *blob;
  (void)state;
  wm_begin(&m, "0 id INT|1 pic BLOB", "", "", EVOLUTION);
  wm_write(&m, "1|hello;2|null;3|world!!");
  c = wm_prepare(&m);
  assert_string_equal(parts(&m, &c), "id: 3 rows; pic: 3 rows");
  assert_string_equal(
      file_bytes(&m, &c, 1),
      "cf114e5868656c6c6f1500000000000000c8f6a751cf114e58776f726c6421211700000000000000"
      "c06ed53b2a2b300300000001");
  blob = &c.messages[0].new_files.items[1];
  assert_true(tn_slice_equal(tn_slice_of(blob->file_name.data + blob->file_name.len - 7, 7),
                             tn_slice_text("-1.blob")));
  assert_true(blob->has_value_stats_cols);
  assert_int_equal(blob->value_stats_cols.count, 0);
  wm_commit_it(&m, &c);
  wm_write(&m, "4|;5|x");
  wm_commit(&m);
  assert_string_equal(wm_rows(&m), "1|hello;2|null;3|world!!;4|;5|x");
  wm_end(&m);
}

static void blob__every_column_has_files_which_end_with_their_rows(void **state) {
  write_maker m;
  tn_committable c;
  tn_buf text;
  (void)state;
  wm_begin(&m, with_blobs, "", "", EVOLUTION ";target-file-size=1 b;blob.target-file-size=12000 b");
  tn_buf_init(&text, &m.tm.env->mem, 1 << 20);
  for (int i = 0; i < 1500; i++) { /* records of 18 bytes; a has 667 in a file, b one */
    OK(tn_buf_printf(&text, err, "%s%d|%02x|x|%s", i > 0 ? ";" : "", i, i % 256,
                     i == 3 ? "00" : "null"));
  }
  OK(tn_buf_append(&text, "", 1, err));
  wm_write(&m, (const char *)text.data);
  c = wm_prepare(&m);
  assert_string_equal(parts(&m, &c),
                      "id,v: 1000 rows; a: 667 rows; a: 333 rows; b: 1000 rows; "
                      "id,v: 500 rows; a: 500 rows; b: 500 rows");
  wm_commit_it(&m, &c);
  assert_int_equal(strlen(wm_rows(&m)) > 1500, true);
  assert_contains(wm_rows(&m), ";1499|db|x|null");
  tn_buf_reset(&text);
  wm_end(&m);
}

static void vector__columns_share_a_file_of_their_own(void **state) {
  write_maker m;
  tn_committable c;
  const tn_data_file *file;
  (void)state;
  wm_begin(&m, "0 id INT|1 e VECTOR<FLOAT, 2>|2 b BLOB", "", "",
           EVOLUTION ";vector.file.format=avro;file.suffix.include.compression=false");
  wm_write(&m, "1|null|00");
  c = wm_prepare(&m);
  assert_string_equal(parts(&m, &c), "id: 1 rows; b: 1 rows; e: 1 rows");
  file = &c.messages[0].new_files.items[2];
  assert_true(tn_slice_equal(tn_slice_of(file->file_name.data + file->file_name.len - 14, 14),
                             tn_slice_text("-2.vector.avro")));
  wm_commit_it(&m, &c);
  assert_string_equal(wm_rows(&m), "1|null|00");
  wm_end(&m);
}

/* ------------------------------------------------------------------ descriptors */

/* Rows of text, in which "DESCRIPTOR~~~.." becomes a descriptor of bytes [2, 5) of a file with
 * "0123456". */
#define DESCRIPTOR "DESCRIPTOR~~~~~~~~~~~~~~~~~~~~~~~~~~~"

static tarn_status write_descriptors(write_maker *m, const char *rows, tarn_error *err) {
  tn_blob_descriptor d = {tn_slice_text("/t/other"), 2, 3};
  int32_t n;
  const tn_field *fields = tn_write_fields(m->write, &n);
  tn_batch batch;
  int8_t *kinds;
  tarn_status st;
  assert_int_equal(tn_blob_descriptor_bytes(d.uri.len), strlen(DESCRIPTOR));
  tm_put(&m->tm, "other", "0123456");
  wm_batch(m->tm.env, fields, n, rows, &batch, &kinds);
  for (int32_t c = 0; c < n; c++) {
    for (int64_t i = 0; fields[c].type.root == TN_BLOB && i < batch.n_rows; i++) {
      if (!tn_vec_is_null(&batch.columns[c], i) &&
          tn_slice_is(tn_vec_bytes(&batch.columns[c], i), DESCRIPTOR)) {
        tn_blob_descriptor_encode(&d,
                                  (uint8_t *)batch.columns[c].values + batch.columns[c].offsets[i]);
      }
    }
  }
  st = tn_write_batch(m->write, &batch, kinds, err);
  tn_batch_reset(m->tm.env, &batch);
  free(kinds);
  return st;
}

static void blob__descriptors_become_what_they_refer_to(void **state) {
  write_maker m;
  (void)state;
  wm_begin(&m, "0 id INT|1 pic BLOB", "", "", EVOLUTION);
  OK(write_descriptors(&m, "1|x;2|" DESCRIPTOR ";3|null", err));
  wm_commit(&m);
  assert_string_equal(wm_rows(&m), "1|x;2|234;3|null");
  wm_end(&m);
}

static void blob__fields_of_descriptors_lie_in_data_files(void **state) {
  write_maker m;
  tn_committable c;
  tarn_error error;
  (void)state;
  wm_begin(&m, with_blobs, "", "", EVOLUTION ";blob-descriptor-field=b");
  assert_int_equal(wm_try_write(&m, "1|00|x|0102", &error), TARN_E_INVALID);
  assert_contains(error.message, "requires blob field value to be a serialized BlobDescriptor");
  wm_open(&m);
  OK(write_descriptors(&m, "1|00|x|" DESCRIPTOR, err));
  c = wm_prepare(&m);
  assert_string_equal(parts(&m, &c), "id,v,b: 1 rows; a: 1 rows");
  wm_commit_it(&m, &c);
  assert_string_equal(wm_rows(&m), "1|00|x|234");
  wm_end(&m);
}

/* ------------------------------------------------------------------ refusals and ends */

static void parts__of_rows_that_exist_are_refused(void **state) {
  static const int32_t columns[] = {1};
  write_maker m;
  tarn_error err;
  (void)state;
  wm_begin(&m, with_blobs, "", "", EVOLUTION);
  wm_close(&m);
  m.options.columns = columns;
  m.options.n_columns = 1;
  m.options.first_row_id = 0;
  assert_int_equal(wm_try_open(&m, &err), TARN_E_UNSUPPORTED);
  assert_contains(err.message, "column 'a' lies in files of its own");
  wm_end(&m);
}

static void parts__leave_nothing_when_they_are_not_handed_out(void **state) {
  write_maker m;
  (void)state;
  wm_begin(&m, with_blobs, "", "", EVOLUTION);
  wm_write(&m, "1|00|x|01");
  assert_true(wm_count_files(&m) > 0);
  wm_close(&m);
  assert_int_equal(wm_count_files(&m), 0);
  wm_end(&m);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(blob__files_have_the_bytes_and_entries_of_java),
      cmocka_unit_test(blob__every_column_has_files_which_end_with_their_rows),
      cmocka_unit_test(vector__columns_share_a_file_of_their_own),
      cmocka_unit_test(blob__descriptors_become_what_they_refer_to),
      cmocka_unit_test(blob__fields_of_descriptors_lie_in_data_files),
      cmocka_unit_test(parts__of_rows_that_exist_are_refused),
      cmocka_unit_test(parts__leave_nothing_when_they_are_not_handed_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
