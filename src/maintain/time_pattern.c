/* time_pattern.c - a small part of java.time's patterns. */
#include "maintain/time_pattern.h"

#include "base/ascii.h"
#include "base/checked.h"
#include "base/civil.h"

#define DAY_MS ((int64_t)86400000)
#define MAX_YEAR 999999

typedef enum part { YEAR, MONTH, DAY, HOUR, MINUTE, SECOND, MILLI, N_PARTS } part;

typedef struct time_parts {
  int64_t values[N_PARTS];
  bool has[N_PARTS];
} time_parts;

static const char letters[] = "yMdHmsS";

static int part_of(char letter) {
  const char *at = letter == 'u' ? letters : strchr(letters, letter);
  return letter != '\0' && at != NULL ? (int)(at - letters) : -1;
}

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* ------------------------------------------------------------------ patterns */

/* One piece of a pattern at *at, which moves on: a field of `count` letters, or a literal. */
typedef struct piece {
  int field; /* -1: the literal */
  size_t count;
  char literal;
} piece;

static bool next_piece(const char **at, bool *is_quoted, piece *out) {
  const char *p = *at;
  *out = (piece){.field = -1};
  while (*p == '\'') {
    if (p[1] == '\'') { /* a quote itself, inside and outside of quotes */
      out->literal = '\'';
      *at = p + 2;
      return true;
    }
    *is_quoted = !*is_quoted;
    p++;
  }
  if (*p == '\0') {
    *at = p;
    return false;
  }
  if (!*is_quoted && is_letter(*p)) {
    out->field = part_of(*p);
    out->literal = *p;
    while (p[out->count] == *p) {
      out->count++;
    }
    *at = p + out->count;
    return true;
  }
  out->literal = *p;
  *at = p + 1;
  return true;
}

tarn_status tn_time_pattern_check(const char *pattern, tarn_error *err) {
  const char *at = pattern;
  bool is_quoted = false;
  piece p;
  while (next_piece(&at, &is_quoted, &p)) {
    bool is_name = p.field == MONTH && p.count > 2;
    bool is_special = p.count == 0 && !is_quoted && strchr("[]{}#", p.literal) != NULL;
    if ((p.count > 0 && (p.field < 0 || is_name)) || is_special) {
      return tn_fail(err, TARN_E_UNSUPPORTED, "'%c' in the time pattern '%s'", p.literal, pattern);
    }
  }
  return is_quoted ? tn_fail(err, TARN_E_INVALID,
                             "a quote that is not closed in the time pattern "
                             "'%s'",
                             pattern)
                   : TARN_OK;
}

/* ------------------------------------------------------------------ texts */

/* least to most digits. */
static bool take_number(tn_slice text, size_t *at, size_t least, size_t most, int64_t *out) {
  size_t start = *at;
  *out = 0;
  while (*at < text.len && *at - start < most && tn_is_digit(text.data[*at])) {
    *out = *out * 10 + (text.data[(*at)++] - '0');
  }
  return *at - start >= least;
}

/* The first three digits of a fraction count. */
static bool take_fraction(tn_slice text, size_t *at, size_t least, size_t most, int64_t *ms) {
  size_t start = *at;
  int64_t scale = 100;
  *ms = 0;
  while (*at < text.len && *at - start < most && tn_is_digit(text.data[*at])) {
    *ms += (text.data[(*at)++] - '0') * scale;
    scale /= 10;
  }
  return *at - start >= least;
}

static bool take_field(const piece *p, tn_slice text, size_t *at, time_parts *out) {
  int64_t *value = &out->values[p->field];
  bool ok;
  out->has[p->field] = true;
  if (p->field == MILLI) {
    return take_fraction(text, at, p->count, p->count, value);
  }
  if (p->field == YEAR && p->count == 2) {
    ok = take_number(text, at, 2, 2, value);
    *value += 2000;
    return ok;
  }
  return p->count == 1 ? take_number(text, at, 1, p->field == YEAR ? 9 : 2, value)
                       : take_number(text, at, p->count, p->count > 18 ? 18 : p->count, value);
}

