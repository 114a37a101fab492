/* sections.c - files sorted by least key, cut into sections, laid on the run that ends first. */
#include "read/sections.h"

#include <string.h>

#include "base/sort.h"

typedef struct keyed_file {
  int32_t index;
  int32_t run; /* for sequence ranges */
  tn_datum *min, *max;
  const tn_data_file *file;
} keyed_file;

/* ------------------------------------------------------------------ key ranges */

static int compare_keys(const tn_schema *schema, const tn_datum *a, const tn_datum *b) {
  int order = 0;
  for (int32_t i = 0; i < schema->n_key_columns && order == 0; i++) {
    order = tn_datum_compare_key(&schema->fields[schema->key_columns[i]].type, &a[i], &b[i]);
  }
  return order;
}

static tarn_status decode_key(tn_arena *arena, const tn_schema *schema, const tn_data_file *file,
                              tn_slice bytes, tn_datum **out, tarn_error *err) {
  tn_binary_row row;
  tn_datum *key = tn_arena_calloc(arena, (size_t)schema->n_key_columns + 1, sizeof(*key));
  tarn_status st;
  *out = key;
  if (key == NULL) {
    return tn_oom(err);
  }
  st = tn_binary_row_decode(bytes, "key range", &row, err);
  if (st == TARN_OK && row.arity != schema->n_key_columns) {
    st = tn_fail(err, TARN_E_CORRUPT, "a key of %d columns where the table has %d", (int)row.arity,
                 (int)schema->n_key_columns);
  }
  for (int32_t i = 0; i < schema->n_key_columns && st == TARN_OK; i++) {
    const tn_field *field = &schema->fields[schema->key_columns[i]];
    st = tn_binary_row_get(&row, i, &field->type, &key[i], err);
    if (st == TARN_OK && key[i].is_null) {
      st = tn_fail(err, TARN_E_CORRUPT, "a null in key column '%s'", field->name);
    }
  }
  return st == TARN_OK ? st
                       : tn_error_context(err, st, "key range of data file %.*s",
                                          TN_SLICE_ARG(file->file_name));
}

static int by_key_range(void *ctx, const void *a, const void *b) {
  const keyed_file *x = a, *y = b;
  int order = compare_keys(ctx, x->min, y->min);
  return order != 0 ? order : compare_keys(ctx, x->max, y->max);
}

/* ------------------------------------------------------------------ sections */

/* A run while files are added: a heap keeps the one that ends first on top. */
typedef struct growing_run {
  const keyed_file *last;
  int32_t *files;
  int32_t n_files, capacity;
} growing_run;

static bool ends_first(const tn_schema *schema, const growing_run *a, const growing_run *b) {
  return compare_keys(schema, a->last->max, b->last->max) < 0;
}

static void sift_down(const tn_schema *schema, growing_run *heap, int32_t n, int32_t at) {
  for (;;) {
    int32_t child = 2 * at + 1;
    growing_run swap;
    if (child < n - 1 && ends_first(schema, &heap[child + 1], &heap[child])) {
      child++;
    }
    if (child >= n || !ends_first(schema, &heap[child], &heap[at])) {
      return;
    }
    swap = heap[at];
    heap[at] = heap[child];
    heap[child] = swap;
    at = child;
  }
}

static void sift_up(const tn_schema *schema, growing_run *heap, int32_t at) {
  while (at > 0 && ends_first(schema, &heap[at], &heap[(at - 1) / 2])) {
    growing_run swap = heap[at];
    heap[at] = heap[(at - 1) / 2];
    heap[(at - 1) / 2] = swap;
    at = (at - 1) / 2;
  }
}

static tarn_status add_to_run(tn_arena *arena, growing_run *run, const keyed_file *file,
                              tarn_error *err) {
  if (run->n_files == run->capacity) {
    int32_t capacity = run->capacity == 0 ? 2 : run->capacity * 2;
    int32_t *files = tn_arena_alloc(arena, (size_t)capacity * sizeof(*files));
    if (files == NULL) {
      return tn_oom(err);
    }
    if (run->n_files > 0) {
      memcpy(files, run->files, (size_t)run->n_files * sizeof(*files));
    }
    run->files = files;
    run->capacity = capacity;
  }
  run->files[run->n_files++] = file->index;
  run->last = file;
  return TARN_OK;
}

