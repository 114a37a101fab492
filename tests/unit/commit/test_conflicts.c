/* test_conflicts.c - what may not follow what, in Java's words. */
#include "commit_maker.h"
#include "support/test.h"

#define MAX_STEPS 6

/* One file of a message: its role, name, level, keys, partition and bucket count. */
typedef struct step {
  cm_role role;
  const char *name;
  int32_t level, min, max;
  int32_t bucket, total_buckets;
} step;

typedef struct conflict_case {
  const char *what;
  step before[MAX_STEPS], after[MAX_STEPS];
  const char *part; /* of the message; NULL: no conflict */
} conflict_case;

static tn_table *keyed_table(table_maker *tm, const char *options) {
  tm_begin(tm, 1);
  tm_schema(tm, 0, "0 k INT NOT NULL|1 v STRING", "", "k", options);
  return tm_table(tm, "");
}

static void end(table_maker *tm, tn_table *table) {
  tn_table_release(table);
  tm_end(tm);
}

static void add_steps(table_maker *tm, tn_committable *c, const step *steps) {
  for (int i = 0; i < MAX_STEPS && steps[i].name != NULL; i++) {
    tn_manifest_entry e =
        tm_entry_keyed(tm, steps[i].name, steps[i].level, steps[i].min, steps[i].max);
    e.bucket = steps[i].bucket;
    e.total_buckets = steps[i].total_buckets != 0 ? steps[i].total_buckets : 2;
    cm_file(tm, c, steps[i].role, e);
  }
}

static const conflict_case cases[] = {
    {"a file that is not there",
     {{CM_NEW, "a", 0, 1, 5}},
     {{CM_BEFORE, "b", 0, 1, 5}},
     "File deletion conflicts detected! Give up committing. Trying to delete file b for table db.t "
     "which is not previously added. Base commit user is: first; Current commit user is: second"},
    {"a file that is there at another level",
     {{CM_NEW, "a", 0, 1, 5}},
     {{CM_BEFORE, "a", 1, 1, 5}},
     "Trying to delete file a"},
    {"a file in another bucket",
     {{CM_NEW, "a", 0, 1, 5, 0}},
     {{CM_BEFORE, "a", 0, 1, 5, 1}},
     "Trying to delete file a"},
    {"a compaction of what is there",
     {{CM_NEW, "a", 0, 1, 5}},
     {{CM_BEFORE, "a", 0, 1, 5}, {CM_AFTER, "b", 5, 1, 5}},
     NULL},
    {"a file that moves to another level",
     {{CM_NEW, "a", 0, 1, 5}},
     {{CM_BEFORE, "a", 0, 1, 5}, {CM_AFTER, "a", 5, 1, 5}},
     NULL},
    {"a file that is there already",
     {{CM_NEW, "a", 0, 1, 5}},
     {{CM_AFTER, "a", 0, 1, 5}},
     "Trying to add file a which is already in the the map."},
    {"a file twice in one commit",
     {{CM_NEW, "a", 0, 1, 5}},
     {{CM_AFTER, "b", 0, 1, 5}, {CM_AFTER, "b", 0, 1, 5}},
     "Trying to add file b which is already in the the map."},
    {"level 0 overlaps as it likes", {{CM_NEW, "a", 0, 1, 5}}, {{CM_AFTER, "b", 0, 2, 9}}, NULL},
    {"files of a level that overlap",
     {{CM_NEW, "a", 3, 1, 5}},
     {{CM_AFTER, "b", 3, 5, 9}},
     "LSM conflicts detected! Give up committing. Conflict files are: {}, bucket 0, level 3, file "
     "a and file b."},
    {"files of a level that do not", {{CM_NEW, "a", 3, 1, 5}}, {{CM_AFTER, "b", 3, 6, 9}}, NULL},
    {"keys are numbers, not bytes", {{CM_NEW, "a", 3, -9, -1}}, {{CM_AFTER, "b", 3, 0, 300}}, NULL},
    {"keys are numbers, not bytes: 256 is behind 255",
     {{CM_NEW, "a", 3, 1, 255}},
     {{CM_AFTER, "b", 3, 256, 300}},
     NULL},
    {"overlap in another bucket", {{CM_NEW, "a", 3, 1, 5, 0}}, {{CM_AFTER, "b", 3, 5, 9, 1}}, NULL},
    {"overlap at another level", {{CM_NEW, "a", 3, 1, 5}}, {{CM_AFTER, "b", 4, 5, 9}}, NULL},
    {"overlap inside of the commit",
     {{CM_NEW, "a", 0, 1, 5}},
     {{CM_AFTER, "b", 3, 1, 5}, {CM_AFTER, "c", 3, 4, 9}},
     "LSM conflicts detected!"},
    {"overlap with what goes",
     {{CM_NEW, "a", 3, 1, 5}},
     {{CM_BEFORE, "a", 3, 1, 5}, {CM_AFTER, "b", 3, 1, 9}},
     NULL},
    {"another bucket count",
     {{CM_NEW, "a", 0, 1, 5, 0, 2}},
     {{CM_AFTER, "b", 0, 1, 5, 0, 4}},
     "Total buckets of partition {} changed from 2 to 4 without overwrite. Give up committing."},
};

