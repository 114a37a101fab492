/* Opened tables: options as values, names as columns, what a read may not change. */
#include "column/binary_row.h"
#include "model/table.h"
#include "unit/model/model_test.h"

/* Columns p, k1, k2, v, w, r(ROW) with ids 0 .. 5 */
#define COLUMNS                                                                                   \
  "{\"id\":0,\"name\":\"p\",\"type\":\"INT NOT NULL\"},{\"id\":1,\"name\":\"k1\",\"type\":\"INT " \
  "NOT NULL\"},{\"id\":2,\"name\":\"k2\",\"type\":\"STRING NOT NULL\"},{\"id\":3,\"name\":\"v\"," \
  "\"type\":\"INT\"},{\"id\":4,\"name\":\"w\",\"type\":\"BIGINT\"},{\"id\":5,\"name\":\"r\","     \
  "\"type\":{\"type\":\"ROW\",\"fields\":[{\"id\":6,\"name\":\"x\",\"type\":\"INT\"}]}}"

static const char PK_PARTITIONED[] =
    "\"partitionKeys\":[\"p\"],\"primaryKeys\":[\"p\",\"k2\",\"k1\"]";
static const char PK_CROSS[] = "\"partitionKeys\":[\"p\"],\"primaryKeys\":[\"k1\"]";
static const char APPEND[] = "\"partitionKeys\":[\"p\"],\"primaryKeys\":[]";

static tn_schema *make_schema(fixture *f, const char *keys, const char *options) {
  tn_schema *schema;
  char *json = tn_arena_printf(
      &f->arena, "{\"version\":3,\"id\":1,\"fields\":[" COLUMNS "],%s,\"options\":{%s}}", keys,
      options);
  assert_non_null(json);
  expect_ok(f, tn_schema_decode(f->env, tn_slice_text(json), "schema-1", &schema, &f->err));
  return schema;
}

static tarn_status try_table(fixture *f, const char *keys, const char *options,
                             const tn_option *dynamic, int32_t n, tn_table **out) {
  tn_schema *schema = make_schema(f, keys, options);
  tarn_status st = tn_table_create(f->env, f->storage, "db.t", "/t", "main", "/t", schema, dynamic,
                                   n, out, &f->err);
  tn_schema_release(schema);
  return st;
}

static tn_table *make_table(fixture *f, const char *keys, const char *options) {
  tn_table *table;
  expect_ok(f, try_table(f, keys, options, NULL, 0, &table));
  return table;
}

static void table__has_the_defaults_of_paimon(void **state) {
  fixture *f = *state;
  tn_table *t = make_table(f, APPEND, "");
  const tn_table_facts *x = &t->facts;
  assert_false(x->has_primary_key);
  assert_int_equal(x->bucket, -1);
  assert_int_equal(x->bucket_mode, TN_BUCKETS_UNAWARE);
  assert_int_equal(x->bucket_function, TN_BUCKET_DEFAULT);
  assert_int_equal(x->n_bucket_columns, 0);
  assert_int_equal(x->merge_engine, TN_ENGINE_DEDUPLICATE);
  assert_int_equal(x->changelog_producer, TN_CHANGELOG_NONE);
  assert_false(x->deletion_vectors || x->skips_level_0 || x->needs_lookup || x->ignore_delete);
  assert_true(x->file_index_read);
  assert_true(x->partition_legacy_name);
  assert_int_equal(x->split_target_bytes, 128 << 20);
  assert_int_equal(x->split_open_cost_bytes, 4 << 20);
  assert_string_equal(x->partition_default_name, "__DEFAULT_PARTITION__");
  assert_null(x->data_path_directory);
  assert_int_equal(x->n_sequence_columns, 0);
  assert_string_equal(t->full_name, "db.t");
  assert_string_equal(t->branch, "main");
  tn_table_release(t);
}

