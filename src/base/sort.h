/* sort.h - a stable sort of pointers, as List.sort is: equal items keep their order. */
#ifndef TN_BASE_SORT_H
#define TN_BASE_SORT_H

#include <stdint.h>
#include <string.h>

typedef int (*tn_sort_compare)(void *ctx, const void *a, const void *b);

/* scratch: room for n pointers. Sorted input costs one pass; else bottom-up merging. */
static inline void tn_sort_stable(const void **items, const void **scratch, int64_t n,
                                  tn_sort_compare compare, void *ctx) {
  const void **from = items, **to = scratch;
  int64_t sorted = 1;
  while (sorted < n && compare(ctx, items[sorted - 1], items[sorted]) <= 0) {
    sorted++;
  }
  if (sorted >= n) {
    return;
  }
  for (int64_t width = 1; width < n; width *= 2) {
    const void **swap;
    for (int64_t begin = 0; begin < n; begin += 2 * width) {
      int64_t mid = begin + width < n ? begin + width : n;
      int64_t end = mid + width < n ? mid + width : n;
      int64_t a = begin, b = mid;
      for (int64_t k = begin; k < end; k++) {
        if (a < mid && (b >= end || compare(ctx, from[a], from[b]) <= 0)) {
          to[k] = from[a++];
        } else {
          to[k] = from[b++];
        }
      }
    }
    swap = from;
    from = to;
    to = swap;
  }
  if (from != items) {
    memcpy(items, from, (size_t)n * sizeof(*items));
  }
}

#endif