static void compaction__conflicts(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
    table_maker tm;
    tn_table *table = keyed_table(&tm, "bucket=2");
    tn_committable before = cm_begin(1), after = cm_begin(1);
    tn_commit_options options = cm_user("second");
    tn_commit_result result;
    tarn_error why = {0};
    tarn_status st;
    int files;
    add_steps(&tm, &before, cases[i].before);
    (void)cm_append(table, "first", &before);
    files = cm_count(&tm, "manifest");
    add_steps(&tm, &after, cases[i].after);
    st = tn_commit_append(table, &options, &after, &result, &why);
    if (cases[i].part == NULL && st != TARN_OK) {
      fail_msg("%s: %s", cases[i].what, why.message);
    }
    if (cases[i].part != NULL) {
      if (st != TARN_E_CONFLICT) {
        fail_msg("%s: no conflict", cases[i].what);
      }
      assert_contains(why.message, cases[i].part);
      assert_int_equal(result.n_attempts, 1); /* C3 */
      assert_int_equal(cm_count(&tm, "manifest"), files);
      assert_int_equal(cm_count(&tm, "snapshot"), 2);
    }
    end(&tm, table);
  }
}

/* A plain append is not looked at unless asked for. */
static void append__conflicts_if_it_is_checked(void **state) {
  table_maker tm;
  tn_table *table = keyed_table(&tm, "bucket=2");
  tn_commit_options options = cm_user("u");
  tn_committable c = cm_begin(1);
  tn_commit_result result;
  tarn_error why;
  (void)state;
  cm_file(&tm, &c, CM_NEW, tm_entry_keyed(&tm, "a", 0, 1, 5));
  c.messages[0].total_buckets = 2;
  OK(tn_commit_append(table, &options, &c, &result, err));
  options.checks_appends = true;
  assert_int_equal(tn_commit_append(table, &options, &c, &result, &why), TARN_E_CONFLICT);
  options.checks_appends = false;
  OK(tn_commit_append(table, &options, &c, &result, err));
  assert_int_equal(result.last_id, 2);
  end(&tm, table);
}

/* A deletion of what somebody else has deleted. */
static void compaction__of_two_at_once_conflicts(void **state) {
  table_maker tm;
  tn_table *table = keyed_table(&tm, "bucket=1");
  tn_commit_options options = cm_user("late");
  tn_committable first = cm_begin(1), one = cm_begin(2), two = cm_begin(2);
  tn_commit_result result;
  tarn_error why;
  (void)state;
  cm_file(&tm, &first, CM_NEW, tm_entry_keyed(&tm, "a", 0, 1, 5));
  cm_file(&tm, &one, CM_BEFORE, tm_entry_keyed(&tm, "a", 0, 1, 5));
  cm_file(&tm, &one, CM_AFTER, tm_entry_keyed(&tm, "b", 5, 1, 5));
  cm_file(&tm, &two, CM_NEW, tm_entry_keyed(&tm, "c", 0, 1, 5));
  cm_file(&tm, &two, CM_BEFORE, tm_entry_keyed(&tm, "a", 0, 1, 5));
  cm_file(&tm, &two, CM_AFTER, tm_entry_keyed(&tm, "d", 5, 1, 5));
  (void)cm_append(table, "u", &first);
  (void)cm_append(table, "u", &one);
  assert_int_equal(tn_commit_append(table, &options, &two, &result, &why), TARN_E_CONFLICT);
  assert_contains(why.message, "Trying to delete file a");
  assert_int_equal(result.last_id, 3); /* C5: its append stays */
  assert_string_equal(cm_snapshot_text(&tm, 3), "APPEND late:2 rows=10(+5)");
  end(&tm, table);
}

