/* crc32.h - the two ways to a CRC-32 and the choice between them; others use codec/hash.h.
 */
#ifndef TN_CODEC_CRC32_H
#define TN_CODEC_CRC32_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Tables, 8 bytes a step; on every machine. */
uint32_t tn_crc32_tables(uint32_t crc, const uint8_t *bytes, size_t n_bytes);
/* Carry-less multiplication, 64 bytes a step; only where tn_crc32_can_fold(). */
uint32_t tn_crc32_fold(uint32_t crc, const uint8_t *bytes, size_t n_bytes);
bool tn_crc32_can_fold(void);

#endif
