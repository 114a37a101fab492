/* sorted.c - files of append tables without buckets, rewritten with their rows in an order.
 *
 * Each partition is sorted for itself. The commit names the files that were read, and so keeps what
 * others append meanwhile; Java overwrites the partition with what it read, and loses that.
 *
 * Rule: org.apache.paimon.flink.action.SortCompactAction; spec: compaction, 14.
 */
#include "dedicated/row_sorter.h"
#include "dedicated/run.h"
#include "write/write.h"

#define TEXT_LIMIT ((size_t)64 << 20)

/* A partition. */
typedef struct sort_job {
  const tn_live_bucket *bucket;
  tn_arena arena; /* of the messages */
  tn_data_file *files;
  tn_write *write; /* keeps what is not told; ends after the commit */
  tn_commit_message *messages;
  int32_t n_messages;
  int64_t n_bytes;
} sort_job;

typedef struct portion {
  tn_compact_run_state *run;
  sort_job *jobs;
  int64_t n;
} portion;

/* ------------------------------------------------------------------ one partition */

static tarn_status take_rows(void *ctx, const tn_batch *batch, tarn_error *err) {
  return tn_write_batch(ctx, batch, NULL, err);
}

static tarn_status sort_rows(void *ctx, tn_batch *batch, tarn_error *err) {
  return tn_row_sorter_add(ctx, batch, err);
}

static tarn_status sort_partition(tn_compact_run_state *run, sort_job *job, tarn_error *err) {
  const tn_table_compact_request *q = run->q;
  const tn_table_write_options options = {.user = q->user,
                                          .keeps_nulls = true,
                                          .first_row_id = -1,
                                          .spill_folder = q->spill_folder,
                                          .cancel = q->cancel};
  const tn_row_sorter_setup setup = {.fields = run->table->schema->fields,
                                     .n_fields = run->table->schema->n_fields,
                                     .columns = run->order_columns,
                                     .n_columns = q->n_order_columns,
                                     .kind = q->order,
                                     .max_bytes = (int64_t)(run->env->mem.budget_bytes / 4),
                                     .spill_folder = q->spill_folder,
                                     .cancel = q->cancel};
  tn_row_sorter *sorter;
  tarn_status st;
  TN_TRY(tn_row_sorter_create(run->env, &setup, &sorter, err));
  TN_TRY_TO(done, tn_run_read(run, job->bucket, run->table->schema->fields,
                              run->table->schema->n_fields, sort_rows, sorter, err));
  TN_TRY_TO(done, tn_write_create(run->table, &options, &job->write, err));
  TN_TRY_TO(done, tn_row_sorter_give(sorter, take_rows, job->write, err));
  st = tn_write_prepare(job->write, q->identifier, &job->arena, &job->messages, &job->n_messages,
                        err);
done:
  tn_row_sorter_free(sorter);
  return st;
}

/* One after the other: reads work ahead on the pool, so that they may not run in its tasks. */
static tarn_status run_job(portion *p, int64_t i, tarn_error *err) {
  sort_job *job = &p->jobs[i];
  tn_write_stats stats;
  TN_TRY(sort_partition(p->run, job, err));
  tn_write_get_stats(job->write, &stats);
  tn_run_progress(p->run, job->n_bytes, stats.n_bytes);
  return TARN_OK;
}

/* ------------------------------------------------------------------ picks and commits */

static tarn_status tell(tn_compact_run_state *run, sort_job *job, tarn_error *err) {
  const tn_live_bucket *b = job->bucket;
  const tn_data_file **files = tn_arena_calloc(&job->arena, (size_t)b->n_entries, sizeof(*files));
  tn_compact_facts facts = {.reason = "order",
                            .n_files = (int32_t)b->n_entries,
                            .n_level_0 = (int32_t)b->n_entries,
                            .files = files};
  tn_buf text;
  tarn_status st;
  if (files == NULL) {
    return tn_oom(err);
  }
  TN_TRY(tn_live_bucket_files(b, &job->arena, &job->files, err));
  for (int64_t i = 0; i < b->n_entries; i++) {
    files[i] = &job->files[i];
    job->n_bytes += job->files[i].file_size;
  }
  facts.n_bytes = job->n_bytes;
  run->result->n_picks++;
  if (run->q->is_dry_run) {
    run->result->n_files_in += b->n_entries;
    run->result->n_bytes_in += job->n_bytes;
  }
  tn_log(run->env, TARN_LOG_DEBUG,
         "event=compaction_picked table=%s bucket=%d reason=order files=%lld bytes=%lld",
         run->table->full_name, (int)b->bucket, (long long)b->n_entries, (long long)job->n_bytes);
  tn_buf_init(&text, &run->env->mem, TEXT_LIMIT);
  st = tn_run_tell_pick(run, b->partition, b->bucket, &facts, &text, err);
  st = st == TARN_OK ? tn_run_add_picks(run, &text, err) : st;
  tn_buf_reset(&text);
  return st;
}

