/* test_system_tables.c - system tables whose rows are made from metadata, and the database sys. */
#include <stdlib.h>

#include "support/files.h"
#include "support/torture.h"
#include "system_test.h"

#define KEYED_FIELDS "0 p INT NOT NULL|1 k INT NOT NULL|2 v STRING"

/* ------------------------------------------------------------------ names */

static void system__unknown_names_offer_the_nearest(void **state) {
  static const struct {
    const char *name;
    tarn_status status;
    const char *text;
  } cases[] = {
      {"fils", TARN_E_NOT_FOUND, "did you mean 'files'?"},
      {"audit", TARN_E_NOT_FOUND, "there is no system table $audit"},
      {"file_indexes", TARN_E_UNSUPPORTED, "$file_indexes"},
  };
  system_test t;
  (void)state;
  st_begin(&t, 1);
  tm_schema(&t.tm, 0, "0 a INT", "", "", "");
  st_open(&t, "");
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    t.system = cases[i].name;
    st_assert_fails(&t, cases[i].status, cases[i].text);
  }
  t.system = "SnapShots"; /* names are told apart without regard to case */
  st_assert(&t, "");
  st_end(&t);
}

static void system__columns_are_those_of_paimon(void **state) {
  static const struct {
    const char *name, *columns;
  } cases[] = {
      {"files",
       "partition STRING, bucket INT NOT NULL, file_path STRING NOT NULL, file_format STRING NOT "
       "NULL, schema_id BIGINT NOT NULL, level INT NOT NULL, record_count BIGINT NOT NULL, "
       "file_size_in_bytes BIGINT NOT NULL, min_key STRING, max_key STRING, null_value_counts "
       "STRING NOT NULL, min_value_stats STRING NOT NULL, max_value_stats STRING NOT NULL, "
       "min_sequence_number BIGINT, max_sequence_number BIGINT, creation_time TIMESTAMP(3), "
       "deleteRowCount BIGINT, file_source STRING, first_row_id BIGINT, write_cols ARRAY<STRING>"},
      {"table_indexes",
       "partition STRING, bucket INT NOT NULL, index_type STRING NOT NULL, file_name STRING NOT "
       "NULL, file_size BIGINT NOT NULL, row_count BIGINT NOT NULL, dv_ranges ARRAY<ROW<`f0` "
       "STRING "
       "NOT NULL, `f1` INT NOT NULL, `f2` INT NOT NULL, `_CARDINALITY` BIGINT>>"},
      {"statistics",
       "snapshot_id BIGINT NOT NULL, schema_id BIGINT NOT NULL, mergedRecordCount BIGINT, "
       "mergedRecordSize BIGINT, colstat STRING"},
      {"aggregation_fields",
       "field_name STRING NOT NULL, field_type STRING NOT NULL, function STRING, function_options "
       "STRING, comment STRING"},
      {"manifests",
       "file_name STRING NOT NULL, file_size BIGINT NOT NULL, num_added_files BIGINT NOT NULL, "
       "num_deleted_files BIGINT NOT NULL, schema_id BIGINT NOT NULL, min_partition_stats STRING, "
       "max_partition_stats STRING, min_row_id BIGINT, max_row_id BIGINT"},
      {"buckets",
       "partition STRING, bucket INT NOT NULL, record_count BIGINT NOT NULL, file_size_in_bytes "
       "BIGINT NOT NULL, file_count BIGINT NOT NULL, last_update_time TIMESTAMP(3)"},
  };
  system_test t;
  (void)state;
  st_begin(&t, 1);
  tm_schema(&t.tm, 0, "0 a INT", "", "", "");
  st_open(&t, "");
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    t.system = cases[i].name;
    st_assert_columns(&t, cases[i].columns);
    st_assert(&t, t.system[0] == 'a' ? "a|INT|[]|[]|null" : ""); /* no snapshot yet */
  }
  st_end(&t);
}

/* ------------------------------------------------------------------ $files */

