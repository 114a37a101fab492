/* cdc_write.c - table write --cdc: a change feed into one table, or into many.
 *
 * Records are read one a line; each goes to the table that its names lead to. A commit round takes
 * in all tables: first everything is prepared, then each table gets its commit. Between two tables'
 * commits there is no transaction; a run that fails there says which tables have theirs.
 */
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>

#include "cdc_counters.h"
#include "cdc_target.h"
#include "ending.h"
#include "errors.h"
#include "source.h"

#define MAX_ROUTES 4096 /* of tables of the source that are remembered */
#define MAX_CHANGES 16  /* of the schema, for one record */
#define FOLLOW_INTERVAL_MS 10000

typedef struct route { /* from a table of the source */
  struct route *next;
  cdc_name database, schema, table;
  cdc_target *target; /* NULL: its records are left out */
} route;

typedef struct cdc_job {
  cdc_run run;
  cdc_reader reader;
  cli_source source;
  bool has_source, is_finished, is_idle, has_regex;
  cdc_state state;     /* of run.state */
  regex_t regex;       /* of --tables */
  cdc_target *targets; /* owned */
  route *routes;       /* owned; the last one used first */
  size_t n_routes;
  cli_text changes, name;
  cli_pairs metas;
  int64_t every, interval_ms, wake_ms;
  int64_t records, rows, since_commit, n_commits, n_unchosen, n_altered;
  int64_t classes[CDC_N_CLASSES];
} cdc_job;

/* ------------------------------------------------------------------ arguments */

static tarn_status read_encodings(cdc_job *job, const char *text, tarn_error *err) {
  static const struct {
    const char *key, *value;
    int what, number;
  } known[] = {{"time", "ms", 0, CDC_MILLIS},
               {"time", "us", 0, CDC_MICROS},
               {"time", "ns", 0, CDC_NANOS},
               {"decimal", "text", 1, CDC_DECIMALS_TEXT},
               {"decimal", "base64", 1, CDC_DECIMALS_BASE64},
               {"bytes", "base64", 2, CDC_BASE64},
               {"bytes", "hex", 2, CDC_HEX},
               {"bytes", "latin1", 2, CDC_LATIN1}};
  cdc_style *style = &job->run.style;
  cli_pairs pairs = {0};
  tarn_status st = cli_pairs_parse("--encodings", text, &pairs, err);
  for (size_t i = 0; i < pairs.count && st == TARN_OK; i++) {
    size_t k = 0;
    while (k < CLI_COUNT(known) && (strcmp(known[k].key, pairs.items[i].key) != 0 ||
                                    strcmp(known[k].value, pairs.items[i].value) != 0)) {
      k++;
    }
    if (k == CLI_COUNT(known)) {
      st = cli_usage(err,
                     "--encodings '%s=%s': expected time=ms, us or ns, decimal=text or base64, "
                     "bytes=base64, hex or latin1",
                     pairs.items[i].key, pairs.items[i].value);
    } else if (known[k].what == 0) {
      style->times = (cdc_encoding)known[k].number;
    } else if (known[k].what == 1) {
      style->decimals = (cdc_decimals)known[k].number;
    } else {
      style->bytes = (cdc_bytes)known[k].number;
      style->bytes_are_told = true;
    }
  }
  cli_pairs_reset(&pairs);
  return st;
}

static tarn_status read_tables(cdc_job *job, const char *text, tarn_error *err) {
  int code;
  job->name.len = 0;
  cli_text_printf(&job->name, "^(%s)$", text);
  cli_text_char(&job->name, '\0');
  if (job->name.is_broken) {
    return cli_no_memory(err);
  }
  code = regcomp(&job->regex, job->name.data, REG_EXTENDED | REG_NOSUB);
  if (code != 0) {
    char message[200];
    (void)regerror(code, &job->regex, message, sizeof(message));
    return cli_usage(err, "--tables '%s': %s", text, message);
  }
  job->has_regex = true;
  return TARN_OK;
}

/* --follow, --state, --metrics. */
static tarn_status read_follow(cdc_job *job, tarn_error *err) {
  const cli_args *args = job->run.session->args;
  bool follows = cli_args_has(args, OPT_FOLLOW);
  bool has_state = cli_args_has(args, OPT_STATE);
  if ((follows || has_state) && cli_args_has(args, OPT_DRY_RUN)) {
    return cli_usage(err, "--%s and --dry-run exclude each other", follows ? "follow" : "state");
  }
  if (!has_state && cli_args_has(args, OPT_METRICS)) {
    return cli_usage(err, "with --cdc --metrics needs --state");
  }
  if (follows && job->every == 0 && job->interval_ms == 0) {
    job->interval_ms = FOLLOW_INTERVAL_MS;
  }
  return TARN_OK;
}

