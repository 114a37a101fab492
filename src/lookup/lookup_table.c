/* lookup_table.c - opening a lookup: columns, budgets, the first view; refreshing it. */
#include "lookup/lookup_table.h"

#include <stdlib.h>

#include "column/arrow.h"
#include "column/number_text.h"
#include "column/pieces.h"
#include "lookup/answer.h"

static const tn_engine_ops *const engines[] = {
    [TN_ENGINE_DEDUPLICATE] = &tn_engine_deduplicate,
    [TN_ENGINE_PARTIAL_UPDATE] = &tn_engine_partial_update,
    [TN_ENGINE_AGGREGATION] = &tn_engine_aggregation,
    [TN_ENGINE_FIRST_ROW] = &tn_engine_first_row};

/* ------------------------------------------------------------------ columns */

/* What is kept of a row: the key, user sequence fields, wanted columns, and what folding needs
 * beside them. fields has room for all columns. */
static tarn_status choose_columns(tn_lookup *l, tn_field *fields, tarn_error *err) {
  const tn_schema *schema = l->table->schema;
  const tn_table_facts *facts = &l->table->facts;
  bool *wanted = tn_arena_calloc(&l->arena, (size_t)schema->n_fields + 1, sizeof(*wanted));
  int32_t n = 0;
  if (wanted == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < schema->n_key_columns; i++) {
    fields[n++] = schema->fields[schema->key_columns[i]];
  }
  l->spec.n_keys = n;
  for (int32_t i = 0; i < facts->n_sequence_columns; i++) {
    tn_fields_add(fields, &n, &schema->fields[facts->sequence_columns[i]]);
  }
  l->spec.n_sequence_fields = n - l->spec.n_keys;
  l->spec.n_key_fields = n;
  for (int32_t i = 0; i < n; i++) {
    if (!tn_key_has_order(&fields[i].type)) {
      return tn_fail(err, TARN_E_UNSUPPORTED,
                     "column '%s' of %s: a key or sequence field of a nested type", fields[i].name,
                     l->table->full_name);
    }
  }
  for (int32_t i = 0; i < l->n_out; i++) {
    l->out_stored[i] = tn_fields_add(fields, &n, &l->out_fields[i]);
  }
  for (int32_t i = 0; i < n; i++) {
    int32_t column = tn_fields_find_id(schema->fields, schema->n_fields, fields[i].id);
    if (column >= 0) {
      wanted[column] = true;
    }
  }
  for (int32_t i = 0; l->context.engine->fold != NULL && i < schema->n_fields; i++) {
    if (!wanted[i] && tn_merge_options_needs(facts->merge, wanted, i)) {
      tn_fields_add(fields, &n, &schema->fields[i]);
    }
  }
  l->layout.n_fields = n;
  l->layout.n_keys = l->spec.n_keys;
  l->layout.fields = fields;
  return TARN_OK;
}

static int32_t merged_column(const tn_lookup *l, int32_t stored) {
  return stored < l->spec.n_key_fields ? stored : -1 - (stored - l->spec.n_key_fields);
}

