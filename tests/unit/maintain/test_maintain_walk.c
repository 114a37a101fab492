/* test_maintain_walk.c - maintenance that dies, or loses power, at each of its calls: the table
 * stays readable, nothing that is named is missing, and a second run completes it.
 */
#include <errno.h>

#include "maintain/branches.h"
#include "maintain/consumers.h"
#include "maintain/rollback.h"
#include "maintain/tags.h"
#include "maintain_maker.h"
#include "support/test.h"

#define MAX_STEPS 400

typedef struct walk_case {
  const char *name;
  const char *options;
  void (*make)(maintain_maker *mm);
  tarn_status (*run)(tn_table *table, tarn_error *err);
  /* What a second run may say when the first did all. */
  tarn_status again;
} walk_case;

/* ------------------------------------------------------------------ tables and operations */

static void make_history(maintain_maker *mm) {
  mm_commit(mm, "+a ~u");
  mm_commit(mm, "+b ~v");
  OK(tn_tag_create(mm->table, "two", 2, TN_TAG_RETAINED_FOREVER, err));
  mm_commit(mm, "-a -b ^C");
  mm_commit(mm, "+d ~w");
  OK(tn_tag_create(mm->table, "four", 4, TN_TAG_RETAINED_FOREVER, err));
  mm_commit(mm, "_C -d ^E");
  mm_commit(mm, "+f ~x");
}

static void make_expired(maintain_maker *mm) {
  make_history(mm);
  mm_expire(mm, 1, 1);
}

static void make_with_branch(maintain_maker *mm) {
  tn_table *branch;
  mm_commit(mm, "+a");
  mm_commit(mm, "+b");
  OK(tn_tag_create(mm->table, "base", 1, TN_TAG_RETAINED_FOREVER, err));
  OK(tn_branch_create(mm->table, "b", "base", err));
  mm_commit(mm, "+c");
  OK(tn_tag_create(mm->table, "later", 3, TN_TAG_RETAINED_FOREVER, err));
  branch = mm_branch(mm, "b");
  mm_commit_to(mm, branch, "+d");
  mm_commit_to(mm, branch, "-a -d ^E");
  tn_table_release(branch);
}

static tarn_status run_expire(tn_table *table, tarn_error *err) {
  tn_expire_request request = {.older_than_ms = INT64_MAX / 2, .retain_max = 2, .retain_min = 1};
  return tn_expire_snapshots(table, &request, NULL, err);
}

static tarn_status run_expire_with_changelogs(tn_table *table, tarn_error *err) {
  tn_expire_request request = {.older_than_ms = INT64_MAX / 2};
  TN_TRY(tn_expire_snapshots(table, &request, NULL, err));
  return tn_expire_changelogs(table, &request, NULL, err);
}

static tarn_status run_tag_delete(tn_table *table, tarn_error *err) {
  return tn_tag_delete(table, "two", err);
}

static tarn_status run_tag_create(tn_table *table, tarn_error *err) {
  return tn_tag_create(table, "new", 0, 1000, err);
}

static tarn_status run_tag_rename(tn_table *table, tarn_error *err) {
  return tn_tag_rename(table, "two", "new", err);
}

static tarn_status run_rollback(tn_table *table, tarn_error *err) {
  return tn_rollback_to_snapshot(table, 2, err);
}

static tarn_status run_rollback_to_tag(tn_table *table, tarn_error *err) {
  return tn_rollback_to_tag(table, "two", err);
}

static tarn_status run_branch_create(tn_table *table, tarn_error *err) {
  return tn_branch_create(table, "new", "two", err);
}

static tarn_status run_branch_delete(tn_table *table, tarn_error *err) {
  return tn_branch_delete(table, "b", err);
}

static tarn_status run_fast_forward(tn_table *table, tarn_error *err) {
  return tn_branch_fast_forward(table, "b", err);
}

static tarn_status run_consumer(tn_table *table, tarn_error *err) {
  return tn_consumer_set(table, "c", 7, err);
}

#define LONG_CHANGELOGS                                      \
  "snapshot.num-retained.min=1;snapshot.num-retained.max=2;" \
  "changelog.num-retained.min=3;changelog.num-retained.max=3;changelog.time-retained=0 ms"

