/* row_store.c - a log of rows and an index of hashes. */
#include "stream/row_store.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "codec/hash.h"
#include "io/storage.h"

#define LOG_PAGE ((size_t)16 << 10)
#define INDEX_PAGE ((size_t)4 << 10)
#define HEAD_BYTES 64
#define RECORD_HEAD 16
#define SLOT_BYTES 16
#define FIRST_SLOTS ((uint64_t)1 << 12)
#define REMOVED 1 /* the offset of a slot whose key was removed; records begin behind it */
#define MAX_ROW ((size_t)1 << 30)
#define LEFT_LOGS 8 /* by who begins anew (RS4): a supervisor starts five times or so in a row */
#define LOG_VERSION 1
#define CHECKPOINT_VERSION 2

static const char log_magic[] = "TARNROWS", checkpoint_magic[] = "TARNRSCP";
#define CHECKPOINT_BYTES \
  64 /* magic, u32 version, u32 CRC, generation, length, keys, identity, layout, sum */

struct tn_row_store {
  tarn_env *env;
  tn_storage *storage;
  char *folder; /* owned */
  bool is_temporary, has_begun;
  size_t memory_bytes;
  int64_t compact_bytes;
  uint64_t layout, identity;
  int64_t generation, log_bytes, garbage_bytes, n_compactions;
  int64_t oldest; /* generation that may still be there */
  int64_t named;  /* by the last checkpoint; -1: there was none */
  bool is_mine;   /* the log was not there before */
  bool is_untidy; /* other logs may be there */
  uint32_t sum;   /* CRC-32 of the CRCs of its records */
  tn_paged_file log;
  tn_paged_file index;
  uint64_t n_slots, n_used, n_keys; /* used: not free */
  int shift;                        /* of the hash, to its slot */
  tn_buf scratch;
};

/* ------------------------------------------------------------------ files */

static tarn_status log_path(const tn_row_store *s, int64_t generation, char **out,
                            tarn_error *err) {
  size_t n = strlen(s->folder) + 40;
  *out = tn_alloc(&s->env->mem, n);
  if (*out == NULL) {
    return tn_oom(err);
  }
  (void)snprintf(*out, n, "%s/rows-%lld", s->folder, (long long)generation);
  return TARN_OK;
}

static void remove_log(tn_row_store *s, int64_t generation) {
  char *path;
  tarn_error err;
  if (!s->is_temporary && log_path(s, generation, &path, &err) == TARN_OK) {
    (void)!tn_storage_remove(s->storage, path, &err); /* what stays is swept by the next start */
    tn_free(&s->env->mem, path);
  }
}

static tarn_status name_log(tn_row_store *s, int64_t generation, tn_paged_file *out,
                            tarn_error *err) {
  char *path;
  tarn_status st;
  memset(out, 0, sizeof(*out));
  TN_TRY(log_path(s, generation, &path, err));
  st = tn_paged_file_init(s->env, path, s->is_temporary, LOG_PAGE, s->memory_bytes / 4, out, err);
  tn_free(&s->env->mem, path);
  return st;
}

/* One that is there is written over (RS2). *is_mine: there was none. */
static tarn_status make_log(tn_row_store *s, int64_t generation, tn_paged_file *out, bool *is_mine,
                            tarn_error *err) {
  tarn_status st;
  *is_mine = true;
  TN_TRY(name_log(s, generation, out, err));
  st = s->is_temporary ? TARN_OK : tn_paged_file_open(out, 0, err);
  if (st == TARN_E_NOT_FOUND) {
    tn_error_reset(err);
    return TARN_OK;
  }
  *is_mine = s->is_temporary;
  return st;
}

static tarn_status write_head(const tn_row_store *s, tn_paged_file *log, tarn_error *err) {
  uint8_t head[HEAD_BYTES] = {0};
  memcpy(head, log_magic, 8);
  tn_store_le32(head + 8, LOG_VERSION);
  tn_store_le64(head + 16, s->identity);
  tn_store_le64(head + 24, s->layout);
  return tn_paged_file_write(log, 0, head, sizeof(head), err);
}

