/* Stored values as the types of Paimon: every physical type that may hold them, and what is refused
 * (spec: datafiles, 3). */
#include "format/parquet/parquet.h"
#include "parquet_maker.h"
#include "rows_text.h"
#include "support/test.h"

/* How the column `x` is stored. */
typedef struct stored {
  tn_pq_physical physical;
  int32_t length;
  maker_type type;
  int32_t precision, scale; /* MAKER_DECIMAL */
  int member;               /* 7: TIME, 8: TIMESTAMP by logical type */
  tn_pq_unit unit;
} stored;

static void make_column(parquet_maker *m, const stored *s, tn_slice value) {
  maker_begin(m);
  if (s->member != 0) {
    maker_time(m, "x", s->physical, s->member, s->unit);
  } else if (s->type == MAKER_DECIMAL) {
    maker_decimal(m, "x", s->physical, s->length, s->precision, s->scale);
  } else {
    maker_leaf(m, "x", TN_PQ_REQUIRED, s->physical, s->length, s->type);
  }
  maker_chunk(m, 1);
  maker_page(m, &(maker_page_spec){.n_values = 1, .values = value});
}

#define PLAIN(physical) {physical, 0, MAKER_PLAIN_TYPE, 0, 0, 0, TN_PQ_MILLIS}
#define TYPED(physical, type) {physical, 0, type, 0, 0, 0, TN_PQ_MILLIS}
#define FIXED(length) {TN_PQ_FIXED, length, MAKER_PLAIN_TYPE, 0, 0, 0, TN_PQ_MILLIS}
#define DECIMAL(physical, length, precision, scale) \
  {physical, length, MAKER_DECIMAL, precision, scale, 0, TN_PQ_MILLIS}
#define TIMED(physical, member, unit) {physical, 0, MAKER_PLAIN_TYPE, 0, 0, member, unit}
#define BYTES(text) {(const uint8_t *)(text), sizeof(text) - 1}

typedef struct conversion {
  stored stored;
  const char *type;
  tn_slice value;       /* PLAIN */
  const char *expected; /* the text; NULL: the value must be refused */
} conversion;

