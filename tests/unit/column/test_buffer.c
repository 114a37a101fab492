/* Buffers: alignment, budget, the store of freed blocks. */
#include <pthread.h>

#include "column_test.h"
#include "support/torture.h"

static tn_buffer *make(tarn_env *env, size_t n_bytes) {
  tn_buffer *b;
  tarn_error err;
  assert_int_equal(tn_buffer_create(env, n_bytes, &b, &err), TARN_OK);
  assert_true(b->capacity >= n_bytes);
  assert_int_equal((uintptr_t)b->data % 64, 0);
  memset(b->data, 0x5a, b->capacity + 64); /* the slack may be written */
  return b;
}

static size_t reserved(const tarn_env *env) {
  return atomic_load(&env->mem.reserved_bytes);
}

static void buffer_create__aligns_and_leaves_slack(void **state) {
  column_test *t = *state;
  static const size_t sizes[] = {0,    1,    63,    64,        4095,           4096,
                                 4097, 6144, 12345, 16u << 20, (16u << 20) + 1};
  for (size_t i = 0; i < TN_COUNT(sizes); i++) {
    tn_buffer_release(make(t->env, sizes[i]));
  }
}

static void buffer_create__charges_from_4_kib_on(void **state) {
  column_test *t = *state;
  tn_buffer *small, *large;
  small = make(t->env, 4000);
  assert_int_equal(reserved(t->env), 0);
  large = make(t->env, 5000);
  assert_int_equal(reserved(t->env), 6144);
  tn_buffer_release(small);
  tn_buffer_release(large);
}

static void buffer_create__reuses_freed_blocks_of_its_class(void **state) {
  column_test *t = *state;
  tn_buffer *a, *b;
  a = make(t->env, 100000);
  tn_buffer_release(a);
  assert_int_equal(reserved(t->env), 131072);
  b = make(t->env, 130000);
  assert_ptr_equal(a, b);
  assert_int_equal(b->refs, 1);
  assert_int_equal(reserved(t->env), 131072);
  tn_buffer_release(b);
  tn_buffers_trim(t->env);
  assert_int_equal(reserved(t->env), 0);
}

static void buffer_release__keeps_at_most_an_eighth_of_the_budget(void **state) {
  tarn_env_options options = TARN_ENV_OPTIONS_INIT;
  tarn_env *env;
  tarn_error err;
  tn_buffer *all[12];
  (void)state;
  options.memory_budget_bytes = 16 << 20;
  assert_int_equal(tarn_env_create(&options, &env, &err), TARN_OK);
  for (int i = 0; i < 12; i++) {
    all[i] = make(env, 1 << 20);
  }
  for (int i = 0; i < 12; i++) {
    tn_buffer_release(all[i]);
  }
  assert_int_equal(reserved(env), 2 << 20);
  tarn_env_free(env);
}

static void buffer_create__empties_the_store_when_the_budget_is_short(void **state) {
  tarn_env_options options = TARN_ENV_OPTIONS_INIT;
  tarn_env *env;
  tarn_error err;
  tn_buffer *b, *none;
  (void)state;
  options.memory_budget_bytes = 16 << 20;
  assert_int_equal(tarn_env_create(&options, &env, &err), TARN_OK);
  tn_buffer_release(make(env, 2 << 20));
  assert_int_equal(reserved(env), 2 << 20);
  b = make(env, (12 << 20) + 5);
  assert_int_equal(reserved(env), 16 << 20);
  assert_int_equal(tn_buffer_create(env, 1 << 20, &none, &err), TARN_E_LIMIT);
  assert_null(none);
  assert_non_null(strstr(err.message, "a buffer of values"));
  tn_buffer_release(b);
  assert_int_equal(reserved(env), 0);
  tarn_env_free(env);
}

static void buffer_create_zeroed__clears_a_used_block(void **state) {
  column_test *t = *state;
  tn_buffer *b;
  tarn_error err;
  tn_buffer_release(make(t->env, 5000));
  assert_int_equal(tn_buffer_create_zeroed(t->env, 5000, &b, &err), TARN_OK);
  for (size_t i = 0; i < 5000; i++) {
    assert_int_equal(b->data[i], 0);
  }
  tn_buffer_release(b);
}

static void buffer_grow__keeps_what_was_written(void **state) {
  column_test *t = *state;
  tn_buffer *b;
  tarn_error err;
  b = make(t->env, 10);
  memcpy(b->data, "0123456789", 10);
  assert_int_equal(tn_buffer_grow(&b, 10, 50, &err), TARN_OK);
  assert_int_equal(tn_buffer_grow(&b, 10, 70000, &err), TARN_OK);
  assert_true(b->capacity >= 70000);
  assert_memory_equal(b->data, "0123456789", 10);
  tn_buffer_release(b);
}

static void *churn(void *ctx) {
  tarn_env *env = ctx;
  tn_buffer *held[8] = {NULL};
  for (uint32_t i = 0; i < 4000; i++) {
    tarn_error err;
    tn_buffer **slot = &held[i % 8];
    tn_buffer_release(*slot);
    assert_int_equal(tn_buffer_create(env, 1000 + i * 37 % 60000, slot, &err), TARN_OK);
    (*slot)->data[0] = (uint8_t)i;
  }
  for (int i = 0; i < 8; i++) {
    tn_buffer_release(held[i]);
  }
  return NULL;
}

static void buffers__are_made_and_freed_by_many_threads(void **state) {
  column_test *t = *state;
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, churn, t->env), 0);
  }
  for (int i = 0; i < 4; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  }
}

static tarn_status use_buffers(void *ctx, tarn_env *env, tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_buffer *a = NULL, *b = NULL;
  (void)ctx;
  TN_TRY_TO(done, tn_buffer_create(env, 100, &a, err));
  TN_TRY_TO(done, tn_buffer_grow(&a, 100, 9000, err));
  TN_TRY_TO(done, tn_buffer_create_zeroed(env, 9000, &b, err));
done:
  tn_buffer_release(a);
  tn_buffer_release(b);
  return st;
}

static void buffers__survive_failing_allocations(void **state) {
  (void)state;
  assert_true(tn_torture(use_buffers, NULL, TARN_OK) > 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      column_unit_test(buffer_create__aligns_and_leaves_slack),
      column_unit_test(buffer_create__charges_from_4_kib_on),
      column_unit_test(buffer_create__reuses_freed_blocks_of_its_class),
      cmocka_unit_test(buffer_release__keeps_at_most_an_eighth_of_the_budget),
      cmocka_unit_test(buffer_create__empties_the_store_when_the_budget_is_short),
      column_unit_test(buffer_create_zeroed__clears_a_used_block),
      column_unit_test(buffer_grow__keeps_what_was_written),
      column_unit_test(buffers__are_made_and_freed_by_many_threads),
      cmocka_unit_test(buffers__survive_failing_allocations)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
