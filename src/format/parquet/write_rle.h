/* write_rle.h - encoding the hybrid of run lengths and bit-packed groups: levels and dictionary
 * codes.
 *
 * Each call writes one whole sequence from `out` on and returns its end. `out` has room for
 * tn_pq_rle_bound() bytes, which counts the slack that wide stores need. A run is told by its
 * length where that is shorter than packing it.
 *
 * Source of the rule: apache/parquet-format, Encodings.md, "Run Length Encoding / Bit-Packing
 * Hybrid".
 */
#ifndef TN_FORMAT_PARQUET_WRITE_RLE_H
#define TN_FORMAT_PARQUET_WRITE_RLE_H

#include <stddef.h>
#include <stdint.h>

/* bit_width: 1 .. 32; all values fit it. */
size_t tn_pq_rle_bound(int64_t n, uint32_t bit_width);

uint8_t *tn_pq_rle_put(const uint32_t *values, int64_t n, uint32_t bit_width, uint8_t *out);
/* bit_width: 1 .. 8. */
uint8_t *tn_pq_rle_put_bytes(const uint8_t *values, int64_t n, uint32_t bit_width, uint8_t *out);
/* Of one bit each: a bitmap, LSB first, whose spare bits are clear. */
uint8_t *tn_pq_rle_put_bits(const uint8_t *bits, int64_t n, uint8_t *out);
/* n times the same value; n > 0. */
uint8_t *tn_pq_rle_put_run(uint32_t value, int64_t n, uint32_t bit_width, uint8_t *out);

#endif
