/* arrow_import_schema.c - matching Arrow schemas with the columns that are wanted.
 *
 * Preparing makes a tree of nodes, one for each vector: what its array must look like and how it is
 * converted. The depth of the tree is that of the wanted types, which is bounded.
 */
#include <stdio.h>

#include "base/nearest.h"
#include "column/arrow.h"
#include "column/arrow_import_parts.h"
#include "column/number_text.h"
#include "column/type_text.h"

/* ------------------------------------------------------------------ messages */

/* What a format string is called. */
static const char *format_name(const struct ArrowSchema *schema) {
  static const struct {
    const char *format, *name;
  } names[] = {{"n", "null"},         {"b", "bool"},
               {"c", "int8"},         {"C", "uint8"},
               {"s", "int16"},        {"S", "uint16"},
               {"i", "int32"},        {"I", "uint32"},
               {"l", "int64"},        {"L", "uint64"},
               {"e", "float16"},      {"f", "float32"},
               {"g", "float64"},      {"z", "binary"},
               {"Z", "large_binary"}, {"vz", "binary_view"},
               {"u", "utf8"},         {"U", "large_utf8"},
               {"vu", "utf8_view"},   {"tdD", "date32"},
               {"tdm", "date64"},     {"tts", "time32[s]"},
               {"ttm", "time32[ms]"}, {"ttu", "time64[us]"},
               {"ttn", "time64[ns]"}, {"+l", "list"},
               {"+L", "large_list"},  {"+vl", "list_view"},
               {"+s", "struct"},      {"+vL", "large_list_view"},
               {"+m", "map"},         {"+r", "run_end_encoded"}};
  for (size_t i = 0; i < TN_COUNT(names); i++) {
    if (strcmp(schema->format, names[i].format) == 0) {
      return names[i].name;
    }
  }
  return schema->format;
}

static tarn_status no_conversion(const tn_import_node *node, const struct ArrowSchema *schema,
                                 tarn_error *err) {
  return tn_fail(err, TARN_E_INVALID, "column '%s': Arrow's %s cannot become %s without loss",
                 node->path, format_name(schema), tn_type_text_of(node->type).text);
}

/* ------------------------------------------------------------------ values */

typedef struct preparer {
  tn_arena *arena;
  const int64_t *base;
} preparer;

static bool is_format(const struct ArrowSchema *schema, const char *format) {
  return strcmp(schema->format, format) == 0;
}

/* The width and sign of an integer format; 0: it is none. */
static int32_t int_width(const char *format, bool *is_unsigned) {
  static const char letters[] = "cCsSiIlL";
  const char *at = format[0] != 0 && format[1] == 0 ? strchr(letters, format[0]) : NULL;
  if (at == NULL) {
    return 0;
  }
  *is_unsigned = ((at - letters) & 1) != 0;
  return 1 << ((at - letters) / 2);
}

static bool prepare_int(tn_import_node *node, const struct ArrowSchema *schema) {
  int32_t wanted = (int32_t)tn_layout_width(node->layout);
  node->width = int_width(schema->format, &node->is_unsigned);
  node->kind = node->width == wanted ? TN_IMPORT_SAME : TN_IMPORT_INT;
  return node->width > 0 && (node->width < wanted || (node->width == wanted && !node->is_unsigned));
}

static bool prepare_float(tn_import_node *node, const struct ArrowSchema *schema) {
  int32_t wanted = (int32_t)tn_layout_width(node->layout);
  node->width = is_format(schema, "e")   ? 2
                : is_format(schema, "f") ? 4
                : is_format(schema, "g") ? 8
                                         : 0;
  node->kind = node->width == wanted ? TN_IMPORT_SAME : TN_IMPORT_FLOAT;
  return node->width > 0 && node->width <= wanted;
}

/* "d:precision,scale" or "d:precision,scale,bits". */
static bool prepare_digits(tn_import_node *node, const struct ArrowSchema *schema, int32_t wanted) {
  int precision, scale, bits = 128;
  int n = sscanf(schema->format, "d:%d,%d,%d", &precision, &scale, &bits);
  node->kind = TN_IMPORT_DECIMAL;
  if (n < 2 || (bits != 32 && bits != 64 && bits != 128 && bits != 256) || scale < -38 ||
      scale > wanted) {
    return false;
  }
  node->width = bits / 8;
  node->scale_by = wanted - scale;
  return node->scale_by <= 38;
}

/* What the metadata of a decimal say that it is: the type's root for a time, TN_DECIMAL for
 * anything else. false: they say nothing. */
