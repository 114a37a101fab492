/* New schemas: what their JSON says, what becomes of keys and options, and each rule they keep. */
#include "model/java_map.h"
#include "model/schema_check.h"
#include "model/schema_json_in.h"
#include "unit/model/model_test.h"

/* {"fields": [...], ...} as a schema that may be written, or the status of what refused it. */
static tarn_status make(fixture *f, const char *json, tn_schema *out) {
  TN_TRY(tn_schema_from_json(f->env, tn_slice_text(json), out, &f->err));
  TN_TRY(tn_schema_normalize(out, NULL, 0, &f->err));
  for (int32_t i = 0; i < out->n_fields; i++) {
    TN_TRY(tn_schema_check_default(&out->arena, f->env->zone, &out->fields[i].type,
                                   out->fields[i].default_value, &f->err));
  }
  return tn_schema_check(out, &f->err);
}

/* Columns, and members behind them. */
#define TABLE(columns, more) "{\"fields\":[" columns "]" more "}"
#define COLUMN(name, type) "{\"name\":\"" name "\",\"type\":\"" type "\"}"
#define ID COLUMN("id", "INT")
#define V COLUMN("v", "STRING")
#define P COLUMN("p", "INT")
#define KEY ",\"primaryKeys\":[\"id\"]"
#define PARTED ",\"partitionKeys\":[\"p\"]"
#define OPTIONS(options) ",\"options\":{" options "}"
#define KEYED(options) TABLE(ID "," V, KEY OPTIONS("\"bucket\":\"1\"" options))
#define APPEND(options) TABLE(ID "," V, OPTIONS(options))

typedef struct refusal {
  const char *json;
  const char *message; /* NULL: it is fine */
} refusal;

static void expect_all(fixture *f, const refusal *cases, size_t n, tarn_status status) {
  for (size_t i = 0; i < n; i++) {
    tn_schema schema;
    tarn_status st;
    tn_error_reset(&f->err);
    st = make(f, cases[i].json, &schema);
    tn_arena_reset(&schema.arena);
    if (cases[i].message == NULL) {
      if (st != TARN_OK) {
        fail_msg("%s: %s", cases[i].json, f->err.message);
      }
      continue;
    }
    if (st != status || strstr(f->err.message, cases[i].message) == NULL) {
      fail_msg("%s: %d \"%s\", not \"%s\"", cases[i].json, (int)st, f->err.message,
               cases[i].message);
    }
  }
}

#define EXPECT_ALL(f, cases, status) expect_all(f, cases, TN_COUNT(cases), status)

/* ------------------------------------------------------------------ JSON */

static void schema_from_json__gives_ids_as_java(void **state) {
  static const char json[] = TABLE(
      COLUMN("a", "INT") "," COLUMN("r", "ROW<x INT, y ROW<z STRING>>") "," COLUMN("b", "INT"), "");
  fixture *f = *state;
  tn_schema s;
  expect_ok(f, make(f, json, &s));
  assert_int_equal(s.fields[0].id, 0);
  assert_int_equal(s.fields[1].id, 1);
  assert_int_equal(s.fields[1].type.fields[0].id, 2);
  assert_int_equal(s.fields[1].type.fields[1].id, 4); /* after what is inside it */
  assert_int_equal(s.fields[1].type.fields[1].type.fields[0].id, 3);
  assert_int_equal(s.fields[2].id, 5);
  assert_int_equal(s.highest_field_id, 5);
  assert_int_equal(s.version, 3);
  tn_arena_reset(&s.arena);
}

