/* test_retries.c - somebody else is first: what a commit does then, step by step.
 *
 * The storage commits for somebody else when a snapshot is about to get its name.
 */
#include <errno.h>

#include "commit_maker.h"
#include "support/test.h"

typedef struct interloper {
  table_maker *tm;
  tn_table *table;
  const tn_storage_ops *ops; /* of the storage itself */
  tn_storage_ops hooked;
  int times; /* how often he comes */
  int n_come;
  void (*commit)(struct interloper *self);
  int link_errno; /* the name is not given: an error of the disk */
  bool is_busy;
  int hides; /* he replaces it when his hidden file has been looked at as often; 0: never */
  int n_looks;
  bool is_shown;
  bool replaces; /* he takes away the snapshot that has just been made, as a rename over it does */
} interloper;

static interloper *the; /* one test at a time */

static tarn_status hooked_link(tn_storage *storage, const char *from, const char *to,
                               tarn_error *err) {
  if (strstr(to, "/snapshot/snapshot-") != NULL && !the->is_busy && the->replaces) {
    TN_TRY(the->ops->link(storage, from, to, err));
    if (the->n_come < the->times) {
      TN_TRY(the->ops->remove(storage, to, err));
      the->n_come++;
      the->is_busy = true;
      the->commit(the);
      the->is_busy = false;
    }
    return TARN_OK;
  }
  if (strstr(to, "/snapshot/snapshot-") != NULL && !the->is_busy) {
    if (the->n_come < the->times) {
      the->n_come++;
      the->is_busy = true;
      the->commit(the);
      the->is_busy = false;
    }
    if (the->link_errno != 0) {
      return tn_fail_errno(err, the->link_errno, "link %s", to);
    }
    the->is_shown = the->hides > 0 && the->n_looks == 0;
  }
  return the->ops->link(storage, from, to, err);
}

/* Behind our snapshot the folder shows a file that is about to be renamed over it; when it has been
 * looked at often enough, it is. */
static tarn_status hooked_list(tn_storage *storage, const char *path,
                               tarn_status (*visit)(void *ctx, const char *name, bool is_directory,
                                                    tarn_error *err),
                               void *ctx, tarn_error *err) {
  char name[512];
  if (!the->is_shown || the->is_busy || strstr(path, "/snapshot") == NULL) {
    return the->ops->list(storage, path, visit, ctx, err);
  }
  if (++the->n_looks < the->hides) {
    TN_TRY(the->ops->list(storage, path, visit, ctx, err));
    return visit(ctx, ".snapshot-1.0c8e1f2a-7f3d-4c11-9d0e-5a6b7c8d9e0f.tmp", false, err);
  }
  the->is_shown = false;
  snprintf(name, sizeof(name), "%s/snapshot-1", path);
  TN_TRY(the->ops->remove(storage, name, err));
  the->is_busy = true;
  the->commit(the);
  the->is_busy = false;
  return the->ops->list(storage, path, visit, ctx, err);
}

static void append_as(interloper *self, const char *user, int64_t identifier, const char *name) {
  (void)cm_append_one(self->tm, self->table, user, identifier, name, 1);
}

static void append_other(interloper *self) {
  char name[16];
  snprintf(name, sizeof(name), "x%d", self->n_come);
  append_as(self, "other", self->n_come, tn_arena_strdup(&self->tm->arena, name));
}

static void append_twin(interloper *self) {
  append_as(self, "u", 7, "a");
}

static void overwrite_all(interloper *self) {
  tn_commit_options options = cm_user("other");
  tn_committable c = cm_begin(1);
  tn_commit_result result;
  cm_file(self->tm, &c, CM_NEW, tm_entry("o", 1));
  OK(tn_commit_overwrite(self->table, &options, &c, NULL, false, &result, err));
}

static void begin(table_maker *tm, interloper *self, const char *options,
                  void (*commit)(interloper *), int times) {
  tm_begin(tm, 1);
  tm_schema(tm, 0, "0 a INT", "", "", options);
  *self = (interloper){.tm = tm, .times = times, .commit = commit};
  self->table = tm_table(tm, "");
  self->ops = tm->storage->ops;
  self->hooked = *self->ops;
  self->hooked.link = hooked_link;
  self->hooked.list = hooked_list;
  self->hooked.lock_folder = NULL; /* he comes in the middle of it */
  tm->storage->ops = &self->hooked;
  the = self;
}

