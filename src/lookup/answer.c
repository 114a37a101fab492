/* answer.c - some keys looked up in a view.
 *
 *   1. keys as bytes, hashes, and for each the sections that may have it
 *   2. section after section: its candidates; where the newest row is the answer (or there is one
 *      candidate), that is all
 *   3. else the candidates of all such keys of the section are merged, as runs in memory
 *   4. rows that were found as they are, and merged ones, gathered in the order of the keys
 */
#include "lookup/answer.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/sort.h"
#include "column/arrow.h"
#include "column/binary_row.h"
#include "lookup/row_code.h"

#define AHEAD 12 /* keys whose places in indexes are fetched ahead */
#define SLOT_AHEAD 8
#define ROW_AHEAD 4
#define FEW_FILES 32    /* of a section that are taken hold of at once */
#define MERGE_KEYS 4096 /* that are merged at once */

typedef struct key_place {
  size_t at, len; /* in key_bytes */
  uint64_t hash;
} key_place;

/* A key that a section may have. */
typedef struct reference {
  tn_view_section *section;
  int64_t key;
} reference;

typedef enum answer_kind { ANSWER_NONE, ANSWER_ROW, ANSWER_MERGED } answer_kind;

typedef struct answer {
  answer_kind kind;
  tn_lookup_row row; /* ROW: lies in `rows` */
  tn_row_ref merged; /* MERGED: a merged batch and its row */
} answer;

/* A row of a key that is to be merged. */
typedef struct candidate {
  int64_t key;
  int32_t file; /* of the section */
  tn_lookup_row row;
} candidate;

typedef struct call {
  tn_lookup *l;
  tn_lookup_worker *w;
  const tn_files_view *view; /* the worker's */
  const tn_batch *keys;
  int64_t now_ms;
  tn_arena *arena; /* the worker's, like the buffers */
  tn_buf *key_bytes, *rows;
  key_place *places;
  tn_datum *datums; /* n_keys of the layout for each key */
  reference *references;
  size_t n_references, capacity;
  answer *answers;

  candidate *candidates;
  size_t n_candidates, candidates_capacity;
  int64_t n_pending; /* keys of them */
  tn_batch *merged;
  size_t n_merged, merged_capacity;
} call;

/* ------------------------------------------------------------------ keys */

static tarn_status refer(call *c, tn_view_section *section, int64_t key, tarn_error *err) {
  if (section == NULL) {
    return TARN_OK;
  }
  if (!tn_arena_grow(c->arena, (void **)&c->references, &c->capacity, c->n_references,
                     sizeof(*c->references))) {
    return tn_oom(err);
  }
  c->references[c->n_references++] = (reference){section, key};
  return TARN_OK;
}

/* The bucket of key i among n_buckets; -1: no hash tells. */
static tarn_status bucket_of(call *c, int64_t i, int32_t n_buckets, int32_t *out, tarn_error *err) {
  const tn_lookup *l = c->l;
  const tn_table_facts *facts = &l->table->facts;
  tn_binary_row_writer w;
  tn_binary_row row;
  size_t before = c->key_bytes->len;
  tarn_status st;
  *out = 0;
  if (n_buckets == 1) {
    return TARN_OK;
  }
  TN_TRY(tn_binary_row_begin(&w, c->key_bytes, facts->n_bucket_columns, err));
  for (int32_t k = 0; k < facts->n_bucket_columns; k++) {
    tn_datum value = tn_vec_datum(&c->keys->columns[l->bucket_columns[k]], i);
    TN_TRY(tn_binary_row_set(&w, k, l->bucket_types[k], &value, err));
  }
  TN_TRY(tn_binary_row_view(tn_slice_of(c->key_bytes->data + before, c->key_bytes->len - before),
                            facts->n_bucket_columns, "bucket key", &row, err));
  st = tn_bucket_of((tn_bucket_function)facts->bucket_function, &row, l->bucket_types, n_buckets,
                    out, err);
  c->key_bytes->len = before;
  if (st == TARN_E_UNSUPPORTED) {
    tn_error_reset(err);
    *out = -1;
    return TARN_OK;
  }
  return st;
}

