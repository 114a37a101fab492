/* compact_table.c - which way a table is compacted; its commits; what they set off. */
#include "dedicated/compact_table.h"

#include <stdio.h>

#include "base/json.h"
#include "compact/newest.h"
#include "dedicated/run.h"
#include "model/partition.h"

#define PICKS_LIMIT ((size_t)1 << 30)
#define NAME_LIMIT ((size_t)1 << 20)
/* How often a job whose files expire begins anew. */
#define MAX_RUNS 32

/* ------------------------------------------------------------------ for the ways */

tarn_status tn_run_open_rewriter(tn_compact_run_state *run, tarn_error *err) {
  const tn_rewriter_setup setup = {.table = run->table,
                                   .options = &run->options,
                                   .spill_folder = run->q->spill_folder,
                                   .n_threads = run->n_threads,
                                   .cancel = run->q->cancel};
  return run->rewriter != NULL ? TARN_OK : tn_rewriter_create(&setup, &run->rewriter, err);
}

static tarn_status tell_files(const tn_compact_facts *facts, tn_buf *out, tarn_error *err) {
  TN_TRY(tn_buf_text(out, ",\"names\":[", err));
  for (int32_t i = 0; i < facts->n_files; i++) {
    TN_TRY(tn_buf_text(out, i > 0 ? "," : "", err));
    TN_TRY(tn_json_quote(out, facts->files[i]->file_name, err));
  }
  return tn_buf_text(out, "]", err);
}

tarn_status tn_run_tell_pick(const tn_compact_run_state *run, tn_slice partition, int32_t bucket,
                             const tn_compact_facts *facts, tn_buf *out, tarn_error *err) {
  tarn_status st;
  tn_buf name;
  if (run->picks == NULL) {
    return TARN_OK;
  }
  tn_buf_init(&name, &run->env->mem, NAME_LIMIT);
  TN_TRY_TO(done, tn_buf_text(out, out->len > 0 ? ",{\"partition\":" : "{\"partition\":", err));
  TN_TRY_TO(done, tn_partition_text(run->table, partition, &name, err));
  TN_TRY_TO(done, tn_json_quote(out, tn_buf_slice(&name), err));
  TN_TRY_TO(done, tn_buf_printf(out, err, ",\"bucket\":%d,\"reason\":", (int)bucket));
  TN_TRY_TO(done, tn_json_quote(out, tn_slice_text(facts->reason), err));
  TN_TRY_TO(done,
            tn_buf_printf(out, err,
                          ",\"output_level\":%d,\"files\":%d,\"bytes\":%lld,"
                          "\"files_of_level_0\":%d,\"drops_deletes\":%s",
                          (int)facts->output_level, (int)facts->n_files, (long long)facts->n_bytes,
                          (int)facts->n_level_0, facts->drops_deletes ? "true" : "false"));
  if (run->q->is_dry_run) {
    TN_TRY_TO(done, tell_files(facts, out, err));
  }
  st = tn_buf_text(out, "}", err);
done:
  tn_buf_reset(&name);
  return st;
}

tarn_status tn_run_add_picks(tn_compact_run_state *run, const tn_buf *picks, tarn_error *err) {
  if (run->picks == NULL || picks->len == 0) {
    return TARN_OK;
  }
  TN_TRY(tn_buf_text(run->picks, run->picks->len > 1 ? "," : "", err));
  return tn_buf_append(run->picks, picks->data, picks->len, err);
}

void tn_run_progress(tn_compact_run_state *run, int64_t n_bytes_in, int64_t n_bytes_out) {
  pthread_mutex_lock(&run->mutex);
  run->progress.n_done++;
  run->progress.n_bytes_in += n_bytes_in;
  run->progress.n_bytes_out += n_bytes_out;
  if (run->q->progress != NULL) {
    run->q->progress(run->q->progress_ctx, &run->progress);
  }
  pthread_mutex_unlock(&run->mutex);
}

/* ------------------------------------------------------------------ commits */

static bool is_among(const tn_data_files *files, tn_slice name) {
  for (int32_t i = 0; i < files->n; i++) {
    if (tn_slice_equal(files->items[i].file_name, name)) {
      return true;
    }
  }
  return false;
}

