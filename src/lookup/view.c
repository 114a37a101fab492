/* view.c - a plan arranged by partition, bucket and key range. */
#include "lookup/view.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/sort.h"
#include "column/binary_row.h"
#include "lookup/row_code.h"
#include "read/newer_types.h"

#define ARENA_BYTES ((size_t)4 << 30)

typedef struct builder {
  tn_files_view *view;
  const tn_files_view_setup *setup;
  tn_table *table;
  bool is_hashed; /* hashes of keys tell buckets */
} builder;

/* One bucket of the plan: its splits, which stand for one list of files. */
typedef struct gathered {
  const tn_split *first;
  const tn_split **splits;
  size_t n_splits, capacity;
  int64_t n_files;
} gathered;

/* ------------------------------------------------------------------ files */

static tarn_status name_of(builder *b, const tn_split *split, int32_t index, tn_slice *out,
                           tarn_error *err) {
  tn_slice name = split->files[index].file_name;
  size_t n = split->partition.len + 4 + name.len;
  uint8_t *key = tn_arena_alloc(&b->view->arena, n);
  if (key == NULL) {
    return tn_oom(err);
  }
  tn_store_le32(key, (uint32_t)split->bucket);
  memcpy(key + 4, split->partition.data, split->partition.len);
  memcpy(key + 4 + split->partition.len, name.data, name.len);
  *out = tn_slice_of(key, n);
  return TARN_OK;
}

static tarn_status load_deletions(builder *b, tn_view_file *file, tarn_error *err) {
  const tn_split *split = file->split;
  tn_dv_place place;
  if (split->deletions == NULL || split->deletions[file->index].path == NULL) {
    return TARN_OK;
  }
  place = split->deletions[file->index];
  TN_TRY(tn_path_plain(&b->view->arena, place.path, &place.path, err));
  return tn_dv_load(b->view->env, b->table->storage, &place, &file->deletions, err);
}

static tarn_status make_file(builder *b, tn_view_file *file, tarn_error *err) {
  const tn_files_view *previous = b->setup->previous;
  tn_map_entry *entry, *old = NULL;
  tn_slice name;
  bool is_new;
  TN_TRY(name_of(b, file->split, file->index, &name, err));
  TN_TRY(tn_map_put(&b->view->slots, name, &entry, &is_new, err));
  if (!is_new) {
    return tn_fail(err, TARN_E_CORRUPT, "data file %.*s is in the plan twice",
                   TN_SLICE_ARG(file->meta->file_name));
  }
  entry->value.ptr = file;
  file->number = b->view->n_files++;
  if (previous != NULL) {
    old = tn_map_find(&previous->slots, name);
  }
  if (old != NULL) {
    file->slot = tn_lookup_slot_retain(((tn_view_file *)old->value.ptr)->slot);
  } else {
    TN_TRY(tn_lookup_slot_create(b->setup->store, &file->slot, err));
  }
  return load_deletions(b, file, err);
}

/* ------------------------------------------------------------------ sections */

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* Level 0 and below first, then shallow before deep; newest first. */
static int newest_first(void *ctx, const void *a, const void *b) {
  const tn_view_file *x = a, *y = b;
  (void)ctx;
  if (x->meta->level != y->meta->level) {
    return COMPARE(x->meta->level, y->meta->level);
  }
  return COMPARE(y->rank, x->rank);
}

static int64_t max_sequence(const tn_data_file *file) {
  return file->min_sequence >= 0 && file->min_sequence <= file->max_sequence ? file->max_sequence
                                                                             : INT64_MAX;
}

static int by_key(void *ctx, const void *a, const void *b) {
  const tn_view_file *x = a, *y = b;
  return tn_interval_compare(ctx, x->min, y->min);
}

/* The n files in another order, in the arena. */
static tarn_status sort_files(builder *b, const tn_view_file *files, int64_t n,
                              tn_sort_compare compare, tn_view_file **out, tarn_error *err) {
  tn_arena *arena = &b->view->arena;
  const void **items = tn_arena_alloc(arena, (size_t)n * sizeof(*items));
  const void **scratch = tn_arena_alloc(arena, (size_t)n * sizeof(*scratch));
  tn_view_file *sorted = tn_arena_alloc(arena, (size_t)n * sizeof(*sorted));
  if (items == NULL || scratch == NULL || sorted == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < n; i++) {
    items[i] = &files[i];
  }
  tn_sort_stable(items, scratch, n, compare, b->table->schema);
  for (int64_t i = 0; i < n; i++) {
    sorted[i] = *(const tn_view_file *)items[i];
  }
  *out = sorted;
  return TARN_OK;
}