static bool told_root(const struct ArrowSchema *schema, tn_type_root *out) {
  static const char zone[] = " WITH LOCAL TIME ZONE";
  tn_slice sql;
  if (!tn_arrow_metadata(schema->metadata, "paimon.type", &sql)) {
    return false;
  }
  *out = TN_DECIMAL;
  if (tn_slice_starts_with(sql, tn_slice_text("TIMESTAMP_LTZ"))) {
    *out = TN_TIMESTAMP_LTZ;
  } else if (tn_slice_starts_with(sql, tn_slice_text("TIMESTAMP"))) {
    *out = TN_TIMESTAMP;
    for (size_t at = 9; at + sizeof(zone) - 1 <= sql.len; at++) { /* behind the precision */
      if (memcmp(sql.data + at, zone, sizeof(zone) - 1) == 0) {
        *out = TN_TIMESTAMP_LTZ;
      }
    }
  }
  return true;
}

static bool prepare_decimal(tn_import_node *node, const struct ArrowSchema *schema) {
  tn_type_root told;
  if (told_root(schema, &told) && told != TN_DECIMAL) {
    return false;
  }
  node->max = tn_power_of_ten(node->type->precision) - 1;
  node->min = -node->max;
  return prepare_digits(node, schema, node->type->scale);
}

/* Seconds since 1970 that are decimals of nine digits behind the point, as scans give them. What is
 * something else by its metadata is none. The bounds are those of Java's
 * Timestamp: 64 bits of milliseconds, and the nanoseconds of one. */
static bool prepare_seconds(tn_import_node *node, const struct ArrowSchema *schema) {
  tn_type_root told;
  int precision, scale;
  if (sscanf(schema->format, "d:%d,%d", &precision, &scale) != 2 || scale != 9 ||
      node->type->precision <= 6 || (told_root(schema, &told) && told != node->type->root)) {
    return false;
  }
  node->min = (tn_i128)INT64_MIN * 1000000;
  node->max = (tn_i128)INT64_MAX * 1000000 + 999999;
  return prepare_digits(node, schema, 9);
}

/* Ticks a second of a unit letter; 0: it is none. */
static int64_t unit_ticks(char unit) {
  return unit == 's'   ? 1
         : unit == 'm' ? 1000
         : unit == 'u' ? 1000000
         : unit == 'n' ? 1000000000
                       : 0;
}

static bool prepare_ticks(tn_import_node *node, int64_t from, int64_t to) {
  node->kind = TN_IMPORT_TICKS;
  node->multiply = to > from ? to / from : 1;
  node->divide = from > to ? from / to : 1;
  return true;
}

static bool prepare_date(tn_import_node *node, const struct ArrowSchema *schema) {
  node->kind = TN_IMPORT_SAME;
  node->width = 4;
  if (is_format(schema, "tdm")) {
    node->width = 8;
    return prepare_ticks(node, 86400000, 1);
  }
  return is_format(schema, "tdD");
}

static bool prepare_time(tn_import_node *node, const struct ArrowSchema *schema) {
  int64_t ticks = strncmp(schema->format, "tt", 2) == 0 ? unit_ticks(schema->format[2]) : 0;
  node->kind = TN_IMPORT_SAME;
  node->width = ticks > 1000 ? 8 : 4;
  return ticks != 0 && (ticks == 1000 || prepare_ticks(node, ticks, 1000));
}

/* "tsu:zone" */
static bool prepare_timestamp(tn_import_node *node, const struct ArrowSchema *schema) {
  const char *f = schema->format;
  int64_t from = f[0] == 't' && f[1] == 's' ? unit_ticks(f[2]) : 0;
  int64_t to = tn_timestamp_ticks(node->type->precision);
  bool has_zone = from != 0 && f[3] == ':' && f[4] != 0;
  if (f[0] == 'd') {
    return prepare_seconds(node, schema);
  }
  if (from == 0 || has_zone != (node->type->root == TN_TIMESTAMP_LTZ)) {
    return false;
  }
  node->width = 8;
  node->kind = TN_IMPORT_SAME;
  if (node->type->precision == 0 && from > 1) { /* whole seconds only: in two steps, one division */
    prepare_ticks(node, from, 1);
    node->multiply = 1000;
    return true;
  }
  return (from == to && node->layout == TN_LAYOUT_I64) || prepare_ticks(node, from, to);
}

