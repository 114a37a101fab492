/* complete.c - the normaliser of table tail, and its part of the state file. */
#include "complete.h"

#include <stdio.h>
#include <stdlib.h>

#include "change.h"
#include "errors.h"
#include "json.h"

#define TRAILER 12
static const char trailer_magic[] = "TARNROWS";

struct cli_complete {
  tarn_normaliser *normaliser;
};

/* ------------------------------------------------------------------ making it */

/* The columns of the primary key, NUL-terminated behind each other. */
static tarn_status take_keys(const cli_json *json, const struct ArrowSchema *schema, cli_text *text,
                             size_t *n, tarn_error *err) {
  size_t list = cli_json_find(json, 0, "primary_keys");
  *n = 0;
  if (list == SIZE_MAX) {
    return TARN_OK;
  }
  for (size_t i = cli_json_first(json, list); i < json->nodes[list].after;
       i = json->nodes[i].after) {
    size_t begin = text->len;
    bool is_there = false;
    cli_json_text(json, i, text);
    cli_text_char(text, '\0');
    if (text->is_broken) {
      return cli_no_memory(err);
    }
    for (int64_t c = 0; c < schema->n_children && !is_there; c++) {
      is_there = strcmp(schema->children[c]->name, text->data + begin) == 0;
    }
    if (!is_there) {
      return cli_usage(err, "--complete needs the columns of the primary key: '%s' is not selected",
                       text->data + begin);
    }
    ++*n;
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
                        const char *state_path, cli_complete *c, tarn_error *err) {
  tarn_normaliser_options o = TARN_NORMALISER_OPTIONS_INIT;
  const char *passed = schema->n_children > 1 ? schema->children[1]->name : NULL; /* snapshots */
  const char **keys = NULL;
  cli_text folder = {0}, names = {0};
  cli_json json;
  size_t n = 0;
  tarn_status st = make_folder_name(state_path, &folder, err);
  if (st == TARN_OK && !cli_json_parse(facts->data, facts->length, &json)) {
    st = cli_no_memory(err);
  } else if (st == TARN_OK) {
    st = check_order(&json, err);
    st = st == TARN_OK ? take_keys(&json, schema, &names, &n, err) : st;
    cli_json_reset(&json);
  }
  if (st == TARN_OK) {
    keys = calloc(n + 1, sizeof(*keys));
    st = keys == NULL ? cli_no_memory(err) : TARN_OK;
  }
  if (st == TARN_OK) {
    const char *at = names.data;
    for (size_t i = 0; i < n; i++) {
      keys[i] = at;
      at += strlen(at) + 1;
    }
    o.folder = folder.data;
    o.is_temporary = state_path == NULL;
    o.passed = &passed;
    o.n_passed = 1;
    st = tarn_normaliser_create(s->env, schema, keys, n, &o, &c->normaliser, err);
  }
  free(keys);
  cli_text_reset(&folder);
  cli_text_reset(&names);
  return st;
}

tarn_status cli_complete_create(cli_session *s, tarn_table *table, tarn_stream *stream,
                                const char *state_path, cli_complete **out, tarn_error *err) {
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
  st = st == TARN_OK ? make(s, &facts, &schema, state_path, c, err) : st;
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

tarn_status cli_complete_restore(cli_complete *c, const char *path, const char *state, size_t *n,
                                 tarn_error *err) {
  uint32_t length = 0;
  bool has_rows =
      *n >= TRAILER && memcmp(state + *n - strlen(trailer_magic), trailer_magic, 8) == 0;
  if (has_rows) {
    const uint8_t *at = (const uint8_t *)state + *n - TRAILER;
    length = (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    has_rows = length <= *n - TRAILER;
  }
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
  return tarn_normaliser_restore(c->normaliser, state + *n, length, err);
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
