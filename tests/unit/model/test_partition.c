/* Partition values as folders: against the names that Java gave. */
#include "model/partition.h"
#include "unit/model/model_test.h"

/* "name TYPE,name TYPE" */
static char *schema_json(fixture *f, const char *columns, const char *options) {
  tn_buf json, keys;
  char *out;
  const char *at = columns;
  int id = 0;
  tn_buf_init(&json, &f->env->mem, 65536);
  tn_buf_init(&keys, &f->env->mem, 65536);
  expect_ok(f, tn_buf_text(&json, "{\"version\":3,\"id\":0,\"fields\":[", &f->err));
  while (*at != '\0') {
    const char *end = at, *space = strchr(at, ' ');
    int depth = 0;
    while (*end != '\0' && (*end != ',' || depth > 0)) {
      depth += (*end == '(') - (*end == ')');
      end++;
    }
    expect_ok(f, tn_buf_printf(&json, &f->err, "%s{\"id\":%d,\"name\":\"%.*s\",\"type\":\"%.*s\"}",
                               id > 0 ? "," : "", id, (int)(space - at), at, (int)(end - space - 1),
                               space + 1));
    expect_ok(
        f, tn_buf_printf(&keys, &f->err, "%s\"%.*s\"", id > 0 ? "," : "", (int)(space - at), at));
    id++;
    at = *end == ',' ? end + 1 : end;
  }
  out = tn_arena_printf(
      &f->arena, "%.*s],\"partitionKeys\":[%.*s],\"primaryKeys\":[],\"options\":{%s}}",
      (int)json.len, (const char *)json.data, (int)keys.len, (const char *)keys.data, options);
  assert_non_null(out);
  tn_buf_reset(&json);
  tn_buf_reset(&keys);
  return out;
}

static tn_table *make_table(fixture *f, const char *columns, const char *options) {
  tn_schema *schema;
  tn_table *table;
  expect_ok(f, tn_schema_decode(f->env, tn_slice_text(schema_json(f, columns, options)), "schema",
                                &schema, &f->err));
  expect_ok(f, tn_table_create(f->env, f->storage, "db.t", "/wh/db.db/t", "main", "/wh/db.db/t",
                               schema, NULL, 0, &table, &f->err));
  tn_schema_release(schema);
  return table;
}

/* The next part of a line, cut at '|' (or at its end for the last one). */
static char *next_part(char **line, bool is_last) {
  char *part = *line, *end = is_last ? NULL : strchr(part, '|');
  if (end != NULL) {
    *end = '\0';
    *line = end + 1;
  }
  return part;
}

static void partition_path__is_that_of_java(void **state) {
  fixture *f = *state;
  char *line = (char *)(uintptr_t)data_file(f, "partitions.txt").data, *end;
  int n = 0;
  tn_buf path;
  tn_buf_init(&path, &f->env->mem, 65536);
  for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
    char *columns, *legacy, *name, *bytes, options[256];
    tn_table *table;
    *end = '\0';
    if (line[0] == '#') {
      continue;
    }
    columns = next_part(&line, false);
    legacy = next_part(&line, false);
    name = next_part(&line, false);
    bytes = next_part(&line, false);
    (void)snprintf(options, sizeof(options), "\"partition.legacy-name\":\"%s\"%s%s%s", legacy,
                   name[0] != '\0' ? ",\"partition.default-name\":\"" : "", name,
                   name[0] != '\0' ? "\"" : "");
    table = make_table(f, columns, options);
    path.len = 0;
    expect_ok(f, tn_partition_path(table, hex(f, bytes), &path, &f->err));
    expect_ok(f, tn_buf_append(&path, "", 1, &f->err));
    assert_string_equal((const char *)path.data, line);
    tn_table_release(table);
    n++;
  }
  assert_true(n > 200);
  tn_buf_reset(&path);
}

static void partition_path__converts_ltz_to_the_zone_without_legacy_names(void **state) {
  fixture *f = *state;
  tarn_env_options options = TARN_ENV_OPTIONS_INIT;
  tarn_env *shanghai;
  tn_table *table =
      make_table(f, "p TIMESTAMP(3) WITH LOCAL TIME ZONE", "\"partition.legacy-name\":\"false\"");
  tn_buf path;
  options.time_zone = "+08:00";
  expect_ok(f, tarn_env_create(&options, &shanghai, &f->err));
  table->env = shanghai;
  tn_buf_init(&path, &f->env->mem, 65536);
  expect_ok(f, tn_partition_path(table, hex(f, "0000000100000000000000002edb20c88c010000"), &path,
                                 &f->err));
  assert_true(tn_slice_is(tn_buf_slice(&path), "p=2024-01-02 11%3A04%3A05.678/"));
  table->env = f->env;
  tn_buf_reset(&path);
  tn_table_release(table);
  tarn_env_free(shanghai);
}

