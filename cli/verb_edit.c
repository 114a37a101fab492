/* verb_edit.c - table delete and table update, in one commit. Rows of a primary-key table are read,
 * and written once more with another kind or other values; those of other tables are edited in
 * their files (tarn_edit).
 *
 * Which merge engines take deletes and updates: FlinkTableSink's supportsDelete and supportsUpdate
 * (org.apache.paimon.flink.sink). Others would keep the old rows, or add up the new ones.
 */
#include <stdio.h>
#include <stdlib.h>

#include "change.h"
#include "columns.h"
#include "json.h"
#include "nanoarrow/nanoarrow.h"
#include "nearest.h"
#include "scan.h"
#include "signals.h"
#include "wide_time.h"

#define KIND_NAME "_row_kind$" /* no column of the table */

enum { KIND_UPDATE_BEFORE = 1, KIND_UPDATE_AFTER = 2, KIND_DELETE = 3 };

/* One column=value of --set. */
typedef struct assignment {
  char *column, *value; /* value: the literal's text, or a column's name */
  bool is_column, is_null;
  int64_t target, source; /* children of the table's schema */
  int64_t literal;        /* the child of `literals` */
} assignment;

typedef struct edit_job {
  cli_session *session;
  cli_scan scan;
  struct ArrowSchema schema; /* of the rows that are read */
  struct ArrowArrayStream stream;
  tarn_writer *writer;
  tarn_edit *edit; /* instead of stream and writer, without primary key */
  tarn_committer *committer;
  assignment *assignments;
  size_t n_assignments;
  cli_columns *literals; /* NULL: none */
  bool writes_before;    /* -U goes in front of +U */
  bool has_primary_key;
  int64_t n_rows;
} edit_job;

/* ------------------------------------------------------------------ what the table allows */

static bool option_is(const cli_json *json, const char *key, const char *value) {
  size_t options = cli_json_find(json, 0, "options");
  char text[64] = "";
  if (options != SIZE_MAX) {
    cli_json_copy(json, options, key, text, sizeof(text));
  }
  return strcmp(text, value) == 0;
}

static bool is_engine(const cli_json *json, const char *engine) {
  return option_is(json, "merge-engine", engine) ||
         (strcmp(engine, "deduplicate") == 0 && option_is(json, "merge-engine", ""));
}

static tarn_status check_delete(const cli_json *json, const char *name, tarn_error *err) {
  static const char *const ignoring[] = {"ignore-delete", "deduplicate.ignore-delete",
                                         "partial-update.ignore-delete", "first-row.ignore-delete"};
  for (size_t i = 0; i < CLI_COUNT(ignoring); i++) {
    if (option_is(json, ignoring[i], "true")) {
      return cli_error(err, TARN_E_UNSUPPORTED, "%s ignores deletes (option %s)", name,
                       ignoring[i]);
    }
  }
  if (is_engine(json, "deduplicate") ||
      (is_engine(json, "partial-update") &&
       option_is(json, "partial-update.remove-record-on-delete", "true")) ||
      (is_engine(json, "aggregation") &&
       option_is(json, "aggregation.remove-record-on-delete", "true"))) {
    return TARN_OK;
  }
  return cli_error(
      err, TARN_E_UNSUPPORTED,
      "%s: its merge engine keeps rows that are deleted: only deduplicate removes them, and "
      "partial-update and aggregation with their option remove-record-on-delete",
      name);
}

static tarn_status check_update(const cli_json *json, const char *name, tarn_error *err) {
  return is_engine(json, "deduplicate") || is_engine(json, "partial-update")
             ? TARN_OK
             : cli_error(
                   err, TARN_E_UNSUPPORTED,
                   "%s: its merge engine cannot update rows: only deduplicate and partial-update "
                   "can",
                   name);
}

static tarn_status check_table(edit_job *job, tarn_error *err) {
  const cli_session *s = job->session;
  const char *name = s->args->arguments[0];
  bool is_delete = strcmp(s->args->verb->verb, "delete") == 0;
  tarn_string facts;
  cli_json json;
  size_t keys;
  tarn_status st = tarn_table_describe(job->scan.table, &facts, err);
  if (st != TARN_OK) {
    return st;
  }
  if (cli_json_parse(facts.data, facts.length, &json)) {
    keys = cli_json_find(&json, 0, "primary_keys");
    job->has_primary_key = keys != SIZE_MAX && cli_json_count(&json, keys) > 0;
    if (job->has_primary_key) {
      st = is_delete ? check_delete(&json, name, err) : check_update(&json, name, err);
    }
    job->writes_before = option_is(&json, "changelog-producer", "input");
    cli_json_reset(&json);
  }
  tarn_string_free(&facts);
  return st;
}

