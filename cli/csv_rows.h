/* csv_rows.h - rows from CSV (RFC 4180), values in the plain text forms of cell.h.
 *
 * Fields may be quoted, quotes in them doubled, records may have several lines. A field that is not
 * quoted and equals the text of null is null; quoted it never is. Nested values are JSON.
 */
#ifndef CLI_CSV_ROWS_H
#define CLI_CSV_ROWS_H

#include "json_rows.h"

/* What is told of rows of table tail, which have the column CLI_SNAPSHOT_NAME. */
#define CLI_TAIL_ADVICE                                                    \
  "these are rows of 'table tail': a table takes them as --format jsonl, " \
  "given to both sides or to none of them"

typedef struct cli_csv_field {
  size_t at, n; /* within the quotes */
  bool is_quoted, has_quotes;
} cli_csv_field;

typedef struct cli_csv {
  cli_columns *columns;
  const char *null_text;
  cli_csv_field *fields; /* of the record; owned */
  size_t n_fields, capacity;
  cli_column **targets; /* of each field; NULL: the row kind; owned */
  size_t n_targets;
  cli_text scratch, json_scratch;
} cli_csv;

/* All zero but `columns` and `null_text` to begin with. */
void cli_csv_reset(cli_csv *csv);

typedef enum cli_csv_found {
  CLI_CSV_RECORD,
  CLI_CSV_MORE, /* the record is not whole */
  CLI_CSV_FAULT
} cli_csv_found;

/* Take the first record of a text apart. is_end: nothing comes behind the text, whose last byte is
 * followed by a line break. used: the record with its line break; of a fault the line. */
cli_csv_found cli_csv_split(cli_csv *csv, const char *text, size_t n, bool is_end, size_t *used,
                            cli_row_fault *fault);
/* Is the record an empty line? */
bool cli_csv_is_blank(const cli_csv *csv);

/* The record names the columns, or (NULL) they come in the table's order. */
bool cli_csv_header(cli_csv *csv, const char *text, cli_row_fault *fault);
bool cli_csv_no_header(cli_csv *csv);
/* Add the record as a row. */
bool cli_csv_row(cli_csv *csv, const char *text, cli_row_fault *fault);

#endif
