/* follow.h - table write --follow and --state: rows into a table, each once, over any number of
 * runs.
 *
 * Invariants
 *   F1  What a commit makes visible, and where the input stands behind it, are in the state file
 *       before the commit. The next run commits what was not, and takes up the input behind it.
 *   F2  Rows are numbered from the start of the stream, also over restarts; those that are in the
 *       table are dropped when they come again.
 *   F3  Of a source that tells checkpoints nothing is committed before it has told one to go on
 *       from: without it the rows could come again in another order.
 *   F4  A source that has a state file of its own is told there, before the first commit, that its
 *       place is kept here (decisions/0011): so its rows cannot come from elsewhere.
 */
#ifndef CLI_FOLLOW_H
#define CLI_FOLLOW_H

#include "follow_lines.h"
#include "follow_lock.h"
#include "input.h"
#include "tarn/sink.h"

typedef struct cli_follow {
  cli_session *session;
  tarn_sink *sink;
  const char *state_path, *metrics_path; /* NULL: none */
  int64_t taken;                         /* records of the stream that are taken in, or dropped */
  int64_t taken_before;                  /* those that the last commit had */
  int64_t checkpoint_ms;                 /* when that was; cli_now_ms() */
  int64_t to_skip;                       /* of those that come, in front */
  bool has_begun;                        /* something was read */
  bool is_feed;                          /* the source tells checkpoints */
  bool can_replay;                       /* the input begins anew in each run */
  cli_checkpoint checkpoint;             /* the last one of the source with a state */
  cli_follow_lock lock;                  /* of the state file */
  int64_t n_recovered;                   /* commits made up for */
  int64_t n_dropped;                     /* rows that came again */
} cli_follow;

/* Go on from the state file, if there is one. out: cli_follow_close(), on failure too. */
tarn_status cli_follow_open(cli_session *session, tarn_table *table, cli_follow *out,
                            tarn_error *err);
void cli_follow_close(cli_follow *follow); /* accepts all zero */

/* How many records at most the next batch may have. */
int64_t cli_follow_max(const cli_follow *follow, int64_t max_rows);
/* A batch came, or a line of the source's with it. is_old: its rows are to be dropped. Errors:
 * TARN_E_STATE (rows are missing before it, or it is another stream). */
tarn_status cli_follow_take(cli_follow *follow, const cli_batch *batch, bool *is_old,
                            tarn_error *err);
/* May what was written be committed (F3)? */
bool cli_follow_can_commit(const cli_follow *follow);
/* Commit what was written since the last time, and compactions that have ended. out may tell no
 * snapshots; with must_refresh a compaction was dropped, and another call makes it again. */
tarn_status cli_follow_commit(cli_follow *follow, tarn_writer *writer, tarn_sink_result *out,
                              tarn_error *err);
/* Close a checkpoint of a sink that one writer writes for: its messages (NULL: none), and in the
 * snapshot how many rows of the source stand behind it (negative: nothing of that). */
tarn_status cli_follow_seal(tarn_sink *sink, int64_t id, const tarn_messages *messages,
                            int64_t source_rows, tarn_error *err);
/* Counters, when they are wanted. */
tarn_status cli_follow_metrics(cli_follow *follow, tarn_writer *writer, tarn_error *err);

#endif
