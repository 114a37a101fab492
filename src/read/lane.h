/* lane.h - some columns of rows, whose values lie in one file after another. Internal.
 *
 *   row ids    100 ................................... 199
 *   lane id,a  [ f1                                      ]   a piece a file; one data reader
 *   lane pic   [ b1.blob      ][ b2.blob ][ none: nulls  ]   at a time
 *
 * Lanes of one set of rows are walked side by side: each holds some rows that it has read ahead
 * (`pending`), and whoever walks takes as many as all of them have.
 */
#ifndef TN_READ_LANE_H
#define TN_READ_LANE_H

#include "read/split_reader.h"

typedef struct tn_lane_piece {
  int64_t begin, end; /* row ids */
  int32_t file;       /* of the split; -1: no file, all null */
} tn_lane_piece;

typedef struct tn_lane {
  const tn_read_context *c;
  const tn_split *split;
  tn_data_shape *shape;   /* its first columns are the lane's */
  const tn_field *fields; /* of the lane's columns */
  int32_t n_fields;
  const int32_t *columns; /* the walker's numbers of them */
  const tn_lane_piece *pieces;
  int32_t n_pieces;
  const tn_ranges *wanted; /* row ids that are walked, all within the pieces */
  bool wants_flat;

  int32_t piece;
  tn_open_file file;
  int64_t max_rows;
  int64_t next_row;  /* of the reader: the next wanted row from here on */
  tn_batch pending;  /* rows read ahead, without gaps */
  int64_t first_row; /* of pending */
  int64_t off;       /* rows of pending that were given */
} tn_lane;

/* The id that the first row of a file has; 0 where its entry tells none. */
int64_t tn_file_first_row(const tn_data_file *file);

/* Be at `row`, a wanted one behind those that were taken, and have rows: *n of them, at most
 * `most`, which are wanted and have no gaps up to there. 0: the file ended early, as the user
 * allows. Errors: those of data readers. */
TN_CHECKED tarn_status tn_lane_fill(tn_lane *lane, int64_t row, int64_t most, int64_t *n,
                                    tarn_error *err);
/* Is the row in a file whose values are large one by one (of BLOBs)? */
bool tn_lane_is_heavy(const tn_lane *lane, int64_t row);
/* Column i of the next rows; NULL: all null. Rows lane->off and after, any encoding. */
tn_vec *tn_lane_column(tn_lane *lane, int32_t i);
/* Would taking n rows take all of pending? */
bool tn_lane_is_whole(const tn_lane *lane, int64_t n);
void tn_lane_take(tn_lane *lane, int64_t n);
void tn_lane_close(tn_lane *lane); /* accepts all zero */

#endif
