/* test_cli_rows_in.c - rows from JSON and CSV: what is taken comes out as it went in, and what is
 * refused is told by place, column, expectation and value. */
#include "cell.h"
#include "csv_rows.h"
#include "nanoarrow/nanoarrow.h"
#include "support/test.h"

typedef struct fixture {
  tarn_env *env;
  cli_columns *columns;
  cli_text scratch;
  cli_row_fault fault;
} fixture;

/* name, format, whether it takes NULL; two blanks in front: a child of the one before. */
typedef struct column_text {
  const char *name, *format;
  int64_t n_children;
  bool takes_null;
  const char *extension;
} column_text;

static const column_text COLUMNS[] = {
    {"id", "i", 0, false, NULL},       {"t", "c", 0, true, NULL},
    {"big", "l", 0, true, NULL},       {"ok", "b", 0, true, NULL},
    {"f", "f", 0, true, NULL},         {"d", "g", 0, true, NULL},
    {"dec", "d:10,2", 0, true, NULL},  {"wide", "d:38,10", 0, true, NULL},
    {"s", "u", 0, true, NULL},         {"b", "z", 0, true, NULL},
    {"day", "tdD", 0, true, NULL},     {"time", "ttm", 0, true, NULL},
    {"sec", "tss:", 0, true, NULL},    {"us", "tsu:", 0, true, NULL},
    {"ns", "tsn:", 0, true, NULL},     {"z", "tsm:UTC", 0, true, NULL},
    {"a", "+l", 1, true, NULL},        {"item", "i", 0, true, NULL},
    {"v", "+w:2", 1, true, NULL},      {"item", "f", 0, true, NULL},
    {"m", "+m", 1, true, NULL},        {"entries", "+s", 2, false, NULL},
    {"key", "u", 0, false, NULL},      {"value", "i", 0, true, NULL},
    {"r", "+s", 2, true, NULL},        {"x", "i", 0, true, NULL},
    {"y", "+l", 1, true, NULL},        {"item", "+s", 1, true, NULL},
    {"w", "u", 0, false, NULL},        {"j", "+s", 2, true, "arrow.parquet.variant"},
    {"metadata", "z", 0, false, NULL}, {"value", "z", 0, false, NULL},
};
#define N_COLUMNS 21

/* The schema of COLUMNS[*at] and what is nested in it. */
static void make_column(struct ArrowSchema *schema, size_t *at) {
  const column_text *c = &COLUMNS[(*at)++];
  ArrowSchemaInit(schema);
  assert_int_equal(ArrowSchemaSetFormat(schema, c->format), NANOARROW_OK);
  assert_int_equal(ArrowSchemaSetName(schema, c->name), NANOARROW_OK);
  schema->flags = c->takes_null ? ARROW_FLAG_NULLABLE : 0;
  if (c->extension != NULL) {
    struct ArrowBuffer metadata;
    assert_int_equal(ArrowMetadataBuilderInit(&metadata, NULL), NANOARROW_OK);
    assert_int_equal(ArrowMetadataBuilderAppend(&metadata, ArrowCharView("ARROW:extension:name"),
                                                ArrowCharView(c->extension)),
                     NANOARROW_OK);
    assert_int_equal(ArrowSchemaSetMetadata(schema, (const char *)metadata.data), NANOARROW_OK);
    ArrowBufferReset(&metadata);
  }
  if (c->n_children > 0) {
    assert_int_equal(ArrowSchemaAllocateChildren(schema, c->n_children), NANOARROW_OK);
    for (int64_t i = 0; i < c->n_children; i++) {
      make_column(schema->children[i], at);
    }
  }
}

static void make_schema(struct ArrowSchema *schema) {
  size_t at = 0;
  ArrowSchemaInit(schema);
  assert_int_equal(ArrowSchemaSetFormat(schema, "+s"), NANOARROW_OK);
  assert_int_equal(ArrowSchemaAllocateChildren(schema, N_COLUMNS), NANOARROW_OK);
  for (int i = 0; i < N_COLUMNS; i++) {
    make_column(schema->children[i], &at);
  }
  assert_int_equal(at, sizeof(COLUMNS) / sizeof(COLUMNS[0]));
}

