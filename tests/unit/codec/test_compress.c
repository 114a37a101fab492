/* Codecs: data of other writers, both ways in, and bad data. */
#include <brotli/encode.h>
#include <lz4.h>
#include <lz4frame.h>
#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

#include "base/bytes.h"
#include "codec_test.h"
#include "support/files.h"

/* ------------------------------------------------------------------ compressing, for the tests */

typedef struct bytes {
  uint8_t *data;
  size_t len;
} bytes;

/* Text that repeats itself now and then. */
static bytes make_text(size_t n) {
  bytes b = {malloc(n + 1), n};
  uint32_t x = 7;
  for (size_t i = 0; i < n; i++) {
    if (i % 64 == 0) {
      x = x * 1664525u + 1013904223u;
    }
    b.data[i] = (uint8_t)('a' + ((x >> 20) + i) % 26);
  }
  return b;
}

static bytes zlib_bytes(bytes in, int window_bits) {
  bytes out = {malloc(in.len + 1000), 0};
  z_stream z = {0};
  assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
  z.next_in = in.data;
  z.avail_in = (uInt)in.len;
  z.next_out = out.data;
  z.avail_out = (uInt)in.len + 1000;
  assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
  out.len = z.total_out;
  deflateEnd(&z);
  return out;
}

static bytes do_none(bytes in) {
  bytes out = {malloc(in.len + 1), in.len};
  memcpy(out.data, in.data, in.len);
  return out;
}

static bytes do_zstd(bytes in) {
  bytes out = {malloc(ZSTD_compressBound(in.len)), 0};
  out.len = ZSTD_compress(out.data, ZSTD_compressBound(in.len), in.data, in.len, 3);
  assert_false(ZSTD_isError(out.len));
  return out;
}

/* As Java's ZstdOutputStream writes: the frame does not tell its size. */
static bytes do_zstd_stream(bytes in) {
  size_t room = ZSTD_compressBound(in.len) + 100;
  bytes out = {malloc(room), 0};
  ZSTD_CCtx *c = ZSTD_createCCtx();
  ZSTD_outBuffer to = {out.data, room, 0};
  ZSTD_inBuffer from = {in.data, in.len, 0};
  ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag, 0);
  ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
  assert_false(ZSTD_isError(ZSTD_compressStream2(c, &to, &from, ZSTD_e_continue)));
  assert_int_equal(ZSTD_compressStream2(c, &to, &from, ZSTD_e_end), 0);
  ZSTD_freeCCtx(c);
  out.len = to.pos;
  assert_true(ZSTD_getFrameContentSize(out.data, out.len) == ZSTD_CONTENTSIZE_UNKNOWN);
  return out;
}

static bytes do_lz4(bytes in) {
  int room = LZ4_compressBound((int)in.len);
  bytes out = {malloc((size_t)room), 0};
  out.len =
      (size_t)LZ4_compress_default((const char *)in.data, (char *)out.data, (int)in.len, room);
  return out;
}

static bytes do_lz4_frame(bytes in) {
  size_t room = LZ4F_compressFrameBound(in.len, NULL);
  bytes out = {malloc(room), 0};
  out.len = LZ4F_compressFrame(out.data, room, in.data, in.len, NULL);
  assert_false(LZ4F_isError(out.len));
  return out;
}

/* One Hadoop frame for each piece of `piece` bytes, of one LZ4 block for each `block` bytes. */
static bytes hadoop(bytes in, size_t piece, size_t block) {
  bytes out = {malloc(in.len * 2 + 1000), 0};
  for (size_t at = 0; at < in.len; at += piece) {
    size_t n = in.len - at < piece ? in.len - at : piece;
    tn_store_be32(out.data + out.len, (uint32_t)n);
    out.len += 4;
    for (size_t k = 0; k < n; k += block) {
      bytes part = {in.data + at + k, n - k < block ? n - k : block}, packed = do_lz4(part);
      tn_store_be32(out.data + out.len, (uint32_t)packed.len);
      memcpy(out.data + out.len + 4, packed.data, packed.len);
      out.len += 4 + packed.len;
      free(packed.data);
    }
  }
  return out;
}

