/* committer.c - making what was written visible. */
#include "api/analyze.h"
#include "api/write_handles.h"

#include "base/ascii.h"
#include "maintain/after_commit.h"
#include "model/partition.h"

struct tarn_committer {
  tarn_env *env;
  tarn_table *table; /* retained */
  tn_table *written;
  char *user;
  bool commits_empty, checks_appends, skips_maintenance;
  tn_maintenance maintenance;
  tarn_cancel *cancel;
};

/* ------------------------------------------------------------------ life */

tarn_status tarn_committer_create(tarn_table *table, const tarn_committer_options *options,
                                  tarn_committer **out, tarn_error *err) {
  tarn_committer_options o = TARN_COMMITTER_OPTIONS_INIT;
  tarn_env *env = table->env;
  tarn_committer *c;
  tn_table *written;
  tarn_status st;
  tn_error_reset(err);
  *out = NULL;
  TN_TRY(tn_env_check(env, err));
  TN_TRY(tn_api_written_table(table, &written, err));
  if (options != NULL) {
    memcpy(&o, options, options->struct_size < sizeof(o) ? options->struct_size : sizeof(o));
  }
  c = tn_calloc(&env->mem, 1, sizeof(*c));
  if (c == NULL) {
    return tn_oom(err);
  }
  c->env = env;
  c->written = written;
  c->commits_empty = o.commits_empty != 0;
  c->checks_appends = o.checks_appends != 0;
  c->skips_maintenance = o.skips_maintenance != 0;
  c->cancel = o.cancel;
  atomic_fetch_add_explicit(&table->refs, 1, memory_order_relaxed);
  c->table = table;
  st = tn_api_commit_user(written, o.commit_user, &c->user, err);
  if (st != TARN_OK) {
    tarn_committer_free(c);
    return st;
  }
  *out = c;
  return TARN_OK;
}

void tarn_committer_free(tarn_committer *committer) {
  if (committer != NULL) {
    tarn_env *env = committer->env;
    tn_api_table_release(committer->table);
    tn_free(&env->mem, committer->user);
    tn_free(&env->mem, committer);
  }
}

/* ------------------------------------------------------------------ what is common */

/* One call of a committer. */
typedef struct commit_call {
  tarn_committer *c;
  tn_arena arena;
  tn_committable all;
  tn_commit_options options;
  tn_commit_result result;
} commit_call;

/* Batch jobs commit nothing when they wrote nothing, unless the table says so. */
static tarn_status begin_call(tarn_committer *c, int64_t identifier, const tarn_messages *messages,
                              const tarn_commit_request *request, commit_call *call,
                              tarn_error *err) {
  const char *ignores_empty = tn_options_get(&c->written->options, "snapshot.ignore-empty-commit");
  tn_property *properties;
  tn_error_reset(err);
  memset(call, 0, sizeof(*call));
  tn_arena_init(&call->arena, &c->env->mem, TN_PLAN_ARENA_BYTES);
  TN_TRY(tn_env_check(c->env, err));
  call->c = c;
  call->options = (tn_commit_options){.user = c->user,
                                      .commits_empty = c->commits_empty,
                                      .checks_appends = c->checks_appends,
                                      .drops_compaction = true,
                                      .cancel = c->cancel};
  if (identifier == TARN_BATCH_COMMIT && ignores_empty != NULL &&
      tn_slice_is_nocase(tn_slice_text(ignores_empty), "false")) {
    call->options.commits_empty = true;
  }
  call->all.identifier = identifier;
  if (messages != NULL) {
    call->all.messages = messages->items;
    call->all.n_messages = messages->n_items;
    call->options.checks_vectors = messages->checks_vectors;
    call->options.vectors_before = messages->vectors_before;
  }
  if (request == NULL) {
    return TARN_OK;
  }
  call->all.has_watermark = request->has_watermark != 0;
  call->all.watermark = request->watermark;
  properties = tn_arena_calloc(&call->arena, request->n_properties, sizeof(*properties));
  if (properties == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < request->n_properties; i++) {
    properties[i] = (tn_property){request->properties[i].key, request->properties[i].value};
  }
  call->all.properties = properties;
  call->all.n_properties = (int32_t)request->n_properties;
  return TARN_OK;
}

/* ------------------------------------------------------------------ after a commit */

/* What the table's options ask for once there is a new snapshot. The commit has succeeded, whatever
 * comes of it: failures are in the log, and the next commit tries again. */
static void maintain(const commit_call *call) {
  const tn_after_commit_request request = {
      .user = call->c->user, .identifier = call->all.identifier, .cancel = call->c->cancel};
  tarn_status st = TARN_OK;
  if (call->result.last_id != 0 && !call->c->skips_maintenance) {
    st = tn_after_commit(call->c->written, &call->c->maintenance, &request, NULL);
  }
  (void)st;
}

