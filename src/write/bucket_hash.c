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

static bool hash_numbers(const tn_vec *vec, int64_t n, int32_t *hashes) {
  if (vec->encoding != TN_VEC_FLAT || vec->null_count > 0) {
    return false;
  }
  if (vec->layout == TN_LAYOUT_I32) {
    for (int64_t i = 0; i < n; i++) {
      hashes[i] = hash_one(((const uint32_t *)vec->values)[i]);
    }
    return true;
  }
  if (vec->layout == TN_LAYOUT_I64 && vec->type->root == TN_BIGINT) {
    for (int64_t i = 0; i < n; i++) {
      hashes[i] = hash_one(((const uint64_t *)vec->values)[i]);
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

/* The key of row i by the machinery of BinaryRow. */
static tarn_status encode_row(const tn_batch *batch, const int32_t *columns, int32_t n, int64_t i,
                              tn_buf *buf, tarn_error *err) {
  tn_binary_row_writer writer;
  buf->len = 0;
  TN_TRY(tn_binary_row_begin(&writer, buf, n, err));
  for (int32_t c = 0; c < n; c++) {
    TN_TRY(tn_binary_row_set_vec(&writer, c, &batch->columns[columns[c]], i, err));
  }
  return TARN_OK;
}

tarn_status tn_key_hashes(tarn_env *env, const tn_batch *batch, const int32_t *columns, int32_t n,
                          int32_t *hashes, tarn_error *err) {
  const tn_vec *vecs[MAX_FAST_COLUMNS];
  bool is_fast = n <= MAX_FAST_COLUMNS;
  uint8_t row[MAX_FAST_BYTES] = {0};
  tarn_status st = TARN_OK;
  tn_buf buf;
  if (n == 1 && hash_numbers(&batch->columns[columns[0]], batch->n_rows, hashes)) {
    return TARN_OK;
  }
  for (int32_t c = 0; c < n && is_fast; c++) {
    vecs[c] = &batch->columns[columns[c]];
    is_fast = vecs[c]->null_count == 0 && is_slot_type(vecs[c]->type) &&
              (vecs[c]->encoding == TN_VEC_FLAT || vecs[c]->layout == TN_LAYOUT_BYTES);
  }
  tn_buf_init(&buf, &env->mem, (size_t)INT32_MAX);
  for (int64_t i = 0; i < batch->n_rows && st == TARN_OK; i++) {
    size_t len = is_fast ? put_row(vecs, n, i, row) : 0;
    if (len > 0) {
      hashes[i] = tn_binary_row_hash(tn_slice_of(row, len));
    } else {
      st = encode_row(batch, columns, n, i, &buf, err);
      hashes[i] = st == TARN_OK ? tn_binary_row_hash(tn_buf_slice(&buf)) : 0;
    }
  }
  tn_buf_reset(&buf);
  return st;
}

/* ------------------------------------------------------------------ buckets */

/* Of the functions mod and hive. */
static tarn_status call_function(const tn_write *w, const tn_batch *batch, int32_t *numbers,
                                 tarn_error *err) {
  const tn_table_facts *facts = &w->table->facts;
  int32_t n = w->n_bucket_columns;
  const tn_type **types = tn_alloc(&w->env->mem, (size_t)n * sizeof(*types));
  tn_binary_row row;
  tarn_status st = TARN_OK;
  tn_buf buf;
  if (types == NULL) {
    return tn_oom(err);
  }
  tn_buf_init(&buf, &w->env->mem, (size_t)INT32_MAX);
  for (int32_t c = 0; c < n; c++) {
    types[c] = &w->fields[w->bucket_columns[c]].type;
  }
  for (int64_t i = 0; i < batch->n_rows; i++) {
    TN_TRY_TO(done, encode_row(batch, w->bucket_columns, n, i, &buf, err));
    TN_TRY_TO(done, tn_binary_row_view(tn_buf_slice(&buf), n, "bucket key", &row, err));
    TN_TRY_TO(done, tn_bucket_of((tn_bucket_function)facts->bucket_function, &row, types,
                                 facts->bucket, &numbers[i], err));
  }
done:
  tn_buf_reset(&buf);
  tn_free(&w->env->mem, (void *)types);
  return st;
}

tarn_status tn_bucket_numbers(const tn_write *w, const tn_batch *batch, int32_t *numbers,
                              tarn_error *err) {
  const tn_table_facts *facts = &w->table->facts;
  if (facts->bucket_mode != TN_BUCKETS_FIXED || facts->bucket == 1) {
    int32_t only = w->is_postponed ? TN_POSTPONE_BUCKET : 0;
    for (int64_t i = 0; i < batch->n_rows; i++) {
      numbers[i] = only;
    }
    return TARN_OK;
  }
  if (facts->bucket_function != TN_BUCKET_DEFAULT) {
    return call_function(w, batch, numbers, err);
  }
  TN_TRY(tn_key_hashes(w->env, batch, w->bucket_columns, w->n_bucket_columns, numbers, err));
  for (int64_t i = 0; i < batch->n_rows; i++) {
    int32_t rest = numbers[i] % facts->bucket;
    numbers[i] = rest < 0 ? -rest : rest;
  }
  return TARN_OK;
}
