/* avro_data.c - data files: container files of rows as batches of columns.
 *
 * The writer's schema and the wanted columns become one flat program. Each wanted column is a
 * builder whose buffers become the batch's; what nobody wants is stepped over. A second program
 * steps over whole rows, for selections of rows; blocks without a wanted row are not read at all.
 *
 * Rule: spec: datafiles, 5; org.apache.paimon.format.avro.FieldReaderFactory.
 */
#include "base/bytes.h"
#include "base/map.h"
#include "format/avro/avro.h"
#include "format/avro/avro_file.h"
#include "format/avro/builder.h"
#include "io/prefetch.h"

#define BATCH_ROWS 8192
#define MIN_BATCH_ROWS 64
#define BATCH_FIXED_BYTES ((int64_t)16 << 20) /* of fixed-width values that a batch starts with */
#define BATCH_INPUT_BYTES ((int64_t)8 << 20)  /* encoded bytes after which a batch ends */

enum {
  OP_BOOL = TN_AVRO_OP_OWN,
  OP_I8,
  OP_I16,
  OP_I32,
  OP_I64,
  OP_F32,
  OP_F64,
  OP_F64_OF_F32,
  OP_RUN,           /* bytes, string */
  OP_FIXED,         /* n bytes */
  OP_ENUM,          /* the text of a symbol */
  OP_DECIMAL,       /* bytes */
  OP_DECIMAL_FIXED, /* n bytes */
  OP_TIME_MICROS,
  OP_TICKS_UP,   /* a timestamp in coarser units than the column's: times n */
  OP_TICKS_DOWN, /* in finer ones: by n, rounded down */
  OP_TICKS_WIDE, /* into 128 bits, times n */
  OP_LIST,       /* body for an item */
  OP_FIXED_LIST, /* body for an item */
  OP_MAP,        /* bodies of key (text) and value, for an entry */
  OP_STRUCT,     /* body for the fields */
  OP_NULL,
  OP_UNION, /* n branches, a TN_AVRO_OP_BRANCH each follows */
  OP_MISFIT /* a branch of a union that cannot be the column's value */
};

typedef struct reader {
  tn_reader base;
  tn_avro_file *file; /* retained */
  tn_read_request request;
  tn_arena arena;          /* columns and all that is made once */
  tn_avro_column *columns; /* a wanted field each */
  bool reads_nothing;      /* the file has none of them: rows are only counted */
  tn_avro_program program, skip_program;
  tn_avro_unpacker unpacker;
  tn_prefetch *prefetch;
  int32_t *prefetch_of_block; /* the range of prefetch a block lies in; -1: no wanted row */
  int64_t batch_rows;

  tn_range all;
  const tn_range *ranges; /* wanted rows; ranges[range] is the current one */
  size_t n_ranges, range;
  int64_t next_row; /* position in the file of the next row to give */

  /* Where decoding is. */
  size_t block;
  bool has_block;
  tn_slice data;
  const uint8_t *at;
  int64_t row, block_end; /* positions of the row at `at` and behind the block's last */
  tn_avro_walk walk;

  tn_avro_build build; /* its st: a failure that is not the walk's */
} reader;

/* ------------------------------------------------------------------ compiling */

typedef struct compiler {
  reader *reader;
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
    return OP_TICKS_WIDE;
  }
  return have == want ? OP_I64 : have < want ? OP_TICKS_UP : OP_TICKS_DOWN;
}

