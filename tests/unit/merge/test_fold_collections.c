/* test_fold_collections.c - functions of arrays and maps. */
#include "fold_test.h"
#include "support/test.h"

#define INTS "ARRAY<INT>"
#define ROWS "ARRAY<ROW<k INT, v STRING, w INT>>"
#define TIMED "MAP<INT, ROW<v INT, t STRING>>"

static const fold_case cases[] = {
    /* collect */
    {&tn_fold_collect, INTS, "[[3,1,3],null,[1,null]]", "0 1 2|1|1 1|2",
     "[[3,1,3,1,null],null,null,[1,null]]"},
    {&tn_fold_collect, INTS, "[[1,2],[3],[]]", "0 ~1|~1 0|2|2 1", "[[1,2,3],[3,1,2],[],[3]]"},
    {&tn_fold_collect, INTS, "[[1,2],[3]]", "0 ~1", "[[3,1,2]]", .ignores_retract = true},
    {&tn_fold_collect, INTS, "[[3,1,3],[1,null],[1,3],[7],[]]", "0 1 -2|0 -3|0 -4|-0|-0 0|3 -3",
     "[[3,1,null],[3,1,3],[3,1,3],null,[3,1,3],[]]"},
    {&tn_fold_collect, INTS, "[[3,1,3,1],[3,3,1],null]", "0 -1|0 -1 0 -0|0 -2|=0 -1",
     "[[1],[1],[3,1,3,1],[1]]"},
    {&tn_fold_collect, INTS, "[[1,2],[2]]", "0 -1 1", "[[1,2,2]]", .ignores_retract = true},
    {&tn_fold_collect, INTS, "[[1],[2],null]", "0 =1|0 =1 0|=2 0|0 =2", "[[2],[2,1],[1],null]"},
    {&tn_fold_collect, "ARRAY<ARRAY<STRING>>", "[[[\"a\",\"b\"],null,[\"a\"]],[[\"a\",\"b\"]]]",
     "0 0 -1", "[[null,[\"a\"],[\"a\",\"b\"],null,[\"a\"]]]"},
    {&tn_fold_collect, "ARRAY<MAP<INT, INT>>", "[[[[1,2],[3,4]],[[5,6]]],[[[3,4],[1,2]]]]", "0 -1",
     "[[[[5,6]]]]"},

    /* collect, distinct */
    {&tn_fold_collect, INTS, "[[3,1,3],null,[1,null,2,null]]", "0|0 1|0 2|1|1 2|0 -2 2",
     "[[3,1],[3,1],[3,1,null,2],null,[1,null,2],[3,1,null,2]]", .is_distinct = true},
    {&tn_fold_collect, INTS, "[[3,3],null,[4]]", "=0|=0 1|=0 2|=0 -0", "[[3,3],[3],[3,4],[]]",
     .is_distinct = true},
    {&tn_fold_collect, "ARRAY<ROW<a INT, b STRING>>",
     "[[[1,\"x\"],[1,\"x\"],null],null,[[1,\"x\"],[2,null],[2,null]]]", "0|0 2|=0 1|=0 2",
     "[[[1,\"x\"],null],[[1,\"x\"],null,[2,null]],[[1,\"x\"],[1,\"x\"],null],[[1,\"x\"],[1,\"x\"],"
     "null,[2,null]]]",
     .is_distinct = true},
    {&tn_fold_collect, "ARRAY<BYTES>", "[[\"hex:41\",\"hex:4141\"],[\"hex:41\"]]", "0 1",
     "[[\"A\",\"AA\"]]", .is_distinct = true},
    {&tn_fold_collect, "ARRAY<DOUBLE>", "[[\"NaN\",-0.0,0.0],[\"NaN\",-0.0]]", "0 1",
     "[[nan,-0,0]]", .is_distinct = true},

    /* merge_map */
    {&tn_fold_merge_map, "MAP<INT, STRING>",
     "[[[1,\"a\"],[2,\"b\"]],null,[[2,\"c\"],[3,null]],[[1,\"zzz\"]]]",
     "0 1 2|0 1 2 -3|1|2 -3|-3|3 -3 0",
     "[[[1,\"a\"],[2,\"c\"],[3,null]],[[2,\"c\"],[3,null]],null,[[2,\"c\"],[3,null]],null,[[1,"
     "\"a\"],[2,\"b\"]]]"},
    {&tn_fold_merge_map, "MAP<INT, STRING>",
     "[[[1,\"a\"],[2,\"b\"]],[[2,\"c\"],[3,\"d\"],[3,\"e\"]],null,[]]",
     "0 ~1|~1 ~0|0 ~2|~2 ~0|0 1 ~0|1|1 3|3 1 3",
     "[[[1,\"a\"],[2,\"b\"],[3,\"e\"]],[[2,\"c\"],[3,\"e\"],[1,\"a\"]],[[1,\"a\"],[2,\"b\"]],[[1,"
     "\"a\"],[2,\"b\"]],"
     "[[1,\"a\"],[2,\"c\"],[3,\"e\"]],[[2,\"c\"],[3,\"d\"],[3,\"e\"]],[[2,\"c\"],[3,\"e\"]],[[2,"
     "\"c\"],[3,\"e\"]]]"},
    {&tn_fold_merge_map, "MAP<BYTES, INT>", "[[[\"hex:41\",1]],[[\"hex:41\",2]]]", "0 1",
     "[[[\"A\",2]]]"},
    {&tn_fold_merge_map, "MAP<ROW<a INT, b ARRAY<INT>>, INT>",
     "[[[[1,[2]],1]],[[[1,[2]],5],[[1,null],6]]]", "0 1 -0", "[[[[1,null],6]]]"},

    /* merge_map_with_keytime: 0 base, 1 older and newer, 2 no row, 3 no time, 4 as it is */
    {&tn_fold_merge_map_with_keytime, TIMED,
     "[[[1,[10,\"b\"]],[2,[20,\"b\"]]],[[1,[11,\"a\"]],[2,[21,\"c\"]],[3,[31,\"a\"]]],[[1,null]],[["
     "2,[22,null]],[4,[40,null]]],"
     "[[5,null],[6,[60,null]]],[[5,[50,\"a\"]],[6,[61,\"a\"]]]]",
     "0 1|0 2|0 2 1|0 3|4|4 5|0 0",
     "[[[1,[10,\"b\"]],[2,[21,\"c\"]],[3,[31,\"a\"]]],[[2,[20,\"b\"]]],[[2,[21,\"c\"]],[1,[11,"
     "\"a\"]],[3,[31,\"a\"]]],"
     "[[1,[10,\"b\"]],[2,[20,\"b\"]]],[[5,null],[6,[60,null]]],[[5,[50,\"a\"]],[6,[61,\"a\"]]],[[1,"
     "[10,\"b\"]],[2,[20,\"b\"]]]]",
     .time_field = -1},
    {&tn_fold_merge_map_with_keytime, TIMED,
     "[[[1,[10,\"b\"]],[2,[20,\"b\"]]],[[1,[11,\"a\"]],[2,[21,\"c\"]],[3,[31,\"a\"]]],[[1,null]],[["
     "2,[22,null]],[4,[40,null]]],"
     "[[5,null],[6,[60,null]],[7,[70,\"x\"]]],[[5,[50,\"a\"]],[6,[61,\"a\"]]],[[1,[12,\"b\"]]]]",
     "0 ~1|0 ~2|0 ~3|4 ~5|4 ~0|0 ~6|0 ~3 ~6|~4 ~5",
     "[[[1,[10,\"b\"]],[2,[21,\"c\"]],[3,[31,\"a\"]]],[[1,[10,\"b\"]],[2,[20,\"b\"]]],[[1,[10,"
     "\"b\"]],[2,[20,\"b\"]],[4,[40,null]]],"
     "[[6,[61,\"a\"]],[7,[70,\"x\"]]],[[7,[70,\"x\"]],[1,[10,\"b\"]],[2,[20,\"b\"]]],[[1,[12,\"b\"]"
     "],[2,[20,\"b\"]]],"
     "[[1,[12,\"b\"]],[2,[20,\"b\"]]],[[6,[61,\"a\"]],[7,[70,\"x\"]]]]",
     .time_field = -1},
    /* UTF-16 order: U+1F600 is before U+FF5E */
    {&tn_fold_merge_map_with_keytime, "MAP<INT, ROW<t STRING, v INT>>",
     "[[[1,[\"\xF0\x9F\x98\x80\",1]]],[[1,[\"\xEF\xBD\x9E\",2]]]]", "0 1|1 0",
     "[[[1,[\"\xEF\xBD\x9E\",2]]],[[1,[\"\xEF\xBD\x9E\",2]]]]", .time_field = 0},

    /* nested_update without a key */
    {&tn_fold_nested_update, ROWS,
     "[[[1,\"a\",1]],[[1,\"a\",1],[2,\"b\",2],null],[[1,\"a\",1]],null]",
     "0 1|0 1 -2|1|3|3 3|-2|0 -3",
     "[[[1,\"a\",1],[1,\"a\",1],[2,\"b\",2]],[[2,\"b\",2]],[[1,\"a\",1],[2,\"b\",2],null],null,"
     "null,"
     "null,[[1,\"a\",1]]]"},
    {&tn_fold_nested_update, ROWS, "[[[1,\"a\",1]],[[2,\"b\",2],null,[3,\"c\",3]],[[4,null,null]]]",
     "0 1|1|=1 0|=1 2|0 ~1|0 1 ~2",
     "[[[1,\"a\",1],[2,\"b\",2]],[[2,\"b\",2],null,[3,\"c\",3]],[[2,\"b\",2],null,[3,\"c\",3]],[[2,"
     "\"b\",2],null,[3,\"c\",3]],"
     "[[2,\"b\",2],null,[3,\"c\",3]],[[4,null,null],[1,\"a\",1]]]",
     .count_limit = 2},
    {&tn_fold_nested_update, ROWS, "[[[1,\"a\",1],null],[[2,\"b\",2],[3,\"c\",3]],null]",
     "0 ~1|~0|~0 ~2|=0 1|1 ~0 -0",
     "[[[2,\"b\",2],[3,\"c\",3],[1,\"a\",1]],[[1,\"a\",1],null],[[1,\"a\",1],null],[[1,\"a\",1],[2,"
     "\"b\",2],[3,\"c\",3]],"
     "[[2,\"b\",2],[3,\"c\",3]]]"},
    /* with a key */
    {&tn_fold_nested_update, ROWS,
     "[[[1,\"a\",1]],[[1,null,9],[2,\"b\",2]],[[1,\"z\",7]],[[2,\"x\",1],null,[2,\"y\",1]]]",
     "0 1|0 1 -2|3|1 ~0|~1 ~2 ~3",
     "[[[1,null,9],[2,\"b\",2]],[[2,\"b\",2]],[[2,\"x\",1],null,[2,\"y\",1]],[[1,null,9],[2,\"b\","
     "2]],[[1,null,9],["
     "2,\"b\",2]]]",
     .nested_keys = {0}, .n_nested_keys = 1},
    {&tn_fold_nested_update, ROWS,
     "[[[1,\"a\",1],[2,\"b\",2],[3,\"c\",3]],[[2,\"d\",4],[4,\"e\",5]]]",
     "0|0 1|=0 1|1 ~0|0 ~1|~0 ~1",
     "[[[1,\"a\",1],[2,\"b\",2],[3,\"c\",3]],[[1,\"a\",1],[2,\"d\",4],[3,\"c\",3]],"
     "[[1,\"a\",1],[2,\"d\",4],[3,\"c\",3]],[[2,\"d\",4],[1,\"a\",1],[3,\"c\",3]],[[2,\"b\",2],[4,"
     "\"e\",5]],[[2,\"b\",2],[4,\"e\",5]]]",
     .nested_keys = {0}, .n_nested_keys = 1, .count_limit = 2},
    {&tn_fold_nested_update, ROWS,
     "[[[1,\"a\",1],[null,\"a\",1]],[[1,\"a\",2],[null,\"a\",3],[1,\"b\",1]]]", "0 1",
     "[[[1,\"a\",2],[null,\"a\",3],[1,\"b\",1]]]", .nested_keys = {1, 0}, .n_nested_keys = 2},

    /* nested_partial_update */
    {&tn_fold_nested_partial_update, ROWS,
     "[[[1,\"a\",1]],[[1,null,9],[2,null,null]],null,[[2,\"b\",null],null,[2,null,3]]]",
     "0 1|0 1 3|3|2|0 2|=3|=3 0|~3|~3 ~2",
     "[[[1,\"a\",9],[2,null,null]],[[1,\"a\",9],[2,\"b\",3]],[[2,\"b\",null],null,[2,null,3]],null,"
     "[[1,\"a\",1]],[[2,\"b\",null],null,[2,null,3]],[[2,\"b\",3],[1,\"a\",1]],"
     "[[2,\"b\",null],null,[2,null,3]],[[2,\"b\",null],null,[2,null,3]]]",
     .nested_keys = {0}, .n_nested_keys = 1},
    {&tn_fold_nested_partial_update, ROWS,
     "[[[1,\"a\",null]],[[1,\"b\",2],[1,\"c\",3],[2,\"d\",4],[2,\"e\",null]]]", "0 ~1|1 ~0",
     "[[[1,\"a\",3],[2,\"e\",4]],[[1,\"c\",3],[2,\"e\",4]]]", .nested_keys = {0},
     .n_nested_keys = 1},
};

