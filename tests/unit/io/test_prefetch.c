/* Prefetch plans: bytes, requests, memory; with and without a pool. */
#include "io/prefetch.h"

#include <errno.h>

#include "base/checked.h"
#include "support/test.h"
#include "support/torture.h"

#define KIB ((int64_t)1024)
#define MIB ((int64_t)1024 * 1024)

typedef struct source {
  tarn_env *env;
  tn_storage *memory;
  tn_file *file;
  uint8_t *bytes;
  int64_t size;
} source;

static uint8_t byte_at(int64_t i) {
  return (uint8_t)((uint64_t)i * 2654435761u >> 13);
}

static source open_source(tarn_env *env, int64_t size) {
  source s = {.env = env, .size = size};
  tarn_error err;
  s.bytes = malloc((size_t)size + 1);
  for (int64_t i = 0; i < size; i++) {
    s.bytes[i] = byte_at(i);
  }
  assert_works(tn_storage_memory(env, &s.memory, &err), err);
  assert_works(tn_storage_memory_put(s.memory, "/f", tn_slice_of(s.bytes, (size_t)size), &err),
               err);
  assert_works(tn_storage_open(s.memory, "/f", &s.file, &err), err);
  return s;
}

static source make_source(int32_t threads, size_t budget, int64_t size) {
  return open_source(tn_test_env(threads, budget), size);
}

static void free_source(source *s) {
  tn_file_release(s->file);
  tn_storage_release(s->memory);
  assert_int_equal(atomic_load(&s->env->mem.reserved_bytes), 0);
  tarn_env_free(s->env);
  free(s->bytes);
}

static tn_prefetch *plan_of(source *s, const tn_byte_range *ranges, int32_t n) {
  tn_prefetch *p = NULL;
  tarn_error err;
  assert_works(tn_prefetch_create(s->file, ranges, n, &p, &err), err);
  return p;
}

static void check_get(source *s, tn_prefetch *p, int32_t i, int64_t offset, size_t n) {
  const uint8_t *out = NULL;
  tarn_error err;
  assert_works(tn_prefetch_get(p, i, offset, n, &out, &err), err);
  if (memcmp(out, s->bytes + offset, n) != 0) {
    fail_msg("wrong bytes at %lld", (long long)offset);
  }
}

static int64_t requests(const source *s) {
  return atomic_load(&s->env->read_requests);
}

static void get__reads_front_to_back_in_windows(void **state) {
  static const int32_t threads[] = {1, 3};
  (void)state;
  for (size_t t = 0; t < TN_COUNT(threads); t++) {
    static const size_t steps[] = {1000, 4096, 100001, 700000};
    for (size_t k = 0; k < TN_COUNT(steps); k++) {
      source s = make_source(threads[t], 0, 4 * MIB);
      tn_byte_range range = {100, 4 * MIB - 200};
      tn_prefetch *p = plan_of(&s, &range, 1);
      int64_t at = 100, end = 4 * MIB - 100;
      while (at < end) {
        size_t n = end - at < (int64_t)steps[k] ? (size_t)(end - at) : steps[k];
        check_get(&s, p, 0, at, n);
        at += (int64_t)n;
      }
      /* Each byte is fetched once. */
      assert_int_equal(atomic_load(&s.env->read_bytes), 4 * MIB - 200);
      assert_true(requests(&s) <= 4 * MIB / (128 * KIB) + 2);
      tn_prefetch_free(p);
      free_source(&s);
    }
  }
}

static void windows__bound_the_memory(void **state) {
  enum { N = 6 };
  source s = make_source(1, 0, 12 * MIB);
  tn_byte_range ranges[N];
  tn_prefetch *p;
  (void)state;
  for (int i = 0; i < N; i++) {
    ranges[i] = (tn_byte_range){i * 2 * MIB, 2 * MIB};
  }
  p = plan_of(&s, ranges, N);
  for (int64_t at = 0; at < 2 * MIB; at += 8 * KIB) { /* column by column, in step */
    for (int32_t i = 0; i < N; i++) {
      check_get(&s, p, i, ranges[i].offset + at, (size_t)(8 * KIB));
    }
  }
  assert_true(atomic_load(&s.env->mem.peak_bytes) <= (size_t)(N * 256 * KIB));
  assert_int_equal(requests(&s), N * 8);
  tn_prefetch_free(p);
  free_source(&s);
}

