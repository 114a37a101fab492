/* avro_maker.h - writing Avro files by hand, value by value, right ones and wrong ones; and showing
 * what was read as text.
 */
#ifndef TN_TESTS_UNIT_FORMAT_AVRO_MAKER_H
#define TN_TESTS_UNIT_FORMAT_AVRO_MAKER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

#include "base/bytes.h"
#include "codec/hash.h"
#include "column/vector.h"

typedef struct avro_bytes {
  uint8_t *data;
  size_t len, capacity;
} avro_bytes;

static inline void avro_free(avro_bytes *b) {
  free(b->data);
  memset(b, 0, sizeof(*b));
}

static inline tn_slice avro_slice(const avro_bytes *b) {
  return tn_slice_of(b->data, b->len);
}

static inline void avro_raw(avro_bytes *b, const void *bytes, size_t n) {
  if (b->len + n > b->capacity) {
    b->capacity = (b->len + n) * 2;
    b->data = realloc(b->data, b->capacity);
    assert_non_null(b->data);
  }
  if (n > 0) {
    memcpy(b->data + b->len, bytes, n);
  }
  b->len += n;
}

static inline void avro_literal(avro_bytes *b, const char *text) {
  avro_raw(b, text, strlen(text));
}

static inline void avro_byte(avro_bytes *b, int byte) {
  uint8_t v = (uint8_t)byte;
  avro_raw(b, &v, 1);
}

static inline void avro_long(avro_bytes *b, int64_t value) {
  uint64_t v = ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
  for (; v >= 0x80; v >>= 7) {
    avro_byte(b, (int)(v & 0x7f) | 0x80);
  }
  avro_byte(b, (int)v);
}

static inline void avro_run(avro_bytes *b, const void *bytes, size_t n) {
  avro_long(b, (int64_t)n);
  avro_raw(b, bytes, n);
}

static inline void avro_text(avro_bytes *b, const char *text) {
  avro_run(b, text, strlen(text));
}

static inline void avro_f32(avro_bytes *b, float v) {
  avro_raw(b, &v, sizeof(v));
}

static inline void avro_f64(avro_bytes *b, double v) {
  avro_raw(b, &v, sizeof(v));
}

static const char AVRO_SYNC[17] = "0123456789abcdef";

/* The header of a file. codec NULL: no such key. */
static inline void avro_begin(avro_bytes *b, const char *schema, const char *codec) {
  avro_raw(b, "Obj\x01", 4);
  avro_long(b, codec != NULL ? 2 : 1);
  avro_text(b, "avro.schema");
  avro_text(b, schema);
  if (codec != NULL) {
    avro_text(b, "avro.codec");
    avro_text(b, codec);
  }
  avro_long(b, 0);
  avro_raw(b, AVRO_SYNC, 16);
}

static inline void avro_deflate(avro_bytes *out, const avro_bytes *in) {
  z_stream z;
  uint8_t room[65536];
  memset(&z, 0, sizeof(z));
  assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
  z.next_in = in->data;
  z.avail_in = (uInt)in->len;
  z.next_out = room;
  z.avail_out = sizeof(room);
  assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
  avro_raw(out, room, sizeof(room) - z.avail_out);
  deflateEnd(&z);
}

static inline void avro_snappy(avro_bytes *out, const avro_bytes *in) {
  size_t n = snappy_max_compressed_length(in->len);
  char *room = malloc(n);
  uint8_t crc[4];
  assert_non_null(room);
  assert_int_equal(snappy_compress((const char *)in->data, in->len, room, &n), SNAPPY_OK);
  avro_raw(out, room, n);
  free(room);
  tn_store_be32(crc, tn_crc32(0, in->data, in->len));
  avro_raw(out, crc, 4);
}

static inline void avro_zstd(avro_bytes *out, const avro_bytes *in) {
  size_t n = ZSTD_compressBound(in->len);
  char *room = malloc(n);
  assert_non_null(room);
  n = ZSTD_compress(room, n, in->data, in->len, 1);
  assert_false(ZSTD_isError(n));
  avro_raw(out, room, n);
  free(room);
}

