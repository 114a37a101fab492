/* job.h - one call of the commit room: its table, options, and the files that it has written.
 * Internal.
 *
 * Files get names of their own (one UUID a job, Java's counters), so that a job may remove what it
 * has written. What it must not remove is what a published snapshot names, and what one might name
 * whose publication failed with an unknown outcome (C4).
 *
 * Rule: org.apache.paimon.utils.FileStorePathFactory, operation.commit.CommitCleaner; spec: layout,
 * 1; commit, 3.
 */
#ifndef TN_COMMIT_JOB_H
#define TN_COMMIT_JOB_H

#include "commit/commit.h"
#include "model/manifest_write.h"

/* What the files of a job belong to; as bits. */
typedef enum tn_written_kind {
  TN_WRITTEN_DELTA = 1,   /* manifests and lists of this commit's own changes */
  TN_WRITTEN_ATTEMPT = 2, /* what depends on the snapshot before: base list, index manifest */
  TN_WRITTEN_MERGED = 4,  /* manifests made of older ones */
  TN_WRITTEN_STATISTICS = 8,
  TN_WRITTEN_ALL = 15
} tn_written_kind;

typedef struct tn_written {
  struct tn_written *next;
  tn_written_kind kind;
  char path[];
} tn_written;

/* Options of the table. */
typedef struct tn_commit_settings {
  int64_t manifest_bytes, merge_min_count, full_merge_bytes;
  const char *compression;
  int64_t max_retries, min_wait_ms, max_wait_ms, timeout_ms; /* INT64_MAX: none */
  bool discards_duplicates, drops_delete_stats, upgrades_overwrites;
  bool has_safe_snapshot; /* commit.strict-mode.last-safe-snapshot */
  int64_t safe_snapshot;
  int32_t max_level;
} tn_commit_settings;

typedef struct tn_commit_job {
  tn_table *table;
  const tn_commit_options *options;
  tn_commit_settings settings;
  tn_arena arena; /* of the whole call */
  char uuid[TN_UUID_CHARS + 1];
  int32_t n_manifests, n_lists, n_indexes, n_statistics; /* names given so far */
  tn_written *written;                                   /* newest first */
  bool has_unsynced_names;                               /* in manifest/ */
} tn_commit_job;

/* Errors: INVALID (options, no user), UNSUPPORTED (manifest.format), IO. After a failure, too:
 * tn_job_end(). */
TN_CHECKED tarn_status tn_job_begin(tn_commit_job *job, tn_table *table,
                                    const tn_commit_options *options, tarn_error *err);
void tn_job_end(tn_commit_job *job);

/* A new file in a folder of the table, content synced; *name in the job's arena. */
TN_CHECKED tarn_status tn_job_write_manifest(tn_commit_job *job, tn_written_kind kind,
                                             tn_slice bytes, const char **name, tarn_error *err);
TN_CHECKED tarn_status tn_job_write_list(tn_commit_job *job, tn_written_kind kind, tn_slice bytes,
                                         const char **name, tarn_error *err);
TN_CHECKED tarn_status tn_job_write_index(tn_commit_job *job, tn_slice bytes, const char **name,
                                          tarn_error *err);
TN_CHECKED tarn_status tn_job_write_statistics(tn_commit_job *job, tn_slice bytes,
                                               const char **name, tarn_error *err);
/* Sync the names of all that was written. */
TN_CHECKED tarn_status tn_job_sync(tn_commit_job *job, tarn_error *err);
/* Remove files of these kinds; what cannot be removed stays, an orphan. */
void tn_job_discard(tn_commit_job *job, int kinds);
/* They belong to a snapshot now. */
void tn_job_keep(tn_commit_job *job);

/* Wait before another attempt, 0 being the first retry. CANCELLED. Rule: utils.RetryWaiter. */
TN_CHECKED tarn_status tn_job_wait(const tn_commit_job *job, int64_t retry, tarn_error *err);

/* A partition for messages, cut to the room that there is. */
#define TN_PARTITION_TEXT 256
void tn_job_partition_text(const tn_table *table, tn_slice partition, char out[TN_PARTITION_TEXT]);

/* A record in full, in an arena. */
TN_CHECKED tarn_status tn_index_entry_copy(tn_arena *arena, const tn_index_entry *from,
                                           tn_index_entry *to, tarn_error *err);

#endif
