/* system_rows.h - building the rows of a system table cell by cell.
 *
 * Rows are few; cells are set in any order, unset ones are null. finish() makes the columns.
 */
#ifndef TN_CATALOG_SYSTEM_ROWS_H
#define TN_CATALOG_SYSTEM_ROWS_H

#include "column/datum.h"

typedef struct tn_system_rows {
  tarn_env *env;
  tn_arena arena; /* of cells and their texts */
  const tn_field *fields;
  int32_t n_fields;
  tn_datum **rows; /* n_fields cells each */
  size_t count, capacity;
} tn_system_rows;

void tn_system_rows_init(tn_system_rows *rows, tarn_env *env, const tn_field *fields,
                         int32_t n_fields);
void tn_system_rows_reset(tn_system_rows *rows);
/* A new row, all null. */
TN_CHECKED tarn_status tn_system_rows_add(tn_system_rows *rows, tarn_error *err);
/* Cells of the last row. Text is copied; NULL text stays null. */
void tn_system_rows_int(tn_system_rows *rows, int32_t column, int64_t value);
TN_CHECKED tarn_status tn_system_rows_text(tn_system_rows *rows, int32_t column, const char *text,
                                           tarn_error *err);
TN_CHECKED tarn_status tn_system_rows_slice(tn_system_rows *rows, int32_t column, tn_slice text,
                                            tarn_error *err);
/* Flat columns into `out` (initialised with the fields); the rows stay. */
TN_CHECKED tarn_status tn_system_rows_finish(tn_system_rows *rows, tn_batch *out, tarn_error *err);

#endif
