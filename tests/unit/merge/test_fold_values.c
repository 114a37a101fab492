/* Aggregate functions of plain values: what each operation does, types, overflow, encodings. */
#include <stdlib.h>

#include "fold_test.h"
#include "merge/fold_functions.h"
#include "support/test.h"
#include "support/torture.h"

/* Every encoding that the type has. */
static void assert_folds_to(const fold_case *c) {
  bool is_bytes = strcmp(c->type, "STRING") == 0 || strcmp(c->type, "BYTES") == 0;
  bool has_dictionary = strcmp(c->type, "BOOLEAN") != 0;
  for (const char *encoding = is_bytes         ? "fdv"
                              : has_dictionary ? "fd"
                                               : "f";
       *encoding != '\0'; encoding++) {
    column_test t;
    char *text = NULL;
    tarn_error err = {0};
    column_test_begin(&t);
    if (fold_text(t.env, &t.arena, c, *encoding, &text, &err) != TARN_OK) {
      fail_msg("%s of %s, %s: %s", c->function->name, c->rows, c->steps, err.message);
    }
    if (strcmp(text, c->expected) != 0) {
      fail_msg("%s of %s, %s (encoding %c): %s, expected %s", c->function->name, c->rows, c->steps,
               *encoding, text, c->expected);
    }
    free(text);
    column_test_end(&t);
  }
}

