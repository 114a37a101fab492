/* file_index_value.c - values in payloads and literals of predicates as keys of one order.
 *
 * Rule: org.apache.paimon.fileindex.bitmap.BitmapTypeVisitor, rangebitmap..KeyFactory,
 * bsi.BitSliceIndexBitmapFileIndex.getValueMapper; spec: indexes, 5.
 */
#include <math.h>

#include "base/bytes.h"
#include "index/file_index_payload.h"

#define NANOS_PER_MICRO 1000

tn_index_code tn_index_code_of(const tn_type *type) {
  switch (type->root) {
    case TN_BOOLEAN:
    case TN_TINYINT:
      return (tn_index_code){TN_INDEX_INT, 1, false};
    case TN_SMALLINT:
      return (tn_index_code){TN_INDEX_INT, 2, false};
    case TN_INT:
    case TN_DATE:
    case TN_TIME:
      return (tn_index_code){TN_INDEX_INT, 4, false};
    case TN_BIGINT:
    case TN_DECIMAL:
      return (tn_index_code){TN_INDEX_INT, 8, false};
    case TN_TIMESTAMP:
    case TN_TIMESTAMP_LTZ:
      return (tn_index_code){TN_INDEX_INT, 8, tn_type_layout(type) == TN_LAYOUT_I128};
    case TN_FLOAT:
      return (tn_index_code){TN_INDEX_FLOAT, 4, false};
    case TN_DOUBLE:
      return (tn_index_code){TN_INDEX_FLOAT, 8, false};
    case TN_CHAR:
    case TN_VARCHAR:
    case TN_BINARY:
    case TN_VARBINARY:
      return (tn_index_code){TN_INDEX_TEXT, 0, false};
    default:
      return (tn_index_code){TN_INDEX_NONE, 0, false};
  }
}

static tn_index_key key_of_i128(tn_i128 value) {
  tn_index_key key = {0};
  if (value < INT64_MIN) {
    key.side = -1;
  } else if (value > INT64_MAX) {
    key.side = 1;
  } else {
    key.v.i = (int64_t)value;
  }
  return key;
}

tn_index_key tn_index_key_of(const tn_index_code *code, const tn_type *type, const tn_datum *datum,
                             bool *is_exact) {
  tn_index_key key = {0};
  *is_exact = true;
  switch (code->form) {
    case TN_INDEX_FLOAT:
      key.v.f = datum->v.f64;
      break;
    case TN_INDEX_TEXT:
      key.v.text = datum->v.bytes;
      break;
    default:
      if (type->root == TN_BOOLEAN) {
        key.v.i = datum->v.boolean;
      } else if (code->is_cut) {
        tn_i128 rest = datum->v.i128 % NANOS_PER_MICRO;
        rest += rest < 0 ? NANOS_PER_MICRO : 0;
        *is_exact = rest == 0;
        key = key_of_i128((datum->v.i128 - rest) / NANOS_PER_MICRO);
      } else if (type->root == TN_DECIMAL) {
        key = key_of_i128(datum->v.i128);
      } else {
        key.v.i = datum->v.i64;
      }
  }
  return key;
}

/* Double.compare: NaN is the greatest and equal to itself, -0.0 < 0.0. */
static int compare_floats(double a, double b) {
  if (isnan(a) || isnan(b)) {
    return isnan(a) - isnan(b);
  }
  if (a == 0 && b == 0) {
    return (signbit(b) != 0) - (signbit(a) != 0);
  }
  return (a > b) - (a < b);
}

int tn_index_key_compare(const tn_index_code *code, const tn_index_key *a, const tn_index_key *b) {
  if (a->side != b->side) {
    return a->side < b->side ? -1 : 1;
  }
  switch (code->form) {
    case TN_INDEX_FLOAT:
      return compare_floats(a->v.f, b->v.f);
    case TN_INDEX_TEXT:
      return tn_slice_compare(a->v.text, b->v.text);
    default:
      return (a->v.i > b->v.i) - (a->v.i < b->v.i);
  }
}

static int64_t load_int(const uint8_t *p, uint8_t width) {
  switch (width) {
    case 1:
      return (int8_t)p[0];
    case 2:
      return (int16_t)tn_load_be16(p);
    case 4:
      return (int32_t)tn_load_be32(p);
    default:
      return (int64_t)tn_load_be64(p);
  }
}

static double load_float(const uint8_t *p, uint8_t width) {
  uint64_t wide;
  uint32_t narrow;
  if (width == 4) {
    narrow = tn_load_be32(p);
    return (double)tn_load_f32(&narrow);
  }
  wide = tn_load_be64(p);
  return tn_load_f64(&wide);
}

tarn_status tn_cursor_key(tn_cursor *c, tn_index_key *out, tarn_error *err) {
  const tn_index_code *code = &c->payload->code;
  const uint8_t *p;
  *out = (tn_index_key){0};
  if (code->form == TN_INDEX_TEXT) {
    uint32_t n;
    TN_TRY(tn_cursor_u32(c, &n, err));
    TN_TRY(tn_cursor_take(c, n, &p, err));
    out->v.text = tn_slice_of(p, n);
    return TARN_OK;
  }
  TN_TRY(tn_cursor_take(c, code->width, &p, err));
  if (code->form == TN_INDEX_FLOAT) {
    out->v.f = load_float(p, code->width);
  } else {
    out->v.i = load_int(p, code->width);
    if (c->payload->type->root == TN_BOOLEAN) {
      out->v.i = out->v.i != 0;
    }
  }
  return TARN_OK;
}
