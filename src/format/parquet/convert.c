/* convert.c - one loop a pair of stored and wanted type, and the choice among them. */
#include "format/parquet/convert.h"

#include "base/bytes.h"
#include "base/checked.h"
#include "column/number_text.h"

#define DAY_NANOS ((int64_t)86400 * 1000000000)
#define JULIAN_EPOCH_DAY 2440588 /* 1970-01-01 */

/* ------------------------------------------------------------------ values */

static int64_t i32_to_i8(const tn_pq_convert *c, const uint8_t *raw, int64_t n, void *out) {
  int8_t *to = out;
  (void)c;
  for (int64_t i = 0; i < n; i++) {
    int32_t v = (int32_t)tn_load_le32(raw + 4 * i);
    to[i] = (int8_t)v;
    if (TN_UNLIKELY(v != to[i])) {
      return i;
    }
  }
  return n;
}

static int64_t i32_to_i16(const tn_pq_convert *c, const uint8_t *raw, int64_t n, void *out) {
  int16_t *to = out;
  (void)c;
  for (int64_t i = 0; i < n; i++) {
    int32_t v = (int32_t)tn_load_le32(raw + 4 * i);
    to[i] = (int16_t)v;
    if (TN_UNLIKELY(v != to[i])) {
      return i;
    }
  }
  return n;
}

static int64_t i32_to_i64(const tn_pq_convert *c, const uint8_t *raw, int64_t n, void *out) {
  int64_t *to = out;
  (void)c;
  for (int64_t i = 0; i < n; i++) {
    to[i] = (int32_t)tn_load_le32(raw + 4 * i);
  }
  return n;
}

static int64_t u32_to_i64(const tn_pq_convert *c, const uint8_t *raw, int64_t n, void *out) {
  int64_t *to = out;
  (void)c;
  for (int64_t i = 0; i < n; i++) {
    to[i] = tn_load_le32(raw + 4 * i);
  }
  return n;
}

static int64_t u64_to_i128(const tn_pq_convert *c, const uint8_t *raw, int64_t n, void *out) {
  (void)c;
  for (int64_t i = 0; i < n; i++) {
    tn_store_i128((uint8_t *)out + 16 * i, (tn_i128)tn_load_le64(raw + 8 * i));
  }
  return n;
}

static bool is_in_range(const tn_pq_convert *c, tn_i128 v) {
  return c->limit == 0 || (v < c->limit && v > -c->limit);
}

static int64_t i32_to_decimal(const tn_pq_convert *c, const uint8_t *raw, int64_t n, void *out) {
  for (int64_t i = 0; i < n; i++) {
    tn_i128 v = (int32_t)tn_load_le32(raw + 4 * i);
    if (TN_UNLIKELY(!is_in_range(c, v))) {
      return i;
    }
    tn_store_i128((uint8_t *)out + 16 * i, v);
  }
  return n;
}

static int64_t i64_to_decimal(const tn_pq_convert *c, const uint8_t *raw, int64_t n, void *out) {
  for (int64_t i = 0; i < n; i++) {
    tn_i128 v = (int64_t)tn_load_le64(raw + 8 * i);
    if (TN_UNLIKELY(!is_in_range(c, v))) {
      return i;
    }
    tn_store_i128((uint8_t *)out + 16 * i, v);
  }
  return n;
}

/* Big-endian two's complement of any length; false when it needs more than 128 bits. */
static bool load_big_endian(const uint8_t *p, size_t n, tn_i128 *out) {
  uint8_t sign;
  tn_u128 v;
  if (n == 0) {
    return false;
  }
  sign = (p[0] & 0x80) != 0 ? 0xff : 0;
  for (; n > 16; n--, p++) {
    if (p[0] != sign || (p[1] & 0x80) != (sign & 0x80)) {
      return false;
    }
  }
  v = sign != 0 ? ~(tn_u128)0 : 0;
  for (size_t i = 0; i < n; i++) {
    v = v << 8 | p[i];
  }
  *out = (tn_i128)v;
  return true;
}

static int64_t fixed_to_decimal(const tn_pq_convert *c, const uint8_t *raw, int64_t n, void *out) {
  for (int64_t i = 0; i < n; i++) {
    tn_i128 v;
    if (TN_UNLIKELY(!load_big_endian(raw + (size_t)i * c->raw_width, c->raw_width, &v) ||
                    !is_in_range(c, v))) {
      return i;
    }
    tn_store_i128((uint8_t *)out + 16 * i, v);
  }
  return n;
}