static void end(table_maker *tm, interloper *self) {
  tm->storage->ops = self->ops;
  tn_table_release(self->table);
  tm_end(tm);
}

#define QUICK "bucket=-1;commit.min-retry-wait=1 ms;commit.max-retry-wait=2 ms"

static tarn_status append(table_maker *tm, interloper *self, const char *name,
                          tn_commit_result *result, tarn_error *err) {
  tn_commit_options options = cm_user("u");
  tn_committable c = cm_begin(7);
  cm_file(tm, &c, CM_NEW, tm_entry(name, 1));
  return tn_commit_append(self->table, &options, &c, result, err);
}

static void append__goes_behind_who_was_first(void **state) {
  table_maker tm;
  interloper other;
  tn_commit_result result;
  (void)state;
  begin(&tm, &other, QUICK, append_other, 3);
  OK(append(&tm, &other, "a", &result, err));
  assert_int_equal(result.last_id, 4);
  assert_int_equal(result.n_attempts, 4);
  assert_string_equal(cm_snapshot_text(&tm, 4), "APPEND u:7 rows=4(+1)");
  assert_string_equal(cm_entries(&tm, 4, 'b'), "+x1 | +x2 | +x3");
  assert_string_equal(cm_entries(&tm, 4, 'd'), "+a");
  /* Each snapshot has its manifest, its two lists; lost attempts leave nothing. */
  assert_int_equal(cm_count(&tm, "manifest"), 4 * 3);
  end(&tm, &other);
}

/* Java looks first and renames then: a snapshot of its own over the one that has come meanwhile. */
static void append__that_was_replaced_is_made_again(void **state) {
  table_maker tm;
  interloper other;
  tn_commit_result result;
  (void)state;
  begin(&tm, &other, QUICK, append_other, 2);
  other.replaces = true;
  OK(append(&tm, &other, "a", &result, err));
  assert_int_equal(result.first_id, 3);
  assert_int_equal(result.last_id, 3);
  assert_int_equal(result.n_attempts, 3);
  assert_string_equal(cm_snapshot_text(&tm, 3), "APPEND u:7 rows=3(+1)");
  assert_string_equal(cm_entries(&tm, 3, 'b'), "+x1 | +x2");
  assert_string_equal(cm_entries(&tm, 3, 'd'), "+a");
  /* Who has read ours may need their manifests still, or be about to expire them. */
  assert_int_equal(cm_count(&tm, "manifest"), 3 * 3 + 2 * 3);
  end(&tm, &other);
}

/* He who has looked before ours was there may rename long after. */
static void append__waits_for_who_may_replace_it(void **state) {
  table_maker tm;
  interloper other;
  tn_commit_result result;
  (void)state;
  begin(&tm, &other, QUICK, append_other, 0);
  other.hides = 5;
  OK(append(&tm, &other, "a", &result, err));
  assert_int_equal(other.n_looks, 5);
  assert_int_equal(result.last_id, 2);
  assert_string_equal(cm_entries(&tm, 2, 'b'), "+x0");
  assert_string_equal(cm_entries(&tm, 2, 'd'), "+a");
  end(&tm, &other);
}

/* Lost for good: the caller is told that it is a conflict, and tries again if he likes. */
static void append__gives_up_after_its_retries(void **state) {
  table_maker tm;
  interloper other;
  tn_commit_result result;
  tarn_error why;
  (void)state;
  begin(&tm, &other, QUICK ";commit.max-retries=2", append_other, 100);
  assert_int_equal(append(&tm, &other, "a", &result, &why), TARN_E_CONFLICT);
  assert_string_equal(why.message,
                      "db.t: Commit failed after 9223372036854775807 millis with 2 retries, there "
                      "maybe exist commit conflicts between multiple jobs.");
  assert_int_equal(result.n_attempts, 3);
  assert_int_equal(result.last_id, 0);
  assert_int_equal(cm_count(&tm, "manifest"), 3 * 3);
  end(&tm, &other);
}

