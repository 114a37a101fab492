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

/* A system column of row tracking in a file of rows without keys. */
static void map_tracked(const tn_file_columns *file, const tn_field *wanted, tn_column_map *map,
                        tn_column_place *place) {
  const tn_field *tracked = tn_row_tracking_field(wanted->id);
  *place = (tn_column_place){TN_FROM_ENTRY, -1, false};
  if (file->stores[tracked - tn_row_tracking_fields]) {
    map->physical[map->n_physical] = *tracked;
    place->index = map->n_physical++;
  }
}

static tarn_status map_system(const tn_table *table, const tn_file_columns *file,
                              const system_column *system, const tn_field *wanted,
                              tn_column_map *map, tn_column_place *place, tarn_error *err) {
  tn_field *physical = &map->physical[map->n_physical];
  if (!file->is_key_value && tn_row_tracking_field(wanted->id) != NULL) {
    map_tracked(file, wanted, map, place);
    return table->facts.row_tracking
               ? TARN_OK
               : tn_fail(err, TARN_E_UNSUPPORTED,
                         "table %s has no column '%s': 'row-tracking.enabled' is not set",
                         table->full_name, system->name);
  }
  if (!file->is_key_value || system->root == TN_N_TYPE_ROOTS) {
    return tn_fail(err, TARN_E_UNSUPPORTED, "system column '%s' of %s cannot be read", system->name,
                   table->full_name);
  }
  physical->id = wanted->id;
  physical->name = system->name;
  physical->type.root = system->root;
  *place = (tn_column_place){TN_FROM_FILE, map->n_physical++, false};
  return TARN_OK;
}

static tarn_status map_column(tn_arena *arena, const tn_table *table, const tn_file_columns *file,
                              const tn_field *wanted, tn_column_map *map, tn_column_place *place,
                              tarn_error *err) {
  const system_column *system = find_system_column(wanted->id);
  int32_t at = tn_schema_partition_key(table->schema, wanted->id);
  tn_field *physical = &map->physical[map->n_physical];
  if (system != NULL) {
    return map_system(table, file, system, wanted, map, place, err);
  }
  if (at >= 0) {
    *place = (tn_column_place){TN_FROM_PARTITION, at, false};
    return TARN_OK;
  }
  at = tn_fields_find_id(file->fields, file->n_fields, wanted->id);
  if (at < 0) {
    *place = (tn_column_place){TN_FROM_NOTHING, 0, false};
    return TARN_OK;
  }
  *physical = file->fields[at];
  TN_TRY(prune_type(arena, &file->fields[at].type, &wanted->type, &physical->type, err));
  *place = (tn_column_place){TN_FROM_FILE, map->n_physical++,
                             !tn_type_equal(&physical->type, &wanted->type, false)};
  return TARN_OK;
}

