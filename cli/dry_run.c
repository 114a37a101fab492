/* dry_run.c - what a dry run has to look for. */
#include "dry_run.h"

#include <stdio.h>
#include <string.h>

#include "errors.h"
#include "json.h"

static bool is_dry(const cli_session *s) {
  return cli_args_has(s->args, OPT_DRY_RUN);
}

/* ------------------------------------------------------------------ names in system tables */

static tarn_status count_rows(struct ArrowArrayStream *stream, int64_t *n, tarn_error *err) {
  struct ArrowArray batch;
  for (;;) {
    if (stream->get_next(stream, &batch) != 0) {
      return tarn_stream_error(stream, err);
    }
    if (batch.release == NULL) {
      return TARN_OK;
    }
    *n += batch.length;
    batch.release(&batch);
  }
}

/* Has the system table a row with this text in the column? */
static tarn_status look_up(cli_session *s, const char *system, const char *column, const char *text,
                           bool *found, tarn_error *err) {
  const tarn_literal literal = {TARN_LITERAL_TEXT, 0, 0, text, strlen(text)};
  tarn_scan_options o = TARN_SCAN_OPTIONS_INIT;
  struct ArrowArrayStream stream = {0};
  tarn_predicate *where = NULL;
  tarn_table *table = NULL;
  tarn_scan *scan = NULL;
  int64_t n = 0;
  tarn_status st = cli_session_table(s, system, &table, err);
  if (st == TARN_OK) {
    st = tarn_predicate_compare(table, column, TARN_EQ, &literal, &where, err);
  }
  if (st == TARN_OK) {
    o.predicate = where;
    st = tarn_scan_create(table, &o, &scan, err);
  }
  if (st == TARN_OK) {
    st = tarn_scan_read(scan, &stream, err);
  }
  if (st == TARN_OK) {
    st = count_rows(&stream, &n, err);
    stream.release(&stream);
  }
  tarn_scan_free(scan);
  tarn_predicate_free(where);
  tarn_table_free(table);
  *found = n > 0;
  return st;
}

static tarn_status missing(const cli_session *s, const char *what, const char *name,
                           tarn_error *err) {
  return cli_error(err, TARN_E_NOT_FOUND, "%.200s has no %s '%.200s'", s->args->arguments[0], what,
                   name);
}

static tarn_status need(cli_session *s, const char *system, const char *column, const char *what,
                        const char *name, tarn_error *err) {
  bool found;
  tarn_status st = look_up(s, system, column, name, &found, err);
  return st == TARN_OK && !found ? missing(s, what, name, err) : st;
}

tarn_status cli_dry_run_tag(cli_session *s, const char *name, tarn_error *err) {
  return is_dry(s) ? need(s, "tags", "tag_name", "tag", name, err) : TARN_OK;
}

tarn_status cli_dry_run_branch(cli_session *s, const char *name, tarn_error *err) {
  return is_dry(s) ? need(s, "branches", "branch_name", "branch", name, err) : TARN_OK;
}

tarn_status cli_dry_run_snapshot(cli_session *s, const char *id, tarn_error *err) {
  bool found = false;
  tarn_status st;
  if (!is_dry(s)) {
    return TARN_OK;
  }
  st = look_up(s, "snapshots", "snapshot_id", id, &found, err);
  return st == TARN_OK && !found ? need(s, "tags", "snapshot_id", "snapshot", id, err) : st;
}

/* A plan of that time says which snapshot was the latest then. */
tarn_status cli_dry_run_time(cli_session *s, int64_t time_ms, tarn_error *err) {
  static const char key[] = "scan.timestamp-millis";
  tarn_table *table = NULL;
  tarn_scan *scan = NULL;
  tarn_plan *plan = NULL;
  char text[32];
  tarn_status st;
  if (!is_dry(s)) {
    return TARN_OK;
  }
  (void)snprintf(text, sizeof(text), "%lld", (long long)time_ms);
  st = cli_args_add_option(s->args, key, sizeof(key) - 1, text, err);
  if (st == TARN_OK) {
    st = cli_session_table(s, NULL, &table, err);
  }
  if (st == TARN_OK) {
    st = tarn_scan_create(table, NULL, &scan, err);
  }
  if (st == TARN_OK) {
    st = tarn_scan_plan(scan, &plan, err);
  }
  if (st == TARN_OK && tarn_plan_snapshot_id(plan) == 0) {
    st = cli_error(err, TARN_E_NOT_FOUND, "%.200s has no snapshot", s->args->arguments[0]);
  }
  tarn_plan_free(plan);
  tarn_scan_free(scan);
  tarn_table_free(table);
  return st;
}

