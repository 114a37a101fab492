/* table.c - catalogs and tables. */
#include "api/handles.h"
#include "base/nearest.h"

/* ------------------------------------------------------------------ catalog */

static tarn_status open_catalog(tarn_env *env, const char *warehouse, const tarn_option *options,
                                size_t n_options, tarn_catalog **out, tarn_error *err) {
  tn_option *kept = tn_calloc(&env->mem, n_options, sizeof(*kept));
  tarn_catalog *catalog = tn_alloc(&env->mem, sizeof(*catalog));
  tarn_status st = kept != NULL && catalog != NULL ? TARN_OK : tn_oom(err);
  for (size_t i = 0; i < n_options && st == TARN_OK; i++) {
    kept[i] = (tn_option){options[i].key, options[i].value};
  }
  if (st == TARN_OK) {
    st = tn_catalog_open(env, warehouse, kept, (int32_t)n_options, &catalog->catalog, err);
  }
  tn_free(&env->mem, kept);
  if (st != TARN_OK) {
    tn_free(&env->mem, catalog);
    return st;
  }
  *out = catalog;
  return TARN_OK;
}

tarn_status tarn_catalog_open(tarn_env *env, const char *warehouse, tarn_catalog **out,
                              tarn_error *err) {
  tn_error_reset(err);
  *out = NULL;
  TN_TRY(tn_env_check(env, err));
  return open_catalog(env, warehouse, NULL, 0, out, err);
}

tarn_status tarn_catalog_open_options(tarn_env *env, const tarn_option *options, size_t n_options,
                                      tarn_catalog **out, tarn_error *err) {
  tn_error_reset(err);
  *out = NULL;
  TN_TRY(tn_env_check(env, err));
  return open_catalog(env, NULL, options, n_options, out, err);
}

void tarn_catalog_free(tarn_catalog *catalog) {
  if (catalog != NULL) {
    tarn_env *env = catalog->catalog->env;
    tn_catalog_free(catalog->catalog);
    tn_free(&env->mem, catalog);
  }
}

/* ------------------------------------------------------------------ table */

void tn_api_table_release(tarn_table *table) {
  if (table != NULL && atomic_fetch_sub_explicit(&table->refs, 1, memory_order_acq_rel) == 1) {
    tarn_env *env = table->env;
    tn_system_free(table->system);
    tn_table_release(table->table);
    tn_free(&env->mem, table);
  }
}

void tarn_table_free(tarn_table *table) {
  tn_api_table_release(table);
}

/* The data table of a name, and the system table over it. */
static tarn_status open_parts(tarn_table *table, tn_catalog *catalog, const tn_table_name *name,
                              const tn_option *dynamic, int32_t n_dynamic, tarn_error *err) {
  tn_table *opened = NULL;
  tarn_status st;
  if (name->path == NULL && strcmp(name->database, TN_SYSTEM_DATABASE) == 0) {
    if (catalog == NULL) {
      return tn_fail(err, TARN_E_INVALID, "table '%s.%s': no warehouse was given", name->database,
                     name->table);
    }
    if (name->branch != NULL || name->system != NULL) {
      return tn_fail(err, TARN_E_NOT_FOUND,
                     "tables of the database '%s' have neither branches nor system tables",
                     name->database);
    }
    return tn_system_open_global(catalog, name->table, dynamic, n_dynamic, &table->system, err);
  }
  TN_TRY_TO(done, tn_catalog_table(table->env, catalog, name, dynamic, n_dynamic, &opened, err));
  TN_TRY_TO(done, tn_plan_travel(opened, &table->table, err));
  if (name->system != NULL) {
    st = tn_system_open(table->table, name->system, dynamic, n_dynamic, &table->system, err);
  }
done:
  tn_table_release(opened);
  return st;
}

tarn_status tn_api_name_begin(tarn_env *env, const char *name, tn_api_name *n, tarn_error *err) {
  tn_error_reset(err);
  memset(n, 0, sizeof(*n));
  tn_arena_init(&n->scratch, &env->mem, TN_API_TEXT_LIMIT);
  TN_TRY(tn_env_check(env, err));
  return tn_table_name_parse(&n->scratch, name, &n->parts, err);
}