/* Files of one list that are not in the other one, which would be moved. */
static void count_files(const tn_data_files *files, const tn_data_files *others, int64_t *n,
                        int64_t *bytes, int64_t *rows, int64_t *moved) {
  for (int32_t i = 0; i < files->n; i++) {
    const tn_data_file *file = &files->items[i];
    if (is_among(others, file->file_name)) {
      (*moved)++;
      continue;
    }
    (*n)++;
    *bytes += file->file_size;
    *rows += file->row_count;
  }
}

static void count_message(tn_table_compact_result *r, const tn_commit_message *m) {
  static const tn_data_files none = {NULL, 0};
  int64_t moved = 0;
  count_files(&m->compact_before, &m->compact_after, &r->n_files_in, &r->n_bytes_in, &r->n_rows_in,
              &r->n_upgraded);
  count_files(&m->deleted_files, &none, &r->n_files_in, &r->n_bytes_in, &r->n_rows_in, &moved);
  count_files(&m->compact_after, &m->compact_before, &r->n_files_out, &r->n_bytes_out,
              &r->n_rows_out, &moved);
  count_files(&m->new_files, &none, &r->n_files_out, &r->n_bytes_out, &r->n_rows_out, &moved);
  r->n_changelog_files += m->compact_changelog.n;
}

/* Statuses after which no snapshot has the files of the messages. */
static bool is_sure(tarn_status status) {
  return status == TARN_E_CONFLICT || status == TARN_E_TIMEOUT || status == TARN_E_INVALID ||
         status == TARN_E_NOT_FOUND || status == TARN_E_UNSUPPORTED;
}

static int64_t latest_id(const tn_table *table) {
  int64_t id;
  return tn_snapshot_latest_id(table->env, table->storage, table->branch_path, &id, NULL) == TARN_OK
             ? id
             : -1;
}

void tn_run_drop(tn_compact_run_state *run, tn_commit_message *messages, int32_t n) {
  const tn_committable all = {
      .identifier = run->q->identifier, .messages = messages, .n_messages = n};
  tarn_error err;
  if (n > 0 && tn_commit_abort(run->table, &all, &err) != TARN_OK) {
    tn_log(run->env, TARN_LOG_WARN, "event=compaction_files_left table=%s error=\"%s\"",
           run->table->full_name, err.message);
  }
}

/* The commit has succeeded, whatever comes of it: failures are in the log, and the next commit
 * tries again. */
static void maintain(tn_compact_run_state *run) {
  const tn_after_commit_request request = {
      .user = run->q->user, .identifier = run->q->identifier, .cancel = run->q->cancel};
  tarn_status st = tn_after_commit(run->table, &run->maintenance, &request, NULL);
  (void)st;
}

