/* schema.c - schema files: from JSON to fields, keys and options; through the cache. */
#include "model/schema.h"

#include <stdio.h>

#include "base/map.h"
#include "model/listing.h"

#define MAX_SCHEMA_BYTES ((size_t)64 << 20)

typedef struct parser {
  tn_schema *schema;
  const char *path;
  tn_map columns; /* name -> index */
  tarn_error *err;
} parser;

static tarn_status corrupt(parser *p, const char *what, const char *name) {
  return tn_fail(p->err, TARN_E_CORRUPT, "%s: %s '%s'", p->path, what, name);
}

/* ------------------------------------------------------------------ fields */

static tarn_status copy_text(parser *p, tn_slice text, const char **out) {
  *out = tn_arena_strndup(&p->schema->arena, (const char *)text.data, text.len);
  return *out != NULL ? TARN_OK : tn_oom(p->err);
}

static tarn_status parse_field(parser *p, const tn_json *json, int32_t index, tn_field *out) {
  char where[512];
  tn_slice text;
  int64_t id = index;
  bool is_present;
  TN_TRY(tn_json_get_text(json, "name", p->path, &text, NULL, p->err));
  TN_TRY(copy_text(p, text, &out->name));
  if (strlen(out->name) != text.len) {
    return corrupt(p, "a NUL character in the name of field", out->name);
  }
  TN_TRY(tn_json_get_int(json, "id", p->path, &id, &is_present, p->err));
  if (id < 0 || id > INT32_MAX) {
    return corrupt(p, "an impossible id of field", out->name);
  }
  out->id = (int32_t)id;
  (void)snprintf(where, sizeof(where), "%s: field '%s'", p->path, out->name);
  TN_TRY(
      tn_type_from_json(&p->schema->arena, tn_json_get(json, "type"), where, &out->type, p->err));
  TN_TRY(tn_json_get_text(json, "description", p->path, &text, &is_present, p->err));
  if (is_present) {
    TN_TRY(copy_text(p, text, &out->description));
  }
  TN_TRY(tn_json_get_text(json, "defaultValue", p->path, &text, &is_present, p->err));
  return is_present ? copy_text(p, text, &out->default_value) : TARN_OK;
}

