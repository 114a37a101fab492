/* hll_sketch.h - unions of Apache DataSketches HLL sketches, as their Java library makes them.
 *
 * A sketch begins as a list of coupons (a slot and a value in 32 bits), becomes a hash set of them,
 * and then an array with the greatest value of each of its 2^lgK slots. The union of two is based
 * on the second, of which it has the lgK at most; it is written compact, as HLL_4. Lists and sets
 * keep the order, and estimates the sequence of floating-point operations, that Java has, so the
 * bytes are the same.
 * Rule: org.apache.paimon.utils.HllSketchUtil; org.apache.datasketches.hll 4.2 (Union, CouponList,
 * CouponHashSet, HllArray, Conversions, PreambleUtil).
 */
#ifndef TN_MERGE_HLL_SKETCH_H
#define TN_MERGE_HLL_SKETCH_H

#include "base/buf.h"

typedef enum tn_hll_mode { TN_HLL_LIST, TN_HLL_SET, TN_HLL_ARRAY } tn_hll_mode;

typedef struct tn_hll {
  tn_mem *mem;
  uint32_t lg_k; /* 4 to 21 */
  tn_hll_mode mode;

  uint32_t *coupons; /* LIST, SET: 2^lg_coupons places; 0 is free */
  uint32_t lg_coupons, n_coupons;

  uint8_t *values;   /* ARRAY: of each slot */
  double estimate;   /* Java's hipAccum */
  double kxq0, kxq1; /* sums of 2^-value, of values below and from 32 on */
  bool is_out_of_order;
} tn_hll;

void tn_hll_init(tn_hll *sketch, tn_mem *mem);
void tn_hll_reset(tn_hll *sketch);
/* Replace the sketch by a stored one, of any type, compact or not. The bytes are untrusted. Errors:
 * CORRUPT, NOMEM. */
TN_CHECKED tarn_status tn_hll_decode(tn_hll *sketch, tn_slice bytes, tarn_error *err);
/* base = base united with other, which is spent. */
TN_CHECKED tarn_status tn_hll_unite(tn_hll *base, tn_hll *other, tarn_error *err);
/* Append the sketch as compact HLL_4. */
TN_CHECKED tarn_status tn_hll_encode(const tn_hll *sketch, tn_buf *out, tarn_error *err);

#endif
