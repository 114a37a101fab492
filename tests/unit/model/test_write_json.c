/* JSON files written: what Java wrote is decoded and encoded again, byte for byte. */
#include "model/json_pretty.h"
#include "model/schema_write.h"
#include "model/snapshot_write.h"
#include "model/statistics.h"
#include "unit/model/model_test.h"

#define OUT_LIMIT ((size_t)1 << 20)

static void expect_text(fixture *f, tn_buf *out, tn_slice wanted) {
  expect_ok(f, tn_buf_append(out, "", 1, &f->err));
  if (out->len - 1 != wanted.len || memcmp(out->data, wanted.data, wanted.len) != 0) {
    fail_msg("wanted %.*s\nfound %s", TN_SLICE_ARG(wanted), (const char *)out->data);
  }
  tn_buf_reset(out);
}

static void pretty__is_laid_out_as_jackson_does(void **state) {
  static const struct {
    const char *compact, *pretty;
  } CASES[] = {
      {"{}", "{ }"},
      {"[]", "[ ]"},
      {"{\"a\":1}", "{\n  \"a\" : 1\n}"},
      {"{\"a\":[],\"b\":{},\"c\":[1,2]}",
       "{\n  \"a\" : [ ],\n  \"b\" : { },\n  \"c\" : [ 1, 2 ]\n}"},
      {"{\"a\":[{\"b\":true},{\"b\":null}]}",
       "{\n  \"a\" : [ {\n    \"b\" : true\n  }, {\n    \"b\" : null\n  } ]\n}"},
      {"{\"a\":{\"b\":{\"c\":[[1],[]]}}}",
       "{\n  \"a\" : {\n    \"b\" : {\n      \"c\" : [ [ 1 ], [ ] ]\n    }\n  }\n}"},
      {"{\"a:,{[\":\"}],\\\"\\\\u001f\"}", "{\n  \"a:,{[\" : \"}],\\\"\\\\u001f\"\n}"},
      {"[\"\\u001f\\n\\u00ab\"]", "[ \"\\u001F\\n\\u00AB\" ]"},
  };
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(CASES); i++) {
    tn_buf out;
    tn_buf_init(&out, &f->env->mem, OUT_LIMIT);
    expect_ok(f, tn_json_pretty(tn_slice_text(CASES[i].compact), &out, &f->err));
    expect_text(f, &out, tn_slice_text(CASES[i].pretty));
  }
}

static void snapshot__is_encoded_as_java_wrote_it(void **state) {
  static const char *const FILES[] = {"snapshot-pk-v3.json", "snapshot-analyze-v3.json",
                                      "snapshot-row-tracking-v3.json"};
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(FILES); i++) {
    tn_slice file = data_file(f, FILES[i]);
    tn_snapshot s;
    tn_buf out;
    tn_buf_init(&out, &f->env->mem, OUT_LIMIT);
    expect_ok(f, tn_snapshot_decode(&f->env->mem, &f->arena, file, FILES[i], &s, &f->err));
    expect_ok(f, tn_snapshot_encode(&s, &out, &f->err));
    expect_text(f, &out, file);
  }
}

static void snapshot__has_its_members_in_javas_order(void **state) {
  static const char WANTED[] =
      "{\n  \"version\" : 3,\n  \"uuid\" : \"u\",\n  \"id\" : 7,\n  \"schemaId\" : 2,\n"
      "  \"baseManifestList\" : \"b\",\n  \"deltaManifestList\" : \"d\",\n"
      "  \"indexManifest\" : \"i\",\n  \"commitUser\" : \"me \\\"é\\\"\",\n"
      "  \"writerVersion\" : \"w\",\n  \"commitIdentifier\" : -9223372036854775808,\n"
      "  \"commitKind\" : \"OVERWRITE\",\n  \"timeMillis\" : 5,\n  \"totalRecordCount\" : 1,\n"
      "  \"deltaRecordCount\" : -1,\n  \"changelogRecordCount\" : 0,\n"
      "  \"watermark\" : -9223372036854775808,\n  \"statistics\" : \"s\",\n"
      "  \"properties\" : {\n    \"k\" : \"v\",\n    \"a\" : \"\"\n  },\n  \"nextRowId\" : 4,\n"
      "  \"operation\" : \"DELETE\"\n}";
  fixture *f = *state;
  tn_property properties[] = {{"k", "v"}, {"a", ""}};
  tn_snapshot s = {.version = 3,
                   .uuid = "u",
                   .id = 7,
                   .schema_id = 2,
                   .base_manifest_list = "b",
                   .base_manifest_list_size = -1,
                   .delta_manifest_list = "d",
                   .delta_manifest_list_size = -1,
                   .changelog_manifest_list_size = -1,
                   .index_manifest = "i",
                   .commit_user = "me \"é\"",
                   .writer_version = "w",
                   .commit_identifier = INT64_MIN,
                   .commit_kind = TN_COMMIT_OVERWRITE,
                   .time_ms = 5,
                   .total_record_count = 1,
                   .delta_record_count = -1,
                   .has_changelog_record_count = true,
                   .watermark = INT64_MIN,
                   .has_watermark = true,
                   .statistics = "s",
                   .properties = properties,
                   .n_properties = 2,
                   .next_row_id = 4,
                   .has_next_row_id = true,
                   .operation = "DELETE"};
  tn_buf out;
  tn_buf_init(&out, &f->env->mem, OUT_LIMIT);
  expect_ok(f, tn_snapshot_encode(&s, &out, &f->err));
  expect_text(f, &out, tn_slice_text(WANTED));
}