static void table__tells_the_bucket_mode(void **state) {
  static const struct {
    const char *keys, *options;
    tn_bucket_mode mode;
    int32_t first_column, n_columns;
  } CASES[] = {
      {PK_PARTITIONED, "\"bucket\":\"4\"", TN_BUCKETS_FIXED, 2, 2},
      {PK_PARTITIONED, "\"bucket\":\"4\",\"bucket-key\":\"k1\"", TN_BUCKETS_FIXED, 1, 1},
      {PK_PARTITIONED, "\"bucket\":\"4\",\"bucket-key\":\"  \"", TN_BUCKETS_FIXED, 2, 2},
      {PK_PARTITIONED, "", TN_BUCKETS_DYNAMIC, 2, 2},
      {PK_CROSS, "", TN_BUCKETS_CROSS, 1, 1},
      {PK_PARTITIONED, "\"bucket\":\"-2\"", TN_BUCKETS_POSTPONE, 2, 2},
      {APPEND, "\"bucket\":\"3\",\"bucket-key\":\"v,k1\"", TN_BUCKETS_FIXED, 3, 2},
      {APPEND, "\"bucket\":\"1\"", TN_BUCKETS_FIXED, 0, 0}, /* an old table without bucket key */
  };
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(CASES); i++) {
    tn_table *t = make_table(f, CASES[i].keys, CASES[i].options);
    assert_int_equal(t->facts.bucket_mode, CASES[i].mode);
    assert_int_equal(t->facts.n_bucket_columns, CASES[i].n_columns);
    if (CASES[i].n_columns > 0) {
      assert_int_equal(t->facts.bucket_columns[0], CASES[i].first_column);
    }
    tn_table_release(t);
  }
}

static void table__refuses_bad_buckets(void **state) {
  static const struct {
    const char *keys, *options, *message;
  } CASES[] = {
      {APPEND, "\"bucket\":\"0\"", "option 'bucket' = 0"},
      {APPEND, "\"bucket\":\"-3\"", "option 'bucket' = -3"},
      {APPEND, "\"bucket\":\"-2\"", "is for tables with a primary key"},
      {APPEND, "\"bucket-key\":\"v\"", "'bucket-key' is set while 'bucket' is -1"},
      {APPEND, "\"bucket\":\"2\",\"bucket-key\":\"z\"", "names 'z', which is no column"},
      {APPEND, "\"bucket\":\"2\",\"bucket-key\":\"v, k1\"", "names ' k1', which is no column"},
      {APPEND, "\"bucket\":\"2\",\"bucket-key\":\"p\"", "names the partition column 'p'"},
      {APPEND, "\"bucket\":\"2\",\"bucket-key\":\"r\"", "names 'r', which is of a nested type"},
      {PK_PARTITIONED, "\"bucket\":\"2\",\"bucket-key\":\"v\"",
       "names 'v', which is not of the primary key"},
  };
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(CASES); i++) {
    tn_table *t;
    expect_error(f, try_table(f, CASES[i].keys, CASES[i].options, NULL, 0, &t), TARN_E_INVALID,
                 CASES[i].message);
    assert_null(t);
  }
}

static void table__finds_sequence_fields(void **state) {
  fixture *f = *state;
  tn_table *t =
      make_table(f, PK_PARTITIONED,
                 "\"sequence.field\":\" w , v\",\"sequence.field.sort-order\":\"descending\"");
  assert_int_equal(t->facts.n_sequence_columns, 2);
  assert_int_equal(t->facts.sequence_columns[0], 4);
  assert_int_equal(t->facts.sequence_columns[1], 3);
  assert_true(t->facts.sequence_descending);
  tn_table_release(t);
  expect_error(f, try_table(f, PK_PARTITIONED, "\"sequence.field\":\"w,gone\"", NULL, 0, &t),
               TARN_E_INVALID, "option 'sequence.field' names 'gone'");
}

static void table__tells_who_needs_lookup(void **state) {
  static const struct {
    const char *keys, *options;
    bool skips_level_0, needs_lookup;
  } CASES[] = {
      {PK_PARTITIONED, "", false, false},
      {PK_PARTITIONED, "\"deletion-vectors.enabled\":\"true\"", true, true},
      {PK_PARTITIONED, "\"merge-engine\":\"first-row\"", true, true},
      {PK_PARTITIONED, "\"changelog-producer\":\"lookup\"", false, true},
      {PK_PARTITIONED, "\"changelog-producer\":\"full-compaction\"", false, false},
      {PK_PARTITIONED, "\"force-lookup\":\"true\"", false, true},
      {APPEND, "\"deletion-vectors.enabled\":\"true\"", false, false},
  };
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(CASES); i++) {
    tn_table *t = make_table(f, CASES[i].keys, CASES[i].options);
    assert_int_equal(t->facts.skips_level_0, CASES[i].skips_level_0);
    assert_int_equal(t->facts.needs_lookup, CASES[i].needs_lookup);
    tn_table_release(t);
  }
}

