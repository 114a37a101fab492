/* buf.h - growable bytes with a hard limit that is given when the buffer is made. */
#ifndef TN_BASE_BUF_H
#define TN_BASE_BUF_H

#include "base/mem.h"
#include "base/slice.h"

typedef struct tn_buf {
  tn_mem *mem;
  uint8_t *data;
  size_t len, capacity, limit_bytes;
} tn_buf;

void tn_buf_init(tn_buf *buf, tn_mem *mem, size_t limit_bytes);
/* Over memory at hand, which is never grown or freed. */
static inline void tn_buf_over(tn_buf *buf, void *data, size_t n_bytes) {
  *buf = (tn_buf){NULL, data, 0, n_bytes, n_bytes};
}
void tn_buf_reset(tn_buf *buf); /* frees; the buffer can be used again */

/* Fail with LIMIT past the limit, NOMEM when memory is out; the content stays as it was. */
TN_CHECKED tarn_status tn_buf_reserve(tn_buf *buf, size_t more_bytes, tarn_error *err);
TN_CHECKED tarn_status tn_buf_append(tn_buf *buf, const void *bytes, size_t n_bytes,
                                     tarn_error *err);
TN_CHECKED tarn_status tn_buf_text(tn_buf *buf, const char *text, tarn_error *err);
TN_CHECKED tarn_status tn_buf_printf(tn_buf *buf, tarn_error *err, const char *fmt, ...)
    TN_PRINTF(3, 4);

/* Bytes as Java decodes them: what is no UTF-8 becomes U+FFFD (tn_utf8_java_step). */
TN_CHECKED tarn_status tn_buf_java_text(tn_buf *buf, tn_slice bytes, tarn_error *err);

static inline tn_slice tn_buf_slice(const tn_buf *buf) {
  return tn_slice_of(buf->data, buf->len);
}

#endif