static tn_manifest_entry keyed_entry(system_test *t, const char *name, int32_t p, int32_t bucket,
                                     int32_t level, int32_t min, int32_t max) {
  tn_manifest_entry e = tm_entry_keyed(&t->tm, name, level, min, max);
  e.partition = tm_entry_in(&t->tm, p, name, 1).partition;
  e.bucket = bucket;
  e.file.row_count = 10;
  e.file.delete_row_count = 0;
  e.file.has_delete_row_count = true;
  e.file.has_creation_time = true;
  e.file.creation_time_ms = 1000 * max;
  return e;
}

static void begin_keyed(system_test *t, const char *options) {
  st_begin(t, 1);
  tm_schema(&t->tm, 0, KEYED_FIELDS, "p", "p,k", options);
  tm_commit(&t->tm, 1,
            (tn_manifest_entry[]){keyed_entry(t, "a.parquet", 1, 0, 5, 1, 9),
                                  keyed_entry(t, "b.parquet.zst", 1, 0, 0, 3, 4),
                                  keyed_entry(t, "c.avro", 2, 1, 5, 7, 8)},
            3);
  st_open(t, "");
}

static void files__level_0_is_listed_where_reads_skip_it(void **state) {
  system_test t;
  (void)state;
  begin_keyed(&t, "bucket=2;deletion-vectors.enabled=true");
  t.system = "files";
  t.select = "partition,bucket,file_path,file_format,level,min_key,max_key";
  st_assert(&t,
            "{1}|0|/t/p=1/bucket-0/b.parquet.zst|parquet|0|[3]|[4];"
            "{1}|0|/t/p=1/bucket-0/a.parquet|parquet|5|[1]|[9];"
            "{2}|1|/t/p=2/bucket-1/c.avro|avro|5|[7]|[8]");
  t.system = "file_key_ranges";
  t.select = "file_format,record_count,min_key,first_row_id";
  st_assert(&t, "parquet|10|[3]|null;parquet|10|[1]|null;avro|10|[7]|null");
  st_end(&t);
}

static void files__filters_exactly(void **state) {
  static const struct {
    const char *where, *rows;
  } cases[] = {
      {"partition = '{2}'", "avro"},
      {"partition >= '{1}' AND level = 0", "parquet"},
      {"bucket = 1 OR level = 0", "parquet;avro"},
      {"bucket IN (5, 6)", ""},
      {"max_key = '[9]'", "parquet"},
      {"first_row_id IS NULL", "parquet;parquet;avro"},
      {"creation_time = TIMESTAMP '1970-01-01 00:00:08'", "avro"},
  };
  system_test t;
  (void)state;
  begin_keyed(&t, "bucket=2");
  t.system = "files";
  t.select = "file_format";
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    t.where = cases[i].where;
    st_assert(&t, cases[i].rows);
  }
  t.where = NULL;
  t.batch_rows = 1;
  st_assert(&t, "parquet;parquet;avro");
  assert_int_equal(t.n_batches, 3);
  t.limit = 2;
  st_assert(&t, "parquet;parquet");
  t.limit = 1;
  t.where = "file_format = 'avro'";
  t.with_row_kind = true;
  st_assert(&t, "0|avro");
  st_end(&t);
}

/* An append file with statistics of the columns "a INT, b STRING". */
static tn_manifest_entry counted(system_test *t, const char *name, const char *min, const char *max,
                                 const char *nulls) {
  tn_manifest_entry e = tm_entry(name, 10);
  e.file.value_stats.min_values = tm_row(&t->tm, "INT|STRING", min);
  e.file.value_stats.max_values = tm_row(&t->tm, "INT|STRING", max);
  e.file.value_stats.null_counts = tm_longs(&t->tm, nulls);
  e.file.value_stats.has_null_counts = true;
  e.file.has_value_stats_cols = false;
  return e;
}

