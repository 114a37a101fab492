/* schema.c - the depth-first list of elements as a tree with levels. */
#include "format/parquet/schema.h"

#include <stdio.h>

typedef struct builder {
  tn_arena *arena;
  const char *path;
  const tn_pq_footer *footer;
  tn_pq_schema *schema;
  int32_t at;   /* next element */
  int32_t leaf; /* next leaf */
  int32_t depth;
  char name[512]; /* dotted path of the element at hand, cut when too long */
  size_t name_len;
  tarn_error *err;
} builder;

/* The levels that hold around a node. */
typedef struct levels {
  uint8_t rep;      /* repeated ancestors */
  uint8_t def;      /* optional and repeated ancestors */
  uint8_t def_slot; /* of the nearest repeated ancestor's items */
} levels;

static tarn_status build_node(builder *b, levels around, bool is_item, tn_pq_node *node);

static tarn_status build_children(builder *b, const tn_pq_element *e, levels inside,
                                  tn_pq_node *node) {
  node->n_children = e->n_children;
  node->children = tn_arena_calloc(b->arena, (size_t)e->n_children + 1, sizeof(*node->children));
  if (node->children == NULL) {
    return tn_oom(b->err);
  }
  for (int32_t i = 0; i < e->n_children; i++) {
    TN_TRY(build_node(b, inside, false, &node->children[i]));
  }
  return TARN_OK;
}

static tarn_status build_leaf(builder *b, levels inside, tn_pq_node *node) {
  node->kind = TN_PQ_NODE_LEAF;
  node->leaf = b->leaf;
  node->def_present = inside.def;
  b->schema->leaves[b->leaf] = node;
  b->schema->leaf_paths[b->leaf] = tn_arena_strndup(b->arena, b->name, b->name_len);
  if (b->schema->leaf_paths[b->leaf] == NULL) {
    return tn_oom(b->err);
  }
  b->leaf++;
  return TARN_OK;
}

/* The element behind e's header in the depth-first list. */
static const tn_pq_element *first_child(const builder *b) {
  return b->at < b->footer->n_elements ? &b->footer->elements[b->at] : NULL;
}

static bool is_map_kind(tn_pq_logical_kind kind) {
  return kind == TN_PQ_MAP || kind == TN_PQ_MAP_KEY_VALUE;
}

/* Does the repeated group itself stand for the element ("two-level lists")? */
static bool is_two_level(const builder *b, const tn_pq_element *list,
                         const tn_pq_element *repeated) {
  char tuple[256];
  const tn_pq_element *only = repeated + 1;
  if (!repeated->is_group || repeated->n_children != 1 || repeated->logical.kind == TN_PQ_LIST ||
      is_map_kind(repeated->logical.kind)) {
    return true;
  }
  if (only >= b->footer->elements + b->footer->n_elements || only->repetition == TN_PQ_REPEATED) {
    return true;
  }
  snprintf(tuple, sizeof(tuple), "%s_tuple", list->name);
  return strcmp(repeated->name, "array") == 0 || strcmp(repeated->name, tuple) == 0;
}

static void enter_name(builder *b, const char *name) {
  int n = snprintf(b->name + b->name_len, sizeof(b->name) - b->name_len, "%s%s",
                   b->name_len > 0 ? "." : "", name);
  b->name_len += (size_t)n;
  if (b->name_len >= sizeof(b->name)) {
    b->name_len = sizeof(b->name) - 1;
  }
}

/* Levels inside the items of a repeated node. */
static levels item_levels(levels around) {
  levels inside = {(uint8_t)(around.rep + 1), (uint8_t)(around.def + 1), (uint8_t)(around.def + 1)};
  return inside;
}

static void open_items(tn_pq_node *node, tn_pq_node_kind kind, levels inside) {
  node->kind = kind;
  node->rep_item = inside.rep;
  node->def_item = inside.def;
}

static tarn_status build_list(builder *b, const tn_pq_element *list, levels around,
                              tn_pq_node *node) {
  const tn_pq_element *repeated = first_child(b);
  levels inside = item_levels(around);
  open_items(node, TN_PQ_NODE_LIST, inside);
  node->n_children = 1;
  node->children = tn_arena_calloc(b->arena, 1, sizeof(*node->children));
  if (node->children == NULL) {
    return tn_oom(b->err);
  }
  if (is_two_level(b, list, repeated)) {
    return build_node(b, inside, true, node->children);
  }
  enter_name(b, repeated->name);
  b->at++;
  return build_node(b, inside, false, node->children);
}

