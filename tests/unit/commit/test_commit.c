/* test_commit.c - what snapshots come of messages. */
#include "commit_maker.h"
#include "support/test.h"

static const char *const append_fields = "0 a INT";

static tn_table *append_table(table_maker *tm, const char *options) {
  tm_begin(tm, 1);
  tm_schema(tm, 0, append_fields, "", "", options);
  return tm_table(tm, "");
}

static void end(table_maker *tm, tn_table *table) {
  tn_table_release(table);
  tm_end(tm);
}

static void append__makes_one_snapshot_after_the_other(void **state) {
  table_maker tm;
  tn_table *table = append_table(&tm, "bucket=-1");
  (void)state;
  assert_int_equal(cm_append_one(&tm, table, "u", 1, "a", 3), 1);
  assert_int_equal(cm_append_one(&tm, table, "u", 2, "b", 4), 2);
  assert_int_equal(cm_append_one(&tm, table, "v", 1, "c", 5), 3);
  assert_string_equal(cm_snapshot_text(&tm, 1), "APPEND u:1 rows=3(+3)");
  assert_string_equal(cm_snapshot_text(&tm, 2), "APPEND u:2 rows=7(+4)");
  assert_string_equal(cm_snapshot_text(&tm, 3), "APPEND v:1 rows=12(+5)");
  assert_string_equal(cm_entries(&tm, 3, 'b'), "+a | +b");
  assert_string_equal(cm_entries(&tm, 3, 'd'), "+c");
  assert_string_equal(tm_plan(&tm, table, NULL, -1), "0[a b c]raw(12)");
  end(&tm, table);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(append__makes_one_snapshot_after_the_other),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