static const conversion conversions[] = {
    {TYPED(TN_PQ_INT32, MAKER_INT_8), "TINYINT", BYTES("\x80\xff\xff\xff"), "-128"},
    {PLAIN(TN_PQ_INT32), "TINYINT", BYTES("\x80\0\0\0"), NULL},
    {PLAIN(TN_PQ_INT32), "SMALLINT", BYTES("\xff\x7f\0\0"), "32767"},
    {PLAIN(TN_PQ_INT32), "SMALLINT", BYTES("\0\x80\0\0"), NULL},
    {PLAIN(TN_PQ_INT32), "INT", BYTES("\0\0\0\x80"), "-2147483648"},
    {PLAIN(TN_PQ_INT32), "BIGINT", BYTES("\xfe\xff\xff\xff"), "-2"},
    {TYPED(TN_PQ_INT32, MAKER_UINT_32), "BIGINT", BYTES("\xfe\xff\xff\xff"), "4294967294"},
    {PLAIN(TN_PQ_INT64), "BIGINT", BYTES("\0\0\0\0\0\0\0\x80"), "-9223372036854775808"},
    {TYPED(TN_PQ_INT64, MAKER_UINT_64), "DECIMAL(20, 0)", BYTES("\xff\xff\xff\xff\xff\xff\xff\xff"),
     "\"18446744073709551615\""},
    {PLAIN(TN_PQ_FLOAT), "FLOAT", BYTES("\0\0\xc0\x3f"), "1.5"},
    {PLAIN(TN_PQ_DOUBLE), "DOUBLE", BYTES("\0\0\0\0\0\0\xf8\xbf"), "-1.5"},
    {PLAIN(TN_PQ_BYTE_ARRAY), "STRING", BYTES("\2\0\0\0hi"), "\"hi\""},
    {TYPED(TN_PQ_BYTE_ARRAY, MAKER_UTF8), "CHAR(5)", BYTES("\2\0\0\0hi"), "\"hi\""},
    {TYPED(TN_PQ_BYTE_ARRAY, MAKER_ENUM), "VARCHAR(9)", BYTES("\0\0\0\0"), "\"\""},
    {PLAIN(TN_PQ_BYTE_ARRAY), "BINARY(4)", BYTES("\2\0\0\0hi"), "\"6869\""},
    {PLAIN(TN_PQ_BYTE_ARRAY), "BLOB", BYTES("\1\0\0\0\xff"), "\"ff\""},
    {FIXED(3), "BINARY(3)", BYTES("abc"), "\"616263\""},
    {FIXED(3), "BYTES", BYTES("abc"), "\"616263\""},
    {TYPED(TN_PQ_INT32, MAKER_DATE), "DATE", BYTES("\xff\xff\xff\xff"), "-1"},
    // decimals on every physical type
    {DECIMAL(TN_PQ_INT32, 0, 9, 2), "DECIMAL(9, 2)", BYTES("\x38\xff\xff\xff"), "\"-2.00\""},
    {DECIMAL(TN_PQ_INT64, 0, 18, 2), "DECIMAL(18, 2)", BYTES("\xd2\4\0\0\0\0\0\0"), "\"12.34\""},
    {DECIMAL(TN_PQ_FIXED, 2, 4, 2), "DECIMAL(4, 2)", BYTES("\4\xd2"), "\"12.34\""},
    {DECIMAL(TN_PQ_FIXED, 17, 38, 2), "DECIMAL(38, 2)",
     BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x38"), "\"-2.00\""},
    {DECIMAL(TN_PQ_FIXED, 17, 38, 2), "DECIMAL(38, 2)",
     BYTES("\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x38"), NULL},
    {DECIMAL(TN_PQ_BYTE_ARRAY, 0, 9, 2), "DECIMAL(9, 2)", BYTES("\1\0\0\0\xff"), "\"-0.01\""},
    {DECIMAL(TN_PQ_BYTE_ARRAY, 0, 9, 2), "DECIMAL(9, 2)", BYTES("\0\0\0\0"), NULL},
    {DECIMAL(TN_PQ_INT32, 0, 9, 2), "DECIMAL(4, 2)", BYTES("\x0f\x27\0\0"), "\"99.99\""},
    {DECIMAL(TN_PQ_INT32, 0, 9, 2), "DECIMAL(4, 2)", BYTES("\x10\x27\0\0"), NULL},
    {DECIMAL(TN_PQ_INT32, 0, 4, 2), "DECIMAL(9, 2)", BYTES("\4\0\0\0"), "\"0.04\""},
    // times hold milliseconds
    {TYPED(TN_PQ_INT32, MAKER_TIME_MILLIS), "TIME(3)", BYTES("\x0a\0\0\0"), "10"},
    {TIMED(TN_PQ_INT64, 7, TN_PQ_MICROS), "TIME(6)", BYTES("\xe8\3\0\0\0\0\0\0"), "1"},
    {TIMED(TN_PQ_INT64, 7, TN_PQ_MICROS), "TIME(6)", BYTES("\xe9\3\0\0\0\0\0\0"), NULL},
    {TIMED(TN_PQ_INT64, 7, TN_PQ_NANOS), "TIME(9)", BYTES("\x40\x42\x0f\0\0\0\0\0"), "1"},
    // timestamps of any unit, exactly
    {TYPED(TN_PQ_INT64, MAKER_TIMESTAMP_MILLIS), "TIMESTAMP(3)",
     BYTES("\xff\xff\xff\xff\xff\xff\xff\xff"), "-1"},
    {TYPED(TN_PQ_INT64, MAKER_TIMESTAMP_MILLIS), "TIMESTAMP_LTZ(6)", BYTES("\2\0\0\0\0\0\0\0"),
     "2000"},
    {TYPED(TN_PQ_INT64, MAKER_TIMESTAMP_MICROS), "TIMESTAMP(3)", BYTES("\xe8\3\0\0\0\0\0\0"), "1"},
    {TYPED(TN_PQ_INT64, MAKER_TIMESTAMP_MICROS), "TIMESTAMP(3)", BYTES("\xe9\3\0\0\0\0\0\0"), NULL},
    {TYPED(TN_PQ_INT64, MAKER_TIMESTAMP_MICROS), "TIMESTAMP(9)", BYTES("\1\0\0\0\0\0\0\0"), "1000"},
    {TIMED(TN_PQ_INT64, 8, TN_PQ_NANOS), "TIMESTAMP(9)", BYTES("\1\0\0\0\0\0\0\x80"),
     "-9223372036854775807"},
    {TIMED(TN_PQ_INT64, 8, TN_PQ_NANOS), "TIMESTAMP(6)", BYTES("\xe8\3\0\0\0\0\0\0"), "1"},
    {TYPED(TN_PQ_INT64, MAKER_TIMESTAMP_MILLIS), "TIMESTAMP(6)",
     BYTES("\xff\xff\xff\xff\xff\xff\xff\x7f"), NULL},
    // INT96: 1970-01-01 is Julian day 2440588 = 0x253d8c; the nanoseconds of day are signed
    {PLAIN(TN_PQ_INT96), "TIMESTAMP(9)", BYTES("\1\0\0\0\0\0\0\0\x8c\x3d\x25\0"), "1"},
    {PLAIN(TN_PQ_INT96), "TIMESTAMP(9)", BYTES("\x12\x3c\xe0\xef\xff\xff\xff\xff\x8c\x3d\x25\0"),
     "-270517230"},
    {PLAIN(TN_PQ_INT96), "TIMESTAMP(9)", BYTES("\0\0\0\0\0\0\0\0\x8b\x3d\x25\0"),
     "-86400000000000"},
    {PLAIN(TN_PQ_INT96), "TIMESTAMP_LTZ(9)", BYTES("\0\0\0\0\0\0\0\0\0\0\0\x80"),
     "-185753453990400000000000"},
    {PLAIN(TN_PQ_INT96), "TIMESTAMP(6)", BYTES("\xe8\3\0\0\0\0\0\0\x8c\x3d\x25\0"), "1"},
    {PLAIN(TN_PQ_INT96), "TIMESTAMP(6)", BYTES("\xe9\3\0\0\0\0\0\0\x8c\x3d\x25\0"), NULL},
};

