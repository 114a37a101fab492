/* rle.c - runs opened one after the other, unpacked by their bit width. */
#include "format/parquet/rle.h"

#include "base/bytes.h"

#define MAX_RUN ((int64_t)1 << 40) /* run lengths beyond are cut: no page has as many values */

bool tn_pq_rle_init(tn_pq_rle *rle, tn_slice bytes, uint32_t bit_width) {
  memset(rle, 0, sizeof(*rle));
  rle->at = bytes.data;
  rle->end = bytes.len > 0 ? bytes.data + bytes.len : bytes.data;
  rle->bit_width = bit_width;
  return bit_width <= 32;
}

/* Open the next run that has values; false at the end of the bytes. */
static bool next_run(tn_pq_rle *rle) {
  uint32_t value_bytes = (rle->bit_width + 7) / 8;
  while (rle->at < rle->end) {
    uint64_t head = 0;
    int64_t n;
    size_t left;
    unsigned shift = 0;
    bool is_open = true;
    while (is_open && rle->at < rle->end && shift < 42) {
      is_open = (*rle->at & 0x80) != 0;
      head |= (uint64_t)(*rle->at++ & 0x7f) << shift;
      shift += 7;
    }
    if (is_open) {
      rle->at = rle->end;
      return false;
    }
    left = (size_t)(rle->end - rle->at);
    n = (int64_t)(head >> 1);
    rle->is_packed = (head & 1) != 0;
    if (rle->is_packed) {
      // the last group may be cut short: what is there counts
      uint64_t n_bytes = (uint64_t)n * rle->bit_width;
      n *= 8;
      if (n_bytes > left) {
        n_bytes = left;
        n = (int64_t)(n_bytes * 8 / rle->bit_width);
      }
      rle->packed = rle->at;
      rle->packed_at = 0;
      rle->at += n_bytes;
    } else {
      if (left < value_bytes) {
        rle->at = rle->end;
        return false;
      }
      rle->value = 0;
      memcpy(&rle->value, rle->at, value_bytes);
      rle->at += value_bytes;
    }
    rle->run_left = n < MAX_RUN ? n : MAX_RUN;
    if (n > 0) {
      return true;
    }
  }
  return false;
}

/* Value i of a packed run. */
static uint32_t packed_value(const uint8_t *packed, uint32_t bit_width, int64_t i) {
  uint64_t bit = (uint64_t)i * bit_width;
  uint64_t mask = ((uint64_t)1 << bit_width) - 1;
  return (uint32_t)((tn_load_le64(packed + (bit >> 3)) >> (bit & 7)) & mask);
}

/* One function a width unpacks groups of eight: the compiler sees constant shifts. */
#define UNPACK_ONE(w, i)                                                      \
  out[i] = (OUT_TYPE)((tn_load_le64(in + (i) * (w) / 8) >> ((i) * (w) % 8)) & \
                      (((uint64_t)1 << (w)) - 1));
#define DEFINE_UNPACK(name, w)                                                 \
  static void name##_##w(const uint8_t *in, int64_t n_groups, OUT_TYPE *out) { \
    for (int64_t g = 0; g < n_groups; g++, in += (w), out += 8) {              \
      UNPACK_ONE(w, 0)                                                         \
      UNPACK_ONE(w, 1)                                                         \
      UNPACK_ONE(w, 2)                                                         \
      UNPACK_ONE(w, 3)                                                         \
      UNPACK_ONE(w, 4)                                                         \
      UNPACK_ONE(w, 5)                                                         \
      UNPACK_ONE(w, 6)                                                         \
      UNPACK_ONE(w, 7)                                                         \
    }                                                                          \
  }
