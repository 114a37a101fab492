/* complete.h - table tail --complete: what a table without changelog gives, made a complete one.
 *
 * With a state file what is kept lies in FILE.rows, a folder, and the state file holds behind the
 * stream's own bytes how much of it counts:
 *
 *   stream's bytes, normaliser's bytes, u32 length of these (little-endian), "TARNROWS"
 *
 * so that both move in one step. Without a state file it has no name, in $TMPDIR or /tmp.
 */
#ifndef CLI_COMPLETE_H
#define CLI_COMPLETE_H

#include "session.h"
#include "tarn/stream.h"

typedef struct cli_complete cli_complete; /* one thread */

/* For rows of this stream of a table. state_path: NULL: none. *out: cli_complete_free(); NULL: the
 * stream is complete as it is, which is noted. Errors: TARN_E_INVALID: usage (a filter, or a key
 * that is not selected). */
tarn_status cli_complete_create(cli_session *session, tarn_table *table, tarn_stream *stream,
                                const char *state_path, cli_complete **out, tarn_error *err);
void cli_complete_free(cli_complete *complete); /* accepts NULL */

/* Put in the place of rows the changes that they make; rows->release NULL: none. */
tarn_status cli_complete_apply(cli_complete *complete, struct ArrowArray *rows, tarn_error *err);

/* Take the normaliser's part off the end of a state, and go on from it. complete NULL: there must
 * be none. *n: in: all bytes, out: those of the stream. */
tarn_status cli_complete_restore(cli_complete *complete, const char *path, const char *state,
                                 size_t *n, tarn_error *err);
/* Add the normaliser's part. */
tarn_status cli_complete_keep(cli_complete *complete, cli_text *state, tarn_error *err);
/* The state is stored for good. */
void cli_complete_kept(cli_complete *complete);
void cli_complete_stats(const cli_complete *complete, tarn_normaliser_stats *out);

#endif
