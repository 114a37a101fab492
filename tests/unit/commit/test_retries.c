/* test_retries.c - somebody else is first: what a commit does then, step by step.
 *
 * Somebody else commits when a snapshot is about to get its name, or has just got it.
 */
#include <errno.h>

#include "interloper.h"
#include "support/test.h"

static void append_other(interloper *self) {
  char name[16];
  snprintf(name, sizeof(name), "x%d", self->n_come);
  il_append_as(self, "other", self->n_come, tn_arena_strdup(&self->tm->arena, name));
}

static void append_twin(interloper *self) {
  il_append_as(self, "u", 7, "a");
}

static void overwrite_all(interloper *self) {
  tn_commit_options options = cm_user("other");
  tn_committable c = cm_begin(1);
  tn_commit_result result;
  cm_file(self->tm, &c, CM_NEW, tm_entry("o", 1));
  OK(tn_commit_overwrite(self->table, &options, &c, NULL, false, &result, err));
}

/* As a rename over it does. */
static void replace_ours(interloper *self) {
  il_remove_snapshot(self, self->n_come);
  append_other(self);
}

#define HIDDEN_LOOKS 5

/* Behind our snapshot the folder shows a file that is about to be renamed over it; when it has been
 * looked at often enough, it is. */
typedef struct hider {
  interloper other;
  bool is_shown;
  int n_looks;
} hider;

static void show_file(interloper *self) {
  TN_CONTAINER_OF(self, hider, other)->is_shown = true;
}

static tarn_status hooked_list(tn_storage *storage, const char *path,
                               tarn_status (*visit)(void *ctx, const char *name, bool is_directory,
                                                    tarn_error *err),
                               void *ctx, tarn_error *err) {
  interloper *self = il_of(storage);
  hider *h = TN_CONTAINER_OF(self, hider, other);
  if (!h->is_shown || self->is_busy || strstr(path, "/snapshot") == NULL) {
    return self->ops->list(storage, path, visit, ctx, err);
  }
  if (++h->n_looks < HIDDEN_LOOKS) {
    TN_TRY(self->ops->list(storage, path, visit, ctx, err));
    return visit(ctx, ".snapshot-1.0c8e1f2a-7f3d-4c11-9d0e-5a6b7c8d9e0f.tmp", false, err);
  }
  h->is_shown = false;
  self->is_busy = true;
  il_remove_snapshot(self, 1);
  il_append_as(self, "other", 0, "x0");
  self->is_busy = false;
  return self->ops->list(storage, path, visit, ctx, err);
}

/* An error of the disk. */
static tarn_status refused_link(tn_storage *storage, const char *from, const char *to,
                                tarn_error *err) {
  return il_is_snapshot(to) ? tn_fail_errno(err, ENOSPC, "link %s", to)
                            : il_of(storage)->ops->link(storage, from, to, err);
}

static void append__goes_behind_who_was_first(void **state) {
  table_maker tm;
  interloper other;
  tn_commit_result result;
  (void)state;
  il_begin(&tm, &other, IL_QUICK, IL_AT_LINK, append_other, 3);
  OK(il_append(&other, "a", 7, &result, err));
  assert_int_equal(result.last_id, 4);
  assert_int_equal(result.n_attempts, 4);
  assert_string_equal(cm_snapshot_text(&tm, 4), "APPEND u:7 rows=4(+1)");
  assert_string_equal(cm_entries(&tm, 4, 'b'), "+x1 | +x2 | +x3");
  assert_string_equal(cm_entries(&tm, 4, 'd'), "+a");
  /* Each snapshot has its manifest, its two lists; lost attempts leave nothing. */
  assert_int_equal(cm_count(&tm, "manifest"), 4 * 3);
  il_end(&tm, &other);
}

/* Java looks first and renames then: a snapshot of its own over the one that has come meanwhile. */
static void append__that_was_replaced_is_made_again(void **state) {
  table_maker tm;
  interloper other;
  tn_commit_result result;
  (void)state;
  il_begin(&tm, &other, IL_QUICK, IL_BEHIND_LINK, replace_ours, 2);
  OK(il_append(&other, "a", 7, &result, err));
  assert_int_equal(result.first_id, 3);
  assert_int_equal(result.last_id, 3);
  assert_int_equal(result.n_attempts, 3);
  assert_string_equal(cm_snapshot_text(&tm, 3), "APPEND u:7 rows=3(+1)");
  assert_string_equal(cm_entries(&tm, 3, 'b'), "+x1 | +x2");
  assert_string_equal(cm_entries(&tm, 3, 'd'), "+a");
  /* Who has read ours may need their manifests still, or be about to expire them. */
  assert_int_equal(cm_count(&tm, "manifest"), 3 * 3 + 2 * 3);
  il_end(&tm, &other);
}

