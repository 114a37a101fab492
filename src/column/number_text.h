/* number_text.h - numbers to and from text, without locale. Internal to column/. */
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

/* Double.parseDouble and Float.parseFloat: correctly rounded; blanks around, a type suffix, NaN,
 * Infinity and hexadecimal forms as in Java. False: not a number. */
TN_CHECKED bool tn_double_from_text(tn_slice text, double *out);
TN_CHECKED bool tn_float_from_text(tn_slice text, float *out);

#endif
