/* arrow_import.c - matching Arrow schemas with columns, and arrays with children.
 *
 * Preparing makes a tree of nodes, one for each vector that is wanted: what its array must look
 * like and how it is converted (arrow_import_values.c). Rows are then imported along the tree; its
 * depth is that of the wanted types, which is bounded.
 */
#include "column/arrow_import.h"

#include <stdio.h>

#include "base/checked.h"
#include "base/nearest.h"
#include "column/arrow.h"
#include "column/arrow_import_parts.h"
#include "column/bits.h"
#include "column/number_text.h"
#include "column/type_text.h"
#include "column/vector_parts.h"

struct tn_arrow_import {
  const tn_field *fields;
  int32_t n_fields;
  tn_import_node *nodes; /* one a field */
  int32_t *places;       /* in the struct; -1: missing */
  int32_t kind_place;    /* -1: none */
  int64_t n_children;    /* of the struct */
  int64_t base;          /* row that is row 0 of the rows at hand */
};

/* ------------------------------------------------------------------ messages */

tarn_status tn_import_fault(const tn_import_node *node, int64_t value, tarn_error *err,
                            const char *fmt, ...) {
  char text[512];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof(text), fmt, args);
  va_end(args);
  if (!node->is_row) {
    return tn_fail(err, TARN_E_INVALID, "column '%s': %s", node->path, text);
  }
  return tn_fail(err, TARN_E_INVALID, "row %lld, column '%s': %s", (long long)(*node->base + value),
                 node->path, text);
}

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

/* ------------------------------------------------------------------ preparing values */

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

/* ------------------------------------------------------------------ preparing children */

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

/* ------------------------------------------------------------------ arrays */

tarn_status tn_import_check(const tn_import_node *node, const struct ArrowArray *array,
                            int64_t begin, int64_t n, tarn_error *err) {
  int64_t end;
  if (array == NULL || array->release == NULL) {
    return tn_import_fault(node, 0, err, "an array that is released");
  }
  if (array->length < 0 || array->offset < 0 || begin < 0 || n < 0 || !tn_add_i64(begin, n, &end) ||
      end > array->length || !tn_add_i64(array->offset, array->length, &end) ||
      end > INT64_MAX / 64) {
    return tn_import_fault(
        node, 0, err, "an array of %lld values at offset %lld, where %lld are needed",
        (long long)array->length, (long long)array->offset, (long long)(begin + n));
  }
  if (node->kind == TN_IMPORT_NULLS) {
    return TARN_OK;
  }
  if ((node->n_buffers >= 0 ? array->n_buffers != node->n_buffers : array->n_buffers < 3) ||
      array->buffers == NULL || array->n_children != node->n_array_children ||
      (array->n_children > 0 && array->children == NULL) ||
      (node->dictionary != NULL) != (array->dictionary != NULL)) {
    return tn_import_fault(node, 0, err, "an array that is not what its schema says");
  }
  return TARN_OK;
}

tarn_status tn_import_valid(tarn_env *env, const struct ArrowArray *array, int64_t first, int64_t n,
                            tn_vec *out, tarn_error *err) {
  const uint8_t *bits = array->n_buffers > 0 ? array->buffers[0] : NULL;
  if (bits == NULL || array->null_count == 0 || n == 0) {
    return TARN_OK;
  }
  TN_TRY(tn_buffer_create(env, TN_BITMAP_BYTES(n), &out->valid_buffer, err));
  tn_vec_set_pointers(out);
  tn_bits_copy(out->valid, bits, first, n);
  out->null_count = n - tn_bits_count(out->valid, n);
  if (out->null_count == 0) {
    tn_buffer_release(out->valid_buffer);
    out->valid_buffer = NULL;
    out->valid = NULL;
  }
  return TARN_OK;
}

/* Children of a struct: rows [begin, begin + n), the array's offset counted in. */
static tarn_status import_fields(tarn_env *env, const tn_import_node *node,
                                 const struct ArrowArray *array, int64_t begin, int64_t n,
                                 tn_vec *out, tarn_error *err) {
  for (int32_t i = 0; i < node->n_children; i++) {
    const tn_import_node *child = &node->children[i];
    if (node->places[i] < 0) {
      tn_vec_reset(env, &out->children[i]);
      TN_TRY(tn_vec_init_nulls(env, child->type, n, true, &out->children[i], err));
      continue;
    }
    TN_TRY(tn_import_vec(env, child, array->children[node->places[i]], begin, n, &out->children[i],
                         err));
  }
  if (node->type->root == TN_MAP || node->type->root == TN_MULTISET) {
    if (out->children[0].null_count > 0) {
      return tn_import_fault(&node->children[0], 0, err, "a map with a null key");
    }
  }
  return TARN_OK;
}

