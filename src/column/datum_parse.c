/* datum_parse.c - Java's casts from STRING, with their rules and refusals.
 *
 * Rule: org.apache.paimon.utils.BinaryStringUtils and DateTimeUtils of 1.4.2. Spec: datafiles, 7.
 */
#include "base/ascii.h"
#include "base/civil.h"
#include "column/datum.h"
#include "column/number_text.h"

/* ------------------------------------------------------------------ booleans and numbers */

static bool parse_boolean(tn_slice text, bool *out) {
  static const char *const words[2][5] = {{"f", "false", "n", "no", "0"},
                                          {"t", "true", "y", "yes", "1"}};
  for (int is_true = 0; is_true < 2; is_true++) {
    for (int i = 0; i < 5; i++) {
      if (tn_slice_is_nocase(text, words[is_true][i])) {
        *out = is_true;
        return true;
      }
    }
  }
  return false;
}

/* [+-] digits [. digits]: the fraction is checked and cut; "5.", "." and "-.5" count. */
static bool parse_integer(tn_slice text, int64_t min, int64_t max, int64_t *out) {
  size_t at = 0;
  bool is_negative = text.len > 0 && text.data[0] == '-';
  int64_t value = 0; /* negative, as that side reaches further */
  if (text.len > 0 && (is_negative || text.data[0] == '+')) {
    at++;
  }
  if (at == text.len) {
    return false;
  }
  for (; at < text.len && text.data[at] != '.'; at++) {
    if (!tn_is_digit(text.data[at]) || __builtin_mul_overflow(value, 10, &value) ||
        __builtin_sub_overflow(value, text.data[at] - '0', &value)) {
      return false;
    }
  }
  for (at++; at < text.len; at++) {
    if (!tn_is_digit(text.data[at])) {
      return false;
    }
  }
  if (!is_negative && __builtin_sub_overflow(0, value, &value)) {
    return false;
  }
  *out = value;
  return value >= min && value <= max;
}

/* Is it an integer for which Java takes the number itself as days, milliseconds or ticks? */
static bool is_numeric(tn_slice text) {
  size_t at = text.len > 0 && text.data[0] == '-';
  if (at == text.len) {
    return false;
  }
  for (; at < text.len; at++) {
    if (!tn_is_digit(text.data[at])) {
      return false;
    }
  }
  return true;
}

#define MAX_EXPONENT 2147483600 /* of java.math.BigDecimal */

/* Round HALF_UP to the scale; *is_null when the precision is passed. */
static bool parse_decimal(tn_slice text, const tn_type *type, tn_i128 *out, bool *is_null) {
  tn_decimal_text d;
  tn_u128 value = 0, limit = (tn_u128)tn_power_of_ten(type->precision);
  int64_t place; /* of the digit at hand: its power of ten */
  int rounds_up = 0;
  if (!tn_decimal_text_split(text, &d) || d.exponent > MAX_EXPONENT || d.exponent < -MAX_EXPONENT) {
    return false;
  }
  place = d.exponent - d.n_fraction - 1;
  for (size_t i = 0; i < d.digits.len; i++) {
    place += d.digits.data[i] != '.';
  }
  *is_null = false;
  for (size_t i = 0; i < d.digits.len; i++) {
    uint8_t c = d.digits.data[i];
    if (c == '.') {
      continue;
    }
    if (place >= -type->scale) {
      *is_null = value >= limit / 10;
      if (*is_null) {
        return true;
      }
      value = value * 10 + (tn_u128)(c - '0');
    } else if (place == -(int64_t)type->scale - 1) {
      rounds_up = c >= '5';
    }
    place--;
  }
  for (; value > 0 && place >= -type->scale; place--) { /* zeros of the exponent */
    *is_null = value >= limit / 10;
    if (*is_null) {
      return true;
    }
    value *= 10;
  }
  value += (tn_u128)rounds_up;
  *is_null = value >= limit;
  *out = d.is_negative ? -(tn_i128)value : (tn_i128)value;
  return true;
}

/* ------------------------------------------------------------------ strings */

static bool starts_char(uint8_t c) {
  return (c & 0xc0) != 0x80;
}

