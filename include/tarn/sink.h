/* sink.h - writing a stream into a table, each row exactly once: a sink of two phases.
 *
 * Writers make files, checkpoint by checkpoint; the sink commits them when the checkpoint holds. In
 * between, the engine keeps the sink's state. One process with two threads that write:
 *
 *   tarn_sink_options options = TARN_SINK_OPTIONS_INIT;
 *   options.n_writers = 2;
 *   tarn_sink_create(table, &options, &sink, &err);
 *   if (there is a state)                                              // then first of all
 *     tarn_sink_restore(sink, state, n_bytes, &position, &result, &err);
 *   writer_options.commit_user = tarn_sink_commit_user(sink);          // for each writer
 *   tarn_sink_resume(sink, i, writer[i], NULL, &err);                  // what others left to it
 *   ...
 *   for (checkpoint = tarn_sink_last_checkpoint(sink) + 1;; checkpoint++) {
 *     // each writer thread i:
 *     tarn_writer_write(writer[i], &schema, &array, &err);             // again and again
 *     tarn_writer_prepare(writer[i], checkpoint, &messages, &err);     // files are complete
 *     tarn_sink_add(sink, i, checkpoint, messages, &err);              // any thread
 *     // when all of them have:
 *     tarn_sink_seal(sink, checkpoint, NULL, 0, NULL, &err);
 *     tarn_sink_save(sink, position, n_position, &state, &err);        // where the source is
 *     ...                                                              // keep the state, synced
 *     tarn_sink_complete(sink, checkpoint, &result, &err);             // now it is visible
 *   }
 *
 * Writers elsewhere send their messages as bytes: tarn_messages_encode(), tarn_messages_decode().
 *
 * However it ends, whoever goes on from the last state that was kept loses nothing and commits
 * nothing twice: files of checkpoints that are in the state are committed unless they are already
 * (by user and identifier); the source starts again where the state says; files that are in no
 * state are never visible.
 *
 * Rule: org.apache.paimon.flink.sink.{FlinkSink,CommitterOperator,StoreCommitter}.
 */
#ifndef TARN_SINK_H
#define TARN_SINK_H

#include "tarn/write.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The checkpoint of what is left when the input has ended for good: no other follows it, for this
 * user. A job that may go on later ends with a checkpoint like all others. */
#define TARN_SINK_END INT64_MAX

/* Thread-safe, but for free; complete, restore and abort by one thread at a time (TARN_E_STATE). */
typedef struct tarn_sink tarn_sink;

typedef struct tarn_sink_options {
  size_t struct_size;
  const char *commit_user; /* NULL: made up (commit.user-prefix and a UUID); copied. A state's user
                              takes its place */
  int32_t n_writers;       /* 0: 1. At most 32768 */
  int32_t max_pending;     /* checkpoints that may be sealed and not complete; 0: no bound */
  int32_t commits_empty;   /* 1: checkpoints without files make a snapshot, too, as with the table's
                              commit.force-create-snapshot. (Without it they do when one of the
                              table's automatic tags is due.) */
  int32_t goes_on;         /* 1: tarn_sink_restore() does not fail when writers have to start again;
                              the result tells */
  int32_t skips_maintenance; /* 1: nothing is expired and no tag made after commits */
  tarn_cancel *cancel;       /* NULL: cannot be cancelled; must outlive the sink */
} tarn_sink_options;

#define TARN_SINK_OPTIONS_INIT {sizeof(tarn_sink_options), 0, 0, 0, 0, 0, 0, 0}

/* What one call has committed. */
typedef struct tarn_sink_result {
  size_t struct_size;
  int64_t first_snapshot_id, last_snapshot_id; /* of the snapshots made; 0: none */
  int32_t commits;
  int32_t filtered;     /* checkpoints that had been committed before */
  int32_t attempts;     /* of the last commit */
  int32_t must_refresh; /* 1: all writers must call tarn_writer_refresh() before their next row:
                           what they know of their buckets is old */
} tarn_sink_result;

#define TARN_SINK_RESULT_INIT {sizeof(tarn_sink_result), 0, 0, 0, 0, 0, 0}

/* options may be NULL. out: tarn_sink_free(). Keeps what it needs of the table. Errors:
 * TARN_E_INVALID (a system table, numbers out of bounds). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_sink_create(tarn_table *table,
                                                      const tarn_sink_options *options,
                                                      tarn_sink **out, tarn_error *err);
/* Accepts NULL. What is pending stays as it is: committed by whoever has a state of it. */
TARN_EXPORT void tarn_sink_free(tarn_sink *sink);
/* The user of the commits; valid until tarn_sink_restore() or tarn_sink_free(). */
TARN_EXPORT const char *tarn_sink_commit_user(const tarn_sink *sink);
/* The last checkpoint that was sealed, also before a restore; 0: none. */
TARN_EXPORT int64_t tarn_sink_last_checkpoint(tarn_sink *sink);

