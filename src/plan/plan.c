/* plan.c - one batch plan, step by step.
 *
 *   snapshot -> manifest lists -> manifests (pruned) -> entries (entries.c) -> groups (groups.c)
 *   -> pruning by bucket -> splits (packing.c) with deletion vectors -> limit
 *
 * Invariants
 *   P1  A value filter never drops a file that may hide, or be needed by, another version of a row:
 *       see prune_groups().
 *   P2  A plan that stops at a limit holds at least that many rows for certain.
 *   P3  A snapshot that expires while the latest one is planned costs another try, not an error.
 *
 * Rule: org.apache.paimon.table.source.DataTableBatchScan, operation.KeyValueFileStoreScan,
 * AppendOnlyFileStoreScan. Spec: scan-plan, 6 to 9.
 */
#include "plan/plan.h"

#include <stdlib.h>

#include "plan/deletions.h"
#include "plan/evolution.h"
#include "plan/packing.h"
#include "plan/plan_internal.h"
#include "plan/travel.h"

#define MAX_TRIES 4 /* of planning the latest snapshot while snapshots expire */
#define PATH_LIMIT ((size_t)1 << 20)

typedef struct planner {
  const tn_scan *scan;
  tn_table *table;
  tn_plan *plan;
  tn_arena scratch;
  tn_scan_filter filter;
  tn_entries_request request;
  tn_manifest_refs manifests;
  tn_entries entries;
  tn_file_groups groups;
  tn_deletions deletions;
  size_t split_capacity;
  bool has_value_filter; /* rows of planned files may still be filtered out */
} planner;

/* ------------------------------------------------------------------ manifest lists */

/* Does the manifest hold anything that can be seen? */
static tarn_status keeps_manifest(planner *p, const tn_manifest_file *m, bool *out,
                                  tarn_error *err) {
  const tn_entries_request *r = &p->request;
  bool counts_hidden = p->scan->keeps_stats;
  *out = false;
  if (m->n_added <= 0 && m->n_deleted <= 0) {
    return TARN_OK;
  }
  if (r->hides_postpone && m->has_buckets_min && m->has_buckets_max && m->max_bucket < 0 &&
      !counts_hidden) {
    return TARN_OK;
  }
  if (r->hides_level_0 && m->has_level_min && m->has_level_max && m->max_level <= 0 &&
      !counts_hidden) {
    return TARN_OK;
  }
  return tn_scan_filter_manifest(&p->filter, m, out, err);
}

static tarn_status on_manifest(void *ctx, const tn_manifest_file *m, tarn_error *err) {
  planner *p = ctx;
  bool keeps;
  p->plan->stats.manifests_total++;
  p->plan->stats.files_total += m->n_added - m->n_deleted;
  TN_TRY(keeps_manifest(p, m, &keeps, err));
  return keeps ? tn_manifest_refs_add(&p->manifests, &p->scratch, m, err) : TARN_OK;
}

static tarn_status read_list(planner *p, const char *name, int64_t size_bytes, tarn_error *err) {
  const tn_manifest_name list = {name, size_bytes, -1};
  if (name == NULL) {
    return TARN_OK;
  }
  return tn_manifest_list_read(p->table->env, p->table->storage, &tn_plan_readers, p->table->path,
                               &list, on_manifest, p, err);
}

/* ------------------------------------------------------------------ options */

static tarn_status read_options(planner *p, tarn_error *err) {
  const tn_options *options = &p->table->options;
  tn_entries_request *r = &p->request;
  int64_t number;
  bool is_set;
  TN_TRY(tn_options_int(options, "scan.manifest.parallelism", &number, &is_set, err));
  if (is_set && number > 0) {
    r->max_threads = number > INT32_MAX ? INT32_MAX : (int32_t)number;
  }
  r->hides_level_0 = p->table->facts.has_primary_key && p->table->facts.skips_level_0;
  r->hides_postpone = p->table->facts.bucket_mode == TN_BUCKETS_POSTPONE;
  return TARN_OK;
}

