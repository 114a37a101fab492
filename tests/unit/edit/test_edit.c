/* test_edit.c - edits that fail: each allocation, each step of the storage. What an edit is worth
 * when nothing fails is in api/test_edit_api.c. */
#include "edit/edit.h"
#include "support/torture.h"
#include "write_maker.h"

static const char *const columns = "0 p INT|1 k INT NOT NULL|2 v STRING";
static const char *const rows_before = "1|1|a;1|2|b;1|3|c;2|4|d;2|5|e;2|6|f";

static const struct edit_case {
  const char *options, *where;
  bool is_update;
  const char *rows; /* after the edit */
} edit_cases[] = {
    {"bucket=-1", "k = 2 OR k >= 5", false, "1|1|a;1|3|c;2|4|d"},
    {"bucket=-1", "v = 'b'", true, "1|1|a;1|2|new;1|3|c;2|4|d;2|5|e;2|6|f"},
    {"bucket=-1", NULL, false, ""},
    {"bucket=-1", "k = 9", false, "1|1|a;1|2|b;1|3|c;2|4|d;2|5|e;2|6|f"},
    {"bucket=-1;file.format=avro", "k = 2 OR k = 5", true,
     "1|1|a;1|2|new;1|3|c;2|4|d;2|5|new;2|6|f"},
    {"bucket=2;bucket-key=k", "k = 2 OR k = 5", true, "1|1|a;1|2|new;1|3|c;2|4|d;2|5|new;2|6|f"},
    {"bucket=-1;deletion-vectors.enabled=true", "k = 2 OR k = 5", false, "1|1|a;1|3|c;2|4|d;2|6|f"},
    {"bucket=-1;deletion-vectors.enabled=true;deletion-vectors.bitmap64=true", "k = 2 OR k = 5",
     true, "1|1|a;1|2|new;1|3|c;2|4|d;2|5|new;2|6|f"},
    {"bucket=2;bucket-key=k;deletion-vectors.enabled=true;index-file-in-data-file-dir=true",
     "k = 2 OR k = 5", false, "1|1|a;1|3|c;2|4|d;2|6|f"},
};

/* All rows that match get v = 'new'. */
static tarn_status replace(write_maker *m, tn_edit *edit, tn_batch *rows, tarn_error *err) {
  tn_vec *v = &rows->columns[2];
  tn_datum value = {.v.bytes = tn_slice_text("new")};
  const tn_vec *source;
  tn_row_ref refs[16] = {{0, 0}};
  tn_vec one;
  tarn_status st;
  memset(&one, 0, sizeof(one));
  TN_TRY(tn_datum_to_vec(m->tm.env, &rows->fields[2].type, &value, &one, err));
  tn_vec_reset(m->tm.env, v);
  source = &one;
  st = tn_vec_gather(m->tm.env, &rows->fields[2].type, &source, 1, refs, rows->n_rows, v, err);
  st = st == TARN_OK ? tn_edit_replace(edit, rows, err) : st;
  tn_vec_reset(m->tm.env, &one);
  return st;
}

static tarn_status edit_once(write_maker *m, const struct edit_case *c, const tn_pred *where,
                             tn_arena *arena, tn_committable *out, tarn_error *err) {
  const tn_edit_request q = {
      .table = m->table, .predicate = where, .is_update = c->is_update, .user = "e"};
  tn_edit *edit;
  tarn_status st;
  int64_t n = 1;
  out->identifier = INT64_MAX;
  TN_TRY(tn_edit_create(m->tm.env, &q, &edit, err));
  while (n > 0) {
    tn_batch rows;
    memset(&rows, 0, sizeof(rows));
    st = tn_edit_next(edit, c->is_update ? &rows : NULL, &n, err);
    if (st == TARN_OK && c->is_update && n > 0) {
      st = replace(m, edit, &rows, err);
    }
    tn_batch_reset(m->tm.env, &rows);
    TN_TRY_TO(done, st);
  }
  st = tn_edit_prepare(edit, INT64_MAX, arena, &out->messages, &out->n_messages, err);
done:
  tn_edit_free(edit);
  return st;
}

static void fill(write_maker *m, tarn_env *env, const struct edit_case *c) {
  const struct edit_case first = {"", "k = 3", false, NULL};
  memset(m, 0, sizeof(*m));
  if (env != NULL) {
    wm_begin_in(m, env, columns, "p", "", c->options);
    wm_open(m);
  } else {
    wm_begin(m, columns, "p", "", c->options);
  }
  wm_write(m, rows_before);
  wm_commit(m);
  if (m->table->facts.deletion_vectors) { /* vectors are there already */
    tn_committable marks = {0};
    OK(edit_once(m, &first, tm_where(&m->tm, m->table, first.where), &m->tm.arena, &marks, err));
    wm_commit_it(m, &marks);
  }
  wm_close(m);
}

/* Without the row that fill() marks. */
static void expect_rows(write_maker *m, const char *rows) {
  char wanted[128];
  const char *marked = m->table->facts.deletion_vectors ? strstr(rows, "1|3|c;") : NULL;
  snprintf(wanted, sizeof(wanted), "%.*s%s", marked != NULL ? (int)(marked - rows) : 0, rows,
           marked != NULL ? marked + strlen("1|3|c;") : rows);
  assert_string_equal(wm_rows(m), wanted);
}

