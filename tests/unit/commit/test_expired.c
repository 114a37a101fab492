/* test_expired.c - what others did to the snapshots between the looks of a commit: names that are
 * free again, a base that is gone, a snapshot of ours that was replaced when others had read it.
 *
 * The storage does it at the step that a test asks for.
 */
#include "interloper.h"
#include "model/listing.h"
#include "support/test.h"

/* ------------------------------------------------------------------ what he can do */

static void append_other(interloper *self, const char *name) {
  il_append_as(self, "other", 1, name);
}

/* With what only it has. */
static void expire(interloper *self, int64_t id) {
  tn_snapshot s = cm_snapshot(self->tm, id);
  const char *lists[] = {s.base_manifest_list, s.delta_manifest_list};
  il_remove_snapshot(self, id);
  for (int i = 0; i < 2; i++) {
    OK(tn_storage_remove(self->tm->storage,
                         tn_path_join(&self->tm->arena, "/t", "manifest", lists[i], NULL), err));
  }
}

static void two_come_one_expires(interloper *self) {
  append_other(self, "x1");
  append_other(self, "x2");
  il_remove_snapshot(self, 2);
}

static void three_come_two_expire(interloper *self) {
  append_other(self, "x1");
  append_other(self, "x2");
  append_other(self, "x3");
  il_remove_snapshot(self, 2);
  il_remove_snapshot(self, 3);
}

static void next_comes_base_expires(interloper *self) {
  append_other(self, "x1");
  expire(self, 1);
}

/* The snapshot that was read makes place for another of its number. */
static void roll_back_and_append(interloper *self) {
  il_remove_snapshot(self, 1);
  append_other(self, "x1");
}

/* Ours goes when it is there, before LATEST names it. */
static void roll_back_ours(interloper *self) {
  il_remove_snapshot(self, 2);
  OK(tn_storage_replace(self->tm->storage, "/t/snapshot/LATEST", tn_slice_text("1"), false, err));
}

static void base_is_lost(interloper *self) {
  tn_snapshot s = cm_snapshot(self->tm, 1);
  OK(tn_storage_remove(self->tm->storage,
                       tn_path_join(&self->tm->arena, "/t", "manifest", s.base_manifest_list, NULL),
                       err));
}

/* Ours is snapshot 2. Somebody goes on from it; then one takes its name who has looked before. */
static void replace_behind_next(interloper *self) {
  tn_buf ours, other;
  tn_buf_init(&ours, &self->tm->env->mem, 1 << 20);
  tn_buf_init(&other, &self->tm->env->mem, 1 << 20);
  OK(tn_storage_read_all(self->tm->storage, il_snapshot_path(self, 2), &ours, err));
  il_remove_snapshot(self, 2);
  append_other(self, "j");
  OK(tn_storage_read_all(self->tm->storage, il_snapshot_path(self, 2), &other, err));
  OK(tn_storage_replace(self->tm->storage, il_snapshot_path(self, 2), tn_buf_slice(&ours), false,
                        err));
  append_other(self, "x1");
  OK(tn_storage_replace(self->tm->storage, il_snapshot_path(self, 2), tn_buf_slice(&other), false,
                        err));
  tn_buf_reset(&ours);
  tn_buf_reset(&other);
}

static void replace_before_next(interloper *self) {
  il_remove_snapshot(self, 2);
  append_other(self, "j");
}

/* The one that replaced it has expired as well, when we look. */
static void replace_and_expire_it(interloper *self) {
  replace_before_next(self);
  append_other(self, "x1");
  il_remove_snapshot(self, 2);
}

static void replace_and_expire_all(interloper *self) {
  replace_before_next(self);
  append_other(self, "x1");
  append_other(self, "x2");
  il_remove_snapshot(self, 2);
  il_remove_snapshot(self, 3);
}

/* Ours expires; its file was compacted away, or not. */
static void go_on_and_expire(interloper *self) {
  append_other(self, "x1");
  append_other(self, "x2");
  expire(self, 2);
  expire(self, 3);
}

