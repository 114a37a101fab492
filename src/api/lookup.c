/* lookup.c - rows by their keys. */
#include <pthread.h>

#include "api/handles.h"
#include "base/utf8.h"
#include "column/arrow_import.h"
#include "lookup/lookup_table.h"

#define MAX_BORROWED 4 /* columns of a key that are not imported */

struct tarn_lookup {
  tarn_env *env;
  tarn_scan *scan; /* its columns; retained */
  tn_lookup *lookup;
  const tn_field *key_fields;
  int32_t n_key_fields;
  tn_arena arena;
  pthread_mutex_t mutex; /* guards import */
  bool has_mutex;
  tn_arrow_import *import; /* of keys that have our own schema */
  struct ArrowSchema key_schema;
  bool is_plain;     /* rows have the columns that are shown, in their order */
  bool gives_arrays; /* and leave as they are */
};

/* ------------------------------------------------------------------ life */

static tarn_status open_scan(tarn_lookup *l, tarn_table *table, const tarn_lookup_options *o,
                             tarn_error *err) {
  tarn_scan_options scan = TARN_SCAN_OPTIONS_INIT;
  scan.columns = o->columns;
  scan.n_columns = o->n_columns;
  scan.timestamp_ns_as_us = o->timestamp_ns_as_us;
  scan.cancel = o->cancel;
  return tarn_scan_create(table, &scan, &l->scan, err);
}

static tarn_status prepare_keys(tarn_lookup *l, tarn_error *err) {
  static const tn_arrow_options plain = {false};
  l->key_fields = tn_lookup_key_fields(l->lookup, &l->n_key_fields);
  TN_TRY(
      tn_arrow_export_schema(l->env, l->key_fields, l->n_key_fields, &plain, &l->key_schema, err));
  return tn_arrow_import_prepare(&l->arena, &l->key_schema, l->key_fields, l->n_key_fields, NULL,
                                 &l->import, err);
}

static tarn_status open_lookup(tarn_lookup *l, tarn_table *table, const tarn_lookup_options *o,
                               tarn_error *err) {
  tn_lookup_options options = {.folder = o->temp_folder,
                               .max_memory = o->max_memory_bytes,
                               .max_disk = o->max_disk_bytes,
                               .retention_ms = o->retention_ms,
                               .cancel = o->cancel};
  l->has_mutex = pthread_mutex_init(&l->mutex, NULL) == 0;
  if (!l->has_mutex) {
    return tn_oom(err);
  }
  TN_TRY(open_scan(l, table, o, err));
  l->is_plain = l->scan->n_out == l->scan->n_read;
  for (int32_t i = 0; i < l->scan->n_out && l->is_plain; i++) {
    l->is_plain = l->scan->sources[i].column == i && l->scan->sources[i].n_path == 0;
  }
  options.fields = l->scan->read_fields;
  options.n_fields = l->scan->n_read;
  TN_TRY(tn_lookup_open(table->table, &options, &l->lookup, err));
  l->gives_arrays = l->is_plain && tn_lookup_is_plain(l->lookup);
  return prepare_keys(l, err);
}

tarn_status tarn_lookup_open(tarn_table *table, const tarn_lookup_options *options,
                             tarn_lookup **out, tarn_error *err) {
  static const tarn_lookup_options standard = TARN_LOOKUP_OPTIONS_INIT;
  tarn_lookup_options o = standard;
  tarn_env *env = table->env;
  tarn_lookup *l;
  tarn_status st;
  tn_error_reset(err);
  *out = NULL;
  TN_TRY(tn_env_check(env, err));
  if (options != NULL) {
    memcpy(&o, options, options->struct_size < sizeof(o) ? options->struct_size : sizeof(o));
  }
  if (o.temp_folder == NULL || o.temp_folder[0] == '\0') {
    return tn_fail(err, TARN_E_INVALID, "tarn_lookup_options.temp_folder is not set");
  }
  if (table->system != NULL) {
    return tn_fail(err, TARN_E_INVALID, "%s: rows of system tables cannot be looked up",
                   table->system->full_name);
  }
  l = tn_calloc(&env->mem, 1, sizeof(*l));
  if (l == NULL) {
    return tn_oom(err);
  }
  l->env = env;
  tn_arena_init(&l->arena, &env->mem, TN_API_TEXT_LIMIT);
  st = open_lookup(l, table, &o, err);
  if (st != TARN_OK) {
    tarn_lookup_free(l);
    return st;
  }
  *out = l;
  return TARN_OK;
}

