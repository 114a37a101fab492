/* sweep.c - planning what goes, and removing it. */
#include "maintain/sweep.h"

#include <stdio.h>

#include "datafile/index_place.h"
#include "model/listing.h"
#include "model/partition.h"
#include "plan/entries.h"

#define ARENA_LIMIT ((size_t)32 << 30)
#define CLEARING_BYTES ((size_t)1 << 30)
#define PATH_LIMIT ((size_t)1 << 20)
#define CANCEL_EVERY 256

void tn_sweep_init(tn_sweep *sweep, tn_table *table) {
  tn_mem *mem = &table->env->mem;
  sweep->table = table;
  tn_arena_init(&sweep->arena, mem, ARENA_LIMIT);
  tn_buf_init(&sweep->text, mem, PATH_LIMIT);
  tn_map_init(&sweep->paths, mem);
  tn_map_init(&sweep->folders, mem);
}

void tn_sweep_reset(tn_sweep *sweep) {
  tn_map_reset(&sweep->folders);
  tn_map_reset(&sweep->paths);
  tn_buf_reset(&sweep->text);
  tn_arena_reset(&sweep->arena);
}

/* ------------------------------------------------------------------ paths */

/* "compacted-changelog-<uuid>$<bucket>-<length>-<offset>-<length>.cc-parquet" is a part of the file
 * "compacted-changelog-<uuid>$<bucket>-<length>.cc-parquet" of that bucket. Rule:
 * org.apache.paimon. io.CompactedChangelogPathResolver. NULL: it is none; or no memory. */
static const char *shared_changelog(tn_arena *arena, const char *folder, const char *name) {
  static const char prefix[] = "compacted-changelog-";
  const char *dollar = strncmp(name, prefix, strlen(prefix)) == 0 ? strchr(name, '$') : NULL;
  const char *first = dollar != NULL ? strchr(dollar, '-') : NULL;
  const char *second = first != NULL ? strchr(first + 1, '-') : NULL;
  const char *dot = dollar != NULL ? strchr(dollar, '.') : NULL;
  const char *slash = strrchr(folder, '/');
  if (dot == NULL || second == NULL || second > dot || slash == NULL) {
    return NULL;
  }
  return tn_arena_printf(arena, "%.*s/bucket-%.*s/%.*s%s", (int)(slash - folder), folder,
                         (int)(first - dollar - 1), dollar + 1, (int)(second - name), name, dot);
}

static tarn_status plain_path(tn_arena *arena, tn_slice recorded, const char **out,
                              tarn_error *err) {
  const char *text = tn_arena_strndup(arena, (const char *)recorded.data, recorded.len);
  return text != NULL ? tn_path_plain(arena, text, out, err) : tn_oom(err);
}

tarn_status tn_data_file_path(tn_table *table, tn_slice partition, int32_t bucket,
                              const tn_data_file *file, tn_arena *arena, const char **out,
                              tarn_error *err) {
  const char *folder, *name;
  if (file->has_external_path) {
    return plain_path(arena, file->external_path, out, err);
  }
  TN_TRY(tn_bucket_folder(table, partition, bucket, arena, &folder, err));
  name = tn_arena_strndup(arena, (const char *)file->file_name.data, file->file_name.len);
  if (name == NULL) {
    return tn_oom(err);
  }
  *out = shared_changelog(arena, folder, name);
  if (*out == NULL) {
    *out = tn_path_join(arena, folder, name, NULL);
  }
  return *out != NULL ? TARN_OK : tn_oom(err);
}

tarn_status tn_extra_file_path(tn_arena *arena, const char *data_file_path, tn_slice name,
                               const char **out, tarn_error *err) {
  const char *slash = strrchr(data_file_path, '/');
  int n = slash != NULL ? (int)(slash - data_file_path) : 0;
  *out = tn_arena_printf(arena, "%.*s/%.*s", n, data_file_path, TN_SLICE_ARG(name));
  return *out != NULL ? TARN_OK : tn_oom(err);
}

