/* diff_reader.h - what differs between two states of a bucket. Internal.
 *
 * Both states are merged, each by itself, and walked side by side in the order of their keys:
 *
 *   before   after             given
 *   -        a row             the row, unless it is a retraction and deletes are not kept
 *   a row    -                 -D of it when deletes are kept, else nothing
 *   a row    the same          nothing
 *   a row    another           the row after
 *
 * Rows are the same when all columns of the table are, whatever is asked for, and both add or both
 * retract; their BinaryRows would have the same bytes, so entries of maps count in their order,
 * unless all files are Avro. The predicate is tested on the rows that are given; only its key part
 * is used before.
 *
 * Rule: org.apache.paimon.table.source.splitread.IncrementalDiffSplitRead. Spec: read, 3.
 */
#ifndef TN_READ_DIFF_READER_H
#define TN_READ_DIFF_READER_H

#include "read/split_reader.h"

/* split: an incremental one of a table with a primary key; borrowed. */
TN_CHECKED tarn_status tn_diff_split_read(const tn_read_context *context, const tn_split *split,
                                          tn_split_reader **out, tarn_error *err);

#endif
