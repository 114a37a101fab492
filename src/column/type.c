/* type.c - layouts, equality and copies of types; the JSON form of schema files.
 *
 * The SQL form is in type_sql.c. All recursion follows the nesting of a type, which the parsers
 * bound by TN_MAX_TYPE_DEPTH.
 */
#include "column/type.h"

#include "column/type_text.h"

tn_layout tn_type_layout(const tn_type *type) {
  static const tn_layout layouts[TN_N_TYPE_ROOTS] = {
      [TN_BOOLEAN] = TN_LAYOUT_BIT,      [TN_TINYINT] = TN_LAYOUT_I8,
      [TN_SMALLINT] = TN_LAYOUT_I16,     [TN_INT] = TN_LAYOUT_I32,
      [TN_BIGINT] = TN_LAYOUT_I64,       [TN_FLOAT] = TN_LAYOUT_F32,
      [TN_DOUBLE] = TN_LAYOUT_F64,       [TN_DECIMAL] = TN_LAYOUT_I128,
      [TN_CHAR] = TN_LAYOUT_BYTES,       [TN_VARCHAR] = TN_LAYOUT_BYTES,
      [TN_BINARY] = TN_LAYOUT_BYTES,     [TN_VARBINARY] = TN_LAYOUT_BYTES,
      [TN_DATE] = TN_LAYOUT_I32,         [TN_TIME] = TN_LAYOUT_I32,
      [TN_TIMESTAMP] = TN_LAYOUT_I64,    [TN_TIMESTAMP_LTZ] = TN_LAYOUT_I64,
      [TN_ARRAY] = TN_LAYOUT_LIST,       [TN_MAP] = TN_LAYOUT_LIST,
      [TN_MULTISET] = TN_LAYOUT_LIST,    [TN_ROW] = TN_LAYOUT_STRUCT,
      [TN_VARIANT] = TN_LAYOUT_STRUCT,   [TN_BLOB] = TN_LAYOUT_BYTES,
      [TN_VECTOR] = TN_LAYOUT_FIXED_LIST};
  if ((type->root == TN_TIMESTAMP || type->root == TN_TIMESTAMP_LTZ) && type->precision > 6) {
    return TN_LAYOUT_I128;
  }
  return layouts[type->root];
}

size_t tn_layout_width(tn_layout layout) {
  static const uint8_t widths[] = {
      [TN_LAYOUT_I8] = 1,  [TN_LAYOUT_I16] = 2, [TN_LAYOUT_I32] = 4,  [TN_LAYOUT_I64] = 8,
      [TN_LAYOUT_F32] = 4, [TN_LAYOUT_F64] = 8, [TN_LAYOUT_I128] = 16};
  return layout < TN_COUNT(widths) ? widths[layout] : 0;
}

int64_t tn_timestamp_ticks(int32_t precision) {
  return precision <= 3 ? 1000 : precision <= 6 ? 1000000 : 1000000000;
}

bool tn_type_equal(const tn_type *a, const tn_type *b, bool with_nullability) {
  if (a->root != b->root || a->length != b->length || a->precision != b->precision ||
      a->scale != b->scale || a->n_fields != b->n_fields) {
    return false;
  }
  if (with_nullability && a->is_nullable != b->is_nullable) {
    return false;
  }
  for (int32_t i = 0; i < a->n_fields; i++) {
    const tn_field *f = &a->fields[i], *g = &b->fields[i];
    if (f->id != g->id || !tn_type_equal(&f->type, &g->type, with_nullability)) {
      return false;
    }
    if (a->root == TN_ROW && f->id == -1 && strcmp(f->name, g->name) != 0) {
      return false;
    }
  }
  return true;
}

/* NULL stays NULL. */
static bool copy_text(tn_arena *arena, const char *text, const char **out) {
  *out = text != NULL ? tn_arena_strdup(arena, text) : NULL;
  return text == NULL || *out != NULL;
}

