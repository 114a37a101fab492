/* shredded.c - which groups are shredded how, and Variants from their rows. */
#include "format/parquet/shredded.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "column/bits.h"

/* ------------------------------------------------------------------ the plan */

typedef struct planner {
  tn_arena *arena;
  const char *path, *column;
  tarn_error *err;
} planner;

static tarn_status plan_group(planner *p, const tn_pq_node *node, bool is_top, tn_pq_shred *shred,
                              tn_type *type, tn_pq_node *read_as);

static tarn_status bad_shape(const planner *p, const tn_pq_node *node, const char *what) {
  return tn_fail(p->err, TARN_E_CORRUPT, "%s: column `%s`: `%s` of a shredded VARIANT %s", p->path,
                 p->column, node->name, what);
}

/* The leaf as its plain number, whatever it is annotated with. */
static tarn_status plan_number(planner *p, tn_pq_node *read_as, tn_type *type) {
  tn_pq_element *plain = tn_arena_memdup(p->arena, read_as->element, sizeof(*plain));
  if (plain == NULL) {
    return tn_oom(p->err);
  }
  memset(&plain->logical, 0, sizeof(plain->logical));
  read_as->element = plain;
  type->root = TN_BIGINT;
  return TARN_OK;
}

static void set_bytes(tn_type *type) {
  type->root = TN_VARBINARY;
  type->length = INT32_MAX;
}

/* Numbers with a calendar's meaning: what INT32 and INT64 are by their annotation. */
static bool find_time(const tn_pq_element *e, tn_variant_primitive *out) {
  const tn_pq_logical *l = &e->logical;
  bool is_nanos = l->unit == TN_PQ_NANOS;
  if (l->kind == TN_PQ_DATE && e->physical == TN_PQ_INT32) {
    *out = TN_VARIANT_DATE;
    return true;
  }
  if (e->physical != TN_PQ_INT64 || l->unit == TN_PQ_MILLIS) {
    return false;
  }
  if (l->kind == TN_PQ_TIME) {
    *out = TN_VARIANT_TIME;
    return !l->is_utc && !is_nanos;
  }
  *out = l->is_utc  ? is_nanos ? TN_VARIANT_TIMESTAMP_NANOS : TN_VARIANT_TIMESTAMP
         : is_nanos ? TN_VARIANT_TIMESTAMP_NTZ_NANOS
                    : TN_VARIANT_TIMESTAMP_NTZ;
  return l->kind == TN_PQ_TIMESTAMP;
}

static tn_pq_shred_kind kind_of_leaf(const tn_pq_element *e, tn_variant_primitive *time) {
  const tn_pq_logical *l = &e->logical;
  bool is_plain = l->kind == TN_PQ_NONE;
  if (l->kind == TN_PQ_DECIMAL) {
    bool fits =
        l->precision >= 1 && l->precision <= 38 && l->scale >= 0 && l->scale <= l->precision;
    return fits ? TN_PQ_SHRED_DECIMAL : TN_PQ_SHRED_NONE;
  }
  switch (e->physical) {
    case TN_PQ_BOOLEAN:
      return is_plain ? TN_PQ_SHRED_BOOLEAN : TN_PQ_SHRED_NONE;
    case TN_PQ_INT32:
    case TN_PQ_INT64:
      if (is_plain || (l->kind == TN_PQ_INTEGER && l->is_signed)) {
        return TN_PQ_SHRED_LONG;
      }
      return find_time(e, time) ? TN_PQ_SHRED_TIME : TN_PQ_SHRED_NONE;
    case TN_PQ_FLOAT:
      return is_plain ? TN_PQ_SHRED_FLOAT : TN_PQ_SHRED_NONE;
    case TN_PQ_DOUBLE:
      return is_plain ? TN_PQ_SHRED_DOUBLE : TN_PQ_SHRED_NONE;
    case TN_PQ_BYTE_ARRAY:
      return is_plain                  ? TN_PQ_SHRED_BINARY
             : l->kind == TN_PQ_STRING ? TN_PQ_SHRED_STRING
                                       : TN_PQ_SHRED_NONE;
    case TN_PQ_FIXED:
      return l->kind == TN_PQ_UUID && e->type_length == 16 ? TN_PQ_SHRED_UUID : TN_PQ_SHRED_NONE;
    default:
      return TN_PQ_SHRED_NONE;
  }
}

