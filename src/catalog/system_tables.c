/* system_tables.c - tables that tell about a table. Spec: system-tables.
 * Rule: the classes of org.apache.paimon.table.system. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "catalog/catalog.h"
#include "catalog/system_rows.h"

#define TEXT_LIMIT_BYTES ((size_t)64 << 20)

#define NOT_NULL false
#define NULLABLE true
#define F(id_, name_, root_, nullable_, length_, precision_) \
  {                                                          \
    .id = (id_), .name = (name_), .type = {                  \
      .root = (root_),                                       \
      .is_nullable = (nullable_),                            \
      .length = (length_),                                   \
      .precision = (precision_)                              \
    }                                                        \
  }
#define LONG(id, name, nullable) F(id, name, TN_BIGINT, nullable, 0, 0)
#define TEXT(id, name, nullable) F(id, name, TN_VARCHAR, nullable, 2147483647, 0)
#define TIME3(id, name, nullable) F(id, name, TN_TIMESTAMP, nullable, 0, 3)

/* Epoch milliseconds as the local date-time that these tables show. */
static int64_t local_ms(const tn_table *table, int64_t epoch_ms) {
  int64_t seconds = epoch_ms >= 0 ? epoch_ms / 1000 : -((-epoch_ms + 999) / 1000);
  return epoch_ms + (int64_t)tn_zone_offset_at(table->env->zone, seconds) * 1000;
}

/* ------------------------------------------------------------------ $snapshots */

static const tn_field snapshot_fields[] = {
    LONG(0, "snapshot_id", NOT_NULL),
    LONG(1, "schema_id", NOT_NULL),
    TEXT(2, "commit_user", NOT_NULL),
    LONG(3, "commit_identifier", NOT_NULL),
    TEXT(4, "commit_kind", NOT_NULL),
    TIME3(5, "commit_time", NOT_NULL),
    TEXT(6, "base_manifest_list", NOT_NULL),
    TEXT(7, "delta_manifest_list", NOT_NULL),
    TEXT(8, "changelog_manifest_list", NULLABLE),
    LONG(9, "total_record_count", NULLABLE),
    LONG(10, "delta_record_count", NULLABLE),
    LONG(11, "changelog_record_count", NULLABLE),
    LONG(12, "watermark", NULLABLE),
    LONG(13, "next_row_id", NULLABLE),
};