#define WIDTHS_1_8(X, f) X(f, 1) X(f, 2) X(f, 3) X(f, 4) X(f, 5) X(f, 6) X(f, 7) X(f, 8)
#define WIDTHS_9_16(X, f) X(f, 9) X(f, 10) X(f, 11) X(f, 12) X(f, 13) X(f, 14) X(f, 15) X(f, 16)
#define WIDTHS_17_24(X, f) X(f, 17) X(f, 18) X(f, 19) X(f, 20) X(f, 21) X(f, 22) X(f, 23) X(f, 24)
#define WIDTHS_25_32(X, f) X(f, 25) X(f, 26) X(f, 27) X(f, 28) X(f, 29) X(f, 30) X(f, 31) X(f, 32)
#define WIDTHS_1_32(X, f) WIDTHS_1_8(X, f) WIDTHS_9_16(X, f) WIDTHS_17_24(X, f) WIDTHS_25_32(X, f)
#define TABLE_ENTRY(name, w) [w] = name##_##w,

#define OUT_TYPE uint32_t
WIDTHS_1_32(DEFINE_UNPACK, unpack_codes)
#undef OUT_TYPE
#define OUT_TYPE uint8_t
WIDTHS_1_8(DEFINE_UNPACK, unpack_bytes)
#undef OUT_TYPE

typedef void (*unpack_codes_fn)(const uint8_t *in, int64_t n_groups, uint32_t *out);
typedef void (*unpack_bytes_fn)(const uint8_t *in, int64_t n_groups, uint8_t *out);
static const unpack_codes_fn unpack_codes[33] = {WIDTHS_1_32(TABLE_ENTRY, unpack_codes)};
static const unpack_bytes_fn unpack_bytes[9] = {WIDTHS_1_8(TABLE_ENTRY, unpack_bytes)};

/* n values of the current packed run, which has them: singles up to a border of eight, whole
 * groups, singles again. */
static void take_packed_codes(tn_pq_rle *rle, int64_t n, uint32_t *out) {
  int64_t i = 0;
  while (i < n && (rle->packed_at + i) % 8 != 0) {
    out[i] = packed_value(rle->packed, rle->bit_width, rle->packed_at + i);
    i++;
  }
  if (n - i >= 8) {
    const uint8_t *in = rle->packed + (rle->packed_at + i) / 8 * rle->bit_width;
    unpack_codes[rle->bit_width](in, (n - i) / 8, out + i);
    i += (n - i) / 8 * 8;
  }
  for (; i < n; i++) {
    out[i] = packed_value(rle->packed, rle->bit_width, rle->packed_at + i);
  }
}

static void take_packed_bytes(tn_pq_rle *rle, int64_t n, uint8_t *out) {
  int64_t i = 0;
  while (i < n && (rle->packed_at + i) % 8 != 0) {
    out[i] = (uint8_t)packed_value(rle->packed, rle->bit_width, rle->packed_at + i);
    i++;
  }
  if (n - i >= 8) {
    const uint8_t *in = rle->packed + (rle->packed_at + i) / 8 * rle->bit_width;
    unpack_bytes[rle->bit_width](in, (n - i) / 8, out + i);
    i += (n - i) / 8 * 8;
  }
  for (; i < n; i++) {
    out[i] = (uint8_t)packed_value(rle->packed, rle->bit_width, rle->packed_at + i);
  }
}

static void advance(tn_pq_rle *rle, int64_t n) {
  rle->run_left -= n;
  rle->packed_at += n;
}

int64_t tn_pq_rle_get(tn_pq_rle *rle, int64_t n, uint32_t *out) {
  int64_t done = 0;
  while (done < n) {
    int64_t k;
    if (rle->run_left == 0 && !next_run(rle)) {
      break;
    }
    k = n - done < rle->run_left ? n - done : rle->run_left;
    if (!rle->is_packed) {
      for (int64_t i = 0; i < k; i++) {
        out[done + i] = rle->value;
      }
    } else if (rle->bit_width == 0) {
      memset(out + done, 0, (size_t)k * sizeof(*out));
    } else {
      take_packed_codes(rle, k, out + done);
    }
    advance(rle, k);
    done += k;
  }
  return done;
}

