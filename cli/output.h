/* output.h - standard output: whole rows in large writes.
 *
 * What is printed gathers in `pending` and leaves in writes of some 64 KiB that end at the end of a
 * row. What has not left when a command fails is dropped: a refusal prints no rows.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "text.h"

#define CLI_OUTPUT_CHUNK ((size_t)64 << 10)

typedef enum cli_output_state {
  CLI_OUTPUT_FINE = 0,
  CLI_OUTPUT_CLOSED,      /* the reader of the pipe went away */
  CLI_OUTPUT_INTERRUPTED, /* by a signal, while a write waited */
  CLI_OUTPUT_FAILED       /* os_errno tells how; 0: out of memory */
} cli_output_state;

typedef struct cli_output {
  cli_text pending;
  size_t n_early; /* bytes in front of what is pending that have been written before their time */
  int fd;
  bool is_terminal;
  int os_errno;
  cli_output_state state;          /* once not FINE, it stays so and nothing is written */
  void (*before_write)(void *ctx); /* NULL, or called before each write (it clears the progress) */
  void *before_write_ctx;
} cli_output;

void cli_output_init(cli_output *out, int fd);
void cli_output_reset(cli_output *out);

/* Write all that is pending; false: look at `state`. */
bool cli_output_flush(cli_output *out);
/* Call after each row: writes when enough is pending. */
static inline bool cli_output_row(cli_output *out) {
  return out->pending.len < CLI_OUTPUT_CHUNK && !out->pending.is_broken &&
                 out->state == CLI_OUTPUT_FINE
             ? true
             : cli_output_flush(out);
}
/* Drop what is pending. */
void cli_output_drop(cli_output *out);

#endif
