/* theta_sketch.c - the stored forms of theta sketches, little-endian:
 *
 *   0 u8 longs of the preamble   1 u8 version   2 u8 family   3 u8, 4 u8 (see below)
 *   5 u8 flags                   6 u16 hash of the seed
 *
 *   version 3   preamble of 1: empty, or one hash behind it
 *                           2: 8 i32 hashes, 12 f32 1.0
 *                           3: 16 i64 theta, too
 *               then the hashes, i64 each; a table that is not compact has 2^(byte 4) places
 *   version 4   3 u8 bits of an entry, 4 u8 bytes of the number of hashes; 8 i64 theta with a
 *               preamble of 2; the number; differences of the ordered hashes, high bits first
 */
#include "merge/theta_sketch.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/checked.h"

#define NOMINAL_ENTRIES 4096u
#define MAX_THETA UINT64_C(0x7FFFFFFFFFFFFFFF)
#define SEED_HASH 0x93CCu /* of the default seed, 9001 */
#define FAMILY_ALPHA 1
#define FAMILY_COMPACT 3
#define HEAD_BYTES 8u

enum { FLAG_READ_ONLY = 2, FLAG_EMPTY = 4, FLAG_COMPACT = 8, FLAG_ORDERED = 16, FLAG_SINGLE = 32 };

void tn_theta_init(tn_theta *sketch, tn_mem *mem) {
  *sketch = (tn_theta){.mem = mem, .theta = MAX_THETA};
}

void tn_theta_reset(tn_theta *sketch) {
  if (sketch->mem != NULL) {
    tn_free(sketch->mem, sketch->hashes);
    tn_theta_init(sketch, sketch->mem);
  }
}

/* ------------------------------------------------------------------ decode */

static tarn_status corrupt(tarn_error *err, const char *what, size_t n_bytes) {
  return tn_fail(err, TARN_E_CORRUPT, "theta sketch of %zu bytes: %s", n_bytes, what);
}

