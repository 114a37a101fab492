/* write_create.c - what a writer must know of its table, and tables that it refuses.
 */
#include "base/ascii.h"
#include "column/cast_parse.h"
#include "compact/options.h"
#include "merge/key.h"
#include "write/compact_inline.h"

/* ------------------------------------------------------------------ refusals */

/* Options whose files would be wrong without what is missing. */
static tarn_status check_options(const tn_table *table, tarn_error *err) {
  static const struct {
    const char *key, *fine, *why;
  } refused[] = {
      {"sequence.snapshot-ordering", "false", "sequence numbers from snapshot ids"},
      {"write.sequence-number-init-mode", "scan", "sequence numbers kept by snapshots"},
      {"primary-key.nullable", "false", "nullable primary keys"},
      {"chain-table.enabled", "false", "chain tables"},
  };
  int64_t levels;
  bool is_set;
  for (size_t i = 0; i < TN_COUNT(refused); i++) {
    const char *value = tn_options_get(&table->options, refused[i].key);
    if (value != NULL && !tn_slice_is_nocase(tn_slice_text(value), refused[i].fine)) {
      return tn_fail(err, TARN_E_UNSUPPORTED, "%s: option '%s' = '%s': %s cannot be written",
                     table->full_name, refused[i].key, value, refused[i].why);
    }
  }
  TN_TRY(tn_options_int(&table->options, "num-levels", &levels, &is_set, err));
  if (table->facts.has_primary_key && is_set && levels < 2) {
    return tn_fail(err, TARN_E_INVALID, "Number of levels must be at least 2.");
  }
  return TARN_OK;
}

/* Keys that move out of a partition that stays would have to be deleted there, which an overwrite
 * cannot. */
static tarn_status check_whole_overwrite(const tn_table *table, tarn_error *err) {
  bool is_dynamic;
  TN_TRY(tn_options_bool(&table->options, "dynamic-partition-overwrite", &is_dynamic, err));
  return !is_dynamic
             ? TARN_OK
             : tn_fail(err, TARN_E_UNSUPPORTED,
                       "%s: its primary key lacks partition columns, so that it can be overwritten "
                       "as a whole only, with 'dynamic-partition-overwrite' = 'false'",
                       table->full_name);
}

static tarn_status check_table(const tn_table *table, const tn_table_write_options *o,
                               tarn_error *err) {
  switch (table->facts.bucket_mode) {
    case TN_BUCKETS_CROSS:
      if (o->ignores_previous) {
        TN_TRY(check_whole_overwrite(table, err));
      }
      break;
    case TN_BUCKETS_FIXED:
      if (table->facts.n_bucket_columns == 0) {
        return tn_fail(err, TARN_E_INVALID,
                       "%s: You should define a 'bucket-key' for bucketed append mode.",
                       table->full_name);
      }
      break;
    default:
      break;
  }
  if (o->columns != NULL && (!table->facts.data_evolution || o->first_row_id < 0)) {
    return tn_fail(
        err, TARN_E_INVALID,
        "%s: single columns can be written to tables with 'data-evolution.enabled' only, "
        "behind a first row id",
        table->full_name);
  }
  return check_options(table, err);
}

/* ------------------------------------------------------------------ columns */

/* The table's columns, or the chosen ones. */
static tarn_status choose_fields(tn_write *w, const tn_table_write_options *o, tarn_error *err) {
  const tn_schema *schema = w->table->schema;
  tn_field *fields;
  int32_t *columns;
  w->fields = schema->fields;
  w->n_fields = schema->n_fields;
  if (o->columns == NULL) {
    return TARN_OK;
  }
  fields = tn_arena_calloc(&w->arena, (size_t)o->n_columns, sizeof(*fields));
  columns = tn_arena_memdup(&w->arena, o->columns, (size_t)o->n_columns * sizeof(*columns));
  if (fields == NULL || columns == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < o->n_columns; i++) {
    if (columns[i] < 0 || columns[i] >= schema->n_fields) {
      return TN_BUG(err, "a column that the table does not have");
    }
    fields[i] = schema->fields[columns[i]];
  }
  w->options.columns = columns;
  w->fields = fields;
  w->n_fields = o->n_columns;
  return TARN_OK;
}

