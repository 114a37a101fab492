/* schema_json_in.c - new tables and changes of tables as users write them. */
#include "model/schema_json_in.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "model/java_map.h"
#include "model/schema_write.h"

#define MAX_FIELDS ((size_t)1 << 20)
#define MAX_CHANGES ((size_t)1 << 20)

/* ------------------------------------------------------------------ JSON of users */

/* Their JSON is no file that could be corrupt. */
static tarn_status as_invalid(tarn_status st, tarn_error *err) {
  if (st == TARN_E_CORRUPT) {
    st = TARN_E_INVALID;
    if (err != NULL) {
      err->status = st;
    }
  }
  return st;
}

typedef struct reader {
  tn_arena *arena;
  const char *what; /* for messages */
  tarn_error *err;
} reader;

static tarn_status refuse(const reader *r, const char *key, const char *expected) {
  return tn_fail(r->err, TARN_E_INVALID, "%s: \"%s\" is not %s", r->what, key, expected);
}

static tarn_status copy(const reader *r, tn_slice text, const char **out) {
  if (text.len > 0 && memchr(text.data, '\0', text.len) != NULL) {
    return tn_fail(
        r->err, TARN_E_INVALID,
        "%s: \"%s\\u0000...\": a NUL character cannot stand in names, comments and values "
        "of options",
        r->what, (const char *)text.data);
  }
  *out = tn_arena_strndup(r->arena, (const char *)text.data, text.len);
  return *out != NULL ? TARN_OK : tn_oom(r->err);
}

/* Members that are not among the known ones. */
static tarn_status check_members(const reader *r, const tn_json *object, const char *const *known,
                                 size_t n_known) {
  tn_json_member member = {0};
  if (tn_json_kind_of(object) != TN_JSON_OBJECT) {
    return tn_fail(r->err, TARN_E_INVALID, "%s: expected a JSON object", r->what);
  }
  while (tn_json_next(object, &member)) {
    tn_nearest nearest;
    size_t i = 0;
    tn_nearest_init(&nearest, tn_slice_text(member.key));
    while (i < n_known && strcmp(known[i], member.key) != 0) {
      tn_nearest_offer(&nearest, known[i++]);
    }
    if (i == n_known) {
      return tn_fail(r->err, TARN_E_INVALID, "%s: unknown member \"%s\"%s", r->what, member.key,
                     tn_nearest_hint(&nearest).text);
    }
  }
  return TARN_OK;
}

/* A text, or NULL when it is absent or null. */
static tarn_status get_text(const reader *r, const tn_json *object, const char *key,
                            const char **out) {
  const tn_json *value = tn_json_get(object, key);
  tn_slice text;
  *out = NULL;
  if (value == NULL) {
    return TARN_OK;
  }
  return tn_json_text(value, &text) ? copy(r, text, out) : refuse(r, key, "a string");
}

static tarn_status need_text(const reader *r, const tn_json *object, const char *key,
                             const char **out) {
  TN_TRY(get_text(r, object, key, out));
  return *out != NULL ? TARN_OK
                      : tn_fail(r->err, TARN_E_INVALID, "%s: \"%s\" is missing", r->what, key);
}

/* A text, number or boolean as text. */
static tarn_status get_scalar(const reader *r, const tn_json *value, const char *key,
                              const char **out) {
  tn_buf text;
  tarn_status st;
  tn_buf_init(&text, r->arena->mem, (size_t)1 << 24);
  st = tn_json_scalar_text(value, &text, r->err);
  st = st == TARN_E_CORRUPT ? refuse(r, key, "a string, number or boolean")
       : st == TARN_OK      ? copy(r, tn_buf_slice(&text), out)
                            : st;
  tn_buf_reset(&text);
  return st;
}

