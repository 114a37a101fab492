/* data_maker.h - small data files in memory, in Avro, for the tables of plan/table_maker.
 *
 * Columns: "k INT NOT NULL|v STRING" (types BOOLEAN, TINYINT .. BIGINT, DOUBLE, STRING, DATE).
 * Rows: "1|a;2|null". Failures are cmocka's.
 */
#ifndef TN_TESTS_UNIT_DATAFILE_DATA_MAKER_H
#define TN_TESTS_UNIT_DATAFILE_DATA_MAKER_H

#include "table_maker.h"

/* A file of these columns at "<folder>/<name>"; the metadata of an append table's file, its name
 * and path in the maker's arena. */
tn_data_file dm_append(table_maker *tm, const char *folder, const char *name, const char *columns,
                       const char *rows);
/* A key-value file of a table whose first n_keys columns are the key: rows begin with sequence
 * number and kind: "7|+|1|a" (kinds + - u b). Level 0; keys, counts and sequence range are those of
 * the rows. */
tn_data_file dm_keyed(table_maker *tm, const char *folder, const char *name, int n_keys,
                      const char *columns, const char *rows);
/* "<folder>/<name>" in the arena. */
const char *dm_path(table_maker *tm, const char *folder, const char *name);

/* A vector of these positions ("0,3,7", ascending, each below 65536); tn_dv_release().
 * dm_deletions_file also stores it as a file of its own and fills its place. */
tn_dv *dm_deletions(table_maker *tm, const char *positions);
tn_dv_place dm_deletions_file(table_maker *tm, const char *path, const char *positions);

/* Rows of a batch as "1|a;2|null", added to `out` (";" between batches); "()" without columns. */
void dm_text(const tn_batch *batch, tn_buf *out);

#endif
