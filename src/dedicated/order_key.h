/* order_key.h - sort keys as bytes: rows in the order of their keys' unsigned bytes lie as a sort
 * compaction wants them. For this room only.
 *
 *   LINEAR   column after column; nulls first
 *   ZORDER   the bits of all columns in turn: rows that are near in every column lie near
 *   HILBERT  the place on a curve through all columns' values, without the jumps of ZORDER
 *
 * Rule: org.apache.paimon.sort.{zorder.ZIndexer,hilbert.HilbertIndexer}; spec: compaction, 14. The
 * curves need not be Java's bit for bit: no reader looks at them.
 */
#ifndef TN_DEDICATED_ORDER_KEY_H
#define TN_DEDICATED_ORDER_KEY_H

#include "base/buf.h"
#include "column/vector.h"
#include "dedicated/compact_table.h"

/* Most columns of a curve. */
#define TN_ORDER_MAX_COLUMNS 32

/* Can rows be sorted by these columns? Errors: INVALID (none, too many, a type without an order).
 */
TN_CHECKED tarn_status tn_order_check(const tn_field *fields, const int32_t *columns,
                                      int32_t n_columns, tn_order_kind kind, tarn_error *err);
/* The keys of all rows of a batch, one after the other, appended to bytes; ends[i]: where that of
 * row i ends, counted from the first one's begin. */
TN_CHECKED tarn_status tn_order_keys(const tn_batch *batch, const int32_t *columns,
                                     int32_t n_columns, tn_order_kind kind, tn_buf *bytes,
                                     int32_t *ends, tarn_error *err);

#endif