static void type__every_physical_form(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(conversions); i++) {
    const conversion *c = &conversions[i];
    format_test t;
    tarn_error err;
    parquet_maker m;
    tn_format_file *file;
    rows_text rows;
    rows_request request = {0};
    tarn_status st;
    format_test_begin(&t);
    make_column(&m, &c->stored, c->value);
    assert_works(open_bytes(&t, &tn_parquet_format, maker_end(&m, 1), &file, &err), err);
    request.fields =
        sql_fields(&t, tn_arena_printf(&t.arena, "ROW<x %s>", c->type), &request.n_fields);
    st = read_rows(&t, file, &request, &rows, &err);
    if (c->expected == NULL) {
      assert_int_equal(st, TARN_E_CORRUPT);
      assert_contains(err.message, "column `x`");
      assert_contains(err.message, "does not fit the type");
    } else {
      if (st != TARN_OK) {
        fail_msg("conversion %d: %s", (int)i, err.message);
      }
      assert_string_equal(rows.lines[0], tn_arena_printf(&t.arena, "[%s]", c->expected));
    }
    tn_format_file_release(file);
    maker_free(&m);
    format_test_end(&t);
  }
}

/* Pairs that cannot be right. */
static const struct {
  stored stored;
  const char *type;
  const char *message; /* both types */
} mismatches[] = {
    {PLAIN(TN_PQ_INT64), "INT", "stored as INT64, which cannot be read as INT"},
    {PLAIN(TN_PQ_INT32), "STRING", "stored as INT32, which cannot be read as STRING"},
    {PLAIN(TN_PQ_FLOAT), "DOUBLE", "stored as FLOAT, which cannot be read as DOUBLE"},
    {TYPED(TN_PQ_INT32, MAKER_UINT_32), "INT", "INT32 (INT(32, unsigned))"},
    {TYPED(TN_PQ_INT64, MAKER_UINT_64), "BIGINT", "INT64 (INT(64, unsigned))"},
    {TYPED(TN_PQ_INT32, MAKER_DATE), "INT", "INT32 (DATE), which cannot be read as INT"},
    {PLAIN(TN_PQ_INT32), "DATE", "INT32, which cannot be read as DATE"},
    {PLAIN(TN_PQ_INT64), "TIMESTAMP(3)", "INT64, which cannot be read as TIMESTAMP(3)"},
    {TYPED(TN_PQ_INT64, MAKER_TIMESTAMP_MILLIS), "BIGINT", "INT64 (TIMESTAMP(MILLIS, UTC))"},
    {DECIMAL(TN_PQ_INT32, 0, 9, 2), "DECIMAL(9, 3)", "INT32 (DECIMAL(9, 2))"},
    {DECIMAL(TN_PQ_BYTE_ARRAY, 0, 9, 2), "STRING", "BYTE_ARRAY (DECIMAL(9, 2))"},
    {PLAIN(TN_PQ_BYTE_ARRAY), "DECIMAL(9, 2)", "BYTE_ARRAY, which cannot be read as DECIMAL(9, 2)"},
    {FIXED(3), "STRING", "FIXED_LEN_BYTE_ARRAY(3)"},
    {PLAIN(TN_PQ_INT32), "ARRAY<INT>", "INT32, which cannot be read as ARRAY<INT>"},
    {PLAIN(TN_PQ_INT32), "ROW<a INT>", "INT32, which cannot be read as ROW<`a` INT>"},
    {PLAIN(TN_PQ_INT32), "VARIANT", "INT32, which cannot be read as VARIANT"},
    {PLAIN(TN_PQ_BOOLEAN), "INT", "BOOLEAN, which cannot be read as INT"},
};

