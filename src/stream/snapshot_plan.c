/* snapshot_plan.c - manifests of one snapshot as splits.
 *
 *   manifest lists -> manifests -> entries -> buckets -> splits
 *
 * An overwrite keeps its DELETE entries, so it gathers entries itself (see gather_changes()); all
 * else is read by plan/entries.
 */
#include "stream/snapshot_plan.h"

#include "plan/plan_internal.h"
#include "plan/split_maker.h"

/* The files that an overwrite took from a bucket and gave to it. */
typedef struct bucket_change {
  tn_slice partition;
  int32_t bucket, total_buckets;
  tn_data_file *files[2]; /* before, after */
  size_t count[2], capacity[2];
} bucket_change;

typedef struct planner {
  const tn_snapshot_scan *scan;
  tn_table *table;
  tn_plan *plan;
  tn_arena scratch;
  tn_scan_filter filter;
  tn_manifest_refs manifests;
  tn_entries entries;
  tn_file_groups groups;
  tn_deletions deletions;
  tn_split_maker maker;
  bool has_bucket;
  int32_t bucket;
  tn_map by_bucket; /* OVERWRITE: partition and bucket -> index into changes */
  bucket_change *changes;
  size_t n_changes, change_capacity;
} planner;

/* ------------------------------------------------------------------ manifest lists */

