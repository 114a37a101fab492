/* avro_inspect.c - what an Avro file tells of itself: its header and blocks as JSON, its columns as
 * Paimon types. */
#include "base/bytes.h"
#include "format/avro/avro_file.h"

/* ------------------------------------------------------------------ JSON */

/* The schema as it stands, on one line: JSON has raw line breaks and tabs only between tokens. */
static tarn_status append_schema(tn_slice json, tn_buf *out, tarn_error *err) {
  TN_TRY(tn_buf_reserve(out, json.len, err));
  for (size_t i = 0; i < json.len; i++) {
    uint8_t b = json.data[i];
    out->data[out->len++] = b < 0x20 ? ' ' : b;
  }
  return TARN_OK;
}

tarn_status tn_avro_file_inspect(tn_format_file *file, tn_buf *out, tarn_error *err) {
  const tn_avro_file *f = (const tn_avro_file *)file;
  TN_TRY(tn_buf_printf(out, err, "{\"format\":\"avro\",\"size\":%lld,\"codec\":",
                       (long long)file->file->size_bytes));
  TN_TRY(tn_json_quote(out, tn_slice_text(f->header.codec_name), err));
  TN_TRY(tn_buf_text(out, ",\"schema\":", err));
  TN_TRY(append_schema(f->header.schema_json, out, err));
  TN_TRY(tn_buf_printf(out, err, ",\"rows\":%lld,\"blocks\":[", (long long)file->n_rows));
  for (size_t i = 0; i < f->n_blocks; i++) {
    const tn_avro_block *block = &f->blocks[i].block;
    TN_TRY(tn_buf_printf(out, err, "%s{\"offset\":%lld,\"rows\":%lld,\"bytes\":%lld}",
                         i > 0 ? "," : "", (long long)block->offset, (long long)block->n_records,
                         (long long)block->n_bytes));
  }
  return tn_buf_text(out, "]}", err);
}

/* ------------------------------------------------------------------ types */

static tarn_status type_of(tn_arena *arena, const tn_avro_node *node, const char *path,
                           tn_type *out, tarn_error *err);

static tarn_status fields_of(tn_arena *arena, const tn_avro_node *record, const char *path,
                             tn_field **out, tarn_error *err) {
  tn_field *fields = tn_arena_calloc(arena, (size_t)record->n_children + 1, sizeof(tn_field));
  if (fields == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < record->n_children; i++) {
    fields[i].id = -1;
    fields[i].name = tn_arena_strdup(arena, record->names[i]);
    if (fields[i].name == NULL) {
      return tn_oom(err);
    }
    TN_TRY(type_of(arena, record->children[i], path, &fields[i].type, err));
  }
  *out = fields;
  return TARN_OK;
}

static tarn_status children_of(tn_arena *arena, const tn_avro_node *const *nodes, int32_t n,
                               const char *path, tn_type *out, tarn_error *err) {
  tn_field *fields = tn_arena_calloc(arena, (size_t)n, sizeof(tn_field));
  if (fields == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n; i++) {
    static const char *const pair_names[2] = {"key", "value"};
    fields[i].id = -1;
    fields[i].name = n == 2 ? pair_names[i] : "element";
    TN_TRY(type_of(arena, nodes[i], path, &fields[i].type, err));
  }
  out->fields = fields;
  out->n_fields = n;
  return TARN_OK;
}

/* Is this a list of records {key, value} that stands for a map? */
static const tn_avro_node *entry_of(const tn_avro_node *node) {
  const tn_avro_node *item;
  (void)tn_avro_nullable(node->children[0], &item);
  return node->logical == TN_AVRO_MAP_ENTRIES && item->kind == TN_AVRO_RECORD &&
                 item->n_children == 2 && strcmp(item->names[0], "key") == 0 &&
                 strcmp(item->names[1], "value") == 0
             ? item
             : NULL;
}

static void set_atomic(tn_type *out, tn_type_root root, int32_t length, int32_t precision) {
  out->root = root;
  out->length = length;
  out->precision = precision;
}

static void number_of(const tn_avro_node *node, tn_type *out) {
  bool is_int = node->kind == TN_AVRO_INT;
  switch (node->logical) {
    case TN_AVRO_DATE:
      set_atomic(out, TN_DATE, 0, 0);
      break;
    case TN_AVRO_TIME_MILLIS:
    case TN_AVRO_TIME_MICROS:
      set_atomic(out, TN_TIME, 0, 3);
      break;
    case TN_AVRO_TIMESTAMP_MILLIS:
    case TN_AVRO_TIMESTAMP_MICROS:
    case TN_AVRO_TIMESTAMP_NANOS: /* Paimon's meaning of the names, not Avro's */
      set_atomic(out, TN_TIMESTAMP, 0, 3 * (node->logical - TN_AVRO_TIMESTAMP_MILLIS + 1));
      break;
    case TN_AVRO_LOCAL_MILLIS:
    case TN_AVRO_LOCAL_MICROS:
    case TN_AVRO_LOCAL_NANOS:
      set_atomic(out, TN_TIMESTAMP_LTZ, 0, 3 * (node->logical - TN_AVRO_LOCAL_MILLIS + 1));
      break;
    default:
      set_atomic(out, is_int ? TN_INT : TN_BIGINT, 0, 0);
      break;
  }
}