static void compact_and_expire(interloper *self) {
  tn_commit_options options = cm_user("other");
  tn_committable c = cm_begin(1);
  tn_commit_result result;
  cm_file(self->tm, &c, CM_BEFORE, tm_entry("b", 1));
  cm_file(self->tm, &c, CM_AFTER, tm_entry("x1", 1));
  OK(tn_commit_append(self->table, &options, &c, &result, err));
  append_other(self, "x2");
  expire(self, 2);
  expire(self, 3);
}

static void replace_and_expire(interloper *self) {
  replace_behind_next(self);
  append_other(self, "x2");
  expire(self, 3);
}

/* ------------------------------------------------------------------ tests */

/* Snapshot 1 with "a"; then "b" is appended, and he comes once. */
static tarn_status second(interloper *self, tn_commit_result *result, tarn_error *why) {
  OK(il_append(self, "a", 7, result, err));
  self->n_links = 0;
  self->times = 1;
  return il_append(self, "b", 8, result, why);
}

typedef struct free_name {
  il_step when;
  void (*act)(interloper *);
  int64_t id;
  int n_links;
  const char *files;
} free_name;

/* The name of the snapshot that is next by the look of the attempt is free: it has expired. */
static const free_name free_names[] = {
    {IL_AT_LINK, two_come_one_expires, 4, 2, "0[a x1 x2 b]raw(4)"},
    {IL_AT_LINK, three_come_two_expire, 5, 2, "0[a x1 x2 x3 b]raw(5)"},
    {IL_AT_LIST_WRITTEN, two_come_one_expires, 4, 1, "0[a x1 x2 b]raw(4)"},
    {IL_AT_LIST_WRITTEN, three_come_two_expire, 5, 1, "0[a x1 x2 x3 b]raw(5)"},
};

static void append__does_not_take_the_name_of_one_that_expired(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(free_names) / sizeof(free_names[0]); i++) {
    const free_name *c = &free_names[i];
    table_maker tm;
    interloper other;
    tn_commit_result result;
    int64_t latest;
    il_begin(&tm, &other, IL_QUICK, c->when, c->act, 0);
    OK(second(&other, &result, err));
    assert_int_equal(result.last_id, c->id);
    assert_int_equal(result.first_id, c->id);
    assert_int_equal(other.n_links, c->n_links);
    OK(tn_snapshot_latest_id(tm.env, tm.storage, "/t", &latest, err));
    assert_int_equal(latest, c->id);
    assert_int_equal(cm_count(&tm, "snapshot"), 4); /* 1, the latest two, LATEST */
    assert_string_equal(tm_plan(&tm, other.table, NULL, -1), c->files);
    il_end(&tm, &other);
  }
}

/* Of a folder that was put back from a backup, or a snapshot that was deleted by hand. */
static void append__goes_on_when_latest_is_ahead(void **state) {
  static const char *const hints[] = {"3", "99", "9223372036854775807"};
  (void)state;
  for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
    table_maker tm;
    interloper other;
    tn_commit_result result;
    tn_buf text;
    il_begin(&tm, &other, IL_QUICK, IL_AT_LINK, NULL, 0);
    OK(il_append(&other, "a", 7, &result, err));
    OK(tn_storage_replace(tm.storage, "/t/snapshot/LATEST", tn_slice_text(hints[i]), false, err));
    OK(il_append(&other, "b", 8, &result, err));
    assert_int_equal(result.n_attempts, 1);
    assert_int_equal(result.last_id, 2);
    assert_string_equal(tm_plan(&tm, other.table, NULL, -1), "0[a b]raw(2)");
    tn_buf_init(&text, &tm.env->mem, 100);
    OK(tn_storage_read_all(tm.storage, "/t/snapshot/LATEST", &text, err));
    assert_true(tn_slice_is(tn_buf_slice(&text), "2"));
    tn_buf_reset(&text);
    il_end(&tm, &other);
  }
}