static void table__takes_every_fact_from_its_option(void **state) {
  fixture *f = *state;
  tn_table *t = make_table(
      f, PK_PARTITIONED,
      "\"bucket\":\"2\",\"bucket-function.type\":\"hive\",\"merge-engine\":\"aggregation\","
      "\"changelog-producer\":\"input\",\"deduplicate.ignore-delete\":\"true\","
      "\"file-index.read.enabled\":\"false\",\"scan.ignore-corrupt-files\":\"true\","
      "\"scan.ignore-lost-files\":\"true\",\"scan.plan-sort-partition\":\"true\","
      "\"source.split.target-size\":\"1 kb\",\"source.split.open-file-cost\":\"3\","
      "\"partition.default-name\":\"nil\",\"partition.legacy-name\":\"false\","
      "\"data-file.path-directory\":\"data\",\"index-file-in-data-file-dir\":\"true\","
      "\"row-tracking.enabled\":\"true\"");
  const tn_table_facts *x = &t->facts;
  assert_int_equal(x->bucket_function, TN_BUCKET_HIVE);
  assert_int_equal(x->merge_engine, TN_ENGINE_AGGREGATION);
  assert_int_equal(x->changelog_producer, TN_CHANGELOG_INPUT);
  assert_true(x->ignore_delete && !x->file_index_read && x->ignore_corrupt_files &&
              x->ignore_lost_files && x->plan_sort_partition && !x->partition_legacy_name &&
              x->index_in_data_dir && x->row_tracking);
  assert_int_equal(x->split_target_bytes, 1024);
  assert_int_equal(x->split_open_cost_bytes, 3);
  assert_string_equal(x->partition_default_name, "nil");
  assert_string_equal(x->data_path_directory, "data");
  tn_table_release(t);
}

static void table__takes_dynamic_options_over_stored_ones(void **state) {
  static const tn_option DYNAMIC[] = {{"source.split.target-size", "5"}, {"bucket", "2"}};
  fixture *f = *state;
  tn_table *t;
  expect_ok(f, try_table(f, PK_PARTITIONED,
                         "\"bucket\":\"2\",\"source.split.target-size\":\"1 kb\"", DYNAMIC, 2, &t));
  assert_int_equal(t->facts.split_target_bytes, 5);
  tn_table_release(t);
}

static void table__refuses_to_change_what_belongs_to_it(void **state) {
  static const struct {
    const char *stored;
    tn_option dynamic;
    tarn_status status;
  } CASES[] = {
      {"\"bucket\":\"2\"", {"bucket", "3"}, TARN_E_INVALID},
      {"", {"merge-engine", "first-row"}, TARN_E_INVALID},
      {"\"merge-engine\":\"first-row\"", {"merge-engine", "first-row"}, TARN_OK},
      {"\"bucket\":\"2\"", {"bucket-key", "k1"}, TARN_E_INVALID},
      {"\"deletion-vectors.enabled\":\"true\"",
       {"deletion-vectors.enabled", "false"},
       TARN_E_INVALID},
      {"", {"deletion-vectors.enabled", "false"}, TARN_OK},
      {"\"deletion-vectors.modifiable\":\"true\"", {"deletion-vectors.enabled", "true"}, TARN_OK},
      {"\"ignore-delete\":\"true\"", {"ignore-delete", "false"}, TARN_E_INVALID},
      {"", {"ignore-delete", "true"}, TARN_OK},
  };
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(CASES); i++) {
    tn_table *t;
    tarn_status st = try_table(f, PK_PARTITIONED, CASES[i].stored, &CASES[i].dynamic, 1, &t);
    if (CASES[i].status == TARN_OK) {
      expect_ok(f, st);
      tn_table_release(t);
    } else {
      expect_error(f, st, CASES[i].status, "belongs to the table");
    }
  }
}

static void table__is_refused_by_name(void **state) {
  fixture *f = *state;
  tn_table *t;
  expect_error(f, try_table(f, APPEND, "\"type\":\"object-table\"", NULL, 0, &t),
               TARN_E_UNSUPPORTED, "option 'type' = 'object-table'");
}

/* Before a rename the sequence field had another name; the option has today's. */
static void table_with_schema__finds_columns_by_id(void **state) {
  fixture *f = *state;
  tn_table *t = make_table(f, PK_PARTITIONED,
                           "\"bucket\":\"2\",\"bucket-key\":\"k1\",\"sequence.field\":\"w\"");
  tn_table *old, *older;
  tn_schema *before;
  expect_ok(f, tn_schema_decode(
                   f->env,
                   tn_slice_text(
                       "{\"version\":3,\"id\":0,\"fields\":[{\"id\":4,\"name\":\"seq\",\"type\":"
                       "\"BIGINT\"},{\"id\":1,\"name\":\"key\",\"type\":\"INT NOT NULL\"},"
                       "{\"id\":0,\"name\":\"p\",\"type\":\"INT NOT NULL\"}],\"partitionKeys\":["
                       "\"p\"],\"primaryKeys\":[\"p\",\"key\"],\"options\":{}}"),
                   "schema-0", &before, &f->err));
  expect_ok(f, tn_table_with_schema(t, before, &old, &f->err));
  assert_int_equal(old->facts.n_sequence_columns, 1);
  assert_int_equal(old->facts.sequence_columns[0], 0);
  assert_int_equal(old->facts.n_bucket_columns, 1);
  assert_int_equal(old->facts.bucket_columns[0], 1);
  assert_int_equal(old->facts.bucket, 2);
  expect_ok(f, tn_table_with_schema(old, before, &older, &f->err));
  assert_int_equal(older->facts.sequence_columns[0], 0);
  tn_table_release(older);
  tn_table_release(old);
  tn_table_release(t);
  tn_schema_release(before);
}

