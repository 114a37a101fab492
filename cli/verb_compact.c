/* verb_compact.c - table compact: a whole table, or some partitions, compacted and committed. */
#include <stdio.h>
#include <stdlib.h>

#include "change.h"
#include "tarn/compact.h"

typedef struct compact_job {
  cli_session *session;
  tarn_table *table;
  tarn_predicate *predicate;
  cli_pairs partition;
  cli_names order; /* of --order-by */
  tarn_compact_result result;
  tarn_string picks; /* of a dry run */
} compact_job;

static void on_progress(void *ctx, const tarn_compact_progress *p) {
  const compact_job *job = ctx;
  cli_progress_units(&job->session->progress, p->units_done, p->units, p->bytes_in);
}

/* The predicate of --where. Prints errors itself, with the caret. */
static int read_where(compact_job *job) {
  cli_session *s = job->session;
  const char *where = s->args->values[OPT_WHERE];
  int64_t position = -1;
  tarn_error err;
  int code;
  if (where == NULL ||
      tarn_predicate_parse(job->table, where, &job->predicate, &position, &err) == TARN_OK) {
    return CLI_EXIT_OK;
  }
  code = cli_fail_usage(s, &err);
  if (position >= 0) {
    cli_report_caret(&s->report, where, (size_t)position);
  }
  return code;
}

static tarn_status read_arguments(compact_job *job, tarn_compact_options *o, tarn_error *err) {
  const cli_args *args = job->session->args;
  const char *spill = getenv("TMPDIR"), *partition = args->values[OPT_PARTITION];
  tarn_status st = cli_args_number(args, OPT_COMMIT_ID, 0, INT64_MAX, &o->commit_identifier, err);
  if (st == TARN_OK && partition != NULL) {
    st = cli_pairs_parse("--partition", partition, &job->partition, err);
  }
  if (st == TARN_OK && o->commit_identifier >= 0 && !cli_args_has(args, OPT_COMMIT_USER)) {
    st = cli_usage(err, "--commit-id needs --commit-user: identifiers are counted by user");
  }
  if (st == TARN_OK) {
    st = cli_names_parse("--order-by", args->values[OPT_ORDER_BY], &job->order, err);
  }
  if (st == TARN_OK && job->order.count == 0 &&
      (cli_args_has(args, OPT_ZORDER) || cli_args_has(args, OPT_HILBERT))) {
    st = cli_usage(err, "--%s needs --order-by: the columns",
                   cli_args_has(args, OPT_ZORDER) ? "zorder" : "hilbert");
  }
  o->order_by = job->order.items;
  o->n_order_by = job->order.count;
  o->order = cli_args_has(args, OPT_ZORDER)    ? TARN_ORDER_ZORDER
             : cli_args_has(args, OPT_HILBERT) ? TARN_ORDER_HILBERT
                                               : TARN_ORDER_LINEAR;
  o->full = cli_args_has(args, OPT_FULL);
  o->dry_run = cli_args_has(args, OPT_DRY_RUN);
  o->partition = job->partition.items;
  o->n_partition = job->partition.count;
  o->predicate = job->predicate;
  o->commit_user = args->values[OPT_COMMIT_USER];
  o->spill_folder = spill != NULL && *spill != '\0' ? spill : "/tmp";
  o->cancel = job->session->cancel;
  o->progress = on_progress;
  o->progress_ctx = job;
  return st;
}

/* ------------------------------------------------------------------ the end */

static void report_nothing(const compact_job *job, const char *json) {
  const cli_args *args = job->session->args;
  const char *table = args->arguments[0], *user = args->values[OPT_COMMIT_USER];
  const char *id = args->values[OPT_COMMIT_ID];
  if (id != NULL && user != NULL) {
    cli_change_report(job->session, json,
                      "no snapshot: there was nothing to compact in %s, or %s has committed %s, or "
                      "a later identifier, before",
                      table, user, id);
  } else {
    cli_change_report(
        job->session, json, "nothing to compact in %s%s", table,
        cli_args_has(args, OPT_FULL) || job->order.count > 0 ? "" : "; --full compacts all files");
  }
}

