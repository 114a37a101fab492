/* Databases and tables that come, change and go: names, races, every call of the storage failing in
 * turn, the power going at every step. */
#include <errno.h>

#include "catalog/ddl.h"
#include "support/files.h"
#include "support/test.h"
#include "support/torture.h"

/* ------------------------------------------------------------------ a warehouse in memory */

typedef struct warehouse {
  tarn_env *env;
  tn_storage *memory;
  tn_catalog catalog;
  tn_arena arena;
  tarn_error err;
} warehouse;

#define TABLE_JSON                                                                         \
  "{\"fields\":[{\"name\":\"id\",\"type\":\"INT\"},{\"name\":\"v\",\"type\":\"STRING\"}]," \
  "\"primaryKeys\":[\"id\"],\"options\":{\"bucket\":\"1\"}}"
#define ADD_C "[{\"add\":\"c\",\"type\":\"INT\"}]"

static void begin_in(warehouse *w, tarn_env *env) {
  memset(w, 0, sizeof(*w));
  w->env = env;
  tn_arena_init(&w->arena, &env->mem, SIZE_MAX);
  assert_works(tn_storage_memory(env, &w->memory, &w->err), w->err);
  w->catalog = (tn_catalog){.env = env, .storage = w->memory, .warehouse = "/w"};
  assert_works(tn_storage_make_folder(w->memory, "/w", &w->err), w->err);
  assert_works(tn_storage_sync_folder(w->memory, "/", &w->err), w->err);
  assert_works(tn_database_create(&w->catalog, "d", &w->err), w->err);
}

static void begin(warehouse *w) {
  begin_in(w, tn_test_env(0, 0));
}

static void end(warehouse *w) {
  tarn_env *env = w->env;
  tn_storage_release(w->memory);
  tn_arena_reset(&w->arena);
  tarn_env_free(env);
}

static tn_table_name name_of(warehouse *w, const char *text) {
  tn_table_name name;
  assert_works(tn_table_name_parse(&w->arena, text, &name, &w->err), w->err);
  return name;
}

static tarn_status create(warehouse *w, const char *table) {
  tn_table_name name = name_of(w, table);
  return tn_ddl_create(w->env, &w->catalog, &name, tn_slice_text(TABLE_JSON), &w->err);
}

static tarn_status alter(warehouse *w, const char *table, const char *changes, int64_t *id) {
  tn_table_name name = name_of(w, table);
  return tn_ddl_alter(w->env, &w->catalog, &name, tn_slice_text(changes), id, &w->err);
}

static tarn_status drop(warehouse *w, const char *table) {
  tn_table_name name = name_of(w, table);
  return tn_ddl_drop(w->env, &w->catalog, &name, &w->err);
}

static tarn_status rename_to(warehouse *w, const char *from, const char *to) {
  tn_table_name names[2] = {name_of(w, from), name_of(w, to)};
  return tn_ddl_rename(&w->catalog, &names[0], &names[1], &w->err);
}

/* The id of the latest schema, which must be readable; -1: there is no such table. */
static int64_t latest(warehouse *w, const char *root) {
  int64_t *ids, id;
  int32_t n;
  tn_schema *schema;
  if (tn_schema_ids(w->env, w->memory, root, &w->arena, &ids, &n, &w->err) != TARN_OK) {
    return -1;
  }
  id = ids[n - 1];
  assert_works(tn_schema_load(w->env, w->memory, root, id, &schema, &w->err), w->err);
  assert_int_equal(schema->n_fields, 2 + id);
  tn_schema_release(schema);
  return id;
}

static const char *tables_of(warehouse *w, const char *database) {
  const char **names, *text = "";
  int32_t n;
  assert_works(tn_catalog_tables(&w->catalog, database, &w->arena, &names, &n, &w->err), w->err);
  for (int32_t i = 0; i < n; i++) {
    text = tn_arena_printf(&w->arena, "%s%s ", text, names[i]);
  }
  return text;
}

static void expect(warehouse *w, tarn_status found, tarn_status wanted, const char *message) {
  if (found != wanted) {
    fail_msg("%s, not %s: %s", tarn_status_name(found), tarn_status_name(wanted), w->err.message);
  }
  assert_contains(w->err.message, message);
}

/* ------------------------------------------------------------------ databases */

