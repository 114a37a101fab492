/* complete.c - the normaliser of table tail, and its part of the state file. */
#include "complete.h"

#include <stdio.h>
#include <stdlib.h>

#include "change.h"
#include "errors.h"
#include "follow_state.h"
#include "json.h"
#include "scan.h"

#define TRAILER 12
static const char trailer_magic[] = "TARNROWS";

struct cli_complete {
  tarn_normaliser *normaliser;
  cli_text folder; /* NUL-terminated */
};

/* ------------------------------------------------------------------ what it needs */

/* The columns of the primary key, and behind them those of the partitions that are not among them:
 * names, NUL-terminated behind each other. */
typedef struct row_needs {
  cli_text names;
  size_t n_keys, n; /* of the key; all */
} row_needs;

static bool is_needed(const row_needs *needs, const char *name) {
  const char *at = needs->names.data;
  bool is_there = false;
  for (size_t i = 0; i < needs->n; i++, at += strlen(at) + 1) {
    is_there = is_there || strcmp(at, name) == 0;
  }
  return is_there;
}

static void read_list(const cli_json *json, const char *list_name, row_needs *out) {
  size_t list = cli_json_find(json, 0, list_name);
  for (size_t i = list == SIZE_MAX ? 0 : cli_json_first(json, list);
       list != SIZE_MAX && i < json->nodes[list].after; i = json->nodes[i].after) {
    size_t begin = out->names.len;
    cli_json_text(json, i, &out->names);
    cli_text_terminate(&out->names);
    if (!out->names.is_broken && is_needed(out, out->names.data + begin)) {
      out->names.len = begin;
    } else {
      cli_text_char(&out->names, '\0');
      out->n += out->names.is_broken ? 0 : 1;
    }
  }
}

/* out: cli_text_reset(&out->names). */
static tarn_status read_needs(const cli_json *json, row_needs *out, tarn_error *err) {
  memset(out, 0, sizeof(*out));
  read_list(json, "primary_keys", out);
  out->n_keys = out->n;
  read_list(json, "partition_keys", out);
  return out->names.is_broken ? cli_no_memory(err) : TARN_OK;
}

/* found: room for needs->n pointers to names. */
static tarn_status find_needs(const row_needs *needs, const struct ArrowSchema *schema,
                              const char **found, tarn_error *err) {
  const char *at = needs->names.data;
  for (size_t i = 0; i < needs->n; i++) {
    bool is_there = false;
    for (int64_t c = 0; c < schema->n_children && !is_there; c++) {
      is_there = strcmp(schema->children[c]->name, at) == 0;
    }
    if (!is_there) {
      return cli_usage(err, "--complete needs the columns of the %s: '%s' is not selected",
                       i < needs->n_keys ? "primary key" : "partitions", at);
    }
    found[i] = at;
    at += strlen(at) + 1;
  }
  return TARN_OK;
}

/* What comes last is the row of a key: not so where a column says what is older. */
static tarn_status check_order(const cli_json *json, tarn_error *err) {
  char columns[256] = "";
  size_t options = cli_json_find(json, 0, "options");
  if (options != SIZE_MAX) {
    cli_json_copy(json, options, "sequence.field", columns, sizeof(columns));
  }
  return columns[0] == '\0'
             ? TARN_OK
             : cli_usage(err,
                         "--complete goes by the order in which rows come, but this table goes by "
                         "'sequence.field' = '%s': a row that comes late would replace a newer "
                         "one. changelog-producer=lookup tells the changes of such a table",
                         columns);
}

static tarn_status make_folder_name(const char *state_path, cli_text *out, tarn_error *err) {
  const char *temporary = getenv("TMPDIR");
  cli_text_puts(out, state_path != NULL                          ? state_path
                     : temporary != NULL && temporary[0] != '\0' ? temporary
                                                                 : "/tmp");
  cli_text_puts(out, state_path != NULL ? ".rows" : "");
  cli_text_char(out, '\0');
  return out->is_broken ? cli_no_memory(err) : TARN_OK;
}

