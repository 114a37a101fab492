/* system_rows.h - building the rows of a system table cell by cell.
 *
 * Cells of the last row are set in any order; unset ones are null. finish() makes the columns of
 * all rows. Columns that nobody asked for need not be set: see tn_system_rows_wants().
 */
#ifndef TN_CATALOG_SYSTEM_ROWS_H
#define TN_CATALOG_SYSTEM_ROWS_H

#include "column/datum.h"

/* BOOLEAN, INT, BIGINT, TIMESTAMP(3): number. STRING: text. ARRAY, ROW: items. */
typedef struct tn_cell {
  bool is_null;
  union {
    int64_t number;
    tn_slice text;
    struct {
      struct tn_cell *items; /* of a ROW: one a field */
      int64_t count;
    } list;
  } v;
} tn_cell;

typedef struct tn_system_rows {
  tarn_env *env;
  tn_arena arena; /* of cells and their texts */
  const tn_field *fields;
  int32_t n_fields;
  const bool *wanted; /* columns that are asked for; NULL: all */
  tn_cell **rows;     /* n_fields cells each */
  size_t count, capacity;
} tn_system_rows;

void tn_system_rows_init(tn_system_rows *rows, tarn_env *env, const tn_field *fields,
                         int32_t n_fields, const bool *wanted);
void tn_system_rows_reset(tn_system_rows *rows); /* drops the rows; they can be used again */
static inline bool tn_system_rows_wants(const tn_system_rows *rows, int32_t column) {
  return rows->wanted == NULL || rows->wanted[column];
}
/* A new row, all null. */
TN_CHECKED tarn_status tn_system_rows_add(tn_system_rows *rows, tarn_error *err);
/* Cells of the last row. Text is copied; NULL text stays null. */
void tn_system_rows_int(tn_system_rows *rows, int32_t column, int64_t value);
TN_CHECKED tarn_status tn_system_rows_text(tn_system_rows *rows, int32_t column, const char *text,
                                           tarn_error *err);
TN_CHECKED tarn_status tn_system_rows_slice(tn_system_rows *rows, int32_t column, tn_slice text,
                                            tarn_error *err);
/* A list of n items, all null; they are the caller's to set, texts in rows->arena. */
TN_CHECKED tarn_status tn_system_rows_list(tn_system_rows *rows, int32_t column, int64_t n,
                                           tn_cell **items, tarn_error *err);
/* Items of a list as a ROW of n fields, all null. */
TN_CHECKED tarn_status tn_system_cell_row(tn_system_rows *rows, tn_cell *cell, int32_t n,
                                          tarn_error *err);
TN_CHECKED tarn_status tn_system_cell_text(tn_system_rows *rows, tn_cell *cell, tn_slice text,
                                           tarn_error *err);
void tn_system_cell_int(tn_cell *cell, int64_t value);
/* Flat columns into `out` (initialised with the fields); the rows stay. Columns that are not wanted
 * are all null. */
TN_CHECKED tarn_status tn_system_rows_finish(tn_system_rows *rows, tn_batch *out, tarn_error *err);

#endif
