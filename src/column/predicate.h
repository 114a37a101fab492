/* predicate.h - a counted tree of leaves under AND and OR.
 *
 * A leaf tests one column against literals of the column's own type. There is no NOT node: negation
 * is pushed down when the tree is built. Null logic and order: spec, read, 5.
 * A predicate is immutable and may be used by many threads.
 *
 *   predicate.c          building, negating, taking apart
 *   predicate_literal.c  texts and numbers as values of a column's type; columns by name
 *   predicate_parse.c    the WHERE text, predicate_text.c the way back
 *   predicate_like.c     LIKE patterns
 *   predicate_filter.c   testing rows; predicate_stats.c testing statistics
 *   predicate_devolve.c  rewriting for files of an older schema
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
  const tn_datum *literals; /* IN and NOT_IN: sorted, distinct, without nulls */
  bool has_null_literal;
  int32_t depth;      /* 1 for a leaf or constant */
  int32_t n_children; /* AND, OR: at least 2 */
  const tn_pred *const *children;
};

#define TN_PRED_MAX_DEPTH 1024 /* levels of a tree; bounds the recursion over it */

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

/* What a leaf tests: a column, or a field inside of ROW columns. Borrowed from the fields and the
 * arena it was found with. */
typedef struct tn_pred_column {
  int32_t field_id;
  const char *name; /* "r.x" for a nested field */
  const tn_type *type;
  int32_t n_path;
  const int32_t *path;
} tn_pred_column;

/* The column of a dotted path of names. A path wins over a column whose own name has dots.
 * Errors: NOT_FOUND, naming what is near. */
TN_CHECKED tarn_status tn_pred_column_find(tn_arena *arena, const tn_field *fields,
                                           int32_t n_fields, tn_slice dotted, tn_pred_column *out,
                                           tarn_error *err);

/* Node builders, in an arena; NULL when out of memory. Names, types and literals are copied.
 * LIKE and NOT_LIKE take a pattern that is right and is not rewritten; see tn_pred_like(). */
tn_pred *tn_pred_leaf(tn_arena *arena, tn_pred_op op, const tn_field *field,
                      const tn_datum *literals, int32_t n_literals);
tn_pred *tn_pred_leaf_at(tn_arena *arena, tn_pred_op op, const tn_pred_column *column,
                         const tn_datum *literals, int32_t n_literals);
/* TRUE or FALSE. */
tn_pred *tn_pred_constant(tn_arena *arena, bool value);
/* AND or OR, flattened, without TRUE and FALSE; also NULL when the tree would be deeper than
 * TN_PRED_MAX_DEPTH (1 + the deepest child: callers who cannot rule that out look first). */
tn_pred *tn_pred_compound(tn_arena *arena, tn_pred_op op, const tn_pred *const *children,
                          int32_t n_children);
tn_pred *tn_pred_negate(tn_arena *arena, const tn_pred *pred);
/* column LIKE pattern, escape `\`; a pattern without `_` and without `%` inside becomes =,
 * STARTS_WITH, ENDS_WITH or CONTAINS. pattern NULL or null: never matches.
 * Errors: INVALID (a wrong escape). */
TN_CHECKED tarn_status tn_pred_like(tn_arena *arena, const tn_pred_column *column,
                                    const tn_datum *pattern, const tn_pred **out, tarn_error *err);
/* A deep copy into another arena; NULL when out of memory. */
tn_pred *tn_pred_copy(tn_arena *arena, const tn_pred *pred);
/* Equal operators, columns and literals in the same order. */
bool tn_pred_equal(const tn_pred *a, const tn_pred *b);
/* The AND-parts of a tree (itself when it is none), appended to parts (arena array). */
TN_CHECKED tarn_status tn_pred_split_and(tn_arena *arena, const tn_pred *pred,
                                         const tn_pred ***parts, int32_t *n_parts, tarn_error *err);
/* Does every leaf use only columns for which keep(ctx, field_id) is true? */
bool tn_pred_only_uses(const tn_pred *pred, bool (*keep)(void *ctx, int32_t field_id), void *ctx);
/* The AND of the parts that use only such columns, and that of the others; NULL: there are none.
 * pred may be NULL. Errors: NOMEM. */
TN_CHECKED tarn_status tn_pred_part(tn_arena *arena, const tn_pred *pred,
                                    bool (*keep)(void *ctx, int32_t field_id), void *ctx,
                                    const tn_pred **kept, const tn_pred **others, tarn_error *err);
/* Call visit for each leaf. */
void tn_pred_each_leaf(const tn_pred *pred, void (*visit)(void *ctx, const tn_pred *leaf),
                       void *ctx);

/* Texts and numbers as literals of a type (docs/cli.md, "WHERE"). A value that cannot be had
 * without loss is INVALID: digits beyond the scale, a number out of range, a time of day against a
 * DATE. FLOAT and DOUBLE take the nearest value, but no number that would become infinite. Temporal
 * texts: ISO dates and times with 'T' or a blank, seconds and fraction optional; LTZ with 'Z' or an
 * offset, else local in the zone. Bytes are hexadecimal digits. The text is copied into the arena.
 * is_number: the text is a number token rather than a quoted text; strings, bytes, BOOLEAN and
 * temporal types then refuse it. */
TN_CHECKED tarn_status tn_pred_literal_text(tn_arena *arena, const tn_type *type,
                                            const tn_zone *zone, tn_slice text, bool is_number,
                                            tn_datum *out, tarn_error *err);
TN_CHECKED tarn_status tn_pred_literal_bytes(tn_arena *arena, const tn_type *type, tn_slice bytes,
                                             tn_datum *out, tarn_error *err);
TN_CHECKED tarn_status tn_pred_literal_bool(const tn_type *type, bool value, tn_datum *out,
                                            tarn_error *err);

/* The WHERE text (docs/cli.md, "WHERE"). Errors: INVALID with byte position and a caret line in the
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
typedef struct tn_row_pick {
  uint32_t *rows; /* by number; freed by the caller: tn_free() */
  int64_t n;
} tn_row_pick;
/* The rows of a batch that match (pred NULL: all), at most max_rows of them (-1: no end). */
TN_CHECKED tarn_status tn_pred_pick(tarn_env *env, const tn_pred *pred, const tn_batch *batch,
                                    int64_t max_rows, tn_row_pick *out, tarn_error *err);
/* One row of values: get(ctx, field_id) gives the datum (of the leaf's own type). */
typedef tarn_status (*tn_pred_get_fn)(void *ctx, const tn_pred *leaf, tn_datum *out,
                                      tarn_error *err);
TN_CHECKED tarn_status tn_pred_test(const tn_pred *pred, tn_pred_get_fn get, void *ctx, bool *out,
                                    tarn_error *err);
/* A leaf against a value. */
bool tn_pred_test_datum(const tn_pred *leaf, const tn_datum *value);

/* ------------------------------------------------------------------ testing statistics */

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

/* ------------------------------------------------------------------ devolving to old types */

/* Rewrite a predicate on current columns for a file of an older schema (spec: read, 6; datafiles,
 * 7): leaves on fields the file lacks are replaced by their value on null; leaves on fields whose
 * type changed are kept only when old and new are integers, the new one is wider and every literal
 * fits the old one; all others become unknown, and an AND drops them, an OR with one is dropped as
 * a whole. *out NULL: nothing is left to test. */
TN_CHECKED tarn_status tn_pred_devolve(tn_arena *arena, const tn_pred *pred,
                                       const tn_field *file_fields, int32_t n_file_fields,
                                       const tn_pred **out, tarn_error *err);

#endif