static void files__statistics_are_in_order_of_names(void **state) {
  system_test t;
  tn_manifest_entry e[3];
  (void)state;
  st_begin(&t, 1);
  tm_schema(&t.tm, 0, "0 b INT|1 a STRING", "", "", "");
  e[0] = counted(&t, "f.parquet", "1|x", "2|null", "0,null");
  e[1] = counted(&t, "g.parquet", "5|u", "6|v", "1,2"); /* of some columns */
  e[1].file.value_stats_cols = tm_texts(&t.tm, "b");
  e[1].file.has_value_stats_cols = true;
  e[2] = tm_entry("h.parquet", 4); /* of none */
  e[2].file.value_stats_cols = tm_texts(&t.tm, "");
  e[2].file.value_stats_cols.count = 0;
  e[2].file.has_value_stats_cols = true;
  tm_commit(&t.tm, 1, e, 3);
  st_open(&t, "");
  t.system = "files";
  t.select = "null_value_counts,min_value_stats,max_value_stats";
  st_assert(&t,
            "{a=null, b=0}|{a=x, b=1}|{a=null, b=2};"
            "{a=null, b=1}|{a=null, b=5}|{a=null, b=6};"
            "{a=null, b=null}|{a=null, b=null}|{a=null, b=null}");
  st_end(&t);
}

static void files__statistics_follow_the_schema(void **state) {
  system_test t;
  tn_manifest_entry e;
  (void)state;
  st_begin(&t, 1);
  tm_schema(&t.tm, 0, "0 a INT|1 b STRING", "", "", "");
  e = counted(&t, "f.parquet", "1|x", "2|y", "3,4");
  tm_commit(&t.tm, 1, &e, 1);
  /* b is called c, a is wider, d is new. */
  tm_schema(&t.tm, 1, "1 c STRING|2 d INT|0 a BIGINT", "", "", "");
  st_open(&t, "");
  t.system = "files";
  t.select = "schema_id,null_value_counts,min_value_stats,max_value_stats";
  st_assert(&t, "0|{a=3, c=4, d=10}|{a=1, c=x, d=null}|{a=2, c=y, d=null}");
  st_end(&t);
}

static void files__column_files_tell_their_columns(void **state) {
  system_test t;
  tn_manifest_entry e = tm_entry("f.parquet", 10);
  (void)state;
  st_begin(&t, 1);
  tm_schema(&t.tm, 0, "0 a INT|1 b STRING|2 c STRING", "", "", "row-tracking.enabled=true");
  e.file.first_row_id = 5;
  e.file.has_first_row_id = true;
  e.file.value_stats.min_values = tm_row(&t.tm, "STRING", "x");
  e.file.value_stats.max_values = tm_row(&t.tm, "STRING", "y");
  e.file.value_stats.null_counts = tm_longs(&t.tm, "1");
  e.file.value_stats.has_null_counts = true;
  e.file.has_value_stats_cols = false;
  e.file.write_cols = tm_texts(&t.tm, "c");
  e.file.has_write_cols = true;
  tm_commit(&t.tm, 1, &e, 1);
  st_open(&t, "");
  t.system = "files";
  t.select = "write_cols,first_row_id,null_value_counts,min_value_stats";
  st_assert(&t, "[c]|5|{c=1}|{c=x}");
  st_end(&t);
}

static void files__come_in_several_batches(void **state) {
  enum { N = 20000 };
  tn_manifest_entry *entries = calloc(N, sizeof(*entries));
  system_test t;
  (void)state;
  st_begin(&t, 1);
  tm_schema(&t.tm, 0, "0 a INT", "", "", "");
  for (int i = 0; i < N; i++) {
    entries[i] = tm_entry(tn_arena_printf(&t.tm.arena, "f%d.parquet", i), i);
  }
  tm_commit(&t.tm, 1, entries, N);
  st_open(&t, "");
  t.system = "files";
  t.select = "record_count";
  t.where = "record_count >= 19998";
  st_assert(&t, "19998;19999");
  t.where = NULL;
  {
    tarn_error error = {0};
    assert_int_equal(st_read(&t, &error), TARN_OK);
  }
  assert_int_equal(t.n_batches, 3);
  st_end(&t);
  free(entries);
}

