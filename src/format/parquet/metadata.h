/* metadata.h - the Thrift structures of Parquet files, parsed and checked for what can be told
 * without the data: footers, page headers, column and offset indexes.
 *
 * Texts and byte strings are slices of the bytes that were parsed; arrays live in the arena.
 * Source of the rule: apache/parquet-format, parquet.thrift.
 */
#ifndef TN_FORMAT_PARQUET_METADATA_H
#define TN_FORMAT_PARQUET_METADATA_H

#include "base/arena.h"
#include "codec/compress.h"

/* Physical types; the numbers are those of the format. */
typedef enum tn_pq_physical {
  TN_PQ_BOOLEAN = 0,
  TN_PQ_INT32 = 1,
  TN_PQ_INT64 = 2,
  TN_PQ_INT96 = 3,
  TN_PQ_FLOAT = 4,
  TN_PQ_DOUBLE = 5,
  TN_PQ_BYTE_ARRAY = 6,
  TN_PQ_FIXED = 7, /* FIXED_LEN_BYTE_ARRAY */
  TN_PQ_N_PHYSICAL
} tn_pq_physical;

typedef enum tn_pq_repetition {
  TN_PQ_REQUIRED = 0,
  TN_PQ_OPTIONAL = 1,
  TN_PQ_REPEATED = 2
} tn_pq_repetition;

/* Logical types, and the converted types that came before them, as one list. */
typedef enum tn_pq_logical_kind {
  TN_PQ_NONE = 0,
  TN_PQ_STRING,
  TN_PQ_MAP,
  TN_PQ_MAP_KEY_VALUE, /* converted type only */
  TN_PQ_LIST,
  TN_PQ_ENUM,
  TN_PQ_DECIMAL,
  TN_PQ_DATE,
  TN_PQ_TIME,
  TN_PQ_TIMESTAMP,
  TN_PQ_INTEGER,
  TN_PQ_NULL, /* always null; "UNKNOWN" in the format */
  TN_PQ_JSON,
  TN_PQ_BSON,
  TN_PQ_UUID,
  TN_PQ_FLOAT16,
  TN_PQ_VARIANT,
  TN_PQ_GEOMETRY,
  TN_PQ_GEOGRAPHY,
  TN_PQ_INTERVAL, /* converted type only */
  TN_PQ_N_LOGICAL
} tn_pq_logical_kind;

typedef enum tn_pq_unit { TN_PQ_MILLIS, TN_PQ_MICROS, TN_PQ_NANOS } tn_pq_unit;

typedef struct tn_pq_logical {
  tn_pq_logical_kind kind;
  int32_t bit_width; /* INTEGER */
  bool is_signed;
  tn_pq_unit unit; /* TIME, TIMESTAMP */
  bool is_utc;
  int32_t precision, scale; /* DECIMAL */
} tn_pq_logical;

typedef struct tn_pq_element {
  const char *name; /* NUL-terminated copy */
  bool is_group;
  tn_pq_physical physical; /* of a leaf */
  int32_t type_length;     /* FIXED: > 0 */
  tn_pq_repetition repetition;
  int32_t n_children; /* of a group */
  int32_t field_id;   /* -1: none */
  tn_pq_logical logical;
} tn_pq_element;

typedef enum tn_pq_encoding {
  TN_PQ_PLAIN = 0,
  TN_PQ_PLAIN_DICTIONARY = 2,
  TN_PQ_RLE = 3,
  TN_PQ_BIT_PACKED = 4,
  TN_PQ_DELTA_BINARY_PACKED = 5,
  TN_PQ_DELTA_LENGTH_BYTE_ARRAY = 6,
  TN_PQ_DELTA_BYTE_ARRAY = 7,
  TN_PQ_RLE_DICTIONARY = 8,
  TN_PQ_BYTE_STREAM_SPLIT = 9,
  TN_PQ_N_ENCODINGS
} tn_pq_encoding;

/* Bounds are kept as they lie in the file. */
typedef struct tn_pq_stats {
  bool has_old_bounds; /* the deprecated pair: compared as signed numbers, if at all */
  tn_slice old_min, old_max;
  bool has_bounds;
  tn_slice min, max;
  int64_t null_count;     /* -1: unknown */
  int64_t distinct_count; /* -1: unknown */
} tn_pq_stats;

typedef struct tn_pq_encoding_stats {
  int32_t page_type; /* tn_pq_page_type */
  int32_t encoding;
  int32_t count;
} tn_pq_encoding_stats;

/* A column chunk. Offsets are absolute and, like sizes, checked against the file on use. */
typedef struct tn_pq_chunk {
  int32_t physical;
  int32_t codec;      /* of the format: 0 none, 1 snappy, ... */
  uint32_t encodings; /* bit i: tn_pq_encoding i occurs */
  int64_t n_values;   /* entries, nulls included */
  int64_t compressed_bytes, uncompressed_bytes;
  int64_t data_page_offset;
  int64_t dictionary_page_offset; /* 0: none told */
  int64_t bloom_filter_offset;    /* 0: none */
  int64_t offset_index_offset, column_index_offset;
  int32_t offset_index_bytes, column_index_bytes; /* 0: none */
  tn_pq_stats stats;
  int32_t n_encoding_stats;
  const tn_pq_encoding_stats *encoding_stats;
} tn_pq_chunk;

