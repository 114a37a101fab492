/* test_row_ids.c - ids of rows in the order of commits; conflicts of who updates the same rows. */
#include "interloper.h"
#include "plan/entries.h"
#include "support/test.h"

static tn_table *make_table(table_maker *tm, const char *options) {
  tm_begin(tm, 1);
  tm_schema(tm, 0, "0 a INT|1 b INT", "", "", options);
  return tm_table(tm, "");
}

static void end(table_maker *tm, tn_table *table) {
  tn_table_release(table);
  tm_end(tm);
}

#define TRACKED "bucket=-1;row-tracking.enabled=true"
#define EVOLVED TRACKED ";data-evolution.enabled=true"

static tn_manifest_entry columns_of(table_maker *tm, const char *name, int64_t rows,
                                    const char *columns) {
  tn_manifest_entry e = tm_entry(name, rows);
  e.file.has_write_cols = columns != NULL;
  e.file.write_cols = tm_texts(tm, columns);
  return e;
}

static tn_manifest_entry rows_of(table_maker *tm, const char *name, int64_t first, int64_t rows) {
  tn_manifest_entry e = columns_of(tm, name, rows, "b");
  e.file.has_first_row_id = true;
  e.file.first_row_id = first;
  return e;
}

typedef struct ids_text {
  tn_buf text;
} ids_text;

static tarn_status on_entry(void *ctx, const tn_manifest_entry *e, tarn_error *err) {
  ids_text *t = ctx;
  return tn_buf_printf(&t->text, err, "%.*s:%lld/%lld-%lld ", TN_SLICE_ARG(e->file.file_name),
                       e->file.has_first_row_id ? (long long)e->file.first_row_id : -1LL,
                       (long long)e->file.min_sequence, (long long)e->file.max_sequence);
}

/* "name:first row id/sequence numbers" of the delta of a snapshot; its manifest is the first one of
 * its commit. */
static const char *ids_of(table_maker *tm, int64_t id) {
  tn_snapshot s = cm_snapshot(tm, id);
  char name[100];
  tn_manifest_name manifest = {name, -1, -1};
  const char *text;
  ids_text t;
  snprintf(name, sizeof(name), "manifest-%.36s-0",
           s.delta_manifest_list + strlen("manifest-list-"));
  tn_buf_init(&t.text, &tm->env->mem, 1 << 20);
  OK(tn_manifest_read(tm->env, tm->storage, &tn_plan_readers, "/t", &manifest, on_entry, &t, err));
  text = tn_arena_strndup(&tm->arena, (const char *)t.text.data, t.text.len);
  tn_buf_reset(&t.text);
  assert_non_null(text);
  return text;
}

static void rows__get_ids_in_the_order_of_commits(void **state) {
  table_maker tm;
  tn_table *table = make_table(&tm, TRACKED);
  tn_committable first = cm_begin(1), second = cm_begin(2);
  tn_manifest_entry late = tm_entry("c", 2);
  (void)state;
  cm_file(&tm, &first, CM_NEW, tm_entry("a", 3));
  cm_file(&tm, &first, CM_NEW, tm_entry("b", 4));
  late.file.min_sequence = 3; /* of a writer that stayed open */
  late.file.max_sequence = 5;
  cm_file(&tm, &second, CM_NEW, late);
  cm_file(&tm, &second, CM_NEW, tm_entry("d", 1));
  (void)cm_append(table, "u", &first);
  (void)cm_append(table, "u", &second);
  assert_string_equal(ids_of(&tm, 1), "a:0/1-1 b:3/1-1 ");
  assert_string_equal(ids_of(&tm, 2), "c:7/3-5 d:9/2-2 ");
  assert_string_equal(cm_snapshot_text(&tm, 2), "APPEND u:2 rows=10(+3) next=10");
  end(&tm, table);
}

/* Compacted files keep the ids of their rows; files with ids of their own, too. */
static void rows__that_have_ids_keep_them(void **state) {
  table_maker tm;
  tn_table *table = make_table(&tm, TRACKED);
  tn_committable first = cm_begin(1), second = cm_begin(2);
  tn_manifest_entry before = tm_entry("a", 3), after = columns_of(&tm, "b", 3, "a,_ROW_ID");
  (void)state;
  cm_file(&tm, &first, CM_NEW, tm_entry("a", 3));
  (void)cm_append(table, "u", &first);
  after.file.source = TN_SOURCE_COMPACT;
  before.file.min_sequence = before.file.max_sequence = 1;
  after.file.min_sequence = after.file.max_sequence = 1;
  cm_file(&tm, &second, CM_BEFORE, before);
  cm_file(&tm, &second, CM_AFTER, after);
  (void)cm_append(table, "u", &second);
  assert_string_equal(cm_snapshot_text(&tm, 2), "COMPACT u:2 rows=3(+0) next=3");
  assert_contains(ids_of(&tm, 2), "b:-1/1-1 ");
  end(&tm, table);
}