static tarn_status on_manifest(void *ctx, const tn_manifest_file *m, tarn_error *err) {
  planner *p = ctx;
  bool keeps = m->n_added > 0 || m->n_deleted > 0;
  p->plan->stats.manifests_total++;
  p->plan->stats.files_total += m->n_added - m->n_deleted;
  if (keeps) {
    TN_TRY(tn_scan_filter_manifest(&p->filter, m, &keeps, err));
  }
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

static tarn_status read_lists(planner *p, tn_snapshot_part part, const tn_snapshot *s,
                              tarn_error *err) {
  if (part == TN_SNAPSHOT_CHANGELOG) {
    return read_list(p, s->changelog_manifest_list, s->changelog_manifest_list_size, err);
  }
  if (part == TN_SNAPSHOT_STATE) {
    TN_TRY(read_list(p, s->base_manifest_list, s->base_manifest_list_size, err));
  }
  return read_list(p, s->delta_manifest_list, s->delta_manifest_list_size, err);
}

/* ------------------------------------------------------------------ entries */

static tarn_status read_entries(planner *p, tn_snapshot_part part, tarn_error *err) {
  const tn_table_facts *f = &p->table->facts;
  tn_entries_request r = {
      .table = p->table,
      .filter = &p->filter,
      .manifests = p->manifests.items,
      .n_manifests = (int32_t)p->manifests.count,
      .hides_postpone = p->scan->real_buckets_only,
      .prunes_by_value = !f->has_primary_key,
      .keeps_stats = p->scan->keeps_stats,
      .is_changes = part == TN_SNAPSHOT_CHANGELOG,
      .has_bucket = p->has_bucket,
      .bucket = p->bucket,
      .has_min_creation = p->scan->has_min_creation,
      .min_creation_ms = p->scan->min_creation_ms,
      .row_limit = -1,
      .cancel = p->scan->cancel,
  };
  if (part == TN_SNAPSHOT_CHANGELOG) {
    // Such a file holds the versions of a row before and after; of others they may lie apart.
    r.prunes_by_value = r.prunes_by_value || f->changelog_producer == TN_CHANGELOG_LOOKUP ||
                        f->changelog_producer == TN_CHANGELOG_FULL_COMPACTION;
  }
  TN_TRY(tn_entries_read(&r, &p->entries, err));
  p->plan->stats.manifests_read = p->entries.n_manifests_read;
  p->plan->stats.files_hidden_postpone = p->entries.hidden_postpone;
  p->plan->stats.rows_hidden_postpone = p->entries.hidden_postpone_rows;
  return tn_groups_make(p->table, p->entries.items, p->entries.count, &p->scratch, &p->groups, err);
}

/* Files below the level come again, as changelog of a later compaction. */
static void drop_levels(planner *p) {
  for (int64_t g = 0; g < p->groups.count && p->scan->min_level > 0; g++) {
    tn_file_group *group = &p->groups.items[g];
    int64_t n = 0;
    for (int64_t i = 0; i < group->n_files; i++) {
      if (group->files[i]->level >= p->scan->min_level) {
        group->files[n++] = group->files[i];
      } else {
        p->plan->stats.files_hidden_level_0++;
        p->plan->stats.rows_hidden_level_0 += group->files[i]->row_count;
      }
    }
    group->n_files = n;
  }
}

/* ------------------------------------------------------------------ splits */

/* Must the changes of a bucket stay together, in their order? */
static bool stays_whole(const tn_table *table) {
  return !table->facts.data_evolution &&
         (table->facts.has_primary_key || table->facts.bucket_mode != TN_BUCKETS_UNAWARE);
}

static tarn_status split_group(planner *p, tn_file_group *group, bool is_streaming, tn_arena *arena,
                               tarn_error *err) {
  tn_packs packs;
  const char *path;
  if (group->n_files == 0) {
    return TARN_OK;
  }
  if (group->n_files > INT32_MAX) {
    return tn_fail(err, TARN_E_LIMIT, "more than %d files in a split", INT32_MAX);
  }
  TN_TRY(tn_split_maker_path(&p->maker, group, &path, err));
  if (is_streaming && stays_whole(p->table)) {
    const tn_pack all = {group->files, (int32_t)group->n_files, true};
    return tn_split_maker_add_pack(&p->maker, group, &all, path, true, NULL, err);
  }
  TN_TRY(tn_pack_group(p->table, group, arena, &packs, err));
  for (int32_t i = 0; i < packs.count; i++) {
    TN_TRY(tn_split_maker_add_pack(&p->maker, group, &packs.items[i], path, is_streaming,
                                   &p->deletions, err));
  }
  return TARN_OK;
}

static tarn_status make_splits(planner *p, bool is_streaming, tarn_error *err) {
  tn_arena arena;  // of one group at a time
  tarn_status st = TARN_OK;
  tn_arena_init(&arena, &p->table->env->mem, TN_PLAN_ARENA_BYTES);
  for (int64_t g = 0; g < p->groups.count; g++) {
    TN_TRY_TO(done, tn_cancel_check(p->scan->cancel, err));
    TN_TRY_TO(done, split_group(p, &p->groups.items[g], is_streaming, &arena, err));
    tn_arena_reset(&arena);
  }
done:
  tn_arena_reset(&arena);
  return st;
}

/* ------------------------------------------------------------------ overwrites */

/* The bucket of an entry among the changes; a new one for the first of its entries. */
static tarn_status find_change(planner *p, const tn_manifest_entry *e, bucket_change **out,
                               tarn_error *err) {
  size_t n = e->partition.len;
  uint8_t *key = tn_arena_alloc(&p->scratch, n + sizeof(int32_t));
  void *changes = p->changes;
  tn_map_entry *slot;
  bool is_new;
  if (key == NULL) {
    return tn_oom(err);
  }
  memcpy(key, e->partition.data, n);
  memcpy(key + n, &e->bucket, sizeof(int32_t));
  TN_TRY(tn_map_put(&p->by_bucket, tn_slice_of(key, n + sizeof(int32_t)), &slot, &is_new, err));
  if (is_new) {
    if (!tn_arena_grow(&p->scratch, &changes, &p->change_capacity, p->n_changes,
                       sizeof(*p->changes))) {
      return tn_oom(err);
    }
    p->changes = changes;
    p->changes[p->n_changes] =
        (bucket_change){.bucket = e->bucket, .total_buckets = e->total_buckets};
    if (!tn_arena_slice(&p->plan->arena, e->partition, &p->changes[p->n_changes].partition)) {
      return tn_oom(err);
    }
    slot->value.num = (int64_t)p->n_changes++;
  }
  *out = &p->changes[slot->value.num];
  return TARN_OK;
}

static tarn_status on_change(void *ctx, const tn_manifest_entry *e, tarn_error *err) {
  planner *p = ctx;
  bucket_change *change;
  int side = e->kind == TN_FILE_ADD;
  void *files;
  if ((p->has_bucket && e->bucket != p->bucket) || (p->scan->real_buckets_only && e->bucket < 0)) {
    return TARN_OK;
  }
  TN_TRY(find_change(p, e, &change, err));
  files = change->files[side];
  if (!tn_arena_grow(&p->plan->arena, &files, &change->capacity[side], change->count[side],
                     sizeof(tn_data_file))) {
    return tn_oom(err);
  }
  change->files[side] = files;
  if (change->count[side] == INT32_MAX) {
    return tn_fail(err, TARN_E_LIMIT, "more than %d files in a split", INT32_MAX);
  }
  return tn_data_file_copy(&p->plan->arena, &e->file, p->scan->keeps_stats,
                           &change->files[side][change->count[side]++], err);
}

static tarn_status gather_changes(planner *p, tarn_error *err) {
  for (size_t i = 0; i < p->manifests.count; i++) {
    const tn_manifest_ref *m = &p->manifests.items[i];
    const tn_manifest_name name = {m->name, m->size_bytes, -1};
    TN_TRY(tn_cancel_check(p->scan->cancel, err));
    TN_TRY(tn_manifest_read(p->table->env, p->table->storage, &tn_plan_readers, p->table->path,
                            &name, on_change, p, err));
    p->plan->stats.manifests_read++;
  }
  return TARN_OK;
}

static tarn_status make_overwrite_splits(planner *p, tarn_error *err) {
  for (size_t i = 0; i < p->n_changes; i++) {
    const bucket_change *c = &p->changes[i];
    const tn_file_group group = {
        .partition = c->partition, .bucket = c->bucket, .total_buckets = c->total_buckets};
    tn_split *split;
    TN_TRY(tn_split_maker_add(&p->maker, &group, &split, err));
    TN_TRY(tn_split_maker_path(&p->maker, &group, &split->bucket_path, err));
    split->before = c->files[0];
    split->n_before = (int32_t)c->count[0];
    split->files = c->files[1];
    split->n_files = (int32_t)c->count[1];
    split->is_incremental = true;
    split->is_streaming = true;
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ planning */

static tarn_status take_over_memory(planner *p, tarn_error *err) {
  tn_entries *const sets[] = {&p->entries};
  return tn_split_maker_finish(&p->maker, sets, TN_COUNT(sets), err);
}

static tarn_status read_vectors(planner *p, const tn_snapshot *s, tarn_error *err) {
  if (!p->table->facts.deletion_vectors || s->index_manifest == NULL || p->groups.count == 0) {
    return TARN_OK;
  }
  return tn_deletions_read(p->table, s->index_manifest, &p->groups, &p->plan->arena, &p->deletions,
                           err);
}

static tarn_status plan_part(planner *p, tn_snapshot_part part, const tn_snapshot *s,
                             tarn_error *err) {
  int64_t number;
  TN_TRY(tn_options_int(&p->table->options, "scan.bucket", &number, &p->has_bucket, err));
  p->bucket = number >= INT32_MIN && number <= INT32_MAX ? (int32_t)number : INT32_MIN;
  TN_TRY(tn_scan_filter_init(&p->filter, p->table, p->scan->predicate, &p->scratch, err));
  TN_TRY(read_lists(p, part, s, err));
  if (part == TN_SNAPSHOT_FILES) {
    TN_TRY(gather_changes(p, err));
    TN_TRY(make_overwrite_splits(p, err));
    return take_over_memory(p, err);
  }
  TN_TRY(read_entries(p, part, err));
  if (part == TN_SNAPSHOT_STATE) {
    drop_levels(p);
    TN_TRY(read_vectors(p, s, err));
  }
  TN_TRY(make_splits(p, part != TN_SNAPSHOT_STATE, err));
  return take_over_memory(p, err);
}

/* The facts of a snapshot, without the texts, which belong to others. */
static tn_snapshot facts_of(const tn_snapshot *s) {
  tn_snapshot facts = *s;
  facts.base_manifest_list = facts.delta_manifest_list = facts.changelog_manifest_list = NULL;
  facts.index_manifest = facts.statistics = facts.commit_user = facts.uuid = NULL;
  facts.operation = facts.writer_version = NULL;
  facts.properties = NULL;
  facts.n_properties = 0;
  return facts;
}

tarn_status tn_snapshot_plan(const tn_snapshot_scan *scan, tn_snapshot_part part,
                             const tn_snapshot *snapshot, tn_plan **out, tarn_error *err) {
  static const tn_plan_kind kinds[] = {
      [TN_SNAPSHOT_STATE] = TN_PLAN_STATE,
      [TN_SNAPSHOT_DELTA] = TN_PLAN_DELTA,
      [TN_SNAPSHOT_CHANGELOG] = TN_PLAN_CHANGELOG,
      [TN_SNAPSHOT_FILES] = TN_PLAN_DIFF,
  };
  tarn_env *env = scan->table->env;
  planner p = {.scan = scan, .table = scan->table};
  tarn_status st;
  *out = NULL;
  p.plan = tn_plan_new(env, scan->table);
  if (p.plan == NULL) {
    return tn_oom(err);
  }
  tn_arena_init(&p.scratch, &env->mem, TN_PLAN_ARENA_BYTES);
  p.maker = (tn_split_maker){.plan = p.plan, .scratch = &p.scratch};
  tn_map_init(&p.deletions.by_file, &env->mem);
  tn_map_init(&p.by_bucket, &env->mem);
  p.plan->kind = kinds[part];
  p.plan->has_snapshot = true;
  p.plan->snapshot = facts_of(snapshot);
  p.plan->after_id = snapshot->id - 1;
  p.plan->has_min_creation = scan->has_min_creation;
  p.plan->min_creation_ms = scan->min_creation_ms;
  st = plan_part(&p, part, snapshot, err);
  if (st == TARN_OK) {
    *out = p.plan;
  } else {
    p.plan->n_splits = 0;
    tn_plan_release(p.plan);
    st = tn_error_context(err, st, "%s: snapshot %lld", scan->table->full_name,
                          (long long)snapshot->id);
  }
  tn_deletions_reset(&p.deletions);
  tn_map_reset(&p.by_bucket);
  tn_entries_reset(&p.entries);
  tn_arena_reset(&p.scratch);
  return st;
}
