/* entries.c - manifests in parallel, and the merge of ADD and DELETE. */
#include "plan/entries.h"

#include <pthread.h>

#include "base/map.h"
#include "format/avro/avro.h"
#include "format/parquet/parquet.h"
#include "plan/plan.h"

#define CHUNK 1024 /* entries */
#define CHUNK_SHIFT 10
#define STOP_CHECK_MANIFESTS 16 /* manifests read between looks at the row limit */

typedef struct tn_scan_worker {
  const tn_entries_request *request;
  tn_arena arena;  /* what entries point to; handed over to the plan */
  tn_arena chunks; /* entries and memory of the scan itself */
  tn_scan_entry **chunk;
  size_t n_chunks, chunk_capacity;
  int64_t count;
  tn_map partitions; /* bytes to tn_scan_partition */
  tn_bucket_set *common_sets;
  tn_filter_memo memo;
  int64_t hidden_level_0, hidden_level_0_rows, hidden_postpone, hidden_postpone_rows;
  bool is_busy;
} tn_scan_worker;

/* The entries of one manifest: [begin, end) of its worker. */
typedef struct manifest_run {
  const tn_scan_worker *worker;
  int64_t begin, end;
} manifest_run;

typedef struct entries_scan {
  const tn_entries_request *request;
  tn_entries *out;
  manifest_run *runs;
  int32_t *order;       /* manifests to read by the current tn_parallel_for */
  pthread_mutex_t lock; /* guards out->workers, out->n_workers, is_busy of workers */
  int32_t max_workers;
} entries_scan;

const tn_record_readers tn_plan_readers = {tn_avro_read_records, tn_pq_read_records};

tarn_status tn_manifest_refs_add(tn_manifest_refs *refs, tn_arena *arena,
                                 const tn_manifest_file *manifest, tarn_error *err) {
  char *name =
      tn_arena_strndup(arena, (const char *)manifest->file_name.data, manifest->file_name.len);
  if (refs->count >= INT32_MAX) {
    return tn_fail(err, TARN_E_LIMIT, "more than %d manifests", INT32_MAX);
  }
  if (name == NULL || !tn_arena_grow(arena, (void **)&refs->items, &refs->capacity, refs->count,
                                     sizeof(*refs->items))) {
    return tn_oom(err);
  }
  refs->items[refs->count++] =
      (tn_manifest_ref){name, manifest->file_size, manifest->n_added, manifest->n_deleted};
  return TARN_OK;
}

typedef struct list_read {
  tn_manifest_refs *refs;
  const tn_scan_filter *filter;
  tn_arena *arena;
} list_read;

static tarn_status on_manifest(void *ctx, const tn_manifest_file *m, tarn_error *err) {
  list_read *r = ctx;
  bool may_match;
  if (m->n_added <= 0 && m->n_deleted <= 0) {
    return TARN_OK;
  }
  TN_TRY(tn_scan_filter_manifest(r->filter, m, &may_match, err));
  return may_match ? tn_manifest_refs_add(r->refs, r->arena, m, err) : TARN_OK;
}

tarn_status tn_manifest_refs_read(tn_manifest_refs *refs, tn_table *table,
                                  const tn_snapshot *snapshot, const tn_scan_filter *filter,
                                  tn_arena *arena, tarn_error *err) {
  const tn_manifest_name lists[] = {
      {snapshot->base_manifest_list, snapshot->base_manifest_list_size, -1},
      {snapshot->delta_manifest_list, snapshot->delta_manifest_list_size, -1},
  };
  list_read r = {refs, filter, arena};
  for (size_t i = 0; i < TN_COUNT(lists); i++) {
    if (lists[i].name != NULL) {
      TN_TRY(tn_manifest_list_read(table->env, table->storage, &tn_plan_readers, table->path,
                                   &lists[i], on_manifest, &r, err));
    }
  }
  return TARN_OK;
}

static tn_scan_entry *entry_at(const tn_scan_worker *w, int64_t i) {
  return &w->chunk[i >> CHUNK_SHIFT][i & (CHUNK - 1)];
}

/* ------------------------------------------------------------------ partitions */

