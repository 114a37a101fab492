/* output.c - standard output: whole rows in large writes. */
#include "output.h"

#include <errno.h>
#include <unistd.h>

#include "signals.h"

void cli_output_init(cli_output *out, int fd) {
  memset(out, 0, sizeof(*out));
  out->fd = fd;
  out->is_terminal = isatty(fd) == 1;
}

void cli_output_reset(cli_output *out) {
  cli_text_reset(&out->pending);
}

void cli_output_drop(cli_output *out) {
  out->pending.len = 0;
}

static void note_error(cli_output *out, int number) {
  out->state = number == EPIPE ? CLI_OUTPUT_CLOSED : CLI_OUTPUT_FAILED;
  out->os_errno = number;
}

bool cli_output_flush(cli_output *out) {
  size_t n_early = out->n_early < out->pending.len ? out->n_early : out->pending.len;
  const char *at = out->pending.data != NULL ? out->pending.data + n_early : NULL;
  size_t left = out->pending.len - n_early;
  out->n_early -= n_early;
  if (out->state == CLI_OUTPUT_FINE && out->pending.is_broken) {
    note_error(out, 0);
  }
  if (left > 0 && out->state == CLI_OUTPUT_FINE && out->before_write != NULL) {
    out->before_write(out->before_write_ctx);
  }
  while (left > 0 && out->state == CLI_OUTPUT_FINE) {
    ssize_t n;
    if (cli_signals_interrupted()) { /* begin no write that may wait */
      out->state = CLI_OUTPUT_INTERRUPTED;
      break;
    }
    n = write(out->fd, at, left);
    if (n >= 0) { /* all, or what was written when a signal came */
      at += n;
      left -= (size_t)n;
    } else if (errno != EINTR) {
      note_error(out, errno);
    }
  }
  out->pending.len = 0;
  return out->state == CLI_OUTPUT_FINE;
}