void tn_api_name_end(tn_api_name *n) {
  tn_arena_reset(&n->scratch);
}

tarn_status tarn_table_open(tarn_env *env, tarn_catalog *catalog, const char *name,
                            const tarn_option *options, size_t n_options, tarn_table **out,
                            tarn_error *err) {
  tn_option *dynamic = NULL;
  tarn_table *table = NULL;
  tarn_status st;
  tn_api_name n;
  *out = NULL;
  TN_TRY_TO(done, tn_api_name_begin(env, name, &n, err));
  table = tn_calloc(&env->mem, 1, sizeof(*table));
  dynamic = tn_arena_calloc(&n.scratch, n_options, sizeof(*dynamic));
  if (table == NULL || dynamic == NULL) {
    st = tn_oom(err);
    goto done;
  }
  atomic_init(&table->refs, 1);
  table->env = env;
  for (size_t i = 0; i < n_options; i++) {
    dynamic[i].key = options[i].key;
    dynamic[i].value = options[i].value;
  }
  TN_TRY_TO(done, open_parts(table, catalog != NULL ? catalog->catalog : NULL, &n.parts, dynamic,
                             (int32_t)n_options, err));
  *out = table;
  table = NULL;
done:
  tn_api_table_release(table);
  tn_api_name_end(&n);
  return st;
}

const tn_field *tn_api_table_fields(const tarn_table *table, int32_t *n_fields) {
  if (table->system != NULL) {
    *n_fields = table->system->n_fields;
    return table->system->fields;
  }
  *n_fields = table->table->schema->n_fields;
  return table->table->schema->fields;
}

const tn_field *tn_api_named_fields(const tarn_table *table, tn_arena *arena, int32_t *n_fields) {
  const tn_field *fields = tn_api_table_fields(table, n_fields);
  size_t n = (size_t)*n_fields;
  tn_field *more;
  if (table->system != NULL || !table->table->facts.row_tracking) {
    return fields;
  }
  more = tn_arena_alloc(arena, (n + TN_N_ROW_TRACKING_FIELDS) * sizeof(*more));
  if (more != NULL) {
    memcpy(more, fields, n * sizeof(*more));
    memcpy(more + n, tn_row_tracking_fields, sizeof(tn_row_tracking_fields));
    *n_fields += TN_N_ROW_TRACKING_FIELDS;
  }
  return more;
}

tarn_status tarn_table_schema(tarn_table *table, struct ArrowSchema *out, tarn_error *err) {
  static const tn_arrow_options standard = {false};
  int32_t n_fields;
  const tn_field *fields = tn_api_table_fields(table, &n_fields);
  tn_error_reset(err);
  TN_TRY(tn_env_check(table->env, err));
  return tn_arrow_export_schema(table->env, fields, n_fields, &standard, out, err);
}

/* ------------------------------------------------------------------ describe */

static tarn_status text_member(tn_buf *out, const char *key, const char *value, tarn_error *err) {
  TN_TRY(tn_buf_printf(out, err, ",\"%s\":", key));
  return value != NULL ? tn_json_quote(out, tn_slice_text(value), err)
                       : tn_buf_text(out, "null", err);
}

static tarn_status describe_field(tn_buf *out, tn_buf *sql, const tn_field *f, tarn_error *err) {
  TN_TRY(tn_buf_printf(out, err, "{\"id\":%d,\"name\":", (int)f->id));
  TN_TRY(tn_json_quote(out, tn_slice_text(f->name), err));
  sql->len = 0;
  TN_TRY(tn_type_to_sql(&f->type, sql, err));
  TN_TRY(tn_buf_text(out, ",\"type\":", err));
  TN_TRY(tn_json_quote(out, tn_buf_slice(sql), err));
  if (f->description != NULL) {
    TN_TRY(text_member(out, "description", f->description, err));
  }
  if (f->default_value != NULL) {
    TN_TRY(text_member(out, "default", f->default_value, err));
  }
  return tn_buf_text(out, "}", err);
}

static tarn_status list_member(tn_buf *out, const char *key, const char *const *names, int32_t n,
                               tarn_error *err) {
  TN_TRY(tn_buf_printf(out, err, ",\"%s\":", key));
  return tn_json_quote_list(out, names, n, err);
}

