/* bucket_hash.c - the bucket of every row of a batch, a column at a time.
 *
 * The default function hashes the bytes of the bucket key as a BinaryRow (spec: rows, 2 and 3).
 * Rows of values that lie in one slot each, or are short texts, are put together here without that
 * machinery; everything else (nulls, wide decimals and timestamps, long texts, other functions)
 * goes through it, row by row.
 */
#include "base/bytes.h"
#include "codec/hash.h"
#include "column/binary_row.h"
#include "write/write_parts.h"

#define MAX_FAST_COLUMNS 8
#define MAX_FAST_BYTES 512
#define SEED 42u

static inline int32_t bucket_of_hash(int32_t hash, int32_t n_buckets) {
  int32_t rest = hash % n_buckets;
  return rest < 0 ? -rest : rest;
}

/* ------------------------------------------------------------------ one number */

static inline uint32_t rotate(uint32_t v, int by) {
  return v << by | v >> (32 - by);
}

static inline uint32_t mix_word(uint32_t h, uint32_t word) {
  h ^= rotate(word * 0xcc9e2d51u, 15) * 0x1b873593u;
  return rotate(h, 13) * 5 + 0xe6546b64u;
}

/* Murmur3 of a row of one slot: 8 bytes of null bits (all clear), the value. */
static inline int32_t hash_one(uint64_t slot) {
  uint32_t h = SEED;
  h = mix_word(mix_word(h, 0), 0);
  h = mix_word(mix_word(h, (uint32_t)slot), (uint32_t)(slot >> 32));
  h ^= 16;
  h = (h ^ h >> 16) * 0x85ebca6bu;
  h = (h ^ h >> 13) * 0xc2b2ae35u;
  return (int32_t)(h ^ h >> 16);
}

static bool hash_numbers(const tn_vec *vec, int64_t n, int32_t n_buckets, int32_t *numbers) {
  if (vec->encoding != TN_VEC_FLAT || vec->null_count > 0) {
    return false;
  }
  if (vec->layout == TN_LAYOUT_I32) {
    for (int64_t i = 0; i < n; i++) {
      numbers[i] = bucket_of_hash(hash_one(((const uint32_t *)vec->values)[i]), n_buckets);
    }
    return true;
  }
  if (vec->layout == TN_LAYOUT_I64 && vec->type->root == TN_BIGINT) {
    for (int64_t i = 0; i < n; i++) {
      numbers[i] = bucket_of_hash(hash_one(((const uint64_t *)vec->values)[i]), n_buckets);
    }
    return true;
  }
  return false;
}

/* ------------------------------------------------------------------ rows of slots */

/* Does a value of the type lie in its slot, or behind the slots as it is? */
static bool is_slot_type(const tn_type *type) {
  switch (type->root) {
    case TN_DECIMAL:
      return type->precision <= 18;
    case TN_TIMESTAMP:
    case TN_TIMESTAMP_LTZ:
      return type->precision <= 3;
    default:
      return tn_type_layout(type) <= TN_LAYOUT_BYTES;
  }
}

static uint64_t slot_of(const tn_vec *vec, int64_t i) {
  switch (vec->layout) {
    case TN_LAYOUT_BIT:
      return tn_bit_get(vec->values, i);
    case TN_LAYOUT_I8:
      return ((const uint8_t *)vec->values)[i];
    case TN_LAYOUT_I16:
      return ((const uint16_t *)vec->values)[i];
    case TN_LAYOUT_I32:
    case TN_LAYOUT_F32:
      return ((const uint32_t *)vec->values)[i];
    case TN_LAYOUT_I128:
      return (uint64_t)((const tn_i128 *)vec->values)[i];
    default:
      return ((const uint64_t *)vec->values)[i];
  }
}

