/* lookup_file.c - making lookup files, and finding rows in them. */
#define _DEFAULT_SOURCE /* madvise */
#include "lookup/lookup_file.h"

#include <stdio.h>
#include <sys/mman.h>

#include "base/bytes.h"
#include "codec/hash.h"
#include "lookup/row_code.h"

#define HEAD_BYTES 21
#define SLOT_BYTES 8
#define TAG_BITS 16
#define MAX_OFFSET ((int64_t)1 << (64 - TAG_BITS))
#define MAX_ROW_BYTES ((size_t)1 << 30)
#define LEAST_PAIRS 4096       /* hashes that are held at once, at least */
#define OUT_BYTES (256u << 10) /* rows that are gathered before they are written */
#define PROBE_BYTES 64         /* slots that are read at once */
#define LARGE_PAGE_BYTES ((size_t)2 << 20)
#define PREFIX "tarn-lookup-"
#define STALE_MS ((int64_t)24 * 60 * 60 * 1000) /* nothing takes so long to make */

typedef struct pair {
  uint64_t hash;
  int64_t offset;
} pair;

/* A local file that is written and has no name any more. */
typedef struct temp_file {
  tn_sink *sink;
  tn_file *file;
} temp_file;

typedef struct maker {
  const tn_lookup_source *s;
  tarn_env *env;
  tn_storage *storage;
  temp_file rows, hashes; /* hashes: of pairs beyond those in memory; made when there are some */
  tn_buf out;
  pair *pairs;
  int64_t n_pairs, capacity; /* in memory */
  int64_t n_spilled;
  int64_t n_rows;
  size_t reserved;
  bool has_kinds;
} maker;

/* ------------------------------------------------------------------ temporary files */

/* The name goes as soon as the file can be written and read without one (LF1). */
static tarn_status temp_open(maker *m, temp_file *f, tarn_error *err) {
  char name[TN_UUID_CHARS + 1];
  tn_arena arena;
  char *path;
  tarn_status st = TARN_OK;
  TN_TRY(tn_env_uuid(m->env, name, err));
  tn_arena_init(&arena, &m->env->mem, (size_t)1 << 20);
  path = tn_arena_printf(&arena, "%s/" PREFIX "%s", m->s->folder, name);
  if (path == NULL) {
    st = tn_oom(err);
    goto done;
  }
  TN_TRY_TO(done, tn_storage_create(m->storage, path, &f->sink, err));
  TN_TRY_TO(done, tn_storage_open(m->storage, path, &f->file, err));
  st = tn_storage_remove(m->storage, path, err);
done:
  tn_arena_reset(&arena);
  return st;
}

static void temp_close(temp_file *f) {
  tn_sink_abort(f->sink);
  tn_file_release(f->file);
  memset(f, 0, sizeof(*f));
}

static tarn_status temp_finish(temp_file *f, tarn_error *err) {
  tn_sink *sink = f->sink;
  f->sink = NULL;
  return tn_sink_finish(sink, false, err);
}

typedef struct sweep {
  tn_storage *storage;
  const char *folder;
  int64_t now_ms;
} sweep;

static tarn_status sweep_entry(void *ctx, const char *name, bool is_directory, tarn_error *err) {
  const sweep *s = ctx;
  tn_file_info info;
  tn_arena arena;
  char *path;
  if (is_directory || strncmp(name, PREFIX, sizeof(PREFIX) - 1) != 0) {
    return TARN_OK;
  }
  tn_arena_init(&arena, &s->storage->env->mem, (size_t)1 << 20);
  path = tn_arena_printf(&arena, "%s/%s", s->folder, name);
  if (path != NULL && tn_storage_info(s->storage, path, &info, err) == TARN_OK &&
      s->now_ms - info.modified_ms > STALE_MS &&
      tn_storage_remove(s->storage, path, err) != TARN_OK) {
    tn_log(s->storage->env, TARN_LOG_WARN, "event=lookup_file_not_removed path=%s", path);
  }
  tn_arena_reset(&arena);
  return TARN_OK;
}

