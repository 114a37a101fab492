/* avro_write_data.c - data files of the format Avro.
 *
 * A row is encoded value by value from the columns of a batch, which may be encoded ones. The
 * writer holds one block.
 *
 * Rule: org.apache.paimon.format.avro.FieldWriterFactory; spec: datafiles, 5.
 */
#include "base/bytes.h"
#include "format/avro/avro_write.h"

typedef struct avro_writer {
  tn_format_writer base;
  tn_sink *sink;
  int64_t begin_bytes; /* of the sink when it was given */
  const tn_field *fields;
  int32_t n_fields;
  tn_avro_packer packer;
} avro_writer;

/* The row being written, for messages. */
typedef struct row_writer {
  tn_buf *out;
  const char *column;
  tarn_error *err;
} row_writer;

static avro_writer *self(tn_format_writer *writer) {
  return TN_CONTAINER_OF(writer, avro_writer, base);
}

/* ------------------------------------------------------------------ values */

static tarn_status put_value(const row_writer *w, const tn_type *type, const tn_vec *vec,
                             int64_t row);

/* Two's complement, big-endian, as few bytes as hold it: BigInteger.toByteArray(). */
static tarn_status put_decimal(const row_writer *w, tn_i128 v) {
  uint8_t bytes[16];
  int n = 16;
  for (int i = 15; i >= 0; i--) {
    bytes[i] = (uint8_t)v;
    v >>= 8;
  }
  while (n > 1 && ((bytes[16 - n] == 0 && bytes[17 - n] < 0x80) ||
                   (bytes[16 - n] == 0xFF && bytes[17 - n] >= 0x80))) {
    n--;
  }
  return tn_avro_put_run(w->out, tn_slice_of(bytes + 16 - n, (size_t)n), w->err);
}

static tarn_status put_items(const row_writer *w, const tn_type *type, const tn_vec *child,
                             int64_t begin, int64_t end) {
  if (end > begin) {
    TN_TRY(tn_avro_put_long(w->out, end - begin, w->err));
  }
  for (int64_t i = begin; i < end; i++) {
    TN_TRY(put_value(w, type, child, i));
  }
  return tn_avro_put_long(w->out, 0, w->err);
}

/* The key of a map of Avro is no union; the count of a multiset is one. */
static tarn_status put_entry(const row_writer *w, const tn_type *type, const tn_vec *entries,
                             int64_t i) {
  const tn_type *key = &type->fields[0].type;
  if (tn_type_is_string(key)) {
    if (tn_vec_is_null(&entries->children[0], i)) {
      return tn_fail(w->err, TARN_E_INVALID, "column %s: a key of a map is null", w->column);
    }
    TN_TRY(tn_avro_put_run(w->out, tn_vec_bytes(&entries->children[0], i), w->err));
  } else {
    TN_TRY(put_value(w, key, &entries->children[0], i));
  }
  if (type->root == TN_MULTISET) {
    TN_TRY(tn_avro_put_long(w->out, 1, w->err));
  }
  return put_value(w, &type->fields[1].type, &entries->children[1], i);
}

static tarn_status put_map(const row_writer *w, const tn_type *type, const tn_vec *vec,
                           int64_t row) {
  int64_t begin = vec->offsets[row], end = vec->offsets[row + 1];
  if (end > begin) {
    TN_TRY(tn_avro_put_long(w->out, end - begin, w->err));
  }
  for (int64_t i = begin; i < end; i++) {
    TN_TRY(put_entry(w, type, &vec->children[0], i));
  }
  return tn_avro_put_long(w->out, 0, w->err);
}

static tarn_status put_row(const row_writer *w, const tn_type *type, const tn_vec *vec,
                           int64_t row) {
  for (int32_t i = 0; i < type->n_fields; i++) {
    TN_TRY(put_value(w, &type->fields[i].type, &vec->children[i], row));
  }
  return TARN_OK;
}

/* A value that is not null, of a flat vector or one of views. */
static tarn_status put_present(const row_writer *w, const tn_type *type, const tn_vec *vec,
                               int64_t row) {
  switch (type->root) {
    case TN_BOOLEAN: {
      uint8_t byte = tn_bit_get(vec->values, row) ? 1 : 0;
      return tn_avro_put_raw(w->out, &byte, 1, w->err);
    }
    case TN_TINYINT:
      return tn_avro_put_long(w->out, ((const int8_t *)vec->values)[row], w->err);
    case TN_SMALLINT:
      return tn_avro_put_long(w->out, ((const int16_t *)vec->values)[row], w->err);
    case TN_INT:
    case TN_DATE:
    case TN_TIME:
      return tn_avro_put_long(w->out, ((const int32_t *)vec->values)[row], w->err);
    case TN_BIGINT:
    case TN_TIMESTAMP:
    case TN_TIMESTAMP_LTZ:
      return tn_avro_put_long(w->out, ((const int64_t *)vec->values)[row], w->err);
    case TN_FLOAT:
      return tn_avro_put_raw(w->out, (const uint8_t *)vec->values + row * 4, 4, w->err);
    case TN_DOUBLE:
      return tn_avro_put_raw(w->out, (const uint8_t *)vec->values + row * 8, 8, w->err);
    case TN_DECIMAL:
      return put_decimal(w, tn_load_i128((const uint8_t *)vec->values + row * 16));
    case TN_ARRAY:
      return put_items(w, &type->fields[0].type, &vec->children[0], vec->offsets[row],
                       vec->offsets[row + 1]);
    case TN_VECTOR:
      return put_items(w, &type->fields[0].type, &vec->children[0], row * type->length,
                       (row + 1) * type->length);
    case TN_MAP:
    case TN_MULTISET:
      return put_map(w, type, vec, row);
    case TN_ROW:
      return put_row(w, type, vec, row);
    default:
      return tn_avro_put_run(w->out, tn_vec_bytes(vec, row), w->err);
  }
}