static void schema_from_json__refuses_what_is_no_schema(void **state) {
  static const refusal cases[] = {
      {"", "schema"},
      {"[]", "expected a JSON object"},
      {"{", "schema"},
      {"{}", "\"fields\" is not a list of fields"},
      {"{\"fields\":[1]}", "expected a JSON object"},
      {TABLE("{\"name\":\"a\"}", ""), "\"type\" is missing"},
      {TABLE("{\"type\":\"INT\"}", ""), "\"name\" is missing"},
      {TABLE(COLUMN("a", "INTT"), ""), "field 'a'"},
      {TABLE("{\"name\":\"a\",\"type\":1}", ""), "\"type\" is not a string"},
      {TABLE("{\"name\":\"a\",\"type\":\"INT\",\"defualt\":\"5\"}", ""), "did you mean 'default'?"},
      {TABLE(ID, ",\"primaryKey\":[\"id\"]"), "did you mean 'primaryKeys'?"},
      {TABLE(ID, ",\"primaryKeys\":\"id\""), "\"primaryKeys\" is not a list of names"},
      {TABLE(ID, ",\"options\":[]"), "\"options\" is not an object"},
      {TABLE(ID, ",\"options\":{\"a\":[]}"), "\"a\" is not a string, number or boolean"},
      {TABLE(ID, ",\"comment\":1"), "\"comment\" is not a string"},
  };
  EXPECT_ALL(*state, cases, TARN_E_INVALID);
}

static void schema_from_json__takes_values_of_options_as_text(void **state) {
  fixture *f = *state;
  tn_schema s;
  expect_ok(f, make(f, APPEND("\"a\":1,\"b\":true,\"c\":\"x\""), &s));
  assert_string_equal(tn_schema_option(&s, "a"), "1");
  assert_string_equal(tn_schema_option(&s, "b"), "true");
  assert_string_equal(tn_schema_option(&s, "c"), "x");
  tn_arena_reset(&s.arena);
}

/* ------------------------------------------------------------------ normalising */

static void schema_normalize__takes_keys_out_of_options(void **state) {
  fixture *f = *state;
  tn_schema s;
  expect_ok(
      f, make(f,
              TABLE(ID "," P,
                    OPTIONS("\"bucket\":\"1\",\"primary-key\":\" id , p \",\"partition\":\"p\"")),
              &s));
  assert_int_equal(s.n_primary_keys, 2);
  assert_string_equal(s.primary_keys[1], "p");
  assert_int_equal(s.n_partition_keys, 1);
  assert_int_equal(s.n_options, 1);
  assert_false(s.fields[0].type.is_nullable);
  assert_false(s.fields[1].type.is_nullable);
  tn_arena_reset(&s.arena);
}

static void schema_normalize__fills_in_defaults_that_are_not_set(void **state) {
  static const tn_option defaults[] = {{"bucket", "7"}, {"x", "y"}};
  fixture *f = *state;
  tn_schema s;
  expect_ok(f, tn_schema_from_json(f->env, tn_slice_text(KEYED("")), &s, &f->err));
  expect_ok(f, tn_schema_normalize(&s, defaults, 2, &f->err));
  assert_string_equal(tn_schema_option(&s, "bucket"), "1");
  assert_string_equal(tn_schema_option(&s, "x"), "y");
  tn_arena_reset(&s.arena);
}

static void schema_normalize__refuses_bad_keys(void **state) {
  static const refusal cases[] = {
      {TABLE(ID "," ID, ""),
       "Table column [id, id] must not contain duplicate fields. Found: [id]"},
      {TABLE(ID, ",\"primaryKeys\":[\"id\",\"id\"]"),
       "Primary key constraint [id, id] must not contain duplicate columns. Found: [id]"},
      {TABLE(ID, ",\"primaryKeys\":[\"x\"]"),
       "Table column [id] should include all primary key constraint [x]"},
      {TABLE(ID, ",\"partitionKeys\":[\"id\",\"id\"]"),
       "Partition key constraint [id, id] must not contain duplicate columns. Found: [id]"},
      {TABLE(ID, ",\"partitionKeys\":[\"x\"]"),
       "Table column [id] should include all partition fields [x]"},
      {TABLE(ID, KEY OPTIONS("\"primary-key\":\"id\"")),
       "Cannot define primary key on DDL and table options at the same time."},
      {TABLE(ID "," P, PARTED OPTIONS("\"partition\":\"p\"")),
       "Cannot define partition on DDL and table options at the same time."},
  };
  EXPECT_ALL(*state, cases, TARN_E_INVALID);
}

