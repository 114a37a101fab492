/* fallback.c - the table of the other branch, and one plan from two. */
#include "plan/fallback.h"

#include "plan/finder.h"
#include "plan/plan_internal.h"

#define KEY_FALLBACK "scan.fallback-branch"
#define KEY_PRIMARY "scan.primary-branch"
#define KEY_SNAPSHOT "scan.snapshot-id"
#define KEY_TAG "scan.tag-name"
#define KEY_VERSION "scan.version"
#define SCRATCH_BYTES ((size_t)1 << 30)

/* The other branch; NULL: none. *is_first: it comes before this table. */
static const char *other_branch(const tn_table *table, bool *is_first) {
  static const char *const keys[] = {KEY_FALLBACK, KEY_PRIMARY};
  for (size_t i = 0; i < TN_COUNT(keys); i++) {
    const char *name = tn_options_get(&table->options, keys[i]);
    if (name != NULL && name[strspn(name, " \t\r\n")] != '\0') {
      *is_first = i == 1;
      return strcmp(name, table->branch) != 0 ? name : NULL;
    }
  }
  return NULL;
}

bool tn_fallback_is_wanted(const tn_table *table) {
  bool is_first;
  return other_branch(table, &is_first) != NULL;
}

/* ------------------------------------------------------------------ the other table */

typedef struct opening {
  tn_table *table;
  const char *branch, *branch_path;
  tn_schema *schema; /* of the branch */
  tn_option *options;
  int32_t n_options;
  tn_arena arena;
} opening;

static tarn_status load_schema(opening *o, tarn_error *err) {
  const tn_table *t = o->table;
  int64_t *ids;
  int32_t n = 0;
  tarn_status st = tn_schema_ids(t->env, t->storage, o->branch_path, &o->arena, &ids, &n, err);
  if (st == TARN_E_NOT_FOUND || (st == TARN_OK && n == 0)) {
    tn_error_reset(err);
    return TARN_OK;
  }
  TN_TRY(st);
  return tn_schema_load(t->env, t->storage, o->branch_path, ids[n - 1], &o->schema, err);
}

/* The id in the other branch for a snapshot id of this one. */
static tarn_status other_id(opening *o, const char *text, const char **out, tarn_error *err) {
  tn_table *t = o->table;
  tn_finder here, there;
  tn_snapshot s, other;
  int64_t id;
  bool found;
  if (!tn_find_parse_id(text, &id)) {
    return tn_fail(err, TARN_E_INVALID, "option '" KEY_SNAPSHOT "': cannot parse '%s' as a number",
                   text);
  }
  TN_TRY(tn_finder_init(&here, t, &o->arena, err));
  TN_TRY(tn_find_id(&here, KEY_SNAPSHOT, id, &s, err));
  TN_TRY(tn_finder_init_branch(&there, t, o->branch_path, &o->arena, err));
  TN_TRY(tn_find_time(&there, s.time_ms, &found, &other, err));
  *out = tn_arena_printf(&o->arena, "%lld", found ? (long long)other.id : 1LL);
  return *out != NULL ? TARN_OK : tn_oom(err);
}

/* Is this read of a tag that this table has and the other branch has not? */
static tarn_status lacks_tag(opening *o, bool *out, tarn_error *err) {
  static const char *const keys[] = {KEY_TAG, KEY_VERSION};
  tn_table *t = o->table;
  tn_snapshot s;
  *out = false;
  for (size_t i = 0; i < TN_COUNT(keys) && !*out; i++) {
    const char *name = tn_options_get(&t->options, keys[i]);
    tarn_status st = name != NULL
                         ? tn_tag_read(t->env, t->storage, t->branch_path, name, &o->arena, &s, err)
                         : TARN_E_NOT_FOUND;
    if (st == TARN_OK) {
      st = tn_tag_read(t->env, t->storage, o->branch_path, name, &o->arena, &s, err);
      *out = st == TARN_E_NOT_FOUND;
    }
    if (st != TARN_OK && st != TARN_E_NOT_FOUND) {
      return st;
    }
    tn_error_reset(err);
  }
  return TARN_OK;
}

/* Options of this read alone: those that the stored ones do not tell. */
static tarn_status collect_options(opening *o, tarn_error *err) {
  static const char *const dropped[] = {"branch", "bucket", KEY_FALLBACK, KEY_PRIMARY};
  const tn_table *t = o->table;
  o->options = tn_arena_calloc(&o->arena, (size_t)t->options.count + 1, sizeof(*o->options));
  if (o->options == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < t->options.count; i++) {
    tn_option option = t->options.items[i];
    const char *stored = tn_schema_option(t->named_by, option.key);
    bool is_dropped = stored != NULL && strcmp(stored, option.value) == 0;
    for (size_t k = 0; k < TN_COUNT(dropped); k++) {
      is_dropped = is_dropped || strcmp(option.key, dropped[k]) == 0;
    }
    if (is_dropped) {
      continue;
    }
    if (strcmp(option.key, KEY_SNAPSHOT) == 0) {
      TN_TRY(other_id(o, option.value, &option.value, err));
    }
    o->options[o->n_options++] = option;
  }
  return TARN_OK;
}

