/* write_bounds.c - keys, running bounds, cutting long ones. */
#include "format/parquet/write_bounds.h"

#include "base/bytes.h"
#include "base/utf8.h"

/* ------------------------------------------------------------------ keys */

#define INFINITY_32 0x7f800000
#define NAN_32 0x7fc00000
#define INFINITY_64 0x7ff0000000000000
#define NAN_64 0x7ff8000000000000

/* Of a float's bits: as signed numbers they order by value, where negative ones are turned over. */
static int32_t float_order(uint32_t bits) {
  int32_t v = (int32_t)bits;
  return v ^ (int32_t)((uint32_t)(v >> 31) >> 1);
}

static int64_t double_order(uint64_t bits) {
  int64_t v = (int64_t)bits;
  return v ^ (int64_t)((uint64_t)(v >> 63) >> 1);
}

/* A NaN of either sign is the greatest value. */
static int64_t float_key(uint32_t bits) {
  return (bits & INT32_MAX) > INFINITY_32 ? NAN_32 : float_order(bits);
}

static int64_t double_key(uint64_t bits) {
  return (bits & INT64_MAX) > INFINITY_64 ? NAN_64 : double_order(bits);
}

int64_t tn_pq_bounds_key(tn_pq_bound_kind kind, const uint8_t *plain) {
  switch (kind) {
    case TN_PQ_BOUND_I32:
      return (int32_t)tn_load_le32(plain);
    case TN_PQ_BOUND_I64:
      return (int64_t)tn_load_le64(plain);
    case TN_PQ_BOUND_F32:
      return float_key(tn_load_le32(plain));
    case TN_PQ_BOUND_F64:
      return double_key(tn_load_le64(plain));
    default:
      return plain[0];
  }
}

tn_slice tn_pq_bound_plain(tn_pq_bound_kind kind, int64_t key, bool is_max, uint8_t out[8]) {
  switch (kind) {
    case TN_PQ_BOUND_I32:
      tn_store_le32(out, (uint32_t)key);
      return tn_slice_of(out, 4);
    case TN_PQ_BOUND_I64:
      tn_store_le64(out, (uint64_t)key);
      return tn_slice_of(out, 8);
    case TN_PQ_BOUND_F32:
      /* The keys of the zeros are 0 and -1. */
      key = is_max && key == -1 ? 0 : !is_max && key == 0 ? -1 : key;
      tn_store_le32(out, (uint32_t)float_order((uint32_t)key));
      return tn_slice_of(out, 4);
    case TN_PQ_BOUND_F64:
      key = is_max && key == -1 ? 0 : !is_max && key == 0 ? -1 : key;
      tn_store_le64(out, (uint64_t)double_order((uint64_t)key));
      return tn_slice_of(out, 8);
    default:
      out[0] = (uint8_t)key;
      return tn_slice_of(out, 1);
  }
}

bool tn_pq_bounds_have_nan(tn_pq_bound_kind kind, const tn_pq_write_bounds *b) {
  return b->is_set && ((kind == TN_PQ_BOUND_F32 && b->max == NAN_32) ||
                       (kind == TN_PQ_BOUND_F64 && b->max == NAN_64));
}

/* ------------------------------------------------------------------ numbers */

void tn_pq_bounds_add_key(tn_pq_write_bounds *b, int64_t key) {
  b->min = !b->is_set || key < b->min ? key : b->min;
  b->max = !b->is_set || key > b->max ? key : b->max;
  b->is_set = true;
}

