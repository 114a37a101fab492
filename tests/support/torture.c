/* torture.c - failing allocations, one after the other. */
#include "support/torture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* In front of each block, so that sizes are known. */
typedef union block_head {
  size_t n_bytes;
  max_align_t align;
} block_head;

#define MAX_BLOCK_BYTES \
  ((size_t)1 << 40) /* more is asked for by faults only; sanitizers stop there */

static bool fails_now(tn_test_alloc *a) {
  int64_t call = atomic_fetch_add(&a->calls, 1) + 1, fail_at = atomic_load(&a->fail_at);
  return fail_at > 0 && (call == fail_at || (call > fail_at && atomic_load(&a->fails_after)));
}

static void count(tn_test_alloc *a, int64_t blocks, int64_t bytes) {
  int64_t live = atomic_fetch_add(&a->live_bytes, bytes) + bytes;
  int64_t peak = atomic_load(&a->peak_bytes);
  atomic_fetch_add(&a->live_blocks, blocks);
  while (live > peak && !atomic_compare_exchange_weak(&a->peak_bytes, &peak, live)) {
  }
}

static void *give_block(void *ctx, size_t n_bytes) {
  tn_test_alloc *a = ctx;
  block_head *head;
  if (fails_now(a) || n_bytes > MAX_BLOCK_BYTES) {
    return NULL;
  }
  head = malloc(sizeof(*head) + n_bytes);
  if (head == NULL) {
    return NULL;
  }
  head->n_bytes = n_bytes;
  count(a, 1, (int64_t)n_bytes);
  memset(head + 1, 0xA5, n_bytes < 4096 ? n_bytes : 4096); /* nobody may count on zeros */
  return head + 1;
}

static void take_block(void *ctx, void *ptr) {
  tn_test_alloc *a = ctx;
  block_head *head = (block_head *)ptr - 1;
  count(a, -1, -(int64_t)head->n_bytes);
  free(head);
}

/* Always moves: whoever keeps the old pointer is found by a sanitizer. */
static void *move_block(void *ctx, void *ptr, size_t n_bytes) {
  void *moved = give_block(ctx, n_bytes);
  if (moved != NULL && ptr != NULL) {
    size_t old = ((block_head *)ptr - 1)->n_bytes;
    memcpy(moved, ptr, old < n_bytes ? old : n_bytes);
    take_block(ctx, ptr);
  }
  return moved;
}

void tn_test_alloc_init(tn_test_alloc *alloc) {
  atomic_init(&alloc->calls, 0);
  atomic_init(&alloc->fail_at, 0);
  atomic_init(&alloc->fails_after, false);
  atomic_init(&alloc->live_blocks, 0);
  atomic_init(&alloc->live_bytes, 0);
  atomic_init(&alloc->peak_bytes, 0);
}

tarn_allocator tn_test_alloc_hooks(tn_test_alloc *alloc) {
  tarn_allocator hooks = {give_block, move_block, take_block, alloc};
  return hooks;
}

tarn_env *tn_test_env(int32_t threads, size_t budget_bytes) {
  tarn_env_options options = TARN_ENV_OPTIONS_INIT;
  tarn_env *env = NULL;
  tarn_error err;
  options.threads = threads;
  options.memory_budget_bytes = budget_bytes;
  if (tarn_env_create(&options, &env, &err) != TARN_OK) {
    fail_msg("environment: %s", err.message);
  }
  return env;
}

int64_t tn_torture(tn_torture_fn fn, void *ctx, tarn_status wanted) {
  for (int64_t n = 1;; n++) {
    tn_test_alloc alloc;
    tarn_allocator hooks;
    tarn_env_options options = TARN_ENV_OPTIONS_INIT;
    tarn_env *env = NULL;
    tarn_error err;
    tarn_status st;
    int64_t calls;
    tn_test_alloc_init(&alloc);
    hooks = tn_test_alloc_hooks(&alloc);
    options.allocator = &hooks;
    assert_int_equal(tarn_env_create(&options, &env, &err), TARN_OK);
    tn_error_reset(&err);
    atomic_store(&alloc.calls, 0);
    atomic_store(&alloc.fail_at, n);
    st = fn(ctx, env, &err);
    calls = atomic_load(&alloc.calls);
    if (st != wanted && !(calls >= n && st == TARN_E_NOMEM)) {
      fail_msg("allocation %lld of %lld failed: %s, %s", (long long)n, (long long)calls,
               tarn_status_name(st), err.message);
    }
    tarn_env_free(env);
    if (atomic_load(&alloc.live_blocks) != 0) {
      fail_msg("allocation %lld of %lld failed: %lld blocks leaked", (long long)n, (long long)calls,
               (long long)atomic_load(&alloc.live_blocks));
    }
    if (calls < n) {
      return n;
    }
  }
}
