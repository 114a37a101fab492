/* vectors.c - the deletion vectors of one bucket, loaded, changed, written. */
#include "compact/vectors.h"

#include "datafile/index_place.h"
#include "index/deletion_vector_write.h"

#define ARENA_LIMIT ((size_t)1 << 30)
#define INDEX_TYPE "DELETION_VECTORS"

void tn_vectors_init(tn_vectors *vectors, tn_table *table, tn_slice partition, int32_t bucket) {
  *vectors = (tn_vectors){.table = table, .partition = partition, .bucket = bucket};
  tn_arena_init(&vectors->arena, &table->env->mem, ARENA_LIMIT);
  tn_map_init(&vectors->by_file, &table->env->mem);
}

void tn_vectors_reset(tn_vectors *vectors) {
  for (size_t i = 0; i < vectors->by_file.count; i++) {
    tn_dv_release(vectors->by_file.entries[i].value.ptr);
  }
  tn_map_reset(&vectors->by_file);
  tn_arena_reset(&vectors->arena);
}

tarn_status tn_vectors_reserve(tn_vectors *v, tn_slice data_file, tarn_error *err) {
  tn_map_entry *entry;
  tn_slice name;
  if (tn_map_find(&v->by_file, data_file) != NULL) {
    return TARN_OK;
  }
  return tn_arena_slice(&v->arena, data_file, &name)
             ? tn_map_put(&v->by_file, name, &entry, NULL, err)
             : tn_oom(err);
}

static void replace(tn_map_entry *entry, tn_dv *dv) {
  tn_dv_release(entry->value.ptr);
  entry->value.ptr = dv;
}

static tarn_status load_file(tn_vectors *v, const tn_index_entry *e, const tn_map *live,
                             tarn_error *err) {
  const tn_dv_range *ranges = e->dv_ranges.items;
  const char *path;
  TN_TRY(tn_index_file_path(v->table, e, &v->arena, &path, err));
  if (!tn_arena_slice(&v->arena, e->file_name, &v->index_file)) {
    return tn_oom(err);
  }
  for (int64_t k = 0; e->has_dv_ranges && k < e->dv_ranges.count; k++) {
    tn_dv_place place = {path, ranges[k].offset, ranges[k].length,
                         ranges[k].has_cardinality ? ranges[k].cardinality : -1};
    tn_dv *dv;
    if (place.offset < 0 || place.length < 0) {
      return tn_fail(err, TARN_E_CORRUPT, "%s: deletion vector of %.*s at %lld, %lld bytes", path,
                     TN_SLICE_ARG(ranges[k].data_file), (long long)place.offset,
                     (long long)place.length);
    }
    if (tn_map_find(live, ranges[k].data_file) == NULL) {
      continue;
    }
    TN_TRY(tn_vectors_reserve(v, ranges[k].data_file, err));
    TN_TRY(tn_dv_load(v->table->env, v->table->storage, &place, &dv, err));
    replace(tn_map_find(&v->by_file, ranges[k].data_file), dv);
  }
  return TARN_OK;
}

tarn_status tn_vectors_load(tn_vectors *v, const tn_index_entry *entries, int32_t n_entries,
                            const tn_data_file *files, int32_t n_files, tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_map live;
  tn_map_init(&live, &v->table->env->mem);
  for (int32_t i = 0; i < n_files; i++) {
    tn_map_entry *entry;
    TN_TRY_TO(done, tn_map_put(&live, files[i].file_name, &entry, NULL, err));
  }
  for (int32_t i = 0; i < n_entries; i++) {
    if (tn_slice_is(entries[i].index_type, INDEX_TYPE)) {
      TN_TRY_TO(done, load_file(v, &entries[i], &live, err));
    }
  }
done:
  tn_map_reset(&live);
  return st;
}

tn_dv *tn_vectors_find(const tn_vectors *vectors, tn_slice data_file) {
  const tn_map_entry *entry = tn_map_find(&vectors->by_file, data_file);
  return entry != NULL ? entry->value.ptr : NULL;
}

