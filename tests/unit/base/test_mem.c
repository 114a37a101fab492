/* test_mem.c - allocator hooks and the budget. */
#include "base/mem.h"

#include <pthread.h>

#include "base/checked.h"
#include "support/test.h"
#include "support/torture.h"

static void alloc__goes_through_the_hooks(void **state) {
  tn_test_alloc alloc;
  tarn_allocator hooks;
  tn_mem mem;
  uint8_t *a, *b;
  char *text;
  (void)state;
  tn_test_alloc_init(&alloc);
  hooks = tn_test_alloc_hooks(&alloc);
  tn_mem_init(&mem, &hooks, 100);
  a = tn_alloc(&mem, 0);
  b = tn_calloc(&mem, 10, 10);
  assert_non_null(a);
  assert_non_null(b);
  for (int i = 0; i < 100; i++) {
    assert_int_equal(b[i], 0);
  }
  b[0] = 7;
  b = tn_realloc(&mem, b, 1000);
  assert_int_equal(b[0], 7);
  text = tn_strndup(&mem, "abcdef", 3);
  assert_string_equal(text, "abc");
  assert_int_equal(atomic_load(&alloc.live_blocks), 3);
  tn_free(&mem, a);
  tn_free(&mem, b);
  tn_free(&mem, text);
  tn_free(&mem, NULL);
  assert_int_equal(atomic_load(&alloc.live_blocks), 0);
  assert_null(tn_calloc(&mem, SIZE_MAX / 2, 3));
  assert_null(tn_strndup(&mem, "x", SIZE_MAX));
  atomic_store(&alloc.fail_at, atomic_load(&alloc.calls) + 1);
  assert_null(tn_strdup(&mem, "x"));
  assert_int_equal(atomic_load(&alloc.live_blocks), 0);
}

static void reserve__keeps_the_budget(void **state) {
  tn_mem mem;
  tarn_error err;
  (void)state;
  tn_mem_init(&mem, NULL, 100);
  assert_true(tn_reserve_try(&mem, 60));
  assert_false(tn_reserve_try(&mem, 41));
  assert_false(tn_reserve_try(&mem, SIZE_MAX));
  assert_int_equal(tn_reserve(&mem, 50, "sorting", &err), TARN_E_LIMIT);
  assert_contains(err.message, "100 bytes");
  assert_contains(err.message, "sorting needs 50");
  assert_contains(err.message, "60 are held");
  assert_works(tn_reserve(&mem, 40, "sorting", &err), err);
  tn_unreserve(&mem, 100);
  assert_int_equal(atomic_load(&mem.reserved_bytes), 0);
  assert_int_equal(atomic_load(&mem.peak_bytes), 100);
}

static void *reserve_often(void *arg) {
  tn_mem *mem = arg;
  for (int i = 0; i < 50000; i++) {
    if (tn_reserve_try(mem, 40)) {
      require_in_thread(atomic_load(&mem->reserved_bytes) <= 100);
      tn_unreserve(mem, 40);
    }
  }
  return NULL;
}

static void reserve__is_thread_safe(void **state) {
  tn_mem mem;
  pthread_t threads[3];
  (void)state;
  tn_mem_init(&mem, NULL, 100);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, reserve_often, &mem), 0);
  }
  for (int i = 0; i < 3; i++) {
    pthread_join(threads[i], NULL);
  }
  assert_int_equal(atomic_load(&mem.reserved_bytes), 0);
  assert_true(atomic_load(&mem.peak_bytes) <= 80);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(alloc__goes_through_the_hooks),
      cmocka_unit_test(reserve__keeps_the_budget),
      cmocka_unit_test(reserve__is_thread_safe),
  };
  return cmocka_run_group_tests_name("mem", tests, NULL, NULL);
}
