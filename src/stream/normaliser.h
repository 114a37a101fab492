/* normaliser.h - upserts made a complete changelog: the last row of each key is kept.
 *
 *   comes      key unknown      key known
 *   +I, +U     +I               -U of the row before, +U; nothing when both are the same (unless
 *                               keeps_unchanged)
 *   -U, -D     nothing          -D, with all values of the row before; nothing when it was kept at
 *                               another place (places): partitions of one commit come in any order
 *
 * Rows are the same when the bytes of their values are (row_code.h). Columns that tell of the
 * change rather than of the row (is_passed) take no part: both rows of an update have those that
 * came with the change.
 *
 * The kept rows are files of lookup/row_code.h: who changes that code raises NORMALISER_LAYOUT.
 *
 * Rule: org.apache.flink.table.runtime.operators.deduplicate.DeduplicateFunctionHelper
 * #processLastRowOnChangelog, which Flink's ChangelogNormalize is. Spec: streaming-source, 13.
 */
#ifndef TN_STREAM_NORMALISER_H
#define TN_STREAM_NORMALISER_H

#include "column/vector.h"
#include "stream/row_store.h"

typedef struct tn_normaliser tn_normaliser; /* one thread at a time */

typedef struct tn_normaliser_options {
  const tn_field *fields; /* the row kind (TINYINT), then the columns; borrowed */
  int32_t n_fields;
  const int32_t *keys; /* of the fields, n_keys > 0 */
  int32_t n_keys;
  const int32_t *places; /* of the fields, n_places, none of them passed */
  int32_t n_places;
  const bool *is_passed; /* n_fields; NULL: none */
  bool keeps_unchanged;
  tn_row_store_options store; /* but for its layout */
} tn_normaliser_options;

/* out: tn_normaliser_free(). Errors: INVALID (a key or a place that is passed), NOMEM. */
TN_CHECKED tarn_status tn_normaliser_create(tarn_env *env, const tn_normaliser_options *options,
                                            tn_normaliser **out, tarn_error *err);
void tn_normaliser_free(tn_normaliser *normaliser); /* accepts NULL */

/* The changes that rows make. kinds: n_rows of them; rows: the columns without the kind, made flat.
 * out: raw memory; a batch of the fields, perhaps without rows. Errors: INVALID (a null in the key,
 * an unknown kind), LIMIT, IO, NOMEM; the normaliser is then only to be freed. */
TN_CHECKED tarn_status tn_normaliser_apply(tn_normaliser *normaliser, const int8_t *kinds,
                                           tn_batch *rows, tn_batch *out, tarn_error *err);

/* What it gave was lost: it is as after a failure. */
void tn_normaliser_break(tn_normaliser *normaliser);
/* Append the bytes of a checkpoint. Errors: STATE (a call failed before, or rows are temporary). */
TN_CHECKED tarn_status tn_normaliser_checkpoint(tn_normaliser *normaliser, tn_buf *out,
                                                tarn_error *err);
/* The rows by key: to restore, to complete checkpoints, to count. */
tn_row_store *tn_normaliser_store(tn_normaliser *normaliser);

#endif