static const fold_case cases[] = {
    /* sum */
    {&tn_fold_sum, "BIGINT", "[5,null,7]", "0 1 2|1||2 0 0", "[12,null,null,17]"},
    {&tn_fold_sum, "BIGINT", "[5,3,null]", "0 -1|0 -2|-1|-2|-1 0", "[2,5,-3,null,2]"},
    {&tn_fold_sum, "BIGINT", "[5,3]", "0 =1 0|=1|0 ~1", "[8,3,8]"},
    {&tn_fold_sum, "BIGINT", "[5,3]", "0 -1", "[5]", .ignores_retract = true},
    {&tn_fold_sum, "TINYINT", "[100,-128]", "0 0|-1|1 1", "[-56,-128,0]"},
    {&tn_fold_sum, "SMALLINT", "[32767,1]", "0 1", "[-32768]"},
    {&tn_fold_sum, "INT", "[2147483647,1]", "0 1|-0 -1 -1", "[-2147483648,2147483647]"},
    {&tn_fold_sum, "BIGINT", "[9223372036854775807,1]", "0 1", "[-9223372036854775808]"},
    {&tn_fold_sum, "FLOAT", "[16777216,1]", "0 1 -0|0 -0 1", "[0,1]"},
    {&tn_fold_sum, "DOUBLE", "[0.5,\"NaN\",0]", "0 0|0 1|-2", "[1,nan,-0]"},
    /* up to 18 digits no look at the precision, but the long must hold it */
    {&tn_fold_sum, "DECIMAL(3, 1)", "[999]", "0 0|-0", "[1998,-999]"},
    {&tn_fold_sum, "DECIMAL(19, 0)", "[\"9999999999999999999\",1]", "0 1|0 1 1|0 -1",
     "[null,1,\"9999999999999999998\"]"},
    {&tn_fold_sum, "DECIMAL(38, 0)", "[\"99999999999999999999999999999999999999\"]",
     "0 0|-0 -0|0 -0", "[null,null,0]"},
    /* product */
    {&tn_fold_product, "INT", "[5,null,7,2]", "0 1 2|0 2 -3|1|-0|0 -1", "[35,17,null,null,5]"},
    {&tn_fold_product, "INT", "[-7,2,-2147483648,-1]", "0 -1|2 -3|2 3",
     "[-3,-2147483648,-2147483648]"},
    {&tn_fold_product, "TINYINT", "[100,3,-128,-1]", "0 1|2 -3", "[44,-128]"},
    {&tn_fold_product, "BIGINT", "[-9223372036854775808,-1]", "0 -1", "[-9223372036854775808]"},
    {&tn_fold_product, "DOUBLE", "[1,0]", "0 -1", "[inf]"},
    {&tn_fold_product, "DECIMAL(5, 2)", "[150,15,10]", "0 0|1 1|1 2|0 -1|1 -0|2 -2",
     "[225,2,2,1000,10,100]"},
    {&tn_fold_product, "DECIMAL(5, 2)", "[99999,-100,300]", "0 0|0 1|0 -1|0 -2",
     "[null,-99999,-99999,33333]"},
    {&tn_fold_product, "DECIMAL(38, 10)",
     "[\"12345678901234567890\",\"98765432109876543210\",\"10000000000\"]", "0 1|0 2|1 -2",
     "[\"121932631137021795223746380111\",\"12345678901234567890\",\"98765432109876543210\"]"},
    {&tn_fold_product, "DECIMAL(38, 0)", "[\"10000000000000000000\",\"1000000000000000000\"]",
     "0 0|0 1", "[null,\"10000000000000000000000000000000000000\"]"},
    /* min, max */
    {&tn_fold_max, "INT", "[5,null,7,6]", "0 1 2 3|1||3 2", "[7,null,null,7]"},
    {&tn_fold_min, "INT", "[5,null,7,6]", "0 1 2 3|1||3 2", "[5,null,null,6]"},
    {&tn_fold_max, "INT", "[5,7]", "0 ~1|1 ~0|=0 1|1 =0", "[7,7,7,5]"},
    {&tn_fold_max, "INT", "[5,7]", "0 -1", "[5]", .ignores_retract = true},
    {&tn_fold_min, "TINYINT", "[5,-7]", "0 1", "[-7]"},
    {&tn_fold_max, "SMALLINT", "[-5,-7]", "1 0", "[-5]"},
    {&tn_fold_min, "BIGINT", "[5,-7]", "1 0", "[-7]"},
    {&tn_fold_max, "DATE", "[5,-7]", "1 0", "[5]"},
    {&tn_fold_max, "DOUBLE", "[5,\"NaN\",6]", "0 1 2|0 2", "[nan,6]"},
    {&tn_fold_max, "DOUBLE", "[-0.0,0,-1]", "0 1|1 0|2 0", "[0,0,-0]"},
    {&tn_fold_min, "DOUBLE", "[-0.0,0,-1]", "0 1|1 0|2 0", "[-0,-0,-1]"},
    {&tn_fold_min, "FLOAT", "[-0.0,0,-1,\"NaN\"]", "0 1|1 0|2 0|3 2|3", "[-0,-0,-1,-1,nan]"},
    {&tn_fold_min, "DECIMAL(20, 0)", "[\"-12345678901234567890\",3]", "1 0",
     "[\"-12345678901234567890\"]"},
    {&tn_fold_max, "TIMESTAMP(9)", "[\"12345678901234567890\",3]", "1 0",
     "[\"12345678901234567890\"]"},
    {&tn_fold_min, "STRING", "[\"b\",\"a\",\"ab\",null]", "0 1 2|2 0|3 0", "[\"a\",\"ab\",\"b\"]"},
    {&tn_fold_max, "BYTES", "[\"hex:7f\",\"hex:80\"]", "0 1|1 0", "[\"\x80\",\"\x80\"]"},
    {&tn_fold_max, "BOOLEAN", "[true,null]", "0|0 1", "[true,true]"},
    /* last, first */
    {&tn_fold_last_value, "INT", "[5,null,6]", "0 1|0 1 2|0 -2|0 ~2|=1 0||0 -2 0",
     "[null,6,null,5,5,null,5]"},
    {&tn_fold_last_value, "INT", "[5,6]", "0 -1", "[5]", .ignores_retract = true},
    {&tn_fold_last_non_null_value, "STRING", "[\"a\",null,\"b\"]",
     "0 1|0 -1|0 -2|0 1 2|1||=1|1 ~0|0 ~2", "[\"a\",\"a\",null,\"b\",null,null,null,\"a\",\"a\"]"},
    {&tn_fold_last_non_null_value, "INT", "[5,null,6]", "0 1|1 1|", "[5,null,null]"},
    {&tn_fold_first_value, "INT", "[null,5,6]", "0 1|1 2|", "[null,5,null]"},
    {&tn_fold_first_value, "INT", "[5,3,9]", "0 ~1 2|=1 0|=1 0 2", "[3,5,5]"},
    {&tn_fold_first_non_null_value, "INT", "[null,5,6]", "0 1 2|0|2 0", "[5,null,6]"},
    {&tn_fold_first_non_null_value, "INT", "[null,5,6]", "0 1 -2|1 ~2", "[5,6]",
     .ignores_retract = true},
    {&tn_fold_first_not_null_value, "INT", "[null,5]", "0 1", "[5]"},
    /* booleans */
    {&tn_fold_bool_and, "BOOLEAN", "[true,null,false]", "0 1 2|0 1|1|2 0|0 0",
     "[false,true,null,false,true]"},
    {&tn_fold_bool_or, "BOOLEAN", "[false,null,true]", "0 1 2|0 1|1|2 0|0 ~2",
     "[true,false,null,true,true]"},
    /* listagg */
    {&tn_fold_listagg, "STRING", "[\"a\",null,\"\",\"b\",\" \",\"a\"]",
     "0 1 2 3 4 5|1 2|2 0|1|0 ~3", "[\"a,b, ,a\",\"\",\"a\",null,\"b,a\"]"},
    {&tn_fold_listagg, "STRING", "[\"a;a\",\"b;a;;b\",\"c\"]", "0 1 2|2 ~1|=1 1 2",
     "[\"a;a;b;c\",\"b;a;;b;c\",\"b;a;;b;c\"]", .is_distinct = true, .delimiter = ";"},
    {&tn_fold_listagg, "STRING", "[\"a\",\"b\"]", "0 1 0|0 =1 0|0 -1",
     "[\"a-+b-+a\",\"b-+a\",\"a\"]", .delimiter = "-+", .ignores_retract = true},
    {&tn_fold_listagg, "STRING", "[\"a b\",\"b c\"]", "0 1", "[\"a bc\"]", .is_distinct = true,
     .delimiter = ""},
};

