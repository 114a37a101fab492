/* test_cli_cell.c - values of every Arrow type as text and JSON. */
#include "cell.h"

#include <math.h>

#include "support/test.h"

static void release_schema(struct ArrowSchema *schema) {
  schema->release = NULL;
}

/* A schema node over static memory. */
static struct ArrowSchema node(const char *format, const char *name, struct ArrowSchema **children,
                               int64_t n_children) {
  struct ArrowSchema schema = {0};
  schema.format = format;
  schema.name = name;
  schema.children = children;
  schema.n_children = n_children;
  schema.flags = ARROW_FLAG_NULLABLE;
  schema.release = release_schema;
  return schema;
}

static struct ArrowArray data(const void **buffers, int64_t n_buffers, int64_t length,
                              struct ArrowArray **children, int64_t n_children) {
  struct ArrowArray array = {0};
  array.length = length;
  array.null_count = buffers[0] != NULL ? -1 : 0;
  array.buffers = buffers;
  array.n_buffers = n_buffers;
  array.children = children;
  array.n_children = n_children;
  return array;
}

/* Both forms of value `row` of a column, which is put below a struct. */
static void print_value(struct ArrowSchema *schema, struct ArrowArray *array, int64_t row,
                        char *json, char *plain, size_t size) {
  struct ArrowSchema *schemas[1] = {schema};
  struct ArrowArray *arrays[1] = {array};
  const void *no_buffers[1] = {NULL};
  struct ArrowSchema root = node("+s", "", schemas, 1);
  struct ArrowArray batch = data(no_buffers, 1, array->length, arrays, 1);
  cli_text text = {0};
  cli_cells *cells;
  tarn_error err = {TARN_OK, 0, ""};
  assert_works(cli_cells_create(NULL, &root, false, &cells, &err), err);
  assert_works(cli_cells_bind(cells, &batch, &err), err);
  cli_cell_json(&cells->root.children[0], row, &text);
  cli_text_copy(&text, json, size);
  text.len = 0;
  if (!cli_cell_is_null(&cells->root.children[0], row)) {
    cli_cell_plain(&cells->root.children[0], row, &text);
  }
  cli_text_copy(&text, plain, size);
  cli_text_reset(&text);
  cli_cells_free(cells);
}

static void assert_fixed(const char *format, const void *value, const char *json,
                         const char *plain) {
  char got_json[256], got_plain[256];
  const void *buffers[2] = {NULL, value};
  struct ArrowSchema schema = node(format, "c", NULL, 0);
  struct ArrowArray array = data(buffers, 2, 1, NULL, 0);
  print_value(&schema, &array, 0, got_json, got_plain, sizeof(got_json));
  assert_string_equal(got_json, json);
  assert_string_equal(got_plain, plain);
}

/* ------------------------------------------------------------------ scalars */

static void cell__integers_and_booleans(void **state) {
  const int8_t i8 = -128;
  const int16_t i16 = 32767;
  const int32_t i32 = INT32_MIN;
  const int64_t i64 = INT64_MAX;
  const uint8_t bits = 1;
  (void)state;
  assert_fixed("b", &bits, "true", "true");
  assert_fixed("c", &i8, "-128", "-128");
  assert_fixed("s", &i16, "32767", "32767");
  assert_fixed("i", &i32, "-2147483648", "-2147483648");
  assert_fixed("l", &i64, "9223372036854775807", "9223372036854775807");
}

static void cell__floats_as_java_writes_them(void **state) {
  static const struct {
    double value;
    const char *json, *plain;
  } cases[] = {
      {1.0, "1.0", "1.0"},
      {-0.0, "-0.0", "-0.0"},
      {0.1, "0.1", "0.1"},
      {1e10, "1.0E10", "1.0E10"},
      {NAN, "\"NaN\"", "NaN"},
      {INFINITY, "\"Infinity\"", "Infinity"},
      {-INFINITY, "\"-Infinity\"", "-Infinity"},
  };
  const float single = 0.1F;
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    assert_fixed("g", &cases[i].value, cases[i].json, cases[i].plain);
  }
  assert_fixed("f", &single, "0.1", "0.1");
}