int64_t tn_pq_rle_get_bytes(tn_pq_rle *rle, int64_t n, uint8_t *out) {
  int64_t done = 0;
  while (done < n) {
    int64_t k;
    if (rle->run_left == 0 && !next_run(rle)) {
      break;
    }
    k = n - done < rle->run_left ? n - done : rle->run_left;
    if (!rle->is_packed || rle->bit_width == 0) {
      memset(out + done, rle->is_packed ? 0 : (int)(rle->value & 0xff), (size_t)k);
    } else {
      take_packed_bytes(rle, k, out + done);
    }
    advance(rle, k);
    done += k;
  }
  return done;
}

int64_t tn_pq_rle_take_run(tn_pq_rle *rle, int64_t n, uint32_t value) {
  int64_t done = 0;
  while (done < n && (rle->run_left > 0 || next_run(rle)) && !rle->is_packed &&
         rle->value == value) {
    int64_t k = n - done < rle->run_left ? n - done : rle->run_left;
    advance(rle, k);
    done += k;
  }
  return done;
}

int64_t tn_pq_rle_skip(tn_pq_rle *rle, int64_t n) {
  int64_t done = 0;
  while (done < n && (rle->run_left > 0 || next_run(rle))) {
    int64_t k = n - done < rle->run_left ? n - done : rle->run_left;
    advance(rle, k);
    done += k;
  }
  return done;
}

/* ------------------------------------------------------------------ levels */

uint32_t tn_pq_bit_width(uint32_t max) {
  return max == 0 ? 0 : 32 - (uint32_t)__builtin_clz(max);
}

void tn_pq_levels_init(tn_pq_levels *levels, tn_slice bytes, uint8_t max, bool is_bit_packed) {
  memset(levels, 0, sizeof(*levels));
  levels->max = max;
  levels->is_bit_packed = is_bit_packed;
  levels->packed_bits = tn_pq_bit_width(max);
  if (is_bit_packed) {
    levels->packed = bytes;
  } else {
    bool is_good = tn_pq_rle_init(&levels->rle, bytes, levels->packed_bits);
    (void)is_good;  // a byte's width always is
  }
}

int64_t tn_pq_levels_take_max(tn_pq_levels *levels, int64_t n) {
  if (levels->max == 0) {
    return n;
  }
  return levels->is_bit_packed ? 0 : tn_pq_rle_take_run(&levels->rle, n, levels->max);
}

/* The deprecated packing: values from the most significant bit on. */
static int64_t get_bit_packed(tn_pq_levels *levels, int64_t n, uint8_t *out) {
  int64_t have = (int64_t)(levels->packed.len * 8 / levels->packed_bits) - levels->packed_at;
  int64_t k = n < have ? n : have;
  for (int64_t i = 0; i < k; i++) {
    uint32_t value = 0;
    uint64_t bit = (uint64_t)(levels->packed_at + i) * levels->packed_bits;
    for (uint32_t b = 0; b < levels->packed_bits; b++, bit++) {
      value = value << 1 | (levels->packed.data[bit >> 3] >> (7 - (bit & 7)) & 1);
    }
    out[i] = (uint8_t)value;
  }
  levels->packed_at += k;
  return k;
}

int64_t tn_pq_levels_get(tn_pq_levels *levels, int64_t n, uint8_t *out) {
  int64_t k;
  uint8_t greatest = 0;
  if (levels->max == 0) {
    memset(out, 0, (size_t)n);
    return n;
  }
  k = levels->is_bit_packed ? get_bit_packed(levels, n, out)
                            : tn_pq_rle_get_bytes(&levels->rle, n, out);
  for (int64_t i = 0; i < k; i++) {
    greatest = out[i] > greatest ? out[i] : greatest;
  }
  if (greatest > levels->max) {
    int64_t good = 0;
    while (out[good] <= levels->max) {
      good++;
    }
    k = good;
  }
  return k;
}