static tarn_status plan_leaf(planner *p, tn_pq_shred *shred, tn_type *type, tn_pq_node *read_as) {
  const tn_pq_element *e = read_as->element;
  char stored[128];
  shred->kind = kind_of_leaf(e, &shred->time);
  switch (shred->kind) {
    case TN_PQ_SHRED_BOOLEAN:
      type->root = TN_BOOLEAN;
      return TARN_OK;
    case TN_PQ_SHRED_LONG:
    case TN_PQ_SHRED_TIME:
      return plan_number(p, read_as, type);
    case TN_PQ_SHRED_FLOAT:
      type->root = TN_FLOAT;
      return TARN_OK;
    case TN_PQ_SHRED_DOUBLE:
      type->root = TN_DOUBLE;
      return TARN_OK;
    case TN_PQ_SHRED_DECIMAL:
      type->root = TN_DECIMAL;
      type->precision = e->logical.precision;
      type->scale = shred->scale = e->logical.scale;
      return TARN_OK;
    case TN_PQ_SHRED_BINARY:
    case TN_PQ_SHRED_STRING:
    case TN_PQ_SHRED_UUID:
      set_bytes(type);
      return TARN_OK;
    default:
      tn_pq_element_text(e, stored, sizeof(stored));
      return tn_fail(p->err, TARN_E_UNSUPPORTED,
                     "%s: column `%s`: a VARIANT shredded as %s is not supported", p->path,
                     p->column, stored);
  }
}

static tarn_status plan_array(planner *p, tn_pq_shred *shred, tn_type *type, tn_pq_node *read_as) {
  tn_field *element = tn_arena_calloc(p->arena, 1, sizeof(*element));
  tn_pq_node *child = tn_arena_memdup(p->arena, read_as->children, sizeof(*child));
  shred->kind = TN_PQ_SHRED_ARRAY;
  shred->n_children = 1;
  shred->children = tn_arena_calloc(p->arena, 1, sizeof(*shred->children));
  if (element == NULL || child == NULL || shred->children == NULL) {
    return tn_oom(p->err);
  }
  element->id = -1;
  element->name = "element";
  type->root = TN_ARRAY;
  type->n_fields = 1;
  type->fields = element;
  read_as->children = child;
  return plan_group(p, child, false, shred->children, &element->type, child);
}

static int by_bytes(const void *a, const void *b) {
  const tn_slice *x = a, *y = b;
  size_t n = x->len < y->len ? x->len : y->len;
  int order = n > 0 ? memcmp(x->data, y->data, n) : 0;
  return order != 0 ? order : (x->len > y->len) - (x->len < y->len);
}

static tarn_status plan_object(planner *p, tn_pq_shred *shred, tn_type *type, tn_pq_node *read_as) {
  size_t n = (size_t)read_as->n_children;
  tn_field *fields = tn_arena_calloc(p->arena, n + 1, sizeof(*fields));
  tn_pq_node *children = tn_arena_memdup(p->arena, read_as->children, n * sizeof(*children));
  shred->kind = TN_PQ_SHRED_OBJECT;
  shred->children = tn_arena_calloc(p->arena, n + 1, sizeof(*shred->children));
  shred->names = tn_arena_calloc(p->arena, n + 1, sizeof(*shred->names));
  if (fields == NULL || children == NULL || shred->children == NULL || shred->names == NULL) {
    return tn_oom(p->err);
  }
  read_as->children = children;
  type->root = TN_ROW;
  type->fields = fields;
  type->n_fields = shred->n_children = read_as->n_children;
  for (size_t i = 0; i < n; i++) {
    fields[i].id = -1;
    fields[i].name = children[i].name;
    shred->names[i] = tn_slice_text(children[i].name);
    TN_TRY(plan_group(p, &children[i], false, &shred->children[i], &fields[i].type, &children[i]));
  }
  shred->sorted = tn_arena_memdup(p->arena, shred->names, n * sizeof(*shred->names));
  if (shred->sorted == NULL) {
    return tn_oom(p->err);
  }
  qsort(shred->sorted, n, sizeof(*shred->sorted), by_bytes);
  for (size_t i = 1; i < n; i++) {
    if (by_bytes(&shred->sorted[i - 1], &shred->sorted[i]) == 0) {
      return bad_shape(p, read_as, "has two fields of one name");
    }
  }
  return TARN_OK;
}