/* The bytes of row i; 0: too long. `row` is cleared up to the variable part. */
static size_t put_row(const tn_vec *const *vecs, int32_t n, int64_t i, uint8_t *row) {
  size_t end = 8 + 8 * (size_t)n;
  for (int32_t c = 0; c < n; c++) {
    const tn_vec *vec = vecs[c];
    uint64_t slot;
    tn_slice s;
    if (vec->layout != TN_LAYOUT_BYTES) {
      tn_store_le64(row + 8 + 8 * c, slot_of(vec, i));
      continue;
    }
    s = tn_vec_bytes(vec, i);
    if (s.len <= 7) {
      uint8_t bytes[8] = {0};
      memcpy(bytes, s.data, s.len);
      bytes[7] = (uint8_t)(0x80 | s.len);
      memcpy(row + 8 + 8 * c, bytes, 8);
      continue;
    }
    if (s.len > MAX_FAST_BYTES - 8 - end) {
      return 0;
    }
    slot = (uint64_t)end << 32 | (uint32_t)s.len;
    tn_store_le64(row + 8 + 8 * c, slot);
    memset(row + end + (s.len & ~(size_t)7), 0, 8);
    memcpy(row + end, s.data, s.len);
    end += (s.len + 7) & ~(size_t)7;
  }
  return end;
}

/* ------------------------------------------------------------------ any row */

static tarn_status bucket_of_row(const tn_write *w, const tn_batch *batch, int64_t i, tn_buf *buf,
                                 const tn_type *const *types, int32_t *out, tarn_error *err) {
  const tn_table_facts *facts = &w->table->facts;
  tn_binary_row_writer writer;
  tn_binary_row row;
  buf->len = 0;
  TN_TRY(tn_binary_row_begin(&writer, buf, w->n_bucket_columns, err));
  for (int32_t c = 0; c < w->n_bucket_columns; c++) {
    TN_TRY(tn_binary_row_set_vec(&writer, c, &batch->columns[w->bucket_columns[c]], i, err));
  }
  TN_TRY(tn_binary_row_view(tn_buf_slice(buf), w->n_bucket_columns, "bucket key", &row, err));
  return tn_bucket_of((tn_bucket_function)facts->bucket_function, &row, types, facts->bucket, out,
                      err);
}

/* Rows that the fast way leaves. */
static tarn_status hash_rows(const tn_write *w, const tn_batch *batch, int32_t *numbers,
                             tarn_error *err) {
  const tn_vec *vecs[MAX_FAST_COLUMNS];
  int32_t n = w->n_bucket_columns, n_buckets = w->table->facts.bucket;
  bool is_fast = n <= MAX_FAST_COLUMNS && w->table->facts.bucket_function == TN_BUCKET_DEFAULT;
  const tn_type **types = tn_alloc(&w->env->mem, (size_t)n * sizeof(*types));
  uint8_t row[MAX_FAST_BYTES] = {0};
  tarn_status st = TARN_OK;
  tn_buf buf;
  tn_buf_init(&buf, &w->env->mem, (size_t)INT32_MAX);
  if (types == NULL) {
    return tn_oom(err);
  }
  for (int32_t c = 0; c < n; c++) {
    const tn_vec *vec = &batch->columns[w->bucket_columns[c]];
    types[c] = &w->fields[w->bucket_columns[c]].type;
    is_fast = is_fast && vec->null_count == 0 && is_slot_type(types[c]) &&
              (vec->encoding == TN_VEC_FLAT || vec->layout == TN_LAYOUT_BYTES);
    vecs[c < MAX_FAST_COLUMNS ? c : 0] = vec;
  }
  for (int64_t i = 0; i < batch->n_rows && st == TARN_OK; i++) {
    size_t len = is_fast ? put_row(vecs, n, i, row) : 0;
    if (len > 0) {
      numbers[i] = bucket_of_hash(tn_binary_row_hash(tn_slice_of(row, len)), n_buckets);
    } else {
      st = bucket_of_row(w, batch, i, &buf, types, &numbers[i], err);
    }
  }
  tn_buf_reset(&buf);
  tn_free(&w->env->mem, (void *)types);
  return st;
}

tarn_status tn_bucket_numbers(const tn_write *w, const tn_batch *batch, int32_t *numbers,
                              tarn_error *err) {
  const tn_table_facts *facts = &w->table->facts;
  if (facts->bucket_mode != TN_BUCKETS_FIXED || facts->bucket == 1) {
    int32_t only = facts->bucket_mode == TN_BUCKETS_POSTPONE ? -2 : 0;
    for (int64_t i = 0; i < batch->n_rows; i++) {
      numbers[i] = only;
    }
    return TARN_OK;
  }
  if (w->n_bucket_columns == 1 && facts->bucket_function == TN_BUCKET_DEFAULT &&
      hash_numbers(&batch->columns[w->bucket_columns[0]], batch->n_rows, facts->bucket, numbers)) {
    return TARN_OK;
  }
  return hash_rows(w, batch, numbers, err);
}
