/* room: plan */
/* micro_plan - what planning a whole table costs.
 *
 *   micro_plan TABLE_FOLDER [THREADS [PASSES]]
 *
 * Plans the latest snapshot again and again, each time in a new environment (nothing cached), and
 * prints CPU and wall seconds of every pass, and the peak memory of the process at the end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "plan/plan.h"

static double seconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void must(tarn_status st, const tarn_error *err) {
  if (st != TARN_OK) {
    fprintf(stderr, "micro_plan: %s\n", err->message);
    exit(1);
  }
}

static void plan_once(const char *path, int threads) {
  tarn_error err = {0};
  tarn_env_options options = TARN_ENV_OPTIONS_INIT;
  tarn_env *env = NULL;
  tn_storage *storage = NULL;
  tn_schema *schema = NULL;
  tn_table *table = NULL;
  tn_plan *plan = NULL;
  tn_arena arena;
  int64_t *ids, files = 0;
  int32_t n_ids;
  double cpu, wall;
  options.threads = threads;
  must(tarn_env_create(&options, &env, &err), &err);
  tn_arena_init(&arena, &env->mem, 1 << 20);
  must(tn_storage_local(env, &storage, &err), &err);
  must(tn_schema_ids(env, storage, path, &arena, &ids, &n_ids, &err), &err);
  must(tn_schema_load(env, storage, path, ids[n_ids - 1], &schema, &err), &err);
  must(tn_table_create(env, storage, path, path, "main", path, schema, NULL, 0, &table, &err),
       &err);
  cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
  wall = seconds(CLOCK_MONOTONIC);
  tn_scan scan = {.table = table, .limit = -1};
  must(tn_plan_create(&scan, &plan, &err), &err);
  cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  wall = seconds(CLOCK_MONOTONIC) - wall;
  for (int32_t i = 0; i < plan->n_splits; i++) {
    files += plan->splits[i].n_files;
  }
  printf("cpu %.4f s, wall %.4f s, %d splits, %lld files\n", cpu, wall, (int)plan->n_splits,
         (long long)files);
  tn_plan_release(plan);
  tn_table_release(table);
  tn_schema_release(schema);
  tn_storage_release(storage);
  tn_arena_reset(&arena);
  tarn_env_free(env);
}

int main(int argc, char **argv) {
  int threads = argc > 2 ? atoi(argv[2]) : 1;
  int passes = argc > 3 ? atoi(argv[3]) : 5;
  struct rusage usage;
  if (argc < 2) {
    fprintf(stderr, "usage: micro_plan TABLE_FOLDER [THREADS [PASSES]]\n");
    return 2;
  }
  for (int i = 0; i < passes; i++) {
    plan_once(argv[1], threads);
  }
  getrusage(RUSAGE_SELF, &usage);
  printf("peak memory %.1f MiB\n", (double)usage.ru_maxrss / 1024);
  return 0;
}
