/* cast_number.c - casts among BOOLEAN, integers, FLOAT, DOUBLE and DECIMAL.
 *
 * Rule: org.apache.paimon.casting.NumericPrimitiveCastRule and its like, DecimalUtils; spec:
 * datafiles, 7 "Exact results".
 */
#include "column/cast_internal.h"
#include "column/number_text.h"

#define MAX_DIGITS 38 /* of a DECIMAL */

/* (byte), (short), (int) of Java: the low bits. */
static int64_t wrap_integer(tn_type_root root, int64_t v) {
  switch (root) {
    case TN_TINYINT:
      return (int8_t)(uint8_t)v;
    case TN_SMALLINT:
      return (int16_t)(uint16_t)v;
    case TN_INT:
      return (int32_t)(uint32_t)v;
    default:
      return v;
  }
}

/* unscaled * 10^shift, rounded HALF_UP when the shift is negative; null when the type cannot hold
 * it. |unscaled| < 10^38. */
static void put_decimal(const tn_type *to, tn_i128 unscaled, int64_t shift, tn_datum *out) {
  tn_u128 limit = (tn_u128)tn_power_of_ten(to->precision);
  bool is_negative = unscaled < 0;
  tn_u128 m = is_negative ? -(tn_u128)unscaled : (tn_u128)unscaled;
  if (shift < -MAX_DIGITS) {
    m = 0;  // below half of the last digit
  } else if (shift < 0) {
    tn_u128 divisor = (tn_u128)tn_power_of_ten((int)-shift);
    tn_u128 rest = m % divisor;
    m = m / divisor + (rest >= divisor - rest);
  }
  if (m != 0 && shift > 0) {
    bool fits = shift < MAX_DIGITS && m <= (limit - 1) / (tn_u128)tn_power_of_ten((int)shift);
    m = fits ? m * (tn_u128)tn_power_of_ten((int)shift) : limit;
  }
  out->is_null = m >= limit;
  out->v.i128 = out->is_null ? 0 : is_negative ? -(tn_i128)m : (tn_i128)m;
}

/* ------------------------------------------------------------------ from BOOLEAN and integers */

static void put_integer(const tn_type *to, int64_t v, tn_datum *out) {
  switch (to->root) {
    case TN_FLOAT:
      out->v.f64 = (double)(float)v;
      break;
    case TN_DOUBLE:
      out->v.f64 = (double)v;
      break;
    case TN_DECIMAL:
      put_decimal(to, v, to->scale, out);
      break;
    default:
      out->v.i64 = wrap_integer(to->root, v);
  }
}

tarn_status tn_cast_boolean_to_number(const tn_cast *cast, const tn_datum *in, tn_datum *out,
                                      tarn_error *err) {
  (void)err;
  put_integer(cast->to, in->v.boolean ? 1 : 0, out);
  return TARN_OK;
}

tarn_status tn_cast_integer_to_boolean(const tn_cast *cast, const tn_datum *in, tn_datum *out,
                                       tarn_error *err) {
  (void)cast;
  (void)err;
  out->v.boolean = in->v.i64 != 0;
  return TARN_OK;
}

tarn_status tn_cast_integer_to_number(const tn_cast *cast, const tn_datum *in, tn_datum *out,
                                      tarn_error *err) {
  (void)err;
  put_integer(cast->to, in->v.i64, out);
  return TARN_OK;
}

/* ------------------------------------------------------------------ from FLOAT and DOUBLE */

/* (long) and (int) of Java: toward zero, saturating, NaN is 0. */
static int64_t real_to_integer(double v, tn_type_root root) {
  int64_t max = root == TN_BIGINT ? INT64_MAX : INT32_MAX;
  int64_t min = -max - 1;
  if (v != v) {
    return 0;
  }
  if (v >= -(double)min) {
    return max;
  }
  return v <= (double)min ? min : (int64_t)v;
}

/* By way of the value's shortest decimal text, as BigDecimal.valueOf(double) does. */
static tarn_status real_to_decimal(const tn_type *to, double v, tn_datum *out, tarn_error *err) {
  char text[32];
  if (v - v != 0) {
    return tn_fail(err, TARN_E_INVALID, "%s cannot be a DECIMAL",
                   v != v  ? "NaN"
                   : v > 0 ? "Infinity"
                           : "-Infinity");
  }
  size_t n = tn_double_to_java(v, text);
  tn_i128 digits = 0;
  int64_t exponent = 0, n_fraction = 0;
  bool is_negative = text[0] == '-', is_fraction = false;
  size_t i = is_negative;
  for (; i < n && text[i] != 'E'; i++) {
    if (text[i] == '.') {
      is_fraction = true;
    } else {
      digits = digits * 10 + (text[i] - '0');
      n_fraction += is_fraction;
    }
  }
  if (i < n) {
    bool is_minus = text[++i] == '-';
    for (i += is_minus; i < n; i++) {
      exponent = exponent * 10 + (text[i] - '0');
    }
    exponent = is_minus ? -exponent : exponent;
  }
  put_decimal(to, is_negative ? -digits : digits, exponent - n_fraction + to->scale, out);
  return TARN_OK;
}

