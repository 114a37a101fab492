/* Avro data files as batches: types, unions, nested values; what a file tells. */
#include "unit/format/avro_reading.h"

/* ------------------------------------------------------------------ types */

static void avro_data__reads_numbers_of_every_width(void **state) {
  static const char *const COLUMNS[] = {"b BOOLEAN", "t TINYINT", "s SMALLINT", "i INT", "l BIGINT",
                                        "f FLOAT",   "d DOUBLE",  "w DOUBLE",   NULL};
  avro_bytes file = {0}, rows = {0};
  avro_byte(&rows, 1);
  avro_long(&rows, -128);
  avro_long(&rows, 32767);
  avro_long(&rows, INT32_MIN);
  avro_long(&rows, INT64_MIN);
  avro_f32(&rows, 1.5f);
  avro_f64(&rows, -0.25);
  avro_f32(&rows, 0.5f);
  avro_byte(&rows, 0);
  avro_long(&rows, 127);
  avro_long(&rows, -32768);
  avro_long(&rows, INT32_MAX);
  avro_long(&rows, INT64_MAX);
  avro_f32(&rows, -1.5f);
  avro_f64(&rows, 1e300);
  avro_f32(&rows, -2);
  avro_one_block(&file,
                 AVRO_RECORD("b 'boolean'", "t 'int'", "s 'int'", "i 'int'", "l 'long'",
                             "f 'float'", "d 'double'", "w 'float'"),
                 2, &rows);
  avro_expect(&(avro_reading){.bytes = avro_slice(&file), .columns = COLUMNS},
              "@0 (true, -128, 32767, -2147483648, -9223372036854775808, 1.5, -0.25, 0.5)"
              " (false, 127, -32768, 2147483647, 9223372036854775807, -1.5, "
              "1.0000000000000001e+300, -2)\n");
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

static void avro_data__refuses_numbers_that_the_type_cannot_hold(void **state) {
  static const struct {
    const char *column;
    int64_t value;
  } CASES[] = {{"x TINYINT", 128},
               {"x TINYINT", -129},
               {"x SMALLINT", 32768},
               {"x INT", (int64_t)1 << 31},
               {"x DATE", INT64_MIN}};
  for (size_t i = 0; i < TN_COUNT(CASES); i++) {
    const char *columns[] = {CASES[i].column, NULL};
    avro_bytes file = {0}, rows = {0};
    avro_long(&rows, CASES[i].value);
    avro_one_block(&file, AVRO_RECORD("x 'long'"), 1, &rows);
    avro_expect_failure(&(avro_reading){.bytes = avro_slice(&file), .columns = columns},
                        TARN_E_CORRUPT, "x: a number that its type cannot hold");
    avro_free(&file);
    avro_free(&rows);
  }
  (void)state;
}

static void avro_data__takes_null_in_either_branch(void **state) {
  avro_bytes file = {0}, rows = {0};
  avro_long(&rows, 0); /* null first: null */
  avro_long(&rows, 0); /* value first: value */
  avro_text(&rows, "a");
  avro_long(&rows, 1);
  avro_long(&rows, 7);
  avro_long(&rows, 1);
  avro_one_block(&file, AVRO_RECORD("a ['null','int']", "b ['string','null']"), 2, &rows);
  avro_expect(&(avro_reading){.bytes = avro_slice(&file)}, "@0 (null, 'a') (7, null)\n");
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

static void avro_data__takes_unions_of_any_form(void **state) {
  static const char *const COLUMNS[] = {"n INT", "l BIGINT", "s STRING", "o INT", NULL};
  avro_bytes file = {0}, rows = {0};
  avro_long(&rows, 0); /* n: ["null"] */
  avro_long(&rows, 2); /* l: [int, null, long] */
  avro_long(&rows, 1ll << 40);
  avro_long(&rows, 1); /* s: [null, string, int] */
  avro_text(&rows, "x");
  avro_long(&rows, 0); /* o: [int] */
  avro_long(&rows, 5);
  avro_long(&rows, 0);
  avro_long(&rows, 1);
  avro_long(&rows, 0);
  avro_long(&rows, 0);
  avro_long(&rows, 6);
  avro_one_block(&file,
                 AVRO_RECORD("n ['null']", "l ['int','null','long']", "s ['null','string','int']",
                             "o ['int']"),
                 2, &rows);
  avro_expect(&(avro_reading){.bytes = avro_slice(&file), .columns = COLUMNS},
              "@0 (null, 1099511627776, 'x', 5) (null, null, null, 6)\n");
  avro_free(&file);
  (void)state;
  avro_free(&rows);
}

static void avro_data__refuses_a_branch_that_does_not_fit(void **state) {
  static const char *const COLUMNS[] = {"s STRING", NULL};
  avro_bytes file = {0}, rows = {0};
  avro_long(&rows, 2);
  avro_long(&rows, 1);
  avro_one_block(&file, AVRO_RECORD("s ['null','string','int']"), 1, &rows);
  avro_expect_failure(&(avro_reading){.bytes = avro_slice(&file), .columns = COLUMNS},
                      TARN_E_CORRUPT, "s: is of a type that does not fit");
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

static void avro_data__refuses_another_physical_type(void **state) {
  static const char *const CASES[][2] = {{"x INT", "\"string\""},
                                         {"x STRING", "\"int\""},
                                         {"x FLOAT", "\"double\""},
                                         {"x ARRAY<INT>", "{\"type\":\"map\",\"values\":\"int\"}"},
                                         {"x BOOLEAN", "[\"null\",\"int\"]"}};
  for (size_t i = 0; i < TN_COUNT(CASES); i++) {
    char field[256];
    const char *columns[] = {CASES[i][0], NULL};
    avro_bytes file = {0}, rows = {0};
    (void)snprintf(field, sizeof(field), "x %s", CASES[i][1]);
    avro_byte(&rows, 0);
    avro_one_block(&file, AVRO_RECORD(field), 1, &rows);
    avro_expect_failure(&(avro_reading){.bytes = avro_slice(&file), .columns = columns},
                        TARN_E_CORRUPT, "column x of type");
    avro_free(&file);
    avro_free(&rows);
  }
  (void)state;
}

/* Names of logical types are swapped in Paimon's files and not asked, but for their unit. */
static void avro_data__takes_timestamps_by_the_type_of_the_column(void **state) {
  static const char *const COLUMNS[] = {"a TIMESTAMP(3)",
                                        "b TIMESTAMP_LTZ(6)",
                                        "c TIMESTAMP(6)",
                                        "d TIMESTAMP(3)",
                                        "e TIMESTAMP(9)",
                                        "f TIMESTAMP(6)",
                                        NULL};
  avro_bytes file = {0}, rows = {0};
  for (int i = 0; i < 6; i++) {
    avro_long(&rows, -1500);
  }
  avro_one_block(&file,
                 AVRO_RECORD("a {'type':'long','logicalType':'timestamp-millis'}",
                             "b {'type':'long','logicalType':'local-timestamp-micros'}",
                             "c {'type':'long','logicalType':'local-timestamp-millis'}",
                             "d {'type':'long','logicalType':'timestamp-micros'}",
                             "e {'type':'long','logicalType':'timestamp-micros'}", "f 'long'"),
                 1, &rows);
  avro_expect(&(avro_reading){.bytes = avro_slice(&file), .columns = COLUMNS},
              "@0 (-1500, -1500, -1500000, -2, -1500000, -1500)\n");
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

static void avro_data__takes_times_of_day(void **state) {
  static const char *const COLUMNS[] = {"a TIME(3)", "b TIME(3)", NULL};
  avro_bytes file = {0}, rows = {0};
  avro_long(&rows, 86399999);
  avro_long(&rows, 86399999999);
  avro_one_block(&file,
                 AVRO_RECORD("a {'type':'int','logicalType':'time-millis'}",
                             "b {'type':'long','logicalType':'time-micros'}"),
                 1, &rows);
  avro_expect(&(avro_reading){.bytes = avro_slice(&file), .columns = COLUMNS},
              "@0 (86399999, 86399999)\n");
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

static void avro_data__reads_decimals_of_any_length(void **state) {
  static const char *const COLUMNS[] = {"x DECIMAL(38, 2)", NULL};
  static const struct {
    const char *bytes;
    size_t n;
  } VALUES[] = {
      {"\x00", 1},
      {"\xff", 1},
      {"\x7f", 1},
      {"\x80", 1},
      {"\x01\x00", 2},
      {"\xff\xff\xff\xff\x00", 5},
      {"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x05", 19},
      {"\x4b\x3b\x4c\xa8\x5a\x86\xc4\x7a\x09\x8a\x22\x3f\xff\xff\xff\xff", 16},
      {"\xb4\xc4\xb3\x57\xa5\x79\x3b\x85\xf6\x75\xdd\xc0\x00\x00\x00\x01", 16},
  };
  avro_bytes file = {0}, rows = {0};
  for (size_t i = 0; i < TN_COUNT(VALUES); i++) {
    avro_run(&rows, VALUES[i].bytes, VALUES[i].n);
  }
  avro_one_block(&file,
                 AVRO_RECORD("x {'type':'bytes','logicalType':'decimal','precision':38,'scale':2}"),
                 TN_COUNT(VALUES), &rows);
  avro_expect(&(avro_reading){.bytes = avro_slice(&file), .columns = COLUMNS},
              "@0 (0) (-1) (127) (-128) (256) (-256) (5) (99999999999999999999999999999999999999)"
              " (-99999999999999999999999999999999999999)\n");
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

/* Java keeps up to 18 digits as a long, and adds such longs without a look at the precision. */
static void avro_data__reads_short_decimals_that_outgrew_their_type(void **state) {
  static const char *const COLUMNS[] = {"x DECIMAL(4, 2)", NULL};
  avro_bytes file = {0}, rows = {0};
  avro_run(&rows, "\x27\x10", 2);
  avro_run(&rows, "\x7f\xff\xff\xff\xff\xff\xff\xff", 8);
  avro_one_block(&file,
                 AVRO_RECORD("x {'type':'bytes','logicalType':'decimal','precision':4,'scale':2}"),
                 2, &rows);
  avro_expect(&(avro_reading){.bytes = avro_slice(&file), .columns = COLUMNS},
              "@0 (10000) (9223372036854775807)\n");
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

static void avro_data__refuses_decimals_out_of_range(void **state) {
  static const char *const COLUMNS[] = {"x DECIMAL(4, 2)", NULL};
  static const struct {
    const char *bytes;
    size_t n;
  } VALUES[] = {{"\x00\x80\x00\x00\x00\x00\x00\x00\x00", 9}, /* 2^63 */
                {"", 0},
                {"\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", 17}};
  for (size_t i = 0; i < TN_COUNT(VALUES); i++) {
    avro_bytes file = {0}, rows = {0};
    avro_run(&rows, VALUES[i].bytes, VALUES[i].n);
    avro_one_block(
        &file, AVRO_RECORD("x {'type':'bytes','logicalType':'decimal','precision':4,'scale':2}"), 1,
        &rows);
    avro_expect_failure(&(avro_reading){.bytes = avro_slice(&file), .columns = COLUMNS},
                        TARN_E_CORRUPT, "x: a decimal");
    avro_free(&file);
    avro_free(&rows);
  }
  (void)state;
}

static void avro_data__refuses_decimals_of_another_scale(void **state) {
  static const char *const COLUMNS[] = {"x DECIMAL(4, 1)", NULL};
  avro_bytes file = {0}, rows = {0};
  avro_run(&rows, "\x01", 1);
  avro_one_block(&file,
                 AVRO_RECORD("x {'type':'bytes','logicalType':'decimal','precision':4,'scale':2}"),
                 1, &rows);
  avro_expect_failure(&(avro_reading){.bytes = avro_slice(&file), .columns = COLUMNS},
                      TARN_E_CORRUPT, "column x of type DECIMAL(4, 1) has the Avro type bytes");
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

static void avro_data__reads_enums_and_fixed(void **state) {
  avro_bytes file = {0}, rows = {0};
  avro_long(&rows, 1);
  avro_raw(&rows, "abc", 3);
  avro_raw(&rows, "\xff\x9c", 2);
  avro_one_block(
      &file,
      AVRO_RECORD(
          "e {'type':'enum','name':'E','symbols':['A','BC']}",
          "f {'type':'fixed','name':'F','size':3}",
          "d {'type':'fixed','name':'D','size':2,'logicalType':'decimal','precision':4,'scale':0}"),
      1, &rows);
  avro_expect(&(avro_reading){.bytes = avro_slice(&file)}, "@0 ('BC', 'abc', -100)\n");
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

/* ------------------------------------------------------------------ nested values */

#define ENTRIES                                                              \
  "{'type':'array','logicalType':'map','items':{'type':'record','name':'m'," \
  "'fields':[{'name':'key','type':'int'},{'name':'value','type':['null','string']}]}}"

static void avro_data__reads_lists_maps_and_rows(void **state) {
  static const char *const COLUMNS[] = {"a ARRAY<INT>",
                                        "m MAP<STRING, BIGINT>",
                                        "e MAP<INT, STRING>",
                                        "u MULTISET<STRING>",
                                        "r ROW<x INT, gone STRING, y ARRAY<STRING>>",
                                        NULL};
  avro_bytes file = {0}, rows = {0};
  avro_long(&rows, 1); /* a: [1, null] in two pieces, the second with its size */
  avro_long(&rows, 1);
  avro_long(&rows, 1);
  avro_long(&rows, 1);
  avro_long(&rows, -1);
  avro_long(&rows, 1);
  avro_long(&rows, 0);
  avro_long(&rows, 0);
  avro_long(&rows, 2); /* m: {k: 5, l: null} */
  avro_text(&rows, "k");
  avro_long(&rows, 1);
  avro_long(&rows, 5);
  avro_text(&rows, "l");
  avro_long(&rows, 0);
  avro_long(&rows, 0);
  avro_long(&rows, 1); /* e: {9: z} */
  avro_long(&rows, 9);
  avro_long(&rows, 1);
  avro_text(&rows, "z");
  avro_long(&rows, 0);
  avro_long(&rows, 1); /* u: {q: 3} */
  avro_text(&rows, "q");
  avro_long(&rows, 1);
  avro_long(&rows, 3);
  avro_long(&rows, 0);
  avro_long(&rows, 1); /* r: {x: 4, extra, y: [s]} */
  avro_long(&rows, 4);
  avro_text(&rows, "extra");
  avro_long(&rows, 1);
  avro_text(&rows, "s");
  avro_long(&rows, 0);
  /* a second row of nulls and empty ones */
  avro_long(&rows, 0);
  avro_long(&rows, 0);
  avro_long(&rows, 0);
  avro_long(&rows, 0);
  avro_long(&rows, 0);
  avro_one_block(
      &file,
      AVRO_RECORD(
          "a ['null',{'type':'array','items':['null','int']}]",
          "m {'type':'map','values':['null','long']}", "e " ENTRIES,
          "u {'type':'map','values':['null','int']}",
          "r "
          "['null',{'type':'record','name':'r','fields':[{'name':'x','type':'int'},{'name':'extra',"
          "'type':'string'},{'name':'y','type':{'type':'array','items':'string'}}]}]"),
      2, &rows);
  avro_expect(&(avro_reading){.bytes = avro_slice(&file), .columns = COLUMNS},
              "@0 ([1, null], [{'k', 5}, {'l', null}], [{9, 'z'}], [{'q', 3}], {4, null, ['s']})"
              " (null, [], [], [], null)\n");
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

static void avro_data__reads_vectors_of_fixed_length(void **state) {
  static const char *const COLUMNS[] = {"v VECTOR<FLOAT, 2>", NULL};
  avro_bytes file = {0}, rows = {0};
  avro_long(&rows, 0);
  avro_long(&rows, 1);
  avro_long(&rows, 2);
  avro_f32(&rows, 1);
  avro_f32(&rows, 2);
  avro_long(&rows, 0);
  avro_one_block(&file, AVRO_RECORD("v ['null',{'type':'array','items':'float'}]"), 2, &rows);
  avro_expect(&(avro_reading){.bytes = avro_slice(&file), .columns = COLUMNS},
              "@0 (null) (<1, 2>)\n");
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

static void avro_data__refuses_a_vector_of_another_length(void **state) {
  static const char *const COLUMNS[] = {"v VECTOR<FLOAT, 3>", NULL};
  avro_bytes file = {0}, rows = {0};
  avro_long(&rows, 2);
  avro_f32(&rows, 1);
  avro_f32(&rows, 2);
  avro_long(&rows, 0);
  avro_one_block(&file, AVRO_RECORD("v {'type':'array','items':'float'}"), 1, &rows);
  avro_expect_failure(&(avro_reading){.bytes = avro_slice(&file), .columns = COLUMNS},
                      TARN_E_CORRUPT, "v: a vector of another length");
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

static void avro_data__reads_many_nested_values_past_their_first_room(void **state) {
  static const char *const COLUMNS[] = {"a ARRAY<BOOLEAN>", "s STRING", NULL};
  tarn_env *env = avro_env();
  avro_bytes file = {0}, rows = {0};
  tarn_error err;
  static shown out;
  for (int i = 0; i < 300; i++) {
    avro_long(&rows, 3);
    for (int k = 0; k < 3; k++) {
      if ((i + k) % 5 == 0) {
        avro_long(&rows, 0);
      } else {
        avro_long(&rows, 1);
        avro_byte(&rows, (i * k) % 2);
      }
    }
    avro_long(&rows, 0);
    avro_text(&rows, i % 7 == 0 ? "" : "0123456789012345678901234567890123456789");
  }
  avro_one_block(&file, AVRO_RECORD("a {'type':'array','items':['null','boolean']}", "s 'string'"),
                 300, &rows);
  for (int64_t n = 1; n <= 64; n *= 8) {
    tn_range last = {299 - n, 299};
    if (avro_read_text(
            env,
            &(avro_reading){
                .bytes = avro_slice(&file), .columns = COLUMNS, .ranges = &last, .n_ranges = 1},
            &out, &err) != TARN_OK) {
      fail_msg("%s", err.message);
    }
    /* Row 298: (298 + 2) % 5 is 0; 298 * k is even. */
    assert_non_null(
        strstr(out.text, "([false, false, null], '0123456789012345678901234567890123456789')\n"));
  }
  avro_free(&file);
  avro_free(&rows);
  tarn_env_free(env);
  (void)state;
}

/* ------------------------------------------------------------------ what a file tells */

static void avro_data__tells_types_and_blocks(void **state) {
  tarn_env *env = avro_env();
  tn_storage *storage;
  tn_file *f;
  tn_format_file *opened;
  tn_field *fields;
  int32_t n;
  tn_arena arena;
  tn_buf text;
  avro_bytes file = {0}, rows = {0};
  avro_begin(
      &file,
      AVRO_RECORD("a ['null','int']", "e " ENTRIES,
                  "t {'type':'long','logicalType':'local-timestamp-micros'}",
                  "d ['null',{'type':'bytes','logicalType':'decimal','precision':10,'scale':3}]"),
      "deflate");
  avro_long(&rows, 0);
  avro_long(&rows, 0);
  avro_long(&rows, 0);
  avro_long(&rows, 0);
  avro_block(&file, "deflate", 1, &rows);
  tn_arena_init(&arena, &env->mem, SIZE_MAX);
  tn_buf_init(&text, &env->mem, 65536);
  assert_int_equal(tn_storage_memory(env, &storage, NULL), TARN_OK);
  assert_int_equal(tn_storage_memory_put(storage, "/f", avro_slice(&file), NULL), TARN_OK);
  assert_int_equal(tn_storage_open(storage, "/f", &f, NULL), TARN_OK);
  assert_int_equal(tn_avro_format.open(env, f, &opened, NULL), TARN_OK);
  assert_int_equal(opened->n_rows, 1);
  assert_int_equal(tn_avro_format.schema(opened, &arena, &fields, &n, NULL), TARN_OK);
  for (int32_t i = 0; i < n; i++) {
    assert_int_equal(tn_buf_printf(&text, NULL, "%s ", fields[i].name), TARN_OK);
    assert_int_equal(tn_type_to_sql(&fields[i].type, &text, NULL), TARN_OK);
    assert_int_equal(tn_buf_text(&text, "; ", NULL), TARN_OK);
  }
  assert_int_equal(tn_buf_append(&text, "", 1, NULL), TARN_OK);
  assert_string_equal((const char *)text.data,
                      "a INT; e MAP<INT NOT NULL, STRING> NOT NULL; "
                      "t TIMESTAMP(6) WITH LOCAL TIME ZONE NOT NULL; d DECIMAL(10, 3); ");
  text.len = 0;
  assert_int_equal(tn_avro_format.inspect(opened, &text, NULL), TARN_OK);
  assert_int_equal(tn_buf_append(&text, "", 1, NULL), TARN_OK);
  assert_non_null(strstr((const char *)text.data, "\"codec\":\"deflate\""));
  assert_non_null(strstr((const char *)text.data, "\"rows\":1,\"blocks\":[{\"offset\":"));
  assert_null(strchr((const char *)text.data, '\n'));
  tn_buf_reset(&text);
  tn_arena_reset(&arena);
  tn_format_file_release(opened);
  tn_file_release(f);
  tn_storage_release(storage);
  tarn_env_free(env);
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(avro_data__reads_numbers_of_every_width),
      cmocka_unit_test(avro_data__refuses_numbers_that_the_type_cannot_hold),
      cmocka_unit_test(avro_data__takes_null_in_either_branch),
      cmocka_unit_test(avro_data__takes_unions_of_any_form),
      cmocka_unit_test(avro_data__refuses_a_branch_that_does_not_fit),
      cmocka_unit_test(avro_data__refuses_another_physical_type),
      cmocka_unit_test(avro_data__takes_timestamps_by_the_type_of_the_column),
      cmocka_unit_test(avro_data__takes_times_of_day),
      cmocka_unit_test(avro_data__reads_decimals_of_any_length),
      cmocka_unit_test(avro_data__reads_short_decimals_that_outgrew_their_type),
      cmocka_unit_test(avro_data__refuses_decimals_out_of_range),
      cmocka_unit_test(avro_data__refuses_decimals_of_another_scale),
      cmocka_unit_test(avro_data__reads_enums_and_fixed),
      cmocka_unit_test(avro_data__reads_lists_maps_and_rows),
      cmocka_unit_test(avro_data__reads_vectors_of_fixed_length),
      cmocka_unit_test(avro_data__refuses_a_vector_of_another_length),
      cmocka_unit_test(avro_data__reads_many_nested_values_past_their_first_room),
      cmocka_unit_test(avro_data__tells_types_and_blocks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