void tarn_lookup_free(tarn_lookup *l) {
  if (l == NULL) {
    return;
  }
  if (l->key_schema.release != NULL) {
    l->key_schema.release(&l->key_schema);
  }
  tn_lookup_free(l->lookup);
  tn_api_scan_release(l->scan);
  tn_arena_reset(&l->arena);
  if (l->has_mutex) {
    pthread_mutex_destroy(&l->mutex);
  }
  tn_free(&l->env->mem, l);
}

/* ------------------------------------------------------------------ schemas */

tarn_status tarn_lookup_key_schema(tarn_lookup *l, struct ArrowSchema *out, tarn_error *err) {
  static const tn_arrow_options plain = {false};
  tn_error_reset(err);
  TN_TRY(tn_env_check(l->env, err));
  return tn_arrow_export_schema(l->env, l->key_fields, l->n_key_fields, &plain, out, err);
}

tarn_status tarn_lookup_schema(tarn_lookup *l, struct ArrowSchema *out, tarn_error *err) {
  return tarn_scan_schema(l->scan, out, err);
}

/* ------------------------------------------------------------------ getting */

static tarn_status import_own(tarn_lookup *l, const struct ArrowArray *array, tn_batch *out,
                              tarn_error *err) {
  const int8_t *kinds;
  tarn_status st;
  pthread_mutex_lock(&l->mutex);
  st = tn_arrow_import_rows(l->env, l->import, array, 0, array->length, out, &kinds, err);
  pthread_mutex_unlock(&l->mutex);
  return st;
}

/* Values of a type that need no look before they are a key. */
static bool is_number(const tn_type *type) {
  switch (type->root) {
    case TN_TINYINT:
    case TN_SMALLINT:
    case TN_INT:
    case TN_BIGINT:
    case TN_FLOAT:
    case TN_DOUBLE:
    case TN_DATE:
      return true;
    case TN_TIMESTAMP:
    case TN_TIMESTAMP_LTZ:
      return type->precision > 0 && type->precision < 7;
    default:
      return false;
  }
}

/* Is it a whole array of n values at least, with none null? Arrays that are more are imported. */
static bool is_simple(const struct ArrowArray *a, int64_t first, int64_t n, int64_t n_buffers) {
  return a != NULL && a->release != NULL && a->n_buffers == n_buffers && a->buffers != NULL &&
         a->dictionary == NULL && a->offset >= 0 && a->length >= n && first <= a->length - n &&
         a->offset <= INT32_MAX && (a->buffers[0] == NULL || a->null_count == 0);
}

/* Texts and bytes of any length; texts are UTF-8, which is what importing would look at, too. */
static bool borrow_bytes(const struct ArrowArray *a, const tn_type *type, int64_t first, int64_t n,
                         tn_vec *out) {
  const int32_t *offsets = a->buffers[1];
  const uint8_t *bytes = a->buffers[2];
  if (offsets == NULL || bytes == NULL || (uintptr_t)offsets % sizeof(*offsets) != 0) {
    return false;
  }
  offsets += a->offset + first;
  for (int64_t i = 0; i < n; i++) {
    int64_t len = (int64_t)offsets[i + 1] - offsets[i];
    if (offsets[i] < 0 || len < 0 ||
        (len > 0 && tn_type_is_string(type) &&
         tn_utf8_check(bytes + offsets[i], (size_t)len) != (size_t)len)) {
      return false; /* importing tells what is wrong */
    }
  }
  *out = (tn_vec){.type = type,
                  .layout = TN_LAYOUT_BYTES,
                  .length = n,
                  .offsets = (int32_t *)(uintptr_t)offsets, /* only read, like the values */
                  .values = (void *)(uintptr_t)bytes};
  return true;
}

