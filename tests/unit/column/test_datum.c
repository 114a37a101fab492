/* Single values: vectors, orders, text forms both ways. */
#include "column_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "support/torture.h"

/* The text of a value of the type, by a function that appends it. */
typedef tarn_status (*text_fn)(const tn_type *type, const tn_datum *datum, const tn_zone *zone,
                               tn_buf *out, tarn_error *err);

static tarn_status json_text(const tn_type *type, const tn_datum *datum, const tn_zone *zone,
                             tn_buf *out, tarn_error *err) {
  (void)zone;
  return tn_datum_to_json(type, datum, out, err);
}

static void assert_text(column_test *t, text_fn fn, const tn_type *type, const tn_datum *datum,
                        const tn_zone *zone, const char *expected) {
  tn_buf out;
  tarn_error err;
  tn_buf_init(&out, &t->env->mem, 1 << 20);
  assert_int_equal(fn(type, datum, zone, &out, &err), TARN_OK);
  assert_int_equal(tn_buf_append(&out, "", 1, &err), TARN_OK);
  assert_string_equal((char *)out.data, expected);
  tn_buf_reset(&out);
}

/* Row 0 of a vector of the type. */
static tn_datum datum_of(column_test *t, const tn_type *type, const char *json, tn_vec *vec) {
  must_build(t, type, json, vec);
  return tn_vec_datum(vec, 0);
}

static void datum_texts__are_those_of_the_program_and_of_java(void **state) {
  column_test *t = *state;
  static const struct {
    const char *sql, *value, *json, *text;
  } cases[] = {
      {"BOOLEAN", "true", "true", "true"},
      {"BOOLEAN", "false", "false", "false"},
      {"INT", "null", "null", "null"},
      {"TINYINT", "-128", "-128", "-128"},
      {"BIGINT", "-9223372036854775808", "-9223372036854775808", "-9223372036854775808"},
      {"BIGINT", "9223372036854775807", "9223372036854775807", "9223372036854775807"},
      {"FLOAT", "0.1", "0.1", "0.1"},
      {"DOUBLE", "10000000", "1.0E7", "1.0E7"},
      {"DOUBLE", "-0.0", "-0.0", "-0.0"},
      {"DECIMAL(10, 2)", "110", "\"1.10\"", "1.10"},
      {"DECIMAL(10, 2)", "-5", "\"-0.05\"", "-0.05"},
      {"DECIMAL(3, 0)", "7", "\"7\"", "7"},
      {"DECIMAL(38, 38)", "\"-99999999999999999999999999999999999999\"",
       "\"-0.99999999999999999999999999999999999999\"",
       "-0.99999999999999999999999999999999999999"},
      {"DECIMAL(38, 3)", "\"12345678901234567890123456789012345678\"",
       "\"12345678901234567890123456789012345.678\"", "12345678901234567890123456789012345.678"},
      {"DECIMAL(38, 0)", "\"10000000000000000000000000000000000000\"",
       "\"10000000000000000000000000000000000000\"", "10000000000000000000000000000000000000"},
      {"STRING", "\"a \\\"q\\\" \\u65e5\"", "\"a \\\"q\\\" \xe6\x97\xa5\"", "a \"q\" \xe6\x97\xa5"},
      {"BYTES", "\"a\\u007f\"", "\"617f\"", "a\x7f"},
      {"DATE", "19782", "\"2024-02-29\"", "2024-02-29"},
      {"DATE", "-719529", "\"-0001-12-31\"", "-0001-12-31"},
      {"DATE", "2932897", "\"+10000-01-01\"", "10000-01-01"},
      {"TIME(3)", "45296789", "\"12:34:56.789\"", "12:34:56.789"},
      {"TIME(3)", "45296700", "\"12:34:56.700\"", "12:34:56.7"},
      {"TIME(3)", "0", "\"00:00:00.000\"", "00:00:00.0"},
      {"TIME(0)", "45296789", "\"12:34:56.789\"", "12:34:56"},
      {"TIME(2)", "45296789", "\"12:34:56.789\"", "12:34:56.78"},
      {"TIME(9)", "45296789", "\"12:34:56.789\"", "12:34:56.789"},
      {"TIME(3)", "-1", "\"23:59:59.999\"", "23:59:59.999"},
      {"TIMESTAMP(3)", "1709210096789", "\"2024-02-29T12:34:56.789000000\"",
       "2024-02-29 12:34:56.789"},
      {"TIMESTAMP(0)", "-1000", "\"1969-12-31T23:59:59.000000000\"", "1969-12-31 23:59:59"},
      {"TIMESTAMP(0)", "-1", "\"1969-12-31T23:59:59.999000000\"", "1969-12-31 23:59:59.999"},
      {"TIMESTAMP(6)", "-1", "\"1969-12-31T23:59:59.999999000\"", "1969-12-31 23:59:59.999999"},
      {"TIMESTAMP(6)", "0", "\"1970-01-01T00:00:00.000000000\"", "1970-01-01 00:00:00.000000"},
      {"TIMESTAMP(3)", "-9223372036854775808", "\"-292275055-05-16T16:47:04.192000000\"",
       "-292275055-05-16 16:47:04.192"},
      {"TIMESTAMP(9)", "-1", "\"1969-12-31T23:59:59.999999999\"", "1969-12-31 23:59:59.999999999"},
      {"TIMESTAMP(9)", "\"253402300800000000000\"", "\"+10000-01-01T00:00:00.000000000\"",
       "10000-01-01 00:00:00.000000000"},
      {"TIMESTAMP_LTZ(3)", "1709210096789", "\"2024-02-29T12:34:56.789000000Z\"",
       "2024-02-29 20:34:56.789"}};
  tn_zone *zone;
  tarn_error err;
  assert_int_equal(tn_zone_open(&t->env->mem, "+08:00", &zone, &err), TARN_OK);
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    const tn_type *type = parse_type(t, cases[i].sql);
    char json[128];
    tn_vec vec;
    tn_datum d;
    snprintf(json, sizeof(json), "[%s]", cases[i].value);
    d = datum_of(t, type, json, &vec);
    assert_text(t, json_text, type, &d, zone, cases[i].json);
    assert_text(t, tn_datum_to_text, type, &d, zone, cases[i].text);
    tn_vec_reset(t->env, &vec);
  }
  tn_zone_free(&t->env->mem, zone);
}