tarn_status tn_column_map_make(tn_arena *arena, const tn_table *table, const tn_file_columns *file,
                               const tn_field *wanted, int32_t n_wanted, tn_column_map *out,
                               tarn_error *err) {
  out->wanted = wanted;
  out->n_wanted = n_wanted;
  out->n_physical = 0;
  out->places = tn_arena_calloc(arena, (size_t)n_wanted + 1, sizeof(*out->places));
  out->physical = tn_arena_calloc(arena, (size_t)n_wanted + 1, sizeof(*out->physical));
  if (out->places == NULL || out->physical == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n_wanted; i++) {
    TN_TRY(map_column(arena, table, file, &wanted[i], out, &out->places[i], err));
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ shapes */

#define SHAPE_LIMIT (64u << 20)

tarn_status tn_data_shape_create(tn_table *table, const tn_field *first_fields, int32_t n_first,
                                 const tn_field *rest_fields, int32_t n_rest, bool is_key_value,
                                 tn_data_shape **out, tarn_error *err) {
  tn_data_shape *shape;
  bool gives_descriptors;
  *out = NULL;
  TN_TRY(tn_options_bool(&table->options, "blob-as-descriptor", &gives_descriptors, err));
  shape = tn_calloc(&table->env->mem, 1, sizeof(*shape));
  *out = shape;
  if (shape == NULL) {
    return tn_oom(err);
  }
  shape->gives_descriptors = gives_descriptors;
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

/* The columns of the schema that the file was written with. */
static tarn_status find_columns(tn_data_shape *shape, const tn_data_file *file, tn_shape_maps *maps,
                                tarn_error *err) {
  const tn_schema *schema = maps->schema;
  tn_file_columns *columns = &maps->columns;
  tn_field *fields;
  tn_slice *names;
  columns->is_key_value = shape->is_key_value;
  for (size_t i = 0; i < TN_N_ROW_TRACKING_FIELDS; i++) {
    columns->stores[i] = tn_data_file_may_store(file, &tn_row_tracking_fields[i]);
  }
  columns->fields = schema->fields;
  columns->n_fields = schema->n_fields;
  maps->has_write_cols = file->has_write_cols;
  if (!file->has_write_cols) {
    return TARN_OK;
  }
  fields = tn_arena_calloc(&shape->arena, (size_t)schema->n_fields + 1, sizeof(*fields));
  names = tn_arena_calloc(&shape->arena, (size_t)file->write_cols.count + 1, sizeof(*names));
  if (fields == NULL || names == NULL) {
    return tn_oom(err);
  }
  columns->fields = fields;
  columns->n_fields = 0;
  for (int32_t i = 0; i < schema->n_fields; i++) {
    if (tn_data_file_has_column(file, tn_slice_text(schema->fields[i].name))) {
      fields[columns->n_fields++] = schema->fields[i];
    }
  }
  maps->write_cols = (tn_record_array){names, file->write_cols.count};
  for (int32_t i = 0; i < file->write_cols.count; i++) {
    if (!tn_arena_slice(&shape->arena, ((const tn_slice *)file->write_cols.items)[i], &names[i])) {
      return tn_oom(err);
    }
  }
  return TARN_OK;
}

static tarn_status make_maps(tn_data_shape *shape, const tn_data_file *file, tn_shape_maps *maps,
                             tarn_error *err) {
  int32_t n_first, n_rest;
  TN_TRY(find_columns(shape, file, maps, err));
  TN_TRY(tn_column_map_make(&shape->arena, shape->table, &maps->columns, shape->first_fields,
                            shape->n_first, &maps->first, err));
  TN_TRY(tn_column_map_make(&shape->arena, shape->table, &maps->columns, shape->rest_fields,
                            shape->n_rest, &maps->rest, err));
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

static bool maps_fit(const tn_shape_maps *maps, const tn_data_file *file) {
  const tn_slice *a = maps->write_cols.items, *b = file->write_cols.items;
  if (maps->schema->id != file->schema_id || maps->has_write_cols != file->has_write_cols ||
      (file->has_write_cols && maps->write_cols.count != file->write_cols.count)) {
    return false;
  }
  for (int32_t i = 0; file->has_write_cols && i < file->write_cols.count; i++) {
    if (!tn_slice_equal(a[i], b[i])) {
      return false;
    }
  }
  for (size_t i = 0; i < TN_N_ROW_TRACKING_FIELDS; i++) {
    if (maps->columns.stores[i] != tn_data_file_may_store(file, &tn_row_tracking_fields[i])) {
      return false;
    }
  }
  return true;
}

tarn_status tn_data_shape_maps(tn_data_shape *shape, const tn_data_file *file,
                               const tn_shape_maps **out, tarn_error *err) {
  tn_shape_maps *maps;
  tarn_status st;
  for (maps = shape->maps; maps != NULL; maps = maps->next) {
    if (maps_fit(maps, file)) {
      *out = maps;
      return TARN_OK;
    }
  }
  maps = tn_arena_calloc(&shape->arena, 1, sizeof(*maps));
  if (maps == NULL) {
    return tn_oom(err);
  }
  TN_TRY(tn_table_schema(shape->table, file->schema_id, &maps->schema, err));
  if (maps->schema->id != file->schema_id) {
    st =
        tn_fail(err, TARN_E_CORRUPT, "%s/schema/schema-%lld: says its id is %lld",
                shape->table->branch_path, (long long)file->schema_id, (long long)maps->schema->id);
  } else {
    st = make_maps(shape, file, maps, err);
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
