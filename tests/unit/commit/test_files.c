/* test_files.c - files of messages: are they there, and away with those that are not committed. */
#include "commit_maker.h"
#include "support/test.h"

static tn_table *make_table(table_maker *tm, const char *options) {
  tm_begin(tm, 1);
  tm_schema(tm, 0, "0 a INT", "", "", options);
  return tm_table(tm, "");
}

static void end(table_maker *tm, tn_table *table) {
  tn_table_release(table);
  tm_end(tm);
}

/* A message of every kind of file, all of which are there. */
static tn_committable everything(table_maker *tm) {
  static const char *const paths[] = {"bucket-0/new",     "bucket-0/new.index", "bucket-0/log",
                                      "bucket-0/after",   "bucket-0/moved",     "bucket-0/before",
                                      "bucket-0/c-log",   "index/dv",           "index/c-dv",
                                      "bucket-1/external"};
  tn_committable c = cm_begin(1);
  tn_manifest_entry e = tm_entry("new", 1);
  for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
    tm_put(tm, paths[i], "x");
  }
  e.file.extra_files = tm_texts(tm, "new.index");
  cm_file(tm, &c, CM_NEW, e);
  cm_file(tm, &c, CM_CHANGELOG, tm_entry("log", 1));
  cm_file(tm, &c, CM_AFTER, tm_entry("after", 1));
  cm_file(tm, &c, CM_BEFORE, tm_entry("before", 1));
  cm_file(tm, &c, CM_COMPACT_CHANGELOG, tm_entry("c-log", 1));
  cm_index(tm, &c, CM_NEW, cm_index_entry(tm, "HASH", "dv", NULL));
  cm_index(tm, &c, CM_AFTER, cm_index_entry(tm, "HASH", "c-dv", NULL));
  e = tm_entry("external", 1);
  e.file.has_external_path = true;
  e.file.external_path = tm_text("file:/t/bucket-1/external");
  cm_file(tm, &c, CM_NEW, e);
  /* A file that only moves to another level, in one message. */
  cm_file(tm, &c, CM_BEFORE, tm_entry("moved", 1));
  c.messages[c.n_messages - 1].compact_after = c.messages[c.n_messages - 1].compact_before;
  return c;
}

static void abort__removes_what_is_new(void **state) {
  table_maker tm;
  tn_table *table = make_table(&tm, "bucket=-1");
  tn_committable c = everything(&tm);
  (void)state;
  OK(tn_commit_abort(table, &c, err));
  assert_string_equal(cm_list(&tm, "bucket-0"), "before moved ");
  assert_int_equal(cm_count(&tm, "bucket-1"), 0);
  assert_int_equal(cm_count(&tm, "index"), 0);
  OK(tn_commit_abort(table, &c, err)); /* what is gone already is fine */
  end(&tm, table);
}

static void abort__finds_indexes_beside_data(void **state) {
  table_maker tm;
  tn_table *table = make_table(&tm, "bucket=-1;index-file-in-data-file-dir=true");
  tn_committable c = cm_begin(1);
  (void)state;
  tm_put(&tm, "bucket-0/dv", "x");
  cm_index(&tm, &c, CM_NEW, cm_index_entry(&tm, "HASH", "dv", NULL));
  OK(tn_commit_abort(table, &c, err));
  assert_int_equal(cm_count(&tm, "bucket-0"), 0);
  end(&tm, table);
}

static void check__names_each_missing_file(void **state) {
  static const char *const needed[] = {"bucket-0/new",     "bucket-0/new.index", "bucket-0/log",
                                       "bucket-0/after",   "index/dv",           "index/c-dv",
                                       "bucket-1/external"};
  (void)state;
  for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++) {
    table_maker tm;
    tn_table *table = make_table(&tm, "bucket=-1");
    tn_committable c = everything(&tm);
    char path[100];
    tarn_error why;
    OK(tn_commit_check_files(table, &c, err));
    snprintf(path, sizeof(path), "/t/%s", needed[i]);
    tn_storage_memory_remove(tm.storage, path);
    assert_int_equal(tn_commit_check_files(table, &c, &why), TARN_E_NOT_FOUND);
    assert_contains(why.message,
                    "Cannot recover from this checkpoint because some files in the snapshot that "
                    "need to be resubmitted have been deleted: ");
    assert_contains(why.message, path);
    end(&tm, table);
  }
}

/* Changelogs of a compaction share a file, which lies in the bucket that their names tell (B85). */
static void check__resolves_shared_changelog_files(void **state) {
  static const char shared[] = "compacted-changelog-8e04$0-1253.cc-parquet";
  static const char *const names[] = {"compacted-changelog-8e04$0-1253.cc-parquet",
                                      "compacted-changelog-8e04$0-1253-1253-900.cc-parquet"};
  table_maker tm;
  tn_table *table = make_table(&tm, "bucket=-1");
  tn_committable c = cm_begin(1);
  tarn_error why;
  char path[100];
  (void)state;
  for (int i = 0; i < 2; i++) {
    tn_manifest_entry e = tm_entry(names[i], 1);
    e.bucket = i;
    cm_file(&tm, &c, CM_CHANGELOG, e);
  }
  snprintf(path, sizeof(path), "bucket-0/%s", shared);
  tm_put(&tm, path, "x");
  OK(tn_commit_check_files(table, &c, err));
  snprintf(path, sizeof(path), "/t/bucket-0/%s", shared);
  tn_storage_memory_remove(tm.storage, path);
  assert_int_equal(tn_commit_check_files(table, &c, &why), TARN_E_NOT_FOUND);
  end(&tm, table);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(abort__removes_what_is_new),
      cmocka_unit_test(abort__finds_indexes_beside_data),
      cmocka_unit_test(check__names_each_missing_file),
      cmocka_unit_test(check__resolves_shared_changelog_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
