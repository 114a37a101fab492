/* Compressing: what comes out is read back equal, fits its bound, and fails as told. */
#include "base/bytes.h"
#include "codec_test.h"

static const tn_codec_id written_codecs[] = {TN_CODEC_NONE,       TN_CODEC_ZSTD,   TN_CODEC_LZ4_RAW,
                                             TN_CODEC_LZ4_HADOOP, TN_CODEC_SNAPPY, TN_CODEC_GZIP,
                                             TN_CODEC_DEFLATE,    TN_CODEC_BROTLI};

/* kind 0: random bytes; 1: text that repeats itself; 2: zeros. */
static uint8_t *make_bytes(size_t n, int kind) {
  uint8_t *bytes = malloc(n + 1);
  uint32_t x = 7;
  for (size_t i = 0; i < n; i++) {
    if (kind == 0 || i % 64 == 0) {
      x = x * 1664525u + 1013904223u;
    }
    bytes[i] = kind == 2   ? 0
               : kind == 1 ? (uint8_t)('a' + ((x >> 20) + i) % 26)
                           : (uint8_t)(x >> 24);
  }
  return bytes;
}

static size_t round_trip(tn_codec_id id, int32_t level, size_t n, int kind) {
  tarn_error err;
  uint8_t *in = make_bytes(n, kind), *back = malloc(n + 1);
  size_t bound = tn_compress_bound(id, n), written = 0;
  uint8_t *out = malloc(bound);
  assert_true(bound > 0);
  assert_works(tn_compress(context, id, level, tn_slice_of(in, n), out, bound, &written, &err),
               err);
  assert_true(written <= bound);
  assert_works(tn_decompress(context, id, tn_slice_of(out, written), back, n, &err), err);
  assert_memory_equal(in, back, n);
  free(in);
  free(out);
  free(back);
  return written;
}

static void encode__is_read_back_equal(void **state) {
  static const size_t sizes[] = {0, 1, 7, 100, 4096, 65537, 131072, 131073, 1000000};
  (void)state;
  for (size_t c = 0; c < TN_COUNT(written_codecs); c++) {
    for (size_t s = 0; s < TN_COUNT(sizes); s++) {
      for (int kind = 0; kind < 3; kind++) {
        round_trip(written_codecs[c], 0, sizes[s], kind);
      }
    }
  }
}

static void encode__makes_repeating_text_smaller(void **state) {
  (void)state;
  for (size_t c = 1; c < TN_COUNT(written_codecs); c++) {
    assert_true(round_trip(written_codecs[c], 0, 100000, 1) < 50000);
  }
}

static void encode__follows_the_level(void **state) {
  (void)state;
  for (size_t c = 0; c < TN_COUNT(written_codecs); c++) {
    for (int32_t level = -3; level <= 30; level += 3) {
      round_trip(written_codecs[c], level, 20000, 1);
    }
  }
  assert_true(round_trip(TN_CODEC_ZSTD, 19, 200000, 1) < round_trip(TN_CODEC_ZSTD, 1, 200000, 1));
  assert_true(round_trip(TN_CODEC_GZIP, 9, 200000, 1) < round_trip(TN_CODEC_GZIP, 1, 200000, 1));
}

static void encode__default_of_zstd_is_level_one(void **state) {
  (void)state;
  assert_int_equal(round_trip(TN_CODEC_ZSTD, 0, 100000, 1),
                   round_trip(TN_CODEC_ZSTD, 1, 100000, 1));
}

static void encode__blocks_of_hadoop_are_small(void **state) {
  tarn_error err;
  size_t n = 300000, bound = tn_compress_bound(TN_CODEC_LZ4_HADOOP, n), written = 0, at = 0,
         sum = 0;
  uint8_t *in = make_bytes(n, 1), *out = malloc(bound);
  (void)state;
  assert_works(
      tn_compress(context, TN_CODEC_LZ4_HADOOP, 0, tn_slice_of(in, n), out, bound, &written, &err),
      err);
  while (at < written) {
    size_t raw = tn_load_be32(out + at), packed = tn_load_be32(out + at + 4);
    assert_true(raw > 0 && raw <= 131072);
    sum += raw;
    at += 8 + packed;
  }
  assert_int_equal(at, written);
  assert_int_equal(sum, n);
  free(in);
  free(out);
}

static void encode__refuses_codecs_that_are_not_built_in(void **state) {
  tarn_error err;
  size_t written;
  uint8_t out[64];
  (void)state;
  assert_int_equal(tn_compress_bound(TN_CODEC_LZO, 10), 0);
  assert_int_equal(
      tn_compress(context, TN_CODEC_LZO, 0, tn_slice_text("abc"), out, sizeof(out), &written, &err),
      TARN_E_UNSUPPORTED);
  assert_contains(err.message, "lzo");
}

static tarn_status encode_all(void *ctx, tarn_env *torture_env, tarn_error *err) {
  static const uint8_t in[2000];
  uint8_t out[4096];
  tn_codec_context *c = NULL;
  size_t written;
  tarn_status st = tn_codec_context_take(torture_env, &c, err);
  (void)ctx;
  for (size_t i = 0; st == TARN_OK && i < TN_COUNT(written_codecs); i++) {
    if (written_codecs[i] != TN_CODEC_ZSTD) { /* allocates by malloc */
      st = tn_compress(c, written_codecs[i], 0, tn_slice_of(in, sizeof(in)), out, sizeof(out),
                       &written, err);
    }
  }
  tn_codec_context_give(c);
  return st;
}

static void encode__survives_failing_allocations(void **state) {
  (void)state;
  tn_torture(encode_all, NULL, TARN_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(encode__is_read_back_equal),
      cmocka_unit_test(encode__makes_repeating_text_smaller),
      cmocka_unit_test(encode__follows_the_level),
      cmocka_unit_test(encode__default_of_zstd_is_level_one),
      cmocka_unit_test(encode__blocks_of_hadoop_are_small),
      cmocka_unit_test(encode__refuses_codecs_that_are_not_built_in),
      cmocka_unit_test(encode__survives_failing_allocations),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
