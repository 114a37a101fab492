/* write_dictionary.h - the distinct values of a column chunk, numbered as they come.
 *
 * Values are those of the file (physical), in three kinds: 4 and 8 bytes by their bits, and bytes.
 * What is kept is the dictionary page itself, plain encoded, and a hash table beside it.
 *
 *   slots   open addressing, at most half full; a code plus one, 0 for free, and the key's bits or
 *           a hash of its bytes
 *   page    the values, plain: the dictionary page's body
 *   starts  BYTES: where each value's length lies in `page`
 */
#ifndef TN_FORMAT_PARQUET_WRITE_DICTIONARY_H
#define TN_FORMAT_PARQUET_WRITE_DICTIONARY_H

#include "column/vector.h"
#include "format/parquet/write_bytes.h"

typedef enum tn_pq_dictionary_kind {
  TN_PQ_DICTIONARY_32,
  TN_PQ_DICTIONARY_64,
  TN_PQ_DICTIONARY_FIXED, /* bytes of one width */
  TN_PQ_DICTIONARY_BYTES
} tn_pq_dictionary_kind;

typedef struct tn_pq_dictionary {
  tarn_env *env;
  tn_pq_dictionary_kind kind;
  uint32_t width;     /* of a value; BYTES: 0 */
  size_t limit_bytes; /* of the page */
  uint32_t n;
  uint32_t n_slots; /* a power of two */
  tn_buffer *slots;
  tn_pq_bytes page, starts;
} tn_pq_dictionary;

void tn_pq_dictionary_init(tn_pq_dictionary *d, tarn_env *env, tn_pq_dictionary_kind kind,
                           uint32_t width, size_t limit_bytes);
void tn_pq_dictionary_reset(tn_pq_dictionary *d); /* drop the values and the memory */

/* Code n values. *done gets how many were: fewer than n when the page would pass its limit. Views
 * may be read 64 bytes past their ends. Errors: NOMEM, LIMIT (budget). */
TN_CHECKED tarn_status tn_pq_dictionary_add_32(tn_pq_dictionary *d, const uint32_t *values,
                                               int64_t n, uint32_t *codes, int64_t *done,
                                               tarn_error *err);
TN_CHECKED tarn_status tn_pq_dictionary_add_64(tn_pq_dictionary *d, const uint64_t *values,
                                               int64_t n, uint32_t *codes, int64_t *done,
                                               tarn_error *err);
TN_CHECKED tarn_status tn_pq_dictionary_add_bytes(tn_pq_dictionary *d, const tn_view *values,
                                                  int64_t n, uint32_t *codes, int64_t *done,
                                                  tarn_error *err);

/* Where a value lies in the page, BYTES with its length in front. */
static inline const uint8_t *tn_pq_dictionary_place(const tn_pq_dictionary *d, uint32_t code) {
  return d->page.data + (d->kind == TN_PQ_DICTIONARY_BYTES
                             ? ((const uint32_t *)(const void *)d->starts.data)[code]
                             : (size_t)code * d->width);
}

/* The value behind a code, its length left out. */
static inline tn_slice tn_pq_dictionary_get(const tn_pq_dictionary *d, uint32_t code) {
  const uint8_t *place = tn_pq_dictionary_place(d, code);
  uint32_t len;
  if (d->kind != TN_PQ_DICTIONARY_BYTES) {
    return tn_slice_of(place, d->width);
  }
  memcpy(&len, place, sizeof(len));
  return tn_slice_of(place + 4, len);
}

#endif
