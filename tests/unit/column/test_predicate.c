/* The tree: building, negating, taking apart; and the tests of single values. */
#include "predicate_test.h"

#include "column/predicate_internal.h"
#include "support/torture.h"

static tn_datum int_datum(int64_t v) {
  return (tn_datum){.v.i64 = v};
}
static tn_datum text_datum(const char *v) {
  return (tn_datum){.v.bytes = tn_slice_text(v)};
}
static const tn_datum null_datum = {.is_null = true};

/* ------------------------------------------------------------------ tree */

static void compound__flattens_and_drops_constants(void **state) {
  predicate_test p;
  (void)state;
  predicate_test_begin(&p);
  tn_arena *arena = &p.t.arena;
  const tn_pred *a = where(&p, "i = 1"), *b = where(&p, "l = 2"), *c = where(&p, "s = 'x'");
  const tn_pred *yes = tn_pred_constant(arena, true), *no = tn_pred_constant(arena, false);
  const tn_pred *ab = tn_pred_compound(arena, TN_PRED_AND, (const tn_pred *[]){a, b}, 2);
  const tn_pred *all =
      tn_pred_compound(arena, TN_PRED_AND, (const tn_pred *[]){yes, ab, yes, c}, 4);
  assert_int_equal(all->n_children, 3);
  assert_int_equal(all->depth, 2);
  assert_string_equal(text_of(&p, all), "i = 1 AND l = 2 AND s = 'x'");
  assert_int_equal(tn_pred_compound(arena, TN_PRED_AND, (const tn_pred *[]){a, no}, 2)->op,
                   TN_PRED_FALSE);
  assert_int_equal(tn_pred_compound(arena, TN_PRED_OR, (const tn_pred *[]){a, yes}, 2)->op,
                   TN_PRED_TRUE);
  assert_int_equal(tn_pred_compound(arena, TN_PRED_OR, (const tn_pred *[]){no, a}, 2)->op,
                   TN_PRED_EQ);
  assert_int_equal(tn_pred_compound(arena, TN_PRED_AND, NULL, 0)->op, TN_PRED_TRUE);
  assert_int_equal(tn_pred_compound(arena, TN_PRED_OR, NULL, 0)->op, TN_PRED_FALSE);
  predicate_test_end(&p);
}

static void compound__refuses_a_tree_that_is_too_deep(void **state) {
  predicate_test p;
  (void)state;
  predicate_test_begin(&p);
  const tn_pred *leaf = where(&p, "i = 1"), *pred = leaf;
  int32_t depth = 1;
  while (pred != NULL) {
    pred = tn_pred_compound(&p.t.arena, depth % 2 ? TN_PRED_AND : TN_PRED_OR,
                            (const tn_pred *[]){pred, leaf}, 2);
    depth += pred != NULL;
  }
  assert_int_equal(depth, TN_PRED_MAX_DEPTH);
  predicate_test_end(&p);
}

static void negate__pushes_to_the_leaves(void **state) {
  static const struct {
    const char *text, *negated;
  } cases[] = {
      {"i = 1", "i <> 1"},
      {"i <> 1", "i = 1"},
      {"i < 1", "i >= 1"},
      {"i <= 1", "i > 1"},
      {"i > 1", "i <= 1"},
      {"i >= 1", "i < 1"},
      {"i IN (1, 2)", "i NOT IN (1, 2)"},
      {"i NOT IN (1, NULL)", "i IN (1, NULL)"},
      {"i BETWEEN 1 AND 2", "i NOT BETWEEN 1 AND 2"},
      {"i IS NULL", "i IS NOT NULL"},
      {"d IS NAN", "d IS NOT NAN"},
      {"d IS NOT NAN", "d IS NAN"},
      {"s LIKE 'a%'", "s NOT LIKE 'a%'"},
      {"s LIKE '%a\\_'", "s NOT LIKE '%a\\_'"},
      {"s LIKE '%a%'", "s NOT LIKE '%a%'"},
      {"s LIKE 'a_'", "s NOT LIKE 'a_'"},
      {"s NOT LIKE 'a%'", "s LIKE 'a%'"},
      {"s LIKE NULL", "s NOT LIKE NULL"},
      {"TRUE", "FALSE"},
      {"i = 1 AND (l = 2 OR s = 'x')", "i <> 1 OR l <> 2 AND s <> 'x'"},
  };
  predicate_test p;
  (void)state;
  predicate_test_begin(&p);
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    const tn_pred *negated = tn_pred_negate(&p.t.arena, where(&p, cases[i].text));
    assert_non_null(negated);
    assert_string_equal(text_of(&p, negated), cases[i].negated);
    assert_true(tn_pred_equal(tn_pred_negate(&p.t.arena, negated), where(&p, cases[i].text)));
  }
  predicate_test_end(&p);
}