/* The place and number of the elements of row i. */
static tarn_status list_range(const tn_import_node *node, const struct ArrowArray *array,
                              int64_t row, int64_t *begin, int64_t *len, tarn_error *err) {
  if (node->kind == TN_IMPORT_FIXED_LIST) {
    *len = node->width;
    if (!tn_mul_i64(row, node->width, begin)) {
      return tn_import_fault(node, 0, err, "more elements than can be counted");
    }
  } else {
    *begin = tn_import_int(array->buffers[1], node->width, false, row);
    *len = node->kind == TN_IMPORT_LIST
               ? tn_import_int(array->buffers[1], node->width, false, row + 1) - *begin
               : tn_import_int(array->buffers[2], node->width, false, row);
  }
  if (*begin < 0 || *len < 0 || *len > array->children[0]->length - *begin) {
    return tn_import_fault(node, 0, err, "a list outside of its elements");
  }
  return TARN_OK;
}

/* out->offsets, and whether the elements lie one behind the other from *begin on. */
static tarn_status import_list_offsets(const tn_import_node *node, const struct ArrowArray *array,
                                       int64_t first, int64_t n, tn_vec *out, int64_t *begin,
                                       bool *is_dense, tarn_error *err) {
  int64_t total = 0, next = 0;
  *is_dense = true;
  *begin = 0;
  out->offsets[0] = 0;
  for (int64_t i = 0; i < n; i++) {
    bool is_null = out->valid != NULL && !tn_bit_get(out->valid, i);
    int64_t at, len;
    TN_TRY(list_range(node, array, first + i, &at, &len, err));
    if (!is_null && len > 0) {
      *begin = total == 0 ? at : *begin;
      *is_dense &= total == 0 || at == next;
      next = at + len;
      total += len;
    }
    if (total > INT32_MAX) {
      return tn_fail(err, TARN_E_LIMIT,
                     "column '%s': more than 2147483647 elements in one batch; write fewer rows at "
                     "once",
                     node->path);
    }
    out->offsets[i + 1] = (int32_t)total;
  }
  return TARN_OK;
}

/* Elements that lie anywhere: imported over the range they span, then taken. */
static tarn_status import_scattered(tarn_env *env, const tn_import_node *node,
                                    const struct ArrowArray *array, int64_t first, tn_vec *out,
                                    tarn_error *err) {
  int64_t n = out->length, low = INT64_MAX, high = 0, at, len, total = 0;
  tn_vec span = {0};
  tn_buffer *rows = NULL;
  tarn_status st = TARN_OK;
  for (int64_t i = 0; i < n; i++) {
    if (out->offsets[i + 1] > out->offsets[i]) {
      TN_TRY(list_range(node, array, first + i, &at, &len, err));
      low = at < low ? at : low;
      high = at + len > high ? at + len : high;
    }
  }
  if (high - low > UINT32_MAX) {
    return tn_import_fault(node, 0, err, "elements that lie too far apart");
  }
  TN_TRY(tn_buffer_create(env, (size_t)out->offsets[n] * sizeof(uint32_t), &rows, err));
  TN_TRY_TO(done,
            tn_vec_init_as(env, node->children[0].type, node->children[0].layout, &span, err));
  TN_TRY_TO(done, tn_import_vec(env, &node->children[0], array->children[0], low, high - low, &span,
                                err));
  for (int64_t i = 0; i < n; i++) {
    if (out->offsets[i + 1] > out->offsets[i]) {
      TN_TRY_TO(done, list_range(node, array, first + i, &at, &len, err));
      for (int64_t k = 0; k < len; k++) {
        ((uint32_t *)(void *)rows->data)[total++] = (uint32_t)(at - low + k);
      }
    }
  }
  TN_TRY_TO(done, tn_vec_take(env, &span, (const uint32_t *)(const void *)rows->data, total,
                              &out->children[0], err));
done:
  tn_vec_reset(env, &span);
  tn_buffer_release(rows);
  return st;
}

/* What the lists of vectors span, each of which must have their length; nulls have none. *is_dense:
 * the vectors lie one behind the other from *low on. */
