/* encode.c - compression by the system's libraries, one block at a time. */
#include <brotli/encode.h>
#include <lz4.h>
#include <setjmp.h>
#include <snappy-c.h>
#include <zstd_errors.h>

#include "base/bytes.h"
#include "codec/context.h"

/* The most that is compressed at once: LZ4 counts in int, zlib in 32 bits. */
#define MAX_IN_BYTES ((size_t)LZ4_MAX_INPUT_SIZE)

#define ZSTD_USUAL_LEVEL 1 /* Paimon's file.compression.zstd-level */
#define BROTLI_USUAL_QUALITY 4

/* Hadoop's LZ4 reads blocks into a buffer of its own (io.compression.codec.lz4.buffersize): no
 * block of ours is larger. */
#define HADOOP_BLOCK_BYTES ((size_t)128 << 10)

typedef tarn_status (*encode_fn)(tn_codec_context *context, int32_t level, tn_slice in,
                                 uint8_t *out, size_t n_out, size_t *written, tarn_error *err);

typedef struct encoder {
  const char *name;
  encode_fn encode; /* NULL: only read */
  size_t (*bound)(size_t n_in);
} encoder;

/* The library says that it failed: out of memory, as room and input are right. */
static tarn_status failed(const char *name, const char *why, tarn_error *err) {
  return tn_fail(err, TARN_E_INTERNAL, "%s cannot compress: %s", name, why);
}

/* ------------------------------------------------------------------ none */

static tarn_status encode_none(tn_codec_context *context, int32_t level, tn_slice in, uint8_t *out,
                               size_t n_out, size_t *written, tarn_error *err) {
  (void)context;
  (void)level;
  (void)n_out;
  (void)err;
  if (in.len > 0) {
    memcpy(out, in.data, in.len);
  }
  *written = in.len;
  return TARN_OK;
}

static size_t bound_none(size_t n) {
  return n;
}

/* ------------------------------------------------------------------ zstd */

/* At level 1, the table of a block of 16 KiB and more is made to fit the first cache: a tenth of
 * the time for about a hundredth of the size. */
#define ZSTD_TABLE_MIN_BYTES ((size_t)16 << 10)
#define ZSTD_TABLE_LOG 13

static tarn_status encode_zstd(tn_codec_context *context, int32_t level, tn_slice in, uint8_t *out,
                               size_t n_out, size_t *written, tarn_error *err) {
  bool is_small_table = (level == 0 || level == 1) && in.len >= ZSTD_TABLE_MIN_BYTES;
  size_t n;
  if (context->zstd_encoder == NULL && (context->zstd_encoder = ZSTD_createCCtx()) == NULL) {
    return tn_oom(err);
  }
  ZSTD_CCtx_reset(context->zstd_encoder, ZSTD_reset_session_and_parameters);
  ZSTD_CCtx_setParameter(context->zstd_encoder, ZSTD_c_compressionLevel,
                         level != 0 ? level : ZSTD_USUAL_LEVEL);
  ZSTD_CCtx_setParameter(context->zstd_encoder, ZSTD_c_hashLog,
                         is_small_table ? ZSTD_TABLE_LOG : 0);
  n = ZSTD_compress2(context->zstd_encoder, out, n_out, in.data, in.len);
  if (ZSTD_isError(n)) {
    return ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation
               ? tn_oom(err)
               : failed("zstd", ZSTD_getErrorName(n), err);
  }
  *written = n;
  return TARN_OK;
}

static size_t bound_zstd(size_t n) {
  return ZSTD_compressBound(n);
}

/* ------------------------------------------------------------------ lz4 */

static tarn_status encode_lz4(tn_codec_context *context, int32_t level, tn_slice in, uint8_t *out,
                              size_t n_out, size_t *written, tarn_error *err) {
  int n = LZ4_compress_default((const char *)in.data, (char *)out, (int)in.len,
                               n_out > INT32_MAX ? INT32_MAX : (int)n_out);
  (void)context;
  (void)level;
  if (n <= 0) {
    return failed("lz4", "no room or no memory", err);
  }
  *written = (size_t)n;
  return TARN_OK;
}

static size_t bound_lz4(size_t n) {
  return (size_t)LZ4_compressBound((int)n);
}

/* A frame of one block for every HADOOP_BLOCK_BYTES. */
static tarn_status encode_lz4_hadoop(tn_codec_context *context, int32_t level, tn_slice in,
                                     uint8_t *out, size_t n_out, size_t *written, tarn_error *err) {
  size_t done = 0;
  for (size_t at = 0; at < in.len; at += HADOOP_BLOCK_BYTES) {
    size_t n = in.len - at < HADOOP_BLOCK_BYTES ? in.len - at : HADOOP_BLOCK_BYTES, block = 0;
    TN_TRY(encode_lz4(context, level, tn_slice_of(in.data + at, n), out + done + 8,
                      n_out - done - 8, &block, err));
    tn_store_be32(out + done, (uint32_t)n);
    tn_store_be32(out + done + 4, (uint32_t)block);
    done += 8 + block;
  }
  *written = done;
  return TARN_OK;
}

