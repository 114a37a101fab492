/* value.c - single values from text: numbers, decimals, times, bytes.
 *
 * Nothing is rounded (but to the nearest FLOAT or DOUBLE) and nothing overflows: what does not fit
 * the type is refused.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "columns.h"
#include "nanoarrow/nanoarrow.h"

#define MAX_EXPONENT 10000 /* beyond it a number is 0 or none */

bool cli_expected_type(cli_columns *columns, const cli_column *c) {
  switch (c->kind) {
    case CLI_COLUMN_BOOLEAN:
      return cli_expected(columns, "true or false");
    case CLI_COLUMN_INT:
      return cli_expected(columns, "a whole number from %lld to %lld", (long long)c->min,
                          (long long)c->max);
    case CLI_COLUMN_FLOAT:
    case CLI_COLUMN_DOUBLE:
      return cli_expected(columns, "a number, \"NaN\", \"Infinity\" or \"-Infinity\"");
    case CLI_COLUMN_DECIMAL:
      return cli_expected(columns,
                          "a number with up to %d digits in front of the point and %d behind",
                          (int)(c->precision - c->scale), (int)c->scale);
    case CLI_COLUMN_TEXT:
      return cli_expected(columns, "a text");
    case CLI_COLUMN_BYTES:
      return cli_expected(columns, "bytes as pairs of hexadecimal digits");
    case CLI_COLUMN_DATE:
      return cli_expected(columns, "a date such as 2024-02-29");
    case CLI_COLUMN_TIME:
      return cli_expected(columns, "a time such as 12:34:56.789");
    case CLI_COLUMN_TIMESTAMP:
      return cli_expected(columns,
                          "a time such as 2024-02-29T12:34:56%s%s with up to %d digits behind "
                          "the point",
                          c->scale > 0 ? ".123" : "", c->is_instant ? "Z" : "", (int)c->scale);
    case CLI_COLUMN_LIST:
      return cli_expected(columns, "a list");
    case CLI_COLUMN_VECTOR:
      return cli_expected(columns, "a list of %d elements", (int)c->length);
    case CLI_COLUMN_MAP:
      return cli_expected(
          columns, "a list of lists [%s]",
          c->n_type > 8 && memcmp(c->type, "MULTISET", 8) == 0 ? "element, count" : "key, value");
    case CLI_COLUMN_ROW:
      return cli_expected(columns, "an object");
    default:
      return cli_expected(columns, "{\"json\": \"...\"} with a JSON text");
  }
}

/* ------------------------------------------------------------------ numbers */

/* [+-] digits [. digits] [e [+-] digits], taken apart. */
typedef struct number_text {
  bool is_negative;
  const char *digits, *end; /* with the point, up to the exponent */
  int64_t n_fraction;       /* digits behind the point */
  int64_t exponent;
} number_text;

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool split_exponent(const char *at, const char *end, int64_t *exponent) {
  bool is_negative = at < end && *at == '-';
  at += at < end && (*at == '-' || *at == '+');
  if (at == end) {
    return false;
  }
  for (; at < end; at++) {
    if (!is_digit(*at)) {
      return false;
    }
    *exponent = *exponent < MAX_EXPONENT ? *exponent * 10 + (*at - '0') : MAX_EXPONENT;
  }
  *exponent = is_negative ? -*exponent : *exponent;
  return true;
}

static bool split_number(const char *text, size_t n, number_text *out) {
  const char *at = text, *end = text + n;
  int64_t n_digits = 0;
  bool is_fraction = false;
  memset(out, 0, sizeof(*out));
  out->is_negative = at < end && *at == '-';
  at += at < end && (*at == '-' || *at == '+');
  out->digits = at;
  for (; at < end && (is_digit(*at) || (*at == '.' && !is_fraction)); at++) {
    is_fraction |= *at == '.';
    n_digits += *at != '.';
    out->n_fraction += is_fraction && *at != '.';
  }
  out->end = at;
  if (n_digits == 0) {
    return false;
  }
  return at == end || ((*at == 'e' || *at == 'E') && split_exponent(at + 1, end, &out->exponent));
}

