/* leaf.h - one leaf column of one row group as rows: fill a buffer, take rows out of it.
 *
 *   pages --fill--> buffered rows --take--> vectors
 *
 * A leaf decodes whole rows into its buffer until it has as many as were asked for, or as many as
 * its byte limit allows: then the caller takes fewer from all columns and the rest stays buffered,
 * so that columns of very different value sizes line up in bounded memory.
 *
 * Buffered are levels (entries; none for flat columns while no null was met), and the values that
 * are present, densely. Taking spreads the values over the slots that the levels tell.
 *
 * Invariants
 *   L1  Flat columns: an entry is a row. Nested: an entry of repetition level 0 starts a row.
 *   L2  Rows are stepped over without decompressing where a page's rows are known: flat columns,
 *       v2 pages, and pages of an offset index. The latter two begin with a row.
 *   L3  A chunk gives exactly the rows of its row group or is CORRUPT.
 *   L4  Flat columns that may stay encoded have one mode a buffer: codes of the dictionary, views
 *       into pages, or values. fill() stops where the mode changes.
 *
 * One thread at a time. A leaf is opened again for each row group.
 */
#ifndef TN_FORMAT_PARQUET_LEAF_H
#define TN_FORMAT_PARQUET_LEAF_H

#include "format/parquet/dense.h"

/* Where the pages of a chunk are; set by the caller before open, borrowed. */
typedef struct tn_pq_page_source {
  tn_prefetch *prefetch;
  int32_t range; /* without index: the chunk's range in the prefetch plan */
  tn_byte_range bytes;
  const tn_pq_offset_index *index; /* NULL: pages are found one after another */
  const int32_t *page_ranges;      /* index: the prefetch range of each page; -1: not wanted */
  int32_t dictionary_range;        /* index: where a dictionary page may be; -1: nowhere */
  tn_byte_range dictionary_bytes;
} tn_pq_page_source;

typedef struct tn_pq_leaf {
  tarn_env *env;
  const tn_pq_node *node;
  const tn_type *type; /* NULL: only the levels are wanted */
  tn_pq_convert convert;
  bool allows_encoded; /* the leaf is a whole column and may be given encoded */
  int64_t limit_bytes; /* about what the buffer may hold */

  /* The chunk. */
  const tn_pq_chunk *chunk;
  int64_t n_rows; /* of the row group */
  tn_pq_page_source source;
  tn_pq_pages pages;
  int64_t entries_seen; /* of pages that were opened or stepped over */
  tn_dictionary *dictionary;
  int64_t dictionary_max_len; /* BYTES: of the longest value */

  /* The page at hand. */
  int32_t page_number;    /* with an index */
  bool has_header;        /* its header is read, its body is not loaded */
  bool starts_row;        /* its first entry must start a row (L2) */
  int64_t page_rows;      /* -1: not known */
  int64_t page_first_row; /* rows that were started when it began */
  tn_pq_page page;
  tn_pq_values values;
  int64_t page_left; /* entries whose levels were not decoded yet */
  int64_t piece;     /* entries to decode at once, so that bytes are checked in time */
  tn_pq_mode page_mode;

  /* Nested: levels that are decoded and not used. */
  uint8_t *block_def, *block_rep; /* TN_PQ_BLOCK each */
  int32_t block_at, block_n;

  int64_t next_row; /* rows of the group that were started or stepped over */

  /* The buffer. */
  int64_t first_row; /* of the rows in it */
  int64_t n_started; /* rows in it */
  bool is_row_open;  /* nested: the last of them may go on */
  int64_t n_entries;
  tn_buffer *def, *rep; /* a byte an entry; def is NULL while all are the greatest (flat) */
  tn_pq_dense dense;
} tn_pq_leaf;

/* path, column: for messages; borrowed. codec: shared with other leaves of one reader. Then
 * tn_pq_leaf_reset() whatever the result. Errors: CORRUPT (types), NOMEM. */
TN_CHECKED tarn_status tn_pq_leaf_init(tn_pq_leaf *leaf, tarn_env *env, const tn_pq_node *node,
                                       const tn_type *type, const char *path, const char *column,
                                       tn_codec_context *codec, tarn_error *err);
void tn_pq_leaf_reset(tn_pq_leaf *leaf);

/* Start on a row group; what was buffered is dropped. Errors: CORRUPT, UNSUPPORTED (codec). */
TN_CHECKED tarn_status tn_pq_leaf_open(tn_pq_leaf *leaf, const tn_pq_chunk *chunk, int64_t n_rows,
                                       const tn_pq_page_source *source, tarn_error *err);
/* Drop what the row group holds (pages, dictionary, buffer). */
void tn_pq_leaf_close(tn_pq_leaf *leaf);

/* Buffer the rows from `row` of the row group on (not before what was taken): *n_out of them,
 * 1 <= *n_out <= n. Rows in front of it are stepped over. n > 0, row + n <= n_rows. */
TN_CHECKED tarn_status tn_pq_leaf_fill(tn_pq_leaf *leaf, int64_t row, int64_t n, int64_t *n_out,
                                       tarn_error *err);

/* How many buffered entries the first n rows have. */
int64_t tn_pq_leaf_entries(const tn_pq_leaf *leaf, int64_t n_rows);
/* The values of the first n_entries entries into an empty vector of the leaf's type: a row for
 * each entry that has a slot. The values leave the buffer, the levels stay. */
TN_CHECKED tarn_status tn_pq_leaf_take(tn_pq_leaf *leaf, int64_t n_entries, tn_vec *out,
                                       tarn_error *err);
/* The first n rows leave the buffer: n_entries levels; their values were taken, or are dropped. */
TN_CHECKED tarn_status tn_pq_leaf_drop(tn_pq_leaf *leaf, int64_t n_rows, int64_t n_entries,
                                       bool is_taken, tarn_error *err);

/* Bit i of out = (levels[i] >= least); returns how many are set. Spare bits are cleared. */
int64_t tn_pq_bits_from_levels(const uint8_t *levels, int64_t n, uint8_t least, uint8_t *out);

#endif
