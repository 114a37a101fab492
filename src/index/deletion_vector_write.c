/* deletion_vector_write.c - building deletion vectors, and files of several of them.
 *
 * The stored form is drawn in deletion_vector.c. Java compresses runs before it writes and, in
 * version 2, writes a bitmap for every key from 0 to the last one, empty ones too.
 */
#include "index/deletion_vector_write.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "codec/hash.h"
#include "index/deletion_vector_parts.h"

#define FILE_VERSION 1u
#define EMPTY_BITMAP_BYTES ((size_t)8)

struct tn_dv_builder {
  tn_mem *mem;
  int32_t version;
  int64_t cardinality;
  tn_dv_part *parts; /* ascending by key; some may be empty */
  size_t n_parts, capacity;
};

/* ------------------------------------------------------------------ building */

/* The first part with a key of at least `key`. Rows come in order, mostly: the last one first. */
static size_t find_part(const tn_dv_builder *b, uint32_t key) {
  size_t low = 0, high = b->n_parts;
  if (high > 0 && b->parts[high - 1].key <= key) {
    return b->parts[high - 1].key == key ? high - 1 : high;
  }
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    if (b->parts[mid].key < key) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  return low;
}

static bool has_part(const tn_dv_builder *b, size_t at, uint32_t key) {
  return at < b->n_parts && b->parts[at].key == key;
}

/* Takes the bitmap, which is NULL when it could not be made. */
static tarn_status insert_part(tn_dv_builder *b, size_t at, uint32_t key, roaring_bitmap_t *bitmap,
                               tarn_error *err) {
  if (bitmap == NULL) {
    return tn_oom(err);
  }
  if (b->n_parts == b->capacity) {
    size_t capacity = b->capacity == 0 ? 1 : b->capacity * 2;
    tn_dv_part *grown = tn_realloc(b->mem, b->parts, capacity * sizeof(*grown));
    if (grown == NULL) {
      roaring_bitmap_free(bitmap);
      return tn_oom(err);
    }
    b->parts = grown;
    b->capacity = capacity;
  }
  memmove(b->parts + at + 1, b->parts + at, (b->n_parts - at) * sizeof(*b->parts));
  b->parts[at] = (tn_dv_part){key, bitmap};
  b->n_parts++;
  return TARN_OK;
}

tarn_status tn_dv_builder_create(tarn_env *env, int32_t version, const tn_dv *from,
                                 tn_dv_builder **out, tarn_error *err) {
  tn_dv_builder *b = tn_calloc(&env->mem, 1, sizeof(*b));
  *out = NULL;
  if (b == NULL) {
    return tn_oom(err);
  }
  b->mem = &env->mem;
  b->version = from != NULL ? from->version : version;
  if (from != NULL) {
    tarn_status st = tn_dv_builder_unite(b, from, err);
    if (st != TARN_OK) {
      tn_dv_builder_free(b);
      return st;
    }
  }
  *out = b;
  return TARN_OK;
}

tarn_status tn_dv_builder_add(tn_dv_builder *b, int64_t position, bool *is_new, tarn_error *err) {
  int64_t limit = b->version == 1 ? (int64_t)TN_DV_MAX_POSITION_V1
                                  : (int64_t)TN_DV_MAX_KEY_V2 << 32 | (int64_t)UINT32_MAX;
  uint32_t key = (uint32_t)((uint64_t)position >> 32);
  bool added;
  size_t at;
  if (position < 0) {
    return tn_fail(err, TARN_E_INVALID, "deletion vector: position %lld", (long long)position);
  }
  if (position > limit) {
    return tn_fail(err, TARN_E_LIMIT,
                   "deletion vector: the file has too many rows: position %lld, at most %lld are "
                   "possible%s",
                   (long long)position, (long long)limit,
                   b->version == 1 ? " without 'deletion-vectors.bitmap64'" : "");
  }
  at = find_part(b, key);
  if (!has_part(b, at, key)) {
    TN_TRY(insert_part(b, at, key, roaring_bitmap_create(), err));
  }
  added = roaring_bitmap_add_checked(b->parts[at].bitmap, (uint32_t)position);
  b->cardinality += added;
  if (is_new != NULL) {
    *is_new = added;
  }
  return TARN_OK;
}

