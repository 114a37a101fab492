/* wire.c - the parts of Java's streams. */
#include "model/wire.h"

#include "base/bytes.h"
#include "base/utf8.h"

/* ------------------------------------------------------------------ writing */

tarn_status tn_wire_put_bool(tn_buf *out, bool value, tarn_error *err) {
  uint8_t byte = value ? 1 : 0;
  return tn_buf_append(out, &byte, 1, err);
}

tarn_status tn_wire_put_i32(tn_buf *out, int64_t value, tarn_error *err) {
  uint8_t bytes[4];
  if (value < INT32_MIN || value > INT32_MAX) {
    return tn_fail(err, TARN_E_LIMIT, "%lld does not fit 32 bits", (long long)value);
  }
  tn_store_be32(bytes, (uint32_t)(int32_t)value);
  return tn_buf_append(out, bytes, sizeof(bytes), err);
}

tarn_status tn_wire_put_i64(tn_buf *out, int64_t value, tarn_error *err) {
  uint8_t bytes[8];
  tn_store_be64(bytes, (uint64_t)value);
  return tn_buf_append(out, bytes, sizeof(bytes), err);
}

tarn_status tn_wire_put_bytes(tn_buf *out, tn_slice bytes, tarn_error *err) {
  TN_TRY(tn_wire_put_i32(out, (int64_t)bytes.len, err));
  return tn_buf_append(out, bytes.data, bytes.len, err);
}

/* A surrogate as the three bytes that modified UTF-8 gives it. */
static void put_surrogate(uint8_t *to, uint32_t unit) {
  to[0] = (uint8_t)(0xE0 | unit >> 12);
  to[1] = (uint8_t)(0x80 | (unit >> 6 & 0x3F));
  to[2] = (uint8_t)(0x80 | (unit & 0x3F));
}

/* A character of four bytes becomes two surrogates. */
static tarn_status put_pair(tn_buf *out, const uint8_t *p, tarn_error *err) {
  uint32_t c = (uint32_t)(p[0] & 7) << 18 | (uint32_t)(p[1] & 0x3F) << 12 |
               (uint32_t)(p[2] & 0x3F) << 6 | (uint32_t)(p[3] & 0x3F);
  uint8_t bytes[6];
  c -= 0x10000;
  put_surrogate(bytes, 0xD800 + (c >> 10));
  put_surrogate(bytes + 3, 0xDC00 + (c & 0x3FF));
  return tn_buf_append(out, bytes, sizeof(bytes), err);
}

tarn_status tn_wire_put_text(tn_buf *out, const char *text, tarn_error *err) {
  const uint8_t *p = (const uint8_t *)text;
  size_t left = strlen(text), start = out->len, n;
  TN_TRY(tn_buf_append(out, "\0\0", 2, err));
  for (; left > 0; p += n, left -= n) {
    n = tn_utf8_step(p, left);
    if (n == 4) {
      TN_TRY(put_pair(out, p, err));
    } else if (n == 0) {
      n = 1;
      TN_TRY(tn_buf_append(out, "\xEF\xBF\xBD", 3, err));
    } else {
      TN_TRY(tn_buf_append(out, p, n, err));
    }
  }
  n = out->len - start - 2;
  if (n > UINT16_MAX) {
    return tn_fail(err, TARN_E_LIMIT, "a text of %zu bytes: at most %d fit", n, UINT16_MAX);
  }
  tn_store_be16(out->data + start, (uint16_t)n);
  return TARN_OK;
}

/* ------------------------------------------------------------------ reading */

static tarn_status take(tn_wire_reader *r, size_t n, const uint8_t **out, const char *part,
                        tarn_error *err) {
  if (n > tn_wire_left(r)) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: %s at byte %zu needs %zu bytes, %zu are left", r->what,
                   part, (size_t)(r->at - r->begin), n, tn_wire_left(r));
  }
  *out = r->at;
  r->at += n;
  return TARN_OK;
}