static uint8_t pick_decimal(const tn_avro_node *node, const tn_type *type, uint32_t *n) {
  if (node->logical == TN_AVRO_DECIMAL && node->scale != type->scale) {
    return 0;
  }
  *n = (uint32_t)node->size;
  return node->kind == TN_AVRO_BYTES   ? OP_DECIMAL
         : node->kind == TN_AVRO_FIXED ? OP_DECIMAL_FIXED
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
      return kind == TN_AVRO_BOOLEAN ? OP_BOOL : 0;
    case TN_TINYINT:
      return is_number ? OP_I8 : 0;
    case TN_SMALLINT:
      return is_number ? OP_I16 : 0;
    case TN_INT:
    case TN_DATE:
      return is_number ? OP_I32 : 0;
    case TN_TIME:
      *n = 1000;
      return node->logical == TN_AVRO_TIME_MICROS ? OP_TIME_MICROS : is_number ? OP_I32 : 0;
    case TN_BIGINT:
      return is_number ? OP_I64 : 0;
    case TN_FLOAT:
      return kind == TN_AVRO_FLOAT ? OP_F32 : 0;
    case TN_DOUBLE:
      return kind == TN_AVRO_DOUBLE ? OP_F64 : kind == TN_AVRO_FLOAT ? OP_F64_OF_F32 : 0;
    case TN_DECIMAL:
      return pick_decimal(node, type, n);
    case TN_CHAR:
    case TN_VARCHAR:
    case TN_BINARY:
    case TN_VARBINARY:
    case TN_BLOB:
      return kind == TN_AVRO_BYTES || kind == TN_AVRO_STRING ? OP_RUN
             : kind == TN_AVRO_FIXED                         ? OP_FIXED
             : kind == TN_AVRO_ENUM                          ? OP_ENUM
                                                             : 0;
    case TN_TIMESTAMP:
    case TN_TIMESTAMP_LTZ:
      return kind == TN_AVRO_LONG ? pick_timestamp(node, type, n) : 0;
    case TN_ARRAY:
      return kind == TN_AVRO_ARRAY ? OP_LIST : 0;
    case TN_VECTOR:
      return kind == TN_AVRO_ARRAY ? OP_FIXED_LIST : 0;
    case TN_MAP:
    case TN_MULTISET:
      if (layout == TN_LAYOUT_STRUCT) { /* an entry */
        return kind == TN_AVRO_RECORD ? OP_STRUCT : 0;
      }
      return kind == TN_AVRO_ARRAY ? OP_LIST : kind == TN_AVRO_MAP ? OP_MAP : 0;
    case TN_ROW:
      return kind == TN_AVRO_RECORD ? OP_STRUCT : 0;
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
  if (code == OP_STRUCT) {
    TN_TRY(emit_fields(c, node, col, body));
  } else if (code == OP_MAP) {
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
  if (code == OP_ENUM) {
    tn_avro_op *op = &c->program->ops[index];
    int32_t symbols;
    op->n = (uint32_t)node->n_names;
    TN_TRY(tn_avro_emit(c->program, TN_AVRO_OP_BRANCH, &symbols, c->err));
    c->program->ops[symbols].extra = node;
    c->program->ops[index].next = c->program->count;
    return TARN_OK;
  }
  return code >= OP_LIST && code <= OP_STRUCT ? emit_nested(c, node, col, index) : TARN_OK;
}

/* A union that is not simply null and one type: a body for each branch. */
static tarn_status emit_union(compiler *c, const tn_avro_node *node, tn_avro_column *col) {
  int32_t index, branch, body, end;
  bool any_fits = false, value_taken = false;
  TN_TRY(emit_own(c, OP_UNION, col, -1, &index));
  c->program->ops[index].n = (uint32_t)node->n_children;
  for (int32_t i = 0; i < node->n_children; i++) {
    TN_TRY(tn_avro_emit(c->program, TN_AVRO_OP_BRANCH, &branch, c->err));
  }
  for (int32_t i = 0; i < node->n_children; i++) {
    const tn_avro_node *value = node->children[i];
    uint32_t n;
    body = c->program->count;
    if (value->kind == TN_AVRO_NULL) {
      TN_TRY(emit_own(c, OP_NULL, col, -1, &branch));
      any_fits = true;
    } else if (pick_code(value, col->type, col->layout, &n) == 0 ||
               (value_taken && col->n_children > 0)) {
      /* Two branches may give different children: nested values come in the first one only. */
      TN_TRY(emit_own(c, OP_MISFIT, col, -1, &branch));
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
    return emit_own(c, OP_NULL, col, -1, &index);
  }
  return emit_plain(c, value, col, null_branch);
}

/* ------------------------------------------------------------------ running */

static const uint8_t *run_body(reader *r, const tn_avro_op *op, const uint8_t *p);

static const uint8_t *fault_in(reader *r, const tn_avro_op *op, const uint8_t *p, const char *why) {
  r->walk.field = ((const tn_avro_column *)op->extra)->name;
  return tn_avro_fault(&r->walk, p, why);
}

static const uint8_t *run_null(reader *r, const tn_avro_op *op, tn_avro_column *c,
                               const uint8_t *p) {
  if (c->is_required) {
    return fault_in(r, op, p, "a null key or entry of a map");
  }
  return tn_avro_column_null(&r->build, c) ? p : NULL;
}

/* A big-endian two's complement number of any length. */
static const uint8_t *run_decimal(reader *r, const tn_avro_op *op, tn_avro_column *c,
                                  const uint8_t *p, size_t n) {
  const uint8_t *at = p;
  uint8_t sign = n > 0 && p[0] >= 0x80 ? 0xff : 0;
  tn_u128 v = sign != 0 ? ~(tn_u128)0 : 0;
  tn_i128 value;
  if (n == 0) {
    return fault_in(r, op, p, "a decimal without bytes");
  }
  for (; n > 16; n--) {
    if (*at++ != sign) {
      return fault_in(r, op, p, "a decimal of more digits than its type has");
    }
  }
  for (; n > 0; n--) {
    v = v << 8 | *at++;
  }
  value = (tn_i128)v;
  if (value >= c->decimal_bound || value <= -c->decimal_bound) {
    return fault_in(r, op, p, "a decimal of more digits than its type has");
  }
  if (!tn_avro_column_room(&r->build, c)) {
    return NULL;
  }
  tn_store_i128(c->values->data + (size_t)c->length * sizeof(tn_i128), value);
  c->length++;
  return at;
}

static const uint8_t *run_integer(reader *r, const tn_avro_op *op, tn_avro_column *c,
                                  const uint8_t *p) {
  int64_t v, least, most;
  uint8_t *out;
  int shift = op->code == OP_I8 ? 7 : op->code == OP_I16 ? 15 : 31;
  p = tn_avro_long(&r->walk, p, &v);
  if (TN_UNLIKELY(p == NULL)) {
    return NULL;
  }
  most = ((int64_t)1 << shift) - 1;
  least = -most - 1;
  if (TN_UNLIKELY(v < least || v > most)) {
    return fault_in(r, op, p, "a number that its type cannot hold");
  }
  if (TN_UNLIKELY(!tn_avro_column_room(&r->build, c))) {
    return NULL;
  }
  out = c->values->data;
  switch (op->code) {
    case OP_I8:
      ((int8_t *)(void *)out)[c->length++] = (int8_t)v;
      break;
    case OP_I16:
      ((int16_t *)(void *)out)[c->length++] = (int16_t)v;
      break;
    default:
      ((int32_t *)(void *)out)[c->length++] = (int32_t)v;
      break;
  }
  return p;
}

/* Longs that are turned into the ticks of the column. */
static const uint8_t *run_ticks(reader *r, const tn_avro_op *op, tn_avro_column *c,
                                const uint8_t *p) {
  int64_t v, n = op->n;
  p = tn_avro_long(&r->walk, p, &v);
  if (p == NULL || !tn_avro_column_room(&r->build, c)) {
    return NULL;
  }
  switch (op->code) {
    case OP_TICKS_WIDE:
      tn_store_i128(c->values->data + (size_t)c->length++ * sizeof(tn_i128), (tn_i128)v * n);
      return p;
    case OP_TICKS_UP:
      if (__builtin_mul_overflow(v, n, &v)) {
        return fault_in(r, op, p, "a timestamp that its type cannot hold");
      }
      break;
    default:
      v = v / n - (v % n < 0);
      break;
  }
  if (op->code == OP_TIME_MICROS) {
    if (v < 0 || v >= 86400000) {
      return fault_in(r, op, p, "a time that is none of a day");
    }
    ((int32_t *)(void *)c->values->data)[c->length++] = (int32_t)v;
  } else {
    ((int64_t *)(void *)c->values->data)[c->length++] = v;
  }
  return p;
}

/* All items of an array or map, each by the body; *total counts them. */
static const uint8_t *run_items(reader *r, const tn_avro_op *op, const uint8_t *p, int64_t *total) {
  tn_avro_column *c = (tn_avro_column *)op->extra;
  *total = 0;
  for (;;) {
    int64_t count, n_bytes;
    p = tn_avro_items(&r->walk, p, op->min_bytes, &count, &n_bytes);
    if (p == NULL || count == 0) {
      return p;
    }
    *total += count;
    for (; count > 0; count--) {
      p = run_body(r, &r->walk.ops[op->body], p);
      if (p == NULL) {
        return NULL;
      }
      if (op->code == OP_MAP) { /* the body has filled key and value */
        if (!tn_avro_column_room(&r->build, &c->children[0])) {
          return NULL;
        }
        c->children[0].length++;
      }
    }
  }
}

static const uint8_t *run_nested(reader *r, const tn_avro_op *op, tn_avro_column *c,
                                 const uint8_t *p) {
  int64_t total;
  if (op->code == OP_STRUCT) {
    p = run_body(r, &r->walk.ops[op->body], p);
    if (p == NULL || !tn_avro_column_room(&r->build, c)) {
      return NULL;
    }
    c->length++;
    return p;
  }
  p = run_items(r, op, p, &total);
  if (p == NULL || !tn_avro_column_room(&r->build, c)) {
    return NULL;
  }
  if (op->code == OP_FIXED_LIST) {
    if (total != c->type->length) {
      return fault_in(r, op, p, "a vector of another length than its type has");
    }
    c->length++;
    return p;
  }
  tn_avro_column_offsets(c)[++c->length] =
      (int32_t)c->children[0].length; /* below 2^31: grow_rows */
  return p;
}

static const uint8_t *run_union(reader *r, const tn_avro_op *op, const uint8_t *p) {
  const uint8_t *start = p;
  int64_t branch;
  p = tn_avro_long(&r->walk, p, &branch);
  if (p == NULL) {
    return NULL;
  }
  if (branch < 0 || branch >= op->n) {
    return fault_in(r, op, start, "a union has no such branch");
  }
  return run_body(r, &r->walk.ops[op[1 + branch].body], p);
}

static const uint8_t *run_enum(reader *r, const tn_avro_op *op, tn_avro_column *c,
                               const uint8_t *p) {
  const tn_avro_node *node = op[1].extra;
  int64_t symbol;
  p = tn_avro_long(&r->walk, p, &symbol);
  if (p == NULL) {
    return NULL;
  }
  if (symbol < 0 || symbol >= node->n_names) {
    return fault_in(r, op, p, "an enum has no such symbol");
  }
  return tn_avro_column_bytes(&r->build, c, node->names[symbol], strlen(node->names[symbol]))
             ? p
             : NULL;
}

/* Values of a fixed width that lie in the file as they do in memory. */
static const uint8_t *run_plain(reader *r, const tn_avro_op *op, tn_avro_column *c,
                                const uint8_t *p) {
  size_t n = op->code == OP_BOOL ? 1 : op->code == OP_F64 ? 8 : 4;
  if (TN_UNLIKELY((size_t)(r->walk.end - p) < n)) {
    return fault_in(r, op, p, "runs past the end of the block");
  }
  if (TN_UNLIKELY(!tn_avro_column_room(&r->build, c))) {
    return NULL;
  }
  switch (op->code) {
    case OP_BOOL:
      if (p[0] > 1) {
        return fault_in(r, op, p, "a boolean that is neither 0 nor 1");
      }
      tn_bit_put(c->values->data, c->length, p[0] != 0);
      break;
    case OP_F32:
      memcpy(c->values->data + (size_t)c->length * 4, p, 4);
      break;
    case OP_F64:
      memcpy(c->values->data + (size_t)c->length * 8, p, 8);
      break;
    default:
      ((double *)(void *)c->values->data)[c->length] = (double)tn_load_f32(p);
      break;
  }
  c->length++;
  return p + n;
}

/* The steps from `op` to the end of its body. */
static const uint8_t *run_body(reader *r, const tn_avro_op *op, const uint8_t *p) {
  tn_avro_walk *walk = &r->walk;
  size_t n = 0;
  for (;; op = op->next > 0 ? &walk->ops[op->next] : op + 1) {
    tn_avro_column *c = (tn_avro_column *)op->extra;
    if (op->is_nullable) {
      bool is_null = false;
      p = tn_avro_branch(walk, p, op->null_branch, &is_null);
      if (p != NULL && is_null) {
        p = run_null(r, op, c, p);
      }
      if (TN_UNLIKELY(p == NULL)) {
        return NULL;
      }
      if (is_null) {
        continue;
      }
    }
    switch (op->code) {
      case TN_AVRO_OP_END:
        return p;
      case OP_BOOL:
      case OP_F32:
      case OP_F64:
      case OP_F64_OF_F32:
        p = run_plain(r, op, c, p);
        break;
      case OP_I8:
      case OP_I16:
      case OP_I32:
        p = run_integer(r, op, c, p);
        break;
      case OP_I64:
        if (TN_UNLIKELY(!tn_avro_column_room(&r->build, c))) {
          return NULL;
        }
        p = tn_avro_long(walk, p, &((int64_t *)(void *)c->values->data)[c->length]);
        c->length++;
        break;
      case OP_RUN:
      case OP_DECIMAL:
        p = tn_avro_run(walk, p, &n);
        if (TN_LIKELY(p != NULL)) {
          p = op->code == OP_DECIMAL                     ? run_decimal(r, op, c, p, n)
              : tn_avro_column_bytes(&r->build, c, p, n) ? p + n
                                                         : NULL;
        }
        break;
      case OP_FIXED:
      case OP_DECIMAL_FIXED:
        if (op->n > walk->end - p) {
          return fault_in(r, op, p, "runs past the end of the block");
        }
        p = op->code == OP_DECIMAL_FIXED                   ? run_decimal(r, op, c, p, op->n)
            : tn_avro_column_bytes(&r->build, c, p, op->n) ? p + op->n
                                                           : NULL;
        break;
      case OP_ENUM:
        p = run_enum(r, op, c, p);
        break;
      case OP_TIME_MICROS:
      case OP_TICKS_UP:
      case OP_TICKS_DOWN:
      case OP_TICKS_WIDE:
        p = run_ticks(r, op, c, p);
        break;
      case OP_LIST:
      case OP_FIXED_LIST:
      case OP_MAP:
      case OP_STRUCT:
        p = run_nested(r, op, c, p);
        break;
      case OP_NULL:
        p = run_null(r, op, c, p);
        break;
      case OP_UNION:
        p = run_union(r, op, p);
        break;
      case OP_MISFIT:
        return fault_in(r, op, p, "is of a type that does not fit");
      default:
        p = tn_avro_skip_op(walk, op, p);
        break;
    }
    if (TN_UNLIKELY(p == NULL)) {
      return NULL;
    }
  }
}

/* ------------------------------------------------------------------ moving through the file */

static const char *path_of(const reader *r) {
  return r->file->base.file->path;
}

static tarn_status fail_at(reader *r) {
  if (r->build.st != TARN_OK) {
    return r->build.st;
  }
  return tn_avro_walk_fail(&r->walk, r->data, &r->file->blocks[r->block].block, path_of(r),
                           r->build.err);
}

static tarn_status open_block(reader *r, size_t block) {
  const tn_avro_file *f = r->file;
  const tn_avro_block_place *place = &f->blocks[block];
  const uint8_t *stored = NULL;
  r->block = block;
  r->has_block = false;
  if (place->block.n_bytes > 0) {
    TN_TRY(tn_prefetch_get(r->prefetch, r->prefetch_of_block[block], place->block.data_offset,
                           (size_t)place->block.n_bytes, &stored, r->build.err));
  }
  TN_TRY(tn_avro_unpack(&r->unpacker, &f->header, &place->block,
                        tn_slice_of(stored, (size_t)place->block.n_bytes), path_of(r), &r->data,
                        r->build.err));
  tn_avro_walk_begin(&r->walk, &r->program, r->data);
  r->at = r->data.data;
  r->row = place->first_row;
  r->block_end = place->first_row + place->block.n_records;
  r->has_block = true;
  if (f->header.record->min_bytes == 0 && f->header.record_branch < 0 &&
      place->block.n_records > TN_AVRO_MAX_EMPTY_ITEMS) {
    tn_avro_fault(&r->walk, r->at, "too many rows without bytes");
    return fail_at(r);
  }
  return TARN_OK;
}

/* After the last row of a block nothing may be left of it. */
static tarn_status check_block_end(reader *r) {
  if (r->row == r->block_end && r->at != r->walk.end) {
    tn_avro_fault(&r->walk, r->at, "bytes are left behind the last row");
    return fail_at(r);
  }
  return TARN_OK;
}

/* One row by a program: that of the columns, or the one that steps over it. */
static tarn_status run_row(reader *r, const tn_avro_program *program) {
  const uint8_t *p = r->at;
  int32_t expected = r->file->header.record_branch;
  if (expected >= 0) {
    int64_t branch;
    p = tn_avro_long(&r->walk, p, &branch);
    if (p != NULL && branch != expected) {
      p = tn_avro_fault(&r->walk, p, "a row that is null");
    }
  }
  if (p != NULL) {
    r->walk.ops = program->ops;
    p = program == &r->program ? run_body(r, program->ops, p) : tn_avro_skip_body(&r->walk, 0, p);
  }
  if (TN_UNLIKELY(p == NULL)) {
    return fail_at(r);
  }
  r->build.weight += p - r->at;
  r->at = p;
  r->row++;
  return check_block_end(r);
}

/* Be at row `target`, which lies in a wanted block. */
static tarn_status seek(reader *r, int64_t target) {
  if (!r->has_block || target >= r->block_end || target < r->row) {
    size_t low = 0, high = r->file->n_blocks; /* the last block that begins at or before target */
    while (high - low > 1) {
      size_t middle = low + (high - low) / 2;
      if (r->file->blocks[middle].first_row <= target) {
        low = middle;
      } else {
        high = middle;
      }
    }
    TN_TRY(open_block(r, low));
  }
  while (r->row < target) {
    TN_TRY(run_row(r, &r->skip_program));
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ batches */

/* Move to the next wanted row; false: none is left. */
static bool find_row(reader *r) {
  for (; r->range < r->n_ranges; r->range++) {
    const tn_range *range = &r->ranges[r->range];
    int64_t end = range->end < r->file->base.n_rows ? range->end : r->file->base.n_rows;
    if (r->next_row < range->begin) {
      r->next_row = range->begin;
    }
    if (r->next_row < end) {
      return true;
    }
  }
  return false;
}

static int64_t rows_in_range(const reader *r) {
  int64_t end = r->ranges[r->range].end;
  return (end < r->file->base.n_rows ? end : r->file->base.n_rows) - r->next_row;
}

static tarn_status decode_rows(reader *r, int64_t n, int64_t *n_done) {
  for (int32_t i = 0; i < r->request.n_fields; i++) {
    if (!r->columns[i].is_missing) {
      TN_TRY(tn_avro_column_start(&r->build, &r->columns[i], n));
    }
  }
  r->build.weight = 0;
  TN_TRY(seek(r, r->next_row));
  for (*n_done = 0; *n_done < n && r->build.weight < BATCH_INPUT_BYTES; ++*n_done) {
    if (r->row == r->block_end) {
      TN_TRY(open_block(r, r->block + 1));
    }
    TN_TRY(run_row(r, &r->program));
  }
  return TARN_OK;
}

static tarn_status next_batch(tn_reader *base, int64_t max_rows, tn_batch *out, tarn_error *err) {
  reader *r = (reader *)base;
  int64_t n, n_done = 0;
  tarn_status st = TARN_OK;
  tn_batch_clear(r->base.env, out);
  out->n_rows = 0;
  TN_TRY(tn_cancel_check(r->request.cancel, err));
  if (!find_row(r)) {
    return TARN_OK;
  }
  r->build.err = err;
  r->build.st = TARN_OK;
  n = rows_in_range(r);
  n = n < max_rows ? n : max_rows;
  n = n < r->batch_rows ? n : r->batch_rows;
  if (r->reads_nothing) {
    n_done = n;
  } else {
    TN_TRY_TO(failed, decode_rows(r, n, &n_done));
  }
  for (int32_t i = 0; i < r->request.n_fields; i++) {
    TN_TRY_TO(failed, tn_avro_column_finish(&r->build, &r->columns[i], n_done,
                                            r->request.allows_encoded, &out->columns[i]));
  }
  out->n_rows = n_done;
  out->first_position = r->next_row;
  r->next_row += n_done;
  return TARN_OK;
failed:
  tn_avro_column_drop(r->columns, r->request.n_fields);
  tn_batch_clear(r->base.env, out);
  r->has_block = false; /* the walk may have stopped within a row */
  return st;
}

static tarn_status skip_rows(tn_reader *base, int64_t n_rows, tarn_error *err) {
  reader *r = (reader *)base;
  (void)err; /* the rows are stepped over when the next batch is asked for */
  while (n_rows > 0 && find_row(r)) {
    int64_t n = rows_in_range(r);
    n = n < n_rows ? n : n_rows;
    r->next_row += n;
    n_rows -= n;
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ making a reader */

static void free_reader(tn_reader *base) {
  reader *r = (reader *)base;
  tarn_env *env = r->base.env;
  if (r->columns != NULL) {
    tn_avro_column_drop(r->columns, r->request.n_fields);
  }
  tn_prefetch_free(r->prefetch);
  tn_avro_unpacker_reset(&r->unpacker);
  tn_avro_program_reset(&r->program);
  tn_avro_program_reset(&r->skip_program);
  tn_arena_reset(&r->arena);
  tn_format_file_release(&r->file->base);
  tn_free(&env->mem, r);
}

static tarn_status make_columns(reader *r, tarn_error *err) {
  r->columns = tn_arena_calloc(&r->arena, (size_t)r->request.n_fields + 1, sizeof(tn_avro_column));
  if (r->columns == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < r->request.n_fields; i++) {
    const tn_field *field = &r->request.fields[i];
    tn_vec model;
    tarn_status st;
    TN_TRY(tn_vec_init(r->base.env, &field->type, &model, err));
    st = tn_avro_column_init(&r->arena, &model, field->name, &r->columns[i], err);
    tn_vec_reset(r->base.env, &model);
    TN_TRY(st);
  }
  return TARN_OK;
}

/* The wanted columns by name. */
static tarn_status index_columns(reader *r, tn_map *by_name, tarn_error *err) {
  for (int32_t i = 0; i < r->request.n_fields; i++) {
    tn_map_entry *entry;
    bool is_new;
    TN_TRY(tn_map_put(by_name, tn_slice_text(r->request.fields[i].name), &entry, &is_new, err));
    if (!is_new) {
      return tn_fail(err, TARN_E_INVALID, "%s: column %s is asked for twice", path_of(r),
                     r->request.fields[i].name);
    }
    entry->value.ptr = &r->columns[i];
  }
  return TARN_OK;
}

static tarn_status compile_columns(reader *r, const tn_map *by_name, tarn_error *err) {
  const tn_avro_node *record = r->file->header.record;
  compiler c = {r, &r->program, path_of(r), err};
  for (int32_t i = 0; i < record->n_children; i++) {
    tn_map_entry *entry = tn_map_find(by_name, tn_slice_text(record->names[i]));
    tn_avro_column *col = entry != NULL ? entry->value.ptr : NULL;
    if (col != NULL && col->is_missing) {
      TN_TRY(emit_value(&c, record->children[i], col));
      r->reads_nothing = false;
    } else {
      TN_TRY(tn_avro_emit_skip(&r->program, record->children[i], 0, err));
    }
  }
  return TARN_OK;
}

static tarn_status compile(reader *r, tarn_error *err) {
  tarn_status st = TARN_OK;
  int32_t end;
  tn_map by_name;
  r->reads_nothing = true;
  tn_map_init(&by_name, &r->base.env->mem);
  TN_TRY_TO(done, index_columns(r, &by_name, err));
  TN_TRY_TO(done, compile_columns(r, &by_name, err));
  TN_TRY_TO(done, tn_avro_emit(&r->program, TN_AVRO_OP_END, &end, err));
  TN_TRY_TO(done, tn_avro_emit_skip(&r->skip_program, r->file->header.record, 0, err));
  TN_TRY_TO(done, tn_avro_emit(&r->skip_program, TN_AVRO_OP_END, &end, err));
done:
  tn_map_reset(&by_name);
  return st;
}

static void choose_batch_rows(reader *r) {
  int64_t width = tn_avro_column_width(r->columns, r->request.n_fields, BATCH_FIXED_BYTES);
  r->batch_rows = r->request.batch_rows > 0 ? r->request.batch_rows : BATCH_ROWS;
  if (width > 0 && BATCH_FIXED_BYTES / width < r->batch_rows) {
    r->batch_rows = BATCH_FIXED_BYTES / width;
    r->batch_rows = r->batch_rows < MIN_BATCH_ROWS ? MIN_BATCH_ROWS : r->batch_rows;
  }
}

/* One byte range for each run of blocks with wanted rows. */
static tarn_status plan_reads(reader *r, tarn_error *err) {
  const tn_avro_file *f = r->file;
  tn_byte_range *runs = tn_arena_calloc(&r->arena, f->n_blocks + 1, sizeof(*runs));
  int32_t n_runs = 0;
  size_t range = 0;
  r->prefetch_of_block = tn_arena_calloc(&r->arena, f->n_blocks + 1, sizeof(int32_t));
  if (runs == NULL || r->prefetch_of_block == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < f->n_blocks; i++) {
    const tn_avro_block *block = &f->blocks[i].block;
    int64_t first = f->blocks[i].first_row;
    while (range < r->n_ranges && r->ranges[range].end <= first) {
      range++;
    }
    r->prefetch_of_block[i] = -1;
    if (range == r->n_ranges || r->ranges[range].begin >= first + block->n_records) {
      continue;
    }
    if (i == 0 || r->prefetch_of_block[i - 1] < 0) {
      runs[n_runs++].offset = block->data_offset;
    }
    r->prefetch_of_block[i] = n_runs - 1;
    runs[n_runs - 1].length = block->data_offset + block->n_bytes - runs[n_runs - 1].offset;
  }
  return n_runs > 0 ? tn_prefetch_create(f->base.file, runs, n_runs, &r->prefetch, err) : TARN_OK;
}

tarn_status tn_avro_file_read(tn_format_file *file, const tn_read_request *request, tn_reader **out,
                              tarn_error *err) {
  static const tn_reader_ops reader_ops = {next_batch, skip_rows, free_reader};
  tarn_status st = TARN_OK;
  reader *r = tn_calloc(&file->env->mem, 1, sizeof(*r));
  *out = NULL;
  if (r == NULL) {
    return tn_oom(err);
  }
  r->base.ops = &reader_ops;
  r->base.env = file->env;
  r->build.env = file->env;
  r->file = (tn_avro_file *)tn_format_file_retain(file);
  r->request = *request;
  tn_arena_init(&r->arena, &file->env->mem, SIZE_MAX);
  tn_avro_program_init(&r->program, &file->env->mem);
  tn_avro_program_init(&r->skip_program, &file->env->mem);
  tn_avro_unpacker_init(&r->unpacker, file->env);
  r->all.end = file->n_rows;
  r->ranges = request->rows != NULL ? request->rows->items : &r->all;
  r->n_ranges = request->rows != NULL ? request->rows->count : 1;
  TN_TRY_TO(failed, make_columns(r, err));
  TN_TRY_TO(failed, compile(r, err));
  choose_batch_rows(r);
  if (!r->reads_nothing) {
    TN_TRY_TO(failed, plan_reads(r, err));
  }
  *out = &r->base;
  return TARN_OK;
failed:
  free_reader(&r->base);
  return st;
}
