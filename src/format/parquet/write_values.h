/* write_values.h - rows of vectors as the values that a leaf column of the file stores.
 *
 * What comes out is dense: nulls were left out by naming rows. Its form goes by the physical type:
 *
 *   BOOLEAN              uint8_t[n], 0 or 1
 *   INT32, FLOAT         uint32_t[n]
 *   INT64, DOUBLE        uint64_t[n]
 *   FIXED, INT96         tn_view[n] of bytes that lie one after the other
 *   BYTE_ARRAY           tn_view[n]
 *
 * It borrows from the vector or lives in the scratch memory, until the next call.
 */
#ifndef TN_FORMAT_PARQUET_WRITE_VALUES_H
#define TN_FORMAT_PARQUET_WRITE_VALUES_H

#include "column/vector.h"
#include "format/parquet/write_schema.h"

/* Working memory of one call of the writer, shared by all columns. */
typedef struct tn_pq_scratch {
  tarn_env *env;
  tn_pq_bytes rows;      /* of values, in their source */
  tn_pq_bytes gathered;  /* values in their vector's layout */
  tn_pq_bytes converted; /* values as stored */
  tn_pq_bytes views;
  tn_pq_bytes body, packed, header; /* of a page */
  tn_pq_bytes seen;                 /* codes that occur in a page */
} tn_pq_scratch;

void tn_pq_scratch_init(tn_pq_scratch *scratch, tarn_env *env);
void tn_pq_scratch_reset(tn_pq_scratch *scratch);

/* Row numbers of the set bits among valid[begin .. begin + n), counted from `first`, in
 * scratch->rows; *count gets how many. */
TN_CHECKED tarn_status tn_pq_valid_rows(tn_pq_scratch *scratch, const uint8_t *valid, int64_t begin,
                                        int64_t n, uint32_t first, int64_t *count, tarn_error *err);

/* n values of a flat or VIEW vector: rows[0 .. n), or begin .. begin + n when rows is NULL. None is
 * null. Errors: INVALID (a value that the physical type cannot hold), NOMEM, LIMIT (budget). */
TN_CHECKED tarn_status tn_pq_values_make(tn_pq_scratch *scratch, const tn_pq_write_node *leaf,
                                         const tn_vec *source, int64_t begin, const uint32_t *rows,
                                         int64_t n, const void **out, tarn_error *err);

#endif
