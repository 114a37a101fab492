/* errors.c - messages are made beside err, which their arguments may come from. */
#include "errors.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

tarn_status cli_error(tarn_error *err, tarn_status status, const char *format, ...) {
  char message[sizeof(err->message)];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(message, sizeof(message), format, args);
  va_end(args);
  memcpy(err->message, message, sizeof(message));
  err->status = status;
  err->os_errno = 0;
  return status;
}

tarn_status cli_no_memory(tarn_error *err) {
  return cli_error(err, TARN_E_NOMEM, "out of memory");
}

tarn_status cli_error_errno(tarn_error *err, tarn_status status, const char *name, int number) {
  (void)cli_error(err, status, "%s: %s", name, strerror(number));
  err->os_errno = number;
  return status;
}

tarn_status cli_error_prefix(tarn_error *err, const char *name) {
  char message[sizeof(err->message)];
  (void)snprintf(message, sizeof(message), "%.300s: %.680s", name, err->message);
  memcpy(err->message, message, sizeof(message));
  return err->status;
}
