/* rows_text.c - rows as lines of text. */
#include "rows_text.h"

#include <math.h>

#include "base/bytes.h"
#include "codec/hash.h"
#include "column/variant.h"
#include "support/files.h"
#include "support/test.h"
#include "support/torture.h"

#define TEST_BUDGET_BYTES ((size_t)64 << 20)

void format_test_begin(format_test *t) {
  tarn_error err;
  t->env = tn_test_env(1, TEST_BUDGET_BYTES);
  t->n_files = 0;
  assert_works(tn_storage_local(t->env, &t->storage, &err), err);
  assert_works(tn_storage_memory(t->env, &t->memory, &err), err);
  tn_arena_init(&t->arena, &t->env->mem, (size_t)1 << 30);
}

void format_test_end(format_test *t) {
  tarn_env_stats stats = TARN_ENV_STATS_INIT;
  tn_arena_reset(&t->arena);
  tn_storage_release(t->storage);
  tn_storage_release(t->memory);
  tn_buffers_trim(t->env);
  tn_cache_shrink(t->env->cache, SIZE_MAX);
  tarn_env_stats_get(t->env, &stats);
  assert_int_equal(stats.memory_reserved_bytes, 0);
  tarn_env_free(t->env);
}

int format_test_set_up(void **state) {
  format_test_begin(*state);
  return 0;
}

int format_test_tear_down(void **state) {
  format_test_end(*state);
  return 0;
}

const char *data_path(format_test *t, const char *name) {
  const char *path =
      tn_arena_printf(&t->arena, "%s/tests/unit/format/data/%s", TARN_SOURCE_DIR, name);
  assert_non_null(path);
  return path;
}

tn_format_file *must_open(format_test *t, const tn_format_ops *format, const char *path) {
  tarn_error err;
  tn_format_file *file;
  assert_works(tn_format_open(t->env, t->storage, format, path, &file, &err), err);
  return file;
}

tarn_status open_bytes(format_test *t, const tn_format_ops *format, tn_slice bytes,
                       tn_format_file **out, tarn_error *err) {
  const char *path = tn_arena_printf(&t->arena, "/file-%d", t->n_files++);
  assert_non_null(path);
  assert_works(tn_storage_memory_put(t->memory, path, bytes, err), *err);
  return tn_format_open(t->env, t->memory, format, path, out, err);
}

const tn_field *sql_fields(format_test *t, const char *row, int32_t *n_fields) {
  tarn_error err;
  tn_type type;
  int32_t next_id = 0;
  assert_works(tn_type_from_sql(&t->arena, row, &next_id, &type, &err), err);
  *n_fields = type.n_fields;
  return type.fields;
}

const tn_field *must_schema(format_test *t, tn_format_file *file, int32_t *n_fields) {
  tarn_error err;
  tn_field *fields;
  assert_works(file->ops->schema(file, &t->arena, &fields, n_fields, &err), err);
  return fields;
}

/* ------------------------------------------------------------------ text */

static tarn_status hex_text(tn_slice bytes, tn_buf *out, tarn_error *err) {
  TN_TRY(tn_buf_text(out, "\"", err));
  for (size_t i = 0; i < bytes.len; i++) {
    TN_TRY(tn_buf_printf(out, err, "%02x", bytes.data[i]));
  }
  return tn_buf_text(out, "\"", err);
}

static tarn_status float_text(double value, int digits, tn_buf *out, tarn_error *err) {
  if (isnan(value)) {
    return tn_buf_text(out, "nan", err);
  }
  return tn_buf_printf(out, err, "%.*g", digits, value);
}

static tarn_status i128_text(tn_i128 value, tn_buf *out, tarn_error *err) {
  char digits[48];
  size_t at = sizeof(digits);
  tn_u128 v = value < 0 ? -(tn_u128)value : (tn_u128)value;
  digits[--at] = '\0';
  do {
    digits[--at] = (char)('0' + (int)(v % 10));
    v /= 10;
  } while (v > 0);
  if (value < 0) {
    digits[--at] = '-';
  }
  return tn_buf_text(out, digits + at, err);
}

