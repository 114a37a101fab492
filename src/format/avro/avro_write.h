/* avro_write.h - writing container files: what the writers of records and of data files share.
 *
 * Records are encoded into the open block; a packer makes of it what goes to the file: the two
 * numbers, the data compressed, the sync marker. Blocks end as Java's do, after the record that
 * fills 64,000 bytes.
 *
 * Rule: Apache Avro specification 1.11, "Binary Encoding", "Object Container Files"; Java's
 * DataFileWriter; spec: manifest, 1; datafiles, 5.
 */
#ifndef TN_FORMAT_AVRO_AVRO_WRITE_H
#define TN_FORMAT_AVRO_AVRO_WRITE_H

#include "column/record.h"
#include "format/avro/container.h"
#include "format/writer.h"

#define TN_AVRO_FULL_BLOCK_BYTES 64000 /* org.apache.avro.file.DataFileConstants */

extern const tn_record_writer_ops tn_avro_record_writer;
extern const tn_format_writer_ops tn_avro_writer;

typedef struct tn_avro_packer {
  tarn_env *env;
  tn_codec_id codec;
  const char *codec_name; /* Avro's */
  int32_t level;
  uint8_t sync[TN_AVRO_SYNC_BYTES];
  tn_buf data; /* of the open block */
  int64_t n_records;
  tn_buf packed;
  size_t reserved_bytes;
  int64_t raw_bytes, stored_bytes; /* of the blocks so far */
} tn_avro_packer;

/* compression: "zstd", "zstandard", "snappy", "deflate", "null" or "none" in any case; NULL: zstd.
 * level: of zstd; 0: 1. Errors: UNSUPPORTED (by name), IO (random numbers). After a failure it may
 * be reset, too. */
TN_CHECKED tarn_status tn_avro_packer_init(tn_avro_packer *packer, tarn_env *env,
                                           const char *compression, int32_t level, tarn_error *err);
void tn_avro_packer_reset(tn_avro_packer *packer);
/* Append the header of a file. */
TN_CHECKED tarn_status tn_avro_packer_header(const tn_avro_packer *packer, tn_slice schema_json,
                                             const tn_write_metadata *metadata, int32_t n_metadata,
                                             tn_buf *out, tarn_error *err);
static inline bool tn_avro_packer_is_full(const tn_avro_packer *packer) {
  return packer->data.len >= TN_AVRO_FULL_BLOCK_BYTES;
}
/* End the open block: *out is what goes to the file, valid until the next call. Nothing comes of
 * a block without records. */
TN_CHECKED tarn_status tn_avro_packer_take(tn_avro_packer *packer, tn_slice *out, tarn_error *err);
/* Bytes that the open block will take, as the blocks before it did. */
int64_t tn_avro_packer_estimate(const tn_avro_packer *packer);

/* Append the JSON of the schema that Java derives from Paimon's types. Errors: UNSUPPORTED (a type
 * that Avro files cannot have), INVALID (a name that Avro does not allow), LIMIT. */
TN_CHECKED tarn_status tn_avro_schema_of_fields(const tn_field *fields, int32_t n_fields,
                                                tn_buf *out, tarn_error *err);

/* ------------------------------------------------------------------ values */

#define TN_AVRO_MAX_VARINT_BYTES 10

TN_CHECKED static inline tarn_status tn_avro_put_room(tn_buf *buf, size_t n_bytes,
                                                      tarn_error *err) {
  return TN_LIKELY(buf->capacity - buf->len >= n_bytes) ? TARN_OK
                                                        : tn_buf_reserve(buf, n_bytes, err);
}

/* An int or long. */
TN_CHECKED static inline tarn_status tn_avro_put_long(tn_buf *buf, int64_t value, tarn_error *err) {
  uint64_t v = ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
  uint8_t *p;
  TN_TRY(tn_avro_put_room(buf, TN_AVRO_MAX_VARINT_BYTES, err));
  p = buf->data + buf->len;
  while (v >= 0x80) {
    *p++ = (uint8_t)(v | 0x80);
    v >>= 7;
  }
  *p++ = (uint8_t)v;
  buf->len = (size_t)(p - buf->data);
  return TARN_OK;
}

TN_CHECKED static inline tarn_status tn_avro_put_raw(tn_buf *buf, const void *bytes, size_t n_bytes,
                                                     tarn_error *err) {
  TN_TRY(tn_avro_put_room(buf, n_bytes, err));
  if (n_bytes > 0) {
    memcpy(buf->data + buf->len, bytes, n_bytes);
    buf->len += n_bytes;
  }
  return TARN_OK;
}

/* Bytes or a string. */
TN_CHECKED static inline tarn_status tn_avro_put_run(tn_buf *buf, tn_slice run, tarn_error *err) {
  TN_TRY(tn_avro_put_long(buf, (int64_t)run.len, err));
  return tn_avro_put_raw(buf, run.data, run.len, err);
}

#endif