static tarn_status end_call(commit_call *call, tarn_status st, tarn_commit_result *result) {
  if (result != NULL) {
    tarn_commit_result all = {.struct_size = result->struct_size,
                              .first_snapshot_id = call->result.first_id,
                              .last_snapshot_id = call->result.last_id,
                              .attempts = call->result.n_attempts,
                              .compaction_dropped = call->result.has_dropped};
    memcpy(result, &all, result->struct_size < sizeof(all) ? result->struct_size : sizeof(all));
  }
  tn_arena_reset(&call->arena);
  return st;
}

/* The end of a call that makes rows visible. */
static tarn_status end_commit(commit_call *call, tarn_status st, tarn_commit_result *result) {
  if (st == TARN_OK) {
    maintain(call);
  }
  return end_call(call, st, result);
}

/* ------------------------------------------------------------------ appends */

tarn_status tarn_committer_commit(tarn_committer *committer, int64_t identifier,
                                  const tarn_messages *messages, const tarn_commit_request *request,
                                  tarn_commit_result *result, tarn_error *err) {
  commit_call call;
  tarn_status st = begin_call(committer, identifier, messages, request, &call, err);
  if (st == TARN_OK) {
    st = tn_commit_append(committer->written, &call.options, &call.all, &call.result, err);
  }
  return end_commit(&call, st, result);
}

static tarn_status recover(commit_call *call, tarn_error *err) {
  tn_table *table = call->c->written;
  bool has_one;
  int64_t last;
  TN_TRY(tn_commit_last_identifier(table, call->c->user, &has_one, &last, err));
  if (has_one && last >= call->all.identifier) {
    return TARN_OK;
  }
  TN_TRY(tn_commit_check_files(table, &call->all, err));
  call->options.checks_appends = true;
  return tn_commit_append(table, &call->options, &call->all, &call->result, err);
}

tarn_status tarn_committer_recover(tarn_committer *committer, int64_t identifier,
                                   const tarn_messages *messages,
                                   const tarn_commit_request *request, tarn_commit_result *result,
                                   tarn_error *err) {
  commit_call call;
  tarn_status st = begin_call(committer, identifier, messages, request, &call, err);
  return end_commit(&call, st == TARN_OK ? recover(&call, err) : st, result);
}

tarn_status tarn_committer_abort(tarn_committer *committer, const tarn_messages *messages,
                                 tarn_error *err) {
  commit_call call;
  tarn_status st = begin_call(committer, 0, messages, NULL, &call, err);
  if (st == TARN_OK) {
    st = tn_commit_abort(committer->written, &call.all, err);
  }
  return end_call(&call, st, NULL);
}

/* ------------------------------------------------------------------ partitions */

static tarn_status partition_pred(commit_call *call, const tarn_option *pairs, size_t n,
                                  const tn_pred **out, tarn_error *err) {
  const tn_pred **parts = tn_arena_calloc(&call->arena, n, sizeof(*parts));
  *out = NULL;
  if (parts == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < n; i++) {
    TN_TRY(tn_api_partition_leaf(call->c->written, &call->arena, &pairs[i], &parts[i], err));
  }
  if (n > 0) {
    *out = n == 1 ? parts[0] : tn_pred_compound(&call->arena, TN_PRED_AND, parts, (int32_t)n);
    return *out != NULL ? TARN_OK : tn_oom(err);
  }
  return TARN_OK;
}

tarn_status tarn_committer_overwrite(tarn_committer *committer, int64_t identifier,
                                     const tarn_option *partition, size_t n,
                                     const tarn_messages *messages,
                                     const tarn_commit_request *request, tarn_commit_result *result,
                                     tarn_error *err) {
  tn_table *table = committer->written;
  const tn_pred *filter = NULL;
  bool is_dynamic = false;
  commit_call call;
  tarn_status st = begin_call(committer, identifier, messages, request, &call, err);
  TN_TRY_TO(done, st);
  TN_TRY_TO(done,
            tn_options_bool(&table->options, "dynamic-partition-overwrite", &is_dynamic, err));
  TN_TRY_TO(done, partition_pred(&call, partition, n, &filter, err));
  is_dynamic = is_dynamic && table->schema->n_partition_keys > 0; /* whatever was given */
  st = tn_commit_overwrite(table, &call.options, &call.all, filter, is_dynamic, &call.result, err);
done:
  return end_commit(&call, st, result);
}

tarn_status tarn_committer_truncate(tarn_committer *committer, tarn_commit_result *result,
                                    tarn_error *err) {
  commit_call call;
  tarn_status st = begin_call(committer, TARN_BATCH_COMMIT, NULL, NULL, &call, err);
  if (st == TARN_OK) {
    st = tn_commit_overwrite(committer->written, &call.options, &call.all, NULL, false,
                             &call.result, err);
  }
  return end_call(&call, st, result);
}

