/* room: read */
/* micro_read - what reading a whole table costs.
 *
 *   micro_read TABLE_FOLDER [THREADS [PASSES [BUDGET_MIB [COLUMNS]]]]
 *
 * Plans the latest snapshot and reads all rows of all splits (COLUMNS: "a,b"; all by default), each
 * batch released at once, each time in a new environment (nothing cached). Prints CPU and wall
 * seconds of reading alone, rows, and the peak memory of the process at the end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "read/read.h"

static tarn_error err;

static double seconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void must(tarn_status st) {
  if (st != TARN_OK) {
    fprintf(stderr, "micro_read: %s\n", err.message);
    exit(1);
  }
}

/* The columns of a list of names. */
static tn_field *choose_columns(const tn_schema *schema, const char *names, int32_t *n) {
  tn_field *fields = calloc((size_t)schema->n_fields + 1, sizeof(*fields));
  *n = 0;
  while (fields != NULL && *names != '\0' && *n < schema->n_fields) {
    size_t length = strcspn(names, ",");
    int32_t at = tn_fields_find(schema->fields, schema->n_fields, tn_slice_of(names, length));
    if (at < 0) {
      fprintf(stderr, "micro_read: no column %.*s\n", (int)length, names);
      exit(1);
    }
    fields[(*n)++] = schema->fields[at];
    names += length + (names[length] == ',');
  }
  return fields;
}

static void read_all(tarn_env *env, tn_table *table, const char *columns) {
  tn_scan scan = {.table = table, .limit = -1};
  tn_read_options options = {.table = table,
                             .fields = table->schema->fields,
                             .n_fields = table->schema->n_fields,
                             .limit = -1};
  tn_field *fields = NULL;
  tn_plan *plan = NULL;
  tn_read *read = NULL;
  int64_t n_rows = 0, n_batches = 0;
  const tn_split **splits;
  double cpu, wall;
  if (columns != NULL) {
    fields = choose_columns(table->schema, columns, &options.n_fields);
    options.fields = fields;
  }
  must(tn_plan_create(&scan, &plan, &err));
  splits = calloc((size_t)plan->n_splits + 1, sizeof(*splits));
  for (int32_t i = 0; splits != NULL && i < plan->n_splits; i++) {
    splits[i] = &plan->splits[i];
  }
  cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
  wall = seconds(CLOCK_MONOTONIC);
  must(tn_read_create(env, &options, splits, plan->n_splits, &read, &err));
  for (;;) {
    tn_batch batch;
    must(tn_read_next(read, &batch, &err));
    n_rows += batch.n_rows;
    n_batches++;
    if (batch.n_rows == 0) {
      break;
    }
    tn_batch_reset(env, &batch);
  }
  tn_read_free(read);
  cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  wall = seconds(CLOCK_MONOTONIC) - wall;
  printf("cpu %.4f s, wall %.4f s, %d splits, %lld rows, %lld batches, peak of budget %.1f MiB\n",
         cpu, wall, (int)plan->n_splits, (long long)n_rows, (long long)n_batches,
         (double)env->mem.peak_bytes / 1048576);
  free(fields);
  free(splits);
  tn_plan_release(plan);
}

int main(int argc, char **argv) {
  int passes = argc > 3 ? atoi(argv[3]) : 5;
  struct rusage usage;
  if (argc < 2) {
    fprintf(stderr, "usage: micro_read TABLE_FOLDER [THREADS [PASSES [BUDGET_MIB [COLUMNS]]]]\n");
    return 2;
  }
  for (int i = 0; i < passes; i++) {
    const char *path = argv[1];
    tarn_env_options options = TARN_ENV_OPTIONS_INIT;
    tarn_env *env = NULL;
    tn_storage *storage = NULL;
    tn_schema *schema = NULL;
    tn_table *table = NULL;
    tn_arena arena;
    int64_t *ids;
    int32_t n_ids;
    options.threads = argc > 2 ? atoi(argv[2]) : 1;
    options.memory_budget_bytes = argc > 4 ? (size_t)atoi(argv[4]) << 20 : 0;
    must(tarn_env_create(&options, &env, &err));
    tn_arena_init(&arena, &env->mem, 1 << 20);
    must(tn_storage_local(env, &storage, &err));
    must(tn_schema_ids(env, storage, path, &arena, &ids, &n_ids, &err));
    must(tn_schema_load(env, storage, path, ids[n_ids - 1], &schema, &err));
    must(tn_table_create(env, storage, path, path, "main", path, schema, NULL, 0, &table, &err));
    read_all(env, table, argc > 5 ? argv[5] : NULL);
    tn_table_release(table);
    tn_schema_release(schema);
    tn_storage_release(storage);
    tn_arena_reset(&arena);
    tarn_env_free(env);
  }
  getrusage(RUSAGE_SELF, &usage);
  printf("peak memory %.1f MiB\n", (double)usage.ru_maxrss / 1024);
  return 0;
}
