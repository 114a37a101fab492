/* test_map.c - the hash map: finding, order, hashing. */
#include "base/map.h"

#include "base/checked.h"
#include "support/test.h"
#include "support/torture.h"

static tn_mem mem;

static int make_mem(void **state) {
  (void)state;
  tn_mem_init(&mem, NULL, 1 << 20);
  return 0;
}

static void put__finds_again_and_keeps_order(void **state) {
  enum { N = 20000 };
  static int32_t keys[N];
  tn_map map;
  tarn_error err;
  (void)state;
  tn_map_init(&map, &mem);
  assert_null(tn_map_find(&map, tn_slice_text("x")));
  for (int32_t i = 0; i < N; i++) {
    tn_map_entry *entry;
    bool is_new = false;
    keys[i] = i * 7919;
    assert_works(tn_map_put(&map, tn_slice_of(&keys[i], 4), &entry, &is_new, &err), err);
    assert_true(is_new);
    assert_null(entry->value.ptr);
    entry->value.num = i;
  }
  for (int32_t i = 0; i < N; i++) {
    tn_map_entry *entry;
    bool is_new = true;
    assert_int_equal(tn_map_find(&map, tn_slice_of(&keys[i], 4))->value.num, i);
    assert_works(tn_map_put(&map, tn_slice_of(&keys[i], 4), &entry, &is_new, &err), err);
    assert_false(is_new);
    assert_int_equal(map.entries[i].value.num, i);
  }
  assert_int_equal(map.count, N);
  assert_null(tn_map_find(&map, tn_slice_text("absent")));
  tn_map_reset(&map);
  assert_int_equal(map.count, 0);
}

static void keys__of_any_length_differ(void **state) {
  uint8_t bytes[80];
  tn_map map;
  tarn_error err;
  (void)state;
  memset(bytes, 0, sizeof(bytes));
  tn_map_init(&map, &mem);
  for (size_t n = 0; n <= sizeof(bytes); n++) {
    tn_map_entry *entry;
    bool is_new;
    assert_works(tn_map_put(&map, tn_slice_of(bytes, n), &entry, &is_new, &err), err);
    assert_true(is_new);
  }
  tn_map_reset(&map);
}

static void hash__sees_every_byte(void **state) {
  uint8_t bytes[70] = {0};
  (void)state;
  for (size_t n = 1; n <= sizeof(bytes); n++) {
    uint64_t base = tn_hash_bytes(bytes, n);
    for (size_t i = 0; i < n; i++) {
      bytes[i] ^= 1;
      assert_true(tn_hash_bytes(bytes, n) != base);
      bytes[i] ^= 1;
    }
    assert_true(tn_hash_bytes(bytes, n) == base);
  }
}

static tarn_status fill(void *ctx, tarn_env *env, tarn_error *err) {
  static int32_t keys[500];
  tarn_status st = TARN_OK;
  tn_map map;
  (void)ctx;
  tn_map_init(&map, &env->mem);
  for (int32_t i = 0; i < 500 && st == TARN_OK; i++) {
    tn_map_entry *entry;
    keys[i] = i;
    st = tn_map_put(&map, tn_slice_of(&keys[i], 4), &entry, NULL, err);
  }
  for (size_t i = 0; i < map.count; i++) { /* what is in stays in */
    assert_non_null(tn_map_find(&map, tn_slice_of(&keys[i], 4)));
  }
  tn_map_reset(&map);
  return st;
}

static void map__survives_failing_allocations(void **state) {
  (void)state;
  assert_true(tn_torture(fill, NULL, TARN_OK) > 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(put__finds_again_and_keeps_order),
      cmocka_unit_test(keys__of_any_length_differ),
      cmocka_unit_test(hash__sees_every_byte),
      cmocka_unit_test(map__survives_failing_allocations),
  };
  return cmocka_run_group_tests_name("map", tests, make_mem, NULL);
}