/* ------------------------------------------------------------------ rules */

static void schema_check__keys(void **state) {
  static const refusal cases[] = {
      {TABLE(ID "," P, ",\"primaryKeys\":[\"p\"]" PARTED OPTIONS("\"bucket\":\"1\"")),
       "Primary key constraint [p] should not be same with partition fields [p], this will result "
       "in only one record in a partition"},
      {TABLE(COLUMN("id", "MAP<INT, INT>"), KEY),
       "The type MapType in primary key field id is unsupported"},
      {TABLE(COLUMN("id", "ARRAY<INT>"), KEY), "The type ArrayType in primary key field id"},
      {TABLE(COLUMN("id", "ROW<a INT>"), KEY), "The type RowType in primary key field id"},
      {TABLE(COLUMN("id", "MULTISET<INT>"), KEY), "The type MultisetType in primary key field id"},
      {TABLE(COLUMN("id", "VARIANT"), KEY), "The type VariantType in primary key field id"},
      {TABLE(COLUMN("p", "ARRAY<INT>") "," ID, PARTED), "The type ArrayType in partition field p"},
      {TABLE(COLUMN("id", "DOUBLE"), KEY), NULL},
      {APPEND("\"upsert-key\":\"x\""), "Cannot find field: x"},
      {KEYED(",\"upsert-key\":\"v\""), "Cannot define 'upsert-key' [v] with 'primary-key' [id]."},
  };
  EXPECT_ALL(*state, cases, TARN_E_INVALID);
}

static void schema_check__buckets(void **state) {
  static const refusal cases[] = {
      {APPEND("\"bucket\":\"0\""), "The number of buckets needs to be greater than 0."},
      {APPEND("\"bucket\":\"-2\""), "The number of buckets needs to be greater than 0."},
      {APPEND("\"bucket\":\"-3\""), "The number of buckets needs to be greater than 0."},
      {APPEND("\"bucket\":\"x\""), "option 'bucket': cannot parse 'x'"},
      {TABLE(ID, KEY OPTIONS("\"bucket\":\"-2\"")), NULL},
      {APPEND("\"bucket-key\":\"id\""), "Cannot define 'bucket-key' with bucket = -1"},
      {APPEND("\"bucket\":\"2\""), "You should define a 'bucket-key' for bucketed append mode."},
      {APPEND("\"bucket\":\"2\",\"bucket-key\":\"id\""), NULL},
      {APPEND("\"bucket\":\"2\",\"bucket-key\":\"x,id\""),
       "Field names [id, v] should contains all bucket keys [x, id]."},
      {TABLE(ID "," P, PARTED OPTIONS("\"bucket\":\"2\",\"bucket-key\":\"p\"")),
       "Bucket keys [p] should not in partition keys [p]."},
      {KEYED(",\"bucket-key\":\"v\""), "Primary keys [id] should contains all bucket keys [v]."},
      {TABLE(COLUMN("a", "ARRAY<INT>"), OPTIONS("\"bucket\":\"2\",\"bucket-key\":\"a\"")),
       "nested type can not in bucket-key, in your table these key are [a]"},
      {APPEND("\"full-compaction.delta-commits\":\"3\""),
       "AppendOnlyTable of unaware or dynamic bucket does not support "
       "'full-compaction.delta-commits'"},
  };
  EXPECT_ALL(*state, cases, TARN_E_INVALID);
}

