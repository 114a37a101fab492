/* vector.c - the life of vectors and batches; encodings; validation.
 *
 * Copying rows is in gather.c. Recursion follows the nesting of the type (TN_MAX_TYPE_DEPTH).
 */
#include "column/vector.h"

#include "base/checked.h"
#include "column/bits.h"
#include "column/vector_parts.h"

/* ------------------------------------------------------------------ life */

static int32_t child_count(const tn_type *type, tn_layout layout) {
  switch (layout) {
    case TN_LAYOUT_LIST:
    case TN_LAYOUT_FIXED_LIST:
      return 1;
    case TN_LAYOUT_STRUCT:
      return type->root == TN_VARIANT ? 2 : type->n_fields;
    default:
      return 0;
  }
}

static tarn_status init_child(tarn_env *env, const tn_type *type, tn_layout layout, int32_t i,
                              tn_vec *child, tarn_error *err) {
  static const tn_type variant_part = {
      .root = TN_VARBINARY, .is_nullable = false, .length = INT32_MAX};
  if (layout == TN_LAYOUT_LIST && type->root != TN_ARRAY) {
    return tn_vec_init_as(env, type, TN_LAYOUT_STRUCT, child, err);
  }
  return tn_vec_init(env, type->root == TN_VARIANT ? &variant_part : &type->fields[i].type, child,
                     err);
}

tarn_status tn_vec_init_as(tarn_env *env, const tn_type *type, tn_layout layout, tn_vec *vec,
                           tarn_error *err) {
  int32_t n = child_count(type, layout);
  memset(vec, 0, sizeof(*vec));
  vec->type = type;
  vec->layout = layout;
  if (n == 0) {
    return TARN_OK;
  }
  vec->children = tn_calloc(&env->mem, (size_t)n, sizeof(*vec->children));
  if (vec->children == NULL) {
    memset(vec, 0, sizeof(*vec));
    return tn_oom(err);
  }
  vec->n_children = n;
  for (int32_t i = 0; i < n; i++) {
    tarn_status st = init_child(env, type, layout, i, &vec->children[i], err);
    if (st != TARN_OK) {
      tn_vec_reset(env, vec);
      return st;
    }
  }
  return TARN_OK;
}

tarn_status tn_vec_init(tarn_env *env, const tn_type *type, tn_vec *vec, tarn_error *err) {
  return tn_vec_init_as(env, type, tn_type_layout(type), vec, err);
}

/* Back to an empty flat vector; children stay. */
static void drop_content(tarn_env *env, tn_vec *vec) {
  tn_buffer_release(vec->valid_buffer);
  tn_buffer_release(vec->offsets_buffer);
  tn_buffer_release(vec->values_buffer);
  vec->valid_buffer = vec->offsets_buffer = vec->values_buffer = NULL;
  tn_vec_set_pointers(vec);
  tn_dictionary_release(vec->dictionary);
  vec->dictionary = NULL;
  if (vec->constant != NULL) {
    tn_vec_reset(env, vec->constant);
    tn_free(&env->mem, vec->constant);
    vec->constant = NULL;
  }
  for (int32_t i = 0; i < vec->n_retained; i++) {
    tn_buffer_release(vec->retained[i]);
  }
  tn_free(&env->mem, vec->retained);
  vec->retained = NULL;
  vec->n_retained = vec->retained_capacity = 0;
  vec->encoding = TN_VEC_FLAT;
  vec->length = vec->null_count = 0;
}

void tn_vec_reset(tarn_env *env, tn_vec *vec) {
  drop_content(env, vec);
  for (int32_t i = 0; i < vec->n_children; i++) {
    tn_vec_reset(env, &vec->children[i]);
  }
  tn_free(&env->mem, vec->children);
  memset(vec, 0, sizeof(*vec));
}

void tn_vec_move(tn_vec *to, tn_vec *from) {
  *to = *from;
  memset(from, 0, sizeof(*from));
}

static tarn_status share_retained(tarn_env *env, const tn_vec *from, tn_vec *to, tarn_error *err) {
  for (int32_t i = 0; i < from->n_retained; i++) {
    TN_TRY(tn_vec_retain_buffer(env, to, from->retained[i], err));
  }
  return TARN_OK;
}

