/* fold_number.c - sum and product.
 *
 * Integers wrap around, as in Java 1.4.2; FLOAT is added in single precision. A DECIMAL of up to 18
 * digits is added as a 64-bit integer without a look at its precision; otherwise what does not fit
 * the precision is null. Products and quotients of decimals are rounded half up to the scale.
 *
 * Rule: FieldSumAgg, FieldProductAgg, DecimalUtils, Decimal.fromBigDecimal; spec: merge-engines, 6.
 */
#include <string.h>

#include "column/bits.h"
#include "column/number_text.h"
#include "merge/fold_functions.h"
#include "merge/fold_source.h"

typedef struct loop {
  const tn_fold_input *in;
  const tn_fold_steps *steps;
  tn_fold_sources sources;
  const tn_type *type;
} loop;

/* What an operation on two values has come to. */
typedef enum outcome { A_VALUE, A_NULL, DIVIDED_BY_ZERO, NOT_TERMINATING } outcome;

static tarn_status refuse(const loop *l, outcome what, tarn_error *err) {
  return tn_fail(err, TARN_E_INVALID, "retraction from the product of column '%s': %s",
                 l->in->spec->field->name,
                 what == DIVIDED_BY_ZERO
                     ? "/ by zero"
                     : "non-terminating decimal expansion; no exact representable decimal result");
}

/* ------------------------------------------------------------------ plain numbers */

#define DEFINE_INTEGER(suffix, type, unsigned_type)                              \
  static inline outcome add_##suffix(const loop *l, type a, type b, type *out) { \
    (void)l;                                                                     \
    *out = (type)(unsigned_type)((unsigned_type)a + (unsigned_type)b);           \
    return A_VALUE;                                                              \
  }                                                                              \
  static inline outcome sub_##suffix(const loop *l, type a, type b, type *out) { \
    (void)l;                                                                     \
    *out = (type)(unsigned_type)((unsigned_type)a - (unsigned_type)b);           \
    return A_VALUE;                                                              \
  }                                                                              \
  static inline outcome mul_##suffix(const loop *l, type a, type b, type *out) { \
    (void)l;                                                                     \
    *out = (type)(unsigned_type)((uint64_t)a * (uint64_t)b);                     \
    return A_VALUE;                                                              \
  }                                                                              \
  static inline outcome div_##suffix(const loop *l, type a, type b, type *out) { \
    if (b == 0) {                                                                \
      return DIVIDED_BY_ZERO;                                                    \
    }                                                                            \
    if (b == -1) { /* the least value has no opposite */                         \
      return sub_##suffix(l, 0, a, out);                                         \
    }                                                                            \
    *out = (type)(a / b);                                                        \
    return A_VALUE;                                                              \
  }

DEFINE_INTEGER(i8, int8_t, uint8_t)
DEFINE_INTEGER(i16, int16_t, uint16_t)
DEFINE_INTEGER(i32, int32_t, uint32_t)
DEFINE_INTEGER(i64, int64_t, uint64_t)

#define DEFINE_REAL(suffix, type)                                                \
  static inline outcome add_##suffix(const loop *l, type a, type b, type *out) { \
    (void)l;                                                                     \
    *out = a + b;                                                                \
    return A_VALUE;                                                              \
  }                                                                              \
  static inline outcome sub_##suffix(const loop *l, type a, type b, type *out) { \
    (void)l;                                                                     \
    *out = a - b;                                                                \
    return A_VALUE;                                                              \
  }                                                                              \
  static inline outcome mul_##suffix(const loop *l, type a, type b, type *out) { \
    (void)l;                                                                     \
    *out = a * b;                                                                \
    return A_VALUE;                                                              \
  }                                                                              \
  static inline outcome div_##suffix(const loop *l, type a, type b, type *out) { \
    (void)l;                                                                     \
    *out = a / b;                                                                \
    return A_VALUE;                                                              \
  }

DEFINE_REAL(f32, float)
DEFINE_REAL(f64, double)

/* Its negative; a zero of FLOAT and DOUBLE changes its sign, too. */
#define DEFINE_NEGATE(suffix, type, zero)                                \
  static inline outcome neg_##suffix(const loop *l, type a, type *out) { \
    return sub_##suffix(l, zero, a, out);                                \
  }

