/* test_nearest.c - edit distances and the nearest name. */
#include "base/nearest.h"

#include "base/compat.h"
#include "support/test.h"

static int distance(const char *a, const char *b, int limit) {
  return tn_edit_distance(tn_slice_text(a), tn_slice_text(b), limit);
}

static void edit_distance__counts_edits(void **state) {
  static const struct {
    const char *a, *b;
    int edits;
  } cases[] = {
      {"", "", 0},        {"abc", "abc", 0}, {"abc", "ABC", 0},       {"abc", "ab", 1},
      {"abc", "abcd", 1}, {"abc", "axc", 1}, {"bucket", "bukcet", 1}, {"kitten", "sitting", 3},
      {"", "abc", 3}};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    assert_int_equal(distance(cases[i].a, cases[i].b, 10), cases[i].edits);
    assert_int_equal(distance(cases[i].b, cases[i].a, 10), cases[i].edits);
  }
  assert_int_equal(distance("kitten", "sitting", 2), 3);
  assert_int_equal(distance("abcdefgh", "zzzzzzzz", 2), 3);
}

static const char *nearest(const char *name, const char *const *candidates, size_t n) {
  tn_nearest best;
  tn_nearest_init(&best, tn_slice_text(name));
  for (size_t i = 0; i < n; i++) {
    tn_nearest_offer(&best, candidates[i]);
  }
  return best.best;
}

static void offer__keeps_the_closest_within_reason(void **state) {
  static const char *const known[] = {"bucket", "bucket-key", "merge-engine", "scan.mode"};
  (void)state;
  assert_string_equal(nearest("bukcet", known, 4), "bucket");
  assert_string_equal(nearest("bucketkey", known, 4), "bucket-key");
  assert_string_equal(nearest("merge_engine", known, 4), "merge-engine");
  assert_null(nearest("something-else", known, 4));
  assert_null(nearest("x", known, 0));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(edit_distance__counts_edits),
      cmocka_unit_test(offer__keeps_the_closest_within_reason),
  };
  return cmocka_run_group_tests_name("nearest", tests, NULL, NULL);
}
