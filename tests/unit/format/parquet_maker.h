/* parquet_maker.h - Parquet files put together by hand, for what no writer at hand writes: old
 * shapes, deprecated encodings, and damage. One row group, no compression.
 *
 *   parquet_maker m;
 *   maker_begin(&m);
 *   maker_leaf(&m, "x", TN_PQ_OPTIONAL, TN_PQ_INT32, 0, MAKER_PLAIN_TYPE);
 *   maker_chunk(&m, 3);
 *   maker_page(&m, &(maker_page_spec){.n_values = 3, .def = "101", .values = ...});
 *   tn_slice file = maker_end(&m, 3);
 *   ...
 *   maker_free(&m);
 *
 * Levels are given as digits, one an entry. Leaves of the schema come first, then their chunks in
 * the same order. Failures are cmocka's.
 */
#ifndef TN_TESTS_FORMAT_PARQUET_MAKER_H
#define TN_TESTS_FORMAT_PARQUET_MAKER_H

#include "base/buf.h"
#include "format/parquet/metadata.h"

#define MAKER_MAX_LEAVES 16

/* ConvertedType of the format; MAKER_PLAIN_TYPE: none. */
typedef enum maker_type {
  MAKER_PLAIN_TYPE = -1,
  MAKER_UTF8 = 0,
  MAKER_MAP = 1,
  MAKER_MAP_KEY_VALUE = 2,
  MAKER_LIST = 3,
  MAKER_ENUM = 4,
  MAKER_DECIMAL = 5,
  MAKER_DATE = 6,
  MAKER_TIME_MILLIS = 7,
  MAKER_TIME_MICROS = 8,
  MAKER_TIMESTAMP_MILLIS = 9,
  MAKER_TIMESTAMP_MICROS = 10,
  MAKER_UINT_32 = 13,
  MAKER_UINT_64 = 14,
  MAKER_INT_8 = 15,
  MAKER_INTERVAL = 21
} maker_type;

typedef struct maker_chunk_spec {
  int64_t n_values;
  int64_t begin;         /* first byte */
  int64_t data_begin;    /* of the first data page; 0: none yet */
  int64_t dictionary_at; /* 0: none */
  uint32_t encodings;
  bool hides_dictionary; /* tell no dictionary offset, and the chunk's start as data offset */
  bool has_old_stats;    /* min and max go into the deprecated fields */
  tn_slice min, max;     /* borrowed; NULL data: none */
  int64_t null_count;    /* -1: not told */
  int64_t end;
} maker_chunk_spec;

typedef struct parquet_maker {
  tn_mem mem;
  tn_buf out, schema;
  int32_t n_elements, n_top, n_leaves, n_chunks;
  int32_t physical[MAKER_MAX_LEAVES];
  maker_chunk_spec chunks[MAKER_MAX_LEAVES];
  const char *created_by; /* NULL: not told */
  int64_t footer_rows;    /* -1: as given to maker_end */
  bool is_encrypted;
} parquet_maker;

/* A data page of version 1, or 2 with is_v2. */
typedef struct maker_page_spec {
  int32_t n_values, n_rows; /* n_rows: v2 */
  int32_t encoding;
  const char *rep, *def;  /* "0102": a digit an entry; NULL: the column has none */
  bool levels_are_packed; /* the deprecated BIT_PACKED, in as many bits as the maxima take */
  uint32_t max_rep, max_def;
  bool is_v2;
  tn_slice values;
  bool has_crc;
  uint32_t crc;
} maker_page_spec;

void maker_begin(parquet_maker *m);
void maker_free(parquet_maker *m);

/* The next element of the schema, depth-first. Groups name how many children follow. */
void maker_group(parquet_maker *m, const char *name, tn_pq_repetition repetition,
                 int32_t n_children, maker_type type);
void maker_leaf(parquet_maker *m, const char *name, tn_pq_repetition repetition,
                tn_pq_physical physical, int32_t length, maker_type type);
/* The same with precision and scale. */
void maker_decimal(parquet_maker *m, const char *name, tn_pq_physical physical, int32_t length,
                   int32_t precision, int32_t scale);
/* TIME (member 7) or TIMESTAMP (8) of a unit, by logical type. */
void maker_time(parquet_maker *m, const char *name, tn_pq_physical physical, int member,
                tn_pq_unit unit);
/* Start the chunk of the next leaf; the spec may be changed until maker_end(). */
maker_chunk_spec *maker_chunk(parquet_maker *m, int64_t n_values);
void maker_page(parquet_maker *m, const maker_page_spec *page);
void maker_dictionary(parquet_maker *m, int32_t n_values, tn_slice values);
void maker_index_page(parquet_maker *m); /* of a kind that readers step over */
/* The file; valid until maker_free(). */
tn_slice maker_end(parquet_maker *m, int64_t n_rows);

/* Bytes of a string literal, with NULs in it. */
#define LITERAL(text) tn_slice_of((text), sizeof(text) - 1)

#endif