static tarn_status read_as(format_test *t, parquet_maker *m, const char *row, tarn_error *err) {
  tn_format_file *file;
  rows_text rows;
  rows_request request = {0};
  tarn_status st;
  assert_works(open_bytes(t, &tn_parquet_format, maker_end(m, 1), &file, err), *err);
  request.fields = sql_fields(t, row, &request.n_fields);
  st = read_rows(t, file, &request, &rows, err);
  tn_format_file_release(file);
  return st;
}

static void type__pairs_that_cannot_be_right_are_corrupt(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(mismatches); i++) {
    format_test t;
    tarn_error err;
    parquet_maker m;
    format_test_begin(&t);
    make_column(&m, &mismatches[i].stored, LITERAL("\0\0\0\0\0\0\0\0\0\0\0\0"));
    assert_int_equal(
        read_as(&t, &m, tn_arena_printf(&t.arena, "ROW<x %s>", mismatches[i].type), &err),
        TARN_E_CORRUPT);
    assert_contains(err.message, "column `x`");
    assert_contains(err.message, mismatches[i].message);
    maker_free(&m);
    format_test_end(&t);
  }
}

static void type__groups_of_another_shape_are_corrupt(void **state) {
  static const char *const types[] = {"ARRAY<INT>", "MAP<INT, INT>", "INT", "VARIANT"};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(types); i++) {
    format_test t;
    tarn_error err;
    parquet_maker m;
    format_test_begin(&t);
    maker_begin(&m);
    maker_group(&m, "x", TN_PQ_OPTIONAL, 1, MAKER_PLAIN_TYPE);
    maker_leaf(&m, "y", TN_PQ_OPTIONAL, TN_PQ_INT32, 0, MAKER_PLAIN_TYPE);
    maker_chunk(&m, 1);
    assert_int_equal(read_as(&t, &m, tn_arena_printf(&t.arena, "ROW<x %s>", types[i]), &err),
                     TARN_E_CORRUPT);
    assert_contains(err.message, "column `x` is stored as group, which cannot be read as");
    maker_free(&m);
    format_test_end(&t);
  }
}

