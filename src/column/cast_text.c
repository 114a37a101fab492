/* cast_text.c - casts to and from texts and bytes.
 *
 * Rule: org.apache.paimon.casting.StringTo*CastRule, *ToStringCastRule, *ToBinaryCastRule; spec:
 * datafiles, 7 "Exact results".
 */
#include "base/utf8.h"
#include "column/cast_internal.h"

/* In every rule: cast->bytes is empty when a value begins. */

tarn_status tn_cast_text_to_value(const tn_cast *cast, const tn_datum *in, tn_datum *out,
                                  tarn_error *err) {
  return tn_datum_from_text(cast->arena, cast->to, in->v.bytes, cast->zone, out, err);
}

/* Bytes of the first `length` characters, or of all; *n_characters tells how many there are. */
static size_t cut_text(tn_slice text, size_t length, size_t *n_characters) {
  size_t at = 0, n = 0;
  for (; n < length && at < text.len; n++) {
    at += tn_utf8_java_step(text.data + at, text.len - at);
  }
  *n_characters = n;
  return at;
}

static tarn_status pad(tn_buf *bytes, size_t n, int fill, tarn_error *err) {
  TN_TRY(tn_buf_reserve(bytes, n, err));
  memset(bytes->data + bytes->len, fill, n);
  bytes->len += n;
  return TARN_OK;
}

tarn_status tn_cast_value_to_text(const tn_cast *cast, const tn_datum *in, tn_datum *out,
                                  tarn_error *err) {
  size_t length = (size_t)cast->to->length, n;
  TN_TRY(tn_datum_to_text(cast->from, in, cast->zone, cast->bytes, err));
  cast->bytes->len = cut_text(tn_buf_slice(cast->bytes), length, &n);
  if (cast->to->root == TN_CHAR && n < length) {
    TN_TRY(pad(cast->bytes, length - n, ' ', err));
  }
  out->v.bytes = tn_buf_slice(cast->bytes);
  return TARN_OK;
}

tarn_status tn_cast_text_to_text(const tn_cast *cast, const tn_datum *in, tn_datum *out,
                                 tarn_error *err) {
  size_t length = (size_t)cast->to->length, n;
  out->v.bytes = in->v.bytes;
  if (cast->to->root == TN_VARCHAR &&
      in->v.bytes.len <= length) {  // not more characters than bytes
    return TARN_OK;
  }
  out->v.bytes.len = cut_text(in->v.bytes, length, &n);
  if (cast->to->root == TN_CHAR && n < length) {
    TN_TRY(tn_buf_append(cast->bytes, in->v.bytes.data, in->v.bytes.len, err));
    TN_TRY(pad(cast->bytes, length - n, ' ', err));
    out->v.bytes = tn_buf_slice(cast->bytes);
  }
  return TARN_OK;
}

/* Texts and bytes to BINARY(n), which pads with zeros, and VARBINARY(n). */
tarn_status tn_cast_to_bytes(const tn_cast *cast, const tn_datum *in, tn_datum *out,
                             tarn_error *err) {
  size_t length = (size_t)cast->to->length;
  out->v.bytes = in->v.bytes;
  if (in->v.bytes.len > length) {
    out->v.bytes.len = length;
  } else if (cast->to->root == TN_BINARY && in->v.bytes.len < length) {
    TN_TRY(tn_buf_append(cast->bytes, in->v.bytes.data, in->v.bytes.len, err));
    TN_TRY(pad(cast->bytes, length - in->v.bytes.len, 0, err));
    out->v.bytes = tn_buf_slice(cast->bytes);
  }
  return TARN_OK;
}

/* Neither cut nor padded, and whatever bytes they are. */
tarn_status tn_cast_bytes_to_text(const tn_cast *cast, const tn_datum *in, tn_datum *out,
                                  tarn_error *err) {
  (void)cast;
  (void)err;
  out->v.bytes = in->v.bytes;
  return TARN_OK;
}

/* ------------------------------------------------------------------ nested values */

bool tn_cast_has_text(const tn_type *type) {
  switch (type->root) {
    case TN_MULTISET:
    case TN_VARIANT:
    case TN_BLOB:
    case TN_VECTOR:
      return false;
    default:
      for (int32_t i = 0; i < type->n_fields; i++) {
        if (!tn_cast_has_text(&type->fields[i].type)) {  // depth: TN_MAX_TYPE_DEPTH
          return false;
        }
      }
      return true;
  }
}

static tarn_status put_list(const tn_vec *vec, int64_t i, const tn_zone *zone, tn_buf *out,
                            tarn_error *err) {
  bool is_map = vec->type->root == TN_MAP;
  const tn_vec *child = &vec->children[0];
  TN_TRY(tn_buf_text(out, is_map ? "{" : "[", err));
  for (int32_t k = vec->offsets[i]; k < vec->offsets[i + 1]; k++) {
    TN_TRY(tn_buf_text(out, k > vec->offsets[i] ? ", " : "", err));
    if (!is_map) {
      TN_TRY(tn_cast_put_text(child, k, zone, out, err));
      continue;
    }
    TN_TRY(tn_cast_put_text(&child->children[0], k, zone, out, err));
    TN_TRY(tn_buf_text(out, " -> ", err));
    TN_TRY(tn_cast_put_text(&child->children[1], k, zone, out, err));
  }
  return tn_buf_text(out, is_map ? "}" : "]", err);
}

tarn_status tn_cast_put_text(const tn_vec *vec, int64_t i, const tn_zone *zone, tn_buf *out,
                             tarn_error *err) {
  if (tn_vec_is_null(vec, i)) {
    return tn_buf_text(out, "null", err);
  }
  switch (vec->type->root) {
    case TN_ARRAY:
    case TN_MAP:
      return put_list(vec, i, zone, out, err);
    case TN_ROW:
      TN_TRY(tn_buf_text(out, "{", err));
      for (int32_t k = 0; k < vec->n_children; k++) {
        TN_TRY(tn_buf_text(out, k > 0 ? ", " : "", err));
        TN_TRY(tn_cast_put_text(&vec->children[k], i, zone, out, err));
      }
      return tn_buf_text(out, "}", err);
    case TN_CHAR:
    case TN_VARCHAR:
    case TN_BINARY:
    case TN_VARBINARY:
      return tn_buf_java_text(out, tn_vec_bytes(vec, i), err);  // Java makes a String of it
    case TN_MULTISET:
    case TN_VARIANT:
    case TN_BLOB:
    case TN_VECTOR:
      return tn_fail(err, TARN_E_UNSUPPORTED, "a value of this type has no text");
    default: {
      tn_datum value = tn_vec_datum(vec, i);
      return tn_datum_to_text(vec->type, &value, zone, out, err);
    }
  }
}
