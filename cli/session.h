/* session.h - what the verbs share: arguments, environment, warehouse, output, and how errors end.
 *
 * One session a run. Everything in it is made on demand and freed at the end.
 */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "args.h"
#include "config.h"
#include "output.h"
#include "progress.h"
#include "report.h"
#include "rows.h"
#include "tarn/tarn.h"

struct cli_session {
  cli_args *args;
  cli_report report;
  cli_output output;
  cli_format format;
  bool has_colors;
  size_t max_width;                 /* of a line on standard output; 0: it is no terminal */
  const char *const *first_columns; /* as cli_row_style has them */
  cli_progress progress;
  tarn_env *env;
  tarn_cancel *cancel;
  tarn_catalog *catalog; /* NULL until it is needed */
  cli_config config;     /* its warehouse is NULL until then */
};

/* Settings from the arguments; makes the environment. Errors: TARN_E_INVALID: usage. */
tarn_status cli_session_start(cli_session *session, cli_args *args, tarn_error *err);
void cli_session_stop(cli_session *session);

/* Print an error and give its exit code: of its status, or of a usage error (cli_usage). */
int cli_fail(cli_session *session, const tarn_error *err);
/* The same for what the library says about a mistake on the command line. */
int cli_fail_usage(cli_session *session, const tarn_error *err);
/* Write what is pending and end well. */
int cli_finish(cli_session *session);

/* The warehouse, from option, environment or configuration; *out is borrowed from the session.
 * Errors: TARN_E_INVALID (none is given), TARN_E_NOT_FOUND (no such configuration file),
 * TARN_E_UNSUPPORTED (another metastore, by name). */
tarn_status cli_session_catalog(cli_session *session, tarn_catalog **out, tarn_error *err);

/* Open the table of the first argument with the options of the command line. system: the name of
 * one of its system tables, or NULL. A path needs no warehouse. */
tarn_status cli_session_table(cli_session *session, const char *system, tarn_table **out,
                              tarn_error *err);

/* What a command can print besides rows: JSON or text. Others are a usage error. */
tarn_status cli_session_needs_text(const cli_session *session, tarn_error *err);

/* How scans give TIMESTAMP(7-9): text has every value, Arrow and Parquet are as others read them.
 */
int32_t cli_session_times(const cli_session *session);
/* How rows are printed. */
cli_row_style cli_session_style(const cli_session *session, bool has_kind);
/* Print a stream's rows, then finish. Takes the stream. has_kind: as cli_row_style. */
int cli_print_stream(cli_session *session, struct ArrowArrayStream *stream, bool has_kind,
                     int64_t *n_rows);
/* Print a JSON object: as it is, or as an outline for people. */
int cli_print_facts(cli_session *session, const char *json, size_t n);
/* Print names as rows of one column. */
int cli_print_names(cli_session *session, const char *column, const tarn_names *names);

#endif
