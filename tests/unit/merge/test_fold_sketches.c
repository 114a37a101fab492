/* test_fold_sketches.c - unions of stored HLL and theta sketches. */
#include "base/bytes.h"
#include "merge/hll_sketch.h"
#include "merge/theta_sketch.h"
#include "stored_sets.h"
#include "support/files.h"
#include "support/test.h"
#include "support/torture.h"

static void hll__is_as_java_writes_it(void **state) {
  (void)state;
  each_stored_union("hll", &tn_fold_hll_sketch, 13, assert_united);
  each_stored_union("hll", &tn_fold_hll_sketch, 13, assert_united_from_behind);
}

static void theta__is_as_java_writes_it(void **state) {
  (void)state;
  each_stored_union("theta", &tn_fold_theta_sketch, 7, assert_united);
  each_stored_union("theta", &tn_fold_theta_sketch, 7, assert_united_from_behind);
}

static void sketches__survive_bytes_that_are_cut_off(void **state) {
  (void)state;
  each_stored_union("hll", &tn_fold_hll_sketch, 13, assert_survives_cuts);
  each_stored_union("theta", &tn_fold_theta_sketch, 7, assert_survives_cuts);
}

static void sketches__survive_failing_allocations(void **state) {
  (void)state;
  each_stored_union("hll", &tn_fold_hll_sketch, 13, assert_survives_torture);
  each_stored_union("theta", &tn_fold_theta_sketch, 7, assert_survives_torture);
}

/* The hashes step, 2 step ... n step as a compact sketch in exact mode; malloc'ed. */
static stored_bytes theta_of(uint64_t step, uint32_t n) {
  stored_bytes made = {malloc(16 + 8 * (size_t)n), 16 + 8 * (size_t)n};
  static const uint8_t head[8] = {2, 3, 3, 0, 0, 0x1A, 0xCC, 0x93};
  assert_non_null(made.data);
  memcpy(made.data, head, 8);
  tn_store_le32(made.data + 8, n);
  tn_store_le32(made.data + 12, 0x3F800000);
  for (uint32_t i = 0; i < n; i++) {
    tn_store_le64(made.data + 16 + 8 * (size_t)i, step * (i + 1));
  }
  return made;
}

static void theta__keeps_4096_hashes(void **state) {
  tarn_env *env = tn_test_env(0, 0);
  tarn_error err = {0};
  stored_bytes inputs[2] = {theta_of(2, 4000), theta_of(3, 4000)}, out;
  (void)state;
  assert_works(fold_stored(env, &tn_fold_theta_sketch, false, inputs, NULL, 2, &out, &err), err);
  assert_int_equal(out.len, 24 + 8 * 4096);
  assert_int_equal(out.data[0], 3);
  assert_int_equal(tn_load_le32(out.data + 8), 4096);
  /* Of every six numbers there are four. */
  assert_int_equal(tn_load_le64(out.data + 16), 6144 + 2);
  assert_int_equal(tn_load_le64(out.data + 24), 2);
  assert_int_equal(tn_load_le64(out.data + 24 + 8 * 4095), 6144);
  free(out.data);
  free(inputs[0].data);
  free(inputs[1].data);
  tarn_env_free(env);
}

/* Bytes of hex with one replaced, through decode(): CORRUPT (or what is given) with these words. */
typedef struct damage {
  const char *hex;
  size_t at;
  uint8_t byte;
  const char *words;
} damage;

#define THETA "02030300001acc93020000000000803f01000000000000000200000000000000"
#define THETA_ONE "01030300003acc930100000000000000"
#define HLL_LIST "0201070c030802002bf2fb06862ff90d"
#define HLL_SET "0301070c05080001010000002bf2fb06"
#define HLL_ARRAY                                                                              \
  "0a010704000800020000000000000040000000000000304000000000000000000f00000001000000f000000000" \
  "00000001000080"

