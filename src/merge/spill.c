/* spill.c - rows that wait on disk: sorted runs of all buckets, in files of their own kind.
 *
 *   run   = block block ...          buckets ascending; where each bucket begins is kept in memory
 *   block = head, payload            a batch as it was added
 *   head  = u32 stored bytes, u32 bytes before compression, u32 rows, u32 CRC-32 of what is stored
 *   payload = flags u8 (1: sequence numbers, 2: kinds)
 *             i64 numbers, i8 kinds, then each column:
 *   column  = u8 (1: has nulls), bitmap; then by layout
 *             fixed: values   BIT: bitmap   BYTES: i32 offsets, bytes
 *             LIST: i32 offsets, the child   FIXED_LIST: the child   STRUCT: the children
 *
 * The files live in a folder of their own, on the local file system, which is removed with the
 * tn_spill. They are never read by another process; a damaged one is CORRUPT all the same.
 */
#include <stdio.h>

#include "base/bytes.h"
#include "codec/compress.h"
#include "codec/hash.h"
#include "io/storage.h"
#include "merge/spill.h"

#define HEAD_BYTES 16
#define MAX_BLOCK_BYTES ((size_t)1 << 30)
#define HAS_SEQUENCES 1
#define HAS_KINDS 2

/* Where the blocks of a bucket begin; they end where those of the next one begin. */
typedef struct region {
  uint32_t bucket;
  int64_t offset;
} region;

typedef struct run {
  const char *path; /* owned */
  region *regions;
  size_t n_regions, capacity;
  int64_t n_bytes;
} run;

struct tn_spill {
  tarn_env *env;
  tn_storage *storage;
  char *folder; /* owned; made with the first run */
  const tn_field *fields;
  int32_t n_fields;
  run *runs;
  int32_t n_runs, capacity;
  int32_t next_name;
  int64_t n_bytes;
};

struct tn_spill_run {
  tn_spill *spill;
  run made;
  tn_sink *sink;
  tn_codec_context *codec;
  tn_buf raw, stored;
};

struct tn_spill_rows {
  tn_spill *spill;
  tn_file *file;
  int64_t offset, end;
  tn_codec_context *codec;
  tn_buf raw, stored;
};

/* ------------------------------------------------------------------ all runs */

tarn_status tn_spill_create(tarn_env *env, const char *folder, const tn_field *fields,
                            int32_t n_fields, tn_spill **out, tarn_error *err) {
  tn_spill *s = tn_calloc(&env->mem, 1, sizeof(*s));
  char name[TN_UUID_CHARS + 1];
  size_t size = strlen(folder) + sizeof(name) + 16;
  tarn_status st = TARN_OK;
  *out = NULL;
  if (s == NULL) {
    return tn_oom(err);
  }
  s->env = env;
  s->fields = fields;
  s->n_fields = n_fields;
  s->folder = tn_alloc(&env->mem, size);
  if (s->folder == NULL) {
    st = tn_oom(err);
    goto done;
  }
  TN_TRY_TO(done, tn_env_uuid(env, name, err));
  snprintf(s->folder, size, "%s/tarn-spill-%s", folder, name);
  TN_TRY_TO(done, tn_storage_local(env, &s->storage, err));
  *out = s;
  s = NULL;
done:
  tn_spill_free(s);
  return st;
}

static void free_run(tn_spill *s, run *r) {
  tn_free(&s->env->mem, (void *)(uintptr_t)r->path);
  tn_free(&s->env->mem, r->regions);
  memset(r, 0, sizeof(*r));
}

tarn_status tn_spill_clear(tn_spill *s, tarn_error *err) {
  tarn_status st = TARN_OK;
  for (int32_t i = 0; i < s->n_runs; i++) {
    tarn_status removed =
        tn_storage_remove(s->storage, s->runs[i].path, st == TARN_OK ? err : NULL);
    st = st == TARN_OK ? removed : st;
    free_run(s, &s->runs[i]);
  }
  s->n_runs = 0;
  s->n_bytes = 0;
  return st;
}

