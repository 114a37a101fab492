/* kept.h - what must stay because a snapshot, tag or changelog names it. Internal.
 *
 * Data files are told apart by partition, bucket and name; everything in manifest/, index/ and
 * statistics/ by its name. A set that could not be made whole protects nothing: whoever deletes
 * fails with it, before the first file goes.
 *
 * Rule: org.apache.paimon.operation.FileDeletionBase; spec: commit, 8 to 10.
 */
#ifndef TN_MAINTAIN_KEPT_H
#define TN_MAINTAIN_KEPT_H

#include "base/map.h"
#include "model/manifest.h"
#include "model/snapshot.h"
#include "model/table.h"

/* A manifest as its list tells. */
typedef struct tn_listed {
  const char *name;
  int64_t size_bytes, n_records;
} tn_listed;

typedef struct tn_list {
  tn_listed *items;
  size_t count, capacity;
  bool is_gone; /* there is no such list */
} tn_list;

/* The manifests of a list (NULL: none), behind those that are there; names in the arena. A list
 * that is gone is no error. */
TN_CHECKED tarn_status tn_list_read(tn_table *table, const char *name, int64_t size_bytes,
                                    tn_arena *arena, tn_list *out, tarn_error *err);
TN_CHECKED tarn_status tn_listed_read(tn_table *table, const tn_listed *manifest,
                                      tn_manifest_entry_sink sink, void *ctx, tarn_error *err);

/* What tells the files of a table apart: bucket, length of the partition, partition, name. out is
 * emptied first. */
TN_CHECKED tarn_status tn_bucket_key(tn_buf *out, tn_slice partition, int32_t bucket, tn_slice name,
                                     tarn_error *err);

typedef struct tn_kept {
  tn_table *table;
  tn_arena arena;
  tn_buf key;
  tn_map files; /* value: bit 0: it is kept; above: ADD less DELETE entries of the state at hand */
  tn_map metas;
} tn_kept;

/* snapshot-<id> under a root (branch_path), if it is there. */
TN_CHECKED tarn_status tn_snapshot_find(tn_table *table, const char *root, int64_t id,
                                        tn_arena *arena, tn_snapshot *out, bool *found,
                                        tarn_error *err);
/* The same for changelog-<id>. */
TN_CHECKED tarn_status tn_changelog_find(tn_table *table, const char *root, int64_t id,
                                         tn_arena *arena, tn_snapshot *out, bool *found,
                                         tarn_error *err);
/* Is the snapshot that somebody has read there still, and has no expiry of it begun? */
TN_CHECKED tarn_status tn_snapshot_is_whole(tn_table *table, const tn_snapshot *snapshot,
                                            tn_arena *arena, bool *out, tarn_error *err);

void tn_kept_init(tn_kept *kept, tn_table *table);
void tn_kept_reset(tn_kept *kept);

/* The live data files of a snapshot. Errors: NOT_FOUND (a manifest is gone), those of reading. */
TN_CHECKED tarn_status tn_kept_files(tn_kept *kept, const tn_snapshot *snapshot, tarn_error *err);
/* Its lists and manifests (not those of its changelog), index manifest, index files, statistics. */
TN_CHECKED tarn_status tn_kept_metas(tn_kept *kept, const tn_snapshot *snapshot, tarn_error *err);
/* The same for what is still there of it. */
TN_CHECKED tarn_status tn_kept_metas_left(tn_kept *kept, const tn_snapshot *snapshot,
                                          tarn_error *err);
/* What the long-lived changelogs under a root (branch_path) need: their changelog lists, or where
 * there is none, the files that their deltas added. */
TN_CHECKED tarn_status tn_kept_changelogs(tn_kept *kept, const char *root, tarn_error *err);
/* What every branch but `root` needs, main being one of them: snapshots, tags, changelogs. */
TN_CHECKED tarn_status tn_kept_others(tn_kept *kept, const char *root, tarn_error *err);

TN_CHECKED tarn_status tn_kept_has_file(tn_kept *kept, tn_slice partition, int32_t bucket,
                                        tn_slice name, bool *out, tarn_error *err);
static inline bool tn_kept_has_meta(const tn_kept *kept, tn_slice name) {
  return tn_map_find(&kept->metas, name) != NULL;
}

#endif