void tn_lookup_sweep(tarn_env *env, const char *folder) {
  sweep s = {.folder = folder, .now_ms = tn_env_now_ms(env)};
  tarn_error ignored;
  if (tn_storage_local(env, &s.storage, &ignored) != TARN_OK) {
    return;
  }
  if (tn_storage_list(s.storage, folder, sweep_entry, &s, &ignored) != TARN_OK) {
    tn_log(env, TARN_LOG_DEBUG, "event=lookup_folder_not_listed path=%s", folder);
  }
  tn_storage_release(s.storage);
}

/* ------------------------------------------------------------------ rows */

uint64_t tn_lookup_hash(tn_slice key) {
  return tn_xxh64(key.data, key.len, 0);
}

static tarn_status spill_pairs(maker *m, tarn_error *err) {
  if (m->hashes.file == NULL) {
    TN_TRY(temp_open(m, &m->hashes, err));
  }
  TN_TRY(tn_sink_write(m->hashes.sink, m->pairs, (size_t)m->n_pairs * sizeof(pair), err));
  m->n_spilled += m->n_pairs;
  m->n_pairs = 0;
  return TARN_OK;
}

static tarn_status note_pair(maker *m, uint64_t hash, int64_t offset, tarn_error *err) {
  if (offset >= MAX_OFFSET) {
    return tn_fail(err, TARN_E_LIMIT, "a lookup file of more than %lld bytes",
                   (long long)MAX_OFFSET);
  }
  if (m->n_pairs == m->capacity) {
    TN_TRY(spill_pairs(m, err));
  }
  m->pairs[m->n_pairs++] = (pair){hash, offset};
  return TARN_OK;
}

static tarn_status write_out(maker *m, tarn_error *err) {
  TN_TRY(tn_sink_write(m->rows.sink, m->out.data, m->out.len, err));
  m->out.len = 0;
  return TARN_OK;
}

static tarn_status put_row(maker *m, const tn_batch *batch, int64_t i, tarn_error *err) {
  const tn_lookup_layout *l = m->s->layout;
  tn_buf *out = &m->out;
  size_t begin = out->len, key_at, values_at;
  uint8_t head[HEAD_BYTES] = {0};
  int64_t position = batch->first_position + i;
  uint64_t hash;
  TN_TRY(tn_buf_append(out, head, sizeof(head), err));
  key_at = out->len;
  for (int32_t c = 0; c < l->n_keys; c++) {
    TN_TRY(tn_row_put_key(out, &batch->columns[c], i, err));
  }
  values_at = out->len;
  for (int32_t c = l->n_keys; c < l->n_fields; c++) {
    TN_TRY(tn_row_put(out, &batch->columns[c], i, err));
  }
  if (position < 0 || position > UINT32_MAX || out->len - begin > MAX_ROW_BYTES) {
    return tn_fail(err, TARN_E_LIMIT, "row %lld of a data file that is looked up: %zu bytes",
                   (long long)position, out->len - begin);
  }
  hash = tn_lookup_hash(tn_slice_of(out->data + key_at, values_at - key_at));
  tn_store_le32(out->data + begin, (uint32_t)(out->len - key_at));
  tn_store_le32(out->data + begin + 4, (uint32_t)(values_at - key_at));
  tn_store_le32(out->data + begin + 8, (uint32_t)position);
  out->data[begin + 12] =
      m->has_kinds ? ((const uint8_t *)batch->columns[l->n_fields + 1].values)[i] : 0;
  tn_store_le64(out->data + begin + 13, ((const uint64_t *)batch->columns[l->n_fields].values)[i]);
  TN_TRY(note_pair(m, hash, tn_sink_size(m->rows.sink) + (int64_t)begin, err));
  m->n_rows++;
  return out->len >= OUT_BYTES ? write_out(m, err) : TARN_OK;
}

/* Flat, but for texts; no nulls where there may be none. */
static tarn_status check_columns(maker *m, tn_batch *batch, const char *path, tarn_error *err) {
  const tn_lookup_layout *l = m->s->layout;
  for (int32_t c = 0; c < batch->n_columns; c++) {
    tn_vec *vec = &batch->columns[c];
    if (vec->layout != TN_LAYOUT_BYTES || c >= l->n_fields) {
      TN_TRY(tn_vec_flatten(m->env, vec, err));
    }
    if ((c < l->n_keys || c >= l->n_fields) && vec->null_count > 0) {
      return tn_fail(err, TARN_E_CORRUPT, "%s: column %s is missing or holds nulls", path,
                     batch->fields[c].name);
    }
  }
  return m->has_kinds ? tn_check_kinds(&batch->columns[l->n_fields + 1], path, err) : TARN_OK;
}

