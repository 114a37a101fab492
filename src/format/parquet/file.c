/* file.c - the footer and its cache, the operations of the format, reading indexes. */
#include "format/parquet/file.h"

#include "base/bytes.h"
#include "format/parquet/parquet.h"

#define TAIL_BYTES ((size_t)32 << 10) /* read at once, in the hope that the footer is in it */
#define FRAME_BYTES 8                 /* footer length and magic at the file's end */
#define ARENA_BYTES_PER_FOOTER_BYTE 128
#define BIG_FOOTER_BYTES ((size_t)1 << 20) /* larger ones are charged themselves and not cached */
#define MAX_GAP_BYTES ((int64_t)1 << 20)   /* between indexes that are read at once */

/* ------------------------------------------------------------------ the writer */

/* "parquet-mr version 1.16.0 (build ...)" */
typedef struct writer {
  tn_slice name;
  int32_t version[3];
} writer;

static writer parse_writer(tn_slice created_by) {
  static const char mark[] = " version ";
  writer w = {created_by, {0, 0, 0}};
  size_t at = 0;
  while (at + sizeof(mark) - 1 <= created_by.len &&
         memcmp(created_by.data + at, mark, sizeof(mark) - 1) != 0) {
    at++;
  }
  if (at + sizeof(mark) - 1 > created_by.len) {
    return w;
  }
  w.name.len = at;
  at += sizeof(mark) - 1;
  for (int part = 0; part < 3; part++) {
    while (at < created_by.len && created_by.data[at] >= '0' && created_by.data[at] <= '9' &&
           w.version[part] < 100000) {
      w.version[part] = w.version[part] * 10 + (created_by.data[at++] - '0');
    }
    if (at == created_by.len || created_by.data[at] != '.') {
      break;
    }
    at++;
  }
  return w;
}

static bool is_before(const writer *w, int32_t major, int32_t minor, int32_t patch) {
  if (w->version[0] != major) {
    return w->version[0] < major;
  }
  return w->version[1] != minor ? w->version[1] < minor : w->version[2] < patch;
}

static void note_writer(tn_pq_meta *meta) {
  writer w = parse_writer(meta->footer.created_by);
  bool is_parquet_mr = tn_slice_is(w.name, "parquet-mr");
  meta->is_old_writer = is_parquet_mr && is_before(&w, 1, 2, 9);
  // since PARQUET-1246 (1.10.0) Java compares by Double.compare; ours leave bounds out beside a NaN
  meta->has_nan_in_bounds =
      tn_slice_is(w.name, "tarn") || (is_parquet_mr && !is_before(&w, 1, 10, 0));
}

/* ------------------------------------------------------------------ the footer */

static void meta_release(tn_pq_meta *meta) {
  if (meta != NULL && atomic_fetch_sub_explicit(&meta->refs, 1, memory_order_acq_rel) == 1) {
    tarn_env *env = meta->env;
    tn_arena_reset(&meta->arena);
    tn_unreserve(&env->mem, meta->charged_bytes);
    tn_free(&env->mem, meta);
  }
}

static void cached_retain(void *value) {
  tn_pq_meta *meta = value;
  atomic_fetch_add_explicit(&meta->refs, 1, memory_order_relaxed);
}

static void cached_release(void *value) {
  meta_release(value);
}

static const tn_cache_ops footer_cache = {"parquet-footer", cached_retain, cached_release};

static tarn_status check_magic(const tn_file *file, const uint8_t *magic, tarn_error *err) {
  if (memcmp(magic, "PARE", 4) == 0) {
    return tn_fail(err, TARN_E_UNSUPPORTED, "%s: encrypted Parquet is not supported", file->path);
  }
  if (memcmp(magic, "PAR1", 4) != 0) {
    return tn_fail(err, TARN_E_CORRUPT,
                   "%s: not a Parquet file: its %lld bytes end in %02x%02x%02x%02x, not in PAR1",
                   file->path, (long long)file->size_bytes, magic[0], magic[1], magic[2], magic[3]);
  }
  return TARN_OK;
}