/* ------------------------------------------------------------------ what a table is */

static tarn_status describe(tarn_table *table, tarn_string *facts, cli_json *json,
                            tarn_error *err) {
  tarn_status st = tarn_table_describe(table, facts, err);
  if (st == TARN_OK && !cli_json_parse(facts->data, facts->length, json)) {
    st = cli_no_memory(err);
  }
  return st;
}

tarn_status cli_dry_run_whole(cli_session *s, tarn_table *table, tarn_error *err) {
  const char *name = s->args->arguments[0];
  char system[32], branch[32];
  tarn_string facts = {0};
  cli_json json = {0};
  tarn_status st;
  if (!is_dry(s)) {
    return TARN_OK;
  }
  st = describe(table, &facts, &json, err);
  if (st == TARN_OK) {
    cli_json_copy(&json, 0, "system_table", system, sizeof(system));
    cli_json_copy(&json, 0, "branch", branch, sizeof(branch));
    if (system[0] != '\0') {
      st = cli_error(err, TARN_E_INVALID, "%.200s is a system table", name);
    } else if (strcmp(branch, "main") != 0) {
      st = cli_error(err, TARN_E_INVALID, "%.200s is a branch: 'tarn branch delete'", name);
    }
  }
  cli_json_reset(&json);
  tarn_string_free(&facts);
  return st;
}

static bool is_partition_key(const cli_json *json, const char *key) {
  size_t list = cli_json_find(json, 0, "partition_keys");
  bool found = false;
  if (list == SIZE_MAX) {
    return false;
  }
  for (size_t i = cli_json_first(json, list); i < json->nodes[list].after && !found;
       i = json->nodes[i].after) {
    cli_text text = {0};
    cli_json_text(json, i, &text);
    found = text.len == strlen(key) && memcmp(text.data, key, text.len) == 0;
    cli_text_reset(&text);
  }
  return found;
}

tarn_status cli_dry_run_partition(cli_session *s, tarn_table *table, const cli_pairs *partition,
                                  tarn_error *err) {
  tarn_string facts = {0};
  cli_json json = {0};
  tarn_status st;
  if (!is_dry(s)) {
    return TARN_OK;
  }
  st = describe(table, &facts, &json, err);
  for (size_t i = 0; i < partition->count && st == TARN_OK; i++) {
    if (!is_partition_key(&json, partition->items[i].key)) {
      st = cli_error(err, TARN_E_INVALID, "%.200s: '%.200s' is no partition column",
                     s->args->arguments[0], partition->items[i].key);
    }
  }
  cli_json_reset(&json);
  tarn_string_free(&facts);
  return st;
}

tarn_status cli_dry_run_forward(cli_session *s, const char *name, tarn_error *err) {
  tarn_table *branch = NULL;
  tarn_string facts = {0};
  cli_json json = {0};
  tarn_status st = cli_dry_run_branch(s, name, err);
  if (!is_dry(s) || st != TARN_OK || strstr(s->args->arguments[0], "$branch_") != NULL) {
    return st; /* a branch of a branch has no name of its own */
  }
  s->args->values[OPT_BRANCH] = name;
  st = cli_session_table(s, NULL, &branch, err);
  s->args->values[OPT_BRANCH] = NULL;
  if (st == TARN_OK) {
    st = describe(branch, &facts, &json, err);
  }
  if (st == TARN_OK && cli_json_int(&json, 0, "latest_snapshot") <= 0) {
    st = cli_error(err, TARN_E_STATE, "the branch '%.200s' has no snapshot", name);
  }
  cli_json_reset(&json);
  tarn_string_free(&facts);
  tarn_table_free(branch);
  return st;
}