static tarn_status copy_field(tn_arena *arena, const tn_field *field, tn_field *out,
                              tarn_error *err) {
  out->id = field->id;
  if (!copy_text(arena, field->name, &out->name) ||
      !copy_text(arena, field->description, &out->description) ||
      !copy_text(arena, field->default_value, &out->default_value)) {
    return tn_oom(err);
  }
  return tn_type_copy(arena, &field->type, &out->type, err);
}

tarn_status tn_type_copy(tn_arena *arena, const tn_type *type, tn_type *out, tarn_error *err) {
  tn_field *fields = NULL;
  if (type->n_fields > 0) {
    fields = tn_arena_calloc(arena, (size_t)type->n_fields, sizeof(*fields));
    if (fields == NULL) {
      return tn_oom(err);
    }
    for (int32_t i = 0; i < type->n_fields; i++) {
      TN_TRY(copy_field(arena, &type->fields[i], &fields[i], err));
    }
  }
  *out = *type;
  out->fields = fields;
  return TARN_OK;
}

int32_t tn_fields_find(const tn_field *fields, int32_t n_fields, tn_slice name) {
  for (int32_t i = 0; i < n_fields; i++) {
    if (tn_slice_is(name, fields[i].name)) {
      return i;
    }
  }
  return -1;
}

int32_t tn_fields_find_id(const tn_field *fields, int32_t n_fields, int32_t id) {
  for (int32_t i = 0; i < n_fields; i++) {
    if (fields[i].id == id) {
      return i;
    }
  }
  return -1;
}

/* ------------------------------------------------------------------ reading JSON */

/* What one call of the parser knows. Ids of ROW fields are all given or, when the file was made by
 * other tools, all missing; then they count from 0 on. */
typedef struct json_parser {
  tn_arena *arena;
  const char *where;
  bool has_ids, lacks_ids;
  int32_t next_id;
} json_parser;

static tarn_status parse_json_type(json_parser *p, const tn_json *json, int32_t depth, tn_type *out,
                                   tarn_error *err);

static tarn_status json_text_member(json_parser *p, const tn_json *object, const char *key,
                                    const char **out, tarn_error *err) {
  tn_slice text;
  const tn_json *value = tn_json_get(object, key);
  *out = NULL;
  if (value == NULL) {
    return TARN_OK;
  }
  if (!tn_json_text(value, &text)) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: \"%s\" of a field is not a text", p->where, key);
  }
  *out = tn_arena_strndup(p->arena, (const char *)text.data, text.len);
  return *out != NULL ? TARN_OK : tn_oom(err);
}

static tarn_status json_field_id(json_parser *p, const tn_json *json, tn_field *out,
                                 tarn_error *err) {
  int64_t id = 0;
  bool is_present;
  TN_TRY(tn_json_get_int(json, "id", p->where, &id, &is_present, err));
  if (is_present && (id < 0 || id > INT32_MAX)) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: field id %lld is out of range", p->where,
                   (long long)id);
  }
  p->has_ids |= is_present;
  p->lacks_ids |= !is_present;
  if (p->has_ids && p->lacks_ids) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: some fields have an id and others have none",
                   p->where);
  }
  out->id = is_present ? (int32_t)id : p->next_id++;
  return TARN_OK;
}

static tarn_status parse_json_field(json_parser *p, const tn_json *json, int32_t depth,
                                    tn_field *out, tarn_error *err) {
  if (tn_json_kind_of(json) != TN_JSON_OBJECT) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: a field is not an object", p->where);
  }
  TN_TRY(json_field_id(p, json, out, err));
  TN_TRY(json_text_member(p, json, "name", &out->name, err));
  if (out->name == NULL) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: a field has no name", p->where);
  }
  TN_TRY(parse_json_type(p, tn_json_get(json, "type"), depth, &out->type, err));
  TN_TRY(json_text_member(p, json, "description", &out->description, err));
  return json_text_member(p, json, "defaultValue", &out->default_value, err);
}

