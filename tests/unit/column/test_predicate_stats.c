/* Statistics: may a row match? And predicates for files of an older schema. */
#include "predicate_test.h"

/* ------------------------------------------------------------------ statistics */

typedef struct stat_source {
  predicate_test *p;
  const char *min, *max; /* literals of the leaf's column; NULL: no bounds */
  int64_t null_count, row_count;
  bool is_known;
  int asked;
} stat_source;

static tarn_status give_stat(void *ctx, const tn_pred *leaf, tn_stat *out, bool *is_known,
                             tarn_error *err) {
  stat_source *s = ctx;
  s->asked++;
  *is_known = s->is_known;
  out->null_count = s->null_count;
  out->row_count = s->row_count;
  out->has_bounds = s->min != NULL;
  if (s->min != NULL) {
    TN_TRY(tn_pred_literal_text(&s->p->t.arena, &leaf->type, NULL, tn_slice_text(s->min), false,
                                &out->min, err));
    TN_TRY(tn_pred_literal_text(&s->p->t.arena, &leaf->type, NULL, tn_slice_text(s->max), false,
                                &out->max, err));
  }
  return TARN_OK;
}

static bool may_match(predicate_test *p, const char *text, const char *min, const char *max,
                      int64_t null_count, int64_t row_count) {
  stat_source s = {p, min, max, null_count, row_count, true, 0};
  tarn_error err;
  bool result = false;
  if (tn_pred_may_match(where(p, text), give_stat, &s, &result, &err) != TARN_OK) {
    fail_msg("%s: %s", text, err.message);
  }
  return result;
}

static void stats__decide_as_in_java(void **state) {
  static const struct {
    const char *text, *min, *max;
    bool expected;
  } cases[] = {
      {"i = 5", "5", "9", true},
      {"i = 9", "5", "9", true},
      {"i = 4", "5", "9", false},
      {"i = 10", "5", "9", false},
      {"i <> 5", "5", "5", false},
      {"i <> 5", "5", "6", true},
      {"i <> 7", "5", "5", true},
      {"i < 5", "5", "9", false},
      {"i < 6", "5", "9", true},
      {"i <= 5", "5", "9", true},
      {"i <= 4", "5", "9", false},
      {"i > 9", "5", "9", false},
      {"i > 8", "5", "9", true},
      {"i >= 9", "5", "9", true},
      {"i >= 10", "5", "9", false},
      {"i BETWEEN 1 AND 4", "5", "9", false},
      {"i BETWEEN 1 AND 5", "5", "9", true},
      {"i BETWEEN 9 AND 12", "5", "9", true},
      {"i BETWEEN 10 AND 12", "5", "9", false},
      {"i BETWEEN 6 AND 7", "5", "9", true},
      {"i NOT BETWEEN 5 AND 9", "5", "9", false},
      {"i NOT BETWEEN 6 AND 9", "5", "9", true},
      {"i NOT BETWEEN 5 AND 8", "5", "9", true},
      {"i IN (1, 4, 10)", "5", "9", false},
      {"i IN (1, 7, 10)", "5", "9", true},
      {"i IN (5)", "5", "9", true},
      {"i IN (9, 11)", "5", "9", true},
      {"i IN (1, NULL)", "5", "9", false},
      {"i IN (NULL, 7)", "5", "9", true},
      {"i NOT IN (5, 6)", "5", "5", false},
      {"i NOT IN (5, 6)", "5", "6", true},
      {"i NOT IN (7, NULL)", "5", "9", false},
      {"i = NULL", "5", "9", false},
      {"i BETWEEN 5 AND NULL", "5", "9", false},
      {"i IS NULL", "5", "9", true},
      {"i IS NOT NULL", "5", "9", true},
      {"s LIKE 'b%'", "a", "c", true},
      {"s LIKE 'b%'", "bb", "bc", true},
      {"s LIKE 'b%'", "a", "b", true},
      {"s LIKE 'b%'", "a", "azz", false},
      {"s LIKE 'b%'", "c", "d", false},
      {"s LIKE '%b'", "c", "d", true},
      {"s LIKE '%b%'", "c", "d", true},
      {"s LIKE 'b_'", "c", "d", true},
      {"s NOT LIKE 'b%'", "b", "b", true},
      {"d IS NAN", "1", "2", true},
      {"d IS NOT NAN", "1", "2", true},
      {"d > 1e300", "1", "NaN", true},
      {"d = 0.0", "-0.0", "-0.0", false},
      {"bin = X'80'", "00", "ff", true},
      {"bin = X'80'", "00", "7f", false},
      {"bin < X'00'", "00", "7f", true}, /* signed order: bounds do not tell */
      {"bin > X'ff'", "00", "7f", true},
      {"bin BETWEEN X'aa' AND X'bb'", "00", "01", true},
      {"bin <> X'00'", "00", "00", true},
      {"bin NOT IN (X'00')", "00", "00", true},
      {"bin IN (X'80', X'01')", "02", "7f", false},
      {"bin IN (X'80', X'03')", "02", "7f", true},
      {"i = 1 AND i = 7", "5", "9", false},
      {"i = 1 OR i = 7", "5", "9", true},
      {"i = 1 OR i = 2", "5", "9", false},
      {"TRUE", "5", "9", true},
      {"FALSE", "5", "9", false},
      {"r.x = 1", "5", "9", true}, /* nested: never asked */
  };
  predicate_test p;
  (void)state;
  predicate_test_begin(&p);
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    if (may_match(&p, cases[i].text, cases[i].min, cases[i].max, 1, 10) != cases[i].expected) {
      fail_msg("%s on [%s, %s] is not %d", cases[i].text, cases[i].min, cases[i].max,
               cases[i].expected);
    }
  }
  predicate_test_end(&p);
}

