/* The WHERE text: what it means, what it refuses and where. */
#include "predicate_test.h"

#include <stdio.h>

#include "support/torture.h"

static void parse__prints_back(void **state) {
  static const struct {
    const char *text, *printed; /* NULL: the same */
  } cases[] = {
      {"i = 1", NULL},
      {"  i=1\n", "i = 1"},
      {"i != 1", "i <> 1"},
      {"\"i\" = 1", "i = 1"},
      {"`i` = 1", "i = 1"},
      {"i = +5", "i = 5"},
      {"i = 5.0", "i = 5"},
      {"i = 1e3", "i = 1000"},
      {"i = '5'", "i = 5"},
      {"i = -2147483648", NULL},
      {"ti = 127 AND si = -32768", NULL},
      {"l = 9223372036854775807", NULL},
      {"l = -9223372036854775808", NULL},
      {"l = 9007199254740993", NULL},
      {"big = 99999999999999999999999999999999999999", NULL},
      {"big = -1e37", "big = -10000000000000000000000000000000000000"},
      {"dec = 1.5", "dec = 1.50"},
      {"dec = '0.5'", "dec = 0.50"},
      {"dec = -0.01", NULL},
      {"dec = 1.500000", "dec = 1.50"},
      {"dec = 99999999.99", NULL},
      {"d = 5", "d = 5.0"},
      {"d = .5", "d = 0.5"},
      {"d = 5.", "d = 5.0"},
      {"d = -0.0", NULL},
      {"d = 1e10", "d = 1.0E10"},
      {"d = 'NaN'", NULL},
      {"d > '-Infinity'", NULL},
      {"d = 1e-400", "d = 0.0"},
      {"f = 0.1", NULL},
      {"f = 16777217", "f = 1.6777216E7"},
      {"s = 'it''s'", NULL},
      {"s = ''", NULL},
      {"s = 'X''0a'", NULL},
      {"bo = true", "bo = TRUE"},
      {"bo = 'false'", "bo = FALSE"},
      {"bin = X'0aFF'", "bin = X'0aff'"},
      {"bin = x''", "bin = X''"},
      {"bin = '01020304'", "bin = X'01020304'"},
      {"da = '2024-02-29'", "da = DATE '2024-02-29'"},
      {"da = DATE '2024-2-9'", "da = DATE '2024-02-09'"},
      {"da < '2024-03-01T00:00:00'", "da < DATE '2024-03-01'"},
      {"da = TIMESTAMP '2024-03-01 00:00:00'", "da = DATE '2024-03-01'"},
      {"da = '-0044-03-15'", "da = DATE '-0044-03-15'"},
      {"da = '12345-01-01'", "da = DATE '+12345-01-01'"},
      {"t = '12:34:56.789'", "t = TIME '12:34:56.789'"},
      {"t = TIME '1:2'", "t = TIME '01:02:00.000'"},
      {"ts = '2023-11-01T00:00:00'", "ts = TIMESTAMP '2023-11-01 00:00:00'"},
      {"ts = '2023-11-01 00:00:00.5'", "ts = TIMESTAMP '2023-11-01 00:00:00.500'"},
      {"ts = '1969-12-31T23:59:59.999000000'", "ts = TIMESTAMP '1969-12-31 23:59:59.999'"},
      {"ts = '2023-11-01'", "ts = TIMESTAMP '2023-11-01 00:00:00'"},
      {"ts = DATE '2023-11-01'", "ts = TIMESTAMP '2023-11-01 00:00:00'"},
      {"ts6 = '2024-01-02T03:04:05.1'", "ts6 = TIMESTAMP '2024-01-02 03:04:05.100000'"},
      {"ts9 = '2024-01-02T03:04:05.123456789'", "ts9 = TIMESTAMP '2024-01-02 03:04:05.123456789'"},
      {"z = '2024-01-02T00:00:00Z'", "z = TIMESTAMP '2024-01-02 00:00:00Z'"},
      {"z = '2024-01-02 00:00:00'", "z = TIMESTAMP '2024-01-01 16:00:00Z'"},
      {"z = '2024-01-02 00:00:00-03:30'", "z = TIMESTAMP '2024-01-02 03:30:00Z'"},
      {"z = DATE '2024-01-02'", "z = TIMESTAMP '2024-01-01 16:00:00Z'"},
      {"z9 = '1969-12-31T23:59:59.999999999Z'", "z9 = TIMESTAMP '1969-12-31 23:59:59.999999999Z'"},
      {"i IN (3, 1, 2, 1)", "i IN (1, 2, 3)"},
      {"i in(1)", "i IN (1)"},
      {"i NOT IN (2, null, 1)", "i NOT IN (1, 2, NULL)"},
      {"i IN (NULL)", NULL},
      {"i BETWEEN 1 AND 2 AND l = 3", NULL},
      {"i not between 1 and 2", "i NOT BETWEEN 1 AND 2"},
      {"s LIKE 'a\\_b%'", NULL},
      {"s NOT LIKE 'a_b'", NULL},
      {"s like '%a''b%'", "s LIKE '%a''b%'"},
      {"i Is Null", "i IS NULL"},
      {"arr IS NOT NULL AND r IS NULL", NULL},
      {"d IS NAN OR f IS NOT NAN", NULL},
      {"r.x = 1", NULL},
      {"r.y.z = 'q'", NULL},
      {"\"r\".`y`.z IS NULL", "r.y.z IS NULL"},
      {"a.b = 1", "\"a.b\" = 1"},
      {"\"a.b\" = 1", NULL},
      {"select = 1", NULL},
      {"\"say \"\"hi\"\"\" = 1", NULL},
      {"date = DATE '2024-01-01'", "\"date\" = DATE '2024-01-01'"},
      {"i = 1 OR l = 2 AND s = 'x'", NULL},
      {"(i = 1 OR l = 2) AND s = 'x'", NULL},
      {"((i = 1))", "i = 1"},
      {"NOT i = 1 AND l = 2", "i <> 1 AND l = 2"},
      {"NOT (i = 1 AND l = 2)", "i <> 1 OR l <> 2"},
      {"NOT NOT i = 1", "i = 1"},
      {"not(i=1)", "i <> 1"},
      {"TRUE", NULL},
      {"i = 1 OR TRUE", "TRUE"},
      {"i = 1 AND NOT TRUE", "FALSE"},
      {"i = 1 AND l = 2 AND (s = 'x' AND bo = TRUE)", "i = 1 AND l = 2 AND s = 'x' AND bo = TRUE"},
      {"i = NULL", NULL},
  };
  predicate_test p;
  (void)state;
  predicate_test_begin(&p);
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    const tn_pred *pred = where(&p, cases[i].text);
    const char *printed = text_of(&p, pred);
    assert_string_equal(printed, cases[i].printed != NULL ? cases[i].printed : cases[i].text);
    if (!tn_pred_equal(where(&p, printed), pred)) {
      fail_msg("%s does not parse back", printed);
    }
  }
  predicate_test_end(&p);
}

