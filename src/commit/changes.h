/* changes.h - what a commit adds and takes away: entries of files and of indexes. Internal.
 *
 * Everything is borrowed from messages, or from the scan of what is overwritten.
 *
 * Rule: org.apache.paimon.operation.commit.{ManifestEntryChanges,CommitChanges}; spec: commit, 1.
 */
#ifndef TN_COMMIT_CHANGES_H
#define TN_COMMIT_CHANGES_H

#include "commit/job.h"
#include "plan/entries.h"

typedef struct tn_entry_list {
  tn_manifest_entry *items;
  size_t count, capacity;
} tn_entry_list;

typedef struct tn_index_list {
  tn_index_entry *items; /* kind tells whether they come or go */
  size_t count, capacity;
} tn_index_list;

/* The delta of a snapshot: `taken` files that are overwritten go first, then come `files`. */
typedef struct tn_commit_changes {
  const tn_scan_entry *const *taken;
  int64_t n_taken;
  bool drops_stats; /* value statistics of the taken ones */
  tn_entry_list files, changelog;
  tn_index_list indexes;
  tn_index_list level_marks; /* of compactions; they change nothing (model/level_mark.h) */
} tn_commit_changes;

static inline int64_t tn_changes_count(const tn_commit_changes *c) {
  return c->n_taken + (int64_t)c->files.count;
}
/* Entry i of the delta. */
void tn_changes_get(const tn_commit_changes *c, int64_t i, tn_manifest_entry *out);

/* Both parts of the messages; arrays in the arena. */
TN_CHECKED tarn_status tn_changes_collect(const tn_table *table, const tn_committable *committable,
                                          tn_arena *arena, tn_commit_changes *append,
                                          tn_commit_changes *compact, tarn_error *err);
TN_CHECKED tarn_status tn_entry_list_add(tn_entry_list *list, tn_arena *arena,
                                         const tn_manifest_entry *entry, tarn_error *err);
TN_CHECKED tarn_status tn_index_list_add(tn_index_list *list, tn_arena *arena,
                                         const tn_index_entry *entry, tarn_error *err);

/* The partitions that change: of files, and of deletion vectors. map: of their bytes; initialised
 * by the caller. */
TN_CHECKED tarn_status tn_changes_partitions(const tn_commit_changes *c, tn_map *map,
                                             tarn_error *err);

/* The bytes of an entry's identity, appended: two entries name one file if these are equal. Rule:
 * FileEntry.Identifier; spec: manifest, 6. */
TN_CHECKED tarn_status tn_entry_identity(tn_slice partition, int32_t bucket,
                                         const tn_data_file *file, tn_buf *out, tarn_error *err);

static inline bool tn_index_is_vectors(const tn_index_entry *entry) {
  return tn_slice_is(entry->index_type, "DELETION_VECTORS");
}

#endif