/* ------------------------------------------------------------------ manifests and below */

static void buckets__are_those_of_the_latest_snapshot(void **state) {
  system_test t;
  tn_manifest_entry more;
  (void)state;
  begin_keyed(&t, "bucket=2");
  more = keyed_entry(&t, "d.avro", 1, 1, 0, 11, 12);
  tm_commit(&t.tm, 2, &more, 1);
  st_open(&t, "");
  t.system = "buckets";
  t.select = "partition,bucket,record_count,file_count,last_update_time";
  st_assert(&t, "{1}|1|10|1|1970-01-01 00:00:12.000"); /* the maker's snapshots hold their own */
  st_end(&t);
}

static void system__timeless_ones_refuse_to_travel(void **state) {
  static const char *const timeless[] = {"snapshots", "schemas",   "options", "tags",
                                         "branches",  "consumers", "buckets", "aggregation_fields"};
  static const char *const travelling[] = {
      "files",           "manifests",  "partitions", "table_indexes",
      "file_key_ranges", "statistics", "ro",         "audit_log"};
  system_test t;
  (void)state;
  begin_keyed(&t, "bucket=2");
  for (size_t i = 0; i < TN_COUNT(timeless); i++) {
    t.system = timeless[i];
    t.dynamic = "scan.mode=latest;scan.snapshot-id=1";
    st_assert_fails(&t, TARN_E_INVALID, "'scan.snapshot-id'");
    t.dynamic = "scan.tag-name=x";
    st_assert_fails(&t, TARN_E_INVALID, timeless[i]);
    t.dynamic = "scan.manifest.parallelism=1";
    OK(st_read(&t, err));
  }
  t.dynamic = "scan.snapshot-id=1";
  for (size_t i = 0; i < TN_COUNT(travelling); i++) {
    tn_option option = {"scan.snapshot-id", "1"};
    tn_system *system;
    OK(tn_system_open(t.table, travelling[i], &option, 1, &system, err));
    tn_system_free(system);
  }
  st_end(&t);
}

static void buckets__sum_up_files_in_order(void **state) {
  system_test t;
  (void)state;
  begin_keyed(&t, "bucket=2;deletion-vectors.enabled=true");
  t.system = "buckets";
  t.select = "partition,bucket,record_count,file_count,last_update_time";
  st_assert(&t,
            "{1}|0|20|2|1970-01-01 00:00:09.000;"
            "{2}|1|10|1|1970-01-01 00:00:08.000");
  t.system = "partitions";
  t.select = "partition,record_count,file_count,last_update_time";
  st_assert(&t,
            "p=1|20|2|1970-01-01 00:00:09.000;"
            "p=2|10|1|1970-01-01 00:00:08.000");
  st_end(&t);
}

static void manifests__of_the_snapshot_travelled_to(void **state) {
  system_test t;
  tn_manifest_entry more;
  (void)state;
  begin_keyed(&t, "bucket=2");
  more = keyed_entry(&t, "d.avro", 1, 1, 0, 11, 12);
  tm_commit(&t.tm, 2, &more, 1);
  st_open(&t, "");
  t.system = "manifests";
  t.select = "num_added_files,num_deleted_files,schema_id";
  st_assert(&t, "1|0|0");
  st_open(&t, "scan.snapshot-id=1");
  st_assert(&t, "3|0|0");
  t.where = "schema_id > 0";
  st_assert(&t, "");
  st_end(&t);
}

