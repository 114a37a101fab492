/* prefetch.c - windows over the ranges of a file.
 *
 *   range      [.................................................)
 *   window           [##########|..................)             what was asked for is in it
 *   ahead                                          [=========)   being read, or read, by the pool
 *
 * A request that is not within the window moves it: bytes of the window and of `ahead` that are
 * wanted are kept, the rest is read. Ranges that were put together share the window of their group,
 * which covers the group from the start.
 *
 * A read-ahead is a job that belongs to its window and to the pool's queue. Whoever takes it first
 * does it: a reader that finds it not yet begun takes it away from the pool and reads for itself,
 * so it waits only for a read that is under way, never for other tasks.
 */
#include "io/prefetch.h"

#include <pthread.h>

#include "base/checked.h"

#define WINDOW_BYTES ((size_t)256 * 1024)
#define MIN_WINDOW_BYTES ((size_t)32 * 1024)
#define MIN_PEEK_BYTES ((size_t)16 * 1024)
#define MAX_GAP_BYTES ((int64_t)64 * 1024)
#define MAX_GROUP_BYTES ((int64_t)1024 * 1024)
/* Requests that grow slowly must not move windows often. */
#define GROWTH_BYTES ((size_t)64 * 1024)

/* ------------------------------------------------------------------ memory of windows */

/* Reserved memory. All zero: none. */
typedef struct block {
  uint8_t *data;
  size_t capacity;
} block;

static void block_free(tarn_env *env, block *b) {
  if (b->data != NULL) {
    tn_free(&env->mem, b->data);
    tn_unreserve(&env->mem, b->capacity);
  }
  b->data = NULL;
  b->capacity = 0;
}

/* is_needed: the budget must give it, caches make room; otherwise only what is free. The old
 * content is lost. */
static tarn_status block_make(tarn_env *env, block *b, size_t capacity, bool is_needed,
                              tarn_error *err) {
  block_free(env, b);
  if (is_needed) {
    TN_TRY(tn_env_reserve(env, capacity, "reading a file", err));
  } else if (!tn_reserve_try(&env->mem, capacity)) {
    return TARN_E_LIMIT;
  }
  b->data = tn_alloc(&env->mem, capacity);
  if (b->data == NULL) {
    tn_unreserve(&env->mem, capacity);
    return tn_oom(err);
  }
  b->capacity = capacity;
  return TARN_OK;
}

/* ------------------------------------------------------------------ read-ahead */

typedef enum job_state { JOB_QUEUED, JOB_RUNNING, JOB_FINISHED } job_state;

typedef struct read_job {
  tn_task task;
  tarn_env *env;
  _Atomic int32_t refs;  /* the queue's and the window's */
  pthread_mutex_t mutex; /* guards state */
  pthread_cond_t has_finished;
  job_state state;
  tn_file *file; /* this and the rest belongs to whoever moved the state from QUEUED */
  int64_t offset;
  size_t len;
  block bytes;
  tarn_status status;
} read_job;

static void job_release(read_job *job) {
  if (atomic_fetch_sub_explicit(&job->refs, 1, memory_order_acq_rel) == 1) {
    tn_file_release(job->file);
    block_free(job->env, &job->bytes);
    pthread_cond_destroy(&job->has_finished);
    pthread_mutex_destroy(&job->mutex);
    tn_free(&job->env->mem, job);
  }
}

static void job_run(tn_task *task) {
  read_job *job = TN_CONTAINER_OF(task, read_job, task);
  bool is_mine;
  pthread_mutex_lock(&job->mutex);
  is_mine = job->state == JOB_QUEUED;
  if (is_mine) {
    job->state = JOB_RUNNING;
  }
  pthread_mutex_unlock(&job->mutex);
  if (is_mine) {
    job->status = tn_file_read(job->file, job->offset, job->bytes.data, job->len, NULL);
    pthread_mutex_lock(&job->mutex);
    job->state = JOB_FINISHED;
    pthread_cond_signal(&job->has_finished);
    pthread_mutex_unlock(&job->mutex);
  }
  job_release(job);
}

