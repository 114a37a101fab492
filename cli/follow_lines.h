/* follow_lines.h - how a source and a sink in two programs agree where they stand.
 *
 * Between its rows (JSON lines alone) the source puts lines:
 *
 *   {"_checkpoint":{"id":0,"rows":N,"stream":"X"}}       first: the next row is row N of stream X
 *   {"_checkpoint":{"id":I,"rows":N,"state":"BASE64"}}   whoever has the N rows before it may start
 *                                                        the source again from this state
 *
 * A stream is what one source gives from its beginning on, over all its runs; its name is any text
 * of up to 63 bytes without control characters, quotes and backslashes, or is left out. The first
 * line of `table tail --state s` has "source":"/path/of/s", too: the sink is to tell there that it
 * keeps the place; and "next_snapshot":N where the stream begins at a place that s held before.
 *
 * `table write --state t` keeps the last state, and how many rows it has taken (which may be more),
 * together with what it has prepared: one file, replaced at once.
 *
 *   {"tarn_follow":1,"rows":M,"checkpoint":{...}}\n   then the bytes of tarn_sink_save(), which
 * hold that line once more
 *
 * The source reads it, and never writes it: `tail --checkpoints --state t` is given its name;
 * `tail --state s` finds it in s, as the sink has written it there:
 *
 *   {"tarn_kept_by":"t","stream":"X","start":"BASE64"}\n   start: what s held before; or left out
 *
 * A name without a slash is one in the folder of s.
 */
#ifndef CLI_FOLLOW_LINES_H
#define CLI_FOLLOW_LINES_H

#include "tarn/error.h"
#include "text.h"

#define CLI_CHECKPOINT_BEGIN "{\"_checkpoint\":"
#define CLI_STREAM_SIZE 64

typedef struct cli_checkpoint {
  int64_t id, rows;
  cli_text state;               /* bytes; empty: none */
  char stream[CLI_STREAM_SIZE]; /* "": not told */
  cli_text source;              /* path, NUL-terminated behind its end; empty: none */
  int64_t next; /* first snapshot of a stream that begins at a place held before; 0: none */
} cli_checkpoint;

void cli_checkpoint_reset(cli_checkpoint *checkpoint);
/* The line, with a line break. */
void cli_checkpoint_put(cli_text *out, const cli_checkpoint *checkpoint);
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
bool cli_follow_file_is(const cli_text *bytes); /* such a file, by its beginning */

/* A state file of a source whose place a sink keeps. */
typedef struct cli_follow_link {
  cli_text sink; /* path of the sink's file, NUL-terminated behind its end */
  char stream[CLI_STREAM_SIZE];
  cli_text start; /* what a source begins with while the sink has no state of it; empty: nothing */
} cli_follow_link;

void cli_follow_link_reset(cli_follow_link *link);
bool cli_follow_link_is(const cli_text *bytes); /* such a file, by its beginning */
/* path: of the file, to which names in it belong. Errors: TARN_E_CORRUPT, TARN_E_NOMEM. */
tarn_status cli_follow_link_parse(const char *path, const cli_text *bytes, cli_follow_link *out,
                                  tarn_error *err);
/* path: of the file that it goes into. */
void cli_follow_link_put(cli_text *out, const char *path, const cli_follow_link *link);

/* The path from the root, NUL-terminated behind its end. Errors: TARN_E_IO, TARN_E_NOMEM,
 * TARN_E_INVALID (no UTF-8, which lines cannot tell). */
tarn_status cli_follow_whole_path(const char *path, cli_text *out, tarn_error *err);

#endif