static bool prepare_bytes(tn_import_node *node, const struct ArrowSchema *schema) {
  bool is_text = tn_type_is_string(node->type);
  int width;
  node->n_buffers = 3;
  node->kind = TN_IMPORT_BYTES;
  node->width = is_format(schema, is_text ? "U" : "Z") ? 8 : 4;
  if (node->width == 8 || is_format(schema, is_text ? "u" : "z")) {
    return true;
  }
  if (is_format(schema, is_text ? "vu" : "vz")) {
    node->kind = TN_IMPORT_BYTE_VIEWS;
    node->width = 16;
    node->n_buffers = -1;
    return true;
  }
  if (!is_text && sscanf(schema->format, "w:%d", &width) == 1 && width >= 0) {
    node->kind = TN_IMPORT_FIXED_BYTES;
    node->width = width;
    node->n_buffers = 2;
    return true;
  }
  return false;
}

static bool prepare_value(tn_import_node *node, const struct ArrowSchema *schema) {
  node->n_buffers = 2;
  switch (node->type->root) {
    case TN_BOOLEAN:
      node->kind = TN_IMPORT_BITS;
      return is_format(schema, "b");
    case TN_TINYINT:
    case TN_SMALLINT:
    case TN_INT:
    case TN_BIGINT:
      return prepare_int(node, schema);
    case TN_FLOAT:
    case TN_DOUBLE:
      return prepare_float(node, schema);
    case TN_DECIMAL:
      return prepare_decimal(node, schema);
    case TN_DATE:
      return prepare_date(node, schema);
    case TN_TIME:
      return prepare_time(node, schema);
    case TN_TIMESTAMP:
    case TN_TIMESTAMP_LTZ:
      return prepare_timestamp(node, schema);
    default:
      return prepare_bytes(node, schema);
  }
}

/* ------------------------------------------------------------------ children */

static tarn_status prepare(const preparer *p, const struct ArrowSchema *schema,
                           tn_import_node *node, tarn_error *err);

static tarn_status begin_child(const preparer *p, const tn_import_node *parent, const tn_type *type,
                               tn_layout layout, const char *name, tn_import_node *node,
                               tarn_error *err) {
  *node = (tn_import_node){.type = type,
                           .layout = layout,
                           .depth = parent->depth + 1,
                           .is_row = parent->is_row && parent->layout == TN_LAYOUT_STRUCT,
                           .base = parent->base};
  node->path = tn_arena_printf(p->arena, "%s.%s", parent->path, name);
  return node->path != NULL ? TARN_OK : tn_oom(err);
}

static bool is_sound(const struct ArrowSchema *schema) {
  if (schema == NULL || schema->release == NULL || schema->format == NULL ||
      schema->n_children < 0 || (schema->n_children > 0 && schema->children == NULL)) {
    return false;
  }
  for (int64_t i = 0; i < schema->n_children; i++) {
    if (schema->children[i] == NULL || schema->children[i]->format == NULL) {
      return false;
    }
  }
  return true;
}

/* The place of each field among the children of a struct; all of these are fields, but one of the
 * name `other` (may be NULL), whose place is returned by *other_place. */
static tarn_status match_fields(const char *path, const struct ArrowSchema *schema,
                                const tn_field *fields, int32_t n_fields, const char *other,
                                int32_t *places, int32_t *other_place, tarn_error *err) {
  for (int32_t i = 0; i < n_fields; i++) {
    places[i] = -1;
  }
  for (int64_t k = 0; k < schema->n_children; k++) {
    const char *name = schema->children[k]->name != NULL ? schema->children[k]->name : "";
    int32_t at = tn_fields_find(fields, n_fields, tn_slice_text(name));
    int32_t *place = at >= 0 ? &places[at] : NULL;
    if (place == NULL && other != NULL && strcmp(name, other) == 0) {
      place = other_place;
    }
    if (place == NULL) {
      tn_nearest nearest;
      tn_nearest_init(&nearest, tn_slice_text(name));
      for (int32_t i = 0; i < n_fields; i++) {
        tn_nearest_offer(&nearest, fields[i].name);
      }
      return tn_fail(err, TARN_E_NOT_FOUND, "%s%s%sthere is no column '%s'%s",
                     path != NULL ? "column '" : "", path != NULL ? path : "",
                     path != NULL ? "': " : "", name, tn_nearest_hint(&nearest).text);
    }
    if (*place >= 0) {
      return tn_fail(err, TARN_E_INVALID, "column '%s' comes twice", name);
    }
    *place = (int32_t)k;
  }
  return TARN_OK;
}

