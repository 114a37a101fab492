/* arrow_columns.c - the columns of an Arrow schema as those of a new table or file:
 * tarn_schema_from_arrow, tn_api_arrow_fields.
 *
 * The metadata "paimon.type" of a column says the type where it is there (docs/arch/arrow.md);
 * otherwise the Arrow type does. The types are those that columns of the other kind can be filled
 * from (column/arrow_import.h). The schema is trusted to be a sound C structure; its texts are not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/handles.h"
#include "base/utf8.h"

typedef struct converter {
  tn_arena *arena;
  const char *column; /* for messages */
  tarn_error *err;
} converter;

static tarn_status refuse(const converter *c, const char *format) {
  return tn_fail(c->err, TARN_E_INVALID,
                 "column '%s': no column of a table can be of the Arrow type '%s'", c->column,
                 format != NULL ? format : "(none)");
}

/* ------------------------------------------------------------------ formats */

static const struct {
  const char *format;
  tn_type type;
} plain_formats[] = {
    {"b", {.root = TN_BOOLEAN}},
    {"c", {.root = TN_TINYINT}},
    {"C", {.root = TN_SMALLINT}},
    {"s", {.root = TN_SMALLINT}},
    {"S", {.root = TN_INT}},
    {"i", {.root = TN_INT}},
    {"I", {.root = TN_BIGINT}},
    {"l", {.root = TN_BIGINT}},
    {"e", {.root = TN_FLOAT}},
    {"f", {.root = TN_FLOAT}},
    {"g", {.root = TN_DOUBLE}},
    {"u", {.root = TN_VARCHAR, .length = INT32_MAX}},
    {"U", {.root = TN_VARCHAR, .length = INT32_MAX}},
    {"vu", {.root = TN_VARCHAR, .length = INT32_MAX}},
    {"z", {.root = TN_VARBINARY, .length = INT32_MAX}},
    {"Z", {.root = TN_VARBINARY, .length = INT32_MAX}},
    {"vz", {.root = TN_VARBINARY, .length = INT32_MAX}},
    {"tdD", {.root = TN_DATE}},
    {"tdm", {.root = TN_DATE}},
    {"tts", {.root = TN_TIME, .precision = 0}},
    {"ttm", {.root = TN_TIME, .precision = 3}},
    {"ttu", {.root = TN_TIME, .precision = 6}},
    {"ttn", {.root = TN_TIME, .precision = 9}},
};

/* w:42, d:19,10, d:19,10,128, tsu:UTC */
static bool parse_format(const char *format, tn_type *out) {
  static const char units[] = "smun";
  int a, b, bits, end = -1;
  if (sscanf(format, "w:%9d%n", &a, &end) == 1 && format[end] == '\0' && a > 0) {
    *out = (tn_type){.root = TN_BINARY, .length = a};
    return true;
  }
  if (strncmp(format, "d:", 2) == 0 && sscanf(format, "d:%9d,%9d%n", &a, &b, &end) == 2) {
    bool has_bits = format[end] == ',' && sscanf(format + end, ",%9d", &bits) == 1;
    *out = (tn_type){.root = TN_DECIMAL, .precision = a, .scale = b};
    return (has_bits || format[end] == '\0') && a >= 1 && a <= 38 && b >= 0 && b <= a;
  }
  if (strncmp(format, "ts", 2) == 0 && format[2] != '\0' && format[3] == ':' &&
      strchr(units, format[2]) != NULL) {
    out->root = format[4] != '\0' ? TN_TIMESTAMP_LTZ : TN_TIMESTAMP;
    out->precision = 3 * (int32_t)(strchr(units, format[2]) - units);
    return true;
  }
  return false;
}

static bool is_list(const char *format) {
  int width, end = -1;
  return strcmp(format, "+l") == 0 || strcmp(format, "+L") == 0 || strcmp(format, "+vl") == 0 ||
         strcmp(format, "+vL") == 0 ||
         (sscanf(format, "+w:%9d%n", &width, &end) == 1 && format[end] == '\0');
}

/* ------------------------------------------------------------------ types */

static tarn_status convert(const converter *c, const struct ArrowSchema *schema, int32_t depth,
                           tn_type *out);

static tarn_status copy_name(const converter *c, const char *name, const char **out) {
  size_t n = name != NULL ? strlen(name) : 0;
  if (n == 0 || tn_utf8_check((const uint8_t *)name, n) != n) {
    return tn_fail(c->err, TARN_E_INVALID, "column '%s': a name is empty or not UTF-8", c->column);
  }
  *out = tn_arena_strdup(c->arena, name);
  return *out != NULL ? TARN_OK : tn_oom(c->err);
}