static int begin(void **state) {
  fixture *f = calloc(1, sizeof(*f));
  tarn_env_options options = TARN_ENV_OPTIONS_INIT;
  struct ArrowSchema schema;
  tarn_error err;
  assert_non_null(f);
  assert_works(tarn_env_create(&options, &f->env, &err), err);
  make_schema(&schema);
  assert_works(cli_columns_create(f->env, &schema, 0, "_row_kind", &f->columns, &err), err);
  assert_works(cli_columns_begin(f->columns, &err), err);
  *state = f;
  return 0;
}

static int end(void **state) {
  fixture *f = *state;
  cli_columns_free(f->columns);
  cli_text_reset(&f->scratch);
  tarn_env_free(f->env);
  free(f);
  return 0;
}

/* The text in memory of its own, with the line break that must follow it. */
static bool add_json(fixture *f, const char *json) {
  size_t n = strlen(json);
  char *text = malloc(n + 1);
  int64_t before = cli_columns_rows(f->columns);
  bool is_good;
  assert_non_null(text);
  memcpy(text, json, n);
  text[n] = '\n';
  is_good = cli_json_row(f->columns, text, n, &f->scratch, &f->fault);
  free(text);
  if (!is_good) {
    cli_columns_cut(f->columns, before);
  }
  return is_good;
}

static void take_json(fixture *f, const char *json) {
  if (!add_json(f, json)) {
    fail_msg("%s: %s", json, f->fault.message);
  }
}

/* Row i of the batch as JSON, as 'table read' prints it; in pieces of `"name":value`. */
static void row_json(fixture *f, int64_t row, cli_text *out) {
  struct ArrowSchema schema, copy;
  struct ArrowArray array;
  cli_cells *cells;
  tarn_error err;
  assert_works(cli_columns_finish(f->columns, &schema, &array, &err), err);
  assert_int_equal(ArrowSchemaDeepCopy(&schema, &copy), NANOARROW_OK);
  assert_works(cli_cells_create(f->env, &copy, false, &cells, &err), err);
  assert_works(cli_cells_bind(cells, &array, &err), err);
  for (int32_t i = 0; i < cells->root.n_children; i++) {
    cli_text_add(out, cells->root.children[i].key.data, cells->root.children[i].key.len);
    cli_cell_json(&cells->root.children[i], row, out);
    cli_text_char(out, '\n');
  }
  cli_text_char(out, '\0');
  cli_cells_free(cells);
}

static void expect_in_row(fixture *f, int64_t row, const char *piece) {
  cli_text text = {0};
  row_json(f, row, &text);
  assert_contains(text.data, piece);
  cli_text_reset(&text);
}

/* ------------------------------------------------------------------ JSON */

