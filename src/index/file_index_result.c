/* file_index_result.c - verdicts: putting them together, and their rows as ranges. */
#include "index/file_index_payload.h"

#define RANGES_AT_ONCE 256

void tn_index_result_reset(tn_index_result *result) {
  roaring_bitmap_free(result->rows);
  *result = (tn_index_result){0};
}

int64_t tn_index_result_rows(const tn_index_result *result) {
  return result->rows != NULL ? (int64_t)roaring_bitmap_get_cardinality(result->rows) : 0;
}

static void move(tn_index_result *to, tn_index_result *from) {
  tn_index_result_reset(to);
  *to = *from;
  *from = (tn_index_result){0};
}

void tn_index_result_and(tn_index_result *a, tn_index_result *b) {
  if (b->verdict == TN_INDEX_REMAIN || a->verdict == TN_INDEX_SKIP) {
    tn_index_result_reset(b);
    return;
  }
  if (a->verdict == TN_INDEX_REMAIN || b->verdict == TN_INDEX_SKIP) {
    move(a, b);
    return;
  }
  roaring_bitmap_and_inplace(a->rows, b->rows);
  tn_index_result_reset(b);
  if (roaring_bitmap_is_empty(a->rows)) {
    tn_index_result_reset(a);
    a->verdict = TN_INDEX_SKIP;
  }
}

void tn_index_result_or(tn_index_result *a, tn_index_result *b) {
  if (b->verdict == TN_INDEX_SKIP || a->verdict == TN_INDEX_REMAIN) {
    tn_index_result_reset(b);
    return;
  }
  if (a->verdict == TN_INDEX_SKIP || b->verdict == TN_INDEX_REMAIN) {
    move(a, b);
    return;
  }
  roaring_bitmap_or_inplace(a->rows, b->rows);
  tn_index_result_reset(b);
}

tarn_status tn_index_result_ranges(const tn_index_result *result, const tn_dv *deletions,
                                   int64_t max_gap_rows, tn_ranges *out, tarn_error *err) {
  roaring_uint32_range_closed_t runs[RANGES_AT_ONCE];
  int64_t begin = -1, end = -1; /* of the range that is being put together */
  roaring_uint32_iterator_t it;
  size_t n;
  if (result->verdict != TN_INDEX_ROWS) {
    return TN_BUG(err, "ranges of a verdict that has no rows");
  }
  roaring_iterator_init(result->rows, &it);
  while ((n = roaring_uint32_iterator_read_ranges(&it, runs, RANGES_AT_ONCE)) > 0) {
    for (size_t i = 0; i < n; i++) {
      int64_t from = runs[i].min, to = (int64_t)runs[i].max + 1;
      if (deletions != NULL && tn_dv_count(deletions, from, to) == to - from) {
        continue;
      }
      if (begin >= 0 && from - end < max_gap_rows) {
        end = to;
        continue;
      }
      if (begin >= 0) {
        TN_TRY(tn_ranges_add(out, begin, end, err));
      }
      begin = from;
      end = to;
    }
  }
  return begin >= 0 ? tn_ranges_add(out, begin, end, err) : TARN_OK;
}