static bytes do_hadoop_one(bytes in) {
  return hadoop(in, in.len, in.len);
}

static bytes do_hadoop_many(bytes in) {
  return hadoop(in, 1000, 300);
}

static bytes do_snappy(bytes in) {
  bytes out = {malloc(snappy_max_compressed_length(in.len)), 0};
  out.len = snappy_max_compressed_length(in.len);
  assert_int_equal(snappy_compress((const char *)in.data, in.len, (char *)out.data, &out.len),
                   SNAPPY_OK);
  return out;
}

static bytes do_gzip(bytes in) {
  return zlib_bytes(in, 15 + 16);
}

static bytes do_zlib(bytes in) {
  return zlib_bytes(in, 15);
}

static bytes do_deflate(bytes in) {
  return zlib_bytes(in, -15);
}

static bytes do_brotli(bytes in) {
  bytes out = {malloc(in.len + 1000), in.len + 1000};
  assert_true(
      BrotliEncoderCompress(5, 18, BROTLI_MODE_GENERIC, in.len, in.data, &out.len, out.data));
  return out;
}

static const struct {
  const char *name;
  tn_codec_id id;
  bytes (*compress)(bytes in);
} ways[] = {
    {"none", TN_CODEC_NONE, do_none},
    {"zstd", TN_CODEC_ZSTD, do_zstd},
    {"zstd of unknown size", TN_CODEC_ZSTD, do_zstd_stream},
    {"lz4 block", TN_CODEC_LZ4_RAW, do_lz4},
    {"lz4 in one Hadoop frame", TN_CODEC_LZ4_HADOOP, do_hadoop_one},
    {"lz4 in many Hadoop frames", TN_CODEC_LZ4_HADOOP, do_hadoop_many},
    {"lz4 bare", TN_CODEC_LZ4_HADOOP, do_lz4},
    {"lz4 frame", TN_CODEC_LZ4_HADOOP, do_lz4_frame},
    {"snappy", TN_CODEC_SNAPPY, do_snappy},
    {"gzip", TN_CODEC_GZIP, do_gzip},
    {"zlib", TN_CODEC_GZIP, do_zlib},
    {"deflate", TN_CODEC_DEFLATE, do_deflate},
    {"brotli", TN_CODEC_BROTLI, do_brotli},
};

/* ------------------------------------------------------------------ tests */

static void decompress__gives_what_was_compressed(void **state) {
  static const size_t sizes[] = {1, 2, 100, 65536, 300000};
  (void)state;
  for (size_t w = 0; w < TN_COUNT(ways); w++) {
    for (size_t s = 0; s < TN_COUNT(sizes); s++) {
      bytes text = make_text(sizes[s]), packed = ways[w].compress(text);
      uint8_t *out = malloc(text.len);
      tarn_error err;
      tn_buf all;
      tn_buf_init(&all, &env->mem, 1 << 20);
      if (tn_decompress(context, ways[w].id, tn_slice_of(packed.data, packed.len), out, text.len,
                        &err) != TARN_OK) {
        fail_msg("%s: %s", ways[w].name, err.message);
      }
      assert_memory_equal(out, text.data, text.len);
      if (tn_decompress_all(context, ways[w].id, tn_slice_of(packed.data, packed.len), &all,
                            &err) != TARN_OK) {
        fail_msg("%s: %s", ways[w].name, err.message);
      }
      assert_int_equal(all.len, text.len);
      assert_memory_equal(all.data, text.data, text.len);
      tn_buf_reset(&all);
      free(out);
      free(packed.data);
      free(text.data);
    }
  }
}

static void decompress__refuses_another_size(void **state) {
  (void)state;
  for (size_t w = 0; w < TN_COUNT(ways); w++) {
    bytes text = make_text(5000), packed = ways[w].compress(text);
    static const size_t sizes[] = {0, 1, 4999, 5001, 100000};
    for (size_t s = 0; s < TN_COUNT(sizes); s++) {
      uint8_t *out = malloc(sizes[s] + 1);
      tarn_error err;
      if (tn_decompress(context, ways[w].id, tn_slice_of(packed.data, packed.len), out, sizes[s],
                        &err) != TARN_E_CORRUPT) {
        fail_msg("%s: %zu bytes instead of 5000 were taken", ways[w].name, sizes[s]);
      }
      assert_true(err.message[0] != '\0');
      free(out);
    }
    free(packed.data);
    free(text.data);
  }
}

