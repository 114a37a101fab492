/* key.c - prefixes column by column, comparisons through every encoding of vectors. */
#include "merge/key.h"

#include <string.h>

#include "base/bytes.h"

/* ------------------------------------------------------------------ encodings */

/* Where the value of a row lies: in `flat`, at codes[row], at 0 (constant) or at row. */
typedef struct column_view {
  const tn_vec *flat;
  const int32_t *codes;
  bool is_constant;
} column_view;

static inline column_view view_of(const tn_vec *vec) {
  column_view v = {vec, NULL, false};
  if (vec->encoding == TN_VEC_DICT) {
    v.flat = &vec->dictionary->values;
    v.codes = vec->values;
  } else if (vec->encoding == TN_VEC_CONST) {
    v.flat = vec->constant;
    v.is_constant = true;
  }
  return v;
}

static inline int64_t place(const column_view *v, int64_t row) {
  return v->codes != NULL ? v->codes[row] : v->is_constant ? 0 : row;
}

static inline tn_slice bytes_at(const column_view *v, int64_t row) {
  int64_t i = place(v, row);
  if (v->flat->encoding == TN_VEC_VIEW) {
    const tn_view *view = (const tn_view *)v->flat->values + i;
    return tn_slice_of(view->data, (size_t)view->len);
  }
  return tn_slice_of((const uint8_t *)v->flat->values + v->flat->offsets[i],
                     (size_t)(v->flat->offsets[i + 1] - v->flat->offsets[i]));
}

/* ------------------------------------------------------------------ order as bits */

/* The bits of a float whose unsigned order is that of Float.compare: -0.0 before 0.0, every NaN
 * one value above infinity. */
static inline uint32_t float_order(uint32_t bits) {
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return UINT32_MAX;
  }
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
}

static inline uint64_t double_order(uint64_t bits) {
  if ((bits & 0x7fffffffffffffffu) > 0x7ff0000000000000u) {
    return UINT64_MAX;
  }
  return (bits >> 63) != 0 ? ~bits : bits | 0x8000000000000000u;
}

static inline uint64_t i64_order(int64_t v) {
  return (uint64_t)v ^ 0x8000000000000000u;
}

/* Saturated to 64 bits: keeps the order, not the difference of what lies outside. */
static inline uint64_t i128_order(tn_i128 v) {
  return i64_order(v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : (int64_t)v);
}

/* The width of a column in the prefix, in bits; 0: takes the bytes that are left. */
static int32_t prefix_bits(tn_layout layout) {
  switch (layout) {
    case TN_LAYOUT_BIT:
    case TN_LAYOUT_I8:
      return 8;
    case TN_LAYOUT_I16:
      return 16;
    case TN_LAYOUT_I32:
    case TN_LAYOUT_F32:
      return 32;
    case TN_LAYOUT_I64:
    case TN_LAYOUT_F64:
    case TN_LAYOUT_I128:
      return 64;
    default:
      return 0;
  }
}

bool tn_key_has_order(const tn_type *type) {
  tn_layout layout = tn_type_layout(type);
  return prefix_bits(layout) != 0 || layout == TN_LAYOUT_BYTES;
}

bool tn_key_is_prefix_exact(const tn_field *fields, int32_t n_keys) {
  int32_t bits = 0;
  for (int32_t c = 0; c < n_keys; c++) {
    const tn_type *type = &fields[c].type;
    tn_layout layout = tn_type_layout(type);
    bool fits = layout != TN_LAYOUT_I128 || (type->root == TN_DECIMAL && type->precision <= 18);
    if (prefix_bits(layout) == 0 || !fits) {
      return false;
    }
    bits += prefix_bits(layout);
  }
  return bits <= 64;
}

/* ------------------------------------------------------------------ prefixes */

/* The value of each row, `width` bits, joined to the prefixes with `room` bits left in them. */
#define JOIN_LOOP(value)                                                              \
  for (int64_t row = 0; row < n_rows; row++) {                                        \
    int64_t i = place(&v, row);                                                       \
    uint64_t bits = (value);                                                          \
    prefixes[row] |= width <= room ? bits << (room - width) : bits >> (width - room); \
  }

static void join_fixed(const tn_vec *vec, int64_t n_rows, int32_t width, int32_t room,
                       uint64_t *prefixes) {
  column_view v = view_of(vec);
  const void *values = v.flat->values;
  switch (vec->layout) {
    case TN_LAYOUT_BIT:
      JOIN_LOOP(tn_bit_get(values, i) ? 1u : 0u)
      break;
    case TN_LAYOUT_I8:
      JOIN_LOOP((uint8_t)(((const uint8_t *)values)[i] ^ 0x80u))
      break;
    case TN_LAYOUT_I16:
      JOIN_LOOP((uint16_t)(((const uint16_t *)values)[i] ^ 0x8000u))
      break;
    case TN_LAYOUT_I32:
      JOIN_LOOP(((const uint32_t *)values)[i] ^ 0x80000000u)
      break;
    case TN_LAYOUT_F32:
      JOIN_LOOP(float_order(((const uint32_t *)values)[i]))
      break;
    case TN_LAYOUT_I64:
      JOIN_LOOP(i64_order(((const int64_t *)values)[i]))
      break;
    case TN_LAYOUT_F64:
      JOIN_LOOP(double_order(((const uint64_t *)values)[i]))
      break;
    default: /* I128 */
      JOIN_LOOP(i128_order(((const tn_i128 *)values)[i]))
      break;
  }
}