/* Columns have the same types, one by one. */
static tarn_status check_columns(const tn_table *table, const tn_table *other, tarn_error *err) {
  const tn_schema *a = table->schema, *b = other->schema;
  if (a->n_fields != b->n_fields) {
    return tn_fail(err, TARN_E_INVALID,
                   "%s: Branch %s and %s does not have the same row type: %d and %d columns",
                   table->full_name, table->branch, other->branch, (int)a->n_fields,
                   (int)b->n_fields);
  }
  for (int32_t i = 0; i < a->n_fields; i++) {
    if (!tn_type_equal(&a->fields[i].type, &b->fields[i].type, false)) {
      return tn_fail(err, TARN_E_INVALID,
                     "%s: Branch %s and %s does not have the same row type: columns '%s' and '%s'",
                     table->full_name, table->branch, other->branch, a->fields[i].name,
                     b->fields[i].name);
    }
  }
  return TARN_OK;
}

static tarn_status open_other(opening *o, bool is_first, tn_table **out, tarn_error *err) {
  tn_table *t = o->table, *opened;
  tarn_status st;
  bool lacks = false;
  o->branch_path = strcmp(o->branch, "main") == 0
                       ? t->path
                       : tn_arena_printf(&o->arena, "%s/branch/branch-%s", t->path, o->branch);
  if (o->branch_path == NULL) {
    return tn_oom(err);
  }
  if (tn_branch_can_be(o->branch)) {
    TN_TRY(load_schema(o, err));
  }
  if (o->schema == NULL) {
    tn_log(t->env, TARN_LOG_ERROR, "table=%s branch=%s message=\"other branch not found\"",
           t->full_name, o->branch);
    return TARN_OK;
  }
  if (!is_first) {
    TN_TRY(lacks_tag(o, &lacks, err));
  }
  if (lacks) {
    tn_log(t->env, TARN_LOG_WARN, "table=%s branch=%s message=\"fallback branch lacks the tag\"",
           t->full_name, o->branch);
    return TARN_OK;
  }
  TN_TRY(collect_options(o, err));
  TN_TRY(tn_table_create(t->env, t->storage, t->full_name, t->path, o->branch, o->branch_path,
                         o->schema, o->options, o->n_options, &opened, err));
  st = tn_plan_travel(opened, out, err);
  tn_table_release(opened);
  TN_TRY(st);
  st = check_columns(t, *out, err);
  if (st != TARN_OK) {
    tn_table_release(*out);
    *out = NULL;
  }
  return st;
}

/* The table of the other branch; NULL: there is no such branch, or it falls back and lacks the tag
 * that is read, and reads do without. */
static tarn_status find_other(tn_table *table, bool *is_first, tn_table **out, tarn_error *err) {
  opening o = {.table = table};
  tarn_status st = TARN_OK;
  *out = NULL;
  o.branch = other_branch(table, is_first);
  if (o.branch == NULL) {
    return TARN_OK;
  }
  tn_arena_init(&o.arena, &table->env->mem, SCRATCH_BYTES);
  st = open_other(&o, *is_first, out, err);
  if (st != TARN_OK) {
    st = tn_error_context(err, st, "branch '%s'", o.branch);
  }
  tn_schema_release(o.schema);
  tn_arena_reset(&o.arena);
  return st;
}

