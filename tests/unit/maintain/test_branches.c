/* test_branches.c - branches and rollbacks: other lines of snapshots, and earlier ones. */
#include "maintain/branches.h"
#include "maintain/consumers.h"
#include "maintain/rollback.h"
#include "maintain/tags.h"
#include "maintain_maker.h"
#include "model/snapshot_write.h"
#include "support/test.h"

static void tag(maintain_maker *mm, const char *name, int64_t id) {
  OK(tn_tag_create(mm->table, name, id, TN_TAG_RETAINED_FOREVER, err));
}

/* ------------------------------------------------------------------ branches */

static void create__copies_the_schemas(void **state) {
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, "");
  mm_commit(&mm, "+a");
  OK(tn_branch_create(mm.table, "b", NULL, err));
  assert_string_equal(mm_list(&mm, "branch"), "b");
  assert_string_equal(mm_list(&mm, "branch/branch-b"), "schema");
  assert_string_equal(mm_list(&mm, "branch/branch-b/schema"), "0");
  assert_int_equal(mm_check(&mm), 0);
  mm_end(&mm);
}

static void create__from_a_tag_has_its_snapshot(void **state) {
  maintain_maker mm;
  tn_table *branch;
  (void)state;
  mm_begin(&mm, "");
  mm_commit(&mm, "+a");
  mm_commit(&mm, "+b");
  tag(&mm, "t", 1);
  OK(tn_branch_create(mm.table, "b", "t", err));
  assert_string_equal(mm_list(&mm, "branch/branch-b/snapshot"), "1");
  assert_string_equal(mm_list(&mm, "branch/branch-b/tag"), "t");
  branch = mm_branch(&mm, "b");
  assert_int_equal(mm_commit_to(&mm, branch, "+c"), 2);
  assert_int_equal(mm_check(&mm), 0);
  tn_table_release(branch);
  mm_end(&mm);
}

static void create__from_a_tag_whose_snapshot_has_expired(void **state) {
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, "changelog-producer=input");
  mm_commit(&mm, "+a ~x");
  tag(&mm, "t", 1);
  mm_commit(&mm, "-a ^B");
  mm_expire(&mm, 1, 1);
  OK(tn_branch_create(mm.table, "b", "t", err));
  assert_string_equal(mm_list(&mm, "branch/branch-b/snapshot"), "1");
  assert_int_equal(mm_check(&mm), 0);
  mm_end(&mm);
}

static void create__refuses_what_java_refuses(void **state) {
  static const struct {
    const char *name, *tag;
    tarn_status status;
    const char *message;
  } cases[] = {
      {"main", NULL, TARN_E_INVALID,
       "Branch name 'main' is the default branch and cannot be used."},
      {" ", NULL, TARN_E_INVALID, "Branch name ' ' is blank."},
      {"12", NULL, TARN_E_INVALID, "Branch name cannot be pure numeric string but is '12'."},
      {"b", NULL, TARN_E_EXISTS, "Branch name 'b' already exists."},
      {"c", "none", TARN_E_NOT_FOUND, "tag 'none' does not exist; the table has no tags"},
      {"c/d", NULL, TARN_E_INVALID, "the name of a branch must not have a '/': 'c/d'"},
  };
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, "");
  mm_commit(&mm, "+a");
  OK(tn_branch_create(mm.table, "b", NULL, err));
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tarn_error why = {0};
    assert_int_equal(tn_branch_create(mm.table, cases[i].name, cases[i].tag, &why),
                     cases[i].status);
    assert_string_equal(why.message, cases[i].message);
  }
  assert_string_equal(mm_list(&mm, "branch"), "b");
  mm_end(&mm);
}

static void delete__removes_the_folder_alone(void **state) {
  maintain_maker mm;
  tarn_error why = {0};
  (void)state;
  mm_begin(&mm, "");
  mm_commit(&mm, "+a");
  OK(tn_branch_create(mm.table, "b", NULL, err));
  OK(tn_branch_delete(mm.table, "b", err));
  assert_string_equal(mm_list(&mm, "branch"), "");
  assert_int_equal(tn_branch_delete(mm.table, "b", &why), TARN_E_NOT_FOUND);
  assert_string_equal(why.message, "Branch name 'b' doesn't exist.");
  mm_end(&mm);
}