/* Is it one of this store, from whichever run? Not to be asked of one that is being written, whose
 * head may be in memory alone. What cannot be told is ours. */
static bool is_own_log(const tn_row_store *s, int64_t generation) {
  uint8_t head[HEAD_BYTES];
  tn_random_file *file = NULL;
  size_t n = 0;
  char *path;
  tarn_error err;
  if (log_path(s, generation, &path, &err) != TARN_OK) {
    return true;
  }
  if (tn_random_file_open(s->env, path, false, &file, &err) == TARN_OK) {
    (void)!tn_random_file_read(file, 0, head, sizeof(head), &n, &err);
  }
  tn_random_file_close(file);
  tn_free(&s->env->mem, path);
  return n < sizeof(head) || tn_load_le64(head + 16) == s->identity;
}

/* Logs in the folder. */
typedef struct sweep {
  tn_row_store *store;
  int64_t from, to; /* those before and behind go */
  bool only_own;    /* and those of other stores go */
  int64_t last;     /* of all */
} sweep;

static tarn_status sweep_entry(void *ctx, const char *name, bool is_directory, tarn_error *err) {
  sweep *w = ctx;
  char own[40];
  long long generation;
  (void)err;
  if (!is_directory && sscanf(name, "rows-%18lld", &generation) == 1 && generation >= 0) {
    (void)snprintf(own, sizeof(own), "rows-%lld", generation);
    if (strcmp(own, name) == 0) {
      w->last = generation > w->last ? generation : w->last;
      if (generation < w->from || generation > w->to ||
          (w->only_own && !is_own_log(w->store, generation))) {
        remove_log(w->store, generation);
      }
    }
  }
  return TARN_OK;
}

/* Keep the logs between two generations, or with only_own those of this store among them; what
 * stays against our will is swept by the next one. Returns the last that was there; -1: none. */
static int64_t sweep_logs(tn_row_store *s, int64_t from, int64_t to, bool only_own) {
  sweep w = {s, from, to, only_own, -1};
  tarn_error err;
  if (!s->is_temporary) {
    (void)!tn_storage_list(s->storage, s->folder, sweep_entry, &w, &err);
  }
  return w.last;
}

/* ------------------------------------------------------------------ life */

tarn_status tn_row_store_create(tarn_env *env, const tn_row_store_options *o, tn_row_store **out,
                                tarn_error *err) {
  tn_row_store *s = tn_calloc(&env->mem, 1, sizeof(*s));
  tarn_status st;
  *out = NULL;
  if (s == NULL) {
    return tn_oom(err);
  }
  s->env = env;
  s->is_temporary = o->is_temporary;
  s->memory_bytes = o->memory_bytes != 0 ? o->memory_bytes : (size_t)64 << 20;
  s->compact_bytes = o->compact_bytes != 0 ? o->compact_bytes : (int64_t)32 << 20;
  s->layout = o->layout;
  s->named = -1;
  tn_buf_init(&s->scratch, &env->mem, 2 * MAX_ROW + 64);
  s->folder = tn_strdup(&env->mem, o->folder);
  if (s->folder == NULL) {
    st = tn_oom(err);
    goto fail;
  }
  TN_TRY_TO(fail, tn_storage_local(env, &s->storage, err));
  *out = s;
  return TARN_OK;
fail:
  tn_row_store_free(s);
  return st;
}

static void forget(tn_row_store *s) {
  tn_paged_file_reset(&s->log);
  tn_paged_file_reset(&s->index);
  s->has_begun = false;
  s->n_slots = s->n_used = s->n_keys = 0;
  s->log_bytes = s->garbage_bytes = 0;
  s->sum = 0;
}

