/* row_sorter.h - rows in the order of their keys, of any number: what does not fit the memory is
 * sorted in parts on disk, and merged. For this room only.
 *
 * Rows of equal keys keep the order in which they came. One thread at a time.
 */
#ifndef TN_DEDICATED_ROW_SORTER_H
#define TN_DEDICATED_ROW_SORTER_H

#include "dedicated/order_key.h"

typedef struct tn_row_sorter tn_row_sorter;

typedef struct tn_row_sorter_setup {
  const tn_field *fields; /* borrowed */
  int32_t n_fields;
  const int32_t *columns; /* borrowed */
  int32_t n_columns;
  tn_order_kind kind;
  int64_t max_bytes;        /* of rows in memory */
  const char *spill_folder; /* NULL: more rows than that are LIMIT */
  const tarn_cancel *cancel;
} tn_row_sorter_setup;

TN_CHECKED tarn_status tn_row_sorter_create(tarn_env *env, const tn_row_sorter_setup *setup,
                                            tn_row_sorter **out, tarn_error *err);
void tn_row_sorter_free(tn_row_sorter *sorter); /* accepts NULL */
/* Takes the columns of the batch, which is empty then, on failure too. */
TN_CHECKED tarn_status tn_row_sorter_add(tn_row_sorter *sorter, tn_batch *batch, tarn_error *err);
/* Give all rows in order, in batches that are borrowed for the call. Once. */
TN_CHECKED tarn_status tn_row_sorter_give(tn_row_sorter *sorter,
                                          tarn_status (*take)(void *ctx, const tn_batch *batch,
                                                              tarn_error *err),
                                          void *ctx, tarn_error *err);

#endif
