/* merger_parts.h - what the files of the merger share. Internal to merge/. */
#ifndef TN_MERGE_MERGER_PARTS_H
#define TN_MERGE_MERGER_PARTS_H

#include "merge/fold_engine.h"
#include "merge/loser_tree.h"
#include "merge/merge.h"

/* A batch of one run; see merge.h. */
typedef struct source {
  struct source *next_free;
  tn_merge_rows rows;
  uint64_t *prefixes; /* of the keys; capacity prefix_capacity */
  int64_t prefix_capacity;
  tn_batch values; /* valid when has_values */
  bool has_values;
  bool is_used; /* has a picked row in this plan */
  bool is_kept; /* looked up, and the plan refers to a row of it */
} source;

typedef struct run_state {
  const uint64_t *prefixes; /* the source's */
  int64_t at, n_rows;       /* the head's row in the source, and its rows; equal: no head */
  const uint8_t *alive;     /* the source's */
  uint32_t source_index;
  bool has_last;
  source *source; /* NULL: at its end */
  tn_merge_input *input;
  uint64_t last_prefix; /* of the source before, if has_last */
} run_state;

/* A column of the layout as the range that is being folded has it. */
typedef struct folded_column {
  bool is_done;
  const tn_row_ref *refs; /* one row a group; NULL: `values` */
  bool may_have_none;     /* refs may be none: null */
  tn_vec values;
  tn_row_ref *own_refs; /* what refs points to, unless they are shared; batch_rows */
  tn_vec nulls;         /* one null, the source behind the last; made when needed */
} folded_column;

/* What is known of a group of more than one row once it is closed. */
enum { GROUP_HAS_BEFORE = 1, GROUP_IS_FRESH = 2, GROUP_GIVES_BEFORE = 4, GROUP_IS_NOTED = 8 };

/* Of a source: what groups that a row of it makes or decides are told. */
typedef struct source_facts {
  int64_t first_position;
  int32_t file;
  bool is_looked_up;
  uint8_t flags; /* of a group of one row */
} source_facts;

/* Of mergers that give changes (merger_changes.c). */
typedef struct merger_changes {
  tn_merge_changes wanted;
  bool is_first_row;
  /* Of the groups of the plan; `before` counts where flags say so, and flags of groups of one row
   * are zero. */
  uint8_t *flags;
  tn_row_ref *before;
  int64_t given_groups; /* of the plan */
  bool has_second_top;  /* some group has two rows of top_level */
  tn_row_ref second_top;
  tn_merge_group *groups; /* that were given last; batch_rows, like all here */
  tn_row_ref *given_before;
  source_facts *facts; /* one a source of the plan */
  uint32_t facts_capacity;
} merger_changes;

struct tn_merger {
  tarn_env *env;
  tn_merge_spec spec;
  bool is_exact; /* prefixes are whole keys */
  bool has_started;
  bool is_ended;

  run_state *runs;
  uint32_t n_runs, n_leaves;
  uint32_t *waiting; /* runs whose sources are used up, while a group is open */
  uint32_t n_waiting;
  tn_loser_node *tree; /* n_leaves */

  /* The plan under construction. The group that is open has the rows groups[n_groups] .. n_rows. */
  source **sources;
  const tn_merge_rows **source_rows;
  uint32_t n_sources, sources_capacity;
  tn_row_ref *rows;
  int64_t n_rows, rows_capacity;
  uint32_t *groups; /* batch_rows + 1 */
  int64_t n_groups;
  int64_t *picks; /* batch_rows */
  int64_t n_picked_groups;

  tn_row_ref *picked; /* survivors that are not given yet: picked_at .. n_picked */
  int64_t n_picked, picked_at;
  tn_row_ref *kept;    /* scratch of the filter */
  uint8_t *selected;   /* likewise, a bitmap */
  const tn_vec **vecs; /* n_sources: one column of each source */
  size_t max_bytes;    /* of strings in an output batch */
  int64_t row_bytes;   /* of the widest column of the batch before, if has_row_bytes */
  bool has_row_bytes;
  source *free_sources;

