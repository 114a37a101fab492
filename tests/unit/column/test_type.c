/* Types: SQL and JSON forms, both ways. */
#include "column/type_text.h"
#include "column_test.h"

static void sql_of(const tn_type *type, tarn_env *env, tn_buf *out) {
  tarn_error err;
  tn_buf_init(out, &env->mem, 1 << 20);
  assert_int_equal(tn_type_to_sql(type, out, &err), TARN_OK);
  assert_int_equal(tn_buf_append(out, "", 1, &err), TARN_OK);
}

static void type_from_sql__accepts_what_java_accepts(void **state) {
  column_test *t = *state;
  static const struct {
    const char *sql, *printed;
  } cases[] = {{"INT", "INT"},
               {" integer ", "INT"},
               {"tinyint NOT NULL", "TINYINT NOT NULL"},
               {"SmallInt null", "SMALLINT"},
               {"BIGINT NOT\tNULL", "BIGINT NOT NULL"},
               {"BOOLEAN", "BOOLEAN"},
               {"FLOAT", "FLOAT"},
               {"DOUBLE", "DOUBLE"},
               {"DOUBLE PRECISION NOT NULL", "DOUBLE NOT NULL"},
               {"DECIMAL", "DECIMAL(10, 0)"},
               {"DEC(5)", "DECIMAL(5, 0)"},
               {"NUMERIC ( 38 , 38 )", "DECIMAL(38, 38)"},
               {"CHAR", "CHAR(1)"},
               {"CHAR(2147483647)", "CHAR(2147483647)"},
               {"VARCHAR", "VARCHAR(1)"},
               {"VARCHAR(2147483647)", "STRING"},
               {"STRING", "STRING"},
               {"BINARY", "BINARY(1)"},
               {"VARBINARY(16)", "VARBINARY(16)"},
               {"BYTES", "BYTES"},
               {"DATE", "DATE"},
               {"TIME", "TIME(0)"},
               {"TIME(3) WITHOUT TIME ZONE", "TIME(3)"},
               {"TIMESTAMP", "TIMESTAMP(6)"},
               {"TIMESTAMP(9) WITHOUT TIME ZONE NOT NULL", "TIMESTAMP(9) NOT NULL"},
               {"TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP(3) WITH LOCAL TIME ZONE"},
               {"TIMESTAMP_LTZ", "TIMESTAMP(6) WITH LOCAL TIME ZONE"},
               {"timestamp_ltz(0)", "TIMESTAMP(0) WITH LOCAL TIME ZONE"},
               {"VARIANT", "VARIANT"},
               {"BLOB", "BLOB"},
               {"INT NOT NULL ARRAY NOT NULL", "ARRAY<INT NOT NULL> NOT NULL"},
               {"INT MULTISET", "MULTISET<INT>"},
               {"VECTOR<FLOAT, 3>", "VECTOR<FLOAT, 3>"},
               {"ARRAY<ARRAY<INT>>", "ARRAY<ARRAY<INT>>"},
               {"MAP<STRING NOT NULL, MAP<INT, BIGINT>>", "MAP<STRING NOT NULL, MAP<INT, BIGINT>>"},
               {"ROW<a INT, `b c` STRING NOT NULL COMMENT 'it''s', date DATE>",
                "ROW<`a` INT, `b c` STRING NOT NULL COMMENT 'it''s', `date` DATE>"},
               {"ROW<`x``y` INT>", "ROW<`x``y` INT>"},
               {"ROW<>", "ROW<>"}};
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tn_buf text;
    sql_of(parse_type(t, cases[i].sql), t->env, &text);
    assert_string_equal((char *)text.data, cases[i].printed);
    tn_buf_reset(&text);
  }
}

