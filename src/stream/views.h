/* views.h - changes as the system tables $audit_log and $binlog show them, in streams and in reads:
 * all +I, with the kind as a first column of text.
 *
 *   $audit_log   rowkind, then the columns
 *   $binlog      rowkind, then the columns as arrays: one value, or before and after of an update,
 *                which is one row of kind +U
 *
 * A view belongs to one thread. Rule: org.apache.paimon.table.system.{AuditLogTable,BinlogTable};
 * spec: system-tables.
 */
#ifndef TN_STREAM_VIEWS_H
#define TN_STREAM_VIEWS_H

#include "column/pieces.h"
#include "column/predicate.h"
#include "model/table.h"

typedef struct tn_stream_view_options {
  const tn_table *table;
  bool is_binlog;
  const tn_field *columns; /* all of the system table */
  int32_t n_columns;
  const tn_field *fields; /* of them, those to show */
  int32_t n_fields;
  bool with_row_kind;       /* give a first column of row kinds, which are all +I */
  const tn_pred *predicate; /* on columns of the system table; NULL: none */
} tn_stream_view_options;

typedef struct tn_stream_view {
  tarn_env *env;
  tn_arena arena;
  bool is_binlog;
  bool packs; /* a -U and the row behind it are one row: so it is in $binlog, unless whoever reads
                 clears it for rows that are no changes */
  const tn_pred *pushed; /* what of the predicate is on the table's own columns, for planning and
                            reading; of $binlog nothing, whose columns are arrays. NULL: nothing */
  const tn_pred *rest;   /* the other part, which is tested on rows as they are shown */
  tn_field *shown;       /* those to show, then those that are only tested */
  int32_t n_shown, n_wanted;
  tn_field *given;  /* a row kind, then those to show; NULL: only these */
  int32_t *sources; /* of each: -1: the kind, else a column that is read */
  tn_field *read;   /* the table's columns that are read */
  int32_t n_read;
  tn_field *whole; /* the row kind and `read`: of rows that outlive the read that gave them */
  tn_pieces held;  /* a -U at the end of a batch waits for the row behind it */
} tn_stream_view;

/* All that the options name is borrowed as long as the view. out: tn_stream_view_reset(). */
TN_CHECKED tarn_status tn_stream_view_init(const tn_stream_view_options *options,
                                           tn_stream_view *out, tarn_error *err);
void tn_stream_view_reset(tn_stream_view *view); /* accepts all zero */

/* Rows that were read (kinds first, then `read`) as shown, what was held back in front; consumes
 * them.
 *
 * read       may be all zero: only what was held back
 * may_wait   rows of the same split follow, so a -U at the end is held back, and comes with the
 *            next call
 * max_rows   the most to give; -1: any number
 * out        raw memory; may be without rows
 * n_over     rows at the end that were read and are not shown because of max_rows
 */
TN_CHECKED tarn_status tn_stream_view_dress(tn_stream_view *view, tn_batch *read, bool may_wait,
                                            int64_t max_rows, tn_batch *out, int64_t *n_over,
                                            tarn_error *err);
/* Rows held back: given by the reader, and not shown yet. */
static inline int64_t tn_stream_view_held(const tn_stream_view *view) {
  return view->held.n_rows;
}
/* Forget them: they are read again. */
void tn_stream_view_forget(tn_stream_view *view);

#endif