static int64_t views_to_decimal(const tn_pq_convert *c, const tn_view *views, int64_t n,
                                void *out) {
  for (int64_t i = 0; i < n; i++) {
    tn_i128 v;
    if (TN_UNLIKELY(!load_big_endian(views[i].data, (size_t)views[i].len, &v) ||
                    !is_in_range(c, v))) {
      return i;
    }
    tn_store_i128((uint8_t *)out + 16 * i, v);
  }
  return n;
}

/* Ticks to other ticks, exactly. */
static bool scale_i64(int64_t v, int64_t factor, int64_t *out) {
  if (factor > 0) {
    return !__builtin_mul_overflow(v, factor, out);
  }
  *out = v / -factor;
  return v % -factor == 0;
}

static int64_t i64_to_ticks(const tn_pq_convert *c, const uint8_t *raw, int64_t n, void *out) {
  int64_t *to = out;
  for (int64_t i = 0; i < n; i++) {
    if (TN_UNLIKELY(!scale_i64((int64_t)tn_load_le64(raw + 8 * i), c->factor, &to[i]))) {
      return i;
    }
  }
  return n;
}

/* To nanoseconds, which are the finest there are. */
static int64_t i64_to_nanos(const tn_pq_convert *c, const uint8_t *raw, int64_t n, void *out) {
  for (int64_t i = 0; i < n; i++) {
    tn_i128 v = (tn_i128)(int64_t)tn_load_le64(raw + 8 * i) * c->factor;
    tn_store_i128((uint8_t *)out + 16 * i, v);
  }
  return n;
}

/* TIME of micro- or nanoseconds to milliseconds of day. */
static int64_t i64_to_time(const tn_pq_convert *c, const uint8_t *raw, int64_t n, void *out) {
  int32_t *to = out;
  for (int64_t i = 0; i < n; i++) {
    int64_t v;
    bool is_exact = scale_i64((int64_t)tn_load_le64(raw + 8 * i), c->factor, &v);
    to[i] = (int32_t)v;
    if (TN_UNLIKELY(!is_exact || v != to[i])) {
      return i;
    }
  }
  return n;
}

/* Nanoseconds of day (signed: before 1970 Java writes them negative), then the Julian day. */
static tn_i128 int96_nanos(const uint8_t *raw) {
  int64_t nanos = (int64_t)tn_load_le64(raw);
  int32_t day = (int32_t)tn_load_le32(raw + 8);
  return (tn_i128)((int64_t)day - JULIAN_EPOCH_DAY) * DAY_NANOS + nanos;
}

static int64_t int96_to_nanos(const tn_pq_convert *c, const uint8_t *raw, int64_t n, void *out) {
  (void)c;
  for (int64_t i = 0; i < n; i++) {
    tn_store_i128((uint8_t *)out + 16 * i, int96_nanos(raw + 12 * i));
  }
  return n;
}

static int64_t int96_to_ticks(const tn_pq_convert *c, const uint8_t *raw, int64_t n, void *out) {
  int64_t *to = out;
  for (int64_t i = 0; i < n; i++) {
    tn_i128 v = int96_nanos(raw + 12 * i);
    tn_i128 ticks = v / -c->factor;
    to[i] = (int64_t)ticks;
    if (TN_UNLIKELY(v % -c->factor != 0 || ticks != to[i])) {
      return i;
    }
  }
  return n;
}

/* IEEE 754 half to single precision: exact. */
static uint32_t half_to_float_bits(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000) << 16;
  uint32_t exponent = (h >> 10) & 0x1f;
  uint32_t fraction = h & 0x3ff;
  if (exponent == 0x1f) {
    return sign | 0x7f800000 | fraction << 13;
  }
  if (exponent != 0) {
    return sign | (exponent + 112) << 23 | fraction << 13;
  }
  if (fraction == 0) {
    return sign;
  }
  // subnormal: shift until the leading one is the hidden bit
  exponent = 113;
  while ((fraction & 0x400) == 0) {
    fraction <<= 1;
    exponent--;
  }
  return sign | exponent << 23 | (fraction & 0x3ff) << 13;
}

static int64_t half_to_float(const tn_pq_convert *c, const uint8_t *raw, int64_t n, void *out) {
  (void)c;
  for (int64_t i = 0; i < n; i++) {
    tn_store_le32((uint8_t *)out + 4 * i, half_to_float_bits(tn_load_le16(raw + 2 * i)));
  }
  return n;
}

/* ------------------------------------------------------------------ binding */

