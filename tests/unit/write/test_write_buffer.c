/* test_write_buffer.c - rows that wait: small budgets, spilled runs, buckets by hash, failures. */
#include <sys/stat.h>
#include <unistd.h>

#include "column/equal.h"
#include "support/files.h"
#include "support/random_vec.h"
#include "support/torture.h"
#include "write/write_parts.h"
#include "write_maker.h"

/* ------------------------------------------------------------------ a model */

#define N_KEYS 300

/* What a table of keys 0 .. N_KEYS - 1 must hold. */
typedef struct model {
  int64_t values[N_KEYS];
  bool has[N_KEYS];
} model;

typedef struct walk {
  write_maker m;
  model wanted;
  random_source random;
} walk;

/* Write a batch of random upserts and deletes, and do the same to the model. */
static void write_random(walk *w, int64_t n) {
  tarn_env *env = w->m.tm.env;
  int32_t n_fields;
  const tn_field *fields = tn_write_fields(w->m.write, &n_fields);
  tn_batch batch;
  int8_t *kinds = malloc((size_t)n);
  OK(tn_batch_init(env, fields, n_fields, &batch, err));
  OK(tn_vec_alloc(env, &batch.columns[0], n, 0, err));
  OK(tn_vec_alloc(env, &batch.columns[1], n, 0, err));
  OK(tn_vec_alloc(env, &batch.columns[2], n, (size_t)n * 24, err));
  for (int64_t i = 0; i < n; i++) {
    uint32_t key = random_below(&w->random, N_KEYS), value = random_next(&w->random);
    int len =
        snprintf((char *)batch.columns[2].values + batch.columns[2].offsets[i], 24, "v%u", value);
    ((int32_t *)batch.columns[0].values)[i] = (int32_t)key;
    ((int64_t *)batch.columns[1].values)[i] = value;
    batch.columns[2].offsets[i + 1] = batch.columns[2].offsets[i] + len;
    kinds[i] = random_below(&w->random, 8) == 0 ? TN_ROW_DELETE : TN_ROW_INSERT;
    w->wanted.has[key] = kinds[i] == TN_ROW_INSERT;
    w->wanted.values[key] = value;
  }
  batch.n_rows = n;
  OK(tn_write_batch(w->m.write, &batch, kinds, err));
  tn_batch_reset(env, &batch);
  free(kinds);
}

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void assert_model(walk *w) {
  char *rows[N_KEYS], *all = calloc(N_KEYS, 64);
  int n = 0;
  for (int k = 0; k < N_KEYS; k++) {
    if (w->wanted.has[k]) {
      rows[n] = malloc(64);
      snprintf(rows[n++], 64, "%d|%lld|v%lld", k, (long long)w->wanted.values[k],
               (long long)w->wanted.values[k]);
    }
  }
  qsort(rows, (size_t)n, sizeof(*rows), by_text);
  for (int i = 0; i < n; i++) {
    strcat(strcat(all, i > 0 ? ";" : ""), rows[i]);
    free(rows[i]);
  }
  assert_string_equal(wm_rows(&w->m), all);
  free(all);
}

static const char *const model_fields = "0 k INT NOT NULL|1 n BIGINT|2 v STRING";

/* Ten commits of random rows through a buffer of some size. */
static void walk_model(const char *options, char *spill_folder, uint64_t seed) {
  walk w = {.random = {.state = seed}};
  wm_begin(&w.m, model_fields, "", "k", options);
  w.m.options.spill_folder = spill_folder;
  wm_open(&w.m);
  for (int commit = 0; commit < 6; commit++) {
    for (int i = 0; i < 12; i++) {
      write_random(&w, random_below(&w.random, 4) == 0 ? 700 : 1 + random_below(&w.random, 9));
    }
    wm_commit(&w.m);
    assert_model(&w);
    if (random_below(&w.random, 3) == 0) {
      wm_open(&w.m);
    }
  }
  if (spill_folder != NULL) {
    tn_write_stats stats;
    write_random(&w, 4000);
    write_random(&w, 4000);
    tn_write_get_stats(w.m.write, &stats);
    assert_true(stats.n_spilled_bytes > 0);
  }
  wm_end(&w.m);
}

static void buffer__any_size_gives_the_models_rows(void **state) {
  static const char *const options[] = {
      "bucket=1",
      "bucket=3",
      "bucket=1;write-buffer-size=40 kb",
      "bucket=3;write-buffer-size=40 kb",
      "bucket=3;write-buffer-size=1 b",
      "bucket=2;write-buffer-size=60 kb;changelog-producer=input"};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(options); i++) {
    walk_model(options[i], NULL, 7 + i);
  }
}

