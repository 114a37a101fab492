/* avro_schema.c - from the JSON of a writer schema to nodes. */
#include "format/avro/avro_schema.h"

#include "base/map.h"
#include "column/type.h"

typedef struct parser {
  tn_arena *arena;
  const char *path;
  tn_map names; /* full name -> node */
  tarn_error *err;
} parser;

typedef struct named_kind {
  const char *name;
  tn_avro_kind kind;
  int64_t min_bytes;
} named_kind;

/* In the order of tn_avro_kind. */
static const named_kind kinds[] = {
    {"null", TN_AVRO_NULL, 0},   {"boolean", TN_AVRO_BOOLEAN, 1}, {"int", TN_AVRO_INT, 1},
    {"long", TN_AVRO_LONG, 1},   {"float", TN_AVRO_FLOAT, 4},     {"double", TN_AVRO_DOUBLE, 8},
    {"bytes", TN_AVRO_BYTES, 1}, {"string", TN_AVRO_STRING, 1},   {"fixed", TN_AVRO_FIXED, 0},
    {"enum", TN_AVRO_ENUM, 1},   {"record", TN_AVRO_RECORD, 0},   {"array", TN_AVRO_ARRAY, 1},
    {"map", TN_AVRO_MAP, 1},     {"union", TN_AVRO_UNION, 1},
};

#define N_PRIMITIVES 8

typedef struct named_logical {
  const char *name;
  tn_avro_logical logical;
  tn_avro_kind kind;  /* the type it must stand on, else it means nothing (Avro's rule) */
  tn_avro_kind other; /* or this one */
} named_logical;

static const named_logical logicals[] = {
    {"decimal", TN_AVRO_DECIMAL, TN_AVRO_BYTES, TN_AVRO_FIXED},
    {"date", TN_AVRO_DATE, TN_AVRO_INT, TN_AVRO_INT},
    {"time-millis", TN_AVRO_TIME_MILLIS, TN_AVRO_INT, TN_AVRO_INT},
    {"time-micros", TN_AVRO_TIME_MICROS, TN_AVRO_LONG, TN_AVRO_LONG},
    {"timestamp-millis", TN_AVRO_TIMESTAMP_MILLIS, TN_AVRO_LONG, TN_AVRO_LONG},
    {"timestamp-micros", TN_AVRO_TIMESTAMP_MICROS, TN_AVRO_LONG, TN_AVRO_LONG},
    {"timestamp-nanos", TN_AVRO_TIMESTAMP_NANOS, TN_AVRO_LONG, TN_AVRO_LONG},
    {"local-timestamp-millis", TN_AVRO_LOCAL_MILLIS, TN_AVRO_LONG, TN_AVRO_LONG},
    {"local-timestamp-micros", TN_AVRO_LOCAL_MICROS, TN_AVRO_LONG, TN_AVRO_LONG},
    {"local-timestamp-nanos", TN_AVRO_LOCAL_NANOS, TN_AVRO_LONG, TN_AVRO_LONG},
    {"map", TN_AVRO_MAP_ENTRIES, TN_AVRO_ARRAY, TN_AVRO_ARRAY},
};

const char *tn_avro_kind_name(tn_avro_kind kind) {
  return kinds[kind].name;
}

int tn_avro_nullable(const tn_avro_node *node, const tn_avro_node **value) {
  *value = node;
  if (node->kind != TN_AVRO_UNION) {
    return -1;
  }
  if (node->n_children != 2) {
    return -2;
  }
  for (int null = 0; null < 2; null++) {
    if (node->children[null]->kind == TN_AVRO_NULL &&
        node->children[1 - null]->kind != TN_AVRO_NULL) {
      *value = node->children[1 - null];
      return null;
    }
  }
  return -2;
}

static tarn_status corrupt(parser *p, const char *what, const char *name) {
  return tn_fail(p->err, TARN_E_CORRUPT, "%s: Avro schema: %s%s%s", p->path, what,
                 name != NULL ? " " : "", name != NULL ? name : "");
}

static tarn_status parse_type(parser *p, const tn_json *json, const char *space, int depth,
                              const tn_avro_node **out);

