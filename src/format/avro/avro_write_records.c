/* avro_write_records.c - C structs as records of a container file (manifests).
 *
 * The writer's schema and the table of fields become one tree of steps, matched by name once. The
 * file grows in memory, so that whoever rolls manifests by size knows it.
 */
#include "format/avro/avro_write.h"

/* What is written for a value of the schema. */
typedef struct step {
  const tn_avro_node *node;     /* the value's type, out of its union with null */
  int null_branch;              /* -1: no union */
  int item_null;                /* the same for the items of an array */
  const tn_record_field *field; /* NULL: the table lacks it; null is written */
  struct step *steps;           /* of a record, or of the records in an array */
  int32_t n_steps;
} step;

struct tn_record_writer {
  tarn_env *env;
  tn_arena arena;
  tn_avro_packer packer;
  tn_buf file;
  step *steps;
  int32_t n_steps;
};

#define MAX_FILE_BYTES ((size_t)1 << 30)

/* ------------------------------------------------------------------ matching */

static tarn_status match_record(tn_arena *arena, const tn_avro_node *record,
                                const tn_record_field *fields, int32_t n_fields, int depth,
                                step **out, tarn_error *err);

static const tn_record_field *find_field(const tn_record_field *fields, int32_t n,
                                         const char *name) {
  for (int32_t i = 0; i < n; i++) {
    if (strcmp(fields[i].name, name) == 0) {
      return &fields[i];
    }
  }
  return NULL;
}

static bool fits(const tn_avro_node *node, tn_record_kind kind) {
  switch (kind) {
    case TN_RECORD_INT:
      return node->kind == TN_AVRO_INT || node->kind == TN_AVRO_LONG;
    case TN_RECORD_LONG:
      return node->kind == TN_AVRO_LONG;
    case TN_RECORD_TEXT:
      return node->kind == TN_AVRO_STRING;
    case TN_RECORD_BYTES:
      return node->kind == TN_AVRO_BYTES;
    case TN_RECORD_STRUCT:
      return node->kind == TN_AVRO_RECORD;
    case TN_RECORD_TEXTS:
      return node->kind == TN_AVRO_STRING;
    case TN_RECORD_LONGS:
      return node->kind == TN_AVRO_LONG;
    case TN_RECORD_INTS:
      return node->kind == TN_AVRO_INT;
    case TN_RECORD_STRUCTS:
      return node->kind == TN_AVRO_RECORD;
  }
  return false;
}

/* The items of an array: *node becomes their type. */
static bool match_items(step *s, const tn_avro_node **node) {
  const tn_avro_node *items = (*node)->kind == TN_AVRO_ARRAY ? (*node)->children[0] : NULL;
  if (items == NULL) {
    return false;
  }
  s->item_null = tn_avro_nullable(items, node);
  return s->item_null >= -1;
}

static tarn_status match_value(tn_arena *arena, const char *name, const tn_avro_node *node,
                               const tn_record_field *field, int depth, step *s, tarn_error *err) {
  const tn_avro_node *value;
  s->null_branch = tn_avro_nullable(node, &value);
  s->item_null = -1;
  s->node = value;
  s->field = field;
  if (field == NULL) {
    return s->null_branch >= 0
               ? TARN_OK
               : tn_fail(err, TARN_E_INVALID,
                         "field %s of the schema must have a value and has none", name);
  }
  if (s->null_branch < -1 || (field->kind >= TN_RECORD_TEXTS && !match_items(s, &value)) ||
      !fits(value, field->kind)) {
    return tn_fail(err, TARN_E_INVALID, "field %s has the Avro type %s", name,
                   tn_avro_kind_name(node->kind));
  }
  if (value->kind == TN_AVRO_RECORD) {
    s->n_steps = value->n_children;
    return match_record(arena, value, field->fields, field->n_fields, depth + 1, &s->steps, err);
  }
  return TARN_OK;
}