static void table_with_schema__refuses_a_sequence_field_that_was_not_there(void **state) {
  fixture *f = *state;
  tn_table *t = make_table(f, PK_CROSS, "\"sequence.field\":\"w\"");
  tn_table *old;
  tn_schema *before;
  expect_ok(f,
            tn_schema_decode(f->env,
                             tn_slice_text("{\"version\":3,\"id\":0,\"fields\":[{\"id\":1,\"name\":"
                                           "\"k1\",\"type\":\"INT\"}],\"primaryKeys\":[\"k1\"]}"),
                             "schema-0", &before, &f->err));
  expect_error(f, tn_table_with_schema(t, before, &old, &f->err), TARN_E_UNSUPPORTED,
               "schema 0 did not have yet");
  tn_table_release(t);
  tn_schema_release(before);
}

static void table_schema__loads_from_the_branch(void **state) {
  fixture *f = *state;
  tn_schema *schema = make_schema(f, APPEND, ""), *found;
  tn_table *t;
  put_file(f, "/t/branch/branch-b/schema/schema-1",
           "{\"version\":3,\"id\":1,\"fields\":[{\"id\":0,\"name\":\"other\",\"type\":\"INT\"}]}");
  expect_ok(f, tn_table_create(f->env, f->storage, "db.t", "/t", "b", "/t/branch/branch-b", schema,
                               NULL, 0, &t, &f->err));
  expect_ok(f, tn_table_schema(t, 1, &found, &f->err));
  assert_string_equal(found->fields[0].name, "other");
  tn_schema_release(found);
  expect_error(f, tn_table_schema(t, 2, &found, &f->err), TARN_E_NOT_FOUND, "schema-2");
  tn_table_release(t);
  tn_schema_release(schema);
}

static tarn_status create_in_need(void *ctx, tarn_env *env, tarn_error *err) {
  static const tn_option DYNAMIC[] = {{"scan.snapshot-id", "5"}};
  tarn_status st;
  tn_storage *storage = NULL;
  tn_schema *schema = NULL;
  tn_table *table = NULL, *other = NULL;
  TN_TRY_TO(done, tn_storage_memory(env, &storage, err));
  TN_TRY_TO(done, tn_schema_decode(env, tn_slice_text(ctx), "s", &schema, err));
  TN_TRY_TO(done, tn_table_create(env, storage, "db.t", "/t", "main", "/t", schema, DYNAMIC, 1,
                                  &table, err));
  TN_TRY_TO(done, tn_table_with_schema(table, schema, &other, err));
done:
  tn_table_release(other);
  tn_table_release(table);
  tn_schema_release(schema);
  tn_storage_release(storage);
  return st;
}

static void table__survives_any_failed_allocation(void **state) {
  static char json[] = "{\"version\":3,\"id\":1,\"fields\":[" COLUMNS
                       "],\"partitionKeys\":[\"p\"],\"primaryKeys\":[\"p\",\"k1\"],\"options\":{"
                       "\"bucket\":\"2\",\"bucket-key\":\"k1\",\"sequence.field\":\"v\"}}";
  assert_true(tn_torture(create_in_need, json, TARN_OK) > 10);
  (void)state;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      MODEL_TEST(table__has_the_defaults_of_paimon),
      MODEL_TEST(table__tells_the_bucket_mode),
      MODEL_TEST(table__refuses_bad_buckets),
      MODEL_TEST(table__finds_sequence_fields),
      MODEL_TEST(table__tells_who_needs_lookup),
      MODEL_TEST(table__takes_every_fact_from_its_option),
      MODEL_TEST(table__takes_dynamic_options_over_stored_ones),
      MODEL_TEST(table__refuses_to_change_what_belongs_to_it),
      MODEL_TEST(table__is_refused_by_name),
      MODEL_TEST(table_with_schema__finds_columns_by_id),
      MODEL_TEST(table_with_schema__refuses_a_sequence_field_that_was_not_there),
      MODEL_TEST(table_schema__loads_from_the_branch),
      MODEL_TEST(table__survives_any_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
