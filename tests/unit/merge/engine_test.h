/* engine_test.h - rows of whole tables, merged by a folding engine, from text to text.
 *
 * A table is "k INT NOT NULL, a INT, ..." with the primary key k (the first column) and options
 * "key=value; key=value". Rows are "+I[1,5,null]", blank separated, kinds as Java writes them; each
 * is a run of its own with the next sequence number, unless runs are given one by one with "|"
 * between them. "@n" sets the level of what follows, "~" begins and ends rows that are looked up.
 */
#ifndef TN_TESTS_ENGINE_TEST_H
#define TN_TESTS_ENGINE_TEST_H

#include "column_test.h"
#include "merge/key.h"
#include "merge/merge.h"
#include "support/test.h"

#define ENGINE_COLUMNS 16

typedef struct engine_row {
  int64_t sequence;
  int8_t kind;
  int32_t level;
  bool is_looked_up;
  const char *values[ENGINE_COLUMNS]; /* JSON */
} engine_row;

typedef struct engine_table {
  tarn_env *env;
  tn_arena arena;
  tn_schema *schema;
  tn_options options;
  tn_merge_options *merge;
  int32_t sequence_columns[4];
  int32_t n_sequence_columns;
  const tn_engine_ops *engine;

  /* May be changed before a merge. */
  bool keeps_deletes, needs_lookup, merges_single_rows, shows_sequences;
  const char *projection; /* comma separated names; NULL: all */
  const char *filter;     /* in SQL; NULL: none */
  int64_t batch_rows, input_rows;
  const tn_merge_changes *changes; /* the result is that of steps (step_test.h); NULL: rows */
} engine_table;

/* Errors are those of the options. */
tarn_status engine_table_open(engine_table *t, tarn_env *env, const tn_engine_ops *engine,
                              const char *columns, const char *options, tarn_error *err);
void engine_table_close(engine_table *t);
/* "+I[1,5,null] ..."; with sequence numbers "+I7[1,5,null]"; freed with free(). */
tarn_status engine_merge_text(engine_table *t, const char *rows, char **out, tarn_error *err);
/* The same of runs of rows, each in the order of its keys. Sequence numbers are the rows' own. */
tarn_status engine_merge_runs(engine_table *t, engine_row *const *runs, const int32_t *n_rows,
                              int32_t n_runs, char **out, tarn_error *err);

#endif