static tn_avro_node *new_node(parser *p, tn_avro_kind kind) {
  tn_avro_node *node = tn_arena_calloc(p->arena, 1, sizeof(*node));
  if (node != NULL) {
    node->kind = kind;
    node->min_bytes = kinds[kind].min_bytes;
    node->weight = 1;
  }
  return node;
}

/* The text of a string value with a NUL behind it, in the arena. */
static tarn_status copy_text(parser *p, const tn_json *json, const char *what, const char **out) {
  tn_slice text;
  if (tn_json_kind_of(json) != TN_JSON_STRING || !tn_json_text(json, &text)) {
    return corrupt(p, what, NULL);
  }
  *out = tn_arena_strndup(p->arena, (const char *)text.data, text.len);
  return *out != NULL ? TARN_OK : tn_oom(p->err);
}

/* A reference to a primitive or to a named type defined before. */
static tarn_status parse_reference(parser *p, tn_slice name, const char *space,
                                   const tn_avro_node **out) {
  char full[512];
  tn_map_entry *entry = NULL;
  for (size_t i = 0; i < N_PRIMITIVES; i++) {
    if (tn_slice_is(name, kinds[i].name)) {
      *out = new_node(p, kinds[i].kind);
      return *out != NULL ? TARN_OK : tn_oom(p->err);
    }
  }
  if (space[0] != '\0' && memchr(name.data, '.', name.len) == NULL &&
      strlen(space) + 1 + name.len < sizeof(full)) {
    size_t n = strlen(space);
    memcpy(full, space, n);
    full[n] = '.';
    memcpy(full + n + 1, name.data, name.len);
    entry = tn_map_find(&p->names, tn_slice_of(full, n + 1 + name.len));
  }
  if (entry == NULL) {
    entry = tn_map_find(&p->names, name);
  }
  if (entry == NULL) {
    return tn_fail(p->err, TARN_E_CORRUPT, "%s: Avro schema: unknown type '%.*s'", p->path,
                   TN_SLICE_ARG(name));
  }
  *out = entry->value.ptr;
  if ((*out)->is_open) {
    return tn_fail(p->err, TARN_E_UNSUPPORTED, "%s: Avro schema: type '%s' contains itself",
                   p->path, (*out)->name);
  }
  return TARN_OK;
}

/* Give a record, enum or fixed its full name; *space becomes the namespace inside of it. */
static tarn_status define_name(parser *p, const tn_json *json, tn_avro_node *node,
                               const char **space) {
  const char *name = NULL, *own = NULL, *dot;
  tn_map_entry *entry;
  bool is_new;
  TN_TRY(copy_text(p, tn_json_get(json, "name"), "a named type without a name", &name));
  if (tn_json_get(json, "namespace") != NULL) {
    TN_TRY(copy_text(p, tn_json_get(json, "namespace"), "a namespace that is no text", &own));
    *space = own;
  }
  dot = strrchr(name, '.');
  if (dot != NULL) {
    *space = tn_arena_strndup(p->arena, name, (size_t)(dot - name));
    node->name = name;
  } else if ((*space)[0] != '\0') {
    node->name = tn_arena_printf(p->arena, "%s.%s", *space, name);
  } else {
    node->name = name;
  }
  if (*space == NULL || node->name == NULL) {
    return tn_oom(p->err);
  }
  TN_TRY(tn_map_put(&p->names, tn_slice_text(node->name), &entry, &is_new, p->err));
  if (!is_new) {
    return corrupt(p, "a second definition of", node->name);
  }
  entry->value.ptr = node;
  return TARN_OK;
}

static tarn_status too_deep(parser *p) {
  return tn_fail(p->err, TARN_E_LIMIT, "%s: Avro schema: types nested deeper than %d", p->path,
                 TN_MAX_TYPE_DEPTH);
}

