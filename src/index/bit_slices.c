/* bit_slices.c - numbers of rows as one bitmap a binary digit.
 *
 * Rule: org.apache.paimon.utils.BitSliceIndexRoaringBitmap (bsi), fileindex.rangebitmap
 * .BitSliceIndexBitmap; spec: indexes, 5.
 */
#include "index/file_index_payload.h"

void tn_bit_slices_reset(tn_bit_slices *s) {
  roaring_bitmap_free(s->all);
  for (int32_t i = 0; i < s->n_slices; i++) {
    roaring_bitmap_free(s->slices[i]);
  }
  memset(s, 0, sizeof(*s));
}

tarn_status tn_bit_slices_all(const tn_bit_slices *s, roaring_bitmap_t **out, tarn_error *err) {
  if (s->all == NULL) {
    return tn_payload_no_rows(out, err);
  }
  *out = roaring_bitmap_copy(s->all);
  return *out != NULL ? TARN_OK : tn_oom(err);
}

static bool fits(const tn_bit_slices *s, uint64_t number) {
  return s->n_slices == TN_MAX_SLICES || number >> s->n_slices == 0;
}

tarn_status tn_bit_slices_equal(const tn_bit_slices *s, uint64_t number, roaring_bitmap_t **out,
                                tarn_error *err) {
  if (s->all == NULL || !fits(s, number)) {
    return tn_payload_no_rows(out, err);
  }
  TN_TRY(tn_bit_slices_all(s, out, err));
  /* Digits that are set first: they leave fewer rows for the others. */
  for (int32_t i = 0; i < s->n_slices && !roaring_bitmap_is_empty(*out); i++) {
    if (number >> i & 1) {
      roaring_bitmap_and_inplace(*out, s->slices[i]);
    }
  }
  for (int32_t i = 0; i < s->n_slices && !roaring_bitmap_is_empty(*out); i++) {
    if ((number >> i & 1) == 0) {
      roaring_bitmap_andnot_inplace(*out, s->slices[i]);
    }
  }
  return TARN_OK;
}

/* From the lowest digit up: `rows` are those whose digits so far are below those of the bound. A
 * digit of the bound that is set lets in all rows that lack it, one that is not set keeps out all
 * that have it. */
tarn_status tn_bit_slices_below(const tn_bit_slices *s, uint64_t bound, roaring_bitmap_t **out,
                                tarn_error *err) {
  roaring_bitmap_t *rows;
  if (s->all != NULL && !fits(s, bound)) {
    return tn_bit_slices_all(s, out, err);
  }
  TN_TRY(tn_payload_no_rows(&rows, err));
  for (int32_t i = 0; i < s->n_slices && bound != 0; i++) {
    if (bound >> i & 1) {
      roaring_bitmap_t *lacking = roaring_bitmap_andnot(s->all, s->slices[i]);
      if (lacking == NULL) {
        roaring_bitmap_free(rows);
        return tn_oom(err);
      }
      roaring_bitmap_or_inplace(rows, lacking);
      roaring_bitmap_free(lacking);
    } else {
      roaring_bitmap_andnot_inplace(rows, s->slices[i]);
    }
  }
  *out = rows;
  return TARN_OK;
}