/* He who has looked before ours was there may rename long after. */
static void append__waits_for_who_may_replace_it(void **state) {
  table_maker tm;
  hider h = {0};
  tn_commit_result result;
  (void)state;
  il_begin(&tm, &h.other, IL_QUICK, IL_BEHIND_LINK, show_file, 1);
  h.other.hooked.list = hooked_list;
  OK(il_append(&h.other, "a", 7, &result, err));
  assert_int_equal(h.n_looks, HIDDEN_LOOKS);
  assert_int_equal(result.last_id, 2);
  assert_string_equal(cm_entries(&tm, 2, 'b'), "+x0");
  assert_string_equal(cm_entries(&tm, 2, 'd'), "+a");
  il_end(&tm, &h.other);
}

static int64_t clock_of(void *ctx) {
  return *(const int64_t *)ctx;
}

static void nothing(interloper *self) {
  (void)self;
}

static tarn_status counted_list(tn_storage *storage, const char *path,
                                tarn_status (*visit)(void *ctx, const char *name, bool is_directory,
                                                     tarn_error *err),
                                void *ctx, tarn_error *err) {
  interloper *self = il_of(storage);
  TN_CONTAINER_OF(self, hider, other)->n_looks += self->n_come;
  return self->ops->list(storage, path, visit, ctx, err);
}

/* What a process that was killed has left does not hold up each commit that takes its number. */
static void append__does_not_wait_for_the_dead(void **state) {
  static const char left[] = "/t/snapshot/.snapshot-1.0c8e1f2a-7f3d-4c11-9d0e-5a6b7c8d9e0f.tmp";
  int64_t now = 1000;
  table_maker tm;
  hider h = {0};
  tn_commit_result result;
  (void)state;
  il_begin(&tm, &h.other, IL_QUICK, IL_BEHIND_LINK, nothing, 1);
  h.other.hooked.list = counted_list;
  tm.env->clock_ms = clock_of;
  tm.env->clock_ctx = &now;
  OK(tn_storage_replace(tm.storage, left, tn_slice_text("{}"), false, err));
  now += 61000;
  OK(il_append(&h.other, "a", 7, &result, err));
  assert_int_equal(result.last_id, 1);
  assert_int_equal(h.n_looks, 1);
  il_end(&tm, &h.other);
}

/* Lost for good: the caller is told that it is a conflict, and tries again if he likes. */
static void append__gives_up_after_its_retries(void **state) {
  table_maker tm;
  interloper other;
  tn_commit_result result;
  tarn_error why;
  (void)state;
  il_begin(&tm, &other, IL_QUICK ";commit.max-retries=2", IL_AT_LINK, append_other, 100);
  assert_int_equal(il_append(&other, "a", 7, &result, &why), TARN_E_CONFLICT);
  assert_contains(why.message, "db.t: Commit failed after ");
  assert_contains(why.message,
                  " millis with 2 retries, there maybe exist commit conflicts between "
                  "multiple jobs: commit again, or raise 'commit.max-retries'");
  assert_null(strstr(why.message, "9223372036854775807"));
  assert_int_equal(result.n_attempts, 3);
  assert_int_equal(result.last_id, 0);
  assert_int_equal(cm_count(&tm, "manifest"), 3 * 3);
  il_end(&tm, &other);
}

static void append__gives_up_after_its_time(void **state) {
  table_maker tm;
  interloper other;
  tn_commit_result result;
  tarn_error why;
  (void)state;
  il_begin(&tm, &other, "bucket=-1;commit.min-retry-wait=5 ms;commit.timeout=1 ms", IL_AT_LINK,
           append_other, 100);
  assert_int_equal(il_append(&other, "a", 7, &result, &why), TARN_E_TIMEOUT);
  assert_contains(why.message, "Commit failed after ");
  assert_contains(why.message, "'commit.timeout'");
  assert_true(result.n_attempts >= 1 && result.n_attempts < 5);
  il_end(&tm, &other);
}

/* Another process of the same job was first with the same commit: it is there once (C2). */
static void append__of_a_twin_is_found(void **state) {
  table_maker tm;
  interloper other;
  tn_commit_result result;
  (void)state;
  il_begin(&tm, &other, IL_QUICK, IL_AT_LINK, append_twin, 1);
  OK(il_append(&other, "a", 7, &result, err));
  assert_int_equal(result.last_id, 1);
  assert_string_equal(cm_entries(&tm, 1, 'd'), "+a");
  assert_int_equal(cm_count(&tm, "snapshot"), 2);
  assert_int_equal(cm_count(&tm, "manifest"), 3);
  il_end(&tm, &other);
}

static void merged_manifests__are_taken_along(void **state) {
  table_maker tm;
  interloper other;
  tn_commit_result result;
  (void)state;
  il_begin(&tm, &other, IL_QUICK, IL_AT_LINK, append_other, 0);
  (void)il_append(&other, "a", 7, &result, NULL);
  (void)il_append(&other, "b", 7, &result, NULL);
  tn_table_release(other.table);
  other.table = tm_table(&tm, "");
  other.times = 2;
  {
    tn_table *merging = tm_table(&tm, "manifest.merge-min-count=2");
    tn_commit_options options = cm_user("u");
    tn_committable c = cm_begin(9);
    cm_file(&tm, &c, CM_NEW, tm_entry("c", 1));
    OK(tn_commit_append(merging, &options, &c, &result, err));
    tn_table_release(merging);
  }
  assert_int_equal(result.last_id, 5);
  assert_string_equal(cm_entries(&tm, 5, 'b'), "+a +b | +x1 | +x2");
  assert_int_equal(cm_count(&tm, "manifest"), 5 * 3 + 1);
  il_end(&tm, &other);
}