static tarn_status refer_partition(call *c, const tn_view_partition *p, int64_t i,
                                   tarn_error *err) {
  const tn_schema *schema = c->l->table->schema;
  const tn_datum *key = c->datums + i * c->l->layout.n_keys;
  for (int32_t b = 0; b < p->n_buckets && p->buckets[b].n_buckets == 0; b++) {
    TN_TRY(refer(c, tn_view_section_of(schema, &p->buckets[b], key), i, err));
  }
  for (int32_t m = 0; m < p->n_moduli; m++) {
    int32_t number = -1;
    if (c->l->bucket_columns != NULL) {
      TN_TRY(bucket_of(c, i, p->moduli[m], &number, err));
    }
    if (number >= 0) {
      const tn_view_bucket *bucket = tn_view_bucket_of(p, p->moduli[m], number);
      TN_TRY(bucket == NULL ? TARN_OK : refer(c, tn_view_section_of(schema, bucket, key), i, err));
      continue;
    }
    for (int32_t b = 0; b < p->n_buckets; b++) {
      if (p->buckets[b].n_buckets == p->moduli[m]) {
        TN_TRY(refer(c, tn_view_section_of(schema, &p->buckets[b], key), i, err));
      }
    }
  }
  return TARN_OK;
}

static tarn_status refer_key(call *c, int64_t i, tarn_error *err) {
  const tn_lookup *l = c->l;
  const tn_schema *schema = l->table->schema;
  size_t before = c->key_bytes->len;
  tn_map_entry *entry;
  if (l->partition_columns == NULL || schema->n_partition_keys == 0) {
    for (int32_t p = 0; p < c->view->n_partitions; p++) {
      TN_TRY(refer_partition(c, &c->view->all[p], i, err));
    }
    return TARN_OK;
  }
  for (int32_t k = 0; k < schema->n_partition_keys; k++) {
    TN_TRY(tn_row_put(c->key_bytes, &c->keys->columns[l->partition_columns[k]], i, err));
  }
  entry = tn_map_find(&c->view->partitions,
                      tn_slice_of(c->key_bytes->data + before, c->key_bytes->len - before));
  c->key_bytes->len = before;
  return entry != NULL ? refer_partition(c, entry->value.ptr, i, err) : TARN_OK;
}

static tarn_status take_keys(call *c, tarn_error *err) {
  const tn_lookup *l = c->l;
  int32_t n_keys = l->layout.n_keys;
  for (int64_t i = 0; i < c->keys->n_rows; i++) {
    key_place *place = &c->places[i];
    bool has_null = false;
    for (int32_t k = 0; k < c->keys->n_columns; k++) {
      has_null = has_null || tn_vec_is_null(&c->keys->columns[k], i);
    }
    if (has_null) {
      continue;
    }
    place->at = c->key_bytes->len;
    for (int32_t k = 0; k < n_keys; k++) {
      const tn_vec *vec = &c->keys->columns[l->key_columns[k]];
      TN_TRY(tn_row_put_key(c->key_bytes, vec, i, err));
      c->datums[i * n_keys + k] = tn_vec_datum(vec, i);
    }
    place->len = c->key_bytes->len - place->at;
    place->hash = tn_lookup_hash(tn_slice_of(c->key_bytes->data + place->at, place->len));
    TN_TRY(refer_key(c, i, err));
  }
  return TARN_OK;
}

static tn_slice key_of(const call *c, int64_t key) {
  return tn_slice_of(c->key_bytes->data + c->places[key].at, c->places[key].len);
}

/* ------------------------------------------------------------------ candidates */

/* Need candidates of the section be merged? */
static bool is_merged(const call *c, const tn_view_section *s) {
  return !s->is_raw && s->n_runs > 1 && !c->l->newest_wins;
}

