/* float_text.c - floating-point numbers as Java prints them (Float.toString, Double.toString of
 * JDK 19+).
 *
 * The decimal d * 10^k is chosen so: among the decimals that read back as the same value, those
 * with the fewest digits, but at least two; of these the one closest to the value, the even one on
 * a tie. Method: Raffaello Giulietti, "The Schubfach way to render doubles". With v = c * 2^q, one
 * multiplication by a tabulated 126-bit power of ten scales v and the borders of its rounding
 * interval to integers times 4 with a sticky low bit; then at most four candidates are compared.
 */
#include "base/bytes.h"
#include "column/datum.h"
#include "column/float_powers.h"
#include "column/number_text.h"

typedef struct decimal {
  uint64_t digits;
  int exponent; /* of ten */
} decimal;

typedef struct binary {
  uint64_t c;
  int q; /* value c * 2^q */
  /* The value below is only half as far away: c is a power of two, not the least one. */
  bool is_at_step;
} binary;

static int floor_log10_pow2(int e) {
  return (e * 78913) >> 18;
}

static int floor_log10_three_quarters_pow2(int e) {
  return (int)(((int64_t)e * 1262611 - 524031) >> 22);
}

static int floor_log2_pow10(int e) {
  return (e * 435411) >> 17;
}

/* floor(g(k) * x / 2^127), the lowest bit set as well when there is a fraction ("round to odd"). */
static uint64_t scale(int k, uint64_t x) {
  const uint64_t *g = float_powers[k - FLOAT_POWERS_K_MIN];
  tn_u128 product = (tn_u128)g[0] * x + (((tn_u128)g[1] * x) >> 64); /* g * x / 2^64 */
  uint64_t whole = (uint64_t)(product >> 63);
  uint64_t fraction = (uint64_t)product & (((uint64_t)1 << 63) - 1);
  return whole | (fraction != 0);
}

static decimal shortest(binary v) {
  uint64_t odd = v.c & 1, c = v.c << 2;
  uint64_t below = c - (v.is_at_step ? 1 : 2), above = c + 2;
  int k = v.is_at_step ? floor_log10_three_quarters_pow2(v.q) : floor_log10_pow2(v.q);
  int h = v.q + floor_log2_pow10(-k) + 2;
  uint64_t value = scale(k, c << h);
  uint64_t lower = scale(k, below << h) + odd, upper = scale(k, above << h) - odd;
  uint64_t s = value >> 2;
  bool low_fits, high_fits;
  if (s >= 100) { /* a digit less still leaves two */
    uint64_t tens = s / 10 * 10;
    low_fits = lower <= tens << 2;
    high_fits = (tens + 10) << 2 <= upper;
    if (low_fits != high_fits) {
      return (decimal){low_fits ? tens : tens + 10, k};
    }
  }
  low_fits = lower <= s << 2;
  high_fits = (s + 1) << 2 <= upper;
  if (low_fits != high_fits) {
    return (decimal){low_fits ? s : s + 1, k};
  }
  /* both or none: the closer one, of a tie the even one */
  if (value < 4 * s + 2 || (value == 4 * s + 2 && (s & 1) == 0)) {
    return (decimal){s, k};
  }
  return (decimal){s + 1, k};
}

/* Digits with at least one after the point; "E" outside of 10^-3 <= value < 10^7. */
static size_t print_decimal(decimal d, char *out) {
  char digits[40];
  size_t n, at = 0;
  int point;
  n = tn_digits_u64(d.digits, digits);
  point = (int)n + d.exponent; /* value = 0.digits * 10^point */
  while (n > 1 && digits[n - 1] == '0') {
    n--;
  }
  if (point > 0 && point <= 7) {
    for (int i = 0; i < point; i++) {
      out[at++] = (size_t)i < n ? digits[i] : '0';
    }
    out[at++] = '.';
    if ((size_t)point >= n) {
      out[at++] = '0';
    }
    for (size_t i = (size_t)point; i < n; i++) {
      out[at++] = digits[i];
    }
    return at;
  }
  if (point > -3 && point <= 0) {
    out[at++] = '0';
    out[at++] = '.';
    for (int i = point; i < 0; i++) {
      out[at++] = '0';
    }
    memcpy(out + at, digits, n);
    return at + n;
  }
  out[at++] = digits[0];
  out[at++] = '.';
  if (n > 1) {
    memcpy(out + at, digits + 1, n - 1);
    at += n - 1;
  } else {
    out[at++] = '0';
  }
  out[at++] = 'E';
  if (point - 1 < 0) {
    out[at++] = '-';
  }
  return at + tn_digits_u64((uint64_t)(point < 1 ? 1 - point : point - 1), out + at);
}

static size_t put_text(char *out, bool is_negative, const char *text) {
  size_t n = strlen(text);
  if (is_negative) {
    *out++ = '-';
  }
  memcpy(out, text, n);
  return n + is_negative;
}

/* One of the two formats: exponent field, fraction field and what they mean. */
static size_t print_float(bool is_negative, int exponent, uint64_t fraction, int fraction_bits,
                          int exponent_max, char *out) {
  const int bias = exponent_max / 2;
  const uint64_t hidden = (uint64_t)1 << fraction_bits;
  /* Up to here a least value times 2^q has one digit only: take a digit more. */
  const uint64_t tiny = fraction_bits == 52 ? 3 : 8;
  binary v = {fraction, 1 - bias - fraction_bits, false};
  decimal d;
  if (exponent == exponent_max) {
    return fraction != 0 ? put_text(out, false, "NaN") : put_text(out, is_negative, "Infinity");
  }
  if (exponent == 0 && fraction == 0) {
    return put_text(out, is_negative, "0.0");
  }
  if (exponent > 0) {
    v.c |= hidden;
    v.q = exponent - bias - fraction_bits;
    v.is_at_step = fraction == 0 && exponent > 1;
  }
  if (v.c < tiny) {
    v.c *= 10;
    d = shortest(v);
    d.exponent--;
  } else {
    d = shortest(v);
  }
  if (is_negative) {
    *out++ = '-';
  }
  return print_decimal(d, out) + is_negative;
}

size_t tn_double_to_java(double value, char *out) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return print_float(bits >> 63, (int)(bits >> 52 & 0x7ff), bits & (((uint64_t)1 << 52) - 1), 52,
                     0x7ff, out);
}

size_t tn_float_to_java(float value, char *out) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return print_float(bits >> 31, (int)(bits >> 23 & 0xff), bits & ((1u << 23) - 1), 23, 0xff, out);
}
