/* predicate_internal.h - what the predicate files share among themselves. */
#ifndef TN_COLUMN_PREDICATE_INTERNAL_H
#define TN_COLUMN_PREDICATE_INTERNAL_H

#include "column/predicate.h"

static inline bool tn_pred_is_compound(const tn_pred *pred) {
  return pred->op == TN_PRED_AND || pred->op == TN_PRED_OR;
}
static inline bool tn_pred_is_constant(const tn_pred *pred) {
  return pred->op == TN_PRED_TRUE || pred->op == TN_PRED_FALSE;
}

/* Is the value among the sorted literals of an IN or NOT_IN leaf? */
bool tn_pred_literals_have(const tn_pred *leaf, const tn_datum *value);

/* ------------------------------------------------------------------ LIKE */

/* A checked pattern. `%`: any text; `_`: one character that ends no line. */
bool tn_like_match(tn_slice pattern, tn_slice text);
/* ------------------------------------------------------------------ columns */

/* A column by its top-level name and names of nested fields; errors as tn_pred_column_find(). */
TN_CHECKED tarn_status tn_pred_column_find_path(tn_arena *arena, const tn_field *fields,
                                                int32_t n_fields, const tn_slice *names,
                                                int32_t n_names, tn_pred_column *out,
                                                tarn_error *err);

#endif