static tarn_status put_rows(maker *m, tn_data_shape *shape, tarn_error *err) {
  const tn_lookup_source *s = m->s;
  const tn_read_context *c = s->context;
  tn_open_request q = {
      .context = c, .split = s->split, .index = s->index, .shape = shape, .gives_deleted = true};
  int64_t most = tn_file_batch_rows(c, &s->split->files[s->index], TN_READ_BATCH_ROWS,
                                    (int64_t)(m->env->mem.budget_bytes / 16));
  tn_open_file file;
  tn_batch batch = {0};
  const uint8_t *alive;
  tarn_status st;
  q.batch_rows = most;
  TN_TRY(tn_open_file_open(&q, &file, err));
  for (;;) {
    TN_TRY_TO(done, tn_cancel_check(c->o.cancel, err));
    TN_TRY_TO(done, tn_data_reader_next(file.reader, most, &batch, &alive, err));
    if (batch.n_rows == 0) {
      break;
    }
    TN_TRY_TO(done, check_columns(m, &batch, file.path, err));
    for (int64_t i = 0; i < batch.n_rows; i++) {
      TN_TRY_TO(done, put_row(m, &batch, i, err));
    }
  }
  st = write_out(m, err);
done:
  tn_batch_reset(m->env, &batch);
  tn_open_file_close(&file);
  return st;
}

/* ------------------------------------------------------------------ the index */

static uint64_t home_of(uint64_t hash, uint64_t n_slots) {
  return (uint64_t)(((tn_u128)hash * n_slots) >> 64);
}

static uint64_t slot_value(const pair *p) {
  return (uint64_t)p->offset << TAG_BITS | (p->hash & (((uint64_t)1 << TAG_BITS) - 1));
}

/* A stretch of the index: slots[0 .. n_slots) are those from `begin` on. */
typedef struct window {
  uint64_t begin, n_slots, total;
  uint64_t *slots;
  tn_buf over; /* slot values that the window has no room for: they come first in the next one */
} window;

static tarn_status place(window *w, uint64_t at, uint64_t value, tarn_error *err) {
  while (at < w->n_slots && w->slots[at] != 0) {
    at++;
  }
  if (at == w->n_slots) {
    return tn_buf_append(&w->over, &value, sizeof(value), err);
  }
  w->slots[at] = value;
  return TARN_OK;
}

static tarn_status place_pairs(window *w, const pair *pairs, int64_t n, tarn_error *err) {
  for (int64_t i = 0; i < n; i++) {
    uint64_t home = home_of(pairs[i].hash, w->total);
    if (home >= w->begin && home - w->begin < w->n_slots) {
      TN_TRY(place(w, home - w->begin, slot_value(&pairs[i]), err));
    }
  }
  return TARN_OK;
}

/* What the window before had no room for begins at its end, so it fills the first slots. */
static tarn_status place_over(window *w, tn_buf *before, tarn_error *err) {
  for (size_t i = 0; i < before->len; i += SLOT_BYTES) {
    TN_TRY(place(w, 0, tn_load_le64(before->data + i), err));
  }
  before->len = 0;
  return TARN_OK;
}

static tarn_status place_all(maker *m, window *w, tarn_error *err) {
  TN_TRY(tn_cancel_check(m->s->context->o.cancel, err));
  for (int64_t at = 0; at < m->n_spilled; at += m->capacity) {
    int64_t n = m->n_spilled - at < m->capacity ? m->n_spilled - at : m->capacity;
    TN_TRY(tn_file_read(m->hashes.file, at * (int64_t)sizeof(pair), m->pairs,
                        (size_t)n * sizeof(pair), err));
    TN_TRY(place_pairs(w, m->pairs, n, err));
  }
  return m->n_spilled > 0 ? TARN_OK : place_pairs(w, m->pairs, m->n_pairs, err);
}