static tarn_status lay_out_merge(tn_lookup *l, tarn_error *err) {
  const tn_table_facts *facts = &l->table->facts;
  int32_t n = 0;
  size_t n_max = (size_t)l->n_out + (size_t)l->layout.n_keys + 1;
  tn_field *fields = tn_arena_calloc(&l->arena, n_max, sizeof(*fields));
  int32_t *columns = tn_arena_calloc(&l->arena, n_max, sizeof(*columns));
  tn_merge_spec *spec = &l->spec;
  if (fields == NULL || columns == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < l->n_out; i++) {
    fields[n] = l->out_fields[i];
    columns[n++] = merged_column(l, l->out_stored[i]);
  }
  for (int32_t i = 0; i < l->layout.n_keys; i++) {
    fields[n] = l->layout.fields[i];
    columns[n++] = i;
  }
  spec->key_fields = l->layout.fields;
  spec->value_fields = l->layout.fields + spec->n_key_fields;
  spec->n_value_fields = l->layout.n_fields - spec->n_key_fields;
  spec->sequence_descending = facts->sequence_descending;
  spec->out_fields = fields;
  spec->out_columns = columns;
  spec->n_out_columns = n;
  spec->engine = l->context.engine;
  spec->ignore_delete = facts->ignore_delete;
  spec->needs_lookup = facts->needs_lookup && spec->engine != &tn_engine_first_row;
  spec->batch_rows = TN_READ_BATCH_ROWS;
  spec->input_rows = TN_LOOKUP_CHUNK_KEYS;
  spec->cancel = l->context.o.cancel;
  l->newest_wins = spec->engine == &tn_engine_deduplicate && spec->n_sequence_fields == 0;
  if (spec->engine->fold != NULL) {
    tn_fold_layout *layout;
    TN_TRY(tn_fold_layout_make(&l->arena, spec->engine, facts->merge, l->table->schema,
                               spec->key_fields, spec->n_keys, spec->n_key_fields,
                               spec->value_fields, spec->n_value_fields, &layout, err));
    spec->layout = layout;
  }
  return TARN_OK;
}

static tarn_status lay_out_columns(tn_lookup *l, const tn_lookup_options *o, tarn_error *err) {
  const tn_schema *schema = l->table->schema;
  size_t n_max = (size_t)schema->n_fields + (size_t)o->n_fields + (size_t)schema->n_key_columns +
                 (size_t)l->table->facts.n_sequence_columns + 1;
  tn_field *fields = tn_arena_calloc(&l->arena, n_max, sizeof(*fields));
  l->out_stored = tn_arena_calloc(&l->arena, (size_t)o->n_fields + 1, sizeof(*l->out_stored));
  l->is_wanted = tn_arena_calloc(&l->arena, n_max, sizeof(*l->is_wanted));
  l->out_fields = tn_arena_memdup(&l->arena, o->fields, (size_t)o->n_fields * sizeof(*o->fields));
  l->is_last_use = tn_arena_calloc(&l->arena, (size_t)o->n_fields + 1, sizeof(*l->is_last_use));
  l->n_out = o->n_fields;
  if (fields == NULL || l->out_stored == NULL || l->is_wanted == NULL || l->out_fields == NULL ||
      l->is_last_use == NULL) {
    return tn_oom(err);
  }
  TN_TRY(choose_columns(l, fields, err));
  for (int32_t i = l->n_out - 1; i >= 0; i--) {
    l->is_last_use[i] = !l->is_wanted[l->out_stored[i]];
    l->is_wanted[l->out_stored[i]] = true;
  }
  l->stored_out = tn_arena_alloc(&l->arena, ((size_t)l->layout.n_fields + 1) * sizeof(int32_t));
  if (l->stored_out == NULL) {
    return tn_oom(err);
  }
  l->is_plain = true;
  for (int32_t k = 0; k < l->layout.n_fields; k++) {
    l->stored_out[k] = -1;
    l->is_plain = l->is_plain && tn_row_type_is_plain(&fields[k].type);
  }
  for (int32_t i = 0; i < l->n_out; i++) {
    l->stored_out[l->out_stored[i]] = i;
    l->is_plain = l->is_plain && l->is_last_use[i];
  }
  l->context.o.fields = fields;
  l->context.o.n_fields = l->layout.n_fields;
  return lay_out_merge(l, err);
}

/* ------------------------------------------------------------------ keys */

/* Where columns of the table are among those of the user's keys; *out NULL: not all are. */
static tarn_status map_columns(tn_lookup *l, const int32_t *columns, int32_t n, int32_t **out,
                               tarn_error *err) {
  const tn_schema *schema = l->table->schema;
  int32_t *places = tn_arena_calloc(&l->arena, (size_t)n + 1, sizeof(*places));
  *out = places;
  if (places == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n; i++) {
    places[i] = tn_fields_find_id(l->key_fields, l->n_key_fields, schema->fields[columns[i]].id);
    if (places[i] < 0) {
      *out = NULL;
      return TARN_OK;
    }
  }
  return TARN_OK;
}

