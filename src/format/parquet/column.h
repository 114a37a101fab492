/* column.h - what is read: the wanted types laid over the file's schema, and vectors from levels.
 *
 * Columns and nested fields are found by name; what the file lacks is MISSING and reads as null.
 * A group's own shape (which rows are null, how many items they have) is told by the levels of any
 * leaf below it: one that is read anyway, or one whose levels alone are read.
 */
#ifndef TN_FORMAT_PARQUET_COLUMN_H
#define TN_FORMAT_PARQUET_COLUMN_H

#include "format/parquet/file.h"
#include "format/parquet/leaf.h"
#include "format/parquet/shredded.h"

typedef enum tn_pq_column_kind {
  TN_PQ_COLUMN_MISSING,
  TN_PQ_COLUMN_LEAF,
  TN_PQ_COLUMN_STRUCT, /* ROW and VARIANT */
  TN_PQ_COLUMN_LIST,   /* ARRAY */
  TN_PQ_COLUMN_MAP,    /* MAP and MULTISET: children key and value */
  TN_PQ_COLUMN_SHRED   /* VARIANT: one child, the ROW it is put together from */
} tn_pq_column_kind;

typedef struct tn_pq_column {
  tn_pq_column_kind kind;
  const tn_type *type;
  const tn_pq_node *node; /* NULL: MISSING */
  int32_t leaf;           /* in the set: the column's own, or that which tells the group's shape */
  int32_t n_children;
  struct tn_pq_column *children;
  const tn_pq_shred_plan *shred; /* SHRED */
} tn_pq_column;

/* The leaves that are read. */
typedef struct tn_pq_leaf_set {
  tn_pq_leaf *leaves; /* in an arena; tn_pq_leaf_set_reset() */
  int64_t *entries;   /* of each leaf: entries of the batch at hand */
  size_t count, capacity;
} tn_pq_leaf_set;

/* Lay the fields over the file's schema. arena: the reader's; codec: shared by its leaves.
 * Errors: CORRUPT (types that cannot be right), UNSUPPORTED (VECTOR, VARIANT shredded in a type it
 * may not), NOMEM. */
TN_CHECKED tarn_status tn_pq_columns_bind(const tn_pq_file *file, const tn_read_request *request,
                                          tn_arena *arena, tn_codec_context *codec,
                                          tn_pq_column **columns, tn_pq_leaf_set *set,
                                          tarn_error *err);
void tn_pq_leaf_set_reset(tn_pq_leaf_set *set);

/* The first n_rows buffered rows of a column into a vector of its type (which is made anew). All
 * leaves have as many, and set->entries tells their entries. Their values are taken, their levels
 * stay. Errors: CORRUPT (levels that contradict one another), LIMIT, NOMEM. */
TN_CHECKED tarn_status tn_pq_column_take(tarn_env *env, const tn_pq_column *column,
                                         tn_pq_leaf_set *set, int64_t n_rows, bool is_flat,
                                         tn_vec *out, tarn_error *err);

#endif
