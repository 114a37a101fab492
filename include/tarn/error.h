/* error.h - how every call of Tarn fails.
 *
 * A call that can fail returns a tarn_status. A caller who wants the facts passes a tarn_error; it
 * may be NULL. Filling it never allocates. "End of data" is not an error.
 */
#ifndef TARN_ERROR_H
#define TARN_ERROR_H

#include <stdint.h>

#include "tarn/visibility.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Stable numbers, never reused. */
typedef enum tarn_status {
  TARN_OK = 0,
  TARN_E_INVALID = 1,     /* an argument, option or text that cannot be right */
  TARN_E_NOT_FOUND = 2,   /* no such database, table, column, snapshot, tag or file */
  TARN_E_EXISTS = 3,      /* the name is taken */
  TARN_E_CONFLICT = 4,    /* somebody else committed a contradicting change */
  TARN_E_EXPIRED = 5,     /* it was there, and has been expired */
  TARN_E_CORRUPT = 6,     /* bytes that do not follow their format */
  TARN_E_UNSUPPORTED = 7, /* right for Paimon, not (yet) for Tarn; the message names the feature */
  TARN_E_IO = 8,          /* the storage failed; os_errno tells how */
  TARN_E_AUTH = 9,
  TARN_E_TIMEOUT = 10,
  TARN_E_CANCELLED = 11,
  TARN_E_NOMEM = 12,
  TARN_E_LIMIT = 13,   /* a stated limit (memory budget, size, depth) was reached */
  TARN_E_STATE = 14,   /* the call is not allowed now */
  TARN_E_INTERNAL = 15 /* a fault in Tarn itself */
} tarn_status;

typedef struct tarn_error {
  tarn_status status;
  int32_t os_errno;   /* of the failed system call, else 0 */
  char message[1008]; /* UTF-8, one line, NUL-terminated */
} tarn_error;

/* The name of a status, such as "CORRUPT"; never NULL. Thread-safe. */
TARN_EXPORT const char *tarn_status_name(tarn_status status);

#ifdef __cplusplus
}
#endif
#endif