static tarn_status judge_partition(tn_scan_worker *w, tn_scan_partition *p, tarn_error *err) {
  const tn_scan_filter *filter = w->request->filter;
  tn_datum *values;
  p->is_kept = w->request->without == NULL || tn_map_find(w->request->without, p->bytes) == NULL;
  p->keys.is_any = true;
  if (!p->is_kept) {
    return TARN_OK;
  }
  if (filter->partition == NULL && !filter->buckets.by_partition) {
    return TARN_OK;
  }
  TN_TRY(tn_partition_values(&w->chunks, w->request->table->schema, p->bytes, &values, err));
  TN_TRY(tn_scan_filter_partition(filter, values, &p->is_kept, err));
  if (p->is_kept && filter->buckets.is_active && filter->buckets.by_partition) {
    TN_TRY(tn_bucket_filter_keys(&filter->buckets, values, &w->chunks, &p->keys, err));
  }
  return TARN_OK;
}

/* The worker's copy of a partition; made and judged when it is met first. */
static tarn_status intern_partition(tn_scan_worker *w, tn_slice bytes, tn_scan_partition **out,
                                    tarn_error *err) {
  tn_map_entry *e = tn_map_find(&w->partitions, bytes);
  tn_scan_partition *p = NULL;
  if (e != NULL) {
    *out = e->value.ptr;
    return TARN_OK;
  }
  p = tn_arena_calloc(&w->chunks, 1, sizeof(*p));
  if (p == NULL || !tn_arena_slice(&w->arena, bytes, &p->bytes)) {
    return tn_oom(err);
  }
  p->index = TN_NO_INDEX;
  TN_TRY(judge_partition(w, p, err));
  TN_TRY(tn_map_put(&w->partitions, p->bytes, &e, NULL, err));
  e->value.ptr = p;
  *out = p;
  return TARN_OK;
}

/* ------------------------------------------------------------------ entries */

/* A file without statistics: rows without columns, and a list of columns without names. */
static void drop_stats(tn_data_file *f) {
  const tn_slice empty = tn_binary_row_empty();
  f->key_stats = (tn_simple_stats){.min_values = empty, .max_values = empty};
  f->value_stats = f->key_stats;
  f->has_value_stats_cols = true;
  f->value_stats_cols = (tn_record_array){NULL, 0};
}

/* Entries of append tables have empty keys, all alike. */
static tarn_status keep_key(tn_scan_worker *w, tn_slice key, const uint8_t **bytes, uint32_t *len,
                            tarn_error *err) {
  if (key.len > UINT32_MAX) {
    return tn_fail(err, TARN_E_CORRUPT, "a key of %zu bytes", key.len);
  }
  *len = (uint32_t)key.len;
  if (tn_slice_equal(key, tn_binary_row_empty())) {
    *bytes = tn_binary_row_empty().data;
    return TARN_OK;
  }
  *bytes = tn_arena_memdup(&w->arena, key.data, key.len);
  return *bytes != NULL ? TARN_OK : tn_oom(err);
}

static bool has_rest(const tn_data_file *f) {
  return f->extra_files.count > 0 || f->has_embedded_index || f->has_external_path ||
         f->has_first_row_id || f->has_write_cols;
}

