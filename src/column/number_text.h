/* number_text.h - numbers to and from text, without locale; powers of ten. */
#ifndef TN_COLUMN_NUMBER_TEXT_H
#define TN_COLUMN_NUMBER_TEXT_H

#include "base/compat.h"
#include "base/slice.h"

/* The decimal digits of value, without leading zeros ("0" for 0); out has room for 40. */
size_t tn_digits_u128(tn_u128 value, char *out);
static inline size_t tn_digits_u64(uint64_t value, char *out) {
  return tn_digits_u128(value, out);
}
/* Two, three ... `width` digits with leading zeros; returns the end. */
char *tn_put_padded(char *out, uint64_t value, int width);
/* The plain form of unscaled * 10^-scale (0 <= scale <= 255) with all digits of the scale; out has
 * room for 304. */
size_t tn_decimal_to_plain(tn_i128 unscaled, int32_t scale, char *out);

/* 10^n, n >= 0; above 38 that of 38. */
extern const tn_i128 tn_powers_of_ten[39];
static inline tn_i128 tn_power_of_ten(int n) {
  return tn_powers_of_ten[n < 38 ? n : 38];
}

/* [+-] digits with at most one point [e [+-] digits] */
typedef struct tn_decimal_text {
  bool is_negative;
  tn_slice digits;    /* with the point */
  int64_t n_fraction; /* digits behind the point */
  int64_t exponent;   /* as written; one past 10^10 stays there */
} tn_decimal_text;

/* False: not such a text. */
TN_CHECKED bool tn_decimal_text_split(tn_slice text, tn_decimal_text *out);

/* Double.parseDouble and Float.parseFloat: correctly rounded; blanks around, a type suffix, NaN,
 * Infinity and hexadecimal forms as in Java. False: not a number. */
TN_CHECKED bool tn_double_from_text(tn_slice text, double *out);
TN_CHECKED bool tn_float_from_text(tn_slice text, float *out);

#endif
