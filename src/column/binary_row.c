/* binary_row.c - reading and writing BinaryRow, and the arrays and maps inside it.
 *
 * Rows and arrays are one shape: null bits, slots, then pieces appended behind.
 *
 *   row    [kind, null bits from bit 8 on][8 bytes a field][pieces]
 *   array  [int32 n][null bits in words of 4 bytes][n elements of 1, 2, 4 or 8 bytes][pieces]
 *   map    [int32 bytes of the key array][key array][value array]
 *
 * Offsets in slots count from the first byte of their own row or array; every piece is padded to 8
 * with zeros. Pieces are written straight to the end of the output, nested ones too. Spec: rows, 1.
 */
#include "column/binary_row.h"

#include "base/bytes.h"
#include "base/checked.h"
#include "codec/hash.h"

typedef tn_binary_row_writer writer;

#define INLINE_MAX 7
#define COMPACT_DECIMAL_PRECISION 18
#define COMPACT_TIMESTAMP_PRECISION 3

/* ------------------------------------------------------------------ shape */

static size_t null_bytes(int32_t arity) {
  return ((size_t)arity + 63 + 8) / 64 * 8;
}

static size_t fixed_bytes(int32_t arity) {
  return null_bytes(arity) + 8 * (size_t)arity;
}

/* Count and null bits of an array. */
static size_t array_head_bytes(int64_t count) {
  return 4 + ((size_t)count + 31) / 32 * 4;
}

static bool is_wide_decimal(const tn_type *type) {
  return type->root == TN_DECIMAL && type->precision > COMPACT_DECIMAL_PRECISION;
}

static bool is_wide_timestamp(const tn_type *type) {
  return (type->root == TN_TIMESTAMP || type->root == TN_TIMESTAMP_LTZ) &&
         type->precision > COMPACT_TIMESTAMP_PRECISION;
}

/* ------------------------------------------------------------------ reading */

tarn_status tn_binary_row_view(tn_slice bytes, int32_t arity, const char *what, tn_binary_row *out,
                               tarn_error *err) {
  if (arity < 0 || fixed_bytes(arity) > bytes.len) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: a row of %d fields does not fit in %zu bytes", what,
                   (int)arity, bytes.len);
  }
  *out = (tn_binary_row){bytes, arity, 8, null_bytes(arity), what};
  return TARN_OK;
}

tarn_status tn_binary_array_view(tn_slice bytes, const char *what, tn_binary_row *out,
                                 tarn_error *err) {
  int32_t count = bytes.len >= 4 ? (int32_t)tn_load_le32(bytes.data) : -1;
  if (count < 0 || array_head_bytes(count) + 8 * (size_t)count > bytes.len) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: an array of %d elements in %zu bytes", what,
                   (int)count, bytes.len);
  }
  *out = (tn_binary_row){bytes, count, 32, array_head_bytes(count), what};
  return TARN_OK;
}

tn_slice tn_binary_row_empty(void) {
  static const uint8_t bytes[4 + 8]; /* arity 0, null bits */
  return tn_slice_of(bytes, sizeof(bytes));
}

tarn_status tn_binary_row_decode(tn_slice bytes, const char *what, tn_binary_row *out,
                                 tarn_error *err) {
  if (bytes.len < 4) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: a row with arity needs 4 bytes, %zu are there", what,
                   bytes.len);
  }
  return tn_binary_row_view(tn_slice_of(bytes.data + 4, bytes.len - 4),
                            (int32_t)tn_load_be32(bytes.data), what, out, err);
}

static const uint8_t *slot_at(const tn_binary_row *row, int32_t i) {
  return row->bytes.data + row->slots + 8 * (size_t)i;
}

uint64_t tn_binary_row_slot(const tn_binary_row *row, int32_t i) {
  return tn_load_le64(slot_at(row, i));
}