/* Members, and what they are printed as. */
static void json_row__takes_what_is_printed(void **state) {
  static const struct {
    const char *member, *printed; /* NULL: the same */
  } CASES[] = {
      {"\"t\":-128", NULL},
      {"\"t\":127", NULL},
      {"\"t\":1.0", "\"t\":1"},
      {"\"t\":1e2", "\"t\":100"},
      {"\"big\":-9223372036854775808", NULL},
      {"\"big\":9223372036854775807", NULL},
      {"\"ok\":true", NULL},
      {"\"ok\" : false", "\"ok\":false"},
      {"\"f\":3.4028235E38", NULL},
      {"\"f\":\"NaN\"", NULL},
      {"\"f\":0.1", NULL},
      {"\"d\":-0.0", NULL},
      {"\"d\":1.7976931348623157E308", NULL},
      {"\"d\":4.9E-324", NULL},
      {"\"d\":9007199254740993", "\"d\":9.007199254740992E15"},
      {"\"d\":0.30000000000000004", NULL},
      {"\"d\":\"-Infinity\"", NULL},
      {"\"dec\":\"-12345678.90\"", NULL},
      {"\"dec\":7", "\"dec\":\"7.00\""},
      {"\"dec\":\"1E+3\"", "\"dec\":\"1000.00\""},
      {"\"dec\":0.500", "\"dec\":\"0.50\""},
      {"\"dec\":\"-0\"", "\"dec\":\"0.00\""},
      {"\"wide\":\"-9999999999999999999999999999.9999999999\"", NULL},
      {"\"s\":\"\"", NULL},
      {"\"s\":\"\\u00e4\\ud83d\\ude00\\n\\/\\\"\\\\\"",
       "\"s\":\"\xc3\xa4\xf0\x9f\x98\x80\\n/\\\"\\\\\""},
      {"\"b\":\"\"", NULL},
      {"\"b\":\"0aFF\"", "\"b\":\"0aff\""},
      {"\"day\":\"2024-02-29\"", NULL},
      {"\"day\":\"0001-01-01\"", NULL},
      {"\"day\":\"-0044-03-15\"", NULL},
      {"\"day\":\"+12345-12-31\"", NULL},
      {"\"time\":\"23:59:59.999\"", NULL},
      {"\"time\":\"12:30\"", "\"time\":\"12:30:00.000\""},
      {"\"sec\":\"1969-12-31T23:59:59\"", "\"sec\":\"1969-12-31T23:59:59.000000000\""},
      {"\"us\":\"2024-02-29 12:34:56.123456000\"", "\"us\":\"2024-02-29T12:34:56.123456000\""},
      {"\"us\":\"2024-02-29\"", "\"us\":\"2024-02-29T00:00:00.000000000\""},
      {"\"ns\":\"1906-08-16T20:26:41.046514840\"", NULL},
      {"\"ns\":\"1969-12-31T23:59:59.999999999\"", NULL},
      {"\"ns\":\"9999-12-31T23:59:59.999999999\"", NULL},
      {"\"ns\":\"0001-01-01T00:00:00.000000001\"", NULL},
      {"\"ns\":\"-292275055-05-16T16:47:04.192000001\"", NULL},
      {"\"ns\":\"+292278994-08-17T07:12:55.807999999\"", NULL},
      {"\"z\":\"2024-02-29T12:34:56.123Z\"", "\"z\":\"2024-02-29T12:34:56.123000000Z\""},
      {"\"z\":\"2024-02-29T12:34:56+02:00\"", "\"z\":\"2024-02-29T10:34:56.000000000Z\""},
      {"\"a\":[]", NULL},
      {"\"a\":[ 1 , null,3]", "\"a\":[1,null,3]"},
      {"\"v\":[1.5,2]", "\"v\":[1.5,2.0]"},
      {"\"m\":[]", NULL},
      {"\"m\":[[\"k\",1],[\"l\",null]]", NULL},
      {"\"m\":{\"k\":1,\"l\":null}", "\"m\":[[\"k\",1],[\"l\",null]]"},
      {"\"r\":{}", "\"r\":{\"x\":null,\"y\":null}"},
      {"\"r\":{\"y\":[{\"w\":\"q\"},null],\"x\":1}", "\"r\":{\"x\":1,\"y\":[{\"w\":\"q\"},null]}"},
      {"\"j\":{\"json\":\"{\\\"a\\\":[1,2.50]}\"}", "\"j\":{\"json\":\"{\\\"a\\\":[1,2.5]}\"}"},
      {"\"j\":\"true\"", "\"j\":{\"json\":\"true\"}"},
      {"\"j\":null", NULL},
  };
  fixture *f = *state;
  for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
    char json[256];
    snprintf(json, sizeof(json), "{\"id\":%zu,%s}", i, CASES[i].member);
    take_json(f, json);
  }
  for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
    expect_in_row(f, (int64_t)i, CASES[i].printed != NULL ? CASES[i].printed : CASES[i].member);
  }
}

