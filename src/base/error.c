/* error.c - one clean line of UTF-8 into a tarn_error. */
#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static const char *const status_names[] = {
    "OK", "INVALID", "NOT_FOUND", "EXISTS",    "CONFLICT", "EXPIRED", "CORRUPT", "UNSUPPORTED",
    "IO", "AUTH",    "TIMEOUT",   "CANCELLED", "NOMEM",    "LIMIT",   "STATE",   "INTERNAL",
};

const char *tarn_status_name(tarn_status status) {
  size_t i = (size_t)status;
  return i < TN_COUNT(status_names) ? status_names[i] : "UNKNOWN";
}

void tn_text_tidy(char *text, size_t size) {
  size_t n = strnlen(text, size), i = 0;
  while (i < n) {
    size_t step = tn_utf8_step((const uint8_t *)text + i, n - i);
    if (step == 0 && n >= size - 1 && n - i < 4 && (unsigned char)text[i] >= 0xC2) {
      text[i] = '\0'; /* cut in the middle of the last character */
      break;
    }
    if (step == 0) {
      text[i] = '?';
    } else if ((unsigned char)text[i] < 0x20 || text[i] == 0x7F) {
      text[i] = ' ';
    }
    i += step > 0 ? step : 1;
  }
}

tarn_status tn_fail(tarn_error *err, tarn_status status, const char *fmt, ...) {
  if (err != NULL) {
    va_list args;
    err->status = status;
    err->os_errno = 0;
    va_start(args, fmt);
    vsnprintf(err->message, sizeof(err->message), fmt, args);
    va_end(args);
    tn_text_tidy(err->message, sizeof(err->message));
  }
  return status;
}

static tarn_status status_of_errno(int os_errno) {
  switch (os_errno) {
    case ENOENT:
    case ENOTDIR:
      return TARN_E_NOT_FOUND;
    case EEXIST:
      return TARN_E_EXISTS;
    case ENOMEM:
      return TARN_E_NOMEM;
    case EACCES:
    case EPERM:
      return TARN_E_AUTH;
    default:
      return TARN_E_IO;
  }
}

tarn_status tn_fail_errno(tarn_error *err, int os_errno, const char *fmt, ...) {
  tarn_status status = status_of_errno(os_errno);
  if (err != NULL) {
    char reason[128];
    va_list args;
    size_t n;
    err->status = status;
    err->os_errno = os_errno;
    va_start(args, fmt);
    vsnprintf(err->message, sizeof(err->message), fmt, args);
    va_end(args);
    n = strnlen(err->message, sizeof(err->message));
    reason[0] = '\0';
    /* The XSI form: fills the buffer, no global state. */
    snprintf(err->message + n, sizeof(err->message) - n, ": %s",
             strerror_r(os_errno, reason, sizeof(reason)) == 0 ? reason : "unknown error");
    tn_text_tidy(err->message, sizeof(err->message));
  }
  return status;
}

tarn_status tn_error_context(tarn_error *err, tarn_status status, const char *fmt, ...) {
  if (err != NULL) {
    char old[sizeof(err->message)];
    va_list args;
    size_t n;
    memcpy(old, err->message, sizeof(old));
    err->status = status;
    va_start(args, fmt);
    vsnprintf(err->message, sizeof(err->message), fmt, args);
    va_end(args);
    n = strnlen(err->message, sizeof(err->message));
    snprintf(err->message + n, sizeof(err->message) - n, ": %s", old);
    tn_text_tidy(err->message, sizeof(err->message));
  }
  return status;
}

tarn_status tn_oom(tarn_error *err) {
  return tn_fail(err, TARN_E_NOMEM, "out of memory");
}

tarn_status tn_bug(tarn_error *err, const char *file, int line, const char *what) {
  assert(!"a fault in Tarn itself");
  return tn_fail(err, TARN_E_INTERNAL, "internal fault at %s:%d: %s; please report it", file, line,
                 what);
}

void tn_error_reset(tarn_error *err) {
  if (err != NULL) {
    err->status = TARN_OK;
    err->os_errno = 0;
    err->message[0] = '\0';
  }
}
