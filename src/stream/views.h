/* views.h - the rows of a stream as the system tables $audit_log and $binlog show them: all +I,
 * with the kind as a first column of text.
 *
 *   $audit_log   rowkind, then the columns
 *   $binlog      rowkind, then the columns as arrays: one value, or before and after of an update,
 *                which is one row of kind +U
 *
 * Rule: org.apache.paimon.table.system.{AuditLogTable,BinlogTable}; spec: system-tables.
 */
#ifndef TN_STREAM_VIEWS_H
#define TN_STREAM_VIEWS_H

#include "column/pieces.h"
#include "column/vector.h"
#include "model/table.h"

typedef struct tn_stream_view {
  tarn_env *env;
  bool is_binlog;
  const tn_field *shown; /* +I, if wanted, is put in front by whoever gives the rows */
  int32_t n_shown;
  int32_t *sources; /* of each: -1: the kind, else a column that is read */
  tn_field *read;   /* the table's columns that are read */
  int32_t n_read;
  tn_pieces held; /* a -U at the end of a batch waits for the row behind it */
} tn_stream_view;

/* fields: of the system table; borrowed as long as the view. out: tn_stream_view_reset(). */
TN_CHECKED tarn_status tn_stream_view_init(const tn_table *table, bool is_binlog,
                                           const tn_field *fields, int32_t n_fields,
                                           tn_stream_view *out, tarn_error *err);
void tn_stream_view_reset(tn_stream_view *view); /* accepts all zero */

/* Rows that were read (kinds first, then `read`) as shown; consumes them. may_wait: rows of the
 * same split follow, so a -U at the end is held back, and comes with the next call. out: raw
 * memory; may be without rows. */
TN_CHECKED tarn_status tn_stream_view_dress(tn_stream_view *view, tn_batch *read, bool may_wait,
                                            tn_batch *out, tarn_error *err);
/* Rows held back: given by the reader, and not shown yet. */
static inline int64_t tn_stream_view_held(const tn_stream_view *view) {
  return view->held.n_rows;
}

#endif
