/* cdc_value.c - values of a change feed as values of columns. */
#include "cdc_value.h"

#include <stdio.h>
#include <stdlib.h>

#include "as_of.h"
#include "utf8.h"

__extension__ typedef unsigned __int128 uint128;

void cdc_values_reset(cdc_values *values) {
  cli_text_reset(&values->scratch);
  cli_text_reset(&values->bytes);
  cli_text_reset(&values->type);
}

int32_t cdc_type_number(const cli_column *c, int which, int32_t otherwise) {
  const char *at = memchr(c->type, '(', c->n_type), *end = c->type + c->n_type;
  int64_t value = 0;
  if (at == NULL) {
    return otherwise;
  }
  for (at++; which > 0; which--, at++) {
    at = memchr(at, ',', (size_t)(end - at));
    if (at == NULL) {
      return otherwise;
    }
  }
  for (; at < end && *at == ' '; at++) {
  }
  if (at == end || *at < '0' || *at > '9') {
    return otherwise;
  }
  for (; at < end && *at >= '0' && *at <= '9' && value <= INT32_MAX; at++) {
    value = value * 10 + (*at - '0');
  }
  return value <= INT32_MAX ? (int32_t)value : INT32_MAX;
}

/* ------------------------------------------------------------------ bytes */

static int base64_digit(char c) {
  return c >= 'A' && c <= 'Z'   ? c - 'A'
         : c >= 'a' && c <= 'z' ? c - 'a' + 26
         : c >= '0' && c <= '9' ? c - '0' + 52
         : c == '+' || c == '-' ? 62
         : c == '/' || c == '_' ? 63
                                : -1;
}

/* Both alphabets, with or without padding. */
static bool decode_base64(const char *text, size_t n, cli_text *out) {
  uint32_t bits = 0;
  int n_bits = 0;
  out->len = 0;
  if (n > 0 && n % 4 == 0) {
    n -= text[n - 1] == '=';
    n -= text[n - 1] == '=';
  }
  if (n % 4 == 1) {
    return false;
  }
  for (size_t i = 0; i < n; i++) {
    int digit = base64_digit(text[i]);
    if (digit < 0) {
      return false;
    }
    bits = bits << 6 | (uint32_t)digit;
    n_bits += 6;
    if (n_bits >= 8) {
      n_bits -= 8;
      cli_text_char(out, (char)(bits >> n_bits));
    }
  }
  return !out->is_broken;
}

/* Characters up to U+00FF, one a byte, as Canal prints what is binary. */
static bool decode_latin1(const char *text, size_t n, cli_text *out) {
  out->len = 0;
  for (size_t i = 0; i < n; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c < 0x80) {
      cli_text_char(out, (char)c);
    } else if ((c == 0xC2 || c == 0xC3) && i + 1 < n) {
      cli_text_char(out, (char)((c & 3) << 6 | ((unsigned char)text[++i] & 0x3F)));
    } else {
      return false;
    }
  }
  return !out->is_broken;
}

/* Text that a connector which was told so writes in hexadecimal digits, and that base64 (padded, as
 * connectors have it) cannot be, or never is by chance. */