static tarn_status find_vectors(const tn_import_node *node, const struct ArrowArray *array,
                                int64_t first, const tn_vec *out, int64_t *low, int64_t *high,
                                bool *is_dense, tarn_error *err) {
  int64_t width = node->type->length, at, len;
  *low = INT64_MAX;
  *high = 0;
  *is_dense = out->null_count == 0;
  for (int64_t i = 0; i < out->length; i++) {
    if (out->valid != NULL && !tn_bit_get(out->valid, i)) {
      continue;
    }
    TN_TRY(list_range(node, array, first + i, &at, &len, err));
    if (len != width) {
      return tn_import_fault(node, i, err, "a list of %lld elements is no %s", (long long)len,
                             tn_type_text_of(node->type).text);
    }
    *is_dense &= i == 0 || at == *high;
    *low = at < *low ? at : *low;
    *high = at + len > *high ? at + len : *high;
  }
  if (out->length > INT32_MAX / (width + 1) || *high - *low > UINT32_MAX) {
    return tn_fail(err, TARN_E_LIMIT,
                   "column '%s': more elements than one batch can hold; write fewer rows at once",
                   node->path);
  }
  return TARN_OK;
}

/* Lists that are all as long as the vectors that are wanted. */
static tarn_status import_vectors(tarn_env *env, const tn_import_node *node,
                                  const struct ArrowArray *array, int64_t first, tn_vec *out,
                                  tarn_error *err) {
  const tn_import_node *element = &node->children[0];
  int64_t width = node->type->length, low, high, at, len;
  tn_vec span = {0}, null = {0};
  const tn_vec *sources[2] = {&span, &null};
  tn_row_ref *refs = NULL;
  bool is_dense;
  tarn_status st;
  TN_TRY(find_vectors(node, array, first, out, &low, &high, &is_dense, err));
  if (is_dense && out->length > 0) {
    return tn_import_vec(env, element, array->children[0], low, high - low, &out->children[0], err);
  }
  refs = tn_alloc(&env->mem, (size_t)(out->length * width + 1) * sizeof(*refs));
  if (refs == NULL) {
    return tn_oom(err);
  }
  TN_TRY_TO(done, tn_vec_init_nulls(env, element->type, 1, true, &null, err));
  TN_TRY_TO(done, tn_vec_init_as(env, element->type, element->layout, &span, err));
  if (high > low) {
    TN_TRY_TO(done, tn_import_vec(env, element, array->children[0], low, high - low, &span, err));
  }
  for (int64_t i = 0; i < out->length; i++) {
    bool is_null = out->valid != NULL && !tn_bit_get(out->valid, i);
    if (!is_null) {
      TN_TRY_TO(done, list_range(node, array, first + i, &at, &len, err));
    }
    for (int64_t k = 0; k < width; k++) {
      refs[i * width + k] =
          is_null ? (tn_row_ref){1, 0} : (tn_row_ref){0, (uint32_t)(at - low + k)};
    }
  }
  st = tn_vec_gather(env, element->type, sources, 2, refs, out->length * width, &out->children[0],
                     err);
done:
  tn_free(&env->mem, refs);
  tn_vec_reset(env, &span);
  tn_vec_reset(env, &null);
  return st;
}

static tarn_status import_list(tarn_env *env, const tn_import_node *node,
                               const struct ArrowArray *array, int64_t first, int64_t n,
                               tn_vec *out, tarn_error *err) {
  int64_t begin;
  bool is_dense;
  if (array->children[0] == NULL ||
      (node->kind != TN_IMPORT_FIXED_LIST && n > 0 &&
       (array->buffers[1] == NULL || array->buffers[array->n_buffers - 1] == NULL))) {
    return tn_import_fault(node, 0, err, "an array without offsets");
  }
  if (out->layout == TN_LAYOUT_FIXED_LIST && node->kind != TN_IMPORT_FIXED_LIST) {
    return import_vectors(env, node, array, first, out, err);
  }
  if (out->layout == TN_LAYOUT_FIXED_LIST) {
    int64_t last, len;
    if (n == 0) {
      return TARN_OK;
    }
    TN_TRY(list_range(node, array, first, &begin, &len, err));
    TN_TRY(list_range(node, array, first + n - 1, &last, &len, err));
    return tn_import_vec(env, &node->children[0], array->children[0], begin, n * node->width,
                         &out->children[0], err);
  }
  TN_TRY(tn_buffer_create(env, (size_t)(n + 1) * sizeof(int32_t), &out->offsets_buffer, err));
  tn_vec_set_pointers(out);
  TN_TRY(import_list_offsets(node, array, first, n, out, &begin, &is_dense, err));
  if (!is_dense) {
    return import_scattered(env, node, array, first, out, err);
  }
  return tn_import_vec(env, &node->children[0], array->children[0], begin, out->offsets[n],
                       &out->children[0], err);
}