tarn_status tn_wire_take_bool(tn_wire_reader *r, bool *out, const char *part, tarn_error *err) {
  const uint8_t *p = NULL;
  TN_TRY(take(r, 1, &p, part, err));
  if (*p > 1) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: %s at byte %zu is %u", r->what, part,
                   (size_t)(p - r->begin), (unsigned)*p);
  }
  *out = *p == 1;
  return TARN_OK;
}

tarn_status tn_wire_take_i32(tn_wire_reader *r, int32_t *out, const char *part, tarn_error *err) {
  const uint8_t *p = NULL;
  TN_TRY(take(r, 4, &p, part, err));
  *out = (int32_t)tn_load_be32(p);
  return TARN_OK;
}

tarn_status tn_wire_take_i64(tn_wire_reader *r, int64_t *out, const char *part, tarn_error *err) {
  const uint8_t *p = NULL;
  TN_TRY(take(r, 8, &p, part, err));
  *out = (int64_t)tn_load_be64(p);
  return TARN_OK;
}

tarn_status tn_wire_take_count(tn_wire_reader *r, size_t min_bytes, int32_t *out, const char *part,
                               tarn_error *err) {
  TN_TRY(tn_wire_take_i32(r, out, part, err));
  if (*out < 0 || (size_t)*out > tn_wire_left(r) / min_bytes) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: %s: a count of %d, %zu bytes are left", r->what, part,
                   (int)*out, tn_wire_left(r));
  }
  return TARN_OK;
}

tarn_status tn_wire_take_bytes(tn_wire_reader *r, tn_slice *out, const char *part,
                               tarn_error *err) {
  int32_t n;
  TN_TRY(tn_wire_take_count(r, 1, &n, part, err));
  out->len = (size_t)n;
  return take(r, out->len, &out->data, part, err);
}

/* The surrogate at p, or 0. */
static uint32_t surrogate(const uint8_t *p, size_t n) {
  bool is_one = n >= 3 && p[0] == 0xED && p[1] >= 0xA0 && p[1] < 0xC0 && (p[2] & 0xC0) == 0x80;
  return is_one ? 0xD000u | (uint32_t)(p[1] & 0x3F) << 6 | (uint32_t)(p[2] & 0x3F) : 0;
}

/* One character of modified UTF-8 at p as UTF-8; how many bytes it has, 0: malformed. */
static size_t take_char(const uint8_t *p, size_t n, char *out, size_t *n_out) {
  uint32_t high = surrogate(p, n), low = n > 3 ? surrogate(p + 3, n - 3) : 0;
  if (high >= 0xD800 && high < 0xDC00 && low >= 0xDC00) {
    uint32_t c = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
    out[0] = (char)(0xF0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3F));
    out[2] = (char)(0x80 | (c >> 6 & 0x3F));
    out[3] = (char)(0x80 | (c & 0x3F));
    *n_out = 4;
    return 6;
  }
  *n_out = tn_utf8_step(p, n);
  if (*n_out == 4 || p[0] == 0) {
    return 0; /* forms that modified UTF-8 does not have */
  }
  memcpy(out, p, *n_out);
  return *n_out;
}

tarn_status tn_wire_take_text(tn_wire_reader *r, const char **out, const char *part,
                              tarn_error *err) {
  const uint8_t *p = NULL;
  size_t n, len = 0, step, n_char;
  char *text;
  TN_TRY(take(r, 2, &p, part, err));
  n = tn_load_be16(p);
  TN_TRY(take(r, n, &p, part, err));
  text = tn_arena_alloc(r->arena, n + 1); /* UTF-8 is never longer than its modified form */
  if (text == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < n; i += step, len += n_char) {
    step = take_char(p + i, n - i, text + len, &n_char);
    if (step == 0) {
      return tn_fail(err, TARN_E_CORRUPT, "%s: %s: byte %zu is no modified UTF-8", r->what, part,
                     i);
    }
  }
  text[len] = '\0';
  *out = text;
  return TARN_OK;
}

tarn_status tn_wire_take_end(const tn_wire_reader *r, tarn_error *err) {
  return r->at == r->end ? TARN_OK
                         : tn_fail(err, TARN_E_CORRUPT, "%s: %zu bytes behind its end", r->what,
                                   tn_wire_left(r));
}