/* The footer's bytes, in the arena. */
static tarn_status read_footer(tn_file *file, tn_arena *arena, tn_slice *out, tarn_error *err) {
  size_t n_tail = (uint64_t)file->size_bytes < TAIL_BYTES ? (size_t)file->size_bytes : TAIL_BYTES;
  uint8_t *tail, *frame;
  uint32_t n;
  if (file->size_bytes < 4 + FRAME_BYTES) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: not a Parquet file: %lld bytes are too few",
                   file->path, (long long)file->size_bytes);
  }
  arena->limit_bytes = n_tail + BIG_FOOTER_BYTES;
  tail = tn_arena_alloc(arena, n_tail);
  if (tail == NULL) {
    return tn_oom(err);
  }
  TN_TRY(tn_file_read(file, file->size_bytes - (int64_t)n_tail, tail, n_tail, err));
  frame = tail + n_tail - FRAME_BYTES;
  TN_TRY(check_magic(file, frame + 4, err));
  n = tn_load_le32(frame);
  if (n > file->size_bytes - FRAME_BYTES - 4) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: a footer of %u bytes in a file of %lld", file->path,
                   (unsigned)n, (long long)file->size_bytes);
  }
  arena->limit_bytes += (size_t)n * ARENA_BYTES_PER_FOOTER_BYTE;
  if (n <= n_tail - FRAME_BYTES) {
    *out = tn_slice_of(frame - n, n);
    return TARN_OK;
  }
  TN_TRY(tn_env_reserve(file->env, n, "a Parquet footer", err));
  tn_unreserve(&file->env->mem, n);  // that it fits is what was to be known
  tail = tn_arena_alloc(arena, n);
  if (tail == NULL) {
    return tn_oom(err);
  }
  *out = tn_slice_of(tail, n);
  return tn_file_read(file, file->size_bytes - FRAME_BYTES - (int64_t)n, tail, n, err);
}

static tarn_status charge(tn_pq_meta *meta, const char *path, tarn_error *err) {
  tarn_status st;
  if (meta->arena.held_bytes <= BIG_FOOTER_BYTES) {
    return TARN_OK;
  }
  st = tn_env_reserve(meta->env, meta->arena.held_bytes, "a Parquet footer", err);
  if (st != TARN_OK) {
    return tn_error_context(err, st, "%s", path);
  }
  meta->charged_bytes = meta->arena.held_bytes;
  return TARN_OK;
}

static tarn_status load_meta(tarn_env *env, tn_file *file, tn_pq_meta **out, tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_slice bytes;
  tn_pq_meta *meta = tn_calloc(&env->mem, 1, sizeof(*meta));
  *out = NULL;
  if (meta == NULL) {
    return tn_oom(err);
  }
  atomic_init(&meta->refs, 1);
  meta->env = env;
  tn_arena_init(&meta->arena, &env->mem, 0);
  TN_TRY_TO(fail, read_footer(file, &meta->arena, &bytes, err));
  meta->data_end = file->size_bytes - FRAME_BYTES - (int64_t)bytes.len;
  TN_TRY_TO(fail, tn_pq_footer_parse(&meta->arena, bytes, file->path, &meta->footer, err));
  TN_TRY_TO(fail, tn_pq_schema_build(&meta->arena, &meta->footer, file->path, &meta->schema, err));
  TN_TRY_TO(fail, charge(meta, file->path, err));
  note_writer(meta);
  *out = meta;
  return TARN_OK;
fail:
  meta_release(meta);
  return st;
}

/* path, NUL, size: what the cache knows a footer by. */
static tarn_status cache_key(tarn_env *env, const tn_file *file, tn_buf *out, tarn_error *err) {
  uint8_t size[8];
  tn_buf_init(out, &env->mem, 1 << 20);
  tn_store_le64(size, (uint64_t)file->size_bytes);
  TN_TRY(tn_buf_append(out, file->path, strlen(file->path) + 1, err));
  return tn_buf_append(out, size, sizeof(size), err);
}

