/* scan.h - what to read, from the options of read, explain and the lists. */
#ifndef CLI_SCAN_H
#define CLI_SCAN_H

#include "session.h"

typedef struct cli_scan {
  tarn_table *table;
  tarn_predicate *predicate; /* NULL: all rows */
  tarn_scan *scan;
  int64_t limit;      /* negative: all */
  bool has_own_limit; /* the limit is the terminal's, not the user's */
  bool has_kind;
} cli_scan;

typedef enum cli_scan_use {
  CLI_SCAN_ROWS,  /* rows are printed */
  CLI_SCAN_COUNT, /* rows are counted: no columns */
  CLI_SCAN_PLAN   /* only planned */
} cli_scan_use;

/* Open table, filter and scan.
 *
 * system   a system table of the table of the command line, or NULL
 * out      cli_scan_close(), on failure too
 * Returns 0, or the exit code after the error was printed.
 */
int cli_scan_open(cli_session *session, const char *system, cli_scan_use use, cli_scan *out);
void cli_scan_close(cli_scan *scan);

/* The names of --select. */
typedef struct cli_name_list {
  char *text;         /* owned: the names, NUL-terminated */
  const char **names; /* owned */
  size_t count;
} cli_name_list;

/* Names between commas; in "" or `` a name may hold commas and blanks at its ends. out:
 * cli_names_free(), on failure too. Errors: TARN_E_INVALID: usage. */
tarn_status cli_names_split(const char *text, cli_name_list *out, tarn_error *err);
void cli_names_free(cli_name_list *list);

/* --snapshot, --tag, --as-of as options of the table. Errors: TARN_E_INVALID: usage. */
tarn_status cli_scan_travel(cli_args *args, tarn_error *err);

#endif
