/* packing.c - sections of overlapping key ranges, and ordered bin packing. */
#include "plan/packing.h"

#include "base/checked.h"
#include "base/sort.h"
#include "plan/intervals.h"

/* What is packed: a run of files that stay together. */
typedef struct pack_item {
  int64_t begin, end; /* in the list of files */
  int64_t weight;
} pack_item;

static int64_t add_capped(int64_t a, int64_t b) {
  int64_t sum;
  return tn_add_i64(a, b, &sum) ? sum : (a < 0 ? INT64_MIN : INT64_MAX);
}

static int64_t at_least(int64_t a, int64_t least) {
  return a > least ? a : least;
}

bool tn_group_never_overlaps(const tn_file_group *group) {
  for (int64_t i = 0; group->n_files > 1 && i < group->n_files; i++) {
    if (group->files[i]->level == 0 || group->files[i]->level != group->files[0]->level) {
      return false;
    }
  }
  return true;
}

/* Old writers did not count deletions: taken as none (as in Java; the reader then merges). */
static bool has_deletes(const tn_scan_entry *e) {
  return e->has_delete_row_count && e->delete_row_count != 0;
}

/* Ordered packing: a bin is closed when the next item would pass the target. An item beyond the
 * target has a bin of its own; equality still fits. */
static tarn_status pack_ordered(const tn_table *table, const tn_scan_entry **files,
                                const pack_item *items, int64_t n_items, tn_arena *arena,
                                tn_packs *out, tarn_error *err) {
  int64_t target = table->facts.split_target_bytes, weight = 0, begin = 0;
  int64_t count = 0;
  out->items = tn_arena_calloc(arena, (size_t)n_items + 1, sizeof(*out->items));
  if (out->items == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i <= n_items; i++) {
    bool is_full = i < n_items && add_capped(weight, items[i].weight) > target;
    if (i > begin && (i == n_items || is_full)) {
      int64_t n = items[i - 1].end - items[begin].begin;
      if (n > INT32_MAX || count >= INT32_MAX) {
        return tn_fail(err, TARN_E_LIMIT, "more than %d files in a split", INT32_MAX);
      }
      out->items[count].files = files + items[begin].begin;
      out->items[count++].n_files = (int32_t)n;
      begin = i;
      weight = 0;
    }
    if (i < n_items) {
      weight = add_capped(weight, items[i].weight);
    }
  }
  out->count = (int32_t)count;
  return TARN_OK;
}

/* Every file by itself; all splits are raw. */
static tarn_status pack_files(const tn_table *table, const tn_scan_entry **files, int64_t n,
                              tn_arena *arena, tn_packs *out, tarn_error *err) {
  pack_item *items = tn_arena_alloc(arena, ((size_t)n + 1) * sizeof(*items));
  if (items == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < n; i++) {
    items[i].begin = i;
    items[i].end = i + 1;
    items[i].weight = at_least(files[i]->file_size, table->facts.split_open_cost_bytes);
  }
  TN_TRY(pack_ordered(table, files, items, n, arena, out, err));
  for (int32_t i = 0; i < out->count; i++) {
    out->items[i].is_raw_convertible = true;
  }
  return TARN_OK;
}

static int by_min_sequence(void *ctx, const void *a, const void *b) {
  int64_t x = ((const tn_scan_entry *)a)->min_sequence;
  int64_t y = ((const tn_scan_entry *)b)->min_sequence;
  (void)ctx;
  return (x > y) - (x < y);
}

static tarn_status pack_append(const tn_table *table, tn_file_group *group, tn_arena *arena,
                               tn_packs *out, tarn_error *err) {
  const void **scratch = tn_arena_alloc(arena, ((size_t)group->n_files + 1) * sizeof(*scratch));
  if (scratch == NULL) {
    return tn_oom(err);
  }
  tn_sort_stable((const void **)group->files, scratch, group->n_files, by_min_sequence, NULL);
  return pack_files(table, group->files, group->n_files, arena, out, err);
}

/* ------------------------------------------------------------------ sections */