static bool looks_like_hex(const char *text, size_t n) {
  if (n == 0 || n % 2 != 0 || (n % 4 == 0 && n < 16)) {
    return false;
  }
  for (size_t i = 0; i < n; i++) {
    if (!((text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f') ||
          (text[i] >= 'A' && text[i] <= 'F'))) {
      return false;
    }
  }
  return true;
}

static bool add_bytes(cdc_values *v, cli_column *c, const char *text, size_t n,
                      const cdc_hint *hint) {
  int32_t max = cdc_type_number(c, 0, INT32_MAX);
  bool are_bytes = hint != NULL && (hint->encoding == CDC_BINARY || hint->encoding == CDC_BITS);
  bool is_good;
  cdc_bytes way = are_bytes ? CDC_BASE64 : v->style.bytes; /* as converters write bytes to JSON */
  if (!v->style.bytes_are_told && hint != NULL && !are_bytes) {
    return cli_expected(v->columns,
                        "to be told whether the text is base64 or hexadecimal digits, "
                        "which its schema does not tell: --encodings bytes=base64 or "
                        "bytes=hex");
  }
  if (!v->style.bytes_are_told && hint == NULL && way == CDC_BASE64 && looks_like_hex(text, n)) {
    return cli_expected(v->columns,
                        "bytes in base64, not hexadecimal digits (--encodings bytes=hex "
                        "takes those, bytes=base64 any text that can be it)");
  }
  if (way == CDC_HEX) {
    if (n / 2 > (size_t)max) {
      return cli_expected(v->columns, "up to %d bytes", (int)max);
    }
    return cli_add_text(v->columns, c, text, n);
  }
  is_good =
      way == CDC_BASE64 ? decode_base64(text, n, &v->bytes) : decode_latin1(text, n, &v->bytes);
  if (!is_good) {
    return cli_expected(v->columns,
                        way == CDC_BASE64 ? "bytes in base64" : "bytes as characters up to U+00FF");
  }
  if (v->bytes.len > (size_t)max) {
    return cli_expected(v->columns, "up to %d bytes", (int)max);
  }
  return cli_add_bytes(v->columns, c, v->bytes.data, v->bytes.len);
}

/* ------------------------------------------------------------------ decimals */

/* A number in two's complement, big endian, with `scale` digits behind the point, as text:
 * "-12.30". `out` has room for 16 bytes' worth. 0: too long. */
static size_t decimal_text(const uint8_t *bytes, size_t n, int32_t scale, char out[128]) {
  char digits[64];
  uint128 value = 0;
  bool is_negative = n > 0 && bytes[0] >= 0x80;
  size_t n_digits = 0, len = 0;
  if (n == 0 || n > 16 || scale < -60 || scale > 60) {
    return 0;
  }
  for (size_t i = 0; i < n; i++) {
    value = value << 8 | (is_negative ? (uint8_t)~bytes[i] : bytes[i]);
  }
  value += is_negative;
  while (value > UINT64_MAX) {
    digits[n_digits++] = (char)('0' + (int)(value % 10));
    value /= 10;
  }
  for (uint64_t low = (uint64_t)value; low > 0; low /= 10) {
    digits[n_digits++] = (char)('0' + (int)(low % 10));
  }
  while (n_digits == 0 || (scale >= 0 && n_digits <= (size_t)scale)) {
    digits[n_digits++] = '0';
  }
  if (is_negative) {
    out[len++] = '-';
  }
  for (size_t i = n_digits; i > 0; i--) {
    if (scale > 0 && i == (size_t)scale) {
      out[len++] = '.';
    }
    out[len++] = digits[i - 1];
  }
  for (int32_t i = scale; i < 0; i++) {
    out[len++] = '0';
  }
  out[len] = '\0';
  return len;
}

/* Bytes in base64 as the number that they are. */
static bool add_unscaled(cdc_values *v, cli_column *c, const char *text, size_t n, int32_t scale) {
  char number[128];
  size_t length;
  if (!decode_base64(text, n, &v->bytes)) {
    return cli_expected(v->columns, "a decimal as bytes in base64");
  }
  length = decimal_text((const uint8_t *)v->bytes.data, v->bytes.len, scale, number);
  return length > 0 ? cli_add_text(v->columns, c, number, length)
                    : cli_expected(v->columns, "a decimal of up to 38 digits");
}

/* {"scale": 2, "value": "base64"} */
static bool add_variable(cdc_values *v, cli_column *c, uint32_t node) {
  uint32_t scale = cdc_json_find(v->json, node, "scale");
  uint32_t value = cdc_json_find(v->json, node, "value");
  const char *text;
  size_t n;
  if (!cdc_json_is(v->json, scale, CDC_NUMBER) || !cdc_json_is(v->json, value, CDC_STRING)) {
    return cli_expected(v->columns, "a decimal as {\"scale\": 2, \"value\": \"..\"}");
  }
  cdc_json_string(v->json, value, &v->scratch, &text, &n);
  return add_unscaled(v, c, text, n,
                      (int32_t)strtol(v->json->text + v->json->nodes[scale].begin, NULL, 10));
}

/* Texts of numbers that no DECIMAL holds; some of them would be base64, too. */
static bool is_no_number(const char *text, size_t n) {
  static const char *const words[] = {"NaN",       "Infinity",          "-Infinity",
                                      "+Infinity", "POSITIVE_INFINITY", "NEGATIVE_INFINITY"};
  for (size_t i = 0; i < CLI_COUNT(words); i++) {
    if (n == strlen(words[i]) && memcmp(text, words[i], n) == 0) {
      return true;
    }
  }
  return false;
}

/* Is a text without a schema bytes in base64 (1), or a number (0)? A number has other characters
 * than base64, or another length than connectors give it; what can be both is what the feed's
 * others are, as decimal.handling.mode is one for all. -1: not to be told. */
static int guess_base64(cdc_values *v, const char *text, size_t n) {
  size_t i = n > 0 && (text[0] == '-' || text[0] == '+');
  bool is_number = i < n, is_base64 = n % 4 == 0 && text[0] != '-';
  for (; i < n && is_number; i++) {
    char c = text[i];
    is_base64 = is_base64 && c != '.' && c != '-';
    is_number = (c >= '0' && c <= '9') || c == '.' ||
                (i > 0 && (c == 'E' || c == 'e' || c == '-' || c == '+'));
  }
  if (!is_number) {
    v->met_base64 = v->met_base64 || n > 0;
    return 1;
  }
  if (!is_base64) {
    v->met_text = true;
    return 0;
  }
  return v->met_text == v->met_base64 ? -1 : v->met_base64;
}

static bool add_decimal(cdc_values *v, cli_column *c, const char *text, size_t n,
                        const cdc_hint *hint) {
  int is_base64 = v->style.decimals == CDC_DECIMALS_BASE64;
  if (hint != NULL && hint->encoding == CDC_DECIMAL) {
    return add_unscaled(v, c, text, n, hint->scale);
  }
  if (is_no_number(text, n)) {
    return cli_expected_type(v->columns, c);
  }
  if (hint != NULL) {
    return cli_add_text(v->columns, c, text, n);
  }
  if (v->style.decimals == CDC_DECIMALS_GUESS) {
    is_base64 = guess_base64(v, text, n);
  }
  if (is_base64 < 0) {
    return cli_expected(v->columns,
                        "to be told whether this is a number or bytes in base64: "
                        "--encodings decimal=text or decimal=base64");
  }
  if (is_base64 && n % 4 != 0) {
    return cli_expected(v->columns, "a number, or its bytes in base64");
  }
  return is_base64 ? add_unscaled(v, c, text, n, c->scale) : cli_add_text(v->columns, c, text, n);
}

/* ------------------------------------------------------------------ times */

static bool is_unit(const cdc_hint *hint) {
  return hint != NULL && hint->encoding >= CDC_SECONDS && hint->encoding <= CDC_NANOS;
}

/* Without a schema: as the connectors' adaptive mode does it by the digits of the source. */
static cdc_encoding unit_of(const cdc_values *v, const cli_column *c, const cdc_hint *hint) {
  int32_t digits;
  if (is_unit(hint)) {
    return hint->encoding;
  }
  if (v->style.times != CDC_PLAIN) {
    return v->style.times;
  }
  digits = cdc_type_number(c, 0, c->kind == CLI_COLUMN_TIME ? 0 : 6);
  return digits <= 3 ? CDC_MILLIS : digits <= 6 ? CDC_MICROS : CDC_NANOS;
}

static bool whole_number(const char *text, size_t n, int64_t *out) {
  int64_t value = 0;
  bool is_negative = n > 0 && text[0] == '-';
  size_t i = is_negative;
  if (i == n) {
    return false;
  }
  for (; i < n; i++) {
    if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(value, (int64_t)10, &value) ||
        __builtin_sub_overflow(value, (int64_t)(text[i] - '0'), &value)) {
      return false;
    }
  }
  *out = value;
  return is_negative || !__builtin_sub_overflow((int64_t)0, value, out);
}

