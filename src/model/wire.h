/* wire.h - Java's DataOutput and DataInput: the outer form of splits, commit messages and
 * committables. Big-endian numbers, texts in modified UTF-8.
 *
 * Rule: java.io.DataOutput; spec: wire, 1.
 */
#ifndef TN_MODEL_WIRE_H
#define TN_MODEL_WIRE_H

#include "base/arena.h"
#include "base/buf.h"

TN_CHECKED tarn_status tn_wire_put_bool(tn_buf *out, bool value, tarn_error *err);
/* LIMIT when it does not fit. */
TN_CHECKED tarn_status tn_wire_put_i32(tn_buf *out, int64_t value, tarn_error *err);
TN_CHECKED tarn_status tn_wire_put_i64(tn_buf *out, int64_t value, tarn_error *err);
/* A text of UTF-8; LIMIT past 65,535 bytes. */
TN_CHECKED tarn_status tn_wire_put_text(tn_buf *out, const char *text, tarn_error *err);
/* Bytes with their length (i32) in front. */
TN_CHECKED tarn_status tn_wire_put_bytes(tn_buf *out, tn_slice bytes, tarn_error *err);

/* Front to back over untrusted bytes; `what` is in front of messages ("commit message"). Each call
 * names the part it takes. Errors: CORRUPT with the byte, NOMEM. */
typedef struct tn_wire_reader {
  const uint8_t *begin, *at, *end;
  tn_arena *arena; /* of texts */
  const char *what;
} tn_wire_reader;

static inline tn_wire_reader tn_wire_reader_of(tn_slice bytes, tn_arena *arena, const char *what) {
  tn_wire_reader r = {bytes.data, bytes.data, bytes.data + bytes.len, arena, what};
  return r;
}

static inline size_t tn_wire_left(const tn_wire_reader *r) {
  return (size_t)(r->end - r->at);
}

TN_CHECKED tarn_status tn_wire_take_bool(tn_wire_reader *r, bool *out, const char *part,
                                         tarn_error *err);
TN_CHECKED tarn_status tn_wire_take_i32(tn_wire_reader *r, int32_t *out, const char *part,
                                        tarn_error *err);
TN_CHECKED tarn_status tn_wire_take_i64(tn_wire_reader *r, int64_t *out, const char *part,
                                        tarn_error *err);
/* A number of things that take at least min_bytes (1 or more) each: never more than can be there.
 */
TN_CHECKED tarn_status tn_wire_take_count(tn_wire_reader *r, size_t min_bytes, int32_t *out,
                                          const char *part, tarn_error *err);
/* Borrowed. */
TN_CHECKED tarn_status tn_wire_take_bytes(tn_wire_reader *r, tn_slice *out, const char *part,
                                          tarn_error *err);
TN_CHECKED tarn_status tn_wire_take_text(tn_wire_reader *r, const char **out, const char *part,
                                         tarn_error *err);
/* Nothing may be left. */
TN_CHECKED tarn_status tn_wire_take_end(const tn_wire_reader *r, tarn_error *err);

#endif