/* An opened file; takes over meta, on failure, too. */
static tarn_status make_file(tarn_env *env, tn_file *file, tn_pq_meta *meta, tn_format_file **out,
                             tarn_error *err) {
  tn_pq_file *made = tn_calloc(&env->mem, 1, sizeof(*made));
  if (made == NULL) {
    meta_release(meta);
    return tn_oom(err);
  }
  made->base.ops = &tn_parquet_format;
  made->base.env = env;
  made->base.file = tn_file_retain(file);
  made->base.n_rows = meta->footer.n_rows;
  atomic_init(&made->base.refs, 1);
  made->meta = meta;
  *out = &made->base;
  return TARN_OK;
}

static tarn_status parquet_open(tarn_env *env, tn_file *file, tn_format_file **out,
                                tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_pq_meta *meta = NULL;
  tn_buf key;
  *out = NULL;
  TN_TRY_TO(done, cache_key(env, file, &key, err));
  meta = tn_cache_get(env->cache, &footer_cache, tn_buf_slice(&key));
  if (meta == NULL) {
    TN_TRY_TO(done, load_meta(env, file, &meta, err));
    if (meta->charged_bytes == 0) {
      tn_cache_put(env->cache, &footer_cache, tn_buf_slice(&key), meta, meta->arena.held_bytes);
    }
  }
  st = make_file(env, file, meta, out, err);
done:
  tn_buf_reset(&key);
  return st;
}

tarn_status tn_pq_file_open_once(tarn_env *env, tn_file *file, tn_format_file **out,
                                 tarn_error *err) {
  tn_pq_meta *meta;
  *out = NULL;
  TN_TRY(load_meta(env, file, &meta, err));
  return make_file(env, file, meta, out, err);
}

static void parquet_release(tn_format_file *file) {
  tn_pq_file *f = tn_pq_file_of(file);
  tarn_env *env = file->env;
  meta_release(f->meta);
  tn_file_release(file->file);
  tn_free(&env->mem, f);
}

static tarn_status parquet_schema(tn_format_file *file, tn_arena *arena, tn_field **fields,
                                  int32_t *n_fields, tarn_error *err) {
  const tn_pq_file *f = tn_pq_file_of(file);
  return tn_pq_schema_fields(arena, &f->meta->schema, file->file->path, fields, n_fields, err);
}

const tn_format_ops tn_parquet_format = {
    .name = "parquet",
    .is_columnar = true,
    .open = parquet_open,
    .release = parquet_release,
    .prune = tn_pq_prune,
    .read = tn_pq_read,
    .inspect = tn_pq_inspect,
    .schema = parquet_schema,
};

/* ------------------------------------------------------------------ indexes */

bool tn_pq_chunk_has_index(const tn_pq_chunk *chunk, tn_pq_index_kind kind) {
  return kind == TN_PQ_OFFSET_INDEX
             ? chunk->offset_index_offset > 0 && chunk->offset_index_bytes > 0
             : chunk->column_index_offset > 0 && chunk->column_index_bytes > 0;
}

static tn_byte_range index_range(const tn_pq_chunk *chunk, tn_pq_index_kind kind) {
  tn_byte_range range = {0, 0};
  if (tn_pq_chunk_has_index(chunk, kind)) {
    range.offset =
        kind == TN_PQ_OFFSET_INDEX ? chunk->offset_index_offset : chunk->column_index_offset;
    range.length =
        kind == TN_PQ_OFFSET_INDEX ? chunk->offset_index_bytes : chunk->column_index_bytes;
  }
  return range;
}

static bool is_in_data(const tn_pq_file *file, tn_byte_range range) {
  return range.offset >= 0 && range.length >= 0 && range.offset <= file->meta->data_end &&
         range.length <= file->meta->data_end - range.offset;
}