/* A count of units as the column's own. */
static bool add_count(cdc_values *v, cli_column *c, const char *text, size_t n,
                      const cdc_hint *hint) {
  static const int64_t per_second[] = {1, 1000, 1000000, 1000000000};
  static const int64_t of_scale[] = {1,      10,      100,      1000,      10000,
                                     100000, 1000000, 10000000, 100000000, 1000000000};
  int64_t value, from, to, result;
  if (!whole_number(text, n, &value)) {
    return cli_expected_type(v->columns, c);
  }
  if (c->kind == CLI_COLUMN_DATE) {
    if (is_unit(hint)) {
      int64_t per_day = per_second[hint->encoding - CDC_SECONDS] * 86400;
      value = value / per_day - (value % per_day < 0);
    }
    return value >= INT32_MIN && value <= INT32_MAX ? cli_add_int(v->columns, c, value)
                                                    : cli_expected_type(v->columns, c);
  }
  if (c->kind == CLI_COLUMN_TIMESTAMP && hint != NULL && hint->encoding == CDC_DAYS) {
    if (c->is_wide) {
      return value >= INT32_MIN && value <= INT32_MAX
                 ? cli_add_time(v->columns, c, value * 86400, 0)
                 : cli_expected_type(v->columns, c);
    }
    return !__builtin_mul_overflow(value, 86400 * of_scale[c->scale], &result)
               ? cli_add_int(v->columns, c, result)
               : cli_expected_type(v->columns, c);
  }
  from = per_second[unit_of(v, c, hint) - CDC_SECONDS];
  if (c->kind == CLI_COLUMN_TIME) {
    result = from < 1000 ? (value < 86400 ? value * 1000 : 86400000) : value / (from / 1000);
    return value >= 0 && result < 86400000 ? cli_add_int(v->columns, c, result)
                                           : cli_expected(v->columns, "a time within one day");
  }
  to = of_scale[c->scale];
  if (c->is_wide) { /* 64 bits of another unit may be more than 64 bits of nanoseconds */
    int64_t rest = value % from + (value % from < 0 ? from : 0);
    return cli_add_time(v->columns, c, value / from - (value % from < 0), rest * (to / from));
  }
  if (to >= from) {
    return !__builtin_mul_overflow(value, to / from, &result) ? cli_add_int(v->columns, c, result)
                                                              : cli_expected_type(v->columns, c);
  }
  if (value % (from / to) != 0) {
    return cli_expected(v->columns, "a time with up to %d digits behind the point", (int)c->scale);
  }
  return cli_add_int(v->columns, c, value / (from / to));
}

