/* variant.c - the JSON text of a VARIANT value.
 *
 *   metadata  [header: version in bits 0-3, offset size - 1 in bits 6-7][n][n + 1 offsets][names]
 *   value     [header: basic type in bits 0-1, the rest by type]...
 *     0 primitive     type in bits 2-7, then the value
 *     1 short string  length in bits 2-7, then the bytes
 *     2 object        bits 2-3 offset size - 1, 4-5 id size - 1, 6 large; then n, n ids,
 *                     n + 1 offsets, values
 *     3 array         bits 2-3 offset size - 1, 4 large; then n, n + 1 offsets, values
 *
 * All numbers are little-endian. Values may lie in any order and even be shared, so a small input
 * could ask for an endless text: the buffer's limit bounds it. Objects and arrays that are open
 * stand on a stack of our own.
 * Rule: Parquet "Variant Binary Encoding"; org.apache.paimon.data.variant.GenericVariant.toJson.
 */
#include "column/variant.h"

#include "base/bytes.h"
#include "base/json.h"
#include "column/number_text.h"
#include "column/time_text.h"

#define MAX_DEPTH 512

typedef struct names {
  tn_slice bytes; /* the whole metadata */
  size_t offset_size, n;
} names;

/* An open object or array. */
typedef struct container {
  size_t n, next;              /* children; the one to print next */
  size_t ids, offsets, values; /* positions in the value; ids is 0 for an array */
  size_t id_size, offset_size;
} container;

typedef struct printer {
  tn_slice value;
  names names;
  const tn_zone *zone;
  tn_buf *out;
} printer;

static tarn_status malformed(const char *what, size_t at, tarn_error *err) {
  return tn_fail(err, TARN_E_CORRUPT, "variant: %s at byte %zu", what, at);
}

/* `size` bytes from `at` on; false past the end or when they do not fit 31 bits (as in Java). */
static bool load_unsigned(tn_slice bytes, size_t at, size_t size, size_t *out) {
  uint64_t value = 0;
  if (at > bytes.len || size > bytes.len - at) {
    return false;
  }
  for (size_t i = 0; i < size; i++) {
    value |= (uint64_t)bytes.data[at + i] << (8 * i);
  }
  *out = (size_t)value;
  return value <= INT32_MAX;
}

static bool take(tn_slice bytes, size_t at, size_t n, tn_slice *out) {
  if (at > bytes.len || n > bytes.len - at) {
    return false;
  }
  *out = tn_slice_of(bytes.data + at, n);
  return true;
}

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

/* ------------------------------------------------------------------ metadata */

static tarn_status read_names(tn_slice metadata, names *out, tarn_error *err) {
  out->bytes = metadata;
  if (metadata.len < 1 || (metadata.data[0] & 0x0f) != 1) {
    return tn_fail(err, TARN_E_CORRUPT, "variant: metadata is empty or not of version 1");
  }
  out->offset_size = (size_t)(metadata.data[0] >> 6) + 1;
  if (!load_unsigned(metadata, 1, out->offset_size, &out->n)) {
    out->n = 0; /* a value without objects needs no names */
  }
  return TARN_OK;
}

