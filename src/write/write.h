/* write.h - rows in, files of partitions and buckets out, told as commit messages.
 *
 *   batch -> checks, defaults, row kinds -> partition and bucket of each row
 *         -> append tables with few open buckets: straight to rolling files
 *         -> else: rows wait -> sorted and merged (primary key) -> files of level 0
 *
 * Invariants
 *   WR1  Rows of one bucket keep the order in which they came: it decides between equal keys.
 *   WR2  A bucket starts from the newest files that it has in the latest snapshot when its first
 *        row comes: sequence numbers go on behind their largest, its bucket count must be theirs.
 *   WR3  What prepare() gave is the caller's; all other files are removed when the writer ends.
 *   WR4  One memory budget over all buckets (write-buffer-size, and half of the environment's):
 *        without room rows go to a spilled run, or the largest buckets to files of level 0.
 *   WR5  A batch that is refused leaves nothing: checks come before any row is taken in.
 *   WR6  Compactions run beside the writer, of each bucket one at a time. What they did is told
 *        with a later prepare, as a part of its own. One that fails leaves no file, and fails the
 *        writer; one whose files others have compacted away, until they expired, is made again
 *        from the latest snapshot.
 *
 * Rule: org.apache.paimon.operation.{AbstractFileStoreWrite,KeyValueFileStoreWrite,
 * AppendFileStoreWrite}, mergetree.MergeTreeWriter, mergetree.SortBufferWriteBuffer,
 * append.AppendOnlyWriter; spec: write-path, 1-10.
 */
#ifndef TN_WRITE_WRITE_H
#define TN_WRITE_WRITE_H

#include "base/cancel.h"
#include "column/vector.h"
#include "model/commit_message.h"
#include "model/table.h"

typedef struct tn_table_write_options {
  const char *user;       /* of the commits; copied */
  bool keeps_nulls;       /* no defaults in place of nulls: rows that were there before */
  bool ignores_previous;  /* for an overwrite: sequence 0, the table's own bucket count */
  const int32_t *columns; /* row tracking: only these columns of the table; NULL: all. Copied */
  int32_t n_columns;
  int64_t first_row_id;       /* with columns */
  const char *spill_folder;   /* on the local file system; NULL: no spilling. Copied */
  bool compacts;              /* unless the table is write-only */
  bool waits;                 /* prepare() waits for compactions, whatever the table says */
  bool skips_full_compaction; /* only a table that says full-compaction.delta-commits gets them */
  const tarn_cancel *cancel;  /* NULL: none */
} tn_table_write_options;

typedef struct tn_write tn_write; /* one thread at a time */

/* What compactions did, since the writer was made. Rule: compact.CompactionMetrics. */
typedef struct tn_compact_counts {
  int64_t n_started, n_completed; /* well or not */
  int64_t n_waiting, n_running;   /* now: queued, and on a thread */
  int64_t ms;                     /* that those took that are completed */
  int64_t bytes_in, bytes_out;    /* of those that went well */
  int64_t max_bytes_in, max_bytes_out;
} tn_compact_counts;

typedef struct tn_write_stats {
  int64_t n_rows, n_files, n_bytes, n_spilled_bytes;
  int64_t n_preempted;            /* times that rows had to make room for others */
  int64_t n_buckets;              /* that are open now */
  int64_t held_bytes, room_bytes; /* rows that wait now, and the most that they may take */
  tn_compact_counts compactions;
  int64_t n_trees, n_level_0, max_level_0; /* buckets that are compacted; their files of level 0 */
} tn_write_stats;

/* Errors: UNSUPPORTED (kinds of tables and options, by name), INVALID (default values). */
TN_CHECKED tarn_status tn_write_create(tn_table *table, const tn_table_write_options *options,
                                       tn_write **out, tarn_error *err);
/* The columns that tn_write_batch takes: those of the table, or options->columns. */
const tn_field *tn_write_fields(const tn_write *write, int32_t *n_fields);
/* Would tn_write_batch refuse these rows? first_row: the number of row 0 in messages. */
TN_CHECKED tarn_status tn_write_check(const tn_write *write, const tn_batch *batch,
                                      const int8_t *kinds, int64_t first_row, tarn_error *err);
/* What the values of a batch take in memory. */
size_t tn_write_batch_bytes(const tn_batch *batch);
/* Take in a batch of these columns, which stays the caller's; it may borrow memory
 * (column/arrow_import.h). kinds: a row kind each; NULL: +I.
 * Errors: INVALID naming row and column (null in NOT NULL, a kind that the table refuses), IO,
 * LIMIT, NOMEM, STATE (files of a newer schema, with another way to merge rows, tell changes or
 * find buckets: tn_table_check_alike); after those four the writer can only be freed. */
TN_CHECKED tarn_status tn_write_batch(tn_write *write, const tn_batch *batch, const int8_t *kinds,
                                      tarn_error *err);
/* Flush everything; the messages (arena of the caller) tell what has been written since the call
 * before, buckets without files are left out. identifier: as in TableWrite.prepareCommit. */
TN_CHECKED tarn_status tn_write_prepare(tn_write *write, int64_t identifier, tn_arena *arena,
                                        tn_commit_message **messages, int32_t *n_messages,
                                        tarn_error *err);
/* Flush everything, then compact: one bucket, or all that rows came for since the last prepare.
 * is_full: all files of a bucket into one level. The results are in the messages of the next
 * prepare. Nothing happens where a writer does not compact. */
TN_CHECKED tarn_status tn_write_compact(tn_write *write, tn_slice partition, int32_t bucket,
                                        bool is_full, tarn_error *err);
TN_CHECKED tarn_status tn_write_compact_all(tn_write *write, bool is_full, tarn_error *err);
/* Forget all buckets; they start anew from the latest snapshot. What was written since the last
 * prepare is dropped. Compactions that a commit has dropped are made again by the next prepare,
 * rows or not, where the table's readers would miss them (level 0 that is not seen, changelog). */
TN_CHECKED tarn_status tn_write_refresh(tn_write *write, tarn_error *err);
void tn_write_get_stats(const tn_write *write, tn_write_stats *out);
void tn_write_free(tn_write *write); /* accepts NULL */

#endif
