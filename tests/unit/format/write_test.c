/* write_test.c - writing to memory and comparing. */
#include "write_test.h"

#include "column/equal.h"
#include "format/parquet/parquet.h"
#include "support/test.h"

static tarn_status write_all(format_test *t, tn_sink *sink, const tn_write_request *request,
                             const tn_batch *batches, size_t n_batches, tarn_error *err) {
  tn_format_writer *writer = NULL;
  tarn_status st = TARN_OK;
  TN_TRY_TO(done, tn_parquet_writer_ops.create(t->env, sink, request, &writer, err));
  for (size_t i = 0; i < n_batches; i++) {
    TN_TRY_TO(done, writer->calls->write(writer, &batches[i], err));
  }
  st = writer->calls->finish(writer, err);
done:
  if (writer != NULL) {
    writer->calls->free(writer);
  }
  return st;
}

tarn_status write_file(format_test *t, const tn_write_request *request, const tn_batch *batches,
                       size_t n_batches, tn_format_file **out, tarn_error *err) {
  const char *path = tn_arena_printf(&t->arena, "/written-%d", t->n_files++);
  tn_sink *sink;
  tarn_status st;
  assert_non_null(path);
  *out = NULL;
  TN_TRY(tn_storage_create(t->memory, path, &sink, err));
  st = write_all(t, sink, request, batches, n_batches, err);
  if (st != TARN_OK) {
    tn_sink_abort(sink);
    return st;
  }
  TN_TRY(tn_sink_finish(sink, false, err));
  return tn_format_open(t->env, t->memory, &tn_parquet_format, path, out, err);
}

static void check_row(format_test *t, const tn_batch *wrote, int64_t i, const tn_batch *read,
                      int64_t k, int64_t row) {
  tarn_error err;
  for (int32_t c = 0; c < wrote->n_columns; c++) {
    bool is_equal = false;
    assert_works(tn_vec_rows_equal(&t->env->mem, &wrote->columns[c], i, &read->columns[c], k,
                                   &is_equal, &err),
                 err);
    if (!is_equal) {
      tn_buf a, b;
      tn_buf_init(&a, &t->env->mem, (size_t)1 << 24);
      tn_buf_init(&b, &t->env->mem, (size_t)1 << 24);
      if (value_text(&wrote->columns[c], i, &a, &err) == TARN_OK &&
          value_text(&read->columns[c], k, &b, &err) == TARN_OK) {
        fail_msg("row %lld, column %s %s: wrote %.*s, read %.*s", (long long)row,
                 wrote->fields[c].name, tn_type_text_of(&wrote->fields[c].type).text,
                 TN_SLICE_ARG(tn_buf_slice(&a)), TN_SLICE_ARG(tn_buf_slice(&b)));
      }
      fail_msg("row %lld, column %d differs", (long long)row, (int)c);
    }
  }
}

void check_rows(format_test *t, tn_format_file *file, const tn_field *fields, int32_t n_fields,
                const tn_batch *batches, size_t n_batches, int64_t read_rows, bool allows_encoded) {
  tarn_error err;
  tn_reader *reader;
  tn_batch batch;
  tn_read_request request = {.fields = fields,
                             .n_fields = n_fields,
                             .allows_encoded = allows_encoded,
                             .batch_rows = read_rows};
  size_t at = 0;
  int64_t i = 0, row = 0;
  assert_works(file->ops->read(file, &request, &reader, &err), err);
  assert_works(tn_batch_init(t->env, fields, n_fields, &batch, &err), err);
  for (;;) {
    assert_works(tn_reader_next(reader, read_rows, &batch, &err), err);
    if (batch.n_rows == 0) {
      break;
    }
    for (int64_t k = 0; k < batch.n_rows; k++, i++, row++) {
      while (at < n_batches && i == batches[at].n_rows) {
        at++;
        i = 0;
      }
      assert_true(at < n_batches);
      check_row(t, &batches[at], i, &batch, k, row);
    }
  }
  while (at < n_batches && i == batches[at].n_rows) {
    at++;
    i = 0;
  }
  assert_int_equal(at, n_batches);
  assert_int_equal(row, file->n_rows);
  tn_batch_reset(t->env, &batch);
  tn_reader_free(reader);
}

void random_batch(format_test *t, const tn_field *fields, int32_t n_fields, int64_t n_rows,
                  random_source *r, tn_batch *out) {
  tarn_error err;
  assert_works(tn_batch_init(t->env, fields, n_fields, out, &err), err);
  for (int32_t i = 0; i < n_fields; i++) {
    assert_works(random_vec(t->env, &fields[i].type, n_rows, r, &out->columns[i], &err), err);
    assert_works(tn_vec_validate(&out->columns[i], &err), err);
  }
  out->n_rows = n_rows;
}

/* A column in another encoding, if it can have one. */
static tarn_status encode_column(format_test *t, random_source *r, tn_vec *column,
                                 tarn_error *err) {
  tn_vec encoded = {0}, one = {0};
  uint32_t how = random_below(r, 4);
  int64_t n = column->length;
  if (how == 0 || n == 0) {
    return TARN_OK;
  }
  if (how == 1 && column->layout == TN_LAYOUT_BYTES) {
    TN_TRY(random_views(t->env, column, &encoded, err));
  } else if (how == 2 && !tn_type_is_nested(column->type) && column->type->root != TN_VARIANT &&
             column->null_count == 0) {
    TN_TRY(random_dict(t->env, column, n, r, &encoded, err));
  } else if (how == 3) {
    TN_TRY(tn_vec_copy_range(t->env, column, random_below(r, (uint32_t)n), 1, &one, err));
    TN_TRY(tn_vec_init_const(t->env, column->type, n, &one, &encoded, err));
    encoded.null_count = tn_vec_is_null(encoded.constant, 0) ? n : 0;
  } else {
    return TARN_OK;
  }
  tn_vec_reset(t->env, column);
  tn_vec_move(column, &encoded);
  return TARN_OK;
}

void encode_batch(format_test *t, random_source *r, tn_batch *batch) {
  tarn_error err;
  for (int32_t i = 0; i < batch->n_columns; i++) {
    assert_works(encode_column(t, r, &batch->columns[i], &err), err);
  }
}

const char *inspect_text(format_test *t, tn_format_file *file) {
  tarn_error err;
  tn_buf out;
  const char *text;
  tn_buf_init(&out, &t->env->mem, (size_t)1 << 24);
  assert_works(file->ops->inspect(file, &out, &err), err);
  text = tn_arena_strndup(&t->arena, (const char *)out.data, out.len);
  assert_non_null(text);
  tn_buf_reset(&out);
  return text;
}
