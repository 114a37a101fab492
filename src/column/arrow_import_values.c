/* arrow_import_values.c - Arrow arrays without children as flat vectors; what vectors borrow of
 * them.
 *
 * Loops are over plain arrays; nulls are told apart only where a value must be checked, since a
 * null has any value.
 */
#include "base/civil.h"
#include "base/utf8.h"
#include "column/arrow_import_parts.h"
#include "column/bits.h"
#include "column/number_text.h"
#include "column/type_text.h"
#include "column/vector_parts.h"

/* ------------------------------------------------------------------ fixed width */

/* A buffer over the array's memory; the sign of such a buffer is that nothing may be written. */
static tn_buffer *borrow(tarn_env *env, const void *data) {
  tn_buffer *b = tn_calloc(&env->mem, 1, sizeof(*b));
  if (b != NULL) {
    b->data = (uint8_t *)(uintptr_t)data;
    b->env = env;
    atomic_init(&b->refs, 1);
  }
  return b;
}

static tarn_status check_time(const tn_import_node *node, const tn_vec *vec, tarn_error *err) {
  const int32_t *values = vec->values;
  for (int64_t i = 0; i < vec->length; i++) {
    if (((uint32_t)values[i] >= 86400000u) && !tn_import_is_null(vec, i)) {
      return tn_import_fault(node, i, err, "%d ms are no time of day", (int)values[i]);
    }
  }
  return TARN_OK;
}

static tarn_status import_same(tarn_env *env, const tn_import_node *node, const uint8_t *from,
                               int64_t n, tn_vec *out, tarn_error *err) {
  size_t width = tn_layout_width(out->layout);
  if ((uintptr_t)from % width == 0) {
    out->values_buffer = borrow(env, from);
    if (out->values_buffer == NULL) {
      return tn_oom(err);
    }
  } else {
    TN_TRY(tn_buffer_create(env, (size_t)n * width, &out->values_buffer, err));
    memcpy(out->values_buffer->data, from, (size_t)n * width);
  }
  tn_vec_set_pointers(out);
  return node->type->root == TN_TIME ? check_time(node, out, err) : TARN_OK;
}

static tarn_status import_bits(tarn_env *env, const uint8_t *bits, int64_t first, int64_t n,
                               tn_vec *out, tarn_error *err) {
  TN_TRY(tn_buffer_create(env, TN_BITMAP_BYTES(n), &out->values_buffer, err));
  tn_vec_set_pointers(out);
  tn_bits_copy(out->values, bits, first, n);
  return TARN_OK;
}

static void widen(const tn_import_node *node, const uint8_t *from, int64_t n, tn_vec *out) {
  for (int64_t i = 0; i < n; i++) {
    int64_t v = tn_import_int(from, node->width, node->is_unsigned, i);
    switch (out->layout) {
      case TN_LAYOUT_I8:
        ((int8_t *)out->values)[i] = (int8_t)v;
        break;
      case TN_LAYOUT_I16:
        ((int16_t *)out->values)[i] = (int16_t)v;
        break;
      case TN_LAYOUT_I32:
        ((int32_t *)out->values)[i] = (int32_t)v;
        break;
      default:
        ((int64_t *)out->values)[i] = v;
        break;
    }
  }
}

/* IEEE 754 binary16; every value fits a float. */
static float half_to_float(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
  uint32_t exponent = (half >> 10) & 31u, fraction = half & 1023u;
  uint32_t bits;
  if (exponent == 31) {
    bits = sign | 0x7f800000u | fraction << 13;
  } else if (exponent != 0) {
    bits = sign | (exponent + 112) << 23 | fraction << 13;
  } else {
    float magnitude = (float)fraction / 16777216.0f;
    return sign != 0 ? -magnitude : magnitude;
  }
  return tn_load_f32(&bits);
}