static tarn_status match_record(tn_arena *arena, const tn_avro_node *record,
                                const tn_record_field *fields, int32_t n_fields, int depth,
                                step **out, tarn_error *err) {
  step *steps = tn_arena_calloc(arena, (size_t)record->n_children, sizeof(*steps));
  *out = steps;
  if (steps == NULL) {
    return tn_oom(err);
  }
  if (depth > TN_MAX_TYPE_DEPTH) {
    return tn_fail(err, TARN_E_LIMIT, "records nested deeper than %d", TN_MAX_TYPE_DEPTH);
  }
  for (int32_t i = 0; i < record->n_children; i++) {
    const char *name = record->names[i];
    TN_TRY(match_value(arena, name, record->children[i], find_field(fields, n_fields, name), depth,
                       &steps[i], err));
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ writing */

static tarn_status put_record(tn_buf *out, const step *steps, int32_t n, const uint8_t *record,
                              tarn_error *err);

static tarn_status put_branch(tn_buf *out, int null_branch, bool is_null, tarn_error *err) {
  return null_branch < 0 ? TARN_OK
                         : tn_avro_put_long(out, is_null ? null_branch : 1 - null_branch, err);
}

static tarn_status put_item(tn_buf *out, const step *s, const uint8_t *item, tarn_error *err) {
  int64_t number = 0;
  switch (s->field->kind) {
    case TN_RECORD_LONGS:
      memcpy(&number, item, sizeof(number));
      if (number == INT64_MIN && s->item_null < 0) {
        return tn_fail(err, TARN_E_INVALID, "an item of field %s is null", s->field->name);
      }
      TN_TRY(put_branch(out, s->item_null, number == INT64_MIN, err));
      return number == INT64_MIN ? TARN_OK : tn_avro_put_long(out, number, err);
    case TN_RECORD_INTS: {
      int32_t small;
      memcpy(&small, item, sizeof(small));
      TN_TRY(put_branch(out, s->item_null, false, err));
      return tn_avro_put_long(out, small, err);
    }
    case TN_RECORD_TEXTS: {
      tn_slice run;
      memcpy(&run, item, sizeof(run));
      TN_TRY(put_branch(out, s->item_null, false, err));
      return tn_avro_put_run(out, run, err);
    }
    default:
      TN_TRY(put_branch(out, s->item_null, false, err));
      return put_record(out, s->steps, s->n_steps, item, err);
  }
}

/* As Java's encoder has it: the count of all items, the items, 0; of none only the 0. */
static tarn_status put_items(tn_buf *out, const step *s, const tn_record_array *array,
                             tarn_error *err) {
  size_t width = s->field->kind == TN_RECORD_LONGS   ? sizeof(int64_t)
                 : s->field->kind == TN_RECORD_INTS  ? sizeof(int32_t)
                 : s->field->kind == TN_RECORD_TEXTS ? sizeof(tn_slice)
                                                     : s->field->struct_bytes;
  if (array->count > 0) {
    TN_TRY(tn_avro_put_long(out, array->count, err));
  }
  for (int64_t i = 0; i < array->count; i++) {
    TN_TRY(put_item(out, s, (const uint8_t *)array->items + (size_t)i * width, err));
  }
  return tn_avro_put_long(out, 0, err);
}

static tarn_status put_value(tn_buf *out, const step *s, const uint8_t *at, tarn_error *err) {
  switch (s->field->kind) {
    case TN_RECORD_INT: {
      int32_t number;
      memcpy(&number, at, sizeof(number));
      return tn_avro_put_long(out, number, err);
    }
    case TN_RECORD_LONG: {
      int64_t number;
      memcpy(&number, at, sizeof(number));
      return tn_avro_put_long(out, number, err);
    }
    case TN_RECORD_TEXT:
    case TN_RECORD_BYTES: {
      tn_slice run;
      memcpy(&run, at, sizeof(run));
      return tn_avro_put_run(out, run, err);
    }
    case TN_RECORD_STRUCT:
      return put_record(out, s->steps, s->n_steps, at, err);
    default: {
      tn_record_array array;
      memcpy(&array, at, sizeof(array));
      return put_items(out, s, &array, err);
    }
  }
}

static bool is_null(const step *s, const uint8_t *record) {
  bool is_there = true;
  if (s->field != NULL && s->field->flag_offset != TN_RECORD_NO_FLAG) {
    memcpy(&is_there, record + s->field->flag_offset, sizeof(is_there));
  }
  return s->field == NULL || !is_there;
}

static tarn_status put_record(tn_buf *out, const step *steps, int32_t n, const uint8_t *record,
                              tarn_error *err) {
  for (int32_t i = 0; i < n; i++) {
    const step *s = &steps[i];
    bool null = is_null(s, record);
    if (null && s->null_branch < 0) {
      return tn_fail(err, TARN_E_INVALID, "field %s must have a value and has none",
                     s->field->name);
    }
    TN_TRY(put_branch(out, s->null_branch, null, err));
    if (!null) {
      TN_TRY(put_value(out, s, record + s->field->offset, err));
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ the writer */

static void writer_free(tn_record_writer *w) {
  if (w != NULL) {
    tarn_env *env = w->env;
    tn_avro_packer_reset(&w->packer);
    tn_buf_reset(&w->file);
    tn_arena_reset(&w->arena);
    tn_free(&env->mem, w);
  }
}

static tarn_status match_schema(tn_record_writer *w, const char *schema_json,
                                const tn_record_field *fields, int32_t n_fields, tarn_error *err) {
  const tn_avro_node *record;
  tn_json_doc *doc = NULL;
  tarn_status st = TARN_OK;
  TN_TRY(tn_json_parse(&w->env->mem, tn_slice_text(schema_json), "an Avro schema", &doc, err));
  TN_TRY_TO(done,
            tn_avro_schema_parse(&w->arena, tn_json_root(doc), "an Avro schema", &record, err));
  if (record->kind != TN_AVRO_RECORD) {
    TN_TRY_TO(done, tn_fail(err, TARN_E_INVALID, "the schema of a file of records is a %s",
                            tn_avro_kind_name(record->kind)));
  }
  w->n_steps = record->n_children;
  TN_TRY_TO(done, match_record(&w->arena, record, fields, n_fields, 0, &w->steps, err));
done:
  tn_json_free(doc);
  return st;
}

static tarn_status writer_create(tarn_env *env, const char *schema_json, const char *compression,
                                 const tn_record_field *fields, int32_t n_fields,
                                 tn_record_writer **out, tarn_error *err) {
  tn_record_writer *w = tn_calloc(&env->mem, 1, sizeof(*w));
  tarn_status st = TARN_OK;
  *out = NULL;
  if (w == NULL) {
    return tn_oom(err);
  }
  w->env = env;
  tn_arena_init(&w->arena, &env->mem, SIZE_MAX);
  tn_buf_init(&w->file, &env->mem, MAX_FILE_BYTES);
  TN_TRY_TO(fail, tn_avro_packer_init(&w->packer, env, compression, 0, err));
  TN_TRY_TO(fail, match_schema(w, schema_json, fields, n_fields, err));
  TN_TRY_TO(fail,
            tn_avro_packer_header(&w->packer, tn_slice_text(schema_json), NULL, 0, &w->file, err));
  *out = w;
  return TARN_OK;
fail:
  writer_free(w);
  return st;
}

static tarn_status end_block(tn_record_writer *w, tarn_error *err) {
  tn_slice block;
  TN_TRY(tn_avro_packer_take(&w->packer, &block, err));
  return tn_buf_append(&w->file, block.data, block.len, err);
}

static tarn_status writer_add(tn_record_writer *w, const void *record, tarn_error *err) {
  size_t begin = w->packer.data.len;
  tarn_status st = put_record(&w->packer.data, w->steps, w->n_steps, record, err);
  if (st != TARN_OK) {
    w->packer.data.len = begin; /* the records before it are still whole */
    return st;
  }
  w->packer.n_records++;
  return tn_avro_packer_is_full(&w->packer) ? end_block(w, err) : TARN_OK;
}

static int64_t writer_size(const tn_record_writer *w) {
  return (int64_t)(w->file.len + w->packer.data.len);
}

static tarn_status writer_finish(tn_record_writer *w, tn_slice *file, tarn_error *err) {
  TN_TRY(end_block(w, err));
  *file = tn_buf_slice(&w->file);
  return TARN_OK;
}

const tn_record_writer_ops tn_avro_record_writer = {writer_create, writer_add, writer_size,
                                                    writer_finish, writer_free};