static void schema_check__changelogs_and_deletions(void **state) {
  static const refusal cases[] = {
      {APPEND("\"changelog-producer\":\"input\""),
       "Can not set changelog-producer on table without primary keys, please define primary keys."},
      {KEYED(",\"changelog-producer\":\"lookup\",\"streaming-read-overwrite\":\"true\""),
       "Cannot set streaming-read-overwrite to true when changelog producer is full-compaction or "
       "lookup because it will read duplicated changes."},
      {APPEND("\"streaming-read-overwrite\":\"true\""),
       "Doesn't support streaming read the changes from overwrite when the primary keys are not "
       "defined. Please use streaming-read-append-overwrite"},
      {KEYED(",\"merge-engine\":\"first-row\",\"changelog-producer\":\"input\""),
       "Only support 'none' and 'lookup' changelog-producer on FIRST_ROW merge engine"},
      {KEYED(",\"merge-engine\":\"first-row\",\"deletion-vectors.enabled\":\"true\""),
       "First row merge engine does not need deletion vectors"},
      {KEYED(",\"changelog-producer\":\"full-compaction\",\"deletion-vectors.enabled\":\"true\""),
       "Deletion vectors mode is only supported for NONE/INPUT/LOOKUP changelog producer now."},
      {KEYED(",\"changelog-producer\":\"input\",\"deletion-vectors.enabled\":\"true\""), NULL},
      {KEYED(",\"merge-engine\":\"partial-update\",\"changelog-producer\":\"input\""), NULL},
  };
  EXPECT_ALL(*state, cases, TARN_E_INVALID);
}

static void schema_check__sequence_fields(void **state) {
  static const refusal cases[] = {
      {KEYED(",\"sequence.field\":\"v\""), NULL},
      {KEYED(",\"sequence.field\":\"id\""), NULL},
      {KEYED(",\"sequence.field\":\"x\""), "Sequence field: 'x' can not be found in table schema."},
      {KEYED(",\"sequence.field\":\"v, v\""), "Sequence field 'v' is defined repeatedly."},
      {KEYED(",\"sequence.field\":\"v\",\"merge-engine\":\"aggregation\","
             "\"fields.v.aggregate-function\":\"max\""),
       "Should not define aggregation on sequence field: 'v'."},
      {KEYED(",\"sequence.field\":\"v\",\"merge-engine\":\"first-row\""),
       "Do not support use sequence field on FIRST_ROW merge engine."},
      {TABLE(ID "," P "," V, KEY PARTED OPTIONS("\"sequence.field\":\"v\"")),
       "You can not use sequence.field in cross partition update case (Primary key constraint "
       "'[id]' not include all partition fields '[p]')."},
      {KEYED(",\"rowkind.field\":\"x\""), "Rowkind field: 'x' can not be found in table schema."},
      {KEYED(",\"fields.x.ignore-retract\":\"true\""), "Field x can not be found in table schema."},
      {KEYED(",\"fields.default-aggregate-function\":\"sum\""), NULL},
  };
  EXPECT_ALL(*state, cases, TARN_E_INVALID);
}

#define GROUPED(options)                                                                           \
  TABLE(ID "," COLUMN("g", "INT") "," COLUMN("h", "INT") "," COLUMN("a", "INT") "," COLUMN("b",    \
                                                                                           "INT"), \
        KEY OPTIONS("\"bucket\":\"1\",\"merge-engine\":\"partial-update\"" options))

