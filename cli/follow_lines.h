/* follow_lines.h - how a source and a sink in two programs agree where they stand.
 *
 * `table tail --checkpoints` puts lines between its rows (JSON lines alone):
 *
 *   {"_checkpoint":{"id":0,"rows":N}}                    first: the next row is row N of the stream
 *   {"_checkpoint":{"id":I,"rows":N,"state":"BASE64"}}   whoever has the N rows before it may start
 *                                                        the source again from this state
 *
 * `table write --state FILE` keeps the last of them, and how many rows it has taken (which may be
 * more), together with what it has prepared: one file, replaced at once. The source is given the
 * same file. It only reads it; rows that come again are counted off by the sink.
 *
 *   {"tarn_follow":1,"rows":M,"checkpoint":{...}}\n   then the bytes of tarn_sink_save(), which
 * hold that line once more
 */
#ifndef CLI_FOLLOW_LINES_H
#define CLI_FOLLOW_LINES_H

#include "tarn/error.h"
#include "text.h"

#define CLI_CHECKPOINT_BEGIN "{\"_checkpoint\":"

typedef struct cli_checkpoint {
  int64_t id, rows;
  cli_text state; /* bytes; empty: none */
} cli_checkpoint;

void cli_checkpoint_reset(cli_checkpoint *checkpoint);
/* The line, with a line break. */
void cli_checkpoint_put(cli_text *out, int64_t id, int64_t rows, const void *state, size_t n);
/* A line (or the object in it). Errors: TARN_E_INVALID, TARN_E_NOMEM. */
tarn_status cli_checkpoint_parse(const char *line, size_t n, cli_checkpoint *out, tarn_error *err);

/* A state file of a sink, taken apart. */
typedef struct cli_follow_file {
  bool is_there;
  int64_t rows;              /* taken */
  cli_checkpoint checkpoint; /* of the source */
  cli_text bytes;            /* the whole */
  size_t n_head;             /* of the first line, with its break; the sink's bytes are behind it */
} cli_follow_file;

void cli_follow_file_reset(cli_follow_file *file);
/* out: cli_follow_file_reset(), on failure too. Errors: TARN_E_CORRUPT (no such file), those of
 * cli_follow_state_read(). */
tarn_status cli_follow_file_read(const char *path, cli_follow_file *out, tarn_error *err);
/* Its first line. */
void cli_follow_head_put(cli_text *out, int64_t rows, const cli_checkpoint *checkpoint);

#endif