static tarn_status lay_out_keys(tn_lookup *l, tarn_error *err) {
  const tn_schema *schema = l->table->schema;
  const tn_table_facts *facts = &l->table->facts;
  l->n_key_fields = schema->n_primary_keys;
  l->key_fields =
      tn_arena_calloc(&l->arena, (size_t)schema->n_primary_keys + 1, sizeof(*l->key_fields));
  l->bucket_types =
      tn_arena_calloc(&l->arena, (size_t)facts->n_bucket_columns + 1, sizeof(*l->bucket_types));
  if (l->key_fields == NULL || l->bucket_types == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < schema->n_primary_keys; i++) {
    int32_t at =
        tn_fields_find(schema->fields, schema->n_fields, tn_slice_text(schema->primary_keys[i]));
    if (at < 0) {
      return tn_fail(err, TARN_E_CORRUPT, "%s: there is no primary key column '%s'",
                     l->table->full_name, schema->primary_keys[i]);
    }
    l->key_fields[i] = schema->fields[at];
  }
  for (int32_t i = 0; i < facts->n_bucket_columns; i++) {
    l->bucket_types[i] = &schema->fields[facts->bucket_columns[i]].type;
  }
  TN_TRY(map_columns(l, schema->key_columns, schema->n_key_columns, &l->key_columns, err));
  TN_TRY(map_columns(l, schema->partition_columns, schema->n_partition_keys, &l->partition_columns,
                     err));
  return map_columns(l, facts->bucket_columns, facts->n_bucket_columns, &l->bucket_columns, err);
}

const tn_field *tn_lookup_key_fields(const tn_lookup *l, int32_t *n) {
  *n = l->n_key_fields;
  return l->key_fields;
}

/* ------------------------------------------------------------------ budgets */

static tarn_status load_factor(const tn_lookup *l, double *out, tarn_error *err) {
  const char *text = tn_options_get(&l->table->options, "lookup.hash-load-factor");
  char *end = NULL;
  *out = text != NULL ? strtod(text, &end) : 0.75;
  if (text != NULL && (*end != '\0' || end == text || !(*out > 0.05 && *out <= 0.95))) {
    return tn_fail(err, TARN_E_INVALID,
                   "option 'lookup.hash-load-factor': expected 0.05 to 0.95, found '%s'", text);
  }
  return TARN_OK;
}

static tarn_status open_parts(tn_lookup *l, const tn_lookup_options *o, tarn_error *err) {
  const tn_options *options = &l->table->options;
  int64_t disk = o->max_disk, memory = o->max_memory;
  int64_t most =
      (int64_t)(l->env->mem.budget_bytes / 2 < INT64_MAX / 2 ? l->env->mem.budget_bytes / 2
                                                             : INT64_MAX / 2);
  tn_storage *storage;
  tarn_status st;
  l->retention_ms = o->retention_ms;
  if (disk < 0) {
    TN_TRY(tn_options_int(options, "lookup.cache-max-disk-size", &disk, NULL, err));
  }
  if (memory < 0) {
    TN_TRY(tn_options_int(options, "lookup.cache-max-memory-size", &memory, NULL, err));
  }
  if (l->retention_ms < 0) {
    TN_TRY(tn_options_int(options, "lookup.cache-file-retention", &l->retention_ms, NULL, err));
  }
  TN_TRY(load_factor(l, &l->layout.load_factor, err));
  TN_TRY(tn_storage_local(l->env, &storage, err));
  st = tn_storage_make_folder(storage, l->folder, err);
  tn_storage_release(storage);
  TN_TRY(st);
  tn_lookup_sweep(l->env, l->folder);
  TN_TRY(tn_block_cache_create(l->env, memory < most ? memory : most, &l->cache, err));
  return tn_lookup_store_create(&(tn_lookup_store_setup){.context = &l->context,
                                                         .layout = &l->layout,
                                                         .folder = l->folder,
                                                         .cache = l->cache,
                                                         .max_disk_bytes = disk,
                                                         .retention_ms = l->retention_ms},
                                &l->store, err);
}

