/* values.c - one decoder an encoding, opened and taken from by kind. */
#include "format/parquet/values.h"

#include "base/bytes.h"
#include "base/checked.h"

/* Values put together from prefixes: as many as come to this, and always one. */
#define SCRATCH_BYTES ((size_t)1 << 20)
#define SCRATCH_LIMIT_BYTES ((size_t)1 << 31)
#define SCRATCH_SLACK 64

void tn_pq_values_init(tn_pq_values *values, tn_mem *mem) {
  memset(values, 0, sizeof(*values));
  tn_buf_init(&values->scratch, mem, SCRATCH_LIMIT_BYTES);
}

void tn_pq_values_reset(tn_pq_values *values) {
  tn_buf_reset(&values->scratch);
}

/* ------------------------------------------------------------------ opening */

static const char *open_codes(tn_pq_values *v, tn_slice bytes) {
  if (bytes.len == 0) {
    // no values: a page of nulls alone
    return tn_pq_rle_init(&v->rle, bytes, 0) ? NULL : "unreachable";
  }
  if (!tn_pq_rle_init(&v->rle, tn_slice_of(bytes.data + 1, bytes.len - 1), bytes.data[0])) {
    return "dictionary codes of more than 32 bits";
  }
  return NULL;
}

/* Booleans as RLE have their length in front. */
static const char *open_rle_bits(tn_pq_values *v, tn_slice bytes) {
  uint32_t n = bytes.len >= 4 ? tn_load_le32(bytes.data) : 0;
  if (bytes.len == 0) {
    return tn_pq_rle_init(&v->rle, bytes, 1) ? NULL : "unreachable";
  }
  if (bytes.len < 4 || n > bytes.len - 4) {
    return "RLE booleans are cut short";
  }
  return tn_pq_rle_init(&v->rle, tn_slice_of(bytes.data + 4, n), 1) ? NULL : "unreachable";
}

static const char *open_delta(tn_pq_values *v, tn_pq_physical physical, tn_slice bytes) {
  if (bytes.len == 0) {
    return NULL;  // no values: the decoder is all zero
  }
  if (!tn_pq_delta_init(&v->lengths, bytes, physical == TN_PQ_INT64)) {
    return "the header of DELTA_BINARY_PACKED is damaged";
  }
  return NULL;
}

static const char *open_lengths(tn_pq_values *v, tn_slice bytes) {
  if (bytes.len == 0) {
    return NULL;
  }
  v->end = bytes.data + bytes.len;
  if (!tn_pq_delta_init(&v->lengths, bytes, false) || !tn_pq_delta_find_end(&v->lengths, &v->at)) {
    return "the lengths of DELTA_LENGTH_BYTE_ARRAY are damaged";
  }
  return NULL;
}

static const char *open_prefixes(tn_pq_values *v, tn_slice bytes) {
  const uint8_t *at;
  if (bytes.len == 0) {
    return NULL;
  }
  v->end = bytes.data + bytes.len;
  if (!tn_pq_delta_init(&v->prefixes, bytes, false) || !tn_pq_delta_find_end(&v->prefixes, &at) ||
      !tn_pq_delta_init(&v->lengths, tn_slice_of(at, (size_t)(v->end - at)), false) ||
      !tn_pq_delta_find_end(&v->lengths, &v->at)) {
    return "the lengths of DELTA_BYTE_ARRAY are damaged";
  }
  return NULL;
}

static bool is_fixed(tn_pq_physical physical) {
  return physical != TN_PQ_BOOLEAN && physical != TN_PQ_BYTE_ARRAY;
}

static const char *open_plain(tn_pq_values *v, tn_pq_physical physical, tn_slice bytes) {
  v->kind = physical == TN_PQ_BOOLEAN      ? TN_PQ_VALUES_PLAIN_BITS
            : physical == TN_PQ_BYTE_ARRAY ? TN_PQ_VALUES_PLAIN_BYTES
                                           : TN_PQ_VALUES_PLAIN;
  v->total = (int64_t)bytes.len * 8;
  return NULL;
}

