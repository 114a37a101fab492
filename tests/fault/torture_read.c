/* torture_read.c - one read of each kind of table, with every allocation failing in turn.
 *
 *   torture_read GOLDEN_FOLDER
 *
 * Whatever allocation fails: the call fails with TARN_E_NOMEM (or does without), nothing is held
 * once everything has been freed, and no rows are missing from a read that says it succeeded. A
 * sample is taken past the first allocations of a long read, so that the whole stays within a
 * minute or two.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "support/torture.h"
#include "tarn/tarn.h"

enum { ALL_OF_THE_FIRST = 400, SAMPLES_AFTER = 400 };

typedef struct read_case {
  const char *name;
  const char *golden_case;
  const char *table;
  const char *where; /* or NULL */
  int threads;
  const char *keys[2]; /* table options, up to the first NULL */
  const char *values[2];
} read_case;

#define INDEXED "i = -20 OR s = 's5' OR i > 48"

static const read_case CASES[] = {
    {"append, Parquet", "append-unaware", "default.t", NULL, 1},
    {"append, Avro", "evolve-columns-avro", "default.t", NULL, 1},
    {"append, evolved", "evolve-columns-parquet", "default.t", NULL, 1},
    {"append, deletion vectors", "dv-append", "default.btrue", NULL, 1},
    {"partitions", "partition-special", "default.t", NULL, 1},
    {"primary key, merged", "pk-dedup-l0", "default.t", NULL, 1},
    {"primary key, two threads", "pk-dedup-l0", "default.t", NULL, 2},
    {"primary key, filtered", "pk-dedup-partial", "default.t", "id BETWEEN 10 AND 40", 1},
    {"primary key, deletion vectors", "dv-pk-bitmap64", "default.t", NULL, 1},
    {"first-row", "first-row", "default.t", NULL, 1},
    {"sequence field", "sequence-field", "default.one", NULL, 1},
    {"nested", "nested-parquet", "default.append", NULL, 1},
    {"aggregation", "aggregation-all", "default.t", NULL, 1},
    {"aggregation, sketches", "aggregation-sketches", "default.sk", NULL, 1},
    {"partial update", "partial-update-sequence-group", "default.t", NULL, 1},
    {"BLOB", "blob", "default.t", NULL, 1},
    {"data evolution", "data-evolution", "default.t$row_tracking", NULL, 1},
    {"VARIANT", "variant", "default.t", NULL, 1},
    {"VECTOR", "vector", "default.own", NULL, 1},
    {"bitmap index", "index-bitmap", "default.file", INDEXED, 1},
    {"BSI index", "index-bsi", "default.file", INDEXED, 1},
    {"bloom filter index", "index-bloom", "default.file", INDEXED, 1},
    {"range bitmap index", "index-range-bitmap", "default.inline", INDEXED, 1},
    {"manifests in Parquet", "manifest-formats", "default.parquet_zstd", NULL, 1},
    {"incremental, diff", "incremental", "default.p", NULL, 1,
     .keys = {"incremental-between", "incremental-between-scan-mode"}, .values = {"1,4", "diff"}},
    {"incremental, audit log", "incremental", "default.g$audit_log", NULL, 1,
     .keys = {"incremental-between"}, .values = {"1,5"}},
    {"$audit_log, filtered", "incremental", "default.g$audit_log", "rowkind = '+I' AND id > 1", 1},
    {"$binlog", "system-tables", "default.t$binlog", NULL, 1},
    {"$files", "system-tables", "default.t$files", NULL, 1},
    {"$manifests", "system-tables", "default.t$manifests", NULL, 1},
    {"$tags", "system-tables", "default.t$tags", NULL, 1},
    {"$partitions", "system-tables", "default.t$partitions", "file_count > 0", 1},
    {"$statistics", "statistics", "default.t$statistics", NULL, 1},
    {"sys.tables", "system-tables", "sys.tables", NULL, 1},
    {"sys.all_table_options", "system-tables", "sys.all_table_options", NULL, 1},
    {"fallback branch", "fallback-branch", "default.t", NULL, 1},
};

