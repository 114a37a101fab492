/* deletion_vector.c - stored vectors, their cache, and rows against them.
 *
 *   +---------+-------------------- L bytes -------------------+---------+
 *   | L  be32 | magic  4 | roaring32, or n x (key, roaring32)  | crc be32|
 *   +---------+----------------------------------------------- +---------+
 *
 *   v1  magic 5E 43 F2 D0, one bitmap         recorded length: L
 *   v2  magic D1 D3 39 64, le64 n, n bitmaps  recorded length: L + 8
 *
 * Both start at the recorded offset. Rules: org.apache.paimon.deletionvectors.DeletionVector,
 * BitmapDeletionVector, Bitmap64DeletionVector; spec: indexes, 2.
 */
#include "index/deletion_vector.h"

#include "base/bytes.h"
#include "codec/hash.h"
#include "index/deletion_vector_parts.h"

#define MIN_KEYED_BYTES (4u + 8u) /* of v2: a key and an empty bitmap */

static void dv_free(tn_dv *dv) {
  for (size_t i = 0; i < dv->n_parts; i++) {
    roaring_bitmap_free(dv->parts[i].bitmap);
  }
  tn_free(dv->mem, dv);
}

tn_dv *tn_dv_retain(tn_dv *dv) {
  atomic_fetch_add_explicit(&dv->refs, 1, memory_order_relaxed);
  return dv;
}

void tn_dv_release(tn_dv *dv) {
  if (dv != NULL && atomic_fetch_sub_explicit(&dv->refs, 1, memory_order_acq_rel) == 1) {
    dv_free(dv);
  }
}

/* ------------------------------------------------------------------ decode */

/* The bitmap at the start of `bytes`; *used: its size. */
static tarn_status decode_bitmap(tn_slice bytes, const char *path, roaring_bitmap_t **out,
                                 size_t *used, tarn_error *err) {
  const char *data = (const char *)bytes.data, *why = NULL;
  *out = NULL;
  *used = roaring_bitmap_portable_deserialize_size(data, bytes.len);
  if (*used == 0 || *used > bytes.len) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: deletion vector: bad bitmap in %zu bytes", path,
                   bytes.len);
  }
  *out = roaring_bitmap_portable_deserialize_safe(data, bytes.len);
  if (*out == NULL) {
    return tn_oom(err); /* its size was found, so its bytes are there */
  }
  if (!roaring_bitmap_internal_validate(*out, &why)) {
    roaring_bitmap_free(*out);
    *out = NULL;
    return tn_fail(err, TARN_E_CORRUPT, "%s: deletion vector: bad bitmap: %s", path,
                   why != NULL ? why : "not valid");
  }
  return TARN_OK;
}

/* Takes the bitmap. */
static void add_part(tn_dv *dv, uint32_t key, roaring_bitmap_t *bitmap) {
  uint64_t n = roaring_bitmap_get_cardinality(bitmap);
  if (n == 0) {
    roaring_bitmap_free(bitmap);
    return;
  }
  dv->parts[dv->n_parts].key = key;
  dv->parts[dv->n_parts].bitmap = bitmap;
  dv->n_parts++;
  dv->cardinality += (int64_t)n;
}

tarn_status tn_dv_create(tn_mem *mem, int32_t version, size_t max_parts, tn_dv **out,
                         tarn_error *err) {
  tn_dv *dv = tn_calloc(mem, 1, sizeof(*dv) + max_parts * sizeof(tn_dv_part));
  *out = dv;
  if (dv == NULL) {
    return tn_oom(err);
  }
  dv->mem = mem;
  atomic_init(&dv->refs, 1);
  dv->version = version;
  return TARN_OK;
}

static tarn_status decode_v1(tarn_env *env, tn_slice body, const char *path, tn_dv **out,
                             tarn_error *err) {
  roaring_bitmap_t *bitmap;
  size_t used;
  TN_TRY(tn_dv_create(&env->mem, 1, 1, out, err));
  TN_TRY(decode_bitmap(body, path, &bitmap, &used, err));
  add_part(*out, 0, bitmap);
  if (used != body.len) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: deletion vector: %zu bytes behind the bitmap", path,
                   body.len - used);
  }
  if ((*out)->n_parts > 0 && roaring_bitmap_maximum(bitmap) > TN_DV_MAX_POSITION_V1) {
    return tn_fail(
        err, TARN_E_CORRUPT, "%s: deletion vector: position %lu, at most %lu are possible", path,
        (unsigned long)roaring_bitmap_maximum(bitmap), (unsigned long)TN_DV_MAX_POSITION_V1);
  }
  return TARN_OK;
}

