/* merger_fold.c - output batches of folding engines.
 *
 * A range of the plan's groups at a time: the engine makes steps of it, rows whose merged kind is a
 * retraction go, the filter is tested on folded columns, then the columns of the output are folded.
 * A column that is some row's value in every group is gathered once; so are columns that many
 * have in common with others (the last row of each group).
 *
 * A range is as large as the plan, unless its values might not fit an output batch.
 */
#include <string.h>

#include "base/bytes.h"
#include "merge/fold_functions.h"
#include "merge/merger_parts.h"

/* ------------------------------------------------------------------ columns of the sources */

/* The layout's index of a column of the merge (as in tn_merge_spec.out_columns). */
static int32_t layout_index(const tn_merger *m, int32_t column) {
  return column >= 0 ? column : m->spec.n_key_fields - 1 - column;
}

/* m->columns: the vectors of all sources, for every column of the layout. Sources without rows in
 * the plan have no values: a neighbour's stand in. Room for one more is behind the last. */
static tarn_status point_at_columns(tn_merger *m, tarn_error *err) {
  int32_t n_columns = m->spec.layout->n_columns;
  size_t stride = (size_t)m->n_sources + 1, n = stride * (size_t)n_columns;
  if (m->fold_vecs_capacity < n) {
    tn_free(&m->env->mem, m->fold_vecs);
    m->fold_vecs_capacity = 0;
    m->fold_vecs = tn_calloc(&m->env->mem, n, sizeof(*m->fold_vecs));
    if (m->fold_vecs == NULL) {
      return tn_oom(err);
    }
    m->fold_vecs_capacity = n;
  }
  for (int32_t c = 0; c < n_columns; c++) {
    const tn_vec **vecs = m->fold_vecs + stride * (size_t)c;
    const tn_vec *filler = NULL;
    for (uint32_t i = 0; i < m->n_sources; i++) {
      const source *s = m->sources[i];
      vecs[i] = c < m->spec.n_key_fields ? &s->rows.keys.columns[c]
                : s->has_values          ? &s->values.columns[c - m->spec.n_key_fields]
                                         : filler;
      filler = vecs[i];
    }
    for (uint32_t i = m->n_sources; i-- > 0;) {
      vecs[i] = vecs[i] != NULL ? vecs[i] : filler;
      filler = vecs[i];
    }
    m->columns[c] = vecs;
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ folding a column */

static bool has_nulls(const tn_vec *const *vecs, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    if (vecs[i]->null_count > 0) {
      return true;
    }
  }
  return false;
}

/* Is the result the last row of each group, whatever it holds? */
static bool is_last_row(const tn_merger *m, int32_t column, const tn_fold_steps *steps) {
  const tn_fold_function *f = m->spec.layout->columns[column].spec.function;
  return steps->ops == NULL && steps->rows == m->fold.plan->rows &&
         (f == &tn_fold_last_value ||
          (f == &tn_fold_last_non_null_value && !has_nulls(m->columns[column], m->n_sources)));
}

static tarn_status run_function(tn_merger *m, int32_t column, tarn_error *err) {
  const tn_fold_column *c = &m->spec.layout->columns[column];
  const tn_fold_steps *steps = &m->fold.steps[c->role == TN_FOLD_FREE ? 0 : 1 + c->group];
  folded_column *out = &m->folded[column];
  tn_fold_input in = {.env = m->env,
                      .spec = &c->spec,
                      .sources = m->columns[column],
                      .n_sources = (int32_t)m->n_sources};
  if (is_last_row(m, column, steps)) {
    out->refs = m->fold.lasts;
    return TARN_OK;
  }
  if (c->spec.function->fold != NULL) {
    return c->spec.function->fold(&in, steps, &out->values, err);
  }
  if (out->own_refs == NULL) {
    out->own_refs = tn_calloc(&m->env->mem, (size_t)m->spec.batch_rows, sizeof(*out->own_refs));
    if (out->own_refs == NULL) {
      return tn_oom(err);
    }
  }
  TN_TRY(c->spec.function->pick(&in, steps, out->own_refs, err));
  out->refs = out->own_refs;
  out->may_have_none = true;
  return TARN_OK;
}

static tarn_status fold_column(tn_merger *m, int32_t column, tarn_error *err) {
  const tn_fold_column *c = &m->spec.layout->columns[column];
  folded_column *out = &m->folded[column];
  tarn_status st;
  if (out->is_done) {
    return TARN_OK;
  }
  switch (c->role) {
    case TN_FOLD_KEY:
      out->refs = m->fold.lasts;
      break;
    case TN_FOLD_MEMBER:
    case TN_FOLD_ORDERS:
      out->refs = (c->role == TN_FOLD_MEMBER ? m->fold.members : m->fold.orders)[c->group];
      out->may_have_none = true;
      break;
    case TN_FOLD_FREE:
    case TN_FOLD_GROUPED:
      st = run_function(m, column, err);
      if (st != TARN_OK) {
        tn_error_context(err, st, "column '%s'", c->field->name);
        return st;
      }
      break;
  }
  out->is_done = true;
  return TARN_OK;
}

static void forget_columns(tn_merger *m) {
  for (int32_t c = 0; c < m->spec.layout->n_columns; c++) {
    folded_column *f = &m->folded[c];
    f->is_done = f->may_have_none = false;
    f->refs = NULL;
    tn_vec_reset(m->env, &f->values);
  }
}

/* ------------------------------------------------------------------ columns of the selection */

/* Let row 0 of the source behind the last be null, if some row refers to it. */
static tarn_status provide_null(tn_merger *m, int32_t column, const tn_row_ref *refs, int64_t n,
                                int32_t *n_sources, tarn_error *err) {
  folded_column *f = &m->folded[column];
  const tn_vec **vecs = m->fold_vecs + ((size_t)m->n_sources + 1) * (size_t)column;
  bool has_none = false;
  for (int64_t i = 0; i < n; i++) {
    has_none |= refs[i].source == m->n_sources;
  }
  if (!has_none) {
    return TARN_OK;
  }
  if (f->nulls.length == 0) {
    TN_TRY(tn_vec_init_nulls(m->env, &m->spec.layout->columns[column].field->type, 1, true,
                             &f->nulls, err));
  }
  vecs[m->n_sources] = &f->nulls;
  ++*n_sources;
  return TARN_OK;
}

/* out = a column of the n selected groups; `selected` NULL: of all groups of the range. */
static tarn_status emit_column(tn_merger *m, int32_t column, const tn_type *type,
                               const uint32_t *selected, int64_t n, tn_vec *out, tarn_error *err) {
  folded_column *f = &m->folded[column];
  const tn_row_ref *refs = f->refs;
  int32_t n_sources = (int32_t)m->n_sources;
  bool is_range;
  if (refs == NULL) {
    if (selected != NULL) {
      return tn_vec_take(m->env, &f->values, selected, n, out, err);
    }
    tn_vec_reset(m->env, out);
    TN_TRY(tn_vec_share(m->env, &f->values, out, err));
    tn_vec_retype(out, type);
    return TARN_OK;
  }
  if (selected != NULL) {
    for (int64_t i = 0; i < n; i++) {
      m->kept[i] = refs[selected[i]];
    }
    refs = m->kept;
  }
  if (f->may_have_none) {
    TN_TRY(provide_null(m, column, refs, n, &n_sources, err));
  }
  is_range = n_sources == (int32_t)m->n_sources && tn_merger_is_range(refs, n);
  return tn_merger_copy(m, type, m->columns[column], n_sources, refs, n, is_range, out, err);
}

static tarn_status emit_batch(tn_merger *m, const tn_field *fields, const int32_t *columns,
                              int32_t n_columns, const uint32_t *selected, int64_t n, tn_batch *out,
                              tarn_error *err) {
  tarn_status st = TARN_OK;
  TN_TRY(tn_batch_init(m->env, fields, n_columns, out, err));
  for (int32_t c = 0; c < n_columns; c++) {
    int32_t column = layout_index(m, columns[c]);
    TN_TRY_TO(fail, fold_column(m, column, err));
    TN_TRY_TO(fail, emit_column(m, column, &fields[c].type, selected, n, &out->columns[c], err));
  }
  out->n_rows = n;
  out->first_position = -1;
  return TARN_OK;
fail:
  tn_batch_reset(m->env, out);
  return st;
}

/* ------------------------------------------------------------------ which groups stay */

static int64_t drop_retractions(tn_merger *m, int64_t n_groups) {
  int64_t n = 0;
  for (int64_t g = 0; g < n_groups; g++) {
    m->selected_groups[n] = (uint32_t)g;
    n += m->spec.keeps_deletes || !tn_row_kind_is_retract(m->fold.kinds[g]);
  }
  return n;
}

/* Drop from the n selected groups those that the filter does; they are all there are, if
 * selected is NULL. */
static tarn_status filter_groups(tn_merger *m, const uint32_t *selected, int64_t *n,
                                 tarn_error *err) {
  tn_batch batch = {0};
  int64_t n_kept = 0;
  tarn_status st = TARN_OK;
  TN_TRY(emit_batch(m, m->spec.filter_fields, m->spec.filter_columns, m->spec.n_filter_columns,
                    selected, *n, &batch, err));
  memset(m->selected, 0xff, TN_BITMAP_BYTES(*n));
  st = tn_pred_filter(m->env, m->spec.filter, &batch, m->selected, err);
  for (int64_t i = 0; i < *n; i++) {
    m->selected_groups[n_kept] = m->selected_groups[i];
    n_kept += tn_bit_get(m->selected, i);
  }
  *n = n_kept;
  tn_batch_reset(m->env, &batch);
  return st;
}

/* ------------------------------------------------------------------ a range */

static tarn_status give_buffer(tn_merger *m, const uint32_t *selected, int64_t n, const void *from,
                               size_t width, tn_buffer **out, tarn_error *err) {
  TN_TRY(tn_buffer_create(m->env, (size_t)n * width, out, err));
  for (int64_t i = 0; i < n; i++) {
    int64_t g = selected != NULL ? selected[i] : i;
    memcpy((*out)->data + (size_t)i * width, (const char *)from + (size_t)g * width, width);
  }
  return TARN_OK;
}

/* The merged rows of a range; none may be left. */
static tarn_status fold_range(tn_merger *m, const tn_merge_plan *plan, tn_batch *out,
                              tn_buffer **kinds, tn_buffer **sequences, tarn_error *err) {
  int64_t n;
  const uint32_t *selected;
  m->fold.plan = plan;
  m->fold.columns = m->columns;
  for (int64_t g = 0; g < plan->n_groups; g++) {
    m->fold.lasts[g] = plan->rows[plan->groups[g + 1] - 1];
  }
  TN_TRY(m->spec.engine->fold(&m->fold, err));
  n = drop_retractions(m, plan->n_groups);
  selected = n < plan->n_groups ? m->selected_groups : NULL;
  if (m->spec.filter != NULL && n > 0) {
    TN_TRY(filter_groups(m, selected, &n, err));
    selected = n < plan->n_groups ? m->selected_groups : NULL;
  }
  if (n == 0) {
    return TARN_OK;
  }
  if (kinds != NULL) {
    TN_TRY(give_buffer(m, selected, n, m->fold.kinds, sizeof(*m->fold.kinds), kinds, err));
  }
  if (sequences != NULL) {
    TN_TRY(
        give_buffer(m, selected, n, m->fold.sequences, sizeof(*m->fold.sequences), sequences, err));
  }
  return emit_batch(m, m->spec.out_fields, m->spec.out_columns, m->spec.n_out_columns, selected, n,
                    out, err);
}

/* As many of the next groups as keep the strings and lists of their rows below max_bytes. Not
 * counted while the batch before was far from that. */
static int64_t groups_that_fit(const tn_merger *m) {
  const uint32_t *groups = m->groups + m->folded_groups;
  int64_t n = m->n_groups - m->folded_groups;
  if (m->has_row_bytes && m->row_bytes < (int64_t)m->max_bytes / (8 * n)) {
    return n;
  }
  for (int32_t c = 0; c < m->spec.n_out_columns; c++) {
    if (tn_merger_has_variable_size(tn_type_layout(&m->spec.out_fields[c].type))) {
      const tn_vec *const *vecs = m->columns[layout_index(m, m->spec.out_columns[c])];
      while (n > 1 && tn_vec_gather_bytes(vecs, m->rows + groups[0], groups[n] - groups[0]) >
                          (int64_t)m->max_bytes) {
        n = (n + 1) / 2;
      }
    }
  }
  return n;
}

static void release(tn_buffer **buffer) {
  if (buffer != NULL) {
    tn_buffer_release(*buffer);
    *buffer = NULL;
  }
}

tarn_status tn_merger_fold_groups(tn_merger *m, int64_t n, tn_batch *out, tn_buffer **kinds,
                                  tn_buffer **sequences, tarn_error *err) {
  tn_merge_plan plan = {
      .n_sources = (int32_t)m->n_sources,
      .sources = m->source_rows,
      .n_rows = m->n_rows,
      .rows = m->rows,
      .n_groups = n,
      .groups = m->groups + m->folded_groups,
      .ignore_delete = m->spec.ignore_delete,
      .keeps_single_rows = !m->spec.engine->wants_single_rows && !m->spec.merges_single_rows};
  tarn_status st;
  TN_TRY(point_at_columns(m, err));
  st = fold_range(m, &plan, out, kinds, sequences, err);
  forget_columns(m);
  if (st != TARN_OK) {
    release(kinds);
    release(sequences);
  }
  return st;
}

tarn_status tn_merger_next_folded(tn_merger *m, tn_batch *out, tn_buffer **kinds,
                                  tn_buffer **sequences, tarn_error *err) {
  int64_t n;
  tarn_status st;
  TN_TRY(point_at_columns(m, err));
  n = groups_that_fit(m);
  for (;;) {
    st = tn_merger_fold_groups(m, n, out, kinds, sequences, err);
    if (st != TARN_E_LIMIT || n == 1) {
      break;
    }
    n = (n + 1) / 2; /* large values, or a short budget */
  }
  m->folded_groups += n;
  return st;
}

/* ------------------------------------------------------------------ life */

tarn_status tn_merger_fold_init(tn_merger *m, tarn_error *err) {
  tn_mem *mem = &m->env->mem;
  const tn_fold_layout *layout = m->spec.layout;
  size_t rows = (size_t)m->spec.batch_rows, n_groups = (size_t)layout->n_groups;
  tn_fold *f = &m->fold;
  f->env = m->env;
  f->layout = layout;
  f->groups_capacity = m->spec.batch_rows;
  m->folded = tn_calloc(mem, (size_t)layout->n_columns + 1, sizeof(*m->folded));
  m->columns = tn_calloc(mem, (size_t)layout->n_columns + 1, sizeof(*m->columns));
  m->selected_groups = tn_calloc(mem, rows + 1, sizeof(*m->selected_groups));
  f->kinds = tn_calloc(mem, rows, sizeof(*f->kinds));
  f->sequences = tn_calloc(mem, rows, sizeof(*f->sequences));
  f->lasts = tn_calloc(mem, rows, sizeof(*f->lasts));
  f->steps = tn_calloc(mem, n_groups + 1, sizeof(*f->steps));
  f->lists = tn_calloc(mem, n_groups + 1, sizeof(*f->lists));
  f->members = tn_calloc(mem, n_groups + 1, sizeof(*f->members));
  f->orders = tn_calloc(mem, n_groups + 1, sizeof(*f->orders));
  if (m->folded == NULL || m->columns == NULL || m->selected_groups == NULL || f->kinds == NULL ||
      f->sequences == NULL || f->lasts == NULL || f->steps == NULL || f->lists == NULL ||
      f->members == NULL || f->orders == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < n_groups; i++) {
    f->members[i] = tn_calloc(mem, rows, sizeof(**f->members));
    f->orders[i] = tn_calloc(mem, rows, sizeof(**f->orders));
    if (f->members[i] == NULL || f->orders[i] == NULL) {
      return tn_oom(err);
    }
  }
  return TARN_OK;
}

void tn_merger_fold_free(tn_merger *m) {
  tn_mem *mem = &m->env->mem;
  tn_fold *f = &m->fold;
  if (f->layout == NULL) {
    return;
  }
  for (int32_t c = 0; m->folded != NULL && c < f->layout->n_columns; c++) {
    tn_vec_reset(m->env, &m->folded[c].values);
    tn_vec_reset(m->env, &m->folded[c].nulls);
    tn_free(mem, m->folded[c].own_refs);
  }
  for (int32_t i = 0; i < f->layout->n_groups; i++) {
    tn_free(mem, f->members != NULL ? f->members[i] : NULL);
    tn_free(mem, f->orders != NULL ? f->orders[i] : NULL);
  }
  for (int32_t i = 0; f->lists != NULL && i <= f->layout->n_groups; i++) {
    tn_free(mem, f->lists[i].rows);
    tn_free(mem, f->lists[i].ops);
    tn_free(mem, f->lists[i].borders);
  }
  tn_free(mem, m->folded);
  tn_free(mem, m->columns);
  tn_free(mem, m->fold_vecs);
  tn_free(mem, m->selected_groups);
  tn_free(mem, f->kinds);
  tn_free(mem, f->sequences);
  tn_free(mem, f->lasts);
  tn_free(mem, f->steps);
  tn_free(mem, f->lists);
  tn_free(mem, f->members);
  tn_free(mem, f->orders);
}
