/* bucket.c - the three bucket functions. Spec: rows, 3.
 *
 * Rule: org.apache.paimon.bucket.{Default,Mod,Hive}BucketFunction, HiveHasher.
 */
#include "base/bytes.h"
#include "column/binary_row.h"
#include "column/type_text.h"

static tarn_status bucket_mod(const tn_binary_row *row, const tn_type *const *types,
                              int32_t n_buckets, int32_t *bucket, tarn_error *err) {
  tn_datum key;
  int64_t rest;
  if (row->arity != 1 || (types[0]->root != TN_INT && types[0]->root != TN_BIGINT)) {
    return tn_fail(err, TARN_E_UNSUPPORTED,
                   "bucket function mod takes one bucket key of type INT or BIGINT");
  }
  TN_TRY(tn_binary_row_get(row, 0, types[0], &key, err));
  rest = key.is_null ? 0 : key.v.i64 % n_buckets;
  *bucket = (int32_t)(rest < 0 ? rest + n_buckets : rest);
  return TARN_OK;
}

/* Long.hashCode */
static uint32_t hash_i64(uint64_t v) {
  return (uint32_t)(v ^ v >> 32);
}

static uint32_t hash_bytes(tn_slice bytes) {
  uint32_t h = 0;
  for (size_t i = 0; i < bytes.len; i++) {
    h = 31 * h + (uint32_t)(int32_t)(int8_t)bytes.data[i];
  }
  return h;
}

/* BigDecimal.hashCode without trailing zeros: 31 * hash of the integer + scale. */
static uint32_t hash_decimal(tn_i128 value, int32_t scale) {
  tn_u128 magnitude = value < 0 ? -(tn_u128)value : (tn_u128)value;
  uint32_t h = 0;
  if (value == 0) {
    return 0;
  }
  for (; scale > 0 && magnitude % 10 == 0; scale--) {
    magnitude /= 10;
  }
  for (int shift = 96; shift >= 0; shift -= 32) {
    h = 31 * h + (uint32_t)(magnitude >> shift);
  }
  return 31 * (value < 0 ? -h : h) + (uint32_t)scale;
}

static tarn_status hash_hive(const tn_type *type, const tn_datum *d, uint32_t *out,
                             tarn_error *err) {
  float f = (float)d->v.f64;
  double g = d->v.f64;
  switch (type->root) {
    case TN_BOOLEAN:
      *out = d->v.boolean;
      return TARN_OK;
    case TN_TINYINT:
    case TN_SMALLINT:
    case TN_INT:
    case TN_DATE:
    case TN_TIME:
      *out = (uint32_t)d->v.i64;
      return TARN_OK;
    case TN_BIGINT:
      *out = hash_i64((uint64_t)d->v.i64);
      return TARN_OK;
    case TN_FLOAT:
      *out = f != f ? 0x7fc00000 : f == 0 ? 0 : tn_load_le32(&f);
      return TARN_OK;
    case TN_DOUBLE:
      *out = g != g ? 0x7ff80000 : g == 0 ? 0 : hash_i64(tn_load_le64(&g));
      return TARN_OK;
    case TN_CHAR:
    case TN_VARCHAR:
    case TN_BINARY:
    case TN_VARBINARY:
      *out = hash_bytes(d->v.bytes);
      return TARN_OK;
    case TN_DECIMAL:
      *out = hash_decimal(d->v.i128, type->scale);
      return TARN_OK;
    default:
      break;
  }
  return tn_fail(err, TARN_E_UNSUPPORTED, "bucket function hive does not take a key of type %s",
                 tn_type_root_name(type->root));
}

static tarn_status bucket_hive(const tn_binary_row *row, const tn_type *const *types,
                               int32_t n_buckets, int32_t *bucket, tarn_error *err) {
  uint32_t h = 0;
  for (int32_t i = 0; i < row->arity; i++) {
    uint32_t field = 0;
    tn_datum d;
    TN_TRY(tn_binary_row_get(row, i, types[i], &d, err));
    if (!d.is_null) {
      TN_TRY(hash_hive(types[i], &d, &field, err));
    }
    h = 31 * h + field;
  }
  *bucket = (int32_t)((h & 0x7fffffff) % (uint32_t)n_buckets);
  return TARN_OK;
}

tarn_status tn_bucket_of(tn_bucket_function function, const tn_binary_row *row,
                         const tn_type *const *types, int32_t n_buckets, int32_t *bucket,
                         tarn_error *err) {
  int32_t rest;
  if (n_buckets < 1) {
    return TN_BUG(err, "bucket of a table without buckets");
  }
  switch (function) {
    case TN_BUCKET_MOD:
      return bucket_mod(row, types, n_buckets, bucket, err);
    case TN_BUCKET_HIVE:
      return bucket_hive(row, types, n_buckets, bucket, err);
    case TN_BUCKET_DEFAULT:
      break;
  }
  if (row->bytes.len % 4 != 0) {
    return tn_fail(err, TARN_E_CORRUPT, "bucket key row of %zu bytes: not a multiple of 4",
                   row->bytes.len);
  }
  rest = tn_binary_row_hash(row->bytes) % n_buckets;
  *bucket = rest < 0 ? -rest : rest;
  return TARN_OK;
}