static tarn_status make(cli_session *s, const tarn_string *facts, const struct ArrowSchema *schema,
                        bool has_snapshot, const char *state_path, cli_complete *c,
                        tarn_error *err) {
  tarn_normaliser_options o = TARN_NORMALISER_OPTIONS_INIT;
  const char *passed = schema->n_children > 1 ? schema->children[1]->name : NULL;
  const char **names = NULL;
  row_needs needs = {0};
  cli_json json;
  tarn_status st = make_folder_name(state_path, &c->folder, err);
  if (st == TARN_OK && !cli_json_parse(facts->data, facts->length, &json)) {
    st = cli_no_memory(err);
  } else if (st == TARN_OK) {
    st = check_order(&json, err);
    st = st == TARN_OK ? read_needs(&json, &needs, err) : st;
    cli_json_reset(&json);
  }
  if (st == TARN_OK) {
    names = calloc(needs.n + 1, sizeof(*names));
    st = names == NULL ? cli_no_memory(err) : find_needs(&needs, schema, names, err);
  }
  if (st == TARN_OK) {
    o.folder = c->folder.data;
    o.is_temporary = state_path == NULL;
    o.passed = &passed;
    o.n_passed = has_snapshot ? 1 : 0;
    o.places = names + needs.n_keys;
    o.n_places = needs.n - needs.n_keys;
    st = tarn_normaliser_create(s->env, schema, names, needs.n_keys, &o, &c->normaliser, err);
  }
  free(names);
  cli_text_reset(&needs.names);
  return st;
}

/* ------------------------------------------------------------------ keys that are not selected */

static void add_name(cli_text *out, const char *name) {
  cli_text_puts(out, ",`");
  for (; *name != '\0'; name++) {
    cli_text_puts(out, *name == '`' ? "`" : "");
    cli_text_char(out, *name);
  }
  cli_text_char(out, '`');
}

static bool holds(const cli_name_list *list, const char *name) {
  bool is_there = false;
  for (size_t i = 0; i < list->count; i++) {
    is_there = is_there || strcmp(list->names[i], name) == 0;
  }
  return is_there;
}

static tarn_status add_missing(const tarn_string *facts, const cli_name_list *names,
                               cli_hidden_keys *out, tarn_error *err) {
  cli_json json;
  row_needs needs;
  const char *at;
  tarn_status st;
  if (!cli_json_parse(facts->data, facts->length, &json)) {
    return cli_no_memory(err);
  }
  st = read_needs(&json, &needs, err);
  at = needs.names.data;
  for (size_t i = 0; st == TARN_OK && i < needs.n; i++, at += strlen(at) + 1) {
    if (!holds(names, at)) {
      add_name(&out->select, at);
      out->count++;
    }
  }
  cli_text_reset(&needs.names);
  cli_json_reset(&json);
  return st;
}

tarn_status cli_complete_add_keys(cli_session *s, cli_hidden_keys *out, tarn_error *err) {
  const char *select = s->args->values[OPT_SELECT];
  tarn_table *table = NULL;
  tarn_string facts = {0};
  cli_name_list names = {0};
  tarn_stream_kinds kinds;
  tarn_status st;
  if (select == NULL || !cli_args_has(s->args, OPT_COMPLETE) || s->format == CLI_FORMAT_DEBEZIUM ||
      s->format == CLI_FORMAT_CANAL) {
    return TARN_OK;
  }
  st = cli_names_split(select, &names, err);
  st = st == TARN_OK ? cli_session_table(s, NULL, &table, err) : st;
  st = st == TARN_OK ? tarn_stream_get_kinds(table, &kinds, err) : st;
  if (st == TARN_OK && kinds == TARN_STREAM_UPSERTS) {
    cli_text_puts(&out->select, select);
    st = tarn_table_describe(table, &facts, err);
    st = st == TARN_OK ? add_missing(&facts, &names, out, err) : st;
    cli_text_terminate(&out->select);
    st = st == TARN_OK && out->select.is_broken ? cli_no_memory(err) : st;
    if (st == TARN_OK) {
      s->args->values[OPT_SELECT] = out->select.data;
    }
  }
  tarn_string_free(&facts);
  tarn_table_free(table);
  cli_names_free(&names);
  return st;
}

/* ------------------------------------------------------------------ life */

tarn_status cli_complete_create(cli_session *s, tarn_table *table, tarn_stream *stream,
                                bool has_snapshot, const char *state_path, cli_complete **out,
                                tarn_error *err) {
  tarn_stream_kinds kinds;
  tarn_string facts = {0};
  struct ArrowSchema schema = {0};
  cli_complete *c;
  tarn_status st = tarn_stream_get_kinds(table, &kinds, err);
  *out = NULL;
  if (st != TARN_OK) {
    return st;
  }
  if (kinds != TARN_STREAM_UPSERTS) {
    cli_report_note(&s->report, "the changes of this table are complete without --complete");
    return TARN_OK;
  }
  if (cli_args_has(s->args, OPT_WHERE)) {
    return cli_usage(err,
                     "--complete and --where exclude each other: a row that leaves what is asked "
                     "for would stay");
  }
  c = calloc(1, sizeof(*c));
  if (c == NULL) {
    return cli_no_memory(err);
  }
  st = tarn_table_describe(table, &facts, err);
  st = st == TARN_OK ? tarn_stream_schema(stream, &schema, err) : st;
  st = st == TARN_OK ? make(s, &facts, &schema, has_snapshot, state_path, c, err) : st;
  if (schema.release != NULL) {
    schema.release(&schema);
  }
  tarn_string_free(&facts);
  if (st != TARN_OK) {
    cli_complete_free(c);
    return st;
  }
  *out = c;
  return TARN_OK;
}

