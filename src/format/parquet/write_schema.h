/* write_schema.h - Paimon fields as the Parquet schema that Java writes for them.
 *
 * The tree follows the vectors of the columns: a node for each vector that has a place in the file,
 * with its children in the order of the file. Groups of lists and maps that have no vector of their
 * own (`list`, `key_value`) are part of their node.
 * Rule: spec: datafiles, 3; org.apache.paimon.format.parquet.ParquetSchemaConverter.
 */
#ifndef TN_FORMAT_PARQUET_WRITE_SCHEMA_H
#define TN_FORMAT_PARQUET_WRITE_SCHEMA_H

#include "column/type.h"
#include "format/parquet/metadata.h"
#include "format/parquet/write_bytes.h"

typedef enum tn_pq_shape {
  TN_PQ_SHAPE_LEAF,
  TN_PQ_SHAPE_STRUCT, /* ROW, VARIANT */
  TN_PQ_SHAPE_LIST,   /* one child */
  TN_PQ_SHAPE_MAP     /* MAP, MULTISET: key and value, the children of the vector's only child */
} tn_pq_shape;

/* How bounds of a leaf are compared, if at all. */
typedef enum tn_pq_bound_kind {
  TN_PQ_BOUND_NONE, /* INT96 */
  TN_PQ_BOUND_BOOL,
  TN_PQ_BOUND_I32,
  TN_PQ_BOUND_I64,
  TN_PQ_BOUND_F32,
  TN_PQ_BOUND_F64,
  TN_PQ_BOUND_FIXED, /* big-endian two's complement */
  TN_PQ_BOUND_BYTES  /* unsigned bytes */
} tn_pq_bound_kind;

typedef struct tn_pq_write_node {
  tn_pq_shape shape;
  const char *name;
  const tn_type *type; /* of VARIANT's children: NULL */
  int32_t field_id;
  bool is_nullable;
  uint8_t max_def; /* definition level of a slot that is not null */
  uint8_t max_rep; /* repetition level within it: LIST and MAP count their own items */
  int32_t child;   /* which child of the parent's vector */
  int32_t n_children;
  struct tn_pq_write_node *children;
  /* Leaves. */
  int32_t leaf; /* number, in schema order */
  tn_pq_physical physical;
  int32_t width;    /* bytes of a plain value; 0: BYTE_ARRAY, BOOLEAN */
  tn_layout layout; /* of the vector */
  tn_pq_bound_kind bound;
  bool is_text; /* UTF-8 */
  int32_t n_names;
  const char **names; /* from the column down, as the file has them: "a", "list", "element" */
} tn_pq_write_node;

typedef struct tn_pq_write_schema {
  int32_t n_columns, n_leaves;
  tn_pq_write_node *columns;
  const tn_pq_write_node **leaves;
  tn_pq_bytes elements; /* the list of SchemaElement, encoded */
  int32_t n_elements;
  tn_arena arena;
} tn_pq_write_schema;

/* Errors: UNSUPPORTED (nested BLOB, VECTOR, a ROW without fields, by name), LIMIT (depth), NOMEM.
 * `fields` are kept by reference. What is made must be reset, also after a failure. */
TN_CHECKED tarn_status tn_pq_write_schema_init(tn_pq_write_schema *schema, tarn_env *env,
                                               const tn_field *fields, int32_t n_fields,
                                               tarn_error *err);
void tn_pq_write_schema_reset(tn_pq_write_schema *schema);

#endif