void tn_row_store_free(tn_row_store *s) {
  if (s == NULL) {
    return;
  }
  if (s->has_begun && s->is_mine && s->generation != s->named) {
    remove_log(s, s->generation);
  }
  forget(s);
  if (s->storage != NULL) {
    tn_storage_release(s->storage);
  }
  tn_buf_reset(&s->scratch);
  tn_free(&s->env->mem, s->folder);
  tn_free(&s->env->mem, s);
}

/* ------------------------------------------------------------------ index */

static tarn_status make_index(tn_row_store *s, uint64_t n_slots, tn_paged_file *out,
                              tarn_error *err) {
  size_t n = strlen(s->folder) + 16, max = s->memory_bytes / 2;
  char *path = tn_alloc(&s->env->mem, n);
  tarn_status st;
  memset(out, 0, sizeof(*out));
  if (path == NULL) {
    return tn_oom(err);
  }
  (void)snprintf(path, n, "%s/index", s->folder);
  if (n_slots < max / SLOT_BYTES) {
    max = (size_t)n_slots * SLOT_BYTES;
  }
  st = tn_paged_file_init(s->env, path, true, INDEX_PAGE, max, out, err);
  tn_free(&s->env->mem, path);
  return st;
}

static int shift_of(uint64_t n_slots) {
  int bits = 0;
  while ((uint64_t)1 << bits < n_slots) {
    bits++;
  }
  return 64 - bits;
}

static tarn_status set_slot(tn_paged_file *index, uint64_t slot, uint64_t hash, uint64_t offset,
                            tarn_error *err) {
  uint8_t *at;
  TN_TRY(tn_paged_file_page(index, (int64_t)(slot * SLOT_BYTES), true, &at, err));
  tn_store_le64(at, hash);
  tn_store_le64(at + 8, offset);
  return TARN_OK;
}

static tarn_status insert(tn_paged_file *index, uint64_t n_slots, int shift, uint64_t hash,
                          uint64_t offset, tarn_error *err) {
  for (uint64_t slot = hash >> shift;; slot = (slot + 1) & (n_slots - 1)) {
    uint8_t *at;
    TN_TRY(tn_paged_file_page(index, (int64_t)(slot * SLOT_BYTES), false, &at, err));
    if (tn_load_le64(at + 8) == 0) { /* there always is one */
      return set_slot(index, slot, hash, offset, err);
    }
  }
}

/* Slots go in their order, and so come into the new index nearly in order. */
static tarn_status grow_index(tn_row_store *s, tarn_error *err) {
  uint64_t n_slots = FIRST_SLOTS;
  tn_paged_file grown;
  tarn_status st = TARN_OK;
  int shift;
  while (n_slots < s->n_keys * 2 + 2) {
    n_slots *= 2;
  }
  shift = shift_of(n_slots);
  memset(&grown, 0, sizeof(grown));
  if (s->n_slots > 0 && (s->n_slots + n_slots) * SLOT_BYTES > s->memory_bytes / 2) {
    TN_TRY_TO(fail, tn_paged_file_shrink(&s->index, err)); /* not both in memory */
  }
  TN_TRY_TO(fail, make_index(s, n_slots, &grown, err));
  for (uint64_t i = 0; i < s->n_slots; i++) {
    uint8_t *at;
    TN_TRY_TO(fail, tn_paged_file_page(&s->index, (int64_t)(i * SLOT_BYTES), false, &at, err));
    if (tn_load_le64(at + 8) > REMOVED) {
      TN_TRY_TO(fail, insert(&grown, n_slots, shift, tn_load_le64(at), tn_load_le64(at + 8), err));
    }
  }
  tn_paged_file_reset(&s->index);
  tn_paged_file_move(&s->index, &grown);
  s->n_slots = n_slots;
  s->n_used = s->n_keys;
  s->shift = shift;
  return TARN_OK;
fail:
  tn_paged_file_reset(&grown);
  return st;
}