typedef struct tn_pq_row_group {
  int64_t n_rows;
  int64_t first_row; /* in the file */
  int64_t total_bytes;
  tn_pq_chunk *chunks; /* one a leaf column, in schema order */
} tn_pq_row_group;

typedef struct tn_pq_key_value {
  tn_slice key, value;
} tn_pq_key_value;

/* How the bounds of a column were compared. */
typedef enum tn_pq_order {
  TN_PQ_ORDER_UNKNOWN, /* a newer kind: bounds say nothing */
  TN_PQ_ORDER_TYPE,    /* by the type's own order; also when no order is told */
  TN_PQ_ORDER_TOTAL    /* IEEE 754 total order; NaNs are left out of bounds */
} tn_pq_order;

typedef struct tn_pq_footer {
  int32_t version;
  int64_t n_rows;
  tn_slice created_by; /* empty: not told */
  int32_t n_elements;
  const tn_pq_element *elements; /* depth-first; 0 is the root */
  int32_t n_leaves;
  int32_t n_row_groups;
  tn_pq_row_group *row_groups;
  const tn_pq_order *orders; /* one a leaf; NULL: not told */
  int32_t n_key_values;
  const tn_pq_key_value *key_values;
} tn_pq_footer;

/* bytes: the Thrift structure, kept by the caller as long as the footer is used. path is for
 * messages. Errors: CORRUPT, UNSUPPORTED (encrypted, column data in other files), LIMIT, NOMEM. */
TN_CHECKED tarn_status tn_pq_footer_parse(tn_arena *arena, tn_slice bytes, const char *path,
                                          tn_pq_footer *out, tarn_error *err);

typedef enum tn_pq_page_type {
  TN_PQ_DATA_PAGE = 0,
  TN_PQ_INDEX_PAGE = 1,
  TN_PQ_DICTIONARY_PAGE = 2,
  TN_PQ_DATA_PAGE_V2 = 3
} tn_pq_page_type;

typedef struct tn_pq_page_header {
  int32_t type; /* tn_pq_page_type, or one that is not known: to be stepped over */
  int32_t compressed_bytes, uncompressed_bytes;
  bool has_crc;
  uint32_t crc;
  int32_t n_values; /* entries, nulls included */
  int32_t encoding;
  int32_t def_encoding, rep_encoding; /* v1 */
  int32_t n_rows, n_nulls;            /* v2 */
  int32_t def_bytes, rep_bytes;       /* v2 */
  bool is_compressed;                 /* v2; true otherwise */
} tn_pq_page_header;

typedef enum tn_pq_header_result {
  TN_PQ_HEADER_OK,
  TN_PQ_HEADER_SHORT, /* the bytes end within the header */
  TN_PQ_HEADER_BAD
} tn_pq_header_result;

/* Parse one page header at the front of bytes; *used gets its length (at least 1). Sizes and counts
 * of data and dictionary pages are not negative. */
tn_pq_header_result tn_pq_page_header_parse(tn_slice bytes, tn_pq_page_header *out, size_t *used);

typedef struct tn_pq_page_location {
  int64_t offset;
  int64_t first_row; /* within the row group */
  int32_t bytes;     /* header included */
} tn_pq_page_location;

typedef struct tn_pq_offset_index {
  int32_t n_pages;
  const tn_pq_page_location *pages; /* ascending in both offset and row, the first row is 0 */
} tn_pq_offset_index;

typedef struct tn_pq_column_index {
  int32_t n_pages;
  const bool *null_pages;
  const tn_slice *min, *max;
  const int64_t *null_counts; /* NULL: not told */
} tn_pq_column_index;

/* n_rows: of the row group. `where` ("file: column") is for messages. Errors: CORRUPT, NOMEM. */
TN_CHECKED tarn_status tn_pq_offset_index_parse(tn_arena *arena, tn_slice bytes, int64_t n_rows,
                                                const char *where, tn_pq_offset_index *out,
                                                tarn_error *err);
TN_CHECKED tarn_status tn_pq_column_index_parse(tn_arena *arena, tn_slice bytes, const char *where,
                                                tn_pq_column_index *out, tarn_error *err);

/* Names for messages and inspection; never NULL. */
const char *tn_pq_physical_name(int32_t physical);
const char *tn_pq_encoding_name(int32_t encoding);
const char *tn_pq_codec_label(int32_t codec);
/* "INT32 (DATE)", "FIXED_LEN_BYTE_ARRAY(16) (DECIMAL(38, 2))"; cut to the buffer. */
void tn_pq_element_text(const tn_pq_element *element, char *out, size_t n_out);

/* The codec of a chunk; false: not one of the format. */
bool tn_pq_codec_id(int32_t codec, tn_codec_id *out);

#endif