/* Keys and partitions stay what they are. */
static tarn_status check_targets(edit_job *job, tarn_error *err) {
  static const char *const fixed[] = {"primary_keys", "partition_keys"};
  tarn_string facts;
  cli_json json;
  tarn_status st = tarn_table_describe(job->scan.table, &facts, err);
  if (st != TARN_OK) {
    return st;
  }
  if (cli_json_parse(facts.data, facts.length, &json)) {
    for (size_t k = 0; k < CLI_COUNT(fixed) && st == TARN_OK; k++) {
      size_t list = cli_json_find(&json, 0, fixed[k]);
      for (size_t i = list != SIZE_MAX ? cli_json_first(&json, list) : SIZE_MAX;
           i != SIZE_MAX && i < json.nodes[list].after && st == TARN_OK; i = json.nodes[i].after) {
        cli_text name = {0};
        cli_json_text(&json, i, &name);
        cli_text_char(&name, '\0');
        for (size_t a = 0; a < job->n_assignments && !name.is_broken; a++) {
          if (strcmp(job->assignments[a].column, name.data) == 0) {
            st = cli_usage(err, "--set %s: columns of the %s key cannot be updated", name.data,
                           k == 0 ? "primary" : "partition");
          }
        }
        cli_text_reset(&name);
      }
    }
    cli_json_reset(&json);
  }
  tarn_string_free(&facts);
  return st;
}

/* ------------------------------------------------------------------ --set */

static const char *skip_blanks(const char *at) {
  return at + strspn(at, " \t\r\n");
}

/* 'text', "name" or `name` with doubled quotes; NULL: it is not closed. */
static char *take_quoted(const char **at) {
  char quote = *(*at)++, *out = malloc(strlen(*at) + 1), *to = out;
  while (out != NULL && **at != '\0' && (**at != quote || (*at)[1] == quote)) {
    *at += **at == quote;
    *to++ = *(*at)++;
  }
  if (out == NULL || **at != quote) {
    free(out);
    return NULL;
  }
  (*at)++;
  *to = '\0';
  return out;
}

static char *take_word(const char **at) {
  size_t n = strcspn(*at, " \t\r\n,='\"`()");
  char *out = strndup(*at, n);
  *at += n;
  return out;
}

static bool equals_word(const char *text, const char *word) {
  for (; *word != '\0'; text++, word++) {
    if ((*text & ~0x20) != *word) {
      return false;
    }
  }
  return *text == '\0';
}

/* A literal as in WHERE, or a column. */
static bool take_value(const char **at, assignment *a) {
  static const char *const typed[] = {"DATE", "TIME", "TIMESTAMP", "X"};
  *at = skip_blanks(*at);
  if (**at == '\'') {
    return (a->value = take_quoted(at)) != NULL;
  }
  if (**at == '"' || **at == '`') {
    a->is_column = true;
    return (a->value = take_quoted(at)) != NULL;
  }
  a->value = take_word(at);
  if (a->value == NULL || a->value[0] == '\0') {
    return false;
  }
  for (size_t i = 0; i < CLI_COUNT(typed); i++) {
    const char *behind = skip_blanks(*at);
    if (*behind == '\'' && equals_word(a->value, typed[i])) {
      free(a->value);
      *at = behind;
      return (a->value = take_quoted(at)) != NULL;
    }
  }
  a->is_null = equals_word(a->value, "NULL");
  if (equals_word(a->value, "TRUE") || equals_word(a->value, "FALSE")) {
    for (char *c = a->value; *c != '\0'; c++) {
      *c |= 0x20;
    }
  } else if (!a->is_null) {
    a->is_column = strchr("+-.0123456789", a->value[0]) == NULL;
  }
  return true;
}

