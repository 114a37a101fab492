/* write_rle.c - a packer for each bit width, and where runs begin.
 *
 * Values are looked at in groups of eight. A group of equal values begins a run, which then goes on
 * value by value; what lies between runs is packed. So a run that begins within a group is seen
 * from the next one on, which costs a few bits and no time.
 */
#include "format/parquet/write_rle.h"

#include "base/bytes.h"

#define SLACK_BYTES 64 /* of wide stores, and the headers of the first runs */

size_t tn_pq_rle_bound(int64_t n, uint32_t bit_width) {
  return (size_t)(n / 8 + 1) * (bit_width + 1) + SLACK_BYTES;
}

static uint8_t *put_varint(uint64_t v, uint8_t *out) {
  while (v >= 0x80) {
    *out++ = (uint8_t)(v | 0x80);
    v >>= 7;
  }
  *out++ = (uint8_t)v;
  return out;
}

uint8_t *tn_pq_rle_put_run(uint32_t value, int64_t n, uint32_t bit_width, uint8_t *out) {
  out = put_varint((uint64_t)n << 1, out);
  tn_store_le32(out, value);
  return out + (bit_width + 7) / 8;
}

/* Values from which on a run is shorter than packing them: it takes its value, its header and the
 * header of what follows. */
static int64_t shortest_run(uint32_t bit_width) {
  int64_t n = (8 * ((bit_width + 7) / 8 + 3) + bit_width - 1) / bit_width;
  return n > 8 ? n : 8;
}

/* ------------------------------------------------------------------ packing */

/* Eight values of `w` bits, w constant: two halves of 4 * w bits, the second one shifted by half a
 * byte where w is odd. Writes up to 16 bytes past the end. */
static TN_ALWAYS_INLINE void pack_eight(const uint64_t v[8], unsigned w, uint8_t *out) {
  tn_u128 low = (tn_u128)(v[0] | v[1] << w) | (tn_u128)(v[2] | v[3] << w) << (2 * w);
  tn_u128 high = (tn_u128)(v[4] | v[5] << w) | (tn_u128)(v[6] | v[7] << w) << (2 * w);
  size_t at = 4 * w / 8;
  if (w % 2 != 0) {
    high = high << 4 | low >> (8 * at);
  }
  memcpy(out, &low, sizeof(low));
  memcpy(out + at, &high, sizeof(high));
}

#define DEFINE_PACK(w)                                                           \
  static uint8_t *pack_##w(const uint32_t *in, int64_t n_groups, uint8_t *out) { \
    for (int64_t i = 0; i < n_groups; i++) {                                     \
      uint64_t v[8] = {in[0], in[1], in[2], in[3], in[4], in[5], in[6], in[7]};  \
      pack_eight(v, w, out);                                                     \
      in += 8;                                                                   \
      out += w;                                                                  \
    }                                                                            \
    return out;                                                                  \
  }

DEFINE_PACK(1)
DEFINE_PACK(2)
DEFINE_PACK(3)
DEFINE_PACK(4)
DEFINE_PACK(5)
DEFINE_PACK(6)
DEFINE_PACK(7)
DEFINE_PACK(8)
DEFINE_PACK(9)
DEFINE_PACK(10)
DEFINE_PACK(11)
DEFINE_PACK(12)
DEFINE_PACK(13)
DEFINE_PACK(14)
DEFINE_PACK(15)
DEFINE_PACK(16)
DEFINE_PACK(17)
DEFINE_PACK(18)
DEFINE_PACK(19)
DEFINE_PACK(20)
DEFINE_PACK(21)
DEFINE_PACK(22)
DEFINE_PACK(23)
DEFINE_PACK(24)
DEFINE_PACK(25)
DEFINE_PACK(26)
DEFINE_PACK(27)
DEFINE_PACK(28)
DEFINE_PACK(29)
DEFINE_PACK(30)
DEFINE_PACK(31)
DEFINE_PACK(32)

/* By bit width. */
static uint8_t *(*const packers[33])(const uint32_t *in, int64_t n_groups, uint8_t *out) = {
    NULL,    pack_1,  pack_2,  pack_3,  pack_4,  pack_5,  pack_6,  pack_7,  pack_8,
    pack_9,  pack_10, pack_11, pack_12, pack_13, pack_14, pack_15, pack_16, pack_17,
    pack_18, pack_19, pack_20, pack_21, pack_22, pack_23, pack_24, pack_25, pack_26,
    pack_27, pack_28, pack_29, pack_30, pack_31, pack_32};

/* Eight bytes of `w` bits each. */
static uint64_t pack_bytes(const uint8_t *in, unsigned w) {
  uint64_t packed = 0;
  for (unsigned i = 0; i < 8; i++) {
    packed |= (uint64_t)in[i] << (i * w);
  }
  return packed;
}

