/* test_commit.c - what snapshots come of messages. */
#include "commit_maker.h"
#include "support/test.h"

static const char *const append_fields = "0 a INT";

static tn_table *append_table(table_maker *tm, const char *options) {
  tm_begin(tm, 1);
  tm_schema(tm, 0, append_fields, "", "", options);
  return tm_table(tm, "");
}

static void end(table_maker *tm, tn_table *table) {
  tn_table_release(table);
  tm_end(tm);
}

static void append__makes_one_snapshot_after_the_other(void **state) {
  table_maker tm;
  tn_table *table = append_table(&tm, "bucket=-1");
  (void)state;
  assert_int_equal(cm_append_one(&tm, table, "u", 1, "a", 3), 1);
  assert_int_equal(cm_append_one(&tm, table, "u", 2, "b", 4), 2);
  assert_int_equal(cm_append_one(&tm, table, "v", 1, "c", 5), 3);
  assert_string_equal(cm_snapshot_text(&tm, 1), "APPEND u:1 rows=3(+3)");
  assert_string_equal(cm_snapshot_text(&tm, 2), "APPEND u:2 rows=7(+4)");
  assert_string_equal(cm_snapshot_text(&tm, 3), "APPEND v:1 rows=12(+5)");
  assert_string_equal(cm_entries(&tm, 3, 'b'), "+a | +b");
  assert_string_equal(cm_entries(&tm, 3, 'd'), "+c");
  assert_string_equal(tm_plan(&tm, table, NULL, -1), "0[a b c]raw(12)");
  end(&tm, table);
}

static void append__publishes_nothing_for_nothing(void **state) {
  table_maker tm;
  tn_table *table = append_table(&tm, "bucket=-1");
  tn_commit_options options = cm_user("u");
  tn_committable c = cm_begin(5);
  tn_commit_result result;
  (void)state;
  OK(tn_commit_append(table, &options, &c, &result, err));
  assert_int_equal(result.last_id, 0);
  assert_int_equal(cm_count(&tm, "snapshot"), 0);
  assert_int_equal(cm_count(&tm, "manifest"), 0);
  end(&tm, table);
}

static void append__publishes_an_empty_snapshot_if_asked(void **state) {
  table_maker tm;
  tn_table *table = append_table(&tm, "bucket=-1");
  tn_commit_options options = cm_user("u");
  tn_committable c = cm_begin(5);
  tn_commit_result result;
  (void)state;
  options.commits_empty = true;
  OK(tn_commit_append(table, &options, &c, &result, err));
  assert_int_equal(result.first_id, 1);
  assert_int_equal(result.last_id, 1);
  assert_string_equal(cm_snapshot_text(&tm, 1), "APPEND u:5 rows=0(+0)");
  assert_string_equal(cm_entries(&tm, 1, 'd'), "");
  assert_string_equal(cm_list(&tm, "manifest"), "manifest-list-0 manifest-list-1 ");
  end(&tm, table);
}

static void append__makes_a_second_snapshot_of_a_compaction(void **state) {
  table_maker tm;
  tn_table *table = append_table(&tm, "bucket=-1");
  tn_commit_options options = cm_user("u");
  tn_committable c = cm_begin(2);
  tn_commit_result result;
  (void)state;
  (void)cm_append_one(&tm, table, "u", 1, "a", 3);
  cm_file(&tm, &c, CM_NEW, tm_entry("b", 4));
  cm_file(&tm, &c, CM_BEFORE, tm_entry("a", 3));
  cm_file(&tm, &c, CM_BEFORE, tm_entry("b", 4));
  cm_file(&tm, &c, CM_AFTER, tm_entry("ab", 7));
  OK(tn_commit_append(table, &options, &c, &result, err));
  assert_int_equal(result.first_id, 2);
  assert_int_equal(result.last_id, 3);
  assert_int_equal(result.n_attempts, 2);
  assert_string_equal(cm_snapshot_text(&tm, 2), "APPEND u:2 rows=7(+4)");
  assert_string_equal(cm_snapshot_text(&tm, 3), "COMPACT u:2 rows=7(+0)");
  assert_string_equal(cm_entries(&tm, 3, 'd'), "-a -b +ab");
  assert_string_equal(tm_plan(&tm, table, NULL, -1), "0[ab]raw(7)");
  end(&tm, table);
}

