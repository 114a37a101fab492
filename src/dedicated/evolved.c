/* evolved.c - tables with data evolution: files side by side become one, and small ones that follow
 * each other.
 *
 *   partition -> row ranges that come together -> rows, put together -> one new file
 *
 * The new file has the rows' ids by its first one, and the sequence number of each row in a column
 * that nothing lists: Java finds it there, but takes what the lists name for columns of the table.
 * The file as a whole is as new as the newest of those that it replaces: columns that somebody
 * writes for the same rows meanwhile are newer, and count. Where the ranges of rows have changed
 * meanwhile, for whoever comes second, the commit is a conflict.
 *
 * Rule: org.apache.paimon.append.dataevolution.{DataEvolutionCompactCoordinator,
 * DataEvolutionCompactTask} as of 1.4.2, where rows get the largest sequence number of all.
 */
#include <stdio.h>

#include "datafile/data_writer.h"
#include "datafile/row_tracking.h"
#include "dedicated/evolved_picks.h"
#include "dedicated/run.h"

#define TEXT_LIMIT ((size_t)1 << 30)

typedef struct evolved_job {
  tn_live_bucket bucket; /* with the entries of the task alone */
  const tn_data_file **files;
  tn_evolved_task task;
  tn_data_file *before; /* as the message has them */
  tn_data_file made;
  bool is_done;
} evolved_job;

typedef struct portion {
  tn_compact_run_state *run;
  tn_write_shape *shape;
  const tn_field *fields; /* of the shape */
  int32_t n_fields;
  bool has_apart; /* there are columns of BLOBs or VECTORs that lie in files of their own */
  tn_evolved_rules rules;
  tn_arena arena;
  evolved_job **jobs;
  size_t n_jobs, job_room;
  tn_buf picks;
} portion;

/* ------------------------------------------------------------------ picks */

static tarn_status add_job(portion *p, const tn_live_bucket *bucket, const tn_data_file *files,
                           const tn_evolved_task *task, tarn_error *err) {
  evolved_job *job = tn_arena_calloc(&p->arena, 1, sizeof(*job));
  tn_compact_facts facts = {.n_files = (int32_t)task->n_files,
                            .n_level_0 = (int32_t)task->n_files,
                            .n_bytes = task->n_bytes};
  size_t n = (size_t)task->n_files;
  char text[160];
  if (job == NULL || task->n_files > INT32_MAX ||
      !tn_arena_grow(&p->arena, (void **)&p->jobs, &p->job_room, p->n_jobs, sizeof(*p->jobs))) {
    return tn_oom(err);
  }
  job->bucket = *bucket;
  job->task = *task;
  job->bucket.entries = tn_arena_calloc(&p->arena, n, sizeof(*job->bucket.entries));
  job->files = tn_arena_calloc(&p->arena, n, sizeof(*job->files));
  job->before = tn_arena_calloc(&p->arena, n, sizeof(*job->before));
  if (job->bucket.entries == NULL || job->files == NULL || job->before == NULL) {
    return tn_oom(err);
  }
  job->bucket.n_entries = task->n_files;
  for (size_t i = 0; i < n; i++) {
    job->bucket.entries[i] = bucket->entries[task->files[i]];
    job->files[i] = &files[task->files[i]];
    job->before[i] = *job->files[i];
  }
  p->jobs[p->n_jobs++] = job;
  snprintf(text, sizeof(text), "reason=row-ranges first_row=%lld rows=%lld files=%lld bytes=%lld",
           (long long)task->first_row_id, (long long)task->n_rows, (long long)task->n_files,
           (long long)task->n_bytes);
  tn_log(p->run->env, TARN_LOG_DEBUG, "event=compaction_picked table=%s bucket=%d %s",
         p->run->table->full_name, (int)bucket->bucket, text);
  facts.reason = text;
  facts.files = job->files;
  return tn_run_tell_pick(p->run, bucket->partition, bucket->bucket, &facts, &p->picks, err);
}

/* Does a data file hold a column that new data files would not? It is from before
 * 'vector.file.format' was set, and the only one with these values. */
static tarn_status holds_apart(const portion *p, const tn_data_file *file, bool *out,
                               tarn_error *err) {
  tn_table *table = p->run->table;
  tn_schema *schema;
  *out = false;
  TN_TRY(tn_table_schema(table, file->schema_id, &schema, err));
  for (int32_t i = 0; i < table->schema->n_fields; i++) {
    const tn_field *field = &table->schema->fields[i];
    int32_t at = tn_fields_find_id(schema->fields, schema->n_fields, field->id);
    *out |= tn_column_is_apart(table, field) && at >= 0 &&
            tn_data_file_has_column(file, tn_slice_text(schema->fields[at].name));
  }
  tn_schema_release(schema);
  return TARN_OK;
}

