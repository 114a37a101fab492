/* merge_options.c - options of merge engines: sequence groups, functions of columns. */
#include "model/merge_options.h"

#include <string.h>

#define PREFIX "fields."
#define GROUP_SUFFIX ".sequence-group"
#define REMOVE_ON_GROUP "partial-update.remove-record-on-sequence-group"
#define PARTIAL_REMOVE "partial-update.remove-record-on-delete"
#define AGGREGATION_REMOVE "aggregation.remove-record-on-delete"
#define DEFAULT_FUNCTION "last_non_null_value"

typedef struct reading {
  tn_arena *arena;
  const tn_options *options;
  const tn_schema *named_by, *schema;
  tn_merge_options *out;
} reading;

/* ------------------------------------------------------------------ names */

/* Is it "fields.<name><suffix>"? */
static bool is_about(const char *key, const char *suffix, tn_slice *name) {
  size_t len = strlen(key), around = strlen(PREFIX) + strlen(suffix);
  if (len <= around || strncmp(key, PREFIX, strlen(PREFIX)) != 0 ||
      strcmp(key + len - strlen(suffix), suffix) != 0) {
    return false;
  }
  *name = tn_slice_of(key + strlen(PREFIX), len - around);
  return true;
}

/* The next name of a comma separated list; false at its end. *list is NULL then. Empty names at the
 * end are none, as in Java's split. */
static bool next_name(const char **list, tn_slice *name) {
  const char *at = *list, *comma;
  if (at == NULL || at[strspn(at, ",")] == '\0') {
    return false;
  }
  comma = strchr(at, ',');
  *name = tn_slice_of(at, comma != NULL ? (size_t)(comma - at) : strlen(at));
  *list = comma != NULL ? comma + 1 : NULL;
  return true;
}

static size_t count_names(const char *list) {
  size_t n = 1;
  for (; *list != '\0'; list++) {
    n += *list == ',';
  }
  return n;
}

/* The column of the effective schema that an option names; -1: that schema has none. */
static tarn_status find_column(const reading *r, const char *option, tn_slice name, int32_t *out,
                               tarn_error *err) {
  int32_t at = tn_fields_find(r->named_by->fields, r->named_by->n_fields, name);
  *out = -1;
  if (at < 0) {
    return tn_fail(err, TARN_E_INVALID, "option '%s': field %.*s can not be found in table schema",
                   option, TN_SLICE_ARG(name));
  }
  *out = tn_fields_find_id(r->schema->fields, r->schema->n_fields, r->named_by->fields[at].id);
  return TARN_OK;
}

static tarn_status conflict(const char *option, const char *other, tarn_error *err) {
  return tn_fail(err, TARN_E_INVALID,
                 "options '%s' and '%s' have conflicting behavior so should not be enabled at the "
                 "same time",
                 option, other);
}

/* ------------------------------------------------------------------ sequence groups */

/* Where Java lets the order of a hash map decide between two groups, nothing is guessed here. */
static tarn_status join_group(reading *r, int32_t column, int32_t group, bool orders,
                              tarn_error *err) {
  tn_column_merge *c = &r->out->columns[column];
  if (c->group >= 0) {
    const char *first = r->out->groups[c->group].option, *second = r->out->groups[group].option;
    if (!c->orders_group && !orders) {
      return tn_fail(err, TARN_E_INVALID,
                     "field %s is defined repeatedly by multiple groups: options '%s' and '%s'",
                     r->schema->fields[column].name, first, second);
    }
    return tn_fail(err, TARN_E_UNSUPPORTED,
                   "column '%s' orders a sequence group and belongs to another: options '%s' and "
                   "'%s'",
                   r->schema->fields[column].name, first, second);
  }
  c->group = group;
  c->orders_group = orders;
  return TARN_OK;
}

static tarn_status read_group(reading *r, const tn_option *option, tn_slice names,
                              tarn_error *err) {
  int32_t index = r->out->n_groups;
  tn_sequence_group *g = &r->out->groups[index];
  char *list = tn_arena_alloc(r->arena, names.len + 1);
  const char *at = list;
  tn_slice name;
  g->option = option->key;
  if (list == NULL) {
    return tn_oom(err);
  }
  memcpy(list, names.data, names.len);
  list[names.len] = '\0';
  g->columns = tn_arena_calloc(r->arena, count_names(list), sizeof(*g->columns));
  if (g->columns == NULL) {
    return tn_oom(err);
  }
  r->out->n_groups++;
  while (next_name(&at, &name)) {
    int32_t column;
    TN_TRY(find_column(r, option->key, name, &column, err));
    if (column < 0) {
      return tn_fail(err, TARN_E_UNSUPPORTED,
                     "option '%s' names a column that schema %lld did not have yet", option->key,
                     (long long)r->schema->id);
    }
    g->columns[g->n_columns++] = column;
    TN_TRY(join_group(r, column, index, true, err));
  }
  for (at = option->value; next_name(&at, &name);) {
    int32_t column;
    TN_TRY(find_column(r, option->key, name, &column, err));
    if (column >= 0 && !(r->out->columns[column].group == index)) {
      TN_TRY(join_group(r, column, index, false, err));
    }
  }
  return TARN_OK;
}