/* The digits of number * 10^scale without sign and leading zeros, in `out`; false: there is one
 * behind them that is not 0, or there are more than 38. */
static bool scale_digits(const number_text *number, int64_t scale, char out[40], size_t *n) {
  int64_t shift = scale + number->exponent - number->n_fraction; /* zeros to add behind */
  int64_t left = -shift; /* digits at the end that must be 0 */
  const char *end = number->end;
  *n = 0;
  for (; left > 0 && end > number->digits; end--) {
    if (end[-1] == '.') {
      continue;
    }
    if (end[-1] != '0') {
      return false;
    }
    left--;
  }
  for (const char *at = number->digits; at < end; at++) {
    if (*at == '.' || (*at == '0' && *n == 0)) {
      continue;
    }
    if (*n == 38) {
      return false;
    }
    out[(*n)++] = *at;
  }
  if (*n == 0) { /* 0 has no other digits, whatever the exponent */
    out[(*n)++] = '0';
    return true;
  }
  if (shift > 38) {
    return false;
  }
  for (; shift > 0; shift--) {
    if (*n == 38) {
      return false;
    }
    out[(*n)++] = '0';
  }
  return true;
}

static bool digits_to_int(const char *digits, size_t n, bool is_negative, int64_t *out) {
  uint64_t value = 0;
  if (n > 19) {
    return false;
  }
  for (size_t i = 0; i < n; i++) {
    value = value * 10 + (uint64_t)(digits[i] - '0'); /* 19 digits fit */
  }
  if (value > (uint64_t)INT64_MAX + is_negative) {
    return false;
  }
  *out = is_negative ? (int64_t)(0 - value) : (int64_t)value;
  return true;
}

static bool add_int_text(cli_columns *columns, cli_column *c, const char *text, size_t n) {
  number_text number;
  char digits[40];
  size_t n_digits;
  int64_t value = 0;
  size_t i = text[0] == '-';
  if (n - i > 0 && n - i < 19) { /* most often: a sign and digits that cannot overflow */
    for (; i < n && is_digit(text[i]); i++) {
      value = value * 10 + (text[i] - '0');
    }
    if (i == n) {
      value = text[0] == '-' ? -value : value;
      return value >= c->min && value <= c->max ? cli_add_int(columns, c, value)
                                                : cli_expected_type(columns, c);
    }
  }
  return split_number(text, n, &number) && scale_digits(&number, 0, digits, &n_digits) &&
                 digits_to_int(digits, n_digits, number.is_negative, &value) && value >= c->min &&
                 value <= c->max
             ? cli_add_int(columns, c, value)
             : cli_expected_type(columns, c);
}

static bool add_decimal_text(cli_columns *columns, cli_column *c, const char *text, size_t n) {
  struct ArrowDecimal decimal;
  struct ArrowStringView view;
  number_text number;
  char digits[40];
  size_t n_digits;
  int64_t small;
  ArrowErrorCode code;
  if (!split_number(text, n, &number) || !scale_digits(&number, c->scale, digits, &n_digits) ||
      n_digits > (size_t)c->precision) {
    return cli_expected_type(columns, c);
  }
  ArrowDecimalInit(&decimal, 128, c->precision, c->scale);
  if (digits_to_int(digits, n_digits, number.is_negative, &small)) {
    ArrowDecimalSetInt(&decimal, small);
    code = NANOARROW_OK;
  } else {
    view.data = digits;
    view.size_bytes = (int64_t)n_digits;
    code = ArrowDecimalSetDigits(&decimal, view);
    if (number.is_negative) {
      ArrowDecimalNegate(&decimal);
    }
  }
  if (code == NANOARROW_OK) {
    code = ArrowArrayAppendDecimal(c->array, &decimal);
  }
  columns->is_out_of_memory |= code != NANOARROW_OK;
  return code == NANOARROW_OK || cli_expected_type(columns, c);
}

