/* room: merge */
/* Unions of stored bitmaps and sketches: a byte for the function, two for the length of the first
 * value, both values. What is written must be read again, and united with itself stay what it is.
 */
#include <stdlib.h>

#include "base/bytes.h"
#include "merge/fold.h"

static tarn_status unite(tarn_env *env, const tn_fold_function *function, tn_slice a, tn_slice b,
                         bool is_reversed, tn_vec *out) {
  static const tn_field field = {
      .name = "v", .type = {.root = TN_VARBINARY, .is_nullable = true, .length = INT32_MAX}};
  tn_fold_spec spec = {.function = function, .field = &field};
  tn_vec vec = {0};
  const tn_vec *sources[1] = {&vec};
  static const uint32_t groups[2] = {0, 2};
  static const tn_row_ref rows[2] = {{0, 0}, {0, 1}};
  const uint8_t ops[2] = {TN_FOLD_ADD, is_reversed ? TN_FOLD_ADD_REVERSED : TN_FOLD_ADD};
  tn_fold_steps steps = {.n_groups = 1, .groups = groups, .rows = rows, .ops = ops};
  tn_fold_input in = {.env = env, .spec = &spec, .sources = sources, .n_sources = 1};
  tarn_status st = tn_vec_init(env, &field.type, &vec, NULL);
  if (st == TARN_OK) {
    st = tn_vec_alloc(env, &vec, 2, a.len + b.len, NULL);
  }
  if (st != TARN_OK) {
    abort();
  }
  memcpy(vec.values, a.data, a.len);
  memcpy((uint8_t *)vec.values + a.len, b.data, b.len);
  vec.offsets[1] = (int32_t)a.len;
  vec.offsets[2] = (int32_t)(a.len + b.len);
  st = function->fold(&in, &steps, out, NULL);
  tn_vec_reset(env, &vec);
  if (st != TARN_OK && st != TARN_E_CORRUPT && st != TARN_E_UNSUPPORTED && st != TARN_E_LIMIT) {
    abort();
  }
  return st;
}

static void must_unite_with_itself(tarn_env *env, const tn_fold_function *function,
                                   const tn_vec *vec, tn_vec *out) {
  tn_slice set = tn_vec_bytes(vec, 0);
  if (unite(env, function, set, set, false, out) != TARN_OK) {
    abort();
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const tn_fold_function *const functions[4] = {&tn_fold_rbm32, &tn_fold_rbm64,
                                                       &tn_fold_hll_sketch, &tn_fold_theta_sketch};
  const tn_fold_function *function;
  tarn_env *env = NULL;
  tn_vec out = {0}, again = {0};
  size_t len;
  if (size < 3 || tarn_env_create(NULL, &env, NULL) != TARN_OK) {
    return 0;
  }
  function = functions[data[0] & 3];
  len = tn_load_le16(data + 1);
  len = len < size - 3 ? len : size - 3;
  if (unite(env, function, tn_slice_of(data + 3, len), tn_slice_of(data + 3 + len, size - 3 - len),
            (data[0] & 4) != 0, &out) == TARN_OK) {
    must_unite_with_itself(env, function, &out, &again);
    must_unite_with_itself(env, function, &again, &out);
    /* Sets of coupons find other places each time. */
    if (function != &tn_fold_hll_sketch &&
        !tn_slice_equal(tn_vec_bytes(&out, 0), tn_vec_bytes(&again, 0))) {
      abort();
    }
    tn_vec_reset(env, &again);
  }
  tn_vec_reset(env, &out);
  tarn_env_free(env);
  return 0;
}