/* ------------------------------------------------------------------ life */

/* What Java's local table query checks of its cache, which is not this one. Rule:
 * org.apache.paimon.io.cache.CacheManager. */
static tarn_status check_cache_options(const tn_table *table, tarn_error *err) {
  static const char key[] = "lookup.cache.high-priority-pool-ratio";
  const char *text = tn_options_get(&table->options, key);
  double ratio = 0;
  if (text != NULL && !tn_double_from_text(tn_slice_text(text), &ratio)) {
    return tn_fail(err, TARN_E_INVALID, "option '%s': cannot parse '%s' as a number", key, text);
  }
  return ratio >= 0 && ratio < 1
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID,
                       "The high priority pool ratio should in the range [0, 1).");
}

static tarn_status open_lookup(tn_lookup *l, const tn_lookup_options *o, tarn_error *err) {
  const tn_table_facts *facts = &l->table->facts;
  if (!facts->has_primary_key || l->table->schema->n_key_columns == 0) {
    return tn_fail(err, TARN_E_INVALID, "%s has no primary key: rows are looked up by one",
                   l->table->full_name);
  }
  TN_TRY(check_cache_options(l->table, err));
  l->folder = tn_strdup(&l->env->mem, o->folder);
  l->has_mutex = pthread_mutex_init(&l->mutex, NULL) == 0;
  l->has_refresh_mutex = pthread_mutex_init(&l->refresh_mutex, NULL) == 0;
  if (l->folder == NULL || !l->has_mutex || !l->has_refresh_mutex) {
    return tn_oom(err);
  }
  l->context.env = l->env;
  l->context.o.table = l->table;
  l->context.o.cancel = o->cancel;
  l->context.engine = engines[facts->merge_engine];
  l->context.batch_rows = TN_READ_BATCH_ROWS;
  TN_TRY(lay_out_columns(l, o, err));
  TN_TRY(lay_out_keys(l, err));
  TN_TRY(open_parts(l, o, err));
  return tn_files_view_create(&(tn_files_view_setup){.context = &l->context, .store = l->store},
                              &l->view, err);
}

tarn_status tn_lookup_open(tn_table *table, const tn_lookup_options *options, tn_lookup **out,
                           tarn_error *err) {
  tarn_env *env = table->env;
  tn_lookup *l = tn_calloc(&env->mem, 1, sizeof(*l));
  tarn_status st;
  *out = NULL;
  if (l == NULL) {
    return tn_oom(err);
  }
  l->env = env;
  l->table = tn_table_retain(table);
  tn_arena_init(&l->arena, &env->mem, (size_t)1 << 30);
  st = open_lookup(l, options, err);
  if (st != TARN_OK) {
    tn_lookup_free(l);
    return st;
  }
  *out = l;
  return TARN_OK;
}

void tn_lookup_free(tn_lookup *l) {
  if (l == NULL) {
    return;
  }
  while (l->idle != NULL) {
    tn_lookup_worker *w = l->idle;
    l->idle = w->next;
    tn_lookup_worker_free(w);
  }
  tn_files_view_release(l->view);
  tn_lookup_store_free(l->store);
  tn_block_cache_free(l->cache);
  if (l->has_mutex) {
    pthread_mutex_destroy(&l->mutex);
  }
  if (l->has_refresh_mutex) {
    pthread_mutex_destroy(&l->refresh_mutex);
  }
  tn_free(&l->env->mem, l->folder);
  tn_table_release(l->table);
  tn_arena_reset(&l->arena);
  tn_free(&l->env->mem, l);
}