static tarn_status build_map(builder *b, levels around, tn_pq_node *node) {
  const tn_pq_element *repeated = first_child(b);
  levels inside = item_levels(around);
  open_items(node, TN_PQ_NODE_MAP, inside);
  enter_name(b, repeated->name);
  b->at++;
  return build_children(b, repeated, inside, node);
}

/* A repeated node outside of list and map: a required list of required items. */
static tarn_status build_repeated(builder *b, levels around, tn_pq_node *node) {
  levels inside = item_levels(around);
  open_items(node, TN_PQ_NODE_LIST, inside);
  node->def_present = around.def;
  node->n_children = 1;
  node->children = tn_arena_calloc(b->arena, 1, sizeof(*node->children));
  if (node->children == NULL) {
    return tn_oom(b->err);
  }
  return build_node(b, inside, true, node->children);
}

static bool is_list_shape(const builder *b, const tn_pq_element *e) {
  const tn_pq_element *child = first_child(b);
  return e->logical.kind == TN_PQ_LIST && e->n_children == 1 && child != NULL &&
         child->repetition == TN_PQ_REPEATED;
}

static bool is_map_shape(const builder *b, const tn_pq_element *e) {
  const tn_pq_element *child = first_child(b);
  return is_map_kind(e->logical.kind) && e->n_children == 1 && child != NULL && child->is_group &&
         child->repetition == TN_PQ_REPEATED &&
         (child->n_children == 1 || child->n_children == 2) && b->at + 1 < b->footer->n_elements &&
         b->footer->elements[b->at + 1].repetition != TN_PQ_REPEATED;
}

static tarn_status build_group(builder *b, const tn_pq_element *e, levels inside,
                               tn_pq_node *node) {
  if (e->n_children == 0) {
    return tn_fail(b->err, TARN_E_CORRUPT, "%s: footer: group `%s` has no columns", b->path,
                   b->name);
  }
  if (is_list_shape(b, e)) {
    return build_list(b, e, inside, node);
  }
  if (is_map_shape(b, e)) {
    return build_map(b, inside, node);
  }
  node->kind = TN_PQ_NODE_STRUCT;
  return build_children(b, e, inside, node);
}

/* is_item: the element's repetition is already accounted for by the list around it. */
static tarn_status build_node(builder *b, levels around, bool is_item, tn_pq_node *node) {
  const tn_pq_element *e;
  levels inside = around;
  size_t name_len = b->name_len;
  tarn_status st = TARN_OK;
  if (b->at >= b->footer->n_elements) {
    return tn_fail(b->err, TARN_E_CORRUPT, "%s: footer: the schema ends early", b->path);
  }
  if (++b->depth > TN_PQ_MAX_DEPTH) {
    return tn_fail(b->err, TARN_E_LIMIT, "%s: the schema is nested deeper than %d levels", b->path,
                   TN_PQ_MAX_DEPTH);
  }
  e = &b->footer->elements[b->at];
  node->name = e->name;
  node->element = e;
  node->rep_slot = around.rep;
  node->def_slot = around.def_slot;
  node->leaf = b->leaf;
  if (!is_item && e->repetition == TN_PQ_REPEATED) {
    st = build_repeated(b, around, node);
  } else {
    inside.def = (uint8_t)(around.def + (!is_item && e->repetition == TN_PQ_OPTIONAL));
    node->def_present = inside.def;
    enter_name(b, e->name);
    b->at++;
    st = e->is_group ? build_group(b, e, inside, node) : build_leaf(b, inside, node);
  }
  node->n_leaves = b->leaf - node->leaf;
  b->name_len = name_len;
  b->name[name_len] = '\0';
  b->depth--;
  return st;
}

tarn_status tn_pq_schema_build(tn_arena *arena, const tn_pq_footer *footer, const char *path,
                               tn_pq_schema *out, tarn_error *err) {
  builder b;
  levels none = {0, 0, 0};
  memset(&b, 0, sizeof(b));
  memset(out, 0, sizeof(*out));
  b.arena = arena;
  b.path = path;
  b.footer = footer;
  b.schema = out;
  b.at = 1;
  b.err = err;
  out->n_leaves = footer->n_leaves;
  out->leaves = tn_arena_calloc(arena, (size_t)footer->n_leaves + 1, sizeof(*out->leaves));
  out->leaf_paths = tn_arena_calloc(arena, (size_t)footer->n_leaves + 1, sizeof(*out->leaf_paths));
  if (out->leaves == NULL || out->leaf_paths == NULL) {
    return tn_oom(err);
  }
  out->root.kind = TN_PQ_NODE_STRUCT;
  out->root.name = footer->elements[0].name;
  out->root.element = &footer->elements[0];
  TN_TRY(build_children(&b, &footer->elements[0], none, &out->root));
  out->root.n_leaves = b.leaf;
  return TARN_OK;
}

