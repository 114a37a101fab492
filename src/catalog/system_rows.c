/* system_rows.c - cells row by row in an arena, made into vectors at the end. */
#include "catalog/system_rows.h"

#include "base/bytes.h"
#include "column/bits.h"

#define ROWS_LIMIT_BYTES ((size_t)4 << 30)

void tn_system_rows_init(tn_system_rows *rows, tarn_env *env, const tn_field *fields,
                         int32_t n_fields, const bool *wanted) {
  memset(rows, 0, sizeof(*rows));
  rows->env = env;
  rows->fields = fields;
  rows->n_fields = n_fields;
  rows->wanted = wanted;
  tn_arena_init(&rows->arena, &env->mem, ROWS_LIMIT_BYTES);
}

void tn_system_rows_reset(tn_system_rows *rows) {
  tn_arena_reset(&rows->arena);
  rows->rows = NULL;
  rows->count = rows->capacity = 0;
}

static tn_cell *null_cells(tn_arena *arena, size_t n) {
  tn_cell *cells = tn_arena_calloc(arena, n, sizeof(*cells));
  for (size_t i = 0; cells != NULL && i < n; i++) {
    cells[i].is_null = true;
  }
  return cells;
}

tarn_status tn_system_rows_add(tn_system_rows *rows, tarn_error *err) {
  tn_cell *cells;
  if (!tn_arena_grow(&rows->arena, (void **)&rows->rows, &rows->capacity, rows->count,
                     sizeof(*rows->rows))) {
    return tn_oom(err);
  }
  cells = null_cells(&rows->arena, (size_t)rows->n_fields);
  if (cells == NULL) {
    return tn_oom(err);
  }
  rows->rows[rows->count++] = cells;
  return TARN_OK;
}

/* ------------------------------------------------------------------ cells */

static tn_cell *last_cell(tn_system_rows *rows, int32_t column) {
  return &rows->rows[rows->count - 1][column];
}

void tn_system_cell_int(tn_cell *cell, int64_t value) {
  cell->is_null = false;
  cell->v.number = value;
}

tarn_status tn_system_cell_text(tn_system_rows *rows, tn_cell *cell, tn_slice text,
                                tarn_error *err) {
  cell->is_null = false;
  return tn_arena_slice(&rows->arena, text, &cell->v.text) ? TARN_OK : tn_oom(err);
}

static tarn_status set_items(tn_system_rows *rows, tn_cell *cell, int64_t n, tarn_error *err) {
  cell->is_null = false;
  cell->v.list.count = n;
  cell->v.list.items = null_cells(&rows->arena, (size_t)n);
  return cell->v.list.items != NULL ? TARN_OK : tn_oom(err);
}

tarn_status tn_system_cell_row(tn_system_rows *rows, tn_cell *cell, int32_t n, tarn_error *err) {
  return set_items(rows, cell, n, err);
}

void tn_system_rows_int(tn_system_rows *rows, int32_t column, int64_t value) {
  tn_system_cell_int(last_cell(rows, column), value);
}

tarn_status tn_system_rows_slice(tn_system_rows *rows, int32_t column, tn_slice text,
                                 tarn_error *err) {
  return tn_system_cell_text(rows, last_cell(rows, column), text, err);
}

tarn_status tn_system_rows_text(tn_system_rows *rows, int32_t column, const char *text,
                                tarn_error *err) {
  return text != NULL ? tn_system_rows_slice(rows, column, tn_slice_text(text), err) : TARN_OK;
}

tarn_status tn_system_rows_list(tn_system_rows *rows, int32_t column, int64_t n, tn_cell **items,
                                tarn_error *err) {
  tn_cell *cell = last_cell(rows, column);
  TN_TRY(set_items(rows, cell, n, err));
  *items = cell->v.list.items;
  return TARN_OK;
}

/* ------------------------------------------------------------------ vectors */

/* Cells of one column; of items: those of all lists one behind the other. */
typedef struct cell_column {
  const tn_cell **cells;
  int64_t n;
} cell_column;

static tarn_status fill_valid(tarn_env *env, const cell_column *c, tn_vec *out, tarn_error *err) {
  int64_t nulls = 0;
  for (int64_t i = 0; i < c->n; i++) {
    nulls += c->cells[i]->is_null;
  }
  if (nulls == 0) {
    return TARN_OK;
  }
  TN_TRY(tn_vec_alloc_valid(env, out, true, err));
  for (int64_t i = 0; i < c->n; i++) {
    if (c->cells[i]->is_null) {
      tn_bit_clear(out->valid, i);
    }
  }
  out->null_count = nulls;
  return TARN_OK;
}

static tarn_status fill_numbers(tarn_env *env, const cell_column *c, tn_vec *out, tarn_error *err) {
  TN_TRY(tn_vec_alloc(env, out, c->n, 0, err));
  for (int64_t i = 0; i < c->n; i++) {
    int64_t value = c->cells[i]->is_null ? 0 : c->cells[i]->v.number;
    if (out->layout == TN_LAYOUT_I64) {
      ((int64_t *)out->values)[i] = value;
    } else if (out->layout == TN_LAYOUT_I32) {
      ((int32_t *)out->values)[i] = (int32_t)value;
    } else if (value != 0) {
      tn_bit_set(out->values, i);
    }
  }
  return TARN_OK;
}

