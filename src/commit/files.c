/* files.c - the data and index files of messages: are they there, and away with them.
 *
 * Changelog files of one compaction may share one file: their names tell the bucket that has it,
 * and the part of it that is theirs.
 *
 * Rule: TableCommitImpl#checkFilesExistence, FileStoreCommitImpl#abort,
 * CompactedChangelogPathResolver; spec: commit, 5.5 and 19.
 */
#include <stdlib.h>

#include "commit/changes.h"
#include "commit/commit.h"
#include "model/listing.h"

#define PATH_LIMIT ((size_t)1 << 20)
#define SHOWN_FILES 8

typedef tarn_status (*path_visit)(void *ctx, const char *path, tarn_error *err);

typedef struct walker {
  tn_table *table;
  tn_arena arena;
  const char *folder; /* of the message's bucket */
  path_visit visit;
  void *ctx;
  tarn_error *err;
} walker;

/* ------------------------------------------------------------------ paths */

/* "compacted-changelog-<uuid>$<bucket>-<length>.cc-parquet" is a file of its own bucket; with four
 * numbers "$<bucket>-<length>-<offset>-<length>" it is a part of one in that bucket. */
static tarn_status resolve_changelog(walker *w, const char *folder, tn_slice name,
                                     const char **out) {
  const char *text = tn_arena_strndup(&w->arena, (const char *)name.data, name.len);
  const char *dollar = text != NULL ? strchr(text, '$') : NULL;
  const char *dot = dollar != NULL ? strchr(dollar, '.') : NULL;
  const char *first = dollar != NULL ? strchr(dollar, '-') : NULL;
  const char *second = first != NULL ? strchr(first + 1, '-') : NULL;
  const char *slash = strrchr(folder, '/');
  if (text == NULL) {
    return tn_oom(w->err);
  }
  if (dot == NULL || second == NULL || second > dot || slash == NULL) {
    *out = tn_path_join(&w->arena, folder, text, NULL);
  } else {
    *out = tn_arena_printf(&w->arena, "%.*s/bucket-%.*s/%.*s%s", (int)(slash - folder), folder,
                           (int)(first - dollar - 1), dollar + 1, (int)(second - text), text, dot);
  }
  return *out != NULL ? TARN_OK : tn_oom(w->err);
}

static tarn_status file_path(walker *w, const char *folder, tn_slice name, const char **out) {
  static const char prefix[] = "compacted-changelog-";
  if (tn_slice_starts_with(name, tn_slice_text(prefix))) {
    return resolve_changelog(w, folder, name, out);
  }
  *out = tn_arena_printf(&w->arena, "%s/%.*s", folder, TN_SLICE_ARG(name));
  return *out != NULL ? TARN_OK : tn_oom(w->err);
}

/* A data file and what lies beside it. */
static tarn_status visit_file(walker *w, const tn_data_file *file) {
  const tn_slice *extra = file->extra_files.items;
  const char *folder = w->folder, *path;
  if (file->has_external_path) {
    char *full = tn_arena_strndup(&w->arena, (const char *)file->external_path.data,
                                  file->external_path.len);
    char *slash;
    if (full == NULL) {
      return tn_oom(w->err);
    }
    TN_TRY(tn_path_plain(&w->arena, full, &path, w->err));
    TN_TRY(w->visit(w->ctx, path, w->err));
    full = tn_arena_strdup(&w->arena, path);
    slash = full != NULL ? strrchr(full, '/') : NULL;
    if (full == NULL) {
      return tn_oom(w->err);
    }
    if (slash != NULL) {
      *slash = '\0';
    }
    folder = full;
  } else {
    TN_TRY(file_path(w, folder, file->file_name, &path));
    TN_TRY(w->visit(w->ctx, path, w->err));
  }
  for (int64_t i = 0; i < file->extra_files.count; i++) {
    TN_TRY(file_path(w, folder, extra[i], &path));
    TN_TRY(w->visit(w->ctx, path, w->err));
  }
  return TARN_OK;
}

static tarn_status visit_index(walker *w, const tn_index_entry *index) {
  const char *path;
  if (index->has_external_path) {
    const char *full = tn_arena_strndup(&w->arena, (const char *)index->external_path.data,
                                        index->external_path.len);
    if (full == NULL) {
      return tn_oom(w->err);
    }
    TN_TRY(tn_path_plain(&w->arena, full, &path, w->err));
  } else {
    const char *folder = w->table->facts.index_in_data_dir
                             ? w->folder
                             : tn_path_join(&w->arena, w->table->path, "index", NULL);
    if (folder == NULL) {
      return tn_oom(w->err);
    }
    TN_TRY(file_path(w, folder, index->file_name, &path));
  }
  return w->visit(w->ctx, path, w->err);
}

