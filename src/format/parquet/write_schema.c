/* write_schema.c - types to physical types, the ids of nested levels. */
#include "format/parquet/write_schema.h"

#include "format/parquet/write_thrift.h"

/* Names of groups, and the root's, as Java has them. */
#define ROOT_NAME "paimon_schema"
#define LIST_NAME "list"
#define ELEMENT_NAME "element"
#define MAP_NAME "key_value"
#define KEY_NAME "key"
#define VALUE_NAME "value"
#define METADATA_NAME "metadata"

#define MAX_NAMES (2 * TN_MAX_TYPE_DEPTH + 4)
#define ARENA_BYTES ((size_t)64 << 20)

/* Ids of elements, keys and values: around this one, by the field they are in and their depth. */
#define NESTED_ID_BASE 536870911u
#define NESTED_ID_STEP 1024u

/* ConvertedType of the format. */
enum {
  CONVERTED_NONE = -1,
  CONVERTED_UTF8 = 0,
  CONVERTED_MAP = 1,
  CONVERTED_MAP_KEY_VALUE = 2,
  CONVERTED_LIST = 3,
  CONVERTED_DECIMAL = 5,
  CONVERTED_DATE = 6,
  CONVERTED_TIME_MILLIS = 7,
  CONVERTED_TIMESTAMP_MILLIS = 9,
  CONVERTED_TIMESTAMP_MICROS = 10,
  CONVERTED_INT_8 = 15,
  CONVERTED_INT_16 = 16
};

/* Members of the union LogicalType. */
enum {
  LOGICAL_NONE = 0,
  LOGICAL_STRING = 1,
  LOGICAL_MAP = 2,
  LOGICAL_LIST = 3,
  LOGICAL_DECIMAL = 5,
  LOGICAL_DATE = 6,
  LOGICAL_TIME = 7,
  LOGICAL_TIMESTAMP = 8,
  LOGICAL_INTEGER = 10
};

/* What an element says of its type. */
typedef struct annotation {
  int32_t converted;
  int32_t logical;
  int32_t bit_width;        /* INTEGER */
  int32_t precision, scale; /* DECIMAL */
  bool is_utc, is_micros;   /* TIME, TIMESTAMP */
} annotation;

typedef struct builder {
  tn_pq_write_schema *schema;
  tn_thrift_out out;
  int32_t depth; /* of types */
  int32_t n_names;
  const char *names[MAX_NAMES];
  const char *column; /* for messages */
  tarn_error *err;
} builder;

/* A level of nesting around a node. */
typedef struct around {
  uint8_t rep, def;
  int32_t field_id; /* of the innermost named field */
  uint32_t depth;   /* of elements, keys and values below it */
} around;

/* ------------------------------------------------------------------ elements */

static void put_annotation(tn_thrift_out *t, const annotation *a) {
  if (a->logical == LOGICAL_NONE) {
    return;
  }
  tn_thrift_put_struct(t, 10);
  tn_thrift_put_struct(t, a->logical);
  if (a->logical == LOGICAL_DECIMAL) {
    tn_thrift_put_int(t, 1, TN_THRIFT_I32, a->scale);
    tn_thrift_put_int(t, 2, TN_THRIFT_I32, a->precision);
  } else if (a->logical == LOGICAL_INTEGER) {
    tn_thrift_put_int(t, 1, TN_THRIFT_BYTE, a->bit_width);
    tn_thrift_put_bool(t, 2, true);
  } else if (a->logical == LOGICAL_TIME || a->logical == LOGICAL_TIMESTAMP) {
    tn_thrift_put_bool(t, 1, a->is_utc);
    tn_thrift_put_struct(t, 2);
    tn_thrift_put_empty_struct(t, a->is_micros ? 2 : 1);
    tn_thrift_put_end(t);
  }
  tn_thrift_put_end(t);
  tn_thrift_put_end(t);
}