static void table_indexes__list_vectors_as_rows(void **state) {
  system_test t;
  tn_dv_range ranges[2] = {
      {.data_file = tm_text("f.parquet"), .offset = 1, .length = 22},
      {.data_file = tm_text("g.parquet"),
       .offset = 31,
       .length = 24,
       .cardinality = 3,
       .has_cardinality = true},
  };
  tn_index_entry entries[2] = {
      {.version = 1,
       .partition = tm_entry("x", 0).partition,
       .index_type = tm_text("DELETION_VECTORS"),
       .file_name = tm_text("index-1"),
       .file_size = 60,
       .row_count = 2,
       .dv_ranges = {ranges, 2},
       .has_dv_ranges = true},
      {.version = 1,
       .partition = tm_entry("x", 0).partition,
       .bucket = 3,
       .index_type = tm_text("HASH"),
       .file_name = tm_text("index-2"),
       .file_size = 8,
       .row_count = 2},
  };
  (void)state;
  st_begin(&t, 1);
  tm_schema(&t.tm, 0, "0 a INT", "", "", "");
  tm_snapshot(&t.tm, &(tm_snapshot_parts){.id = 1,
                                          .base = tm_list(&t.tm, NULL, 0),
                                          .delta = tm_list(&t.tm, NULL, 0),
                                          .index = tm_index(&t.tm, entries, 2)});
  st_open(&t, "");
  t.system = "table_indexes";
  st_assert(&t,
            "{}|0|DELETION_VECTORS|index-1|60|2|[(f.parquet,1,22,null),(g.parquet,31,24,3)];"
            "{}|3|HASH|index-2|8|2|null");
  t.where = "index_type = 'HASH'";
  t.select = "dv_ranges,bucket";
  st_assert(&t, "null|3");
  st_end(&t);
}

/* A file that came and went has left its time. */
static void partitions__last_update_is_that_of_any_file(void **state) {
  system_test t;
  tn_manifest_entry gone;
  (void)state;
  st_begin(&t, 1);
  tm_schema(&t.tm, 0, KEYED_FIELDS, "p", "p,k", "bucket=2");
  gone = keyed_entry(&t, "b.avro", 1, 1, 0, 5, 30);
  tm_commit(&t.tm, 1,
            (tn_manifest_entry[]){keyed_entry(&t, "a.avro", 1, 0, 5, 1, 9), gone, tm_deleted(gone)},
            3);
  st_open(&t, "");
  t.system = "partitions";
  t.select = "partition,record_count,file_count,last_update_time";
  st_assert(&t, "p=1|10|1|1970-01-01 00:00:30.000");
  t.system = "buckets"; /* one without files is none */
  t.select = "bucket,last_update_time";
  st_assert(&t, "0|1970-01-01 00:00:09.000");
  st_end(&t);
}

/* Files that wait in bucket-postpone are seen by $buckets alone. */
static void partitions__leave_out_what_is_postponed(void **state) {
  system_test t;
  tn_manifest_entry e;
  (void)state;
  st_begin(&t, 1);
  tm_schema(&t.tm, 0, KEYED_FIELDS, "p", "p,k", "bucket=-2");
  e = keyed_entry(&t, "a.avro", 1, -2, 0, 1, 2);
  tm_commit(&t.tm, 1, &e, 1);
  st_open(&t, "");
  t.system = "partitions";
  st_assert(&t, "");
  t.system = "files";
  st_assert(&t, "");
  t.system = "buckets";
  t.select = "bucket,record_count";
  st_assert(&t, "-2|10");
  st_end(&t);
}

/* ------------------------------------------------------------------ small files */

static void options__come_as_java_walks_over_its_map(void **state) {
  system_test t;
  (void)state;
  st_begin(&t, 1);
  tm_schema(&t.tm, 0, "0 id INT", "", "",
            "fields.id.stats-mode=full;metadata.stats-mode=none;fields.note.stats-mode=counts");
  st_open(&t, "");
  t.system = "options";
  t.select = "key";
  st_assert(&t, "fields.note.stats-mode;fields.id.stats-mode;metadata.stats-mode");
  t.system = "schemas";
  t.select = "options";
  st_assert(&t,
            "{\"fields.note.stats-mode\":\"counts\",\"fields.id.stats-mode\":\"full\","
            "\"metadata.stats-mode\":\"none\"}");
  st_end(&t);
}

