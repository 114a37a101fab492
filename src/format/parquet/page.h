/* page.h - the pages of one column chunk, front to back or by the offset index.
 *
 *   chunk   [dictionary page]? ([data page] | [index page])...
 *   page    [header][body]            v1 body: compressed (rep levels, def levels, values)
 *                                     v2 body: rep levels, def levels, compressed (values)
 *
 * Headers are read before bodies, so that pages nobody wants are stepped over without reading them.
 * Every step consumes at least one byte of the chunk, sizes are checked against the chunk, and what
 * a page claims to hold uncompressed is checked against what its codec can make of its bytes.
 * Messages name the file, the column and the offset of the page.
 *
 * One thread at a time. Source of the rule: apache/parquet-format, README "Data Pages".
 */
#ifndef TN_FORMAT_PARQUET_PAGE_H
#define TN_FORMAT_PARQUET_PAGE_H

#include "column/buffer.h"
#include "format/parquet/rle.h"
#include "format/parquet/schema.h"
#include "io/prefetch.h"

/* Filled by whoever opens it; everything is borrowed. */
typedef struct tn_pq_pages {
  tarn_env *env;
  const char *path;
  const char *column;
  const tn_pq_node *leaf;
  tn_codec_context *codec;
  tn_codec_id codec_id;
  tn_prefetch *prefetch;
  int32_t range;   /* of the prefetch plan that `at` lies in */
  int64_t at, end; /* the next header, and where this stretch of pages ends */
  /* The page whose header was read last. */
  tn_pq_page_header header;
  int64_t page_offset, body_offset;
} tn_pq_pages;

/* A data page ready to decode. */
typedef struct tn_pq_page {
  tn_buffer *buffer; /* owned; the uncompressed body */
  tn_pq_levels rep, def;
  tn_slice values; /* in buffer; 64 bytes behind its end are readable */
  int32_t encoding;
  int32_t n_entries;
} tn_pq_page;

/* A chunk's first byte and length as its metadata tells them, checked against the file: dictionary
 * pages are found wherever they are. is_old_writer: the length may leave out a dictionary header
 * (PARQUET-816). Errors: CORRUPT. */
TN_CHECKED tarn_status tn_pq_chunk_range(const tn_pq_chunk *chunk, int64_t data_end,
                                         bool is_old_writer, const char *path, const char *column,
                                         tn_byte_range *out, tarn_error *err);

/* Read the header of the next data or dictionary page of the stretch; others are stepped over.
 * *has_page is false at its end. pages->at is then behind the page's body. */
TN_CHECKED tarn_status tn_pq_pages_next(tn_pq_pages *pages, bool *has_page, tarn_error *err);
/* Read, check and decompress the data page whose header was read. page is reset first. */
TN_CHECKED tarn_status tn_pq_pages_load(tn_pq_pages *pages, tn_pq_page *page, tarn_error *err);
/* The same for a dictionary page: its values. *out is owned by the caller. */
TN_CHECKED tarn_status tn_pq_pages_load_dictionary(tn_pq_pages *pages, tn_buffer **out,
                                                   tarn_error *err);
void tn_pq_page_reset(tn_pq_page *page);

/* CORRUPT with file, column and page in front of the text. */
tarn_status tn_pq_pages_fail(const tn_pq_pages *pages, tarn_error *err, const char *fmt, ...)
    TN_PRINTF(3, 4);

#endif
