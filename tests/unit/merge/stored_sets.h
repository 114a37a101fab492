/* stored_sets.h - unions that Java made (data/stored-sets.txt), for the tests of bitmaps and
 * sketches. Failures are cmocka's.
 */
#ifndef TN_TESTS_STORED_SETS_H
#define TN_TESTS_STORED_SETS_H

#include "base/env.h"
#include "merge/fold.h"

#define MAX_SETS 12

typedef struct stored_bytes {
  uint8_t *data; /* malloc'ed */
  size_t len;
} stored_bytes;

/* A line of the file. */
typedef struct stored_union {
  const tn_fold_function *function;
  const char *note;
  stored_bytes result, inputs[MAX_SETS];
  int32_t n_inputs;
} stored_union;

/* For every line whose function is the one called `word`; at least `least` of them. */
void each_stored_union(const char *word, const tn_fold_function *function, int32_t least,
                       void (*use)(const stored_union *u));

/* The value of one group: inputs in order, with their operations (NULL: ADD). *out is freed with
 * free(); its data is NULL when it is null. */
tarn_status fold_stored(tarn_env *env, const tn_fold_function *function, bool ignores_retract,
                        const stored_bytes *inputs, const uint8_t *ops, int32_t n,
                        stored_bytes *out, tarn_error *err);

/* What holds for each: the result; the same from the other side; a result or CORRUPT when an input
 * is cut anywhere; failing allocations. */
void assert_united(const stored_union *u);
void assert_united_from_behind(const stored_union *u);
void assert_survives_cuts(const stored_union *u);
void assert_survives_torture(const stored_union *u);

#endif