static void leaf__sorts_the_literals_of_in(void **state) {
  predicate_test p;
  (void)state;
  predicate_test_begin(&p);
  tn_datum literals[] = {int_datum(5), int_datum(-3), null_datum, int_datum(5), int_datum(0)};
  tn_pred *in = tn_pred_leaf(&p.t.arena, TN_PRED_IN, field_named(&p, "i"), literals, 5);
  assert_true(in->has_null_literal);
  assert_int_equal(in->n_literals, 3);
  assert_int_equal(in->literals[0].v.i64, -3);
  assert_int_equal(in->literals[1].v.i64, 0);
  assert_int_equal(in->literals[2].v.i64, 5);
  enum { MANY = 10007 };
  tn_datum *many = tn_arena_calloc(&p.t.arena, MANY, sizeof(tn_datum));
  for (int64_t i = 0; i < MANY; i++) {
    many[i].v.i64 = i * 7919 % MANY;
  }
  in = tn_pred_leaf(&p.t.arena, TN_PRED_IN, field_named(&p, "i"), many, MANY);
  assert_int_equal(in->n_literals, MANY);
  for (int64_t i = 0; i < MANY; i++) {
    assert_int_equal(in->literals[i].v.i64, i);
  }
  predicate_test_end(&p);
}

static void leaf__copies_what_it_is_given(void **state) {
  predicate_test p;
  char text[] = "abc", name[] = "s";
  (void)state;
  predicate_test_begin(&p);
  tn_field field = *field_named(&p, "s");
  field.name = name;
  tn_datum literal = text_datum(text);
  tn_pred *leaf = tn_pred_leaf(&p.t.arena, TN_PRED_EQ, &field, &literal, 1);
  text[0] = name[0] = 'X';
  assert_string_equal(text_of(&p, leaf), "s = 'abc'");
  predicate_test_end(&p);
}

static void copy__is_equal_and_independent(void **state) {
  predicate_test p;
  (void)state;
  predicate_test_begin(&p);
  const tn_pred *pred = where(&p, "(r.y.z LIKE 'a_' OR i NOT IN (1, 2, NULL)) AND NOT bo = TRUE");
  tn_arena other;
  tn_arena_init(&other, &p.t.env->mem, 1 << 20);
  const tn_pred *copy = tn_pred_copy(&other, pred);
  assert_true(tn_pred_equal(copy, pred));
  assert_ptr_not_equal(copy->children[0], pred->children[0]);
  assert_string_equal(text_of(&p, copy), text_of(&p, pred));
  tn_arena_reset(&other);
  assert_false(tn_pred_equal(where(&p, "i = 1"), where(&p, "i = 2")));
  assert_false(tn_pred_equal(where(&p, "i = 1"), where(&p, "l = 1")));
  assert_false(tn_pred_equal(where(&p, "i IN (1)"), where(&p, "i IN (1, NULL)")));
  assert_false(tn_pred_equal(where(&p, "r.x IS NULL"), where(&p, "r.y IS NULL")));
  predicate_test_end(&p);
}

