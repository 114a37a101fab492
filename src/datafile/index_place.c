/* index_place.c - where index files lie. */
#include "datafile/index_place.h"

#include <string.h>

#include "model/partition.h"

tarn_status tn_index_file_path(const tn_table *table, const tn_index_entry *entry, tn_arena *arena,
                               const char **out, tarn_error *err) {
  const char *folder;
  if (entry->has_external_path) {
    const char *text =
        tn_arena_strndup(arena, (const char *)entry->external_path.data, entry->external_path.len);
    return text != NULL ? tn_path_plain(arena, text, out, err) : tn_oom(err);
  }
  if (table->facts.index_in_data_dir) {
    TN_TRY(tn_bucket_folder(table, entry->partition, entry->bucket, arena, &folder, err));
    *out = tn_arena_printf(arena, "%s/%.*s", folder, TN_SLICE_ARG(entry->file_name));
  } else {
    *out = tn_arena_printf(arena, "%s/index/%.*s", table->path, TN_SLICE_ARG(entry->file_name));
  }
  return *out != NULL ? TARN_OK : tn_oom(err);
}

tarn_status tn_index_folder_sync(const tn_table *table, const char *path, tn_arena *arena,
                                 tarn_error *err) {
  const char *folder = tn_arena_strndup(arena, path, (size_t)(strrchr(path, '/') - path));
  return folder != NULL ? tn_storage_sync_folders(table->storage, folder, table->path, err)
                        : tn_oom(err);
}

tarn_status tn_index_vectors_write(tn_table *table, const tn_index_entry *place,
                                   tn_data_file_names *names, const tn_dv_named *vectors, size_t n,
                                   int64_t target_bytes, tn_arena *arena, tn_index_files *made,
                                   tarn_error *err) {
  const char *path = NULL;
  size_t n_written;
  for (size_t at = 0; at < n; at += n_written) {
    tn_index_entry named = {.partition = place->partition, .bucket = place->bucket};
    tn_index_entry *entry = &made->items[made->n];
    const char *name;
    TN_TRY(tn_data_file_names_next(table->env, names, arena, "index-", "", &name, err));
    named.file_name = tn_slice_text(name);
    TN_TRY(tn_index_file_path(table, &named, arena, &path, err));
    TN_TRY(tn_dv_file_write(table->env, table->storage, path, vectors + at, n - at, target_bytes,
                            arena, entry, &n_written, err));
    entry->partition = place->partition;
    entry->bucket = place->bucket;
    made->n++;
  }
  return path != NULL ? tn_index_folder_sync(table, path, arena, err) : TARN_OK;
}

void tn_index_files_remove(const tn_table *table, const tn_index_files *files) {
  tn_arena arena;
  tn_arena_init(&arena, &table->env->mem, 1 << 24);
  for (int32_t i = 0; i < files->n; i++) {
    const char *path;
    if (tn_index_file_path(table, &files->items[i], &arena, &path, NULL) != TARN_OK ||
        tn_storage_remove(table->storage, path, NULL) != TARN_OK) {
      tn_log(table->env, TARN_LOG_WARN, "event=index_not_removed file=%.*s",
             TN_SLICE_ARG(files->items[i].file_name));
    }
  }
  tn_arena_reset(&arena);
}