/* CHAR(n): cut or padded with blanks to n characters; VARCHAR(n): cut. */
static bool fit_characters(tn_arena *arena, tn_slice text, const tn_type *type, tn_slice *out) {
  int64_t n_chars = 0;
  size_t padding, end = 0;
  uint8_t *padded;
  for (; end < text.len; end++) {
    if (starts_char(text.data[end]) && n_chars++ == type->length) {
      return tn_arena_slice(arena, tn_slice_of(text.data, end), out);
    }
  }
  if (type->root == TN_VARCHAR || n_chars == type->length) {
    return tn_arena_slice(arena, text, out);
  }
  padding = (size_t)(type->length - n_chars);
  padded = tn_arena_alloc(arena, text.len + padding);
  if (padded == NULL) {
    return false;
  }
  if (text.len > 0) {
    memcpy(padded, text.data, text.len);
  }
  memset(padded + text.len, ' ', padding);
  *out = tn_slice_of(padded, text.len + padding);
  return true;
}

/* BINARY(n): cut or padded with zeros; VARBINARY(n): cut. */
static bool fit_bytes(tn_arena *arena, tn_slice bytes, const tn_type *type, tn_slice *out) {
  size_t limit = type->root == TN_BLOB ? SIZE_MAX : (size_t)type->length;
  uint8_t *padded;
  if (bytes.len >= limit || type->root != TN_BINARY) {
    return tn_arena_slice(arena, tn_slice_of(bytes.data, bytes.len < limit ? bytes.len : limit),
                          out);
  }
  padded = tn_arena_calloc(arena, limit, 1);
  if (padded == NULL) {
    return false;
  }
  if (bytes.len > 0) {
    memcpy(padded, bytes.data, bytes.len);
  }
  *out = tn_slice_of(padded, limit);
  return true;
}

/* ------------------------------------------------------------------ dates and times */

/* Digits with blanks around them, as Integer.parseInt(s.trim()). */
static bool parse_trimmed(tn_slice s, int64_t *out) {
  s = tn_slice_trim(s);
  *out = 0;
  for (size_t i = 0; i < s.len; i++) {
    if (!tn_is_digit(s.data[i])) {
      return false;
    }
    *out = *out * 10 + (s.data[i] - '0');
    if (*out > INT32_MAX) {
      return false;
    }
  }
  return s.len > 0;
}

/* Cut what is before `mark` off; all of it when there is no mark. */
static bool cut_at(tn_slice *rest, char mark, tn_slice *before) {
  const uint8_t *at = rest->len > 0 ? memchr(rest->data, mark, rest->len) : NULL;
  size_t n = at != NULL ? (size_t)(at - rest->data) : rest->len;
  *before = tn_slice_of(rest->data, n);
  *rest = at != NULL ? tn_slice_of(at + 1, rest->len - n - 1) : tn_slice_of(NULL, 0);
  return at != NULL;
}

/* y[-m[-d]], a time behind a blank is ignored; a number alone is days since 1970. */
static bool parse_date(tn_slice text, int64_t *out) {
  int64_t year, month = 1, day = 1;
  tn_slice part;
  if (is_numeric(text)) {
    return parse_integer(text, INT32_MIN, INT32_MAX, out);
  }
  if (text.len > 0 && text.data[0] != ' ') {
    tn_slice rest = text;
    cut_at(&rest, ' ', &text);
  }
  if (cut_at(&text, '-', &part)) {
    if (!parse_trimmed(part, &year)) {
      return false;
    }
    if (cut_at(&text, '-', &part)) {
      if (!parse_trimmed(part, &month) || !parse_trimmed(text, &day)) {
        return false;
      }
    } else if (!parse_trimmed(part, &month)) {
      return false;
    }
  } else if (!parse_trimmed(part, &year)) {
    return false;
  }
  if (year > 9999 || month < 1 || month > 12 || day < 1 ||
      day > tn_days_of_month(year, (int32_t)month)) {
    return false;
  }
  *out = tn_days_from_civil(year, (int32_t)month, (int32_t)day);
  return true;
}

/* Three digits, rounded by the fourth; what is no digit counts as 0. */
static int64_t parse_milliseconds(tn_slice s) {
  int64_t ms = 0, unit = 100;
  while (s.len > 0 && s.data[0] <= ' ') {
    s.data++;
    s.len--;
  }
  for (size_t i = 0; i < s.len && i < 3; i++, unit /= 10) {
    ms += tn_is_digit(s.data[i]) ? unit * (s.data[i] - '0') : 0;
  }
  return ms + (s.len > 3 && s.data[3] >= '5');
}

