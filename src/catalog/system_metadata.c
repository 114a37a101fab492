/* system_metadata.c - system tables of small files: snapshots, schemas, tags, branches, consumers,
 * statistics. Rule: the classes of org.apache.paimon.table.system; spec: system-tables. */
#include <stdio.h>
#include <string.h>

#include "catalog/system_kinds.h"
#include "model/snapshot.h"
#include "plan/travel.h"

/* ------------------------------------------------------------------ $snapshots */

static const tn_field snapshot_fields[] = {
    TN_LONG(0, "snapshot_id", TN_NOT_NULL),
    TN_LONG(1, "schema_id", TN_NOT_NULL),
    TN_TEXT(2, "commit_user", TN_NOT_NULL),
    TN_LONG(3, "commit_identifier", TN_NOT_NULL),
    TN_TEXT(4, "commit_kind", TN_NOT_NULL),
    TN_TIME3(5, "commit_time", TN_NOT_NULL),
    TN_TEXT(6, "base_manifest_list", TN_NOT_NULL),
    TN_TEXT(7, "delta_manifest_list", TN_NOT_NULL),
    TN_TEXT(8, "changelog_manifest_list", TN_NULLABLE),
    TN_LONG(9, "total_record_count", TN_NULLABLE),
    TN_LONG(10, "delta_record_count", TN_NULLABLE),
    TN_LONG(11, "changelog_record_count", TN_NULLABLE),
    TN_LONG(12, "watermark", TN_NULLABLE),
    TN_LONG(13, "next_row_id", TN_NULLABLE),
};

static tarn_status add_snapshot(const tn_table *table, tn_system_rows *rows, const tn_snapshot *s,
                                tarn_error *err) {
  TN_TRY(tn_system_rows_add(rows, err));
  tn_system_rows_int(rows, 0, s->id);
  tn_system_rows_int(rows, 1, s->schema_id);
  TN_TRY(tn_system_rows_text(rows, 2, s->commit_user, err));
  tn_system_rows_int(rows, 3, s->commit_identifier);
  TN_TRY(tn_system_rows_text(rows, 4, tn_commit_kind_name(s->commit_kind), err));
  tn_system_rows_int(rows, 5, tn_system_local_ms(table->env, s->time_ms));
  TN_TRY(tn_system_rows_text(rows, 6, s->base_manifest_list, err));
  TN_TRY(tn_system_rows_text(rows, 7, s->delta_manifest_list, err));
  TN_TRY(tn_system_rows_text(rows, 8, s->changelog_manifest_list, err));
  tn_system_rows_int(rows, 9, s->total_record_count);
  tn_system_rows_int(rows, 10, s->delta_record_count);
  if (s->has_changelog_record_count) {
    tn_system_rows_int(rows, 11, s->changelog_record_count);
  }
  if (s->has_watermark) {
    tn_system_rows_int(rows, 12, s->watermark);
  }
  if (s->has_next_row_id) {
    tn_system_rows_int(rows, 13, s->next_row_id);
  }
  return TARN_OK;
}

