/* views.c - dressing changes as $audit_log and $binlog. */
#include "stream/views.h"

#include "column/rowkind.h"

#define ARENA_LIMIT ((size_t)1 << 28)

void tn_stream_view_reset(tn_stream_view *v) {
  if (v->env != NULL) {
    tn_pieces_reset(&v->held, v->env);
    tn_arena_reset(&v->arena);
  }
  memset(v, 0, sizeof(*v));
}

/* ------------------------------------------------------------------ shape */

typedef struct shaper {
  const tn_stream_view_options *o;
  tn_stream_view *view;
} shaper;

static bool is_own_column(void *ctx, int32_t field_id) {
  const tn_schema *schema = ((const shaper *)ctx)->o->table->schema;
  return tn_fields_find_id(schema->fields, schema->n_fields, field_id) >= 0;
}

/* Planning and reading test own columns, where they have their own values. */
static tarn_status part_predicate(shaper *s, tarn_error *err) {
  tn_stream_view *v = s->view;
  if (v->is_binlog) {
    v->rest = s->o->predicate;
    return TARN_OK;
  }
  return tn_pred_part(&v->arena, s->o->predicate, is_own_column, s, &v->pushed, &v->rest, err);
}

/* A column that is none of the table's is one that readers know by its id. */
static void add_shown(shaper *s, const tn_field *field) {
  tn_stream_view *v = s->view;
  const tn_schema *schema = s->o->table->schema;
  int32_t at = tn_fields_find_id(schema->fields, schema->n_fields, field->id);
  v->shown[v->n_shown] = *field;
  v->sources[v->n_shown] = -1;
  if (field->id != TN_FIELD_ID_ROWKIND) {
    v->sources[v->n_shown] = v->n_read;
    v->read[v->n_read++] = at >= 0 ? schema->fields[at] : *field;
  }
  v->n_shown++;
}

static void add_tested(void *ctx, const tn_pred *leaf) {
  shaper *s = ctx;
  if (tn_fields_find_id(s->view->shown, s->view->n_shown, leaf->field_id) < 0) {
    int32_t at = tn_fields_find_id(s->o->columns, s->o->n_columns, leaf->field_id);
    if (at >= 0) {
      add_shown(s, &s->o->columns[at]);
    }
  }
}

static tarn_status shape(shaper *s, tarn_error *err) {
  static const tn_field kind = {
      .id = TN_FIELD_ID_ROWKIND, .name = "_row_kind", .type = {.root = TN_TINYINT}};
  tn_stream_view *v = s->view;
  size_t most = (size_t)s->o->n_fields + (size_t)s->o->n_columns + 1;
  TN_TRY(part_predicate(s, err));
  v->shown = tn_arena_calloc(&v->arena, most, sizeof(*v->shown));
  v->sources = tn_arena_calloc(&v->arena, most, sizeof(*v->sources));
  v->read = tn_arena_calloc(&v->arena, most, sizeof(*v->read));
  v->whole = tn_arena_calloc(&v->arena, most + 1, sizeof(*v->whole));
  if (v->shown == NULL || v->sources == NULL || v->read == NULL || v->whole == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < s->o->n_fields; i++) {
    add_shown(s, &s->o->fields[i]);
  }
  v->n_wanted = v->n_shown;
  if (v->rest != NULL) {
    tn_pred_each_leaf(v->rest, add_tested, s);
  }
  if (s->o->with_row_kind) {
    v->given = tn_arena_calloc(&v->arena, (size_t)v->n_wanted + 1, sizeof(*v->given));
    if (v->given == NULL) {
      return tn_oom(err);
    }
    v->given[0] = kind;
    memcpy(v->given + 1, v->shown, (size_t)v->n_wanted * sizeof(*v->given));
  }
  v->whole[0] = kind;
  if (v->n_read > 0) {
    memcpy(v->whole + 1, v->read, (size_t)v->n_read * sizeof(*v->read));
  }
  return TARN_OK;
}

tarn_status tn_stream_view_init(const tn_stream_view_options *options, tn_stream_view *v,
                                tarn_error *err) {
  shaper s = {options, v};
  tarn_status st;
  memset(v, 0, sizeof(*v));
  v->env = options->table->env;
  v->is_binlog = v->packs = options->is_binlog;
  tn_arena_init(&v->arena, &v->env->mem, ARENA_LIMIT);
  st = shape(&s, err);
  if (st != TARN_OK) {
    tn_stream_view_reset(v);
  }
  return st;
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
  tn_batch joined;
  tarn_status st;
  if (v->held.count == 0) {
    return TARN_OK;
  }
  if (batch->n_rows > 0) {
    TN_TRY(tn_pieces_add(&v->held, v->env, batch, err));
  }
  st = tn_pieces_join(&v->held, v->env, v->whole, v->n_read + 1, &joined, err);
  tn_pieces_clear(&v->held, v->env);
  if (st == TARN_OK) {
    tn_batch_move(batch, &joined);
  }
  return st;
}