/* The places of columns of the table among those that are written. */
static tarn_status place_columns(tn_write *w, const int32_t *columns, int32_t n, int32_t **out,
                                 tarn_error *err) {
  const tn_schema *schema = w->table->schema;
  int32_t *places = tn_arena_calloc(&w->arena, (size_t)n, sizeof(*places));
  if (places == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n; i++) {
    const tn_field *field = &schema->fields[columns[i]];
    places[i] = tn_fields_find_id(w->fields, w->n_fields, field->id);
    if (places[i] < 0) {
      return tn_fail(err, TARN_E_INVALID,
                     "%s: column '%s' must be among those that are written: it tells the partition",
                     w->table->full_name, field->name);
    }
  }
  *out = places;
  return TARN_OK;
}

static bool is_primary_key(const tn_schema *schema, const char *name) {
  for (int32_t i = 0; i < schema->n_primary_keys; i++) {
    if (strcmp(schema->primary_keys[i], name) == 0) {
      return true;
    }
  }
  return false;
}

static tarn_status list_not_null(tn_write *w, tarn_error *err) {
  w->not_null = tn_arena_calloc(&w->arena, (size_t)w->n_fields, sizeof(*w->not_null));
  if (w->not_null == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < w->n_fields; i++) {
    if (!w->fields[i].type.is_nullable || is_primary_key(w->table->schema, w->fields[i].name)) {
      w->not_null[w->n_not_null++] = i;
    }
  }
  return TARN_OK;
}

/* A default as its option tells it. Rule: org.apache.paimon.utils.DefaultValueUtils. */
static tarn_status parse_default(tn_write *w, const tn_field *field, tn_vec *out, tarn_error *err) {
  tn_slice text = tn_slice_text(field->default_value);
  tn_datum value;
  tarn_status st;
  if (text.len >= 2 && text.data[0] == '\'' && text.data[text.len - 1] == '\'') {
    text = tn_slice_of(text.data + 1, text.len - 2);
  }
  if (tn_nested_has_text(&field->type)) {
    st = tn_nested_from_text(w->env, &w->arena, &field->type, text, out, err);
  } else {
    st = tn_datum_from_text(&w->arena, &field->type, text, w->env->zone, &value, err);
    st = st == TARN_OK ? tn_datum_to_vec(w->env, &field->type, &value, out, err) : st;
  }
  return st == TARN_OK ? TARN_OK
                       : tn_error_context(err, st, "the default value of column '%s'", field->name);
}

static tarn_status parse_defaults(tn_write *w, tarn_error *err) {
  w->defaults = tn_arena_calloc(&w->arena, (size_t)w->n_fields, sizeof(*w->defaults));
  if (w->defaults == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < w->n_fields && !w->options.keeps_nulls; i++) {
    if (w->fields[i].default_value != NULL && w->fields[i].type.is_nullable) {
      TN_TRY(parse_default(w, &w->fields[i], &w->defaults[i], err));
    }
  }
  return TARN_OK;
}