static void database__comes_and_goes(void **state) {
  warehouse w;
  const char **names;
  int32_t n;
  (void)state;
  begin(&w);
  expect(&w, tn_database_create(&w.catalog, "d", &w.err), TARN_E_EXISTS,
         "Database d already exists.");
  assert_works(create(&w, "d.t"), w.err);
  expect(&w, tn_database_drop(&w.catalog, "d", false, &w.err), TARN_E_INVALID,
         "Database d is not empty.");
  assert_works(tn_database_drop(&w.catalog, "d", true, &w.err), w.err);
  assert_works(tn_catalog_databases(&w.catalog, &w.arena, &names, &n, &w.err), w.err);
  assert_int_equal(n, 0);
  expect(&w, tn_database_drop(&w.catalog, "d", true, &w.err), TARN_E_NOT_FOUND,
         "database 'd' does not exist");
  assert_works(tn_database_create(&w.catalog, "d", &w.err), w.err);
  assert_string_equal(tables_of(&w, "d"), "");
  assert_works(tn_database_drop(&w.catalog, "d", false, &w.err), w.err);
  end(&w);
}

static void database__names_are_checked(void **state) {
  static const struct {
    const char *name, *message;
  } cases[] = {
      {"", "it is empty"},
      {"a/b", "it has a '/' or '$'"},
      {"a$b", "it has a '/' or '$'"},
      {".a", "it begins with a dot"},
      {"a.b", "it has a dot"},
      {"a\nb", "a control character"},
      {"\xff", "it is not UTF-8"},
      {"sys", "Can't do operation on system database."},
  };
  char longest[300];
  warehouse w;
  (void)state;
  begin(&w);
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    expect(&w, tn_database_create(&w.catalog, cases[i].name, &w.err), TARN_E_INVALID,
           cases[i].message);
    expect(&w, tn_database_drop(&w.catalog, cases[i].name, true, &w.err), TARN_E_INVALID,
           cases[i].message);
  }
  memset(longest, 'x', sizeof(longest));
  longest[253] = '\0';
  expect(&w, tn_database_create(&w.catalog, longest, &w.err), TARN_E_INVALID, "it is too long");
  longest[252] = '\0';
  assert_works(tn_database_create(&w.catalog, longest, &w.err), w.err);
  end(&w);
}

/* ------------------------------------------------------------------ tables */

static void table__comes_changes_and_goes(void **state) {
  int64_t id;
  warehouse w;
  (void)state;
  begin(&w);
  assert_works(create(&w, "d.t"), w.err);
  assert_int_equal(latest(&w, "/w/d.db/t"), 0);
  expect(&w, create(&w, "d.t"), TARN_E_EXISTS, "Table d.t already exists.");
  assert_works(alter(&w, "d.t", ADD_C, &id), w.err);
  assert_int_equal(id, 1);
  assert_int_equal(latest(&w, "/w/d.db/t"), 1);
  assert_works(alter(&w, "d.t", "[]", &id), w.err);
  assert_int_equal(id, 1);
  expect(&w, alter(&w, "d.t", ADD_C, &id), TARN_E_EXISTS,
         "Column c already exists in the d.t table.");
  assert_works(rename_to(&w, "d.t", "d.u"), w.err);
  assert_string_equal(tables_of(&w, "d"), "u ");
  assert_int_equal(latest(&w, "/w/d.db/u"), 1);
  assert_works(drop(&w, "d.u"), w.err);
  assert_string_equal(tables_of(&w, "d"), "");
  assert_works(create(&w, "d.u"), w.err);
  assert_int_equal(latest(&w, "/w/d.db/u"), 0);
  end(&w);
}

static void table__what_is_missing_is_named(void **state) {
  int64_t id;
  warehouse w;
  (void)state;
  begin(&w);
  assert_works(create(&w, "d.table"), w.err);
  expect(&w, create(&w, "e.t"), TARN_E_NOT_FOUND, "database 'e' does not exist");
  expect(&w, alter(&w, "d.tabel", ADD_C, &id), TARN_E_NOT_FOUND, "did you mean 'd.table'?");
  expect(&w, alter(&w, "d.table$branch_b", ADD_C, &id), TARN_E_NOT_FOUND, "branch 'b'");
  expect(&w, drop(&w, "d.tabel"), TARN_E_NOT_FOUND, "did you mean 'd.table'?");
  expect(&w, rename_to(&w, "d.tabel", "d.x"), TARN_E_NOT_FOUND, "did you mean 'd.table'?");
  expect(&w, rename_to(&w, "d.table", "e.x"), TARN_E_NOT_FOUND, "database 'e' does not exist");
  assert_works(create(&w, "d.x"), w.err);
  expect(&w, rename_to(&w, "d.table", "d.x"), TARN_E_EXISTS, "Table d.x already exists.");
  assert_works(tn_storage_make_folder(w.memory, "/w/d.db/y", &w.err), w.err);
  expect(&w, rename_to(&w, "d.table", "d.y"), TARN_E_EXISTS, "the folder /w/d.db/y is taken");
  end(&w);
}