/* Nanoseconds of the time of creation are kept to the millisecond. */
static void tag__has_its_two_members(void **state) {
  fixture *f = *state;
  tn_slice file = data_file(f, "tag-with-ttl.json");
  char *wanted = tn_arena_strndup(&f->arena, (const char *)file.data, file.len);
  char *nanos = strstr(wanted, "529413724");
  tn_snapshot s;
  tn_buf out;
  assert_non_null(nanos);
  memcpy(nanos, "529000000", 9);
  tn_buf_init(&out, &f->env->mem, OUT_LIMIT);
  expect_ok(f, tn_snapshot_decode(&f->env->mem, &f->arena, file, "tag", &s, &f->err));
  expect_ok(f, tn_snapshot_encode(&s, &out, &f->err));
  expect_text(f, &out, tn_slice_text(wanted));
}

static void tag__leaves_out_what_is_nothing_in_a_time(void **state) {
  static const struct {
    int64_t ms, retained_ns;
    const char *wanted;
  } CASES[] = {
      {0, 0, "\"tagCreateTime\" : [ 1970, 1, 1, 0, 0 ],\n  \"tagTimeRetained\" : 0.0\n}"},
      {1000, 1,
       "\"tagCreateTime\" : [ 1970, 1, 1, 0, 0, 1 ],\n  \"tagTimeRetained\" : 0.000000001\n}"},
      {-1, 3600000000000,
       "\"tagCreateTime\" : [ 1969, 12, 31, 23, 59, 59, 999000000 ],\n"
       "  \"tagTimeRetained\" : 3600.000000000\n}"},
      {5, -1500000000,
       "\"tagCreateTime\" : [ 1970, 1, 1, 0, 0, 0, 5000000 ],\n"
       "  \"tagTimeRetained\" : -1.500000000\n}"},
  };
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(CASES); i++) {
    tn_snapshot s = {.has_tag_create = true,
                     .tag_create_ms = CASES[i].ms,
                     .has_tag_retained = true,
                     .tag_retained_ns = CASES[i].retained_ns};
    tn_buf out;
    tn_buf_init(&out, &f->env->mem, OUT_LIMIT);
    expect_ok(f, tn_snapshot_encode(&s, &out, &f->err));
    expect_ok(f, tn_buf_append(&out, "", 1, &f->err));
    if (strstr((const char *)out.data, CASES[i].wanted) == NULL) {
      fail_msg("%s is not in %s", CASES[i].wanted, (const char *)out.data);
    }
    tn_buf_reset(&out);
  }
}

static void consumer__is_encoded_as_java_wrote_it(void **state) {
  fixture *f = *state;
  tn_buf out;
  tn_buf_init(&out, &f->env->mem, OUT_LIMIT);
  expect_ok(f, tn_consumer_encode(3, &out, &f->err));
  expect_text(f, &out, data_file(f, "consumer.json"));
}

static void hint__is_a_number_alone(void **state) {
  fixture *f = *state;
  tn_buf out;
  tn_buf_init(&out, &f->env->mem, OUT_LIMIT);
  expect_ok(f, tn_hint_write(f->storage, "/t", "snapshot", "LATEST", 41, &f->err));
  expect_ok(f, tn_hint_write(f->storage, "/t", "snapshot", "LATEST", 42, &f->err));
  expect_ok(f, tn_storage_read_all(f->storage, "/t/snapshot/LATEST", &out, &f->err));
  expect_text(f, &out, tn_slice_text("42"));
  expect_ok(f, tn_hint_remove(f->storage, "/t", "snapshot", "LATEST", &f->err));
  expect_ok(f, tn_hint_remove(f->storage, "/t", "snapshot", "LATEST", &f->err));
  assert_false(tn_storage_exists(f->storage, "/t/snapshot/LATEST"));
}

static void schema__is_encoded_as_java_wrote_it(void **state) {
  static const char *const FILES[] = {"schema-alltypes-v3.json", "schema-evolved-v3.json",
                                      "schema-pk-v3.json"};
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(FILES); i++) {
    tn_slice file = data_file(f, FILES[i]);
    tn_schema *s = NULL;
    tn_buf out;
    tn_buf_init(&out, &f->env->mem, OUT_LIMIT);
    expect_ok(f, tn_schema_decode(f->env, file, FILES[i], &s, &f->err));
    expect_ok(f, tn_schema_encode(s, &out, &f->err));
    expect_text(f, &out, file);
    tn_schema_release(s);
  }
}

