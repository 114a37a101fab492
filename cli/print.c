/* print.c - what commands print: rows of a stream, facts, names. */
#include <stdlib.h>

#include "change.h"
#include "json.h"
#include "nanoarrow/nanoarrow.h"
#include "session.h"
#include "signals.h"

cli_row_style cli_session_style(const cli_session *s, bool has_kind) {
  cli_row_style style = {0};
  style.format = s->format;
  style.has_kind = has_kind;
  style.has_header = !cli_args_has(s->args, OPT_NO_HEADER);
  style.null_text = s->args->values[OPT_NULL];
  style.has_colors = s->has_colors;
  style.max_width = s->max_width;
  style.first_columns = s->first_columns;
  style.options = s->args->table_options;
  style.n_options = s->args->n_table_options;
  return style;
}

int32_t cli_session_times(const cli_session *s) {
  return s->format != CLI_FORMAT_ARROW ? 2 : 0;
}

/* The failure of a stream: its own words. */
static tarn_status stream_failure(struct ArrowArrayStream *stream, tarn_error *err) {
  tarn_status st = tarn_stream_error(stream, err);
  if (st == TARN_OK) {
    st = err->status = TARN_E_INTERNAL;
  }
  return st;
}

static tarn_status print_batches(cli_session *s, struct ArrowArrayStream *stream, cli_rows *rows,
                                 int64_t *n_rows, tarn_error *err) {
  for (;;) {
    struct ArrowArray batch = {0};
    tarn_status st;
    if (stream->get_next(stream, &batch) != 0) {
      return stream_failure(stream, err);
    }
    if (batch.release == NULL) {
      return cli_rows_end(rows, err);
    }
    st = cli_rows_add(rows, &batch, err);
    *n_rows += batch.length;
    batch.release(&batch);
    if (st == TARN_OK && cli_signals_interrupted()) {
      st = err->status = TARN_E_CANCELLED;
    }
    if (st != TARN_OK) {
      return st;
    }
    cli_progress_update(&s->progress, *n_rows);
  }
}

int cli_print_stream(cli_session *s, struct ArrowArrayStream *stream, bool has_kind,
                     int64_t *n_rows) {
  const cli_row_style style = cli_session_style(s, has_kind);
  struct ArrowSchema schema = {0};
  cli_rows *rows = NULL;
  tarn_error err = {TARN_OK, 0, ""};
  tarn_status st;
  *n_rows = 0;
  st = stream->get_schema(stream, &schema) != 0
           ? stream_failure(stream, &err)
           : cli_rows_begin(s->env, &schema, &style, &s->output, &rows, &err);
  if (st == TARN_OK) {
    st = print_batches(s, stream, rows, n_rows, &err);
  }
  if (st == TARN_OK && cli_rows_hidden(rows) > 0) {
    cli_report_note(&s->report,
                    "%zu more column%s: -f jsonl shows all, --select those that it names",
                    cli_rows_hidden(rows), cli_s((int64_t)cli_rows_hidden(rows)));
  }
  cli_rows_free(rows);
  stream->release(stream);
  cli_progress_clear(&s->progress);
  return st == TARN_OK ? CLI_EXIT_OK : cli_fail(s, &err);
}

int cli_print_facts(cli_session *s, const char *text, size_t n) {
  cli_json json;
  if (s->format == CLI_FORMAT_TABLE && cli_json_parse(text, n, &json)) {
    cli_json_outline(&json, 0, s->max_width, s->has_colors, &s->output.pending);
    cli_json_reset(&json);
  } else {
    cli_text_add(&s->output.pending, text, n);
    cli_text_char(&s->output.pending, '\n');
  }
  return cli_finish(s);
}

/* ------------------------------------------------------------------ names */

static int make_schema(struct ArrowSchema *schema, const char *column) {
  int code;
  ArrowSchemaInit(schema);
  code = ArrowSchemaSetTypeStruct(schema, 1);
  if (code == NANOARROW_OK) {
    code = ArrowSchemaSetType(schema->children[0], NANOARROW_TYPE_STRING);
  }
  return code == NANOARROW_OK ? ArrowSchemaSetName(schema->children[0], column) : code;
}

static int make_array(struct ArrowArray *array, const struct ArrowSchema *schema,
                      const tarn_names *names) {
  int code = ArrowArrayInitFromSchema(array, schema, NULL);
  if (code == NANOARROW_OK) {
    code = ArrowArrayStartAppending(array);
  }
  for (size_t i = 0; i < names->count && code == NANOARROW_OK; i++) {
    code = ArrowArrayAppendString(array->children[0], ArrowCharView(names->items[i]));
    if (code == NANOARROW_OK) {
      code = ArrowArrayFinishElement(array);
    }
  }
  return code == NANOARROW_OK ? ArrowArrayFinishBuildingDefault(array, NULL) : code;
}

int cli_print_names(cli_session *s, const char *column, const tarn_names *names) {
  const cli_row_style style = cli_session_style(s, false);
  struct ArrowSchema schema = {0};
  struct ArrowArray array = {0};
  cli_rows *rows = NULL;
  tarn_error err = {TARN_E_NOMEM, 0, "out of memory"};
  tarn_status st = TARN_E_NOMEM;
  if (make_schema(&schema, column) == NANOARROW_OK &&
      make_array(&array, &schema, names) == NANOARROW_OK) {
    st = cli_rows_begin(s->env, &schema, &style, &s->output, &rows, &err);
    if (st == TARN_OK && names->count > 0) {
      st = cli_rows_add(rows, &array, &err);
    }
    if (st == TARN_OK) {
      st = cli_rows_end(rows, &err);
    }
  }
  cli_rows_free(rows);
  if (array.release != NULL) {
    array.release(&array);
  }
  if (schema.release != NULL) {
    schema.release(&schema);
  }
  return st == TARN_OK ? CLI_EXIT_OK : cli_fail(s, &err);
}
