/* state.c - the whole state of a stream as bytes. */
#include "stream/state.h"

#include "base/bytes.h"
#include "codec/hash.h"
#include "maintain/identity.h"
#include "model/wire.h"

#define MAGIC "TARNSTRM"
#define MAGIC_BYTES 8
#define VERSION 2
#define FIRST_VERSION 1 /* without past and filter */
#define LIMIT ((size_t)1 << 30)

/* Append what `put` makes, with its length in front. */
static void end_piece(tn_buf *out, size_t at) {
  tn_store_be32(out->data + at, (uint32_t)(out->len - at - 4));
}

static tarn_status put_readers(tn_source_reader *const *readers, int32_t n, tn_buf *out,
                               tarn_error *err) {
  TN_TRY(tn_wire_put_i32(out, n, err));
  for (int32_t i = 0; i < n; i++) {
    size_t at = out->len;
    TN_TRY(tn_wire_put_i32(out, 0, err));
    TN_TRY(tn_source_reader_checkpoint(readers[i], out, err));
    end_piece(out, at);
  }
  return TARN_OK;
}

/* What tells that a stream may not go on from here. */
static tarn_status put_question(const tn_stream_scan *scan, tn_buf *out, tarn_error *err) {
  uint64_t filter;
  TN_TRY(tn_stream_scan_filter(scan, &filter, err));
  TN_TRY(tn_wire_put_i64(out, (int64_t)tn_stream_scan_past(scan), err));
  return tn_wire_put_i64(out, (int64_t)filter, err);
}

tarn_status tn_stream_state_save(tn_table *table, tn_enumerator *enumerator,
                                 tn_source_reader *const *readers, int32_t n_readers, int64_t id,
                                 int64_t rows, tn_buf *out, tarn_error *err) {
  size_t begin = out->len, at;
  tarn_status st = TARN_OK;
  tn_buf name;
  tn_buf_init(&name, &table->env->mem, LIMIT);
  TN_TRY_TO(done, tn_table_identity(table, &name, err));
  TN_TRY_TO(done, tn_buf_append(out, MAGIC, MAGIC_BYTES, err));
  TN_TRY_TO(done, tn_wire_put_i32(out, VERSION, err));
  TN_TRY_TO(done, tn_wire_put_text(out, (const char *)name.data, err));
  TN_TRY_TO(done, tn_wire_put_i64(out, rows, err));
  TN_TRY_TO(done, put_question(tn_enumerator_scan(enumerator), out, err));
  at = out->len;
  TN_TRY_TO(done, tn_wire_put_i32(out, 0, err));
  TN_TRY_TO(done, tn_enumerator_checkpoint(enumerator, id, out, err));
  end_piece(out, at);
  TN_TRY_TO(done, put_readers(readers, n_readers, out, err));
  uint8_t crc[4];
  tn_store_be32(crc, tn_crc32(0, out->data + begin, out->len - begin));
  TN_TRY_TO(done, tn_buf_append(out, crc, sizeof(crc), err));
done:
  tn_buf_reset(&name);
  return st;
}

/* ------------------------------------------------------------------ loading */

static tarn_status check_frame(tn_slice *bytes, uint32_t *out, tarn_error *err) {
  uint32_t version, crc;
  if (bytes->len < MAGIC_BYTES + 4 + 4 || memcmp(bytes->data, MAGIC, MAGIC_BYTES) != 0) {
    return tn_fail(err, TARN_E_CORRUPT,
                   "state of a stream: %zu bytes that do not begin with " MAGIC, bytes->len);
  }
  version = tn_load_be32(bytes->data + MAGIC_BYTES);
  *out = version;
  if (version < FIRST_VERSION || version > VERSION) {
    return tn_fail(err, TARN_E_UNSUPPORTED, "state of a stream: version %u, known is %d", version,
                   VERSION);
  }
  crc = tn_crc32(0, bytes->data, bytes->len - 4);
  if (crc != tn_load_be32(bytes->data + bytes->len - 4)) {
    return tn_fail(err, TARN_E_CORRUPT,
                   "state of a stream: checksum %08x, expected %08x: it is damaged or cut short",
                   crc, tn_load_be32(bytes->data + bytes->len - 4));
  }
  bytes->data += MAGIC_BYTES + 4;
  bytes->len -= MAGIC_BYTES + 4 + 4;
  return TARN_OK;
}