/* Four bounds at once, so that comparisons do not wait for one another. */
#define DEFINE_BOUNDS(name, value, stored, order)                                     \
  static void name(const stored *values, int64_t n, value *out_min, value *out_max) { \
    value min[4], max[4];                                                             \
    int64_t i = 0;                                                                    \
    for (int k = 0; k < 4; k++) {                                                     \
      min[k] = max[k] = order(values[0]);                                             \
    }                                                                                 \
    for (; i + 4 <= n; i += 4) {                                                      \
      for (int k = 0; k < 4; k++) {                                                   \
        value v = order(values[i + k]);                                               \
        min[k] = v < min[k] ? v : min[k];                                             \
        max[k] = v > max[k] ? v : max[k];                                             \
      }                                                                               \
    }                                                                                 \
    for (; i < n; i++) {                                                              \
      value v = order(values[i]);                                                     \
      min[0] = v < min[0] ? v : min[0];                                               \
      max[0] = v > max[0] ? v : max[0];                                               \
    }                                                                                 \
    for (int k = 1; k < 4; k++) {                                                     \
      min[0] = min[k] < min[0] ? min[k] : min[0];                                     \
      max[0] = max[k] > max[0] ? max[k] : max[0];                                     \
    }                                                                                 \
    *out_min = min[0];                                                                \
    *out_max = max[0];                                                                \
  }

#define AS_I32(v) ((int32_t)(v))
#define AS_I64(v) ((int64_t)(v))
DEFINE_BOUNDS(bounds_i32, int32_t, uint32_t, AS_I32)
DEFINE_BOUNDS(bounds_i64, int64_t, uint64_t, AS_I64)
DEFINE_BOUNDS(bounds_f32, int32_t, uint32_t, float_order)
DEFINE_BOUNDS(bounds_f64, int64_t, uint64_t, double_order)

void tn_pq_bounds_add_32(tn_pq_write_bounds *b, tn_pq_bound_kind kind, const uint32_t *values,
                         int64_t n) {
  int32_t min, max;
  if (kind == TN_PQ_BOUND_I32) {
    bounds_i32(values, n, &min, &max);
  } else {
    bounds_f32(values, n, &min, &max);
    if (min < float_order(0x80000000u | INFINITY_32) || max > INFINITY_32) {
      for (int64_t i = 0; i < n; i++) {  // there are NaNs
        tn_pq_bounds_add_key(b, float_key(values[i]));
      }
      return;
    }
  }
  tn_pq_bounds_add_key(b, min);
  tn_pq_bounds_add_key(b, max);
}

void tn_pq_bounds_add_64(tn_pq_write_bounds *b, tn_pq_bound_kind kind, const uint64_t *values,
                         int64_t n) {
  int64_t min, max;
  if (kind == TN_PQ_BOUND_I64) {
    bounds_i64(values, n, &min, &max);
  } else {
    bounds_f64(values, n, &min, &max);
    if (min < double_order(0x8000000000000000u | INFINITY_64) || max > INFINITY_64) {
      for (int64_t i = 0; i < n; i++) {  // there are NaNs
        tn_pq_bounds_add_key(b, double_key(values[i]));
      }
      return;
    }
  }
  tn_pq_bounds_add_key(b, min);
  tn_pq_bounds_add_key(b, max);
}

/* ------------------------------------------------------------------ bytes */

/* Of one length, not empty. */
static int compare_fixed(tn_slice a, tn_slice b) {
  int sign = (int)(int8_t)a.data[0] - (int)(int8_t)b.data[0];
  return sign != 0 ? sign : memcmp(a.data, b.data, a.len);
}

int tn_pq_bounds_compare(tn_pq_bound_kind kind, tn_slice a, tn_slice b) {
  return kind == TN_PQ_BOUND_FIXED ? compare_fixed(a, b) : tn_slice_compare(a, b);
}

void tn_pq_bounds_add_bytes(tn_pq_write_bounds *b, tn_pq_bound_kind kind, tn_slice value) {
  if (!b->is_set) {
    b->min_bytes = b->max_bytes = value;
    b->is_set = true;
    return;
  }
  if (tn_pq_bounds_compare(kind, value, b->min_bytes) < 0) {
    b->min_bytes = value;
  } else if (tn_pq_bounds_compare(kind, value, b->max_bytes) > 0) {
    b->max_bytes = value;
  }
}

/* ------------------------------------------------------------------ kept bounds */