/* Put the n files of a level in the order of their keys, if no two may have the same key. */
static tarn_status sort_level(builder *b, tn_view_file *files, int64_t n, bool *is_disjoint,
                              tarn_error *err) {
  tn_view_file *sorted;
  TN_TRY(sort_files(b, files, n, by_key, &sorted, err));
  *is_disjoint = true;
  for (int64_t i = 1; i < n && *is_disjoint; i++) {
    *is_disjoint = tn_interval_compare(b->table->schema, sorted[i - 1].max, sorted[i].min) < 0;
  }
  if (*is_disjoint) {
    memcpy(files, sorted, (size_t)n * sizeof(*files));
  }
  return TARN_OK;
}

static tarn_status group_files(builder *b, tn_view_section *s, tarn_error *err) {
  s->groups = tn_arena_alloc(&b->view->arena, (size_t)s->n_files * sizeof(*s->groups));
  if (s->groups == NULL) {
    return tn_oom(err);
  }
  for (int32_t begin = 0, end = 0; begin < s->n_files; begin = end) {
    int32_t level = s->files[begin].meta->level;
    bool is_disjoint = false;
    end = begin + 1;
    while (end < s->n_files && level > 0 && s->files[end].meta->level == level) {
      end++;
    }
    if (end - begin > 1) {
      TN_TRY(sort_level(b, s->files + begin, end - begin, &is_disjoint, err));
    }
    if (is_disjoint) {
      s->groups[s->n_groups++] = (tn_view_group){begin, end};
      continue;
    }
    for (int32_t i = begin; i < end; i++) {
      s->groups[s->n_groups++] = (tn_view_group){i, i + 1};
    }
  }
  return TARN_OK;
}

static tarn_status order_files(builder *b, tn_view_section *s, tarn_error *err) {
  int64_t max = INT64_MIN;
  TN_TRY(sort_files(b, s->files, s->n_files, newest_first, &s->files, err));
  TN_TRY(group_files(b, s, err));
  for (int32_t i = s->n_files - 1; i >= 0; i--) {
    int64_t of_file = max_sequence(s->files[i].meta);
    max = of_file > max ? of_file : max;
    s->files[i].rest_max = max;
  }
  for (int32_t i = 0; i < s->n_files; i++) {
    TN_TRY(make_file(b, &s->files[i], err));
  }
  return TARN_OK;
}

/* A split of all files of a bucket, and where each of them comes from. */
typedef struct joined {
  tn_split split;
  tn_view_file *files;
  bool *is_raw;
} joined;

static tarn_status join_splits(builder *b, const gathered *g, joined *out, tarn_error *err) {
  tn_arena *arena = &b->view->arena;
  size_t n = (size_t)g->n_files;
  tn_data_file *files = tn_arena_alloc(arena, n * sizeof(*files));
  out->files = tn_arena_calloc(arena, n, sizeof(*out->files));
  out->is_raw = tn_arena_calloc(arena, n, sizeof(*out->is_raw));
  if (files == NULL || out->files == NULL || out->is_raw == NULL || n > INT32_MAX) {
    return tn_oom(err);
  }
  n = 0;
  for (size_t k = 0; k < g->n_splits; k++) {
    const tn_split *split = g->splits[k];
    bool is_raw = tn_split_choose_way(b->setup->context, split) == TN_SPLIT_RAW;
    for (int32_t i = 0; i < split->n_files; i++, n++) {
      files[n] = split->files[i];
      out->is_raw[n] = is_raw;
      out->files[n] = (tn_view_file){.split = split, .index = i, .meta = &split->files[i]};
    }
  }
  out->split = *g->first;
  out->split.files = files;
  out->split.n_files = (int32_t)n;
  out->split.deletions = NULL;
  return TARN_OK;
}

static tarn_status make_section(builder *b, const joined *all, const int32_t *ranks,
                                const tn_section *from, tn_view_section *out, tarn_error *err) {
  const tn_schema *schema = b->table->schema;
  int32_t n = 0;
  for (int32_t r = 0; r < from->n_runs; r++) {
    n += from->runs[r].n_files;
  }
  *out =
      (tn_view_section){.min = from->min, .max = from->max, .n_runs = from->n_runs, .is_raw = true};
  out->files = tn_arena_calloc(&b->view->arena, (size_t)n, sizeof(*out->files));
  if (out->files == NULL) {
    return tn_oom(err);
  }
  for (int32_t r = 0; r < from->n_runs; r++) {
    for (int32_t i = 0; i < from->runs[r].n_files; i++) {
      int32_t at = from->runs[r].files[i];
      tn_view_file *file = &out->files[out->n_files++];
      tn_datum *range =
          tn_arena_calloc(&b->view->arena, (size_t)schema->n_key_columns * 2, sizeof(*range));
      if (range == NULL) {
        return tn_oom(err);
      }
      *file = all->files[at];
      TN_TRY(tn_interval_key(schema, file->meta->min_key, range, err));
      TN_TRY(tn_interval_key(schema, file->meta->max_key, range + schema->n_key_columns, err));
      file->min = range;
      file->max = range + schema->n_key_columns;
      file->rank = ranks[at];
      out->is_raw = out->is_raw && all->is_raw[at];
    }
  }
  return order_files(b, out, err);
}