static tarn_status decode_v2(tarn_env *env, tn_slice body, const char *path, tn_dv **out,
                             tarn_error *err) {
  uint64_t n = body.len >= 8 ? tn_load_le64(body.data) : 0;
  size_t at = 8;
  int64_t last_key = -1;
  if (body.len < 8 || n > (body.len - 8) / MIN_KEYED_BYTES) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: deletion vector: %llu bitmaps in %zu bytes", path,
                   (unsigned long long)n, body.len);
  }
  TN_TRY(tn_dv_create(&env->mem, 2, (size_t)n, out, err));
  for (uint64_t i = 0; i < n; i++) {
    roaring_bitmap_t *bitmap;
    size_t used;
    uint32_t key;
    if (body.len - at < MIN_KEYED_BYTES) {
      return tn_fail(err, TARN_E_CORRUPT, "%s: deletion vector: cut off at bitmap %llu of %llu",
                     path, (unsigned long long)i, (unsigned long long)n);
    }
    key = tn_load_le32(body.data + at);
    if ((int64_t)key <= last_key || key > TN_DV_MAX_KEY_V2) {
      return tn_fail(err, TARN_E_CORRUPT, "%s: deletion vector: bitmap key %lu behind %lld", path,
                     (unsigned long)key, (long long)last_key);
    }
    last_key = key;
    at += 4;
    TN_TRY(decode_bitmap(tn_slice_of(body.data + at, body.len - at), path, &bitmap, &used, err));
    add_part(*out, key, bitmap);
    at += used;
  }
  if (at != body.len) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: deletion vector: %zu bytes behind its bitmaps", path,
                   body.len - at);
  }
  return TARN_OK;
}

/* The L bytes of a blob, whose frame is checked. */
static tarn_status open_frame(tn_slice blob, const char *path, tn_slice *out, tarn_error *err) {
  uint32_t length, found, expected;
  if (blob.len < TN_DV_FRAME_BYTES + TN_DV_MAGIC_BYTES) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: deletion vector: cut off after %zu bytes", path,
                   blob.len);
  }
  length = tn_load_be32(blob.data);
  if (length != blob.len - TN_DV_FRAME_BYTES) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: deletion vector: length word %lu, expected %zu", path,
                   (unsigned long)length, blob.len - TN_DV_FRAME_BYTES);
  }
  *out = tn_slice_of(blob.data + 4, length);
  expected = tn_load_be32(blob.data + 4 + length);
  found = tn_crc32(0, out->data, length);
  if (found != expected) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: deletion vector: CRC is %08lx, expected %08lx", path,
                   (unsigned long)found, (unsigned long)expected);
  }
  return TARN_OK;
}

tarn_status tn_dv_decode(tarn_env *env, tn_slice blob, const char *path, tn_dv **out,
                         tarn_error *err) {
  tn_slice bytes, body;
  tarn_status st;
  *out = NULL;
  TN_TRY(open_frame(blob, path, &bytes, err));
  body = tn_slice_of(bytes.data + TN_DV_MAGIC_BYTES, bytes.len - TN_DV_MAGIC_BYTES);
  if (tn_load_be32(bytes.data) == TN_DV_MAGIC_V1) {
    st = decode_v1(env, body, path, out, err);
  } else if (tn_load_le32(bytes.data) == TN_DV_MAGIC_V2) {
    st = decode_v2(env, body, path, out, err);
  } else {
    st = tn_fail(err, TARN_E_CORRUPT, "%s: deletion vector: unknown magic %08lx", path,
                 (unsigned long)tn_load_be32(bytes.data));
  }
  if (st != TARN_OK) {
    tn_dv_release(*out);
    *out = NULL;
  }
  return st;
}

/* ------------------------------------------------------------------ load */

/* The blob at a place, whole. The recorded length counts differently in the two versions, so the
 * longer one is read, as far as the file goes, and the length word says which it is. */
