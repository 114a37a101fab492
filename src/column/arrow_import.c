/* arrow_import.c - rows of Arrow arrays as a batch, along the tree of nodes that was prepared
 * (arrow_import_schema.c): what has children by arrow_import_nested.c, the rest by
 * arrow_import_values.c.
 */
#include "column/arrow_import.h"

#include <stdio.h>

#include "base/checked.h"
#include "column/arrow_import_parts.h"
#include "column/bits.h"
#include "column/vector_parts.h"

tarn_status tn_import_fault(const tn_import_node *node, int64_t value, tarn_error *err,
                            const char *fmt, ...) {
  char text[512];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof(text), fmt, args);
  va_end(args);
  if (!node->is_row) {
    return tn_fail(err, TARN_E_INVALID, "column '%s': %s", node->path, text);
  }
  return tn_fail(err, TARN_E_INVALID, "row %lld, column '%s': %s", (long long)(*node->base + value),
                 node->path, text);
}

/* ------------------------------------------------------------------ one array */

tarn_status tn_import_check(const tn_import_node *node, const struct ArrowArray *array,
                            int64_t begin, int64_t n, tarn_error *err) {
  int64_t end;
  if (array == NULL || array->release == NULL) {
    return tn_import_fault(node, 0, err, "an array that is released");
  }
  if (array->length < 0 || array->offset < 0 || begin < 0 || n < 0 || !tn_add_i64(begin, n, &end) ||
      end > array->length || !tn_add_i64(array->offset, array->length, &end) ||
      end > INT64_MAX / 64) {
    return tn_import_fault(
        node, 0, err, "an array of %lld values at offset %lld, where %lld are needed",
        (long long)array->length, (long long)array->offset, (long long)(begin + n));
  }
  if (node->kind == TN_IMPORT_NULLS) {
    return TARN_OK;
  }
  if ((node->n_buffers >= 0 ? array->n_buffers != node->n_buffers : array->n_buffers < 3) ||
      array->buffers == NULL || array->n_children != node->n_array_children ||
      (array->n_children > 0 && array->children == NULL) ||
      (node->dictionary != NULL) != (array->dictionary != NULL)) {
    return tn_import_fault(node, 0, err, "an array that is not what its schema says");
  }
  return TARN_OK;
}

tarn_status tn_import_valid(tarn_env *env, const struct ArrowArray *array, int64_t first, int64_t n,
                            tn_vec *out, tarn_error *err) {
  const uint8_t *bits = array->n_buffers > 0 ? array->buffers[0] : NULL;
  if (bits == NULL || array->null_count == 0 || n == 0) {
    return TARN_OK;
  }
  TN_TRY(tn_buffer_create(env, TN_BITMAP_BYTES(n), &out->valid_buffer, err));
  tn_vec_set_pointers(out);
  tn_bits_copy(out->valid, bits, first, n);
  out->null_count = n - tn_bits_count(out->valid, n);
  if (out->null_count == 0) {
    tn_buffer_release(out->valid_buffer);
    out->valid_buffer = NULL;
    out->valid = NULL;
  }
  return TARN_OK;
}

static tarn_status import_content(tarn_env *env, const tn_import_node *node,
                                  const struct ArrowArray *array, int64_t begin, int64_t n,
                                  tn_vec *out, tarn_error *err) {
  int64_t first = array->offset + begin;
  out->length = n;
  TN_TRY(tn_import_valid(env, array, first, n, out, err));
  switch (node->kind) {
    case TN_IMPORT_STRUCT:
      return tn_import_fields(env, node, array, first, n, out, err);
    case TN_IMPORT_LIST:
    case TN_IMPORT_LIST_VIEWS:
    case TN_IMPORT_FIXED_LIST:
      return tn_import_list(env, node, array, first, n, out, err);
    case TN_IMPORT_DICTIONARY:
      return tn_import_encoded(env, node, array, first, n, out, err);
    default:
      return tn_import_values(env, node, array, first, n, out, err);
  }
}