/* BLOB columns and vectors lie beside the rows of the data file before them. */
static void rows__of_blob_files_are_those_of_the_data_file(void **state) {
  table_maker tm;
  tn_table *table = make_table(&tm, EVOLVED);
  tn_committable c = cm_begin(1);
  (void)state;
  cm_file(&tm, &c, CM_NEW, tm_entry("a", 5));
  cm_file(&tm, &c, CM_NEW, columns_of(&tm, "x-1.blob", 3, "x"));
  cm_file(&tm, &c, CM_NEW, columns_of(&tm, "x-2.blob", 2, "x"));
  cm_file(&tm, &c, CM_NEW, columns_of(&tm, "y.blob", 5, "y"));
  cm_file(&tm, &c, CM_NEW, tm_entry("b", 4));
  cm_file(&tm, &c, CM_NEW, columns_of(&tm, "x-3.blob", 4, "x"));
  cm_file(&tm, &c, CM_NEW, columns_of(&tm, "z.vector.parquet", 9, "z"));
  (void)cm_append(table, "u", &c);
  assert_string_equal(ids_of(&tm, 1),
                      "a:0/1-1 x-1.blob:0/1-1 x-2.blob:3/1-1 y.blob:0/1-1 b:5/1-1 x-3.blob:5/1-1 "
                      "z.vector.parquet:0/1-1 ");
  assert_int_equal(cm_snapshot(&tm, 1).next_row_id, 9);
  end(&tm, table);
}

static void rows__of_a_file_that_hides_its_source_are_refused(void **state) {
  table_maker tm;
  tn_table *table = make_table(&tm, TRACKED);
  tn_commit_options options = cm_user("u");
  tn_committable c = cm_begin(1), blob = cm_begin(1);
  tn_manifest_entry e = tm_entry("a", 5);
  tn_commit_result result;
  tarn_error why;
  (void)state;
  e.file.has_source = false;
  cm_file(&tm, &c, CM_NEW, e);
  assert_int_equal(tn_commit_append(table, &options, &c, &result, &why), TARN_E_INVALID);
  assert_contains(why.message, "does not tell its source");
  cm_file(&tm, &blob, CM_NEW, columns_of(&tm, "x.blob", 5, "x"));
  assert_int_equal(tn_commit_append(table, &options, &blob, &result, &why), TARN_E_INVALID);
  assert_contains(why.message, "columns of rows 0 and on");
  assert_int_equal(cm_count(&tm, "manifest"), 0);
  end(&tm, table);
}

/* ------------------------------------------------------------------ data evolution */

static tarn_status update(table_maker *tm, tn_table *table, int64_t since, const char *name,
                          int64_t first, int64_t rows, tarn_error *err) {
  tn_commit_options options = cm_user("u");
  tn_committable c = cm_begin(9);
  tn_commit_result result;
  options.checks_row_ids = true;
  options.row_ids_since = since;
  cm_file(tm, &c, CM_NEW, rows_of(tm, name, first, rows));
  return tn_commit_append(table, &options, &c, &result, err);
}

static void update__of_rows_that_were_updated_conflicts(void **state) {
  table_maker tm;
  tn_table *table = make_table(&tm, EVOLVED);
  tn_committable first = cm_begin(1);
  tarn_error why;
  (void)state;
  cm_file(&tm, &first, CM_NEW, columns_of(&tm, "a", 5, "a"));
  cm_file(&tm, &first, CM_NEW, columns_of(&tm, "b", 5, "a"));
  (void)cm_append(table, "u", &first);
  OK(update(&tm, table, 1, "u1", 0, 5, err));
  assert_int_equal(update(&tm, table, 1, "u2", 0, 5, &why), TARN_E_CONFLICT);
  assert_contains(why.message,
                  "For Data Evolution table, multiple 'MERGE INTO' operations have encountered "
                  "conflicts, updating the same file, which can render some updates ineffective.");
  OK(update(&tm, table, 1, "u3", 5, 5, err)); /* other rows */
  OK(update(&tm, table, 2, "u4", 0, 5, err)); /* it has seen the first one */
  end(&tm, table);
}

