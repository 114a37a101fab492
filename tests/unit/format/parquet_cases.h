/* parquet_cases.h - the Parquet files of data/ and what reading them gives (printed by
 * data/make.py).
 */
#ifndef TN_TESTS_FORMAT_PARQUET_CASES_H
#define TN_TESTS_FORMAT_PARQUET_CASES_H

#include <stdint.h>

typedef struct parquet_case {
  const char *name;
  int64_t n_rows;
  uint32_t crc; /* of the lines, each with a line end */
} parquet_case;

static const parquet_case parquet_cases[] = {
    {"plain_v1", 110, 0x2ed4a0c2},
    {"plain_required", 110, 0x324ab029},
    {"dictionary_v1", 110, 0x195893db},
    {"dictionary_v2", 110, 0xe3338be4},
    {"decimals_as_integers", 110, 0x0af63ffc},
    {"fallback", 110, 0x2a5deaf9},
    {"delta_v1", 110, 0x2e093ea0},
    {"delta_v2", 110, 0xf8151641},
    {"split", 110, 0x80c029c1},
    {"delta_bytes", 110, 0xd7935d99},
    {"delta_lengths", 110, 0x5d6a7a81},
    {"nested_v1", 70, 0xbf11a86f},
    {"nested_v2", 70, 0xbf11a86f},
    {"nested_index", 70, 0xbf11a86f},
    {"codec_none", 60, 0x9836ffeb},
    {"codec_snappy", 60, 0x9836ffeb},
    {"codec_gzip", 60, 0x9836ffeb},
    {"codec_brotli", 60, 0x9836ffeb},
    {"codec_lz4", 60, 0x9836ffeb},
    {"codec_zstd", 60, 0x9836ffeb},
    {"crc", 80, 0x08d44ebb},
    {"edges", 500, 0x72264180},
    {"edges_index", 500, 0x72264180},
    {"no_rows", 0, 0x00000000},
};

#endif