static bool keeps_i_and_l(void *ctx, int32_t field_id) {
  const predicate_test *p = ctx;
  return field_id == field_named(p, "i")->id || field_id == field_named(p, "l")->id;
}

static void count_leaf(void *ctx, const tn_pred *leaf) {
  assert_non_null(leaf->name);
  ++*(int *)ctx;
}

static void split_and__gives_the_parts(void **state) {
  predicate_test p;
  tarn_error err;
  (void)state;
  predicate_test_begin(&p);
  const tn_pred **parts = NULL;
  int32_t n = 0;
  int leaves = 0;
  const tn_pred *pred = where(&p, "i = 1 AND (l = 2 OR s = 'x') AND l > 0");
  assert_int_equal(tn_pred_split_and(&p.t.arena, pred, &parts, &n, &err), TARN_OK);
  assert_int_equal(tn_pred_split_and(&p.t.arena, where(&p, "i = 7"), &parts, &n, &err), TARN_OK);
  assert_int_equal(n, 4);
  assert_string_equal(text_of(&p, parts[1]), "l = 2 OR s = 'x'");
  assert_string_equal(text_of(&p, parts[3]), "i = 7");
  assert_true(tn_pred_only_uses(parts[0], keeps_i_and_l, &p));
  assert_false(tn_pred_only_uses(parts[1], keeps_i_and_l, &p));
  assert_true(tn_pred_only_uses(where(&p, "TRUE"), keeps_i_and_l, &p));
  tn_pred_each_leaf(pred, count_leaf, &leaves);
  assert_int_equal(leaves, 4);
  predicate_test_end(&p);
}

static void part__tells_what_uses_some_columns_alone(void **state) {
  static const struct {
    const char *text, *kept, *others; /* NULL: nothing */
  } cases[] = {
      {"i = 1 AND (l = 2 OR s = 'x') AND l > 0", "i = 1 AND l > 0", "l = 2 OR s = 'x'"},
      {"i = 1 OR l = 2", "i = 1 OR l = 2", NULL},
      {"s = 'x' AND s <> 'y'", NULL, "s = 'x' AND s <> 'y'"},
      {NULL, NULL, NULL},
  };
  predicate_test p;
  tarn_error err;
  (void)state;
  predicate_test_begin(&p);
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    const tn_pred *pred = cases[i].text != NULL ? where(&p, cases[i].text) : NULL;
    const tn_pred *kept, *others;
    assert_int_equal(tn_pred_part(&p.t.arena, pred, keeps_i_and_l, &p, &kept, &others, &err),
                     TARN_OK);
    assert_int_equal(kept == NULL, cases[i].kept == NULL);
    assert_int_equal(others == NULL, cases[i].others == NULL);
    if (kept != NULL) {
      assert_string_equal(text_of(&p, kept), cases[i].kept);
    }
    if (others != NULL) {
      assert_string_equal(text_of(&p, others), cases[i].others);
    }
  }
  predicate_test_end(&p);
}

/* ------------------------------------------------------------------ single values */

/* `value` is a literal of the column, "NULL" for none. */
static bool matches(predicate_test *p, const char *text, const char *value) {
  tarn_error err;
  tn_datum datum = null_datum;
  const tn_pred *leaf = where(p, text);
  if (strcmp(value, "NULL") != 0 &&
      tn_pred_literal_text(&p->t.arena, &leaf->type, p->zone, tn_slice_text(value), false, &datum,
                           &err) != TARN_OK) {
    fail_msg("%s: %s", value, err.message);
  }
  return tn_pred_test_datum(leaf, &datum);
}