tarn_status tn_pq_indexes_prefetch(const tn_pq_file *file, const tn_pq_row_group *group,
                                   const int32_t *leaves, int32_t n_leaves, bool with_column_index,
                                   tn_arena *arena, tn_pq_index_bytes *out, tarn_error *err) {
  int64_t begin = INT64_MAX, end = 0, sum = 0;
  uint8_t *bytes;
  memset(out, 0, sizeof(*out));
  for (int32_t i = 0; i < n_leaves; i++) {
    for (int kind = TN_PQ_OFFSET_INDEX; kind <= (with_column_index ? TN_PQ_COLUMN_INDEX : 0);
         kind++) {
      tn_byte_range range = index_range(&group->chunks[leaves[i]], (tn_pq_index_kind)kind);
      if (range.length > 0 && is_in_data(file, range)) {
        begin = range.offset < begin ? range.offset : begin;
        end = range.offset + range.length > end ? range.offset + range.length : end;
        sum += range.length;
      }
    }
  }
  if (sum == 0 || end - begin > 2 * sum + MAX_GAP_BYTES) {
    return TARN_OK;
  }
  bytes = tn_arena_alloc(arena, (size_t)(end - begin));
  if (bytes == NULL) {
    return tn_oom(err);
  }
  TN_TRY(tn_file_read(file->base.file, begin, bytes, (size_t)(end - begin), err));
  out->begin = begin;
  out->bytes = tn_slice_of(bytes, (size_t)(end - begin));
  return TARN_OK;
}

static tarn_status index_bytes(const tn_pq_file *file, const tn_pq_chunk *chunk,
                               tn_pq_index_kind kind, const char *where, tn_arena *arena,
                               const tn_pq_index_bytes *at_hand, tn_slice *out, tarn_error *err) {
  tn_byte_range range = index_range(chunk, kind);
  uint8_t *bytes;
  if (!is_in_data(file, range)) {
    return tn_fail(err, TARN_E_CORRUPT,
                   "%s: an index of %lld bytes at offset %lld is outside of the data, which ends "
                   "at %lld",
                   where, (long long)range.length, (long long)range.offset,
                   (long long)file->meta->data_end);
  }
  if (range.offset >= at_hand->begin &&
      (uint64_t)(range.offset - at_hand->begin + range.length) <= at_hand->bytes.len) {
    *out = tn_slice_of(at_hand->bytes.data + (range.offset - at_hand->begin), (size_t)range.length);
    return TARN_OK;
  }
  bytes = tn_arena_alloc(arena, (size_t)range.length);
  if (bytes == NULL) {
    return tn_oom(err);
  }
  *out = tn_slice_of(bytes, (size_t)range.length);
  return tn_file_read(file->base.file, range.offset, bytes, (size_t)range.length, err);
}

static const char *where_text(const tn_pq_file *file, int32_t leaf, tn_arena *arena) {
  const char *text =
      tn_arena_printf(arena, "%s: column `%s`", file->base.file->path, tn_pq_leaf_path(file, leaf));
  return text != NULL ? text : file->base.file->path;
}

tarn_status tn_pq_offset_index_load(const tn_pq_file *file, const tn_pq_row_group *group,
                                    int32_t leaf, tn_arena *arena, const tn_pq_index_bytes *at_hand,
                                    tn_pq_offset_index *out, tarn_error *err) {
  const char *where = where_text(file, leaf, arena);
  tn_slice bytes;
  TN_TRY(index_bytes(file, &group->chunks[leaf], TN_PQ_OFFSET_INDEX, where, arena, at_hand, &bytes,
                     err));
  TN_TRY(tn_pq_offset_index_parse(arena, bytes, group->n_rows, where, out, err));
  for (int32_t i = 0; i < out->n_pages; i++) {
    tn_byte_range range = {out->pages[i].offset, out->pages[i].bytes};
    if (!is_in_data(file, range)) {
      return tn_fail(err, TARN_E_CORRUPT,
                     "%s: the offset index has page %d at offset %lld, the data ends at %lld",
                     where, (int)i, (long long)range.offset, (long long)file->meta->data_end);
    }
  }
  return TARN_OK;
}

tarn_status tn_pq_column_index_load(const tn_pq_file *file, const tn_pq_row_group *group,
                                    int32_t leaf, tn_arena *arena, const tn_pq_index_bytes *at_hand,
                                    tn_pq_column_index *out, tarn_error *err) {
  const char *where = where_text(file, leaf, arena);
  tn_slice bytes;
  TN_TRY(index_bytes(file, &group->chunks[leaf], TN_PQ_COLUMN_INDEX, where, arena, at_hand, &bytes,
                     err));
  return tn_pq_column_index_parse(arena, bytes, where, out, err);
}
