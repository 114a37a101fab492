/* variant.c - the JSON text of a VARIANT value.
 *
 * Values may be shared, so a small input could ask for an endless text: the buffer's limit bounds
 * it. Objects and arrays that are open stand on a stack of our own.
 * Rule: org.apache.paimon.data.variant.GenericVariant.toJson. TIME and the timestamps of
 * nanoseconds, which it lacks, have the texts of microseconds with the digits they need.
 */
#include "column/variant.h"

#include "base/bytes.h"
#include "base/json.h"
#include "column/number_text.h"
#include "column/time_text.h"
#include "column/variant_parts.h"

/* An open object or array. */
typedef struct container {
  tn_variant_group group;
  size_t next; /* the child to print next */
} container;

typedef struct printer {
  tn_slice value;
  tn_variant_names names;
  const tn_zone *zone;
  tn_buf *out;
} printer;

/* As tn_json_quote(), but with capital hex digits in escapes, as Jackson has them. */
static tarn_status print_text(tn_buf *out, tn_slice text, tarn_error *err) {
  size_t at = out->len;
  TN_TRY(tn_json_quote(out, text, err));
  for (; at < out->len; at++) {
    if (out->data[at] == '\\' && out->data[++at] == 'u') {
      for (size_t end = at + 5; ++at < end;) {
        out->data[at] -= out->data[at] >= 'a' ? 'a' - 'A' : 0;
      }
      at--;
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ primitives */

static tarn_status print_quoted(tn_buf *out, const char *text, size_t n, tarn_error *err) {
  TN_TRY(tn_buf_append(out, "\"", 1, err));
  TN_TRY(tn_buf_append(out, text, n, err));
  return tn_buf_append(out, "\"", 1, err);
}

static tarn_status print_float(tn_buf *out, const char *text, size_t n, tarn_error *err) {
  bool is_number = text[n - 1] <= '9'; /* not NaN or Infinity */
  return is_number ? tn_buf_append(out, text, n, err) : print_quoted(out, text, n, err);
}

static tarn_status print_integer(tn_buf *out, int64_t value, tarn_error *err) {
  char text[40];
  return tn_buf_append(out, text, tn_decimal_to_plain(value, 0, text), err);
}

/* A byte of scale and the unscaled value; zeros at the end of the fraction are dropped. */
static tarn_status print_decimal(tn_buf *out, tn_slice bytes, int32_t max_digits, size_t at,
                                 tarn_error *err) {
  static const tn_u128 ten = 10;
  char text[320];
  int32_t scale = bytes.data[0];
  tn_u128 unsigned_value = bytes.data[bytes.len - 1] >= 0x80 ? ~(tn_u128)0 : 0, limit = 1;
  tn_i128 value;
  for (size_t i = bytes.len - 1; i > 0; i--) {
    unsigned_value = unsigned_value << 8 | bytes.data[i];
  }
  value = (tn_i128)unsigned_value;
  for (int32_t i = 0; i < max_digits; i++) {
    limit *= ten;
  }
  if (scale > max_digits || (value < 0 ? -(tn_u128)value : (tn_u128)value) >= limit) {
    return tn_variant_malformed("a decimal of too many digits", at, err);
  }
  while (scale > 0 && value % 10 == 0) {
    value /= 10;
    scale--;
  }
  return tn_buf_append(out, text, tn_decimal_to_plain(value, scale, text), err);
}

static tarn_status print_date(tn_buf *out, int64_t days, tarn_error *err) {
  char text[64], *end = tn_put_date(text, days, true);
  return print_quoted(out, text, (size_t)(end - text), err);
}

/* yyyy-mm-dd hh:mm:ss[.fraction], with an offset as "+08:00" for instants. */
static tarn_status print_timestamp(const printer *p, int64_t ticks, int64_t per_second,
                                   bool is_instant, tarn_error *err) {
  char text[80], *at;
  int64_t rest = ticks % per_second, seconds = ticks / per_second - (rest < 0);
  int64_t nanos = (rest < 0 ? rest + per_second : rest) * (1000000000 / per_second);
  int32_t offset = is_instant && p->zone != NULL ? tn_zone_offset_at(p->zone, seconds) : 0;
  at = tn_put_date_time(text, seconds + offset, nanos, ' ', 0, true);
  if (is_instant) {
    int32_t minutes = (offset < 0 ? -offset : offset) / 60;
    *at++ = offset < 0 && minutes > 0 ? '-' : '+';
    at = tn_put_padded(at, (uint64_t)minutes / 60, 2);
    *at++ = ':';
    at = tn_put_padded(at, (uint64_t)minutes % 60, 2);
  }
  return print_quoted(p->out, text, (size_t)(at - text), err);
}

/* hh:mm:ss[.fraction] */
static tarn_status print_time(const printer *p, int64_t micros, size_t at, tarn_error *err) {
  char text[80], *end;
  if (micros < 0 || micros >= INT64_C(86400000000)) {
    return tn_variant_malformed("a time outside of the day", at, err);
  }
  end = tn_put_date_time(text, micros / 1000000, micros % 1000000 * 1000, ' ', 0, true);
  return print_quoted(p->out, text + sizeof("1970-01-01"),
                      (size_t)(end - text) - sizeof("1970-01-01"), err);
}

static tarn_status print_base64(tn_buf *out, tn_slice bytes, tarn_error *err) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  TN_TRY(tn_buf_append(out, "\"", 1, err));
  for (size_t i = 0; i < bytes.len; i += 3) {
    size_t n = bytes.len - i < 3 ? bytes.len - i : 3;
    uint32_t word = 0;
    char four[4];
    for (size_t k = 0; k < 3; k++) {
      word = word << 8 | (k < n ? bytes.data[i + k] : 0);
    }
    for (size_t k = 0; k < 4; k++) {
      four[k] = k <= n ? digits[word >> (18 - 6 * k) & 63] : '=';
    }
    TN_TRY(tn_buf_append(out, four, 4, err));
  }
  return tn_buf_append(out, "\"", 1, err);
}

static tarn_status print_uuid(tn_buf *out, tn_slice bytes, tarn_error *err) {
  static const char hex[] = "0123456789abcdef";
  char text[36];
  size_t n = 0;
  for (size_t i = 0; i < 16; i++) {
    if (i == 4 || i == 6 || i == 8 || i == 10) {
      text[n++] = '-';
    }
    text[n++] = hex[bytes.data[i] >> 4];
    text[n++] = hex[bytes.data[i] & 15];
  }
  return print_quoted(out, text, n, err);
}

static tarn_status print_scalar(const printer *p, size_t at, tarn_error *err) {
  uint64_t low = 0;
  char text[40];
  tn_variant_primitive type;
  tn_slice bytes;
  TN_TRY(tn_variant_scalar(p->value, at, &type, &bytes, err));
  if (bytes.len > 0) {
    memcpy(&low, bytes.data, bytes.len < 8 ? bytes.len : 8);
  }
  switch (type) {
    case TN_VARIANT_NULL:
      return tn_buf_append(p->out, "null", 4, err);
    case TN_VARIANT_TRUE:
      return tn_buf_append(p->out, "true", 4, err);
    case TN_VARIANT_FALSE:
      return tn_buf_append(p->out, "false", 5, err);
    case TN_VARIANT_INT1:
      return print_integer(p->out, (int8_t)low, err);
    case TN_VARIANT_INT2:
      return print_integer(p->out, (int16_t)low, err);
    case TN_VARIANT_INT4:
      return print_integer(p->out, (int32_t)low, err);
    case TN_VARIANT_INT8:
      return print_integer(p->out, (int64_t)low, err);
    case TN_VARIANT_DOUBLE:
      return print_float(p->out, text, tn_double_to_java(tn_load_f64(bytes.data), text), err);
    case TN_VARIANT_FLOAT:
      return print_float(p->out, text, tn_float_to_java(tn_load_f32(bytes.data), text), err);
    case TN_VARIANT_DECIMAL4:
      return print_decimal(p->out, bytes, 9, at, err);
    case TN_VARIANT_DECIMAL8:
      return print_decimal(p->out, bytes, 18, at, err);
    case TN_VARIANT_DECIMAL16:
      return print_decimal(p->out, bytes, 38, at, err);
    case TN_VARIANT_DATE:
      return print_date(p->out, (int32_t)low, err);
    case TN_VARIANT_TIME:
      return print_time(p, (int64_t)low, at, err);
    case TN_VARIANT_TIMESTAMP:
    case TN_VARIANT_TIMESTAMP_NTZ:
      return print_timestamp(p, (int64_t)low, 1000000, type == TN_VARIANT_TIMESTAMP, err);
    case TN_VARIANT_TIMESTAMP_NANOS:
    case TN_VARIANT_TIMESTAMP_NTZ_NANOS:
      return print_timestamp(p, (int64_t)low, 1000000000, type == TN_VARIANT_TIMESTAMP_NANOS, err);
    case TN_VARIANT_UUID:
      return print_uuid(p->out, bytes, err);
    case TN_VARIANT_BINARY:
      return print_base64(p->out, bytes, err);
    default:
      return print_text(p->out, bytes, err);
  }
}

/* ------------------------------------------------------------------ containers */

/* What goes before the next child, and where that lies. */
static tarn_status next_child(const printer *p, container *c, size_t *at, tarn_error *err) {
  size_t id, i = c->next++;
  tn_slice name;
  if (i > 0) {
    TN_TRY(tn_buf_append(p->out, ",", 1, err));
  }
  TN_TRY(tn_variant_child(p->value, &c->group, i, &id, at, err));
  if (c->group.ids != 0) {
    TN_TRY(tn_variant_name(&p->names, id, &name, err));
    TN_TRY(print_text(p->out, name, err));
    TN_TRY(tn_buf_append(p->out, ":", 1, err));
  }
  return TARN_OK;
}

static tarn_status print_value(const printer *p, tarn_error *err) {
  container open[TN_VARIANT_MAX_DEPTH];
  size_t depth = 0, at = 0;
  for (;;) {
    if (tn_variant_basic_at(p->value, at) < TN_VARIANT_OBJECT) {
      TN_TRY(print_scalar(p, at, err));
    } else if (depth == TN_VARIANT_MAX_DEPTH) {
      return tn_fail(err, TARN_E_LIMIT, "variant: nested deeper than %d", TN_VARIANT_MAX_DEPTH);
    } else {
      TN_TRY(tn_variant_group_open(p->value, at, &open[depth].group, err));
      TN_TRY(tn_buf_append(p->out, open[depth].group.ids != 0 ? "{" : "[", 1, err));
      open[depth++].next = 0;
    }
    while (depth > 0 && open[depth - 1].next == open[depth - 1].group.n) {
      depth--;
      TN_TRY(tn_buf_append(p->out, open[depth].group.ids != 0 ? "}" : "]", 1, err));
    }
    if (depth == 0) {
      return TARN_OK;
    }
    TN_TRY(next_child(p, &open[depth - 1], &at, err));
  }
}

tarn_status tn_variant_to_json(tn_slice metadata, tn_slice value, const tn_zone *zone, tn_buf *out,
                               tarn_error *err) {
  printer p = {.value = value, .zone = zone, .out = out};
  TN_TRY(tn_variant_names_read(metadata, &p.names, err));
  if (value.len == 0) {
    return tn_variant_malformed("no value", 0, err);
  }
  return print_value(&p, err);
}
