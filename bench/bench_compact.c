/* bench_compact.c - our side of the compaction benchmark: a table that is there is compacted once,
 * through the public API, in process.
 *
 *   bench_compact WAREHOUSE DB.TABLE [full=1] [memory_mb=256] [threads=1] [spill=/tmp] [sync=1]
 *                 [OPTION=VALUE ...]
 *
 * Prints one JSON line: from opening the table to the commit.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "tarn/tarn.h"

enum { MAX_OPTIONS = 32 };

typedef struct settings {
  const char *warehouse, *name, *spill;
  long full, memory_mb, threads, sync;
  tarn_option options[MAX_OPTIONS];
  size_t n_options;
} settings;

static void report(const settings *s, const tarn_compact_result *r, double wall, double cpu,
                   double before) {
  printf(
      "{\"op\":\"compact\",\"engine\":\"tarn\",\"s\":%.3f,\"cpu\":%.3f,\"peak_mb\":%.1f,"
      "\"files_in\":%" PRId64 ",\"files_out\":%" PRId64 ",\"bytes_in\":%" PRId64
      ",\"bytes_out\":%" PRId64 ",\"rows_in\":%" PRId64,
      wall, cpu, memory_mb("VmHWM") - before, r->files_in, r->files_out, r->bytes_in, r->bytes_out,
      r->rows_in);
  if (s->full != 0) {
    printf(",\"rows\":%" PRId64, r->rows_out);
  }
  printf("}\n");
}

static tarn_status run(const settings *s, tarn_error *err) {
  tarn_env_options o = TARN_ENV_OPTIONS_INIT;
  tarn_compact_options c = TARN_COMPACT_OPTIONS_INIT;
  tarn_compact_result result = {.struct_size = sizeof result};
  tarn_env *env = NULL;
  tarn_catalog *catalog = NULL;
  tarn_table *table = NULL;
  double before = memory_mb("VmRSS"), wall, cpu;
  tarn_status st;
  o.memory_budget_bytes = (size_t)s->memory_mb << 20;
  o.threads = (int32_t)s->threads;
  o.no_sync = s->sync == 0;
  c.full = s->full != 0;
  c.spill_folder = s->spill;
  st = tarn_env_create(&o, &env, err);
  wall = seconds(CLOCK_MONOTONIC);
  cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
  st = st == TARN_OK ? tarn_catalog_open(env, s->warehouse, &catalog, err) : st;
  st = st == TARN_OK ? tarn_table_open(env, catalog, s->name, s->options, s->n_options, &table, err)
                     : st;
  st = st == TARN_OK ? tarn_table_compact(table, &c, &result, NULL, err) : st;
  wall = seconds(CLOCK_MONOTONIC) - wall;
  cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  if (st == TARN_OK) {
    report(s, &result, wall, cpu, before);
  }
  tarn_table_free(table);
  tarn_catalog_free(catalog);
  tarn_env_free(env);
  return st;
}

int main(int argc, char **argv) {
  settings s = {.spill = "/tmp", .full = 1, .memory_mb = 256, .threads = 1, .sync = 1};
  tarn_error err = {0};
  if (argc < 3) {
    fprintf(stderr, "usage: bench_compact WAREHOUSE DB.TABLE [...]\n");
    return 2;
  }
  s.warehouse = argv[1];
  s.name = argv[2];
  for (int i = 3; i < argc; i++) {
    char *value = strchr(argv[i], '=');
    if (value == NULL) {
      fprintf(stderr, "bench_compact: %s: not name=value\n", argv[i]);
      return 2;
    }
    *value++ = 0;
    struct {
      const char *name;
      long *number;
    } own[] = {
        {"full", &s.full}, {"memory_mb", &s.memory_mb}, {"threads", &s.threads}, {"sync", &s.sync}};
    size_t at = 0;
    while (at < sizeof own / sizeof *own && strcmp(own[at].name, argv[i]) != 0) {
      at++;
    }
    if (at < sizeof own / sizeof *own) {
      *own[at].number = strtol(value, NULL, 10);
    } else if (strcmp(argv[i], "spill") == 0) {
      s.spill = value;
    } else if (s.n_options < MAX_OPTIONS) {
      s.options[s.n_options++] = (tarn_option){argv[i], value};
    }
  }
  if (run(&s, &err) != TARN_OK) {
    fprintf(stderr, "bench_compact: %s: %s\n", tarn_status_name(err.status), err.message);
    return 1;
  }
  return 0;
}
