/* complete.h - table tail --complete: what a table without changelog gives, made a complete one.
 *
 * With a state file what is kept lies in FILE.rows, a folder, and a state holds behind the stream's
 * own bytes how much of it counts:
 *
 *   stream's bytes, normaliser's bytes, u32 length of these (little-endian), "TARNROWS"
 *
 * so that both move in one step, in the state file or through a pipe (decisions/0015). Without a
 * state file it has no name, in $TMPDIR or /tmp.
 */
#ifndef CLI_COMPLETE_H
#define CLI_COMPLETE_H

#include "session.h"
#include "tarn/stream.h"

typedef struct cli_complete cli_complete; /* one thread */

/* Columns of the key and of the partitions that --select leaves out: they are read, last of all,
 * and not printed. */
typedef struct cli_hidden_keys {
  cli_text select; /* in the place of --select; empty: that stays */
  size_t count;
} cli_hidden_keys;

/* Before the scan of --complete is opened. Records of debezium and canal tell rows by their keys:
 * for them nothing is added. out: cli_text_reset(&out->select), after the arguments. */
tarn_status cli_complete_add_keys(cli_session *session, cli_hidden_keys *out, tarn_error *err);

/* For rows of this stream of a table.
 *
 * has_snapshot  the column behind the row kind is that of the snapshot
 * state_path    NULL: none
 * out           cli_complete_free(); NULL: the stream is complete as it is, which is noted
 * Errors: TARN_E_INVALID: usage (a filter, or such a column that is not selected). */
tarn_status cli_complete_create(cli_session *session, tarn_table *table, tarn_stream *stream,
                                bool has_snapshot, const char *state_path, cli_complete **out,
                                tarn_error *err);
void cli_complete_free(cli_complete *complete); /* accepts NULL */

/* Put in the place of rows the changes that they make; rows->release NULL: none. */
tarn_status cli_complete_apply(cli_complete *complete, struct ArrowArray *rows, tarn_error *err);

/* Take the normaliser's part off the end of a state, and go on from it. complete NULL: there must
 * be none. path: of the file that held it. *n: in: all bytes, out: those of the stream. */
tarn_status cli_complete_restore(cli_complete *complete, const char *path, const char *state,
                                 size_t *n, tarn_error *err);
/* Add the normaliser's part. */
tarn_status cli_complete_keep(cli_complete *complete, cli_text *state, tarn_error *err);
/* The last state is stored for good. */
void cli_complete_kept(cli_complete *complete);
/* Are there files that only states before the last one need? */
bool cli_complete_has_older(const cli_complete *complete);
/* A state, which need not be the last one, is stored for good in a file of that path. */
tarn_status cli_complete_kept_in(cli_complete *complete, const char *path, const cli_text *state,
                                 tarn_error *err);
void cli_complete_stats(const cli_complete *complete, tarn_normaliser_stats *out);

#endif