/* One SchemaElement; n_children 0: a leaf of the node's physical type. field_id -1: none. */
static void put_element(builder *b, const char *name, int32_t repetition, int32_t n_children,
                        const tn_pq_write_node *leaf, int32_t field_id, const annotation *a) {
  tn_thrift_out *t = &b->out;
  tn_thrift_put_struct_element(t);
  if (leaf != NULL) {
    tn_thrift_put_int(t, 1, TN_THRIFT_I32, leaf->physical);
    if (leaf->physical == TN_PQ_FIXED) {
      tn_thrift_put_int(t, 2, TN_THRIFT_I32, leaf->width);
    }
  }
  if (repetition >= 0) {
    tn_thrift_put_int(t, 3, TN_THRIFT_I32, repetition);
  }
  tn_thrift_put_binary(t, 4, tn_slice_text(name));
  if (leaf == NULL) {
    tn_thrift_put_int(t, 5, TN_THRIFT_I32, n_children);
  }
  if (a->converted != CONVERTED_NONE) {
    tn_thrift_put_int(t, 6, TN_THRIFT_I32, a->converted);
  }
  if (a->logical == LOGICAL_DECIMAL) {
    tn_thrift_put_int(t, 7, TN_THRIFT_I32, a->scale);
    tn_thrift_put_int(t, 8, TN_THRIFT_I32, a->precision);
  }
  if (field_id != -1) {
    tn_thrift_put_int(t, 9, TN_THRIFT_I32, field_id);
  }
  put_annotation(t, a);
  tn_thrift_put_end(t);
  b->schema->n_elements++;
}

static const annotation plain = {CONVERTED_NONE, LOGICAL_NONE, 0, 0, 0, false, false};

/* ------------------------------------------------------------------ leaves */

static void set_physical(tn_pq_write_node *node, tn_pq_physical physical, int32_t width,
                         tn_pq_bound_kind bound) {
  node->physical = physical;
  node->width = width;
  node->bound = bound;
}

/* The least bytes n with 2^(8n - 1) >= 10^precision (ParquetSchemaConverter, after Hive). */
static int32_t decimal_bytes(int32_t precision) {
  static const int32_t bytes[] = {9,  9,  9,  10, 10, 11, 11, 11, 12, 12,
                                  13, 13, 13, 14, 14, 15, 15, 16, 16, 16};
  return bytes[precision - 19];
}

static void set_decimal(tn_pq_write_node *node, const tn_type *type, annotation *a) {
  if (type->precision <= 9) {
    set_physical(node, TN_PQ_INT32, 4, TN_PQ_BOUND_I32);
  } else if (type->precision <= 18) {
    set_physical(node, TN_PQ_INT64, 8, TN_PQ_BOUND_I64);
  } else {
    set_physical(node, TN_PQ_FIXED, decimal_bytes(type->precision), TN_PQ_BOUND_FIXED);
  }
  a->converted = CONVERTED_DECIMAL;
  a->logical = LOGICAL_DECIMAL;
  a->precision = type->precision;
  a->scale = type->scale;
}

static void set_timestamp(tn_pq_write_node *node, const tn_type *type, annotation *a) {
  if (type->precision > 6) {
    set_physical(node, TN_PQ_INT96, 12, TN_PQ_BOUND_NONE);
    return;
  }
  set_physical(node, TN_PQ_INT64, 8, TN_PQ_BOUND_I64);
  a->logical = LOGICAL_TIMESTAMP;
  a->is_utc = type->root == TN_TIMESTAMP_LTZ;
  a->is_micros = type->precision > 3;
  a->converted = a->is_micros ? CONVERTED_TIMESTAMP_MICROS : CONVERTED_TIMESTAMP_MILLIS;
}

static void set_integer(tn_pq_write_node *node, int32_t bit_width, annotation *a) {
  set_physical(node, TN_PQ_INT32, 4, TN_PQ_BOUND_I32);
  a->logical = LOGICAL_INTEGER;
  a->bit_width = bit_width;
  a->converted = bit_width == 8 ? CONVERTED_INT_8 : CONVERTED_INT_16;
}

static tarn_status refuse(builder *b, const char *what) {
  return tn_fail(b->err, TARN_E_UNSUPPORTED, "column `%s`: %s cannot be written to Parquet files",
                 b->column, what);
}

