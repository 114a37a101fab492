/* avro_data_compile.c - from the types of a file and of the wanted columns to the steps that read
 * values of the one into the other.
 *
 * Rule: spec: datafiles, 5; org.apache.paimon.format.avro.FieldReaderFactory.
 */
#include "format/avro/avro_data.h"

typedef struct compiler {
  tn_avro_program *program;
  const char *path;
  tarn_error *err;
} compiler;

static tarn_status emit_value(compiler *c, const tn_avro_node *node, tn_avro_column *col);

static tarn_status misfit(compiler *c, const tn_avro_node *node, const tn_avro_column *col) {
  return tn_fail(c->err, TARN_E_CORRUPT, "%s: column %s of type %s has the Avro type %s", c->path,
                 col->name, tn_type_text_of(col->type).text, tn_avro_kind_name(node->kind));
}

/* Ticks a second of a timestamp as the file has it; without a logical type as the column has it. */
static int64_t file_ticks(const tn_avro_node *node, const tn_type *type) {
  switch (node->logical) {
    case TN_AVRO_TIMESTAMP_MILLIS:
    case TN_AVRO_LOCAL_MILLIS:
      return 1000;
    case TN_AVRO_TIMESTAMP_MICROS:
    case TN_AVRO_LOCAL_MICROS:
      return 1000000;
    case TN_AVRO_TIMESTAMP_NANOS:
    case TN_AVRO_LOCAL_NANOS:
      return 1000000000;
    default:
      return tn_timestamp_ticks(type->precision);
  }
}

/* The time zone meaning of Avro's names is not asked: Paimon swaps them (spec: datafiles, 5). */
static uint8_t pick_timestamp(const tn_avro_node *node, const tn_type *type, uint32_t *n) {
  int64_t have = file_ticks(node, type), want = tn_timestamp_ticks(type->precision);
  *n = (uint32_t)(have > want ? have / want : want / have);
  if (tn_type_layout(type) == TN_LAYOUT_I128) {
    return TN_AVRO_DATA_TICKS_WIDE;
  }
  return have == want  ? TN_AVRO_DATA_I64
         : have < want ? TN_AVRO_DATA_TICKS_UP
                       : TN_AVRO_DATA_TICKS_DOWN;
}

static uint8_t pick_decimal(const tn_avro_node *node, const tn_type *type, uint32_t *n) {
  if (node->logical == TN_AVRO_DECIMAL && node->scale != type->scale) {
    return 0;
  }
  *n = (uint32_t)node->size;
  return node->kind == TN_AVRO_BYTES   ? TN_AVRO_DATA_DECIMAL
         : node->kind == TN_AVRO_FIXED ? TN_AVRO_DATA_DECIMAL_FIXED
                                       : 0;
}

