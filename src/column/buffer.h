/* buffer.h - counted byte buffers that vectors share and hand to Arrow consumers.
 *
 * A buffer is written by its maker while the count is one, then immutable. Buffers of 4 KiB and
 * more charge the budget of their environment. Freed ones are kept for reuse in a store that
 * belongs to the environment and stays charged, so a scan whose batches are released runs without
 * asking the system for memory; the store is emptied when memory or budget are short.
 * Data is 64-byte aligned and has 64 bytes of slack behind its capacity that may be read and
 * written, so that wide loads and stores may pass the end.
 */
#ifndef TN_COLUMN_BUFFER_H
#define TN_COLUMN_BUFFER_H

#include <stdatomic.h>

#include "base/env.h"

typedef struct tn_buffer {
  uint8_t *data;
  size_t capacity; /* bytes that may be written */
  tarn_env *env;
  _Atomic int32_t refs;
  size_t charged_bytes;
  struct tn_buffer *next; /* in the store */
} tn_buffer;

/* Content is undefined; refs = 1; the capacity may come out larger than asked for. Errors: NOMEM,
 * LIMIT (budget). */
TN_CHECKED tarn_status tn_buffer_create(tarn_env *env, size_t capacity, tn_buffer **out,
                                        tarn_error *err);
TN_CHECKED tarn_status tn_buffer_create_zeroed(tarn_env *env, size_t capacity, tn_buffer **out,
                                               tarn_error *err);
/* Grow a buffer whose count is one, keeping its first used_bytes (may move). On failure it is as it
 * was. */
TN_CHECKED tarn_status tn_buffer_grow(tn_buffer **buffer, size_t used_bytes, size_t capacity,
                                      tarn_error *err);
static inline tn_buffer *tn_buffer_retain(tn_buffer *buffer) {
  if (buffer != NULL) {
    atomic_fetch_add_explicit(&buffer->refs, 1, memory_order_relaxed);
  }
  return buffer;
}
void tn_buffer_release(tn_buffer *buffer); /* accepts NULL; any thread */

/* Give freed blocks that are kept for reuse back to the allocator and the budget. For consumers of
 * the budget that found it short. Any thread. */
void tn_buffers_trim(tarn_env *env);

#endif