/* h[:m[:s[.fraction]]][(+|-)h[:m]], nothing bounded; a number alone is milliseconds. */
static bool parse_time(tn_slice text, int64_t *out) {
  int64_t hour = 0, minute = 0, second = 0, ms = 0, zone_hour = 0, zone_minute = 0, sign = -1;
  bool has_zone_minute = false;
  tn_slice clock = text, zone = text, part;
  if (is_numeric(text)) {
    return parse_integer(text, INT32_MIN, INT32_MAX, out);
  }
  if (!cut_at(&zone, '-', &clock)) {
    zone = text;
    sign = 1;
    if (!cut_at(&zone, '+', &clock)) {
      sign = 0;
    }
  }
  if (sign != 0) {
    has_zone_minute = cut_at(&zone, ':', &part);
    if (!parse_trimmed(part, &zone_hour) ||
        (has_zone_minute && !parse_trimmed(zone, &zone_minute))) {
      return false;
    }
  }
  if (cut_at(&clock, ':', &part)) {
    if (!parse_trimmed(part, &hour)) {
      return false;
    }
    if (cut_at(&clock, ':', &part)) {
      if (!parse_trimmed(part, &minute)) {
        return false;
      }
      if (cut_at(&clock, '.', &part)) {
        ms = parse_milliseconds(clock);
      }
      if (!parse_trimmed(part, &second)) {
        return false;
      }
    } else if (has_zone_minute || !parse_trimmed(part, &minute)) {
      return false; /* Java takes the zone's colon for the one before the seconds */
    }
  } else if (has_zone_minute || !parse_trimmed(part, &hour)) {
    return false;
  }
  hour += sign * zone_hour;
  minute += sign * zone_minute;
  /* Java's int arithmetic wraps */
  *out = (int32_t)(uint32_t)(uint64_t)(hour * 3600000 + minute * 60000 + second * 1000 + ms);
  return true;
}

/* ------------------------------------------------------------------ timestamps */

typedef struct cursor {
  tn_slice s;
  size_t at;
} cursor;

static bool skip(cursor *c, char what) {
  bool is = c->at < c->s.len && c->s.data[c->at] == (uint8_t)what;
  c->at += is;
  return is;
}

static size_t count_digits(const cursor *c) {
  size_t n = 0;
  while (c->at + n < c->s.len && tn_is_digit(c->s.data[c->at + n])) {
    n++;
  }
  return n;
}

static bool take_digits(cursor *c, size_t n, int64_t *out) {
  *out = 0;
  for (size_t i = 0; i < n; i++) {
    if (__builtin_mul_overflow(*out, 10, out) ||
        __builtin_add_overflow(*out, c->s.data[c->at + i] - '0', out)) {
      return false;
    }
  }
  c->at += n;
  return n > 0;
}

/* The pattern "[MM][M]": one or two digits; or two and the same number again, which Java's
 * formatter also takes. */
static bool take_field(cursor *c, int64_t min, int64_t max, int64_t *out) {
  size_t n = count_digits(c);
  int64_t again;
  if (n == 0 || n > 21 || !take_digits(c, n == 1 ? 1 : 2, out) || *out < min || *out > max) {
    return false;
  }
  return n <= 2 || (take_digits(c, n - 2, &again) && again == *out);
}

/* The pattern "yyyy": four digits, or a plus sign and more. */
static bool take_year(cursor *c, int64_t *out) {
  bool has_plus = skip(c, '+');
  size_t n = count_digits(c);
  return (has_plus ? n > 4 && n < 10 : n == 4) && take_digits(c, n, out) && *out > 0;
}

/* yyyy-[MM][M]-[dd][d][ [HH][H]:[mm][m]:[ss][s][.fraction]], days past the end of a month are its
 * last day, 24:00:00 is the next midnight. */