/* What a writer (from 0) prepared for a checkpoint; messages stay the caller's. Errors:
 * TARN_E_STATE (the checkpoint is sealed), TARN_E_INVALID (no such writer; messages of an edit). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_sink_add(tarn_sink *sink, int32_t writer,
                                                   int64_t checkpoint,
                                                   const tarn_messages *messages, tarn_error *err);
/* The writer's watermark, in milliseconds. A commit has the least of all writers; none while one of
 * them has given none. 2^63 - 1 (the end of a bounded input) is passed over. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_sink_watermark(tarn_sink *sink, int32_t writer,
                                                         int64_t watermark, tarn_error *err);
/* All writers have given theirs: the checkpoint is pending. Identifiers grow.
 *
 * properties   n of them, of its snapshots; may be NULL
 * committable  (NULL: not wanted) Java's bytes of it, ManifestCommittableSerializer version 5; none
 *              when there is nothing to commit. tarn_string_free()
 * Errors: TARN_E_STATE (not larger than one before), TARN_E_LIMIT (max_pending: complete some, or
 * wait; nothing has changed). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_sink_seal(tarn_sink *sink, int64_t checkpoint,
                                                    const tarn_option *properties, size_t n,
                                                    tarn_string *committable, tarn_error *err);
/* The state: the user, every pending checkpoint, and n_bytes of the caller's own, such as the
 * position of its source. out: tarn_string_free() (data holds NULs). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_sink_save(tarn_sink *sink, const void *bytes,
                                                    size_t n_bytes, tarn_string *out,
                                                    tarn_error *err);
/* The checkpoint, and all before it, are kept for good: commit those that are pending, in their
 * order. One call may stand for many. result may be NULL; it is filled after a failure, too.
 * Errors: those of tarn_committer_commit(); what is not committed stays pending, and the next call
 * makes sure that nothing is committed twice. After TARN_E_CONFLICT only a restart helps. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_sink_complete(tarn_sink *sink, int64_t checkpoint,
                                                        tarn_sink_result *result, tarn_error *err);
/* Go on from a state, before anything was added: its user takes over, and what is not committed is
 * committed. Any bytes at all.
 *
 * caller  (NULL: not wanted) the caller's own bytes; also with TARN_E_STATE. tarn_string_free()
 * result  may be NULL
 * Errors: TARN_E_STATE, with Java's words: something was committed, and the table's buckets have
 * state, so that writers must start again: start the job anew from the same state, or, with
 * options.goes_on, refresh them. TARN_E_INVALID (of another table, or not the latest state: the
 * user has committed more since), TARN_E_UNSUPPORTED (of another version), TARN_E_CORRUPT,
 * TARN_E_NOT_FOUND (files that it names are gone), those of tarn_sink_complete(). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_sink_restore(tarn_sink *sink, const void *bytes,
                                                       size_t n_bytes, tarn_string *caller,
                                                       tarn_sink_result *result, tarn_error *err);
/* A writer (from 0) that was just made, after tarn_sink_restore() or without a state, goes on with
 * compactions that others before it left behind: tables with changelog-producer = lookup and
 * lookup-wait = false, or with full-compaction.delta-commits, owe the changelog of these buckets,
 * which else waits until rows come for them again. What comes of it is in the messages of its
 * checkpoints; so go on with these when no rows come, too. Of n writers each has its own buckets:
 * (abs(hash of the partition) % n + bucket) % n, as Flink's sink deals rows out. A sink of one
 * writer has all. n_buckets: may be NULL. Errors: TARN_E_INVALID (no such writer), those of
 * planning and of tarn_writer_compact(). Cost: the manifests of the latest snapshot. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_sink_resume(tarn_sink *sink, int32_t number,
                                                      tarn_writer *writer, int64_t *n_buckets,
                                                      tarn_error *err);
/* Delete the files of all checkpoints that are not committed. Only when no state that has them will
 * be restored. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_sink_abort(tarn_sink *sink, tarn_error *err);

/* Of the last commit, but for what says otherwise; the names are those of Paimon's metrics. */
typedef struct tarn_sink_stats {
  size_t struct_size;
  int64_t commit_ms, commits_ms, commits; /* the last one; all together */
  int64_t attempts, snapshots;
  int64_t files_added, files_deleted, files_appended, files_compacted;
  int64_t changelog_files_appended, changelog_files_compacted;
  int64_t delta_records, changelog_records, delta_records_compacted, changelog_records_compacted;
  int64_t partitions, buckets;
  int64_t compaction_input_bytes, compaction_output_bytes;
  int64_t snapshot_id;     /* the last one committed; -1: none yet */
  int64_t total_rows;      /* appended by all commits */
  int64_t total_bytes;     /* of their files */
  int64_t pending;         /* checkpoints now */
  int64_t recovered;       /* commits made by tarn_sink_restore() */
  int64_t last_checkpoint; /* 0: none */
} tarn_sink_stats;
#define TARN_SINK_STATS_INIT \
  {sizeof(tarn_sink_stats),  \
   0,                        \
   0,                        \
   0,                        \
   0,                        \
   0,                        \
   0,                        \
   0,                        \
   0,                        \
   0,                        \
   0,                        \
   0,                        \
   0,                        \
   0,                        \
   0,                        \
   0,                        \
   0,                        \
   0,                        \
   0,                        \
   0,                        \
   0,                        \
   0,                        \
   0,                        \
   0,                        \
   0,                        \
   0}

TARN_EXPORT void tarn_sink_get_stats(tarn_sink *sink, tarn_sink_stats *out);

#ifdef __cplusplus
}
#endif
#endif
