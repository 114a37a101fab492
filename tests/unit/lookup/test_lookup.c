/* test_lookup.c - rows by their keys against rows that are read, over engines, layouts, budgets;
 * refreshing; threads; failures. */
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>

#include "write_maker.h"
/* clang-format off */
#include "column/arrow.h"
#include "column/arrow_import.h"
#include "column/equal.h"
#include "data_maker.h"
#include "lookup/lookup_table.h"
#include "support/files.h"
#include "support/torture.h"
/* clang-format on */

#define KEYS 60

typedef struct fixture {
  write_maker m;
  char *folder;
  tn_lookup *lookup;
  tn_lookup_options options;
  bool checks_arrays;
} fixture;

static void open_lookup(fixture *f) {
  f->options.fields = f->m.table->schema->fields;
  f->options.n_fields = f->m.table->schema->n_fields;
  f->options.folder = f->folder;
  OK(tn_lookup_open(f->m.table, &f->options, &f->lookup, err));
}

static void begin(fixture *f, const char *fields, const char *partitions, const char *keys,
                  const char *options) {
  memset(f, 0, sizeof(*f));
  f->folder = tn_test_temp_dir();
  f->options.max_memory = f->options.max_disk = f->options.retention_ms = -1;
  wm_begin(&f->m, fields, partitions, keys, options);
}

static void end(fixture *f) {
  tn_lookup_free(f->lookup);
  wm_end(&f->m);
  tn_test_temp_dir_remove(f->folder);
}

/* ------------------------------------------------------------------ looking up */

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The same rows come as an array, for the same keys. */
static void check_array(fixture *f, const tn_batch *keys, const tn_batch *batch,
                        const int64_t *wanted) {
  tarn_env *env = f->m.tm.env;
  struct ArrowArray array;
  struct ArrowSchema schema;
  tn_arrow_import *import;
  const int8_t *kinds;
  tn_batch same;
  tn_arena arena;
  int64_t rows[8192];
  OK(tn_lookup_get_array(f->lookup, keys, &array, rows, err));
  assert_int_equal(array.length, batch->n_rows);
  assert_memory_equal(rows, wanted, (size_t)keys->n_rows * sizeof(*rows));
  tn_arena_init(&arena, &env->mem, 1u << 20);
  OK(tn_arrow_export_schema(env, batch->fields, batch->n_columns, NULL, &schema, err));
  OK(tn_arrow_import_prepare(&arena, &schema, batch->fields, batch->n_columns, NULL, &import, err));
  OK(tn_arrow_import_rows(env, import, &array, 0, array.length, &same, &kinds, err));
  for (int32_t c = 0; c < batch->n_columns; c++) {
    for (int64_t i = 0; i < batch->n_rows; i++) {
      bool is_equal;
      OK(tn_vec_rows_equal(&env->mem, &batch->columns[c], i, &same.columns[c], i, &is_equal, err));
      assert_true(is_equal);
    }
  }
  tn_batch_reset(env, &same);
  schema.release(&schema);
  array.release(&array);
  tn_arena_reset(&arena);
}

/* The rows of the keys "1;2|a", sorted, as wm_rows(); malloc'ed. */
static char *get(fixture *f, const char *keys_text) {
  tarn_env *env = f->m.tm.env;
  int32_t n_fields;
  const tn_field *fields = tn_lookup_key_fields(f->lookup, &n_fields);
  tn_batch keys, batch = {0};
  int8_t *kinds;
  int64_t rows[8192], next = 0;
  char *rest, *items[8192], *out;
  size_t n = 0;
  tn_buf text;
  tn_buf_init(&text, &env->mem, 1u << 24);
  wm_batch(env, fields, n_fields, keys_text, &keys, &kinds);
  OK(tn_lookup_get(f->lookup, &keys, &batch, rows, err));
  for (int64_t i = 0; i < keys.n_rows; i++) {
    assert_true(rows[i] == -1 || rows[i] == next);
    next += rows[i] >= 0;
  }
  assert_int_equal(batch.n_rows, next);
  if (f->checks_arrays) {
    assert_true(tn_lookup_is_plain(f->lookup));
    check_array(f, &keys, &batch, rows);
  }
  if (batch.n_rows > 0) {
    dm_text(&batch, &text);
  }
  OK(tn_buf_append(&text, "", 1, err));
  rest = strdup((char *)text.data);
  out = calloc(1, text.len + 1);
  for (char *row = strtok(rest, ";"); row != NULL; row = strtok(NULL, ";")) {
    items[n++] = row;
  }
  qsort(items, n, sizeof(*items), by_text);
  for (size_t i = 0; i < n; i++) {
    strcat(strcat(out, i > 0 ? ";" : ""), items[i]);
  }
  free(rest);
  free(kinds);
  tn_buf_reset(&text);
  tn_batch_reset(env, &keys);
  tn_batch_reset(env, &batch);
  return out;
}