static void parse__refuses_with_a_position(void **state) {
  static const struct {
    const char *text;
    int64_t position;
    const char *message; /* a part of it */
  } cases[] = {
      {"", 0, "the text ends"},
      {"   ", 3, "the text ends"},
      {"i", 1, "expected =, <>"},
      {"i = ", 4, "expected a literal"},
      {"i = l", 4, "expected a literal"},
      {"i == 1", 3, "expected a literal"},
      {"5 = i", 0, "expected a column"},
      {"i = 1 l = 2", 6, "expected AND, OR or the end, not l"},
      {"(i = 1", 6, "expected AND, OR or )"},
      {"i = 1)", 5, "expected AND, OR or the end"},
      {"i = 'x", 4, "has no end"},
      {"\"i = 1", 0, "has no end"},
      {"i ~ 1", 2, "no meaning"},
      {"i = 5x", 4, "followed by"},
      {"i = 1.2.3", 4, "followed by"},
      {"ii = 5", 0, "no column 'ii' (did you mean 'ti'?); at byte 0"},
      {"I = 5", 0, "(did you mean 'i'?)"},
      {"nothing_like_it = 5", 0, "no column 'nothing_like_it'; at byte 0"},
      {"r.q = 5", 0, "no field 'q' in column r"},
      {"i.x = 5", 0, "column i is not a ROW"},
      {"i = 5.5", 4, "more digits after the point than INT"},
      {"ti = 128", 5, "out of the range of TINYINT"},
      {"ti < 1000", 5, "out of the range of TINYINT"},
      {"si = -32769", 5, "out of the range of SMALLINT"},
      {"l = 9223372036854775808", 4, "out of the range of BIGINT"},
      {"i = 1e99999999999", 4, "out of the range of INT"},
      {"dec = 0.001", 6, "more digits after the point than DECIMAL(10, 2)"},
      {"dec = 100000000", 6, "out of the range of DECIMAL(10, 2)"},
      {"big = 1e38", 6, "out of the range"},
      {"d = 1e999", 4, "out of the range of DOUBLE"},
      {"f = 1e39", 4, "out of the range of FLOAT"},
      {"f = 'abc'", 4, "is not a number"},
      {"i = 'abc'", 4, "is not a number"},
      {"i = ''", 4, "is not a number"},
      {"i = TRUE", 4, "is a boolean"},
      {"i = X'00'", 4, "is binary"},
      {"i = DATE '2024-01-01'", 4, "a DATE cannot be compared with column i"},
      {"s = 5", 4, "write it in quotes"},
      {"bo = 1", 5, "is a number"},
      {"bo = 'maybe'", 5, "neither true nor false"},
      {"bin = 'xyz'", 6, "hexadecimal"},
      {"bin = X'0'", 6, "hexadecimal"},
      {"da = '2024-02-30'", 5, "is not a date"},
      {"da = '2024-02-29T00:00:01'", 5, "has a time of day"},
      {"da = DATE '2024-02-29 10:00:00'", 5, "has a time of day"},
      {"da = 5", 5, "is a number"},
      {"ts = DATE '2024-02-29 10:00:00'", 5, "has a time of day"},
      {"ts = TIME '10:00:00'", 5, "a TIME cannot be compared"},
      {"ts = DATE 5", 10, "a 'text' behind"},
      {"ts = '2024-01-01T00:00:00Z'", 5, "has a time zone"},
      {"ts = '2024-01-01T00:00:00.0001'", 5, "more digits after the point than TIMESTAMP(3)"},
      {"ts = '2024-01-01T25:00:00'", 5, "is not a time"},
      {"ts6 = '300000-01-01'", 6, "out of the range"},
      {"t = '12:34:56.7891'", 4, "more digits"},
      {"t = '2024-01-01'", 4, "is not a time"},
      {"i IN ()", 6, "expected a literal"},
      {"i IN (1, 2", 10, ", or )"},
      {"i IN 1", 5, "( behind IN"},
      {"i BETWEEN 1", 11, "AND between"},
      {"i NOT = 1", 6, "IN, BETWEEN or LIKE"},
      {"i IS 5", 5, "NULL or NAN"},
      {"i IS NAN", 5, "FLOAT or DOUBLE"},
      {"i LIKE 'x'", 7, "column of texts"},
      {"s LIKE 5", 7, "in quotes"},
      {"s LIKE 'a\\b'", 7, "Invalid escape sequence 'a\\b', 1"},
      {"s LIKE 'a\\'", 7, "Invalid escape sequence"},
      {"arr = 1", 4, "IS [NOT] NULL"},
      {"r = NULL", 2, "IS [NOT] NULL"},
      {"i = 1 AND", 9, "expected a column"},
      {"NOT", 3, "expected a column"},
      {"AND = 1", 0, "no column 'AND'"},
  };
  predicate_test p;
  (void)state;
  predicate_test_begin(&p);
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    const tn_pred *pred = (const tn_pred *)&p;
    int64_t position = -2;
    tarn_error err;
    tarn_status st = tn_pred_parse(&p.t.arena, p.fields, p.n_fields, p.zone,
                                   tn_slice_text(cases[i].text), &pred, &position, &err);
    if (st != TARN_E_INVALID || position != cases[i].position ||
        strstr(err.message, cases[i].message) == NULL) {
      fail_msg("%s: status %d, position %d, %s", cases[i].text, (int)st, (int)position,
               err.message);
    }
    assert_null(pred);
    assert_non_null(strstr(err.message, "at byte "));
  }
  predicate_test_end(&p);
}