void tn_spill_free(tn_spill *s) {
  if (s == NULL) {
    return;
  }
  if (tn_spill_clear(s, NULL) != TARN_OK) {
    tn_log(s->env, TARN_LOG_WARN, "event=spill_not_removed path=%s", s->folder);
  }
  if (s->storage != NULL && s->next_name > 0 &&
      tn_storage_remove_tree(s->storage, s->folder, NULL) != TARN_OK) {
    tn_log(s->env, TARN_LOG_WARN, "event=spill_not_removed path=%s", s->folder);
  }
  tn_storage_release(s->storage);
  tn_free(&s->env->mem, s->folder);
  tn_free(&s->env->mem, s->runs);
  tn_free(&s->env->mem, s);
}

int32_t tn_spill_runs(const tn_spill *spill) {
  return spill->n_runs;
}

int64_t tn_spill_bytes(const tn_spill *spill) {
  return spill->n_bytes;
}

/* ------------------------------------------------------------------ writing columns */

static tarn_status put_vec(const tn_vec *vec, tn_buf *out, tarn_error *err) {
  uint8_t has_nulls = vec->null_count > 0;
  size_t n = (size_t)vec->length, n_bitmap = TN_BITMAP_BYTES(n);
  static const int32_t no_offsets[1] = {0};
  const int32_t *offsets = vec->offsets != NULL ? vec->offsets : no_offsets;
  TN_TRY(tn_buf_append(out, &has_nulls, 1, err));
  if (has_nulls) {
    TN_TRY(tn_buf_append(out, vec->valid, n_bitmap, err));
  }
  switch (vec->layout) {
    case TN_LAYOUT_BIT:
      return tn_buf_append(out, vec->values, n_bitmap, err);
    case TN_LAYOUT_BYTES:
      TN_TRY(tn_buf_append(out, offsets, (n + 1) * sizeof(int32_t), err));
      return tn_buf_append(out, vec->values, (size_t)offsets[n], err);
    case TN_LAYOUT_LIST:
      TN_TRY(tn_buf_append(out, offsets, (n + 1) * sizeof(int32_t), err));
      return put_vec(&vec->children[0], out, err);
    case TN_LAYOUT_FIXED_LIST:
    case TN_LAYOUT_STRUCT:
      for (int32_t i = 0; i < vec->n_children; i++) {
        TN_TRY(put_vec(&vec->children[i], out, err));
      }
      return TARN_OK;
    default:
      return tn_buf_append(out, vec->values, n * tn_layout_width(vec->layout), err);
  }
}

/* ------------------------------------------------------------------ writing runs */

tarn_status tn_spill_begin(tn_spill *spill, tn_spill_run **out, tarn_error *err) {
  tarn_env *env = spill->env;
  tn_spill_run *r = tn_calloc(&env->mem, 1, sizeof(*r));
  size_t size = strlen(spill->folder) + 32;
  char *path;
  tarn_status st = TARN_OK;
  *out = NULL;
  if (r == NULL) {
    return tn_oom(err);
  }
  r->spill = spill;
  tn_buf_init(&r->raw, &env->mem, MAX_BLOCK_BYTES);
  tn_buf_init(&r->stored, &env->mem, 2 * MAX_BLOCK_BYTES);
  path = tn_alloc(&env->mem, size);
  if (path == NULL) {
    st = tn_oom(err);
    goto done;
  }
  snprintf(path, size, "%s/run-%d", spill->folder, (int)spill->next_name++);
  r->made.path = path;
  TN_TRY_TO(done, tn_codec_context_take(env, &r->codec, err));
  TN_TRY_TO(done, tn_storage_create(spill->storage, path, &r->sink, err));
  *out = r;
  r = NULL;
done:
  tn_spill_abandon(r);
  return st;
}

void tn_spill_abandon(tn_spill_run *r) {
  if (r != NULL) {
    tn_sink_abort(r->sink);
    tn_codec_context_give(r->codec);
    tn_buf_reset(&r->raw);
    tn_buf_reset(&r->stored);
    free_run(r->spill, &r->made);
    tn_free(&r->spill->env->mem, r);
  }
}

