/* row_code.c - rows as bytes, and back into vectors that grow. */
#include "lookup/row_code.h"

#include "base/bytes.h"

#define NAN_F32 0x7fc00000u
#define NAN_F64 0x7ff8000000000000u

/* ------------------------------------------------------------------ putting */

static tarn_status put_u32(tn_buf *out, uint32_t value, tarn_error *err) {
  uint8_t bytes[4];
  tn_store_le32(bytes, value);
  return tn_buf_append(out, bytes, sizeof(bytes), err);
}

static tarn_status put_child(tn_buf *out, const tn_vec *vec, int64_t row, tarn_error *err);

static tarn_status put_list(tn_buf *out, const tn_vec *child, int64_t begin, int64_t end,
                            tarn_error *err) {
  for (int64_t i = begin; i < end; i++) {
    TN_TRY(put_child(out, child, i, err));
  }
  return TARN_OK;
}

static tarn_status put_value(tn_buf *out, const tn_vec *vec, int64_t row, tarn_error *err) {
  size_t width;
  switch (vec->layout) {
    case TN_LAYOUT_BIT: {
      uint8_t bit = tn_bit_get(vec->values, row) ? 1 : 0;
      return tn_buf_append(out, &bit, 1, err);
    }
    case TN_LAYOUT_BYTES: {
      tn_slice s = tn_vec_bytes(vec, row);
      TN_TRY(put_u32(out, (uint32_t)s.len, err));
      return tn_buf_append(out, s.data, s.len, err);
    }
    case TN_LAYOUT_LIST: {
      int32_t begin = vec->offsets[row], end = vec->offsets[row + 1];
      TN_TRY(put_u32(out, (uint32_t)(end - begin), err));
      return put_list(out, &vec->children[0], begin, end, err);
    }
    case TN_LAYOUT_FIXED_LIST: {
      int64_t n = vec->type->length;
      return put_list(out, &vec->children[0], row * n, (row + 1) * n, err);
    }
    case TN_LAYOUT_STRUCT:
      for (int32_t i = 0; i < vec->n_children; i++) {
        TN_TRY(put_child(out, &vec->children[i], row, err));
      }
      return TARN_OK;
    default:
      width = tn_layout_width(vec->layout);
      return tn_buf_append(out, (const uint8_t *)vec->values + (size_t)row * width, width, err);
  }
}

static tarn_status put_child(tn_buf *out, const tn_vec *vec, int64_t row, tarn_error *err) {
  uint8_t has_value = tn_vec_is_null(vec, row) ? 0 : 1;
  TN_TRY(tn_buf_append(out, &has_value, 1, err));
  return has_value ? put_value(out, vec, row, err) : TARN_OK;
}

tarn_status tn_row_put(tn_buf *out, const tn_vec *vec, int64_t row, tarn_error *err) {
  return put_child(out, vec, row, err);
}

tarn_status tn_row_put_key(tn_buf *out, const tn_vec *vec, int64_t row, tarn_error *err) {
  if (vec->layout == TN_LAYOUT_F32) {
    float value = ((const float *)vec->values)[row];
    if (value != value) {
      return put_u32(out, NAN_F32, err);
    }
  } else if (vec->layout == TN_LAYOUT_F64) {
    double value = ((const double *)vec->values)[row];
    if (value != value) {
      uint8_t bytes[8];
      tn_store_le64(bytes, NAN_F64);
      return tn_buf_append(out, bytes, sizeof(bytes), err);
    }
  }
  return put_value(out, vec, row, err);
}

/* ------------------------------------------------------------------ cursors */

static tarn_status cut_off(tarn_error *err) {
  return tn_fail(err, TARN_E_CORRUPT, "a row of a lookup file ends early");
}

static tarn_status take_bytes(tn_row_cursor *from, size_t n, const uint8_t **out, tarn_error *err) {
  if (n > (size_t)(from->end - from->at)) {
    return cut_off(err);
  }
  *out = from->at;
  from->at += n;
  return TARN_OK;
}

static tarn_status take_u32(tn_row_cursor *from, uint32_t *out, tarn_error *err) {
  const uint8_t *bytes;
  TN_TRY(take_bytes(from, 4, &bytes, err));
  *out = tn_load_le32(bytes);
  return TARN_OK;
}

/* ------------------------------------------------------------------ vectors that grow */

static void set_pointers(tn_vec *vec) {
  vec->valid = vec->valid_buffer != NULL ? vec->valid_buffer->data : NULL;
  vec->offsets = vec->offsets_buffer != NULL ? (int32_t *)(void *)vec->offsets_buffer->data : NULL;
  vec->values = vec->values_buffer != NULL ? vec->values_buffer->data : NULL;
}