static void bytes_of(const tn_avro_node *node, tn_type *out) {
  if (node->logical == TN_AVRO_DECIMAL && node->precision >= 1 && node->precision <= 38 &&
      node->scale <= node->precision) {
    set_atomic(out, TN_DECIMAL, 0, node->precision);
    out->scale = node->scale;
  } else if (node->kind == TN_AVRO_FIXED && node->size > 0) {
    set_atomic(out, TN_BINARY, node->size, 0);
  } else {
    set_atomic(out, TN_VARBINARY, INT32_MAX, 0);
  }
}

/* The type of a value that is no union; *out has its nullability already. */
static tarn_status plain_type_of(tn_arena *arena, const tn_avro_node *node, const char *path,
                                 tn_type *out, tarn_error *err) {
  static const tn_avro_node text_node = {.kind = TN_AVRO_STRING};
  const tn_avro_node *entry, *pair[2];
  tn_field *fields = NULL;
  switch (node->kind) {
    case TN_AVRO_BOOLEAN:
      set_atomic(out, TN_BOOLEAN, 0, 0);
      return TARN_OK;
    case TN_AVRO_INT:
    case TN_AVRO_LONG:
      number_of(node, out);
      return TARN_OK;
    case TN_AVRO_FLOAT:
      set_atomic(out, TN_FLOAT, 0, 0);
      return TARN_OK;
    case TN_AVRO_DOUBLE:
      set_atomic(out, TN_DOUBLE, 0, 0);
      return TARN_OK;
    case TN_AVRO_BYTES:
    case TN_AVRO_FIXED:
      bytes_of(node, out);
      return TARN_OK;
    case TN_AVRO_NULL: /* nothing but nulls: any type would do */
    case TN_AVRO_STRING:
    case TN_AVRO_ENUM:
      set_atomic(out, TN_VARCHAR, INT32_MAX, 0);
      return TARN_OK;
    case TN_AVRO_RECORD:
      out->root = TN_ROW;
      TN_TRY(fields_of(arena, node, path, &fields, err));
      out->fields = fields;
      out->n_fields = node->n_children;
      return TARN_OK;
    case TN_AVRO_ARRAY:
      entry = entry_of(node);
      out->root = entry != NULL ? TN_MAP : TN_ARRAY;
      return entry != NULL ? children_of(arena, entry->children, 2, path, out, err)
                           : children_of(arena, node->children, 1, path, out, err);
    case TN_AVRO_MAP:
      out->root = TN_MAP;
      pair[0] = &text_node;
      pair[1] = node->children[0];
      return children_of(arena, pair, 2, path, out, err);
    default:
      return TN_BUG(err, "an Avro union where none can be");
  }
}

static tarn_status type_of(tn_arena *arena, const tn_avro_node *node, const char *path,
                           tn_type *out, tarn_error *err) {
  const tn_avro_node *value = NULL;
  memset(out, 0, sizeof(*out));
  if (node->kind != TN_AVRO_UNION) {
    out->is_nullable = node->kind == TN_AVRO_NULL;
    return plain_type_of(arena, node, path, out, err);
  }
  for (int32_t i = 0; i < node->n_children; i++) {
    if (node->children[i]->kind == TN_AVRO_NULL) {
      out->is_nullable = true;
      value = value == NULL ? node->children[i] : value;
    } else if (value != NULL && value->kind != TN_AVRO_NULL) {
      return tn_fail(err, TARN_E_UNSUPPORTED,
                     "%s: an Avro union of %s and %s has no type of Paimon's", path,
                     tn_avro_kind_name(value->kind), tn_avro_kind_name(node->children[i]->kind));
    } else {
      value = node->children[i];
    }
  }
  return plain_type_of(arena, value, path, out, err);
}

tarn_status tn_avro_file_schema(tn_format_file *file, tn_arena *arena, tn_field **fields,
                                int32_t *n_fields, tarn_error *err) {
  const tn_avro_file *f = (const tn_avro_file *)file;
  *n_fields = 0;
  TN_TRY(fields_of(arena, f->header.record, file->file->path, fields, err));
  *n_fields = f->header.record->n_children;
  return TARN_OK;
}
