/* prefetch.h - reading many byte ranges of one file, each of them front to back.
 *
 * A plan is made from ranges (column chunks, or selected pages of them). Ranges that lie close
 * together are fetched by one request; each range is read through a window, so that memory is
 * bounded by windows, not by ranges. With more than one thread in the pool the next window is read
 * ahead, if the budget has room for it.
 *
 * One thread at a time.
 */
#ifndef TN_IO_PREFETCH_H
#define TN_IO_PREFETCH_H

#include "io/storage.h"

typedef struct tn_byte_range {
  int64_t offset;
  int64_t length;
} tn_byte_range;

typedef struct tn_prefetch tn_prefetch;

/* ranges: in order of offset, copied; each within the file (CORRUPT otherwise). */
TN_CHECKED tarn_status tn_prefetch_create(tn_file *file, const tn_byte_range *ranges,
                                          int32_t n_ranges, tn_prefetch **out, tarn_error *err);
void tn_prefetch_free(tn_prefetch *prefetch);

/* n_bytes at `offset` (absolute, within range `i`, not before what was asked of it last).
 * *out is valid until the next call for the same range. Errors: CORRUPT (past the range's end), IO,
 * LIMIT. */
TN_CHECKED tarn_status tn_prefetch_get(tn_prefetch *prefetch, int32_t i, int64_t offset,
                                       size_t n_bytes, const uint8_t **out, tarn_error *err);
/* As many of the next bytes as are at hand, at least one and at most max_bytes, unless the range
 * is at its end (then *n_bytes = 0): to parse headers of unknown size. */
TN_CHECKED tarn_status tn_prefetch_peek(tn_prefetch *prefetch, int32_t i, int64_t offset,
                                        size_t max_bytes, const uint8_t **out, size_t *n_bytes,
                                        tarn_error *err);

#endif