static void assert_rows(fixture *f, const char *keys, const char *rows) {
  char *got = get(f, keys);
  assert_string_equal(got, rows);
  free(got);
}

/* All keys there may be, in an order of their own; format: "%d", with a partition "%2$d|%1$d". */
static void all_keys(char *out, size_t size, const char *format, unsigned *random) {
  int order[KEYS];
  out[0] = '\0';
  for (int i = 0; i < KEYS; i++) {
    int at = (int)((*random = *random * 1103515245 + 12345) >> 16) % (i + 1);
    order[i] = order[at];
    order[at] = i;
  }
  for (int i = 0; i < KEYS; i++) {
    char key[64];
    snprintf(key, sizeof(key), format, order[i], order[i] % 3);
    assert_true(strlen(out) + strlen(key) + 2 < size);
    strcat(strcat(out, i > 0 ? ";" : ""), key);
  }
}

/* ------------------------------------------------------------------ against reading */

typedef struct layout {
  const char *fields, *partitions, *keys, *options;
  const char *key, *row; /* key: of number and number mod 3; row: with three random numbers */
  bool deletes;
} layout;

#define PLAIN "0 k INT NOT NULL|1 a INT|2 s STRING"
#define PARTED "0 p INT NOT NULL|1 k INT NOT NULL|2 a INT|3 s STRING"
#define COMPACTS ";num-sorted-run.compaction-trigger=3;num-levels=4"

static const layout layouts[] = {
    {PLAIN, "", "k", "bucket=2;write-only=true", "%d", "%1$d|%3$d|t%4$d", true},
    {PLAIN, "", "k", "bucket=2" COMPACTS, "%d", "%1$d|%3$d|t%4$d", true},
    {PLAIN, "", "k", "bucket=1;sequence.field=a;write-only=true", "%d", "%1$d|%3$d|t%4$d", true},
    {PLAIN, "", "k", "bucket=1;sequence.field=a" COMPACTS, "%d", "%1$d|%3$d|t%4$d", true},
    {PLAIN, "", "k",
     "bucket=1;sequence.field=a;sequence.field.sort-order=descending;write-only=true", "%d",
     "%1$d|%3$d|t%4$d", true},
    {PLAIN, "", "k", "bucket=2;ignore-delete=true;write-only=true", "%d", "%1$d|%3$d|t%4$d", true},
    {PLAIN, "", "k", "bucket=2;merge-engine=partial-update;write-only=true", "%d", "%1$d|%3$d|null",
     false},
    {PLAIN, "", "k", "bucket=2;merge-engine=partial-update;fields.a.sequence-group=s" COMPACTS,
     "%d", "%1$d|%3$d|t%4$d", false},
    {PLAIN, "", "k",
     "bucket=2;merge-engine=partial-update;partial-update.remove-record-on-delete=true;write-only="
     "true",
     "%d", "%1$d|%3$d|t%4$d", true},
    {PLAIN, "", "k",
     "bucket=2;merge-engine=aggregation;fields.a.aggregate-function=sum;write-only=true", "%d",
     "%1$d|%3$d|t%4$d", false},
    {PLAIN, "", "k", "bucket=3;merge-engine=aggregation;fields.a.aggregate-function=max" COMPACTS,
     "%d", "%1$d|%3$d|t%4$d", false},
    {PLAIN, "", "k", "bucket=1;merge-engine=first-row" COMPACTS, "%d", "%1$d|%3$d|t%4$d", false},
    {PLAIN, "", "k", "bucket=2;deletion-vectors.enabled=true" COMPACTS, "%d", "%1$d|%3$d|t%4$d",
     true},
    {PLAIN, "", "k", "bucket=1;changelog-producer=lookup" COMPACTS, "%d", "%1$d|%3$d|t%4$d", true},
    {PLAIN, "", "k", "bucket=1;force-lookup=true;sequence.field=a" COMPACTS, "%d",
     "%1$d|%3$d|t%4$d", true},
    {PLAIN, "", "k", "bucket=-1;dynamic-bucket.target-row-num=7;write-only=true", "%d",
     "%1$d|%3$d|t%4$d", true},
    {PARTED, "p", "p,k", "bucket=2;write-only=true", "%2$d|%1$d", "%2$d|%1$d|%3$d|t%4$d", true},
    {PARTED, "p", "k,p", "bucket=1" COMPACTS, "%1$d|%2$d", "%2$d|%1$d|%3$d|t%4$d", true},
    {PARTED, "p", "p,k", "bucket=-1;dynamic-bucket.target-row-num=5", "%2$d|%1$d",
     "%2$d|%1$d|%3$d|t%4$d", true},
    {"0 k STRING NOT NULL|1 b BIGINT NOT NULL|2 a INT", "", "k,b",
     "bucket=4;bucket-key=b;write-only=true", "k%1$d|%2$d", "k%1$d|%2$d|%3$d", true},
};

