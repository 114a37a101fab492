/* cell_scalar.c - numbers, times, texts and bytes as text. */
#include <stdio.h>
#include <stdlib.h>

#include "cell.h"

__extension__ typedef unsigned __int128 uint128;
__extension__ typedef __int128 int128;

#define LOAD(type) \
  type value;      \
  memcpy(&value, (const type *)cell->values + at, sizeof(value))

/* ------------------------------------------------------------------ numbers */

static void put_bool(cli_cell *cell, int64_t at, cli_text *out) {
  const uint8_t *bits = cell->values;
  bool is_true = (bits[at / 8] >> (at % 8)) & 1;
  cli_text_add(out, is_true ? "true" : "false", is_true ? 4 : 5);
}

static void put_int8(cli_cell *cell, int64_t at, cli_text *out) {
  LOAD(int8_t);
  cli_text_int(out, value);
}

static void put_int16(cli_cell *cell, int64_t at, cli_text *out) {
  LOAD(int16_t);
  cli_text_int(out, value);
}

static void put_int32(cli_cell *cell, int64_t at, cli_text *out) {
  LOAD(int32_t);
  cli_text_int(out, value);
}

static void put_int64(cli_cell *cell, int64_t at, cli_text *out) {
  LOAD(int64_t);
  cli_text_int(out, value);
}

static void put_float(cli_cell *cell, int64_t at, cli_text *out) {
  char *to = cli_text_room(out, 32);
  LOAD(float);
  if (to != NULL) {
    out->len += tarn_float_text(value, to);
  }
}

static void put_double(cli_cell *cell, int64_t at, cli_text *out) {
  char *to = cli_text_room(out, 32);
  LOAD(double);
  if (to != NULL) {
    out->len += tarn_double_text(value, to);
  }
}

static bool is_finite(double value) {
  return value - value == 0;
}

static void quote(cli_cell_fn put, cli_cell *cell, int64_t at, cli_text *out) {
  cli_text_char(out, '"');
  put(cell, at, out);
  cli_text_char(out, '"');
}

static void json_float(cli_cell *cell, int64_t at, cli_text *out) {
  LOAD(float);
  if (is_finite((double)value)) {
    put_float(cell, at, out);
  } else {
    quote(put_float, cell, at, out);
  }
}

static void json_double(cli_cell *cell, int64_t at, cli_text *out) {
  LOAD(double);
  if (is_finite(value)) {
    put_double(cell, at, out);
  } else {
    quote(put_double, cell, at, out);
  }
}

static void put_decimal(cli_cell *cell, int64_t at, cli_text *out) {
  char digits[48], *end = digits + sizeof(digits), *p = end;
  uint64_t words[2];
  uint128 rest;
  bool is_negative;
  memcpy(words, (const uint8_t *)cell->values + at * 16, sizeof(words));
  rest = (uint128)words[1] << 64 | words[0];
  is_negative = words[1] >> 63 != 0;
  if (is_negative) {
    rest = 0 - rest;
  }
  for (int i = 0; rest > 0 || i <= cell->scale; i++) {
    if (i == cell->scale && i > 0) {
      *--p = '.';
    }
    if (rest >> 64 == 0) {
      uint64_t low = (uint64_t)rest;
      *--p = (char)('0' + low % 10);
      rest = low / 10;
    } else {
      *--p = (char)('0' + (int)(rest % 10));
      rest /= 10;
    }
  }
  if (is_negative) {
    *--p = '-';
  }
  cli_text_add(out, p, (size_t)(end - p));
}

static void json_decimal(cli_cell *cell, int64_t at, cli_text *out) {
  quote(put_decimal, cell, at, out);
}

static void put_kind(cli_cell *cell, int64_t at, cli_text *out) {
  static const char *const kinds[] = {"+I", "-U", "+U", "-D"};
  LOAD(int8_t);
  cli_text_puts(out, value >= 0 && value < 4 ? kinds[value] : "??");
}

static void json_kind(cli_cell *cell, int64_t at, cli_text *out) {
  quote(put_kind, cell, at, out);
}

/* ------------------------------------------------------------------ times */

/* n digits with leading zeros. */
static char *add_digits(char *to, uint32_t value, int n) {
  for (int i = n - 1; i >= 0; i--) {
    to[i] = (char)('0' + value % 10);
    value /= 10;
  }
  return to + n;
}