static bool is_expired(void *ctx, tn_slice partition) {
  return tn_slice_equal(partition, *(tn_slice *)ctx);
}

static void deletion__in_an_expired_partition_is_told_as_late_data(void **state) {
  table_maker tm;
  tn_commit_options options = cm_user("u");
  tn_committable c = cm_begin(1), first = cm_begin(1);
  tn_commit_result result;
  tn_table *table;
  tarn_error why;
  tn_slice old;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 p INT|1 v STRING", "p", "", "bucket=-1");
  table = tm_table(&tm, "");
  old = tm_row(&tm, "INT", "1");
  cm_file(&tm, &first, CM_NEW, tm_entry_in(&tm, 2, "x", 1));
  (void)cm_append(table, "u", &first);
  cm_file(&tm, &c, CM_BEFORE, tm_entry_in(&tm, 1, "a", 1));
  options.is_expired = is_expired;
  options.is_expired_ctx = &old;
  assert_int_equal(tn_commit_append(table, &options, &c, &result, &why), TARN_E_CONFLICT);
  assert_contains(why.message, "You are writing data to expired partitions");
  assert_contains(why.message, "[{p=1}]");
  cm_file(&tm, &c, CM_BEFORE, tm_entry_in(&tm, 2, "b", 1));
  assert_int_equal(tn_commit_append(table, &options, &c, &result, &why), TARN_E_CONFLICT);
  assert_contains(why.message, "File deletion conflicts detected!");
  end(&tm, table);
}

/* Only partitions that change are read: what is wrong elsewhere does not matter. */
static void conflicts__are_those_of_the_changed_partitions(void **state) {
  table_maker tm;
  tn_committable broken = cm_begin(1), c = cm_begin(2);
  tn_table *table;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 p INT|1 v STRING", "p", "", "bucket=-1");
  table = tm_table(&tm, "");
  cm_file(&tm, &broken, CM_NEW, tm_entry_in(&tm, 1, "a", 1));
  cm_file(&tm, &broken, CM_NEW, tm_entry_in(&tm, 2, "b", 1));
  (void)cm_append(table, "u", &broken);
  broken.n_messages = 1;
  (void)cm_append(table, "u", &broken); /* "a" twice */
  cm_file(&tm, &c, CM_BEFORE, tm_entry_in(&tm, 2, "b", 1));
  assert_int_equal(cm_append(table, "u", &c), 3);
  end(&tm, table);
}

/* ------------------------------------------------------------------ bucket counts of appends */

static void append__with_an_old_bucket_count_conflicts_behind_a_rescale(void **state) {
  table_maker tm;
  tn_table *table = keyed_table(&tm, "bucket=2");
  tn_commit_options options = cm_user("u");
  tn_committable first = cm_begin(1), rescaled = cm_begin(2), late = cm_begin(3);
  tn_manifest_entry e = tm_entry_keyed(&tm, "a", 0, 1, 5);
  tn_commit_result result;
  tn_table *wider;
  tarn_error why;
  (void)state;
  e.total_buckets = 2;
  cm_file(&tm, &first, CM_NEW, e);
  (void)cm_append(table, "u", &first);
  tm_schema(&tm, 1, "0 k INT NOT NULL|1 v STRING", "", "k", "bucket=4");
  wider = tm_table(&tm, "");
  e = tm_entry_keyed(&tm, "b", 0, 1, 5);
  e.total_buckets = 4;
  cm_file(&tm, &rescaled, CM_NEW, e);
  OK(tn_commit_overwrite(wider, &options, &rescaled, NULL, false, &result, err));
  e = tm_entry_keyed(&tm, "c", 0, 1, 5);
  e.total_buckets = 2;
  cm_file(&tm, &late, CM_NEW, e);
  assert_int_equal(tn_commit_append(table, &options, &late, &result, &why), TARN_E_CONFLICT);
  assert_contains(why.message, "changed from 4 to 2 without overwrite");
  tn_table_release(wider);
  end(&tm, table);
}