static void decompress__refuses_every_truncation(void **state) {
  (void)state;
  for (size_t w = 1; w < TN_COUNT(ways); w++) {
    bytes text = make_text(600), packed = ways[w].compress(text);
    uint8_t *out = malloc(text.len);
    for (size_t n = 0; n < packed.len; n++) {
      uint8_t *cut = malloc(n + 1);
      tarn_error err;
      tn_buf all;
      memcpy(cut, packed.data, n);
      if (tn_decompress(context, ways[w].id, tn_slice_of(cut, n), out, text.len, &err) !=
          TARN_E_CORRUPT) {
        fail_msg("%s: cut at %zu of %zu was taken", ways[w].name, n, packed.len);
      }
      tn_buf_init(&all, &env->mem, 1 << 20);
      /* Without a known size whole Hadoop frames are all there is. */
      assert_true(tn_decompress_all(context, ways[w].id, tn_slice_of(cut, n), &all, &err) ==
                      TARN_E_CORRUPT ||
                  all.len < text.len);
      tn_buf_reset(&all);
      free(cut);
    }
    free(out);
    free(packed.data);
    free(text.data);
  }
}

static void decompress__survives_every_flip(void **state) {
  (void)state;
  for (size_t w = 1; w < TN_COUNT(ways); w++) {
    bytes text = make_text(300), packed = ways[w].compress(text);
    uint8_t *out = malloc(text.len);
    for (size_t i = 0; i < packed.len * 8; i++) {
      tn_slice in = tn_slice_of(packed.data, packed.len);
      tarn_error err;
      tarn_status st;
      tn_buf all;
      packed.data[i / 8] ^= (uint8_t)(1u << (i % 8));
      st = tn_decompress(context, ways[w].id, in, out, text.len, &err);
      assert_true(st == TARN_OK || st == TARN_E_CORRUPT);
      tn_buf_init(&all, &env->mem, 1 << 16);
      st = tn_decompress_all(context, ways[w].id, in, &all, &err);
      assert_true(st == TARN_OK || st == TARN_E_CORRUPT || st == TARN_E_LIMIT);
      tn_buf_reset(&all);
      packed.data[i / 8] ^= (uint8_t)(1u << (i % 8));
    }
    /* The context is as good as before. */
    assert_int_equal(tn_decompress(context, ways[w].id, tn_slice_of(packed.data, packed.len), out,
                                   text.len, NULL),
                     TARN_OK);
    free(out);
    free(packed.data);
    free(text.data);
  }
}

static void decompress_all__keeps_the_limit_of_its_buffer(void **state) {
  (void)state;
  for (size_t w = 0; w < TN_COUNT(ways); w++) {
    bytes text = make_text(50000), packed = ways[w].compress(text);
    tn_slice in = tn_slice_of(packed.data, packed.len);
    tarn_error err;
    tn_buf all;
    tn_buf_init(&all, &env->mem, 49999);
    if (tn_decompress_all(context, ways[w].id, in, &all, &err) != TARN_E_LIMIT) {
      fail_msg("%s: more than the limit", ways[w].name);
    }
    assert_contains(err.message, "49999");
    assert_true(all.capacity <= 49999);
    tn_buf_reset(&all);
    tn_buf_init(&all, &env->mem, 50000);
    assert_works(tn_decompress_all(context, ways[w].id, in, &all, &err), err);
    assert_int_equal(all.len, 50000);
    tn_buf_reset(&all);
    tn_buf_init(&all, &env->mem, 0);
    assert_int_equal(tn_decompress_all(context, ways[w].id, in, &all, &err), TARN_E_LIMIT);
    tn_buf_reset(&all);
    free(packed.data);
    free(text.data);
  }
}