/* ------------------------------------------------------------------ records */

typedef struct record {
  uint32_t n_key, n_row, crc;
  bool is_removal;
  int64_t n_bytes;
} record;

static uint32_t check_of(const uint8_t *head, const void *key, size_t n_key, const void *row,
                         size_t n_row) {
  uint32_t crc = tn_crc32(0, head, 8);
  crc = tn_crc32(crc, head + 12, 4);
  crc = tn_crc32(crc, key, n_key);
  return n_row > 0 ? tn_crc32(crc, row, n_row) : crc;
}

static tarn_status bad_record(const tn_row_store *s, int64_t offset, tarn_error *err) {
  return tn_fail(err, TARN_E_CORRUPT, "%s, offset %lld: not a record of a row", s->log.path,
                 (long long)offset);
}

/* The record at offset into the scratch, key and row; checked. */
static tarn_status read_record(tn_row_store *s, int64_t offset, record *out, tarn_error *err) {
  uint8_t head[RECORD_HEAD];
  size_t n;
  if (s->log_bytes - offset < RECORD_HEAD) {
    return bad_record(s, offset, err);
  }
  TN_TRY(tn_paged_file_read(&s->log, offset, head, sizeof(head), err));
  out->n_key = tn_load_le32(head);
  out->n_row = tn_load_le32(head + 4);
  out->crc = tn_load_le32(head + 8);
  out->is_removal = tn_load_le32(head + 12) != 0;
  n = (size_t)out->n_key + out->n_row;
  out->n_bytes = RECORD_HEAD + (int64_t)n;
  if (out->n_key > MAX_ROW || out->n_row > MAX_ROW || out->n_bytes > s->log_bytes - offset) {
    return bad_record(s, offset, err);
  }
  s->scratch.len = 0;
  TN_TRY(tn_buf_reserve(&s->scratch, n + 1, err));
  TN_TRY(tn_paged_file_read(&s->log, offset + RECORD_HEAD, s->scratch.data, n, err));
  s->scratch.len = n;
  return out->crc == check_of(head, s->scratch.data, out->n_key, s->scratch.data + out->n_key,
                              out->n_row)
             ? TARN_OK
             : bad_record(s, offset, err);
}

static uint32_t add_to_sum(uint32_t sum, uint32_t crc) {
  uint8_t bytes[4];
  tn_store_le32(bytes, crc);
  return tn_crc32(sum, bytes, sizeof(bytes));
}

static tarn_status append(tn_paged_file *log, int64_t *log_bytes, uint32_t *sum, tn_slice key,
                          tn_slice row, bool is_removal, tarn_error *err) {
  uint8_t head[RECORD_HEAD];
  int64_t at = *log_bytes;
  tn_store_le32(head, (uint32_t)key.len);
  tn_store_le32(head + 4, (uint32_t)row.len);
  tn_store_le32(head + 12, is_removal ? 1 : 0);
  tn_store_le32(head + 8, check_of(head, key.data, key.len, row.data, row.len));
  TN_TRY(tn_paged_file_write(log, at, head, sizeof(head), err));
  TN_TRY(tn_paged_file_write(log, at + RECORD_HEAD, key.data, key.len, err));
  TN_TRY(tn_paged_file_write(log, at + RECORD_HEAD + (int64_t)key.len, row.data, row.len, err));
  *log_bytes = at + RECORD_HEAD + (int64_t)(key.len + row.len);
  *sum = add_to_sum(*sum, tn_load_le32(head + 8));
  return TARN_OK;
}

/* ------------------------------------------------------------------ finding */

