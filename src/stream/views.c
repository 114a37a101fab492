/* views.c - dressing changes as $audit_log and $binlog. */
#include "stream/views.h"

#include "column/rowkind.h"

void tn_stream_view_reset(tn_stream_view *v) {
  if (v->env != NULL) {
    tn_pieces_reset(&v->held, v->env);
    tn_free(&v->env->mem, v->sources);
    tn_free(&v->env->mem, v->read);
  }
  memset(v, 0, sizeof(*v));
}

tarn_status tn_stream_view_init(const tn_table *table, bool is_binlog, const tn_field *fields,
                                int32_t n_fields, tn_stream_view *v, tarn_error *err) {
  const tn_schema *schema = table->schema;
  memset(v, 0, sizeof(*v));
  v->env = table->env;
  v->is_binlog = is_binlog;
  v->shown = fields;
  v->n_shown = n_fields;
  v->sources = tn_calloc(&v->env->mem, (size_t)n_fields + 1, sizeof(*v->sources));
  v->read = tn_calloc(&v->env->mem, (size_t)n_fields + 1, sizeof(*v->read));
  if (v->sources == NULL || v->read == NULL) {
    tn_stream_view_reset(v);
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n_fields; i++) {
    int32_t at = tn_fields_find_id(schema->fields, schema->n_fields, fields[i].id);
    v->sources[i] = -1;
    if (fields[i].id != TN_FIELD_ID_ROWKIND) {
      // A column that is none of the table's is one that readers know by its id.
      v->sources[i] = v->n_read;
      v->read[v->n_read++] = at >= 0 ? schema->fields[at] : fields[i];
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ pairs */

/* Is the last row a -U whose +U is not there? Kinds alternate within a run of -U. */
static bool ends_unpaired(const int8_t *kinds, int64_t n) {
  int64_t run = n;
  while (run > 0 && kinds[run - 1] == TN_ROW_UPDATE_BEFORE) {
    run--;
  }
  return (n - run) % 2 == 1;
}

/* What was held back, then the batch. */
static tarn_status put_in_front(tn_stream_view *v, tn_batch *batch, tarn_error *err) {
  const tn_field *fields = batch->fields;
  int32_t n_columns = batch->n_columns;
  tn_batch joined;
  tarn_status st;
  if (v->held.count == 0) {
    return TARN_OK;
  }
  TN_TRY(tn_pieces_add(&v->held, v->env, batch, err));
  st = tn_pieces_join(&v->held, v->env, fields, n_columns, &joined, err);
  tn_pieces_clear(&v->held, v->env);
  v->held.n_rows = 0;
  if (st == TARN_OK) {
    tn_batch_move(batch, &joined);
  }
  return st;
}

static tarn_status copy_rows(tarn_env *env, const tn_batch *from, int64_t begin, int64_t n,
                             tn_batch *out, tarn_error *err) {
  TN_TRY(tn_batch_init(env, from->fields, from->n_columns, out, err));
  for (int32_t i = 0; i < from->n_columns; i++) {
    TN_TRY(tn_vec_copy_range(env, &from->columns[i], begin, n, &out->columns[i], err));
  }
  out->n_rows = n;
  return TARN_OK;
}

static tarn_status hold_back(tn_stream_view *v, tn_batch *batch, tarn_error *err) {
  int64_t n = batch->n_rows;
  tn_batch last, others;
  tarn_status st = TARN_OK;
  memset(&last, 0, sizeof(last));
  memset(&others, 0, sizeof(others));
  TN_TRY_TO(done, copy_rows(v->env, batch, n - 1, 1, &last, err));
  TN_TRY_TO(done, copy_rows(v->env, batch, 0, n - 1, &others, err));
  TN_TRY_TO(done, tn_pieces_add(&v->held, v->env, &last, err));
  tn_batch_reset(v->env, batch);
  tn_batch_move(batch, &others);
done:
  tn_batch_reset(v->env, &last);
  tn_batch_reset(v->env, &others);
  return st;
}

/* ------------------------------------------------------------------ columns */

/* Shown row i is made of the rows [begins[i], begins[i + 1]) of the batch. */
static tarn_status find_groups(const tn_stream_view *v, const tn_batch *batch, int32_t **out,
                               int64_t *n, tarn_error *err) {
  const int8_t *kinds = batch->columns[0].values;
  int32_t *begins = tn_calloc(&v->env->mem, (size_t)batch->n_rows + 1, sizeof(*begins));
  if (begins == NULL) {
    return tn_oom(err);
  }
  *n = 0;
  for (int64_t i = 0; i < batch->n_rows; ++*n) {
    bool is_pair = v->is_binlog && kinds[i] == TN_ROW_UPDATE_BEFORE && i + 1 < batch->n_rows;
    begins[*n] = (int32_t)i;
    i += is_pair ? 2 : 1;
  }
  begins[*n] = (int32_t)batch->n_rows;
  *out = begins;
  return TARN_OK;
}

/* The kind of the last row of each group, as a text. */
static tarn_status show_kinds(tarn_env *env, const tn_vec *kinds, const int32_t *begins, int64_t n,
                              tn_vec *out, tarn_error *err) {
  static const char names[4][3] = {"+I", "-U", "+U", "-D"};
  TN_TRY(tn_vec_alloc(env, out, n, (size_t)n * 2, err));
  for (int64_t i = 0; i < n; i++) {
    int8_t kind = ((const int8_t *)kinds->values)[begins[i + 1] - 1];
    memcpy((uint8_t *)out->values + i * 2, names[kind & 3], 2);
    out->offsets[i + 1] = (int32_t)(i + 1) * 2;
  }
  return TARN_OK;
}

/* The values of each group as an array; a column that is no array shows that of its first row. */
static tarn_status show_column(const tn_stream_view *v, tn_vec *values, const int32_t *begins,
                               int64_t n, bool is_array, tn_vec *out, tarn_error *err) {
  if (!v->is_binlog) {
    return tn_vec_share(v->env, values, out, err);
  }
  if (!is_array) {
    return tn_vec_take(v->env, values, (const uint32_t *)begins, n, out, err);
  }
  TN_TRY(tn_vec_alloc(v->env, out, n, 0, err));
  memcpy(out->offsets, begins, ((size_t)n + 1) * sizeof(*begins));
  tn_vec_reset(v->env, &out->children[0]);
  TN_TRY(tn_vec_share(v->env, values, &out->children[0], err));
  tn_vec_retype(&out->children[0], &out->type->fields[0].type);
  return TARN_OK;
}

static tarn_status dress(tn_stream_view *v, tn_batch *read, tn_batch *out, tarn_error *err) {
  int32_t *begins = NULL;
  int64_t n = 0;
  tarn_status st = TARN_OK;
  TN_TRY(find_groups(v, read, &begins, &n, err));
  TN_TRY_TO(done, tn_batch_init(v->env, v->shown, v->n_shown, out, err));
  for (int32_t i = 0; i < v->n_shown; i++) {
    tn_vec *to = &out->columns[i];
    st = v->sources[i] < 0 ? show_kinds(v->env, &read->columns[0], begins, n, to, err)
                           : show_column(v, &read->columns[1 + v->sources[i]], begins, n,
                                         v->shown[i].id != TN_FIELD_ID_SEQUENCE_NUMBER, to, err);
    TN_TRY_TO(done, st);
    tn_vec_retype(to, &v->shown[i].type);
  }
  out->n_rows = n;
done:
  if (st != TARN_OK) {
    tn_batch_reset(v->env, out);
  }
  tn_free(&v->env->mem, begins);
  return st;
}

tarn_status tn_stream_view_dress(tn_stream_view *v, tn_batch *read, bool may_wait, tn_batch *out,
                                 tarn_error *err) {
  tarn_status st = TARN_OK;
  memset(out, 0, sizeof(*out));
  for (int32_t i = 0; i < read->n_columns; i++) {
    TN_TRY_TO(done, tn_vec_flatten(v->env, &read->columns[i], err));
  }
  TN_TRY_TO(done, put_in_front(v, read, err));
  if (v->is_binlog && may_wait && read->n_rows > 0 &&
      ends_unpaired(read->columns[0].values, read->n_rows)) {
    TN_TRY_TO(done, hold_back(v, read, err));
  }
  if (read->n_rows > 0) {
    st = dress(v, read, out, err);
  }
done:
  tn_batch_reset(v->env, read);
  return st;
}
