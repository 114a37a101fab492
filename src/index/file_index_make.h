/* file_index_make.h - what the makers of the kinds share. Internal.
 *
 *   file_index_options.c   which indexes are wanted
 *   file_index_write.c     the container; values of columns and of map keys
 *   file_index_make.c      bloom-filter, bsi
 *   file_index_groups.c    bitmap, range-bitmap: the rows of each value
 */
#ifndef TN_INDEX_FILE_INDEX_MAKE_H
#define TN_INDEX_FILE_INDEX_MAKE_H

#include "index/file_index_payload.h"
#include "index/file_index_write.h"

typedef struct tn_maker_kind tn_maker_kind;

/* One index under construction. */
typedef struct tn_index_maker {
  const tn_maker_kind *kind;
  const tn_index_spec *spec;
  tarn_env *env;
  tn_index_code code;
  void *state;
  size_t reserved_bytes; /* of the memory budget */
  uint32_t n_rows;
  bool has_value;
} tn_index_maker;

struct tn_maker_kind {
  const char *name;
  bool (*takes)(const tn_type *type);
  tarn_status (*create)(tn_index_maker *maker, tarn_error *err);
  void (*free)(tn_index_maker *maker); /* also after a failed create */
  /* The value of row maker->n_rows, which is not null; nulls are told by add_null, which may be
   * NULL. */
  tarn_status (*add)(tn_index_maker *maker, const tn_datum *value, tarn_error *err);
  tarn_status (*add_null)(tn_index_maker *maker, tarn_error *err);
  tarn_status (*finish)(tn_index_maker *maker, tn_buf *out, tarn_error *err);
};

extern const tn_maker_kind tn_bloom_maker;
extern const tn_maker_kind tn_bsi_maker;
extern const tn_maker_kind tn_bitmap_maker;
extern const tn_maker_kind tn_range_bitmap_maker;

/* NULL: no such kind. */
const tn_maker_kind *tn_maker_kind_of(const char *name);

/* Charge the budget for more of the index. */
TN_CHECKED tarn_status tn_maker_reserve(tn_index_maker *maker, size_t n_bytes, tarn_error *err);
/* A value as an integer: ticks cut to microseconds. INVALID: it does not fit 64 bits. */
TN_CHECKED tarn_status tn_maker_integer(const tn_index_maker *maker, const tn_datum *value,
                                        int64_t *out, tarn_error *err);

/* Big-endian numbers, appended. */
TN_CHECKED tarn_status tn_put_u8(tn_buf *out, uint8_t value, tarn_error *err);
TN_CHECKED tarn_status tn_put_i32(tn_buf *out, int64_t value, tarn_error *err);
TN_CHECKED tarn_status tn_put_i64(tn_buf *out, int64_t value, tarn_error *err);
/* A bitmap with its runs packed. */
TN_CHECKED tarn_status tn_put_bitmap(tn_buf *out, roaring_bitmap_t *bitmap, tarn_error *err);

/* Add a row to a bitmap that is made at its first one. */
TN_CHECKED tarn_status tn_bitmap_add(roaring_bitmap_t **bitmap, uint32_t row, tarn_error *err);

#endif
