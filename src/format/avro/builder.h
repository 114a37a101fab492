/* builder.h - the columns of a batch while Avro rows are decoded into them.
 *
 * A builder mirrors the vector that will take its buffers: nested ones have children. Between
 * batches it is empty. One thread at a time.
 */
#ifndef TN_FORMAT_AVRO_BUILDER_H
#define TN_FORMAT_AVRO_BUILDER_H

#include "column/vector.h"

typedef struct tn_avro_column {
  const tn_type *type;
  const char *name; /* of the top-level column, for messages */
  tn_layout layout;
  bool is_missing;       /* the file has no such field: all null */
  bool is_required;      /* keys and entries of maps */
  tn_i128 decimal_bound; /* DECIMAL: no value has this size; see builder.c */
  int64_t length, capacity, null_count;
  tn_buffer *valid, *offsets, *values; /* valid: NULL until the first null */
  size_t n_bytes;                      /* BYTES: used of values */
  int64_t hint_rows;                   /* what the last batch took, for nested columns */
  size_t hint_bytes;                   /* and for BYTES */
  int32_t n_children;
  struct tn_avro_column *children;
} tn_avro_column;

/* What all builders of a batch share. A call that gives false or fails sets st and err. */
typedef struct tn_avro_build {
  tarn_env *env;
  int64_t weight; /* about the bytes of the batch so far */
  tarn_status st;
  tarn_error *err;
} tn_avro_build;

/* An empty builder like `vec`, missing until somebody says otherwise; children are in the arena. */
TN_CHECKED tarn_status tn_avro_column_init(tn_arena *arena, const tn_vec *vec, const char *name,
                                           tn_avro_column *c, tarn_error *err);
/* Begin a batch: buffers for that many rows. */
TN_CHECKED tarn_status tn_avro_column_start(tn_avro_build *build, tn_avro_column *c, int64_t rows);
/* Give up the rows of a batch. */
void tn_avro_column_drop(tn_avro_column *columns, int32_t n);
/* The builder's `length` rows become those of `vec`, which was initialised with its type.
 * allows_const: a missing column may be a CONST vector. */
TN_CHECKED tarn_status tn_avro_column_finish(tn_avro_build *build, tn_avro_column *c,
                                             int64_t length, bool allows_const, tn_vec *vec);

/* Bytes that a row of these columns takes at least, nested values left out; counting ends at
 * `most`.
 */
int64_t tn_avro_column_width(const tn_avro_column *columns, int32_t n, int64_t most);

bool tn_avro_column_grow(tn_avro_build *build, tn_avro_column *c);
/* Room for one row more. */
static TN_ALWAYS_INLINE bool tn_avro_column_room(tn_avro_build *build, tn_avro_column *c) {
  return TN_LIKELY(c->length < c->capacity) || tn_avro_column_grow(build, c);
}
bool tn_avro_column_bytes(tn_avro_build *build, tn_avro_column *c, const void *bytes, size_t n);
bool tn_avro_column_null(tn_avro_build *build, tn_avro_column *c);

static inline int32_t *tn_avro_column_offsets(const tn_avro_column *c) {
  return (int32_t *)(void *)c->offsets->data;
}

#endif