static void cell__decimals_keep_all_digits(void **state) {
  static const struct {
    const char *format;
    uint64_t low, high;
    const char *plain;
  } cases[] = {
      {"d:5,2", 0, 0, "0.00"},
      {"d:5,2", 5, 0, "0.05"},
      {"d:5,2", (uint64_t)-12345, UINT64_MAX, "-123.45"},
      {"d:5,0", 123, 0, "123"},
      {"d:5,0", (uint64_t)-1, UINT64_MAX, "-1"},
      /* 10^38 - 1, and its negative */
      {"d:38,0", 0x098A223FFFFFFFFF, 0x4B3B4CA85A86C47A, "99999999999999999999999999999999999999"},
      {"d:38,38", 0x098A223FFFFFFFFF, 0x4B3B4CA85A86C47A,
       "0.99999999999999999999999999999999999999"},
      {"d:38,10", 0xF675DDC000000001, 0xB4C4B357A5793B85,
       "-9999999999999999999999999999.9999999999"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    const uint64_t words[2] = {cases[i].low, cases[i].high};
    char json[64];
    snprintf(json, sizeof(json), "\"%s\"", cases[i].plain);
    assert_fixed(cases[i].format, words, json, cases[i].plain);
  }
}

static void cell__dates_of_all_years(void **state) {
  static const struct {
    int32_t days;
    const char *plain;
  } cases[] = {{0, "1970-01-01"},
               {-1, "1969-12-31"},
               {19782, "2024-02-29"},
               {11016, "2000-02-29"},
               {-25508, "1900-03-01"},
               {2932896, "9999-12-31"},
               {2932897, "+10000-01-01"},
               {-719162, "0001-01-01"},
               {-719163, "0000-12-31"},
               {-719529, "-0001-12-31"},
               {INT32_MAX, "+5881580-07-11"},
               {INT32_MIN, "-5877641-06-23"}};
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    char json[64];
    snprintf(json, sizeof(json), "\"%s\"", cases[i].plain);
    assert_fixed("tdD", &cases[i].days, json, cases[i].plain);
  }
}

static void cell__times_and_timestamps(void **state) {
  static const struct {
    const char *format;
    int64_t value;
    const char *json, *plain;
  } cases[] = {
      {"tss:", 0, "\"1970-01-01T00:00:00.000000000\"", "1970-01-01 00:00:00"},
      {"tsm:", 1709210096789, "\"2024-02-29T12:34:56.789000000\"", "2024-02-29 12:34:56.789"},
      {"tsu:", -1, "\"1969-12-31T23:59:59.999999000\"", "1969-12-31 23:59:59.999999"},
      {"tsn:", 1, "\"1970-01-01T00:00:00.000000001\"", "1970-01-01 00:00:00.000000001"},
      {"tsn:", INT64_MIN, "\"1677-09-21T00:12:43.145224192\"", "1677-09-21 00:12:43.145224192"},
      {"tsm:UTC", 0, "\"1970-01-01T00:00:00.000000000Z\"", "1970-01-01 00:00:00.000Z"},
  };
  const int32_t time = 45296789;
  (void)state;
  assert_fixed("ttm", &time, "\"12:34:56.789\"", "12:34:56.789");
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    assert_fixed(cases[i].format, &cases[i].value, cases[i].json, cases[i].plain);
  }
}

static void cell__texts_and_bytes(void **state) {
  const int32_t offsets[] = {0, 3, 3, 6};
  const void *buffers[3] = {NULL, offsets, "a\"b\x00\xff\x10"};
  struct ArrowArray array = data(buffers, 3, 3, NULL, 0);
  struct ArrowSchema text = node("u", "c", NULL, 0), bytes = node("z", "c", NULL, 0);
  char json[64], plain[64];
  (void)state;
  print_value(&text, &array, 0, json, plain, sizeof(json));
  assert_string_equal(json, "\"a\\\"b\"");
  assert_string_equal(plain, "a\"b");
  print_value(&text, &array, 1, json, plain, sizeof(json));
  assert_string_equal(json, "\"\"");
  print_value(&bytes, &array, 2, json, plain, sizeof(json));
  assert_string_equal(json, "\"00ff10\"");
  assert_string_equal(plain, "00ff10");
}

