/* fold_sketches.c - hll_sketch and theta_sketch: unions of stored sketches.
 *
 * Rule: org.apache.paimon.mergetree.compact.aggregate.{FieldHllSketchAgg, FieldThetaSketchAgg};
 * spec: merge-engines, 6.3.
 */
#include "merge/fold_bytes.h"
#include "merge/hll_sketch.h"
#include "merge/theta_sketch.h"

/* ------------------------------------------------------------------ hll_sketch */

/* The accumulator as it is stored: Java writes it after each step, and reading it again puts the
 * coupons of a set into other places. */
typedef struct stored_hll {
  tn_buf bytes;
} stored_hll;

static tarn_status load_hll(void *state, tarn_env *env, tn_slice value, tarn_error *err) {
  stored_hll *set = state;
  tn_buf_reset(&set->bytes);
  tn_buf_init(&set->bytes, &env->mem, INT32_MAX);
  return tn_buf_append(&set->bytes, value.data, value.len, err);
}

static tarn_status unite_hll(void *state, tarn_env *env, tn_slice value, bool is_reversed,
                             tarn_error *err) {
  stored_hll *set = state;
  tarn_status st;
  tn_slice old = tn_buf_slice(&set->bytes);
  tn_hll base, other;
  tn_hll_init(&base, &env->mem);
  tn_hll_init(&other, &env->mem);
  TN_TRY_TO(done, tn_hll_decode(&base, is_reversed ? old : value, err));
  TN_TRY_TO(done, tn_hll_decode(&other, is_reversed ? value : old, err));
  TN_TRY_TO(done, tn_hll_unite(&base, &other, err));
  set->bytes.len = 0;
  st = tn_hll_encode(&base, &set->bytes, err);
done:
  tn_hll_reset(&base);
  tn_hll_reset(&other);
  return st;
}

static tarn_status store_hll(void *state, tn_buf *out, tarn_error *err) {
  const stored_hll *set = state;
  return tn_buf_append(out, set->bytes.data, set->bytes.len, err);
}

static void reset_hll(void *state, tarn_env *env) {
  (void)env;
  tn_buf_reset(&((stored_hll *)state)->bytes);
}

static tarn_status check_hll(const tn_fold_spec *spec, tarn_error *err) {
  return tn_fold_check_varbinary(spec, "hll sketch", err);
}

static tarn_status fold_hll(const tn_fold_input *in, const tn_fold_steps *steps, tn_vec *out,
                            tarn_error *err) {
  static const tn_stored_set_ops ops = {.what = "hll_sketch",
                                        .n_bytes = sizeof(stored_hll),
                                        .load = load_hll,
                                        .unite = unite_hll,
                                        .store = store_hll,
                                        .reset = reset_hll};
  return tn_fold_stored_sets(in, steps, &ops, out, err);
}

const tn_fold_function tn_fold_hll_sketch = {
    .name = "hll_sketch", .check = check_hll, .fold = fold_hll, .adds_first_as_it_is = true};

/* ------------------------------------------------------------------ theta_sketch */

static tarn_status load_theta(void *state, tarn_env *env, tn_slice value, tarn_error *err) {
  tn_theta *sketch = state;
  sketch->mem = &env->mem;
  return tn_theta_decode(sketch, value, err);
}

/* The order of the two does not matter. */
static tarn_status unite_theta(void *state, tarn_env *env, tn_slice value, bool is_reversed,
                               tarn_error *err) {
  tarn_status st;
  tn_theta other;
  (void)is_reversed;
  tn_theta_init(&other, &env->mem);
  st = tn_theta_decode(&other, value, err);
  if (st == TARN_OK) {
    st = tn_theta_unite(state, &other, err);
  }
  tn_theta_reset(&other);
  return st;
}

static tarn_status store_theta(void *state, tn_buf *out, tarn_error *err) {
  return tn_theta_encode(state, out, err);
}

static void reset_theta(void *state, tarn_env *env) {
  (void)env;
  tn_theta_reset(state);
}

static tarn_status check_theta(const tn_fold_spec *spec, tarn_error *err) {
  return tn_fold_check_varbinary(spec, "theta sketch", err);
}

static tarn_status fold_theta(const tn_fold_input *in, const tn_fold_steps *steps, tn_vec *out,
                              tarn_error *err) {
  static const tn_stored_set_ops ops = {.what = "theta_sketch",
                                        .n_bytes = sizeof(tn_theta),
                                        .load = load_theta,
                                        .unite = unite_theta,
                                        .store = store_theta,
                                        .reset = reset_theta};
  return tn_fold_stored_sets(in, steps, &ops, out, err);
}

const tn_fold_function tn_fold_theta_sketch = {
    .name = "theta_sketch", .check = check_theta, .fold = fold_theta, .adds_first_as_it_is = true};