static void values__are_tested_as_in_java(void **state) {
  static const struct {
    const char *text;
    const char *yes[8]; /* values that match; then NULL */
    const char *no[8];
  } cases[] = {
      {"i = 5", {"5"}, {"4", "6", "NULL"}},
      {"i <> 5", {"4", "6"}, {"5", "NULL"}},
      {"i < 5", {"4", "-2147483648"}, {"5", "6", "NULL"}},
      {"i <= 5", {"4", "5"}, {"6", "NULL"}},
      {"i > 5", {"6"}, {"5", "4", "NULL"}},
      {"i >= 5", {"5", "6"}, {"4", "NULL"}},
      {"i = NULL", {NULL}, {"5", "NULL"}},
      {"i <> NULL", {NULL}, {"5", "NULL"}},
      {"i BETWEEN 2 AND 4", {"2", "3", "4"}, {"1", "5", "NULL"}},
      {"i BETWEEN 4 AND 2", {NULL}, {"2", "3", "4", "NULL"}},
      {"i BETWEEN NULL AND 4", {NULL}, {"3", "NULL"}},
      {"i NOT BETWEEN 2 AND 4", {"1", "5"}, {"2", "4", "NULL"}},
      {"i NOT BETWEEN 2 AND NULL", {NULL}, {"1", "5", "NULL"}},
      {"i IN (1, NULL, 3)", {"1", "3"}, {"2", "NULL"}},
      {"i NOT IN (1, 3)", {"2"}, {"1", "3", "NULL"}},
      {"i NOT IN (1, NULL)", {NULL}, {"1", "2", "NULL"}},
      {"i IS NULL", {"NULL"}, {"5"}},
      {"i IS NOT NULL", {"5"}, {"NULL"}},
      {"d IS NAN", {"NaN"}, {"0", "Infinity", "NULL"}},
      {"d IS NOT NAN", {"0", "-Infinity"}, {"NaN", "NULL"}},
      {"d > 0.0", {"NaN", "Infinity", "4.9E-324"}, {"0.0", "-0.0", "NULL"}},
      {"d >= 0.0", {"0.0"}, {"-0.0"}},
      {"d = 0.0", {"0.0"}, {"-0.0", "NaN"}},
      {"d = -0.0", {"-0.0"}, {"0.0"}},
      {"d < 0.0", {"-0.0", "-Infinity"}, {"0.0", "NaN"}},
      {"d = 'NaN'", {"NaN"}, {"0", "Infinity"}},
      {"d <> 'NaN'", {"Infinity", "0"}, {"NaN", "NULL"}},
      {"d >= 'Infinity'", {"Infinity", "NaN"}, {"1.7976931348623157E308"}},
      {"f > 1.0", {"1.0000001", "NaN"}, {"1.0", "-1"}},
      {"f = 0.1", {"0.1"}, {"0.10000001"}},
      {"bo = FALSE", {"false"}, {"true", "NULL"}},
      {"bo < TRUE", {"false"}, {"true", "NULL"}},
      {"dec = 0.50", {"0.50", "0.5"}, {"0.51", "NULL"}},
      {"s > 'a'", {"aa", "b", "\xc3\xa9", "\xf0\x9f\x98\x80"}, {"a", "A", "", "NULL"}},
      {"s < '\xef\xbf\xbf'", {"\xc3\xa9"}, {"\xf0\x9f\x98\x80"}}, /* UTF-8, not UTF-16 */
      {"c = 'ab'", {"ab"}, {"ab   "}},
      {"bin > X'01020304'", {"0102030405", "02", "01020305"}, {"01020304", "ff", "80", "00"}},
      {"bin = X'ff'", {"ff"}, {"ff00", "NULL"}},
      {"s LIKE 'ab%'", {"ab", "abc", "ab\n"}, {"a", "xab", "NULL"}},
      {"s LIKE '%ab'", {"ab", "xab"}, {"abc", "b", "NULL"}},
      {"s LIKE '%ab%'", {"ab", "xabx", "aab"}, {"a b", "", "NULL"}},
      {"s LIKE '%'", {"", "x"}, {"NULL"}},
      {"s NOT LIKE 'ab%'", {"a", ""}, {"ab", "abc", "NULL"}},
      {"s NOT LIKE '%'", {NULL}, {"", "x", "NULL"}},
      {"s LIKE NULL", {NULL}, {"x", "NULL"}},
      {"s NOT LIKE NULL", {NULL}, {"x", "NULL"}},
      {"s LIKE 'a\\%'", {"a%"}, {"ab", "a\\%"}},
      {"s LIKE 'a\\_b%'", {"a_b", "a_bc"}, {"axb"}},
      {"s LIKE ''", {""}, {"x", "NULL"}},
      {"TRUE", {"NULL"}, {NULL}},
      {"FALSE", {NULL}, {"NULL"}},
  };
  predicate_test p;
  (void)state;
  predicate_test_begin(&p);
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    for (size_t k = 0; k < 8 && cases[i].yes[k] != NULL; k++) {
      if (!matches(&p, cases[i].text, cases[i].yes[k])) {
        fail_msg("%s does not match %s", cases[i].yes[k], cases[i].text);
      }
    }
    for (size_t k = 0; k < 8 && cases[i].no[k] != NULL; k++) {
      if (matches(&p, cases[i].text, cases[i].no[k])) {
        fail_msg("%s matches %s", cases[i].no[k], cases[i].text);
      }
    }
  }
  predicate_test_end(&p);
}

