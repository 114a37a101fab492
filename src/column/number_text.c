/* number_text.c - digits of integers and decimals. */
#include "column/number_text.h"

#include "base/ascii.h"

#define MAX_EXPONENT INT64_C(10000000000) /* far beyond any value; keeps sums in range */

#define E18 ((tn_i128)1000000000000000000)
#define TENS(n) (n), (n) * 10, (n) * 100, (n) * 1000, (n) * 10000, (n) * 100000

const tn_i128 tn_powers_of_ten[39] = {
    TENS((tn_i128)1), TENS((tn_i128)1000000), TENS((tn_i128)1000000000000),
    TENS(E18),        TENS(E18 * 1000000),    TENS(E18 * 1000000000000),
    E18 *E18,         E18 *E18 * 10,          E18 *E18 * 100};

static const char digit_pairs[201] =
    "0001020304050607080910111213141516171819"
    "2021222324252627282930313233343536373839"
    "4041424344454647484950515253545556575859"
    "6061626364656667686970717273747576777879"
    "8081828384858687888990919293949596979899";

/* Writes the digits of value so that they end before `end`; returns where they begin. */
static char *digits_before(char *end, uint64_t value) {
  while (value >= 100) {
    end -= 2;
    memcpy(end, digit_pairs + 2 * (value % 100), 2);
    value /= 100;
  }
  if (value >= 10) {
    end -= 2;
    memcpy(end, digit_pairs + 2 * value, 2);
  } else {
    *--end = (char)('0' + value);
  }
  return end;
}

size_t tn_digits_u128(tn_u128 value, char *out) {
  const uint64_t chunk = UINT64_C(10000000000000000000); /* 10^19 */
  char digits[40], *end = digits + sizeof(digits), *begin = end;
  size_t n;
  while (value > UINT64_MAX) {
    char *chunk_begin = begin - 19;
    begin = digits_before(begin, (uint64_t)(value % chunk));
    while (begin > chunk_begin) {
      *--begin = '0';
    }
    value /= chunk;
  }
  if (value > 0 || begin == end) {
    begin = digits_before(begin, (uint64_t)value);
  }
  n = (size_t)(end - begin);
  memcpy(out, begin, n);
  return n;
}

char *tn_put_padded(char *out, uint64_t value, int width) {
  for (int i = width - 1; i >= 0; i--) {
    out[i] = (char)('0' + value % 10);
    value /= 10;
  }
  return out + width;
}

size_t tn_decimal_to_plain(tn_i128 unscaled, int32_t scale, char *out) {
  char digits[40];
  char *at = out;
  size_t n = tn_digits_u128(unscaled < 0 ? -(tn_u128)unscaled : (tn_u128)unscaled, digits);
  size_t fraction = (size_t)(scale > 0 ? scale : 0), whole = n > fraction ? n - fraction : 0;
  if (unscaled < 0) {
    *at++ = '-';
  }
  if (whole == 0) {
    *at++ = '0';
  }
  memcpy(at, digits, whole);
  at += whole;
  if (fraction > 0) {
    *at++ = '.';
    memset(at, '0', fraction - (n - whole));
    at += fraction - (n - whole);
    memcpy(at, digits + whole, n - whole);
    at += n - whole;
  }
  return (size_t)(at - out);
}

bool tn_decimal_text_split(tn_slice text, tn_decimal_text *out) {
  size_t at = 0, begin, n_digits = 0, n_points = 0;
  memset(out, 0, sizeof(*out));
  out->is_negative = text.len > 0 && text.data[0] == '-';
  at += text.len > 0 && (out->is_negative || text.data[0] == '+');
  for (begin = at; at < text.len && (tn_is_digit(text.data[at]) || text.data[at] == '.'); at++) {
    bool is_point = text.data[at] == '.';
    n_digits += !is_point;
    out->n_fraction += !is_point && n_points > 0;
    n_points += is_point;
  }
  out->digits = tn_slice_of(text.data + begin, at - begin);
  if (n_digits == 0 || n_points > 1) {
    return false;
  }
  if (at < text.len && tn_lower(text.data[at]) == 'e') {
    bool is_negative = ++at < text.len && text.data[at] == '-';
    at += at < text.len && (is_negative || text.data[at] == '+');
    for (begin = at; at < text.len && tn_is_digit(text.data[at]); at++) {
      out->exponent = out->exponent * 10 + (text.data[at] - '0');
      out->exponent = out->exponent < MAX_EXPONENT ? out->exponent : MAX_EXPONENT;
    }
    if (at == begin) {
      return false;
    }
    out->exponent = is_negative ? -out->exponent : out->exponent;
  }
  return at == text.len;
}
