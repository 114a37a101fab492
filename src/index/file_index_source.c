/* file_index_source.c - bytes and bitmaps of a payload. */
#include "base/bytes.h"
#include "index/file_index_payload.h"

#define WINDOW_BYTES ((size_t)16 << 10) /* what a cursor reads of a file at once */

tarn_status tn_payload_corrupt(const tn_payload *payload, tarn_error *err, const char *fmt, ...) {
  char text[256];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof(text), fmt, args);
  va_end(args);
  return tn_fail(err, TARN_E_CORRUPT, "%s: %s", payload->where, text);
}

tarn_status tn_payload_check_rows(tn_payload *p, uint32_t row_count, tarn_error *err) {
  if (row_count > INT32_MAX || (p->n_rows >= 0 && (int64_t)row_count != p->n_rows)) {
    return tn_payload_corrupt(p, err, "an index of %lu rows, but the data file has %lld",
                              (unsigned long)row_count, (long long)p->n_rows);
  }
  return TARN_OK;
}

static tarn_status reserve(tn_payload *p, size_t n_bytes, tarn_error *err) {
  TN_TRY(tn_env_reserve(p->env, n_bytes, "a file index", err));
  *p->reserved_bytes += n_bytes;
  return TARN_OK;
}

tarn_status tn_payload_calloc(tn_payload *p, size_t count, size_t size, void **out,
                              tarn_error *err) {
  *out = NULL;
  if (count > SIZE_MAX / size) {
    return tn_oom(err);
  }
  TN_TRY(reserve(p, count * size, err));
  *out = tn_arena_calloc(p->arena, count, size);
  return *out != NULL ? TARN_OK : tn_oom(err);
}

tarn_status tn_payload_fetch(tn_payload *p, size_t offset, size_t n_bytes, tn_slice *out,
                             tarn_error *err) {
  uint8_t *bytes;
  if (offset > p->length || n_bytes > p->length - offset) {
    return tn_payload_corrupt(p, err, "%zu bytes at %zu are not within its %zu bytes", n_bytes,
                              offset, p->length);
  }
  if (p->file == NULL) {
    *out = tn_slice_of(p->bytes.data + offset, n_bytes);
    return TARN_OK;
  }
  TN_TRY(reserve(p, n_bytes, err));
  bytes = tn_arena_alloc(p->arena, n_bytes);
  if (bytes == NULL) {
    return tn_oom(err);
  }
  *out = tn_slice_of(bytes, n_bytes);
  return tn_file_read(p->file, p->start + (int64_t)offset, bytes, n_bytes, err);
}

/* ------------------------------------------------------------------ bitmaps */

tarn_status tn_payload_bitmap(tn_payload *p, tn_slice bytes, roaring_bitmap_t **out, size_t *used,
                              tarn_error *err) {
  const char *data = (const char *)bytes.data, *why = NULL;
  size_t n = bytes.len > 0 ? roaring_bitmap_portable_deserialize_size(data, bytes.len) : 0;
  roaring_bitmap_t *rows;
  *out = NULL;
  if (n == 0 || n > bytes.len || (used == NULL && n != bytes.len)) {
    return tn_payload_corrupt(p, err, "bad bitmap in %zu bytes", bytes.len);
  }
  rows = roaring_bitmap_portable_deserialize_safe(data, n);
  if (rows == NULL) {
    return tn_oom(err); /* its size was found, so its bytes are there */
  }
  if (!roaring_bitmap_internal_validate(rows, &why)) {
    roaring_bitmap_free(rows);
    return tn_payload_corrupt(p, err, "bad bitmap: %s", why != NULL ? why : "not valid");
  }
  if (p->n_rows >= 0 && !roaring_bitmap_is_empty(rows) &&
      (int64_t)roaring_bitmap_maximum(rows) >= p->n_rows) {
    tarn_status st =
        tn_payload_corrupt(p, err, "row %lu of %lld", (unsigned long)roaring_bitmap_maximum(rows),
                           (long long)p->n_rows);
    roaring_bitmap_free(rows);
    return st;
  }
  if (used != NULL) {
    *used = n;
  }
  *out = rows;
  return TARN_OK;
}

tarn_status tn_payload_no_rows(roaring_bitmap_t **out, tarn_error *err) {
  *out = roaring_bitmap_create();
  return *out != NULL ? TARN_OK : tn_oom(err);
}

tarn_status tn_payload_single(tn_payload *p, int64_t row, roaring_bitmap_t **out, tarn_error *err) {
  *out = NULL;
  if (row < 0 || row > INT32_MAX || (p->n_rows >= 0 && row >= p->n_rows)) {
    return tn_payload_corrupt(p, err, "row %lld of %lld", (long long)row, (long long)p->n_rows);
  }
  *out = roaring_bitmap_from_range((uint64_t)row, (uint64_t)row + 1, 1);
  return *out != NULL ? TARN_OK : tn_oom(err);
}

tarn_status tn_payload_flip(tn_payload *p, roaring_bitmap_t *rows, tarn_error *err) {
  /* A few rows of very many become a bit each. */
  TN_TRY(reserve(p, (size_t)p->n_rows / 8, err));
  roaring_bitmap_flip_inplace(rows, 0, (uint64_t)p->n_rows);
  return TARN_OK;
}

/* ------------------------------------------------------------------ cursors */

void tn_cursor_init(tn_cursor *c, tn_payload *payload, size_t from, size_t end) {
  *c = (tn_cursor){.payload = payload, .at = from, .end = end};
}

tarn_status tn_cursor_take(tn_cursor *c, size_t n_bytes, const uint8_t **out, tarn_error *err) {
  tn_payload *p = c->payload;
  if (c->at > c->end || n_bytes > c->end - c->at) {
    return tn_payload_corrupt(p, err, "cut off: %zu bytes at %zu of %zu", n_bytes, c->at, c->end);
  }
  if (n_bytes > c->window.len) {
    size_t n = c->end - c->at;
    if (p->file != NULL && n > WINDOW_BYTES) {
      n = n_bytes > WINDOW_BYTES ? n_bytes : WINDOW_BYTES;
    }
    TN_TRY(tn_payload_fetch(p, c->at, n, &c->window, err));
  }
  *out = c->window.data;
  c->window = tn_slice_of(c->window.data + n_bytes, c->window.len - n_bytes);
  c->at += n_bytes;
  return TARN_OK;
}

tarn_status tn_cursor_u8(tn_cursor *c, uint8_t *out, tarn_error *err) {
  const uint8_t *p;
  TN_TRY(tn_cursor_take(c, 1, &p, err));
  *out = *p;
  return TARN_OK;
}

tarn_status tn_cursor_u32(tn_cursor *c, uint32_t *out, tarn_error *err) {
  const uint8_t *p;
  TN_TRY(tn_cursor_take(c, 4, &p, err));
  *out = tn_load_be32(p);
  return TARN_OK;
}
