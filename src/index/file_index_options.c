/* file_index_options.c - the options "file-index.<kind>.columns" and
 * "file-index.<kind>.<column>.<setting>".
 *
 * Rule: org.apache.paimon.fileindex.FileIndexOptions; spec: indexes, 4.
 */
#include <stdlib.h>

#include "base/ascii.h"
#include "column/number_text.h"
#include "index/file_index_make.h"

#define PREFIX "file-index."
#define SUFFIX ".columns"
#define DEFAULT_ITEMS 1000000
#define DEFAULT_FPP 0.1
#define DEFAULT_BLOCK_BYTES (16 << 10)

typedef struct spec_list {
  tn_arena *arena;
  const tn_options *options;
  const tn_field *all, *fields;
  int32_t n_all, n_fields;
  tn_index_spec *items;
  size_t n, capacity;
} spec_list;

/* ------------------------------------------------------------------ settings */

/* The setting of an index: its own, or of "m[key]" that of "m"; NULL: not set. */
static tarn_status setting(const spec_list *list, const tn_index_spec *spec, const char *what,
                           const char **key, const char **out, tarn_error *err) {
  const char *bracket = strchr(spec->name, '[');
  int n_outer = spec->map_key != NULL && bracket != NULL ? (int)(bracket - spec->name) : 0;
  *key = tn_arena_printf(list->arena, PREFIX "%s.%s.%s", spec->kind, spec->name, what);
  if (*key == NULL) {
    return tn_oom(err);
  }
  *out = tn_options_get(list->options, *key);
  if (*out == NULL && n_outer > 0) {
    *key = tn_arena_printf(list->arena, PREFIX "%s.%.*s.%s", spec->kind, n_outer, spec->name, what);
    if (*key == NULL) {
      return tn_oom(err);
    }
    *out = tn_options_get(list->options, *key);
  }
  return TARN_OK;
}

static tarn_status bad_setting(const char *key, const char *text, const char *form,
                               tarn_error *err) {
  return tn_fail(err, TARN_E_INVALID, "option '%s': cannot parse '%s' as %s", key, text, form);
}

static tarn_status read_items(const spec_list *list, tn_index_spec *spec, tarn_error *err) {
  const char *key, *text;
  char *end;
  TN_TRY(setting(list, spec, "items", &key, &text, err));
  spec->bloom_items = text != NULL ? strtol(text, &end, 10) : DEFAULT_ITEMS;
  if (text != NULL && (*end != '\0' || spec->bloom_items <= 0 || spec->bloom_items > INT32_MAX)) {
    return bad_setting(key, text, "a positive integer of 32 bits", err);
  }
  TN_TRY(setting(list, spec, "fpp", &key, &text, err));
  spec->bloom_fpp = DEFAULT_FPP;
  if (text != NULL && (!tn_double_from_text(tn_slice_text(text), &spec->bloom_fpp) ||
                       !(spec->bloom_fpp > 0 && spec->bloom_fpp < 1))) {
    return bad_setting(key, text, "a share between 0 and 1", err);
  }
  return TARN_OK;
}

static tarn_status read_block_size(const spec_list *list, tn_index_spec *spec, const char *what,
                                   int64_t usual, tarn_error *err) {
  const char *key, *text;
  TN_TRY(setting(list, spec, what, &key, &text, err));
  spec->block_bytes = usual;
  if (text != NULL) {
    tarn_status st = tn_parse_memory_size(text, &spec->block_bytes, err);
    if (st != TARN_OK) {
      return tn_error_context(err, st, "option '%s'", key);
    }
  }
  return TARN_OK;
}