/* Does a file have a row of the key that is not deleted? *is_found: it is the last of c->rows. */
static tarn_status ask_file(call *c, const tn_view_section *s, int32_t f, int64_t key,
                            tn_lookup_row *out, bool *is_found, tarn_error *err) {
  const tn_schema *schema = c->l->table->schema;
  const tn_view_file *file = &s->files[f];
  const tn_datum *values = c->datums + key * c->l->layout.n_keys;
  size_t before = c->rows->len;
  tn_lookup_file *held = c->w->held[file->number];
  *is_found = false;
  /* A file that can be asked for nothing is; one that is to be made or read is looked at first. */
  if ((held == NULL || held->tags == NULL) &&
      (tn_interval_compare(schema, values, file->min) < 0 ||
       tn_interval_compare(schema, values, file->max) > 0)) {
    return TARN_OK;
  }
  if (held == NULL) {
    TN_TRY(tn_lookup_slot_file(file->slot, file->split, file->index, c->now_ms, &held, err));
    tn_lookup_worker_keep(c->w, file, held);
  } else if (s->n_files > FEW_FILES) { /* else hold_section() did */
    tn_lookup_slot_touch(file->slot, c->now_ms, tn_lookup_store_made(c->w->store));
  }
  TN_TRY(
      tn_lookup_file_find(held, key_of(c, key), c->places[key].hash, c->rows, out, is_found, err));
  if (*is_found && file->deletions != NULL &&
      tn_dv_contains(file->deletions, (int64_t)out->position)) {
    c->rows->len = before;
    *is_found = false;
  }
  return TARN_OK;
}

/* What a key will touch in files at hand is fetched in three steps, each when the one before it has
 * had the time of some keys. */
typedef enum fetch { FETCH_TAG, FETCH_TAG_AND_SLOT, FETCH_SLOT, FETCH_ROW } fetch;

static void prefetch(const call *c, const tn_view_section *s, int64_t key, fetch what) {
  uint64_t hash = c->places[key].hash;
  for (int32_t f = 0; f < s->n_files; f++) {
    const tn_lookup_file *held = c->w->held[s->files[f].number];
    if (held == NULL) {
      continue;
    }
    if (what <= FETCH_TAG_AND_SLOT) {
      tn_lookup_file_prefetch(held, hash, what == FETCH_TAG_AND_SLOT);
    } else if (what == FETCH_SLOT) {
      tn_lookup_file_prefetch_slot(held, hash);
    } else {
      tn_lookup_file_prefetch_row(held, hash);
    }
  }
}

/* Before key i of n is looked up. */
static void prefetch_ahead(const call *c, const tn_view_section *s, const reference *const *refs,
                           int64_t i, int64_t n) {
  if (s->n_files > FEW_FILES) {
    return;
  }
  if (n == 1) {
    prefetch(c, s, refs[0]->key, FETCH_TAG_AND_SLOT);
    return;
  }
  for (int64_t k = i == 0 ? 0 : i + AHEAD; k < n && k <= i + AHEAD; k++) {
    prefetch(c, s, refs[k]->key, FETCH_TAG);
  }
  if (i + SLOT_AHEAD < n) {
    prefetch(c, s, refs[i + SLOT_AHEAD]->key, FETCH_SLOT);
  }
  if (i + ROW_AHEAD < n) {
    prefetch(c, s, refs[i + ROW_AHEAD]->key, FETCH_ROW);
  }
}

/* The file of a group of the section that a key is to be looked for in; -1: none. */
static int32_t file_of(const call *c, const tn_view_section *s, int32_t group, int64_t key) {
  return tn_view_file_of(c->l->table->schema, s, &s->groups[group],
                         c->datums + key * c->l->layout.n_keys);
}

/* The row of a key where no two rows are put together. */
static tarn_status find_newest(call *c, const tn_view_section *s, int64_t key, tarn_error *err) {
  const tn_table_facts *facts = &c->l->table->facts;
  tn_lookup_row best = {0};
  int32_t best_rank = -1;
  bool has_deep = false;
  for (int32_t g = 0; g < s->n_groups; g++) {
    const tn_view_file *file = &s->files[s->groups[g].begin];
    tn_lookup_row row;
    bool is_found, is_deep = file->meta->level > 0;
    int32_t f;
    if ((best_rank >= 0 && (s->is_raw || file->rest_max < best.sequence)) ||
        (has_deep && is_deep && c->l->spec.needs_lookup)) {
      break;
    }
    f = file_of(c, s, g, key);
    if (f < 0) {
      continue;
    }
    TN_TRY(ask_file(c, s, f, key, &row, &is_found, err));
    if (!is_found) {
      continue;
    }
    file = &s->files[f];
    has_deep = has_deep || is_deep;
    if (s->is_raw) {
      row.kind = TN_ROW_INSERT;
    } else if (tn_row_kind_is_retract(row.kind) && (facts->ignore_delete || s->n_runs == 1)) {
      if (facts->merge_engine == TN_ENGINE_FIRST_ROW && !facts->ignore_delete) {
        return tn_first_row_refuse(c->l->table->full_name, err);
      }
      continue;
    }
    if (best_rank < 0 || row.sequence > best.sequence ||
        (row.sequence == best.sequence && file->rank > best_rank)) {
      best = row;
      best_rank = file->rank;
    }
  }
  if (best_rank >= 0 && !tn_row_kind_is_retract(best.kind)) {
    c->answers[key] = (answer){.kind = ANSWER_ROW, .row = best};
  }
  return TARN_OK;
}

