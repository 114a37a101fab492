/* merge.h - k sorted runs in, one stream of merged rows out.
 *
 *   inputs          plan                       engine              output
 *   run 0  k.....   (source, row) in key       per group: pick     columns gathered once,
 *   run 1  k.....   order, group borders   ->  or fold, a column ->  value columns read only for
 *   run 2  k.....                              at a time           batches with surviving rows
 *
 * Terms: a *run* is a sequence of rows with ascending, unique keys. A *group* is all rows of one
 * key over all runs. A *source* is one batch of one run that the current plan refers to.
 *
 * Invariants
 *   M1  Rows of a group are in merge order: user sequence fields (nulls oldest; descending as the
 *       table says), then _SEQUENCE_NUMBER, then the rank of the source (tn_merge_rows.rank), then
 *       the order of the inputs.
 *   M2  A group is given to the engine whole, even when its rows lie in several batches of a run
 *       (they cannot: keys are unique in a run) or when an input ends inside it.
 *   M3  A group of one row is taken unchanged (the engine's merge is not called), unless the engine
 *       says otherwise or a table that needs lookup is compacted (reading and flushing one takes it
 *       unchanged, too: ReducerMergeFunctionWrapper). Spec: merge-engines, 1 "Single-record
 *       shortcut".
 *   M4  Values of a batch are asked of its input at most once, and before its next key batch. A
 *       folding engine asks for those of every batch that has a row in the plan.
 *   M5  Tables that need lookup merge, of one key, only the rows of level <= 0 and the one row of
 *       the smallest level > 0 (spec: merge-engines, 1 "stale versions").
 *   M6  A run whose keys descend is CORRUPT as far as the 8-byte prefixes tell, never merged
 *       wrongly in silence.
 *   M7  A group of which all rows are looked up (tn_merge_rows.is_looked_up) is left out.
 *
 * Ties. Two writers that were open at once give equal sequence numbers to rows of one key; Paimon
 * leaves their order open (spec: merge-engines, 2). Here the rank decides, which must only depend
 * on facts that reading and compaction both see. Whoever makes inputs ranks files so: a higher
 * level is older; then the file with the smaller maximal sequence number; then the one that was
 * created earlier; then the one that comes first in the list of files (that is: was committed
 * earlier). A read before a compaction and after it then agree.
 *
 * Rule: org.apache.paimon.mergetree.{MergeTreeReaders,SortMergeReader*,LookupMergeFunction}.
 */
#ifndef TN_MERGE_MERGE_H
#define TN_MERGE_MERGE_H

#include "base/cancel.h"
#include "column/predicate.h"
#include "column/rowkind.h"
#include "column/vector.h"
#include "model/merge_options.h"

/* ------------------------------------------------------------------ inputs */

typedef struct tn_merge_input tn_merge_input;

/* The key part of some rows of a run. Owned by whoever holds the struct; reset with
 * tn_merge_rows_reset. */
typedef struct tn_merge_rows {
  tn_batch keys;      /* columns in the order of tn_merge_spec.key_fields; n_rows == 0: the end */
  int64_t *sequences; /* n_rows numbers, NULL when constant (then `sequence` holds for all) */
  int64_t sequence;
  int8_t *kinds;    /* n_rows row kinds, NULL: all +I */
  uint8_t *alive;   /* bitmap; cleared rows are deleted by a vector or dropped; NULL: all alive */
  int32_t level;    /* of the file the rows come from */
  int32_t rank;     /* of the file among all files of the merge: larger is newer (M1) */
  const char *path; /* of the file, for messages; borrowed as long as the input lives */
  int32_t file;     /* the input's own number of the file, for tn_merge_group */
  /* Rows that a compaction looks up below its output: they take part in the groups of its input,
   * but make none (M7). */
  bool is_looked_up;
  /* References to what holds the three arrays above; NULL where the arrays are NULL. */
  tn_buffer *sequences_buffer, *kinds_buffer, *alive_buffer;
} tn_merge_rows;

void tn_merge_rows_reset(tarn_env *env, tn_merge_rows *rows);

typedef struct tn_merge_input_ops {
  /* The next rows of the run (fewer than max_rows are fine). out was reset by the caller. */
  tarn_status (*next)(tn_merge_input *input, int64_t max_rows, tn_merge_rows *out, tarn_error *err);
  /* The value columns (tn_merge_spec.value_fields) of the rows next() gave last, of any encoding.
   * When it is not called before the next next(), their values are stepped over. out is all zero.
   */
  tarn_status (*values)(tn_merge_input *input, tn_batch *out, tarn_error *err);
  void (*free)(tn_merge_input *input);
} tn_merge_input_ops;