static void append__of_two_bucket_counts_conflicts_in_the_first_snapshot(void **state) {
  table_maker tm;
  tn_table *table = keyed_table(&tm, "bucket=2");
  tn_commit_options options = cm_user("u");
  tn_committable c = cm_begin(1);
  tn_commit_result result;
  tarn_error why;
  (void)state;
  cm_file(&tm, &c, CM_NEW, tm_entry_keyed(&tm, "a", 0, 1, 5));
  cm_file(&tm, &c, CM_NEW, tm_entry_keyed(&tm, "b", 0, 1, 5));
  c.messages[1].total_buckets = 2;
  assert_int_equal(tn_commit_append(table, &options, &c, &result, &why), TARN_E_CONFLICT);
  assert_contains(why.message, "changed from 1 to 2 without overwrite");
  end(&tm, table);
}

/* ------------------------------------------------------------------ deletion vectors */

static tn_table *vector_table(table_maker *tm) {
  tm_begin(tm, 1);
  tm_schema(tm, 0, "0 a INT", "", "", "bucket=-1;deletion-vectors.enabled=true");
  return tm_table(tm, "");
}

static tn_committable two_files(table_maker *tm) {
  tn_committable c = cm_begin(1);
  cm_file(tm, &c, CM_NEW, tm_entry("a", 3));
  cm_file(tm, &c, CM_NEW, tm_entry("b", 3));
  return c;
}

static tarn_status change_vectors(table_maker *tm, tn_table *table, const char *user,
                                  const char *old_name, const char *new_name, const char *files,
                                  tarn_error *err) {
  tn_commit_options options = cm_user(user);
  tn_committable c = cm_begin(2);
  tn_commit_result result;
  if (old_name != NULL) {
    cm_index(tm, &c, CM_DELETED, cm_index_entry(tm, "DELETION_VECTORS", old_name, files));
  }
  cm_index(tm, &c, CM_NEW, cm_index_entry(tm, "DELETION_VECTORS", new_name, files));
  return tn_commit_append(table, &options, &c, &result, err);
}

static void vectors__of_two_jobs_for_one_file_conflict(void **state) {
  table_maker tm;
  tn_table *table = vector_table(&tm);
  tn_committable c = two_files(&tm);
  tarn_error why;
  (void)state;
  (void)cm_append(table, "u", &c);
  OK(change_vectors(&tm, table, "u", NULL, "dv1", "a", err));
  assert_string_equal(cm_snapshot_text(&tm, 2), "OVERWRITE u:2 rows=6(+0) index");
  assert_int_equal(change_vectors(&tm, table, "v", NULL, "dv2", "a", &why), TARN_E_CONFLICT);
  assert_contains(why.message, "File deletion conflicts detected!");
  OK(change_vectors(&tm, table, "v", NULL, "dv2", "b", err));
  OK(change_vectors(&tm, table, "w", "dv1", "dv3", "a", err));
  assert_int_equal(change_vectors(&tm, table, "x", "dv1", "dv4", "a", &why), TARN_E_CONFLICT);
  assert_string_equal(cm_indexes(&tm, 4), "dv2 dv3");
  end(&tm, table);
}

static void vectors__of_a_file_that_is_gone_conflict(void **state) {
  table_maker tm;
  tn_table *table = vector_table(&tm);
  tn_committable c = two_files(&tm);
  tarn_error why;
  (void)state;
  (void)cm_append(table, "u", &c);
  assert_int_equal(change_vectors(&tm, table, "v", NULL, "dv", "x", &why), TARN_E_CONFLICT);
  assert_contains(why.message,
                  "Trying to create deletion vector on file x which is not previously added.");
  end(&tm, table);
}

