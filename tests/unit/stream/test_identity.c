/* test_identity.c - states find their table, however its path is written, and no other one. */
#include "maintain/identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream/state.h"
#include "stream_maker.h"
#include "support/files.h"
#include "support/torture.h"

#define LIMIT ((size_t)1 << 20)

typedef struct place {
  tarn_env *env;
  tn_storage *storage;
  char *folder, *back; /* of the tables; where the process was before it went there */
} place;

static void make_table(place *p, const char *path, int64_t made_ms) {
  char json[512], name[64], *whole;
  int n =
      snprintf(json, sizeof(json),
               "{\"version\":3,\"id\":0,\"fields\":[{\"id\":0,\"name\":\"k\",\"type\":\"INT NOT "
               "NULL\"}],\"highestFieldId\":0,\"partitionKeys\":[],\"primaryKeys\":[\"k\"],"
               "\"options\":{\"bucket\":\"1\"},\"timeMillis\":%lld}",
               (long long)made_ms);
  (void)snprintf(name, sizeof(name), "%s/schema/schema-0", path);
  whole = tn_test_path(p->folder, name);
  OK(tn_storage_publish(p->storage, whole, tn_slice_of(json, (size_t)n), err));
  free(whole);
}

/* wh/db.db/t of 7, a copy of it, one of another age, one of another name; and a link to the first
 * one's folder. */
static void begin(place *p) {
  char *target, *link;
  p->env = tn_test_env(1, 0);
  OK(tn_storage_local(p->env, &p->storage, err));
  p->folder = tn_test_temp_dir();
  make_table(p, "wh/db.db/t", 7);
  make_table(p, "copy/db.db/t", 7);
  make_table(p, "young/db.db/t", 8);
  make_table(p, "wh/db.db/u", 7);
  target = tn_test_path(p->folder, "wh/db.db");
  link = tn_test_path(p->folder, "link");
  assert_int_equal(symlink(target, link), 0);
  free(target);
  free(link);
  p->back = getcwd(NULL, 0);
  assert_non_null(p->back);
  assert_int_equal(chdir(p->folder), 0);
}

static void end(place *p) {
  assert_int_equal(chdir(p->back), 0);
  free(p->back);
  tn_storage_release(p->storage);
  tarn_env_free(p->env);
  tn_test_temp_dir_remove(p->folder);
}

static tn_table *open_at(place *p, const char *path) {
  tn_schema *schema = NULL;
  tn_table *table = NULL;
  OK(tn_schema_load(p->env, p->storage, path, 0, &schema, err));
  OK(tn_table_create(p->env, p->storage, "db.t", path, "main", path, schema, NULL, 0, &table, err));
  tn_schema_release(schema);
  return table;
}

static tn_buf identity_of(tn_table *table) {
  tn_buf out;
  tn_buf_init(&out, &table->env->mem, LIMIT);
  OK(tn_table_identity(table, &out, err));
  return out;
}

static void identity__is_the_same_for_every_spelling(void **state) {
  static const struct {
    const char *path;
    bool is_same;
  } cases[] = {
      {"wh/db.db/t", true},     {"wh/db.db/t/", true},    {"./wh/../wh//db.db/t", true},
      {"link/t", true},         {"copy/../link/t", true}, {"copy/db.db/t", false},
      {"young/db.db/t", false}, {"wh/db.db/u", false},
  };
  place p;
  char *whole;
  tn_table *table;
  tn_buf wanted;
  (void)state;
  begin(&p);
  whole = tn_test_path(p.folder, "wh/db.db/t");
  table = open_at(&p, whole);
  wanted = identity_of(table);
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    tn_table *other = open_at(&p, cases[i].path);
    tn_buf name = identity_of(other);
    tarn_error why = {0};
    if ((strcmp((char *)wanted.data, (char *)name.data) == 0) != cases[i].is_same) {
      fail_msg("%s: %s, and %s", cases[i].path, (char *)name.data, (char *)wanted.data);
    }
    assert_int_equal(tn_table_identity_check(other, (char *)name.data, (char *)wanted.data, &why),
                     cases[i].is_same ? TARN_OK : TARN_E_INVALID);
    if (!cases[i].is_same) {
      assert_non_null(strstr(why.message, "the state is of another table: of /"));
    }
    tn_buf_reset(&name);
    tn_table_release(other);
  }
  tn_buf_reset(&wanted);
  tn_table_release(table);
  free(whole);
  end(&p);
}

