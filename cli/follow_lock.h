/* follow_lock.h - one program at a time keeps its place in a state file.
 *
 * The lock is on FILE.lock, beside the file, since that is replaced whole. It goes with the
 * process, however that ends; what is left of FILE.lock after a kill locks nobody out.
 */
#ifndef CLI_FOLLOW_LOCK_H
#define CLI_FOLLOW_LOCK_H

#include "tarn/error.h"

typedef struct cli_follow_lock { /* all zero: none */
  char *path;                    /* owned */
  int fd;
} cli_follow_lock;

/* out: cli_follow_lock_release(). Where there can be no lock (a device, a folder without leave to
 * write, a file system without locks) out is none. Errors: TARN_E_CONFLICT (another process has
 * it), TARN_E_NOMEM. */
tarn_status cli_follow_lock_take(const char *state_path, cli_follow_lock *out, tarn_error *err);
void cli_follow_lock_release(cli_follow_lock *lock); /* accepts all zero */

#endif
