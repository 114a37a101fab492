/* follow_feed.h - a source that hands its place on, for the sink behind its rows to keep.
 *
 * Invariants
 *   D1  Rows leave in the order that the last state given implies, however often the program
 *       starts: one reader, and what is planned is in the state. So rows have numbers.
 *   D2  A state goes out in a line behind all rows that it counts (follow_lines.h); nothing is kept
 *       here. The sink keeps it with what it has committed.
 *   D3  A consumer moves to what the sink's file holds, never further; and what --complete keeps of
 *       each key can go back to that.
 */
#ifndef CLI_FOLLOW_FEED_H
#define CLI_FOLLOW_FEED_H

#include "args.h"
#include "complete.h"
#include "follow_lines.h"
#include "tarn/stream.h"

/* A state that was given. */
typedef struct cli_feed_state {
  int64_t id, rows;
} cli_feed_state;

typedef struct cli_feed {
  cli_text source, sink;          /* paths of the state files; empty: none, not known */
  char name[CLI_STREAM_SIZE];     /* of the stream; "": it has none */
  bool has_consumer;              /* it moves one */
  bool is_read_only;              /* a consumer whose place is only read */
  bool has_given;                 /* a state, in this run */
  int64_t id;                     /* of the last state */
  int64_t given_rows, given_next; /* what it held */
  cli_feed_state *given;          /* for a consumer: by this run, not found with the sink yet */
  size_t n_given, given_room;
} cli_feed;

void cli_feed_reset(cli_feed *feed); /* accepts all zero */
/* What the command line says of a consumer. */
void cli_feed_take_consumer(cli_feed *feed, const cli_args *args);

/* A stream that begins: its name is one that no other has. */
void cli_feed_name(cli_feed *feed);
/* The stream goes on from the sink's file, if that has a state. complete: NULL: none. *rows: those
 * before it. Errors: those of cli_follow_file_read(), cli_complete_restore() and
 * tarn_stream_restore(). */
tarn_status cli_feed_restore(cli_feed *feed, tarn_stream *stream, cli_complete *complete,
                             const cli_follow_file *file, int64_t *rows, bool *is_restored,
                             tarn_error *err);
/* What comes in front of the rows. next: 0, or the first snapshot of a stream that begins at a
 * place which was held before. */
void cli_feed_begin(const cli_feed *feed, int64_t rows, int64_t next, cli_text *out);
/* Where the stream stands, behind `rows` rows; nothing if it has not moved. */
tarn_status cli_feed_give(cli_feed *feed, tarn_stream *stream, cli_complete *complete, int64_t rows,
                          cli_text *out, tarn_error *err);
/* What the sink has is done with. */
tarn_status cli_feed_complete(cli_feed *feed, tarn_stream *stream, cli_complete *complete,
                              tarn_error *err);

#endif