/* Best effort: without memory there is no read-ahead. */
static read_job *job_start(tn_file *file, int64_t offset, size_t len) {
  tarn_env *env = file->env;
  read_job *job = tn_calloc(&env->mem, 1, sizeof(*job));
  if (job == NULL) {
    return NULL;
  }
  job->env = env;
  if (block_make(env, &job->bytes, len, false, NULL) != TARN_OK) {
    tn_free(&env->mem, job);
    return NULL;
  }
  atomic_init(&job->refs, 2);
  pthread_mutex_init(&job->mutex, NULL);
  pthread_cond_init(&job->has_finished, NULL);
  job->state = JOB_QUEUED;
  job->file = tn_file_retain(file);
  job->offset = offset;
  job->len = len;
  job->task.run = job_run;
  tn_pool_submit(env->pool, &job->task);
  return job;
}

/* Afterwards the job has finished or never will be done, and belongs to the caller. True: its bytes
 * are there. */
static bool job_settle(read_job *job) {
  bool is_taken;
  pthread_mutex_lock(&job->mutex);
  is_taken = job->state == JOB_QUEUED;
  if (is_taken) {
    job->state = JOB_FINISHED;
    job->status = TARN_E_CANCELLED;
  }
  while (job->state == JOB_RUNNING) {
    pthread_cond_wait(&job->has_finished, &job->mutex);
  }
  pthread_mutex_unlock(&job->mutex);
  return job->status == TARN_OK;
}

/* Of a settled job. What it holds is given back now: the queue may keep the rest for long. */
static void job_drop(read_job *job) {
  tn_file_release(job->file);
  job->file = NULL;
  block_free(job->env, &job->bytes);
  job_release(job);
}

/* ------------------------------------------------------------------ windows */

typedef struct window {
  block bytes;
  int64_t offset; /* of bytes.data[0] in the file */
  size_t len;
  size_t usual;    /* what is read at once: the largest request so far, at least one window */
  read_job *ahead; /* starts where the window ends */
} window;

typedef struct group {
  int64_t begin, end;
  int32_t n_open; /* ranges not done with */
  window window;
} group;

typedef struct range {
  int64_t begin, end;
  int32_t group; /* -1: none, it has a window of its own */
  bool is_done;
  window *window; /* made when it is first asked for */
} range;

struct tn_prefetch {
  tn_file *file;
  range *ranges;
  group *groups;
  int32_t n_ranges, n_groups;
};

static void window_reset(tarn_env *env, window *w) {
  if (w->ahead != NULL) {
    (void)job_settle(w->ahead);
    job_drop(w->ahead);
    w->ahead = NULL;
  }
  block_free(env, &w->bytes);
  w->len = 0;
}

/* Smaller the less of the budget is free, so that many windows find room next to what their readers
 * need. */
static size_t window_bytes(const tarn_env *env) {
  size_t used = atomic_load_explicit(&env->mem.reserved_bytes, memory_order_relaxed);
  size_t budget = env->mem.budget_bytes;
  return used < budget / 2       ? WINDOW_BYTES
         : used < budget / 4 * 3 ? WINDOW_BYTES / 4
                                 : MIN_WINDOW_BYTES;
}

static bool is_within(const window *w, int64_t offset, size_t n_bytes) {
  return w->len > 0 && offset >= w->offset &&
         (uint64_t)(offset - w->offset) + n_bytes <= (uint64_t)w->len;
}

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

/* Read what follows the window, if a thread is there to do it and the budget is not short. */
static void start_ahead(tn_file *file, window *w, int64_t end) {
  tarn_env *env = file->env;
  int64_t from = w->offset + (int64_t)w->len;
  if (w->ahead == NULL && from < end && tn_pool_threads(env->pool) > 1 &&
      window_bytes(env) == WINDOW_BYTES) {
    w->ahead = job_start(file, from, smaller((size_t)(end - from), w->usual));
  }
}

