/* fsck_layout.c - how live files lie beside each other: levels, buckets, row ids, indexes; and with
 * deep reading, whether their rows are what entries tell. */
#include "base/bytes.h"
#include "base/sort.h"
#include "column/binary_row.h"
#include "datafile/data_reader.h"
#include "datafile/index_place.h"
#include "maintain/fsck_parts.h"
#include "maintain/kept.h"
#include "merge/key.h"
#include "plan/entries.h"

#define ARENA_LIMIT ((size_t)32 << 30)
#define KEY_LIMIT ((size_t)1 << 26)

/* ------------------------------------------------------------------ levels and buckets */

typedef struct keyed {
  const tn_fsck_file *file;
  tn_datum *min, *max;
} keyed;

typedef struct layout {
  tn_fsck_run *f;
  const tn_schema *schema;
  tn_arena arena;
} layout;

static tarn_status read_key(layout *l, tn_slice bytes, tn_datum **out, tarn_error *err) {
  tn_binary_row row;
  *out = tn_arena_calloc(&l->arena, (size_t)l->schema->n_key_columns + 1, sizeof(**out));
  if (*out == NULL) {
    return tn_oom(err);
  }
  TN_TRY(tn_binary_row_decode(bytes, "key of a data file", &row, err));
  if (row.arity != l->schema->n_key_columns) {
    return tn_fail(err, TARN_E_CORRUPT, "a key of %d columns, the primary key has %d",
                   (int)row.arity, (int)l->schema->n_key_columns);
  }
  for (int32_t i = 0; i < row.arity; i++) {
    const tn_type *type = &l->schema->fields[l->schema->key_columns[i]].type;
    TN_TRY(tn_binary_row_get(&row, i, type, &(*out)[i], err));
  }
  return TARN_OK;
}

static int compare_keys(const tn_schema *schema, const tn_datum *a, const tn_datum *b) {
  return tn_datum_compare_keys(schema->fields, schema->key_columns, schema->n_key_columns, a, b);
}

static int compare_place(const tn_fsck_file *a, const tn_fsck_file *b) {
  int c = tn_slice_compare(a->partition, b->partition);
  c = c != 0 ? c : (a->bucket > b->bucket) - (a->bucket < b->bucket);
  return c != 0 ? c : (a->file.level > b->file.level) - (a->file.level < b->file.level);
}

static int compare_keyed(void *ctx, const void *a, const void *b) {
  const keyed *x = a, *y = b;
  int c = compare_place(x->file, y->file);
  return c != 0 ? c : compare_keys(ctx, x->min, y->min);
}

/* Runs of the levels from 1 on; what cannot be read is told. */
static tarn_status collect_keyed(layout *l, const tn_fsck_state *state, const void **items,
                                 int64_t *n, tarn_error *err) {
  for (size_t i = 0; i < state->files.count; i++) {
    const tn_fsck_file *file = state->files.entries[i].value.ptr;
    tarn_error why = {0};
    tarn_status st;
    keyed *k;
    if (file->count != 1 || file->file.level < 1) {
      continue;
    }
    k = tn_arena_calloc(&l->arena, 1, sizeof(*k));
    if (k == NULL) {
      return tn_oom(err);
    }
    k->file = file;
    st = read_key(l, file->file.min_key, &k->min, &why);
    if (st == TARN_OK) {
      st = read_key(l, file->file.max_key, &k->max, &why);
    }
    TN_TRY(tn_fsck_told(l->f, st, file->path, &why, err));
    if (st != TARN_OK) {
      continue;
    }
    items[(*n)++] = k;
    if (compare_keys(l->schema, k->min, k->max) > 0) {
      TN_TRY(tn_fsck_fault(l->f, "overlap", file->path, err,
                           "its least key is greater than its greatest"));
    }
  }
  return TARN_OK;
}

static tarn_status check_levels(layout *l, const tn_fsck_state *state, tarn_error *err) {
  const void **items = tn_arena_calloc(&l->arena, state->files.count + 1, sizeof(*items));
  const void **scratch = tn_arena_calloc(&l->arena, state->files.count + 1, sizeof(*items));
  int64_t n = 0;
  if (items == NULL || scratch == NULL) {
    return tn_oom(err);
  }
  TN_TRY(collect_keyed(l, state, items, &n, err));
  tn_sort_stable(items, scratch, n, compare_keyed, (void *)(uintptr_t)l->schema);
  for (int64_t i = 0; i + 1 < n; i++) {
    const keyed *a = items[i], *b = items[i + 1];
    if (compare_place(a->file, b->file) == 0 && compare_keys(l->schema, a->max, b->min) >= 0) {
      TN_TRY(tn_fsck_fault(l->f, "overlap", b->file->path, err,
                           "%s: its keys overlap those of %s on level %d", l->f->place,
                           a->file->path, (int)b->file->file.level));
    }
  }
  return TARN_OK;
}