static tarn_status plan_typed(planner *p, tn_pq_shred *shred, tn_type *type, tn_pq_node *read_as) {
  switch (read_as->kind) {
    case TN_PQ_NODE_LEAF:
      return plan_leaf(p, shred, type, read_as);
    case TN_PQ_NODE_LIST:
      return plan_array(p, shred, type, read_as);
    case TN_PQ_NODE_STRUCT:
      return plan_object(p, shred, type, read_as);
    default:
      return bad_shape(p, read_as, "is a map");
  }
}

static bool is_binary(const tn_pq_node *node) {
  return node->kind == TN_PQ_NODE_LEAF && node->element->physical == TN_PQ_BYTE_ARRAY;
}

/* read_as: a copy of the node whose children are to be replaced; the same place is fine. */
static tarn_status plan_group(planner *p, const tn_pq_node *node, bool is_top, tn_pq_shred *shred,
                              tn_type *type, tn_pq_node *read_as) {
  tn_field *fields;
  tn_pq_node *children;
  size_t n = (size_t)node->n_children;
  if (node->kind != TN_PQ_NODE_STRUCT) {
    return bad_shape(p, node, "is no group");
  }
  fields = tn_arena_calloc(p->arena, n + 1, sizeof(*fields));
  children = tn_arena_memdup(p->arena, node->children, n * sizeof(*children));
  if (fields == NULL || children == NULL) {
    return tn_oom(p->err);
  }
  shred->metadata = shred->value = shred->typed = -1;
  for (int32_t i = 0; i < node->n_children; i++) {
    tn_pq_node *child = &children[i];
    bool is_typed = strcmp(child->name, "typed_value") == 0;
    bool is_metadata = is_top && strcmp(child->name, "metadata") == 0;
    int32_t *place = is_typed ? &shred->typed : is_metadata ? &shred->metadata : &shred->value;
    fields[i].id = -1;
    fields[i].name = child->name;
    fields[i].type.is_nullable = true;
    if (*place >= 0 || (!is_typed && !is_metadata && strcmp(child->name, "value") != 0)) {
      return bad_shape(p, child, "has no place there");
    }
    *place = i;
    if (is_typed) {
      TN_TRY(plan_typed(p, shred, &fields[i].type, child));
    } else if (is_binary(child)) {
      set_bytes(&fields[i].type);
    } else {
      return bad_shape(p, child, "is not binary");
    }
  }
  if (shred->value < 0 && shred->typed < 0) {
    return bad_shape(p, node, "has neither value nor typed_value");
  }
  if (is_top && shred->metadata < 0) {
    return bad_shape(p, node, "has no metadata");
  }
  if (read_as != node) {
    *read_as = *node;
  }
  read_as->children = children;
  type->root = TN_ROW;
  type->is_nullable = true;
  type->n_fields = node->n_children;
  type->fields = fields;
  return TARN_OK;
}

tarn_status tn_pq_shred_plan_make(tn_arena *arena, const tn_pq_node *node, const char *path,
                                  const char *column, tn_pq_shred_plan **out, tarn_error *err) {
  planner p = {arena, path, column, err};
  *out = tn_arena_calloc(arena, 1, sizeof(**out));
  return *out == NULL ? tn_oom(err)
                      : plan_group(&p, node, true, &(*out)->root, &(*out)->type, &(*out)->node);
}