static void append__whose_base_was_rolled_back_goes_behind_the_new_one(void **state) {
  static const il_step steps[] = {IL_AT_LIST_READ, IL_AT_LIST_WRITTEN};
  (void)state;
  for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
    table_maker tm;
    interloper other;
    tn_commit_result result;
    il_begin(&tm, &other, IL_QUICK, steps[i], roll_back_and_append, 0);
    OK(second(&other, &result, err));
    assert_int_equal(result.last_id, 2);
    assert_int_equal(result.n_attempts, 2);
    assert_string_equal(tm_plan(&tm, other.table, NULL, -1), "0[x1 b]raw(2)");
    il_end(&tm, &other);
  }
}

static void hint__does_not_name_what_was_rolled_back(void **state) {
  table_maker tm;
  interloper other;
  tn_commit_result result;
  tn_buf text;
  (void)state;
  il_begin(&tm, &other, IL_QUICK, IL_BEHIND_LINK, roll_back_ours, 0);
  OK(second(&other, &result, err));
  tn_buf_init(&text, &tm.env->mem, 100);
  OK(tn_storage_read_all(tm.storage, "/t/snapshot/LATEST", &text, err));
  assert_true(tn_slice_is(tn_buf_slice(&text), "1"));
  tn_buf_reset(&text);
  il_end(&tm, &other);
}

/* An expiry that has seen it while it was there deletes its manifests, later. */
static void append__that_was_taken_back_is_made_of_new_manifests(void **state) {
  table_maker tm;
  interloper other;
  tn_commit_result result;
  (void)state;
  il_begin(&tm, &other, IL_QUICK, IL_AT_LINK, three_come_two_expire, 0);
  OK(second(&other, &result, err));
  assert_int_equal(other.n_links, 2);
  assert_non_null(other.first_delta);
  assert_string_not_equal(other.first_delta, cm_snapshot(&tm, 5).delta_manifest_list);
  assert_int_equal(cm_count(&tm, "manifest"), 5 * 3);
  il_end(&tm, &other);
}

static void append__whose_base_expires_goes_behind_the_next(void **state) {
  table_maker tm;
  interloper other;
  tn_commit_result result;
  (void)state;
  il_begin(&tm, &other, IL_QUICK, IL_AT_LIST_READ, next_comes_base_expires, 0);
  OK(second(&other, &result, err));
  assert_int_equal(result.last_id, 3);
  assert_int_equal(result.n_attempts, 2);
  assert_string_equal(tm_plan(&tm, other.table, NULL, -1), "0[a x1 b]raw(3)");
  il_end(&tm, &other);
}

static void append__whose_base_is_lost_says_so(void **state) {
  table_maker tm;
  interloper other;
  tn_commit_result result;
  tarn_error why;
  (void)state;
  il_begin(&tm, &other, IL_QUICK, IL_AT_LIST_READ, base_is_lost, 0);
  assert_int_equal(second(&other, &result, &why), TARN_E_NOT_FOUND);
  assert_contains(why.message, "/t/manifest/manifest-list-");
  assert_int_equal(result.n_attempts, 1);
  il_end(&tm, &other);
}

/* Manifests of ours that the next one has merged, too. */
static void append__that_was_replaced_when_others_had_gone_on_is_there_once(void **state) {
  static const char *const options[] = {IL_QUICK, IL_QUICK ";manifest.merge-min-count=2"};
  (void)state;
  for (int i = 0; i < 2; i++) {
    table_maker tm;
    interloper other;
    tn_commit_result result;
    il_begin(&tm, &other, options[i], IL_BEHIND_LINK, replace_behind_next, 0);
    OK(second(&other, &result, err));
    assert_int_equal(result.last_id, 3);
    assert_string_equal(tm_plan(&tm, other.table, NULL, -1), "0[a b x1]raw(3)");
    assert_int_equal(cm_snapshot(&tm, 3).total_record_count, 3);
    OK(il_append(&other, "c", 9, &result, err));
    assert_string_equal(tm_plan(&tm, other.table, NULL, -1), "0[a b x1 c]raw(4)");
    il_end(&tm, &other);
  }
}