/* A compaction that began before rows were deleted would bring them back. */
static void vectors__of_a_compacted_file_conflict_if_they_are_new(void **state) {
  table_maker tm;
  tn_table *table;
  tn_commit_options options = cm_user("v");
  tn_committable c, blind = cm_begin(3), knowing = cm_begin(3);
  tn_commit_result result;
  tarn_error why;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 a INT", "", "", "bucket=1;bucket-key=a;deletion-vectors.enabled=true");
  table = tm_table(&tm, "");
  c = two_files(&tm);
  (void)cm_append(table, "u", &c);
  OK(change_vectors(&tm, table, "u", NULL, "dv1", "a", err));
  cm_file(&tm, &blind, CM_BEFORE, tm_entry("a", 3));
  cm_file(&tm, &blind, CM_AFTER, tm_entry("c", 3));
  assert_int_equal(tn_commit_append(table, &options, &blind, &result, &why), TARN_E_CONFLICT);
  assert_contains(why.message,
                  "Trying to delete file a, which has got another deletion vector meanwhile.");
  cm_file(&tm, &knowing, CM_BEFORE, tm_entry("a", 3));
  cm_file(&tm, &knowing, CM_AFTER, tm_entry("c", 2));
  cm_index(&tm, &knowing, CM_COMPACT_DELETED, cm_index_entry(&tm, "DELETION_VECTORS", "dv1", "a"));
  OK(tn_commit_append(table, &options, &knowing, &result, err));
  assert_string_equal(cm_indexes(&tm, 3), "");
  end(&tm, table);
}

/* Two compactions that began at once: each knows what its vectors replace, and the later one goes.
 */
static void vectors__conflict_with_others_that_came_meanwhile(void **state) {
  /* What each of them says that it replaces: its own file says that there was none. */
  static const char *const says[][2] = {{"dv1", "dv2"}, {"dv0", "dv0"}, {"dv0", "dv2"}};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(says); i++) {
    table_maker tm;
    tn_table *table;
    tn_commit_options options = cm_user("v");
    tn_committable c;
    tn_commit_result result;
    tarn_error why;
    tm_begin(&tm, 1);
    tm_schema(&tm, 0, "0 a INT NOT NULL", "", "a", "bucket=1;deletion-vectors.enabled=true");
    table = tm_table(&tm, "");
    if (says[i][0][2] == '0') {
      c = cm_begin(1);
      cm_index(&tm, &c, CM_AFTER, cm_index_entry(&tm, "DELETION_VECTORS", "dv0", "a"));
      OK(tn_commit_append(table, &options, &c, &result, err));
    }
    for (int k = 0; k < 2; k++) {
      const char *name = k == 0 ? "dv1" : "dv2";
      c = cm_begin(2 + k);
      cm_index(&tm, &c, CM_COMPACT_DELETED,
               cm_index_entry(&tm, "DELETION_VECTORS", says[i][k], "a"));
      cm_index(&tm, &c, CM_AFTER, cm_index_entry(&tm, "DELETION_VECTORS", name, "a"));
      if (k == 0) {
        OK(tn_commit_append(table, &options, &c, &result, err));
      } else {
        assert_int_equal(tn_commit_append(table, &options, &c, &result, &why), TARN_E_CONFLICT);
        assert_contains(why.message, "deletion vectors of a bucket have been changed meanwhile");
      }
    }
    end(&tm, table);
  }
}

/* ------------------------------------------------------------------ discarded duplicates */

static void duplicates__are_dropped_if_the_table_says_so(void **state) {
  table_maker tm;
  tn_table *table;
  tn_committable c;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 a INT", "", "", "bucket=-1;commit.discard-duplicate-files=true");
  table = tm_table(&tm, "");
  c = two_files(&tm);
  (void)cm_append_one(&tm, table, "u", 1, "a", 3);
  assert_int_equal(cm_append(table, "u", &c), 2);
  assert_string_equal(cm_entries(&tm, 2, 'd'), "+b");
  assert_string_equal(cm_snapshot_text(&tm, 2), "APPEND u:1 rows=6(+3)");
  end(&tm, table);
}

/* ------------------------------------------------------------------ strict mode */