static void write_some(fixture *f, const layout *l, unsigned *random) {
  char rows[8192] = "";
  int n = 1 + (int)((*random = *random * 1103515245 + 12345) >> 16) % 25;
  for (int i = 0; i < n; i++) {
    unsigned r = (*random = *random * 1103515245 + 12345) >> 8;
    int key = (int)(r % (KEYS - 10));
    char row[128];
    strcat(rows, i > 0 ? ";" : "");
    if (l->deletes && r / 64 % 5 == 0) {
      strcat(rows, "-D ");
    }
    snprintf(row, sizeof(row), l->row, key, key % 3, (int)(r / 512 % 20), (int)(r / 32 % 1000));
    strcat(rows, row);
  }
  wm_write(&f->m, rows);
  wm_commit(&f->m);
}

static void walk(const layout *l, unsigned seed, int n_commits, const tn_lookup_options *options) {
  fixture f;
  char keys[4096];
  unsigned random = seed;
  begin(&f, l->fields, l->partitions, l->keys, l->options);
  if (options != NULL) {
    f.options.max_memory = options->max_memory;
    f.options.max_disk = options->max_disk;
    f.options.retention_ms = options->retention_ms;
  }
  f.checks_arrays = true;
  open_lookup(&f);
  for (int i = 0; i < n_commits; i++) {
    char *got;
    const char *wanted;
    write_some(&f, l, &random);
    OK(tn_lookup_refresh(f.lookup, NULL, err));
    all_keys(keys, sizeof(keys), l->key, &random);
    got = get(&f, keys);
    wanted = wm_rows(&f.m);
    if (strcmp(got, wanted) != 0) {
      fail_msg("%s (%s), seed %u, commit %d:\n%s\ninstead of\n%s", l->options, l->keys, seed, i,
               got, wanted);
    }
    free(got);
  }
  end(&f);
}

static void lookup__gives_what_reading_gives(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(layouts); i++) {
    for (unsigned seed = 1; seed <= 3; seed++) {
      walk(&layouts[i], seed * 7919, 12, NULL);
    }
  }
}

/* No memory for blocks, room on disk for one file, files that are too old at once. */
static void lookup__works_without_budgets(void **state) {
  const tn_lookup_options small[] = {{.max_memory = 0, .max_disk = 0, .retention_ms = 0},
                                     {.max_memory = 1 << 20, .max_disk = 30000, .retention_ms = -1},
                                     {.max_memory = 0, .max_disk = -1, .retention_ms = -1}};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(layouts); i += 3) {
    for (size_t k = 0; k < TN_COUNT(small); k++) {
      walk(&layouts[i], (unsigned)(i + k), 8, &small[k]);
    }
  }
}

/* ------------------------------------------------------------------ one behaviour each */