static void cell__nulls_behind_an_offset(void **state) {
  const int32_t values[] = {1, 2, 3, 4};
  const uint8_t valid = 0x0B; /* 1, 2, null, 4 */
  const void *buffers[2] = {&valid, values};
  struct ArrowArray array = data(buffers, 2, 3, NULL, 0);
  struct ArrowSchema schema = node("i", "c", NULL, 0);
  char json[64], plain[64];
  (void)state;
  array.offset = 1;
  print_value(&schema, &array, 0, json, plain, sizeof(json));
  assert_string_equal(json, "2");
  print_value(&schema, &array, 1, json, plain, sizeof(json));
  assert_string_equal(json, "null");
  print_value(&schema, &array, 2, json, plain, sizeof(json));
  assert_string_equal(json, "4");
}

/* ------------------------------------------------------------------ nested */

static void cell__lists_rows_and_vectors(void **state) {
  const int32_t values[] = {1, 2, 3, 4}, offsets[] = {0, 2, 2, 4};
  const uint8_t valid = 0x0D; /* the second is null */
  const void *value_buffers[2] = {&valid, values}, *list_buffers[2] = {NULL, offsets};
  const void *no_buffers[1] = {NULL};
  struct ArrowArray items = data(value_buffers, 2, 4, NULL, 0), *item[2] = {&items, &items};
  struct ArrowSchema number = node("i", "x\"", NULL, 0), other = node("i", "y", NULL, 0);
  struct ArrowSchema *children[2] = {&number, &other};
  struct ArrowSchema list = node("+l", "c", children, 1), vector = node("+w:2", "c", children, 1);
  struct ArrowSchema row = node("+s", "c", children, 2);
  struct ArrowArray lists = data(list_buffers, 2, 3, item, 1);
  struct ArrowArray vectors = data(no_buffers, 1, 2, item, 1);
  struct ArrowArray rows = data(no_buffers, 1, 4, item, 2);
  char json[64], plain[64];
  (void)state;
  print_value(&list, &lists, 0, json, plain, sizeof(json));
  assert_string_equal(json, "[1,null]");
  print_value(&list, &lists, 1, json, plain, sizeof(json));
  assert_string_equal(json, "[]");
  print_value(&vector, &vectors, 1, json, plain, sizeof(json));
  assert_string_equal(json, "[3,4]");
  print_value(&row, &rows, 0, json, plain, sizeof(json));
  assert_string_equal(json, "{\"x\\\"\":1,\"y\":1}");
  assert_string_equal(plain, json);
}

static void cell__maps_in_the_order_of_their_keys_text(void **state) {
  /* U+10000 comes before U+E000 in UTF-16, though not in UTF-8. */
  const int32_t key_ends[] = {0, 1, 4, 8, 10}, values[] = {1, 2, 3, 4}, offsets[] = {0, 4};
  const void *key_buffers[3] = {NULL, key_ends,
                                "b\xEE\x80\x80\xF0\x90\x80\x80"
                                "ab"};
  const void *value_buffers[2] = {NULL, values}, *map_buffers[2] = {NULL, offsets};
  const void *no_buffers[1] = {NULL};
  struct ArrowSchema key = node("u", "key", NULL, 0), value = node("i", "value", NULL, 0);
  struct ArrowSchema *pair[2] = {&key, &value};
  struct ArrowSchema entries = node("+s", "entries", pair, 2), *entry[1] = {&entries};
  struct ArrowSchema map = node("+m", "c", entry, 1);
  struct ArrowArray keys = data(key_buffers, 3, 4, NULL, 0);
  struct ArrowArray numbers = data(value_buffers, 2, 4, NULL, 0);
  struct ArrowArray *columns[2] = {&keys, &numbers};
  struct ArrowArray pairs = data(no_buffers, 1, 4, columns, 2), *inside[1] = {&pairs};
  struct ArrowArray maps = data(map_buffers, 2, 1, inside, 1);
  char json[128], plain[128];
  (void)state;
  print_value(&map, &maps, 0, json, plain, sizeof(json));
  assert_string_equal(json, "[[\"ab\",4],[\"b\",1],[\"\xF0\x90\x80\x80\",3],[\"\xEE\x80\x80\",2]]");
}

