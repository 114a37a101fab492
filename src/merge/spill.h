/* spill.h - rows that wait on disk: sorted runs, written once, read back bucket by bucket.
 *
 * Owner: whoever creates a tn_spill owns its runs; they and their folder (a new one of its own in
 * `folder`, on the local file system) are removed with it. A writer of rows, and each reader of
 * rows, ends before its tn_spill. Threads: one tn_spill is one thread's.
 *
 * Errors: IO, NOMEM, CORRUPT (a file that is not as it was written), LIMIT (a batch of more than 1
 * GiB).
 */
#ifndef TN_MERGE_SPILL_H
#define TN_MERGE_SPILL_H

#include "base/env.h"
#include "column/vector.h"

typedef struct tn_spill tn_spill;           /* all runs of a writer */
typedef struct tn_spill_run tn_spill_run;   /* a run that is written */
typedef struct tn_spill_rows tn_spill_rows; /* rows of one bucket that are read */

/* fields (borrowed): the columns of all rows; each may have a sequence number and a kind, too. */
TN_CHECKED tarn_status tn_spill_create(tarn_env *env, const char *folder, const tn_field *fields,
                                       int32_t n_fields, tn_spill **out, tarn_error *err);
void tn_spill_free(tn_spill *spill); /* accepts NULL; removes all files */
int32_t tn_spill_runs(const tn_spill *spill);
int64_t tn_spill_bytes(const tn_spill *spill); /* on disk now */
/* A new run. Buckets come in ascending numbers, their rows in order. sequences, kinds: of the rows;
 * NULL: they have none. */
TN_CHECKED tarn_status tn_spill_begin(tn_spill *spill, tn_spill_run **out, tarn_error *err);
TN_CHECKED tarn_status tn_spill_add(tn_spill_run *run, uint32_t bucket, const tn_batch *batch,
                                    const int64_t *sequences, const int8_t *kinds, tarn_error *err);
/* It can be read now; it is freed, after a failure too. */
TN_CHECKED tarn_status tn_spill_end(tn_spill_run *run, tarn_error *err);
void tn_spill_abandon(tn_spill_run *run); /* accepts NULL */
/* The rows of a bucket in run i (runs are numbered as they ended); *out NULL: it has none there. */
TN_CHECKED tarn_status tn_spill_open(tn_spill *spill, int32_t i, uint32_t bucket,
                                     tn_spill_rows **out, tarn_error *err);
/* The next batch as it was added; batch (initialised or cleared), buffers of the caller. n_rows ==
 * 0: the end. */
TN_CHECKED tarn_status tn_spill_next(tn_spill_rows *rows, tn_batch *batch, tn_buffer **sequences,
                                     tn_buffer **kinds, tarn_error *err);
void tn_spill_close(tn_spill_rows *rows); /* accepts NULL */
/* Remove all runs. */
TN_CHECKED tarn_status tn_spill_clear(tn_spill *spill, tarn_error *err);

#endif
