/* split_maker.c - splits in Java's order of groups and packs; nothing is read here. */
#include "plan/split_maker.h"

tarn_status tn_split_maker_path(const tn_split_maker *maker, const tn_file_group *group,
                                const char **out, tarn_error *err) {
  tn_plan *plan = maker->plan;
  return tn_bucket_folder(plan->table, group->partition, group->bucket, &plan->arena, out, err);
}

tarn_status tn_split_maker_vectors(const tn_split_maker *maker, const tn_deletions *deletions,
                                   const tn_split *split, const tn_data_file *files, int32_t n,
                                   const tn_dv_place **out, tarn_error *err) {
  tn_plan *plan = maker->plan;
  tn_dv_place *places;
  *out = NULL;
  if (!plan->table->facts.deletion_vectors) {
    return TARN_OK;
  }
  places = tn_arena_calloc(&plan->arena, (size_t)n + 1, sizeof(*places));
  if (places == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n; i++) {
    tn_deletions_find(deletions, split->partition, split->bucket, files[i].file_name, &places[i]);
  }
  *out = places;
  return TARN_OK;
}

tarn_status tn_split_maker_files(const tn_split_maker *maker, const tn_scan_entry *const *entries,
                                 int64_t n, const tn_data_file **out, int32_t *n_out,
                                 tarn_error *err) {
  tn_data_file *files;
  if (n > INT32_MAX) {
    return tn_fail(err, TARN_E_LIMIT, "more than %d files in a split", INT32_MAX);
  }
  files = tn_arena_alloc(&maker->plan->arena, ((size_t)n + 1) * sizeof(*files));
  if (files == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < n; i++) {
    tn_scan_entry_file(entries[i], &files[i]);
  }
  *out = files;
  *n_out = (int32_t)n;
  return TARN_OK;
}

tarn_status tn_split_maker_add(tn_split_maker *maker, const tn_file_group *group, tn_split **out,
                               tarn_error *err) {
  tn_plan *plan = maker->plan;
  void *splits = plan->splits;
  if (plan->n_splits == INT32_MAX) {
    return tn_fail(err, TARN_E_LIMIT, "more than %d splits", INT32_MAX);
  }
  if (!tn_arena_grow(maker->scratch, &splits, &maker->capacity, (size_t)plan->n_splits,
                     sizeof(**out))) {
    return tn_oom(err);
  }
  plan->splits = splits;
  *out = &plan->splits[plan->n_splits++];
  **out = (tn_split){.plan = plan,
                     .snapshot_id = plan->has_snapshot ? plan->snapshot.id : 0,
                     .partition = group->partition,
                     .bucket = group->bucket,
                     .has_total_buckets = true,
                     .total_buckets = group->total_buckets};
  return TARN_OK;
}

tarn_status tn_split_maker_add_pack(tn_split_maker *maker, const tn_file_group *group,
                                    const tn_pack *pack, const char *bucket_path, bool is_streaming,
                                    const tn_deletions *deletions, tarn_error *err) {
  tn_split *split;
  TN_TRY(tn_split_maker_add(maker, group, &split, err));
  TN_TRY(
      tn_split_maker_files(maker, pack->files, pack->n_files, &split->files, &split->n_files, err));
  split->bucket_path = bucket_path;
  split->is_streaming = is_streaming;
  split->is_raw_convertible = pack->is_raw_convertible;
  return is_streaming ? TARN_OK
                      : tn_split_maker_vectors(maker, deletions, split, split->files,
                                               split->n_files, &split->deletions, err);
}

tarn_status tn_split_maker_finish(tn_split_maker *maker, tn_entries *const *sets, size_t n_sets,
                                  tarn_error *err) {
  tn_plan *plan = maker->plan;
  tn_split *splits = tn_arena_alloc(&plan->arena, ((size_t)plan->n_splits + 1) * sizeof(*splits));
  size_t n_parts = 0;
  for (size_t i = 0; i < n_sets; i++) {
    n_parts += (size_t)sets[i]->n_workers;
  }
  plan->parts = tn_arena_calloc(&plan->arena, n_parts + 1, sizeof(*plan->parts));
  if (splits == NULL || plan->parts == NULL) {
    return tn_oom(err);
  }
  if (plan->n_splits > 0) {
    memcpy(splits, plan->splits, (size_t)plan->n_splits * sizeof(*splits));
  }
  plan->splits = splits;
  for (size_t i = 0; i < n_sets; i++) {
    tn_entries_take_arenas(sets[i], plan->parts + plan->n_parts);
    plan->n_parts += sets[i]->n_workers;
  }
  return TARN_OK;
}