static const int64_t unit_ticks[] = {1000, 1000000, 1000000000}; /* a second */

/* From ticks to ticks a second: a factor, negative to divide. */
static int64_t tick_factor(int64_t from, int64_t to) {
  return to >= from ? to / from : -(from / to);
}

static bool bind_decimal(const tn_pq_element *e, const tn_type *type, tn_pq_convert *c) {
  const tn_pq_logical *l = &e->logical;
  if (e->physical == TN_PQ_INT64 && l->kind == TN_PQ_INTEGER && !l->is_signed) {
    c->convert = u64_to_i128;
    return l->bit_width == 64 && type->scale == 0 && type->precision >= 20;
  }
  if (l->kind != TN_PQ_DECIMAL || l->scale != type->scale) {
    return false;
  }
  if (l->precision > type->precision) {
    c->limit = tn_power_of_ten(type->precision);
  }
  switch (e->physical) {
    case TN_PQ_INT32:
      c->convert = i32_to_decimal;
      return true;
    case TN_PQ_INT64:
      c->convert = i64_to_decimal;
      return true;
    case TN_PQ_FIXED:
      c->convert = fixed_to_decimal;
      return e->type_length <= TN_PQ_MAX_RAW_BYTES;
    case TN_PQ_BYTE_ARRAY:
      c->from_views = views_to_decimal;
      return true;
    default:
      return false;
  }
}

static bool bind_integer(const tn_pq_element *e, const tn_type *type, tn_pq_convert *c) {
  const tn_pq_logical *l = &e->logical;
  bool is_unsigned = l->kind == TN_PQ_INTEGER && !l->is_signed;
  if (l->kind != TN_PQ_NONE && l->kind != TN_PQ_INTEGER && l->kind != TN_PQ_NULL) {
    return false;
  }
  if (e->physical == TN_PQ_INT64) {
    return type->root == TN_BIGINT && !is_unsigned;
  }
  if (e->physical != TN_PQ_INT32) {
    return false;
  }
  // narrower unsigned types are kept as numbers that are not negative
  is_unsigned = is_unsigned && l->bit_width > 16;
  switch (type->root) {
    case TN_TINYINT:
      c->convert = i32_to_i8;
      return !is_unsigned;
    case TN_SMALLINT:
      c->convert = i32_to_i16;
      return !is_unsigned;
    case TN_INT:
      return !is_unsigned;
    default:
      c->convert = is_unsigned ? u32_to_i64 : i32_to_i64;
      return true;
  }
}

static bool bind_timestamp(const tn_pq_element *e, const tn_type *type, tn_pq_convert *c) {
  int64_t ticks = tn_timestamp_ticks(type->precision);
  bool is_wide = c->layout == TN_LAYOUT_I128;
  if (e->physical == TN_PQ_INT96) {
    c->factor = tick_factor(1000000000, ticks);
    c->convert = is_wide ? int96_to_nanos : int96_to_ticks;
    return true;
  }
  if (e->physical != TN_PQ_INT64 || e->logical.kind != TN_PQ_TIMESTAMP) {
    return false;
  }
  c->factor = tick_factor(unit_ticks[e->logical.unit], ticks);
  c->convert = is_wide ? i64_to_nanos : c->factor == 1 ? NULL : i64_to_ticks;
  return true;
}

static bool bind_time(const tn_pq_element *e, tn_pq_convert *c) {
  if (e->logical.kind != TN_PQ_TIME) {
    return false;
  }
  if (e->logical.unit == TN_PQ_MILLIS) {
    return e->physical == TN_PQ_INT32;
  }
  c->factor = tick_factor(unit_ticks[e->logical.unit], 1000);
  c->convert = i64_to_time;
  return e->physical == TN_PQ_INT64;
}

/* Texts and bytes are taken for one another: old writers annotated neither. */
static bool bind_bytes(const tn_pq_element *e, const tn_type *type) {
  tn_pq_logical_kind kind = e->logical.kind;
  if (kind == TN_PQ_DECIMAL || kind == TN_PQ_FLOAT16) {
    return false;
  }
  return e->physical == TN_PQ_BYTE_ARRAY || (e->physical == TN_PQ_FIXED && tn_type_is_bytes(type));
}