static void delete__refuses_a_branch_that_an_option_names(void **state) {
  maintain_maker mm;
  tarn_error why = {0};
  (void)state;
  mm_begin(&mm, "scan.fallback-branch=b");
  mm_commit(&mm, "+a");
  OK(tn_branch_create(mm.table, "b", NULL, err));
  assert_int_equal(tn_branch_delete(mm.table, "b", &why), TARN_E_INVALID);
  assert_string_equal(why.message,
                      "Cannot delete branch 'b' because it is configured as "
                      "'scan.fallback-branch'. Unset 'scan.fallback-branch' first.");
  mm_end(&mm);
}

static void rename__moves_the_folder(void **state) {
  maintain_maker mm;
  tarn_error why = {0};
  (void)state;
  mm_begin(&mm, "");
  mm_commit(&mm, "+a");
  OK(tn_branch_create(mm.table, "b", NULL, err));
  OK(tn_branch_create(mm.table, "c", NULL, err));
  assert_int_equal(tn_branch_rename(mm.table, "b", "c", &why), TARN_E_EXISTS);
  assert_string_equal(why.message, "Branch name 'c' already exists.");
  assert_int_equal(tn_branch_rename(mm.table, "main", "d", &why), TARN_E_INVALID);
  assert_string_equal(why.message, "Cannot rename the main branch.");
  OK(tn_branch_rename(mm.table, "b", "d", err));
  assert_string_equal(mm_list(&mm, "branch"), "c d");
  mm_end(&mm);
}

/* Main: 1 2 3, the branch of 2: 2 3 4 5. */
static tn_table *make_branch(maintain_maker *mm) {
  tn_table *branch;
  mm_commit(mm, "+a");
  mm_commit(mm, "+b");
  tag(mm, "base", 2);
  OK(tn_branch_create(mm->table, "b", "base", err));
  mm_commit(mm, "+c");
  tag(mm, "after", 3);
  branch = mm_branch(mm, "b");
  mm_commit_to(mm, branch, "+d");
  mm_commit_to(mm, branch, "-a -b ^E");
  mm_commit_to(mm, branch, "+f");
  return branch;
}

static void fast_forward__makes_main_the_branch(void **state) {
  maintain_maker mm;
  tn_table *branch;
  (void)state;
  mm_begin(&mm, "");
  branch = make_branch(&mm);
  OK(tn_hint_write(mm.tm.storage, "/t/branch/branch-b", "snapshot", "EARLIEST", 2, err));
  OK(tn_branch_fast_forward(mm.table, "b", err));
  assert_string_equal(mm_list(&mm, "snapshot"), "1 2 3 4 5 EARLIEST=2 LATEST=5");
  assert_string_equal(mm_list(&mm, "tag"), "base");
  assert_string_equal(mm_list(&mm, "branch"), "b");
  assert_string_equal(tm_plan(&mm.tm, mm.table, NULL, -1), tm_plan(&mm.tm, branch, NULL, -1));
  /* What only main had is nobody's: c, and the five files of its commit. */
  assert_int_equal(mm_check(&mm), 1 + 3);
  tn_table_release(branch);
  mm_end(&mm);
}

static void fast_forward__refuses_what_java_refuses(void **state) {
  static const struct {
    const char *name;
    tarn_status status;
    const char *message;
  } cases[] = {
      {"main", TARN_E_INVALID, "Branch name 'main' do not use in fast-forward."},
      {"x", TARN_E_NOT_FOUND, "Branch name 'x' doesn't exist."},
      {"empty", TARN_E_STATE,
       "Cannot fast forward branch empty, because it does not have snapshot."},
  };
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, "");
  mm_commit(&mm, "+a");
  OK(tn_branch_create(mm.table, "empty", NULL, err));
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tarn_error why = {0};
    assert_int_equal(tn_branch_fast_forward(mm.table, cases[i].name, &why), cases[i].status);
    assert_string_equal(why.message, cases[i].message);
  }
  assert_string_equal(mm_list(&mm, "snapshot"), "1 LATEST=1");
  mm_end(&mm);
}

/* ------------------------------------------------------------------ rollback */

