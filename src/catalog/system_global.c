/* system_global.c - the database sys: tables about all tables of the catalog.
 * Rule: catalog.CatalogUtils.createGlobalSystemTable, table.system.{AllTablesTable,
 * AllPartitionsTable,AllTableOptionsTable,CatalogOptionsTable}; spec: system-tables. */
#include <string.h>

#include "catalog/system_kinds.h"
#include "model/partition.h"

/* ------------------------------------------------------------------ tables of the catalog */

/* A table as the catalog has it. */
typedef struct table_place {
  const char *database, *name, *path;
  tn_schema *schema; /* the latest */
} table_place;

typedef tarn_status (*place_sink)(tn_system_scan *scan, const table_place *place, tarn_error *err);

static tarn_status visit_table(tn_system_scan *scan, table_place *place, place_sink sink,
                               tarn_error *err) {
  tn_catalog *catalog = scan->system->catalog;
  int64_t *ids;
  int32_t n_ids = 0;
  tarn_status st;
  place->path = tn_arena_printf(&scan->scratch, "%s/%s.db/%s", catalog->warehouse, place->database,
                                place->name);
  if (place->path == NULL) {
    return tn_oom(err);
  }
  st = tn_schema_ids(scan->env, catalog->storage, place->path, &scan->scratch, &ids, &n_ids, err);
  if (st == TARN_OK && n_ids > 0) {
    st = tn_schema_load(scan->env, catalog->storage, place->path, ids[n_ids - 1], &place->schema,
                        err);
  }
  if (st == TARN_OK && n_ids > 0) {
    st = sink(scan, place, err);
  }
  tn_schema_release(place->schema);
  place->schema = NULL;
  if (st == TARN_E_NOT_FOUND) {
    return TARN_OK; /* dropped since the listing */
  }
  return st != TARN_OK ? tn_error_context(err, st, "table %s.%s", place->database, place->name)
                       : TARN_OK;
}