/* The most common key: one flat BIGINT or TIMESTAMP. */
static void copy_i64(const int64_t *values, int64_t n_rows, uint64_t *prefixes) {
  for (int64_t row = 0; row < n_rows; row++) {
    prefixes[row] = i64_order(values[row]);
  }
}

/* The bytes of each value behind `start`. False: a value does not begin with start. */
static bool join_bytes(const tn_vec *vec, int64_t n_rows, int32_t room, tn_slice start,
                       uint64_t *prefixes) {
  column_view v = view_of(vec);
  bool all_start_so = true;
  for (int64_t row = 0; row < n_rows; row++) {
    tn_slice s = bytes_at(&v, row);
    uint8_t raw[8] = {0};
    if (start.len > 0) {
      if (!tn_slice_starts_with(s, start)) {
        all_start_so = false;
        continue;
      }
      s = tn_slice_of(s.data + start.len, s.len - start.len);
    }
    if (s.len >= 8) {
      memcpy(raw, s.data, 8);
    } else {
      for (size_t i = 0; i < s.len; i++) {
        raw[i] = s.data[i];
      }
    }
    prefixes[row] |= tn_load_be64(raw) >> (64 - room);
  }
  return all_start_so;
}

tarn_status tn_key_prefixes(const tn_batch *batch, int32_t n_keys, tn_slice common_start,
                            uint64_t *prefixes, tarn_error *err) {
  int32_t room = 64; /* bits that are free yet */
  const tn_vec *first = n_keys > 0 ? &batch->columns[0] : NULL;
  for (int32_t c = 0; c < n_keys; c++) {
    if (batch->columns[c].null_count > 0) {
      return tn_fail(err, TARN_E_CORRUPT, "key column '%s' holds %lld nulls", batch->fields[c].name,
                     (long long)batch->columns[c].null_count);
    }
  }
  if (first != NULL && first->layout == TN_LAYOUT_I64 && first->encoding == TN_VEC_FLAT) {
    copy_i64(first->values, batch->n_rows, prefixes);
    return TARN_OK;
  }
  memset(prefixes, 0, (size_t)batch->n_rows * sizeof(*prefixes));
  for (int32_t c = 0; c < n_keys && room > 0; c++) {
    const tn_vec *vec = &batch->columns[c];
    int32_t width = prefix_bits(vec->layout);
    if (width == 0) {
      tn_slice start = c == 0 ? common_start : tn_slice_of(NULL, 0);
      if (!join_bytes(vec, batch->n_rows, room, start, prefixes)) {
        return tn_fail(err, TARN_E_CORRUPT,
                       "key column '%s' holds values outside of the key range of its files",
                       batch->fields[c].name);
      }
      break;
    }
    join_fixed(vec, batch->n_rows, width, room, prefixes);
    room -= width;
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ whole keys */

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))
#define ORDER_OF(type)                              \
  {                                                 \
    type x = ((const type *)va.flat->values)[at_a]; \
    type y = ((const type *)vb.flat->values)[at_b]; \
    return ORDER(x, y);                             \
  }

static int compare_value(const tn_vec *a, int64_t i, const tn_vec *b, int64_t j) {
  column_view va = view_of(a), vb = view_of(b);
  int64_t at_a, at_b;
  if (a->layout == TN_LAYOUT_BYTES) {
    return tn_slice_compare(bytes_at(&va, i), bytes_at(&vb, j));
  }
  at_a = place(&va, i);
  at_b = place(&vb, j);
  switch (a->layout) {
    case TN_LAYOUT_BIT:
      return tn_bit_get(va.flat->values, at_a) - tn_bit_get(vb.flat->values, at_b);
    case TN_LAYOUT_I8:
      ORDER_OF(int8_t)
    case TN_LAYOUT_I16:
      ORDER_OF(int16_t)
    case TN_LAYOUT_I32:
      ORDER_OF(int32_t)
    case TN_LAYOUT_I64:
      ORDER_OF(int64_t)
    case TN_LAYOUT_I128:
      ORDER_OF(tn_i128)
    case TN_LAYOUT_F32: {
      uint32_t x = float_order(((const uint32_t *)va.flat->values)[at_a]);
      uint32_t y = float_order(((const uint32_t *)vb.flat->values)[at_b]);
      return ORDER(x, y);
    }
    case TN_LAYOUT_F64: {
      uint64_t x = double_order(((const uint64_t *)va.flat->values)[at_a]);
      uint64_t y = double_order(((const uint64_t *)vb.flat->values)[at_b]);
      return ORDER(x, y);
    }
    default:
      return 0; /* no order: tn_key_has_order told so */
  }
}

int tn_key_compare(const tn_batch *a, int64_t i, const tn_batch *b, int64_t j, int32_t n_keys) {
  for (int32_t c = 0; c < n_keys; c++) {
    int order = compare_value(&a->columns[c], i, &b->columns[c], j);
    if (order != 0) {
      return order;
    }
  }
  return 0;
}

int tn_key_compare_value(const tn_vec *a, int64_t i, const tn_vec *b, int64_t j) {
  bool a_null = a->null_count > 0 && tn_vec_is_null(a, i);
  bool b_null = b->null_count > 0 && tn_vec_is_null(b, j);
  if (a_null || b_null) {
    return (int)b_null - (int)a_null;
  }
  return compare_value(a, i, b, j);
}