static void append__gives_up_after_its_time(void **state) {
  table_maker tm;
  interloper other;
  tn_commit_result result;
  tarn_error why;
  (void)state;
  begin(&tm, &other, "bucket=-1;commit.min-retry-wait=5 ms;commit.timeout=1 ms", append_other, 100);
  assert_int_equal(append(&tm, &other, "a", &result, &why), TARN_E_TIMEOUT);
  assert_contains(why.message, "Commit failed after 1 millis with ");
  assert_true(result.n_attempts >= 1 && result.n_attempts < 5);
  end(&tm, &other);
}

/* Another process of the same job was first with the same commit: it is there once (C2). */
static void append__of_a_twin_is_found(void **state) {
  table_maker tm;
  interloper other;
  tn_commit_result result;
  (void)state;
  begin(&tm, &other, QUICK, append_twin, 1);
  OK(append(&tm, &other, "a", &result, err));
  assert_int_equal(result.last_id, 1);
  assert_string_equal(cm_entries(&tm, 1, 'd'), "+a");
  assert_int_equal(cm_count(&tm, "snapshot"), 2);
  assert_int_equal(cm_count(&tm, "manifest"), 3);
  end(&tm, &other);
}

static void merged_manifests__are_taken_along(void **state) {
  table_maker tm;
  interloper other;
  tn_commit_result result;
  (void)state;
  begin(&tm, &other, QUICK, append_other, 0);
  (void)append(&tm, &other, "a", &result, NULL);
  (void)append(&tm, &other, "b", &result, NULL);
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
  end(&tm, &other);
}

/* Somebody else merges meanwhile, too: no second merge, and the first one goes. */
static void merged_manifests__of_two_at_once_are_not_made_twice(void **state) {
  table_maker tm;
  interloper other;
  tn_commit_result result;
  (void)state;
  begin(&tm, &other, QUICK ";manifest.merge-min-count=2", append_other, 0);
  (void)append(&tm, &other, "a", &result, NULL);
  (void)append(&tm, &other, "b", &result, NULL);
  other.times = 1;
  OK(append(&tm, &other, "c", &result, err));
  assert_string_equal(cm_entries(&tm, 3, 'b'), "+a +b");
  assert_string_equal(cm_entries(&tm, 4, 'b'), "+a +b | +x1");
  assert_int_equal(cm_count(&tm, "manifest"), 4 * 3 + 1);
  end(&tm, &other);
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
  begin(&tm, &other, QUICK, overwrite_all, 0);
  OK(append(&tm, &other, "a", &result, err));
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
  end(&tm, &other);
}

/* An overwrite takes away what was appended meanwhile. */
static void overwrite__sees_what_came_meanwhile(void **state) {
  table_maker tm;
  interloper other;
  tn_commit_options options = cm_user("u");
  tn_committable c = cm_begin(7);
  tn_commit_result result;
  (void)state;
  begin(&tm, &other, QUICK, append_other, 2);
  cm_file(&tm, &c, CM_NEW, tm_entry("new", 1));
  OK(tn_commit_overwrite(other.table, &options, &c, NULL, false, &result, err));
  assert_int_equal(result.last_id, 3);
  assert_string_equal(cm_snapshot_text(&tm, 3), "OVERWRITE u:7 rows=1(-1)");
  assert_string_equal(cm_entries(&tm, 3, 'd'), "-x1 -x2 +new");
  assert_int_equal(cm_count(&tm, "manifest"), 3 * 3);
  end(&tm, &other);
}

/* A disk that refuses the name: at once, nothing is left. */
static void append__tells_what_the_disk_says(void **state) {
  table_maker tm;
  interloper other;
  tn_commit_result result;
  tarn_error why;
  (void)state;
  begin(&tm, &other, QUICK, append_other, 0);
  other.link_errno = ENOSPC;
  assert_int_equal(append(&tm, &other, "a", &result, &why), TARN_E_IO);
  assert_int_equal(why.os_errno, ENOSPC);
  assert_int_equal(result.n_attempts, 1);
  assert_int_equal(cm_count(&tm, "manifest"), 0);
  assert_int_equal(cm_count(&tm, "snapshot"), 0);
  end(&tm, &other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(append__goes_behind_who_was_first),
      cmocka_unit_test(append__that_was_replaced_is_made_again),
      cmocka_unit_test(append__waits_for_who_may_replace_it),
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
