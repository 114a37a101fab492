/* rows.c - rows printed in one of the formats: a table of formats, each with three functions. */
#include "rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "changes.h"
#include "errors.h"
#include "grid.h"
#include "nanoarrow/nanoarrow_ipc.h"
#include "tarn/parquet.h"

#define TABLE_PIECE_ROWS 1000 /* whose widths are found before they are shown */

typedef struct row_format {
  tarn_status (*begin)(cli_rows *rows, tarn_error *err);
  tarn_status (*add)(cli_rows *rows, const struct ArrowArray *batch, tarn_error *err);
  tarn_status (*end)(cli_rows *rows, tarn_error *err);
} row_format;

struct cli_rows {
  const row_format *format;
  cli_row_style style;
  cli_cells *cells;
  cli_output *output;
  cli_text *text; /* the output's pending text */
  int64_t n_rows;
  cli_grid grid;    /* table */
  cli_text scratch; /* a cell of csv or table */
  struct ArrowIpcWriter ipc;
  struct ArrowArrayView view;
  tarn_parquet_writer *parquet;
  cli_changes *changes;
  int64_t made_ms;
};

tarn_status cli_output_status(const cli_output *output, tarn_error *err) {
  switch (output->state) {
    case CLI_OUTPUT_FINE:
      return TARN_OK;
    case CLI_OUTPUT_FAILED:
      return output->os_errno != 0
                 ? cli_error_errno(err, TARN_E_IO, "standard output", output->os_errno)
                 : cli_error(err, TARN_E_NOMEM, "standard output: out of memory");
    default:
      return cli_error(err, TARN_E_CANCELLED, "interrupted");
  }
}

/* After a row: errors of its values, and a write when there is enough. */
static tarn_status end_row(cli_rows *rows, tarn_error *err) {
  if (rows->cells->error.status != TARN_OK) {
    *err = rows->cells->error;
    return err->status;
  }
  return cli_output_row(rows->output) ? TARN_OK : cli_output_status(rows->output, err);
}

static tarn_status nothing(cli_rows *rows, tarn_error *err) {
  (void)rows;
  (void)err;
  return TARN_OK;
}

/* ------------------------------------------------------------------ jsonl and json */

static void add_object(cli_rows *rows, int64_t row) {
  cli_cell *root = &rows->cells->root;
  for (int32_t i = 0; i < root->n_children; i++) {
    cli_cell *cell = &root->children[i];
    cli_text_char(rows->text, i > 0 ? ',' : '{');
    cli_text_add(rows->text, cell->key.data, cell->key.len);
    cli_cell_json(cell, row, rows->text);
  }
  cli_text_puts(rows->text, root->n_children > 0 ? "}" : "{}");
}

static tarn_status jsonl_add(cli_rows *rows, const struct ArrowArray *batch, tarn_error *err) {
  tarn_status st = TARN_OK;
  for (int64_t i = 0; i < batch->length && st == TARN_OK; i++) {
    add_object(rows, batch->offset + i);
    cli_text_char(rows->text, '\n');
    st = end_row(rows, err);
  }
  return st;
}

static tarn_status json_add(cli_rows *rows, const struct ArrowArray *batch, tarn_error *err) {
  tarn_status st = TARN_OK;
  for (int64_t i = 0; i < batch->length && st == TARN_OK; i++) {
    cli_text_puts(rows->text, rows->n_rows + i > 0 ? ",\n" : "[\n");
    add_object(rows, batch->offset + i);
    st = end_row(rows, err);
  }
  return st;
}

static tarn_status json_end(cli_rows *rows, tarn_error *err) {
  (void)err;
  cli_text_puts(rows->text, rows->n_rows > 0 ? "\n]\n" : "[]\n");
  return TARN_OK;
}

/* ------------------------------------------------------------------ csv */

/* RFC 4180. Quoted, too: what could be taken for NULL, and blanks at the ends. */
static void add_csv(cli_rows *rows, const char *bytes, size_t n) {
  const char *null_text = rows->style.null_text;
  bool is_quoted = n == strlen(null_text) && (n == 0 || memcmp(bytes, null_text, n) == 0);
  for (size_t i = 0; i < n && !is_quoted; i++) {
    is_quoted = bytes[i] == ',' || bytes[i] == '"' || bytes[i] == '\n' || bytes[i] == '\r';
  }
  is_quoted = is_quoted || (n > 0 && (bytes[0] == ' ' || bytes[n - 1] == ' '));
  if (!is_quoted) {
    cli_text_add(rows->text, bytes, n);
    return;
  }
  cli_text_char(rows->text, '"');
  for (size_t i = 0; i < n; i++) {
    if (bytes[i] == '"') {
      cli_text_char(rows->text, '"');
    }
    cli_text_char(rows->text, bytes[i]);
  }
  cli_text_char(rows->text, '"');
}