/* Nothing of it is removed: who has read it may be about to go on from it. */
static void append__that_was_replaced_keeps_its_files(void **state) {
  table_maker tm;
  interloper other;
  tn_commit_result result;
  (void)state;
  il_begin(&tm, &other, IL_QUICK, IL_BEHIND_LINK, replace_before_next, 0);
  OK(second(&other, &result, err));
  assert_int_equal(result.last_id, 3);
  assert_string_equal(tm_plan(&tm, other.table, NULL, -1), "0[a j b]raw(3)");
  assert_int_equal(cm_count(&tm, "manifest"), 3 * 3 + 3);
  il_end(&tm, &other);
}

/* A compaction that was replaced by one of the same files is dropped, its files are not removed. */
static void compact_same(interloper *self) {
  tn_commit_options options = cm_user("other");
  tn_committable c = cm_begin(1);
  tn_commit_result result;
  il_remove_snapshot(self, 2);
  cm_file(self->tm, &c, CM_BEFORE, tm_entry("a", 1));
  cm_file(self->tm, &c, CM_AFTER, tm_entry("o", 1));
  OK(tn_commit_append(self->table, &options, &c, &result, err));
}

static void compaction__that_was_replaced_may_conflict(void **state) {
  (void)state;
  for (int drops = 0; drops < 2; drops++) {
    table_maker tm;
    interloper other;
    tn_commit_options options = cm_user("u");
    tn_committable c;
    tn_commit_result result;
    tarn_error why;
    tarn_status st;
    il_begin(&tm, &other, IL_QUICK, IL_BEHIND_LINK, compact_same, 0);
    OK(il_append(&other, "a", 7, &result, err));
    c = cm_begin(8);
    cm_file(&tm, &c, CM_BEFORE, tm_entry("a", 1));
    cm_file(&tm, &c, CM_AFTER, tm_entry("b", 1));
    options.drops_compaction = drops == 1;
    other.times = 1;
    st = tn_commit_append(other.table, &options, &c, &result, &why);
    assert_int_equal(st, drops == 1 ? TARN_OK : TARN_E_IO);
    assert_true(drops == 1 || why.status == TARN_E_IO);
    assert_int_equal(result.has_dropped, drops == 1);
    assert_true(result.is_unsure);
    assert_string_equal(tm_plan(&tm, other.table, NULL, -1), "0[o]raw(1)");
    il_end(&tm, &other);
  }
}

static void append__whose_followers_expired_cannot_be_told(void **state) {
  table_maker tm;
  interloper other;
  tn_commit_result result;
  tarn_error why;
  (void)state;
  il_begin(&tm, &other, IL_QUICK, IL_BEHIND_LINK, replace_and_expire, 0);
  assert_int_equal(second(&other, &result, &why), TARN_E_IO);
  assert_int_equal(why.status, TARN_E_IO);
  assert_contains(why.message, "cannot be told");
  assert_true(result.is_unsure);
  assert_string_equal(tm_plan(&tm, other.table, NULL, -1), "0[a b x1 x2]raw(4)");
  il_end(&tm, &other);
}

static void append__that_was_replaced_and_expired_is_made_again(void **state) {
  table_maker tm;
  interloper other;
  tn_commit_result result;
  (void)state;
  il_begin(&tm, &other, IL_QUICK, IL_BEHIND_LINK, replace_and_expire_it, 0);
  OK(second(&other, &result, err));
  assert_int_equal(result.last_id, 4);
  assert_string_equal(tm_plan(&tm, other.table, NULL, -1), "0[a j x1 b]raw(4)");
  il_end(&tm, &other);
}

/* The file on the disk was never compacted away. */
static void append__that_was_replaced_long_ago_is_not_done(void **state) {
  table_maker tm;
  interloper other;
  tn_commit_result result;
  tarn_error why;
  (void)state;
  il_begin(&tm, &other, IL_QUICK, IL_BEHIND_LINK, replace_and_expire_all, 0);
  OK(tn_storage_replace(tm.storage, "/t/bucket-0/b", tn_slice_text("b"), false, err));
  assert_int_equal(second(&other, &result, &why), TARN_E_IO);
  assert_contains(why.message, "cannot be told");
  assert_true(result.is_unsure);
  il_end(&tm, &other);
}

