/* Filters over columns, against the test of single values. */
#include "predicate_test.h"

#include <stdio.h>

#include "base/bytes.h"
#include "column/predicate_internal.h"
#include "support/torture.h"

/* Rows of each column, as JSON for build_vec(). */
static const struct {
  const char *column, *rows[9]; /* NULL: null */
  const char *encodings;
} columns[] = {
    {"ti", {"-128", "0", NULL, "1", "2", "127", "5", "5", "-5"}, "fdc"},
    {"si", {"-32768", "0", NULL, "1", "2", "32767", "5", "300", "-5"}, "fdc"},
    {"i", {"-2147483648", "0", NULL, "1", "2", "2147483647", "5", "300", "-5"}, "fdc"},
    {"l",
     {"-9223372036854775808", "0", NULL, "1", "2", "9223372036854775807", "5", "3", "-5"},
     "fdc"},
    {"f", {"-1.5", "0.0", NULL, "-0.0", "1e38", "0.1", "5", "1e-40", "-5"}, "fdc"},
    {"d", {"-1.5", "0.0", NULL, "-0.0", "1e308", "0.1", "5", "1e-310", "-5"}, "fdc"},
    {"dec", {"-150", "0", NULL, "50", "999999999", "-999999999", "5", "1", "2"}, "fdc"},
    {"big",
     {"\"-99999999999999999999999999999999999999\"", "0", NULL, "1", "2",
      "\"99999999999999999999999999999999999999\"", "5", "\"18446744073709551616\"", "-5"},
     "fdc"},
    {"s",
     {"\"\"", "\"a\"", NULL, "\"abc\"", "\"b\"", "\"ab\\nc\"", "\"xab\"", "\"\xc3\xa9\"",
      "\"a_c\""},
     "fdvc"},
    {"bo", {"true", "false", NULL, "true", "false", "false", "true", NULL, "true"}, "fdc"},
    {"bin",
     {"\"\"", "\"a\"", NULL, "\"\xc3\xa9\"", "\"b\"", "\"ab\"", "\"\x7f\"", "\"\\u0000\"",
      "\"abc\""},
     "fdvc"},
    {"da", {"-1", "0", NULL, "19782", "1", "2", "3", "2147483647", "-2147483648"}, "fdc"},
    {"t", {"0", "1", NULL, "45296789", "86399999", "2", "3", "4", "5"}, "fdc"},
    {"ts", {"-1", "0", NULL, "1698796800000", "1", "2", "3", "4", "5"}, "fdc"},
    {"ts9", {"-1", "0", NULL, "\"1698796800000000001\"", "1", "2", "3", "4", "5"}, "fdc"},
    {"z", {"-1", "0", NULL, "1698796800000", "1", "2", "3", "4", "5"}, "fdc"},
};