static void datum_to_json__quotes_what_is_no_number(void **state) {
  column_test *t = *state;
  static const tn_type type = {.root = TN_DOUBLE};
  tn_datum nan = {.v.f64 = NAN}, infinity = {.v.f64 = -INFINITY};
  assert_text(t, json_text, &type, &nan, NULL, "\"NaN\"");
  assert_text(t, json_text, &type, &infinity, NULL, "\"-Infinity\"");
  assert_text(t, tn_datum_to_text, &type, &infinity, NULL, "-Infinity");
}

/* ------------------------------------------------------------------ vectors */

static void vec_datum__reads_every_encoding_and_to_vec_writes_it(void **state) {
  column_test *t = *state;
  static const struct {
    const char *sql, *json, *encodings;
  } cases[] = {{"BOOLEAN", "[true,null,false]", "fdc"}, {"TINYINT", "[-5,null,7]", "fdc"},
               {"SMALLINT", "[-5,null,7]", "fdc"},      {"INT", "[-5,null,7]", "fdc"},
               {"BIGINT", "[-5,null,7]", "fdc"},        {"FLOAT", "[-1.5,null,7]", "fdc"},
               {"DOUBLE", "[-1.5,null,7]", "fdc"},      {"DECIMAL(30, 2)", "[-5,null,7]", "fdc"},
               {"STRING", "[\"ab\",null,\"\"]", "fdvc"}};
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    const tn_type *type = parse_type(t, cases[i].sql);
    tn_vec flat;
    must_build(t, type, cases[i].json, &flat);
    for (const char *e = cases[i].encodings; *e != '\0'; e++) {
      tn_vec vec;
      tarn_error err;
      assert_int_equal(encode_vec(t->env, &flat, *e, &vec, &err), TARN_OK);
      for (int64_t row = 0; row < 3; row++) {
        tn_datum d = tn_vec_datum(&vec, row), copy;
        tn_vec one, wanted;
        char *text;
        memset(&one, 0, sizeof(one));
        memset(&wanted, 0, sizeof(wanted));
        assert_true(tn_datum_copy(&t->arena, type, &d, &copy));
        assert_int_equal(tn_datum_to_vec(t->env, type, &copy, &one, &err), TARN_OK);
        assert_int_equal(tn_vec_copy_range(t->env, &vec, row, 1, &wanted, &err), TARN_OK);
        text = vec_text(&wanted);
        assert_vec(&one, text);
        free(text);
        tn_vec_reset(t->env, &one);
        tn_vec_reset(t->env, &wanted);
      }
      tn_vec_reset(t->env, &vec);
    }
    tn_vec_reset(t->env, &flat);
  }
}