static void spill__gives_the_models_rows_and_leaves_no_file(void **state) {
  static const char *const options[] = {
      "bucket=1;write-buffer-size=40 kb", "bucket=3;write-buffer-size=20 kb",
      "bucket=2;write-buffer-size=1 b;write-buffer-spill.max-disk-size=30 kb"};
  char *folder = tn_test_temp_dir();
  (void)state;
  for (size_t i = 0; i < TN_COUNT(options); i++) {
    walk_model(options[i], folder, 70 + i);
  }
  assert_int_equal(rmdir(folder), 0); /* it is empty */
  assert_int_equal(mkdir(folder, 0700), 0);
  tn_test_temp_dir_remove(folder);
}

/* Every engine: many runs on disk give what one flush gives. */
static void spill__merges_as_one_flush_does(void **state) {
  static const char *const engines[] = {
      "merge-engine=partial-update", "merge-engine=first-row",
      "merge-engine=aggregation;fields.n.aggregate-function=sum;fields.v.aggregate-function=max",
      "merge-engine=deduplicate;sequence.field=n;sequence.field.sort-order=descending"};
  char *folder = tn_test_temp_dir();
  (void)state;
  for (size_t i = 0; i < TN_COUNT(engines); i++) {
    const char *texts[2] = {NULL, NULL}, *rows[2] = {NULL, NULL};
    write_maker makers[2];
    for (int spills = 0; spills < 2; spills++) {
      walk w = {.random = {.state = 5}};
      char options[256];
      tn_committable c;
      snprintf(options, sizeof(options), "bucket=2;%s%s", engines[i],
               spills ? ";write-buffer-size=10 kb" : "");
      wm_begin(&w.m, model_fields, "", "k", options);
      w.m.options.spill_folder = folder;
      wm_open(&w.m);
      for (int k = 0; k < 20; k++) {
        tn_batch batch;
        int8_t *kinds;
        char text[4096] = "";
        for (int r = 0; r < 40; r++) {
          size_t at = strlen(text);
          uint32_t key = random_below(&w.random, 30), n = random_below(&w.random, 9);
          snprintf(text + at, sizeof(text) - at, n == 0 ? "%s%u|null|x" : "%s%u|%u|w%u",
                   r > 0 ? ";" : "", key, n, random_below(&w.random, 50));
        }
        wm_batch(w.m.tm.env, w.m.table->schema->fields, 3, text, &batch, &kinds);
        OK(tn_write_batch(w.m.write, &batch, kinds, err));
        tn_batch_reset(w.m.tm.env, &batch);
        free(kinds);
      }
      c = wm_prepare(&w.m);
      texts[spills] = wm_messages(&w.m, &c);
      if (strstr(engines[i], "first-row") == NULL) { /* whose level 0 nobody sees */
        wm_commit_it(&w.m, &c);
        rows[spills] = wm_rows(&w.m);
      }
      makers[spills] = w.m;
    }
    assert_string_equal(texts[0], texts[1]);
    if (rows[0] != NULL) {
      assert_string_equal(rows[0], rows[1]);
    }
    wm_end(&makers[0]);
    wm_end(&makers[1]);
  }
  tn_test_temp_dir_remove(folder);
}

static void spill__keeps_the_order_of_appended_rows(void **state) {
  write_maker m;
  tn_committable c;
  char *folder = tn_test_temp_dir(), rows[4096];
  (void)state;
  wm_begin(&m, "0 a INT|1 p INT", "p", "",
           "bucket=-1;write-buffer-for-append=true;write-buffer-size=8 kb");
  m.options.spill_folder = folder;
  wm_open(&m);
  for (int i = 0; i < 40; i++) {
    rows[0] = '\0';
    for (int r = 0; r < 20; r++) {
      size_t at = strlen(rows);
      snprintf(rows + at, sizeof(rows) - at, "%s%d|%d", r > 0 ? ";" : "", i * 20 + r, r % 3);
    }
    wm_write(&m, rows);
  }
  c = wm_prepare(&m);
  assert_string_equal(wm_messages(&m, &c),
                      "p=0/b0[280 rows, 0-279] p=1/b0[280 rows, 0-279] p=2/b0[240 rows, 0-239]");
  wm_commit_it(&m, &c);
  assert_contains(wm_rows(&m), "799|1");
  wm_end(&m);
  tn_test_temp_dir_remove(folder);
}

