/* The thread pool; run under ThreadSanitizer, too. */
#include "base/pool.h"

#include <pthread.h>
#include <signal.h>

#include "base/checked.h"
#include "support/test.h"
#include "support/torture.h"

static tn_mem mem;

static tn_pool *make_pool(int32_t threads) {
  tn_pool *pool = NULL;
  tarn_error err;
  assert_works(tn_pool_create(&mem, threads, &pool, &err), err);
  assert_int_equal(tn_pool_threads(pool), threads);
  return pool;
}

static int make_mem(void **state) {
  (void)state;
  tn_mem_init(&mem, NULL, 1 << 20);
  return 0;
}

static const int32_t thread_counts[] = {1, 2, 5};

typedef struct counting_task {
  tn_task task;
  _Atomic int64_t *sum;
  int64_t value;
} counting_task;

static void add_value(tn_task *task) {
  counting_task *t = TN_CONTAINER_OF(task, counting_task, task);
  atomic_fetch_add(t->sum, t->value);
}

static void wait__returns_when_all_of_the_group_ran(void **state) {
  (void)state;
  for (size_t k = 0; k < TN_COUNT(thread_counts); k++) {
    tn_pool *pool = make_pool(thread_counts[k]);
    static counting_task tasks[1000];
    for (int round = 0; round < 20; round++) {
      _Atomic int64_t sum = 0;
      tn_group group;
      tn_group_init(&group, pool);
      tn_group_wait(&group); /* of nothing: returns at once */
      for (int i = 0; i < 1000; i++) {
        tasks[i].task.run = add_value;
        tasks[i].sum = &sum;
        tasks[i].value = i;
        tn_group_submit(&group, &tasks[i].task);
      }
      tn_group_wait(&group);
      assert_int_equal(atomic_load(&sum), 999 * 1000 / 2);
    }
    tn_pool_free(pool);
  }
}

static void help__runs_one_task(void **state) {
  tn_pool *pool = make_pool(1);
  counting_task tasks[2];
  _Atomic int64_t sum = 0;
  tn_group group;
  (void)state;
  tn_group_init(&group, pool);
  assert_false(tn_pool_help(pool));
  for (int i = 0; i < 2; i++) {
    tasks[i] = (counting_task){{.run = add_value}, &sum, 1};
    tn_group_submit(&group, &tasks[i].task);
  }
  assert_true(tn_pool_help(pool));
  assert_int_equal(atomic_load(&sum), 1);
  assert_true(tn_pool_help(pool));
  assert_false(tn_pool_help(pool));
  tn_group_wait(&group);
  assert_int_equal(atomic_load(&sum), 2);
  tn_pool_free(pool);
}

/* A task that submits the next one: "a task that must wait ends". */
typedef struct chain_task {
  tn_task task;
  int left;
} chain_task;

static void run_chain(tn_task *task) {
  chain_task *t = TN_CONTAINER_OF(task, chain_task, task);
  if (--t->left > 0) {
    tn_group_submit(task->group, task);
  }
}

static void submit__is_allowed_from_a_task(void **state) {
  (void)state;
  for (size_t k = 0; k < TN_COUNT(thread_counts); k++) {
    tn_pool *pool = make_pool(thread_counts[k]);
    chain_task chains[8];
    tn_group group;
    tn_group_init(&group, pool);
    for (int i = 0; i < 8; i++) {
      chains[i] = (chain_task){{.run = run_chain}, 500};
      tn_group_submit(&group, &chains[i].task);
    }
    tn_group_wait(&group);
    for (int i = 0; i < 8; i++) {
      assert_int_equal(chains[i].left, 0);
    }
    tn_pool_free(pool);
  }
}

/* Frees itself: nobody waits for it. */
typedef struct free_task {
  tn_task task;
  _Atomic int64_t *ran;
} free_task;