/* Proleptic Gregorian, four digits of the year; beyond them with a sign (java.time.LocalDate). The
 * year begins in March here, so that the leap day is its last. At most 16 bytes. */
static char *add_date(char *to, int64_t days) {
  int64_t shifted = days + 719468; /* since 0000-03-01 */
  int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
  int64_t day_of_era = shifted - era * 146097;
  int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  int64_t month_index = (5 * day_of_year + 2) / 153;
  int64_t day = day_of_year - (153 * month_index + 2) / 5 + 1;
  int64_t month = month_index < 10 ? month_index + 3 : month_index - 9;
  int64_t year = year_of_era + era * 400 + (month <= 2);
  uint64_t size = year < 0 ? (uint64_t)-year : (uint64_t)year;
  if (year < 0) {
    *to++ = '-';
  }
  if (size > 9999) {
    if (year > 0) {
      *to++ = '+';
    }
    to += snprintf(to, 16, "%llu", (unsigned long long)size);
  } else {
    to = add_digits(to, (uint32_t)size, 4);
  }
  *to++ = '-';
  to = add_digits(to, (uint32_t)month, 2);
  *to++ = '-';
  return add_digits(to, (uint32_t)day, 2);
}

static char *add_clock(char *to, uint32_t seconds) {
  to = add_digits(to, seconds / 3600, 2);
  *to++ = ':';
  to = add_digits(to, seconds / 60 % 60, 2);
  *to++ = ':';
  return add_digits(to, seconds % 60, 2);
}

#define TIME_ROOM 64

static void put_date(cli_cell *cell, int64_t at, cli_text *out) {
  char *to = cli_text_room(out, TIME_ROOM);
  LOAD(int32_t);
  if (to != NULL) {
    out->len += (size_t)(add_date(to, value) - to);
  }
}

static void put_time(cli_cell *cell, int64_t at, cli_text *out) {
  char *to = cli_text_room(out, TIME_ROOM);
  char *end = to;
  LOAD(int32_t);
  if (to != NULL) {
    end = add_clock(end, (uint32_t)value / 1000);
    *end++ = '.';
    end = add_digits(end, (uint32_t)value % 1000, 3);
    out->len += (size_t)(end - to);
  }
}

/* between: what stands between date and time; digits: of the second's fraction. */
static void add_timestamp(const cli_cell *cell, int64_t at, char between, int digits,
                          cli_text *out) {
  static const int64_t per_second[] = {1, 0, 0, 1000, 0, 0, 1000000, 0, 0, 1000000000};
  char *to = cli_text_room(out, TIME_ROOM);
  char *end = to;
  int64_t unit = per_second[cell->scale], seconds, rest, days;
  if (to == NULL) {
    return;
  }
  if (cell->is_wide) {
    int128 wide;
    memcpy(&wide, (const uint8_t *)cell->values + at * 16, sizeof(wide));
    rest = (int64_t)(wide % unit);
    seconds = (int64_t)(wide / unit);
  } else {
    LOAD(int64_t);
    rest = value % unit;
    seconds = value / unit;
  }
  if (rest < 0) {
    rest += unit;
    seconds--;
  }
  days = seconds / 86400;
  seconds %= 86400;
  if (seconds < 0) {
    seconds += 86400;
    days--;
  }
  end = add_date(end, days);
  *end++ = between;
  end = add_clock(end, (uint32_t)seconds);
  if (digits > 0) {
    *end++ = '.';
    end = add_digits(end, (uint32_t)rest, cell->scale);
    for (int i = cell->scale; i < digits; i++) {
      *end++ = '0';
    }
  }
  if (cell->is_instant) {
    *end++ = 'Z';
  }
  out->len += (size_t)(end - to);
}

static void put_timestamp(cli_cell *cell, int64_t at, cli_text *out) {
  add_timestamp(cell, at, ' ', cell->scale, out);
}

static void json_timestamp(cli_cell *cell, int64_t at, cli_text *out) {
  cli_text_char(out, '"');
  add_timestamp(cell, at, 'T', 9, out);
  cli_text_char(out, '"');
}

static void json_date(cli_cell *cell, int64_t at, cli_text *out) {
  quote(put_date, cell, at, out);
}

