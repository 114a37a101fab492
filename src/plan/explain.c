/* explain.c - a split as one JSON object.
 *
 * The keys, their order and the forms of values are those of the plan files that Java's plans are
 * compared with; "bucketPath", and what tells splits of two states or two branches apart, is ours.
 */
#include "model/partition.h"
#include "plan/plan_internal.h"

/* An object or a list being written. */
typedef struct json_out {
  tn_buf *out;
  const tn_table *table;
} json_out;

static tarn_status put_key(tn_buf *out, bool is_first, tn_slice key, tarn_error *err) {
  if (!is_first) {
    TN_TRY(tn_buf_text(out, ",", err));
  }
  TN_TRY(tn_json_quote(out, key, err));
  return tn_buf_text(out, ":", err);
}

static tarn_status put_int(tn_buf *out, const char *key, bool is_set, int64_t value,
                           tarn_error *err) {
  TN_TRY(put_key(out, false, tn_slice_text(key), err));
  return is_set ? tn_buf_printf(out, err, "%lld", (long long)value) : tn_buf_text(out, "null", err);
}

static tarn_status put_bool(tn_buf *out, const char *key, bool value, tarn_error *err) {
  TN_TRY(put_key(out, false, tn_slice_text(key), err));
  return tn_buf_text(out, value ? "true" : "false", err);
}

static tarn_status put_text(tn_buf *out, const char *key, bool is_set, tn_slice value,
                            tarn_error *err) {
  TN_TRY(put_key(out, false, tn_slice_text(key), err));
  return is_set ? tn_json_quote(out, value, err) : tn_buf_text(out, "null", err);
}

static tarn_status put_texts(tn_buf *out, const char *key, bool is_set,
                             const tn_record_array *values, tarn_error *err) {
  TN_TRY(put_key(out, false, tn_slice_text(key), err));
  if (!is_set) {
    return tn_buf_text(out, "null", err);
  }
  TN_TRY(tn_buf_text(out, "[", err));
  for (int64_t i = 0; i < values->count; i++) {
    TN_TRY(tn_buf_text(out, i > 0 ? "," : "", err));
    TN_TRY(tn_json_quote(out, ((const tn_slice *)values->items)[i], err));
  }
  return tn_buf_text(out, "]", err);
}

static bool has_value(const tn_binary_row *row, int32_t i, const tn_type *type) {
  return !tn_binary_row_is_null(row, i) && !tn_type_is_nested(type) && type->root != TN_VARIANT &&
         type->root != TN_VECTOR;
}

static tarn_status put_value(tn_buf *out, const tn_binary_row *row, int32_t i, const tn_type *type,
                             tarn_error *err) {
  tn_datum value = {.is_null = true};
  if (has_value(row, i, type)) {
    TN_TRY(tn_binary_row_get(row, i, type, &value, err));
  }
  return tn_datum_to_json(type, &value, out, err);
}

/* A row of some columns of the schema as an object; null when it has another width. */
static tarn_status put_row(tn_buf *out, const tn_schema *schema, const int32_t *columns, int32_t n,
                           tn_slice bytes, tarn_error *err) {
  tn_binary_row row;
  TN_TRY(tn_binary_row_decode(bytes, "row of a split", &row, err));
  if (row.arity != n) {
    return tn_buf_text(out, "null", err);
  }
  TN_TRY(tn_buf_text(out, "{", err));
  for (int32_t i = 0; i < n; i++) {
    const tn_field *field = &schema->fields[columns[i]];
    TN_TRY(put_key(out, i == 0, tn_slice_text(field->name), err));
    TN_TRY(put_value(out, &row, i, &field->type, err));
  }
  return tn_buf_text(out, "}", err);
}

static tarn_status put_column_stats(tn_buf *out, const tn_simple_stats *stats,
                                    const tn_binary_row *min, const tn_binary_row *max, int32_t i,
                                    const tn_type *type, tarn_error *err) {
  const int64_t *counts = stats->null_counts.items;
  TN_TRY(tn_buf_text(out, "{\"min\":", err));
  TN_TRY(put_value(out, min, i, type, err));
  TN_TRY(tn_buf_text(out, ",\"max\":", err));
  TN_TRY(put_value(out, max, i, type, err));
  TN_TRY(put_int(out, "nulls", i < stats->null_counts.count && counts[i] != INT64_MIN,
                 i < stats->null_counts.count ? counts[i] : 0, err));
  return tn_buf_text(out, "}", err);
}

