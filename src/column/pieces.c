/* pieces.c - batches that are collected and gathered into one. */
#include "column/pieces.h"

tarn_status tn_pieces_add(tn_pieces *pieces, tarn_env *env, tn_batch *batch, tarn_error *err) {
  if (pieces->count == pieces->capacity) {
    int32_t capacity = pieces->capacity == 0 ? 8 : pieces->capacity * 2;
    tn_batch *items = tn_realloc(&env->mem, pieces->items, (size_t)capacity * sizeof(*items));
    if (items == NULL) {
      return tn_oom(err);
    }
    pieces->items = items;
    pieces->capacity = capacity;
  }
  pieces->n_rows += batch->n_rows;
  tn_batch_move(&pieces->items[pieces->count++], batch);
  return TARN_OK;
}

tarn_status tn_pieces_join(const tn_pieces *pieces, tarn_env *env, const tn_field *fields,
                           int32_t n_fields, tn_batch *out, tarn_error *err) {
  const tn_vec **vecs = tn_calloc(&env->mem, (size_t)pieces->count, sizeof(*vecs));
  tn_row_ref *refs = tn_calloc(&env->mem, (size_t)pieces->n_rows, sizeof(*refs));
  int64_t n = 0;
  tarn_status st = TARN_OK;
  memset(out, 0, sizeof(*out));
  if (vecs == NULL || refs == NULL) {
    st = tn_oom(err);
    goto done;
  }
  for (int32_t i = 0; i < pieces->count; i++) {
    for (int64_t row = 0; row < pieces->items[i].n_rows; row++) {
      refs[n++] = (tn_row_ref){(uint32_t)i, (uint32_t)row};
    }
  }
  TN_TRY_TO(done, tn_batch_init(env, fields, n_fields, out, err));
  for (int32_t c = 0; c < n_fields && st == TARN_OK; c++) {
    for (int32_t i = 0; i < pieces->count; i++) {
      vecs[i] = &pieces->items[i].columns[c];
    }
    st = tn_vec_gather(env, &fields[c].type, vecs, pieces->count, refs, n, &out->columns[c], err);
  }
  out->n_rows = n;
  if (st != TARN_OK) {
    tn_batch_reset(env, out);
  }
done:
  tn_free(&env->mem, (void *)vecs);
  tn_free(&env->mem, refs);
  return st;
}

void tn_pieces_clear(tn_pieces *pieces, tarn_env *env) {
  for (int32_t i = 0; i < pieces->count; i++) {
    tn_batch_reset(env, &pieces->items[i]);
  }
  pieces->count = 0;
  pieces->n_rows = 0;
}

void tn_pieces_reset(tn_pieces *pieces, tarn_env *env) {
  tn_pieces_clear(pieces, env);
  if (pieces->items != NULL) {
    tn_free(&env->mem, pieces->items);
  }
  memset(pieces, 0, sizeof(*pieces));
}