/* Exact when mantissa and power are exact as DOUBLE (Clinger); else strtod, which is right. */
static bool add_real_text(cli_columns *columns, cli_column *c, const char *text, size_t n) {
  static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  bool is_float = c->kind == CLI_COLUMN_FLOAT;
  number_text number;
  uint64_t mantissa = 0;
  int64_t exponent;
  double value;
  char *end;
  if (!split_number(text, n, &number)) {
    return cli_expected_type(columns, c);
  }
  exponent = number.exponent - number.n_fraction;
  if (!is_float && number.end - number.digits <= 17 && exponent >= -22 && exponent <= 22) {
    for (const char *at = number.digits; at < number.end; at++) {
      mantissa = *at == '.' ? mantissa : mantissa * 10 + (uint64_t)(*at - '0');
    }
    if (mantissa <= (uint64_t)1 << 53) {
      value =
          exponent < 0 ? (double)mantissa / powers[-exponent] : (double)mantissa * powers[exponent];
      return cli_add_real(columns, c, number.is_negative ? -value : value);
    }
  }
  value = is_float ? (double)strtof(text, &end) : strtod(text, &end);
  if (end != text + n || isinf(value)) {
    return cli_expected_type(columns, c);
  }
  return cli_add_real(columns, c, value);
}

bool cli_add_number(cli_columns *columns, cli_column *c, const char *text, size_t n) {
  switch (c->kind) {
    case CLI_COLUMN_INT:
      return add_int_text(columns, c, text, n);
    case CLI_COLUMN_DECIMAL:
      return add_decimal_text(columns, c, text, n);
    case CLI_COLUMN_FLOAT:
    case CLI_COLUMN_DOUBLE:
      return add_real_text(columns, c, text, n);
    default:
      return cli_expected_type(columns, c);
  }
}

/* ------------------------------------------------------------------ times */

/* Exactly n digits. */
static bool take_digits(const char **at, const char *end, int n, int64_t max, int64_t *out) {
  int64_t value = 0;
  if (end - *at < n) {
    return false;
  }
  for (int i = 0; i < n; i++) {
    if (!is_digit((*at)[i])) {
      return false;
    }
    value = value * 10 + ((*at)[i] - '0');
  }
  *at += n;
  *out = value;
  return value <= max;
}

static bool take_char(const char **at, const char *end, char c) {
  if (*at == end || **at != c) {
    return false;
  }
  (*at)++;
  return true;
}

/* Days since 1970 of a date as java.time.LocalDate prints it: four digits of the year, more with a
 * sign. */
static bool take_date(const char **at, const char *end, int64_t *days) {
  static const int month_days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  int64_t year = 0, month, day, era, of_era, of_year;
  bool has_sign = *at < end && (**at == '-' || **at == '+'), is_negative = has_sign && **at == '-';
  bool is_leap;
  int n = 0;
  *at += has_sign;
  for (; n < 9 && *at + n < end && is_digit((*at)[n]); n++) {
  }
  if (n < 4 || (n > 4 && !has_sign) || !take_digits(at, end, n, INT64_MAX, &year)) {
    return false;
  }
  year = is_negative ? -year : year;
  is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  if (!take_char(at, end, '-') || !take_digits(at, end, 2, 12, &month) || month < 1 ||
      !take_char(at, end, '-') || !take_digits(at, end, 2, 31, &day) || day < 1 ||
      day > month_days[month - 1] + (month == 2 && is_leap)) {
    return false;
  }
  year -= month <= 2; /* the year begins in March, so that the leap day is its last */
  era = (year >= 0 ? year : year - 399) / 400;
  of_era = year - era * 400;
  of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  *days = era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
  return true;
}