/* Statistics of a file of the table's own schema, by column; null when the rows have another width
 * than the columns they should have. Files of some columns have theirs in the order of those. */
static tarn_status put_value_stats(tn_buf *out, const tn_schema *schema, const tn_data_file *f,
                                   tarn_error *err) {
  const tn_record_array *named = f->has_value_stats_cols ? &f->value_stats_cols
                                 : f->has_write_cols && f->write_cols.count == schema->n_fields
                                     ? &f->write_cols
                                     : NULL;
  const tn_slice *names = named != NULL ? named->items : NULL;
  int64_t n = named != NULL ? named->count : schema->n_fields;
  int64_t n_known = 0;
  tn_binary_row min, max;
  bool is_first = true;
  int32_t position = 0;
  TN_TRY(put_key(out, false, tn_slice_text("valueStats"), err));
  for (int64_t i = 0; i < n; i++) {
    n_known += named == NULL || tn_fields_find(schema->fields, schema->n_fields, names[i]) >= 0;
  }
  if (f->value_stats.min_values.len == 0 || f->value_stats.max_values.len == 0) {
    return tn_buf_text(out, "null", err);
  }
  TN_TRY(tn_binary_row_decode(f->value_stats.min_values, "_MIN_VALUES", &min, err));
  TN_TRY(tn_binary_row_decode(f->value_stats.max_values, "_MAX_VALUES", &max, err));
  if (min.arity != n_known || max.arity != n_known) {
    return tn_buf_text(out, "null", err);
  }
  TN_TRY(tn_buf_text(out, "{", err));
  for (int64_t i = 0; i < n; i++) {
    int32_t column =
        named != NULL ? tn_fields_find(schema->fields, schema->n_fields, names[i]) : (int32_t)i;
    if (column < 0) {
      continue;
    }
    TN_TRY(put_key(out, is_first, tn_slice_text(schema->fields[column].name), err));
    TN_TRY(put_column_stats(out, &f->value_stats, &min, &max, position++,
                            &schema->fields[column].type, err));
    is_first = false;
  }
  return tn_buf_text(out, "}", err);
}

static tarn_status put_deletion(tn_buf *out, const tn_dv_place *d, tarn_error *err) {
  const char *name = strrchr(d->path, '/');
  TN_TRY(tn_buf_text(out, ",\"deletion\":{\"file\":", err));
  TN_TRY(tn_json_quote(out, tn_slice_text(name != NULL ? name + 1 : d->path), err));
  TN_TRY(put_int(out, "offset", true, d->offset, err));
  TN_TRY(put_int(out, "length", true, d->length, err));
  TN_TRY(put_int(out, "cardinality", d->cardinality >= 0, d->cardinality, err));
  return tn_buf_text(out, "}", err);
}