static void type_from_sql__refuses_with_a_position(void **state) {
  column_test *t = *state;
  static const struct {
    const char *sql, *message;
    tarn_status status;
  } cases[] = {
      {"", "ends where a type is expected; at byte 0", TARN_E_INVALID},
      {"INTT", "found \"INTT\"; at byte 0", TARN_E_INVALID},
      {"INT INT", "expected the end, found \"INT\"; at byte 4", TARN_E_INVALID},
      {"INT NOT", "expected NOT NULL, found \"NOT\"; at byte 4", TARN_E_INVALID},
      {"CHAR(0)", "expected a number from 1 to 2147483647, found \"0\"; at byte 5", TARN_E_INVALID},
      {"CHAR(2147483648)", "at byte 5", TARN_E_INVALID},
      {"CHAR(99999999999999999999999)", "at byte 5", TARN_E_INVALID},
      {"CHAR(3", "ends where ')' is expected", TARN_E_INVALID},
      {"DECIMAL(39)", "from 1 to 38", TARN_E_INVALID},
      {"DECIMAL(5, 6)", "from 0 to 5", TARN_E_INVALID},
      {"TIMESTAMP(10)", "from 0 to 9", TARN_E_INVALID},
      {"TIMESTAMP WITH TIME ZONE", "expected LOCAL", TARN_E_INVALID},
      {"STRING(3)", "expected the end", TARN_E_INVALID},
      {"ARRAY<>", "expected a type, found \">\"; at byte 6", TARN_E_INVALID},
      {"MAP<INT>", "expected ','", TARN_E_INVALID},
      {"VECTOR<STRING, 3>", "FLOAT or DOUBLE", TARN_E_INVALID},
      {"VECTOR<FLOAT, 0>", "at byte 14", TARN_E_INVALID},
      {"ROW<a INT, a INT>", "different names", TARN_E_INVALID},
      {"ROW<a INT", "ends where '>' is expected", TARN_E_INVALID},
      {"ROW<`a INT>", "expected a name", TARN_E_INVALID},
      {"ROW<'a' INT>", "expected a field name", TARN_E_INVALID},
      {"ROW<a INT COMMENT b>", "single quotes", TARN_E_INVALID},
      {"GEOMETRY(4326)", "GEOMETRY columns are not supported", TARN_E_UNSUPPORTED},
      {"INTERVAL", "expected a type", TARN_E_INVALID}};
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tarn_error err;
    tn_type type;
    assert_int_equal(tn_type_from_sql(&t->arena, cases[i].sql, NULL, &type, &err), cases[i].status);
    if (strstr(err.message, cases[i].message) == NULL) {
      fail_msg("%s: \"%s\" is not in \"%s\"", cases[i].sql, cases[i].message, err.message);
    }
  }
}

static void type_from_sql__bounds_the_depth(void **state) {
  column_test *t = *state;
  char sql[1024] = "";
  tn_type type;
  tarn_error err;
  for (int depth = 63; depth <= 64; depth++) {
    sql[0] = '\0';
    for (int i = 0; i < depth; i++) {
      memcpy(sql + strlen(sql), "ARRAY<", 7);
    }
    memcpy(sql + strlen(sql), "INT", 4);
    for (int i = 0; i < depth; i++) {
      memcpy(sql + strlen(sql), ">", 2);
    }
    assert_int_equal(tn_type_from_sql(&t->arena, sql, NULL, &type, &err),
                     depth == 63 ? TARN_OK : TARN_E_LIMIT);
  }
}

/* Spec: snapshot-schema, "Assignment order": c_row ROW<a INT, b ROW<x STRING>> gives a, x, b. */
static void type_from_sql__numbers_a_field_after_those_inside_it(void **state) {
  column_test *t = *state;
  int32_t next = 29;
  tn_type type;
  tarn_error err;
  assert_int_equal(tn_type_from_sql(&t->arena, "ROW<a INT, b ROW<x STRING>>", &next, &type, &err),
                   TARN_OK);
  assert_int_equal(next, 32);
  assert_int_equal(type.fields[0].id, 29);
  assert_int_equal(type.fields[1].id, 31);
  assert_int_equal(type.fields[1].type.fields[0].id, 30);
}

static tarn_status from_json(column_test *t, const char *json, tn_type *out, tarn_error *err) {
  tn_json_doc *doc;
  tarn_status st;
  TN_TRY(tn_json_parse(&t->env->mem, tn_slice_text(json), "schema-0", &doc, err));
  st = tn_type_from_json(&t->arena, tn_json_root(doc), "schema-0: column v", out, err);
  tn_json_free(doc);
  return st;
}

