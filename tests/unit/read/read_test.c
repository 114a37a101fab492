/* read_test.c - splits by hand, read to text. */
#include "read_test.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/torture.h"

void rt_begin_in(read_test *t, tarn_env *env) {
  memset(t, 0, sizeof(*t));
  tm_begin_in(&t->tm, env);
  tn_buf_init(&t->text, &t->tm.env->mem, 1u << 24);
  t->plan.refs = 1000;
  t->plan.env = env;
  t->o.limit = -1;
}

void rt_begin(read_test *t, int32_t threads) {
  tarn_env_options options = TARN_ENV_OPTIONS_INIT;
  tarn_env *env = NULL;
  options.threads = threads;
  OK(tarn_env_create(&options, &env, err));
  rt_begin_in(t, env);
}

void rt_end(read_test *t) {
  assert_int_equal(t->plan.refs, 1000);
  tn_buf_reset(&t->text);
  tn_table_release(t->table);
  tm_end(&t->tm);
}

void rt_open(read_test *t, const char *dynamic) {
  tn_table_release(t->table);
  t->table = tm_table(&t->tm, dynamic);
  t->o.table = t->table;
  t->o.fields = t->table->schema->fields;
  t->o.n_fields = t->table->schema->n_fields;
}

void rt_select(read_test *t, const char *names) {
  const tn_schema *schema = t->table->schema;
  t->o.n_fields = 0;
  while (*names != '\0') {
    size_t n = strcspn(names, ",");
    int32_t at = tn_fields_find(schema->fields, schema->n_fields, tn_slice_of(names, n));
    assert_true(at >= 0);
    t->fields[t->o.n_fields++] = schema->fields[at];
    names += n + (names[n] == ',');
  }
  t->o.fields = t->fields;
}

tn_split *rt_split(read_test *t, bool is_raw) {
  tn_split *split = &t->splits[t->n_splits];
  const tn_manifest_entry entry = tm_entry("x", 0);
  *split = (tn_split){.plan = &t->plan,
                      .partition = entry.partition,
                      .bucket_path = "/t/bucket-0",
                      .files = t->files[t->n_splits],
                      .is_raw_convertible = is_raw};
  t->split_ptrs[t->n_splits++] = split;
  return split;
}

tn_data_file *rt_add(read_test *t, tn_data_file file) {
  tn_split *split = &t->splits[t->n_splits - 1];
  tn_data_file *to = &t->files[t->n_splits - 1][split->n_files++];
  *to = file;
  return to;
}

void rt_delete(read_test *t, const char *positions) {
  tn_split *split = &t->splits[t->n_splits - 1];
  char *path = tn_arena_printf(&t->tm.arena, "/t/index/dv-%d", t->tm.n_files++);
  t->deletions[t->n_splits - 1][split->n_files - 1] = dm_deletions_file(&t->tm, path, positions);
  split->deletions = t->deletions[t->n_splits - 1];
}

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort_rows(read_test *t) {
  char *copy = malloc(t->text.len + 1), *rows[8192];
  size_t n = 0;
  memcpy(copy, t->text.data, t->text.len);
  copy[t->text.len] = '\0';
  for (char *p = strtok(copy, ";"); p != NULL; p = strtok(NULL, ";")) {
    rows[n++] = p;
  }
  qsort(rows, n, sizeof(*rows), by_text);
  t->text.len = 0;
  for (size_t i = 0; i < n; i++) {
    OK(tn_buf_printf(&t->text, err, "%s%s", i > 0 ? ";" : "", rows[i]));
  }
  free(copy);
}