static tarn_status write_windows(maker *m, window *w, uint64_t most, tarn_error *err) {
  tn_buf before;
  tarn_status st = TARN_OK;
  static const uint64_t empty = 0;
  tn_buf_init(&before, &m->env->mem, (size_t)INT64_MAX);
  for (w->begin = 0; w->begin < w->total; w->begin += w->n_slots) {
    tn_buf swap = before;
    before = w->over;
    w->over = swap;
    w->n_slots = w->total - w->begin < most ? w->total - w->begin : most;
    memset(w->slots, 0, w->n_slots * SLOT_BYTES);
    TN_TRY_TO(done, place_over(w, &before, err));
    TN_TRY_TO(done, place_all(m, w, err));
    TN_TRY_TO(done, tn_sink_write(m->rows.sink, w->slots, w->n_slots * SLOT_BYTES, err));
  }
  TN_TRY_TO(done, tn_sink_write(m->rows.sink, w->over.data, w->over.len, err));
  st = tn_sink_write(m->rows.sink, &empty, sizeof(empty), err);
done:
  tn_buf_reset(&before);
  return st;
}

static tarn_status write_index(maker *m, int64_t *index_at, uint64_t *n_slots, tarn_error *err) {
  static const uint8_t zeros[TN_LOOKUP_BLOCK_BYTES] = {0};
  size_t odd = (size_t)(tn_sink_size(m->rows.sink) % TN_LOOKUP_BLOCK_BYTES);
  uint64_t most = (uint64_t)m->capacity; /* a window takes half of what the pairs do */
  window w = {.total = (uint64_t)((double)m->n_rows / m->s->layout->load_factor) + 1};
  tarn_status st;
  if (m->n_spilled > 0) {
    TN_TRY(spill_pairs(m, err));
    TN_TRY(temp_finish(&m->hashes, err));
  }
  TN_TRY(tn_sink_write(m->rows.sink, zeros, odd > 0 ? TN_LOOKUP_BLOCK_BYTES - odd : 0, err));
  most = most < w.total ? most : w.total;
  w.slots = tn_alloc(&m->env->mem, most * SLOT_BYTES);
  if (w.slots == NULL) {
    return tn_oom(err);
  }
  tn_buf_init(&w.over, &m->env->mem, (size_t)INT64_MAX);
  *index_at = tn_sink_size(m->rows.sink);
  *n_slots = w.total;
  st = write_windows(m, &w, most, err);
  tn_buf_reset(&w.over);
  tn_free(&m->env->mem, w.slots);
  return st;
}

/* ------------------------------------------------------------------ making */

static const tn_field sequence_field = {
    .id = TN_FIELD_ID_SEQUENCE_NUMBER, .name = "_SEQUENCE_NUMBER", .type = {.root = TN_BIGINT}};

/* As many pairs in memory as an eighth of the budget takes, with a window beside them. */
static tarn_status reserve_pairs(maker *m, tarn_error *err) {
  const tn_data_file *meta = &m->s->split->files[m->s->index];
  int64_t most = (int64_t)(m->env->mem.budget_bytes / 8 / (sizeof(pair) + SLOT_BYTES));
  most = most < LEAST_PAIRS ? LEAST_PAIRS : most;
  if (meta->row_count >= 0 && meta->row_count < most) {
    /* The window should hold all slots, too. */
    int64_t all = (int64_t)((double)meta->row_count / m->s->layout->load_factor) + 2;
    most = all < most ? all : most;
  }
  m->reserved = (size_t)most * (sizeof(pair) + SLOT_BYTES) + OUT_BYTES;
  if (tn_env_reserve(m->env, m->reserved, "making a lookup file", err) != TARN_OK) {
    m->reserved = 0;
    return TARN_E_LIMIT;
  }
  m->capacity = most;
  m->pairs = tn_alloc(&m->env->mem, (size_t)most * sizeof(pair));
  return m->pairs != NULL ? TARN_OK : tn_oom(err);
}

static tarn_status make_shape(maker *m, tn_field *fields, tn_data_shape **out, tarn_error *err) {
  const tn_lookup_layout *l = m->s->layout;
  int32_t n = l->n_fields;
  memcpy(fields, l->fields, (size_t)n * sizeof(*fields));
  fields[n++] = sequence_field;
  if (m->has_kinds) {
    fields[n++] = tn_kind_field;
  }
  return tn_data_shape_create(m->s->context->o.table, fields, n, NULL, 0, true, out, err);
}

