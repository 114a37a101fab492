/* test_tags.c - tags: what they say, whose files go with them, automatic ones. */
#include "maintain/after_commit.h"
#include "maintain/tags.h"
#include "maintain_maker.h"
#include "support/test.h"

#define DAY_MS ((int64_t)86400000)
#define NOON_MS (DAY_MS * 20000 + DAY_MS / 2) /* 2024-10-04 12:00 */

static void create__without_retention_is_the_snapshot(void **state) {
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, "");
  mm_commit(&mm, "+a");
  mm_commit(&mm, "+b");
  OK(tn_tag_create(mm.table, "one", 1, TN_TAG_RETAINED_BY_OPTION, err));
  OK(tn_tag_create(mm.table, "latest", 0, TN_TAG_RETAINED_FOREVER, err));
  assert_string_equal(tm_content(&mm.tm, "/t/tag/tag-one"),
                      tm_content(&mm.tm, "/t/snapshot/snapshot-1"));
  assert_string_equal(tm_content(&mm.tm, "/t/tag/tag-latest"),
                      tm_content(&mm.tm, "/t/snapshot/snapshot-2"));
  mm_end(&mm);
}

static void create__with_retention_says_since_when(void **state) {
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, "tag.default-time-retained=25 h");
  mm_commit(&mm, "+a");
  mm.now = NOON_MS + 1529;
  OK(tn_tag_create(mm.table, "t", 1, TN_TAG_RETAINED_BY_OPTION, err));
  assert_contains(tm_content(&mm.tm, "/t/tag/tag-t"),
                  "\"tagCreateTime\" : [ 2024, 10, 4, 12, 0, 1, 529000000 ]");
  assert_contains(tm_content(&mm.tm, "/t/tag/tag-t"), "\"tagTimeRetained\" : 90000.000000000");
  OK(tn_tag_create(mm.table, "other", 1, 2000, err));
  assert_contains(tm_content(&mm.tm, "/t/tag/tag-other"), "\"tagTimeRetained\" : 2.000000000");
  mm_end(&mm);
}

static void create__refuses_what_java_refuses(void **state) {
  static const struct {
    const char *name;
    int64_t id;
    tarn_status status;
    const char *message;
  } cases[] = {
      {"  ", 1, TARN_E_INVALID, "Tag name shouldn't be blank."},
      {"t", 1, TARN_E_EXISTS, "Tag 't' already exists."},
      {"u", 7, TARN_E_NOT_FOUND, "Cannot create tag because given snapshot #7 doesn't exist."},
      {"a/b", 1, TARN_E_INVALID, "the name of a tag must not have a '/': 'a/b'"},
  };
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, "");
  mm_commit(&mm, "+a");
  OK(tn_tag_create(mm.table, "t", 1, TN_TAG_RETAINED_FOREVER, err));
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tarn_error why = {0};
    assert_int_equal(tn_tag_create(mm.table, cases[i].name, cases[i].id, -1, &why),
                     cases[i].status);
    assert_string_equal(why.message, cases[i].message);
  }
  assert_string_equal(mm_list(&mm, "tag"), "t");
  mm_end(&mm);
}

static void create__takes_an_expired_snapshot_from_another_tag(void **state) {
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, "");
  mm_commit(&mm, "+a");
  OK(tn_tag_create(mm.table, "t", 1, 1000, err));
  mm_commit(&mm, "-a ^B");
  mm_expire(&mm, 1, 1);
  OK(tn_tag_create(mm.table, "u", 1, TN_TAG_RETAINED_FOREVER, err));
  assert_null(strstr(tm_content(&mm.tm, "/t/tag/tag-u"), "tagCreateTime"));
  OK(tn_tag_delete(mm.table, "t", err));
  assert_string_equal(mm_list(&mm, "bucket-0"), "B a");
  assert_int_equal(mm_check(&mm), 0);
  OK(tn_tag_delete(mm.table, "u", err));
  assert_string_equal(mm_list(&mm, "bucket-0"), "B");
  assert_int_equal(mm_check(&mm), 0);
  mm_end(&mm);
}

