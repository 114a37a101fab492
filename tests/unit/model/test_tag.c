/* Tags, branches and consumers. */
#include "model/snapshot.h"
#include "unit/model/model_test.h"

#define HEAD                                                                         \
  "{\"id\":1,\"schemaId\":0,\"baseManifestList\":\"b\",\"deltaManifestList\":\"d\"," \
  "\"commitIdentifier\":1,\"commitKind\":\"APPEND\",\"timeMillis\":1"

static tarn_status decode(fixture *f, const char *json, tn_snapshot *out) {
  return tn_snapshot_decode(&f->env->mem, &f->arena, tn_slice_text(json), "tag-x", out, &f->err);
}

static void tag__has_times_as_java_writes_them(void **state) {
  fixture *f = *state;
  tn_snapshot s;
  expect_ok(f, tn_snapshot_decode(&f->env->mem, &f->arena, data_file(f, "tag-with-ttl.json"),
                                  "tag-x", &s, &f->err));
  assert_true(s.has_tag_create && s.has_tag_retained);
  assert_int_equal(s.tag_create_ms, 1795984333529); /* 2026-11-29T20:32:13.529413724 */
  assert_int_equal(s.tag_retained_ns, 90000ll * 1000000000);
}

static void tag__has_times_of_any_form(void **state) {
  static const struct {
    const char *members;
    int64_t create_ms, retained_ns; /* -1: absent */
  } CASES[] = {
      {",\"tagCreateTime\":[1970,1,2,3,4]", 97440000, -1},
      {",\"tagCreateTime\":[1970,1,1,0,0,1]", 1000, -1},
      {",\"tagCreateTime\":\"1970-01-01T00:01\"", 60000, -1},
      {",\"tagCreateTime\":\"1970-01-01T00:00:02\"", 2000, -1},
      {",\"tagCreateTime\":\"1970-01-01T00:00:02.5\"", 2500, -1},
      {",\"tagCreateTime\":\"2026-11-29T20:32:13.529413724\"", 1795984333529, -1},
      {",\"tagCreateTime\":null,\"tagTimeRetained\":1.5", -1, 1500000000},
      {",\"tagTimeRetained\":7", -1, 7000000000},
      {",\"tagTimeRetained\":\"PT25H\"", -1, 90000ll * 1000000000},
      {",\"tagTimeRetained\":\"P1DT1H1M1.25S\"", -1, 90061250000000},
      {",\"tagTimeRetained\":\"PT-1M\"", -1, -60000000000},
      {"", -1, -1},
  };
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(CASES); i++) {
    char json[512];
    tn_snapshot s;
    (void)snprintf(json, sizeof(json), HEAD "%s}", CASES[i].members);
    expect_ok(f, decode(f, json, &s));
    assert_int_equal(s.has_tag_create ? s.tag_create_ms : -1, CASES[i].create_ms);
    assert_int_equal(s.has_tag_retained ? s.tag_retained_ns : -1, CASES[i].retained_ns);
  }
}

static void tag__refuses_times_that_are_none(void **state) {
  static const char *const CASES[][2] = {
      {"\"tagCreateTime\":[1970,1]", "\"tagCreateTime\" is not a date and time"},
      {"\"tagCreateTime\":[1970,13,1]", "\"tagCreateTime\""},
      {"\"tagCreateTime\":[1970,1,1,24]", "\"tagCreateTime\""},
      {"\"tagCreateTime\":[1970,1,1,0,0,0,0,0]", "\"tagCreateTime\""},
      {"\"tagCreateTime\":[1970,\"x\",1]", "\"tagCreateTime\""},
      {"\"tagCreateTime\":\"1970-01-01\"", "\"tagCreateTime\""},
      {"\"tagCreateTime\":\"1970-01-01 00:00\"", "\"tagCreateTime\""},
      {"\"tagCreateTime\":12", "\"tagCreateTime\""},
      {"\"tagTimeRetained\":\"25 h\"", "\"tagTimeRetained\" is not a duration"},
      {"\"tagTimeRetained\":\"PT\"", "\"tagTimeRetained\""},
      {"\"tagTimeRetained\":\"PT1M1H\"", "\"tagTimeRetained\""},
      {"\"tagTimeRetained\":\"P1H\"", "\"tagTimeRetained\""},
      {"\"tagTimeRetained\":\"PT999999999999999999H\"", "\"tagTimeRetained\""},
      {"\"tagTimeRetained\":1e300", "\"tagTimeRetained\""},
      {"\"tagTimeRetained\":[]", "\"tagTimeRetained\""},
  };
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(CASES); i++) {
    char json[512];
    tn_snapshot s;
    (void)snprintf(json, sizeof(json), HEAD ",%s}", CASES[i][0]);
    expect_error(f, decode(f, json, &s), TARN_E_CORRUPT, CASES[i][1]);
  }
}

static void tag_names__are_sorted(void **state) {
  fixture *f = *state;
  const char **names;
  int32_t n;
  expect_ok(f, tn_tag_names(f->env, f->storage, "/t", &f->arena, &names, &n, &f->err));
  assert_int_equal(n, 0);
  put_file(f, "/t/tag/tag-b", HEAD "}");
  put_file(f, "/t/tag/tag-2024-01-01 12", HEAD "}");
  put_file(f, "/t/tag/tag-a", HEAD "}");
  put_file(f, "/t/tag/.tag-c.uuid.tmp", "");
  put_file(f, "/t/tag/tag-", "");
  expect_ok(f, tn_tag_names(f->env, f->storage, "/t", &f->arena, &names, &n, &f->err));
  assert_int_equal(n, 3);
  assert_string_equal(names[0], "2024-01-01 12");
  assert_string_equal(names[1], "a");
  assert_string_equal(names[2], "b");
}

