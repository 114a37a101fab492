/* The public calls that create and change databases and tables, and schemas out of Arrow's. */
#include "support/files.h"
#include "support/test.h"
#include "tarn/tarn.h"

typedef struct fixture {
  char *folder;
  tarn_env *env;
  tarn_catalog *catalog;
  tarn_error err;
} fixture;

static int setup(void **state) {
  fixture *f = calloc(1, sizeof(*f));
  f->folder = tn_test_temp_dir();
  assert_works(tarn_env_create(NULL, &f->env, &f->err), f->err);
  assert_works(tarn_catalog_open(f->env, f->folder, &f->catalog, &f->err), f->err);
  assert_works(tarn_database_create(f->catalog, "d", &f->err), f->err);
  *state = f;
  return 0;
}

static int teardown(void **state) {
  fixture *f = *state;
  tarn_catalog_free(f->catalog);
  tarn_env_free(f->env);
  tn_test_temp_dir_remove(f->folder);
  free(f);
  return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static tarn_table *open_table(fixture *f, const char *name) {
  tarn_table *table;
  assert_works(tarn_table_open(f->env, f->catalog, name, NULL, 0, &table, &f->err), f->err);
  return table;
}

static void expect_described(fixture *f, const char *name, const char *part) {
  tarn_table *table = open_table(f, name);
  tarn_string text;
  assert_works(tarn_table_describe(table, &text, &f->err), f->err);
  assert_contains(text.data, part);
  tarn_string_free(&text);
  tarn_table_free(table);
}

static void admin__a_tables_life(void **state) {
  static const char schema[] =
      "{\"fields\":[{\"name\":\"id\",\"type\":\"INT\"},{\"name\":\"v\",\"type\":\"STRING\"}],"
      "\"primaryKeys\":[\"id\"],\"options\":{\"bucket\":\"1\"},\"comment\":\"hello\"}";
  fixture *f = *state;
  int64_t id = -1;
  tarn_table *before;
  struct ArrowSchema columns;
  assert_works(tarn_table_create(f->catalog, "d.t", schema, &f->err), f->err);
  assert_int_equal(tarn_table_create(f->catalog, "d.t", schema, &f->err), TARN_E_EXISTS);
  expect_described(f, "d.t", "hello");
  before = open_table(f, "d.t");
  assert_works(
      tarn_table_alter(f->catalog, "d.t", "[{\"add\":\"c\",\"type\":\"DATE\"}]", &id, &f->err),
      f->err);
  assert_int_equal(id, 1);
  assert_works(tarn_table_schema(before, &columns, &f->err), f->err);
  assert_int_equal(columns.n_children, 2); /* an open table keeps its schema */
  columns.release(&columns);
  tarn_table_free(before);
  expect_described(f, "d.t", "DATE");
  assert_works(tarn_table_alter(f->catalog, "d.t", "[{\"drop\":\"c\"}]", NULL, &f->err), f->err);
  assert_int_equal(tarn_table_alter(f->catalog, "d.t", "[{\"drop\":\"c\"}]", &id, &f->err),
                   TARN_E_NOT_FOUND);
  assert_works(tarn_table_rename(f->catalog, "d.t", "d.u", &f->err), f->err);
  assert_works(tarn_table_drop(f->catalog, "d.u", &f->err), f->err);
  assert_int_equal(tarn_table_drop(f->catalog, "d.u", &f->err), TARN_E_NOT_FOUND);
  assert_works(tarn_database_drop(f->catalog, "d", 0, &f->err), f->err);
}

static void admin__databases_keep_no_properties(void **state) {
  static const tarn_option changes[] = {{"a", "b"}, {"c", NULL}};
  fixture *f = *state;
  assert_works(tarn_database_alter(f->catalog, "d", NULL, 0, &f->err), f->err);
  assert_int_equal(tarn_database_alter(f->catalog, "d", changes, 2, &f->err), TARN_E_UNSUPPORTED);
  assert_contains(f->err.message, "Alter database is not supported.");
  assert_int_equal(tarn_database_alter(f->catalog, "sys", NULL, 0, &f->err), TARN_E_INVALID);
}

/* ------------------------------------------------------------------ from Arrow */

static struct ArrowSchema leaf(const char *name, const char *format, int64_t flags) {
  return (struct ArrowSchema){.name = name, .format = format, .flags = flags};
}

static tarn_status convert(fixture *f, struct ArrowSchema *columns, int64_t n, tarn_string *out) {
  struct ArrowSchema *children[32], root = leaf("", "+s", 0);
  static const char *const keys[] = {"k\"1"};
  static const tarn_option options[] = {{"bucket", "1"}};
  for (int64_t i = 0; i < n; i++) {
    children[i] = &columns[i];
  }
  root.n_children = n;
  root.children = children;
  return tarn_schema_from_arrow(f->env, &root, keys, 1, NULL, 0, options, 1, out, &f->err);
}

static void schema_from_arrow__takes_types(void **state) {
  static const struct {
    const char *format, *type;
  } cases[] = {
      {"b", "BOOLEAN"},
      {"c", "TINYINT"},
      {"C", "SMALLINT"},
      {"s", "SMALLINT"},
      {"S", "INT"},
      {"i", "INT"},
      {"I", "BIGINT"},
      {"l", "BIGINT"},
      {"e", "FLOAT"},
      {"f", "FLOAT"},
      {"g", "DOUBLE"},
      {"u", "STRING"},
      {"U", "STRING"},
      {"vu", "STRING"},
      {"z", "BYTES"},
      {"vz", "BYTES"},
      {"w:7", "BINARY(7)"},
      {"d:10,2", "DECIMAL(10, 2)"},
      {"d:38,0,128", "DECIMAL(38, 0)"},
      {"tdD", "DATE"},
      {"ttm", "TIME(3)"},
      {"tss:", "TIMESTAMP(0)"},
      {"tsm:", "TIMESTAMP(3)"},
      {"tsu:UTC", "TIMESTAMP(6) WITH LOCAL TIME ZONE"},
      {"tsn:", "TIMESTAMP(9)"},
  };
  fixture *f = *state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
    struct ArrowSchema columns[2] = {leaf("a", cases[i].format, ARROW_FLAG_NULLABLE),
                                     leaf("b", cases[i].format, 0)};
    char wanted[256];
    tarn_string text;
    assert_works(convert(f, columns, 2, &text), f->err);
    snprintf(
        wanted, sizeof(wanted),
        "{\"fields\":[{\"name\":\"a\",\"type\":\"%s\"},{\"name\":\"b\",\"type\":\"%s NOT NULL\"}],"
        "\"primaryKeys\":[\"k\\\"1\"],\"partitionKeys\":[],\"options\":{\"bucket\":\"1\"}}",
        cases[i].type, cases[i].type);
    assert_string_equal(text.data, wanted);
    tarn_string_free(&text);
  }
}

