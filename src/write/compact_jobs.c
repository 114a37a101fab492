/* compact_jobs.c - compactions of a writer that run beside it. */
#include "write/compact_jobs.h"

#include <string.h>

/* ------------------------------------------------------------------ the list; locked */

static void push(tn_compact_jobs *jobs, tn_compact_job *job) {
  job->state = TN_JOB_QUEUED;
  job->next = NULL;
  job->previous = jobs->last;
  if (jobs->last != NULL) {
    jobs->last->next = job;
  } else {
    jobs->first = job;
  }
  jobs->last = job;
  jobs->counts.n_started++;
  jobs->counts.n_waiting++;
}

static void take_out(tn_compact_jobs *jobs, tn_compact_job *job, tn_job_state state) {
  if (job->previous != NULL) {
    job->previous->next = job->next;
  } else {
    jobs->first = job->next;
  }
  if (job->next != NULL) {
    job->next->previous = job->previous;
  } else {
    jobs->last = job->previous;
  }
  job->previous = job->next = NULL;
  job->state = state;
  jobs->counts.n_waiting--;
  jobs->counts.n_running += state == TN_JOB_RUNNING;
}

/* ------------------------------------------------------------------ running */

/* Locked. The clock of the wall may go back. */
static void count_done(tn_compact_jobs *jobs, const tn_compact_task *task, tarn_status st,
                       int64_t ms) {
  tn_compact_counts *c = &jobs->counts;
  tn_compact_facts facts;
  c->n_completed++;
  c->n_running--;
  c->ms += ms > 0 ? ms : 0;
  if (st == TARN_OK) {
    tn_compact_task_facts(task, &facts);
    c->bytes_in += facts.n_bytes;
    c->bytes_out += facts.n_bytes_out;
    c->max_bytes_in = facts.n_bytes > c->max_bytes_in ? facts.n_bytes : c->max_bytes_in;
    c->max_bytes_out = facts.n_bytes_out > c->max_bytes_out ? facts.n_bytes_out : c->max_bytes_out;
  }
}

/* Not locked; the job is running. */
static void run(tn_compact_jobs *jobs, tn_compact_job *job) {
  tarn_error err;
  tarn_status st;
  int64_t begun = tn_env_now_ms(jobs->env);
  tn_error_reset(&err);
  st = tn_compact_task_run(job->task, &err);
  pthread_mutex_lock(&jobs->mutex);
  count_done(jobs, job->task, st, tn_env_now_ms(jobs->env) - begun);
  if (st == TARN_E_NOT_FOUND) {
    job->loss = tn_alloc(&jobs->env->mem, sizeof(*job->loss));
  }
  if (job->loss != NULL) {
    *job->loss = err;
  } else if (st != TARN_OK && jobs->status == TARN_OK) {
    jobs->status = st;
    jobs->failure = err;
  }
  job->state = TN_JOB_DONE;
  pthread_cond_broadcast(&jobs->changed);
  pthread_mutex_unlock(&jobs->mutex);
}

/* One job; then the pool's other tasks come first. */
static void run_next(tn_task *task) {
  tn_job_runner *runner = (tn_job_runner *)(void *)task;
  tn_compact_jobs *jobs = runner->jobs;
  tn_compact_job *job;
  bool has_more;
  pthread_mutex_lock(&jobs->mutex);
  job = jobs->first;
  if (job != NULL) {
    take_out(jobs, job, TN_JOB_RUNNING);
  }
  pthread_mutex_unlock(&jobs->mutex);
  if (job != NULL) {
    run(jobs, job);
  }
  pthread_mutex_lock(&jobs->mutex);
  has_more = jobs->first != NULL;
  if (has_more) { /* before the mutex is let go: who stops waits until nobody is active */
    tn_pool_submit(jobs->pool, &runner->task);
  } else {
    runner->is_active = false;
    jobs->n_active--;
    pthread_cond_broadcast(&jobs->changed);
  }
  pthread_mutex_unlock(&jobs->mutex);
}

/* Locked; lets go of the mutex meanwhile. Something is awaited that others do. */
static void pass_time(tn_compact_jobs *jobs, bool (*is_over)(const tn_compact_jobs *, const void *),
                      const void *what) {
  while (!is_over(jobs, what)) {
    bool has_helped;
    pthread_mutex_unlock(&jobs->mutex);
    has_helped = tn_pool_help(jobs->pool);
    pthread_mutex_lock(&jobs->mutex);
    if (!has_helped && !is_over(jobs, what)) {
      pthread_cond_wait(&jobs->changed, &jobs->mutex);
    }
  }
}

