/* plan.c - plans and splits as handles. */
#include "api/handles.h"

tarn_status tarn_scan_plan(tarn_scan *scan, tarn_plan **out, tarn_error *err) {
  tarn_env *env = scan->env;
  tarn_plan *plan;
  tn_scan request = {0};
  tarn_status st;
  tn_error_reset(err);
  *out = NULL;
  TN_TRY(tn_env_check(env, err));
  if (scan->table->system != NULL) {
    return tn_fail(err, TARN_E_UNSUPPORTED,
                   "system table $%s is read as a whole: it has no splits to plan",
                   scan->table->system->name);
  }
  plan = tn_alloc(&env->mem, sizeof(*plan));
  if (plan == NULL) {
    return tn_oom(err);
  }
  request.table = scan->table->table;
  request.predicate = scan->predicate != NULL ? scan->predicate->root : NULL;
  request.limit = scan->limit;
  request.top = scan->has_top ? &scan->top : NULL;
  request.keeps_stats = scan->keeps_stats;
  request.cancel = scan->cancel;
  st = tn_plan_create(&request, &plan->plan, err);
  if (st != TARN_OK) {
    tn_free(&env->mem, plan);
    return st;
  }
  *out = plan;
  return TARN_OK;
}

void tarn_plan_free(tarn_plan *plan) {
  if (plan != NULL) {
    tarn_env *env = plan->plan->env;
    tn_plan_release(plan->plan);
    tn_free(&env->mem, plan);
  }
}

size_t tarn_plan_split_count(const tarn_plan *plan) {
  return (size_t)plan->plan->n_splits;
}

int64_t tarn_plan_snapshot_id(const tarn_plan *plan) {
  return plan->plan->has_snapshot ? plan->plan->snapshot.id : 0;
}

/* What the splits of a plan hold. */
typedef struct plan_sums {
  int64_t files, rows, bytes, raw, fallback;
} plan_sums;

static void add_files(plan_sums *sums, const tn_data_file *files, int32_t n) {
  sums->files += n;
  for (int32_t i = 0; i < n; i++) {
    sums->rows += files[i].row_count;
    sums->bytes += files[i].file_size;
  }
}

/* What is read: of which snapshots, of which branches. */
static tarn_status describe_kind(const tn_plan *plan, const plan_sums *sums, tn_buf *out,
                                 tarn_error *err) {
  static const char *const kinds[] = {
      [TN_PLAN_STATE] = "state",
      [TN_PLAN_DELTA] = "delta",
      [TN_PLAN_CHANGELOG] = "changelog",
      [TN_PLAN_DIFF] = "diff",
  };
  TN_TRY(tn_buf_printf(out, err, ",\"reads\":\"%s\"", kinds[plan->kind]));
  if (plan->kind != TN_PLAN_STATE && plan->has_snapshot) {
    TN_TRY(tn_buf_printf(out, err, ",\"after_snapshot\":%lld", (long long)plan->after_id));
  }
  if (plan->has_min_creation) {
    TN_TRY(tn_buf_printf(out, err, ",\"files_created_since_ms\":%lld",
                         (long long)plan->min_creation_ms));
  }
  for (int32_t i = 0; i < 2 && plan->branches[i] != NULL; i++) {
    TN_TRY(tn_buf_printf(out, err, ",\"%s\":", i == 0 ? "branch" : "fallback_branch"));
    TN_TRY(tn_json_quote(out, tn_slice_text(plan->branches[i]->table->branch), err));
  }
  return plan->branches[0] != NULL
             ? tn_buf_printf(out, err, ",\"fallback_splits\":%lld", (long long)sums->fallback)
             : TARN_OK;
}