static tarn_status add_region(tn_spill_run *r, uint32_t bucket, tarn_error *err) {
  run *made = &r->made;
  if (made->n_regions > 0 && made->regions[made->n_regions - 1].bucket == bucket) {
    return TARN_OK;
  }
  if (made->n_regions == made->capacity) {
    size_t capacity = made->capacity * 2 + 16;
    region *regions = tn_realloc(&r->spill->env->mem, made->regions, capacity * sizeof(*regions));
    if (regions == NULL) {
      return tn_oom(err);
    }
    made->regions = regions;
    made->capacity = capacity;
  }
  made->regions[made->n_regions++] = (region){bucket, tn_sink_size(r->sink)};
  return TARN_OK;
}

static tarn_status put_payload(tn_spill_run *r, const tn_batch *batch, const int64_t *sequences,
                               const int8_t *kinds, tarn_error *err) {
  size_t n = (size_t)batch->n_rows;
  uint8_t flags =
      (uint8_t)((sequences != NULL ? HAS_SEQUENCES : 0) | (kinds != NULL ? HAS_KINDS : 0));
  r->raw.len = 0;
  TN_TRY(tn_buf_append(&r->raw, &flags, 1, err));
  if (sequences != NULL) {
    TN_TRY(tn_buf_append(&r->raw, sequences, n * sizeof(*sequences), err));
  }
  if (kinds != NULL) {
    TN_TRY(tn_buf_append(&r->raw, kinds, n, err));
  }
  for (int32_t c = 0; c < batch->n_columns; c++) {
    TN_TRY(put_vec(&batch->columns[c], &r->raw, err));
  }
  return TARN_OK;
}

tarn_status tn_spill_add(tn_spill_run *r, uint32_t bucket, const tn_batch *batch,
                         const int64_t *sequences, const int8_t *kinds, tarn_error *err) {
  uint8_t head[HEAD_BYTES];
  size_t bound, written;
  TN_TRY(add_region(r, bucket, err));
  TN_TRY(put_payload(r, batch, sequences, kinds, err));
  bound = tn_compress_bound(TN_CODEC_ZSTD, r->raw.len);
  r->stored.len = 0;
  TN_TRY(tn_buf_reserve(&r->stored, bound, err));
  TN_TRY(tn_compress(r->codec, TN_CODEC_ZSTD, 1, tn_buf_slice(&r->raw), r->stored.data, bound,
                     &written, err));
  tn_store_le32(head, (uint32_t)written);
  tn_store_le32(head + 4, (uint32_t)r->raw.len);
  tn_store_le32(head + 8, (uint32_t)batch->n_rows);
  tn_store_le32(head + 12, tn_crc32(0, r->stored.data, written));
  TN_TRY(tn_sink_write(r->sink, head, sizeof(head), err));
  return tn_sink_write(r->sink, r->stored.data, written, err);
}

tarn_status tn_spill_end(tn_spill_run *r, tarn_error *err) {
  tn_spill *s = r->spill;
  tn_sink *sink = r->sink;
  tarn_status st = TARN_OK;
  if (s->n_runs == s->capacity) {
    int32_t capacity = s->capacity * 2 + 8;
    run *runs = tn_realloc(&s->env->mem, s->runs, (size_t)capacity * sizeof(*runs));
    if (runs == NULL) {
      st = tn_oom(err);
      goto done;
    }
    s->runs = runs;
    s->capacity = capacity;
  }
  r->made.n_bytes = tn_sink_size(sink);
  r->sink = NULL;
  TN_TRY_TO(done, tn_sink_finish(sink, false, err));
  s->n_bytes += r->made.n_bytes;
  s->runs[s->n_runs++] = r->made;
  memset(&r->made, 0, sizeof(r->made));
done:
  tn_spill_abandon(r);
  return st;
}

/* ------------------------------------------------------------------ reading runs */