static tarn_status read_arguments(cdc_job *job, tarn_error *err) {
  static const cli_option_id others[] = {OPT_FORMAT,   OPT_OVERWRITE,    OPT_OVERWRITE_PARTITION,
                                         OPT_COLUMNS,  OPT_FIRST_ROW_ID, OPT_COMMIT_ID,
                                         OPT_WATERMARK};
  const cli_args *args = job->run.session->args;
  const char *name = args->arguments[0], *path = args->n_arguments > 1 ? args->arguments[1] : NULL;
  tarn_status st = TARN_OK;
  job->run.format = cdc_format_find(args->values[OPT_CDC]);
  if (job->run.format == NULL) {
    return cli_usage(err, "--cdc '%s': expected debezium, canal, maxwell or jsonl",
                     args->values[OPT_CDC]);
  }
  for (size_t i = 0; i < CLI_COUNT(others); i++) {
    if (cli_args_has(args, others[i])) {
      return cli_usage(err, "--%s does not go with --cdc", cli_options[others[i]].name);
    }
  }
  job->run.style = job->run.format->style;
  job->run.style.zone =
      args->values[OPT_TIME_ZONE] != NULL ? args->values[OPT_TIME_ZONE] : getenv("TZ");
  if (job->run.style.zone != NULL &&
      (job->run.style.zone[0] == '\0' || strcmp(job->run.style.zone, "UTC") == 0)) {
    job->run.style.zone = NULL;
  }
  job->run.evolves = cli_args_has(args, OPT_EVOLVE);
  job->run.kind_name =
      args->values[OPT_ROW_KIND_NAME] != NULL ? args->values[OPT_ROW_KIND_NAME] : "_row_kind";
  job->run.source_name = path != NULL && strcmp(path, "-") != 0 ? path : "standard input";
  job->run.fans_out = strstr(name, "{table}") != NULL;
  if (args->values[OPT_ENCODINGS] != NULL) {
    st = read_encodings(job, args->values[OPT_ENCODINGS], err);
  }
  if (st == TARN_OK && args->values[OPT_TABLES] != NULL) {
    st = read_tables(job, args->values[OPT_TABLES], err);
  }
  if (st == TARN_OK && args->values[OPT_METADATA] != NULL) {
    st = cli_pairs_parse("--metadata", args->values[OPT_METADATA], &job->metas, err);
    job->run.metas = job->metas.items;
    job->run.n_metas = job->metas.count;
  }
  if (st == TARN_OK) {
    st = cli_args_number(args, OPT_EVERY, 1, INT64_MAX, &job->every, err);
  }
  if (st == TARN_OK) {
    st = cli_duration(args, OPT_INTERVAL, &job->interval_ms, err);
  }
  if (st == TARN_OK) {
    st = read_follow(job, err);
  }
  if (st == TARN_OK && !job->run.format->names_tables && (job->has_regex || job->run.fans_out)) {
    st = cli_usage(err, "--cdc %s: its records name no table, so they go to one",
                   job->run.format->name);
  }
  job->run.waits = job->interval_ms == 0;
  return st;
}

/* ------------------------------------------------------------------ tables */

static bool same_name(const cdc_name *a, const cdc_name *b) {
  return a->n == b->n && memcmp(a->text, b->text, a->n) == 0;
}

/* "shop.orders": what --tables is matched with. */
static void source_name(const cdc_record *record, char *out, size_t size) {
  const cdc_name *first = record->schema_name.n > 0 ? &record->schema_name : &record->database;
  (void)snprintf(out, size, "%s%s%s", first->text, first->n > 0 ? "." : "", record->table.text);
}