static void run_and_free(tn_task *task) {
  free_task *t = TN_CONTAINER_OF(task, free_task, task);
  atomic_fetch_add(t->ran, 1);
  free(t);
}

static void pool_free__runs_what_nobody_waits_for(void **state) {
  tn_pool *pool = make_pool(3);
  _Atomic int64_t ran = 0;
  (void)state;
  for (int i = 0; i < 300; i++) {
    free_task *t = malloc(sizeof(*t));
    t->task.run = run_and_free;
    t->ran = &ran;
    tn_pool_submit(pool, &t->task);
  }
  tn_pool_free(pool);
  assert_int_equal(atomic_load(&ran), 300);
}

typedef struct parallel_ctx {
  _Atomic int64_t sum, calls;
  int64_t fails_at, fails_also_at;
  int32_t max_running;
  _Atomic int32_t running, most;
} parallel_ctx;

static tarn_status visit(void *ctx, int64_t i, tarn_error *err) {
  parallel_ctx *p = ctx;
  int32_t running = atomic_fetch_add(&p->running, 1) + 1, most = atomic_load(&p->most);
  while (running > most && !atomic_compare_exchange_weak(&p->most, &most, running)) {
  }
  atomic_fetch_add(&p->calls, 1);
  atomic_fetch_add(&p->sum, i);
  atomic_fetch_sub(&p->running, 1);
  if (i == p->fails_at || i == p->fails_also_at) {
    return tn_fail(err, TARN_E_IO, "index %lld", (long long)i);
  }
  return TARN_OK;
}

static void parallel_for__visits_every_index_once(void **state) {
  (void)state;
  for (size_t k = 0; k < TN_COUNT(thread_counts); k++) {
    tn_pool *pool = make_pool(thread_counts[k]);
    static const int64_t counts[] = {0, 1, 2, 1000};
    for (size_t c = 0; c < TN_COUNT(counts); c++) {
      parallel_ctx p = {.fails_at = -1, .fails_also_at = -1};
      tarn_error err;
      assert_works(tn_parallel_for(pool, counts[c], 0, visit, &p, &err), err);
      assert_int_equal(atomic_load(&p.calls), counts[c]);
      assert_int_equal(atomic_load(&p.sum), counts[c] * (counts[c] - 1) / 2);
    }
    tn_pool_free(pool);
  }
}

static void parallel_for__gives_the_first_failure_in_index_order(void **state) {
  (void)state;
  for (size_t k = 0; k < TN_COUNT(thread_counts); k++) {
    tn_pool *pool = make_pool(thread_counts[k]);
    for (int round = 0; round < 200; round++) {
      parallel_ctx p = {.fails_at = 40 + round % 7, .fails_also_at = 41 + round % 5};
      int64_t first = p.fails_at < p.fails_also_at ? p.fails_at : p.fails_also_at;
      tarn_error err;
      char text[32];
      snprintf(text, sizeof(text), "index %lld", (long long)first);
      assert_int_equal(tn_parallel_for(pool, 10000, 0, visit, &p, &err), TARN_E_IO);
      assert_string_equal(err.message, text);
      assert_true(atomic_load(&p.calls) > first && atomic_load(&p.calls) < 10000);
      assert_int_equal(tn_parallel_for(pool, 10000, 0, visit, &p, NULL), TARN_E_IO);
    }
    tn_pool_free(pool);
  }
}

static void parallel_for__keeps_to_its_number_of_threads(void **state) {
  tn_pool *pool = make_pool(5);
  parallel_ctx p = {.fails_at = -1, .fails_also_at = -1};
  tarn_error err;
  (void)state;
  assert_works(tn_parallel_for(pool, 5000, 2, visit, &p, &err), err);
  assert_true(atomic_load(&p.most) <= 2);
  tn_pool_free(pool);
}

typedef struct nested_ctx {
  tn_pool *pool;
  parallel_ctx inner;
} nested_ctx;

