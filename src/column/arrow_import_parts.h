/* arrow_import_parts.h - what the files of the import share: how one Arrow array becomes one
 * vector. Internal to column/. */
#ifndef TN_COLUMN_ARROW_IMPORT_PARTS_H
#define TN_COLUMN_ARROW_IMPORT_PARTS_H

#include "base/bytes.h"
#include "column/arrow_import.h"
#include "column/bits.h"

typedef enum tn_import_kind {
  TN_IMPORT_NULLS, /* whatever the array holds: all null */
  TN_IMPORT_BITS,
  TN_IMPORT_SAME,    /* fixed width, as it is */
  TN_IMPORT_INT,     /* a narrower integer */
  TN_IMPORT_FLOAT,   /* a narrower float */
  TN_IMPORT_DECIMAL, /* of any width, to I128 */
  TN_IMPORT_TICKS,   /* dates and times of another unit */
  TN_IMPORT_BYTES,   /* by offsets */
  TN_IMPORT_BYTE_VIEWS,
  TN_IMPORT_FIXED_BYTES,
  TN_IMPORT_LIST, /* by offsets */
  TN_IMPORT_LIST_VIEWS,
  TN_IMPORT_FIXED_LIST, /* to LIST or FIXED_LIST */
  TN_IMPORT_STRUCT,
  TN_IMPORT_DICTIONARY
} tn_import_kind;

typedef struct tn_import_node tn_import_node;
struct tn_import_node {
  tn_import_kind kind;
  const tn_type *type; /* that is wanted; of the entries of a MAP that of the MAP */
  tn_layout layout;
  const char *path; /* "a.b", for messages */
  int32_t depth;    /* 0: a column */
  bool is_row;      /* is the number of a value that of its row, counted from *base? */
  const int64_t *base;
  int32_t width; /* bytes of a value, an offset or a code; elements of a fixed list */
  bool is_unsigned;
  int64_t multiply, divide; /* TICKS */
  int32_t scale_by;         /* DECIMAL: digits to add behind the point */
  tn_i128 min, max;         /* DECIMAL: the least and the greatest value then */
  int64_t n_buffers;        /* that the array must have; -1: one or more (views) */
  int64_t n_array_children;
  int32_t n_children;
  tn_import_node *children; /* one for each child of the vector */
  int32_t *places;          /* their places among the array's children; -1: missing */
  tn_import_node *dictionary;
};

struct tn_arrow_import {
  const tn_field *fields;
  int32_t n_fields;
  tn_import_node *nodes; /* one a field */
  int32_t *places;       /* in the struct; -1: missing */
  int32_t kind_place;    /* -1: none */
  int64_t n_children;    /* of the struct */
  int64_t base;          /* row that is row 0 of the rows at hand */
};

/* begin: without the array's own offset. out is all zero or initialised. */
TN_CHECKED tarn_status tn_import_vec(tarn_env *env, const tn_import_node *node,
                                     const struct ArrowArray *array, int64_t begin, int64_t n,
                                     tn_vec *out, tarn_error *err);
/* "column 'a', row 5" in front of a message. */
tarn_status tn_import_fault(const tn_import_node *node, int64_t value, tarn_error *err,
                            const char *fmt, ...) TN_PRINTF(4, 5);
/* Buffers, children and lengths of an array against its node. */
TN_CHECKED tarn_status tn_import_check(const tn_import_node *node, const struct ArrowArray *array,
                                       int64_t begin, int64_t n, tarn_error *err);
/* The validity of rows [first, first + n), the array's offset counted in. */
TN_CHECKED tarn_status tn_import_valid(tarn_env *env, const struct ArrowArray *array, int64_t first,
                                       int64_t n, tn_vec *out, tarn_error *err);
/* arrow_import_values.c: what has no children. `first` counts the array's offset in; out has its
 * validity. */
TN_CHECKED tarn_status tn_import_values(tarn_env *env, const tn_import_node *node,
                                        const struct ArrowArray *array, int64_t first, int64_t n,
                                        tn_vec *out, tarn_error *err);

/* arrow_import_nested.c: what has children or a dictionary. As tn_import_values(). */
TN_CHECKED tarn_status tn_import_fields(tarn_env *env, const tn_import_node *node,
                                        const struct ArrowArray *array, int64_t first, int64_t n,
                                        tn_vec *out, tarn_error *err);
TN_CHECKED tarn_status tn_import_list(tarn_env *env, const tn_import_node *node,
                                      const struct ArrowArray *array, int64_t first, int64_t n,
                                      tn_vec *out, tarn_error *err);
TN_CHECKED tarn_status tn_import_encoded(tarn_env *env, const tn_import_node *node,
                                         const struct ArrowArray *array, int64_t first, int64_t n,
                                         tn_vec *out, tarn_error *err);

static inline bool tn_import_is_null(const tn_vec *vec, int64_t i) {
  return vec->valid != NULL && !tn_bit_get(vec->valid, i);
}

/* Number i of integers of `width` bytes, at any address. */
static inline int64_t tn_import_int(const void *values, int32_t width, bool is_unsigned,
                                    int64_t i) {
  const uint8_t *p = (const uint8_t *)values + i * width;
  switch (width) {
    case 1:
      return is_unsigned ? (int64_t)*p : (int64_t)(int8_t)*p;
    case 2:
      return is_unsigned ? (int64_t)tn_load_le16(p) : (int64_t)(int16_t)tn_load_le16(p);
    case 4:
      return is_unsigned ? (int64_t)tn_load_le32(p) : (int64_t)(int32_t)tn_load_le32(p);
    default:
      return (int64_t)tn_load_le64(p);
  }
}

#endif