static tarn_status add_snapshot(const tn_table *table, tn_system_rows *rows, const tn_snapshot *s,
                                tarn_error *err) {
  TN_TRY(tn_system_rows_add(rows, err));
  tn_system_rows_int(rows, 0, s->id);
  tn_system_rows_int(rows, 1, s->schema_id);
  TN_TRY(tn_system_rows_text(rows, 2, s->commit_user, err));
  tn_system_rows_int(rows, 3, s->commit_identifier);
  TN_TRY(tn_system_rows_text(rows, 4, tn_commit_kind_name(s->commit_kind), err));
  tn_system_rows_int(rows, 5, local_ms(table, s->time_ms));
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

static tarn_status snapshot_rows(tn_table *table, tn_system_rows *rows, tn_arena *scratch,
                                 tarn_error *err) {
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
    LONG(0, "schema_id", NOT_NULL),      TEXT(1, "fields", NOT_NULL),
    TEXT(2, "partition_keys", NOT_NULL), TEXT(3, "primary_keys", NOT_NULL),
    TEXT(4, "options", NOT_NULL),        TEXT(5, "comment", NULLABLE),
    TIME3(6, "update_time", NOT_NULL),
};

static tarn_status fields_json(const tn_schema *schema, tn_buf *out, tarn_error *err) {
  TN_TRY(tn_buf_text(out, "[", err));
  for (int32_t i = 0; i < schema->n_fields; i++) {
    TN_TRY(tn_buf_text(out, i > 0 ? "," : "", err));
    TN_TRY(tn_field_to_json(&schema->fields[i], out, err));
  }
  return tn_buf_text(out, "]", err);
}

static tarn_status add_schema(const tn_table *table, tn_system_rows *rows, const tn_schema *schema,
                              tn_buf *text, tarn_error *err) {
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
  TN_TRY(tn_options_to_json(schema->options, schema->n_options, text, err));
  TN_TRY(tn_system_rows_slice(rows, 4, tn_buf_slice(text), err));
  TN_TRY(tn_system_rows_text(rows, 5, schema->comment, err));
  tn_system_rows_int(rows, 6, local_ms(table, schema->time_ms));
  return TARN_OK;
}

static tarn_status schema_rows(tn_table *table, tn_system_rows *rows, tn_arena *scratch,
                               tarn_error *err) {
  int64_t *ids;
  int32_t n_ids;
  tarn_status st = TARN_OK;
  tn_buf text;
  TN_TRY(tn_schema_ids(table->env, table->storage, table->branch_path, scratch, &ids, &n_ids, err));
  tn_buf_init(&text, &table->env->mem, TEXT_LIMIT_BYTES);
  for (int32_t i = 0; i < n_ids && st == TARN_OK; i++) {
    tn_schema *schema = NULL;
    st = tn_schema_load(table->env, table->storage, table->branch_path, ids[i], &schema, err);
    if (st == TARN_OK) {
      st = add_schema(table, rows, schema, &text, err);
    }
    tn_schema_release(schema);
  }
  tn_buf_reset(&text);
  return st;
}

/* ------------------------------------------------------------------ $options */

static const tn_field option_fields[] = {TEXT(0, "key", NOT_NULL), TEXT(1, "value", NOT_NULL)};

static tarn_status option_rows(tn_table *table, tn_system_rows *rows, tn_arena *scratch,
                               tarn_error *err) {
  tn_schema *schema = NULL;
  int64_t *ids;
  int32_t n_ids;
  tarn_status st = TARN_OK;
  TN_TRY(tn_schema_ids(table->env, table->storage, table->branch_path, scratch, &ids, &n_ids, err));
  TN_TRY(
      tn_schema_load(table->env, table->storage, table->branch_path, ids[n_ids - 1], &schema, err));
  for (int32_t i = 0; i < schema->n_options; i++) {
    TN_TRY_TO(done, tn_system_rows_add(rows, err));
    TN_TRY_TO(done, tn_system_rows_text(rows, 0, schema->options[i].key, err));
    TN_TRY_TO(done, tn_system_rows_text(rows, 1, schema->options[i].value, err));
  }
done:
  tn_schema_release(schema);
  return st;
}

/* ------------------------------------------------------------------ $tags */

static const tn_field tag_fields[] = {
    TEXT(0, "tag_name", NOT_NULL),      LONG(1, "snapshot_id", NOT_NULL),
    LONG(2, "schema_id", NOT_NULL),     TIME3(3, "commit_time", NOT_NULL),
    LONG(4, "record_count", NULLABLE),  TIME3(5, "create_time", NULLABLE),
    TEXT(6, "time_retained", NULLABLE),
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

static tarn_status tag_rows(tn_table *table, tn_system_rows *rows, tn_arena *scratch,
                            tarn_error *err) {
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
    tn_system_rows_int(rows, 3, local_ms(table, s.time_ms));
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

static const tn_field branch_fields[] = {TEXT(0, "branch_name", NOT_NULL),
                                         TIME3(1, "create_time", NOT_NULL)};

static tarn_status branch_rows(tn_table *table, tn_system_rows *rows, tn_arena *scratch,
                               tarn_error *err) {
  tn_branch *branches;
  int32_t n;
  TN_TRY(tn_branch_list(table->env, table->storage, table->path, scratch, &branches, &n, err));
  for (int32_t i = 0; i < n; i++) {
    TN_TRY(tn_system_rows_add(rows, err));
    TN_TRY(tn_system_rows_text(rows, 0, branches[i].name, err));
    tn_system_rows_int(rows, 1, local_ms(table, branches[i].created_ms));
  }
  return TARN_OK;
}

static const tn_field consumer_fields[] = {TEXT(0, "consumer_id", NOT_NULL),
                                           LONG(1, "next_snapshot_id", NOT_NULL)};

static tarn_status consumer_rows(tn_table *table, tn_system_rows *rows, tn_arena *scratch,
                                 tarn_error *err) {
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

/* ------------------------------------------------------------------ $partitions */

static const tn_field partition_fields[] = {
    TEXT(0, "partition", NULLABLE),
    LONG(1, "record_count", NOT_NULL),
    LONG(2, "file_size_in_bytes", NOT_NULL),
    LONG(3, "file_count", NOT_NULL),
    TIME3(4, "last_update_time", NULLABLE),
    TIME3(5, "created_at", NULLABLE),
    TEXT(6, "created_by", NULLABLE),
    TEXT(7, "updated_by", NULLABLE),
    TEXT(8, "options", NULLABLE),
};

static int compare_partitions(const void *a, const void *b) {
  const tn_datum *x = *(const tn_datum *const *)a, *y = *(const tn_datum *const *)b;
  return tn_slice_compare(x[0].v.bytes, y[0].v.bytes);
}

static tarn_status partition_rows(tn_table *table, tn_system_rows *rows, tn_arena *scratch,
                                  tarn_error *err) {
  tn_partition_info *partitions;
  int32_t n;
  tarn_status st = TARN_OK;
  tn_buf text;
  TN_TRY(tn_plan_partitions(table, scratch, &partitions, &n, err));
  tn_buf_init(&text, &table->env->mem, TEXT_LIMIT_BYTES);
  for (int32_t i = 0; i < n; i++) {
    const tn_partition_info *p = &partitions[i];
    TN_TRY_TO(done, tn_system_rows_add(rows, err));
    text.len = 0;
    TN_TRY_TO(done, tn_partition_text(table, p->partition, &text, err));
    TN_TRY_TO(done, tn_system_rows_slice(rows, 0, tn_buf_slice(&text), err));
    tn_system_rows_int(rows, 1, p->row_count);
    tn_system_rows_int(rows, 2, p->file_size);
    tn_system_rows_int(rows, 3, p->file_count);
    /* Recorded as local wall clock already. */
    tn_system_rows_int(rows, 4, p->last_creation_ms);
  }
  if (rows->count > 1) {
    qsort(rows->rows, rows->count, sizeof(*rows->rows), compare_partitions);
  }
done:
  tn_buf_reset(&text);
  return st;
}

/* ------------------------------------------------------------------ the table */

typedef tarn_status (*make_rows_fn)(tn_table *table, tn_system_rows *rows, tn_arena *scratch,
                                    tarn_error *err);

static tarn_status make_rows(tn_table *table, const tn_field *fields, int32_t n_fields,
                             make_rows_fn make, tn_batch *out, tarn_error *err) {
  tn_system_rows rows;
  tn_arena scratch;
  tarn_status st;
  tn_system_rows_init(&rows, table->env, fields, n_fields);
  tn_arena_init(&scratch, &table->env->mem, (size_t)1 << 30);
  st = make(table, &rows, &scratch, err);
  if (st == TARN_OK) {
    st = tn_system_rows_finish(&rows, out, err);
  }
  tn_arena_reset(&scratch);
  tn_system_rows_reset(&rows);
  return st;
}

#define SYSTEM_TABLES(X)                          \
  X(branches, branch_fields, branch_rows)         \
  X(consumers, consumer_fields, consumer_rows)    \
  X(options, option_fields, option_rows)          \
  X(partitions, partition_fields, partition_rows) \
  X(schemas, schema_fields, schema_rows)          \
  X(snapshots, snapshot_fields, snapshot_rows)    \
  X(tags, tag_fields, tag_rows)

#define DEFINE_ROWS(name, fields, make)                                                 \
  static tarn_status rows_of_##name(tn_table *table, tn_batch *rows, tarn_error *err) { \
    return make_rows(table, fields, (int32_t)TN_COUNT(fields), make, rows, err);        \
  }
SYSTEM_TABLES(DEFINE_ROWS)

#define TABLE_ENTRY(name, fields, make) {#name, fields, (int32_t)TN_COUNT(fields), rows_of_##name},
static const tn_system_table system_tables[] = {SYSTEM_TABLES(TABLE_ENTRY)};

/* System tables that Paimon has and this release lacks. */
static const char *const missing_tables[] = {
    "manifests",       "buckets",      "audit_log",          "files",      "file_indexes",
    "file_key_ranges", "ro",           "aggregation_fields", "statistics", "binlog",
    "table_indexes",   "row_tracking",
};

tarn_status tn_system_table_find(const char *name, const tn_system_table **out, tarn_error *err) {
  tn_nearest nearest;
  tn_nearest_init(&nearest, tn_slice_text(name));
  for (size_t i = 0; i < TN_COUNT(system_tables); i++) {
    if (strcmp(system_tables[i].name, name) == 0) {
      *out = &system_tables[i];
      return TARN_OK;
    }
    tn_nearest_offer(&nearest, system_tables[i].name);
  }
  for (size_t i = 0; i < TN_COUNT(missing_tables); i++) {
    if (strcmp(missing_tables[i], name) == 0) {
      return tn_fail(err, TARN_E_UNSUPPORTED, "system table $%s is not in this release", name);
    }
  }
  return tn_fail(err, TARN_E_NOT_FOUND, "there is no system table $%s%s", name,
                 tn_nearest_hint(&nearest).text);
}
