/* sink_state.c - the state of a sink as bytes. */
#include <inttypes.h>

#include "base/bytes.h"
#include "codec/hash.h"
#include "maintain/identity.h"
#include "model/wire.h"
#include "sink/sink_parts.h"

#define MAGIC "TARNSINK"
#define MAGIC_BYTES 8
#define VERSION 1

static tarn_status put_groups(const tn_table_sink *sink, tn_buf *out, tarn_error *err) {
  TN_TRY(tn_wire_put_i32(out, sink->n_pending, err));
  for (const tn_table_sink_group *g = sink->groups; g != NULL; g = g->next) {
    if (g->is_sealed) {
      TN_TRY(tn_wire_put_i32(out, TN_COMMITTABLE_VERSION, err));
      TN_TRY(tn_wire_put_bytes(out, tn_buf_slice(&g->committable), err));
    }
  }
  return TARN_OK;
}

tarn_status tn_table_sink_state_encode(const tn_table_sink *sink, tn_slice caller, tn_buf *out,
                                       tarn_error *err) {
  size_t begin = out->len;
  uint8_t crc[4];
  TN_TRY(tn_buf_append(out, MAGIC, MAGIC_BYTES, err));
  TN_TRY(tn_wire_put_i32(out, VERSION, err));
  TN_TRY(tn_wire_put_text(out, (const char *)sink->name.data, err));
  TN_TRY(tn_wire_put_text(out, sink->user, err));
  TN_TRY(tn_wire_put_i64(out, sink->last_sealed, err));
  TN_TRY(put_groups(sink, out, err));
  TN_TRY(tn_wire_put_bytes(out, caller, err));
  tn_store_be32(crc, tn_crc32(0, out->data + begin, out->len - begin));
  return tn_buf_append(out, crc, sizeof(crc), err);
}

/* ------------------------------------------------------------------ decoding */

static tarn_status check_frame(tn_slice *bytes, tarn_error *err) {
  uint32_t version, crc, expected;
  if (bytes->len < MAGIC_BYTES + 4 + 4 || memcmp(bytes->data, MAGIC, MAGIC_BYTES) != 0) {
    return tn_fail(err, TARN_E_CORRUPT, "state of a sink: %zu bytes that do not begin with " MAGIC,
                   bytes->len);
  }
  version = tn_load_be32(bytes->data + MAGIC_BYTES);
  if (version != VERSION) {
    return tn_fail(err, TARN_E_UNSUPPORTED, "state of a sink: version %u, known is %d", version,
                   VERSION);
  }
  crc = tn_crc32(0, bytes->data, bytes->len - 4);
  expected = tn_load_be32(bytes->data + bytes->len - 4);
  if (crc != expected) {
    return tn_fail(err, TARN_E_CORRUPT,
                   "state of a sink: checksum %08x, expected %08x: it is damaged or cut short", crc,
                   expected);
  }
  bytes->data += MAGIC_BYTES + 4;
  bytes->len -= MAGIC_BYTES + 4 + 4;
  return TARN_OK;
}

static tarn_status take_committables(tn_wire_reader *r, tn_table_sink_saved *out, tarn_error *err) {
  int64_t last = INT64_MIN;
  TN_TRY(tn_wire_take_count(r, 8, &out->n_committables, "number of committables", err));
  out->committables =
      tn_arena_calloc(r->arena, (size_t)out->n_committables, sizeof(*out->committables));
  if (out->committables == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < out->n_committables; i++) {
    tn_slice bytes;
    int32_t version;
    TN_TRY(tn_wire_take_i32(r, &version, "version of a committable", err));
    TN_TRY(tn_wire_take_bytes(r, &bytes, "committable", err));
    TN_TRY(tn_committable_decode(bytes, version, r->arena, &out->committables[i], err));
    if (out->committables[i].identifier <= last) {
      return tn_fail(err, TARN_E_CORRUPT,
                     "Committables must be sorted according to identifiers before filtering. This "
                     "is unexpected. (%" PRId64 " behind %" PRId64 ")",
                     out->committables[i].identifier, last);
    }
    last = out->committables[i].identifier;
  }
  return TARN_OK;
}

tarn_status tn_table_sink_state_decode(const tn_table_sink *sink, tn_slice bytes, tn_arena *arena,
                                       tn_table_sink_saved *out, tarn_error *err) {
  tn_wire_reader r;
  const char *name;
  memset(out, 0, sizeof(*out));
  TN_TRY(check_frame(&bytes, err));
  r = tn_wire_reader_of(bytes, arena, "state of a sink");
  TN_TRY(tn_wire_take_text(&r, &name, "table", err));
  TN_TRY(tn_table_identity_check(sink->table, (const char *)sink->name.data, name, err));
  TN_TRY(tn_wire_take_text(&r, &out->user, "user", err));
  TN_TRY(tn_wire_take_i64(&r, &out->last_sealed, "last checkpoint", err));
  TN_TRY(take_committables(&r, out, err));
  TN_TRY(tn_wire_take_bytes(&r, &out->caller, "bytes of the caller", err));
  return tn_wire_take_end(&r, err);
}
