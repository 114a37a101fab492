/* Snapshots: their JSON, and finding the latest and earliest one whatever the hints say. */
#include "model/snapshot.h"
#include "unit/model/model_test.h"

static tn_snapshot decode(fixture *f, tn_slice json) {
  tn_snapshot s;
  expect_ok(f, tn_snapshot_decode(&f->env->mem, &f->arena, json, "snapshot-2", &s, &f->err));
  return s;
}

static void snapshot_decode__reads_what_java_wrote(void **state) {
  fixture *f = *state;
  tn_snapshot s = decode(f, data_file(f, "snapshot-pk-v3.json"));
  assert_int_equal(s.version, 3);
  assert_int_equal(s.id, 2);
  assert_int_equal(s.schema_id, 0);
  assert_string_equal(s.base_manifest_list, "manifest-list-f8e03324-75aa-4a83-97f3-1a621e32e4c4-0");
  assert_int_equal(s.base_manifest_list_size, 1134);
  assert_string_equal(s.delta_manifest_list,
                      "manifest-list-f8e03324-75aa-4a83-97f3-1a621e32e4c4-1");
  assert_string_equal(s.changelog_manifest_list,
                      "manifest-list-f8e03324-75aa-4a83-97f3-1a621e32e4c4-2");
  assert_null(s.index_manifest);
  assert_string_equal(s.commit_user, "554d1a35-c187-4552-9b03-333d834dc874");
  assert_true(s.commit_identifier == INT64_MAX);
  assert_int_equal(s.commit_kind, TN_COMMIT_APPEND);
  assert_int_equal(s.time_ms, 1795984333517);
  assert_int_equal(s.total_record_count, 10);
  assert_int_equal(s.delta_record_count, 5);
  assert_true(s.has_changelog_record_count && s.changelog_record_count == 5);
  assert_true(s.has_next_row_id && s.next_row_id == 0);
  assert_false(s.has_watermark || s.has_tag_create || s.has_tag_retained);
}

static void snapshot_decode__reads_other_kinds(void **state) {
  fixture *f = *state;
  tn_snapshot s = decode(f, data_file(f, "snapshot-analyze-v3.json"));
  assert_int_equal(s.commit_kind, TN_COMMIT_ANALYZE);
  assert_string_equal(s.statistics, "stat-1cec660a-1603-42e5-8650-8a3f4378a8c6-0");
  s = decode(f, data_file(f, "snapshot-row-tracking-v3.json"));
  assert_int_equal(s.next_row_id, 3);
  s = decode(f, data_file(f, "changelog-1.3.1.json"));
  assert_string_equal(s.index_manifest, "index-manifest-ebbfb532-687c-40ec-9950-41a1e42a16df-0");
}

#define LISTS "\"baseManifestList\":\"b\",\"deltaManifestList\":\"d\""

static void snapshot_decode__takes_old_and_strange_forms(void **state) {
  fixture *f = *state;
  /* Version 1: no counts, the identifier in quotes; a watermark of the least number; nulls. */
  tn_snapshot s = decode(
      f, tn_slice_text(
             "{\"unknown\":{},\"timeMillis\":5,\"commitKind\":\"OVERWRITE\",\"commitIdentifier\":"
             "\"9223372036854775807\",\"schemaId\":3,\"id\":9," LISTS
             ",\"changelogManifestList\":null,\"watermark\":-9223372036854775808,"
             "\"properties\":{\"a\":\"b\",\"n\":null},\"operation\":\"SOMETHING_NEW\"}"));
  assert_int_equal(s.version, 1);
  assert_true(s.commit_identifier == INT64_MAX);
  assert_int_equal(s.total_record_count, 0);
  assert_int_equal(s.delta_record_count, 0);
  assert_int_equal(s.base_manifest_list_size, -1);
  assert_null(s.changelog_manifest_list);
  assert_null(s.commit_user);
  assert_false(s.has_next_row_id || s.has_changelog_record_count);
  assert_true(s.has_watermark && s.watermark == INT64_MIN);
  assert_int_equal(s.n_properties, 1);
  assert_string_equal(s.properties[0].key, "a");
  assert_string_equal(s.properties[0].value, "b");
  assert_string_equal(s.operation, "SOMETHING_NEW");
}

#define REST "\"schemaId\":0,\"commitIdentifier\":1,\"commitKind\":\"APPEND\",\"timeMillis\":1"