static tarn_status visit_nested(void *ctx, int64_t i, tarn_error *err) {
  nested_ctx *n = ctx;
  (void)i;
  return tn_parallel_for(n->pool, 50, 0, visit, &n->inner, err);
}

static void parallel_for__may_be_nested(void **state) {
  (void)state;
  for (size_t k = 0; k < TN_COUNT(thread_counts); k++) {
    nested_ctx n = {.pool = make_pool(thread_counts[k]),
                    .inner = {.fails_at = -1, .fails_also_at = -1}};
    tarn_error err;
    assert_works(tn_parallel_for(n.pool, 40, 0, visit_nested, &n, &err), err);
    assert_int_equal(atomic_load(&n.inner.calls), 2000);
    tn_pool_free(n.pool);
  }
}

static void *use_pool(void *arg) {
  nested_ctx *n = arg;
  tarn_error err;
  for (int i = 0; i < 50; i++) {
    if (tn_parallel_for(n->pool, 40, 0, visit, &n->inner, &err) != TARN_OK) {
      return arg;
    }
  }
  return NULL;
}

static void groups__of_several_threads_share_a_pool(void **state) {
  nested_ctx n = {.pool = make_pool(3), .inner = {.fails_at = -1, .fails_also_at = -1}};
  pthread_t threads[3];
  (void)state;
  for (int i = 0; i < 3; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, use_pool, &n), 0);
  }
  for (int i = 0; i < 3; i++) {
    void *failed;
    pthread_join(threads[i], &failed);
    assert_null(failed);
  }
  assert_int_equal(atomic_load(&n.inner.calls), 3 * 50 * 40);
  tn_pool_free(n.pool);
}

typedef struct mask_task {
  tn_task task;
  bool is_blocked;
} mask_task;

static void look_at_mask(tn_task *task) {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, NULL, &mask);
  TN_CONTAINER_OF(task, mask_task, task)->is_blocked = sigismember(&mask, SIGUSR1) == 1;
}

static void workers__leave_signals_to_the_host(void **state) {
  tn_pool *pool = make_pool(2);
  mask_task *task = calloc(1, sizeof(*task));
  sigset_t mask;
  (void)state;
  task->task.run = look_at_mask;
  tn_pool_submit(pool, &task->task); /* nobody helps, so a worker runs it */
  tn_pool_free(pool);
  assert_true(task->is_blocked);
  free(task);
  pthread_sigmask(SIG_SETMASK, NULL, &mask);
  assert_false(sigismember(&mask, SIGUSR1));
}

static tarn_status run_parallel(void *ctx, tarn_env *env, tarn_error *err) {
  tn_pool *pool = NULL;
  parallel_ctx p = {.fails_at = -1, .fails_also_at = -1};
  tarn_status st;
  (void)ctx;
  TN_TRY(tn_pool_create(&env->mem, 3, &pool, err));
  st = tn_parallel_for(pool, 10, 0, visit, &p, err);
  tn_pool_free(pool);
  return st;
}

static void pool__survives_failing_allocations(void **state) {
  (void)state;
  assert_true(tn_torture(run_parallel, NULL, TARN_OK) > 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wait__returns_when_all_of_the_group_ran),
      cmocka_unit_test(help__runs_one_task),
      cmocka_unit_test(submit__is_allowed_from_a_task),
      cmocka_unit_test(pool_free__runs_what_nobody_waits_for),
      cmocka_unit_test(parallel_for__visits_every_index_once),
      cmocka_unit_test(parallel_for__gives_the_first_failure_in_index_order),
      cmocka_unit_test(parallel_for__keeps_to_its_number_of_threads),
      cmocka_unit_test(parallel_for__may_be_nested),
      cmocka_unit_test(groups__of_several_threads_share_a_pool),
      cmocka_unit_test(workers__leave_signals_to_the_host),
      cmocka_unit_test(pool__survives_failing_allocations),
  };
  return cmocka_run_group_tests_name("pool", tests, make_mem, NULL);
}
