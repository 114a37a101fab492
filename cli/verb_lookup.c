/* verb_lookup.c - table lookup: rows by their primary keys, from the command line or from standard
 * input. */
#include <stdio.h>
#include <stdlib.h>

#include "columns.h"
#include "errors.h"
#include "json_rows.h"
#include "scan.h"
#include "signals.h"
#include "source.h"

#define REFRESHES 5 /* of one batch: snapshots that expired meanwhile */
#define BATCH_KEYS 1000
#define PATIENCE_MS 20 /* keys that were read are not held back longer for others */

typedef struct lookup_job {
  cli_session *session;
  tarn_table *table;
  tarn_lookup *lookup;
  cli_columns *keys;
  cli_rows *rows;
  cli_source source;
  bool has_source;
  cli_text scratch;
  int64_t n_keys, n_found;
} lookup_job;

/* ------------------------------------------------------------------ opening */

/* Could the lookup be opened but for its columns? */
static bool opens_without_columns(lookup_job *job, tarn_lookup_options o) {
  tarn_lookup *lookup = NULL;
  tarn_error ignored;
  o.columns = NULL;
  o.n_columns = 0;
  if (tarn_lookup_open(job->table, &o, &lookup, &ignored) != TARN_OK) {
    return false;
  }
  tarn_lookup_free(lookup);
  return true;
}

static tarn_status open_lookup(lookup_job *job, tarn_error *err) {
  tarn_lookup_options o = TARN_LOOKUP_OPTIONS_INIT;
  const char *folder = getenv("TMPDIR"), *select = job->session->args->values[OPT_SELECT];
  cli_name_list names = {0};
  tarn_status st = select != NULL ? cli_names_split(select, &names, err) : TARN_OK;
  if (st == TARN_OK) {
    o.columns = names.names;
    o.n_columns = names.count;
    o.temp_folder = folder != NULL && *folder != '\0' ? folder : "/tmp";
    o.timestamp_ns_as_us = cli_session_times(job->session);
    o.cancel = job->session->cancel;
    st = tarn_lookup_open(job->table, &o, &job->lookup, err);
    if (st == TARN_E_NOT_FOUND && select != NULL && opens_without_columns(job, o)) {
      err->status = TARN_E_INVALID;
      err->os_errno = CLI_ERRNO_USAGE;
      st = TARN_E_INVALID;
    }
  }
  cli_names_free(&names);
  return st;
}

static tarn_status open_job(lookup_job *job, tarn_error *err) {
  cli_session *s = job->session;
  const cli_row_style style = cli_session_style(s, false);
  struct ArrowSchema schema = {0};
  tarn_status st = cli_scan_travel(s->args, err);
  st = st == TARN_OK ? cli_session_table(s, NULL, &job->table, err) : st;
  st = st == TARN_OK ? open_lookup(job, err) : st;
  st = st == TARN_OK ? tarn_lookup_key_schema(job->lookup, &schema, err) : st;
  if (st == TARN_OK) {
    st = cli_columns_create(s->env, &schema, 0, NULL, &job->keys, err);
  }
  st = st == TARN_OK ? tarn_lookup_schema(job->lookup, &schema, err) : st;
  return st == TARN_OK ? cli_rows_begin(s->env, &schema, &style, &s->output, &job->rows, err) : st;
}

/* ------------------------------------------------------------------ keys of the command line */

/* A column's name or a value, up to one of `ends`; in quotes it may have them. Taken back with
 * free(). NULL: a quote is not closed, or memory is out. */
static char *take_word(const char **at, const char *quotes, const char *ends) {
  char *out = malloc(strlen(*at) + 1), *to = out;
  if (out == NULL) {
    return NULL;
  }
  if (**at != '\0' && strchr(quotes, **at) != NULL) {
    char quote = *(*at)++;
    while (**at != '\0' && (**at != quote || (*at)[1] == quote)) {
      *at += **at == quote;
      *to++ = *(*at)++;
    }
    if (*(*at)++ != quote) {
      free(out);
      return NULL;
    }
  } else {
    size_t n = strcspn(*at, ends);
    memcpy(to, *at, n);
    to += n;
    *at += n;
  }
  *to = '\0';
  return out;
}