tarn_status tn_import_vec(tarn_env *env, const tn_import_node *node, const struct ArrowArray *array,
                          int64_t begin, int64_t n, tn_vec *out, tarn_error *err) {
  tarn_status st;
  tn_vec_reset(env, out);
  TN_TRY(tn_import_check(node, array, begin, n, err));
  if (node->kind == TN_IMPORT_NULLS) {
    return tn_vec_init_nulls(env, node->type, n, node->depth > 0, out, err);
  }
  TN_TRY(tn_vec_init_as(env, node->type, node->layout, out, err));
  st = import_content(env, node, array, begin, n, out, err);
  if (st != TARN_OK) {
    tn_vec_reset(env, out);
  }
  return st;
}

/* ------------------------------------------------------------------ rows */

static tarn_status check_rows(const tn_arrow_import *import, const struct ArrowArray *array,
                              int64_t begin, int64_t n, tarn_error *err) {
  tn_import_node top = {.kind = TN_IMPORT_STRUCT,
                        .path = "(all)",
                        .n_buffers = 1,
                        .n_array_children = import->n_children};
  const uint8_t *valid;
  TN_TRY(tn_import_check(&top, array, begin, n, err));
  valid = array->buffers[0];
  for (int64_t i = 0; i < n && valid != NULL && array->null_count != 0; i++) {
    if (!tn_bit_get(valid, array->offset + begin + i)) {
      return tn_fail(err, TARN_E_INVALID, "row %lld is null as a whole", (long long)(begin + i));
    }
  }
  return TARN_OK;
}

static tarn_status import_kinds(const tn_arrow_import *import, const struct ArrowArray *array,
                                int64_t begin, int64_t n, const int8_t **kinds, tarn_error *err) {
  tn_import_node node = {.kind = TN_IMPORT_SAME,
                         .path = "(row kinds)",
                         .is_row = true,
                         .base = &import->base,
                         .n_buffers = 2};
  const struct ArrowArray *child = array->children[import->kind_place];
  const uint8_t *valid;
  TN_TRY(tn_import_check(&node, child, array->offset + begin, n, err));
  valid = child->buffers[0];
  for (int64_t i = 0; i < n && valid != NULL && child->null_count != 0; i++) {
    if (!tn_bit_get(valid, child->offset + array->offset + begin + i)) {
      return tn_import_fault(&node, i, err, "a row kind that is null");
    }
  }
  if (n > 0 && child->buffers[1] == NULL) {
    return tn_import_fault(&node, 0, err, "an array without values");
  }
  *kinds = n > 0 ? (const int8_t *)child->buffers[1] + child->offset + array->offset + begin : NULL;
  return TARN_OK;
}

tarn_status tn_arrow_import_rows(tarn_env *env, tn_arrow_import *import,
                                 const struct ArrowArray *array, int64_t begin, int64_t n,
                                 tn_batch *out, const int8_t **kinds, tarn_error *err) {
  tarn_status st = TARN_OK;
  memset(out, 0, sizeof(*out));
  *kinds = NULL;
  TN_TRY(check_rows(import, array, begin, n, err));
  import->base = begin;
  if (import->kind_place >= 0) {
    TN_TRY(import_kinds(import, array, begin, n, kinds, err));
  }
  TN_TRY(tn_batch_init(env, import->fields, import->n_fields, out, err));
  for (int32_t i = 0; i < import->n_fields && st == TARN_OK; i++) {
    tn_vec *vec = &out->columns[i];
    if (import->places[i] < 0) {
      tn_vec_reset(env, vec);
      st = tn_vec_init_nulls(env, &import->fields[i].type, n, false, vec, err);
    } else {
      st = tn_import_vec(env, &import->nodes[i], array->children[import->places[i]],
                         array->offset + begin, n, vec, err);
    }
  }
  out->n_rows = n;
  if (st != TARN_OK) {
    tn_batch_reset(env, out);
  }
  return st;
}