static const struct {
  const char *column, *tests[16];
} tests_of[] = {
    {"ti",
     {"ti = 5", "ti <> 5", "ti < -127", "ti < -128", "ti >= 127", "ti > 127", "ti <= 1", "ti > 1",
      "ti BETWEEN 0 AND 5", "ti NOT BETWEEN 0 AND 5", "ti BETWEEN 5 AND 0", "ti IN (1, 2)",
      "ti IN (-5, 127, 1)", "ti NOT IN (-5, 127, 1)"}},
    {"si",
     {"si = 300", "si < -32768", "si <> 0", "si > 32767", "si NOT BETWEEN 5 AND 0", "si IN (NULL)",
      "si NOT IN (1, NULL)", "si IN (1, NULL, 300)"}},
    {"i",
     {"i = 5", "i <> 5", "i < -2147483648", "i <= -2147483648", "i > 2147483647", "i >= 2147483647",
      "i BETWEEN 1 AND 300", "i IN (300, -5, 2147483647, -2147483648)", "i NOT IN (300, -5)",
      "i IN (0, 1, 2)", "i = NULL", "i BETWEEN NULL AND 5"}},
    {"l",
     {"l = 5", "l > 5", "l <= -9223372036854775808", "l < -9223372036854775808",
      "l > 9223372036854775807", "l >= 9223372036854775807",
      "l IN (9223372036854775807, -9223372036854775808)",
      "l NOT BETWEEN -9223372036854775808 AND 9223372036854775807"}},
    {"f",
     {"f = 0.0", "f = -0.0", "f < 0.0", "f >= 0.0", "f > 1e37", "f IS NAN", "f IS NOT NAN",
      "f = 0.1", "f IN (0.1, 'NaN')", "f NOT IN (0.1, 5)", "f <= 'NaN'", "f < 'NaN'", "f > 'NaN'",
      "f BETWEEN -0.0 AND 0.0"}},
    {"d",
     {"d = 0.0", "d = -0.0", "d < 0.0", "d >= 0.0", "d > 1e37", "d IS NAN", "d IS NOT NAN",
      "d = 0.1", "d IN (0.1, 'NaN')", "d NOT IN (0.1, 5)", "d <= 'NaN'", "d < 'NaN'", "d > 'NaN'",
      "d BETWEEN -0.0 AND 0.0"}},
    {"dec",
     {"dec = 0.5", "dec < 0", "dec > 9999999.98", "dec IN (0.01, 0.05, -1.5)",
      "dec NOT BETWEEN -1.5 AND 1.5", "dec IN (0.01, 0.02)"}},
    {"big",
     {"big < 0", "big > 18446744073709551615", "big = 18446744073709551616",
      "big IN (1, 18446744073709551616)", "big NOT IN (1, 5, -5)",
      "big >= 99999999999999999999999999999999999999"}},
    {"s",
     {"s = 'abc'", "s <> 'abc'", "s = ''", "s > 'a'", "s <= 'abc'", "s BETWEEN 'a' AND 'b'",
      "s IN ('a', 'xab', 'q')", "s NOT IN ('a', '')", "s LIKE 'a%'", "s LIKE '%b'", "s LIKE '%b%'",
      "s LIKE 'a_c'", "s LIKE 'a%c'", "s NOT LIKE 'a%'", "s LIKE 'a\\_c'"}},
    {"bo",
     {"bo = TRUE", "bo <> TRUE", "bo < TRUE", "bo <= FALSE", "bo IN (TRUE)",
      "bo NOT IN (FALSE, TRUE)", "bo = NULL"}},
    {"bin", {"bin = X'61'", "bin < X'00'", "bin >= X'c3a9'", "bin IN (X'61', X'')", "bin <> X''"}},
    {"da", {"da = '1970-01-01'", "da >= '2024-01-01'", "da IN ('1970-01-02', '1970-01-03')"}},
    {"t", {"t = '12:34:56.789'", "t > '00:00:00.001'"}},
    {"ts", {"ts >= '2023-11-01'", "ts < '1970-01-01'", "ts = '1970-01-01 00:00:00.003'"}},
    {"ts9", {"ts9 >= '2023-11-01'", "ts9 > '2023-11-01'", "ts9 < '1970-01-01'"}},
    {"z", {"z >= '2023-11-01T00:00:00Z'", "z < '1970-01-01T00:00:00Z'"}},
};

/* A vector of n rows that repeats the column's nine; floats also get NaN and infinities. */
static void build_column(predicate_test *p, size_t c, int64_t n, bool has_nulls, tn_vec *out) {
  size_t size = (size_t)n * 48 + 16, at = 1;
  char *json = malloc(size);
  assert_non_null(json);
  json[0] = '[';
  for (int64_t i = 0; i < n; i++) {
    const char *row = columns[c].rows[(i * 5 + i / 9) % 9];
    row = row != NULL ? row : has_nulls ? "null" : columns[c].rows[0];
    at += (size_t)snprintf(json + at, size - at, "%s%s", i > 0 ? "," : "", row);
  }
  snprintf(json + at, size - at, "]");
  must_build(&p->t, &field_named(p, columns[c].column)->type, json, out);
  free(json);
  if (out->layout == TN_LAYOUT_F64 && n > 12) {
    ((double *)out->values)[4] = __builtin_nan("");
    ((double *)out->values)[8] = -__builtin_inf();
    ((uint64_t *)out->values)[12] = 0xfff8000000000123u; /* another NaN */
  } else if (out->layout == TN_LAYOUT_F32 && n > 12) {
    ((float *)out->values)[4] = __builtin_nanf("");
    ((float *)out->values)[8] = -__builtin_inff();
    ((uint32_t *)out->values)[12] = 0xffc00123u;
  }
}

