/* write_leaf.h - one leaf column of a row group on its way into pages.
 *
 * Rows come in; a page is closed when it has its rows or bytes, and is compressed at once. A chunk
 * begins with a dictionary, where there may be one, and gives it up
 *
 *   within the first page   when nearly every value is new, or at its end when codes and dictionary
 *                           take as much as the values themselves: no dictionary page is written
 *   later                   when the dictionary would pass its size: the page at hand is turned to
 *                           plain values, pages before it keep their codes
 *
 * as org.apache.parquet.column.values.fallback.FallbackValuesWriter does.
 *
 * Invariants
 *   P1  A page holds whole rows; its first row is where the one before ends.
 *   P2  What is in memory of a chunk is its compressed pages, the open page and the dictionary.
 *   P3  After a failure the leaf can only be freed.
 */
#ifndef TN_FORMAT_PARQUET_WRITE_LEAF_H
#define TN_FORMAT_PARQUET_WRITE_LEAF_H

#include "codec/compress.h"
#include "format/parquet/write_bounds.h"
#include "format/parquet/write_dictionary.h"
#include "format/parquet/write_levels.h"
#include "format/parquet/write_values.h"

#define TN_PQ_VALUES_HEAD 64 /* room for levels in front of plain values */

/* The same for all leaves of a file. */
typedef struct tn_pq_write_settings {
  tarn_env *env;
  tn_codec_id codec;
  int32_t codec_number; /* of the format */
  int32_t level;
  int64_t page_bytes, page_rows, dictionary_bytes, group_bytes;
  bool has_dictionaries;
} tn_pq_write_settings;

/* A data page that lies in the chunk, for the indexes. */
typedef struct tn_pq_page_note {
  int64_t offset;    /* among the chunk's data pages */
  int64_t first_row; /* in the row group */
  int64_t null_count;
  int64_t min, max; /* keys of numbers */
  int32_t bytes;    /* with its header */
  bool has_values;
  uint32_t min_len, max_len; /* FIXED, BYTES: the next bytes of note_bytes */
} tn_pq_page_note;

typedef struct tn_pq_leaf_writer {
  const tn_pq_write_node *node;
  const tn_pq_write_settings *settings;

  /* The open page. */
  int64_t n_rows, n_entries, n_values;
  bool has_bits;      /* nulls of a flat column, in `defs` as a bitmap; none so far without */
  bool has_codes;     /* values are codes into the dictionary */
  tn_pq_bytes defs;   /* levels, a byte each; or the bitmap */
  tn_pq_bytes reps;   /* levels */
  tn_pq_bytes values; /* plain; or codes, uint32_t each */
  tn_pq_write_bounds bounds; /* plain numbers */
  /* Plain BYTES and FIXED: where the bounds lie in `values`, and the first 8 bytes of each. */
  size_t min_at, max_at;
  uint32_t min_len, max_len;
  uint64_t min_head, max_head;

  /* The chunk. */
  tn_pq_dictionary dictionary;
  int32_t n_code_pages, n_plain_pages;
  tn_pq_pieces pages; /* data pages as they will lie in the file */
  int64_t chunk_rows, chunk_entries, chunk_nulls;
  int64_t plain_bytes; /* of headers and uncompressed bodies */
  tn_pq_kept_bounds chunk_bounds;
  tn_pq_bytes notes;      /* tn_pq_page_note each */
  tn_pq_bytes note_bytes; /* cut bounds of the pages */

  /* The file: columns that are leaves. */
  int64_t file_nulls;
  tn_pq_kept_bounds file_bounds;

  /* Codes of a DICT vector's dictionary as codes of ours plus one; 0: not met yet. */
  tn_dictionary *memo_of;
  tn_pq_bytes memo;
  int64_t memo_longest; /* BYTES: of its values */
} tn_pq_leaf_writer;

void tn_pq_leaf_writer_init(tn_pq_leaf_writer *leaf, const tn_pq_write_node *node,
                            const tn_pq_write_settings *settings);
void tn_pq_leaf_writer_reset(tn_pq_leaf_writer *leaf);

/* Rows of a column that is a leaf, of any encoding. */
TN_CHECKED tarn_status tn_pq_leaf_writer_put(tn_pq_leaf_writer *leaf, tn_pq_scratch *scratch,
                                             const tn_vec *vec, int64_t begin, int64_t n,
                                             tarn_error *err);
/* Entries of a leaf within a nested column, n_rows rows whole; vec is flat. The page is left open
 * until tn_pq_leaf_writer_close_full(). */
TN_CHECKED tarn_status tn_pq_leaf_writer_put_entries(tn_pq_leaf_writer *leaf,
                                                     tn_pq_scratch *scratch, const tn_vec *vec,
                                                     const tn_pq_entries *entries, int64_t n_rows,
                                                     tarn_error *err);
/* Close the page if it is full. */
TN_CHECKED tarn_status tn_pq_leaf_writer_close_full(tn_pq_leaf_writer *leaf, tn_pq_scratch *scratch,
                                                    tarn_error *err);

/* Bytes that the chunk has in memory (P2). */
int64_t tn_pq_leaf_writer_held_bytes(const tn_pq_leaf_writer *leaf);
/* Bytes that the chunk will about have in the file. */
int64_t tn_pq_leaf_writer_file_bytes(const tn_pq_leaf_writer *leaf);

/* ------------------------------------------------------------------ pages (write_page.c) */

/* Close the open page, if it has rows. */
TN_CHECKED tarn_status tn_pq_leaf_writer_close_page(tn_pq_leaf_writer *leaf, tn_pq_scratch *scratch,
                                                    tarn_error *err);
/* The dictionary page, header and all, in scratch->body; empty when the chunk has none. */
TN_CHECKED tarn_status tn_pq_leaf_writer_dictionary_page(tn_pq_leaf_writer *leaf,
                                                         tn_pq_scratch *scratch, tarn_error *err);
/* The chunk's bounds are too long for its footer. */
bool tn_pq_leaf_writer_has_long_bounds(const tn_pq_leaf_writer *leaf);
/* Take the chunk's bounds and nulls into the file's and make way for the next chunk. */
TN_CHECKED tarn_status tn_pq_leaf_writer_next_chunk(tn_pq_leaf_writer *leaf, tarn_error *err);

/* Turn the codes of the open page to plain values; the dictionary stays if pages need it. */
TN_CHECKED tarn_status tn_pq_leaf_writer_give_up_codes(tn_pq_leaf_writer *leaf, tarn_error *err);
/* Append values in the form of tn_pq_values_make, plain. */
TN_CHECKED tarn_status tn_pq_leaf_writer_put_plain(tn_pq_leaf_writer *leaf, const void *values,
                                                   int64_t n, tarn_error *err);

#endif
