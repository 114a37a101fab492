/* merge_options.h - what the options of a table say about its merge engine, column by column.
 *
 * Names are columns here: options use the names of the latest schema, and columns of the effective
 * one are found by id. Immutable, part of a table. Rule: PartialUpdateMergeFunction.Factory,
 * AggregateMergeFunction.Factory; spec: merge-engines, 5-6.
 */
#ifndef TN_MODEL_MERGE_OPTIONS_H
#define TN_MODEL_MERGE_OPTIONS_H

#include "model/options.h"

/* A sequence group of partial-update: its members are updated by rows that are not older in the
 * order of its sequence columns. */
typedef struct tn_sequence_group {
  const char *option; /* its key, for messages */
  int32_t *columns;   /* sequence columns, most significant first */
  int32_t n_columns;
  bool removes_record; /* partial-update.remove-record-on-sequence-group names one of them */
} tn_sequence_group;

/* How the engine treats one column. */
typedef struct tn_column_merge {
  const char *function; /* name; NULL: none (partial-update) */
  int32_t group;        /* sequence group that it belongs to; -1: none */
  bool orders_group;    /* it is a sequence column of the group, else a member */
  bool is_key;          /* of the primary key, partition columns included: no function */
  bool ignores_retract, is_distinct;
  const char *delimiter;
  int32_t count_limit;
  const char *nested_key; /* comma separated names; NULL: none */
  const char *time_field; /* NULL: the last one */
} tn_column_merge;

typedef struct tn_merge_options {
  tn_column_merge *columns; /* one a field of the effective schema */
  int32_t n_columns;
  tn_sequence_group *groups;
  int32_t n_groups;
  bool removes_record_on_delete; /* the option of the table's engine */
} tn_merge_options;

/* Read the options of partial-update (is_partial_update) or aggregation.
 *
 * named_by          the schema whose column names the options use
 * schema            the effective one
 * sequence_columns  of the option sequence.field, in `schema`
 *
 * Functions are not looked up here. Errors: INVALID (names that are no columns, a column in two
 * groups, options that exclude each other, a function without a group), UNSUPPORTED (a sequence
 * column that the effective schema lacks; sequence groups that share columns). */
TN_CHECKED tarn_status tn_merge_options_read(tn_arena *arena, const tn_options *options,
                                             const tn_schema *named_by, const tn_schema *schema,
                                             bool is_partial_update,
                                             const int32_t *sequence_columns,
                                             int32_t n_sequence_columns, tn_merge_options **out,
                                             tarn_error *err);

/* Must `column` be read when the columns in `wanted` (a flag each) are: is it one of them, or a
 * sequence column of a group that has one of them, or that can remove the record? */
bool tn_merge_options_needs(const tn_merge_options *options, const bool *wanted, int32_t column);

#endif