/* The filter's answer for a batch of one column, against tn_pred_test_datum() row by row. */
static void check_filter(predicate_test *p, const tn_pred *pred, const tn_field *field,
                         const tn_vec *vec, const char *what) {
  tarn_error err;
  int64_t n = vec->length;
  tn_vec shown = *vec; /* borrowed */
  tn_batch batch = {n, 1, field, &shown, -1};
  uint8_t *selected = malloc(TN_BITMAP_BYTES(n) + 1);
  assert_non_null(selected);
  for (int round = 0; round < 3; round++) { /* all rows, every third, none */
    memset(selected, 0, TN_BITMAP_BYTES(n) + 1);
    selected[TN_BITMAP_BYTES(n)] = 0xa5;
    for (int64_t i = 0; i < n; i++) {
      tn_bit_put(selected, i, round == 0 || (round == 1 && i % 3 == 0));
    }
    if (tn_pred_filter(p->t.env, pred, &batch, selected, &err) != TARN_OK) {
      fail_msg("%s: %s", what, err.message);
    }
    assert_int_equal(selected[TN_BITMAP_BYTES(n)], 0xa5);
    for (int64_t i = 0; i < n; i++) {
      tn_datum value = tn_vec_is_null(vec, i) ? (tn_datum){.is_null = true} : tn_vec_datum(vec, i);
      bool wanted = (round == 0 || (round == 1 && i % 3 == 0)) && tn_pred_test_datum(pred, &value);
      if (tn_bit_get(selected, i) != wanted) {
        fail_msg("%s, encoding %d, row %d: not %d", what, (int)vec->encoding, (int)i, wanted);
      }
    }
  }
  free(selected);
}

static void filter__agrees_with_single_values(void **state) {
  static const int64_t lengths[] = {1, 9, 63, 64, 65, 200};
  predicate_test p;
  tarn_error err;
  (void)state;
  predicate_test_begin(&p);
  for (size_t c = 0; c < TN_COUNT(columns); c++) {
    assert_string_equal(tests_of[c].column, columns[c].column);
    const tn_field *field = field_named(&p, columns[c].column);
    for (size_t k = 0; k < TN_COUNT(lengths) * 2; k++) {
      tn_vec flat;
      memset(&flat, 0, sizeof(flat));
      build_column(&p, c, lengths[k / 2], k % 2 == 0, &flat);
      for (const char *e = columns[c].encodings; *e != 0; e++) {
        tn_vec vec;
        assert_int_equal(encode_vec(p.t.env, &flat, *e, &vec, &err), TARN_OK);
        char text[2][64];
        snprintf(text[0], 64, "%s IS NULL", columns[c].column);
        snprintf(text[1], 64, "%s IS NOT NULL", columns[c].column);
        check_filter(&p, where(&p, text[0]), field, &vec, text[0]);
        check_filter(&p, where(&p, text[1]), field, &vec, text[1]);
        for (size_t i = 0; i < 16 && tests_of[c].tests[i] != NULL; i++) {
          check_filter(&p, where(&p, tests_of[c].tests[i]), field, &vec, tests_of[c].tests[i]);
        }
        tn_vec_reset(p.t.env, &vec);
      }
      tn_vec_reset(p.t.env, &flat);
    }
  }
  predicate_test_end(&p);
}

static void filter__finds_the_literals_of_a_long_list(void **state) {
  enum { N_ROWS = 3000, N_LITERALS = 1500 };
  predicate_test p;
  tarn_error err;
  (void)state;
  predicate_test_begin(&p);
  const tn_field *field = field_named(&p, "l");
  tn_datum *literals = tn_arena_calloc(&p.t.arena, N_LITERALS, sizeof(tn_datum));
  tn_vec vec;
  memset(&vec, 0, sizeof(vec));
  assert_non_null(literals);
  for (int64_t i = 0; i < N_LITERALS; i++) {
    literals[i].v.i64 = (i - 700) * 1000003 * (i % 3 + 1);
  }
  assert_int_equal(tn_vec_init(p.t.env, &field->type, &vec, &err), TARN_OK);
  assert_int_equal(tn_vec_alloc(p.t.env, &vec, N_ROWS, 0, &err), TARN_OK);
  for (int64_t i = 0; i < N_ROWS; i++) {
    ((int64_t *)vec.values)[i] = i % 2 == 0 ? literals[i / 2].v.i64 : literals[i / 2].v.i64 + i % 5;
  }
  static const int32_t counts[] = {2, 9, 100, N_LITERALS};
  for (size_t k = 0; k < TN_COUNT(counts); k++) {
    check_filter(&p, tn_pred_leaf(&p.t.arena, TN_PRED_IN, field, literals, counts[k]), field, &vec,
                 "IN");
    check_filter(&p, tn_pred_leaf(&p.t.arena, TN_PRED_NOT_IN, field, literals, counts[k]), field,
                 &vec, "NOT IN");
  }
  tn_vec_reset(p.t.env, &vec);
  predicate_test_end(&p);
}