static void window__grows_to_hold_one_request(void **state) {
  source s = make_source(1, 0, 4 * MIB);
  tn_byte_range range = {0, 4 * MIB};
  tn_prefetch *p = plan_of(&s, &range, 1);
  (void)state;
  check_get(&s, p, 0, 0, 10);
  check_get(&s, p, 0, 10, (size_t)MIB);
  check_get(&s, p, 0, 10 + MIB, (size_t)MIB);
  assert_true(atomic_load(&s.env->mem.reserved_bytes) <= (size_t)(MIB + 64 * KIB));
  tn_prefetch_free(p);
  free_source(&s);
}

static void ranges__close_together_are_one_request(void **state) {
  enum { N = 10 };
  source s = make_source(1, 0, 4 * MIB);
  tn_byte_range ranges[N];
  tn_prefetch *p;
  (void)state;
  for (int i = 0; i < N; i++) {
    ranges[i] = (tn_byte_range){MIB + i * 100 * KIB, 60 * KIB}; /* gaps of 40 KiB */
  }
  p = plan_of(&s, ranges, N);
  for (int i = 0; i < N; i++) {
    check_get(&s, p, i, ranges[i].offset, (size_t)ranges[i].length);
  }
  assert_int_equal(requests(&s), 1);
  assert_int_equal(atomic_load(&s.env->read_bytes), 960 * KIB);
  tn_prefetch_free(p);
  free_source(&s);
}

static void ranges__far_apart_are_requests_of_their_own(void **state) {
  source s = make_source(1, 0, 4 * MIB);
  tn_byte_range ranges[] = {{0, 1000}, {1000 + 64 * KIB, 1000}, {2002 + 128 * KIB, 1000}};
  tn_prefetch *p = plan_of(&s, ranges, 3);
  (void)state;
  for (int i = 0; i < 3; i++) { /* the second gap is one byte too wide */
    check_get(&s, p, i, ranges[i].offset, 1000);
  }
  assert_int_equal(requests(&s), 2);
  assert_int_equal(atomic_load(&s.env->read_bytes), 3000 + 64 * KIB);
  tn_prefetch_free(p);
  free_source(&s);
}

static void ranges__fill_requests_of_at_most_a_mebibyte(void **state) {
  enum { N = 40 };
  source s = make_source(1, 0, 8 * MIB);
  tn_byte_range ranges[N];
  tn_prefetch *p;
  (void)state;
  for (int i = 0; i < N; i++) {
    ranges[i] = (tn_byte_range){i * 200 * KIB, 200 * KIB};
  }
  p = plan_of(&s, ranges, N);
  for (int i = 0; i < N; i++) {
    check_get(&s, p, i, ranges[i].offset, (size_t)ranges[i].length);
    tn_prefetch_done(p, i);
  }
  assert_int_equal(requests(&s), 8); /* 5 each */
  assert_int_equal(atomic_load(&s.env->mem.peak_bytes), 1000 * KIB);
  assert_int_equal(atomic_load(&s.env->mem.reserved_bytes), 0);
  tn_prefetch_free(p);
  free_source(&s);
}

static void plan__that_fits_is_one_request(void **state) {
  source s = make_source(1, 0, MIB);
  tn_byte_range ranges[] = {{4, 600 * KIB}, {4 + 600 * KIB, 400 * KIB}};
  tn_prefetch *p = plan_of(&s, ranges, 2);
  (void)state;
  check_get(&s, p, 1, ranges[1].offset, 100);
  check_get(&s, p, 0, 4, (size_t)(600 * KIB));
  assert_int_equal(requests(&s), 1);
  tn_prefetch_free(p);
  free_source(&s);
}

