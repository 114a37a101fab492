/* levels.c - files kept in one array, run by run; each change is checked before it is made.
 */
#include "compact/levels.h"

#include "base/sort.h"
#include "plan/intervals.h"

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* Sizes come from manifests: a sum never overflows. */
static int64_t add_size(int64_t sum, int64_t size) {
  int64_t v = size > 0 ? size : 0;
  return sum > INT64_MAX - v ? INT64_MAX : sum + v;
}

/* ------------------------------------------------------------------ keys */

static tarn_status decode_key(const tn_schema *schema, tn_slice bytes, tn_datum *out,
                              tarn_error *err) {
  TN_TRY(tn_interval_key(schema, bytes, out, err));
  for (int32_t i = 0; i < schema->n_key_columns; i++) {
    if (out[i].is_null) {
      return tn_fail(err, TARN_E_CORRUPT, "a null in key column '%s'",
                     schema->fields[schema->key_columns[i]].name);
    }
  }
  return TARN_OK;
}

/* min and max have room for a value of each key column. */
static tarn_status decode_range(const tn_schema *schema, const tn_data_file *file, tn_datum *min,
                                tn_datum *max, tarn_error *err) {
  tarn_status st;
  TN_TRY_TO(done, decode_key(schema, file->min_key, min, err));
  TN_TRY_TO(done, decode_key(schema, file->max_key, max, err));
  if (tn_interval_compare(schema, min, max) > 0) {
    st = tn_fail(err, TARN_E_CORRUPT, "it ends before it begins");
  }
done:
  return st == TARN_OK ? st
                       : tn_error_context(err, st, "key range of data file %.*s",
                                          TN_SLICE_ARG(file->file_name));
}

/* ------------------------------------------------------------------ files of a tree */

static tarn_status make_file(const tn_levels *levels, const tn_data_file *file,
                             const tn_level_file **out, tarn_error *err) {
  size_t n_keys = (size_t)levels->schema->n_key_columns;
  tn_level_file *made = tn_calloc(levels->mem, 1, sizeof(*made) + 2 * n_keys * sizeof(tn_datum));
  tn_datum *keys;
  tarn_status st;
  *out = NULL;
  if (made == NULL) {
    return tn_oom(err);
  }
  keys = (tn_datum *)(made + 1);
  *made = (tn_level_file){file, keys, keys + n_keys};
  st = decode_range(levels->schema, file, keys, keys + n_keys, err);
  if (st != TARN_OK) {
    tn_free(levels->mem, made);
    return st;
  }
  *out = made;
  return TARN_OK;
}

static void free_files(tn_mem *mem, const tn_level_file *const *files, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    tn_free(mem, (void *)(uintptr_t)files[i]);
  }
}

/* Level 0: the newest file first. Spec: compaction, 1. */
static int compare_age(const tn_data_file *a, const tn_data_file *b) {
  if (a->max_sequence != b->max_sequence) {
    return COMPARE(b->max_sequence, a->max_sequence);
  }
  if (a->min_sequence != b->min_sequence) {
    return COMPARE(a->min_sequence, b->min_sequence);
  }
  if (a->creation_time_ms != b->creation_time_ms) {
    return COMPARE(a->creation_time_ms, b->creation_time_ms);
  }
  return tn_slice_compare(a->file_name, b->file_name);
}

static int by_place(void *ctx, const void *a, const void *b) {
  const tn_level_file *x = a, *y = b;
  if (x->file->level != y->file->level) {
    return COMPARE(x->file->level, y->file->level);
  }
  return x->file->level == 0 ? compare_age(x->file, y->file)
                             : tn_interval_compare(ctx, x->min_key, y->min_key);
}

static tarn_status twice(const tn_data_file *file, tarn_error *err) {
  return tn_fail(err, TARN_E_CORRUPT, "data file %.*s is in its bucket twice",
                 TN_SLICE_ARG(file->file_name));
}