static tarn_status read_groups(reading *r, tarn_error *err) {
  size_t n = 0;
  tn_slice names;
  for (int32_t i = 0; i < r->options->count; i++) {
    n += is_about(r->options->items[i].key, GROUP_SUFFIX, &names);
  }
  r->out->groups = tn_arena_calloc(r->arena, n + 1, sizeof(*r->out->groups));
  if (r->out->groups == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < r->options->count; i++) {
    if (is_about(r->options->items[i].key, GROUP_SUFFIX, &names)) {
      TN_TRY(read_group(r, &r->options->items[i], names, err));
    }
  }
  return TARN_OK;
}

static tarn_status read_removing_groups(reading *r, const char *list, tarn_error *err) {
  tn_slice name;
  for (const char *at = list; next_name(&at, &name);) {
    int32_t column = -1;
    if (tn_fields_find(r->named_by->fields, r->named_by->n_fields, name) >= 0) {
      TN_TRY(find_column(r, REMOVE_ON_GROUP, name, &column, err));
    }
    if (column < 0 || !r->out->columns[column].orders_group) {
      return tn_fail(err, TARN_E_INVALID,
                     "field '%.*s' defined in '%s' option must be part of sequence groups",
                     TN_SLICE_ARG(name), REMOVE_ON_GROUP);
    }
    r->out->groups[r->out->columns[column].group].removes_record = true;
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ columns */

static bool is_primary_key(const tn_schema *schema, const tn_field *field) {
  for (int32_t i = 0; i < schema->n_primary_keys; i++) {
    if (strcmp(schema->primary_keys[i], field->name) == 0) {
      return true;
    }
  }
  return false;
}

typedef enum column_option_type { TEXT, BOOLEAN, INTEGER } column_option_type;

/* fields.<column>.<suffix> */
static const struct {
  const char *suffix;
  column_option_type type;
  size_t offset; /* in tn_column_merge */
} column_options[] = {
    {".aggregate-function", TEXT, offsetof(tn_column_merge, function)},
    {".ignore-retract", BOOLEAN, offsetof(tn_column_merge, ignores_retract)},
    {".distinct", BOOLEAN, offsetof(tn_column_merge, is_distinct)},
    {".list-agg-delimiter", TEXT, offsetof(tn_column_merge, delimiter)},
    {".count-limit", INTEGER, offsetof(tn_column_merge, count_limit)},
    {".nested-key", TEXT, offsetof(tn_column_merge, nested_key)},
    {".ts-field", TEXT, offsetof(tn_column_merge, time_field)},
};

static tarn_status put_value(const reading *r, const tn_option *option, column_option_type type,
                             void *to, tarn_error *err) {
  int64_t number;
  switch (type) {
    case TEXT:
      *(const char **)to = option->value;
      return TARN_OK;
    case BOOLEAN:
      return tn_options_bool(r->options, option->key, to, err);
    case INTEGER:
      TN_TRY(tn_options_int(r->options, option->key, &number, NULL, err));
      *(int32_t *)to = (int32_t)number;
      return TARN_OK;
  }
  return TN_BUG(err, "a type of option");
}

/* Take one option, if it is about a column. Names that are no columns are of no concern here. */
static tarn_status read_column_option(const reading *r, const tn_option *option, tarn_error *err) {
  for (size_t i = 0; i < TN_COUNT(column_options); i++) {
    const tn_schema *names = r->named_by;
    tn_slice name;
    int32_t at;
    if (!is_about(option->key, column_options[i].suffix, &name)) {
      continue;
    }
    at = tn_fields_find(names->fields, names->n_fields, name);
    at = at < 0 ? -1
                : tn_fields_find_id(r->schema->fields, r->schema->n_fields, names->fields[at].id);
    return at < 0 ? TARN_OK
                  : put_value(r, option, column_options[i].type,
                              (char *)&r->out->columns[at] + column_options[i].offset, err);
  }
  return TARN_OK;
}

/* The function that a column is merged with, and whether it may have one. */
static tarn_status choose_function(const reading *r, int32_t column, bool is_partial_update,
                                   const char *default_function, tarn_error *err) {
  tn_column_merge *c = &r->out->columns[column];
  const char *name = r->schema->fields[column].name;
  c->is_key = is_primary_key(r->schema, &r->schema->fields[column]);
  c->function = c->is_key || c->orders_group ? NULL
                : c->function != NULL        ? c->function
                                             : default_function;
  if (!is_partial_update) {
    c->function = c->function == NULL && !c->is_key ? DEFAULT_FUNCTION : c->function;
    return c->ignores_retract && r->out->removes_record_on_delete
               ? conflict(AGGREGATION_REMOVE, "fields.*.ignore-retract", err)
               : TARN_OK;
  }
  if (c->function != NULL && c->group < 0 && strcmp(c->function, DEFAULT_FUNCTION) != 0) {
    return tn_fail(err, TARN_E_INVALID,
                   "must use sequence group for aggregation functions but not found for field %s",
                   name);
  }
  return TARN_OK;
}

static tarn_status read_columns(const reading *r, bool is_partial_update, tarn_error *err) {
  const char *default_function = tn_options_get(r->options, "fields.default-aggregate-function");
  for (int32_t i = 0; i < r->options->count; i++) {
    TN_TRY(read_column_option(r, &r->options->items[i], err));
  }
  for (int32_t i = 0; i < r->schema->n_fields; i++) {
    TN_TRY(choose_function(r, i, is_partial_update, default_function, err));
  }
  return TARN_OK;
}

static tarn_status read_partial_update(reading *r, tarn_error *err) {
  const char *removing = tn_options_get(r->options, REMOVE_ON_GROUP);
  bool ignores_delete;
  TN_TRY(tn_options_bool(r->options, PARTIAL_REMOVE, &r->out->removes_record_on_delete, err));
  TN_TRY(tn_options_bool(r->options, "ignore-delete", &ignores_delete, err));
  TN_TRY(read_groups(r, err));
  if (ignores_delete && r->out->removes_record_on_delete) {
    return conflict("ignore-delete", PARTIAL_REMOVE, err);
  }
  if (ignores_delete && removing != NULL) {
    return conflict("ignore-delete", REMOVE_ON_GROUP, err);
  }
  if (r->out->removes_record_on_delete && r->out->n_groups > 0) {
    return conflict(r->out->groups[0].option, PARTIAL_REMOVE, err);
  }
  return removing != NULL ? read_removing_groups(r, removing, err) : TARN_OK;
}

tarn_status tn_merge_options_read(tn_arena *arena, const tn_options *options,
                                  const tn_schema *named_by, const tn_schema *schema,
                                  bool is_partial_update, const int32_t *sequence_columns,
                                  int32_t n_sequence_columns, tn_merge_options **out,
                                  tarn_error *err) {
  tn_merge_options *o = tn_arena_calloc(arena, 1, sizeof(*o));
  reading r = {arena, options, named_by, schema, o};
  *out = NULL;
  if (o == NULL) {
    return tn_oom(err);
  }
  o->n_columns = schema->n_fields;
  o->columns = tn_arena_calloc(arena, (size_t)schema->n_fields + 1, sizeof(*o->columns));
  if (o->columns == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < schema->n_fields; i++) {
    o->columns[i].group = -1;
    o->columns[i].delimiter = ",";
    o->columns[i].count_limit = INT32_MAX;
  }
  if (is_partial_update) {
    TN_TRY(read_partial_update(&r, err));
  } else {
    TN_TRY(tn_options_bool(options, AGGREGATION_REMOVE, &o->removes_record_on_delete, err));
  }
  TN_TRY(read_columns(&r, is_partial_update, err));
  for (int32_t i = 0; i < n_sequence_columns && !is_partial_update; i++) {
    o->columns[sequence_columns[i]].function = "last_value";
  }
  *out = o;
  return TARN_OK;
}

bool tn_merge_options_needs(const tn_merge_options *options, const bool *wanted, int32_t column) {
  const tn_column_merge *c = &options->columns[column];
  if (wanted[column]) {
    return true;
  }
  if (!c->orders_group) {
    return false;
  }
  if (options->groups[c->group].removes_record) {
    return true;
  }
  for (int32_t i = 0; i < options->n_columns; i++) {
    if (wanted[i] && options->columns[i].group == c->group) {
      return true;
    }
  }
  return false;
}