/* A block of that many records; `data` is emptied. */
static inline void avro_block(avro_bytes *b, const char *codec, int64_t n_records,
                              avro_bytes *data) {
  avro_bytes stored = {0};
  if (codec == NULL || strcmp(codec, "null") == 0) {
    avro_raw(&stored, data->data, data->len);
  } else if (strcmp(codec, "deflate") == 0) {
    avro_deflate(&stored, data);
  } else if (strcmp(codec, "snappy") == 0) {
    avro_snappy(&stored, data);
  } else {
    avro_zstd(&stored, data);
  }
  avro_long(b, n_records);
  avro_run(b, stored.data, stored.len);
  avro_raw(b, AVRO_SYNC, 16);
  avro_free(&stored);
  data->len = 0;
}

/* ------------------------------------------------------------------ showing */

typedef struct shown {
  char text[16384];
  size_t len;
} shown;

static inline void show(shown *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static inline void show(shown *s, const char *fmt, ...) {
  va_list args;
  int n;
  va_start(args, fmt);
  n = vsnprintf(s->text + s->len, sizeof(s->text) - s->len, fmt, args);
  va_end(args);
  assert_true(n >= 0 && (size_t)n < sizeof(s->text) - s->len);
  s->len += (size_t)n;
}

static inline void show_i128(shown *s, tn_i128 v) {
  char digits[48];
  int n = 0;
  tn_u128 u = v < 0 ? -(tn_u128)v : (tn_u128)v;
  do {
    digits[n++] = (char)('0' + (int)(u % 10));
    u /= 10;
  } while (u > 0);
  show(s, "%s", v < 0 ? "-" : "");
  while (n > 0) {
    show(s, "%c", digits[--n]);
  }
}

/* Row i of a flat vector: 5, null, 'text', [a, b], {x, y}. */
static inline void show_value(shown *s, const tn_vec *v, int64_t i) {
  tn_slice bytes;
  if (tn_vec_is_null(v, i)) {
    show(s, "null");
    return;
  }
  switch (v->layout) {
    case TN_LAYOUT_BIT:
      show(s, "%s", tn_bit_get(v->values, i) ? "true" : "false");
      break;
    case TN_LAYOUT_I8:
      show(s, "%d", ((const int8_t *)v->values)[i]);
      break;
    case TN_LAYOUT_I16:
      show(s, "%d", ((const int16_t *)v->values)[i]);
      break;
    case TN_LAYOUT_I32:
      show(s, "%d", ((const int32_t *)v->values)[i]);
      break;
    case TN_LAYOUT_I64:
      show(s, "%lld", (long long)((const int64_t *)v->values)[i]);
      break;
    case TN_LAYOUT_F32:
      show(s, "%.9g", (double)((const float *)v->values)[i]);
      break;
    case TN_LAYOUT_F64:
      show(s, "%.17g", ((const double *)v->values)[i]);
      break;
    case TN_LAYOUT_I128:
      show_i128(s, tn_load_i128((const uint8_t *)v->values + 16 * i));
      break;
    case TN_LAYOUT_BYTES:
      bytes = tn_vec_bytes(v, i);
      show(s, "'%.*s'", TN_SLICE_ARG(bytes));
      break;
    case TN_LAYOUT_LIST:
      show(s, "[");
      for (int32_t k = v->offsets[i]; k < v->offsets[i + 1]; k++) {
        show(s, "%s", k > v->offsets[i] ? ", " : "");
        show_value(s, &v->children[0], k);
      }
      show(s, "]");
      break;
    case TN_LAYOUT_FIXED_LIST:
      show(s, "<");
      for (int32_t k = 0; k < v->type->length; k++) {
        show(s, "%s", k > 0 ? ", " : "");
        show_value(s, &v->children[0], i * v->type->length + k);
      }
      show(s, ">");
      break;
    case TN_LAYOUT_STRUCT:
      show(s, "{");
      for (int32_t k = 0; k < v->n_children; k++) {
        show(s, "%s", k > 0 ? ", " : "");
        show_value(s, &v->children[k], i);
      }
      show(s, "}");
      break;
  }
}

#endif