/* A plain scan of an append table needs no more files once it has enough rows. */
static bool stops_at_limit(const planner *p) {
  const tn_table_facts *f = &p->table->facts;
  return p->scan->limit >= 0 && !p->has_value_filter && !f->has_primary_key &&
         !f->deletion_vectors && !f->data_evolution;
}

static void set_up_request(planner *p) {
  tn_entries_request *r = &p->request;
  const tn_table_facts *f = &p->table->facts;
  r->table = p->table;
  r->filter = &p->filter;
  r->manifests = p->manifests.items;
  r->n_manifests = (int32_t)p->manifests.count;
  // Append files stand alone, and so do those above level 0 where level 0 is hidden.
  r->prunes_by_value = f->has_primary_key ? r->hides_level_0 : true;
  r->keeps_stats = p->scan->keeps_stats || p->filter.evolution != NULL;
  r->row_limit = stops_at_limit(p) ? p->scan->limit : -1;
  r->cancel = p->scan->cancel;
}

/* ------------------------------------------------------------------ pruning by bucket */

static void keep_matching(tn_file_group *group) {
  int64_t n = 0;
  for (int64_t i = 0; i < group->n_files; i++) {
    if (group->files[i]->may_match) {
      group->files[n++] = group->files[i];
    }
  }
  group->n_files = n;
}

static bool any_matches(const tn_file_group *group) {
  for (int64_t i = 0; i < group->n_files; i++) {
    if (group->files[i]->may_match) {
      return true;
    }
  }
  return false;
}

/* The value filter on merged buckets. Dropping a file could bring back an older version of its keys
 * that another file holds; so where files overlap, all of them stay if one may match. Engines that
 * put a row together from several versions can give values that are in no single file at all. */
static void prune_groups(planner *p) {
  const tn_table_facts *f = &p->table->facts;
  bool combines = !f->deletion_vectors && (f->merge_engine == TN_ENGINE_PARTIAL_UPDATE ||
                                           f->merge_engine == TN_ENGINE_AGGREGATION);
  if (!f->has_primary_key || p->filter.value == NULL || p->request.prunes_by_value) {
    return;
  }
  for (int64_t g = 0; g < p->groups.count; g++) {
    tn_file_group *group = &p->groups.items[g];
    if (tn_group_never_overlaps(group)) {
      keep_matching(group);
    } else if (!combines && !any_matches(group)) {
      group->n_files = 0;
    }
  }
}

