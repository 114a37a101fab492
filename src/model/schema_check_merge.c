/* schema_check_merge.c - rules about merging: sequence fields and groups, functions of columns,
 * changelogs. */
#include "model/schema_check_parts.h"

#include <string.h>

/* ------------------------------------------------------------------ merging */

#define FIELDS "fields."

/* Rule: SchemaValidation.validateFieldsPrefix. */
tarn_status tn_check_fields_options(tn_check *c, tarn_error *err) {
  for (int32_t i = 0; i < c->options.count; i++) {
    const char *key = c->options.items[i].key, *names, *end;
    char *list;
    tn_name_list columns;
    if (strncmp(key, FIELDS, strlen(FIELDS)) != 0) {
      continue;
    }
    names = key + strlen(FIELDS);
    end = strchr(names, '.');
    list = tn_arena_strndup(c->arena, names, end != NULL ? (size_t)(end - names) : strlen(names));
    if (list == NULL) {
      return tn_oom(err);
    }
    TN_TRY(tn_list_split(c->arena, list, TN_SPLIT_PLAIN, &columns, err));
    for (int32_t k = 0; k < columns.n; k++) {
      if (strcmp(columns.names[k], "default-aggregate-function") != 0 &&
          tn_check_field(c, columns.names[k]) == NULL) {
        return tn_fail(err, TARN_E_INVALID, "Field %s can not be found in table schema.",
                       columns.names[k]);
      }
    }
  }
  return TARN_OK;
}

/* fields.<column>.<suffix>; NULL: not set. */
static tarn_status get_of_column(const tn_check *c, const char *column, const char *suffix,
                                 const char **out, tarn_error *err) {
  const char *key = tn_arena_printf(c->arena, FIELDS "%s.%s", column, suffix);
  if (key == NULL) {
    return tn_oom(err);
  }
  *out = tn_check_get(c, key);
  return TARN_OK;
}

/* Rule: SchemaValidation.validateSequenceField. */
tarn_status tn_check_sequence(tn_check *c, tarn_error *err) {
  const tn_schema *s = c->schema;
  if (c->sequence.n == 0) {
    return TARN_OK;
  }
  for (int32_t i = 0; i < c->sequence.n; i++) {
    const char *name = c->sequence.names[i], *function;
    if (tn_check_field(c, name) == NULL) {
      return tn_fail(err, TARN_E_INVALID, "Sequence field: '%s' can not be found in table schema.",
                     name);
    }
    TN_TRY(get_of_column(c, name, "aggregate-function", &function, err));
    if (function != NULL) {
      return tn_fail(err, TARN_E_INVALID, "Should not define aggregation on sequence field: '%s'.",
                     name);
    }
    if (tn_list_has(c->sequence.names, i, name) ||
        tn_list_has(c->sequence.names + i + 1, c->sequence.n - i - 1, name)) {
      return tn_fail(err, TARN_E_INVALID, "Sequence field '%s' is defined repeatedly.", name);
    }
  }
  if (c->engine == TN_ENGINE_FIRST_ROW) {
    return tn_fail(err, TARN_E_INVALID,
                   "Do not support use sequence field on FIRST_ROW merge engine.");
  }
  if (c->has_key && !tn_list_has_all(s->primary_keys, s->n_primary_keys, s->partition_keys,
                                     s->n_partition_keys)) {
    return tn_fail(err, TARN_E_INVALID,
                   "You can not use sequence.field in cross partition update case (Primary key "
                   "constraint '%s' not include all partition fields '%s').",
                   tn_list_text_of(s->primary_keys, s->n_primary_keys).text,
                   tn_list_text_of(s->partition_keys, s->n_partition_keys).text);
  }
  return TARN_OK;
}

#define GROUP_SUFFIX ".sequence-group"
#define IGNORE_DELETE "ignore-delete"
#define REMOVE_ON_DELETE "partial-update.remove-record-on-delete"
#define REMOVE_ON_GROUP "partial-update.remove-record-on-sequence-group"

/* A column of partial-update. */
typedef struct group_place {
  int32_t group; /* -1: none */
  bool orders;
} group_place;