static void report(const compact_job *job) {
  const tarn_compact_result *r = &job->result;
  char json[512], moved[80] = "", became[160] = "";
  (void)snprintf(json, sizeof(json),
                 "\"buckets\":%lld,\"picks\":%lld,\"files_in\":%lld,\"files_out\":%lld,"
                 "\"files_moved\":%lld,\"changelog_files\":%lld,\"bytes_in\":%lld,"
                 "\"bytes_out\":%lld,\"rows_in\":%lld,\"rows_out\":%lld,\"commits\":%lld,"
                 "\"first_snapshot\":%lld,\"snapshot\":%lld",
                 (long long)r->buckets, (long long)r->picks, (long long)r->files_in,
                 (long long)r->files_out, (long long)r->files_moved, (long long)r->changelog_files,
                 (long long)r->bytes_in, (long long)r->bytes_out, (long long)r->rows_in,
                 (long long)r->rows_out, (long long)r->commits, (long long)r->first_snapshot_id,
                 (long long)r->last_snapshot_id);
  if (r->last_snapshot_id <= 0) {
    report_nothing(job, json);
    return;
  }
  if (r->files_moved > 0) {
    (void)snprintf(moved, sizeof(moved), "%s%lld file%s moved to another level",
                   r->files_in > 0 ? ", " : "", (long long)r->files_moved, cli_s(r->files_moved));
  }
  if (r->files_in > 0 || r->files_out > 0 || r->files_moved == 0) {
    (void)snprintf(became, sizeof(became), "%lld file%s (%lld bytes) became %lld (%lld bytes)",
                   (long long)r->files_in, cli_s(r->files_in), (long long)r->bytes_in,
                   (long long)r->files_out, (long long)r->bytes_out);
  }
  cli_change_report(job->session, json, "%s%s, snapshot %lld", became, moved,
                    (long long)r->last_snapshot_id);
}

/* What would be done, on standard output. */
static int print_picks(compact_job *job) {
  const tarn_compact_result *r = &job->result;
  cli_text text = {0};
  char head[200];
  tarn_error err;
  int code;
  (void)snprintf(head, sizeof(head), "{\"buckets\":%lld,\"files\":%lld,\"bytes\":%lld,\"picks\":",
                 (long long)r->buckets, (long long)r->files_in, (long long)r->bytes_in);
  cli_text_add(&text, head, strlen(head));
  cli_text_add(&text, job->picks.data, job->picks.length);
  cli_text_add(&text, "}", 1);
  if (text.is_broken) {
    (void)cli_no_memory(&err);
    code = cli_fail(job->session, &err);
  } else {
    code = cli_print_facts(job->session, text.data, text.len);
  }
  cli_text_reset(&text);
  return code;
}

static void close_job(compact_job *job) {
  tarn_string_free(&job->picks);
  tarn_predicate_free(job->predicate);
  tarn_table_free(job->table);
  cli_pairs_reset(&job->partition);
  cli_names_reset(&job->order);
}

int cli_run_compact(cli_session *s) {
  compact_job job = {.session = s, .result = {.struct_size = sizeof(job.result)}};
  tarn_compact_options o = TARN_COMPACT_OPTIONS_INIT;
  bool is_dry_run = cli_args_has(s->args, OPT_DRY_RUN);
  tarn_error err;
  int code = CLI_EXIT_OK;
  tarn_status st;
  st = is_dry_run ? cli_session_needs_text(s, &err) : TARN_OK;
  if (st == TARN_OK) {
    st = cli_session_table(s, NULL, &job.table, &err);
  }
  if (st == TARN_OK) {
    code = read_where(&job);
    if (code != CLI_EXIT_OK) {
      close_job(&job);
      return code;
    }
    st = read_arguments(&job, &o, &err);
  }
  if (st == TARN_OK) {
    st = tarn_table_compact(job.table, &o, &job.result, is_dry_run ? &job.picks : NULL, &err);
  }
  cli_progress_clear(&s->progress);
  if (st != TARN_OK) {
    code = cli_fail(s, &err);
    if (job.result.commits > 0) {
      cli_report_note(&s->report, "before that, a part was compacted: snapshot %lld is the last",
                      (long long)job.result.last_snapshot_id);
    }
  } else if (is_dry_run) {
    code = print_picks(&job);
  } else {
    report(&job);
  }
  close_job(&job);
  return code;
}