static tarn_status key_ranges(const tn_schema *schema, const tn_file_group *group, tn_arena *arena,
                              tn_interval **out, tarn_error *err) {
  size_t n = (size_t)group->n_files, width = (size_t)schema->n_key_columns, n_datums;
  tn_interval *files = tn_arena_calloc(arena, n + 1, sizeof(*files));
  tn_datum *datums = tn_mul_size(n, 2 * width, &n_datums)
                         ? tn_arena_calloc(arena, n_datums, sizeof(*datums))
                         : NULL;
  if (files == NULL || datums == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < n; i++) {
    const tn_scan_entry *e = group->files[i];
    tn_datum *min = datums + 2 * width * i, *max = min + width;
    tarn_status st = tn_interval_key(schema, tn_slice_of(e->min_key, e->min_key_len), min, err);
    if (st == TARN_OK) {
      st = tn_interval_key(schema, tn_slice_of(e->max_key, e->max_key_len), max, err);
    }
    if (st != TARN_OK) {
      return tn_error_context(err, st, "data file %.*s", (int)e->file_name_len,
                              (const char *)e->file_name);
    }
    files[i] = (tn_interval){min, max, (int64_t)i, NULL};
  }
  *out = files;
  return TARN_OK;
}

/* Files section after section, in each run after run; a section stays together. */
static tarn_status pack_sections(const tn_table *table, tn_file_group *group, tn_arena *arena,
                                 tn_packs *out, tarn_error *err) {
  size_t n = (size_t)group->n_files;
  const tn_scan_entry **before = tn_arena_memdup(arena, group->files, n * sizeof(*before));
  pack_item *items;
  tn_interval *files;
  tn_interval_section *sections;
  int64_t n_items, at = 0;
  if (before == NULL) {
    return tn_oom(err);
  }
  TN_TRY(key_ranges(table->schema, group, arena, &files, err));
  TN_TRY(tn_intervals_arrange(arena, table->schema, files, (int64_t)n, &sections, &n_items, err));
  items = tn_arena_alloc(arena, ((size_t)n_items + 1) * sizeof(*items));
  if (items == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < n_items; i++) {
    int64_t begin = at, size = 0;
    for (int64_t r = 0; r < sections[i].n_runs; r++) {
      for (const tn_interval *f = sections[i].runs[r]; f != NULL; f = f->next) {
        group->files[at++] = before[f->file];
        size = add_capped(size, before[f->file]->file_size);
      }
    }
    items[i] = (pack_item){begin, at, at_least(size, table->facts.split_open_cost_bytes)};
  }
  TN_TRY(pack_ordered(table, group->files, items, n_items, arena, out, err));
  for (int32_t i = 0; i < out->count; i++) {
    tn_pack *pack = &out->items[i];
    pack->is_raw_convertible = pack->n_files == 1 && !has_deletes(pack->files[0]);
  }
  return TARN_OK;
}

static tarn_status pack_merge_tree(const tn_table *table, tn_file_group *group, tn_arena *arena,
                                   tn_packs *out, tarn_error *err) {
  bool is_raw = true, is_one_level = true, all_have_vectors = true;
  for (int64_t i = 0; i < group->n_files; i++) {
    is_raw = is_raw && group->files[i]->level != 0 && !has_deletes(group->files[i]);
    is_one_level = is_one_level && group->files[i]->level == group->files[0]->level;
    // Superseded rows of files from before deletion vectors are not marked: they must be merged.
    all_have_vectors =
        all_have_vectors && group->files[i]->schema_id >= table->facts.vectors_since_schema;
  }
  if (is_raw && ((table->facts.deletion_vectors && all_have_vectors) ||
                 table->facts.merge_engine == TN_ENGINE_FIRST_ROW || is_one_level)) {
    return pack_files(table, group->files, group->n_files, arena, out, err);
  }
  return pack_sections(table, group, arena, out, err);
}

/* ------------------------------------------------------------------ data evolution */

static int64_t first_row_id(const tn_scan_entry *e) {
  return e->rest != NULL && e->rest->has_first_row_id ? e->rest->first_row_id : -1;
}

static int64_t last_row_id(const tn_scan_entry *e) {
  int64_t first = first_row_id(e);
  return first < 0 ? -1 : add_capped(first, e->row_count - 1);
}