static void snapshot_decode__refuses_bad_ones(void **state) {
  static const char *const CASES[][2] = {
      {"", "snapshot-2"},
      {"{\"id\":1", "snapshot-2"},
      {"[]", "snapshot-2"},
      {"{" LISTS "," REST "}", "\"id\" is missing"},
      {"{\"id\":\"x\"," LISTS "," REST "}", "\"id\" must be an integer"},
      {"{\"id\":1,\"deltaManifestList\":\"d\"," REST "}", "\"baseManifestList\" is missing"},
      {"{\"id\":1,\"baseManifestList\":7,\"deltaManifestList\":\"d\"," REST "}",
       "\"baseManifestList\" must be a text"},
      {"{\"id\":1," LISTS ",\"schemaId\":0,\"commitIdentifier\":1,\"commitKind\":\"MOVE\","
       "\"timeMillis\":1}",
       "unknown \"commitKind\": MOVE"},
      {"{\"id\":1," LISTS "," REST ",\"watermark\":[]}", "\"watermark\" must be an integer"},
      {"{\"id\":1," LISTS "," REST ",\"properties\":[]}", "\"properties\" is not an object"},
      {"{\"id\":1,\"version\":-1," LISTS "," REST "}", "impossible \"version\""},
  };
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(CASES); i++) {
    tn_snapshot s;
    expect_error(f,
                 tn_snapshot_decode(&f->env->mem, &f->arena, tn_slice_text(CASES[i][0]),
                                    "snapshot-2", &s, &f->err),
                 TARN_E_CORRUPT, CASES[i][1]);
  }
}

/* ------------------------------------------------------------------ finding */

static void put_snapshot(fixture *f, int64_t id) {
  char path[64], json[256];
  (void)snprintf(path, sizeof(path), "/t/snapshot/snapshot-%lld", (long long)id);
  (void)snprintf(json, sizeof(json), "{\"id\":%lld," LISTS "," REST "}", (long long)id);
  put_file(f, path, json);
}

static void snapshot_latest__does_not_depend_on_hints(void **state) {
  static const struct {
    const char *latest, *earliest; /* the hints; NULL: none */
  } CASES[] = {
      {"7", "5"},
      {NULL, NULL},
      {"7\n", " 5 "},
      {"6", "4"},
      {"9", "9"},
      {"", ""},
      {"garbage", "x"},
      {"-1", "0"},
      {"7.0", "5.0"},
      {"5", "3"},
      {"9223372036854775807", "9223372036854775807"},
      {"99999999999999999999", "-"},
      {"\xff\xfe", "\x00"},
  };
  for (size_t i = 0; i < TN_COUNT(CASES); i++) {
    void *own = NULL;
    fixture *f;
    int64_t id;
    assert_int_equal(fixture_setup(&own), 0);
    f = own;
    for (int64_t n = 5; n <= 7; n++) {
      put_snapshot(f, n);
    }
    put_file(f, "/t/snapshot/snapshot-8uuid.tmp", "");
    put_file(f, "/t/snapshot/.snapshot-9.uuid.tmp", "");
    if (CASES[i].latest != NULL) {
      put_file(f, "/t/snapshot/LATEST", CASES[i].latest);
      put_file(f, "/t/snapshot/EARLIEST", CASES[i].earliest);
    }
    expect_ok(f, tn_snapshot_latest_id(f->env, f->storage, "/t", &id, &f->err));
    assert_int_equal(id, 7);
    expect_ok(f, tn_snapshot_earliest_id(f->env, f->storage, "/t", &id, &f->err));
    assert_int_equal(id, 5);
    fixture_teardown(&own);
  }
  (void)state;
}

static void snapshot_latest__is_none_without_snapshots(void **state) {
  fixture *f = *state;
  int64_t id = 7;
  expect_ok(f, tn_snapshot_latest_id(f->env, f->storage, "/t", &id, &f->err));
  assert_int_equal(id, 0);
  put_file(f, "/t/snapshot/LATEST", "5");
  put_file(f, "/t/snapshot/EARLIEST", "5");
  expect_ok(f, tn_snapshot_latest_id(f->env, f->storage, "/t", &id, &f->err));
  assert_int_equal(id, 0);
  expect_ok(f, tn_snapshot_earliest_id(f->env, f->storage, "/t", &id, &f->err));
  assert_int_equal(id, 0);
}

