/* test_together.c - one comes in the middle of another: expiries, rollbacks, tags and branches.
 *
 * The storage lets the other one come at the first call that a test names. There are no locks in
 * memory: what is tested is that each sees what the other has done.
 */
#include <errno.h>

#include "maintain/branches.h"
#include "maintain/consumers.h"
#include "maintain/rollback.h"
#include "maintain/tags.h"
#include "maintain_maker.h"
#include "model/snapshot_write.h"
#include "support/test.h"

typedef enum step { AT_OPEN, AT_REMOVE, AT_RENAME } step;

static struct {
  maintain_maker *mm;
  const tn_storage_ops *ops; /* of the storage itself */
  tn_storage_ops hooked;
  step when;
  const char *part; /* of the path */
  void (*act)(maintain_maker *mm);
  bool has_come;
} other;

static void come(step when, const char *path) {
  if (!other.has_come && other.when == when && strstr(path, other.part) != NULL) {
    other.has_come = true;
    other.act(other.mm);
  }
}

static tarn_status hooked_open(tn_storage *storage, const char *path, tn_file **out,
                               tarn_error *err) {
  come(AT_OPEN, path);
  return other.ops->open(storage, path, out, err);
}

static tarn_status hooked_remove(tn_storage *storage, const char *path, tarn_error *err) {
  come(AT_REMOVE, path);
  return other.ops->remove(storage, path, err);
}

static tarn_status hooked_rename(tn_storage *storage, const char *from, const char *to,
                                 tarn_error *err) {
  come(AT_RENAME, to);
  return other.ops->rename(storage, from, to, err);
}

static void let_come(maintain_maker *mm, step when, const char *part,
                     void (*act)(maintain_maker *)) {
  other.mm = mm;
  other.ops = mm->tm.storage->ops;
  other.hooked = *other.ops;
  other.hooked.open = hooked_open;
  other.hooked.remove = hooked_remove;
  other.hooked.rename = hooked_rename;
  other.when = when;
  other.part = part;
  other.act = act;
  other.has_come = false;
  mm->tm.storage->ops = &other.hooked;
}

static void has_come(maintain_maker *mm) {
  mm->tm.storage->ops = other.ops;
  assert_true(other.has_come);
}

/* ------------------------------------------------------------------ histories */

static void tag(maintain_maker *mm, const char *name, int64_t id) {
  OK(tn_tag_create(mm->table, name, id, TN_TAG_RETAINED_FOREVER, err));
}

/* a and b are compacted into C; d comes. */
static void make_four(maintain_maker *mm) {
  mm_commit(mm, "+a");
  mm_commit(mm, "+b");
  mm_commit(mm, "-a -b ^C");
  mm_commit(mm, "+d");
}

/* Snapshot 2 has expired, a tag keeps it. */
static void make_tagged(maintain_maker *mm) {
  make_four(mm);
  tag(mm, "t", 2);
  mm_expire(mm, 1, 1);
  assert_string_equal(mm_list(mm, "snapshot"), "4 EARLIEST=4 LATEST=4");
  assert_string_equal(mm_list(mm, "bucket-0"), "C a b d");
}

/* What others may do. */
static void roll_back_to_2(maintain_maker *mm) {
  OK(tn_rollback_to_snapshot(mm->table, 2, err));
}

static void roll_back_and_commit(maintain_maker *mm) {
  OK(tn_rollback_to_snapshot(mm->table, 2, err));
  mm_commit(mm, "+x");
  mm_commit(mm, "+y");
}

static void fast_forward(maintain_maker *mm) {
  OK(tn_branch_fast_forward(mm->table, "b", err));
}

static void fail_to_roll_back(maintain_maker *mm) {
  tarn_error why = {0};
  assert_int_equal(tn_rollback_to_snapshot(mm->table, 2, &why), TARN_E_EXPIRED);
  assert_contains(why.message, "snapshot 2 of table ");
  assert_contains(why.message, " has begun to expire");
}

static void nothing(maintain_maker *mm) {
  (void)mm;
}

static void delete_tag(maintain_maker *mm) {
  OK(tn_tag_delete(mm->table, "t", err));
}

static void create_branch(maintain_maker *mm) {
  OK(tn_branch_create(mm->table, "b", "t", err));
}

/* The tag that it is made of was not there before, and is gone again. */
static void create_branch_of_2(maintain_maker *mm) {
  tag(mm, "t", 2);
  create_branch(mm);
  delete_tag(mm);
}

static void tag_again(maintain_maker *mm) {
  tag(mm, "u", 2);
}

static void roll_back_to_tag(maintain_maker *mm) {
  OK(tn_rollback_to_tag(mm->table, "t", err));
}

/* ------------------------------------------------------------------ expiry and rollback */

