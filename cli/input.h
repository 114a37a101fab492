/* input.h - rows that are written into a table: JSON lines, CSV, an Arrow stream, a Parquet file.
 *
 * Batches are views that live until the next call. A row that cannot be taken is told by file, line
 * and column; then either all ends there, or the row is left out, or it is kept in a file.
 */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include "csv_rows.h"
#include "session.h"
#include "source.h"

typedef enum cli_input_format {
  CLI_INPUT_JSONL,
  CLI_INPUT_CSV,
  CLI_INPUT_ARROW,
  CLI_INPUT_FILE /* Parquet, Avro: what the library reads as a lone file */
} cli_input_format;

typedef struct cli_input cli_input;

typedef struct cli_batch {
  struct ArrowSchema schema; /* views: not to be released */
  struct ArrowArray array;
  int64_t n_rows;
  int64_t n_records; /* these, and texts between them that are no rows */
  bool is_end;       /* no rows come behind these */
  /* A line of checkpoints (follow_lines.h), with no rows; NULL: none. Lives as they do. */
  const char *checkpoint;
  size_t n_checkpoint;
} cli_batch;

/* What the input is, from --format, the name of the file, and what its columns and row kind are.
 *
 * columns    of rows in texts (struct); taken, on failure too. Only the first n_columns of them
 *            are wanted; 0: all
 * has_default  names of columns whose default stands where no value is given
 * kind_name  of the row kind; NULL: none; borrowed
 * out        cli_input_close(), also after a failure
 */
tarn_status cli_input_open(cli_session *session, struct ArrowSchema *columns, size_t n_columns,
                           const char *const *has_default, size_t n_has_default,
                           const char *kind_name, cli_input **out, tarn_error *err);
void cli_input_close(cli_input *input);

/* Lines of checkpoints are told apart from rows, and a last line that has no end is none: whoever
 * wrote it was stopped. Of jsonl. needs_checkpoints: rows of a tail without checkpoints are
 * refused, and the source can tell that its reader takes them (cli_source_hold()). */
void cli_input_follow(cli_input *input, bool needs_checkpoints);

/* The next rows: at most max_rows records, or fewer when the time comes first (source.h) or there
 * are enough bytes of them. */
tarn_status cli_input_next(cli_input *input, int64_t max_rows, int64_t wake_ms, cli_batch *out,
                           tarn_error *err);

/* Row i of the last batch was refused by the table, for the reason in err. With TARN_E_INVALID the
 * row is left out (or kept in the dead-letter file); every other status ends the run, and err tells
 * where the row stands. */
tarn_status cli_input_refused(cli_input *input, int64_t i, tarn_error *err);
/* Are bad rows left out? */
bool cli_input_goes_on(const cli_input *input);
/* Rows that were left out. */
int64_t cli_input_n_refused(const cli_input *input);

#endif