static tarn_status csv_begin(cli_rows *rows, tarn_error *err) {
  const cli_cell *root = &rows->cells->root;
  (void)err;
  if (rows->style.null_text == NULL) {
    rows->style.null_text = "";
  }
  for (int32_t i = 0; i < root->n_children && rows->style.has_header; i++) {
    cli_text_puts(rows->text, i > 0 ? "," : "");
    add_csv(rows, root->children[i].name, strlen(root->children[i].name));
  }
  cli_text_puts(rows->text, rows->style.has_header ? "\n" : "");
  return TARN_OK;
}

static tarn_status csv_add(cli_rows *rows, const struct ArrowArray *batch, tarn_error *err) {
  cli_cell *root = &rows->cells->root;
  tarn_status st = TARN_OK;
  for (int64_t i = 0; i < batch->length && st == TARN_OK; i++) {
    for (int32_t j = 0; j < root->n_children; j++) {
      cli_cell *cell = &root->children[j];
      cli_text_puts(rows->text, j > 0 ? "," : "");
      if (cli_cell_is_null(cell, batch->offset + i)) {
        cli_text_puts(rows->text, rows->style.null_text);
      } else if (cell->is_number) { /* needs no quotes */
        cli_cell_plain(cell, batch->offset + i, rows->text);
      } else {
        rows->scratch.len = 0;
        cli_cell_plain(cell, batch->offset + i, &rows->scratch);
        rows->text->is_broken |= rows->scratch.is_broken;
        add_csv(rows, rows->scratch.data, rows->scratch.len);
      }
    }
    cli_text_char(rows->text, '\n');
    st = end_row(rows, err);
  }
  return st;
}

/* ------------------------------------------------------------------ table */

/* 0 is never left out. */
static uint32_t rank_of(const cli_rows *rows, int32_t column) {
  const char *const *first = rows->style.first_columns;
  uint32_t rank = 0;
  if (first == NULL) {
    return 0;
  }
  for (; first[rank] != NULL; rank++) {
    if (strcmp(first[rank], rows->cells->root.children[column].name) == 0) {
      return rank;
    }
  }
  return rank + 1 + (uint32_t)column;
}

static tarn_status table_begin(cli_rows *rows, tarn_error *err) {
  const cli_cell *root = &rows->cells->root;
  if (!cli_grid_init(&rows->grid, (size_t)root->n_children)) {
    return cli_no_memory(err);
  }
  if (rows->style.null_text == NULL) {
    rows->style.null_text = "NULL";
  }
  rows->grid.has_colors = rows->style.has_colors;
  rows->grid.max_width = rows->style.max_width;
  rows->grid.may_stand = true;
  for (int32_t i = 0; i < root->n_children; i++) {
    const cli_cell *cell = &root->children[i];
    rows->grid.columns[i].is_right = cell->is_number;
    rows->grid.columns[i].name = cell->name;
    rows->grid.columns[i].rank = rank_of(rows, i);
    if (rows->style.has_header) {
      cli_grid_add(&rows->grid, cell->name, strlen(cell->name), CLI_STYLE_HEADER);
    }
  }
  if (rows->style.has_header) {
    cli_grid_rule(&rows->grid);
  }
  return TARN_OK;
}

static tarn_status table_add(cli_rows *rows, const struct ArrowArray *batch, tarn_error *err) {
  cli_cell *root = &rows->cells->root;
  tarn_status st = TARN_OK;
  for (int64_t i = 0; i < batch->length && st == TARN_OK; i++) {
    for (int32_t j = 0; j < root->n_children; j++) {
      cli_cell *cell = &root->children[j];
      if (cli_cell_is_null(cell, batch->offset + i)) {
        cli_grid_add(&rows->grid, rows->style.null_text, strlen(rows->style.null_text),
                     CLI_STYLE_NULL);
        continue;
      }
      rows->scratch.len = 0;
      cli_cell_plain(cell, batch->offset + i, &rows->scratch);
      rows->text->is_broken |= rows->scratch.is_broken;
      cli_grid_add(&rows->grid, rows->scratch.data, rows->scratch.len, CLI_STYLE_PLAIN);
    }
    if ((rows->n_rows + i + 1) % TABLE_PIECE_ROWS == 0) {
      cli_grid_print(&rows->grid, rows->text);
    }
    st = end_row(rows, err);
  }
  return st;
}