/* The whole request is in what was read ahead: that becomes the window. */
static bool take_ahead(tarn_env *env, window *w, int64_t offset, size_t n_bytes) {
  read_job *job = w->ahead;
  if (offset < job->offset || (uint64_t)(offset - job->offset) + n_bytes > (uint64_t)job->len ||
      (uint64_t)offset < (uint64_t)w->offset + w->len) {
    return false;
  }
  block_free(env, &w->bytes);
  w->bytes = job->bytes;
  w->offset = job->offset;
  w->len = job->len;
  job->bytes = (block){NULL, 0};
  return true;
}

/* A window from `offset` on with at least n_bytes: first what the old one and the read-ahead have,
 * then the file. */
static tarn_status move_window(tn_file *file, window *w, int64_t offset, size_t n_bytes,
                               int64_t end, tarn_error *err) {
  tarn_env *env = file->env;
  const read_job *job = w->ahead;
  size_t left = (size_t)(end - offset), kept = 0, ahead = 0, wanted;
  block bytes = {NULL, 0};
  uint8_t *to;
  if (w->len > 0 && offset >= w->offset && offset < w->offset + (int64_t)w->len) {
    kept = (size_t)(w->offset + (int64_t)w->len - offset);
  }
  if (job != NULL && job->offset == offset + (int64_t)kept) {
    ahead = job->len;
  }
  if (n_bytes > w->usual || w->usual == 0) {
    size_t usual = window_bytes(env);
    w->usual = n_bytes > usual ? tn_round_up(n_bytes, GROWTH_BYTES) : usual;
  }
  /* With enough at hand there is nothing to read. */
  wanted = kept + ahead >= n_bytes ? kept + ahead : smaller(w->usual, left);
  if (wanted > w->bytes.capacity && block_make(env, &bytes, wanted, false, NULL) != TARN_OK) {
    wanted = n_bytes;
    if (wanted > w->bytes.capacity && block_make(env, &bytes, wanted, true, NULL) != TARN_OK) {
      /* The last way to find room: give up what is kept, and read it again. */
      block_free(env, &w->bytes);
      w->len = kept = ahead = 0;
      TN_TRY(block_make(env, &bytes, wanted, true, err));
    }
  }
  to = bytes.data != NULL ? bytes.data : w->bytes.data;
  if (kept > 0) {
    memmove(to, w->bytes.data + (offset - w->offset), kept);
  }
  if (bytes.data != NULL) {
    block_free(env, &w->bytes);
    w->bytes = bytes;
  }
  w->offset = offset;
  w->len = kept;
  ahead = smaller(ahead, wanted - kept);
  if (ahead > 0) {
    memcpy(to + kept, job->bytes.data, ahead);
    w->len += ahead;
  }
  if (w->len < wanted) {
    TN_TRY(tn_file_read(file, offset + (int64_t)w->len, to + w->len, wanted - w->len, err));
  }
  w->len = wanted;
  return TARN_OK;
}

