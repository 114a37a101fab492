/* stress_read.c - many threads over one environment, one catalog, shared tables and plans.
 *
 *   stress_read GOLDEN_FOLDER
 *
 * Every thread, again and again: reads shared plans whole and split by split (through the split's
 * bytes), opens and plans tables of its own, looks at statistics; batches are released on another
 * thread than the one that read them. Each read must give the number of rows that a read by one
 * thread gave before. Under ThreadSanitizer this shows races; elsewhere it shows wrong counts.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tarn/tarn.h"

enum { N_THREADS = 6, N_ROUNDS = 30, MAX_KEPT = 64 };
enum { WAY_AFRESH = 2, WAY_SCAN = 4 }; /* places in the list of ways */

typedef struct shared_table {
  const char *golden_case;
  const char *name;
  bool is_system; /* made row by row: it has no plan to share */
  tarn_option options[2];
  size_t n_options;
  tarn_catalog *catalog;
  tarn_table *table;
  tarn_scan *scan;
  tarn_plan *plan;
  int64_t n_rows;
} shared_table;

static shared_table tables[] = {
    {.golden_case = "append-unaware", .name = "default.t"},
    {.golden_case = "pk-dedup-l0", .name = "default.t"},
    {.golden_case = "dv-pk", .name = "default.t"},
    {.golden_case = "evolve-columns-parquet", .name = "default.t"},
    {.golden_case = "evolve-columns-avro", .name = "default.t"},
    {.golden_case = "partition-special", .name = "default.t"},
    {.golden_case = "row-groups", .name = "default.parquet"},
    {.golden_case = "aggregation-all", .name = "default.t"},
    {.golden_case = "partial-update-sequence-group", .name = "default.t"},
    {.golden_case = "blob", .name = "default.t"},
    {.golden_case = "data-evolution", .name = "default.t"},
    {.golden_case = "variant", .name = "default.t"},
    {.golden_case = "vector", .name = "default.own"},
    {.golden_case = "fallback-branch", .name = "default.t"},
    {.golden_case = "manifest-formats", .name = "default.parquet_zstd"},
    {.golden_case = "incremental",
     .name = "default.p",
     .options = {{"incremental-between", "1,4"}, {"incremental-between-scan-mode", "diff"}},
     .n_options = 2},
    {.golden_case = "incremental", .name = "default.g$audit_log", .is_system = true},
    {.golden_case = "system-tables", .name = "default.t$binlog", .is_system = true},
    {.golden_case = "system-tables", .name = "default.t$files", .is_system = true},
    {.golden_case = "system-tables", .name = "sys.tables", .is_system = true},
};
enum { N_TABLES = sizeof tables / sizeof tables[0] };

static tarn_env *env;
static atomic_int n_wrong;

/* Batches that one thread hands to whoever comes next, to be released there. */
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER; /* guards kept and n_kept */
static struct ArrowArray kept[MAX_KEPT];
static int n_kept;

static void wrong(const shared_table *t, const char *what, const tarn_error *error) {
  atomic_fetch_add(&n_wrong, 1);
  fprintf(stderr, "FAIL %s: %s: %s\n", t->golden_case, what, error->message);
}

/* Keep the batch for another thread, and release one that was kept before. */
static void swap_and_release(struct ArrowArray *batch) {
  struct ArrowArray old;
  memset(&old, 0, sizeof old);
  pthread_mutex_lock(&kept_lock);
  if (n_kept == MAX_KEPT) {
    old = kept[0];
    kept[0] = *batch;
  } else {
    kept[n_kept++] = *batch;
  }
  pthread_mutex_unlock(&kept_lock);
  if (old.release != NULL) {
    old.release(&old);
  }
}

static tarn_status drain(struct ArrowArrayStream *rows, int64_t *n_rows, tarn_error *error) {
  tarn_status status = TARN_OK;
  for (;;) {
    struct ArrowArray batch;
    memset(&batch, 0, sizeof batch);
    if (rows->get_next(rows, &batch) != 0) {
      status = tarn_stream_error(rows, error);
      break;
    }
    if (batch.release == NULL) {
      break;
    }
    *n_rows += batch.length;
    swap_and_release(&batch);
  }
  rows->release(rows);
  return status;
}

/* The shared plan, whole. */
static tarn_status read_plan(shared_table *t, int64_t *n_rows, tarn_error *error) {
  struct ArrowArrayStream rows;
  tarn_status status = tarn_plan_read(t->scan, t->plan, NULL, &rows, error);
  return status == TARN_OK ? drain(&rows, n_rows, error) : status;
}

/* The shared scan, planned anew. */
static tarn_status read_scan(shared_table *t, int64_t *n_rows, tarn_error *error) {
  struct ArrowArrayStream rows;
  tarn_status status = tarn_scan_read(t->scan, &rows, error);
  return status == TARN_OK ? drain(&rows, n_rows, error) : status;
}

/* The shared plan, split by split, each through its bytes. */
static tarn_status read_splits(shared_table *t, int64_t *n_rows, tarn_error *error) {
  tarn_status status = TARN_OK;
  for (size_t i = 0; i < tarn_plan_split_count(t->plan) && status == TARN_OK; i++) {
    tarn_split *split = NULL;
    tarn_split *decoded = NULL;
    tarn_string bytes = {0};
    struct ArrowArrayStream rows;
    if ((status = tarn_plan_split(t->plan, i, &split, error)) == TARN_OK &&
        (status = tarn_split_encode(split, &bytes, error)) == TARN_OK &&
        (status = tarn_split_decode(t->table, bytes.data, bytes.length, &decoded, error)) ==
            TARN_OK &&
        (status = tarn_split_read(t->scan, decoded, NULL, &rows, error)) == TARN_OK) {
      status = drain(&rows, n_rows, error);
    }
    tarn_split_free(decoded);
    tarn_split_free(split);
    tarn_string_free(&bytes);
  }
  return status;
}

