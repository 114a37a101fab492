/* sink.h - the committer of a two-phase sink: what writers prepared for a checkpoint is kept until
 * the checkpoint holds, then committed, once.
 *
 *             add (writers)       seal             save          complete
 *   (nothing) ------------> open ------> pending ------> (kept) ----------> committed
 *                                          |  restore: of a saved state       ^
 *                                          +----------------------------------+
 *
 * Invariants
 *   K1  A checkpoint is one commit: user of the sink, identifier = its id. Ids grow; what comes for
 *       an id that is sealed is refused.
 *   K2  Pending checkpoints are committed in the order of their ids, and no later one while an
 *       earlier one has failed.
 *   K3  A saved state holds every pending checkpoint as Java's bytes, and the user; so whatever
 *       happens after it was saved, restore() commits what is not committed, and nothing twice.
 *   K4  After a commit of unknown outcome the same user's identifiers are looked up before it is
 *       tried again.
 *   K5  Writers of buckets that looked at the table before a restored checkpoint was committed know
 *       too little of it: restore() says that they have to start again.
 *   K6  The watermark of a commit is the least of all writers; none while one of them has none.
 *
 * The state's bytes, numbers big-endian:
 *
 *   "TARNSINK" | i32 1 | UTF table | UTF user | i64 last id sealed | i32 n | n * (i32 version of
 *   ManifestCommittableSerializer | i32 length | bytes) | i32 length, bytes of the caller | u32
 *   CRC-32 of all that
 *
 * which holds Flink's framing of streaming_committer_raw_states. Rule: org.apache.paimon.flink.sink
 * .{CommitterOperator,StoreCommitter,RestoreAndFailCommittableStateManager}; spec: commit, 18;
 * wire, 8.
 */
#ifndef TN_SINK_SINK_H
#define TN_SINK_SINK_H

#include "base/cancel.h"
#include "model/commit_message.h"
#include "model/table.h"

/* The identifier of what is committed when the input has ended: it may be sealed more than once. */
#define TN_SINK_END INT64_MAX

typedef struct tn_table_sink_options {
  const char *user; /* copied; restore() puts that of the state in its place */
  int32_t n_writers;
  int32_t max_pending;    /* 0: as many as come */
  bool commits_empty;     /* checkpoints without messages make a snapshot, too (besides
                             commit.force-create-snapshot) */
  bool goes_on;           /* restore() only tells that writers have to start again */
  bool skips_maintenance; /* nothing is expired and no tag made after a commit */
  const tarn_cancel *cancel;
} tn_table_sink_options;

/* What one call has committed. */
typedef struct tn_table_sink_result {
  int64_t first_id, last_id; /* of the snapshots made; 0: none */
  int32_t n_commits;
  int32_t n_filtered; /* checkpoints that had been committed before */
  int32_t n_attempts; /* of the last commit */
  bool must_refresh;  /* writers have to look at their buckets anew: K5, or a compaction that
                         somebody else's commit has made void */
} tn_table_sink_result;

/* Of the last commit, but for the totals. Names: CommitMetrics. */
typedef struct tn_table_sink_stats {
  int64_t duration_ms, durations_ms, n_commits;
  int64_t n_attempts, n_snapshots;
  int64_t files_added, files_deleted, files_appended, files_compacted;
  int64_t changelog_appended, changelog_compacted;
  int64_t delta_rows, changelog_rows, delta_rows_compacted, changelog_rows_compacted;
  int64_t n_partitions, n_buckets;
  int64_t compaction_input_bytes, compaction_output_bytes;
  int64_t snapshot_id;     /* -1: none yet */
  int64_t rows, bytes;     /* appended by all commits */
  int64_t n_pending;       /* checkpoints */
  int64_t n_recovered;     /* committed by restore() */
  int64_t last_checkpoint; /* the last one that was sealed; 0: none */
} tn_table_sink_stats;

typedef struct tn_table_sink
    tn_table_sink; /* any threads; one at a time in complete, restore and abort */

/* table is retained. out: tn_table_sink_free(). */
TN_CHECKED tarn_status tn_table_sink_create(tn_table *table, const tn_table_sink_options *options,
                                            tn_table_sink **out, tarn_error *err);
void tn_table_sink_free(tn_table_sink *sink); /* accepts NULL; what is pending stays as it is */
const char *tn_table_sink_user(const tn_table_sink *sink);

/* Messages of a writer for a checkpoint; copied. Errors: STATE (K1), INVALID (no such writer). */
TN_CHECKED tarn_status tn_table_sink_add(tn_table_sink *sink, int32_t writer, int64_t checkpoint,
                                         const tn_commit_message *messages, int32_t n,
                                         tarn_error *err);
/* A writer's watermark. INT64_MAX, the end of a bounded input, is ignored as by Java. */
TN_CHECKED tarn_status tn_table_sink_watermark(tn_table_sink *sink, int32_t writer,
                                               int64_t watermark, tarn_error *err);
/* All that was added for this checkpoint and those before is pending now. With nothing pending it
 * is still one for a snapshot if an automatic tag is due (maintain/tags.h). bytes (NULL: not
 * wanted): Java's ManifestCommittable of the checkpoint is appended; nothing if it has none.
 * Errors: STATE (K1), LIMIT (too many are pending: complete some first). */
TN_CHECKED tarn_status tn_table_sink_seal(tn_table_sink *sink, int64_t checkpoint,
                                          const tn_property *properties, int32_t n_properties,
                                          tn_buf *bytes, tarn_error *err);
/* Append the state, with bytes of the caller's own. What is not sealed is not in it. */
TN_CHECKED tarn_status tn_table_sink_save(tn_table_sink *sink, tn_slice caller, tn_buf *out,
                                          tarn_error *err);
/* Commit all pending checkpoints up to this one. result may be NULL; it is filled on failure, too.
 * Errors: those of commits. What is not committed stays pending. */
TN_CHECKED tarn_status tn_table_sink_complete(tn_table_sink *sink, int64_t checkpoint,
                                              tn_table_sink_result *result, tarn_error *err);
/* Go on from a state, before anything was added: commits what was not committed. Untrusted.
 *
 * caller   (NULL: not wanted) the caller's bytes are appended
 * Errors: INVALID (of another table; older than what this user has committed since), UNSUPPORTED
 * (of another version), CORRUPT, NOT_FOUND (files that it names are gone), those of commits; STATE
 * (K5, unless options say to go on): the checkpoints are committed, the job has to start again. */
TN_CHECKED tarn_status tn_table_sink_restore(tn_table_sink *sink, tn_slice bytes, tn_buf *caller,
                                             tn_table_sink_result *result, tarn_error *err);
/* Delete the files of all that is open or pending. Never when a state that has them is kept. */
TN_CHECKED tarn_status tn_table_sink_abort(tn_table_sink *sink, tarn_error *err);

int64_t tn_table_sink_pending(tn_table_sink *sink); /* checkpoints */
void tn_table_sink_get_stats(tn_table_sink *sink, tn_table_sink_stats *out);

#endif