/* Files in their places: does each level hold what it may? */
static tarn_status check_places(const tn_levels *levels, const tn_level_file *const *files,
                                int64_t n, tarn_error *err) {
  for (int64_t i = 1; i < n; i++) {
    const tn_level_file *a = files[i - 1], *b = files[i];
    if (a->file->level != b->file->level) {
      continue;
    }
    if (b->file->level == 0 ? compare_age(a->file, b->file) == 0
                            : tn_slice_equal(a->file->file_name, b->file->file_name)) {
      return twice(b->file, err);
    }
    if (b->file->level > 0 && levels->checks_overlap &&
        tn_interval_compare(levels->schema, b->min_key, a->max_key) <= 0) {
      return tn_fail(
          err, TARN_E_CORRUPT, "data files %.*s and %.*s of level %d have overlapping keys",
          TN_SLICE_ARG(a->file->file_name), TN_SLICE_ARG(b->file->file_name), (int)b->file->level);
    }
  }
  return TARN_OK;
}

static tarn_status arrange(const tn_levels *levels, const tn_level_file **files, int64_t n,
                           tarn_error *err) {
  const tn_level_file **scratch = tn_calloc(levels->mem, (size_t)n + 1, sizeof(*scratch));
  if (scratch == NULL) {
    return tn_oom(err);
  }
  tn_sort_stable((const void **)files, (const void **)scratch, n, by_place,
                 (void *)(uintptr_t)levels->schema);
  tn_free(levels->mem, scratch);
  return check_places(levels, files, n, err);
}

/* Runs of files in their places; runs has room for as many as there are files. */
static void find_runs(tn_levels *levels) {
  tn_level_run *run = NULL;
  levels->n_runs = levels->n_level_0 = 0;
  for (int64_t i = 0; i < levels->n_files; i++) {
    const tn_data_file *file = levels->files[i]->file;
    if (run == NULL || file->level == 0 || file->level != run->level) {
      run = &levels->runs[levels->n_runs++];
      *run = (tn_level_run){file->level, levels->files + i, 0, 0};
      levels->n_level_0 += file->level == 0;
    }
    run->n_files++;
    run->size_bytes = add_size(run->size_bytes, file->file_size);
  }
}

static bool reserve_runs(tn_levels *levels, int64_t n) {
  int64_t room = n + n / 2 + 8;
  tn_level_run *runs;
  if (n <= levels->run_room) {
    return true;
  }
  runs = tn_calloc(levels->mem, (size_t)room, sizeof(*runs));
  if (runs == NULL) {
    return false;
  }
  if (levels->n_runs > 0) {
    memcpy(runs, levels->runs, (size_t)levels->n_runs * sizeof(*runs));
  }
  tn_free(levels->mem, levels->runs);
  levels->runs = runs;
  levels->run_room = room;
  return true;
}

/* ------------------------------------------------------------------ a tree */

/* kept: files that stay; after: new ones. On success the tree has them all. */
static tarn_status install(tn_levels *levels, const tn_level_file *const *kept, int64_t n_kept,
                           const tn_data_file *const *after, int64_t n_after, tarn_error *err) {
  int64_t n = n_kept + n_after, n_made = 0;
  const tn_level_file **files = tn_calloc(levels->mem, (size_t)n + 1, sizeof(*files));
  const tn_level_file **made = tn_calloc(levels->mem, (size_t)n_after + 1, sizeof(*made));
  tarn_status st;
  if (files == NULL || made == NULL || !reserve_runs(levels, n)) {
    st = tn_oom(err);
    goto failed;
  }
  for (; n_made < n_after; n_made++) {
    TN_TRY_TO(failed, make_file(levels, after[n_made], &made[n_made], err));
    files[n_kept + n_made] = made[n_made];
  }
  for (int64_t i = 0; i < n_kept; i++) {
    files[i] = kept[i];
  }
  TN_TRY_TO(failed, arrange(levels, files, n, err));
  tn_free(levels->mem, made);
  tn_free(levels->mem, levels->files);
  levels->files = files;
  levels->n_files = n;
  levels->file_room = n + 1;
  find_runs(levels);
  return TARN_OK;
failed:
  free_files(levels->mem, made, n_made);
  tn_free(levels->mem, made);
  tn_free(levels->mem, files);
  return st;
}

