/* verb_maintain.c - commits without new rows, expiry, and whether a table is whole. */
#include <stdio.h>
#include <stdlib.h>

#include "dry_run.h"
#include "facts.h"

/* ------------------------------------------------------------------ commits */

typedef tarn_status (*commit_fn)(cli_session *s, tarn_committer *committer,
                                 tarn_commit_result *result, tarn_error *err);

/* A commit without rows of its own. */
typedef struct maintenance {
  const char *what;   /* what is asked and told beforehand, in front of the table; NULL: nothing */
  const char *done;   /* what is told at the end, in front of the table */
  bool tells_records; /* and how many records went */
  commit_fn run;
  tarn_status (*check)(cli_session *s, tarn_table *table, tarn_error *err); /* of a dry run */
} maintenance;

static void report_commit(cli_session *s, tarn_table *table, const maintenance *m, int64_t id) {
  const char *name = s->args->arguments[0];
  int64_t added, total;
  char json[160];
  if (id <= 0) {
    cli_change_report(s, "\"snapshot\":0", "%s: there was nothing to do", name);
  } else if (m->tells_records && cli_snapshot_records(s, table, id, &added, &total)) {
    (void)snprintf(json, sizeof(json), "\"snapshot\":%lld,\"records\":%lld,\"records_left\":%lld",
                   (long long)id, (long long)-added, (long long)total);
    cli_change_report(s, json, "%s %s: %lld record%s went, %lld stay%s, snapshot %lld", m->done,
                      name, (long long)-added, cli_s(-added), (long long)total,
                      total == 1 ? "s" : "", (long long)id);
  } else {
    (void)snprintf(json, sizeof(json), "\"snapshot\":%lld", (long long)id);
    cli_change_report(s, json, "%s %s, snapshot %lld", m->done, name, (long long)id);
  }
}

/* Open the table, ask, commit, tell. */
static int commit(cli_session *s, const maintenance *m) {
  tarn_commit_result result = {sizeof(result), 0, 0, 0};
  tarn_committer *committer = NULL;
  tarn_table *table = NULL;
  tarn_error err;
  bool is_to_go = true;
  tarn_status st = cli_session_table(s, NULL, &table, &err);
  if (st == TARN_OK) { /* what cannot be written is refused before anybody is asked */
    st = cli_committer(s, table, NULL, &committer, &err);
  }
  if (st == TARN_OK && m->check != NULL) {
    st = m->check(s, table, &err);
  }
  if (st == TARN_OK && m->what != NULL) {
    st = cli_change_ask(s, &is_to_go, &err, "%s %s", m->what, s->args->arguments[0]);
  }
  if (st == TARN_OK && is_to_go) {
    st = m->run(s, committer, &result, &err);
  }
  tarn_committer_free(committer);
  if (st == TARN_OK && is_to_go) {
    report_commit(s, table, m, result.last_snapshot_id);
  }
  tarn_table_free(table);
  return st == TARN_OK ? CLI_EXIT_OK : cli_fail(s, &err);
}

static tarn_status truncate_table(cli_session *s, tarn_committer *committer,
                                  tarn_commit_result *result, tarn_error *err) {
  (void)s;
  return tarn_committer_truncate(committer, result, err);
}

int cli_run_truncate(cli_session *s) {
  static const maintenance truncate = {"take all rows out of", "took all rows out of", true,
                                       truncate_table, NULL};
  return commit(s, &truncate);
}

static tarn_status compact_manifests(cli_session *s, tarn_committer *committer,
                                     tarn_commit_result *result, tarn_error *err) {
  (void)s;
  return tarn_committer_compact_manifests(committer, result, err);
}

int cli_run_compact_manifests(cli_session *s) {
  static const maintenance compact = {NULL, "compacted the manifests of", false, compact_manifests,
                                      NULL};
  return commit(s, &compact);
}

