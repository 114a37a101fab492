/* datum.c - single values: out of vectors and into them, copies, the two orders. */
#include "column/datum.h"

#include "base/bytes.h"

/* ------------------------------------------------------------------ vectors */

tn_datum tn_vec_datum(const tn_vec *vec, int64_t i) {
  tn_datum d;
  const tn_vec *flat = vec;
  const uint8_t *at;
  memset(&d, 0, sizeof(d));
  d.is_null = tn_vec_is_null(vec, i);
  if (d.is_null) {
    return d;
  }
  if (vec->layout == TN_LAYOUT_BYTES) {
    d.v.bytes = tn_vec_bytes(vec, i);
    return d;
  }
  if (vec->encoding == TN_VEC_DICT) {
    i = ((const int32_t *)vec->values)[i];
    flat = &vec->dictionary->values;
  } else if (vec->encoding == TN_VEC_CONST) {
    i = 0;
    flat = vec->constant;
  }
  at = (const uint8_t *)flat->values + (size_t)i * tn_layout_width(vec->layout);
  switch (vec->layout) {
    case TN_LAYOUT_BIT:
      d.v.boolean = tn_bit_get(flat->values, i);
      break;
    case TN_LAYOUT_I8:
      d.v.i64 = (int8_t)*at;
      break;
    case TN_LAYOUT_I16:
      d.v.i64 = (int16_t)tn_load_le16(at);
      break;
    case TN_LAYOUT_I32:
      d.v.i64 = (int32_t)tn_load_le32(at);
      break;
    case TN_LAYOUT_I64:
      d.v.i64 = (int64_t)tn_load_le64(at);
      break;
    case TN_LAYOUT_F32:
      d.v.f64 = tn_load_f32(at);
      break;
    case TN_LAYOUT_F64:
      d.v.f64 = tn_load_f64(at);
      break;
    case TN_LAYOUT_I128:
      d.v.i128 = tn_load_i128(at);
      break;
    default: /* nested types have no datums */
      d.is_null = true;
      break;
  }
  return d;
}

bool tn_datum_copy(tn_arena *arena, const tn_type *type, const tn_datum *from, tn_datum *to) {
  *to = *from;
  if (from->is_null || tn_type_layout(type) != TN_LAYOUT_BYTES) {
    return true;
  }
  return tn_arena_slice(arena, from->v.bytes, &to->v.bytes);
}

/* Store a value that is not null as row 0 of a vector of length 1. */
static void store(tn_vec *vec, const tn_datum *datum) {
  float f;
  switch (vec->layout) {
    case TN_LAYOUT_BIT:
      tn_bit_put(vec->values, 0, datum->v.boolean);
      break;
    case TN_LAYOUT_F32:
      f = (float)datum->v.f64;
      memcpy(vec->values, &f, sizeof(f));
      break;
    case TN_LAYOUT_F64:
      memcpy(vec->values, &datum->v.f64, sizeof(double));
      break;
    case TN_LAYOUT_I128:
      tn_store_i128(vec->values, datum->v.i128);
      break;
    case TN_LAYOUT_BYTES:
      vec->offsets[1] = (int32_t)datum->v.bytes.len;
      if (datum->v.bytes.len > 0) {
        memcpy(vec->values, datum->v.bytes.data, datum->v.bytes.len);
      }
      break;
    default: /* little-endian: the low bytes come first */
      memcpy(vec->values, &datum->v.i64, tn_layout_width(vec->layout));
      break;
  }
}

tarn_status tn_datum_to_vec(tarn_env *env, const tn_type *type, const tn_datum *datum, tn_vec *out,
                            tarn_error *err) {
  tarn_status st = TARN_OK;
  bool is_bytes = tn_type_layout(type) == TN_LAYOUT_BYTES;
  if (datum->is_null) {
    return tn_vec_init_nulls(env, type, 1, true, out, err);
  }
  if (is_bytes && datum->v.bytes.len > INT32_MAX) {
    return tn_fail(err, TARN_E_LIMIT, "a value of %zu bytes", datum->v.bytes.len);
  }
  tn_vec_reset(env, out);
  TN_TRY(tn_vec_init(env, type, out, err));
  TN_TRY_TO(fail, tn_vec_alloc(env, out, 1, is_bytes ? datum->v.bytes.len : 0, err));
  store(out, datum);
  return TARN_OK;
fail:
  tn_vec_reset(env, out);
  return st;
}

/* ------------------------------------------------------------------ orders */

/* java.lang.Double.compare: -0.0 < 0.0, NaN greatest, every NaN equal. */
static int compare_double(double a, double b) {
  if (a < b) {
    return -1;
  }
  if (a > b) {
    return 1;
  }
  if (a == b) {
    return a != 0 ? 0 : (__builtin_signbit(b) != 0) - (__builtin_signbit(a) != 0);
  }
  return (a != a) - (b != b); /* at least one is NaN */
}

static int compare_signed_bytes(tn_slice a, tn_slice b) {
  size_t n = a.len < b.len ? a.len : b.len;
  for (size_t i = 0; i < n; i++) {
    if (a.data[i] != b.data[i]) {
      return (int8_t)a.data[i] < (int8_t)b.data[i] ? -1 : 1;
    }
  }
  return (a.len > b.len) - (a.len < b.len);
}

int tn_datum_compare(const tn_type *type, const tn_datum *a, const tn_datum *b) {
  if (tn_type_is_bytes(type)) {
    return compare_signed_bytes(a->v.bytes, b->v.bytes);
  }
  return tn_datum_compare_key(type, a, b);
}

int tn_datum_compare_key(const tn_type *type, const tn_datum *a, const tn_datum *b) {
  switch (tn_type_layout(type)) {
    case TN_LAYOUT_BIT:
      return a->v.boolean - b->v.boolean;
    case TN_LAYOUT_F32:
    case TN_LAYOUT_F64:
      return compare_double(a->v.f64, b->v.f64);
    case TN_LAYOUT_I128:
      return (a->v.i128 > b->v.i128) - (a->v.i128 < b->v.i128);
    case TN_LAYOUT_BYTES:
      return tn_slice_compare(a->v.bytes, b->v.bytes);
    default:
      return (a->v.i64 > b->v.i64) - (a->v.i64 < b->v.i64);
  }
}

int tn_datum_compare_keys(const tn_field *fields, const int32_t *columns, int32_t n,
                          const tn_datum *a, const tn_datum *b) {
  int order = 0;
  for (int32_t i = 0; i < n && order == 0; i++) {
    order = (int)b[i].is_null - (int)a[i].is_null;
    if (order == 0 && !a[i].is_null) {
      order = tn_datum_compare_key(&fields[columns[i]].type, &a[i], &b[i]);
    }
  }
  return order;
}