static void fold__follows_the_rules_of_functions(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    assert_folds_to(&cases[i]);
  }
}

static void fold__tells_many_tokens_apart(void **state) {
  enum { N = 700 };
  char *rows = malloc(N * 16), *steps = malloc(N * 16), *expected = malloc(N * 16);
  size_t r = 0, s = 0, e = 0;
  fold_case c = {&tn_fold_listagg, "STRING", rows, steps, expected, .is_distinct = true};
  (void)state;
  for (int i = 0; i < N; i++) { /* t0, t1, ... and again t0 ... */
    r += (size_t)sprintf(rows + r, "%s\"t%d\"", i > 0 ? "," : "[", i % 500);
    s += (size_t)sprintf(steps + s, "%d ", i);
    e += i < 500 ? (size_t)sprintf(expected + e, "%st%d", i > 0 ? "," : "[\"", i) : 0;
  }
  sprintf(rows + r, "]");
  sprintf(expected + e, "\"]");
  assert_folds_to(&c);
  free(rows);
  free(steps);
  free(expected);
}

static const struct {
  fold_case c;
  const char *words;
} refusals[] = {
    {{&tn_fold_max, "INT", "[1,2]", "0 -1"}, "'max' does not support retraction"},
    {{&tn_fold_min, "STRING", "[\"a\"]", "-0"}, "fields.v.ignore-retract"},
    {{&tn_fold_first_value, "INT", "[1]", "-0"}, "'first_value' does not support"},
    {{&tn_fold_first_non_null_value, "INT", "[1]", "-0"}, "'first_non_null_value' does not"},
    {{&tn_fold_bool_and, "BOOLEAN", "[true]", "-0"}, "'bool_and' does not support"},
    {{&tn_fold_listagg, "STRING", "[\"a\"]", "-0"}, "'listagg' does not support"},
    {{&tn_fold_max, "BOOLEAN", "[true,false]", "0 1"}, "incomparable type"},
    {{&tn_fold_min, "ARRAY<INT>", "[[1],[2]]", "0 1"}, "incomparable type"},
    {{&tn_fold_product, "INT", "[1,0]", "0 -1"}, "/ by zero"},
    {{&tn_fold_product, "DECIMAL(5, 2)", "[1,0]", "0 -1"}, "/ by zero"},
    {{&tn_fold_product, "DECIMAL(5, 2)", "[100,300]", "0 -1"}, "non-terminating"},
};

static void fold__refuses_what_java_refuses(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(refusals); i++) {
    assert_folds_refused(&refusals[i].c, TARN_E_INVALID, refusals[i].words);
  }
}

static void fold__checks_types(void **state) {
  static const struct {
    const tn_fold_function *function;
    const char *type;
    bool is_fine;
  } checks[] = {
      {&tn_fold_sum, "DECIMAL(5, 1)", true},   {&tn_fold_sum, "STRING", false},
      {&tn_fold_product, "DATE", false},       {&tn_fold_bool_or, "INT", false},
      {&tn_fold_bool_and, "BOOLEAN", true},    {&tn_fold_listagg, "STRING", true},
      {&tn_fold_listagg, "VARCHAR(5)", false}, {&tn_fold_listagg, "CHAR(5)", false},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(checks); i++) {
    fold_case c = {.function = checks[i].function, .type = checks[i].type};
    tarn_error err = {0};
    assert_int_equal(check_column(&c, &err), checks[i].is_fine ? TARN_OK : TARN_E_INVALID);
  }
}

static void fold__finds_functions_by_name(void **state) {
  static const char *const names[] = {"last_value",
                                      "last_non_null_value",
                                      "first_value",
                                      "first_non_null_value",
                                      "first_not_null_value",
                                      "min",
                                      "max",
                                      "bool_and",
                                      "bool_or",
                                      "sum",
                                      "product",
                                      "listagg",
                                      "collect",
                                      "merge_map",
                                      "merge_map_with_keytime",
                                      "nested_update",
                                      "nested_partial_update",
                                      "rbm32",
                                      "rbm64",
                                      "hll_sketch",
                                      "theta_sketch"};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(names); i++) {
    const tn_fold_function *f = tn_fold_function_find(names[i]);
    assert_non_null(f);
    assert_string_equal(f->name, names[i]);
  }
  assert_null(tn_fold_function_find("count"));
}

static void fold__survives_failing_allocations(void **state) {
  static const fold_case torn[] = {
      {&tn_fold_sum, "BIGINT", "[5,null]", "0 1|1"},
      {&tn_fold_max, "INT", "[5,null]", "0 1|1"},
      {&tn_fold_listagg, "STRING", "[\"a,b\",\"c,a\"]", "0 1|1 ~0", .is_distinct = true},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(torn); i++) {
    assert_fold_survives_torture(&torn[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fold__follows_the_rules_of_functions),
      cmocka_unit_test(fold__tells_many_tokens_apart),
      cmocka_unit_test(fold__refuses_what_java_refuses),
      cmocka_unit_test(fold__checks_types),
      cmocka_unit_test(fold__finds_functions_by_name),
      cmocka_unit_test(fold__survives_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