tarn_status tn_fallback_branch(tn_table *table, bool is_second, tn_table **out, tarn_error *err) {
  bool is_first;
  TN_TRY(find_other(table, &is_first, out, err));
  if (*out == NULL) {
    return tn_fail(err, TARN_E_INVALID,
                   "%s: a split of a read over two branches, but the table's options name no other "
                   "branch that is there",
                   table->full_name);
  }
  if (is_first == is_second) {
    tn_table_release(*out);
    *out = NULL;
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ one plan */

typedef struct two_plans {
  const tn_scan *scan;
  tn_table *tables[2]; /* the other one retained */
  tn_plan *plans[2];   /* retained */
  tn_arena arena;
  tn_map partitions; /* of the first */
} two_plans;

/* Partitions of the first branch, with every file they have: also those that do not match or are
 * not visible. */
static tarn_status list_partitions(two_plans *t, tarn_error *err) {
  const tn_plan *first = t->plans[0];
  tn_partition_info *infos;
  int32_t n;
  if (!first->has_snapshot) {
    return TARN_OK;
  }
  TN_TRY(tn_plan_snapshot_partitions(t->tables[0], &first->snapshot, &t->arena, &infos, &n, err));
  for (int32_t i = 0; i < n; i++) {
    tn_map_entry *slot;
    TN_TRY(tn_map_put(&t->partitions, infos[i].partition, &slot, NULL, err));
  }
  return TARN_OK;
}

tarn_status tn_fallback_translate(const tn_schema *from, const tn_schema *to, const tn_pred *pred,
                                  tn_arena *arena, const tn_pred **out, tarn_error *err) {
  tn_pred *copy = tn_arena_memdup(arena, pred, sizeof(*pred));
  const tn_pred **children;
  int32_t at;
  if (copy == NULL) {
    return tn_oom(err);
  }
  *out = copy;
  if (pred->n_children == 0) {
    at = tn_fields_find_id(from->fields, from->n_fields, pred->field_id);
    copy->field_id = at >= 0 && at < to->n_fields ? to->fields[at].id : pred->field_id;
    return TARN_OK;
  }
  children = tn_arena_calloc(arena, (size_t)pred->n_children, sizeof(*children));
  if (children == NULL) {
    return tn_oom(err);
  }
  copy->children = children;
  for (int32_t i = 0; i < pred->n_children; i++) {  // as deep as TN_PRED_MAX_DEPTH
    TN_TRY(tn_fallback_translate(from, to, pred->children[i], arena, &children[i], err));
  }
  return TARN_OK;
}

static tarn_status plan_both(two_plans *t, tarn_error *err) {
  for (int32_t i = 0; i < 2; i++) {
    tn_scan scan = *t->scan;
    scan.table = t->tables[i];
    if (scan.table != t->scan->table && scan.predicate != NULL) {
      TN_TRY(tn_fallback_translate(t->scan->table->schema, scan.table->schema, t->scan->predicate,
                                   &t->arena, &scan.predicate, err));
    }
    TN_TRY(tn_plan_branch(&scan, i == 0 ? NULL : &t->partitions, &t->plans[i], err));
    if (i == 0) {
      TN_TRY(list_partitions(t, err));
    }
  }
  return TARN_OK;
}

static void add_stats(tn_plan_stats *sum, const tn_plan_stats *s) {
  sum->manifests_total += s->manifests_total;
  sum->manifests_read += s->manifests_read;
  sum->files_total += s->files_total;
  sum->files_pruned += s->files_pruned;
  sum->files_hidden_level_0 += s->files_hidden_level_0;
  sum->rows_hidden_level_0 += s->rows_hidden_level_0;
  sum->files_hidden_postpone += s->files_hidden_postpone;
  sum->rows_hidden_postpone += s->rows_hidden_postpone;
}

static tarn_status join_plans(two_plans *t, tn_plan **out, tarn_error *err) {
  const tn_plan *own = t->plans[t->tables[0] == t->scan->table ? 0 : 1];
  tn_plan *plan = tn_plan_new(t->scan->table->env, t->scan->table);
  int64_t n = (int64_t)t->plans[0]->n_splits + t->plans[1]->n_splits;
  if (plan == NULL) {
    return tn_oom(err);
  }
  plan->splits =
      n <= INT32_MAX ? tn_arena_alloc(&plan->arena, ((size_t)n + 1) * sizeof(*plan->splits)) : NULL;
  if (plan->splits == NULL) {
    tn_plan_release(plan);
    return n <= INT32_MAX ? tn_oom(err)
                          : tn_fail(err, TARN_E_LIMIT, "more than %d splits", INT32_MAX);
  }
  plan->kind = own->kind;
  plan->has_snapshot = own->has_snapshot;
  plan->snapshot = own->snapshot;
  plan->after_id = own->after_id;
  plan->has_min_creation = own->has_min_creation;
  plan->min_creation_ms = own->min_creation_ms;
  for (int32_t b = 0; b < 2; b++) {
    plan->branches[b] = tn_plan_retain(t->plans[b]);
    add_stats(&plan->stats, &t->plans[b]->stats);
    for (int32_t i = 0; i < t->plans[b]->n_splits; i++) {
      tn_split *split = &plan->splits[plan->n_splits++];
      *split = t->plans[b]->splits[i];
      split->plan = plan;
      split->table = t->tables[b] != t->scan->table ? t->tables[b] : NULL;
      split->has_branch = true;
      split->is_fallback = b == 1;
    }
  }
  *out = plan;
  return TARN_OK;
}

tarn_status tn_fallback_plan(const tn_scan *scan, tn_plan **out, tarn_error *err) {
  two_plans t = {.scan = scan};
  tn_table *other;
  bool is_first = false;
  tarn_status st = TARN_OK;
  *out = NULL;
  TN_TRY(find_other(scan->table, &is_first, &other, err));
  if (other == NULL) {
    return tn_plan_branch(scan, NULL, out, err);
  }
  t.tables[is_first ? 1 : 0] = scan->table;
  t.tables[is_first ? 0 : 1] = other;
  tn_arena_init(&t.arena, &scan->table->env->mem, TN_PLAN_ARENA_BYTES);
  tn_map_init(&t.partitions, &scan->table->env->mem);
  TN_TRY_TO(done, plan_both(&t, err));
  TN_TRY_TO(done, join_plans(&t, out, err));
done:
  tn_plan_release(t.plans[0]);
  tn_plan_release(t.plans[1]);
  tn_map_reset(&t.partitions);
  tn_arena_reset(&t.arena);
  tn_table_release(other);
  return st;
}
