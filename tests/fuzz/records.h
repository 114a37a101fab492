/* records.h - the same bytes as a manifest list, a manifest and an index manifest, all parts of
 * their records read; for the fuzzers of records.
 */
#ifndef TN_TESTS_FUZZ_RECORDS_H
#define TN_TESTS_FUZZ_RECORDS_H

#include "base/env.h"
#include "model/manifest.h"

static volatile uint64_t sum; /* so that all bytes a record points to are read */

static void touch(tn_slice s) {
  for (size_t i = 0; i < s.len; i++) {
    sum += s.data[i];
  }
}

static tarn_status on_file(void *ctx, const tn_manifest_file *file, tarn_error *err) {
  const int64_t *counts = file->partition_stats.null_counts.items;
  (void)ctx;
  (void)err;
  touch(file->file_name);
  touch(file->partition_stats.max_values);
  for (int64_t i = 0; i < file->partition_stats.null_counts.count; i++) {
    sum += (uint64_t)counts[i];
  }
  return TARN_OK;
}

static tarn_status on_entry(void *ctx, const tn_manifest_entry *entry, tarn_error *err) {
  tarn_env *env = ctx;
  tarn_status st;
  tn_arena arena;
  tn_data_file copy;
  tn_arena_init(&arena, &env->mem, SIZE_MAX);
  touch(entry->partition);
  TN_TRY_TO(done, tn_data_file_copy(&arena, &entry->file, true, &copy, err));
  touch(copy.file_name);
  touch(copy.value_stats.max_values);
  for (int64_t i = 0; i < copy.extra_files.count; i++) {
    touch(((const tn_slice *)copy.extra_files.items)[i]);
  }
done:
  tn_arena_reset(&arena);
  return st;
}

static tarn_status on_index(void *ctx, const tn_index_entry *entry, tarn_error *err) {
  (void)ctx;
  (void)err;
  touch(entry->index_type);
  for (int64_t i = 0; i < entry->dv_ranges.count; i++) {
    touch(((const tn_dv_range *)entry->dv_ranges.items)[i].data_file);
  }
  return TARN_OK;
}

static int read_as_each(const tn_record_readers *readers, const uint8_t *data, size_t size) {
  tarn_env_options options = TARN_ENV_OPTIONS_INIT;
  tarn_env *env;
  tn_storage *storage = NULL;
  tarn_error err;
  options.memory_budget_bytes = (size_t)256 << 20;
  if (tarn_env_create(&options, &env, NULL) != TARN_OK) {
    return 0;
  }
  if (tn_storage_memory(env, &storage, &err) == TARN_OK &&
      tn_storage_memory_put(storage, "/t/manifest/m", tn_slice_of(data, size), &err) == TARN_OK) {
    (void)!tn_manifest_list_read(env, storage, readers, "/t", &(tn_manifest_name){"m", -1, -1},
                                 on_file, env, &err);
    (void)!tn_manifest_read(env, storage, readers, "/t", &(tn_manifest_name){"m", -1, -1}, on_entry,
                            env, &err);
    (void)!tn_index_manifest_read(env, storage, readers, "/t", &(tn_manifest_name){"m", -1, -1},
                                  on_index, env, &err);
  }
  tn_storage_release(storage);
  tarn_env_free(env);
  return 0;
}

#endif