static int compare_hashes(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* Hashes in order, each once, those from theta on left out. */
static void tidy(tn_theta *sketch) {
  size_t n = 0;
  qsort(sketch->hashes, sketch->n_hashes, sizeof(*sketch->hashes), compare_hashes);
  for (size_t i = 0; i < sketch->n_hashes && sketch->hashes[i] < sketch->theta; i++) {
    if (n == 0 || sketch->hashes[n - 1] != sketch->hashes[i]) {
      sketch->hashes[n++] = sketch->hashes[i];
    }
  }
  sketch->n_hashes = n;
}

static tarn_status make_room(tn_theta *sketch, size_t n, tarn_error *err) {
  size_t n_bytes;
  if (!tn_mul_size(n + 1, sizeof(*sketch->hashes), &n_bytes)) {
    return tn_oom(err);
  }
  sketch->hashes = tn_alloc(sketch->mem, n_bytes);
  return sketch->hashes != NULL ? TARN_OK : tn_oom(err);
}

/* n places; a table has free ones, which are 0, and may have stale ones. */
static tarn_status read_hashes(tn_theta *sketch, tn_slice places, size_t n, bool is_table,
                               tarn_error *err) {
  if (n > places.len / 8) {
    return corrupt(err, "hashes are cut off", places.len);
  }
  TN_TRY(make_room(sketch, n, err));
  for (size_t i = 0; i < n; i++) {
    uint64_t hash = tn_load_le64(places.data + 8 * i);
    if (hash != 0 && hash <= MAX_THETA) {
      sketch->hashes[sketch->n_hashes++] = hash;
    } else if (!is_table) {
      return corrupt(err, "not a hash", places.len);
    }
  }
  return TARN_OK;
}

static tarn_status check_seed(tn_slice bytes, tarn_error *err) {
  uint16_t seed = tn_load_le16(bytes.data + 6);
  if (seed != SEED_HASH) {
    return tn_fail(err, TARN_E_CORRUPT, "theta sketch: seed hash %04x, expected %04x",
                   (unsigned)seed, SEED_HASH);
  }
  return TARN_OK;
}

static tarn_status decode_v3(tn_theta *sketch, tn_slice bytes, tarn_error *err) {
  uint32_t preamble = bytes.data[0] & 0x3F, flags = bytes.data[5], lg_places = bytes.data[4];
  bool is_table = (flags & (FLAG_ORDERED | FLAG_COMPACT)) == 0;
  uint64_t n;
  if (bytes.data[2] < FAMILY_ALPHA || bytes.data[2] > FAMILY_COMPACT) {
    return corrupt(err, "not a family of sketches", bytes.len);
  }
  if (preamble == 1) {
    bool is_single =
        (bytes.data[2] == FAMILY_COMPACT && (flags & 0x1F) == 0x1A) || (flags & FLAG_SINGLE) != 0;
    return read_hashes(sketch, tn_slice_of(bytes.data + HEAD_BYTES, bytes.len - HEAD_BYTES),
                       is_single ? 1 : 0, false, err);
  }
  if (preamble < 2 || preamble > 4 || bytes.len < 8 * (size_t)preamble) {
    return corrupt(err, "not a preamble", bytes.len);
  }
  TN_TRY(check_seed(bytes, err));
  n = tn_load_le32(bytes.data + 8);
  if (preamble == 2 && n == 0) {
    return TARN_OK;
  }
  if (preamble > 2) {
    sketch->theta = tn_load_le64(bytes.data + 16);
    if (sketch->theta == 0 || sketch->theta > MAX_THETA) {
      return corrupt(err, "not a theta", bytes.len);
    }
  }
  if (is_table) {
    n = lg_places < 32 ? UINT64_C(1) << lg_places : UINT64_MAX;
  }
  return read_hashes(
      sketch, tn_slice_of(bytes.data + 8 * (size_t)preamble, bytes.len - 8 * (size_t)preamble),
      n > bytes.len ? bytes.len : (size_t)n, is_table, err);
}

/* n_bits from bit *at on, the highest first. */
static uint64_t read_bits(const uint8_t *bytes, size_t *at, uint32_t n_bits) {
  uint64_t value = 0;
  while (n_bits > 0) {
    uint32_t in_byte = 8 - (uint32_t)(*at % 8), n = in_byte < n_bits ? in_byte : n_bits;
    uint32_t part = (bytes[*at / 8] >> (in_byte - n)) & ((1u << n) - 1);
    value = value << n | part;
    *at += n;
    n_bits -= n;
  }
  return value;
}

static tarn_status decode_v4(tn_theta *sketch, tn_slice bytes, tarn_error *err) {
  uint32_t preamble = bytes.data[0] & 0x3F, n_bits = bytes.data[3], number_bytes = bytes.data[4];
  size_t head = preamble > 1 ? 16 : 8, at = 0;
  uint64_t n = 0, hash = 0;
  const uint8_t *packed;
  if (bytes.data[2] != FAMILY_COMPACT || n_bits == 0 || n_bits > 63 || number_bytes > 4 ||
      bytes.len < head + number_bytes) {
    return corrupt(err, "not a compressed sketch", bytes.len);
  }
  TN_TRY(check_seed(bytes, err));
  if (preamble > 1) {
    sketch->theta = tn_load_le64(bytes.data + 8);
    if (sketch->theta == 0 || sketch->theta > MAX_THETA) {
      return corrupt(err, "not a theta", bytes.len);
    }
  }
  for (uint32_t i = 0; i < number_bytes; i++) {
    n |= (uint64_t)bytes.data[head + i] << (8 * i);
  }
  packed = bytes.data + head + number_bytes;
  if ((n * n_bits + 7) / 8 > bytes.len - head - number_bytes) {
    return corrupt(err, "hashes are cut off", bytes.len);
  }
  TN_TRY(make_room(sketch, (size_t)n, err));
  for (size_t i = 0; i < n; i++) {
    uint64_t more = read_bits(packed, &at, n_bits);
    if (more == 0 || more > MAX_THETA - hash) {
      return corrupt(err, "not a hash", bytes.len);
    }
    hash += more;
    sketch->hashes[sketch->n_hashes++] = hash;
  }
  return TARN_OK;
}

tarn_status tn_theta_decode(tn_theta *sketch, tn_slice bytes, tarn_error *err) {
  uint32_t version = bytes.len > 1 ? bytes.data[1] : 0;
  tarn_status st = TARN_OK;
  tn_theta_reset(sketch);
  if (bytes.len < 16) {
    return TARN_OK; /* empty, whatever it is: UnionImpl.union(Memory) */
  }
  if (version == 3) {
    st = decode_v3(sketch, bytes, err);
  } else if (version == 4) {
    st = decode_v4(sketch, bytes, err);
  } else {
    st = tn_fail(err, version == 1 || version == 2 ? TARN_E_UNSUPPORTED : TARN_E_CORRUPT,
                 "theta sketch of version %lu", (unsigned long)version);
  }
  if (st != TARN_OK) {
    tn_theta_reset(sketch);
  } else if (sketch->n_hashes > 0) {
    tidy(sketch);
  }
  return st;
}

/* ------------------------------------------------------------------ unite */

tarn_status tn_theta_unite(tn_theta *sketch, const tn_theta *other, tarn_error *err) {
  tn_theta made;
  size_t a = 0, b = 0;
  tn_theta_init(&made, sketch->mem);
  made.theta = sketch->theta < other->theta ? sketch->theta : other->theta;
  TN_TRY(make_room(&made, sketch->n_hashes + other->n_hashes, err));
  while (a < sketch->n_hashes || b < other->n_hashes) {
    uint64_t from_a = a < sketch->n_hashes ? sketch->hashes[a] : UINT64_MAX;
    uint64_t from_b = b < other->n_hashes ? other->hashes[b] : UINT64_MAX;
    uint64_t hash = from_a < from_b ? from_a : from_b;
    if (hash >= made.theta) {
      break;
    }
    if (made.n_hashes == NOMINAL_ENTRIES) { /* one too many is the new bound */
      made.theta = hash;
      break;
    }
    made.hashes[made.n_hashes++] = hash;
    a += from_a == hash;
    b += from_b == hash;
  }
  tn_theta_reset(sketch);
  *sketch = made;
  return TARN_OK;
}

/* ------------------------------------------------------------------ encode */

tarn_status tn_theta_encode(const tn_theta *sketch, tn_buf *out, tarn_error *err) {
  size_t n = sketch->n_hashes;
  bool is_exact = sketch->theta == MAX_THETA;
  bool is_empty = is_exact && n == 0, is_single = is_exact && n == 1;
  uint32_t preamble = !is_exact ? 3 : is_empty || is_single ? 1 : 2;
  uint8_t head[24] = {(uint8_t)preamble, 3, FAMILY_COMPACT};
  head[5] = FLAG_READ_ONLY | FLAG_COMPACT | FLAG_ORDERED;
  head[5] |= is_empty ? FLAG_EMPTY : is_single ? FLAG_SINGLE : 0;
  if (!is_empty) {
    tn_store_le16(head + 6, SEED_HASH);
  }
  if (preamble > 1) {
    tn_store_le32(head + 8, (uint32_t)n);
    tn_store_le32(head + 12, UINT32_C(0x3F800000)); /* 1.0 */
    tn_store_le64(head + 16, sketch->theta);
  }
  TN_TRY(tn_buf_append(out, head, 8 * (size_t)preamble, err));
  return n > 0 ? tn_buf_append(out, sketch->hashes, n * sizeof(*sketch->hashes), err) : TARN_OK;
}