static tarn_status parse_set(edit_job *job, tarn_error *err) {
  const char *text = job->session->args->values[OPT_SET], *at = text;
  if (text == NULL) {
    return cli_usage(err, "table update needs --set COLUMN=VALUE");
  }
  job->assignments = calloc(strlen(text) + 1, sizeof(*job->assignments));
  if (job->assignments == NULL) {
    return cli_no_memory(err);
  }
  for (;;) {
    assignment *a = &job->assignments[job->n_assignments++];
    at = skip_blanks(at);
    a->column = *at == '"' || *at == '`' ? take_quoted(&at) : take_word(&at);
    at = a->column != NULL ? skip_blanks(at) : at;
    if (a->column == NULL || a->column[0] == '\0' || *at++ != '=' || !take_value(&at, a) ||
        (*(at = skip_blanks(at)) != '\0' && *at != ',')) {
      return cli_usage(
          err,
          "--set '%.300s': expected COLUMN=VALUE with commas between, where a value is "
          "a literal as in WHERE, or a column",
          text);
    }
    if (*at++ == '\0') {
      return TARN_OK;
    }
  }
}

/* Can values of one column stand in the other? */
static bool is_convertible(const struct ArrowSchema *source, const struct ArrowSchema *target) {
  static const char integers[] = "csil"; /* 8, 16, 32 and 64 bits */
  const char *from = source->format, *to = target->format;
  const char *narrow = from[1] == '\0' ? strchr(integers, from[0]) : NULL;
  const char *wide = to[1] == '\0' ? strchr(integers, to[0]) : NULL;
  if (cli_wide_time_of(source) != cli_wide_time_of(target)) {
    return false;
  }
  return strcmp(from, to) == 0 || (narrow != NULL && wide != NULL && narrow <= wide);
}

static tarn_status find_column(const edit_job *job, const char *name, int64_t *out,
                               tarn_error *err) {
  cli_nearest nearest;
  cli_nearest_init(&nearest, name);
  for (int64_t i = 0; i < job->schema.n_children; i++) {
    if (strcmp(job->schema.children[i]->name, name) == 0) {
      *out = i;
      return TARN_OK;
    }
    cli_nearest_offer(&nearest, job->schema.children[i]->name);
  }
  return nearest.best != NULL ? cli_usage(err, "--set: there is no column '%s'; did you mean '%s'?",
                                          name, nearest.best)
                              : cli_usage(err, "--set: there is no column '%s'", name);
}

/* A batch of one row of all literals: does each fit its column? */
static tarn_status try_literals(edit_job *job, tarn_error *err) {
  cli_columns *c = job->literals;
  tarn_status st = cli_columns_begin(c, err);
  for (size_t i = 0; i < job->n_assignments && st == TARN_OK; i++) {
    const assignment *a = &job->assignments[i];
    cli_column *column = a->is_column ? NULL : &c->root.children[a->literal];
    if (column != NULL && !(a->is_null ? cli_add_null(c, column)
                                       : cli_add_text(c, column, a->value, strlen(a->value)))) {
      st = c->is_out_of_memory
               ? cli_no_memory(err)
               : cli_usage(err, "--set: column '%s' of type %.*s: expected %s, found %s", a->column,
                           (int)column->n_type, column->type, c->expected, a->value);
    }
  }
  return st;
}

/* Where the values come from; the columns of literals in a schema of their own. */
static tarn_status bind_set(edit_job *job, tarn_error *err) {
  struct ArrowSchema schema = {0};
  int64_t n = 0;
  tarn_status st = tarn_table_schema(job->scan.table, &schema, err);
  for (size_t i = 0; i < job->n_assignments && st == TARN_OK; i++) {
    assignment *a = &job->assignments[i];
    st = find_column(job, a->column, &a->target, err);
    for (size_t k = 0; k < i && st == TARN_OK; k++) {
      if (job->assignments[k].target == a->target) {
        st = cli_usage(err, "--set: the column '%s' comes twice", a->column);
      }
    }
    if (st == TARN_OK && a->is_column) {
      st = find_column(job, a->value, &a->source, err);
      if (st == TARN_OK &&
          !is_convertible(job->schema.children[a->source], job->schema.children[a->target])) {
        st = cli_usage(err, "--set %s=%s: the columns have different types", a->column, a->value);
      }
    } else if (st == TARN_OK) {
      for (int64_t k = n; k < schema.n_children; k++) {
        if (strcmp(schema.children[k]->name, a->column) == 0) {
          struct ArrowSchema *found = schema.children[k];
          schema.children[k] = schema.children[n];
          schema.children[n] = found;
        }
      }
      a->literal = n++;
    }
  }
  if (st == TARN_OK && n > 0) {
    st = cli_columns_create(job->session->env, &schema, (size_t)n, NULL, &job->literals, err);
    return st == TARN_OK ? try_literals(job, err) : st;
  }
  if (schema.release != NULL) {
    schema.release(&schema);
  }
  return st;
}