static tarn_status share_children(tarn_env *env, const tn_vec *from, tn_vec *to, tarn_error *err) {
  if (from->n_children == 0) {
    return TARN_OK;
  }
  to->children = tn_calloc(&env->mem, (size_t)from->n_children, sizeof(*to->children));
  if (to->children == NULL) {
    return tn_oom(err);
  }
  to->n_children = from->n_children;
  for (int32_t i = 0; i < from->n_children; i++) {
    TN_TRY(tn_vec_share(env, &from->children[i], &to->children[i], err));
  }
  return TARN_OK;
}

static tarn_status share_constant(tarn_env *env, const tn_vec *from, tn_vec *to, tarn_error *err) {
  if (from->constant == NULL) {
    return TARN_OK;
  }
  to->constant = tn_calloc(&env->mem, 1, sizeof(*to->constant));
  if (to->constant == NULL) {
    return tn_oom(err);
  }
  return tn_vec_share(env, from->constant, to->constant, err);
}

tarn_status tn_vec_share(tarn_env *env, const tn_vec *from, tn_vec *to, tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_vec_reset(env, to);
  to->type = from->type;
  to->layout = from->layout;
  to->encoding = from->encoding;
  to->length = from->length;
  to->null_count = from->null_count;
  to->valid_buffer = tn_buffer_retain(from->valid_buffer);
  to->offsets_buffer = tn_buffer_retain(from->offsets_buffer);
  to->values_buffer = tn_buffer_retain(from->values_buffer);
  tn_vec_set_pointers(to);
  to->dictionary = tn_dictionary_retain(from->dictionary);
  TN_TRY_TO(fail, share_constant(env, from, to, err));
  TN_TRY_TO(fail, share_retained(env, from, to, err));
  TN_TRY_TO(fail, share_children(env, from, to, err));
  return TARN_OK;
fail:
  tn_vec_reset(env, to);
  return st;
}

void tn_vec_retype(tn_vec *vec, const tn_type *type) {
  vec->type = type;
  if (vec->encoding == TN_VEC_CONST) {
    tn_vec_retype(vec->constant, type);
    return;
  }
  for (int32_t i = 0; i < vec->n_children; i++) {
    /* The entries of a map carry the map's own type, their children those of key and value. */
    bool is_entries = vec->layout == TN_LAYOUT_LIST && type->root != TN_ARRAY;
    if (type->root != TN_VARIANT) {
      tn_vec_retype(&vec->children[i], is_entries ? type : &type->fields[i].type);
    }
  }
}

/* ------------------------------------------------------------------ buffers */

tarn_status tn_vec_alloc(tarn_env *env, tn_vec *vec, int64_t length, size_t n_bytes,
                         tarn_error *err) {
  size_t width = tn_layout_width(vec->layout), size;
  drop_content(env, vec);
  if (length < 0 || length > INT64_MAX / 32) {
    return tn_oom(err);
  }
  if (width > 0) {
    size = (size_t)length * width;
    TN_TRY(tn_buffer_create(env, size, &vec->values_buffer, err));
  } else if (vec->layout == TN_LAYOUT_BIT) {
    TN_TRY(tn_buffer_create_zeroed(env, TN_BITMAP_BYTES(length), &vec->values_buffer, err));
  } else if (vec->layout == TN_LAYOUT_BYTES || vec->layout == TN_LAYOUT_LIST) {
    TN_TRY(
        tn_buffer_create(env, ((size_t)length + 1) * sizeof(int32_t), &vec->offsets_buffer, err));
    tn_vec_set_pointers(vec);
    vec->offsets[0] = 0;
    if (vec->layout == TN_LAYOUT_BYTES) {
      TN_TRY(tn_buffer_create(env, n_bytes, &vec->values_buffer, err));
    }
  }
  tn_vec_set_pointers(vec);
  vec->length = length;
  return TARN_OK;
}

