/* fold_bytes.h - what the functions of stored sets (bitmaps, sketches) share. Internal to merge/.
 *
 * Nulls are skipped, the first value is the accumulator as it is; only where a second one comes are
 * both read, united and written at the end.
 */
#ifndef TN_MERGE_FOLD_BYTES_H
#define TN_MERGE_FOLD_BYTES_H

#include "base/buf.h"
#include "merge/fold.h"

/* A set in memory: `state`, of n_bytes, all zero at first. Values outlive the fold. */
typedef struct tn_stored_set_ops {
  const char *what; /* for messages */
  size_t n_bytes;
  /* The set becomes the stored one. Errors: CORRUPT, UNSUPPORTED, NOMEM. */
  tarn_status (*load)(void *state, tarn_env *env, tn_slice value, tarn_error *err);
  /* The set becomes agg(set, value), or reversed agg(value, set). */
  tarn_status (*unite)(void *state, tarn_env *env, tn_slice value, bool is_reversed,
                       tarn_error *err);
  tarn_status (*store)(void *state, tn_buf *out, tarn_error *err);
  void (*reset)(void *state, tarn_env *env);
} tn_stored_set_ops;

TN_CHECKED tarn_status tn_fold_stored_sets(const tn_fold_input *in, const tn_fold_steps *steps,
                                           const tn_stored_set_ops *ops, tn_vec *out,
                                           tarn_error *err);
/* INVALID unless the column is VARBINARY; `what` as in Java's message. */
TN_CHECKED tarn_status tn_fold_check_varbinary(const tn_fold_spec *spec, const char *what,
                                               tarn_error *err);

#endif