/* a lives in 1 and 2, B in 3 and 4, D from 5 on; tags of all, then only some are left. */
static void delete__removes_what_neither_neighbour_has(void **state) {
  static const struct {
    const char *deleted, *left;
  } cases[] = {
      {"1", "B D a c"}, {"2", "B D a c"}, {"12", "B D c"}, {"3", "B D a c"},
      {"34", "D a"},    {"1234", "D"},    {"4", "B D a"},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    maintain_maker mm;
    mm_begin(&mm, "");
    mm_commit(&mm, "+a");
    mm_commit(&mm, "+b");
    mm_commit(&mm, "-a -b ^B");
    mm_commit(&mm, "+c");
    mm_commit(&mm, "_B -c ^D");
    for (char c = '1'; c <= '4'; c++) {
      const char name[] = {c, '\0'};
      OK(tn_tag_create(mm.table, name, c - '0', TN_TAG_RETAINED_FOREVER, err));
    }
    assert_int_equal(mm_expire(&mm, 1, 1), 4);
    assert_string_equal(mm_list(&mm, "bucket-0"), "B D a b c");
    OK(tn_tag_delete(mm.table, "2", err)); /* b is its alone */
    OK(tn_tag_create(mm.table, "2", 1, TN_TAG_RETAINED_FOREVER, err));
    for (const char *c = cases[i].deleted; *c != '\0'; c++) {
      const char name[] = {*c, '\0'};
      OK(tn_tag_delete(mm.table, name, err));
      assert_int_equal(mm_check(&mm), 0);
    }
    assert_string_equal(mm_list(&mm, "bucket-0"), cases[i].left);
    mm_end(&mm);
  }
}

static void delete__of_a_broken_tag_leaves_its_files(void **state) {
  maintain_maker mm;
  tn_snapshot s;
  (void)state;
  mm_begin(&mm, "");
  mm_commit(&mm, "+a");
  mm_commit(&mm, "-a ^B");
  OK(tn_tag_create(mm.table, "t", 1, TN_TAG_RETAINED_FOREVER, err));
  s = cm_snapshot(&mm.tm, 1);
  mm_expire(&mm, 1, 1);
  tm_put(&mm.tm, tn_arena_printf(&mm.tm.arena, "manifest/%s", s.delta_manifest_list), "garbage");
  OK(tn_tag_delete(mm.table, "t", err));
  assert_string_equal(mm_list(&mm, "tag"), "");
  assert_string_equal(mm_list(&mm, "bucket-0"), "B a");
  mm_end(&mm);
}

static void delete__names_a_tag_that_is_none(void **state) {
  maintain_maker mm;
  tarn_error why = {0};
  (void)state;
  mm_begin(&mm, "");
  assert_int_equal(tn_tag_delete(mm.table, "t", &why), TARN_E_NOT_FOUND);
  assert_contains(why.message, "tag 't' does not exist");
  mm_end(&mm);
}

static void rename__takes_no_name_that_is_taken(void **state) {
  maintain_maker mm;
  tarn_error why = {0};
  (void)state;
  mm_begin(&mm, "");
  mm_commit(&mm, "+a");
  OK(tn_tag_create(mm.table, "a", 1, TN_TAG_RETAINED_FOREVER, err));
  OK(tn_tag_create(mm.table, "b", 1, TN_TAG_RETAINED_FOREVER, err));
  assert_int_equal(tn_tag_rename(mm.table, "a", "b", &why), TARN_E_EXISTS);
  assert_string_equal(why.message, "Tag 'b' already exists.");
  assert_int_equal(tn_tag_rename(mm.table, "x", "y", &why), TARN_E_NOT_FOUND);
  assert_string_equal(why.message, "Tag 'x' doesn't exist.");
  OK(tn_tag_rename(mm.table, "a", "c", err));
  assert_string_equal(mm_list(&mm, "tag"), "b c");
  mm_end(&mm);
}