tarn_status tn_cast_real_to_number(const tn_cast *cast, const tn_datum *in, tn_datum *out,
                                   tarn_error *err) {
  switch (cast->to->root) {
    case TN_FLOAT:
      out->v.f64 = (double)(float)in->v.f64;
      return TARN_OK;
    case TN_DOUBLE:
      out->v.f64 = in->v.f64;
      return TARN_OK;
    case TN_DECIMAL:
      return real_to_decimal(cast->to, in->v.f64, out, err);
    default:
      out->v.i64 = wrap_integer(cast->to->root, real_to_integer(in->v.f64, cast->to->root));
      return TARN_OK;
  }
}

/* ------------------------------------------------------------------ from DECIMAL */

/* The nearest DOUBLE or FLOAT. Small values are a division of two exact numbers, which rounds once;
 * others go by way of a text. */
static tarn_status decimal_to_real(const tn_cast *cast, tn_i128 unscaled, tn_datum *out,
                                   tarn_error *err) {
  static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  int32_t scale = cast->from->scale;
  tn_i128 m = unscaled < 0 ? -unscaled : unscaled;
  if (cast->to->root == TN_DOUBLE && m < (tn_i128)1 << 53 && scale <= 22) {
    out->v.f64 = (double)(int64_t)unscaled / powers[scale];
    return TARN_OK;
  }
  if (cast->to->root == TN_FLOAT && m < 1 << 24 && scale <= 10) {
    out->v.f64 = (double)((float)(int64_t)unscaled / (float)powers[scale]);
    return TARN_OK;
  }
  char text[64];
  size_t at = sizeof(text);
  for (int32_t e = scale, k = 0; k < 2; k++, e /= 10) {
    text[--at] = (char)('0' + e % 10);
  }
  text[--at] = '-';
  text[--at] = 'e';
  do {
    text[--at] = (char)('0' + (int)(m % 10));
    m /= 10;
  } while (m != 0);
  if (unscaled < 0) {
    text[--at] = '-';
  }
  return tn_datum_from_text(cast->arena, cast->to, tn_slice_of(text + at, sizeof(text) - at), NULL,
                            out, err);
}

tarn_status tn_cast_decimal_to_number(const tn_cast *cast, const tn_datum *in, tn_datum *out,
                                      tarn_error *err) {
  int32_t scale = cast->from->scale;
  switch (cast->to->root) {
    case TN_FLOAT:
    case TN_DOUBLE:
      return decimal_to_real(cast, in->v.i128, out, err);
    case TN_DECIMAL:
      put_decimal(cast->to, in->v.i128, (int64_t)cast->to->scale - scale, out);
      return TARN_OK;
    default: {
      tn_i128 whole = in->v.i128 / tn_power_of_ten(scale);
      out->v.i64 = wrap_integer(cast->to->root, (int64_t)(uint64_t)whole);
      return TARN_OK;
    }
  }
}

/* ------------------------------------------------------------------ whole columns at once */

#define DEFINE_CONVERT(name, from_type, to_type, expression) \
  static void name(const void *in, void *out, int64_t n) {   \
    const from_type *a = in;                                 \
    to_type *b = out;                                        \
    for (int64_t i = 0; i < n; i++) {                        \
      from_type v = a[i];                                    \
      b[i] = (to_type)(expression);                          \
    }                                                        \
  }

#define DEFINE_FROM_INTEGER(from, type)                     \
  DEFINE_CONVERT(from##_to_i8, type, int8_t, (uint8_t)v)    \
  DEFINE_CONVERT(from##_to_i16, type, int16_t, (uint16_t)v) \
  DEFINE_CONVERT(from##_to_i32, type, int32_t, (uint32_t)v) \
  DEFINE_CONVERT(from##_to_i64, type, int64_t, v)           \
  DEFINE_CONVERT(from##_to_f32, type, float, v)             \
  DEFINE_CONVERT(from##_to_f64, type, double, v)

DEFINE_FROM_INTEGER(i8, int8_t)
DEFINE_FROM_INTEGER(i16, int16_t)
DEFINE_FROM_INTEGER(i32, int32_t)
DEFINE_FROM_INTEGER(i64, int64_t)
DEFINE_CONVERT(f32_to_f64, float, double, v)
DEFINE_CONVERT(f64_to_f32, double, float, v)

typedef void (*convert_fn)(const void *in, void *out, int64_t n);

#define FROM_INTEGER(FROM, from)                                                          \
  [TN_LAYOUT_##FROM] = {[TN_LAYOUT_I8] = from##_to_i8,   [TN_LAYOUT_I16] = from##_to_i16, \
                        [TN_LAYOUT_I32] = from##_to_i32, [TN_LAYOUT_I64] = from##_to_i64, \
                        [TN_LAYOUT_F32] = from##_to_f32, [TN_LAYOUT_F64] = from##_to_f64}

static const convert_fn conversions[TN_LAYOUT_F64 + 1][TN_LAYOUT_F64 + 1] = {
    FROM_INTEGER(I8, i8),
    FROM_INTEGER(I16, i16),
    FROM_INTEGER(I32, i32),
    FROM_INTEGER(I64, i64),
    [TN_LAYOUT_F32] = {[TN_LAYOUT_F64] = f32_to_f64},
    [TN_LAYOUT_F64] = {[TN_LAYOUT_F32] = f64_to_f32},
};

bool tn_cast_numbers(tn_layout from, const void *in, tn_layout to, void *out, int64_t n) {
  if (from > TN_LAYOUT_F64 || to > TN_LAYOUT_F64 || conversions[from][to] == NULL) {
    return false;
  }
  conversions[from][to](in, out, n);
  return true;
}
