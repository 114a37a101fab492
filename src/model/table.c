/* table.c - an opened table: options as values, names as columns. */
#include "model/table.h"

#include "base/ascii.h"

/* ------------------------------------------------------------------ dynamic options */

/* Options that a query may repeat but not change. Rule: CoreOptions.IMMUTABLE_OPTIONS,
 * SchemaManager.checkAlterTableOption; spec: snapshot-schema, 2 "Options: stored versus dynamic".
 */
static const char *const immutable[] = {
    "bucket",
    "bucket-key",
    "bucket-function.type",
    "merge-engine",
    "rowkind.field",
    "primary-key",
    "partition",
    "data-file.path-directory",
    "force-lookup",
    "row-tracking.enabled",
    "data-evolution.enabled",
    "index-file-in-data-file-dir",
    "aggregation.remove-record-on-delete",
    "partial-update.remove-record-on-delete",
    "partial-update.remove-record-on-sequence-group",
    "pk-clustering-override",
    "blob-descriptor-field",
    "type",
    "sequence.snapshot-ordering",
    "dynamic-bucket.initial-buckets",
    "primary-key.nullable",
    "blob-field",
    "blob-view-field",
};

static bool is_immutable(const char *key) {
  for (size_t i = 0; i < TN_COUNT(immutable); i++) {
    if (strcmp(immutable[i], key) == 0) {
      return true;
    }
  }
  return false;
}

/* Does a text say true? Bad booleans are told when they are read. */
static bool says_true(const char *text) {
  return text != NULL && (text[0] == 't' || text[0] == 'T');
}

