/* joiner.c - pieces kept until they are worth a batch, then gathered into one. */
#include "read/joiner.h"

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
  if (joiner->env != NULL) {
    tn_pieces_reset(&joiner->pieces, joiner->env);
    tn_batch_reset(joiner->env, &joiner->large);
  }
  memset(joiner, 0, sizeof(*joiner));
}

tarn_status tn_joiner_add(tn_joiner *joiner, tn_batch *batch, tarn_error *err) {
  if (batch->n_rows < joiner->small_rows) {
    int64_t n_bytes = tn_batch_bytes(batch);
    if (n_bytes < joiner->small_bytes) {
      tarn_status st = tn_pieces_add(&joiner->pieces, joiner->env, batch, err);
      joiner->n_bytes += n_bytes;
      tn_batch_reset(joiner->env, batch);
      return st;
    }
  }
  tn_batch_move(&joiner->large, batch);
  return TARN_OK;
}

bool tn_joiner_is_ready(const tn_joiner *joiner) {
  return joiner->large.n_rows > 0 ||
         (joiner->pieces.count > 0 && (joiner->pieces.n_rows >= 2 * joiner->small_rows ||
                                       joiner->n_bytes >= joiner->small_bytes));
}

tarn_status tn_joiner_take(tn_joiner *joiner, tn_batch *out, tarn_error *err) {
  memset(out, 0, sizeof(*out));
  if (joiner->pieces.count == 0) {
    tn_batch_move(out, &joiner->large);
    return TARN_OK;
  }
  if (joiner->pieces.count == 1) {
    tn_batch_move(out, &joiner->pieces.items[0]);
  } else {
    TN_TRY(
        tn_pieces_join(&joiner->pieces, joiner->env, joiner->fields, joiner->n_fields, out, err));
  }
  tn_pieces_clear(&joiner->pieces, joiner->env);
  joiner->n_bytes = 0;
  return TARN_OK;
}
