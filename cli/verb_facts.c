/* verb_facts.c - databases and tables: what there is, and what they are. */
#include <stdio.h>

#include "facts.h"
#include "json.h"
#include "scan.h"

int cli_run_list_databases(cli_session *s) {
  tarn_catalog *catalog;
  tarn_names names;
  tarn_error err;
  int code;
  if (cli_session_catalog(s, &catalog, &err) != TARN_OK ||
      tarn_catalog_list_databases(catalog, &names, &err) != TARN_OK) {
    return cli_fail(s, &err);
  }
  code = cli_print_names(s, "database", &names);
  tarn_names_free(&names);
  return code;
}

int cli_run_list_tables(cli_session *s) {
  tarn_catalog *catalog;
  tarn_names names;
  tarn_error err;
  int code;
  if (cli_session_catalog(s, &catalog, &err) != TARN_OK ||
      tarn_catalog_list_tables(catalog, s->args->arguments[0], &names, &err) != TARN_OK) {
    return cli_fail(s, &err);
  }
  code = cli_print_names(s, "table", &names);
  tarn_names_free(&names);
  return code;
}

int cli_run_get_database(cli_session *s) {
  const char *name = s->args->arguments[0];
  tarn_catalog *catalog;
  tarn_names tables;
  tarn_error err;
  cli_text facts = {0};
  int code;
  if (cli_session_needs_text(s, &err) != TARN_OK) {
    return cli_fail(s, &err);
  }
  if (cli_session_catalog(s, &catalog, &err) != TARN_OK ||
      tarn_catalog_list_tables(catalog, name, &tables, &err) != TARN_OK) {
    return cli_fail(s, &err);
  }
  cli_text_puts(&facts, "{\"name\":");
  cli_text_json(&facts, name, strlen(name));
  cli_text_puts(&facts, ",\"warehouse\":");
  cli_text_json(&facts, s->config.warehouse, strlen(s->config.warehouse));
  cli_text_puts(&facts, ",\"tables\":[");
  for (size_t i = 0; i < tables.count; i++) {
    cli_text_puts(&facts, i > 0 ? "," : "");
    cli_text_json(&facts, tables.items[i], strlen(tables.items[i]));
  }
  cli_text_puts(&facts, "]}");
  s->output.pending.is_broken |= facts.is_broken;
  code = cli_print_facts(s, facts.data, facts.len);
  cli_text_reset(&facts);
  tarn_names_free(&tables);
  return code;
}

/* Options, table and description, or the exit code. */
static int describe_table(cli_session *s, tarn_string *out) {
  tarn_table *table = NULL;
  tarn_error err;
  tarn_status st;
  memset(out, 0, sizeof(*out));
  if (cli_session_needs_text(s, &err) != TARN_OK) {
    return cli_fail(s, &err);
  }
  st = cli_session_table(s, NULL, &table, &err);
  if (st == TARN_OK) {
    st = tarn_table_describe(table, out, &err);
  }
  tarn_table_free(table);
  return st == TARN_OK ? CLI_EXIT_OK : cli_fail(s, &err);
}

int cli_run_get_table(cli_session *s) {
  tarn_string facts;
  tarn_error err;
  int code;
  if (cli_scan_travel(s->args, &err) != TARN_OK) {
    return cli_fail(s, &err);
  }
  code = describe_table(s, &facts);
  if (code == CLI_EXIT_OK) {
    code = cli_print_facts(s, facts.data, facts.length);
  }
  tarn_string_free(&facts);
  return code;
}

/* ------------------------------------------------------------------ snapshot */

/* The path of FOLDER/FOLDER-NAME of the table or branch; name NULL: that of the latest snapshot.
 * false: the table has none. */
static bool file_path(const tarn_string *facts, const char *folder, const char *name,
                      cli_text *out) {
  cli_json json;
  size_t path, branch;
  cli_text text = {0};
  char latest[32];
  bool has_one = false;
  if (!cli_json_parse(facts->data, facts->length, &json)) {
    return false;
  }
  path = cli_json_find(&json, 0, "path");
  branch = cli_json_find(&json, 0, "branch");
  if (name == NULL) {
    int64_t id = cli_json_int(&json, 0, "latest_snapshot");
    (void)snprintf(latest, sizeof(latest), "%lld", (long long)id);
    name = id > 0 ? latest : NULL;
  }
  if (path != SIZE_MAX && branch != SIZE_MAX && name != NULL) {
    cli_json_text(&json, branch, &text);
    cli_json_text(&json, path, out);
    if (!(text.len == 4 && memcmp(text.data, "main", 4) == 0)) {
      cli_text_puts(out, "/branch/branch-");
      cli_text_add(out, text.data, text.len);
    }
    cli_text_printf(out, "/%s/%s-%s", folder, folder, name);
    cli_text_char(out, '\0');
    has_one = true;
  }
  cli_text_reset(&text);
  cli_json_reset(&json);
  return has_one && !out->is_broken;
}

