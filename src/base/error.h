/* error.h - filling a tarn_error, and the two macros of error flow.
 *
 * The place that detects a fault writes the facts: path, offset, snapshot id, expected and found.
 * Callers add context in front (tn_error_context) only when they know something new.
 */
#ifndef TN_BASE_ERROR_H
#define TN_BASE_ERROR_H

#include <stdarg.h>
#include <stddef.h>

#include "base/compat.h"
#include "tarn/error.h"

/* Fill err (which may be NULL) and return status. The message is cut to its buffer at a UTF-8
 * border; line breaks and control characters in it become spaces, bytes that are not UTF-8 become
 * question marks. Never allocates. */
tarn_status tn_fail(tarn_error *err, tarn_status status, const char *fmt, ...) TN_PRINTF(3, 4);

/* The same for a failed system call: status from os_errno (ENOENT: NOT_FOUND, EEXIST: EXISTS,
 * ENOMEM: NOMEM, EACCES and EPERM: AUTH, else IO), its text appended. */
tarn_status tn_fail_errno(tarn_error *err, int os_errno, const char *fmt, ...) TN_PRINTF(3, 4);

/* Put "text: " in front of the message of err (which may be NULL), whose status becomes `status`:
 * that of err, or what it means here. Returns status. */
tarn_status tn_error_context(tarn_error *err, tarn_status status, const char *fmt, ...)
    TN_PRINTF(3, 4);

/* TARN_E_NOMEM with the standard text. */
tarn_status tn_oom(tarn_error *err);

/* A broken invariant of our own: asserts in debug builds, TARN_E_INTERNAL in release builds. */
tarn_status tn_bug(tarn_error *err, const char *file, int line, const char *what);
#define TN_BUG(err, what) tn_bug((err), __FILE__, __LINE__, (what))

void tn_error_reset(tarn_error *err);

/* What tn_fail does to a message: NUL-terminated text in a buffer of `size` bytes that may have cut
 * it becomes one line of UTF-8. */
void tn_text_tidy(char *text, size_t size);

/* Return at once. Only while nothing is held. */
#define TN_TRY(expr)                          \
  do {                                        \
    tarn_status tn_try_st_ = (expr);          \
    if (TN_UNLIKELY(tn_try_st_ != TARN_OK)) { \
      return tn_try_st_;                      \
    }                                         \
  } while (0)

/* Set `st` and go to `label`, which undoes in reverse order. */
#define TN_TRY_TO(label, expr)        \
  do {                                \
    st = (expr);                      \
    if (TN_UNLIKELY(st != TARN_OK)) { \
      goto label;                     \
    }                                 \
  } while (0)

#endif
