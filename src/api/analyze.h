/* analyze.h - statistics of a table and of its columns. */
#ifndef TN_API_ANALYZE_H
#define TN_API_ANALYZE_H

#include "api/handles.h"
#include "model/statistics.h"

/* Read the table's latest snapshot: its rows, and with_columns what they hold in each column of an
 * atomic type. All is put into the arena. */
TN_CHECKED tarn_status tn_api_analyze(tn_table *table, bool with_columns, const tarn_cancel *cancel,
                                      tn_arena *arena, int64_t *n_rows,
                                      tn_column_statistics **columns, int32_t *n_columns,
                                      tarn_error *err);

#endif