/* Its name is on the disk before any checkpoint is: that may be kept in another folder. */
static tarn_status make_folder(tn_row_store *s, tarn_error *err) {
  size_t n = strlen(s->folder) + 4;
  char *above;
  tarn_status st;
  TN_TRY(tn_storage_make_folder(s->storage, s->folder, err));
  if (s->is_temporary) {
    return TARN_OK;
  }
  above = tn_alloc(&s->env->mem, n);
  if (above == NULL) {
    return tn_oom(err);
  }
  (void)snprintf(above, n, "%s/..", s->folder);
  st = tn_storage_sync_folder(s->storage, above, err);
  tn_free(&s->env->mem, above);
  return st;
}

/* Files are made by the first row. */
static tarn_status begin(tn_row_store *s, tarn_error *err) {
  int64_t last;
  if (s->has_begun) {
    return TARN_OK;
  }
  TN_TRY(make_folder(s, err));
  last = sweep_logs(s, 0, INT64_MAX, false);
  s->oldest = last >= LEFT_LOGS ? last - LEFT_LOGS + 1 : 0;
  (void)sweep_logs(s, s->oldest, INT64_MAX, false);
  s->generation = last + 1;
  s->is_untidy = last >= 0;
  TN_TRY(tn_env_random(s->env, &s->identity, sizeof(s->identity), err));
  TN_TRY(make_log(s, s->generation, &s->log, &s->is_mine, err));
  s->has_begun = true;
  TN_TRY(write_head(s, &s->log, err));
  s->log_bytes = HEAD_BYTES;
  return grow_index(s, err);
}

tarn_status tn_row_store_find(tn_row_store *s, tn_slice key, tn_row_place *place, tn_buf *row,
                              tarn_error *err) {
  bool has_slot = false;
  TN_TRY(begin(s, err));
  *place = (tn_row_place){.hash = tn_xxh64(key.data, key.len, 0)};
  for (uint64_t slot = place->hash >> s->shift;; slot = (slot + 1) & (s->n_slots - 1)) {
    uint64_t offset, hash;
    uint8_t *at;
    record r;
    TN_TRY(tn_paged_file_page(&s->index, (int64_t)(slot * SLOT_BYTES), false, &at, err));
    hash = tn_load_le64(at);
    offset = tn_load_le64(at + 8);
    if (offset <= REMOVED && !has_slot) { /* the first that can be taken */
      has_slot = true;
      place->slot = slot;
      place->was_free = offset == 0;
    }
    if (offset == 0) {
      return TARN_OK;
    }
    if (offset == REMOVED || hash != place->hash) {
      continue;
    }
    TN_TRY(read_record(s, (int64_t)offset, &r, err));
    if (r.n_key == key.len && (key.len == 0 || memcmp(s->scratch.data, key.data, key.len) == 0)) {
      place->slot = slot;
      place->offset = (int64_t)offset;
      place->n_bytes = r.n_bytes;
      return tn_buf_append(row, s->scratch.data + r.n_key, r.n_row, err);
    }
  }
}

/* ------------------------------------------------------------------ changing */

static tarn_status copy_live(tn_row_store *s, tn_paged_file *log, int64_t *log_bytes, uint32_t *sum,
                             tarn_error *err) {
  for (int64_t at = HEAD_BYTES; at < s->log_bytes;) {
    record r;
    uint64_t hash;
    TN_TRY(read_record(s, at, &r, err));
    hash = tn_xxh64(s->scratch.data, r.n_key, 0);
    // Records that were copied lie at lower offsets than any that is still to come.
    for (uint64_t slot = hash >> s->shift; !r.is_removal; slot = (slot + 1) & (s->n_slots - 1)) {
      uint8_t *entry;
      TN_TRY(tn_paged_file_page(&s->index, (int64_t)(slot * SLOT_BYTES), false, &entry, err));
      if (tn_load_le64(entry + 8) == 0) {
        break;
      }
      if (tn_load_le64(entry + 8) == (uint64_t)at) {
        int64_t to = *log_bytes;
        TN_TRY(append(log, log_bytes, sum, tn_slice_of(s->scratch.data, r.n_key),
                      tn_slice_of(s->scratch.data + r.n_key, r.n_row), false, err));
        TN_TRY(set_slot(&s->index, slot, hash, (uint64_t)to, err));
        break;
      }
    }
    at += r.n_bytes;
  }
  return TARN_OK;
}

