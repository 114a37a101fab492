/* read.h - rows of splits.
 *
 * One split reader gives the rows of one split, raw or merged, exactly filtered. A read joins the
 * split readers of a plan: with more than one thread it works ahead on the pool between its first
 * next() and its release. Batches keep their order within a split; splits may come in any order.
 *
 * Rule: org.apache.paimon.operation.{MergeFileSplitRead,RawFileSplitRead}; spec: read.
 */
#ifndef TN_READ_READ_H
#define TN_READ_READ_H

#include "plan/plan.h"

typedef struct tn_read_options {
  tn_table *table;
  const tn_field *fields; /* output columns, of the table's schema; borrowed until it is freed */
  int32_t n_fields;
  const tn_pred *predicate; /* every row given satisfies it; NULL: none; borrowed likewise */
  int64_t limit;            /* the most rows of the whole read; -1: none */
  bool with_row_kind;       /* a first column _row_kind (int8); retractions are kept then only if
                               keeps_deletes */
  bool keeps_deletes;
  int64_t batch_rows; /* the most rows of a batch; 0: 8192. At most 262144 are given */
  const tarn_cancel *cancel;
} tn_read_options;

typedef struct tn_read tn_read;

/* splits: retained through their plans; of several tables where they are of several branches (the
 * columns of the options then go by their places). Of streaming splits all row kinds are given with
 * with_row_kind, else no retractions. Errors: UNSUPPORTED (table kinds by name; splits of a
 * streaming read with files before and after). */
TN_CHECKED tarn_status tn_read_create(tarn_env *env, const tn_read_options *options,
                                      const tn_split *const *splits, int32_t n_splits,
                                      tn_read **out, tarn_error *err);
/* The next batch, flat; n_rows == 0: the end. After a failure every call fails alike. Types
 * and fields of a batch are those of the options and, for _row_kind, of the read: it is given up
 * before them. Errors: NOT_FOUND (a file is gone), CORRUPT, INVALID (a value that cannot be cast;
 * retractions in a first-row table), UNSUPPORTED (file formats), CANCELLED, LIMIT, IO, NOMEM. */
TN_CHECKED tarn_status tn_read_next(tn_read *read, tn_batch *out, tarn_error *err);
void tn_read_free(tn_read *read); /* waits for what works ahead */

#endif
