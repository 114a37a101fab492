/* arrow_rows.c - two passes over the rows: how much text there is and which columns have nulls,
 * while all lengths are checked; then the values.
 *
 *   block   head, arrays of the children, pointers to them, pointers to buffers; then the buffers,
 *           each at a multiple of 64 bytes, as the interface recommends
 */
#include "lookup/arrow_rows.h"

#include "base/bytes.h"
#include "base/checked.h"

#define ALIGN_BYTES ((size_t)64)
#define CHARGED_BYTES 4096u /* blocks that are counted to the budget, as column/buffer.h does */
#define ALIGNED(n) tn_round_up(n, ALIGN_BYTES)

typedef struct block {
  _Atomic int64_t refs; /* of the array and of each child that was not released */
  tarn_env *env;
  size_t charged_bytes;
  const void *no_buffers[1]; /* of the array: no validity */
} block;

/* A stored column, and what is filled of it. */
typedef struct column {
  tn_layout layout;
  int32_t width; /* of fixed layouts */
  int32_t out;   /* -1: not wanted */
  int64_t n_nulls;
  size_t n_bytes; /* BYTES: of all values */
  uint8_t *valid, *values;
  int32_t *offsets;
} column;

bool tn_row_type_is_plain(const tn_type *type) {
  tn_layout layout = tn_type_layout(type);
  if (type->root == TN_TIMESTAMP || type->root == TN_TIMESTAMP_LTZ) {
    return type->precision > 0 && type->precision < 7;
  }
  return layout == TN_LAYOUT_BIT || layout == TN_LAYOUT_BYTES || tn_layout_width(layout) > 0;
}

/* ------------------------------------------------------------------ release */

static void let_go(block *b, int64_t n) {
  if (atomic_fetch_sub_explicit(&b->refs, n, memory_order_acq_rel) == n) {
    tn_mem *mem = &b->env->mem;
    if (b->charged_bytes > 0) {
      tn_unreserve(mem, b->charged_bytes);
    }
    tn_free(mem, b);
  }
}

static void release_child(struct ArrowArray *array) {
  block *b = array->private_data;
  array->release = NULL;
  let_go(b, 1);
}

static void release_rows(struct ArrowArray *array) {
  block *b = array->private_data;
  int64_t n = 1;
  for (int64_t i = 0; i < array->n_children; i++) {
    if (array->children[i]->release != NULL) {
      array->children[i]->release = NULL;
      n++;
    }
  }
  array->release = NULL;
  let_go(b, n);
}

/* ------------------------------------------------------------------ measuring */

static tarn_status cut_off(tarn_error *err) {
  return tn_fail(err, TARN_E_CORRUPT, "a row of a lookup file ends early");
}

static tarn_status measure_value(column *c, const uint8_t **at, const uint8_t *end,
                                 tarn_error *err) {
  size_t left = (size_t)(end - *at), n = (size_t)c->width;
  if (c->layout == TN_LAYOUT_BYTES) {
    if (left < 4) {
      return cut_off(err);
    }
    n = tn_load_le32(*at) + (size_t)4;
    c->n_bytes += n - 4;
  }
  if (n > left) {
    return cut_off(err);
  }
  *at += n;
  return TARN_OK;
}