static void type_from_json__round_trips_to_what_java_writes(void **state) {
  column_test *t = *state;
  static const struct {
    const char *json, *written; /* NULL: the same */
  } cases[] = {
      {"\"DECIMAL(10, 2) NOT NULL\"", NULL},
      {"\"int\"", "\"INT\""},
      {"\"VECTOR<FLOAT, 3>\"", "{\"type\":\"VECTOR\",\"element\":\"FLOAT\",\"length\":3}"},
      {"\"INT ARRAY\"", "{\"type\":\"ARRAY\",\"element\":\"INT\"}"},
      {"{\"type\":\"ARRAY NOT NULL\",\"element\":\"INT NOT NULL\"}", NULL},
      {"{\"type\":\"MULTISET\",\"element\":\"STRING\"}", NULL},
      {"{\"type\":\"MAP\",\"key\":\"STRING NOT NULL\",\"value\":{\"type\":\"ARRAY\","
       "\"element\":\"DATE\"}}",
       NULL},
      {"{\"type\":\"VECTOR NOT NULL\",\"element\":\"DOUBLE\",\"length\":7}", NULL},
      {"{\"type\":\"ROW NOT NULL\",\"fields\":[{\"id\":3,\"name\":\"a\",\"type\":\"INT\"},{\"id\":"
       "5,\"name\":\"b\",\"type\":{\"type\":\"ROW\",\"fields\":[{\"id\":4,\"name\":\"x\",\"type\":"
       "\"STRING\",\"description\":\"d\",\"defaultValue\":\"'v'\"}]}}]}",
       NULL},
      {"{\"type\":\"ROW\",\"fields\":[{\"name\":\"a\",\"type\":\"INT\"},{\"name\":\"b\",\"type\":"
       "\"INT\"}]}",
       "{\"type\":\"ROW\",\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"INT\"},{\"id\":1,"
       "\"name\":\"b\",\"type\":\"INT\"}]}"}};
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tarn_error err;
    tn_type type, copy;
    tn_buf out;
    tn_buf_init(&out, &t->env->mem, 1 << 20);
    assert_int_equal(from_json(t, cases[i].json, &type, &err), TARN_OK);
    assert_int_equal(tn_type_copy(&t->arena, &type, &copy, &err), TARN_OK);
    assert_true(tn_type_equal(&type, &copy, true));
    assert_int_equal(tn_type_to_json(&copy, &out, &err), TARN_OK);
    assert_int_equal(tn_buf_append(&out, "", 1, &err), TARN_OK);
    assert_string_equal((char *)out.data,
                        cases[i].written != NULL ? cases[i].written : cases[i].json);
    tn_buf_reset(&out);
  }
}

static void type_from_json__refuses_what_is_no_type(void **state) {
  column_test *t = *state;
  static const struct {
    const char *json, *message;
    tarn_status status;
  } cases[] = {
      {"5", "neither a text nor an object", TARN_E_CORRUPT},
      {"\"ARRAY<INT>\"", "expected a type", TARN_E_CORRUPT},
      {"\"ROW<a INT>\"", "expected a type", TARN_E_CORRUPT},
      {"\"GEOGRAPHY\"", "schema-0: column v: GEOGRAPHY columns", TARN_E_UNSUPPORTED},
      {"{\"type\":\"LIST\",\"element\":\"INT\"}", "unknown type \"LIST\"", TARN_E_CORRUPT},
      {"{\"type\":\"array\",\"element\":\"INT\"}", "unknown type", TARN_E_CORRUPT},
      {"{\"type\":\"ARRAY\"}", "is missing", TARN_E_CORRUPT},
      {"{\"element\":\"INT\"}", "type", TARN_E_CORRUPT},
      {"{\"type\":\"MAP\",\"key\":\"INT\"}", "is missing", TARN_E_CORRUPT},
      {"{\"type\":\"ROW\"}", "no list of fields", TARN_E_CORRUPT},
      {"{\"type\":\"ROW\",\"fields\":[1]}", "not an object", TARN_E_CORRUPT},
      {"{\"type\":\"ROW\",\"fields\":[{\"id\":1,\"type\":\"INT\"}]}", "no name", TARN_E_CORRUPT},
      {"{\"type\":\"ROW\",\"fields\":[{\"id\":-1,\"name\":\"a\",\"type\":\"INT\"}]}",
       "out of range", TARN_E_CORRUPT},
      {"{\"type\":\"ROW\",\"fields\":[{\"id\":1,\"name\":\"a\",\"type\":\"INT\"},{\"name\":\"b\","
       "\"type\":\"INT\"}]}",
       "some fields have an id", TARN_E_CORRUPT},
      {"{\"type\":\"ROW\",\"fields\":[{\"id\":1,\"name\":\"a\",\"type\":\"INT\"},{\"id\":2,"
       "\"name\":\"a\",\"type\":\"INT\"}]}",
       "two fields named \"a\"", TARN_E_CORRUPT},
      {"{\"type\":\"VECTOR\",\"element\":\"STRING\",\"length\":3}", "VECTOR", TARN_E_CORRUPT},
      {"{\"type\":\"VECTOR\",\"element\":\"INT\",\"length\":0}", "VECTOR", TARN_E_CORRUPT},
      {"{\"type\":\"VECTOR\",\"element\":\"INT\"}", "length", TARN_E_CORRUPT}};
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tarn_error err;
    tn_type type;
    assert_int_equal(from_json(t, cases[i].json, &type, &err), cases[i].status);
    if (strstr(err.message, cases[i].message) == NULL) {
      fail_msg("%s: \"%s\" is not in \"%s\"", cases[i].json, cases[i].message, err.message);
    }
  }
}