static tarn_status read_settings(const spec_list *list, tn_index_spec *spec, tarn_error *err) {
  const char *key, *text;
  TN_TRY(read_items(list, spec, err));
  TN_TRY(setting(list, spec, "version", &key, &text, err));
  spec->bitmap_version = text == NULL || strcmp(text, "2") == 0 ? 2 : 1;
  if (text != NULL && spec->bitmap_version == 1 && strcmp(text, "1") != 0) {
    return bad_setting(key, text, "a version of bitmap indexes (1, 2)", err);
  }
  if (strcmp(spec->kind, "range-bitmap") == 0) {
    bool is_narrow = spec->type->root <= TN_SMALLINT;
    return read_block_size(list, spec, "chunk-size", is_narrow ? 0 : DEFAULT_BLOCK_BYTES, err);
  }
  return read_block_size(list, spec, "index-block-size", DEFAULT_BLOCK_BYTES, err);
}

/* ------------------------------------------------------------------ columns */

/* "m[key]" of a MAP column whose keys are texts. */
static tarn_status read_map_name(spec_list *list, tn_index_spec *spec, tn_slice *column,
                                 tarn_error *err) {
  const char *bracket = strchr(spec->name, '[');
  size_t n = strlen(spec->name);
  *column = tn_slice_of(spec->name, n);
  if (bracket == NULL || spec->name[n - 1] != ']') {
    return TARN_OK;
  }
  *column = tn_slice_of(spec->name, (size_t)(bracket - spec->name));
  spec->map_key =
      tn_arena_strndup(list->arena, bracket + 1, n - (size_t)(bracket + 1 - spec->name) - 1);
  return spec->map_key != NULL ? TARN_OK : tn_oom(err);
}

static tarn_status add_spec(spec_list *list, const char *key, const char *kind, tn_slice name,
                            tarn_error *err) {
  tn_index_spec spec = {.kind = kind};
  const tn_maker_kind *maker = tn_maker_kind_of(kind);
  const tn_field *field;
  tn_slice column;
  int32_t at;
  void *items = list->items;
  spec.name = tn_arena_strndup(list->arena, (const char *)name.data, name.len);
  if (spec.name == NULL) {
    return tn_oom(err);
  }
  TN_TRY(read_map_name(list, &spec, &column, err));
  at = tn_fields_find(list->all, list->n_all, column);
  if (at < 0) {
    return tn_fail(err, TARN_E_INVALID, "option '%s': the table has no column '%.*s'", key,
                   TN_SLICE_ARG(column));
  }
  field = &list->all[at];
  spec.type = &field->type;
  if (spec.map_key != NULL) {
    if (field->type.root != TN_MAP || !tn_type_is_string(&field->type.fields[0].type)) {
      return tn_fail(err, TARN_E_INVALID,
                     "option '%s': '%s' is no value of a MAP column whose keys are texts", key,
                     spec.name);
    }
    spec.type = &field->type.fields[1].type;
  }
  if (!maker->takes(spec.type)) {
    return tn_fail(err, TARN_E_UNSUPPORTED,
                   "option '%s': column '%s' is %s, which a %s index does "
                   "not take",
                   key, spec.name, tn_type_text_of(spec.type).text, kind);
  }
  TN_TRY(read_settings(list, &spec, err));
  spec.column = tn_fields_find(list->fields, list->n_fields, column);
  for (size_t i = 0; i < list->n; i++) {
    if (strcmp(list->items[i].name, spec.name) == 0 && strcmp(list->items[i].kind, kind) == 0) {
      return TARN_OK;
    }
  }
  if (spec.column < 0) {
    return TARN_OK; /* it is not written */
  }
  if (!tn_arena_grow(list->arena, &items, &list->capacity, list->n, sizeof(spec))) {
    return tn_oom(err);
  }
  list->items = items;
  list->items[list->n++] = spec;
  return TARN_OK;
}

