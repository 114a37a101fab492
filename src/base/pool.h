/* pool.h - the thread pool of an environment: the one place of parallelism.
 *
 * Tasks never block on other tasks: a task that must wait ends, and whoever completes the
 * condition submits it again. Waiting for a group runs queued tasks meanwhile, so a pool of one
 * thread (no worker at all) still makes progress.
 */
#ifndef TN_BASE_POOL_H
#define TN_BASE_POOL_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/mem.h"

typedef struct tn_pool tn_pool;

/* A set of tasks to wait for. */
typedef struct tn_group {
  tn_pool *pool;
  int64_t pending; /* guarded by the pool's mutex */
} tn_group;

/* The caller owns the task and keeps it until it has run (that is, until its group was waited for,
 * or, without a group, until run() has begun: it may free the task). */
typedef struct tn_task {
  void (*run)(struct tn_task *task);
  tn_group *group;      /* NULL: none */
  struct tn_task *next; /* of the queue */
} tn_task;

/* n_threads counts the calling thread: 1 makes no worker. */
TN_CHECKED tarn_status tn_pool_create(tn_mem *mem, int32_t n_threads, tn_pool **out,
                                      tarn_error *err);
void tn_pool_free(tn_pool *pool); /* all tasks must have run */
int32_t tn_pool_threads(const tn_pool *pool);

void tn_group_init(tn_group *group, tn_pool *pool);
/* Queue a task; cannot fail. task->run must be set. */
void tn_group_submit(tn_group *group, tn_task *task);
/* Queue a task that nobody waits for. Only with a pool of more than one thread: freeing such a pool
 * runs what is left. */
void tn_pool_submit(tn_pool *pool, tn_task *task);
/* Until no task of the group is queued or running; runs queued tasks of any group meanwhile. */
void tn_group_wait(tn_group *group);
/* Run one queued task of the pool, if there is one; false if the queue was empty. */
bool tn_pool_help(tn_pool *pool);

/* Run fn(ctx, i) for i in [0, count) on the pool and wait. The first failure in index order is
 * returned (with its error text); later indexes may then be left out. */
typedef tarn_status (*tn_parallel_fn)(void *ctx, int64_t i, tarn_error *err);
TN_CHECKED tarn_status tn_parallel_for(tn_pool *pool, int64_t count, int32_t max_threads,
                                       tn_parallel_fn fn, void *ctx, tarn_error *err);

#endif