/* "+02:00", "+00:19:32", "Z" at the end of a time; 0: it has none. */
static size_t offset_length(const char *text, size_t n) {
  if (n > 0 && text[n - 1] == 'Z') {
    return 1;
  }
  for (size_t i = 3; i <= 9 && i < n; i++) {
    char c = text[n - i];
    if ((c == '+' || c == '-') && n - i > 10) {
      return i;
    }
  }
  return 0;
}

/* A local time in the zone of the feed: with the offset that the zone has then. */
static bool add_local(cdc_values *v, cli_column *c, const char *text, size_t n) {
  char copy[64], head[24];
  int64_t as_utc = 0, millis = 0;
  int seconds = 0;
  int length;
  tarn_error err;
  if (n + 20 > sizeof(copy)) {
    return cli_expected_type(v->columns, c);
  }
  if (v->style.zone != NULL && n >= 16 && memcmp(v->minute, text, 16) == 0) {
    seconds = v->offset;
  } else if (v->style.zone != NULL) {
    (void)snprintf(head, sizeof(head), "%.*s", (int)(n < 19 ? n : 19), text);
    if (n > 10 && head[10] == 'T') {
      head[10] = ' ';
    }
    if (cli_time_parse("time", head, "+00:00", &as_utc, &err) != TARN_OK ||
        cli_time_parse("time", head, v->style.zone, &millis, &err) != TARN_OK) {
      return cli_expected_type(v->columns, c);
    }
    v->offset = seconds = (int)((as_utc - millis) / 1000);
    memset(v->minute, 0, sizeof(v->minute));
    memcpy(v->minute, text, n < 16 ? n : 16);
  }
  length = snprintf(copy, sizeof(copy), "%.*s%s%c%02d:%02d:%02d", (int)n, text,
                    n == 10 ? " 00:00:00" : "", seconds < 0 ? '-' : '+', abs(seconds) / 3600,
                    abs(seconds) / 60 % 60, abs(seconds) % 60);
  return length > 0 && (size_t)length < sizeof(copy)
             ? cli_add_text(v->columns, c, copy, (size_t)length)
             : cli_expected_type(v->columns, c);
}

static bool add_timestamp(cdc_values *v, cli_column *c, const char *text, size_t n) {
  size_t offset = offset_length(text, n);
  if (!c->is_instant && offset > 0) { /* the time of the clock in Greenwich */
    cli_column instant = *c;
    instant.is_instant = true;
    return cli_add_text(v->columns, &instant, text, n);
  }
  return c->is_instant && offset == 0 ? add_local(v, c, text, n)
                                      : cli_add_text(v->columns, c, text, n);
}