/* Vectors of every type come back from a run as they were. */
static void spill__rows_of_every_type_come_back(void **state) {
  random_source r = {.state = 21};
  char *folder = tn_test_temp_dir();
  tarn_env *env = tn_test_env(1, 0);
  (void)state;
  for (int round = 0; round < 150; round++) {
    tn_field field = {.id = 1, .name = "c"};
    tn_spill *spill = NULL;
    tn_spill_run *run = NULL;
    tn_spill_rows *rows = NULL;
    tn_batch batch, back = {0};
    tn_buffer *sequences, *kinds;
    int64_t numbers[40], n = 1 + random_below(&r, 40);
    int8_t row_kinds[40];
    bool has_kinds = random_below(&r, 2) == 0;
    tn_arena arena;
    tn_arena_init(&arena, &env->mem, SIZE_MAX);
    assert_true(random_type(&arena, &r, 3, &field.type));
    OK(tn_batch_init(env, &field, 1, &batch, err));
    OK(random_vec(env, &field.type, n, &r, &batch.columns[0], err));
    batch.n_rows = n;
    for (int64_t i = 0; i < n; i++) {
      numbers[i] = random_next(&r);
      row_kinds[i] = (int8_t)random_below(&r, 4);
    }
    OK(tn_spill_create(env, folder, &field, 1, &spill, err));
    OK(tn_spill_begin(spill, &run, err));
    OK(tn_spill_add(run, 3, &batch, numbers, has_kinds ? row_kinds : NULL, err));
    OK(tn_spill_add(run, 9, &batch, NULL, NULL, err));
    OK(tn_spill_end(run, err));
    OK(tn_spill_open(spill, 0, 4, &rows, err));
    assert_null(rows);
    OK(tn_spill_open(spill, 0, 3, &rows, err));
    OK(tn_spill_next(rows, &back, &sequences, &kinds, err));
    assert_int_equal(back.n_rows, n);
    assert_memory_equal(sequences->data, numbers, (size_t)n * 8);
    assert_int_equal(kinds != NULL, has_kinds);
    if (has_kinds) {
      assert_memory_equal(kinds->data, row_kinds, (size_t)n);
    }
    for (int64_t i = 0; i < n; i++) {
      bool is_equal;
      OK(tn_vec_rows_equal(&env->mem, &batch.columns[0], i, &back.columns[0], i, &is_equal, err));
      assert_true(is_equal);
    }
    tn_buffer_release(sequences);
    tn_buffer_release(kinds);
    OK(tn_spill_next(rows, &back, &sequences, &kinds, err));
    assert_int_equal(back.n_rows, 0);
    tn_spill_close(rows);
    tn_spill_free(spill);
    tn_batch_reset(env, &batch);
    tn_arena_reset(&arena);
  }
  tarn_env_free(env);
  assert_int_equal(rmdir(folder), 0);
  assert_int_equal(mkdir(folder, 0700), 0);
  tn_test_temp_dir_remove(folder);
}

/* ------------------------------------------------------------------ hashing */

static void buckets__by_column_are_those_of_rows(void **state) {
  static const char *const types[] = {
      "BOOLEAN", "TINYINT",        "SMALLINT",       "INT",          "BIGINT", "FLOAT",
      "DOUBLE",  "DECIMAL(10, 2)", "DECIMAL(38, 4)", "STRING",       "BYTES",  "DATE",
      "TIME(3)", "TIMESTAMP(3)",   "TIMESTAMP(6)",   "TIMESTAMP(9)", "CHAR(5)"};
  random_source r = {.state = 11};
  (void)state;
  for (int round = 0; round < 120; round++) {
    write_maker m;
    char fields[512] = "", key[64] = "";
    int n = 1 + (int)random_below(&r, 3);
    tn_batch batch;
    int32_t numbers[64];
    tn_buf buf;
    for (int c = 0; c < n; c++) {
      size_t at = strlen(fields);
      const char *type = round < (int)TN_COUNT(types) && c == 0
                             ? types[round]
                             : types[random_below(&r, TN_COUNT(types))];
      snprintf(fields + at, sizeof(fields) - at, "%s%d c%d %s%s", c > 0 ? "|" : "", c, c, type,
               random_below(&r, 2) == 0 ? " NOT NULL" : "");
      snprintf(key + strlen(key), sizeof(key) - strlen(key), "%sc%d", c > 0 ? "," : "", c);
    }
    {
      char options[256];
      snprintf(options, sizeof(options), "bucket=17;bucket-key=%s", key);
      wm_begin(&m, fields, "", "", options);
    }
    tn_buf_init(&buf, &m.tm.env->mem, 1 << 20);
    OK(tn_batch_init(m.tm.env, m.table->schema->fields, n, &batch, err));
    batch.n_rows = 64;
    for (int c = 0; c < n; c++) {
      OK(random_vec(m.tm.env, &m.table->schema->fields[c].type, 64, &r, &batch.columns[c], err));
    }
    OK(tn_bucket_numbers(m.write, &batch, numbers, err));
    for (int64_t i = 0; i < 64; i++) {
      const tn_type *key_types[3];
      tn_binary_row_writer writer;
      tn_binary_row row;
      int32_t wanted;
      buf.len = 0;
      OK(tn_binary_row_begin(&writer, &buf, n, err));
      for (int c = 0; c < n; c++) {
        key_types[c] = &m.table->schema->fields[c].type;
        OK(tn_binary_row_set_vec(&writer, c, &batch.columns[c], i, err));
      }
      OK(tn_binary_row_view(tn_buf_slice(&buf), n, "key", &row, err));
      OK(tn_bucket_of(TN_BUCKET_DEFAULT, &row, key_types, 17, &wanted, err));
      if (numbers[i] != wanted) {
        fail_msg("%s: row %lld: %d, not %d", fields, (long long)i, (int)numbers[i], (int)wanted);
      }
    }
    tn_buf_reset(&buf);
    tn_batch_reset(m.tm.env, &batch);
    wm_end(&m);
  }
}

