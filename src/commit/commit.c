/* commit.c - the calls of this room: what they make of messages, snapshot by snapshot. */
#include "commit/commit.h"

#include "commit/attempt.h"
#include "model/statistics.h"

/* ------------------------------------------------------------------ names of data files */

/* Data files are synced by who wrote them, their folders may be new: sync the names down to them.
 * A folder that is not there holds nothing. */
static tarn_status sync_folder(tn_table *table, tn_map *done, tn_arena *arena, const char *path,
                               tarn_error *err) {
  size_t n = strlen(path), n_root = strlen(table->path);
  while (n >= n_root) {
    tn_map_entry *slot;
    const char *folder = tn_arena_strndup(arena, path, n);
    tarn_status st;
    bool is_new;
    if (folder == NULL) {
      return tn_oom(err);
    }
    TN_TRY(tn_map_put(done, tn_slice_of(folder, n), &slot, &is_new, err));
    if (!is_new) {
      return TARN_OK;
    }
    st = tn_storage_sync_folder(table->storage, folder, err);
    if (st == TARN_E_NOT_FOUND) {
      tn_error_reset(err);
    } else if (st != TARN_OK) {
      return st;
    }
    while (n > 0 && path[n - 1] != '/') {
      n--;
    }
    if (n <= 1) {
      return TARN_OK;
    }
    n--;
  }
  return TARN_OK;
}

static tarn_status sync_names(tn_commit_job *job, const tn_committable *c, tarn_error *err) {
  tn_table *table = job->table;
  tarn_status st = TARN_OK;
  tn_arena arena;
  tn_map done;
  if (!table->env->syncs_files) {
    return TARN_OK;
  }
  tn_arena_init(&arena, &table->env->mem, TN_PLAN_ARENA_BYTES);
  tn_map_init(&done, &table->env->mem);
  for (int32_t i = 0; i < c->n_messages && st == TARN_OK; i++) {
    const tn_commit_message *m = &c->messages[i];
    const char *folder;
    st = tn_bucket_folder(table, m->partition, m->bucket, &arena, &folder, err);
    st = st == TARN_OK ? sync_folder(table, &done, &arena, folder, err) : st;
  }
  tn_map_reset(&done);
  tn_arena_reset(&arena);
  return st;
}

/* ------------------------------------------------------------------ append */

static bool is_empty(const tn_commit_changes *c) {
  return c->files.count == 0 && c->changelog.count == 0 && c->indexes.count == 0;
}

/* Rows of files that are there already are taken away: that is checked. Rule:
 * ConflictDetection#shouldBeOverwriteCommit. */
static bool takes_away(const tn_commit_changes *c) {
  for (size_t i = 0; i < c->files.count; i++) {
    if (c->files.items[i].kind == TN_FILE_DELETE) {
      return true;
    }
  }
  for (size_t i = 0; i < c->indexes.count; i++) {
    if (tn_index_is_vectors(&c->indexes.items[i])) {
      return true;
    }
  }
  return false;
}

/* Columns of rows that are there: whose files must still hold these rows. Java's writers look only
 * when they are told to, and leave a table that cannot be read when a compaction came first. */
static bool adds_columns(const tn_commit_changes *c) {
  for (size_t i = 0; i < c->files.count; i++) {
    if (c->files.items[i].file.has_first_row_id) {
      return true;
    }
  }
  return false;
}

static tn_attempt_request request_of(const tn_committable *c, tn_commit_kind kind) {
  return (tn_attempt_request){.kind = kind,
                              .identifier = c->identifier,
                              .watermark = c->watermark,
                              .has_watermark = c->has_watermark,
                              .properties = c->properties,
                              .n_properties = c->n_properties};
}

/* What a commit says that is not there for certain; but its files must stay: a status after which
 * nobody removes them. */
static tarn_status tell_unsure(const tn_commit_job *job, const tn_commit_result *result,
                               tarn_status st, tarn_error *err) {
  if (st == TARN_OK || !result->is_unsure || st == TARN_E_IO || st == TARN_E_CANCELLED ||
      st == TARN_E_NOMEM) {
    return st;
  }
  return tn_error_context(err, TARN_E_IO,
                          "%s: its snapshot was replaced by another program's, so that it cannot "
                          "be told whether others have the changes already",
                          job->table->full_name);
}

