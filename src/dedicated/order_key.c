/* order_key.c - values as ordered bytes, and curves through several columns. */
#include "dedicated/order_key.h"

#include <string.h>

#include "base/bytes.h"
#include "column/datum.h"

#define KEYS_LIMIT ((int64_t)INT32_MAX)

tarn_status tn_order_check(const tn_field *fields, const int32_t *columns, int32_t n_columns,
                           tn_order_kind kind, tarn_error *err) {
  if (n_columns < 1 || n_columns > TN_ORDER_MAX_COLUMNS) {
    return tn_fail(err, TARN_E_INVALID, "rows are sorted by 1 to %d columns, found %d",
                   TN_ORDER_MAX_COLUMNS, (int)n_columns);
  }
  if (kind != TN_ORDER_LINEAR && n_columns < 2) {
    return tn_fail(err, TARN_E_INVALID, "a curve goes through at least 2 columns");
  }
  for (int32_t i = 0; i < n_columns; i++) {
    const tn_field *f = &fields[columns[i]];
    if (tn_type_layout(&f->type) >= TN_LAYOUT_LIST) {
      return tn_fail(err, TARN_E_INVALID, "column '%s' of type %s has no order", f->name,
                     tn_type_text_of(&f->type).text);
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ one value */

static uint64_t order_of_i64(int64_t v) {
  return (uint64_t)v ^ (UINT64_C(1) << 63);
}

/* -0.0 before 0.0, one NaN, the greatest. */
static uint64_t order_of_f64(double v) {
  uint64_t bits;
  memcpy(&bits, &v, sizeof(bits));
  if (v != v) {
    return UINT64_MAX;
  }
  return (bits >> 63) != 0 ? ~bits : bits | (UINT64_C(1) << 63);
}

static void store_be64(uint8_t out[8], uint64_t v) {
  for (int i = 0; i < 8; i++) {
    out[i] = (uint8_t)(v >> (56 - 8 * i));
  }
}

/* Eight bytes that keep the order as far as they can. */
static uint64_t coordinate(const tn_type *type, const tn_datum *d) {
  uint8_t head[8] = {0};
  uint64_t out = 0;
  if (d->is_null) {
    return 0;
  }
  switch (tn_type_layout(type)) {
    case TN_LAYOUT_BIT:
      return d->v.boolean ? UINT64_MAX : 0;
    case TN_LAYOUT_F32:
    case TN_LAYOUT_F64:
      return order_of_f64(d->v.f64);
    case TN_LAYOUT_I128:
      return d->v.i128 >= INT64_MIN && d->v.i128 <= INT64_MAX ? order_of_i64((int64_t)d->v.i128)
             : d->v.i128 < 0                                  ? 0
                                                              : UINT64_MAX;
    case TN_LAYOUT_BYTES:
      memcpy(head, d->v.bytes.data, d->v.bytes.len < 8 ? d->v.bytes.len : 8);
      for (int i = 0; i < 8; i++) {
        out = out << 8 | head[i];
      }
      return out;
    default:
      return order_of_i64(d->v.i64);
  }
}

/* ------------------------------------------------------------------ linear */

/* A zero byte becomes 00 FF, so that 00 00 ends the text before any longer one. */
static tarn_status put_text(tn_slice text, tn_buf *out, tarn_error *err) {
  static const uint8_t zero[2] = {0, 0xFF}, end[2] = {0, 0};
  size_t begin = 0;
  for (size_t i = 0; i < text.len; i++) {
    if (text.data[i] == 0) {
      TN_TRY(tn_buf_append(out, text.data + begin, i - begin, err));
      TN_TRY(tn_buf_append(out, zero, sizeof(zero), err));
      begin = i + 1;
    }
  }
  TN_TRY(tn_buf_append(out, text.data + begin, text.len - begin, err));
  return tn_buf_append(out, end, sizeof(end), err);
}

static tarn_status put_linear(const tn_type *type, const tn_datum *d, tn_buf *out,
                              tarn_error *err) {
  uint8_t bytes[17] = {!d->is_null};
  size_t n = 1;
  if (d->is_null) {
    return tn_buf_append(out, bytes, n, err);
  }
  switch (tn_type_layout(type)) {
    case TN_LAYOUT_BIT:
      bytes[n++] = d->v.boolean;
      break;
    case TN_LAYOUT_I128:
      store_be64(bytes + 1, order_of_i64((int64_t)(d->v.i128 >> 64)));
      store_be64(bytes + 9, (uint64_t)d->v.i128);
      n += 16;
      break;
    case TN_LAYOUT_BYTES:
      TN_TRY(tn_buf_append(out, bytes, n, err));
      return put_text(d->v.bytes, out, err);
    default:
      store_be64(bytes + 1, coordinate(type, d));
      n += 8;
  }
  return tn_buf_append(out, bytes, n, err);
}

/* ------------------------------------------------------------------ curves */

/* The bits of n coordinates in turn, the highest ones first: 8 * n bytes. */
static void interleave(const uint64_t *x, int32_t n, uint8_t *out) {
  size_t at = 0;
  memset(out, 0, 8 * (size_t)n);
  for (int b = 63; b >= 0; b--) {
    for (int32_t i = 0; i < n; i++, at++) {
      out[at >> 3] |= (uint8_t)((x[i] >> b & 1) << (7 - (at & 7)));
    }
  }
}

/* Coordinates become the transposed index on Hilbert's curve. Rule: J. Skilling, Programming the
 * Hilbert curve (2004). */
static void to_hilbert(uint64_t *x, int32_t n) {
  uint64_t t;
  for (uint64_t q = UINT64_C(1) << 63; q > 1; q >>= 1) {
    uint64_t p = q - 1;
    for (int32_t i = 0; i < n; i++) {
      if ((x[i] & q) != 0) {
        x[0] ^= p;
      } else {
        t = (x[0] ^ x[i]) & p;
        x[0] ^= t;
        x[i] ^= t;
      }
    }
  }
  for (int32_t i = 1; i < n; i++) {
    x[i] ^= x[i - 1];
  }
  t = 0;
  for (uint64_t q = UINT64_C(1) << 63; q > 1; q >>= 1) {
    if ((x[n - 1] & q) != 0) {
      t ^= q - 1;
    }
  }
  for (int32_t i = 0; i < n; i++) {
    x[i] ^= t;
  }
}

/* ------------------------------------------------------------------ rows */

static tarn_status put_row(const tn_batch *batch, int64_t row, const int32_t *columns,
                           int32_t n_columns, tn_order_kind kind, tn_buf *out, tarn_error *err) {
  uint64_t x[TN_ORDER_MAX_COLUMNS] = {0};
  uint8_t bytes[8 * TN_ORDER_MAX_COLUMNS];
  for (int32_t i = 0; i < n_columns; i++) {
    const tn_type *type = &batch->fields[columns[i]].type;
    const tn_datum d = tn_vec_datum(&batch->columns[columns[i]], row);
    if (kind == TN_ORDER_LINEAR) {
      TN_TRY(put_linear(type, &d, out, err));
    } else {
      x[i] = coordinate(type, &d);
    }
  }
  if (kind == TN_ORDER_LINEAR) {
    return TARN_OK;
  }
  if (kind == TN_ORDER_HILBERT) {
    to_hilbert(x, n_columns);
  }
  interleave(x, n_columns, bytes);
  return tn_buf_append(out, bytes, 8 * (size_t)n_columns, err);
}

tarn_status tn_order_keys(const tn_batch *batch, const int32_t *columns, int32_t n_columns,
                          tn_order_kind kind, tn_buf *bytes, int32_t *ends, tarn_error *err) {
  size_t begin = bytes->len;
  for (int64_t i = 0; i < batch->n_rows; i++) {
    TN_TRY(put_row(batch, i, columns, n_columns, kind, bytes, err));
    if (bytes->len - begin > (size_t)KEYS_LIMIT) {
      return tn_fail(err, TARN_E_LIMIT, "the sort keys of %lld rows take more than 2 GiB",
                     (long long)batch->n_rows);
    }
    ends[i] = (int32_t)(bytes->len - begin);
  }
  return TARN_OK;
}
