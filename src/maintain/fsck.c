/* fsck.c - branch by branch: hints, ids, schemas, snapshots, tags, changelogs, consumers; then what
 * nobody names. */
#include "maintain/fsck.h"

#include <stdio.h>

#include "base/json.h"
#include "maintain/fsck_parts.h"
#include "maintain/tags.h"
#include "model/listing.h"
#include "model/statistics.h"

#define ARENA_LIMIT ((size_t)32 << 30)
#define TEXT_LIMIT 4096
#define STATISTICS_LIMIT ((size_t)64 << 20)

/* ------------------------------------------------------------------ telling */

tarn_status tn_fsck_fault(tn_fsck_run *f, const char *fault, const char *path, tarn_error *err,
                          const char *fmt, ...) {
  char detail[TEXT_LIMIT];
  va_list args;
  va_start(args, fmt);
  vsnprintf(detail, sizeof(detail), fmt, args);
  va_end(args);
  tn_text_tidy(detail, sizeof(detail));
  f->n_faults++;
  TN_TRY(tn_buf_printf(f->out, err, "{\"fault\":\"%s\",\"path\":", fault));
  if (path != NULL) {
    TN_TRY(tn_json_quote(f->out, tn_slice_text(path), err));
  } else {
    TN_TRY(tn_buf_text(f->out, "null", err));
  }
  TN_TRY(tn_buf_text(f->out, ",\"detail\":", err));
  TN_TRY(tn_json_quote(f->out, tn_slice_text(detail), err));
  return tn_buf_text(f->out, "}\n", err);
}

tarn_status tn_fsck_told(tn_fsck_run *f, tarn_status st, const char *path, const tarn_error *why,
                         tarn_error *err) {
  switch (st) {
    case TARN_OK:
      return TARN_OK;
    case TARN_E_CORRUPT:
    case TARN_E_INVALID:
      return tn_fsck_fault(f, "corrupt", path, err, "%s: %s", f->place, why->message);
    case TARN_E_NOT_FOUND:
      return f->is_lenient
                 ? TARN_OK
                 : tn_fsck_fault(f, "missing", path, err, "%s: %s", f->place, why->message);
    default:
      if (err != NULL) {
        *err = *why;
      }
      return st;
  }
}

/* ------------------------------------------------------------------ files that are named */

tarn_status tn_fsck_reach(tn_fsck_run *f, const char *path, int64_t size_bytes, bool *is_there,
                          tarn_error *err) {
  tn_map_entry *entry = tn_map_find(&f->paths, tn_slice_text(path));
  tn_slice key = tn_slice_text(path);
  tn_file_info info;
  tarn_status st;
  if (entry != NULL) {
    *is_there = entry->value.num == 1;
    return TARN_OK;
  }
  if (!tn_arena_slice(&f->arena, key, &key)) {
    return tn_oom(err);
  }
  TN_TRY(tn_map_put(&f->paths, key, &entry, NULL, err));
  st = tn_storage_info(f->table->storage, path, &info, err);
  *is_there = st == TARN_OK;
  if (st == TARN_E_NOT_FOUND) {
    tn_error_reset(err);
    return f->is_lenient ? TARN_OK
                         : tn_fsck_fault(f, "missing", path, err, "%s names it", f->place);
  }
  TN_TRY(st);
  entry->value.num = 1;
  f->n_files++;
  f->n_bytes += info.size_bytes;
  return size_bytes < 0 || size_bytes == info.size_bytes
             ? TARN_OK
             : tn_fsck_fault(f, "size", path, err, "%s says %lld bytes, it has %lld", f->place,
                             (long long)size_bytes, (long long)info.size_bytes);
}

tarn_status tn_fsck_reach_meta(tn_fsck_run *f, const char *folder, const char *name,
                               int64_t size_bytes, bool *is_there, tarn_error *err) {
  const char *path = tn_path_join(&f->arena, f->table->path, folder, name, NULL);
  return path != NULL ? tn_fsck_reach(f, path, size_bytes, is_there, err) : tn_oom(err);
}