/* Nothing of what the table is now goes with what it was. */
static void expire__whose_table_is_rolled_back_looks_again(void **state) {
  static const struct {
    void (*act)(maintain_maker *mm);
    int64_t n;
    const char *snapshots, *files;
  } cases[] = {
      {roll_back_to_2, 1, "2 EARLIEST=2 LATEST=2", "C a b d"},
      {roll_back_and_commit, 3, "4 EARLIEST=4 LATEST=4", "C a b d x y"},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    maintain_maker mm;
    mm_begin(&mm, "");
    make_four(&mm);
    let_come(&mm, AT_OPEN, "/manifest/manifest-list-", cases[i].act);
    assert_int_equal(mm_expire(&mm, 1, 1), cases[i].n);
    has_come(&mm);
    assert_string_equal(mm_list(&mm, "snapshot"), cases[i].snapshots);
    assert_string_equal(mm_list(&mm, "bucket-0"), cases[i].files);
    mm_check(&mm);
    mm_end(&mm);
  }
}

/* An expiry that gives way to a rollback puts EARLIEST back: what is older is whole. */
static void expire__that_gives_way_moves_no_hint(void **state) {
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, "");
  make_four(&mm);
  OK(tn_hint_write(mm.tm.storage, "/t", "snapshot", "EARLIEST", 1, err));
  let_come(&mm, AT_OPEN, "/manifest/manifest-list-", roll_back_to_2);
  assert_int_equal(mm_expire(&mm, 2, 2), 0);
  has_come(&mm);
  assert_string_equal(mm_list(&mm, "snapshot"), "1 2 EARLIEST=1 LATEST=2");
  mm_check(&mm);
  mm_end(&mm);
}

/* The hint has moved; then the snapshot that stays is looked at. */
static void roll_back_when_end_is_looked_at(maintain_maker *mm) {
  (void)mm;
  other.part = "/snapshot/snapshot-4";
  other.act = roll_back_to_tag;
  other.has_come = false;
}

/* Nor is one put back over that of a rollback: it would hide snapshots that come. */
static void expire__that_gives_way_leaves_the_hint_of_a_rollback(void **state) {
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, "");
  make_four(&mm);
  tag(&mm, "t", 1);
  mm_expire(&mm, 2, 2);
  assert_string_equal(mm_list(&mm, "snapshot"), "3 4 EARLIEST=3 LATEST=4");
  let_come(&mm, AT_OPEN, "/snapshot/EARLIEST", roll_back_when_end_is_looked_at);
  assert_int_equal(mm_expire(&mm, 1, 1), 0);
  has_come(&mm);
  assert_string_equal(mm_list(&mm, "snapshot"), "1 EARLIEST=1 LATEST=1");
  mm_check(&mm);
  mm_end(&mm);
}

/* The branch's snapshots have the names of those that were to go. */
static void expire__whose_table_is_a_branch_now_looks_again(void **state) {
  static const char *const places[] = {"/manifest/manifest-list-", "/bucket-0/"};
  static const step steps[] = {AT_OPEN, AT_REMOVE};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(places); i++) {
    maintain_maker mm;
    tn_table *branch;
    mm_begin(&mm, "");
    make_four(&mm);
    tag(&mm, "t", 1);
    create_branch(&mm);
    OK(tn_tag_delete(mm.table, "t", err));
    branch = mm_branch(&mm, "b");
    assert_int_equal(mm_commit_to(&mm, branch, "+x"), 2);
    assert_int_equal(mm_commit_to(&mm, branch, "+y"), 3);
    mm_commit(&mm, "-d ^E");
    let_come(&mm, steps[i], places[i], fast_forward);
    mm_expire(&mm, 1, 1);
    has_come(&mm);
    assert_string_equal(mm_list(&mm, "snapshot"), "3 EARLIEST=3 LATEST=3");
    mm_check(&mm);
    tn_table_release(branch);
    mm_end(&mm);
  }
}

static void expire__sees_a_branch_that_came_meanwhile(void **state) {
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, "");
  make_four(&mm);
  let_come(&mm, AT_OPEN, "/manifest/manifest-list-", create_branch_of_2);
  assert_int_equal(mm_expire(&mm, 1, 1), 3);
  has_come(&mm);
  assert_string_equal(mm_list(&mm, "snapshot"), "4 EARLIEST=4 LATEST=4");
  assert_string_equal(mm_list(&mm, "bucket-0"), "C a b d");
  mm_check(&mm);
  mm_end(&mm);
}

/* No room for a second hint. */
static tarn_status full_create(tn_storage *storage, const char *path, tn_sink **out,
                               tarn_error *err) {
  if (strstr(path, "/.EARLIEST.") != NULL && tn_storage_exists(storage, "/t/snapshot/EARLIEST")) {
    return tn_fail_errno(err, ENOSPC, "write %s", path);
  }
  return other.ops->create(storage, path, out, err);
}

