/* write_values.c - gathering rows, narrowing and widening. */
#include "format/parquet/write_values.h"

#include "base/bytes.h"
#include "base/checked.h"

#define JULIAN_EPOCH_DAY 2440588 /* 1970-01-01 */
#define DAY_NANOS ((int64_t)86400 * 1000000000)

void tn_pq_scratch_init(tn_pq_scratch *scratch, tarn_env *env) {
  memset(scratch, 0, sizeof(*scratch));
  scratch->env = env;
  scratch->rows.env = scratch->gathered.env = scratch->converted.env = scratch->views.env = env;
  scratch->body.env = scratch->packed.env = scratch->header.env = scratch->seen.env = env;
}

void tn_pq_scratch_reset(tn_pq_scratch *scratch) {
  tn_pq_bytes_reset(&scratch->rows);
  tn_pq_bytes_reset(&scratch->gathered);
  tn_pq_bytes_reset(&scratch->converted);
  tn_pq_bytes_reset(&scratch->views);
  tn_pq_bytes_reset(&scratch->body);
  tn_pq_bytes_reset(&scratch->packed);
  tn_pq_bytes_reset(&scratch->header);
  tn_pq_bytes_reset(&scratch->seen);
}

/* Emptied, with room for n_bytes. */
static tarn_status take(tn_pq_bytes *bytes, size_t n_bytes, tarn_error *err) {
  bytes->len = 0;
  return tn_pq_bytes_reserve(bytes, n_bytes, err);
}

tarn_status tn_pq_valid_rows(tn_pq_scratch *scratch, const uint8_t *valid, int64_t begin, int64_t n,
                             uint32_t first, int64_t *count, tarn_error *err) {
  uint32_t *rows;
  size_t k = 0;
  TN_TRY(take(&scratch->rows, (size_t)(n + 1) * sizeof(*rows), err));
  rows = (void *)scratch->rows.data;
  for (int64_t i = 0; i < n; i++) {
    rows[k] = first + (uint32_t)i;
    k += tn_bit_get(valid, begin + i);
  }
  *count = (int64_t)k;
  return TARN_OK;
}

/* ------------------------------------------------------------------ gathering */

#define DEFINE_GATHER(type)                                                                \
  static void gather_##type(const void *from, const uint32_t *rows, int64_t n, void *to) { \
    const type *values = from;                                                             \
    type *out = to;                                                                        \
    for (int64_t i = 0; i < n; i++) {                                                      \
      out[i] = values[rows[i]];                                                            \
    }                                                                                      \
  }
DEFINE_GATHER(uint8_t)
DEFINE_GATHER(uint16_t)
DEFINE_GATHER(uint32_t)
DEFINE_GATHER(uint64_t)
DEFINE_GATHER(tn_i128)

/* The rows of a vector of a fixed layout, one after the other. */
static tarn_status gather_fixed(tn_pq_scratch *scratch, const tn_vec *source, int64_t begin,
                                const uint32_t *rows, int64_t n, const void **out,
                                tarn_error *err) {
  size_t width = tn_layout_width(source->layout);
  if (rows == NULL) {
    *out = (const uint8_t *)source->values + (size_t)begin * width;
    return TARN_OK;
  }
  TN_TRY(take(&scratch->gathered, (size_t)n * width, err));
  *out = scratch->gathered.data;
  switch (width) {
    case 1:
      gather_uint8_t(source->values, rows, n, scratch->gathered.data);
      break;
    case 2:
      gather_uint16_t(source->values, rows, n, scratch->gathered.data);
      break;
    case 4:
      gather_uint32_t(source->values, rows, n, scratch->gathered.data);
      break;
    case 8:
      gather_uint64_t(source->values, rows, n, scratch->gathered.data);
      break;
    default:
      gather_tn_i128(source->values, rows, n, scratch->gathered.data);
      break;
  }
  return TARN_OK;
}

static tarn_status gather_bits(tn_pq_scratch *scratch, const tn_vec *source, int64_t begin,
                               const uint32_t *rows, int64_t n, const void **out, tarn_error *err) {
  const uint8_t *bits = source->values;
  TN_TRY(take(&scratch->gathered, (size_t)n, err));
  for (int64_t i = 0; i < n; i++) {
    scratch->gathered.data[i] = tn_bit_get(bits, rows != NULL ? (int64_t)rows[i] : begin + i);
  }
  *out = scratch->gathered.data;
  return TARN_OK;
}