static const walk_case cases[] = {
    {"expire", "changelog-producer=input", make_history, run_expire, TARN_OK},
    {"expire_folders", "snapshot.clean-empty-directories=true", make_history, run_expire, TARN_OK},
    {"expire_changelogs", LONG_CHANGELOGS, make_history, run_expire_with_changelogs, TARN_OK},
    {"expire_produced_changelogs", "changelog-producer=input;" LONG_CHANGELOGS, make_history,
     run_expire_with_changelogs, TARN_OK},
    {"tag_delete", "", make_expired, run_tag_delete, TARN_E_NOT_FOUND},
    {"tag_create", "", make_history, run_tag_create, TARN_E_EXISTS},
    {"tag_rename", "", make_history, run_tag_rename, TARN_E_NOT_FOUND},
    {"rollback", "", make_history, run_rollback, TARN_OK},
    {"rollback_to_tag", "", make_expired, run_rollback_to_tag, TARN_OK},
    {"branch_create", "", make_expired, run_branch_create, TARN_E_EXISTS},
    {"branch_delete", "", make_with_branch, run_branch_delete, TARN_E_NOT_FOUND},
    {"fast_forward", "", make_with_branch, run_fast_forward, TARN_OK},
    {"consumer", "", make_history, run_consumer, TARN_OK},
};

/* ------------------------------------------------------------------ walking */

/* How the call fails. */
typedef enum walk_way {
  WRITES_FAIL,      /* a step of writing, and the process is dead */
  WRITES_ARE_DONE,  /* the same, but the step was carried out */
  WRITES_FAIL_ONCE, /* an error that is handed on */
  READS_FAIL,       /* likewise of a read */
  POWER_FAILS,      /* the process is dead, and what was not synced is forgotten */
  N_WAYS
} walk_way;

static tn_table *table_on(maintain_maker *mm, tn_storage *storage) {
  tn_table *table = NULL;
  OK(tn_table_create(mm->tm.env, storage, "db.t", "/t", "main", "/t", mm->tm.schema, NULL, 0,
                     &table, err));
  return table;
}

/* A list of names without those of temporary files, and without hints if they may be torn. */
static const char *without_noise(maintain_maker *mm, const char *list, bool without_hints) {
  char *copy = tn_arena_strdup(&mm->tm.arena, list), *rest = copy;
  const char *text = "";
  assert_non_null(copy);
  for (char *word; (word = strtok_r(rest, " ", &rest)) != NULL;) {
    size_t n = strlen(word);
    bool is_temporary = word[0] == '.' && n > 4 && strcmp(word + n - 4, ".tmp") == 0;
    if (!is_temporary && !(without_hints && strchr(word, '=') != NULL)) {
      text = tn_arena_printf(&mm->tm.arena, "%s %s", text, word);
      assert_non_null(text);
    }
  }
  return text;
}

/* What is left, as text: all folders of a table. Names of tags that are hidden count. */
static const char *state_of(maintain_maker *mm, bool without_hints) {
  static const char *const folders[] = {"snapshot",        "tag",      "changelog",
                                        "consumer",        "branch",   "branch/branch-new",
                                        "branch/branch-b", "bucket-0", "schema"};
  const char *text = "";
  for (size_t i = 0; i < TN_COUNT(folders); i++) {
    text = tn_arena_printf(&mm->tm.arena, "%s%s:%s\n", text, folders[i],
                           without_noise(mm, mm_list(mm, folders[i]), without_hints));
    assert_non_null(text);
  }
  return text;
}

static const char *whole_state(const walk_case *c, bool without_hints) {
  static char text[8192];
  maintain_maker mm;
  mm_begin(&mm, c->options);
  c->make(&mm);
  OK(c->run(mm.table, err));
  snprintf(text, sizeof(text), "%smanifests %d", state_of(&mm, without_hints),
           mm_count(&mm, "manifest"));
  mm_check(&mm);
  mm_end(&mm);
  return text;
}

static void settle_file(maintain_maker *mm, const char *path) {
  tn_buf text;
  tn_buf_init(&text, &mm->tm.env->mem, 4096);
  if (tn_storage_read_all(mm->tm.storage, path, &text, NULL) == TARN_OK) {
    OK(tn_storage_memory_put(mm->tm.storage, path, tn_buf_slice(&text), err));
  }
  tn_buf_reset(&text);
}

