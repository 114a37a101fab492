/* room: index */
/* Deletion vector blobs. The frame (length word and CRC) is made around the input, so that the
 * bitmaps are reached; every second input goes in as it is. */
#include <stdlib.h>

#include "base/bytes.h"
#include "codec/hash.h"
#include "index/deletion_vector.h"

static bool count_position(void *ctx, int64_t position) {
  int64_t *last = ctx;
  if (position <= *last) {
    abort();
  }
  *last = position;
  return true;
}

/* All ways to ask must agree. */
static void use(const tn_dv *dv) {
  uint8_t bits[1024];
  int64_t last = -1, n = tn_dv_cardinality(dv);
  static const int64_t firsts[] = {0, 65000, INT64_C(0xFFFFF000), INT64_C(0x7FFFFFFE00000000)};
  if (tn_dv_count(dv, 0, INT64_MAX) != n) {
    abort();
  }
  if (n < 1 << 20) {
    tn_dv_each(dv, count_position, &last);
    if (last >= 0 && !tn_dv_contains(dv, last)) {
      abort();
    }
  }
  for (size_t i = 0; i < TN_COUNT(firsts); i++) {
    int64_t cleared = 0;
    memset(bits, 0xFF, sizeof(bits));
    tn_dv_apply(dv, firsts[i], (int64_t)sizeof(bits) * 8, bits);
    for (size_t k = 0; k < sizeof(bits); k++) {
      cleared += 8 - __builtin_popcount(bits[k]);
    }
    if (cleared != tn_dv_count(dv, firsts[i], firsts[i] + (int64_t)sizeof(bits) * 8)) {
      abort();
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tarn_env *env = NULL;
  tn_dv *dv = NULL;
  uint8_t *blob;
  tarn_status st;
  bool is_framed = size > 0 && (data[size - 1] & 1) != 0;
  size_t n = size + (is_framed ? 8 : 0);
  if (tarn_env_create(NULL, &env, NULL) != TARN_OK) {
    return 0;
  }
  blob = malloc(n + 1);
  if (is_framed) {
    tn_store_be32(blob, (uint32_t)size);
    memcpy(blob + 4, data, size);
    tn_store_be32(blob + 4 + size, tn_crc32(0, data, size));
  } else if (size > 0) {
    memcpy(blob, data, size);
  }
  st = tn_dv_decode(env, tn_slice_of(blob, n), "fuzz", &dv, NULL);
  if (st == TARN_OK) {
    use(dv);
  } else if (st != TARN_E_CORRUPT || dv != NULL) {
    abort();
  }
  tn_dv_release(dv);
  free(blob);
  tarn_env_free(env);
  return 0;
}