tarn_status tn_levels_create(tn_mem *mem, const tn_schema *schema, int32_t num_levels,
                             bool checks_overlap, const tn_data_file *const *files, int64_t n_files,
                             tn_levels **out, tarn_error *err) {
  tn_levels *levels;
  tarn_status st;
  *out = NULL;
  for (int64_t i = 0; i < n_files; i++) {
    int32_t level = files[i]->level;
    if (level < 0 || level == INT32_MAX) {
      return tn_fail(err, TARN_E_CORRUPT, "data file %.*s is on level %d",
                     TN_SLICE_ARG(files[i]->file_name), (int)level);
    }
    num_levels = level + 1 > num_levels ? level + 1 : num_levels;
  }
  if (num_levels < 2) {
    return tn_fail(err, TARN_E_INVALID, "Number of levels must be at least 2.");
  }
  levels = tn_calloc(mem, 1, sizeof(*levels));
  if (levels == NULL) {
    return tn_oom(err);
  }
  *levels = (tn_levels){
      .mem = mem, .schema = schema, .n_levels = num_levels, .checks_overlap = checks_overlap};
  st = install(levels, NULL, 0, files, n_files, err);
  if (st != TARN_OK) {
    tn_levels_free(levels);
    return st;
  }
  *out = levels;
  return TARN_OK;
}

void tn_levels_free(tn_levels *levels) {
  if (levels != NULL) {
    free_files(levels->mem, levels->files, levels->n_files);
    tn_free(levels->mem, levels->files);
    tn_free(levels->mem, levels->runs);
    tn_free(levels->mem, levels);
  }
}

int32_t tn_levels_highest(const tn_levels *levels) {
  return levels->n_runs > 0 ? levels->runs[levels->n_runs - 1].level : -1;
}

/* ------------------------------------------------------------------ changes */

static bool reserve_files(tn_levels *levels, int64_t n) {
  int64_t room = n + n / 2 + 8;
  const tn_level_file **files;
  if (n <= levels->file_room) {
    return true;
  }
  files = tn_realloc(levels->mem, levels->files, (size_t)room * sizeof(*files));
  if (files == NULL) {
    return false;
  }
  levels->files = files;
  levels->file_room = room;
  for (int64_t i = 0, r = 0; r < levels->n_runs; r++) { /* the array may have moved */
    levels->runs[r].files = files + i;
    i += levels->runs[r].n_files;
  }
  return true;
}

tarn_status tn_levels_add(tn_levels *levels, const tn_data_file *file, tarn_error *err) {
  const tn_level_file *made;
  int64_t at = 0;
  if (file->level != 0) {
    return tn_fail(err, TARN_E_INTERNAL, "a new data file %.*s is on level %d, not on level 0",
                   TN_SLICE_ARG(file->file_name), (int)file->level);
  }
  while (at < levels->n_level_0 && compare_age(levels->files[at]->file, file) < 0) {
    at++;
  }
  if (at < levels->n_level_0 && compare_age(levels->files[at]->file, file) == 0) {
    return twice(file, err);
  }
  if (!reserve_files(levels, levels->n_files + 1) || !reserve_runs(levels, levels->n_files + 1)) {
    return tn_oom(err);
  }
  TN_TRY(make_file(levels, file, &made, err));
  for (int64_t i = levels->n_files++; i > at; i--) {
    levels->files[i] = levels->files[i - 1];
  }
  levels->files[at] = made;
  find_runs(levels);
  return TARN_OK;
}

static int by_level_and_name(void *ctx, const void *a, const void *b) {
  const tn_data_file *x = a, *y = b;
  (void)ctx;
  return x->level != y->level ? COMPARE(x->level, y->level)
                              : tn_slice_compare(x->file_name, y->file_name);
}

/* Is the file among n, which are sorted? */
static bool is_among(const tn_data_file *const *files, int64_t n, const tn_data_file *file) {
  int64_t begin = 0, end = n;
  while (begin < end) {
    int64_t mid = begin + (end - begin) / 2;
    int order = by_level_and_name(NULL, files[mid], file);
    if (order == 0) {
      return true;
    }
    if (order < 0) {
      begin = mid + 1;
    } else {
      end = mid;
    }
  }
  return false;
}

/* Part the tree's files: those that stay to the front of `parted`, those that go behind them.
 * `sorted` has the files of before, twice as much room. */
static int64_t part(const tn_levels *levels, const tn_data_file **sorted, int64_t n_before,
                    const tn_level_file **parted) {
  int64_t n_kept = 0, n_gone = 0;
  tn_sort_stable((const void **)sorted, (const void **)(sorted + n_before), n_before,
                 by_level_and_name, NULL);
  for (int64_t i = 0; i < levels->n_files; i++) {
    if (is_among(sorted, n_before, levels->files[i]->file)) {
      parted[levels->n_files - ++n_gone] = levels->files[i];
    } else {
      parted[n_kept++] = levels->files[i];
    }
  }
  return n_kept;
}

