/* schema_normalize.c - keys, columns and options of a new schema as Java's Schema makes them; lists
 * of names. */
#include <string.h>

#include "base/ascii.h"
#include "base/map.h"
#include "model/java_map.h"
#include "model/schema_check_parts.h"

/* ------------------------------------------------------------------ names */

tn_list_text tn_list_text_of(const char *const *names, int32_t n) {
  tn_list_text out;
  size_t at = 1;
  out.text[0] = '[';
  for (int32_t i = 0; i < n; i++) {
    size_t length = strlen(names[i]);
    if (at + length + 8 > sizeof(out.text)) {
      memcpy(out.text + at, "...", 3);
      at += 3;
      break;
    }
    memcpy(out.text + at, names[i], length);
    at += length;
    if (i + 1 < n) {
      memcpy(out.text + at, ", ", 2);
      at += 2;
    }
  }
  out.text[at] = ']';
  out.text[at + 1] = '\0';
  return out;
}

bool tn_list_has(const char *const *names, int32_t n, const char *name) {
  for (int32_t i = 0; i < n; i++) {
    if (strcmp(names[i], name) == 0) {
      return true;
    }
  }
  return false;
}

bool tn_list_has_all(const char *const *names, int32_t n, const char *const *wanted,
                     int32_t n_wanted) {
  for (int32_t i = 0; i < n_wanted; i++) {
    if (!tn_list_has(names, n, wanted[i])) {
      return false;
    }
  }
  return true;
}

bool tn_is_blank(const char *text) {
  return text == NULL || tn_slice_trim(tn_slice_text(text)).len == 0;
}