/* A day behind the end of its month is the last one. Rule: ResolverStyle.SMART. */
static bool resolve_smart(time_parts *t, int64_t *local_ms) {
  int64_t *v = t->values;
  int32_t n_days;
  if (!t->has[YEAR] || !t->has[MONTH] || !t->has[DAY] || v[YEAR] > MAX_YEAR || v[MONTH] < 1 ||
      v[MONTH] > 12 || v[DAY] < 1 || v[DAY] > 31 || v[HOUR] > 23 || v[MINUTE] > 59 ||
      v[SECOND] > 59) {
    return false;
  }
  if (!t->has[HOUR]) { /* no time of day without an hour: midnight */
    v[HOUR] = v[MINUTE] = v[SECOND] = v[MILLI] = 0;
  }
  n_days = tn_days_of_month(v[YEAR], (int32_t)v[MONTH]);
  v[DAY] = v[DAY] > n_days ? n_days : v[DAY];
  *local_ms = tn_days_from_civil(v[YEAR], (int32_t)v[MONTH], (int32_t)v[DAY]) * DAY_MS +
              ((v[HOUR] * 60 + v[MINUTE]) * 60 + v[SECOND]) * 1000 + v[MILLI];
  return true;
}

static bool parse_pattern(const char *pattern, tn_slice text, int64_t *local_ms) {
  time_parts t = {{0}, {false}};
  const char *at = pattern;
  bool is_quoted = false;
  size_t pos = 0;
  piece p;
  while (next_piece(&at, &is_quoted, &p)) {
    if (p.count == 0) {
      if (pos >= text.len || text.data[pos++] != (uint8_t)p.literal) {
        return false;
      }
    } else if (p.field < 0 || !take_field(&p, text, &pos, &t)) {
      return false;
    }
  }
  return pos == text.len && resolve_smart(&t, local_ms);
}

static bool take_literal(tn_slice text, size_t *at, char c) {
  return *at < text.len && text.data[(*at)++] == (uint8_t)c;
}

/* Fields that are too large carry over. Rule: ResolverStyle.LENIENT. */
static bool parse_default(tn_slice text, int64_t *local_ms) {
  int64_t year, month, day, hour = 0, minute = 0, second = 0, ms = 0;
  size_t at = 0;
  bool is_negative = text.len > 0 && text.data[0] == '-';
  at += is_negative;
  if (!take_number(text, &at, 1, 9, &year) || !take_literal(text, &at, '-') ||
      !take_number(text, &at, 1, 2, &month) || !take_literal(text, &at, '-') ||
      !take_number(text, &at, 1, 2, &day) || year > MAX_YEAR) {
    return false;
  }
  if (at < text.len && (!take_literal(text, &at, ' ') || !take_number(text, &at, 1, 2, &hour) ||
                        !take_literal(text, &at, ':') || !take_number(text, &at, 1, 2, &minute) ||
                        !take_literal(text, &at, ':') || !take_number(text, &at, 1, 2, &second))) {
    return false;
  }
  if (at < text.len && (!take_literal(text, &at, '.') || !take_fraction(text, &at, 1, 9, &ms))) {
    return false;
  }
  if (at != text.len) {
    return false;
  }
  year = (is_negative ? -year : year) + tn_floor_div(month - 1, 12);
  month = month - 1 - tn_floor_div(month - 1, 12) * 12;
  *local_ms = (tn_days_from_civil(year, (int32_t)month + 1, 1) + day - 1) * DAY_MS +
              ((hour * 60 + minute) * 60 + second) * 1000 + ms;
  return true;
}

bool tn_time_pattern_parse(const char *pattern, tn_slice text, int64_t *local_ms) {
  return pattern != NULL ? parse_pattern(pattern, text, local_ms) : parse_default(text, local_ms);
}