/* The files of one section, sorted by key range, as runs. heap has room for n. */
static tarn_status make_section(tn_arena *arena, const tn_schema *schema, const keyed_file **files,
                                int64_t n, growing_run *heap, tn_section *out, tarn_error *err) {
  int32_t n_runs = 0;
  for (int64_t i = 0; i < n; i++) {
    if (n_runs > 0 && compare_keys(schema, files[i]->min, heap[0].last->max) > 0) {
      TN_TRY(add_to_run(arena, &heap[0], files[i], err));
      sift_down(schema, heap, n_runs, 0);
    } else {
      memset(&heap[n_runs], 0, sizeof(heap[n_runs]));
      TN_TRY(add_to_run(arena, &heap[n_runs], files[i], err));
      sift_up(schema, heap, n_runs++);
    }
  }
  out->runs = tn_arena_calloc(arena, (size_t)n_runs, sizeof(*out->runs));
  if (out->runs == NULL) {
    return tn_oom(err);
  }
  for (int32_t r = 0; r < n_runs; r++) {
    out->runs[r].files = heap[r].files;
    out->runs[r].n_files = heap[r].n_files;
  }
  out->n_runs = n_runs;
  return TARN_OK;
}

static tarn_status sort_files(tn_arena *arena, const tn_split *split, const keyed_file *items,
                              tn_sort_compare compare, void *ctx, const keyed_file ***out,
                              tarn_error *err) {
  const keyed_file **files = tn_arena_alloc(arena, ((size_t)split->n_files + 1) * sizeof(*files));
  const keyed_file **scratch =
      tn_arena_alloc(arena, ((size_t)split->n_files + 1) * sizeof(*scratch));
  if (files == NULL || scratch == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < split->n_files; i++) {
    files[i] = &items[i];
  }
  tn_sort_stable((const void **)files, (const void **)scratch, split->n_files, compare, ctx);
  *out = files;
  return TARN_OK;
}

tarn_status tn_sections_make(tn_arena *arena, const tn_schema *schema, const tn_split *split,
                             tn_section **out, int32_t *n_out, tarn_error *err) {
  size_t n = (size_t)split->n_files;
  keyed_file *items = tn_arena_calloc(arena, n + 1, sizeof(*items));
  growing_run *heap = tn_arena_calloc(arena, n + 1, sizeof(*heap));
  tn_section *sections = tn_arena_calloc(arena, n + 1, sizeof(*sections));
  const keyed_file **files;
  const tn_datum *bound = NULL;
  int32_t n_sections = 0, begin = 0;
  if (items == NULL || heap == NULL || sections == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < split->n_files; i++) {
    const tn_data_file *file = &split->files[i];
    items[i].index = i;
    TN_TRY(decode_key(arena, schema, file, file->min_key, &items[i].min, err));
    TN_TRY(decode_key(arena, schema, file, file->max_key, &items[i].max, err));
    if (compare_keys(schema, items[i].min, items[i].max) > 0) {
      return tn_fail(err, TARN_E_CORRUPT, "key range of data file %.*s: it ends before it begins",
                     TN_SLICE_ARG(file->file_name));
    }
  }
  TN_TRY(sort_files(arena, split, items, by_key_range, (void *)(uintptr_t)schema, &files, err));
  for (int32_t i = 0; i <= split->n_files; i++) {
    if (i > begin && (i == split->n_files || compare_keys(schema, files[i]->min, bound) > 0)) {
      TN_TRY(
          make_section(arena, schema, files + begin, i - begin, heap, &sections[n_sections], err));
      sections[n_sections].min = files[begin]->min;
      sections[n_sections++].max = bound;
      begin = i;
      bound = NULL;
    }
    if (i < split->n_files && (bound == NULL || compare_keys(schema, files[i]->max, bound) > 0)) {
      bound = files[i]->max;
    }
  }
  *out = sections;
  *n_out = n_sections;
  return TARN_OK;
}