/* Print what the file of a snapshot holds. */
static int print_snapshot(cli_session *s, const char *path) {
  tarn_string facts;
  tarn_error err;
  cli_json json;
  size_t content;
  int code;
  if (tarn_inspect(s->env, path, &facts, &err) != TARN_OK) {
    return cli_fail(s, &err);
  }
  if (!cli_json_parse(facts.data, facts.length, &json)) {
    code = cli_print_facts(s, facts.data, facts.length);
  } else {
    content = cli_json_find(&json, 0, "content");
    code = content == SIZE_MAX
               ? cli_print_facts(s, facts.data, facts.length)
               : cli_print_facts(s, facts.data + json.nodes[content].begin,
                                 json.nodes[content].end - json.nodes[content].begin);
    cli_json_reset(&json);
  }
  tarn_string_free(&facts);
  return code;
}

bool cli_snapshot_records(cli_session *s, tarn_table *table, int64_t id, int64_t *added,
                          int64_t *total) {
  tarn_string facts = {0}, snapshot = {0};
  cli_text path = {0};
  cli_json json;
  char name[32];
  bool is_known = false;
  (void)snprintf(name, sizeof(name), "%lld", (long long)id);
  if (tarn_table_describe(table, &facts, NULL) == TARN_OK &&
      file_path(&facts, "snapshot", name, &path) &&
      tarn_inspect(s->env, path.data, &snapshot, NULL) == TARN_OK &&
      cli_json_parse(snapshot.data, snapshot.length, &json)) {
    size_t content = cli_json_find(&json, 0, "content");
    is_known = content != SIZE_MAX &&
               cli_json_find(&json, content, "deltaRecordCount") != SIZE_MAX &&
               cli_json_find(&json, content, "totalRecordCount") != SIZE_MAX;
    if (is_known) {
      *added = cli_json_int(&json, content, "deltaRecordCount");
      *total = cli_json_int(&json, content, "totalRecordCount");
    }
    cli_json_reset(&json);
  }
  cli_text_reset(&path);
  tarn_string_free(&snapshot);
  tarn_string_free(&facts);
  return is_known;
}

int cli_print_table_file(cli_session *s, const char *folder, const char *name) {
  tarn_string facts;
  tarn_error err;
  cli_text path = {0};
  int code = describe_table(s, &facts);
  if (code == CLI_EXIT_OK) {
    if (file_path(&facts, folder, name, &path)) {
      code = print_snapshot(s, path.data);
    } else {
      (void)cli_error(&err, TARN_E_NOT_FOUND, "%s has no %s", s->args->arguments[0], folder);
      code = cli_fail(s, &err);
    }
  }
  cli_text_reset(&path);
  tarn_string_free(&facts);
  return code;
}

int cli_run_snapshot(cli_session *s) {
  tarn_error err;
  int64_t id = 0;
  char name[32];
  if (cli_args_number(s->args, OPT_SNAPSHOT, 1, INT64_MAX, &id, &err) != TARN_OK) {
    return cli_fail(s, &err);
  }
  (void)snprintf(name, sizeof(name), "%lld", (long long)id);
  return cli_print_table_file(s, "snapshot", id > 0 ? name : NULL);
}

/* ------------------------------------------------------------------ inspect */

static int inspect_rows(cli_session *s, const char *path) {
  struct ArrowArrayStream stream = {0};
  int64_t limit = s->output.is_terminal ? 100 : -1, n_rows;
  tarn_error err;
  if (cli_args_number(s->args, OPT_LIMIT, 0, INT64_MAX, &limit, &err) != TARN_OK) {
    return cli_fail(s, &err);
  }
  return tarn_inspect_rows(s->env, path, limit, cli_session_times(s), &stream, &err) == TARN_OK
             ? cli_print_stream(s, &stream, false, &n_rows)
             : cli_fail(s, &err);
}

int cli_run_inspect(cli_session *s) {
  const char *path = s->args->arguments[0];
  tarn_string facts;
  tarn_error err;
  int code;
  if (cli_args_has(s->args, OPT_ROWS)) {
    return inspect_rows(s, path);
  }
  if (cli_session_needs_text(s, &err) != TARN_OK) {
    return cli_fail(s, &err);
  }
  if (tarn_inspect(s->env, path, &facts, &err) != TARN_OK) {
    return cli_fail(s, &err);
  }
  code = cli_print_facts(s, facts.data, facts.length);
  tarn_string_free(&facts);
  return code;
}