struct tn_merge_input {
  const tn_merge_input_ops *ops;
};

/* ------------------------------------------------------------------ engines */

/* What one output batch is made of. */
typedef struct tn_merge_plan {
  int32_t n_sources;
  const tn_merge_rows *const *sources;
  int64_t n_rows;
  const tn_row_ref *rows; /* all rows, in merge order (M1) */
  int64_t n_groups;
  const uint32_t *groups; /* n_groups + 1 borders in rows */
  bool ignore_delete;     /* the option of that name */
  bool keeps_single_rows; /* M3: a group of one row is taken unchanged */
} tn_merge_plan;

static inline int8_t tn_merge_kind(const tn_merge_plan *plan, int64_t i) {
  const tn_merge_rows *s = plan->sources[plan->rows[i].source];
  return s->kinds != NULL ? s->kinds[plan->rows[i].row] : (int8_t)TN_ROW_INSERT;
}

static inline int64_t tn_merge_sequence(const tn_merge_plan *plan, int64_t i) {
  const tn_merge_rows *s = plan->sources[plan->rows[i].source];
  return s->sequences != NULL ? s->sequences[plan->rows[i].row] : s->sequence;
}

typedef struct tn_fold tn_fold;               /* fold_engine.h */
typedef struct tn_fold_layout tn_fold_layout; /* likewise */

/* A merge engine as a function over plans: it selects rows, or it folds them. */
typedef struct tn_engine_ops {
  const char *name; /* the value of the option merge-engine */
  /* Is a group of one row merged, too (M3)? */
  bool wants_single_rows;
  /* Selecting engines: for each group the index (into plan->rows) of the surviving row, or -1. */
  tarn_status (*pick)(const tn_merge_plan *plan, int64_t *picks, tarn_error *err);
  /* Folding engines; NULL: it selects. */
  tarn_status (*fold)(tn_fold *fold, tarn_error *err);
} tn_engine_ops;

extern const tn_engine_ops tn_engine_deduplicate;
extern const tn_engine_ops tn_engine_first_row;
extern const tn_engine_ops tn_engine_partial_update;
extern const tn_engine_ops tn_engine_aggregation;
/* The refusal of a retraction in a first-row table: INVALID, in Java's words. */
tarn_status tn_first_row_refuse(const char *path, tarn_error *err);

/* How a folding engine treats the columns of a merge: key_fields (the first n_keys are the key),
 * then value_fields. All is in the arena; fields are borrowed. Columns that
 * tn_merge_options_needs() asks for must be among them. Errors: INVALID (functions). */
TN_CHECKED tarn_status tn_fold_layout_make(tn_arena *arena, const tn_engine_ops *engine,
                                           const tn_merge_options *options, const tn_schema *schema,
                                           const tn_field *key_fields, int32_t n_keys,
                                           int32_t n_key_fields, const tn_field *value_fields,
                                           int32_t n_value_fields, tn_fold_layout **out,
                                           tarn_error *err);

/* ------------------------------------------------------------------ the merger */

typedef struct tn_merge_spec {
  const tn_field *key_fields; /* key columns, then user sequence fields */
  int32_t n_keys;             /* the first n_keys of them are the key */
  int32_t n_sequence_fields;  /* the rest that orders (more columns may follow, for the output) */
  int32_t n_key_fields;       /* all columns of the key part */
  tn_slice common_start;      /* of all values of the first key column; see tn_key_prefixes */
  bool sequence_descending;
  const tn_field *value_fields; /* columns that come late */
  int32_t n_value_fields;
  /* Output columns: from the key part (index into key_fields) when >= 0, else from the value part
   * (index -1 - x into value_fields). */
  const tn_field *out_fields;
  const int32_t *out_columns;
  int32_t n_out_columns;
  /* Rows that do not satisfy `filter` once merged are dropped (NULL: none are). Of selecting
   * engines it tests columns of the key part, so that values of batches without a row that passes
   * are not read; of folding ones any columns. */
  const tn_pred *filter;
  const tn_field *filter_fields;
  const int32_t *filter_columns; /* as out_columns */
  int32_t n_filter_columns;
  const tn_engine_ops *engine;
  const tn_fold_layout *layout; /* of folding engines; borrowed */
  bool ignore_delete;
  bool needs_lookup;       /* M5 */
  bool merges_single_rows; /* M3: the table needs lookup, and this is a compaction */
  bool keeps_deletes;      /* false: rows whose merged kind is a retraction are dropped */
  int64_t batch_rows;      /* the most rows of an output batch */
  int64_t input_rows;      /* the most rows asked of an input at once */
  const tarn_cancel *cancel;
} tn_merge_spec;