/* ------------------------------------------------------------------ planning */

static tarn_status put_text(tn_sweep *sweep, tn_map *map, const char *text, tarn_error *err) {
  tn_slice key = tn_slice_text(text);
  tn_map_entry *entry;
  if (tn_map_find(map, key) != NULL) {
    return TARN_OK;
  }
  if (!tn_arena_slice(&sweep->arena, key, &key)) {
    return tn_oom(err);
  }
  return tn_map_put(map, key, &entry, NULL, err);
}

tarn_status tn_sweep_path(tn_sweep *sweep, const char *path, tarn_error *err) {
  return put_text(sweep, &sweep->paths, path, err);
}

tarn_status tn_sweep_data_file(tn_sweep *sweep, tn_slice partition, int32_t bucket,
                               const tn_data_file *file, tarn_error *err) {
  const tn_slice *extras = file->extra_files.items;
  const char *path, *extra, *folder;
  TN_TRY(tn_data_file_path(sweep->table, partition, bucket, file, &sweep->arena, &path, err));
  TN_TRY(tn_sweep_path(sweep, path, err));
  for (int64_t i = 0; i < file->extra_files.count; i++) {
    TN_TRY(tn_extra_file_path(&sweep->arena, path, extras[i], &extra, err));
    TN_TRY(tn_sweep_path(sweep, extra, err));
  }
  TN_TRY(tn_bucket_folder(sweep->table, partition, bucket, &sweep->arena, &folder, err));
  return put_text(sweep, &sweep->folders, folder, err);
}

tarn_status tn_sweep_meta(tn_sweep *sweep, const char *folder, tn_slice name, tarn_error *err) {
  const char *path =
      tn_arena_printf(&sweep->arena, "%s/%s/%.*s", sweep->table->path, folder, TN_SLICE_ARG(name));
  return path != NULL ? tn_sweep_path(sweep, path, err) : tn_oom(err);
}

/* ------------------------------------------------------------------ planning metadata */

typedef struct meta_plan {
  tn_sweep *sweep;
  tn_kept *kept;
} meta_plan;

/* Is it nobody's? It is kept from now on. */
static tarn_status take_name(meta_plan *p, tn_slice name, bool *is_free, tarn_error *err) {
  tn_map_entry *entry;
  *is_free = !tn_kept_has_meta(p->kept, name);
  if (!*is_free) {
    return TARN_OK;
  }
  if (!tn_arena_slice(&p->kept->arena, name, &name)) {
    return tn_oom(err);
  }
  return tn_map_put(&p->kept->metas, name, &entry, NULL, err);
}

static tarn_status sweep_name(meta_plan *p, const char *folder, tn_slice name, tarn_error *err) {
  bool is_free;
  TN_TRY(take_name(p, name, &is_free, err));
  return is_free ? tn_sweep_meta(p->sweep, folder, name, err) : TARN_OK;
}

/* What cannot be read for good does not hold up the rest. */
static tarn_status leave_corrupt(tn_table *table, tarn_status st, const char *name,
                                 const tarn_error *why, tarn_error *err) {
  if (st == TARN_E_CORRUPT || st == TARN_E_UNSUPPORTED) {
    tn_log(table->env, TARN_LOG_WARN, "event=files_left table=%s manifest=%s reason=%s",
           table->full_name, name, why->message);
    return TARN_OK;
  }
  if (st != TARN_OK && err != NULL) {
    *err = *why;
  }
  return st;
}