/* What is known of the data table. */
static tarn_status describe_place(const tn_table *table, tn_buf *out, tarn_error *err) {
  int64_t latest;
  TN_TRY(text_member(out, "path", table->path, err));
  TN_TRY(text_member(out, "branch", table->branch, err));
  TN_TRY(text_member(out, "comment", table->schema->comment, err));
  TN_TRY(tn_buf_printf(out, err, ",\"schema_id\":%lld", (long long)table->schema->id));
  TN_TRY(tn_snapshot_latest_id(table->env, table->storage, table->branch_path, &latest, err));
  return latest > 0 ? tn_buf_printf(out, err, ",\"latest_snapshot\":%lld", (long long)latest)
                    : tn_buf_text(out, ",\"latest_snapshot\":null", err);
}

static tarn_status describe(tarn_table *handle, tn_buf *out, tn_buf *sql, tarn_error *err) {
  const tn_table *table = handle->table;
  const tn_system *system = handle->system;
  int32_t n_fields;
  const tn_field *fields = tn_api_table_fields(handle, &n_fields);
  TN_TRY(tn_buf_text(out, "{\"name\":", err));
  TN_TRY(
      tn_json_quote(out, tn_slice_text(table != NULL ? table->full_name : system->full_name), err));
  TN_TRY(text_member(out, "system_table", system != NULL ? system->name : NULL, err));
  if (table != NULL) {
    TN_TRY(describe_place(table, out, err));
  }
  TN_TRY(tn_buf_text(out, ",\"fields\":[", err));
  for (int32_t i = 0; i < n_fields; i++) {
    TN_TRY(tn_buf_text(out, i > 0 ? "," : "", err));
    TN_TRY(describe_field(out, sql, &fields[i], err));
  }
  TN_TRY(tn_buf_text(out, "]", err));
  if (system != NULL) {
    TN_TRY(
        list_member(out, "partition_keys", system->partition_keys, system->n_partition_keys, err));
    TN_TRY(list_member(out, "primary_keys", system->primary_keys, system->n_primary_keys, err));
  } else {
    const tn_schema *s = table->schema;
    TN_TRY(list_member(out, "partition_keys", s->partition_keys, s->n_partition_keys, err));
    TN_TRY(list_member(out, "primary_keys", s->primary_keys, s->n_primary_keys, err));
  }
  TN_TRY(tn_buf_text(out, ",\"options\":", err));
  TN_TRY(table != NULL ? tn_options_to_json(table->options.items, table->options.count, out, err)
                       : tn_options_to_json(NULL, 0, out, err));
  return tn_buf_text(out, "}", err);
}

tarn_status tarn_table_describe(tarn_table *table, tarn_string *out, tarn_error *err) {
  tn_buf text, sql;
  tarn_status st;
  tn_error_reset(err);
  memset(out, 0, sizeof(*out));
  TN_TRY(tn_env_check(table->env, err));
  tn_buf_init(&text, &table->env->mem, TN_API_TEXT_LIMIT);
  tn_buf_init(&sql, &table->env->mem, TN_API_TEXT_LIMIT);
  st = describe(table, &text, &sql, err);
  tn_buf_reset(&sql);
  return tn_api_string(st, &text, out, err);
}

/* ------------------------------------------------------------------ options */

static const char *const type_names[] = {"Boolean",  "Integer", "Long",   "Double", "MemorySize",
                                         "Duration", "Enum",    "String", "Map"};

size_t tarn_option_info_count(void) {
  size_t count;
  (void)tn_option_all(&count);
  return count;
}

tarn_status tarn_option_info_get(size_t i, tarn_option_info *out) {
  size_t count;
  const tn_option_info *all = tn_option_all(&count);
  if (i >= count) {
    return TARN_E_NOT_FOUND;
  }
  out->key = all[i].key;
  out->type = type_names[all[i].type];
  out->default_value = all[i].default_value;
  out->doc = all[i].doc;
  return TARN_OK;
}

const char *tarn_option_nearest(const char *key) {
  return tn_option_find(key) != NULL ? key : tn_option_nearest(key);
}