  /* Folding engines. */
  tn_fold fold;
  folded_column *folded;    /* one a column of the layout */
  const tn_vec **fold_vecs; /* columns x (sources_capacity + 1) */
  size_t fold_vecs_capacity;
  const tn_vec *const **columns; /* rows of fold_vecs; likewise one a column */
  int64_t folded_groups;         /* of the plan: they are given, or dropped */
  uint32_t *selected_groups;     /* of the range, ascending; batch_rows */

  merger_changes *changes; /* NULL: of tn_merger_next */
};

/* Build a plan, let a selecting engine pick and the filter drop, and have the values of what is
 * left: m->picked is filled. For a folding engine, have the values of all sources with rows.
 * (merger.c) */
TN_CHECKED tarn_status tn_merger_plan(tn_merger *m, tarn_error *err);

/* Rows of one group, in merge order, are to be closed as group g of a merger that gives changes:
 * note the row that was there before, and leave out what is stale. Returns how many rows stay; 0:
 * all are looked up (M7). (merger_changes.c) */
int64_t tn_merger_note_group(const tn_merger *m, int64_t g, tn_row_ref *rows, int64_t n);
/* picks are the engine's of the groups [begin, end): let first rows that are looked up win.
 * (merger_changes.c) */
void tn_merger_prefer_first(const tn_merger *m, int64_t begin, int64_t end, int64_t *picks);
void tn_merger_changes_free(tn_merger *m);

/* m->vecs = one column of all sources (as in tn_merge_spec.out_columns). (merger_output.c) */
void tn_merger_column_of_sources(tn_merger *m, int32_t column);
/* The output columns of n rows, with their kinds and sequence numbers where these are not NULL.
 * (merger_output.c) */
TN_CHECKED tarn_status tn_merger_gather_rows(tn_merger *m, const tn_row_ref *refs, int64_t n,
                                             tn_batch *out, tn_buffer **kinds,
                                             tn_buffer **sequences, tarn_error *err);

/* out = n rows of the sources, as these columns (as in tn_merge_spec.out_columns).
 * (merger_output.c)
 */
TN_CHECKED tarn_status tn_merger_gather(tn_merger *m, const tn_field *fields,
                                        const int32_t *columns, int32_t n_columns,
                                        const tn_row_ref *refs, int64_t n, tn_batch *out,
                                        tarn_error *err);

/* Copy rows of a column; is_range: they are one range of one source. (merger_output.c) */
TN_CHECKED tarn_status tn_merger_copy(tn_merger *m, const tn_type *type, const tn_vec *const *vecs,
                                      int32_t n_vecs, const tn_row_ref *refs, int64_t n,
                                      bool is_range, tn_vec *out, tarn_error *err);
bool tn_merger_is_range(const tn_row_ref *refs, int64_t n);
bool tn_merger_has_variable_size(tn_layout layout);
/* Remember the size of a batch's rows. (merger_output.c) */
void tn_merger_note_row_bytes(tn_merger *m, const tn_batch *batch);

/* What a range of groups of the plan gives. (merger_fold.c) */
/* The next n groups, folded, without those that are dropped; m->folded_groups stays. After a
 * failure nothing is given. */
TN_CHECKED tarn_status tn_merger_fold_groups(tn_merger *m, int64_t n, tn_batch *out,
                                             tn_buffer **kinds, tn_buffer **sequences,
                                             tarn_error *err);
TN_CHECKED tarn_status tn_merger_next_folded(tn_merger *m, tn_batch *out, tn_buffer **kinds,
                                             tn_buffer **sequences, tarn_error *err);
TN_CHECKED tarn_status tn_merger_fold_init(tn_merger *m, tarn_error *err);
void tn_merger_fold_free(tn_merger *m);

#endif
