/* refused.h - what happens to records that cannot be taken: the run stops, they are left out, or
 * they are kept in a file (--on-error, --dead-letter). */
#ifndef CLI_REFUSED_H
#define CLI_REFUSED_H

#include "session.h"

typedef struct cli_refused {
  cli_session *session;
  bool goes_on;     /* bad records are left out */
  int file;         /* of those that are kept; -1: none */
  const char *name; /* of the file */
  int64_t count;
} cli_refused;

/* From the options. out: cli_refused_close(), after a failure too. Errors: TARN_E_IO. */
tarn_status cli_refused_open(cli_session *session, cli_refused *out, tarn_error *err);
void cli_refused_close(cli_refused *refused);
static inline bool cli_refused_keeps(const cli_refused *refused) {
  return refused->file >= 0;
}
/* Add a line to the file of those that are kept: n bytes, a line break at their end or not. */
tarn_status cli_refused_keep(const cli_refused *refused, const char *text, size_t n,
                             tarn_error *err);
/* A record of n bytes (NULL: not at hand) was refused; err tells where and why. TARN_OK: the next
 * one can be looked at; else err's status, or that of keeping it. Only TARN_E_INVALID can be left
 * out. */
tarn_status cli_refused_add(cli_refused *refused, const char *text, size_t n, tarn_error *err);

#endif
