/* compact_jobs.h - compactions of a writer that run beside it. For this room only.
 *
 * Jobs wait in a list of their own; of the environment's pool they take all threads but the
 * writer's, and the writer takes part when it waits for one. So a pool without workers makes
 * progress, too, and however many jobs wait, few of them are nested on one stack.
 *
 *   none ── start ──> queued ── a runner, or the waiting writer ──> running ──> done ── reset ──>
 *
 * A job whose files are gone is lost: others have compacted them, and what was before has expired.
 * Any other failure is one of the writer.
 *
 * Owner: the writer's thread calls everything; runners only run jobs.
 */
#ifndef TN_WRITE_COMPACT_JOBS_H
#define TN_WRITE_COMPACT_JOBS_H

#include <pthread.h>

#include "base/cancel.h"
#include "base/pool.h"
#include "compact/bucket.h"
#include "write/write.h"

typedef enum tn_job_state { TN_JOB_NONE, TN_JOB_QUEUED, TN_JOB_RUNNING, TN_JOB_DONE } tn_job_state;

typedef struct tn_compact_job {
  tn_compact_task *task; /* NULL: none */
  tn_job_state state;    /* guarded by the mutex */
  tarn_error *loss;      /* likewise; done: files that it needed are gone. No failure of all; NULL:
                            they are there. Freed by the next start, else by the job's owner */
  struct tn_compact_job *previous, *next;
} tn_compact_job;

typedef struct tn_job_runner {
  tn_task task; /* of the pool; first */
  struct tn_compact_jobs *jobs;
  bool is_active;
} tn_job_runner;

typedef struct tn_compact_jobs {
  tarn_env *env;
  tn_pool *pool; /* of env */
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  tn_compact_job *first, *last; /* that are queued */
  tn_job_runner *runners;
  int32_t n_runners; /* 0: the pool has no workers */
  int32_t n_active;
  tarn_status status; /* of the first job that failed */
  tarn_error failure;
  tn_compact_counts counts;
} tn_compact_jobs;

TN_CHECKED tarn_status tn_compact_jobs_init(tn_compact_jobs *jobs, tarn_env *env, tarn_error *err);
void tn_compact_jobs_reset(tn_compact_jobs *jobs, tn_mem *mem); /* stopped; accepts all zero */
/* Queue a job whose task is set; cannot fail. */
void tn_compact_job_start(tn_compact_jobs *jobs, tn_compact_job *job);
/* Is it done? waits: until it is. Without workers a job that is queued runs now. */
bool tn_compact_job_is_done(tn_compact_jobs *jobs, tn_compact_job *job, bool waits);
void tn_compact_jobs_counts(tn_compact_jobs *jobs, tn_compact_counts *out);
/* Jobs that have not begun never will; those that run are waited for. */
void tn_compact_jobs_stop(tn_compact_jobs *jobs);
/* What the first job that failed said. */
TN_CHECKED tarn_status tn_compact_jobs_status(tn_compact_jobs *jobs, tarn_error *err);
/* Forget a failure. */
void tn_compact_jobs_forgive(tn_compact_jobs *jobs);

#endif
