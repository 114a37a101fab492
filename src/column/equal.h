/* equal.h - are the values of two rows the same, whatever their type; and a hash that goes with it.
 *
 * Same means what Java's equals() of the boxed value means, at every depth: two nulls are the same;
 * FLOAT and DOUBLE as Double.equals (NaN is itself, -0.0 is not 0.0); bytes by content; lists in
 * order; ROWs field by field. MAP and MULTISET are sets of entries: their order does not count.
 * Rule: org.apache.paimon.utils.InternalRowUtils.equals.
 */
#ifndef TN_COLUMN_EQUAL_H
#define TN_COLUMN_EQUAL_H

#include "column/vector.h"

/* *is_equal: is row i of a the same value as row k of b? The vectors have the same type and any
 * encoding. mem is used for maps whose entries lie in another order only. Errors: NOMEM. */
TN_CHECKED tarn_status tn_vec_rows_equal(tn_mem *mem, const tn_vec *a, int64_t i, const tn_vec *b,
                                         int64_t k, bool *is_equal, tarn_error *err);
/* Same values have the same hash. For tables in memory only, never written. */
uint64_t tn_vec_row_hash(const tn_vec *vec, int64_t row);
/* The hash of a sequence of values: h = tn_hash_join(h, hash of the next), from 0. */
uint64_t tn_hash_join(uint64_t h, uint64_t next);

#endif
