/* test_fsck.c - what fsck finds, each fault alone. */
#include "maintain/branches.h"
#include "maintain/fsck.h"
#include "maintain/tags.h"
#include "maintain_maker.h"
#include "model/snapshot_write.h"
#include "support/test.h"

/* Runs fsck; gives its text. */
static const char *run(maintain_maker *mm, tn_fsck_request request, int64_t *n) {
  const char *text;
  tn_buf out;
  tn_buf_init(&out, &mm->tm.env->mem, 1 << 20);
  OK(tn_fsck(mm->table, &request, &out, n, err));
  text = tn_arena_strndup(&mm->tm.arena, (const char *)out.data, out.len);
  assert_non_null(text);
  tn_buf_reset(&out);
  return text;
}

static void make(maintain_maker *mm) {
  mm_begin(mm, "changelog-producer=input");
  mm_commit(mm, "+a ~x");
  mm_commit(mm, "+b");
  mm_commit(mm, "-a -b ^C");
  OK(tn_tag_create(mm->table, "t", 1, TN_TAG_RETAINED_FOREVER, err));
}

/* ------------------------------------------------------------------ damage */

static void remove_file(maintain_maker *mm, const char *path) {
  tn_storage_memory_remove(mm->tm.storage, path);
}

static const char *manifest_path(maintain_maker *mm, const char *name) {
  const char *path = tn_arena_printf(&mm->tm.arena, "/t/manifest/%s", name);
  assert_non_null(path);
  return path;
}

static void lose_data(maintain_maker *mm) {
  remove_file(mm, "/t/bucket-0/C");
}

static void lose_data_of_an_old_snapshot(maintain_maker *mm) {
  remove_file(mm, "/t/bucket-0/b");
}

static void lose_changelog(maintain_maker *mm) {
  remove_file(mm, "/t/bucket-0/x");
}

static void cut_data(maintain_maker *mm) {
  tm_put(&mm->tm, "bucket-0/a", "short");
}

static void lose_list(maintain_maker *mm) {
  remove_file(mm, manifest_path(mm, cm_snapshot(&mm->tm, 2).delta_manifest_list));
}

static void spoil_list(maintain_maker *mm) {
  const char *name = cm_snapshot(&mm->tm, 2).base_manifest_list;
  tm_put(&mm->tm, tn_arena_printf(&mm->tm.arena, "manifest/%s", name), "garbage");
}

static void lose_schema(maintain_maker *mm) {
  remove_file(mm, "/t/schema/schema-0");
  tm_put(&mm->tm, "schema/schema-1",
         "{\"version\":3,\"id\":1,\"fields\":[{\"id\":0,\"name\":\"k\","
         "\"type\":\"INT NOT NULL\"}],\"highestFieldId\":1,"
         "\"partitionKeys\":[],\"primaryKeys\":[\"k\"],"
         "\"options\":{\"bucket\":\"1\"},\"timeMillis\":1}");
}

static void spoil_schema(maintain_maker *mm) {
  tm_put(&mm->tm, "schema/schema-1", "{");
}

static void lose_snapshot(maintain_maker *mm) {
  remove_file(mm, "/t/snapshot/snapshot-2");
}

static void spoil_snapshot(maintain_maker *mm) {
  tm_put(&mm->tm, "snapshot/snapshot-2", "{}");
}

static void hint_too_far(maintain_maker *mm) {
  OK(tn_hint_write(mm->tm.storage, "/t", "snapshot", "LATEST", 9, err));
}

static void spoil_tag(maintain_maker *mm) {
  tm_put(&mm->tm, "tag/tag-t", "{}");
}

static void spoil_consumer(maintain_maker *mm) {
  tm_put(&mm->tm, "consumer/consumer-c", "{\"nextSnapshot\":");
}

/* Snapshot 3 again, with one member changed. */
static void change_snapshot(maintain_maker *mm,
                            void (*change)(tn_snapshot *s, maintain_maker *mm)) {
  tn_snapshot s = cm_snapshot(&mm->tm, 3);
  tn_buf json;
  change(&s, mm);
  tn_buf_init(&json, &mm->tm.env->mem, 65536);
  OK(tn_snapshot_encode(&s, &json, err));
  OK(tn_storage_memory_put(mm->tm.storage, "/t/snapshot/snapshot-3", tn_buf_slice(&json), err));
  tn_buf_reset(&json);
}

static void other_total(tn_snapshot *s, maintain_maker *mm) {
  (void)mm;
  s->total_record_count++;
}

static void other_delta(tn_snapshot *s, maintain_maker *mm) {
  (void)mm;
  s->delta_record_count--;
}

static void other_id(tn_snapshot *s, maintain_maker *mm) {
  (void)mm;
  s->id = 7;
}

