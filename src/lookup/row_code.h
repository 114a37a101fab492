/* row_code.h - rows as bytes, value behind value, and back into vectors. Internal.
 *
 *   value    BIT: u8   fixed layouts: their bytes   BYTES: u32 length, bytes
 *            LIST: u32 count, elements   FIXED_LIST: its elements   STRUCT: its children
 *   element, child and column: u8 (1: there is a value), then the value unless it is null
 *   key      values of the key columns, without the u8: equal keys have equal bytes
 *
 * For files of this process alone: they are never read by another one, and have no version. Depth
 * of recursion: that of a type (TN_MAX_TYPE_DEPTH).
 */
#ifndef TN_LOOKUP_ROW_CODE_H
#define TN_LOOKUP_ROW_CODE_H

#include "column/vector.h"

/* Append row `row` of a vector that is flat or of layout BYTES, as a column. */
TN_CHECKED tarn_status tn_row_put(tn_buf *out, const tn_vec *vec, int64_t row, tarn_error *err);
/* The same as a part of a key; the value is not null. All NaN are one. */
TN_CHECKED tarn_status tn_row_put_key(tn_buf *out, const tn_vec *vec, int64_t row, tarn_error *err);

typedef struct tn_row_cursor {
  const uint8_t *at, *end;
} tn_row_cursor;

/* Make an initialised vector ready to take about n rows. */
TN_CHECKED tarn_status tn_row_vec_begin(tarn_env *env, int64_t n, tn_vec *vec, tarn_error *err);
/* Append the next value to it; is_key: it has no u8 in front. Errors: CORRUPT (bytes that end
 * early), LIMIT (2 GiB in one column), NOMEM. */
TN_CHECKED tarn_status tn_row_take(tarn_env *env, tn_row_cursor *from, bool is_key, tn_vec *out,
                                   tarn_error *err);
/* Step over it; the vector only tells the type. */
TN_CHECKED tarn_status tn_row_skip(tn_row_cursor *from, bool is_key, const tn_vec *vec,
                                   tarn_error *err);
/* All rows are there. */
TN_CHECKED tarn_status tn_row_vec_end(tarn_env *env, tn_vec *vec, tarn_error *err);

#endif