static void partition_path__refuses_bytes_under_legacy_names(void **state) {
  fixture *f = *state;
  tn_table *table = make_table(f, "p BYTES", "");
  tn_buf path;
  tn_buf_init(&path, &f->env->mem, 65536);
  expect_error(
      f,
      tn_partition_path(table, hex(f, "0000000100000000000000006162630000000083"), &path, &f->err),
      TARN_E_UNSUPPORTED, "partition column 'p' of a binary type");
  tn_buf_reset(&path);
  tn_table_release(table);
}

static void partition_path__refuses_rows_of_another_form(void **state) {
  static const char *const CASES[] = {
      "00000002000000000000000006000000000000000600000000000000", /* two fields */
      "0000000100000000000000",                                   /* cut */
      "", "0000000100000000000000000a00000020000000",             /* a text behind the end */
  };
  fixture *f = *state;
  tn_table *table = make_table(f, "p STRING", "");
  tn_buf path;
  tn_buf_init(&path, &f->env->mem, 65536);
  for (size_t i = 0; i < TN_COUNT(CASES); i++) {
    expect_error(f, tn_partition_path(table, hex(f, CASES[i]), &path, &f->err), TARN_E_CORRUPT,
                 "partition");
  }
  tn_buf_reset(&path);
  tn_table_release(table);
}

static void bucket_path__has_all_parts(void **state) {
  static const struct {
    const char *columns, *options, *partition;
    int32_t bucket;
    const char *path;
  } CASES[] = {
      {"p INT", "", "0000000100000000000000000700000000000000", 3, "/wh/db.db/t/p=7/bucket-3"},
      {"p INT", "\"data-file.path-directory\":\"data\"", "0000000100000000000000000700000000000000",
       0, "/wh/db.db/t/data/p=7/bucket-0"},
      {"", "", "000000000000000000000000", -2, "/wh/db.db/t/bucket-postpone"},
  };
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(CASES); i++) {
    tn_table *table = make_table(f, CASES[i].columns, CASES[i].options);
    const char *path;
    expect_ok(f, tn_bucket_folder(table, hex(f, CASES[i].partition), CASES[i].bucket, &f->arena,
                                  &path, &f->err));
    assert_string_equal(path, CASES[i].path);
    tn_table_release(table);
  }
}

static void partition_text__is_not_escaped(void **state) {
  fixture *f = *state;
  tn_table *table = make_table(f, "a:b STRING,n INT", "");
  tn_buf text;
  tn_buf_init(&text, &f->env->mem, 65536);
  expect_ok(f, tn_partition_text(table,
                                 hex(f, "00000002000200000000000078793d2f000000840000000000000000"),
                                 &text, &f->err));
  expect_ok(f, tn_buf_append(&text, "", 1, &f->err));
  assert_string_equal((const char *)text.data, "a:b=xy=//n=__DEFAULT_PARTITION__");
  tn_buf_reset(&text);
  tn_table_release(table);
}

static void partition_values__are_in_key_order(void **state) {
  fixture *f = *state;
  tn_table *table = make_table(f, "s STRING,n INT", "");
  tn_datum *values;
  expect_ok(f, tn_partition_values(&f->arena, table->schema,
                                   hex(f,
                                       "000000020000000000000000787900000000008207000000000000000"
                                       "0"),
                                   &values, &f->err));
  assert_true(tn_slice_is(values[0].v.bytes, "xy"));
  assert_int_equal(values[1].v.i64, 7);
  tn_table_release(table);
}

static tarn_status path_in_need(void *ctx, tarn_env *env, tarn_error *err) {
  tn_table table = *(tn_table *)ctx;
  static const uint8_t ROW[] = {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 'a', '/', 0, 0, 0, 0, 0, 0x82};
  tarn_status st;
  tn_buf path;
  table.env = env;
  tn_buf_init(&path, &env->mem, 65536);
  st = tn_partition_path(&table, tn_slice_of(ROW, sizeof(ROW)), &path, err);
  tn_buf_reset(&path);
  return st;
}

static void partition_path__survives_any_failed_allocation(void **state) {
  fixture *f = *state;
  tn_table *table = make_table(f, "p STRING", "");
  assert_true(tn_torture(path_in_need, table, TARN_OK) > 1);
  tn_table_release(table);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      MODEL_TEST(partition_path__is_that_of_java),
      MODEL_TEST(partition_path__converts_ltz_to_the_zone_without_legacy_names),
      MODEL_TEST(partition_path__refuses_bytes_under_legacy_names),
      MODEL_TEST(partition_path__refuses_rows_of_another_form),
      MODEL_TEST(bucket_path__has_all_parts),
      MODEL_TEST(partition_text__is_not_escaped),
      MODEL_TEST(partition_values__are_in_key_order),
      MODEL_TEST(partition_path__survives_any_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