/* What was prepared has reached the disk, removals and hints too. */
static void settle(maintain_maker *mm) {
  static const char *const folders[] = {
      "/t/snapshot", "/t/tag", "/t/changelog", "/t/bucket-0", "/t/manifest", "/t/branch", "/t"};
  for (size_t i = 0; i < TN_COUNT(folders); i++) {
    tarn_status st = tn_storage_sync_folder(mm->tm.storage, folders[i], NULL);
    assert_true(st == TARN_OK || st == TARN_E_NOT_FOUND);
  }
  settle_file(mm, "/t/snapshot/EARLIEST");
  settle_file(mm, "/t/snapshot/LATEST");
}

/* Returns false when the operation no longer meets the fault. */
static bool walk_step(const walk_case *c, walk_way way, int64_t at, const char *whole) {
  tn_storage_fault fault = {.os_errno = EIO};
  maintain_maker mm;
  tn_storage *faulty = NULL;
  tn_table *table;
  tarn_status st;
  const char *state;
  bool without_hints = way == POWER_FAILS;
  mm_begin(&mm, c->options);
  c->make(&mm);
  settle(&mm);
  fault.is_fatal = way == WRITES_FAIL || way == WRITES_ARE_DONE || way == POWER_FAILS;
  fault.is_done_anyway = way == WRITES_ARE_DONE;
  *(way == READS_FAIL ? &fault.fail_at_call : &fault.fail_at_write) = at;
  OK(tn_storage_faulty(mm.tm.storage, &fault, &faulty, err));
  table = table_on(&mm, faulty);
  fault.calls = fault.writes = 0;
  st = c->run(table, NULL);
  tn_table_release(table);
  if (way == POWER_FAILS) {
    tn_storage_memory_crash(mm.tm.storage);
  }
  mm_check(&mm);
  assert_non_null(tm_plan(&mm.tm, mm.table, NULL, -1));
  if (st != TARN_OK) {
    tarn_error why = {0};
    tarn_status again = c->run(mm.table, &why);
    if (again != TARN_OK && again != c->again) {
      fail_msg("%s, way %d, call %d: again: %s", c->name, (int)way, (int)at, why.message);
    }
  } else if (way == POWER_FAILS) {
    tarn_status again = c->run(mm.table, NULL);
    assert_true(again == TARN_OK || again == c->again);
  }
  state = tn_arena_printf(&mm.tm.arena, "%smanifests %d", state_of(&mm, without_hints),
                          mm_count(&mm, "manifest"));
  if (strcmp(state, whole) != 0) {
    fail_msg("%s, way %d, call %d:\n%s\ninstead of\n%s", c->name, (int)way, (int)at, state, whole);
  }
  mm_check(&mm);
  tn_storage_release(faulty);
  mm_end(&mm);
  return way == READS_FAIL ? fault.calls >= at : fault.writes >= at;
}

static void walk(void **state, walk_way way) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    const char *whole = whole_state(&cases[i], way == POWER_FAILS);
    int64_t at = 1;
    while (at < MAX_STEPS && walk_step(&cases[i], way, at, whole)) {
      at++;
    }
    assert_true((at > 1 || way == READS_FAIL) && at < MAX_STEPS);
  }
}

static void walk__dies_before_each_step(void **state) {
  walk(state, WRITES_FAIL);
}

static void walk__dies_behind_each_step(void **state) {
  walk(state, WRITES_ARE_DONE);
}

static void walk__hands_on_each_failure(void **state) {
  walk(state, WRITES_FAIL_ONCE);
}

static void walk__hands_on_each_failed_read(void **state) {
  walk(state, READS_FAIL);
}

static void walk__loses_power_at_each_step(void **state) {
  walk(state, POWER_FAILS);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(walk__dies_before_each_step),
      cmocka_unit_test(walk__dies_behind_each_step),
      cmocka_unit_test(walk__hands_on_each_failure),
      cmocka_unit_test(walk__hands_on_each_failed_read),
      cmocka_unit_test(walk__loses_power_at_each_step),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