static tarn_status compact(tn_row_store *s, tarn_error *err) {
  tn_paged_file log;
  int64_t log_bytes = HEAD_BYTES, old = s->generation;
  bool was_mine = s->is_mine, is_mine;
  uint32_t sum = 0;
  tarn_status st;
  TN_TRY_TO(fail, make_log(s, old + 1, &log, &is_mine, err));
  TN_TRY_TO(fail, write_head(s, &log, err));
  TN_TRY_TO(fail, copy_live(s, &log, &log_bytes, &sum, err));
  tn_paged_file_reset(&s->log);
  tn_paged_file_move(&s->log, &log);
  s->generation = old + 1;
  s->log_bytes = log_bytes;
  s->garbage_bytes = 0;
  s->sum = sum;
  s->is_mine = is_mine;
  s->n_compactions++;
  if (was_mine && old != s->named) {
    remove_log(s, old); /* before any checkpoint could name it */
  } else {
    s->is_untidy = true;
  }
  return TARN_OK;
fail:
  tn_paged_file_reset(&log);
  return st;
}

static tarn_status tidy_up(tn_row_store *s, tarn_error *err) {
  if (s->n_used * 4 > s->n_slots * 3) {
    TN_TRY(grow_index(s, err));
  }
  return s->log_bytes >= s->compact_bytes && s->garbage_bytes > s->log_bytes / 2 ? compact(s, err)
                                                                                 : TARN_OK;
}

tarn_status tn_row_store_put(tn_row_store *s, const tn_row_place *place, tn_slice key, tn_slice row,
                             tarn_error *err) {
  int64_t at = s->log_bytes;
  if (key.len > MAX_ROW || row.len > MAX_ROW) {
    return tn_fail(err, TARN_E_LIMIT, "a row of %zu bytes: more than 1 GiB", key.len + row.len);
  }
  TN_TRY(append(&s->log, &s->log_bytes, &s->sum, key, row, false, err));
  TN_TRY(set_slot(&s->index, place->slot, place->hash, (uint64_t)at, err));
  if (place->offset == 0) {
    s->n_keys++;
    s->n_used += place->was_free;
  } else {
    s->garbage_bytes += place->n_bytes;
  }
  return tidy_up(s, err);
}

tarn_status tn_row_store_remove(tn_row_store *s, const tn_row_place *place, tn_slice key,
                                tarn_error *err) {
  TN_TRY(append(&s->log, &s->log_bytes, &s->sum, key, tn_slice_of(NULL, 0), true, err));
  TN_TRY(set_slot(&s->index, place->slot, place->hash, REMOVED, err));
  s->n_keys--;
  s->garbage_bytes += place->n_bytes + RECORD_HEAD + (int64_t)key.len;
  return tidy_up(s, err);
}

/* ------------------------------------------------------------------ checkpoints */

tarn_status tn_row_store_checkpoint(tn_row_store *s, tn_buf *out, tarn_error *err) {
  uint8_t bytes[CHECKPOINT_BYTES];
  if (s->is_temporary) {
    return tn_fail(err, TARN_E_STATE, "rows are kept for this process alone: no checkpoints");
  }
  TN_TRY(begin(s, err));
  TN_TRY(tn_paged_file_sync(&s->log, err));
  if (s->named != s->generation) {
    TN_TRY(tn_storage_sync_folder(s->storage, s->folder, err));
  }
  memcpy(bytes, checkpoint_magic, 8);
  tn_store_le32(bytes + 8, CHECKPOINT_VERSION);
  tn_store_le64(bytes + 16, (uint64_t)s->generation);
  tn_store_le64(bytes + 24, (uint64_t)s->log_bytes);
  tn_store_le64(bytes + 32, s->n_keys);
  tn_store_le64(bytes + 40, s->identity);
  tn_store_le64(bytes + 48, s->layout);
  tn_store_le64(bytes + 56, s->sum);
  tn_store_le32(bytes + 12, tn_crc32(0, bytes + 16, sizeof(bytes) - 16));
  TN_TRY(tn_buf_append(out, bytes, sizeof(bytes), err));
  s->named = s->generation;
  return TARN_OK;
}

