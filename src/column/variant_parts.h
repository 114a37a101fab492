/* variant_parts.h - the parts of VARIANT bytes: names, objects and arrays, sizes of scalars.
 *
 *   metadata  [header: version in bits 0-3, offset size - 1 in bits 6-7][n][n + 1 offsets][names]
 *   value     [header: basic type in bits 0-1, the rest by type]...
 *     0 primitive     type in bits 2-7, then the value
 *     1 short string  length in bits 2-7, then the bytes
 *     2 object        bits 2-3 offset size - 1, 4-5 id size - 1, 6 large; then n, n ids,
 *                     n + 1 offsets, values
 *     3 array         bits 2-3 offset size - 1, 4 large; then n, n + 1 offsets, values
 *
 * All numbers are little-endian; n takes one byte, or four of what is large. Values may lie in any
 * order. Everything is untrusted. Within this room.
 * Rule: Parquet "Variant Binary Encoding"; org.apache.paimon.data.variant.GenericVariantUtil.
 */
#ifndef TN_COLUMN_VARIANT_PARTS_H
#define TN_COLUMN_VARIANT_PARTS_H

#include "base/error.h"
#include "base/slice.h"

#define TN_VARIANT_VERSION 1
#define TN_VARIANT_MAX_DEPTH 512 /* objects and arrays within one another */

typedef enum tn_variant_basic {
  TN_VARIANT_PRIMITIVE,
  TN_VARIANT_SHORT_STRING,
  TN_VARIANT_OBJECT,
  TN_VARIANT_ARRAY
} tn_variant_basic;

typedef enum tn_variant_primitive {
  TN_VARIANT_NULL,
  TN_VARIANT_TRUE,
  TN_VARIANT_FALSE,
  TN_VARIANT_INT1,
  TN_VARIANT_INT2,
  TN_VARIANT_INT4,
  TN_VARIANT_INT8,
  TN_VARIANT_DOUBLE,
  TN_VARIANT_DECIMAL4,
  TN_VARIANT_DECIMAL8,
  TN_VARIANT_DECIMAL16,
  TN_VARIANT_DATE,
  TN_VARIANT_TIMESTAMP, /* microseconds; an instant */
  TN_VARIANT_TIMESTAMP_NTZ,
  TN_VARIANT_FLOAT,
  TN_VARIANT_BINARY,
  TN_VARIANT_STRING,
  TN_VARIANT_TIME, /* microseconds of day */
  TN_VARIANT_TIMESTAMP_NANOS,
  TN_VARIANT_TIMESTAMP_NTZ_NANOS,
  TN_VARIANT_UUID,
  TN_VARIANT_N_PRIMITIVES
} tn_variant_primitive;

static inline tn_variant_basic tn_variant_basic_at(tn_slice value, size_t at) {
  return (tn_variant_basic)(value.data[at] & 3);
}

typedef struct tn_variant_names {
  tn_slice bytes; /* the whole metadata */
  size_t offset_size, n;
} tn_variant_names;

/* An open object or array. */
typedef struct tn_variant_group {
  size_t n;                    /* children */
  size_t ids, offsets, values; /* positions in the value; ids is 0 for an array */
  size_t id_size, offset_size;
} tn_variant_group;

/* CORRUPT with the place of the fault. */
tarn_status tn_variant_malformed(const char *what, size_t at, tarn_error *err);

TN_CHECKED tarn_status tn_variant_names_read(tn_slice metadata, tn_variant_names *out,
                                             tarn_error *err);
TN_CHECKED tarn_status tn_variant_name(const tn_variant_names *names, size_t id, tn_slice *out,
                                       tarn_error *err);

/* at: of the header of an object or array, within the value. */
TN_CHECKED tarn_status tn_variant_group_open(tn_slice value, size_t at, tn_variant_group *out,
                                             tarn_error *err);
/* Child i < n: where it lies (within the value), and in an object the id of its name. */
TN_CHECKED tarn_status tn_variant_child(tn_slice value, const tn_variant_group *group, size_t i,
                                        size_t *id, size_t *at, tarn_error *err);

/* What follows the header of a primitive or short string: of BINARY and STRING without the length.
 * *type gets a tn_variant_primitive; STRING for a short string. */
TN_CHECKED tarn_status tn_variant_scalar(tn_slice value, size_t at, tn_variant_primitive *type,
                                         tn_slice *out, tarn_error *err);

#endif