static tarn_status add_columns(spec_list *list, const tn_option *option, tarn_error *err) {
  size_t n = strlen(option->key) - strlen(PREFIX) - strlen(SUFFIX);
  const char *kind = tn_arena_strndup(list->arena, option->key + strlen(PREFIX), n);
  tn_slice rest = tn_slice_text(option->value);
  bool has_more = true;
  if (kind == NULL) {
    return tn_oom(err);
  }
  if (tn_maker_kind_of(kind) == NULL) {
    return tn_fail(err, TARN_E_UNSUPPORTED, "option '%s': indexes of kind '%s' cannot be written",
                   option->key, kind);
  }
  while (has_more) {
    const uint8_t *comma = rest.len > 0 ? memchr(rest.data, ',', rest.len) : NULL;
    size_t len = comma != NULL ? (size_t)(comma - rest.data) : rest.len;
    tn_slice name = tn_slice_trim(tn_slice_of(rest.data, len));
    if (name.len == 0) {
      return tn_fail(err, TARN_E_INVALID, "option '%s': a column without a name", option->key);
    }
    TN_TRY(add_spec(list, option->key, kind, name, err));
    has_more = comma != NULL;
    rest = tn_slice_of(rest.data + len + has_more, rest.len - len - has_more);
  }
  return TARN_OK;
}

static bool ends_with(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}

/* Does "a,b" have the column, or a value "column[key]" of it? */
static bool names_column(const char *columns, tn_slice column) {
  tn_slice rest = tn_slice_text(columns);
  while (rest.len > 0) {
    const uint8_t *comma = memchr(rest.data, ',', rest.len);
    size_t len = comma != NULL ? (size_t)(comma - rest.data) : rest.len;
    tn_slice name = tn_slice_trim(tn_slice_of(rest.data, len));
    if (tn_slice_equal(name, column) ||
        (name.len > column.len && tn_slice_starts_with(name, column) &&
         name.data[column.len] == '[')) {
      return true;
    }
    rest = tn_slice_of(rest.data + len + (comma != NULL), rest.len - len - (comma != NULL));
  }
  return false;
}

/* "file-index.<kind>.<column>.<setting>" of an index that nobody asked for is a slip. */
static tarn_status check_setting(const spec_list *list, const tn_option *option, tarn_error *err) {
  const char *kind = option->key + strlen(PREFIX), *column = strchr(kind, '.');
  const char *what = column != NULL ? strchr(column + 1, '.') : NULL;
  const char *key, *columns;
  if (what == NULL || strchr(what + 1, '.') != NULL) {
    return TARN_OK;
  }
  key = tn_arena_printf(list->arena, PREFIX "%.*s" SUFFIX, (int)(column - kind), kind);
  if (key == NULL) {
    return tn_oom(err);
  }
  columns = tn_options_get(list->options, key);
  if (columns == NULL ||
      !names_column(columns, tn_slice_of(column + 1, (size_t)(what - column - 1)))) {
    return tn_fail(err, TARN_E_INVALID, "option '%s': option '%s' does not name that column",
                   option->key, key);
  }
  return TARN_OK;
}

tarn_status tn_index_specs_read(tn_arena *arena, const tn_options *options,
                                const tn_field *all_fields, int32_t n_all, const tn_field *fields,
                                int32_t n_fields, const tn_index_spec **out, int32_t *n_specs,
                                tarn_error *err) {
  spec_list list = {.arena = arena,
                    .options = options,
                    .all = all_fields,
                    .fields = fields,
                    .n_all = n_all,
                    .n_fields = n_fields};
  *out = NULL;
  *n_specs = 0;
  for (int32_t i = 0; i < options->count; i++) {
    const tn_option *option = &options->items[i];
    if (strncmp(option->key, PREFIX, strlen(PREFIX)) != 0) {
      continue;
    }
    if (ends_with(option->key, SUFFIX) && strlen(option->key) > strlen(PREFIX) + strlen(SUFFIX)) {
      TN_TRY(add_columns(&list, option, err));
    } else {
      TN_TRY(check_setting(&list, option, err));
    }
  }
  *out = list.items;
  *n_specs = (int32_t)list.n;
  return TARN_OK;
}
