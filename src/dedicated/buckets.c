/* buckets.c - tables with buckets: each is picked from, and its tasks run, by one thread; several
 * buckets at once.
 */
#include "dedicated/run.h"

#define TEXT_LIMIT ((size_t)64 << 20)
/* Picks of one bucket; each leaves fewer runs, so that this is never reached. */
#define MAX_PICKS 64

/* One bucket of a portion. */
typedef struct bucket_job {
  const tn_live_bucket *bucket;
  tn_arena arena; /* of the message */
  tn_data_file_names names;
  tn_commit_message message;
  bool has_message;
  tn_buf picks;
  int64_t n_picks;
  int64_t n_bytes, n_files; /* of the picks */
} bucket_job;

typedef struct portion {
  tn_compact_run_state *run;
  bucket_job *jobs;
  int64_t n;
} portion;

static tarn_status note_pick(tn_compact_run_state *run, bucket_job *job,
                             const tn_compact_task *task, tarn_error *err) {
  tn_compact_facts facts;
  tn_compact_task_facts(task, &facts);
  job->n_picks++;
  job->n_bytes += facts.n_bytes;
  job->n_files += facts.n_files;
  return tn_run_tell_pick(run, job->bucket->partition, job->bucket->bucket, &facts, &job->picks,
                          err);
}

/* Picks until there is nothing to do. After a full compaction there is nothing. Rule:
 * MergeTreeWriter#{compact,prepareCommit}. */
static tarn_status run_picks(tn_compact_run_state *run, bucket_job *job,
                             tn_bucket_compactor *compactor, tarn_error *err) {
  const tn_table_compact_request *q = run->q;
  for (int i = 0; i < MAX_PICKS; i++) {
    tn_compact_task *task;
    tarn_status st, finished;
    TN_TRY(tn_cancel_check(q->cancel, err));
    TN_TRY(tn_bucket_compactor_pick(compactor, q->is_full, &task, err));
    if (task == NULL) {
      break;
    }
    st = note_pick(run, job, task, err);
    if (st == TARN_OK && !q->is_dry_run) {
      st = tn_compact_task_run(task, err);
    }
    finished = tn_bucket_compactor_finish(compactor, task, st == TARN_OK ? err : NULL);
    TN_TRY(st);
    TN_TRY(finished);
    if (q->is_full || q->is_dry_run) {
      break;
    }
  }
  return TARN_OK;
}

static tarn_status run_bucket(tn_compact_run_state *run, bucket_job *job, tarn_error *err) {
  const tn_live_bucket *b = job->bucket;
  const tn_bucket_setup setup = {run->table, run->rewriter, &run->options, &job->names};
  tn_bucket_state state = {.partition = b->partition,
                           .bucket = b->bucket,
                           .n_files = (int32_t)b->n_entries,
                           .vectors = b->vectors,
                           .n_vectors = b->n_vectors};
  tn_bucket_compactor *compactor = NULL;
  tn_data_file *files;
  tn_arena arena;
  tarn_status st;
  tn_arena_init(&arena, &run->env->mem, TN_PLAN_ARENA_BYTES);
  TN_TRY_TO(done, tn_live_bucket_files(b, &arena, &files, err));
  state.files = files;
  TN_TRY_TO(done, tn_bucket_compactor_create(&setup, &state, &compactor, err));
  TN_TRY_TO(done, run_picks(run, job, compactor, err));
  if (!run->q->is_dry_run) {
    job->message = (tn_commit_message){
        .bucket = b->bucket, .total_buckets = b->total_buckets, .has_total_buckets = true};
    if (!tn_arena_slice(&job->arena, b->partition, &job->message.partition)) {
      TN_TRY_TO(done, tn_oom(err));
    }
    st = tn_bucket_compactor_take(compactor, &job->arena, &job->message, &job->has_message, err);
  }
done:
  tn_bucket_compactor_free(compactor);
  tn_arena_reset(&arena);
  return st;
}