/* Rows of a batch of columns i, s and r that match, as digits. */
static const char *matching(predicate_test *p, const char *text, const char *i, const char *s,
                            const char *r) {
  tarn_error err;
  tn_field fields[] = {*field_named(p, "r"), *field_named(p, "s"), *field_named(p, "i")};
  const char *rows[] = {r, s, i};
  tn_vec vecs[3];
  uint8_t selected[1] = {0xff};
  memset(vecs, 0, sizeof(vecs));
  for (int k = 0; k < 3; k++) {
    must_build(&p->t, &fields[k].type, rows[k], &vecs[k]);
  }
  tn_batch batch = {vecs[0].length, 3, fields, vecs, -1};
  if (tn_pred_filter(p->t.env, where(p, text), &batch, selected, &err) != TARN_OK) {
    fail_msg("%s: %s", text, err.message);
  }
  char *out = tn_arena_calloc(&p->t.arena, 1, 9);
  for (int64_t k = 0, at = 0; k < batch.n_rows; k++) {
    if (tn_bit_get(selected, k)) {
      out[at++] = (char)('0' + k);
    }
  }
  for (int k = 0; k < 3; k++) {
    tn_vec_reset(p->t.env, &vecs[k]);
  }
  return out;
}

static void filter__combines_and_steps_into_rows(void **state) {
  static const struct {
    const char *text, *rows;
  } cases[] = {
      {"i = 1 OR s = 'b'", "0123"},
      {"i = 1 AND s = 'b'", "0"},
      {"i IS NULL OR s IS NULL", "345"},
      {"NOT (i = 1 OR s = 'b')", ""},
      {"i <> 1 OR s <> 'b'", "125"},
      {"(i = 1 OR i = 2) AND (s = 'a' OR s = 'b')", "012"},
      {"i = 1 AND FALSE", ""},
      {"i = 1 OR TRUE", "012345"},
      {"r.x = 1", "04"},
      {"r.x <> 1", "1"},
      {"r.x IS NULL", "235"},
      {"r.x IS NOT NULL", "014"},
      {"r IS NULL", "2"},
      {"r IS NOT NULL", "01345"},
      {"r.y.z = 'q'", "03"},
      {"r.y.z IS NULL", "1245"},
      {"r.y IS NULL", "24"},
      {"r.y.z LIKE 'q%' AND r.x = 1", "0"},
      {"NOT r.x = 1", "1"},
  };
  predicate_test p;
  (void)state;
  predicate_test_begin(&p);
  for (size_t k = 0; k < TN_COUNT(cases); k++) {
    const char *got =
        matching(&p, cases[k].text, "[1,1,2,null,null,3]", "[\"b\",\"a\",\"b\",\"b\",null,null]",
                 "[[1,[\"q\"]],[2,[null]],null,[null,[\"q\"]],[1,null],[null,[null]]]");
    if (strcmp(got, cases[k].rows) != 0) {
      fail_msg("%s: rows %s, not %s", cases[k].text, got, cases[k].rows);
    }
  }
  predicate_test_end(&p);
}

