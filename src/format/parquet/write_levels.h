/* write_levels.h - nested vectors as the entries of their leaf columns.
 *
 * An entry of a leaf has a definition and a repetition level, and a row of the leaf's vector if it
 * is there that far; every slot of the nodes above that is null or empty gives one entry, too
 * (Dremel's striping; apache/parquet-format, README, "Nested Encoding").
 */
#ifndef TN_FORMAT_PARQUET_WRITE_LEVELS_H
#define TN_FORMAT_PARQUET_WRITE_LEVELS_H

#include "column/vector.h"
#include "format/parquet/write_schema.h"

#define TN_PQ_NO_ROW UINT32_MAX

typedef struct tn_pq_entries {
  int64_t n;
  const uint8_t *def; /* of a leaf: its own null is not in it */
  const uint8_t *rep;
  const uint32_t *rows; /* TN_PQ_NO_ROW: cut off above */
} tn_pq_entries;

typedef struct tn_pq_leaf_sink {
  tarn_status (*put)(void *ctx, const tn_pq_write_node *leaf, const tn_vec *vec,
                     const tn_pq_entries *entries, tarn_error *err);
  void *ctx;
} tn_pq_leaf_sink;

/* Rows [begin, begin + n) of a column's flat vector, leaf after leaf. The entries are borrowed for
 * the call of the sink. Errors: INVALID (a null in what is NOT NULL, naming the column), those of
 * the sink, NOMEM, LIMIT (budget). */
TN_CHECKED tarn_status tn_pq_levels_walk(tarn_env *env, const tn_pq_write_node *column,
                                         const tn_vec *vec, int64_t begin, int64_t n,
                                         const tn_pq_leaf_sink *sink, tarn_error *err);

/* The most entries that these rows are to a leaf, and the bytes of all their values, both about. */
int64_t tn_pq_levels_entries(const tn_vec *vec, int64_t begin, int64_t n);
int64_t tn_pq_levels_bytes(const tn_vec *vec, int64_t begin, int64_t n);

TN_CHECKED tarn_status tn_pq_null_in_not_null(const tn_pq_write_node *column,
                                              const tn_pq_write_node *node, tarn_error *err);

#endif