static tarn_status add_part(cli_columns *c, const char *name, const char *value, tarn_error *err) {
  cli_column *column = cli_column_find(&c->root, name, strlen(name));
  if (column == NULL) {
    const char *near = cli_column_nearest(c, &c->root, name, strlen(name));
    return near != NULL
               ? cli_usage(err, "--key: '%s' is no column of the primary key; did you mean '%s'?",
                           name, near)
               : cli_usage(err, "--key: '%s' is no column of the primary key", name);
  }
  if (cli_column_is_met(&c->root, column)) {
    return cli_usage(err, "--key: the column '%s' comes twice", name);
  }
  if (cli_add_text(c, column, value, strlen(value))) {
    return TARN_OK;
  }
  return c->is_out_of_memory
             ? cli_no_memory(err)
             : cli_usage(err, "--key: column '%s' of type %.*s: expected %s, found '%s'", name,
                         (int)column->n_type, column->type, c->expected, value);
}

/* "k=1,name='a,b'" */
static tarn_status add_key(cli_columns *c, const char *text, tarn_error *err) {
  const char *at = text;
  cli_column *bad = NULL;
  tarn_status st = TARN_OK;
  do {
    char *name = take_word(&at, "\"`", "=,"), *value = NULL;
    if (name != NULL && *at == '=') {
      at++;
      value = take_word(&at, "'", ",");
    }
    if (value == NULL || (*at != '\0' && *at != ',')) {
      st = cli_usage(err, "--key '%.300s': expected COLUMN=VALUE with commas between", text);
    } else {
      st = add_part(c, name, value, err);
    }
    free(name);
    free(value);
  } while (st == TARN_OK && *at++ == ',');
  for (int32_t i = 0; i < c->root.n_children && st == TARN_OK; i++) {
    if (!cli_column_is_met(&c->root, &c->root.children[i])) {
      st = cli_usage(err, "--key '%.300s': the column '%s' of the primary key is missing", text,
                     c->root.children[i].name);
    }
  }
  if (st == TARN_OK && !cli_add_row_end(c, &c->root, &bad)) {
    st = cli_no_memory(err);
  }
  return st;
}

/* ------------------------------------------------------------------ keys of standard input */

static tarn_status take_line(lookup_job *job, size_t n, tarn_error *err) {
  const char *text = cli_source_text(&job->source);
  size_t length = n - (text[n - 1] == '\n');
  cli_row_fault fault;
  int64_t line, column;
  if (strspn(text, " \t\r") >= length || /* ends at the line break at last */
      cli_json_row(job->keys, text, length, &job->scratch, &fault)) {
    cli_source_consume(&job->source, n);
    return TARN_OK;
  }
  if (job->keys->is_out_of_memory) {
    return cli_no_memory(err);
  }
  cli_source_place(&job->source, fault.at, &line, &column);
  return cli_error(err, TARN_E_INVALID, "%s, line %lld, column %lld: %s", job->source.name,
                   (long long)line, (long long)column, fault.message);
}

/* Some keys; none: the end. */
static tarn_status read_keys(lookup_job *job, tarn_error *err) {
  int64_t wake_ms = 0; /* for the first one it waits as long as it takes */
  tarn_status st = cli_columns_begin(job->keys, err);
  while (st == TARN_OK && cli_columns_rows(job->keys) < BATCH_KEYS) {
    size_t n;
    bool has_break;
    st = cli_source_find_line(&job->source, wake_ms, &n, &has_break, err);
    if (st != TARN_OK || n == 0) {
      break;
    }
    st = take_line(job, n, err);
    if (wake_ms == 0 && cli_columns_rows(job->keys) > 0) {
      wake_ms = cli_now_ms() + PATIENCE_MS;
    }
  }
  return st;
}

/* ------------------------------------------------------------------ answers */

