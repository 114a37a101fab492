/* both_storages.h - a local and an in-memory storage with the same folder, for each test anew.
 * Include once in a program.
 */
#ifndef TN_TESTS_UNIT_IO_BOTH_STORAGES_H
#define TN_TESTS_UNIT_IO_BOTH_STORAGES_H

#include "io/storage.h"

#include "support/files.h"
#include "support/test.h"
#include "support/torture.h"

typedef struct fixture {
  tarn_env *env;
  char *directory;
  tn_storage *local, *memory;
} fixture;

static fixture f;

static int set_up(void **state) {
  tarn_error err;
  (void)state;
  f.env = tn_test_env(1, 0);
  f.directory = tn_test_temp_dir();
  assert_works(tn_storage_local(f.env, &f.local, &err), err);
  assert_works(tn_storage_memory(f.env, &f.memory, &err), err);
  assert_works(tn_storage_make_folder(f.memory, f.directory, &err), err);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  tn_storage_release(f.local);
  tn_storage_release(f.memory);
  assert_int_equal(atomic_load(&f.env->mem.reserved_bytes), 0);
  tarn_env_free(f.env);
  tn_test_temp_dir_remove(f.directory);
  return 0;
}

#define FOR_BOTH(storage)                              \
  for (tn_storage *storage = f.local; storage != NULL; \
       storage = storage == f.local ? f.memory : NULL)

#endif
