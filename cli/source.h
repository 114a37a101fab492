/* source.h - text that is read in pieces: a file, or standard input.
 *
 * What is not consumed lies in one piece between `at` and `at + n`; the byte behind it is a line
 * break. One thread at a time.
 */
#ifndef CLI_SOURCE_H
#define CLI_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tarn/error.h"

#define CLI_SOURCE_MAX_RECORD ((size_t)256 << 20) /* of a line or record */

typedef struct cli_source {
  int fd;
  const char *name; /* for messages; borrowed */
  char *data;       /* owned */
  size_t begin, end, capacity;
  int64_t line; /* of what is not consumed, counted from 1 */
  bool is_end;  /* nothing comes behind what there is */
} cli_source;

/* path: NULL or "-" for standard input; borrowed. out: cli_source_close(), on failure too.
 * Errors: TARN_E_NOT_FOUND, TARN_E_IO (a folder, no permission), TARN_E_NOMEM. */
tarn_status cli_source_open(const char *path, cli_source *out, tarn_error *err);
void cli_source_close(cli_source *source);
/* Does this input begin anew in each run, as a file does? path: as of cli_source_open(). */
bool cli_source_replays(const char *path);

/* Before anything is read: who writes into this pipe can see from now on that its reader keeps the
 * place of the stream (cli_pipe_keeper()). Of something else than a pipe, nothing happens. */
void cli_source_hold(cli_source *source);
/* The process that reads the pipe and has told so; 0: nobody has; -1: somebody, who is not known by
 * a number. */
int64_t cli_pipe_keeper(int fd);
/* Does nobody read the pipe (or socket) any more? A write would tell, but there may be none. */
bool cli_pipe_is_closed(int fd);
/* Bytes in the pipe that nobody has read yet. */
int cli_pipe_unread(int fd);

static inline const char *cli_source_text(const cli_source *source) {
  return source->data + source->begin;
}
static inline size_t cli_source_left(const cli_source *source) {
  return source->end - source->begin;
}
/* Read more behind what there is, or learn that this is the end.
 *
 * wake_ms  by a monotonic clock; 0: wait as long as it takes
 * is_idle  the time came before anything else did
 * Errors: TARN_E_IO, TARN_E_LIMIT (a record that is too long), TARN_E_NOMEM, TARN_E_CANCELLED. */
tarn_status cli_source_fill(cli_source *source, int64_t wake_ms, bool *is_idle, tarn_error *err);
/* The first line, read if need be.
 *
 * n          its length, with the line break; 0: the time came first, or nothing is left
 * has_break  it ends with a line break; else the source has ended behind it
 * Errors: those of cli_source_fill(). */
tarn_status cli_source_find_line(cli_source *source, int64_t wake_ms, size_t *n, bool *has_break,
                                 tarn_error *err);
/* n bytes are done with. */
void cli_source_consume(cli_source *source, size_t n);

/* Line and column (in characters, from 1) of byte `at` of the text. */
void cli_source_place(const cli_source *source, size_t at, int64_t *line, int64_t *column);

int64_t cli_now_ms(void); /* monotonic */
/* What it will be after so long, as cli_source_fill() takes it; 0 for 0 or less: never. */
int64_t cli_wake_ms(int64_t after_ms);

#endif