static void aggregation_fields__list_options_of_columns(void **state) {
  system_test t;
  (void)state;
  st_begin(&t, 1);
  tm_schema(&t.tm, 0, "0 k INT NOT NULL|1 n BIGINT|2 m BIGINT", "", "k",
            "merge-engine=aggregation;fields.n.aggregate-function=sum;fields.n.ignore-retract=true;"
            "fields.default-aggregate-function=max");
  st_open(&t, "");
  t.system = "aggregation_fields";
  t.select = "field_name,field_type,function,function_options";
  st_assert(&t,
            "k|INT NOT NULL|[]|[];"
            "n|BIGINT|[sum, true]|[fields.n.aggregate-function, fields.n.ignore-retract];"
            "m|BIGINT|[]|[]");
  st_end(&t);
}

/* Snapshot 1 with statistics "s1". */
static void put_statistics(system_test *t, const char *json) {
  st_begin(t, 1);
  tm_schema(&t->tm, 0, "0 a INT", "", "", "");
  tm_put(&t->tm, "statistics/s1", json);
  tm_put(&t->tm, "snapshot/snapshot-1",
         "{\"version\":3,\"id\":1,\"schemaId\":0,\"baseManifestList\":\"b\","
         "\"deltaManifestList\":\"d\",\"commitUser\":\"u\",\"commitIdentifier\":1,"
         "\"commitKind\":\"ANALYZE\",\"timeMillis\":5,\"statistics\":\"s1\"}");
  st_open(t, "");
  t->system = "statistics";
}

static void statistics__columns_in_the_print_of_jackson(void **state) {
  system_test t;
  (void)state;
  put_statistics(&t,
                 "{\"snapshotId\":1,\"schemaId\":0,\"mergedRecordCount\":20,\"mergedRecordSize\":"
                 "500,\"colStats\":{\"a\":{\"max\":\"19\",\"colId\":0,\"other\":1,\"min\":\"\\\"\","
                 "\"nullCount\":null,\"avgLen\":4}}}");
  st_assert(&t,
            "1|0|20|500|{\n  \"a\" : {\n    \"colId\" : 0,\n    \"min\" : \"\\\"\",\n    "
            "\"max\" : \"19\",\n    \"avgLen\" : 4\n  }\n}");
  st_end(&t);
  put_statistics(&t,
                 "{\"snapshotId\":1,\"schemaId\":0,\"mergedRecordCount\":20,\"mergedRecordSize\":"
                 "500,\"colStats\":{}}");
  st_assert(&t, "1|0|20|500|{ }");
  st_end(&t);
}

static void statistics__damaged_ones_are_refused(void **state) {
  static const char *const cases[] = {
      "{\"snapshotId\":1,\"schemaId\":0,\"mergedRecordCount\":20,\"colStats\":{}}",
      "{\"snapshotId\":1,\"schemaId\":0,\"mergedRecordCount\":20,\"mergedRecordSize\":\"x\"}",
      ("{\"snapshotId\":1,\"schemaId\":0,\"mergedRecordCount\":1,\"mergedRecordSize\":1,"
       "\"colStats\":{\"a\":{\"colId\":[]}}}"),
      "nothing",
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    system_test t;
    put_statistics(&t, cases[i]);
    st_assert_fails(&t, TARN_E_CORRUPT, "/t/statistics/s1");
    st_end(&t);
  }
}

/* ------------------------------------------------------------------ the database sys */

