/* arrow_schema.c - fields as Arrow schemas (docs/arch/arrow.md).
 *
 * Every schema owns its texts and the memory of its children, but not what a consumer has moved out
 * of a child: a child whose release is NULL is passed over.
 */
#include <stdio.h>

#include "base/bytes.h"
#include "column/arrow.h"
#include "column/type_text.h"

typedef struct schema_private {
  tarn_env *env;
  char format[24];
  char *name;
  char *metadata; /* NULL: none */
  struct ArrowSchema *storage;
  struct ArrowSchema **children;
} schema_private;

static void release_schema(struct ArrowSchema *schema) {
  schema_private *p = schema->private_data;
  tn_mem *mem = &p->env->mem;
  for (int64_t i = 0; i < schema->n_children; i++) {
    if (p->storage[i].release != NULL) {
      p->storage[i].release(&p->storage[i]);
    }
  }
  tn_free(mem, p->storage);
  tn_free(mem, (void *)p->children);
  tn_free(mem, p->metadata);
  tn_free(mem, p->name);
  tn_free(mem, p);
  schema->release = NULL;
}

/* ------------------------------------------------------------------ formats */

static const char *plain_format(tn_type_root root) {
  static const char *const formats[TN_N_TYPE_ROOTS] = {
      [TN_BOOLEAN] = "b", [TN_TINYINT] = "c",   [TN_SMALLINT] = "s",  [TN_INT] = "i",
      [TN_BIGINT] = "l",  [TN_FLOAT] = "f",     [TN_DOUBLE] = "g",    [TN_CHAR] = "u",
      [TN_VARCHAR] = "u", [TN_BINARY] = "z",    [TN_VARBINARY] = "z", [TN_BLOB] = "z",
      [TN_DATE] = "tdD",  [TN_TIME] = "ttm",    [TN_ARRAY] = "+l",    [TN_MAP] = "+m",
      [TN_ROW] = "+s",    [TN_MULTISET] = "+m", [TN_VARIANT] = "+s"};
  return formats[root];
}

bool tn_arrow_gives_decimal(const tn_type *type, const tn_arrow_options *options) {
  return options != NULL && options->timestamp_ns_as_decimal && type->precision > 6 &&
         (type->root == TN_TIMESTAMP || type->root == TN_TIMESTAMP_LTZ);
}

static void put_format(const tn_type *type, const tn_arrow_options *options, char *out,
                       size_t size) {
  int32_t p = type->precision;
  if (tn_arrow_gives_decimal(type, options)) {
    snprintf(out, size, "d:38,9");
    return;
  }
  switch (type->root) {
    case TN_DECIMAL:
      snprintf(out, size, "d:%d,%d", (int)p, (int)type->scale);
      break;
    case TN_VECTOR:
      snprintf(out, size, "+w:%d", (int)type->length);
      break;
    case TN_TIMESTAMP:
    case TN_TIMESTAMP_LTZ:
      snprintf(out, size, "ts%c:%s",
               p == 0                                                       ? 's'
               : p <= 3                                                     ? 'm'
               : p <= 6 || (options != NULL && options->timestamp_ns_as_us) ? 'u'
                                                                            : 'n',
               type->root == TN_TIMESTAMP_LTZ ? "UTC" : "");
      break;
    default:
      snprintf(out, size, "%s", plain_format(type->root));
      break;
  }
}

/* ------------------------------------------------------------------ metadata */

static tarn_status add_int32(tn_buf *out, size_t value, tarn_error *err) {
  uint8_t bytes[4];
  tn_store_le32(bytes, (uint32_t)value);
  return tn_buf_append(out, bytes, 4, err);
}

/* Pairs are counted in the first four bytes. */
static tarn_status add_pair(tn_buf *out, const char *key, tn_slice value, tarn_error *err) {
  if (out->len == 0) {
    TN_TRY(add_int32(out, 0, err));
  }
  TN_TRY(add_int32(out, strlen(key), err));
  TN_TRY(tn_buf_text(out, key, err));
  TN_TRY(add_int32(out, value.len, err));
  TN_TRY(tn_buf_append(out, value.data, value.len, err));
  tn_store_le32(out->data, tn_load_le32(out->data) + 1);
  return TARN_OK;
}

bool tn_arrow_metadata(const char *metadata, const char *key, tn_slice *out) {
  const uint8_t *at = (const uint8_t *)metadata;
  int32_t n;
  if (at == NULL) {
    return false;
  }
  n = (int32_t)tn_load_le32(at);
  at += 4;
  for (int32_t i = 0; i < n; i++) {
    tn_slice name = tn_slice_of(at + 4, tn_load_le32(at));
    at += 4 + name.len;
    *out = tn_slice_of(at + 4, tn_load_le32(at));
    at += 4 + out->len;
    if (tn_slice_is(name, key)) {
      return true;
    }
  }
  return false;
}

static tarn_status add_metadata(const tn_field *field, bool tells_type, tn_buf *out, tn_buf *sql,
                                tarn_error *err) {
  char id[16];
  if (field->id >= 0) {
    snprintf(id, sizeof(id), "%d", (int)field->id);
    TN_TRY(add_pair(out, "paimon.id", tn_slice_text(id), err));
  }
  if (tells_type) {
    TN_TRY(tn_type_to_sql(&field->type, sql, err));
    TN_TRY(add_pair(out, "paimon.type", tn_buf_slice(sql), err));
  }
  if (field->type.root == TN_VARIANT) {
    TN_TRY(add_pair(out, "ARROW:extension:name", tn_slice_text("arrow.parquet.variant"), err));
    TN_TRY(add_pair(out, "ARROW:extension:metadata", tn_slice_text(""), err));
  }
  return TARN_OK;
}