static void rollback__removes_what_is_newer(void **state) {
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, "");
  mm_commit(&mm, "+a");
  mm_commit(&mm, "+b");
  mm_commit(&mm, "+c");
  tag(&mm, "two", 2);
  tag(&mm, "three", 3);
  OK(tn_rollback_to_snapshot(mm.table, 2, err));
  assert_string_equal(mm_list(&mm, "snapshot"), "1 2 LATEST=2");
  assert_string_equal(mm_list(&mm, "tag"), "two");
  assert_string_equal(mm_list(&mm, "bucket-0"), "a b c");
  assert_int_equal(mm_commit(&mm, "+d"), 3);
  mm_check(&mm);
  mm_end(&mm);
}

static void rollback__to_a_tag_brings_its_snapshot_back(void **state) {
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, "changelog-producer=input");
  mm_commit(&mm, "+a ~x");
  tag(&mm, "t", 1);
  mm_commit(&mm, "-a ^B");
  mm_commit(&mm, "+c");
  mm_expire(&mm, 1, 1);
  OK(tn_rollback_to_tag(mm.table, "t", err));
  assert_string_equal(mm_list(&mm, "snapshot"), "1 EARLIEST=1 LATEST=1");
  assert_string_equal(mm_list(&mm, "tag"), "t");
  assert_null(cm_snapshot(&mm.tm, 1).changelog_manifest_list); /* x expired with it */
  mm_check(&mm);
  assert_int_equal(mm_commit(&mm, "+d"), 2);
  mm_end(&mm);
}

static void rollback__to_an_expired_id_needs_a_tag(void **state) {
  maintain_maker mm;
  tarn_error why = {0};
  (void)state;
  mm_begin(&mm, "");
  mm_commit(&mm, "+a");
  mm_commit(&mm, "+b");
  mm_commit(&mm, "+c");
  tag(&mm, "t", 2);
  mm_expire(&mm, 1, 1);
  assert_int_equal(tn_rollback_to_snapshot(mm.table, 1, &why), TARN_E_NOT_FOUND);
  assert_string_equal(why.message, "Rollback snapshot '1' doesn't exist.");
  OK(tn_rollback_to_snapshot(mm.table, 2, err));
  assert_string_equal(mm_list(&mm, "snapshot"), "2 EARLIEST=2 LATEST=2");
  mm_end(&mm);
}

static void rollback__to_a_time_takes_the_one_before(void **state) {
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, "");
  mm_commit(&mm, "+a");
  mm_commit(&mm, "+b");
  mm_commit(&mm, "+c");
  assert_int_equal(tn_rollback_to_time(mm.table, 999, NULL), TARN_E_NOT_FOUND);
  OK(tn_rollback_to_time(mm.table, 2999, err));
  assert_string_equal(mm_list(&mm, "snapshot"), "1 2 LATEST=2");
  mm_end(&mm);
}

static void rollback__removes_newer_changelogs(void **state) {
  maintain_maker mm;
  tn_expire_request request = {0};
  (void)state;
  mm_begin(&mm,
           "snapshot.num-retained.min=1;snapshot.num-retained.max=1;"
           "changelog.num-retained.min=5;changelog.num-retained.max=5");
  for (const char *c = "abcd"; *c != '\0'; c++) {
    const char change[] = {'+', *c, '\0'};
    mm_commit(&mm, change);
  }
  tag(&mm, "t", 2);
  request.older_than_ms = mm.now + 1;
  OK(tn_expire_snapshots(mm.table, &request, NULL, err));
  assert_string_equal(mm_list(&mm, "changelog"), "1 2 3 LATEST=3");
  OK(tn_rollback_to_tag(mm.table, "t", err));
  assert_string_equal(mm_list(&mm, "changelog"), "1 2 LATEST=2");
  assert_string_equal(mm_list(&mm, "snapshot"), "2 EARLIEST=2 LATEST=2");
  mm_check(&mm);
  mm_end(&mm);
}

/* ------------------------------------------------------------------ consumers */