static void schema_from_arrow__takes_nested_types(void **state) {
  fixture *f = *state;
  struct ArrowSchema x = leaf("x y", "i", 2), key = leaf("key", "u", 0),
                     value = leaf("value", "l", 2);
  struct ArrowSchema *row_children[] = {&x}, *entry_children[] = {&key, &value};
  struct ArrowSchema row = leaf("item", "+s", 2), entries = leaf("entries", "+s", 0);
  struct ArrowSchema *list_children[] = {&row}, *map_children[] = {&entries};
  struct ArrowSchema columns[3] = {leaf("l", "+l", 2), leaf("m", "+m", 2), leaf("d", "i", 2)};
  tarn_string text;
  row.n_children = 1;
  row.children = row_children;
  entries.n_children = 2;
  entries.children = entry_children;
  columns[0].n_children = 1;
  columns[0].children = list_children;
  columns[1].n_children = 1;
  columns[1].children = map_children;
  columns[2].dictionary = &key; /* codes of strings */
  assert_works(convert(f, columns, 3, &text), f->err);
  assert_contains(text.data, "{\"name\":\"l\",\"type\":\"ARRAY<ROW<`x y` INT>>\"}");
  assert_contains(text.data, "{\"name\":\"m\",\"type\":\"MAP<STRING NOT NULL, BIGINT>\"}");
  assert_contains(text.data, "{\"name\":\"d\",\"type\":\"STRING\"}");
  tarn_string_free(&text);
}

static void schema_from_arrow__refuses_what_no_column_can_be(void **state) {
  static const char *const formats[] = {"n",   "L",    "d:39,0", "d:5,6",   "d:5,2x", "w:0",
                                        "w:x", "tsx:", "ts",     "tDs",     "tiM",    "+r",
                                        "+s",  "+l",   "+m",     "+ud:0,1", "",       "zz"};
  fixture *f = *state;
  for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
    struct ArrowSchema column = leaf("a", formats[i], 2);
    tarn_string text;
    if (convert(f, &column, 1, &text) != TARN_E_INVALID) {
      fail_msg("%s was not refused", formats[i]);
    }
    assert_contains(f->err.message, "column 'a'");
    assert_null(text.owner);
  }
}

static void schema_from_arrow__gives_back_the_columns_of_a_table(void **state) {
  static const char schema[] =
      "{\"fields\":[{\"name\":\"id\",\"type\":\"INT NOT "
      "NULL\"},{\"name\":\"a\",\"type\":\"VARCHAR(5)\"},"
      "{\"name\":\"b\",\"type\":\"TIME(2)\"},{\"name\":\"c\",\"type\":\"MULTISET<STRING>\"},{"
      "\"name\":\"e\","
      "\"type\":\"ROW<`x` INT, `y` ARRAY<CHAR(3) NOT "
      "NULL>>\"},{\"name\":\"f\",\"type\":\"VARIANT\"}]";
  fixture *f = *state;
  char whole[sizeof(schema) + 2];
  struct ArrowSchema columns;
  tarn_string text;
  tarn_table *table;
  snprintf(whole, sizeof(whole), "%s}", schema);
  assert_works(tarn_table_create(f->catalog, "d.t", whole, &f->err), f->err);
  table = open_table(f, "d.t");
  assert_works(tarn_table_schema(table, &columns, &f->err), f->err);
  tarn_table_free(table);
  assert_works(tarn_schema_from_arrow(f->env, &columns, NULL, 0, NULL, 0, NULL, 0, &text, &f->err),
               f->err);
  assert_contains(text.data, schema);
  assert_works(tarn_table_create(f->catalog, "d.u", text.data, &f->err), f->err);
  tarn_string_free(&text);
  columns.release(&columns);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      TEST(admin__a_tables_life),
      TEST(admin__databases_keep_no_properties),
      TEST(schema_from_arrow__takes_types),
      TEST(schema_from_arrow__takes_nested_types),
      TEST(schema_from_arrow__refuses_what_no_column_can_be),
      TEST(schema_from_arrow__gives_back_the_columns_of_a_table),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