static int64_t sum_bytes(const tn_data_files *files) {
  int64_t sum = 0;
  for (int32_t i = 0; i < files->n; i++) {
    sum += files->items[i].file_size;
  }
  return sum;
}

static tarn_status run_job(void *ctx, int64_t i, tarn_error *err) {
  portion *p = ctx;
  bucket_job *job = &p->jobs[i];
  TN_TRY(run_bucket(p->run, job, err));
  tn_run_progress(p->run, sum_bytes(&job->message.compact_before),
                  sum_bytes(&job->message.compact_after));
  return TARN_OK;
}

/* What was picked, and the commit. */
static tarn_status settle(portion *p, const tn_snapshot *snapshot, tarn_status st,
                          tarn_error *err) {
  tn_compact_run_state *run = p->run;
  tn_commit_message *messages = tn_calloc(&run->env->mem, (size_t)p->n + 1, sizeof(*messages));
  int32_t n = 0;
  for (int64_t i = 0; i < p->n && messages != NULL; i++) {
    if (p->jobs[i].has_message) {
      messages[n++] = p->jobs[i].message;
    }
  }
  for (int64_t i = 0; i < p->n && st == TARN_OK; i++) {
    const bucket_job *job = &p->jobs[i];
    run->result->n_picks += job->n_picks;
    if (run->q->is_dry_run) {
      run->result->n_bytes_in += job->n_bytes;
      run->result->n_files_in += job->n_files;
    }
    st = tn_run_add_picks(run, &job->picks, err);
  }
  if (messages == NULL) {
    for (int64_t i = 0; i < p->n; i++) {
      tn_run_drop(run, &p->jobs[i].message, p->jobs[i].has_message);
    }
    return st == TARN_OK ? tn_oom(err) : st;
  }
  if (st != TARN_OK) {
    tn_run_drop(run, messages, n);
  } else {
    st = tn_run_commit(run, snapshot, messages, n, err);
  }
  tn_free(&run->env->mem, messages);
  return st;
}

static tarn_status run_portion(tn_compact_run_state *run, const tn_live_table *live,
                               const tn_live_bucket *const *buckets, int64_t n, tarn_error *err) {
  tn_mem *mem = &run->env->mem;
  portion p = {.run = run, .n = n, .jobs = tn_calloc(mem, (size_t)n, sizeof(*p.jobs))};
  tarn_status st;
  if (p.jobs == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < n; i++) {
    p.jobs[i].bucket = buckets[i];
    tn_arena_init(&p.jobs[i].arena, mem, TN_PLAN_ARENA_BYTES);
    tn_buf_init(&p.jobs[i].picks, mem, TEXT_LIMIT);
  }
  st = tn_parallel_for(run->env->pool, n, run->n_threads, run_job, &p, err);
  st = settle(&p, &live->snapshot, st, err);
  for (int64_t i = 0; i < n; i++) {
    tn_buf_reset(&p.jobs[i].picks);
    tn_arena_reset(&p.jobs[i].arena);
  }
  tn_free(mem, p.jobs);
  return st;
}

tarn_status tn_run_buckets(tn_compact_run_state *run, const tn_live_table *live, tarn_error *err) {
  const tn_live_bucket **buckets =
      tn_calloc(&run->env->mem, (size_t)live->n_buckets + 1, sizeof(*buckets));
  tarn_status st = TARN_OK;
  int64_t n = 0;
  if (buckets == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < live->n_buckets; i++) {
    if (live->buckets[i].bucket >= 0) {
      buckets[n++] = &live->buckets[i];
    }
  }
  run->progress.n_units += n;
  if (n > 0) {
    st = tn_run_open_rewriter(run, err);
  }
  for (int64_t i = 0; i < n && st == TARN_OK; i += TN_PORTION) {
    int64_t left = n - i;
    st = run_portion(run, live, buckets + i, left < TN_PORTION ? left : TN_PORTION, err);
  }
  tn_free(&run->env->mem, buckets);
  return st;
}
