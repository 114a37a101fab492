/* dense.h - the values of a leaf that are present, back to back, on their way into a vector.
 *
 * Values of pages are appended in the layout of the wanted type; the first of them are taken out
 * as a vector, spread over slots where there are nulls. What is not taken stays.
 *
 * Source of the layouts: column/vector.h.
 */
#ifndef TN_FORMAT_PARQUET_DENSE_H
#define TN_FORMAT_PARQUET_DENSE_H

#include "format/parquet/convert.h"
#include "format/parquet/page.h"
#include "format/parquet/values.h"

/* How a batch holds the column. */
typedef enum tn_pq_mode {
  TN_PQ_MODE_FLAT,
  TN_PQ_MODE_VIEWS, /* BYTES: views into pages, which are kept alive */
  TN_PQ_MODE_CODES  /* codes of one dictionary */
} tn_pq_mode;

typedef struct tn_pq_dense {
  tarn_env *env;
  const tn_type *type;
  const tn_pq_convert *convert;
  tn_pq_mode mode;
  int64_t n;            /* values */
  int64_t n_bytes;      /* BYTES: of the strings; views: of the pages kept alive */
  tn_buffer *values;    /* values, bits, bytes of strings, views or codes */
  tn_buffer *offsets;   /* BYTES in flat mode: int32[n + 1] */
  tn_buffer **retained; /* views: pages */
  int32_t n_retained, retained_capacity;
  tn_dictionary *dictionary; /* codes: a reference */
} tn_pq_dense;

/* type and convert are borrowed. */
void tn_pq_dense_init(tn_pq_dense *dense, tarn_env *env, const tn_type *type,
                      const tn_pq_convert *convert);
void tn_pq_dense_reset(tn_pq_dense *dense); /* frees; can be used again */

/* An empty buffer starts on values of a mode; n_expected of them soon. Errors: NOMEM, LIMIT. */
TN_CHECKED tarn_status tn_pq_dense_start(tn_pq_dense *dense, tn_pq_mode mode, int64_t n_expected,
                                         tarn_error *err);
/* Append the next n values of a page. dictionary: of the chunk, NULL when it has none. where: for
 * messages. Errors: CORRUPT (fewer values, a code outside of the dictionary, a value that the type
 * cannot hold), LIMIT, NOMEM. */
TN_CHECKED tarn_status tn_pq_dense_append(tn_pq_dense *dense, tn_pq_values *values,
                                          const tn_pq_page *page, tn_dictionary *dictionary,
                                          int64_t n, const tn_pq_pages *where, tarn_error *err);
/* The first n values become a vector of n_slots rows. valid: the slots that have a value (n bits
 * are set), moved in; NULL: n_slots == n. out: empty. */
TN_CHECKED tarn_status tn_pq_dense_take(tn_pq_dense *dense, int64_t n, tn_buffer *valid,
                                        int64_t n_slots, tn_vec *out, tarn_error *err);

/* All values of the dictionary page whose header was read last. */
TN_CHECKED tarn_status tn_pq_dictionary_load(tn_pq_pages *pages, const tn_type *type,
                                             const tn_pq_convert *convert, tn_dictionary **out,
                                             tarn_error *err);

#endif