static tarn_status join_group(const tn_check *c, group_place *places, const char *name,
                              int32_t group, bool orders, const char *option, tarn_error *err) {
  int32_t at = tn_fields_find(c->schema->fields, c->schema->n_fields, tn_slice_text(name));
  if (at < 0) {
    return tn_fail(err, TARN_E_INVALID, "Field %s can not be found in table schema", name);
  }
  if (places[at].group >= 0 && places[at].group != group && !(orders && places[at].orders)) {
    return tn_fail(err, TARN_E_INVALID, "Field %s is defined repeatedly by multiple groups: %s",
                   name, option);
  }
  places[at].group = group;
  places[at].orders = places[at].orders || orders;
  return TARN_OK;
}

static tarn_status read_groups(const tn_check *c, group_place *places, int32_t *n_groups,
                               tarn_error *err) {
  *n_groups = 0;
  for (int32_t i = 0; i < c->options.count; i++) {
    const tn_option *o = &c->options.items[i];
    size_t n = strlen(o->key), around = strlen(FIELDS) + strlen(GROUP_SUFFIX);
    tn_name_list names;
    char *list;
    if (n <= around || strncmp(o->key, FIELDS, strlen(FIELDS)) != 0 ||
        strcmp(o->key + n - strlen(GROUP_SUFFIX), GROUP_SUFFIX) != 0) {
      continue;
    }
    list = tn_arena_strndup(c->arena, o->key + strlen(FIELDS), n - around);
    if (list == NULL) {
      return tn_oom(err);
    }
    TN_TRY(tn_list_split(c->arena, list, TN_SPLIT_PLAIN, &names, err));
    for (int32_t k = 0; k < names.n; k++) {
      TN_TRY(join_group(c, places, names.names[k], *n_groups, true, o->key, err));
    }
    TN_TRY(tn_list_split(c->arena, o->value, TN_SPLIT_PLAIN, &names, err));
    for (int32_t k = 0; k < names.n; k++) {
      if (tn_list_has(names.names, k, names.names[k])) {
        return tn_fail(err, TARN_E_INVALID, "Field %s is defined repeatedly by multiple groups: %s",
                       names.names[k], o->key);
      }
      TN_TRY(join_group(c, places, names.names[k], *n_groups, false, o->key, err));
    }
    ++*n_groups;
  }
  return TARN_OK;
}

static tarn_status conflict(const char *first, const char *second, tarn_error *err) {
  return tn_fail(err, TARN_E_INVALID,
                 "%s and %s have conflicting behavior so should not be enabled at the same time.",
                 first, second);
}

/* Rule: PartialUpdateMergeFunction.getAggFuncName. */
static tarn_status check_group_functions(const tn_check *c, const group_place *places,
                                         tarn_error *err) {
  const char *otherwise = tn_check_get(c, "fields.default-aggregate-function");
  for (int32_t i = 0; i < c->schema->n_fields; i++) {
    const char *name = c->schema->fields[i].name, *function;
    if (places[i].orders || tn_list_has(c->schema->primary_keys, c->schema->n_primary_keys, name)) {
      continue;
    }
    TN_TRY(get_of_column(c, name, "aggregate-function", &function, err));
    function = function != NULL ? function : otherwise;
    if (function != NULL && strcmp(function, "last_non_null_value") != 0 && places[i].group < 0) {
      return tn_fail(err, TARN_E_INVALID,
                     "Must use sequence group for aggregation functions but not found for field "
                     "%s.",
                     name);
    }
  }
  return TARN_OK;
}

static tarn_status check_removing_groups(const tn_check *c, const group_place *places,
                                         const char *removing, tarn_error *err) {
  tn_name_list names;
  TN_TRY(tn_list_split(c->arena, removing, TN_SPLIT_PLAIN, &names, err));
  for (int32_t i = 0; i < names.n; i++) {
    int32_t at =
        tn_fields_find(c->schema->fields, c->schema->n_fields, tn_slice_text(names.names[i]));
    if (at < 0 || !places[at].orders) {
      return tn_fail(err, TARN_E_INVALID,
                     "field '%s' defined in '%s' option must be part of sequence groups", removing,
                     REMOVE_ON_GROUP);
    }
  }
  return TARN_OK;
}

