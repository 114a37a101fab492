/* rewriter.c - what all rewrites of a table have in common: columns, engine, budgets.
 *
 * The key part of a merge: key columns, user sequence fields, the time column of record-level
 * expiry; the rest comes late.
 */
#include "compact/rewriter.h"

#include <string.h>

#include "datafile/row_tracking.h"

static const tn_field sequence_field = {
    .id = TN_FIELD_ID_SEQUENCE_NUMBER, .name = "_SEQUENCE_NUMBER", .type = {.root = TN_BIGINT}};

static const tn_engine_ops *const engines[] = {
    [TN_ENGINE_DEDUPLICATE] = &tn_engine_deduplicate,
    [TN_ENGINE_PARTIAL_UPDATE] = &tn_engine_partial_update,
    [TN_ENGINE_AGGREGATION] = &tn_engine_aggregation,
    [TN_ENGINE_FIRST_ROW] = &tn_engine_first_row};

/* The place of a column of the table in the key part; -1: it is none of it. */
static int32_t find_column(const int32_t *columns, int32_t n, int32_t column) {
  for (int32_t i = 0; i < n; i++) {
    if (columns[i] == column) {
      return i;
    }
  }
  return -1;
}

/* Which columns of the table are the key part; n_keys and n_sequence_fields of the spec. */
static tarn_status choose_key_part(tn_rewriter *r, int32_t **columns, int32_t *n, tarn_error *err) {
  const tn_schema *schema = r->table->schema;
  const tn_table_facts *facts = &r->table->facts;
  int32_t n_key = 0;
  int32_t *key = tn_arena_calloc(&r->arena, (size_t)schema->n_fields + 1, sizeof(*key));
  if (key == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < schema->n_key_columns; i++) {
    key[n_key++] = schema->key_columns[i];
  }
  r->spec.n_keys = n_key;
  for (int32_t i = 0; i < facts->n_sequence_columns; i++) {
    if (find_column(key, n_key, facts->sequence_columns[i]) < 0) {
      key[n_key++] = facts->sequence_columns[i];
    }
  }
  r->spec.n_sequence_fields = n_key - r->spec.n_keys;
  for (int32_t i = 0; i < n_key; i++) {
    const tn_field *field = &schema->fields[key[i]];
    if (!tn_key_has_order(&field->type)) {
      return tn_fail(err, TARN_E_UNSUPPORTED, "%s: column '%s' of type %s has no order",
                     r->table->full_name, field->name, tn_type_text_of(&field->type).text);
    }
  }
  r->time_at = -1;
  if (r->options->has_record_expiry) {
    r->time_at = find_column(key, n_key, r->options->time_column);
    if (r->time_at < 0) {
      r->time_at = n_key;
      key[n_key++] = r->options->time_column;
    }
  }
  *columns = key;
  *n = n_key;
  return TARN_OK;
}

/* run_fields (key part, values), read_fields, and where the columns of the output are. */
static tarn_status lay_out(tn_rewriter *r, tarn_error *err) {
  const tn_schema *schema = r->table->schema;
  size_t n_fields = (size_t)schema->n_fields;
  tn_field *run = tn_arena_calloc(&r->arena, n_fields + 1, sizeof(*run));
  tn_field *read = tn_arena_calloc(&r->arena, n_fields + 2, sizeof(*read));
  int32_t *out = tn_arena_calloc(&r->arena, n_fields + 1, sizeof(*out));
  int32_t *columns, n_key, n_values = 0;
  if (run == NULL || read == NULL || out == NULL) {
    return tn_oom(err);
  }
  TN_TRY(choose_key_part(r, &columns, &n_key, err));
  for (int32_t i = 0; i < n_key; i++) {
    run[i] = read[i] = schema->fields[columns[i]];
    out[columns[i]] = i;
  }
  read[n_key] = sequence_field;
  read[n_key + 1] = tn_kind_field;
  for (int32_t i = 0; i < schema->n_fields; i++) {
    if (find_column(columns, n_key, i) < 0) {
      out[i] = -1 - n_values;
      run[n_key + n_values++] = schema->fields[i];
    }
  }
  r->run_fields = run;
  r->n_run_fields = schema->n_fields;
  r->read_fields = read;
  r->spec.key_fields = run;
  r->spec.n_key_fields = n_key;
  r->spec.value_fields = run + n_key;
  r->spec.n_value_fields = n_values;
  r->spec.out_fields = schema->fields;
  r->spec.out_columns = out;
  r->spec.n_out_columns = schema->n_fields;
  return TARN_OK;
}

static tarn_status make_merge(tn_rewriter *r, tarn_error *err) {
  const tn_table_facts *facts = &r->table->facts;
  tn_merge_spec *m = &r->spec;
  TN_TRY(lay_out(r, err));
  m->engine = engines[facts->merge_engine];
  m->sequence_descending = facts->sequence_descending;
  m->ignore_delete = facts->ignore_delete;
  r->is_first_row = m->engine == &tn_engine_first_row;
  /* Tables that need lookup: of rows at levels > 0 one counts. first-row has a wrapper of its own
   * (spec: merge-engines, 1 and 4). */
  m->needs_lookup = facts->needs_lookup && !r->is_first_row;
  m->cancel = r->cancel;
  r->gives_changelog = facts->changelog_producer == TN_CHANGELOG_LOOKUP;
  if (m->engine->fold != NULL) {
    tn_fold_layout *layout;
    TN_TRY(tn_fold_layout_make(&r->arena, m->engine, facts->merge, r->table->schema, m->key_fields,
                               m->n_keys, m->n_key_fields, m->value_fields, m->n_value_fields,
                               &layout, err));
    m->layout = layout;
  }
  return TARN_OK;
}