static bool bind_by_root(const tn_pq_element *e, const tn_type *type, tn_pq_convert *c) {
  switch (type->root) {
    case TN_BOOLEAN:
      return e->physical == TN_PQ_BOOLEAN;
    case TN_TINYINT:
    case TN_SMALLINT:
    case TN_INT:
    case TN_BIGINT:
      return bind_integer(e, type, c);
    case TN_FLOAT:
      if (e->physical == TN_PQ_FIXED && e->logical.kind == TN_PQ_FLOAT16) {
        c->convert = half_to_float;
        return e->type_length == 2;
      }
      return e->physical == TN_PQ_FLOAT;
    case TN_DOUBLE:
      return e->physical == TN_PQ_DOUBLE;
    case TN_DECIMAL:
      return bind_decimal(e, type, c);
    case TN_DATE:
      return e->physical == TN_PQ_INT32 && e->logical.kind == TN_PQ_DATE;
    case TN_TIME:
      return bind_time(e, c);
    case TN_TIMESTAMP:
    case TN_TIMESTAMP_LTZ:
      return bind_timestamp(e, type, c);
    case TN_CHAR:
    case TN_VARCHAR:
    case TN_BINARY:
    case TN_VARBINARY:
    case TN_BLOB:
      return bind_bytes(e, type);
    default:
      return false;
  }
}

tarn_status tn_pq_type_mismatch(const tn_pq_node *node, const tn_type *type, const char *path,
                                const char *column, tarn_error *err) {
  char stored[128];
  tn_pq_element_text(node->element, stored, sizeof(stored));
  return tn_fail(err, TARN_E_CORRUPT, "%s: column `%s` is stored as %s, which cannot be read as %s",
                 path, column, stored, tn_type_text_of(type).text);
}

tarn_status tn_pq_convert_bind(const tn_pq_node *leaf, const tn_type *type, const char *path,
                               const char *column, tn_pq_convert *out, tarn_error *err) {
  static const uint32_t widths[TN_PQ_N_PHYSICAL] = {0, 4, 8, 12, 4, 8, 0, 0};
  const tn_pq_element *e = leaf->element;
  memset(out, 0, sizeof(*out));
  out->source = e->physical == TN_PQ_BOOLEAN      ? TN_PQ_SOURCE_BITS
                : e->physical == TN_PQ_BYTE_ARRAY ? TN_PQ_SOURCE_BYTES
                                                  : TN_PQ_SOURCE_FIXED;
  out->raw_width = e->physical == TN_PQ_FIXED ? (uint32_t)e->type_length : widths[e->physical];
  out->layout = tn_type_layout(type);
  out->out_width = (uint32_t)tn_layout_width(out->layout);
  out->factor = 1;
  if (leaf->kind != TN_PQ_NODE_LEAF || !bind_by_root(e, type, out)) {
    return tn_pq_type_mismatch(leaf, type, path, column, err);
  }
  return TARN_OK;
}

static void load_datum(tn_layout layout, const uint8_t *value, tn_datum *out) {
  switch (layout) {
    case TN_LAYOUT_I8:
      out->v.i64 = (int8_t)value[0];
      break;
    case TN_LAYOUT_I16:
      out->v.i64 = (int16_t)tn_load_le16(value);
      break;
    case TN_LAYOUT_I32:
      out->v.i64 = (int32_t)tn_load_le32(value);
      break;
    case TN_LAYOUT_I64:
      out->v.i64 = (int64_t)tn_load_le64(value);
      break;
    case TN_LAYOUT_F32:
      out->v.f64 = tn_load_f32(value);
      break;
    case TN_LAYOUT_F64:
      out->v.f64 = tn_load_f64(value);
      break;
    default:
      out->v.i128 = tn_load_i128(value);
      break;
  }
}

bool tn_pq_convert_datum(const tn_pq_convert *c, tn_slice raw, tn_datum *out) {
  uint8_t value[16];
  memset(out, 0, sizeof(*out));
  if (c->source == TN_PQ_SOURCE_BITS) {
    out->v.boolean = raw.len == 1 && (raw.data[0] & 1) != 0;
    return raw.len == 1;
  }
  if (c->layout == TN_LAYOUT_BYTES) {
    out->v.bytes = raw;
    return true;
  }
  if (c->source == TN_PQ_SOURCE_BYTES) {
    tn_view view = {raw.data, (int64_t)raw.len};
    if (c->from_views(c, &view, 1, value) != 1) {
      return false;
    }
  } else if (raw.len != c->raw_width) {
    return false;
  } else if (c->convert == NULL) {
    memcpy(value, raw.data, raw.len);
  } else if (c->convert(c, raw.data, 1, value) != 1) {
    return false;
  }
  load_datum(c->layout, value, out);
  return true;
}