static tarn_status table_end(cli_rows *rows, tarn_error *err) {
  (void)err;
  cli_grid_print(&rows->grid, rows->text);
  return TARN_OK;
}

/* ------------------------------------------------------------------ arrow */

static ArrowErrorCode ipc_write(struct ArrowIpcOutputStream *stream, const void *bytes, int64_t n,
                                int64_t *n_written, struct ArrowError *error) {
  (void)error;
  cli_text_add(stream->private_data, bytes, (size_t)n);
  *n_written = n;
  return NANOARROW_OK;
}

static void ipc_release(struct ArrowIpcOutputStream *stream) {
  stream->release = NULL;
}

static tarn_status ipc_check(int code, const struct ArrowError *why, tarn_error *err) {
  return code == NANOARROW_OK ? TARN_OK
         : code == ENOMEM     ? cli_no_memory(err)
                              : cli_error(err, TARN_E_INTERNAL, "Arrow stream: %s", why->message);
}

static tarn_status arrow_begin(cli_rows *rows, tarn_error *err) {
  struct ArrowIpcOutputStream stream = {ipc_write, ipc_release, rows->text};
  struct ArrowError why = {""};
  int code = ArrowIpcWriterInit(&rows->ipc, &stream);
  if (code == NANOARROW_OK) {
    code = ArrowIpcWriterWriteSchema(&rows->ipc, &rows->cells->schema, &why);
  }
  if (code == NANOARROW_OK) {
    code = ArrowArrayViewInitFromSchema(&rows->view, &rows->cells->schema, &why);
  }
  return ipc_check(code, &why, err);
}

static tarn_status arrow_add(cli_rows *rows, const struct ArrowArray *batch, tarn_error *err) {
  struct ArrowError why = {""};
  int code = ArrowArrayViewSetArray(&rows->view, batch, &why);
  tarn_status st;
  if (code == NANOARROW_OK) {
    code = ArrowIpcWriterWriteArrayView(&rows->ipc, &rows->view, &why);
  }
  st = ipc_check(code, &why, err);
  return st == TARN_OK ? end_row(rows, err) : st;
}

static tarn_status arrow_end(cli_rows *rows, tarn_error *err) {
  struct ArrowError why = {""};
  return ipc_check(ArrowIpcWriterWriteArrayView(&rows->ipc, NULL, &why), &why, err);
}

/* ------------------------------------------------------------------ parquet */

/* Bytes come a row group at a time; so much is not gathered once more. */
static int32_t parquet_bytes(void *ctx, const void *bytes, size_t n_bytes) {
  cli_output *output = ctx;
  cli_text_add(&output->pending, bytes, n_bytes);
  if (cli_output_row(output)) {
    return 0;
  }
  return output->os_errno != 0 ? output->os_errno : EIO; /* the output's state tells more */
}

static tarn_status parquet_check(const cli_rows *rows, tarn_status st, tarn_error *err) {
  return st == TARN_E_IO && rows->output->state != CLI_OUTPUT_FINE
             ? cli_output_status(rows->output, err)
             : st;
}

static bool is_of_files(const char *key) {
  return strncmp(key, "parquet.", 8) == 0 || strncmp(key, "file.compression", 16) == 0 ||
         strcmp(key, "file.block-size") == 0;
}

static tarn_status parquet_begin(cli_rows *rows, tarn_error *err) {
  const cli_row_style *style = &rows->style;
  tarn_option *options = calloc(style->n_options + 1, sizeof(*options));
  size_t n = 0;
  tarn_status st;
  if (options == NULL) {
    return cli_no_memory(err);
  }
  for (size_t i = 0; i < style->n_options; i++) {
    if (is_of_files(style->options[i].key)) {
      options[n++] = style->options[i];
    }
  }
  st = tarn_parquet_writer_create(rows->cells->env, &rows->cells->schema, options, n, parquet_bytes,
                                  rows->output, &rows->parquet, err);
  free(options);
  return parquet_check(rows, st, err);
}

static tarn_status parquet_add(cli_rows *rows, const struct ArrowArray *batch, tarn_error *err) {
  return parquet_check(rows, tarn_parquet_writer_write(rows->parquet, batch, err), err);
}

