/* file_list.c - the rows of files one after the other: raw splits, sections of one run, splits that
 * are not merged.
 *
 * What decides about a row is read first: the columns that the filter tests, the row kind. Output
 * columns are read for batches in which rows are left. Without a filter they are all there is.
 */
#include <string.h>

#include "base/bytes.h"
#include "read/split_reader.h"

typedef struct out_place {
  bool is_rest;
  int32_t index;
  bool is_last_use; /* of that column: it may be moved out */
} out_place;

typedef struct file_list {
  tn_split_reader reader;
  const tn_read_context *c;
  tn_file_list list;
  tn_arena arena;
  tn_field *first_fields, *rest_fields;
  int32_t n_first, n_rest;
  int32_t kind_at;   /* among first_fields; -1: not read */
  out_place *places; /* o.n_fields */
  tn_data_shape *shape;

  int32_t next_file; /* to be opened, in the list */
  tn_open_file file;
  int64_t max_rows;
  int64_t position;     /* of the first row in the file that was not given yet */
  tn_batch first, rest; /* the batch that is being given out */
  uint32_t *rows;       /* its rows that are left: at .. n_rows; NULL content when is_whole */
  int64_t n_rows, at;
  bool is_whole; /* all rows are left and none is given yet: columns are moved */
  uint8_t *selected;
  int64_t capacity; /* rows that `rows` and `selected` have room for */
} file_list;

/* ------------------------------------------------------------------ columns */

/* Which columns are read first, which later, and where the output finds them. */
static tarn_status lay_out_columns(file_list *l, tarn_error *err) {
  const tn_read_options *o = &l->c->o;
  size_t n_max =
      (size_t)o->table->schema->n_fields + TN_N_ROW_TRACKING_FIELDS + (size_t)o->n_fields + 1;
  bool is_late;
  l->first_fields = tn_arena_calloc(&l->arena, n_max, sizeof(*l->first_fields));
  l->rest_fields = tn_arena_calloc(&l->arena, n_max, sizeof(*l->rest_fields));
  l->places = tn_arena_calloc(&l->arena, (size_t)o->n_fields + 1, sizeof(*l->places));
  if (l->first_fields == NULL || l->rest_fields == NULL || l->places == NULL) {
    return tn_oom(err);
  }
  tn_fields_add_tested(l->c, l->list.filter, l->first_fields, &l->n_first);
  l->kind_at = -1;
  for (int32_t i = 0; l->list.has_kinds && i < l->list.n_files && l->kind_at < 0; i++) {
    int32_t file = l->list.files != NULL ? l->list.files[i] : l->list.first + i;
    if (tn_file_needs_kinds(l->c, &l->list.split->files[file])) {
      l->kind_at = l->n_first;
      l->first_fields[l->n_first++] = tn_kind_field;
    }
  }
  /* A filter lets few rows pass; few rows are retractions. */
  is_late = l->list.filter != NULL;
  for (int32_t i = 0; i < o->n_fields; i++) {
    out_place *place = &l->places[i];
    int32_t n = l->n_first, at = tn_fields_add(l->first_fields, &n, &o->fields[i]);
    place->is_last_use = true;
    if (is_late && at == l->n_first) {
      place->is_rest = true;
      place->index = tn_fields_add(l->rest_fields, &l->n_rest, &o->fields[i]);
    } else {
      l->n_first = n;
      place->index = at;
    }
    for (int32_t k = 0; k < i; k++) {
      if (l->places[k].is_rest == place->is_rest && l->places[k].index == place->index) {
        l->places[k].is_last_use = false;
      }
    }
  }
  return tn_data_shape_create(o->table, l->first_fields, l->n_first, l->rest_fields, l->n_rest,
                              o->table->facts.has_primary_key, &l->shape, err);
}

/* ------------------------------------------------------------------ batches */

/* Open the file at `at` in the list, from l->position on. */
static tarn_status open_file(file_list *l, int32_t at, tarn_error *err) {
  tn_open_request q = {
      .context = l->c,
      .split = l->list.split,
      .index = l->list.files != NULL ? l->list.files[at] : l->list.first + at,
      .shape = l->shape,
      .pushed = l->list.pushes_values ? l->c->o.predicate : l->c->key_filter,
      .first_position = l->position,
      .wants_flat = l->list.filter == NULL && l->kind_at < 0,
      .batch_rows = l->max_rows,
  };
  return tn_open_file_open(&q, &l->file, err);
}

static tarn_status open_next_file(file_list *l, tarn_error *err) {
  int32_t at = l->next_file++;
  int32_t index = l->list.files != NULL ? l->list.files[at] : l->list.first + at;
  l->max_rows = tn_file_batch_rows(l->c, &l->list.split->files[index], l->c->batch_rows,
                                   (int64_t)(l->c->env->mem.budget_bytes / 16));
  l->position = 0;
  return open_file(l, at, err);
}

