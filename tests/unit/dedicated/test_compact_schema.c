/* test_compact_schema.c - tables that were opened before somebody changed their schema, and wrote
 * rows with it, are compacted with the newer one. */
#include "datafile/data_writer.h"
#include "dedicated/compact_table.h"
#include "support/torture.h"
#include "write_maker.h"

#define BEFORE "0 p INT|1 k INT NOT NULL|2 v INT"
#define AFTER "0 p INT|3 x STRING|2 v BIGINT|1 k INT NOT NULL"

typedef struct schema_case {
  const char *keys, *options;
  bool is_sorted;
  const char *rows;
} schema_case;

#define ROWS "1|keep|40000000000|9;1|null|1|1;1|null|2|2;2|null|3|3"

static const schema_case cases[] = {
    {"p,k", "bucket=1;write-only=true", false, ROWS},
    {"p,k", "bucket=1;write-only=true;changelog-producer=lookup", false, ROWS},
    {"p,k", "bucket=1;write-only=true;deletion-vectors.enabled=true", false, ROWS},
    {"p,k", "bucket=-1;write-only=true", false, ROWS},
    {"p,k", "bucket=-2", false, ROWS},
    {"", "bucket=1;bucket-key=k;write-only=true", false, ROWS},
    {"", "bucket=-1", false, ROWS},
    {"", "bucket=-1;deletion-vectors.enabled=true", false, ROWS},
    {"", "bucket=-1", true, ROWS},
    {"", "bucket=-1;row-tracking.enabled=true", false, ROWS},
    {"", "bucket=-1;row-tracking.enabled=true;data-evolution.enabled=true", false, ROWS},
};

static void commit_rows(write_maker *m, const char *rows) {
  wm_open(m);
  wm_write(m, rows);
  wm_commit(m);
  wm_close(m);
}

/* Rows of both schemas; the table as it was opened before. */
static tn_table *fill(write_maker *m, const schema_case *c) {
  tn_table *opened = tn_table_retain(m->table);
  commit_rows(m, "1|1|1;2|3|3");
  commit_rows(m, "1|2|2");
  wm_table(m, AFTER, "p", c->keys, c->options);
  commit_rows(m, "1|keep|40000000000|9");
  return opened;
}

static const int32_t by_value[] = {2}; /* v of the table that was opened */

static tn_table_compact_request request_of(tn_table *table, const schema_case *c) {
  return (tn_table_compact_request){.table = table,
                                    .is_full = true,
                                    .user = "c",
                                    .identifier = INT64_MAX,
                                    .order_columns = by_value,
                                    .n_order_columns = c->is_sorted ? 1 : 0};
}

static void newer_files__keep_what_the_opened_table_lacks(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tn_table_compact_request q;
    tn_table_compact_result r;
    tn_table *opened;
    write_maker m;
    wm_begin(&m, BEFORE, "p", cases[i].keys, cases[i].options);
    opened = fill(&m, &cases[i]);
    q = request_of(opened, &cases[i]);
    OK(tn_table_compact(&q, &r, NULL, err));
    if (r.n_files_in == 0 || strcmp(wm_rows(&m), cases[i].rows) != 0) {
      fail_msg("%s%s: %s", cases[i].options, cases[i].is_sorted ? ", sorted" : "", wm_rows(&m));
    }
    tn_table_release(opened);
    wm_end(&m);
  }
}

/* The columns that rows are sorted by are found wherever the newer schema has them. */
static void sorted__by_columns_that_have_moved(void **state) {
  const schema_case *c = &cases[8];
  tn_table_compact_request q;
  tn_table_compact_result r;
  tn_scan scan = {.limit = -1};
  tn_read_options o = {.limit = -1};
  tn_table *opened;
  write_maker m;
  tn_buf text;
  (void)state;
  assert_true(c->is_sorted);
  wm_begin(&m, BEFORE, "p", c->keys, c->options);
  opened = fill(&m, c);
  commit_rows(&m, "1|b|30|5;1|a|1|7");
  q = request_of(opened, c);
  OK(tn_table_compact(&q, &r, NULL, err));
  scan.table = o.table = m.table;
  o.fields = m.table->schema->fields;
  o.n_fields = m.table->schema->n_fields;
  tn_buf_init(&text, &m.tm.env->mem, 1u << 20);
  wm_scan_text(&m, &scan, &o, &text);
  OK(tn_buf_append(&text, "", 1, err));
  assert_non_null(strstr((const char *)text.data, "1|null|2|2;1|b|30|5;1|keep|40000000000|9"));
  tn_buf_reset(&text);
  tn_table_release(opened);
  wm_end(&m);
}

static void sorted__by_a_column_that_is_gone_is_refused(void **state) {
  const schema_case *c = &cases[8];
  tn_table_compact_request q;
  tn_table_compact_result r;
  tarn_error error = {0};
  tn_table *opened;
  write_maker m;
  (void)state;
  wm_begin(&m, BEFORE, "p", c->keys, c->options);
  opened = fill(&m, c);
  wm_table(&m, "0 p INT|3 x STRING|1 k INT NOT NULL", "p", c->keys, c->options);
  q = request_of(opened, c);
  assert_int_equal(tn_table_compact(&q, &r, NULL, &error), TARN_E_STATE);
  assert_non_null(strstr(error.message, "no column 'v' any more"));
  assert_int_equal(r.n_commits, 0);
  tn_table_release(opened);
  wm_end(&m);
}

/* ------------------------------------------------------------------ failures */

static tarn_status run_once(void *ctx, tarn_env *env, tarn_error *why) {
  const schema_case *c = ctx;
  tn_test_alloc *alloc = env->mem.hooks.ctx;
  int64_t fail_at = alloc->fail_at, calls = alloc->calls;
  tn_table_compact_request q;
  tn_table_compact_result r;
  tn_table *opened;
  write_maker m;
  tarn_status st;
  alloc->fail_at = 0;
  wm_begin_in(&m, env, BEFORE, "p", c->keys, c->options);
  opened = fill(&m, c);
  q = request_of(opened, c);
  q.is_dry_run = true; /* up to what is picked, which is all that a newer schema changes */
  alloc->calls = calls;
  alloc->fail_at = fail_at;
  st = tn_table_compact(&q, &r, NULL, why);
  fail_at = alloc->fail_at;
  calls = alloc->calls;
  alloc->fail_at = 0;
  q.is_dry_run = false;
  OK(tn_table_compact(&q, &r, NULL, err));
  assert_string_equal(wm_rows(&m), c->rows);
  tn_table_release(opened);
  m.tm.env = NULL; /* tn_torture() frees it */
  wm_end(&m);
  alloc->fail_at = fail_at;
  alloc->calls = calls;
  return st;
}

static void torture__meeting_a_newer_schema_leaks_nothing(void **state) {
  static const size_t some[] = {0, 4, 6, 8};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(some); i++) {
    schema_case c = cases[some[i]];
    assert_true(tn_torture(run_once, &c, TARN_OK) > 20);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(newer_files__keep_what_the_opened_table_lacks),
      cmocka_unit_test(sorted__by_columns_that_have_moved),
      cmocka_unit_test(sorted__by_a_column_that_is_gone_is_refused),
      cmocka_unit_test(torture__meeting_a_newer_schema_leaks_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
