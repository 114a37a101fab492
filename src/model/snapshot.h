/* snapshot.h - snapshots, tags and long-lived changelogs (one JSON form), consumers; finding them.
 *
 * Invariants
 *   S1  The latest snapshot is never cached. Hints (LATEST, EARLIEST) are only hints: missing,
 *       stale, torn or garbage ones cost a listing, never a wrong answer.
 *   S2  Names in a listing that do not parse are skipped.
 *   S3  Unknown keys are ignored; missing optional keys are unset.
 *
 * Rule: org.apache.paimon.Snapshot, utils.SnapshotManager, HintFileUtils, TagManager.
 */
#ifndef TN_MODEL_SNAPSHOT_H
#define TN_MODEL_SNAPSHOT_H

#include "base/arena.h"
#include "base/json.h"
#include "io/storage.h"

typedef enum tn_commit_kind {
  TN_COMMIT_APPEND,
  TN_COMMIT_COMPACT,
  TN_COMMIT_OVERWRITE,
  TN_COMMIT_ANALYZE
} tn_commit_kind;

typedef struct tn_property {
  const char *key;
  const char *value;
} tn_property;

typedef struct tn_snapshot {
  int32_t version;
  int64_t id;
  int64_t schema_id;
  const char *base_manifest_list; /* texts are NULL when absent */
  const char *delta_manifest_list;
  const char *changelog_manifest_list;
  const char *index_manifest;
  const char *statistics;
  const char *commit_user;
  const char *uuid;
  const char *operation;
  const char *writer_version;
  int64_t base_manifest_list_size, delta_manifest_list_size, changelog_manifest_list_size; /* -1 */
  int64_t commit_identifier;
  tn_commit_kind commit_kind;
  int64_t time_ms;
  int64_t total_record_count, delta_record_count; /* 0 when absent */
  int64_t changelog_record_count;
  bool has_changelog_record_count;
  int64_t watermark;
  bool has_watermark;
  int64_t next_row_id;
  bool has_next_row_id;
  tn_property *properties;
  int32_t n_properties;
  /* Tags only. */
  int64_t tag_create_ms;
  bool has_tag_create; /* local date-time of the writer, taken as UTC */
  int64_t tag_retained_ns;
  bool has_tag_retained;
} tn_snapshot;

/* Texts go to the arena. Also for tags and changelogs. Errors: CORRUPT (not JSON, or a member that
 * must be there is missing or of another type; path and key are told). */
TN_CHECKED tarn_status tn_snapshot_decode(tn_mem *mem, tn_arena *arena, tn_slice json,
                                          const char *path, tn_snapshot *out, tarn_error *err);
const char *tn_commit_kind_name(tn_commit_kind kind);

/* `root` is a table's branch_path everywhere below. */

/* Read snapshot-<id>. Errors: NOT_FOUND, CORRUPT (after re-reading a bad file for a while), IO. */
TN_CHECKED tarn_status tn_snapshot_read(tarn_env *env, tn_storage *storage, const char *root,
                                        int64_t id, tn_arena *arena, tn_snapshot *out,
                                        tarn_error *err);
/* changelog/changelog-<id>. */
TN_CHECKED tarn_status tn_changelog_read(tarn_env *env, tn_storage *storage, const char *root,
                                         int64_t id, tn_arena *arena, tn_snapshot *out,
                                         tarn_error *err);
/* Are two snapshots of one number the same one? After a rollback or fast-forward another may have
 * the number; lists of manifests have names of their own. */
bool tn_snapshot_is_same(const tn_snapshot *a, const tn_snapshot *b);

/* The ids; 0 when there is no snapshot. A LATEST that is ahead of reality is not trusted. */
TN_CHECKED tarn_status tn_snapshot_latest_id(tarn_env *env, tn_storage *storage, const char *root,
                                             int64_t *id, tarn_error *err);
/* What LATEST and EARLIEST say, whether it is so or not; 0: nothing. */
TN_CHECKED tarn_status tn_snapshot_latest_hint(tarn_env *env, tn_storage *storage, const char *root,
                                               int64_t *id, tarn_error *err);
TN_CHECKED tarn_status tn_snapshot_earliest_hint(tarn_env *env, tn_storage *storage,
                                                 const char *root, int64_t *id, tarn_error *err);
TN_CHECKED tarn_status tn_snapshot_earliest_id(tarn_env *env, tn_storage *storage, const char *root,
                                               int64_t *id, tarn_error *err);
TN_CHECKED tarn_status tn_changelog_latest_id(tarn_env *env, tn_storage *storage, const char *root,
                                              int64_t *id, tarn_error *err);
TN_CHECKED tarn_status tn_changelog_earliest_id(tarn_env *env, tn_storage *storage,
                                                const char *root, int64_t *id, tarn_error *err);
/* All ids of a folder ("snapshot", "changelog"), ascending. An absent folder has none. */
TN_CHECKED tarn_status tn_snapshot_ids(tarn_env *env, tn_storage *storage, const char *root,
                                       const char *folder, tn_arena *arena, int64_t **ids,
                                       int32_t *n_ids, tarn_error *err);

/* Tags, sorted by name. */
TN_CHECKED tarn_status tn_tag_names(tarn_env *env, tn_storage *storage, const char *root,
                                    tn_arena *arena, const char ***names, int32_t *n_names,
                                    tarn_error *err);
/* NOT_FOUND "tag 'x' does not exist; ..." */
TN_CHECKED tarn_status tn_tag_read(tarn_env *env, tn_storage *storage, const char *root,
                                   const char *name, tn_arena *arena, tn_snapshot *out,
                                   tarn_error *err);
/* Branches (never "main"), sorted; table_path is the table's root. created_ms: time of the folder.
 */
typedef struct tn_branch {
  const char *name;
  int64_t created_ms;
} tn_branch;
/* Can there be a branch of this name? A '/' in it would lead to other folders. */
static inline bool tn_branch_can_be(const char *name) {
  return strchr(name, '/') == NULL;
}
TN_CHECKED tarn_status tn_branch_list(tarn_env *env, tn_storage *storage, const char *table_path,
                                      tn_arena *arena, tn_branch **out, int32_t *n_out,
                                      tarn_error *err);
/* Consumers, sorted by id. */
typedef struct tn_consumer {
  const char *id;
  int64_t next_snapshot;
} tn_consumer;
TN_CHECKED tarn_status tn_consumer_list(tarn_env *env, tn_storage *storage, const char *root,
                                        tn_arena *arena, tn_consumer **out, int32_t *n_out,
                                        tarn_error *err);

#endif