static tarn_status outside(const tn_binary_row *row, int32_t i, uint32_t offset, uint32_t length,
                           tarn_error *err) {
  return tn_fail(err, TARN_E_CORRUPT,
                 "%s: row of %zu bytes: field %d points to %u bytes at offset %u, past its end",
                 row->what, row->bytes.len, (int)i, (unsigned)length, (unsigned)offset);
}

/* The n_bytes that the upper half of the slot points to. */
static tarn_status piece_of(const tn_binary_row *row, int32_t i, uint32_t n_bytes, tn_slice *out,
                            tarn_error *err) {
  uint32_t offset = (uint32_t)(tn_binary_row_slot(row, i) >> 32);
  if (offset > row->bytes.len || n_bytes > row->bytes.len - offset) {
    return outside(row, i, offset, n_bytes, err);
  }
  *out = tn_slice_of(row->bytes.data + offset, n_bytes);
  return TARN_OK;
}

tarn_status tn_binary_row_piece(const tn_binary_row *row, int32_t i, tn_slice *out,
                                tarn_error *err) {
  uint64_t slot = tn_binary_row_slot(row, i);
  size_t length = slot >> 56 & 0x7f;
  if (slot >> 63 == 0) {
    return piece_of(row, i, (uint32_t)slot, out, err);
  }
  if (length > INLINE_MAX) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: field %d has %zu bytes in a slot of 7", row->what,
                   (int)i, length);
  }
  *out = tn_slice_of(slot_at(row, i), length);
  return TARN_OK;
}

static tarn_status get_wide_decimal(const tn_binary_row *row, int32_t i, tn_datum *out,
                                    tarn_error *err) {
  uint32_t length = (uint32_t)tn_binary_row_slot(row, i);
  tn_slice piece;
  tn_u128 value;
  TN_TRY(piece_of(row, i, length, &piece, err));
  if (length < 1 || length > 16) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: field %d is a decimal of %u bytes", row->what, (int)i,
                   (unsigned)length);
  }
  value = piece.data[0] >= 0x80 ? ~(tn_u128)0 : 0;
  for (size_t k = 0; k < length; k++) {
    value = value << 8 | piece.data[k];
  }
  out->v.i128 = (tn_i128)value;
  return TARN_OK;
}

static tarn_status get_wide_timestamp(const tn_binary_row *row, int32_t i, const tn_type *type,
                                      tn_datum *out, tarn_error *err) {
  uint32_t nanos = (uint32_t)tn_binary_row_slot(row, i);
  int64_t ticks = tn_timestamp_ticks(type->precision), millis;
  tn_i128 value;
  tn_slice piece;
  TN_TRY(piece_of(row, i, 8, &piece, err));
  millis = (int64_t)tn_load_le64(piece.data);
  if (nanos > 999999) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: field %d has %u nanoseconds in a millisecond",
                   row->what, (int)i, (unsigned)nanos);
  }
  value = (tn_i128)millis * (ticks / 1000) + nanos / (1000000000 / ticks);
  if (type->precision > 6) {
    out->v.i128 = value;
    return TARN_OK;
  }
  if (value < INT64_MIN || value > INT64_MAX) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: field %d is a timestamp that microseconds do not hold",
                   row->what, (int)i);
  }
  out->v.i64 = (int64_t)value;
  return TARN_OK;
}

