/* write.h - writing rows, and committing what was written.
 *
 *   tarn_writer *writer; tarn_messages *messages; tarn_committer *committer;
 *   tarn_writer_create(table, NULL, &writer, &err);
 *   tarn_writer_write(writer, &schema, &array, &err);              // as often as there are rows
 *   tarn_writer_prepare(writer, id, &messages, &err);              // files are complete and synced
 *   tarn_committer_create(table, NULL, &committer, &err);
 *   tarn_committer_commit(committer, id, messages, NULL, &result, &err);
 *
 * Writers and the committer may live in different processes: messages travel as the bytes that
 * Java's CommitMessage has. Nothing that was written is visible before its commit.
 */
#ifndef TARN_WRITE_H
#define TARN_WRITE_H

#include "tarn/predicate.h"
#include "tarn/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The identifier of commits of batch jobs: 2^63 - 1. Rule: BatchWriteBuilder.COMMIT_IDENTIFIER. */
#define TARN_BATCH_COMMIT INT64_MAX

/* ------------------------------------------------------------------ writer */

typedef struct tarn_writer tarn_writer; /* one thread at a time */
typedef struct tarn_messages tarn_messages;

typedef struct tarn_writer_options {
  size_t struct_size;
  const char *commit_user;    /* NULL: made up (commit.user-prefix and a UUID); copied */
  int32_t ignores_previous;   /* 1: for an overwrite: buckets start anew (sequence 0, new bucket
                                 count) */
  const char *const *columns; /* row-tracking tables: write only these columns, of rows that exist;
                                 NULL: whole rows */
  size_t n_columns;
  int64_t first_row_id;      /* with columns: of the first row written */
  const char *row_kind_name; /* of the optional int8 column of row kinds; NULL: "_row_kind" */
  const char *spill_folder;  /* where buffers spill (a temporary folder of its own is made in it);
                                NULL: full buffers become files of level 0 */
  tarn_cancel *cancel;       /* NULL: cannot be cancelled; must outlive the writer */
  /* 1: tarn_writer_prepare() waits for compactions. 0: it does where the table says so (lookup-wait
   * of tables that need lookup, commit.force-compact), and with TARN_BATCH_COMMIT. */
  int32_t waits_for_compaction;
  /* 1: tables with 'changelog-producer' = 'full-compaction' are compacted fully by the commits that
   * 'full-compaction.delta-commits' names, if it is set; 0: and else by each commit. */
  int32_t skips_full_compaction;
} tarn_writer_options;

#define TARN_WRITER_OPTIONS_INIT {sizeof(tarn_writer_options), 0, 0, 0, 0, -1, 0, 0, 0, 0, 0}

/* options may be NULL. out: tarn_writer_free(). Keeps what it needs of the table.
 * Errors: TARN_E_UNSUPPORTED (a table or option that cannot be written yet, by name),
 * TARN_E_INVALID (options that contradict each other, a default value that does not parse). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_writer_create(tarn_table *table,
                                                        const tarn_writer_options *options,
                                                        tarn_writer **out, tarn_error *err);
/* Free, and remove the files that were not handed out by tarn_writer_prepare(). Accepts NULL. */
TARN_EXPORT void tarn_writer_free(tarn_writer *writer);
/* The user whose commits these are; lives as long as the writer. */
TARN_EXPORT const char *tarn_writer_commit_user(const tarn_writer *writer);

