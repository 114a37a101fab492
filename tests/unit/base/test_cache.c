/* test_cache.c - what the cache keeps, gives up and counts. */
#include "base/cache.h"

#include <pthread.h>

#include "base/checked.h"
#include "support/test.h"
#include "support/torture.h"

typedef struct thing {
  _Atomic int32_t refs;
  int32_t number;
} thing;

static void thing_retain(void *value) {
  atomic_fetch_add(&((thing *)value)->refs, 1);
}

static void thing_release(void *value) {
  require_in_thread(atomic_fetch_sub(&((thing *)value)->refs, 1) > 0);
}

static const tn_cache_ops ops = {"thing", thing_retain, thing_release};
static const tn_cache_ops other_ops = {"other", thing_retain, thing_release};

typedef struct fixture {
  tn_test_alloc alloc;
  tarn_allocator hooks;
  tn_mem mem;
  tn_cache *cache;
  thing things[100];
} fixture;

static fixture f;

static int set_up(void **state) {
  tarn_error err;
  (void)state;
  tn_test_alloc_init(&f.alloc);
  f.hooks = tn_test_alloc_hooks(&f.alloc);
  tn_mem_init(&f.mem, &f.hooks, 100000);
  assert_works(tn_cache_create(&f.mem, 40000, &f.cache, &err), err);
  for (int32_t i = 0; i < 100; i++) {
    atomic_init(&f.things[i].refs, 1);
    f.things[i].number = i;
  }
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  tn_cache_free(f.cache);
  for (int i = 0; i < 100; i++) {
    assert_int_equal(atomic_load(&f.things[i].refs), 1);
  }
  assert_int_equal(atomic_load(&f.mem.reserved_bytes), 0);
  assert_int_equal(atomic_load(&f.alloc.live_blocks), 0);
  return 0;
}

static tn_slice key_of(const int32_t *i) {
  return tn_slice_of(i, sizeof(*i));
}

static void put(int32_t i, size_t n_bytes) {
  tn_cache_put(f.cache, &ops, key_of(&i), &f.things[i], n_bytes);
}

static bool has(int32_t i) {
  thing *t = tn_cache_get(f.cache, &ops, key_of(&i));
  if (t != NULL) {
    assert_int_equal(t->number, i);
    thing_release(t);
  }
  return t != NULL;
}

static void get__finds_what_was_put(void **state) {
  int32_t key = 1;
  int64_t hits, misses;
  (void)state;
  assert_false(has(1));
  put(1, 10);
  put(2, 10);
  assert_true(has(1) && has(2));
  assert_false(has(3));
  assert_null(tn_cache_get(f.cache, &other_ops, key_of(&key))); /* the kind is part of the key */
  tn_cache_stats(f.cache, &hits, &misses);
  assert_int_equal(hits, 2);
  assert_int_equal(misses, 3);
}

static void put__drops_the_least_recently_used(void **state) {
  (void)state;
  for (int32_t i = 0; i < 4; i++) {
    put(i, 9000);
  }
  assert_true(has(0));
  put(4, 9000); /* the fifth does not fit next to the others */
  assert_true(has(0) && has(2) && has(3) && has(4));
  assert_false(has(1));
  assert_true(atomic_load(&f.mem.reserved_bytes) <= 40000);
}

static void put__leaves_out_what_is_too_large(void **state) {
  (void)state;
  put(0, 10001);
  put(1, SIZE_MAX);
  assert_false(has(0) || has(1));
}

static void put__keeps_the_first_value_of_a_key(void **state) {
  int32_t key = 7;
  thing *t;
  (void)state;
  put(7, 10);
  tn_cache_put(f.cache, &ops, key_of(&key), &f.things[8], 10);
  t = tn_cache_get(f.cache, &ops, key_of(&key));
  assert_ptr_equal(t, &f.things[7]);
  thing_release(t);
}

static void put__makes_room_only_for_itself_in_a_short_budget(void **state) {
  tarn_error err;
  (void)state;
  for (int32_t i = 0; i < 4; i++) {
    put(i, 9000);
  }
  assert_works(tn_reserve(&f.mem, 60000, "test", &err), err);
  put(4, 8000); /* 40000 are left: one of the old ones has to go */
  assert_true(has(4) && has(1) && has(2) && has(3));
  assert_false(has(0));
  tn_unreserve(&f.mem, 60000);
}

static void put__counts_what_the_cache_itself_needs(void **state) {
  static int32_t keys[5000];
  (void)state;
  for (int32_t i = 0; i < 5000; i++) {
    keys[i] = i;
    tn_cache_put(f.cache, &ops, key_of(&keys[i]), &f.things[0], 1);
  }
  assert_true(atomic_load(&f.alloc.live_bytes) < 40000 + 64 * 1024);
  assert_true(has(0) == false);
}

static void shrink__gives_back_the_oldest(void **state) {
  (void)state;
  for (int32_t i = 0; i < 4; i++) {
    put(i, 5000);
  }
  tn_cache_shrink(f.cache, 6000);
  assert_false(has(0) || has(1));
  assert_true(has(2) && has(3));
  tn_cache_shrink(f.cache, SIZE_MAX);
  assert_int_equal(atomic_load(&f.mem.reserved_bytes), 0);
  assert_false(has(2) || has(3));
}

static void put__goes_without_memory(void **state) {
  (void)state;
  atomic_store(&f.alloc.fail_at, atomic_load(&f.alloc.calls) + 1);
  put(0, 10);
  assert_false(has(0));
  put(0, 10);
  assert_true(has(0));
}

static void empty_keys__are_keys(void **state) {
  thing *t;
  (void)state;
  tn_cache_put(f.cache, &ops, tn_slice_of(NULL, 0), &f.things[9], 10);
  t = tn_cache_get(f.cache, &ops, tn_slice_of(NULL, 0));
  assert_ptr_equal(t, &f.things[9]);
  thing_release(t);
}

static void *hammer(void *arg) {
  uint32_t x = *(uint32_t *)arg;
  for (int i = 0; i < 20000; i++) {
    int32_t k;
    x = x * 1664525u + 1013904223u;
    k = (int32_t)(x >> 16) % 100;
    if (x % 5 == 0) {
      put(k, 1000 + x % 3000);
    } else if (x % 97 == 0) {
      tn_cache_shrink(f.cache, 5000);
    } else {
      thing *t = tn_cache_get(f.cache, &ops, key_of(&k));
      if (t != NULL) {
        require_in_thread(t->number == k);
        thing_release(t);
      }
    }
  }
  return NULL;
}

static void cache__is_thread_safe(void **state) {
  pthread_t threads[3];
  uint32_t seeds[3] = {1, 2, 3};
  (void)state;
  for (int i = 0; i < 3; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, hammer, &seeds[i]), 0);
  }
  for (int i = 0; i < 3; i++) {
    pthread_join(threads[i], NULL);
  }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(get__finds_what_was_put),
      TEST(put__drops_the_least_recently_used),
      TEST(put__leaves_out_what_is_too_large),
      TEST(put__keeps_the_first_value_of_a_key),
      TEST(put__makes_room_only_for_itself_in_a_short_budget),
      TEST(put__counts_what_the_cache_itself_needs),
      TEST(shrink__gives_back_the_oldest),
      TEST(put__goes_without_memory),
      TEST(empty_keys__are_keys),
      TEST(cache__is_thread_safe),
  };
  return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
