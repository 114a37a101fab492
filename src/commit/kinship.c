/* kinship.c - a snapshot's manifests and files against those of a commit. */
#include "commit/kinship.h"

#include "commit/base.h"
#include "model/listing.h"

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
  tarn_status st;
  bool is_there;
  *out = TN_NOT_TOLD;
  TN_TRY(tn_snapshot_read(table->env, table->storage, table->branch_path, id, arena, &s, err));
  TN_TRY(tn_metas_read_list(job->table, s.base_manifest_list, s.base_manifest_list_size, arena,
                            &metas, err));
  st = has_manifests(job, delta_list, size_bytes, &metas, arena, &is_there, err);
  if (st == TARN_E_NOT_FOUND) { /* an expiry has seen ours */
    tn_error_reset(err);
    st = TARN_OK;
  }
  TN_TRY(st);
  if (is_there) {
    *out = TN_BUILT_ON_OURS;
  } else if (file != NULL) { /* manifests may have been merged */
    bool is_new = file->kind == TN_FILE_ADD;
    TN_TRY(has_file(job, &s, file, arena, &is_there, err));
    *out = is_there != is_new ? TN_BUILT_ON_ANOTHER : is_new ? TN_BUILT_ON_OURS : TN_NOT_TOLD;
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ later ones */

static tarn_status first_behind(const tn_table *t, int64_t id, tn_arena *arena, int64_t *out,
                                tarn_error *err) {
  int64_t *ids;
  int32_t n;
  *out = 0;
  TN_TRY(tn_snapshot_ids(t->env, t->storage, t->branch_path, "snapshot", arena, &ids, &n, err));
  for (int32_t i = 0; i < n && *out == 0; i++) {
    *out = ids[i] > id ? ids[i] : 0;
  }
  return TARN_OK;
}

/* Do tags or branches keep files? */
static tarn_status are_files_kept(const tn_table *t, tn_arena *arena, bool *out, tarn_error *err) {
  const char **names;
  tn_branch *branches;
  int32_t n_tags, n_branches;
  TN_TRY(tn_tag_names(t->env, t->storage, t->branch_path, arena, &names, &n_tags, err));
  TN_TRY(tn_branch_list(t->env, t->storage, t->path, arena, &branches, &n_branches, err));
  *out = n_tags > 0 || n_branches > 0;
  return TARN_OK;
}

static tarn_status is_on_disk(tn_table *t, const tn_manifest_entry *file, bool *out,
                              tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_buf path;
  tn_buf_init(&path, &t->env->mem, TN_PLAN_ARENA_BYTES);
  TN_TRY_TO(done, tn_bucket_path(t, file->partition, file->bucket, &path, err));
  TN_TRY_TO(done, tn_buf_printf(&path, err, "/%.*s", TN_SLICE_ARG(file->file.file_name)));
  TN_TRY_TO(done, tn_buf_append(&path, "", 1, err));
  *out = tn_storage_exists(t->storage, (const char *)path.data);
done:
  tn_buf_reset(&path);
  return st;
}

tarn_status tn_kinship_tell_later(tn_commit_job *job, const tn_attempt_request *request, int64_t id,
                                  const char *delta_list, int64_t size_bytes, tn_arena *arena,
                                  tn_kinship *out, tarn_error *err) {
  const tn_manifest_entry *file = first_file(request);
  int64_t next;
  bool is_kept, is_there;
  *out = TN_NOT_TOLD;
  TN_TRY(first_behind(job->table, id, arena, &next, err));
  if (next == 0) {
    return TARN_OK;
  }
  TN_TRY(tn_kinship_tell(job, request, next, delta_list, size_bytes, arena, out, err));
  if (*out != TN_BUILT_ON_ANOTHER || next == id + 1) {
    return TARN_OK;
  }
  *out = TN_NOT_TOLD;
  if (file->kind != TN_FILE_ADD || file->file.has_external_path) {
    return TARN_OK;
  }
  TN_TRY(is_on_disk(job->table, file, &is_there, err));
  TN_TRY(are_files_kept(job->table, arena, &is_kept, err));
  *out = !is_there ? TN_BUILT_ON_OURS : is_kept ? TN_NOT_TOLD : TN_BUILT_ON_ANOTHER;
  return TARN_OK;
}
