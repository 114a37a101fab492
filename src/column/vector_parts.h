/* vector_parts.h - what the files that make vectors share. Internal to column/. */
#ifndef TN_COLUMN_VECTOR_PARTS_H
#define TN_COLUMN_VECTOR_PARTS_H

#include "column/vector.h"

/* tn_vec_init() with a layout that the type alone does not tell: the child of a MAP vector has the
 * type of the MAP and the layout STRUCT. */
TN_CHECKED tarn_status tn_vec_init_as(tarn_env *env, const tn_type *type, tn_layout layout,
                                      tn_vec *vec, tarn_error *err);

/* Point the short cuts (valid, offsets, values) at the buffers. */
static inline void tn_vec_set_pointers(tn_vec *vec) {
  vec->valid = vec->valid_buffer != NULL ? vec->valid_buffer->data : NULL;
  vec->offsets = vec->offsets_buffer != NULL ? (int32_t *)(void *)vec->offsets_buffer->data : NULL;
  vec->values = vec->values_buffer != NULL ? vec->values_buffer->data : NULL;
}

#endif
