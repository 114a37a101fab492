/* fold_test.h - one column folded from text, for the tests of aggregate functions.
 *
 * Rows are the items of a JSON array (column_test.h). Steps are groups parted by "|", each a
 * blank-separated list of row numbers with an operation in front: "0 +1 ~2 -3 =4": + (or nothing)
 * ADD, ~ ADD_REVERSED, - RETRACT, = SET.
 */
#ifndef TN_TESTS_FOLD_TEST_H
#define TN_TESTS_FOLD_TEST_H

#include "column_test.h"
#include "merge/fold.h"

typedef struct fold_case {
  const tn_fold_function *function;
  const char *type, *rows, *steps;
  const char *expected; /* the JSON of the groups' values */
  bool ignores_retract, is_distinct;
  int32_t count_limit; /* 0: none */
  int32_t nested_keys[4], n_nested_keys;
  int32_t time_field;    /* -1: the last; 0 is the first */
  const char *delimiter; /* NULL: a comma */
} fold_case;

/* Fold the rows, given as sources in every encoding that nested and binary columns have; the status
 * and err are those of fold() or pick(). *text (may be NULL) is freed with free(). */
tarn_status fold_text(tarn_env *env, tn_arena *arena, const fold_case *c, char encoding,
                      char **text, tarn_error *err);
void assert_folded(const fold_case *c);
void assert_folds_refused(const fold_case *c, tarn_status status, const char *words);
/* check() of the function for the column. */
tarn_status check_column(const fold_case *c, tarn_error *err);
/* Each allocation of the case fails once. */
void assert_fold_survives_torture(const fold_case *c);

#endif