static void append__that_expired_at_once_is_there(void **state) {
  static void (*const acts[])(interloper *) = {go_on_and_expire, compact_and_expire};
  static const char *const files[] = {"0[a b x1 x2]raw(4)", "0[a x1 x2]raw(3)"};
  (void)state;
  for (int i = 0; i < 2; i++) {
    table_maker tm;
    interloper other;
    tn_commit_result result;
    il_begin(&tm, &other, IL_QUICK, IL_BEHIND_LINK, acts[i], 0);
    OK(second(&other, &result, err));
    assert_int_equal(result.last_id, 2);
    assert_int_equal(result.n_attempts, 1);
    assert_string_equal(tm_plan(&tm, other.table, NULL, -1), files[i]);
    il_end(&tm, &other);
  }
}

/* An expiry has deleted the list of its manifests, its name is next. */
static void go_on_and_begin_to_expire(interloper *self) {
  append_other(self, "x1");
  OK(tn_storage_remove(self->tm->storage,
                       tn_path_join(&self->tm->arena, "/t", "manifest",
                                    cm_snapshot(self->tm, 2).delta_manifest_list, NULL),
                       err));
}

static void append__that_begins_to_expire_is_not_taken_back(void **state) {
  table_maker tm;
  interloper other;
  tn_commit_result result;
  (void)state;
  il_begin(&tm, &other, IL_QUICK, IL_BEHIND_LINK, go_on_and_begin_to_expire, 0);
  OK(second(&other, &result, err));
  assert_int_equal(result.last_id, 2);
  assert_int_equal(result.n_attempts, 1);
  assert_string_equal(tm_plan(&tm, other.table, NULL, -1), "0[a b x1]raw(3)");
  il_end(&tm, &other);
}

/* LATEST does not go back. */
static void next_comes_and_hints(interloper *self) {
  append_other(self, "x1");
}

static void hint__of_others_stays(void **state) {
  table_maker tm;
  interloper other;
  tn_commit_result result;
  tn_buf text;
  (void)state;
  il_begin(&tm, &other, IL_QUICK, IL_BEHIND_LINK, next_comes_and_hints, 0);
  OK(second(&other, &result, err));
  assert_int_equal(result.last_id, 2);
  tn_buf_init(&text, &tm.env->mem, 100);
  OK(tn_storage_read_all(tm.storage, "/t/snapshot/LATEST", &text, err));
  assert_true(tn_slice_is(tn_buf_slice(&text), "3"));
  tn_buf_reset(&text);
  il_end(&tm, &other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(append__does_not_take_the_name_of_one_that_expired),
      cmocka_unit_test(append__goes_on_when_latest_is_ahead),
      cmocka_unit_test(append__whose_base_was_rolled_back_goes_behind_the_new_one),
      cmocka_unit_test(append__that_was_taken_back_is_made_of_new_manifests),
      cmocka_unit_test(append__whose_base_expires_goes_behind_the_next),
      cmocka_unit_test(append__whose_base_is_lost_says_so),
      cmocka_unit_test(append__that_was_replaced_when_others_had_gone_on_is_there_once),
      cmocka_unit_test(append__that_was_replaced_keeps_its_files),
      cmocka_unit_test(append__whose_followers_expired_cannot_be_told),
      cmocka_unit_test(compaction__that_was_replaced_may_conflict),
      cmocka_unit_test(append__that_was_replaced_and_expired_is_made_again),
      cmocka_unit_test(append__that_was_replaced_long_ago_is_not_done),
      cmocka_unit_test(append__that_expired_at_once_is_there),
      cmocka_unit_test(append__that_begins_to_expire_is_not_taken_back),
      cmocka_unit_test(hint__of_others_stays),
      cmocka_unit_test(hint__does_not_name_what_was_rolled_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