/* ------------------------------------------------------------------ orders */

static void datum_compare__orders_numbers_and_strings(void **state) {
  column_test *t = *state;
  /* ascending; NaN and -0.0 are added below */
  static const struct {
    const char *sql, *json;
  } cases[] = {
      {"BOOLEAN", "[false,true]"},
      {"INT", "[-2147483648,-1,0,2147483647]"},
      {"DOUBLE", "[-1e300,-1,0,1e-300,5]"},
      {"DECIMAL(38, 0)",
       "[\"-99999999999999999999999999999999999999\",-1,0,1,"
       "\"99999999999999999999999999999999999999\"]"},
      {"STRING", "[\"\",\"a\",\"a\\u0001\",\"b\",\"\\u00e9\",\"\\uffff\",\"\\ud83d\\ude00\"]"},
      {"TIMESTAMP(9)", "[-1,0,\"9999999999999999999999\"]"}};
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    const tn_type *type = parse_type(t, cases[i].sql);
    tn_vec vec;
    must_build(t, type, cases[i].json, &vec);
    for (int64_t a = 0; a < vec.length; a++) {
      for (int64_t b = 0; b < vec.length; b++) {
        tn_datum x = tn_vec_datum(&vec, a), y = tn_vec_datum(&vec, b);
        int sign = (a > b) - (a < b), c = tn_datum_compare(type, &x, &y);
        assert_int_equal((c > 0) - (c < 0), sign);
        c = tn_datum_compare_key(type, &x, &y);
        assert_int_equal((c > 0) - (c < 0), sign);
      }
    }
    tn_vec_reset(t->env, &vec);
  }
}

static void datum_compare__puts_nan_last_and_negative_zero_first(void **state) {
  static const double order[] = {-INFINITY, -1, -0.0, 0.0, 1, INFINITY, NAN};
  static const tn_type type = {.root = TN_FLOAT};
  (void)state;
  for (int a = 0; a < 7; a++) {
    for (int b = 0; b < 7; b++) {
      tn_datum x = {.v.f64 = order[a]}, y = {.v.f64 = b == 6 ? -order[b] : order[b]};
      assert_int_equal(tn_datum_compare(&type, &x, &y), (a > b) - (a < b));
      assert_int_equal(tn_datum_compare_key(&type, &x, &y), (a > b) - (a < b));
    }
  }
}

static void datum_compare__takes_signed_bytes_in_filters_but_not_in_keys(void **state) {
  static const tn_type type = {.root = TN_VARBINARY, .length = INT32_MAX};
  tn_datum zero = {.v.bytes = {(const uint8_t *)"\x00", 1}};
  tn_datum high = {.v.bytes = {(const uint8_t *)"\xff", 1}};
  tn_datum longer = {.v.bytes = {(const uint8_t *)"\x00\xff", 2}};
  (void)state;
  assert_true(tn_datum_compare(&type, &high, &zero) < 0);
  assert_true(tn_datum_compare(&type, &zero, &longer) < 0);
  assert_int_equal(tn_datum_compare(&type, &high, &high), 0);
  assert_true(tn_datum_compare_key(&type, &high, &zero) > 0);
  assert_true(tn_datum_compare_key(&type, &longer, &high) < 0);
}

