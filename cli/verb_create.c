/* verb_create.c - databases and tables: create, rename, drop; what databases refuse. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "dry_run.h"
#include "errors.h"
#include "json.h"
#include "nanoarrow/nanoarrow_ipc.h"
#include "source.h"

/* The error of a name that is there already (or not), which the user does not mind. */
static bool is_ignored(const cli_session *s, tarn_status st) {
  return (st == TARN_E_EXISTS && cli_args_has(s->args, OPT_IF_NOT_EXISTS)) ||
         (st == TARN_E_NOT_FOUND && cli_args_has(s->args, OPT_IF_EXISTS));
}

/* What was done, or the error. */
static int done(cli_session *s, tarn_status st, tarn_error *err, const char *what) {
  if (is_ignored(s, st)) {
    cli_report_note(&s->report, "%s", err->message);
    return CLI_EXIT_OK;
  }
  if (st != TARN_OK) {
    return cli_fail(s, err);
  }
  cli_change_report(s, NULL, "%s", what);
  return CLI_EXIT_OK;
}

/* ------------------------------------------------------------------ databases */

/* json: cli_json_reset(), when it works. */
static tarn_status parse_properties(const char *text, cli_json *json, tarn_error *err) {
  if (cli_json_parse(text, strlen(text), json) && json->nodes[0].kind == CLI_JSON_OBJECT) {
    return TARN_OK;
  }
  cli_json_reset(json);
  return cli_usage(err, "--properties '%.200s': expected a JSON object", text);
}

int cli_run_create_database(cli_session *s) {
  const char *name = s->args->arguments[0], *properties = s->args->values[OPT_PROPERTIES];
  tarn_catalog *catalog;
  tarn_error err;
  char what[300];
  cli_json json;
  tarn_status st;
  if (properties != NULL) {
    if (parse_properties(properties, &json, &err) != TARN_OK) {
      return cli_fail(s, &err);
    }
    if (cli_json_count(&json, 0) > 0 && !s->report.is_quiet) {
      cli_report_line(&s->report, TARN_LOG_WARN,
                      "a warehouse on a file system keeps no properties of databases: they are "
                      "dropped");
    }
    cli_json_reset(&json);
  }
  st = cli_session_catalog(s, &catalog, &err);
  if (st == TARN_OK) {
    st = tarn_database_create(catalog, name, &err);
  }
  (void)snprintf(what, sizeof(what), "created the database %.200s", name);
  return done(s, st, &err, what);
}

int cli_run_drop_database(cli_session *s) {
  const char *name = s->args->arguments[0];
  bool cascades = cli_args_has(s->args, OPT_CASCADE), is_to_go = false;
  tarn_catalog *catalog;
  tarn_names tables = {0};
  tarn_error err;
  char what[300];
  tarn_status st = cli_session_catalog(s, &catalog, &err);
  if (st == TARN_OK) {
    st = tarn_catalog_list_tables(catalog, name, &tables, &err);
  }
  if (st == TARN_OK) {
    st = !cascades && tables.count > 0 && cli_args_has(s->args, OPT_DRY_RUN)
             ? cli_error(&err, TARN_E_STATE, "Database %.200s is not empty.", name)
             : TARN_OK;
  }
  if (st == TARN_OK) {
    st = cli_change_ask(s, &is_to_go, &err, "drop the database %.200s, which has %zu tables", name,
                        tables.count);
  }
  if (st == TARN_OK && is_to_go) {
    st = tarn_database_drop(catalog, name, cascades, &err);
  }
  tarn_names_free(&tables);
  if (st == TARN_OK && !is_to_go) {
    return CLI_EXIT_OK;
  }
  (void)snprintf(what, sizeof(what), "dropped the database %.200s", name);
  return done(s, st, &err, what);
}

