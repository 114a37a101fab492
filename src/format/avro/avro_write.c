/* avro_write.c - the container of a file that is being written. */
#include "format/avro/avro_write.h"

#include "base/ascii.h"
#include "base/bytes.h"
#include "codec/hash.h"

typedef struct written_codec {
  const char *name;      /* in options */
  const char *avro_name; /* in files */
  tn_codec_id id;
} written_codec;

/* Java knows "zstd" by itself; the others are Avro's names. "none" is Paimon's word for null in
 * other formats. */
static const written_codec codecs[] = {
    {"zstd", "zstandard", TN_CODEC_ZSTD},  {"zstandard", "zstandard", TN_CODEC_ZSTD},
    {"snappy", "snappy", TN_CODEC_SNAPPY}, {"deflate", "deflate", TN_CODEC_DEFLATE},
    {"null", "null", TN_CODEC_NONE},       {"none", "null", TN_CODEC_NONE},
};

tarn_status tn_avro_packer_init(tn_avro_packer *packer, tarn_env *env, const char *compression,
                                int32_t level, tarn_error *err) {
  tn_slice name = tn_slice_text(compression != NULL ? compression : "zstd");
  *packer = (tn_avro_packer){.env = env, .level = level};
  tn_buf_init(&packer->data, &env->mem, TN_AVRO_MAX_BLOCK_BYTES);
  tn_buf_init(&packer->packed, &env->mem, SIZE_MAX / 2);
  for (size_t i = 0; i < TN_COUNT(codecs); i++) {
    if (tn_slice_is_nocase(name, codecs[i].name)) {
      packer->codec = codecs[i].id;
      packer->codec_name = codecs[i].avro_name;
      return tn_env_random(env, packer->sync, sizeof(packer->sync), err);
    }
  }
  return tn_fail(
      err, TARN_E_UNSUPPORTED,
      "compression \"%.*s\" of Avro files: zstd, snappy, deflate and null can be written",
      TN_SLICE_ARG(name));
}

void tn_avro_packer_reset(tn_avro_packer *packer) {
  if (packer->env != NULL) {
    tn_buf_reset(&packer->data);
    tn_buf_reset(&packer->packed);
    tn_unreserve(&packer->env->mem, packer->reserved_bytes);
    packer->reserved_bytes = 0;
  }
}

tarn_status tn_avro_packer_header(const tn_avro_packer *packer, tn_slice schema_json,
                                  const tn_write_metadata *metadata, int32_t n_metadata,
                                  tn_buf *out, tarn_error *err) {
  TN_TRY(tn_buf_append(out, "Obj\x01", 4, err));
  TN_TRY(tn_avro_put_long(out, 2 + (int64_t)n_metadata, err));
  TN_TRY(tn_avro_put_run(out, tn_slice_text("avro.schema"), err));
  TN_TRY(tn_avro_put_run(out, schema_json, err));
  TN_TRY(tn_avro_put_run(out, tn_slice_text("avro.codec"), err));
  TN_TRY(tn_avro_put_run(out, tn_slice_text(packer->codec_name), err));
  for (int32_t i = 0; i < n_metadata; i++) {
    TN_TRY(tn_avro_put_run(out, tn_slice_text(metadata[i].key), err));
    TN_TRY(tn_avro_put_run(out, tn_slice_text(metadata[i].value), err));
  }
  TN_TRY(tn_avro_put_long(out, 0, err));
  return tn_buf_append(out, packer->sync, TN_AVRO_SYNC_BYTES, err);
}

/* Compress the data behind what is in `packed`; snappy has a checksum of the data behind it. */
static tarn_status compress(tn_avro_packer *p, size_t *n_stored, tarn_error *err) {
  size_t bound = tn_compress_bound(p->codec, p->data.len);
  tn_codec_context *context;
  tarn_status st;
  if (bound == 0) {
    return tn_fail(err, TARN_E_LIMIT, "an Avro block of %zu bytes is too large", p->data.len);
  }
  TN_TRY(tn_buf_reserve(&p->packed, bound + 4, err));
  TN_TRY(tn_codec_context_take(p->env, &context, err));
  st = tn_compress(context, p->codec, p->level, tn_buf_slice(&p->data),
                   p->packed.data + p->packed.len, bound, n_stored, err);
  tn_codec_context_give(context);
  if (st == TARN_OK && p->codec == TN_CODEC_SNAPPY) {
    tn_store_be32(p->packed.data + p->packed.len + *n_stored,
                  tn_crc32(0, p->data.data, p->data.len));
    *n_stored += 4;
  }
  return st;
}

/* The memory of both buffers counts against the budget. */
static tarn_status charge(tn_avro_packer *p, tarn_error *err) {
  size_t held = p->data.capacity + p->packed.capacity;
  if (held > p->reserved_bytes) {
    TN_TRY(tn_env_reserve(p->env, held - p->reserved_bytes, "a block of an Avro file", err));
    p->reserved_bytes = held;
  }
  return TARN_OK;
}

/* Room in front of the data for its two numbers, whose lengths are known when it is compressed. */
#define NUMBERS_BYTES TN_AVRO_BLOCK_HEADER_BYTES

tarn_status tn_avro_packer_take(tn_avro_packer *packer, tn_slice *out, tarn_error *err) {
  uint8_t numbers[NUMBERS_BYTES];
  size_t n_stored = 0;
  tn_buf head;
  *out = (tn_slice){NULL, 0};
  if (packer->n_records == 0) {
    return TARN_OK;
  }
  packer->packed.len = 0;
  TN_TRY(tn_buf_reserve(&packer->packed, NUMBERS_BYTES, err));
  packer->packed.len = NUMBERS_BYTES;
  TN_TRY(compress(packer, &n_stored, err));
  packer->packed.len += n_stored;
  TN_TRY(tn_buf_append(&packer->packed, packer->sync, TN_AVRO_SYNC_BYTES, err));
  TN_TRY(charge(packer, err));
  tn_buf_over(&head, numbers, sizeof(numbers));
  TN_TRY(tn_avro_put_long(&head, packer->n_records, err));
  TN_TRY(tn_avro_put_long(&head, (int64_t)n_stored, err));
  memcpy(packer->packed.data + NUMBERS_BYTES - head.len, numbers, head.len);
  *out = tn_slice_of(packer->packed.data + NUMBERS_BYTES - head.len,
                     packer->packed.len - NUMBERS_BYTES + head.len);
  packer->raw_bytes += (int64_t)packer->data.len;
  packer->stored_bytes += (int64_t)out->len;
  packer->data.len = 0;
  packer->n_records = 0;
  return TARN_OK;
}

int64_t tn_avro_packer_estimate(const tn_avro_packer *packer) {
  double ratio =
      packer->raw_bytes > 0 ? (double)packer->stored_bytes / (double)packer->raw_bytes : 1.0;
  return (int64_t)((double)packer->data.len * ratio);
}