static tarn_status parse_json_row(json_parser *p, const tn_json *json, int32_t depth, tn_type *out,
                                  tarn_error *err) {
  const tn_json *list = tn_json_get(json, "fields");
  size_t n = tn_json_count(list);
  tn_field *fields;
  if (tn_json_kind_of(list) != TN_JSON_ARRAY) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: a ROW type has no list of fields", p->where);
  }
  fields = tn_arena_calloc(p->arena, n, sizeof(*fields));
  if (fields == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < n; i++) {
    TN_TRY(parse_json_field(p, tn_json_at(list, i), depth + 1, &fields[i], err));
  }
  out->fields = fields;
  out->n_fields = (int32_t)n;
  return tn_type_check_names(out, p->arena->mem, p->where, err);
}

static tarn_status parse_json_vector_length(json_parser *p, const tn_json *json, tn_type *out,
                                            tarn_error *err) {
  int64_t length = 0;
  TN_TRY(tn_json_get_int(json, "length", p->where, &length, NULL, err));
  if (length < 1 || length > INT32_MAX || !tn_type_fits_vector(&out->fields[0].type)) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: not a legal VECTOR type of length %lld", p->where,
                   (long long)length);
  }
  out->length = (int32_t)length;
  return TARN_OK;
}

/* {"type":"ARRAY NOT NULL","element":...}: the kind is what the text starts with, in this order. */
static tarn_status parse_json_object(json_parser *p, const tn_json *json, int32_t depth,
                                     tn_type *out, tarn_error *err) {
  static const struct {
    const char *head;
    tn_type_root root;
    const char *keys[2];
  } kinds[] = {{"ARRAY", TN_ARRAY, {"element", NULL}},
               {"VECTOR", TN_VECTOR, {"element", NULL}},
               {"MULTISET", TN_MULTISET, {"element", NULL}},
               {"MAP", TN_MAP, {"key", "value"}},
               {"ROW", TN_ROW, {NULL, NULL}}};
  tn_slice head;
  size_t k = 0;
  const char *text;
  tn_type parts[2];
  TN_TRY(tn_json_get_text(json, "type", p->where, &head, NULL, err));
  while (k < TN_COUNT(kinds) && !tn_slice_starts_with(head, tn_slice_text(kinds[k].head))) {
    k++;
  }
  if (k == TN_COUNT(kinds)) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: unknown type \"%.*s\"", p->where, TN_SLICE_ARG(head));
  }
  text = tn_arena_strndup(p->arena, (const char *)head.data, head.len);
  if (text == NULL) {
    return tn_oom(err);
  }
  memset(out, 0, sizeof(*out));
  out->root = kinds[k].root;
  out->is_nullable = strstr(text, "NOT NULL") == NULL;
  if (out->root == TN_ROW) {
    return parse_json_row(p, json, depth, out, err);
  }
  memset(parts, 0, sizeof(parts));
  for (int i = 0; i < 2 && kinds[k].keys[i] != NULL; i++) {
    TN_TRY(parse_json_type(p, tn_json_get(json, kinds[k].keys[i]), depth + 1, &parts[i], err));
  }
  TN_TRY(tn_type_set_parts(p->arena, out, &parts[0], &parts[1], err));
  return out->root == TN_VECTOR ? parse_json_vector_length(p, json, out, err) : TARN_OK;
}

static tarn_status parse_json_type(json_parser *p, const tn_json *json, int32_t depth, tn_type *out,
                                   tarn_error *err) {
  tn_slice text;
  if (depth > TN_MAX_TYPE_DEPTH) {
    return tn_fail(err, TARN_E_LIMIT, "%s: a type is nested deeper than %d", p->where,
                   TN_MAX_TYPE_DEPTH);
  }
  switch (tn_json_kind_of(json)) {
    case TN_JSON_OBJECT:
      return parse_json_object(p, json, depth, out, err);
    case TN_JSON_STRING:
      if (tn_json_text(json, &text)) {
        return tn_type_from_atomic_text(p->arena, text, p->where, depth, out, err);
      }
      break;
    default:
      break;
  }
  return tn_fail(err, TARN_E_CORRUPT, "%s: a type is missing or neither a text nor an object",
                 p->where);
}