static void expire__makes_room_on_a_full_disk(void **state) {
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, "");
  make_four(&mm);
  OK(tn_hint_write(mm.tm.storage, "/t", "snapshot", "EARLIEST", 1, err));
  let_come(&mm, AT_REMOVE, "/snapshot/EARLIEST", nothing);
  other.hooked.create = full_create;
  assert_int_equal(mm_expire(&mm, 1, 1), 3);
  has_come(&mm);
  assert_string_equal(mm_list(&mm, "snapshot"), "4 EARLIEST=4 LATEST=4");
  assert_int_equal(mm_check(&mm), 0);
  mm_end(&mm);
}

static void set_consumer(maintain_maker *mm) {
  OK(tn_consumer_set(mm->table, "c", 2, err));
}

static void move_earliest(maintain_maker *mm) {
  OK(tn_hint_write(mm->tm.storage, "/t", "snapshot", "EARLIEST", 4, err));
}

static void expire__leaves_what_a_new_consumer_needs(void **state) {
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, "");
  make_four(&mm);
  let_come(&mm, AT_OPEN, "/manifest/manifest-list-", set_consumer);
  assert_int_equal(mm_expire(&mm, 1, 1), 1);
  has_come(&mm);
  assert_string_equal(mm_list(&mm, "snapshot"), "2 3 4 EARLIEST=2 LATEST=4");
  assert_int_equal(mm_check(&mm), 0);
  mm_end(&mm);
}

/* Another one has begun to expire more. */
static void expire__does_not_move_earliest_back(void **state) {
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, "");
  make_four(&mm);
  let_come(&mm, AT_OPEN, "/manifest/manifest-list-", move_earliest);
  assert_int_equal(mm_expire(&mm, 2, 2), 2);
  has_come(&mm);
  assert_string_equal(mm_list(&mm, "snapshot"), "3 4 EARLIEST=4 LATEST=4");
  mm_end(&mm);
}

#define RIVAL_LOOKS 4

static int n_rival_looks;

/* A Java process has looked at the name of snapshot 4 before that one was there. */
static tarn_status rival_list(tn_storage *storage, const char *path,
                              tarn_status (*visit)(void *ctx, const char *name, bool is_directory,
                                                   tarn_error *err),
                              void *ctx, tarn_error *err) {
  TN_TRY(other.ops->list(storage, path, visit, ctx, err));
  return other.has_come && strcmp(path, "/t/snapshot") == 0 && ++n_rival_looks < RIVAL_LOOKS
             ? visit(ctx, ".snapshot-4.0c8e1f2a-7f3d-4c11-9d0e-5a6b7c8d9e0f.tmp", false, err)
             : TARN_OK;
}

static void expire__waits_for_who_may_replace_what_stays(void **state) {
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, "");
  make_four(&mm);
  n_rival_looks = 0;
  let_come(&mm, AT_OPEN, "/snapshot/EARLIEST", nothing);
  other.hooked.list = rival_list;
  assert_int_equal(mm_expire(&mm, 1, 1), 3);
  has_come(&mm);
  assert_true(n_rival_looks >= RIVAL_LOOKS);
  assert_int_equal(mm_check(&mm), 0);
  mm_end(&mm);
}

static void rollback__beside_an_expiry_is_refused(void **state) {
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, "");
  make_four(&mm);
  let_come(&mm, AT_REMOVE, "/bucket-0/", fail_to_roll_back);
  assert_int_equal(mm_expire(&mm, 1, 1), 3);
  has_come(&mm);
  assert_string_equal(mm_list(&mm, "snapshot"), "4 EARLIEST=4 LATEST=4");
  assert_int_equal(mm_check(&mm), 0);
  mm_end(&mm);
}

/* What an expiry that was killed has left: names of snapshots whose files may be gone. */
static void begun_expiry__can_be_rolled_back_to_by_tag_only(void **state) {
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, "");
  make_four(&mm);
  tag(&mm, "t", 1);
  OK(tn_hint_write(mm.tm.storage, "/t", "snapshot", "EARLIEST", 3, err));
  fail_to_roll_back(&mm);
  assert_int_equal(tn_tag_create(mm.table, "u", 2, TN_TAG_RETAINED_FOREVER, NULL), TARN_E_EXPIRED);
  assert_string_equal(mm_list(&mm, "snapshot"), "1 2 3 4 EARLIEST=3 LATEST=4");
  assert_string_equal(mm_list(&mm, "tag"), "t");
  tag(&mm, "v", 1);
  OK(tn_rollback_to_snapshot(mm.table, 3, err));
  OK(tn_rollback_to_snapshot(mm.table, 1, err));
  assert_string_equal(mm_list(&mm, "snapshot"), "1 EARLIEST=1 LATEST=1");
  mm_check(&mm);
  mm_end(&mm);
}

