/* test_buf.c - growth and limit of buffers. */
#include "base/buf.h"

#include "base/checked.h"
#include "support/test.h"
#include "support/torture.h"

static tn_mem mem;

static int make_mem(void **state) {
  (void)state;
  tn_mem_init(&mem, NULL, 1 << 20);
  return 0;
}

static void append__grows_and_keeps(void **state) {
  tn_buf buf;
  tarn_error err;
  (void)state;
  tn_buf_init(&buf, &mem, 1 << 20);
  for (int i = 0; i < 10000; i++) {
    uint8_t byte = (uint8_t)i;
    assert_works(tn_buf_append(&buf, &byte, 1, &err), err);
  }
  assert_int_equal(buf.len, 10000);
  for (int i = 0; i < 10000; i++) {
    assert_int_equal(buf.data[i], (uint8_t)i);
  }
  assert_works(tn_buf_append(&buf, NULL, 0, &err), err);
  tn_buf_reset(&buf);
  assert_int_equal(buf.len, 0);
  assert_works(tn_buf_text(&buf, "again", &err), err);
  assert_true(tn_slice_is(tn_buf_slice(&buf), "again"));
  tn_buf_reset(&buf);
}

static void append__stops_at_the_limit(void **state) {
  tn_buf buf;
  tarn_error err;
  (void)state;
  tn_buf_init(&buf, &mem, 10);
  assert_works(tn_buf_text(&buf, "0123456789", &err), err);
  assert_int_equal(tn_buf_append(&buf, "x", 1, &err), TARN_E_LIMIT);
  assert_contains(err.message, "10 bytes");
  assert_int_equal(tn_buf_reserve(&buf, SIZE_MAX, &err), TARN_E_LIMIT);
  assert_true(tn_slice_is(tn_buf_slice(&buf), "0123456789"));
  tn_buf_reset(&buf);
}

static void printf__appends(void **state) {
  tn_buf buf;
  tarn_error err;
  (void)state;
  tn_buf_init(&buf, &mem, 300);
  assert_works(tn_buf_printf(&buf, &err, "%d,", 1), err);
  assert_works(tn_buf_printf(&buf, &err, "%200s", "x"), err);
  assert_int_equal(buf.len, 202);
  assert_int_equal(tn_buf_printf(&buf, &err, "%200s", "x"), TARN_E_LIMIT);
  assert_int_equal(buf.len, 202);
  tn_buf_reset(&buf);
}

static tarn_status fill(void *ctx, tarn_env *env, tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_buf buf;
  (void)ctx;
  tn_buf_init(&buf, &env->mem, 1 << 20);
  for (int i = 0; i < 1000 && st == TARN_OK; i++) {
    st = tn_buf_printf(&buf, err, "%d", i);
  }
  tn_buf_reset(&buf);
  return st;
}

static void buf__survives_failing_allocations(void **state) {
  (void)state;
  assert_true(tn_torture(fill, NULL, TARN_OK) > 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(append__grows_and_keeps),
      cmocka_unit_test(append__stops_at_the_limit),
      cmocka_unit_test(printf__appends),
      cmocka_unit_test(buf__survives_failing_allocations),
  };
  return cmocka_run_group_tests_name("buf", tests, make_mem, NULL);
}