/* A checkpoint, taken apart. */
typedef struct named_place {
  int64_t generation, length;
  uint64_t n_keys, identity;
  uint32_t sum;
} named_place;

static tarn_status parse(const tn_row_store *s, tn_slice bytes, named_place *out, tarn_error *err) {
  const uint8_t *at = bytes.data;
  uint64_t generation, length;
  if (bytes.len < 16 || memcmp(at, checkpoint_magic, 8) != 0) {
    return tn_fail(err, TARN_E_CORRUPT, "not a checkpoint of rows by key");
  }
  if (tn_load_le32(at + 8) != CHECKPOINT_VERSION) {
    return tn_fail(err, TARN_E_UNSUPPORTED, "rows by key of version %u, expected %d",
                   tn_load_le32(at + 8), CHECKPOINT_VERSION);
  }
  if (bytes.len != CHECKPOINT_BYTES ||
      tn_load_le32(at + 12) != tn_crc32(0, at + 16, CHECKPOINT_BYTES - 16)) {
    return tn_fail(err, TARN_E_CORRUPT, "a checkpoint of rows by key is damaged");
  }
  generation = tn_load_le64(at + 16);
  length = tn_load_le64(at + 24);
  if (generation > INT64_MAX / 16 || length > INT64_MAX / 2 || length < HEAD_BYTES) {
    return tn_fail(err, TARN_E_CORRUPT, "a checkpoint of rows by key is damaged");
  }
  if (tn_load_le64(at + 48) != s->layout) {
    return tn_fail(err, TARN_E_INVALID,
                   "the rows that were kept have other columns or another key than those that "
                   "come now: begin without this state");
  }
  *out = (named_place){(int64_t)generation, (int64_t)length, tn_load_le64(at + 32),
                       tn_load_le64(at + 40), tn_load_le32(at + 56)};
  return TARN_OK;
}

void tn_row_store_complete(tn_row_store *s) {
  if (s->is_untidy && s->named >= 0) {
    (void)sweep_logs(s, s->named, s->generation, false);
    s->oldest = s->named;
    s->is_untidy = s->named != s->generation;
  }
}

tarn_status tn_row_store_complete_until(tn_row_store *s, tn_slice bytes, tarn_error *err) {
  named_place kept;
  TN_TRY(parse(s, bytes, &kept, err));
  if (!s->has_begun || kept.identity != s->identity) {
    return tn_fail(err, TARN_E_INVALID, "a checkpoint of other rows by key");
  }
  if (kept.generation > s->generation) {
    kept.generation = s->generation; /* of a run before, which had come further */
  }
  if (kept.generation > s->oldest) {
    (void)sweep_logs(s, kept.generation, INT64_MAX, false);
    s->oldest = kept.generation;
  }
  return TARN_OK;
}

/* One record of the log, whose key is in `key`, into the index and the counts. */
static tarn_status replay_record(tn_row_store *s, int64_t at, const record *r, tn_slice key,
                                 tn_buf *row, tarn_error *err) {
  tn_row_place place;
  row->len = 0;
  TN_TRY(tn_row_store_find(s, key, &place, row, err));
  if (r->is_removal && place.offset == 0) {
    return bad_record(s, at, err);
  }
  TN_TRY(set_slot(&s->index, place.slot, place.hash, r->is_removal ? REMOVED : (uint64_t)at, err));
  s->garbage_bytes += (place.offset != 0 ? place.n_bytes : 0) + (r->is_removal ? r->n_bytes : 0);
  if (r->is_removal) {
    s->n_keys--;
  } else if (place.offset == 0) {
    s->n_keys++;
    s->n_used += place.was_free;
  }
  return s->n_used * 4 > s->n_slots * 3 ? grow_index(s, err) : TARN_OK;
}

