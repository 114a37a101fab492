/* buf.c - growth by doubling, up to the limit. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/checked.h"
#include "base/utf8.h"

void tn_buf_init(tn_buf *buf, tn_mem *mem, size_t limit_bytes) {
  memset(buf, 0, sizeof(*buf));
  buf->mem = mem;
  buf->limit_bytes = limit_bytes;
}

void tn_buf_reset(tn_buf *buf) {
  if (buf->mem != NULL) {
    tn_free(buf->mem, buf->data);
  }
  tn_buf_init(buf, buf->mem, buf->limit_bytes);
}

tarn_status tn_buf_reserve(tn_buf *buf, size_t more_bytes, tarn_error *err) {
  size_t needed, capacity;
  uint8_t *data;
  if (!tn_add_size(buf->len, more_bytes, &needed) || needed > buf->limit_bytes) {
    return tn_fail(err, TARN_E_LIMIT, "more than the allowed %zu bytes", buf->limit_bytes);
  }
  if (needed <= buf->capacity) {
    return TARN_OK;
  }
  capacity = buf->capacity < 64 ? 64 : buf->capacity;
  while (capacity < needed) {
    capacity = capacity > buf->limit_bytes / 2 ? buf->limit_bytes : capacity * 2;
  }
  data = tn_realloc(buf->mem, buf->data, capacity);
  if (data == NULL) {
    return tn_oom(err);
  }
  buf->data = data;
  buf->capacity = capacity;
  return TARN_OK;
}

tarn_status tn_buf_append(tn_buf *buf, const void *bytes, size_t n_bytes, tarn_error *err) {
  TN_TRY(tn_buf_reserve(buf, n_bytes, err));
  if (n_bytes > 0) {
    memcpy(buf->data + buf->len, bytes, n_bytes);
  }
  buf->len += n_bytes;
  return TARN_OK;
}

tarn_status tn_buf_text(tn_buf *buf, const char *text, tarn_error *err) {
  return tn_buf_append(buf, text, strlen(text), err);
}

tarn_status tn_buf_printf(tn_buf *buf, tarn_error *err, const char *fmt, ...) {
  va_list args;
  int n;
  va_start(args, fmt);
  n = vsnprintf(NULL, 0, fmt, args);
  va_end(args);
  if (n < 0) {
    return TN_BUG(err, "format");
  }
  TN_TRY(tn_buf_reserve(buf, (size_t)n + 1, err));
  va_start(args, fmt);
  vsnprintf((char *)buf->data + buf->len, (size_t)n + 1, fmt, args);
  va_end(args);
  buf->len += (size_t)n;
  return TARN_OK;
}

tarn_status tn_buf_java_text(tn_buf *buf, tn_slice bytes, tarn_error *err) {
  size_t at = 0;
  while (at < bytes.len) {
    size_t good = tn_utf8_check(bytes.data + at, bytes.len - at);
    TN_TRY(tn_buf_append(buf, bytes.data + at, good, err));
    at += good;
    if (at < bytes.len) {
      TN_TRY(tn_buf_text(buf, "\xEF\xBF\xBD", err));
      at += tn_utf8_java_step(bytes.data + at, bytes.len - at);
    }
  }
  return TARN_OK;
}