static tarn_status append(tn_scan_worker *w, const tn_manifest_entry *record,
                          tn_scan_partition *partition, bool may_match, tarn_error *err) {
  const tn_data_file *f = &record->file;
  bool is_add = record->kind == TN_FILE_ADD;
  tn_scan_entry *e;
  if ((size_t)(w->count >> CHUNK_SHIFT) == w->n_chunks) {
    void *chunks = w->chunk;
    if (!tn_arena_grow(&w->chunks, &chunks, &w->chunk_capacity, w->n_chunks, sizeof(*w->chunk))) {
      return tn_oom(err);
    }
    w->chunk = chunks;
    w->chunk[w->n_chunks] = tn_arena_alloc(&w->chunks, CHUNK * sizeof(tn_scan_entry));
    if (w->chunk[w->n_chunks] == NULL) {
      return tn_oom(err);
    }
    w->n_chunks++;
  }
  e = entry_at(w, w->count);
  e->partition = partition;
  e->bucket = record->bucket;
  e->total_buckets = record->total_buckets;
  e->level = f->level;
  e->is_add = is_add;
  e->may_match = may_match;
  e->rest = NULL;
  if (f->file_name.len > UINT32_MAX) {
    return tn_fail(err, TARN_E_CORRUPT, "a file name of %zu bytes", f->file_name.len);
  }
  if (has_rest(f) || (w->request->keeps_stats && is_add)) {
    tn_data_file *rest = tn_arena_alloc(&w->arena, sizeof(*rest));
    if (rest == NULL) {
      return tn_oom(err);
    }
    TN_TRY(tn_data_file_copy(&w->arena, f, w->request->keeps_stats, rest, err));
    if (!w->request->keeps_stats) {
      drop_stats(rest);
    }
    e->rest = rest;
    e->file_name = rest->file_name.data;
    e->min_key = rest->min_key.data;
    e->max_key = rest->max_key.data;
  } else {
    e->file_name = tn_arena_memdup(&w->arena, f->file_name.data, f->file_name.len);
    if (e->file_name == NULL) {
      return tn_oom(err);
    }
    TN_TRY(keep_key(w, f->min_key, &e->min_key, &e->min_key_len, err));
    TN_TRY(keep_key(w, f->max_key, &e->max_key, &e->max_key_len, err));
  }
  e->file_name_len = (uint32_t)f->file_name.len;
  e->min_key_len = (uint32_t)f->min_key.len;
  e->max_key_len = (uint32_t)f->max_key.len;
  e->file_size = f->file_size;
  e->row_count = f->row_count;
  e->min_sequence = f->min_sequence;
  e->max_sequence = f->max_sequence;
  e->schema_id = f->schema_id;
  e->creation_time_ms = f->creation_time_ms;
  e->delete_row_count = f->delete_row_count;
  e->source = (int8_t)f->source;
  e->has_creation_time = f->has_creation_time;
  e->has_delete_row_count = f->has_delete_row_count;
  e->has_source = f->has_source;
  w->count++;
  return TARN_OK;
}

static void count_hidden(const tn_manifest_entry *record, int64_t *files, int64_t *rows) {
  int64_t sign = record->kind == TN_FILE_ADD ? 1 : -1;
  *files += sign;
  *rows = (int64_t)((uint64_t)*rows + (uint64_t)sign * (uint64_t)record->file.row_count);
}

/* Bucket pruning of one entry; needs its file's schema only when there is a filter. */
static tarn_status keeps_bucket(tn_scan_worker *w, const tn_manifest_entry *record,
                                tn_scan_partition *p, bool *out, tarn_error *err) {
  const tn_bucket_filter *buckets = &w->request->filter->buckets;
  const tn_bucket_keys *keys = buckets->by_partition ? &p->keys : &buckets->common;
  tn_bucket_set **sets = buckets->by_partition ? &p->sets : &w->common_sets;
  tn_file_schema *schema;
  TN_TRY(tn_bucket_filter_test(buckets, keys, record->bucket, record->total_buckets, &w->chunks,
                               sets, out, err));
  if (!*out) {
    TN_TRY(tn_filter_memo_schema(&w->memo, record->file.schema_id, &schema, err));
    *out = !schema->prunes_buckets;
  }
  return TARN_OK;
}

/* The time of a file is the local one of its writer, taken to be that of the session. */
static bool is_too_old(const tn_entries_request *request, const tn_data_file *file) {
  int64_t local = file->creation_time_ms, seconds = local / 1000 - (local % 1000 < 0);
  return request->has_min_creation && file->has_creation_time &&
         tn_zone_local_to_utc(request->table->env->zone, seconds) * 1000 + local - seconds * 1000 <
             request->min_creation_ms;
}

static tarn_status on_entry(void *ctx, const tn_manifest_entry *record, tarn_error *err) {
  tn_scan_worker *w = ctx;
  const tn_entries_request *request = w->request;
  tn_scan_partition *p = NULL;
  bool may_match = true;
  TN_TRY(intern_partition(w, record->partition, &p, err));
  if (!p->is_kept || (request->has_bucket && record->bucket != request->bucket) ||
      is_too_old(request, &record->file)) {
    return TARN_OK;
  }
  if (request->hides_postpone && record->bucket < 0) {
    count_hidden(record, &w->hidden_postpone, &w->hidden_postpone_rows);
    return TARN_OK;
  }
  if (request->filter->buckets.is_active) {
    bool keeps;
    TN_TRY(keeps_bucket(w, record, p, &keeps, err));
    if (!keeps) {
      return TARN_OK;
    }
  }
  if (request->hides_level_0 && record->file.level == 0) {
    count_hidden(record, &w->hidden_level_0, &w->hidden_level_0_rows);
    return TARN_OK;
  }
  if (record->kind != TN_FILE_ADD && request->is_changes) {
    return tn_fail(err, TARN_E_CORRUPT,
                   "Delta or changelog should only have ADD files: %.*s is deleted",
                   TN_SLICE_ARG(record->file.file_name));
  }
  if (record->kind == TN_FILE_ADD &&
      (request->filter->value != NULL || request->filter->key != NULL)) {
    TN_TRY(tn_scan_filter_key(&w->memo, &record->file, &may_match, err));
    if (!may_match) {
      return TARN_OK;
    }
    TN_TRY(tn_scan_filter_value(&w->memo, &record->file, &may_match, err));
    if (!may_match && request->prunes_by_value &&
        record->file.schema_id >= request->table->facts.vectors_since_schema) {
      return TARN_OK;
    }
  }
  return append(w, record, p, may_match, err);
}