static tarn_status check_buckets(layout *l, const tn_fsck_state *state, tarn_error *err) {
  tn_map counts;
  tarn_status st = TARN_OK;
  tn_map_init(&counts, &l->f->table->env->mem);
  for (size_t i = 0; i < state->files.count; i++) {
    const tn_fsck_file *file = state->files.entries[i].value.ptr;
    tn_map_entry *entry;
    bool is_new;
    if (file->count != 1 || file->total_buckets <= 0) {
      continue;
    }
    TN_TRY_TO(done, tn_map_put(&counts, file->partition, &entry, &is_new, err));
    if (is_new) {
      entry->value.num = file->total_buckets;
    }
    if (entry->value.num != file->total_buckets || file->bucket >= file->total_buckets) {
      TN_TRY_TO(done, tn_fsck_fault(l->f, "overlap", file->path, err,
                                    "%s: it is in bucket %d of %d, others of its partition in %lld",
                                    l->f->place, (int)file->bucket, (int)file->total_buckets,
                                    (long long)entry->value.num));
    }
  }
done:
  tn_map_reset(&counts);
  return st;
}

static tarn_status check_row_ids(layout *l, const tn_snapshot *s, const tn_fsck_state *state,
                                 tarn_error *err) {
  for (size_t i = 0; i < state->files.count; i++) {
    const tn_fsck_file *file = state->files.entries[i].value.ptr;
    if (file->count == 1 && file->file.has_first_row_id && s->has_next_row_id &&
        file->file.first_row_id > s->next_row_id - file->file.row_count) {
      TN_TRY(tn_fsck_fault(l->f, "count", file->path, err,
                           "%s: its row ids begin at %lld, and %lld is the next one to be given",
                           l->f->place, (long long)file->file.first_row_id,
                           (long long)s->next_row_id));
    }
  }
  return TARN_OK;
}

tarn_status tn_fsck_layout(tn_fsck_run *f, const tn_snapshot *s, const tn_fsck_state *state,
                           tarn_error *err) {
  layout l = {.f = f, .schema = f->branch->schema};
  const char *clustered = tn_options_get(&f->branch->options, "pk-clustering-override");
  tarn_status st;
  tn_arena_init(&l.arena, &f->table->env->mem, ARENA_LIMIT);
  TN_TRY_TO(done, check_buckets(&l, state, err));
  TN_TRY_TO(done, check_row_ids(&l, s, state, err));
  if (f->branch->facts.has_primary_key && (clustered == NULL || strcmp(clustered, "true") != 0)) {
    st = check_levels(&l, state, err);
  }
done:
  tn_arena_reset(&l.arena);
  return st;
}

/* ------------------------------------------------------------------ indexes */

typedef struct index_walk {
  tn_fsck_run *f;
  const tn_fsck_state *state;
  tn_arena arena;
  tn_map live; /* partition, bucket and name of live files; made when it is needed */
  bool has_live;
  tn_buf key;
} index_walk;

static tarn_status collect_live(index_walk *w, tarn_error *err) {
  for (size_t i = 0; i < w->state->files.count && !w->has_live; i++) {
    const tn_fsck_file *file = w->state->files.entries[i].value.ptr;
    tn_map_entry *entry;
    tn_slice key;
    if (file->count != 1) {
      continue;
    }
    TN_TRY(tn_bucket_key(&w->key, file->partition, file->bucket, file->file.file_name, err));
    if (!tn_arena_slice(&w->arena, tn_buf_slice(&w->key), &key)) {
      return tn_oom(err);
    }
    TN_TRY(tn_map_put(&w->live, key, &entry, NULL, err));
  }
  w->has_live = true;
  return TARN_OK;
}

