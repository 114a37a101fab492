/* compress.c - decompression by the system's libraries.
 *
 * Each codec decodes into a buffer of a given size and tells "does not fit" apart from "is wrong".
 * Where the size of the output is not known it is guessed from what the last block gave, and
 * doubled while it does not fit: that costs less than decoding through a window.
 */
#include "codec/compress.h"

#include <brotli/decode.h>
#include <lz4.h>
#include <snappy-c.h>
#include <zstd_errors.h>

#include "base/bytes.h"
#include "base/checked.h"
#include "codec/context.h"

/* Decode into n_out bytes of room; *written: what came out. LIMIT, without a text, when the output
 * does not fit: the callers know what that means. */
typedef tarn_status (*decode_fn)(tn_codec_context *context, tn_slice in, uint8_t *out, size_t n_out,
                                 size_t *written, tarn_error *err);

typedef struct codec {
  const char *name;
  decode_fn decode;
  /* The size that the input claims for its output, if it does; never more than it can hold. */
  bool (*size)(tn_slice in, size_t *n_out);
} codec;

/* ------------------------------------------------------------------ none */

static tarn_status decode_none(tn_codec_context *context, tn_slice in, uint8_t *out, size_t n_out,
                               size_t *written, tarn_error *err) {
  (void)context;
  (void)err;
  if (in.len > n_out) {
    return TARN_E_LIMIT;
  }
  if (in.len > 0) {
    memcpy(out, in.data, in.len);
  }
  *written = in.len;
  return TARN_OK;
}

static bool size_none(tn_slice in, size_t *n_out) {
  *n_out = in.len;
  return true;
}

/* ------------------------------------------------------------------ zstd */

static tarn_status decode_zstd(tn_codec_context *context, tn_slice in, uint8_t *out, size_t n_out,
                               size_t *written, tarn_error *err) {
  size_t n;
  if (context->zstd == NULL && (context->zstd = ZSTD_createDCtx()) == NULL) {
    return tn_oom(err);
  }
  n = ZSTD_decompressDCtx(context->zstd, out, n_out, in.data, in.len);
  if (!ZSTD_isError(n)) {
    *written = n;
    return TARN_OK;
  }
  switch (ZSTD_getErrorCode(n)) {
    case ZSTD_error_dstSize_tooSmall:
      return TARN_E_LIMIT;
    case ZSTD_error_memory_allocation:
      return tn_oom(err);
    default:
      return tn_fail(err, TARN_E_CORRUPT, "zstd data: %s", ZSTD_getErrorName(n));
  }
}

/* Of the first frame, if it says so. A block of 4 bytes can stand for 128 KiB at most. */
static bool size_zstd(tn_slice in, size_t *n_out) {
  unsigned long long n = ZSTD_getFrameContentSize(in.data, in.len);
  *n_out = (size_t)n;
  return n != ZSTD_CONTENTSIZE_UNKNOWN && n != ZSTD_CONTENTSIZE_ERROR &&
         n / 32768 <= (unsigned long long)in.len;
}

/* ------------------------------------------------------------------ lz4 */

static tarn_status decode_lz4(tn_codec_context *context, tn_slice in, uint8_t *out, size_t n_out,
                              size_t *written, tarn_error *err) {
  int n;
  (void)context;
  if (in.len > LZ4_MAX_INPUT_SIZE) {
    return tn_fail(err, TARN_E_CORRUPT, "LZ4 block of %zu bytes: at most %d are possible", in.len,
                   LZ4_MAX_INPUT_SIZE);
  }
  n = LZ4_decompress_safe((const char *)in.data, (char *)out, (int)in.len,
                          n_out > INT32_MAX ? INT32_MAX : (int)n_out);
  if (n < 0) {
    /* "Bad" and "does not fit" are one to the library; but a byte stands for 255 at most. */
    return n_out / 255 <= in.len
               ? TARN_E_LIMIT
               : tn_fail(err, TARN_E_CORRUPT, "LZ4 block of %zu bytes is bad", in.len);
  }
  *written = (size_t)n;
  return TARN_OK;
}

/* Hadoop's BlockCompressorStream: [be32 size of what follows when decompressed], then blocks of
 * [be32 compressed size][LZ4 block] until that size is reached. Fails without a text: other
 * framings are tried next. */