static tarn_status make_children(const preparer *p, tn_import_node *node, int32_t n,
                                 tarn_error *err) {
  node->n_children = n;
  node->children = tn_arena_calloc(p->arena, (size_t)n, sizeof(*node->children));
  node->places = tn_arena_calloc(p->arena, (size_t)n, sizeof(*node->places));
  return node->children != NULL && node->places != NULL ? TARN_OK : tn_oom(err);
}

static tarn_status prepare_fields(const preparer *p, const struct ArrowSchema *schema,
                                  const tn_field *fields, int32_t n_fields, tn_import_node *node,
                                  tarn_error *err) {
  TN_TRY(make_children(p, node, n_fields, err));
  TN_TRY(match_fields(node->path, schema, fields, n_fields, NULL, node->places, NULL, err));
  for (int32_t i = 0; i < n_fields; i++) {
    tn_import_node *child = &node->children[i];
    TN_TRY(begin_child(p, node, &fields[i].type, tn_type_layout(&fields[i].type), fields[i].name,
                       child, err));
    if (node->places[i] >= 0) {
      TN_TRY(prepare(p, schema->children[node->places[i]], child, err));
    }
  }
  return TARN_OK;
}

static tarn_status prepare_struct(const preparer *p, const struct ArrowSchema *schema,
                                  tn_import_node *node, tarn_error *err) {
  static const tn_field variant_parts[] = {
      {.id = -1, .name = "metadata", .type = {.root = TN_VARBINARY, .length = INT32_MAX}},
      {.id = -1, .name = "value", .type = {.root = TN_VARBINARY, .length = INT32_MAX}}};
  bool is_variant = node->type->root == TN_VARIANT;
  if (!is_format(schema, "+s")) {
    return no_conversion(node, schema, err);
  }
  node->kind = TN_IMPORT_STRUCT;
  node->n_buffers = 1;
  node->n_array_children = schema->n_children;
  TN_TRY(prepare_fields(p, schema, is_variant ? variant_parts : node->type->fields,
                        is_variant ? 2 : node->type->n_fields, node, err));
  if (is_variant && (node->places[0] < 0 || node->places[1] < 0)) {
    return tn_fail(err, TARN_E_INVALID, "column '%s': a variant needs metadata and value",
                   node->path);
  }
  return TARN_OK;
}

static tarn_status prepare_list(const preparer *p, const struct ArrowSchema *schema,
                                tn_import_node *node, tarn_error *err) {
  int width = 0;
  bool is_large = is_format(schema, "+L") || is_format(schema, "+vL");
  bool is_view = is_format(schema, "+vl") || is_format(schema, "+vL");
  bool is_fixed = sscanf(schema->format, "+w:%d", &width) == 1 && width >= 0;
  bool is_vector = node->type->root == TN_VECTOR;
  if ((!is_large && !is_view && !is_fixed && !is_format(schema, "+l")) || schema->n_children != 1 ||
      (is_vector && is_fixed && width != node->type->length)) {
    return no_conversion(node, schema, err);
  }
  node->kind = is_fixed ? TN_IMPORT_FIXED_LIST : is_view ? TN_IMPORT_LIST_VIEWS : TN_IMPORT_LIST;
  node->width = is_fixed ? width : is_large ? 8 : 4;
  node->n_buffers = is_fixed ? 1 : is_view ? 3 : 2;
  node->n_array_children = 1;
  TN_TRY(make_children(p, node, 1, err));
  TN_TRY(begin_child(p, node, &node->type->fields[0].type,
                     tn_type_layout(&node->type->fields[0].type), "item", &node->children[0], err));
  return prepare(p, schema->children[0], &node->children[0], err);
}

static tarn_status prepare_map(const preparer *p, const struct ArrowSchema *schema,
                               tn_import_node *node, tarn_error *err) {
  const struct ArrowSchema *pairs = schema->n_children == 1 ? schema->children[0] : NULL;
  tn_import_node *entries;
  if (!is_format(schema, "+m") || pairs == NULL || !is_sound(pairs) || !is_format(pairs, "+s") ||
      pairs->n_children != 2) {
    return no_conversion(node, schema, err);
  }
  node->kind = TN_IMPORT_LIST;
  node->width = 4;
  node->n_buffers = 2;
  node->n_array_children = 1;
  TN_TRY(make_children(p, node, 1, err));
  entries = &node->children[0];
  TN_TRY(begin_child(p, node, node->type, TN_LAYOUT_STRUCT, "entries", entries, err));
  entries->kind = TN_IMPORT_STRUCT;
  entries->n_buffers = 1;
  entries->n_array_children = 2;
  TN_TRY(make_children(p, entries, 2, err));
  for (int32_t i = 0; i < 2; i++) { /* by place: names differ between producers */
    const tn_type *type = &node->type->fields[i].type;
    entries->places[i] = i;
    TN_TRY(begin_child(p, node, type, tn_type_layout(type), i == 0 ? "key" : "value",
                       &entries->children[i], err));
    TN_TRY(prepare(p, pairs->children[i], &entries->children[i], err));
  }
  return TARN_OK;
}

