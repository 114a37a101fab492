/* float_parse.c - text to DOUBLE and FLOAT as Java's parsers do, correctly rounded.
 *
 *   text  := blanks [+|-] ("NaN" | "Infinity" | number [fFdD] | hex [fFdD]) blanks
 *   hex   := 0x digits with a point, p, signed exponent
 *
 * Blanks are all bytes up to U+0020. A number is taken as digits * 10^exponent; past MAX_DIGITS
 * further digits only tell whether there is more. Small ones are one exact operation; the others go
 * through exact arithmetic on big integers: 64 leading bits of the quotient and whether there is a
 * rest, then one rounding.
 */
#include <math.h>

#include "base/ascii.h"
#include "base/bytes.h"
#include "column/number_text.h"

#define MAX_DIGITS 800 /* a border between two DOUBLEs has at most 767 */
#define LIMBS 72       /* 10^310 * 2^64 and 10^1130 fit */

typedef struct big {
  uint64_t limb[LIMBS]; /* least first */
  int n;                /* used; the last one is not 0 */
} big;

/* 64 leading bits: m * 2^e, and whether something not 0 is cut off. m has its top bit set. */
typedef struct leading {
  uint64_t m;
  int e;
  bool has_rest;
} leading;

/* ------------------------------------------------------------------ big integers */

static void big_multiply_add(big *b, uint64_t factor, uint64_t add) {
  tn_u128 carry = add;
  for (int i = 0; i < b->n; i++) {
    carry += (tn_u128)b->limb[i] * factor;
    b->limb[i] = (uint64_t)carry;
    carry >>= 64;
  }
  if (carry != 0 && b->n < LIMBS) {
    b->limb[b->n++] = (uint64_t)carry;
  }
}

static void big_multiply_pow10(big *b, int exponent) {
  for (; exponent >= 19; exponent -= 19) {
    big_multiply_add(b, UINT64_C(10000000000000000000), 0);
  }
  for (; exponent > 0; exponent--) {
    big_multiply_add(b, 10, 0);
  }
}

static int big_bits(const big *b) {
  return b->n == 0 ? 0 : 64 * b->n - __builtin_clzll(b->limb[b->n - 1]);
}

static void big_shift_left(big *b, int bits) {
  int limbs = bits / 64, rest = bits % 64;
  if (b->n == 0 || bits == 0) {
    return;
  }
  for (int i = b->n - 1; i >= 0; i--) {
    uint64_t high = rest > 0 ? b->limb[i] >> (64 - rest) : 0;
    uint64_t low = b->limb[i] << rest;
    if (i + limbs + 1 < LIMBS) {
      b->limb[i + limbs + 1] = i == b->n - 1 ? high : b->limb[i + limbs + 1] | high;
    }
    b->limb[i + limbs] = low;
  }
  memset(b->limb, 0, (size_t)limbs * sizeof(b->limb[0]));
  b->n += limbs + 1;
  b->n = b->n > LIMBS ? LIMBS : b->n;
  while (b->n > 0 && b->limb[b->n - 1] == 0) {
    b->n--;
  }
}

static int big_compare(const big *a, const big *b) {
  if (a->n != b->n) {
    return a->n < b->n ? -1 : 1;
  }
  for (int i = a->n - 1; i >= 0; i--) {
    if (a->limb[i] != b->limb[i]) {
      return a->limb[i] < b->limb[i] ? -1 : 1;
    }
  }
  return 0;
}

/* a -= b, which is not larger. */
static void big_subtract(big *a, const big *b) {
  uint64_t borrow = 0;
  for (int i = 0; i < a->n; i++) {
    uint64_t take = i < b->n ? b->limb[i] : 0;
    uint64_t rest = a->limb[i] - take - borrow;
    borrow = a->limb[i] < take || (a->limb[i] == take && borrow > 0);
    a->limb[i] = rest;
  }
  while (a->n > 0 && a->limb[a->n - 1] == 0) {
    a->n--;
  }
}

static leading big_leading(const big *b) {
  int bits = big_bits(b), cut = bits - 64;
  leading out = {0, cut, false};
  if (cut <= 0) {
    out.m = b->limb[0] << -cut;
    return out;
  }
  out.m = b->limb[cut / 64] >> (cut % 64);
  if (cut % 64 != 0) {
    out.m |= b->limb[cut / 64 + 1] << (64 - cut % 64);
    out.has_rest = (b->limb[cut / 64] & (((uint64_t)1 << (cut % 64)) - 1)) != 0;
  }
  for (int i = 0; i < cut / 64; i++) {
    out.has_rest |= b->limb[i] != 0;
  }
  return out;
}