static bool decode_lz4_hadoop_frames(tn_slice in, uint8_t *out, size_t n_out, size_t *written) {
  size_t at = 0, done = 0;
  while (in.len - at >= 4) {
    size_t left = tn_load_be32(in.data + at);
    at += 4;
    if (left > n_out - done) {
      return false;
    }
    while (left > 0) {
      size_t n_in;
      int n;
      if (in.len - at < 4) {
        return false;
      }
      n_in = tn_load_be32(in.data + at);
      at += 4;
      if (n_in > in.len - at || n_in > LZ4_MAX_INPUT_SIZE || left > INT32_MAX) {
        return false;
      }
      n = LZ4_decompress_safe((const char *)in.data + at, (char *)out + done, (int)n_in, (int)left);
      if (n <= 0) {
        return false;
      }
      at += n_in;
      done += (size_t)n;
      left -= (size_t)n;
    }
  }
  *written = done;
  return at == in.len;
}

#define LZ4_FRAME_MAGIC 0x184D2204u

/* LZ4's own frame format, frames one after the other. */
static tarn_status decode_lz4_frames(tn_codec_context *context, tn_slice in, uint8_t *out,
                                     size_t n_out, size_t *written, tarn_error *err) {
  size_t at = 0, done = 0, hint = 1;
  if (context->lz4_frame == NULL &&
      LZ4F_isError(LZ4F_createDecompressionContext(&context->lz4_frame, LZ4F_VERSION))) {
    context->lz4_frame = NULL;
    return tn_oom(err);
  }
  LZ4F_resetDecompressionContext(context->lz4_frame);
  while (at < in.len) {
    size_t n_in = in.len - at, n = n_out - done;
    hint = LZ4F_decompress(context->lz4_frame, out + done, &n, in.data + at, &n_in, NULL);
    if (LZ4F_isError(hint)) {
      return tn_fail(err, TARN_E_CORRUPT, "LZ4 frame: %s", LZ4F_getErrorName(hint));
    }
    if (n == 0 && n_in == 0) {
      return TARN_E_LIMIT; /* input is there, so output has no room */
    }
    at += n_in;
    done += n;
  }
  if (hint != 0) {
    return done == n_out ? TARN_E_LIMIT : tn_fail(err, TARN_E_CORRUPT, "LZ4 frame: cut off");
  }
  *written = done;
  return TARN_OK;
}

/* Writers of Parquet's LZ4 disagree: Hadoop's frames (parquet-mr), a bare block (old Arrow C++) or
 * LZ4's own frame. Only one of them gives a sound result of the stated size. */
static tarn_status decode_lz4_any(tn_codec_context *context, tn_slice in, uint8_t *out,
                                  size_t n_out, size_t *written, tarn_error *err) {
  if (decode_lz4_hadoop_frames(in, out, n_out, written)) {
    return TARN_OK;
  }
  if (in.len >= 4 && tn_load_le32(in.data) == LZ4_FRAME_MAGIC) {
    return decode_lz4_frames(context, in, out, n_out, written, err);
  }
  return decode_lz4(context, in, out, n_out, written, err);
}

/* ------------------------------------------------------------------ snappy */

/* A copy of 3 bytes can stand for 64. */
static bool size_snappy(tn_slice in, size_t *n_out) {
  return snappy_uncompressed_length((const char *)in.data, in.len, n_out) == SNAPPY_OK &&
         *n_out / 64 <= in.len;
}

static tarn_status decode_snappy(tn_codec_context *context, tn_slice in, uint8_t *out, size_t n_out,
                                 size_t *written, tarn_error *err) {
  size_t n;
  (void)context;
  if (!size_snappy(in, &n)) {
    return tn_fail(err, TARN_E_CORRUPT, "snappy data: bad length");
  }
  if (n > n_out) {
    return TARN_E_LIMIT;
  }
  if (snappy_uncompress((const char *)in.data, in.len, (char *)out, &n) != SNAPPY_OK) {
    return tn_fail(err, TARN_E_CORRUPT, "snappy data: bad");
  }
  *written = n;
  return TARN_OK;
}

/* ------------------------------------------------------------------ zlib */

static voidpf zlib_alloc(voidpf ctx, uInt count, uInt size) {
  size_t n;
  return tn_mul_size(count, size, &n) ? tn_alloc(ctx, n) : NULL;
}

static void zlib_free(voidpf ctx, voidpf ptr) {
  tn_free(ctx, ptr);
}

#define ZLIB_RAW (-15)
#define ZLIB_ANY (15 + 32) /* a zlib or gzip header tells */

static tarn_status zlib_start(tn_codec_context *context, int window_bits, tarn_error *err) {
  int rc;
  if (context->has_zlib) {
    rc = inflateReset2(&context->zlib, window_bits);
  } else {
    context->zlib =
        (z_stream){.zalloc = zlib_alloc, .zfree = zlib_free, .opaque = &context->env->mem};
    rc = inflateInit2(&context->zlib, window_bits);
    context->has_zlib = rc == Z_OK;
  }
  return rc == Z_OK          ? TARN_OK
         : rc == Z_MEM_ERROR ? tn_oom(err)
                             : tn_fail(err, TARN_E_INTERNAL, "zlib: cannot start (%d)", rc);
}