/* Remove what compactions made; what they would have replaced is still there. */
static tarn_status drop_compaction(tn_commit_job *job, const tn_committable *c, tarn_error *err) {
  tn_committable part = *c;
  part.messages = tn_arena_calloc(&job->arena, (size_t)c->n_messages, sizeof(*part.messages));
  if (part.messages == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < c->n_messages; i++) {
    part.messages[i] = c->messages[i];
    part.messages[i].new_files = part.messages[i].changelog_files = (tn_data_files){NULL, 0};
    part.messages[i].new_indexes = (tn_index_files){NULL, 0};
  }
  return tn_commit_abort(job->table, &part, err);
}

/* The compacting part, which may be dropped, and is made again by its writer (tn_write_refresh)
 * then; behind a snapshot with the rows in this call, if any. */
static tarn_status commit_compaction(tn_commit_job *job, const tn_committable *c,
                                     const tn_commit_changes *changes, tn_commit_result *result,
                                     tarn_error *err) {
  tn_attempt_request request = request_of(c, TN_COMMIT_COMPACT);
  int64_t rows_id = result->last_id;
  tarn_error why;
  tarn_status st;
  request.changes = changes;
  request.checks_conflicts = true;
  tn_error_reset(&why);
  st = tn_attempt_run(job, &request, result, &why);
  if (st == TARN_E_CONFLICT && job->options->drops_compaction) {
    tn_log(job->table->env, TARN_LOG_INFO,
           "event=compaction_dropped table=%s identifier=%lld reason=\"%.200s\"",
           job->table->full_name, (long long)c->identifier, why.message);
    result->has_dropped = true;
    return result->is_unsure ? TARN_OK : drop_compaction(job, c, err);
  }
  st = tell_unsure(job, result, st, &why);
  if (st != TARN_OK && rows_id != 0) {
    tarn_status dropped = result->is_unsure ? TARN_OK : drop_compaction(job, c, NULL);
    (void)dropped; /* what cannot be removed stays, an orphan */
    st = tn_error_context(&why, st, "the rows are in snapshot %lld, their compaction failed",
                          (long long)rows_id);
  }
  if (st != TARN_OK && err != NULL) {
    *err = why;
  }
  return st;
}

static tarn_status append(tn_commit_job *job, const tn_committable *c, tn_commit_result *result,
                          tarn_error *err) {
  tn_commit_changes append, compact;
  tarn_status st;
  bool is_overwrite;
  TN_TRY(tn_changes_collect(job->table, c, &job->arena, &append, &compact, err));
  TN_TRY(sync_names(job, c, err));
  is_overwrite = takes_away(&append);
  if (job->options->commits_empty || !is_empty(&append)) {
    tn_attempt_request request =
        request_of(c, is_overwrite ? TN_COMMIT_OVERWRITE : TN_COMMIT_APPEND);
    request.changes = &append;
    request.checks_conflicts = is_overwrite || job->options->checks_appends ||
                               job->options->checks_row_ids || adds_columns(&append);
    st = tn_attempt_run(job, &request, result, err);
    TN_TRY(tell_unsure(job, result, st, err));
  }
  return is_empty(&compact) ? TARN_OK : commit_compaction(job, c, &compact, result, err);
}

tarn_status tn_commit_append(tn_table *table, const tn_commit_options *options,
                             const tn_committable *committable, tn_commit_result *result,
                             tarn_error *err) {
  tn_commit_job job;
  tarn_status st;
  *result = (tn_commit_result){0};
  TN_TRY_TO(done, tn_job_begin(&job, table, options, err));
  TN_TRY_TO(done, append(&job, committable, result, err));
done:
  tn_job_end(&job);
  return tn_table_fault(table, st, err);
}

/* ------------------------------------------------------------------ overwrite */

static bool is_partition_column(void *ctx, int32_t field_id) {
  return tn_schema_partition_key(ctx, field_id) >= 0;
}