/* Manifests first, so that a list that is there tells what is left of it. */
static tarn_status sweep_list(meta_plan *p, const char *name, int64_t size_bytes, tarn_error *err) {
  tarn_error why;
  tn_list list = {0};
  tarn_status st;
  if (name == NULL) {
    return TARN_OK;
  }
  st = tn_list_read(p->sweep->table, name, size_bytes, &p->sweep->arena, &list, &why);
  TN_TRY(leave_corrupt(p->sweep->table, st, name, &why, err));
  for (size_t i = 0; i < list.count; i++) {
    TN_TRY(sweep_name(p, "manifest", tn_slice_text(list.items[i].name), err));
  }
  return sweep_name(p, "manifest", tn_slice_text(name), err);
}

static tarn_status sweep_index(void *ctx, const tn_index_entry *index, tarn_error *err) {
  meta_plan *p = ctx;
  const char *path;
  bool is_free;
  TN_TRY(take_name(p, index->file_name, &is_free, err));
  if (!is_free) {
    return TARN_OK;
  }
  TN_TRY(tn_index_file_path(p->sweep->table, index, &p->sweep->arena, &path, err));
  return tn_sweep_path(p->sweep, path, err);
}

static tarn_status sweep_others(meta_plan *p, const tn_snapshot *s, tarn_error *err) {
  const tn_manifest_name index = {s->index_manifest, -1, -1};
  tn_table *t = p->sweep->table;
  tarn_error why;
  tarn_status st = TARN_OK;
  if (s->index_manifest != NULL) {
    st = tn_index_manifest_read(t->env, t->storage, &tn_plan_readers, t->path, &index, sweep_index,
                                p, &why);
    if (st != TARN_E_NOT_FOUND) {
      TN_TRY(leave_corrupt(t, st, s->index_manifest, &why, err));
      TN_TRY(sweep_name(p, "manifest", tn_slice_text(s->index_manifest), err));
    }
  }
  return s->statistics != NULL ? sweep_name(p, "statistics", tn_slice_text(s->statistics), err)
                               : TARN_OK;
}

tarn_status tn_sweep_metas(tn_sweep *sweep, tn_kept *kept, const tn_snapshot *s,
                           tn_meta_sweep which, tarn_error *err) {
  meta_plan p = {sweep, kept};
  if (which.states) {
    TN_TRY(sweep_list(&p, s->base_manifest_list, s->base_manifest_list_size, err));
    TN_TRY(sweep_list(&p, s->delta_manifest_list, s->delta_manifest_list_size, err));
  }
  if (which.changelog) {
    TN_TRY(sweep_list(&p, s->changelog_manifest_list, s->changelog_manifest_list_size, err));
  }
  return which.others ? sweep_others(&p, s, err) : TARN_OK;
}

/* ------------------------------------------------------------------ planning data files */

typedef struct gone_file {
  tn_slice partition;
  int32_t bucket;
  tn_data_file file;
} gone_file;

typedef struct data_plan {
  tn_sweep *sweep;
  tn_kept *kept;
  tn_arena arena;
  tn_map gone; /* paths; value: a gone_file, NULL when it came back */
  bool spares_appended;
} data_plan;

/* A file that is taken away and added again only moves to another level. */
static tarn_status note_entry(void *ctx, const tn_manifest_entry *record, tarn_error *err) {
  data_plan *p = ctx;
  gone_file *gone = NULL;
  tn_map_entry *entry;
  const char *path;
  TN_TRY(tn_data_file_path(p->sweep->table, record->partition, record->bucket, &record->file,
                           &p->arena, &path, err));
  if (record->kind == TN_FILE_DELETE) {
    gone = tn_arena_calloc(&p->arena, 1, sizeof(*gone));
    if (gone == NULL || !tn_arena_slice(&p->arena, record->partition, &gone->partition)) {
      return tn_oom(err);
    }
    gone->bucket = record->bucket;
    TN_TRY(tn_data_file_copy(&p->arena, &record->file, false, &gone->file, err));
  } else if (tn_map_find(&p->gone, tn_slice_text(path)) == NULL) {
    return TARN_OK;
  }
  TN_TRY(tn_map_put(&p->gone, tn_slice_text(path), &entry, NULL, err));
  entry->value.ptr = gone;
  return TARN_OK;
}