static void table__names_are_checked(void **state) {
  int64_t id;
  warehouse w;
  (void)state;
  begin(&w);
  assert_works(create(&w, "d.t"), w.err);
  expect(&w, create(&w, "d.t$branch_b"), TARN_E_INVALID,
         "Cannot 'createTable' for branch table 'd.t$branch_b', please modify the table with the "
         "default branch.");
  expect(&w, create(&w, "d.t$files"), TARN_E_INVALID,
         "Cannot 'createTable' for system table 'd.t$files', please use data table.");
  expect(&w, create(&w, "sys.t"), TARN_E_INVALID, "system table 'sys.t'");
  expect(&w, create(&w, "d..t"), TARN_E_INVALID, "it begins with a dot");
  expect(&w, drop(&w, "d.t$branch_b"), TARN_E_INVALID, "Cannot 'dropTable' for branch table");
  expect(&w, drop(&w, "d.t$snapshots"), TARN_E_INVALID, "Cannot 'dropTable' for system table");
  expect(&w, alter(&w, "d.t$snapshots", ADD_C, &id), TARN_E_INVALID, "Cannot 'alterTable' for");
  expect(&w, rename_to(&w, "d.t", "d.x$branch_b"), TARN_E_INVALID, "Cannot 'renameTable' for");
  expect(&w, rename_to(&w, "d.t", "d..x"), TARN_E_INVALID, "it begins with a dot");
  expect(&w, rename_to(&w, "d.t", "/w/d.db/x"), TARN_E_INVALID, "tables are renamed by name");
  assert_string_equal(tables_of(&w, "d"), "t ");
  end(&w);
}

static void table__a_bad_one_leaves_nothing(void **state) {
  static const char bad[] =
      "{\"fields\":[{\"name\":\"id\",\"type\":\"INT\"}],\"options\":{\"bucket\":\"0\"}}";
  tn_table_name name;
  warehouse w;
  (void)state;
  begin(&w);
  name = name_of(&w, "d.t");
  expect(&w, tn_ddl_create(w.env, &w.catalog, &name, tn_slice_text(bad), &w.err), TARN_E_INVALID,
         "The number of buckets needs to be greater than 0.");
  assert_false(tn_storage_exists(w.memory, "/w/d.db/t"));
  end(&w);
}

static void table__defaults_of_the_catalog_count(void **state) {
  static const tn_option options[] = {{"table-default.bucket", "9"}, {"table-default.x", "y"}};
  tn_schema *schema;
  warehouse w;
  (void)state;
  begin(&w);
  w.catalog.options = options;
  w.catalog.n_options = 2;
  assert_works(create(&w, "d.t"), w.err);
  assert_works(tn_schema_load(w.env, w.memory, "/w/d.db/t", 0, &schema, &w.err), w.err);
  assert_string_equal(tn_schema_option(schema, "bucket"), "1");
  assert_string_equal(tn_schema_option(schema, "x"), "y");
  tn_schema_release(schema);
  end(&w);
}

static void put(warehouse *w, const char *path, const char *text) {
  assert_works(tn_storage_memory_put(w->memory, path, tn_slice_text(text), &w->err), w->err);
}