static tarn_status set_leaf_type(builder *b, tn_pq_write_node *node, const tn_type *type,
                                 annotation *a) {
  switch (type->root) {
    case TN_BOOLEAN:
      set_physical(node, TN_PQ_BOOLEAN, 0, TN_PQ_BOUND_BOOL);
      break;
    case TN_TINYINT:
      set_integer(node, 8, a);
      break;
    case TN_SMALLINT:
      set_integer(node, 16, a);
      break;
    case TN_INT:
      set_physical(node, TN_PQ_INT32, 4, TN_PQ_BOUND_I32);
      break;
    case TN_DATE:
      set_physical(node, TN_PQ_INT32, 4, TN_PQ_BOUND_I32);
      a->converted = CONVERTED_DATE;
      a->logical = LOGICAL_DATE;
      break;
    case TN_TIME: /* milliseconds, whatever the precision; Java says "adjusted to UTC" */
      set_physical(node, TN_PQ_INT32, 4, TN_PQ_BOUND_I32);
      a->converted = CONVERTED_TIME_MILLIS;
      a->logical = LOGICAL_TIME;
      a->is_utc = true;
      break;
    case TN_BIGINT:
      set_physical(node, TN_PQ_INT64, 8, TN_PQ_BOUND_I64);
      break;
    case TN_FLOAT:
      set_physical(node, TN_PQ_FLOAT, 4, TN_PQ_BOUND_F32);
      break;
    case TN_DOUBLE:
      set_physical(node, TN_PQ_DOUBLE, 8, TN_PQ_BOUND_F64);
      break;
    case TN_DECIMAL:
      set_decimal(node, type, a);
      break;
    case TN_CHAR:
    case TN_VARCHAR:
      set_physical(node, TN_PQ_BYTE_ARRAY, 0, TN_PQ_BOUND_BYTES);
      node->is_text = true;
      a->converted = CONVERTED_UTF8;
      a->logical = LOGICAL_STRING;
      break;
    case TN_BLOB: /* a descriptor (ParquetRowDataWriter.BlobDescriptorWriter); not nested */
      if (b->n_names > 1) {
        return refuse(b, "a BLOB in another type");
      }
      set_physical(node, TN_PQ_BYTE_ARRAY, 0, TN_PQ_BOUND_BYTES);
      break;
    case TN_BINARY:
    case TN_VARBINARY:
      set_physical(node, TN_PQ_BYTE_ARRAY, 0, TN_PQ_BOUND_BYTES);
      break;
    case TN_TIMESTAMP:
    case TN_TIMESTAMP_LTZ:
      set_timestamp(node, type, a);
      break;
    default:
      return refuse(b, tn_type_text_of(type).text);
  }
  return TARN_OK;
}

static tarn_status finish_leaf(builder *b, tn_pq_write_node *node) {
  tn_pq_write_schema *schema = b->schema;
  size_t n = (size_t)b->n_names;
  node->shape = TN_PQ_SHAPE_LEAF;
  node->leaf = schema->n_leaves++;
  node->n_names = b->n_names;
  node->names = tn_arena_memdup(&schema->arena, b->names, n * sizeof(*b->names));
  return node->names != NULL ? TARN_OK : tn_oom(b->err);
}

/* ------------------------------------------------------------------ nodes */

static tarn_status build_node(builder *b, const char *name, const tn_type *type, bool is_nullable,
                              around at, tn_pq_write_node *node);

static void push_name(builder *b, const char *name) {
  if (b->n_names < MAX_NAMES) {
    b->names[b->n_names++] = name;
  }
}

static tarn_status make_children(builder *b, tn_pq_write_node *node, int32_t n) {
  node->n_children = n;
  node->children = tn_arena_calloc(&b->schema->arena, (size_t)n, sizeof(*node->children));
  for (int32_t i = 0; node->children != NULL && i < n; i++) {
    node->children[i].child = i;
  }
  return node->children != NULL ? TARN_OK : tn_oom(b->err);
}