static tarn_status sweep_unkept(data_plan *p, tarn_error *err) {
  for (size_t i = 0; i < p->gone.count; i++) {
    const gone_file *gone = p->gone.entries[i].value.ptr;
    bool is_kept;
    if (gone == NULL || (p->spares_appended &&
                         (!gone->file.has_source || gone->file.source != TN_SOURCE_COMPACT))) {
      continue;
    }
    TN_TRY(tn_kept_has_file(p->kept, gone->partition, gone->bucket, gone->file.file_name, &is_kept,
                            err));
    if (!is_kept) {
      TN_TRY(tn_sweep_data_file(p->sweep, gone->partition, gone->bucket, &gone->file, err));
    }
  }
  return TARN_OK;
}

tarn_status tn_sweep_deleted(tn_sweep *sweep, tn_kept *kept, const tn_snapshot *s,
                             bool spares_appended, tarn_error *err) {
  data_plan p = {.sweep = sweep, .kept = kept, .spares_appended = spares_appended};
  tn_mem *mem = &sweep->table->env->mem;
  tarn_error why = {0};
  tn_list list = {0};
  tarn_status st;
  tn_arena_init(&p.arena, mem, ARENA_LIMIT);
  tn_map_init(&p.gone, mem);
  st = tn_list_read(sweep->table, s->delta_manifest_list, s->delta_manifest_list_size, &p.arena,
                    &list, &why);
  for (size_t i = 0; i < list.count && st == TARN_OK; i++) {
    st = tn_listed_read(sweep->table, &list.items[i], note_entry, &p, &why);
    if (st == TARN_E_NOT_FOUND) {
      st = TARN_OK;
    }
  }
  if (st != TARN_OK) {
    st = leave_corrupt(sweep->table, st, s->delta_manifest_list, &why, err);
  } else {
    st = sweep_unkept(&p, err);
  }
  tn_map_reset(&p.gone);
  tn_arena_reset(&p.arena);
  return st;
}

static tarn_status sweep_added(void *ctx, const tn_manifest_entry *record, tarn_error *err) {
  data_plan *p = ctx;
  bool is_kept;
  if (record->kind != TN_FILE_ADD) {
    return TARN_OK;
  }
  TN_TRY(tn_kept_has_file(p->kept, record->partition, record->bucket, record->file.file_name,
                          &is_kept, err));
  return is_kept
             ? TARN_OK
             : tn_sweep_data_file(p->sweep, record->partition, record->bucket, &record->file, err);
}

tarn_status tn_sweep_changelog(tn_sweep *sweep, tn_kept *kept, const tn_snapshot *s,
                               tarn_error *err) {
  data_plan p = {.sweep = sweep, .kept = kept};
  tarn_error why = {0};
  tn_list list = {0};
  tarn_status st = tn_list_read(sweep->table, s->changelog_manifest_list,
                                s->changelog_manifest_list_size, &sweep->arena, &list, &why);
  for (size_t i = 0; i < list.count && st == TARN_OK; i++) {
    st = tn_listed_read(sweep->table, &list.items[i], sweep_added, &p, &why);
    if (st == TARN_E_NOT_FOUND) {
      st = TARN_OK;
    }
  }
  return leave_corrupt(sweep->table, st, s->changelog_manifest_list, &why, err);
}

typedef struct state_plan {
  tn_sweep *sweep;
  tn_kept *kept;
  tn_kept own; /* the live files of the snapshot */
} state_plan;

static tarn_status sweep_live(void *ctx, const tn_manifest_entry *record, tarn_error *err) {
  state_plan *p = ctx;
  tn_slice name = record->file.file_name;
  bool is_live, is_kept;
  TN_TRY(tn_kept_has_file(&p->own, record->partition, record->bucket, name, &is_live, err));
  TN_TRY(tn_kept_has_file(p->kept, record->partition, record->bucket, name, &is_kept, err));
  return record->kind == TN_FILE_ADD && is_live && !is_kept
             ? tn_sweep_data_file(p->sweep, record->partition, record->bucket, &record->file, err)
             : TARN_OK;
}