static size_t bound_lz4_hadoop(size_t n) {
  return n / HADOOP_BLOCK_BYTES * (8 + bound_lz4(HADOOP_BLOCK_BYTES)) + 8 +
         bound_lz4(n % HADOOP_BLOCK_BYTES);
}

/* ------------------------------------------------------------------ snappy */

static tarn_status encode_snappy(tn_codec_context *context, int32_t level, tn_slice in,
                                 uint8_t *out, size_t n_out, size_t *written, tarn_error *err) {
  size_t n = n_out;
  (void)context;
  (void)level;
  if (snappy_compress((const char *)in.data, in.len, (char *)out, &n) != SNAPPY_OK) {
    return failed("snappy", "no room", err);
  }
  *written = n;
  return TARN_OK;
}

static size_t bound_snappy(size_t n) {
  return snappy_max_compressed_length(n);
}

/* ------------------------------------------------------------------ zlib */

static voidpf zlib_alloc(voidpf ctx, uInt count, uInt size) {
  return tn_alloc(ctx, (size_t)count * size); /* both of 32 bits */
}

static void zlib_free(voidpf ctx, voidpf ptr) {
  tn_free(ctx, ptr);
}

/* An encoder of this framing and level, as new. */
static tarn_status zlib_start(tn_codec_context *context, int window_bits, int32_t level,
                              tarn_error *err) {
  z_stream *z = &context->zlib_encoder;
  int rc;
  if (context->has_zlib_encoder && context->zlib_window_bits == window_bits &&
      context->zlib_level == level) {
    rc = deflateReset(z);
  } else {
    if (context->has_zlib_encoder) {
      deflateEnd(z);
    }
    *z = (z_stream){.zalloc = zlib_alloc, .zfree = zlib_free, .opaque = &context->env->mem};
    rc = deflateInit2(z, level, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
    context->has_zlib_encoder = rc == Z_OK;
    context->zlib_window_bits = window_bits;
    context->zlib_level = level;
  }
  return rc == Z_OK          ? TARN_OK
         : rc == Z_MEM_ERROR ? tn_oom(err)
                             : failed("zlib", "it does not start", err);
}

static tarn_status zlib_run(tn_codec_context *context, int window_bits, int32_t level, tn_slice in,
                            uint8_t *out, size_t n_out, size_t *written, tarn_error *err) {
  z_stream *z = &context->zlib_encoder;
  int32_t clamped = level > 9 ? 9 : level < 0 ? 0 : level;
  TN_TRY(zlib_start(context, window_bits, level != 0 ? clamped : Z_DEFAULT_COMPRESSION, err));
  z->next_in = (Bytef *)(uintptr_t)in.data; /* zlib 1.2 has no const here; only reads */
  z->avail_in = (uInt)in.len;
  z->next_out = out;
  z->avail_out = n_out > UINT32_MAX ? UINT32_MAX : (uInt)n_out;
  if (deflate(z, Z_FINISH) != Z_STREAM_END) {
    return failed("zlib", z->msg != NULL ? z->msg : "no room", err);
  }
  *written = z->total_out;
  return TARN_OK;
}

#define ZLIB_RAW (-15)
#define ZLIB_GZIP (15 + 16)

static tarn_status encode_gzip(tn_codec_context *context, int32_t level, tn_slice in, uint8_t *out,
                               size_t n_out, size_t *written, tarn_error *err) {
  return zlib_run(context, ZLIB_GZIP, level, in, out, n_out, written, err);
}

static tarn_status encode_deflate(tn_codec_context *context, int32_t level, tn_slice in,
                                  uint8_t *out, size_t n_out, size_t *written, tarn_error *err) {
  return zlib_run(context, ZLIB_RAW, level, in, out, n_out, written, err);
}

/* zlib's own bound holds for its own window and memory level; a gzip header is 12 bytes longer. */
static size_t bound_zlib(size_t n) {
  return compressBound(n) + 32;
}

/* ------------------------------------------------------------------ brotli */

/* Builds of the library end the process when they get no memory (BROTLI_ENCODER_EXIT_ON_OOM, which
 * is on when nobody says otherwise). So a failing allocation leaves it by longjmp instead, and what
 * it held is freed from a list. */
typedef struct brotli_block {
  struct brotli_block *before, *after;
} TN_ALIGNED(16) brotli_block;

typedef struct brotli_heap {
  tn_mem *mem;
  brotli_block blocks; /* the ring's head */
  jmp_buf out_of_memory;
} brotli_heap;

static void *brotli_alloc(void *ctx, size_t n) {
  brotli_heap *heap = ctx;
  brotli_block *block = n < SIZE_MAX / 2 ? tn_alloc(heap->mem, n + sizeof(*block)) : NULL;
  if (block == NULL) {
    longjmp(heap->out_of_memory, 1);
  }
  block->before = &heap->blocks;
  block->after = heap->blocks.after;
  block->after->before = block;
  heap->blocks.after = block;
  return block + 1;
}

static void brotli_free(void *ctx, void *ptr) {
  brotli_heap *heap = ctx;
  if (ptr != NULL) {
    brotli_block *block = (brotli_block *)ptr - 1;
    block->before->after = block->after;
    block->after->before = block->before;
    tn_free(heap->mem, block);
  }
}

/* One block; false: no memory, and everything is freed. *n_out: room, then what is left of it. */
static bool brotli_run(brotli_heap *heap, uint32_t quality, tn_slice in, uint8_t *out,
                       size_t *n_out, bool *is_done) {
  BrotliEncoderState *state;
  const uint8_t *next_in = in.data;
  size_t n_in = in.len;
  heap->blocks.before = heap->blocks.after = &heap->blocks;
  if (setjmp(heap->out_of_memory) != 0) {
    while (heap->blocks.after != &heap->blocks) {
      brotli_free(heap, heap->blocks.after + 1);
    }
    return false;
  }
  state = BrotliEncoderCreateInstance(brotli_alloc, brotli_free, heap);
  BrotliEncoderSetParameter(state, BROTLI_PARAM_QUALITY, quality);
  BrotliEncoderSetParameter(state, BROTLI_PARAM_SIZE_HINT, (uint32_t)in.len);
  *is_done = BrotliEncoderCompressStream(state, BROTLI_OPERATION_FINISH, &n_in, &next_in, n_out,
                                         &out, NULL) &&
             BrotliEncoderIsFinished(state);
  BrotliEncoderDestroyInstance(state);
  return true;
}

static tarn_status encode_brotli(tn_codec_context *context, int32_t level, tn_slice in,
                                 uint8_t *out, size_t n_out, size_t *written, tarn_error *err) {
  brotli_heap heap = {.mem = &context->env->mem};
  uint32_t quality = level == 0   ? BROTLI_USUAL_QUALITY
                     : level < 0  ? BROTLI_MIN_QUALITY
                     : level > 11 ? BROTLI_MAX_QUALITY
                                  : (uint32_t)level;
  size_t room = n_out;
  bool is_done = false;
  if (!brotli_run(&heap, quality, in, out, &room, &is_done)) {
    return tn_oom(err);
  }
  if (!is_done) {
    return failed("brotli", "no room", err);
  }
  *written = n_out - room;
  return TARN_OK;
}

static size_t bound_brotli(size_t n) {
  return BrotliEncoderMaxCompressedSize(n) + 1024;
}

/* ------------------------------------------------------------------ table */

static const encoder encoders[TN_N_CODECS] = {
    [TN_CODEC_NONE] = {"none", encode_none, bound_none},
    [TN_CODEC_ZSTD] = {"zstd", encode_zstd, bound_zstd},
    [TN_CODEC_LZ4_RAW] = {"lz4_raw", encode_lz4, bound_lz4},
    [TN_CODEC_LZ4_HADOOP] = {"lz4", encode_lz4_hadoop, bound_lz4_hadoop},
    [TN_CODEC_SNAPPY] = {"snappy", encode_snappy, bound_snappy},
    [TN_CODEC_GZIP] = {"gzip", encode_gzip, bound_zlib},
    [TN_CODEC_DEFLATE] = {"deflate", encode_deflate, bound_zlib},
    [TN_CODEC_BROTLI] = {"brotli", encode_brotli, bound_brotli},
    [TN_CODEC_BZIP2] = {"bzip2", NULL, NULL},
    [TN_CODEC_XZ] = {"xz", NULL, NULL},
    [TN_CODEC_LZO] = {"lzo", NULL, NULL},
};

static const encoder *find_encoder(tn_codec_id id) {
  return (size_t)id < TN_N_CODECS && encoders[id].encode != NULL ? &encoders[id] : NULL;
}

size_t tn_compress_bound(tn_codec_id id, size_t n_bytes) {
  const encoder *e = find_encoder(id);
  return e == NULL || n_bytes > MAX_IN_BYTES ? 0 : e->bound(n_bytes > 0 ? n_bytes : 1);
}

tarn_status tn_compress(tn_codec_context *context, tn_codec_id id, int32_t level, tn_slice in,
                        uint8_t *out, size_t n_out, size_t *written, tarn_error *err) {
  static const uint8_t no_bytes[1];
  const encoder *e = find_encoder(id);
  *written = 0;
  if (e == NULL) {
    return tn_fail(err, TARN_E_UNSUPPORTED, "compression by codec %s",
                   (size_t)id < TN_N_CODECS ? encoders[id].name : "of another release");
  }
  if (in.len > MAX_IN_BYTES) {
    return tn_fail(err, TARN_E_LIMIT, "%s: %zu bytes at once: at most %zu are possible", e->name,
                   in.len, MAX_IN_BYTES);
  }
  if (n_out < tn_compress_bound(id, in.len)) {
    return TN_BUG(err, "room for compressed data is below its bound");
  }
  /* The libraries do arithmetic on pointers, so there must be one. */
  return e->encode(context, level, in.data != NULL ? in : tn_slice_of(no_bytes, 0), out, n_out,
                   written, err);
}
