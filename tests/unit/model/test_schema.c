/* Schema files: what Java wrote, what old versions imply, what is wrong with bad ones. */
#include "model/schema.h"
#include "unit/model/model_test.h"

static tn_schema *decode(fixture *f, tn_slice json) {
  tn_schema *schema;
  expect_ok(f, tn_schema_decode(f->env, json, "schema-0", &schema, &f->err));
  return schema;
}

static void expect_type(fixture *f, const tn_type *type, const char *sql) {
  tn_buf text;
  tn_buf_init(&text, &f->env->mem, 65536);
  expect_ok(f, tn_type_to_sql(type, &text, &f->err));
  expect_ok(f, tn_buf_append(&text, "", 1, &f->err));
  assert_string_equal((const char *)text.data, sql);
  tn_buf_reset(&text);
}

static void schema_decode__reads_every_type_of_java(void **state) {
  static const struct {
    int32_t id;
    const char *name, *type;
  } SOME[] = {
      {0, "c_char", "CHAR(10)"},
      {3, "c_string", "STRING"},
      {6, "c_varbinary", "VARBINARY(16)"},
      {9, "c_dec38", "DECIMAL(38, 18)"},
  };
  fixture *f = *state;
  tn_schema *s = decode(f, data_file(f, "schema-alltypes-v3.json"));
  int32_t row = tn_fields_find(s->fields, s->n_fields, tn_slice_text("c_row"));
  assert_int_equal(s->version, 3);
  assert_int_equal(s->id, 0);
  for (size_t i = 0; i < TN_COUNT(SOME); i++) {
    int32_t at = tn_fields_find_id(s->fields, s->n_fields, SOME[i].id);
    assert_true(at >= 0);
    assert_string_equal(s->fields[at].name, SOME[i].name);
    expect_type(f, &s->fields[at].type, SOME[i].type);
  }
  /* A column takes its id first; inside, an id comes after those of its own fields. */
  assert_true(row >= 0);
  assert_int_equal(s->fields[row].id, 28);
  assert_int_equal(s->fields[row].type.fields[0].id, 29);
  assert_int_equal(s->fields[row].type.fields[1].id, 31);
  assert_int_equal(s->fields[row].type.fields[1].type.fields[0].id, 30);
  assert_true(s->highest_field_id >= 31);
  tn_schema_release(s);
}

static void schema_decode__reads_an_evolved_schema(void **state) {
  fixture *f = *state;
  tn_schema *s = decode(f, data_file(f, "schema-evolved-v3.json"));
  assert_int_equal(s->id, 2);
  assert_int_equal(s->n_fields, 5);
  assert_int_equal(s->fields[2].id, 3);
  assert_int_equal(s->highest_field_id, 9);
  assert_string_equal(tn_schema_option(s, "bucket"), "1");
  assert_null(tn_schema_option(s, "no-such-key"));
  tn_schema_release(s);
}

static void schema_decode__tells_partition_and_trimmed_key(void **state) {
  fixture *f = *state;
  tn_schema *s = decode(
      f, tn_slice_text("{\"version\":3,\"id\":7,\"fields\":[{\"id\":0,\"name\":\"pt\",\"type\":"
                       "\"INT NOT NULL\"},"
                       "{\"id\":1,\"name\":\"k1\",\"type\":\"INT NOT "
                       "NULL\"},{\"id\":2,\"name\":\"v\",\"type\":\"INT\","
                       "\"description\":\"d\",\"defaultValue\":\"5\"},{\"id\":3,\"name\":\"k2\","
                       "\"type\":\"INT NOT "
                       "NULL\"}],\"highestFieldId\":9,\"partitionKeys\":[\"pt\"],\"primaryKeys\":["
                       "\"pt\",\"k2\",\"k1\"],"
                       "\"options\":{},\"comment\":\"c\",\"timeMillis\":12,\"unknown\":[1]}"));
  assert_int_equal(s->n_partition_keys, 1);
  assert_int_equal(s->partition_columns[0], 0);
  assert_int_equal(s->n_primary_keys, 3);
  assert_int_equal(s->n_key_columns, 2);
  assert_int_equal(s->key_columns[0], 3);
  assert_int_equal(s->key_columns[1], 1);
  assert_string_equal(s->fields[2].description, "d");
  assert_string_equal(s->fields[2].default_value, "5");
  assert_string_equal(s->comment, "c");
  assert_int_equal(s->time_ms, 12);
  assert_int_equal(s->highest_field_id, 9);
  tn_schema_release(s);
}

#define FIELDS "\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"INT\"}]"

