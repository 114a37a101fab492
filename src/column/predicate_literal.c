/* predicate_literal.c - columns by name, and texts as literals of a column's type without loss.
 *
 * Rule: docs/cli.md, "WHERE". These texts are Tarn's own: casts from STRING (cast.h) follow Java
 * and are laxer in some places (they cut digits) and stricter in others (no 'T', no offset).
 */
#include "base/ascii.h"
#include "base/civil.h"
#include "base/nearest.h"
#include "column/number_text.h"
#include "column/predicate_internal.h"

/* ------------------------------------------------------------------ columns */

/* parent: of a nested field; NULL: a column. */
static tarn_status no_such_column(const tn_field *fields, int32_t n_fields, tn_slice name,
                                  const char *parent, tarn_error *err) {
  tn_nearest nearest;
  tn_nearest_init(&nearest, name);
  for (int32_t i = 0; i < n_fields; i++) {
    tn_nearest_offer(&nearest, fields[i].name);
  }
  if (parent == NULL) {
    return tn_fail(err, TARN_E_NOT_FOUND, "no column '%.*s'%s", TN_SLICE_ARG(name),
                   tn_nearest_hint(&nearest).text);
  }
  return tn_fail(err, TARN_E_NOT_FOUND, "no field '%.*s' in column %s%s", TN_SLICE_ARG(name),
                 parent, tn_nearest_hint(&nearest).text);
}

tarn_status tn_pred_column_find_path(tn_arena *arena, const tn_field *fields, int32_t n_fields,
                                     const tn_slice *names, int32_t n_names, tn_pred_column *out,
                                     tarn_error *err) {
  int32_t at = tn_fields_find(fields, n_fields, names[0]);
  if (at < 0) {
    return no_such_column(fields, n_fields, names[0], NULL, err);
  }
  const tn_field *field = &fields[at];
  *out = (tn_pred_column){field->id, field->name, &field->type, 0, NULL};
  if (n_names == 1) {
    return TARN_OK;
  }
  int32_t *path = tn_arena_calloc(arena, (size_t)n_names - 1, sizeof(*path));
  if (path == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 1; i < n_names; i++) {
    if (out->type->root != TN_ROW) {
      return tn_fail(err, TARN_E_NOT_FOUND, "no field '%.*s': column %s is not a ROW",
                     TN_SLICE_ARG(names[i]), out->name);
    }
    at = tn_fields_find(out->type->fields, out->type->n_fields, names[i]);
    if (at < 0) {
      return no_such_column(out->type->fields, out->type->n_fields, names[i], out->name, err);
    }
    field = &out->type->fields[at];
    path[i - 1] = field->id;
    out->name = tn_arena_printf(arena, "%s.%s", out->name, field->name);
    if (out->name == NULL) {
      return tn_oom(err);
    }
    out->type = &field->type;
  }
  out->n_path = n_names - 1;
  out->path = path;
  return TARN_OK;
}

tarn_status tn_pred_column_find(tn_arena *arena, const tn_field *fields, int32_t n_fields,
                                tn_slice dotted, tn_pred_column *out, tarn_error *err) {
  tn_slice names[TN_MAX_TYPE_DEPTH];
  int32_t n = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= dotted.len && n < TN_MAX_TYPE_DEPTH; i++) {
    if (i == dotted.len || dotted.data[i] == '.') {
      names[n++] = tn_slice_of(dotted.data + begin, i - begin);
      begin = i + 1;
    }
  }
  bool is_whole = n == 1 || tn_fields_find(fields, n_fields, dotted) >= 0;
  tarn_status st = TARN_E_NOT_FOUND;
  if (n > 1 && begin > dotted.len) {
    st = tn_pred_column_find_path(arena, fields, n_fields, names, n, out, is_whole ? NULL : err);
  }
  if (st == TARN_E_NOT_FOUND && (is_whole || begin <= dotted.len)) {
    st = tn_pred_column_find_path(arena, fields, n_fields, &dotted, 1, out, err);
  }
  return st;
}

/* ------------------------------------------------------------------ errors */

/* INVALID: "'text' <why> <type>". */
static tarn_status refuse(const tn_type *type, tn_slice text, const char *why, tarn_error *err) {
  return tn_fail(err, TARN_E_INVALID, "'%.*s' %s %s", text.len > 200 ? 200 : (int)text.len,
                 (const char *)text.data, why, tn_type_text_of(type).text);
}