static void theta__refuses_damage(void **state) {
  static const damage damages[] = {
      {THETA, 1, 5, "version 5"},     {THETA, 2, 4, "family"},   {THETA, 6, 0, "seed hash 9300"},
      {THETA, 8, 3, "cut off"},       {THETA, 23, 0x80, "hash"}, {THETA, 0, 7, "preamble"},
      {THETA, 0, 3, "cut off"},       {THETA_ONE, 8, 0, "hash"}, {THETA, 1, 4, "compressed"},
      {THETA, 5, 0x02, "not a hash"},
  };
  tn_mem mem;
  tn_theta sketch;
  (void)state;
  tn_mem_init(&mem, NULL, SIZE_MAX);
  tn_theta_init(&sketch, &mem);
  for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++) {
    tarn_error err = {0};
    size_t n;
    uint8_t *bytes = tn_test_hex(damages[i].hex, &n);
    tarn_status st;
    assert_works(tn_theta_decode(&sketch, tn_slice_of(bytes, n), &err), err);
    bytes[damages[i].at] = damages[i].byte;
    st = tn_theta_decode(&sketch, tn_slice_of(bytes, n), &err);
    /* Places of a table may be stale. */
    if (damages[i].byte != 0x02 &&
        (st != TARN_E_CORRUPT || strstr(err.message, damages[i].words) == NULL)) {
      fail_msg("%s: byte %zu = %d: %d %s", damages[i].hex, damages[i].at, damages[i].byte, (int)st,
               err.message);
    }
    free(bytes);
  }
  tn_theta_reset(&sketch);
}

static void hll__refuses_damage(void **state) {
  static const damage damages[] = {
      {HLL_LIST, 0, 3, "preamble"},    {HLL_LIST, 1, 2, "preamble"},
      {HLL_LIST, 2, 8, "preamble"},    {HLL_LIST, 3, 3, "lgK"},
      {HLL_LIST, 3, 22, "lgK"},        {HLL_LIST, 6, 3, "list"},
      {HLL_LIST, 6, 8, "list"},        {HLL_LIST, 7, 3, "preamble"},
      {HLL_LIST, 11, 0, "value"},      {HLL_SET, 3, 7, "number of coupons"},
      {HLL_SET, 8, 2, "cut off"},      {HLL_SET, 5, 0, "places"},
      {HLL_ARRAY, 7, 14, "type"},      {HLL_ARRAY, 36, 2, "cut off"},
      {HLL_ARRAY, 36, 0, "exception"}, {HLL_ARRAY, 40, 0, "exception"},
      {HLL_ARRAY, 6, 64, "beyond 63"}, {HLL_ARRAY, 7, 10, "cut off"},
      {HLL_ARRAY, 48, 2, "exception"},
  };
  tn_mem mem;
  tn_hll sketch;
  (void)state;
  tn_mem_init(&mem, NULL, SIZE_MAX);
  tn_hll_init(&sketch, &mem);
  for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++) {
    tarn_error err = {0};
    size_t n;
    uint8_t *bytes = tn_test_hex(damages[i].hex, &n);
    tarn_status st;
    assert_works(tn_hll_decode(&sketch, tn_slice_of(bytes, n), &err), err);
    bytes[damages[i].at] = damages[i].byte;
    st = tn_hll_decode(&sketch, tn_slice_of(bytes, n), &err);
    if (st != TARN_E_CORRUPT || strstr(err.message, damages[i].words) == NULL) {
      fail_msg("%s: byte %zu = %d: %d %s", damages[i].hex, damages[i].at, damages[i].byte, (int)st,
               err.message);
    }
    free(bytes);
  }
  tn_hll_reset(&sketch);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hll__is_as_java_writes_it),
      cmocka_unit_test(theta__is_as_java_writes_it),
      cmocka_unit_test(sketches__survive_bytes_that_are_cut_off),
      cmocka_unit_test(sketches__survive_failing_allocations),
      cmocka_unit_test(theta__keeps_4096_hashes),
      cmocka_unit_test(theta__refuses_damage),
      cmocka_unit_test(hll__refuses_damage),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