tarn_status tn_binary_row_get(const tn_binary_row *row, int32_t i, const tn_type *type,
                              tn_datum *out, tarn_error *err) {
  uint64_t slot;
  memset(out, 0, sizeof(*out));
  if (i < 0 || i >= row->arity) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: row of %d fields has no field %d", row->what,
                   (int)row->arity, (int)i);
  }
  if (tn_binary_row_is_null(row, i)) {
    out->is_null = true;
    return TARN_OK;
  }
  slot = tn_binary_row_slot(row, i);
  switch (tn_type_layout(type)) {
    case TN_LAYOUT_BIT:
      out->v.boolean = (slot & 0xff) != 0;
      return TARN_OK;
    case TN_LAYOUT_I8:
      out->v.i64 = (int8_t)slot;
      return TARN_OK;
    case TN_LAYOUT_I16:
      out->v.i64 = (int16_t)slot;
      return TARN_OK;
    case TN_LAYOUT_I32:
      out->v.i64 = (int32_t)slot;
      return TARN_OK;
    case TN_LAYOUT_F32:
      out->v.f64 = tn_load_f32(&slot);
      return TARN_OK;
    case TN_LAYOUT_F64:
      out->v.f64 = tn_load_f64(&slot);
      return TARN_OK;
    case TN_LAYOUT_BYTES:
      return tn_binary_row_piece(row, i, &out->v.bytes, err);
    case TN_LAYOUT_I64:
      if (is_wide_timestamp(type)) {
        return get_wide_timestamp(row, i, type, out, err);
      }
      out->v.i64 = (int64_t)slot;
      return TARN_OK;
    case TN_LAYOUT_I128:
      if (is_wide_timestamp(type)) {
        return get_wide_timestamp(row, i, type, out, err);
      }
      if (is_wide_decimal(type)) {
        return get_wide_decimal(row, i, out, err);
      }
      out->v.i128 = (int64_t)slot;
      return TARN_OK;
    default:
      return TN_BUG(err, "field of a nested type read as a value");
  }
}

/* ------------------------------------------------------------------ pieces */

static tarn_status append_zeros(tn_buf *out, size_t n, tarn_error *err) {
  TN_TRY(tn_buf_reserve(out, n, err));
  if (n > 0) {
    memset(out->data + out->len, 0, n);
  }
  out->len += n;
  return TARN_OK;
}

static tarn_status pad(const writer *w, tarn_error *err) {
  size_t used = w->out->len - w->start;
  return append_zeros(w->out, tn_round_up(used, 8) - used, err);
}

static void set_null_bit(const writer *w, int64_t i) {
  tn_bit_set(w->out->data + w->start, (int64_t)w->null_bit + i);
}

/* The low bytes of value; the upper ones of a slot stay zero. */
static void put_slot(const writer *w, int64_t i, uint64_t value, size_t n_bytes) {
  memcpy(w->out->data + w->slots + (size_t)i * w->width, &value, n_bytes);
}

/* Where the next piece will lie, as the upper half of a slot. */
static tarn_status piece_offset(const writer *w, size_t n_bytes, uint64_t *out, tarn_error *err) {
  size_t offset = w->out->len - w->start;
  if (offset > INT32_MAX || n_bytes > INT32_MAX) {
    return tn_fail(err, TARN_E_LIMIT, "a row of more than 2147483647 bytes");
  }
  *out = (uint64_t)offset << 32;
  return TARN_OK;
}

static tarn_status put_piece(const writer *w, int64_t i, tn_slice piece, uint64_t low,
                             size_t reserve, tarn_error *err) {
  uint64_t offset;
  TN_TRY(piece_offset(w, piece.len, &offset, err));
  TN_TRY(tn_buf_append(w->out, piece.data, piece.len, err));
  TN_TRY(append_zeros(w->out, reserve > piece.len ? reserve - piece.len : 0, err));
  TN_TRY(pad(w, err));
  put_slot(w, i, offset | low, 8);
  return TARN_OK;
}

static tarn_status put_bytes(const writer *w, int64_t i, tn_slice bytes, tarn_error *err) {
  uint8_t slot[8] = {0};
  if (bytes.len > INLINE_MAX) {
    return put_piece(w, i, bytes, (uint32_t)bytes.len, 0, err);
  }
  if (bytes.len > 0) {
    memcpy(slot, bytes.data, bytes.len);
  }
  slot[7] = (uint8_t)(0x80 | bytes.len);
  put_slot(w, i, tn_load_le64(slot), 8);
  return TARN_OK;
}

