/* test_indexes.c - the list of index files: what stays, goes and comes. */
#include "commit_maker.h"
#include "support/test.h"

static tn_table *make_table(table_maker *tm, const char *options, const char *key) {
  tm_begin(tm, 1);
  tm_schema(tm, 0, "0 k INT NOT NULL", "", key, options);
  return tm_table(tm, "");
}

static void end(table_maker *tm, tn_table *table) {
  tn_table_release(table);
  tm_end(tm);
}

static tn_index_entry in_bucket(tn_index_entry e, int32_t bucket) {
  e.bucket = bucket;
  return e;
}

/* An append without indexes names the list of the snapshot before (B16). */
static void indexes__are_carried_on(void **state) {
  table_maker tm;
  tn_table *table = make_table(&tm, "bucket=-1", "");
  tn_commit_options options = cm_user("u");
  tn_committable c = cm_begin(1);
  tn_commit_result result;
  (void)state;
  cm_index(&tm, &c, CM_NEW, cm_index_entry(&tm, "HASH", "h", NULL));
  (void)cm_append(table, "u", &c);
  (void)cm_append_one(&tm, table, "u", 2, "a", 1);
  (void)cm_append_one(&tm, table, "u", 3, "b", 1);
  OK(tn_commit_compact_manifests(table, &options, &result, err));
  for (int64_t id = 2; id <= 4; id++) {
    assert_string_equal(cm_snapshot(&tm, id).index_manifest, cm_snapshot(&tm, 1).index_manifest);
  }
  assert_string_equal(cm_indexes(&tm, 4), "h");
  end(&tm, table);
}

static void indexes__of_a_bucket_replace_each_other(void **state) {
  table_maker tm;
  tn_table *table = make_table(&tm, "bucket=2;deletion-vectors.enabled=true", "k");
  tn_committable first = cm_begin(1), second = cm_begin(2), third = cm_begin(3);
  (void)state;
  cm_index(&tm, &first, CM_NEW, cm_index_entry(&tm, "HASH", "h0", NULL));
  cm_index(&tm, &first, CM_NEW, in_bucket(cm_index_entry(&tm, "HASH", "h1", NULL), 1));
  cm_index(&tm, &first, CM_AFTER, cm_index_entry(&tm, "DELETION_VECTORS", "d0", "x"));
  (void)cm_append(table, "u", &first);
  assert_string_equal(cm_snapshot_text(&tm, 1), "APPEND u:1 rows=0(+0) index");
  assert_string_equal(cm_snapshot_text(&tm, 2), "COMPACT u:1 rows=0(+0) index");
  assert_string_equal(cm_indexes(&tm, 2), "h0 h1 d0");
  /* A deletion that comes behind an addition is done before it. */
  cm_index(&tm, &second, CM_AFTER, cm_index_entry(&tm, "DELETION_VECTORS", "d1", "x,y"));
  cm_index(&tm, &second, CM_COMPACT_DELETED, cm_index_entry(&tm, "DELETION_VECTORS", "d0", "x"));
  cm_index(&tm, &second, CM_AFTER, in_bucket(cm_index_entry(&tm, "HASH", "h2", NULL), 1));
  (void)cm_append(table, "u", &second);
  assert_string_equal(cm_indexes(&tm, 3), "h0 h2 d1");
  cm_index(&tm, &third, CM_COMPACT_DELETED, cm_index_entry(&tm, "DELETION_VECTORS", "d1", "x,y"));
  cm_index(&tm, &third, CM_COMPACT_DELETED, in_bucket(cm_index_entry(&tm, "HASH", "h2", NULL), 1));
  cm_index(&tm, &third, CM_COMPACT_DELETED, cm_index_entry(&tm, "HASH", "h0", NULL));
  (void)cm_append(table, "u", &third);
  assert_string_equal(cm_indexes(&tm, 4), ""); /* a list of none */
  assert_non_null(cm_snapshot(&tm, 4).index_manifest);
  end(&tm, table);
}