/* The place (bytes from 0), and parts of the message. */
static void json_row__tells_what_is_wrong(void **state) {
  static const struct {
    const char *json;
    size_t at;
    const char *parts[3];
  } CASES[] = {
      {"[1]", 0, {"an object", "[1"}},
      {"{\"id\":1", 7, {"a comma or }", "the end"}},
      {"{\"id\":1}}", 8, {"the end of the line"}},
      {"{\"id\":1,}", 8, {"the name of a column in quotes"}},
      {"{\"id\" 1}", 6, {"a colon"}},
      {"{id:1}", 1, {"the name of a column"}},
      {"{\"id\":1,\"idd\":2}", 8, {"there is no column 'idd'", "did you mean 'id'?"}},
      {"{\"id\":1,\"_rowkind\":2}", 8, {"did you mean '_row_kind'?"}},
      {"{\"id\":1,\"id\":2}", 8, {"'id' comes twice"}},
      {"{\"id\":1,\"_row_kind\":\"+I\",\"_row_kind\":\"-D\"}", 25, {"'_row_kind' comes twice"}},
      {"{\"id\":1,\"_row_kind\":\"X\"}", 20, {"\"+I\", \"-U\"", "\"X\""}},
      {"{\"t\":1}", 0, {"column 'id'", "the row has no value for it"}},
      {"{\"id\":null}", 6, {"column 'id'", "NOT NULL", "null"}},
      {"{\"id\":\"1\"}", 6, {"column 'id'", "a whole number", "\"1\""}},
      {"{\"id\":2147483648}", 6, {"from -2147483648 to 2147483647", "2147483648"}},
      {"{\"id\":1,\"t\":-129}", 12, {"from -128 to 127"}},
      {"{\"id\":1,\"t\":1.5}", 12, {"a whole number", "1.5"}},
      {"{\"id\":1,\"big\":9223372036854775808}", 14, {"9223372036854775807"}},
      {"{\"id\":1,\"big\":1e30}", 14, {"a whole number"}},
      {"{\"id\":01}", 6, {"a whole number"}},
      {"{\"id\":+1}", 6, {"a whole number"}},
      {"{\"id\":1,\"ok\":1}", 13, {"true or false"}},
      {"{\"id\":1,\"ok\":tru}", 13, {"true or false"}},
      {"{\"id\":1,\"f\":3.5E38}", 12, {"a number"}},
      {"{\"id\":1,\"d\":1e309}", 12, {"a number"}},
      {"{\"id\":1,\"d\":\"1\"}", 12, {"a number"}},
      {"{\"id\":1,\"d\":.5}", 12, {"a number"}},
      {"{\"id\":1,\"d\":1.}", 12, {"a number"}},
      {"{\"id\":1,\"dec\":\"123456789.00\"}", 14, {"8 digits in front", "2 behind"}},
      {"{\"id\":1,\"dec\":\"0.001\"}", 14, {"2 behind", "\"0.001\""}},
      {"{\"id\":1,\"dec\":\"1e99999999999\"}", 14, {"a number"}},
      {"{\"id\":1,\"dec\":\"\"}", 14, {"a number"}},
      {"{\"id\":1,\"s\":1}", 12, {"a text", "1"}},
      {"{\"id\":1,\"s\":\"abc}", 17, {"the closing quote"}},
      {"{\"id\":1,\"s\":\"\\x\"}", 13, {"an escape"}},
      {"{\"id\":1,\"s\":\"\\ud800\"}", 13, {"hexadecimal digits of a character"}},
      {"{\"id\":1,\"s\":\"\xff\"}", 13, {"UTF-8", "0xff"}},
      {"{\"id\":1,\"s\":\"\xed\xa0\x80\"}", 13, {"UTF-8"}},
      {"{\"id\":1,\"b\":\"abc\"}", 12, {"pairs of hexadecimal digits"}},
      {"{\"id\":1,\"b\":\"0g\"}", 12, {"hexadecimal"}},
      {"{\"id\":1,\"day\":\"2023-02-29\"}", 14, {"a date", "\"2023-02-29\""}},
      {"{\"id\":1,\"day\":\"12345-01-01\"}", 14, {"a date"}},
      {"{\"id\":1,\"day\":19782}", 14, {"a date"}},
      {"{\"id\":1,\"time\":\"24:00:00\"}", 15, {"a time"}},
      {"{\"id\":1,\"time\":\"12:00:00.0001\"}", 15, {"a time"}},
      {"{\"id\":1,\"sec\":\"2024-01-01T00:00:00.5\"}", 14, {"up to 0 digits"}},
      {"{\"id\":1,\"us\":\"2024-01-01T00:00:00.1234567\"}", 13, {"up to 6 digits"}},
      {"{\"id\":1,\"us\":\"2024-01-01T00:00:00Z\"}", 13, {"a time"}},
      {"{\"id\":1,\"ns\":\"+292278995-01-01T00:00:00\"}", 13, {"a time of a year from"}},
      {"{\"id\":1,\"z\":\"2024-01-01T00:00:00\"}", 12, {"56.123Z"}},
      {"{\"id\":1,\"a\":{}}", 12, {"a list"}},
      {"{\"id\":1,\"a\":[1,]}", 15, {"column 'a.element'", "a whole number"}},
      {"{\"id\":1,\"a\":[1 2]}", 15, {"a comma or ]"}},
      {"{\"id\":1,\"v\":[1]}", 12, {"2 elements"}},
      {"{\"id\":1,\"v\":[1,2,3]}", 12, {"2 elements"}},
      {"{\"id\":1,\"m\":[[\"a\"]]}", 13, {"[key, value]"}},
      {"{\"id\":1,\"m\":[[\"a\",1,2]]}", 13, {"[key, value]"}},
      {"{\"id\":1,\"m\":[[null,1]]}", 14, {"'m.key'", "NOT NULL"}},
      {"{\"id\":1,\"m\":{\"a\":\"b\"}}", 17, {"'m.value'", "a whole number"}},
      {"{\"id\":1,\"r\":{\"z\":1}}", 13, {"there is no column 'r.z'"}},
      {"{\"id\":1,\"r\":{\"x\":1,\"x\":1}}", 19, {"'x' comes twice"}},
      {"{\"id\":1,\"r\":{\"y\":[{}]}}", 18, {"'r.y.element.w'", "no value for it"}},
      {"{\"id\":1,\"j\":{\"json\":1}}", 12, {"\"json\""}},
      {"{\"id\":1,\"j\":{\"json\":\"{\"}}", 20, {"a JSON text", "byte 2 of the JSON"}},
      {"{\"id\":1,\"j\":{\"jsn\":\"1\"}}", 12, {"{\"json\": \"...\"}"}},
  };
  fixture *f = *state;
  for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
    if (add_json(f, CASES[i].json)) {
      fail_msg("%s was taken", CASES[i].json);
    }
    for (size_t j = 0; j < 3 && CASES[i].parts[j] != NULL; j++) {
      if (strstr(f->fault.message, CASES[i].parts[j]) == NULL) {
        fail_msg("%s: %s", CASES[i].json, f->fault.message);
      }
    }
    if (f->fault.at != CASES[i].at) {
      fail_msg("%s: %s at %zu", CASES[i].json, f->fault.message, f->fault.at);
    }
  }
  assert_int_equal(cli_columns_rows(f->columns), 0);
}