static int64_t seen_snapshot(const lookup_job *job) {
  tarn_lookup_stats stats = TARN_LOOKUP_STATS_INIT;
  tarn_lookup_get_stats(job->lookup, &stats);
  return stats.snapshot_id;
}

/* A snapshot that expires while keys are asked for gives way to the latest one. */
static tarn_status look_up(lookup_job *job, const struct ArrowSchema *schema,
                           const struct ArrowArray *keys, struct ArrowArray *rows,
                           tarn_error *err) {
  tarn_status st = tarn_lookup_get(job->lookup, schema, keys, rows, NULL, err);
  for (int i = 0; i < REFRESHES && st == TARN_E_NOT_FOUND; i++) {
    int64_t before = seen_snapshot(job), now;
    tarn_error why;
    if (tarn_lookup_refresh(job->lookup, &now, &why) != TARN_OK || now == before) {
      break; /* the one that was asked for is gone */
    }
    st = tarn_lookup_get(job->lookup, schema, keys, rows, NULL, err);
  }
  return st;
}

static tarn_status answer(lookup_job *job, tarn_error *err) {
  struct ArrowSchema schema;
  struct ArrowArray keys, rows = {0};
  tarn_status st = cli_columns_finish(job->keys, &schema, &keys, err);
  if (st == TARN_OK) {
    st = look_up(job, &schema, &keys, &rows, err);
  }
  if (st != TARN_OK) {
    return st;
  }
  job->n_keys += keys.length;
  job->n_found += rows.length;
  st = rows.length > 0 ? cli_rows_add(job->rows, &rows, err) : TARN_OK;
  rows.release(&rows);
  if (st == TARN_OK && cli_signals_interrupted()) {
    st = err->status = TARN_E_CANCELLED;
  }
  return st;
}

static tarn_status answer_arguments(lookup_job *job, tarn_error *err) {
  const cli_args *args = job->session->args;
  tarn_status st = cli_columns_begin(job->keys, err);
  for (size_t i = 0; i < args->n_keys && st == TARN_OK; i++) {
    st = add_key(job->keys, args->keys[i], err);
  }
  return st == TARN_OK ? answer(job, err) : st;
}

/* What is asked for in the meantime is answered: rows leave as soon as the input rests. */
static tarn_status answer_input(lookup_job *job, tarn_error *err) {
  tarn_status st = cli_source_open(NULL, &job->source, err);
  job->has_source = true;
  while (st == TARN_OK) {
    st = read_keys(job, err);
    if (st != TARN_OK || cli_columns_rows(job->keys) == 0) {
      break;
    }
    st = answer(job, err);
    if (st == TARN_OK && cli_source_left(&job->source) == 0 &&
        !cli_output_flush(&job->session->output)) {
      st = cli_output_status(&job->session->output, err);
    }
  }
  return st;
}

static void close_job(lookup_job *job) {
  cli_rows_free(job->rows);
  cli_columns_free(job->keys);
  tarn_lookup_free(job->lookup);
  tarn_table_free(job->table);
  if (job->has_source) {
    cli_source_close(&job->source);
  }
  cli_text_reset(&job->scratch);
}

int cli_run_lookup(cli_session *s) {
  lookup_job job = {.session = s};
  tarn_error err;
  bool has_keys = s->args->n_keys > 0;
  tarn_status st = open_job(&job, &err);
  if (st == TARN_OK) {
    st = has_keys ? answer_arguments(&job, &err) : answer_input(&job, &err);
  }
  st = st == TARN_OK ? cli_rows_end(job.rows, &err) : st;
  if (st == TARN_OK && s->args->n_keys == 1 && job.n_found == 0) {
    st = err.status = TARN_E_NOT_FOUND;
    err.os_errno = 0;
    (void)snprintf(err.message, sizeof(err.message), "%s has no row with the key %.400s",
                   s->args->arguments[0], s->args->keys[0]);
  }
  close_job(&job);
  return st == TARN_OK ? cli_finish(s) : cli_fail(s, &err);
}