static void append__keeps_changelog_files_apart(void **state) {
  table_maker tm;
  tn_table *table = append_table(&tm, "bucket=-1");
  tn_committable c = cm_begin(1);
  (void)state;
  cm_file(&tm, &c, CM_NEW, tm_entry("a", 3));
  cm_file(&tm, &c, CM_CHANGELOG, tm_entry("log", 5));
  cm_file(&tm, &c, CM_COMPACT_CHANGELOG, tm_entry("log2", 6));
  assert_int_equal(cm_append(table, "u", &c), 2);
  assert_string_equal(cm_snapshot_text(&tm, 1), "APPEND u:1 rows=3(+3) changelog=5");
  assert_string_equal(cm_snapshot_text(&tm, 2), "COMPACT u:1 rows=3(+0) changelog=6");
  assert_string_equal(cm_entries(&tm, 1, 'd'), "+a");
  assert_string_equal(cm_entries(&tm, 1, 'c'), "+log");
  assert_string_equal(cm_entries(&tm, 2, 'c'), "+log2");
  (void)cm_append_one(&tm, table, "u", 2, "b", 1);
  assert_string_equal(cm_entries(&tm, 3, 'c'), "(none)");
  assert_string_equal(cm_entries(&tm, 3, 'b'), "+a");
  end(&tm, table);
}

/* A file that goes makes an OVERWRITE of it, which is checked. */
static void append__that_deletes_is_an_overwrite(void **state) {
  table_maker tm;
  tn_table *table = append_table(&tm, "bucket=-1");
  tn_committable c = cm_begin(2);
  (void)state;
  (void)cm_append_one(&tm, table, "u", 1, "a", 3);
  cm_file(&tm, &c, CM_DELETED, tm_entry("a", 3));
  cm_file(&tm, &c, CM_NEW, tm_entry("b", 2));
  assert_int_equal(cm_append(table, "u", &c), 2);
  assert_string_equal(cm_snapshot_text(&tm, 2), "OVERWRITE u:2 rows=2(-1)");
  end(&tm, table);
}

static void watermark__never_falls(void **state) {
  static const struct {
    bool has_one;
    int64_t watermark;
    const char *wanted;
  } cases[] = {
      {false, 0, "APPEND u:1 rows=1(+1)"},
      {true, 7, "APPEND u:2 rows=2(+1) watermark=7"},
      {true, 5, "APPEND u:3 rows=3(+1) watermark=7"},
      {false, 0, "APPEND u:4 rows=4(+1) watermark=7"},
      {true, 9, "APPEND u:5 rows=5(+1) watermark=9"},
  };
  table_maker tm;
  tn_table *table = append_table(&tm, "bucket=-1");
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
    tn_committable c = cm_begin((int64_t)i + 1);
    c.has_watermark = cases[i].has_one;
    c.watermark = cases[i].watermark;
    cm_file(&tm, &c, CM_NEW, tm_entry("f", 1));
    assert_int_equal(cm_append(table, "u", &c), i + 1);
    assert_string_equal(cm_snapshot_text(&tm, (int64_t)i + 1), cases[i].wanted);
  }
  end(&tm, table);
}

static void properties__belong_to_one_commit(void **state) {
  table_maker tm;
  tn_property property = {"k", "v \"1\""};
  tn_table *table = append_table(&tm, "bucket=-1");
  tn_committable c = cm_begin(1);
  tn_snapshot s;
  (void)state;
  c.properties = &property;
  c.n_properties = 1;
  cm_file(&tm, &c, CM_NEW, tm_entry("a", 1));
  (void)cm_append(table, "u", &c);
  (void)cm_append_one(&tm, table, "u", 2, "b", 1);
  s = cm_snapshot(&tm, 1);
  assert_int_equal(s.n_properties, 1);
  assert_string_equal(s.properties[0].key, "k");
  assert_string_equal(s.properties[0].value, "v \"1\"");
  assert_int_equal(cm_snapshot(&tm, 2).n_properties, 0);
  end(&tm, table);
}

