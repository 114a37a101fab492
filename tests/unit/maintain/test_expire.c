/* test_expire.c - which snapshots go, and which files with them. */
#include "maintain/branches.h"
#include "maintain/consumers.h"
#include "maintain/rollback.h"
#include "maintain/tags.h"
#include "maintain_maker.h"
#include "model/snapshot_write.h"
#include "support/test.h"

/* Five snapshots: a and b are compacted into C, c and d stay. */
static void make_five(maintain_maker *mm) {
  mm_commit(mm, "+a");
  mm_commit(mm, "+b");
  mm_commit(mm, "-a -b ^C");
  mm_commit(mm, "+c");
  mm_commit(mm, "+d");
}

static int64_t expire_with(maintain_maker *mm, tn_expire_request request) {
  int64_t n = -1;
  OK(tn_expire_snapshots(mm->table, &request, &n, err));
  return n;
}

static void expire__keeps_the_newest(void **state) {
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, "");
  make_five(&mm);
  assert_int_equal(mm_check(&mm), 0);
  assert_int_equal(mm_expire(&mm, 2, 1), 4);
  assert_string_equal(mm_list(&mm, "snapshot"), "5 EARLIEST=5 LATEST=5");
  assert_string_equal(mm_list(&mm, "bucket-0"), "C c d");
  assert_int_equal(mm_check(&mm), 0);
  mm_end(&mm);
}

/* retain-max, retain-min, older-than (0: all), limit, and what is left. */
static void expire__counts_as_java_counts(void **state) {
  static const struct {
    int32_t max, min;
    int64_t older_than_ms;
    int32_t limit;
    int64_t n;
    const char *left, *files;
  } cases[] = {
      {2, 1, 0, 0, 4, "5 EARLIEST=5 LATEST=5", "C c d"},
      {3, 3, 0, 0, 2, "3 4 5 EARLIEST=3 LATEST=5", "C c d"},
      {4, 4, 0, 0, 1, "2 3 4 5 EARLIEST=2 LATEST=5", "C a b c d"},
      {5, 5, 0, 0, 0, "1 2 3 4 5 EARLIEST=1 LATEST=5", "C a b c d"},
      /* Young ones stay, but never more than retain-max. */
      {5, 1, 3000, 0, 2, "3 4 5 EARLIEST=3 LATEST=5", "C c d"},
      {5, 1, 3001, 0, 3, "4 5 EARLIEST=4 LATEST=5", "C c d"},
      {2, 1, 1, 0, 3, "4 5 EARLIEST=4 LATEST=5", "C c d"},
      {1, 1, 0, 2, 2, "3 4 5 EARLIEST=3 LATEST=5", "C c d"},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tn_expire_request request = {.retain_max = cases[i].max,
                                 .retain_min = cases[i].min,
                                 .older_than_ms = cases[i].older_than_ms,
                                 .max_deletes = cases[i].limit};
    maintain_maker mm;
    mm_begin(&mm, "");
    make_five(&mm);
    if (request.older_than_ms == 0) {
      request.older_than_ms = mm.now + 1;
    }
    assert_int_equal(expire_with(&mm, request), cases[i].n);
    assert_string_equal(mm_list(&mm, "snapshot"), cases[i].left);
    assert_string_equal(mm_list(&mm, "bucket-0"), cases[i].files);
    assert_int_equal(mm_check(&mm), 0);
    mm_end(&mm);
  }
}

static void expire__goes_by_the_options_of_the_table(void **state) {
  maintain_maker mm;
  (void)state;
  mm_begin(&mm,
           "snapshot.num-retained.min=2;snapshot.num-retained.max=4;snapshot.time-retained=3 s");
  make_five(&mm);
  /* now is 5000: snapshot 1 is above the most, 2 (of 2000) is just young enough. */
  assert_int_equal(expire_with(&mm, (tn_expire_request){0}), 1);
  mm.now += 500;
  assert_int_equal(expire_with(&mm, (tn_expire_request){0}), 1);
  mm.now += 100000;
  assert_int_equal(expire_with(&mm, (tn_expire_request){0}), 1);
  assert_string_equal(mm_list(&mm, "snapshot"), "4 5 EARLIEST=4 LATEST=5");
  mm_end(&mm);
}

