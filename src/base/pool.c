/* pool.c - one queue under one mutex, worked off by the threads and by whoever waits. */
#include "base/pool.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

struct tn_pool {
  tn_mem *mem;
  pthread_mutex_t mutex; /* guards head, tail, is_closing and every group's pending */
  pthread_cond_t has_task;
  pthread_cond_t has_finished; /* a group may have become empty, or a task may be there to help */
  tn_task *head, *tail;
  bool is_closing;
  int32_t n_threads, n_workers;
  pthread_t workers[];
};

static tn_task *take_task(tn_pool *pool) {
  tn_task *task = pool->head;
  if (task != NULL) {
    pool->head = task->next;
    if (pool->head == NULL) {
      pool->tail = NULL;
    }
    task->next = NULL;
  }
  return task;
}

/* Called with the mutex held; returns with it held. */
static void run_task(tn_pool *pool, tn_task *task) {
  tn_group *group = task->group;
  pthread_mutex_unlock(&pool->mutex);
  task->run(task);
  pthread_mutex_lock(&pool->mutex);
  if (group != NULL && --group->pending == 0) {
    pthread_cond_broadcast(&pool->has_finished);
  }
}

static void *worker_main(void *arg) {
  tn_pool *pool = arg;
  pthread_mutex_lock(&pool->mutex);
  for (;;) {
    tn_task *task = take_task(pool);
    if (task != NULL) {
      run_task(pool, task);
    } else if (pool->is_closing) {
      break;
    } else {
      pthread_cond_wait(&pool->has_task, &pool->mutex);
    }
  }
  pthread_mutex_unlock(&pool->mutex);
  return NULL;
}