static void statistics__are_encoded_as_java_wrote_them(void **state) {
  fixture *f = *state;
  tn_slice file = data_file(f, "statistics.json");
  tn_statistics s;
  tn_buf out;
  tn_buf_init(&out, &f->env->mem, OUT_LIMIT);
  expect_ok(f, tn_statistics_decode(&f->env->mem, &f->arena, file, "stat", &s, &f->err));
  assert_int_equal(s.n_columns, 5);
  assert_int_equal(s.columns[1].null_count, 1);
  assert_int_equal(s.columns[2].distinct_count, -1);
  expect_ok(f, tn_statistics_encode(&s, &out, &f->err));
  expect_text(f, &out, file);
}

static void statistics__of_no_columns(void **state) {
  fixture *f = *state;
  tn_statistics s = {.snapshot_id = 1, .merged_record_count = -1, .merged_record_size = 0};
  tn_buf out;
  tn_buf_init(&out, &f->env->mem, OUT_LIMIT);
  expect_ok(f, tn_statistics_encode(&s, &out, &f->err));
  expect_text(f, &out,
              tn_slice_text("{\n  \"snapshotId\" : 1,\n  \"schemaId\" : 0,\n"
                            "  \"mergedRecordSize\" : 0,\n  \"colStats\" : { }\n}"));
}

static void statistics__that_are_bad_are_corrupt(void **state) {
  static const struct {
    const char *json, *message;
  } BAD[] = {
      {"{\"schemaId\":0}", "snapshotId"},
      {"{\"snapshotId\":1,\"schemaId\":0,\"colStats\":[]}", "colStats"},
      {"{\"snapshotId\":1,\"schemaId\":0,\"colStats\":{\"a\":{}}}", "colId"},
      {"{\"snapshotId\":1,\"schemaId\":0,\"colStats\":{\"a\":{\"colId\":3000000000}}}", "colId"},
      {"{\"snapshotId\":1,\"schemaId\":0,\"colStats\":{\"a\":{\"colId\":3,\"min\":{}}}}", "min"},
  };
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(BAD); i++) {
    tn_statistics s;
    expect_error(f,
                 tn_statistics_decode(&f->env->mem, &f->arena, tn_slice_text(BAD[i].json), "stat",
                                      &s, &f->err),
                 TARN_E_CORRUPT, BAD[i].message);
  }
}

static tarn_status torture(void *ctx, tarn_env *env, tarn_error *err) {
  const tn_slice *files = ctx;
  tarn_status st = TARN_OK;
  tn_schema *schema = NULL;
  tn_snapshot snapshot;
  tn_statistics statistics;
  tn_arena arena;
  tn_buf out;
  tn_arena_init(&arena, &env->mem, SIZE_MAX);
  tn_buf_init(&out, &env->mem, OUT_LIMIT);
  TN_TRY_TO(done, tn_schema_decode(env, files[0], "schema", &schema, err));
  TN_TRY_TO(done, tn_schema_encode(schema, &out, err));
  TN_TRY_TO(done, tn_snapshot_decode(&env->mem, &arena, files[1], "tag", &snapshot, err));
  TN_TRY_TO(done, tn_snapshot_encode(&snapshot, &out, err));
  TN_TRY_TO(done, tn_statistics_decode(&env->mem, &arena, files[2], "stat", &statistics, err));
  TN_TRY_TO(done, tn_statistics_encode(&statistics, &out, err));
done:
  tn_schema_release(schema);
  tn_buf_reset(&out);
  tn_arena_reset(&arena);
  return st;
}

static void encoders__survive_failing_allocations(void **state) {
  fixture *f = *state;
  tn_slice files[] = {data_file(f, "schema-alltypes-v3.json"), data_file(f, "tag-with-ttl.json"),
                      data_file(f, "statistics.json")};
  assert_true(tn_torture(torture, files, TARN_OK) > 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      MODEL_TEST(pretty__is_laid_out_as_jackson_does),
      MODEL_TEST(snapshot__is_encoded_as_java_wrote_it),
      MODEL_TEST(snapshot__has_its_members_in_javas_order),
      MODEL_TEST(tag__has_its_two_members),
      MODEL_TEST(tag__leaves_out_what_is_nothing_in_a_time),
      MODEL_TEST(consumer__is_encoded_as_java_wrote_it),
      MODEL_TEST(hint__is_a_number_alone),
      MODEL_TEST(schema__is_encoded_as_java_wrote_it),
      MODEL_TEST(statistics__are_encoded_as_java_wrote_them),
      MODEL_TEST(statistics__of_no_columns),
      MODEL_TEST(statistics__that_are_bad_are_corrupt),
      MODEL_TEST(encoders__survive_failing_allocations),
  };
  return cmocka_run_group_tests_name("write_json", tests, NULL, NULL);
}