static tarn_status check_table(tn_table *table, const char *found, tarn_error *err) {
  tn_buf own;
  tarn_status st;
  tn_buf_init(&own, &table->env->mem, LIMIT);
  st = tn_table_identity(table, &own, err);
  st = st == TARN_OK ? tn_table_identity_check(table, (const char *)own.data, found, err) : st;
  tn_buf_reset(&own);
  return st;
}

static tarn_status take_question(const tn_table *table, const tn_stream_scan *scan,
                                 uint32_t version, tn_wire_reader *r, uint64_t *past,
                                 tarn_error *err) {
  int64_t number, found;
  uint64_t own;
  *past = 0;
  if (version == FIRST_VERSION) {
    return TARN_OK;
  }
  TN_TRY(tn_wire_take_i64(r, &number, "past", err));
  TN_TRY(tn_wire_take_i64(r, &found, "filter", err));
  TN_TRY(tn_stream_scan_filter(scan, &own, err));
  *past = (uint64_t)number;
  return own == (uint64_t)found
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID,
                       "%s: the state is of a stream with %s: the rows that it has counted are "
                       "others. Go on with the same one, or start without state",
                       table->full_name,
                       found == 0 ? "no filter"
                       : own == 0 ? "a filter"
                                  : "another filter");
}

/* What the readers had, one reader after the other. */
static tarn_status take_readers(tn_table *table, tn_wire_reader *r, tn_split_queue *held,
                                tarn_error *err) {
  int32_t n;
  TN_TRY(tn_wire_take_count(r, 4, &n, "number of readers", err));
  for (int32_t i = 0; i < n; i++) {
    tn_slice piece;
    bool has_next;
    int64_t next;
    TN_TRY(tn_wire_take_bytes(r, &piece, "splits of a reader", err));
    TN_TRY(tn_pending_splits_decode(table, piece, held, &has_next, &next, err));
  }
  return TARN_OK;
}

tarn_status tn_stream_state_load(tn_table *table, tn_slice bytes, tn_enumerator *enumerator,
                                 int64_t *rows, tarn_error *err) {
  tn_wire_reader r;
  tn_arena arena;
  tn_split_queue held;
  tn_slice pending;
  const char *name;
  int64_t n_rows;
  uint32_t version;
  uint64_t past;
  tarn_status st = TARN_OK;
  TN_TRY(check_frame(&bytes, &version, err));
  tn_arena_init(&arena, &table->env->mem, LIMIT);
  tn_split_queue_init(&held, &table->env->mem);
  r = tn_wire_reader_of(bytes, &arena, "state of a stream");
  TN_TRY_TO(done, tn_wire_take_text(&r, &name, "table", err));
  TN_TRY_TO(done, check_table(table, name, err));
  TN_TRY_TO(done, tn_wire_take_i64(&r, &n_rows, "rows", err));
  TN_TRY_TO(done, take_question(table, tn_enumerator_scan(enumerator), version, &r, &past, err));
  TN_TRY_TO(done, tn_wire_take_bytes(&r, &pending, "pending splits", err));
  TN_TRY_TO(done, take_readers(table, &r, &held, err));
  TN_TRY_TO(done, tn_wire_take_end(&r, err));
  TN_TRY_TO(done, tn_enumerator_restore(enumerator, pending, &held, err));
  tn_stream_scan_set_past(tn_enumerator_scan(enumerator), past);
  *rows = n_rows;
done:
  tn_split_queue_reset(&held);
  tn_arena_reset(&arena);
  return st;
}