tarn_status tn_spill_open(tn_spill *spill, int32_t i, uint32_t bucket, tn_spill_rows **out,
                          tarn_error *err) {
  const run *from = &spill->runs[i];
  size_t low = 0, high = from->n_regions;
  tn_spill_rows *rows;
  tarn_status st = TARN_OK;
  *out = NULL;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (from->regions[middle].bucket < bucket) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == from->n_regions || from->regions[low].bucket != bucket) {
    return TARN_OK;
  }
  rows = tn_calloc(&spill->env->mem, 1, sizeof(*rows));
  if (rows == NULL) {
    return tn_oom(err);
  }
  rows->spill = spill;
  rows->offset = from->regions[low].offset;
  rows->end = low + 1 < from->n_regions ? from->regions[low + 1].offset : from->n_bytes;
  tn_buf_init(&rows->raw, &spill->env->mem, MAX_BLOCK_BYTES);
  tn_buf_init(&rows->stored, &spill->env->mem, 2 * MAX_BLOCK_BYTES);
  TN_TRY_TO(done, tn_codec_context_take(spill->env, &rows->codec, err));
  TN_TRY_TO(done, tn_storage_open(spill->storage, from->path, &rows->file, err));
  *out = rows;
  rows = NULL;
done:
  tn_spill_close(rows);
  return st;
}

void tn_spill_close(tn_spill_rows *rows) {
  if (rows != NULL) {
    tn_file_release(rows->file);
    tn_codec_context_give(rows->codec);
    tn_buf_reset(&rows->raw);
    tn_buf_reset(&rows->stored);
    tn_free(&rows->spill->env->mem, rows);
  }
}

/* ------------------------------------------------------------------ reading columns */

static tarn_status damaged(const tn_spill_rows *rows, tarn_error *err) {
  return tn_fail(err, TARN_E_CORRUPT, "%s: damaged near byte %lld", rows->file->path,
                 (long long)rows->offset);
}

static tarn_status take_bytes(const tn_spill_rows *rows, tn_slice *rest, void *to, size_t n_bytes,
                              tarn_error *err) {
  if (n_bytes > rest->len) {
    return damaged(rows, err);
  }
  if (n_bytes > 0) {
    memcpy(to, rest->data, n_bytes);
  }
  *rest = tn_slice_of(rest->data + n_bytes, rest->len - n_bytes);
  return TARN_OK;
}

static tarn_status take_offsets(const tn_spill_rows *rows, tn_slice *rest, tn_vec *vec,
                                tarn_error *err) {
  int64_t n = vec->length;
  TN_TRY(take_bytes(rows, rest, vec->offsets, (size_t)(n + 1) * sizeof(int32_t), err));
  for (int64_t i = 0; i < n; i++) {
    if (vec->offsets[i] < 0 || vec->offsets[i + 1] < vec->offsets[i]) {
      return damaged(rows, err);
    }
  }
  return vec->offsets[0] == 0 ? TARN_OK : damaged(rows, err);
}

static tarn_status take_valid(const tn_spill_rows *rows, tn_slice *rest, tn_vec *vec,
                              tarn_error *err) {
  tarn_env *env = rows->spill->env;
  uint8_t has_nulls;
  TN_TRY(take_bytes(rows, rest, &has_nulls, 1, err));
  if (has_nulls == 0) {
    return TARN_OK;
  }
  TN_TRY(tn_vec_alloc_valid(env, vec, true, err));
  TN_TRY(take_bytes(rows, rest, vec->valid, TN_BITMAP_BYTES(vec->length), err));
  vec->null_count = 0;
  for (int64_t i = 0; i < vec->length; i++) {
    vec->null_count += !tn_bit_get(vec->valid, i);
  }
  return TARN_OK;
}

/* vec is initialised; depth is that of its type. */
static tarn_status take_vec(const tn_spill_rows *rows, tn_slice *rest, int64_t n, tn_vec *vec,
                            tarn_error *err) {
  tarn_env *env = rows->spill->env;
  tn_buffer *bytes;
  TN_TRY(tn_vec_alloc(env, vec, n, 0, err));
  TN_TRY(take_valid(rows, rest, vec, err));
  switch (vec->layout) {
    case TN_LAYOUT_BIT:
      return take_bytes(rows, rest, vec->values, TN_BITMAP_BYTES(n), err);
    case TN_LAYOUT_BYTES:
      TN_TRY(take_offsets(rows, rest, vec, err));
      if ((size_t)vec->offsets[n] > rest->len) {
        return damaged(rows, err);
      }
      TN_TRY(tn_buffer_create(env, (size_t)vec->offsets[n], &bytes, err));
      tn_buffer_release(vec->values_buffer);
      vec->values_buffer = bytes;
      vec->values = bytes->data;
      return take_bytes(rows, rest, vec->values, (size_t)vec->offsets[n], err);
    case TN_LAYOUT_LIST:
      TN_TRY(take_offsets(rows, rest, vec, err));
      return take_vec(rows, rest, vec->offsets[n], &vec->children[0], err);
    case TN_LAYOUT_FIXED_LIST:
      return take_vec(rows, rest, n * vec->type->length, &vec->children[0], err);
    case TN_LAYOUT_STRUCT:
      for (int32_t i = 0; i < vec->n_children; i++) {
        TN_TRY(take_vec(rows, rest, n, &vec->children[i], err));
      }
      return TARN_OK;
    default:
      return take_bytes(rows, rest, vec->values, (size_t)n * tn_layout_width(vec->layout), err);
  }
}