tarn_status tn_levels_update(tn_levels *levels, const tn_data_file *const *before, int64_t n_before,
                             const tn_data_file *const *after, int64_t n_after, tarn_error *err) {
  int64_t n_old = levels->n_files, n_kept;
  const tn_level_file **parted = tn_calloc(levels->mem, (size_t)n_old + 1, sizeof(*parted));
  const tn_data_file **sorted = tn_calloc(levels->mem, 2 * (size_t)n_before + 1, sizeof(*sorted));
  tarn_status st = TARN_OK;
  if (parted == NULL || sorted == NULL) {
    st = tn_oom(err);
    goto done;
  }
  for (int64_t i = 0; i < n_after; i++) {
    if (after[i]->level < 0 || after[i]->level >= levels->n_levels) {
      st = tn_fail(err, TARN_E_INTERNAL, "compacted data file %.*s is on level %d of %d",
                   TN_SLICE_ARG(after[i]->file_name), (int)after[i]->level, (int)levels->n_levels);
      goto done;
    }
  }
  for (int64_t i = 0; i < n_before; i++) {
    sorted[i] = before[i];
  }
  n_kept = part(levels, sorted, n_before, parted);
  if (n_old - n_kept != n_before) {
    st = tn_fail(err, TARN_E_INTERNAL,
                 "%lld files were compacted, of which %lld are in their bucket",
                 (long long)n_before, (long long)(n_old - n_kept));
    goto done;
  }
  TN_TRY_TO(done, install(levels, parted, n_kept, after, n_after, err));
  free_files(levels->mem, parted + n_kept, n_old - n_kept);
done:
  tn_free(levels->mem, parted);
  tn_free(levels->mem, sorted);
  return st;
}

/* ------------------------------------------------------------------ sections */

/* The runs of one section; files has room for its files. */
static tarn_status make_section(tn_arena *arena, const tn_interval_section *from,
                                const tn_data_file *const *all, const tn_data_file **files,
                                tn_compact_section *out, tarn_error *err) {
  *out = (tn_compact_section){NULL, from->n_runs, from->n_files, from->min, from->max};
  out->runs = tn_arena_calloc(arena, (size_t)from->n_runs, sizeof(*out->runs));
  if (out->runs == NULL) {
    return tn_oom(err);
  }
  for (int64_t r = 0; r < out->n_runs; r++) {
    tn_compact_run *run = &out->runs[r];
    run->files = files;
    for (const tn_interval *f = from->runs[r]; f != NULL; f = f->next) {
      run->files[run->n_files++] = all[f->file];
      run->size_bytes = add_size(run->size_bytes, all[f->file]->file_size);
    }
    files += run->n_files;
  }
  return TARN_OK;
}

tarn_status tn_compact_sections_make(tn_arena *arena, const tn_schema *schema,
                                     const tn_data_file *const *files, int64_t n_files,
                                     tn_compact_section **out, int64_t *n_out, tarn_error *err) {
  size_t n = (size_t)n_files, n_keys = (size_t)schema->n_key_columns;
  tn_interval *ranges = tn_arena_calloc(arena, n + 1, sizeof(*ranges));
  const tn_data_file **ordered = tn_arena_calloc(arena, n + 1, sizeof(*ordered));
  tn_interval_section *found;
  if (ranges == NULL || ordered == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < n_files; i++) {
    tn_datum *keys = tn_arena_calloc(arena, 2 * n_keys, sizeof(*keys));
    if (keys == NULL) {
      return tn_oom(err);
    }
    ranges[i] = (tn_interval){keys, keys + n_keys, i, NULL};
    TN_TRY(decode_range(schema, files[i], keys, keys + n_keys, err));
  }
  TN_TRY(tn_intervals_arrange(arena, schema, ranges, n_files, &found, n_out, err));
  *out = tn_arena_calloc(arena, (size_t)*n_out + 1, sizeof(**out));
  if (*out == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < *n_out; i++) {
    TN_TRY(make_section(arena, &found[i], files, ordered, &(*out)[i], err));
    ordered += found[i].n_files;
  }
  return TARN_OK;
}
