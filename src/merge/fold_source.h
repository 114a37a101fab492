/* fold_source.h - the values of a column in the sources of a plan, made ready for tight loops.
 *
 * A loop is made twice: for sources that are all flat, and for any encoding. Internal to merge/.
 */
#ifndef TN_MERGE_FOLD_SOURCE_H
#define TN_MERGE_FOLD_SOURCE_H

#include "base/bytes.h"
#include "merge/fold.h"

typedef struct tn_fold_source {
  const void *values;   /* of the flat vector behind it (not of views) */
  const int32_t *codes; /* DICT; else NULL */
  const uint8_t *valid;
  uint32_t row_mask;   /* 0 for CONST: every row is row 0 */
  uint32_t valid_mask; /* 0 for CONST and without nulls */
} tn_fold_source;

#define TN_FOLD_FEW_SOURCES 32

typedef struct tn_fold_sources {
  tn_fold_source *items;
  tn_fold_source few[TN_FOLD_FEW_SOURCES];
  bool is_flat;   /* every source */
  bool has_nulls; /* any source */
} tn_fold_sources;

/* The struct must not be moved. Reset with tn_fold_sources_reset. */
TN_CHECKED tarn_status tn_fold_sources_resolve(const tn_fold_input *in, tn_fold_sources *out,
                                               tarn_error *err);
void tn_fold_sources_reset(const tn_fold_input *in, tn_fold_sources *sources);

static TN_ALWAYS_INLINE uint32_t tn_fold_row(const tn_fold_source *s, uint32_t row, bool is_flat) {
  if (!is_flat) {
    row &= s->row_mask;
    row = s->codes != NULL ? (uint32_t)s->codes[row] : row;
  }
  return row;
}

static TN_ALWAYS_INLINE bool tn_fold_is_valid(const tn_fold_source *s, uint32_t row) {
  return tn_bit_get(s->valid, row & s->valid_mask);
}

static inline tn_row_ref tn_fold_null(const tn_fold_input *in) {
  return (tn_row_ref){(uint32_t)in->n_sources, 0};
}

#endif