static void schema__is_the_latest_one(void **state) {
  table_maker tm;
  tn_table *table = append_table(&tm, "bucket=-1");
  (void)state;
  tm_schema(&tm, 3, append_fields, "", "", "bucket=-1");
  (void)cm_append_one(&tm, table, "u", 1, "a", 1);
  assert_int_equal(cm_snapshot(&tm, 1).schema_id, 3);
  end(&tm, table);
}

static void hint__follows_the_snapshot(void **state) {
  table_maker tm;
  tn_table *table = append_table(&tm, "bucket=-1");
  tn_buf text;
  (void)state;
  (void)cm_append_one(&tm, table, "u", 1, "a", 1);
  (void)cm_append_one(&tm, table, "u", 2, "b", 1);
  tn_buf_init(&text, &tm.env->mem, 100);
  OK(tn_storage_read_all(tm.storage, "/t/snapshot/LATEST", &text, err));
  assert_true(tn_slice_is(tn_buf_slice(&text), "2"));
  assert_string_equal(cm_list(&tm, "snapshot"), "LATEST snapshot-1 snapshot-2 ");
  tn_buf_reset(&text);
  end(&tm, table);
}

/* One UUID a commit, Java's numbers: base, changelog, delta. */
static void files__have_names_of_their_own(void **state) {
  table_maker tm;
  tn_table *table = append_table(&tm, "bucket=-1");
  (void)state;
  (void)cm_append_one(&tm, table, "u", 1, "a", 1);
  assert_string_equal(cm_list(&tm, "manifest"), "manifest-0 manifest-list-0 manifest-list-1 ");
  end(&tm, table);
}

static void next_row_id__is_always_there(void **state) {
  table_maker tm;
  tn_table *table = append_table(&tm, "bucket=-1");
  tn_snapshot s;
  (void)state;
  (void)cm_append_one(&tm, table, "u", 1, "a", 1);
  s = cm_snapshot(&tm, 1);
  assert_true(s.has_next_row_id);
  assert_int_equal(s.next_row_id, 0);
  end(&tm, table);
}

/* ------------------------------------------------------------------ statistics */

static const char statistics_json[] =
    "{\"snapshotId\":1,\"schemaId\":0,\"mergedRecordCount\":3,\"colStats\":{}}";

static void analyze__names_statistics_that_stay_with_their_schema(void **state) {
  table_maker tm;
  tn_table *table = append_table(&tm, "bucket=-1");
  tn_commit_options options = cm_user("u");
  tn_commit_result result;
  (void)state;
  (void)cm_append_one(&tm, table, "u", 1, "a", 3);
  OK(tn_commit_analyze(table, &options, tn_slice_text(statistics_json), 1, &result, err));
  assert_int_equal(result.last_id, 2);
  assert_string_equal(cm_snapshot_text(&tm, 2),
                      "ANALYZE u:9223372036854775807 rows=3(+0) statistics");
  (void)cm_append_one(&tm, table, "u", 2, "b", 1);
  assert_string_equal(cm_snapshot(&tm, 3).statistics, cm_snapshot(&tm, 2).statistics);
  tm_schema(&tm, 1, append_fields, "", "", "bucket=-1");
  (void)cm_append_one(&tm, table, "u", 3, "c", 1);
  assert_null(cm_snapshot(&tm, 4).statistics);
  end(&tm, table);
}