static void plan__takes_ranges_in_any_order(void **state) {
  source s = make_source(1, 0, MIB);
  tn_byte_range ranges[] = {{5000, 100}, {0, 100}, {50, 100}, {150, 0}, {5000, 100}};
  tn_prefetch *p = plan_of(&s, ranges, 5);
  (void)state;
  for (int i = 0; i < 5; i++) {
    check_get(&s, p, i, ranges[i].offset, (size_t)ranges[i].length);
  }
  tn_prefetch_free(p);
  p = plan_of(&s, NULL, 0);
  tn_prefetch_free(p);
  tn_prefetch_free(NULL);
  free_source(&s);
}

static void get__may_skip_and_go_back(void **state) {
  static const int32_t threads[] = {1, 3};
  (void)state;
  for (size_t t = 0; t < TN_COUNT(threads); t++) {
    source s = make_source(threads[t], 0, 4 * MIB);
    tn_byte_range range = {0, 4 * MIB};
    tn_prefetch *p = plan_of(&s, &range, 1);
    uint32_t x = 99;
    for (int i = 0; i < 3000; i++) {
      int64_t at;
      size_t n;
      x = x * 1664525u + 1013904223u;
      at = (int64_t)(x % (uint32_t)(4 * MIB));
      n = (size_t)(x >> 8) % (i % 10 == 0 ? 600000 : 3000);
      if (at + (int64_t)n > 4 * MIB) {
        n = (size_t)(4 * MIB - at);
      }
      check_get(&s, p, 0, at, n);
    }
    tn_prefetch_free(p);
    free_source(&s);
  }
}

static void peek__gives_16_kib_while_there_are(void **state) {
  static const int32_t threads[] = {1, 2};
  (void)state;
  for (size_t t = 0; t < TN_COUNT(threads); t++) {
    source s = make_source(threads[t], 0, 2 * MIB);
    tn_byte_range range = {1000, MIB};
    tn_prefetch *p = plan_of(&s, &range, 1);
    int64_t end = range.offset + range.length;
    const uint8_t *out;
    size_t n;
    tarn_error err;
    for (int64_t at = range.offset; at < end; at += 777) {
      size_t want = end - at < 16 * KIB ? (size_t)(end - at) : (size_t)(16 * KIB);
      assert_works(tn_prefetch_peek(p, 0, at, SIZE_MAX, &out, &n, &err), err);
      assert_true(n >= want && (int64_t)n <= end - at);
      assert_memory_equal(out, s.bytes + at, n);
      assert_works(tn_prefetch_peek(p, 0, at, 64, &out, &n, &err), err);
      assert_int_equal(n, end - at < 64 ? end - at : 64);
      check_get(&s, p, 0, at, end - at < 700 ? (size_t)(end - at) : 700);
    }
    assert_int_equal(atomic_load(&s.env->read_bytes), MIB);
    assert_true(atomic_load(&s.env->mem.reserved_bytes) > 0);
    assert_works(tn_prefetch_peek(p, 0, end, 64, &out, &n, &err), err);
    assert_int_equal(n, 0);
    assert_int_equal(atomic_load(&s.env->mem.reserved_bytes), 0); /* done with it */
    tn_prefetch_free(p);
    free_source(&s);
  }
}

static void get__refuses_what_is_outside_of_its_range(void **state) {
  source s = make_source(1, 0, MIB);
  tn_byte_range ranges[] = {{100, 100}, {200, 50}};
  tn_prefetch *p = plan_of(&s, ranges, 2);
  static const struct {
    int64_t offset;
    size_t n;
  } cases[] = {{99, 1},  {199, 2},        {200, 1}, {201, 0},        {100, 101},
               {-1, 10}, {100, SIZE_MAX}, {0, 1},   {INT64_MAX, 10}, {INT64_MIN, 1}};
  const uint8_t *out;
  size_t n;
  tarn_error err;
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    assert_int_equal(tn_prefetch_get(p, 0, cases[i].offset, cases[i].n, &out, &err),
                     TARN_E_CORRUPT);
    assert_contains(err.message, "/f: ");
    assert_contains(err.message, "range from 100 to 200");
  }
  assert_int_equal(tn_prefetch_peek(p, 1, 251, 10, &out, &n, &err), TARN_E_CORRUPT);
  assert_int_equal(tn_prefetch_peek(p, 1, 199, 10, &out, &n, &err), TARN_E_CORRUPT);
  tn_prefetch_free(p);
  free_source(&s);
}