/* ------------------------------------------------------------------ dictionaries */

/* Codes as int32 within the dictionary; those of nulls are 0. */
static tarn_status import_codes(const tn_import_node *node, const struct ArrowArray *array,
                                int64_t first, int64_t n, const tn_vec *valid, int32_t *codes,
                                tarn_error *err) {
  int64_t size = array->dictionary->length;
  for (int64_t i = 0; i < n; i++) {
    int64_t code = 0;
    if (valid->valid == NULL || tn_bit_get(valid->valid, i)) {
      code = tn_import_int(array->buffers[1], node->width, node->is_unsigned, first + i);
      if (code < 0 || code >= size || code > INT32_MAX) {
        return tn_import_fault(node, i, err, "code %lld of a dictionary of %lld values",
                               (long long)code, (long long)size);
      }
    }
    codes[i] = (int32_t)code;
  }
  return TARN_OK;
}

/* Flat values in place of codes. `out` has the validity of the codes. */
static tarn_status take_codes(tarn_env *env, const tn_vec *values, const int32_t *codes,
                              tn_vec *out, tarn_error *err) {
  int64_t n = out->length;
  tn_vec taken = {0}, null = {0};
  const tn_vec *sources[2] = {values, &null};
  tn_row_ref *refs = NULL;
  tarn_status st;
  TN_TRY_TO(done, tn_vec_init_nulls(env, values->type, 1, true, &null, err));
  refs = tn_alloc(&env->mem, (size_t)n * sizeof(*refs));
  if (refs == NULL) {
    st = tn_oom(err);
    goto done;
  }
  for (int64_t i = 0; i < n; i++) {
    bool is_null = out->valid != NULL && !tn_bit_get(out->valid, i);
    refs[i] = (tn_row_ref){is_null, is_null ? 0 : (uint32_t)codes[i]};
  }
  TN_TRY_TO(done, tn_vec_gather(env, values->type, sources, 2, refs, n, &taken, err));
  tn_vec_reset(env, out);
  tn_vec_move(out, &taken);
done:
  tn_free(&env->mem, refs);
  tn_vec_reset(env, &null);
  return st;
}

static tarn_status import_encoded(tarn_env *env, const tn_import_node *node,
                                  const struct ArrowArray *array, int64_t first, int64_t n,
                                  tn_vec *out, tarn_error *err) {
  tn_vec values = {0};
  tn_buffer *codes = NULL;
  tn_dictionary *dictionary = NULL;
  tarn_status st = TARN_OK;
  bool keeps_codes;
  if (array->buffers[1] == NULL && n > 0) {
    return tn_import_fault(node, 0, err, "an array without values");
  }
  TN_TRY_TO(done, tn_buffer_create(env, (size_t)n * sizeof(int32_t), &codes, err));
  TN_TRY_TO(done, import_codes(node, array, first, n, out, (int32_t *)(void *)codes->data, err));
  TN_TRY_TO(done, tn_vec_init_as(env, node->type, node->layout, &values, err));
  TN_TRY_TO(done, tn_import_vec(env, node->dictionary, array->dictionary, 0,
                                array->dictionary->length, &values, err));
  if (n == 0 || out->null_count == n) { /* perhaps there is no value at all */
    tn_vec_reset(env, out);
    TN_TRY_TO(done, tn_vec_init_nulls(env, node->type, n, true, out, err));
    goto done;
  }
  keeps_codes = node->depth == 0 && values.null_count == 0 && node->layout != TN_LAYOUT_STRUCT &&
                node->layout != TN_LAYOUT_LIST && node->layout != TN_LAYOUT_FIXED_LIST;
  if (!keeps_codes) {
    TN_TRY_TO(done, take_codes(env, &values, (const int32_t *)(const void *)codes->data, out, err));
    goto done;
  }
  TN_TRY_TO(done, tn_dictionary_create(env, &values, &dictionary, err));
  out->encoding = TN_VEC_DICT;
  out->dictionary = dictionary;
  out->values_buffer = codes;
  codes = NULL;
  tn_vec_set_pointers(out);
done:
  tn_vec_reset(env, &values);
  tn_buffer_release(codes);
  return st;
}

/* ------------------------------------------------------------------ all kinds */