static void decompress_all__does_not_trust_a_claimed_size(void **state) {
  /* A zstd frame and a snappy block of a few bytes that claim a terabyte and a gigabyte. */
  static const struct {
    tn_codec_id id;
    const char *hex;
  } cases[] = {{TN_CODEC_ZSTD, "28b52ffde0 0000000000010000 010000"},
               {TN_CODEC_SNAPPY, "8080808004 00"}};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    size_t n;
    uint8_t *in = tn_test_hex(cases[i].hex, &n);
    tn_buf all;
    tarn_error err;
    tn_buf_init(&all, &env->mem, SIZE_MAX / 2);
    assert_int_equal(tn_decompress_all(context, cases[i].id, tn_slice_of(in, n), &all, &err),
                     TARN_E_CORRUPT);
    assert_true(all.capacity < 1 << 20);
    tn_buf_reset(&all);
    free(in);
  }
}

#define TEXT "brotli data, brotli data, brotli data."

static void decompress__reads_other_writers(void **state) {
  /* Written by pyarrow, python-zstandard (streaming) and Python's zlib. */
  static const struct {
    tn_codec_id id;
    const char *hex;
  } cases[] = {
      {TN_CODEC_ZSTD, "28b52ffd0058a500007062726f746c6920646174612c202e010000ce2f"},
      {TN_CODEC_LZ4_HADOOP,
       "04224d1860408217000000df62726f746c6920646174612c200d000150646174612e00000000"},
      {TN_CODEC_LZ4_HADOOP, "df62726f746c6920646174612c200d000150646174612e"},
      {TN_CODEC_LZ4_RAW, "df62726f746c6920646174612c200d000150646174612e"},
      {TN_CODEC_SNAPPY, "263062726f746c6920646174612c205e0d00002e"},
      {TN_CODEC_GZIP, "1f8b08000000000002034b2aca2fc9c95448492c49d45148c2c1d103007286a3b526000000"},
      {TN_CODEC_GZIP, "789c4b2aca2fc9c95448492c49d45148c2c1d103000e700d99"},
      {TN_CODEC_DEFLATE, "4b2aca2fc9c95448492c49d45148c2c1d10300"},
      {TN_CODEC_BROTLI, "1b250000c47978bdf9d37bf445c42c1599859a6acefaf60d3ecb2210"},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    size_t n;
    uint8_t *in = tn_test_hex(cases[i].hex, &n), out[sizeof(TEXT) - 1];
    tarn_error err;
    assert_works(tn_decompress(context, cases[i].id, tn_slice_of(in, n), out, sizeof(out), &err),
                 err);
    assert_memory_equal(out, TEXT, sizeof(out));
    free(in);
  }
}

static void decompress__joins_members_and_frames(void **state) {
  static const struct {
    tn_codec_id id;
    bytes (*compress)(bytes in);
  } cases[] = {{TN_CODEC_GZIP, do_gzip},
               {TN_CODEC_ZSTD, do_zstd},
               {TN_CODEC_ZSTD, do_zstd_stream},
               {TN_CODEC_LZ4_HADOOP, do_lz4_frame},
               {TN_CODEC_LZ4_HADOOP, do_hadoop_one}};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    bytes a = make_text(3000), packed = cases[i].compress(a), both;
    uint8_t out[6000];
    tn_buf all;
    tarn_error err;
    both.data = malloc(packed.len * 2 + 5);
    memcpy(both.data, packed.data, packed.len);
    memcpy(both.data + packed.len, packed.data, packed.len);
    both.len = packed.len * 2;
    assert_works(tn_decompress(context, cases[i].id, tn_slice_of(both.data, both.len), out,
                               sizeof(out), &err),
                 err);
    assert_memory_equal(out, a.data, 3000);
    assert_memory_equal(out + 3000, a.data, 3000);
    tn_buf_init(&all, &env->mem, 1 << 20);
    assert_works(
        tn_decompress_all(context, cases[i].id, tn_slice_of(both.data, both.len), &all, &err), err);
    assert_int_equal(all.len, 6000);
    tn_buf_reset(&all);
    free(both.data);
    free(packed.data);
    free(a.data);
  }
}