static void collections__fold_as_java_does(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
    assert_folded(&cases[i]);
  }
}

static void collections__survive_failing_allocations(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
    assert_fold_survives_torture(&cases[i]);
  }
}

static void keytime__refuses_to_compare_times_that_are_no_strings(void **state) {
  (void)state;
  assert_folds_refused(&(fold_case){&tn_fold_merge_map_with_keytime, "MAP<INT, ROW<v INT, t INT>>",
                                    "[[[1,[1,1]]],[[1,[2,2]]]]", "0 1", .time_field = -1},
                       TARN_E_INVALID, "field 't' is INT");
}

static void collections__refuse_retracts_they_do_not_know(void **state) {
  (void)state;
  assert_folds_refused(
      &(fold_case){&tn_fold_merge_map_with_keytime, TIMED, "[[]]", "0 -0", .time_field = -1},
      TARN_E_INVALID, "merge_map_with_keytime");
  assert_folds_refused(
      &(fold_case){&tn_fold_nested_partial_update, ROWS, "[[]]", "-0", .n_nested_keys = 1},
      TARN_E_INVALID, "nested_partial_update");
  assert_folded(&(fold_case){&tn_fold_nested_partial_update, ROWS, "[[[1,null,2]]]", "0 -0",
                             "[[[1,null,2]]]", .ignores_retract = true, .n_nested_keys = 1});
}