static tarn_status convert_children(const converter *c, const struct ArrowSchema *schema, int64_t n,
                                    const char *const *names, int32_t depth, tn_type *out) {
  tn_field *fields;
  if (schema->n_children != n || n < 0 || n > INT32_MAX / 2 || schema->children == NULL) {
    return refuse(c, schema->format);
  }
  fields = tn_arena_calloc(c->arena, (size_t)n + 1, sizeof(*fields));
  if (fields == NULL) {
    return tn_oom(c->err);
  }
  for (int64_t i = 0; i < n; i++) {
    const struct ArrowSchema *child = schema->children[i];
    fields[i].id = -1;
    if (child == NULL) {
      return refuse(c, schema->format);
    }
    if (names != NULL) {
      fields[i].name = names[i];
    } else {
      TN_TRY(copy_name(c, child->name, &fields[i].name));
    }
    TN_TRY(convert(c, child, depth + 1, &fields[i].type));
  }
  out->fields = fields;
  out->n_fields = (int32_t)n;
  return TARN_OK;
}

static tarn_status convert_nested(const converter *c, const struct ArrowSchema *schema,
                                  int32_t depth, tn_type *out) {
  static const char *const element[] = {"element"}, *const entry[] = {"key", "value"};
  if (is_list(schema->format)) {
    out->root = TN_ARRAY;
    return convert_children(c, schema, 1, element, depth, out);
  }
  if (strcmp(schema->format, "+s") == 0) {
    tn_slice extension;
    if (tn_arrow_metadata(schema->metadata, "ARROW:extension:name", &extension) &&
        tn_slice_is(extension, "arrow.parquet.variant")) {
      out->root = TN_VARIANT;
      return TARN_OK;
    }
    out->root = TN_ROW;
    return schema->n_children > 0
               ? convert_children(c, schema, schema->n_children, NULL, depth, out)
               : refuse(c, schema->format);
  }
  if (strcmp(schema->format, "+m") == 0 && schema->n_children == 1 && schema->children != NULL &&
      schema->children[0] != NULL) {
    out->root = TN_MAP;
    return convert_children(c, schema->children[0], 2, entry, depth, out);
  }
  return refuse(c, schema->format);
}

static tarn_status convert(const converter *c, const struct ArrowSchema *schema, int32_t depth,
                           tn_type *out) {
  bool is_nullable = (schema->flags & ARROW_FLAG_NULLABLE) != 0;
  tarn_status st = TARN_OK;
  if (schema->dictionary != NULL) {
    schema = schema->dictionary;
  }
  memset(out, 0, sizeof(*out));
  if (schema->format == NULL) {
    return refuse(c, NULL);
  }
  if (depth > TN_MAX_TYPE_DEPTH) {
    return tn_fail(c->err, TARN_E_LIMIT, "column '%s': nested deeper than %d", c->column,
                   TN_MAX_TYPE_DEPTH);
  }
  if (schema->format[0] == '+') {
    st = convert_nested(c, schema, depth, out);
  } else {
    size_t i = 0;
    while (i < TN_COUNT(plain_formats) && strcmp(plain_formats[i].format, schema->format) != 0) {
      i++;
    }
    if (i < TN_COUNT(plain_formats)) {
      *out = plain_formats[i].type;
    } else if (!parse_format(schema->format, out)) {
      st = refuse(c, schema->format);
    }
  }
  out->is_nullable = is_nullable;
  return st;
}

/* ------------------------------------------------------------------ the JSON of a table */

/* Its type as SQL text, in an emptied buffer. */
static tarn_status column_sql(converter *c, const struct ArrowSchema *schema, const char **name,
                              tn_buf *sql) {
  tn_type type;
  tn_slice text;
  c->column = schema->name != NULL ? schema->name : "";
  TN_TRY(copy_name(c, schema->name, name));
  sql->len = 0;
  if (tn_arrow_metadata(schema->metadata, "paimon.type", &text)) {
    const char *copy = tn_arena_strndup(c->arena, (const char *)text.data, text.len);
    tarn_status st =
        copy != NULL ? tn_type_from_sql(c->arena, copy, NULL, &type, c->err) : tn_oom(c->err);
    if (st != TARN_OK) {
      return tn_error_context(c->err, st, "column '%s', metadata paimon.type", c->column);
    }
  } else {
    TN_TRY(convert(c, schema, 1, &type));
  }
  return tn_type_to_sql(&type, sql, c->err);
}

static tarn_status put_column(converter *c, const struct ArrowSchema *schema, tn_buf *sql,
                              tn_buf *out) {
  const char *name;
  TN_TRY(column_sql(c, schema, &name, sql));
  TN_TRY(tn_buf_text(out, "{\"name\":", c->err));
  TN_TRY(tn_json_quote(out, tn_slice_text(name), c->err));
  TN_TRY(tn_buf_text(out, ",\"type\":", c->err));
  TN_TRY(tn_json_quote(out, tn_buf_slice(sql), c->err));
  return tn_buf_text(out, "}", c->err);
}

static tarn_status check_struct(const struct ArrowSchema *schema, tarn_error *err) {
  bool is_sound = schema != NULL && schema->format != NULL && strcmp(schema->format, "+s") == 0 &&
                  schema->n_children >= 0 && schema->n_children <= INT32_MAX / 2 &&
                  (schema->n_children == 0 || schema->children != NULL);
  for (int64_t i = 0; is_sound && i < schema->n_children; i++) {
    is_sound = schema->children[i] != NULL;
  }
  return is_sound
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID, "the Arrow schema of a table is a struct of columns");
}