/* ------------------------------------------------------------------ joining */

typedef struct joiner {
  tn_variant_builder builder;
  tn_variant_names names; /* of the row at hand */
  tarn_error *err;
} joiner;

static const tn_vec *child_at(const tn_vec *vec, int32_t i, int64_t row) {
  return i >= 0 && !tn_vec_is_null(&vec->children[i], row) ? &vec->children[i] : NULL;
}

static tarn_status join(joiner *j, const tn_pq_shred *shred, const tn_vec *group, int64_t row);

static tarn_status join_leaf(joiner *j, const tn_pq_shred *shred, const tn_vec *typed,
                             int64_t row) {
  tn_variant_builder *b = &j->builder;
  switch (shred->kind) {
    case TN_PQ_SHRED_BOOLEAN:
      return tn_variant_put_boolean(b, tn_bit_get(typed->values, row), j->err);
    case TN_PQ_SHRED_LONG:
      return tn_variant_put_long(b, ((const int64_t *)typed->values)[row], j->err);
    case TN_PQ_SHRED_FLOAT:
      return tn_variant_put_float(b, ((const float *)typed->values)[row], j->err);
    case TN_PQ_SHRED_DOUBLE:
      return tn_variant_put_double(b, ((const double *)typed->values)[row], j->err);
    case TN_PQ_SHRED_DECIMAL:
      return tn_variant_put_decimal(b, tn_load_i128((const uint8_t *)typed->values + 16 * row),
                                    shred->scale, j->err);
    case TN_PQ_SHRED_TIME:
      return tn_variant_put_time(b, shred->time, ((const int64_t *)typed->values)[row], j->err);
    case TN_PQ_SHRED_BINARY:
      return tn_variant_put_binary(b, tn_vec_bytes(typed, row), j->err);
    case TN_PQ_SHRED_UUID:
      return tn_variant_put_uuid(b, tn_vec_bytes(typed, row).data, j->err);
    default:
      return tn_variant_put_string(b, tn_vec_bytes(typed, row), j->err);
  }
}

static tarn_status join_array(joiner *j, const tn_pq_shred *shred, const tn_vec *typed,
                              int64_t row) {
  tn_variant_open_group g;
  tn_variant_open(&j->builder, &g);
  for (int32_t i = typed->offsets[row]; i < typed->offsets[row + 1]; i++) {
    TN_TRY(tn_variant_add_item(&j->builder, &g, j->err));
    TN_TRY(join(j, shred->children, &typed->children[0], i));
  }
  return tn_variant_close_array(&j->builder, &g, j->err);
}

static bool is_shredded_field(const void *ctx, tn_slice name) {
  const tn_pq_shred *shred = ctx;
  return bsearch(&name, shred->sorted, (size_t)shred->n_children, sizeof(name), by_bytes) != NULL;
}

static tarn_status join_object(joiner *j, const tn_pq_shred *shred, const tn_vec *typed,
                               const tn_vec *value, int64_t row) {
  tn_variant_open_group g;
  tn_variant_open(&j->builder, &g);
  for (int32_t i = 0; i < shred->n_children; i++) {
    const tn_pq_shred *field = &shred->children[i];
    const tn_vec *group = child_at(typed, i, row);
    if (group != NULL && (child_at(group, field->typed, row) != NULL ||
                          child_at(group, field->value, row) != NULL)) {
      TN_TRY(tn_variant_add_field(&j->builder, &g, shred->names[i], j->err));
      TN_TRY(join(j, field, group, row));
    }
  }
  if (value != NULL) {
    TN_TRY(tn_variant_add_fields(&j->builder, &g, &j->names, tn_vec_bytes(value, row),
                                 is_shredded_field, shred, j->err));
  }
  return tn_variant_close_object(&j->builder, &g, j->err);
}