tarn_status tn_dv_builder_unite(tn_dv_builder *b, const tn_dv *other, tarn_error *err) {
  if (b->version != other->version) {
    return tn_fail(err, TARN_E_INVALID,
                   "deletion vector: one of version %d cannot be merged into one of version %d",
                   (int)other->version, (int)b->version);
  }
  for (size_t i = 0; i < other->n_parts; i++) {
    const tn_dv_part *p = &other->parts[i];
    size_t at = find_part(b, p->key);
    if (has_part(b, at, p->key)) {
      b->cardinality -= (int64_t)roaring_bitmap_get_cardinality(b->parts[at].bitmap);
      roaring_bitmap_or_inplace(b->parts[at].bitmap, p->bitmap);
    } else {
      TN_TRY(insert_part(b, at, p->key, roaring_bitmap_copy(p->bitmap), err));
    }
    b->cardinality += (int64_t)roaring_bitmap_get_cardinality(b->parts[at].bitmap);
  }
  return TARN_OK;
}

bool tn_dv_builder_contains(const tn_dv_builder *b, int64_t position) {
  uint32_t key = (uint32_t)((uint64_t)position >> 32);
  size_t at;
  if (position < 0) {
    return false;
  }
  at = find_part(b, key);
  return has_part(b, at, key) && roaring_bitmap_contains(b->parts[at].bitmap, (uint32_t)position);
}

int64_t tn_dv_builder_cardinality(const tn_dv_builder *b) {
  return b->cardinality;
}

tarn_status tn_dv_builder_build(tn_dv_builder *b, tn_dv **out, tarn_error *err) {
  tn_dv *dv;
  TN_TRY(tn_dv_create(b->mem, b->version, b->n_parts, out, err));
  dv = *out;
  for (size_t i = 0; i < b->n_parts; i++) {
    if (roaring_bitmap_is_empty(b->parts[i].bitmap)) {
      roaring_bitmap_free(b->parts[i].bitmap);
    } else {
      dv->parts[dv->n_parts++] = b->parts[i];
    }
  }
  dv->cardinality = b->cardinality;
  b->n_parts = 0;
  b->cardinality = 0;
  return TARN_OK;
}

void tn_dv_builder_free(tn_dv_builder *b) {
  if (b == NULL) {
    return;
  }
  for (size_t i = 0; i < b->n_parts; i++) {
    roaring_bitmap_free(b->parts[i].bitmap);
  }
  tn_free(b->mem, b->parts);
  tn_free(b->mem, b);
}

/* ------------------------------------------------------------------ storing */

static tarn_status put_empty_bitmap(tn_buf *out, tarn_error *err) {
  static const uint8_t empty[EMPTY_BITMAP_BYTES] = {0x3a, 0x30};
  return tn_buf_append(out, empty, sizeof(empty), err);
}

/* A copy is compressed: a vector may be in use by others. */
static tarn_status put_bitmap(const roaring_bitmap_t *bitmap, tn_buf *out, tarn_error *err) {
  roaring_bitmap_t *copy = roaring_bitmap_copy(bitmap);
  tarn_status st = TARN_OK;
  size_t n_bytes;
  if (copy == NULL) {
    return tn_oom(err);
  }
  (void)roaring_bitmap_run_optimize(copy);
  n_bytes = roaring_bitmap_portable_size_in_bytes(copy);
  TN_TRY_TO(done, tn_buf_reserve(out, n_bytes, err));
  out->len += roaring_bitmap_portable_serialize(copy, (char *)out->data + out->len);
done:
  roaring_bitmap_free(copy);
  return st;
}

static tarn_status put_v1(const tn_dv *dv, tn_buf *out, tarn_error *err) {
  uint8_t magic[4];
  tn_store_be32(magic, TN_DV_MAGIC_V1);
  TN_TRY(tn_buf_append(out, magic, sizeof(magic), err));
  return dv->n_parts > 0 ? put_bitmap(dv->parts[0].bitmap, out, err) : put_empty_bitmap(out, err);
}

static tarn_status put_v2(const tn_dv *dv, tn_buf *out, tarn_error *err) {
  uint64_t n = dv->n_parts > 0 ? (uint64_t)dv->parts[dv->n_parts - 1].key + 1 : 0;
  size_t next = 0;
  uint8_t head[12];
  if (n > INT32_MAX / (4 + EMPTY_BITMAP_BYTES)) {
    return tn_fail(err, TARN_E_LIMIT, "deletion vector: %llu bitmaps pass 2 GiB",
                   (unsigned long long)n);
  }
  tn_store_le32(head, TN_DV_MAGIC_V2);
  tn_store_le64(head + 4, n);
  TN_TRY(tn_buf_append(out, head, sizeof(head), err));
  for (uint32_t key = 0; key < n; key++) {
    uint8_t bytes[4];
    tn_store_le32(bytes, key);
    TN_TRY(tn_buf_append(out, bytes, sizeof(bytes), err));
    if (dv->parts[next].key == key) {
      TN_TRY(put_bitmap(dv->parts[next++].bitmap, out, err));
    } else {
      TN_TRY(put_empty_bitmap(out, err));
    }
  }
  return TARN_OK;
}