static tarn_status pick_partition(portion *p, const tn_live_bucket *bucket, tarn_error *err) {
  tn_evolved_task *tasks;
  tn_data_file *files;
  bool *stays = NULL;
  int64_t n;
  TN_TRY(tn_live_bucket_files(bucket, &p->arena, &files, err));
  if (p->has_apart) {
    stays = tn_arena_calloc(&p->arena, (size_t)bucket->n_entries, sizeof(*stays));
    if (stays == NULL) {
      return tn_oom(err);
    }
    for (int64_t i = 0; i < bucket->n_entries; i++) {
      TN_TRY(holds_apart(p, &files[i], &stays[i], err));
    }
  }
  TN_TRY(tn_evolved_pick(&p->rules, files, stays, bucket->n_entries, &p->arena, &tasks, &n, err));
  for (int64_t i = 0; i < n; i++) {
    TN_TRY(add_job(p, bucket, files, &tasks[i], err));
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ rewriting */

static tarn_status write_rows(void *ctx, tn_batch *batch, tarn_error *err) {
  return tn_data_writer_write(ctx, batch, err);
}

/* What the entry of the new file tells besides. */
static void describe(evolved_job *job) {
  tn_data_file *f = &job->made;
  f->has_first_row_id = true;
  f->first_row_id = job->task.first_row_id;
  f->min_sequence = INT64_MAX;
  f->max_sequence = INT64_MIN;
  for (int64_t i = 0; i < job->task.n_files; i++) {
    const tn_data_file *before = job->files[i];
    f->min_sequence =
        before->min_sequence < f->min_sequence ? before->min_sequence : f->min_sequence;
    f->max_sequence =
        before->max_sequence > f->max_sequence ? before->max_sequence : f->max_sequence;
  }
}

static tarn_status check_rows(const portion *p, const evolved_job *job, int32_t n_files,
                              tarn_error *err) {
  int64_t n_rows = n_files > 0 ? job->made.row_count : 0;
  return n_files == 1 && n_rows == job->task.n_rows
             ? TARN_OK
             : tn_fail(err, TARN_E_CORRUPT,
                       "%s: the files of the rows %lld to %lld hold %lld rows: %.*s and others",
                       p->run->table->full_name, (long long)job->task.first_row_id,
                       (long long)(job->task.first_row_id + job->task.n_rows - 1),
                       (long long)n_rows, TN_SLICE_ARG(job->files[0]->file_name));
}

/* One after the other: reads work ahead on the pool, so that they may not run in its tasks. */
static tarn_status run_job(portion *p, evolved_job *job, tarn_error *err) {
  const tn_data_writer_request request = {.shape = p->shape,
                                          .partition = job->bucket.partition,
                                          .bucket = job->bucket.bucket,
                                          .is_compaction = true};
  tn_data_writer *writer;
  tn_data_file *files;
  int32_t n = 0;
  tarn_status st;
  TN_TRY(tn_data_writer_create(&request, &writer, err));
  st = tn_run_read(p->run, &job->bucket, p->fields, p->n_fields, write_rows, writer, err);
  st = st == TARN_OK ? tn_data_writer_finish(writer, &p->arena, &files, &n, err) : st;
  if (st == TARN_OK && n > 0) {
    job->made = files[0];
    job->is_done = true; /* from here on the portion removes it */
  }
  tn_data_writer_free(writer);
  TN_TRY(st);
  TN_TRY(check_rows(p, job, n, err));
  describe(job);
  tn_run_progress(p->run, job->task.n_bytes, job->made.file_size);
  return TARN_OK;
}

/* ------------------------------------------------------------------ portions */

static void delete_files(const portion *p) {
  for (size_t i = 0; i < p->n_jobs; i++) {
    const evolved_job *job = p->jobs[i];
    if (job->is_done) {
      tn_data_file_delete(p->run->table, job->bucket.partition, job->bucket.bucket, &job->made);
    }
  }
}

static tarn_status commit_portion(portion *p, const tn_snapshot *snapshot, tarn_error *err) {
  tn_commit_message *messages = tn_arena_calloc(&p->arena, p->n_jobs, sizeof(*messages));
  if (messages == NULL) {
    delete_files(p);
    return tn_oom(err);
  }
  for (size_t i = 0; i < p->n_jobs; i++) {
    evolved_job *job = p->jobs[i];
    messages[i] = (tn_commit_message){.partition = job->bucket.partition,
                                      .bucket = job->bucket.bucket,
                                      .total_buckets = job->bucket.total_buckets,
                                      .has_total_buckets = true,
                                      .compact_before = {job->before, (int32_t)job->task.n_files},
                                      .compact_after = {&job->made, 1}};
  }
  return tn_run_commit(p->run, snapshot, messages, (int32_t)p->n_jobs, err);
}

static tarn_status run_portion(portion *p, const tn_snapshot *snapshot, tarn_error *err) {
  tn_compact_run_state *run = p->run;
  tarn_status st = TARN_OK;
  run->result->n_picks += (int64_t)p->n_jobs;
  TN_TRY(tn_run_add_picks(run, &p->picks, err));
  for (size_t i = 0; run->q->is_dry_run && i < p->n_jobs; i++) {
    run->result->n_files_in += p->jobs[i]->task.n_files;
    run->result->n_bytes_in += p->jobs[i]->task.n_bytes;
  }
  if (run->q->is_dry_run || p->n_jobs == 0) {
    return TARN_OK;
  }
  run->progress.n_units += (int64_t)p->n_jobs;
  for (size_t i = 0; i < p->n_jobs && st == TARN_OK; i++) {
    st = run_job(p, p->jobs[i], err);
  }
  if (st != TARN_OK) {
    delete_files(p);
    return st;
  }
  return commit_portion(p, snapshot, err);
}

static void reset_portion(portion *p) {
  tn_arena_reset(&p->arena);
  tn_buf_reset(&p->picks);
  p->jobs = NULL;
  p->n_jobs = p->job_room = 0;
}

/* ------------------------------------------------------------------ all */

/* The columns of data files, and behind them the sequence numbers of the rows. */
static tarn_status make_shape(portion *p, bool *has_columns, tarn_error *err) {
  tn_table *table = p->run->table;
  const tn_schema *schema = table->schema;
  int32_t *columns =
      tn_arena_calloc(&p->run->arena, (size_t)schema->n_fields + 1, sizeof(*columns));
  int32_t n = 0;
  if (columns == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < schema->n_fields; i++) {
    if (!tn_column_is_apart(table, &schema->fields[i])) {
      columns[n++] = i;
    }
  }
  *has_columns = n > 0;
  p->has_apart = n < schema->n_fields;
  if (n == 0) {
    return TARN_OK;
  }
  columns[n++] = schema->n_fields + 1; /* _SEQUENCE_NUMBER */
  TN_TRY(tn_write_shape_create(table, false, columns, n, &p->shape, err));
  p->fields = tn_write_shape_fields(p->shape, &p->n_fields);
  return TARN_OK;
}

static tn_evolved_rules rules_of(const tn_compact_run_state *run) {
  const tn_compact_options *o = &run->options;
  int64_t least = run->q->is_full || o->append_min_files < 2 ? 2 : o->append_min_files;
  return (tn_evolved_rules){.target_bytes = o->target_file_bytes,
                            .open_bytes = run->table->facts.split_open_cost_bytes,
                            .min_files = run->q->is_full && o->force_rewrite_all_files ? 1 : least};
}

static tarn_status check_table(const tn_table *table, tarn_error *err) {
  return table->facts.deletion_vectors || table->facts.bucket_mode != TN_BUCKETS_UNAWARE
             ? tn_fail(err, TARN_E_UNSUPPORTED,
                       "%s: tables with 'data-evolution.enabled' are compacted without buckets and "
                       "without 'deletion-vectors.enabled'",
                       table->full_name)
             : TARN_OK;
}

tarn_status tn_run_evolved(tn_compact_run_state *run, const tn_live_table *live, tarn_error *err) {
  portion p = {.run = run, .rules = rules_of(run)};
  bool has_columns;
  tarn_status st = TARN_OK;
  TN_TRY(check_table(run->table, err));
  TN_TRY(make_shape(&p, &has_columns, err));
  tn_arena_init(&p.arena, &run->env->mem, TN_PLAN_ARENA_BYTES);
  tn_buf_init(&p.picks, &run->env->mem, TEXT_LIMIT);
  for (int64_t i = 0; has_columns && i < live->n_buckets && st == TARN_OK; i++) {
    st = pick_partition(&p, &live->buckets[i], err);
    if (st == TARN_OK && (p.n_jobs >= TN_PORTION || i + 1 == live->n_buckets)) {
      st = run_portion(&p, &live->snapshot, err);
      reset_portion(&p);
    }
  }
  reset_portion(&p);
  tn_write_shape_free(p.shape);
  return st;
}