static tn_files_view *current_view(tn_lookup *l) {
  tn_files_view *view;
  pthread_mutex_lock(&l->mutex);
  view = tn_files_view_retain(l->view);
  pthread_mutex_unlock(&l->mutex);
  return view;
}

/* ------------------------------------------------------------------ workers */

/* A worker that sees the newest view. */
static tarn_status take_worker(tn_lookup *l, tn_lookup_worker **out, tarn_error *err) {
  tn_files_view *view = NULL;
  tn_lookup_worker *w;
  tarn_status st = TARN_OK;
  pthread_mutex_lock(&l->mutex);
  w = l->idle;
  if (w != NULL) {
    l->idle = w->next;
  }
  if (w == NULL || w->view != l->view) {
    view = tn_files_view_retain(l->view);
  }
  pthread_mutex_unlock(&l->mutex);
  st = w == NULL ? tn_lookup_worker_create(l->env, l->store, &w, err) : TARN_OK;
  if (st == TARN_OK && view != NULL) {
    st = tn_lookup_worker_see(w, view, err);
  }
  tn_files_view_release(view);
  if (st != TARN_OK) {
    tn_lookup_worker_free(w);
    w = NULL;
  }
  *out = w;
  return st;
}

/* Workers that wait let go of what was dropped and of old views (LW2). */
static void calm_workers(tn_lookup *l) {
  tn_lookup_worker *all, *last;
  pthread_mutex_lock(&l->mutex);
  l->n_drops = tn_lookup_store_drops(l->store);
  all = l->idle;
  l->idle = NULL;
  pthread_mutex_unlock(&l->mutex);
  if (all == NULL) {
    return;
  }
  for (tn_lookup_worker *w = last = all; w != NULL; last = w, w = w->next) {
    tn_lookup_worker_forget(w);
  }
  pthread_mutex_lock(&l->mutex);
  last->next = l->idle;
  l->idle = all;
  pthread_mutex_unlock(&l->mutex);
}

static void give_back(tn_lookup *l, tn_lookup_worker *w) {
  bool is_calm;
  tn_lookup_worker_end(w);
  if (tn_lookup_worker_is_stale(w)) {
    tn_lookup_worker_let_go(w);
  }
  pthread_mutex_lock(&l->mutex);
  is_calm = w->view == l->view && l->n_drops == tn_lookup_store_drops(l->store);
  l->n_keys += w->n_keys;
  l->n_found += w->n_found;
  l->n_merged += w->n_merged;
  w->n_keys = w->n_found = w->n_merged = 0;
  w->next = l->idle;
  l->idle = w;
  pthread_mutex_unlock(&l->mutex);
  if (!is_calm) {
    calm_workers(l);
  }
}

/* ------------------------------------------------------------------ refreshing */

tarn_status tn_lookup_refresh(tn_lookup *l, int64_t *snapshot_id, tarn_error *err) {
  tn_files_view *old, *view;
  tarn_status st;
  pthread_mutex_lock(&l->refresh_mutex);
  old = current_view(l);
  st = tn_files_view_create(
      &(tn_files_view_setup){.context = &l->context, .store = l->store, .previous = old}, &view,
      err);
  tn_files_view_release(old);
  if (st == TARN_OK) {
    if (snapshot_id != NULL) {
      *snapshot_id = view->snapshot_id;
    }
    pthread_mutex_lock(&l->mutex);
    old = l->view;
    l->view = view;
    pthread_mutex_unlock(&l->mutex);
    tn_files_view_release(old);
    tn_lookup_store_age(l->store, tn_env_now_ms(l->env));
    calm_workers(l);
  }
  pthread_mutex_unlock(&l->refresh_mutex);
  return st;
}

/* ------------------------------------------------------------------ getting */

/* Rows [begin, begin + n) of the keys: columns are shared where that needs no copy. */
static tarn_status cut_keys(tarn_env *env, const tn_batch *keys, int64_t begin, int64_t n,
                            tn_batch *out, tarn_error *err) {
  TN_TRY(tn_batch_init(env, keys->fields, keys->n_columns, out, err));
  out->n_rows = n;
  for (int32_t c = 0; c < keys->n_columns; c++) {
    TN_TRY(tn_vec_copy_range(env, &keys->columns[c], begin, n, &out->columns[c], err));
  }
  return TARN_OK;
}

