/* shredded.h - VARIANT columns whose values lie in columns of their own, put together again.
 *
 *   group v            { metadata; value; typed_value }
 *   typed_value        a leaf, an array of groups { value; typed_value },
 *                      or a group of fields, each a group { value; typed_value }
 *
 * `value` holds what typed_value cannot; of an object the fields that are not shredded. Where both
 * are null a field is missing, and anything else is Variant null. The group is read as the ROW that
 * it is (the plan's type and node), whose rows then become Variants.
 *
 * Source of the rule: apache/parquet-format, VariantShredding.md;
 * org.apache.paimon.data.variant.ShreddingUtils.
 */
#ifndef TN_FORMAT_PARQUET_SHREDDED_H
#define TN_FORMAT_PARQUET_SHREDDED_H

#include "column/variant_builder.h"
#include "column/vector.h"
#include "format/parquet/schema.h"

typedef enum tn_pq_shred_kind {
  TN_PQ_SHRED_NONE, /* no typed_value */
  TN_PQ_SHRED_BOOLEAN,
  TN_PQ_SHRED_LONG,
  TN_PQ_SHRED_FLOAT,
  TN_PQ_SHRED_DOUBLE,
  TN_PQ_SHRED_DECIMAL,
  TN_PQ_SHRED_TIME, /* dates and timestamps, too */
  TN_PQ_SHRED_BINARY,
  TN_PQ_SHRED_STRING,
  TN_PQ_SHRED_UUID,
  TN_PQ_SHRED_ARRAY,
  TN_PQ_SHRED_OBJECT
} tn_pq_shred_kind;

/* A group of value and typed_value. */
typedef struct tn_pq_shred {
  tn_pq_shred_kind kind;
  int32_t metadata, value, typed; /* children of the group; -1: none */
  tn_variant_primitive time;      /* TIME */
  int32_t scale;                  /* DECIMAL */
  int32_t n_children;             /* ARRAY: the element; OBJECT: the fields */
  struct tn_pq_shred *children;
  tn_slice *names;  /* OBJECT: of the fields */
  tn_slice *sorted; /* the same in order */
} tn_pq_shred;

typedef struct tn_pq_shred_plan {
  tn_pq_shred root;
  tn_type type;    /* the ROW that is read */
  tn_pq_node node; /* the group, its leaves without annotations where the type asks for that */
} tn_pq_shred_plan;

/* Errors: CORRUPT (a group that is none of these), UNSUPPORTED (a type of typed_value), NOMEM. */
TN_CHECKED tarn_status tn_pq_shred_plan_make(tn_arena *arena, const tn_pq_node *node,
                                             const char *path, const char *column,
                                             tn_pq_shred_plan **out, tarn_error *err);

/* Rows of the plan's type to an initialised vector of VARIANT. Errors: CORRUPT, LIMIT, NOMEM. */
TN_CHECKED tarn_status tn_pq_shred_join(tarn_env *env, const tn_pq_shred_plan *plan,
                                        const tn_vec *rows, tn_vec *out, tarn_error *err);

#endif