static tarn_status get_names(const reader *r, const tn_json *value, const char *key,
                             const char ***out, int32_t *n_out) {
  size_t n = tn_json_count(value);
  if (value != NULL && (tn_json_kind_of(value) != TN_JSON_ARRAY || n > MAX_FIELDS)) {
    return refuse(r, key, "a list of names");
  }
  *out = tn_arena_calloc(r->arena, n + 1, sizeof(**out));
  *n_out = (int32_t)n;
  if (*out == NULL) {
    return tn_oom(r->err);
  }
  for (size_t i = 0; i < n; i++) {
    tn_slice name;
    if (!tn_json_text(tn_json_at(value, i), &name)) {
      return refuse(r, key, "a list of names");
    }
    TN_TRY(copy(r, name, &(*out)[i]));
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ new tables */

/* Rule: Schema.Builder.column: a column's own id comes before those inside it. */
static tarn_status read_field(reader *r, const tn_json *json, int32_t *next_id, tn_field *out) {
  static const char *const known[] = {"name", "type", "description", "default"};
  const char *type;
  tarn_status st;
  r->what = "schema: a field";
  TN_TRY(check_members(r, json, known, TN_COUNT(known)));
  TN_TRY(need_text(r, json, "name", &out->name));
  TN_TRY(need_text(r, json, "type", &type));
  out->id = (*next_id)++;
  st = tn_type_from_sql(r->arena, type, next_id, &out->type, r->err);
  if (st != TARN_OK) {
    return tn_error_context(r->err, st, "schema: field '%s'", out->name);
  }
  TN_TRY(get_text(r, json, "description", &out->description));
  return get_text(r, json, "default", &out->default_value);
}

static tarn_status read_fields(reader *r, const tn_json *json, tn_schema *out) {
  size_t n = tn_json_count(json);
  int32_t next_id = 0;
  if (tn_json_kind_of(json) != TN_JSON_ARRAY || n > MAX_FIELDS) {
    return refuse(r, "fields", "a list of fields");
  }
  out->fields = tn_arena_calloc(r->arena, n + 1, sizeof(*out->fields));
  if (out->fields == NULL) {
    return tn_oom(r->err);
  }
  out->n_fields = (int32_t)n;
  for (size_t i = 0; i < n; i++) {
    TN_TRY(read_field(r, tn_json_at(json, i), &next_id, &out->fields[i]));
  }
  out->highest_field_id = next_id - 1;
  r->what = "schema";
  return TARN_OK;
}

/* In the order of Java's HashMap.putAll into an empty map. */
static tarn_status read_options(const reader *r, const tn_json *json, tn_schema *out) {
  tn_json_member member = {0};
  tn_java_map options;
  if (json != NULL && tn_json_kind_of(json) != TN_JSON_OBJECT) {
    return refuse(r, "options", "an object");
  }
  tn_java_map_init(&options, r->arena, tn_json_count(json));
  while (tn_json_next(json, &member)) {
    const char *key, *value;
    TN_TRY(copy(r, tn_slice_text(member.key), &key));
    TN_TRY(get_scalar(r, member.value, member.key, &value));
    TN_TRY(tn_java_map_put(&options, key, value, r->err));
  }
  TN_TRY(tn_java_map_sort(&options, r->err));
  out->options = options.items;
  out->n_options = (int32_t)options.count;
  return TARN_OK;
}

static tarn_status read_schema(reader *r, const tn_json *root, tn_schema *out) {
  static const char *const known[] = {"fields", "primaryKeys", "partitionKeys", "options",
                                      "comment"};
  TN_TRY(check_members(r, root, known, TN_COUNT(known)));
  TN_TRY(read_fields(r, tn_json_get(root, "fields"), out));
  TN_TRY(get_names(r, tn_json_get(root, "primaryKeys"), "primaryKeys", &out->primary_keys,
                   &out->n_primary_keys));
  TN_TRY(get_names(r, tn_json_get(root, "partitionKeys"), "partitionKeys", &out->partition_keys,
                   &out->n_partition_keys));
  TN_TRY(read_options(r, tn_json_get(root, "options"), out));
  return get_text(r, root, "comment", &out->comment);
}

tarn_status tn_schema_from_json(tarn_env *env, tn_slice json, tn_schema *out, tarn_error *err) {
  reader r = {&out->arena, "schema", err};
  tn_json_doc *doc = NULL;
  tarn_status st;
  memset(out, 0, sizeof(*out));
  out->env = env;
  out->version = TN_SCHEMA_VERSION;
  out->time_ms = tn_env_now_ms(env);
  tn_arena_init(&out->arena, &env->mem, SIZE_MAX);
  TN_TRY_TO(done, tn_json_parse(&env->mem, json, "schema", &doc, err));
  TN_TRY_TO(done, read_schema(&r, tn_json_root(doc), out));
done:
  tn_json_free(doc);
  return as_invalid(st, err);
}

/* ------------------------------------------------------------------ changes */

enum { HAS_PATH = 1, HAS_KEY = 2, HAS_TYPE = 4, HAS_MOVE = 8, NEEDS_MOVE = 16, HAS_FLAG = 32 };

/* A change is told by its first member of these. */
static const struct {
  const char *name;
  tn_change_kind kind;
  unsigned has;
  const char *text; /* the member that gives `text` */
  bool needs_text;
} change_forms[] = {
    {"add", TN_CHANGE_ADD, HAS_PATH | HAS_TYPE | HAS_MOVE, "comment", false},
    {"drop", TN_CHANGE_DROP, HAS_PATH, NULL, false},
    {"rename", TN_CHANGE_RENAME, HAS_PATH, "to", true},
    {"retype", TN_CHANGE_RETYPE, HAS_PATH | HAS_TYPE, NULL, false},
    {"nullable", TN_CHANGE_NULLABLE, HAS_PATH | HAS_FLAG, NULL, false},
    {"move", TN_CHANGE_MOVE, HAS_PATH | HAS_MOVE | NEEDS_MOVE, NULL, false},
    {"describe", TN_CHANGE_DESCRIBE, HAS_PATH, "comment", false},
    {"default", TN_CHANGE_DEFAULT, HAS_PATH, "value", false},
    {"set", TN_CHANGE_SET, HAS_KEY, "value", true},
    {"reset", TN_CHANGE_RESET, HAS_KEY, NULL, false},
    {"table_comment", TN_CHANGE_TABLE_COMMENT, 0, "table_comment", false},
    {"drop_primary_key", TN_CHANGE_DROP_PRIMARY_KEY, 0, NULL, false},
};

static const struct {
  const char *name;
  tn_move_kind kind;
  bool has_reference;
} move_forms[] = {
    {"first", TN_MOVE_FIRST, false},
    {"last", TN_MOVE_LAST, false},
    {"after", TN_MOVE_AFTER, true},
    {"before", TN_MOVE_BEFORE, true},
};

/* The members that a form may have. */
static size_t members_of(size_t form, const char *out[8]) {
  unsigned has = change_forms[form].has;
  size_t n = 0;
  out[n++] = change_forms[form].name;
  if ((has & HAS_TYPE) != 0) {
    out[n++] = "type";
  }
  if ((has & HAS_FLAG) != 0) {
    out[n++] = "value";
  }
  if (change_forms[form].text != NULL && strcmp(change_forms[form].text, out[0]) != 0) {
    out[n++] = change_forms[form].text;
  }
  for (size_t i = 0; i < TN_COUNT(move_forms) && (has & HAS_MOVE) != 0; i++) {
    out[n++] = move_forms[i].name;
  }
  return n;
}

/* "a.b.c", or a list of names. Rule: String.split: empty steps at the end are none. */
static tarn_status read_path(const reader *r, const tn_json *value, const char *key,
                             tn_schema_change *out) {
  const char **steps = NULL;
  tn_slice text;
  size_t n = 1;
  if (!tn_json_text(value, &text)) {
    TN_TRY(get_names(r, value, key, &steps, &out->n_path));
    out->path = steps;
    return out->n_path > 0 ? TARN_OK : refuse(r, key, "the name of a column");
  }
  for (size_t i = 0; i < text.len; i++) {
    n += text.data[i] == '.';
  }
  steps = tn_arena_calloc(r->arena, n, sizeof(*steps));
  if (steps == NULL) {
    return tn_oom(r->err);
  }
  out->path = steps;
  for (size_t i = 0, begin = 0; i <= text.len; i++) {
    if (i == text.len || text.data[i] == '.') {
      if (i == begin) {
        return tn_fail(r->err, TARN_E_INVALID, "%s: a step of \"%.*s\" is empty", r->what,
                       TN_SLICE_ARG(text));
      }
      TN_TRY(copy(r, tn_slice_of(text.data + begin, i - begin), &steps[out->n_path]));
      out->n_path++;
      begin = i + 1;
    }
  }
  return TARN_OK;
}

static tarn_status read_move(const reader *r, const tn_json *json, bool is_needed,
                             tn_schema_change *out) {
  for (size_t i = 0; i < TN_COUNT(move_forms); i++) {
    const char *name = move_forms[i].name;
    const tn_json *value = tn_json_get(json, name);
    bool flag = false;
    if (value == NULL) {
      continue;
    }
    if (out->move != TN_MOVE_NONE) {
      return tn_fail(r->err, TARN_E_INVALID, "%s: more than one place for a column", r->what);
    }
    if (move_forms[i].has_reference) {
      TN_TRY(need_text(r, json, name, &out->reference));
    } else if (!tn_json_bool(value, &flag) || !flag) {
      return refuse(r, name, "true");
    }
    out->move = move_forms[i].kind;
  }
  return !is_needed || out->move != TN_MOVE_NONE
             ? TARN_OK
             : tn_fail(r->err, TARN_E_INVALID,
                       "%s: where to is missing: \"first\", \"last\", \"after\" or \"before\"",
                       r->what);
}

static tarn_status read_change(reader *r, const tn_json *json, tn_schema_change *out) {
  const char *members[8];
  tn_json_member member = {0};
  size_t form = TN_COUNT(change_forms);
  unsigned has;
  if (tn_json_kind_of(json) != TN_JSON_OBJECT) {
    return tn_fail(r->err, TARN_E_INVALID, "%s: expected a JSON object", r->what);
  }
  while (tn_json_next(json, &member) && form == TN_COUNT(change_forms)) {
    for (form = 0;
         form < TN_COUNT(change_forms) && strcmp(change_forms[form].name, member.key) != 0;) {
      form++;
    }
  }
  if (form == TN_COUNT(change_forms)) {
    return tn_fail(r->err, TARN_E_INVALID,
                   "%s: not a change: one is \"add\", \"drop\", \"rename\", \"retype\", "
                   "\"nullable\", \"move\", \"describe\", \"default\", \"set\", \"reset\", "
                   "\"table_comment\" or \"drop_primary_key\"",
                   r->what);
  }
  TN_TRY(check_members(r, json, members, members_of(form, members)));
  out->kind = change_forms[form].kind;
  has = change_forms[form].has;
  if ((has & HAS_PATH) != 0) {
    TN_TRY(read_path(r, tn_json_get(json, members[0]), members[0], out));
  }
  if ((has & HAS_KEY) != 0) {
    TN_TRY(need_text(r, json, members[0], &out->key));
  }
  if ((has & HAS_TYPE) != 0) {
    TN_TRY(need_text(r, json, "type", &out->type_text));
  }
  if ((has & HAS_FLAG) != 0 && !tn_json_bool(tn_json_get(json, "value"), &out->flag)) {
    return refuse(r, "value", "true or false");
  }
  if ((has & HAS_MOVE) != 0) {
    TN_TRY(read_move(r, json, (has & NEEDS_MOVE) != 0, out));
  }
  if (change_forms[form].text != NULL && tn_json_get(json, change_forms[form].text) != NULL) {
    TN_TRY(get_scalar(r, tn_json_get(json, change_forms[form].text), change_forms[form].text,
                      &out->text));
  }
  return out->text != NULL || !change_forms[form].needs_text
             ? TARN_OK
             : tn_fail(r->err, TARN_E_INVALID, "%s: \"%s\" is missing", r->what,
                       change_forms[form].text);
}

static tarn_status read_changes(reader *r, const tn_json *root, tn_schema_change **changes,
                                int32_t *n_changes) {
  size_t n = tn_json_count(root);
  if (tn_json_kind_of(root) != TN_JSON_ARRAY || n > MAX_CHANGES) {
    return tn_fail(r->err, TARN_E_INVALID, "changes: expected a JSON list of changes");
  }
  *changes = tn_arena_calloc(r->arena, n + 1, sizeof(**changes));
  if (*changes == NULL) {
    return tn_oom(r->err);
  }
  for (size_t i = 0; i < n; i++) {
    char where[40];
    (void)snprintf(where, sizeof(where), "change %zu", i + 1);
    r->what = where;
    TN_TRY(read_change(r, tn_json_at(root, i), &(*changes)[i]));
    r->what = "changes";
  }
  *n_changes = (int32_t)n;
  return TARN_OK;
}

tarn_status tn_changes_from_json(tn_arena *arena, tn_slice json, tn_schema_change **changes,
                                 int32_t *n_changes, tarn_error *err) {
  reader r = {arena, "changes", err};
  tn_json_doc *doc = NULL;
  tarn_status st;
  *changes = NULL;
  *n_changes = 0;
  TN_TRY_TO(done, tn_json_parse(arena->mem, json, "changes", &doc, err));
  TN_TRY_TO(done, read_changes(&r, tn_json_root(doc), changes, n_changes));
done:
  tn_json_free(doc);
  return as_invalid(st, err);
}