static tarn_status build_row(builder *b, const tn_type *type, around at, tn_pq_write_node *node) {
  node->shape = TN_PQ_SHAPE_STRUCT;
  if (type->n_fields == 0) {
    return refuse(b, "a ROW without fields");
  }
  put_element(b, node->name, node->is_nullable, type->n_fields, NULL, node->field_id, &plain);
  TN_TRY(make_children(b, node, type->n_fields));
  for (int32_t i = 0; i < type->n_fields; i++) {
    const tn_field *field = &type->fields[i];
    around inside = {at.rep, node->max_def, field->id, 0};
    node->children[i].field_id = field->id;
    TN_TRY(build_node(b, field->name, &field->type, field->type.is_nullable, inside,
                      &node->children[i]));
  }
  return TARN_OK;
}

/* The file has `value` first, the vector `metadata`. */
static tarn_status build_variant(builder *b, around at, tn_pq_write_node *node) {
  static const char *const names[] = {VALUE_NAME, METADATA_NAME};
  node->shape = TN_PQ_SHAPE_STRUCT;
  put_element(b, node->name, node->is_nullable, 2, NULL, node->field_id, &plain);
  TN_TRY(make_children(b, node, 2));
  for (int32_t i = 0; i < 2; i++) {
    tn_pq_write_node *child = &node->children[i];
    child->name = names[i];
    child->field_id = i;
    child->child = 1 - i;
    child->max_def = node->max_def;
    child->max_rep = at.rep;
    child->layout = TN_LAYOUT_BYTES;
    set_physical(child, TN_PQ_BYTE_ARRAY, 0, TN_PQ_BOUND_BYTES);
    put_element(b, names[i], TN_PQ_REQUIRED, 0, child, i, &plain);
    push_name(b, names[i]);
    TN_TRY(finish_leaf(b, child));
    b->n_names--;
  }
  return TARN_OK;
}

static int32_t nested_id(around at, bool is_key) {
  uint32_t distance = NESTED_ID_STEP * (uint32_t)at.field_id + at.depth;
  return (int32_t)(is_key ? NESTED_ID_BASE - distance : NESTED_ID_BASE + distance);
}

static tarn_status build_list(builder *b, const tn_type *type, around at, tn_pq_write_node *node) {
  static const annotation list = {CONVERTED_LIST, LOGICAL_LIST, 0, 0, 0, false, false};
  around inside = {(uint8_t)(at.rep + 1), (uint8_t)(node->max_def + 1), at.field_id, at.depth + 1};
  node->shape = TN_PQ_SHAPE_LIST;
  node->max_rep = inside.rep;
  put_element(b, node->name, node->is_nullable, 1, NULL, node->field_id, &list);
  put_element(b, LIST_NAME, TN_PQ_REPEATED, 1, NULL, -1, &plain);
  push_name(b, LIST_NAME);
  TN_TRY(make_children(b, node, 1));
  node->children[0].field_id = nested_id(inside, false);
  TN_TRY(build_node(b, ELEMENT_NAME, &type->fields[0].type, type->fields[0].type.is_nullable,
                    inside, &node->children[0]));
  b->n_names--;
  return TARN_OK;
}

static tarn_status build_map(builder *b, const tn_type *type, around at, tn_pq_write_node *node) {
  static const annotation map = {CONVERTED_MAP, LOGICAL_MAP, 0, 0, 0, false, false};
  static const annotation key_value = {
      CONVERTED_MAP_KEY_VALUE, LOGICAL_NONE, 0, 0, 0, false, false};
  around inside = {(uint8_t)(at.rep + 1), (uint8_t)(node->max_def + 1), at.field_id, at.depth + 1};
  node->shape = TN_PQ_SHAPE_MAP;
  node->max_rep = inside.rep;
  put_element(b, node->name, node->is_nullable, 1, NULL, node->field_id, &map);
  put_element(b, MAP_NAME, TN_PQ_REPEATED, 2, NULL, -1, &key_value);
  push_name(b, MAP_NAME);
  TN_TRY(make_children(b, node, 2));
  node->children[0].field_id = nested_id(inside, true);
  node->children[1].field_id = nested_id(inside, false);
  /* Keys are never null in the file, whatever their type says. */
  TN_TRY(build_node(b, KEY_NAME, &type->fields[0].type, false, inside, &node->children[0]));
  TN_TRY(build_node(b, VALUE_NAME, &type->fields[1].type, type->fields[1].type.is_nullable, inside,
                    &node->children[1]));
  b->n_names--;
  return TARN_OK;
}