static void update__of_a_part_of_a_file_conflicts(void **state) {
  table_maker tm;
  tn_table *table = make_table(&tm, EVOLVED);
  tn_committable first = cm_begin(1);
  tarn_error why;
  (void)state;
  cm_file(&tm, &first, CM_NEW, columns_of(&tm, "a", 5, "a"));
  (void)cm_append(table, "u", &first);
  assert_int_equal(update(&tm, table, 1, "u1", 0, 3, &why), TARN_E_CONFLICT);
  assert_contains(why.message,
                  "For Data Evolution table, multiple 'MERGE INTO' and 'COMPACT' operations have "
                  "encountered conflicts, data files: u1, a.");
  end(&tm, table);
}

/* Whether the writer asks for it or not: a compaction may have come first. */
static void columns__of_a_part_of_a_file_conflict(void **state) {
  table_maker tm;
  tn_table *table = make_table(&tm, EVOLVED);
  tn_commit_options options = cm_user("u");
  tn_committable first = cm_begin(1), whole = cm_begin(2), part = cm_begin(3), rows = cm_begin(4);
  tn_commit_result result;
  tarn_error why;
  (void)state;
  cm_file(&tm, &first, CM_NEW, columns_of(&tm, "a", 5, "a"));
  (void)cm_append(table, "u", &first);
  cm_file(&tm, &whole, CM_NEW, rows_of(&tm, "u1", 0, 5));
  OK(tn_commit_append(table, &options, &whole, &result, err));
  cm_file(&tm, &part, CM_NEW, rows_of(&tm, "u2", 0, 3));
  assert_int_equal(tn_commit_append(table, &options, &part, &result, &why), TARN_E_CONFLICT);
  assert_contains(why.message, "have encountered conflicts, data files: u2, a.");
  cm_file(&tm, &rows, CM_NEW, columns_of(&tm, "b", 2, "a")); /* these are new */
  OK(tn_commit_append(table, &options, &rows, &result, err));
  end(&tm, table);
}

/* Somebody has overwritten the rows when their columns come: these would be rows alone. */
static void columns__of_rows_that_went_conflict(void **state) {
  static const struct {
    const char *name;
    int64_t first, rows;
    const char *says; /* NULL: they are there */
  } CASES[] = {
      {"u1", 0, 5,
       "db.t: columns were written for rows 0 to 4 (file u1), which snapshot 2 does "
       "not have in that partition: they were overwritten or deleted meanwhile"},
      {"u2", 5, 3, NULL},
      {"u3", 8, 2, "rows 8 to 9 (file u3)"}, /* there never were any */
      {"u4.blob", 2, 3, "rows 2 to 4 (file u4.blob)"},
      {"u5.blob", 6, 2, NULL},
  };
  table_maker tm;
  tn_table *table = make_table(&tm, EVOLVED);
  tn_commit_options options = cm_user("u");
  tn_committable first = cm_begin(1), instead = cm_begin(2);
  tn_commit_result result;
  int64_t n_snapshots = 2;
  (void)state;
  cm_file(&tm, &first, CM_NEW, columns_of(&tm, "a", 5, "a"));
  (void)cm_append(table, "u", &first);
  cm_file(&tm, &instead, CM_NEW, columns_of(&tm, "b", 3, "a"));
  OK(tn_commit_overwrite(table, &options, &instead, NULL, false, &result, err));
  for (size_t i = 0; i < TN_COUNT(CASES); i++) {
    tn_committable c = cm_begin(3 + (int64_t)i);
    tarn_error why;
    cm_file(&tm, &c, CM_NEW, rows_of(&tm, CASES[i].name, CASES[i].first, CASES[i].rows));
    if (CASES[i].says == NULL) {
      OK(tn_commit_append(table, &options, &c, &result, err));
      n_snapshots++;
    } else {
      assert_int_equal(tn_commit_append(table, &options, &c, &result, &why), TARN_E_CONFLICT);
      assert_int_equal(why.status, TARN_E_CONFLICT);
      assert_contains(why.message, CASES[i].says);
      assert_contains(why.message, "(_ROW_ID in db.t$row_tracking)");
    }
    assert_int_equal(cm_count(&tm, "snapshot"), n_snapshots + 1); /* LATEST */
  }
  end(&tm, table);
}