static void like__follows_java(void **state) {
  static const struct {
    const char *pattern, *text;
    bool matches;
  } cases[] = {
      {"a_b", "axb", true},
      {"a_b", "a\nb", false},
      {"a_b", "a\rb", false},
      {"a_b",
       "a\xc2\x85"
       "b",
       false},
      {"a_b",
       "a\xe2\x80\xa8"
       "b",
       false},
      {"a_b",
       "a\xe2\x80\xaa"
       "b",
       true},
      {"a_b",
       "a\xf0\x9f\x98\x80"
       "b",
       true},
      {"_", "e\xcc\x81", false},
      {"__", "e\xcc\x81", true},
      {"_", "", false},
      {"a%b", "a\n\rb", true},
      {"a%b_", "abxbb", true},
      {"a%b_", "abxb", false},
      {"a%b_", "abx", true},
      {"a%b_", "ab", false},
      {"%a%b%c%", "xxaxxbxxcxx", true},
      {"%a%b%c%", "xxaxxcxxbxx", false},
      {"a%%b", "ab", true},
      {"%_%", "", false},
      {"%_%", "x", true},
      {"%aab", "aaab", true},
      {"%a_", "aaaab", true},
      {"x\\%_", "x%y", true},
      {"x\\%_", "xay", false},
      {"\\\\_", "\\a", true},
      {"%\xc3\xa9", "caf\xc3\xa9", true},
      {"_%\xa9", "\xc3\xa9", false}, /* no half characters */
  };
  predicate_test p;
  tarn_error err;
  (void)state;
  predicate_test_begin(&p);
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    const tn_field *field = field_named(&p, "s");
    tn_pred_column column = {field->id, field->name, &field->type, 0, NULL};
    tn_datum pattern = text_datum(cases[i].pattern), text = text_datum(cases[i].text);
    const tn_pred *like;
    assert_int_equal(tn_pred_like(&p.t.arena, &column, &pattern, &like, &err), TARN_OK);
    if (tn_pred_test_datum(like, &text) != cases[i].matches) {
      fail_msg("'%s' LIKE '%s' is not %d", cases[i].text, cases[i].pattern, cases[i].matches);
    }
    const tn_pred *negated = tn_pred_negate(&p.t.arena, like);
    assert_int_equal(tn_pred_test_datum(negated, &text), !cases[i].matches);
  }
  predicate_test_end(&p);
}