/* Cut at any byte it is refused, and what was added of it goes. */
static void json_row__beginnings_leave_nothing_behind(void **state) {
  static const char json[] =
      "{\"id\":7,\"ok\":true,\"dec\":\"1.5\",\"s\":\"\\u00e4b\",\"a\":[1,2],\"v\":[1,2],"
      "\"m\":[[\"k\",1]],\"r\":{\"x\":1,\"y\":[{\"w\":\"q\"}]},\"j\":{\"json\":\"[1]\"}}";
  fixture *f = *state;
  take_json(f, "{\"id\":1,\"s\":\"first\",\"a\":[5],\"m\":[[\"k\",2]],\"ok\":false}");
  for (size_t n = 0; n + 1 < sizeof(json) - 1; n++) {
    char beginning[sizeof(json)];
    memcpy(beginning, json, n);
    beginning[n] = '\0';
    assert_false(add_json(f, beginning));
    assert_int_equal(cli_columns_rows(f->columns), 1);
  }
  take_json(f, json);
  expect_in_row(f, 0, "\"a\":[5]\n");
  expect_in_row(f, 0, "\"m\":[[\"k\",2]]\n");
  expect_in_row(f, 0, "\"ok\":false\n");
  expect_in_row(f, 1, "\"a\":[1,2]\n");
  expect_in_row(f, 1, "\"ok\":true\n");
  expect_in_row(f, 1, "\"r\":{\"x\":1,\"y\":[{\"w\":\"q\"}]}\n");
}