static void type__vector_is_refused_by_name(void **state) {
  format_test t;
  tarn_error err;
  parquet_maker m;
  (void)state;
  format_test_begin(&t);
  make_column(&m, &mismatches[0].stored, LITERAL("\0\0\0\0\0\0\0\0"));
  assert_int_equal(read_as(&t, &m, "ROW<x VECTOR<FLOAT, 3>>", &err), TARN_E_UNSUPPORTED);
  assert_contains(err.message, "VECTOR in Parquet files is not supported");
  maker_free(&m);
  format_test_end(&t);
}

/* ------------------------------------------------------------------ VARIANT */

static void make_variant(parquet_maker *m, bool value_first) {
  const char *names[] = {value_first ? "value" : "metadata", value_first ? "metadata" : "value"};
  maker_begin(m);
  maker_group(m, "x", TN_PQ_OPTIONAL, 2, MAKER_PLAIN_TYPE);
  for (int i = 0; i < 2; i++) {
    maker_leaf(m, names[i], TN_PQ_REQUIRED, TN_PQ_BYTE_ARRAY, 0, MAKER_PLAIN_TYPE);
  }
  for (int i = 0; i < 2; i++) {
    bool is_value = (i == 0) == value_first;
    maker_chunk(m, 2);
    maker_page(m, &(maker_page_spec){
                      .n_values = 2,
                      .def = "10",
                      .values = is_value ? LITERAL("\2\0\0\0\x0c\1") : LITERAL("\3\0\0\0\1\0\0")});
  }
}

static void variant__has_metadata_and_value_in_any_order(void **state) {
  (void)state;
  for (int value_first = 0; value_first < 2; value_first++) {
    format_test t;
    tarn_error err;
    parquet_maker m;
    tn_format_file *file;
    rows_text rows;
    rows_request request = {0};
    format_test_begin(&t);
    make_variant(&m, value_first != 0);
    assert_works(open_bytes(&t, &tn_parquet_format, maker_end(&m, 2), &file, &err), err);
    request.fields = sql_fields(&t, "ROW<x VARIANT>", &request.n_fields);
    assert_works(read_rows(&t, file, &request, &rows, &err), err);
    assert_string_equal(rows.lines[0], "[1]");
    assert_string_equal(rows.lines[1], "[null]");
    tn_format_file_release(file);
    maker_free(&m);
    format_test_end(&t);
  }
}

/* A shredded Variant whose parts are these leaves. */
static const struct {
  const char *names[4];
  tn_pq_physical physical; /* of the last; the others are binary */
  const char *message;
} bad_shreds[] = {
    {{"metadata", "value", "typed_value"}, TN_PQ_INT96, "a VARIANT shredded as INT96"},
    {{"metadata", "typed_value", "other"},
     TN_PQ_INT32,
     "`other` of a shredded VARIANT has no place"},
    {{"metadata", "typed_value", "value"},
     TN_PQ_INT32,
     "`value` of a shredded VARIANT is not binary"},
    {{"metadata", "typed_value", "typed_value"},
     TN_PQ_INT32,
     "`typed_value` of a shredded VARIANT"},
    {{"metadata"}, TN_PQ_BYTE_ARRAY, "`x` of a shredded VARIANT has neither value nor typed_value"},
};

static void variant__shredded_otherwise_is_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(bad_shreds); i++) {
    const char *const *names = bad_shreds[i].names;
    format_test t;
    tarn_error err;
    parquet_maker m;
    tarn_status st;
    int32_t n = 0;
    while (names[n] != NULL) {
      n++;
    }
    format_test_begin(&t);
    maker_begin(&m);
    maker_group(&m, "x", TN_PQ_OPTIONAL, n, MAKER_PLAIN_TYPE);
    for (int32_t k = 0; k < n; k++) {
      maker_leaf(&m, names[k], TN_PQ_OPTIONAL,
                 k + 1 == n ? bad_shreds[i].physical : TN_PQ_BYTE_ARRAY, 0, MAKER_PLAIN_TYPE);
    }
    for (int32_t k = 0; k < n; k++) {
      maker_chunk(&m, 1);
    }
    st = read_as(&t, &m, "ROW<x VARIANT>", &err);
    assert_true(st == TARN_E_CORRUPT || st == TARN_E_UNSUPPORTED);
    assert_contains(err.message, bad_shreds[i].message);
    maker_free(&m);
    format_test_end(&t);
  }
}