void tn_vectors_set(tn_vectors *v, tn_slice data_file, tn_dv *dv) {
  tn_map_entry *entry = tn_map_find(&v->by_file, data_file);
  if (entry != NULL && entry->value.ptr != dv) {
    replace(entry, dv);
    v->has_changed = true;
  }
}

/* Forget the names of files that have no vector any more. */
static tarn_status tidy(tn_vectors *v, tarn_error *err) {
  tn_vectors fresh;
  tarn_status st = TARN_OK;
  tn_vectors_init(&fresh, v->table, v->partition, v->bucket);
  for (size_t i = 0; i < v->by_file.count && st == TARN_OK; i++) {
    const tn_map_entry *e = &v->by_file.entries[i];
    if (e->value.ptr != NULL) {
      st = tn_vectors_reserve(&fresh, e->key, err);
      if (st == TARN_OK) {
        replace(tn_map_find(&fresh.by_file, e->key), tn_dv_retain(e->value.ptr));
      }
    }
  }
  if (st == TARN_OK && !tn_arena_slice(&fresh.arena, v->index_file, &fresh.index_file)) {
    st = tn_oom(err);
  }
  if (st != TARN_OK) {
    tn_vectors_reset(&fresh);
    return st;
  }
  fresh.has_changed = v->has_changed;
  fresh.names = v->names;
  tn_vectors_reset(v);
  *v = fresh;
  return TARN_OK;
}

static tarn_status write_file(tn_vectors *v, const tn_dv_named *list, size_t n, tn_arena *arena,
                              tn_index_entry *entry, tarn_error *err) {
  tn_table *t = v->table;
  tn_index_entry named = {.bucket = v->bucket};
  const char *path;
  size_t n_written;
  tarn_status st;
  TN_TRY(tn_data_file_names_next(t->env, &v->names, arena, "index-", "", &path, err));
  if (!tn_arena_slice(arena, v->partition, &named.partition)) {
    return tn_oom(err);
  }
  named.file_name = tn_slice_text(path);
  if (!tn_arena_slice(&v->arena, named.file_name, &v->next_file)) {
    return tn_oom(err);
  }
  TN_TRY(tn_index_file_path(t, &named, arena, &path, err));
  TN_TRY(tn_dv_file_write(t->env, t->storage, path, list, n, 0, arena, entry, &n_written, err));
  entry->partition = named.partition;
  entry->bucket = named.bucket;
  st = tn_index_folder_sync(t, path, arena, err);
  if (st != TARN_OK && tn_storage_remove(t->storage, path, NULL) != TARN_OK) {
    tn_log(t->env, TARN_LOG_WARN, "event=index_not_removed file=%s", path);
  }
  return st;
}

tarn_status tn_vectors_write(tn_vectors *v, tn_arena *arena, tn_index_files *out,
                             tn_index_files *replaced, tarn_error *err) {
  tn_dv_named *list;
  tn_index_entry *entries; /* the new one, the old one */
  tn_slice name;
  *out = *replaced = (tn_index_files){NULL, 0};
  if (!v->has_changed) {
    return TARN_OK;
  }
  TN_TRY(tidy(v, err));
  list = tn_arena_calloc(arena, v->by_file.count, sizeof(*list));
  entries = tn_arena_calloc(arena, 2, sizeof(*entries));
  if (list == NULL || entries == NULL || !tn_arena_slice(arena, v->index_file, &name)) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < v->by_file.count; i++) {
    list[i] = (tn_dv_named){v->by_file.entries[i].key, v->by_file.entries[i].value.ptr};
  }
  TN_TRY(write_file(v, list, v->by_file.count, arena, &entries[0], err));
  v->index_file = v->next_file;
  entries[1] = (tn_index_entry){.kind = TN_FILE_DELETE,
                                .partition = entries[0].partition,
                                .bucket = entries[0].bucket,
                                .index_type = entries[0].index_type,
                                .file_name = name.len > 0 ? name : entries[0].file_name};
  *out = (tn_index_files){entries, 1};
  *replaced = (tn_index_files){entries + 1, 1};
  v->has_changed = false;
  return TARN_OK;
}