static tarn_status note_partitions(const tn_commit_changes *c, tn_map *map, tarn_error *err) {
  for (size_t i = 0; i < c->files.count; i++) {
    tn_map_entry *slot;
    TN_TRY(tn_map_put(map, c->files.items[i].partition, &slot, NULL, err));
  }
  return TARN_OK;
}

static void warn_of_changelog(const tn_commit_job *job, const tn_commit_changes *append,
                              const tn_commit_changes *compact) {
  size_t n = append->changelog.count + compact->changelog.count;
  if (n > 0) {
    tn_log(job->table->env, TARN_LOG_WARN,
           "event=overwrite_ignores_changelog table=%s files=%zu reason=\"an overwrite commits no "
           "changelog: nobody should read its partitions as a stream\"",
           job->table->full_name, n);
  }
}

static tarn_status overwrite(tn_commit_job *job, const tn_committable *c, const tn_pred *filter,
                             bool is_dynamic, tn_commit_result *result, tarn_error *err) {
  tn_overwrite o = {.filter = filter};
  tn_commit_changes compact;
  tn_attempt_request request = request_of(c, TN_COMMIT_OVERWRITE);
  tarn_status st;
  bool has_compaction;
  tn_map only;
  tn_map_init(&only, &job->table->env->mem);
  TN_TRY_TO(done, tn_changes_collect(job->table, c, &job->arena, &o.own, &compact, err));
  TN_TRY_TO(done, sync_names(job, c, err));
  warn_of_changelog(job, &o.own, &compact);
  o.own.changelog = compact.changelog = (tn_entry_list){NULL, 0, 0};
  has_compaction = !is_empty(&compact);
  TN_TRY_TO(done, tn_overwrite_check(job, &o, err));
  if (is_dynamic && job->table->schema->n_partition_keys > 0) {
    TN_TRY_TO(done, note_partitions(&o.own, &only, err));
    o.only = &only;
    o.filter = NULL;
  }
  if (!has_compaction) {
    TN_TRY_TO(done, tn_overwrite_upgrade(job, &o, err));
  }
  request.overwrite = &o;
  request.checks_conflicts = true;
  if (o.only == NULL || only.count > 0) {
    st = tn_attempt_run(job, &request, result, err);
    TN_TRY_TO(done, tell_unsure(job, result, st, err));
  }
  if (has_compaction) {
    TN_TRY_TO(done, commit_compaction(job, c, &compact, result, err));
  }
done:
  tn_map_reset(&only);
  return st;
}

/* Keys that lie in a partition that stays would be in two. Partitions may be emptied, though. */
static tarn_status check_keys(const tn_table *table, const tn_committable *c, const tn_pred *filter,
                              bool is_dynamic, tarn_error *err) {
  bool is_whole = filter == NULL && !is_dynamic;
  bool has_rows = false;
  for (int32_t i = 0; i < c->n_messages; i++) {
    has_rows = has_rows || c->messages[i].new_files.n > 0 || c->messages[i].compact_after.n > 0;
  }
  return table->facts.bucket_mode != TN_BUCKETS_CROSS || is_whole || !has_rows
             ? TARN_OK
             : tn_fail(err, TARN_E_UNSUPPORTED,
                       "%s: its primary key lacks partition columns, so that it can be overwritten "
                       "as a whole only: of no single partitions, and with "
                       "'dynamic-partition-overwrite' = 'false'",
                       table->full_name);
}

tarn_status tn_commit_overwrite(tn_table *table, const tn_commit_options *options,
                                const tn_committable *committable, const tn_pred *filter,
                                bool is_dynamic, tn_commit_result *result, tarn_error *err) {
  tn_commit_job job;
  tarn_status st;
  *result = (tn_commit_result){0};
  TN_TRY_TO(done, tn_job_begin(&job, table, options, err));
  TN_TRY_TO(done, check_keys(table, committable, filter, is_dynamic, err));
  if (filter != NULL && !tn_pred_only_uses(filter, is_partition_column, table->schema)) {
    st = tn_fail(err, TARN_E_INVALID,
                 "%s: whole partitions are overwritten: a filter of other columns than partition "
                 "keys is not possible",
                 table->full_name);
    goto done;
  }
  TN_TRY_TO(done, overwrite(&job, committable, filter, is_dynamic, result, err));
done:
  tn_job_end(&job);
  return tn_table_fault(table, st, err);
}