static tarn_status fill_literals(edit_job *job, int64_t n_rows, struct ArrowSchema *schema,
                                 struct ArrowArray *out, tarn_error *err) {
  cli_columns *c = job->literals;
  tarn_status st = cli_columns_begin(c, err);
  for (int64_t row = 0; row < n_rows && st == TARN_OK; row++) {
    cli_column *bad;
    for (size_t i = 0; i < job->n_assignments && st == TARN_OK; i++) {
      const assignment *a = &job->assignments[i];
      if (!a->is_column && !a->is_null &&
          !cli_add_text(c, &c->root.children[a->literal], a->value, strlen(a->value))) {
        st = cli_no_memory(err);
      }
    }
    if (st == TARN_OK && !cli_add_row_end(c, &c->root, &bad)) {
      st = cli_no_memory(err);
    }
  }
  return st == TARN_OK ? cli_columns_finish(c, schema, out, err) : st;
}

/* ------------------------------------------------------------------ rows */

static void keep_schema(struct ArrowSchema *schema) {
  schema->release = NULL;
}

static void keep_array(struct ArrowArray *array) {
  array->release = NULL;
}

/* The batch with a column of one kind behind it. Everything is borrowed: nothing is released. */
static tarn_status write_kind(edit_job *job, const struct ArrowSchema *schema,
                              const struct ArrowArray *array, int8_t kind, tarn_error *err) {
  int64_t n = schema->n_children, n_rows = array->offset + array->length;
  struct ArrowSchema kind_schema = {.format = "c", .name = KIND_NAME, .release = keep_schema};
  struct ArrowArray kinds = {.length = n_rows, .n_buffers = 2, .release = keep_array};
  struct ArrowSchema all_schema = *schema;
  struct ArrowArray all = *array;
  const void *buffers[2] = {NULL, NULL};
  int8_t *values = malloc((size_t)n_rows + 1);
  struct ArrowSchema **schemas = calloc((size_t)n + 1, sizeof(*schemas));
  struct ArrowArray **arrays = calloc((size_t)n + 1, sizeof(*arrays));
  tarn_status st = TARN_E_NOMEM;
  if (values == NULL || schemas == NULL || arrays == NULL) {
    st = cli_no_memory(err);
  } else {
    memset(values, kind, (size_t)n_rows);
    memcpy(schemas, schema->children, (size_t)n * sizeof(*schemas));
    memcpy(arrays, array->children, (size_t)n * sizeof(*arrays));
    schemas[n] = &kind_schema;
    arrays[n] = &kinds;
    buffers[1] = values;
    kinds.buffers = buffers;
    all_schema.children = schemas;
    all_schema.n_children = n + 1;
    all.children = arrays;
    all.n_children = n + 1;
    st = tarn_writer_write(job->writer, &all_schema, &all, err);
  }
  free(values);
  free(schemas);
  free(arrays);
  return st;
}

/* The batch with the new values. What comes from another column keeps that one's type. */
static tarn_status write_updated(edit_job *job, const struct ArrowArray *array, tarn_error *err) {
  size_t n = (size_t)array->n_children;
  struct ArrowSchema schema = job->schema;
  struct ArrowArray updated = *array, literals;
  struct ArrowSchema literal_schema;
  struct ArrowArray **arrays = calloc(n + 1, sizeof(*arrays));
  struct ArrowSchema **schemas = calloc(n + 1, sizeof(*schemas));
  struct ArrowSchema *renamed = calloc(job->n_assignments, sizeof(*renamed));
  tarn_status st =
      arrays != NULL && schemas != NULL && renamed != NULL ? TARN_OK : cli_no_memory(err);
  if (st == TARN_OK && job->literals != NULL) {
    st = fill_literals(job, array->offset + array->length, &literal_schema, &literals, err);
  }
  if (st == TARN_OK) {
    memcpy(arrays, array->children, n * sizeof(*arrays));
    memcpy(schemas, schema.children, n * sizeof(*schemas));
    for (size_t i = 0; i < job->n_assignments; i++) {
      const assignment *a = &job->assignments[i];
      if (a->is_column) {
        renamed[i] = *schema.children[a->source];
        renamed[i].name = schema.children[a->target]->name;
        schemas[a->target] = &renamed[i];
        arrays[a->target] = array->children[a->source];
      } else {
        schemas[a->target] = literal_schema.children[a->literal];
        arrays[a->target] = literals.children[a->literal];
      }
    }
    updated.children = arrays;
    schema.children = schemas;
    st = job->edit != NULL ? tarn_edit_replace(job->edit, &schema, &updated, err)
                           : write_kind(job, &schema, &updated, KIND_UPDATE_AFTER, err);
  }
  free(arrays);
  free(schemas);
  free(renamed);
  return st;
}

