/* prefetch.h - reading many byte ranges of one file, each of them front to back.
 *
 * A plan is made from ranges (column chunks, or selected pages of them). Memory is bounded by
 * windows, not by ranges:
 *
 *   - Small ranges that lie close together (gaps of at most 64 KiB) are fetched by one request of
 *     at most 1 MiB when the first of them is asked for; a plan that fits into that as a whole is
 *     one request. What was fetched together is freed when all of it is done with.
 *   - Other ranges are read through a window of 256 KiB each (less when the budget is short), which
 *     grows to hold one request. With more than one thread in the pool the next window is read
 *     ahead, if the budget has room for it.
 *
 * All buffers are reserved from the budget. One thread at a time.
 */
#ifndef TN_IO_PREFETCH_H
#define TN_IO_PREFETCH_H

#include "io/storage.h"

typedef struct tn_byte_range {
  int64_t offset;
  int64_t length;
} tn_byte_range;

typedef struct tn_prefetch tn_prefetch;

/* ranges: best in order of offset (others are not put together), copied; each within the file
 * (CORRUPT otherwise). The file is retained. */
TN_CHECKED tarn_status tn_prefetch_create(tn_file *file, const tn_byte_range *ranges,
                                          int32_t n_ranges, tn_prefetch **out, tarn_error *err);
void tn_prefetch_free(tn_prefetch *prefetch); /* accepts NULL */

/* n_bytes at `offset` (absolute, within range `i`). Going backward is allowed, but reads again.
 * *out is valid until the next call for the same range. Errors: CORRUPT (past the range's end, or
 * the file's), IO, LIMIT, NOMEM. */
TN_CHECKED tarn_status tn_prefetch_get(tn_prefetch *prefetch, int32_t i, int64_t offset,
                                       size_t n_bytes, const uint8_t **out, tarn_error *err);
/* As many of the next bytes as are at hand, at most max_bytes, to parse headers of unknown size:
 * never less than 16 KiB while max_bytes and the range have as much. *n_bytes = 0 at the range's
 * end, which also does what tn_prefetch_done does. */
TN_CHECKED tarn_status tn_prefetch_peek(tn_prefetch *prefetch, int32_t i, int64_t offset,
                                        size_t max_bytes, const uint8_t **out, size_t *n_bytes,
                                        tarn_error *err);
/* The range is not needed any more: gives its memory back. */
void tn_prefetch_done(tn_prefetch *prefetch, int32_t i);

#endif
