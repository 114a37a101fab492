/* rows.h - rows printed in one of the formats.
 *
 *   cli_rows_begin(...); cli_rows_add() for each batch; cli_rows_end(); cli_rows_free()
 *
 * Rows leave through an output, whose state tells more when a call fails: TARN_E_CANCELLED when the
 * reader went away or the program was interrupted, TARN_E_IO when a write failed.
 */
#ifndef CLI_ROWS_H
#define CLI_ROWS_H

#include "cell.h"
#include "output.h"

typedef enum cli_format {
  CLI_FORMAT_TABLE,
  CLI_FORMAT_JSONL,
  CLI_FORMAT_JSON,
  CLI_FORMAT_CSV,
  CLI_FORMAT_ARROW,
  CLI_FORMAT_PARQUET,
  CLI_FORMAT_DEBEZIUM, /* of a stream alone: the row kind, the snapshot, columns */
  CLI_FORMAT_CANAL
} cli_format;

typedef struct cli_row_style {
  cli_format format;
  bool has_kind;         /* the first column is the row kind */
  bool has_header;       /* csv, table */
  const char *null_text; /* csv, table; NULL: the format's own */
  bool has_colors;       /* table */
  size_t max_width;      /* of a line of a table; 0: any */
  /* table: columns that lines which are too narrow for all have first, the most important one in
   * front; NULL-terminated. NULL: they have all, and rows stand where that is too much. */
  const char *const *first_columns;
  const tarn_option *options; /* of the table; parquet obeys those that tell how to write files */
  size_t n_options;
  const char *facts; /* debezium, canal: what tarn_table_describe() tells; borrowed to begin */
  size_t n_facts;
} cli_row_style;

typedef struct cli_rows cli_rows;

/* schema: taken, on failure too. out: cli_rows_free(). */
tarn_status cli_rows_begin(tarn_env *env, struct ArrowSchema *schema, const cli_row_style *style,
                           cli_output *output, cli_rows **out, tarn_error *err);
tarn_status cli_rows_add(cli_rows *rows, const struct ArrowArray *batch, tarn_error *err);
tarn_status cli_rows_end(cli_rows *rows, tarn_error *err);
void cli_rows_free(cli_rows *rows);

/* For debezium and canal: when the rows that come were made, in ms since 1970; negative: not known.
 */
void cli_rows_tell_time(cli_rows *rows, int64_t made_ms);
/* Does a row wait for the one behind it, to be printed with it? cli_rows_end() prints it, and may
 * be called again and again. */
bool cli_rows_wait(const cli_rows *rows);
/* Columns of a table that a narrow terminal has no room for. */
size_t cli_rows_hidden(const cli_rows *rows);
/* Rows printed, or records of a feed. */
int64_t cli_rows_count(const cli_rows *rows);

/* The output's state as a status. */
tarn_status cli_output_status(const cli_output *output, tarn_error *err);

#endif
