/* context.h - what is inside a tn_codec_context.
 */
#ifndef TN_CODEC_CONTEXT_H
#define TN_CODEC_CONTEXT_H

#include <lz4frame.h>
#include <zlib.h>
#include <zstd.h>

#include "codec/compress.h"

struct tn_codec_context {
  tarn_env *env;
  tn_codec_context *next; /* of the store */
  /* Made when first needed. These three use malloc: the stable interfaces of zstd and LZ4 take no
   * allocator. */
  ZSTD_DCtx *zstd;
  ZSTD_CCtx *zstd_encoder;
  LZ4F_dctx *lz4_frame;
  z_stream zlib;
  bool has_zlib;
  z_stream zlib_encoder;
  bool has_zlib_encoder;
  int zlib_window_bits; /* of zlib_encoder */
  int32_t zlib_level;
  size_t last_ratio; /* of output to input, of the last block of unknown size */
};

#endif