static void json_time(cli_cell *cell, int64_t at, cli_text *out) {
  quote(put_time, cell, at, out);
}

/* ------------------------------------------------------------------ texts and bytes */

/* Where value `at` begins and ends. */
static void get_range(const cli_cell *cell, int64_t at, int32_t *begin, int32_t *end) {
  memcpy(begin, (const int32_t *)cell->values + at, sizeof(*begin));
  memcpy(end, (const int32_t *)cell->values + at + 1, sizeof(*end));
}

static void put_text(cli_cell *cell, int64_t at, cli_text *out) {
  int32_t begin, end;
  get_range(cell, at, &begin, &end);
  cli_text_add(out, cell->data + begin, (size_t)(end - begin));
}

static void json_text(cli_cell *cell, int64_t at, cli_text *out) {
  int32_t begin, end;
  get_range(cell, at, &begin, &end);
  cli_text_json(out, cell->data + begin, (size_t)(end - begin));
}

static void put_hex(cli_cell *cell, int64_t at, cli_text *out) {
  static const char hex[] = "0123456789abcdef";
  int32_t begin, end;
  char *to;
  get_range(cell, at, &begin, &end);
  to = cli_text_room(out, (size_t)(end - begin) * 2);
  if (to != NULL) {
    for (int32_t i = begin; i < end; i++) {
      *to++ = hex[cell->data[i] >> 4];
      *to++ = hex[cell->data[i] & 15];
    }
    out->len += (size_t)(end - begin) * 2;
  }
}

static void json_hex(cli_cell *cell, int64_t at, cli_text *out) {
  quote(put_hex, cell, at, out);
}

/* ------------------------------------------------------------------ the types */

typedef struct scalar_type {
  const char *format; /* of Arrow; a last colon: parameters follow */
  cli_cell_fn json, plain;
  bool is_number;
  int32_t scale;
} scalar_type;

static const scalar_type scalar_types[] = {
    {"b", put_bool, put_bool, false, 0},
    {"c", put_int8, put_int8, true, 0},
    {"s", put_int16, put_int16, true, 0},
    {"i", put_int32, put_int32, true, 0},
    {"l", put_int64, put_int64, true, 0},
    {"f", json_float, put_float, true, 0},
    {"g", json_double, put_double, true, 0},
    {"u", json_text, put_text, false, 0},
    {"z", json_hex, put_hex, false, 0},
    {"d:", json_decimal, put_decimal, true, 0},
    {"tdD", json_date, put_date, false, 0},
    {"ttm", json_time, put_time, false, 0},
    {"tss:", json_timestamp, put_timestamp, false, 0},
    {"tsm:", json_timestamp, put_timestamp, false, 3},
    {"tsu:", json_timestamp, put_timestamp, false, 6},
    {"tsn:", json_timestamp, put_timestamp, false, 9},
    /* What the row kind's column is given; no format of Arrow. */
    {"kind", json_kind, put_kind, false, 0},
};

bool cli_cell_set_scalar(cli_cell *cell, const char *format) {
  for (size_t i = 0; i < CLI_COUNT(scalar_types); i++) {
    const scalar_type *t = &scalar_types[i];
    size_t n = strlen(t->format);
    const char *rest = format + n;
    if (strncmp(t->format, format, n) != 0 || (t->format[n - 1] != ':' && *rest != '\0')) {
      continue;
    }
    cell->json = t->json;
    cell->plain = t->plain;
    cell->is_number = t->is_number;
    cell->scale = t->scale;
    if (t->json == json_timestamp) {
      cell->is_instant = *rest != '\0';
    } else if (t->json == json_decimal) { /* d:precision,scale of 128 bits */
      const char *comma = strchr(rest, ',');
      char *end;
      long scale = comma != NULL ? strtol(comma + 1, &end, 10) : -1;
      if (scale < 0 || scale > 38 || *end != '\0') {
        return false;
      }
      cell->scale = (int32_t)scale;
    }
    return true;
  }
  return false;
}

void cli_cell_set_time(cli_cell *cell, bool is_instant) {
  cell->json = json_timestamp;
  cell->plain = put_timestamp;
  cell->is_number = false;
  cell->scale = 9;
  cell->is_instant = is_instant;
  cell->is_wide = true;
}
