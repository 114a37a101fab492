/* verb_read.c - table read, and the lists that system tables give. */
#include "scan.h"
#include "signals.h"

/* The rows of a plan whose splits all know how many they hold; -1: they do not. */
static int64_t rows_of_plan(const tarn_plan *plan) {
  size_t n = tarn_plan_split_count(plan);
  int64_t sum = 0;
  for (size_t i = 0; i < n; i++) {
    tarn_split *split;
    int64_t rows;
    if (tarn_plan_split(plan, i, &split, NULL) != TARN_OK) {
      return -1;
    }
    rows = tarn_split_row_count(split);
    tarn_split_free(split);
    if (rows < 0 || rows > INT64_MAX - sum) {
      return -1;
    }
    sum += rows;
  }
  return sum;
}

static tarn_status count_stream(cli_session *s, struct ArrowArrayStream *stream, int64_t *n_rows,
                                tarn_error *err) {
  for (;;) {
    struct ArrowArray batch = {0};
    if (stream->get_next(stream, &batch) != 0) {
      return tarn_stream_error(stream, err);
    }
    if (batch.release == NULL) {
      return TARN_OK;
    }
    *n_rows += batch.length;
    batch.release(&batch);
    cli_progress_update(&s->progress, *n_rows);
  }
}

/* The number of rows: from the plan if it can tell, else by reading no columns at all. */
static tarn_status count_rows(cli_session *s, const cli_scan *scan, int64_t *n_rows,
                              tarn_error *err) {
  struct ArrowArrayStream stream = {0};
  tarn_plan *plan = NULL;
  tarn_status st;
  *n_rows = -1;
  st = tarn_scan_plan(scan->scan, &plan, err);
  if (st != TARN_OK && st != TARN_E_UNSUPPORTED) { /* system tables can only be read */
    return st;
  }
  if (plan != NULL && scan->predicate == NULL) {
    *n_rows = rows_of_plan(plan);
    if (*n_rows >= 0 && scan->limit >= 0 && *n_rows > scan->limit) {
      *n_rows = scan->limit;
    }
  }
  if (*n_rows < 0) {
    *n_rows = 0;
    st = plan != NULL ? tarn_plan_read(scan->scan, plan, NULL, &stream, err)
                      : tarn_scan_read(scan->scan, &stream, err);
    if (st == TARN_OK) {
      st = count_stream(s, &stream, n_rows, err);
      stream.release(&stream);
    }
  } else {
    st = TARN_OK;
  }
  tarn_plan_free(plan);
  return st;
}

static int print_count(cli_session *s) {
  cli_scan scan;
  tarn_error err;
  int64_t n_rows;
  int code;
  if (s->format >= CLI_FORMAT_ARROW) {
    (void)cli_usage(&err, "--count prints a number: expected another --format than %s",
                    s->args->values[OPT_FORMAT]);
    return cli_fail(s, &err);
  }
  code = cli_scan_open(s, NULL, CLI_SCAN_COUNT, &scan);
  if (code == CLI_EXIT_OK) {
    tarn_status st = count_rows(s, &scan, &n_rows, &err);
    if (st == TARN_OK) {
      cli_text_int(&s->output.pending, n_rows);
      cli_text_char(&s->output.pending, '\n');
    }
    cli_progress_clear(&s->progress);
    code = st == TARN_OK ? cli_finish(s) : cli_fail(s, &err);
  }
  cli_scan_close(&scan);
  return code;
}

static int print_rows(cli_session *s, const char *system) {
  struct ArrowArrayStream stream = {0};
  cli_scan scan;
  tarn_error err;
  int64_t n_rows;
  int code = cli_scan_open(s, system, CLI_SCAN_ROWS, &scan);
  if (code == CLI_EXIT_OK) {
    code = tarn_scan_read(scan.scan, &stream, &err) == TARN_OK
               ? cli_print_stream(s, &stream, scan.has_kind, &n_rows)
               : cli_fail(s, &err);
    if (code == CLI_EXIT_OK && scan.has_own_limit && n_rows >= scan.limit) {
      cli_report_note(&s->report, "the first %lld rows; --limit N shows more or fewer",
                      (long long)scan.limit);
    }
  }
  cli_scan_close(&scan);
  return code;
}

int cli_run_read(cli_session *s) {
  return cli_args_has(s->args, OPT_COUNT) ? print_count(s) : print_rows(s, NULL);
}

/* What the lists show where there is no room for all. */
static const char *const snapshot_columns[] = {
    "snapshot_id", "commit_time", "commit_kind", "total_record_count", "delta_record_count",
    "commit_user", "schema_id",   "watermark",   "commit_identifier",  NULL};
static const char *const schema_columns[] = {"schema_id", "fields",         "update_time",
                                             "options",   "partition_keys", NULL};
static const char *const tag_columns[] = {"tag_name",      "snapshot_id", "commit_time",
                                          "time_retained", "create_time", NULL};
static const char *const partition_columns[] = {
    "partition", "record_count", "file_count", "file_size_in_bytes", "last_update_time", NULL};

int cli_run_system_table(cli_session *s) {
  static const struct {
    const char *table;
    const char *const *first;
  } lists[] = {{"snapshots", snapshot_columns},
               {"schemas", schema_columns},
               {"tags", tag_columns},
               {"partitions", partition_columns}};
  const char *table = s->args->verb->parameter;
  for (size_t i = 0; i < CLI_COUNT(lists) && !cli_args_has(s->args, OPT_SELECT); i++) {
    s->first_columns = strcmp(lists[i].table, table) == 0 ? lists[i].first : s->first_columns;
  }
  return print_rows(s, table);
}
