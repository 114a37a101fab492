/* Parts of the Parquet writer by themselves: runs and packed groups, dictionaries, bounds. */
#include "base/bytes.h"
#include "format/parquet/rle.h"
#include "format/parquet/write_bounds.h"
#include "format/parquet/write_dictionary.h"
#include "format/parquet/write_rle.h"
#include "support/test.h"
#include "support/torture.h"

static uint32_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 33);
}

/* ------------------------------------------------------------------ runs and groups */

/* kind 0: random; 1: runs of random length; 2: all alike. */
static void fill_values(uint32_t *values, int64_t n, uint32_t mask, int kind, uint64_t seed) {
  uint32_t v = 0;
  int64_t left = 0;
  for (int64_t i = 0; i < n; i++) {
    if (kind == 0 || left == 0) {
      v = next_random(&seed) & mask;
      left = kind == 1 ? 1 + next_random(&seed) % 60 : n;
    }
    values[i] = v;
    left--;
  }
}

#define MAX_N 5000

/* What was put is taken again, and fits the bound. */
static void check_codes(const uint32_t *values, int64_t n, uint32_t width) {
  static uint8_t bytes[MAX_N * 5 + 1000];
  static uint32_t back[MAX_N + 8];
  tn_pq_rle rle;
  uint8_t *end;
  memset(bytes, 0xee, sizeof(bytes));
  end = tn_pq_rle_put(values, n, width, bytes);
  assert_true((size_t)(end - bytes) + 16 <= tn_pq_rle_bound(n, width));
  assert_int_equal(bytes[tn_pq_rle_bound(n, width)], 0xee);
  assert_true(tn_pq_rle_init(&rle, tn_slice_of(bytes, (size_t)(end - bytes)), width));
  assert_int_equal(tn_pq_rle_get(&rle, n, back), n);
  assert_memory_equal(values, back, (size_t)n * sizeof(*back));
}

static void rle__codes_of_every_width_are_taken_again(void **state) {
  static const int64_t sizes[] = {1, 7, 8, 9, 15, 16, 17, 31, 64, 100, 1000, MAX_N};
  static uint32_t values[MAX_N + 8];
  (void)state;
  for (uint32_t width = 1; width <= 32; width++) {
    uint32_t mask = width < 32 ? ((uint32_t)1 << width) - 1 : UINT32_MAX;
    for (size_t s = 0; s < TN_COUNT(sizes); s++) {
      for (int kind = 0; kind < 3; kind++) {
        fill_values(values, sizes[s], mask, kind, width * 100 + s);
        check_codes(values, sizes[s], width);
      }
    }
  }
}

static void rle__levels_of_every_width_are_taken_again(void **state) {
  static uint32_t values[MAX_N];
  static uint8_t levels[MAX_N + 8], back[MAX_N + 8], bytes[MAX_N * 2 + 200];
  (void)state;
  for (uint32_t width = 1; width <= 8; width++) {
    for (int64_t n = 1; n <= 700; n += 1 + n / 9) {
      for (int kind = 0; kind < 3; kind++) {
        tn_pq_rle rle;
        uint8_t *end;
        fill_values(values, n, (1u << width) - 1, kind, width * 1000 + (uint64_t)n);
        for (int64_t i = 0; i < n; i++) {
          levels[i] = (uint8_t)values[i];
        }
        end = tn_pq_rle_put_bytes(levels, n, width, bytes);
        assert_true((size_t)(end - bytes) + 8 <= tn_pq_rle_bound(n, width));
        assert_true(tn_pq_rle_init(&rle, tn_slice_of(bytes, (size_t)(end - bytes)), width));
        assert_int_equal(tn_pq_rle_get_bytes(&rle, n, back), n);
        assert_memory_equal(levels, back, (size_t)n);
      }
    }
  }
}