static void create__refuses_ranges_outside_of_the_file(void **state) {
  source s = make_source(1, 0, 1000);
  static const tn_byte_range cases[] = {{-1, 10}, {0, 1001},      {1000, 1},       {1001, 0},
                                        {5, -1},  {INT64_MAX, 1}, {10, INT64_MAX}, {999, 2}};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tn_prefetch *p = (tn_prefetch *)1;
    tarn_error err;
    assert_int_equal(tn_prefetch_create(s.file, &cases[i], 1, &p, &err), TARN_E_CORRUPT);
    assert_null(p);
    assert_contains(err.message, "not within its 1000 bytes");
  }
  free_source(&s);
}

static void done__gives_memory_back_and_may_be_undone(void **state) {
  source s = make_source(1, 0, 4 * MIB);
  tn_byte_range ranges[] = {{0, 3000}, {3000, 3000}, {2 * MIB, MIB}};
  tn_prefetch *p = plan_of(&s, ranges, 3);
  (void)state;
  check_get(&s, p, 0, 0, 3000);
  check_get(&s, p, 1, 3000, 3000);
  check_get(&s, p, 2, 2 * MIB, 10);
  tn_prefetch_done(p, 0);
  tn_prefetch_done(p, 0);
  check_get(&s, p, 1, 3000, 3000); /* the group is still there */
  assert_int_equal(requests(&s), 2);
  tn_prefetch_done(p, 2);
  assert_int_equal(atomic_load(&s.env->mem.reserved_bytes), 6000);
  tn_prefetch_done(p, 1);
  assert_int_equal(atomic_load(&s.env->mem.reserved_bytes), 0);
  check_get(&s, p, 0, 0, 3000);
  check_get(&s, p, 2, 2 * MIB, 10);
  assert_int_equal(requests(&s), 4);
  tn_prefetch_done(p, 0);
  tn_prefetch_done(p, 2);
  assert_int_equal(atomic_load(&s.env->mem.reserved_bytes), 0);
  tn_prefetch_free(p);
  free_source(&s);
}

static void windows__shrink_when_the_budget_is_short(void **state) {
  enum { N = 40 };
  source s = make_source(2, 4 << 20, N * MIB / 4);
  tn_byte_range ranges[N];
  tn_prefetch *p;
  (void)state;
  for (int i = 0; i < N; i++) {
    ranges[i] = (tn_byte_range){i * MIB / 4, MIB / 4};
  }
  p = plan_of(&s, ranges, N);
  for (int64_t at = 0; at < MIB / 4; at += 8 * KIB) { /* ten mebibytes through a budget of four */
    for (int32_t i = 0; i < N; i++) {
      check_get(&s, p, i, ranges[i].offset + at, (size_t)(8 * KIB));
    }
  }
  tn_prefetch_free(p);
  free_source(&s);
}

static void get__tells_when_the_budget_is_used_up(void **state) {
  source s = make_source(1, 4 << 20, 8 * MIB);
  tn_byte_range range = {0, 8 * MIB};
  tn_prefetch *p = plan_of(&s, &range, 1);
  const uint8_t *out;
  tarn_error err;
  (void)state;
  assert_int_equal(tn_prefetch_get(p, 0, 0, 5 << 20, &out, &err), TARN_E_LIMIT);
  assert_contains(err.message, "reading a file");
  check_get(&s, p, 0, 0, 3 << 20);
  check_get(&s, p, 0, 1 << 20, 4 << 20); /* has room when the old window goes */
  assert_int_equal(tn_prefetch_get(p, 0, 1 << 20, (4 << 20) + 1, &out, &err), TARN_E_LIMIT);
  tn_prefetch_free(p);
  free_source(&s);
}

/* ------------------------------------------------------------------ read-ahead */