static tarn_status copy_rows(const tn_stream_view *v, const tn_batch *from, int64_t begin,
                             int64_t n, tn_batch *out, tarn_error *err) {
  TN_TRY(tn_batch_init(v->env, v->whole, v->n_read + 1, out, err));
  for (int32_t i = 0; i < from->n_columns; i++) {
    TN_TRY(tn_vec_copy_range(v->env, &from->columns[i], begin, n, &out->columns[i], err));
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
  TN_TRY_TO(done, copy_rows(v, batch, n - 1, 1, &last, err));
  TN_TRY_TO(done, copy_rows(v, batch, 0, n - 1, &others, err));
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
    bool is_pair = v->packs && kinds[i] == TN_ROW_UPDATE_BEFORE && i + 1 < batch->n_rows;
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

/* All shown columns of all rows. */
static tarn_status show(const tn_stream_view *v, tn_batch *read, const int32_t *begins, int64_t n,
                        tn_batch *out, tarn_error *err) {
  tarn_status st = TARN_OK;
  TN_TRY(tn_batch_init(v->env, v->shown, v->n_shown, out, err));
  for (int32_t i = 0; i < v->n_shown && st == TARN_OK; i++) {
    tn_vec *to = &out->columns[i];
    st = v->sources[i] < 0 ? show_kinds(v->env, &read->columns[0], begins, n, to, err)
                           : show_column(v, &read->columns[1 + v->sources[i]], begins, n,
                                         v->shown[i].id != TN_FIELD_ID_SEQUENCE_NUMBER, to, err);
    if (st == TARN_OK) {
      tn_vec_retype(to, &v->shown[i].type);
    }
  }
  out->n_rows = n;
  if (st != TARN_OK) {
    tn_batch_reset(v->env, out);
  }
  return st;
}

static tarn_status take_wanted(const tn_stream_view *v, tn_batch *all, const uint32_t *rows,
                               int64_t n, tn_batch *out, tarn_error *err) {
  int32_t first = v->given != NULL ? 1 : 0;
  tarn_status st = TARN_OK;
  TN_TRY(tn_batch_init(v->env, first > 0 ? v->given : v->shown, first + v->n_wanted, out, err));
  if (first > 0) {
    st = tn_vec_alloc(v->env, &out->columns[0], n, 0, err);
    if (st == TARN_OK) {
      memset(out->columns[0].values, TN_ROW_INSERT, (size_t)n);
    }
  }
  for (int32_t i = 0; i < v->n_wanted && st == TARN_OK; i++) {
    tn_vec *to = &out->columns[first + i];
    if (n == all->n_rows) {
      tn_vec_reset(v->env, to);
      tn_vec_move(to, &all->columns[i]);
    } else {
      st = tn_vec_take(v->env, &all->columns[i], rows, n, to, err);
      tn_vec_retype(to, &v->shown[i].type);
    }
  }
  out->n_rows = n;
  out->first_position = -1;
  if (st != TARN_OK) {
    tn_batch_reset(v->env, out);
  }
  return st;
}

static tarn_status dress(const tn_stream_view *v, tn_batch *read, int64_t max_rows, tn_batch *out,
                         int64_t *n_over, tarn_error *err) {
  int32_t *begins = NULL;
  int64_t n = 0;
  bool has_end;
  tn_row_pick pick = {0};
  tarn_status st = TARN_OK;
  tn_batch all;
  memset(&all, 0, sizeof(all));
  TN_TRY(find_groups(v, read, &begins, &n, err));
  TN_TRY_TO(done, show(v, read, begins, n, &all, err));
  // One more than may be given tells whether any are left over.
  has_end = max_rows >= 0 && max_rows < n;
  TN_TRY_TO(done, tn_pred_pick(v->env, v->rest, &all, has_end ? max_rows + 1 : -1, &pick, err));
  if (has_end && pick.n > max_rows) {
    pick.n = max_rows;
    *n_over = read->n_rows - (pick.n > 0 ? begins[pick.rows[pick.n - 1] + 1] : 0);
  }
  st = take_wanted(v, &all, pick.rows, pick.n, out, err);
done:
  tn_batch_reset(v->env, &all);
  tn_free(&v->env->mem, pick.rows);
  tn_free(&v->env->mem, begins);
  return st;
}

tarn_status tn_stream_view_dress(tn_stream_view *v, tn_batch *read, bool may_wait, int64_t max_rows,
                                 tn_batch *out, int64_t *n_over, tarn_error *err) {
  tarn_status st = TARN_OK;
  memset(out, 0, sizeof(*out));
  *n_over = 0;
  for (int32_t i = 0; i < read->n_columns; i++) {
    TN_TRY_TO(done, tn_vec_flatten(v->env, &read->columns[i], err));
  }
  TN_TRY_TO(done, put_in_front(v, read, err));
  if (v->packs && may_wait && read->n_rows > 0 &&
      ends_unpaired(read->columns[0].values, read->n_rows)) {
    TN_TRY_TO(done, hold_back(v, read, err));
  }
  if (read->n_rows > 0) {
    st = dress(v, read, max_rows, out, n_over, err);
  }
done:
  tn_batch_reset(v->env, read);
  return st;
}

void tn_stream_view_forget(tn_stream_view *v) {
  tn_pieces_clear(&v->held, v->env);
}
