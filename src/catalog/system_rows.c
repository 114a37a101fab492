/* system_rows.c - cells row by row in an arena, made into vectors at the end. */
#include "catalog/system_rows.h"

#define ROWS_LIMIT_BYTES ((size_t)1 << 30)

void tn_system_rows_init(tn_system_rows *rows, tarn_env *env, const tn_field *fields,
                         int32_t n_fields) {
  memset(rows, 0, sizeof(*rows));
  rows->env = env;
  rows->fields = fields;
  rows->n_fields = n_fields;
  tn_arena_init(&rows->arena, &env->mem, ROWS_LIMIT_BYTES);
}

void tn_system_rows_reset(tn_system_rows *rows) {
  tn_arena_reset(&rows->arena);
  tn_system_rows_init(rows, rows->env, rows->fields, rows->n_fields);
}

tarn_status tn_system_rows_add(tn_system_rows *rows, tarn_error *err) {
  tn_datum *cells;
  if (!tn_arena_grow(&rows->arena, (void **)&rows->rows, &rows->capacity, rows->count,
                     sizeof(*rows->rows))) {
    return tn_oom(err);
  }
  cells = tn_arena_calloc(&rows->arena, (size_t)rows->n_fields, sizeof(*cells));
  if (cells == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < rows->n_fields; i++) {
    cells[i].is_null = true;
  }
  rows->rows[rows->count++] = cells;
  return TARN_OK;
}

static tn_datum *last_cell(tn_system_rows *rows, int32_t column) {
  return &rows->rows[rows->count - 1][column];
}

void tn_system_rows_int(tn_system_rows *rows, int32_t column, int64_t value) {
  tn_datum *cell = last_cell(rows, column);
  cell->is_null = false;
  cell->v.i64 = value;
}

tarn_status tn_system_rows_slice(tn_system_rows *rows, int32_t column, tn_slice text,
                                 tarn_error *err) {
  tn_datum *cell = last_cell(rows, column);
  cell->is_null = false;
  return tn_arena_slice(&rows->arena, text, &cell->v.bytes) ? TARN_OK : tn_oom(err);
}

tarn_status tn_system_rows_text(tn_system_rows *rows, int32_t column, const char *text,
                                tarn_error *err) {
  return text != NULL ? tn_system_rows_slice(rows, column, tn_slice_text(text), err) : TARN_OK;
}

/* One column: every cell becomes a vector of one row, and a gather joins them. */
static tarn_status finish_column(tn_system_rows *rows, int32_t column, tn_vec *out,
                                 tarn_error *err) {
  tn_mem *mem = &rows->env->mem;
  const tn_type *type = &rows->fields[column].type;
  size_t n = rows->count, made = 0;
  tn_vec *cells = tn_calloc(mem, n, sizeof(*cells));
  const tn_vec **sources = tn_calloc(mem, n, sizeof(*sources));
  tn_row_ref *refs = tn_calloc(mem, n, sizeof(*refs));
  tarn_status st = TARN_OK;
  if (cells == NULL || sources == NULL || refs == NULL) {
    st = tn_oom(err);
    goto done;
  }
  for (; made < n; made++) {
    TN_TRY_TO(done, tn_datum_to_vec(rows->env, type, &rows->rows[made][column], &cells[made], err));
    sources[made] = &cells[made];
    refs[made].source = (uint32_t)made;
  }
  st = tn_vec_gather(rows->env, type, sources, (int32_t)n, refs, (int64_t)n, out, err);
done:
  for (size_t i = 0; i < made; i++) {
    tn_vec_reset(rows->env, &cells[i]);
  }
  tn_free(mem, refs);
  tn_free(mem, sources);
  tn_free(mem, cells);
  return st;
}

tarn_status tn_system_rows_finish(tn_system_rows *rows, tn_batch *out, tarn_error *err) {
  for (int32_t i = 0; i < rows->n_fields; i++) {
    TN_TRY(finish_column(rows, i, &out->columns[i], err));
  }
  out->n_rows = (int64_t)rows->count;
  out->first_position = -1;
  return TARN_OK;
}