tn_slice tn_section_common_start(const tn_schema *schema, const tn_section *section) {
  const tn_type *type = &schema->fields[schema->key_columns[0]].type;
  tn_slice a = section->min[0].v.bytes, b = section->max[0].v.bytes;
  size_t n = 0;
  if (tn_type_layout(type) != TN_LAYOUT_BYTES) {
    return tn_slice_of(NULL, 0);
  }
  while (n < a.len && n < b.len && a.data[n] == b.data[n]) {
    n++;
  }
  return tn_slice_of(a.data, n);
}

/* ------------------------------------------------------------------ age */

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int by_age(void *ctx, const void *a, const void *b) {
  const tn_data_file *x = ((const keyed_file *)a)->file, *y = ((const keyed_file *)b)->file;
  (void)ctx;
  if (x->level != y->level) {
    return COMPARE(y->level, x->level); /* deeper is older */
  }
  if (x->max_sequence != y->max_sequence) {
    return COMPARE(x->max_sequence, y->max_sequence);
  }
  return COMPARE(x->creation_time_ms, y->creation_time_ms);
}

tarn_status tn_sections_rank(tn_arena *arena, const tn_split *split, int32_t **ranks,
                             tarn_error *err) {
  keyed_file *items = tn_arena_calloc(arena, (size_t)split->n_files + 1, sizeof(*items));
  int32_t *out = tn_arena_calloc(arena, (size_t)split->n_files + 1, sizeof(*out));
  const keyed_file **files;
  if (items == NULL || out == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < split->n_files; i++) {
    items[i].index = i;
    items[i].file = &split->files[i];
  }
  TN_TRY(sort_files(arena, split, items, by_age, NULL, &files, err));
  for (int32_t i = 0; i < split->n_files; i++) {
    out[files[i]->index] = i;
  }
  *ranks = out;
  return TARN_OK;
}

/* ------------------------------------------------------------------ sequence numbers */

static int by_min_sequence(void *ctx, const void *a, const void *b) {
  const tn_data_file *x = ((const keyed_file *)a)->file, *y = ((const keyed_file *)b)->file;
  (void)ctx;
  return COMPARE(x->min_sequence, y->min_sequence);
}

tarn_status tn_section_sequences_overlap(tn_arena *arena, const tn_split *split,
                                         const tn_section *section, bool *out, tarn_error *err) {
  keyed_file *items = tn_arena_calloc(arena, (size_t)split->n_files + 1, sizeof(*items));
  const keyed_file **files;
  tn_split part = *split; /* of the files of the section */
  /* The largest end so far, its run, and the largest end of all other runs. */
  int64_t end = INT64_MIN, other_end = INT64_MIN;
  int32_t end_run = -1;
  if (items == NULL) {
    return tn_oom(err);
  }
  part.n_files = 0;
  *out = true;
  for (int32_t r = 0; r < section->n_runs; r++) {
    for (int32_t i = 0; i < section->runs[r].n_files; i++) {
      const tn_data_file *file = &split->files[section->runs[r].files[i]];
      if (file->min_sequence < 0 || file->min_sequence > file->max_sequence) {
        return TARN_OK; /* not to be relied on */
      }
      items[part.n_files].run = r;
      items[part.n_files++].file = file;
    }
  }
  TN_TRY(sort_files(arena, &part, items, by_min_sequence, NULL, &files, err));
  for (int32_t i = 0; i < part.n_files; i++) {
    int64_t max = files[i]->file->max_sequence;
    int32_t run = files[i]->run;
    if ((run == end_run ? other_end : end) >= files[i]->file->min_sequence) {
      return TARN_OK;
    }
    if (run == end_run) {
      end = max > end ? max : end;
    } else if (max > end) {
      other_end = end;
      end = max;
      end_run = run;
    } else if (max > other_end) {
      other_end = max;
    }
  }
  *out = false;
  return TARN_OK;
}