/* Digits behind the milliseconds of a TIME, and an offset, are cut. */
static bool add_time(cdc_values *v, cli_column *c, const char *text, size_t n) {
  const char *point = memchr(text, '.', n);
  if (n > 0 && text[n - 1] == 'Z') {
    n--;
  } else if (n > 8) {
    size_t offset = n - 6 >= 8 && (text[n - 6] == '+' || text[n - 6] == '-') ? 6 : 0;
    n -= offset;
  }
  if (point != NULL && n > (size_t)(point - text) + 4) {
    n = (size_t)(point - text) + 4;
  }
  return cli_add_text(v->columns, c, text, n);
}

/* MySQL's "0000-00-00": no day at all. */
static bool is_zero_date(const char *text, size_t n) {
  return n >= 10 && memcmp(text, "0000-00-00", 10) == 0;
}

/* ------------------------------------------------------------------ texts */

static bool add_string(cdc_values *v, cli_column *c, const char *text, size_t n) {
  if (c->n_type > 0 && (c->type[0] == 'V' || c->type[0] == 'C')) { /* VARCHAR(5), CHAR(3) */
    int32_t max = cdc_type_number(c, 0, c->type[0] == 'C' ? 1 : INT32_MAX);
    if (n > (size_t)max) {
      size_t characters = 0;
      for (size_t i = 0; i < n; i++) {
        characters += ((unsigned char)text[i] & 0xC0) != 0x80;
      }
      if (characters > (size_t)max) {
        return cli_expected(v->columns, "up to %d characters", (int)max);
      }
    }
  }
  return cli_add_bytes(v->columns, c, text, n);
}

static bool is_word(const char *text, size_t n, const char *word) {
  return strlen(word) == n && memcmp(text, word, n) == 0;
}

static bool add_boolean(cdc_values *v, cli_column *c, const char *text, size_t n) {
  static const char *const words[][2] = {{"0", "1"}, {"false", "true"}, {"f", "t"}};
  for (size_t i = 0; i < CLI_COUNT(words); i++) {
    for (int k = 0; k < 2; k++) {
      if (is_word(text, n, words[i][k])) {
        return cli_add_int(v->columns, c, k);
      }
    }
  }
  return cli_expected(v->columns, "true, false, 1 or 0");
}

/* ------------------------------------------------------------------ MySQL's ENUM and SET */

/* The next name of a list such as ('a','it''s'): into the text. false: there is none. */
static bool next_name(const char **at, const char *end, cli_text *out) {
  const char *c = *at;
  out->len = 0;
  while (c < end && *c != '\'') {
    c++;
  }
  for (c += c < end; c < end; c++) {
    if (*c == '\'' && (c + 1 == end || c[1] != '\'')) {
      *at = c + 1;
      return true;
    }
    c += *c == '\''; /* a quote is written twice */
    cli_text_char(out, *c);
  }
  return false;
}

bool cdc_add_ordinal(cdc_values *v, cli_column *c, uint32_t node, const char *type, size_t n_type,
                     bool *is_one) {
  const cdc_node *at = &v->json->nodes[node];
  const char *names = type, *end = type + n_type;
  bool is_set = n_type > 4 && (memcmp(type, "set(", 4) == 0 || memcmp(type, "SET(", 4) == 0);
  bool is_enum = n_type > 5 && (memcmp(type, "enum(", 5) == 0 || memcmp(type, "ENUM(", 5) == 0);
  const char *text = v->json->text + at->begin;
  uint64_t value = 0, left;
  *is_one = (is_set || is_enum) && at->n > 0 && at->n <= 20;
  for (size_t i = 0; i < at->n && *is_one; i++) {
    *is_one = text[i] >= '0' && text[i] <= '9' && !__builtin_mul_overflow(value, 10U, &value) &&
              !__builtin_add_overflow(value, (uint64_t)(text[i] - '0'), &value);
  }
  if (!*is_one) {
    return true;
  }
  v->bytes.len = 0;
  left = value;
  for (uint64_t k = 0; left > 0 && (is_enum || k < 64) && next_name(&names, end, &v->scratch);
       k++) {
    bool is_there = is_set ? (value >> k & 1) != 0 : k + 1 == value;
    if (is_there) {
      left = is_set ? left & ~((uint64_t)1 << k) : 0;
      if (v->bytes.len > 0) {
        cli_text_char(&v->bytes, ',');
      }
      cli_text_add(&v->bytes, v->scratch.data, v->scratch.len);
    }
  }
  v->bad = node;
  return left == 0 ? add_string(v, c, v->bytes.data != NULL ? v->bytes.data : "", v->bytes.len)
                   : cli_expected(v->columns, "the number of a value of %.*s",
                                  (int)(n_type < 200 ? n_type : 200), type);
}