/* TABLE with its {table}, {schema} and {db} filled in. */
static void target_name(cdc_job *job, const cdc_record *record) {
  const struct {
    const char *word;
    const cdc_name *name;
  } words[] = {
      {"{table}", &record->table}, {"{schema}", &record->schema_name}, {"{db}", &record->database}};
  const char *at = job->run.session->args->arguments[0];
  job->name.len = 0;
  while (*at != '\0') {
    size_t i = 0;
    while (i < CLI_COUNT(words) && strncmp(at, words[i].word, strlen(words[i].word)) != 0) {
      i++;
    }
    if (i < CLI_COUNT(words)) {
      cli_text_add(&job->name, words[i].name->text, words[i].name->n);
      at += strlen(words[i].word);
    } else {
      cli_text_char(&job->name, *at++);
    }
  }
  cli_text_char(&job->name, '\0');
}

/* A name that leads out of the database must not come from a feed. */
static bool is_plain_name(const cdc_name *name) {
  return memchr(name->text, '/', name->n) == NULL && memchr(name->text, '$', name->n) == NULL &&
         memchr(name->text, '\0', name->n) == NULL && memchr(name->text, '.', name->n) == NULL;
}

static tarn_status open_target(cdc_job *job, const char *name, cdc_target **out, tarn_error *err) {
  tarn_status st;
  for (cdc_target *t = job->targets; t != NULL; t = t->next) {
    if (strcmp(t->name, name) == 0) {
      *out = t;
      return TARN_OK;
    }
  }
  st = cdc_target_open(&job->run, name, out, err);
  if (st != TARN_OK) {
    cdc_target_free(*out);
    *out = NULL;
    return st;
  }
  (*out)->next = job->targets;
  job->targets = *out;
  return TARN_OK;
}

/* A table that the state names: what is prepared in it is committed. */
static tarn_status open_kept(cdc_job *job, const char *name, tarn_error *err) {
  cdc_target *ignored;
  tarn_status st = open_target(job, name, &ignored, err);
  if (st == TARN_E_NOT_FOUND) {
    char message[sizeof(err->message)];
    (void)snprintf(message, sizeof(message), "%.300s names the table %.200s: %.400s",
                   job->state.path, name, err->message);
    memcpy(err->message, message, sizeof(message));
  }
  return st;
}

/* Where the records of a table of the source go; *out NULL: they are left out. TARN_E_NOT_FOUND and
 * TARN_E_INVALID are faults of the record. */
static tarn_status choose_target(cdc_job *job, const cdc_record *record, cdc_target **out,
                                 tarn_error *err) {
  char name[780];
  *out = NULL;
  if (record->table.n == 0) {
    return cli_error(
        err, TARN_E_INVALID, "the record names no table%s, so it cannot be told where it goes",
        job->run.format->read == cdc_read_debezium ? " (a flat row does with add.fields=op,table)"
                                                   : "");
  }
  source_name(record, name, sizeof(name));
  if (job->has_regex && regexec(&job->regex, name, 0, NULL, 0) != 0) {
    return TARN_OK;
  }
  if (!job->run.fans_out) {
    /* without --tables one table of the source: that of the first record */
    if (!job->has_regex && job->n_routes > 0) {
      char other[780];
      cdc_record first = {.database = job->routes->database,
                          .schema_name = job->routes->schema,
                          .table = job->routes->table};
      source_name(&first, other, sizeof(other));
      return cli_error(err, TARN_E_INVALID,
                       "a record of the table '%.200s', after those of '%.200s': --tables REGEX "
                       "chooses, and {table} in the name of the table to write spreads them",
                       name, other);
    }
    *out = job->targets;
    return TARN_OK;
  }
  if (!is_plain_name(&record->table) || !is_plain_name(&record->database) ||
      !is_plain_name(&record->schema_name) || record->table.n == 0) {
    return cli_error(err, TARN_E_INVALID,
                     "the name '%.200s' of a source's table cannot be one of a table here", name);
  }
  target_name(job, record);
  return job->name.is_broken ? cli_no_memory(err) : open_target(job, job->name.data, out, err);
}

static tarn_status find_target(cdc_job *job, const cdc_record *record, cdc_target **out,
                               tarn_error *err) {
  route **link = &job->routes, *found;
  tarn_status st;
  if (record->table.n == 0 && !job->run.fans_out && !job->has_regex) { /* it tells none */
    *out = job->targets;
    return TARN_OK;
  }
  for (; *link != NULL; link = &(*link)->next) {
    found = *link;
    if (same_name(&found->table, &record->table) &&
        same_name(&found->schema, &record->schema_name) &&
        same_name(&found->database, &record->database)) {
      *link = found->next;
      found->next = job->routes;
      job->routes = found;
      *out = found->target;
      return TARN_OK;
    }
  }
  st = choose_target(job, record, out, err);
  if (st != TARN_OK || job->n_routes >= MAX_ROUTES) {
    return st;
  }
  found = calloc(1, sizeof(*found));
  if (found == NULL) {
    return cli_no_memory(err);
  }
  *found = (route){job->routes, record->database, record->schema_name, record->table, *out};
  job->routes = found;
  job->n_routes++;
  return TARN_OK;
}