static tarn_status fill_texts(tarn_env *env, const cell_column *c, tn_vec *out, tarn_error *err) {
  size_t n_bytes = 0;
  for (int64_t i = 0; i < c->n; i++) {
    n_bytes += c->cells[i]->is_null ? 0 : c->cells[i]->v.text.len;
  }
  if (n_bytes > INT32_MAX) {
    return tn_fail(err, TARN_E_LIMIT, "texts of a system table take %zu bytes: ask for fewer rows",
                   n_bytes);
  }
  TN_TRY(tn_vec_alloc(env, out, c->n, n_bytes, err));
  for (int64_t i = 0; i < c->n; i++) {
    tn_slice text = c->cells[i]->is_null ? tn_slice_of(NULL, 0) : c->cells[i]->v.text;
    if (text.len > 0) {
      memcpy((uint8_t *)out->values + out->offsets[i], text.data, text.len);
    }
    out->offsets[i + 1] = out->offsets[i] + (int32_t)text.len;
  }
  return TARN_OK;
}

/* The items of all lists, in c's arena. */
static tarn_status gather_items(tn_arena *arena, const cell_column *c, cell_column *out,
                                tarn_error *err) {
  int64_t n = 0, at = 0;
  for (int64_t i = 0; i < c->n; i++) {
    n += c->cells[i]->is_null ? 0 : c->cells[i]->v.list.count;
  }
  out->n = n;
  out->cells = tn_arena_calloc(arena, (size_t)n, sizeof(*out->cells));
  if (out->cells == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < c->n; i++) {
    int64_t count = c->cells[i]->is_null ? 0 : c->cells[i]->v.list.count;
    for (int64_t j = 0; j < count; j++) {
      out->cells[at++] = &c->cells[i]->v.list.items[j];
    }
  }
  return TARN_OK;
}

static tarn_status fill(tarn_env *env, tn_arena *arena, const cell_column *c, tn_vec *out,
                        tarn_error *err);

static tarn_status fill_lists(tarn_env *env, tn_arena *arena, const cell_column *c, tn_vec *out,
                              tarn_error *err) {
  cell_column items;
  TN_TRY(gather_items(arena, c, &items, err));
  if (items.n > INT32_MAX) {
    return tn_fail(err, TARN_E_LIMIT, "lists of a system table have %lld items",
                   (long long)items.n);
  }
  TN_TRY(tn_vec_alloc(env, out, c->n, 0, err));
  for (int64_t i = 0; i < c->n; i++) {
    out->offsets[i + 1] =
        out->offsets[i] + (int32_t)(c->cells[i]->is_null ? 0 : c->cells[i]->v.list.count);
  }
  return fill(env, arena, &items, &out->children[0], err);
}

/* ROWs of these tables are never null. */
static tarn_status fill_rows(tarn_env *env, tn_arena *arena, const cell_column *c, tn_vec *out,
                             tarn_error *err) {
  cell_column field = {tn_arena_calloc(arena, (size_t)c->n, sizeof(*field.cells)), c->n};
  if (field.cells == NULL) {
    return tn_oom(err);
  }
  TN_TRY(tn_vec_alloc(env, out, c->n, 0, err));
  for (int32_t f = 0; f < out->n_children; f++) {
    for (int64_t i = 0; i < c->n; i++) {
      field.cells[i] = &c->cells[i]->v.list.items[f];
    }
    TN_TRY(fill(env, arena, &field, &out->children[f], err));
  }
  return TARN_OK;
}

/* As deep as the types of system tables, which are constants. */
static tarn_status fill(tarn_env *env, tn_arena *arena, const cell_column *c, tn_vec *out,
                        tarn_error *err) {
  switch (out->layout) {
    case TN_LAYOUT_BYTES:
      TN_TRY(fill_texts(env, c, out, err));
      break;
    case TN_LAYOUT_LIST:
      TN_TRY(fill_lists(env, arena, c, out, err));
      break;
    case TN_LAYOUT_STRUCT:
      return fill_rows(env, arena, c, out, err);
    default:
      TN_TRY(fill_numbers(env, c, out, err));
      break;
  }
  return fill_valid(env, c, out, err);
}

static tarn_status finish_column(tn_system_rows *rows, tn_arena *scratch, int32_t column,
                                 tn_vec *out, tarn_error *err) {
  cell_column c = {tn_arena_calloc(scratch, rows->count, sizeof(*c.cells)), (int64_t)rows->count};
  if (c.cells == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < rows->count; i++) {
    c.cells[i] = &rows->rows[i][column];
  }
  return fill(rows->env, scratch, &c, out, err);
}

tarn_status tn_system_rows_finish(tn_system_rows *rows, tn_batch *out, tarn_error *err) {
  tn_arena scratch;
  tarn_status st = TARN_OK;
  tn_arena_init(&scratch, &rows->env->mem, ROWS_LIMIT_BYTES);
  for (int32_t i = 0; i < rows->n_fields; i++) {
    if (tn_system_rows_wants(rows, i)) {
      TN_TRY_TO(done, finish_column(rows, &scratch, i, &out->columns[i], err));
    } else {
      TN_TRY_TO(done, tn_vec_init_nulls(rows->env, &rows->fields[i].type, (int64_t)rows->count,
                                        false, &out->columns[i], err));
    }
  }
  out->n_rows = (int64_t)rows->count;
  out->first_position = -1;
done:
  tn_arena_reset(&scratch);
  return st;
}
