/* merger_output.c - output batches of a merger: gathering, row kinds, sizes.
 *
 * What does not fit one batch (bytes) stays in m->picked for the next call.
 */
#include <string.h>

#include "merge/merger_parts.h"

/* m->vecs = one column of all sources: of the key part, or of the value part. Sources without
 * survivors have no values; a neighbour's stand in for them, since no row refers to them. */
void tn_merger_column_of_sources(tn_merger *m, int32_t column) {
  const tn_vec *filler = NULL;
  for (uint32_t i = 0; i < m->n_sources; i++) {
    const source *s = m->sources[i];
    m->vecs[i] = column >= 0     ? &s->rows.keys.columns[column]
                 : s->has_values ? &s->values.columns[-1 - column]
                                 : filler;
    filler = m->vecs[i];
  }
  for (uint32_t i = m->n_sources; i-- > 0;) {
    m->vecs[i] = m->vecs[i] != NULL ? m->vecs[i] : filler;
    filler = m->vecs[i];
  }
}

/* Are the rows one range of one source? */
bool tn_merger_is_range(const tn_row_ref *refs, int64_t n) {
  if (refs[0].source != refs[n - 1].source || refs[n - 1].row - refs[0].row != n - 1) {
    return false;
  }
  for (int64_t i = 1; i < n; i++) {
    if (refs[i].source != refs[0].source) {
      return false;
    }
  }
  return true;
}

tarn_status tn_merger_copy(tn_merger *m, const tn_type *type, const tn_vec *const *vecs,
                           int32_t n_vecs, const tn_row_ref *refs, int64_t n, bool is_range,
                           tn_vec *out, tarn_error *err) {
  if (is_range) {
    const tn_vec *vec = vecs[refs[0].source];
    if (vec->encoding != TN_VEC_FLAT || vec->length != n) {
      return tn_vec_copy_range(m->env, vec, refs[0].row, n, out, err);
    }
    tn_vec_reset(m->env, out);
    return tn_vec_share(m->env, vec, out, err);
  }
  return tn_vec_gather(m->env, type, vecs, n_vecs, refs, n, out, err);
}

tarn_status tn_merger_gather(tn_merger *m, const tn_field *fields, const int32_t *columns,
                             int32_t n_columns, const tn_row_ref *refs, int64_t n, tn_batch *out,
                             tarn_error *err) {
  bool range = n > 0 && tn_merger_is_range(refs, n);
  tarn_status st;
  TN_TRY(tn_batch_init(m->env, fields, n_columns, out, err));
  for (int32_t c = 0; c < n_columns; c++) {
    tn_merger_column_of_sources(m, columns[c]);
    st = tn_merger_copy(m, &fields[c].type, m->vecs, (int32_t)m->n_sources, refs, n, range,
                        &out->columns[c], err);
    if (st != TARN_OK) {
      tn_batch_reset(m->env, out);
      return st;
    }
  }
  out->n_rows = n;
  out->first_position = -1;
  return TARN_OK;
}

static tarn_status gather_kinds(tn_merger *m, const tn_row_ref *refs, int64_t n, tn_buffer **out,
                                tarn_error *err) {
  TN_TRY(tn_buffer_create(m->env, n > 0 ? (size_t)n : 1, out, err));
  for (int64_t i = 0; i < n; i++) {
    const int8_t *kinds = m->source_rows[refs[i].source]->kinds;
    (*out)->data[i] = (uint8_t)(kinds != NULL ? kinds[refs[i].row] : (int8_t)TN_ROW_INSERT);
  }
  return TARN_OK;
}

static tarn_status gather_sequences(tn_merger *m, const tn_row_ref *refs, int64_t n,
                                    tn_buffer **out, tarn_error *err) {
  int64_t *to;
  TN_TRY(tn_buffer_create(m->env, n > 0 ? (size_t)n * sizeof(*to) : 1, out, err));
  to = (int64_t *)(void *)(*out)->data;
  for (int64_t i = 0; i < n; i++) {
    const tn_merge_rows *s = m->source_rows[refs[i].source];
    to[i] = s->sequences != NULL ? s->sequences[refs[i].row] : s->sequence;
  }
  return TARN_OK;
}