/* The members of an object: the library's changes. Values that are no texts are their JSON. */
static tarn_status alter_database(tarn_catalog *catalog, const char *name, const cli_json *json,
                                  tarn_error *err) {
  size_t count = cli_json_count(json, 0), n = 0;
  cli_text *texts = calloc(2 * count + 1, sizeof(*texts));
  tarn_option *changes = calloc(count + 1, sizeof(*changes));
  tarn_status st = texts != NULL && changes != NULL ? TARN_OK : cli_no_memory(err);
  for (size_t i = cli_json_first(json, 0); st == TARN_OK && i < json->nodes[0].after;
       i = json->nodes[i].after, n++) {
    bool is_removed = json->nodes[i].kind == CLI_JSON_NULL;
    cli_json_key(json, i, &texts[2 * n]);
    cli_text_char(&texts[2 * n], '\0');
    cli_json_text(json, i, &texts[2 * n + 1]);
    cli_text_char(&texts[2 * n + 1], '\0');
    if (texts[2 * n].is_broken || texts[2 * n + 1].is_broken) {
      st = cli_no_memory(err);
    }
    changes[n] = (tarn_option){texts[2 * n].data, is_removed ? NULL : texts[2 * n + 1].data};
  }
  if (st == TARN_OK) {
    st = tarn_database_alter(catalog, name, changes, n, err);
  }
  for (size_t i = 0; texts != NULL && i < 2 * count; i++) {
    cli_text_reset(&texts[i]);
  }
  free(texts);
  free(changes);
  return st;
}

int cli_run_alter_database(cli_session *s) {
  const char *name = s->args->arguments[0], *properties = s->args->values[OPT_PROPERTIES];
  tarn_catalog *catalog;
  tarn_error err;
  char what[300];
  cli_json json;
  tarn_status st;
  if (properties == NULL) {
    (void)cli_usage(&err, "db alter needs --properties JSON");
    return cli_fail(s, &err);
  }
  if (parse_properties(properties, &json, &err) != TARN_OK) {
    return cli_fail(s, &err);
  }
  st = cli_session_catalog(s, &catalog, &err);
  if (st == TARN_OK) {
    st = alter_database(catalog, name, &json, &err);
  }
  cli_json_reset(&json);
  (void)snprintf(what, sizeof(what), "changed the database %.200s", name);
  return done(s, st, &err, what);
}

/* ------------------------------------------------------------------ schemas */

static void add_list(cli_text *out, const char *key, const cli_names *names) {
  cli_text_printf(out, ",\"%s\":[", key);
  for (size_t i = 0; i < names->count; i++) {
    cli_text_puts(out, i > 0 ? "," : "");
    cli_text_json(out, names->items[i], strlen(names->items[i]));
  }
  cli_text_char(out, ']');
}

static void add_pairs(cli_text *out, const cli_args *args, bool has_some) {
  for (size_t i = 0; i < args->n_table_options; i++) {
    const tarn_option *o = &args->table_options[i];
    cli_text_puts(out, i > 0 || has_some ? "," : "");
    cli_text_json(out, o->key, strlen(o->key));
    cli_text_char(out, ':');
    cli_text_json(out, o->value, strlen(o->value));
  }
}

/* A schema in JSON with what the command line adds: keys take the place of the file's, options come
 * behind the file's. */
static tarn_status add_to_json(const cli_args *args, const char *name, const char *text, size_t n,
                               const cli_names *primary, const cli_names *partition, cli_text *out,
                               tarn_error *err) {
  const char *nul = memchr(text, '\0', n);
  size_t options, end;
  cli_json json;
  if (nul != NULL) {
    return cli_error(err, TARN_E_INVALID,
                     "%.200s: expected a schema in JSON, found a NUL character at byte %zu", name,
                     (size_t)(nul - text));
  }
  if (!cli_json_parse(text, n, &json) || json.nodes[0].kind != CLI_JSON_OBJECT) {
    cli_json_reset(&json);
    /* The library tells where it is wrong. */
    cli_text_add(out, text, n);
    cli_text_char(out, '\0');
    return out->is_broken ? cli_no_memory(err) : TARN_OK;
  }
  options = cli_json_find(&json, 0, "options");
  end = json.nodes[0].end - 1; /* of the whole object: its bracket */
  if (options != SIZE_MAX && json.nodes[options].kind == CLI_JSON_OBJECT &&
      args->n_table_options > 0) {
    size_t close = json.nodes[options].end - 1;
    cli_text_add(out, text, close);
    add_pairs(out, args, cli_json_count(&json, options) > 0);
    cli_text_add(out, text + close, end - close);
  } else {
    cli_text_add(out, text, end);
    if (args->n_table_options > 0) {
      cli_text_puts(out, cli_json_count(&json, 0) > 0 ? ",\"options\":{" : "\"options\":{");
      add_pairs(out, args, false);
      cli_text_char(out, '}');
    }
  }
  if (primary->count > 0) { /* of members with one name the last counts */
    add_list(out, "primaryKeys", primary);
  }
  if (partition->count > 0) {
    add_list(out, "partitionKeys", partition);
  }
  cli_text_char(out, '}');
  cli_text_char(out, '\0');
  cli_json_reset(&json);
  return out->is_broken ? cli_no_memory(err) : TARN_OK;
}