const char *tn_pq_values_open(tn_pq_values *v, tn_pq_physical physical, uint32_t width,
                              int32_t encoding, tn_slice bytes) {
  tn_buf scratch = v->scratch;
  memset(v, 0, sizeof(*v));
  v->scratch = scratch;
  v->scratch.len = 0;
  v->width = width;
  v->at = bytes.data;
  v->end = bytes.len > 0 ? bytes.data + bytes.len : bytes.data;
  switch (encoding) {
    case TN_PQ_PLAIN:
      return open_plain(v, physical, bytes);
    case TN_PQ_PLAIN_DICTIONARY:
    case TN_PQ_RLE_DICTIONARY:
      v->kind = TN_PQ_VALUES_CODES;
      return physical == TN_PQ_BOOLEAN ? "booleans have no dictionary" : open_codes(v, bytes);
    case TN_PQ_RLE:
      v->kind = TN_PQ_VALUES_RLE_BITS;
      return physical == TN_PQ_BOOLEAN ? open_rle_bits(v, bytes) : "RLE is for booleans only";
    case TN_PQ_DELTA_BINARY_PACKED:
      v->kind = TN_PQ_VALUES_DELTA;
      return physical == TN_PQ_INT32 || physical == TN_PQ_INT64
                 ? open_delta(v, physical, bytes)
                 : "DELTA_BINARY_PACKED is for INT32 and INT64 only";
    case TN_PQ_DELTA_LENGTH_BYTE_ARRAY:
      v->kind = TN_PQ_VALUES_DELTA_LENGTHS;
      return physical == TN_PQ_BYTE_ARRAY ? open_lengths(v, bytes)
                                          : "DELTA_LENGTH_BYTE_ARRAY is for BYTE_ARRAY only";
    case TN_PQ_DELTA_BYTE_ARRAY:
      v->kind = TN_PQ_VALUES_DELTA_BYTES;
      return physical == TN_PQ_BYTE_ARRAY || physical == TN_PQ_FIXED
                 ? open_prefixes(v, bytes)
                 : "DELTA_BYTE_ARRAY is for byte arrays only";
    case TN_PQ_BYTE_STREAM_SPLIT:
      v->kind = TN_PQ_VALUES_STREAM_SPLIT;
      if (!is_fixed(physical) || width == 0 || bytes.len % width != 0) {
        return "BYTE_STREAM_SPLIT needs whole values of a fixed width";
      }
      v->total = (int64_t)(bytes.len / width);
      return NULL;
    default:
      return "the encoding is not known";
  }
}

bool tn_pq_values_are_stable(const tn_pq_values *v) {
  return v->kind == TN_PQ_VALUES_PLAIN || v->kind == TN_PQ_VALUES_PLAIN_BYTES ||
         v->kind == TN_PQ_VALUES_DELTA_LENGTHS;
}