static void schema_check__sequence_groups(void **state) {
  static const refusal cases[] = {
      {GROUPED(",\"fields.g.sequence-group\":\"a\",\"fields.h.sequence-group\":\"b\""), NULL},
      {GROUPED(",\"fields.g,h.sequence-group\":\"a,b\""), NULL},
      {GROUPED(",\"fields.g.sequence-group\":\"a,b\",\"fields.h.sequence-group\":\"b\""),
       "Field b is defined repeatedly by multiple groups: fields."},
      {GROUPED(",\"fields.g.sequence-group\":\"a,x\""), "Field x can not be found in table schema"},
      {GROUPED(",\"fields.a.aggregate-function\":\"sum\""),
       "Must use sequence group for aggregation functions but not found for field a."},
      {GROUPED(",\"fields.a.aggregate-function\":\"last_non_null_value\""), NULL},
      {GROUPED(",\"fields.g.sequence-group\":\"a\",\"fields.a.aggregate-function\":\"sum\""), NULL},
      {GROUPED(",\"ignore-delete\":\"true\",\"partial-update.remove-record-on-delete\":\"true\""),
       "ignore-delete and partial-update.remove-record-on-delete have conflicting behavior"},
      {GROUPED(",\"fields.g.sequence-group\":\"a\",\"ignore-delete\":\"true\","
               "\"partial-update.remove-record-on-sequence-group\":\"g\""),
       "ignore-delete and partial-update.remove-record-on-sequence-group have conflicting"},
      {GROUPED(",\"fields.g.sequence-group\":\"a\","
               "\"partial-update.remove-record-on-delete\":\"true\""),
       "sequence-group and partial-update.remove-record-on-delete have conflicting behavior"},
      {GROUPED(",\"fields.g.sequence-group\":\"a\","
               "\"partial-update.remove-record-on-sequence-group\":\"a\""),
       "field 'a' defined in 'partial-update.remove-record-on-sequence-group' option must be part "
       "of sequence groups"},
      {KEYED(",\"merge-engine\":\"aggregation\",\"fields.v.aggregate-function\":\"sumup\""),
       "Could not find any factory for identifier 'sumup'"},
  };
  EXPECT_ALL(*state, cases, TARN_E_INVALID);
}

static void schema_check__names_and_retention(void **state) {
  static const refusal cases[] = {
      {TABLE(COLUMN("_LEVEL", "INT"), ""), "Field name[_LEVEL] in schema cannot be exist in"},
      {TABLE(COLUMN("rowkind", "INT"), ""), "Field name[rowkind] in schema cannot be exist in"},
      {TABLE(COLUMN("_KEY_a", "INT"), ""),
       "Field name[_KEY_a] in schema cannot start with [_KEY_]"},
      {TABLE(COLUMN(" ", "INT"), ""),
       "Field names must contain at least one non-whitespace character."},
      {APPEND("\"snapshot.num-retained.min\":\"0\""),
       "snapshot.num-retained.min should be at least 1"},
      {APPEND("\"snapshot.num-retained.max\":\"9\""),
       "snapshot.num-retained.min should not be larger than snapshot.num-retained.max"},
      {APPEND("\"changelog.num-retained.min\":\"0\""),
       "changelog.num-retained.min should be at least 1"},
      {APPEND("\"changelog.num-retained.max\":\"9\""),
       "changelog.num-retained.min should not be larger than changelog.num-retained.max"},
      {APPEND("\"partition.expiration-time\":\"1 d\""),
       "Can not set 'partition.expiration-time' for non-partitioned table."},
      {APPEND("\"record-level.time-field\":\"x\""),
       "Can not find time field x for record level expire."},
      {APPEND("\"record-level.time-field\":\"v\""),
       "The record level time field type should be one of INT, BIGINT, or TIMESTAMP, but field "
       "type "
       "is STRING"},
      {APPEND("\"record-level.time-field\":\"id\""), NULL},
      {APPEND("\"table-read.sequence-number.enabled\":\"true\""),
       "Cannot enable 'table-read.sequence-number.enabled' for non-primary-key table."},
  };
  EXPECT_ALL(*state, cases, TARN_E_INVALID);
}

static void schema_check__scan_modes(void **state) {
  static const refusal cases[] = {
      {APPEND("\"scan.mode\":\"latest\",\"scan.snapshot-id\":\"3\""),
       "scan.snapshot-id must be null when you use latest for scan.mode"},
      {APPEND("\"scan.mode\":\"from-timestamp\""),
       "must set only one key in [scan.timestamp-millis,scan.timestamp] when you use "
       "from-timestamp for scan.mode"},
      {APPEND("\"scan.snapshot-id\":\"3\",\"scan.file-creation-time-millis\":\"3\""),
       "[scan.file-creation-time-millis] must be null when you set "
       "[scan.snapshot-id,scan.tag-name]"},
      {APPEND("\"scan.mode\":\"from-snapshot-full\""),
       "scan.snapshot-id can not be null when you use from-snapshot-full for scan.mode"},
      {APPEND("\"scan.mode\":\"sometimes\""), "option 'scan.mode': cannot parse 'sometimes'"},
      {APPEND("\"scan.snapshot-id\":\"3\""), NULL},
      {APPEND("\"scan.mode\":\"full\""), NULL},
  };
  EXPECT_ALL(*state, cases, TARN_E_INVALID);
}