static void type_layout__follows_the_precision_of_timestamps(void **state) {
  column_test *t = *state;
  static const struct {
    const char *sql;
    tn_layout layout;
  } cases[] = {{"TIMESTAMP(0)", TN_LAYOUT_I64},
               {"TIMESTAMP(6)", TN_LAYOUT_I64},
               {"TIMESTAMP(7)", TN_LAYOUT_I128},
               {"TIMESTAMP_LTZ(9)", TN_LAYOUT_I128},
               {"TIME(9)", TN_LAYOUT_I32},
               {"DECIMAL(1, 0)", TN_LAYOUT_I128},
               {"VECTOR<INT, 2>", TN_LAYOUT_FIXED_LIST},
               {"VARIANT", TN_LAYOUT_STRUCT}};
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    assert_int_equal(tn_type_layout(parse_type(t, cases[i].sql)), cases[i].layout);
  }
  assert_int_equal(tn_timestamp_ticks(3), 1000);
  assert_int_equal(tn_timestamp_ticks(4), 1000000);
  assert_int_equal(tn_timestamp_ticks(7), 1000000000);
}

static void type_equal__goes_by_ids_of_fields(void **state) {
  column_test *t = *state;
  int32_t ids = 1, other = 2, same = 1;
  tn_type a, b, c;
  tarn_error err;
  assert_int_equal(tn_type_from_sql(&t->arena, "ROW<a INT>", &ids, &a, &err), TARN_OK);
  assert_int_equal(tn_type_from_sql(&t->arena, "ROW<a INT>", &other, &b, &err), TARN_OK);
  assert_int_equal(tn_type_from_sql(&t->arena, "ROW<z INT NOT NULL>", &same, &c, &err), TARN_OK);
  assert_false(tn_type_equal(&a, &b, false));
  assert_true(tn_type_equal(&a, &c, false));
  assert_false(tn_type_equal(&a, &c, true));
  assert_false(tn_type_equal(parse_type(t, "ROW<a INT>"), parse_type(t, "ROW<b INT>"), false));
  assert_false(
      tn_type_equal(parse_type(t, "DECIMAL(5, 2)"), parse_type(t, "DECIMAL(5, 3)"), false));
}

static void fields_find__is_exact(void **state) {
  static const tn_field fields[] = {{.id = 7, .name = "a"}, {.id = 3, .name = "A"}};
  (void)state;
  assert_int_equal(tn_fields_find(fields, 2, tn_slice_text("A")), 1);
  assert_int_equal(tn_fields_find(fields, 2, tn_slice_text("b")), -1);
  assert_int_equal(tn_fields_find_id(fields, 2, 7), 0);
  assert_int_equal(tn_fields_find_id(fields, 2, 1), -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      column_unit_test(type_from_sql__accepts_what_java_accepts),
      column_unit_test(type_from_sql__refuses_with_a_position),
      column_unit_test(type_from_sql__bounds_the_depth),
      column_unit_test(type_from_sql__numbers_a_field_after_those_inside_it),
      column_unit_test(type_from_json__round_trips_to_what_java_writes),
      column_unit_test(type_from_json__refuses_what_is_no_type),
      column_unit_test(type_layout__follows_the_precision_of_timestamps),
      column_unit_test(type_equal__goes_by_ids_of_fields),
      cmocka_unit_test(fields_find__is_exact)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
