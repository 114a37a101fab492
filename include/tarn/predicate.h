/* predicate.h - row filters.
 *
 * A predicate is a counted, immutable tree of leaves under AND and OR. It belongs to the columns of
 * one table. Comparison is Paimon's: NULL never matches but IS NULL; strings by their bytes; DOUBLE
 * and FLOAT with NaN greatest and -0.0 < 0.0. Rule: org.apache.paimon.predicate;
 * docs/arch/predicates.md.
 */
#ifndef TARN_PREDICATE_H
#define TARN_PREDICATE_H

#include "tarn/table.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tarn_predicate tarn_predicate;

/* Parse a WHERE text (without the word), such as  a >= 3 AND s LIKE 'x%'.
 *
 * position   may be NULL; gets the byte where the text went wrong, or -1
 * out        owned by the caller: tarn_predicate_free()
 * Errors: TARN_E_INVALID (syntax, unknown column, a literal that cannot be the column's type).
 */
TARN_EXPORT TARN_CHECKED tarn_status tarn_predicate_parse(tarn_table *table, const char *text,
                                                          tarn_predicate **out, int64_t *position,
                                                          tarn_error *err);

typedef enum tarn_compare {
  TARN_EQ = 0,
  TARN_NE = 1,
  TARN_LT = 2,
  TARN_LE = 3,
  TARN_GT = 4,
  TARN_GE = 5
} tarn_compare;

/* A literal for the builders below. Text forms of any type may be given as TARN_LITERAL_TEXT and
 * are read as the column's type. */
typedef enum tarn_literal_kind {
  TARN_LITERAL_NULL = 0,
  TARN_LITERAL_BOOL = 1,
  TARN_LITERAL_INT = 2,
  TARN_LITERAL_DOUBLE = 3,
  TARN_LITERAL_TEXT = 4,
  TARN_LITERAL_BYTES = 5
} tarn_literal_kind;

typedef struct tarn_literal {
  tarn_literal_kind kind;
  int64_t integer;  /* BOOL, INT */
  double real;      /* DOUBLE */
  const void *data; /* TEXT (UTF-8), BYTES; borrowed for the call */
  size_t length;
} tarn_literal;

/* column: a name, or a dotted path into ROW columns. All copy what they are given.
 * Errors: TARN_E_NOT_FOUND (column), TARN_E_INVALID (a literal that cannot be the column's type).
 */
TARN_EXPORT TARN_CHECKED tarn_status tarn_predicate_compare(tarn_table *table, const char *column,
                                                            tarn_compare op,
                                                            const tarn_literal *literal,
                                                            tarn_predicate **out, tarn_error *err);
TARN_EXPORT TARN_CHECKED tarn_status tarn_predicate_in(tarn_table *table, const char *column,
                                                       const tarn_literal *literals,
                                                       size_t n_literals, tarn_predicate **out,
                                                       tarn_error *err);
TARN_EXPORT TARN_CHECKED tarn_status tarn_predicate_is_null(tarn_table *table, const char *column,
                                                            tarn_predicate **out, tarn_error *err);
/* pattern: SQL LIKE with backslash as escape. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_predicate_like(tarn_table *table, const char *column,
                                                         const char *pattern, size_t length,
                                                         tarn_predicate **out, tarn_error *err);
/* The operands are copied, not taken. n = 0: AND is true, OR is false. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_predicate_and(tarn_env *env,
                                                        tarn_predicate *const *operands, size_t n,
                                                        tarn_predicate **out, tarn_error *err);
TARN_EXPORT TARN_CHECKED tarn_status tarn_predicate_or(tarn_env *env,
                                                       tarn_predicate *const *operands, size_t n,
                                                       tarn_predicate **out, tarn_error *err);
/* Pushed down to the leaves: NULL still does not match. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_predicate_not(tarn_env *env, tarn_predicate *operand,
                                                        tarn_predicate **out, tarn_error *err);

TARN_EXPORT tarn_predicate *tarn_predicate_retain(tarn_predicate *predicate);
TARN_EXPORT void tarn_predicate_free(tarn_predicate *predicate);

#ifdef __cplusplus
}
#endif
#endif
