/* schema.h - a Parquet schema as a tree of columns with their levels, old shapes made plain.
 *
 * Parquet writes lists and maps as groups around a repeated node, in several historical forms. The
 * tree has one form: LEAF, STRUCT, LIST (one child: the element) and MAP (key, and value unless the
 * file has none). A node tells which entries of its leaves' levels concern it:
 *
 *   an entry starts a slot of the node    if  rep <= rep_slot  and  def >= def_slot
 *   that slot is not null                 if  def >= def_present
 *   LIST, MAP: an entry starts an item    if  rep <= rep_item  and  def >= def_item
 *
 * Trees are immutable and live in the arena of their file.
 * Source of the rule: apache/parquet-format, LogicalTypes.md, "Lists" and "Maps" with their
 * backward-compatibility rules.
 */
#ifndef TN_FORMAT_PARQUET_SCHEMA_H
#define TN_FORMAT_PARQUET_SCHEMA_H

#include "column/type.h"
#include "format/parquet/metadata.h"

#define TN_PQ_MAX_DEPTH 96 /* groups within groups that are accepted: levels fit a byte */

typedef enum tn_pq_node_kind {
  TN_PQ_NODE_LEAF,
  TN_PQ_NODE_STRUCT,
  TN_PQ_NODE_LIST,
  TN_PQ_NODE_MAP
} tn_pq_node_kind;

typedef struct tn_pq_node {
  tn_pq_node_kind kind;
  const char *name;
  const tn_pq_element *element; /* the outermost element of the node */
  uint8_t rep_slot, def_slot, def_present;
  uint8_t rep_item, def_item; /* LIST, MAP */
  int32_t leaf;               /* LEAF: its column number; others: that of their first leaf */
  int32_t n_leaves;
  int32_t n_children;
  struct tn_pq_node *children;
} tn_pq_node;

typedef struct tn_pq_schema {
  tn_pq_node root;           /* a STRUCT: the columns */
  const tn_pq_node **leaves; /* by column number; max levels are def_present and rep_slot */
  const char **leaf_paths;   /* "a.list.element", for messages and inspection */
  int32_t n_leaves;
} tn_pq_schema;

/* Errors: CORRUPT, LIMIT (nesting), NOMEM. */
TN_CHECKED tarn_status tn_pq_schema_build(tn_arena *arena, const tn_pq_footer *footer,
                                          const char *path, tn_pq_schema *out, tarn_error *err);

/* NULL when absent. */
const tn_pq_node *tn_pq_node_child(const tn_pq_node *group, const char *name);
/* The same for many names in about the order of the children: the search begins at *at (first 0),
 * which is left behind the child that was found. */
const tn_pq_node *tn_pq_node_next_child(const tn_pq_node *group, const char *name, int32_t *at);
/* The leaf of the fewest repetitions below a node: enough to tell the node's own levels. */
const tn_pq_node *tn_pq_node_level_leaf(const tn_pq_node *node);
/* A Variant's group: its binary children `metadata` and `value`, in any order. */
bool tn_pq_node_is_variant(const tn_pq_node *node);
/* Has typed_value, too, or not always a value. */
bool tn_pq_node_is_shredded(const tn_pq_node *node);

/* The columns as Paimon fields. Ids are the file's, or -1. Errors: UNSUPPORTED (a decimal of more
 * than 38 digits), NOMEM, LIMIT. */
TN_CHECKED tarn_status tn_pq_schema_fields(tn_arena *arena, const tn_pq_schema *schema,
                                           const char *path, tn_field **fields, int32_t *n_fields,
                                           tarn_error *err);

#endif
