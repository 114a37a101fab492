/* manifests.h - the data manifests of a snapshot: lists, new manifests, and the merge of old ones.
 * Internal.
 *
 * Rule: org.apache.paimon.manifest.{ManifestFile,ManifestList}, operation.ManifestFileMerger; spec:
 * manifest, 6 "Writing"; commit, 7.
 */
#ifndef TN_COMMIT_MANIFESTS_H
#define TN_COMMIT_MANIFESTS_H

#include "commit/changes.h"

/* Records of a manifest list, in full. */
typedef struct tn_metas {
  tn_manifest_file *items;
  size_t count, capacity;
} tn_metas;

/* All data manifests of a snapshot: base, then delta. */
TN_CHECKED tarn_status tn_metas_read(tn_table *table, const tn_snapshot *snapshot, tn_arena *arena,
                                     tn_metas *out, tarn_error *err);
/* Those of one list. */
TN_CHECKED tarn_status tn_metas_read_list(tn_table *table, const char *name, int64_t size_bytes,
                                          tn_arena *arena, tn_metas *out, tarn_error *err);
TN_CHECKED tarn_status tn_metas_add(tn_metas *metas, tn_arena *arena, const tn_manifest_file *meta,
                                    tarn_error *err);
/* A list as a file; *name in the arena of the job. */
TN_CHECKED tarn_status tn_metas_write(tn_commit_job *job, tn_written_kind kind,
                                      const tn_metas *metas, const char **name, int64_t *size_bytes,
                                      tarn_error *err);

/* Entries into manifests that roll at manifest.target-file-size, with what their lists say of them.
 */
typedef struct tn_roller {
  tn_commit_job *job;
  tn_written_kind kind;
  tn_arena *arena; /* of what is in out */
  tn_metas *out;
  tn_manifest_writer writer;
  bool is_open;
  int64_t n_entries; /* over all manifests */
  tn_manifest_file meta;
  bool knows_row_ids;
  /* Partition statistics of the open manifest, by partition column. */
  tn_arena values; /* of minima and maxima, and of the partition met last */
  tn_datum *min, *max, *last;
  int64_t *n_null;
  tn_slice last_partition;
} tn_roller;

TN_CHECKED tarn_status tn_roller_begin(tn_roller *roller, tn_commit_job *job, tn_written_kind kind,
                                       tn_arena *arena, tn_metas *out, tarn_error *err);
TN_CHECKED tarn_status tn_roller_add(tn_roller *roller, const tn_manifest_entry *entry,
                                     tarn_error *err);
/* Close the open manifest; none comes of no entries. */
TN_CHECKED tarn_status tn_roller_finish(tn_roller *roller, tarn_error *err);
void tn_roller_end(tn_roller *roller); /* also after a failure, and all-zero */

/* When manifests are merged. */
typedef struct tn_merge_rule {
  int64_t target_bytes, min_count, full_bytes;
} tn_merge_rule;

/* *out: manifests that hold the same state as `in`; those that are no longer in `in` are new. */
TN_CHECKED tarn_status tn_manifests_merge(tn_commit_job *job, const tn_metas *in,
                                          const tn_merge_rule *rule, tn_arena *arena, tn_metas *out,
                                          tarn_error *err);

#endif