tarn_status tn_dv_encode(const tn_dv *dv, tn_buf *out, tarn_error *err) {
  size_t start = out->len, length;
  uint8_t word[4] = {0};
  TN_TRY(tn_buf_append(out, word, sizeof(word), err));
  TN_TRY(dv->version == 1 ? put_v1(dv, out, err) : put_v2(dv, out, err));
  length = out->len - start - sizeof(word);
  if (length > INT32_MAX - TN_DV_FRAME_BYTES) {
    return tn_fail(err, TARN_E_LIMIT, "deletion vector: %zu bytes, at most 2 GiB are possible",
                   length);
  }
  tn_store_be32(out->data + start, (uint32_t)length);
  tn_store_be32(word, tn_crc32(0, out->data + start + sizeof(word), length));
  return tn_buf_append(out, word, sizeof(word), err);
}

/* ------------------------------------------------------------------ a file of them */

static tarn_status write_one(tn_sink *sink, const tn_dv_named *named, const char *path,
                             tn_arena *arena, tn_buf *blob, tn_dv_range *range, tarn_error *err) {
  int64_t offset = tn_sink_size(sink);
  blob->len = 0;
  TN_TRY(tn_dv_encode(named->dv, blob, err));
  if (offset > INT32_MAX - (int64_t)blob->len) {
    return tn_fail(err, TARN_E_LIMIT, "%s: a file of deletion vectors passes 2 GiB", path);
  }
  TN_TRY(tn_sink_write(sink, blob->data, blob->len, err));
  if (!tn_arena_slice(arena, named->data_file, &range->data_file)) {
    return tn_oom(err);
  }
  range->offset = (int32_t)offset;
  range->length = (int32_t)(blob->len - (named->dv->version == 1 ? TN_DV_FRAME_BYTES : 0));
  range->cardinality = named->dv->cardinality;
  range->has_cardinality = true;
  return TARN_OK;
}

/* What the manifest says of the file. */
static tarn_status fill_entry(const char *path, tn_arena *arena, tn_dv_range *ranges, size_t n,
                              int64_t file_size, tn_index_entry *entry, tarn_error *err) {
  const char *slash = strrchr(path, '/'), *name;
  name = tn_arena_strdup(arena, slash != NULL ? slash + 1 : path);
  if (name == NULL) {
    return tn_oom(err);
  }
  *entry = (tn_index_entry){
      .version = 1,
      .kind = TN_FILE_ADD,
      .index_type = tn_slice_text("DELETION_VECTORS"),
      .file_name = tn_slice_text(name),
      .file_size = file_size,
      .row_count = (int64_t)n,
      .dv_ranges = {ranges, (int32_t)n},
      .has_dv_ranges = true,
  };
  return TARN_OK;
}

tarn_status tn_dv_file_write(tarn_env *env, tn_storage *storage, const char *path,
                             const tn_dv_named *list, size_t n, int64_t target_bytes,
                             tn_arena *arena, tn_index_entry *entry, size_t *n_written,
                             tarn_error *err) {
  static const uint8_t version = FILE_VERSION;
  tarn_status st = TARN_OK;
  tn_dv_range *ranges;
  tn_sink *sink = NULL;
  size_t done_ones = 0;
  tn_buf blob;
  tn_buf_init(&blob, &env->mem, SIZE_MAX);
  *n_written = 0;
  ranges = tn_arena_calloc(arena, n > 0 ? n : 1, sizeof(*ranges));
  if (ranges == NULL || n > INT32_MAX) {
    return tn_oom(err);
  }
  TN_TRY_TO(done, tn_storage_create(storage, path, &sink, err));
  TN_TRY_TO(done, tn_sink_write(sink, &version, 1, err));
  while (done_ones < n &&
         (done_ones == 0 || target_bytes <= 0 || tn_sink_size(sink) <= target_bytes)) {
    TN_TRY_TO(done, write_one(sink, &list[done_ones], path, arena, &blob, &ranges[done_ones], err));
    done_ones++;
  }
  TN_TRY_TO(done, fill_entry(path, arena, ranges, done_ones, tn_sink_size(sink), entry, err));
  st = tn_sink_finish(sink, true, err);
  sink = NULL;
  *n_written = st == TARN_OK ? done_ones : 0;
done:
  tn_sink_abort(sink);
  tn_buf_reset(&blob);
  return st;
}