static void table__a_branch_changes_alone(void **state) {
  int64_t id;
  tn_buf schema;
  warehouse w;
  (void)state;
  begin(&w);
  assert_works(create(&w, "d.t"), w.err);
  tn_buf_init(&schema, &w.env->mem, 1 << 20);
  assert_works(tn_storage_read_all(w.memory, "/w/d.db/t/schema/schema-0", &schema, &w.err), w.err);
  assert_works(tn_storage_memory_put(w.memory, "/w/d.db/t/branch/branch-b/schema/schema-0",
                                     tn_buf_slice(&schema), &w.err),
               w.err);
  tn_buf_reset(&schema);
  assert_works(alter(&w, "d.t$branch_b", ADD_C, &id), w.err);
  assert_int_equal(latest(&w, "/w/d.db/t/branch/branch-b"), 1);
  assert_int_equal(latest(&w, "/w/d.db/t"), 0);
  expect(&w, alter(&w, "d.t$branch_b", ADD_C, &id), TARN_E_EXISTS, "in the d.t$branch_b table.");
  assert_works(alter(&w, "d.t", "[{\"set\":\"scan.fallback-branch\",\"value\":\"b\"}]", &id),
               w.err);
  expect(&w, alter(&w, "d.t", "[{\"set\":\"scan.fallback-branch\",\"value\":\"c\"}]", &id),
         TARN_E_INVALID,
         "Cannot set 'scan.fallback-branch' = 'c' because the branch 'c' does not exist.");
  expect(&w, alter(&w, "d.t", "[{\"set\":\"scan.primary-branch\",\"value\":\"b\"}]", &id),
         TARN_E_INVALID,
         "Cannot set both 'scan.fallback-branch' and 'scan.primary-branch' at the same time.");
  end(&w);
}

static void table__with_snapshots_keeps_its_engine(void **state) {
  static const char change[] = "[{\"set\":\"merge-engine\",\"value\":\"first-row\"}]";
  static const char snapshot[] =
      "{\"version\":3,\"id\":1,\"schemaId\":0,\"baseManifestList\":\"b\",\"deltaManifestList\":"
      "\"d\","
      "\"commitUser\":\"u\",\"commitIdentifier\":1,\"commitKind\":\"APPEND\",\"timeMillis\":1}";
  int64_t id;
  warehouse w;
  (void)state;
  begin(&w);
  assert_works(create(&w, "d.t"), w.err);
  put(&w, "/w/d.db/t/snapshot/snapshot-1", snapshot);
  expect(&w, alter(&w, "d.t", change, &id), TARN_E_INVALID,
         "Change 'merge-engine' is not supported yet.");
  end(&w);
}

static void table__by_its_path(void **state) {
  char *folder = tn_test_temp_dir(), path[512];
  tarn_env *env = tn_test_env(0, 0);
  tn_table_name name;
  tn_arena arena;
  tarn_error err;
  int64_t id;
  (void)state;
  tn_arena_init(&arena, &env->mem, SIZE_MAX);
  snprintf(path, sizeof(path), "%s/t", folder);
  assert_works(tn_table_name_parse(&arena, path, &name, &err), err);
  assert_works(tn_ddl_create(env, NULL, &name, tn_slice_text(TABLE_JSON), &err), err);
  assert_works(tn_ddl_alter(env, NULL, &name, tn_slice_text(ADD_C), &id, &err), err);
  assert_int_equal(id, 1);
  assert_works(tn_ddl_drop(env, NULL, &name, &err), err);
  assert_int_equal(tn_ddl_drop(env, NULL, &name, &err), TARN_E_NOT_FOUND);
  snprintf(path, sizeof(path), "%s/x/t", folder);
  assert_works(tn_table_name_parse(&arena, path, &name, &err), err);
  assert_int_equal(tn_ddl_create(env, NULL, &name, tn_slice_text(TABLE_JSON), &err),
                   TARN_E_NOT_FOUND);
  tn_arena_reset(&arena);
  tarn_env_free(env);
  tn_test_temp_dir_remove(folder);
}

/* ------------------------------------------------------------------ two at once */

/* A clock that lets the other one go first: it is looked at after the latest schema was read. */
typedef struct intruder {
  warehouse *w;
  int calls;
} intruder;

static int64_t intrude(void *ctx) {
  intruder *i = ctx;
  if (i->calls++ == 0) {
    int64_t id;
    assert_works(alter(i->w, "d.t", "[{\"add\":\"other\",\"type\":\"INT\"}]", &id), i->w->err);
  }
  return 1000;
}

static void alter__the_second_of_two_gets_a_conflict(void **state) {
  int64_t id = -1;
  intruder other;
  warehouse w;
  (void)state;
  begin(&w);
  assert_works(create(&w, "d.t"), w.err);
  other = (intruder){&w, 0};
  w.env->clock_ms = intrude;
  w.env->clock_ctx = &other;
  expect(&w, alter(&w, "d.t", ADD_C, &id), TARN_E_CONFLICT,
         "schema 1 of table d.t was written by another change at the same time");
  assert_int_equal(latest(&w, "/w/d.db/t"), 1);
  assert_works(alter(&w, "d.t", ADD_C, &id), w.err);
  assert_int_equal(id, 2);
  end(&w);
}