bool cdc_add_text_of_bytes(cdc_values *v, cli_column *c, uint32_t node) {
  const char *text;
  size_t n, at = 0;
  cdc_json_string(v->json, node, &v->scratch, &text, &n);
  v->bad = node;
  if (!decode_latin1(text, n, &v->bytes)) { /* text already */
    return add_string(v, c, text, n);
  }
  while (at < v->bytes.len && v->bytes.data[at] != '\0') {
    size_t length = cli_utf8_length((const uint8_t *)v->bytes.data + at, v->bytes.len - at);
    if (length == 0) {
      break;
    }
    at += length;
  }
  return at == v->bytes.len
             ? add_string(v, c, v->bytes.data != NULL ? v->bytes.data : "", v->bytes.len)
             : cli_expected(v->columns,
                            "bytes that are text in UTF-8 (a column of type BYTES takes "
                            "others)");
}

/* The bits of a BIT(n) as a number. */
static bool add_bits(cdc_values *v, cli_column *c, const char *text, size_t n) {
  uint64_t value = 0;
  if (!decode_base64(text, n, &v->bytes) || v->bytes.len > 8) {
    return cli_expected(v->columns, "up to 64 bits in base64");
  }
  for (size_t i = v->bytes.len; i > 0; i--) {
    value = value << 8 | (uint8_t)v->bytes.data[i - 1];
  }
  if (c->kind == CLI_COLUMN_BOOLEAN) {
    return cli_add_int(v->columns, c, value != 0);
  }
  return value <= (uint64_t)c->max ? cli_add_int(v->columns, c, (int64_t)value)
                                   : cli_expected_type(v->columns, c);
}

/* A string. */
static bool add_text(cdc_values *v, cli_column *c, uint32_t node, const cdc_hint *hint) {
  cdc_encoding encoding = hint != NULL ? hint->encoding : CDC_PLAIN;
  const char *text;
  int64_t ignored;
  size_t n;
  cdc_json_string(v->json, node, &v->scratch, &text, &n);
  switch (c->kind) {
    case CLI_COLUMN_TEXT:
      return encoding == CDC_DECIMAL ? add_unscaled(v, c, text, n, hint->scale)
                                     : add_string(v, c, text, n);
    case CLI_COLUMN_BYTES:
      return add_bytes(v, c, text, n, hint);
    case CLI_COLUMN_DECIMAL:
      return add_decimal(v, c, text, n, hint);
    case CLI_COLUMN_BOOLEAN:
    case CLI_COLUMN_INT:
      if (encoding == CDC_BITS) {
        return add_bits(v, c, text, n);
      }
      if (encoding == CDC_DECIMAL && c->kind == CLI_COLUMN_INT) {
        return add_unscaled(v, c, text, n, hint->scale);
      }
      return c->kind == CLI_COLUMN_BOOLEAN ? add_boolean(v, c, text, n)
                                           : cli_add_text(v->columns, c, text, n);
    case CLI_COLUMN_FLOAT:
    case CLI_COLUMN_DOUBLE:
      return encoding == CDC_DECIMAL ? add_unscaled(v, c, text, n, hint->scale)
                                     : cli_add_text(v->columns, c, text, n);
    case CLI_COLUMN_DATE:
    case CLI_COLUMN_TIME:
    case CLI_COLUMN_TIMESTAMP:
      if (is_zero_date(text, n) && c->takes_null) {
        return cli_add_null(v->columns, c);
      }
      if (whole_number(text, n, &ignored)) {
        return add_count(v, c, text, n, hint);
      }
      if (c->kind == CLI_COLUMN_DATE && n > 10) { /* "2024-02-29Z", "2024-02-29 00:00:00" */
        n = text[10] == 'Z' || text[10] == ' ' || text[10] == 'T' ? 10 : n;
      }
      return c->kind == CLI_COLUMN_TIMESTAMP ? add_timestamp(v, c, text, n)
             : c->kind == CLI_COLUMN_TIME    ? add_time(v, c, text, n)
                                             : cli_add_text(v->columns, c, text, n);
    case CLI_COLUMN_VARIANT:
      return cli_add_text(v->columns, c, text, n);
    default:
      return cli_expected_type(v->columns, c);
  }
}