/* ------------------------------------------------------------------ commits */

static void begin_round(cdc_job *job) {
  job->since_commit = 0;
  job->wake_ms = cli_wake_ms(job->interval_ms);
}

/* One round with a state: all is prepared, then kept, then committed (S1). */
static tarn_status commit_kept(cdc_job *job, size_t n, tarn_error *err) {
  cdc_state_table *tables = calloc(n + 1, sizeof(*tables));
  bool has_committed = false, has_news = job->state.taken > job->state.taken_before;
  size_t i = 0;
  tarn_status st = tables == NULL ? cli_no_memory(err) : TARN_OK;
  for (cdc_target *t = job->targets; t != NULL && st == TARN_OK; t = t->next) {
    st = cdc_target_flush(t, err);
  }
  for (cdc_target *t = job->targets; t != NULL && st == TARN_OK; t = t->next) {
    tables[i++] = (cdc_state_table){t->name, t->sink};
    st = cdc_target_seal(t, err);
  }
  job->state.tombstone_is_all = job->reader.tombstone_is_all;
  for (cdc_target *t = job->targets; t != NULL; t = t->next) {
    has_news |= t->is_sealed;
  }
  if (st == TARN_OK && has_news) {
    st = cdc_state_keep(&job->state, tables, i, err);
  }
  for (cdc_target *t = job->targets; t != NULL && st == TARN_OK; t = t->next) {
    st = cdc_target_complete(t, &has_committed, err);
    if (st != TARN_OK && has_committed) {
      cli_report_note(&job->run.session->report,
                      "of this round of commits other tables have theirs already; %s has not. All "
                      "are in the state: the next run commits those that are missing",
                      t->name);
    }
  }
  free(tables);
  job->n_commits += has_committed;
  return st;
}

/* One round: all tables. */
static tarn_status commit(cdc_job *job, tarn_error *err) {
  size_t n = 0, i = 0;
  tarn_messages **messages;
  tarn_status st = TARN_OK;
  bool has_committed = false;
  for (cdc_target *t = job->targets; t != NULL; t = t->next) {
    n++;
  }
  if (job->run.state != NULL) {
    st = commit_kept(job, n, err);
    begin_round(job);
    return st == TARN_OK ? cdc_counters_write(&job->run, job->targets, err) : st;
  }
  messages = calloc(n + 1, sizeof(tarn_messages *));
  if (messages == NULL) {
    return cli_no_memory(err);
  }
  for (cdc_target *t = job->targets; t != NULL && st == TARN_OK; t = t->next, i++) {
    st = cdc_target_flush(t, err);
    if (st == TARN_OK) {
      st = cdc_target_prepare(t, &messages[i], err);
    }
  }
  i = 0;
  for (cdc_target *t = job->targets; t != NULL; t = t->next, i++) {
    tarn_error ignored;
    if (messages[i] != NULL && st != TARN_OK) { /* prepared for nothing */
      (void)!tarn_committer_abort(t->committer, messages[i], &ignored);
    } else if (messages[i] != NULL) {
      st = cdc_target_commit(t, messages[i], err);
      if (st != TARN_OK && has_committed) {
        cli_report_note(&job->run.session->report,
                        "of this round of commits other tables have theirs already; %s has not",
                        t->name);
      }
      has_committed = true;
    }
    tarn_messages_free(messages[i]);
  }
  free(messages);
  job->n_commits += has_committed;
  begin_round(job);
  return st;
}

/* ------------------------------------------------------------------ records */

/* The record in front was refused, at a place of it. */
static tarn_status refuse(cdc_job *job, size_t at, const char *why, size_t n, tarn_error *err) {
  int64_t line, column;
  cli_source_place(&job->source, at < n ? at : n, &line, &column);
  (void)cli_error(err, TARN_E_INVALID, "%.200s, line %lld, column %lld: %.700s",
                  job->run.source_name, (long long)line, (long long)column, why);
  return cli_refused_add(&job->run.refused, cli_source_text(&job->source), n, err);
}