static void stats__count_nulls(void **state) {
  static const struct {
    const char *text;
    const char *bound; /* of both; NULL: none */
    int64_t null_count;
    bool expected;
  } cases[] = {
      {"i = 5", NULL, 10, false},
      {"i <> 5", NULL, 10, false},
      {"i IN (5)", NULL, 10, false},
      {"i NOT IN (5)", NULL, 10, false},
      {"i IS NULL", NULL, 10, true},
      {"i IS NOT NULL", NULL, 10, false},
      {"i IS NULL", "5", 0, false},
      {"i IS NULL", "5", -1, true},
      {"i IS NOT NULL", "5", 0, true},
      {"i IS NOT NULL", "5", -1, true},
      {"s LIKE 'a%'", NULL, 10, false},
      {"s NOT LIKE 'a%'", NULL, 10, false},
      {"d IS NOT NAN", NULL, 10, false},
      {"i = 5", NULL, -1, true},
      {"i = 5", NULL, 3, true},
      {"i IS NULL", NULL, 0, true}, /* without bounds nothing is said, as in Java */
      {"i = 6", "5", -1, false},
  };
  predicate_test p;
  (void)state;
  predicate_test_begin(&p);
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    if (may_match(&p, cases[i].text, cases[i].bound, cases[i].bound, cases[i].null_count, 10) !=
        cases[i].expected) {
      fail_msg("%s with %d nulls is not %d", cases[i].text, (int)cases[i].null_count,
               cases[i].expected);
    }
  }
  predicate_test_end(&p);
}

static void stats__that_are_unknown_keep_the_file(void **state) {
  predicate_test p;
  tarn_error err;
  bool result = false;
  (void)state;
  predicate_test_begin(&p);
  stat_source s = {&p, "5", "9", 0, 10, false, 0};
  assert_int_equal(tn_pred_may_match(where(&p, "i = 1"), give_stat, &s, &result, &err), TARN_OK);
  assert_true(result);
  s.asked = 0;
  assert_int_equal(tn_pred_may_match(where(&p, "r.x = 1"), give_stat, &s, &result, &err), TARN_OK);
  assert_true(result);
  assert_int_equal(s.asked, 0);
  predicate_test_end(&p);
}

/* ------------------------------------------------------------------ older schemas */

