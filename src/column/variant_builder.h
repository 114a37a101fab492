/* variant_builder.h - VARIANT values put together piece by piece, byte for byte as Java does it.
 *
 * A builder is used for one value after another: reset, put one value (which may be an object or
 * array of more), take. Names of fields become ids in the order they are met. Integers take the
 * fewest bytes that hold them, decimals by their digits.
 *
 *   tn_variant_open(b, &g);
 *   for each field  { tn_variant_add_field(b, &g, name); put its value }       (or add_item)
 *   tn_variant_close_object(b, &g);
 *
 * One thread at a time. Rule: org.apache.paimon.data.variant.GenericVariantBuilder.
 */
#ifndef TN_COLUMN_VARIANT_BUILDER_H
#define TN_COLUMN_VARIANT_BUILDER_H

#include "base/buf.h"
#include "column/type.h"
#include "column/variant_parts.h"

#define TN_VARIANT_MAX_BYTES ((size_t)128 << 20) /* of a value, and of its metadata */

/* A field or item of an object or array that is open. */
typedef struct tn_variant_entry {
  uint32_t id;
  uint32_t offset; /* of its value from the start of the group's values */
} tn_variant_entry;

/* A name of the dictionary. */
typedef struct tn_variant_key {
  tn_slice name; /* borrowed until the value is taken */
  uint64_t hash;
} tn_variant_key;

typedef struct tn_variant_builder {
  tn_mem *mem;
  tn_buf value, metadata;
  tn_variant_entry *entries; /* of all groups that are open */
  size_t n_entries, entries_capacity;
  tn_variant_key *keys; /* by id */
  size_t n_keys, keys_capacity;
  uint32_t *slots; /* a hash table of ids + 1; twice as many as keys at least */
  size_t n_slots;
  uint64_t work_left; /* of the value that is copied: what its bytes can hold without sharing */
} tn_variant_builder;

/* An object or array that is open: in the caller's hands. */
typedef struct tn_variant_open_group {
  size_t start; /* in value */
  size_t first; /* in entries */
} tn_variant_open_group;

void tn_variant_builder_init(tn_variant_builder *b, tn_mem *mem);
void tn_variant_builder_free(tn_variant_builder *b); /* accepts all-zero */
void tn_variant_builder_reset(tn_variant_builder *b);

/* Errors of all calls: NOMEM, LIMIT (TN_VARIANT_MAX_BYTES, nesting of a value that is copied). */
TN_CHECKED tarn_status tn_variant_put_null(tn_variant_builder *b, tarn_error *err);
TN_CHECKED tarn_status tn_variant_put_boolean(tn_variant_builder *b, bool v, tarn_error *err);
TN_CHECKED tarn_status tn_variant_put_long(tn_variant_builder *b, int64_t v, tarn_error *err);
TN_CHECKED tarn_status tn_variant_put_float(tn_variant_builder *b, float v, tarn_error *err);
TN_CHECKED tarn_status tn_variant_put_double(tn_variant_builder *b, double v, tarn_error *err);
/* 0 <= scale <= 38; the digits of v are 38 at most. */
TN_CHECKED tarn_status tn_variant_put_decimal(tn_variant_builder *b, tn_i128 v, int32_t scale,
                                              tarn_error *err);
/* DATE (days), TIME and the timestamps: the number as it is kept. */
TN_CHECKED tarn_status tn_variant_put_time(tn_variant_builder *b, tn_variant_primitive type,
                                           int64_t v, tarn_error *err);
TN_CHECKED tarn_status tn_variant_put_binary(tn_variant_builder *b, tn_slice v, tarn_error *err);
TN_CHECKED tarn_status tn_variant_put_string(tn_variant_builder *b, tn_slice v, tarn_error *err);
TN_CHECKED tarn_status tn_variant_put_uuid(tn_variant_builder *b, const uint8_t *v,
                                           tarn_error *err);
/* A value of another Variant: its names get new ids. Errors: CORRUPT, too. */
TN_CHECKED tarn_status tn_variant_put_value(tn_variant_builder *b, const tn_variant_names *names,
                                            tn_slice value, tarn_error *err);

void tn_variant_open(tn_variant_builder *b, tn_variant_open_group *g);
TN_CHECKED tarn_status tn_variant_add_field(tn_variant_builder *b, const tn_variant_open_group *g,
                                            tn_slice name, tarn_error *err);
TN_CHECKED tarn_status tn_variant_add_item(tn_variant_builder *b, const tn_variant_open_group *g,
                                           tarn_error *err);
/* The fields of an object of another Variant. is_taken: names that must not be among them.
 * Errors: CORRUPT, too (no object). */
TN_CHECKED tarn_status tn_variant_add_fields(tn_variant_builder *b, const tn_variant_open_group *g,
                                             const tn_variant_names *names, tn_slice value,
                                             bool (*is_taken)(const void *ctx, tn_slice name),
                                             const void *ctx, tarn_error *err);
/* Fields are put in order of their names. Errors: CORRUPT (a name twice), too. */
TN_CHECKED tarn_status tn_variant_close_object(tn_variant_builder *b,
                                               const tn_variant_open_group *g, tarn_error *err);
TN_CHECKED tarn_status tn_variant_close_array(tn_variant_builder *b, const tn_variant_open_group *g,
                                              tarn_error *err);

/* Both lie in the builder until it is reset. */
TN_CHECKED tarn_status tn_variant_take(tn_variant_builder *b, tn_slice *metadata, tn_slice *value,
                                       tarn_error *err);

#endif