static tarn_status put_file(const json_out *j, const tn_data_file *f, const tn_dv_place *deletion,
                            tarn_error *err) {
  static const char *const sources[] = {"APPEND", "COMPACT"};
  const tn_schema *schema = j->table->schema;
  tn_buf *out = j->out;
  bool has_source = f->has_source && f->source >= 0 && f->source <= 1;
  TN_TRY(tn_buf_text(out, "{", err));
  TN_TRY(put_key(out, true, tn_slice_text("name"), err));
  TN_TRY(tn_json_quote(out, f->file_name, err));
  TN_TRY(put_int(out, "size", true, f->file_size, err));
  TN_TRY(put_int(out, "rowCount", true, f->row_count, err));
  TN_TRY(put_int(out, "level", true, f->level, err));
  TN_TRY(put_int(out, "schemaId", true, f->schema_id, err));
  TN_TRY(put_int(out, "minSequence", true, f->min_sequence, err));
  TN_TRY(put_int(out, "maxSequence", true, f->max_sequence, err));
  TN_TRY(put_int(out, "deleteRowCount", f->has_delete_row_count, f->delete_row_count, err));
  TN_TRY(put_text(out, "source", has_source, tn_slice_text(has_source ? sources[f->source] : ""),
                  err));
  if (j->table->facts.has_primary_key) {
    TN_TRY(put_key(out, false, tn_slice_text("minKey"), err));
    TN_TRY(put_row(out, schema, schema->key_columns, schema->n_key_columns, f->min_key, err));
    TN_TRY(put_key(out, false, tn_slice_text("maxKey"), err));
    TN_TRY(put_row(out, schema, schema->key_columns, schema->n_key_columns, f->max_key, err));
  }
  if (f->schema_id == schema->id) {
    TN_TRY(put_value_stats(out, schema, f, err));
  }
  TN_TRY(put_texts(out, "valueStatsCols", f->has_value_stats_cols, &f->value_stats_cols, err));
  TN_TRY(put_texts(out, "extraFiles", true, &f->extra_files, err));
  TN_TRY(put_int(out, "embeddedIndexBytes", f->has_embedded_index, (int64_t)f->embedded_index.len,
                 err));
  TN_TRY(put_text(out, "externalPath", f->has_external_path, f->external_path, err));
  TN_TRY(put_int(out, "firstRowId", f->has_first_row_id, f->first_row_id, err));
  TN_TRY(put_texts(out, "writeCols", f->has_write_cols, &f->write_cols, err));
  if (deletion != NULL && deletion->path != NULL) {
    TN_TRY(put_deletion(out, deletion, err));
  }
  return tn_buf_text(out, "}", err);
}

static tarn_status put_files(const json_out *j, const char *key, const tn_data_file *files,
                             int32_t n, const tn_dv_place *deletions, tarn_error *err) {
  TN_TRY(put_key(j->out, false, tn_slice_text(key), err));
  TN_TRY(tn_buf_text(j->out, "[", err));
  for (int32_t i = 0; i < n; i++) {
    TN_TRY(tn_buf_text(j->out, i > 0 ? "," : "", err));
    TN_TRY(put_file(j, &files[i], deletions != NULL ? &deletions[i] : NULL, err));
  }
  return tn_buf_text(j->out, "]", err);
}

static uint64_t count_rows(const tn_data_file *files, int32_t n) {
  uint64_t rows = 0;
  for (int32_t i = 0; i < n; i++) {
    rows += (uint64_t)files[i].row_count;
  }
  return rows;
}

tarn_status tn_split_to_json(const tn_table *table, const tn_split *split, tn_buf *out,
                             tarn_error *err) {
  const json_out j = {out, split->table != NULL ? split->table : table};
  const tn_schema *schema = j.table->schema;
  uint64_t rows =
      count_rows(split->files, split->n_files) + count_rows(split->before, split->n_before);
  TN_TRY(tn_buf_text(out, "{", err));
  TN_TRY(put_key(out, true, tn_slice_text("snapshotId"), err));
  TN_TRY(tn_buf_printf(out, err, "%lld", (long long)split->snapshot_id));
  TN_TRY(put_key(out, false, tn_slice_text("partition"), err));
  TN_TRY(put_row(out, schema, schema->partition_columns, schema->n_partition_keys, split->partition,
                 err));
  TN_TRY(put_int(out, "bucket", true, split->bucket, err));
  TN_TRY(put_int(out, "totalBuckets", split->has_total_buckets, split->total_buckets, err));
  TN_TRY(put_bool(out, "streaming", split->is_streaming, err));
  TN_TRY(put_bool(out, "rawConvertible", split->is_raw_convertible, err));
  TN_TRY(put_int(out, "rowCount", true, (int64_t)rows, err));
  TN_TRY(put_files(&j, "files", split->files, split->n_files, split->deletions, err));
  if (split->is_incremental) {
    TN_TRY(put_files(&j, "before", split->before, split->n_before, split->before_deletions, err));
    TN_TRY(put_text(out, "split", true, tn_slice_text("IncrementalSplit"), err));
  }
  if (split->has_branch) {
    TN_TRY(put_bool(out, "fallback", split->is_fallback, err));
    TN_TRY(put_text(out, "branch", true, tn_slice_text(j.table->branch), err));
  }
  TN_TRY(put_text(out, "bucketPath", split->bucket_path != NULL,
                  tn_slice_text(split->bucket_path != NULL ? split->bucket_path : ""), err));
  return tn_buf_text(out, "}", err);
}