static tarn_status print_name(const printer *p, size_t id, tarn_error *err) {
  const names *m = &p->names;
  size_t first = 1 + m->offset_size, begin, end;
  tn_slice name;
  if (id >= m->n) {
    return tn_fail(err, TARN_E_CORRUPT, "variant: field name %zu of %zu", id, m->n);
  }
  if (!load_unsigned(m->bytes, first + id * m->offset_size, m->offset_size, &begin) ||
      !load_unsigned(m->bytes, first + (id + 1) * m->offset_size, m->offset_size, &end) ||
      begin > end ||
      !take(m->bytes, first + (m->n + 1) * m->offset_size + begin, end - begin, &name)) {
    return tn_fail(err, TARN_E_CORRUPT, "variant: name %zu lies outside of the metadata", id);
  }
  return print_text(p->out, name, err);
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
    return malformed("a decimal of too many digits", at, err);
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
static tarn_status print_timestamp(const printer *p, int64_t micros, bool is_instant,
                                   tarn_error *err) {
  char text[80], *at;
  int64_t rest = micros % 1000000, seconds = micros / 1000000 - (rest < 0);
  int64_t nanos = (rest < 0 ? rest + 1000000 : rest) * 1000;
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

typedef enum primitive {
  P_NULL,
  P_TRUE,
  P_FALSE,
  P_INT1,
  P_INT2,
  P_INT4,
  P_INT8,
  P_DOUBLE,
  P_DECIMAL4,
  P_DECIMAL8,
  P_DECIMAL16,
  P_DATE,
  P_TIMESTAMP,
  P_TIMESTAMP_NTZ,
  P_FLOAT,
  P_BINARY,
  P_STRING,
  P_UUID = 20,
  N_PRIMITIVES
} primitive;

/* Bytes behind the header; BINARY and STRING have a length there. 0xff: unknown. */
static const uint8_t primitive_bytes[N_PRIMITIVES] = {0, 0, 0, 1, 2, 4, 8,    8,    5,    9, 17,
                                                      4, 8, 8, 4, 4, 4, 0xff, 0xff, 0xff, 16};

static tarn_status print_primitive(const printer *p, size_t at, tarn_error *err) {
  uint8_t type = p->value.data[at] >> 2;
  size_t length;
  uint64_t low = 0;
  char text[40];
  tn_slice bytes;
  if (type >= N_PRIMITIVES || primitive_bytes[type] == 0xff) {
    return tn_fail(err, TARN_E_CORRUPT, "variant: unknown primitive type %d at byte %zu", type, at);
  }
  if (!take(p->value, at + 1, primitive_bytes[type], &bytes)) {
    return malformed("a value past the end", at, err);
  }
  memcpy(&low, bytes.data, bytes.len < 8 ? bytes.len : 8);
  switch ((primitive)type) {
    case P_NULL:
      return tn_buf_append(p->out, "null", 4, err);
    case P_TRUE:
      return tn_buf_append(p->out, "true", 4, err);
    case P_FALSE:
      return tn_buf_append(p->out, "false", 5, err);
    case P_INT1:
      return print_integer(p->out, (int8_t)low, err);
    case P_INT2:
      return print_integer(p->out, (int16_t)low, err);
    case P_INT4:
      return print_integer(p->out, (int32_t)low, err);
    case P_INT8:
      return print_integer(p->out, (int64_t)low, err);
    case P_DOUBLE:
      return print_float(p->out, text, tn_double_to_java(tn_load_f64(bytes.data), text), err);
    case P_FLOAT:
      return print_float(p->out, text, tn_float_to_java(tn_load_f32(bytes.data), text), err);
    case P_DECIMAL4:
      return print_decimal(p->out, bytes, 9, at, err);
    case P_DECIMAL8:
      return print_decimal(p->out, bytes, 18, at, err);
    case P_DECIMAL16:
      return print_decimal(p->out, bytes, 38, at, err);
    case P_DATE:
      return print_date(p->out, (int32_t)low, err);
    case P_TIMESTAMP:
    case P_TIMESTAMP_NTZ:
      return print_timestamp(p, (int64_t)low, type == P_TIMESTAMP, err);
    case P_UUID:
      return print_uuid(p->out, bytes, err);
    default:
      break;
  }
  if (!load_unsigned(p->value, at + 1, 4, &length) || !take(p->value, at + 5, length, &bytes)) {
    return malformed("a string or binary past the end", at, err);
  }
  return type == P_STRING ? print_text(p->out, bytes, err) : print_base64(p->out, bytes, err);
}

/* ------------------------------------------------------------------ containers */

static tarn_status open_container(const printer *p, size_t at, container *c, tarn_error *err) {
  uint8_t header = p->value.data[at] >> 2;
  bool is_object = (p->value.data[at] & 3) == 2;
  bool is_large = header >> (is_object ? 4 : 2) & 1;
  size_t n_bytes = is_large ? 4 : 1, place;
  memset(c, 0, sizeof(*c));
  c->offset_size = (size_t)(header & 3) + 1;
  c->id_size = is_object ? (size_t)(header >> 2 & 3) + 1 : 0;
  if (!load_unsigned(p->value, at + 1, n_bytes, &c->n)) {
    return malformed("an object or array past the end", at, err);
  }
  place = at + 1 + n_bytes;
  /* n ids and n + 1 offsets; n is below 2^31, so nothing overflows */
  if (c->n > 0 && c->n * c->id_size + (c->n + 1) * c->offset_size > p->value.len - place) {
    return malformed("an object or array past the end", at, err);
  }
  c->ids = is_object ? place : 0;
  c->offsets = place + c->n * c->id_size;
  c->values = c->offsets + (c->n + 1) * c->offset_size;
  return tn_buf_append(p->out, is_object ? "{" : "[", 1, err);
}

/* What goes before the next child, and where that lies. */
static tarn_status next_child(const printer *p, container *c, size_t *at, tarn_error *err) {
  size_t id, offset, i = c->next++;
  if (i > 0) {
    TN_TRY(tn_buf_append(p->out, ",", 1, err));
  }
  if (c->ids != 0) {
    if (!load_unsigned(p->value, c->ids + i * c->id_size, c->id_size, &id)) {
      return malformed("a bad field id", c->ids + i * c->id_size, err);
    }
    TN_TRY(print_name(p, id, err));
    TN_TRY(tn_buf_append(p->out, ":", 1, err));
  }
  if (!load_unsigned(p->value, c->offsets + i * c->offset_size, c->offset_size, &offset) ||
      offset >= p->value.len - c->values) {
    return malformed("an offset past the end", c->offsets + i * c->offset_size, err);
  }
  *at = c->values + offset;
  return TARN_OK;
}

static tarn_status print_scalar(const printer *p, size_t at, tarn_error *err) {
  tn_slice bytes;
  if ((p->value.data[at] & 3) == 0) {
    return print_primitive(p, at, err);
  }
  if (!take(p->value, at + 1, p->value.data[at] >> 2, &bytes)) {
    return malformed("a string past the end", at, err);
  }
  return print_text(p->out, bytes, err);
}

static tarn_status print_value(const printer *p, tarn_error *err) {
  container open[MAX_DEPTH];
  size_t depth = 0, at = 0;
  for (;;) {
    if ((p->value.data[at] & 3) < 2) {
      TN_TRY(print_scalar(p, at, err));
    } else if (depth == MAX_DEPTH) {
      return tn_fail(err, TARN_E_LIMIT, "variant: nested deeper than %d", MAX_DEPTH);
    } else {
      TN_TRY(open_container(p, at, &open[depth], err));
      depth++;
    }
    while (depth > 0 && open[depth - 1].next == open[depth - 1].n) {
      depth--;
      TN_TRY(tn_buf_append(p->out, open[depth].ids != 0 ? "}" : "]", 1, err));
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
  TN_TRY(read_names(metadata, &p.names, err));
  if (value.len == 0) {
    return malformed("no value", 0, err);
  }
  return print_value(&p, err);
}