const tn_pq_node *tn_pq_node_next_child(const tn_pq_node *group, const char *name, int32_t *at) {
  for (int32_t step = 0; step < group->n_children; step++) {
    int32_t i = *at + step < group->n_children ? *at + step : *at + step - group->n_children;
    if (strcmp(group->children[i].name, name) == 0) {
      *at = i + 1 < group->n_children ? i + 1 : 0;
      return &group->children[i];
    }
  }
  return NULL;
}

const tn_pq_node *tn_pq_node_child(const tn_pq_node *group, const char *name) {
  int32_t at = 0;
  return tn_pq_node_next_child(group, name, &at);
}

const tn_pq_node *tn_pq_node_level_leaf(const tn_pq_node *node) {
  const tn_pq_node *best = NULL;
  if (node->kind == TN_PQ_NODE_LEAF) {
    return node;
  }
  for (int32_t i = 0; i < node->n_children; i++) {
    const tn_pq_node *leaf = tn_pq_node_level_leaf(&node->children[i]);
    if (best == NULL || leaf->rep_slot < best->rep_slot) {
      best = leaf;
    }
  }
  return best;
}

static bool is_binary_leaf(const tn_pq_node *node) {
  return node != NULL && node->kind == TN_PQ_NODE_LEAF &&
         node->element->physical == TN_PQ_BYTE_ARRAY;
}

bool tn_pq_node_is_variant(const tn_pq_node *node) {
  return node->kind == TN_PQ_NODE_STRUCT && is_binary_leaf(tn_pq_node_child(node, "metadata")) &&
         (is_binary_leaf(tn_pq_node_child(node, "value")) || tn_pq_node_is_shredded(node));
}

bool tn_pq_node_is_shredded(const tn_pq_node *node) {
  const tn_pq_node *value;
  if (node->kind != TN_PQ_NODE_STRUCT) {
    return false;
  }
  value = tn_pq_node_child(node, "value");
  return tn_pq_node_child(node, "typed_value") != NULL || value == NULL ||
         value->element->repetition == TN_PQ_OPTIONAL;
}

/* ------------------------------------------------------------------ as Paimon types */

#define NO_LENGTH 2147483647

static tarn_status leaf_type(const tn_pq_node *node, const char *path, tn_type *type,
                             tarn_error *err);

static void set_integer(const tn_pq_logical *l, bool is_64, tn_type *type) {
  int32_t width = l->kind == TN_PQ_INTEGER ? l->bit_width : is_64 ? 64 : 32;
  bool is_signed = l->kind != TN_PQ_INTEGER || l->is_signed;
  if (!is_signed && width >= 64) {
    type->root = TN_DECIMAL;
    type->precision = 20;
    return;
  }
  // an unsigned type takes the next wider one
  width *= is_signed ? 1 : 2;
  type->root = width <= 8    ? TN_TINYINT
               : width <= 16 ? TN_SMALLINT
               : width <= 32 ? TN_INT
                             : TN_BIGINT;
}

static tn_type_root time_root(const tn_pq_logical *l) {
  return l->kind == TN_PQ_TIME ? TN_TIME : l->is_utc ? TN_TIMESTAMP_LTZ : TN_TIMESTAMP;
}

static void set_time(const tn_pq_logical *l, tn_type *type) {
  static const int32_t precisions[] = {3, 6, 9};
  type->root = time_root(l);
  type->precision = precisions[l->unit];
}

static void set_bytes(const tn_pq_element *e, tn_type *type) {
  tn_pq_logical_kind kind = e->logical.kind;
  if (e->physical == TN_PQ_FIXED) {
    type->root = TN_BINARY;
    type->length = e->type_length;
    return;
  }
  type->root =
      kind == TN_PQ_STRING || kind == TN_PQ_ENUM || kind == TN_PQ_JSON ? TN_VARCHAR : TN_VARBINARY;
  type->length = NO_LENGTH;
}

