/* follow_state.h - a file that holds where a stream has come to, and survives the loss of the
 * process and of power: it is replaced whole, and synced before it counts.
 */
#ifndef CLI_FOLLOW_STATE_H
#define CLI_FOLLOW_STATE_H

#include "tarn/error.h"
#include "text.h"

/* Is there something that no file may take the place of: a device, a pipe, a folder? */
bool cli_follow_state_is_special(const char *path);
/* Read the file; *found false: there is none. out: cli_text_reset(). Errors: TARN_E_IO,
 * TARN_E_LIMIT (more than 1 GiB), TARN_E_NOMEM. */
tarn_status cli_follow_state_read(const char *path, cli_text *out, bool *found, tarn_error *err);
/* That it was replaced is on the disk: what only its old content needed may go. Where that cannot
 * be had, nothing happens. */
void cli_follow_state_settle(const char *path);
/* Replace it. has_sync false: without waiting for the disk (for what may be lost); such text may
 * also go to a device or pipe. Errors: TARN_E_IO; the old content stays. */
tarn_status cli_follow_state_write(const char *path, const void *bytes, size_t n, bool has_sync,
                                   tarn_error *err);

#endif