/* The schema has to change for the record in front. fault: *err tells why it cannot. */
static tarn_status evolve(cdc_job *job, cdc_target *t, bool *is_fault, tarn_error *err) {
  tarn_status st = commit(job, err);
  *is_fault = false;
  if (st != TARN_OK) {
    return st;
  }
  if (cli_args_has(job->run.session->args, OPT_DRY_RUN)) {
    return cli_usage(err, "--evolve would change the table %s: it does not go with --dry-run",
                     t->name);
  }
  st = cdc_target_alter(t, job->changes.data, err);
  *is_fault = st == TARN_E_INVALID && err->os_errno != CLI_ERRNO_USAGE && t->table != NULL;
  if (st == TARN_OK) {
    job->n_altered++;
    cli_change_report(job->run.session, NULL, "%s: %s", t->name, job->changes.data);
  }
  return st;
}

static tarn_status add_rows(cdc_job *job, const cdc_record *record, cdc_target *t, size_t n,
                            tarn_error *err) {
  cli_row_fault fault;
  cdc_outcome outcome = CDC_EVOLVE;
  int64_t before = 0;
  tarn_status st = TARN_OK;
  for (int tries = 0; outcome == CDC_EVOLVE; tries++) {
    bool is_fault = tries == MAX_CHANGES;
    before = cli_columns_rows(t->columns);
    outcome = cdc_target_add(t, &job->reader, record, &job->changes, &fault);
    if (outcome == CDC_EVOLVE && !is_fault) {
      st = evolve(job, t, &is_fault, err);
      if (st != TARN_OK && !is_fault) {
        return st;
      }
    }
    if (outcome == CDC_EVOLVE && is_fault) {
      char why[700];
      (void)snprintf(why, sizeof(why), "the table %.100s would need %.200s: %.300s", t->name,
                     job->changes.data, tries == MAX_CHANGES ? "too many changes" : err->message);
      return refuse(job, 0, why, n, err);
    }
  }
  if (outcome == CDC_NO_MEMORY) {
    return cli_no_memory(err);
  }
  if (outcome == CDC_FAULT) {
    return refuse(job, fault.at, fault.message, n, err);
  }
  job->rows += cli_columns_rows(t->columns) - before;
  job->since_commit += cli_columns_rows(t->columns) - before;
  job->classes[CDC_ROWS]++;
  st = cdc_target_note(t, job->source.line, cli_source_text(&job->source), n, err);
  return st == TARN_OK && cdc_target_is_full(t) ? cdc_target_flush(t, err) : st;
}

static tarn_status take_record(cdc_job *job, size_t n, size_t length, tarn_error *err) {
  const char *text = cli_source_text(&job->source);
  cdc_target *t = NULL;
  cdc_record record;
  cli_row_fault fault;
  tarn_status st;
  job->records++;
  if (!cdc_read(&job->reader, text, length, &record, &fault)) {
    return job->reader.json.is_out_of_memory ? cli_no_memory(err)
                                             : refuse(job, fault.at, fault.message, n, err);
  }
  if (record.class > CDC_TRUNCATE) {
    job->classes[record.class]++;
    return TARN_OK;
  }
  st = find_target(job, &record, &t, err);
  if (st == TARN_E_NOT_FOUND || (st == TARN_E_INVALID && err->os_errno != CLI_ERRNO_USAGE)) {
    char why[700];
    (void)snprintf(why, sizeof(why), "%.690s", err->message);
    return refuse(job, 0, why, n, err);
  }
  if (st != TARN_OK) {
    return st;
  }
  if (t == NULL) {
    job->n_unchosen++;
    return TARN_OK;
  }
  if (record.class == CDC_ROWS) {
    return add_rows(job, &record, t, n, err);
  }
  job->classes[CDC_TRUNCATE]++;
  st = commit(job, err);
  return st == TARN_OK ? cdc_target_truncate(t, err) : st;
}

/* ------------------------------------------------------------------ lines */

/* The first line: its length with the line break. *has_one is false at the end, and when the time
 * came first. */