static void lookup__reads_only_new_files(void **state) {
  fixture f;
  tn_lookup_stats stats;
  int64_t snapshot;
  (void)state;
  begin(&f, PLAIN, "", "k", "bucket=1;write-only=true");
  wm_write(&f.m, "1|1|a;2|2|b;3|3|c");
  wm_commit(&f.m);
  open_lookup(&f);
  assert_rows(&f, "1;2;9", "1|1|a;2|2|b");
  tn_lookup_get_stats(f.lookup, &stats);
  assert_int_equal(stats.n_made, 1);
  wm_write(&f.m, "2|5|x;9|9|y");
  wm_commit(&f.m);
  assert_rows(&f, "1;2;9", "1|1|a;2|2|b"); /* still the old snapshot */
  OK(tn_lookup_refresh(f.lookup, &snapshot, err));
  assert_int_equal(snapshot, 2);
  assert_rows(&f, "1;2;9;2", "1|1|a;2|5|x;2|5|x;9|9|y");
  tn_lookup_get_stats(f.lookup, &stats);
  assert_int_equal(stats.n_made, 2);
  assert_int_equal(stats.n_dropped, 0);
  assert_int_equal(stats.snapshot_id, 2);
  assert_int_equal(stats.n_keys, 10);
  assert_int_equal(stats.n_found, 8);
  end(&f);
}

static void lookup__asks_no_files_that_cannot_have_the_key(void **state) {
  fixture f;
  tn_lookup_stats stats;
  (void)state;
  begin(&f, PLAIN, "", "k", "bucket=1;write-only=true");
  wm_write(&f.m, "1|1|a;2|2|b");
  wm_commit(&f.m);
  wm_write(&f.m, "11|1|c;12|2|d");
  wm_commit(&f.m);
  open_lookup(&f);
  assert_rows(&f, "12;5;100", "12|2|d");
  tn_lookup_get_stats(f.lookup, &stats);
  assert_int_equal(stats.n_made, 1);
  end(&f);
}

static void lookup__follows_columns_that_change(void **state) {
  fixture f;
  (void)state;
  begin(&f, "0 k INT NOT NULL|1 a INT", "", "k", "bucket=1;write-only=true");
  wm_write(&f.m, "1|1;2|2");
  wm_commit(&f.m);
  wm_table(&f.m, "0 k INT NOT NULL|2 n STRING|1 b BIGINT", "", "k", "bucket=1;write-only=true");
  wm_open(&f.m);
  wm_write(&f.m, "2|x|5000000000;3|y|7");
  wm_commit(&f.m);
  open_lookup(&f);
  assert_rows(&f, "1;2;3", "1|null|1;2|x|5000000000;3|y|7");
  end(&f);
}

static void lookup__leaves_no_names_behind(void **state) {
  fixture f;
  DIR *dir;
  struct dirent *entry;
  (void)state;
  begin(&f, PLAIN, "", "k", "bucket=1;write-only=true");
  wm_write(&f.m, "1|1|a");
  wm_commit(&f.m);
  open_lookup(&f);
  assert_rows(&f, "1", "1|1|a");
  dir = opendir(f.folder);
  while ((entry = readdir(dir)) != NULL) {
    assert_int_equal(entry->d_name[0], '.');
  }
  closedir(dir);
  end(&f);
}

static void lookup__drops_old_files(void **state) {
  fixture f;
  tn_lookup_stats stats;
  (void)state;
  begin(&f, PLAIN, "", "k", "bucket=1;write-only=true");
  wm_write(&f.m, "1|1|a");
  wm_commit(&f.m);
  f.options.retention_ms = 0;
  open_lookup(&f);
  assert_rows(&f, "1", "1|1|a");
  do { /* until the clock has gone on */
    OK(tn_lookup_refresh(f.lookup, NULL, err));
    tn_lookup_get_stats(f.lookup, &stats);
  } while (stats.n_files > 0);
  assert_int_equal(stats.disk_bytes, 0);
  assert_int_equal(stats.n_dropped, 1);
  assert_rows(&f, "1", "1|1|a");
  end(&f);
}

static void lookup__needs_a_primary_key(void **state) {
  fixture f;
  tarn_error error;
  (void)state;
  begin(&f, PLAIN, "", "", "bucket=-1");
  f.options.fields = f.m.table->schema->fields;
  f.options.n_fields = f.m.table->schema->n_fields;
  f.options.folder = f.folder;
  assert_int_equal(tn_lookup_open(f.m.table, &f.options, &f.lookup, &error), TARN_E_INVALID);
  assert_non_null(strstr(error.message, "no primary key"));
  end(&f);
}

