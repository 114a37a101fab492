/* system_test.h - system tables of small tables in memory, read to text. */
#ifndef TN_TESTS_UNIT_CATALOG_SYSTEM_TEST_H
#define TN_TESTS_UNIT_CATALOG_SYSTEM_TEST_H

#include "catalog/system.h"
#include "data_maker.h"

typedef struct system_test {
  table_maker tm;
  tn_table *table;
  const char *system; /* which table is read */
  const char *select; /* "a,b"; NULL: all columns */
  const char *where;  /* NULL: all rows */
  const char *dynamic;
  int64_t limit, batch_rows;
  bool with_row_kind;
  int32_t n_batches;
  tn_buf text;
} system_test;

void st_begin(system_test *t, int32_t threads);
void st_end(system_test *t);
/* Open the table of the last schema with dynamic options "a=b;c=d". */
void st_open(system_test *t, const char *dynamic);
tarn_status st_read(system_test *t, tarn_error *error); /* into t->text */
/* Read and compare: rows "1|a;2|b", arrays as [a,b], ROWs as (a,b). */
void st_assert(system_test *t, const char *expected);
void st_assert_fails(system_test *t, tarn_status status, const char *text);
/* Columns as "name TYPE, name TYPE". */
void st_assert_columns(system_test *t, const char *expected);
/* Append a batch likewise. */
void st_text(tarn_env *env, const tn_batch *batch, tn_buf *out);

#endif
