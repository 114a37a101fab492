/* json_rows.h - one row from a JSON object, in the encoding of cell.h.
 *
 * Members may come in any order; columns that are not among them are null. Besides that encoding a
 * MAP whose keys are texts may be an object, and a VARIANT the JSON text alone. Members that are no
 * columns, members that come twice, values of another type, and numbers that do not fit are
 * refused. Depth is bounded by that of the columns' types.
 */
#ifndef CLI_JSON_ROWS_H
#define CLI_JSON_ROWS_H

#include "columns.h"

/* A member that table tail prints with each row; where no column has its name it is passed over. */
#define CLI_SNAPSHOT_NAME "_snapshot"

/* What is wrong with a row, and where. */
typedef struct cli_row_fault {
  size_t at; /* bytes from the start of the text */
  char message[700];
  bool ends_all; /* it is no fault of this row alone: none may be left out for it */
} cli_row_fault;

/* Add one row, or one value.
 *
 * text      n bytes; the byte behind them must be readable and a control character (a line break
 *           or NUL)
 * scratch   kept by the caller from row to row
 * Returns false for a bad row; the caller takes back what was added of it.
 */
bool cli_json_row(cli_columns *columns, const char *text, size_t n, cli_text *scratch,
                  cli_row_fault *fault);
bool cli_json_value(cli_columns *columns, cli_column *column, const char *text, size_t n,
                    cli_text *scratch, cli_row_fault *fault);

/* "column 'a' of type INT: expected ..., found ..." from columns->expected; at the place `at` of
 * the text. Returns false. */
bool cli_row_refuse(const cli_columns *columns, const cli_column *column, const char *text,
                    size_t n, size_t at, cli_row_fault *fault);
/* The same of a row that ended without a value for the column. */
bool cli_row_misses(const cli_column *column, size_t at, cli_row_fault *fault);
/* "there is no column 'x'; did you mean 'y'?" */
void cli_row_unknown(const cli_columns *columns, const cli_column *row, const char *name, size_t n,
                     char *out, size_t size);

#endif
