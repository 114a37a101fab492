/* test_equal.c - values of any type compared and hashed. */
#include "column/equal.h"

#include "column_test.h"
#include "support/test.h"
#include "support/torture.h"

/* The rows of a vector that are the same have the same digit in `classes`. */
typedef struct equal_case {
  const char *type, *rows, *classes;
} equal_case;

static const equal_case cases[] = {
    {"INT", "[1,2,1,null,null,0]", "010223"},
    {"BOOLEAN", "[true,false,null,true]", "0120"},
    {"STRING", "[\"a\",\"\",null,\"a\",\"ab\",\"\"]", "012031"},
    {"DOUBLE", "[0.0,-0.0,\"NaN\",\"-NaN\",0.0,1.5]", "012203"},
    {"FLOAT", "[0.0,-0.0,\"NaN\",\"-NaN\"]", "0122"},
    {"DECIMAL(38, 2)", "[\"1000000000000000000000\",1,\"1000000000000000000000\"]", "010"},
    {"ARRAY<INT>", "[[1,2],[2,1],[1,2],[],null,[null],[]]", "0102342"},
    {"ROW<a INT, b STRING>", "[[1,\"x\"],[1,null],[1,\"x\"],null,[1,null]]", "01021"},
    {"VECTOR<FLOAT, 2>", "[[1,2],[2,1],[1,2]]", "010"},
    {"MAP<INT, STRING>",
     "[[[1,\"a\"],[2,\"b\"]],[[2,\"b\"],[1,\"a\"]],[[1,\"b\"],[2,\"a\"]],[[1,\"a\"]],[],null]",
     "001234"},
    {"MAP<INT, INT>", "[[[1,1],[1,1],[2,2]],[[2,2],[1,1],[1,1]],[[2,2],[2,2],[1,1]]]", "001"},
    {"MAP<INT, MAP<INT, INT>>",
     "[[[1,[[1,1],[2,2]]],[2,null]],[[2,null],[1,[[2,2],[1,1]]]],[[2,null],[1,[]]]]", "001"},
    {"MULTISET<STRING>", "[[[\"a\",1],[\"b\",2]],[[\"b\",2],[\"a\",1]],[[\"b\",1],[\"a\",2]]]",
     "001"},
};

static tarn_status compare_all(tarn_env *env, tn_arena *arena, const equal_case *c, char encoding,
                               tarn_error *err) {
  tarn_status st;
  tn_type type;
  tn_vec flat = {0}, vec = {0};
  TN_TRY_TO(done, tn_type_from_sql(arena, c->type, NULL, &type, err));
  TN_TRY_TO(done, build_vec(env, &type, c->rows, &flat, err));
  if (encoding == 'f') {
    TN_TRY_TO(done, tn_vec_share(env, &flat, &vec, err));
  } else {
    TN_TRY_TO(done, encode_vec(env, &flat, encoding, &vec, err));
  }
  assert_int_equal(flat.length, strlen(c->classes));
  for (int64_t i = 0; i < flat.length; i++) {
    for (int64_t k = 0; k < flat.length; k++) {
      bool is_equal, wanted = c->classes[i] == c->classes[k];
      TN_TRY_TO(done, tn_vec_rows_equal(&env->mem, &vec, i, &flat, k, &is_equal, err));
      if (is_equal != wanted) {
        fail_msg("%s %s: rows %d and %d", c->type, c->rows, (int)i, (int)k);
      }
      assert_true(!wanted || tn_vec_row_hash(&vec, i) == tn_vec_row_hash(&flat, k));
    }
  }
done:
  tn_vec_reset(env, &vec);
  tn_vec_reset(env, &flat);
  return st;
}

static void rows_equal__goes_by_value(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
    column_test t;
    tarn_error err;
    bool is_string = strcmp(cases[i].type, "STRING") == 0;
    column_test_begin(&t);
    for (const char *encoding = is_string ? "fdv" : "f"; *encoding != '\0'; encoding++) {
      assert_works(compare_all(t.env, &t.arena, &cases[i], *encoding, &err), err);
    }
    column_test_end(&t);
  }
}

static tarn_status compare_once(void *ctx, tarn_env *env, tarn_error *err) {
  tn_arena arena;
  tarn_status st;
  tn_arena_init(&arena, &env->mem, (size_t)1 << 20);
  st = compare_all(env, &arena, ctx, 'f', err);
  tn_arena_reset(&arena);
  return st;
}

static void rows_equal__survives_failing_allocations(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
    equal_case c = cases[i];
    tn_torture(compare_once, &c, TARN_OK);
  }
}

/* 200,000 entries in opposite order, and as many that are all alike: no time to look at all pairs.
 */
static void rows_equal__is_linear_in_the_entries_of_maps(void **state) {
  column_test *t = *state;
  enum { N = 200000 };
  tarn_error err;
  tn_vec vec = {0}, *entries;
  bool is_equal;
  assert_works(tn_vec_init(t->env, parse_type(t, "MAP<INT, INT>"), &vec, &err), err);
  assert_works(tn_vec_alloc(t->env, &vec, 2, 0, &err), err);
  entries = &vec.children[0];
  assert_works(tn_vec_alloc(t->env, entries, 2 * N, 0, &err), err);
  for (int32_t c = 0; c < 2; c++) {
    assert_works(tn_vec_alloc(t->env, &entries->children[c], 2 * N, 0, &err), err);
    for (int32_t i = 0; i < N; i++) {
      ((int32_t *)entries->children[c].values)[i] = i < N / 2 ? i : N;
      ((int32_t *)entries->children[c].values)[2 * N - 1 - i] = i < N / 2 ? i : N;
    }
  }
  vec.offsets[1] = N;
  vec.offsets[2] = 2 * N;
  assert_works(tn_vec_rows_equal(&t->env->mem, &vec, 0, &vec, 1, &is_equal, &err), err);
  assert_true(is_equal);
  ((int32_t *)entries->children[1].values)[N - 1] = 7;
  assert_works(tn_vec_rows_equal(&t->env->mem, &vec, 0, &vec, 1, &is_equal, &err), err);
  assert_false(is_equal);
  tn_vec_reset(t->env, &vec);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_equal__goes_by_value),
      cmocka_unit_test(rows_equal__survives_failing_allocations),
      column_unit_test(rows_equal__is_linear_in_the_entries_of_maps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
