/* avro_file.h - an opened Avro data file: its header and where its blocks lie. Immutable. */
#ifndef TN_FORMAT_AVRO_AVRO_FILE_H
#define TN_FORMAT_AVRO_AVRO_FILE_H

#include "format/avro/container.h"
#include "format/format.h"

typedef struct tn_avro_block_place {
  tn_avro_block block;
  int64_t first_row;
} tn_avro_block_place;

typedef struct tn_avro_file {
  tn_format_file base; /* n_rows is the sum of what the blocks tell */
  tn_arena arena;      /* owns all below */
  tn_avro_header header;
  tn_avro_block_place *blocks; /* those with records; front to back */
  size_t n_blocks;
} tn_avro_file;

/* tn_format_ops.read, .inspect and .schema. */
TN_CHECKED tarn_status tn_avro_file_read(tn_format_file *file, const tn_read_request *request,
                                         tn_reader **out, tarn_error *err);
TN_CHECKED tarn_status tn_avro_file_inspect(tn_format_file *file, tn_buf *out, tarn_error *err);
TN_CHECKED tarn_status tn_avro_file_schema(tn_format_file *file, tn_arena *arena, tn_field **fields,
                                           int32_t *n_fields, tarn_error *err);

#endif