/* Vectors are of live files, and within their container. */
static tarn_status check_vectors(index_walk *w, const tn_index_entry *e, const char *path,
                                 tarn_error *err) {
  const tn_dv_range *ranges = e->dv_ranges.items;
  if (!w->state->is_whole) {
    return TARN_OK;
  }
  TN_TRY(collect_live(w, err));
  for (int64_t i = 0; i < e->dv_ranges.count; i++) {
    TN_TRY(tn_bucket_key(&w->key, e->partition, e->bucket, ranges[i].data_file, err));
    if (tn_map_find(&w->live, tn_buf_slice(&w->key)) == NULL) {
      TN_TRY(tn_fsck_fault(w->f, "chain", path, err,
                           "%s: it has a deletion vector of %.*s, which is no live file",
                           w->f->place, TN_SLICE_ARG(ranges[i].data_file)));
    }
    if (ranges[i].offset < 0 || ranges[i].length < 0 ||
        (int64_t)ranges[i].offset + ranges[i].length > e->file_size) {
      TN_TRY(tn_fsck_fault(w->f, "corrupt", path, err,
                           "%s: the deletion vector of %.*s would end behind the file", w->f->place,
                           TN_SLICE_ARG(ranges[i].data_file)));
    }
  }
  return TARN_OK;
}

static tarn_status on_index(void *ctx, const tn_index_entry *e, tarn_error *err) {
  index_walk *w = ctx;
  const char *path;
  bool is_there;
  TN_TRY(tn_index_file_path(w->f->table, e, &w->f->arena, &path, err));
  TN_TRY(tn_fsck_reach(w->f, path, e->file_size, &is_there, err));
  return e->has_dv_ranges ? check_vectors(w, e, path, err) : TARN_OK;
}

tarn_status tn_fsck_indexes(tn_fsck_run *f, const tn_snapshot *s, const tn_fsck_state *state,
                            tarn_error *err) {
  const tn_manifest_name name = {s->index_manifest, -1, -1};
  tn_mem *mem = &f->table->env->mem;
  index_walk w = {.f = f, .state = state};
  tarn_error why = {0};
  tarn_status st;
  bool is_there;
  if (s->index_manifest == NULL) {
    return TARN_OK;
  }
  TN_TRY(tn_fsck_reach_meta(f, "manifest", s->index_manifest, -1, &is_there, err));
  if (!is_there) {
    return TARN_OK;
  }
  tn_arena_init(&w.arena, mem, ARENA_LIMIT);
  tn_map_init(&w.live, mem);
  tn_buf_init(&w.key, mem, KEY_LIMIT);
  st = tn_index_manifest_read(f->table->env, f->table->storage, &tn_plan_readers, f->table->path,
                              &name, on_index, &w, &why);
  tn_buf_reset(&w.key);
  tn_map_reset(&w.live);
  tn_arena_reset(&w.arena);
  return tn_fsck_told(f, st, s->index_manifest, &why, err);
}

/* ------------------------------------------------------------------ rows */

typedef struct row_walk {
  tn_fsck_run *f;
  layout keys;
  tn_field *fields; /* key columns, then all others */
  int32_t n_keys, n_fields;
  tn_data_shape *shape;
  bool checks_keys; /* sorted within a file, and between its bounds */
} row_walk;

/* Files of a primary-key table are sorted by it. */
static tarn_status begin_rows(row_walk *w, tn_fsck_run *f, tarn_error *err) {
  const tn_schema *schema = f->branch->schema;
  bool is_keyed = f->branch->facts.has_primary_key;
  const char *clustered = tn_options_get(&f->branch->options, "pk-clustering-override");
  w->f = f;
  w->keys = (layout){.f = f, .schema = schema};
  tn_arena_init(&w->keys.arena, &f->table->env->mem, ARENA_LIMIT);
  w->fields = tn_arena_calloc(&w->keys.arena, (size_t)schema->n_fields * 2 + 1, sizeof(tn_field));
  if (w->fields == NULL) {
    return tn_oom(err);
  }
  w->n_keys = is_keyed ? schema->n_key_columns : 0;
  for (int32_t i = 0; i < w->n_keys; i++) {
    w->fields[w->n_fields++] = schema->fields[schema->key_columns[i]];
  }
  for (int32_t i = 0; i < schema->n_fields; i++) {
    if (!is_keyed || tn_schema_key_column(schema, schema->fields[i].id) < 0) {
      w->fields[w->n_fields++] = schema->fields[i];
    }
  }
  w->checks_keys = is_keyed && (clustered == NULL || strcmp(clustered, "true") != 0);
  return tn_data_shape_create(f->branch, w->fields, w->n_keys, w->fields + w->n_keys,
                              w->n_fields - w->n_keys, is_keyed, &w->shape, err);
}