void cli_complete_free(cli_complete *c) {
  if (c != NULL) {
    tarn_normaliser_free(c->normaliser);
    cli_text_reset(&c->folder);
    free(c);
  }
}

/* ------------------------------------------------------------------ rows */

tarn_status cli_complete_apply(cli_complete *c, struct ArrowArray *rows, tarn_error *err) {
  struct ArrowArray changes = {0};
  tarn_status st = tarn_normaliser_apply(c->normaliser, rows, &changes, err);
  if (st == TARN_OK) {
    rows->release(rows);
    *rows = changes;
  }
  return st;
}

void cli_complete_stats(const cli_complete *c, tarn_normaliser_stats *out) {
  tarn_normaliser_get_stats(c->normaliser, out);
}

/* ------------------------------------------------------------------ state */

static tarn_status refuse(tarn_error *err, const char *path, const char *why) {
  return cli_error(err, TARN_E_INVALID, "%.600s: %s", path, why);
}

/* Bytes of the normaliser in front of the trailer. false: there is none. */
static bool find_rows(const char *state, size_t n, uint32_t *length) {
  const uint8_t *at;
  if (n < TRAILER || memcmp(state + n - strlen(trailer_magic), trailer_magic, 8) != 0) {
    return false;
  }
  at = (const uint8_t *)state + n - TRAILER;
  *length = (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
  return *length <= n - TRAILER;
}

tarn_status cli_complete_restore(cli_complete *c, const char *path, const char *state, size_t *n,
                                 tarn_error *err) {
  uint32_t length = 0;
  bool has_rows = find_rows(state, *n, &length);
  tarn_status st;
  if (has_rows != (c != NULL)) {
    return refuse(err, path,
                  has_rows ? "this state was kept with --complete: go on with it"
                           : "this state was kept without --complete, so the rows before it are "
                             "not known: begin with another state file");
  }
  if (c == NULL) {
    return TARN_OK;
  }
  *n -= TRAILER + length;
  cli_follow_state_settle(path); /* what only states before it need goes now */
  st = tarn_normaliser_restore(c->normaliser, state + *n, length, err);
  if (st == TARN_E_NOT_FOUND) {
    char what[256];
    (void)snprintf(what, sizeof(what), "%.255s", err->message);
    return cli_error(err, TARN_E_NOT_FOUND,
                     "%.200s: what --complete keeps of each key belongs to this state, and is not "
                     "in %.200s (%.200s): put that folder back; where it is lost, begin anew, with "
                     "new state files and, behind a pipe, an empty table",
                     path, c->folder.data, what);
  }
  return st == TARN_OK ? st : cli_error_prefix(err, path);
}

tarn_status cli_complete_keep(cli_complete *c, cli_text *state, tarn_error *err) {
  tarn_string rows = {0};
  tarn_status st = tarn_normaliser_checkpoint(c->normaliser, &rows, err);
  if (st == TARN_OK) {
    uint32_t n = (uint32_t)rows.length;
    const uint8_t length[4] = {(uint8_t)n, (uint8_t)(n >> 8), (uint8_t)(n >> 16),
                               (uint8_t)(n >> 24)};
    cli_text_add(state, rows.data, rows.length);
    cli_text_add(state, length, sizeof(length));
    cli_text_add(state, trailer_magic, 8);
    st = state->is_broken ? cli_no_memory(err) : TARN_OK;
  }
  tarn_string_free(&rows);
  return st;
}

void cli_complete_kept(cli_complete *c) {
  tarn_normaliser_complete(c->normaliser);
}

bool cli_complete_has_older(const cli_complete *c) {
  tarn_normaliser_stats stats = TARN_NORMALISER_STATS_INIT;
  tarn_normaliser_get_stats(c->normaliser, &stats);
  return stats.older_files > 0;
}

tarn_status cli_complete_kept_in(cli_complete *c, const char *path, const cli_text *state,
                                 tarn_error *err) {
  uint32_t length = 0;
  if (!find_rows(state->data, state->len, &length)) {
    return refuse(err, path, "the state of this stream was replaced by one without --complete");
  }
  cli_follow_state_settle(path);
  return tarn_normaliser_complete_until(c->normaliser, state->data + state->len - TRAILER - length,
                                        length, err);
}