tarn_status tn_list_split(tn_arena *arena, const char *list, tn_split_style style,
                          tn_name_list *out, tarn_error *err) {
  size_t room = 1, end;
  memset(out, 0, sizeof(*out));
  if (list == NULL) {
    return TARN_OK;
  }
  for (const char *at = list; *at != '\0'; at++) {
    room += *at == ',';
  }
  out->names = tn_arena_calloc(arena, room, sizeof(*out->names));
  if (out->names == NULL) {
    return tn_oom(err);
  }
  end = strlen(list);
  while (end > 0 && list[end - 1] == ',') {
    end--;
  }
  if (end == 0 && list[0] != '\0') {
    return TARN_OK;
  }
  for (size_t at = 0; at <= end;) {
    const char *comma = memchr(list + at, ',', end - at);
    size_t stop = comma != NULL ? (size_t)(comma - list) : end;
    tn_slice part = tn_slice_of(list + at, stop - at);
    part = style == TN_SPLIT_PLAIN ? part : tn_slice_trim(part);
    if (part.len > 0 || style != TN_SPLIT_NONEMPTY) {
      out->names[out->n] = tn_arena_strndup(arena, (const char *)part.data, part.len);
      if (out->names[out->n++] == NULL) {
        return tn_oom(err);
      }
    }
    at = stop + 1;
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ normalising */

/* The first name that comes twice; NULL: none. */
static const char *find_twice(const char *const *names, int32_t n, tn_mem *mem, tarn_status *st,
                              tarn_error *err) {
  const char *twice = NULL;
  tn_map seen;
  *st = TARN_OK;
  tn_map_init(&seen, mem);
  for (int32_t i = 0; i < n && twice == NULL && *st == TARN_OK; i++) {
    tn_map_entry *entry;
    bool is_new = true;
    *st = tn_map_put(&seen, tn_slice_text(names[i]), &entry, &is_new, err);
    twice = is_new ? NULL : names[i];
  }
  tn_map_reset(&seen);
  return twice;
}

/* Keys that an option gives instead of the schema. */
static tarn_status take_keys(tn_schema *s, tn_java_map *options, const char *option,
                             const char *what, const char ***keys, int32_t *n_keys,
                             tarn_error *err) {
  const char *list = tn_java_map_get(options, option);
  tn_name_list names;
  if (list == NULL) {
    return TARN_OK;
  }
  if (*n_keys > 0) {
    return tn_fail(err, TARN_E_INVALID,
                   "Cannot define %s on DDL and table options at the same time.", what);
  }
  TN_TRY(tn_list_split(&s->arena, list, TN_SPLIT_NONEMPTY, &names, err));
  *keys = names.names;
  *n_keys = names.n;
  (void)tn_java_map_remove(options, option);
  return TARN_OK;
}

typedef struct key_words {
  const char *twice;
  const char *unknown; /* columns, keys */
} key_words;

static tarn_status check_keys(const tn_schema *s, const char *const *columns,
                              const char *const *keys, int32_t n_keys, const key_words *words,
                              tarn_error *err) {
  tarn_status st;
  const char *twice = find_twice(keys, n_keys, s->arena.mem, &st, err);
  if (st == TARN_OK && twice != NULL) {
    st = tn_fail(err, TARN_E_INVALID, "%s %s must not contain duplicate columns. Found: [%s]",
                 words->twice, tn_list_text_of(keys, n_keys).text, twice);
  }
  if (st == TARN_OK && !tn_list_has_all(columns, s->n_fields, keys, n_keys)) {
    st = tn_fail(err, TARN_E_INVALID, "Table column %s should include all %s %s",
                 tn_list_text_of(columns, s->n_fields).text, words->unknown,
                 tn_list_text_of(keys, n_keys).text);
  }
  return st;
}

const char **tn_check_column_names(tn_schema *s) {
  const char **names = tn_arena_calloc(&s->arena, (size_t)s->n_fields + 1, sizeof(*names));
  for (int32_t i = 0; names != NULL && i < s->n_fields; i++) {
    names[i] = s->fields[i].name;
  }
  return names;
}

/* Rule: Schema.normalizeFields. */
static tarn_status normalize_fields(tn_schema *s, tarn_error *err) {
  static const key_words partition = {"Partition key constraint", "partition fields"};
  static const key_words primary = {"Primary key constraint", "primary key constraint"};
  const char **columns = tn_check_column_names(s);
  const char *twice;
  tarn_status st;
  if (columns == NULL) {
    return tn_oom(err);
  }
  twice = find_twice(columns, s->n_fields, s->arena.mem, &st, err);
  TN_TRY(st);
  if (twice != NULL) {
    return tn_fail(err, TARN_E_INVALID,
                   "Table column %s must not contain duplicate fields. Found: [%s]",
                   tn_list_text_of(columns, s->n_fields).text, twice);
  }
  TN_TRY(check_keys(s, columns, s->partition_keys, s->n_partition_keys, &partition, err));
  TN_TRY(check_keys(s, columns, s->primary_keys, s->n_primary_keys, &primary, err));
  for (int32_t i = 0; i < s->n_fields; i++) {
    if (tn_list_has(s->primary_keys, s->n_primary_keys, s->fields[i].name)) {
      s->fields[i].type.is_nullable = false;
    }
  }
  return TARN_OK;
}

tarn_status tn_schema_normalize(tn_schema *schema, const tn_option *defaults, int32_t n_defaults,
                                tarn_error *err) {
  tn_java_map options;
  tn_java_map_init(&options, &schema->arena, (size_t)schema->n_options);
  for (int32_t i = 0; i < schema->n_options; i++) {
    TN_TRY(tn_java_map_put(&options, schema->options[i].key, schema->options[i].value, err));
  }
  TN_TRY(take_keys(schema, &options, "partition", "partition", &schema->partition_keys,
                   &schema->n_partition_keys, err));
  TN_TRY(take_keys(schema, &options, "primary-key", "primary key", &schema->primary_keys,
                   &schema->n_primary_keys, err));
  TN_TRY(normalize_fields(schema, err));
  for (int32_t i = 0; i < n_defaults; i++) {
    if (tn_java_map_get(&options, defaults[i].key) == NULL) {
      TN_TRY(tn_java_map_put(&options, defaults[i].key, defaults[i].value, err));
    }
  }
  TN_TRY(tn_java_map_sort(&options, err));
  schema->options = options.items;
  schema->n_options = (int32_t)options.count;
  return TARN_OK;
}
