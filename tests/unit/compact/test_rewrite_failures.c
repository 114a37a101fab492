/* test_rewrite_failures.c - rewrites that fail tell why and leave no file: lost and damaged files,
 * memory, the disk, cancelling.
 */
#include "rewrite_cases.h"

#include <errno.h>

#include "support/files.h"
#include "support/torture.h"

static void rewrite__tells_of_lost_files(void **state) {
  rewrite_maker m;
  (void)state;
  rm_open(&m, KV, "k", "bucket=1");
  rm_file(&m, "0L0 3|+|1|a");
  rm_file(&m, "0L5 1|+|1|b")->file_name = tn_slice_text("gone.avro");
  rm_assert_fails(&m, TARN_E_NOT_FOUND, "gone.avro");
  assert_int_equal(rm_n_files(&m), 2);
  rm_close(&m);
}

static void rewrite__leaves_no_file_when_it_fails(void **state) {
  rewrite_maker m;
  (void)state;
  /* The first section is written when the second one fails. */
  rm_open(&m, KV, "k", "bucket=1;" FULL);
  m.request.mode = TN_REWRITE_FULL;
  rm_file(&m, "0L0 3|+|1|a");
  rm_file(&m, "1L0 1|+|5|b")->row_count = 2;
  rm_assert_fails(&m, TARN_E_CORRUPT, "f1.avro");
  assert_int_equal(rm_n_files(&m), 2);
  assert_int_equal(m.result.n_files, 0);
  rm_close(&m);
}

static void rewriter__refuses_what_it_cannot_do(void **state) {
  rewrite_maker m;
  (void)state;
  rm_open(&m, KV, "", "bucket=-1;row-tracking.enabled=true;data-evolution.enabled=true");
  rm_assert_fails(&m, TARN_E_UNSUPPORTED, "data-evolution.enabled");
  rm_close(&m);
}

/* The set-up is made in an environment of its own that never fails; only rewriting does. */
static void fail_each_allocation(const rewrite_case *c, const char *format, const char *folder) {
  int64_t n_calls = 1;
  for (int64_t at = 1; at <= n_calls; at++) {
    tn_test_alloc alloc;
    tarn_allocator hooks;
    tarn_env_options options = TARN_ENV_OPTIONS_INIT;
    tarn_env *env = NULL;
    rewrite_maker m;
    tarn_error error = {0};
    tarn_status st;
    int64_t before;
    int n_files;
    tn_test_alloc_init(&alloc);
    hooks = tn_test_alloc_hooks(&alloc);
    options.threads = 1;
    options.allocator = &hooks;
    OK(tarn_env_create(&options, &env, err));
    open_case(&m, env, c, KV, format);
    m.spill_folder = folder;
    n_files = rm_n_files(&m);
    before = atomic_load(&alloc.calls);
    atomic_store(&alloc.fail_at, before + at);
    st = rm_try(&m, &error);
    atomic_store(&alloc.fail_at, 0);
    if (st != TARN_OK) {
      assert_int_equal(st, TARN_E_NOMEM);
      assert_int_equal(rm_n_files(&m), n_files);
      n_calls = at + 1;
    } else {
      n_calls = atomic_load(&alloc.calls) - before > at ? at + 1 : at;
    }
    rm_close(&m);
    assert_int_equal(atomic_load(&alloc.live_blocks), 0);
  }
}

static void rewrite__survives_failed_allocations(void **state) {
  static char many[2048] = "dL5 "; /* so many rows that the keys of level 0 are looked for first */
  const rewrite_case cases[] = {
      {"", TN_REWRITE_PLAIN, 5,
       .files = {"0L0 3|+|1|c;4|-|2|d", "0L5 1|+|1|a;2|+|2|b ~1", "1L5 1|+|9|a"}},
      {FULL ";changelog-producer.row-deduplicate=true", TN_REWRITE_FULL, 5,
       .files = {"0L0 4|+|1|a;5|-|2|x;6|+|4|d;7|-|9|y", "0L5 1|+|1|a;2|+|2|b;3|+|3|c"}},
      {LOOKUP ";deletion-vectors.enabled=true", TN_REWRITE_LOOKUP, 4, .has_marks = true,
       .files = {"0L0 8|+|1|d;9|-|3|e", "dL5 1|+|0|w;1|+|1|x;2|+|2|y;3|+|3|z"}},
      {LOOKUP, TN_REWRITE_LOOKUP, 4, .files = {"0L0 8|+|20|d", many}},
      {"sort-spill-threshold=2", TN_REWRITE_PLAIN, 5,
       .files = {"0L0 9|+|1|d", "0L0 8|-|1|d;8|+|2|x", "0L0 7|+|1|x", "0L5 1|+|1|a"}},
  };
  char *folder = tn_test_temp_dir(), *at = many + strlen(many);
  (void)state;
  for (int k = 0; k < 100; k++) {
    at += sprintf(at, "%s1|+|%d|x", k > 0 ? ";" : "", k);
  }
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    fail_each_allocation(&cases[i], i == 0 ? "parquet" : "avro", folder);
  }
  tn_test_temp_dir_remove(folder);
}

/* Each step of writing and reading fails in turn: no file stays. */
static void rewrite__leaves_no_file_when_the_disk_fails(void **state) {
  static const rewrite_case c = {
      LOOKUP ";file.format.per.level=0:avro,4:parquet", TN_REWRITE_LOOKUP, 4,
      .files = {"0L0 8|+|1|d;9|-|3|e", "1L0 8|+|7|d", "dL5 1|+|0|w;1|+|1|x;2|+|2|y;3|+|7|z"}};
  (void)state;
  for (int kind = 0; kind < 2; kind++) {
    bool is_done = false;
    int64_t n;
    for (n = 1; !is_done; n++) {
      tn_storage_fault fault = {
          .fail_at_write = kind == 0 ? n : 0, .fail_at_call = kind == 1 ? n : 0, .os_errno = EIO};
      tn_storage *faulty;
      tn_table *table;
      tarn_error error = {0};
      rewrite_maker m;
      open_case(&m, NULL, &c, KV, "avro");
      OK(tn_storage_faulty(m.tm.storage, &fault, &faulty, err));
      OK(tn_table_create(m.tm.env, faulty, "d.t", "/t", "main", "/t", m.tm.schema, NULL, 0, &table,
                         err));
      tn_storage_release(faulty); /* the table holds it */
      tn_table_release(m.table);
      m.table = table;
      is_done = rm_try(&m, &error) == TARN_OK;
      assert_int_equal(rm_n_files(&m), is_done ? 5 : 3);
      assert_int_equal(m.result.n_files, is_done);
      rm_close(&m);
    }
    assert_true(n > 3);
  }
}

static void rewrite__can_be_cancelled(void **state) {
  tarn_cancel cancel = {.is_set = true};
  rewrite_maker m;
  (void)state;
  rm_open(&m, KV, "k", "bucket=1");
  rm_file(&m, "0L0 3|+|1|a");
  rm_file(&m, "0L5 1|+|1|b");
  m.cancel = &cancel;
  rm_assert_fails(&m, TARN_E_CANCELLED, "cancelled");
  assert_int_equal(rm_n_files(&m), 2);
  rm_close(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rewrite__tells_of_lost_files),
      cmocka_unit_test(rewrite__leaves_no_file_when_it_fails),
      cmocka_unit_test(rewriter__refuses_what_it_cannot_do),
      cmocka_unit_test(rewrite__survives_failed_allocations),
      cmocka_unit_test(rewrite__leaves_no_file_when_the_disk_fails),
      cmocka_unit_test(rewrite__can_be_cancelled),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