static void json_row__kinds_are_there_when_told(void **state) {
  fixture *f = *state;
  struct ArrowSchema schema;
  struct ArrowArray array;
  tarn_error err;
  const int8_t *kinds;
  take_json(f, "{\"id\":1}");
  assert_works(cli_columns_finish(f->columns, &schema, &array, &err), err);
  assert_int_equal(schema.n_children, N_COLUMNS);
  assert_works(cli_columns_begin(f->columns, &err), err);
  take_json(f, "{\"id\":1}");
  take_json(f, "{\"_row_kind\":\"-D\",\"id\":1}");
  take_json(f, "{\"id\":1,\"_row_kind\":\"+U\"}");
  assert_works(cli_columns_finish(f->columns, &schema, &array, &err), err);
  assert_int_equal(schema.n_children, N_COLUMNS + 1);
  assert_string_equal(schema.children[N_COLUMNS]->name, "_row_kind");
  kinds = array.children[N_COLUMNS]->buffers[1];
  assert_int_equal(kinds[0], 0);
  assert_int_equal(kinds[1], 3);
  assert_int_equal(kinds[2], 2);
}

/* ------------------------------------------------------------------ CSV */

typedef struct csv_result {
  int64_t n_rows, n_faults;
  char message[700];
} csv_result;

/* All records of a text, in pieces of at most `step` bytes at first. */
static csv_result read_csv(fixture *f, const char *text, bool has_header, const char *null_text) {
  cli_csv csv = {.columns = f->columns, .null_text = null_text};
  csv_result result = {0, 0, ""};
  size_t n = strlen(text), at = 0, known = 0;
  char *copy = malloc(n + 1);
  assert_non_null(copy);
  memcpy(copy, text, n);
  copy[n] = '\n';
  if (!has_header) {
    assert_true(cli_csv_no_header(&csv));
  }
  while (at < n) {
    size_t used = 0;
    cli_csv_found found;
    known = known > at ? known : at + 1; /* a byte more each time */
    found = cli_csv_split(&csv, copy + at, known - at, known == n, &used, &f->fault);
    if (found == CLI_CSV_MORE) {
      known++;
      assert_true(known <= n);
      continue;
    }
    if (found == CLI_CSV_FAULT) {
      result.n_faults++;
    } else if (has_header) {
      result.n_faults += !cli_csv_header(&csv, copy + at, &f->fault);
      has_header = false;
    } else if (!cli_csv_is_blank(&csv)) {
      int64_t before = cli_columns_rows(f->columns);
      if (cli_csv_row(&csv, copy + at, &f->fault)) {
        result.n_rows++;
      } else {
        cli_columns_cut(f->columns, before);
        result.n_faults++;
      }
    }
    if (result.n_faults == 1 && result.message[0] == '\0') {
      memcpy(result.message, f->fault.message, sizeof(result.message));
    }
    at += used;
  }
  cli_csv_reset(&csv);
  free(copy);
  return result;
}

static void csv__takes_records_as_rfc_4180_has_them(void **state) {
  static const struct {
    const char *text;
    const char *pieces[4]; /* of row 0 */
  } CASES[] = {
      {"id,s\n1,abc\n", {"\"id\":1\n", "\"s\":\"abc\"\n"}},
      {"s,id\nabc,1", {"\"id\":1\n", "\"s\":\"abc\"\n"}},
      {"id,s\r\n1,abc\r\n", {"\"s\":\"abc\"\n"}},
      {"\"id\",\"s\"\n1,\"a,\"\"b\"\"\nc\"\n", {"\"s\":\"a,\\\"b\\\"\\nc\"\n"}},
      {"id,s\n\n1,\n", {"\"s\":null\n"}},
      {"id,s\n1,\"\"\n", {"\"s\":\"\"\n"}},
      {"id,s\n1,a\"b\n", {"\"s\":\"a\\\"b\"\n"}},
      {"id,d,dec,day,b,ok\n1,NaN,1.5,2024-02-29,0aff,true\n",
       {"\"d\":\"NaN\"\n", "\"dec\":\"1.50\"\n", "\"day\":\"2024-02-29\"\n", "\"b\":\"0aff\"\n"}},
      {"id,a,m,r\n1,\"[1,2]\",\"[[\"\"k\"\",1]]\",\"{\"\"x\"\":1}\"\n",
       {"\"a\":[1,2]\n", "\"m\":[[\"k\",1]]\n", "\"r\":{\"x\":1,\"y\":null}\n"}},
      {"id,j\n1,\"{\"\"a\"\":1}\"\n", {"\"j\":{\"json\":\"{\\\"a\\\":1}\"}\n"}},
  };
  fixture *f = *state;
  for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
    tarn_error err;
    csv_result result;
    assert_works(cli_columns_begin(f->columns, &err), err);
    result = read_csv(f, CASES[i].text, true, NULL);
    if (result.n_rows != 1 || result.n_faults != 0) {
      fail_msg("%s: %lld rows, %s", CASES[i].text, (long long)result.n_rows, result.message);
    }
    for (size_t j = 0; j < 4 && CASES[i].pieces[j] != NULL; j++) {
      expect_in_row(f, 0, CASES[i].pieces[j]);
    }
  }
}