/* Somebody else merges meanwhile, too: no second merge, and the first one goes. */
static void merged_manifests__of_two_at_once_are_not_made_twice(void **state) {
  table_maker tm;
  interloper other;
  tn_commit_result result;
  (void)state;
  il_begin(&tm, &other, IL_QUICK ";manifest.merge-min-count=2", IL_AT_LINK, append_other, 0);
  (void)il_append(&other, "a", 7, &result, NULL);
  (void)il_append(&other, "b", 7, &result, NULL);
  other.times = 1;
  OK(il_append(&other, "c", 7, &result, err));
  assert_string_equal(cm_entries(&tm, 3, 'b'), "+a +b");
  assert_string_equal(cm_entries(&tm, 4, 'b'), "+a +b | +x1");
  assert_int_equal(cm_count(&tm, "manifest"), 4 * 3 + 1);
  il_end(&tm, &other);
}

static void compaction__conflicts_with_who_was_first(void **state) {
  table_maker tm;
  interloper other;
  tn_commit_options options = cm_user("u");
  tn_committable c = cm_begin(7);
  tn_commit_result result;
  tarn_error why;
  int n;
  (void)state;
  il_begin(&tm, &other, IL_QUICK, IL_AT_LINK, overwrite_all, 0);
  OK(il_append(&other, "a", 7, &result, err));
  n = cm_count(&tm, "manifest");
  other.times = 1;
  cm_file(&tm, &c, CM_BEFORE, tm_entry("a", 1));
  cm_file(&tm, &c, CM_AFTER, tm_entry("b", 1));
  assert_int_equal(tn_commit_append(other.table, &options, &c, &result, &why), TARN_E_CONFLICT);
  assert_contains(why.message, "Trying to delete file a");
  assert_contains(why.message, "Base commit user is: other; Current commit user is: u");
  assert_int_equal(result.n_attempts, 2);
  assert_string_equal(tm_plan(&tm, other.table, NULL, -1), "0[o]raw(1)");
  assert_int_equal(cm_count(&tm, "manifest"), n + 3);
  il_end(&tm, &other);
}

/* An overwrite takes away what was appended meanwhile. */
static void overwrite__sees_what_came_meanwhile(void **state) {
  table_maker tm;
  interloper other;
  tn_commit_options options = cm_user("u");
  tn_committable c = cm_begin(7);
  tn_commit_result result;
  (void)state;
  il_begin(&tm, &other, IL_QUICK, IL_AT_LINK, append_other, 2);
  cm_file(&tm, &c, CM_NEW, tm_entry("new", 1));
  OK(tn_commit_overwrite(other.table, &options, &c, NULL, false, &result, err));
  assert_int_equal(result.last_id, 3);
  assert_string_equal(cm_snapshot_text(&tm, 3), "OVERWRITE u:7 rows=1(-1)");
  assert_string_equal(cm_entries(&tm, 3, 'd'), "-x1 -x2 +new");
  assert_int_equal(cm_count(&tm, "manifest"), 3 * 3);
  il_end(&tm, &other);
}

/* A disk that refuses the name: at once, nothing is left. */
static void append__tells_what_the_disk_says(void **state) {
  table_maker tm;
  interloper other;
  tn_commit_result result;
  tarn_error why;
  (void)state;
  il_begin(&tm, &other, IL_QUICK, IL_AT_LINK, append_other, 0);
  other.hooked.link = refused_link;
  assert_int_equal(il_append(&other, "a", 7, &result, &why), TARN_E_IO);
  assert_int_equal(why.os_errno, ENOSPC);
  assert_int_equal(result.n_attempts, 1);
  assert_int_equal(cm_count(&tm, "manifest"), 0);
  assert_int_equal(cm_count(&tm, "snapshot"), 0);
  il_end(&tm, &other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(append__goes_behind_who_was_first),
      cmocka_unit_test(append__that_was_replaced_is_made_again),
      cmocka_unit_test(append__waits_for_who_may_replace_it),
      cmocka_unit_test(append__does_not_wait_for_the_dead),
      cmocka_unit_test(append__gives_up_after_its_retries),
      cmocka_unit_test(append__gives_up_after_its_time),
      cmocka_unit_test(append__of_a_twin_is_found),
      cmocka_unit_test(append__tells_what_the_disk_says),
      cmocka_unit_test(merged_manifests__are_taken_along),
      cmocka_unit_test(merged_manifests__of_two_at_once_are_not_made_twice),
      cmocka_unit_test(compaction__conflicts_with_who_was_first),
      cmocka_unit_test(overwrite__sees_what_came_meanwhile),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
