/* packing.c - sections of overlapping key ranges, and ordered bin packing. */
#include "plan/packing.h"

#include "base/checked.h"
#include "base/sort.h"
#include "plan/evolution.h"
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

/* Does the size of files of BLOBs count? Else it is as if they were only opened. */
static tarn_status counts_blobs(const tn_table *table, bool *out, tarn_error *err) {
  const char *set;
  bool gives_descriptors;
  TN_TRY(tn_options_bool(&table->options, "blob-as-descriptor", &gives_descriptors, err));
  *out = !gives_descriptors;
  set = tn_options_get(&table->options, "blob.split-by-file-size");
  return set != NULL ? tn_options_bool(&table->options, "blob.split-by-file-size", out, err)
                     : TARN_OK;
}

/* Files that hold columns of the same rows stay together; their columns are put side by side. */
static tarn_status pack_evolution(const tn_table *table, tn_file_group *group, tn_arena *arena,
                                  tn_packs *out, tarn_error *err) {
  int64_t n = group->n_files, open_cost = table->facts.split_open_cost_bytes, n_items, *begins;
  tn_row_span *spans = tn_arena_alloc(arena, (size_t)n * sizeof(*spans));
  const tn_scan_entry **before = tn_arena_memdup(arena, group->files, (size_t)n * sizeof(*before));
  pack_item *items = tn_arena_alloc(arena, ((size_t)n + 1) * sizeof(*items));
  bool counts;
  if (spans == NULL || before == NULL || items == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < n; i++) {
    spans[i] = (tn_row_span){-1, -1, i};
    if (before[i]->rest != NULL) {
      tn_row_span_of(before[i]->rest, i, &spans[i]);
    }
  }
  TN_TRY(counts_blobs(table, &counts, err));
  TN_TRY(tn_row_spans_group(arena, spans, n, &begins, &n_items, err));
  for (int64_t k = 0; k < n_items; k++) {
    int64_t size = 0;
    for (int64_t i = begins[k]; i < begins[k + 1]; i++) {
      const tn_scan_entry *e = before[spans[i].file];
      bool is_light = !counts && tn_is_blob_file(tn_slice_of(e->file_name, e->file_name_len));
      group->files[i] = e;
      size = add_capped(size, is_light ? open_cost : e->file_size);
    }
    items[k] = (pack_item){begins[k], begins[k + 1], at_least(size, open_cost)};
  }
  TN_TRY(pack_ordered(table, group->files, items, n_items, arena, out, err));
  // Raw where every item of a bin is a single file: walk bins and items side by side.
  for (int64_t i = 0, bin = 0; i < n_items; bin++) {
    bool is_raw = true;
    for (int64_t left = out->items[bin].n_files; left > 0; i++) {
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