static bool parse_date_time(tn_slice text, int64_t *seconds, int64_t *nanos) {
  cursor c = {text, 0};
  int64_t year, month, day, last, hour = 0, minute = 0, second = 0;
  *nanos = 0;
  if (!take_year(&c, &year) || !skip(&c, '-') || !take_field(&c, 1, 12, &month) || !skip(&c, '-') ||
      !take_field(&c, 1, 31, &day)) {
    return false;
  }
  if (c.at < text.len) {
    if (!skip(&c, ' ') || !take_field(&c, 0, 24, &hour) || !skip(&c, ':') ||
        !take_field(&c, 0, 59, &minute) || !skip(&c, ':') || !take_field(&c, 0, 59, &second)) {
      return false;
    }
    if (skip(&c, '.')) {
      size_t n = count_digits(&c);
      if (n > 9 || (n > 0 && !take_digits(&c, n, nanos))) {
        return false;
      }
      for (; n < 9; n++) {
        *nanos *= 10;
      }
    }
  }
  if (c.at < text.len || (hour == 24 && (minute > 0 || second > 0 || *nanos > 0))) {
    return false;
  }
  last = tn_days_of_month(year, (int32_t)month);
  *seconds = tn_days_from_civil(year, (int32_t)month, (int32_t)(day < last ? day : last)) * 86400 +
             hour * 3600 + minute * 60 + second;
  return true;
}

static bool parse_timestamp(tn_slice text, const tn_type *type, const tn_zone *zone,
                            tn_datum *out) {
  int64_t seconds = 0, nanos = 0, unit = (int64_t)tn_power_of_ten(9 - type->precision);
  int64_t ticks = tn_timestamp_ticks(type->precision);
  tn_i128 value;
  if (type->root == TN_TIMESTAMP && is_numeric(text)) {
    /* ticks of the precision, of which Java knows four */
    if (type->precision % 3 != 0 || !parse_integer(text, INT64_MIN, INT64_MAX, &seconds)) {
      return false;
    }
    value = (tn_i128)seconds * (ticks / (int64_t)tn_power_of_ten(type->precision));
  } else {
    if (!parse_date_time(text, &seconds, &nanos)) {
      return false;
    }
    if (type->root == TN_TIMESTAMP_LTZ && zone != NULL) {
      seconds = tn_zone_local_to_utc(zone, seconds);
    }
    nanos -= nanos % unit;
    value = (tn_i128)seconds * ticks + nanos / (1000000000 / ticks);
  }
  if (ticks == 1000000000) {
    out->v.i128 = value;
    return true;
  }
  out->v.i64 = (int64_t)value;
  return value >= INT64_MIN && value <= INT64_MAX;
}

/* ------------------------------------------------------------------ all types */

static bool parse(tn_arena *arena, const tn_type *type, tn_slice text, const tn_zone *zone,
                  tn_datum *out, bool *is_oom) {
  float f;
  switch (type->root) {
    case TN_BOOLEAN:
      return parse_boolean(text, &out->v.boolean);
    case TN_TINYINT:
      return parse_integer(text, INT8_MIN, INT8_MAX, &out->v.i64);
    case TN_SMALLINT:
      return parse_integer(text, INT16_MIN, INT16_MAX, &out->v.i64);
    case TN_INT:
      return parse_integer(text, INT32_MIN, INT32_MAX, &out->v.i64);
    case TN_BIGINT:
      return parse_integer(text, INT64_MIN, INT64_MAX, &out->v.i64);
    case TN_FLOAT:
      if (!tn_float_from_text(text, &f)) {
        return false;
      }
      out->v.f64 = f;
      return true;
    case TN_DOUBLE:
      return tn_double_from_text(text, &out->v.f64);
    case TN_DECIMAL:
      return parse_decimal(text, type, &out->v.i128, &out->is_null);
    case TN_CHAR:
    case TN_VARCHAR:
      *is_oom = !fit_characters(arena, text, type, &out->v.bytes);
      return !*is_oom;
    case TN_BINARY:
    case TN_VARBINARY:
    case TN_BLOB:
      *is_oom = !fit_bytes(arena, text, type, &out->v.bytes);
      return !*is_oom;
    case TN_DATE:
      return parse_date(text, &out->v.i64);
    case TN_TIME:
      return parse_time(text, &out->v.i64);
    case TN_TIMESTAMP:
    case TN_TIMESTAMP_LTZ:
      return parse_timestamp(text, type, zone, out);
    default:
      return false;
  }
}

tarn_status tn_datum_from_text(tn_arena *arena, const tn_type *type, tn_slice text,
                               const tn_zone *zone, tn_datum *out, tarn_error *err) {
  bool is_oom = false;
  memset(out, 0, sizeof(*out));
  if (parse(arena, type, text, zone, out, &is_oom)) {
    return TARN_OK;
  }
  if (is_oom) {
    return tn_oom(err);
  }
  return tn_fail(err, TARN_E_INVALID, "\"%.*s\" is not a value of type %s", TN_SLICE_ARG(text),
                 tn_type_text_of(type).text);
}