/* A file that counts what the pool's thread reads; see which thread asked. */
static void ahead__reads_while_the_window_is_used(void **state) {
  source s = make_source(2, 0, 2 * MIB);
  tn_byte_range range = {0, 2 * MIB};
  tn_prefetch *p = plan_of(&s, &range, 1);
  (void)state;
  check_get(&s, p, 0, 0, 100);
  /* The worker, or we ourselves if it does not come to it, read the next window: the second request
   * comes without a further get. */
  while (requests(&s) < 2) {
    (void)tn_pool_help(s.env->pool);
  }
  assert_int_equal(atomic_load(&s.env->read_bytes), 512 * KIB);
  check_get(&s, p, 0, 256 * KIB, 100); /* all of it is in what was read ahead */
  check_get(&s, p, 0, 500 * KIB, 100);
  tn_prefetch_free(p);
  free_source(&s);
}

static void ahead__is_left_out_without_threads_or_budget(void **state) {
  source s = make_source(1, 0, 2 * MIB), t = make_source(2, 4 << 20, 2 * MIB);
  tn_byte_range range = {0, 2 * MIB};
  tn_prefetch *p = plan_of(&s, &range, 1);
  tarn_error err;
  (void)state;
  check_get(&s, p, 0, 0, 100);
  assert_int_equal(requests(&s), 1);
  assert_false(tn_pool_help(s.env->pool));
  tn_prefetch_free(p);
  free_source(&s);
  assert_works(tn_reserve(&t.env->mem, 3 << 20, "test", &err), err);
  p = plan_of(&t, &range, 1);
  check_get(&t, p, 0, 0, 100);
  assert_true(atomic_load(&t.env->mem.reserved_bytes) <= (3u << 20) + 256u * 1024);
  assert_false(tn_pool_help(t.env->pool));
  tn_prefetch_free(p);
  tn_unreserve(&t.env->mem, 3 << 20);
  free_source(&t);
}

static void ahead__errors_come_when_the_bytes_are_asked_for(void **state) {
  source s = make_source(2, 0, 2 * MIB);
  (void)state;
  for (int64_t n = 1; n <= 12; n++) {
    tn_storage_fault fault = {.fail_at_call = n, .os_errno = EIO};
    tn_storage *faulty = NULL;
    tn_file *file = NULL;
    tn_prefetch *p = NULL;
    tn_byte_range range = {0, 2 * MIB};
    tarn_error err;
    tarn_status st;
    assert_works(tn_storage_faulty(s.memory, &fault, &faulty, &err), err);
    st = tn_storage_open(faulty, "/f", &file, &err);
    if (st == TARN_OK) {
      assert_works(tn_prefetch_create(file, &range, 1, &p, &err), err);
    }
    for (int64_t at = 0; at < 2 * MIB && st == TARN_OK; at += 64 * KIB) {
      const uint8_t *out;
      st = tn_prefetch_get(p, 0, at, (size_t)(64 * KIB), &out, &err);
      if (st == TARN_OK) {
        assert_memory_equal(out, s.bytes + at, (size_t)(64 * KIB));
      }
    }
    /* A read-ahead that failed is done again by the reader; this one fails only once. */
    assert_true(st == TARN_OK || st == TARN_E_IO);
    assert_true(n != 1 || st == TARN_E_IO);
    assert_true(n != 2 || st == TARN_E_IO);
    tn_prefetch_free(p);
    tn_file_release(file);
    tn_storage_release(faulty);
  }
  free_source(&s);
}

typedef struct parallel_ctx {
  source *s;
} parallel_ctx;

static tarn_status read_one(void *ctx, int64_t i, tarn_error *err) {
  source *s = ((parallel_ctx *)ctx)->s;
  tn_byte_range ranges[] = {{i * 1000, 2 * MIB}, {3 * MIB + i * 10, MIB - 1000}};
  tn_prefetch *p = NULL;
  tarn_status st = TARN_OK;
  TN_TRY(tn_prefetch_create(s->file, ranges, 2, &p, err));
  for (int64_t at = 0; at + 5000 <= MIB - 1000 && st == TARN_OK; at += 5000) {
    for (int32_t k = 0; k < 2 && st == TARN_OK; k++) {
      const uint8_t *out;
      st = tn_prefetch_get(p, k, ranges[k].offset + at, 5000, &out, err);
      require_in_thread(st != TARN_OK || memcmp(out, s->bytes + ranges[k].offset + at, 5000) == 0);
    }
  }
  tn_prefetch_free(p); /* often with a read-ahead under way */
  return st;
}