/* ------------------------------------------------------------------ nested values */

const cdc_hint *cdc_hint_find(const cdc_hint *hints, size_t n_hints, const char *name, size_t n,
                              size_t *next) {
  size_t i = *next;
  for (size_t left = n_hints; left > 0; left--, i++) {
    const cdc_hint *hint;
    i = i < n_hints ? i : 0;
    hint = &hints[i];
    if (cdc_json_name_is(hint->name, hint->n_name, hint->name_has_escapes, name, n)) {
      *next = i + 1;
      return hint;
    }
  }
  return NULL;
}

static bool refuse(cdc_values *v, uint32_t node) {
  v->bad = node;
  return false;
}

static bool add_list(cdc_values *v, cli_column *c, uint32_t node, const cdc_hint *hint) {
  const cdc_hint *items = hint != NULL && hint->n_inner == 1 ? &hint->inner[0] : NULL;
  for (uint32_t i = node + 1; i < v->json->nodes[node].after; i = v->json->nodes[i].after) {
    if (!cdc_add_value(v, &c->children[0], i, items)) { /* no deeper than the column's type */
      return false;
    }
  }
  return cli_add_end(v->columns, c) || refuse(v, node);
}

/* An object, or a list of pairs. */
static bool add_map(cdc_values *v, cli_column *c, uint32_t node, const cdc_hint *hint) {
  cli_column *entry = &c->children[0];
  bool is_told = hint != NULL && hint->n_inner == 2;
  bool is_object = cdc_json_is(v->json, node, CDC_OBJECT);
  for (uint32_t i = node + 1; i < v->json->nodes[node].after; i = v->json->nodes[i].after) {
    uint32_t value = i;
    if (is_object) {
      const char *text;
      size_t n;
      cdc_json_key(v->json, i, &v->scratch, &text, &n);
      if (!cli_add_text(v->columns, &entry->children[0], text, n)) {
        return refuse(v, i);
      }
    } else {
      uint32_t key = i + 1;
      value = cdc_json_is(v->json, i, CDC_LIST) && key < v->json->nodes[i].after
                  ? v->json->nodes[key].after
                  : CDC_NONE;
      if (value == CDC_NONE || value >= v->json->nodes[i].after ||
          v->json->nodes[value].after != v->json->nodes[i].after) {
        (void)cli_expected(v->columns, "[key, value]");
        return refuse(v, i);
      }
      if (!cdc_add_value(v, &entry->children[0], key, is_told ? &hint->inner[0] : NULL)) {
        return false;
      }
    }
    if (!cdc_add_value(v, &entry->children[1], value, is_told ? &hint->inner[1] : NULL)) {
      return false;
    }
    if (!cli_add_end(v->columns, entry)) {
      return refuse(v, i);
    }
  }
  return cli_add_end(v->columns, c) || refuse(v, node);
}

static bool add_row(cdc_values *v, cli_column *c, uint32_t node, const cdc_hint *hint) {
  cli_column *bad = c;
  size_t next = 0;
  c->next_child = 0;
  for (uint32_t i = node + 1; i < v->json->nodes[node].after; i = v->json->nodes[i].after) {
    const char *name;
    size_t n;
    cli_column *child;
    cdc_json_key(v->json, i, &v->scratch, &name, &n);
    child = cli_column_find(c, name, n);
    if (child == NULL || cli_column_is_met(c, child)) {
      (void)cli_expected(v->columns, "only fields of the ROW, each once");
      return refuse(v, i);
    }
    if (!cdc_add_value(
            v, child, i,
            hint != NULL ? cdc_hint_find(hint->inner, hint->n_inner, name, n, &next) : NULL)) {
      return false;
    }
  }
  if (!cli_add_row_end(v->columns, c, &bad)) {
    (void)cli_expected(v->columns, "a value of the field '%.100s', which is NOT NULL", bad->name);
    return refuse(v, node);
  }
  return true;
}

/* The JSON itself, for texts and VARIANT. */
static bool add_json(cdc_values *v, cli_column *c, uint32_t node) {
  const cdc_node *at = &v->json->nodes[node];
  const char *text = v->json->text + at->begin;
  size_t n = at->n;
  if (at->kind == CDC_STRING) { /* with its quotes */
    text--;
    n += 2;
  }
  return c->kind == CLI_COLUMN_TEXT ? add_string(v, c, text, n)
                                    : cli_add_text(v->columns, c, text, n);
}