void tn_pq_kept_bounds_init(tn_pq_kept_bounds *kept, tarn_env *env) {
  memset(kept, 0, sizeof(*kept));
  tn_pq_bytes_init(&kept->min, env);
  tn_pq_bytes_init(&kept->max, env);
}

void tn_pq_kept_bounds_clear(tn_pq_kept_bounds *kept) {
  memset(&kept->bounds, 0, sizeof(kept->bounds));
}

void tn_pq_kept_bounds_reset(tn_pq_kept_bounds *kept) {
  tn_pq_bytes_reset(&kept->min);
  tn_pq_bytes_reset(&kept->max);
  tn_pq_kept_bounds_clear(kept);
}

static tarn_status keep(tn_pq_bytes *to, tn_slice value, tn_slice *out, tarn_error *err) {
  to->len = 0;
  TN_TRY(tn_pq_bytes_append(to, value.data, value.len, err));
  *out = tn_slice_of(to->data, value.len);
  return TARN_OK;
}

tarn_status tn_pq_kept_bounds_add(tn_pq_kept_bounds *kept, tn_pq_bound_kind kind,
                                  const tn_pq_write_bounds *b, tarn_error *err) {
  tn_pq_write_bounds *have = &kept->bounds;
  if (!b->is_set) {
    return TARN_OK;
  }
  if (kind != TN_PQ_BOUND_FIXED && kind != TN_PQ_BOUND_BYTES) {
    tn_pq_bounds_add_key(have, b->min);
    tn_pq_bounds_add_key(have, b->max);
    return TARN_OK;
  }
  if (!have->is_set || tn_pq_bounds_compare(kind, b->min_bytes, have->min_bytes) < 0) {
    TN_TRY(keep(&kept->min, b->min_bytes, &have->min_bytes, err));
  }
  if (!have->is_set || tn_pq_bounds_compare(kind, b->max_bytes, have->max_bytes) > 0) {
    TN_TRY(keep(&kept->max, b->max_bytes, &have->max_bytes, err));
  }
  have->is_set = true;
  return TARN_OK;
}

/* ------------------------------------------------------------------ cutting */

/* The most bytes, at most `limit`, that are whole characters; *last: where the last one begins.
 * false: this is no UTF-8. */
static bool text_border(tn_slice value, size_t limit, size_t *border, size_t *last) {
  size_t at = 0;
  *last = 0;
  while (at < limit) {
    size_t n = tn_utf8_step(value.data + at, value.len - at);
    if (n == 0) {
      return false;
    }
    if (at + n > limit) {
      break;
    }
    *last = at;
    at += n;
  }
  *border = at;
  return true;
}

tn_slice tn_pq_bound_cut_min(tn_slice value, size_t limit, bool is_text) {
  size_t border = limit, last;
  if (value.len <= limit) {
    return value;
  }
  return tn_slice_of(value.data,
                     is_text && text_border(value, limit, &border, &last) ? border : limit);
}

/* Raise the last of the n characters' bytes that can be; returns the new length, 0: none can. */
static size_t raise_text(uint8_t *text, size_t n, size_t last) {
  while (n > 0) {
    uint32_t point = tn_utf8_point(text + last, n - last);
    if (point < 0x10ffff) {
      return last + tn_utf8_put(tn_utf8_next_point(point), text + last);
    }
    n = last;
    while (last > 0 && (text[--last] & 0xc0) == 0x80) {
    }
  }
  return 0;
}

static size_t raise_bytes(uint8_t *bytes, size_t n) {
  while (n > 0 && bytes[n - 1] == 0xff) {
    n--;
  }
  if (n > 0) {
    bytes[n - 1]++;
  }
  return n;
}

tn_slice tn_pq_bound_cut_max(tn_slice value, size_t limit, bool is_text, uint8_t *out) {
  size_t border, last, n;
  if (value.len <= limit) {
    return value;
  }
  memcpy(out, value.data, limit);
  n = is_text && text_border(value, limit, &border, &last) ? raise_text(out, border, last)
                                                           : raise_bytes(out, limit);
  return n > 0 ? tn_slice_of(out, n) : value;
}