/* Account for one more child, which is `more` levels below its parent. */
static tarn_status take_child(parser *p, tn_avro_node *node, const tn_avro_node *child,
                              int32_t more) {
  if (child->height + more > node->height) {
    node->height = child->height + more;
  }
  if (node->height > TN_MAX_TYPE_DEPTH) {
    return too_deep(p);
  }
  if (child->weight > TN_AVRO_MAX_WEIGHT - node->weight) {
    return tn_fail(p->err, TARN_E_LIMIT, "%s: Avro schema: more than %d types", p->path,
                   TN_AVRO_MAX_WEIGHT);
  }
  node->weight += child->weight;
  return TARN_OK;
}

static tarn_status new_children(parser *p, tn_avro_node *node, size_t n, bool with_names) {
  if (n > INT32_MAX / 16) {
    return corrupt(p, "too many fields", node->name);
  }
  node->children = tn_arena_calloc(p->arena, n + 1, sizeof(*node->children));
  if (with_names) {
    node->names = tn_arena_calloc(p->arena, n + 1, sizeof(*node->names));
  }
  return node->children != NULL && (node->names != NULL || !with_names) ? TARN_OK : tn_oom(p->err);
}

static tarn_status parse_record(parser *p, const tn_json *json, const char *space, int depth,
                                tn_avro_node *node) {
  const tn_json *fields = tn_json_get(json, "fields");
  size_t n = tn_json_count(fields);
  TN_TRY(define_name(p, json, node, &space));
  if (tn_json_kind_of(fields) != TN_JSON_ARRAY) {
    return corrupt(p, "no fields in record", node->name);
  }
  TN_TRY(new_children(p, node, n, true));
  node->is_open = true;
  for (size_t i = 0; i < n; i++) {
    const tn_json *field = tn_json_at(fields, i);
    TN_TRY(copy_text(p, tn_json_get(field, "name"), "a field without a name", &node->names[i]));
    TN_TRY(parse_type(p, tn_json_get(field, "type"), space, depth, &node->children[i]));
    TN_TRY(take_child(p, node, node->children[i], 1));
    node->min_bytes += node->children[i]->min_bytes; /* fits: 2^20 types of 2^31 bytes */
    node->n_children = node->n_names = (int32_t)i + 1;
  }
  node->is_open = false;
  return TARN_OK;
}

static tarn_status parse_enum(parser *p, const tn_json *json, const char *space,
                              tn_avro_node *node) {
  const tn_json *symbols = tn_json_get(json, "symbols");
  size_t n = tn_json_count(symbols);
  TN_TRY(define_name(p, json, node, &space));
  if (tn_json_kind_of(symbols) != TN_JSON_ARRAY) {
    return corrupt(p, "no symbols in enum", node->name);
  }
  TN_TRY(new_children(p, node, n, true));
  for (size_t i = 0; i < n; i++) {
    TN_TRY(copy_text(p, tn_json_at(symbols, i), "a symbol that is no text", &node->names[i]));
  }
  node->n_names = (int32_t)n;
  return TARN_OK;
}

static tarn_status parse_fixed(parser *p, const tn_json *json, const char *space,
                               tn_avro_node *node) {
  int64_t size;
  TN_TRY(define_name(p, json, node, &space));
  if (!tn_json_int(tn_json_get(json, "size"), &size) || size < 0 || size > INT32_MAX) {
    return corrupt(p, "no legal size in fixed", node->name);
  }
  node->size = (int32_t)size;
  node->min_bytes = size;
  return TARN_OK;
}

static tarn_status parse_union(parser *p, const tn_json *json, const char *space, int depth,
                               tn_avro_node *node) {
  size_t n = tn_json_count(json);
  int64_t least = INT64_MAX;
  if (n == 0) {
    return corrupt(p, "a union without branches", NULL);
  }
  TN_TRY(new_children(p, node, n, false));
  for (size_t i = 0; i < n; i++) {
    TN_TRY(parse_type(p, tn_json_at(json, i), space, depth, &node->children[i]));
    if (node->children[i]->kind == TN_AVRO_UNION) {
      return corrupt(p, "a union in a union", NULL);
    }
    TN_TRY(take_child(p, node, node->children[i], 0));
    least = node->children[i]->min_bytes < least ? node->children[i]->min_bytes : least;
    node->n_children = (int32_t)i + 1;
  }
  node->min_bytes = 1 + least;
  return TARN_OK;
}