tarn_status tarn_committer_drop_partitions(tarn_committer *committer,
                                           const tarn_option *const *specs, const size_t *n_keys,
                                           size_t n_specs, tarn_commit_result *result,
                                           tarn_error *err) {
  const tn_pred **parts, *all;
  commit_call call;
  tarn_status st = begin_call(committer, TARN_BATCH_COMMIT, NULL, NULL, &call, err);
  TN_TRY_TO(done, st);
  if (n_specs == 0) {
    st = tn_fail(err, TARN_E_INVALID, "no partition was given to drop");
    goto done;
  }
  parts = tn_arena_calloc(&call.arena, n_specs, sizeof(*parts));
  if (parts == NULL) {
    st = tn_oom(err);
    goto done;
  }
  for (size_t i = 0; i < n_specs; i++) {
    if (n_keys[i] == 0) {
      st = tn_fail(err, TARN_E_INVALID, "a partition to drop without a column");
      goto done;
    }
    TN_TRY_TO(done, partition_pred(&call, specs[i], n_keys[i], &parts[i], err));
  }
  all =
      n_specs == 1 ? parts[0] : tn_pred_compound(&call.arena, TN_PRED_OR, parts, (int32_t)n_specs);
  if (all == NULL) {
    st = tn_oom(err);
    goto done;
  }
  st = tn_commit_overwrite(committer->written, &call.options, &call.all, all, false, &call.result,
                           err);
done:
  return end_call(&call, st, result);
}

tarn_status tarn_committer_compact_manifests(tarn_committer *committer, tarn_commit_result *result,
                                             tarn_error *err) {
  commit_call call;
  tarn_status st = begin_call(committer, TARN_BATCH_COMMIT, NULL, NULL, &call, err);
  if (st == TARN_OK) {
    st = tn_commit_compact_manifests(committer->written, &call.options, &call.result, err);
  }
  return end_call(&call, st, result);
}

/* ------------------------------------------------------------------ statistics */

/* The latest snapshot and what its files take. */
static tarn_status sum_files(const tarn_committer *c, tn_arena *arena, tn_snapshot *snapshot,
                             int64_t *size, tarn_error *err) {
  tn_table *table = c->written;
  tn_partition_info *partitions;
  int32_t n;
  int64_t id;
  *size = 0;
  TN_TRY(tn_snapshot_latest_id(table->env, table->storage, table->branch_path, &id, err));
  if (id == 0) {
    return tn_fail(err, TARN_E_NOT_FOUND, "%s: there is no snapshot to analyze", table->full_name);
  }
  TN_TRY(
      tn_snapshot_read(table->env, table->storage, table->branch_path, id, arena, snapshot, err));
  TN_TRY(tn_plan_partitions(table, arena, &partitions, &n, err));
  for (int32_t i = 0; i < n; i++) {
    *size += partitions[i].file_size;
  }
  return TARN_OK;
}

static tarn_status analyze(commit_call *call, bool with_columns, tn_buf *json, tarn_error *err) {
  tarn_committer *c = call->c;
  tn_snapshot snapshot;
  int64_t size, rows;
  tn_statistics s = {0};
  TN_TRY(sum_files(c, &call->arena, &snapshot, &size, err));
  TN_TRY(tn_api_analyze(c->written, with_columns, c->cancel, &call->arena, &rows, &s.columns,
                        &s.n_columns, err));
  s.snapshot_id = snapshot.id;
  /* Under whose names the columns are told: not the snapshot's, if the table was altered since.
   * Java looks the names up in it, and could not commit any more. */
  s.schema_id = c->written->schema->id;
  s.merged_record_count = rows;
  /* Rows that a merge drops take their part of the files, as Java estimates. */
  s.merged_record_size =
      snapshot.total_record_count > 0
          ? (int64_t)((double)size * (double)rows / (double)snapshot.total_record_count)
          : 0;
  TN_TRY(tn_statistics_encode(&s, json, err));
  return tn_commit_analyze(c->written, &call->options, tn_buf_slice(json), snapshot.id,
                           &call->result, err);
}

tarn_status tarn_committer_analyze(tarn_committer *committer, int32_t columns,
                                   tarn_commit_result *result, tarn_error *err) {
  commit_call call;
  tn_buf json;
  tarn_status st = begin_call(committer, TARN_BATCH_COMMIT, NULL, NULL, &call, err);
  tn_buf_init(&json, &committer->env->mem, TN_API_TEXT_LIMIT);
  if (st == TARN_OK) {
    st = analyze(&call, columns != 0, &json, err);
  }
  tn_buf_reset(&json);
  return end_call(&call, st, result);
}