static tarn_status replay(tn_row_store *s, tarn_error *err) {
  tarn_status st;
  tn_buf key, row;
  tn_buf_init(&key, &s->env->mem, MAX_ROW + 1);
  tn_buf_init(&row, &s->env->mem, MAX_ROW + 1);
  TN_TRY_TO(done, grow_index(s, err));
  for (int64_t at = HEAD_BYTES; at < s->log_bytes;) {
    record r;
    TN_TRY_TO(done, read_record(s, at, &r, err));
    key.len = 0;
    TN_TRY_TO(done, tn_buf_append(&key, s->scratch.data, r.n_key, err));
    TN_TRY_TO(done, replay_record(s, at, &r, tn_buf_slice(&key), &row, err));
    s->sum = add_to_sum(s->sum, r.crc);
    at += r.n_bytes;
  }
  st = TARN_OK;
done:
  tn_buf_reset(&key);
  tn_buf_reset(&row);
  return st;
}

static tarn_status open_log(tn_row_store *s, const named_place *kept, tarn_error *err) {
  uint8_t head[HEAD_BYTES];
  TN_TRY(name_log(s, s->generation, &s->log, err));
  TN_TRY(tn_paged_file_open(&s->log, s->log_bytes, err));
  TN_TRY(tn_paged_file_read(&s->log, 0, head, sizeof(head), err));
  if (memcmp(head, log_magic, 8) != 0 || tn_load_le64(head + 16) != s->identity) {
    return tn_fail(err, TARN_E_NOT_FOUND, "%s is not the log that the state names", s->log.path);
  }
  TN_TRY(replay(s, err));
  if (s->n_keys != kept->n_keys) {
    return tn_fail(err, TARN_E_CORRUPT, "%s has %llu keys, expected %llu", s->log.path,
                   (unsigned long long)s->n_keys, (unsigned long long)kept->n_keys);
  }
  return s->sum == kept->sum ? TARN_OK
                             : tn_fail(err, TARN_E_CORRUPT,
                                       "%s has other rows than those of the state", s->log.path);
}

tarn_status tn_row_store_restore(tn_row_store *s, tn_slice bytes, tarn_error *err) {
  named_place kept;
  tarn_status st;
  if (s->has_begun || s->is_temporary) {
    return tn_fail(err, TARN_E_STATE, "rows are there already, or are for this process alone");
  }
  TN_TRY(parse(s, bytes, &kept, err));
  s->generation = kept.generation;
  s->log_bytes = kept.length;
  s->identity = kept.identity;
  s->has_begun = true; /* finding does not begin anew */
  st = open_log(s, &kept, err);
  if (st != TARN_OK) {
    forget(s);
    s->generation = 0;
    return st;
  }
  s->named = s->oldest = s->generation;
  s->is_mine = false;
  s->is_untidy = true;
  /* Who kept this one has kept none before it, and takes no other stream (RS4). */
  (void)sweep_logs(s, s->generation, INT64_MAX, true);
  return TARN_OK;
}

void tn_row_store_get_stats(const tn_row_store *s, tn_row_store_stats *out) {
  *out = (tn_row_store_stats){.n_keys = (int64_t)s->n_keys,
                              .log_bytes = s->log_bytes,
                              .garbage_bytes = s->garbage_bytes,
                              .generation = s->generation,
                              .index_bytes = (int64_t)(s->n_slots * SLOT_BYTES),
                              .n_compactions = s->n_compactions,
                              .n_older = s->generation - s->oldest};
}
