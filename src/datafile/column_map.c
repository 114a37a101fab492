/* column_map.c - which column of a file gives each wanted column, and how its values change. */
#include "datafile/column_map.h"

#include <string.h>

/* ------------------------------------------------------------------ types */

static tarn_status prune_fields(tn_arena *arena, const tn_type *file, const tn_type *wanted,
                                tn_type *out, tarn_error *err);

/* The file's type without the nested fields that nobody wants. Depth: that of a parsed type. */
static tarn_status prune_type(tn_arena *arena, const tn_type *file, const tn_type *wanted,
                              tn_type *out, tarn_error *err) {
  tn_field *fields;
  *out = *file;
  if (file->root != wanted->root || file->n_fields == 0) {
    return TARN_OK;
  }
  if (file->root == TN_ROW) {
    return prune_fields(arena, file, wanted, out, err);
  }
  if (file->n_fields != wanted->n_fields) {
    return TARN_OK;
  }
  fields = tn_arena_calloc(arena, (size_t)file->n_fields, sizeof(*fields));
  if (fields == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < file->n_fields; i++) {
    fields[i] = file->fields[i];
    TN_TRY(prune_type(arena, &file->fields[i].type, &wanted->fields[i].type, &fields[i].type, err));
  }
  out->fields = fields;
  return TARN_OK;
}

static tarn_status prune_fields(tn_arena *arena, const tn_type *file, const tn_type *wanted,
                                tn_type *out, tarn_error *err) {
  tn_field *fields = tn_arena_calloc(arena, (size_t)file->n_fields + 1, sizeof(*fields));
  int32_t n = 0;
  if (fields == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < file->n_fields; i++) {
    int32_t at = tn_fields_find_id(wanted->fields, wanted->n_fields, file->fields[i].id);
    if (at >= 0) {
      fields[n] = file->fields[i];
      TN_TRY(
          prune_type(arena, &file->fields[i].type, &wanted->fields[at].type, &fields[n].type, err));
      n++;
    }
  }
  if (n == 0) { /* which rows are null is told by any field */
    fields[n++] = file->fields[0];
  }
  out->fields = fields;
  out->n_fields = n;
  return TARN_OK;
}

/* ------------------------------------------------------------------ columns */

typedef struct system_column {
  int32_t id;
  const char *name;
  tn_type_root root; /* of the column in key-value files; TN_N_TYPE_ROOTS: not to be had */
} system_column;

static const system_column system_columns[] = {
    {TN_FIELD_ID_SEQUENCE_NUMBER, "_SEQUENCE_NUMBER", TN_BIGINT},
    {TN_FIELD_ID_VALUE_KIND, "_VALUE_KIND", TN_TINYINT},
    {TN_FIELD_ID_LEVEL, "_LEVEL", TN_N_TYPE_ROOTS},
    {TN_FIELD_ID_ROWKIND, "rowkind", TN_N_TYPE_ROOTS},
    {TN_FIELD_ID_ROW_ID, "_ROW_ID", TN_N_TYPE_ROOTS},
};

static const system_column *find_system_column(int32_t id) {
  for (size_t i = 0; i < TN_COUNT(system_columns); i++) {
    if (system_columns[i].id == id) {
      return &system_columns[i];
    }
  }
  return NULL;
}

static tarn_status map_column(tn_arena *arena, const tn_table *table, const tn_schema *file_schema,
                              bool is_key_value, const tn_field *wanted, tn_column_map *map,
                              tn_column_place *place, tarn_error *err) {
  const system_column *system = find_system_column(wanted->id);
  int32_t at = tn_schema_partition_key(table->schema, wanted->id);
  tn_field *physical = &map->physical[map->n_physical];
  if (system != NULL) {
    if (!is_key_value || system->root == TN_N_TYPE_ROOTS) {
      return tn_fail(err, TARN_E_UNSUPPORTED, "system column '%s' of %s cannot be read yet",
                     system->name, table->full_name);
    }
    physical->id = wanted->id;
    physical->name = system->name;
    physical->type.root = system->root;
    *place = (tn_column_place){TN_FROM_FILE, map->n_physical++, false};
    return TARN_OK;
  }
  if (at >= 0) {
    *place = (tn_column_place){TN_FROM_PARTITION, at, false};
    return TARN_OK;
  }
  at = tn_fields_find_id(file_schema->fields, file_schema->n_fields, wanted->id);
  if (at < 0) {
    *place = (tn_column_place){TN_FROM_NOTHING, 0, false};
    return TARN_OK;
  }
  *physical = file_schema->fields[at];
  TN_TRY(prune_type(arena, &file_schema->fields[at].type, &wanted->type, &physical->type, err));
  *place = (tn_column_place){TN_FROM_FILE, map->n_physical++,
                             !tn_type_equal(&physical->type, &wanted->type, false)};
  return TARN_OK;
}

