/* Avro data files as batches: types, unions, nested values, selections of rows. */
#include "format/avro/avro.h" /* before cmocka, which makes a macro of skip */

#include "support/torture.h"
#include "unit/format/avro_maker.h"

#define MAX_FIELDS 16

/* What a read is to do. */
typedef struct reading {
  const char *path;
  tn_slice bytes;
  const char *const *columns; /* "name type" each; NULL: those that the file has */
  tn_field *fields;           /* in place of columns */
  int32_t n_fields;
  const tn_range *ranges; /* NULL: all rows */
  size_t n_ranges;
  int64_t batch_rows;
  int64_t skip_first; /* rows to step over before the first batch */
  bool allows_encoded;
} reading;

static tarn_status parse_columns(const reading *q, tn_arena *arena, tn_field **fields, int32_t *n,
                                 tarn_error *err) {
  *fields = tn_arena_calloc(arena, MAX_FIELDS, sizeof(tn_field));
  if (*fields == NULL) {
    return tn_oom(err);
  }
  for (*n = 0; q->columns[*n] != NULL; ++*n) {
    tn_field *f = &(*fields)[*n];
    const char *space = strchr(q->columns[*n], ' ');
    f->id = *n;
    f->name = tn_arena_strndup(arena, q->columns[*n], (size_t)(space - q->columns[*n]));
    if (f->name == NULL) {
      return tn_oom(err);
    }
    TN_TRY(tn_type_from_sql(arena, space + 1, NULL, &f->type, err));
  }
  return TARN_OK;
}

static tarn_status show_batches(tarn_env *env, const reading *q, tn_reader *reader, tn_batch *batch,
                                shown *out, tarn_error *err) {
  if (q->skip_first > 0) {
    TN_TRY(tn_reader_skip(reader, q->skip_first, err));
  }
  for (;;) {
    TN_TRY(tn_reader_next(reader, INT64_MAX, batch, err));
    if (batch->n_rows == 0) {
      return TARN_OK;
    }
    show(out, "@%lld", (long long)batch->first_position);
    for (int32_t c = 0; c < batch->n_columns; c++) {
      assert_int_equal(batch->columns[c].length, batch->n_rows);
      TN_TRY(tn_vec_validate(&batch->columns[c], err));
      if (batch->columns[c].encoding != TN_VEC_FLAT) {
        TN_TRY(tn_vec_flatten(env, &batch->columns[c], err));
        show(out, " const");
      }
    }
    for (int64_t i = 0; i < batch->n_rows; i++) {
      show(out, " (");
      for (int32_t c = 0; c < batch->n_columns; c++) {
        show(out, "%s", c > 0 ? ", " : "");
        show_value(out, &batch->columns[c], i);
      }
      show(out, ")");
    }
    show(out, "\n");
  }
}

static tarn_status read_all(tarn_env *env, const reading *q, shown *out, tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_storage *storage = NULL;
  tn_file *file = NULL;
  tn_format_file *opened = NULL;
  tn_reader *reader = NULL;
  tn_batch batch = {0};
  tn_field *fields = q->fields;
  int32_t n = q->n_fields;
  tn_arena arena;
  tn_ranges ranges;
  tn_read_request request = {.batch_rows = q->batch_rows, .allows_encoded = q->allows_encoded};
  out->len = 0;
  out->text[0] = '\0';
  tn_arena_init(&arena, &env->mem, SIZE_MAX);
  tn_ranges_init(&ranges, &env->mem);
  TN_TRY_TO(done, tn_storage_memory(env, &storage, err));
  TN_TRY_TO(done, tn_storage_memory_put(storage, "/f.avro", q->bytes, err));
  TN_TRY_TO(done, tn_storage_open(storage, "/f.avro", &file, err));
  TN_TRY_TO(done, tn_avro_format.open(env, file, &opened, err));
  if (q->columns != NULL) {
    TN_TRY_TO(done, parse_columns(q, &arena, &fields, &n, err));
  } else if (fields == NULL) {
    TN_TRY_TO(done, tn_avro_format.schema(opened, &arena, &fields, &n, err));
  }
  for (size_t i = 0; i < q->n_ranges; i++) {
    TN_TRY_TO(done, tn_ranges_add(&ranges, q->ranges[i].begin, q->ranges[i].end, err));
  }
  request.fields = fields;
  request.n_fields = n;
  request.rows = q->n_ranges > 0 ? &ranges : NULL;
  TN_TRY_TO(done, tn_avro_format.read(opened, &request, &reader, err));
  TN_TRY_TO(done, tn_batch_init(env, fields, n, &batch, err));
  TN_TRY_TO(done, show_batches(env, q, reader, &batch, out, err));
done:
  tn_batch_reset(env, &batch);
  tn_reader_free(reader);
  if (opened != NULL) {
    tn_format_file_release(opened);
  }
  tn_file_release(file);
  tn_storage_release(storage);
  tn_ranges_reset(&ranges);
  tn_arena_reset(&arena);
  return st;
}