/* What states of before said. %s: the folder. */
static void identity__of_before_is_known(void **state) {
  static const struct {
    const char *found;
    bool is_same;
  } cases[] = {
      // Streams: the path as it was given, maybe somewhere else.
      {"%s/wh/db.db/t@7", true},
      {"%s/link/t@7", true},
      {"wh/db.db/t@7", true},
      {"./link/t/@7", true},
      {"db.db/t@7", true},
      {"t@7", true},
      {"t@8", false},
      {"u@7", false},
      {"db.db/u@7", false},
      {"copy/db.db/t@7", false},
      {"%s/copy/db.db/t@7", false},
      {"/gone/db.db/t@7", false},
      {"%s/wh/db.db/t@8", false},
      // Sinks: a name, maybe without a database, and a branch.
      {"db.t/main@7", true},
      {"t/main@7", true},
      {"db.t/b@7", false},
      {"db.u/main@7", false},
      {"db.t/main@8", false},
      {"", false},
      {"@7", false},
      {"/main@7", false},
      {"7", false},
  };
  place p;
  tn_table *table;
  tn_buf own;
  (void)state;
  begin(&p);
  table = open_at(&p, "wh/db.db/t");
  own = identity_of(table);
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    const char *mark = strstr(cases[i].found, "%s");
    char found[512];
    bool is_same;
    (void)snprintf(found, sizeof(found), "%s%s", mark != NULL ? p.folder : "",
                   mark != NULL ? mark + 2 : cases[i].found);
    OK(tn_table_identity_is(table, (char *)own.data, found, &is_same, err));
    if (is_same != cases[i].is_same) {
      fail_msg("%s: %d", found, is_same);
    }
  }
  tn_buf_reset(&own);
  tn_table_release(table);
  end(&p);
}

/* A state of a table that was opened by one path goes on by another one. */
static void identity__lets_a_state_go_on(void **state) {
  static const char *const paths[] = {"link/t", "wh/db.db/t/", "copy/db.db/t"};
  place p;
  tn_table *table;
  tn_buf bytes;
  (void)state;
  begin(&p);
  table = open_at(&p, "wh/db.db/t");
  tn_buf_init(&bytes, &p.env->mem, LIMIT);
  for (size_t i = 0; i < 3; i++) {
    tn_table *other = open_at(&p, paths[i]);
    tn_enumerator_options options = {.scan = {.table = table}, .n_readers = 1};
    tn_enumerator *e;
    tarn_error why = {0};
    int64_t rows = 0;
    OK(tn_enumerator_create(&options, &e, err));
    bytes.len = 0;
    OK(tn_stream_state_save(table, e, NULL, 0, 1, 42, &bytes, err));
    tn_enumerator_free(e);
    options.scan.table = other;
    OK(tn_enumerator_create(&options, &e, err));
    assert_int_equal(tn_stream_state_load(other, tn_buf_slice(&bytes), e, &rows, &why),
                     i < 2 ? TARN_OK : TARN_E_INVALID);
    assert_int_equal(rows, i < 2 ? 42 : 0);
    tn_enumerator_free(e);
    tn_table_release(other);
  }
  tn_buf_reset(&bytes);
  tn_table_release(table);
  end(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(identity__is_the_same_for_every_spelling),
      cmocka_unit_test(identity__of_before_is_known),
      cmocka_unit_test(identity__lets_a_state_go_on),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