static int64_t at_most(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* ------------------------------------------------------------------ fixed width */

const uint8_t *tn_pq_values_in_place(tn_pq_values *v, int64_t n) {
  const uint8_t *at = v->at;
  if ((int64_t)((size_t)(v->end - at) / v->width) < n) {
    return NULL;
  }
  v->at += (size_t)n * v->width;
  return at;
}

static int64_t take_plain(tn_pq_values *v, int64_t n, uint8_t *out) {
  int64_t k = at_most(n, (int64_t)((size_t)(v->end - v->at) / v->width));
  if (k > 0) {
    memcpy(out, v->at, (size_t)k * v->width);
    v->at += (size_t)k * v->width;
  }
  return k;
}

static int64_t take_delta(tn_pq_values *v, int64_t n, uint8_t *out) {
  int64_t block[256];
  int64_t done = 0;
  while (done < n) {
    int64_t wanted = at_most(n - done, (int64_t)TN_COUNT(block));
    int64_t k = tn_pq_delta_get(&v->lengths, wanted, block);
    if (v->width == 8) {
      memcpy(out + done * 8, block, (size_t)k * 8);
    } else {
      for (int64_t i = 0; i < k; i++) {
        tn_store_le32(out + (done + i) * 4, (uint32_t)block[i]);
      }
    }
    done += k;
    if (k < wanted) {
      break;
    }
  }
  return done;
}

/* Byte b of value i is in stream b. Writing byte by byte is what the layout is bad at; the usual
 * widths get loops with a constant stride. */
static int64_t take_split(tn_pq_values *v, int64_t n, uint8_t *out) {
  int64_t k = at_most(n, v->total - v->taken);
  for (uint32_t b = 0; b < v->width; b++) {
    const uint8_t *stream = v->at + (size_t)b * (size_t)v->total + v->taken;
    uint8_t *to = out + b;
    switch (v->width) {
      case 4:
        for (int64_t i = 0; i < k; i++) {
          to[i * 4] = stream[i];
        }
        break;
      case 8:
        for (int64_t i = 0; i < k; i++) {
          to[i * 8] = stream[i];
        }
        break;
      default:
        for (int64_t i = 0; i < k; i++) {
          to[i * v->width] = stream[i];
        }
        break;
    }
  }
  v->taken += k;
  return k;
}

/* DELTA_BYTE_ARRAY of a fixed width. */
static tarn_status take_prefixed(tn_pq_values *v, int64_t n, uint8_t *out, int64_t *n_out,
                                 tarn_error *err) {
  while (*n_out < n) {
    tn_view views[64];
    int64_t k;
    TN_TRY(tn_pq_values_views(v, at_most(n - *n_out, (int64_t)TN_COUNT(views)), views, &k, err));
    if (k == 0) {
      break;
    }
    for (int64_t i = 0; i < k; i++) {
      memcpy(out + (size_t)*n_out * v->width, views[i].data, v->width);
      ++*n_out;
    }
  }
  return TARN_OK;
}

tarn_status tn_pq_values_fixed(tn_pq_values *v, int64_t n, uint8_t *out, int64_t *n_out,
                               tarn_error *err) {
  *n_out = 0;
  switch (v->kind) {
    case TN_PQ_VALUES_PLAIN:
      *n_out = take_plain(v, n, out);
      return TARN_OK;
    case TN_PQ_VALUES_DELTA:
      *n_out = take_delta(v, n, out);
      return TARN_OK;
    case TN_PQ_VALUES_STREAM_SPLIT:
      *n_out = take_split(v, n, out);
      return TARN_OK;
    case TN_PQ_VALUES_DELTA_BYTES:
      return take_prefixed(v, n, out, n_out, err);
    default:
      return TARN_OK;
  }
}

int64_t tn_pq_values_codes(tn_pq_values *v, int64_t n, uint32_t *out) {
  return tn_pq_rle_get(&v->rle, n, out);
}

/* ------------------------------------------------------------------ bits */

static int64_t take_rle_bits(tn_pq_values *v, int64_t n, uint8_t *out, int64_t from) {
  uint8_t block[512];
  int64_t done = 0;
  while (done < n) {
    int64_t wanted = at_most(n - done, (int64_t)sizeof(block));
    int64_t k = tn_pq_rle_get_bytes(&v->rle, wanted, block);
    for (int64_t i = 0; i < k; i++) {
      tn_bit_put(out, from + done + i, block[i] != 0);
    }
    done += k;
    if (k < wanted) {
      break;
    }
  }
  return done;
}

int64_t tn_pq_values_bits(tn_pq_values *v, int64_t n, uint8_t *out, int64_t from) {
  int64_t k;
  if (v->kind == TN_PQ_VALUES_RLE_BITS) {
    return take_rle_bits(v, n, out, from);
  }
  k = at_most(n, v->total - v->taken);
  for (int64_t i = 0; i < k;) {
    if ((from + i) % 8 == 0 && k - i >= 8) {
      uint64_t bit = (uint64_t)(v->taken + i);
      uint16_t pair = tn_load_le16(v->at + (bit >> 3));
      out[(from + i) / 8] = (uint8_t)(pair >> (bit & 7));
      i += 8;
    } else {
      tn_bit_put(out, from + i, tn_bit_get(v->at, v->taken + i));
      i++;
    }
  }
  v->taken += k;
  return k;
}

/* ------------------------------------------------------------------ byte strings */

static int64_t view_plain_bytes(tn_pq_values *v, int64_t n, tn_view *out) {
  const uint8_t *at = v->at, *end = v->end;
  int64_t i = 0;
  for (; i < n; i++) {
    uint32_t len;
    if (TN_UNLIKELY(end - at < 4)) {
      break;
    }
    len = tn_load_le32(at);
    at += 4;
    if (TN_UNLIKELY(len > (size_t)(end - at))) {
      v->end = v->at = end;  // nothing behind a broken length can be told
      return i;
    }
    out[i].data = at;
    out[i].len = len;
    at += len;
  }
  v->at = at;
  return i;
}

static int64_t view_lengths(tn_pq_values *v, int64_t n, tn_view *out) {
  int64_t lengths[256];
  int64_t done = 0;
  while (done < n) {
    int64_t wanted = at_most(n - done, (int64_t)TN_COUNT(lengths));
    int64_t k = tn_pq_delta_get(&v->lengths, wanted, lengths);
    for (int64_t i = 0; i < k; i++) {
      if (lengths[i] < 0 || lengths[i] > v->end - v->at) {
        return done + i;
      }
      out[done + i].data = v->at;
      out[done + i].len = lengths[i];
      v->at += lengths[i];
    }
    done += k;
    if (k < wanted) {
      break;
    }
  }
  return done;
}

/* Put one value together behind the last one; false when its parts are not there. */
static bool append_prefixed(tn_pq_values *v, int64_t prefix, int64_t suffix, tarn_status *st,
                            tarn_error *err) {
  size_t len;
  if (prefix < 0 || suffix < 0 || prefix > (int64_t)v->last_len || suffix > v->end - v->at) {
    return false;
  }
  len = (size_t)prefix + (size_t)suffix;
  *st = tn_buf_reserve(&v->scratch, len + SCRATCH_SLACK, err);
  if (*st != TARN_OK) {
    return false;
  }
  if (prefix > 0) {
    memcpy(v->scratch.data + v->scratch.len, v->scratch.data + v->last_at, (size_t)prefix);
  }
  if (suffix > 0) {
    memcpy(v->scratch.data + v->scratch.len + prefix, v->at, (size_t)suffix);
  }
  v->at += suffix;
  v->last_at = v->scratch.len;
  v->last_len = len;
  v->scratch.len += len;
  return true;
}

static tarn_status view_prefixed(tn_pq_values *v, int64_t n, tn_view *out, int64_t *n_out,
                                 tarn_error *err) {
  tarn_status st = TARN_OK;
  int64_t done = 0;
  // the last value moves to the front, the rest of the scratch is free again
  if (v->last_len > 0) {
    memmove(v->scratch.data, v->scratch.data + v->last_at, v->last_len);
  }
  v->last_at = 0;
  v->scratch.len = v->last_len;
  while (done < n && (done == 0 || v->scratch.len < SCRATCH_BYTES)) {
    int64_t prefix, suffix;
    if (tn_pq_delta_get(&v->prefixes, 1, &prefix) != 1 ||
        tn_pq_delta_get(&v->lengths, 1, &suffix) != 1 ||
        !append_prefixed(v, prefix, suffix, &st, err)) {
      break;
    }
    // as an offset: the scratch may move
    out[done].data = NULL;
    out[done].len = (int64_t)v->last_len;
    done++;
  }
  TN_TRY(st);
  for (int64_t i = done, at = (int64_t)v->scratch.len; i-- > 0;) {
    at -= out[i].len;
    out[i].data = v->scratch.data + at;
  }
  *n_out = done;
  return TARN_OK;
}

/* Fixed width as byte strings. */
static tarn_status view_fixed(tn_pq_values *v, int64_t n, tn_view *out, int64_t *n_out,
                              tarn_error *err) {
  const uint8_t *from;
  int64_t k;
  if (v->kind == TN_PQ_VALUES_PLAIN) {
    k = at_most(n, (int64_t)((size_t)(v->end - v->at) / v->width));
    from = tn_pq_values_in_place(v, k);
  } else {
    size_t n_bytes;
    n = at_most(n, 1 + (int64_t)(SCRATCH_BYTES / v->width));
    if (!tn_mul_size((size_t)n, v->width, &n_bytes)) {
      return tn_oom(err);
    }
    v->scratch.len = 0;
    TN_TRY(tn_buf_reserve(&v->scratch, n_bytes + SCRATCH_SLACK, err));
    TN_TRY(tn_pq_values_fixed(v, n, v->scratch.data, &k, err));
    from = v->scratch.data;
  }
  for (int64_t i = 0; i < k; i++) {
    out[i].data = from + (size_t)i * v->width;
    out[i].len = v->width;
  }
  *n_out = k;
  return TARN_OK;
}

/* Values of a fixed width that come as byte strings must have it. */
static int64_t count_of_width(const tn_pq_values *v, int64_t n, const tn_view *views) {
  for (int64_t i = 0; i < n; i++) {
    if (v->width != 0 && views[i].len != (int64_t)v->width) {
      return i;
    }
  }
  return n;
}

tarn_status tn_pq_values_views(tn_pq_values *v, int64_t n, tn_view *out, int64_t *n_out,
                               tarn_error *err) {
  *n_out = 0;
  switch (v->kind) {
    case TN_PQ_VALUES_PLAIN_BYTES:
      *n_out = view_plain_bytes(v, n, out);
      return TARN_OK;
    case TN_PQ_VALUES_DELTA_LENGTHS:
      *n_out = view_lengths(v, n, out);
      return TARN_OK;
    case TN_PQ_VALUES_DELTA_BYTES:
      TN_TRY(view_prefixed(v, n, out, n_out, err));
      *n_out = count_of_width(v, *n_out, out);
      return TARN_OK;
    case TN_PQ_VALUES_PLAIN:
    case TN_PQ_VALUES_STREAM_SPLIT:
      return view_fixed(v, n, out, n_out, err);
    default:
      return TARN_OK;
  }
}

/* ------------------------------------------------------------------ skipping */

static int64_t skip_deltas(tn_pq_values *v, int64_t n) {
  int64_t block[256];
  int64_t done = 0;
  while (done < n) {
    int64_t wanted = at_most(n - done, (int64_t)TN_COUNT(block));
    int64_t k = tn_pq_delta_get(&v->lengths, wanted, block);
    done += k;
    if (k < wanted) {
      break;
    }
  }
  return done;
}

static tarn_status skip_views(tn_pq_values *v, int64_t n, int64_t *skipped, tarn_error *err) {
  tn_view block[256];
  while (*skipped < n) {
    int64_t k;
    TN_TRY(tn_pq_values_views(v, at_most(n - *skipped, (int64_t)TN_COUNT(block)), block, &k, err));
    if (k == 0) {
      break;
    }
    *skipped += k;
  }
  return TARN_OK;
}

tarn_status tn_pq_values_skip(tn_pq_values *v, int64_t n, int64_t *skipped, tarn_error *err) {
  *skipped = 0;
  switch (v->kind) {
    case TN_PQ_VALUES_PLAIN:
      *skipped = at_most(n, (int64_t)((size_t)(v->end - v->at) / v->width));
      v->at += (size_t)*skipped * v->width;
      return TARN_OK;
    case TN_PQ_VALUES_PLAIN_BITS:
    case TN_PQ_VALUES_STREAM_SPLIT:
      *skipped = at_most(n, v->total - v->taken);
      v->taken += *skipped;
      return TARN_OK;
    case TN_PQ_VALUES_RLE_BITS:
    case TN_PQ_VALUES_CODES:
      *skipped = tn_pq_rle_skip(&v->rle, n);
      return TARN_OK;
    case TN_PQ_VALUES_DELTA:
      *skipped = skip_deltas(v, n);
      return TARN_OK;
    default:
      return skip_views(v, n, skipped, err);
  }
}
