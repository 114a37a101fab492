/* test_concat.c - files of an append table joined. */
#include "rewrite_maker.h"

#include "datafile/row_tracking.h"

static tarn_status concat(rewrite_maker *m, tarn_error *err) {
  tn_concat_request q = {.partition = m->request.partition,
                         .files = m->files,
                         .n_files = m->n_files,
                         .names = &m->names};
  TN_TRY(rm_rewriter(m, err));
  return tn_concat(m->rewriter, &q, &m->tm.arena, &m->result, err);
}

static void concat__joins_files(void **state) {
  rewrite_maker m;
  (void)state;
  rm_open(&m, "k INT|v STRING", "", "bucket=-1");
  rm_file(&m, "0L0 3|a;1|b")->min_sequence = 7;
  rm_file(&m, "0L0 2|c;9|d;5|null ~1");
  OK(concat(&m, err));
  assert_string_equal(RM_FILES(&m), "[3|a;1|b;2|c;5|null]");
  assert_int_equal(m.result.files[0].min_sequence, 7);
  assert_int_equal(m.result.files[0].max_sequence, 10);
  assert_int_equal(m.result.files[0].level, 0);
  assert_int_equal(m.result.files[0].source, TN_SOURCE_COMPACT);
  assert_int_equal(m.result.n_rows_in, 5);
  assert_int_equal(m.result.n_rows_out, 4);
  rm_close(&m);
}

static void concat__of_deleted_rows_is_empty(void **state) {
  rewrite_maker m;
  (void)state;
  rm_open(&m, "k INT|v STRING", "", "bucket=-1");
  rm_file(&m, "0L0 3|a;1|b ~0,1");
  OK(concat(&m, err));
  assert_int_equal(m.result.n_files, 0);
  assert_int_equal(rm_n_files(&m), 1);
  rm_close(&m);
}

/* Ids and sequence numbers of rows come along, as columns of the file. */
static void concat__keeps_ids_of_rows(void **state) {
  static const char *const names[] = {"k", "v", "_ROW_ID", "_SEQUENCE_NUMBER"};
  tn_field fields[3] = {{.name = "k"}};
  tn_data_shape *shape;
  tn_data_reader *reader;
  tn_batch batch = {0};
  const uint8_t *alive;
  tn_data_request request = {0};
  const tn_slice *columns;
  tn_data_file *made;
  rewrite_maker m;
  (void)state;
  rm_open(&m, "k INT|v STRING", "", "bucket=-1;row-tracking.enabled=true");
  for (int i = 0; i < 2; i++) {
    tn_data_file *f = rm_file(&m, i == 0 ? "0L0 3|a;1|b" : "0L0 2|c;9|d ~0");
    f->has_first_row_id = true;
    f->first_row_id = 10 * (i + 1);
    f->min_sequence = f->max_sequence = i + 1;
  }
  OK(concat(&m, err));
  assert_int_equal(m.result.n_files, 1);
  made = &m.result.files[0];
  assert_false(made->has_first_row_id);
  assert_true(made->has_write_cols);
  assert_int_equal(made->write_cols.count, 4);
  columns = made->write_cols.items;
  for (int i = 0; i < 4; i++) {
    assert_true(tn_slice_is(columns[i], names[i]));
  }
  fields[0] = m.table->schema->fields[0];
  fields[1] = tn_row_tracking_fields[0];
  fields[2] = tn_row_tracking_fields[1];
  OK(tn_data_shape_create(m.table, fields, 3, NULL, 0, false, &shape, err));
  request = (tn_data_request){
      .shape = shape,
      .file = made,
      .partition = m.request.partition,
      .path = dm_path(&m.tm, "/t/bucket-0",
                      (const char *)tn_arena_strndup(
                          &m.tm.arena, (const char *)made->file_name.data, made->file_name.len))};
  OK(tn_data_reader_open(&request, &reader, err));
  OK(tn_data_reader_next(reader, 100, &batch, &alive, err));
  assert_int_equal(batch.n_rows, 3);
  {
    static const int64_t expected[3][3] = {{3, 10, 1}, {1, 11, 1}, {9, 21, 2}};
    for (int i = 0; i < 3; i++) {
      for (int c = 0; c < 3; c++) {
        assert_int_equal(tn_vec_datum(&batch.columns[c], i).v.i64, expected[i][c]);
      }
    }
  }
  tn_batch_reset(m.tm.env, &batch);
  tn_data_reader_free(reader);
  tn_data_shape_free(shape);
  rm_close(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(concat__joins_files),
      cmocka_unit_test(concat__of_deleted_rows_is_empty),
      cmocka_unit_test(concat__keeps_ids_of_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