tarn_status tn_run_commit(tn_compact_run_state *run, const tn_snapshot *before,
                          tn_commit_message *messages, int32_t n, tarn_error *err) {
  const tn_committable all = {
      .identifier = run->q->identifier, .messages = messages, .n_messages = n};
  const tn_commit_options options = {.user = run->q->user,
                                     .checks_vectors = run->table->facts.deletion_vectors,
                                     .vectors_before = before->index_manifest,
                                     .cancel = run->q->cancel};
  tn_table_compact_result *result = run->result;
  tn_commit_result made = {0};
  int64_t latest = latest_id(run->table);
  tarn_status st;
  if (n == 0) {
    return TARN_OK;
  }
  st = tn_commit_append(run->table, &options, &all, &made, err);
  if (st != TARN_OK) {
    if (is_sure(st) || (latest >= 0 && latest_id(run->table) == latest)) {
      tn_run_drop(run, messages, n);
    }
    return st;
  }
  for (int32_t i = 0; i < n; i++) {
    count_message(result, &messages[i]);
  }
  if (made.last_id > 0) {
    result->first_id = result->first_id == 0 ? made.first_id : result->first_id;
    result->last_id = made.last_id;
    result->n_commits++;
    maintain(run);
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ set up */

/* The table as the job takes it. Rule: CompactAction: table.copy(write-only = false). What reads
 * may skip a compaction would drop for good, and references to BLOBs stay what they are. */
static tarn_status copy_table(const tn_table *t, tn_arena *arena, tn_table **out, tarn_error *err) {
  static const tn_option own[] = {{"write-only", "false"},
                                  {"scan.ignore-lost-files", "false"},
                                  {"scan.ignore-corrupt-files", "false"},
                                  {"blob-as-descriptor", "true"}};
  size_t n = (size_t)t->options.count;
  tn_option *options = tn_arena_calloc(arena, n + TN_COUNT(own), sizeof(*options));
  if (options == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < n; i++) {
    options[i] = t->options.items[i];
  }
  for (size_t i = 0; i < TN_COUNT(own); i++) {
    options[n + i] = own[i];
  }
  return tn_table_create(t->env, t->storage, t->full_name, t->path, t->branch, t->branch_path,
                         t->schema, options, (int32_t)(n + TN_COUNT(own)), out, err);
}

/* With the table of run->source, in place of that before, if any. */
static tarn_status open_table(tn_compact_run_state *run, tarn_error *err) {
  tn_compact_options options;
  tn_table *table;
  tarn_status st;
  TN_TRY(copy_table(run->source, &run->arena, &table, err));
  st = tn_compact_options_read(table, &run->arena, &options, err);
  if (st != TARN_OK) {
    tn_table_release(table);
    return st;
  }
  tn_rewriter_free(run->rewriter);
  tn_table_release(run->table);
  run->rewriter = NULL;
  run->table = table;
  run->options = options;
  return TARN_OK;
}

static tarn_status set_up(tn_compact_run_state *run, tarn_error *err) {
  const tn_table *t = run->q->table;
  if (tn_options_get(&t->options, "scan.fallback-branch") != NULL) {
    tn_log(run->env, TARN_LOG_INFO, "event=compaction_of_branch table=%s branch=%s", t->full_name,
           t->branch);
  }
  run->source = tn_table_retain(run->q->table);
  run->order_columns = run->q->order_columns;
  TN_TRY(open_table(run, err));
  run->n_threads = run->q->n_threads > 0 ? run->q->n_threads : tn_pool_threads(run->env->pool);
  return TARN_OK;
}

/* ------------------------------------------------------------------ a newer schema */

/* The columns of the order, wherever they are now. */
static tarn_status find_order(tn_compact_run_state *run, tarn_error *err) {
  const tn_table_compact_request *q = run->q;
  const tn_schema *before = q->table->schema, *now = run->source->schema;
  int32_t *columns = tn_arena_calloc(&run->arena, (size_t)q->n_order_columns + 1, sizeof(*columns));
  if (columns == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < q->n_order_columns; i++) {
    const tn_field *field = &before->fields[q->order_columns[i]];
    columns[i] = tn_fields_find_id(now->fields, now->n_fields, field->id);
    if (columns[i] < 0) {
      return tn_fail(err, TARN_E_STATE,
                     "%s: the schema has changed from %lld to %lld, which has no column '%s' any "
                     "more: rows cannot be sorted by it",
                     q->table->full_name, (long long)before->id, (long long)now->id, field->name);
    }
  }
  run->order_columns = columns;
  return TARN_OK;
}

/* Somebody has changed the schema since the table was opened, and written rows with it. */
static tarn_status follow_schema(tn_compact_run_state *run, const tn_live_table *live,
                                 tarn_error *err) {
  int64_t newest = run->table->schema->id;
  tn_table *table;
  for (int64_t i = 0; i < live->entries.count; i++) {
    int64_t id = live->entries.items[i]->schema_id;
    newest = id > newest ? id : newest;
  }
  if (newest == run->table->schema->id) {
    return TARN_OK;
  }
  TN_TRY(tn_table_renew(run->source, newest, &table, err));
  tn_table_release(run->source);
  run->source = table;
  if (table->schema->id == run->table->schema->id) {
    return TARN_OK;
  }
  tn_log(run->env, TARN_LOG_INFO, "event=compaction_schema table=%s from=%lld to=%lld",
         table->full_name, (long long)run->table->schema->id, (long long)table->schema->id);
  TN_TRY(find_order(run, err));
  return open_table(run, err);
}

tarn_status tn_run_read_live(tn_compact_run_state *run, tn_live_table *live, tarn_error *err) {
  TN_TRY(tn_live_table_read(run->table, run->q->predicate, run->q->cancel, live, err));
  return follow_schema(run, live, err);
}

/* Has the user committed the identifier already? */
static tarn_status is_done(const tn_compact_run_state *run, bool *out, tarn_error *err) {
  bool has_one;
  int64_t last;
  *out = false;
  if (!run->q->is_once) {
    return TARN_OK;
  }
  TN_TRY(tn_commit_last_identifier(run->table, run->q->user, &has_one, &last, err));
  *out = has_one && last >= run->q->identifier;
  return TARN_OK;
}

/* Rows in bucket-postpone first; the buckets they went to are looked at once more then. */
static tarn_status run_postponed(tn_compact_run_state *run, tn_live_table *live, tarn_error *err) {
  int64_t n_moved;
  TN_TRY(tn_run_postponed(run, live, &n_moved, err));
  if (n_moved > 0 && !run->q->is_dry_run) {
    tn_live_table_reset(live);
    TN_TRY(tn_run_read_live(run, live, err));
  }
  return tn_run_buckets(run, live, err);
}

static tarn_status run_buckets_of(tn_compact_run_state *run, tn_live_table *live, tarn_error *err) {
  if (run->q->n_order_columns > 0) {
    return tn_run_sorted(run, live, err);
  }
  if (run->table->facts.data_evolution) {
    return tn_run_evolved(run, live, err);
  }
  switch (run->table->facts.bucket_mode) {
    case TN_BUCKETS_UNAWARE:
      return tn_run_bucketless(run, live, err);
    case TN_BUCKETS_POSTPONE:
      return run_postponed(run, live, err);
    default:
      return tn_run_buckets(run, live, err);
  }
}

/* Files of the state that was read are gone. Have others compacted them away, so that they expired?
 * Then the job goes on with what there is now. A file that the latest snapshot has is lost. */
static bool was_overtaken(const tn_compact_run_state *run, int64_t snapshot_id,
                          const tarn_error *err) {
  int64_t latest = latest_id(run->table);
  if (latest < 0 || latest == snapshot_id) {
    return false;
  }
  tn_log(run->env, TARN_LOG_INFO,
         "event=compaction_lost table=%s snapshot=%lld latest=%lld reason=\"%.200s\"",
         run->table->full_name, (long long)snapshot_id, (long long)latest, err->message);
  return true;
}

static tarn_status run_table(tn_compact_run_state *run, tarn_error *err) {
  bool is_committed;
  tarn_status st = TARN_OK;
  tarn_error why;
  tn_error_reset(&why);
  TN_TRY(is_done(run, &is_committed, err));
  for (int i = 0; !is_committed && i < MAX_RUNS; i++) {
    tn_live_table live = {0};
    int64_t snapshot_id;
    st = tn_run_read_live(run, &live, &why);
    snapshot_id = live.snapshot.id;
    if (st == TARN_OK && live.n_buckets > 0) {
      run->result->n_buckets = live.n_buckets;
      run->progress.n_units = run->progress.n_done;
      st = run_buckets_of(run, &live, &why);
    }
    tn_live_table_reset(&live);
    if (st != TARN_E_NOT_FOUND || !was_overtaken(run, snapshot_id, &why)) {
      break;
    }
  }
  if (st != TARN_OK && err != NULL) {
    *err = why;
  }
  return st;
}

tarn_status tn_table_compact(const tn_table_compact_request *request,
                             tn_table_compact_result *result, tn_buf *picks, tarn_error *err) {
  tn_compact_run_state run = {
      .q = request, .env = request->table->env, .result = result, .picks = picks};
  tarn_status st;
  *result = (tn_table_compact_result){0};
  if (pthread_mutex_init(&run.mutex, NULL) != 0) {
    return tn_oom(err);
  }
  tn_arena_init(&run.arena, &run.env->mem, NAME_LIMIT * 64);
  st = picks != NULL ? tn_buf_text(picks, "[", err) : TARN_OK;
  st = st == TARN_OK ? set_up(&run, err) : st;
  st = st == TARN_OK ? run_table(&run, err) : st;
  if (picks != NULL && tn_buf_text(picks, "]", st == TARN_OK ? err : NULL) != TARN_OK &&
      st == TARN_OK) {
    st = TARN_E_NOMEM;
  }
  tn_rewriter_free(run.rewriter);
  tn_table_release(run.table);
  tn_table_release(run.source);
  tn_arena_reset(&run.arena);
  pthread_mutex_destroy(&run.mutex);
  return tn_table_fault(request->table, st, err);
}