/* Big-endian, as few bytes as hold the sign (java.math.BigInteger.toByteArray). */
static size_t decimal_bytes(tn_i128 value, uint8_t out[16]) {
  size_t skip = 0;
  for (size_t k = 0; k < 16; k++) {
    out[k] = (uint8_t)((tn_u128)value >> (8 * (15 - k)));
  }
  while (skip < 15 && ((out[skip] == 0 && out[skip + 1] < 0x80) ||
                       (out[skip] == 0xff && out[skip + 1] >= 0x80))) {
    skip++;
  }
  memmove(out, out + skip, 16 - skip);
  return 16 - skip;
}

static tarn_status put_wide_timestamp(const writer *w, int64_t i, const tn_type *type,
                                      const tn_datum *datum, tarn_error *err) {
  int64_t ticks = tn_timestamp_ticks(type->precision), ticks_per_ms = ticks / 1000;
  tn_i128 value = type->precision > 6 ? datum->v.i128 : datum->v.i64;
  tn_i128 millis = value / ticks_per_ms - (value % ticks_per_ms < 0);
  uint64_t nanos = (uint64_t)(value - millis * ticks_per_ms) * (uint64_t)(1000000000 / ticks);
  uint8_t piece[8];
  if (millis < INT64_MIN || millis > INT64_MAX) {
    return tn_fail(err, TARN_E_LIMIT, "a timestamp whose milliseconds do not fit");
  }
  tn_store_le64(piece, (uint64_t)millis);
  return put_piece(w, i, tn_slice_of(piece, 8), nanos, 8, err);
}

/* A value that is not null, of an atomic type. */
static tarn_status put_datum(const writer *w, int64_t i, const tn_type *type, const tn_datum *datum,
                             tarn_error *err) {
  uint8_t decimal[16];
  size_t n;
  float f;
  uint32_t bits;
  switch (tn_type_layout(type)) {
    case TN_LAYOUT_BIT:
      put_slot(w, i, datum->v.boolean, 1);
      return TARN_OK;
    case TN_LAYOUT_F32:
      f = (float)datum->v.f64;
      memcpy(&bits, &f, sizeof(bits));
      put_slot(w, i, bits, 4);
      return TARN_OK;
    case TN_LAYOUT_F64:
      put_slot(w, i, tn_load_le64(&datum->v.f64), 8);
      return TARN_OK;
    case TN_LAYOUT_I8:
    case TN_LAYOUT_I16:
    case TN_LAYOUT_I32:
      put_slot(w, i, (uint64_t)datum->v.i64, tn_layout_width(tn_type_layout(type)));
      return TARN_OK;
    case TN_LAYOUT_BYTES:
      return put_bytes(w, i, datum->v.bytes, err);
    case TN_LAYOUT_I64:
      if (is_wide_timestamp(type)) {
        return put_wide_timestamp(w, i, type, datum, err);
      }
      put_slot(w, i, (uint64_t)datum->v.i64, 8);
      return TARN_OK;
    case TN_LAYOUT_I128:
      if (is_wide_timestamp(type)) {
        return put_wide_timestamp(w, i, type, datum, err);
      }
      if (is_wide_decimal(type)) {
        n = decimal_bytes(datum->v.i128, decimal);
        return put_piece(w, i, tn_slice_of(decimal, n), n, 16, err);
      }
      put_slot(w, i, (uint64_t)datum->v.i128, 8);
      return TARN_OK;
    default:
      return TN_BUG(err, "a nested value as a datum");
  }
}