static tarn_status reserve_rows(file_list *l, int64_t n, tarn_error *err) {
  tn_mem *mem = &l->c->env->mem;
  if (n <= l->capacity) {
    return TARN_OK;
  }
  tn_free(mem, l->rows);
  tn_free(mem, l->selected);
  l->capacity = 0;
  l->rows = tn_alloc(mem, (size_t)n * sizeof(*l->rows));
  l->selected = tn_alloc(mem, TN_BITMAP_BYTES(n) + 8);
  if (l->rows == NULL || l->selected == NULL) {
    tn_free(mem, l->rows);
    tn_free(mem, l->selected);
    l->rows = NULL;
    l->selected = NULL;
    return tn_oom(err);
  }
  l->capacity = n;
  return TARN_OK;
}

/* Retractions are dropped, or kept with keeps_deletes; first-row tables cannot have them. */
static tarn_status drop_retractions(file_list *l, tarn_error *err) {
  tn_vec *vec = &l->first.columns[l->kind_at];
  const int8_t *kinds;
  const tn_table_facts *facts = &l->c->o.table->facts;
  TN_TRY(tn_vec_flatten(l->c->env, vec, err));
  TN_TRY(tn_check_kinds(vec, l->file.path, err));
  kinds = vec->values;
  for (int64_t i = 0; i < l->first.n_rows; i++) {
    if (tn_row_kind_is_retract(kinds[i]) && tn_bit_get(l->selected, i)) {
      if (facts->merge_engine == TN_ENGINE_FIRST_ROW && !facts->ignore_delete) {
        return tn_first_row_refuse(l->file.path, err);
      }
      if (!l->c->o.keeps_deletes) {
        tn_bit_clear(l->selected, i);
      }
    }
  }
  return TARN_OK;
}

/* Which rows of l->first are left: l->rows, or is_whole. */
static tarn_status select_rows(file_list *l, const uint8_t *alive, tarn_error *err) {
  int64_t n = l->first.n_rows, kept = 0;
  l->at = 0;
  l->n_rows = n;
  l->is_whole = true;
  if (alive == NULL && l->list.filter == NULL && l->kind_at < 0) {
    return TARN_OK;
  }
  TN_TRY(reserve_rows(l, n, err));
  if (alive != NULL) {
    memcpy(l->selected, alive, TN_BITMAP_BYTES(n));
  } else {
    memset(l->selected, 0xff, TN_BITMAP_BYTES(n));
  }
  if (l->kind_at >= 0) {
    TN_TRY(drop_retractions(l, err));
  }
  if (l->list.filter != NULL) {
    TN_TRY(tn_pred_filter(l->c->env, l->list.filter, &l->first, l->selected, err));
  }
  for (int64_t i = 0; i < n; i++) {
    l->rows[kept] = (uint32_t)i;
    kept += tn_bit_get(l->selected, i);
  }
  l->n_rows = kept;
  l->is_whole = kept == n;
  return TARN_OK;
}

/* The next rows of the open file, and what is left of them. n_rows == 0 of l->first: its end. */
static tarn_status read_batch(file_list *l, tarn_error *err) {
  const uint8_t *alive;
  TN_TRY(tn_data_reader_next(l->file.reader, l->max_rows, &l->first, &alive, err));
  if (l->first.n_rows == 0) {
    return TARN_OK;
  }
  TN_TRY(select_rows(l, alive, err));
  if (l->n_rows > 0 && l->n_rest > 0) {
    TN_TRY(tn_data_reader_rest(l->file.reader, &l->rest, err));
  }
  l->position = l->first.first_position + l->first.n_rows;
  return TARN_OK;
}

/* Rows were larger than guessed: go on in smaller batches from the rows that did not fit. */
static tarn_status read_smaller(file_list *l, tarn_error *err) {
  l->max_rows = l->max_rows / 8 > TN_LEAST_ROWS ? l->max_rows / 8 : TN_LEAST_ROWS;
  tn_batch_reset(l->c->env, &l->first);
  tn_batch_reset(l->c->env, &l->rest);
  tn_open_file_close(&l->file);
  return open_file(l, l->next_file - 1, err);
}

