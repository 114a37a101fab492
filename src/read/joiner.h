/* joiner.h - small batches put together. Internal.
 *
 * Selective filters and tables of many small files make batches of a few rows, and whoever receives
 * them pays for each. Batches of less than an eighth of the usual rows (and less than 1 MiB or the
 * 64th part of the budget) are kept until they make up a quarter of a batch; larger ones are handed
 * on as they are. The order of rows stays.
 */
#ifndef TN_READ_JOINER_H
#define TN_READ_JOINER_H

#include "column/pieces.h"

typedef struct tn_joiner {
  tarn_env *env;
  const tn_field *fields; /* of every batch; borrowed */
  int32_t n_fields;
  int64_t small_rows, small_bytes;
  tn_pieces pieces;
  int64_t n_bytes; /* of the pieces */
  tn_batch large;  /* came behind the pieces and waits for them to be taken */
} tn_joiner;

void tn_joiner_init(tn_joiner *joiner, tarn_env *env, const tn_field *fields, int32_t n_fields,
                    int64_t batch_rows);
void tn_joiner_reset(tn_joiner *joiner);

/* Take in a batch of at least one row, which is moved; on failure it is released. */
TN_CHECKED tarn_status tn_joiner_add(tn_joiner *joiner, tn_batch *batch, tarn_error *err);
/* Is a batch ready to be taken? While it is, nothing may be added. */
bool tn_joiner_is_ready(const tn_joiner *joiner);
/* The next batch, in order; n_rows == 0 when nothing is left. What is not ready is given, too: call
 * it at the end. */
TN_CHECKED tarn_status tn_joiner_take(tn_joiner *joiner, tn_batch *out, tarn_error *err);

#endif