/* The value filter on rows whose columns lie in several files. */
static tarn_status prune_evolution(planner *p, tarn_error *err) {
  for (int64_t g = 0; g < p->groups.count; g++) {
    TN_TRY(tn_evolution_prune(&p->filter, &p->groups.items[g], &p->scratch, err));
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ splits */

static tarn_status bucket_path(planner *p, const tn_file_group *group, const char **out,
                               tarn_error *err) {
  tn_buf buf;
  tarn_status st;
  tn_buf_init(&buf, &p->table->env->mem, PATH_LIMIT);
  st = tn_bucket_path(p->table, group->partition, group->bucket, &buf, err);
  if (st == TARN_OK) {
    *out = tn_arena_strndup(&p->plan->arena, (const char *)buf.data, buf.len);
    st = *out != NULL ? TARN_OK : tn_oom(err);
  }
  tn_buf_reset(&buf);
  return st;
}

static tarn_status attach_deletions(planner *p, tn_split *split, tarn_error *err) {
  tn_dv_place *places = tn_arena_calloc(&p->plan->arena, (size_t)split->n_files, sizeof(*places));
  if (places == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < split->n_files; i++) {
    tn_deletions_find(&p->deletions, split->partition, split->bucket, split->files[i].file_name,
                      &places[i]);
  }
  split->deletions = places;
  return TARN_OK;
}

static tarn_status add_split(planner *p, const tn_file_group *group, const tn_pack *pack,
                             const char *path, tarn_error *err) {
  tn_plan *plan = p->plan;
  void *splits = plan->splits;
  tn_split *split;
  tn_data_file *files = tn_arena_alloc(&plan->arena, (size_t)pack->n_files * sizeof(*files));
  if (plan->n_splits == INT32_MAX) {
    return tn_fail(err, TARN_E_LIMIT, "more than %d splits", INT32_MAX);
  }
  if (files == NULL || !tn_arena_grow(&p->scratch, &splits, &p->split_capacity,
                                      (size_t)plan->n_splits, sizeof(*split))) {
    return tn_oom(err);
  }
  plan->splits = splits;
  for (int32_t i = 0; i < pack->n_files; i++) {
    tn_scan_entry_file(pack->files[i], &files[i]);
  }
  split = &plan->splits[plan->n_splits++];
  *split = (tn_split){.plan = plan,
                      .snapshot_id = plan->has_snapshot ? plan->snapshot.id : 0,
                      .partition = group->partition,
                      .bucket = group->bucket,
                      .bucket_path = path,
                      .has_total_buckets = true,
                      .total_buckets = group->total_buckets,
                      .files = files,
                      .n_files = pack->n_files,
                      .is_raw_convertible = pack->is_raw_convertible};
  return p->table->facts.deletion_vectors ? attach_deletions(p, split, err) : TARN_OK;
}

static tarn_status make_splits(planner *p, tarn_error *err) {
  tn_arena arena;  // of one group at a time
  tarn_status st = TARN_OK;
  tn_arena_init(&arena, &p->table->env->mem, TN_PLAN_ARENA_BYTES);
  for (int64_t g = 0; g < p->groups.count; g++) {
    tn_file_group *group = &p->groups.items[g];
    const char *path;
    tn_packs packs;
    if (group->n_files == 0) {
      continue;
    }
    TN_TRY_TO(done, tn_cancel_check(p->scan->cancel, err));
    TN_TRY_TO(done, tn_pack_group(p->table, group, &arena, &packs, err));
    TN_TRY_TO(done, bucket_path(p, group, &path, err));
    for (int32_t i = 0; i < packs.count; i++) {
      TN_TRY_TO(done, add_split(p, group, &packs.items[i], path, err));
    }
    tn_arena_reset(&arena);
  }
done:
  tn_arena_reset(&arena);
  return st;
}

/* Splits of which the row count is known, until they hold the limit; else all of them. */
static void cut_at_limit(planner *p) {
  tn_plan *plan = p->plan;
  int64_t rows = 0;
  int32_t n = 0, last = 0;
  if (p->scan->limit < 0 || p->has_value_filter) {
    return;
  }
  for (; last < plan->n_splits && rows < p->scan->limit; last++) {
    int64_t known = tn_split_row_count(&plan->splits[last]);
    rows += known > 0 ? known : 0;
  }
  if (rows < p->scan->limit) {
    return;
  }
  for (int32_t i = 0; i < last; i++) {
    if (tn_split_row_count(&plan->splits[i]) >= 0) {
      plan->splits[n++] = plan->splits[i];
    }
  }
  plan->n_splits = n;
}

/* ------------------------------------------------------------------ planning */

static tarn_status take_over_memory(planner *p, tarn_error *err) {
  tn_plan *plan = p->plan;
  int32_t n = p->entries.n_workers;
  tn_split *splits;
  plan->parts = tn_arena_calloc(&plan->arena, (size_t)n + 1, sizeof(*plan->parts));
  splits = tn_arena_alloc(&plan->arena, ((size_t)plan->n_splits + 1) * sizeof(*splits));
  if (plan->parts == NULL || splits == NULL) {
    return tn_oom(err);
  }
  if (plan->n_splits > 0) {
    memcpy(splits, plan->splits, (size_t)plan->n_splits * sizeof(*splits));
  }
  plan->splits = splits;
  tn_entries_take_arenas(&p->entries, plan->parts);
  plan->n_parts = n;
  return TARN_OK;
}

static void count_files(planner *p) {
  tn_plan_stats *stats = &p->plan->stats;
  int64_t planned = 0;
  for (int32_t i = 0; i < p->plan->n_splits; i++) {
    planned += p->plan->splits[i].n_files;
  }
  stats->manifests_read = p->entries.n_manifests_read;
  stats->files_hidden_level_0 = p->entries.hidden_level_0;
  stats->rows_hidden_level_0 = p->entries.hidden_level_0_rows;
  stats->files_hidden_postpone = p->entries.hidden_postpone;
  stats->rows_hidden_postpone = p->entries.hidden_postpone_rows;
  stats->files_pruned =
      stats->files_total - planned - stats->files_hidden_level_0 - stats->files_hidden_postpone;
  if (stats->files_pruned < 0) {
    stats->files_pruned = 0;
  }
}

static tarn_status plan_snapshot(planner *p, tarn_error *err) {
  const tn_snapshot *s = &p->plan->snapshot;
  TN_TRY(tn_scan_filter_init(&p->filter, p->table, p->scan->predicate, &p->scratch, err));
  TN_TRY(read_options(p, err));
  p->has_value_filter = p->filter.value != NULL || p->filter.evolution != NULL;
  TN_TRY(read_list(p, s->base_manifest_list, s->base_manifest_list_size, err));
  TN_TRY(read_list(p, s->delta_manifest_list, s->delta_manifest_list_size, err));
  set_up_request(p);
  TN_TRY(tn_entries_read(&p->request, &p->entries, err));
  TN_TRY(
      tn_groups_make(p->table, p->entries.items, p->entries.count, &p->scratch, &p->groups, err));
  prune_groups(p);
  TN_TRY(prune_evolution(p, err));
  if (p->table->facts.deletion_vectors && s->index_manifest != NULL && p->groups.count > 0) {
    TN_TRY(tn_deletions_read(p->table, s->index_manifest, &p->groups, &p->plan->arena,
                             &p->deletions, err));
  }
  TN_TRY(make_splits(p, err));
  cut_at_limit(p);
  count_files(p);
  return take_over_memory(p, err);
}

tn_plan *tn_plan_new(tarn_env *env, tn_table *table) {
  tn_plan *plan = tn_calloc(&env->mem, 1, sizeof(*plan));
  if (plan != NULL) {
    plan->refs = 1;
    plan->env = env;
    tn_arena_init(&plan->arena, &env->mem, TN_PLAN_ARENA_BYTES);
    plan->table = table != NULL ? tn_table_retain(table) : NULL;
  }
  return plan;
}

/* Plan once. *lost: the id of the snapshot when it is the latest one and something of it is gone.
 */
static tarn_status try_plan(const tn_scan *scan, tn_plan **out, int64_t *lost, tarn_error *err) {
  tarn_env *env = scan->table->env;
  planner p = {.scan = scan, .table = scan->table};
  tn_travel travel = {0};
  tarn_status st = TARN_OK;
  p.plan = tn_plan_new(env, scan->table);
  if (p.plan == NULL) {
    return tn_oom(err);
  }
  tn_arena_init(&p.scratch, &env->mem, TN_PLAN_ARENA_BYTES);
  tn_map_init(&p.deletions.by_file, &env->mem);
  TN_TRY_TO(done, tn_travel_resolve(scan->table, &p.plan->arena, &travel, err));
  p.plan->has_snapshot = travel.has_snapshot;
  p.plan->snapshot = travel.snapshot;
  if (travel.has_snapshot) {
    st = plan_snapshot(&p, err);
    if (st == TARN_E_NOT_FOUND) {
      *lost = travel.is_latest ? travel.snapshot.id : 0;
      st = tn_error_context(err, st,
                            "%s: snapshot %lld cannot be read, it may have been expired meanwhile",
                            scan->table->full_name, (long long)travel.snapshot.id);
    }
  }
done:
  tn_deletions_reset(&p.deletions);
  tn_entries_reset(&p.entries);
  tn_arena_reset(&p.scratch);
  if (st == TARN_OK) {
    *out = p.plan;
  } else {
    p.plan->n_splits = 0;
    tn_plan_release(p.plan);
  }
  return st;
}

tarn_status tn_plan_create(const tn_scan *scan, tn_plan **out, tarn_error *err) {
  tn_table *table = scan->table;
  tarn_status st = TARN_OK;
  *out = NULL;
  for (int32_t i = 0; i < MAX_TRIES; i++) {
    int64_t lost = 0, latest;
    st = try_plan(scan, out, &lost, err);
    if (lost == 0 ||
        tn_snapshot_latest_id(table->env, table->storage, table->branch_path, &latest, NULL) !=
            TARN_OK ||
        latest == lost) {
      break;
    }
  }
  return tn_table_fault(table, st, err);
}

tn_plan *tn_plan_retain(tn_plan *plan) {
  atomic_fetch_add_explicit(&plan->refs, 1, memory_order_relaxed);
  return plan;
}

void tn_plan_release(tn_plan *plan) {
  tarn_env *env;
  tn_arena arena;
  if (plan == NULL || atomic_fetch_sub_explicit(&plan->refs, 1, memory_order_acq_rel) != 1) {
    return;
  }
  env = plan->env;
  for (int32_t i = 0; i < plan->n_parts; i++) {
    tn_arena_reset(&plan->parts[i]);
  }
  arena = plan->arena;
  tn_arena_reset(&arena);
  tn_table_release(plan->table);
  tn_free(&env->mem, plan);
}

/* ------------------------------------------------------------------ splits */

/* Rows of column files that stand side by side count once: those of the longest file of each group
 * of overlapping row ids. Files are ordered by row id within a split of a data evolution table. */
static int64_t evolution_row_count(const tn_split *split) {
  int64_t sum = 0, end = -1, most = 0;
  for (int32_t i = 0; i < split->n_files; i++) {
    const tn_data_file *f = &split->files[i];
    int64_t last;
    if (!f->has_first_row_id || f->first_row_id < 0 || f->row_count < 0 ||
        __builtin_add_overflow(f->first_row_id, f->row_count - 1, &last)) {
      return -1;
    }
    if (f->first_row_id > end) {
      sum += most;
      most = 0;
    }
    most = f->row_count > most ? f->row_count : most;
    end = last > end ? last : end;
  }
  return sum + most;
}

int64_t tn_split_row_count(const tn_split *split) {
  static const uint8_t no_columns[4] = {0};
  int64_t rows = 0, deleted = 0;
  bool has_row_ids = split->n_files > 0, has_keys = false;
  for (int32_t i = 0; i < split->n_files; i++) {
    const tn_data_file *f = &split->files[i];
    bool is_keyed = f->min_key.len > 4 && memcmp(f->min_key.data, no_columns, 4) != 0;
    // A file of an old writer may hold deletions that were not counted.
    if (is_keyed && !f->has_delete_row_count) {
      return -1;
    }
    has_keys = has_keys || is_keyed;
    if (split->deletions != NULL && split->deletions[i].path != NULL) {
      if (split->deletions[i].cardinality < 0 ||
          __builtin_add_overflow(deleted, split->deletions[i].cardinality, &deleted)) {
        return -1;
      }
    }
    if (f->row_count < 0 || __builtin_add_overflow(rows, f->row_count, &rows)) {
      return -1;
    }
    has_row_ids = has_row_ids && f->has_first_row_id;
  }
  if (!split->is_raw_convertible) {
    rows = has_row_ids && !has_keys ? evolution_row_count(split) : -1;
  }
  return rows >= deleted ? rows - deleted : -1;
}

tarn_status tn_split_file_path(const tn_split *split, int32_t i, tn_arena *arena, const char **out,
                               tarn_error *err) {
  const tn_data_file *f = &split->files[i];
  *out = f->has_external_path
             ? tn_arena_strndup(arena, (const char *)f->external_path.data, f->external_path.len)
             : tn_arena_printf(arena, "%s/%.*s", split->bucket_path, (int)f->file_name.len,
                               (const char *)f->file_name.data);
  return *out != NULL ? TARN_OK : tn_oom(err);
}