static void base_of_the_first(tn_snapshot *s, maintain_maker *mm) {
  const tn_snapshot first = cm_snapshot(&mm->tm, 1);
  s->base_manifest_list = first.base_manifest_list;
  s->base_manifest_list_size = first.base_manifest_list_size;
}

static void no_statistics(tn_snapshot *s, maintain_maker *mm) {
  (void)mm;
  s->statistics = "stat-none";
}

static void wrong_total(maintain_maker *mm) {
  change_snapshot(mm, other_total);
}

static void wrong_delta(maintain_maker *mm) {
  change_snapshot(mm, other_delta);
}

static void wrong_id(maintain_maker *mm) {
  change_snapshot(mm, other_id);
}

static void wrong_base(maintain_maker *mm) {
  change_snapshot(mm, base_of_the_first);
}

static void lost_statistics(maintain_maker *mm) {
  change_snapshot(mm, no_statistics);
}

static void fsck__finds_each_fault(void **state) {
  static const struct {
    void (*spoil)(maintain_maker *mm);
    const char *parts[3];
  } cases[] = {
      {lose_data, {"\"fault\":\"missing\"", "/t/bucket-0/C", "snapshot 3 names it"}},
      {lose_data_of_an_old_snapshot, {"\"missing\"", "/t/bucket-0/b", "snapshot 2 names it"}},
      {lose_changelog, {"\"missing\"", "/t/bucket-0/x", "snapshot 1 names it"}},
      {cut_data, {"\"size\"", "/t/bucket-0/a", "says 1000 bytes, it has 5"}},
      {lose_list, {"\"missing\"", "manifest-list-", "snapshot 2 names it"}},
      {spoil_list, {"\"corrupt\"", "manifest-list-", "snapshot 2"}},
      {lose_schema, {"\"missing\"", "snapshot 1 names schema 0", "written with schema 0"}},
      {spoil_schema, {"\"corrupt\"", "schema-1", "line 1"}},
      {lose_snapshot, {"\"gap\"", "snapshot 1 is followed by 3", ""}},
      {spoil_snapshot, {"\"corrupt\"", "snapshot 2", "\\\"id\\\""}},
      {hint_too_far, {"\"hint\"", "names snapshot 9", "the latest is 3"}},
      {spoil_tag, {"\"corrupt\"", "tag 't'", "tag-t"}},
      {spoil_consumer, {"\"corrupt\"", "a consumer", "consumer-c"}},
      {wrong_total, {"\"count\"", "snapshot 3 says 2 rows", "its files have 1"}},
      {wrong_delta, {"\"count\"", "snapshot 3 says -2 rows more", "its delta -1"}},
      {wrong_id, {"\"corrupt\"", "snapshot 3 says that it is snapshot 7", ""}},
      {wrong_base, {"\"chain\"", "the base of snapshot 3 lacks file", ""}},
      {lost_statistics, {"\"missing\"", "/t/statistics/stat-none", "snapshot 3"}},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    maintain_maker mm;
    const char *text;
    int64_t n = 0;
    make(&mm);
    run(&mm, (tn_fsck_request){0}, &n);
    assert_int_equal(n, 0);
    cases[i].spoil(&mm);
    text = run(&mm, (tn_fsck_request){0}, &n);
    assert_true(n > 0);
    for (size_t k = 0; k < TN_COUNT(cases[i].parts); k++) {
      assert_contains(text, cases[i].parts[k]);
    }
    mm_end(&mm);
  }
}

/* ------------------------------------------------------------------ layout */

/* A snapshot of hand-made entries. */
static const char *text_of_entries(table_maker *tm, tn_table *table,
                                   const tn_manifest_entry *entries, int n) {
  maintain_maker mm = {.tm = *tm, .table = table};
  const char *text;
  int64_t n_faults;
  tm_commit(&mm.tm, 1, entries, n);
  text = run(&mm, (tn_fsck_request){0}, &n_faults);
  *tm = mm.tm;
  return text;
}

static void fsck__finds_ranges_that_overlap(void **state) {
  static const struct {
    int32_t level, min, max;
    bool overlaps;
  } cases[] = {{1, 6, 9, false}, {1, 5, 9, true}, {2, 1, 9, false}, {0, 1, 9, false}};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    table_maker tm;
    tn_table *table;
    tn_manifest_entry entries[2];
    const char *text;
    tm_begin(&tm, 1);
    tm_schema(&tm, 0, "0 k INT NOT NULL|1 v INT", "", "k", "bucket=1");
    table = tm_table(&tm, "");
    entries[0] = tm_entry_keyed(&tm, "a", 1, 1, 5);
    entries[1] = tm_entry_keyed(&tm, "b", cases[i].level, cases[i].min, cases[i].max);
    text = text_of_entries(&tm, table, entries, 2);
    assert_int_equal(strstr(text, "\"overlap\"") != NULL, cases[i].overlaps);
    tn_table_release(table);
    tm_end(&tm);
  }
}