static void lookup__checks_the_pool_ratio_as_java(void **state) {
  static const struct {
    const char *ratio;
    tarn_status status;
  } cases[] = {{"0", TARN_OK},
               {"0.99", TARN_OK},
               {"1", TARN_E_INVALID},
               {"-1", TARN_E_INVALID},
               {"NaN", TARN_E_INVALID}};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    fixture f;
    tn_table *table;
    char options[80];
    tarn_error error = {0};
    snprintf(options, sizeof(options), "lookup.cache.high-priority-pool-ratio=%s", cases[i].ratio);
    begin(&f, PLAIN, "", "k", "bucket=1");
    table = tm_table(&f.m.tm, options);
    f.options.fields = f.m.table->schema->fields;
    f.options.n_fields = f.m.table->schema->n_fields;
    f.options.folder = f.folder;
    assert_int_equal(tn_lookup_open(table, &f.options, &f.lookup, &error), cases[i].status);
    if (cases[i].status != TARN_OK) {
      assert_string_equal(error.message,
                          "The high priority pool ratio should in the range [0, 1).");
    }
    tn_table_release(table);
    end(&f);
  }
}

/* Of an index that is put together in many windows, from hashes that were written out. */
static void lookup__makes_large_files_in_little_memory(void **state) {
  enum { ROWS = 60000 };
  fixture f;
  char *rows = malloc(ROWS * 16), *at = rows, keys[4000] = "", wanted[8000] = "";
  tarn_env *env = tn_test_env(1, 16u << 20); /* an eighth of it holds 87381 hashes */
  tn_lookup_stats stats;
  (void)state;
  memset(&f, 0, sizeof(f));
  f.folder = tn_test_temp_dir();
  f.options.max_memory = 65536;
  f.options.max_disk = f.options.retention_ms = -1;
  wm_begin_in(&f.m, env, "0 k INT NOT NULL|1 a INT", "", "k", "bucket=1;write-only=true");
  wm_open(&f.m);
  for (int i = 0; i < ROWS; i++) {
    at += sprintf(at, "%s%d|%d", i > 0 ? ";" : "", i * 3, i);
  }
  wm_write(&f.m, rows);
  wm_commit(&f.m);
  env->mem.budget_bytes = 4u << 20; /* now it holds 21845 */
  open_lookup(&f);
  for (int i = 0; i < 200; i++) {
    sprintf(keys + strlen(keys), "%s%d", i > 0 ? ";" : "", 100000 + i);
    if ((100000 + i) % 3 == 0) {
      sprintf(wanted + strlen(wanted), "%s%d|%d", wanted[0] != '\0' ? ";" : "", 100000 + i,
              (100000 + i) / 3);
    }
  }
  assert_rows(&f, keys, wanted);
  tn_lookup_get_stats(f.lookup, &stats);
  assert_int_equal(stats.n_made, 1);
  assert_true(stats.memory_bytes <= 65536);
  free(rows);
  end(&f);
}

/* ------------------------------------------------------------------ threads */

typedef struct thread_run {
  pthread_t thread;
  fixture *f;
  int number;
  bool failed;
} thread_run;

/* Keys 0 .. 39 are always there; their values only grow. */
static void *look_often(void *arg) {
  thread_run *run = arg;
  tn_lookup *lookup = run->f->lookup;
  tarn_env *env = run->f->m.tm.env;
  int32_t n_fields;
  const tn_field *fields = tn_lookup_key_fields(lookup, &n_fields);
  int32_t last = -1;
  for (int i = 0; i < 300 && !run->failed; i++) {
    tn_batch keys, batch = {0};
    struct ArrowArray array = {0};
    int64_t row;
    int32_t value = -1;
    tarn_error error;
    if (tn_batch_init(env, fields, n_fields, &keys, &error) != TARN_OK ||
        tn_vec_alloc(env, &keys.columns[0], 1, 0, &error) != TARN_OK) {
      run->failed = true;
      return NULL;
    }
    keys.n_rows = 1;
    keys.columns[0].length = 1;
    ((int32_t *)keys.columns[0].values)[0] = run->number;
    if (i % 2 == 0) { /* one key by each of the ways */
      if (tn_lookup_get(lookup, &keys, &batch, &row, &error) == TARN_OK && row == 0) {
        value = ((int32_t *)batch.columns[1].values)[0];
      }
    } else if (tn_lookup_get_array(lookup, &keys, &array, &row, &error) == TARN_OK) {
      value = row == 0 ? ((const int32_t *)array.children[1]->buffers[1])[0] : -1;
      array.release(&array);
    }
    run->failed = value < last || value < 0;
    last = value;
    tn_batch_reset(env, &keys);
    tn_batch_reset(env, &batch);
  }
  return NULL;
}

