/* bloom_filter.c - may a column hold a value at all?
 *
 *   +---------+------------------+
 *   | k  be32 | bits, whole bytes|   bit p: byte p / 8, mask 1 << p % 8
 *   +---------+------------------+
 *
 * A value's 64-bit hash gives k bits; all of them are set if the column holds it. Nulls are not in
 * it. Rule: org.apache.paimon.fileindex.bloomfilter.{BloomFilterFileIndex, FastHash},
 * utils.BloomFilter64; spec: indexes, 5.
 */
#include <math.h>

#include "base/bytes.h"
#include "codec/hash.h"
#include "index/file_index_payload.h"

#define HEAD_BYTES ((size_t)4)

typedef struct bloom {
  uint32_t n_hashes;
  uint32_t n_bits;
  const uint8_t *bits;
} bloom;

static tarn_status open_bloom(tn_payload *p, bloom *out, tarn_error *err) {
  tn_slice bytes;
  TN_TRY(tn_payload_fetch(p, 0, p->length, &bytes, err));
  if (bytes.len <= HEAD_BYTES || (bytes.len - HEAD_BYTES) > INT32_MAX / 8) {
    return tn_payload_corrupt(p, err, "a bloom filter of %zu bytes", bytes.len);
  }
  out->n_hashes = tn_load_be32(bytes.data);
  out->n_bits = (uint32_t)(bytes.len - HEAD_BYTES) * 8;
  out->bits = bytes.data + HEAD_BYTES;
  if (out->n_hashes == 0 || out->n_hashes > out->n_bits) {
    return tn_payload_corrupt(p, err, "%lu hashes into %lu bits", (unsigned long)out->n_hashes,
                              (unsigned long)out->n_bits);
  }
  return TARN_OK;
}

/* Thomas Wang's hash of a long; its shifts to the right keep the sign. */
static uint64_t hash_long(uint64_t k) {
#define SHIFTED(n) ((uint64_t)((int64_t)k >> (n)))
  k = ~k + (k << 21);
  k ^= SHIFTED(24);
  k += (k << 3) + (k << 8);
  k ^= SHIFTED(14);
  k += (k << 2) + (k << 4);
  k ^= SHIFTED(28);
  k += k << 31;
#undef SHIFTED
  return k;
}

/* Float.floatToIntBits and Double.doubleToLongBits: one NaN, the zeros differ. */
static uint64_t float_bits(double value, uint8_t width) {
  if (width == 4) {
    float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof(bits));
    return (uint64_t)(int64_t)(int32_t)(isnan(narrow) ? 0x7FC00000u : bits);
  }
  uint64_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return isnan(value) ? UINT64_C(0x7FF8000000000000) : bits;
}

static uint64_t hash_key(const tn_index_code *code, const tn_index_key *key) {
  switch (code->form) {
    case TN_INDEX_TEXT:
      return tn_xxh64(key->v.text.data, key->v.text.len, 0);
    case TN_INDEX_FLOAT:
      return hash_long(float_bits(key->v.f, code->width));
    default:
      return hash_long((uint64_t)key->v.i);
  }
}

static bool may_hold(const bloom *b, uint64_t hash) {
  uint32_t first = (uint32_t)hash, step = (uint32_t)(hash >> 32);
  for (uint32_t i = 1; i <= b->n_hashes; i++) {
    uint32_t sum = first + i * step; /* a signed int in Java: negative ones are inverted */
    uint32_t bit = ((sum & 0x80000000u) != 0 ? ~sum : sum) % b->n_bits;
    if ((b->bits[bit >> 3] >> (bit & 7) & 1) == 0) {
      return false;
    }
  }
  return true;
}

static tarn_status bloom_test(tn_payload *p, const tn_pred *leaf, tn_index_result *out,
                              tarn_error *err) {
  bloom b;
  if ((leaf->op != TN_PRED_EQ && leaf->op != TN_PRED_IN) || p->type->root == TN_BOOLEAN ||
      p->type->root == TN_DECIMAL) {
    return TARN_OK;
  }
  TN_TRY(open_bloom(p, &b, err));
  for (int32_t i = 0; i < leaf->n_literals; i++) {
    bool is_exact;
    tn_index_key key;
    if (leaf->literals[i].is_null) {
      continue; /* equal to nothing */
    }
    key = tn_index_key_of(&p->code, p->type, &leaf->literals[i], &is_exact);
    if (key.side == 0 && may_hold(&b, hash_key(&p->code, &key))) {
      return TARN_OK;
    }
  }
  out->verdict = TN_INDEX_SKIP;
  return TARN_OK;
}

static tarn_status bloom_describe(tn_payload *p, tn_buf *out, tarn_error *err) {
  int64_t n_set = 0;
  bloom b;
  TN_TRY(open_bloom(p, &b, err));
  for (uint32_t i = 0; i < b.n_bits / 8; i++) {
    n_set += __builtin_popcount(b.bits[i]);
  }
  return tn_buf_printf(out, err, ",\"hashes\":%lu,\"bits\":%lu,\"bits_set\":%lld",
                       (unsigned long)b.n_hashes, (unsigned long)b.n_bits, (long long)n_set);
}

const tn_payload_kind tn_bloom_filter_kind = {"bloom-filter", bloom_test, bloom_describe, NULL};