static void analyze__refuses_statistics_of_another_snapshot(void **state) {
  table_maker tm;
  tn_table *table = append_table(&tm, "bucket=-1");
  tn_commit_options options = cm_user("u");
  tn_commit_result result;
  tarn_error err;
  (void)state;
  (void)cm_append_one(&tm, table, "u", 1, "a", 3);
  assert_int_equal(
      tn_commit_analyze(table, &options, tn_slice_text(statistics_json), 2, &result, &err),
      TARN_E_INVALID);
  assert_int_equal(cm_count(&tm, "statistics"), 0);
  end(&tm, table);
}

static void statistics__that_are_gone_are_not_inherited(void **state) {
  table_maker tm;
  tn_table *table = append_table(&tm, "bucket=-1");
  tn_commit_options options = cm_user("u");
  tn_commit_result result;
  char path[256];
  (void)state;
  (void)cm_append_one(&tm, table, "u", 1, "a", 3);
  OK(tn_commit_analyze(table, &options, tn_slice_text(statistics_json), 1, &result, err));
  snprintf(path, sizeof(path), "/t/statistics/%s", cm_snapshot(&tm, 2).statistics);
  tn_storage_memory_remove(tm.storage, path);
  assert_int_equal(cm_append_one(&tm, table, "u", 2, "b", 1), 3);
  assert_null(cm_snapshot(&tm, 3).statistics);
  end(&tm, table);
}

/* ------------------------------------------------------------------ identifiers */

static void identifiers__are_those_of_the_user(void **state) {
  table_maker tm;
  tn_table *table = append_table(&tm, "bucket=-1");
  int64_t identifier;
  bool has_one;
  (void)state;
  OK(tn_commit_last_identifier(table, "u", &has_one, &identifier, err));
  assert_false(has_one);
  (void)cm_append_one(&tm, table, "u", 4, "a", 1);
  (void)cm_append_one(&tm, table, "u", 7, "b", 1);
  (void)cm_append_one(&tm, table, "v", 9, "c", 1);
  OK(tn_commit_last_identifier(table, "u", &has_one, &identifier, err));
  assert_true(has_one);
  assert_int_equal(identifier, 7);
  OK(tn_commit_last_identifier(table, "w", &has_one, &identifier, err));
  assert_false(has_one);
  end(&tm, table);
}

/* Snapshots of the user that have expired are not looked for. */
static void identifiers__of_expired_snapshots_are_unknown(void **state) {
  table_maker tm;
  tn_table *table = append_table(&tm, "bucket=-1");
  int64_t identifier;
  bool has_one;
  (void)state;
  (void)cm_append_one(&tm, table, "u", 4, "a", 1);
  (void)cm_append_one(&tm, table, "v", 9, "c", 1);
  tn_storage_memory_remove(tm.storage, "/t/snapshot/snapshot-1");
  OK(tn_commit_last_identifier(table, "u", &has_one, &identifier, err));
  assert_false(has_one);
  end(&tm, table);
}

/* The same message twice is two snapshots: Java does not look either. */
static void append__does_not_look_at_the_identifier(void **state) {
  table_maker tm;
  tn_table *table = append_table(&tm, "bucket=-1");
  (void)state;
  assert_int_equal(cm_append_one(&tm, table, "u", 4, "a", 1), 1);
  assert_int_equal(cm_append_one(&tm, table, "u", 3, "b", 1), 2);
  end(&tm, table);
}

/* ------------------------------------------------------------------ refusals */

typedef struct refusal {
  const char *options, *user;
  tarn_status status;
  const char *part;
} refusal;