/* A key column where it lies. false: it has to be imported. */
static bool borrow_column(const struct ArrowArray *a, const tn_type *type, int64_t first, int64_t n,
                          tn_vec *out) {
  size_t width = tn_layout_width(tn_type_layout(type));
  uintptr_t at;
  if (tn_type_layout(type) == TN_LAYOUT_BYTES && type->length == INT32_MAX) {
    return is_simple(a, first, n, 3) && a->n_children == 0 && borrow_bytes(a, type, first, n, out);
  }
  if (!is_number(type) || !is_simple(a, first, n, 2) || a->n_children != 0 ||
      a->buffers[1] == NULL) {
    return false;
  }
  at = (uintptr_t)a->buffers[1] + (size_t)(a->offset + first) * width;
  *out = (tn_vec){.type = type,
                  .layout = tn_type_layout(type),
                  .length = n,
                  .values = (void *)at}; /* only read: keys are borrowed for the call */
  return at % width == 0;
}

/* Keys of our own schema as they lie in the array, without a copy. columns: room for MAX_BORROWED.
 * false: they have to be imported. */
static bool borrow_keys(const tarn_lookup *l, const struct ArrowArray *keys, tn_vec *columns,
                        tn_batch *out) {
  if (l->n_key_fields > MAX_BORROWED || keys->n_children != l->n_key_fields ||
      keys->children == NULL || !is_simple(keys, 0, keys->length, 1) ||
      keys->offset > INT32_MAX - keys->length) {
    return false;
  }
  for (int32_t i = 0; i < l->n_key_fields; i++) {
    if (!borrow_column(keys->children[i], &l->key_fields[i].type, keys->offset, keys->length,
                       &columns[i])) {
      return false;
    }
  }
  *out = (tn_batch){.n_rows = keys->length,
                    .n_columns = l->n_key_fields,
                    .fields = l->key_fields,
                    .columns = columns,
                    .first_position = -1};
  return true;
}

static tarn_status import_given(tarn_lookup *l, const struct ArrowSchema *schema,
                                const struct ArrowArray *array, tn_batch *out, tarn_error *err) {
  tn_arrow_import *import;
  const int8_t *kinds;
  tn_arena arena;
  tarn_status st = TARN_OK;
  tn_arena_init(&arena, &l->env->mem, TN_API_TEXT_LIMIT);
  TN_TRY_TO(done, tn_arrow_import_prepare(&arena, schema, l->key_fields, l->n_key_fields, NULL,
                                          &import, err));
  for (int32_t i = 0; i < l->n_key_fields; i++) {
    if (!tn_arrow_import_has(import, i)) {
      st = tn_fail(err, TARN_E_INVALID, "the keys have no column '%s', which the primary key has",
                   l->key_fields[i].name);
      goto done;
    }
  }
  st = tn_arrow_import_rows(l->env, import, array, 0, array->length, out, &kinds, err);
done:
  tn_arena_reset(&arena);
  return st;
}

/* Look up keys and give the rows out. */
static tarn_status get(tarn_lookup *l, const tn_batch *keys, struct ArrowArray *out, int64_t *rows,
                       tarn_error *err) {
  tn_batch found = {0}, shown = {0};
  tarn_status st = TARN_OK;
  if (l->gives_arrays) {
    return tn_lookup_get_array(l->lookup, keys, out, rows, err);
  }
  TN_TRY_TO(done, tn_lookup_get(l->lookup, keys, &found, rows, err));
  if (l->is_plain) {
    for (int32_t i = 0; i < found.n_columns; i++) {
      tn_vec_retype(&found.columns[i], &l->scan->out_fields[i].type);
    }
    found.fields = l->scan->out_fields;
    tn_batch_move(&shown, &found);
  } else {
    TN_TRY_TO(done, tn_api_project(l->scan, &found, &shown, err));
  }
  st = tn_arrow_export_batch(l->env, &shown, &l->scan->arrow, out, err);
done:
  tn_batch_reset(l->env, &found);
  return st;
}