/* n times `open`, then `inner`, then n times ')'. */
static char *nested_text(const char *open, size_t n, const char *inner) {
  size_t len = strlen(open);
  char *text = calloc(n * (len + 1) + strlen(inner) + 1, 1);
  assert_non_null(text);
  for (size_t i = 0; i < n; i++) {
    memcpy(text + i * len, open, len);
  }
  strcpy(text + n * len, inner);
  memset(text + n * len + strlen(inner), ')', n);
  return text;
}

static void parse__bounds_the_nesting(void **state) {
  predicate_test p;
  tarn_error err;
  const tn_pred *pred;
  int64_t position;
  (void)state;
  predicate_test_begin(&p);
  char *text = nested_text("i=1 AND NOT (l=2 OR ", 256, "i=3");
  const tn_pred *deep = where(&p, text);
  assert_true(deep->depth <= TN_PRED_MAX_DEPTH);
  assert_true(tn_pred_equal(where(&p, text_of(&p, deep)), deep));
  free(text);
  text = nested_text("(", 257, "i=3");
  assert_int_equal(tn_pred_parse(&p.t.arena, p.fields, p.n_fields, p.zone, tn_slice_text(text),
                                 &pred, &position, &err),
                   TARN_E_INVALID);
  assert_int_equal(position, 256);
  free(text);
  text = calloc(1, 400000 + 8);
  for (int i = 0; i < 100000; i++) {
    memcpy(text + 4 * i, "NOT ", 4);
  }
  strcpy(text + 400000, "i=1");
  assert_string_equal(text_of(&p, where(&p, text)), "i = 1");
  free(text);
  predicate_test_end(&p);
}

