/* plan.c - one batch plan, step by step.
 *
 *   snapshot -> manifest lists -> manifests (pruned) -> entries (entries.c) -> groups (groups.c)
 *   -> pruning by bucket -> splits (packing.c) with deletion vectors -> limit
 *
 * Changes take the delta or changelog lists of several snapshots and are packed alike; a diff takes
 * two states as far as groups, and makes one split of the files of a bucket (diff.c).
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

#include "base/ascii.h"
#include "datafile/row_tracking.h"
#include "plan/diff.h"
#include "plan/evolution.h"
#include "plan/fallback.h"
#include "plan/plan_internal.h"
#include "plan/split_maker.h"
#include "plan/top_n.h"
#include "plan/travel.h"

#define MAX_TRIES 4 /* of planning the latest snapshot while snapshots expire */

/* The files of one snapshot, or of a range of them. */
typedef struct file_set {
  tn_manifest_refs manifests;
  tn_entries entries;
  tn_file_groups groups;
  tn_deletions deletions;
} file_set;

typedef struct planner {
  const tn_scan *scan;
  tn_table *table;
  tn_plan *plan;
  tn_travel travel;
  tn_arena scratch;
  tn_scan_filter filter;
  tn_entries_request request;
  file_set set;    /* what is planned */
  file_set before; /* DIFF */
  file_set *reading;
  tn_split_maker maker;
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
  return keeps ? tn_manifest_refs_add(&p->reading->manifests, &p->scratch, m, err) : TARN_OK;
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

/* Is level 0 seen where it usually waits for a compaction? Changes come in files of level 0, and
 * states are compared with all they hold. */
static tarn_status shows_level_0(const planner *p, bool *out, tarn_error *err) {
  const tn_options *options = &p->table->options;
  const char *mode = tn_options_get(options, "batch-scan-mode");
  TN_TRY(tn_options_bool(options, "deletion-vectors.merge-on-read", out, err));
  *out = (*out && p->table->facts.deletion_vectors) || p->travel.is_incremental ||
         (mode != NULL && tn_slice_is_nocase(tn_slice_text(mode), "compact"));
  return TARN_OK;
}

static tarn_status read_options(planner *p, tarn_error *err) {
  const tn_options *options = &p->table->options;
  tn_entries_request *r = &p->request;
  int64_t number;
  bool is_set, shows;
  TN_TRY(tn_options_int(options, "scan.manifest.parallelism", &number, &is_set, err));
  if (is_set && number > 0) {
    r->max_threads = number > INT32_MAX ? INT32_MAX : (int32_t)number;
  }
  TN_TRY(tn_options_int(options, "scan.bucket", &number, &r->has_bucket, err));
  r->bucket = number >= INT32_MIN && number <= INT32_MAX ? (int32_t)number : INT32_MIN;
  TN_TRY(shows_level_0(p, &shows, err));
  r->hides_level_0 = p->table->facts.has_primary_key && p->table->facts.skips_level_0 && !shows;
  r->hides_postpone = p->table->facts.bucket_mode == TN_BUCKETS_POSTPONE;
  return TARN_OK;
}

/* May reading go on without files that are lost or corrupt? Then no count is certain. */
static bool may_skip_files(const tn_table *table) {
  return table != NULL && (table->facts.ignore_lost_files || table->facts.ignore_corrupt_files);
}

/* A plain scan of an append table needs no more files once it has enough rows. */
static bool stops_at_limit(const planner *p) {
  const tn_table_facts *f = &p->table->facts;
  return p->scan->limit >= 0 && !p->has_value_filter && !f->has_primary_key &&
         !f->deletion_vectors && !f->data_evolution && p->plan->kind != TN_PLAN_DIFF &&
         !may_skip_files(p->table);
}

/* May the value filter drop a file by itself? Append files stand alone, and so do those above level
 * 0 where level 0 is hidden; of a changelog those that hold a row's versions before and after. */
static bool prunes_by_value(const planner *p) {
  const tn_table_facts *f = &p->table->facts;
  switch (p->plan->kind) {
    case TN_PLAN_CHANGELOG:
      return !f->has_primary_key || f->changelog_producer == TN_CHANGELOG_LOOKUP ||
             f->changelog_producer == TN_CHANGELOG_FULL_COMPACTION;
    case TN_PLAN_STATE:
      return !f->has_primary_key || p->request.hides_level_0;
    default:
      return !f->has_primary_key;
  }
}

static void set_up_request(planner *p) {
  tn_entries_request *r = &p->request;
  r->table = p->table;
  r->filter = &p->filter;
  r->prunes_by_value = prunes_by_value(p);
  r->keeps_stats = p->scan->keeps_stats || p->filter.evolution != NULL ||
                   tn_top_n_applies(p->scan, p->has_value_filter, p->plan->kind);
  r->is_changes = p->plan->kind == TN_PLAN_DELTA || p->plan->kind == TN_PLAN_CHANGELOG;
  r->has_min_creation = p->travel.has_min_creation;
  r->min_creation_ms = p->travel.min_creation_ms;
  r->row_limit = stops_at_limit(p) ? p->scan->limit : -1;
  r->cancel = p->scan->cancel;
}

/* The live entries of the manifests that were listed, by bucket. */
static tarn_status read_entries(planner *p, file_set *set, tarn_error *err) {
  p->request.manifests = set->manifests.items;
  p->request.n_manifests = (int32_t)set->manifests.count;
  TN_TRY(tn_entries_read(&p->request, &set->entries, err));
  return tn_groups_make(p->table, set->entries.items, set->entries.count, &p->scratch, &set->groups,
                        err);
}

/* The state of a snapshot. */
static tarn_status read_state(planner *p, const tn_snapshot *s, file_set *set, tarn_error *err) {
  p->reading = set;
  TN_TRY(read_list(p, s->base_manifest_list, s->base_manifest_list_size, err));
  TN_TRY(read_list(p, s->delta_manifest_list, s->delta_manifest_list_size, err));
  TN_TRY(read_entries(p, set, err));
  if (p->table->facts.deletion_vectors && s->index_manifest != NULL && set->groups.count > 0) {
    TN_TRY(tn_deletions_read(p->table, s->index_manifest, &set->groups, &p->plan->arena,
                             &set->deletions, err));
  }
  return TARN_OK;
}

/* The changes of the range of snapshots, every one of which must be there. A compaction changes no
 * rows, but may bring the changelog of earlier commits; an overwrite tells no changes. */
static tarn_status read_changes(planner *p, tarn_error *err) {
  const tn_table *t = p->table;
  p->reading = &p->set;
  for (int64_t id = p->travel.after_id + 1; id <= p->plan->snapshot.id; id++) {
    tn_snapshot s;
    TN_TRY(tn_cancel_check(p->scan->cancel, err));
    TN_TRY(tn_snapshot_read(t->env, t->storage, t->branch_path, id, &p->scratch, &s, err));
    if (p->plan->kind == TN_PLAN_DELTA && s.commit_kind == TN_COMMIT_APPEND) {
      TN_TRY(read_list(p, s.delta_manifest_list, s.delta_manifest_list_size, err));
    } else if (p->plan->kind == TN_PLAN_CHANGELOG && s.commit_kind != TN_COMMIT_OVERWRITE) {
      TN_TRY(read_list(p, s.changelog_manifest_list, s.changelog_manifest_list_size, err));
    }
  }
  return read_entries(p, &p->set, err);
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
  if (!f->has_primary_key || p->filter.value == NULL || p->request.prunes_by_value ||
      p->plan->kind != TN_PLAN_STATE) {
    return;
  }
  for (int64_t g = 0; g < p->set.groups.count; g++) {
    tn_file_group *group = &p->set.groups.items[g];
    if (tn_group_never_overlaps(group)) {
      keep_matching(group);
    } else if (!combines && !any_matches(group)) {
      group->n_files = 0;
    }
  }
}

/* The value filter on rows whose columns lie in several files. */
static tarn_status prune_evolution(planner *p, tarn_error *err) {
  for (int64_t g = 0; g < p->set.groups.count; g++) {
    TN_TRY(tn_evolution_prune(&p->filter, &p->set.groups.items[g], &p->scratch, err));
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ splits */

static tarn_status make_splits(planner *p, tarn_error *err) {
  tn_arena arena;  // of one group at a time
  tarn_status st = TARN_OK;
  tn_arena_init(&arena, &p->table->env->mem, TN_PLAN_ARENA_BYTES);
  for (int64_t g = 0; g < p->set.groups.count; g++) {
    tn_file_group *group = &p->set.groups.items[g];
    const char *path;
    tn_packs packs;
    if (group->n_files == 0) {
      continue;
    }
    TN_TRY_TO(done, tn_cancel_check(p->scan->cancel, err));
    TN_TRY_TO(done, tn_pack_group(p->table, group, &arena, &packs, err));
    TN_TRY_TO(done, tn_split_maker_path(&p->maker, group, &path, err));
    for (int32_t i = 0; i < packs.count; i++) {
      TN_TRY_TO(done, tn_split_maker_add_pack(&p->maker, group, &packs.items[i], path,
                                              p->request.is_changes, &p->set.deletions, err));
    }
    tn_arena_reset(&arena);
  }
done:
  tn_arena_reset(&arena);
  return st;
}

/* One split a bucket whose files differ. */
static tarn_status make_diff_splits(planner *p, tarn_error *err) {
  tn_diff_pair *pairs;
  int64_t n_pairs;
  TN_TRY(tn_diff_pairs(p->table, &p->before.groups, &p->set.groups, &p->scratch, &pairs, &n_pairs,
                       err));
  for (int64_t i = 0; i < n_pairs; i++) {
    tn_diff_pair *pair = &pairs[i];
    const tn_file_group *group = pair->after.n_files > 0 ? &pair->after : &pair->before;
    tn_split *split;
    TN_TRY(tn_cancel_check(p->scan->cancel, err));
    TN_TRY(tn_diff_drop_common(p->table, &p->before.deletions, &p->set.deletions, &p->scratch, pair,
                               err));
    if (pair->before.n_files == 0 && pair->after.n_files == 0) {
      continue;
    }
    TN_TRY(tn_split_maker_add(&p->maker, group, &split, err));
    TN_TRY(tn_split_maker_path(&p->maker, group, &split->bucket_path, err));
    TN_TRY(tn_split_maker_files(&p->maker, pair->after.files, pair->after.n_files, &split->files,
                                &split->n_files, err));
    TN_TRY(tn_split_maker_files(&p->maker, pair->before.files, pair->before.n_files, &split->before,
                                &split->n_before, err));
    TN_TRY(tn_split_maker_vectors(&p->maker, &p->set.deletions, split, split->files, split->n_files,
                                  &split->deletions, err));
    TN_TRY(tn_split_maker_vectors(&p->maker, &p->before.deletions, split, split->before,
                                  split->n_before, &split->before_deletions, err));
    split->is_incremental = true;
  }
  return TARN_OK;
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
  tn_entries *const sets[] = {&p->set.entries, &p->before.entries};
  return tn_split_maker_finish(&p->maker, sets, TN_COUNT(sets), err);
}

static void count_files(planner *p) {
  tn_plan_stats *stats = &p->plan->stats;
  const file_set *sets[] = {&p->set, &p->before};
  int64_t planned = 0;
  for (int32_t i = 0; i < p->plan->n_splits; i++) {
    planned += p->plan->splits[i].n_files + p->plan->splits[i].n_before;
  }
  for (size_t i = 0; i < TN_COUNT(sets); i++) {
    const tn_entries *e = &sets[i]->entries;
    stats->manifests_read += e->n_manifests_read;
    stats->files_hidden_level_0 += e->hidden_level_0;
    stats->rows_hidden_level_0 += e->hidden_level_0_rows;
    stats->files_hidden_postpone += e->hidden_postpone;
    stats->rows_hidden_postpone += e->hidden_postpone_rows;
  }
  stats->files_pruned =
      stats->files_total - planned - stats->files_hidden_level_0 - stats->files_hidden_postpone;
  if (stats->files_pruned < 0) {
    stats->files_pruned = 0;
  }
}

static tarn_status plan_snapshot(planner *p, tarn_error *err) {
  const tn_plan *plan = p->plan;
  TN_TRY(tn_scan_filter_init(&p->filter, p->table, p->scan->predicate, &p->scratch, err));
  TN_TRY(read_options(p, err));
  p->has_value_filter = p->filter.value != NULL || p->filter.evolution != NULL;
  if (plan->kind == TN_PLAN_DIFF && p->table->facts.has_primary_key) {
    // Of a diff the rows that do not match decide, too: a row may have been one that matches, or
    // become one.
    p->filter.value = NULL;
  }
  set_up_request(p);
  if (p->request.is_changes) {
    TN_TRY(read_changes(p, err));
    TN_TRY(make_splits(p, err));
  } else if (plan->kind == TN_PLAN_DIFF) {
    TN_TRY(read_state(p, &p->travel.before, &p->before, err));
    TN_TRY(read_state(p, &plan->snapshot, &p->set, err));
    TN_TRY(make_diff_splits(p, err));
  } else {
    TN_TRY(read_state(p, &plan->snapshot, &p->set, err));
    prune_groups(p);
    TN_TRY(prune_evolution(p, err));
    TN_TRY(make_splits(p, err));
  }
  cut_at_limit(p);
  if (tn_top_n_applies(p->scan, p->has_value_filter, plan->kind)) {
    TN_TRY(tn_top_n_prune(p->scan, p->plan, &p->scratch, err));
  }
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
static tarn_status try_plan(const tn_scan *scan, const tn_map *without, tn_plan **out,
                            int64_t *lost, tarn_error *err) {
  tarn_env *env = scan->table->env;
  planner p = {.scan = scan, .table = scan->table, .request.without = without};
  tn_travel *travel = &p.travel;
  tarn_status st = TARN_OK;
  p.plan = tn_plan_new(env, scan->table);
  if (p.plan == NULL) {
    return tn_oom(err);
  }
  tn_arena_init(&p.scratch, &env->mem, TN_PLAN_ARENA_BYTES);
  p.maker = (tn_split_maker){.plan = p.plan, .scratch = &p.scratch};
  tn_map_init(&p.set.deletions.by_file, &env->mem);
  tn_map_init(&p.before.deletions.by_file, &env->mem);
  TN_TRY_TO(done, tn_travel_resolve(scan->table, &p.plan->arena, travel, err));
  p.plan->kind = travel->kind;
  p.plan->has_snapshot = travel->has_snapshot;
  p.plan->snapshot = travel->snapshot;
  p.plan->has_min_creation = travel->has_min_creation;
  p.plan->min_creation_ms = travel->min_creation_ms;
  p.plan->after_id = travel->kind == TN_PLAN_DIFF ? travel->before.id : travel->after_id;
  if (travel->has_snapshot) {
    st = plan_snapshot(&p, err);
    if (st == TARN_E_NOT_FOUND) {
      *lost = travel->is_latest ? travel->snapshot.id : 0;
      st = tn_error_context(err, st,
                            "%s: snapshot %lld cannot be read, it may have been expired meanwhile",
                            scan->table->full_name, (long long)travel->snapshot.id);
    }
  }
done:
  tn_deletions_reset(&p.set.deletions);
  tn_deletions_reset(&p.before.deletions);
  tn_entries_reset(&p.set.entries);
  tn_entries_reset(&p.before.entries);
  tn_arena_reset(&p.scratch);
  if (st == TARN_OK) {
    *out = p.plan;
  } else {
    p.plan->n_splits = 0;
    tn_plan_release(p.plan);
  }
  return st;
}

tarn_status tn_plan_branch(const tn_scan *scan, const tn_map *without, tn_plan **out,
                           tarn_error *err) {
  tn_table *table = scan->table;
  tarn_status st = TARN_OK;
  *out = NULL;
  for (int32_t i = 0; i < MAX_TRIES; i++) {
    int64_t lost = 0, latest;
    st = try_plan(scan, without, out, &lost, err);
    if (lost == 0 ||
        tn_snapshot_latest_id(table->env, table->storage, table->branch_path, &latest, NULL) !=
            TARN_OK ||
        latest == lost) {
      break;
    }
  }
  return tn_table_fault(table, st, err);
}

tarn_status tn_plan_create(const tn_scan *scan, tn_plan **out, tarn_error *err) {
  return tn_fallback_is_wanted(scan->table) ? tn_fallback_plan(scan, out, err)
                                            : tn_plan_branch(scan, NULL, out, err);
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
  tn_plan_release(plan->branches[0]);
  tn_plan_release(plan->branches[1]);
  tn_table_release(plan->table);
  tn_free(&env->mem, plan);
}

/* ------------------------------------------------------------------ splits */

/* Rows of column files that stand side by side count once: those of the first file of each group of
 * overlapping row ids, which the others do not go beyond; else the count is not known. Files are
 * ordered by row id within a split of a data evolution table. */
static int64_t evolution_row_count(const tn_split *split) {
  int64_t sum = 0, begin = 0, end = -1;
  for (int32_t i = 0; i < split->n_files; i++) {
    int64_t first, last;
    if (!tn_data_file_row_ids(&split->files[i], &first, &last)) {
      return -1;
    }
    if (i == 0 || first > end) {
      sum += end - begin + 1;
      begin = first;
      end = last;
    } else if (first < begin || last > end) {
      return -1;
    }
  }
  return sum + (end - begin + 1);
}

int64_t tn_split_row_count(const tn_split *split) {
  static const uint8_t no_columns[4] = {0};
  int64_t rows = 0, deleted = 0;
  bool has_row_ids = split->n_files > 0, has_keys = false;
  if (split->is_incremental ||
      may_skip_files(split->table != NULL ? split->table : split->plan->table)) {
    return -1;
  }
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

tn_split tn_split_state(const tn_split *split, bool is_before) {
  tn_split state = *split;
  state.is_incremental = false;
  state.before = NULL;
  state.n_before = 0;
  state.before_deletions = NULL;
  if (is_before) {
    state.files = split->before;
    state.n_files = split->n_before;
    state.deletions = split->before_deletions;
  }
  return state;
}

tarn_status tn_split_file_path(const tn_split *split, int32_t i, tn_arena *arena, const char **out,
                               tarn_error *err) {
  const tn_data_file *f = &split->files[i];
  if (!f->has_external_path && split->bucket_path == NULL) {
    return tn_fail(err, TARN_E_INVALID, "a split that was decoded without a table has no folder");
  }
  *out = f->has_external_path
             ? tn_arena_strndup(arena, (const char *)f->external_path.data, f->external_path.len)
             : tn_arena_printf(arena, "%s/%.*s", split->bucket_path, (int)f->file_name.len,
                               (const char *)f->file_name.data);
  return *out != NULL ? TARN_OK : tn_oom(err);
}