static void expire__counts_only_when_asked_to(void **state) {
  maintain_maker mm;
  tn_expire_request request = {.retain_max = 1, .retain_min = 1, .is_dry = true};
  (void)state;
  mm_begin(&mm, "");
  make_five(&mm);
  request.older_than_ms = mm.now + 1;
  assert_int_equal(expire_with(&mm, request), 4);
  assert_string_equal(mm_list(&mm, "snapshot"), "1 2 3 4 5 LATEST=5");
  assert_string_equal(mm_list(&mm, "bucket-0"), "C a b c d");
  mm_end(&mm);
}

static void expire__refuses_numbers_that_contradict_each_other(void **state) {
  maintain_maker mm;
  tn_expire_request request = {.retain_max = 1, .retain_min = 2};
  tarn_error why = {0};
  (void)state;
  mm_begin(&mm, "");
  make_five(&mm);
  assert_int_equal(tn_expire_snapshots(mm.table, &request, NULL, &why), TARN_E_INVALID);
  assert_string_equal(why.message, "retainMax (1) must not be less than retainMin (2).");
  mm_end(&mm);
}

static void expire__of_a_table_without_snapshots_does_nothing(void **state) {
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, "");
  assert_int_equal(mm_expire(&mm, 1, 1), 0);
  assert_string_equal(mm_list(&mm, "snapshot"), "");
  mm_end(&mm);
}

static void expire__stops_at_a_consumer(void **state) {
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, "");
  make_five(&mm);
  OK(tn_consumer_set(mm.table, "late", 3, err));
  OK(tn_consumer_set(mm.table, "early", 5, err));
  assert_int_equal(mm_expire(&mm, 1, 1), 2);
  assert_string_equal(mm_list(&mm, "snapshot"), "3 4 5 EARLIEST=3 LATEST=5");
  OK(tn_consumer_delete(mm.table, "late", err));
  assert_int_equal(mm_expire(&mm, 1, 1), 2);
  mm_end(&mm);
}

static void expire__keeps_what_a_tag_needs(void **state) {
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, "");
  make_five(&mm);
  OK(tn_tag_create(mm.table, "t", 1, TN_TAG_RETAINED_FOREVER, err));
  assert_int_equal(mm_expire(&mm, 1, 1), 4);
  assert_string_equal(mm_list(&mm, "bucket-0"), "C a c d");
  assert_int_equal(mm_check(&mm), 0);
  OK(tn_tag_delete(mm.table, "t", err));
  assert_string_equal(mm_list(&mm, "bucket-0"), "C c d");
  assert_string_equal(mm_list(&mm, "tag"), "");
  assert_int_equal(mm_check(&mm), 0);
  mm_end(&mm);
}

/* Nobody knows what such a tag keeps. */
static void expire__does_nothing_when_a_tag_cannot_be_read(void **state) {
  maintain_maker mm;
  tn_expire_request request = {.retain_max = 1, .retain_min = 1};
  tarn_error why = {0};
  tn_snapshot s;
  (void)state;
  mm_begin(&mm, "");
  make_five(&mm);
  OK(tn_tag_create(mm.table, "t", 1, TN_TAG_RETAINED_FOREVER, err));
  s = cm_snapshot(&mm.tm, 1);
  tm_put(&mm.tm, tn_arena_printf(&mm.tm.arena, "manifest/%s", s.delta_manifest_list), "garbage");
  request.older_than_ms = mm.now + 1;
  assert_int_equal(tn_expire_snapshots(mm.table, &request, NULL, &why), TARN_E_CORRUPT);
  assert_contains(why.message, "nothing expires: what tag 't' needs is not known");
  assert_string_equal(mm_list(&mm, "bucket-0"), "C a b c d");
  assert_string_equal(mm_list(&mm, "snapshot"), "1 2 3 4 5 LATEST=5");
  mm_end(&mm);
}