/* zlib counts in 32 bits; what it takes at once is cut to that. */
static uInt zlib_part(size_t n) {
  return n > UINT32_MAX ? UINT32_MAX : (uInt)n;
}

static tarn_status zlib_run(tn_codec_context *context, int window_bits, tn_slice in, uint8_t *out,
                            size_t n_out, size_t *written, tarn_error *err) {
  z_stream *z = &context->zlib;
  size_t at = 0, done = 0;
  TN_TRY(zlib_start(context, window_bits, err));
  for (;;) {
    uint8_t spare; /* a stream may still have its trailer to read when the output is full */
    bool is_full = done == n_out;
    uInt n_in = zlib_part(in.len - at), room = is_full ? 1 : zlib_part(n_out - done);
    int rc;
    z->next_in = (Bytef *)(uintptr_t)(in.data + at); /* zlib 1.2 has no const here; only reads */
    z->avail_in = n_in;
    z->next_out = is_full ? &spare : out + done;
    z->avail_out = room;
    rc = inflate(z, Z_NO_FLUSH);
    at += n_in - z->avail_in;
    if (is_full && z->avail_out == 0) {
      return TARN_E_LIMIT;
    }
    done += is_full ? 0 : room - z->avail_out;
    if (rc == Z_STREAM_END) {
      while (window_bits == ZLIB_ANY && at < in.len && in.data[at] == 0) {
        at++; /* gzip allows zeros behind a member */
      }
      if (at == in.len) {
        break;
      }
      if (window_bits != ZLIB_ANY) {
        return tn_fail(err, TARN_E_CORRUPT, "deflate data: %zu bytes behind its end", in.len - at);
      }
      TN_TRY(zlib_start(context, window_bits, err));
    } else if (rc == Z_MEM_ERROR) {
      return tn_oom(err);
    } else if (rc != Z_OK && rc != Z_BUF_ERROR) {
      return tn_fail(err, TARN_E_CORRUPT, "deflate data: %s",
                     z->msg != NULL ? z->msg : "needs a dictionary");
    } else if (at == in.len && z->avail_out > 0) {
      return tn_fail(err, TARN_E_CORRUPT, "deflate data: cut off");
    }
  }
  *written = done;
  return TARN_OK;
}

static tarn_status decode_gzip(tn_codec_context *context, tn_slice in, uint8_t *out, size_t n_out,
                               size_t *written, tarn_error *err) {
  return zlib_run(context, ZLIB_ANY, in, out, n_out, written, err);
}

static tarn_status decode_deflate(tn_codec_context *context, tn_slice in, uint8_t *out,
                                  size_t n_out, size_t *written, tarn_error *err) {
  return zlib_run(context, ZLIB_RAW, in, out, n_out, written, err);
}

/* ------------------------------------------------------------------ brotli */

static void *brotli_alloc(void *ctx, size_t n) {
  return tn_alloc(ctx, n);
}

static void brotli_free(void *ctx, void *ptr) {
  tn_free(ctx, ptr);
}

/* A brotli decoder cannot be used twice. */
static tarn_status decode_brotli(tn_codec_context *context, tn_slice in, uint8_t *out, size_t n_out,
                                 size_t *written, tarn_error *err) {
  BrotliDecoderState *state =
      BrotliDecoderCreateInstance(brotli_alloc, brotli_free, &context->env->mem);
  const uint8_t *next_in = in.data;
  uint8_t *next_out = out;
  size_t n_in = in.len, room = n_out;
  BrotliDecoderResult rc;
  BrotliDecoderErrorCode code;
  if (state == NULL) {
    return tn_oom(err);
  }
  rc = BrotliDecoderDecompressStream(state, &n_in, &next_in, &room, &next_out, NULL);
  code = BrotliDecoderGetErrorCode(state);
  BrotliDecoderDestroyInstance(state);
  if (rc == BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT) {
    return TARN_E_LIMIT;
  }
  if (rc == BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT) {
    return tn_fail(err, TARN_E_CORRUPT, "brotli data: cut off");
  }
  if (rc != BROTLI_DECODER_RESULT_SUCCESS) {
    return code <= BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES &&
                   code >= BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES
               ? tn_oom(err)
               : tn_fail(err, TARN_E_CORRUPT, "brotli data: %s", BrotliDecoderErrorString(code));
  }
  if (n_in > 0) {
    return tn_fail(err, TARN_E_CORRUPT, "brotli data: %zu bytes behind its end", n_in);
  }
  *written = n_out - room;
  return TARN_OK;
}

/* ------------------------------------------------------------------ table */