static tarn_status parse_fields(parser *p, const tn_json *root) {
  tn_schema *s = p->schema;
  const tn_json *fields = tn_json_get(root, "fields");
  size_t n = tn_json_count(fields);
  if (tn_json_kind_of(fields) != TN_JSON_ARRAY || n > INT32_MAX / 2) {
    return tn_fail(p->err, TARN_E_CORRUPT, "%s: not a schema: no list of fields", p->path);
  }
  s->fields = tn_arena_calloc(&s->arena, n + 1, sizeof(*s->fields));
  if (s->fields == NULL) {
    return tn_oom(p->err);
  }
  for (size_t i = 0; i < n; i++) {
    tn_map_entry *entry;
    bool is_new;
    TN_TRY(parse_field(p, tn_json_at(fields, i), (int32_t)i, &s->fields[i]));
    TN_TRY(tn_map_put(&p->columns, tn_slice_text(s->fields[i].name), &entry, &is_new, p->err));
    if (!is_new) {
      return corrupt(p, "a second field", s->fields[i].name);
    }
    entry->value.num = (int64_t)i;
    s->highest_field_id =
        s->fields[i].id > s->highest_field_id ? s->fields[i].id : s->highest_field_id;
    s->n_fields++;
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ keys */

static tarn_status parse_names(parser *p, const tn_json *root, const char *key, const char ***out,
                               int32_t **columns, int32_t *n_out) {
  tn_arena *arena = &p->schema->arena;
  const tn_json *names = tn_json_get(root, key);
  size_t n = tn_json_count(names);
  if (names != NULL && tn_json_kind_of(names) != TN_JSON_ARRAY) {
    return corrupt(p, "not a list of names:", key);
  }
  *out = tn_arena_calloc(arena, n + 1, sizeof(**out));
  *columns = tn_arena_calloc(arena, n + 1, sizeof(**columns));
  if (*out == NULL || *columns == NULL) {
    return tn_oom(p->err);
  }
  for (size_t i = 0; i < n; i++) {
    tn_slice text;
    tn_map_entry *entry;
    if (!tn_json_text(tn_json_at(names, i), &text)) {
      return corrupt(p, "not a list of names:", key);
    }
    TN_TRY(copy_text(p, text, &(*out)[i]));
    entry = tn_map_find(&p->columns, text);
    if (entry == NULL) {
      return tn_fail(p->err, TARN_E_CORRUPT, "%s: %s names '%s', which is no field", p->path, key,
                     (*out)[i]);
    }
    (*columns)[i] = (int32_t)entry->value.num;
    for (size_t k = 0; k < i; k++) {
      if ((*columns)[k] == (*columns)[i]) {
        return tn_fail(p->err, TARN_E_CORRUPT, "%s: %s names '%s' twice", p->path, key, (*out)[i]);
      }
    }
  }
  *n_out = (int32_t)n;
  return TARN_OK;
}

static int32_t find_column(const tn_schema *schema, const int32_t *columns, int32_t n,
                           int32_t field_id) {
  for (int32_t i = 0; i < n; i++) {
    if (schema->fields[columns[i]].id == field_id) {
      return i;
    }
  }
  return -1;
}

int32_t tn_schema_partition_key(const tn_schema *schema, int32_t field_id) {
  return find_column(schema, schema->partition_columns, schema->n_partition_keys, field_id);
}

int32_t tn_schema_key_column(const tn_schema *schema, int32_t field_id) {
  return find_column(schema, schema->key_columns, schema->n_key_columns, field_id);
}

static tarn_status parse_keys(parser *p, const tn_json *root) {
  tn_schema *s = p->schema;
  int32_t *primary;
  TN_TRY(parse_names(p, root, "partitionKeys", &s->partition_keys, &s->partition_columns,
                     &s->n_partition_keys));
  TN_TRY(parse_names(p, root, "primaryKeys", &s->primary_keys, &primary, &s->n_primary_keys));
  s->key_columns = tn_arena_calloc(&s->arena, (size_t)s->n_primary_keys + 1, sizeof(int32_t));
  if (s->key_columns == NULL) {
    return tn_oom(p->err);
  }
  for (int32_t i = 0; i < s->n_primary_keys; i++) {
    if (tn_schema_partition_key(s, s->fields[primary[i]].id) < 0) {
      s->key_columns[s->n_key_columns++] = primary[i];
    }
  }
  if (s->n_primary_keys > 0 && s->n_key_columns == 0) {
    return tn_fail(p->err, TARN_E_CORRUPT, "%s: the primary key has only partition columns",
                   p->path);
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ options and the rest */

static bool has_option(const tn_schema *s, const char *key) {
  return tn_schema_option(s, key) != NULL;
}

static void imply_option(tn_schema *s, const char *key, const char *value) {
  if (!has_option(s, key)) {
    s->options[s->n_options].key = key;
    s->options[s->n_options].value = value;
    s->n_options++;
  }
}

static tarn_status parse_options(parser *p, const tn_json *root) {
  tn_schema *s = p->schema;
  const tn_json *options = tn_json_get(root, "options");
  tarn_status st = TARN_OK;
  tn_json_member member = {0};
  tn_buf text;
  s->options = tn_arena_calloc(&s->arena, tn_json_count(options) + 3, sizeof(*s->options));
  if (s->options == NULL) {
    return tn_oom(p->err);
  }
  if (options != NULL && tn_json_kind_of(options) != TN_JSON_OBJECT) {
    return tn_fail(p->err, TARN_E_CORRUPT, "%s: \"options\" is not an object", p->path);
  }
  tn_buf_init(&text, s->arena.mem, MAX_SCHEMA_BYTES);
  while (tn_json_next(options, &member)) {
    tn_option *option = &s->options[s->n_options];
    if (tn_json_kind_of(member.value) == TN_JSON_NULL) {
      continue;
    }
    text.len = 0;
    st = tn_json_scalar_text(member.value, &text, p->err);
    if (st != TARN_OK) {
      st = tn_error_context(p->err, st, "%s: option '%s'", p->path, member.key);
      goto done;
    }
    TN_TRY_TO(done, copy_text(p, tn_slice_text(member.key), &option->key));
    TN_TRY_TO(done, copy_text(p, tn_buf_slice(&text), &option->value));
    s->n_options++;
  }
  if (s->version <= 1) {
    imply_option(s, "bucket", "1");
  }
  if (s->version <= 2) {
    imply_option(s, "file.format", "orc");
  }
done:
  tn_buf_reset(&text);
  return st;
}

static tarn_status get_int32(parser *p, const tn_json *root, const char *key, int32_t *out,
                             bool *is_present) {
  int64_t v = 0;
  TN_TRY(tn_json_get_int(root, key, p->path, &v, is_present, p->err));
  if (v < INT32_MIN || v > INT32_MAX) {
    return corrupt(p, "an impossible value of", key);
  }
  *out = (int32_t)v;
  return TARN_OK;
}

static tarn_status parse_schema(parser *p, const tn_json *root) {
  tn_schema *s = p->schema;
  tn_slice text;
  bool is_present;
  int32_t highest;
  if (tn_json_kind_of(root) != TN_JSON_OBJECT) {
    return tn_fail(p->err, TARN_E_CORRUPT, "%s: not a schema: no JSON object", p->path);
  }
  TN_TRY(get_int32(p, root, "version", &s->version, &is_present));
  if (!is_present) {
    s->version = 1;
  }
  TN_TRY(tn_json_get_int(root, "id", p->path, &s->id, NULL, p->err));
  TN_TRY(parse_fields(p, root));
  TN_TRY(get_int32(p, root, "highestFieldId", &highest, &is_present));
  if (is_present) {
    s->highest_field_id = highest;
  }
  TN_TRY(parse_keys(p, root));
  TN_TRY(parse_options(p, root));
  TN_TRY(tn_json_get_text(root, "comment", p->path, &text, &is_present, p->err));
  if (is_present) {
    TN_TRY(copy_text(p, text, &s->comment));
  }
  return tn_json_get_int(root, "timeMillis", p->path, &s->time_ms, &is_present, p->err);
}

tarn_status tn_schema_decode(tarn_env *env, tn_slice json, const char *path, tn_schema **out,
                             tarn_error *err) {
  parser p = {.path = path, .err = err};
  tn_json_doc *doc = NULL;
  tarn_status st = TARN_OK;
  *out = NULL;
  p.schema = tn_calloc(&env->mem, 1, sizeof(*p.schema));
  if (p.schema == NULL) {
    return tn_oom(err);
  }
  atomic_init(&p.schema->refs, 1);
  p.schema->env = env;
  tn_arena_init(&p.schema->arena, &env->mem, SIZE_MAX);
  tn_map_init(&p.columns, &env->mem);
  TN_TRY_TO(done, tn_json_parse(&env->mem, json, path, &doc, err));
  TN_TRY_TO(done, parse_schema(&p, tn_json_root(doc)));
  *out = p.schema;
done:
  tn_json_free(doc);
  tn_map_reset(&p.columns);
  if (st != TARN_OK) {
    tn_schema_release(p.schema);
  }
  return st;
}

/* ------------------------------------------------------------------ lifetime and cache */

tn_schema *tn_schema_retain(tn_schema *schema) {
  if (schema != NULL) {
    atomic_fetch_add_explicit(&schema->refs, 1, memory_order_relaxed);
  }
  return schema;
}

void tn_schema_release(tn_schema *schema) {
  if (schema != NULL && atomic_fetch_sub_explicit(&schema->refs, 1, memory_order_acq_rel) == 1) {
    tarn_env *env = schema->env;
    tn_arena_reset(&schema->arena);
    tn_free(&env->mem, schema);
  }
}

static void cache_retain(void *value) {
  (void)tn_schema_retain(value);
}

static void cache_release(void *value) {
  tn_schema_release(value);
}

static const tn_cache_ops cache_ops = {"schema", cache_retain, cache_release};

static tarn_status load(tarn_env *env, tn_storage *storage, const char *path, tn_schema **out,
                        tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_buf json;
  tn_buf_init(&json, &env->mem, MAX_SCHEMA_BYTES);
  TN_TRY_TO(done, tn_storage_read_all(storage, path, &json, err));
  TN_TRY_TO(done, tn_schema_decode(env, tn_buf_slice(&json), path, out, err));
done:
  tn_buf_reset(&json);
  return st;
}

/* A table that was dropped and made again has other schemas under the same names, so the key has
 * size and time of the file, too. */
static tarn_status load_cached(tarn_env *env, tn_storage *storage, tn_arena *arena,
                               const char *path, tn_schema **out, tarn_error *err) {
  tn_file_info info;
  const char *key;
  TN_TRY(tn_storage_info(storage, path, &info, err));
  key = tn_arena_printf(arena, "%s|%lld|%lld", path, (long long)info.size_bytes,
                        (long long)info.modified_ms);
  if (key == NULL) {
    return tn_oom(err);
  }
  *out = tn_cache_get(env->cache, &cache_ops, tn_slice_text(key));
  if (*out == NULL) {
    TN_TRY(load(env, storage, path, out, err));
    tn_cache_put(env->cache, &cache_ops, tn_slice_text(key), *out, (*out)->arena.held_bytes);
  }
  return TARN_OK;
}

tarn_status tn_schema_load(tarn_env *env, tn_storage *storage, const char *root, int64_t id,
                           tn_schema **out, tarn_error *err) {
  tarn_status st;
  tn_arena arena;
  const char *path;
  *out = NULL;
  tn_arena_init(&arena, &env->mem, SIZE_MAX);
  path = tn_arena_printf(&arena, "%s/schema/schema-%lld", root, (long long)id);
  st = path != NULL ? load_cached(env, storage, &arena, path, out, err) : tn_oom(err);
  tn_arena_reset(&arena);
  return st;
}

tarn_status tn_schema_ids(tarn_env *env, tn_storage *storage, const char *root, tn_arena *arena,
                          int64_t **ids, int32_t *n_ids, tarn_error *err) {
  const char *directory = tn_path_join(arena, root, "schema", NULL);
  (void)env;
  if (directory == NULL) {
    return tn_oom(err);
  }
  TN_TRY(tn_listing_numbers(storage, directory, "schema-", arena, ids, n_ids, err));
  if (*n_ids == 0) {
    return tn_fail(err, TARN_E_NOT_FOUND, "%s: no schema file is here", directory);
  }
  return TARN_OK;
}

tarn_status tn_options_to_json(const tn_option *options, int32_t n, tn_buf *out, tarn_error *err) {
  TN_TRY(tn_buf_text(out, "{", err));
  for (int32_t i = 0; i < n; i++) {
    TN_TRY(tn_buf_text(out, i > 0 ? "," : "", err));
    TN_TRY(tn_json_quote(out, tn_slice_text(options[i].key), err));
    TN_TRY(tn_buf_text(out, ":", err));
    TN_TRY(tn_json_quote(out, tn_slice_text(options[i].value), err));
  }
  return tn_buf_text(out, "}", err);
}

const char *tn_schema_option(const tn_schema *schema, const char *key) {
  for (int32_t i = 0; i < schema->n_options; i++) {
    if (strcmp(schema->options[i].key, key) == 0) {
      return schema->options[i].value;
    }
  }
  return NULL;
}
