/* bench_scan.c - our side of the benchmark: open, plan and read through the public API, in process.
 *
 *   bench_scan scan|plan WAREHOUSE DB.TABLE [reps=6] [threads=1] [columns=a,b] [where=TEXT]
 *              [memory_mb=256] [batch_rows=8192]
 *
 * One JSON line for each repetition, as the peers print. A repetition starts with a fresh
 * environment: no cache is warm but the page cache. Each batch is released before the next one is
 * asked for. What proves that the rows are right is computed in one more pass, which is not timed.
 * "peak_mb" is the most resident memory above that at the start.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "tarn/tarn.h"

enum { MAX_COLUMNS = 64 };

typedef struct settings {
  const char *op, *warehouse, *table, *where;
  long reps, threads, memory_mb, batch_rows;
  const char *columns[MAX_COLUMNS];
  size_t n_columns;
} settings;

typedef struct sums {
  int64_t rows, k, quantity, text_bytes;
} sums;

/* Bytes of a utf8 column's values: the last offset less the first. */
static int64_t text_bytes(const struct ArrowArray *column) {
  const int32_t *offsets = column->buffers[1];
  return offsets[column->offset + column->length] - offsets[column->offset];
}

/* Add what the peers sum up, too: k, qty, and the lengths of status and comment. */
static void add_batch(const struct ArrowSchema *schema, const struct ArrowArray *batch, sums *s) {
  s->rows += batch->length;
  for (int64_t c = 0; c < batch->n_children; c++) {
    const char *name = schema->children[c]->name;
    const struct ArrowArray *column = batch->children[c];
    for (int64_t i = 0; strcmp(name, "k") == 0 && i < column->length; i++) {
      s->k += ((const int64_t *)column->buffers[1])[column->offset + i];
    }
    for (int64_t i = 0; strcmp(name, "qty") == 0 && i < column->length; i++) {
      s->quantity += ((const int32_t *)column->buffers[1])[column->offset + i];
    }
    if (strcmp(name, "status") == 0 || strcmp(name, "comment") == 0) {
      s->text_bytes += text_bytes(column);
    }
  }
}

/* Read the stream to its end. with_sums: add up, else only count rows. */
static tarn_status drain(struct ArrowArrayStream *rows, int with_sums, sums *s, tarn_error *error) {
  struct ArrowSchema schema;
  memset(&schema, 0, sizeof schema);
  int failed = rows->get_schema(rows, &schema);
  while (!failed) {
    struct ArrowArray batch;
    memset(&batch, 0, sizeof batch);
    failed = rows->get_next(rows, &batch);
    if (failed || batch.release == NULL) {
      break;
    }
    if (with_sums) {
      add_batch(&schema, &batch, s);
    } else {
      s->rows += batch.length;
    }
    batch.release(&batch);
  }
  if (schema.release != NULL) {
    schema.release(&schema);
  }
  return failed ? tarn_stream_error(rows, error) : TARN_OK;
}

/* One repetition: from nothing to the last row. */
static tarn_status run_once(const settings *set, int with_sums, sums *s, size_t *n_splits,
                            tarn_error *error) {
  tarn_env *env = NULL;
  tarn_catalog *catalog = NULL;
  tarn_table *table = NULL;
  tarn_predicate *where = NULL;
  tarn_scan *scan = NULL;
  tarn_plan *plan = NULL;
  struct ArrowArrayStream rows;
  memset(&rows, 0, sizeof rows);
  tarn_env_options options = TARN_ENV_OPTIONS_INIT;
  options.threads = (int32_t)set->threads;
  options.memory_budget_bytes = (size_t)set->memory_mb << 20;
  tarn_scan_options scan_options = TARN_SCAN_OPTIONS_INIT;
  scan_options.columns = set->n_columns > 0 ? set->columns : NULL;
  scan_options.n_columns = set->n_columns;
  scan_options.batch_rows = set->batch_rows;
  memset(s, 0, sizeof *s);
  *n_splits = 0;

  tarn_status status;
  if ((status = tarn_env_create(&options, &env, error)) ||
      (status = tarn_catalog_open(env, set->warehouse, &catalog, error)) ||
      (status = tarn_table_open(env, catalog, set->table, NULL, 0, &table, error)) ||
      (set->where != NULL &&
       (status = tarn_predicate_parse(table, set->where, &where, NULL, error)))) {
    goto done;
  }
  scan_options.predicate = where;
  if ((status = tarn_scan_create(table, &scan_options, &scan, error)) ||
      (status = tarn_scan_plan(scan, &plan, error))) {
    goto done;
  }
  *n_splits = tarn_plan_split_count(plan);
  if (strcmp(set->op, "scan") == 0 &&
      (status = tarn_plan_read(scan, plan, NULL, &rows, error)) == TARN_OK) {
    status = drain(&rows, with_sums, s, error);
  }
done:
  if (rows.release != NULL) {
    rows.release(&rows);
  }
  tarn_plan_free(plan);
  tarn_scan_free(scan);
  tarn_predicate_free(where);
  tarn_table_free(table);
  tarn_catalog_free(catalog);
  tarn_env_free(env);
  return status;
}