static tarn_status measure_row(const tn_lookup_layout *layout, const uint8_t *data,
                               const tn_lookup_row *row, column *columns, tarn_error *err) {
  const uint8_t *at = data + row->key_at, *end = data + row->values_at;
  for (int32_t k = 0; k < layout->n_fields; k++) {
    if (k == layout->n_keys) {
      at = data + row->values_at;
      end = data + row->end;
    }
    if (k >= layout->n_keys) {
      if (at == end) {
        return cut_off(err);
      }
      if (*at++ == 0) {
        columns[k].n_nulls++;
        continue;
      }
    }
    TN_TRY(measure_value(&columns[k], &at, end, err));
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ filling */

static inline void put_fixed(column *c, int64_t i, const uint8_t *from) {
  switch (c->width) { /* sizes that the compiler knows */
    case 8:
      memcpy(c->values + i * 8, from, 8);
      break;
    case 4:
      memcpy(c->values + i * 4, from, 4);
      break;
    default:
      memcpy(c->values + i * c->width, from, (size_t)c->width);
      break;
  }
}

static void put_null(column *c, int64_t i) {
  tn_bit_clear(c->valid, i);
  if (c->layout == TN_LAYOUT_BYTES) {
    c->offsets[i + 1] = c->offsets[i];
  } else if (c->layout == TN_LAYOUT_BIT) {
    tn_bit_clear(c->values, i);
  } else {
    memset(c->values + i * c->width, 0, (size_t)c->width);
  }
}

/* A value of a wanted column, or over one; the lengths are checked. */
static const uint8_t *put_value(column *c, int64_t i, const uint8_t *at) {
  if (c->layout == TN_LAYOUT_BYTES) {
    uint32_t n = tn_load_le32(at);
    if (c->out >= 0) {
      int32_t begin = c->offsets[i];
      memcpy(c->values + begin, at + 4, n);
      c->offsets[i + 1] = begin + (int32_t)n;
    }
    return at + 4 + n;
  }
  if (c->out < 0) {
    return at + c->width;
  }
  if (c->layout == TN_LAYOUT_BIT) {
    if (*at != 0) {
      tn_bit_set(c->values, i);
    } else {
      tn_bit_clear(c->values, i);
    }
  } else {
    put_fixed(c, i, at);
  }
  return at + c->width;
}

static void put_row(const tn_lookup_layout *layout, const uint8_t *data, const tn_lookup_row *row,
                    int64_t i, column *columns) {
  const uint8_t *at = data + row->key_at;
  for (int32_t k = 0; k < layout->n_fields; k++) {
    at = k == layout->n_keys ? data + row->values_at : at;
    if (k < layout->n_keys || *at++ != 0) {
      at = put_value(&columns[k], i, at);
    } else if (columns[k].out >= 0) {
      put_null(&columns[k], i);
    }
  }
}

/* ------------------------------------------------------------------ the block */

static size_t values_bytes(const column *c, int64_t n) {
  return c->layout == TN_LAYOUT_BYTES ? c->n_bytes
         : c->layout == TN_LAYOUT_BIT ? TN_BITMAP_BYTES(n)
                                      : (size_t)n * (size_t)c->width;
}

static size_t column_bytes(const column *c, int64_t n) {
  return (c->n_nulls > 0 ? ALIGNED(TN_BITMAP_BYTES(n)) : 0) +
         (c->layout == TN_LAYOUT_BYTES ? ALIGNED((size_t)(n + 1) * 4) : 0) +
         ALIGNED(values_bytes(c, n));
}

/* Places of a column's buffers, from `at` on, and its array. */
static uint8_t *lay_out_column(column *c, int64_t n, uint8_t *at, const void **buffers,
                               struct ArrowArray *out) {
  c->valid = NULL;
  if (c->n_nulls > 0) {
    c->valid = at;
    memset(at, 0xff, TN_BITMAP_BYTES(n));
    at += ALIGNED(TN_BITMAP_BYTES(n));
  }
  if (c->layout == TN_LAYOUT_BYTES) {
    c->offsets = (int32_t *)(void *)at;
    c->offsets[0] = 0;
    at += ALIGNED((size_t)(n + 1) * 4);
  }
  c->values = at;
  if (c->layout == TN_LAYOUT_BIT) {
    memset(at, 0, TN_BITMAP_BYTES(n));
  }
  buffers[0] = c->valid;
  buffers[1] = c->layout == TN_LAYOUT_BYTES ? (const void *)c->offsets : c->values;
  buffers[2] = c->values;
  *out = (struct ArrowArray){.length = n,
                             .null_count = c->n_nulls,
                             .n_buffers = c->layout == TN_LAYOUT_BYTES ? 3 : 2,
                             .buffers = buffers,
                             .release = release_child};
  return at + ALIGNED(values_bytes(c, n));
}

static tarn_status make_block(tarn_env *env, const tn_rows_shape *shape, column *columns, int64_t n,
                              struct ArrowArray *out, tarn_error *err) {
  size_t n_out = (size_t)shape->n_out;
  size_t n_head = sizeof(block) + n_out * (sizeof(struct ArrowArray) + 4 * sizeof(void *));
  size_t n_all = n_head + ALIGN_BYTES, n_charged;
  struct ArrowArray *arrays, **children;
  const void **buffers;
  uint8_t *at;
  block *b;
  for (int32_t k = 0; k < shape->layout->n_fields; k++) {
    n_all += columns[k].out >= 0 ? column_bytes(&columns[k], n) : 0;
  }
  n_charged = n_all >= CHARGED_BYTES ? n_all : 0;
  if (n_charged > 0) {
    TN_TRY(tn_env_reserve(env, n_charged, "rows that were looked up", err));
  }
  b = tn_alloc(&env->mem, n_all);
  if (b == NULL) {
    tn_unreserve(&env->mem, n_charged);
    return tn_oom(err);
  }
  atomic_init(&b->refs, (int64_t)n_out + 1);
  b->env = env;
  b->charged_bytes = n_charged;
  b->no_buffers[0] = NULL;
  arrays = (struct ArrowArray *)(void *)(b + 1);
  children = (struct ArrowArray **)(void *)(arrays + n_out);
  buffers = (const void **)(void *)(children + n_out);
  at = (uint8_t *)ALIGNED((uintptr_t)b + n_head);
  for (int32_t k = 0; k < shape->layout->n_fields; k++) {
    int32_t i = columns[k].out;
    if (i >= 0) {
      at = lay_out_column(&columns[k], n, at, buffers + (size_t)i * 3, &arrays[i]);
      arrays[i].private_data = b;
      children[i] = &arrays[i];
    }
  }
  *out = (struct ArrowArray){.length = n,
                             .n_buffers = 1,
                             .buffers = b->no_buffers,
                             .n_children = shape->n_out,
                             .children = children,
                             .release = release_rows,
                             .private_data = b};
  return TARN_OK;
}

tarn_status tn_rows_to_array(tarn_env *env, tn_arena *arena, const tn_rows_shape *shape,
                             const tn_lookup_row *const *rows, int64_t n, const tn_buf *bytes,
                             struct ArrowArray *out, tarn_error *err) {
  const tn_lookup_layout *layout = shape->layout;
  column *columns = tn_arena_calloc(arena, (size_t)layout->n_fields, sizeof(*columns));
  if (columns == NULL) {
    return tn_oom(err);
  }
  for (int32_t k = 0; k < layout->n_fields; k++) {
    columns[k].layout = tn_type_layout(&layout->fields[k].type);
    columns[k].width =
        columns[k].layout == TN_LAYOUT_BIT ? 1 : (int32_t)tn_layout_width(columns[k].layout);
    columns[k].out = shape->stored_out[k];
  }
  for (int64_t i = 0; i < n; i++) {
    TN_TRY(measure_row(layout, tn_lookup_row_data(rows[i], bytes), rows[i], columns, err));
  }
  for (int32_t k = 0; k < layout->n_fields; k++) {
    if (columns[k].n_bytes > INT32_MAX) {
      return tn_fail(err, TARN_E_LIMIT,
                     "more than 2 GiB in one column: look up fewer keys at once");
    }
  }
  TN_TRY(make_block(env, shape, columns, n, out, err));
  for (int64_t i = 0; i < n; i++) {
    put_row(layout, tn_lookup_row_data(rows[i], bytes), rows[i], i, columns);
  }
  return TARN_OK;
}