static tarn_status analyze(cli_session *s, tarn_committer *committer, tarn_commit_result *result,
                           tarn_error *err) {
  return tarn_committer_analyze(committer, cli_args_has(s->args, OPT_ALL_COLUMNS), result, err);
}

int cli_run_analyze(cli_session *s) {
  static const maintenance count = {NULL, "counted the rows of", false, analyze, NULL};
  return commit(s, &count);
}

/* The partitions of the arguments behind the table. */
typedef struct partitions {
  cli_pairs *specs; /* owned */
  const tarn_option **items;
  size_t *counts;
  size_t n;
} partitions;

static void free_partitions(partitions *p) {
  for (size_t i = 0; i < p->n && p->specs != NULL; i++) {
    cli_pairs_reset(&p->specs[i]);
  }
  free(p->specs);
  free((void *)p->items);
  free(p->counts);
}

static tarn_status read_partitions(const cli_session *s, partitions *out, tarn_error *err) {
  size_t n = (size_t)s->args->n_arguments - 1;
  memset(out, 0, sizeof(*out));
  out->specs = calloc(n, sizeof(*out->specs));
  out->items = calloc(n, sizeof(*out->items));
  out->counts = calloc(n, sizeof(*out->counts));
  if (out->specs == NULL || out->items == NULL || out->counts == NULL) {
    return cli_no_memory(err);
  }
  for (; out->n < n; out->n++) {
    cli_pairs *spec = &out->specs[out->n];
    tarn_status st = cli_pairs_parse("partition", s->args->arguments[out->n + 1], spec, err);
    if (st != TARN_OK) {
      cli_pairs_reset(spec);
      return st;
    }
    out->items[out->n] = spec->items;
    out->counts[out->n] = spec->count;
  }
  return TARN_OK;
}

static tarn_status drop_partitions(cli_session *s, tarn_committer *committer,
                                   tarn_commit_result *result, tarn_error *err) {
  partitions p;
  tarn_status st = read_partitions(s, &p, err);
  if (st == TARN_OK) {
    st = tarn_committer_drop_partitions(committer, p.items, p.counts, p.n, result, err);
  }
  free_partitions(&p);
  return st;
}

static tarn_status check_partitions(cli_session *s, tarn_table *table, tarn_error *err) {
  partitions p;
  tarn_status st = read_partitions(s, &p, err);
  for (size_t i = 0; i < p.n && st == TARN_OK; i++) {
    st = cli_dry_run_partition(s, table, &p.specs[i], err);
  }
  free_partitions(&p);
  return st;
}

/* "drop the partitions a=1 b=2 of", NUL-terminated. */
static void add_partitions(const cli_session *s, const char *verb, cli_text *out) {
  cli_text_printf(out, "%s the partitions", verb);
  for (int i = 1; i < s->args->n_arguments; i++) {
    cli_text_printf(out, " %s", s->args->arguments[i]);
  }
  cli_text_puts(out, " of");
  cli_text_char(out, '\0');
}

int cli_run_drop_partition(cli_session *s) {
  maintenance drop = {"drop partitions of", "dropped partitions of", true, drop_partitions,
                      check_partitions};
  cli_text what = {0}, done = {0};
  partitions p;
  tarn_error err;
  int code;
  tarn_status st = read_partitions(s, &p, &err); /* before anybody is asked */
  free_partitions(&p);
  if (st != TARN_OK) {
    return cli_fail(s, &err);
  }
  add_partitions(s, "drop", &what);
  add_partitions(s, "dropped", &done);
  if (!what.is_broken && !done.is_broken) {
    drop.what = what.data;
    drop.done = done.data;
  }
  code = commit(s, &drop);
  cli_text_reset(&what);
  cli_text_reset(&done);
  return code;
}

