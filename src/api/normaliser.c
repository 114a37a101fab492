/* normaliser.c - complete changelogs out of upserts, as handles. */
#include "stream/normaliser.h"
#include "api/handles.h"
#include "column/arrow_import.h"

struct tarn_normaliser {
  tarn_env *env;
  tn_arena arena;
  tn_field *fields; /* the row kind, then the columns */
  int32_t n_fields;
  tn_arrow_options arrow;
  tn_arrow_import *import;
  struct ArrowSchema schema; /* ours, which import matched */
  tn_normaliser *normaliser;
};

/* ------------------------------------------------------------------ life */

static tarn_status take_options(const tarn_normaliser_options *options,
                                tarn_normaliser_options *out, tarn_error *err) {
  const tarn_normaliser_options none = TARN_NORMALISER_OPTIONS_INIT;
  *out = none;
  if (options == NULL || options->struct_size < sizeof(size_t) ||
      options->struct_size > sizeof(*out)) {
    return tn_fail(err, TARN_E_INVALID,
                   "tarn_normaliser_options: use TARN_NORMALISER_OPTIONS_INIT");
  }
  memcpy(out, options, options->struct_size);
  if (out->folder == NULL || out->folder[0] == '\0') {
    return tn_fail(err, TARN_E_INVALID, "tarn_normaliser_options.folder is not set");
  }
  return out->memory_bytes >= 0
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID, "tarn_normaliser_options.memory_bytes is %lld",
                       (long long)out->memory_bytes);
}

static tarn_status find_column(const tarn_normaliser *n, const char *name, int32_t *out,
                               tarn_error *err) {
  *out = tn_fields_find(n->fields, n->n_fields, tn_slice_text(name));
  return *out >= 0 ? TARN_OK : tn_fail(err, TARN_E_NOT_FOUND, "there is no column '%s'", name);
}

/* How timestamps of more than six digits are given; all of them are given alike. Types are no
 * deeper than TN_MAX_TYPE_DEPTH, and so are schemas that they were taken from. */
static void find_times(const tn_type *type, const struct ArrowSchema *schema,
                       tn_arrow_options *out) {
  bool is_map = type->root == TN_MAP || type->root == TN_MULTISET;
  if ((type->root == TN_TIMESTAMP || type->root == TN_TIMESTAMP_LTZ) && type->precision > 6) {
    out->timestamp_ns_as_us |= strncmp(schema->format, "tsu", 3) == 0;
    out->timestamp_ns_as_decimal |= schema->format[0] == 'd';
    return;
  }
  if (is_map && schema->n_children == 1) {
    schema = schema->children[0];
  }
  for (int32_t i = 0; i < type->n_fields && i < schema->n_children; i++) {
    find_times(&type->fields[i].type, schema->children[i], out);
  }
}

static tarn_status prepare(tarn_normaliser *n, const struct ArrowSchema *schema, tarn_error *err) {
  TN_TRY(tn_api_arrow_fields(&n->arena, schema, &n->fields, &n->n_fields, err));
  if (n->n_fields < 2 || n->fields[0].type.root != TN_TINYINT) {
    return tn_fail(err, TARN_E_INVALID, "the first column is no row kind (int8)");
  }
  for (int32_t i = 0; i < n->n_fields; i++) {
    find_times(&n->fields[i].type, schema->children[i], &n->arrow);
  }
  TN_TRY(tn_arrow_export_schema(n->env, n->fields, n->n_fields, &n->arrow, &n->schema, err));
  return tn_arrow_import_prepare(&n->arena, &n->schema, n->fields + 1, n->n_fields - 1,
                                 n->fields[0].name, &n->import, err);
}

static tarn_status make(tarn_normaliser *n, const struct ArrowSchema *schema,
                        const char *const *keys, size_t n_keys, const tarn_normaliser_options *o,
                        tarn_error *err) {
  tn_normaliser_options own = {
      .keeps_unchanged = o->keeps_unchanged != 0,
      .store = {.folder = o->folder,
                .is_temporary = o->is_temporary != 0,
                .memory_bytes =
                    o->memory_bytes != 0 ? (size_t)o->memory_bytes : n->env->mem.budget_bytes / 2}};
  int32_t *columns, *places;
  bool *is_passed;
  TN_TRY(prepare(n, schema, err));
  if (n_keys > (size_t)n->n_fields || o->n_places > (size_t)n->n_fields) {
    return tn_fail(err, TARN_E_INVALID, "a key or a place of more columns than there are");
  }
  columns = tn_arena_calloc(&n->arena, n_keys + 1, sizeof(*columns));
  places = tn_arena_calloc(&n->arena, o->n_places + 1, sizeof(*places));
  is_passed = tn_arena_calloc(&n->arena, (size_t)n->n_fields, sizeof(*is_passed));
  if (columns == NULL || places == NULL || is_passed == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < n_keys; i++) {
    TN_TRY(find_column(n, keys[i], &columns[i], err));
  }
  for (size_t i = 0; i < o->n_places; i++) {
    TN_TRY(find_column(n, o->places[i], &places[i], err));
  }
  for (size_t i = 0; i < o->n_passed; i++) {
    int32_t at;
    TN_TRY(find_column(n, o->passed[i], &at, err));
    is_passed[at] = true;
  }
  own.fields = n->fields;
  own.n_fields = n->n_fields;
  own.keys = columns;
  own.n_keys = (int32_t)n_keys;
  own.places = places;
  own.n_places = (int32_t)o->n_places;
  own.is_passed = is_passed;
  return tn_normaliser_create(n->env, &own, &n->normaliser, err);
}