static tarn_status find_line(cdc_job *job, size_t *n, bool *has_one, tarn_error *err) {
  bool has_break;
  tarn_status st = cli_source_find_line(&job->source, job->wake_ms, n, &has_break, err);
  bool was_cut = !has_break && cli_ending_came(); /* in the middle of the line */
  *has_one = st == TARN_OK && *n > 0 && !was_cut;
  job->is_finished = st == TARN_OK && !*has_one && job->source.is_end;
  job->is_idle = st == TARN_OK && *n == 0 && !job->source.is_end;
  return st;
}

static tarn_status next_line(cdc_job *job, tarn_error *err) {
  const char *text;
  size_t n = 0, length;
  bool has_one;
  tarn_status st = find_line(job, &n, &has_one, err);
  if (st != TARN_OK || !has_one) {
    return st;
  }
  text = cli_source_text(&job->source);
  if (job->source.line == 1 && n >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
    cli_source_consume(&job->source, 3); /* a byte order mark */
    return TARN_OK;
  }
  length = n - (text[n - 1] == '\n');
  if (strspn(text, " \t\r") < length) { /* ends at the line break at last */
    if (job->run.state == NULL || !cdc_state_drops(&job->state)) {
      st = take_record(job, n, length, err);
      if (st == TARN_OK) { /* not before: to take it in may need a commit */
        job->state.taken++;
      }
    }
  }
  if (st == TARN_OK) {
    cli_source_consume(&job->source, n);
  }
  return st;
}

static bool owes(const cdc_job *job) {
  bool has_debt = false;
  for (const cdc_target *t = job->targets; t != NULL; t = t->next) {
    has_debt |= t->owes;
  }
  return has_debt;
}

static tarn_status write_feed(cdc_job *job, tarn_error *err) {
  tarn_status st = TARN_OK;
  begin_round(job);
  while (st == TARN_OK && !job->is_finished) {
    st = next_line(job, err);
    if (st == TARN_OK && job->every > 0 && job->since_commit >= job->every) {
      st = commit(job, err);
    }
    if (st == TARN_OK && job->wake_ms > 0 && (job->is_idle || (job->records & 63) == 0) &&
        cli_now_ms() >= job->wake_ms) {
      st = commit(job, err); /* without rows that of compactions */
    }
    if ((job->records & 1023) == 0) {
      cli_progress_update(&job->run.session->progress, job->rows);
    }
  }
  st = st == TARN_OK ? commit(job, err) : st;
  for (int i = 0; i < CLI_MAX_COMPACTIONS && st == TARN_OK && owes(job); i++) {
    st = commit(job, err);
  }
  return st;
}

/* ------------------------------------------------------------------ the end */

static void report(cdc_job *job) {
  cli_session *s = job->run.session;
  cli_text json = {0}, words = {0};
  int64_t files = 0, bytes = 0, n_tables = 0, without_before = 0, snapshot = 0;
  const int64_t n_dropped = job->state.n_dropped;
  cli_text_puts(&json, "\"tables\":{");
  for (cdc_target *t = job->targets; t != NULL; t = t->next) {
    tarn_writer_stats stats = {sizeof(stats), 0, 0, 0, 0};
    tarn_writer_get_stats(t->writer, &stats);
    files += t->files + stats.files;
    bytes += t->bytes + stats.bytes;
    without_before += t->without_before;
    snapshot = t->snapshot;
    cli_text_puts(&json, n_tables++ > 0 ? "," : "");
    cli_text_json(&json, t->name, strlen(t->name));
    cli_text_printf(&json, ":{\"rows\":%lld,\"snapshot\":%lld}", (long long)t->rows,
                    (long long)t->snapshot);
  }
  cli_text_printf(&json,
                  "},\"records\":%lld,\"rows\":%lld,\"refused\":%lld,\"not_chosen\":%lld,"
                  "\"without_before\":%lld,\"schema_changes_made\":%lld,\"files\":%lld,"
                  "\"bytes\":%lld,\"commits\":%lld,\"taken_before\":%lld",
                  (long long)job->records, (long long)job->rows, (long long)job->run.refused.count,
                  (long long)job->n_unchosen, (long long)without_before, (long long)job->n_altered,
                  (long long)files, (long long)bytes, (long long)job->n_commits,
                  (long long)n_dropped);
  cli_text_printf(&words, "%lld record%s, %lld row%s", (long long)job->records, cli_s(job->records),
                  (long long)job->rows, cli_s(job->rows));
  if (job->run.refused.count > 0) {
    cli_text_printf(&words, ", %lld record%s refused", (long long)job->run.refused.count,
                    cli_s(job->run.refused.count));
  }
  if (n_dropped > 0) {
    cli_text_printf(&words, ", %lld taken before", (long long)n_dropped);
  }
  if (job->n_unchosen > 0) {
    cli_text_printf(&words, ", %lld of other tables", (long long)job->n_unchosen);
  }
  for (int i = CDC_TRUNCATE; i < CDC_N_CLASSES; i++) {
    cli_text_printf(&json, ",\"%s\":%lld", cdc_class_names[i], (long long)job->classes[i]);
    if (job->classes[i] > 0) {
      cli_text_printf(&words, ", %lld %s", (long long)job->classes[i], cdc_class_names[i]);
    }
  }
  if (n_tables != 1) {
    cli_text_printf(&words, ", %lld tables", (long long)n_tables);
  } else if (cli_args_has(s->args, OPT_DRY_RUN)) {
    cli_text_puts(&words, ", not committed (--dry-run)");
  } else if (snapshot > 0) {
    cli_text_printf(&words, ", snapshot %lld", (long long)snapshot);
  } else {
    cli_text_puts(&words, ", no snapshot");
  }
  cli_text_char(&json, '\0');
  cli_text_char(&words, '\0');
  cli_progress_clear(&s->progress);
  if (!json.is_broken && !words.is_broken) {
    cli_change_report(s, json.data, "%s", words.data);
  }
  if (without_before > 0) {
    cli_report_note(&s->report,
                    "%lld update%s came without the row before, so the changelog has no -U of them",
                    (long long)without_before, cli_s(without_before));
  }
  cli_text_reset(&json);
  cli_text_reset(&words);
}