static void end_rows(row_walk *w) {
  tn_data_shape_free(w->shape);
  tn_arena_reset(&w->keys.arena);
}

static int compare_row(const row_walk *w, const tn_batch *batch, int64_t row, const tn_datum *key) {
  for (int32_t i = 0; i < w->n_keys; i++) {
    tn_datum value = tn_vec_datum(&batch->columns[i], row);
    int c = tn_datum_compare_key(&w->fields[i].type, &value, &key[i]);
    if (c != 0) {
      return c;
    }
  }
  return 0;
}

/* A batch behind the last row of the one before (`last`: a batch of one row, or none). */
static const char *check_batch(const row_walk *w, const tn_batch *batch, const tn_datum *min,
                               const tn_datum *max, bool is_first) {
  for (int64_t i = 0; i + 1 < batch->n_rows; i++) {
    if (tn_key_compare(batch, i, batch, i + 1, w->n_keys) > 0) {
      return "its rows are not sorted by their keys";
    }
  }
  if (is_first && compare_row(w, batch, 0, min) < 0) {
    return "it has a key below the least that its entry tells";
  }
  return compare_row(w, batch, batch->n_rows - 1, max) > 0
             ? "it has a key above the greatest that its entry tells"
             : NULL;
}

static tarn_status read_rows(row_walk *w, const tn_fsck_file *file, tn_data_reader *reader,
                             const char **what, tarn_error *err) {
  tn_datum *min = NULL, *max = NULL;
  tn_batch first = {0}, rest = {0};
  const uint8_t *alive;
  tarn_status st = TARN_OK;
  bool is_first = true;
  if (w->checks_keys) {
    TN_TRY(read_key(&w->keys, file->file.min_key, &min, err));
    TN_TRY(read_key(&w->keys, file->file.max_key, &max, err));
  }
  for (;;) {
    TN_TRY_TO(done, tn_cancel_check(w->f->request->cancel, err));
    TN_TRY_TO(done, tn_data_reader_next(reader, 8192, &first, &alive, err));
    if (first.n_rows == 0) {
      break;
    }
    if (w->checks_keys && *what == NULL) {
      *what = check_batch(w, &first, min, max, is_first);
    }
    is_first = false;
    TN_TRY_TO(done, tn_data_reader_rest(reader, &rest, err));
  }
done:
  tn_batch_reset(w->f->table->env, &rest);
  tn_batch_reset(w->f->table->env, &first);
  return st;
}

static tarn_status read_file(row_walk *w, const tn_fsck_file *file, tarn_error *err) {
  const tn_data_request request = {.shape = w->shape,
                                   .file = &file->file,
                                   .path = file->path,
                                   .partition = file->partition,
                                   .wants_flat = true,
                                   .cancel = w->f->request->cancel};
  tn_data_reader *reader = NULL;
  const char *what = NULL;
  tarn_error why = {0};
  tarn_status st = tn_data_reader_open(&request, &reader, &why);
  if (st == TARN_OK) {
    st = read_rows(w, file, reader, &what, &why);
  }
  tn_data_reader_free(reader);
  if (st == TARN_E_UNSUPPORTED) { /* a format, say */
    w->f->n_unread++;
    return TARN_OK;
  }
  if (st == TARN_E_CORRUPT) {
    return tn_fsck_fault(w->f, "rows", file->path, err, "%s", why.message);
  }
  TN_TRY(tn_fsck_told(w->f, st, file->path, &why, err));
  return what != NULL ? tn_fsck_fault(w->f, "rows", file->path, err, "%s", what) : TARN_OK;
}

tarn_status tn_fsck_rows(tn_fsck_run *f, const tn_fsck_state *state, tarn_error *err) {
  row_walk w = {0};
  tarn_status st;
  TN_TRY_TO(done, begin_rows(&w, f, err));
  for (size_t i = 0; i < state->files.count; i++) {
    const tn_fsck_file *file = state->files.entries[i].value.ptr;
    const tn_map_entry *reached;
    tn_map_entry *entry;
    bool is_new;
    if (file->count != 1 || file->path == NULL) {
      continue;
    }
    reached = tn_map_find(&f->paths, tn_slice_text(file->path));
    if (reached == NULL || reached->value.num != 1) {
      continue;
    }
    TN_TRY_TO(done, tn_map_put(&f->read_deep, reached->key, &entry, &is_new, err));
    if (is_new) {
      TN_TRY_TO(done, read_file(&w, file, err));
    }
  }
done:
  end_rows(&w);
  return st;
}
