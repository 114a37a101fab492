/* write_bytes.h - growing bytes of a writer, charged to the budget of the environment.
 *
 * Unlike a tn_buf there is no limit of its own, as a writer makes its bytes itself, and 64 bytes
 * behind the capacity may be written, so that wide stores may pass the end.
 */
#ifndef TN_FORMAT_PARQUET_WRITE_BYTES_H
#define TN_FORMAT_PARQUET_WRITE_BYTES_H

#include "base/slice.h"
#include "column/buffer.h"

typedef struct tn_pq_bytes {
  tarn_env *env;
  tn_buffer *buffer; /* NULL: nothing yet */
  uint8_t *data;
  size_t len, capacity;
  size_t head; /* bytes in front of data that may be written, too */
} tn_pq_bytes;

static inline void tn_pq_bytes_init(tn_pq_bytes *bytes, tarn_env *env) {
  *bytes = (tn_pq_bytes){.env = env};
}
/* Frees; the bytes can be used again. */
void tn_pq_bytes_reset(tn_pq_bytes *bytes);
TN_CHECKED tarn_status tn_pq_bytes_grow(tn_pq_bytes *bytes, size_t more, tarn_error *err);

/* Room for `more` bytes behind len. Errors: NOMEM, LIMIT (budget); the content stays. */
TN_CHECKED static inline tarn_status tn_pq_bytes_reserve(tn_pq_bytes *bytes, size_t more,
                                                         tarn_error *err) {
  return TN_LIKELY(more <= bytes->capacity - bytes->len && bytes->buffer != NULL)
             ? TARN_OK
             : tn_pq_bytes_grow(bytes, more, err);
}
TN_CHECKED tarn_status tn_pq_bytes_append(tn_pq_bytes *bytes, const void *data, size_t n_bytes,
                                          tarn_error *err);
static inline tn_slice tn_pq_bytes_slice(const tn_pq_bytes *bytes) {
  return tn_slice_of(bytes->data, bytes->len);
}

/* Bytes that are only appended and then read front to back once: pieces, which are never moved. */
typedef struct tn_pq_piece {
  tn_buffer *buffer;
  size_t len;
} tn_pq_piece;

typedef struct tn_pq_pieces {
  tarn_env *env;
  tn_pq_piece *items;
  size_t count, capacity;
  size_t len; /* of all */
} tn_pq_pieces;

static inline void tn_pq_pieces_init(tn_pq_pieces *pieces, tarn_env *env) {
  *pieces = (tn_pq_pieces){.env = env};
}
void tn_pq_pieces_reset(tn_pq_pieces *pieces);
/* After a failure the content is undefined: it can only be reset. */
TN_CHECKED tarn_status tn_pq_pieces_append(tn_pq_pieces *pieces, const void *data, size_t n_bytes,
                                           tarn_error *err);

#endif