/* Write the rows of a struct array. Columns are matched by name; those that are missing are null
 * (or have the column's default); unknown ones are refused. Types must be those of
 * tarn_table_schema() or convert without loss (narrower integers, large and view strings and
 * lists, dictionaries, other units of time). A TIMESTAMP(7-9) may come as DECIMAL(p, 9) of seconds
 * since 1970, too, as scans give it (timestamp_ns_as_us = 2): 64 bits of nanoseconds end in 1677
 * and 2262.
 *
 * schema, array  borrowed for the call; the array is not released
 * Errors: TARN_E_INVALID naming row and column (null in a NOT NULL column, text that is not UTF-8,
 * a decimal or a time that does not fit, a row kind that the table refuses), TARN_E_NOT_FOUND
 * (column, the nearest is named), TARN_E_IO (no space left: nothing of the writer becomes visible),
 * TARN_E_LIMIT, TARN_E_NOMEM, TARN_E_STATE (somebody has made another kind of table of it, and
 * written rows: open the table and a writer again; added and widened columns are no such change).
 * After a failure that says so the writer can only be freed. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_writer_write(tarn_writer *writer,
                                                       const struct ArrowSchema *schema,
                                                       const struct ArrowArray *array,
                                                       tarn_error *err);
/* Finish all files: flushed, complete, synced. The rows written since the call before are in the
 * messages. identifier: of the commit they are meant for; must grow from call to call (batch jobs:
 * TARN_BATCH_COMMIT, once); one that gave no messages may come again. out: tarn_messages_free(). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_writer_prepare(tarn_writer *writer, int64_t identifier,
                                                         tarn_messages **out, tarn_error *err);
/* Flush, and compact what rows came for since the last tarn_writer_prepare(): all files of a bucket
 * into one level when is_full is not 0, else what is due. What was compacted is in the messages of
 * the next tarn_writer_prepare(). Without effect where writers do not compact: 'write-only' =
 * 'true', append tables without buckets, postponed buckets. Writers compact by themselves, too, as
 * the table's options say, while rows come. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_writer_compact(tarn_writer *writer, int32_t is_full,
                                                         tarn_error *err);
/* Load the state of all buckets again from the latest snapshot, after a CONFLICT or a recovery, and
 * after a commit that dropped a compaction (tarn_commit_result): the next tarn_writer_prepare()
 * compacts once more what was dropped, with new rows or without, where readers would miss it
 * (rows of level 0 that are not seen, changelog); commit its messages, too. Those of a writer that
 * overwrites go to tarn_committer_commit() then: the rows are there, nothing is to be overwritten.
 * What is prepared and not committed must have been aborted; what was written since is dropped. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_writer_refresh(tarn_writer *writer, tarn_error *err);

typedef struct tarn_writer_stats {
  size_t struct_size;
  int64_t rows, files, bytes; /* rows taken in; files and bytes written */
  int64_t spilled_bytes;
  /* Paimon's metrics writerBuffer: numWriters (buckets that are open), bufferPreemptCount (times
   * that full memory was written out before its time), usedWriteBufferSizeByte,
   * totalWriteBufferSizeByte. */
  int64_t writers, preempted, used_bytes, total_bytes;
  /* Paimon's metrics compaction, of this writer: compactionTotalCount, compactionCompletedCount,
   * compactionQueuedCount (begun or waiting), compactionThreadBusy (percent: 100 for each thread
   * that compacts now), avgCompactionTime in milliseconds; bytes that compactions read and wrote;
   * files of level 0 in the buckets that are compacted. */
  int64_t compactions, compactions_completed, compactions_queued;
  int64_t compaction_threads_busy, compaction_avg_ms;
  int64_t compaction_avg_input_bytes, compaction_max_input_bytes;
  int64_t compaction_avg_output_bytes, compaction_max_output_bytes;
  int64_t level_0_avg_files, level_0_max_files;
} tarn_writer_stats;
TARN_EXPORT void tarn_writer_get_stats(const tarn_writer *writer, tarn_writer_stats *out);

/* ------------------------------------------------------------------ messages */