/* ------------------------------------------------------------------ faults */

/* A change, and what tells whether it happened. */
typedef struct scenario {
  const char *name;
  tarn_status (*run)(warehouse *w);
  bool (*is_done)(warehouse *w);
  tarn_status again; /* what it gives when it has happened already */
} scenario;

static tarn_status run_create(warehouse *w) {
  return create(w, "d.new");
}
static bool is_created(warehouse *w) {
  return latest(w, "/w/d.db/new") == 0;
}

static tarn_status run_alter(warehouse *w) {
  int64_t id;
  return alter(w, "d.t", ADD_C, &id);
}
static bool is_altered(warehouse *w) {
  int64_t id = latest(w, "/w/d.db/t");
  assert_true(id == 0 || id == 1);
  return id == 1;
}

static tarn_status run_drop(warehouse *w) {
  return drop(w, "d.t");
}
static bool is_dropped(warehouse *w) {
  bool is_gone = latest(w, "/w/d.db/t") < 0;
  /* All of it or nothing. */
  assert_int_equal(!is_gone, tn_storage_exists(w->memory, "/w/d.db/t/bucket-0/file"));
  assert_string_equal(tables_of(w, "d"), is_gone ? "" : "t ");
  return is_gone;
}

static tarn_status run_rename(warehouse *w) {
  return rename_to(w, "d.t", "d.u");
}
static bool is_renamed(warehouse *w) {
  bool has_old = latest(w, "/w/d.db/t") == 0, has_new = latest(w, "/w/d.db/u") == 0;
  assert_true(has_old != has_new);
  return has_new;
}

static tarn_status run_new_database(warehouse *w) {
  return tn_database_create(&w->catalog, "e", &w->err);
}
static bool has_database(warehouse *w) {
  return tn_storage_exists(w->memory, "/w/e.db");
}

static tarn_status run_drop_database(warehouse *w) {
  return tn_database_drop(&w->catalog, "d", true, &w->err);
}
static bool has_no_database(warehouse *w) {
  bool is_gone = !tn_storage_exists(w->memory, "/w/d.db");
  assert_true(is_gone || latest(w, "/w/d.db/t") == 0);
  return is_gone;
}

static const scenario scenarios[] = {
    {"create", run_create, is_created, TARN_E_EXISTS},
    {"alter", run_alter, is_altered, TARN_E_EXISTS},
    {"drop", run_drop, is_dropped, TARN_E_NOT_FOUND},
    {"rename", run_rename, is_renamed, TARN_E_NOT_FOUND},
    {"create a database", run_new_database, has_database, TARN_E_EXISTS},
    {"drop a database", run_drop_database, has_no_database, TARN_E_NOT_FOUND},
};

static void begin_scenario(warehouse *w) {
  begin(w);
  assert_works(create(w, "d.t"), w->err);
  put(w, "/w/d.db/t/bucket-0/file", "rows");
}

/* One run with a fault; true: the fault was never reached. */
static bool run_with_fault(const scenario *s, tn_storage_fault *fault, bool crashes) {
  tn_storage *faulty = NULL;
  tarn_status st;
  bool is_done, is_reached;
  warehouse w;
  begin_scenario(&w);
  assert_works(tn_storage_faulty(w.memory, fault, &faulty, &w.err), w.err);
  w.catalog.storage = faulty;
  st = s->run(&w);
  is_reached = fault->fail_at_write > 0 ? atomic_load(&fault->writes) >= fault->fail_at_write
                                        : atomic_load(&fault->calls) >= fault->fail_at_call;
  w.catalog.storage = w.memory;
  if (crashes) {
    tn_storage_memory_crash(w.memory);
  }
  is_done = s->is_done(&w);
  if (st == TARN_OK && !is_done) {
    fail_msg("%s: said to be done at step %lld, but is not", s->name,
             (long long)(fault->fail_at_write + fault->fail_at_call));
  }
  assert_true(is_reached || st == TARN_OK);
  /* Whoever tries again ends in the new state. */
  st = s->run(&w);
  if (st != (is_done ? s->again : TARN_OK)) {
    fail_msg("%s, again after step %lld: %s", s->name,
             (long long)(fault->fail_at_write + fault->fail_at_call), w.err.message);
  }
  assert_true(s->is_done(&w));
  tn_storage_release(faulty);
  end(&w);
  return !is_reached;
}