tarn_status tn_column_map_make(tn_arena *arena, const tn_table *table, const tn_schema *file_schema,
                               const tn_field *wanted, int32_t n_wanted, bool is_key_value,
                               tn_column_map *out, tarn_error *err) {
  out->wanted = wanted;
  out->n_wanted = n_wanted;
  out->n_physical = 0;
  out->places = tn_arena_calloc(arena, (size_t)n_wanted + 1, sizeof(*out->places));
  out->physical = tn_arena_calloc(arena, (size_t)n_wanted + 1, sizeof(*out->physical));
  if (out->places == NULL || out->physical == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n_wanted; i++) {
    TN_TRY(
        map_column(arena, table, file_schema, is_key_value, &wanted[i], out, &out->places[i], err));
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ shapes */

#define SHAPE_LIMIT (64u << 20)

tarn_status tn_data_shape_create(tn_table *table, const tn_field *first_fields, int32_t n_first,
                                 const tn_field *rest_fields, int32_t n_rest, bool is_key_value,
                                 tn_data_shape **out, tarn_error *err) {
  tn_data_shape *shape = tn_calloc(&table->env->mem, 1, sizeof(*shape));
  *out = shape;
  if (shape == NULL) {
    return tn_oom(err);
  }
  shape->table = tn_table_retain(table);
  tn_arena_init(&shape->arena, &table->env->mem, SHAPE_LIMIT);
  shape->first_fields = first_fields;
  shape->n_first = n_first;
  shape->rest_fields = rest_fields;
  shape->n_rest = n_rest;
  shape->is_key_value = is_key_value;
  return TARN_OK;
}

void tn_data_shape_free(tn_data_shape *shape) {
  if (shape == NULL) {
    return;
  }
  tn_mem *mem = &shape->table->env->mem;
  for (tn_shape_maps *m = shape->maps; m != NULL; m = m->next) {
    tn_schema_release(m->schema);
  }
  tn_arena_reset(&shape->arena);
  tn_table_release(shape->table);
  tn_free(mem, shape);
}

static tarn_status make_maps(tn_data_shape *shape, tn_shape_maps *maps, tarn_error *err) {
  int32_t n_first, n_rest;
  TN_TRY(tn_column_map_make(&shape->arena, shape->table, maps->schema, shape->first_fields,
                            shape->n_first, shape->is_key_value, &maps->first, err));
  TN_TRY(tn_column_map_make(&shape->arena, shape->table, maps->schema, shape->rest_fields,
                            shape->n_rest, shape->is_key_value, &maps->rest, err));
  n_first = maps->first.n_physical;
  n_rest = maps->rest.n_physical;
  maps->joined =
      tn_arena_calloc(&shape->arena, (size_t)n_first + (size_t)n_rest + 1, sizeof(tn_field));
  if (maps->joined == NULL) {
    return tn_oom(err);
  }
  memcpy(maps->joined, maps->first.physical, (size_t)n_first * sizeof(tn_field));
  memcpy(maps->joined + n_first, maps->rest.physical, (size_t)n_rest * sizeof(tn_field));
  return TARN_OK;
}

tarn_status tn_data_shape_maps(tn_data_shape *shape, int64_t schema_id, const tn_shape_maps **out,
                               tarn_error *err) {
  tn_shape_maps *maps;
  tarn_status st;
  for (maps = shape->maps; maps != NULL; maps = maps->next) {
    if (maps->schema->id == schema_id) {
      *out = maps;
      return TARN_OK;
    }
  }
  maps = tn_arena_calloc(&shape->arena, 1, sizeof(*maps));
  if (maps == NULL) {
    return tn_oom(err);
  }
  TN_TRY(tn_table_schema(shape->table, schema_id, &maps->schema, err));
  if (maps->schema->id != schema_id) {
    st = tn_fail(err, TARN_E_CORRUPT, "%s/schema/schema-%lld: says its id is %lld",
                 shape->table->branch_path, (long long)schema_id, (long long)maps->schema->id);
  } else {
    st = make_maps(shape, maps, err);
  }
  if (st != TARN_OK) {
    tn_schema_release(maps->schema);
    return st;
  }
  maps->next = shape->maps;
  shape->maps = maps;
  *out = maps;
  return TARN_OK;
}