static tarn_status describe_plan(const tn_plan *plan, tn_buf *out, tarn_error *err) {
  const tn_plan_stats *s = &plan->stats;
  plan_sums sums = {0};
  for (int32_t i = 0; i < plan->n_splits; i++) {
    const tn_split *split = &plan->splits[i];
    sums.raw += split->is_raw_convertible && !split->is_streaming;
    sums.fallback += split->is_fallback;
    add_files(&sums, split->files, split->n_files);
    add_files(&sums, split->before, split->n_before);
  }
  TN_TRY(plan->has_snapshot
             ? tn_buf_printf(out, err, "{\"snapshot\":%lld,\"schema\":%lld,\"commit_kind\":\"%s\"",
                             (long long)plan->snapshot.id, (long long)plan->snapshot.schema_id,
                             tn_commit_kind_name(plan->snapshot.commit_kind))
             : tn_buf_text(out, "{\"snapshot\":null", err));
  TN_TRY(tn_buf_printf(out, err,
                       ",\"splits\":%d,\"raw_splits\":%lld,\"files\":%lld,\"rows\":%lld,"
                       "\"bytes\":%lld",
                       (int)plan->n_splits, (long long)sums.raw, (long long)sums.files,
                       (long long)sums.rows, (long long)sums.bytes));
  TN_TRY(tn_buf_printf(out, err,
                       ",\"manifests_total\":%lld,\"manifests_read\":%lld,\"files_total\":%lld,"
                       "\"files_pruned\":%lld",
                       (long long)s->manifests_total, (long long)s->manifests_read,
                       (long long)s->files_total, (long long)s->files_pruned));
  TN_TRY(describe_kind(plan, &sums, out, err));
  return tn_buf_printf(out, err,
                       ",\"files_hidden_level_0\":%lld,\"rows_hidden_level_0\":%lld,"
                       "\"files_hidden_postpone\":%lld,\"rows_hidden_postpone\":%lld}",
                       (long long)s->files_hidden_level_0, (long long)s->rows_hidden_level_0,
                       (long long)s->files_hidden_postpone, (long long)s->rows_hidden_postpone);
}

tarn_status tarn_plan_describe(const tarn_plan *plan, tarn_string *out, tarn_error *err) {
  tarn_status st;
  tn_buf text;
  tn_error_reset(err);
  memset(out, 0, sizeof(*out));
  TN_TRY(tn_env_check(plan->plan->env, err));
  tn_buf_init(&text, &plan->plan->env->mem, TN_API_TEXT_LIMIT);
  st = describe_plan(plan->plan, &text, err);
  return tn_api_string(st, &text, out, err);
}

/* ------------------------------------------------------------------ splits */

/* A handle on split i of a plan; retains plan and table. */
static tarn_status make_split(tn_plan *plan, int32_t i, tn_table *table, tarn_split **out,
                              tarn_error *err) {
  tarn_split *split = tn_alloc(&plan->env->mem, sizeof(*split));
  if (split == NULL) {
    return tn_oom(err);
  }
  split->plan = tn_plan_retain(plan);
  split->table = tn_table_retain(table);
  split->split = &plan->splits[i];
  *out = split;
  return TARN_OK;
}

tarn_status tarn_plan_split(const tarn_plan *plan, size_t i, tarn_split **out, tarn_error *err) {
  tn_error_reset(err);
  *out = NULL;
  TN_TRY(tn_env_check(plan->plan->env, err));
  if (i >= (size_t)plan->plan->n_splits) {
    return tn_fail(err, TARN_E_INVALID, "split %zu of a plan with %d", i,
                   (int)plan->plan->n_splits);
  }
  return make_split(plan->plan, (int32_t)i, plan->plan->table, out, err);
}

void tarn_split_free(tarn_split *split) {
  if (split != NULL) {
    tarn_env *env = split->plan->env;
    tn_table_release(split->table);
    tn_plan_release(split->plan);
    tn_free(&env->mem, split);
  }
}

int64_t tarn_split_row_count(const tarn_split *split) {
  return tn_split_row_count(split->split);
}

/* A text that a function of the rooms below makes of a split. */
static tarn_status split_text(const tarn_split *split, bool is_json, tarn_string *out,
                              tarn_error *err) {
  tarn_status st;
  tn_buf text;
  tn_error_reset(err);
  memset(out, 0, sizeof(*out));
  TN_TRY(tn_env_check(split->plan->env, err));
  tn_buf_init(&text, &split->plan->env->mem, TN_API_TEXT_LIMIT);
  st = is_json ? tn_split_to_json(split->table, split->split, &text, err)
               : tn_split_encode(split->split, &text, err);
  return tn_api_string(st, &text, out, err);
}

tarn_status tarn_split_describe(const tarn_split *split, tarn_string *out, tarn_error *err) {
  return split_text(split, true, out, err);
}

tarn_status tarn_split_encode(const tarn_split *split, tarn_string *out, tarn_error *err) {
  return split_text(split, false, out, err);
}

tarn_status tarn_split_decode(tarn_table *table, const void *bytes, size_t n_bytes,
                              tarn_split **out, tarn_error *err) {
  tn_plan *plan;
  tarn_status st;
  tn_error_reset(err);
  *out = NULL;
  TN_TRY(tn_env_check(table->env, err));
  TN_TRY(tn_split_decode(table->env, table->table, tn_slice_of(bytes, n_bytes), &plan, err));
  st = make_split(plan, 0, table->table, out, err);
  tn_plan_release(plan);
  return st;
}
