/* test_fold_bitmaps.c - unions of stored roaring bitmaps. */
#include "merge/roaring64.h"
#include "stored_sets.h"
#include "support/files.h"
#include "support/test.h"
#include "support/torture.h"

static void rbm32__is_as_java_writes_it(void **state) {
  (void)state;
  each_stored_union("rbm32", &tn_fold_rbm32, 4, assert_united);
  each_stored_union("rbm32", &tn_fold_rbm32, 4, assert_united_from_behind);
}

static void rbm64__is_as_java_writes_it(void **state) {
  (void)state;
  each_stored_union("rbm64", &tn_fold_rbm64, 11, assert_united);
  each_stored_union("rbm64", &tn_fold_rbm64, 11, assert_united_from_behind);
}

static void bitmaps__survive_bytes_that_are_cut_off(void **state) {
  (void)state;
  each_stored_union("rbm32", &tn_fold_rbm32, 4, assert_survives_cuts);
  each_stored_union("rbm64", &tn_fold_rbm64, 11, assert_survives_cuts);
}

static void bitmaps__survive_failing_allocations(void **state) {
  (void)state;
  each_stored_union("rbm32", &tn_fold_rbm32, 4, assert_survives_torture);
  each_stored_union("rbm64", &tn_fold_rbm64, 11, assert_survives_torture);
}

#define EMPTY64 "00"
#define SEVEN64                                                   \
  "0101000000000000000400000000000000000000000000000000000100000" \
  "0fe01000000010201000000070001000000000000000000000000000000"

/* Steps as in fold_test.h; results as hex, "-" for null. */
static void assert_steps(bool ignores_retract, const char *const *inputs, const uint8_t *ops,
                         int32_t n, const char *expected) {
  tarn_env *env = tn_test_env(0, 0);
  tarn_error err = {0};
  stored_bytes sets[MAX_SETS], out;
  char text[512] = "-";
  for (int32_t i = 0; i < n; i++) {
    sets[i] = (stored_bytes){NULL, 0};
    if (inputs[i] != NULL) {
      sets[i].data = tn_test_hex(inputs[i], &sets[i].len);
    }
  }
  assert_works(fold_stored(env, &tn_fold_rbm64, ignores_retract, sets, ops, n, &out, &err), err);
  for (size_t i = 0; i < out.len; i++) {
    (void)snprintf(text + 2 * i, 3, "%02x", out.data[i]);
  }
  assert_string_equal(text, expected);
  free(out.data);
  for (int32_t i = 0; i < n; i++) {
    free(sets[i].data);
  }
  tarn_env_free(env);
}

static void stored_sets__skip_nulls_and_take_one_as_it_is(void **state) {
  const char *none[2] = {NULL, NULL}, *one[3] = {NULL, "c0ffee", NULL};
  const char *two[3] = {EMPTY64, SEVEN64, NULL};
  uint8_t set[3] = {TN_FOLD_ADD, TN_FOLD_SET, TN_FOLD_SET};
  uint8_t retract[2] = {TN_FOLD_ADD, TN_FOLD_RETRACT};
  (void)state;
  assert_steps(false, none, NULL, 0, "-");
  assert_steps(false, none, NULL, 2, "-");
  assert_steps(false, one, NULL, 3, "c0ffee"); /* never looked at */
  assert_steps(false, two, NULL, 3, SEVEN64);
  assert_steps(false, two, set, 2, SEVEN64);
  assert_steps(false, two, set, 3, "-");
  assert_steps(true, two, retract, 2, EMPTY64);
}

static void stored_sets__refuse_retracts_and_other_types(void **state) {
  tarn_env *env = tn_test_env(0, 0);
  tarn_error err = {0};
  stored_bytes input = {(uint8_t *)(uintptr_t)"", 1}, out;
  uint8_t retract[1] = {TN_FOLD_RETRACT};
  tn_field field = {.name = "v", .type = {.root = TN_VARCHAR, .length = INT32_MAX}};
  tn_fold_spec spec = {.function = &tn_fold_rbm32, .field = &field};
  (void)state;
  assert_int_equal(fold_stored(env, &tn_fold_rbm64, false, &input, retract, 1, &out, &err),
                   TARN_E_INVALID);
  assert_contains(err.message, "rbm64");
  assert_int_equal(tn_fold_rbm32.check(&spec, &err), TARN_E_INVALID);
  assert_string_equal(
      err.message, "Data type for roaring bitmap column must be 'VarBinaryType' but was 'STRING'.");
  tarn_env_free(env);
}

static void roaring64__refuses_damage(void **state) {
  static const struct {
    size_t at;
    uint8_t byte;
    const char *words;
  } damages[] = {
      {0, 2, "not a 64-bit roaring bitmap"},
      {1, 0, "not a number of keys"},
      {1, 2, "fewer leaves than keys"},
      {9, 5, "not a node"},
      {9, 0, "not a node"},
      {19, 1, "container of its own"},
      {27, 0, "not a block"},
      {31, 0xFF, "not a block"},
      {32, 0, "container of its own"},
      {36, 2, "not a slot"},
      {36, 0, "container of its own"},
      {37, 3, "not a container"},
      {38, 0, "not a container"},
      {38, 200, "cut off in a container"},
      {38, 2, "out of order or number"},
      {56, 1, "the last slot"},
  };
  tn_mem mem;
  tn_roaring64 set;
  size_t n;
  uint8_t *bytes = tn_test_hex(SEVEN64, &n);
  (void)state;
  tn_mem_init(&mem, NULL, SIZE_MAX);
  tn_roaring64_init(&set, &mem);
  for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++) {
    tarn_error err = {0};
    uint8_t whole = bytes[damages[i].at];
    tarn_status st;
    bytes[damages[i].at] = damages[i].byte;
    st = tn_roaring64_decode(&set, tn_slice_of(bytes, n), &err);
    if (st != TARN_E_CORRUPT || strstr(err.message, damages[i].words) == NULL) {
      fail_msg("byte %zu = %d: %d %s", damages[i].at, damages[i].byte, (int)st, err.message);
    }
    bytes[damages[i].at] = whole;
  }
  bytes[27] = 2;
  assert_int_equal(tn_roaring64_decode(&set, tn_slice_of(bytes, n), NULL), TARN_E_UNSUPPORTED);
  free(bytes);
  tn_roaring64_reset(&set);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rbm32__is_as_java_writes_it),
      cmocka_unit_test(rbm64__is_as_java_writes_it),
      cmocka_unit_test(bitmaps__survive_bytes_that_are_cut_off),
      cmocka_unit_test(bitmaps__survive_failing_allocations),
      cmocka_unit_test(stored_sets__skip_nulls_and_take_one_as_it_is),
      cmocka_unit_test(stored_sets__refuse_retracts_and_other_types),
      cmocka_unit_test(roaring64__refuses_damage),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
