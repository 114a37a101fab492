/* write_footer.h - what lies behind the row groups: column indexes, offset indexes, the footer.
 *
 * Everything but offsets is encoded when its row group is written, so that little is kept.
 */
#ifndef TN_FORMAT_PARQUET_WRITE_FOOTER_H
#define TN_FORMAT_PARQUET_WRITE_FOOTER_H

#include "format/parquet/write_leaf.h"
#include "format/writer.h"

/* A column chunk in the file. */
typedef struct tn_pq_chunk_note {
  size_t metadata_bytes;     /* of its ColumnMetaData, encoded */
  size_t column_index_bytes; /* 0: it has none */
  size_t offset_index_bytes;
} tn_pq_chunk_note;

typedef struct tn_pq_group_note {
  int64_t n_rows, offset, packed_bytes, plain_bytes;
} tn_pq_group_note;

typedef struct tn_pq_footer_writer {
  const tn_pq_write_schema *schema;
  const tn_pq_write_settings *settings;
  int64_t n_rows;
  tn_pq_bytes groups; /* tn_pq_group_note each */
  tn_pq_bytes chunks; /* tn_pq_chunk_note, n_leaves for each group */
  tn_pq_bytes metadata, column_indexes, offset_indexes;
} tn_pq_footer_writer;

void tn_pq_footer_writer_init(tn_pq_footer_writer *footer, const tn_pq_write_schema *schema,
                              const tn_pq_write_settings *settings);
void tn_pq_footer_writer_reset(tn_pq_footer_writer *footer);

/* A row group whose chunks follow. */
TN_CHECKED tarn_status tn_pq_footer_add_group(tn_pq_footer_writer *footer,
                                              const tn_pq_group_note *group, tarn_error *err);
/* The chunk of a leaf that lies at `offset`, its dictionary page of dictionary_bytes first. */
TN_CHECKED tarn_status tn_pq_footer_add_chunk(tn_pq_footer_writer *footer,
                                              const tn_pq_leaf_writer *leaf, int64_t offset,
                                              int64_t dictionary_bytes, tarn_error *err);
/* Indexes and footer, for a file that has `offset` bytes so far; with length and magic. */
TN_CHECKED tarn_status tn_pq_footer_encode(tn_pq_footer_writer *footer, int64_t offset,
                                           const tn_write_metadata *metadata, int32_t n_metadata,
                                           tn_pq_bytes *out, tarn_error *err);
/* The bytes that tn_pq_footer_encode() would about make. */
int64_t tn_pq_footer_bytes(const tn_pq_footer_writer *footer);

#endif