static tarn_status atom_text(const tn_vec *vec, int64_t row, tn_buf *out, tarn_error *err) {
  tn_datum d = tn_vec_datum(vec, row);
  switch (vec->type->root) {
    case TN_BOOLEAN:
      return tn_buf_text(out, d.v.boolean ? "true" : "false", err);
    case TN_FLOAT:
      return float_text(d.v.f64, 9, out, err);
    case TN_DOUBLE:
      return float_text(d.v.f64, 17, out, err);
    case TN_DECIMAL:
      return tn_datum_to_json(vec->type, &d, out, err);
    case TN_CHAR:
    case TN_VARCHAR:
      return tn_json_quote(out, d.v.bytes, err);
    case TN_BINARY:
    case TN_VARBINARY:
    case TN_BLOB:
      return hex_text(d.v.bytes, out, err);
    default:
      return vec->layout == TN_LAYOUT_I128 ? i128_text(d.v.i128, out, err)
                                           : tn_buf_printf(out, err, "%lld", (long long)d.v.i64);
  }
}

static tarn_status struct_text(const tn_vec *vec, int64_t row, tn_buf *out, tarn_error *err) {
  TN_TRY(tn_buf_text(out, "[", err));
  for (int32_t i = 0; i < vec->n_children; i++) {
    TN_TRY(tn_buf_text(out, i > 0 ? ", " : "", err));
    TN_TRY(value_text(&vec->children[i], row, out, err));
  }
  return tn_buf_text(out, "]", err);
}

static tarn_status list_text(const tn_vec *vec, int64_t row, tn_buf *out, tarn_error *err) {
  TN_TRY(tn_buf_text(out, "[", err));
  for (int32_t i = vec->offsets[row]; i < vec->offsets[row + 1]; i++) {
    TN_TRY(tn_buf_text(out, i > vec->offsets[row] ? ", " : "", err));
    TN_TRY(value_text(&vec->children[0], i, out, err));
  }
  return tn_buf_text(out, "]", err);
}

tarn_status value_text(const tn_vec *vec, int64_t row, tn_buf *out, tarn_error *err) {
  if (tn_vec_is_null(vec, row)) {
    return tn_buf_text(out, "null", err);
  }
  switch (vec->layout) {
    case TN_LAYOUT_STRUCT:
      if (vec->type->root == TN_VARIANT) {
        return tn_variant_to_json(tn_vec_bytes(&vec->children[0], row),
                                  tn_vec_bytes(&vec->children[1], row), NULL, out, err);
      }
      return struct_text(vec, row, out, err);
    case TN_LAYOUT_LIST:
      return list_text(vec, row, out, err);
    default:
      return atom_text(vec, row, out, err);
  }
}

/* ------------------------------------------------------------------ reading */

static void add_line(format_test *t, rows_text *out, size_t *capacity, tn_slice line,
                     int64_t position, int64_t ordinal) {
  size_t lines = *capacity, positions = *capacity, ordinals = *capacity;
  assert_true(
      tn_arena_grow(&t->arena, (void **)&out->lines, &lines, (size_t)out->n, sizeof(*out->lines)));
  assert_true(tn_arena_grow(&t->arena, (void **)&out->positions, &positions, (size_t)out->n,
                            sizeof(*out->positions)));
  assert_true(tn_arena_grow(&t->arena, (void **)&out->ordinals, &ordinals, (size_t)out->n,
                            sizeof(*out->ordinals)));
  *capacity = lines;
  out->lines[out->n] = tn_arena_strndup(&t->arena, (const char *)line.data, line.len);
  assert_non_null(out->lines[out->n]);
  out->ordinals[out->n] = ordinal;
  out->positions[out->n++] = position;
}

static void check_batch(const tn_batch *batch, int64_t max_rows, bool allows_encoded) {
  tarn_error err;
  assert_true(batch->n_rows <= max_rows);
  for (int32_t c = 0; c < batch->n_columns; c++) {
    const tn_vec *vec = &batch->columns[c];
    assert_int_equal(vec->length, batch->n_rows);
    assert_true(allows_encoded || vec->encoding == TN_VEC_FLAT);
    assert_works(tn_vec_validate(vec, &err), err);
  }
}