#define STORED(format, type) \
  TABLE(ID "," COLUMN("v", type), OPTIONS("\"file.format\":\"" format "\""))

static void schema_check__files(void **state) {
  static const refusal cases[] = {
      {STORED("nonsense", "INT"), "Could not find any factory for identifier 'nonsense'"},
      {STORED("parquet", "VECTOR<FLOAT, 3>"), "Unsupported type: VECTOR<FLOAT, 3>"},
      {STORED("orc", "VARIANT"), "Unsupported type: VARIANT"},
      {STORED("orc", "VARBINARY(3)"), NULL},
      {STORED("avro", "VARIANT"), "Unsupported to derive Schema for type: VARIANT"},
      {STORED("avro", "TIMESTAMP(6)"), NULL},
      {STORED("avro", "ARRAY<TIMESTAMP(7)>"),
       "Avro does not support TIMESTAMP type with precision: 7"},
      {STORED("avro", "TIME(4)"), "Avro does not support TIME type with precision: 4"},
      {STORED("avro", "ROW<`1a` INT>"), "Illegal initial character: 1a"},
      {STORED("avro", "ROW<`a b` INT>"), "Illegal character in: a b"},
      {STORED("avro", "VECTOR<FLOAT, 3>"), NULL},
  };
  EXPECT_ALL(*state, cases, TARN_E_INVALID);
}

#define TRACKED "\"row-tracking.enabled\":\"true\""
#define EVOLVED TRACKED ",\"data-evolution.enabled\":\"true\""
#define BLOBS(options) TABLE(ID "," COLUMN("b", "BLOB"), OPTIONS(options))

static void schema_check__row_tracking_and_clustering(void **state) {
  static const refusal cases[] = {
      {KEYED("," TRACKED),
       "Cannot define bucket for row tracking table, it only support bucket = -1"},
      {TABLE(ID, KEY OPTIONS(TRACKED)), "Cannot define primary-key for row tracking table."},
      {APPEND("\"data-evolution.enabled\":\"true\""),
       "Data evolution config must enabled with row-tracking.enabled"},
      {APPEND(EVOLVED ",\"deletion-vectors.enabled\":\"true\""),
       "Data evolution config must disabled with deletion-vectors.enabled"},
      {APPEND(EVOLVED ",\"clustering.incremental\":\"true\""),
       "Data evolution config must disabled with clustering.incremental"},
      {BLOBS(EVOLVED), NULL},
      {BLOBS(""), "Data evolution config must enabled for table with BLOB type column."},
      {TABLE(COLUMN("b", "BLOB"), OPTIONS(EVOLVED)),
       "Table with BLOB type column must have other normal columns."},
      {BLOBS(EVOLVED ",\"blob-descriptor-field\":\"id\""),
       "Field 'id' in 'blob-descriptor-field' must be a BLOB field in table schema."},
      {BLOBS(EVOLVED ",\"blob-external-storage-field\":\"b\""),
       "Field 'b' in 'blob-external-storage-field' must also be in 'blob-descriptor-field'."},
      {BLOBS(EVOLVED ",\"blob-external-storage-field\":\"b\",\"blob-descriptor-field\":\"b\""),
       "'blob-external-storage-path' must be set when 'blob-external-storage-field' is "
       "configured."},
      {APPEND("\"vector-field\":\"v\""),
       "Field name[v] is configured as vector-field so the type must be vector, but it is STRING"},
      {APPEND("\"vector-field\":\"x\""),
       "Some of the columns specified as vector-field are unknown."},
      {APPEND("\"vector.file.format\":\"avro\""),
       "Data evolution config must enabled for table with vector-store file format."},
      {KEYED(",\"clustering.incremental\":\"true\""),
       "Cannot define primary-key for incremental clustering table."},
      {APPEND("\"bucket\":\"2\",\"bucket-key\":\"id\",\"clustering.incremental\":\"true\""),
       "bucket-append-ordered must be false for incremental clustering table."},
      {KEYED(",\"pk-clustering-override\":\"true\""),
       "Cannot support 'pk-clustering-override' mode without 'clustering.columns'."},
      {KEYED(",\"pk-clustering-override\":\"true\",\"clustering.columns\":\"v\""),
       "Cannot support deletion-vectors disabled in 'pk-clustering-override' mode."},
      {KEYED(",\"pk-clustering-override\":\"true\",\"clustering.columns\":\"v\","
             "\"deletion-vectors.enabled\":\"true\",\"merge-engine\":\"aggregation\""),
       "Cannot support merge engine: aggregation in 'pk-clustering-override' mode."},
  };
  EXPECT_ALL(*state, cases, TARN_E_INVALID);
}