static tarn_status leaf_type(const tn_pq_node *node, const char *path, tn_type *type,
                             tarn_error *err) {
  const tn_pq_element *e = node->element;
  const tn_pq_logical *l = &e->logical;
  if (l->kind == TN_PQ_DECIMAL) {
    if (l->precision < 1 || l->precision > 38 || l->scale < 0 || l->scale > l->precision) {
      return tn_fail(err, TARN_E_UNSUPPORTED,
                     "%s: column `%s` is DECIMAL(%d, %d): 1 to 38 digits are supported", path,
                     node->name, (int)l->precision, (int)l->scale);
    }
    type->root = TN_DECIMAL;
    type->precision = l->precision;
    type->scale = l->scale;
    return TARN_OK;
  }
  switch (e->physical) {
    case TN_PQ_BOOLEAN:
      type->root = TN_BOOLEAN;
      break;
    case TN_PQ_INT32:
    case TN_PQ_INT64:
      if (l->kind == TN_PQ_DATE) {
        type->root = TN_DATE;
      } else if (l->kind == TN_PQ_TIME || l->kind == TN_PQ_TIMESTAMP) {
        set_time(l, type);
      } else {
        set_integer(l, e->physical == TN_PQ_INT64, type);
      }
      break;
    case TN_PQ_INT96:
      type->root = TN_TIMESTAMP;
      type->precision = 9;
      break;
    case TN_PQ_FLOAT:
      type->root = TN_FLOAT;
      break;
    case TN_PQ_DOUBLE:
      type->root = TN_DOUBLE;
      break;
    default:
      if (l->kind == TN_PQ_FLOAT16 && e->physical == TN_PQ_FIXED && e->type_length == 2) {
        type->root = TN_FLOAT;
      } else {
        set_bytes(e, type);
      }
      break;
  }
  return TARN_OK;
}

static tarn_status node_type(tn_arena *arena, const tn_pq_node *node, const char *path, int depth,
                             tn_type *type, tarn_error *err);

static tarn_status child_fields(tn_arena *arena, const tn_pq_node *node, const char *path,
                                int depth, const tn_field **out, tarn_error *err) {
  tn_field *fields = tn_arena_calloc(arena, (size_t)node->n_children + 1, sizeof(*fields));
  if (fields == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < node->n_children; i++) {
    const tn_pq_node *child = &node->children[i];
    fields[i].id = child->element->field_id;
    fields[i].name = child->name;
    TN_TRY(node_type(arena, child, path, depth + 1, &fields[i].type, err));
  }
  *out = fields;
  return TARN_OK;
}

/* Element, key and value have fixed names and no id. */
static tarn_status item_fields(tn_arena *arena, const tn_pq_node *node, const char *path, int depth,
                               tn_type *type, tarn_error *err) {
  static const char *const map_names[] = {"key", "value"};
  tn_field *fields = tn_arena_calloc(arena, 2, sizeof(*fields));
  if (fields == NULL) {
    return tn_oom(err);
  }
  type->n_fields = node->kind == TN_PQ_NODE_LIST ? 1 : 2;
  type->fields = fields;
  for (int32_t i = 0; i < type->n_fields; i++) {
    fields[i].id = -1;
    fields[i].name = node->kind == TN_PQ_NODE_LIST ? "element" : map_names[i];
    if (i < node->n_children) {
      TN_TRY(node_type(arena, &node->children[i], path, depth + 1, &fields[i].type, err));
    } else {
      fields[i].type.root = TN_INT;  // a map without values: all null
      fields[i].type.is_nullable = true;
    }
  }
  return TARN_OK;
}

static tarn_status node_type(tn_arena *arena, const tn_pq_node *node, const char *path, int depth,
                             tn_type *type, tarn_error *err) {
  memset(type, 0, sizeof(*type));
  if (depth > TN_MAX_TYPE_DEPTH) {
    return tn_fail(err, TARN_E_LIMIT, "%s: column `%s` is nested deeper than %d levels", path,
                   node->name, TN_MAX_TYPE_DEPTH);
  }
  // what surrounds the node counts in both levels
  type->is_nullable = node->element->repetition == TN_PQ_OPTIONAL;
  switch (node->kind) {
    case TN_PQ_NODE_LEAF:
      return leaf_type(node, path, type, err);
    case TN_PQ_NODE_STRUCT:
      if (node->element->logical.kind == TN_PQ_VARIANT) {
        type->root = TN_VARIANT;
        return TARN_OK;
      }
      type->root = TN_ROW;
      type->n_fields = node->n_children;
      return child_fields(arena, node, path, depth, &type->fields, err);
    case TN_PQ_NODE_LIST:
      type->root = TN_ARRAY;
      return item_fields(arena, node, path, depth, type, err);
    default:
      type->root = TN_MAP;
      return item_fields(arena, node, path, depth, type, err);
  }
}

tarn_status tn_pq_schema_fields(tn_arena *arena, const tn_pq_schema *schema, const char *path,
                                tn_field **fields, int32_t *n_fields, tarn_error *err) {
  const tn_field *made = NULL;
  TN_TRY(child_fields(arena, &schema->root, path, 0, &made, err));
  *fields = (tn_field *)made;
  *n_fields = schema->root.n_children;
  return TARN_OK;
}