static void schema_decode__adds_what_old_versions_imply(void **state) {
  static const struct {
    const char *json, *bucket, *format;
  } CASES[] = {
      {"{\"id\":0," FIELDS "}", "1", "orc"},
      {"{\"version\":1,\"id\":0," FIELDS ",\"options\":{\"bucket\":\"4\"}}", "4", "orc"},
      {"{\"version\":2,\"id\":0," FIELDS ",\"options\":{}}", NULL, "orc"},
      {"{\"version\":2,\"id\":0," FIELDS ",\"options\":{\"file.format\":\"avro\"}}", NULL, "avro"},
      {"{\"version\":3,\"id\":0," FIELDS ",\"options\":null}", NULL, NULL},
  };
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(CASES); i++) {
    tn_schema *s = decode(f, tn_slice_text(CASES[i].json));
    const char *bucket = tn_schema_option(s, "bucket"),
               *format = tn_schema_option(s, "file.format");
    assert_string_equal(bucket != NULL ? bucket : "none",
                        CASES[i].bucket != NULL ? CASES[i].bucket : "none");
    assert_string_equal(format != NULL ? format : "none",
                        CASES[i].format != NULL ? CASES[i].format : "none");
    tn_schema_release(s);
  }
}

static void schema_decode__reads_option_values_of_any_kind_as_text(void **state) {
  fixture *f = *state;
  tn_schema *s =
      decode(f, tn_slice_text("{\"version\":3,\"id\":0," FIELDS
                              ",\"options\":{\"a\":\"x\",\"b\":12,\"c\":true,\"d\":null}}"));
  assert_string_equal(tn_schema_option(s, "a"), "x");
  assert_string_equal(tn_schema_option(s, "b"), "12");
  assert_string_equal(tn_schema_option(s, "c"), "true");
  assert_null(tn_schema_option(s, "d"));
  assert_int_equal(s->n_options, 3);
  tn_schema_release(s);
}

static void schema_decode__numbers_nested_fields_without_ids(void **state) {
  fixture *f = *state;
  tn_schema *s = decode(
      f, tn_slice_text(
             "{\"version\":3,\"id\":0,\"fields\":[{\"id\":4,\"name\":\"r\",\"type\":{\"type\":"
             "\"ROW\",\"fields\":[{\"name\":\"x\",\"type\":\"INT\"},{\"name\":\"y\",\"type\":"
             "\"INT\"}]}}]}"));
  assert_int_equal(s->fields[0].id, 4);
  assert_int_equal(s->fields[0].type.fields[0].id, 0);
  assert_int_equal(s->fields[0].type.fields[1].id, 1);
  tn_schema_release(s);
}

static void schema_decode__refuses_bad_schemas(void **state) {
  static const struct {
    const char *json, *message;
    tarn_status status;
  } CASES[] = {
      {"", "schema-0", TARN_E_CORRUPT},
      {"{\"id\":0", "schema-0", TARN_E_CORRUPT},
      {"[]", "no JSON object", TARN_E_CORRUPT},
      {"{" FIELDS "}", "\"id\" is missing", TARN_E_CORRUPT},
      {"{\"id\":0}", "no list of fields", TARN_E_CORRUPT},
      {"{\"id\":0,\"fields\":{}}", "no list of fields", TARN_E_CORRUPT},
      {"{\"id\":0,\"fields\":[{\"id\":0,\"type\":\"INT\"}]}", "\"name\" is missing",
       TARN_E_CORRUPT},
      {"{\"id\":0,\"fields\":[{\"id\":-1,\"name\":\"a\",\"type\":\"INT\"}]}",
       "an impossible id of field 'a'", TARN_E_CORRUPT},
      {"{\"id\":0,\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"INTT\"}]}", "field 'a'",
       TARN_E_CORRUPT},
      {"{\"id\":0,\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"INT\"},{\"id\":1,\"name\":\"a\","
       "\"type\":\"INT\"}]}",
       "a second field 'a'", TARN_E_CORRUPT},
      {"{\"id\":0," FIELDS ",\"primaryKeys\":[\"b\"]}", "primaryKeys names 'b'", TARN_E_CORRUPT},
      {"{\"id\":0," FIELDS ",\"partitionKeys\":[\"a\",\"a\"]}", "partitionKeys names 'a' twice",
       TARN_E_CORRUPT},
      {"{\"id\":0," FIELDS ",\"partitionKeys\":[\"a\"],\"primaryKeys\":[\"a\"]}",
       "only partition columns", TARN_E_CORRUPT},
      {"{\"id\":0," FIELDS ",\"partitionKeys\":\"a\"}", "not a list of names", TARN_E_CORRUPT},
      {"{\"id\":0," FIELDS ",\"options\":[]}", "\"options\" is not an object", TARN_E_CORRUPT},
      {"{\"id\":0," FIELDS ",\"options\":{\"k\":{}}}", "option 'k'", TARN_E_CORRUPT},
      {"{\"id\":0,\"version\":99999999999," FIELDS "}", "an impossible value of 'version'",
       TARN_E_CORRUPT},
  };
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(CASES); i++) {
    tn_schema *s;
    expect_error(f, tn_schema_decode(f->env, tn_slice_text(CASES[i].json), "schema-0", &s, &f->err),
                 CASES[i].status, CASES[i].message);
    assert_null(s);
  }
}