static void rle__bits_are_taken_again(void **state) {
  static uint8_t bits[MAX_N], back[MAX_N], bytes[MAX_N];
  (void)state;
  for (int64_t n = 1; n <= 3000; n += 1 + n / 7) {
    for (uint64_t kind = 0; kind < 4; kind++) {
      uint64_t seed = kind + (uint64_t)n;
      tn_pq_rle rle;
      uint8_t *end;
      memset(bits, 0, sizeof(bits));
      for (int64_t i = 0; i < n; i++) {
        bool on = kind == 0   ? next_random(&seed) % 2 == 0
                  : kind == 1 ? i / 90 % 2 == 0
                  : kind == 2 ? i % 200 != 3
                              : i % 150 > 140;
        tn_bit_put(bits, i, on);
      }
      end = tn_pq_rle_put_bits(bits, n, bytes);
      assert_true((size_t)(end - bytes) <= tn_pq_rle_bound(n, 1));
      assert_true(tn_pq_rle_init(&rle, tn_slice_of(bytes, (size_t)(end - bytes)), 1));
      assert_int_equal(tn_pq_rle_get_bytes(&rle, n, back), n);
      for (int64_t i = 0; i < n; i++) {
        assert_int_equal(back[i], tn_bit_get(bits, i));
      }
    }
  }
}

static void rle__runs_are_short(void **state) {
  uint32_t values[1000];
  uint8_t bytes[2000];
  (void)state;
  fill_values(values, 1000, 0xff, 2, 1);
  assert_int_equal(tn_pq_rle_put(values, 1000, 8, bytes) - bytes, 3);
  values[0] ^= 1;  // one group, then a run
  assert_int_equal(tn_pq_rle_put(values, 1000, 8, bytes) - bytes, 9 + 3);
}

/* ------------------------------------------------------------------ dictionaries */

static tarn_env *env;

static int make_env(void **state) {
  (void)state;
  env = tn_test_env(1, (size_t)64 << 20);
  return 0;
}

static int free_env(void **state) {
  (void)state;
  tarn_env_free(env);
  return 0;
}

static void dictionary__numbers_values_as_they_come(void **state) {
  static const uint64_t values[] = {7, 0, 7, UINT64_MAX, 0, 9};
  static const uint32_t expected[] = {0, 1, 0, 2, 1, 3};
  tn_pq_dictionary d;
  uint32_t codes[6];
  int64_t done;
  tarn_error err;
  (void)state;
  tn_pq_dictionary_init(&d, env, TN_PQ_DICTIONARY_64, 8, 1000);
  assert_works(tn_pq_dictionary_add_64(&d, values, 6, codes, &done, &err), err);
  assert_int_equal(done, 6);
  assert_memory_equal(codes, expected, sizeof(codes));
  assert_int_equal(d.n, 4);
  assert_int_equal(d.page.len, 32);
  assert_int_equal(tn_load_le64(tn_pq_dictionary_get(&d, 2).data), UINT64_MAX);
  tn_pq_dictionary_reset(&d);
}

/* Many values, against what the codes must stand for; every kind grows its table several times. */
static void dictionary__codes_stand_for_their_values(void **state) {
  enum { N = 30000 };
  static uint32_t narrow[N], codes[N];
  static uint64_t wide[N];
  static char texts[N + 8][24]; /* views may be read past their ends */
  static tn_view views[N];
  tn_pq_dictionary d;
  int64_t done;
  tarn_error err;
  uint64_t seed = 4;
  (void)state;
  for (int i = 0; i < N; i++) {
    uint32_t v = next_random(&seed) % 9000;
    narrow[i] = v;
    wide[i] = v * 0x100000001u;
    int len = snprintf(texts[i], sizeof(texts[i]), "%.*s%u", (int)(v % 13), "common prefix", v);
    views[i] = (tn_view){(const uint8_t *)texts[i], len};
  }
  tn_pq_dictionary_init(&d, env, TN_PQ_DICTIONARY_32, 4, 1 << 20);
  assert_works(tn_pq_dictionary_add_32(&d, narrow, N, codes, &done, &err), err);
  assert_int_equal(done, N);
  for (int i = 0; i < N; i++) {
    assert_int_equal(tn_load_le32(tn_pq_dictionary_get(&d, codes[i]).data), narrow[i]);
  }
  assert_true(d.n > 8000 && d.n <= 9000);
  tn_pq_dictionary_reset(&d);
  tn_pq_dictionary_init(&d, env, TN_PQ_DICTIONARY_64, 8, 1 << 20);
  assert_works(tn_pq_dictionary_add_64(&d, wide, N, codes, &done, &err), err);
  for (int i = 0; i < N; i++) {
    assert_true(tn_load_le64(tn_pq_dictionary_get(&d, codes[i]).data) == wide[i]);
  }
  tn_pq_dictionary_reset(&d);
  tn_pq_dictionary_init(&d, env, TN_PQ_DICTIONARY_BYTES, 0, 1 << 20);
  assert_works(tn_pq_dictionary_add_bytes(&d, views, N, codes, &done, &err), err);
  for (int i = 0; i < N; i++) {
    assert_true(tn_slice_equal(tn_pq_dictionary_get(&d, codes[i]),
                               tn_slice_of(views[i].data, (size_t)views[i].len)));
  }
  assert_true(d.n <= 9000);
  tn_pq_dictionary_reset(&d);
}