tarn_status tarn_normaliser_create(tarn_env *env, const struct ArrowSchema *schema,
                                   const char *const *keys, size_t n_keys,
                                   const tarn_normaliser_options *options, tarn_normaliser **out,
                                   tarn_error *err) {
  tarn_normaliser_options o;
  tarn_normaliser *n;
  tarn_status st;
  tn_error_reset(err);
  *out = NULL;
  TN_TRY(tn_env_check(env, err));
  TN_TRY(take_options(options, &o, err));
  n = tn_calloc(&env->mem, 1, sizeof(*n));
  if (n == NULL) {
    return tn_oom(err);
  }
  n->env = env;
  tn_arena_init(&n->arena, &env->mem, TN_API_TEXT_LIMIT);
  st = make(n, schema, keys, n_keys, &o, err);
  if (st != TARN_OK) {
    tarn_normaliser_free(n);
    return st;
  }
  *out = n;
  return TARN_OK;
}

void tarn_normaliser_free(tarn_normaliser *n) {
  if (n != NULL) {
    tarn_env *env = n->env;
    tn_normaliser_free(n->normaliser);
    if (n->schema.release != NULL) {
      n->schema.release(&n->schema);
    }
    tn_arena_reset(&n->arena);
    tn_free(&env->mem, n);
  }
}

/* ------------------------------------------------------------------ rows */

tarn_status tarn_normaliser_apply(tarn_normaliser *n, const struct ArrowArray *rows,
                                  struct ArrowArray *out, tarn_error *err) {
  tn_batch in, changes;
  const int8_t *kinds = NULL;
  tarn_status st;
  tn_error_reset(err);
  memset(out, 0, sizeof(*out));
  TN_TRY(tn_env_check(n->env, err));
  memset(&in, 0, sizeof(in));
  memset(&changes, 0, sizeof(changes));
  TN_TRY_TO(done, tn_arrow_import_rows(n->env, n->import, rows, 0, rows->length, &in, &kinds, err));
  TN_TRY_TO(done, tn_normaliser_apply(n->normaliser, kinds, &in, &changes, err));
  if (changes.n_rows > 0) {
    st = tn_arrow_export_batch(n->env, &changes, &n->arrow, out, err);
  }
done:
  if (st != TARN_OK) {
    tn_normaliser_break(n->normaliser); /* rows are missing in what it keeps, or were not given */
  }
  tn_batch_reset(n->env, &in);
  tn_batch_reset(n->env, &changes);
  return st;
}

/* ------------------------------------------------------------------ checkpoints */

tarn_status tarn_normaliser_checkpoint(tarn_normaliser *n, tarn_string *out, tarn_error *err) {
  tn_buf bytes;
  tarn_status st;
  tn_error_reset(err);
  memset(out, 0, sizeof(*out));
  TN_TRY(tn_env_check(n->env, err));
  tn_buf_init(&bytes, &n->env->mem, TN_API_TEXT_LIMIT);
  st = tn_normaliser_checkpoint(n->normaliser, &bytes, err);
  return tn_api_string(st, &bytes, out, err);
}

void tarn_normaliser_complete(tarn_normaliser *n) {
  if (tn_env_check(n->env, NULL) == TARN_OK) {
    tn_row_store_complete(tn_normaliser_store(n->normaliser));
  }
}

tarn_status tarn_normaliser_complete_until(tarn_normaliser *n, const void *bytes, size_t n_bytes,
                                           tarn_error *err) {
  tn_error_reset(err);
  TN_TRY(tn_env_check(n->env, err));
  return tn_row_store_complete_until(tn_normaliser_store(n->normaliser),
                                     tn_slice_of(bytes, n_bytes), err);
}

tarn_status tarn_normaliser_restore(tarn_normaliser *n, const void *bytes, size_t n_bytes,
                                    tarn_error *err) {
  tn_error_reset(err);
  TN_TRY(tn_env_check(n->env, err));
  return tn_row_store_restore(tn_normaliser_store(n->normaliser), tn_slice_of(bytes, n_bytes), err);
}

void tarn_normaliser_get_stats(const tarn_normaliser *n, tarn_normaliser_stats *out) {
  tn_row_store_stats stats;
  tarn_normaliser_stats all = TARN_NORMALISER_STATS_INIT;
  size_t size = out->struct_size < sizeof(all) ? out->struct_size : sizeof(all);
  tn_row_store_get_stats(tn_normaliser_store(n->normaliser), &stats);
  all.struct_size = size;
  all.keys = stats.n_keys;
  all.file_bytes = stats.log_bytes;
  all.garbage_bytes = stats.garbage_bytes;
  all.index_bytes = stats.index_bytes;
  all.compactions = stats.n_compactions;
  all.older_files = stats.n_older;
  memcpy(out, &all, size);
}
