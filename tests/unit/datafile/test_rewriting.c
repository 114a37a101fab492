/* Data files that Java wrote (data/make_tables.py), written once more: the same metadata, the same
 * indexes. With arguments, the tables in these folders instead. */
#include "base/bytes.h"
#include "rewriting.h"
#include "support/files.h"
#include "support/test.h"
#include "support/torture.h"

static char **given;
static int n_given;

/* Put the next file of the bundle; the name of its table into `table`. */
static size_t put_file(tn_storage *storage, const uint8_t *bytes, size_t at, char *table,
                       size_t size) {
  uint32_t n_name = tn_load_be32(bytes + at), n = tn_load_be32(bytes + at + 4);
  char name[512];
  const char *slash;
  tarn_error err;
  at += 8;
  assert_true(n_name < sizeof(name));
  snprintf(name, sizeof(name), "%.*s", (int)n_name, (const char *)bytes + at);
  at += n_name;
  assert_works(tn_storage_memory_put(storage, name, tn_slice_of(bytes + at, n), &err), err);
  slash = strchr(strchr(name + 1, '/') + 1, '/'); /* "/case/table/..." */
  snprintf(table, size, "%.*s", (int)(slash - name), name);
  return at + n;
}

static void check_bundle(tarn_env *env, tn_storage *storage, rewriting *r) {
  char *path = tn_test_path(TARN_SOURCE_DIR, "tests/unit/datafile/data/java_tables.bin");
  char table[256] = "", last[256] = "";
  size_t n, at = 0;
  uint8_t *bytes = tn_test_read_file(path, &n);
  while (at < n) {
    size_t next = put_file(storage, bytes, at, table, sizeof(table));
    if (strcmp(table, last) != 0) { /* the last one is whole */
      if (last[0] != '\0') {
        rewrite_table(env, storage, last, r);
      }
      snprintf(last, sizeof(last), "%s", table);
    }
    at = next;
  }
  rewrite_table(env, storage, last, r);
  free(bytes);
  free(path);
}

static void rewriting__gives_the_metadata_of_java(void **state) {
  tarn_env *env = tn_test_env(1, 0);
  tn_storage *storage;
  tarn_error err;
  rewriting r = {0};
  (void)state;
  if (n_given == 0) {
    assert_works(tn_storage_memory(env, &storage, &err), err);
    check_bundle(env, storage, &r);
    assert_true(r.n_files > 70);
    assert_int_equal(r.n_different, 0);
  } else {
    assert_works(tn_storage_local(env, &storage, &err), err);
    for (int i = 0; i < n_given; i++) {
      r = (rewriting){.tells = true};
      rewrite_table(env, storage, given[i], &r);
      printf("%s: %d files, %d left out, %d different\n", given[i], r.n_files, r.n_left_out,
             r.n_different);
    }
  }
  tn_storage_release(storage);
  tarn_env_free(env);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rewriting__gives_the_metadata_of_java),
  };
  given = argv + 1;
  n_given = argc - 1;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