/* ------------------------------------------------------------------ sorting */

static void sort__orders_by_key_and_keeps_what_came_first(void **state) {
  random_source r = {.state = 3};
  (void)state;
  for (int round = 0; round < 60; round++) {
    int64_t n = 1 + random_below(&r, round % 3 == 0 ? 60 : 3000);
    uint64_t mask = round % 4 == 0   ? 7
                    : round % 4 == 1 ? 0xffff00ff00u
                    : round % 4 == 2 ? ~0ull
                                     : 0xff;
    tn_sort_row *rows = malloc((size_t)n * sizeof(*rows)),
                *scratch = malloc((size_t)n * sizeof(*rows));
    tn_row_order order = {.is_exact = true};
    uint64_t sum = 0, sum_after = 0;
    for (int64_t i = 0; i < n; i++) {
      uint64_t v =
          (uint64_t)random_next(&r) << 40 ^ (uint64_t)random_next(&r) << 20 ^ random_next(&r);
      rows[i] = (tn_sort_row){v & mask, (uint32_t)i, (uint32_t)i};
      sum += rows[i].prefix;
    }
    tn_rows_sort(&order, rows, scratch, n);
    for (int64_t i = 0; i < n; i++) {
      sum_after += rows[i].prefix;
      assert_true(i == 0 || rows[i - 1].prefix < rows[i].prefix ||
                  (rows[i - 1].prefix == rows[i].prefix && rows[i - 1].ordinal < rows[i].ordinal));
    }
    assert_true(sum == sum_after);
    free(rows);
    free(scratch);
  }
}

/* ------------------------------------------------------------------ failures */

typedef struct failing {
  const char *keys, *options;
  char *spill_folder;
} failing;

/* Two batches, prepared and thrown away: whatever fails, no file may stay. */
static tarn_status write_once(const failing *f, write_maker *m, tarn_error *err) {
  tn_commit_message *messages = NULL;
  int32_t n = 0, n_fields;
  const tn_field *fields = m->table->schema->fields;
  tarn_status st;
  m->options.spill_folder = f->spill_folder;
  TN_TRY(wm_try_open(m, err));
  n_fields = m->table->schema->n_fields;
  st = TARN_OK;
  for (int i = 0; i < 2 && st == TARN_OK; i++) {
    tn_batch batch;
    TN_TRY(tn_batch_init(m->tm.env, fields, n_fields, &batch, err));
    st = tn_vec_alloc(m->tm.env, &batch.columns[0], 3, 0, err);
    st = st == TARN_OK ? tn_vec_alloc(m->tm.env, &batch.columns[1], 3, 3, err) : st;
    for (int32_t k = 0; k < 3 && st == TARN_OK; k++) {
      ((int32_t *)batch.columns[0].values)[k] = k * 7 % 3;
      ((char *)batch.columns[1].values)[k] = 'a';
      batch.columns[1].offsets[k + 1] = k + 1;
    }
    batch.n_rows = 3;
    st = st == TARN_OK ? tn_write_batch(m->write, &batch, NULL, err) : st;
    tn_batch_reset(m->tm.env, &batch);
  }
  if (st == TARN_OK) {
    tn_committable c = {0};
    st = tn_write_prepare(m->write, 1, &m->tm.arena, &messages, &n, err);
    c.messages = messages;
    c.n_messages = n;
    if (st == TARN_OK && n > 0) {
      st = tn_commit_abort(m->table, &c, err);
    }
  }
  return st;
}

