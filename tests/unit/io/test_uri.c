/* test_uri.c - local paths, plain or as file: URIs; what is refused. */
#include "io/storage.h"
#include "support/test.h"
#include "support/torture.h"

typedef struct fixture {
  tarn_env *env;
  tn_arena arena;
} fixture;

static fixture f;

static int set_up(void **state) {
  (void)state;
  f.env = tn_test_env(1, 0);
  tn_arena_init(&f.arena, &f.env->mem, SIZE_MAX);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  tn_arena_reset(&f.arena);
  tarn_env_free(f.env);
  return 0;
}

static void plain__takes_local_paths(void **state) {
  static const struct {
    const char *path, *plain;
  } cases[] = {
      {"/a/b", "/a/b"},
      {"file:/a/b", "/a/b"},
      {"file:///a/b", "/a/b"},
      {"file://localhost/a/b", "/a/b"},
      {"/a//b///c/", "/a/b/c"},
      {"//a/b", "/a/b"},
      {"file:////a/b//", "/a/b"},
      {"/", "/"},
      {"file:/", "/"},
      {"a/b", "a/b"},
      {"a", "a"},
      {"./a/", "./a"},
      {"/a/dt=10:00/b", "/a/dt=10:00/b"},
      {"a/b:c", "a/b:c"},
      {"/a%20b/c d", "/a%20b/c d"}, /* nothing is decoded */
      {"1:a", "1:a"},               /* a scheme starts with a letter */
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    const char *plain = NULL;
    tarn_error err;
    assert_works(tn_path_plain(&f.arena, cases[i].path, &plain, &err), err);
    assert_string_equal(plain, cases[i].plain);
  }
}

static void plain__refuses_what_is_not_local(void **state) {
  static const struct {
    const char *path;
    tarn_status status;
    const char *part;
  } cases[] = {
      {"", TARN_E_INVALID, "empty"},
      {"file:", TARN_E_INVALID, "absolute"},
      {"file:a/b", TARN_E_INVALID, "absolute"},
      {"file://", TARN_E_INVALID, "absolute"},
      {"file://host/a", TARN_E_INVALID, "host"},
      {"s3://bucket/a", TARN_E_UNSUPPORTED, "\"s3\""},
      {"s3a://bucket/a", TARN_E_UNSUPPORTED, "\"s3a\""},
      {"hdfs:/a", TARN_E_UNSUPPORTED, "\"hdfs\""},
      {"oss://b/x", TARN_E_UNSUPPORTED, "\"oss\""},
      {"files:/a", TARN_E_UNSUPPORTED, "\"files\""},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    const char *plain = "x";
    tn_storage *storage = (tn_storage *)1;
    tarn_error err;
    assert_int_equal(tn_path_plain(&f.arena, cases[i].path, &plain, &err), cases[i].status);
    assert_null(plain);
    assert_contains(err.message, cases[i].part);
    assert_int_equal(tn_storage_for_uri(f.env, &f.arena, cases[i].path, &storage, &plain, &err),
                     cases[i].status);
    assert_null(storage);
  }
}

static void for_uri__gives_the_local_file_system(void **state) {
  tn_storage *storage = NULL;
  const char *path = NULL;
  tarn_error err;
  (void)state;
  assert_works(tn_storage_for_uri(f.env, &f.arena, "file:/tmp//x", &storage, &path, &err), err);
  assert_string_equal(path, "/tmp/x");
  assert_string_equal(storage->ops->name, "local");
  tn_storage_release(storage);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(plain__takes_local_paths),
      TEST(plain__refuses_what_is_not_local),
      TEST(for_uri__gives_the_local_file_system),
  };
  return cmocka_run_group_tests_name("uri", tests, NULL, NULL);
}