/* ------------------------------------------------------------------ without files */

tarn_status tn_commit_compact_manifests(tn_table *table, const tn_commit_options *options,
                                        tn_commit_result *result, tarn_error *err) {
  const tn_attempt_request request = {
      .kind = TN_COMMIT_COMPACT, .identifier = INT64_MAX, .compacts_manifests = true};
  tn_commit_job job;
  tarn_status st;
  *result = (tn_commit_result){0};
  TN_TRY_TO(done, tn_job_begin(&job, table, options, err));
  TN_TRY_TO(done, tn_attempt_run(&job, &request, result, err));
done:
  tn_job_end(&job);
  return tn_table_fault(table, st, err);
}

static tarn_status analyze(tn_commit_job *job, tn_slice json, int64_t snapshot_id,
                           tn_commit_result *result, tarn_error *err) {
  tn_attempt_request request = {.kind = TN_COMMIT_ANALYZE, .identifier = INT64_MAX};
  tn_statistics statistics;
  TN_TRY(tn_statistics_decode(&job->table->env->mem, &job->arena, json, "statistics", &statistics,
                              err));
  if (statistics.snapshot_id != snapshot_id) {
    return tn_fail(err, TARN_E_INVALID, "%s: statistics of snapshot %lld, not of %lld",
                   job->table->full_name, (long long)statistics.snapshot_id,
                   (long long)snapshot_id);
  }
  TN_TRY(tn_job_write_statistics(job, json, &request.statistics, err));
  return tn_attempt_run(job, &request, result, err);
}

tarn_status tn_commit_analyze(tn_table *table, const tn_commit_options *options,
                              tn_slice statistics_json, int64_t snapshot_id,
                              tn_commit_result *result, tarn_error *err) {
  tn_commit_job job;
  tarn_status st;
  *result = (tn_commit_result){0};
  TN_TRY_TO(done, tn_job_begin(&job, table, options, err));
  st = analyze(&job, statistics_json, snapshot_id, result, err);
  if (st != TARN_OK) { /* also what was written before the first attempt */
    tn_job_discard(&job, TN_WRITTEN_STATISTICS);
  }
done:
  tn_job_end(&job);
  return tn_table_fault(table, st, err);
}

/* ------------------------------------------------------------------ what was committed */

tarn_status tn_commit_last_identifier(tn_table *table, const char *user, bool *has_one,
                                      int64_t *identifier, tarn_error *err) {
  int64_t first = 1, id, safe;
  bool is_strict;
  tn_arena arena;
  tarn_status st;
  *has_one = false;
  *identifier = 0;
  TN_TRY(tn_options_int(&table->options, "commit.strict-mode.last-safe-snapshot", &safe, &is_strict,
                        err));
  first = is_strict && safe >= 0 && safe < INT64_MAX ? safe + 1 : first;
  TN_TRY(tn_snapshot_latest_id(table->env, table->storage, table->branch_path, &id, err));
  tn_arena_init(&arena, &table->env->mem, TN_PLAN_ARENA_BYTES);
  for (st = TARN_OK; id >= first && !*has_one && st == TARN_OK; id--) {
    tn_snapshot s;
    tn_arena_reset(&arena);
    st = tn_snapshot_read(table->env, table->storage, table->branch_path, id, &arena, &s, err);
    if (st == TARN_OK && s.commit_user != NULL && strcmp(s.commit_user, user) == 0) {
      *has_one = true;
      *identifier = s.commit_identifier;
    }
  }
  if (st == TARN_E_NOT_FOUND) { /* expired: older ones are, too */
    tn_error_reset(err);
    st = TARN_OK;
  }
  tn_arena_reset(&arena);
  return tn_table_fault(table, st, err);
}