/* ------------------------------------------------------------------ from text */

static void show(const tn_type *type, const tn_datum *d, char *out, size_t size) {
  static const tn_type plain = {.root = TN_BIGINT};
  float f = (float)d->v.f64;
  uint32_t bits;
  int64_t nanos = 0, millis = 0;
  tarn_error err;
  tn_mem mem;
  tn_buf buf;
  if (d->is_null) {
    snprintf(out, size, "null");
    return;
  }
  switch (type->root) {
    case TN_FLOAT:
      memcpy(&bits, &f, 4);
      snprintf(out, size, "%x", bits);
      return;
    case TN_DOUBLE:
      snprintf(out, size, "%llx", (unsigned long long)tn_load_le64(&d->v.f64));
      return;
    case TN_BINARY:
    case TN_VARBINARY:
      out[0] = '\0';
      for (size_t i = 0; i < d->v.bytes.len; i++) {
        snprintf(out + 2 * i, size - 2 * i, "%02x", d->v.bytes.data[i]);
      }
      return;
    case TN_TIMESTAMP:
    case TN_TIMESTAMP_LTZ:
      if (type->precision > 6) {
        millis = (int64_t)(d->v.i128 / 1000000) - (d->v.i128 % 1000000 < 0);
        nanos = (int64_t)(d->v.i128 - (tn_i128)millis * 1000000);
      } else if (type->precision > 3) {
        millis = d->v.i64 / 1000 - (d->v.i64 % 1000 < 0);
        nanos = (d->v.i64 - millis * 1000) * 1000;
      } else {
        millis = d->v.i64;
      }
      snprintf(out, size, "%lld:%lld", (long long)millis, (long long)nanos);
      return;
    default:
      tn_mem_init(&mem, NULL, 1 << 20);
      tn_buf_init(&buf, &mem, 1 << 20);
      assert_int_equal(
          tn_datum_to_text(type->root == TN_DATE || type->root == TN_TIME ? &plain : type, d, NULL,
                           &buf, &err),
          TARN_OK);
      snprintf(out, size, "%.*s", (int)buf.len, (const char *)buf.data);
      tn_buf_reset(&buf);
      return;
  }
}

static FILE *open_data(const char *name) {
  char path[512];
  FILE *f;
  snprintf(path, sizeof(path), "%s/tests/unit/column/data/%s", TARN_SOURCE_DIR, name);
  f = fopen(path, "r");
  assert_non_null(f);
  return f;
}

static void unescape(char *text) {
  char *to = text;
  for (; *text != '\0'; text++) {
    if (text[0] == '\\' && (text[1] == 't' || text[1] == 'n')) {
      *to++ = *++text == 't' ? '\t' : '\n';
    } else {
      *to++ = *text;
    }
  }
  *to = '\0';
}

static void datum_from_text__casts_as_java_does(void **state) {
  column_test *t = *state;
  char line[512], shown[256];
  int n = 0;
  FILE *f = open_data("text_casts.txt");
  while (fgets(line, sizeof(line), f) != NULL) {
    char *text = strchr(line, '\t'), *wanted = text != NULL ? strchr(text + 1, '\t') : NULL;
    const tn_type *type;
    tn_datum d;
    tarn_error err;
    tarn_status st;
    if (line[0] == '#') {
      continue;
    }
    assert_non_null(wanted);
    *text++ = '\0';
    *wanted++ = '\0';
    wanted[strcspn(wanted, "\n")] = '\0';
    unescape(text);
    type = parse_type(t, line);
    st = tn_datum_from_text(&t->arena, type, tn_slice_text(text), NULL, &d, &err);
    if (st == TARN_OK) {
      show(type, &d, shown, sizeof(shown));
    }
    if (strcmp(wanted, "!") == 0 ? st != TARN_E_INVALID
                                 : st != TARN_OK || strcmp(shown, wanted) != 0) {
      fail_msg("%s of \"%s\": wanted %s, got %s", line, text, wanted,
               st == TARN_OK ? shown : err.message);
    }
    n++;
  }
  fclose(f);
  assert_int_equal(n, 258);
}