static tarn_status batch_lines(format_test *t, const tn_batch *batch, rows_text *out,
                               size_t *capacity, int64_t ordinal, tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_buf line;
  tn_buf_init(&line, &t->env->mem, (size_t)1 << 26);
  for (int64_t row = 0; row < batch->n_rows && st == TARN_OK; row++) {
    line.len = 0;
    st = tn_buf_text(&line, "[", err);
    for (int32_t c = 0; c < batch->n_columns && st == TARN_OK; c++) {
      st = tn_buf_text(&line, c > 0 ? ", " : "", err);
      if (st == TARN_OK) {
        st = value_text(&batch->columns[c], row, &line, err);
      }
    }
    if (st == TARN_OK) {
      st = tn_buf_text(&line, "]", err);
    }
    if (st == TARN_OK) {
      add_line(t, out, capacity, tn_buf_slice(&line), batch->first_position + row, ordinal + row);
    }
  }
  tn_buf_reset(&line);
  return st;
}

static tarn_status read_all(format_test *t, tn_reader *reader, const rows_request *request,
                            tn_batch *batch, rows_text *out, tarn_error *err) {
  int64_t max_rows = request->batch_rows > 0 ? request->batch_rows : 8192;
  uint32_t seed = request->skip_seed;
  int64_t ordinal = 0;
  size_t capacity = 0;
  for (;;) {
    if (seed != 0) {
      uint32_t n;
      seed = seed * 1664525 + 1013904223;
      n = seed >> 30 == 0 ? seed >> 8 & 31 : seed >> 28 == 15 ? seed >> 8 & 127 : 0;
      TN_TRY(tn_reader_skip(reader, n, err));
      ordinal += n;
    }
    TN_TRY(tn_reader_next(reader, max_rows, batch, err));
    if (batch->n_rows == 0) {
      return TARN_OK;
    }
    check_batch(batch, max_rows, request->allows_encoded);
    TN_TRY(batch_lines(t, batch, out, &capacity, ordinal, err));
    ordinal += batch->n_rows;
  }
}

tarn_status read_rows(format_test *t, tn_format_file *file, const rows_request *request,
                      rows_text *out, tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_reader *reader = NULL;
  tn_batch batch;
  tn_read_request r;
  memset(&batch, 0, sizeof(batch));
  memset(out, 0, sizeof(*out));
  memset(&r, 0, sizeof(r));
  r.fields = request->fields;
  r.n_fields = request->n_fields;
  r.rows = request->rows;
  r.allows_encoded = request->allows_encoded;
  r.batch_rows = request->batch_rows;
  if (r.fields == NULL) {
    tn_field *fields;
    TN_TRY(file->ops->schema(file, &t->arena, &fields, &r.n_fields, err));
    r.fields = fields;
  }
  TN_TRY_TO(done, file->ops->read(file, &r, &reader, err));
  TN_TRY_TO(done, tn_batch_init(t->env, r.fields, r.n_fields, &batch, err));
  st = read_all(t, reader, request, &batch, out, err);
done:
  tn_batch_reset(t->env, &batch);
  tn_reader_free(reader);
  return st;
}

uint32_t rows_crc(const rows_text *rows) {
  uint32_t crc = 0;
  for (int64_t i = 0; i < rows->n; i++) {
    crc = tn_crc32(crc, rows->lines[i], strlen(rows->lines[i]));
    crc = tn_crc32(crc, "\n", 1);
  }
  return crc;
}

rows_text expected_rows(format_test *t, const char *name) {
  rows_text out;
  size_t n, capacity = 0;
  char *text = (char *)tn_test_read_file(data_path(t, name), &n);
  memset(&out, 0, sizeof(out));
  for (size_t at = 0; at < n;) {
    const char *end = memchr(text + at, '\n', n - at);
    size_t len = end != NULL ? (size_t)(end - (text + at)) : n - at;
    add_line(t, &out, &capacity, tn_slice_of(text + at, len), out.n, out.n);
    at += len + 1;
  }
  free(text);
  return out;
}
