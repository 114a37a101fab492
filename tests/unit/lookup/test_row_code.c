/* test_row_code.c - rows as bytes and back. */
#include "column/equal.h"
#include "lookup/row_code.h"
#include "support/random_vec.h"
#include "support/test.h"
#include "support/torture.h"

static tarn_status encode(const tn_vec *vec, int64_t n, tn_buf *out, tarn_error *err) {
  for (int64_t i = 0; i < n; i++) {
    TN_TRY(tn_row_put(out, vec, i, err));
  }
  return TARN_OK;
}

static tarn_status decode(tarn_env *env, const tn_type *type, tn_row_cursor from, int64_t n,
                          tn_vec *out, tarn_error *err) {
  memset(out, 0, sizeof(*out));
  TN_TRY(tn_vec_init(env, type, out, err));
  TN_TRY(tn_row_vec_begin(env, n / 2, out, err));
  for (int64_t i = 0; i < n; i++) {
    TN_TRY(tn_row_take(env, &from, false, out, err));
  }
  assert_ptr_equal(from.at, from.end);
  return tn_row_vec_end(env, out, err);
}

/* Every type there is, with nulls at every depth. */
static void row_code__gives_back_what_was_put(void **state) {
  tarn_env *env = tn_test_env(1, 0);
  tarn_error err;
  (void)state;
  for (uint64_t seed = 1; seed <= 400; seed++) {
    random_source r = {.state = seed};
    tn_arena arena;
    tn_vec vec = {0}, back = {0};
    tn_type type;
    tn_buf buf;
    tn_row_cursor at;
    int64_t n = 1 + random_below(&r, 60);
    tn_arena_init(&arena, &env->mem, 1u << 24);
    tn_buf_init(&buf, &env->mem, 1u << 26);
    assert_true(random_type(&arena, &r, 3, &type));
    type.is_nullable = true;
    assert_works(random_vec(env, &type, n, &r, &vec, &err), err);
    assert_works(tn_vec_flatten(env, &vec, &err), err);
    assert_works(encode(&vec, n, &buf, &err), err);
    assert_works(decode(env, &type, (tn_row_cursor){buf.data, buf.data + buf.len}, n, &back, &err),
                 err);
    assert_int_equal(back.length, n);
    assert_works(tn_vec_validate(&back, &err), err);
    for (int64_t i = 0; i < n; i++) {
      bool is_equal;
      assert_works(tn_vec_rows_equal(&env->mem, &vec, i, &back, i, &is_equal, &err), err);
      assert_true(is_equal);
    }
    at = (tn_row_cursor){buf.data, buf.data + buf.len};
    for (int64_t i = 0; i < n; i++) {
      assert_works(tn_row_skip(&at, false, &back, &err), err);
    }
    assert_ptr_equal(at.at, at.end);
    tn_vec_reset(env, &vec);
    tn_vec_reset(env, &back);
    tn_buf_reset(&buf);
    tn_arena_reset(&arena);
  }
  tarn_env_free(env);
}

/* Bytes that end early, anywhere, are refused; nothing is read behind them. */
static void row_code__refuses_what_is_cut_off(void **state) {
  tarn_env *env = tn_test_env(1, 0);
  tarn_error err;
  (void)state;
  for (uint64_t seed = 1; seed <= 60; seed++) {
    random_source r = {.state = seed};
    tn_arena arena;
    tn_vec vec = {0};
    tn_type type;
    tn_buf buf;
    tn_arena_init(&arena, &env->mem, 1u << 24);
    tn_buf_init(&buf, &env->mem, 1u << 26);
    assert_true(random_type(&arena, &r, 3, &type));
    assert_works(random_vec(env, &type, 1, &r, &vec, &err), err);
    assert_works(tn_vec_flatten(env, &vec, &err), err);
    assert_works(encode(&vec, 1, &buf, &err), err);
    for (size_t n = 0; n < buf.len && n < 200; n++) {
      uint8_t *copy = malloc(n + 1);
      tn_row_cursor at = {copy, copy + n};
      tn_vec back = {0};
      memcpy(copy, buf.data, n);
      assert_works(tn_vec_init(env, &type, &back, &err), err);
      assert_int_equal(tn_row_take(env, &at, false, &back, &err), TARN_E_CORRUPT);
      at = (tn_row_cursor){copy, copy + n};
      assert_int_equal(tn_row_skip(&at, false, &back, &err), TARN_E_CORRUPT);
      tn_vec_reset(env, &back);
      free(copy);
    }
    tn_vec_reset(env, &vec);
    tn_buf_reset(&buf);
    tn_arena_reset(&arena);
  }
  tarn_env_free(env);
}

/* All NaN are one key, -0.0 and 0.0 are two. */
static void row_code__keys_are_equal_as_keys_are(void **state) {
  static const uint64_t values[] = {0x7ff8000000000000u, 0xfff8000000000001u, 0,
                                    0x8000000000000000u};
  tarn_env *env = tn_test_env(1, 0);
  const tn_type type = {.root = TN_DOUBLE};
  tn_vec vec = {0};
  tn_buf buf;
  tarn_error err;
  (void)state;
  tn_buf_init(&buf, &env->mem, 1u << 16);
  assert_works(tn_vec_init(env, &type, &vec, &err), err);
  assert_works(tn_vec_alloc(env, &vec, 4, 0, &err), err);
  memcpy(vec.values, values, sizeof(values));
  for (int64_t i = 0; i < 4; i++) {
    assert_works(tn_row_put_key(&buf, &vec, i, &err), err);
  }
  assert_int_equal(buf.len, 32);
  assert_memory_equal(buf.data, buf.data + 8, 8);
  assert_memory_not_equal(buf.data + 16, buf.data + 24, 8);
  tn_buf_reset(&buf);
  tn_vec_reset(env, &vec);
  tarn_env_free(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(row_code__gives_back_what_was_put),
      cmocka_unit_test(row_code__refuses_what_is_cut_off),
      cmocka_unit_test(row_code__keys_are_equal_as_keys_are),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