/* ------------------------------------------------------------------ codes */

static bool is_eight_times(const uint32_t *v) {
  uint64_t pair = (uint64_t)v[0] << 32 | v[0];
  return ((tn_load_le64(v) ^ pair) | (tn_load_le64(v + 2) ^ pair) | (tn_load_le64(v + 4) ^ pair) |
          (tn_load_le64(v + 6) ^ pair)) == 0;
}

/* The last group is filled with zeros. */
static uint8_t *put_packed(const uint32_t *values, int64_t n, uint32_t bit_width, uint8_t *out) {
  uint32_t last[8] = {0};
  if (n == 0) {
    return out;
  }
  out = put_varint((uint64_t)(n + 7) / 8 << 1 | 1, out);
  out = packers[bit_width](values, n / 8, out);
  if (n % 8 != 0) {
    memcpy(last, values + n / 8 * 8, (size_t)(n % 8) * sizeof(*last));
    out = packers[bit_width](last, 1, out);
  }
  return out;
}

uint8_t *tn_pq_rle_put(const uint32_t *values, int64_t n, uint32_t bit_width, uint8_t *out) {
  int64_t shortest = shortest_run(bit_width), packed = 0, i = 0;
  while (i + 8 <= n) {
    int64_t end = i + 8;
    if (TN_LIKELY(!is_eight_times(values + i))) {
      i = end;
      continue;
    }
    while (end < n && values[end] == values[i]) {
      end++;
    }
    if (end - i >= shortest) {
      out = put_packed(values + packed, i - packed, bit_width, out);
      out = tn_pq_rle_put_run(values[i], end - i, bit_width, out);
      packed = i = end;
    } else {
      i += (end - i) / 8 * 8;
    }
  }
  return put_packed(values + packed, n - packed, bit_width, out);
}

/* ------------------------------------------------------------------ levels */

static uint8_t *put_packed_bytes(const uint8_t *values, int64_t n, uint32_t bit_width,
                                 uint8_t *out) {
  uint8_t last[8] = {0};
  if (n == 0) {
    return out;
  }
  out = put_varint((uint64_t)(n + 7) / 8 << 1 | 1, out);
  for (int64_t i = 0; i + 8 <= n; i += 8) {
    tn_store_le64(out, pack_bytes(values + i, bit_width));
    out += bit_width;
  }
  if (n % 8 != 0) {
    memcpy(last, values + n / 8 * 8, (size_t)(n % 8));
    tn_store_le64(out, pack_bytes(last, bit_width));
    out += bit_width;
  }
  return out;
}

uint8_t *tn_pq_rle_put_bytes(const uint8_t *values, int64_t n, uint32_t bit_width, uint8_t *out) {
  int64_t shortest = shortest_run(bit_width), packed = 0, i = 0;
  while (i + 8 <= n) {
    uint64_t eight = tn_load_le64(values + i);
    int64_t end = i + 8;
    if (eight != (eight & 0xff) * 0x0101010101010101u) {
      i = end;
      continue;
    }
    while (end + 8 <= n && tn_load_le64(values + end) == eight) {
      end += 8;
    }
    while (end < n && values[end] == values[i]) {
      end++;
    }
    if (end - i >= shortest) {
      out = put_packed_bytes(values + packed, i - packed, bit_width, out);
      out = tn_pq_rle_put_run(values[i], end - i, bit_width, out);
      packed = i = end;
    } else {
      i += (end - i) / 8 * 8;
    }
  }
  return put_packed_bytes(values + packed, n - packed, bit_width, out);
}

static uint8_t *put_packed_bits(const uint8_t *bits, int64_t n, uint8_t *out) {
  size_t n_bytes = TN_BITMAP_BYTES(n);
  if (n == 0) {
    return out;
  }
  out = put_varint((uint64_t)n_bytes << 1 | 1, out);
  memcpy(out, bits, n_bytes);
  return out + n_bytes;
}

uint8_t *tn_pq_rle_put_bits(const uint8_t *bits, int64_t n, uint8_t *out) {
  int64_t shortest = shortest_run(1) / 8, n_bytes = n / 8, packed = 0, i = 0;
  while (i < n_bytes) {
    int64_t end = i + 1;
    if (bits[i] != 0 && bits[i] != 0xff) {
      i = end;
      continue;
    }
    while (end < n_bytes && bits[end] == bits[i]) {
      end++;
    }
    if (end - i >= shortest) {
      out = put_packed_bits(bits + packed, 8 * (i - packed), out);
      out = tn_pq_rle_put_run(bits[i] & 1, 8 * (end - i), 1, out);
      packed = end;
    }
    i = end;
  }
  return put_packed_bits(bits + packed, n - 8 * packed, out);
}