static tarn_status read_blob(tn_file *file, const tn_dv_place *place, uint8_t *bytes,
                             size_t n_bytes, tn_slice *out, tarn_error *err) {
  uint64_t length;
  bool is_v2;
  TN_TRY(tn_file_read(file, place->offset, bytes, n_bytes, err));
  length = tn_load_be32(bytes);
  is_v2 = tn_load_le32(bytes + 4) == TN_DV_MAGIC_V2;
  if (length + (is_v2 ? TN_DV_FRAME_BYTES : 0) != (uint64_t)place->length) {
    return tn_fail(err, TARN_E_CORRUPT,
                   "%s: deletion vector at offset %lld: length word %llu, but length %lld is "
                   "recorded",
                   place->path, (long long)place->offset, (unsigned long long)length,
                   (long long)place->length);
  }
  if (length + TN_DV_FRAME_BYTES > n_bytes) {
    return tn_fail(err, TARN_E_CORRUPT,
                   "%s: cut off: expected %llu bytes at offset %lld, found %zu", place->path,
                   (unsigned long long)(length + TN_DV_FRAME_BYTES), (long long)place->offset,
                   n_bytes);
  }
  *out = tn_slice_of(bytes, (size_t)length + TN_DV_FRAME_BYTES);
  return TARN_OK;
}

static tarn_status load_from_file(tarn_env *env, tn_file *file, const tn_dv_place *place,
                                  tn_dv **out, tarn_error *err) {
  tarn_status st = TARN_OK;
  bool is_inside = place->offset >= 0 && place->offset <= file->size_bytes;
  int64_t left = is_inside ? file->size_bytes - place->offset : 0;
  uint8_t *bytes = NULL;
  size_t n;
  tn_slice blob;
  if (place->length < (int64_t)TN_DV_MAGIC_BYTES ||
      left < (int64_t)(TN_DV_FRAME_BYTES + TN_DV_MAGIC_BYTES) || place->length > left) {
    return tn_fail(err, TARN_E_CORRUPT,
                   "%s: deletion vector at offset %lld, length %lld is not within its %lld bytes",
                   place->path, (long long)place->offset, (long long)place->length,
                   (long long)file->size_bytes);
  }
  n = (size_t)(left - place->length > (int64_t)TN_DV_FRAME_BYTES
                   ? place->length + (int64_t)TN_DV_FRAME_BYTES
                   : left);
  TN_TRY(tn_env_reserve(env, n, "a deletion vector", err));
  bytes = tn_alloc(&env->mem, n);
  if (bytes == NULL) {
    TN_TRY_TO(done, tn_oom(err));
  }
  TN_TRY_TO(done, read_blob(file, place, bytes, n, &blob, err));
  TN_TRY_TO(done, tn_dv_decode(env, blob, place->path, out, err));
done:
  tn_free(&env->mem, bytes);
  tn_unreserve(&env->mem, n);
  return st;
}

static void cache_retain(void *value) {
  (void)tn_dv_retain(value);
}

static void cache_release(void *value) {
  tn_dv_release(value);
}

static const tn_cache_ops cache_ops = {"deletion vector", cache_retain, cache_release};

tarn_status tn_dv_load(tarn_env *env, tn_storage *storage, const tn_dv_place *place, tn_dv **out,
                       tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_file *file = NULL;
  tn_buf key;
  *out = NULL;
  tn_buf_init(&key, &env->mem, SIZE_MAX);
  TN_TRY_TO(done, tn_buf_printf(&key, err, "%lld %lld %s", (long long)place->offset,
                                (long long)place->length, place->path));
  *out = tn_cache_get(env->cache, &cache_ops, tn_buf_slice(&key));
  if (*out == NULL) {
    TN_TRY_TO(done, tn_storage_open(storage, place->path, &file, err));
    TN_TRY_TO(done, load_from_file(env, file, place, out, err));
    tn_cache_put(env->cache, &cache_ops, tn_buf_slice(&key), *out,
                 sizeof(**out) + (size_t)place->length);
  }
  if (place->cardinality >= 0 && place->cardinality != (*out)->cardinality) {
    TN_TRY_TO(done, tn_fail(err, TARN_E_CORRUPT,
                            "%s: deletion vector at offset %lld: %lld positions, but %lld are "
                            "recorded",
                            place->path, (long long)place->offset, (long long)(*out)->cardinality,
                            (long long)place->cardinality));
  }
done:
  if (st != TARN_OK) {
    tn_dv_release(*out);
    *out = NULL;
  }
  tn_file_release(file);
  tn_buf_reset(&key);
  return st;
}