/* A file of this name and level is taken away by the same compaction: moving it to another level
 * does not make it new. */
static bool is_moved(const tn_commit_message *m, const tn_data_file *file) {
  for (int32_t i = 0; i < m->compact_before.n; i++) {
    if (tn_slice_equal(m->compact_before.items[i].file_name, file->file_name)) {
      return true;
    }
  }
  return false;
}

static tarn_status visit_files(walker *w, const tn_data_files *files) {
  for (int32_t i = 0; i < files->n; i++) {
    TN_TRY(visit_file(w, &files->items[i]));
  }
  return TARN_OK;
}

static tarn_status visit_message(walker *w, const tn_commit_message *m, bool is_abort) {
  TN_TRY(visit_files(w, &m->new_files));
  TN_TRY(visit_files(w, &m->changelog_files));
  for (int32_t i = 0; i < m->new_indexes.n; i++) {
    TN_TRY(visit_index(w, &m->new_indexes.items[i]));
  }
  for (int32_t i = 0; i < m->compact_after.n; i++) {
    if (!is_abort || !is_moved(m, &m->compact_after.items[i])) {
      TN_TRY(visit_file(w, &m->compact_after.items[i]));
    }
  }
  if (is_abort) { /* Java does not look for them before a commit */
    TN_TRY(visit_files(w, &m->compact_changelog));
  }
  for (int32_t i = 0; i < m->compact_new_indexes.n; i++) {
    TN_TRY(visit_index(w, &m->compact_new_indexes.items[i]));
  }
  return TARN_OK;
}

static tarn_status visit_all(tn_table *table, const tn_committable *c, bool is_abort,
                             path_visit visit, void *ctx, tarn_error *err) {
  walker w = {.table = table, .visit = visit, .ctx = ctx, .err = err};
  tarn_status st = TARN_OK;
  tn_arena_init(&w.arena, &table->env->mem, TN_PLAN_ARENA_BYTES);
  for (int32_t i = 0; i < c->n_messages && st == TARN_OK; i++) {
    const tn_commit_message *m = &c->messages[i];
    tn_arena_reset(&w.arena);
    TN_TRY_TO(done, tn_bucket_folder(table, m->partition, m->bucket, &w.arena, &w.folder, err));
    TN_TRY_TO(done, visit_message(&w, m, is_abort));
  }
done:
  tn_arena_reset(&w.arena);
  return st;
}

/* ------------------------------------------------------------------ uses */

typedef struct missing_files {
  tn_table *table;
  tn_buf names;
  int64_t n;
} missing_files;

static tarn_status note_missing(void *ctx, const char *path, tarn_error *err) {
  missing_files *m = ctx;
  tn_file_info info;
  tarn_status st = tn_storage_info(m->table->storage, path, &info, err);
  if (st != TARN_E_NOT_FOUND) {
    return st;
  }
  tn_error_reset(err);
  if (m->n < SHOWN_FILES) {
    TN_TRY(tn_buf_printf(&m->names, err, "%s%s", m->n > 0 ? "," : "", path));
  }
  m->n++;
  return TARN_OK;
}

tarn_status tn_commit_check_files(tn_table *table, const tn_committable *committable,
                                  tarn_error *err) {
  missing_files m = {.table = table};
  tarn_status st;
  tn_buf_init(&m.names, &table->env->mem, PATH_LIMIT);
  TN_TRY_TO(done, visit_all(table, committable, false, note_missing, &m, err));
  if (m.n > 0) {
    st = tn_fail(err, TARN_E_NOT_FOUND,
                 "Cannot recover from this checkpoint because some files in the snapshot that "
                 "need to be resubmitted have been deleted: %.*s. The most likely reason is "
                 "because you are recovering from a very old savepoint that contains some "
                 "uncommitted files that have already been deleted.",
                 (int)(m.names.len < 600 ? m.names.len : 600), (const char *)m.names.data);
  }
done:
  tn_buf_reset(&m.names);
  return st;
}

/* The rest goes even if one does not. */
static tarn_status remove_file(void *ctx, const char *path, tarn_error *err) {
  tn_table *table = ctx;
  (void)err;
  if (tn_storage_remove(table->storage, path, NULL) != TARN_OK) {
    tn_log(table->env, TARN_LOG_WARN, "event=file_not_removed path=%s", path);
  }
  return TARN_OK;
}

tarn_status tn_commit_abort(tn_table *table, const tn_committable *committable, tarn_error *err) {
  return visit_all(table, committable, true, remove_file, table, err);
}