static tarn_status write_batch(edit_job *job, const struct ArrowArray *array, tarn_error *err) {
  tarn_status st = TARN_OK;
  if (job->assignments == NULL) {
    return write_kind(job, &job->schema, array, KIND_DELETE, err);
  }
  if (job->writes_before) {
    st = write_kind(job, &job->schema, array, KIND_UPDATE_BEFORE, err);
  }
  return st == TARN_OK ? write_updated(job, array, err) : st;
}

static tarn_status write_rows(edit_job *job, tarn_error *err) {
  tarn_status st = TARN_OK;
  while (st == TARN_OK) {
    struct ArrowArray batch = {0};
    if (job->stream.get_next(&job->stream, &batch) != 0) {
      return tarn_stream_error(&job->stream, err);
    }
    if (batch.release == NULL) {
      return TARN_OK;
    }
    if (batch.length > 0) {
      st = write_batch(job, &batch, err);
      job->n_rows += batch.length;
    }
    batch.release(&batch);
    cli_progress_update(&job->session->progress, job->n_rows);
  }
  return st;
}

/* Without primary key. */
static tarn_status edit_rows(edit_job *job, tarn_error *err) {
  bool is_update = job->assignments != NULL;
  int64_t n_rows;
  for (;;) {
    struct ArrowArray rows = {0};
    tarn_status st = tarn_edit_next(job->edit, is_update ? &rows : NULL, &n_rows, err);
    if (st == TARN_OK && n_rows > 0 && is_update) {
      st = write_updated(job, &rows, err);
    }
    if (rows.release != NULL) {
      rows.release(&rows);
    }
    if (st != TARN_OK || n_rows == 0) {
      return st;
    }
    job->n_rows += n_rows;
    cli_progress_update(&job->session->progress, job->n_rows);
  }
}

/* ------------------------------------------------------------------ the verbs */

static const char *spill_folder(void) {
  const char *folder = getenv("TMPDIR");
  return folder != NULL && *folder != '\0' ? folder : "/tmp";
}

static tarn_status open_edit(edit_job *job, tarn_error *err) {
  tarn_edit_options o = TARN_EDIT_OPTIONS_INIT;
  tarn_status st;
  o.predicate = job->scan.predicate;
  o.is_update = job->assignments != NULL;
  o.timestamp_ns_as_us = 2; /* as the scan, whose schema is that of the rows */
  o.commit_user = job->session->args->values[OPT_COMMIT_USER];
  o.spill_folder = spill_folder();
  o.cancel = job->session->cancel;
  st = tarn_edit_create(job->scan.table, &o, &job->edit, err);
  return st == TARN_OK ? cli_committer(job->session, job->scan.table,
                                       tarn_edit_commit_user(job->edit), &job->committer, err)
                       : st;
}

static tarn_status open_writer(edit_job *job, tarn_error *err) {
  tarn_writer_options o = TARN_WRITER_OPTIONS_INIT;
  tarn_status st;
  o.commit_user = job->session->args->values[OPT_COMMIT_USER];
  o.row_kind_name = KIND_NAME;
  o.spill_folder = spill_folder();
  o.cancel = job->session->cancel;
  o.waits_for_compaction = 1;
  o.skips_full_compaction = cli_args_has(job->session->args, OPT_COMMIT_ID);
  st = tarn_writer_create(job->scan.table, &o, &job->writer, err);
  return st == TARN_OK ? cli_committer(job->session, job->scan.table,
                                       tarn_writer_commit_user(job->writer), &job->committer, err)
                       : st;
}

