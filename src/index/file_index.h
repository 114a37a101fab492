/* file_index.h - the secondary indexes of one data file: which of its rows may match a predicate.
 *
 * A container holds indexes of several columns and kinds (bloom-filter, bitmap, bsi, range-bitmap).
 * It is embedded in the manifest entry of its data file, or a file "*.index" beside it. Of a file,
 * only what a question needs is read. An opened container is immutable; it may be asked by many
 * threads.
 *
 * Invariants
 *   X1  A verdict is never too narrow: every row that matches the predicate is in it. It may be too
 *       wide, so whoever uses it tests the rows again.
 *   X2  What is not understood (kinds of a newer Paimon, operators that a kind cannot answer,
 *       columns without an index) remains.
 *   X3  Bytes are untrusted. An index of another number of rows than the file's is CORRUPT.
 *
 * Names: the column's name in the schema that the file was written with; "m[key]" is the value that
 * a MAP column has for a key. Predicates cannot ask for those; they are only listed.
 * Rule: org.apache.paimon.fileindex.*; spec: indexes, 4 and 5.
 */
#ifndef TN_INDEX_FILE_INDEX_H
#define TN_INDEX_FILE_INDEX_H

#include "column/predicate.h"
#include "index/deletion_vector.h"

typedef struct tn_file_index tn_file_index;

/* One index of one column. */
typedef struct tn_index_part {
  tn_slice column;
  tn_slice kind;  /* "bitmap"; any text */
  int64_t start;  /* from the container's first byte; -1: empty, no row had a value */
  int64_t length; /* 0 when empty */
} tn_index_part;

/* Do the bytes begin as a container does? */
bool tn_file_index_is(tn_slice bytes);

/* A container in memory; the bytes stay borrowed until it is released. `path` names it in messages
 * and is copied. Errors: CORRUPT, UNSUPPORTED (the version of a newer Paimon), NOMEM. Untrusted. */
TN_CHECKED tarn_status tn_file_index_open(tarn_env *env, tn_slice bytes, const char *path,
                                          tn_file_index **out, tarn_error *err);
/* A container in a file, which stays open. Errors: also those of tn_storage_open(), LIMIT. */
TN_CHECKED tarn_status tn_file_index_load(tarn_env *env, tn_storage *storage, const char *path,
                                          tn_file_index **out, tarn_error *err);
void tn_file_index_release(tn_file_index *index); /* accepts NULL */

const tn_index_part *tn_file_index_parts(const tn_file_index *index, int32_t *n_parts);
/* Append a JSON list of columns, each with its indexes and what can be told of each without the
 * column's type: "[{"name": .., "indexes": [{"type": .., "start": .., "length": .., ..}]}]". */
TN_CHECKED tarn_status tn_file_index_describe(const tn_file_index *index, tn_buf *out,
                                              tarn_error *err);

/* ------------------------------------------------------------------ asking */

struct roaring_bitmap_s;

typedef enum tn_index_verdict {
  TN_INDEX_REMAIN, /* any row may match */
  TN_INDEX_SKIP,   /* no row matches */
  TN_INDEX_ROWS    /* only these rows may match */
} tn_index_verdict;

/* All zero: REMAIN. */
typedef struct tn_index_result {
  tn_index_verdict verdict;
  struct roaring_bitmap_s *rows; /* of ROWS: owned, not empty */
} tn_index_result;

void tn_index_result_reset(tn_index_result *result);
/* Rows of a result that is ROWS. */
int64_t tn_index_result_rows(const tn_index_result *result);
/* a = a and b, which is moved: bitmaps intersect, REMAIN leaves the other as it is. */
void tn_index_result_and(tn_index_result *a, tn_index_result *b);
/* a = a or b, which is moved: bitmaps unite, REMAIN with anything is REMAIN. */
void tn_index_result_or(tn_index_result *a, tn_index_result *b);

/* Ask for the rows that may match a predicate on the columns of the file as they were when it was
 * written (tn_pred_devolve). fields: of the file's schema. n_rows: of the file, at most 2^31 - 1.
 * *out: all zero before. Errors: CORRUPT, IO, LIMIT, NOMEM. */
TN_CHECKED tarn_status tn_file_index_test(const tn_file_index *index, const tn_field *fields,
                                          int32_t n_fields, int64_t n_rows, const tn_pred *pred,
                                          tn_index_result *out, tarn_error *err);

/* Append the rows of a result that is ROWS as ranges. Runs in which every row is deleted
 * (deletions, may be NULL) are left out; runs less than max_gap_rows apart become one. */
TN_CHECKED tarn_status tn_index_result_ranges(const tn_index_result *result, const tn_dv *deletions,
                                              int64_t max_gap_rows, tn_ranges *out,
                                              tarn_error *err);

#endif
