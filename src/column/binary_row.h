/* binary_row.h - Paimon's BinaryRow: partitions, keys and statistics in manifests, splits, hashes.
 *
 *   offset 0   null bits: ((arity + 63 + 8) / 64) * 8 bytes; byte 0 is the row kind
 *   then       arity slots of 8 bytes, little-endian
 *   then       variable part, each piece rounded up to 8
 *
 * An array has another head (i32 count, null bits in words of 4 bytes) and is a row otherwise.
 *
 * Rule: org.apache.paimon.data.{BinaryRow,BinaryArray}, BinaryRowWriter. Spec: rows, 1.
 */
#ifndef TN_COLUMN_BINARY_ROW_H
#define TN_COLUMN_BINARY_ROW_H

#include "column/datum.h"

/* A checked view of a row or array: fixed part within the bytes. Variable parts are checked on
 * access. */
typedef struct tn_binary_row {
  tn_slice bytes; /* without arity prefix; borrowed */
  int32_t arity;
  uint32_t null_bit; /* number of the bit of field 0 */
  size_t slots;      /* offset of the slot of field 0 */
  const char *what;  /* in front of messages; borrowed like the bytes */
} tn_binary_row;

/* From bytes with a 4-byte big-endian arity in front (the form in manifests). `what` names the
 * place in messages. Errors: CORRUPT. */
TN_CHECKED tarn_status tn_binary_row_decode(tn_slice bytes, const char *what, tn_binary_row *out,
                                            tarn_error *err);
/* A row without columns, with its arity in front: constant bytes. */
tn_slice tn_binary_row_empty(void);
/* From bare bytes whose arity is known. */
TN_CHECKED tarn_status tn_binary_row_view(tn_slice bytes, int32_t arity, const char *what,
                                          tn_binary_row *out, tarn_error *err);
/* The elements of an array of 8-byte slots (BIGINT, STRING, BYTES). */
TN_CHECKED tarn_status tn_binary_array_view(tn_slice bytes, const char *what, tn_binary_row *out,
                                            tarn_error *err);

static inline bool tn_binary_row_is_null(const tn_binary_row *row, int32_t i) {
  uint32_t bit = row->null_bit + (uint32_t)i;
  return (row->bytes.data[bit >> 3] >> (bit & 7)) & 1;
}
/* Field i of an atomic type; bytes borrowed from the row. Errors: CORRUPT (an offset outside). */
TN_CHECKED tarn_status tn_binary_row_get(const tn_binary_row *row, int32_t i, const tn_type *type,
                                         tn_datum *out, tarn_error *err);
/* The raw slot. */
uint64_t tn_binary_row_slot(const tn_binary_row *row, int32_t i);
/* The piece a slot (offset << 32 | length, or inline when bit 63 is set) points to. */
TN_CHECKED tarn_status tn_binary_row_piece(const tn_binary_row *row, int32_t i, tn_slice *out,
                                           tarn_error *err);

/* Writing: begin, then set fields in order; a field that is not set is zero. What is written lies
 * at the end of `out`, to which nothing else is appended meanwhile. */
typedef struct tn_binary_row_writer {
  tn_buf *out;
  size_t start;    /* in out, like the others */
  size_t null_bit; /* number of the bit of field 0, from start on */
  size_t slots;
  size_t width; /* of a slot */
} tn_binary_row_writer;

TN_CHECKED tarn_status tn_binary_row_begin(tn_binary_row_writer *w, tn_buf *out, int32_t arity,
                                           tarn_error *err);
/* An array with slots of 1, 2, 4 or 8 bytes. */
TN_CHECKED tarn_status tn_binary_array_begin(tn_binary_row_writer *w, tn_buf *out, int64_t count,
                                             size_t width, tarn_error *err);
/* A datum of this type, or null (with the reservations Java makes for wide types). */
TN_CHECKED tarn_status tn_binary_row_set(tn_binary_row_writer *w, int32_t i, const tn_type *type,
                                         const tn_datum *datum, tarn_error *err);
void tn_binary_row_set_null(tn_binary_row_writer *w, int32_t i);
TN_CHECKED tarn_status tn_binary_row_set_bytes(tn_binary_row_writer *w, int32_t i, tn_slice bytes,
                                               tarn_error *err);
void tn_binary_row_set_slot(tn_binary_row_writer *w, int32_t i, uint64_t slot);
/* A piece that never goes inline (nested rows and arrays): recorded length is n bytes. */
TN_CHECKED tarn_status tn_binary_row_set_piece(tn_binary_row_writer *w, int32_t i, tn_slice piece,
                                               tarn_error *err);

/* Any column type (nested too), row `row` of a vector: what Java's row serializer would write. */
TN_CHECKED tarn_status tn_binary_row_set_vec(tn_binary_row_writer *w, int32_t i, const tn_vec *vec,
                                             int64_t row, tarn_error *err);

/* Murmur3 of BinaryRow.hashCode (spec: rows, 2). len must be a multiple of 4. */
int32_t tn_binary_row_hash(tn_slice bytes);

typedef enum tn_bucket_function {
  TN_BUCKET_DEFAULT,
  TN_BUCKET_MOD,
  TN_BUCKET_HIVE
} tn_bucket_function;

/* The bucket of a bucket-key row (its bytes without arity), spec: rows, 3.
 * Errors: UNSUPPORTED (types the function does not take), CORRUPT. */
TN_CHECKED tarn_status tn_bucket_of(tn_bucket_function function, const tn_binary_row *row,
                                    const tn_type *const *types, int32_t n_buckets, int32_t *bucket,
                                    tarn_error *err);

#endif
