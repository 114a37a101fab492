/* fold.h - merging column by column: the engines that compute values (partial-update,
 * aggregation).
 *
 *   merge plan ── engine ──> steps (of all columns, of each sequence group) ── function of the
 *                            column ──> one value a group
 *
 * The engine decides what is done with which row: it turns the groups of a plan into *steps*.
 * Columns that are treated alike share them. A function folds one column over its steps; it knows
 * nothing of keys, row kinds or sequence groups. Functions are rows of one table (fold_functions in
 * fold.c), found by the name that the option fields.<column>.aggregate-function has.
 *
 * Rule: org.apache.paimon.mergetree.compact.{PartialUpdateMergeFunction,
 * aggregate.AggregateMergeFunction}, aggregate.Field*Agg; spec: merge-engines, 5-6.
 */
#ifndef TN_MERGE_FOLD_H
#define TN_MERGE_FOLD_H

#include "column/vector.h"
#include "model/merge_options.h"

/* What is done with the value of a row. The accumulator of a group starts null. */
typedef enum tn_fold_op {
  TN_FOLD_ADD,          /* acc = agg(acc, value) */
  TN_FOLD_ADD_REVERSED, /* acc = aggReversed(acc, value), mostly agg(value, acc): came too late */
  TN_FOLD_RETRACT,      /* acc = retract(acc, value) */
  TN_FOLD_SET           /* acc = value, whatever it was: a row that is taken unchanged */
} tn_fold_op;

typedef struct tn_fold_steps {
  int64_t n_groups;
  const uint32_t *groups; /* n_groups + 1 borders in rows, the first not always 0; groups may be
                             empty (the value is null) */
  const tn_row_ref *rows; /* in merge order */
  const uint8_t *ops;     /* a tn_fold_op for each of rows; NULL: all ADD */
} tn_fold_steps;

typedef struct tn_fold_function tn_fold_function;

/* A column that is folded: function and its options as values. Immutable. */
typedef struct tn_fold_spec {
  const tn_fold_function *function;
  const tn_field *field;
  bool ignores_retract; /* fields.<c>.ignore-retract: RETRACT leaves the accumulator */
  bool is_distinct;     /* fields.<c>.distinct */
  tn_slice delimiter;   /* fields.<c>.list-agg-delimiter */
  int32_t count_limit;  /* fields.<c>.count-limit */
  int32_t *nested_keys; /* fields.<c>.nested-key: indexes into the fields of the element's ROW */
  int32_t n_nested_keys;
  int32_t time_field; /* fields.<c>.ts-field, likewise; -1: none */
} tn_fold_spec;

/* The values of a column in the sources of a plan. */
typedef struct tn_fold_input {
  tarn_env *env;
  const tn_fold_spec *spec;
  const tn_vec *const *sources; /* any encoding */
  int32_t n_sources;
} tn_fold_input;

struct tn_fold_function {
  const char *name;
  /* Can it fold a column of this type? INVALID in Java's words. NULL: any type. */
  tarn_status (*check)(const tn_fold_spec *spec, tarn_error *err);
  /* Exactly one of the two. pick: the result of each group is the value of one of its rows, or null
   * (refs[g].source == n_sources): it is copied once, with the other columns' machinery. fold: out
   * (all zero) becomes a flat vector of n_groups values. */
  tarn_status (*pick)(const tn_fold_input *in, const tn_fold_steps *steps, tn_row_ref *refs,
                      tarn_error *err);
  tarn_status (*fold)(const tn_fold_input *in, const tn_fold_steps *steps, tn_vec *out,
                      tarn_error *err);
  /* agg(null, x) is x, whatever x: a row that is taken unchanged may come as ADD. Where this is
   * false (distinct, limits, dropped elements) it comes as SET. */
  bool adds_first_as_it_is;
};

/* The function of that name; NULL: there is none. */
const tn_fold_function *tn_fold_function_find(const char *name);
/* A column with a function and its options, names as indexes (in the arena). Errors: INVALID (no
 * such function or inner field, a type that it cannot fold). */
TN_CHECKED tarn_status tn_fold_spec_make(tn_arena *arena, const char *function,
                                         const tn_column_merge *options, const tn_field *field,
                                         tn_fold_spec *out, tarn_error *err);
/* INVALID, Java's words: the function does not support retraction. */
tarn_status tn_fold_refuse_retract(const tn_fold_spec *spec, tarn_error *err);

/* Functions of constructed values (fold_collections.c) and of bitmaps (fold_bitmaps.c). */
extern const tn_fold_function tn_fold_collect, tn_fold_merge_map, tn_fold_merge_map_with_keytime,
    tn_fold_nested_update, tn_fold_nested_partial_update;
extern const tn_fold_function tn_fold_rbm32, tn_fold_rbm64, tn_fold_hll_sketch,
    tn_fold_theta_sketch;

#endif