tarn_status tn_merger_gather_rows(tn_merger *m, const tn_row_ref *refs, int64_t n, tn_batch *out,
                                  tn_buffer **kinds, tn_buffer **sequences, tarn_error *err) {
  tarn_status st = TARN_OK;
  if (kinds != NULL) {
    TN_TRY_TO(fail, gather_kinds(m, refs, n, kinds, err));
  }
  if (sequences != NULL) {
    TN_TRY_TO(fail, gather_sequences(m, refs, n, sequences, err));
  }
  TN_TRY_TO(fail, tn_merger_gather(m, m->spec.out_fields, m->spec.out_columns,
                                   m->spec.n_out_columns, refs, n, out, err));
  return TARN_OK;
fail:
  if (kinds != NULL) {
    tn_buffer_release(*kinds);
    *kinds = NULL;
  }
  if (sequences != NULL) {
    tn_buffer_release(*sequences);
    *sequences = NULL;
  }
  return st;
}

bool tn_merger_has_variable_size(tn_layout layout) {
  return layout == TN_LAYOUT_BYTES || layout == TN_LAYOUT_LIST || layout == TN_LAYOUT_STRUCT;
}

/* As many of the next picked rows as keep the strings and lists of an output batch below
 * max_bytes. Not counted while the batch before was far from that: counting costs a pass. */
static int64_t rows_that_fit(tn_merger *m) {
  const tn_row_ref *refs = m->picked + m->picked_at;
  int64_t n = m->n_picked - m->picked_at;
  if (m->has_row_bytes && m->row_bytes < (int64_t)m->max_bytes / (8 * n)) {
    return n;
  }
  for (int32_t c = 0; c < m->spec.n_out_columns; c++) {
    if (tn_merger_has_variable_size(tn_type_layout(&m->spec.out_fields[c].type))) {
      tn_merger_column_of_sources(m, m->spec.out_columns[c]);
      while (n > 1 && tn_vec_gather_bytes(m->vecs, refs, n) > (int64_t)m->max_bytes) {
        n = (n + 1) / 2;
      }
    }
  }
  return n;
}

/* Of the widest column; what nests lists is unknown. */
void tn_merger_note_row_bytes(tn_merger *m, const tn_batch *batch) {
  m->row_bytes = 0;
  m->has_row_bytes = true;
  for (int32_t c = 0; c < batch->n_columns; c++) {
    const tn_vec *vec = &batch->columns[c];
    if (vec->layout == TN_LAYOUT_BYTES && vec->offsets != NULL) {
      int64_t bytes = vec->offsets[vec->length] / vec->length + 1;
      m->row_bytes = bytes > m->row_bytes ? bytes : m->row_bytes;
    } else if (tn_merger_has_variable_size(vec->layout)) {
      m->has_row_bytes = false;
    }
  }
}

/* The next of the picked rows. */
static tarn_status next_picked(tn_merger *m, tn_batch *out, tn_buffer **kinds,
                               tn_buffer **sequences, tarn_error *err) {
  int64_t n = rows_that_fit(m);
  tarn_status st;
  for (;;) {
    st = tn_merger_gather_rows(m, m->picked + m->picked_at, n, out, kinds, sequences, err);
    if (st != TARN_E_LIMIT || n == 1) {
      break;
    }
    n = (n + 1) / 2; /* nested columns, or a short budget: fewer rows may do */
  }
  TN_TRY(st);
  m->picked_at += n;
  return TARN_OK;
}

tarn_status tn_merger_next(tn_merger *m, tn_batch *out, tn_buffer **kinds, tn_buffer **sequences,
                           tarn_error *err) {
  bool is_folding = m->spec.engine->fold != NULL;
  memset(out, 0, sizeof(*out));
  if (kinds != NULL) {
    *kinds = NULL;
  }
  if (sequences != NULL) {
    *sequences = NULL;
  }
  while (out->n_rows == 0) {
    bool is_used_up = is_folding ? m->folded_groups == m->n_groups : m->picked_at == m->n_picked;
    TN_TRY(tn_cancel_check(m->spec.cancel, err));
    if (is_used_up) {
      if (m->is_ended) {
        break;
      }
      TN_TRY(tn_merger_plan(m, err));
      continue;
    }
    TN_TRY(is_folding ? tn_merger_next_folded(m, out, kinds, sequences, err)
                      : next_picked(m, out, kinds, sequences, err));
    if (out->n_rows > 0) {
      tn_merger_note_row_bytes(m, out);
    }
  }
  tn_error_reset(err);
  return TARN_OK;
}