static void dictionary__stops_at_its_size(void **state) {
  uint32_t values[100], codes[100];
  tn_pq_dictionary d;
  int64_t done;
  tarn_error err;
  (void)state;
  for (uint32_t i = 0; i < 100; i++) {
    values[i] = i;
  }
  tn_pq_dictionary_init(&d, env, TN_PQ_DICTIONARY_32, 4, 4 * 60);
  assert_works(tn_pq_dictionary_add_32(&d, values, 100, codes, &done, &err), err);
  assert_int_equal(done, 60);
  assert_int_equal(d.n, 60);
  assert_works(tn_pq_dictionary_add_32(&d, values, 60, codes, &done, &err), err);
  assert_int_equal(done, 60);
  tn_pq_dictionary_reset(&d);
}

/* ------------------------------------------------------------------ bounds */

static void bounds__of_floats_order_as_java_does(void **state) {
  static const double sorted[] = {-__builtin_inf(), -1e300,           -1, -0.0, 0.0, 1e-300, 5,
                                  __builtin_inf(),  __builtin_nan("")};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(sorted); i++) {
    for (size_t k = 0; k < TN_COUNT(sorted); k++) {
      double values[2] = {sorted[i], sorted[k]};
      float narrow[2] = {(float)sorted[i], (float)sorted[k]};
      uint64_t bits[2];
      uint32_t narrow_bits[2];
      tn_pq_write_bounds b = {0}, f = {0};
      memcpy(bits, values, sizeof(bits));
      memcpy(narrow_bits, narrow, sizeof(narrow_bits));
      tn_pq_bounds_add_64(&b, TN_PQ_BOUND_F64, bits, 2);
      tn_pq_bounds_add_32(&f, TN_PQ_BOUND_F32, narrow_bits, 2);
      assert_true(b.min == tn_pq_bounds_key(TN_PQ_BOUND_F64, (uint8_t *)&bits[i < k ? 0 : 1]));
      assert_true(b.max == tn_pq_bounds_key(TN_PQ_BOUND_F64, (uint8_t *)&bits[i < k ? 1 : 0]));
      assert_int_equal(tn_pq_bounds_have_nan(TN_PQ_BOUND_F64, &b), i == 8 || k == 8);
      assert_int_equal(tn_pq_bounds_have_nan(TN_PQ_BOUND_F32, &f), i == 8 || k == 8);
    }
  }
}

/* A NaN whose sign is set is no least value. */
static void bounds__a_negative_nan_is_the_greatest(void **state) {
  uint64_t bits[9];
  tn_pq_write_bounds b = {0};
  double one = 1;
  (void)state;
  for (int i = 0; i < 9; i++) {
    memcpy(&bits[i], &one, 8);
  }
  bits[6] = 0xfff8000000000001u;
  tn_pq_bounds_add_64(&b, TN_PQ_BOUND_F64, bits, 9);
  assert_true(b.min == tn_pq_bounds_key(TN_PQ_BOUND_F64, (uint8_t *)&bits[0]));
  assert_true(tn_pq_bounds_have_nan(TN_PQ_BOUND_F64, &b));
}