static void walk(bool at_writes, bool is_done_anyway, bool is_fatal, bool crashes) {
  for (size_t i = 0; i < TN_COUNT(scenarios); i++) {
    bool is_over = false;
    int n = 0;
    while (!is_over) {
      tn_storage_fault fault = {
          .os_errno = EIO, .is_done_anyway = is_done_anyway, .is_fatal = is_fatal};
      n++;
      fault.fail_at_write = at_writes ? n : 0;
      fault.fail_at_call = at_writes ? 0 : n;
      is_over = run_with_fault(&scenarios[i], &fault, crashes);
      assert_true(n < 1000);
    }
    assert_true(n > 1);
  }
}

static void faults__each_read_may_fail(void **state) {
  (void)state;
  walk(false, false, false, false);
}

static void faults__each_write_may_fail(void **state) {
  (void)state;
  walk(true, false, false, false);
}

static void faults__each_reply_may_be_lost(void **state) {
  (void)state;
  walk(true, true, false, false);
}

static void faults__the_process_may_die_at_each_step(void **state) {
  (void)state;
  walk(true, false, true, false);
  walk(true, true, true, false);
}

static void faults__the_power_may_go_at_each_step(void **state) {
  (void)state;
  walk(true, false, true, true);
  walk(true, true, true, true);
  walk(true, false, false, true);
}

/* ------------------------------------------------------------------ memory */

static tarn_status live_once(void *ctx, tarn_env *env, tarn_error *err) {
  tn_catalog catalog = {.env = env, .warehouse = "/w"};
  tn_storage *memory = NULL;
  tn_arena arena;
  tn_table_name t, u;
  int64_t id;
  tarn_status st;
  (void)ctx;
  tn_arena_init(&arena, &env->mem, SIZE_MAX);
  TN_TRY_TO(done, tn_storage_memory(env, &memory, err));
  catalog.storage = memory;
  TN_TRY_TO(done, tn_storage_make_folder(memory, "/w", err));
  TN_TRY_TO(done, tn_database_create(&catalog, "d", err));
  TN_TRY_TO(done, tn_table_name_parse(&arena, "d.t", &t, err));
  TN_TRY_TO(done, tn_table_name_parse(&arena, "d.u", &u, err));
  TN_TRY_TO(done, tn_ddl_create(env, &catalog, &t, tn_slice_text(TABLE_JSON), err));
  TN_TRY_TO(done, tn_ddl_alter(env, &catalog, &t, tn_slice_text(ADD_C), &id, err));
  TN_TRY_TO(done, tn_ddl_rename(&catalog, &t, &u, err));
  TN_TRY_TO(done, tn_ddl_drop(env, &catalog, &u, err));
  TN_TRY_TO(done, tn_database_drop(&catalog, "d", false, err));
done:
  tn_storage_release(memory);
  tn_arena_reset(&arena);
  return st;
}

static void memory__each_allocation_may_fail(void **state) {
  (void)state;
  assert_true(tn_torture(live_once, NULL, TARN_OK) > 1);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(database__comes_and_goes),
      cmocka_unit_test(database__names_are_checked),
      cmocka_unit_test(table__comes_changes_and_goes),
      cmocka_unit_test(table__what_is_missing_is_named),
      cmocka_unit_test(table__names_are_checked),
      cmocka_unit_test(table__a_bad_one_leaves_nothing),
      cmocka_unit_test(table__defaults_of_the_catalog_count),
      cmocka_unit_test(table__a_branch_changes_alone),
      cmocka_unit_test(table__with_snapshots_keeps_its_engine),
      cmocka_unit_test(table__by_its_path),
      cmocka_unit_test(alter__the_second_of_two_gets_a_conflict),
      cmocka_unit_test(faults__each_read_may_fail),
      cmocka_unit_test(faults__each_write_may_fail),
      cmocka_unit_test(faults__each_reply_may_be_lost),
      cmocka_unit_test(faults__the_process_may_die_at_each_step),
      cmocka_unit_test(faults__the_power_may_go_at_each_step),
      cmocka_unit_test(memory__each_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
