/* compress.h - all compression codecs behind one table.
 */
#ifndef TN_CODEC_COMPRESS_H
#define TN_CODEC_COMPRESS_H

#include "base/buf.h"
#include "base/env.h"

typedef enum tn_codec_id {
  TN_CODEC_NONE,
  TN_CODEC_ZSTD,
  TN_CODEC_LZ4_RAW,    /* one LZ4 block */
  TN_CODEC_LZ4_HADOOP, /* Parquet's old LZ4: Hadoop frames, or a bare block, or an LZ4 frame */
  TN_CODEC_SNAPPY,     /* one raw snappy block */
  TN_CODEC_GZIP,       /* zlib or gzip members, concatenated ones too */
  TN_CODEC_DEFLATE,    /* raw deflate (Avro) */
  TN_CODEC_BROTLI,
  TN_CODEC_BZIP2, /* not built in: refused by name */
  TN_CODEC_XZ,    /* not built in: refused by name */
  TN_CODEC_LZO,   /* not built in: refused by name */
  TN_N_CODECS
} tn_codec_id;

/* Working memory that is kept between calls (a zstd context); one thread at a time. Taken from the
 * environment, which keeps what is given back for whoever takes next. */
typedef struct tn_codec_context tn_codec_context;
TN_CHECKED tarn_status tn_codec_context_take(tarn_env *env, tn_codec_context **out,
                                             tarn_error *err);
void tn_codec_context_give(tn_codec_context *context); /* accepts NULL */

/* Decompress exactly n_out bytes into out. Errors: CORRUPT (bad data or another length),
 * UNSUPPORTED (codec by name), NOMEM. Untrusted input. */
TN_CHECKED tarn_status tn_decompress(tn_codec_context *context, tn_codec_id id, tn_slice in,
                                     uint8_t *out, size_t n_out, tarn_error *err);
/* Decompress input whose size is not known (Avro blocks); out is emptied first, its limit holds. */
TN_CHECKED tarn_status tn_decompress_all(tn_codec_context *context, tn_codec_id id, tn_slice in,
                                         tn_buf *out, tarn_error *err);

/* The most bytes that tn_compress makes of n_bytes; 0: too many at once (2 GB), or a codec that is
 * not built in. */
size_t tn_compress_bound(tn_codec_id id, size_t n_bytes);
/* Compress as one block. level: the codec's own scale, cut to its range; 0: the default (zstd 1,
 * zlib 6, brotli 4; others have none). n_out is at least tn_compress_bound(). Errors: UNSUPPORTED
 * (codec by name), LIMIT (too many bytes), NOMEM. */
TN_CHECKED tarn_status tn_compress(tn_codec_context *context, tn_codec_id id, int32_t level,
                                   tn_slice in, uint8_t *out, size_t n_out, size_t *written,
                                   tarn_error *err);

#endif