static void bounds__of_integers_are_exact(void **state) {
  uint64_t seed = 9;
  (void)state;
  for (int64_t n = 1; n < 40; n++) {
    uint64_t wide[40];
    uint32_t narrow[40];
    int64_t min = INT64_MAX, max = INT64_MIN;
    int32_t min32 = INT32_MAX, max32 = INT32_MIN;
    tn_pq_write_bounds b = {0}, f = {0};
    for (int64_t i = 0; i < n; i++) {
      wide[i] = (uint64_t)next_random(&seed) << 33 ^ next_random(&seed);
      narrow[i] = next_random(&seed) << 1;
      min = (int64_t)wide[i] < min ? (int64_t)wide[i] : min;
      max = (int64_t)wide[i] > max ? (int64_t)wide[i] : max;
      min32 = (int32_t)narrow[i] < min32 ? (int32_t)narrow[i] : min32;
      max32 = (int32_t)narrow[i] > max32 ? (int32_t)narrow[i] : max32;
    }
    tn_pq_bounds_add_64(&b, TN_PQ_BOUND_I64, wide, n);
    tn_pq_bounds_add_32(&f, TN_PQ_BOUND_I32, narrow, n);
    assert_true(b.min == min && b.max == max);
    assert_true(f.min == min32 && f.max == max32);
  }
}

static void bounds__of_decimals_are_signed(void **state) {
  static const uint8_t values[3][9] = {{0xff, 0, 0, 0, 0, 0, 0, 0, 1}, {0}, {0x7f}};
  tn_pq_write_bounds b = {0};
  (void)state;
  for (int i = 0; i < 3; i++) {
    tn_pq_bounds_add_bytes(&b, TN_PQ_BOUND_FIXED, tn_slice_of(values[(i + 1) % 3], 9));
  }
  assert_memory_equal(b.min_bytes.data, values[0], 9);
  assert_memory_equal(b.max_bytes.data, values[2], 9);
}

typedef struct cut_case {
  const char *value;
  bool is_text;
  const char *min, *max; /* of 4 bytes */
} cut_case;

static void bounds__long_ones_are_cut(void **state) {
  static const cut_case cases[] = {
      {"abcd", true, "abcd", "abcd"},
      {"abcde", true, "abcd", "abce"},
      {"abc\xc3\xa9", true, "abc", "abd"},
      {"ab\xc3\xa9xx", true, "ab\xc3\xa9", "ab\xc3\xaa"},
      {"abc\x7fzz", true, "abc\x7f", "abc\xc2\x80"},
      {"a\xef\xbf\xbfzz", true, "a\xef\xbf\xbf", "a\xf0\x90\x80\x80"},
      {"a\xed\x9f\xbfzz", true, "a\xed\x9f\xbf", "a\xee\x80\x80"},
      {"\xf4\x8f\xbf\xbfzz", true, "\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbfzz"},
      {"a\xf4\x8f\xbf\xbf", true, "a", "b"},
      {"a\xff\xff\xffzz", true, "a\xff\xff\xff", "b"},
      {"abcde", false, "abcd", "abce"},
      {"ab\xff\xffzz", false, "ab\xff\xff", "ac"},
      {"\xff\xff\xff\xffz", false, "\xff\xff\xff\xff", "\xff\xff\xff\xffz"},
      {"", true, "", ""},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    uint8_t out[8];
    tn_slice value = tn_slice_text(cases[i].value);
    tn_slice min = tn_pq_bound_cut_min(value, 4, cases[i].is_text);
    tn_slice max = tn_pq_bound_cut_max(value, 4, cases[i].is_text, out);
    assert_true(tn_slice_is(min, cases[i].min));
    assert_true(tn_slice_is(max, cases[i].max));
    assert_true(tn_slice_compare(min, value) <= 0);
    assert_true(tn_slice_compare(max, value) >= 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rle__codes_of_every_width_are_taken_again),
      cmocka_unit_test(rle__levels_of_every_width_are_taken_again),
      cmocka_unit_test(rle__bits_are_taken_again),
      cmocka_unit_test(rle__runs_are_short),
      cmocka_unit_test(dictionary__numbers_values_as_they_come),
      cmocka_unit_test(dictionary__codes_stand_for_their_values),
      cmocka_unit_test(dictionary__stops_at_its_size),
      cmocka_unit_test(bounds__of_floats_order_as_java_does),
      cmocka_unit_test(bounds__a_negative_nan_is_the_greatest),
      cmocka_unit_test(bounds__of_integers_are_exact),
      cmocka_unit_test(bounds__of_decimals_are_signed),
      cmocka_unit_test(bounds__long_ones_are_cut),
  };
  return cmocka_run_group_tests(tests, make_env, free_env);
}