/* ------------------------------------------------------------------ numbers */

typedef enum exact_result {
  EXACT_OK,
  EXACT_NO_NUMBER,
  EXACT_TOO_FINE,
  EXACT_TOO_LARGE
} exact_result;

/* out = the number times 10^scale, when that is a whole number of at most 38 digits or so. */
static exact_result parse_exact(tn_slice text, int32_t scale, tn_i128 *out) {
  tn_decimal_text number;
  if (!tn_decimal_text_split(text, &number)) {
    return EXACT_NO_NUMBER;
  }
  tn_slice m = number.digits;
  int64_t shift = number.exponent - number.n_fraction + scale;
  while (m.len > 0 && (m.data[m.len - 1] == '0' || m.data[m.len - 1] == '.')) {
    shift += m.data[m.len - 1] == '0';
    m.len--;
  }
  tn_u128 value = 0;
  int64_t n_significant = 0;
  for (size_t i = 0; i < m.len; i++) {
    if (m.data[i] == '.') {
      continue;
    }
    n_significant += n_significant > 0 || m.data[i] != '0';
    if (n_significant > 38) {
      return shift < 0 ? EXACT_TOO_FINE : EXACT_TOO_LARGE;
    }
    value = value * 10 + (tn_u128)(m.data[i] - '0');
  }
  if (value == 0) {
    *out = 0;
    return EXACT_OK;
  }
  if (shift < 0) {
    return EXACT_TOO_FINE;
  }
  if (n_significant + shift > 38) {
    return EXACT_TOO_LARGE;
  }
  value *= (tn_u128)tn_power_of_ten((int)shift);
  *out = number.is_negative ? -(tn_i128)value : (tn_i128)value;
  return EXACT_OK;
}

static tarn_status read_exact(const tn_type *type, tn_slice text, tn_datum *out, tarn_error *err) {
  tn_i128 value = 0;
  bool is_decimal = type->root == TN_DECIMAL;
  switch (parse_exact(text, is_decimal ? type->scale : 0, &value)) {
    case EXACT_NO_NUMBER:
      return refuse(type, text, "is not a number, as needed for", err);
    case EXACT_TOO_FINE:
      return refuse(type, text, "has more digits after the point than", err);
    case EXACT_TOO_LARGE:
      return refuse(type, text, "is out of the range of", err);
    case EXACT_OK:
      break;
  }
  tn_i128 limit = is_decimal ? tn_power_of_ten(type->precision)
                             : (tn_i128)1 << (8 * tn_layout_width(tn_type_layout(type)) - 1);
  if (value >= limit || value < (is_decimal ? 1 - limit : -limit)) {
    return refuse(type, text, "is out of the range of", err);
  }
  if (is_decimal) {
    out->v.i128 = value;
  } else {
    out->v.i64 = (int64_t)value;
  }
  return TARN_OK;
}