/* What Paimon 1.4.2 gives in Europe/Berlin: a time in the gap moves on, one that comes twice is the
 * first. */
static void datum_from_text__reads_ltz_in_the_zone(void **state) {
  column_test *t = *state;
  static const struct {
    const char *text;
    int64_t micros;
  } cases[] = {{"2024-02-29 12:34:56.789123", INT64_C(1709206496789123)},
               {"2024-07-01", INT64_C(1719784800000000)},
               {"2024-03-31 02:30:00", INT64_C(1711848600000000)},
               {"2024-10-27 02:30:00", INT64_C(1729989000000000)},
               {"1900-01-01", INT64_C(-2208992400000000)}};
  tn_zone *zone;
  tarn_error err;
  assert_int_equal(tn_zone_open(&t->env->mem, "Europe/Berlin", &zone, &err), TARN_OK);
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tn_datum d;
    assert_int_equal(tn_datum_from_text(&t->arena, parse_type(t, "TIMESTAMP_LTZ(6)"),
                                        tn_slice_text(cases[i].text), zone, &d, &err),
                     TARN_OK);
    assert_true(d.v.i64 == cases[i].micros);
  }
  tn_zone_free(&t->env->mem, zone);
}

static void datum_from_text__refuses_years_that_do_not_fit(void **state) {
  column_test *t = *state;
  tn_datum d;
  tarn_error err;
  assert_int_equal(tn_datum_from_text(&t->arena, parse_type(t, "TIMESTAMP(6)"),
                                      tn_slice_text("+300000-01-01"), NULL, &d, &err),
                   TARN_E_INVALID);
  assert_non_null(strstr(err.message, "\"+300000-01-01\" is not a value of type TIMESTAMP(6)"));
  assert_int_equal(tn_datum_from_text(&t->arena, parse_type(t, "TIMESTAMP(3)"),
                                      tn_slice_text("+300000-01-01"), NULL, &d, &err),
                   TARN_OK);
}

/* ------------------------------------------------------------------ numbers and dates */

static void float_text__matches_an_exact_search_and_reads_back(void **state) {
  char line[128];
  int n = 0;
  FILE *f = open_data("float_text.txt");
  (void)state;
  while (fgets(line, sizeof(line), f) != NULL) {
    unsigned long long bits;
    char kind, wanted[64], text[40];
    size_t len;
    if (line[0] == '#') {
      continue;
    }
    assert_int_equal(sscanf(line, "%c %llx %63s", &kind, &bits, wanted), 3);
    if (kind == 'd') {
      double d = tn_load_f64(&bits);
      len = tn_double_to_java(d, text);
    } else {
      uint32_t low = (uint32_t)bits;
      len = tn_float_to_java(tn_load_f32(&low), text);
    }
    text[len] = '\0';
    assert_string_equal(text, wanted);
    if (strcmp(wanted, "NaN") != 0) {
      const tn_type type = {.root = kind == 'd' ? TN_DOUBLE : TN_FLOAT};
      tn_datum back;
      char shown[64];
      assert_int_equal(tn_datum_from_text(NULL, &type, tn_slice_text(text), NULL, &back, NULL),
                       TARN_OK);
      show(&type, &back, shown, sizeof(shown));
      assert_true(strtoull(shown, NULL, 16) == bits);
    }
    n++;
  }
  fclose(f);
  assert_true(n > 500);
}