/* Read on until there are rows to give: n_rows > at. At the end of the list there are none. */
static tarn_status next_batch(file_list *l, tarn_error *err) {
  l->at = 0;
  l->n_rows = 0;
  while (l->n_rows == 0) {
    tarn_status st;
    TN_TRY(tn_cancel_check(l->c->o.cancel, err));
    if (l->file.reader == NULL) {
      if (l->next_file == l->list.n_files) {
        return TARN_OK;
      }
      TN_TRY(open_next_file(l, err));
    }
    st = read_batch(l, err);
    if (st == TARN_E_LIMIT && l->max_rows > TN_LEAST_ROWS) {
      l->n_rows = 0;
      TN_TRY(read_smaller(l, err));
      continue;
    }
    TN_TRY(st);
    if (l->first.n_rows == 0) {
      tn_open_file_close(&l->file);
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ output */

static tn_vec *column_at(file_list *l, const out_place *place) {
  return place->is_rest ? &l->rest.columns[place->index] : &l->first.columns[place->index];
}

static tarn_status give_kinds(file_list *l, int64_t n, tn_vec *out, tarn_error *err) {
  const int8_t *kinds = l->kind_at >= 0 ? l->first.columns[l->kind_at].values : NULL;
  int8_t *to;
  TN_TRY(tn_vec_alloc(l->c->env, out, n, 0, err));
  to = out->values;
  for (int64_t i = 0; i < n; i++) {
    int64_t row = l->is_whole ? i : l->rows[l->at + i];
    to[i] = kinds != NULL ? kinds[row] : (int8_t)TN_ROW_INSERT;
  }
  return TARN_OK;
}

/* The next n rows as an output batch. When is_whole: all of them, columns are handed over. */
static tarn_status give_rows(file_list *l, int64_t n, tn_batch *out, tarn_error *err) {
  int32_t n_before = l->c->o.with_row_kind ? 1 : 0;
  tarn_env *env = l->c->env;
  tarn_status st = TARN_OK;
  TN_TRY(tn_batch_init(env, l->c->out_fields, l->c->n_out, out, err));
  if (n_before > 0) {
    TN_TRY_TO(fail, give_kinds(l, n, &out->columns[0], err));
  }
  /* Nothing is moved before all columns are flat: what comes later may fail. */
  for (int32_t i = 0; i < l->c->o.n_fields && l->is_whole; i++) {
    TN_TRY_TO(fail, tn_vec_flatten(env, column_at(l, &l->places[i]), err));
  }
  for (int32_t i = 0; i < l->c->o.n_fields; i++) {
    tn_vec *from = column_at(l, &l->places[i]), *to = &out->columns[n_before + i];
    if (!l->is_whole) {
      TN_TRY_TO(fail, tn_vec_take(env, from, l->rows + l->at, n, to, err));
    } else if (!l->places[i].is_last_use) {
      tn_vec_reset(env, to);
      TN_TRY_TO(fail, tn_vec_share(env, from, to, err));
    } else {
      tn_vec_reset(env, to);
      tn_vec_move(to, from);
    }
    tn_vec_retype(to, &l->c->o.fields[i].type); /* batches outlive this reader's fields */
  }
  out->n_rows = n;
  out->first_position = -1;
  return TARN_OK;
fail:
  tn_batch_reset(env, out);
  return st;
}

static tarn_status file_list_next(tn_split_reader *reader, tn_batch *out, tarn_error *err) {
  file_list *l = TN_CONTAINER_OF(reader, file_list, reader);
  int64_t n;
  tarn_status st;
  if (l->at == l->n_rows) {
    TN_TRY(next_batch(l, err));
  }
  n = l->n_rows - l->at;
  if (n == 0) {
    return TARN_OK;
  }
  for (;;) {
    st = give_rows(l, n, out, err);
    if (st != TARN_E_LIMIT || n == 1) {
      break;
    }
    if (l->is_whole) { /* too much for one batch: go over to taking rows */
      TN_TRY(reserve_rows(l, l->n_rows, err));
      for (int64_t i = 0; i < l->n_rows; i++) {
        l->rows[i] = (uint32_t)i;
      }
      l->is_whole = false;
    }
    n = (n + 1) / 2;
  }
  l->at += n;
  return st;
}

static void file_list_free(tn_split_reader *reader) {
  file_list *l = TN_CONTAINER_OF(reader, file_list, reader);
  tarn_env *env = l->c->env;
  tn_batch_reset(env, &l->first);
  tn_batch_reset(env, &l->rest);
  tn_open_file_close(&l->file);
  tn_data_shape_free(l->shape);
  tn_free(&env->mem, l->rows);
  tn_free(&env->mem, l->selected);
  tn_arena_reset(&l->arena);
  tn_free(&env->mem, l);
}

static const tn_split_reader_ops file_list_ops = {file_list_next, file_list_free};

tarn_status tn_file_list_read(const tn_read_context *c, const tn_file_list *list,
                              tn_split_reader **out, tarn_error *err) {
  file_list *l;
  tarn_status st;
  *out = NULL;
  if (c->o.table->facts.data_evolution) {
    return tn_evolution_read(c, list, out, err);
  }
  l = tn_calloc(&c->env->mem, 1, sizeof(*l));
  if (l == NULL) {
    return tn_oom(err);
  }
  l->reader.ops = &file_list_ops;
  l->c = c;
  l->list = *list;
  tn_arena_init(&l->arena, &c->env->mem, 64u << 20);
  st = lay_out_columns(l, err);
  if (st != TARN_OK) {
    file_list_free(&l->reader);
    return st;
  }
  *out = &l->reader;
  return TARN_OK;
}