static tarn_status make_bucket(builder *b, const gathered *g, tn_view_bucket *out,
                               tarn_error *err) {
  tn_arena *arena = &b->view->arena;
  joined all;
  tn_section *sections;
  int32_t *ranks;
  out->number = g->first->bucket;
  out->n_buckets = b->is_hashed && g->first->has_total_buckets && g->first->total_buckets > 0 &&
                           g->first->bucket >= 0
                       ? g->first->total_buckets
                       : 0;
  TN_TRY(join_splits(b, g, &all, err));
  TN_TRY(tn_sections_make(arena, b->table->schema, &all.split, &sections, &out->n_sections, err));
  TN_TRY(tn_sections_rank(arena, &all.split, &ranks, err));
  out->sections = tn_arena_calloc(arena, (size_t)out->n_sections + 1, sizeof(*out->sections));
  if (out->sections == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < out->n_sections; i++) {
    TN_TRY(make_section(b, &all, ranks, &sections[i], &out->sections[i], err));
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ partitions */

/* The values of a partition as keys of the view have them. */
static tarn_status partition_key(builder *b, tn_slice bytes, tn_slice *out, tarn_error *err) {
  const tn_schema *schema = b->table->schema;
  tarn_env *env = b->view->env;
  tn_binary_row row;
  tn_buf buf;
  tarn_status st = TARN_OK;
  if (schema->n_partition_keys == 0) {
    *out = tn_slice_of(NULL, 0);
    return TARN_OK;
  }
  TN_TRY(tn_binary_row_decode(bytes, "partition of a split", &row, err));
  tn_buf_init(&buf, &env->mem, (size_t)INT32_MAX);
  for (int32_t i = 0; i < schema->n_partition_keys; i++) {
    const tn_type *type = &schema->fields[schema->partition_columns[i]].type;
    tn_datum value;
    tn_vec vec = {0};
    TN_TRY_TO(done, tn_binary_row_get(&row, i, type, &value, err));
    TN_TRY_TO(done, tn_datum_to_vec(env, type, &value, &vec, err));
    st = tn_row_put(&buf, &vec, 0, err);
    tn_vec_reset(env, &vec);
    TN_TRY_TO(done, st);
  }
  st = tn_arena_slice(&b->view->arena, tn_buf_slice(&buf), out) ? TARN_OK : tn_oom(err);
done:
  tn_buf_reset(&buf);
  return st;
}

static int by_number(const void *a, const void *b) {
  const tn_view_bucket *x = a, *y = b;
  return x->n_buckets != y->n_buckets ? COMPARE(x->n_buckets, y->n_buckets)
                                      : COMPARE(x->number, y->number);
}

static tarn_status make_partition(builder *b, gathered *const *buckets, int32_t n,
                                  tn_view_partition *out, tarn_error *err) {
  tn_arena *arena = &b->view->arena;
  tn_map_entry *entry;
  tn_slice key;
  bool is_new;
  out->buckets = tn_arena_calloc(arena, (size_t)n, sizeof(*out->buckets));
  out->moduli = tn_arena_calloc(arena, (size_t)n, sizeof(*out->moduli));
  if (out->buckets == NULL || out->moduli == NULL) {
    return tn_oom(err);
  }
  for (out->n_buckets = 0; out->n_buckets < n; out->n_buckets++) {
    TN_TRY(make_bucket(b, buckets[out->n_buckets], &out->buckets[out->n_buckets], err));
  }
  qsort(out->buckets, (size_t)n, sizeof(*out->buckets), by_number);
  for (int32_t i = 0; i < n; i++) {
    int32_t modulus = out->buckets[i].n_buckets;
    if (modulus > 0 && (out->n_moduli == 0 || out->moduli[out->n_moduli - 1] != modulus)) {
      out->moduli[out->n_moduli++] = modulus;
    }
  }
  TN_TRY(partition_key(b, buckets[0]->first->partition, &key, err));
  TN_TRY(tn_map_put(&b->view->partitions, key, &entry, &is_new, err));
  if (!is_new) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: two partitions have the same values",
                   b->table->full_name);
  }
  entry->value.ptr = out;
  return TARN_OK;
}

