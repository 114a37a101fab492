/* progress.h - rows so far and their rate, on a terminal; gone at the end. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cli_progress {
  bool is_on;
  bool is_shown;
  int64_t start_ms, shown_ms;
} cli_progress;

/* is_wanted: the user did not ask for quiet. It is on when standard error is a terminal. */
void cli_progress_start(cli_progress *progress, bool is_wanted);
/* Shown at most five times a second, and not in the first half second. */
void cli_progress_update(cli_progress *progress, int64_t n_rows);
/* The same for a job of units: how many of how many are done, and bytes that were read. */
void cli_progress_units(cli_progress *progress, int64_t n_done, int64_t n_units, int64_t n_bytes);
/* Take it off the line; ctx: a cli_progress. */
void cli_progress_clear(void *ctx);

#endif