tarn_status tn_sweep_state(tn_sweep *sweep, tn_kept *kept, const tn_snapshot *s, tarn_error *err) {
  state_plan p = {.sweep = sweep, .kept = kept};
  tarn_error why = {0};
  tn_list list = {0};
  tarn_status st;
  tn_kept_init(&p.own, sweep->table);
  TN_TRY_TO(done, tn_kept_files(&p.own, s, &why));
  TN_TRY_TO(done, tn_list_read(sweep->table, s->base_manifest_list, s->base_manifest_list_size,
                               &sweep->arena, &list, &why));
  TN_TRY_TO(done, tn_list_read(sweep->table, s->delta_manifest_list, s->delta_manifest_list_size,
                               &sweep->arena, &list, &why));
  for (size_t i = 0; i < list.count; i++) {
    TN_TRY_TO(done, tn_listed_read(sweep->table, &list.items[i], sweep_live, &p, &why));
  }
done:
  tn_kept_reset(&p.own);
  if (st == TARN_E_NOT_FOUND) {
    st = TARN_OK;
  }
  return leave_corrupt(sweep->table, st, s->base_manifest_list, &why, err);
}

/* ------------------------------------------------------------------ removing */

static tarn_status text_of(tn_sweep *sweep, tn_slice slice, const char **out, tarn_error *err) {
  sweep->text.len = 0;
  TN_TRY(tn_buf_append(&sweep->text, slice.data, slice.len, err));
  TN_TRY(tn_buf_append(&sweep->text, "", 1, err));
  *out = (const char *)sweep->text.data;
  return TARN_OK;
}

tarn_status tn_sweep_run(tn_sweep *sweep, const tarn_cancel *cancel, tarn_error *err) {
  const char *path;
  for (size_t i = 0; i < sweep->paths.count; i++) {
    if (i % CANCEL_EVERY == 0) {
      TN_TRY(tn_cancel_check(cancel, err));
    }
    TN_TRY(text_of(sweep, sweep->paths.entries[i].key, &path, err));
    TN_TRY(tn_storage_remove(sweep->table->storage, path, err));
  }
  return TARN_OK;
}

/* The bucket, then what is empty above it, up to the table. */
tarn_status tn_sweep_folders(tn_sweep *sweep, tarn_error *err) {
  const tn_table *t = sweep->table;
  const char *root = t->facts.data_path_directory == NULL
                         ? t->path
                         : tn_path_join(&sweep->arena, t->path, t->facts.data_path_directory, NULL);
  const char *path;
  size_t n_root;
  if (root == NULL) {
    return tn_oom(err);
  }
  n_root = strlen(root);
  for (size_t i = 0; i < sweep->folders.count; i++) {
    size_t n = sweep->folders.entries[i].key.len;
    TN_TRY(text_of(sweep, sweep->folders.entries[i].key, &path, err));
    while (n > n_root && tn_storage_remove_empty_folder(t->storage, path)) {
      while (n > n_root && path[n - 1] != '/') {
        n--;
      }
      n--;
      sweep->text.data[n] = '\0';
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ what deleting takes */

void tn_clearing_init(tn_clearing *c, tn_table *table) {
  c->table = table;
  tn_arena_init(&c->arena, &table->env->mem, CLEARING_BYTES);
  tn_kept_init(&c->kept, table);
  tn_sweep_init(&c->files, table);
  tn_sweep_init(&c->metas, table);
}

void tn_clearing_reset(tn_clearing *c) {
  tn_sweep_reset(&c->metas);
  tn_sweep_reset(&c->files);
  tn_kept_reset(&c->kept);
  tn_arena_reset(&c->arena);
}