/* The leading bits of a / b: long division in binary. */
static leading big_divide(big *a, big *b) {
  leading out = {0, 0, false};
  int ahead = big_bits(a) - big_bits(b);
  if (ahead > 0) {
    big_shift_left(b, ahead);
  } else {
    big_shift_left(a, -ahead);
  }
  if (big_compare(a, b) < 0) {
    big_shift_left(a, 1);
    ahead--;
  }
  for (int i = 0; i < 64; i++) { /* b <= a < 2b at first */
    out.m <<= 1;
    if (big_compare(a, b) >= 0) {
      big_subtract(a, b);
      out.m |= 1;
    }
    big_shift_left(a, 1);
  }
  out.e = ahead - 63;
  out.has_rest = a->n > 0;
  return out;
}

/* ------------------------------------------------------------------ rounding */

/* The nearest value with `precision` bits of which the least is worth 2^least_exponent or more; a
 * tie goes to even. Exact in a double, which has room for both formats. */
static double round_to(leading v, int precision, int least_exponent, double infinity_from) {
  int cut = 64 - precision;
  uint64_t kept, half, rest;
  double value;
  if (v.m == 0) {
    return 0;
  }
  if (v.e + cut < least_exponent) {
    cut = least_exponent - v.e;
  }
  if (cut > 64) {
    return 0;
  }
  kept = cut == 64 ? 0 : v.m >> cut;
  half = (uint64_t)1 << (cut - 1);
  rest = cut == 64 ? v.m : v.m & (((uint64_t)1 << cut) - 1);
  if (rest > half || (rest == half && (v.has_rest || (kept & 1) != 0))) {
    kept++;
  }
  value = ldexp((double)kept, v.e + cut);
  return value >= infinity_from ? INFINITY : value;
}

/* ------------------------------------------------------------------ grammar */

typedef struct number {
  bool is_negative;
  enum { PLAIN_NUMBER, HEX, NAN_WORD, INFINITY_WORD } kind;
  tn_slice digits; /* with a point in it */
  int64_t exponent;
} number;

/* [+-] digits, from *at on; large ones stop at a billion. */
static bool parse_exponent(tn_slice text, size_t *at, int64_t *out) {
  bool is_negative = *at < text.len && text.data[*at] == '-';
  size_t begin;
  *out = 0;
  *at += *at < text.len && (text.data[*at] == '-' || text.data[*at] == '+');
  begin = *at;
  for (; *at < text.len && tn_is_digit(text.data[*at]); ++*at) {
    *out = *out < 1000000000 ? *out * 10 + (text.data[*at] - '0') : *out;
  }
  *out = is_negative ? -*out : *out;
  return *at > begin;
}

static bool parse_number(tn_slice text, number *out) {
  size_t at = 0, n_digits = 0, points = 0, begin;
  memset(out, 0, sizeof(*out));
  text = tn_slice_trim(text);
  if (text.len > 0 && (text.data[0] == '-' || text.data[0] == '+')) {
    out->is_negative = text.data[0] == '-';
    text.data++;
    text.len--;
  }
  if (tn_slice_is(text, "NaN") || tn_slice_is(text, "Infinity")) {
    out->kind = text.data[0] == 'N' ? NAN_WORD : INFINITY_WORD;
    return true;
  }
  if (text.len > 1 && text.data[0] == '0' && (text.data[1] | 0x20) == 'x') {
    out->kind = HEX;
    at = 2;
  }
  for (begin = at; at < text.len; at++) {
    bool is_point = text.data[at] == '.';
    if (!is_point &&
        (out->kind == HEX ? tn_hex_value(text.data[at]) < 0 : !tn_is_digit(text.data[at]))) {
      break;
    }
    points += is_point;
    n_digits += !is_point;
  }
  out->digits = tn_slice_of(text.data + begin, at - begin);
  if (n_digits == 0 || points > 1) {
    return false;
  }
  if (at < text.len && (text.data[at] | 0x20) == (out->kind == HEX ? 'p' : 'e')) {
    at++;
    if (!parse_exponent(text, &at, &out->exponent)) {
      return false;
    }
  } else if (out->kind == HEX) {
    return false;
  }
  at += at < text.len && ((text.data[at] | 0x20) == 'f' || (text.data[at] | 0x20) == 'd');
  return at == text.len;
}

/* ------------------------------------------------------------------ values */