/* The "name=value" arguments; returns 0 for one that is not known. */
static int read_setting(settings *set, char *arg) {
  const struct {
    const char *name;
    long *number;
    const char **text;
  } known[] = {{"reps=", &set->reps, NULL},
               {"threads=", &set->threads, NULL},
               {"memory_mb=", &set->memory_mb, NULL},
               {"batch_rows=", &set->batch_rows, NULL},
               {"where=", NULL, &set->where}};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    size_t n = strlen(known[i].name);
    if (strncmp(arg, known[i].name, n) == 0) {
      if (known[i].text != NULL) {
        *known[i].text = arg + n;
      } else {
        *known[i].number = strtol(arg + n, NULL, 10);
      }
      return 1;
    }
  }
  if (strncmp(arg, "columns=", 8) != 0) {
    return 0;
  }
  char *rest = NULL;
  for (char *name = strtok_r(arg + 8, ",", &rest); name != NULL && set->n_columns < MAX_COLUMNS;
       name = strtok_r(NULL, ",", &rest)) {
    set->columns[set->n_columns++] = name;
  }
  return 1;
}

int main(int argc, char **argv) {
  settings set = {.reps = 6, .threads = 1, .memory_mb = 256, .batch_rows = 8192};
  int good = argc >= 4;
  for (int i = 4; good && i < argc; i++) {
    good = read_setting(&set, argv[i]);
  }
  if (!good) {
    fprintf(stderr, "usage: %s scan|plan WAREHOUSE DB.TABLE [NAME=VALUE]...\n", argv[0]);
    return 2;
  }
  set.op = argv[1];
  set.warehouse = argv[2];
  set.table = argv[3];
  double start_mb = memory_mb("VmRSS:");
  sums s;
  size_t n_splits = 0;
  tarn_error error;
  tarn_status status = TARN_OK;
  for (long rep = 0; rep < set.reps; rep++) {
    double wall = seconds(CLOCK_MONOTONIC);
    double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    status = run_once(&set, 0, &s, &n_splits, &error);
    wall = seconds(CLOCK_MONOTONIC) - wall;
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    double peak_mb = memory_mb("VmHWM:") - start_mb;
    if (status == TARN_OK && rep == set.reps - 1 && strcmp(set.op, "scan") == 0) {
      status = run_once(&set, 1, &s, &n_splits, &error);
    }
    if (status != TARN_OK) {
      fprintf(stderr, "%s: %s\n", tarn_status_name(status), error.message);
      return 1;
    }
    printf(
        "{\"engine\":\"tarn\",\"op\":\"%s\",\"rep\":%ld,\"s\":%.4f,\"cpu\":%.4f,\"peak_mb\":%.1f",
        set.op, rep, wall, cpu, peak_mb);
    printf(",\"splits\":%zu,\"rows\":%" PRId64, n_splits, s.rows);
    if (rep == set.reps - 1) {
      printf(",\"sumk\":%" PRId64 ",\"sumq\":%" PRId64 ",\"clen\":%" PRId64, s.k, s.quantity,
             s.text_bytes);
    }
    printf("}\n");
    fflush(stdout);
  }
  return 0;
}