static tarn_status strict_commit(table_maker *tm, const char *safe, cm_role role, tarn_error *err) {
  char dynamic[100];
  tn_committable c = cm_begin(7);
  tn_commit_options options = cm_user("strict");
  tn_commit_result result;
  tn_table *table;
  tarn_status st;
  snprintf(dynamic, sizeof(dynamic), "commit.strict-mode.last-safe-snapshot=%s", safe);
  table = tm_table(tm, dynamic);
  cm_file(tm, &c, role, tm_entry_keyed(tm, role == CM_DELETED ? "a" : "n", 0, 1, 5));
  st = tn_commit_append(table, &options, &c, &result, err);
  tn_table_release(table);
  return st;
}

static void strict_mode__fails_on_what_others_did(void **state) {
  table_maker tm;
  tn_table *table = keyed_table(&tm, "bucket=1");
  tn_committable first = cm_begin(1), compaction = cm_begin(2);
  tarn_error why;
  (void)state;
  cm_file(&tm, &first, CM_NEW, tm_entry_keyed(&tm, "a", 0, 1, 5));
  (void)cm_append(table, "other", &first);
  OK(strict_commit(&tm, "0", CM_NEW, err)); /* an APPEND before an APPEND */
  assert_int_equal(strict_commit(&tm, "0", CM_DELETED, &why), TARN_E_CONFLICT);
  assert_string_equal(why.message,
                      "When trying to commit snapshot 3, commit user strict has found a APPEND "
                      "snapshot (id: 1) by another user other which committed files to fixed "
                      "bucket. Giving up committing as commit.strict-mode.last-safe-snapshot is "
                      "set.");
  OK(strict_commit(&tm, "1", CM_DELETED, err));
  cm_file(&tm, &compaction, CM_AFTER, tm_entry_keyed(&tm, "z", 0, 1, 5));
  (void)cm_append(table, "other", &compaction);
  assert_int_equal(strict_commit(&tm, "3", CM_NEW, &why), TARN_E_CONFLICT);
  assert_contains(why.message, "has found a COMPACT snapshot (id: 4) by another user other. ");
  OK(strict_commit(&tm, "4", CM_NEW, err));
  end(&tm, table);
}

static void strict_mode__looks_back_to_the_safe_snapshot_only(void **state) {
  table_maker tm;
  tn_table *table = keyed_table(&tm, "bucket=1"), *strict;
  tn_committable first = cm_begin(5);
  int64_t identifier;
  bool has_one;
  (void)state;
  cm_file(&tm, &first, CM_NEW, tm_entry_keyed(&tm, "a", 0, 1, 5));
  (void)cm_append(table, "u", &first);
  strict = tm_table(&tm, "commit.strict-mode.last-safe-snapshot=1");
  OK(tn_commit_last_identifier(strict, "u", &has_one, &identifier, err));
  assert_false(has_one);
  OK(tn_commit_last_identifier(table, "u", &has_one, &identifier, err));
  assert_true(has_one);
  tn_table_release(strict);
  end(&tm, table);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(compaction__conflicts),
      cmocka_unit_test(compaction__of_two_at_once_conflicts),
      cmocka_unit_test(append__conflicts_if_it_is_checked),
      cmocka_unit_test(append__with_an_old_bucket_count_conflicts_behind_a_rescale),
      cmocka_unit_test(append__of_two_bucket_counts_conflicts_in_the_first_snapshot),
      cmocka_unit_test(deletion__in_an_expired_partition_is_told_as_late_data),
      cmocka_unit_test(conflicts__are_those_of_the_changed_partitions),
      cmocka_unit_test(vectors__of_two_jobs_for_one_file_conflict),
      cmocka_unit_test(vectors__of_a_file_that_is_gone_conflict),
      cmocka_unit_test(vectors__of_a_compacted_file_conflict_if_they_are_new),
      cmocka_unit_test(vectors__conflict_with_others_that_came_meanwhile),
      cmocka_unit_test(duplicates__are_dropped_if_the_table_says_so),
      cmocka_unit_test(strict_mode__fails_on_what_others_did),
      cmocka_unit_test(strict_mode__looks_back_to_the_safe_snapshot_only),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