static void expire__removes_tags_that_are_over(void **state) {
  maintain_maker mm;
  int64_t n;
  (void)state;
  mm_begin(&mm, "");
  mm_commit(&mm, "+a");
  OK(tn_tag_create(mm.table, "short", 1, 1000, err));
  OK(tn_tag_create(mm.table, "long", 1, 5000, err));
  OK(tn_tag_create(mm.table, "forever", 1, TN_TAG_RETAINED_FOREVER, err));
  mm.now += 1000;
  OK(tn_tags_expire(mm.table, &n, err));
  assert_int_equal(n, 0);
  mm.now += 1;
  OK(tn_tags_expire(mm.table, &n, err));
  assert_int_equal(n, 1);
  assert_string_equal(mm_list(&mm, "tag"), "forever long");
  mm_end(&mm);
}

static void create__writes_a_success_file_if_asked(void **state) {
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, "tag.create-success-file=true");
  mm_commit(&mm, "+a");
  OK(tn_tag_create(mm.table, "t", 1, TN_TAG_RETAINED_FOREVER, err));
  assert_string_equal(tm_content(&mm.tm, "/t/tag/tag-success-file/t_SUCCESS"),
                      "{\n  \"creationTime\" : 1000,\n  \"modificationTime\" : 1000\n}");
  OK(tn_tag_delete(mm.table, "t", err));
  assert_string_equal(mm_list(&mm, "tag/tag-success-file"), "");
  mm_end(&mm);
}

/* ------------------------------------------------------------------ automatic tags */

/* Commits at these times (hours since noon of 2024-10-04), each followed by tags; what there is. */
static void automatic__names_the_period_that_ended(void **state) {
  static const struct {
    const char *options;
    double hours[5];
    const char *tags;
  } cases[] = {
      {"tag.creation-period=daily", {0, 1, 24}, "2024-10-03 2024-10-04"},
      {"tag.creation-period=daily;tag.period-formatter=without_dashes",
       {0, 24},
       "20241003 20241004"},
      {"tag.creation-period=hourly", {0, 0.5, 1, 1.5}, "2024-10-04 11 2024-10-04 12"},
      {"tag.creation-period=hourly;tag.period-formatter=without_dashes", {0.1}, "20241004 11"},
      {"tag.creation-period=hourly;tag.period-formatter=without_dashes_and_spaces",
       {0.1},
       "2024100411"},
      {"tag.creation-period=two-hours", {0, 1, 2}, "2024-10-04 10 2024-10-04 12"},
      {"tag.creation-period-duration=30 min", {0, 0.25, 0.5}, "202410041130 202410041200"},
      {"tag.creation-period=hourly;tag.creation-delay=10 min",
       {0, 1.1, 1.2},
       "2024-10-04 11 2024-10-04 12"},
      {"tag.creation-period=hourly;tag.num-retained-max=1", {0, 1, 2}, "2024-10-04 13"},
      /* Missing tags, one to a snapshot. */
      {"tag.creation-period=hourly;tag.automatic-completion=true",
       {0, 3, 3.1},
       "2024-10-04 11 2024-10-04 12 2024-10-04 13"},
      {"tag.creation-period=hourly", {0, 3, 3.1}, "2024-10-04 11 2024-10-04 14"},
      {"tag.creation-period=daily;sink.process-time-zone=+13:00", {0}, "2024-10-04"},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    maintain_maker mm;
    mm_begin(&mm, "");
    mm_options(&mm, tn_arena_printf(&mm.tm.arena, "tag.automatic-creation=process-time;%s",
                                    cases[i].options));
    for (size_t k = 0; k < TN_COUNT(cases[i].hours) && (k == 0 || cases[i].hours[k] > 0); k++) {
      const char change[] = {'+', (char)('a' + k), '\0'};
      mm.now = NOON_MS - 1000 + (int64_t)(cases[i].hours[k] * 3600000);
      mm_commit(&mm, change);
      OK(tn_tags_create_automatic(mm.table, err));
    }
    assert_string_equal(mm_list(&mm, "tag"), cases[i].tags);
    mm_end(&mm);
  }
}