/* The step that reads a value of `node` (no union) into a column of this type; 0: none can. */
static uint8_t pick_code(const tn_avro_node *node, const tn_type *type, tn_layout layout,
                         uint32_t *n) {
  tn_avro_kind kind = node->kind;
  bool is_number = kind == TN_AVRO_INT || kind == TN_AVRO_LONG;
  *n = (uint32_t)node->size;
  switch (type->root) {
    case TN_BOOLEAN:
      return kind == TN_AVRO_BOOLEAN ? TN_AVRO_DATA_BOOL : 0;
    case TN_TINYINT:
      return is_number ? TN_AVRO_DATA_I8 : 0;
    case TN_SMALLINT:
      return is_number ? TN_AVRO_DATA_I16 : 0;
    case TN_INT:
    case TN_DATE:
      return is_number ? TN_AVRO_DATA_I32 : 0;
    case TN_TIME:
      *n = 1000;
      return node->logical == TN_AVRO_TIME_MICROS ? TN_AVRO_DATA_TIME_MICROS
             : is_number                          ? TN_AVRO_DATA_I32
                                                  : 0;
    case TN_BIGINT:
      return is_number ? TN_AVRO_DATA_I64 : 0;
    case TN_FLOAT:
      return kind == TN_AVRO_FLOAT ? TN_AVRO_DATA_F32 : 0;
    case TN_DOUBLE:
      return kind == TN_AVRO_DOUBLE  ? TN_AVRO_DATA_F64
             : kind == TN_AVRO_FLOAT ? TN_AVRO_DATA_F64_OF_F32
                                     : 0;
    case TN_DECIMAL:
      return pick_decimal(node, type, n);
    case TN_CHAR:
    case TN_VARCHAR:
    case TN_BINARY:
    case TN_VARBINARY:
    case TN_BLOB:
      return kind == TN_AVRO_BYTES || kind == TN_AVRO_STRING ? TN_AVRO_DATA_RUN
             : kind == TN_AVRO_FIXED                         ? TN_AVRO_DATA_FIXED
             : kind == TN_AVRO_ENUM                          ? TN_AVRO_DATA_ENUM
                                                             : 0;
    case TN_TIMESTAMP:
    case TN_TIMESTAMP_LTZ:
      return kind == TN_AVRO_LONG ? pick_timestamp(node, type, n) : 0;
    case TN_ARRAY:
      return kind == TN_AVRO_ARRAY ? TN_AVRO_DATA_LIST : 0;
    case TN_VECTOR:
      return kind == TN_AVRO_ARRAY ? TN_AVRO_DATA_FIXED_LIST : 0;
    case TN_MAP:
    case TN_MULTISET:
      if (layout == TN_LAYOUT_STRUCT) { /* an entry */
        return kind == TN_AVRO_RECORD ? TN_AVRO_DATA_STRUCT : 0;
      }
      return kind == TN_AVRO_ARRAY ? TN_AVRO_DATA_LIST : kind == TN_AVRO_MAP ? TN_AVRO_DATA_MAP : 0;
    case TN_ROW:
      return kind == TN_AVRO_RECORD ? TN_AVRO_DATA_STRUCT : 0;
    default:
      return 0;
  }
}

static tarn_status emit_own(compiler *c, uint8_t code, tn_avro_column *col, int null_branch,
                            int32_t *index) {
  tn_avro_op *op;
  TN_TRY(tn_avro_emit(c->program, code, index, c->err));
  op = &c->program->ops[*index];
  op->null_branch = (int8_t)null_branch;
  op->is_nullable = null_branch >= 0;
  op->extra = col;
  return TARN_OK;
}

/* The fields of a record: each to the child of its name. */
static tarn_status emit_fields(compiler *c, const tn_avro_node *record, tn_avro_column *col,
                               int32_t from) {
  static const char *const pair_names[2] = {"key", "value"};
  bool is_entry = col->type->root != TN_ROW;
  for (int32_t i = 0; i < record->n_children; i++) {
    tn_avro_column *child = NULL;
    for (int32_t k = 0; k < col->n_children && child == NULL; k++) {
      const char *name = is_entry ? pair_names[k] : col->type->fields[k].name;
      child = strcmp(name, record->names[i]) == 0 ? &col->children[k] : NULL;
    }
    if (child != NULL && child->is_missing) {
      TN_TRY(emit_value(c, record->children[i], child));
    } else {
      TN_TRY(tn_avro_emit_skip(c->program, record->children[i], from, c->err));
    }
  }
  if (is_entry && (col->children[0].is_missing || col->children[1].is_missing)) {
    return tn_fail(c->err, TARN_E_CORRUPT, "%s: column %s: entries of a map without key or value",
                   c->path, col->name);
  }
  return TARN_OK;
}

/* The body of a list, a map or a struct, behind its step. */
static tarn_status emit_nested(compiler *c, const tn_avro_node *node, tn_avro_column *col,
                               int32_t index) {
  int32_t body = c->program->count, end;
  uint8_t code = c->program->ops[index].code;
  c->program->ops[index].body = body;
  if (code == TN_AVRO_DATA_STRUCT) {
    TN_TRY(emit_fields(c, node, col, body));
  } else if (code == TN_AVRO_DATA_MAP) {
    tn_avro_column *entry = &col->children[0];
    static const tn_avro_node text = {.kind = TN_AVRO_STRING, .min_bytes = 1};
    entry->is_missing = false;
    c->program->ops[index].min_bytes = 1 + node->children[0]->min_bytes;
    TN_TRY(emit_value(c, &text, &entry->children[0]));
    TN_TRY(emit_value(c, node->children[0], &entry->children[1]));
  } else {
    c->program->ops[index].min_bytes = node->children[0]->min_bytes;
    TN_TRY(emit_value(c, node->children[0], &col->children[0]));
  }
  TN_TRY(tn_avro_emit(c->program, TN_AVRO_OP_END, &end, c->err));
  c->program->ops[index].next = c->program->count;
  return TARN_OK;
}