static void gzip__allows_zeros_behind_it_and_nothing_else(void **state) {
  bytes a = make_text(100), packed = do_gzip(a);
  uint8_t *in = calloc(1, packed.len + 8), out[100];
  tarn_error err;
  (void)state;
  memcpy(in, packed.data, packed.len);
  assert_works(
      tn_decompress(context, TN_CODEC_GZIP, tn_slice_of(in, packed.len + 8), out, 100, &err), err);
  in[packed.len + 7] = 1;
  assert_int_equal(
      tn_decompress(context, TN_CODEC_GZIP, tn_slice_of(in, packed.len + 8), out, 100, &err),
      TARN_E_CORRUPT);
  free(in);
  free(packed.data);
  packed = do_deflate(a);
  in = calloc(1, packed.len + 1);
  memcpy(in, packed.data, packed.len);
  assert_int_equal(
      tn_decompress(context, TN_CODEC_DEFLATE, tn_slice_of(in, packed.len + 1), out, 100, &err),
      TARN_E_CORRUPT);
  assert_contains(err.message, "1 bytes behind its end");
  free(in);
  free(packed.data);
  free(a.data);
}

static void decompress__of_nothing_is_nothing(void **state) {
  tarn_error err;
  (void)state;
  for (tn_codec_id id = TN_CODEC_NONE; id <= TN_CODEC_BROTLI; id++) {
    assert_works(tn_decompress(context, id, tn_slice_of(NULL, 0), NULL, 0, &err), err);
    assert_int_equal(tn_decompress(context, id, tn_slice_of(NULL, 0), (uint8_t[1]){0}, 1, &err),
                     TARN_E_CORRUPT);
  }
}

static void decompress__refuses_codecs_by_name(void **state) {
  static const struct {
    tn_codec_id id;
    const char *name;
  } cases[] = {{TN_CODEC_BZIP2, "bzip2"},
               {TN_CODEC_XZ, "xz"},
               {TN_CODEC_LZO, "lzo"},
               {TN_N_CODECS, "11"},
               {(tn_codec_id)-1, "-1"}};
  tn_buf all;
  (void)state;
  tn_buf_init(&all, &env->mem, 100);
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    uint8_t out[1];
    tarn_error err;
    assert_int_equal(tn_decompress(context, cases[i].id, tn_slice_text("x"), out, 1, &err),
                     TARN_E_UNSUPPORTED);
    assert_contains(err.message, cases[i].name);
    assert_int_equal(tn_decompress_all(context, cases[i].id, tn_slice_text("x"), &all, &err),
                     TARN_E_UNSUPPORTED);
  }
}

static tarn_status decompress_each(void *ctx, tarn_env *fresh, tarn_error *err) {
  tn_codec_context *c = NULL;
  tarn_status st = TARN_OK;
  tn_buf all;
  (void)ctx;
  tn_buf_init(&all, &fresh->mem, 1 << 20);
  TN_TRY_TO(done, tn_codec_context_take(fresh, &c, err));
  for (size_t w = 0; w < TN_COUNT(ways) && st == TARN_OK; w++) {
    bytes text = make_text(20000), packed = ways[w].compress(text);
    tn_slice in = tn_slice_of(packed.data, packed.len);
    uint8_t *out = malloc(text.len);
    st = tn_decompress(c, ways[w].id, in, out, text.len, err);
    if (st == TARN_OK) {
      st = tn_decompress_all(c, ways[w].id, in, &all, err);
    }
    free(out);
    free(packed.data);
    free(text.data);
  }
done:
  tn_codec_context_give(c);
  tn_buf_reset(&all);
  return st;
}

static void codecs__survive_failing_allocations(void **state) {
  (void)state;
  assert_true(tn_torture(decompress_each, NULL, TARN_OK) > 10);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(decompress__gives_what_was_compressed),
      TEST(decompress__refuses_another_size),
      TEST(decompress__refuses_every_truncation),
      TEST(decompress__survives_every_flip),
      TEST(decompress_all__keeps_the_limit_of_its_buffer),
      TEST(decompress_all__does_not_trust_a_claimed_size),
      TEST(decompress__reads_other_writers),
      TEST(decompress__joins_members_and_frames),
      TEST(gzip__allows_zeros_behind_it_and_nothing_else),
      TEST(decompress__of_nothing_is_nothing),
      TEST(decompress__refuses_codecs_by_name),
      TEST(codecs__survive_failing_allocations),
  };
  return cmocka_run_group_tests_name("compress", tests, NULL, NULL);
}
