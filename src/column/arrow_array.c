/* arrow_array.c - batches as Arrow arrays: buffers are handed over, not copied.
 *
 * Every array owns references to its buffers and the memory of its children's structs, but not what
 * a consumer has moved out of a child. Release callbacks touch only counted buffers and the
 * allocator, so any thread may run them.
 */
#include "base/bytes.h"
#include "base/checked.h"
#include "column/arrow.h"

typedef struct array_private {
  tarn_env *env;
  tn_buffer *owned[3];
  const void *buffers[3];
  struct ArrowArray *storage;
  struct ArrowArray **children;
} array_private;

/* What the export of one column needs at every depth. */
typedef struct exporter {
  tarn_env *env;
  const tn_arrow_options *options;
  const char *column;
} exporter;

/* In place of a buffer that an empty vector lacks: offsets and values of nothing. */
static const TN_ALIGNED(64) uint8_t nothing[64] = {0};

static void release_array(struct ArrowArray *array) {
  array_private *p = array->private_data;
  tn_mem *mem = &p->env->mem;
  for (int64_t i = 0; i < array->n_children; i++) {
    if (p->storage[i].release != NULL) {
      p->storage[i].release(&p->storage[i]);
    }
  }
  for (int i = 0; i < 3; i++) {
    tn_buffer_release(p->owned[i]);
  }
  tn_free(mem, p->storage);
  tn_free(mem, (void *)p->children);
  tn_free(mem, p);
  array->release = NULL;
}

/* An array without buffers and with children that are released; out->release is set. */
static tarn_status begin_array(tarn_env *env, int64_t length, int32_t n_children,
                               struct ArrowArray *out, tarn_error *err) {
  array_private *p = tn_calloc(&env->mem, 1, sizeof(*p));
  memset(out, 0, sizeof(*out));
  if (p == NULL) {
    return tn_oom(err);
  }
  p->env = env;
  out->private_data = p;
  out->release = release_array;
  if (n_children > 0) {
    p->storage = tn_calloc(&env->mem, (size_t)n_children, sizeof(*p->storage));
    p->children = tn_calloc(&env->mem, (size_t)n_children, sizeof(*p->children));
    if (p->storage == NULL || p->children == NULL) {
      release_array(out);
      return tn_oom(err);
    }
  }
  for (int32_t i = 0; i < n_children; i++) {
    p->children[i] = &p->storage[i];
  }
  out->length = length;
  out->n_children = n_children;
  out->children = p->children;
  out->n_buffers = 1;
  out->buffers = p->buffers;
  return TARN_OK;
}

/* ------------------------------------------------------------------ timestamps */

static bool is_timestamp(const tn_vec *vec) {
  return vec->n_children == 0 &&
         (vec->type->root == TN_TIMESTAMP || vec->type->root == TN_TIMESTAMP_LTZ);
}

/* TIMESTAMP(0): milliseconds to seconds. */
static tarn_status to_seconds(const exporter *e, const tn_vec *vec, int64_t *out, tarn_error *err) {
  const int64_t *millis = vec->values;
  for (int64_t i = 0; i < vec->length; i++) {
    if (vec->valid != NULL && !tn_bit_get(vec->valid, i)) {
      out[i] = 0;
      continue;
    }
    out[i] = millis[i] / 1000;
    if (out[i] * 1000 != millis[i]) {
      return tn_fail(err, TARN_E_LIMIT,
                     "column \"%s\": a value of %lld ms in a column of whole seconds: the file "
                     "holds more digits than the type declares",
                     e->column, (long long)millis[i]);
    }
  }
  return TARN_OK;
}

/* TIMESTAMP(7-9): 128-bit to 64-bit nanoseconds, or downwards to microseconds. */
static tarn_status to_64_bits(const exporter *e, const tn_vec *vec, int64_t *out, tarn_error *err) {
  const uint8_t *nanos = vec->values;
  bool as_us = e->options != NULL && e->options->timestamp_ns_as_us;
  for (int64_t i = 0; i < vec->length; i++, nanos += 16) {
    tn_i128 value = tn_load_i128(nanos);
    if (vec->valid != NULL && !tn_bit_get(vec->valid, i)) {
      value = 0;
    }
    if (as_us) {
      value = value / 1000 - (value % 1000 < 0);
    }
    out[i] = (int64_t)value;
    if (out[i] != value) {
      return tn_fail(err, TARN_E_LIMIT,
                     "column \"%s\": a timestamp does not fit in 64 bits of %s (row %lld of the "
                     "batch)",
                     e->column, as_us ? "microseconds" : "nanoseconds", (long long)i);
    }
  }
  return TARN_OK;
}