/* Make [offset, offset + n_bytes) part of the window; n_bytes > 0, all before `end`. */
static tarn_status fill_window(tn_file *file, window *w, int64_t offset, size_t n_bytes,
                               int64_t end, tarn_error *err) {
  tarn_status st = TARN_OK;
  if (!is_within(w, offset, n_bytes)) {
    if (w->ahead != NULL && !job_settle(w->ahead)) {
      job_drop(w->ahead);
      w->ahead = NULL;
    }
    if (w->ahead == NULL || !take_ahead(file->env, w, offset, n_bytes)) {
      st = move_window(file, w, offset, n_bytes, end, err);
    }
    if (w->ahead != NULL) {
      job_drop(w->ahead);
      w->ahead = NULL;
    }
    TN_TRY(st);
    start_ahead(file, w, end);
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ plan */

/* How many ranges from the i-th on are fetched together, as the header tells; *end: where they end.
 */
static int32_t together(const tn_prefetch *p, int32_t i, int64_t max_range_bytes, int64_t *end) {
  const range *r = &p->ranges[i];
  int32_t n = 1;
  *end = r->end;
  if (r->end - r->begin <= max_range_bytes) {
    while (i + n < p->n_ranges) {
      const range *next = &p->ranges[i + n];
      if (next->begin < *end || next->begin - *end > MAX_GAP_BYTES ||
          next->end - next->begin > max_range_bytes || next->end - r->begin > MAX_GROUP_BYTES) {
        break;
      }
      *end = next->end;
      n++;
    }
  }
  return n;
}

static void group_ranges(tn_prefetch *p) {
  int64_t low = INT64_MAX, high = 0, max_range_bytes;
  for (int32_t i = 0; i < p->n_ranges; i++) {
    low = p->ranges[i].begin < low ? p->ranges[i].begin : low;
    high = p->ranges[i].end > high ? p->ranges[i].end : high;
  }
  max_range_bytes = high - low <= MAX_GROUP_BYTES ? MAX_GROUP_BYTES : (int64_t)WINDOW_BYTES;
  for (int32_t i = 0, n; i < p->n_ranges; i += n) {
    int64_t end;
    n = together(p, i, max_range_bytes, &end);
    if (n > 1) {
      group *g = &p->groups[p->n_groups];
      g->begin = p->ranges[i].begin;
      g->end = end;
      g->n_open = n;
      for (int32_t k = 0; k < n; k++) {
        p->ranges[i + k].group = p->n_groups;
      }
      p->n_groups++;
    }
  }
}

tarn_status tn_prefetch_create(tn_file *file, const tn_byte_range *ranges, int32_t n_ranges,
                               tn_prefetch **out, tarn_error *err) {
  tn_mem *mem = &file->env->mem;
  tn_prefetch *p;
  *out = NULL;
  for (int32_t i = 0; i < n_ranges; i++) {
    if (ranges[i].offset < 0 || ranges[i].length < 0 || ranges[i].offset > file->size_bytes ||
        ranges[i].length > file->size_bytes - ranges[i].offset) {
      return tn_fail(err, TARN_E_CORRUPT,
                     "%s: offset %lld, length %lld is not within its %lld bytes", file->path,
                     (long long)ranges[i].offset, (long long)ranges[i].length,
                     (long long)file->size_bytes);
    }
  }
  p = tn_calloc(mem, 1, sizeof(*p));
  if (p == NULL) {
    return tn_oom(err);
  }
  p->file = tn_file_retain(file);
  p->ranges = tn_calloc(mem, (size_t)n_ranges, sizeof(*p->ranges));
  p->groups = tn_calloc(mem, (size_t)n_ranges / 2 + 1, sizeof(*p->groups));
  if (p->ranges == NULL || p->groups == NULL) {
    tn_prefetch_free(p);
    return tn_oom(err);
  }
  p->n_ranges = n_ranges;
  for (int32_t i = 0; i < n_ranges; i++) {
    p->ranges[i].begin = ranges[i].offset;
    p->ranges[i].end = ranges[i].offset + ranges[i].length;
    p->ranges[i].group = -1;
  }
  group_ranges(p);
  *out = p;
  return TARN_OK;
}

void tn_prefetch_free(tn_prefetch *prefetch) {
  if (prefetch != NULL) {
    tn_mem *mem = &prefetch->file->env->mem;
    for (int32_t i = 0; i < prefetch->n_ranges; i++) {
      tn_prefetch_done(prefetch, i);
    }
    tn_free(mem, prefetch->ranges);
    tn_free(mem, prefetch->groups);
    tn_file_release(prefetch->file);
    tn_free(mem, prefetch);
  }
}

/* One range less that needs the group. */
static void group_leave(tn_prefetch *p, group *g) {
  if (--g->n_open == 0) {
    window_reset(p->file->env, &g->window);
  }
}

void tn_prefetch_done(tn_prefetch *prefetch, int32_t i) {
  range *r = &prefetch->ranges[i];
  tarn_env *env = prefetch->file->env;
  if (r->window != NULL) {
    window_reset(env, r->window);
    tn_free(&env->mem, r->window);
    r->window = NULL;
  }
  if (r->group >= 0 && !r->is_done) {
    group_leave(prefetch, &prefetch->groups[r->group]);
  }
  r->is_done = true;
}

/* The window that holds [offset, offset + n_bytes) of the range now; n_bytes > 0. */
static tarn_status range_window(tn_prefetch *p, range *r, int64_t offset, size_t n_bytes,
                                const window **out, tarn_error *err) {
  tarn_env *env = p->file->env;
  group *g = r->group >= 0 ? &p->groups[r->group] : NULL;
  if (g != NULL && r->is_done) {
    g->n_open++;
  }
  r->is_done = false;
  if (g != NULL && (g->window.len > 0 || window_bytes(env) == WINDOW_BYTES)) {
    tarn_status st =
        fill_window(p->file, &g->window, g->begin, (size_t)(g->end - g->begin), g->end, err);
    *out = &g->window;
    if (st != TARN_E_LIMIT) {
      return st;
    }
  }
  if (g != NULL) { /* no room for all of them at once: each by itself */
    group_leave(p, g);
    r->group = -1;
  }
  if (r->window == NULL) {
    r->window = tn_calloc(&env->mem, 1, sizeof(*r->window));
    if (r->window == NULL) {
      return tn_oom(err);
    }
  }
  *out = r->window;
  return fill_window(p->file, r->window, offset, n_bytes, r->end, err);
}

static tarn_status check_request(const tn_prefetch *p, int32_t i, int64_t offset, size_t n_bytes,
                                 tarn_error *err) {
  const range *r;
  if (i < 0 || i >= p->n_ranges) {
    return TN_BUG(err, "no such range");
  }
  r = &p->ranges[i];
  if (offset < r->begin || offset > r->end || n_bytes > (uint64_t)(r->end - offset)) {
    return tn_fail(err, TARN_E_CORRUPT,
                   "%s: %zu bytes at offset %lld are not within the range from %lld to %lld",
                   p->file->path, n_bytes, (long long)offset, (long long)r->begin,
                   (long long)r->end);
  }
  return TARN_OK;
}

static const uint8_t no_bytes[1];

tarn_status tn_prefetch_get(tn_prefetch *prefetch, int32_t i, int64_t offset, size_t n_bytes,
                            const uint8_t **out, tarn_error *err) {
  const window *w;
  *out = no_bytes;
  TN_TRY(check_request(prefetch, i, offset, n_bytes, err));
  if (n_bytes > 0) {
    TN_TRY(range_window(prefetch, &prefetch->ranges[i], offset, n_bytes, &w, err));
    *out = w->bytes.data + (offset - w->offset);
  }
  return TARN_OK;
}

tarn_status tn_prefetch_peek(tn_prefetch *prefetch, int32_t i, int64_t offset, size_t max_bytes,
                             const uint8_t **out, size_t *n_bytes, tarn_error *err) {
  const window *w;
  size_t left, at_hand;
  *out = no_bytes;
  *n_bytes = 0;
  TN_TRY(check_request(prefetch, i, offset, 0, err));
  left = (size_t)(prefetch->ranges[i].end - offset);
  if (left == 0) {
    tn_prefetch_done(prefetch, i);
  } else if (max_bytes > 0) {
    TN_TRY(range_window(prefetch, &prefetch->ranges[i], offset,
                        smaller(left, smaller(max_bytes, MIN_PEEK_BYTES)), &w, err));
    at_hand = (size_t)(w->offset + (int64_t)w->len - offset);
    *n_bytes = smaller(left, smaller(max_bytes, at_hand));
    *out = w->bytes.data + (offset - w->offset);
  }
  return TARN_OK;
}