static void filter__of_a_column_that_is_not_there_is_a_fault(void **state) {
  predicate_test p;
  tarn_error err;
  uint8_t selected[1] = {1};
  tn_vec vec;
  (void)state;
  predicate_test_begin(&p);
  memset(&vec, 0, sizeof(vec));
  must_build(&p.t, &field_named(&p, "i")->type, "[1]", &vec);
  tn_batch batch = {1, 1, field_named(&p, "i"), &vec, -1};
  assert_int_equal(tn_pred_filter(p.t.env, where(&p, "l = 1"), &batch, selected, &err),
                   TARN_E_INTERNAL);
  assert_non_null(strstr(err.message, "predicate on l"));
  tn_field other = *field_named(&p, "l");
  batch.fields = &other;
  assert_int_equal(tn_pred_filter(p.t.env, where(&p, "l = 1"), &batch, selected, &err),
                   TARN_E_INTERNAL);
  tn_vec_reset(p.t.env, &vec);
  predicate_test_end(&p);
}

static void filter__of_a_dictionary_larger_than_the_batch(void **state) {
  predicate_test p;
  tarn_error err;
  (void)state;
  predicate_test_begin(&p);
  const tn_field *field = field_named(&p, "i");
  tn_vec values, vec;
  tn_dictionary *dictionary;
  memset(&values, 0, sizeof(values));
  memset(&vec, 0, sizeof(vec));
  assert_int_equal(tn_vec_init(p.t.env, &field->type, &values, &err), TARN_OK);
  assert_int_equal(tn_vec_alloc(p.t.env, &values, 5000, 0, &err), TARN_OK);
  for (int32_t i = 0; i < 5000; i++) {
    ((int32_t *)values.values)[i] = i;
  }
  assert_int_equal(tn_dictionary_create(p.t.env, &values, &dictionary, &err), TARN_OK);
  assert_int_equal(tn_vec_init_dict(p.t.env, &field->type, 4, dictionary, &vec, &err), TARN_OK);
  static const int32_t codes[] = {4999, 0, 17, 0};
  memcpy(vec.values, codes, sizeof(codes));
  check_filter(&p, where(&p, "i >= 17"), field, &vec, "i >= 17");
  check_filter(&p, where(&p, "i IN (0, 4999)"), field, &vec, "i IN (0, 4999)");
  tn_vec_reset(p.t.env, &vec);
  tn_dictionary_release(dictionary);
  predicate_test_end(&p);
}

typedef struct filter_run {
  const tn_pred *pred;
  const tn_field *fields;
} filter_run;

static tarn_status filter_once(void *ctx, tarn_env *env, tarn_error *err) {
  const filter_run *run = ctx;
  tn_vec flat[2], vecs[2];
  uint8_t selected[1] = {0x0f};
  memset(flat, 0, sizeof(flat));
  memset(vecs, 0, sizeof(vecs));
  tarn_status st = TARN_OK;
  tn_batch batch = {4, 2, run->fields, vecs, -1};
  TN_TRY_TO(done, build_vec(env, &run->fields[0].type, "[1,2,3,4]", &flat[0], err));
  TN_TRY_TO(done, build_vec(env, &run->fields[1].type, "[\"a\",null,\"b\",\"a\"]", &flat[1], err));
  TN_TRY_TO(done, encode_vec(env, &flat[0], 'f', &vecs[0], err));
  TN_TRY_TO(done, encode_vec(env, &flat[1], 'd', &vecs[1], err));
  TN_TRY_TO(done, tn_pred_filter(env, run->pred, &batch, selected, err));
  assert_int_equal(selected[0], 0x0b);
done:
  for (int i = 0; i < 2; i++) {
    tn_vec_reset(env, &flat[i]);
    tn_vec_reset(env, &vecs[i]);
  }
  tn_buffers_trim(env);
  return st;
}

static void filter__survives_failing_allocations(void **state) {
  predicate_test p;
  (void)state;
  predicate_test_begin(&p);
  tn_field fields[] = {*field_named(&p, "i"), *field_named(&p, "s")};
  filter_run run = {where(&p, "i IN (1, 4) AND s = 'a' OR s IS NULL"), fields};
  assert_true(tn_torture(filter_once, &run, TARN_OK) > 3);
  predicate_test_end(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(filter__agrees_with_single_values),
      cmocka_unit_test(filter__finds_the_literals_of_a_long_list),
      cmocka_unit_test(filter__combines_and_steps_into_rows),
      cmocka_unit_test(filter__of_a_column_that_is_not_there_is_a_fault),
      cmocka_unit_test(filter__of_a_dictionary_larger_than_the_batch),
      cmocka_unit_test(filter__survives_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
