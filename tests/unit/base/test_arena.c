/* test_arena.c - alignment, limits, growth and reuse of arenas. */
#include "base/arena.h"

#include "base/checked.h"
#include "support/test.h"
#include "support/torture.h"

typedef struct fixture {
  tn_test_alloc alloc;
  tarn_allocator hooks;
  tn_mem mem;
  tn_arena arena;
} fixture;

static fixture f;

static int set_up(void **state) {
  (void)state;
  tn_test_alloc_init(&f.alloc);
  f.hooks = tn_test_alloc_hooks(&f.alloc);
  tn_mem_init(&f.mem, &f.hooks, 1 << 20);
  tn_arena_init(&f.arena, &f.mem, SIZE_MAX);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  tn_arena_reset(&f.arena);
  assert_int_equal(atomic_load(&f.alloc.live_blocks), 0);
  return 0;
}

static void alloc__gives_aligned_pieces_that_do_not_overlap(void **state) {
  enum { N = 2000 };
  static uint8_t *pieces[N];
  static size_t sizes[N];
  (void)state;
  for (size_t i = 0; i < N; i++) {
    sizes[i] = i % 97 == 0 ? 100000 + i : (i * 31) % 200;
    pieces[i] = tn_arena_alloc(&f.arena, sizes[i]);
    assert_non_null(pieces[i]);
    assert_int_equal((uintptr_t)pieces[i] % 8, 0);
    memset(pieces[i], (int)(i % 251), sizes[i]);
  }
  for (size_t i = 0; i < N; i++) {
    for (size_t k = 0; k < sizes[i]; k++) {
      assert_int_equal(pieces[i][k], i % 251);
    }
  }
}

static void alloc__of_nothing_is_not_a_failure(void **state) {
  void *a = tn_arena_alloc(&f.arena, 0), *b = tn_arena_alloc(&f.arena, 0);
  tn_slice out;
  (void)state;
  assert_non_null(a);
  assert_non_null(b);
  assert_ptr_not_equal(a, b);
  tn_arena_reset(&f.arena);
  assert_true(tn_arena_slice(&f.arena, tn_slice_of(NULL, 0), &out));
  assert_int_equal(out.len, 0);
}

static void alloc__refuses_sizes_that_overflow(void **state) {
  (void)state;
  for (size_t less = 0; less < 64; less++) {
    assert_null(tn_arena_alloc(&f.arena, SIZE_MAX - less));
  }
  assert_non_null(tn_arena_alloc(&f.arena, 8));
  assert_null(tn_arena_alloc(&f.arena, SIZE_MAX - 30));
  assert_null(tn_arena_calloc(&f.arena, SIZE_MAX / 2, 3));
  assert_null(tn_arena_strndup(&f.arena, "x", SIZE_MAX));
}

static void alloc__keeps_its_limit(void **state) {
  size_t n = 0;
  (void)state;
  tn_arena_init(&f.arena, &f.mem, 100000);
  while (tn_arena_alloc(&f.arena, 1000) != NULL) {
    n++;
  }
  assert_true(n >= 50 && n <= 100);
  assert_true(atomic_load(&f.alloc.live_bytes) < 101000);
}

static void alloc__keeps_the_rest_of_a_block_behind_a_large_piece(void **state) {
  uint8_t *a = tn_arena_alloc(&f.arena, 16), *b;
  (void)state;
  assert_non_null(tn_arena_alloc(&f.arena, 500000));
  b = tn_arena_alloc(&f.arena, 16);
  assert_ptr_equal(b, a + 16);
}

static void reset__frees_all_and_starts_again(void **state) {
  (void)state;
  for (int i = 0; i < 1000; i++) {
    assert_non_null(tn_arena_alloc(&f.arena, 5000));
  }
  tn_arena_reset(&f.arena);
  assert_int_equal(atomic_load(&f.alloc.live_blocks), 0);
  assert_non_null(tn_arena_alloc(&f.arena, 10));
}

static void texts__are_copied_and_terminated(void **state) {
  char source[] = "hello";
  char *a = tn_arena_strndup(&f.arena, source, 4), *b = tn_arena_strdup(&f.arena, source);
  char *c = tn_arena_printf(&f.arena, "%s-%d", source, 42);
  (void)state;
  memset(source, 'x', 5);
  assert_string_equal(a, "hell");
  assert_string_equal(b, "hello");
  assert_string_equal(c, "hello-42");
}

static void grow__keeps_elements(void **state) {
  int64_t *array = NULL;
  size_t capacity = 0, count = 0;
  (void)state;
  for (; count < 10000; count++) {
    assert_true(tn_arena_grow(&f.arena, (void **)&array, &capacity, count, sizeof(*array)));
    array[count] = (int64_t)count;
  }
  for (size_t i = 0; i < count; i++) {
    assert_int_equal(array[i], i);
  }
  capacity = SIZE_MAX / 2 + 1;
  assert_false(tn_arena_grow(&f.arena, (void **)&array, &capacity, SIZE_MAX, sizeof(*array)));
}

static void alloc__tells_when_memory_is_out(void **state) {
  (void)state;
  atomic_store(&f.alloc.fail_at, 1);
  assert_null(tn_arena_alloc(&f.arena, 10));
  assert_non_null(tn_arena_alloc(&f.arena, 10));
  atomic_store(&f.alloc.fail_at, atomic_load(&f.alloc.calls) + 1);
  assert_null(tn_arena_alloc(&f.arena, 1 << 20));
  assert_non_null(tn_arena_alloc(&f.arena, 10));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(alloc__gives_aligned_pieces_that_do_not_overlap),
      TEST(alloc__of_nothing_is_not_a_failure),
      TEST(alloc__refuses_sizes_that_overflow),
      TEST(alloc__keeps_its_limit),
      TEST(alloc__keeps_the_rest_of_a_block_behind_a_large_piece),
      TEST(reset__frees_all_and_starts_again),
      TEST(texts__are_copied_and_terminated),
      TEST(grow__keeps_elements),
      TEST(alloc__tells_when_memory_is_out),
  };
  return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