static tn_index_entry global_index(table_maker *tm, const char *name, int32_t field, int64_t first,
                                   int64_t last) {
  tn_index_entry e = cm_index_entry(tm, "btree", name, NULL);
  e.has_global_index = true;
  e.global_index = (tn_global_index){.first_row_id = first, .last_row_id = last, .field_id = field};
  return e;
}

static void indexes__of_row_ranges_must_not_overlap(void **state) {
  table_maker tm;
  tn_table *table = make_table(&tm, "bucket=-1", "");
  tn_commit_options options = cm_user("u");
  tn_committable first = cm_begin(1), overlapping = cm_begin(2), other = cm_begin(3),
                 replacing = cm_begin(4);
  tn_commit_result result;
  tarn_error why;
  (void)state;
  cm_index(&tm, &first, CM_NEW, global_index(&tm, "g0", 0, 0, 9));
  (void)cm_append(table, "u", &first);
  cm_index(&tm, &overlapping, CM_NEW, global_index(&tm, "g1", 0, 9, 12));
  assert_int_equal(tn_commit_append(table, &options, &overlapping, &result, &why), TARN_E_CONFLICT);
  assert_contains(why.message,
                  "Trying to add global index file g1 of type btree for index field 0 with row "
                  "range [9, 12], but previous file g0 still exists with overlapping row range [0, "
                  "9]. Remove the previous file first.");
  cm_index(&tm, &other, CM_NEW, global_index(&tm, "g2", 1, 9, 12));
  cm_index(&tm, &other, CM_NEW, global_index(&tm, "g3", 0, 10, 12));
  (void)cm_append(table, "u", &other);
  cm_index(&tm, &replacing, CM_NEW, global_index(&tm, "g4", 0, 0, 9));
  cm_index(&tm, &replacing, CM_DELETED, global_index(&tm, "g0", 0, 0, 9));
  (void)cm_append(table, "u", &replacing);
  assert_string_equal(cm_indexes(&tm, 3), "g2 g3 g4");
  end(&tm, table);
}

typedef struct vector_case {
  cm_role role;
  const char *name, *files;
  const char *part;
} vector_case;

/* Tables without buckets: files by name, each data file in one of them. Vectors are of data files
 * that were never added here, so that only the list is looked at. */
static void vectors__without_buckets_are_checked_by_name(void **state) {
  static const vector_case cases[] = {
      {CM_AFTER, "d0", "z", "Trying to add file d0 which is already added."},
      {CM_AFTER, "d1", "x", "Trying to add dv for data file x which is already added."},
      {CM_COMPACT_DELETED, "d1", "x", "Trying to delete file d1 which is not exists."},
      {CM_COMPACT_DELETED, "d0", "z", "Trying to delete dv for data file z which is not exists."},
  };
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
    table_maker tm;
    tn_table *table = make_table(&tm, "bucket=-1", "");
    tn_commit_options options = cm_user("u");
    tn_committable first = cm_begin(1), c = cm_begin(2);
    tn_commit_result result;
    tarn_error why;
    int n;
    cm_index(&tm, &first, CM_AFTER, cm_index_entry(&tm, "DELETION_VECTORS", "d0", "x,y"));
    (void)cm_append(table, "u", &first);
    n = cm_count(&tm, "manifest");
    cm_index(&tm, &c, cases[i].role,
             cm_index_entry(&tm, "DELETION_VECTORS", cases[i].name, cases[i].files));
    assert_int_equal(tn_commit_append(table, &options, &c, &result, &why), TARN_E_CONFLICT);
    assert_contains(why.message, cases[i].part);
    assert_int_equal(cm_count(&tm, "manifest"), n);
    end(&tm, table);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(indexes__are_carried_on),
      cmocka_unit_test(indexes__of_a_bucket_replace_each_other),
      cmocka_unit_test(indexes__of_row_ranges_must_not_overlap),
      cmocka_unit_test(vectors__without_buckets_are_checked_by_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
