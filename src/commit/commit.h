/* commit.h - making files visible: the optimistic commit.
 *
 * Invariants
 *   C1  A snapshot becomes visible by one exclusive publication of snapshot-<id>; before it, every
 *       file that it names is complete, and synced with its name.
 *   C2  Who loses the race for an id starts again from the new latest snapshot, and looks first
 *       whether an unknown outcome of the attempt before was success (same user, identifier, kind).
 *   C3  A conflict (spec: commit, 5) is never retried; nothing of it is visible.
 *   C4  After a failure before publication the metadata files of the attempt are removed; data
 *       files stay the caller's.
 *   C5  A compacting part is a snapshot of its own behind the appending one; it conflicts or not
 *       by itself, and may be dropped then. If it fails when the rows are visible already, its own
 *       files are removed: nobody can commit them any more.
 *   C6  Index manifests, statistics, nextRowId and the watermark are carried on by every kind.
 *   C7  Names of snapshots are free again when they expire: one is published only behind the
 *       latest, and taken away again if others had come, and expired, in between.
 *   C8  A snapshot that another program has replaced is committed again, unless somebody has gone
 *       on from it (docs/decisions/0013).
 *
 * Rule: org.apache.paimon.operation.FileStoreCommitImpl; spec: commit, 1-7.
 */
#ifndef TN_COMMIT_COMMIT_H
#define TN_COMMIT_COMMIT_H

#include "base/cancel.h"
#include "model/commit_message.h"
#include "plan/plan.h"

typedef struct tn_commit_options {
  const char *user;
  bool commits_empty;  /* an empty append makes a snapshot, too */
  bool checks_appends; /* conflicts of plain appends are looked for, too */
  /* A compacting part that conflicts is no failure: its files are removed, and the result tells.
   * Whoever compacted must look at the table anew. */
  bool drops_compaction;
  /* Data evolution: rows that are updated must not have been since this snapshot. */
  bool checks_row_ids;
  int64_t row_ids_since;
  /* Deletion vectors of a bucket come as a whole file that replaces the one of the index manifest
   * `vectors_before` (NULL: none): it must be that of the latest snapshot still. Java does not
   * look, and loses what others have marked meanwhile. */
  bool checks_vectors;
  const char *vectors_before;
  /* Has a partition (its bytes) expired by the table's rules? Files to delete that are gone are
   * told as late data then. NULL: none has. */
  bool (*is_expired)(void *ctx, tn_slice partition);
  void *is_expired_ctx;
  const tarn_cancel *cancel; /* NULL: none */
} tn_commit_options;

typedef struct tn_commit_result {
  int64_t first_id, last_id; /* of the snapshots made; 0: none */
  int32_t n_attempts;
  bool has_dropped; /* the compacting part */
  /* Of the last attempt it cannot be told whether it was published; or it was, was replaced, and
   * somebody may have gone on from it. Its files stay. */
  bool is_unsure;
} tn_commit_result;

/* Errors of all: CONFLICT (Java's words: which files, which users; retries used up), TIMEOUT
 * (commit.timeout), IO, CORRUPT, CANCELLED, LIMIT. */
TN_CHECKED tarn_status tn_commit_append(tn_table *table, const tn_commit_options *options,
                                        const tn_committable *committable, tn_commit_result *result,
                                        tarn_error *err);
/* Static: every live file of the partitions that `filter` (on partition columns; NULL: all) leaves
 * is replaced by the messages' new files. Dynamic: those of the partitions that have new files.
 * INVALID: new files elsewhere than `filter` says (of dynamic ones too, where Java would take away
 * what lies there), or with columns of rows that are there. UNSUPPORTED: new rows in single
 * partitions of a table whose primary key lacks their columns. */
TN_CHECKED tarn_status tn_commit_overwrite(tn_table *table, const tn_commit_options *options,
                                           const tn_committable *committable, const tn_pred *filter,
                                           bool is_dynamic, tn_commit_result *result,
                                           tarn_error *err);
/* The largest identifier that `user` has committed; false: none among the snapshots that exist. */
TN_CHECKED tarn_status tn_commit_last_identifier(tn_table *table, const char *user, bool *has_one,
                                                 int64_t *identifier, tarn_error *err);
/* Do all new files of the messages exist? NOT_FOUND in Java's words otherwise. */
TN_CHECKED tarn_status tn_commit_check_files(tn_table *table, const tn_committable *committable,
                                             tarn_error *err);
/* Delete the files of messages that will not be committed. */
TN_CHECKED tarn_status tn_commit_abort(tn_table *table, const tn_committable *committable,
                                       tarn_error *err);
TN_CHECKED tarn_status tn_commit_compact_manifests(tn_table *table,
                                                   const tn_commit_options *options,
                                                   tn_commit_result *result, tarn_error *err);
/* statistics: JSON text of a statistics file, written and named by an ANALYZE snapshot. */
TN_CHECKED tarn_status tn_commit_analyze(tn_table *table, const tn_commit_options *options,
                                         tn_slice statistics_json, int64_t snapshot_id,
                                         tn_commit_result *result, tarn_error *err);

#endif