static int by_row_ids(void *ctx, const void *a, const void *b) {
  int64_t x = first_row_id(a), y = first_row_id(b);
  (void)ctx;
  if (x == y) {
    x = last_row_id(a);
    y = last_row_id(b);
  }
  return (x > y) - (x < y);
}

/* Entries of one array in their order there: by address in the list of the group. */
typedef struct placed_file {
  const tn_scan_entry *entry;
  int64_t place;
} placed_file;

static int by_placed_row_ids(void *ctx, const void *a, const void *b) {
  return by_row_ids(ctx, ((const placed_file *)a)->entry, ((const placed_file *)b)->entry);
}

static int by_place(void *ctx, const void *a, const void *b) {
  int64_t x = ((const placed_file *)a)->place, y = ((const placed_file *)b)->place;
  (void)ctx;
  return (x > y) - (x < y);
}

static bool is_blob(const tn_scan_entry *e) {
  return e->file_name_len >= 5 && memcmp(e->file_name + e->file_name_len - 5, ".blob", 5) == 0;
}

/* Files that hold columns of the same rows stay together; their columns are put side by side. */
static tarn_status pack_evolution(const tn_table *table, tn_file_group *group, tn_arena *arena,
                                  tn_packs *out, tarn_error *err) {
  size_t n = (size_t)group->n_files;
  int64_t open_cost = table->facts.split_open_cost_bytes, n_items = 0, begin = 0, end = -1,
          size = 0;
  placed_file *placed = tn_arena_alloc(arena, (n + 1) * sizeof(*placed));
  const void **order = tn_arena_alloc(arena, (n + 1) * sizeof(*order));
  const void **scratch = tn_arena_alloc(arena, (n + 1) * sizeof(*scratch));
  pack_item *items = tn_arena_alloc(arena, (n + 1) * sizeof(*items));
  if (placed == NULL || order == NULL || scratch == NULL || items == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < n; i++) {
    placed[i] = (placed_file){group->files[i], (int64_t)i};
    order[i] = &placed[i];
  }
  tn_sort_stable(order, scratch, (int64_t)n, by_placed_row_ids, NULL);
  for (int64_t i = 0; i <= (int64_t)n; i++) {
    const tn_scan_entry *e = i < (int64_t)n ? ((const placed_file *)order[i])->entry : NULL;
    bool is_apart = e == NULL || first_row_id(e) < 0 || first_row_id(e) > end;
    if (i > begin && is_apart) {
      tn_sort_stable(order + begin, scratch, i - begin, by_place, NULL);
      items[n_items++] = (pack_item){begin, i, at_least(size, open_cost)};
      begin = i;
      size = 0;
      end = -1;
    }
    if (e != NULL) {
      size = add_capped(size, is_blob(e) ? open_cost : e->file_size);
      end = at_least(end, last_row_id(e));
    }
  }
  for (size_t i = 0; i < n; i++) {
    group->files[i] = ((const placed_file *)order[i])->entry;
  }
  TN_TRY(pack_ordered(table, group->files, items, n_items, arena, out, err));
  // Raw where every item of a bin is a single file: walk bins and items side by side.
  for (int64_t i = 0, bin = 0; i < n_items; bin++) {
    const tn_pack *pack = &out->items[bin];
    bool is_raw = true;
    for (int64_t left = pack->n_files; left > 0; i++) {
      is_raw = is_raw && items[i].end - items[i].begin == 1;
      left -= items[i].end - items[i].begin;
    }
    out->items[bin].is_raw_convertible = is_raw;
  }
  return TARN_OK;
}

tarn_status tn_pack_group(const tn_table *table, tn_file_group *group, tn_arena *arena,
                          tn_packs *out, tarn_error *err) {
  memset(out, 0, sizeof(*out));
  if (group->n_files == 0) {
    return TARN_OK;
  }
  if (table->facts.data_evolution) {
    return pack_evolution(table, group, arena, out, err);
  }
  if (table->facts.has_primary_key) {
    return pack_merge_tree(table, group, arena, out, err);
  }
  return pack_append(table, group, arena, out, err);
}