static tarn_status each_table(tn_system_scan *scan, place_sink sink, tarn_error *err) {
  tn_catalog *catalog = scan->system->catalog;
  const char **databases, **tables;
  int32_t n_databases, n_tables;
  TN_TRY(tn_catalog_databases(catalog, &scan->scratch, &databases, &n_databases, err));
  for (int32_t d = 0; d < n_databases; d++) {
    tarn_status st =
        tn_catalog_tables(catalog, databases[d], &scan->scratch, &tables, &n_tables, err);
    if (st == TARN_E_NOT_FOUND) {
      continue;
    }
    TN_TRY(st);
    for (int32_t t = 0; t < n_tables; t++) {
      table_place place = {databases[d], tables[t], NULL, NULL};
      TN_TRY(tn_cancel_check(scan->cancel, err));
      TN_TRY(visit_table(scan, &place, sink, err));
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ sys.tables */

static const tn_field table_fields[] = {
    TN_TEXT(0, "database_name", TN_NULLABLE), TN_TEXT(1, "table_name", TN_NULLABLE),
    TN_TEXT(2, "table_type", TN_NULLABLE),    TN_FLAG(3, "partitioned", TN_NULLABLE),
    TN_FLAG(4, "primary_key", TN_NULLABLE),   TN_TEXT(5, "owner", TN_NULLABLE),
    TN_LONG(6, "created_at", TN_NULLABLE),    TN_TEXT(7, "created_by", TN_NULLABLE),
    TN_LONG(8, "updated_at", TN_NULLABLE),    TN_TEXT(9, "updated_by", TN_NULLABLE),
    TN_LONG(10, "record_count", TN_NULLABLE), TN_LONG(11, "file_size_in_bytes", TN_NULLABLE),
    TN_LONG(12, "file_count", TN_NULLABLE),   TN_LONG(13, "last_file_creation_time", TN_NULLABLE),
};

/* An option that a REST catalog would have set, into its column. */
static tarn_status set_option(tn_system_rows *rows, int32_t column, const tn_schema *schema,
                              const char *key, bool is_number, tarn_error *err) {
  const char *value = tn_schema_option(schema, key);
  static const tn_type number_type = {.root = TN_BIGINT};
  tn_arena scratch;
  tn_datum number;
  tarn_status st;
  if (value == NULL || !is_number) {
    return tn_system_rows_text(rows, column, value, err);
  }
  tn_arena_init(&scratch, &rows->env->mem, 4096);
  st = tn_datum_from_text(&scratch, &number_type, tn_slice_text(value), rows->env->zone, &number,
                          err);
  if (st == TARN_OK) {
    tn_system_rows_int(rows, column, number.v.i64);
  }
  tn_arena_reset(&scratch);
  return st == TARN_OK ? TARN_OK : tn_error_context(err, st, "option '%s'", key);
}

/* A file system keeps no counts of its tables. */
static tarn_status add_table(tn_system_scan *scan, const table_place *place, tarn_error *err) {
  static const struct {
    const char *key;
    bool is_number;
  } options[] = {{"owner", false},
                 {"createdAt", true},
                 {"createdBy", false},
                 {"updatedAt", true},
                 {"updatedBy", false}};
  tn_system_rows *rows = &scan->rows;
  const char *type = tn_schema_option(place->schema, "type");
  TN_TRY(tn_system_rows_add(rows, err));
  TN_TRY(tn_system_rows_text(rows, 0, place->database, err));
  TN_TRY(tn_system_rows_text(rows, 1, place->name, err));
  TN_TRY(tn_system_rows_text(rows, 2, type != NULL ? type : "table", err));
  tn_system_rows_int(rows, 3, place->schema->n_partition_keys > 0);
  tn_system_rows_int(rows, 4, place->schema->n_primary_keys > 0);
  for (int32_t i = 0; i < (int32_t)TN_COUNT(options); i++) {
    TN_TRY(set_option(rows, 5 + i, place->schema, options[i].key, options[i].is_number, err));
  }
  return TARN_OK;
}

static tarn_status table_rows(tn_system_scan *scan, tarn_error *err) {
  return each_table(scan, add_table, err);
}

/* ------------------------------------------------------------------ sys.partitions */

static const tn_field partition_fields[] = {
    TN_TEXT(0, "database_name", TN_NULLABLE),           TN_TEXT(1, "table_name", TN_NULLABLE),
    TN_TEXT(2, "partition_name", TN_NULLABLE),          TN_LONG(3, "record_count", TN_NULLABLE),
    TN_LONG(4, "file_size_in_bytes", TN_NULLABLE),      TN_LONG(5, "file_count", TN_NULLABLE),
    TN_LONG(6, "last_file_creation_time", TN_NULLABLE), TN_FLAG(7, "done", TN_NULLABLE),
};

static int hex_digit(uint8_t c) {
  return c <= '9' ? c - '0' : c - 'A' + 10;
}

/* "k1=v1/k2=v2" with the values of the folder's name, unescaped. */
static tarn_status spec_text(const tn_table *table, tn_slice partition, tn_buf *out,
                             tarn_error *err) {
  size_t to = 0;
  TN_TRY(tn_partition_path(table, partition, out, err));
  for (size_t i = 0; i < out->len; i++) {
    uint8_t c = out->data[i];
    if (c == '%') { /* two digits follow, as tn_partition_path() wrote them */
      c = (uint8_t)(hex_digit(out->data[i + 1]) << 4 | hex_digit(out->data[i + 2]));
      i += 2;
    }
    out->data[to++] = c;
  }
  out->len = to > 0 ? to - 1 : 0; /* without the slash at the end */
  return TARN_OK;
}

typedef struct partition_list {
  tn_system_scan *scan;
  const table_place *place;
} partition_list;

static tarn_status add_partition(void *ctx, const tn_table *table, const tn_file_sum *sum,
                                 tarn_error *err) {
  const partition_list *l = ctx;
  tn_system_rows *rows = &l->scan->rows;
  tarn_status st = TARN_OK;
  tn_buf text;
  tn_buf_init(&text, &rows->env->mem, TN_SYSTEM_TEXT_BYTES);
  TN_TRY_TO(done, spec_text(table, sum->partition, &text, err));
  TN_TRY_TO(done, tn_system_rows_add(rows, err));
  TN_TRY_TO(done, tn_system_rows_text(rows, 0, l->place->database, err));
  TN_TRY_TO(done, tn_system_rows_text(rows, 1, l->place->name, err));
  TN_TRY_TO(done, tn_system_rows_slice(rows, 2, tn_buf_slice(&text), err));
  tn_system_rows_int(rows, 3, sum->n_rows);
  tn_system_rows_int(rows, 4, sum->n_bytes);
  tn_system_rows_int(rows, 5, sum->n_files);
  tn_system_rows_int(rows, 6, tn_system_epoch_ms(rows->env, sum->last_ms));
  tn_system_rows_int(rows, 7, 0); /* only a REST catalog knows */
done:
  tn_buf_reset(&text);
  return st;
}

static tarn_status add_partitions(tn_system_scan *scan, const table_place *place, tarn_error *err) {
  tn_table_name name = {.database = place->database, .table = place->name};
  tn_table *table = NULL;
  partition_list list = {scan, place};
  tarn_status st;
  if (place->schema->n_partition_keys == 0) {
    return TARN_OK;
  }
  TN_TRY(tn_catalog_table(scan->env, scan->system->catalog, &name, NULL, 0, &table, err));
  st = tn_system_each_partition(table, &scan->scratch, scan->cancel, add_partition, &list, err);
  tn_table_release(table);
  return st;
}

static tarn_status partition_rows(tn_system_scan *scan, tarn_error *err) {
  return each_table(scan, add_partitions, err);
}

/* ------------------------------------------------------------------ options */

static const tn_field table_option_fields[] = {
    TN_TEXT(0, "database_name", TN_NULLABLE),
    TN_TEXT(1, "table_name", TN_NULLABLE),
    TN_TEXT(2, "key", TN_NULLABLE),
    TN_TEXT(3, "value", TN_NULLABLE),
};

static tarn_status add_option(tn_system_scan *scan, const table_place *place, const char *key,
                              const char *value, tarn_error *err) {
  tn_system_rows *rows = &scan->rows;
  TN_TRY(tn_system_rows_add(rows, err));
  TN_TRY(tn_system_rows_text(rows, 0, place->database, err));
  TN_TRY(tn_system_rows_text(rows, 1, place->name, err));
  TN_TRY(tn_system_rows_text(rows, 2, key, err));
  return tn_system_rows_text(rows, 3, value, err);
}

/* The stored options, and where the table is. */
static tarn_status add_options(tn_system_scan *scan, const table_place *place, tarn_error *err) {
  bool has_path = false;
  for (int32_t i = 0; i < place->schema->n_options; i++) {
    const tn_option *o = &place->schema->options[i];
    has_path = has_path || strcmp(o->key, "path") == 0;
    TN_TRY(
        add_option(scan, place, o->key, strcmp(o->key, "path") == 0 ? place->path : o->value, err));
  }
  return has_path ? TARN_OK : add_option(scan, place, "path", place->path, err);
}

static tarn_status table_option_rows(tn_system_scan *scan, tarn_error *err) {
  return each_table(scan, add_options, err);
}

static const tn_field catalog_option_fields[] = {TN_TEXT(0, "key", TN_NOT_NULL),
                                                 TN_TEXT(1, "value", TN_NOT_NULL)};

static tarn_status catalog_option_rows(tn_system_scan *scan, tarn_error *err) {
  const tn_catalog *catalog = scan->system->catalog;
  for (int32_t i = 0; i < catalog->n_options; i++) {
    TN_TRY(tn_system_rows_add(&scan->rows, err));
    TN_TRY(tn_system_rows_text(&scan->rows, 0, catalog->options[i].key, err));
    TN_TRY(tn_system_rows_text(&scan->rows, 1, catalog->options[i].value, err));
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ kinds */

static const char *const table_keys[] = {"database_name", "table_name"};
static const char *const partition_keys[] = {"database_name", "table_name", "partition_name"};
static const char *const table_option_keys[] = {"table_name"};
static const char *const catalog_option_keys[] = {"key"};

TN_TIMELESS_KIND(tables, table_fields, table_keys, table_rows);
TN_TIMELESS_KIND(all_table_options, table_option_fields, table_option_keys, table_option_rows);
TN_TIMELESS_KIND(catalog_options, catalog_option_fields, catalog_option_keys, catalog_option_rows);
const tn_system_kind tn_system_all_partitions = {
    .name = "partitions",
    .ignores_travel = true,
    .fields = partition_fields,
    .n_fields = (int32_t)TN_COUNT(partition_fields),
    .primary_keys = partition_keys,
    .n_primary_keys = (int32_t)TN_COUNT(partition_keys),
    .rows = partition_rows,
};