static void columns__of_an_empty_table_conflict(void **state) {
  table_maker tm;
  tn_table *table = make_table(&tm, EVOLVED);
  tn_commit_options options = cm_user("u");
  tn_committable c = cm_begin(1);
  tn_commit_result result;
  tarn_error why;
  (void)state;
  cm_file(&tm, &c, CM_NEW, rows_of(&tm, "u1", 0, 5));
  assert_int_equal(tn_commit_append(table, &options, &c, &result, &why), TARN_E_CONFLICT);
  assert_contains(why.message, "rows 0 to 4 (file u1)");
  assert_int_equal(cm_count(&tm, "snapshot"), 0);
  end(&tm, table);
}

static void columns__do_not_overwrite(void **state) {
  table_maker tm;
  tn_table *table = make_table(&tm, EVOLVED);
  tn_commit_options options = cm_user("u");
  tn_committable first = cm_begin(1), c = cm_begin(2);
  tn_commit_result result;
  tarn_error why;
  (void)state;
  cm_file(&tm, &first, CM_NEW, columns_of(&tm, "a", 5, "a"));
  (void)cm_append(table, "u", &first);
  cm_file(&tm, &c, CM_NEW, rows_of(&tm, "u1", 0, 5));
  assert_int_equal(tn_commit_overwrite(table, &options, &c, NULL, false, &result, &why),
                   TARN_E_INVALID);
  assert_contains(why.message, "columns of rows that are there cannot overwrite (file u1, row 0");
  end(&tm, table);
}

/* A file of vectors lies beside the rows of several data files. */
static void columns__lie_beside_files_of_vectors(void **state) {
  table_maker tm;
  tn_table *table = make_table(&tm, EVOLVED);
  tn_committable first = cm_begin(1), c = cm_begin(2);
  (void)state;
  cm_file(&tm, &first, CM_NEW, columns_of(&tm, "a", 5, "a"));
  cm_file(&tm, &first, CM_NEW, columns_of(&tm, "b", 4, "a"));
  cm_file(&tm, &first, CM_NEW, columns_of(&tm, "z.vector.parquet", 9, "z"));
  (void)cm_append(table, "u", &first);
  cm_file(&tm, &c, CM_NEW, rows_of(&tm, "u1", 5, 4));
  (void)cm_append(table, "u", &c);
  end(&tm, table);
}

static void overwrite_all(interloper *self) {
  tn_commit_options options = cm_user("other");
  tn_committable c = cm_begin(1);
  tn_commit_result result;
  cm_file(self->tm, &c, CM_NEW, columns_of(self->tm, "b", 5, "a"));
  OK(tn_commit_overwrite(self->table, &options, &c, NULL, false, &result, err));
}

/* They were there when the commit was tried first. */
static void columns__of_rows_that_go_meanwhile_conflict(void **state) {
  table_maker tm;
  interloper other;
  tn_commit_options options = cm_user("u");
  tn_committable first = cm_begin(1), c = cm_begin(2);
  tn_commit_result result;
  tarn_error why;
  (void)state;
  il_begin(&tm, &other, IL_QUICK ";row-tracking.enabled=true;data-evolution.enabled=true",
           IL_AT_LINK, overwrite_all, 0);
  cm_file(&tm, &first, CM_NEW, columns_of(&tm, "a", 5, "a"));
  (void)cm_append(other.table, "u", &first);
  other.times = 1;
  cm_file(&tm, &c, CM_NEW, rows_of(&tm, "u1", 0, 5));
  assert_int_equal(tn_commit_append(other.table, &options, &c, &result, &why), TARN_E_CONFLICT);
  assert_int_equal(result.n_attempts, 2);
  assert_contains(why.message, "rows 0 to 4 (file u1), which snapshot 2 does not have");
  assert_false(result.is_unsure);
  il_end(&tm, &other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows__get_ids_in_the_order_of_commits),
      cmocka_unit_test(rows__that_have_ids_keep_them),
      cmocka_unit_test(rows__of_blob_files_are_those_of_the_data_file),
      cmocka_unit_test(rows__of_a_file_that_hides_its_source_are_refused),
      cmocka_unit_test(update__of_rows_that_were_updated_conflicts),
      cmocka_unit_test(update__of_a_part_of_a_file_conflicts),
      cmocka_unit_test(columns__of_a_part_of_a_file_conflict),
      cmocka_unit_test(columns__of_rows_that_went_conflict),
      cmocka_unit_test(columns__of_an_empty_table_conflict),
      cmocka_unit_test(columns__do_not_overwrite),
      cmocka_unit_test(columns__lie_beside_files_of_vectors),
      cmocka_unit_test(columns__of_rows_that_go_meanwhile_conflict),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