static tarn_status get_chunks(tn_lookup *l, tn_lookup_worker *w, const tn_batch *keys,
                              tn_batch *batch, int64_t *rows, tarn_error *err) {
  tn_pieces pieces = {0};
  tn_batch some = {0}, piece = {0};
  tarn_status st = TARN_OK;
  for (int64_t begin = 0; begin < keys->n_rows; begin += TN_LOOKUP_CHUNK_KEYS) {
    int64_t left = keys->n_rows - begin, before = pieces.n_rows;
    int64_t n = left < TN_LOOKUP_CHUNK_KEYS ? left : TN_LOOKUP_CHUNK_KEYS;
    TN_TRY_TO(done, cut_keys(l->env, keys, begin, n, &some, err));
    TN_TRY_TO(done, tn_lookup_answer(l, w, &some, &piece, NULL, rows + begin, err));
    tn_batch_reset(l->env, &some);
    for (int64_t i = begin; i < begin + n; i++) {
      rows[i] += rows[i] >= 0 ? before : 0;
    }
    TN_TRY_TO(done, tn_pieces_add(&pieces, l->env, &piece, err));
  }
  st = tn_pieces_join(&pieces, l->env, l->out_fields, l->n_out, batch, err);
done:
  tn_batch_reset(l->env, &some);
  tn_batch_reset(l->env, &piece);
  tn_pieces_reset(&pieces, l->env);
  return st;
}

tarn_status tn_lookup_get(tn_lookup *l, const tn_batch *keys, tn_batch *batch, int64_t *rows,
                          tarn_error *err) {
  tn_lookup_worker *w;
  tarn_status st;
  TN_TRY(take_worker(l, &w, err));
  st = keys->n_rows <= TN_LOOKUP_CHUNK_KEYS ? tn_lookup_answer(l, w, keys, batch, NULL, rows, err)
                                            : get_chunks(l, w, keys, batch, rows, err);
  give_back(l, w);
  return st;
}

bool tn_lookup_is_plain(const tn_lookup *l) {
  return l->is_plain;
}

tarn_status tn_lookup_get_array(tn_lookup *l, const tn_batch *keys, struct ArrowArray *out,
                                int64_t *rows, tarn_error *err) {
  tn_lookup_worker *w;
  tn_batch batch = {0};
  tarn_status st;
  TN_TRY(take_worker(l, &w, err));
  if (keys->n_rows <= TN_LOOKUP_CHUNK_KEYS) {
    st = tn_lookup_answer(l, w, keys, &batch, out, rows, err);
  } else {
    st = get_chunks(l, w, keys, &batch, rows, err);
    st = st == TARN_OK ? tn_arrow_export_batch(l->env, &batch, NULL, out, err) : st;
  }
  give_back(l, w);
  return st;
}

void tn_lookup_get_stats(tn_lookup *l, tn_lookup_stats *out) {
  tn_lookup_store_stats store;
  tn_block_cache_stats blocks;
  tn_lookup_store_get_stats(l->store, &store);
  tn_block_cache_get_stats(l->cache, &blocks);
  pthread_mutex_lock(&l->mutex);
  out->snapshot_id = l->view->snapshot_id;
  out->n_keys = l->n_keys;
  out->n_found = l->n_found;
  out->n_merged = l->n_merged;
  pthread_mutex_unlock(&l->mutex);
  out->n_files = store.n_files;
  out->disk_bytes = store.disk_bytes;
  out->memory_bytes = blocks.held_bytes;
  out->n_made = store.n_made;
  out->n_dropped = store.n_dropped;
  out->read_bytes = store.read_bytes;
  out->block_hits = blocks.hits;
  out->block_misses = blocks.misses;
}