/* Null of a row field: wide types keep room for a later value (rows only, not arrays). */
static tarn_status put_null(const writer *w, int32_t i, const tn_type *type, tarn_error *err) {
  set_null_bit(w, i);
  if (is_wide_decimal(type)) {
    return put_piece(w, i, tn_slice_of(NULL, 0), 0, 16, err);
  }
  if (is_wide_timestamp(type)) {
    return put_piece(w, i, tn_slice_of(NULL, 0), 0, 8, err);
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ nested values */

static tarn_status put_value(const writer *w, int64_t i, const tn_vec *vec, int64_t row,
                             tarn_error *err);

tarn_status tn_binary_row_begin(tn_binary_row_writer *w, tn_buf *out, int32_t arity,
                                tarn_error *err) {
  *w = (writer){out, out->len, 8, out->len + null_bytes(arity), 8};
  return append_zeros(out, fixed_bytes(arity), err);
}

tarn_status tn_binary_array_begin(tn_binary_row_writer *w, tn_buf *out, int64_t count, size_t width,
                                  tarn_error *err) {
  size_t head = array_head_bytes(count);
  if (count < 0 || count > INT32_MAX) {
    return tn_fail(err, TARN_E_LIMIT, "an array of %lld elements", (long long)count);
  }
  *w = (writer){out, out->len, 32, out->len + head, width};
  TN_TRY(append_zeros(out, tn_round_up(head + (size_t)count * width, 8), err));
  tn_store_le32(out->data + w->start, (uint32_t)count);
  return TARN_OK;
}

static size_t element_width(const tn_type *type) {
  size_t width = tn_layout_width(tn_type_layout(type));
  return type->root == TN_BOOLEAN ? 1 : width == 0 || width > 8 ? 8 : width;
}

/* Arrays hold one NaN only, unlike rows. */
static void make_nan_standard(tn_type_root root, tn_datum *datum) {
  if ((root == TN_FLOAT || root == TN_DOUBLE) && datum->v.f64 != datum->v.f64) {
    datum->v.f64 = __builtin_nan("");
  }
}

/* The elements [begin, end) of a flat vector. */
static tarn_status put_array(tn_buf *out, const tn_vec *elements, int64_t begin, int64_t end,
                             tarn_error *err) {
  int64_t n = end - begin;
  bool is_nested = elements->n_children > 0 || elements->layout == TN_LAYOUT_STRUCT;
  writer w;
  TN_TRY(tn_binary_array_begin(&w, out, n, element_width(elements->type), err));
  for (int64_t i = 0; i < n; i++) {
    if (tn_vec_is_null(elements, begin + i)) {
      set_null_bit(&w, i);
    } else if (is_nested) {
      TN_TRY(put_value(&w, i, elements, begin + i, err));
    } else {
      tn_datum datum = tn_vec_datum(elements, begin + i);
      make_nan_standard(elements->type->root, &datum);
      TN_TRY(put_datum(&w, i, elements->type, &datum, err));
    }
  }
  return TARN_OK;
}

static tarn_status put_map(tn_buf *out, const tn_vec *entries, int64_t begin, int64_t end,
                           tarn_error *err) {
  size_t start = out->len;
  TN_TRY(append_zeros(out, 4, err));
  TN_TRY(put_array(out, &entries->children[0], begin, end, err));
  tn_store_le32(out->data + start, (uint32_t)(out->len - start - 4));
  return put_array(out, &entries->children[1], begin, end, err);
}

static tarn_status put_row(tn_buf *out, const tn_vec *vec, int64_t row, tarn_error *err) {
  writer w;
  TN_TRY(tn_binary_row_begin(&w, out, vec->n_children, err));
  for (int32_t c = 0; c < vec->n_children; c++) {
    TN_TRY(put_value(&w, c, &vec->children[c], row, err));
  }
  return TARN_OK;
}

/* int32 length of the value, value, metadata. */
static tarn_status put_variant(tn_buf *out, const tn_vec *vec, int64_t row, tarn_error *err) {
  tn_slice metadata = tn_vec_bytes(&vec->children[0], row);
  tn_slice value = tn_vec_bytes(&vec->children[1], row);
  uint8_t length[4];
  tn_store_le32(length, (uint32_t)value.len);
  TN_TRY(tn_buf_append(out, length, 4, err));
  TN_TRY(tn_buf_append(out, value.data, value.len, err));
  return tn_buf_append(out, metadata.data, metadata.len, err);
}

/* int32 n, then the elements without null bits. */
static tarn_status put_vector(tn_buf *out, const tn_vec *vec, int64_t row, tarn_error *err) {
  const tn_vec *elements = &vec->children[0];
  int32_t n = vec->type->length;
  writer w = {out, out->len, 0, out->len + 4, element_width(elements->type)};
  TN_TRY(append_zeros(out, 4 + (size_t)n * w.width, err));
  tn_store_le32(out->data + w.start, (uint32_t)n);
  for (int32_t i = 0; i < n; i++) {
    tn_datum datum = tn_vec_datum(elements, row * n + i);
    if (!datum.is_null) {
      TN_TRY(put_datum(&w, i, elements->type, &datum, err));
    }
  }
  return TARN_OK;
}

static tarn_status put_nested(tn_buf *out, const tn_vec *vec, int64_t row, tarn_error *err) {
  switch (vec->type->root) {
    case TN_ARRAY:
      return put_array(out, &vec->children[0], vec->offsets[row], vec->offsets[row + 1], err);
    case TN_MAP:
    case TN_MULTISET:
      return put_map(out, &vec->children[0], vec->offsets[row], vec->offsets[row + 1], err);
    case TN_VARIANT:
      return put_variant(out, vec, row, err);
    case TN_VECTOR:
      return put_vector(out, vec, row, err);
    default:
      return put_row(out, vec, row, err);
  }
}

/* Row `row` of a vector; in an array the caller has dealt with nulls. */
static tarn_status put_value(const writer *w, int64_t i, const tn_vec *vec, int64_t row,
                             tarn_error *err) {
  uint64_t offset;
  size_t start = w->out->len;
  bool is_nested = vec->n_children > 0 || vec->layout == TN_LAYOUT_STRUCT;
  if (tn_vec_is_null(vec, row)) {
    return put_null(w, (int32_t)i, vec->type, err);
  }
  if (!is_nested) {
    tn_datum datum = tn_vec_datum(vec, row);
    return put_datum(w, i, vec->type, &datum, err);
  }
  if (vec->encoding == TN_VEC_CONST) {
    return put_value(w, i, vec->constant, 0, err);
  }
  TN_TRY(piece_offset(w, 0, &offset, err));
  TN_TRY(put_nested(w->out, vec, row, err));
  if (w->out->len - start > INT32_MAX) {
    return tn_fail(err, TARN_E_LIMIT, "a nested value of more than 2147483647 bytes");
  }
  put_slot(w, i, offset | (w->out->len - start), 8);
  return pad(w, err);
}

/* ------------------------------------------------------------------ the writer */

tarn_status tn_binary_row_set(tn_binary_row_writer *w, int32_t i, const tn_type *type,
                              const tn_datum *datum, tarn_error *err) {
  return datum->is_null ? put_null(w, i, type, err) : put_datum(w, i, type, datum, err);
}

void tn_binary_row_set_null(tn_binary_row_writer *w, int32_t i) {
  set_null_bit(w, i);
}

tarn_status tn_binary_row_set_bytes(tn_binary_row_writer *w, int32_t i, tn_slice bytes,
                                    tarn_error *err) {
  return put_bytes(w, i, bytes, err);
}

void tn_binary_row_set_slot(tn_binary_row_writer *w, int32_t i, uint64_t slot) {
  put_slot(w, i, slot, 8);
}

tarn_status tn_binary_row_set_piece(tn_binary_row_writer *w, int32_t i, tn_slice piece,
                                    tarn_error *err) {
  return put_piece(w, i, piece, piece.len, 0, err);
}

tarn_status tn_binary_row_set_vec(tn_binary_row_writer *w, int32_t i, const tn_vec *vec,
                                  int64_t row, tarn_error *err) {
  return put_value(w, i, vec, row, err);
}

int32_t tn_binary_row_hash(tn_slice bytes) {
  return tn_murmur3_words(bytes.data, bytes.len, 42);
}