static tarn_status find_kind_column(tn_write *w, tarn_error *err) {
  const char *name = tn_options_get(&w->table->options, "rowkind.field");
  w->kind_column = -1;
  if (name == NULL || !w->is_key_value) {
    return TARN_OK;
  }
  w->kind_column = tn_fields_find(w->fields, w->n_fields, tn_slice_text(name));
  if (w->kind_column < 0) {
    return tn_fail(err, TARN_E_INVALID, "Rowkind field: '%s' can not be found in table schema.",
                   name);
  }
  if (!tn_type_is_string(&w->fields[w->kind_column].type)) {
    return tn_fail(err, TARN_E_INVALID, "only support string type for rowkind, but %s is %s", name,
                   tn_type_text_of(&w->fields[w->kind_column].type).text);
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ sorting and merging */

static bool has_column(const int32_t *columns, int32_t n, int32_t column) {
  for (int32_t i = 0; i < n; i++) {
    if (columns[i] == column) {
      return true;
    }
  }
  return false;
}

/* Key columns, then user sequence fields that are none of them; and all others. */
static tarn_status split_columns(tn_write *w, tn_field **keys, tn_field **values, int32_t *n_values,
                                 tarn_error *err) {
  const tn_schema *schema = w->table->schema;
  const tn_table_facts *facts = &w->table->facts;
  size_t n = (size_t)schema->n_fields;
  int32_t n_keys = 0;
  *n_values = 0;
  *keys = tn_arena_calloc(&w->arena, n, sizeof(**keys));
  *values = tn_arena_calloc(&w->arena, n, sizeof(**values));
  w->key_columns = tn_arena_calloc(&w->arena, n, sizeof(*w->key_columns));
  w->value_columns = tn_arena_calloc(&w->arena, n, sizeof(*w->value_columns));
  if (*keys == NULL || *values == NULL || w->key_columns == NULL || w->value_columns == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < schema->n_key_columns; i++) {
    w->key_columns[n_keys++] = schema->key_columns[i];
  }
  w->n_keys = n_keys;
  for (int32_t i = 0; i < facts->n_sequence_columns; i++) {
    if (!has_column(w->key_columns, n_keys, facts->sequence_columns[i])) {
      w->key_columns[n_keys++] = facts->sequence_columns[i];
    }
  }
  w->n_sequence_fields = n_keys - w->n_keys;
  for (int32_t c = 0; c < schema->n_fields; c++) {
    if (!has_column(w->key_columns, n_keys, c)) {
      w->value_columns[*n_values] = c;
      (*values)[(*n_values)++] = schema->fields[c];
    }
  }
  for (int32_t i = 0; i < n_keys; i++) {
    (*keys)[i] = schema->fields[w->key_columns[i]];
    if (!tn_key_has_order(&(*keys)[i].type)) {
      return tn_fail(err, TARN_E_UNSUPPORTED, "%s: column '%s' of type %s has no order",
                     w->table->full_name, (*keys)[i].name, tn_type_text_of(&(*keys)[i].type).text);
    }
  }
  w->key_fields = *keys;
  return TARN_OK;
}

static tarn_status make_merge(tn_write *w, tarn_error *err) {
  static const tn_engine_ops *const engines[] = {
      [TN_ENGINE_DEDUPLICATE] = &tn_engine_deduplicate,
      [TN_ENGINE_PARTIAL_UPDATE] = &tn_engine_partial_update,
      [TN_ENGINE_AGGREGATION] = &tn_engine_aggregation,
      [TN_ENGINE_FIRST_ROW] = &tn_engine_first_row};
  const tn_schema *schema = w->table->schema;
  const tn_table_facts *facts = &w->table->facts;
  tn_merge_spec *m = &w->merge;
  tn_field *keys, *values;
  int32_t *out;
  TN_TRY(split_columns(w, &keys, &values, &m->n_value_fields, err));
  out = tn_arena_calloc(&w->arena, (size_t)schema->n_fields, sizeof(*out));
  if (out == NULL) {
    return tn_oom(err);
  }
  m->key_fields = keys;
  m->n_keys = w->n_keys;
  m->n_sequence_fields = w->n_sequence_fields;
  m->n_key_fields = w->n_keys + w->n_sequence_fields;
  m->sequence_descending = facts->sequence_descending;
  m->value_fields = values;
  m->out_fields = schema->fields;
  m->out_columns = out;
  m->n_out_columns = schema->n_fields;
  for (int32_t i = 0; i < m->n_key_fields; i++) {
    out[w->key_columns[i]] = i;
  }
  for (int32_t i = 0; i < m->n_value_fields; i++) {
    out[w->value_columns[i]] = -1 - i;
  }
  m->engine = engines[facts->merge_engine];
  m->ignore_delete = facts->ignore_delete;
  m->keeps_deletes = true;
  w->has_exact_keys = tn_key_is_prefix_exact(keys, w->n_keys);
  if (m->engine->fold != NULL) {
    tn_fold_layout *layout;
    TN_TRY(tn_fold_layout_make(&w->arena, m->engine, facts->merge, schema, keys, m->n_keys,
                               m->n_key_fields, values, m->n_value_fields, &layout, err));
    m->layout = layout;
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ memory */

static tarn_status read_sizes(tn_write *w, tarn_error *err) {
  const tn_options *options = &w->table->options;
  int64_t buffer, budget = (int64_t)(w->env->mem.budget_bytes / 2), disk, writers;
  bool is_spillable, buffers_append;
  TN_TRY(tn_options_int(options, "write-buffer-size", &buffer, NULL, err));
  TN_TRY(tn_options_int(options, "write-buffer-spill.max-disk-size", &disk, NULL, err));
  TN_TRY(tn_options_int(options, "write-max-writers-to-spill", &writers, NULL, err));
  TN_TRY(tn_options_bool(options, "write-buffer-spillable", &is_spillable, err));
  TN_TRY(tn_options_bool(options, "write-buffer-for-append", &buffers_append, err));
  w->buffer_bytes = buffer < budget ? buffer : budget;
  w->spill_bytes = disk;
  w->max_writers = writers < 1 ? 1 : writers > 1000 ? 1000 : (int32_t)writers;
  w->always_buffers = w->sorts || (buffers_append && w->options.columns == NULL);
  if (w->options.columns != NULL) {
    w->max_writers = INT32_MAX; /* rows keep their order over all files: ids count them */
  }
  w->buffers = w->always_buffers;
  if (w->options.spill_folder != NULL && is_spillable) {
    TN_TRY(
        tn_spill_create(w->env, w->options.spill_folder, w->fields, w->n_fields, &w->spill, err));
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ postponed buckets */

/* The table with options of the files of bucket-postpone: they tell their user and writer, and are
 * written quickly. Rule: org.apache.paimon.postpone.PostponeBucketFileStoreWrite; spec: compaction,
 * 16. */
static tarn_status postpone_table(tn_table *table, const char *user, const char *format,
                                  tn_arena *arena, tn_table **out, tarn_error *err) {
  const char *prefix = tn_options_get(&table->options, "data-file.prefix");
  size_t n = (size_t)table->options.count;
  tn_option *options = tn_arena_calloc(arena, n + 3, sizeof(*options));
  char *name = tn_arena_printf(arena, "%s-u-%s-s-0-w-", prefix != NULL ? prefix : "data-", user);
  int32_t n_more = 0;
  if (options == NULL || name == NULL) {
    return tn_oom(err);
  }
  if (strchr(user, '/') != NULL) {
    return tn_fail(err, TARN_E_INVALID, "commit user '%s': file names hold it, so it has no '/'",
                   user);
  }
  for (size_t i = 0; i < n; i++) {
    options[i] = table->options.items[i];
  }
  options[n + (size_t)n_more++] = (tn_option){"data-file.prefix", name};
  if (format != NULL) {
    options[n + (size_t)n_more++] = (tn_option){"file.format", format};
    options[n + (size_t)n_more++] = (tn_option){"metadata.stats-mode", "none"};
  }
  return tn_table_create(table->env, table->storage, table->full_name, table->path, table->branch,
                         table->branch_path, table->schema, options, (int32_t)n + n_more, out, err);
}

/* Avro, unless it cannot hold the columns. */
static tarn_status open_postponed(tn_write *w, tarn_error *err) {
  static const char *const formats[] = {"avro", NULL};
  tarn_status st = TARN_OK;
  for (size_t i = 0; i < TN_COUNT(formats); i++) {
    tn_table *table;
    TN_TRY(postpone_table(w->table, w->options.user, formats[i], &w->arena, &table, err));
    st = tn_write_shape_create(table, true, NULL, 0, &w->shape, err);
    if (st == TARN_OK) {
      tn_table_release(w->table);
      w->table = table;
      return TARN_OK;
    }
    tn_table_release(table);
    if (st != TARN_E_UNSUPPORTED) {
      return st;
    }
  }
  return st;
}

/* ------------------------------------------------------------------ all */

static tarn_status set_up(tn_write *w, const tn_table_write_options *o, tarn_error *err) {
  const tn_schema *schema = w->table->schema;
  const tn_table_facts *facts = &w->table->facts;
  int64_t max_buckets;
  w->options = *o;
  w->options.user = tn_arena_strdup(&w->arena, o->user != NULL ? o->user : "");
  w->options.spill_folder =
      o->spill_folder != NULL ? tn_arena_strdup(&w->arena, o->spill_folder) : NULL;
  if (w->options.user == NULL || (o->spill_folder != NULL && w->options.spill_folder == NULL)) {
    return tn_oom(err);
  }
  w->next_row_id = o->first_row_id;
  w->is_key_value = facts->has_primary_key;
  w->is_postponed = facts->bucket_mode == TN_BUCKETS_POSTPONE;
  w->sorts = w->is_key_value && !w->is_postponed;
  w->writes_changelog = w->sorts && facts->changelog_producer == TN_CHANGELOG_INPUT;
  TN_TRY(choose_fields(w, o, err));
  TN_TRY(list_not_null(w, err));
  TN_TRY(parse_defaults(w, err));
  TN_TRY(find_kind_column(w, err));
  w->ignores_retracts = facts->ignore_delete;
  TN_TRY(
      tn_options_bool(&w->table->options, "ignore-update-before", &w->ignores_update_before, err));
  TN_TRY(tn_options_int(&w->table->options, "dynamic-bucket.target-row-num",
                        &w->assigner.target_rows, NULL, err));
  TN_TRY(tn_options_int(&w->table->options, "dynamic-bucket.max-buckets", &max_buckets, NULL, err));
  w->assigner.max_buckets = max_buckets < 1       ? -1
                            : max_buckets > 32767 ? 32767
                                                  : (int32_t)max_buckets;
  w->n_partition_columns = schema->n_partition_keys;
  TN_TRY(place_columns(w, schema->partition_columns, schema->n_partition_keys,
                       &w->partition_columns, err));
  if (facts->bucket_mode == TN_BUCKETS_FIXED) {
    w->n_bucket_columns = facts->n_bucket_columns;
    TN_TRY(
        place_columns(w, facts->bucket_columns, facts->n_bucket_columns, &w->bucket_columns, err));
  }
  if (w->is_postponed) {
    TN_TRY(open_postponed(w, err));
  } else {
    TN_TRY(tn_write_shape_create(w->table, w->is_key_value, w->options.columns,
                                 w->options.n_columns, &w->shape, err));
  }
  w->shape_fields = tn_write_shape_fields(w->shape, &w->n_shape_fields);
  if (w->sorts) {
    TN_TRY(make_merge(w, err));
  }
  if (facts->bucket_mode == TN_BUCKETS_CROSS) {
    TN_TRY(tn_cross_create(w, err));
  }
  TN_TRY(read_sizes(w, err));
  TN_TRY(tn_compact_check_cache(w->table, err));
  return tn_inline_create(w, err);
}

tarn_status tn_write_create(tn_table *table, const tn_table_write_options *options, tn_write **out,
                            tarn_error *err) {
  tn_write *w;
  tarn_status st;
  *out = NULL;
  TN_TRY(check_table(table, options, err));
  w = tn_calloc(&table->env->mem, 1, sizeof(*w));
  if (w == NULL) {
    return tn_oom(err);
  }
  w->env = table->env;
  w->table = tn_table_retain(table);
  tn_arena_init(&w->arena, &w->env->mem, SIZE_MAX);
  tn_arena_init(&w->files_arena, &w->env->mem, SIZE_MAX);
  tn_router_init(&w->router, &w->env->mem);
  st = set_up(w, options, err);
  tn_row_store_init(&w->store, w->env, w->fields, w->n_fields);
  if (st != TARN_OK) {
    tn_write_free(w);
    return st;
  }
  *out = w;
  return TARN_OK;
}