typedef struct tn_merger tn_merger;

/* Takes the inputs (freed with the merger, on failure too). One input is fine. The spec's arrays
 * are borrowed until the merger is freed; the struct is copied. */
TN_CHECKED tarn_status tn_merger_create(tarn_env *env, const tn_merge_spec *spec,
                                        tn_merge_input **inputs, int32_t n_inputs, tn_merger **out,
                                        tarn_error *err);
/* The next rows, ascending by key: flat columns. n_rows == 0: the end. kinds and sequences (may be
 * NULL) get buffers of int8 row kinds and int64 sequence numbers, owned by the caller. After a
 * failure only tn_merger_free is allowed. Errors: CORRUPT (M6, a null key), CANCELLED, INVALID (the
 * engine's), the inputs', NOMEM, LIMIT.
 */
TN_CHECKED tarn_status tn_merger_next(tn_merger *merger, tn_batch *out, tn_buffer **kinds,
                                      tn_buffer **sequences, tarn_error *err);
void tn_merger_free(tn_merger *merger); /* accepts NULL */

/* ------------------------------------------------------------------ changes */

/* What was there before a group's newest rows: the row that a changelog or a deletion vector
 * speaks of. */
typedef enum tn_merge_before {
  TN_BEFORE_NONE,
  TN_BEFORE_DEEPER, /* the row of the smallest level > 0, looked-up ones too */
  TN_BEFORE_TOP     /* the row at level tn_merge_changes.top_level; two of them are CORRUPT */
} tn_merge_before;

typedef struct tn_merge_changes {
  tn_merge_before before;
  int32_t top_level;      /* with TN_BEFORE_TOP */
  bool gives_before_rows; /* false: only where they lie; their values are not read */
} tn_merge_changes;

/* One key. */
typedef struct tn_merge_group {
  int32_t after; /* row of tn_merge_step.after; -1: the engine leaves nothing */
  /* Row of tn_merge_step.before; -1: there was none, rows are not given, or no change can come of
   * the group: TN_BEFORE_DEEPER, and it is not fresh; TN_BEFORE_TOP, and it is single. */
  int32_t before;
  bool has_before;
  bool is_fresh;            /* has a row of level <= 0 */
  bool is_single;           /* one row in all */
  bool after_is_looked_up;  /* the surviving row is one (of selecting engines): it stays there */
  bool before_is_looked_up; /* has_before */
  int32_t before_file;      /* has_before: tn_merge_rows.file, and the row's place in the file */
  int64_t before_position;
} tn_merge_group;

/* Some keys, ascending. */
typedef struct tn_merge_step {
  int64_t n_groups; /* 0: the end; the rest is all zero then */
  const tn_merge_group *groups;
  /* Merged rows, retractions too; spec.keeps_deletes is not looked at. Flat columns as of
   * tn_merger_next, and parallel to the rows kinds (int8) and sequence numbers (int64). */
  tn_batch after, before;
  tn_buffer *after_kinds, *after_sequences, *before_kinds, *before_sequences;
} tn_merge_step;

/* As tn_merger_create, for tn_merger_step. spec.filter must be NULL. */
TN_CHECKED tarn_status tn_merger_create_changes(tarn_env *env, const tn_merge_spec *spec,
                                                const tn_merge_changes *changes,
                                                tn_merge_input **inputs, int32_t n_inputs,
                                                tn_merger **out, tarn_error *err);
/* The next keys. out was reset by the caller, who owns its batches and buffers; groups are the
 * merger's until the next call. Errors: as tn_merger_next. */
TN_CHECKED tarn_status tn_merger_step(tn_merger *merger, tn_merge_step *out, tarn_error *err);
void tn_merge_step_reset(tarn_env *env, tn_merge_step *step); /* accepts all zero */

#endif