static tarn_status import_and_get(tarn_lookup *l, const struct ArrowSchema *key_schema,
                                  const struct ArrowArray *keys, struct ArrowArray *out,
                                  int64_t *rows, tarn_error *err) {
  tn_batch batch = {0};
  tarn_status st = key_schema == NULL ? import_own(l, keys, &batch, err)
                                      : import_given(l, key_schema, keys, &batch, err);
  for (int32_t i = 0; i < batch.n_columns && st == TARN_OK; i++) {
    st = tn_vec_flatten(l->env, &batch.columns[i], err);
  }
  st = st == TARN_OK ? get(l, &batch, out, rows, err) : st;
  tn_batch_reset(l->env, &batch);
  return st;
}

tarn_status tarn_lookup_get(tarn_lookup *l, const struct ArrowSchema *key_schema,
                            const struct ArrowArray *keys, struct ArrowArray *out, int64_t *rows,
                            tarn_error *err) {
  tn_batch borrowed;
  tn_vec columns[MAX_BORROWED];
  int64_t few[16], *room = NULL;
  tarn_status st;
  tn_error_reset(err);
  memset(out, 0, sizeof(*out));
  TN_TRY(tn_env_check(l->env, err));
  if (keys == NULL || keys->release == NULL) {
    return tn_fail(err, TARN_E_INVALID, "an array that is released");
  }
  if (keys->length < 0 || keys->length > INT32_MAX) {
    return tn_fail(err, TARN_E_INVALID, "an array of %lld keys", (long long)keys->length);
  }
  if (rows == NULL && keys->length <= (int64_t)(sizeof(few) / sizeof(few[0]))) {
    rows = few;
  } else if (rows == NULL) {
    rows = room = tn_alloc(&l->env->mem, (size_t)keys->length * sizeof(*room));
    if (room == NULL) {
      return tn_oom(err);
    }
  }
  st = key_schema == NULL && borrow_keys(l, keys, columns, &borrowed)
           ? get(l, &borrowed, out, rows, err)
           : import_and_get(l, key_schema, keys, out, rows, err);
  tn_free(&l->env->mem, room);
  return st;
}

tarn_status tarn_lookup_refresh(tarn_lookup *l, int64_t *snapshot_id, tarn_error *err) {
  tn_error_reset(err);
  TN_TRY(tn_env_check(l->env, err));
  return tn_lookup_refresh(l->lookup, snapshot_id, err);
}

void tarn_lookup_get_stats(tarn_lookup *l, tarn_lookup_stats *out) {
  tn_lookup_stats stats;
  tarn_lookup_stats all = TARN_LOOKUP_STATS_INIT;
  size_t size = out->struct_size < sizeof(all) ? out->struct_size : sizeof(all);
  tn_lookup_get_stats(l->lookup, &stats);
  all.snapshot_id = stats.snapshot_id;
  all.keys = stats.n_keys;
  all.found = stats.n_found;
  all.merged = stats.n_merged;
  all.local_files = stats.n_files;
  all.disk_bytes = stats.disk_bytes;
  all.memory_bytes = stats.memory_bytes;
  all.files_made = stats.n_made;
  all.files_dropped = stats.n_dropped;
  all.bytes_read = stats.read_bytes;
  all.block_hits = stats.block_hits;
  all.block_misses = stats.block_misses;
  all.struct_size = size;
  memcpy(out, &all, size);
}