static void close_job(cdc_job *job) {
  while (job->targets != NULL) {
    cdc_target *next = job->targets->next;
    cdc_target_free(job->targets);
    job->targets = next;
  }
  while (job->routes != NULL) {
    route *next = job->routes->next;
    free(job->routes);
    job->routes = next;
  }
  if (job->has_source) {
    cli_source_close(&job->source);
  }
  if (job->has_regex) {
    regfree(&job->regex);
  }
  cdc_reader_reset(&job->reader);
  cdc_state_close(&job->state);
  cli_refused_close(&job->run.refused);
  cli_pairs_reset(&job->metas);
  cli_text_reset(&job->changes);
  cli_text_reset(&job->name);
}

int cli_run_cdc(cli_session *s) {
  cdc_job job = {.run = {.session = s}};
  const char *path = s->args->n_arguments > 1 ? s->args->arguments[1] : NULL;
  cdc_target *only;
  tarn_error err;
  int code = CLI_EXIT_OK;
  tarn_status st;
  job.run.refused.file = -1;
  st = read_arguments(&job, &err);
  if (st == TARN_OK) {
    st = cli_refused_open(s, &job.run.refused, &err);
  }
  if (st == TARN_OK && cli_args_has(s->args, OPT_STATE)) {
    job.run.state = &job.state;
    st = cdc_state_open(s, &job.run.refused, &job.state, &err);
  }
  if (st == TARN_OK && !job.run.fans_out) {
    st = open_target(&job, s->args->arguments[0], &only, &err);
  }
  for (size_t i = 0; i < job.state.n_parts && job.run.fans_out && st == TARN_OK; i++) {
    st = open_kept(&job, job.state.parts[i].name, &err);
  }
  if (st == TARN_OK) {
    cdc_reader_init(&job.reader, job.run.format, job.run.kind_name);
    job.reader.tombstone_is_all = job.state.tombstone_is_all;
    job.has_source = true;
    st = cli_source_open(path, &job.source, &err);
  }
  if (st == TARN_OK) {
    /* an interrupt ends at a commit */
    if (job.interval_ms > 0 || job.every > 0 || job.run.state != NULL) {
      cli_ending_catch(NULL);
    }
    st = write_feed(&job, &err);
  }
  if (st == TARN_OK) {
    report(&job);
    code = cli_ending_came() ? CLI_EXIT_INTERRUPTED : code;
  } else {
    cli_progress_clear(&s->progress);
    code = cli_fail(s, &err);
    if (job.n_commits > 0) {
      cli_report_note(&s->report, "before that, %lld commit%s made rows visible",
                      (long long)job.n_commits, job.n_commits == 1 ? "" : "s");
    }
  }
  close_job(&job);
  return code;
}