static tarn_status gather_views(tn_pq_scratch *scratch, const tn_vec *source, int64_t begin,
                                const uint32_t *rows, int64_t n, const void **out,
                                tarn_error *err) {
  const tn_view *from = source->values;
  const uint8_t *bytes = source->values;
  const int32_t *offsets = source->offsets;
  tn_view *views;
  if (source->encoding == TN_VEC_VIEW && rows == NULL) {
    *out = from + begin;
    return TARN_OK;
  }
  TN_TRY(take(&scratch->views, (size_t)n * sizeof(*views), err));
  views = (void *)scratch->views.data;
  *out = views;
  for (int64_t i = 0; source->encoding == TN_VEC_VIEW && i < n; i++) {
    views[i] = from[rows[i]];
  }
  for (int64_t i = 0; source->encoding != TN_VEC_VIEW && i < n; i++) {
    int64_t row = rows != NULL ? (int64_t)rows[i] : begin + i;
    views[i] = (tn_view){bytes + offsets[row], offsets[row + 1] - offsets[row]};
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ converting */

static tarn_status does_not_fit(const tn_pq_write_node *leaf, tarn_error *err) {
  return tn_fail(err, TARN_E_INVALID, "column `%s`: a value is too large for %s in a Parquet file",
                 leaf->names[0], tn_type_text_of(leaf->type).text);
}

static void widen_i8(const int8_t *from, int64_t n, int32_t *to) {
  for (int64_t i = 0; i < n; i++) {
    to[i] = from[i];
  }
}

static void widen_i16(const int16_t *from, int64_t n, int32_t *to) {
  for (int64_t i = 0; i < n; i++) {
    to[i] = from[i];
  }
}

/* false: one does not fit. */
static bool narrow_to_i32(const tn_i128 *from, int64_t n, int32_t *to) {
  tn_i128 lost = 0;
  for (int64_t i = 0; i < n; i++) {
    to[i] = (int32_t)from[i];
    lost |= from[i] ^ to[i];
  }
  return lost == 0;
}

static bool narrow_to_i64(const tn_i128 *from, int64_t n, int64_t *to) {
  tn_i128 lost = 0;
  for (int64_t i = 0; i < n; i++) {
    to[i] = (int64_t)from[i];
    lost |= from[i] ^ to[i];
  }
  return lost == 0;
}

/* Big-endian two's complement, cut to `width` bytes. Writes 16 bytes for each value, so up to 7
 * past the end. */
static bool narrow_to_fixed(const tn_i128 *from, int64_t n, size_t width, uint8_t *to) {
  tn_u128 lost = 0;
  unsigned above = 128 - 8 * (unsigned)width; /* bits that must all be the sign */
  for (int64_t i = 0; i < n; i++) {
    tn_u128 shifted = (tn_u128)from[i] << above;
    tn_store_be64(to, (uint64_t)(shifted >> 64));
    tn_store_be64(to + 8, (uint64_t)shifted);
    lost |= (tn_u128)((tn_i128)shifted >> above) ^ (tn_u128)from[i];
    to += width;
  }
  return lost == 0;
}

/* Days since 1970 and nanoseconds of the day; 128 bits take long to divide and are rarely needed.
 */
static tn_i128 split_nanos(tn_i128 nanos, int64_t *of_day) {
  if (TN_LIKELY(nanos == (int64_t)nanos)) {
    int64_t day = tn_floor_div((int64_t)nanos, DAY_NANOS);
    *of_day = (int64_t)((uint64_t)nanos - (uint64_t)day * (uint64_t)DAY_NANOS);
    return day;
  }
  tn_i128 day = nanos / DAY_NANOS - (nanos % DAY_NANOS < 0);
  *of_day = (int64_t)(nanos - day * DAY_NANOS);
  return day;
}

/* Nanoseconds of day, then the Julian day. The day is rounded down, so that the nanoseconds are
 * never negative, as Java's are before 1970: readers that take them as unsigned read ours right. */
static bool nanos_to_int96(const tn_i128 *from, int64_t n, uint8_t *to) {
  for (int64_t i = 0; i < n; i++) {
    int64_t of_day;
    tn_i128 julian = split_nanos(from[i], &of_day) + JULIAN_EPOCH_DAY;
    if (TN_UNLIKELY(julian != (int32_t)julian)) {
      return false;
    }
    tn_store_le64(to + 12 * i, (uint64_t)of_day);
    tn_store_le32(to + 12 * i + 8, (uint32_t)julian);
  }
  return true;
}

/* Views of values of one width that lie one after the other. */
static tarn_status view_fixed(tn_pq_scratch *scratch, size_t width, int64_t n, const void **out,
                              tarn_error *err) {
  tn_view *views;
  TN_TRY(take(&scratch->views, (size_t)n * sizeof(*views), err));
  views = (void *)scratch->views.data;
  for (int64_t i = 0; i < n; i++) {
    views[i] = (tn_view){scratch->converted.data + (size_t)i * width, (int64_t)width};
  }
  *out = views;
  return TARN_OK;
}

tarn_status tn_pq_values_make(tn_pq_scratch *scratch, const tn_pq_write_node *leaf,
                              const tn_vec *source, int64_t begin, const uint32_t *rows, int64_t n,
                              const void **out, tarn_error *err) {
  const void *values = NULL;
  bool fits = true;
  if (leaf->layout == TN_LAYOUT_BYTES) {
    return gather_views(scratch, source, begin, rows, n, out, err);
  }
  if (leaf->layout == TN_LAYOUT_BIT) {
    return gather_bits(scratch, source, begin, rows, n, out, err);
  }
  TN_TRY(gather_fixed(scratch, source, begin, rows, n, &values, err));
  if (leaf->layout != TN_LAYOUT_I8 && leaf->layout != TN_LAYOUT_I16 &&
      leaf->layout != TN_LAYOUT_I128) {
    *out = values;
    return TARN_OK;
  }
  TN_TRY(take(&scratch->converted, (size_t)n * (size_t)leaf->width, err));
  *out = scratch->converted.data;
  if (leaf->layout == TN_LAYOUT_I8) {
    widen_i8(values, n, (void *)scratch->converted.data);
  } else if (leaf->layout == TN_LAYOUT_I16) {
    widen_i16(values, n, (void *)scratch->converted.data);
  } else if (leaf->physical == TN_PQ_INT32) {
    fits = narrow_to_i32(values, n, (void *)scratch->converted.data);
  } else if (leaf->physical == TN_PQ_INT64) {
    fits = narrow_to_i64(values, n, (void *)scratch->converted.data);
  } else {
    fits = leaf->physical == TN_PQ_INT96
               ? nanos_to_int96(values, n, scratch->converted.data)
               : narrow_to_fixed(values, n, (size_t)leaf->width, scratch->converted.data);
    TN_TRY(view_fixed(scratch, (size_t)leaf->width, n, out, err));
  }
  return fits ? TARN_OK : does_not_fit(leaf, err);
}