/* Rule: PartialUpdateMergeFunction.Factory. */
tarn_status tn_check_partial_update(tn_check *c, tarn_error *err) {
  const char *removing = tn_check_get(c, REMOVE_ON_GROUP);
  bool ignores_delete, removes;
  int32_t n_groups;
  group_place *places;
  if (!c->has_key || c->engine != TN_ENGINE_PARTIAL_UPDATE) {
    return TARN_OK;
  }
  places = tn_arena_calloc(c->arena, (size_t)c->schema->n_fields + 1, sizeof(*places));
  if (places == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < c->schema->n_fields; i++) {
    places[i].group = -1;
  }
  TN_TRY(tn_check_is_on(c, IGNORE_DELETE, &ignores_delete, err));
  TN_TRY(tn_check_is_on(c, REMOVE_ON_DELETE, &removes, err));
  TN_TRY(read_groups(c, places, &n_groups, err));
  TN_TRY(check_group_functions(c, places, err));
  if (removes && ignores_delete) {
    return conflict(IGNORE_DELETE, REMOVE_ON_DELETE, err);
  }
  if (removing != NULL && ignores_delete) {
    return conflict(IGNORE_DELETE, REMOVE_ON_GROUP, err);
  }
  if (removes && n_groups > 0) {
    return conflict("sequence-group", REMOVE_ON_DELETE, err);
  }
  return removing != NULL ? check_removing_groups(c, places, removing, err) : TARN_OK;
}

/* Rule: SchemaValidation.validateMergeFunctionFactory. */
tarn_status tn_check_functions(tn_check *c, tarn_error *err) {
  static const char *const known[] = {
      "bool_and",
      "bool_or",
      "collect",
      "first_non_null_value",
      "first_not_null_value",
      "first_value",
      "hll_sketch",
      "last_non_null_value",
      "last_value",
      "listagg",
      "max",
      "merge_map",
      "merge_map_with_keytime",
      "min",
      "nested_partial_update",
      "nested_update",
      "primary-key",
      "product",
      "rbm32",
      "rbm64",
      "sum",
      "theta_sketch",
  };
  const char *otherwise = tn_check_get(c, "fields.default-aggregate-function");
  if (!c->has_key || c->engine == TN_ENGINE_DEDUPLICATE || c->engine == TN_ENGINE_FIRST_ROW) {
    return TARN_OK;
  }
  for (int32_t i = 0; i < c->schema->n_fields; i++) {
    const char *function;
    TN_TRY(get_of_column(c, c->schema->fields[i].name, "aggregate-function", &function, err));
    function = function != NULL ? function : otherwise;
    if (function != NULL && !tn_list_has(known, (int32_t)TN_COUNT(known), function)) {
      return tn_fail(err, TARN_E_INVALID,
                     "Could not find any factory for identifier '%s' that implements "
                     "'org.apache.paimon.mergetree.compact.aggregate.factory."
                     "FieldAggregatorFactory' in the classpath.",
                     function);
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ changelogs */

tarn_status tn_check_changelog(tn_check *c, tarn_error *err) {
  bool overwrite;
  if (!c->has_key && c->producer != TN_CHANGELOG_NONE) {
    return tn_fail(err, TARN_E_INVALID,
                   "Can not set changelog-producer on table without primary keys, please define "
                   "primary keys.");
  }
  TN_TRY(tn_check_is_on(c, "streaming-read-overwrite", &overwrite, err));
  if (overwrite &&
      (c->producer == TN_CHANGELOG_FULL_COMPACTION || c->producer == TN_CHANGELOG_LOOKUP)) {
    return tn_fail(err, TARN_E_INVALID,
                   "Cannot set streaming-read-overwrite to true when changelog producer is "
                   "full-compaction or lookup because it will read duplicated changes.");
  }
  return TARN_OK;
}
