/* file_index_payload.h - what the kinds of indexes share: how they are asked, where their bytes
 * come from, how values lie in them. Internal.
 *
 *   file_index.c          the container; one question (a predicate) over its payloads
 *   file_index_result.c   verdicts
 *   file_index_source.c   bytes and bitmaps of a payload
 *   file_index_value.c    values in payloads and literals of predicates as keys of one order
 *   file_index_leaf.c     one leaf against an index that knows the rows of each value
 *   bloom_filter.c, bitmap_index.c, bsi_index.c, range_bitmap_index.c   the kinds
 *   bit_slices.c          numbers of rows as one bitmap a binary digit: bsi, range-bitmap
 */
#ifndef TN_INDEX_FILE_INDEX_PAYLOAD_H
#define TN_INDEX_FILE_INDEX_PAYLOAD_H

#include <roaring.h>

#include "index/file_index.h"

/* ------------------------------------------------------------------ values */

typedef enum tn_index_form {
  TN_INDEX_NONE,  /* a type that indexes do not take */
  TN_INDEX_INT,   /* booleans, integers, days, milliseconds of the day, ticks, unscaled decimals */
  TN_INDEX_FLOAT, /* FLOAT and DOUBLE */
  TN_INDEX_TEXT   /* strings and bytes */
} tn_index_form;

/* How values of a column lie in payloads: big-endian. */
typedef struct tn_index_code {
  tn_index_form form;
  uint8_t width; /* bytes of INT and FLOAT; TEXT has a length in front */
  bool is_cut;   /* TIMESTAMP(7-9) as microseconds: several values share one key */
} tn_index_code;

/* A value, ordered as tn_datum_compare() orders values of its type. */
typedef struct tn_index_key {
  int8_t side; /* of literals: -1 or 1 when they lie below or above every key of INT */
  union {
    int64_t i;
    double f;
    tn_slice text;
  } v;
} tn_index_key;

tn_index_code tn_index_code_of(const tn_type *type);
/* A literal that is not null. *is_exact false: it lies between its key and the next one. */
tn_index_key tn_index_key_of(const tn_index_code *code, const tn_type *type, const tn_datum *datum,
                             bool *is_exact);
int tn_index_key_compare(const tn_index_code *code, const tn_index_key *a, const tn_index_key *b);

/* ------------------------------------------------------------------ payloads */

typedef struct tn_payload_kind tn_payload_kind;

/* One index of one column while a question is asked. Used by one thread. */
typedef struct tn_payload {
  const tn_payload_kind *kind;
  tarn_env *env;
  const char *where; /* "path: bitmap index of column a", for messages */
  tn_file *file;     /* NULL: it lies in `bytes` */
  int64_t start;     /* in the file */
  tn_slice bytes;
  size_t length;

  tn_arena *arena;        /* of the question */
  size_t *reserved_bytes; /* of the question: of the memory budget */
  const tn_type *type;    /* of the column in the file; NULL: not known (describe) */
  tn_index_code code;
  int64_t n_rows;  /* of the data file; -1: not known (describe) */
  bool is_unknown; /* of a version that is not understood: every row remains */
  void *state;     /* what the kind keeps between leaves, in the arena; NULL at first */
} tn_payload;

struct tn_payload_kind {
  const char *name;
  /* *out is REMAIN before. ROWS may be empty or all rows: the caller tidies up. */
  tarn_status (*test)(tn_payload *payload, const tn_pred *leaf, tn_index_result *out,
                      tarn_error *err);
  /* Append ,"key": value for what is known of it. */
  tarn_status (*describe)(tn_payload *payload, tn_buf *out, tarn_error *err);
  /* Before the state's arena goes: bitmaps in it. May be NULL. */
  void (*drop_state)(void *state);
};

extern const tn_payload_kind tn_bloom_filter_kind;
extern const tn_payload_kind tn_bitmap_index_kind;
extern const tn_payload_kind tn_bsi_index_kind;
extern const tn_payload_kind tn_range_bitmap_kind;

/* "<where>: <what>" as CORRUPT. */
tarn_status tn_payload_corrupt(const tn_payload *payload, tarn_error *err, const char *fmt, ...)
    TN_PRINTF(3, 4);
/* The row count that the payload tells: that of the data file. */
TN_CHECKED tarn_status tn_payload_check_rows(tn_payload *payload, uint32_t row_count,
                                             tarn_error *err);

