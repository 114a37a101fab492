/* blob_write.c - values of a BLOB column as records, and their index behind them.
 */
#include "base/bytes.h"
#include "codec/hash.h"
#include "format/blob/blob.h"

#define MAGIC 1481511375u
#define VERSION 1
#define RECORD_HEAD 4  /* magic */
#define RECORD_TAIL 12 /* length, CRC */
#define NO_RECORD (-1) /* null */

typedef struct blob_writer {
  tn_format_writer base;
  tn_sink *sink;
  int64_t begin_bytes; /* of the sink when it was given */
  const char *column;
  bool is_nullable;
  int64_t n_rows, n_nulls;
  int64_t last_length; /* in the index */
  tn_buf index;
} blob_writer;

static blob_writer *self(tn_format_writer *writer) {
  return TN_CONTAINER_OF(writer, blob_writer, base);
}

/* The length of a record as its difference from the one before, a zigzag varint. */
static tarn_status put_length(blob_writer *w, int64_t length, tarn_error *err) {
  int64_t delta = length - w->last_length;
  uint64_t rest = (uint64_t)delta << 1 ^ (uint64_t)(delta >> 63);
  uint8_t bytes[10];
  size_t n = 0;
  for (; rest >= 0x80; rest >>= 7) {
    bytes[n++] = (uint8_t)(rest | 0x80);
  }
  bytes[n++] = (uint8_t)rest;
  w->last_length = length;
  return tn_buf_append(&w->index, bytes, n, err);
}

static tarn_status put_record(blob_writer *w, tn_slice value, tarn_error *err) {
  uint8_t head[RECORD_HEAD], tail[RECORD_TAIL];
  int64_t length = (int64_t)value.len + RECORD_HEAD + RECORD_TAIL;
  uint32_t crc;
  tn_store_le32(head, MAGIC);
  tn_store_le64(tail, (uint64_t)length);
  crc = tn_crc32(0, head, sizeof(head));
  crc = tn_crc32(crc, value.data, value.len);
  tn_store_le32(tail + 8, tn_crc32(crc, tail, 8));
  TN_TRY(tn_sink_write(w->sink, head, sizeof(head), err));
  if (value.len > 0) {
    TN_TRY(tn_sink_write(w->sink, value.data, value.len, err));
  }
  TN_TRY(tn_sink_write(w->sink, tail, sizeof(tail), err));
  return put_length(w, length, err);
}

static tarn_status write_batch(tn_format_writer *writer, const tn_batch *batch, tarn_error *err) {
  blob_writer *w = self(writer);
  const tn_vec *vec = &batch->columns[0];
  for (int64_t i = 0; i < batch->n_rows; i++) {
    if (!tn_vec_is_null(vec, i)) {
      TN_TRY(put_record(w, tn_vec_bytes(vec, i), err));
    } else if (w->is_nullable) {
      w->n_nulls++;
      TN_TRY(put_length(w, NO_RECORD, err));
    } else {
      return tn_fail(err, TARN_E_INVALID, "column '%s': null, but it is NOT NULL", w->column);
    }
    w->n_rows++;
  }
  return TARN_OK;
}

static int64_t size(const tn_format_writer *writer) {
  const blob_writer *w = TN_CONTAINER_OF(writer, const blob_writer, base);
  return tn_sink_size(w->sink) - w->begin_bytes;
}

static tarn_status finish(tn_format_writer *writer, tarn_error *err) {
  blob_writer *w = self(writer);
  uint8_t tail[5];
  tn_store_le32(tail, (uint32_t)w->index.len);
  tail[4] = VERSION;
  if (w->index.len > 0) {
    TN_TRY(tn_sink_write(w->sink, w->index.data, w->index.len, err));
  }
  return tn_sink_write(w->sink, tail, sizeof(tail), err);
}

static void stat(const tn_format_writer *writer, int32_t column, tn_stat *out) {
  const blob_writer *w = TN_CONTAINER_OF(writer, const blob_writer, base);
  (void)column;
  *out = (tn_stat){.null_count = w->n_nulls, .row_count = w->n_rows};
}

static void free_writer(tn_format_writer *writer) {
  blob_writer *w = self(writer);
  tn_buf_reset(&w->index);
  tn_free(&w->base.env->mem, w);
}

static const tn_format_writer_calls calls = {
    .write = write_batch, .size = size, .finish = finish, .free = free_writer, .stat = stat};

static tarn_status create(tarn_env *env, tn_sink *sink, const tn_write_request *request,
                          tn_format_writer **out, tarn_error *err) {
  blob_writer *w;
  *out = NULL;
  if (request->n_fields != 1 || request->fields[0].type.root != TN_BLOB) {
    return TN_BUG(err, "a file of BLOBs of other columns than one BLOB");
  }
  w = tn_calloc(&env->mem, 1, sizeof(*w));
  if (w == NULL) {
    return tn_oom(err);
  }
  w->base.calls = &calls;
  w->base.env = env;
  w->sink = sink;
  w->begin_bytes = tn_sink_size(sink);
  w->column = request->fields[0].name;
  w->is_nullable = request->fields[0].type.is_nullable;
  tn_buf_init(&w->index, &env->mem, (size_t)INT32_MAX);
  *out = &w->base;
  return TARN_OK;
}

const tn_format_writer_ops tn_blob_writer = {.name = "blob", .create = create};