tarn_status tn_fsck_reach_data(tn_fsck_run *f, tn_slice partition, int32_t bucket,
                               const tn_data_file *file, const char **path, tarn_error *err) {
  const tn_slice *extras = file->extra_files.items;
  const char *extra;
  bool is_there;
  /* The size of a part is not that of the file which has it. */
  bool is_part = tn_slice_starts_with(file->file_name, tn_slice_text("compacted-changelog-"));
  TN_TRY(tn_data_file_path(f->table, partition, bucket, file, &f->arena, path, err));
  TN_TRY(tn_fsck_reach(f, *path, is_part ? -1 : file->file_size, &is_there, err));
  for (int64_t i = 0; i < file->extra_files.count; i++) {
    TN_TRY(tn_extra_file_path(&f->arena, *path, extras[i], &extra, err));
    TN_TRY(tn_fsck_reach(f, extra, -1, &is_there, err));
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ snapshots of a branch */

static const char *set_place(tn_fsck_run *f, const char *what, int64_t id) {
  f->place = tn_arena_printf(&f->arena, "%s %lld", what, (long long)id);
  return f->place;
}

static tarn_status check_schemas(tn_fsck_run *f, tarn_error *err) {
  tn_table *t = f->table;
  tarn_error why = {0};
  tarn_status st =
      tn_schema_ids(t->env, t->storage, f->root, &f->arena, &f->schemas, &f->n_schemas, &why);
  f->place = f->root;
  if (st != TARN_OK) {
    f->n_schemas = 0;
    return tn_fsck_told(f, st, f->root, &why, err);
  }
  for (int32_t i = 0; i < f->n_schemas; i++) {
    tn_schema *schema = NULL;
    st = tn_schema_load(t->env, t->storage, f->root, f->schemas[i], &schema, &why);
    tn_schema_release(schema);
    TN_TRY(tn_fsck_told(f, st, f->root, &why, err));
  }
  return TARN_OK;
}

bool tn_fsck_has_schema(const tn_fsck_run *f, int64_t id) {
  for (int32_t i = 0; i < f->n_schemas; i++) {
    if (f->schemas[i] == id) {
      return true;
    }
  }
  return false;
}

static tarn_status check_schema_id(tn_fsck_run *f, const tn_snapshot *s, tarn_error *err) {
  return tn_fsck_has_schema(f, s->schema_id)
             ? TARN_OK
             : tn_fsck_fault(f, "missing", NULL, err,
                             "%s names schema %lld, which %s does not have", f->place,
                             (long long)s->schema_id, f->root);
}

static tarn_status check_statistics(tn_fsck_run *f, const tn_snapshot *s, tarn_error *err) {
  tn_table *t = f->table;
  tn_statistics statistics;
  tarn_error why = {0};
  const char *path;
  bool is_there;
  tarn_status st;
  tn_buf json;
  if (s->statistics == NULL) {
    return TARN_OK;
  }
  TN_TRY(tn_fsck_reach_meta(f, "statistics", s->statistics, -1, &is_there, err));
  path = tn_path_join(&f->arena, t->path, "statistics", s->statistics, NULL);
  if (!is_there || path == NULL) {
    return path != NULL ? TARN_OK : tn_oom(err);
  }
  tn_buf_init(&json, &t->env->mem, STATISTICS_LIMIT);
  st = tn_storage_read_all(t->storage, path, &json, &why);
  if (st == TARN_OK) {
    st =
        tn_statistics_decode(&t->env->mem, &f->arena, tn_buf_slice(&json), path, &statistics, &why);
  }
  tn_buf_reset(&json);
  return tn_fsck_told(f, st, path, &why, err);
}

static tarn_status check_changelog(tn_fsck_run *f, const tn_snapshot *s, tarn_error *err) {
  int64_t n_rows = 0;
  bool is_whole;
  if (s->changelog_manifest_list == NULL) {
    return TARN_OK;
  }
  TN_TRY(tn_fsck_list(f, s->changelog_manifest_list, s->changelog_manifest_list_size,
                      TN_FSCK_CHANGELOG, &n_rows, &is_whole, err));
  return !is_whole || !s->has_changelog_record_count || s->changelog_record_count == n_rows
             ? TARN_OK
             : tn_fsck_fault(f, "count", NULL, err,
                             "%s says %lld rows of changelog, its manifests %lld", f->place,
                             (long long)s->changelog_record_count, (long long)n_rows);
}

/* The hint that Java trusts without looking. */
static tarn_status check_hint(tn_fsck_run *f, int64_t greatest, tarn_error *err) {
  const char *path = tn_path_join(&f->arena, f->root, "snapshot", "LATEST", NULL);
  tn_slice text;
  tarn_status st;
  int64_t id;
  tn_buf buf;
  if (path == NULL) {
    return tn_oom(err);
  }
  tn_buf_init(&buf, &f->table->env->mem, TEXT_LIMIT);
  st = tn_storage_read_all(f->table->storage, path, &buf, NULL);
  text = tn_buf_slice(&buf);
  if (st == TARN_OK && tn_listing_number(text, &id) && id > greatest) {
    st = tn_fsck_fault(f, "hint", path, err, "it names snapshot %lld, the latest is %lld",
                       (long long)id, (long long)greatest);
  } else {
    st = st == TARN_E_NOMEM ? tn_oom(err) : TARN_OK;
  }
  tn_buf_reset(&buf);
  return st;
}

typedef struct branch_walk {
  tn_fsck_state state;
  tn_snapshot last;
} branch_walk;

/* *is_gone: it expired since it was listed. */
static tarn_status check_snapshot(tn_fsck_run *f, branch_walk *w, int64_t id, bool *is_gone,
                                  tarn_error *err) {
  tn_table *t = f->table;
  tarn_error why = {0};
  tn_snapshot s;
  tarn_status st = tn_snapshot_read(t->env, t->storage, f->root, id, &f->arena, &s, &why);
  *is_gone = st == TARN_E_NOT_FOUND;
  if (st != TARN_OK) {
    w->state.is_whole = false;
    return *is_gone ? TARN_OK : tn_fsck_told(f, st, f->root, &why, err);
  }
  f->n_snapshots++;
  if (s.id != id) {
    TN_TRY(tn_fsck_fault(f, "corrupt", f->root, err, "%s says that it is snapshot %lld", f->place,
                         (long long)s.id));
  }
  TN_TRY(check_schema_id(f, &s, err));
  TN_TRY(tn_fsck_snapshot(f, &s, &w->state, err));
  TN_TRY(check_changelog(f, &s, err));
  TN_TRY(check_statistics(f, &s, err));
  TN_TRY(tn_fsck_indexes(f, &s, &w->state, err));
  w->last = s;
  return TARN_OK;
}

static tarn_status check_snapshots(tn_fsck_run *f, branch_walk *w, tarn_error *err) {
  tn_table *t = f->table;
  int64_t *ids, earliest;
  int32_t n;
  bool is_gone = true;
  TN_TRY(tn_snapshot_earliest_id(t->env, t->storage, f->root, &earliest, err));
  TN_TRY(tn_snapshot_ids(t->env, t->storage, f->root, "snapshot", &f->arena, &ids, &n, err));
  f->place = f->root;
  TN_TRY(check_hint(f, n > 0 ? ids[n - 1] : 0, err));
  for (int32_t i = 0; i < n; i++) {
    TN_TRY(tn_cancel_check(f->request->cancel, err));
    if (set_place(f, "snapshot", ids[i]) == NULL) {
      return tn_oom(err);
    }
    f->is_lenient = ids[i] < earliest;
    if (i > 0 && ids[i] != ids[i - 1] + 1) {
      w->state.is_whole = false;
      if (ids[i - 1] >= earliest) {
        TN_TRY(tn_fsck_fault(f, "gap", f->root, err, "snapshot %lld is followed by %lld",
                             (long long)ids[i - 1], (long long)ids[i]));
      }
    }
    if (ids[i] == earliest) {
      w->state.is_whole = false; /* what is below may be half gone */
    }
    TN_TRY(check_snapshot(f, w, ids[i], &is_gone, err));
  }
  f->is_lenient = false;
  if (!is_gone && w->state.is_whole) {
    TN_TRY(tn_fsck_layout(f, &w->last, &w->state, err));
    if (f->request->is_deep) {
      TN_TRY(tn_fsck_rows(f, &w->state, err));
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ tags, changelogs, consumers */

static tarn_status check_tag(tn_fsck_run *f, const char *name, tarn_error *err) {
  tn_table *t = f->table;
  tarn_error why = {0};
  tn_fsck_state state;
  tn_snapshot s;
  tarn_status st = tn_tag_read(t->env, t->storage, f->root, name, &f->arena, &s, &why);
  f->place = tn_arena_printf(&f->arena, "tag '%s'", name);
  if (f->place == NULL) {
    return tn_oom(err);
  }
  if (st == TARN_E_NOT_FOUND) {
    return TARN_OK; /* it was deleted meanwhile */
  }
  if (st != TARN_OK) {
    return tn_fsck_told(f, st, f->root, &why, err);
  }
  tn_fsck_state_init(&state, &t->env->mem);
  TN_TRY_TO(done, check_schema_id(f, &s, err));
  TN_TRY_TO(done, tn_fsck_snapshot(f, &s, &state, err));
  TN_TRY_TO(done, check_statistics(f, &s, err));
  TN_TRY_TO(done, tn_fsck_indexes(f, &s, &state, err));
  TN_TRY_TO(done, f->request->is_deep ? tn_fsck_rows(f, &state, err) : TARN_OK);
done:
  tn_fsck_state_reset(&state);
  return st;
}

static tarn_status check_tags(tn_fsck_run *f, tarn_error *err) {
  const char **names;
  int32_t n;
  TN_TRY(tn_tag_names(f->table->env, f->table->storage, f->root, &f->arena, &names, &n, err));
  for (int32_t i = 0; i < n; i++) {
    TN_TRY(check_tag(f, names[i], err));
  }
  return TARN_OK;
}

/* Without a list of its own the delta is the changelog, unless changelogs are produced: then there
 * is none. */
static tarn_status check_changelogs(tn_fsck_run *f, tarn_error *err) {
  tn_table *t = f->table;
  int64_t *ids, earliest;
  int32_t n;
  TN_TRY(tn_changelog_earliest_id(t->env, t->storage, f->root, &earliest, err));
  TN_TRY(tn_snapshot_ids(t->env, t->storage, f->root, "changelog", &f->arena, &ids, &n, err));
  for (int32_t i = 0; i < n; i++) {
    tarn_error why = {0};
    tn_snapshot s;
    int64_t n_rows;
    bool is_whole;
    tarn_status st = tn_changelog_read(t->env, t->storage, f->root, ids[i], &f->arena, &s, &why);
    if (set_place(f, "changelog", ids[i]) == NULL) {
      return tn_oom(err);
    }
    f->is_lenient = ids[i] < earliest;
    if (st == TARN_E_NOT_FOUND) {
      continue;
    }
    TN_TRY(tn_fsck_told(f, st, f->root, &why, err));
    if (st != TARN_OK) {
      continue;
    }
    if (s.changelog_manifest_list != NULL) {
      TN_TRY(check_changelog(f, &s, err));
    } else if (f->branch->facts.changelog_producer == TN_CHANGELOG_NONE) {
      TN_TRY(tn_fsck_list(f, s.delta_manifest_list, s.delta_manifest_list_size, TN_FSCK_DELTA,
                          &n_rows, &is_whole, err));
      f->is_lenient = true; /* nobody reads the base */
      TN_TRY(tn_fsck_list(f, s.base_manifest_list, s.base_manifest_list_size, TN_FSCK_NAMES,
                          &n_rows, &is_whole, err));
    }
  }
  f->is_lenient = false;
  return TARN_OK;
}

static tarn_status check_consumers(tn_fsck_run *f, tarn_error *err) {
  tn_table *t = f->table;
  tn_consumer *consumers;
  tarn_error why = {0};
  int32_t n;
  tarn_status st = tn_consumer_list(t->env, t->storage, f->root, &f->arena, &consumers, &n, &why);
  f->place = "a consumer";
  return tn_fsck_told(f, st, f->root, &why, err);
}

/* The branch as a table of its latest schema; NULL where that cannot be, which is told. */
static tarn_status open_branch(tn_fsck_run *f, const char *name, tarn_error *err) {
  tn_table *t = f->table;
  tn_schema *schema = NULL;
  tarn_error why = {0};
  tarn_status st;
  if (strcmp(f->root, t->branch_path) == 0) {
    f->branch = tn_table_retain(t);
    return TARN_OK;
  }
  st = tn_schema_load(t->env, t->storage, f->root, f->schemas[f->n_schemas - 1], &schema, &why);
  if (st == TARN_OK) {
    st = tn_table_create(t->env, t->storage, t->full_name, t->path, name, f->root, schema, NULL, 0,
                         &f->branch, &why);
  }
  tn_schema_release(schema);
  return tn_fsck_told(f, st, f->root, &why, err);
}

static tarn_status check_branch(tn_fsck_run *f, const char *name, tarn_error *err) {
  branch_walk w;
  tarn_status st;
  memset(&w, 0, sizeof(w));
  tn_fsck_state_init(&w.state, &f->table->env->mem);
  TN_TRY_TO(done, check_schemas(f, err));
  if (f->n_schemas > 0) {
    TN_TRY_TO(done, open_branch(f, name, err));
  }
  if (f->branch != NULL) {
    TN_TRY_TO(done, check_snapshots(f, &w, err));
    TN_TRY_TO(done, check_tags(f, err));
    TN_TRY_TO(done, check_changelogs(f, err));
    TN_TRY_TO(done, check_consumers(f, err));
  }
done:
  tn_table_release(f->branch);
  f->branch = NULL;
  tn_fsck_state_reset(&w.state);
  return st;
}

/* Call a function for each branch, its root at hand. */
static tarn_status each_branch(tn_fsck_run *f,
                               tarn_status (*look)(tn_fsck_run *f, const char *name,
                                                   tarn_error *err),
                               tarn_error *err) {
  for (int32_t i = -1; i < f->n_branches; i++) {
    const char *path = f->table->path, *name = i < 0 ? "main" : f->branches[i].name;
    f->root = i < 0 ? path : tn_arena_printf(&f->arena, "%s/branch/branch-%s", path, name);
    TN_TRY(f->root != NULL ? look(f, name, err) : tn_oom(err));
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ files that nobody names */

typedef struct folder_walk {
  tn_fsck_run *f;
  const char *folder;
  const char **folders; /* found in it */
  size_t n_folders, capacity;
  bool is_bucket; /* what is in it belongs to entries */
} folder_walk;

/* Count a file if nothing names it, and it has not gone meanwhile. */
static tarn_status count_file(tn_fsck_run *f, const char *path, tarn_error *err) {
  tn_file_info info;
  tarn_status st;
  if (tn_map_find(&f->paths, tn_slice_text(path)) != NULL) {
    return TARN_OK;
  }
  st = tn_storage_info(f->table->storage, path, &info, err);
  if (st == TARN_E_NOT_FOUND) {
    tn_error_reset(err);
    return TARN_OK;
  }
  TN_TRY(st);
  f->n_unreachable++;
  return f->request->left_since_ms != 0 && info.modified_ms >= f->request->left_since_ms
             ? tn_fsck_fault(f, "left", path, err, "nothing names it")
             : TARN_OK;
}

static tarn_status visit_entry(void *ctx, const char *name, bool is_directory, tarn_error *err) {
  folder_walk *w = ctx;
  tn_fsck_run *f = w->f;
  const char *path = tn_path_join(&f->arena, w->folder, name, NULL);
  if (path == NULL) {
    return tn_oom(err);
  }
  if (is_directory) {
    if (!tn_arena_grow(&f->arena, (void **)&w->folders, &w->capacity, w->n_folders,
                       sizeof(*w->folders))) {
      return tn_oom(err);
    }
    w->folders[w->n_folders++] = path;
    return TARN_OK;
  }
  return w->is_bucket ? count_file(f, path, err) : TARN_OK;
}

/* A hidden name, of a file or branch whose writer was killed before it got its own: Java's
 * remove_orphan_files deletes those in snapshot/ and changelog/ after a day, nobody the others. */
static bool is_temporary(const char *name) {
  size_t n = strlen(name);
  return name[0] == '.' && n > 4 && strcmp(name + n - 4, ".tmp") == 0;
}

/* In a folder where names are given when a file is whole (io/writing.c, W2). */
static tarn_status visit_hidden(void *ctx, const char *name, bool is_directory, tarn_error *err) {
  folder_walk *w = ctx;
  const char *path;
  if (!is_temporary(name)) {
    return TARN_OK;
  }
  if (is_directory) { /* of a branch; only counted */
    w->f->n_unreachable++;
    return TARN_OK;
  }
  path = tn_path_join(&w->f->arena, w->folder, name, NULL);
  return path != NULL ? count_file(w->f, path, err) : tn_oom(err);
}

static tarn_status list_folder(folder_walk *w,
                               tarn_status (*visit)(void *ctx, const char *name, bool is_directory,
                                                    tarn_error *err),
                               tarn_error *err) {
  tarn_status st = tn_storage_list(w->f->table->storage, w->folder, visit, w, err);
  if (st == TARN_E_NOT_FOUND) {
    tn_error_reset(err);
    st = TARN_OK;
  }
  return st;
}

static bool is_bucket_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return strncmp(slash != NULL ? slash + 1 : path, "bucket-", 7) == 0;
}

/* Buckets lie as deep as there are partition columns. */
static tarn_status walk_buckets(tn_fsck_run *f, const char *folder, int32_t depth,
                                tarn_error *err) {
  folder_walk w = {.f = f, .folder = folder};
  TN_TRY(tn_cancel_check(f->request->cancel, err));
  TN_TRY(list_folder(&w, visit_entry, err));
  for (size_t i = 0; i < w.n_folders; i++) {
    bool is_bucket = is_bucket_name(w.folders[i]);
    if (depth == 0 && is_bucket) {
      folder_walk bucket = {.f = f, .folder = w.folders[i], .is_bucket = true};
      TN_TRY(list_folder(&bucket, visit_entry, err));
    } else if (depth > 0 && strchr(strrchr(w.folders[i], '/'), '=') != NULL) {
      TN_TRY(walk_buckets(f, w.folders[i], depth - 1, err)); /* bounded by the partition columns */
    }
  }
  return TARN_OK;
}

/* Hidden names in the folders of a branch. */
static tarn_status count_temporary(tn_fsck_run *f, const char *name, tarn_error *err) {
  static const char *const folders[] = {"snapshot",  "schema",   "tag",
                                        "changelog", "consumer", "branch"};
  (void)name;
  for (size_t i = 0; i < TN_COUNT(folders); i++) {
    folder_walk w = {.f = f, .folder = tn_path_join(&f->arena, f->root, folders[i], NULL)};
    TN_TRY(w.folder != NULL ? list_folder(&w, visit_hidden, err) : tn_oom(err));
  }
  return TARN_OK;
}

static tarn_status count_unreachable(tn_fsck_run *f, tarn_error *err) {
  static const char *const folders[] = {"manifest", "index", "statistics"};
  tn_table *t = f->table;
  const char *data = t->facts.data_path_directory == NULL
                         ? t->path
                         : tn_path_join(&f->arena, t->path, t->facts.data_path_directory, NULL);
  if (data == NULL) {
    return tn_oom(err);
  }
  TN_TRY(each_branch(f, count_temporary, err));
  for (size_t i = 0; i < TN_COUNT(folders); i++) {
    folder_walk w = {.f = f, .is_bucket = true};
    w.folder = tn_path_join(&f->arena, t->path, folders[i], NULL);
    TN_TRY(w.folder != NULL ? list_folder(&w, visit_entry, err) : tn_oom(err));
  }
  return walk_buckets(f, data, t->schema->n_partition_keys, err);
}

tarn_status tn_fsck(tn_table *table, const tn_fsck_request *request, tn_buf *out, int64_t *n_faults,
                    tarn_error *err) {
  tn_fsck_run f = {.table = table, .request = request, .out = out};
  tarn_status st;
  tn_arena_init(&f.arena, &table->env->mem, ARENA_LIMIT);
  tn_map_init(&f.paths, &table->env->mem);
  tn_map_init(&f.read_deep, &table->env->mem);
  TN_TRY_TO(done, tn_branch_list(table->env, table->storage, table->path, &f.arena, &f.branches,
                                 &f.n_branches, err));
  TN_TRY_TO(done, each_branch(&f, check_branch, err));
  TN_TRY_TO(done, count_unreachable(&f, err));
  TN_TRY_TO(done, tn_buf_printf(out, err,
                                "{\"snapshots\":%lld,\"files\":%lld,\"bytes\":%lld,"
                                "\"unreachable\":%lld,\"unread\":%lld,\"faults\":%lld}\n",
                                (long long)f.n_snapshots, (long long)f.n_files,
                                (long long)f.n_bytes, (long long)f.n_unreachable,
                                (long long)f.n_unread, (long long)f.n_faults));
done:
  *n_faults = f.n_faults;
  tn_map_reset(&f.read_deep);
  tn_map_reset(&f.paths);
  tn_arena_reset(&f.arena);
  return st;
}