static tarn_status prepare_dictionary(const preparer *p, const struct ArrowSchema *schema,
                                      tn_import_node *node, tarn_error *err) {
  tn_import_node *values = tn_arena_calloc(p->arena, 1, sizeof(*values));
  if (values == NULL) {
    return tn_oom(err);
  }
  *values = (tn_import_node){.type = node->type,
                             .layout = node->layout,
                             .path = node->path,
                             .depth = node->depth + 1,
                             .base = node->base};
  node->kind = TN_IMPORT_DICTIONARY;
  node->dictionary = values;
  node->n_buffers = 2;
  node->width = int_width(schema->format, &node->is_unsigned);
  if (node->width == 0 || schema->dictionary->dictionary != NULL || !is_sound(schema->dictionary)) {
    return no_conversion(node, schema, err);
  }
  return prepare(p, schema->dictionary, values, err);
}

static tarn_status prepare(const preparer *p, const struct ArrowSchema *schema,
                           tn_import_node *node, tarn_error *err) {
  if (!is_sound(schema)) {
    return tn_fail(err, TARN_E_INVALID, "column '%s': a schema that is released or not complete",
                   node->path);
  }
  if (schema->dictionary != NULL) {
    return prepare_dictionary(p, schema, node, err);
  }
  if (is_format(schema, "n")) {
    node->kind = TN_IMPORT_NULLS;
    return TARN_OK;
  }
  switch (node->layout) {
    case TN_LAYOUT_STRUCT:
      return prepare_struct(p, schema, node, err);
    case TN_LAYOUT_LIST:
      return node->type->root == TN_ARRAY ? prepare_list(p, schema, node, err)
                                          : prepare_map(p, schema, node, err);
    case TN_LAYOUT_FIXED_LIST:
      return prepare_list(p, schema, node, err);
    default:
      return prepare_value(node, schema) ? TARN_OK : no_conversion(node, schema, err);
  }
}

tarn_status tn_arrow_import_prepare(tn_arena *arena, const struct ArrowSchema *schema,
                                    const tn_field *fields, int32_t n_fields, const char *kind_name,
                                    tn_arrow_import **out, tarn_error *err) {
  tn_arrow_import *import = tn_arena_calloc(arena, 1, sizeof(*import));
  preparer p = {arena, NULL};
  *out = NULL;
  if (import == NULL) {
    return tn_oom(err);
  }
  if (!is_sound(schema) || !is_format(schema, "+s")) {
    return tn_fail(err, TARN_E_INVALID, "a schema that is no struct, released or not complete");
  }
  *import = (tn_arrow_import){
      .fields = fields, .n_fields = n_fields, .kind_place = -1, .n_children = schema->n_children};
  import->nodes = tn_arena_calloc(arena, (size_t)n_fields, sizeof(*import->nodes));
  import->places = tn_arena_calloc(arena, (size_t)n_fields, sizeof(*import->places));
  if (import->nodes == NULL || import->places == NULL) {
    return tn_oom(err);
  }
  p.base = &import->base;
  TN_TRY(match_fields(NULL, schema, fields, n_fields, kind_name, import->places,
                      &import->kind_place, err));
  if (import->kind_place >= 0 && (!is_format(schema->children[import->kind_place], "c") ||
                                  schema->children[import->kind_place]->dictionary != NULL)) {
    return tn_fail(err, TARN_E_INVALID, "the column of row kinds '%s' must be int8, not %s",
                   kind_name, format_name(schema->children[import->kind_place]));
  }
  for (int32_t i = 0; i < n_fields; i++) {
    import->nodes[i] = (tn_import_node){.type = &fields[i].type,
                                        .layout = tn_type_layout(&fields[i].type),
                                        .path = fields[i].name,
                                        .is_row = true,
                                        .base = &import->base};
    if (import->places[i] >= 0) {
      TN_TRY(prepare(&p, schema->children[import->places[i]], &import->nodes[i], err));
    }
  }
  *out = import;
  return TARN_OK;
}

bool tn_arrow_import_has(const tn_arrow_import *import, int32_t i) {
  return import->places[i] >= 0;
}