static void expire__keeps_a_file_that_moved_to_another_level(void **state) {
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, "");
  mm_commit(&mm, "+a");
  mm_commit(&mm, "-a ^a");
  mm_commit(&mm, "+b");
  assert_int_equal(mm_expire(&mm, 1, 1), 2);
  assert_string_equal(mm_list(&mm, "bucket-0"), "a b");
  assert_int_equal(mm_check(&mm), 0);
  mm_end(&mm);
}

static void expire__keeps_what_a_branch_needs(void **state) {
  maintain_maker mm;
  tn_table *branch;
  (void)state;
  mm_begin(&mm, "");
  mm_commit(&mm, "+a");
  OK(tn_tag_create(mm.table, "t", 1, TN_TAG_RETAINED_FOREVER, err));
  OK(tn_branch_create(mm.table, "b", "t", err));
  OK(tn_tag_delete(mm.table, "t", err));
  mm_commit(&mm, "+b");
  mm_commit(&mm, "-a -b ^C");
  branch = mm_branch(&mm, "b");
  mm_commit_to(&mm, branch, "+d");
  mm_commit_to(&mm, branch, "-a -d ^E");
  /* Main's expiry spares the branch's file a ... */
  assert_int_equal(mm_expire(&mm, 1, 1), 2);
  assert_string_equal(mm_list(&mm, "bucket-0"), "C E a d");
  assert_int_equal(mm_check(&mm), 0);
  tn_table_release(branch);
  mm_end(&mm);
}

static void expire__of_a_branch_keeps_what_main_needs(void **state) {
  maintain_maker mm;
  tn_table *branch;
  tn_expire_request request = {.retain_max = 1, .retain_min = 1};
  (void)state;
  mm_begin(&mm, "");
  mm_commit(&mm, "+a");
  OK(tn_tag_create(mm.table, "t", 1, TN_TAG_RETAINED_FOREVER, err));
  OK(tn_branch_create(mm.table, "b", "t", err));
  branch = mm_branch(&mm, "b");
  OK(tn_tag_delete(branch, "t", err));
  mm_commit_to(&mm, branch, "+d");
  mm_commit_to(&mm, branch, "-a -d ^E");
  request.older_than_ms = mm.now + 1;
  OK(tn_expire_snapshots(branch, &request, NULL, err));
  assert_string_equal(mm_list(&mm, "branch/branch-b/snapshot"), "3 EARLIEST=3 LATEST=3");
  assert_string_equal(mm_list(&mm, "bucket-0"), "E a");
  assert_int_equal(mm_check(&mm), 0);
  tn_table_release(branch);
  mm_end(&mm);
}

static void expire__removes_files_of_changelogs(void **state) {
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, "changelog-producer=input");
  mm_commit(&mm, "+a ~x");
  mm_commit(&mm, "+b ~y");
  mm_commit(&mm, "+c ~z");
  assert_int_equal(mm_check(&mm), 0);
  assert_int_equal(mm_expire(&mm, 1, 1), 2);
  assert_string_equal(mm_list(&mm, "bucket-0"), "a b c z");
  assert_int_equal(mm_check(&mm), 0);
  mm_end(&mm);
}

static void expire__removes_folders_that_are_empty_if_asked(void **state) {
  static const struct {
    const char *options, *left;
  } cases[] = {{"", "0"}, {"snapshot.clean-empty-directories=true", ""}};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    maintain_maker mm;
    mm_begin_partitioned(&mm, cases[i].options);
    mm_commit_in(&mm, 1, "+a");
    mm_commit_in(&mm, 2, "+b");
    mm_commit_in(&mm, 1, "-a");
    mm_commit_in(&mm, 2, "+c");
    assert_int_equal(mm_expire(&mm, 1, 1), 3);
    assert_string_equal(mm_list(&mm, "p=1"), cases[i].left);
    assert_string_equal(mm_list(&mm, "p=2/bucket-0"), "b c");
    assert_int_equal(mm_check(&mm), 0);
    mm_end(&mm);
  }
}

