/* merge_test.h - runs from text, merged, and the result as text.
 *
 * A run is rows in key order, blank separated: "key:sequence:kind:value", kinds + - u for +I, -D,
 * +U and b for -U; a user sequence field comes last ("1:0:+:a:9", "-" for null). "|" begins another
 * batch, "!" before a row marks it deleted, "@n" sets the level and "#n" the rank of what follows;
 * behind "~" rows are looked up.
 */
#ifndef TN_TESTS_MERGE_TEST_H
#define TN_TESTS_MERGE_TEST_H

#include "column_test.h"
#include "merge/key.h"
#include "merge/merge.h"
#include "support/test.h"

#define MAX_ROWS 4096
#define MAX_RUNS 16

typedef struct test_row {
  char key[32]; /* JSON of the key */
  int64_t sequence;
  int8_t kind;
  char value[32];
  char user[16]; /* "-" null; "" no such column */
  bool is_deleted, is_looked_up;
  int32_t level, rank;
  bool begins_batch;
} test_row;

typedef struct test_run {
  tn_merge_input input;
  struct merge_test *t;
  test_row *rows;
  int32_t n_rows, at, given; /* given: where the batch of the last next() begins */
  int32_t n_values_calls;
  bool has_constant_sequence; /* tell the first row's number for all rows of a batch */
  tarn_status fails_next, fails_values;
} test_run;

typedef struct merge_test {
  tarn_env *env;
  bool owns_env;
  tn_arena arena;
  tn_field key_fields[2]; /* key, user sequence */
  tn_field value_fields[1];
  tn_field out_fields[2];
  int32_t out_columns[2];
  tn_merge_spec spec;
  test_run runs[MAX_RUNS];
  int32_t n_runs, n_freed;
} merge_test;

void merge_test_begin(merge_test *m, tarn_env *env, const char *key_sql, bool has_user_sequence);
/* The same in an environment of its own. */
void merge_test_open(merge_test *m, const char *key_sql, bool has_user_sequence);
void merge_test_end(merge_test *m);
test_run *add_run(merge_test *m, const char *text);
/* Merge all runs: "k=v k=v", with kinds "k=v-"; batches parted by " | ". The caller frees. */
tarn_status merge_to_text(merge_test *m, bool with_kinds, char **out, tarn_error *err);
/* The same key by key; see step_test.h. */
tarn_status changes_to_text(merge_test *m, const tn_merge_changes *changes, char **out,
                            tarn_error *err);
void assert_merged(merge_test *m, bool with_kinds, const char *expected);
/* What came of a case of a table; errors tell the run. */
void assert_case(const char *name, tarn_status st, const tarn_error *err, const char *text,
                 tarn_status status, const char *expected);

/* ------------------------------------------------------------------ random rows */

/* A row as models of merging see it. */
typedef struct random_row {
  int key, user; /* user -1: null; 0: no such column */
  int64_t sequence;
  int8_t kind;
  bool is_deleted, is_looked_up;
  int run, position, level;
} random_row;

uint32_t next_random(uint32_t *seed);
int random_user(uint32_t *seed, bool has_user_sequence);
/* Merge order straight from the rules, for qsort(). */
int random_row_order(const void *a, const void *b);

#endif