static leading hex_leading(const number *n) {
  leading v = {0, 0, false};
  int64_t e = n->exponent;
  bool behind_point = false;
  for (size_t i = 0; i < n->digits.len; i++) {
    int digit = tn_hex_value(n->digits.data[i]);
    if (digit < 0) {
      behind_point = true;
      continue;
    }
    if (v.m >> 60 == 0) {
      v.m = v.m << 4 | (uint64_t)digit;
      e -= behind_point ? 4 : 0;
    } else {
      v.has_rest |= digit != 0;
      e += behind_point ? 0 : 4;
    }
  }
  if (v.m != 0) {
    int shift = __builtin_clzll(v.m);
    v.m <<= shift;
    e -= shift;
  }
  v.e = (int)(e > 100000 ? 100000 : e < -100000 ? -100000 : e);
  return v;
}

/* The digits without leading and trailing zeros as one integer, and the power of ten of its end. */
typedef struct decimal_digits {
  uint64_t small; /* when it has at most 19 digits */
  int count;      /* of digits; 0 for zero */
  int64_t exponent;
  big digits;
} decimal_digits;

static void read_significand(const number *n, decimal_digits *s) {
  const uint8_t *d = n->digits.data;
  size_t end = n->digits.len, i = 0;
  int64_t behind = 0; /* digits behind the point so far */
  bool behind_point = false, has_more = false;
  uint64_t chunk = 0, unit = 1;
  memset(s, 0, sizeof(*s));
  for (; i < end; i++) {
    if (d[i] == '.') {
      behind_point = true;
      continue;
    }
    if (s->count == 0 && d[i] == '0') {
      behind += behind_point;
      continue;
    }
    if (s->count == MAX_DIGITS) {
      has_more |= d[i] != '0';
      behind -= !behind_point;
      continue;
    }
    behind += behind_point;
    chunk = chunk * 10 + (uint64_t)(d[i] - '0');
    unit *= 10;
    s->count++;
    if (s->count <= 19) {
      s->small = chunk;
    }
    if (unit == UINT64_C(10000000000000000000)) {
      big_multiply_add(&s->digits, unit, chunk);
      chunk = 0;
      unit = 1;
    }
  }
  if (has_more) { /* one digit more stands for all that follow */
    chunk = chunk * 10 + 1;
    unit *= 10;
    behind++;
    s->count++;
  }
  if (unit > 1) {
    big_multiply_add(&s->digits, unit, chunk);
  }
  s->exponent = n->exponent - behind;
}

static leading decimal_leading(decimal_digits *s) {
  leading v = {0, 0, false};
  int64_t magnitude = s->count + s->exponent; /* value < 10^magnitude */
  big power;
  if (s->count == 0 || magnitude < -400) {
    return v;
  }
  if (magnitude > 400) {
    return (leading){UINT64_MAX, 2000, true};
  }
  if (s->exponent >= 0) {
    big_multiply_pow10(&s->digits, (int)s->exponent);
    return big_leading(&s->digits);
  }
  memset(&power, 0, sizeof(power));
  power.limb[0] = 1;
  power.n = 1;
  big_multiply_pow10(&power, (int)-s->exponent);
  return big_divide(&s->digits, &power);
}

static double sign_of(const number *n, double value) {
  return n->is_negative ? -value : value;
}

bool tn_double_from_text(tn_slice text, double *out) {
  static const double pow10[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  number n;
  decimal_digits s;
  if (!parse_number(text, &n)) {
    return false;
  }
  if (n.kind == NAN_WORD || n.kind == INFINITY_WORD) {
    *out = n.kind == NAN_WORD ? NAN : sign_of(&n, INFINITY);
    return true;
  }
  if (n.kind == HEX) {
    *out = sign_of(&n, round_to(hex_leading(&n), 53, -1074, INFINITY));
    return true;
  }
  read_significand(&n, &s);
  if (s.count <= 19 && s.small <= (uint64_t)1 << 53 && s.exponent >= -22 && s.exponent <= 22) {
    /* both are exact, so one operation rounds right */
    *out = sign_of(&n, s.exponent < 0 ? (double)s.small / pow10[-s.exponent]
                                      : (double)s.small * pow10[s.exponent]);
    return true;
  }
  *out = sign_of(&n, round_to(decimal_leading(&s), 53, -1074, INFINITY));
  return true;
}

bool tn_float_from_text(tn_slice text, float *out) {
  number n;
  decimal_digits s;
  leading v;
  if (!parse_number(text, &n)) {
    return false;
  }
  if (n.kind == NAN_WORD || n.kind == INFINITY_WORD) {
    *out = (float)(n.kind == NAN_WORD ? NAN : sign_of(&n, INFINITY));
    return true;
  }
  if (n.kind == HEX) {
    v = hex_leading(&n);
  } else {
    read_significand(&n, &s);
    v = decimal_leading(&s);
  }
  *out = (float)sign_of(&n, round_to(v, 24, -149, 0x1p128));
  return true;
}