DEFINE_NEGATE(i8, int8_t, 0)
DEFINE_NEGATE(i16, int16_t, 0)
DEFINE_NEGATE(i32, int32_t, 0)
DEFINE_NEGATE(i64, int64_t, 0)
DEFINE_NEGATE(f32, float, -0.0f)
DEFINE_NEGATE(f64, double, -0.0)

/* ------------------------------------------------------------------ decimals */

#define LONG_DIGITS 18 /* Decimal.isCompact */

static bool fits(const loop *l, tn_i128 v) {
  tn_i128 limit = tn_power_of_ten(l->type->precision);
  return v < limit && v > -limit;
}

static outcome add_dec(const loop *l, tn_i128 a, tn_i128 b, tn_i128 *out) {
  if (l->type->precision <= LONG_DIGITS && a == (int64_t)a && b == (int64_t)b) {
    int64_t sum;
    if (!__builtin_add_overflow((int64_t)a, (int64_t)b, &sum)) {
      *out = sum;
      return A_VALUE;
    }
  }
  return !__builtin_add_overflow(a, b, out) && fits(l, *out) ? A_VALUE : A_NULL;
}

static outcome sub_dec(const loop *l, tn_i128 a, tn_i128 b, tn_i128 *out) {
  if (l->type->precision <= LONG_DIGITS && a == (int64_t)a && b == (int64_t)b) {
    int64_t difference;
    if (!__builtin_sub_overflow((int64_t)a, (int64_t)b, &difference)) {
      *out = difference;
      return A_VALUE;
    }
  }
  return !__builtin_sub_overflow(a, b, out) && fits(l, *out) ? A_VALUE : A_NULL;
}

static outcome neg_dec(const loop *l, tn_i128 a, tn_i128 *out) {
  return !__builtin_sub_overflow((tn_i128)0, a, out) && fits(l, *out) ? A_VALUE : A_NULL;
}

static tn_u128 magnitude(tn_i128 v) {
  return v < 0 ? -(tn_u128)v : (tn_u128)v;
}

/* With its sign, unless it has more digits than the type. */
static outcome give(const loop *l, tn_u128 v, bool is_negative, tn_i128 *out) {
  if (v >= (tn_u128)tn_power_of_ten(l->type->precision)) {
    return A_NULL;
  }
  *out = is_negative ? -(tn_i128)v : (tn_i128)v;
  return A_VALUE;
}

/* The product has twice the scale; of the digits to drop only the first decides (half up). */
static outcome mul_dec(const loop *l, tn_i128 a, tn_i128 b, tn_i128 *out) {
  tn_u128 x = magnitude(a), y = magnitude(b), v;
  uint32_t limbs[8] = {0}; /* of x * y, the lowest first */
  uint32_t last = 0;
  for (int i = 0; i < 4; i++) {
    uint64_t carry = 0;
    for (int k = 0; k < 4; k++) {
      carry += (uint64_t)(uint32_t)(x >> (32 * i)) * (uint32_t)(y >> (32 * k)) + limbs[i + k];
      limbs[i + k] = (uint32_t)carry;
      carry >>= 32;
    }
    limbs[i + 4] = (uint32_t)carry;
  }
  for (int32_t digits = 0; digits < l->type->scale; digits++) {
    uint64_t rest = 0;
    for (int i = 7; i >= 0; i--) {
      rest = rest << 32 | limbs[i];
      limbs[i] = (uint32_t)(rest / 10);
      rest %= 10;
    }
    last = (uint32_t)rest;
  }
  if ((limbs[4] | limbs[5] | limbs[6] | limbs[7]) != 0) {
    return A_NULL;
  }
  v = (tn_u128)limbs[3] << 96 | (tn_u128)limbs[2] << 64 | (tn_u128)limbs[1] << 32 | limbs[0];
  return v == ~(tn_u128)0 ? A_NULL : give(l, v + (last >= 5), (a < 0) != (b < 0), out);
}