static tarn_status need(tarn_env *env, tn_buffer **buffer, size_t used, size_t n_bytes,
                        tarn_error *err) {
  if (*buffer == NULL) {
    return tn_buffer_create(env, n_bytes, buffer, err);
  }
  if ((*buffer)->capacity < n_bytes) {
    size_t twice = (*buffer)->capacity * 2;
    return tn_buffer_grow(buffer, used, n_bytes > twice ? n_bytes : twice, err);
  }
  return TARN_OK;
}

static bool has_offsets(const tn_vec *vec) {
  return vec->layout == TN_LAYOUT_BYTES || vec->layout == TN_LAYOUT_LIST;
}

/* Room for `rows` rows in all. */
static tarn_status need_rows(tarn_env *env, tn_vec *vec, int64_t rows, tarn_error *err) {
  size_t n = (size_t)rows, used = (size_t)vec->length, width = tn_layout_width(vec->layout);
  tarn_status st = TARN_OK;
  if (width > 0) {
    st = need(env, &vec->values_buffer, used * width, n * width, err);
  } else if (vec->layout == TN_LAYOUT_BIT) {
    st = need(env, &vec->values_buffer, TN_BITMAP_BYTES(vec->length), TN_BITMAP_BYTES(rows), err);
  } else if (has_offsets(vec)) {
    bool is_new = vec->offsets_buffer == NULL;
    st = need(env, &vec->offsets_buffer, (used + 1) * 4, (n + 1) * 4, err);
    if (st == TARN_OK && is_new) {
      tn_store_le32(vec->offsets_buffer->data, 0);
    }
  }
  if (st == TARN_OK && vec->valid_buffer != NULL) {
    st = need(env, &vec->valid_buffer, TN_BITMAP_BYTES(vec->length), TN_BITMAP_BYTES(rows), err);
  }
  set_pointers(vec);
  return st;
}

static tarn_status need_bytes(tarn_env *env, tn_vec *vec, size_t more, tarn_error *err) {
  size_t used = (size_t)vec->offsets[vec->length];
  tarn_status st;
  if (more > (size_t)INT32_MAX - used) {
    return tn_fail(err, TARN_E_LIMIT, "more than 2 GiB in one column: look up fewer keys at once");
  }
  st = need(env, &vec->values_buffer, used, used + more, err);
  set_pointers(vec);
  return st;
}

tarn_status tn_row_vec_begin(tarn_env *env, int64_t n, tn_vec *vec, tarn_error *err) {
  return need_rows(env, vec, n > 0 ? n : 1, err);
}

static tarn_status note_valid(tarn_env *env, tn_vec *vec, bool is_valid, tarn_error *err) {
  if (vec->valid_buffer == NULL && !is_valid) {
    TN_TRY(need(env, &vec->valid_buffer, 0, TN_BITMAP_BYTES(vec->length + 64), err));
    set_pointers(vec);
    memset(vec->valid, 0xff, TN_BITMAP_BYTES(vec->length));
  }
  if (vec->valid == NULL) {
    return TARN_OK;
  }
  TN_TRY(need(env, &vec->valid_buffer, TN_BITMAP_BYTES(vec->length),
              TN_BITMAP_BYTES(vec->length + 1), err));
  set_pointers(vec);
  if (is_valid) {
    tn_bit_set(vec->valid, vec->length);
  } else {
    tn_bit_clear(vec->valid, vec->length);
    vec->null_count++;
  }
  return TARN_OK;
}

static tarn_status take_null(tarn_env *env, tn_vec *out, tarn_error *err) {
  size_t width = tn_layout_width(out->layout);
  TN_TRY(need_rows(env, out, out->length + 1, err));
  TN_TRY(note_valid(env, out, false, err));
  if (width > 0) {
    memset((uint8_t *)out->values + (size_t)out->length * width, 0, width);
  } else if (out->layout == TN_LAYOUT_BIT) {
    tn_bit_clear(out->values, out->length);
  } else if (has_offsets(out)) {
    out->offsets[out->length + 1] = out->offsets[out->length];
  }
  for (int32_t i = 0; out->layout == TN_LAYOUT_STRUCT && i < out->n_children; i++) {
    TN_TRY(take_null(env, &out->children[i], err));
  }
  for (int32_t i = 0; out->layout == TN_LAYOUT_FIXED_LIST && i < out->type->length; i++) {
    TN_TRY(take_null(env, &out->children[0], err));
  }
  out->length++;
  return TARN_OK;
}

static tarn_status take_text(tarn_env *env, tn_row_cursor *from, tn_vec *out, tarn_error *err) {
  const uint8_t *bytes;
  int32_t at = out->offsets[out->length];
  uint32_t n;
  TN_TRY(take_u32(from, &n, err));
  TN_TRY(take_bytes(from, n, &bytes, err));
  TN_TRY(need_bytes(env, out, n, err));
  if (n > 0) {
    memcpy((uint8_t *)out->values + at, bytes, n);
  }
  out->offsets[out->length + 1] = at + (int32_t)n;
  return TARN_OK;
}