/* ------------------------------------------------------------------ workers */

static tn_scan_worker *make_worker(const tn_entries_request *request) {
  tn_mem *mem = &request->table->env->mem;
  tn_scan_worker *w = tn_calloc(mem, 1, sizeof(*w));
  if (w != NULL) {
    w->request = request;
    tn_arena_init(&w->arena, mem, TN_PLAN_ARENA_BYTES);
    tn_arena_init(&w->chunks, mem, TN_PLAN_ARENA_BYTES);
    tn_map_init(&w->partitions, mem);
    tn_filter_memo_init(&w->memo, request->filter, &w->chunks);
  }
  return w;
}

static void free_worker(tn_mem *mem, tn_scan_worker *w) {
  tn_filter_memo_reset(&w->memo);
  tn_map_reset(&w->partitions);
  tn_arena_reset(&w->chunks);
  tn_arena_reset(&w->arena);
  tn_free(mem, w);
}

/* A worker that nobody uses; there are as many as threads at most. NULL: out of memory. */
static tn_scan_worker *acquire_worker(entries_scan *scan) {
  tn_entries *out = scan->out;
  tn_scan_worker *w = NULL;
  pthread_mutex_lock(&scan->lock);
  for (int32_t i = 0; i < out->n_workers && w == NULL; i++) {
    if (!out->workers[i]->is_busy) {
      w = out->workers[i];
    }
  }
  if (w == NULL && out->n_workers < scan->max_workers) {
    w = make_worker(scan->request);
    if (w != NULL) {
      out->workers[out->n_workers++] = w;
    }
  }
  if (w != NULL) {
    w->is_busy = true;
  }
  pthread_mutex_unlock(&scan->lock);
  return w;
}

static void give_back_worker(entries_scan *scan, tn_scan_worker *w) {
  pthread_mutex_lock(&scan->lock);
  w->is_busy = false;
  pthread_mutex_unlock(&scan->lock);
}

static tarn_status read_one(void *ctx, int64_t i, tarn_error *err) {
  entries_scan *scan = ctx;
  const tn_entries_request *request = scan->request;
  tn_table *table = request->table;
  int32_t at = scan->order[i];
  const tn_manifest_ref *manifest = &request->manifests[at];
  const tn_manifest_name name = {manifest->name, manifest->size_bytes,
                                 manifest->n_added + manifest->n_deleted};
  manifest_run *run = &scan->runs[at];
  tn_scan_worker *w;
  tarn_status st;
  TN_TRY(tn_cancel_check(request->cancel, err));
  w = acquire_worker(scan);
  if (w == NULL) {
    return tn_oom(err);
  }
  run->worker = w;
  run->begin = w->count;
  st = tn_manifest_read(table->env, table->storage, &tn_plan_readers, table->path, &name, on_entry,
                        w, err);
  run->end = w->count;
  give_back_worker(scan, w);
  return st;
}

/* Read manifests order[0 .. n). */
static tarn_status read_some(entries_scan *scan, int32_t n, tarn_error *err) {
  scan->out->n_manifests_read += n;
  return tn_parallel_for(scan->request->table->env->pool, n, scan->request->max_threads, read_one,
                         scan, err);
}

static int64_t rows_of(const manifest_run *run) {
  int64_t rows = 0;
  for (int64_t i = run->begin; i < run->end; i++) {
    const tn_scan_entry *e = entry_at(run->worker, i);
    if (e->is_add && e->row_count > 0 && __builtin_add_overflow(rows, e->row_count, &rows)) {
      return INT64_MAX;
    }
  }
  return rows;
}