/* ------------------------------------------------------------------ use */

int64_t tn_dv_cardinality(const tn_dv *dv) {
  return dv->cardinality;
}

int32_t tn_dv_version(const tn_dv *dv) {
  return dv->version;
}

/* The first part with a key of at least `key`; n_parts if there is none. */
static size_t find_part(const tn_dv *dv, uint64_t key) {
  size_t low = 0, high = dv->n_parts;
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    if (dv->parts[mid].key < key) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  return low;
}

bool tn_dv_contains(const tn_dv *dv, int64_t position) {
  size_t i;
  if (position < 0) {
    return false;
  }
  i = find_part(dv, (uint64_t)position >> 32);
  return i < dv->n_parts && dv->parts[i].key == (uint64_t)position >> 32 &&
         roaring_bitmap_contains(dv->parts[i].bitmap, (uint32_t)position);
}

/* Bits [from, to). */
static void clear_bits(uint8_t *bits, int64_t from, int64_t to) {
  while (from < to && (from & 7) != 0) {
    tn_bit_clear(bits, from++);
  }
  if (to - from >= 8) {
    memset(bits + (from >> 3), 0, (size_t)((to - from) >> 3));
    from += (to - from) & ~(int64_t)7;
  }
  while (from < to) {
    tn_bit_clear(bits, from++);
  }
}

#define RANGES_AT_ONCE 64

/* Positions of one part in [first, end), which overlaps it. */
static void apply_part(const tn_dv_part *p, int64_t first, int64_t end, uint8_t *selected) {
  int64_t base = (int64_t)p->key << 32;
  roaring_uint32_range_closed_t ranges[RANGES_AT_ONCE];
  roaring_uint32_iterator_t it;
  roaring_iterator_init(p->bitmap, &it);
  if (first > base && !roaring_uint32_iterator_move_equalorlarger(&it, (uint32_t)(first - base))) {
    return;
  }
  while (it.has_value && base + it.current_value < end) {
    size_t n = roaring_uint32_iterator_read_ranges(&it, ranges, RANGES_AT_ONCE);
    for (size_t i = 0; i < n && base + ranges[i].min < end; i++) {
      int64_t to = base + ranges[i].max + 1;
      clear_bits(selected, base + ranges[i].min - first, (to < end ? to : end) - first);
    }
  }
}

void tn_dv_apply(const tn_dv *dv, int64_t first, int64_t n_rows, uint8_t *selected) {
  int64_t end = first + n_rows;
  for (size_t i = find_part(dv, (uint64_t)first >> 32); i < dv->n_parts; i++) {
    if ((int64_t)dv->parts[i].key << 32 >= end) {
      break;
    }
    apply_part(&dv->parts[i], first, end, selected);
  }
}

int64_t tn_dv_count(const tn_dv *dv, int64_t begin, int64_t end) {
  int64_t n = 0;
  for (size_t i = find_part(dv, (uint64_t)begin >> 32); i < dv->n_parts; i++) {
    int64_t base = (int64_t)dv->parts[i].key << 32;
    uint64_t low = begin > base ? (uint64_t)(begin - base) : 0;
    if (base >= end) {
      break;
    }
    n += (int64_t)roaring_bitmap_range_cardinality(
        dv->parts[i].bitmap, low,
        end - base < INT64_C(1) << 32 ? (uint64_t)(end - base) : UINT64_C(1) << 32);
  }
  return n;
}

void tn_dv_each(const tn_dv *dv, bool (*visit)(void *ctx, int64_t position), void *ctx) {
  for (size_t i = 0; i < dv->n_parts; i++) {
    int64_t base = (int64_t)dv->parts[i].key << 32;
    roaring_uint32_iterator_t it;
    roaring_iterator_init(dv->parts[i].bitmap, &it);
    while (it.has_value) {
      if (!visit(ctx, base + it.current_value)) {
        return;
      }
      roaring_uint32_iterator_advance(&it);
    }
  }
}