/* BigDecimal.divide without a precision: the exact quotient must end, then it is rounded. */
static outcome div_dec(const loop *l, tn_i128 a, tn_i128 b, tn_i128 *out) {
  tn_u128 x = magnitude(a), y = magnitude(b), v, rest, odd, common;
  uint32_t digit = 0;
  if (b == 0) {
    return DIVIDED_BY_ZERO;
  }
  for (common = x, rest = y; rest != 0;) {
    tn_u128 next = common % rest;
    common = rest;
    rest = next;
  }
  for (odd = y / common; odd % 2 == 0; odd /= 2) {
  }
  for (; odd % 5 == 0; odd /= 5) {
  }
  if (odd != 1) {
    return NOT_TERMINATING;
  }
  v = x / y;
  rest = x % y;
  for (int32_t i = 0; i <= l->type->scale; i++) { /* one digit more than is kept */
    tn_u128 ten = 0;
    digit = 0;
    for (int k = 0; k < 10; k++) { /* ten times the rest may not fit */
      bool is_over = y - ten <= rest;
      ten = is_over ? ten - (y - rest) : ten + rest;
      digit += is_over;
    }
    rest = ten;
    if (i < l->type->scale) {
      if (v >= (tn_u128)tn_power_of_ten(38)) {
        return A_NULL;
      }
      v = v * 10 + digit;
    }
  }
  return give(l, v + (digit >= 5), (a < 0) != (b < 0), out);
}

/* ------------------------------------------------------------------ loops */

/* retract: of an accumulator that may be null (has_acc) and a value that is not. */
#define RETRACT_SUM(suffix)                                                    \
  do {                                                                         \
    what = has_acc ? sub_##suffix(l, acc, v, &acc) : neg_##suffix(l, v, &acc); \
    has_acc = what == A_VALUE;                                                 \
  } while (0)
#define RETRACT_PRODUCT(suffix)             \
  do {                                      \
    if (has_acc) {                          \
      what = div_##suffix(l, acc, v, &acc); \
      has_acc = what == A_VALUE;            \
    }                                       \
  } while (0)

#define DEFINE_LOOP(name, suffix, type, join, retract)                                           \
  static TN_ALWAYS_INLINE tarn_status name##_##suffix##_as(const loop *l, type *TN_RESTRICT out, \
                                                           uint8_t *valid, bool has_ops,         \
                                                           bool is_flat, tarn_error *err) {      \
    const uint32_t *groups = l->steps->groups;                                                   \
    const tn_row_ref *rows = l->steps->rows;                                                     \
    const bool ignores_retract = l->in->spec->ignores_retract;                                   \
    for (int64_t g = 0; g < l->steps->n_groups; g++) {                                           \
      type acc = 0;                                                                              \
      bool has_acc = false;                                                                      \
      for (uint32_t i = groups[g]; i < groups[g + 1]; i++) {                                     \
        const tn_fold_source *s = &l->sources.items[rows[i].source];                             \
        bool is_valid = tn_fold_is_valid(s, rows[i].row);                                        \
        type v = ((const type *)s->values)[tn_fold_row(s, rows[i].row, is_flat)];                \
        outcome what = A_VALUE;                                                                  \
        if (has_ops && l->steps->ops[i] == TN_FOLD_SET) {                                        \
          acc = v;                                                                               \
          has_acc = is_valid;                                                                    \
        } else if (!is_valid ||                                                                  \
                   (has_ops && l->steps->ops[i] == TN_FOLD_RETRACT && ignores_retract)) {        \
          continue;                                                                              \
        } else if (has_ops && l->steps->ops[i] == TN_FOLD_RETRACT) {                             \
          retract(suffix);                                                                       \
          if (TN_UNLIKELY(what > A_NULL)) {                                                      \
            return refuse(l, what, err);                                                         \
          }                                                                                      \
        } else if (has_acc) { /* both commute: reversed or not */                                \
          has_acc = join##_##suffix(l, acc, v, &acc) == A_VALUE;                                 \
        } else {                                                                                 \
          acc = v;                                                                               \
          has_acc = true;                                                                        \
        }                                                                                        \
      }                                                                                          \
      out[g] = acc;                                                                              \
      if (valid != NULL && !has_acc) {                                                           \
        tn_bit_clear(valid, g);                                                                  \
      }                                                                                          \
    }                                                                                            \
    return TARN_OK;                                                                              \
  }                                                                                              \
  static TN_NOINLINE tarn_status name##_##suffix(const loop *l, void *out, uint8_t *valid,       \
                                                 tarn_error *err) {                              \
    if (l->steps->ops == NULL) {                                                                 \
      return l->sources.is_flat ? name##_##suffix##_as(l, out, valid, false, true, err)          \
                                : name##_##suffix##_as(l, out, valid, false, false, err);        \
    }                                                                                            \
    return name##_##suffix##_as(l, out, valid, true, false, err);                                \
  }