static tarn_status convert_timestamps(const exporter *e, tn_vec *vec, tarn_error *err) {
  int32_t p = vec->type->precision;
  tarn_status st;
  tn_buffer *converted;
  if (!is_timestamp(vec) || (p > 0 && p < 7) || vec->length == 0 ||
      tn_arrow_gives_decimal(vec->type, e->options)) {
    return TARN_OK;
  }
  TN_TRY(tn_buffer_create(e->env, (size_t)vec->length * sizeof(int64_t), &converted, err));
  st = p == 0 ? to_seconds(e, vec, (int64_t *)(void *)converted->data, err)
              : to_64_bits(e, vec, (int64_t *)(void *)converted->data, err);
  if (st != TARN_OK) {
    tn_buffer_release(converted);
    return st;
  }
  tn_buffer_release(vec->values_buffer);
  vec->values_buffer = converted;
  vec->values = converted->data;
  return TARN_OK;
}

/* ------------------------------------------------------------------ vectors */

/* Move a buffer into place i; `nothing` where the vector has none. */
static void move_buffer(array_private *p, int i, tn_buffer **buffer) {
  p->owned[i] = *buffer;
  p->buffers[i] = *buffer != NULL ? (*buffer)->data : nothing;
  *buffer = NULL;
}

static void move_buffers(tn_vec *vec, struct ArrowArray *out) {
  array_private *p = out->private_data;
  if (vec->null_count > 0) {
    move_buffer(p, 0, &vec->valid_buffer);
    out->null_count = vec->null_count;
  }
  switch (vec->layout) {
    case TN_LAYOUT_STRUCT:
    case TN_LAYOUT_FIXED_LIST:
      break;
    case TN_LAYOUT_BYTES:
      move_buffer(p, 1, &vec->offsets_buffer);
      move_buffer(p, 2, &vec->values_buffer);
      out->n_buffers = 3;
      break;
    case TN_LAYOUT_LIST:
      move_buffer(p, 1, &vec->offsets_buffer);
      out->n_buffers = 2;
      break;
    default:
      move_buffer(p, 1, &vec->values_buffer);
      out->n_buffers = 2;
      break;
  }
}

static tarn_status export_vec(const exporter *e, tn_vec *vec, struct ArrowArray *out,
                              tarn_error *err) {
  tarn_status st = TARN_OK;
  bool is_map = vec->layout == TN_LAYOUT_LIST && vec->type->root != TN_ARRAY;
  TN_TRY(tn_vec_flatten(e->env, vec, err));
  TN_TRY(convert_timestamps(e, vec, err));
  if (is_map && vec->children[0].children[0].null_count > 0) {
    return tn_fail(err, TARN_E_UNSUPPORTED,
                   "column \"%s\": a map with a null key, which Arrow maps cannot hold", e->column);
  }
  TN_TRY(begin_array(e->env, vec->length, vec->n_children, out, err));
  for (int32_t i = 0; i < vec->n_children; i++) {
    TN_TRY_TO(fail, export_vec(e, &vec->children[i], out->children[i], err));
  }
  move_buffers(vec, out);
  return TARN_OK;
fail:
  release_array(out);
  return st;
}

tarn_status tn_arrow_export_batch(tarn_env *env, tn_batch *batch, const tn_arrow_options *options,
                                  struct ArrowArray *out, tarn_error *err) {
  tarn_status st = begin_array(env, batch->n_rows, batch->n_columns, out, err);
  for (int32_t i = 0; i < batch->n_columns && st == TARN_OK; i++) {
    exporter e = {env, options, batch->fields[i].name};
    st = batch->columns[i].length == batch->n_rows
             ? export_vec(&e, &batch->columns[i], out->children[i], err)
             : TN_BUG(err, "column of another length than its batch");
  }
  if (st != TARN_OK && out->release != NULL) {
    release_array(out);
  }
  tn_batch_reset(env, batch);
  return st;
}