static void schema_check__default_values(void **state) {
#define DEFAULT(type, value) \
  TABLE("{\"name\":\"v\",\"type\":\"" type "\",\"default\":\"" value "\"}", "")
  static const refusal cases[] = {
      {DEFAULT("INT", "5"), NULL},
      {DEFAULT("INT", "'5'"), NULL},
      {DEFAULT("INT", "x"), "Unsupported default value `x` for type INT"},
      {DEFAULT("DATE", "2024-02-30"), "Unsupported default value `2024-02-30` for type DATE"},
      {DEFAULT("ARRAY<INT>", "[1, 2]"), NULL},
      {DEFAULT("ARRAY<INT>", "array (1)"), NULL},
      {DEFAULT("ARRAY<INT>", "1"), "Unsupported default value `1` for type ARRAY<INT>"},
      {DEFAULT("MAP<INT, INT>", "{1 -> 2}"), NULL},
      {DEFAULT("ROW<a INT>", "struct(1)"), NULL},
      {DEFAULT("VARIANT", "1"), "Unsupported default value `1` for type VARIANT"},
  };
  EXPECT_ALL(*state, cases, TARN_E_INVALID);
}

static void schema_check__kinds_are_refused_by_name(void **state) {
  static const refusal cases[] = {
      {APPEND("\"type\":\"materialized-table\""), NULL},
      {APPEND("\"type\":\"format-table\""), "option 'type' = 'format-table' is not supported"},
      {APPEND("\"type\":\"object-table\""), "option 'type' = 'object-table' is not supported"},
      {APPEND("\"type\":\"iceberg-table\""), "option 'type' = 'iceberg-table' is not supported"},
      {APPEND("\"type\":\"lance-table\""), "option 'type' = 'lance-table' is not supported"},
      {KEYED(",\"chain-table.enabled\":\"true\""), "option 'chain-table.enabled' = 'true'"},
      {KEYED(",\"query-auth.enabled\":\"true\""), "option 'query-auth.enabled' = 'true'"},
      {STORED("csv", "INT"), "files of format 'csv' are not supported by this release"},
      {STORED("JSON", "INT"), "files of format 'json' are not supported by this release"},
  };
  EXPECT_ALL(*state, cases, TARN_E_UNSUPPORTED);
}