#define DEFINE_LOOPS(suffix, type)                 \
  DEFINE_LOOP(sum, suffix, type, add, RETRACT_SUM) \
  DEFINE_LOOP(product, suffix, type, mul, RETRACT_PRODUCT)

DEFINE_LOOPS(i8, int8_t)
DEFINE_LOOPS(i16, int16_t)
DEFINE_LOOPS(i32, int32_t)
DEFINE_LOOPS(i64, int64_t)
DEFINE_LOOPS(f32, float)
DEFINE_LOOPS(f64, double)
DEFINE_LOOPS(dec, tn_i128)

typedef tarn_status (*loop_fn)(const loop *l, void *out, uint8_t *valid, tarn_error *err);

static const struct {
  tn_type_root root;
  loop_fn sum, product;
} loops[] = {
    {TN_TINYINT, sum_i8, product_i8},   {TN_SMALLINT, sum_i16, product_i16},
    {TN_INT, sum_i32, product_i32},     {TN_BIGINT, sum_i64, product_i64},
    {TN_FLOAT, sum_f32, product_f32},   {TN_DOUBLE, sum_f64, product_f64},
    {TN_DECIMAL, sum_dec, product_dec},
};

/* ------------------------------------------------------------------ the functions */

static bool has_empty_group(const tn_fold_steps *steps) {
  for (int64_t g = 0; g < steps->n_groups; g++) {
    if (steps->groups[g] == steps->groups[g + 1]) {
      return true;
    }
  }
  return false;
}

/* Drop a bitmap that says nothing. */
static void settle_nulls(tn_vec *vec) {
  vec->null_count = vec->length - tn_bits_count(vec->valid, vec->length);
  if (vec->null_count == 0) {
    tn_buffer_release(vec->valid_buffer);
    vec->valid_buffer = NULL;
    vec->valid = NULL;
  }
}

static tarn_status fold_numbers(const tn_fold_input *in, const tn_fold_steps *steps, bool is_sum,
                                tn_vec *out, tarn_error *err) {
  loop l = {.in = in, .steps = steps, .type = &in->spec->field->type};
  loop_fn run = NULL;
  tarn_status st = TARN_OK;
  bool may_be_null;
  for (size_t i = 0; i < TN_COUNT(loops); i++) {
    if (loops[i].root == l.type->root) {
      run = is_sum ? loops[i].sum : loops[i].product;
    }
  }
  if (run == NULL) {
    return TN_BUG(err, "a number of another type");
  }
  TN_TRY(tn_fold_sources_resolve(in, &l.sources, err));
  may_be_null = l.sources.has_nulls || steps->ops != NULL || l.type->root == TN_DECIMAL ||
                has_empty_group(steps);
  TN_TRY_TO(done, tn_vec_init(in->env, l.type, out, err));
  TN_TRY_TO(done, tn_vec_alloc(in->env, out, steps->n_groups, 0, err));
  if (may_be_null) {
    TN_TRY_TO(done, tn_vec_alloc_valid(in->env, out, true, err));
  }
  TN_TRY_TO(done, run(&l, out->values, out->valid, err));
  if (may_be_null) {
    settle_nulls(out);
  }
done:
  if (st != TARN_OK) {
    tn_vec_reset(in->env, out);
  }
  tn_fold_sources_reset(in, &l.sources);
  return st;
}

static tarn_status fold_sum(const tn_fold_input *in, const tn_fold_steps *steps, tn_vec *out,
                            tarn_error *err) {
  return fold_numbers(in, steps, true, out, err);
}

static tarn_status fold_product(const tn_fold_input *in, const tn_fold_steps *steps, tn_vec *out,
                                tarn_error *err) {
  return fold_numbers(in, steps, false, out, err);
}

static tarn_status check_number(const tn_fold_spec *spec, tarn_error *err) {
  for (size_t i = 0; i < TN_COUNT(loops); i++) {
    if (loops[i].root == spec->field->type.root) {
      return TARN_OK;
    }
  }
  return tn_fail(err, TARN_E_INVALID, "data type for %s column '%s' must be numeric but was %s",
                 spec->function->name, spec->field->name, tn_type_text_of(&spec->field->type).text);
}

const tn_fold_function tn_fold_sum = {
    .name = "sum", .check = check_number, .fold = fold_sum, .adds_first_as_it_is = true};
const tn_fold_function tn_fold_product = {
    .name = "product", .check = check_number, .fold = fold_product, .adds_first_as_it_is = true};