static tarn_status fill(maker *m, tn_lookup_file *out, tarn_error *err) {
  tn_field *fields = tn_calloc(&m->env->mem, (size_t)m->s->layout->n_fields + 2, sizeof(*fields));
  tn_data_shape *shape = NULL;
  uint8_t magic[8] = "TLOOKUP";
  tarn_status st;
  if (fields == NULL) {
    return tn_oom(err);
  }
  TN_TRY_TO(done, make_shape(m, fields, &shape, err));
  TN_TRY_TO(done, temp_open(m, &m->rows, err));
  TN_TRY_TO(done, tn_sink_write(m->rows.sink, magic, sizeof(magic), err));
  TN_TRY_TO(done, put_rows(m, shape, err));
  out->n_rows = m->n_rows;
  out->guess_bytes = (size_t)(tn_sink_size(m->rows.sink) / (m->n_rows + 1)) + HEAD_BYTES + 32;
  out->guess_bytes =
      out->guess_bytes < TN_LOOKUP_BLOCK_BYTES ? out->guess_bytes : TN_LOOKUP_BLOCK_BYTES;
  TN_TRY_TO(done, write_index(m, &out->index_at, &out->n_slots, err));
  out->data.size_bytes = tn_sink_size(m->rows.sink);
  TN_TRY_TO(done, temp_finish(&m->rows, err));
  out->data.file = m->rows.file;
  m->rows.file = NULL;
done:
  tn_data_shape_free(shape);
  tn_free(&m->env->mem, fields);
  return st;
}

static uint8_t tag_of(uint64_t hash) {
  uint8_t tag = (uint8_t)hash;
  return tag != 0 ? tag : 1;
}

/* Pages of 2 MiB, where the system has some: rows are met at random, each on a page of its own. */
static void ask_for_large_pages(uint8_t *data, size_t n) {
#ifdef MADV_HUGEPAGE
  size_t skip = (size_t)(-(uintptr_t)data % LARGE_PAGE_BYTES);
  if (n > skip + LARGE_PAGE_BYTES &&
      madvise(data + skip, (n - skip) / LARGE_PAGE_BYTES * LARGE_PAGE_BYTES, MADV_HUGEPAGE) != 0) {
    return; /* small ones do, too */
  }
#else
  (void)data;
  (void)n;
#endif
}

/* Memory for a part of the file. NULL: the cache has none. */
static void *hold(tn_lookup_file *file, size_t n, int n_quarters) {
  uint8_t *data;
  if (!tn_block_cache_pin(file->cache, n, n_quarters)) {
    return NULL;
  }
  data = tn_alloc(&file->env->mem, n);
  if (data == NULL) {
    tn_block_cache_unpin(file->cache, n);
    return NULL;
  }
  ask_for_large_pages(data, n);
  return data;
}

/* Hold rows and index in memory, or the index alone, as far as there is some: keys that are not
 * there are mostly told by the tags, which are so few bytes that they stay near. */
static tarn_status hold_parts(tn_lookup_file *file, tarn_error *err) {
  size_t n_rows = (size_t)file->index_at, n_index = (size_t)file->data.size_bytes - n_rows;
  size_t n_slots = n_index / SLOT_BYTES;
  uint8_t *data = hold(file, n_rows + n_index + n_slots, 2);
  if (data != NULL) {
    file->rows = data;
    file->held_bytes = n_rows + n_index + n_slots;
  } else {
    n_rows = 0;
    data = hold(file, n_index + n_slots, 3);
    if (data == NULL) {
      return TARN_OK;
    }
    file->held_bytes = n_index + n_slots;
  }
  file->held = data;
  file->index = (uint64_t *)(void *)(data + n_rows); /* a whole number of blocks */
  file->tags = data + n_rows + n_index;
  TN_TRY(
      tn_file_read(file->data.file, file->index_at - (int64_t)n_rows, data, n_rows + n_index, err));
  for (size_t i = 0; i < n_slots; i++) {
    file->tags[i] = file->index[i] != 0 ? tag_of(file->index[i]) : 0;
  }
  return TARN_OK;
}