static tarn_status put_columns(converter *c, const struct ArrowSchema *schema, tn_buf *sql,
                               tn_buf *out) {
  TN_TRY(check_struct(schema, c->err));
  TN_TRY(tn_buf_text(out, "{\"fields\":[", c->err));
  for (int64_t i = 0; i < schema->n_children; i++) {
    TN_TRY(tn_buf_text(out, i > 0 ? "," : "", c->err));
    TN_TRY(put_column(c, schema->children[i], sql, out));
  }
  return tn_buf_text(out, "]", c->err);
}

tarn_status tarn_schema_from_arrow(tarn_env *env, const struct ArrowSchema *schema,
                                   const char *const *primary_keys, size_t n_primary_keys,
                                   const char *const *partition_keys, size_t n_partition_keys,
                                   const tarn_option *options, size_t n_options, tarn_string *out,
                                   tarn_error *err) {
  tn_arena arena;
  tn_buf json, sql;
  tn_option *items;
  converter c = {&arena, "", err};
  tarn_status st;
  tn_error_reset(err);
  memset(out, 0, sizeof(*out));
  TN_TRY(tn_env_check(env, err));
  if (n_primary_keys > INT32_MAX || n_partition_keys > INT32_MAX || n_options > INT32_MAX) {
    return tn_fail(err, TARN_E_LIMIT, "too many keys or options");
  }
  tn_arena_init(&arena, &env->mem, TN_API_TEXT_LIMIT);
  tn_buf_init(&json, &env->mem, TN_API_TEXT_LIMIT);
  tn_buf_init(&sql, &env->mem, TN_API_TEXT_LIMIT);
  items = tn_arena_calloc(&arena, n_options + 1, sizeof(*items));
  if (items == NULL) {
    st = tn_oom(err);
    goto done;
  }
  for (size_t i = 0; i < n_options; i++) {
    items[i] = (tn_option){options[i].key, options[i].value};
  }
  TN_TRY_TO(done, put_columns(&c, schema, &sql, &json));
  TN_TRY_TO(done, tn_buf_text(&json, ",\"primaryKeys\":", err));
  TN_TRY_TO(done, tn_json_quote_list(&json, primary_keys, (int32_t)n_primary_keys, err));
  TN_TRY_TO(done, tn_buf_text(&json, ",\"partitionKeys\":", err));
  TN_TRY_TO(done, tn_json_quote_list(&json, partition_keys, (int32_t)n_partition_keys, err));
  TN_TRY_TO(done, tn_buf_text(&json, ",\"options\":", err));
  TN_TRY_TO(done, tn_options_to_json(items, (int32_t)n_options, &json, err));
  TN_TRY_TO(done, tn_buf_text(&json, "}", err));
done:
  tn_buf_reset(&sql);
  tn_arena_reset(&arena);
  return tn_api_string(st, &json, out, err);
}

/* ------------------------------------------------------------------ fields */

/* The id that the metadata tells; -1: none. */
static int32_t stored_id(const struct ArrowSchema *schema) {
  tn_slice text;
  char digits[12] = "";
  long id;
  char *end;
  if (!tn_arrow_metadata(schema->metadata, "paimon.id", &text) || text.len == 0 ||
      text.len >= sizeof(digits)) {
    return -1;
  }
  memcpy(digits, text.data, text.len);
  id = strtol(digits, &end, 10);
  return *end == '\0' && id >= 0 && id < INT32_MAX ? (int32_t)id : -1;
}

static tarn_status make_fields(converter *c, const struct ArrowSchema *schema, tn_field *fields,
                               tn_buf *sql) {
  int32_t n = (int32_t)schema->n_children, next_id = 0;
  for (int32_t i = 0; i < n; i++) {
    fields[i].id = stored_id(schema->children[i]);
    if (fields[i].id >= next_id && fields[i].id < TN_FIELD_ID_KEY_BASE) {
      next_id = fields[i].id + 1;
    }
  }
  for (int32_t i = 0; i < n; i++) {
    TN_TRY(column_sql(c, schema->children[i], &fields[i].name, sql));
    TN_TRY(tn_buf_append(sql, "", 1, c->err));
    fields[i].id = fields[i].id >= 0 ? fields[i].id : next_id++;
    TN_TRY(tn_type_from_sql(c->arena, (const char *)sql->data, &next_id, &fields[i].type, c->err));
  }
  return TARN_OK;
}

tarn_status tn_api_arrow_fields(tn_arena *arena, const struct ArrowSchema *schema,
                                tn_field **fields, int32_t *n_fields, tarn_error *err) {
  converter c = {arena, "", err};
  tn_buf sql;
  tarn_status st;
  TN_TRY(check_struct(schema, err));
  *n_fields = (int32_t)schema->n_children;
  *fields = tn_arena_calloc(arena, (size_t)*n_fields + 1, sizeof(**fields));
  if (*fields == NULL) {
    return tn_oom(err);
  }
  tn_buf_init(&sql, arena->mem, TN_API_TEXT_LIMIT);
  st = make_fields(&c, schema, *fields, &sql);
  tn_buf_reset(&sql);
  return st;
}