static tarn_env *new_env(void) {
  tarn_env *env;
  assert_int_equal(tarn_env_create(NULL, &env, NULL), TARN_OK);
  return env;
}

static void expect(const reading *q, const char *wanted) {
  tarn_env *env = new_env();
  tarn_error err;
  shown out;
  tarn_status st = read_all(env, q, &out, &err);
  if (st != TARN_OK) {
    fail_msg("status %d: %s", (int)st, err.message);
  }
  assert_string_equal(out.text, wanted);
  tarn_env_free(env);
}

static void expect_failure(const reading *q, tarn_status wanted, const char *message) {
  tarn_env *env = new_env();
  tarn_error err = {0};
  shown out;
  assert_int_equal(read_all(env, q, &out, &err), wanted);
  if (strstr(err.message, message) == NULL) {
    fail_msg("'%s' is not in: %s", message, err.message);
  }
  tarn_env_free(env);
}

#define RECORD(fields) \
  "{\"type\":\"record\",\"name\":\"record\",\"namespace\":\"org.x\",\"fields\":[" fields "]}"
#define FIELD(name, type) "{\"name\":\"" name "\",\"type\":" type "}"
#define NULLABLE(type) "[\"null\"," type "]"

/* One block, one file. */
static void one_block(avro_bytes *file, const char *schema, int64_t n, avro_bytes *rows) {
  avro_begin(file, schema, "null");
  avro_block(file, "null", n, rows);
}

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
  one_block(
      &file,
      RECORD(FIELD("b", "\"boolean\"") "," FIELD("t", "\"int\"") "," FIELD("s", "\"int\"") "," FIELD(
          "i",
          "\"int\"") "," FIELD("l",
                               "\"long\"") "," FIELD("f",
                                                     "\"float\"") "," FIELD("d",
                                                                            "\"double\"") "," FIELD("w",
                                                                                                    "\"float\"")),
      2, &rows);
  expect(&(reading){.bytes = avro_slice(&file), .columns = COLUMNS},
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
    one_block(&file, RECORD(FIELD("x", "\"long\"")), 1, &rows);
    expect_failure(&(reading){.bytes = avro_slice(&file), .columns = columns}, TARN_E_CORRUPT,
                   "x: a number that its type cannot hold");
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
  one_block(&file, RECORD(FIELD("a", NULLABLE("\"int\"")) "," FIELD("b", "[\"string\",\"null\"]")),
            2, &rows);
  expect(&(reading){.bytes = avro_slice(&file)}, "@0 (null, 'a') (7, null)\n");
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
  one_block(&file,
            RECORD(FIELD("n", "[\"null\"]") "," FIELD("l", "[\"int\",\"null\",\"long\"]") "," FIELD(
                "s", "[\"null\",\"string\",\"int\"]") "," FIELD("o", "[\"int\"]")),
            2, &rows);
  expect(&(reading){.bytes = avro_slice(&file), .columns = COLUMNS},
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
  one_block(&file, RECORD(FIELD("s", "[\"null\",\"string\",\"int\"]")), 1, &rows);
  expect_failure(&(reading){.bytes = avro_slice(&file), .columns = COLUMNS}, TARN_E_CORRUPT,
                 "s: is of a type that does not fit");
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
    char schema[256];
    const char *columns[] = {CASES[i][0], NULL};
    avro_bytes file = {0}, rows = {0};
    (void)snprintf(schema, sizeof(schema), RECORD("{\"name\":\"x\",\"type\":%s}"), CASES[i][1]);
    avro_byte(&rows, 0);
    one_block(&file, schema, 1, &rows);
    expect_failure(&(reading){.bytes = avro_slice(&file), .columns = columns}, TARN_E_CORRUPT,
                   "column x of type");
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
  one_block(
      &file,
      RECORD(FIELD("a", "{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}") "," FIELD(
          "b",
          "{\"type\":\"long\",\"logicalType\":\"local-timestamp-micros\"}") "," FIELD("c",
                                                                                      "{\"type"
                                                                                      "\":"
                                                                                      "\"long\""
                                                                                      ",\"logic"
                                                                                      "alType\""
                                                                                      ":\"local"
                                                                                      "-timesta"
                                                                                      "mp-"
                                                                                      "millis\""
                                                                                      "}") "," FIELD("d",
                                                                                                     "{\"type\":\"long\",\"logicalType\":\"timestamp-micros\"}") "," FIELD("e",
                                                                                                                                                                           "{\"type\":\"long\",\"logicalType\":\"timestamp-micros\"}") "," FIELD("f",
                                                                                                                                                                                                                                                 "\"long\"")),
      1, &rows);
  expect(&(reading){.bytes = avro_slice(&file), .columns = COLUMNS},
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
  one_block(&file,
            RECORD(FIELD("a", "{\"type\":\"int\",\"logicalType\":\"time-millis\"}") "," FIELD(
                "b", "{\"type\":\"long\",\"logicalType\":\"time-micros\"}")),
            1, &rows);
  expect(&(reading){.bytes = avro_slice(&file), .columns = COLUMNS}, "@0 (86399999, 86399999)\n");
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

#define DECIMAL(p, s) \
  "{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":" #p ",\"scale\":" #s "}"

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
  one_block(&file, RECORD(FIELD("x", DECIMAL(38, 2))), TN_COUNT(VALUES), &rows);
  expect(&(reading){.bytes = avro_slice(&file), .columns = COLUMNS},
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
  one_block(&file, RECORD(FIELD("x", DECIMAL(4, 2))), 2, &rows);
  expect(&(reading){.bytes = avro_slice(&file), .columns = COLUMNS},
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
    one_block(&file, RECORD(FIELD("x", DECIMAL(4, 2))), 1, &rows);
    expect_failure(&(reading){.bytes = avro_slice(&file), .columns = COLUMNS}, TARN_E_CORRUPT,
                   "x: a decimal");
    avro_free(&file);
    avro_free(&rows);
  }
  (void)state;
}

static void avro_data__refuses_decimals_of_another_scale(void **state) {
  static const char *const COLUMNS[] = {"x DECIMAL(4, 1)", NULL};
  avro_bytes file = {0}, rows = {0};
  avro_run(&rows, "\x01", 1);
  one_block(&file, RECORD(FIELD("x", DECIMAL(4, 2))), 1, &rows);
  expect_failure(&(reading){.bytes = avro_slice(&file), .columns = COLUMNS}, TARN_E_CORRUPT,
                 "column x of type DECIMAL(4, 1) has the Avro type bytes");
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

static void avro_data__reads_enums_and_fixed(void **state) {
  avro_bytes file = {0}, rows = {0};
  avro_long(&rows, 1);
  avro_raw(&rows, "abc", 3);
  avro_raw(&rows, "\xff\x9c", 2);
  one_block(
      &file,
      RECORD(FIELD("e", "{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\",\"BC\"]}") "," FIELD(
          "f",
          "{\"type\":\"fixed\",\"name\":\"F\",\"size\":3}") "," FIELD("d",
                                                                      "{\"type\":\"fixed\","
                                                                      "\"name\":\"D\",\"size\":2,"
                                                                      "\"logicalType\":"
                                                                      "\"decimal\",\"precision\":4,"
                                                                      "\"scale\":0}")),
      1, &rows);
  expect(&(reading){.bytes = avro_slice(&file)}, "@0 ('BC', 'abc', -100)\n");
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

/* ------------------------------------------------------------------ nested values */

#define ENTRIES                                                                                \
  "{\"type\":\"array\",\"logicalType\":\"map\",\"items\":{\"type\":\"record\",\"name\":\"m\"," \
  "\"fields\":[{\"name\":\"key\",\"type\":\"int\"},{\"name\":\"value\",\"type\":[\"null\","    \
  "\"string\"]}]}}"

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
  one_block(
      &file,
      RECORD(FIELD("a", NULLABLE("{\"type\":\"array\",\"items\":[\"null\",\"int\"]}")) "," FIELD(
          "m",
          "{\"type\":\"map\",\"values\":[\"null\",\"long\"]}") "," FIELD("e",
                                                                         ENTRIES) "," FIELD("u",
                                                                                            "{\"typ"
                                                                                            "e\":"
                                                                                            "\"map"
                                                                                            "\","
                                                                                            "\"valu"
                                                                                            "es\":["
                                                                                            "\"null"
                                                                                            "\","
                                                                                            "\"int"
                                                                                            "\"]}") "," FIELD("r",
                                                                                                              NULLABLE(
                                                                                                                  "{\"type\":\"record\",\"name\":\"r\",\"fields\":["
                                                                                                                  "{\"name\":\"x\",\"type\":\"int\"},"
                                                                                                                  "{\"name\":\"extra\",\"type\":\"string\"},"
                                                                                                                  "{\"name\":\"y\",\"type\":{\"type\":\"array\",\"items\":"
                                                                                                                  "\"string\"}}]}"))),
      2, &rows);
  expect(&(reading){.bytes = avro_slice(&file), .columns = COLUMNS},
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
  one_block(&file, RECORD(FIELD("v", NULLABLE("{\"type\":\"array\",\"items\":\"float\"}"))), 2,
            &rows);
  expect(&(reading){.bytes = avro_slice(&file), .columns = COLUMNS}, "@0 (null) (<1, 2>)\n");
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
  one_block(&file, RECORD(FIELD("v", "{\"type\":\"array\",\"items\":\"float\"}")), 1, &rows);
  expect_failure(&(reading){.bytes = avro_slice(&file), .columns = COLUMNS}, TARN_E_CORRUPT,
                 "v: a vector of another length");
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

static void avro_data__reads_many_nested_values_past_their_first_room(void **state) {
  static const char *const COLUMNS[] = {"a ARRAY<BOOLEAN>", "s STRING", NULL};
  tarn_env *env = new_env();
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
  one_block(&file,
            RECORD(FIELD("a", "{\"type\":\"array\",\"items\":[\"null\",\"boolean\"]}") "," FIELD(
                "s", "\"string\"")),
            300, &rows);
  for (int64_t n = 1; n <= 64; n *= 8) {
    tn_range last = {299 - n, 299};
    if (read_all(
            env,
            &(reading){
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

/* ------------------------------------------------------------------ columns */

#define MANY                \
  FIELD("skip1", "\"int\"") \
  "," FIELD("skip2", "\"long\"") "," FIELD("skip3", "\"double\"") "," FIELD(                     \
      "skip4", "{\"type\":\"array\",\"items\":{\"type\":\"map\",\"values\":[\"null\","            \
               "\"boolean\"]}}") "," FIELD("a", "\"int\"") ","                                   \
      FIELD("skip5", "[\"null\",\"int\",{\"type\":\"fixed\",\"name\":\"F\",\"size\":2}]") ","    \
      FIELD("skip6", "[\"string\",\"null\"]") "," FIELD("b", "\"string\"") "," FIELD("skip7", "\"F\"")

static void many_rows(avro_bytes *rows, int n) {
  for (int i = 0; i < n; i++) {
    avro_long(rows, i);
    avro_long(rows, -i);
    avro_f64(rows, i);
    avro_long(rows, 1); /* skip4: [{k: true}], then an empty piece with a size */
    avro_long(rows, 1);
    avro_text(rows, "k");
    avro_long(rows, 1);
    avro_byte(rows, 1);
    avro_long(rows, 0);
    avro_long(rows, -1);
    avro_long(rows, 1);
    avro_long(rows, 0);
    avro_long(rows, 0);
    avro_long(rows, i * 10); /* a */
    avro_long(rows, i % 3);
    if (i % 3 == 1) {
      avro_long(rows, 1234567);
    } else if (i % 3 == 2) {
      avro_raw(rows, "xy", 2);
    }
    avro_long(rows, i % 2);
    if (i % 2 == 0) {
      avro_text(rows, "even");
    }
    avro_text(rows, i % 2 == 0 ? "e" : "o"); /* b */
    avro_raw(rows, "zz", 2);
  }
}

static void avro_data__steps_over_columns_that_nobody_wants(void **state) {
  static const char *const COLUMNS[] = {"b STRING", "a INT", NULL};
  avro_bytes file = {0}, rows = {0};
  many_rows(&rows, 4);
  one_block(&file, RECORD(MANY), 4, &rows);
  expect(&(reading){.bytes = avro_slice(&file), .columns = COLUMNS},
         "@0 ('e', 0) ('o', 10) ('e', 20) ('o', 30)\n");
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

static void avro_data__gives_null_for_columns_that_the_file_lacks(void **state) {
  static const char *const COLUMNS[] = {"lost STRING", "a INT", "gone ROW<x INT>", NULL};
  avro_bytes file = {0}, rows = {0};
  avro_long(&rows, 1);
  avro_long(&rows, 2);
  one_block(&file, RECORD(FIELD("a", "\"int\"")), 2, &rows);
  expect(&(reading){.bytes = avro_slice(&file), .columns = COLUMNS},
         "@0 (null, 1, null) (null, 2, null)\n");
  expect(&(reading){.bytes = avro_slice(&file), .columns = COLUMNS, .allows_encoded = true},
         "@0 const const (null, 1, null) (null, 2, null)\n");
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

static void avro_data__refuses_one_column_twice(void **state) {
  static const char *const COLUMNS[] = {"a INT", "a INT", NULL};
  avro_bytes file = {0}, rows = {0};
  avro_long(&rows, 1);
  one_block(&file, RECORD(FIELD("a", "\"int\"")), 1, &rows);
  expect_failure(&(reading){.bytes = avro_slice(&file), .columns = COLUMNS}, TARN_E_INVALID,
                 "column a is asked for twice");
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

/* Files of releases before 1.1: each row begins with the branch of the root. */
static void avro_data__reads_a_root_that_is_a_union(void **state) {
  avro_bytes file = {0}, rows = {0};
  avro_long(&rows, 1);
  avro_long(&rows, 11);
  avro_long(&rows, 1);
  avro_long(&rows, 12);
  one_block(&file, NULLABLE(RECORD(FIELD("a", "\"int\""))), 2, &rows);
  expect(&(reading){.bytes = avro_slice(&file)}, "@0 (11) (12)\n");
  file.len = 0;
  avro_long(&rows, 0);
  one_block(&file, NULLABLE(RECORD(FIELD("a", "\"int\""))), 1, &rows);
  expect_failure(&(reading){.bytes = avro_slice(&file)}, TARN_E_CORRUPT, "a row that is null");
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

/* ------------------------------------------------------------------ rows */

/* Blocks of 3, 0, 4 and 5 rows; a is the position times 10. */
static void four_blocks(avro_bytes *file, const char *codec) {
  avro_bytes all = {0}, rows = {0};
  static const int COUNTS[] = {3, 0, 4, 5};
  int n = 0;
  avro_begin(file, RECORD(FIELD("a", "\"int\"")), codec);
  for (size_t i = 0; i < TN_COUNT(COUNTS); i++) {
    for (int k = 0; k < COUNTS[i]; k++) {
      avro_long(&rows, 10 * n++);
    }
    avro_block(file, codec, COUNTS[i], &rows);
  }
  avro_free(&all);
  avro_free(&rows);
}

static void avro_data__reads_blocks_of_every_codec(void **state) {
  static const char *const CODECS[] = {"null", "deflate", "snappy", "zstandard"};
  for (size_t i = 0; i < TN_COUNT(CODECS); i++) {
    avro_bytes file = {0};
    four_blocks(&file, CODECS[i]);
    expect(&(reading){.bytes = avro_slice(&file)},
           "@0 (0) (10) (20) (30) (40) (50) (60) (70) (80) (90) (100) (110)\n");
    avro_free(&file);
  }
  (void)state;
}

static void avro_data__cuts_batches_at_their_size(void **state) {
  avro_bytes file = {0};
  four_blocks(&file, "zstandard");
  expect(&(reading){.bytes = avro_slice(&file), .batch_rows = 5},
         "@0 (0) (10) (20) (30) (40)\n@5 (50) (60) (70) (80) (90)\n@10 (100) (110)\n");
  avro_free(&file);
  (void)state;
}

static void avro_data__gives_wanted_rows_with_their_positions(void **state) {
  static const tn_range RANGES[] = {{1, 2}, {6, 9}, {11, 40}};
  static const tn_range LATE[] = {{50, 60}};
  avro_bytes file = {0};
  four_blocks(&file, "snappy");
  expect(&(reading){.bytes = avro_slice(&file), .ranges = RANGES, .n_ranges = 3},
         "@1 (10)\n@6 (60) (70) (80)\n@11 (110)\n");
  expect(&(reading){.bytes = avro_slice(&file), .ranges = RANGES, .n_ranges = 3, .batch_rows = 2},
         "@1 (10)\n@6 (60) (70)\n@8 (80)\n@11 (110)\n");
  expect(&(reading){.bytes = avro_slice(&file), .ranges = LATE, .n_ranges = 1}, "");
  avro_free(&file);
  (void)state;
}

static void avro_data__skips_rows(void **state) {
  static const tn_range RANGES[] = {{1, 3}, {6, 9}};
  avro_bytes file = {0};
  four_blocks(&file, "null");
  expect(&(reading){.bytes = avro_slice(&file), .skip_first = 9}, "@9 (90) (100) (110)\n");
  expect(&(reading){.bytes = avro_slice(&file), .ranges = RANGES, .n_ranges = 2, .skip_first = 3},
         "@7 (70) (80)\n");
  expect(&(reading){.bytes = avro_slice(&file), .skip_first = 100}, "");
  avro_free(&file);
  (void)state;
}

static void avro_data__does_not_read_blocks_without_a_wanted_row(void **state) {
  static const tn_range FIRST[] = {{0, 3}};
  avro_bytes file = {0};
  four_blocks(&file, "null");
  memset(file.data + file.len - 16 - 5, 0x80, 5); /* the last block's values */
  expect(&(reading){.bytes = avro_slice(&file), .ranges = FIRST, .n_ranges = 1},
         "@0 (0) (10) (20)\n");
  expect_failure(&(reading){.bytes = avro_slice(&file)}, TARN_E_CORRUPT, "Avro block at offset");
  avro_free(&file);
  (void)state;
}

static void avro_data__counts_rows_without_reading_them(void **state) {
  static const char *const NONE[] = {NULL};
  avro_bytes file = {0};
  four_blocks(&file, "null");
  expect(&(reading){.bytes = avro_slice(&file), .columns = NONE, .batch_rows = 10},
         "@0 () () () () () () () () () ()\n@10 () ()\n");
  avro_free(&file);
  (void)state;
}

static void avro_data__reads_a_file_without_blocks(void **state) {
  avro_bytes file = {0};
  avro_begin(&file, RECORD(FIELD("a", "\"int\"")), NULL);
  expect(&(reading){.bytes = avro_slice(&file)}, "");
  avro_free(&file);
  (void)state;
}

/* ------------------------------------------------------------------ what a file tells */

static void avro_data__tells_types_and_blocks(void **state) {
  tarn_env *env = new_env();
  tn_storage *storage;
  tn_file *f;
  tn_format_file *opened;
  tn_field *fields;
  int32_t n;
  tn_arena arena;
  tn_buf text;
  avro_bytes file = {0}, rows = {0};
  avro_begin(&file,
             RECORD(FIELD("a", NULLABLE("\"int\"")) "," FIELD("e", ENTRIES) "," FIELD(
                 "t",
                 "{\"type\":\"long\",\"logicalType\":\"local-timestamp-"
                 "micros\"}") ",\n" FIELD("d", NULLABLE(DECIMAL(10, 3)))),
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

/* ------------------------------------------------------------------ damage and need */

/* Every byte of a small file changed, every length cut: an answer or an error, never a crash. */
static void avro_data__survives_damage_of_every_byte(void **state) {
  static const char *const CODECS[] = {"null", "snappy", "zstandard"};
  static const char *const COLUMNS[] = {"b STRING", "skip4 ARRAY<MAP<STRING, BOOLEAN>>", "a INT",
                                        "skip6 STRING", NULL};
  tarn_env *env = new_env();
  shown *out = malloc(sizeof(*out));
  assert_non_null(out);
  for (size_t c = 0; c < TN_COUNT(CODECS); c++) {
    avro_bytes file = {0}, rows = {0};
    avro_begin(&file, RECORD(MANY), CODECS[c]);
    many_rows(&rows, 2);
    avro_block(&file, CODECS[c], 2, &rows);
    for (size_t i = 0; i < file.len; i++) {
      static const uint8_t FLIPS[] = {0x01, 0x80, 0xff};
      for (size_t k = 0; k < TN_COUNT(FLIPS); k++) {
        tarn_error err = {0};
        tarn_status st;
        file.data[i] ^= FLIPS[k];
        st = read_all(env, &(reading){.bytes = avro_slice(&file), .columns = COLUMNS}, out, &err);
        assert_true(st == TARN_OK || st == TARN_E_CORRUPT || st == TARN_E_UNSUPPORTED ||
                    st == TARN_E_LIMIT);
        assert_true(st == TARN_OK || err.message[0] != '\0');
        file.data[i] ^= FLIPS[k];
      }
    }
    for (size_t n = 0; n < file.len; n++) {
      tarn_error err = {0};
      tarn_status st = read_all(
          env, &(reading){.bytes = tn_slice_of(file.data, n), .columns = COLUMNS}, out, &err);
      /* Cut behind the header is a whole file without rows. */
      assert_true(st == TARN_E_CORRUPT || (st == TARN_OK && out->len == 0));
    }
    avro_free(&file);
    avro_free(&rows);
  }
  free(out);
  tarn_env_free(env);
  (void)state;
}

static tarn_status read_in_need(void *ctx, tarn_env *env, tarn_error *err) {
  static shown out;
  return read_all(env, ctx, &out, err);
}

static void avro_data__survives_any_failed_allocation(void **state) {
  static const char *const COLUMNS[] = {"m MAP<STRING, BIGINT>", "r ROW<x INT, y STRING>", NULL};
  avro_bytes file = {0}, rows = {0};
  reading q = {.columns = COLUMNS, .batch_rows = 64};
  tarn_env *env = new_env(); /* the wanted columns are made without need */
  tn_arena arena;
  tn_arena_init(&arena, &env->mem, SIZE_MAX);
  assert_int_equal(parse_columns(&q, &arena, &q.fields, &q.n_fields, NULL), TARN_OK);
  q.columns = NULL;
  for (int i = 0; i < 200; i++) {
    avro_long(&rows, 1);
    avro_text(&rows, "key of some length");
    avro_long(&rows, i);
    avro_long(&rows, 0);
    avro_long(&rows, i % 2);
    if (i % 2 == 1) {
      avro_long(&rows, i);
    }
  }
  avro_begin(&file,
             RECORD(FIELD("m", "{\"type\":\"map\",\"values\":\"long\"}") "," FIELD(
                 "r", NULLABLE("{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"x\","
                               "\"type\":\"int\"}]}"))),
             "zstandard");
  avro_block(&file, "zstandard", 200, &rows);
  q.bytes = avro_slice(&file);
  assert_true(tn_torture(read_in_need, &q, TARN_OK) > 20);
  tn_arena_reset(&arena);
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
      cmocka_unit_test(avro_data__steps_over_columns_that_nobody_wants),
      cmocka_unit_test(avro_data__gives_null_for_columns_that_the_file_lacks),
      cmocka_unit_test(avro_data__refuses_one_column_twice),
      cmocka_unit_test(avro_data__reads_a_root_that_is_a_union),
      cmocka_unit_test(avro_data__reads_blocks_of_every_codec),
      cmocka_unit_test(avro_data__cuts_batches_at_their_size),
      cmocka_unit_test(avro_data__gives_wanted_rows_with_their_positions),
      cmocka_unit_test(avro_data__skips_rows),
      cmocka_unit_test(avro_data__does_not_read_blocks_without_a_wanted_row),
      cmocka_unit_test(avro_data__counts_rows_without_reading_them),
      cmocka_unit_test(avro_data__reads_a_file_without_blocks),
      cmocka_unit_test(avro_data__tells_types_and_blocks),
      cmocka_unit_test(avro_data__survives_damage_of_every_byte),
      cmocka_unit_test(avro_data__survives_any_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