tarn_status tn_lookup_file_make(const tn_lookup_source *source, tn_lookup_file **out,
                                tarn_error *err) {
  tarn_env *env = source->context->env;
  maker m = {.s = source, .env = env};
  tn_lookup_file *file = tn_calloc(&env->mem, 1, sizeof(*file));
  tarn_status st;
  *out = NULL;
  if (file == NULL) {
    return tn_oom(err);
  }
  atomic_init(&file->refs, 1);
  file->env = env;
  file->data.number = source->number;
  file->cache = source->cache;
  tn_buf_init(&m.out, &env->mem, MAX_ROW_BYTES * 2);
  m.has_kinds = tn_file_needs_kinds(source->context, &source->split->files[source->index]);
  TN_TRY_TO(done, tn_storage_local(env, &m.storage, err));
  TN_TRY_TO(done, reserve_pairs(&m, err));
  TN_TRY_TO(done, fill(&m, file, err));
  TN_TRY_TO(done, hold_parts(file, err));
  *out = file;
  file = NULL;
done:
  temp_close(&m.rows);
  temp_close(&m.hashes);
  tn_storage_release(m.storage);
  tn_buf_reset(&m.out);
  tn_free(&env->mem, m.pairs);
  tn_unreserve(&env->mem, m.reserved);
  tn_lookup_file_release(file);
  return st;
}

tn_lookup_file *tn_lookup_file_retain(tn_lookup_file *file) {
  atomic_fetch_add_explicit(&file->refs, 1, memory_order_relaxed);
  return file;
}

void tn_lookup_file_release(tn_lookup_file *file) {
  if (file != NULL && atomic_fetch_sub_explicit(&file->refs, 1, memory_order_acq_rel) == 1) {
    if (file->held != NULL) {
      tn_free(&file->env->mem, file->held);
      tn_block_cache_unpin(file->cache, file->held_bytes);
    }
    tn_file_release(file->data.file);
    tn_free(&file->env->mem, file);
  }
}

/* ------------------------------------------------------------------ finding */

static tarn_status no_row(const tn_lookup_file *file, int64_t offset, tarn_error *err) {
  return tn_fail(err, TARN_E_CORRUPT, "%s: no row at offset %lld", file->data.file->path,
                 (long long)offset);
}

static void take_head(const uint8_t *head, size_t begin, size_t n_all, size_t n_key,
                      tn_lookup_row *out) {
  out->position = tn_load_le32(head + 8);
  out->kind = (int8_t)head[12];
  out->sequence = (int64_t)tn_load_le64(head + 13);
  out->key_at = begin + HEAD_BYTES;
  out->values_at = out->key_at + n_key;
  out->end = begin + n_all;
}

/* The row at an offset of a file that holds its rows. */
static tarn_status held_row(const tn_lookup_file *file, int64_t offset, tn_lookup_row *out,
                            tarn_error *err) {
  const uint8_t *head = file->rows + offset;
  int64_t left = file->index_at - offset;
  __builtin_prefetch(head + 64); /* rows mostly end there */
  size_t n_all = left >= HEAD_BYTES ? tn_load_le32(head) + (size_t)HEAD_BYTES : 0;
  size_t n_key = left >= HEAD_BYTES ? tn_load_le32(head + 4) : 0;
  if (left < HEAD_BYTES || (int64_t)n_all > left || n_key > n_all - HEAD_BYTES) {
    return no_row(file, offset, err);
  }
  take_head(head, 0, n_all, n_key, out);
  out->held = head;
  return TARN_OK;
}

/* The row at an offset, appended to `rows`. */
static tarn_status read_row(const tn_lookup_file *file, int64_t offset, tn_buf *rows,
                            tn_lookup_row *out, tarn_error *err) {
  size_t begin = rows->len, n = file->guess_bytes, n_all, n_key;
  int64_t left = file->index_at - offset;
  const uint8_t *head;
  n = left < (int64_t)n ? (size_t)(left < 0 ? 0 : left) : n;
  TN_TRY(tn_buf_reserve(rows, n, err));
  TN_TRY(tn_block_cache_read(file->cache, &file->data, offset, rows->data + begin, n, err));
  head = rows->data + begin;
  n_all = n >= HEAD_BYTES ? tn_load_le32(head) + (size_t)HEAD_BYTES : 0;
  n_key = n >= HEAD_BYTES ? tn_load_le32(head + 4) : 0;
  if (n < HEAD_BYTES || n_all > MAX_ROW_BYTES || n_key > n_all - HEAD_BYTES ||
      (int64_t)n_all > left) {
    return no_row(file, offset, err);
  }
  take_head(head, begin, n_all, n_key, out);
  if (n_all > n) {
    TN_TRY(tn_buf_reserve(rows, n_all, err));
    TN_TRY(tn_block_cache_read(file->cache, &file->data, offset + (int64_t)n,
                               rows->data + begin + n, n_all - n, err));
  }
  out->held = NULL;
  return TARN_OK;
}