/* Borders between two values, to the last digit: exact decimal expansions. */
static void float_parse__rounds_halves_to_even(void **state) {
  static const struct {
    const char *text;
    double wanted;
  } cases[] = {
      {"9007199254740993", 9007199254740992.0},
      {"9007199254740993.0000000000000000000000000000000000000000001", 9007199254740994.0},
      {"9007199254740995", 9007199254740996.0},
      {"2.4703282292062327208299439643411068618252990130716238221279284125033775364e-324", 0},
      {"2.4703282292062328e-324", 4.9406564584124654e-324},
      {"17976931348623158079372897140530341507993413271003782693617377898044496829276475"
       "09466490179775872070963302864166928879109465555478519404026306574886715058206819"
       "08902000708383676273854845817711531764475730270069855571366959622842914819860834"
       "936475292719074168444365510704342711559699508093042880177904174497792",
       INFINITY},
      {"17976931348623158079372897140530341507993413271003782693617377898044496829276475"
       "09466490179775872070963302864166928879109465555478519404026306574886715058206819"
       "08902000708383676273854845817711531764475730270069855571366959622842914819860834"
       "936475292719074168444365510704342711559699508093042880177904174497791",
       0x1.fffffffffffffp1023},
      {"0.000000000000000000000000000000000000000000000000000000000000001e63", 1.0},
      {"1e-400", 0},
      {"123456789012345678901234567890e-10", 12345678901234567890.123456789}};
  static const tn_type type = {.root = TN_DOUBLE}, narrow = {.root = TN_FLOAT};
  tn_datum d;
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    assert_int_equal(tn_datum_from_text(NULL, &type, tn_slice_text(cases[i].text), NULL, &d, NULL),
                     TARN_OK);
    assert_true(d.v.f64 == cases[i].wanted);
  }
  /* once to FLOAT, not to DOUBLE and then to FLOAT */
  assert_int_equal(tn_datum_from_text(NULL, &narrow, tn_slice_text("1.00000017881393432617187499"),
                                      NULL, &d, NULL),
                   TARN_OK);
  assert_true((float)d.v.f64 == 0x1.000002p0f);
}

/* ------------------------------------------------------------------ torture */

static tarn_status print_and_parse(void *ctx, tarn_env *env, tarn_error *err) {
  static const tn_type string = {.root = TN_CHAR, .length = 100};
  tarn_status st = TARN_OK;
  tn_datum d, copy;
  tn_arena arena;
  tn_buf out;
  tn_vec vec;
  (void)ctx;
  memset(&vec, 0, sizeof(vec));
  tn_arena_init(&arena, &env->mem, 1 << 20);
  tn_buf_init(&out, &env->mem, 1 << 20);
  TN_TRY_TO(done, tn_datum_from_text(&arena, &string, tn_slice_text("abc"), NULL, &d, err));
  if (!tn_datum_copy(&arena, &string, &d, &copy)) {
    st = tn_oom(err);
    goto done;
  }
  TN_TRY_TO(done, tn_datum_to_json(&string, &copy, &out, err));
  TN_TRY_TO(done, tn_datum_to_text(&string, &copy, NULL, &out, err));
  TN_TRY_TO(done, tn_datum_to_vec(env, &string, &copy, &vec, err));
done:
  tn_vec_reset(env, &vec);
  tn_buf_reset(&out);
  tn_arena_reset(&arena);
  return st;
}

static void datums__survive_failing_allocations(void **state) {
  (void)state;
  assert_true(tn_torture(print_and_parse, NULL, TARN_OK) > 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      column_unit_test(datum_texts__are_those_of_the_program_and_of_java),
      column_unit_test(datum_to_json__quotes_what_is_no_number),
      column_unit_test(vec_datum__reads_every_encoding_and_to_vec_writes_it),
      column_unit_test(datum_compare__orders_numbers_and_strings),
      cmocka_unit_test(datum_compare__puts_nan_last_and_negative_zero_first),
      cmocka_unit_test(datum_compare__takes_signed_bytes_in_filters_but_not_in_keys),
      column_unit_test(datum_from_text__casts_as_java_does),
      column_unit_test(datum_from_text__reads_ltz_in_the_zone),
      column_unit_test(datum_from_text__refuses_years_that_do_not_fit),
      cmocka_unit_test(float_text__matches_an_exact_search_and_reads_back),
      cmocka_unit_test(float_parse__rounds_halves_to_even),
      cmocka_unit_test(datums__survive_failing_allocations)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