static tarn_status build_leaf(builder *b, const tn_type *type, around at, tn_pq_write_node *node) {
  annotation a = plain;
  node->max_rep = at.rep;
  node->layout = tn_type_layout(type);
  TN_TRY(set_leaf_type(b, node, type, &a));
  put_element(b, node->name, node->is_nullable, 0, node, node->field_id, &a);
  return finish_leaf(b, node);
}

static tarn_status build_node(builder *b, const char *name, const tn_type *type, bool is_nullable,
                              around at, tn_pq_write_node *node) {
  tarn_status st;
  if (++b->depth > TN_MAX_TYPE_DEPTH) {
    return tn_fail(b->err, TARN_E_LIMIT, "column `%s` is nested deeper than %d levels", b->column,
                   TN_MAX_TYPE_DEPTH);
  }
  node->name = name;
  node->type = type;
  node->is_nullable = is_nullable;
  node->max_def = (uint8_t)(at.def + is_nullable);
  push_name(b, name);
  switch (type->root) {
    case TN_ROW:
      st = build_row(b, type, at, node);
      break;
    case TN_VARIANT:
      st = build_variant(b, at, node);
      break;
    case TN_ARRAY:
      st = build_list(b, type, at, node);
      break;
    case TN_MAP:
    case TN_MULTISET:
      st = build_map(b, type, at, node);
      break;
    default:
      st = build_leaf(b, type, at, node);
      break;
  }
  b->n_names--;
  b->depth--;
  return st;
}

static void list_leaves(tn_pq_write_schema *schema, const tn_pq_write_node *node) {
  if (node->shape == TN_PQ_SHAPE_LEAF) {
    schema->leaves[node->leaf] = node;
  }
  for (int32_t i = 0; i < node->n_children; i++) {
    list_leaves(schema, &node->children[i]);
  }
}

tarn_status tn_pq_write_schema_init(tn_pq_write_schema *schema, tarn_env *env,
                                    const tn_field *fields, int32_t n_fields, tarn_error *err) {
  builder b;
  memset(schema, 0, sizeof(*schema));
  tn_arena_init(&schema->arena, &env->mem, ARENA_BYTES);
  tn_pq_bytes_init(&schema->elements, env);
  memset(&b, 0, sizeof(b));
  b.schema = schema;
  b.err = err;
  tn_thrift_out_begin(&b.out, &schema->elements);
  put_element(&b, ROOT_NAME, -1, n_fields, NULL, -1, &plain);
  schema->n_columns = n_fields;
  schema->columns = tn_arena_calloc(&schema->arena, (size_t)n_fields + 1, sizeof(*schema->columns));
  if (schema->columns == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n_fields; i++) {
    around at = {0, 0, fields[i].id, 0};
    b.column = fields[i].name;
    schema->columns[i].field_id = fields[i].id;
    schema->columns[i].child = i;
    TN_TRY(build_node(&b, fields[i].name, &fields[i].type, fields[i].type.is_nullable, at,
                      &schema->columns[i]));
  }
  schema->leaves =
      tn_arena_calloc(&schema->arena, (size_t)schema->n_leaves + 1, sizeof(*schema->leaves));
  if (schema->leaves == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n_fields; i++) {
    list_leaves(schema, &schema->columns[i]);
  }
  return tn_thrift_out_status(&b.out, err);
}

void tn_pq_write_schema_reset(tn_pq_write_schema *schema) {
  tn_pq_bytes_reset(&schema->elements);
  tn_arena_reset(&schema->arena);
  memset(schema, 0, sizeof(*schema));
}
