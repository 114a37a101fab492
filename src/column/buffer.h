/* buffer.h - counted byte buffers that vectors share and hand to Arrow consumers.
 *
 * A buffer is written by its maker while the count is one, then immutable. Buffers of 4 KiB and
 * more charge the budget of their environment. Freed ones are kept for reuse (a small list by
 * size class in the environment's tn_mem), so a scan whose batches are released runs without
 * asking the system for memory. Data is 64-byte aligned and has 64 readable bytes behind its size,
 * so that wide loads and stores may pass the end.
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
  void (*free_data)(void *owner, uint8_t *data); /* foreign memory; NULL: ours */
  void *owner;
} tn_buffer;

/* Content is undefined; refs = 1. Errors: NOMEM, LIMIT (budget). */
TN_CHECKED tarn_status tn_buffer_create(tarn_env *env, size_t capacity, tn_buffer **out,
                                        tarn_error *err);
TN_CHECKED tarn_status tn_buffer_create_zeroed(tarn_env *env, size_t capacity, tn_buffer **out,
                                               tarn_error *err);
/* Around memory of somebody else: free_data(owner, data) runs when the count drops to zero. */
TN_CHECKED tarn_status tn_buffer_wrap(tarn_env *env, const void *data, size_t n_bytes,
                                      void (*free_data)(void *owner, uint8_t *data), void *owner,
                                      tn_buffer **out, tarn_error *err);
/* Grow a buffer whose count is one, keeping its first used_bytes (may move). */
TN_CHECKED tarn_status tn_buffer_grow(tn_buffer **buffer, size_t used_bytes, size_t capacity,
                                      tarn_error *err);
static inline tn_buffer *tn_buffer_retain(tn_buffer *buffer) {
  if (buffer != NULL) {
    atomic_fetch_add_explicit(&buffer->refs, 1, memory_order_relaxed);
  }
  return buffer;
}
void tn_buffer_release(tn_buffer *buffer); /* accepts NULL; any thread */

#endif