static tarn_status read_real(tn_arena *arena, const tn_type *type, const tn_zone *zone,
                             tn_slice text, tn_datum *out, tarn_error *err) {
  if (tn_datum_from_text(arena, type, text, zone, out, NULL) != TARN_OK || out->is_null) {
    return refuse(type, text, "is not a number, as needed for", err);
  }
  tn_decimal_text number;
  if (out->v.f64 - out->v.f64 != 0 && tn_decimal_text_split(text, &number)) {
    return refuse(type, text, "is out of the range of", err);
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ dates and times */

typedef struct temporal {
  bool has_date, has_time, has_offset;
  int64_t days;
  int64_t nanos; /* of day */
  int32_t offset_seconds;
} temporal;

typedef struct cursor {
  const uint8_t *at, *end;
} cursor;

static bool take(cursor *c, char want) {
  if (c->at < c->end && *c->at == (uint8_t)want) {
    c->at++;
    return true;
  }
  return false;
}

/* Between min_digits and max_digits (at most 18) digits. */
static bool take_number(cursor *c, int min_digits, int max_digits, int64_t *out) {
  int n = 0;
  *out = 0;
  for (; n < max_digits && c->at < c->end && tn_is_digit(*c->at); n++) {
    *out = *out * 10 + (*c->at++ - '0');
  }
  return n >= min_digits;
}

static bool take_date(cursor *c, temporal *t) {
  bool is_negative = take(c, '-');
  if (!is_negative) {
    (void)take(c, '+');
  }
  int64_t year, month, day;
  if (!take_number(c, 1, 9, &year) || !take(c, '-') || !take_number(c, 1, 2, &month) ||
      !take(c, '-') || !take_number(c, 1, 2, &day)) {
    return false;
  }
  year = is_negative ? -year : year;
  if (month < 1 || month > 12 || day < 1 || day > tn_days_of_month(year, (int32_t)month)) {
    return false;
  }
  t->days = tn_days_from_civil(year, (int32_t)month, (int32_t)day);
  t->has_date = true;
  return true;
}

static bool take_time(cursor *c, temporal *t) {
  int64_t hour, minute, second = 0, nanos = 0;
  if (!take_number(c, 1, 2, &hour) || !take(c, ':') || !take_number(c, 1, 2, &minute)) {
    return false;
  }
  if (take(c, ':')) {
    if (!take_number(c, 1, 2, &second)) {
      return false;
    }
    if (take(c, '.')) {
      const uint8_t *begin = c->at;
      if (!take_number(c, 1, 9, &nanos)) {
        return false;
      }
      for (int64_t n = c->at - begin; n < 9; n++) {
        nanos *= 10;
      }
      while (take(c, '0')) {
      }
    }
  }
  t->has_time = true;
  t->nanos = ((hour * 60 + minute) * 60 + second) * 1000000000 + nanos;
  return hour < 24 && minute < 60 && second < 60;
}

static bool take_offset(cursor *c, temporal *t) {
  t->has_offset = true;
  if (take(c, 'Z') || take(c, 'z')) {
    return true;
  }
  bool is_negative = take(c, '-');
  int64_t hours, minutes = 0;
  if ((!is_negative && !take(c, '+')) || !take_number(c, 1, 2, &hours) ||
      (take(c, ':') && !take_number(c, 2, 2, &minutes))) {
    return false;
  }
  int32_t seconds = (int32_t)(hours * 3600 + minutes * 60);
  t->offset_seconds = is_negative ? -seconds : seconds;
  return hours <= 18 && minutes < 60;
}

/* A date, a time, or both with 'T' or a blank between; an offset may follow a time. */
static bool scan_temporal(tn_slice text, temporal *t) {
  memset(t, 0, sizeof(*t));
  cursor c = {text.data, text.data + text.len};
  const uint8_t *colon = text.len > 0 ? memchr(text.data, ':', text.len < 3 ? text.len : 3) : NULL;
  if (colon == NULL) {
    if (!take_date(&c, t)) {
      return false;
    }
    if (c.at == c.end) {
      return true;
    }
    if (!take(&c, 'T') && !take(&c, ' ') && !take(&c, 't')) {
      return false;
    }
  }
  if (!take_time(&c, t)) {
    return false;
  }
  return c.at == c.end || (t->has_date && take_offset(&c, t) && c.at == c.end);
}

static tarn_status read_timestamp(const tn_type *type, const tn_zone *zone, tn_slice text,
                                  const temporal *t, tn_datum *out, tarn_error *err) {
  bool is_local = type->root == TN_TIMESTAMP_LTZ;
  if (t->has_offset && !is_local) {
    return refuse(type, text, "has a time zone, unlike", err);
  }
  int64_t seconds = t->days * 86400 + t->nanos / 1000000000;
  int64_t fraction = t->nanos % 1000000000;
  if (is_local) {
    seconds = t->has_offset  ? seconds - t->offset_seconds
              : zone != NULL ? tn_zone_local_to_utc(zone, seconds)
                             : seconds;
  }
  int64_t ticks = tn_timestamp_ticks(type->precision);
  if (fraction % (1000000000 / ticks) != 0) {
    return refuse(type, text, "has more digits after the point than", err);
  }
  tn_i128 value = (tn_i128)seconds * ticks + fraction / (1000000000 / ticks);
  if (tn_type_layout(type) == TN_LAYOUT_I128) {
    out->v.i128 = value;
    return TARN_OK;
  }
  if (value < INT64_MIN || value > INT64_MAX) {
    return refuse(type, text, "is out of the range of", err);
  }
  out->v.i64 = (int64_t)value;
  return TARN_OK;
}

static tarn_status read_temporal(const tn_type *type, const tn_zone *zone, tn_slice text,
                                 tn_datum *out, tarn_error *err) {
  temporal t;
  bool is_time = type->root == TN_TIME;
  if (!scan_temporal(text, &t) || t.has_date == is_time) {
    return refuse(type, text,
                  is_time ? "is not a time such as 12:34:56.789, as needed for"
                  : type->root == TN_DATE
                      ? "is not a date such as 2024-02-29, as needed for"
                      : "is not a time such as 2024-02-29 12:34:56, as needed for",
                  err);
  }
  if (is_time) {
    if (t.nanos % 1000000 != 0) {
      return refuse(type, text, "has more digits after the point than", err);
    }
    out->v.i64 = t.nanos / 1000000;
    return TARN_OK;
  }
  if (type->root != TN_DATE) {
    return read_timestamp(type, zone, text, &t, out, err);
  }
  if (t.nanos != 0 || t.has_offset) {
    return refuse(type, text, "has a time of day, unlike", err);
  }
  if (t.days < INT32_MIN || t.days > INT32_MAX) {
    return refuse(type, text, "is out of the range of", err);
  }
  out->v.i64 = t.days;
  return TARN_OK;
}

/* ------------------------------------------------------------------ all of them */

static tarn_status read_hex(tn_arena *arena, const tn_type *type, tn_slice text, tn_datum *out,
                            tarn_error *err) {
  uint8_t *bytes = tn_arena_alloc(arena, text.len / 2 + 1);
  if (bytes == NULL) {
    return tn_oom(err);
  }
  bool is_hex = text.len % 2 == 0;
  for (size_t i = 0; is_hex && i < text.len; i += 2) {
    int high = tn_hex_value(text.data[i]), low = tn_hex_value(text.data[i + 1]);
    is_hex = high >= 0 && low >= 0;
    bytes[i / 2] = (uint8_t)(high * 16 + low);
  }
  if (!is_hex) {
    return refuse(type, text, "is not a row of hexadecimal bytes, as needed for", err);
  }
  out->v.bytes = tn_slice_of(bytes, text.len / 2);
  return TARN_OK;
}

tarn_status tn_pred_literal_text(tn_arena *arena, const tn_type *type, const tn_zone *zone,
                                 tn_slice text, bool is_number, tn_datum *out, tarn_error *err) {
  memset(out, 0, sizeof(*out));
  bool takes_numbers = type->root >= TN_TINYINT && type->root <= TN_DECIMAL;
  if (is_number && !takes_numbers) {
    return refuse(type, text, "is a number, but the column is", err);
  }
  switch (type->root) {
    case TN_TINYINT:
    case TN_SMALLINT:
    case TN_INT:
    case TN_BIGINT:
    case TN_DECIMAL:
      return read_exact(type, text, out, err);
    case TN_FLOAT:
    case TN_DOUBLE:
      return read_real(arena, type, zone, text, out, err);
    case TN_BOOLEAN:
      if (tn_datum_from_text(arena, type, text, zone, out, NULL) != TARN_OK) {
        return refuse(type, text, "is neither true nor false, as needed for", err);
      }
      return TARN_OK;
    case TN_DATE:
    case TN_TIME:
    case TN_TIMESTAMP:
    case TN_TIMESTAMP_LTZ:
      return read_temporal(type, zone, text, out, err);
    case TN_CHAR:
    case TN_VARCHAR:
      return tn_arena_slice(arena, text, &out->v.bytes) ? TARN_OK : tn_oom(err);
    case TN_BINARY:
    case TN_VARBINARY:
    case TN_BLOB:
      return read_hex(arena, type, text, out, err);
    default:
      return refuse(type, text, "cannot be compared with", err);
  }
}

tarn_status tn_pred_literal_bytes(tn_arena *arena, const tn_type *type, tn_slice bytes,
                                  tn_datum *out, tarn_error *err) {
  memset(out, 0, sizeof(*out));
  if (!tn_type_is_bytes(type)) {
    return refuse(type, tn_slice_text("X'...'"), "is binary, but the column is", err);
  }
  return tn_arena_slice(arena, bytes, &out->v.bytes) ? TARN_OK : tn_oom(err);
}

tarn_status tn_pred_literal_bool(const tn_type *type, bool value, tn_datum *out, tarn_error *err) {
  memset(out, 0, sizeof(*out));
  if (type->root != TN_BOOLEAN) {
    return refuse(type, tn_slice_text(value ? "TRUE" : "FALSE"), "is a boolean, but the column is",
                  err);
  }
  out->v.boolean = value;
  return TARN_OK;
}