static void schema_load__keeps_schemas_in_the_cache(void **state) {
  fixture *f = *state;
  tn_schema *a, *b;
  put_file(f, "/t/schema/schema-0", "{\"id\":0," FIELDS "}");
  expect_ok(f, tn_schema_load(f->env, f->storage, "/t", 0, &a, &f->err));
  expect_ok(f, tn_schema_load(f->env, f->storage, "/t", 0, &b, &f->err));
  assert_ptr_equal(a, b);
  tn_schema_release(a);
  tn_schema_release(b);
}

/* A table that was dropped and made again has other schemas under the same names. */
static void schema_load__sees_a_table_made_again(void **state) {
  fixture *f = *state;
  tn_schema *a, *b;
  put_file(f, "/t/schema/schema-0", "{\"id\":0," FIELDS "}");
  expect_ok(f, tn_schema_load(f->env, f->storage, "/t", 0, &a, &f->err));
  put_file(f, "/t/schema/schema-0",
           "{\"id\":0,\"fields\":[{\"id\":0,\"name\":\"other\",\"type\":\"INT\"}]}");
  expect_ok(f, tn_schema_load(f->env, f->storage, "/t", 0, &b, &f->err));
  assert_string_equal(b->fields[0].name, "other");
  assert_string_equal(a->fields[0].name, "a");
  tn_schema_release(a);
  tn_schema_release(b);
}

static void schema_load__tells_what_is_missing(void **state) {
  fixture *f = *state;
  tn_schema *s;
  expect_error(f, tn_schema_load(f->env, f->storage, "/t", 3, &s, &f->err), TARN_E_NOT_FOUND,
               "/t/schema/schema-3");
}

static void schema_ids__skips_other_names(void **state) {
  static const char *const OTHERS[] = {"schema-1.bak",
                                       "schema-",
                                       "schema-x",
                                       "schema--1",
                                       "schema-01",
                                       ".schema-5.uuid.tmp",
                                       "schema-99999999999999999999"};
  fixture *f = *state;
  int64_t *ids;
  int32_t n;
  expect_error(f, tn_schema_ids(f->env, f->storage, "/t", &f->arena, &ids, &n, &f->err),
               TARN_E_NOT_FOUND, "/t/schema");
  for (size_t i = 0; i < TN_COUNT(OTHERS); i++) {
    char path[128];
    (void)snprintf(path, sizeof(path), "/t/schema/%s", OTHERS[i]);
    put_file(f, path, "");
  }
  expect_error(f, tn_schema_ids(f->env, f->storage, "/t", &f->arena, &ids, &n, &f->err),
               TARN_E_NOT_FOUND, "/t/schema");
  put_file(f, "/t/schema/schema-10", "");
  put_file(f, "/t/schema/schema-0", "");
  put_file(f, "/t/schema/schema-2", "");
  expect_ok(f, tn_schema_ids(f->env, f->storage, "/t", &f->arena, &ids, &n, &f->err));
  assert_int_equal(n, 3);
  assert_int_equal(ids[0], 0);
  assert_int_equal(ids[1], 2);
  assert_int_equal(ids[2], 10);
}

static void schema_decode__survives_damage_of_every_byte(void **state) {
  fixture *f = *state;
  tn_slice json = data_file(f, "schema-pk-v3.json");
  uint8_t *bytes = (uint8_t *)(uintptr_t)json.data;
  for (size_t i = 0; i < json.len; i++) {
    for (int bit = 0; bit < 8; bit++) {
      tn_schema *s;
      tarn_status st;
      bytes[i] ^= (uint8_t)(1u << bit);
      st = tn_schema_decode(f->env, json, "f", &s, &f->err);
      assert_true(st == TARN_OK || st == TARN_E_CORRUPT || st == TARN_E_UNSUPPORTED);
      tn_schema_release(s);
      bytes[i] ^= (uint8_t)(1u << bit);
    }
  }
}

static tarn_status decode_in_need(void *ctx, tarn_env *env, tarn_error *err) {
  tn_schema *s;
  tarn_status st = tn_schema_decode(env, *(tn_slice *)ctx, "f", &s, err);
  tn_schema_release(s);
  return st;
}

static void schema_decode__survives_any_failed_allocation(void **state) {
  fixture *f = *state;
  tn_slice json = data_file(f, "schema-alltypes-v3.json");
  assert_true(tn_torture(decode_in_need, &json, TARN_OK) > 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      MODEL_TEST(schema_decode__reads_every_type_of_java),
      MODEL_TEST(schema_decode__reads_an_evolved_schema),
      MODEL_TEST(schema_decode__tells_partition_and_trimmed_key),
      MODEL_TEST(schema_decode__adds_what_old_versions_imply),
      MODEL_TEST(schema_decode__reads_option_values_of_any_kind_as_text),
      MODEL_TEST(schema_decode__numbers_nested_fields_without_ids),
      MODEL_TEST(schema_decode__refuses_bad_schemas),
      MODEL_TEST(schema_load__keeps_schemas_in_the_cache),
      MODEL_TEST(schema_load__sees_a_table_made_again),
      MODEL_TEST(schema_load__tells_what_is_missing),
      MODEL_TEST(schema_ids__skips_other_names),
      MODEL_TEST(schema_decode__survives_damage_of_every_byte),
      MODEL_TEST(schema_decode__survives_any_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