/* ------------------------------------------------------------------ the plan */

/* Do files of every schema have the bucket columns in the types that are hashed today? */
static tarn_status check_bucket_types(builder *b, const tn_data_file *file, tn_map *seen,
                                      tarn_error *err) {
  const tn_table_facts *facts = &b->table->facts;
  const tn_schema *schema = b->table->schema;
  tn_map_entry *entry;
  tn_schema *old;
  bool is_new;
  if (!b->is_hashed || file->schema_id == schema->id) {
    return TARN_OK;
  }
  TN_TRY(tn_map_put(seen, tn_slice_of(&file->schema_id, sizeof(file->schema_id)), &entry, &is_new,
                    err));
  if (!is_new) {
    return TARN_OK;
  }
  TN_TRY(tn_table_schema(b->table, file->schema_id, &old, err));
  for (int32_t i = 0; i < facts->n_bucket_columns; i++) {
    const tn_field *field = &schema->fields[facts->bucket_columns[i]];
    int32_t at = tn_fields_find_id(old->fields, old->n_fields, field->id);
    b->is_hashed =
        b->is_hashed && at >= 0 && tn_type_equal(&old->fields[at].type, &field->type, false);
  }
  tn_schema_release(old);
  return TARN_OK;
}

static tarn_status gather_split(builder *b, tn_map *buckets, const tn_split *split,
                                tarn_error *err) {
  tn_arena *arena = &b->view->arena;
  size_t n = split->partition.len + 4;
  uint8_t *key = tn_arena_alloc(arena, n);
  tn_map_entry *entry;
  gathered *g;
  bool is_new;
  if (key == NULL) {
    return tn_oom(err);
  }
  memcpy(key, split->partition.data, split->partition.len);
  tn_store_le32(key + split->partition.len, (uint32_t)split->bucket);
  TN_TRY(tn_map_put(buckets, tn_slice_of(key, n), &entry, &is_new, err));
  if (is_new) {
    entry->value.ptr = tn_arena_calloc(arena, 1, sizeof(*g));
  }
  g = entry->value.ptr;
  if (g == NULL ||
      !tn_arena_grow(arena, (void **)&g->splits, &g->capacity, g->n_splits, sizeof(*g->splits))) {
    return tn_oom(err);
  }
  g->first = g->first != NULL ? g->first : split;
  g->splits[g->n_splits++] = split;
  g->n_files += split->n_files;
  return TARN_OK;
}

static int by_partition(void *ctx, const void *a, const void *b) {
  const gathered *x = a, *y = b;
  (void)ctx;
  return tn_slice_compare(x->first->partition, y->first->partition);
}

static tarn_status make_partitions(builder *b, const tn_map *buckets, tarn_error *err) {
  tn_arena *arena = &b->view->arena;
  size_t n = buckets->count;
  gathered **items = tn_arena_calloc(arena, n + 1, sizeof(*items));
  gathered **scratch = tn_arena_calloc(arena, n + 1, sizeof(*scratch));
  b->view->all = tn_arena_calloc(arena, n + 1, sizeof(*b->view->all));
  if (items == NULL || scratch == NULL || b->view->all == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < n; i++) {
    items[i] = buckets->entries[i].value.ptr;
  }
  tn_sort_stable((const void **)items, (const void **)scratch, (int64_t)n, by_partition, NULL);
  for (size_t begin = 0, end = 0; begin < n; begin = end) {
    while (end < n && by_partition(NULL, items[begin], items[end]) == 0) {
      end++;
    }
    TN_TRY(make_partition(b, items + begin, (int32_t)(end - begin),
                          &b->view->all[b->view->n_partitions++], err));
  }
  return TARN_OK;
}

static tarn_status arrange(builder *b, tarn_error *err) {
  const tn_plan *plan = b->view->plan;
  const tn_table_facts *facts = &b->table->facts;
  int64_t good_schema = INT64_MIN;
  tn_map buckets, schemas;
  tarn_status st = TARN_OK;
  tn_map_init(&buckets, &b->view->env->mem);
  tn_map_init(&schemas, &b->view->env->mem);
  b->is_hashed = facts->n_bucket_columns > 0 && (facts->bucket_mode == TN_BUCKETS_FIXED ||
                                                 facts->bucket_mode == TN_BUCKETS_POSTPONE);
  for (int32_t i = 0; i < plan->n_splits; i++) {
    const tn_split *split = &plan->splits[i];
    TN_TRY_TO(done, tn_newer_types_check(&b->setup->context->o, split, &good_schema, err));
    for (int32_t k = 0; k < split->n_files; k++) {
      TN_TRY_TO(done, check_bucket_types(b, &split->files[k], &schemas, err));
    }
    TN_TRY_TO(done, gather_split(b, &buckets, split, err));
  }
  st = make_partitions(b, &buckets, err);
done:
  tn_map_reset(&buckets);
  tn_map_reset(&schemas);
  return st;
}