/* All rows of a key: one is the answer, more wait to be merged. */
static tarn_status find_all(call *c, const tn_view_section *s, int64_t key, tarn_error *err) {
  size_t before = c->n_candidates;
  for (int32_t g = 0; g < s->n_groups; g++) {
    candidate found = {.key = key, .file = file_of(c, s, g, key)};
    bool is_found;
    if (found.file < 0) {
      continue;
    }
    TN_TRY(ask_file(c, s, found.file, key, &found.row, &is_found, err));
    if (!is_found) {
      continue;
    }
    if (!tn_arena_grow(c->arena, (void **)&c->candidates, &c->candidates_capacity, c->n_candidates,
                       sizeof(*c->candidates))) {
      return tn_oom(err);
    }
    c->candidates[c->n_candidates++] = found;
  }
  if (c->n_candidates - before == 1 && !c->l->spec.engine->wants_single_rows) {
    tn_lookup_row row = c->candidates[--c->n_candidates].row;
    if (!tn_row_kind_is_retract(row.kind)) {
      c->answers[key] = (answer){.kind = ANSWER_ROW, .row = row};
    }
  }
  c->n_pending += c->n_candidates > before;
  return TARN_OK;
}

/* ------------------------------------------------------------------ rows as columns */

/* Rows of c->rows as stored columns; those that nobody wants stay empty. */
static tarn_status decode_rows(const call *c, const tn_lookup_row *const *rows, int64_t n,
                               const bool *is_wanted, tn_batch *out, tarn_error *err) {
  const tn_lookup_layout *layout = &c->l->layout;
  tarn_env *env = c->l->env;
  TN_TRY(tn_batch_init(env, layout->fields, layout->n_fields, out, err));
  out->n_rows = n;
  for (int32_t k = 0; k < layout->n_fields; k++) {
    if (is_wanted == NULL || is_wanted[k]) {
      TN_TRY(tn_row_vec_begin(env, n, &out->columns[k], err));
    }
  }
  for (int64_t i = 0; i < n; i++) {
    const uint8_t *data = tn_lookup_row_data(rows[i], c->rows);
    tn_row_cursor at = {data + rows[i]->key_at, data + rows[i]->values_at};
    for (int32_t k = 0; k < layout->n_fields; k++) {
      if (k == layout->n_keys) {
        at = (tn_row_cursor){data + rows[i]->values_at, data + rows[i]->end};
      }
      if (is_wanted == NULL || is_wanted[k]) {
        TN_TRY(tn_row_take(env, &at, k < layout->n_keys, &out->columns[k], err));
      } else {
        TN_TRY(tn_row_skip(&at, k < layout->n_keys, &out->columns[k], err));
      }
    }
  }
  for (int32_t k = 0; k < layout->n_fields; k++) {
    if (is_wanted == NULL || is_wanted[k]) {
      TN_TRY(tn_row_vec_end(env, &out->columns[k], err));
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ merging */

/* A run in memory: given at once. */
typedef struct memory_run {
  tn_merge_input input;
  tarn_env *env;
  tn_merge_rows rows; /* n_rows == 0: given */
  tn_batch values;
} memory_run;

static tarn_status memory_next(tn_merge_input *input, int64_t max_rows, tn_merge_rows *out,
                               tarn_error *err) {
  memory_run *run = TN_CONTAINER_OF(input, memory_run, input);
  (void)err;
  (void)max_rows; /* it has no more than the spec asks for */
  if (run->rows.keys.n_rows > 0) {
    tn_merge_rows_reset(run->env, out);
    *out = run->rows;
    memset(&run->rows, 0, sizeof(run->rows));
  }
  return TARN_OK;
}

static tarn_status memory_values(tn_merge_input *input, tn_batch *out, tarn_error *err) {
  memory_run *run = TN_CONTAINER_OF(input, memory_run, input);
  (void)err;
  tn_batch_move(out, &run->values);
  return TARN_OK;
}

static void memory_free(tn_merge_input *input) {
  memory_run *run = TN_CONTAINER_OF(input, memory_run, input);
  tn_merge_rows_reset(run->env, &run->rows);
  tn_batch_reset(run->env, &run->values);
  tn_free(&run->env->mem, run);
}

static const tn_merge_input_ops memory_ops = {memory_next, memory_values, memory_free};

static tarn_status fill_system(memory_run *run, const tn_lookup_row *const *rows, int64_t n,
                               tarn_error *err) {
  tn_merge_rows *out = &run->rows;
  TN_TRY(tn_buffer_create(run->env, (size_t)n * 8, &out->sequences_buffer, err));
  TN_TRY(tn_buffer_create(run->env, (size_t)n, &out->kinds_buffer, err));
  out->sequences = (int64_t *)(void *)out->sequences_buffer->data;
  out->kinds = (int8_t *)(void *)out->kinds_buffer->data;
  for (int64_t i = 0; i < n; i++) {
    out->sequences[i] = rows[i]->sequence;
    out->kinds[i] = rows[i]->kind;
  }
  return TARN_OK;
}

/* The candidates of one file as a run. *out NULL: it has none. */
static tarn_status make_run(call *c, const tn_view_section *s, int32_t f,
                            const tn_lookup_row **rows, tn_merge_input **out, tarn_error *err) {
  const tn_merge_spec *spec = &c->l->spec;
  tarn_env *env = c->l->env;
  memory_run *run;
  tn_batch all = {0};
  int64_t n = 0;
  tarn_status st;
  *out = NULL;
  for (size_t i = 0; i < c->n_candidates; i++) {
    if (c->candidates[i].file == f) {
      rows[n++] = &c->candidates[i].row;
    }
  }
  if (n == 0) {
    return TARN_OK;
  }
  run = tn_calloc(&env->mem, 1, sizeof(*run));
  if (run == NULL) {
    return tn_oom(err);
  }
  run->input.ops = &memory_ops;
  run->env = env;
  TN_TRY_TO(done, decode_rows(c, rows, n, NULL, &all, err));
  TN_TRY_TO(done, tn_batch_init(env, spec->key_fields, spec->n_key_fields, &run->rows.keys, err));
  TN_TRY_TO(done, tn_batch_init(env, spec->value_fields, spec->n_value_fields, &run->values, err));
  for (int32_t k = 0; k < all.n_columns; k++) {
    tn_vec *to = k < spec->n_key_fields ? &run->rows.keys.columns[k]
                                        : &run->values.columns[k - spec->n_key_fields];
    tn_vec_reset(env, to);
    tn_vec_move(to, &all.columns[k]);
  }
  run->rows.keys.n_rows = n;
  run->values.n_rows = n;
  TN_TRY_TO(done, fill_system(run, rows, n, err));
  run->rows.level = s->files[f].meta->level;
  run->rows.rank = s->files[f].rank;
  run->rows.path = c->l->table->full_name;
  *out = &run->input;
  run = NULL;
done:
  tn_batch_reset(env, &all);
  if (run != NULL) {
    memory_free(&run->input);
  }
  return st;
}

/* Merged rows to their keys: both ascend. keys: the different ones, `at` the first that is left. */
static tarn_status match_merged(call *c, tn_batch *merged, const int64_t *keys, int64_t n_keys,
                                int64_t *at, tarn_error *err) {
  const tn_lookup *l = c->l;
  int32_t first = l->n_out;
  if (c->n_merged >= UINT32_MAX - 1 ||
      !tn_arena_grow(c->arena, (void **)&c->merged, &c->merged_capacity, c->n_merged,
                     sizeof(*c->merged))) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < merged->n_rows; i++) {
    bool is_same = false;
    for (; *at < n_keys && !is_same; ++*at) {
      is_same = true;
      for (int32_t k = 0; k < l->layout.n_keys && is_same; k++) {
        is_same = tn_key_compare_value(&merged->columns[first + k], i,
                                       &c->keys->columns[l->key_columns[k]], keys[*at]) == 0;
      }
      if (is_same) {
        c->answers[keys[*at]] =
            (answer){.kind = ANSWER_MERGED,
                     .merged = {.source = (uint32_t)c->n_merged + 1, .row = (uint32_t)i}};
      }
    }
    if (!is_same) {
      return tn_fail(err, TARN_E_INTERNAL, "%s: a merged row has no key that was asked for",
                     l->table->full_name);
    }
  }
  c->merged[c->n_merged++] = *merged;
  memset(merged, 0, sizeof(*merged));
  return TARN_OK;
}

static tarn_status run_merger(call *c, tn_merger *merger, const int64_t *keys, int64_t n_keys,
                              tarn_error *err) {
  tn_batch merged = {0};
  int64_t at = 0;
  tarn_status st;
  for (;;) {
    TN_TRY_TO(done, tn_merger_next(merger, &merged, NULL, NULL, err));
    if (merged.n_rows == 0) {
      break;
    }
    TN_TRY_TO(done, match_merged(c, &merged, keys, n_keys, &at, err));
  }
done:
  tn_batch_reset(c->l->env, &merged);
  if (st == TARN_E_INVALID || st == TARN_E_UNSUPPORTED) {
    tn_error_context(err, st, "table %s", c->l->table->full_name);
  }
  return st;
}

/* Merge the candidates that wait, which are in the order of their keys. */
static tarn_status merge_candidates(call *c, const tn_view_section *s, tarn_error *err) {
  tn_merge_input **inputs;
  const tn_lookup_row **rows;
  int64_t *keys, n_keys = 0;
  tn_merger *merger = NULL;
  int32_t n = 0;
  tarn_status st = TARN_OK;
  if (c->n_candidates == 0) {
    return TARN_OK;
  }
  inputs = tn_arena_calloc(c->arena, (size_t)s->n_files, sizeof(*inputs));
  rows = tn_arena_alloc(c->arena, c->n_candidates * sizeof(*rows));
  keys = tn_arena_alloc(c->arena, c->n_candidates * sizeof(*keys));
  if (inputs == NULL || rows == NULL || keys == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < c->n_candidates; i++) {
    if (n_keys == 0 || keys[n_keys - 1] != c->candidates[i].key) {
      keys[n_keys++] = c->candidates[i].key;
    }
  }
  for (int32_t f = 0; f < s->n_files; f++) {
    TN_TRY_TO(done, make_run(c, s, f, rows, &inputs[n], err));
    n += inputs[n] != NULL;
  }
  st = tn_merger_create(c->l->env, &c->l->spec, inputs, n, &merger, err);
  n = 0; /* they are the merger's, or gone */
  TN_TRY_TO(done, st);
  st = run_merger(c, merger, keys, n_keys, err);
done:
  for (int32_t i = 0; i < n; i++) {
    memory_free(inputs[i]);
  }
  tn_merger_free(merger);
  c->w->n_merged += c->n_pending;
  c->n_candidates = 0;
  c->n_pending = 0;
  return st;
}

/* ------------------------------------------------------------------ sections */

static int by_section(void *ctx, const void *a, const void *b) {
  const call *c = ctx;
  const reference *x = a, *y = b;
  if (x->section != y->section) {
    return (uintptr_t)x->section < (uintptr_t)y->section ? -1 : 1;
  }
  if (is_merged(c, x->section)) {
    int32_t n = c->l->layout.n_keys;
    return tn_interval_compare(c->l->table->schema, c->datums + x->key * n, c->datums + y->key * n);
  }
  return (x->key > y->key) - (x->key < y->key);
}

/* Let go of files of earlier sections, of which some were dropped: rows that lie in them are
 * copied. */
static tarn_status let_go(call *c, tarn_error *err) {
  for (int64_t i = 0; i < c->keys->n_rows; i++) {
    tn_lookup_row *row = &c->answers[i].row;
    size_t at = c->rows->len;
    if (c->answers[i].kind == ANSWER_ROW && row->held != NULL) {
      TN_TRY(tn_buf_append(c->rows, row->held, row->end, err));
      row->held = NULL;
      row->key_at += at;
      row->values_at += at;
      row->end += at;
    }
  }
  tn_lookup_worker_let_go(c->w);
  return TARN_OK;
}

static tarn_status hold_section(call *c, const tn_view_section *s, tarn_error *err) {
  int64_t n_made = tn_lookup_store_made(c->w->store);
  if (tn_lookup_worker_is_stale(c->w)) {
    TN_TRY(let_go(c, err));
  }
  for (int32_t f = 0; f < s->n_files && s->n_files <= FEW_FILES; f++) {
    const tn_view_file *file = &s->files[f];
    tn_lookup_file *held = c->w->held[file->number];
    if (held != NULL) {
      tn_lookup_slot_touch(file->slot, c->now_ms, n_made);
    } else {
      tn_lookup_slot_peek(file->slot, c->now_ms, &held);
      if (held != NULL) {
        tn_lookup_worker_keep(c->w, file, held);
      }
    }
  }
  return TARN_OK;
}

static tarn_status answer_section(call *c, const reference *const *refs, int64_t n,
                                  tarn_error *err) {
  const tn_view_section *s = refs[0]->section;
  bool merges = is_merged(c, s);
  TN_TRY(hold_section(c, s, err));
  for (int64_t i = 0; i < n; i++) {
    int64_t key = refs[i]->key;
    prefetch_ahead(c, s, refs, i, n);
    if (merges && i > 0 && tn_slice_equal(key_of(c, key), key_of(c, refs[i - 1]->key))) {
      continue; /* answered below */
    }
    if (c->n_pending == MERGE_KEYS) {
      TN_TRY(merge_candidates(c, s, err));
    }
    TN_TRY(merges ? find_all(c, s, key, err) : find_newest(c, s, key, err));
  }
  TN_TRY(merge_candidates(c, s, err));
  for (int64_t i = 1; i < n && merges; i++) {
    if (tn_slice_equal(key_of(c, refs[i]->key), key_of(c, refs[i - 1]->key))) {
      c->answers[refs[i]->key] = c->answers[refs[i - 1]->key];
    }
  }
  return TARN_OK;
}

static tarn_status answer_all(call *c, tarn_error *err) {
  size_t n = c->n_references;
  const reference **refs, **scratch;
  const reference *only = c->references;
  if (n == 1) {
    return answer_section(c, &only, 1, err);
  }
  refs = tn_arena_alloc(c->arena, (n + 1) * sizeof(*refs));
  scratch = tn_arena_alloc(c->arena, (n + 1) * sizeof(*scratch));
  if (refs == NULL || scratch == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < n; i++) {
    refs[i] = &c->references[i];
  }
  tn_sort_stable((const void **)refs, (const void **)scratch, (int64_t)n, by_section, c);
  for (size_t begin = 0, end = 0; begin < n; begin = end) {
    while (end < n && refs[end]->section == refs[begin]->section) {
      end++;
    }
    TN_TRY(answer_section(c, refs + begin, (int64_t)(end - begin), err));
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ output */

/* The wanted columns of stored ones, which are moved. */
static tarn_status give_stored(const call *c, tn_batch *stored, tn_batch *out, tarn_error *err) {
  const tn_lookup *l = c->l;
  memset(out, 0, sizeof(*out));
  out->columns = tn_calloc(&l->env->mem, (size_t)l->n_out + 1, sizeof(*out->columns));
  if (out->columns == NULL) {
    return tn_oom(err);
  }
  out->fields = l->out_fields;
  out->n_columns = l->n_out;
  out->n_rows = stored->n_rows;
  out->first_position = -1;
  for (int32_t i = 0; i < l->n_out; i++) {
    tn_vec *from = &stored->columns[l->out_stored[i]];
    if (l->is_last_use[i]) {
      tn_vec_move(&out->columns[i], from);
    } else {
      TN_TRY(tn_vec_share(l->env, from, &out->columns[i], err));
    }
    tn_vec_retype(&out->columns[i], &l->out_fields[i].type);
  }
  return TARN_OK;
}

/* Rows of the stored batch and of merged ones, by `refs`. */
static tarn_status gather(const call *c, const tn_batch *stored, const tn_row_ref *refs, int64_t n,
                          tn_batch *out, tarn_error *err) {
  const tn_lookup *l = c->l;
  const tn_vec **sources = tn_alloc(&l->env->mem, (c->n_merged + 1) * sizeof(*sources));
  tarn_status st = TARN_OK;
  if (sources == NULL) {
    return tn_oom(err);
  }
  TN_TRY_TO(done, tn_batch_init(l->env, l->out_fields, l->n_out, out, err));
  out->n_rows = n;
  for (int32_t i = 0; i < l->n_out; i++) {
    sources[0] = &stored->columns[l->out_stored[i]];
    for (size_t m = 0; m < c->n_merged; m++) {
      sources[m + 1] = &c->merged[m].columns[i];
    }
    TN_TRY_TO(done, tn_vec_gather(l->env, &l->out_fields[i].type, sources, (int32_t)c->n_merged + 1,
                                  refs, n, &out->columns[i], err));
  }
done:
  tn_free(&l->env->mem, sources);
  return st;
}

static tarn_status give_array(call *c, const tn_lookup_row *const *rows, int64_t n,
                              struct ArrowArray *out, tarn_error *err) {
  const tn_lookup *l = c->l;
  const tn_rows_shape shape = {&l->layout, l->stored_out, l->n_out};
  return tn_rows_to_array(l->env, c->arena, &shape, rows, n, c->rows, out, err);
}

static tarn_status give(call *c, tn_batch *out, struct ArrowArray *array, int64_t *rows,
                        tarn_error *err) {
  const tn_lookup *l = c->l;
  int64_t n = 0, n_stored = 0, n_keys = c->keys->n_rows;
  const tn_lookup_row **stored_rows =
      tn_arena_alloc(c->arena, (size_t)n_keys * sizeof(*stored_rows) + 8);
  tn_row_ref *refs = tn_arena_alloc(c->arena, (size_t)n_keys * sizeof(*refs) + 8);
  tn_batch stored = {0};
  tarn_status st;
  if (stored_rows == NULL || refs == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < n_keys; i++) {
    const answer *a = &c->answers[i];
    rows[i] = a->kind != ANSWER_NONE ? n : -1;
    if (a->kind == ANSWER_ROW) {
      refs[n++] = (tn_row_ref){.source = 0, .row = (uint32_t)n_stored};
      stored_rows[n_stored++] = &a->row;
    } else if (a->kind == ANSWER_MERGED) {
      refs[n++] = a->merged;
    }
  }
  c->w->n_found += n;
  if (array != NULL && c->n_merged == 0) {
    return give_array(c, stored_rows, n_stored, array, err);
  }
  TN_TRY_TO(done, decode_rows(c, stored_rows, n_stored, l->is_wanted, &stored, err));
  st = c->n_merged == 0 ? give_stored(c, &stored, out, err) : gather(c, &stored, refs, n, out, err);
done:
  tn_batch_reset(l->env, &stored);
  if (st != TARN_OK) {
    tn_batch_reset(l->env, out);
  } else if (array != NULL) {
    st = tn_arrow_export_batch(l->env, out, NULL, array, err);
  }
  return st;
}

tarn_status tn_lookup_answer(tn_lookup *l, tn_lookup_worker *w, const tn_batch *keys,
                             tn_batch *batch, struct ArrowArray *array, int64_t *rows,
                             tarn_error *err) {
  call c = {.l = l,
            .w = w,
            .view = w->view,
            .keys = keys,
            .now_ms = tn_env_now_ms(l->env),
            .arena = &w->arena,
            .key_bytes = &w->key_bytes,
            .rows = &w->rows};
  size_t n = (size_t)keys->n_rows;
  tarn_status st = TARN_OK;
  memset(batch, 0, sizeof(*batch));
  TN_TRY(tn_lookup_worker_begin(w, err));
  w->n_keys += keys->n_rows;
  c.places = tn_arena_calloc(c.arena, n + 1, sizeof(*c.places));
  c.answers = tn_arena_calloc(c.arena, n + 1, sizeof(*c.answers));
  c.datums = tn_arena_alloc(c.arena, (n + 1) * (size_t)l->layout.n_keys * sizeof(*c.datums));
  if (c.places == NULL || c.answers == NULL || c.datums == NULL) {
    return tn_oom(err);
  }
  TN_TRY_TO(done, take_keys(&c, err));
  TN_TRY_TO(done, answer_all(&c, err));
  st = give(&c, batch, array, rows, err);
done:
  for (size_t m = 0; m < c.n_merged; m++) {
    tn_batch_reset(l->env, &c.merged[m]);
  }
  return st;
}