static void global__names_and_columns(void **state) {
  char *folder = tn_test_temp_dir();
  const tn_option options[] = {
      {"warehouse", folder}, {"catalog-options-table.enabled", "true"}, {"a", "1"}, {"a", "2"}};
  tarn_env *env = tn_test_env(1, 0);
  tn_catalog *catalog = NULL;
  tn_system *system = NULL;
  tarn_error error = {0};
  const tn_option travel = {"scan.tag-name", "t"};
  const char **names;
  int32_t n;
  tn_arena arena;
  (void)state;
  tn_arena_init(&arena, &env->mem, 1u << 20);
  OK(tn_catalog_open(env, folder, NULL, 0, &catalog, err));
  OK(tn_catalog_tables(catalog, "sys", &arena, &names, &n, err));
  assert_int_equal(n, 3);
  assert_string_equal(names[0], "all_table_options");
  assert_string_equal(names[2], "tables");
  assert_int_equal(tn_system_open_global(catalog, "catalog_options", NULL, 0, &system, &error),
                   TARN_E_NOT_FOUND);
  assert_non_null(strstr(error.message, "catalog-options-table.enabled"));
  assert_int_equal(tn_system_open_global(catalog, "table", NULL, 0, &system, &error),
                   TARN_E_NOT_FOUND);
  assert_non_null(strstr(error.message, "did you mean 'tables'?"));
  assert_int_equal(tn_system_open_global(catalog, "tables", &travel, 1, &system, &error),
                   TARN_E_INVALID);
  assert_non_null(strstr(error.message, "'scan.tag-name'"));
  tn_catalog_free(catalog);

  OK(tn_catalog_open(env, NULL, options, 4, &catalog, err));
  OK(tn_system_open_global(catalog, "Catalog_Options", NULL, 0, &system, err));
  tn_catalog_free(catalog); /* it is needed no more */
  assert_string_equal(system->full_name, "sys.catalog_options");
  assert_int_equal(system->catalog->n_options, 3);
  assert_string_equal(tn_catalog_option(system->catalog, "a"), "2");
  tn_system_free(system);
  tn_test_temp_dir_remove(folder);
  tn_arena_reset(&arena);
  tarn_env_free(env);
}

static void global__catalog_needs_a_warehouse(void **state) {
  static const tn_option hive[] = {{"metastore", "hive"}, {"warehouse", "/"}};
  tarn_env *env = tn_test_env(1, 0);
  tn_catalog *catalog = NULL;
  tarn_error error = {0};
  (void)state;
  assert_int_equal(tn_catalog_open(env, NULL, NULL, 0, &catalog, &error), TARN_E_INVALID);
  assert_non_null(strstr(error.message, "'warehouse'"));
  assert_int_equal(tn_catalog_open(env, NULL, hive, 2, &catalog, &error), TARN_E_UNSUPPORTED);
  assert_non_null(strstr(error.message, "'hive'"));
  assert_null(catalog);
  tarn_env_free(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(system__unknown_names_offer_the_nearest),
      cmocka_unit_test(system__columns_are_those_of_paimon),
      cmocka_unit_test(files__level_0_is_listed_where_reads_skip_it),
      cmocka_unit_test(files__filters_exactly),
      cmocka_unit_test(files__statistics_are_in_order_of_names),
      cmocka_unit_test(files__statistics_follow_the_schema),
      cmocka_unit_test(files__column_files_tell_their_columns),
      cmocka_unit_test(files__come_in_several_batches),
      cmocka_unit_test(buckets__are_those_of_the_latest_snapshot),
      cmocka_unit_test(system__timeless_ones_refuse_to_travel),
      cmocka_unit_test(buckets__sum_up_files_in_order),
      cmocka_unit_test(partitions__last_update_is_that_of_any_file),
      cmocka_unit_test(partitions__leave_out_what_is_postponed),
      cmocka_unit_test(manifests__of_the_snapshot_travelled_to),
      cmocka_unit_test(table_indexes__list_vectors_as_rows),
      cmocka_unit_test(options__come_as_java_walks_over_its_map),
      cmocka_unit_test(aggregation_fields__list_options_of_columns),
      cmocka_unit_test(statistics__columns_in_the_print_of_jackson),
      cmocka_unit_test(statistics__damaged_ones_are_refused),
      cmocka_unit_test(global__names_and_columns),
      cmocka_unit_test(global__catalog_needs_a_warehouse),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