static void consumer__is_set_whole(void **state) {
  maintain_maker mm;
  tn_consumer *all;
  int32_t n;
  (void)state;
  mm_begin(&mm, "");
  OK(tn_consumer_set(mm.table, "c", 3, err));
  OK(tn_consumer_set(mm.table, "c", 4, err));
  OK(tn_consumer_list(mm.tm.env, mm.tm.storage, "/t", &mm.tm.arena, &all, &n, err));
  assert_int_equal(n, 1);
  assert_int_equal(all[0].next_snapshot, 4);
  assert_int_equal(tn_consumer_set(mm.table, "a/b", 4, NULL), TARN_E_INVALID);
  assert_int_equal(tn_consumer_set(mm.table, "c", 0, NULL), TARN_E_INVALID);
  OK(tn_consumer_delete(mm.table, "c", err));
  assert_int_equal(tn_consumer_delete(mm.table, "c", NULL), TARN_E_NOT_FOUND);
  mm_end(&mm);
}

static void consumers__are_cleared_by_pattern(void **state) {
  static const struct {
    const char *including, *excluding, *left;
    int64_t n;
  } cases[] = {
      {".*", NULL, "", 4},
      {"job.*", NULL, "other", 3},
      {"job", NULL, "job-1 job-2 other", 1}, /* whole names */
      {".*", "job-[12]", "job-1 job-2", 2},
      {"job-1|other", NULL, "job job-2", 2},
      {"x", NULL, "job job-1 job-2 other", 0},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    static const char *const ids[] = {"job", "job-1", "job-2", "other"};
    maintain_maker mm;
    int64_t n;
    mm_begin(&mm, "");
    for (size_t k = 0; k < TN_COUNT(ids); k++) {
      OK(tn_consumer_set(mm.table, ids[k], 1, err));
    }
    OK(tn_consumers_clear(mm.table, cases[i].including, cases[i].excluding, &n, err));
    assert_int_equal(n, cases[i].n);
    assert_string_equal(mm_list(&mm, "consumer"), cases[i].left);
    mm_end(&mm);
  }
}

static void consumers__clear_refuses_a_bad_pattern(void **state) {
  maintain_maker mm;
  tarn_error why = {0};
  (void)state;
  mm_begin(&mm, "");
  assert_int_equal(tn_consumers_clear(mm.table, "(", NULL, NULL, &why), TARN_E_INVALID);
  assert_contains(why.message, "pattern '('");
  mm_end(&mm);
}

static void consumers__that_do_not_move_expire(void **state) {
  maintain_maker mm;
  int64_t n, moved_ms;
  tn_file_info info;
  (void)state;
  mm_begin(&mm, "consumer.expiration-time=1 h");
  OK(tn_consumer_set(mm.table, "c", 1, err));
  OK(tn_storage_info(mm.tm.storage, "/t/consumer/consumer-c", &info, err));
  moved_ms = info.modified_ms;
  mm.now = moved_ms + 3600000;
  OK(tn_consumers_expire(mm.table, &n, err));
  assert_int_equal(n, 0);
  mm.now++;
  OK(tn_consumers_expire(mm.table, &n, err));
  assert_int_equal(n, 1);
  assert_string_equal(mm_list(&mm, "consumer"), "");
  mm_end(&mm);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(create__copies_the_schemas),
      cmocka_unit_test(create__from_a_tag_has_its_snapshot),
      cmocka_unit_test(create__from_a_tag_whose_snapshot_has_expired),
      cmocka_unit_test(create__refuses_what_java_refuses),
      cmocka_unit_test(delete__removes_the_folder_alone),
      cmocka_unit_test(delete__refuses_a_branch_that_an_option_names),
      cmocka_unit_test(rename__moves_the_folder),
      cmocka_unit_test(fast_forward__makes_main_the_branch),
      cmocka_unit_test(fast_forward__refuses_what_java_refuses),
      cmocka_unit_test(rollback__removes_what_is_newer),
      cmocka_unit_test(rollback__to_a_tag_brings_its_snapshot_back),
      cmocka_unit_test(rollback__to_an_expired_id_needs_a_tag),
      cmocka_unit_test(rollback__to_a_time_takes_the_one_before),
      cmocka_unit_test(rollback__removes_newer_changelogs),
      cmocka_unit_test(consumer__is_set_whole),
      cmocka_unit_test(consumers__are_cleared_by_pattern),
      cmocka_unit_test(consumers__clear_refuses_a_bad_pattern),
      cmocka_unit_test(consumers__that_do_not_move_expire),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