TARN_EXPORT void tarn_messages_free(tarn_messages *messages); /* accepts NULL */
TARN_EXPORT size_t tarn_messages_count(const tarn_messages *messages);
/* The bytes of Java's CommitMessageSerializer, version 11, as a list: the version and the number of
 * messages, each an int of four bytes, then the messages. That is how they lie in Java's
 * committables. out: tarn_string_free(). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_messages_encode(const tarn_messages *messages,
                                                          tarn_string *out, tarn_error *err);
/* Any bytes at all; versions 3 to 13. Errors: TARN_E_CORRUPT, TARN_E_UNSUPPORTED. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_messages_decode(tarn_table *table, const void *bytes,
                                                          size_t n_bytes, tarn_messages **out,
                                                          tarn_error *err);
/* Append those of `from`, which is freed. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_messages_join(tarn_messages *into, tarn_messages *from,
                                                        tarn_error *err);

/* ------------------------------------------------------------------ edit: rows out, rows changed
 *
 *   tarn_edit_create(table, &options, &edit, &err);                      // options.predicate
 *   while (tarn_edit_next(edit, &rows, &n, &err) == TARN_OK && n > 0)    // rows that match
 *     tarn_edit_replace(edit, &schema, &changed, &err);                  // updates only
 *   tarn_edit_prepare(edit, TARN_BATCH_COMMIT, &messages, &err);         // then commit these
 *
 * Of tables without primary key, whose rows cannot be replaced by writing others: files that hold
 * such rows are rewritten, or with 'deletion-vectors.enabled' their places are marked. Rows of
 * tables with a primary key are deleted and updated by writing them with another row kind.
 */

typedef struct tarn_edit tarn_edit; /* one thread at a time */

typedef struct tarn_edit_options {
  size_t struct_size;
  tarn_predicate *predicate;  /* which rows; NULL: all. Kept */
  int32_t is_update;          /* 1: they get new values; 0: they are deleted */
  const char *commit_user;    /* as of writers; copied */
  const char *spill_folder;   /* as of writers; copied */
  tarn_cancel *cancel;        /* NULL: cannot be cancelled; must outlive the edit */
  int32_t timestamp_ns_as_us; /* of the rows of tarn_edit_next(): as of scans */
} tarn_edit_options;

#define TARN_EDIT_OPTIONS_INIT {sizeof(tarn_edit_options), 0, 0, 0, 0, 0, 0}

/* Of the table's latest snapshot, or the one that its options name. out: tarn_edit_free().
 * Errors: TARN_E_INVALID (a primary key), TARN_E_UNSUPPORTED (row tracking, data evolution,
 * fallback branches, what cannot be written: by name), TARN_E_STATE (the schema has changed since
 * the table was opened, and rows were written with it: open it again), those of plans. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_edit_create(tarn_table *table,
                                                      const tarn_edit_options *options,
                                                      tarn_edit **out, tarn_error *err);
/* Free, and remove the files that were not handed out by tarn_edit_prepare(). Accepts NULL. */
TARN_EXPORT void tarn_edit_free(tarn_edit *edit);
/* The user of the commits, for the committer. */
TARN_EXPORT const char *tarn_edit_commit_user(const tarn_edit *edit);
/* The next rows that match; *n_rows is 0 at the end. Deletes: they are out, and rows must be NULL.
 * Updates: rows gets all columns (tarn_table_schema(), but for
 * timestamp_ns_as_us); the caller releases it, and gives what
 * stands in their places before the next call. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_edit_next(tarn_edit *edit, struct ArrowArray *rows,
                                                    int64_t *n_rows, tarn_error *err);
/* As many rows as were given, in their order; columns as of tarn_writer_write(), without kinds.
 * What is not in the schema becomes null. Stays the caller's. After TARN_E_INVALID others may be
 * given. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_edit_replace(tarn_edit *edit,
                                                       const struct ArrowSchema *schema,
                                                       const struct ArrowArray *rows,
                                                       tarn_error *err);
/* At the end, once: what was changed, to be committed in one commit; no messages when no row
 * matched. A commit of it is TARN_E_CONFLICT when somebody else changed the same files: the edit
 * has to be made anew. out: tarn_messages_free(). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_edit_prepare(tarn_edit *edit, int64_t identifier,
                                                       tarn_messages **out, tarn_error *err);

/* ------------------------------------------------------------------ committer */

typedef struct tarn_committer tarn_committer; /* one thread at a time */

typedef struct tarn_committer_options {
  size_t struct_size;
  const char *commit_user;   /* NULL: made up; copied */
  int32_t commits_empty;     /* 1: messages without files make a snapshot, too (streams) */
  int32_t checks_appends;    /* 1: look for conflicts of plain appends, too (recovery) */
  int32_t skips_maintenance; /* 1: nothing is expired and no tag made after the commit */
  tarn_cancel *cancel;
} tarn_committer_options;