static void snapshot_latest__needs_no_listing_with_a_good_hint(void **state) {
  fixture *f = *state;
  tarn_env_stats before = TARN_ENV_STATS_INIT, after = TARN_ENV_STATS_INIT;
  tn_storage_fault fault = {0};
  tn_storage *faulty;
  int64_t id;
  put_snapshot(f, 1);
  put_file(f, "/t/snapshot/LATEST", "1");
  tarn_env_stats_get(f->env, &before);
  expect_ok(f, tn_storage_faulty(f->storage, &fault, &faulty, &f->err));
  expect_ok(f, tn_snapshot_latest_id(f->env, faulty, "/t", &id, &f->err));
  assert_int_equal(id, 1);
  tarn_env_stats_get(f->env, &after);
  /* The hint is opened and read, two names are looked at. */
  assert_in_range(atomic_load(&fault.calls), 1, 4);
  tn_storage_release(faulty);
}

static void changelog__has_hints_of_its_own(void **state) {
  fixture *f = *state;
  int64_t id;
  tn_snapshot s;
  put_file(f, "/t/changelog/changelog-3", "{\"id\":3," LISTS "," REST "}");
  put_file(f, "/t/changelog/changelog-4", "{\"id\":4," LISTS "," REST "}");
  put_file(f, "/t/changelog/LATEST", "3");
  expect_ok(f, tn_changelog_latest_id(f->env, f->storage, "/t", &id, &f->err));
  assert_int_equal(id, 4);
  expect_ok(f, tn_changelog_earliest_id(f->env, f->storage, "/t", &id, &f->err));
  assert_int_equal(id, 3);
  expect_ok(f, tn_changelog_read(f->env, f->storage, "/t", 4, &f->arena, &s, &f->err));
  assert_int_equal(s.id, 4);
}

static void snapshot_ids__are_sorted(void **state) {
  fixture *f = *state;
  int64_t *ids;
  int32_t n;
  expect_ok(f, tn_snapshot_ids(f->env, f->storage, "/t", "snapshot", &f->arena, &ids, &n, &f->err));
  assert_int_equal(n, 0);
  put_snapshot(f, 10);
  put_snapshot(f, 9);
  put_snapshot(f, 100);
  expect_ok(f, tn_snapshot_ids(f->env, f->storage, "/t", "snapshot", &f->arena, &ids, &n, &f->err));
  assert_int_equal(n, 3);
  assert_int_equal(ids[0], 9);
  assert_int_equal(ids[1], 10);
  assert_int_equal(ids[2], 100);
}

/* ------------------------------------------------------------------ reading */

static void snapshot_read__tells_an_expired_one_from_a_bad_one(void **state) {
  fixture *f = *state;
  tn_snapshot s;
  expect_error(f, tn_snapshot_read(f->env, f->storage, "/t", 3, &f->arena, &s, &f->err),
               TARN_E_NOT_FOUND, "/t/snapshot/snapshot-3");
  /* JSON that is whole but no snapshot is not waited for. */
  put_file(f, "/t/snapshot/snapshot-3", "{}");
  expect_error(f, tn_snapshot_read(f->env, f->storage, "/t", 3, &f->arena, &s, &f->err),
               TARN_E_CORRUPT, "/t/snapshot/snapshot-3: \"id\" is missing");
}

/* A storage whose writer is slow: the file is torn when it is opened for the first times. */
typedef struct slow_storage {
  tn_storage base;
  tn_storage *inner;
  int opens, torn;
  const char *path, *whole;
} slow_storage;

static tarn_status slow_open(tn_storage *storage, const char *path, tn_file **out,
                             tarn_error *err) {
  slow_storage *s = (slow_storage *)storage;
  if (s->opens++ == s->torn) {
    TN_TRY(tn_storage_memory_put(s->inner, s->path, tn_slice_text(s->whole), err));
  }
  return tn_storage_open(s->inner, path, out, err);
}

static void slow_free(tn_storage *storage) {
  (void)storage;
}

static void snapshot_read__waits_for_a_torn_file(void **state) {
  static const tn_storage_ops OPS = {.name = "slow", .free = slow_free, .open = slow_open};
  static const char *const TORN[] = {"", "{\"id\":4," LISTS};
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(TORN); i++) {
    slow_storage slow = {.base = {.ops = &OPS, .env = f->env},
                         .inner = f->storage,
                         .torn = 2,
                         .path = "/t/snapshot/snapshot-4",
                         .whole = "{\"id\":4," LISTS "," REST "}"};
    tn_snapshot s;
    atomic_init(&slow.base.refs, 1);
    put_file(f, slow.path, TORN[i]);
    expect_ok(f, tn_snapshot_read(f->env, &slow.base, "/t", 4, &f->arena, &s, &f->err));
    assert_int_equal(s.id, 4);
    assert_int_equal(slow.opens, 3);
  }
}