static void commit_and_check(write_maker *m, const struct edit_case *c, const tn_committable *all) {
  wm_commit_it(m, all);
  expect_rows(m, c->rows);
}

static void edits__failing_allocations_leave_nothing(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(edit_cases); i++) {
    const struct edit_case *c = &edit_cases[i];
    for (int64_t n = 1;; n++) {
      tn_test_alloc alloc;
      tarn_allocator hooks;
      tarn_env_options options = TARN_ENV_OPTIONS_INIT;
      tn_committable all = {.identifier = INT64_MAX};
      tarn_error error = {0};
      const tn_pred *where;
      tn_arena arena;
      write_maker m;
      tarn_env *env;
      tarn_status st;
      int64_t calls;
      int n_files;
      tn_test_alloc_init(&alloc);
      hooks = tn_test_alloc_hooks(&alloc);
      options.allocator = &hooks;
      OK(tarn_env_create(&options, &env, err));
      fill(&m, env, c);
      n_files = wm_count_files(&m);
      where = tm_where(&m.tm, m.table, c->where);
      tn_arena_init(&arena, &env->mem, SIZE_MAX);
      atomic_store(&alloc.calls, 0);
      atomic_store(&alloc.fail_at, n);
      st = edit_once(&m, c, where, &arena, &all, &error);
      calls = atomic_load(&alloc.calls);
      atomic_store(&alloc.fail_at, 0);
      if (st == TARN_OK) {
        commit_and_check(&m, c, &all);
      } else {
        if (st != TARN_E_NOMEM || calls < n) {
          fail_msg("%s: allocation %lld of %lld failed: %s %s", c->options, (long long)n,
                   (long long)calls, tarn_status_name(st), error.message);
        }
        assert_int_equal(wm_count_files(&m), n_files);
      }
      tn_arena_reset(&arena);
      wm_end(&m);
      if (atomic_load(&alloc.live_blocks) != 0) {
        fail_msg("%s: allocation %lld of %lld failed: %lld blocks leaked", c->options, (long long)n,
                 (long long)calls, (long long)atomic_load(&alloc.live_blocks));
      }
      if (calls < n) {
        break;
      }
    }
  }
}

/* is_read: reads fail, else steps of writing. Returns whether there was such a step. */
static bool fail_at(const struct edit_case *c, int64_t step, bool is_read) {
  tn_storage_fault fault = {.os_errno = is_read ? 5 : 28};
  tn_committable all = {.identifier = INT64_MAX};
  tarn_error error = {0};
  tn_storage *inner;
  write_maker m;
  tarn_status st;
  int64_t steps;
  int n_files;
  fill(&m, NULL, c);
  n_files = wm_count_files(&m);
  inner = m.table->storage;
  OK(tn_storage_faulty(inner, &fault, &m.table->storage, err));
  fault.fail_at_call = is_read ? step : 0;
  fault.fail_at_write = is_read ? 0 : step;
  st = edit_once(&m, c, tm_where(&m.tm, m.table, c->where), &m.tm.arena, &all, &error);
  steps = is_read ? atomic_load(&fault.calls) : atomic_load(&fault.writes);
  tn_storage_release(m.table->storage);
  m.table->storage = inner;
  if (st == TARN_OK) {
    commit_and_check(&m, c, &all);
  } else {
    assert_int_equal(st, TARN_E_IO);
    assert_int_equal(wm_count_files(&m), n_files);
    expect_rows(&m, rows_before);
  }
  wm_end(&m);
  return steps >= step;
}

static void edits__failing_storage_leaves_nothing(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(edit_cases); i++) {
    for (int is_read = 0; is_read < 2; is_read++) {
      int64_t step = 1;
      while (fail_at(&edit_cases[i], step, is_read)) {
        step++;
      }
    }
  }
}

/* Rows that are written anew by a table that was opened before a change would lose what is new. */
static void edits__of_rows_of_a_newer_schema_are_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(edit_cases); i++) {
    const struct edit_case *c = &edit_cases[i];
    tn_committable all = {0};
    tarn_error error = {0};
    tn_table *opened;
    write_maker m;
    fill(&m, NULL, c);
    opened = tn_table_retain(m.table);
    wm_table(&m, "0 p INT|1 k INT NOT NULL|2 v STRING|3 x STRING", "p", "", c->options);
    wm_open(&m);
    wm_write(&m, "1|2|b|keep");
    wm_commit(&m);
    wm_close(&m);
    tn_table_release(m.table);
    m.table = opened;
    assert_int_equal(
        edit_once(&m, c, c->where != NULL ? tm_where(&m.tm, m.table, c->where) : NULL, &m.tm.arena,
                  &all, &error),
        strcmp(c->where != NULL ? c->where : "", "k = 9") == 0 ? TARN_OK : TARN_E_STATE);
    if (error.message[0] != '\0') {
      assert_non_null(strstr(error.message, "changed from 0 to 1"));
    }
    wm_end(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(edits__of_rows_of_a_newer_schema_are_refused),
      cmocka_unit_test(edits__failing_allocations_leave_nothing),
      cmocka_unit_test(edits__failing_storage_leaves_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