static tarn_status take_children(tarn_env *env, tn_row_cursor *from, tn_vec *out, tarn_error *err) {
  uint32_t n = out->layout == TN_LAYOUT_FIXED_LIST ? (uint32_t)out->type->length : 0;
  if (out->layout == TN_LAYOUT_STRUCT) {
    for (int32_t i = 0; i < out->n_children; i++) {
      TN_TRY(tn_row_take(env, from, false, &out->children[i], err));
    }
    return TARN_OK;
  }
  if (out->layout == TN_LAYOUT_LIST) {
    TN_TRY(take_u32(from, &n, err));
    if (n > (size_t)(from->end - from->at)) {
      return cut_off(err); /* each takes a byte at least */
    }
    if (n > (uint32_t)INT32_MAX - (uint32_t)out->offsets[out->length]) {
      return tn_fail(err, TARN_E_LIMIT, "more than 2^31 elements: look up fewer keys at once");
    }
    out->offsets[out->length + 1] = out->offsets[out->length] + (int32_t)n;
  }
  for (uint32_t i = 0; i < n; i++) {
    TN_TRY(tn_row_take(env, from, false, &out->children[0], err));
  }
  return TARN_OK;
}

tarn_status tn_row_take(tarn_env *env, tn_row_cursor *from, bool is_key, tn_vec *out,
                        tarn_error *err) {
  size_t width = tn_layout_width(out->layout);
  const uint8_t *bytes;
  if (!is_key) {
    TN_TRY(take_bytes(from, 1, &bytes, err));
    if (*bytes == 0) {
      return take_null(env, out, err);
    }
  }
  TN_TRY(need_rows(env, out, out->length + 1, err));
  TN_TRY(note_valid(env, out, true, err));
  if (width > 0) {
    TN_TRY(take_bytes(from, width, &bytes, err));
    memcpy((uint8_t *)out->values + (size_t)out->length * width, bytes, width);
  } else if (out->layout == TN_LAYOUT_BIT) {
    TN_TRY(take_bytes(from, 1, &bytes, err));
    if (*bytes != 0) {
      tn_bit_set(out->values, out->length);
    } else {
      tn_bit_clear(out->values, out->length);
    }
  } else if (out->layout == TN_LAYOUT_BYTES) {
    TN_TRY(take_text(env, from, out, err));
  } else {
    TN_TRY(take_children(env, from, out, err));
  }
  out->length++;
  return TARN_OK;
}

tarn_status tn_row_skip(tn_row_cursor *from, bool is_key, const tn_vec *vec, tarn_error *err) {
  const uint8_t *bytes;
  uint32_t n;
  if (!is_key) {
    TN_TRY(take_bytes(from, 1, &bytes, err));
    if (*bytes == 0) {
      return TARN_OK;
    }
  }
  switch (vec->layout) {
    case TN_LAYOUT_BIT:
      return take_bytes(from, 1, &bytes, err);
    case TN_LAYOUT_BYTES:
      TN_TRY(take_u32(from, &n, err));
      return take_bytes(from, n, &bytes, err);
    case TN_LAYOUT_LIST:
    case TN_LAYOUT_FIXED_LIST:
      n = (uint32_t)vec->type->length;
      if (vec->layout == TN_LAYOUT_LIST) {
        TN_TRY(take_u32(from, &n, err));
      }
      for (uint32_t i = 0; i < n; i++) {
        TN_TRY(tn_row_skip(from, false, &vec->children[0], err));
      }
      return TARN_OK;
    case TN_LAYOUT_STRUCT:
      for (int32_t i = 0; i < vec->n_children; i++) {
        TN_TRY(tn_row_skip(from, false, &vec->children[i], err));
      }
      return TARN_OK;
    default:
      return take_bytes(from, tn_layout_width(vec->layout), &bytes, err);
  }
}

tarn_status tn_row_vec_end(tarn_env *env, tn_vec *vec, tarn_error *err) {
  if (vec->length == 0 && vec->values == NULL && vec->offsets == NULL &&
      (tn_layout_width(vec->layout) > 0 || vec->layout == TN_LAYOUT_BIT || has_offsets(vec))) {
    TN_TRY(tn_vec_alloc(env, vec, 0, 0, err));
  }
  if (vec->layout == TN_LAYOUT_BYTES && vec->values_buffer == NULL) {
    TN_TRY(need(env, &vec->values_buffer, 0, 8, err));
    set_pointers(vec);
  }
  for (int32_t i = 0; i < vec->n_children; i++) {
    TN_TRY(tn_row_vec_end(env, &vec->children[i], err));
  }
  return TARN_OK;
}