static void widen_floats(const tn_import_node *node, const uint8_t *from, int64_t n, tn_vec *out) {
  for (int64_t i = 0; i < n; i++) {
    float v =
        node->width == 2 ? half_to_float(tn_load_le16(from + 2 * i)) : tn_load_f32(from + 4 * i);
    if (out->layout == TN_LAYOUT_F64) {
      ((double *)out->values)[i] = v;
    } else {
      ((float *)out->values)[i] = v;
    }
  }
}

/* ------------------------------------------------------------------ decimals */

/* The number at p; false: it has more than 128 bits. */
static bool load_decimal(const uint8_t *p, int32_t width, tn_i128 *out) {
  int64_t high;
  switch (width) {
    case 4:
      *out = (int32_t)tn_load_le32(p);
      return true;
    case 8:
      *out = (int64_t)tn_load_le64(p);
      return true;
    case 16:
      *out = tn_load_i128(p);
      return true;
    default:
      *out = tn_load_i128(p);
      high = *out < 0 ? -1 : 0;
      return (int64_t)tn_load_le64(p + 16) == high && (int64_t)tn_load_le64(p + 24) == high;
  }
}

static tarn_status import_decimals(tarn_env *env, const tn_import_node *node, const uint8_t *from,
                                   int64_t n, tn_vec *out, tarn_error *err) {
  tn_i128 factor = tn_power_of_ten(node->scale_by), *to;
  bool is_same = node->width == 16 && node->scale_by == 0;
  if (is_same) {
    TN_TRY(import_same(env, node, from, n, out, err));
  } else {
    TN_TRY(tn_buffer_create(env, (size_t)n * 16, &out->values_buffer, err));
    tn_vec_set_pointers(out);
  }
  to = out->values;
  for (int64_t i = 0; i < n; i++) {
    tn_i128 v = 0;
    bool fits = load_decimal(from + i * node->width, node->width, &v) &&
                !__builtin_mul_overflow(v, factor, &v) && v >= node->min && v <= node->max;
    if (TN_UNLIKELY(!fits)) {
      if (!tn_import_is_null(out, i)) {
        return tn_import_fault(node, i, err, "the value does not fit %s",
                               tn_type_text_of(node->type).text);
      }
      v = 0;
    }
    if (!is_same) {
      to[i] = v;
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ dates and times */

static tarn_status import_ticks(tarn_env *env, const tn_import_node *node, const uint8_t *from,
                                int64_t n, tn_vec *out, tarn_error *err) {
  size_t width = tn_layout_width(out->layout);
  TN_TRY(tn_buffer_create(env, (size_t)n * width, &out->values_buffer, err));
  tn_vec_set_pointers(out);
  for (int64_t i = 0; i < n; i++) {
    int64_t v = tn_import_int(from, node->width, false, i);
    tn_i128 ticks = (tn_i128)(v / node->divide) * node->multiply;
    bool fits = v % node->divide == 0 &&
                (width == 16 || (width == 8 && ticks >= INT64_MIN && ticks <= INT64_MAX) ||
                 (width == 4 && ticks >= INT32_MIN && ticks <= INT32_MAX));
    if (TN_UNLIKELY(!fits)) {
      if (!tn_import_is_null(out, i)) {
        return tn_import_fault(node, i, err, "the value %lld has no place in the column's type",
                               (long long)v);
      }
      ticks = 0;
    }
    switch (width) {
      case 4:
        ((int32_t *)out->values)[i] = (int32_t)ticks;
        break;
      case 8:
        ((int64_t *)out->values)[i] = (int64_t)ticks;
        break;
      default:
        ((tn_i128 *)out->values)[i] = ticks;
        break;
    }
  }
  return node->type->root == TN_TIME ? check_time(node, out, err) : TARN_OK;
}

/* ------------------------------------------------------------------ bytes */

static bool is_ascii(const uint8_t *p, size_t n) {
  uint64_t seen = 0;
  size_t i = 0;
  for (; i + 32 <= n; i += 32) {
    seen |= tn_load_le64(p + i) | tn_load_le64(p + i + 8) | tn_load_le64(p + i + 16) |
            tn_load_le64(p + i + 24);
  }
  for (; i < n; i++) {
    seen |= p[i];
  }
  return (seen & 0x8080808080808080u) == 0;
}

static int64_t count_characters(tn_slice text) {
  int64_t n = 0;
  for (size_t i = 0; i < text.len; i++) {
    n += (text.data[i] & 0xc0) != 0x80;
  }
  return n;
}

/* Texts are UTF-8, and nothing is longer than its type says. */
static tarn_status check_bytes(const tn_import_node *node, const tn_vec *vec, tarn_error *err) {
  bool is_text = tn_type_is_string(node->type);
  int64_t most = node->type->root == TN_BLOB ? INT32_MAX : node->type->length;
  bool all_ascii = !is_text || is_ascii(vec->values, (size_t)vec->offsets[vec->length]);
  if (all_ascii && most == INT32_MAX) {
    return TARN_OK;
  }
  for (int64_t i = 0; i < vec->length; i++) {
    tn_slice s = tn_slice_of((const uint8_t *)vec->values + vec->offsets[i],
                             (size_t)(vec->offsets[i + 1] - vec->offsets[i]));
    if (!all_ascii) {
      size_t at = tn_utf8_check(s.data, s.len);
      if (at < s.len) {
        return tn_import_fault(node, i, err, "the text is not UTF-8 at byte %zu", at);
      }
    }
    if ((int64_t)s.len > most && (all_ascii || count_characters(s) > most)) {
      return tn_import_fault(node, i, err, "a value of %lld %s does not fit %s",
                             (long long)(is_text ? count_characters(s) : (int64_t)s.len),
                             is_text ? "characters" : "bytes", tn_type_text_of(node->type).text);
    }
  }
  return TARN_OK;
}

static tarn_status too_many_bytes(const tn_import_node *node, tarn_error *err) {
  return tn_fail(err, TARN_E_LIMIT,
                 "column '%s': more than 2147483647 bytes in one batch; write fewer rows at once",
                 node->path);
}

/* Offsets rebased to 0; nulls become empty. *is_dense: no null had bytes. */
static tarn_status import_offsets(const tn_import_node *node, const uint8_t *from, int64_t first,
                                  int64_t n, tn_vec *out, bool *is_dense, tarn_error *err) {
  int64_t begin = tn_import_int(from, node->width, false, first), last = begin, total = 0;
  *is_dense = true;
  out->offsets[0] = 0;
  if (begin < 0) {
    return tn_import_fault(node, 0, err, "a negative offset");
  }
  for (int64_t i = 0; i < n; i++) {
    int64_t next = tn_import_int(from, node->width, false, first + i + 1);
    if (TN_UNLIKELY(next < last)) {
      return tn_import_fault(node, i, err, "offsets that descend");
    }
    if (TN_UNLIKELY(tn_import_is_null(out, i))) {
      *is_dense &= next == last;
    } else {
      total += next - last;
    }
    if (TN_UNLIKELY(total > INT32_MAX)) {
      return too_many_bytes(node, err);
    }
    out->offsets[i + 1] = (int32_t)total;
    last = next;
  }
  return TARN_OK;
}

static tarn_status import_bytes(tarn_env *env, const tn_import_node *node,
                                const struct ArrowArray *array, int64_t first, int64_t n,
                                tn_vec *out, tarn_error *err) {
  const uint8_t *offsets = array->buffers[1], *values = array->buffers[2];
  bool is_dense;
  int64_t begin;
  uint8_t *to;
  if (offsets == NULL) {
    return tn_import_fault(node, 0, err, "an array without offsets");
  }
  TN_TRY(tn_buffer_create(env, (size_t)(n + 1) * sizeof(int32_t), &out->offsets_buffer, err));
  tn_vec_set_pointers(out);
  TN_TRY(import_offsets(node, offsets, first, n, out, &is_dense, err));
  if (values == NULL && out->offsets[n] > 0) {
    return tn_import_fault(node, 0, err, "an array without its bytes");
  }
  TN_TRY(tn_buffer_create(env, (size_t)out->offsets[n], &out->values_buffer, err));
  tn_vec_set_pointers(out);
  to = out->values;
  begin = tn_import_int(offsets, node->width, false, first);
  if (is_dense && out->offsets[n] > 0) {
    memcpy(to, values + begin, (size_t)out->offsets[n]);
  }
  for (int64_t i = 0; i < n && !is_dense; i++) {
    size_t len = (size_t)(out->offsets[i + 1] - out->offsets[i]);
    if (len > 0) {
      memcpy(to + out->offsets[i], values + tn_import_int(offsets, node->width, false, first + i),
             len);
    }
  }
  return check_bytes(node, out, err);
}

static tarn_status import_fixed_bytes(tarn_env *env, const tn_import_node *node,
                                      const uint8_t *from, int64_t n, tn_vec *out,
                                      tarn_error *err) {
  int64_t width = node->width, total = 0;
  if (width > 0 && n > INT32_MAX / width) {
    return too_many_bytes(node, err);
  }
  TN_TRY(tn_buffer_create(env, (size_t)(n + 1) * sizeof(int32_t), &out->offsets_buffer, err));
  TN_TRY(tn_buffer_create(env, (size_t)(n * width), &out->values_buffer, err));
  tn_vec_set_pointers(out);
  out->offsets[0] = 0;
  for (int64_t i = 0; i < n; i++) {
    if (!tn_import_is_null(out, i)) {
      memcpy((uint8_t *)out->values + total, from + i * width, (size_t)width);
      total += width;
    }
    out->offsets[i + 1] = (int32_t)total;
  }
  return check_bytes(node, out, err);
}

/* The bytes of view i (Arrow's "variable-size binary view layout"); empty for a null. */
static tarn_status view_at(const tn_import_node *node, const struct ArrowArray *array,
                           int64_t first, int64_t i, tn_slice *out, tarn_error *err) {
  const uint8_t *view = (const uint8_t *)array->buffers[1] + (first + i) * 16;
  int64_t n_data = array->n_buffers - 3;
  int32_t len = (int32_t)tn_load_le32(view), buffer, offset;
  if (len >= 0 && len <= 12) {
    *out = tn_slice_of(view + 4, (size_t)len);
    return TARN_OK;
  }
  buffer = (int32_t)tn_load_le32(view + 8);
  offset = (int32_t)tn_load_le32(view + 12);
  if (len < 0 || buffer < 0 || buffer >= n_data || offset < 0 ||
      array->buffers[2 + buffer] == NULL || array->buffers[array->n_buffers - 1] == NULL ||
      (int64_t)offset + len >
          (int64_t)tn_load_le64((const uint8_t *)array->buffers[array->n_buffers - 1] +
                                8 * (int64_t)buffer)) {
    return tn_import_fault(node, i, err, "a view outside of its buffers");
  }
  *out = tn_slice_of((const uint8_t *)array->buffers[2 + buffer] + offset, (size_t)len);
  return TARN_OK;
}

static tarn_status import_views(tarn_env *env, const tn_import_node *node,
                                const struct ArrowArray *array, int64_t first, int64_t n,
                                tn_vec *out, tarn_error *err) {
  int64_t total = 0;
  tn_slice s;
  TN_TRY(tn_buffer_create(env, (size_t)(n + 1) * sizeof(int32_t), &out->offsets_buffer, err));
  tn_vec_set_pointers(out);
  out->offsets[0] = 0;
  for (int64_t i = 0; i < n; i++) {
    if (!tn_import_is_null(out, i)) {
      TN_TRY(view_at(node, array, first, i, &s, err));
      total += (int64_t)s.len;
      if (total > INT32_MAX) {
        return too_many_bytes(node, err);
      }
    }
    out->offsets[i + 1] = (int32_t)total;
  }
  TN_TRY(tn_buffer_create(env, (size_t)total, &out->values_buffer, err));
  tn_vec_set_pointers(out);
  for (int64_t i = 0; i < n; i++) {
    if (out->offsets[i + 1] > out->offsets[i]) {
      TN_TRY(view_at(node, array, first, i, &s, err));
      memcpy((uint8_t *)out->values + out->offsets[i], s.data, s.len);
    }
  }
  return check_bytes(node, out, err);
}

/* ------------------------------------------------------------------ all kinds */

tarn_status tn_import_values(tarn_env *env, const tn_import_node *node,
                             const struct ArrowArray *array, int64_t first, int64_t n, tn_vec *out,
                             tarn_error *err) {
  const uint8_t *values = array->n_buffers > 1 ? array->buffers[1] : NULL;
  const uint8_t *from = values != NULL ? values + first * node->width : NULL;
  if (values == NULL && n > 0) {
    return tn_import_fault(node, 0, err, "an array without values");
  }
  if (n == 0) {
    return tn_vec_alloc(env, out, 0, 0, err);
  }
  switch (node->kind) {
    case TN_IMPORT_BITS:
      return import_bits(env, values, first, n, out, err);
    case TN_IMPORT_SAME:
      return import_same(env, node, from, n, out, err);
    case TN_IMPORT_DECIMAL:
      return import_decimals(env, node, from, n, out, err);
    case TN_IMPORT_TICKS:
      return import_ticks(env, node, from, n, out, err);
    case TN_IMPORT_BYTES:
      return import_bytes(env, node, array, first, n, out, err);
    case TN_IMPORT_BYTE_VIEWS:
      return import_views(env, node, array, first, n, out, err);
    case TN_IMPORT_FIXED_BYTES:
      return import_fixed_bytes(env, node, from, n, out, err);
    default:
      break;
  }
  TN_TRY(tn_buffer_create(env, (size_t)n * tn_layout_width(out->layout), &out->values_buffer, err));
  tn_vec_set_pointers(out);
  if (node->kind == TN_IMPORT_INT) {
    widen(node, from, n, out);
  } else {
    widen_floats(node, from, n, out);
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ borrowed memory */

static bool is_borrowed(const tn_buffer *buffer) {
  return buffer != NULL && buffer->capacity == 0;
}

bool tn_arrow_is_borrowed(const tn_vec *vec) {
  if (is_borrowed(vec->values_buffer) ||
      (vec->dictionary != NULL && tn_arrow_is_borrowed(&vec->dictionary->values)) ||
      (vec->constant != NULL && tn_arrow_is_borrowed(vec->constant))) {
    return true;
  }
  for (int32_t i = 0; i < vec->n_children; i++) {
    if (tn_arrow_is_borrowed(&vec->children[i])) {
      return true;
    }
  }
  return false;
}

tarn_status tn_arrow_own(tarn_env *env, tn_vec *vec, tarn_error *err) {
  size_t n_bytes = (size_t)vec->length * tn_layout_width(vec->layout);
  tn_buffer *own;
  if (vec->encoding != TN_VEC_FLAT && tn_arrow_is_borrowed(vec)) {
    return tn_vec_flatten(env, vec, err);
  }
  if (is_borrowed(vec->values_buffer)) {
    TN_TRY(tn_buffer_create(env, n_bytes, &own, err));
    memcpy(own->data, vec->values, n_bytes);
    tn_buffer_release(vec->values_buffer);
    vec->values_buffer = own;
    vec->values = own->data;
  }
  for (int32_t i = 0; i < vec->n_children; i++) {
    TN_TRY(tn_arrow_own(env, &vec->children[i], err));
  }
  return TARN_OK;
}
