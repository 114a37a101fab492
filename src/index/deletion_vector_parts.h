/* deletion_vector_parts.h - what a deletion vector is made of: for the two files that read and
 * build them. */
#ifndef TN_INDEX_DELETION_VECTOR_PARTS_H
#define TN_INDEX_DELETION_VECTOR_PARTS_H

#include <roaring.h>

#include "index/deletion_vector.h"

#define TN_DV_FRAME_BYTES ((size_t)8) /* length word and CRC */
#define TN_DV_MAGIC_BYTES ((size_t)4)
#define TN_DV_MAGIC_V1 0x5E43F2D0u /* big-endian */
#define TN_DV_MAGIC_V2 0x6439D3D1u /* little-endian */
#define TN_DV_MAX_POSITION_V1 0x7FFFFFFFu
#define TN_DV_MAX_KEY_V2 0x7FFFFFFEu

/* Positions with the same upper 32 bits; never empty. */
typedef struct tn_dv_part {
  uint32_t key;
  roaring_bitmap_t *bitmap;
} tn_dv_part;

struct tn_dv {
  tn_mem *mem;
  _Atomic int32_t refs;
  int32_t version;
  int64_t cardinality;
  size_t n_parts;
  tn_dv_part parts[]; /* ascending by key */
};

/* An empty vector with room for max_parts parts. */
TN_CHECKED tarn_status tn_dv_create(tn_mem *mem, int32_t version, size_t max_parts, tn_dv **out,
                                    tarn_error *err);

#endif