static tarn_status make_metadata(tarn_env *env, const tn_field *field, bool tells_type, char **out,
                                 tarn_error *err) {
  tarn_status st;
  tn_buf pairs, sql;
  tn_buf_init(&pairs, &env->mem, 1 << 24);
  tn_buf_init(&sql, &env->mem, 1 << 24);
  st = add_metadata(field, tells_type, &pairs, &sql, err);
  tn_buf_reset(&sql);
  if (st == TARN_OK && pairs.len > 0) {
    *out = (char *)pairs.data; /* from the same allocator */
  } else {
    tn_buf_reset(&pairs);
  }
  return st;
}

/* ------------------------------------------------------------------ schemas */

/* A schema without children; out->release is set, so that what follows can give up by it. */
static tarn_status begin_schema(tarn_env *env, const char *name, int32_t n_children,
                                struct ArrowSchema *out, tarn_error *err) {
  schema_private *p = tn_calloc(&env->mem, 1, sizeof(*p));
  memset(out, 0, sizeof(*out));
  if (p == NULL) {
    return tn_oom(err);
  }
  p->env = env;
  out->private_data = p;
  out->release = release_schema;
  p->name = tn_strdup(&env->mem, name);
  if (n_children > 0) {
    p->storage = tn_calloc(&env->mem, (size_t)n_children, sizeof(*p->storage));
    p->children = tn_calloc(&env->mem, (size_t)n_children, sizeof(*p->children));
  }
  if (p->name == NULL || (n_children > 0 && (p->storage == NULL || p->children == NULL))) {
    release_schema(out);
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n_children; i++) {
    p->children[i] = &p->storage[i];
  }
  out->n_children = n_children;
  out->children = p->children;
  out->format = p->format;
  out->name = p->name;
  return TARN_OK;
}

static tarn_status export_field(tarn_env *env, const tn_field *field, bool is_column,
                                const tn_arrow_options *options, struct ArrowSchema *out,
                                tarn_error *err);

static tarn_status export_fields(tarn_env *env, const tn_field *fields, int32_t n_fields,
                                 bool are_columns, const tn_arrow_options *options,
                                 struct ArrowSchema *out, tarn_error *err) {
  for (int32_t i = 0; i < n_fields; i++) {
    TN_TRY(export_field(env, &fields[i], are_columns, options, out->children[i], err));
  }
  return TARN_OK;
}

/* The child of a map: a struct of key, which Arrow wants not null, and value. */
static tarn_status export_entries(tarn_env *env, const tn_type *type,
                                  const tn_arrow_options *options, struct ArrowSchema *out,
                                  tarn_error *err) {
  tn_field key = type->fields[0], value = type->fields[1];
  TN_TRY(begin_schema(env, "entries", 2, out, err));
  snprintf(((schema_private *)out->private_data)->format, 4, "+s");
  key.name = "key";
  key.type.is_nullable = false;
  value.name = "value";
  TN_TRY(export_field(env, &key, false, options, out->children[0], err));
  return export_field(env, &value, false, options, out->children[1], err);
}

static tarn_status export_children(tarn_env *env, const tn_type *type,
                                   const tn_arrow_options *options, struct ArrowSchema *out,
                                   tarn_error *err) {
  static const tn_field variant_parts[] = {
      {.id = -1, .name = "metadata", .type = {.root = TN_VARBINARY, .length = INT32_MAX}},
      {.id = -1, .name = "value", .type = {.root = TN_VARBINARY, .length = INT32_MAX}}};
  tn_field item;
  switch (type->root) {
    case TN_MAP:
    case TN_MULTISET:
      return export_entries(env, type, options, out->children[0], err);
    case TN_VARIANT:
      return export_fields(env, variant_parts, 2, false, options, out, err);
    case TN_ARRAY:
    case TN_VECTOR:
      item = type->fields[0];
      item.name = "item";
      return export_field(env, &item, false, options, out->children[0], err);
    default:
      return export_fields(env, type->fields, type->n_fields, false, options, out, err);
  }
}

static tarn_status export_field(tarn_env *env, const tn_field *field, bool is_column,
                                const tn_arrow_options *options, struct ArrowSchema *out,
                                tarn_error *err) {
  const tn_type *type = &field->type;
  tarn_status st = TARN_OK;
  schema_private *p;
  int32_t n_children = type->root == TN_VARIANT                            ? 2
                       : type->root == TN_MAP || type->root == TN_MULTISET ? 1
                                                                           : type->n_fields;
  TN_TRY(begin_schema(env, field->name, n_children, out, err));
  p = out->private_data;
  put_format(type, options, p->format, sizeof(p->format));
  out->flags = type->is_nullable ? ARROW_FLAG_NULLABLE : 0;
  TN_TRY_TO(fail, make_metadata(env, field, is_column || tn_arrow_gives_decimal(type, options),
                                &p->metadata, err));
  out->metadata = p->metadata;
  TN_TRY_TO(fail, export_children(env, type, options, out, err));
  return TARN_OK;
fail:
  release_schema(out);
  return st;
}

tarn_status tn_arrow_export_schema(tarn_env *env, const tn_field *fields, int32_t n_fields,
                                   const tn_arrow_options *options, struct ArrowSchema *out,
                                   tarn_error *err) {
  tarn_status st;
  TN_TRY(begin_schema(env, "", n_fields, out, err));
  snprintf(((schema_private *)out->private_data)->format, 4, "+s");
  st = export_fields(env, fields, n_fields, true, options, out, err);
  if (st != TARN_OK) {
    release_schema(out);
  }
  return st;
}
