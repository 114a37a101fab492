/* wanted_rows.h - the rows of a file that a reader is to give, from front to back. Internal. */
#ifndef TN_FORMAT_WANTED_ROWS_H
#define TN_FORMAT_WANTED_ROWS_H

#include "column/vector.h"

typedef struct tn_wanted_rows {
  const tn_ranges *ranges; /* borrowed; NULL: all rows */
  size_t at;               /* ranges before it are done */
  int64_t n_rows;          /* of the file */
  int64_t position;        /* of the next row to give */
} tn_wanted_rows;

/* Move to the next wanted row; how many wanted rows follow without a gap, 0 at the end. */
static inline int64_t tn_wanted_rows_find(tn_wanted_rows *w) {
  int64_t end = w->n_rows;
  if (w->ranges != NULL) {
    while (w->at < w->ranges->count && w->ranges->items[w->at].end <= w->position) {
      w->at++;
    }
    if (w->at == w->ranges->count) {
      w->position = end;
    } else {
      const tn_range *range = &w->ranges->items[w->at];
      w->position = range->begin > w->position ? range->begin : w->position;
      end = range->end < end ? range->end : end;
    }
  }
  return w->position < end ? end - w->position : 0;
}

/* Step over n wanted rows, or all that are left. */
static inline void tn_wanted_rows_skip(tn_wanted_rows *w, int64_t n) {
  int64_t found;
  while (n > 0 && (found = tn_wanted_rows_find(w)) > 0) {
    found = found < n ? found : n;
    w->position += found;
    n -= found;
  }
}

#endif