static tarn_status snapshot_rows(tn_system_scan *scan, tarn_error *err) {
  tn_table *table = scan->table;
  tn_system_rows *rows = &scan->rows;
  tn_arena *scratch = &scan->scratch;
  int64_t *ids;
  int32_t n_ids;
  TN_TRY(tn_snapshot_ids(table->env, table->storage, table->branch_path, "snapshot", scratch, &ids,
                         &n_ids, err));
  for (int32_t i = 0; i < n_ids; i++) {
    tn_snapshot s;
    tarn_status st =
        tn_snapshot_read(table->env, table->storage, table->branch_path, ids[i], scratch, &s, err);
    if (st == TARN_E_NOT_FOUND) {
      continue; /* expired since the listing */
    }
    TN_TRY(st);
    TN_TRY(add_snapshot(table, rows, &s, err));
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ $schemas */

static const tn_field schema_fields[] = {
    TN_LONG(0, "schema_id", TN_NOT_NULL),      TN_TEXT(1, "fields", TN_NOT_NULL),
    TN_TEXT(2, "partition_keys", TN_NOT_NULL), TN_TEXT(3, "primary_keys", TN_NOT_NULL),
    TN_TEXT(4, "options", TN_NOT_NULL),        TN_TEXT(5, "comment", TN_NULLABLE),
    TN_TIME3(6, "update_time", TN_NOT_NULL),
};

static tarn_status fields_json(const tn_schema *schema, tn_buf *out, tarn_error *err) {
  TN_TRY(tn_buf_text(out, "[", err));
  for (int32_t i = 0; i < schema->n_fields; i++) {
    TN_TRY(tn_buf_text(out, i > 0 ? "," : "", err));
    TN_TRY(tn_field_to_json(&schema->fields[i], out, err));
  }
  return tn_buf_text(out, "]", err);
}

/* The options of a schema as JSON, in the order of the map that Java keeps them in. */
static tarn_status options_json(tn_arena *scratch, const tn_schema *schema, tn_buf *out,
                                tarn_error *err) {
  tn_option *sorted = tn_arena_calloc(scratch, (size_t)schema->n_options + 1, sizeof(*sorted));
  int32_t *order;
  if (sorted == NULL) {
    return tn_oom(err);
  }
  TN_TRY(tn_system_java_order(scratch, schema->options, schema->n_options, &order, err));
  for (int32_t i = 0; i < schema->n_options; i++) {
    sorted[i] = schema->options[order[i]];
  }
  return tn_options_to_json(sorted, schema->n_options, out, err);
}

static tarn_status add_schema(tn_system_scan *scan, const tn_schema *schema, tn_buf *text,
                              tarn_error *err) {
  tn_system_rows *rows = &scan->rows;
  TN_TRY(tn_system_rows_add(rows, err));
  tn_system_rows_int(rows, 0, schema->id);
  text->len = 0;
  TN_TRY(fields_json(schema, text, err));
  TN_TRY(tn_system_rows_slice(rows, 1, tn_buf_slice(text), err));
  text->len = 0;
  TN_TRY(tn_json_quote_list(text, schema->partition_keys, schema->n_partition_keys, err));
  TN_TRY(tn_system_rows_slice(rows, 2, tn_buf_slice(text), err));
  text->len = 0;
  TN_TRY(tn_json_quote_list(text, schema->primary_keys, schema->n_primary_keys, err));
  TN_TRY(tn_system_rows_slice(rows, 3, tn_buf_slice(text), err));
  text->len = 0;
  TN_TRY(options_json(&scan->scratch, schema, text, err));
  TN_TRY(tn_system_rows_slice(rows, 4, tn_buf_slice(text), err));
  TN_TRY(tn_system_rows_text(rows, 5, schema->comment, err));
  tn_system_rows_int(rows, 6, tn_system_local_ms(scan->env, schema->time_ms));
  return TARN_OK;
}

static tarn_status schema_rows(tn_system_scan *scan, tarn_error *err) {
  tn_table *table = scan->table;
  tn_arena *scratch = &scan->scratch;
  int64_t *ids;
  int32_t n_ids;
  tarn_status st = TARN_OK;
  tn_buf text;
  TN_TRY(tn_schema_ids(table->env, table->storage, table->branch_path, scratch, &ids, &n_ids, err));
  tn_buf_init(&text, &table->env->mem, TN_SYSTEM_TEXT_BYTES);
  for (int32_t i = 0; i < n_ids && st == TARN_OK; i++) {
    tn_schema *schema = NULL;
    st = tn_schema_load(table->env, table->storage, table->branch_path, ids[i], &schema, err);
    if (st == TARN_OK) {
      st = add_schema(scan, schema, &text, err);
    }
    tn_schema_release(schema);
  }
  tn_buf_reset(&text);
  return st;
}

/* ------------------------------------------------------------------ $options */

static const tn_field option_fields[] = {TN_TEXT(0, "key", TN_NOT_NULL),
                                         TN_TEXT(1, "value", TN_NOT_NULL)};

/* The latest schema of the branch, whatever was travelled to. */
static tarn_status load_latest(tn_system_scan *scan, tn_schema **out, tarn_error *err) {
  const tn_table *table = scan->table;
  int64_t *ids;
  int32_t n;
  TN_TRY(
      tn_schema_ids(table->env, table->storage, table->branch_path, &scan->scratch, &ids, &n, err));
  return tn_schema_load(table->env, table->storage, table->branch_path, ids[n - 1], out, err);
}

static tarn_status option_rows(tn_system_scan *scan, tarn_error *err) {
  tn_system_rows *rows = &scan->rows;
  tn_schema *schema = NULL;
  int32_t *order;
  tarn_status st = TARN_OK;
  TN_TRY(load_latest(scan, &schema, err));
  TN_TRY_TO(done,
            tn_system_java_order(&scan->scratch, schema->options, schema->n_options, &order, err));
  for (int32_t i = 0; i < schema->n_options; i++) {
    const tn_option *option = &schema->options[order[i]];
    TN_TRY_TO(done, tn_system_rows_add(rows, err));
    TN_TRY_TO(done, tn_system_rows_text(rows, 0, option->key, err));
    TN_TRY_TO(done, tn_system_rows_text(rows, 1, option->value, err));
  }
done:
  tn_schema_release(schema);
  return st;
}

/* ------------------------------------------------------------------ $tags */

static const tn_field tag_fields[] = {
    TN_TEXT(0, "tag_name", TN_NOT_NULL),      TN_LONG(1, "snapshot_id", TN_NOT_NULL),
    TN_LONG(2, "schema_id", TN_NOT_NULL),     TN_TIME3(3, "commit_time", TN_NOT_NULL),
    TN_LONG(4, "record_count", TN_NULLABLE),  TN_TIME3(5, "create_time", TN_NULLABLE),
    TN_TEXT(6, "time_retained", TN_NULLABLE),
};

/* java.time.Duration.toString: PT24H, PT1M30S, PT0.5S. */
static const char *duration_text(tn_arena *arena, int64_t ns) {
  const int64_t second = 1000000000;
  int64_t seconds = ns / second, rest = ns % second;
  int64_t h = seconds / 3600, m = seconds / 60 % 60, s = seconds % 60;
  char hours[32] = "", minutes[16] = "", secs[32] = "";
  if (h != 0) {
    snprintf(hours, sizeof(hours), "%lldH", (long long)h);
  }
  if (m != 0) {
    snprintf(minutes, sizeof(minutes), "%lldM", (long long)m);
  }
  if (rest != 0) {
    int digits = 9;
    for (; rest % 10 == 0; digits--) {
      rest /= 10;
    }
    snprintf(secs, sizeof(secs), "%lld.%0*lldS", (long long)s, digits, (long long)rest);
  } else if (s != 0 || ns == 0) {
    snprintf(secs, sizeof(secs), "%lldS", (long long)s);
  }
  return tn_arena_printf(arena, "PT%s%s%s", hours, minutes, secs);
}

static tarn_status tag_rows(tn_system_scan *scan, tarn_error *err) {
  tn_table *table = scan->table;
  tn_system_rows *rows = &scan->rows;
  tn_arena *scratch = &scan->scratch;
  const char **names;
  int32_t n_names;
  TN_TRY(
      tn_tag_names(table->env, table->storage, table->branch_path, scratch, &names, &n_names, err));
  for (int32_t i = 0; i < n_names; i++) {
    tn_snapshot s;
    TN_TRY(tn_tag_read(table->env, table->storage, table->branch_path, names[i], scratch, &s, err));
    TN_TRY(tn_system_rows_add(rows, err));
    TN_TRY(tn_system_rows_text(rows, 0, names[i], err));
    tn_system_rows_int(rows, 1, s.id);
    tn_system_rows_int(rows, 2, s.schema_id);
    tn_system_rows_int(rows, 3, tn_system_local_ms(table->env, s.time_ms));
    tn_system_rows_int(rows, 4, s.total_record_count);
    if (s.has_tag_create) {
      tn_system_rows_int(rows, 5, s.tag_create_ms);
    }
    if (s.has_tag_retained) {
      const char *text = duration_text(scratch, s.tag_retained_ns);
      if (text == NULL) {
        return tn_oom(err);
      }
      TN_TRY(tn_system_rows_text(rows, 6, text, err));
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ $branches, $consumers */

static const tn_field branch_fields[] = {TN_TEXT(0, "branch_name", TN_NOT_NULL),
                                         TN_TIME3(1, "create_time", TN_NOT_NULL)};

static tarn_status branch_rows(tn_system_scan *scan, tarn_error *err) {
  tn_table *table = scan->table;
  tn_system_rows *rows = &scan->rows;
  tn_arena *scratch = &scan->scratch;
  tn_branch *branches;
  int32_t n;
  TN_TRY(tn_branch_list(table->env, table->storage, table->path, scratch, &branches, &n, err));
  for (int32_t i = 0; i < n; i++) {
    TN_TRY(tn_system_rows_add(rows, err));
    TN_TRY(tn_system_rows_text(rows, 0, branches[i].name, err));
    tn_system_rows_int(rows, 1, tn_system_local_ms(table->env, branches[i].created_ms));
  }
  return TARN_OK;
}

static const tn_field consumer_fields[] = {TN_TEXT(0, "consumer_id", TN_NOT_NULL),
                                           TN_LONG(1, "next_snapshot_id", TN_NOT_NULL)};

static tarn_status consumer_rows(tn_system_scan *scan, tarn_error *err) {
  tn_table *table = scan->table;
  tn_system_rows *rows = &scan->rows;
  tn_arena *scratch = &scan->scratch;
  tn_consumer *consumers;
  int32_t n;
  TN_TRY(tn_consumer_list(table->env, table->storage, table->branch_path, scratch, &consumers, &n,
                          err));
  for (int32_t i = 0; i < n; i++) {
    TN_TRY(tn_system_rows_add(rows, err));
    TN_TRY(tn_system_rows_text(rows, 0, consumers[i].id, err));
    tn_system_rows_int(rows, 1, consumers[i].next_snapshot);
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ $aggregation_fields */

static const tn_field aggregation_fields[] = {
    TN_TEXT(0, "field_name", TN_NOT_NULL), TN_TEXT(1, "field_type", TN_NOT_NULL),
    TN_TEXT(2, "function", TN_NULLABLE),   TN_TEXT(3, "function_options", TN_NULLABLE),
    TN_TEXT(4, "comment", TN_NULLABLE),
};

/* "fields.<name>.<more>": is <name> this field? */
static bool option_is_of(const char *key, const char *field) {
  static const char prefix[] = "fields.";
  const char *begin, *dot;
  if (strncmp(key, prefix, sizeof(prefix) - 1) != 0) {
    return false;
  }
  begin = key + sizeof(prefix) - 1;
  dot = strchr(begin, '.');
  // String.split drops empty parts at the end: "fields.a." has two.
  return dot != NULL && dot[strspn(dot, ".")] != '\0' && (size_t)(dot - begin) == strlen(field) &&
         memcmp(begin, field, strlen(field)) == 0;
}

/* List.toString of keys or values of the options of a field. */
static tarn_status list_text(const tn_schema *schema, const int32_t *order, const char *field,
                             bool is_key, tn_buf *out, tarn_error *err) {
  const char *between = "";
  out->len = 0;
  TN_TRY(tn_buf_text(out, "[", err));
  for (int32_t i = 0; i < schema->n_options; i++) {
    const tn_option *option = &schema->options[order[i]];
    if (option_is_of(option->key, field)) {
      TN_TRY(tn_buf_text(out, between, err));
      TN_TRY(tn_buf_text(out, is_key ? option->key : option->value, err));
      between = ", ";
    }
  }
  return tn_buf_text(out, "]", err);
}

static tarn_status add_aggregation(tn_system_rows *rows, const tn_schema *schema,
                                   const int32_t *order, const tn_field *field, tn_buf *text,
                                   tarn_error *err) {
  TN_TRY(tn_system_rows_add(rows, err));
  TN_TRY(tn_system_rows_text(rows, 0, field->name, err));
  text->len = 0;
  TN_TRY(tn_type_to_sql(&field->type, text, err));
  TN_TRY(tn_system_rows_slice(rows, 1, tn_buf_slice(text), err));
  TN_TRY(list_text(schema, order, field->name, false, text, err));
  TN_TRY(tn_system_rows_slice(rows, 2, tn_buf_slice(text), err));
  TN_TRY(list_text(schema, order, field->name, true, text, err));
  TN_TRY(tn_system_rows_slice(rows, 3, tn_buf_slice(text), err));
  return tn_system_rows_text(rows, 4, field->description, err);
}

static tarn_status aggregation_rows(tn_system_scan *scan, tarn_error *err) {
  tn_schema *schema = NULL;
  int32_t *order;
  tarn_status st = TARN_OK;
  tn_buf text;
  TN_TRY(load_latest(scan, &schema, err));
  tn_buf_init(&text, &scan->env->mem, TN_SYSTEM_TEXT_BYTES);
  TN_TRY_TO(done,
            tn_system_java_order(&scan->scratch, schema->options, schema->n_options, &order, err));
  for (int32_t i = 0; i < schema->n_fields; i++) {
    TN_TRY_TO(done, add_aggregation(&scan->rows, schema, order, &schema->fields[i], &text, err));
  }
done:
  tn_buf_reset(&text);
  tn_schema_release(schema);
  return st;
}

/* ------------------------------------------------------------------ $statistics */

static const tn_field statistic_fields[] = {
    TN_LONG(0, "snapshot_id", TN_NOT_NULL),       TN_LONG(1, "schema_id", TN_NOT_NULL),
    TN_LONG(2, "mergedRecordCount", TN_NULLABLE), TN_LONG(3, "mergedRecordSize", TN_NULLABLE),
    TN_TEXT(4, "colstat", TN_NULLABLE),
};

/* Members of stats.ColStats as it writes them; others are dropped, and null ones but the id. */
static const struct {
  const char *key;
  bool is_text;
} column_members[] = {
    {"colId", false},     {"distinctCount", false}, {"min", true},     {"max", true},
    {"nullCount", false}, {"avgLen", false},        {"maxLen", false},
};

/* One column, in Jackson's pretty print (spec: snapshot-schema, 0). */
static tarn_status column_json(const tn_json *column, const char *path, tn_buf *out,
                               tarn_error *err) {
  const char *between = "";
  TN_TRY(tn_buf_text(out, "{", err));
  for (size_t i = 0; i < TN_COUNT(column_members); i++) {
    const char *key = column_members[i].key;
    const tn_json *value = tn_json_get(column, key);
    if (value == NULL && i > 0) {
      continue;
    }
    TN_TRY(tn_buf_printf(out, err, "%s\n    \"%s\" : ", between, key));
    between = ",";
    if (column_members[i].is_text) {
      tn_buf text;
      tarn_status st;
      tn_buf_init(&text, out->mem, TN_SYSTEM_TEXT_BYTES);
      st = tn_json_scalar_text(value, &text, err);
      if (st == TARN_OK) {
        st = tn_json_quote(out, tn_buf_slice(&text), err);
      }
      tn_buf_reset(&text);
      TN_TRY(st);
    } else {
      int64_t number = 0;
      if (value != NULL && !tn_json_int(value, &number)) {
        return tn_fail(err, TARN_E_CORRUPT, "%s: %s of a column is not a number", path, key);
      }
      TN_TRY(tn_buf_printf(out, err, "%lld", (long long)number));
    }
  }
  return tn_buf_text(out, "\n  }", err);
}

static tarn_status columns_json(const tn_json *columns, const char *path, tn_buf *out,
                                tarn_error *err) {
  tn_json_member member = {0};
  const char *between = "";
  TN_TRY(tn_buf_text(out, "{", err));
  while (tn_json_next(columns, &member)) {
    TN_TRY(tn_buf_printf(out, err, "%s\n  ", between));
    TN_TRY(tn_json_quote(out, tn_slice_text(member.key), err));
    TN_TRY(tn_buf_text(out, " : ", err));
    TN_TRY(column_json(member.value, path, out, err));
    between = ",";
  }
  return tn_buf_text(out, between[0] != '\0' ? "\n}" : " }", err);
}

static tarn_status add_statistics(tn_system_rows *rows, const tn_json *root, const char *path,
                                  tn_buf *text, tarn_error *err) {
  static const char *const numbers[] = {"snapshotId", "schemaId", "mergedRecordCount",
                                        "mergedRecordSize"};
  TN_TRY(tn_system_rows_add(rows, err));
  for (size_t i = 0; i < TN_COUNT(numbers); i++) {
    int64_t number;
    TN_TRY(tn_json_get_int(root, numbers[i], path, &number, NULL, err));
    tn_system_rows_int(rows, (int32_t)i, number);
  }
  if (tn_json_get(root, "colStats") == NULL) {
    return tn_system_rows_text(rows, 4, "null", err);
  }
  TN_TRY(columns_json(tn_json_get(root, "colStats"), path, text, err));
  return tn_system_rows_slice(rows, 4, tn_buf_slice(text), err);
}

/* The statistics of the snapshot that is read; it names those of the last ANALYZE before it. */
static tarn_status statistic_rows(tn_system_scan *scan, tarn_error *err) {
  tn_table *table = scan->table;
  tn_travel travel = {0};
  tn_json_doc *doc = NULL;
  const char *path;
  tarn_status st;
  tn_buf bytes, text;
  TN_TRY(tn_travel_resolve(table, &scan->scratch, &travel, err));
  if (!travel.has_snapshot || travel.snapshot.statistics == NULL) {
    return TARN_OK;
  }
  path =
      tn_arena_printf(&scan->scratch, "%s/statistics/%s", table->path, travel.snapshot.statistics);
  if (path == NULL) {
    return tn_oom(err);
  }
  tn_buf_init(&bytes, &scan->env->mem, TN_SYSTEM_TEXT_BYTES);
  tn_buf_init(&text, &scan->env->mem, TN_SYSTEM_TEXT_BYTES);
  TN_TRY_TO(done, tn_storage_read_all(table->storage, path, &bytes, err));
  TN_TRY_TO(done, tn_json_parse(&scan->env->mem, tn_buf_slice(&bytes), path, &doc, err));
  st = add_statistics(&scan->rows, tn_json_root(doc), path, &text, err);
done:
  tn_json_free(doc);
  tn_buf_reset(&text);
  tn_buf_reset(&bytes);
  return st;
}

/* ------------------------------------------------------------------ kinds */

static const char *const snapshot_keys[] = {"snapshot_id"}, *const schema_keys[] = {"schema_id"},
                         *const option_keys[] = {"key"}, *const tag_keys[] = {"tag_name"},
                         *const branch_keys[] = {"branch_name"},
                         *const consumer_keys[] = {"consumer_id"},
                         *const aggregation_keys[] = {"field_name"};

TN_TIMELESS_KIND(snapshots, snapshot_fields, snapshot_keys, snapshot_rows);
TN_TIMELESS_KIND(schemas, schema_fields, schema_keys, schema_rows);
TN_TIMELESS_KIND(options, option_fields, option_keys, option_rows);
TN_TIMELESS_KIND(tags, tag_fields, tag_keys, tag_rows);
TN_TIMELESS_KIND(branches, branch_fields, branch_keys, branch_rows);
TN_TIMELESS_KIND(consumers, consumer_fields, consumer_keys, consumer_rows);
TN_TIMELESS_KIND(aggregation_fields, aggregation_fields, aggregation_keys, aggregation_rows);
TN_SYSTEM_KIND(statistics, statistic_fields, snapshot_keys, statistic_rows);
