/* predicate.h - a counted tree of leaves under AND and OR.
 *
 * A leaf tests one column against literals of the column's own type. There is no NOT node: negation
 * is pushed down when the tree is built. Null logic and order: spec, read, 5.
 * A predicate is immutable and may be used by many threads.
 */
#ifndef TN_COLUMN_PREDICATE_H
#define TN_COLUMN_PREDICATE_H

#include "column/datum.h"

typedef enum tn_pred_op {
  TN_PRED_EQ,
  TN_PRED_NE,
  TN_PRED_LT,
  TN_PRED_LE,
  TN_PRED_GT,
  TN_PRED_GE,
  TN_PRED_IN,
  TN_PRED_NOT_IN,
  TN_PRED_BETWEEN,
  TN_PRED_NOT_BETWEEN,
  TN_PRED_IS_NULL,
  TN_PRED_IS_NOT_NULL,
  TN_PRED_IS_NAN,
  TN_PRED_STARTS_WITH,
  TN_PRED_ENDS_WITH,
  TN_PRED_CONTAINS,
  TN_PRED_LIKE,
  TN_PRED_NOT_LIKE, /* NOT of the four above; false on null. Tarn's own: Java cannot negate them */
  TN_PRED_IS_NOT_NAN,
  TN_PRED_TRUE,
  TN_PRED_FALSE,
  TN_PRED_AND,
  TN_PRED_OR
} tn_pred_op;

typedef struct tn_pred tn_pred;

struct tn_pred {
  tn_pred_op op;
  int32_t field_id;         /* leaf: top-level column */
  const char *name;         /* leaf: its name, for messages */
  tn_type type;             /* leaf: type of the column or nested field that is tested */
  int32_t n_path;           /* leaf: steps into nested ROWs; 0 for a plain column */
  const int32_t *path;      /* field ids */
  int32_t n_literals;       /* EQ..GE, LIKE..: 1; BETWEEN: 2; IN: any */
  const tn_datum *literals; /* IN and NOT_IN: sorted, without nulls (has_null_literal tells) */
  bool has_null_literal;
  int32_t n_children; /* AND, OR */
  const tn_pred *const *children;
};

/* A counted tree: nodes live in its arena. */
struct tarn_predicate {
  _Atomic int32_t refs;
  tarn_env *env;
  tn_arena arena;
  const tn_pred *root;
};

struct tarn_predicate *tn_predicate_retain(struct tarn_predicate *predicate);
void tn_predicate_release(struct tarn_predicate *predicate);
TN_CHECKED tarn_status tn_predicate_create(tarn_env *env, struct tarn_predicate **out,
                                           tarn_error *err); /* root NULL: set it before use */

/* Node builders, in an arena; NULL when out of memory. AND/OR flatten and drop TRUE/FALSE. */
tn_pred *tn_pred_leaf(tn_arena *arena, tn_pred_op op, const tn_field *field,
                      const tn_datum *literals, int32_t n_literals);
tn_pred *tn_pred_compound(tn_arena *arena, tn_pred_op op, const tn_pred *const *children,
                          int32_t n_children);
tn_pred *tn_pred_negate(tn_arena *arena, const tn_pred *pred);
/* The AND-parts of a tree (itself when it is none), appended to parts (arena array). */
TN_CHECKED tarn_status tn_pred_split_and(tn_arena *arena, const tn_pred *pred,
                                         const tn_pred ***parts, int32_t *n_parts, tarn_error *err);
/* Does every leaf use only columns for which keep(ctx, field_id) is true? */
bool tn_pred_only_uses(const tn_pred *pred, bool (*keep)(void *ctx, int32_t field_id), void *ctx);
/* Call visit for each leaf. */
void tn_pred_each_leaf(const tn_pred *pred, void (*visit)(void *ctx, const tn_pred *leaf),
                       void *ctx);

/* The WHERE text (cli.md "WHERE"). Errors: INVALID with byte position and a caret line in the
 * message: "...; at byte 7". `position` (may be NULL) gets the byte, -1 when there is none. */
TN_CHECKED tarn_status tn_pred_parse(tn_arena *arena, const tn_field *fields, int32_t n_fields,
                                     const tn_zone *zone, tn_slice text, const tn_pred **out,
                                     int64_t *position, tarn_error *err);
TN_CHECKED tarn_status tn_pred_to_text(const tn_pred *pred, const tn_zone *zone, tn_buf *out,
                                       tarn_error *err);

/* ------------------------------------------------------------------ testing rows */

/* selected: bitmap of n_rows bits, all or some set by the caller; rows that do not match are
 * cleared. Columns are found in the batch by field id (top level; nested by path). A column that
 * the batch lacks is INTERNAL. Vectors of any encoding. */
TN_CHECKED tarn_status tn_pred_filter(tarn_env *env, const tn_pred *pred, const tn_batch *batch,
                                      uint8_t *selected, tarn_error *err);
/* One row of values: get(ctx, field_id) gives the datum (of the leaf's own type). */
typedef tarn_status (*tn_pred_get_fn)(void *ctx, const tn_pred *leaf, tn_datum *out,
                                      tarn_error *err);
TN_CHECKED tarn_status tn_pred_test(const tn_pred *pred, tn_pred_get_fn get, void *ctx, bool *out,
                                    tarn_error *err);
/* A leaf against a value. */
bool tn_pred_test_datum(const tn_pred *leaf, const tn_datum *value);

/* ------------------------------------------------------- testing statistics */

typedef struct tn_stat {
  bool has_bounds; /* min and max are known */
  tn_datum min, max;
  int64_t null_count; /* -1: unknown */
  int64_t row_count;
} tn_stat;

/* May a row match? Unknown means yes. `get` fills the statistics of the leaf's column; a leaf of a
 * nested field or without statistics answers yes. Float bounds must have been made safe by
 * whoever fills them (NaN, signed zeros; spec: datafiles, 6). BINARY bounds prune only = and IN. */
typedef tarn_status (*tn_stat_get_fn)(void *ctx, const tn_pred *leaf, tn_stat *out, bool *is_known,
                                      tarn_error *err);
TN_CHECKED tarn_status tn_pred_may_match(const tn_pred *pred, tn_stat_get_fn get, void *ctx,
                                         bool *out, tarn_error *err);

/* ---------------------------------------------------------- devolving to old types */

/* Rewrite a predicate on current columns for a file of an older schema (spec: read, 6; datafiles,
 * 7): leaves on fields the file lacks are replaced by their value on null; leaves on fields whose
 * type changed are kept only when old and new are integers, the new one is wider and every literal
 * fits the old one; all others become unknown, and an AND drops them, an OR with one is dropped as
 * a whole. *out NULL: nothing is left to test. */
TN_CHECKED tarn_status tn_pred_devolve(tn_arena *arena, const tn_pred *pred,
                                       const tn_field *file_fields, int32_t n_file_fields,
                                       const tn_pred **out, tarn_error *err);

#endif