static void fsck__finds_buckets_that_contradict_each_other(void **state) {
  table_maker tm;
  tn_table *table;
  tn_manifest_entry entries[2];
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 k INT NOT NULL|1 v INT", "", "k", "bucket=2");
  table = tm_table(&tm, "");
  entries[0] = tm_entry_keyed(&tm, "a", 0, 1, 5);
  entries[1] = tm_entry_keyed(&tm, "b", 0, 1, 5);
  entries[0].total_buckets = 2;
  entries[1].total_buckets = 3;
  assert_contains(text_of_entries(&tm, table, entries, 2), "others of its partition in 2");
  tn_table_release(table);
  tm_end(&tm);
}

static void fsck__finds_files_that_come_or_go_twice(void **state) {
  static const char *const faults[] = {"adds it again", "takes it away, and it was not there"};
  (void)state;
  for (int i = 0; i < 2; i++) {
    table_maker tm;
    tn_table *table;
    tn_manifest_entry entries[2];
    tm_begin(&tm, 1);
    tm_schema(&tm, 0, "0 a INT", "", "", "bucket=-1");
    table = tm_table(&tm, "");
    entries[0] = tm_entry("a", 1);
    entries[1] = tm_entry("a", 1);
    if (i == 1) {
      entries[0] = tm_deleted(entries[0]);
    }
    assert_contains(text_of_entries(&tm, table, entries, 2 - i), faults[i]);
    tn_table_release(table);
    tm_end(&tm);
  }
}

static void fsck__finds_row_ids_that_were_not_given(void **state) {
  table_maker tm;
  tn_table *table;
  tn_manifest_entry e;
  maintain_maker mm;
  tn_snapshot s;
  int64_t n;
  tn_buf json;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 a INT", "", "", "bucket=-1;row-tracking.enabled=true");
  table = tm_table(&tm, "");
  e = tm_entry("a", 10);
  e.file.has_first_row_id = true;
  e.file.first_row_id = 5;
  tm_commit(&tm, 1, &e, 1);
  mm = (maintain_maker){.tm = tm, .table = table};
  s = cm_snapshot(&mm.tm, 1);
  s.has_next_row_id = true;
  s.next_row_id = 14;
  tn_buf_init(&json, &tm.env->mem, 65536);
  OK(tn_snapshot_encode(&s, &json, err));
  OK(tn_storage_memory_put(tm.storage, "/t/snapshot/snapshot-1", tn_buf_slice(&json), err));
  assert_contains(run(&mm, (tn_fsck_request){0}, &n), "its row ids begin at 5, and 14 is the next");
  tn_buf_reset(&json);
  tn_table_release(table);
  tm = mm.tm;
  tm_end(&tm);
}

/* ------------------------------------------------------------------ indexes */

static void commit_index(maintain_maker *mm, const char *vectors) {
  tn_committable c = cm_begin(9);
  tn_index_entry e = cm_index_entry(&mm->tm, "DELETION_VECTORS", "index-1", vectors);
  e.file_size = 30;
  cm_index(&mm->tm, &c, CM_NEW, e);
  cm_append(mm->table, "u", &c);
}

static void fsck__looks_at_deletion_vectors(void **state) {
  static const struct {
    const char *vectors, *content, *fault;
  } cases[] = {
      {"a", "012345678901234567890123456789", NULL},
      {"gone", "012345678901234567890123456789",
       "it has a deletion vector of gone, which is no live file"},
      {"a", "0123", "says 30 bytes, it has 4"},
      {"a", NULL, "\"path\":\"/t/index/index-1\""},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    maintain_maker mm;
    const char *text;
    int64_t n;
    mm_begin(&mm, "deletion-vectors.enabled=true");
    mm_commit(&mm, "+a");
    commit_index(&mm, cases[i].vectors);
    if (cases[i].content != NULL) {
      tm_put(&mm.tm, "index/index-1", cases[i].content);
    }
    text = run(&mm, (tn_fsck_request){0}, &n);
    if (cases[i].fault == NULL) {
      assert_int_equal(n, 0);
    } else {
      assert_contains(text, cases[i].fault);
    }
    mm_end(&mm);
  }
}

/* ------------------------------------------------------------------ what nobody names */

