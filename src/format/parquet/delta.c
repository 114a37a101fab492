/* delta.c - blocks and miniblocks, opened one after the other. */
#include "format/parquet/delta.h"

#include "base/bytes.h"

#define MAX_BLOCK_VALUES (1 << 20) /* values in a block that are accepted; writers use 128 */

static bool read_varint(const uint8_t **at, const uint8_t *end, uint64_t *out) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (*at == end) {
      return false;
    }
    value |= (uint64_t)(**at & 0x7f) << shift;
    if ((*(*at)++ & 0x80) == 0) {
      *out = value;
      return true;
    }
  }
  return false;
}

static bool read_zigzag(const uint8_t **at, const uint8_t *end, uint64_t *out) {
  uint64_t v;
  if (!read_varint(at, end, &v)) {
    return false;
  }
  *out = (v >> 1) ^ -(v & 1);
  return true;
}

bool tn_pq_delta_init(tn_pq_delta *delta, tn_slice bytes, bool is_64) {
  uint64_t block, miniblocks, count;
  memset(delta, 0, sizeof(*delta));
  delta->at = bytes.data;
  delta->end = bytes.len > 0 ? bytes.data + bytes.len : bytes.data;
  delta->is_64 = is_64;
  if (!read_varint(&delta->at, delta->end, &block) ||
      !read_varint(&delta->at, delta->end, &miniblocks) ||
      !read_varint(&delta->at, delta->end, &count) ||
      !read_zigzag(&delta->at, delta->end, &delta->last)) {
    return false;
  }
  if (block == 0 || block > MAX_BLOCK_VALUES || block % 128 != 0 || miniblocks == 0 ||
      block % miniblocks != 0 || block / miniblocks % 32 != 0 || count > INT32_MAX) {
    return false;
  }
  delta->block_values = (int64_t)block;
  delta->n_miniblocks = (int64_t)miniblocks;
  delta->miniblock_values = (int64_t)(block / miniblocks);
  delta->n_values = delta->values_left = (int64_t)count;
  delta->has_first = count > 0;
  delta->miniblock = delta->n_miniblocks;  // no block is open
  return true;
}

/* Read the head of the next block: the least delta and the widths. */
static bool open_block(tn_pq_delta *delta) {
  if (!read_zigzag(&delta->at, delta->end, &delta->min_delta) ||
      delta->end - delta->at < delta->n_miniblocks) {
    return false;
  }
  delta->widths = delta->at;
  delta->at += delta->n_miniblocks;
  delta->miniblock = 0;
  return true;
}

/* Open the next miniblock, whose bytes must be there as far as values are left. */
static bool open_miniblock(tn_pq_delta *delta) {
  int64_t n = delta->miniblock_values;
  int64_t n_bytes;
  if (delta->miniblock == delta->n_miniblocks && !open_block(delta)) {
    return false;
  }
  delta->width = delta->widths[delta->miniblock++];
  if (delta->width > (delta->is_64 ? 64 : 32)) {
    return false;
  }
  delta->packed = delta->at;
  delta->miniblock_at = 0;
  n_bytes = n * delta->width / 8;
  if (n_bytes > delta->end - delta->at) {
    // writers need not pad the last miniblock
    n_bytes = delta->end - delta->at;
    if (delta->values_left * delta->width > n_bytes * 8) {
      return false;
    }
  }
  delta->at += n_bytes;
  return true;
}

static uint64_t packed_value(const uint8_t *packed, uint32_t width, int64_t i) {
  uint64_t bit = (uint64_t)i * width;
  const uint8_t *p = packed + (bit >> 3);
  uint64_t value = tn_load_le64(p) >> (bit & 7);
  if (width + (bit & 7) > 64) {
    value |= (uint64_t)p[8] << (64 - (bit & 7));
  }
  return width == 64 ? value : value & (((uint64_t)1 << width) - 1);
}

/* n deltas of the open miniblock become values. */
static void add_deltas(tn_pq_delta *delta, int64_t n, int64_t *out) {
  uint64_t last = delta->last;
  for (int64_t i = 0; i < n; i++) {
    uint64_t d =
        delta->width == 0 ? 0 : packed_value(delta->packed, delta->width, delta->miniblock_at + i);
    last += delta->min_delta + d;
    out[i] = delta->is_64 ? (int64_t)last : (int32_t)(uint32_t)last;
  }
  delta->last = last;
}

int64_t tn_pq_delta_get(tn_pq_delta *delta, int64_t n, int64_t *out) {
  int64_t done = 0;
  if (n > 0 && delta->has_first) {
    out[done++] = delta->is_64 ? (int64_t)delta->last : (int32_t)(uint32_t)delta->last;
    delta->has_first = false;
    delta->values_left--;
    delta->miniblock_at = delta->miniblock_values;  // none is open
  }
  while (done < n && delta->values_left > 0) {
    int64_t k;
    if (delta->miniblock_at == delta->miniblock_values && !open_miniblock(delta)) {
      delta->values_left = 0;
      break;
    }
    k = delta->miniblock_values - delta->miniblock_at;
    k = k < n - done ? k : n - done;
    k = k < delta->values_left ? k : delta->values_left;
    add_deltas(delta, k, out + done);
    delta->miniblock_at += k;
    delta->values_left -= k;
    done += k;
  }
  return done;
}

bool tn_pq_delta_find_end(const tn_pq_delta *delta, const uint8_t **end) {
  tn_pq_delta walk = *delta;
  if (walk.has_first) {
    walk.has_first = false;
    walk.values_left--;
  } else if (walk.values_left > 0) {
    walk.values_left -= walk.miniblock_values - walk.miniblock_at;
  }
  while (walk.values_left > 0) {
    if (!open_miniblock(&walk)) {
      return false;
    }
    walk.values_left -= walk.miniblock_values;
  }
  *end = walk.at;
  return true;
}