/* Keys are equal in a group, so they are never compared. */
static tarn_status choose_compared(tn_rewriter *r, tarn_error *err) {
  const tn_schema *schema = r->table->schema;
  bool *compared = tn_arena_calloc(&r->arena, (size_t)schema->n_fields + 1, sizeof(*compared));
  if (compared == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < schema->n_fields; i++) {
    compared[i] = find_column(schema->key_columns, schema->n_key_columns, i) < 0 &&
                  find_column(r->options->ignored_columns, r->options->n_ignored_columns, i) < 0;
  }
  r->compared = compared;
  return TARN_OK;
}

static tarn_status check_table(const tn_table *table, tarn_error *err) {
  if (table->facts.data_evolution) {
    return tn_fail(err, TARN_E_UNSUPPORTED,
                   "%s: rows of tables with 'data-evolution.enabled' lie in files side by side, "
                   "which are compacted as a table, not as a bucket",
                   table->full_name);
  }
  if (table->facts.row_tracking && table->facts.has_primary_key) {
    return tn_fail(err, TARN_E_UNSUPPORTED,
                   "%s: compaction of primary-key tables with 'row-tracking.enabled' is not "
                   "supported; no release of Paimon makes such tables",
                   table->full_name);
  }
  return TARN_OK;
}

/* Rows of tables with row tracking take their ids and sequence numbers along, as columns behind the
 * table's. Spec: datafiles, 2.3. */
static tarn_status make_shape(tn_rewriter *r, tarn_error *err) {
  const tn_table_facts *facts = &r->table->facts;
  int32_t n = r->table->schema->n_fields + TN_N_ROW_TRACKING_FIELDS, *columns = NULL;
  if (facts->row_tracking) {
    columns = tn_arena_calloc(&r->arena, (size_t)n, sizeof(*columns));
    if (columns == NULL) {
      return tn_oom(err);
    }
    for (int32_t i = 0; i < n; i++) {
      columns[i] = i;
    }
  }
  return tn_write_shape_create(r->table, facts->has_primary_key, columns, columns != NULL ? n : 0,
                               &r->shape, err);
}

static tarn_status init(tn_rewriter *r, const tn_rewriter_setup *setup, tarn_error *err) {
  const tn_schema *schema = r->table->schema;
  bool is_key_value = r->table->facts.has_primary_key;
  TN_TRY(check_table(r->table, err));
  if (setup->spill_folder != NULL) {
    r->spill_folder = tn_arena_strdup(&r->arena, setup->spill_folder);
    if (r->spill_folder == NULL) {
      return tn_oom(err);
    }
  }
  TN_TRY(make_shape(r, err));
  r->shape_fields = tn_write_shape_fields(r->shape, &r->n_shape_fields);
  r->first_column = r->n_shape_fields - schema->n_fields;
  r->reads = (tn_read_context){
      .env = r->env,
      .o = {.table = r->table, .fields = schema->fields, .n_fields = schema->n_fields},
      .batch_rows = TN_READ_BATCH_ROWS};
  r->time_at = -1;
  if (!is_key_value) {
    return TARN_OK;
  }
  TN_TRY(make_merge(r, err));
  return choose_compared(r, err);
}

/* The table, but for options that let reads skip files: what a rewrite does not read it would drop
 * for good. */
static tarn_status make_strict(tn_table *table, tn_table **out, tarn_error *err) {
  if (!table->facts.ignore_lost_files && !table->facts.ignore_corrupt_files) {
    *out = tn_table_retain(table);
    return TARN_OK;
  }
  TN_TRY(tn_table_with_schema(table, table->schema, out, err));
  (*out)->facts.ignore_lost_files = (*out)->facts.ignore_corrupt_files = false;
  return TARN_OK;
}

tarn_status tn_rewriter_create(const tn_rewriter_setup *setup, tn_rewriter **out, tarn_error *err) {
  tarn_env *env = setup->table->env;
  tn_rewriter *r = tn_calloc(&env->mem, 1, sizeof(*r));
  tarn_status st;
  *out = NULL;
  if (r == NULL) {
    return tn_oom(err);
  }
  r->env = env;
  r->options = setup->options;
  r->cancel = setup->cancel;
  r->share_bytes =
      (int64_t)(env->mem.budget_bytes / (size_t)(setup->n_threads > 1 ? setup->n_threads : 1));
  tn_arena_init(&r->arena, &env->mem, (size_t)1 << 26);
  st = make_strict(setup->table, &r->table, err);
  if (st == TARN_OK) {
    st = init(r, setup, err);
  }
  if (st != TARN_OK) {
    tn_rewriter_free(r);
    return st;
  }
  *out = r;
  return TARN_OK;
}

void tn_rewriter_free(tn_rewriter *r) {
  if (r == NULL) {
    return;
  }
  tn_write_shape_free(r->shape);
  tn_arena_reset(&r->arena);
  tn_table_release(r->table);
  tn_free(&r->env->mem, r);
}