static void like__rewrites_simple_patterns(void **state) {
  static const struct {
    const char *text;
    tn_pred_op op;
    const char *literal;
  } cases[] = {
      {"s LIKE 'abc'", TN_PRED_EQ, "abc"},
      {"s LIKE 'abc%'", TN_PRED_STARTS_WITH, "abc"},
      {"s LIKE 'abc%%'", TN_PRED_STARTS_WITH, "abc"},
      {"s LIKE '%abc'", TN_PRED_ENDS_WITH, "abc"},
      {"s LIKE '%abc%'", TN_PRED_CONTAINS, "abc"},
      {"s LIKE 'a\\%c%'", TN_PRED_STARTS_WITH, "a%c"},
      {"s LIKE 'a\\\\'", TN_PRED_EQ, "a\\"},
      {"s LIKE '%\\%'", TN_PRED_ENDS_WITH, "%"},
      {"s LIKE '%'", TN_PRED_STARTS_WITH, ""},
      {"s LIKE '%%'", TN_PRED_STARTS_WITH, ""},
      {"s LIKE ''", TN_PRED_EQ, ""},
      {"s LIKE 'a%c'", TN_PRED_LIKE, "a%c"},
      {"s LIKE 'a_'", TN_PRED_LIKE, "a_"},
      {"s NOT LIKE 'a'", TN_PRED_NE, "a"},
      {"s NOT LIKE 'a%'", TN_PRED_NOT_LIKE, "a%"},
  };
  predicate_test p;
  (void)state;
  predicate_test_begin(&p);
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    const tn_pred *leaf = where(&p, cases[i].text);
    assert_int_equal(leaf->op, cases[i].op);
    assert_true(tn_slice_is(leaf->literals[0].v.bytes, cases[i].literal));
  }
  predicate_test_end(&p);
}

static tarn_status give_seven(void *ctx, const tn_pred *leaf, tn_datum *out, tarn_error *err) {
  (void)err;
  ++*(int *)ctx;
  *out = leaf->type.root == TN_INT ? int_datum(7) : null_datum;
  return TARN_OK;
}

static void test__stops_when_it_is_decided(void **state) {
  predicate_test p;
  tarn_error err;
  bool result;
  int calls = 0;
  (void)state;
  predicate_test_begin(&p);
  assert_int_equal(
      tn_pred_test(where(&p, "i = 7 AND s = 'x' AND i = 7"), give_seven, &calls, &result, &err),
      TARN_OK);
  assert_false(result);
  assert_int_equal(calls, 2);
  calls = 0;
  assert_int_equal(
      tn_pred_test(where(&p, "s = 'x' OR i = 7 OR i = 8"), give_seven, &calls, &result, &err),
      TARN_OK);
  assert_true(result);
  assert_int_equal(calls, 2);
  predicate_test_end(&p);
}

static void predicate__is_counted(void **state) {
  struct tarn_predicate *predicate;
  tarn_error err;
  (void)state;
  tarn_env *env = tn_test_env(1, 0);
  assert_int_equal(tn_predicate_create(env, &predicate, &err), TARN_OK);
  predicate->root = tn_pred_constant(&predicate->arena, true);
  assert_ptr_equal(tn_predicate_retain(predicate), predicate);
  tn_predicate_release(predicate);
  assert_int_equal(predicate->root->op, TN_PRED_TRUE);
  tn_predicate_release(predicate);
  tn_predicate_release(NULL);
  tarn_env_free(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(compound__flattens_and_drops_constants),
      cmocka_unit_test(compound__refuses_a_tree_that_is_too_deep),
      cmocka_unit_test(negate__pushes_to_the_leaves),
      cmocka_unit_test(leaf__sorts_the_literals_of_in),
      cmocka_unit_test(leaf__copies_what_it_is_given),
      cmocka_unit_test(copy__is_equal_and_independent),
      cmocka_unit_test(split_and__gives_the_parts),
      cmocka_unit_test(part__tells_what_uses_some_columns_alone),
      cmocka_unit_test(values__are_tested_as_in_java),
      cmocka_unit_test(like__follows_java),
      cmocka_unit_test(like__rewrites_simple_patterns),
      cmocka_unit_test(test__stops_when_it_is_decided),
      cmocka_unit_test(predicate__is_counted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
