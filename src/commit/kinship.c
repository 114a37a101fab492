/* kinship.c - a snapshot's manifests and files against those of a commit. */
#include "commit/kinship.h"

#include "commit/base.h"

static tarn_status has_manifests(tn_commit_job *job, const char *list, int64_t size_bytes,
                                 const tn_metas *metas, tn_arena *arena, bool *out,
                                 tarn_error *err) {
  tn_metas ours = {NULL, 0, 0};
  *out = false;
  TN_TRY(tn_metas_read_list(job->table, list, size_bytes, arena, &ours, err));
  for (size_t i = 0; i < metas->count && ours.count > 0 && !*out; i++) {
    *out = tn_slice_equal(metas->items[i].file_name, ours.items[0].file_name);
  }
  return TARN_OK;
}

/* A file that comes with this commit, else one that goes; NULL: there is none. */
static const tn_manifest_entry *first_file(const tn_attempt_request *request) {
  const tn_commit_changes *c =
      request->overwrite != NULL ? &request->overwrite->own : request->changes;
  const tn_manifest_entry *found = NULL;
  for (size_t i = 0; c != NULL && i < c->files.count; i++) {
    if (c->files.items[i].kind == TN_FILE_ADD) {
      return &c->files.items[i];
    }
    found = found == NULL ? &c->files.items[i] : found;
  }
  return found;
}

/* Names of files are their own. */
static tarn_status has_file(tn_commit_job *job, const tn_snapshot *s, const tn_manifest_entry *file,
                            tn_arena *arena, bool *out, tarn_error *err) {
  tn_base_request request = {.snapshot = s, .is_before = true};
  tn_base base = {.count = 0};
  tn_map partitions;
  tn_map_entry *slot;
  tarn_status st = TARN_OK;
  *out = false;
  tn_map_init(&partitions, &job->table->env->mem);
  request.only = &partitions;
  TN_TRY_TO(done, tn_map_put(&partitions, file->partition, &slot, NULL, err));
  TN_TRY_TO(done, tn_base_read(job, &request, arena, &base, err));
  for (int64_t i = 0; i < base.count && !*out; i++) {
    const tn_scan_entry *e = base.items[i];
    *out = e->bucket == file->bucket && e->level == file->file.level &&
           tn_slice_equal(tn_slice_of(e->file_name, e->file_name_len), file->file.file_name);
  }
done:
  tn_base_reset(&base);
  tn_map_reset(&partitions);
  return st;
}

tarn_status tn_kinship_tell(tn_commit_job *job, const tn_attempt_request *request, int64_t id,
                            const char *delta_list, int64_t size_bytes, tn_arena *arena,
                            tn_kinship *out, tarn_error *err) {
  const tn_table *table = job->table;
  const tn_manifest_entry *file = first_file(request);
  tn_metas metas = {NULL, 0, 0};
  tn_snapshot s;
  bool is_there;
  *out = TN_NOT_TOLD;
  TN_TRY(tn_snapshot_read(table->env, table->storage, table->branch_path, id, arena, &s, err));
  TN_TRY(tn_metas_read_list(job->table, s.base_manifest_list, s.base_manifest_list_size, arena,
                            &metas, err));
  TN_TRY(has_manifests(job, delta_list, size_bytes, &metas, arena, &is_there, err));
  if (is_there) {
    *out = TN_BUILT_ON_OURS;
  } else if (file != NULL) { /* manifests may have been merged */
    bool is_new = file->kind == TN_FILE_ADD;
    TN_TRY(has_file(job, &s, file, arena, &is_there, err));
    *out = is_there != is_new ? TN_BUILT_ON_ANOTHER : is_new ? TN_BUILT_ON_OURS : TN_NOT_TOLD;
  }
  return TARN_OK;
}