/* Goes on to the newest snapshot again and again, until all is written. */
static void *refresh_often(void *arg) {
  thread_run *run = arg;
  int64_t snapshot = 0;
  tarn_error error;
  while (snapshot < run->number && !run->failed) {
    run->failed = tn_lookup_refresh(run->f->lookup, &snapshot, &error) != TARN_OK;
  }
  return NULL;
}

static void write_all_keys(fixture *f, int value) {
  char rows[1024] = "";
  for (int k = 0; k < 40; k++) {
    sprintf(rows + strlen(rows), "%s%d|%d", k > 0 ? ";" : "", k, value);
  }
  wm_write(&f->m, rows);
  wm_commit(&f->m);
}

/* Four threads look up while one refreshes and rows are written; files come and go if there is not
 * room for all on disk. */
static void look_up_by_threads(int64_t max_disk, int64_t max_memory) {
  enum { LOOKERS = 4, BEFORE = 4, MEANWHILE = 12 };
  fixture f;
  thread_run runs[LOOKERS + 1];
  tn_lookup_stats stats;
  begin(&f, "0 k INT NOT NULL|1 a INT", "", "k", "bucket=2;write-only=true");
  f.options.max_disk = max_disk;
  f.options.max_memory = max_memory;
  f.options.retention_ms = 0; /* what is older than a refresh may go with it */
  for (int i = 0; i < BEFORE; i++) {
    write_all_keys(&f, i);
  }
  open_lookup(&f);
  for (int i = 0; i <= LOOKERS; i++) {
    runs[i] = (thread_run){.f = &f, .number = i < LOOKERS ? i : BEFORE + MEANWHILE};
    assert_int_equal(
        pthread_create(&runs[i].thread, NULL, i < LOOKERS ? look_often : refresh_often, &runs[i]),
        0);
  }
  for (int i = 0; i < MEANWHILE; i++) {
    write_all_keys(&f, BEFORE + i);
  }
  for (int i = 0; i <= LOOKERS; i++) {
    pthread_join(runs[i].thread, NULL);
    assert_false(runs[i].failed);
  }
  tn_lookup_get_stats(f.lookup, &stats);
  assert_int_equal(stats.n_keys, LOOKERS * 300);
  assert_int_equal(stats.n_found, LOOKERS * 300);
  assert_rows(&f, "7", "7|15");
  end(&f);
}

static void lookup__serves_many_threads(void **state) {
  (void)state;
  look_up_by_threads(40000, 1 << 20); /* a few files on disk, some in memory */
  look_up_by_threads(40000, 64 << 20);
  look_up_by_threads(-1, 64 << 20); /* all in memory */
  look_up_by_threads(-1, 0);
}

/* ------------------------------------------------------------------ failures */

typedef struct torture {
  const char *options, *wanted;
} torture;