static tarn_status read_block(tn_spill_rows *rows, int64_t *n_rows, tarn_error *err) {
  uint8_t head[HEAD_BYTES];
  size_t n_stored, n_raw;
  if (rows->end - rows->offset < HEAD_BYTES) {
    return damaged(rows, err);
  }
  TN_TRY(tn_file_read(rows->file, rows->offset, head, sizeof(head), err));
  n_stored = tn_load_le32(head);
  n_raw = tn_load_le32(head + 4);
  *n_rows = tn_load_le32(head + 8);
  if ((int64_t)n_stored > rows->end - rows->offset - HEAD_BYTES || n_raw > MAX_BLOCK_BYTES ||
      *n_rows == 0) {
    return damaged(rows, err);
  }
  rows->stored.len = rows->raw.len = 0;
  TN_TRY(tn_buf_reserve(&rows->stored, n_stored, err));
  TN_TRY(tn_buf_reserve(&rows->raw, n_raw, err));
  TN_TRY(tn_file_read(rows->file, rows->offset + HEAD_BYTES, rows->stored.data, n_stored, err));
  if (tn_crc32(0, rows->stored.data, n_stored) != tn_load_le32(head + 12)) {
    return damaged(rows, err);
  }
  TN_TRY(tn_decompress(rows->codec, TN_CODEC_ZSTD, tn_slice_of(rows->stored.data, n_stored),
                       rows->raw.data, n_raw, err));
  rows->raw.len = n_raw;
  rows->offset += HEAD_BYTES + (int64_t)n_stored;
  return TARN_OK;
}

static tarn_status take_array(const tn_spill_rows *rows, tn_slice *rest, size_t n_bytes,
                              tn_buffer **out, tarn_error *err) {
  if (n_bytes > rest->len) {
    return damaged(rows, err);
  }
  TN_TRY(tn_buffer_create(rows->spill->env, n_bytes, out, err));
  return take_bytes(rows, rest, (*out)->data, n_bytes, err);
}

tarn_status tn_spill_next(tn_spill_rows *rows, tn_batch *batch, tn_buffer **sequences,
                          tn_buffer **kinds, tarn_error *err) {
  tn_spill *s = rows->spill;
  int64_t n;
  tn_slice rest;
  uint8_t flags;
  tarn_status st = TARN_OK;
  *sequences = *kinds = NULL;
  tn_batch_reset(s->env, batch);
  if (rows->offset == rows->end) {
    return TARN_OK;
  }
  TN_TRY(read_block(rows, &n, err));
  rest = tn_buf_slice(&rows->raw);
  TN_TRY(take_bytes(rows, &rest, &flags, 1, err));
  TN_TRY(tn_batch_init(s->env, s->fields, s->n_fields, batch, err));
  if ((flags & HAS_SEQUENCES) != 0) {
    TN_TRY_TO(fail, take_array(rows, &rest, (size_t)n * 8, sequences, err));
  }
  if ((flags & HAS_KINDS) != 0) {
    TN_TRY_TO(fail, take_array(rows, &rest, (size_t)n, kinds, err));
  }
  for (int32_t c = 0; c < s->n_fields; c++) {
    TN_TRY_TO(fail, take_vec(rows, &rest, n, &batch->columns[c], err));
  }
  batch->n_rows = n;
  return TARN_OK;
fail:
  tn_buffer_release(*sequences);
  tn_buffer_release(*kinds);
  *sequences = *kinds = NULL;
  tn_batch_reset(s->env, batch);
  return st;
}