int cli_run_mark_done(cli_session *s) {
  tarn_table *table = NULL;
  partitions p;
  tarn_error err;
  tarn_status st = read_partitions(s, &p, &err);
  if (st == TARN_OK) {
    st = cli_session_table(s, NULL, &table, &err);
  }
  for (size_t i = 0; i < p.n && st == TARN_OK; i++) {
    st = tarn_partition_mark_done(table, p.items[i], p.counts[i], &err);
  }
  if (st == TARN_OK) {
    cli_change_report(s, NULL, "marked %zu partition%s as done", p.n, p.n == 1 ? "" : "s");
  }
  tarn_table_free(table);
  free_partitions(&p);
  return st == TARN_OK ? CLI_EXIT_OK : cli_fail(s, &err);
}

/* ------------------------------------------------------------------ expiry */

static tarn_status expire_options(const cli_session *s, tarn_expire_options *o, tarn_error *err) {
  int64_t retain_max = 0, retain_min = 0;
  tarn_status st = cli_args_number(s->args, OPT_RETAIN_MAX, 1, INT32_MAX, &retain_max, err);
  if (st == TARN_OK) {
    st = cli_args_number(s->args, OPT_RETAIN_MIN, 1, INT32_MAX, &retain_min, err);
  }
  if (st == TARN_OK) {
    st = cli_time(s->args, OPT_OLDER_THAN, &o->older_than_ms, err);
  }
  o->retain_max = (int32_t)retain_max;
  o->retain_min = (int32_t)retain_min;
  o->dry_run = cli_args_has(s->args, OPT_DRY_RUN);
  o->cancel = s->cancel;
  return st;
}

int cli_run_expire(cli_session *s) {
  tarn_expire_options o = TARN_EXPIRE_OPTIONS_INIT;
  tarn_table *table = NULL;
  int64_t n = 0;
  bool is_to_go = true;
  tarn_error err;
  char json[64];
  tarn_status st = expire_options(s, &o, &err);
  if (st == TARN_OK) {
    st = cli_session_table(s, NULL, &table, &err);
  }
  if (st == TARN_OK && !o.dry_run) {
    st = cli_change_ask(s, &is_to_go, &err, "expire snapshots of %s", s->args->arguments[0]);
  }
  if (st == TARN_OK && is_to_go) {
    st = tarn_table_expire(table, &o, &n, &err);
  }
  tarn_table_free(table);
  if (st != TARN_OK) {
    return cli_fail(s, &err);
  }
  (void)snprintf(json, sizeof(json), "\"snapshots\":%lld", (long long)n);
  cli_change_report(s, json, "%s %lld snapshot%s", o.dry_run ? "would expire" : "expired",
                    (long long)n, cli_s(n));
  return CLI_EXIT_OK;
}

/* ------------------------------------------------------------------ fsck */

int cli_run_fsck(cli_session *s) {
  tarn_fsck_options o = TARN_FSCK_OPTIONS_INIT;
  tarn_table *table = NULL;
  tarn_string report = {0};
  int64_t n_faults = 0;
  tarn_error err;
  int code;
  tarn_status st = cli_time(s->args, OPT_LEFT_SINCE, &o.left_since_ms, &err);
  if (cli_args_has(s->args, OPT_LEFT_SINCE) && o.left_since_ms == 0) {
    o.left_since_ms = -1; /* 1970 itself: 0 is none */
  }
  if (st == TARN_OK) {
    st = cli_session_table(s, NULL, &table, &err);
  }
  if (st == TARN_OK) {
    o.deep = cli_args_has(s->args, OPT_DEEP);
    o.cancel = s->cancel;
    st = tarn_table_fsck(table, &o, &n_faults, &report, &err);
  }
  if (st == TARN_OK) {
    cli_text_add(&s->output.pending, report.data, report.length);
    if (report.length > 0 && report.data[report.length - 1] != '\n') {
      cli_text_char(&s->output.pending, '\n');
    }
    code = cli_finish(s);
    code = code == CLI_EXIT_OK && n_faults > 0 ? (int)CLI_EXIT_ERROR : code;
  } else {
    code = cli_fail(s, &err);
  }
  tarn_string_free(&report);
  tarn_table_free(table);
  return code;
}