/* Table and rows are written before the failing allocator is at work: into the same storage. */
static tarn_status look_up_once(fixture *f, const char *keys_text, const char *wanted,
                                tarn_error *err) {
  tarn_env *env = f->m.tm.env;
  int32_t n_fields;
  const tn_field *fields;
  tn_batch keys = {0}, batch = {0};
  int8_t *kinds = NULL;
  int64_t rows[16];
  tarn_status st;
  int64_t fail_at;
  tn_test_alloc *alloc = env->mem.hooks.ctx;
  fail_at = atomic_load(&alloc->fail_at);
  st = tn_lookup_open(f->m.table, &f->options, &f->lookup, err);
  if (st == TARN_OK) {
    fields = tn_lookup_key_fields(f->lookup, &n_fields);
    atomic_store(&alloc->fail_at, 0); /* the keys are the test's */
    int64_t before = atomic_load(&alloc->calls);
    wm_batch(env, fields, n_fields, keys_text, &keys, &kinds);
    atomic_store(&alloc->calls, before);
    atomic_store(&alloc->fail_at, fail_at);
    st = tn_lookup_get(f->lookup, &keys, &batch, rows, err);
    if (st == TARN_OK) {
      st = tn_lookup_refresh(f->lookup, NULL, err);
    }
  }
  if (st == TARN_OK) {
    tn_buf text;
    int64_t calls = atomic_exchange(&alloc->calls, INT64_MIN / 2); /* the text is the test's */
    tn_buf_init(&text, &env->mem, 1u << 16);
    dm_text(&batch, &text);
    assert_int_equal(text.len, strlen(wanted));
    assert_memory_equal(text.data, wanted, text.len);
    tn_buf_reset(&text);
    atomic_store(&alloc->calls, calls);
  }
  tn_batch_reset(env, &keys);
  tn_batch_reset(env, &batch);
  free(kinds);
  tn_lookup_free(f->lookup);
  f->lookup = NULL;
  return st;
}

static void lookup__survives_failing_allocations(void **state) {
  static const torture cases[] = {
      {"bucket=2;write-only=true", "1|1|a;2|5|x;3|3|c;9|9|y"},
      {"bucket=1;write-only=true;merge-engine=aggregation;fields.a.aggregate-function=sum",
       "1|1|a;2|7|x;3|3|c;9|9|y"}};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tn_test_alloc alloc;
    tarn_allocator hooks;
    tarn_env_options o = TARN_ENV_OPTIONS_INIT;
    tarn_env *env;
    fixture f;
    bool has_failed = true;
    int64_t n = 0;
    tn_test_alloc_init(&alloc);
    hooks = tn_test_alloc_hooks(&alloc);
    o.allocator = &hooks;
    OK(tarn_env_create(&o, &env, err));
    memset(&f, 0, sizeof(f));
    f.folder = tn_test_temp_dir();
    f.options.max_memory = 1 << 20;
    f.options.max_disk = f.options.retention_ms = -1;
    wm_begin_in(&f.m, env, PLAIN, "", "k", cases[i].options);
    wm_open(&f.m);
    wm_write(&f.m, "1|1|a;2|2|b;3|3|c");
    wm_commit(&f.m);
    wm_write(&f.m, "2|5|x;9|9|y");
    wm_commit(&f.m);
    f.options.fields = f.m.table->schema->fields;
    f.options.n_fields = f.m.table->schema->n_fields;
    f.options.folder = f.folder;
    while (has_failed) {
      tarn_error error;
      tarn_status st;
      atomic_store(&alloc.calls, 0);
      atomic_store(&alloc.fail_at, ++n);
      st = look_up_once(&f, "1;2;3;9;10", cases[i].wanted, &error);
      has_failed = atomic_load(&alloc.calls) >= n;
      atomic_store(&alloc.fail_at, 0);
      if (st != TARN_OK && st != TARN_E_NOMEM) {
        fail_msg("allocation %lld: %s", (long long)n, error.message);
      }
      assert_true(n < 100000);
    }
    assert_true(n > 20);
    end(&f);

    assert_int_equal(alloc.live_blocks, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lookup__gives_what_reading_gives),
      cmocka_unit_test(lookup__works_without_budgets),
      cmocka_unit_test(lookup__reads_only_new_files),
      cmocka_unit_test(lookup__asks_no_files_that_cannot_have_the_key),
      cmocka_unit_test(lookup__follows_columns_that_change),
      cmocka_unit_test(lookup__leaves_no_names_behind),
      cmocka_unit_test(lookup__drops_old_files),
      cmocka_unit_test(lookup__needs_a_primary_key),
      cmocka_unit_test(lookup__checks_the_pool_ratio_as_java),
      cmocka_unit_test(lookup__makes_large_files_in_little_memory),
      cmocka_unit_test(lookup__serves_many_threads),
      cmocka_unit_test(lookup__survives_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