static tarn_status parquet_end(cli_rows *rows, tarn_error *err) {
  return parquet_check(rows, tarn_parquet_writer_finish(rows->parquet, err), err);
}

/* ------------------------------------------------------------------ debezium and canal */

static tarn_status changes_begin(cli_rows *rows, tarn_error *err) {
  return cli_changes_create(
      rows->cells,
      rows->style.format == CLI_FORMAT_CANAL ? CLI_CHANGES_CANAL : CLI_CHANGES_DEBEZIUM,
      rows->style.facts, rows->style.n_facts, &rows->changes, err);
}

static tarn_status changes_add(cli_rows *rows, const struct ArrowArray *batch, tarn_error *err) {
  tarn_status st = TARN_OK;
  cli_changes_begin(rows->changes, rows->made_ms);
  for (int64_t i = 0; i < batch->length && st == TARN_OK; i++) {
    cli_changes_add(rows->changes, batch->offset + i, rows->text);
    st = end_row(rows, err);
  }
  return st;
}

static tarn_status changes_end(cli_rows *rows, tarn_error *err) {
  cli_changes_end(rows->changes, rows->text);
  return end_row(rows, err);
}

/* ------------------------------------------------------------------ the formats */

static const row_format formats[] = {
    [CLI_FORMAT_TABLE] = {table_begin, table_add, table_end},
    [CLI_FORMAT_JSONL] = {nothing, jsonl_add, nothing},
    [CLI_FORMAT_JSON] = {nothing, json_add, json_end},
    [CLI_FORMAT_CSV] = {csv_begin, csv_add, nothing},
    [CLI_FORMAT_ARROW] = {arrow_begin, arrow_add, arrow_end},
    [CLI_FORMAT_PARQUET] = {parquet_begin, parquet_add, parquet_end},
    [CLI_FORMAT_DEBEZIUM] = {changes_begin, changes_add, changes_end},
    [CLI_FORMAT_CANAL] = {changes_begin, changes_add, changes_end},
};

tarn_status cli_rows_begin(tarn_env *env, struct ArrowSchema *schema, const cli_row_style *style,
                           cli_output *output, cli_rows **out, tarn_error *err) {
  cli_rows *rows = calloc(1, sizeof(*rows));
  tarn_status st;
  *out = NULL;
  if (rows == NULL) {
    schema->release(schema);
    return cli_no_memory(err);
  }
  rows->format = &formats[style->format];
  rows->style = *style;
  rows->output = output;
  rows->text = &output->pending;
  rows->made_ms = -1;
  st = cli_cells_create(env, schema, style->has_kind, &rows->cells, err);
  if (st == TARN_OK) {
    st = rows->format->begin(rows, err);
  }
  if (st != TARN_OK) {
    cli_rows_free(rows);
    return st;
  }
  *out = rows;
  return TARN_OK;
}

tarn_status cli_rows_add(cli_rows *rows, const struct ArrowArray *batch, tarn_error *err) {
  tarn_status st = cli_cells_bind(rows->cells, batch, err);
  if (st == TARN_OK) {
    st = rows->format->add(rows, batch, err);
  }
  if (st == TARN_OK) {
    rows->n_rows += batch->length;
  }
  return st;
}

tarn_status cli_rows_end(cli_rows *rows, tarn_error *err) {
  tarn_status st = rows->format->end(rows, err);
  return st != TARN_OK || cli_output_flush(rows->output) ? st
                                                         : cli_output_status(rows->output, err);
}

void cli_rows_tell_time(cli_rows *rows, int64_t made_ms) {
  rows->made_ms = made_ms;
}

bool cli_rows_wait(const cli_rows *rows) {
  return rows->changes != NULL && cli_changes_waits(rows->changes);
}

size_t cli_rows_hidden(const cli_rows *rows) {
  return rows->grid.n_hidden;
}

int64_t cli_rows_count(const cli_rows *rows) {
  return rows->changes != NULL ? cli_changes_count(rows->changes) : rows->n_rows;
}

void cli_rows_free(cli_rows *rows) {
  if (rows != NULL) {
    if (rows->ipc.private_data != NULL) {
      ArrowIpcWriterReset(&rows->ipc);
    }
    tarn_parquet_writer_free(rows->parquet);
    cli_changes_free(rows->changes);
    ArrowArrayViewReset(&rows->view);
    cli_grid_reset(&rows->grid);
    cli_text_reset(&rows->scratch);
    cli_cells_free(rows->cells);
    free(rows);
  }
}