static bool add_number(cdc_values *v, cli_column *c, uint32_t node, const cdc_hint *hint) {
  const char *text = v->json->text + v->json->nodes[node].begin;
  size_t n = v->json->nodes[node].n;
  switch (c->kind) {
    case CLI_COLUMN_INT:
    case CLI_COLUMN_DECIMAL:
    case CLI_COLUMN_FLOAT:
    case CLI_COLUMN_DOUBLE:
      return cli_add_number(v->columns, c, text, n);
    case CLI_COLUMN_BOOLEAN:
      return add_boolean(v, c, text, n);
    case CLI_COLUMN_DATE:
    case CLI_COLUMN_TIME:
    case CLI_COLUMN_TIMESTAMP:
      return add_count(v, c, text, n, hint);
    default:
      return cli_expected_type(v->columns, c);
  }
}

bool cdc_add_value(cdc_values *v, cli_column *c, uint32_t node, const cdc_hint *hint) {
  cdc_kind kind = (cdc_kind)v->json->nodes[node].kind;
  bool is_good;
  if (kind == CDC_NULL) {
    is_good = cli_add_null(v->columns, c);
  } else if (c->kind == CLI_COLUMN_VARIANT && kind != CDC_STRING) {
    is_good = add_json(v, c, node);
  } else if (hint != NULL && hint->encoding == CDC_VARIABLE && kind == CDC_OBJECT) {
    is_good = add_variable(v, c, node);
  } else if (c->kind == CLI_COLUMN_TEXT && kind != CDC_STRING) {
    is_good = add_json(v, c, node);
  } else if (kind == CDC_STRING) {
    is_good = add_text(v, c, node, hint);
  } else if (kind == CDC_NUMBER) {
    is_good = add_number(v, c, node, hint);
  } else if (kind == CDC_TRUE || kind == CDC_FALSE) {
    is_good = c->kind == CLI_COLUMN_BOOLEAN || c->kind == CLI_COLUMN_INT
                  ? cli_add_int(v->columns, c, kind == CDC_TRUE)
                  : cli_expected_type(v->columns, c);
  } else if (kind == CDC_OBJECT && (c->kind == CLI_COLUMN_DECIMAL || c->kind == CLI_COLUMN_DOUBLE ||
                                    c->kind == CLI_COLUMN_FLOAT)) {
    is_good = add_variable(v, c, node);
  } else if ((c->kind == CLI_COLUMN_LIST || c->kind == CLI_COLUMN_VECTOR) && kind == CDC_LIST) {
    return add_list(v, c, node, hint);
  } else if (c->kind == CLI_COLUMN_MAP) {
    return add_map(v, c, node, hint);
  } else if (c->kind == CLI_COLUMN_ROW && kind == CDC_OBJECT) {
    return add_row(v, c, node, hint);
  } else {
    is_good = cli_expected_type(v->columns, c);
  }
  return is_good || refuse(v, node);
}

bool cdc_add_nothing(cli_columns *columns, cli_column *c) {
  switch (c->kind) {
    case CLI_COLUMN_FLOAT:
    case CLI_COLUMN_DOUBLE:
      return cli_add_real(columns, c, 0);
    case CLI_COLUMN_DECIMAL:
      return cli_add_number(columns, c, "0", 1);
    case CLI_COLUMN_TEXT:
    case CLI_COLUMN_BYTES:
      return cli_add_bytes(columns, c, "", 0);
    case CLI_COLUMN_LIST:
    case CLI_COLUMN_MAP:
      return cli_add_end(columns, c);
    case CLI_COLUMN_VECTOR:
      for (int32_t i = 0; i < c->length; i++) {
        if (!cdc_add_nothing(columns, &c->children[0])) {
          return false;
        }
      }
      return cli_add_end(columns, c);
    case CLI_COLUMN_ROW:
      for (int32_t i = 0; i < c->n_children; i++) {
        if (!cdc_add_nothing(columns, &c->children[i])) {
          return false;
        }
      }
      return cli_add_end(columns, c);
    case CLI_COLUMN_VARIANT:
      return cli_add_text(columns, c, "null", 4);
    default:
      return cli_add_int(columns, c, 0);
  }
}