/* Depth is bounded by that of the type, which the schema was printed of. */
static tarn_status put_value(const row_writer *w, const tn_type *type, const tn_vec *vec,
                             int64_t row) {
  bool is_null = vec->valid != NULL && !tn_bit_get(vec->valid, row);
  if (type->is_nullable) {
    TN_TRY(tn_avro_put_long(w->out, is_null ? 0 : 1, w->err));
  } else if (is_null) {
    return tn_fail(w->err, TARN_E_INVALID, "column %s: null in what is NOT NULL", w->column);
  }
  return is_null ? TARN_OK : put_present(w, type, vec, row);
}

/* A value of a column, which may be encoded. */
static tarn_status put_column(const row_writer *w, const tn_type *type, const tn_vec *vec,
                              int64_t row) {
  if (vec->encoding == TN_VEC_CONST) {
    return put_value(w, type, vec->constant, 0);
  }
  if (vec->encoding == TN_VEC_DICT && !tn_vec_is_null(vec, row)) {
    return put_value(w, type, &vec->dictionary->values, ((const int32_t *)vec->values)[row]);
  }
  return put_value(w, type, vec, row);
}

/* ------------------------------------------------------------------ the writer */

static tarn_status end_block(avro_writer *w, tarn_error *err) {
  tn_slice block;
  TN_TRY(tn_avro_packer_take(&w->packer, &block, err));
  return tn_sink_write(w->sink, block.data, block.len, err);
}

static tarn_status check_batch(const avro_writer *w, const tn_batch *batch, tarn_error *err) {
  return batch->n_columns == w->n_fields
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID, "a batch of %d columns for a file of %d",
                       (int)batch->n_columns, (int)w->n_fields);
}

static tarn_status avro_write(tn_format_writer *writer, const tn_batch *batch, tarn_error *err) {
  avro_writer *w = self(writer);
  row_writer rows = {&w->packer.data, NULL, err};
  TN_TRY(check_batch(w, batch, err));
  for (int64_t row = 0; row < batch->n_rows; row++) {
    for (int32_t i = 0; i < w->n_fields; i++) {
      rows.column = w->fields[i].name;
      TN_TRY(put_column(&rows, &w->fields[i].type, &batch->columns[i], row));
    }
    w->packer.n_records++;
    if (tn_avro_packer_is_full(&w->packer)) {
      TN_TRY(end_block(w, err));
    }
  }
  return TARN_OK;
}

static int64_t avro_size(const tn_format_writer *writer) {
  const avro_writer *w = TN_CONTAINER_OF(writer, const avro_writer, base);
  return tn_sink_size(w->sink) - w->begin_bytes + tn_avro_packer_estimate(&w->packer);
}

static tarn_status avro_finish(tn_format_writer *writer, tarn_error *err) {
  return end_block(self(writer), err);
}

static void avro_free(tn_format_writer *writer) {
  if (writer != NULL) {
    avro_writer *w = self(writer);
    tarn_env *env = writer->env;
    tn_avro_packer_reset(&w->packer);
    tn_free(&env->mem, w);
  }
}

static const tn_format_writer_calls avro_calls = {avro_write, avro_size, avro_finish, avro_free};

static tarn_status write_header(avro_writer *w, const tn_write_request *request, tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_buf schema, header;
  tn_buf_init(&schema, &w->base.env->mem, TN_AVRO_MAX_HEADER_BYTES);
  tn_buf_init(&header, &w->base.env->mem, TN_AVRO_MAX_HEADER_BYTES);
  TN_TRY_TO(done, tn_avro_schema_of_fields(request->fields, request->n_fields, &schema, err));
  TN_TRY_TO(done, tn_avro_packer_header(&w->packer, tn_buf_slice(&schema), request->metadata,
                                        request->n_metadata, &header, err));
  TN_TRY_TO(done, tn_sink_write(w->sink, header.data, header.len, err));
done:
  tn_buf_reset(&schema);
  tn_buf_reset(&header);
  return st;
}

static tarn_status avro_create(tarn_env *env, tn_sink *sink, const tn_write_request *request,
                               tn_format_writer **out, tarn_error *err) {
  static const tn_write_options DEFAULTS = {0};
  const tn_write_options *options = request->options != NULL ? request->options : &DEFAULTS;
  avro_writer *w = tn_calloc(&env->mem, 1, sizeof(*w));
  tarn_status st = TARN_OK;
  *out = NULL;
  if (w == NULL) {
    return tn_oom(err);
  }
  w->base.calls = &avro_calls;
  w->base.env = env;
  w->sink = sink;
  w->begin_bytes = tn_sink_size(sink);
  w->fields = request->fields;
  w->n_fields = request->n_fields;
  TN_TRY_TO(fail,
            tn_avro_packer_init(&w->packer, env, options->compression, options->zstd_level, err));
  TN_TRY_TO(fail, write_header(w, request, err));
  *out = &w->base;
  return TARN_OK;
fail:
  avro_free(&w->base);
  return st;
}

const tn_format_writer_ops tn_avro_writer = {"avro", avro_create};