static void parse__takes_long_lists(void **state) {
  predicate_test p;
  (void)state;
  predicate_test_begin(&p);
  enum { N = 10000 };
  char *text = calloc(N, 8);
  assert_non_null(text);
  size_t at = (size_t)sprintf(text, "i IN (");
  for (int i = 0; i < N; i++) {
    at += (size_t)sprintf(text + at, "%d%s", (i * 7) % N, i < N - 1 ? "," : ")");
  }
  const tn_pred *pred = where(&p, text);
  assert_int_equal(pred->n_literals, N);
  tn_datum value = {.v.i64 = N - 1};
  assert_true(tn_pred_test_datum(pred, &value));
  value.v.i64 = N;
  assert_false(tn_pred_test_datum(pred, &value));
  free(text);
  predicate_test_end(&p);
}

static void literals__of_the_api(void **state) {
  predicate_test p;
  tn_datum out;
  tarn_error err;
  (void)state;
  predicate_test_begin(&p);
  tn_arena *arena = &p.t.arena;
  const tn_type *i = &field_named(&p, "i")->type, *bin = &field_named(&p, "bin")->type;
  assert_int_equal(tn_pred_literal_text(arena, i, NULL, tn_slice_text("12"), true, &out, &err),
                   TARN_OK);
  assert_int_equal(out.v.i64, 12);
  assert_int_equal(tn_pred_literal_bytes(arena, bin, tn_slice_text("\x01\xff"), &out, &err),
                   TARN_OK);
  assert_int_equal(out.v.bytes.len, 2);
  assert_int_equal(tn_pred_literal_bytes(arena, i, tn_slice_text("x"), &out, &err), TARN_E_INVALID);
  assert_int_equal(tn_pred_literal_bool(&field_named(&p, "bo")->type, true, &out, &err), TARN_OK);
  assert_true(out.v.boolean);
  assert_int_equal(tn_pred_literal_bool(bin, true, &out, &err), TARN_E_INVALID);
  assert_int_equal(tn_pred_literal_text(arena, &field_named(&p, "arr")->type, NULL,
                                        tn_slice_text("1"), false, &out, &err),
                   TARN_E_INVALID);
  tn_pred_column column;
  assert_int_equal(
      tn_pred_column_find(arena, p.fields, p.n_fields, tn_slice_text("r.y.z"), &column, &err),
      TARN_OK);
  assert_int_equal(column.n_path, 2);
  assert_string_equal(column.name, "r.y.z");
  assert_int_equal(
      tn_pred_column_find(arena, p.fields, p.n_fields, tn_slice_text("r.y.zz"), &column, &err),
      TARN_E_NOT_FOUND);
  assert_non_null(strstr(err.message, "(did you mean 'z'?)"));
  predicate_test_end(&p);
}

static tarn_status parse_once(void *ctx, tarn_env *env, tarn_error *err) {
  const predicate_test *p = ctx;
  tn_arena arena;
  tn_buf text;
  const tn_pred *pred;
  int64_t position;
  tn_arena_init(&arena, &env->mem, 1 << 20);
  tn_buf_init(&text, &env->mem, 1 << 20);
  tarn_status st = tn_pred_parse(
      &arena, p->fields, p->n_fields, NULL,
      tn_slice_text("NOT (r.y.z LIKE 'a%' AND \"i\" IN (3, 2, NULL)) OR s = 'it''s' AND d > 0.5"),
      &pred, &position, err);
  if (st == TARN_OK) {
    st = tn_pred_to_text(pred, NULL, &text, err);
  }
  tn_buf_reset(&text);
  tn_arena_reset(&arena);
  return st;
}

static void parse__survives_failing_allocations(void **state) {
  predicate_test p;
  (void)state;
  predicate_test_begin(&p);
  assert_true(tn_torture(parse_once, &p, TARN_OK) > 2);
  predicate_test_end(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parse__prints_back),
      cmocka_unit_test(parse__refuses_with_a_position),
      cmocka_unit_test(parse__bounds_the_nesting),
      cmocka_unit_test(parse__takes_long_lists),
      cmocka_unit_test(literals__of_the_api),
      cmocka_unit_test(parse__survives_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