static void read_logical(const tn_json *json, tn_avro_node *node) {
  tn_slice name;
  int64_t n;
  if (!tn_json_text(tn_json_get(json, "logicalType"), &name)) {
    return;
  }
  for (size_t i = 0; i < TN_COUNT(logicals); i++) {
    if (tn_slice_is(name, logicals[i].name) &&
        (node->kind == logicals[i].kind || node->kind == logicals[i].other)) {
      node->logical = logicals[i].logical;
    }
  }
  if (node->logical == TN_AVRO_DECIMAL) {
    node->precision = tn_json_int(tn_json_get(json, "precision"), &n) && n >= 0 && n <= INT32_MAX
                          ? (int32_t)n
                          : 0;
    node->scale =
        tn_json_int(tn_json_get(json, "scale"), &n) && n >= 0 && n <= INT32_MAX ? (int32_t)n : 0;
  }
}

static tarn_status parse_object(parser *p, const tn_json *json, const char *space, int depth,
                                const tn_avro_node **out) {
  const tn_json *type = tn_json_get(json, "type");
  tn_slice name;
  tn_avro_node *node;
  size_t kind = 0;
  if (tn_json_kind_of(type) != TN_JSON_STRING || !tn_json_text(type, &name)) {
    return parse_type(p, type, space, depth, out); /* {"type": {"type": ...}} */
  }
  while (kind < TN_COUNT(kinds) - 1 && !tn_slice_is(name, kinds[kind].name)) {
    kind++;
  }
  if (kind == TN_AVRO_UNION) {
    return parse_reference(p, name, space, out);
  }
  node = new_node(p, (tn_avro_kind)kind);
  if (node == NULL) {
    return tn_oom(p->err);
  }
  *out = node;
  switch (node->kind) {
    case TN_AVRO_RECORD:
      TN_TRY(parse_record(p, json, space, depth, node));
      break;
    case TN_AVRO_ENUM:
      TN_TRY(parse_enum(p, json, space, node));
      break;
    case TN_AVRO_FIXED:
      TN_TRY(parse_fixed(p, json, space, node));
      break;
    case TN_AVRO_ARRAY:
    case TN_AVRO_MAP:
      TN_TRY(new_children(p, node, 1, false));
      TN_TRY(parse_type(p, tn_json_get(json, node->kind == TN_AVRO_ARRAY ? "items" : "values"),
                        space, depth, &node->children[0]));
      TN_TRY(take_child(p, node, node->children[0], 1));
      node->n_children = 1;
      break;
    default:
      break;
  }
  read_logical(json, node);
  return TARN_OK;
}

static tarn_status parse_type(parser *p, const tn_json *json, const char *space, int depth,
                              const tn_avro_node **out) {
  tn_slice name;
  tn_avro_node *node;
  if (depth >= TN_MAX_TYPE_DEPTH) {
    return too_deep(p);
  }
  switch (tn_json_kind_of(json)) {
    case TN_JSON_STRING:
      if (!tn_json_text(json, &name)) {
        return corrupt(p, "a type that is no text", NULL);
      }
      return parse_reference(p, name, space, out);
    case TN_JSON_ARRAY:
      node = new_node(p, TN_AVRO_UNION);
      if (node == NULL) {
        return tn_oom(p->err);
      }
      *out = node;
      return parse_union(p, json, space, depth, node);
    case TN_JSON_OBJECT:
      return parse_object(p, json, space, depth + 1, out);
    default:
      return corrupt(p, "a type that is neither text, list nor object", NULL);
  }
}

tarn_status tn_avro_schema_parse(tn_arena *arena, const tn_json *json, const char *path,
                                 const tn_avro_node **out, tarn_error *err) {
  parser p = {.arena = arena, .path = path, .err = err};
  tarn_status st;
  *out = NULL;
  tn_map_init(&p.names, arena->mem);
  st = parse_type(&p, json, "", 0, out);
  tn_map_reset(&p.names);
  return st;
}