static void tag_read__tells_which_tags_there_are(void **state) {
  static const char *const ABSENT[] = {"x", "", "../tag/tag-a", "a/b"};
  fixture *f = *state;
  tn_snapshot s;
  expect_error(f, tn_tag_read(f->env, f->storage, "/t", "x", &f->arena, &s, &f->err),
               TARN_E_NOT_FOUND, "tag 'x' does not exist; the table has no tags");
  put_file(f, "/t/tag/tag-a", HEAD "}");
  put_file(f, "/t/tag/tag-b", HEAD "}");
  for (size_t i = 0; i < TN_COUNT(ABSENT); i++) {
    expect_error(f, tn_tag_read(f->env, f->storage, "/t", ABSENT[i], &f->arena, &s, &f->err),
                 TARN_E_NOT_FOUND, "does not exist; the tags are a, b");
  }
  expect_ok(f, tn_tag_read(f->env, f->storage, "/t", "a", &f->arena, &s, &f->err));
  assert_int_equal(s.id, 1);
}

static void branch_list__finds_folders(void **state) {
  fixture *f = *state;
  tn_branch *branches;
  int32_t n;
  expect_ok(f, tn_branch_list(f->env, f->storage, "/t", &f->arena, &branches, &n, &f->err));
  assert_int_equal(n, 0);
  put_file(f, "/t/branch/branch-dev/schema/schema-0", "");
  put_file(f, "/t/branch/branch-b2/schema/schema-0", "");
  put_file(f, "/t/branch/branch-file", "");
  put_file(f, "/t/branch/other/x", "");
  expect_ok(f, tn_branch_list(f->env, f->storage, "/t", &f->arena, &branches, &n, &f->err));
  assert_int_equal(n, 2);
  assert_string_equal(branches[0].name, "b2");
  assert_string_equal(branches[1].name, "dev");
}

static void consumer_list__reads_progress(void **state) {
  fixture *f = *state;
  tn_consumer *consumers;
  int32_t n;
  expect_ok(f, tn_consumer_list(f->env, f->storage, "/t", &f->arena, &consumers, &n, &f->err));
  assert_int_equal(n, 0);
  put_bytes(f, "/t/consumer/consumer-z", data_file(f, "consumer.json"));
  put_file(f, "/t/consumer/consumer-a", "{\"nextSnapshot\":9}");
  expect_ok(f, tn_consumer_list(f->env, f->storage, "/t", &f->arena, &consumers, &n, &f->err));
  assert_int_equal(n, 2);
  assert_string_equal(consumers[0].id, "a");
  assert_int_equal(consumers[0].next_snapshot, 9);
  assert_string_equal(consumers[1].id, "z");
  assert_int_equal(consumers[1].next_snapshot, 3);
}

static void consumer_list__tells_of_a_torn_file(void **state) {
  static const char *const TORN[] = {"{\"next"};
  fixture *f = *state;
  tn_consumer *consumers;
  int32_t n;
  put_file(f, "/t/consumer/consumer-x", "{}");
  expect_error(f, tn_consumer_list(f->env, f->storage, "/t", &f->arena, &consumers, &n, &f->err),
               TARN_E_CORRUPT, "/t/consumer/consumer-x: \"nextSnapshot\" is missing");
  for (size_t i = 0; i < TN_COUNT(TORN); i++) {
    put_file(f, "/t/consumer/consumer-x", TORN[i]);
    expect_error(f, tn_consumer_list(f->env, f->storage, "/t", &f->arena, &consumers, &n, &f->err),
                 TARN_E_CORRUPT, "/t/consumer/consumer-x");
  }
}

static tarn_status list_in_need(void *ctx, tarn_env *env, tarn_error *err) {
  tarn_status st;
  tn_storage *storage = NULL;
  tn_arena arena;
  const char **names;
  tn_branch *branches;
  tn_consumer *consumers;
  tn_snapshot s;
  int32_t n;
  (void)ctx;
  tn_arena_init(&arena, &env->mem, SIZE_MAX);
  TN_TRY_TO(done, tn_storage_memory(env, &storage, err));
  TN_TRY_TO(done, tn_storage_memory_put(storage, "/t/tag/tag-a", tn_slice_text(HEAD "}"), err));
  TN_TRY_TO(done, tn_storage_memory_put(storage, "/t/branch/branch-b/x", tn_slice_text(""), err));
  TN_TRY_TO(done, tn_storage_memory_put(storage, "/t/consumer/consumer-c",
                                        tn_slice_text("{\"nextSnapshot\":1}"), err));
  TN_TRY_TO(done, tn_tag_names(env, storage, "/t", &arena, &names, &n, err));
  TN_TRY_TO(done, tn_tag_read(env, storage, "/t", "a", &arena, &s, err));
  TN_TRY_TO(done, tn_branch_list(env, storage, "/t", &arena, &branches, &n, err));
  TN_TRY_TO(done, tn_consumer_list(env, storage, "/t", &arena, &consumers, &n, err));
done:
  tn_arena_reset(&arena);
  tn_storage_release(storage);
  return st;
}

static void listings__survive_any_failed_allocation(void **state) {
  assert_true(tn_torture(list_in_need, NULL, TARN_OK) > 5);
  (void)state;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      MODEL_TEST(tag__has_times_as_java_writes_them),
      MODEL_TEST(tag__has_times_of_any_form),
      MODEL_TEST(tag__refuses_times_that_are_none),
      MODEL_TEST(tag_names__are_sorted),
      MODEL_TEST(tag_read__tells_which_tags_there_are),
      MODEL_TEST(branch_list__finds_folders),
      MODEL_TEST(consumer_list__reads_progress),
      MODEL_TEST(consumer_list__tells_of_a_torn_file),
      MODEL_TEST(listings__survive_any_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