/* ------------------------------------------------------------------ tags */

/* Who has taken what the tag keeps just before it goes, keeps it. */
static void delete__of_a_tag_that_is_taken_up_leaves_its_files(void **state) {
  static void (*const acts[])(maintain_maker *) = {create_branch, tag_again, roll_back_to_tag};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(acts); i++) {
    maintain_maker mm;
    mm_begin(&mm, "");
    make_tagged(&mm);
    let_come(&mm, AT_RENAME, "/tag/.tag-t.deleted", acts[i]);
    OK(tn_tag_delete(mm.table, "t", err));
    has_come(&mm);
    assert_string_equal(mm_list(&mm, "bucket-0"), "C a b d");
    mm_check(&mm);
    mm_end(&mm);
  }
}

static void branch__of_a_tag_that_goes_is_refused(void **state) {
  maintain_maker mm;
  tarn_error why = {0};
  (void)state;
  mm_begin(&mm, "");
  make_tagged(&mm);
  let_come(&mm, AT_RENAME, "/branch/branch-b", delete_tag);
  assert_int_equal(tn_branch_create(mm.table, "b", "t", &why), TARN_E_NOT_FOUND);
  has_come(&mm);
  assert_string_equal(why.message,
                      "branch 'b' was not created: tag 't' has been deleted meanwhile");
  assert_string_equal(mm_list(&mm, "branch"), "");
  assert_string_equal(mm_list(&mm, "bucket-0"), "C d");
  mm_check(&mm);
  mm_end(&mm);
}

/* ------------------------------------------------------------------ one number, two snapshots */

/* Branch b has a tag of the first snapshot 2; main has another one of that number. */
static void make_two_of_a_number(maintain_maker *mm) {
  mm_commit(mm, "+a");
  mm_commit(mm, "+b");
  tag(mm, "t", 2);
  OK(tn_branch_create(mm->table, "b", "t", err));
  OK(tn_rollback_to_snapshot(mm->table, 1, err));
  mm_commit(mm, "+c");
  OK(tn_storage_replace(mm->tm.storage, "/t/tag/tag-t",
                        tn_slice_text(tm_content(&mm->tm, "/t/branch/branch-b/tag/tag-t")), false,
                        err));
}

static void rollback__to_a_tag_makes_its_snapshot_the_latest(void **state) {
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, "");
  make_two_of_a_number(&mm);
  mm_commit(&mm, "+d");
  OK(tn_rollback_to_tag(mm.table, "t", err));
  assert_string_equal(mm_list(&mm, "snapshot"), "1 2 EARLIEST=2 LATEST=2");
  assert_string_equal(tm_content(&mm.tm, "/t/snapshot/snapshot-2"),
                      tm_content(&mm.tm, "/t/tag/tag-t"));
  mm_check(&mm);
  mm_end(&mm);
}

static void branch__of_a_tag_has_the_snapshot_of_the_tag(void **state) {
  maintain_maker mm;
  (void)state;
  mm_begin(&mm, "");
  make_two_of_a_number(&mm);
  OK(tn_branch_create(mm.table, "x", "t", err));
  assert_string_equal(tm_content(&mm.tm, "/t/branch/branch-x/snapshot/snapshot-2"),
                      tm_content(&mm.tm, "/t/tag/tag-t"));
  mm_end(&mm);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(expire__whose_table_is_rolled_back_looks_again),
      cmocka_unit_test(expire__that_gives_way_moves_no_hint),
      cmocka_unit_test(expire__that_gives_way_leaves_the_hint_of_a_rollback),
      cmocka_unit_test(expire__whose_table_is_a_branch_now_looks_again),
      cmocka_unit_test(expire__sees_a_branch_that_came_meanwhile),
      cmocka_unit_test(expire__makes_room_on_a_full_disk),
      cmocka_unit_test(expire__leaves_what_a_new_consumer_needs),
      cmocka_unit_test(expire__does_not_move_earliest_back),
      cmocka_unit_test(expire__waits_for_who_may_replace_what_stays),
      cmocka_unit_test(rollback__beside_an_expiry_is_refused),
      cmocka_unit_test(begun_expiry__can_be_rolled_back_to_by_tag_only),
      cmocka_unit_test(delete__of_a_tag_that_is_taken_up_leaves_its_files),
      cmocka_unit_test(branch__of_a_tag_that_goes_is_refused),
      cmocka_unit_test(rollback__to_a_tag_makes_its_snapshot_the_latest),
      cmocka_unit_test(branch__of_a_tag_has_the_snapshot_of_the_tag),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