tarn_status tn_vec_alloc_valid(tarn_env *env, tn_vec *vec, bool is_valid, tarn_error *err) {
  tn_buffer *buffer;
  TN_TRY(tn_buffer_create(env, TN_BITMAP_BYTES(vec->length), &buffer, err));
  tn_buffer_release(vec->valid_buffer);
  vec->valid_buffer = buffer;
  vec->valid = buffer->data;
  tn_bits_fill(vec->valid, vec->length, is_valid);
  vec->null_count = is_valid ? 0 : vec->length;
  return TARN_OK;
}

/* `length` rows of zeros (empty lists) in an empty vector; all null if is_null. */
static tarn_status fill(tarn_env *env, tn_vec *vec, int64_t length, bool is_null, tarn_error *err) {
  size_t width = tn_layout_width(vec->layout);
  TN_TRY(tn_vec_alloc(env, vec, length, 0, err));
  if (width > 0) {
    memset(vec->values, 0, (size_t)length * width);
  } else if (vec->offsets != NULL) {
    memset(vec->offsets, 0, ((size_t)length + 1) * sizeof(int32_t));
  }
  if (is_null) {
    TN_TRY(tn_vec_alloc_valid(env, vec, false, err));
  }
  for (int32_t i = 0; i < vec->n_children; i++) {
    int64_t n = 0;
    if (vec->layout == TN_LAYOUT_STRUCT) {
      n = length;
    } else if (vec->layout == TN_LAYOUT_FIXED_LIST && !tn_mul_i64(length, vec->type->length, &n)) {
      return tn_oom(err);
    }
    TN_TRY(fill(env, &vec->children[i], n, vec->children[i].type->is_nullable, err));
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ encodings */

tarn_status tn_vec_init_nulls(tarn_env *env, const tn_type *type, int64_t length, bool is_flat,
                              tn_vec *vec, tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_vec nulls;
  TN_TRY(tn_vec_init(env, type, &nulls, err));
  TN_TRY_TO(fail, fill(env, &nulls, is_flat ? length : 1, true, err));
  if (!is_flat) {
    return tn_vec_init_const(env, type, length, &nulls, vec, err);
  }
  tn_vec_reset(env, vec);
  tn_vec_move(vec, &nulls);
  return TARN_OK;
fail:
  tn_vec_reset(env, &nulls);
  return st;
}

/* An encoded vector with storage for `length` codes or views. Vectors of nested types keep their
 * (empty) children, so that tn_batch_clear() gives a flat vector that can be filled. */
static tarn_status init_encoded(tarn_env *env, const tn_type *type, tn_vec_encoding encoding,
                                int64_t length, size_t width, tn_vec *vec, tarn_error *err) {
  tn_vec_reset(env, vec);
  if (length < 0 || length > INT64_MAX / 32) {
    return tn_oom(err);
  }
  TN_TRY(tn_vec_init(env, type, vec, err));
  if (width > 0) {
    tarn_status st = tn_buffer_create(env, (size_t)length * width, &vec->values_buffer, err);
    if (st != TARN_OK) {
      tn_vec_reset(env, vec);
      return st;
    }
    tn_vec_set_pointers(vec);
  }
  vec->encoding = encoding;
  vec->length = length;
  return TARN_OK;
}

tarn_status tn_vec_init_dict(tarn_env *env, const tn_type *type, int64_t length,
                             tn_dictionary *dictionary, tn_vec *vec, tarn_error *err) {
  TN_TRY(init_encoded(env, type, TN_VEC_DICT, length, sizeof(int32_t), vec, err));
  vec->dictionary = tn_dictionary_retain(dictionary);
  return TARN_OK;
}

tarn_status tn_vec_init_views(tarn_env *env, const tn_type *type, int64_t length, tn_vec *vec,
                              tarn_error *err) {
  return init_encoded(env, type, TN_VEC_VIEW, length, sizeof(tn_view), vec, err);
}

tarn_status tn_vec_init_const(tarn_env *env, const tn_type *type, int64_t length, tn_vec *constant,
                              tn_vec *vec, tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_vec *moved = tn_alloc(&env->mem, sizeof(*moved));
  if (moved == NULL) {
    tn_vec_reset(env, vec);
    tn_vec_reset(env, constant);
    return tn_oom(err);
  }
  tn_vec_move(moved, constant);
  TN_TRY_TO(fail, init_encoded(env, type, TN_VEC_CONST, length, 0, vec, err));
  vec->constant = moved;
  vec->null_count = moved->null_count > 0 ? length : 0;
  return TARN_OK;
fail:
  tn_vec_reset(env, moved);
  tn_free(&env->mem, moved);
  return st;
}

tarn_status tn_dictionary_create(tarn_env *env, tn_vec *flat, tn_dictionary **out,
                                 tarn_error *err) {
  tn_dictionary *d = tn_alloc(&env->mem, sizeof(*d));
  *out = d;
  if (d == NULL) {
    tn_vec_reset(env, flat);
    return tn_oom(err);
  }
  atomic_init(&d->refs, 1);
  d->env = env;
  tn_vec_move(&d->values, flat);
  return TARN_OK;
}

tn_dictionary *tn_dictionary_retain(tn_dictionary *dictionary) {
  if (dictionary != NULL) {
    atomic_fetch_add_explicit(&dictionary->refs, 1, memory_order_relaxed);
  }
  return dictionary;
}

void tn_dictionary_release(tn_dictionary *dictionary) {
  if (dictionary != NULL &&
      atomic_fetch_sub_explicit(&dictionary->refs, 1, memory_order_acq_rel) == 1) {
    tarn_env *env = dictionary->env;
    tn_vec_reset(env, &dictionary->values);
    tn_free(&env->mem, dictionary);
  }
}

tarn_status tn_vec_retain_buffer(tarn_env *env, tn_vec *vec, tn_buffer *buffer, tarn_error *err) {
  if (vec->n_retained == vec->retained_capacity) {
    int32_t capacity = vec->retained_capacity < 4 ? 4 : vec->retained_capacity * 2;
    tn_buffer **grown =
        tn_realloc(&env->mem, vec->retained, (size_t)capacity * sizeof(*vec->retained));
    if (grown == NULL) {
      return tn_oom(err);
    }
    vec->retained = grown;
    vec->retained_capacity = capacity;
  }
  vec->retained[vec->n_retained++] = tn_buffer_retain(buffer);
  return TARN_OK;
}

/* ------------------------------------------------------------------ rows */

bool tn_vec_is_null(const tn_vec *vec, int64_t i) {
  if (vec->encoding == TN_VEC_CONST) {
    return vec->constant->valid != NULL && !tn_bit_get(vec->constant->valid, 0);
  }
  return vec->valid != NULL && !tn_bit_get(vec->valid, i);
}

static tn_slice flat_bytes(const tn_vec *vec, int64_t i) {
  return tn_slice_of((const uint8_t *)vec->values + vec->offsets[i],
                     (size_t)(vec->offsets[i + 1] - vec->offsets[i]));
}

tn_slice tn_vec_bytes(const tn_vec *vec, int64_t i) {
  const tn_view *views = vec->values;
  switch (vec->encoding) {
    case TN_VEC_FLAT:
      return flat_bytes(vec, i);
    case TN_VEC_VIEW:
      return tn_slice_of(views[i].data, (size_t)views[i].len);
    case TN_VEC_CONST:
      return flat_bytes(vec->constant, 0);
    case TN_VEC_DICT:
      break;
  }
  if (vec->valid != NULL && !tn_bit_get(vec->valid, i)) {
    return tn_slice_of(NULL, 0);
  }
  return flat_bytes(&vec->dictionary->values, ((const int32_t *)vec->values)[i]);
}

/* ------------------------------------------------------------------ validation */

static tarn_status bad(const tn_vec *vec, const char *what, int64_t i, tarn_error *err) {
  return tn_fail(err, TARN_E_CORRUPT, "vector of %lld rows: %s at row %lld", (long long)vec->length,
                 what, (long long)i);
}

static bool has_room(const tn_buffer *buffer, int64_t count, size_t width) {
  return count == 0 || (buffer != NULL && (uint64_t)count <= buffer->capacity / width);
}

static tarn_status validate_nulls(const tn_vec *vec, tarn_error *err) {
  int64_t nulls = 0;
  if (vec->encoding == TN_VEC_CONST) {
    nulls = vec->constant->null_count > 0 ? vec->length : 0;
  } else if (vec->valid != NULL) {
    if (!has_room(vec->valid_buffer, (int64_t)TN_BITMAP_BYTES(vec->length), 1)) {
      return bad(vec, "validity bitmap too short", 0, err);
    }
    nulls = vec->length - tn_bits_count(vec->valid, vec->length);
  }
  return nulls == vec->null_count ? TARN_OK : bad(vec, "wrong count of nulls", nulls, err);
}

static tarn_status validate_offsets(const tn_vec *vec, uint64_t limit, tarn_error *err) {
  if (vec->length == 0 && vec->offsets_buffer == NULL) {
    return TARN_OK;
  }
  if (!has_room(vec->offsets_buffer, vec->length + 1, sizeof(int32_t))) {
    return bad(vec, "offsets too short", 0, err);
  }
  if (vec->offsets[0] != 0) {
    return bad(vec, "first offset is not 0", 0, err);
  }
  for (int64_t i = 0; i < vec->length; i++) {
    int32_t end = vec->offsets[i + 1];
    if (end < vec->offsets[i] || (uint64_t)end > limit) {
      return bad(vec, "offset out of range", i, err);
    }
    if (end > vec->offsets[i] && tn_vec_is_null(vec, i)) {
      return bad(vec, "null with a value", i, err);
    }
  }
  return TARN_OK;
}

static tarn_status validate_children(const tn_vec *vec, tarn_error *err) {
  for (int32_t i = 0; i < vec->n_children; i++) {
    const tn_vec *child = &vec->children[i];
    int64_t n = vec->length;
    if (child->encoding != TN_VEC_FLAT) {
      return bad(vec, "child is encoded", i, err);
    }
    if (vec->layout == TN_LAYOUT_FIXED_LIST && !tn_mul_i64(n, vec->type->length, &n)) {
      return bad(vec, "too many elements", i, err);
    }
    if (vec->layout != TN_LAYOUT_LIST && child->length != n) {
      return bad(vec, "child of another length", i, err);
    }
    TN_TRY(tn_vec_validate(child, err));
  }
  return TARN_OK;
}

static tarn_status validate_flat(const tn_vec *vec, tarn_error *err) {
  size_t width = tn_layout_width(vec->layout);
  if (vec->layout == TN_LAYOUT_BYTES) {
    return validate_offsets(vec, vec->values_buffer != NULL ? vec->values_buffer->capacity : 0,
                            err);
  }
  if (vec->layout == TN_LAYOUT_LIST) {
    TN_TRY(validate_offsets(vec, (uint64_t)vec->children[0].length, err));
  } else if (vec->layout == TN_LAYOUT_BIT) {
    if (!has_room(vec->values_buffer, (int64_t)TN_BITMAP_BYTES(vec->length), 1)) {
      return bad(vec, "values too short", 0, err);
    }
  } else if (width > 0 && !has_room(vec->values_buffer, vec->length, width)) {
    return bad(vec, "values too short", 0, err);
  }
  return validate_children(vec, err);
}

static tarn_status validate_dict(const tn_vec *vec, tarn_error *err) {
  const tn_vec *values = vec->dictionary != NULL ? &vec->dictionary->values : NULL;
  const int32_t *codes = vec->values;
  if (values == NULL || values->encoding != TN_VEC_FLAT || values->null_count != 0 ||
      values->layout != vec->layout) {
    return bad(vec, "not a dictionary for it", 0, err);
  }
  if (!has_room(vec->values_buffer, vec->length, sizeof(*codes))) {
    return bad(vec, "codes too short", 0, err);
  }
  for (int64_t i = 0; i < vec->length; i++) {
    bool is_null = tn_vec_is_null(vec, i);
    if (is_null ? codes[i] != 0 : codes[i] < 0 || codes[i] >= values->length) {
      return bad(vec, "code out of range", i, err);
    }
  }
  return tn_vec_validate(values, err);
}

static bool view_is_inside(const tn_view *view, const tn_buffer *buffer) {
  const uint8_t *begin = buffer->data;
  return view->data >= begin && view->data <= begin + buffer->capacity &&
         view->len <= begin + buffer->capacity - view->data;
}

static tarn_status validate_views(const tn_vec *vec, tarn_error *err) {
  const tn_view *views = vec->values;
  int32_t last = 0;
  if (vec->layout != TN_LAYOUT_BYTES ||
      !has_room(vec->values_buffer, vec->length, sizeof(*views))) {
    return bad(vec, "views too short or not of bytes", 0, err);
  }
  for (int64_t i = 0; i < vec->length; i++) {
    if (views[i].len < 0 || (views[i].len > 0 && tn_vec_is_null(vec, i))) {
      return bad(vec, "negative length or null with a value", i, err);
    }
    for (int32_t tries = 0; views[i].len > 0; tries++, last++) {
      last = last < vec->n_retained ? last : 0;
      if (tries == vec->n_retained) {
        return bad(vec, "view outside of what is retained", i, err);
      }
      if (view_is_inside(&views[i], vec->retained[last])) {
        break;
      }
    }
  }
  return TARN_OK;
}

tarn_status tn_vec_validate(const tn_vec *vec, tarn_error *err) {
  if (vec->type == NULL || vec->length < 0) {
    return bad(vec, "no type or a negative length", 0, err);
  }
  if (vec->encoding == TN_VEC_CONST &&
      (vec->constant == NULL || vec->constant->encoding != TN_VEC_FLAT ||
       vec->constant->length != 1 || vec->constant->layout != vec->layout)) {
    return bad(vec, "not a constant of one row", 0, err);
  }
  TN_TRY(validate_nulls(vec, err));
  switch (vec->encoding) {
    case TN_VEC_FLAT:
      return validate_flat(vec, err);
    case TN_VEC_DICT:
      return validate_dict(vec, err);
    case TN_VEC_VIEW:
      return validate_views(vec, err);
    case TN_VEC_CONST:
      return tn_vec_validate(vec->constant, err);
  }
  return bad(vec, "unknown encoding", 0, err);
}

/* ------------------------------------------------------------------ batches */

static tarn_status init_columns(tarn_env *env, tn_batch *batch, tarn_error *err) {
  for (int32_t i = 0; i < batch->n_columns; i++) {
    TN_TRY(tn_vec_init(env, &batch->fields[i].type, &batch->columns[i], err));
  }
  return TARN_OK;
}

tarn_status tn_batch_init(tarn_env *env, const tn_field *fields, int32_t n_columns, tn_batch *batch,
                          tarn_error *err) {
  tarn_status st;
  memset(batch, 0, sizeof(*batch));
  batch->columns = tn_calloc(&env->mem, (size_t)n_columns, sizeof(*batch->columns));
  if (batch->columns == NULL) {
    return tn_oom(err);
  }
  batch->fields = fields;
  batch->n_columns = n_columns;
  batch->first_position = -1;
  st = init_columns(env, batch, err);
  if (st != TARN_OK) {
    tn_batch_reset(env, batch);
  }
  return st;
}

void tn_batch_reset(tarn_env *env, tn_batch *batch) {
  for (int32_t i = 0; i < batch->n_columns; i++) {
    tn_vec_reset(env, &batch->columns[i]);
  }
  tn_free(&env->mem, batch->columns);
  memset(batch, 0, sizeof(*batch));
}

static void clear_rows(tarn_env *env, tn_vec *vec) {
  drop_content(env, vec);
  for (int32_t i = 0; i < vec->n_children; i++) {
    clear_rows(env, &vec->children[i]);
  }
}

void tn_batch_clear(tarn_env *env, tn_batch *batch) {
  for (int32_t i = 0; i < batch->n_columns; i++) {
    clear_rows(env, &batch->columns[i]);
  }
  batch->n_rows = 0;
  batch->first_position = -1;
}

void tn_batch_move(tn_batch *to, tn_batch *from) {
  *to = *from;
  memset(from, 0, sizeof(*from));
}