/* "12:34", "12:34:56", "12:34:56.789": seconds and nanoseconds. */
static bool take_clock(const char **at, const char *end, int64_t *seconds, int64_t *nanos) {
  int64_t hour, minute, second = 0, digits = 0;
  *nanos = 0;
  if (!take_digits(at, end, 2, 23, &hour) || !take_char(at, end, ':') ||
      !take_digits(at, end, 2, 59, &minute)) {
    return false;
  }
  if (take_char(at, end, ':')) {
    if (!take_digits(at, end, 2, 59, &second)) {
      return false;
    }
    if (take_char(at, end, '.')) {
      for (; *at < end && is_digit(**at); digits++, (*at)++) {
        if (digits == 9) {
          return false;
        }
        *nanos = *nanos * 10 + (**at - '0');
      }
      if (digits == 0) {
        return false;
      }
      for (; digits < 9; digits++) {
        *nanos *= 10;
      }
    }
  }
  *seconds = (hour * 60 + minute) * 60 + second;
  return true;
}

/* "Z", "+02:00", "+0200", "+02", "+00:19:32": seconds east of Greenwich. */
static bool take_offset(const char **at, const char *end, int64_t *seconds) {
  int64_t hours, minutes = 0, rest = 0;
  bool is_negative;
  *seconds = 0;
  if (take_char(at, end, 'Z')) {
    return true;
  }
  is_negative = *at < end && **at == '-';
  if (!take_char(at, end, is_negative ? '-' : '+') || !take_digits(at, end, 2, 18, &hours)) {
    return false;
  }
  if (*at < end) {
    (void)take_char(at, end, ':');
    if (!take_digits(at, end, 2, 59, &minutes) ||
        (take_char(at, end, ':') && !take_digits(at, end, 2, 59, &rest))) {
      return false;
    }
  }
  *seconds = (hours * 3600 + minutes * 60 + rest) * (is_negative ? -1 : 1);
  return true;
}

static bool add_timestamp_text(cli_columns *columns, cli_column *c, const char *text, size_t n) {
  static const int64_t per_second[] = {1, 0, 0, 1000, 0, 0, 1000000, 0, 0, 1000000000};
  const char *at = text, *end = text + n;
  int64_t days, seconds = 0, nanos = 0, offset = 0, unit = per_second[c->scale], value;
  int64_t per_unit = 1000000000 / unit;
  bool is_good = take_date(&at, end, &days);
  if (is_good && at < end && (*at == 'T' || *at == ' ')) {
    at++;
    is_good = take_clock(&at, end, &seconds, &nanos);
    if (is_good && c->is_instant) {
      is_good = take_offset(&at, end, &offset);
    }
  } else if (c->is_instant) {
    is_good = false;
  }
  if (!is_good || at != end || nanos % per_unit != 0) {
    return cli_expected_type(columns, c);
  }
  seconds += days * 86400 - offset;
  if (c->is_wide) { /* Java's Timestamp has 64 bits of milliseconds */
    return seconds >= INT64_MIN / 1000 - 1 && seconds <= INT64_MAX / 1000
               ? cli_add_time(columns, c, seconds, nanos)
               : cli_expected(columns, "a time of a year from -292275055 to 292278993");
  }
  if (__builtin_mul_overflow(seconds, unit, &value) ||
      __builtin_add_overflow(value, nanos / per_unit, &value)) {
    return cli_expected_type(columns, c);
  }
  return cli_add_int(columns, c, value);
}

static bool add_date_text(cli_columns *columns, cli_column *c, const char *text, size_t n) {
  const char *at = text, *end = text + n;
  int64_t days;
  return take_date(&at, end, &days) && at == end && days >= INT32_MIN && days <= INT32_MAX
             ? cli_add_int(columns, c, days)
             : cli_expected_type(columns, c);
}

static bool add_time_text(cli_columns *columns, cli_column *c, const char *text, size_t n) {
  const char *at = text, *end = text + n;
  int64_t seconds, nanos;
  return take_clock(&at, end, &seconds, &nanos) && at == end && nanos % 1000000 == 0
             ? cli_add_int(columns, c, seconds * 1000 + nanos / 1000000)
             : cli_expected_type(columns, c);
}

/* ------------------------------------------------------------------ others */