/* The columns of an Arrow schema as JSON. */
static tarn_status arrow_to_json(const cli_session *s, const struct ArrowSchema *schema,
                                 const cli_names *primary, const cli_names *partition,
                                 cli_text *out, tarn_error *err) {
  const cli_args *args = s->args;
  tarn_string json;
  tarn_status st = tarn_schema_from_arrow(s->env, schema, primary->items, primary->count,
                                          partition->items, partition->count, args->table_options,
                                          args->n_table_options, &json, err);
  if (st == TARN_OK) {
    cli_text_add(out, json.data, json.length);
    cli_text_char(out, '\0');
    tarn_string_free(&json);
    st = out->is_broken ? cli_no_memory(err) : TARN_OK;
  }
  return st;
}

static tarn_status parquet_schema(const cli_session *s, const char *path, const cli_names *primary,
                                  const cli_names *partition, cli_text *out, tarn_error *err) {
  struct ArrowArrayStream stream = {0};
  struct ArrowSchema schema = {0};
  tarn_status st = tarn_inspect_rows(s->env, path, 0, 0, &stream, err);
  if (st == TARN_OK && stream.get_schema(&stream, &schema) != 0) {
    st = tarn_stream_error(&stream, err);
    st = st == TARN_OK ? cli_no_memory(err) : st;
  }
  if (st == TARN_OK) {
    st = arrow_to_json(s, &schema, primary, partition, out, err);
    schema.release(&schema);
  }
  if (stream.release != NULL) {
    stream.release(&stream);
  }
  return st;
}

/* The first message of an IPC stream, or of a file of Arrow's behind its magic. */
static tarn_status ipc_schema(const cli_session *s, const char *name, const char *text, size_t n,
                              const cli_names *primary, const cli_names *partition, cli_text *out,
                              tarn_error *err) {
  struct ArrowIpcDecoder decoder;
  struct ArrowBufferView data = {{text}, (int64_t)n};
  struct ArrowSchema schema = {0};
  struct ArrowError why = {{0}};
  tarn_status st;
  if (n > 8 && memcmp(text, "ARROW1", 6) == 0) {
    data.data.data = text + 8;
    data.size_bytes -= 8;
  }
  if (ArrowIpcDecoderInit(&decoder) != NANOARROW_OK) {
    return cli_no_memory(err);
  }
  if (ArrowIpcDecoderDecodeHeader(&decoder, data, &why) != NANOARROW_OK ||
      ArrowIpcDecoderDecodeSchema(&decoder, &schema, &why) != NANOARROW_OK) {
    st = cli_error(err, TARN_E_CORRUPT, "%s: no schema of Arrow's: %.300s", name, why.message);
  } else {
    st = arrow_to_json(s, &schema, primary, partition, out, err);
  }
  if (schema.release != NULL) {
    schema.release(&schema);
  }
  ArrowIpcDecoderReset(&decoder);
  return st;
}

static tarn_status read_whole(cli_source *source, tarn_error *err) {
  tarn_status st = TARN_OK;
  bool is_idle;
  while (st == TARN_OK && !source->is_end) {
    st = cli_source_fill(source, 0, &is_idle, err);
  }
  return st;
}

/* The schema of --schema as JSON with a NUL behind; what kind of file it is, its first bytes tell.
 */
static tarn_status read_schema(const cli_session *s, cli_text *out, tarn_error *err) {
  const cli_args *args = s->args;
  const char *path = args->values[OPT_SCHEMA], *text;
  cli_names primary = {0}, partition = {0};
  cli_source source = {0};
  size_t n;
  tarn_status st;
  if (path == NULL) {
    return cli_usage(err, "table create needs --schema FILE");
  }
  st = cli_names_parse("--primary-keys", args->values[OPT_PRIMARY_KEYS], &primary, err);
  if (st == TARN_OK) {
    st = cli_names_parse("--partition-keys", args->values[OPT_PARTITION_KEYS], &partition, err);
  }
  if (st == TARN_OK) {
    st = cli_source_open(path, &source, err);
  }
  if (st == TARN_OK) {
    st = read_whole(&source, err);
  }
  if (st == TARN_OK) {
    text = cli_source_text(&source);
    n = cli_source_left(&source);
    if (n >= 4 && memcmp(text, "PAR1", 4) == 0) {
      st = parquet_schema(s, path, &primary, &partition, out, err);
    } else if (n >= 4 &&
               (memcmp(text, "ARRO", 4) == 0 || memcmp(text, "\xff\xff\xff\xff", 4) == 0)) {
      st = ipc_schema(s, source.name, text, n, &primary, &partition, out, err);
    } else {
      st = add_to_json(args, source.name, text, n, &primary, &partition, out, err);
    }
  }
  if (source.fd != 0 || source.data != NULL) {
    cli_source_close(&source);
  }
  cli_names_reset(&primary);
  cli_names_reset(&partition);
  return st;
}

