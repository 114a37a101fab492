/* bench_lookup.c - our side of the benchmark of point lookups, through the public API, in process.
 *
 *   bench_lookup WAREHOUSE DB.TABLE [keys=1000000] [space=3000000] [batch=1,1000] [threads=1]
 *                [columns=a,b] [memory_mb=4096] [cache_mb=2048] [tmp=/tmp]
 *
 * The table has one BIGINT key column. Keys are drawn at random from [0, space) by the generator
 * that every side of the benchmark uses, and looked up `batch` at a time, first once to warm the
 * local files and the cache. One JSON line for each size of batch; "sumq" adds up the second column
 * of the rows that were found, where that is an INT, and proves that they are right.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "tarn/tarn.h"

enum { MAX_COLUMNS = 64, MAX_BATCH = 1 << 16, MAX_THREADS = 64 };

typedef struct settings {
  const char *warehouse, *table, *batches, *tmp;
  long keys, space, threads, memory_mb, cache_mb;
  const char *columns[MAX_COLUMNS];
  size_t n_columns;
} settings;

typedef struct worker {
  pthread_t thread;
  tarn_lookup *lookup;
  long first, end, batch, space;
  int64_t found, sum;
  tarn_error error;
  tarn_status st;
} worker;

static void keep(struct ArrowArray *array) {
  (void)array;
}

/* Keys [first, first + n) of the sequence, as a struct array of one BIGINT column. */
static tarn_status look_up(worker *w, int64_t *keys, long first, long n) {
  const void *none[1] = {NULL}, *buffers[2] = {NULL, keys};
  struct ArrowArray column = {.length = n, .n_buffers = 2, .buffers = buffers, .release = keep};
  struct ArrowArray *children[1] = {&column}, rows;
  struct ArrowArray array = {.length = n,
                             .n_buffers = 1,
                             .buffers = none,
                             .n_children = 1,
                             .children = children,
                             .release = keep};
  for (long i = 0; i < n; i++) {
    keys[i] = (int64_t)(mix((uint64_t)(first + i) + 77777777u) % (uint64_t)w->space);
  }
  if (tarn_lookup_get(w->lookup, NULL, &array, &rows, NULL, &w->error) != TARN_OK) {
    return w->error.status;
  }
  w->found += rows.length;
  if (rows.n_children > 1 && rows.children[1]->n_buffers == 2) {
    for (int64_t i = 0; i < rows.length; i++) {
      w->sum += ((const int32_t *)rows.children[1]->buffers[1])[i];
    }
  }
  rows.release(&rows);
  return TARN_OK;
}

static void *run(void *arg) {
  worker *w = arg;
  int64_t *keys = malloc((size_t)w->batch * sizeof(*keys));
  w->st = keys != NULL ? TARN_OK : TARN_E_NOMEM;
  w->found = w->sum = 0;
  for (long at = w->first; at < w->end && w->st == TARN_OK; at += w->batch) {
    w->st = look_up(w, keys, at, w->end - at < w->batch ? w->end - at : w->batch);
  }
  free(keys);
  return NULL;
}

static tarn_status run_all(const settings *s, tarn_lookup *lookup, long batch, worker *workers) {
  for (long t = 0; t < s->threads; t++) {
    workers[t] = (worker){.lookup = lookup,
                          .first = s->keys / s->threads * t,
                          .end = s->keys / s->threads * (t + 1),
                          .batch = batch,
                          .space = s->space};
    if (pthread_create(&workers[t].thread, NULL, run, &workers[t]) != 0) {
      return TARN_E_NOMEM;
    }
  }
  for (long t = 0; t < s->threads; t++) {
    pthread_join(workers[t].thread, NULL);
  }
  for (long t = 0; t < s->threads; t++) {
    if (workers[t].st != TARN_OK) {
      fprintf(stderr, "bench_lookup: %s\n", workers[t].error.message);
      return workers[t].st;
    }
  }
  return TARN_OK;
}

