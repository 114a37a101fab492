/* Row ranges as sets: checked against bitmaps. */
#include "column_test.h"
#include "support/torture.h"

static tarn_status from_bits(tn_ranges *out, uint32_t bits, tarn_error *err) {
  for (int64_t i = 0; i < 12; i++) {
    if (bits >> i & 1) {
      TN_TRY(tn_ranges_add(out, i, i + 1, err));
    }
  }
  return TARN_OK;
}

static uint32_t to_bits(const tn_ranges *ranges) {
  uint32_t bits = 0;
  for (size_t i = 0; i < ranges->count; i++) {
    assert_true(ranges->items[i].begin < ranges->items[i].end);
    assert_true(i == 0 || ranges->items[i - 1].end < ranges->items[i].begin);
    for (int64_t k = ranges->items[i].begin; k < ranges->items[i].end; k++) {
      bits |= 1u << k;
    }
  }
  return bits;
}

static void ranges_add__merges_adjacent_ones(void **state) {
  column_test *t = *state;
  tn_ranges r;
  tarn_error err;
  tn_ranges_init(&r, &t->env->mem);
  assert_int_equal(tn_ranges_add(&r, 0, 5, &err), TARN_OK);
  assert_int_equal(tn_ranges_add(&r, 5, 5, &err), TARN_OK);
  assert_int_equal(tn_ranges_add(&r, 5, 7, &err), TARN_OK);
  assert_int_equal(tn_ranges_add(&r, 8, 9, &err), TARN_OK);
  assert_int_equal(r.count, 2);
  assert_int_equal(tn_ranges_rows(&r), 8);
  tn_ranges_reset(&r);
}

static void ranges__work_as_sets(void **state) {
  column_test *t = *state;
  uint32_t seed = 1;
  for (int i = 0; i < 3000; i++) {
    uint32_t x = (seed = seed * 1664525u + 1013904223u) >> 20;
    uint32_t y = (seed = seed * 1664525u + 1013904223u) >> 20;
    tarn_error err;
    tn_ranges a, b, c;
    tn_ranges_init(&a, &t->env->mem);
    tn_ranges_init(&b, &t->env->mem);
    tn_ranges_init(&c, &t->env->mem);
    assert_int_equal(from_bits(&a, x, &err), TARN_OK);
    assert_int_equal(from_bits(&b, y, &err), TARN_OK);
    assert_int_equal(from_bits(&c, x, &err), TARN_OK);
    assert_int_equal(tn_ranges_intersect(&a, &b, &err), TARN_OK);
    assert_int_equal(to_bits(&a), x & y);
    assert_int_equal(tn_ranges_unite(&c, &b, &err), TARN_OK);
    assert_int_equal(to_bits(&c), x | y);
    assert_int_equal(tn_ranges_rows(&c), __builtin_popcount(x | y));
    tn_ranges_reset(&a);
    tn_ranges_reset(&b);
    tn_ranges_reset(&c);
  }
}

static tarn_status use_ranges(void *ctx, tarn_env *env, tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_ranges a, b;
  (void)ctx;
  tn_ranges_init(&a, &env->mem);
  tn_ranges_init(&b, &env->mem);
  TN_TRY_TO(done, from_bits(&a, 0x555, err));
  TN_TRY_TO(done, from_bits(&b, 0xf0f, err));
  TN_TRY_TO(done, tn_ranges_unite(&a, &b, err));
  TN_TRY_TO(done, tn_ranges_intersect(&a, &b, err));
done:
  tn_ranges_reset(&a);
  tn_ranges_reset(&b);
  return st;
}

static void ranges__survive_failing_allocations(void **state) {
  (void)state;
  assert_true(tn_torture(use_ranges, NULL, TARN_OK) > 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {column_unit_test(ranges_add__merges_adjacent_ones),
                                     column_unit_test(ranges__work_as_sets),
                                     cmocka_unit_test(ranges__survive_failing_allocations)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