static void schema_check_option__values_parse(void **state) {
  fixture *f = *state;
  expect_ok(f, tn_schema_check_option(f->env, "write-buffer-size", "64 mb", &f->err));
  expect_error(f, tn_schema_check_option(f->env, "write-buffer-size", "much", &f->err),
               TARN_E_INVALID, "option 'write-buffer-size': cannot parse 'much'");
  expect_error(f, tn_schema_check_option(f->env, "write-only", "maybe", &f->err), TARN_E_INVALID,
               "option 'write-only': cannot parse 'maybe'");
  expect_ok(f, tn_schema_check_option(f->env, "bukcet", "1", &f->err));
  assert_non_null(strstr(f->log, "option=bukcet"));
  assert_non_null(strstr(f->log, "nearest=bucket"));
}

/* ------------------------------------------------------------------ the order of options */

/* Its slots; the order that follows from them is in the golden tables (tests/golden/ddl). */
static void java_map__goes_the_way_of_java(void **state) {
  static const char *const put[] = {"bucket", "file.format", "merge-engine", "changelog-producer",
                                    "snapshot.num-retained.max"};
  fixture *f = *state;
  tn_java_map map, copy;
  tn_java_map_init(&map, &f->arena, TN_COUNT(put));
  for (size_t i = 0; i < TN_COUNT(put); i++) {
    expect_ok(f, tn_java_map_put(&map, put[i], "v", &f->err));
  }
  assert_int_equal(map.slots, 8);
  expect_ok(f, tn_java_map_put(&map, "a", "1", &f->err));
  expect_ok(f, tn_java_map_put(&map, "b", "1", &f->err)); /* seven are more than 3/4 of eight */
  assert_int_equal(map.slots, 16);
  expect_ok(f, tn_java_map_put(&map, "a", "2", &f->err));
  assert_int_equal(map.count, 7);
  assert_string_equal(tn_java_map_get(&map, "a"), "2");
  assert_string_equal(tn_java_map_remove(&map, "b"), "1");
  assert_null(tn_java_map_remove(&map, "b"));
  expect_ok(f, tn_java_map_copy(&map, &copy, &f->err));
  assert_int_equal(copy.count, 6);
  assert_int_equal(copy.slots, 16);
}

/* ------------------------------------------------------------------ memory */

static tarn_status make_and_check(void *ctx, tarn_env *env, tarn_error *err) {
  tn_schema schema;
  tarn_status st = tn_schema_from_json(env, tn_slice_text(ctx), &schema, err);
  if (st == TARN_OK) {
    st = tn_schema_normalize(&schema, NULL, 0, err);
  }
  if (st == TARN_OK) {
    st = tn_schema_check(&schema, err);
  }
  tn_arena_reset(&schema.arena);
  return st;
}

static void schema_check__each_allocation_may_fail(void **state) {
  static char json[] = GROUPED(",\"fields.g.sequence-group\":\"a,b\",\"sequence.field\":\"h\"");
  (void)state;
  assert_true(tn_torture(make_and_check, json, TARN_OK) > 1);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      MODEL_TEST(schema_from_json__gives_ids_as_java),
      MODEL_TEST(schema_from_json__refuses_what_is_no_schema),
      MODEL_TEST(schema_from_json__takes_values_of_options_as_text),
      MODEL_TEST(schema_normalize__takes_keys_out_of_options),
      MODEL_TEST(schema_normalize__fills_in_defaults_that_are_not_set),
      MODEL_TEST(schema_normalize__refuses_bad_keys),
      MODEL_TEST(schema_check__keys),
      MODEL_TEST(schema_check__buckets),
      MODEL_TEST(schema_check__changelogs_and_deletions),
      MODEL_TEST(schema_check__sequence_fields),
      MODEL_TEST(schema_check__sequence_groups),
      MODEL_TEST(schema_check__names_and_retention),
      MODEL_TEST(schema_check__scan_modes),
      MODEL_TEST(schema_check__files),
      MODEL_TEST(schema_check__row_tracking_and_clustering),
      MODEL_TEST(schema_check__default_values),
      MODEL_TEST(schema_check__kinds_are_refused_by_name),
      MODEL_TEST(schema_check_option__values_parse),
      MODEL_TEST(java_map__goes_the_way_of_java),
      MODEL_TEST(schema_check__each_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
