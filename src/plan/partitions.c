/* partitions.c - what partitions a snapshot has, from manifests alone.
 *
 * Rule: org.apache.paimon.manifest.PartitionEntry; batch reads' rules of what is visible (level 0,
 * bucket-postpone) do not count here. Spec: scan-plan, 9 "Partition listing".
 */
#include "plan/entries.h"
#include "plan/groups.h"
#include "plan/plan_internal.h"
#include "plan/travel.h"

static void add_entry(tn_partition_info *info, const tn_scan_entry *e) {
  info->row_count = (int64_t)((uint64_t)info->row_count + (uint64_t)e->row_count);
  info->file_size = (int64_t)((uint64_t)info->file_size + (uint64_t)e->file_size);
  info->file_count++;
  info->total_buckets = e->total_buckets;
  if (e->has_creation_time && e->creation_time_ms > info->last_creation_ms) {
    info->last_creation_ms = e->creation_time_ms;
  }
}

/* Groups of one partition lie together. */
static tarn_status sum_up(const tn_file_groups *groups, tn_arena *arena, tn_partition_info **out,
                          int32_t *n_out, tarn_error *err) {
  tn_partition_info *infos =
      tn_arena_calloc(arena, (size_t)groups->n_partitions + 1, sizeof(*infos));
  int32_t n = 0;
  if (infos == NULL) {
    return tn_oom(err);
  }
  if (groups->n_partitions > INT32_MAX) {
    return tn_fail(err, TARN_E_LIMIT, "more than %d partitions", INT32_MAX);
  }
  for (int64_t g = 0; g < groups->count; g++) {
    const tn_file_group *group = &groups->items[g];
    if (g == 0 || group->partition_index != groups->items[g - 1].partition_index) {
      if (!tn_arena_slice(arena, group->partition, &infos[n].partition)) {
        return tn_oom(err);
      }
      n++;
    }
    for (int64_t i = 0; i < group->n_files; i++) {
      add_entry(&infos[n - 1], group->files[i]);
    }
  }
  *out = infos;
  *n_out = n;
  return TARN_OK;
}

tarn_status tn_plan_snapshot_partitions(tn_table *table, const tn_snapshot *snapshot,
                                        tn_arena *arena, tn_partition_info **out, int32_t *n_out,
                                        tarn_error *err) {
  tn_scan_filter filter = {0};
  tn_manifest_refs manifests = {0};
  tn_entries entries = {0};
  tn_entries_request request = {.table = table, .filter = &filter, .row_limit = -1};
  tn_file_groups groups = {0};
  tn_arena scratch;
  tarn_status st;
  *out = NULL;
  *n_out = 0;
  tn_arena_init(&scratch, &table->env->mem, TN_PLAN_ARENA_BYTES);
  TN_TRY_TO(done, tn_scan_filter_init(&filter, table, NULL, &scratch, err));
  TN_TRY_TO(done, tn_manifest_refs_read(&manifests, table, snapshot, &filter, &scratch, err));
  request.manifests = manifests.items;
  request.n_manifests = (int32_t)manifests.count;
  TN_TRY_TO(done, tn_entries_read(&request, &entries, err));
  TN_TRY_TO(done, tn_groups_make(table, entries.items, entries.count, &scratch, &groups, err));
  TN_TRY_TO(done, sum_up(&groups, arena, out, n_out, err));
done:
  if (st == TARN_E_NOT_FOUND) {
    st = tn_error_context(err, st, "%s: snapshot %lld cannot be read, it may have been expired",
                          table->full_name, (long long)snapshot->id);
  }
  tn_entries_reset(&entries);
  tn_arena_reset(&scratch);
  return st;
}

tarn_status tn_plan_partitions(tn_table *table, tn_arena *arena, tn_partition_info **out,
                               int32_t *n_out, tarn_error *err) {
  tn_travel travel = {0};
  tn_arena scratch;
  tarn_status st;
  *out = NULL;
  *n_out = 0;
  tn_arena_init(&scratch, &table->env->mem, TN_PLAN_ARENA_BYTES);
  st = tn_travel_resolve(table, &scratch, &travel, err);
  if (st == TARN_OK && travel.has_snapshot) {
    st = tn_plan_snapshot_partitions(table, &travel.snapshot, arena, out, n_out, err);
  }
  tn_arena_reset(&scratch);
  return tn_table_fault(table, st, err);
}