static void automatic__by_watermark_needs_one(void **state) {
  maintain_maker mm;
  tn_committable c = cm_begin(9);
  (void)state;
  mm_begin(&mm, "");
  mm_options(&mm,
             "tag.automatic-creation=watermark;sink.watermark-time-zone=+01:00;"
             "tag.creation-period=hourly");
  mm_commit(&mm, "+a");
  OK(tn_tags_create_automatic(mm.table, err));
  assert_string_equal(mm_list(&mm, "tag"), "");
  cm_file(&mm.tm, &c, CM_NEW, tm_entry_keyed(&mm.tm, "w", 0, 1, 1));
  c.has_watermark = true;
  c.watermark = NOON_MS;
  cm_append(mm.table, "u", &c);
  OK(tn_tags_create_automatic(mm.table, err));
  assert_string_equal(mm_list(&mm, "tag"), "2024-10-04 12");
  mm_end(&mm);
}

static void automatic__refuses_a_delay_of_a_period(void **state) {
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, "");
  mm_options(&mm,
             "tag.automatic-creation=process-time;tag.creation-period=hourly;"
             "tag.creation-delay=1 h");
  assert_int_equal(tn_tags_create_automatic(mm.table, NULL), TARN_E_INVALID);
  mm_end(&mm);
}

static void create__refuses_a_second_automatic_name(void **state) {
  maintain_maker mm;
  tarn_error why = {0};
  (void)state;
  mm_begin(&mm, "");
  mm_options(&mm, "tag.automatic-creation=process-time");
  mm_commit(&mm, "+a");
  OK(tn_tags_create_automatic(mm.table, err));
  assert_string_equal(mm_list(&mm, "tag"), "1969-12-31");
  OK(tn_tag_create(mm.table, "mine", 1, TN_TAG_RETAINED_FOREVER, err));
  assert_int_equal(tn_tag_create(mm.table, "2024-01-01", 1, -1, &why), TARN_E_INVALID);
  assert_string_equal(why.message, "Snapshot 1 is already auto-tagged with [1969-12-31].");
  mm_end(&mm);
}

static void batch__replaces_the_tag_of_the_day(void **state) {
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, "");
  mm_options(&mm, "tag.automatic-creation=batch;tag.num-retained-max=2");
  for (int i = 0; i < 4; i++) {
    const char change[] = {'+', (char)('a' + i), '\0'};
    mm.now = NOON_MS + i / 2 * DAY_MS;
    mm_commit(&mm, change);
    OK(tn_after_batch(mm.table, err));
  }
  assert_string_equal(mm_list(&mm, "tag"), "batch-write-2024-10-04 batch-write-2024-10-05");
  assert_contains(tm_content(&mm.tm, "/t/tag/tag-batch-write-2024-10-05"), "\"id\" : 4");
  mm.now += DAY_MS;
  mm_commit(&mm, "+f");
  OK(tn_after_batch(mm.table, err));
  assert_string_equal(mm_list(&mm, "tag"), "batch-write-2024-10-05 batch-write-2024-10-06");
  mm_end(&mm);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(create__without_retention_is_the_snapshot),
      cmocka_unit_test(create__with_retention_says_since_when),
      cmocka_unit_test(create__refuses_what_java_refuses),
      cmocka_unit_test(create__takes_an_expired_snapshot_from_another_tag),
      cmocka_unit_test(create__writes_a_success_file_if_asked),
      cmocka_unit_test(delete__removes_what_neither_neighbour_has),
      cmocka_unit_test(delete__of_a_broken_tag_leaves_its_files),
      cmocka_unit_test(delete__names_a_tag_that_is_none),
      cmocka_unit_test(rename__takes_no_name_that_is_taken),
      cmocka_unit_test(expire__removes_tags_that_are_over),
      cmocka_unit_test(automatic__names_the_period_that_ended),
      cmocka_unit_test(automatic__by_watermark_needs_one),
      cmocka_unit_test(automatic__refuses_a_delay_of_a_period),
      cmocka_unit_test(create__refuses_a_second_automatic_name),
      cmocka_unit_test(batch__replaces_the_tag_of_the_day),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