/* All manifests; with a row limit, those with deletions and then the others in order until the rows
 * of the latter suffice. */
static tarn_status read_all(entries_scan *scan, tarn_error *err) {
  const tn_entries_request *request = scan->request;
  int32_t n = 0;
  int64_t rows = 0;
  bool has_limit = request->row_limit >= 0;
  for (int32_t i = 0; i < request->n_manifests; i++) {
    if (!has_limit || request->manifests[i].n_deleted > 0) {
      scan->order[n++] = i;
    }
  }
  TN_TRY(read_some(scan, n, err));
  for (int32_t i = 0; has_limit && i < request->n_manifests && rows < request->row_limit;) {
    int32_t begin = i;
    n = 0;
    for (; i < request->n_manifests && n < STOP_CHECK_MANIFESTS; i++) {
      if (request->manifests[i].n_deleted <= 0) {
        scan->order[n++] = i;
      }
    }
    TN_TRY(read_some(scan, n, err));
    for (int32_t k = begin; k < i; k++) {
      if (request->manifests[k].n_deleted <= 0 &&
          __builtin_add_overflow(rows, rows_of(&scan->runs[k]), &rows)) {
        rows = INT64_MAX;
      }
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ ADD and DELETE */

static bool same_texts(const tn_record_array *a, const tn_record_array *b) {
  if (a->count != b->count) {
    return false;
  }
  for (int64_t i = 0; i < a->count; i++) {
    if (!tn_slice_equal(((const tn_slice *)a->items)[i], ((const tn_slice *)b->items)[i])) {
      return false;
    }
  }
  return true;
}

bool tn_scan_entry_same(const tn_scan_entry *a, const tn_scan_entry *b) {
  const tn_data_file none = {0};
  const tn_data_file *x = a->rest != NULL ? a->rest : &none;
  const tn_data_file *y = b->rest != NULL ? b->rest : &none;
  return a->level == b->level && a->bucket == b->bucket && a->file_name_len == b->file_name_len &&
         memcmp(a->file_name, b->file_name, a->file_name_len) == 0 &&
         tn_slice_equal(a->partition->bytes, b->partition->bytes) &&
         same_texts(&x->extra_files, &y->extra_files) &&
         x->has_embedded_index == y->has_embedded_index &&
         tn_slice_equal(x->embedded_index, y->embedded_index) &&
         x->has_external_path == y->has_external_path &&
         tn_slice_equal(x->external_path, y->external_path);
}

/* Deleted entries by file name; several of one name (other levels) are chained. */
typedef struct deleted_entry {
  const tn_scan_entry *entry;
  struct deleted_entry *next;
} deleted_entry;

static tarn_status note_deleted(tn_map *map, tn_arena *arena, const tn_scan_entry *e,
                                tarn_error *err) {
  tn_map_entry *slot;
  deleted_entry *d = tn_arena_alloc(arena, sizeof(*d));
  if (d == NULL) {
    return tn_oom(err);
  }
  TN_TRY(tn_map_put(map, tn_slice_of(e->file_name, e->file_name_len), &slot, NULL, err));
  d->entry = e;
  d->next = slot->value.ptr;
  slot->value.ptr = d;
  return TARN_OK;
}

static bool is_deleted(const tn_map *map, const tn_scan_entry *e) {
  const tn_map_entry *slot = tn_map_find(map, tn_slice_of(e->file_name, e->file_name_len));
  const deleted_entry *d = slot != NULL ? slot->value.ptr : NULL;
  while (d != NULL && !tn_scan_entry_same(d->entry, e)) {
    d = d->next;
  }
  return d != NULL;
}

static tarn_status collect(entries_scan *scan, tn_map *deleted, tn_arena *arena, tarn_error *err) {
  const tn_entries_request *request = scan->request;
  tn_entries *out = scan->out;
  int64_t total = 0, rows = 0;
  for (int32_t m = 0; m < request->n_manifests; m++) {
    const manifest_run *run = &scan->runs[m];
    total += run->end - run->begin;
    for (int64_t i = run->begin; i < run->end; i++) {
      const tn_scan_entry *e = entry_at(run->worker, i);
      if (!e->is_add) {
        TN_TRY(note_deleted(deleted, arena, e, err));
      }
    }
  }
  out->items = tn_calloc(out->mem, (size_t)total + 1, sizeof(*out->items));
  if (out->items == NULL) {
    return tn_oom(err);
  }
  for (int32_t m = 0; m < request->n_manifests; m++) {
    const manifest_run *run = &scan->runs[m];
    for (int64_t i = run->begin; i < run->end; i++) {
      const tn_scan_entry *e = entry_at(run->worker, i);
      if (request->row_limit >= 0 && rows >= request->row_limit) {
        return TARN_OK;
      }
      if (e->is_add && (deleted->count == 0 || !is_deleted(deleted, e))) {
        out->items[out->count++] = e;
        if (e->row_count > 0 && __builtin_add_overflow(rows, e->row_count, &rows)) {
          rows = INT64_MAX;
        }
      }
    }
  }
  return TARN_OK;
}

tarn_status tn_entries_read(const tn_entries_request *request, tn_entries *out, tarn_error *err) {
  tn_mem *mem = &request->table->env->mem;
  size_t n = (size_t)request->n_manifests + 1;
  entries_scan scan = {.request = request, .out = out};
  tn_arena arena;
  tn_map deleted;
  tarn_status st = TARN_OK;
  memset(out, 0, sizeof(*out));
  out->mem = mem;
  tn_arena_init(&arena, mem, TN_PLAN_ARENA_BYTES);
  tn_map_init(&deleted, mem);
  pthread_mutex_init(&scan.lock, NULL);
  // The thread that waits runs tasks, too.
  scan.max_workers = tn_pool_threads(request->table->env->pool) + 1;
  out->workers = tn_calloc(mem, (size_t)scan.max_workers, sizeof(tn_scan_worker *));
  scan.runs = tn_arena_calloc(&arena, n, sizeof(*scan.runs));
  scan.order = tn_arena_calloc(&arena, n, sizeof(*scan.order));
  if (out->workers == NULL || scan.runs == NULL || scan.order == NULL) {
    st = tn_oom(err);
    goto done;
  }
  TN_TRY_TO(done, read_all(&scan, err));
  TN_TRY_TO(done, collect(&scan, &deleted, &arena, err));
  for (int32_t i = 0; i < out->n_workers; i++) {
    const tn_scan_worker *w = out->workers[i];
    out->hidden_level_0 += w->hidden_level_0;
    out->hidden_level_0_rows += w->hidden_level_0_rows;
    out->hidden_postpone += w->hidden_postpone;
    out->hidden_postpone_rows += w->hidden_postpone_rows;
  }
done:
  pthread_mutex_destroy(&scan.lock);
  tn_map_reset(&deleted);
  tn_arena_reset(&arena);
  return st;
}

void tn_entries_reset(tn_entries *entries) {
  if (entries->mem == NULL) {
    return;
  }
  for (int32_t i = 0; i < entries->n_workers; i++) {
    free_worker(entries->mem, entries->workers[i]);
  }
  tn_free(entries->mem, entries->workers);
  tn_free(entries->mem, entries->items);
  memset(entries, 0, sizeof(*entries));
}

void tn_entries_take_arenas(tn_entries *entries, tn_arena *arenas) {
  for (int32_t i = 0; i < entries->n_workers; i++) {
    tn_arena *own = &entries->workers[i]->arena;
    arenas[i] = *own;
    tn_arena_init(own, entries->mem, TN_PLAN_ARENA_BYTES);
  }
}

void tn_scan_entry_file(const tn_scan_entry *e, tn_data_file *out) {
  if (e->rest != NULL) {
    *out = *e->rest;
    return;
  }
  memset(out, 0, sizeof(*out));
  drop_stats(out);
  out->file_name = tn_slice_of(e->file_name, e->file_name_len);
  out->file_size = e->file_size;
  out->row_count = e->row_count;
  out->min_key = tn_slice_of(e->min_key, e->min_key_len);
  out->max_key = tn_slice_of(e->max_key, e->max_key_len);
  out->min_sequence = e->min_sequence;
  out->max_sequence = e->max_sequence;
  out->schema_id = e->schema_id;
  out->level = e->level;
  out->creation_time_ms = e->creation_time_ms;
  out->delete_row_count = e->delete_row_count;
  out->source = e->source;
  out->has_creation_time = e->has_creation_time;
  out->has_delete_row_count = e->has_delete_row_count;
  out->has_source = e->has_source;
}