static void expire__removes_what_an_earlier_run_left(void **state) {
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, "");
  make_five(&mm);
  /* It had come as far as the hint. */
  OK(tn_hint_write(mm.tm.storage, "/t", "snapshot", "EARLIEST", 4, err));
  assert_int_equal(mm_expire(&mm, 2, 2), 3);
  assert_string_equal(mm_list(&mm, "snapshot"), "4 5 EARLIEST=4 LATEST=5");
  assert_string_equal(mm_list(&mm, "bucket-0"), "C c d");
  assert_int_equal(mm_check(&mm), 0);
  mm_end(&mm);
}

/* ------------------------------------------------------------------ changelogs that live on */

static int64_t expire_changelogs(maintain_maker *mm) {
  tn_expire_request request = {.older_than_ms = mm->now + 1};
  int64_t n = -1;
  OK(tn_expire_changelogs(mm->table, &request, &n, err));
  return n;
}

#define LONG_CHANGELOGS                                                                  \
  "snapshot.num-retained.min=1;snapshot.num-retained.max=2;snapshot.time-retained=0 ms;" \
  "changelog.num-retained.min=3;changelog.num-retained.max=3;changelog.time-retained=0 ms"

static void changelogs__outlive_snapshots(void **state) {
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, "changelog-producer=input;" LONG_CHANGELOGS);
  mm_commit(&mm, "+a ~v");
  mm_commit(&mm, "+b ~w");
  mm_commit(&mm, "-a -b ^C ~x");
  mm_commit(&mm, "+c ~y");
  mm_commit(&mm, "+d ~z");
  mm.now += 1;
  assert_int_equal(expire_with(&mm, (tn_expire_request){0}), 4);
  assert_string_equal(mm_list(&mm, "snapshot"), "5 EARLIEST=5 LATEST=5");
  assert_string_equal(mm_list(&mm, "changelog"), "1 2 3 4 LATEST=4");
  assert_string_equal(mm_list(&mm, "bucket-0"), "C c d v w x y z");
  assert_int_equal(mm_check(&mm), 0);
  assert_int_equal(expire_changelogs(&mm), 2);
  assert_string_equal(mm_list(&mm, "changelog"), "3 4 EARLIEST=3 LATEST=4");
  assert_string_equal(mm_list(&mm, "bucket-0"), "C c d x y z");
  assert_int_equal(mm_check(&mm), 0);
  mm_end(&mm);
}

/* Without a producer, files that were appended are the changelog. */
static void changelogs__without_a_producer_keep_appended_files(void **state) {
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, LONG_CHANGELOGS);
  mm_commit(&mm, "+a");
  mm_commit(&mm, "+b");
  mm_commit(&mm, "-a -b ^C");
  mm_commit(&mm, "_C ^D");
  mm_commit(&mm, "+e");
  mm.now += 1;
  assert_int_equal(expire_with(&mm, (tn_expire_request){0}), 4);
  assert_string_equal(mm_list(&mm, "bucket-0"), "D a b e");
  assert_int_equal(mm_check(&mm), 0);
  assert_int_equal(expire_changelogs(&mm), 2);
  /* a and b go with changelog 3, whose delta took them away. */
  assert_string_equal(mm_list(&mm, "bucket-0"), "D a b e");
  mm_commit(&mm, "+f");
  mm.now += 1;
  assert_int_equal(expire_with(&mm, (tn_expire_request){0}), 1);
  assert_int_equal(expire_changelogs(&mm), 1);
  assert_string_equal(mm_list(&mm, "bucket-0"), "D e f");
  assert_int_equal(mm_check(&mm), 0);
  mm_end(&mm);
}

static void changelogs__keep_what_the_tag_before_them_needs(void **state) {
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, LONG_CHANGELOGS);
  mm_commit(&mm, "+a");
  OK(tn_tag_create(mm.table, "one", 1, TN_TAG_RETAINED_FOREVER, err));
  mm_commit(&mm, "-a ^B");
  OK(tn_tag_create(mm.table, "two", 2, TN_TAG_RETAINED_FOREVER, err));
  for (const char *c = "cdefgh"; *c != '\0'; c++) {
    char change[] = {'+', *c, '\0'};
    mm_commit(&mm, change);
    mm.now += 1;
    expire_with(&mm, (tn_expire_request){0});
    expire_changelogs(&mm);
    assert_int_equal(mm_check(&mm), 0);
  }
  assert_string_equal(mm_list(&mm, "changelog"), "6 7 EARLIEST=6 LATEST=7");
  assert_string_equal(mm_list(&mm, "bucket-0"), "B a c d e f g h");
  mm_end(&mm);
}