/* Columns by the ids of predicate_schema: i lost or changed as told. */
static const char *devolved(predicate_test *p, const char *text, const char *column,
                            const char *old_type) {
  tarn_error err;
  const tn_pred *out;
  tn_field *old = tn_arena_memdup(&p->t.arena, p->fields, (size_t)p->n_fields * sizeof(*old));
  int32_t at = tn_fields_find(p->fields, p->n_fields, tn_slice_text(column));
  assert_true(at >= 0);
  if (old_type == NULL) {
    old[at].id = 999999;
  } else {
    old[at].type = *parse_type(&p->t, old_type);
  }
  assert_int_equal(tn_pred_devolve(&p->t.arena, where(p, text), old, p->n_fields, &out, &err),
                   TARN_OK);
  return out == NULL ? "nothing" : text_of(p, out);
}

static void devolve__says_what_holds_of_old_columns(void **state) {
  static const struct {
    const char *text, *column, *old_type, *expected;
  } cases[] = {
      {"i = 1 AND l = 2", "i", "INT", "i = 1 AND l = 2"},
      {"i = 1 AND l = 2", "i", "INT NOT NULL", "i = 1 AND l = 2"},
      {"i = 1 AND l = 2", "i", "TINYINT", "i = 1 AND l = 2"},
      {"i = -128", "i", "TINYINT", "i = -128"},
      {"i = 128", "i", "TINYINT", "nothing"},
      {"i IN (1, 200)", "i", "TINYINT", "nothing"},
      {"i IN (1, NULL)", "i", "TINYINT", "i IN (1, NULL)"},
      {"i IS NULL", "i", "SMALLINT", "i IS NULL"},
      {"i = 1 AND l = 2", "i", "BIGINT", "l = 2"},
      {"i = 1 OR l = 2", "i", "BIGINT", "nothing"},
      {"i = 1 AND l = 2", "i", "STRING", "l = 2"},
      {"i IS NULL", "i", "STRING", "nothing"},
      {"s = 'a'", "s", "VARCHAR(5)", "nothing"},
      {"i = 1", "i", NULL, "FALSE"},
      {"i <> 1", "i", NULL, "FALSE"},
      {"i IS NULL", "i", NULL, "nothing"},
      {"i IS NULL AND l = 2", "i", NULL, "l = 2"},
      {"i IS NOT NULL OR l = 2", "i", NULL, "l = 2"},
      {"i = 1 AND l = 2", "i", NULL, "FALSE"},
      {"r.x = 1 AND r.y.z IS NULL", "r", NULL, "FALSE"},
      {"r.x = 1 AND l = 2", "r", "INT", "l = 2"},
      {"r.x IS NULL", "r", "ROW<other INT>", "nothing"},
      {"r.x IS NOT NULL", "r", "ROW<other INT>", "FALSE"},
      {"(i = 1 OR s = 'a') AND (l = 2 OR d = 3.0)", "i", "STRING", "l = 2 OR d = 3.0"},
  };
  predicate_test p;
  (void)state;
  predicate_test_begin(&p);
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    const char *got = devolved(&p, cases[i].text, cases[i].column, cases[i].old_type);
    if (strcmp(got, cases[i].expected) != 0) {
      fail_msg("%s with %s %s: %s, not %s", cases[i].text, cases[i].column,
               cases[i].old_type != NULL ? cases[i].old_type : "missing", got, cases[i].expected);
    }
  }
  predicate_test_end(&p);
}

static void devolve__gives_the_leaf_the_old_type(void **state) {
  predicate_test p;
  tarn_error err;
  const tn_pred *out;
  (void)state;
  predicate_test_begin(&p);
  tn_field old = *field_named(&p, "i");
  old.type = *parse_type(&p.t, "SMALLINT");
  const tn_pred *pred = where(&p, "i = 1");
  assert_int_equal(tn_pred_devolve(&p.t.arena, pred, &old, 1, &out, &err), TARN_OK);
  assert_int_equal(out->type.root, TN_SMALLINT);
  assert_int_equal(pred->type.root, TN_INT);
  predicate_test_end(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stats__decide_as_in_java),
      cmocka_unit_test(stats__count_nulls),
      cmocka_unit_test(stats__that_are_unknown_keep_the_file),
      cmocka_unit_test(devolve__says_what_holds_of_old_columns),
      cmocka_unit_test(devolve__gives_the_leaf_the_old_type),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