static void fsck__counts_what_nobody_names(void **state) {
  maintain_maker mm;
  int64_t n;
  const char *text;
  (void)state;
  make(&mm);
  OK(tn_storage_replace(mm.tm.storage, "/t/bucket-0/data-left", tn_slice_text("x"), true, err));
  mm.now += 1000;
  OK(tn_storage_replace(mm.tm.storage, "/t/manifest/manifest-left", tn_slice_text("x"), true, err));
  tm_put(&mm.tm, "p=1/bucket-0/foreign", "x"); /* no folder of this table */
  text = run(&mm, (tn_fsck_request){0}, &n);
  assert_int_equal(n, 0);
  assert_contains(text, "\"unreachable\":2,");
  text = run(&mm, (tn_fsck_request){.left_since_ms = mm.now - 1000}, &n);
  assert_int_equal(n, 2);
  assert_contains(text, "{\"fault\":\"left\",\"path\":\"/t/bucket-0/data-left\"");
  run(&mm, (tn_fsck_request){.left_since_ms = mm.now}, &n);
  assert_int_equal(n, 1);
  run(&mm, (tn_fsck_request){.left_since_ms = mm.now + 1}, &n);
  assert_int_equal(n, 0);
  mm_end(&mm);
}

/* What a writer that was killed left beside snapshots, schemas and tags. */
static void fsck__counts_hidden_names(void **state) {
  maintain_maker mm;
  int64_t n;
  const char *text;
  (void)state;
  make(&mm);
  OK(tn_storage_replace(mm.tm.storage, "/t/snapshot/.snapshot-9.0f3c.tmp", tn_slice_text("{}"),
                        true, err));
  tm_put(&mm.tm, "tag/.tag-a.0f3c.tmp", "{}");
  tm_put(&mm.tm, "schema/.hidden", "{}"); /* somebody else's */
  tm_put(&mm.tm, "branch/.branch-b.0f3c.tmp/schema/schema-0", "{}");
  text = run(&mm, (tn_fsck_request){0}, &n);
  assert_int_equal(n, 0);
  assert_contains(text, "\"unreachable\":3,");
  text = run(&mm, (tn_fsck_request){.left_since_ms = 1}, &n);
  assert_contains(text, "\"fault\":\"left\",\"path\":\"/t/snapshot/.snapshot-9.0f3c.tmp\"");
  mm_end(&mm);
}

static void fsck__looks_at_branches(void **state) {
  maintain_maker mm;
  tn_table *branch;
  int64_t n;
  (void)state;
  make(&mm);
  OK(tn_branch_create(mm.table, "b", "t", err));
  branch = mm_branch(&mm, "b");
  mm_commit_to(&mm, branch, "+d");
  run(&mm, (tn_fsck_request){0}, &n);
  assert_int_equal(n, 0);
  remove_file(&mm, "/t/bucket-0/d");
  assert_contains(run(&mm, (tn_fsck_request){0}, &n), "/t/bucket-0/d");
  tn_table_release(branch);
  mm_end(&mm);
}

/* The files of these tests are no data files. */
static void fsck__reads_rows_if_asked(void **state) {
  maintain_maker mm;
  int64_t n;
  const char *text;
  (void)state;
  mm_begin(&mm, "");
  mm_commit(&mm, "+a");
  tm_put(&mm.tm, "bucket-0/a", "PAR1");
  text = run(&mm, (tn_fsck_request){.is_deep = true}, &n);
  assert_contains(text, "/t/bucket-0/a");
  assert_true(n > 0 || strstr(text, "\"unread\":1") != NULL);
  mm_end(&mm);
}

static void fsck__can_be_cancelled(void **state) {
  struct tarn_cancel cancel = {.is_set = true};
  tn_fsck_request request = {.cancel = &cancel};
  maintain_maker mm;
  int64_t n;
  tn_buf out;
  (void)state;
  make(&mm);
  tn_buf_init(&out, &mm.tm.env->mem, 65536);
  assert_int_equal(tn_fsck(mm.table, &request, &out, &n, NULL), TARN_E_CANCELLED);
  tn_buf_reset(&out);
  mm_end(&mm);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fsck__finds_each_fault),
      cmocka_unit_test(fsck__finds_ranges_that_overlap),
      cmocka_unit_test(fsck__finds_buckets_that_contradict_each_other),
      cmocka_unit_test(fsck__finds_files_that_come_or_go_twice),
      cmocka_unit_test(fsck__finds_row_ids_that_were_not_given),
      cmocka_unit_test(fsck__looks_at_deletion_vectors),
      cmocka_unit_test(fsck__counts_what_nobody_names),
      cmocka_unit_test(fsck__counts_hidden_names),
      cmocka_unit_test(fsck__looks_at_branches),
      cmocka_unit_test(fsck__reads_rows_if_asked),
      cmocka_unit_test(fsck__can_be_cancelled),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
