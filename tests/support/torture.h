/* torture.h - an allocator that fails on purpose, and the loop that fails each allocation in turn.
 *
 *   static tarn_status decode_once(void *ctx, tarn_env *env, tarn_error *err) { ... }
 *   tn_torture(decode_once, NULL, TARN_OK);
 *
 * The loop runs the function with the first allocation failing, then with the second one, and so on
 * until it passes without a failure. Each run must give TARN_E_NOMEM, or the wanted status (what
 * could not be allocated was not needed), and leave no block behind. Failures are cmocka's.
 */
#ifndef TN_TESTS_SUPPORT_TORTURE_H
#define TN_TESTS_SUPPORT_TORTURE_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/env.h"

/* Counts calls, fails the n-th, knows how many blocks live. Thread-safe. */
typedef struct tn_test_alloc {
  _Atomic int64_t calls;       /* of alloc and realloc */
  _Atomic int64_t fail_at;     /* the call that fails, from 1; 0: none */
  _Atomic bool fails_after;    /* all calls from then on fail, too */
  _Atomic int64_t live_blocks; /* given out and not freed */
  _Atomic int64_t live_bytes;
  _Atomic int64_t peak_bytes;
} tn_test_alloc;

void tn_test_alloc_init(tn_test_alloc *alloc);
/* The hooks; alloc must outlive their use. */
tarn_allocator tn_test_alloc_hooks(tn_test_alloc *alloc);

/* An environment for a test, with malloc. threads 0: one; budget 0: the default. */
tarn_env *tn_test_env(int32_t threads, size_t budget_bytes);

typedef tarn_status (*tn_torture_fn)(void *ctx, tarn_env *env, tarn_error *err);

/* Each run gets an environment of its own (one thread, the default budget) that was made without a
 * failure. `wanted` is what the run without failures must give. Returns the number of runs. */
int64_t tn_torture(tn_torture_fn fn, void *ctx, tarn_status wanted);

#endif
