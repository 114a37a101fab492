/* ranges.c - sorted sets of row positions as ranges. */
#include "base/checked.h"
#include "column/vector.h"

void tn_ranges_init(tn_ranges *ranges, tn_mem *mem) {
  memset(ranges, 0, sizeof(*ranges));
  ranges->mem = mem;
}

void tn_ranges_reset(tn_ranges *ranges) {
  if (ranges->mem != NULL) {
    tn_free(ranges->mem, ranges->items);
  }
  tn_ranges_init(ranges, ranges->mem);
}

tarn_status tn_ranges_add(tn_ranges *ranges, int64_t begin, int64_t end, tarn_error *err) {
  tn_range *last = ranges->count > 0 ? &ranges->items[ranges->count - 1] : NULL;
  if (begin < 0 || end < begin || (last != NULL && begin < last->end)) {
    return TN_BUG(err, "row ranges out of order");
  }
  if (begin == end) {
    return TARN_OK;
  }
  if (last != NULL && begin == last->end) {
    last->end = end;
    return TARN_OK;
  }
  if (ranges->count == ranges->capacity) {
    size_t capacity = ranges->capacity < 8 ? 8 : ranges->capacity * 2, n_bytes;
    tn_range *grown = NULL;
    if (tn_mul_size(capacity, sizeof(*grown), &n_bytes)) {
      grown = tn_realloc(ranges->mem, ranges->items, n_bytes);
    }
    if (grown == NULL) {
      return tn_oom(err);
    }
    ranges->items = grown;
    ranges->capacity = capacity;
  }
  ranges->items[ranges->count++] = (tn_range){begin, end};
  return TARN_OK;
}

/* Put `made` in the place of `ranges` if it was made whole. */
static tarn_status replace(tn_ranges *ranges, tn_ranges *made, tarn_status st) {
  if (st != TARN_OK) {
    tn_ranges_reset(made);
    return st;
  }
  tn_ranges_reset(ranges);
  *ranges = *made;
  return TARN_OK;
}

tarn_status tn_ranges_intersect(tn_ranges *a, const tn_ranges *b, tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_ranges both;
  size_t i = 0, j = 0;
  tn_ranges_init(&both, a->mem);
  while (st == TARN_OK && i < a->count && j < b->count) {
    const tn_range *x = &a->items[i], *y = &b->items[j];
    int64_t begin = x->begin > y->begin ? x->begin : y->begin;
    int64_t end = x->end < y->end ? x->end : y->end;
    if (begin < end) {
      st = tn_ranges_add(&both, begin, end, err);
    }
    if (x->end < y->end) {
      i++;
    } else {
      j++;
    }
  }
  return replace(a, &both, st);
}

tarn_status tn_ranges_unite(tn_ranges *a, const tn_ranges *b, tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_ranges any;
  size_t i = 0, j = 0;
  tn_ranges_init(&any, a->mem);
  while (st == TARN_OK && (i < a->count || j < b->count)) {
    bool from_a = j == b->count || (i < a->count && a->items[i].begin <= b->items[j].begin);
    tn_range next = from_a ? a->items[i++] : b->items[j++];
    int64_t done = any.count > 0 ? any.items[any.count - 1].end : 0;
    if (next.begin < done) {
      next.begin = done; /* it overlaps what is there */
    }
    if (next.begin < next.end) {
      st = tn_ranges_add(&any, next.begin, next.end, err);
    }
  }
  return replace(a, &any, st);
}

int64_t tn_ranges_rows(const tn_ranges *ranges) {
  int64_t rows = 0;
  for (size_t i = 0; i < ranges->count; i++) {
    rows += ranges->items[i].end - ranges->items[i].begin;
  }
  return rows;
}
