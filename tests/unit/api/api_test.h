/* api_test.h - a table "db.t" in a folder of its own, through the public calls alone. */
#ifndef TN_TESTS_API_API_TEST_H
#define TN_TESTS_API_API_TEST_H

#include "support/files.h"
#include "support/test.h"
#include "tarn/tarn.h"

typedef struct fixture {
  char *folder;
  tarn_env *env;
  tarn_catalog *catalog;
  tarn_table *table;
  tarn_error err;
} fixture;

static inline void open_table(fixture *f) {
  tarn_table_free(f->table);
  assert_works(tarn_table_open(f->env, f->catalog, "db.t", NULL, 0, &f->table, &f->err), f->err);
}

/* schema: as tarn_table_create() takes it. */
static inline void begin_with(fixture *f, const char *schema) {
  memset(f, 0, sizeof(*f));
  f->folder = tn_test_temp_dir();
  assert_works(tarn_env_create(NULL, &f->env, &f->err), f->err);
  assert_works(tarn_catalog_open(f->env, f->folder, &f->catalog, &f->err), f->err);
  assert_works(tarn_database_create(f->catalog, "db", &f->err), f->err);
  assert_works(tarn_table_create(f->catalog, "db.t", schema, &f->err), f->err);
  open_table(f);
}

static inline void end(fixture *f) {
  tarn_table_free(f->table);
  tarn_catalog_free(f->catalog);
  tarn_env_free(f->env);
  tn_test_temp_dir_remove(f->folder);
}

/* Release functions of Arrow structs in the test's own memory. */
static inline void keep_schema(struct ArrowSchema *schema) {
  (void)schema;
}

static inline void keep_array(struct ArrowArray *array) {
  (void)array;
}

#endif