static tarn_status import_content(tarn_env *env, const tn_import_node *node,
                                  const struct ArrowArray *array, int64_t begin, int64_t n,
                                  tn_vec *out, tarn_error *err) {
  int64_t first = array->offset + begin;
  out->length = n;
  TN_TRY(tn_import_valid(env, array, first, n, out, err));
  switch (node->kind) {
    case TN_IMPORT_STRUCT:
      return import_fields(env, node, array, first, n, out, err);
    case TN_IMPORT_LIST:
    case TN_IMPORT_LIST_VIEWS:
    case TN_IMPORT_FIXED_LIST:
      return import_list(env, node, array, first, n, out, err);
    case TN_IMPORT_DICTIONARY:
      return import_encoded(env, node, array, first, n, out, err);
    default:
      return tn_import_values(env, node, array, first, n, out, err);
  }
}

tarn_status tn_import_vec(tarn_env *env, const tn_import_node *node, const struct ArrowArray *array,
                          int64_t begin, int64_t n, tn_vec *out, tarn_error *err) {
  tarn_status st;
  tn_vec_reset(env, out);
  TN_TRY(tn_import_check(node, array, begin, n, err));
  if (node->kind == TN_IMPORT_NULLS) {
    return tn_vec_init_nulls(env, node->type, n, node->depth > 0, out, err);
  }
  TN_TRY(tn_vec_init_as(env, node->type, node->layout, out, err));
  st = import_content(env, node, array, begin, n, out, err);
  if (st != TARN_OK) {
    tn_vec_reset(env, out);
  }
  return st;
}

static tarn_status check_rows(const tn_arrow_import *import, const struct ArrowArray *array,
                              int64_t begin, int64_t n, tarn_error *err) {
  tn_import_node top = {.kind = TN_IMPORT_STRUCT,
                        .path = "(all)",
                        .n_buffers = 1,
                        .n_array_children = import->n_children};
  const uint8_t *valid;
  TN_TRY(tn_import_check(&top, array, begin, n, err));
  valid = array->buffers[0];
  for (int64_t i = 0; i < n && valid != NULL && array->null_count != 0; i++) {
    if (!tn_bit_get(valid, array->offset + begin + i)) {
      return tn_fail(err, TARN_E_INVALID, "row %lld is null as a whole", (long long)(begin + i));
    }
  }
  return TARN_OK;
}

static tarn_status import_kinds(const tn_arrow_import *import, const struct ArrowArray *array,
                                int64_t begin, int64_t n, const int8_t **kinds, tarn_error *err) {
  tn_import_node node = {.kind = TN_IMPORT_SAME,
                         .path = "(row kinds)",
                         .is_row = true,
                         .base = &import->base,
                         .n_buffers = 2};
  const struct ArrowArray *child = array->children[import->kind_place];
  const uint8_t *valid;
  TN_TRY(tn_import_check(&node, child, array->offset + begin, n, err));
  valid = child->buffers[0];
  for (int64_t i = 0; i < n && valid != NULL && child->null_count != 0; i++) {
    if (!tn_bit_get(valid, child->offset + array->offset + begin + i)) {
      return tn_import_fault(&node, i, err, "a row kind that is null");
    }
  }
  if (n > 0 && child->buffers[1] == NULL) {
    return tn_import_fault(&node, 0, err, "an array without values");
  }
  *kinds = n > 0 ? (const int8_t *)child->buffers[1] + child->offset + array->offset + begin : NULL;
  return TARN_OK;
}

tarn_status tn_arrow_import_rows(tarn_env *env, tn_arrow_import *import,
                                 const struct ArrowArray *array, int64_t begin, int64_t n,
                                 tn_batch *out, const int8_t **kinds, tarn_error *err) {
  tarn_status st = TARN_OK;
  memset(out, 0, sizeof(*out));
  *kinds = NULL;
  TN_TRY(check_rows(import, array, begin, n, err));
  import->base = begin;
  if (import->kind_place >= 0) {
    TN_TRY(import_kinds(import, array, begin, n, kinds, err));
  }
  TN_TRY(tn_batch_init(env, import->fields, import->n_fields, out, err));
  for (int32_t i = 0; i < import->n_fields && st == TARN_OK; i++) {
    tn_vec *vec = &out->columns[i];
    if (import->places[i] < 0) {
      tn_vec_reset(env, vec);
      st = tn_vec_init_nulls(env, &import->fields[i].type, n, false, vec, err);
    } else {
      st = tn_import_vec(env, &import->nodes[i], array->children[import->places[i]],
                         array->offset + begin, n, vec, err);
    }
  }
  out->n_rows = n;
  if (st != TARN_OK) {
    tn_batch_reset(env, out);
  }
  return st;
}