static void collections__check_the_type(void **state) {
  static const struct {
    const tn_fold_function *function;
    const char *type, *words;
  } refused[] = {
      {&tn_fold_collect, "INT", "Data type for collect column must be 'Array' but was 'INT'."},
      {&tn_fold_merge_map, INTS,
       "Data type for merge map column must be 'MAP' but was 'ARRAY<INT>'"},
      {&tn_fold_merge_map_with_keytime, INTS, "must be 'MAP'"},
      {&tn_fold_merge_map_with_keytime, "MAP<INT, INT>", "must be ROW but was 'INT'"},
      {&tn_fold_merge_map_with_keytime, "MAP<INT, ROW<a INT>>", "at least 2 fields, but found 1"},
      {&tn_fold_nested_update, INTS, "must be 'Array<Row>' but was 'ARRAY<INT>'."},
      {&tn_fold_nested_partial_update, ROWS, "nested-key"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
    tarn_error err = {0};
    fold_case c = {refused[i].function, refused[i].type, .time_field = -1};
    assert_int_equal(check_column(&c, &err), TARN_E_INVALID);
    assert_contains(err.message, refused[i].words);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(collections__fold_as_java_does),
      cmocka_unit_test(collections__survive_failing_allocations),
      cmocka_unit_test(keytime__refuses_to_compare_times_that_are_no_strings),
      cmocka_unit_test(collections__refuse_retracts_they_do_not_know),
      cmocka_unit_test(collections__check_the_type),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
