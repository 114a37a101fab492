/* stream_rows.h - rows of the pipelines that are killed: what they are, where they come from, and
 * how they look as Arrow arrays.
 *
 * Row number `seq` of a feed is a function of the feed's seed and size alone, so that every loss,
 * doubling and change of order shows. A row fits into 64 bytes without pointers: it goes through
 * pipes as it is.
 */
#ifndef TARN_TESTS_STREAM_ROWS_H
#define TARN_TESTS_STREAM_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "tarn/tarn.h"

enum { N_SHARDS = 4, TEXT_BYTES = 30, NO_TEXT = -1 };
enum { ROW_COLUMNS = 5 }; /* _row_kind, shard, id, seq, text */

typedef struct pipeline_row {
  int64_t id, seq;
  int32_t shard; /* the partition: of the id */
  int8_t kind;   /* 0 +I, 1 -U, 2 +U, 3 -D */
  int8_t n_text; /* NO_TEXT: NULL */
  char text[TEXT_BYTES];
} pipeline_row;

/* ------------------------------------------------------------------ feed */

typedef enum feed_kinds {
  FEED_INSERTS, /* each id once */
  FEED_UPSERTS, /* +I for the new row of an id, and -D */
  FEED_CHANGES  /* the complete changelog */
} feed_kinds;

typedef struct feed {
  feed_kinds kinds;
  uint64_t seed;
  int64_t n_keys;
  int64_t *alive; /* by id: seq of its row; -1: none */
  int64_t seq;    /* of the next row */
  bool has_second;
  pipeline_row second;
} feed;

bool feed_init(feed *f, feed_kinds kinds, uint64_t seed, int64_t n_keys);
void feed_reset(feed *f);
/* The next row. There is no end. */
void feed_next(feed *f, pipeline_row *out);

/* ------------------------------------------------------------------ hashes */

/* Of all columns but the kind. */
uint64_t row_hash(const pipeline_row *row);
uint64_t mix_hash(uint64_t h);

/* ------------------------------------------------------------------ Arrow */

/* Do streams with with_row_kind = 1 give the columns that row_at() knows? */
bool schema_fits(const struct ArrowSchema *schema, bool with_row_kind);
void row_at(const struct ArrowArray *array, int64_t i, bool with_row_kind, pipeline_row *out);

/* Rows as one array for tarn_writer_write(); lives as long as this. */
typedef struct row_array {
  struct ArrowSchema schema, columns[ROW_COLUMNS], *column_list[ROW_COLUMNS];
  struct ArrowArray array, children[ROW_COLUMNS], *child_list[ROW_COLUMNS];
  const void *buffers[ROW_COLUMNS][3], *no_buffer[1];
  int64_t capacity, n_text;
  int8_t *kinds;
  int32_t *shards, *offsets;
  int64_t *ids, *seqs;
  uint8_t *valid;
  char *text;
} row_array;

bool row_array_init(row_array *a, int64_t capacity, bool with_row_kind);
void row_array_reset(row_array *a);
void row_array_clear(row_array *a);
/* false: it is full. */
bool row_array_add(row_array *a, const pipeline_row *row);

#endif