/* Recursion follows the schema, whose depth is bounded. */
static tarn_status join(joiner *j, const tn_pq_shred *shred, const tn_vec *group, int64_t row) {
  const tn_vec *typed = child_at(group, shred->typed, row);
  const tn_vec *value = child_at(group, shred->value, row);
  if (typed == NULL) {
    return value == NULL
               ? tn_variant_put_null(&j->builder, j->err)
               : tn_variant_put_value(&j->builder, &j->names, tn_vec_bytes(value, row), j->err);
  }
  if (shred->kind == TN_PQ_SHRED_OBJECT) {
    return join_object(j, shred, typed, value, row);
  }
  if (value != NULL) {
    return tn_fail(j->err, TARN_E_CORRUPT, "variant: value and typed_value are both there");
  }
  return shred->kind == TN_PQ_SHRED_ARRAY ? join_array(j, shred, typed, row)
                                          : join_leaf(j, shred, typed, row);
}

/* Append a byte string to a vector of them as row `row`. */
static tarn_status append(tn_vec *vec, int64_t row, tn_slice bytes, tarn_error *err) {
  size_t used = (size_t)vec->offsets[row], needed;
  if (bytes.len > (size_t)INT32_MAX - used) {
    return tn_fail(err, TARN_E_LIMIT, "variant: more than 2^31 bytes in a batch");
  }
  needed = used + bytes.len;
  if (needed > vec->values_buffer->capacity) {
    size_t doubled = 2 * vec->values_buffer->capacity;
    TN_TRY(tn_buffer_grow(&vec->values_buffer, used, needed > doubled ? needed : doubled, err));
    vec->values = vec->values_buffer->data;
  }
  if (bytes.len > 0) {
    memcpy(vec->values_buffer->data + used, bytes.data, bytes.len);
  }
  vec->offsets[row + 1] = (int32_t)needed;
  return TARN_OK;
}

static tarn_status join_row(joiner *j, const tn_pq_shred *shred, const tn_vec *rows, int64_t row,
                            tn_vec *out) {
  static const uint8_t variant_null[] = {0};
  const tn_vec *metadata = child_at(rows, shred->metadata, row);
  const tn_vec *value = child_at(rows, shred->value, row);
  tn_slice parts[2];
  if (metadata == NULL) {
    return tn_fail(j->err, TARN_E_CORRUPT, "variant: no metadata");
  }
  parts[0] = tn_vec_bytes(metadata, row);
  if (shred->typed < 0) {  // it is whole already
    parts[1] = value != NULL ? tn_vec_bytes(value, row) : tn_slice_of(variant_null, 1);
  } else {
    tn_variant_builder_reset(&j->builder);
    TN_TRY(tn_variant_names_read(parts[0], &j->names, j->err));
    TN_TRY(join(j, shred, rows, row));
    TN_TRY(tn_variant_take(&j->builder, &parts[0], &parts[1], j->err));
  }
  TN_TRY(append(&out->children[0], row, parts[0], j->err));
  return append(&out->children[1], row, parts[1], j->err);
}

tarn_status tn_pq_shred_join(tarn_env *env, const tn_pq_shred_plan *plan, const tn_vec *rows,
                             tn_vec *out, tarn_error *err) {
  tarn_status st = TARN_OK;
  joiner j = {.err = err};
  tn_variant_builder_init(&j.builder, &env->mem);
  for (int32_t i = 0; i < 2; i++) {
    TN_TRY_TO(done, tn_vec_alloc(env, &out->children[i], rows->length, 0, err));
  }
  for (int64_t row = 0; row < rows->length; row++) {
    if (!tn_vec_is_null(rows, row)) {
      TN_TRY_TO(done, join_row(&j, &plan->root, rows, row, out));
      continue;
    }
    for (int32_t i = 0; i < 2; i++) {
      out->children[i].offsets[row + 1] = out->children[i].offsets[row];
    }
  }
  out->length = rows->length;
  out->null_count = rows->null_count;
  out->valid_buffer = tn_buffer_retain(rows->valid_buffer);
  out->valid = rows->valid;
done:
  tn_variant_builder_free(&j.builder);
  return st;
}