tarn_status rt_read(read_test *t, tarn_error *err) {
  tn_read *read = NULL;
  tarn_status st;
  t->text.len = 0;
  t->n_batches = 0;
  t->o.predicate = t->where != NULL ? tm_where(&t->tm, t->table, t->where) : NULL;
  st = tn_read_create(t->tm.env, &t->o, t->split_ptrs, t->n_splits, &read, err);
  while (st == TARN_OK) {
    tn_batch batch;
    bool is_end;
    st = tn_read_next(read, &batch, err);
    is_end = st != TARN_OK || batch.n_rows == 0;
    for (int32_t c = 0; c < batch.n_columns && !is_end; c++) {
      assert_int_equal(batch.columns[c].encoding, TN_VEC_FLAT);
      assert_int_equal(batch.columns[c].length, batch.n_rows);
    }
    if (!is_end) {
      t->n_batches++;
      dm_text(&batch, &t->text);
    }
    tn_batch_reset(t->tm.env, &batch);
    if (is_end) {
      break;
    }
  }
  if (read != NULL && st != TARN_OK) { /* a failure stays one */
    tn_batch batch;
    tarn_error again = {0};
    assert_int_equal(tn_read_next(read, &batch, &again), st);
    assert_string_equal(again.message, err->message);
  }
  tn_read_free(read);
  if (t->sorts_rows && st == TARN_OK) {
    sort_rows(t);
  }
  return st;
}

void rt_assert(read_test *t, const char *expected) {
  tarn_error error = {0};
  if (rt_read(t, &error) != TARN_OK) {
    fail_msg("%s", error.message);
  }
  OK(tn_buf_append(&t->text, "", 1, err));
  assert_string_equal((const char *)t->text.data, expected);
}

void rt_assert_fails(read_test *t, tarn_status status, const char *text) {
  tarn_error err = {0};
  assert_int_equal(rt_read(t, &err), status);
  if (strstr(err.message, text) == NULL) {
    fail_msg("\"%s\" lacks \"%s\"", err.message, text);
  }
}

/* ------------------------------------------------------------------ allocations */

static tarn_status count_rows(read_test *t, int64_t *n_rows, tarn_error *err) {
  tn_read *read = NULL;
  tarn_status st = tn_read_create(t->tm.env, &t->o, t->split_ptrs, t->n_splits, &read, err);
  bool is_end = false;
  *n_rows = 0;
  while (st == TARN_OK && !is_end) {
    tn_batch batch;
    st = tn_read_next(read, &batch, err);
    *n_rows += batch.n_rows;
    is_end = batch.n_rows == 0;
    tn_batch_reset(t->tm.env, &batch);
  }
  tn_read_free(read);
  return st;
}

int64_t rt_fail_each_allocation(void (*make)(read_test *t, tarn_env *env), int64_t expected) {
  for (int64_t n = 1;; n++) {
    tn_test_alloc alloc;
    tarn_allocator hooks;
    tarn_env_options options = TARN_ENV_OPTIONS_INIT;
    tarn_env *env;
    read_test t;
    tarn_error error = {0};
    int64_t n_rows, calls;
    tarn_status st;
    tn_test_alloc_init(&alloc);
    hooks = tn_test_alloc_hooks(&alloc);
    options.allocator = &hooks;
    OK(tarn_env_create(&options, &env, err));
    make(&t, env);
    atomic_store(&alloc.calls, 0);
    atomic_store(&alloc.fail_at, n);
    st = count_rows(&t, &n_rows, &error);
    calls = atomic_load(&alloc.calls);
    atomic_store(&alloc.fail_at, 0);
    if (!(st == TARN_OK && n_rows == expected) && !(st == TARN_E_NOMEM && calls >= n)) {
      fail_msg("allocation %lld of %lld failed: %s %s, %lld rows", (long long)n, (long long)calls,
               tarn_status_name(st), error.message, (long long)n_rows);
    }
    rt_end(&t);
    if (atomic_load(&alloc.live_blocks) != 0) {
      fail_msg("allocation %lld of %lld failed: %lld blocks leaked", (long long)n, (long long)calls,
               (long long)atomic_load(&alloc.live_blocks));
    }
    if (calls < n) {
      return n;
    }
  }
}