/* A table, a scan and a plan of this thread's own, over the shared environment's caches. */
static tarn_status read_afresh(shared_table *t, int64_t *n_rows, tarn_error *error) {
  tarn_table *table = NULL;
  tarn_scan *scan = NULL;
  struct ArrowArrayStream rows;
  tarn_status status;
  if ((status = tarn_table_open(env, t->catalog, t->name, t->options, t->n_options, &table,
                                error)) == TARN_OK &&
      (status = tarn_scan_create(table, NULL, &scan, error)) == TARN_OK &&
      (status = tarn_scan_read(scan, &rows, error)) == TARN_OK) {
    status = drain(&rows, n_rows, error);
  }
  tarn_scan_free(scan);
  tarn_table_free(table);
  return status;
}

/* A stream that is given up after its first batch. */
static tarn_status read_and_leave(shared_table *t, int64_t *n_rows, tarn_error *error) {
  struct ArrowArrayStream rows;
  tarn_status status = tarn_plan_read(t->scan, t->plan, NULL, &rows, error);
  if (status == TARN_OK) {
    struct ArrowArray batch;
    memset(&batch, 0, sizeof batch);
    if (rows.get_next(&rows, &batch) != 0) {
      status = tarn_stream_error(&rows, error);
    }
    rows.release(&rows);
    if (batch.release != NULL) {
      batch.release(&batch);
    }
  }
  *n_rows = t->n_rows;
  return status;
}

static void *work(void *arg) {
  static const struct {
    const char *name;
    tarn_status (*run)(shared_table *, int64_t *, tarn_error *);
  } ways[] = {{"plan", read_plan},
              {"splits", read_splits},
              {"afresh", read_afresh},
              {"left early", read_and_leave},
              {"scan", read_scan}};
  size_t me = *(const size_t *)arg;
  for (size_t round = 0; round < N_ROUNDS; round++) {
    for (size_t i = 0; i < N_TABLES; i++) {
      shared_table *t = &tables[(i + me) % N_TABLES];
      size_t way = (me + round + i) % (sizeof ways / sizeof ways[0]);
      if (t->is_system) {
        way = way % 2 == 0 ? WAY_AFRESH : WAY_SCAN;
      }
      tarn_error error;
      memset(&error, 0, sizeof error);
      int64_t n_rows = 0;
      tarn_status status = ways[way].run(t, &n_rows, &error);
      if (status != TARN_OK || n_rows != t->n_rows) {
        wrong(t, ways[way].name, &error);
      }
      tarn_env_stats stats = TARN_ENV_STATS_INIT;
      tarn_env_stats_get(env, &stats);
    }
  }
  return NULL;
}

/* Open the table and count its rows with one thread. */
static tarn_status open_shared(shared_table *t, const char *golden, tarn_error *error) {
  char warehouse[2048];
  snprintf(warehouse, sizeof warehouse, "%s/%s/warehouse", golden, t->golden_case);
  tarn_status status;
  if ((status = tarn_catalog_open(env, warehouse, &t->catalog, error)) ||
      (status =
           tarn_table_open(env, t->catalog, t->name, t->options, t->n_options, &t->table, error)) ||
      (status = tarn_scan_create(t->table, NULL, &t->scan, error)) ||
      (!t->is_system && (status = tarn_scan_plan(t->scan, &t->plan, error)))) {
    return status;
  }
  return t->is_system ? read_scan(t, &t->n_rows, error) : read_plan(t, &t->n_rows, error);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s GOLDEN_FOLDER\n", argv[0]);
    return 2;
  }
  tarn_error error;
  memset(&error, 0, sizeof error);
  tarn_env_options options = TARN_ENV_OPTIONS_INIT;
  options.threads = 3;
  if (tarn_env_create(&options, &env, &error) != TARN_OK) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  for (size_t i = 0; i < N_TABLES; i++) {
    if (open_shared(&tables[i], argv[1], &error) != TARN_OK || tables[i].n_rows == 0) {
      wrong(&tables[i], "opening", &error);
    }
  }
  pthread_t threads[N_THREADS];
  size_t names[N_THREADS];
  size_t n_started = 0;
  while (n_started < N_THREADS && atomic_load(&n_wrong) == 0) {
    names[n_started] = n_started;
    if (pthread_create(&threads[n_started], NULL, work, &names[n_started]) != 0) {
      break;
    }
    n_started++;
  }
  for (size_t i = 0; i < n_started; i++) {
    pthread_join(threads[i], NULL);
  }
  for (int i = 0; i < n_kept; i++) {
    kept[i].release(&kept[i]);
  }
  for (size_t i = 0; i < N_TABLES; i++) {
    tarn_plan_free(tables[i].plan);
    tarn_scan_free(tables[i].scan);
    tarn_table_free(tables[i].table);
    tarn_catalog_free(tables[i].catalog);
  }
  tarn_env_free(env);
  int bad = atomic_load(&n_wrong) + (n_started < N_THREADS);
  printf("%d passed, %d failed\n", bad == 0 ? N_THREADS * N_ROUNDS * N_TABLES : 0, bad);
  return bad == 0 ? 0 : 1;
}