static tarn_status commit_rows(edit_job *job, int64_t id, tarn_commit_result *result,
                               tarn_error *err) {
  tarn_messages *messages = NULL;
  bool has_id = id >= 0;
  tarn_status st;
  id = has_id ? id : TARN_BATCH_COMMIT;
  st = job->edit != NULL ? tarn_edit_prepare(job->edit, id, &messages, err)
                         : tarn_writer_prepare(job->writer, id, &messages, err);
  if (st == TARN_OK && cli_args_has(job->session->args, OPT_DRY_RUN)) {
    st = tarn_committer_abort(job->committer, messages, err);
  } else if (st == TARN_OK) {
    int64_t latest = cli_latest_snapshot(job->scan.table);
    st = has_id ? tarn_committer_recover(job->committer, id, messages, NULL, result, err)
                : tarn_committer_commit(job->committer, id, messages, NULL, result, err);
    if (st != TARN_OK) {
      cli_clean_up(job->session, job->scan.table, st, latest, job->committer, messages);
    }
  }
  tarn_messages_free(messages);
  return st;
}

static tarn_status prepare(edit_job *job, int64_t *id, tarn_error *err) {
  cli_session *s = job->session;
  bool is_update = strcmp(s->args->verb->verb, "update") == 0;
  tarn_status st = cli_args_number(s->args, OPT_COMMIT_ID, 0, INT64_MAX, id, err);
  if (st == TARN_OK) {
    st = check_table(job, err);
  }
  if (st == TARN_OK && is_update) {
    st = parse_set(job, err);
  }
  if (st == TARN_OK) {
    st = tarn_scan_schema(job->scan.scan, &job->schema, err);
  }
  if (st == TARN_OK && is_update) {
    st = bind_set(job, err);
  }
  if (st == TARN_OK && is_update && job->has_primary_key) {
    st = check_targets(job, err);
  }
  if (st == TARN_OK) {
    st = job->has_primary_key ? open_writer(job, err) : open_edit(job, err);
  }
  return st;
}

static void close_job(edit_job *job) {
  if (job->stream.release != NULL) {
    job->stream.release(&job->stream);
  }
  if (job->schema.release != NULL) {
    job->schema.release(&job->schema);
  }
  for (size_t i = 0; i < job->n_assignments; i++) {
    free(job->assignments[i].column);
    free(job->assignments[i].value);
  }
  free(job->assignments);
  cli_columns_free(job->literals);
  tarn_writer_free(job->writer);
  tarn_edit_free(job->edit);
  tarn_committer_free(job->committer);
  cli_scan_close(&job->scan);
}

static int edit(cli_session *s) {
  edit_job job = {.session = s};
  tarn_commit_result result = {sizeof(result), 0, 0, 0};
  const char *past = strcmp(s->args->verb->verb, "delete") == 0 ? "deleted" : "updated";
  bool is_dry_run = cli_args_has(s->args, OPT_DRY_RUN);
  int64_t id = -1;
  char json[100];
  tarn_error err;
  tarn_status st;
  int code = cli_scan_open(s, NULL, CLI_SCAN_PLAN, &job.scan);
  if (code != CLI_EXIT_OK) {
    cli_scan_close(&job.scan);
    return code;
  }
  st = prepare(&job, &id, &err);
  if (st == TARN_OK && job.edit == NULL) {
    st = tarn_scan_read(job.scan.scan, &job.stream, &err);
  }
  if (st == TARN_OK) {
    st = job.edit != NULL ? edit_rows(&job, &err) : write_rows(&job, &err);
  }
  if (st == TARN_OK && job.n_rows > 0) {
    st = commit_rows(&job, id, &result, &err);
  }
  cli_progress_clear(&s->progress);
  close_job(&job);
  if (st != TARN_OK) {
    return cli_fail(s, &err);
  }
  (void)snprintf(json, sizeof(json), "\"rows\":%lld,\"snapshot\":%lld", (long long)job.n_rows,
                 (long long)result.last_snapshot_id);
  if (is_dry_run || job.n_rows == 0) {
    cli_change_report(s, json, "%s%s %lld row%s", is_dry_run ? "would have " : "", past,
                      (long long)job.n_rows, cli_s(job.n_rows));
  } else {
    cli_change_report(s, json, "%s %lld row%s, snapshot %lld", past, (long long)job.n_rows,
                      cli_s(job.n_rows), (long long)result.last_snapshot_id);
  }
  return CLI_EXIT_OK;
}

int cli_run_delete(cli_session *s) {
  tarn_error err;
  if (!cli_args_has(s->args, OPT_WHERE)) {
    (void)cli_usage(&err,
                    "table delete needs --where SQL; 'tarn table truncate' takes all rows out");
    return cli_fail(s, &err);
  }
  return edit(s);
}

int cli_run_update(cli_session *s) {
  return edit(s);
}
