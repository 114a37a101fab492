/* joiner.c - pieces kept until they are worth a batch, then gathered into one. */
#include "read/joiner.h"

#include <string.h>

#include "read/split_reader.h"

void tn_joiner_init(tn_joiner *joiner, tarn_env *env, const tn_field *fields, int32_t n_fields,
                    int64_t batch_rows) {
  memset(joiner, 0, sizeof(*joiner));
  joiner->env = env;
  joiner->fields = fields;
  joiner->n_fields = n_fields;
  joiner->small_rows = batch_rows / 8;
  joiner->small_bytes = (int64_t)(env->mem.budget_bytes / 64);
  joiner->small_bytes = joiner->small_bytes < 1 << 20 ? joiner->small_bytes : 1 << 20;
}

void tn_joiner_reset(tn_joiner *joiner) {
  for (int32_t i = 0; i < joiner->n_pieces; i++) {
    tn_batch_reset(joiner->env, &joiner->pieces[i]);
  }
  if (joiner->env != NULL) {
    tn_batch_reset(joiner->env, &joiner->large);
    tn_free(&joiner->env->mem, joiner->pieces);
  }
  memset(joiner, 0, sizeof(*joiner));
}

static tarn_status add_piece(tn_joiner *joiner, tn_batch *batch, int64_t n_bytes, tarn_error *err) {
  if (joiner->n_pieces == joiner->capacity) {
    int32_t capacity = joiner->capacity == 0 ? 16 : joiner->capacity * 2;
    tn_batch *pieces =
        tn_realloc(&joiner->env->mem, joiner->pieces, (size_t)capacity * sizeof(*pieces));
    if (pieces == NULL) {
      tn_batch_reset(joiner->env, batch);
      return tn_oom(err);
    }
    joiner->pieces = pieces;
    joiner->capacity = capacity;
  }
  joiner->n_rows += batch->n_rows;
  joiner->n_bytes += n_bytes;
  tn_batch_move(&joiner->pieces[joiner->n_pieces++], batch);
  return TARN_OK;
}

tarn_status tn_joiner_add(tn_joiner *joiner, tn_batch *batch, tarn_error *err) {
  if (batch->n_rows < joiner->small_rows) {
    int64_t n_bytes = tn_batch_bytes(batch);
    if (n_bytes < joiner->small_bytes) {
      return add_piece(joiner, batch, n_bytes, err);
    }
  }
  tn_batch_move(&joiner->large, batch);
  return TARN_OK;
}

bool tn_joiner_is_ready(const tn_joiner *joiner) {
  return joiner->large.n_rows > 0 ||
         (joiner->n_pieces > 0 &&
          (joiner->n_rows >= 2 * joiner->small_rows || joiner->n_bytes >= joiner->small_bytes));
}

/* All pieces as one batch. */
static tarn_status join_pieces(tn_joiner *joiner, tn_batch *out, tarn_error *err) {
  tarn_env *env = joiner->env;
  const tn_vec **vecs = tn_calloc(&env->mem, (size_t)joiner->n_pieces, sizeof(*vecs));
  tn_row_ref *refs = tn_alloc(&env->mem, (size_t)joiner->n_rows * sizeof(*refs));
  int64_t n = 0;
  tarn_status st = TARN_OK;
  if (vecs == NULL || refs == NULL) {
    st = tn_oom(err);
    goto done;
  }
  for (int32_t i = 0; i < joiner->n_pieces; i++) {
    for (int64_t row = 0; row < joiner->pieces[i].n_rows; row++) {
      refs[n++] = (tn_row_ref){(uint32_t)i, (uint32_t)row};
    }
  }
  TN_TRY_TO(done, tn_batch_init(env, joiner->fields, joiner->n_fields, out, err));
  for (int32_t c = 0; c < joiner->n_fields && st == TARN_OK; c++) {
    for (int32_t i = 0; i < joiner->n_pieces; i++) {
      vecs[i] = &joiner->pieces[i].columns[c];
    }
    st = tn_vec_gather(env, &joiner->fields[c].type, vecs, joiner->n_pieces, refs, n,
                       &out->columns[c], err);
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

tarn_status tn_joiner_take(tn_joiner *joiner, tn_batch *out, tarn_error *err) {
  memset(out, 0, sizeof(*out));
  if (joiner->n_pieces == 0) {
    tn_batch_move(out, &joiner->large);
    return TARN_OK;
  }
  if (joiner->n_pieces == 1) {
    tn_batch_move(out, &joiner->pieces[0]);
  } else {
    TN_TRY(join_pieces(joiner, out, err));
  }
  for (int32_t i = 0; i < joiner->n_pieces; i++) {
    tn_batch_reset(joiner->env, &joiner->pieces[i]);
  }
  joiner->n_pieces = 0;
  joiner->n_rows = 0;
  joiner->n_bytes = 0;
  return TARN_OK;
}