static void csv__text_of_null_may_be_another(void **state) {
  fixture *f = *state;
  csv_result result = read_csv(f, "id,s\n1,\\N\n2,\n3,\"\\N\"\n", true, "\\N");
  assert_int_equal(result.n_rows, 3);
  expect_in_row(f, 0, "\"s\":null\n");
  expect_in_row(f, 1, "\"s\":\"\"\n");
  expect_in_row(f, 2, "\"s\":\"\\\\N\"\n");
}

static void csv__tells_what_is_wrong(void **state) {
  static const struct {
    const char *text, *part;
    int64_t n_rows;
  } CASES[] = {
      {"id,ss\n", "there is no column 'ss'", 0},
      {"id,id\n", "'id' comes twice", 0},
      {"id,s\n1\n2,b\n", "expected 2 fields, found 1", 1},
      {"id,s\n1,a,b\n", "expected 2 fields, found 3", 0},
      {"id,s\nx,a\n2,b\n", "column 'id'", 1},
      {"s\na\n", "the row has no value for it", 0},
      {"id,s\n,a\n", "NOT NULL", 0},
      {"id,s\n1,\"a\"b\n2,b\n", "behind the closing quote", 1},
      {"id,s\n1,\"a\n2,b\n", "not closed", 1},
      {"id,s\n1,\xff\n", "0xff", 0},
      {"id,a\n1,\"[1,\"\"x\"\"]\"\n", "column 'a.element'", 0},
      {"id,_row_kind\n1,X\n2,-D\n", "+I, -U, +U or -D", 1},
  };
  fixture *f = *state;
  for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
    tarn_error err;
    csv_result result;
    assert_works(cli_columns_begin(f->columns, &err), err);
    result = read_csv(f, CASES[i].text, true, NULL);
    if (result.n_faults < 1 || strstr(result.message, CASES[i].part) == NULL ||
        result.n_rows != CASES[i].n_rows) {
      fail_msg("%s: %lld rows, %lld faults, %s", CASES[i].text, (long long)result.n_rows,
               (long long)result.n_faults, result.message);
    }
  }
}

static void csv__without_header_all_columns_come_in_order(void **state) {
  fixture *f = *state;
  csv_result result = read_csv(f, "1,2,3,true,,,,,text,,,,,,,,,,,,\n", false, NULL);
  assert_string_equal(result.message, "");
  assert_int_equal(result.n_rows, 1);
  expect_in_row(f, 0, "\"s\":\"text\"\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(json_row__takes_what_is_printed, begin, end),
      cmocka_unit_test_setup_teardown(json_row__tells_what_is_wrong, begin, end),
      cmocka_unit_test_setup_teardown(json_row__beginnings_leave_nothing_behind, begin, end),
      cmocka_unit_test_setup_teardown(json_row__kinds_are_there_when_told, begin, end),
      cmocka_unit_test_setup_teardown(csv__takes_records_as_rfc_4180_has_them, begin, end),
      cmocka_unit_test_setup_teardown(csv__text_of_null_may_be_another, begin, end),
      cmocka_unit_test_setup_teardown(csv__tells_what_is_wrong, begin, end),
      cmocka_unit_test_setup_teardown(csv__without_header_all_columns_come_in_order, begin, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