static int hex_value(char c) {
  char low = (char)(c | 0x20);
  return is_digit(c) ? c - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

static bool add_hex_text(cli_columns *columns, cli_column *c, const char *text, size_t n) {
  cli_text bytes = {0};
  bool is_good = n % 2 == 0;
  for (size_t i = 0; is_good && i < n; i += 2) {
    int high = hex_value(text[i]), low = hex_value(text[i + 1]);
    is_good = high >= 0 && low >= 0;
    if (is_good) {
      cli_text_char(&bytes, (char)(high << 4 | low));
    }
  }
  columns->is_out_of_memory |= bytes.is_broken;
  is_good = is_good && !bytes.is_broken ? cli_add_bytes(columns, c, bytes.data, bytes.len)
                                        : cli_expected_type(columns, c);
  cli_text_reset(&bytes);
  return is_good;
}

/* true, false; NaN and the infinities. */
static bool add_word(cli_columns *columns, cli_column *c, const char *text, size_t n) {
  static const struct {
    const char *word;
    double value;
  } reals[] = {{"NaN", NAN}, {"Infinity", INFINITY}, {"-Infinity", -INFINITY}};
  if (c->kind == CLI_COLUMN_BOOLEAN) {
    bool is_true = n == 4 && memcmp(text, "true", 4) == 0;
    return is_true || (n == 5 && memcmp(text, "false", 5) == 0) ? cli_add_int(columns, c, is_true)
                                                                : cli_expected_type(columns, c);
  }
  for (size_t i = 0; i < CLI_COUNT(reals); i++) {
    if (strlen(reals[i].word) == n && memcmp(reals[i].word, text, n) == 0) {
      return cli_add_real(columns, c, reals[i].value);
    }
  }
  return cli_expected_type(columns, c);
}

static bool add_variant_text(cli_columns *columns, cli_column *c, const char *text, size_t n) {
  tarn_string parts[2];
  tarn_error err;
  tarn_status st = tarn_variant_from_json(columns->env, text, n, &parts[0], &parts[1], &err);
  bool is_good = st == TARN_OK;
  if (!is_good) {
    columns->is_out_of_memory |= st == TARN_E_NOMEM;
    return cli_expected(columns, "a JSON text (%s)", err.message);
  }
  for (int i = 0; i < 2 && is_good; i++) {
    struct ArrowBufferView view = {{parts[i].data}, (int64_t)parts[i].length};
    is_good = ArrowArrayAppendBytes(c->array->children[i], view) == NANOARROW_OK;
  }
  tarn_string_free(&parts[0]);
  tarn_string_free(&parts[1]);
  return is_good ? cli_add_end(columns, c) : cli_expected(columns, "less than 2 GiB of a column");
}

bool cli_add_text(cli_columns *columns, cli_column *c, const char *text, size_t n) {
  switch (c->kind) {
    case CLI_COLUMN_BOOLEAN:
      return add_word(columns, c, text, n);
    case CLI_COLUMN_FLOAT:
    case CLI_COLUMN_DOUBLE:
      if (n > 0 && (text[n - 1] == 'N' || text[n - 1] == 'y')) {
        return add_word(columns, c, text, n);
      }
      return add_real_text(columns, c, text, n);
    case CLI_COLUMN_INT:
    case CLI_COLUMN_DECIMAL:
      return cli_add_number(columns, c, text, n);
    case CLI_COLUMN_TEXT:
      return cli_add_bytes(columns, c, text, n);
    case CLI_COLUMN_BYTES:
      return add_hex_text(columns, c, text, n);
    case CLI_COLUMN_DATE:
      return add_date_text(columns, c, text, n);
    case CLI_COLUMN_TIME:
      return add_time_text(columns, c, text, n);
    case CLI_COLUMN_TIMESTAMP:
      return add_timestamp_text(columns, c, text, n);
    case CLI_COLUMN_VARIANT:
      return add_variant_text(columns, c, text, n);
    default:
      return cli_expected_type(columns, c);
  }
}