static bool has_run(const tn_compact_jobs *jobs, const void *job) {
  (void)jobs;
  return ((const tn_compact_job *)job)->state == TN_JOB_DONE;
}

static bool is_still(const tn_compact_jobs *jobs, const void *nothing) {
  (void)nothing;
  return jobs->n_active == 0;
}

void tn_compact_job_start(tn_compact_jobs *jobs, tn_compact_job *job) {
  tn_free(&jobs->env->mem, job->loss);
  job->loss = NULL;
  pthread_mutex_lock(&jobs->mutex);
  push(jobs, job);
  for (int32_t i = 0; i < jobs->n_runners; i++) {
    tn_job_runner *runner = &jobs->runners[i];
    if (!runner->is_active) {
      runner->is_active = true;
      jobs->n_active++;
      tn_pool_submit(jobs->pool, &runner->task);
      break;
    }
  }
  pthread_mutex_unlock(&jobs->mutex);
}

bool tn_compact_job_is_done(tn_compact_jobs *jobs, tn_compact_job *job, bool waits) {
  bool is_done;
  pthread_mutex_lock(&jobs->mutex);
  if (job->state == TN_JOB_QUEUED && (waits || jobs->n_runners == 0)) {
    take_out(jobs, job, TN_JOB_RUNNING);
    pthread_mutex_unlock(&jobs->mutex);
    run(jobs, job);
    return true;
  }
  if (waits) {
    pass_time(jobs, has_run, job);
  }
  is_done = job->state == TN_JOB_DONE;
  pthread_mutex_unlock(&jobs->mutex);
  return is_done;
}

/* ------------------------------------------------------------------ life */

tarn_status tn_compact_jobs_init(tn_compact_jobs *jobs, tarn_env *env, tarn_error *err) {
  tn_pool *pool = env->pool;
  int32_t n = tn_pool_threads(pool) - 1;
  memset(jobs, 0, sizeof(*jobs));
  if (n > 0) {
    jobs->runners = tn_calloc(&env->mem, (size_t)n, sizeof(*jobs->runners));
    if (jobs->runners == NULL) {
      return tn_oom(err);
    }
  }
  for (int32_t i = 0; i < n; i++) {
    jobs->runners[i].task.run = run_next;
    jobs->runners[i].jobs = jobs;
  }
  jobs->n_runners = n;
  jobs->pool = pool;
  jobs->env = env;
  pthread_mutex_init(&jobs->mutex, NULL);
  pthread_cond_init(&jobs->changed, NULL);
  return TARN_OK;
}

void tn_compact_jobs_reset(tn_compact_jobs *jobs, tn_mem *mem) {
  if (jobs->pool != NULL) {
    pthread_cond_destroy(&jobs->changed);
    pthread_mutex_destroy(&jobs->mutex);
    tn_free(mem, jobs->runners);
    memset(jobs, 0, sizeof(*jobs));
  }
}

void tn_compact_jobs_counts(tn_compact_jobs *jobs, tn_compact_counts *out) {
  pthread_mutex_lock(&jobs->mutex);
  *out = jobs->counts;
  pthread_mutex_unlock(&jobs->mutex);
}

void tn_compact_jobs_stop(tn_compact_jobs *jobs) {
  pthread_mutex_lock(&jobs->mutex);
  while (jobs->first != NULL) {
    take_out(jobs, jobs->first, TN_JOB_DONE);
  }
  pass_time(jobs, is_still, NULL);
  pthread_mutex_unlock(&jobs->mutex);
}

tarn_status tn_compact_jobs_status(tn_compact_jobs *jobs, tarn_error *err) {
  tarn_status st;
  pthread_mutex_lock(&jobs->mutex);
  st = jobs->status;
  if (st != TARN_OK && err != NULL) {
    *err = jobs->failure;
  }
  pthread_mutex_unlock(&jobs->mutex);
  return st;
}

void tn_compact_jobs_forgive(tn_compact_jobs *jobs) {
  pthread_mutex_lock(&jobs->mutex);
  jobs->status = TARN_OK;
  pthread_mutex_unlock(&jobs->mutex);
}
