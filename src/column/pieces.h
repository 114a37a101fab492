/* pieces.h - batches of the same columns that are collected and made one. */
#ifndef TN_COLUMN_PIECES_H
#define TN_COLUMN_PIECES_H

#include "column/vector.h"

/* All zero: none. */
typedef struct tn_pieces {
  tn_batch *items;
  int32_t count, capacity;
  int64_t n_rows; /* of all */
} tn_pieces;

/* Take a batch, which becomes all zero; on failure it stays the caller's. */
TN_CHECKED tarn_status tn_pieces_add(tn_pieces *pieces, tarn_env *env, tn_batch *batch,
                                     tarn_error *err);
/* Their rows one behind the other, into raw memory. The fields are those of all pieces. */
TN_CHECKED tarn_status tn_pieces_join(const tn_pieces *pieces, tarn_env *env,
                                      const tn_field *fields, int32_t n_fields, tn_batch *out,
                                      tarn_error *err);
/* Drop the batches, but keep the room for them. */
void tn_pieces_clear(tn_pieces *pieces, tarn_env *env);
void tn_pieces_reset(tn_pieces *pieces, tarn_env *env);

#endif