/* ------------------------------------------------------------------ tables */

/* Every catalog has the database "default": it is made when it is first needed. Rule:
 * org.apache.paimon.flink.FlinkCatalog (its default database). */
static tarn_status need_default_database(tarn_catalog *catalog, const char *table,
                                         tarn_error *err) {
  static const char prefix[] = "default.";
  tarn_names tables;
  tarn_status st;
  if (strncmp(table, prefix, sizeof(prefix) - 1) != 0) {
    return TARN_OK;
  }
  st = tarn_catalog_list_tables(catalog, "default", &tables, err);
  if (st != TARN_E_NOT_FOUND) {
    tarn_names_free(&tables);
    return st;
  }
  st = tarn_database_create(catalog, "default", err);
  return st == TARN_E_EXISTS ? TARN_OK : st; /* somebody was faster */
}

int cli_run_create_table(cli_session *s) {
  const char *name = s->args->arguments[0];
  tarn_catalog *catalog;
  cli_text schema = {0};
  tarn_error err;
  char what[300];
  tarn_status st = read_schema(s, &schema, &err);
  if (st == TARN_OK) {
    st = cli_session_catalog(s, &catalog, &err);
  }
  if (st == TARN_OK) {
    st = need_default_database(catalog, name, &err);
  }
  if (st == TARN_OK) {
    st = tarn_table_create(catalog, name, schema.data, &err);
  }
  cli_text_reset(&schema);
  (void)snprintf(what, sizeof(what), "created the table %.200s", name);
  return done(s, st, &err, what);
}

int cli_run_rename_table(cli_session *s) {
  const char *from = s->args->arguments[0], *to = s->args->arguments[1];
  const char *dot = strchr(from, '.');
  tarn_catalog *catalog;
  cli_text full = {0};
  tarn_error err;
  char what[500];
  tarn_status st;
  if (strchr(to, '.') == NULL && dot != NULL) {
    cli_text_add(&full, from, (size_t)(dot - from) + 1);
  }
  cli_text_puts(&full, to);
  cli_text_char(&full, '\0');
  st = full.is_broken ? cli_no_memory(&err) : cli_session_catalog(s, &catalog, &err);
  if (st == TARN_OK) {
    st = tarn_table_rename(catalog, from, full.data, &err);
  }
  (void)snprintf(what, sizeof(what), "renamed the table %.200s to %.200s", from,
                 full.data != NULL ? full.data : to);
  cli_text_reset(&full);
  return done(s, st, &err, what);
}

int cli_run_drop_table(cli_session *s) {
  const char *name = s->args->arguments[0];
  tarn_catalog *catalog = NULL;
  tarn_table *table = NULL;
  bool is_to_go = true;
  tarn_error err;
  char what[300];
  tarn_status st = cli_session_catalog(s, &catalog, &err);
  if (st == TARN_OK && cli_args_has(s->args, OPT_DRY_RUN)) { /* is there one? */
    st = tarn_table_open(s->env, catalog, name, NULL, 0, &table, &err);
    st = st == TARN_OK ? cli_dry_run_whole(s, table, &err) : st;
  }
  tarn_table_free(table);
  if (st == TARN_OK) {
    st = cli_change_ask(s, &is_to_go, &err, "drop the table %.200s with all its files", name);
  }
  if (st == TARN_OK && is_to_go) {
    st = tarn_table_drop(catalog, name, &err);
  }
  if (st == TARN_OK && !is_to_go) {
    return CLI_EXIT_OK;
  }
  (void)snprintf(what, sizeof(what), "dropped the table %.200s", name);
  return done(s, st, &err, what);
}
