/* arrow_import_nested.c - arrays with children as vectors: structs, lists, dictionaries.
 *
 * Elements of lists that lie one behind the other are imported as they lie; where they are
 * scattered, the range that they span is, and they are taken from it.
 */
#include "base/checked.h"
#include "column/arrow_import_parts.h"
#include "column/bits.h"
#include "column/type_text.h"
#include "column/vector_parts.h"

/* ------------------------------------------------------------------ structs */

/* Children of a struct: rows [begin, begin + n), the array's offset counted in. */
tarn_status tn_import_fields(tarn_env *env, const tn_import_node *node,
                             const struct ArrowArray *array, int64_t begin, int64_t n, tn_vec *out,
                             tarn_error *err) {
  for (int32_t i = 0; i < node->n_children; i++) {
    const tn_import_node *child = &node->children[i];
    if (node->places[i] < 0) {
      tn_vec_reset(env, &out->children[i]);
      TN_TRY(tn_vec_init_nulls(env, child->type, n, true, &out->children[i], err));
      continue;
    }
    TN_TRY(tn_import_vec(env, child, array->children[node->places[i]], begin, n, &out->children[i],
                         err));
  }
  if (node->type->root == TN_MAP || node->type->root == TN_MULTISET) {
    if (out->children[0].null_count > 0) {
      return tn_import_fault(&node->children[0], 0, err, "a map with a null key");
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ lists */

/* The place and number of the elements of row i. */
static tarn_status list_range(const tn_import_node *node, const struct ArrowArray *array,
                              int64_t row, int64_t *begin, int64_t *len, tarn_error *err) {
  if (node->kind == TN_IMPORT_FIXED_LIST) {
    *len = node->width;
    if (!tn_mul_i64(row, node->width, begin)) {
      return tn_import_fault(node, 0, err, "more elements than can be counted");
    }
  } else {
    *begin = tn_import_int(array->buffers[1], node->width, false, row);
    *len = node->kind == TN_IMPORT_LIST
               ? tn_import_int(array->buffers[1], node->width, false, row + 1) - *begin
               : tn_import_int(array->buffers[2], node->width, false, row);
  }
  if (*begin < 0 || *len < 0 || *len > array->children[0]->length - *begin) {
    return tn_import_fault(node, 0, err, "a list outside of its elements");
  }
  return TARN_OK;
}

/* out->offsets, and whether the elements lie one behind the other from *begin on. */
static tarn_status import_list_offsets(const tn_import_node *node, const struct ArrowArray *array,
                                       int64_t first, int64_t n, tn_vec *out, int64_t *begin,
                                       bool *is_dense, tarn_error *err) {
  int64_t total = 0, next = 0;
  *is_dense = true;
  *begin = 0;
  out->offsets[0] = 0;
  for (int64_t i = 0; i < n; i++) {
    bool is_null = tn_import_is_null(out, i);
    int64_t at, len;
    TN_TRY(list_range(node, array, first + i, &at, &len, err));
    if (!is_null && len > 0) {
      *begin = total == 0 ? at : *begin;
      *is_dense &= total == 0 || at == next;
      next = at + len;
      total += len;
    }
    if (total > INT32_MAX) {
      return tn_fail(err, TARN_E_LIMIT,
                     "column '%s': more than 2147483647 elements in one batch; write fewer rows at "
                     "once",
                     node->path);
    }
    out->offsets[i + 1] = (int32_t)total;
  }
  return TARN_OK;
}

/* Elements that lie anywhere: imported over the range they span, then taken. */
static tarn_status import_scattered(tarn_env *env, const tn_import_node *node,
                                    const struct ArrowArray *array, int64_t first, tn_vec *out,
                                    tarn_error *err) {
  int64_t n = out->length, low = INT64_MAX, high = 0, at, len, total = 0;
  tn_vec span = {0};
  tn_buffer *rows = NULL;
  tarn_status st = TARN_OK;
  for (int64_t i = 0; i < n; i++) {
    if (out->offsets[i + 1] > out->offsets[i]) {
      TN_TRY(list_range(node, array, first + i, &at, &len, err));
      low = at < low ? at : low;
      high = at + len > high ? at + len : high;
    }
  }
  if (high - low > UINT32_MAX) {
    return tn_import_fault(node, 0, err, "elements that lie too far apart");
  }
  TN_TRY(tn_buffer_create(env, (size_t)out->offsets[n] * sizeof(uint32_t), &rows, err));
  TN_TRY_TO(done,
            tn_vec_init_as(env, node->children[0].type, node->children[0].layout, &span, err));
  TN_TRY_TO(done, tn_import_vec(env, &node->children[0], array->children[0], low, high - low, &span,
                                err));
  for (int64_t i = 0; i < n; i++) {
    if (out->offsets[i + 1] > out->offsets[i]) {
      TN_TRY_TO(done, list_range(node, array, first + i, &at, &len, err));
      for (int64_t k = 0; k < len; k++) {
        ((uint32_t *)(void *)rows->data)[total++] = (uint32_t)(at - low + k);
      }
    }
  }
  TN_TRY_TO(done, tn_vec_take(env, &span, (const uint32_t *)(const void *)rows->data, total,
                              &out->children[0], err));
done:
  tn_vec_reset(env, &span);
  tn_buffer_release(rows);
  return st;
}

/* What the lists of vectors span, each of which must have their length; nulls have none. *is_dense:
 * the vectors lie one behind the other from *low on. */
static tarn_status find_vectors(const tn_import_node *node, const struct ArrowArray *array,
                                int64_t first, const tn_vec *out, int64_t *low, int64_t *high,
                                bool *is_dense, tarn_error *err) {
  int64_t width = node->type->length, at, len;
  *low = INT64_MAX;
  *high = 0;
  *is_dense = out->null_count == 0;
  for (int64_t i = 0; i < out->length; i++) {
    if (tn_import_is_null(out, i)) {
      continue;
    }
    TN_TRY(list_range(node, array, first + i, &at, &len, err));
    if (len != width) {
      return tn_import_fault(node, i, err, "a list of %lld elements is no %s", (long long)len,
                             tn_type_text_of(node->type).text);
    }
    *is_dense &= i == 0 || at == *high;
    *low = at < *low ? at : *low;
    *high = at + len > *high ? at + len : *high;
  }
  if (out->length > INT32_MAX / (width + 1) || *high - *low > UINT32_MAX) {
    return tn_fail(err, TARN_E_LIMIT,
                   "column '%s': more elements than one batch can hold; write fewer rows at once",
                   node->path);
  }
  return TARN_OK;
}

/* Lists that are all as long as the vectors that are wanted. */
static tarn_status import_vectors(tarn_env *env, const tn_import_node *node,
                                  const struct ArrowArray *array, int64_t first, tn_vec *out,
                                  tarn_error *err) {
  const tn_import_node *element = &node->children[0];
  int64_t width = node->type->length, low, high, at, len;
  tn_vec span = {0}, null = {0};
  const tn_vec *sources[2] = {&span, &null};
  tn_row_ref *refs = NULL;
  bool is_dense;
  tarn_status st;
  TN_TRY(find_vectors(node, array, first, out, &low, &high, &is_dense, err));
  if (is_dense && out->length > 0) {
    return tn_import_vec(env, element, array->children[0], low, high - low, &out->children[0], err);
  }
  refs = tn_alloc(&env->mem, (size_t)(out->length * width + 1) * sizeof(*refs));
  if (refs == NULL) {
    return tn_oom(err);
  }
  TN_TRY_TO(done, tn_vec_init_nulls(env, element->type, 1, true, &null, err));
  TN_TRY_TO(done, tn_vec_init_as(env, element->type, element->layout, &span, err));
  if (high > low) {
    TN_TRY_TO(done, tn_import_vec(env, element, array->children[0], low, high - low, &span, err));
  }
  for (int64_t i = 0; i < out->length; i++) {
    bool is_null = tn_import_is_null(out, i);
    if (!is_null) {
      TN_TRY_TO(done, list_range(node, array, first + i, &at, &len, err));
    }
    for (int64_t k = 0; k < width; k++) {
      refs[i * width + k] =
          is_null ? (tn_row_ref){1, 0} : (tn_row_ref){0, (uint32_t)(at - low + k)};
    }
  }
  st = tn_vec_gather(env, element->type, sources, 2, refs, out->length * width, &out->children[0],
                     err);
done:
  tn_free(&env->mem, refs);
  tn_vec_reset(env, &span);
  tn_vec_reset(env, &null);
  return st;
}

tarn_status tn_import_list(tarn_env *env, const tn_import_node *node,
                           const struct ArrowArray *array, int64_t first, int64_t n, tn_vec *out,
                           tarn_error *err) {
  int64_t begin;
  bool is_dense;
  if (array->children[0] == NULL ||
      (node->kind != TN_IMPORT_FIXED_LIST && n > 0 &&
       (array->buffers[1] == NULL || array->buffers[array->n_buffers - 1] == NULL))) {
    return tn_import_fault(node, 0, err, "an array without offsets");
  }
  if (out->layout == TN_LAYOUT_FIXED_LIST && node->kind != TN_IMPORT_FIXED_LIST) {
    return import_vectors(env, node, array, first, out, err);
  }
  if (out->layout == TN_LAYOUT_FIXED_LIST) {
    int64_t last, len;
    if (n == 0) {
      return TARN_OK;
    }
    TN_TRY(list_range(node, array, first, &begin, &len, err));
    TN_TRY(list_range(node, array, first + n - 1, &last, &len, err));
    return tn_import_vec(env, &node->children[0], array->children[0], begin, n * node->width,
                         &out->children[0], err);
  }
  TN_TRY(tn_buffer_create(env, (size_t)(n + 1) * sizeof(int32_t), &out->offsets_buffer, err));
  tn_vec_set_pointers(out);
  TN_TRY(import_list_offsets(node, array, first, n, out, &begin, &is_dense, err));
  if (!is_dense) {
    return import_scattered(env, node, array, first, out, err);
  }
  return tn_import_vec(env, &node->children[0], array->children[0], begin, out->offsets[n],
                       &out->children[0], err);
}

/* ------------------------------------------------------------------ dictionaries */

/* Codes as int32 within the dictionary; those of nulls are 0. */
static tarn_status import_codes(const tn_import_node *node, const struct ArrowArray *array,
                                int64_t first, int64_t n, const tn_vec *valid, int32_t *codes,
                                tarn_error *err) {
  int64_t size = array->dictionary->length;
  for (int64_t i = 0; i < n; i++) {
    int64_t code = 0;
    if (valid->valid == NULL || tn_bit_get(valid->valid, i)) {
      code = tn_import_int(array->buffers[1], node->width, node->is_unsigned, first + i);
      if (code < 0 || code >= size || code > INT32_MAX) {
        return tn_import_fault(node, i, err, "code %lld of a dictionary of %lld values",
                               (long long)code, (long long)size);
      }
    }
    codes[i] = (int32_t)code;
  }
  return TARN_OK;
}

/* Flat values in place of codes. `out` has the validity of the codes. */
static tarn_status take_codes(tarn_env *env, const tn_vec *values, const int32_t *codes,
                              tn_vec *out, tarn_error *err) {
  int64_t n = out->length;
  tn_vec taken = {0}, null = {0};
  const tn_vec *sources[2] = {values, &null};
  tn_row_ref *refs = NULL;
  tarn_status st;
  TN_TRY_TO(done, tn_vec_init_nulls(env, values->type, 1, true, &null, err));
  refs = tn_alloc(&env->mem, (size_t)n * sizeof(*refs));
  if (refs == NULL) {
    st = tn_oom(err);
    goto done;
  }
  for (int64_t i = 0; i < n; i++) {
    bool is_null = tn_import_is_null(out, i);
    refs[i] = (tn_row_ref){is_null, is_null ? 0 : (uint32_t)codes[i]};
  }
  TN_TRY_TO(done, tn_vec_gather(env, values->type, sources, 2, refs, n, &taken, err));
  tn_vec_reset(env, out);
  tn_vec_move(out, &taken);
done:
  tn_free(&env->mem, refs);
  tn_vec_reset(env, &null);
  return st;
}

tarn_status tn_import_encoded(tarn_env *env, const tn_import_node *node,
                              const struct ArrowArray *array, int64_t first, int64_t n, tn_vec *out,
                              tarn_error *err) {
  tn_vec values = {0};
  tn_buffer *codes = NULL;
  tn_dictionary *dictionary = NULL;
  tarn_status st = TARN_OK;
  bool keeps_codes;
  if (array->buffers[1] == NULL && n > 0) {
    return tn_import_fault(node, 0, err, "an array without values");
  }
  TN_TRY_TO(done, tn_buffer_create(env, (size_t)n * sizeof(int32_t), &codes, err));
  TN_TRY_TO(done, import_codes(node, array, first, n, out, (int32_t *)(void *)codes->data, err));
  TN_TRY_TO(done, tn_vec_init_as(env, node->type, node->layout, &values, err));
  TN_TRY_TO(done, tn_import_vec(env, node->dictionary, array->dictionary, 0,
                                array->dictionary->length, &values, err));
  if (n == 0 || out->null_count == n) { /* perhaps there is no value at all */
    tn_vec_reset(env, out);
    TN_TRY_TO(done, tn_vec_init_nulls(env, node->type, n, true, out, err));
    goto done;
  }
  keeps_codes = node->depth == 0 && values.null_count == 0 && node->layout != TN_LAYOUT_STRUCT &&
                node->layout != TN_LAYOUT_LIST && node->layout != TN_LAYOUT_FIXED_LIST;
  if (!keeps_codes) {
    TN_TRY_TO(done, take_codes(env, &values, (const int32_t *)(const void *)codes->data, out, err));
    goto done;
  }
  TN_TRY_TO(done, tn_dictionary_create(env, &values, &dictionary, err));
  out->encoding = TN_VEC_DICT;
  out->dictionary = dictionary;
  out->values_buffer = codes;
  codes = NULL;
  tn_vec_set_pointers(out);
done:
  tn_vec_reset(env, &values);
  tn_buffer_release(codes);
  return st;
}