static int measure(const settings *s, tarn_lookup *lookup) {
  static worker workers[MAX_THREADS];
  tarn_lookup_stats stats = TARN_LOOKUP_STATS_INIT;
  double start = seconds(CLOCK_MONOTONIC);
  if (run_all(s, lookup, 1000, workers) != TARN_OK) {
    return 1;
  }
  tarn_lookup_get_stats(lookup, &stats);
  printf("{\"engine\":\"tarn\",\"op\":\"lookup_warm\",\"s\":%.4f,\"files\":%" PRId64
         ",\"disk_mb\":%.1f,\"cache_mb\":%.1f}\n",
         seconds(CLOCK_MONOTONIC) - start, stats.local_files, (double)stats.disk_bytes / 1048576,
         (double)stats.memory_bytes / 1048576);
  for (const char *at = s->batches; *at != '\0';) {
    char *end;
    long batch = strtol(at, &end, 10);
    double wall, cpu;
    int64_t found = 0, sum = 0;
    if (batch < 1 || batch > MAX_BATCH) {
      fprintf(stderr, "bench_lookup: batch=%s: expected 1 to %d\n", at, MAX_BATCH);
      return 2;
    }
    wall = seconds(CLOCK_MONOTONIC);
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    if (run_all(s, lookup, batch, workers) != TARN_OK) {
      return 1;
    }
    wall = seconds(CLOCK_MONOTONIC) - wall;
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    for (long t = 0; t < s->threads; t++) {
      found += workers[t].found;
      sum += workers[t].sum;
    }
    printf(
        "{\"engine\":\"tarn\",\"op\":\"lookup\",\"batch\":%ld,\"threads\":%ld,\"s\":%.4f,\"cpu\":%"
        ".4f,\"keys\":%ld,\"found\":%" PRId64 ",\"sumq\":%" PRId64 ",\"per_s\":%.0f}\n",
        batch, s->threads, wall, cpu, s->keys, found, sum, (double)s->keys / wall);
    fflush(stdout);
    at = *end == ',' ? end + 1 : end;
  }
  return 0;
}

static int set(settings *s, char *argument) {
  static char names[4096];
  struct {
    const char *name;
    long *to;
  } numbers[] = {{"keys=", &s->keys},
                 {"space=", &s->space},
                 {"threads=", &s->threads},
                 {"memory_mb=", &s->memory_mb},
                 {"cache_mb=", &s->cache_mb}};
  for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
    size_t n = strlen(numbers[i].name);
    if (strncmp(argument, numbers[i].name, n) == 0) {
      *numbers[i].to = strtol(argument + n, NULL, 10);
      return *numbers[i].to > 0;
    }
  }
  if (strncmp(argument, "batch=", 6) == 0) {
    s->batches = argument + 6;
    return 1;
  }
  if (strncmp(argument, "tmp=", 4) == 0) {
    s->tmp = argument + 4;
    return 1;
  }
  if (strncmp(argument, "columns=", 8) == 0 && strlen(argument) < sizeof(names)) {
    memcpy(names, argument + 8, strlen(argument + 8) + 1);
    for (char *name = strtok(names, ","); name != NULL && s->n_columns < MAX_COLUMNS;
         name = strtok(NULL, ",")) {
      s->columns[s->n_columns++] = name;
    }
    return 1;
  }
  return 0;
}

int main(int argc, char **argv) {
  settings s = {.batches = "1,1000",
                .tmp = "/tmp",
                .keys = 1000000,
                .space = 3000000,
                .threads = 1,
                .memory_mb = 4096,
                .cache_mb = 2048};
  tarn_env_options eo = TARN_ENV_OPTIONS_INIT;
  tarn_lookup_options lo = TARN_LOOKUP_OPTIONS_INIT;
  tarn_env *env = NULL;
  tarn_catalog *catalog = NULL;
  tarn_table *table = NULL;
  tarn_lookup *lookup = NULL;
  tarn_error err;
  int code = 1;
  for (int i = 3; i < argc; i++) {
    if (!set(&s, argv[i])) {
      argc = 0;
    }
  }
  if (argc < 3 || s.threads > MAX_THREADS) {
    fprintf(stderr, "usage: bench_lookup WAREHOUSE DB.TABLE [name=value ...]\n");
    return 2;
  }
  eo.memory_budget_bytes = (size_t)s.memory_mb << 20;
  lo.temp_folder = s.tmp;
  lo.max_memory_bytes = (int64_t)s.cache_mb << 20;
  lo.columns = s.n_columns > 0 ? s.columns : NULL;
  lo.n_columns = s.n_columns;
  if (tarn_env_create(&eo, &env, &err) != TARN_OK ||
      tarn_catalog_open(env, argv[1], &catalog, &err) != TARN_OK ||
      tarn_table_open(env, catalog, argv[2], NULL, 0, &table, &err) != TARN_OK ||
      tarn_lookup_open(table, &lo, &lookup, &err) != TARN_OK) {
    fprintf(stderr, "bench_lookup: %s\n", err.message);
  } else {
    code = measure(&s, lookup);
  }
  tarn_lookup_free(lookup);
  tarn_table_free(table);
  tarn_catalog_free(catalog);
  tarn_env_free(env);
  return code;
}
