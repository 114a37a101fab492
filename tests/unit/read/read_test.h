/* read_test.h - splits by hand, read to text. */
#ifndef TN_TESTS_UNIT_READ_READ_TEST_H
#define TN_TESTS_UNIT_READ_READ_TEST_H

#include "data_maker.h"
#include "read/read.h"

#define MAX_SPLITS 8
#define MAX_FILES 16

typedef struct read_test {
  table_maker tm;
  tn_table *table;
  tn_plan plan; /* never freed by its count */
  tn_split splits[MAX_SPLITS];
  const tn_split *split_ptrs[MAX_SPLITS];
  tn_data_file files[MAX_SPLITS][MAX_FILES];
  tn_dv_place deletions[MAX_SPLITS][MAX_FILES];
  int32_t n_splits;
  tn_read_options o;
  const char *where; /* NULL: all rows */
  tn_field fields[16];
  tn_buf text;
  int32_t n_batches;
  bool sorts_rows; /* the text has its rows sorted: for several threads */
} read_test;

void rt_begin(read_test *t, int32_t threads);
void rt_begin_in(read_test *t, tarn_env *env);
void rt_end(read_test *t);
/* Open the table of the last schema; o.fields are all its columns. */
void rt_open(read_test *t, const char *dynamic);
/* Only these columns, "v,k". */
void rt_select(read_test *t, const char *names);

/* A new split, in bucket 0 of the unpartitioned table; raw convertible or not. */
tn_split *rt_split(read_test *t, bool is_raw);
/* Add a file to the last split; change what else it should be. */
tn_data_file *rt_add(read_test *t, tn_data_file file);
void rt_delete(read_test *t, const char *positions); /* of the last file */

tarn_status rt_read(read_test *t, tarn_error *err); /* into t->text */
/* Read and compare: rows "1|a;2|b". */
void rt_assert(read_test *t, const char *expected);
void rt_assert_fails(read_test *t, tarn_status status, const char *text);

/* Fail each allocation of reading what `make` sets up (rt_begin_in and so on) in turn: it must give
 * NOMEM, or all rows, and leave nothing behind. Returns the number of runs. */
int64_t rt_fail_each_allocation(void (*make)(read_test *t, tarn_env *env), int64_t n_rows);

#endif
