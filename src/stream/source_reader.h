/* source_reader.h - the rows of the splits that a reader of a stream was given, one split after the
 * other, with their kinds.
 *
 * Invariants
 *   R1  The splits it has, with the rows of the first that were given already, are all that a
 *       checkpoint of it holds.
 *   R2  Rows of a split always come in the same order, so that skipping the rows that were given
 *       goes on behind them: files do not change, and a split is read by itself.
 *   R3  Of an overwrite come first the rows of the files before, each as -D, then those after.
 *
 * One thread at a time. Rule: org.apache.paimon.flink.source.{FileStoreSourceReader,
 * FileStoreSourceSplitReader}, table.source.splitread.IncrementalChangelogReadProvider. Spec:
 * streaming-source, 4, 7.
 */
#ifndef TN_STREAM_SOURCE_READER_H
#define TN_STREAM_SOURCE_READER_H

#include "read/read.h"
#include "stream/source_split.h"

typedef struct tn_source_reader tn_source_reader;

/* options: of every split (limit: of all of them together); what it points to is borrowed. A first
 * column _row_kind is wanted wherever kinds matter. out: tn_source_reader_free(). */
TN_CHECKED tarn_status tn_source_reader_create(tarn_env *env, const tn_read_options *options,
                                               tn_source_reader **out, tarn_error *err);
void tn_source_reader_free(tn_source_reader *reader); /* accepts NULL; waits for what works ahead */

/* The splits it was given; whoever gives it more appends to this queue. */
tn_split_queue *tn_source_reader_splits(tn_source_reader *reader);

/* Where the rows of a batch come from. */
typedef struct tn_source_batch {
  int64_t snapshot_id;
  bool is_overwrite;  /* of an IncrementalSplit */
  int64_t first_row;  /* its number among the rows of the split */
  int64_t created_ms; /* of the oldest file, milliseconds since 1970; -1: not known */
  char split_id[TN_SPLIT_ID_BYTES];
} tn_source_batch;

/* The next rows; out->n_rows == 0: all splits are through, or the limit is reached. *finished
 * counts the splits that were finished by this call: they are the first ones that it had. Errors:
 * as tn_read_next(); CORRUPT (a split has fewer rows than were skipped). After CANCELLED it may be
 * called again: it goes on behind the rows that were given. */
TN_CHECKED tarn_status tn_source_reader_next(tn_source_reader *reader, tn_batch *out,
                                             tn_source_batch *where, int64_t *finished,
                                             tarn_error *err);
/* Of the rows that were given the last n, of the split being read, wait for those behind them: a
 * checkpoint has them as not given. */
void tn_source_reader_hold(tn_source_reader *reader, int64_t n);
/* The n rows of the last call count as not given: they come again. */
void tn_source_reader_take_back(tn_source_reader *reader, int64_t n);
/* Has the limit been reached? */
bool tn_source_reader_is_full(const tn_source_reader *reader);
/* The latest snapshot of which a split was finished; false: none yet. */
bool tn_source_reader_consumed(const tn_source_reader *reader, int64_t *out);

/* Append its bytes: pending splits, the first with the rows that were given. */
TN_CHECKED tarn_status tn_source_reader_checkpoint(tn_source_reader *reader, tn_buf *out,
                                                   tarn_error *err);

#endif