tarn_status tn_pool_create(tn_mem *mem, int32_t n_threads, tn_pool **out, tarn_error *err) {
  int32_t n_workers = n_threads > 1 ? n_threads - 1 : 0;
  tn_pool *pool = tn_calloc(mem, 1, sizeof(*pool) + (size_t)n_workers * sizeof(pthread_t));
  sigset_t all, before;
  int rc = 0;
  *out = NULL;
  if (pool == NULL) {
    return tn_oom(err);
  }
  pool->mem = mem;
  pool->n_threads = n_workers + 1;
  pthread_mutex_init(&pool->mutex, NULL);
  pthread_cond_init(&pool->has_task, NULL);
  pthread_cond_init(&pool->has_finished, NULL);
  /* The host's signals go to the host's threads: workers inherit a full mask. */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (rc == 0 && pool->n_workers < n_workers) {
    rc = pthread_create(&pool->workers[pool->n_workers], NULL, worker_main, pool);
    pool->n_workers += rc == 0 ? 1 : 0;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (rc != 0) {
    int32_t n_started = pool->n_workers;
    tn_pool_free(pool);
    return tn_fail_errno(err, rc, "start thread %d of %d", (int)n_started + 2, (int)n_threads);
  }
  *out = pool;
  return TARN_OK;
}

void tn_pool_free(tn_pool *pool) {
  if (pool == NULL) {
    return;
  }
  pthread_mutex_lock(&pool->mutex);
  pool->is_closing = true;
  pthread_cond_broadcast(&pool->has_task);
  pthread_mutex_unlock(&pool->mutex);
  for (int32_t i = 0; i < pool->n_workers; i++) {
    pthread_join(pool->workers[i], NULL);
  }
  pthread_cond_destroy(&pool->has_finished);
  pthread_cond_destroy(&pool->has_task);
  pthread_mutex_destroy(&pool->mutex);
  tn_free(pool->mem, pool);
}

int32_t tn_pool_threads(const tn_pool *pool) {
  return pool->n_threads;
}

void tn_group_init(tn_group *group, tn_pool *pool) {
  group->pool = pool;
  group->pending = 0;
}

static void submit(tn_pool *pool, tn_group *group, tn_task *task) {
  task->group = group;
  task->next = NULL;
  pthread_mutex_lock(&pool->mutex);
  if (group != NULL) {
    group->pending++;
  }
  if (pool->tail != NULL) {
    pool->tail->next = task;
  } else {
    pool->head = task;
  }
  pool->tail = task;
  pthread_cond_signal(&pool->has_task);
  pthread_cond_broadcast(&pool->has_finished);
  pthread_mutex_unlock(&pool->mutex);
}

void tn_group_submit(tn_group *group, tn_task *task) {
  submit(group->pool, group, task);
}

void tn_pool_submit(tn_pool *pool, tn_task *task) {
  submit(pool, NULL, task);
}

void tn_group_wait(tn_group *group) {
  tn_pool *pool = group->pool;
  pthread_mutex_lock(&pool->mutex);
  while (group->pending > 0) {
    tn_task *task = take_task(pool);
    if (task != NULL) {
      run_task(pool, task);
    } else {
      pthread_cond_wait(&pool->has_finished, &pool->mutex);
    }
  }
  pthread_mutex_unlock(&pool->mutex);
}

bool tn_pool_help(tn_pool *pool) {
  tn_task *task;
  pthread_mutex_lock(&pool->mutex);
  task = take_task(pool);
  if (task != NULL) {
    run_task(pool, task);
  }
  pthread_mutex_unlock(&pool->mutex);
  return task != NULL;
}

typedef struct parallel_run {
  tn_parallel_fn fn;
  void *ctx;
  int64_t count;
  _Atomic int64_t next;
  _Atomic int64_t failed; /* the lowest index that failed; count: none */
} parallel_run;

typedef struct parallel_task {
  tn_task task;
  parallel_run *run;
  int64_t failed_index;
  tarn_status status;
  tarn_error error;
} parallel_task;

static void run_parallel(tn_task *task) {
  parallel_task *t = TN_CONTAINER_OF(task, parallel_task, task);
  parallel_run *run = t->run;
  for (;;) {
    int64_t i = atomic_fetch_add(&run->next, 1);
    int64_t lowest;
    if (i >= run->count || i > atomic_load(&run->failed)) {
      break;
    }
    t->status = run->fn(run->ctx, i, &t->error);
    if (t->status != TARN_OK) {
      t->failed_index = i;
      lowest = atomic_load(&run->failed);
      while (i < lowest && !atomic_compare_exchange_weak(&run->failed, &lowest, i)) {
      }
      break;
    }
  }
}

tarn_status tn_parallel_for(tn_pool *pool, int64_t count, int32_t max_threads, tn_parallel_fn fn,
                            void *ctx, tarn_error *err) {
  int32_t n = tn_pool_threads(pool);
  parallel_run run = {fn, ctx, count, 0, count};
  parallel_task *tasks;
  tn_group group;
  tarn_status st = TARN_OK;
  if (max_threads > 0 && n > max_threads) {
    n = max_threads;
  }
  if (n > count) {
    n = (int32_t)count;
  }
  if (n <= 1) {
    for (int64_t i = 0; i < count && st == TARN_OK; i++) {
      st = fn(ctx, i, err);
    }
    return st;
  }
  tasks = tn_calloc(pool->mem, (size_t)n, sizeof(*tasks));
  if (tasks == NULL) {
    return tn_oom(err);
  }
  tn_group_init(&group, pool);
  for (int32_t i = 0; i < n; i++) {
    tasks[i].task.run = run_parallel;
    tasks[i].run = &run;
    tasks[i].failed_index = count;
    tn_group_submit(&group, &tasks[i].task);
  }
  tn_group_wait(&group);
  for (int32_t i = 0; i < n; i++) {
    if (tasks[i].status != TARN_OK && tasks[i].failed_index == atomic_load(&run.failed)) {
      st = tasks[i].status;
      if (err != NULL) {
        *err = tasks[i].error;
      }
    }
  }
  tn_free(pool->mem, tasks);
  return st;
}
