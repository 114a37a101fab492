/* fold_bitmaps.c - rbm32 and rbm64: unions of stored roaring bitmaps.
 *
 * Java writes the union after each step and reads it again; so the containers have their smallest
 * form after each step, which decides the form of the next union.
 *
 * Rule: org.apache.paimon.mergetree.compact.aggregate.{FieldRoaringBitmap32Agg,
 * FieldRoaringBitmap64Agg}; spec: merge-engines, 6.3.
 */
#include <roaring.h>

#include "merge/fold_bytes.h"
#include "merge/roaring64.h"

static tarn_status check_bitmap(const tn_fold_spec *spec, tarn_error *err) {
  return tn_fold_check_varbinary(spec, "roaring bitmap", err);
}

/* ------------------------------------------------------------------ 32 bits */

typedef struct set32 {
  roaring_bitmap_t *bitmap;
} set32;

/* Bytes behind the bitmap are not looked at, as Java does not. */
static tarn_status decode32(tn_slice value, roaring_bitmap_t **out, tarn_error *err) {
  const char *data = (const char *)value.data, *why = NULL;
  size_t used =
      value.len > 0 ? roaring_bitmap_portable_deserialize_size(data, value.len) : (size_t)0;
  *out = NULL;
  if (used == 0 || used > value.len) {
    return tn_fail(err, TARN_E_CORRUPT, "no roaring bitmap in %zu bytes", value.len);
  }
  *out = roaring_bitmap_portable_deserialize_safe(data, value.len);
  if (*out == NULL) {
    return tn_oom(err); /* its size was found, so its bytes are there */
  }
  if (!roaring_bitmap_internal_validate(*out, &why)) {
    roaring_bitmap_free(*out);
    *out = NULL;
    return tn_fail(err, TARN_E_CORRUPT, "bad roaring bitmap: %s", why != NULL ? why : "not valid");
  }
  return TARN_OK;
}

static void reset32(void *state, tarn_env *env) {
  set32 *set = state;
  (void)env;
  if (set->bitmap != NULL) {
    roaring_bitmap_free(set->bitmap);
    set->bitmap = NULL;
  }
}

static tarn_status load32(void *state, tarn_env *env, tn_slice value, tarn_error *err) {
  reset32(state, env);
  return decode32(value, &((set32 *)state)->bitmap, err);
}

static tarn_status unite32(void *state, tarn_env *env, tn_slice value, bool is_reversed,
                           tarn_error *err) {
  set32 *set = state;
  roaring_bitmap_t *other;
  (void)env;
  TN_TRY(decode32(value, &other, err));
  if (is_reversed) {
    roaring_bitmap_t *swapped = set->bitmap;
    set->bitmap = other;
    other = swapped;
  }
  roaring_bitmap_or_inplace(set->bitmap, other);
  roaring_bitmap_free(other);
  roaring_bitmap_run_optimize(set->bitmap);
  return TARN_OK;
}

static tarn_status store32(void *state, tn_buf *out, tarn_error *err) {
  set32 *set = state;
  size_t n = roaring_bitmap_portable_size_in_bytes(set->bitmap);
  TN_TRY(tn_buf_reserve(out, n, err));
  out->len += roaring_bitmap_portable_serialize(set->bitmap, (char *)out->data + out->len);
  return TARN_OK;
}

static tarn_status fold32(const tn_fold_input *in, const tn_fold_steps *steps, tn_vec *out,
                          tarn_error *err) {
  static const tn_stored_set_ops ops = {.what = "rbm32",
                                        .n_bytes = sizeof(set32),
                                        .load = load32,
                                        .unite = unite32,
                                        .store = store32,
                                        .reset = reset32};
  return tn_fold_stored_sets(in, steps, &ops, out, err);
}

const tn_fold_function tn_fold_rbm32 = {
    .name = "rbm32", .check = check_bitmap, .fold = fold32, .adds_first_as_it_is = true};

/* ------------------------------------------------------------------ 64 bits */

static void reset64(void *state, tarn_env *env) {
  (void)env;
  tn_roaring64_reset(state);
}

static tarn_status load64(void *state, tarn_env *env, tn_slice value, tarn_error *err) {
  tn_roaring64 *set = state;
  set->mem = &env->mem;
  return tn_roaring64_decode(set, value, err);
}

static tarn_status unite64(void *state, tarn_env *env, tn_slice value, bool is_reversed,
                           tarn_error *err) {
  tn_roaring64 *set = state, other;
  tarn_status st;
  tn_roaring64_init(&other, &env->mem);
  TN_TRY(tn_roaring64_decode(&other, value, err));
  if (is_reversed) {
    tn_roaring64 swapped = *set;
    *set = other;
    other = swapped;
  }
  st = tn_roaring64_unite(set, &other, err);
  tn_roaring64_reset(&other);
  return st;
}

static tarn_status store64(void *state, tn_buf *out, tarn_error *err) {
  return tn_roaring64_encode(state, out, err);
}

static tarn_status fold64(const tn_fold_input *in, const tn_fold_steps *steps, tn_vec *out,
                          tarn_error *err) {
  static const tn_stored_set_ops ops = {.what = "rbm64",
                                        .n_bytes = sizeof(tn_roaring64),
                                        .load = load64,
                                        .unite = unite64,
                                        .store = store64,
                                        .reset = reset64};
  return tn_fold_stored_sets(in, steps, &ops, out, err);
}

const tn_fold_function tn_fold_rbm64 = {
    .name = "rbm64", .check = check_bitmap, .fold = fold64, .adds_first_as_it_is = true};