/* ------------------------------------------------------------------ schema() */

static const struct {
  stored stored;
  const char *type;
} schemas[] = {
    {PLAIN(TN_PQ_BOOLEAN), "BOOLEAN NOT NULL"},
    {TYPED(TN_PQ_INT32, MAKER_INT_8), "TINYINT NOT NULL"},
    {PLAIN(TN_PQ_INT32), "INT NOT NULL"},
    {TYPED(TN_PQ_INT32, MAKER_UINT_32), "BIGINT NOT NULL"},
    {TYPED(TN_PQ_INT64, MAKER_UINT_64), "DECIMAL(20, 0) NOT NULL"},
    {DECIMAL(TN_PQ_BYTE_ARRAY, 0, 30, 4), "DECIMAL(30, 4) NOT NULL"},
    {PLAIN(TN_PQ_INT96), "TIMESTAMP(9) NOT NULL"},
    {TYPED(TN_PQ_INT64, MAKER_TIMESTAMP_MICROS), "TIMESTAMP(6) WITH LOCAL TIME ZONE NOT NULL"},
    {TIMED(TN_PQ_INT64, 8, TN_PQ_NANOS), "TIMESTAMP(9) NOT NULL"},
    {TYPED(TN_PQ_INT32, MAKER_TIME_MILLIS), "TIME(3) NOT NULL"},
    {TYPED(TN_PQ_INT32, MAKER_DATE), "DATE NOT NULL"},
    {TYPED(TN_PQ_BYTE_ARRAY, MAKER_ENUM), "STRING NOT NULL"},
    {PLAIN(TN_PQ_BYTE_ARRAY), "BYTES NOT NULL"},
    {FIXED(16), "BINARY(16) NOT NULL"},
};

static void schema__gives_paimon_types(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(schemas); i++) {
    format_test t;
    tarn_error err;
    parquet_maker m;
    tn_format_file *file;
    tn_buf text;
    int32_t n;
    format_test_begin(&t);
    tn_buf_init(&text, &t.env->mem, 4096);
    make_column(&m, &schemas[i].stored, LITERAL(""));
    assert_works(open_bytes(&t, &tn_parquet_format, maker_end(&m, 1), &file, &err), err);
    const tn_field *fields = must_schema(&t, file, &n);
    assert_int_equal(n, 1);
    assert_string_equal(fields[0].name, "x");
    assert_works(tn_type_to_sql(&fields[0].type, &text, &err), err);
    assert_works(tn_buf_append(&text, "", 1, &err), err);
    assert_string_equal((const char *)text.data, schemas[i].type);
    tn_buf_reset(&text);
    tn_format_file_release(file);
    maker_free(&m);
    format_test_end(&t);
  }
}

static void schema__refuses_decimals_of_more_than_38_digits(void **state) {
  static const stored wide = DECIMAL(TN_PQ_FIXED, 32, 76, 4);
  format_test t;
  tarn_error err;
  parquet_maker m;
  tn_format_file *file;
  tn_field *fields;
  int32_t n;
  (void)state;
  format_test_begin(&t);
  make_column(&m, &wide, LITERAL(""));
  assert_works(open_bytes(&t, &tn_parquet_format, maker_end(&m, 1), &file, &err), err);
  assert_int_equal(file->ops->schema(file, &t.arena, &fields, &n, &err), TARN_E_UNSUPPORTED);
  assert_contains(err.message, "column `x` is DECIMAL(76, 4)");
  tn_format_file_release(file);
  maker_free(&m);
  format_test_end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(type__every_physical_form),
      cmocka_unit_test(type__pairs_that_cannot_be_right_are_corrupt),
      cmocka_unit_test(type__groups_of_another_shape_are_corrupt),
      cmocka_unit_test(type__vector_is_refused_by_name),
      cmocka_unit_test(variant__has_metadata_and_value_in_any_order),
      cmocka_unit_test(variant__shredded_otherwise_is_refused),
      cmocka_unit_test(schema__gives_paimon_types),
      cmocka_unit_test(schema__refuses_decimals_of_more_than_38_digits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