/* Zeroed memory for parsed heads, valid as long as the question. */
TN_CHECKED tarn_status tn_payload_calloc(tn_payload *payload, size_t count, size_t size, void **out,
                                         tarn_error *err);
/* n_bytes at an offset of the payload, valid as long as the question. */
TN_CHECKED tarn_status tn_payload_fetch(tn_payload *payload, size_t offset, size_t n_bytes,
                                        tn_slice *out, tarn_error *err);
/* The bitmap at the start of some bytes; *used (may be NULL: the bytes end with it) its size. Its
 * positions lie within the data file. The caller frees it. */
TN_CHECKED tarn_status tn_payload_bitmap(tn_payload *payload, tn_slice bytes,
                                         roaring_bitmap_t **out, size_t *used, tarn_error *err);
TN_CHECKED tarn_status tn_payload_no_rows(roaring_bitmap_t **out, tarn_error *err);
/* The bitmap with one row. */
TN_CHECKED tarn_status tn_payload_single(tn_payload *payload, int64_t row, roaring_bitmap_t **out,
                                         tarn_error *err);
/* The rows of the data file that a bitmap lacks, in its place. */
TN_CHECKED tarn_status tn_payload_flip(tn_payload *payload, roaring_bitmap_t *rows,
                                       tarn_error *err);

/* Reads a payload front to back, in pieces. */
typedef struct tn_cursor {
  tn_payload *payload;
  size_t at; /* in the payload, of the next byte */
  size_t end;
  tn_slice window; /* bytes from `at` on that are at hand */
} tn_cursor;

void tn_cursor_init(tn_cursor *cursor, tn_payload *payload, size_t from, size_t end);
/* The next n_bytes, which stay valid as long as the question. CORRUPT past the end. */
TN_CHECKED tarn_status tn_cursor_take(tn_cursor *cursor, size_t n_bytes, const uint8_t **out,
                                      tarn_error *err);
TN_CHECKED tarn_status tn_cursor_u8(tn_cursor *cursor, uint8_t *out, tarn_error *err);
TN_CHECKED tarn_status tn_cursor_u32(tn_cursor *cursor, uint32_t *out, tarn_error *err);
TN_CHECKED tarn_status tn_cursor_key(tn_cursor *cursor, tn_index_key *out, tarn_error *err);

/* ------------------------------------------------------------------ leaves */

/* An index that knows the rows of each value. Each call gives a bitmap of the caller's. */
typedef struct tn_value_rows_ops {
  tarn_status (*equal)(tn_payload *payload, const tn_index_key *key, roaring_bitmap_t **out,
                       tarn_error *err);
  /* Values below the key, or equal to it, too; NULL: the index knows no order. */
  tarn_status (*below)(tn_payload *payload, const tn_index_key *key, bool or_equal,
                       roaring_bitmap_t **out, tarn_error *err);
  tarn_status (*nulls)(tn_payload *payload, roaring_bitmap_t **out, tarn_error *err);
  bool negations_keep_nulls; /* NOT-forms need not look for them: whoever tests rows does */
} tn_value_rows_ops;

TN_CHECKED tarn_status tn_payload_test_leaf(const tn_value_rows_ops *ops, tn_payload *payload,
                                            const tn_pred *leaf, tn_index_result *out,
                                            tarn_error *err);

/* ------------------------------------------------------------------ bit slices */

#define TN_MAX_SLICES 64

/* Numbers of rows: bit i of a row's number is whether slices[i] has the row. */
typedef struct tn_bit_slices {
  roaring_bitmap_t *all; /* rows that have a number; NULL: no row has */
  int32_t n_slices;
  roaring_bitmap_t *slices[TN_MAX_SLICES];
} tn_bit_slices;

void tn_bit_slices_reset(tn_bit_slices *slices); /* accepts all zero and what failed half-way */
/* Rows with this number; rows with a number below `bound`. */
TN_CHECKED tarn_status tn_bit_slices_equal(const tn_bit_slices *slices, uint64_t number,
                                           roaring_bitmap_t **out, tarn_error *err);
TN_CHECKED tarn_status tn_bit_slices_below(const tn_bit_slices *slices, uint64_t bound,
                                           roaring_bitmap_t **out, tarn_error *err);
/* A copy of `all`. */
TN_CHECKED tarn_status tn_bit_slices_all(const tn_bit_slices *slices, roaring_bitmap_t **out,
                                         tarn_error *err);

#endif
