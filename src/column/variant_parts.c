/* variant_parts.c - taking VARIANT bytes apart, checked. */
#include "column/variant_parts.h"

#include <string.h>

tarn_status tn_variant_malformed(const char *what, size_t at, tarn_error *err) {
  return tn_fail(err, TARN_E_CORRUPT, "variant: %s at byte %zu", what, at);
}

/* `size` bytes from `at` on; false past the end or when they do not fit 31 bits (as in Java). */
static bool load_unsigned(tn_slice bytes, size_t at, size_t size, size_t *out) {
  uint64_t value = 0;
  if (at > bytes.len || size > bytes.len - at) {
    return false;
  }
  for (size_t i = 0; i < size; i++) {
    value |= (uint64_t)bytes.data[at + i] << (8 * i);
  }
  *out = (size_t)value;
  return value <= INT32_MAX;
}

static bool take(tn_slice bytes, size_t at, size_t n, tn_slice *out) {
  if (at > bytes.len || n > bytes.len - at) {
    return false;
  }
  *out = tn_slice_of(bytes.data + at, n);
  return true;
}

tarn_status tn_variant_names_read(tn_slice metadata, tn_variant_names *out, tarn_error *err) {
  out->bytes = metadata;
  out->n = out->offset_size = 0;
  if (metadata.len < 1 || (metadata.data[0] & 0x0f) != TN_VARIANT_VERSION) {
    return tn_fail(err, TARN_E_CORRUPT, "variant: metadata is empty or not of version 1");
  }
  out->offset_size = (size_t)(metadata.data[0] >> 6) + 1;
  if (!load_unsigned(metadata, 1, out->offset_size, &out->n)) {
    out->n = 0; /* a value without objects needs no names */
  }
  return TARN_OK;
}

tarn_status tn_variant_name(const tn_variant_names *m, size_t id, tn_slice *out, tarn_error *err) {
  size_t first = 1 + m->offset_size, begin, end;
  if (id >= m->n) {
    return tn_fail(err, TARN_E_CORRUPT, "variant: field name %zu of %zu", id, m->n);
  }
  if (!load_unsigned(m->bytes, first + id * m->offset_size, m->offset_size, &begin) ||
      !load_unsigned(m->bytes, first + (id + 1) * m->offset_size, m->offset_size, &end) ||
      begin > end ||
      !take(m->bytes, first + (m->n + 1) * m->offset_size + begin, end - begin, out)) {
    return tn_fail(err, TARN_E_CORRUPT, "variant: name %zu lies outside of the metadata", id);
  }
  return TARN_OK;
}

tarn_status tn_variant_group_open(tn_slice value, size_t at, tn_variant_group *out,
                                  tarn_error *err) {
  uint8_t header = value.data[at] >> 2;
  bool is_object = tn_variant_basic_at(value, at) == TN_VARIANT_OBJECT;
  bool is_large = header >> (is_object ? 4 : 2) & 1;
  size_t n_bytes = is_large ? 4 : 1, place;
  memset(out, 0, sizeof(*out));
  out->offset_size = (size_t)(header & 3) + 1;
  out->id_size = is_object ? (size_t)(header >> 2 & 3) + 1 : 0;
  if (!load_unsigned(value, at + 1, n_bytes, &out->n)) {
    return tn_variant_malformed("an object or array past the end", at, err);
  }
  place = at + 1 + n_bytes;
  /* n ids and n + 1 offsets; n is below 2^31, so nothing overflows */
  if (out->n > 0 && out->n * out->id_size + (out->n + 1) * out->offset_size > value.len - place) {
    return tn_variant_malformed("an object or array past the end", at, err);
  }
  out->ids = is_object ? place : 0;
  out->offsets = place + out->n * out->id_size;
  out->values = out->offsets + (out->n + 1) * out->offset_size;
  return TARN_OK;
}

tarn_status tn_variant_child(tn_slice value, const tn_variant_group *group, size_t i, size_t *id,
                             size_t *at, tarn_error *err) {
  size_t offset;
  *id = 0;
  if (group->ids != 0 &&
      !load_unsigned(value, group->ids + i * group->id_size, group->id_size, id)) {
    return tn_variant_malformed("a bad field id", group->ids + i * group->id_size, err);
  }
  if (!load_unsigned(value, group->offsets + i * group->offset_size, group->offset_size, &offset) ||
      offset >= value.len - group->values) {
    return tn_variant_malformed("an offset past the end", group->offsets + i * group->offset_size,
                                err);
  }
  *at = group->values + offset;
  return TARN_OK;
}

#define HAS_LENGTH 0xfe

/* Bytes behind the header. */
static const uint8_t primitive_bytes[TN_VARIANT_N_PRIMITIVES] = {
    [TN_VARIANT_INT1] = 1,
    [TN_VARIANT_INT2] = 2,
    [TN_VARIANT_INT4] = 4,
    [TN_VARIANT_INT8] = 8,
    [TN_VARIANT_DOUBLE] = 8,
    [TN_VARIANT_DECIMAL4] = 5,
    [TN_VARIANT_DECIMAL8] = 9,
    [TN_VARIANT_DECIMAL16] = 17,
    [TN_VARIANT_DATE] = 4,
    [TN_VARIANT_TIMESTAMP] = 8,
    [TN_VARIANT_TIMESTAMP_NTZ] = 8,
    [TN_VARIANT_FLOAT] = 4,
    [TN_VARIANT_BINARY] = HAS_LENGTH,
    [TN_VARIANT_STRING] = HAS_LENGTH,
    [TN_VARIANT_TIME] = 8,
    [TN_VARIANT_TIMESTAMP_NANOS] = 8,
    [TN_VARIANT_TIMESTAMP_NTZ_NANOS] = 8,
    [TN_VARIANT_UUID] = 16,
};

tarn_status tn_variant_scalar(tn_slice value, size_t at, tn_variant_primitive *type, tn_slice *out,
                              tarn_error *err) {
  uint8_t info = value.data[at] >> 2;
  size_t length;
  *type = TN_VARIANT_STRING;
  if (tn_variant_basic_at(value, at) == TN_VARIANT_SHORT_STRING) {
    return take(value, at + 1, info, out) ? TARN_OK
                                          : tn_variant_malformed("a string past the end", at, err);
  }
  if (info >= TN_VARIANT_N_PRIMITIVES) {
    return tn_fail(err, TARN_E_CORRUPT, "variant: unknown primitive type %d at byte %zu", info, at);
  }
  *type = (tn_variant_primitive)info;
  if (primitive_bytes[info] != HAS_LENGTH) {
    return take(value, at + 1, primitive_bytes[info], out)
               ? TARN_OK
               : tn_variant_malformed("a value past the end", at, err);
  }
  return load_unsigned(value, at + 1, 4, &length) && take(value, at + 5, length, out)
             ? TARN_OK
             : tn_variant_malformed("a string or binary past the end", at, err);
}