static void snapshot_read__gives_up_on_a_file_that_stays_torn(void **state) {
  fixture *f = *state;
  tn_snapshot s;
  put_file(f, "/t/snapshot/snapshot-3", "");
  expect_error(f, tn_snapshot_read(f->env, f->storage, "/t", 3, &f->arena, &s, &f->err),
               TARN_E_CORRUPT, "/t/snapshot/snapshot-3");
}

static void snapshot_decode__survives_damage_of_every_byte(void **state) {
  fixture *f = *state;
  tn_slice json = data_file(f, "tag-with-ttl.json");
  uint8_t *bytes = (uint8_t *)(uintptr_t)json.data;
  for (size_t i = 0; i < json.len; i++) {
    for (int bit = 0; bit < 8; bit++) {
      tn_snapshot s;
      tn_arena arena;
      tarn_status st;
      tn_arena_init(&arena, &f->env->mem, SIZE_MAX);
      bytes[i] ^= (uint8_t)(1u << bit);
      st = tn_snapshot_decode(&f->env->mem, &arena, json, "f", &s, &f->err);
      assert_true(st == TARN_OK || st == TARN_E_CORRUPT);
      bytes[i] ^= (uint8_t)(1u << bit);
      tn_arena_reset(&arena);
    }
  }
}

static tarn_status decode_in_need(void *ctx, tarn_env *env, tarn_error *err) {
  tn_snapshot s;
  tn_arena arena;
  tarn_status st;
  tn_arena_init(&arena, &env->mem, SIZE_MAX);
  st = tn_snapshot_decode(&env->mem, &arena, *(tn_slice *)ctx, "f", &s, err);
  tn_arena_reset(&arena);
  return st;
}

static tarn_status find_in_need(void *ctx, tarn_env *env, tarn_error *err) {
  tarn_status st;
  tn_storage *storage = NULL;
  tn_snapshot s;
  tn_arena arena;
  int64_t id;
  (void)ctx;
  tn_arena_init(&arena, &env->mem, SIZE_MAX);
  TN_TRY_TO(done, tn_storage_memory(env, &storage, err));
  TN_TRY_TO(done, tn_storage_memory_put(storage, "/t/snapshot/snapshot-1",
                                        tn_slice_text("{\"id\":1," LISTS "," REST "}"), err));
  TN_TRY_TO(done, tn_snapshot_latest_id(env, storage, "/t", &id, err));
  TN_TRY_TO(done, tn_snapshot_read(env, storage, "/t", id, &arena, &s, err));
done:
  tn_arena_reset(&arena);
  tn_storage_release(storage);
  return st;
}

static void snapshot__survives_any_failed_allocation(void **state) {
  fixture *f = *state;
  tn_slice json = data_file(f, "snapshot-pk-v3.json");
  assert_true(tn_torture(decode_in_need, &json, TARN_OK) > 1);
  assert_true(tn_torture(find_in_need, NULL, TARN_OK) > 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      MODEL_TEST(snapshot_decode__reads_what_java_wrote),
      MODEL_TEST(snapshot_decode__reads_other_kinds),
      MODEL_TEST(snapshot_decode__takes_old_and_strange_forms),
      MODEL_TEST(snapshot_decode__refuses_bad_ones),
      MODEL_TEST(snapshot_latest__does_not_depend_on_hints),
      MODEL_TEST(snapshot_latest__is_none_without_snapshots),
      MODEL_TEST(snapshot_latest__needs_no_listing_with_a_good_hint),
      MODEL_TEST(changelog__has_hints_of_its_own),
      MODEL_TEST(snapshot_ids__are_sorted),
      MODEL_TEST(snapshot_read__tells_an_expired_one_from_a_bad_one),
      MODEL_TEST(snapshot_read__waits_for_a_torn_file),
      MODEL_TEST(snapshot_read__gives_up_on_a_file_that_stays_torn),
      MODEL_TEST(snapshot_decode__survives_damage_of_every_byte),
      MODEL_TEST(snapshot__survives_any_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