/* ------------------------------------------------------------------ two at once */

static struct {
  maintain_maker *mm;
  const tn_storage_ops *ops;
  bool is_done;
} other;

/* At the first list that the one reads, the next commit comes, and the other expires all before. */
static tarn_status hooked_open(tn_storage *storage, const char *path, tn_file **out,
                               tarn_error *err) {
  if (!other.is_done && strstr(path, "/manifest/manifest-list-") != NULL) {
    other.is_done = true;
    mm_commit(other.mm, "+e");
    assert_int_equal(mm_expire(other.mm, 1, 1), 5);
  }
  return other.ops->open(storage, path, out, err);
}

static void expire__beside_another_is_no_error(void **state) {
  maintain_maker mm;
  tn_storage_ops hooked;
  (void)state;
  mm_begin(&mm, "");
  make_five(&mm);
  other.mm = &mm;
  other.ops = mm.table->storage->ops;
  other.is_done = false;
  hooked = *other.ops;
  hooked.open = hooked_open;
  mm.table->storage->ops = &hooked;
  assert_int_equal(mm_expire(&mm, 1, 1), 0);
  mm.table->storage->ops = other.ops;
  assert_true(other.is_done);
  assert_string_equal(mm_list(&mm, "snapshot"), "6 EARLIEST=6 LATEST=6");
  assert_string_equal(mm_list(&mm, "bucket-0"), "C c d e");
  assert_int_equal(mm_check(&mm), 0);
  mm_end(&mm);
}

static void changelogs__stop_at_a_consumer(void **state) {
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, "consumer.changelog-only=true;" LONG_CHANGELOGS);
  for (const char *c = "abcdef"; *c != '\0'; c++) {
    char change[] = {'+', *c, '\0'};
    mm_commit(&mm, change);
  }
  OK(tn_consumer_set(mm.table, "c", 2, err));
  mm.now += 1;
  assert_int_equal(expire_with(&mm, (tn_expire_request){0}), 5);
  assert_int_equal(expire_changelogs(&mm), 1);
  assert_string_equal(mm_list(&mm, "changelog"), "2 3 4 5 EARLIEST=2 LATEST=5");
  assert_int_equal(mm_check(&mm), 0);
  mm_end(&mm);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(expire__keeps_the_newest),
      cmocka_unit_test(expire__counts_as_java_counts),
      cmocka_unit_test(expire__goes_by_the_options_of_the_table),
      cmocka_unit_test(expire__counts_only_when_asked_to),
      cmocka_unit_test(expire__refuses_numbers_that_contradict_each_other),
      cmocka_unit_test(expire__of_a_table_without_snapshots_does_nothing),
      cmocka_unit_test(expire__stops_at_a_consumer),
      cmocka_unit_test(expire__keeps_what_a_tag_needs),
      cmocka_unit_test(expire__does_nothing_when_a_tag_cannot_be_read),
      cmocka_unit_test(expire__keeps_a_file_that_moved_to_another_level),
      cmocka_unit_test(expire__keeps_what_a_branch_needs),
      cmocka_unit_test(expire__of_a_branch_keeps_what_main_needs),
      cmocka_unit_test(expire__removes_files_of_changelogs),
      cmocka_unit_test(expire__removes_folders_that_are_empty_if_asked),
      cmocka_unit_test(expire__removes_what_an_earlier_run_left),
      cmocka_unit_test(expire__beside_another_is_no_error),
      cmocka_unit_test(changelogs__outlive_snapshots),
      cmocka_unit_test(changelogs__without_a_producer_keep_appended_files),
      cmocka_unit_test(changelogs__keep_what_the_tag_before_them_needs),
      cmocka_unit_test(changelogs__stop_at_a_consumer),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