tarn_status tn_files_view_create(const tn_files_view_setup *setup, tn_files_view **out,
                                 tarn_error *err) {
  tarn_env *env = setup->context->env;
  builder b = {.setup = setup, .table = setup->context->o.table};
  tn_scan scan = {.table = b.table, .limit = -1, .cancel = setup->context->o.cancel};
  tn_files_view *view = tn_calloc(&env->mem, 1, sizeof(*view));
  tarn_status st;
  *out = NULL;
  if (view == NULL) {
    return tn_oom(err);
  }
  atomic_init(&view->refs, 1);
  view->env = env;
  tn_arena_init(&view->arena, &env->mem, ARENA_BYTES);
  tn_map_init(&view->slots, &env->mem);
  tn_map_init(&view->partitions, &env->mem);
  b.view = view;
  TN_TRY_TO(done, tn_plan_create(&scan, &view->plan, err));
  if (view->plan->kind != TN_PLAN_STATE || view->plan->branches[0] != NULL) {
    st = tn_fail(err, TARN_E_INVALID, "%s: lookups are in the state of one snapshot of one branch",
                 b.table->full_name);
    goto done;
  }
  view->snapshot_id = view->plan->has_snapshot ? view->plan->snapshot.id : 0;
  TN_TRY_TO(done, arrange(&b, err));
  *out = view;
  view = NULL;
done:
  tn_files_view_release(view);
  return st;
}

tn_files_view *tn_files_view_retain(tn_files_view *view) {
  atomic_fetch_add_explicit(&view->refs, 1, memory_order_relaxed);
  return view;
}

void tn_files_view_release(tn_files_view *view) {
  tarn_env *env;
  if (view == NULL || atomic_fetch_sub_explicit(&view->refs, 1, memory_order_acq_rel) != 1) {
    return;
  }
  env = view->env;
  for (size_t i = 0; i < view->slots.count; i++) {
    tn_view_file *file = view->slots.entries[i].value.ptr;
    if (file != NULL) {
      tn_lookup_slot_release(file->slot);
      tn_dv_release(file->deletions);
    }
  }
  tn_map_reset(&view->slots);
  tn_map_reset(&view->partitions);
  tn_plan_release(view->plan);
  tn_arena_reset(&view->arena);
  tn_free(&env->mem, view);
}

/* ------------------------------------------------------------------ finding */

tn_view_section *tn_view_section_of(const tn_schema *schema, const tn_view_bucket *bucket,
                                    const tn_datum *key) {
  int32_t low = 0, high = bucket->n_sections;
  while (low < high) {
    int32_t mid = low + (high - low) / 2;
    if (tn_interval_compare(schema, bucket->sections[mid].max, key) < 0) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  return low < bucket->n_sections &&
                 tn_interval_compare(schema, bucket->sections[low].min, key) <= 0
             ? &bucket->sections[low]
             : NULL;
}

int32_t tn_view_file_of(const tn_schema *schema, const tn_view_section *section,
                        const tn_view_group *group, const tn_datum *key) {
  int32_t low = group->begin, high = group->end;
  if (high - low == 1) {
    return low;
  }
  while (low < high) {
    int32_t mid = low + (high - low) / 2;
    if (tn_interval_compare(schema, section->files[mid].max, key) < 0) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  return low < group->end && tn_interval_compare(schema, section->files[low].min, key) <= 0 ? low
                                                                                            : -1;
}

const tn_view_bucket *tn_view_bucket_of(const tn_view_partition *partition, int32_t n_buckets,
                                        int32_t number) {
  int32_t low = 0, high = partition->n_buckets;
  while (low < high) {
    int32_t mid = low + (high - low) / 2;
    const tn_view_bucket *bucket = &partition->buckets[mid];
    if (bucket->n_buckets < n_buckets ||
        (bucket->n_buckets == n_buckets && bucket->number < number)) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  return low < partition->n_buckets && partition->buckets[low].n_buckets == n_buckets &&
                 partition->buckets[low].number == number
             ? &partition->buckets[low]
             : NULL;
}