static tarn_status check_dynamic(const tn_schema *schema, const tn_option *dynamic,
                                 int32_t n_dynamic, tarn_error *err) {
  for (int32_t i = 0; i < n_dynamic; i++) {
    const char *key = dynamic[i].key, *stored = tn_schema_option(schema, key);
    bool is_same = stored != NULL && strcmp(stored, dynamic[i].value) == 0;
    bool may_change = !is_immutable(key);
    if (strcmp(key, "deletion-vectors.enabled") == 0) {
      is_same = says_true(stored) == says_true(dynamic[i].value);
      may_change = says_true(tn_schema_option(schema, "deletion-vectors.modifiable"));
    } else if (strcmp(key, "ignore-delete") == 0) {
      may_change = !says_true(stored) || says_true(dynamic[i].value);
    }
    if (!is_same && !may_change) {
      return tn_fail(err, TARN_E_INVALID,
                     "option '%s' belongs to the table (%s%s%s) and cannot be changed to '%s' for "
                     "one read",
                     key, stored != NULL ? "'" : "", stored != NULL ? stored : "not set",
                     stored != NULL ? "'" : "", dynamic[i].value);
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ columns that options name */

/* The column of the effective schema that an option names; -1: that schema has none (yet). */
static tarn_status find_column(const tn_table *table, const char *option, tn_slice name,
                               int32_t *out, tarn_error *err) {
  const tn_schema *names = table->named_by, *schema = table->schema;
  int32_t i = tn_fields_find(names->fields, names->n_fields, name);
  *out = -1;
  if (i < 0) {
    return tn_fail(err, TARN_E_INVALID, "option '%s' names '%.*s', which is no column of the table",
                   option, TN_SLICE_ARG(name));
  }
  *out = tn_fields_find_id(schema->fields, schema->n_fields, names->fields[i].id);
  return TARN_OK;
}

/* The columns of a comma-separated list; *n_missing counts those that the effective schema lacks.
 */
static tarn_status list_columns(tn_table *table, const char *option, const char *list, bool trims,
                                int32_t **out, int32_t *n_out, int32_t *n_missing,
                                tarn_error *err) {
  size_t room = 1;
  for (const char *at = list; *at != '\0'; at++) {
    room += *at == ',';
  }
  *n_out = *n_missing = 0;
  *out = tn_arena_calloc(&table->arena, room, sizeof(int32_t));
  if (*out == NULL) {
    return tn_oom(err);
  }
  for (const char *at = list; at != NULL;) {
    const char *comma = strchr(at, ',');
    tn_slice name = tn_slice_of(at, comma != NULL ? (size_t)(comma - at) : strlen(at));
    int32_t column;
    TN_TRY(find_column(table, option, trims ? tn_slice_trim(name) : name, &column, err));
    if (column >= 0) {
      (*out)[(*n_out)++] = column;
    } else {
      ++*n_missing;
    }
    at = comma != NULL ? comma + 1 : NULL;
  }
  return TARN_OK;
}

/* Spec: rows, 3 "Bucket-key resolution". */
static tarn_status check_bucket_column(const tn_schema *schema, int32_t column, tarn_error *err) {
  const tn_field *field = &schema->fields[column];
  if (tn_schema_partition_key(schema, field->id) >= 0) {
    return tn_fail(err, TARN_E_INVALID, "option 'bucket-key' names the partition column '%s'",
                   field->name);
  }
  if (schema->n_primary_keys > 0 && tn_schema_key_column(schema, field->id) < 0) {
    return tn_fail(err, TARN_E_INVALID,
                   "option 'bucket-key' names '%s', which is not of the primary key", field->name);
  }
  if (tn_type_is_nested(&field->type)) {
    return tn_fail(err, TARN_E_INVALID, "option 'bucket-key' names '%s', which is of a nested type",
                   field->name);
  }
  return TARN_OK;
}

static tarn_status read_bucket_key(tn_table *table, tarn_error *err) {
  const tn_schema *schema = table->schema;
  tn_table_facts *f = &table->facts;
  const char *list = tn_options_get(&table->options, "bucket-key");
  int32_t n_missing;
  if (list == NULL || tn_slice_trim(tn_slice_text(list)).len == 0) {
    f->bucket_columns = schema->key_columns;
    f->n_bucket_columns = schema->n_key_columns;
    return TARN_OK;
  }
  if (f->bucket == -1) {
    return tn_fail(err, TARN_E_INVALID, "option 'bucket-key' is set while 'bucket' is -1");
  }
  TN_TRY(list_columns(table, "bucket-key", list, false, &f->bucket_columns, &f->n_bucket_columns,
                      &n_missing, err));
  for (int32_t i = 0; i < f->n_bucket_columns; i++) {
    TN_TRY(check_bucket_column(schema, f->bucket_columns[i], err));
  }
  if (n_missing > 0) {
    f->n_bucket_columns = 0;
  }
  return TARN_OK;
}

static tarn_status read_sequence(tn_table *table, tarn_error *err) {
  tn_table_facts *f = &table->facts;
  const char *list = tn_options_get(&table->options, "sequence.field");
  int32_t n_missing, order;
  TN_TRY(tn_options_enum(&table->options, "sequence.field.sort-order", &order, err));
  f->sequence_descending = order == 1;
  if (list == NULL || tn_slice_trim(tn_slice_text(list)).len == 0) {
    return TARN_OK;
  }
  TN_TRY(list_columns(table, "sequence.field", list, true, &f->sequence_columns,
                      &f->n_sequence_columns, &n_missing, err));
  if (n_missing > 0) {
    return tn_fail(
        err, TARN_E_UNSUPPORTED,
        "option 'sequence.field' = '%s' names a column that schema %lld did not have yet", list,
        (long long)table->schema->id);
  }
  return TARN_OK;
}

/* After the sequence fields are known. */
static tarn_status read_merge(tn_table *table, tarn_error *err) {
  tn_table_facts *f = &table->facts;
  bool is_partial_update = f->merge_engine == TN_ENGINE_PARTIAL_UPDATE;
  tn_merge_options *merge = NULL;
  if (!f->has_primary_key || (!is_partial_update && f->merge_engine != TN_ENGINE_AGGREGATION)) {
    return TARN_OK;
  }
  TN_TRY(tn_merge_options_read(&table->arena, &table->options, table->named_by, table->schema,
                               is_partial_update, f->sequence_columns, f->n_sequence_columns,
                               &merge, err));
  f->merge = merge;
  return TARN_OK;
}

/* ------------------------------------------------------------------ facts */

/* Every partition column is part of the primary key? */
static bool key_has_partition(const tn_schema *schema) {
  return schema->n_primary_keys - schema->n_key_columns == schema->n_partition_keys;
}

/* Spec: rows, 4 "Bucket modes". */
static tarn_status read_bucket(tn_table *table, tarn_error *err) {
  tn_table_facts *f = &table->facts;
  int64_t bucket;
  TN_TRY(tn_options_int(&table->options, "bucket", &bucket, NULL, err));
  if (bucket == 0 || bucket < -2) {
    return tn_fail(err, TARN_E_INVALID, "option 'bucket' = %lld: it is a positive number, -1 or -2",
                   (long long)bucket);
  }
  if (bucket == -2 && !f->has_primary_key) {
    return tn_fail(err, TARN_E_INVALID, "option 'bucket' = -2 is for tables with a primary key");
  }
  f->bucket = (int32_t)bucket;
  f->bucket_mode = bucket > 0                         ? TN_BUCKETS_FIXED
                   : bucket == -2                     ? TN_BUCKETS_POSTPONE
                   : !f->has_primary_key              ? TN_BUCKETS_UNAWARE
                   : key_has_partition(table->schema) ? TN_BUCKETS_DYNAMIC
                                                      : TN_BUCKETS_CROSS;
  TN_TRY(tn_options_enum(&table->options, "bucket-function.type", &f->bucket_function, err));
  return read_bucket_key(table, err);
}

static tarn_status read_flags(tn_table *table, tarn_error *err) {
  tn_table_facts *f = &table->facts;
  const struct {
    const char *key;
    bool *target;
  } flags[] = {
      {"deletion-vectors.enabled", &f->deletion_vectors},
      {"ignore-delete", &f->ignore_delete},
      {"row-tracking.enabled", &f->row_tracking},
      {"data-evolution.enabled", &f->data_evolution},
      {"file-index.read.enabled", &f->file_index_read},
      {"scan.ignore-corrupt-files", &f->ignore_corrupt_files},
      {"scan.ignore-lost-files", &f->ignore_lost_files},
      {"scan.plan-sort-partition", &f->plan_sort_partition},
      {"partition.legacy-name", &f->partition_legacy_name},
      {"index-file-in-data-file-dir", &f->index_in_data_dir},
  };
  for (size_t i = 0; i < TN_COUNT(flags); i++) {
    TN_TRY(tn_options_bool(&table->options, flags[i].key, flags[i].target, err));
  }
  return TARN_OK;
}

static tarn_status read_engine(tn_table *table, tarn_error *err) {
  tn_table_facts *f = &table->facts;
  int32_t engine, producer;
  bool force_lookup;
  TN_TRY(tn_options_enum(&table->options, "merge-engine", &engine, err));
  TN_TRY(tn_options_enum(&table->options, "changelog-producer", &producer, err));
  TN_TRY(tn_options_bool(&table->options, "force-lookup", &force_lookup, err));
  f->merge_engine = (tn_merge_engine)engine;
  f->changelog_producer = (tn_changelog_producer)producer;
  f->skips_level_0 =
      f->has_primary_key && (f->deletion_vectors || f->merge_engine == TN_ENGINE_FIRST_ROW);
  f->needs_lookup = f->has_primary_key && (f->skips_level_0 || force_lookup ||
                                           f->changelog_producer == TN_CHANGELOG_LOOKUP);
  return TARN_OK;
}

/* Deletion vectors may have been switched on for a table that had files
 * (deletion-vectors.modifiable): go back over the schemas for as long as they have them. */
static tarn_status read_vectors_since(tn_table *table, tarn_error *err) {
  tn_table_facts *f = &table->facts;
  if (!f->has_primary_key || !f->deletion_vectors) {
    return TARN_OK;
  }
  f->vectors_since_schema = table->named_by->id;
  while (f->vectors_since_schema > 0) {
    tn_schema *before = NULL;
    const char *value;
    bool has_vectors;
    tarn_status st = tn_schema_load(table->env, table->storage, table->branch_path,
                                    f->vectors_since_schema - 1, &before, err);
    if (st == TARN_E_NOT_FOUND) {
      return TARN_OK; /* nothing is known of what was before */
    }
    TN_TRY(st);
    value = tn_schema_option(before, "deletion-vectors.enabled");
    has_vectors = value != NULL && tn_slice_is_nocase(tn_slice_text(value), "true");
    tn_schema_release(before);
    if (!has_vectors) {
      return TARN_OK;
    }
    f->vectors_since_schema--;
  }
  return TARN_OK;
}

static tarn_status read_sizes(tn_table *table, tarn_error *err) {
  tn_table_facts *f = &table->facts;
  TN_TRY(tn_options_int(&table->options, "source.split.target-size", &f->split_target_bytes, NULL,
                        err));
  return tn_options_int(&table->options, "source.split.open-file-cost", &f->split_open_cost_bytes,
                        NULL, err);
}

static void read_texts(tn_table *table) {
  tn_table_facts *f = &table->facts;
  const char *name = tn_options_get(&table->options, "partition.default-name");
  f->partition_default_name = name != NULL ? name : "__DEFAULT_PARTITION__";
  f->data_path_directory = tn_options_get(&table->options, "data-file.path-directory");
}

static tarn_status read_facts(tn_table *table, tarn_error *err) {
  table->facts.has_primary_key = table->schema->n_primary_keys > 0;
  TN_TRY(read_bucket(table, err));
  TN_TRY(read_flags(table, err));
  TN_TRY(read_engine(table, err));
  TN_TRY(read_vectors_since(table, err));
  TN_TRY(read_sequence(table, err));
  TN_TRY(read_merge(table, err));
  TN_TRY(read_sizes(table, err));
  read_texts(table);
  return TARN_OK;
}

/* ------------------------------------------------------------------ lifetime */

tn_table *tn_table_retain(tn_table *table) {
  if (table != NULL) {
    atomic_fetch_add_explicit(&table->refs, 1, memory_order_relaxed);
  }
  return table;
}

void tn_table_release(tn_table *table) {
  if (table != NULL && atomic_fetch_sub_explicit(&table->refs, 1, memory_order_acq_rel) == 1) {
    tarn_env *env = table->env;
    tn_schema_release(table->schema);
    tn_schema_release(table->named_by);
    tn_storage_release(table->storage);
    tn_arena_reset(&table->arena);
    tn_free(&env->mem, table);
  }
}

/* What a table is but for its options and facts; all is copied or retained. */
static tarn_status make_table(tarn_env *env, tn_storage *storage, const char *full_name,
                              const char *path, const char *branch, const char *branch_path,
                              tn_schema *schema, tn_schema *named_by, tn_table **out,
                              tarn_error *err) {
  tn_table *t = tn_calloc(&env->mem, 1, sizeof(*t));
  *out = NULL;
  if (t == NULL) {
    return tn_oom(err);
  }
  atomic_init(&t->refs, 1);
  t->env = env;
  t->storage = tn_storage_retain(storage);
  t->schema = tn_schema_retain(schema);
  t->named_by = tn_schema_retain(named_by);
  tn_arena_init(&t->arena, &env->mem, SIZE_MAX);
  t->full_name = tn_arena_strdup(&t->arena, full_name);
  t->path = tn_arena_strdup(&t->arena, path);
  t->branch = tn_arena_strdup(&t->arena, branch);
  t->branch_path = tn_arena_strdup(&t->arena, branch_path);
  if (t->full_name == NULL || t->path == NULL || t->branch == NULL || t->branch_path == NULL) {
    tn_table_release(t);
    return tn_oom(err);
  }
  *out = t;
  return TARN_OK;
}

tarn_status tn_table_create(tarn_env *env, tn_storage *storage, const char *full_name,
                            const char *path, const char *branch, const char *branch_path,
                            tn_schema *schema, const tn_option *dynamic, int32_t n_dynamic,
                            tn_table **out, tarn_error *err) {
  tarn_status st;
  tn_table *t = NULL;
  *out = NULL;
  TN_TRY(check_dynamic(schema, dynamic, n_dynamic, err));
  TN_TRY(make_table(env, storage, full_name, path, branch, branch_path, schema, schema, &t, err));
  TN_TRY_TO(failed, tn_options_merge(&t->arena, schema, dynamic, n_dynamic, &t->options, err));
  TN_TRY_TO(failed, tn_options_check_read(env, &t->options, err));
  TN_TRY_TO(failed, read_facts(t, err));
  *out = t;
  return TARN_OK;
failed:
  tn_table_release(t);
  return st;
}

static tarn_status copy_options(tn_table *to, const tn_options *from, tarn_error *err) {
  tn_options *o = &to->options;
  o->items = tn_arena_calloc(&to->arena, (size_t)from->count + 1, sizeof(tn_option));
  if (o->items == NULL) {
    return tn_oom(err);
  }
  for (; o->count < from->count; o->count++) {
    tn_option *item = &o->items[o->count];
    item->key = tn_arena_strdup(&to->arena, from->items[o->count].key);
    item->value = tn_arena_strdup(&to->arena, from->items[o->count].value);
    if (item->key == NULL || item->value == NULL) {
      return tn_oom(err);
    }
  }
  return TARN_OK;
}

tarn_status tn_table_with_schema(tn_table *table, tn_schema *schema, tn_table **out,
                                 tarn_error *err) {
  tarn_status st;
  tn_table *t = NULL;
  *out = NULL;
  TN_TRY(make_table(table->env, table->storage, table->full_name, table->path, table->branch,
                    table->branch_path, schema, table->named_by, &t, err));
  TN_TRY_TO(failed, copy_options(t, &table->options, err));
  TN_TRY_TO(failed, read_facts(t, err));
  *out = t;
  return TARN_OK;
failed:
  tn_table_release(t);
  return st;
}

tarn_status tn_table_schema(tn_table *table, int64_t schema_id, tn_schema **out, tarn_error *err) {
  if (schema_id == table->schema->id && strcmp(table->branch, "main") == 0) {
    *out = tn_schema_retain(table->schema);
    return TARN_OK;
  }
  return tn_schema_load(table->env, table->storage, table->branch_path, schema_id, out, err);
}

tarn_status tn_table_fault(const tn_table *table, tarn_status status, tarn_error *err) {
  if (status == TARN_E_CORRUPT && err != NULL && strstr(err->message, table->full_name) == NULL &&
      strstr(err->message, table->path) == NULL) {
    return tn_error_context(err, status, "table %s", table->full_name);
  }
  return status;
}