/* A piece of the index that is not held: the slots from number `at` on, n of them, at least 1. */
static tarn_status read_slots(const tn_lookup_file *file, uint64_t at, uint64_t *slots, size_t *n,
                              tarn_error *err) {
  int64_t offset = file->index_at + (int64_t)at * SLOT_BYTES;
  /* To the end of a piece that is aligned: never in two blocks. */
  size_t n_bytes = PROBE_BYTES - (size_t)(offset % PROBE_BYTES);
  if (offset >= file->data.size_bytes) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: the index of a lookup file has no end",
                   file->data.file->path);
  }
  if (file->data.size_bytes - offset < (int64_t)n_bytes) {
    n_bytes = (size_t)(file->data.size_bytes - offset);
  }
  *n = n_bytes / SLOT_BYTES;
  return tn_block_cache_read(file->cache, &file->data, offset, slots, n_bytes, err);
}

/* Is the row of a slot that of the key? */
static tarn_status check_slot(const tn_lookup_file *file, uint64_t slot, tn_slice key,
                              uint64_t hash, tn_buf *rows, tn_lookup_row *out, bool *is_found,
                              tarn_error *err) {
  const uint64_t tag_mask = ((uint64_t)1 << TAG_BITS) - 1;
  if (((slot ^ hash) & tag_mask) != 0) {
    return TARN_OK;
  }
  if (file->rows != NULL) {
    TN_TRY(held_row(file, (int64_t)(slot >> TAG_BITS), out, err));
  } else {
    TN_TRY(read_row(file, (int64_t)(slot >> TAG_BITS), rows, out, err));
  }
  if (out->values_at - out->key_at == key.len &&
      memcmp(tn_lookup_row_data(out, rows) + out->key_at, key.data, key.len) == 0) {
    rows->len = out->held == NULL ? out->end : rows->len;
    *is_found = true;
  }
  return TARN_OK;
}

/* The first slot from home on that has the tag of the hash; index slots past the last are free. */
static uint64_t find_tag(const tn_lookup_file *file, uint64_t hash) {
  uint64_t at = home_of(hash, file->n_slots);
  uint8_t tag = tag_of(hash);
  while (file->tags[at] != tag && file->tags[at] != 0) {
    at++;
  }
  return at;
}

void tn_lookup_file_prefetch_slot(const tn_lookup_file *file, uint64_t hash) {
  if (file->tags != NULL) {
    uint64_t at = find_tag(file, hash);
    if (file->tags[at] != 0) {
      __builtin_prefetch(&file->index[at]);
    }
  }
}

void tn_lookup_file_prefetch_row(const tn_lookup_file *file, uint64_t hash) {
  if (file->rows != NULL) {
    uint64_t at = find_tag(file, hash);
    if (file->tags[at] != 0) {
      const uint8_t *row = file->rows + (file->index[at] >> TAG_BITS);
      __builtin_prefetch(row);
      __builtin_prefetch(row + 64);
    }
  }
}

tarn_status tn_lookup_file_find(const tn_lookup_file *file, tn_slice key, uint64_t hash,
                                tn_buf *rows, tn_lookup_row *out, bool *is_found, tarn_error *err) {
  uint64_t at = home_of(hash, file->n_slots), slots[PROBE_BYTES / SLOT_BYTES];
  size_t n;
  *is_found = false;
  if (file->tags != NULL) { /* behind the last used slot there is a free one */
    uint8_t tag = tag_of(hash);
    for (; file->tags[at] != 0 && !*is_found; at++) {
      if (file->tags[at] == tag) {
        TN_TRY(check_slot(file, file->index[at], key, hash, rows, out, is_found, err));
      }
    }
    return TARN_OK;
  }
  for (;; at += n) {
    TN_TRY(read_slots(file, at, slots, &n, err));
    for (size_t i = 0; i < n; i++) {
      if (slots[i] == 0) {
        return TARN_OK;
      }
      TN_TRY(check_slot(file, slots[i], key, hash, rows, out, is_found, err));
      if (*is_found) {
        return TARN_OK;
      }
    }
  }
}