static const failing failing_cases[] = {{"", "bucket=-1", NULL},
                                        {"k", "bucket=2", NULL},
                                        {"k", "bucket=1;write-buffer-size=1 b", NULL},
                                        {"k", "bucket=1;changelog-producer=input", NULL},
                                        {"k", "bucket=1;merge-engine=partial-update", NULL},
                                        {"k", "bucket=-1", NULL},
                                        {"k", "bucket=-2", NULL}};

static void write__failing_storage_leaves_no_file(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(failing_cases); i++) {
    for (int64_t n = 1;; n++) {
      tn_storage_fault fault = {.os_errno = 28};
      tn_storage *inner;
      write_maker m;
      tarn_error err = {0};
      tarn_status st;
      int64_t writes;
      memset(&m, 0, sizeof(m));
      tm_begin(&m.tm, 1);
      m.options.user = "u";
      wm_table(&m, "0 k INT NOT NULL|1 v STRING", "", failing_cases[i].keys,
               failing_cases[i].options);
      inner = m.table->storage;
      assert_int_equal(tn_storage_faulty(inner, &fault, &m.table->storage, &err), TARN_OK);
      fault.fail_at_write = n;
      st = write_once(&failing_cases[i], &m, &err);
      writes = atomic_load(&fault.writes);
      assert_true(st == TARN_OK || st == TARN_E_IO);
      wm_close(&m);
      tn_storage_release(m.table->storage);
      m.table->storage = inner;
      if (st != TARN_OK) {
        assert_int_equal(wm_count_files(&m), 0);
      }
      wm_end(&m);
      if (writes < n) {
        break;
      }
    }
  }
}

static const failing *torture_case;

static tarn_status torture_write(void *ctx, tarn_env *env, tarn_error *err) {
  write_maker *m = ctx;
  (void)env;
  return write_once(torture_case, m, err);
}

/* tn_torture() makes an environment a run; the table must be made in it without a failure, so this
 * loops itself. */
static void write__failing_allocations_leak_nothing(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(failing_cases); i++) {
    torture_case = &failing_cases[i];
    for (int64_t n = 1;; n++) {
      tn_test_alloc alloc;
      tarn_allocator hooks;
      tarn_env_options options = TARN_ENV_OPTIONS_INIT;
      tarn_env *env;
      write_maker m;
      tarn_error error = {0};
      int64_t calls;
      tarn_status st;
      tn_test_alloc_init(&alloc);
      hooks = tn_test_alloc_hooks(&alloc);
      options.allocator = &hooks;
      OK(tarn_env_create(&options, &env, err));
      wm_begin_in(&m, env, "0 k INT NOT NULL|1 v STRING", "", torture_case->keys,
                  torture_case->options);
      atomic_store(&alloc.calls, 0);
      atomic_store(&alloc.fail_at, n);
      st = torture_write(&m, env, &error);
      calls = atomic_load(&alloc.calls);
      atomic_store(&alloc.fail_at, 0);
      if (st != TARN_OK && !(st == TARN_E_NOMEM && calls >= n)) {
        fail_msg("allocation %lld of %lld failed: %s %s", (long long)n, (long long)calls,
                 tarn_status_name(st), error.message);
      }
      wm_end(&m);
      if (atomic_load(&alloc.live_blocks) != 0) {
        fail_msg("%s: allocation %lld of %lld failed: %lld blocks leaked", torture_case->options,
                 (long long)n, (long long)calls, (long long)atomic_load(&alloc.live_blocks));
      }
      if (calls < n) {
        break;
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(buffer__any_size_gives_the_models_rows),
      cmocka_unit_test(spill__gives_the_models_rows_and_leaves_no_file),
      cmocka_unit_test(spill__merges_as_one_flush_does),
      cmocka_unit_test(spill__keeps_the_order_of_appended_rows),
      cmocka_unit_test(spill__rows_of_every_type_come_back),
      cmocka_unit_test(buckets__by_column_are_those_of_rows),
      cmocka_unit_test(sort__orders_by_key_and_keeps_what_came_first),
      cmocka_unit_test(write__failing_storage_leaves_no_file),
      cmocka_unit_test(write__failing_allocations_leak_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