static const codec codecs[TN_N_CODECS] = {
    [TN_CODEC_NONE] = {"none", decode_none, size_none},
    [TN_CODEC_ZSTD] = {"zstd", decode_zstd, size_zstd},
    [TN_CODEC_LZ4_RAW] = {"lz4_raw", decode_lz4, NULL},
    [TN_CODEC_LZ4_HADOOP] = {"lz4", decode_lz4_any, NULL},
    [TN_CODEC_SNAPPY] = {"snappy", decode_snappy, size_snappy},
    [TN_CODEC_GZIP] = {"gzip", decode_gzip, NULL},
    [TN_CODEC_DEFLATE] = {"deflate", decode_deflate, NULL},
    [TN_CODEC_BROTLI] = {"brotli", decode_brotli, NULL},
    [TN_CODEC_BZIP2] = {"bzip2", NULL, NULL},
    [TN_CODEC_XZ] = {"xz", NULL, NULL},
    [TN_CODEC_LZO] = {"lzo", NULL, NULL},
};

/* The libraries do arithmetic on pointers, so there must be one. */
static tn_slice non_null(tn_slice in) {
  static const uint8_t no_bytes[1];
  return in.data != NULL ? in : tn_slice_of(no_bytes, 0);
}

static tarn_status find_codec(tn_codec_id id, const codec **out, tarn_error *err) {
  if ((size_t)id >= TN_N_CODECS) {
    return tn_fail(err, TARN_E_UNSUPPORTED, "compression codec %d", (int)id);
  }
  *out = &codecs[id];
  return (*out)->decode != NULL
             ? TARN_OK
             : tn_fail(err, TARN_E_UNSUPPORTED, "compression codec %s", (*out)->name);
}

tarn_status tn_decompress(tn_codec_context *context, tn_codec_id id, tn_slice in, uint8_t *out,
                          size_t n_out, tarn_error *err) {
  const codec *c = NULL;
  tarn_status st;
  size_t written = 0;
  uint8_t nowhere;
  TN_TRY(find_codec(id, &c, err));
  if (in.len == 0 && n_out == 0) {
    return TARN_OK; /* pages without values are written so by some */
  }
  st = c->decode(context, non_null(in), n_out > 0 ? out : &nowhere, n_out, &written, err);
  if (st == TARN_E_LIMIT) {
    return tn_fail(err, TARN_E_CORRUPT, "%s data of %zu bytes: bad, or more than the expected %zu",
                   c->name, in.len, n_out);
  }
  if (st == TARN_OK && written != n_out) {
    return tn_fail(err, TARN_E_CORRUPT, "%s data of %zu bytes: expected %zu bytes, found %zu",
                   c->name, in.len, n_out, written);
  }
  return st;
}

#define FIRST_RATIO 4u
#define MIN_ROOM 1024u

tarn_status tn_decompress_all(tn_codec_context *context, tn_codec_id id, tn_slice in, tn_buf *out,
                              tarn_error *err) {
  const codec *c = NULL;
  size_t room = 0;
  bool is_known;
  TN_TRY(find_codec(id, &c, err));
  is_known = c->size != NULL && c->size(non_null(in), &room);
  if (!is_known) {
    size_t ratio = context->last_ratio > 0 ? context->last_ratio : FIRST_RATIO;
    if (!tn_mul_size(in.len, ratio, &room) || room > out->limit_bytes) {
      room = out->limit_bytes;
    }
    room = room < MIN_ROOM ? MIN_ROOM : room;
  }
  /* Room for nothing is still a place to decode to. */
  room = room > out->limit_bytes ? out->limit_bytes : room;
  if (out->limit_bytes == 0) {
    return tn_fail(err, TARN_E_LIMIT, "%s data: no bytes are allowed", c->name);
  }
  for (;;) {
    size_t written = 0;
    tarn_status st;
    out->len = 0;
    if (room > out->capacity) {
      tn_buf_reset(out); /* nothing in it is worth a copy */
    }
    TN_TRY(tn_buf_reserve(out, room > 0 ? room : 1, err));
    room = out->capacity < out->limit_bytes ? out->capacity : out->limit_bytes;
    st = c->decode(context, non_null(in), out->data, room, &written, err);
    if (st == TARN_OK) {
      out->len = written;
      if (!is_known && in.len > 0) {
        context->last_ratio = written / in.len + 1;
      }
      return TARN_OK;
    }
    if (st != TARN_E_LIMIT) {
      return st;
    }
    if (room == out->limit_bytes) {
      return tn_fail(err, TARN_E_LIMIT, "%s data of %zu bytes: more than the allowed %zu bytes",
                     c->name, in.len, out->limit_bytes);
    }
    room = room > out->limit_bytes / 2 ? out->limit_bytes : room * 2;
  }
}
