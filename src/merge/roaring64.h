/* roaring64.h - sets of 64-bit values in the form of Java's Roaring64Bitmap (RoaringBitmap 1.2).
 *
 * A set is read, united with others and written back, byte for byte as Java does it: the same
 * containers in the same slots. The form is a radix tree of the upper 48 bits of the values, whose
 * leaves name *containers* of the lower 16 bits; it is neither the portable 64-bit form nor that of
 * deletion vectors. One thread at a time. Rule: spec: merge-engines, 6.3;
 * org.roaringbitmap.longlong.{Roaring64Bitmap, HighLowContainer}, org.roaringbitmap.art.
 */
#ifndef TN_MERGE_ROARING64_H
#define TN_MERGE_ROARING64_H

#include "base/buf.h"

/* The lower 16 bits of the values of one key. */
typedef struct tn_roaring64_container {
  uint8_t kind;         /* see roaring64.c; the slot is free when bytes is NULL */
  uint32_t cardinality; /* 1 to 65536 */
  const uint8_t *bytes; /* as it is written */
  uint32_t n_bytes;
  uint8_t *owned; /* bytes, when they are the set's own */
} tn_roaring64_container;

typedef struct tn_roaring64_key {
  uint64_t key; /* the upper 48 bits */
  uint32_t slot;
} tn_roaring64_key;

typedef struct tn_roaring64 {
  tn_mem *mem;
  tn_roaring64_key *keys; /* ascending */
  size_t n_keys, key_capacity;
  tn_roaring64_container *slots;
  size_t n_slots;    /* as many as are written */
  int64_t last_slot; /* the last one that was ever used; -1: none */
  bool is_optimized; /* each container has the form that Java writes */
} tn_roaring64;

void tn_roaring64_init(tn_roaring64 *set, tn_mem *mem); /* empty */
void tn_roaring64_reset(tn_roaring64 *set);
/* Replace the set by a stored one. The bytes are untrusted and must outlive the set. Bytes behind
 * it are not looked at. Errors: CORRUPT with the offset, UNSUPPORTED, NOMEM; the set is empty then.
 */
TN_CHECKED tarn_status tn_roaring64_decode(tn_roaring64 *set, tn_slice bytes, tarn_error *err);
/* set = set united with other, whose bytes must outlive the set as well. */
TN_CHECKED tarn_status tn_roaring64_unite(tn_roaring64 *set, const tn_roaring64 *other,
                                          tarn_error *err);
/* Append the stored form. */
TN_CHECKED tarn_status tn_roaring64_encode(tn_roaring64 *set, tn_buf *out, tarn_error *err);

#endif