#define TARN_COMMITTER_OPTIONS_INIT {sizeof(tarn_committer_options), 0, 0, 0, 0, 0}

typedef struct tarn_commit_request {
  size_t struct_size;
  int32_t has_watermark;
  int64_t watermark;
  const tarn_option *properties; /* of the snapshot; borrowed */
  size_t n_properties;
} tarn_commit_request;

typedef struct tarn_commit_result {
  size_t struct_size;
  int64_t first_snapshot_id, last_snapshot_id; /* of the snapshots made; 0: none */
  int32_t attempts;
  int32_t compaction_dropped; /* 1: the messages' compactions conflicted with what others did, and
                                 were left out; the rows are there. Writers need a
                                 tarn_writer_refresh() */
} tarn_commit_result;

TARN_EXPORT TARN_CHECKED tarn_status tarn_committer_create(tarn_table *table,
                                                           const tarn_committer_options *options,
                                                           tarn_committer **out, tarn_error *err);
TARN_EXPORT void tarn_committer_free(tarn_committer *committer); /* accepts NULL */

/* Make the files of messages (which stay the caller's) visible: an APPEND snapshot, and a COMPACT
 * one when they compact. Atomic: all or nothing of each. A lost race for the snapshot's id is tried
 * again (commit.max-retries, commit.timeout). request, result may be NULL.
 * Errors: TARN_E_CONFLICT (somebody changed what this commit rests on: tarn_writer_refresh(), write
 * again), TARN_E_TIMEOUT (retries are used up), TARN_E_IO. After TARN_E_IO the outcome may be
 * unknown; committing again through tarn_committer_recover() settles it. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_committer_commit(
    tarn_committer *committer, int64_t identifier, const tarn_messages *messages,
    const tarn_commit_request *request, tarn_commit_result *result, tarn_error *err);
/* The same unless this user has committed this identifier or a larger one; then nothing is done
 * and result tells no snapshots: abort the messages, and refresh their writer, before writing on.
 * Looks first whether all files still exist. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_committer_recover(
    tarn_committer *committer, int64_t identifier, const tarn_messages *messages,
    const tarn_commit_request *request, tarn_commit_result *result, tarn_error *err);
/* Replace the content of partitions by the files of messages: an OVERWRITE snapshot. Of a
 * partitioned table with dynamic-partition-overwrite (the default) these are the partitions that
 * messages has files of (none of them: nothing is done); else all that match `partition`.
 * partition  values of some partition columns as texts ("dt" = "2024-01-01"); n == 0: all.
 *            TARN_E_INVALID if messages has files of others */
TARN_EXPORT TARN_CHECKED tarn_status tarn_committer_overwrite(
    tarn_committer *committer, int64_t identifier, const tarn_option *partition, size_t n,
    const tarn_messages *messages, const tarn_commit_request *request, tarn_commit_result *result,
    tarn_error *err);
/* Delete the files of messages that will not be committed. A writer that made them and writes on
 * must be refreshed: it compacts what it wrote. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_committer_abort(tarn_committer *committer,
                                                          const tarn_messages *messages,
                                                          tarn_error *err);

/* Further commits, each of identifier TARN_BATCH_COMMIT. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_committer_truncate(tarn_committer *committer,
                                                             tarn_commit_result *result,
                                                             tarn_error *err);
/* specs[i] has n_keys pairs; partitions that match any of them lose their files. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_committer_drop_partitions(
    tarn_committer *committer, const tarn_option *const *specs, const size_t *n_keys,
    size_t n_specs, tarn_commit_result *result, tarn_error *err);
TARN_EXPORT TARN_CHECKED tarn_status tarn_committer_compact_manifests(tarn_committer *committer,
                                                                      tarn_commit_result *result,
                                                                      tarn_error *err);
/* Row count and size, and with columns != 0 statistics of every column, as an ANALYZE snapshot. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_committer_analyze(tarn_committer *committer,
                                                            int32_t columns,
                                                            tarn_commit_result *result,
                                                            tarn_error *err);

#ifdef __cplusplus
}
#endif
#endif