static void commit__refuses_what_it_cannot_do(void **state) {
  static const refusal cases[] = {
      {"bucket=-1", NULL, TARN_E_INVALID, "needs a user"},
      {"bucket=-1", "", TARN_E_INVALID, "needs a user"},
      {"bucket=-1;manifest.format=parquet", "u", TARN_E_UNSUPPORTED, "'manifest.format'"},
      {"bucket=-1;manifest.compression=brotli", "u", TARN_E_UNSUPPORTED, "brotli"},
      {"bucket=-1;commit.max-retries=many", "u", TARN_E_INVALID, "'commit.max-retries'"},
      {"bucket=-1;manifest.full-compaction-threshold-size=0 b", "u", TARN_E_INVALID,
       "Manifest full compaction size trigger cannot be zero."},
  };
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
    table_maker tm;
    tn_table *table = append_table(&tm, cases[i].options);
    tn_commit_options options = cm_user(cases[i].user);
    tn_committable c = cm_begin(1);
    tn_commit_result result;
    tarn_error err;
    cm_file(&tm, &c, CM_NEW, tm_entry("a", 1));
    assert_int_equal(tn_commit_append(table, &options, &c, &result, &err), cases[i].status);
    assert_contains(err.message, cases[i].part);
    assert_int_equal(cm_count(&tm, "manifest"), 0);
    assert_int_equal(cm_count(&tm, "snapshot"), 0);
    end(&tm, table);
  }
}

static void append__refuses_messages_that_cannot_be(void **state) {
  table_maker tm;
  tn_table *table = append_table(&tm, "bucket=-1");
  tn_commit_options options = cm_user("u");
  tn_committable nameless = cm_begin(1), foreign = cm_begin(1);
  tn_commit_result result;
  tarn_error err;
  (void)state;
  cm_file(&tm, &nameless, CM_NEW, tm_entry("", 1));
  assert_int_equal(tn_commit_append(table, &options, &nameless, &result, &err), TARN_E_INVALID);
  cm_file(&tm, &foreign, CM_NEW, tm_entry_in(&tm, 1, "a", 1));
  assert_int_equal(tn_commit_append(table, &options, &foreign, &result, &err), TARN_E_INVALID);
  assert_contains(err.message, "a partition of 1 columns, the table has 0");
  assert_int_equal(cm_count(&tm, "snapshot"), 0);
  end(&tm, table);
}

static void append__can_be_cancelled(void **state) {
  table_maker tm;
  tn_table *table = append_table(&tm, "bucket=-1");
  struct tarn_cancel cancel = {.is_set = true};
  tn_commit_options options = cm_user("u");
  tn_committable c = cm_begin(1);
  tn_commit_result result;
  (void)state;
  options.cancel = &cancel;
  cm_file(&tm, &c, CM_NEW, tm_entry("a", 1));
  assert_int_equal(tn_commit_append(table, &options, &c, &result, NULL), TARN_E_CANCELLED);
  assert_int_equal(cm_count(&tm, "manifest"), 0);
  assert_int_equal(cm_count(&tm, "snapshot"), 0);
  end(&tm, table);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(append__makes_one_snapshot_after_the_other),
      cmocka_unit_test(append__publishes_nothing_for_nothing),
      cmocka_unit_test(append__publishes_an_empty_snapshot_if_asked),
      cmocka_unit_test(append__makes_a_second_snapshot_of_a_compaction),
      cmocka_unit_test(append__keeps_changelog_files_apart),
      cmocka_unit_test(append__that_deletes_is_an_overwrite),
      cmocka_unit_test(append__does_not_look_at_the_identifier),
      cmocka_unit_test(append__refuses_messages_that_cannot_be),
      cmocka_unit_test(append__can_be_cancelled),
      cmocka_unit_test(watermark__never_falls),
      cmocka_unit_test(properties__belong_to_one_commit),
      cmocka_unit_test(schema__is_the_latest_one),
      cmocka_unit_test(hint__follows_the_snapshot),
      cmocka_unit_test(files__have_names_of_their_own),
      cmocka_unit_test(next_row_id__is_always_there),
      cmocka_unit_test(analyze__names_statistics_that_stay_with_their_schema),
      cmocka_unit_test(analyze__refuses_statistics_of_another_snapshot),
      cmocka_unit_test(statistics__that_are_gone_are_not_inherited),
      cmocka_unit_test(identifiers__are_those_of_the_user),
      cmocka_unit_test(identifiers__of_expired_snapshots_are_unknown),
      cmocka_unit_test(commit__refuses_what_it_cannot_do),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