/* What the writers gave, and the files that were read. */
static int32_t join_messages(const portion *p, tn_commit_message *out) {
  int32_t n = 0;
  for (int64_t i = 0; i < p->n; i++) {
    const sort_job *job = &p->jobs[i];
    for (int32_t k = 0; k < job->n_messages; k++) {
      out[n++] = job->messages[k];
    }
    out[n++] =
        (tn_commit_message){.partition = job->bucket->partition,
                            .bucket = job->bucket->bucket,
                            .total_buckets = job->bucket->total_buckets,
                            .has_total_buckets = true,
                            .deleted_files = {job->files, (int32_t)job->bucket->n_entries},
                            .deleted_indexes = {job->bucket->vectors, job->bucket->n_vectors}};
  }
  return n;
}

static tarn_status commit_portion(portion *p, const tn_snapshot *snapshot, tarn_status st,
                                  tarn_error *err) {
  tn_mem *mem = &p->run->env->mem;
  size_t room = (size_t)p->n;
  tn_commit_message *messages;
  for (int64_t i = 0; i < p->n; i++) {
    room += (size_t)p->jobs[i].n_messages;
  }
  messages = tn_calloc(mem, room, sizeof(*messages));
  if (messages == NULL || st != TARN_OK) {
    for (int64_t i = 0; i < p->n; i++) {
      tn_run_drop(p->run, p->jobs[i].messages, p->jobs[i].n_messages);
    }
    st = st == TARN_OK ? tn_oom(err) : st;
  } else {
    st = tn_run_commit(p->run, snapshot, messages, join_messages(p, messages), err);
  }
  tn_free(mem, messages);
  return st;
}

static tarn_status run_portion(portion *p, const tn_snapshot *snapshot, tarn_error *err) {
  tarn_status st = TARN_OK;
  for (int64_t i = 0; i < p->n; i++) {
    TN_TRY(tell(p->run, &p->jobs[i], err));
  }
  if (p->run->q->is_dry_run) {
    return TARN_OK;
  }
  for (int64_t i = 0; i < p->n && st == TARN_OK; i++) {
    st = run_job(p, i, err);
  }
  return commit_portion(p, snapshot, st, err);
}

tarn_status tn_run_sorted(tn_compact_run_state *run, const tn_live_table *live, tarn_error *err) {
  const tn_table *t = run->table;
  tn_mem *mem = &run->env->mem;
  tarn_status st = TARN_OK;
  if (t->facts.bucket_mode != TN_BUCKETS_UNAWARE || t->facts.row_tracking) {
    return tn_fail(err, TARN_E_UNSUPPORTED,
                   "%s: rows can be sorted in append tables without buckets and without row "
                   "tracking",
                   t->full_name);
  }
  TN_TRY(tn_order_check(t->schema->fields, run->order_columns, run->q->n_order_columns,
                        run->q->order, err));
  run->progress.n_units += live->n_buckets;
  for (int64_t from = 0; from < live->n_buckets && st == TARN_OK; from += TN_PORTION) {
    portion p = {.run = run};
    p.n = live->n_buckets - from < TN_PORTION ? live->n_buckets - from : TN_PORTION;
    p.jobs = tn_calloc(mem, (size_t)p.n, sizeof(*p.jobs));
    if (p.jobs == NULL) {
      return tn_oom(err);
    }
    for (int64_t i = 0; i < p.n; i++) {
      p.jobs[i].bucket = &live->buckets[from + i];
      tn_arena_init(&p.jobs[i].arena, mem, TN_PLAN_ARENA_BYTES);
    }
    st = run_portion(&p, &live->snapshot, err);
    for (int64_t i = 0; i < p.n; i++) {
      tn_write_free(p.jobs[i].write);
      tn_arena_reset(&p.jobs[i].arena);
    }
    tn_free(mem, p.jobs);
  }
  return st;
}