tarn_status tn_type_from_json(tn_arena *arena, const tn_json *json, const char *where, tn_type *out,
                              tarn_error *err) {
  json_parser p = {arena, where, false, false, 0};
  return parse_json_type(&p, json, 1, out, err);
}

/* ------------------------------------------------------------------ messages */

tn_type_text tn_type_text_of(const tn_type *type) {
  static const char dots[] = "...";
  tn_type_text out;
  tn_type shown = *type;
  tn_buf buf;
  bool is_whole;
  shown.is_nullable = true;
  tn_buf_over(&buf, out.text, sizeof(out.text) - sizeof(dots));
  is_whole = tn_type_to_sql(&shown, &buf, NULL) == TARN_OK;
  memcpy(out.text + buf.len, is_whole ? "" : dots, is_whole ? 1 : sizeof(dots));
  return out;
}

/* ------------------------------------------------------------------ writing JSON */

static tarn_status quote_member(tn_buf *out, const char *before, const char *text,
                                tarn_error *err) {
  if (text == NULL) {
    return TARN_OK;
  }
  TN_TRY(tn_buf_text(out, before, err));
  return tn_json_quote(out, tn_slice_text(text), err);
}

static tarn_status fields_to_json(const tn_type *type, tn_buf *out, tarn_error *err) {
  TN_TRY(tn_buf_text(out, ",\"fields\":[", err));
  for (int32_t i = 0; i < type->n_fields; i++) {
    if (i > 0) {
      TN_TRY(tn_buf_text(out, ",", err));
    }
    TN_TRY(tn_field_to_json(&type->fields[i], out, err));
  }
  return tn_buf_text(out, "]}", err);
}

tarn_status tn_field_to_json(const tn_field *field, tn_buf *out, tarn_error *err) {
  TN_TRY(tn_buf_printf(out, err, "{\"id\":%d", field->id));
  TN_TRY(quote_member(out, ",\"name\":", field->name, err));
  TN_TRY(tn_buf_text(out, ",\"type\":", err));
  TN_TRY(tn_type_to_json(&field->type, out, err));
  TN_TRY(quote_member(out, ",\"description\":", field->description, err));
  TN_TRY(quote_member(out, ",\"defaultValue\":", field->default_value, err));
  return tn_buf_text(out, "}", err);
}

tarn_status tn_type_to_json(const tn_type *type, tn_buf *out, tarn_error *err) {
  const char *name = tn_type_root_name(type->root);
  const char *suffix = type->is_nullable ? "" : " NOT NULL";
  switch (type->root) {
    case TN_ARRAY:
    case TN_MULTISET:
    case TN_VECTOR:
    case TN_MAP:
      TN_TRY(tn_buf_printf(out, err, "{\"type\":\"%s%s\",\"%s\":", name, suffix,
                           type->root == TN_MAP ? "key" : "element"));
      TN_TRY(tn_type_to_json(&type->fields[0].type, out, err));
      if (type->root == TN_MAP) {
        TN_TRY(tn_buf_text(out, ",\"value\":", err));
        TN_TRY(tn_type_to_json(&type->fields[1].type, out, err));
      } else if (type->root == TN_VECTOR) {
        TN_TRY(tn_buf_printf(out, err, ",\"length\":%d", type->length));
      }
      return tn_buf_text(out, "}", err);
    case TN_ROW:
      TN_TRY(tn_buf_printf(out, err, "{\"type\":\"ROW%s\"", suffix));
      return fields_to_json(type, out, err);
    default:
      TN_TRY(tn_buf_text(out, "\"", err));
      TN_TRY(tn_type_to_sql(type, out, err));
      return tn_buf_text(out, "\"", err);
  }
}