/* Open, plan and read everything; *n_rows counts what came. */
static tarn_status read_all(const read_case *c, const char *golden, const tarn_allocator *hooks,
                            int64_t *n_rows, tarn_error *error) {
  tarn_env *env = NULL;
  tarn_catalog *catalog = NULL;
  tarn_table *table = NULL;
  tarn_predicate *where = NULL;
  tarn_scan *scan = NULL;
  struct ArrowArrayStream rows;
  memset(&rows, 0, sizeof rows);
  char warehouse[2048];
  snprintf(warehouse, sizeof warehouse, "%s/%s/warehouse", golden, c->golden_case);
  tarn_env_options options = TARN_ENV_OPTIONS_INIT;
  options.allocator = hooks;
  options.threads = c->threads;
  tarn_scan_options scan_options = TARN_SCAN_OPTIONS_INIT;
  *n_rows = 0;
  tarn_option table_options[2];
  size_t n_options = 0;
  for (; n_options < 2 && c->keys[n_options] != NULL; n_options++) {
    table_options[n_options] = (tarn_option){c->keys[n_options], c->values[n_options]};
  }

  tarn_status status;
  if ((status = tarn_env_create(&options, &env, error)) ||
      (status = tarn_catalog_open(env, warehouse, &catalog, error)) ||
      (status = tarn_table_open(env, catalog, c->table, table_options, n_options, &table, error)) ||
      (c->where != NULL && (status = tarn_predicate_parse(table, c->where, &where, NULL, error)))) {
    goto done;
  }
  scan_options.predicate = where;
  if ((status = tarn_scan_create(table, &scan_options, &scan, error)) ||
      (status = tarn_scan_read(scan, &rows, error))) {
    goto done;
  }
  for (;;) {
    struct ArrowArray batch;
    memset(&batch, 0, sizeof batch);
    if (rows.get_next(&rows, &batch) != 0) {
      status = tarn_stream_error(&rows, error);
      break;
    }
    if (batch.release == NULL) {
      break;
    }
    *n_rows += batch.length;
    batch.release(&batch);
  }
done:
  if (rows.release != NULL) {
    rows.release(&rows);
  }
  tarn_scan_free(scan);
  tarn_predicate_free(where);
  tarn_table_free(table);
  tarn_catalog_free(catalog);
  tarn_env_free(env);
  return status;
}

/* Fail allocation `at` (alone, or with all after it); returns 1 when the outcome is right. */
static int torture_once(const read_case *c, const char *golden, int64_t at, bool fails_after,
                        int64_t n_rows_right) {
  tn_test_alloc alloc;
  tn_test_alloc_init(&alloc);
  tarn_allocator hooks = tn_test_alloc_hooks(&alloc);
  atomic_store(&alloc.fail_at, at);
  atomic_store(&alloc.fails_after, fails_after);
  tarn_error error;
  memset(&error, 0, sizeof error);
  int64_t n_rows = 0;
  tarn_status status = read_all(c, golden, &hooks, &n_rows, &error);
  int64_t held = atomic_load(&alloc.live_blocks);
  const char *what = NULL;
  if (held != 0) {
    what = "memory is still held";
  } else if (status == TARN_OK && n_rows != n_rows_right) {
    what = "success, but rows are missing";
  } else if (status != TARN_OK && status != TARN_E_NOMEM) {
    what = "another status than NOMEM";
  } else if (status != TARN_OK && atomic_load(&alloc.calls) < at) {
    what = "NOMEM though no allocation failed";
  }
  if (what != NULL) {
    printf("FAIL %s: allocation %" PRId64 "%s: %s (%s: %s; %" PRId64 " rows, %" PRId64 " held)\n",
           c->name, at, fails_after ? " and all after it" : "", what, tarn_status_name(status),
           error.message, n_rows, held);
  }
  return what == NULL;
}

/* Returns 1 when every run of the case was right. */
static int torture_case(const read_case *c, const char *golden) {
  tn_test_alloc alloc;
  tn_test_alloc_init(&alloc);
  tarn_allocator hooks = tn_test_alloc_hooks(&alloc);
  tarn_error error;
  memset(&error, 0, sizeof error);
  int64_t n_rows = 0;
  tarn_status status = read_all(c, golden, &hooks, &n_rows, &error);
  int64_t n_allocs = atomic_load(&alloc.calls);
  int64_t held = atomic_load(&alloc.live_blocks);
  if (status != TARN_OK || n_rows == 0 || held != 0) {
    printf("FAIL %s: without a fault: %s: %s (%" PRId64 " rows, %" PRId64 " held)\n", c->name,
           tarn_status_name(status), error.message, n_rows, held);
    return 0;
  }
  int64_t stride = (n_allocs - ALL_OF_THE_FIRST) / SAMPLES_AFTER;
  stride = stride < 1 ? 1 : stride;
  int64_t n_runs = 0;
  for (int64_t at = 1; at <= n_allocs; at += at < ALL_OF_THE_FIRST ? 1 : stride) {
    if (!torture_once(c, golden, at, false, n_rows) || !torture_once(c, golden, at, true, n_rows)) {
      return 0;
    }
    n_runs += 2;
  }
  printf("ok   %s: %" PRId64 " rows, %" PRId64 " allocations, %" PRId64 " runs\n", c->name, n_rows,
         n_allocs, n_runs);
  return 1;
}

int main(int argc, char **argv) {
  if (argc < 2 || argc > 3) {
    fprintf(stderr, "usage: %s GOLDEN_FOLDER [CASE]\n", argv[0]);
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  int n_cases = 0;
  int n_good = 0;
  for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
    if (argc == 2 || strcmp(argv[2], CASES[i].name) == 0) {
      n_cases++;
      n_good += torture_case(&CASES[i], argv[1]);
    }
  }
  printf("%d passed, %d failed\n", n_good, n_cases - n_good);
  return n_good == n_cases && n_cases > 0 ? 0 : 1;
}