/* A value of a type that is no union. */
static tarn_status emit_plain(compiler *c, const tn_avro_node *node, tn_avro_column *col,
                              int null_branch) {
  uint32_t n;
  int32_t index;
  uint8_t code = pick_code(node, col->type, col->layout, &n);
  if (col->type->root == TN_VARIANT) {
    return tn_fail(c->err, TARN_E_UNSUPPORTED, "%s: column %s: VARIANT in an Avro file", c->path,
                   col->name);
  }
  if (code == 0) {
    return misfit(c, node, col);
  }
  TN_TRY(emit_own(c, code, col, null_branch, &index));
  c->program->ops[index].n = n;
  if (code == TN_AVRO_DATA_ENUM) {
    tn_avro_op *op = &c->program->ops[index];
    int32_t symbols;
    op->n = (uint32_t)node->n_names;
    TN_TRY(tn_avro_emit(c->program, TN_AVRO_OP_BRANCH, &symbols, c->err));
    c->program->ops[symbols].extra = node;
    c->program->ops[index].next = c->program->count;
    return TARN_OK;
  }
  return code >= TN_AVRO_DATA_LIST && code <= TN_AVRO_DATA_STRUCT ? emit_nested(c, node, col, index)
                                                                  : TARN_OK;
}

/* A union that is not simply null and one type: a body for each branch. */
static tarn_status emit_union(compiler *c, const tn_avro_node *node, tn_avro_column *col) {
  int32_t index, branch, body, end;
  bool any_fits = false, value_taken = false;
  TN_TRY(emit_own(c, TN_AVRO_DATA_UNION, col, -1, &index));
  c->program->ops[index].n = (uint32_t)node->n_children;
  for (int32_t i = 0; i < node->n_children; i++) {
    TN_TRY(tn_avro_emit(c->program, TN_AVRO_OP_BRANCH, &branch, c->err));
  }
  for (int32_t i = 0; i < node->n_children; i++) {
    const tn_avro_node *value = node->children[i];
    uint32_t n;
    body = c->program->count;
    if (value->kind == TN_AVRO_NULL) {
      TN_TRY(emit_own(c, TN_AVRO_DATA_NULL, col, -1, &branch));
      any_fits = true;
    } else if (pick_code(value, col->type, col->layout, &n) == 0 ||
               (value_taken && col->n_children > 0)) {
      /* Two branches may give different children: nested values come in the first one only. */
      TN_TRY(emit_own(c, TN_AVRO_DATA_MISFIT, col, -1, &branch));
    } else {
      TN_TRY(emit_plain(c, value, col, -1));
      any_fits = value_taken = true;
    }
    TN_TRY(tn_avro_emit(c->program, TN_AVRO_OP_END, &end, c->err));
    c->program->ops[index + 1 + i].body = body;
  }
  c->program->ops[index].next = c->program->count;
  return any_fits ? TARN_OK : misfit(c, node, col);
}

static tarn_status emit_value(compiler *c, const tn_avro_node *node, tn_avro_column *col) {
  const tn_avro_node *value;
  int null_branch = tn_avro_nullable(node, &value);
  int32_t index;
  col->is_missing = false;
  if (null_branch == -2) {
    return emit_union(c, node, col);
  }
  if (value->kind == TN_AVRO_NULL) {
    return emit_own(c, TN_AVRO_DATA_NULL, col, -1, &index);
  }
  return emit_plain(c, value, col, null_branch);
}

tarn_status tn_avro_data_emit(tn_avro_program *program, const tn_avro_node *node,
                              tn_avro_column *col, const char *path, tarn_error *err) {
  compiler c = {program, path, err};
  return emit_value(&c, node, col);
}