static void cell__variant_that_is_damaged_is_an_error(void **state) {
  const int32_t offsets[] = {0, 1};
  const void *buffers[3] = {NULL, offsets, "\xFF"}, *no_buffers[1] = {NULL};
  /* One pair of metadata: ARROW:extension:name = arrow.parquet.variant. */
  static const char metadata[] =
      "\x01\x00\x00\x00\x14\x00\x00\x00"
      "ARROW:extension:name"
      "\x15\x00\x00\x00"
      "arrow.parquet.variant";
  struct ArrowSchema part = node("z", "metadata", NULL, 0), *parts[2] = {&part, &part};
  struct ArrowSchema variant = node("+s", "v", parts, 2), *columns[1] = {&variant};
  struct ArrowSchema root = node("+s", "", columns, 1);
  struct ArrowArray bytes = data(buffers, 3, 1, NULL, 0), *both[2] = {&bytes, &bytes};
  struct ArrowArray value = data(no_buffers, 1, 1, both, 2), *values[1] = {&value};
  struct ArrowArray batch = data(no_buffers, 1, 1, values, 1);
  tarn_env *env;
  cli_cells *cells;
  cli_text text = {0};
  tarn_error err;
  (void)state;
  variant.metadata = metadata;
  assert_works(tarn_env_create(NULL, &env, &err), err);
  assert_works(cli_cells_create(env, &root, false, &cells, &err), err);
  assert_works(cli_cells_bind(cells, &batch, &err), err);
  cli_cell_json(&cells->root.children[0], 0, &text);
  assert_int_equal(cells->error.status, TARN_E_CORRUPT);
  cli_text_reset(&text);
  cli_cells_free(cells);
  tarn_env_free(env);
}

static void cells__refuse_what_they_cannot_print(void **state) {
  static const char *const formats[] = {"U", "Z", "vu", "w:4", "d:9,2,256", "tDm", "+L", "?"};
  tarn_error err;
  (void)state;
  for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
    struct ArrowSchema column = node(formats[i], "c", NULL, 0), *columns[1] = {&column};
    struct ArrowSchema root = node("+s", "", columns, 1);
    cli_cells *cells;
    if (cli_cells_create(NULL, &root, false, &cells, &err) != TARN_E_UNSUPPORTED) {
      fail_msg("accepted: %s", formats[i]);
    }
    assert_contains(err.message, formats[i]);
    assert_null(root.release);
  }
}

static void cells__refuse_a_batch_of_another_layout(void **state) {
  struct ArrowSchema column = node("i", "c", NULL, 0), *columns[1] = {&column};
  struct ArrowSchema root = node("+s", "", columns, 1);
  const void *no_buffers[1] = {NULL};
  struct ArrowArray batch = data(no_buffers, 1, 1, NULL, 0);
  cli_cells *cells;
  tarn_error err;
  (void)state;
  assert_works(cli_cells_create(NULL, &root, false, &cells, &err), err);
  assert_int_equal(cli_cells_bind(cells, &batch, &err), TARN_E_INTERNAL);
  cli_cells_free(cells);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cell__integers_and_booleans),
      cmocka_unit_test(cell__floats_as_java_writes_them),
      cmocka_unit_test(cell__decimals_keep_all_digits),
      cmocka_unit_test(cell__dates_of_all_years),
      cmocka_unit_test(cell__times_and_timestamps),
      cmocka_unit_test(cell__texts_and_bytes),
      cmocka_unit_test(cell__nulls_behind_an_offset),
      cmocka_unit_test(cell__lists_rows_and_vectors),
      cmocka_unit_test(cell__maps_in_the_order_of_their_keys_text),
      cmocka_unit_test(cell__variant_that_is_damaged_is_an_error),
      cmocka_unit_test(cells__refuse_what_they_cannot_print),
      cmocka_unit_test(cells__refuse_a_batch_of_another_layout),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