static void plans__may_be_read_in_parallel(void **state) {
  source s = make_source(4, 0, 5 * MIB);
  parallel_ctx ctx = {&s};
  tarn_error err;
  (void)state;
  assert_works(tn_parallel_for(s.env->pool, 60, 0, read_one, &ctx, &err), err);
  free_source(&s);
}

static tarn_status read_all_of_it(void *ctx, tarn_env *env, tarn_error *err) {
  static const tn_byte_range ranges[] = {{0, MIB}, {MIB, 1000}, {MIB + 1000, 3000}};
  tn_slice bytes = *(tn_slice *)ctx;
  tn_storage *memory = NULL;
  tn_file *file = NULL;
  tn_prefetch *p = NULL;
  tarn_status st = TARN_OK;
  TN_TRY_TO(done, tn_storage_memory(env, &memory, err));
  TN_TRY_TO(done, tn_storage_memory_put(memory, "/f", bytes, err));
  TN_TRY_TO(done, tn_storage_open(memory, "/f", &file, err));
  TN_TRY_TO(done, tn_prefetch_create(file, ranges, 3, &p, err));
  for (int32_t i = 0; i < 3; i++) {
    int64_t end = ranges[i].offset + ranges[i].length;
    for (int64_t at = ranges[i].offset; at < end; at += 200000) {
      size_t n = end - at < 400000 ? (size_t)(end - at) : 400000;
      const uint8_t *out;
      TN_TRY_TO(done, tn_prefetch_get(p, i, at, n, &out, err));
      assert_memory_equal(out, bytes.data + at, n);
    }
  }
done:
  tn_prefetch_free(p);
  tn_file_release(file);
  tn_storage_release(memory);
  assert_int_equal(atomic_load(&env->mem.reserved_bytes), 0);
  return st;
}

static void prefetch__survives_failing_allocations(void **state) {
  source s = make_source(1, 0, 2 * MIB);
  tn_slice bytes = tn_slice_of(s.bytes, (size_t)s.size);
  (void)state;
  assert_true(tn_torture(read_all_of_it, &bytes, TARN_OK) > 10);
  free_source(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(get__reads_front_to_back_in_windows),
      cmocka_unit_test(windows__bound_the_memory),
      cmocka_unit_test(window__grows_to_hold_one_request),
      cmocka_unit_test(ranges__close_together_are_one_request),
      cmocka_unit_test(ranges__far_apart_are_requests_of_their_own),
      cmocka_unit_test(ranges__fill_requests_of_at_most_a_mebibyte),
      cmocka_unit_test(plan__that_fits_is_one_request),
      cmocka_unit_test(plan__takes_ranges_in_any_order),
      cmocka_unit_test(get__may_skip_and_go_back),
      cmocka_unit_test(peek__gives_16_kib_while_there_are),
      cmocka_unit_test(get__refuses_what_is_outside_of_its_range),
      cmocka_unit_test(create__refuses_ranges_outside_of_the_file),
      cmocka_unit_test(done__gives_memory_back_and_may_be_undone),
      cmocka_unit_test(windows__shrink_when_the_budget_is_short),
      cmocka_unit_test(get__tells_when_the_budget_is_used_up),
      cmocka_unit_test(ahead__reads_while_the_window_is_used),
      cmocka_unit_test(ahead__is_left_out_without_threads_or_budget),
      cmocka_unit_test(ahead__errors_come_when_the_bytes_are_asked_for),
      cmocka_unit_test(plans__may_be_read_in_parallel),
      cmocka_unit_test(prefetch__survives_failing_allocations),
  };
  return cmocka_run_group_tests_name("prefetch", tests, NULL, NULL);
}
