/* sections.c - key ranges of a split arranged; the age and the sequence numbers of its files. */
#include "read/sections.h"

#include "base/sort.h"
#include "plan/intervals.h"

/* ------------------------------------------------------------------ sections */

static tarn_status key_of(tn_arena *arena, const tn_schema *schema, tn_slice bytes,
                          const tn_datum **out, tarn_error *err) {
  tn_datum *key = tn_arena_calloc(arena, (size_t)schema->n_key_columns + 1, sizeof(*key));
  *out = key;
  if (key == NULL) {
    return tn_oom(err);
  }
  TN_TRY(tn_interval_key(schema, bytes, key, err));
  for (int32_t i = 0; i < schema->n_key_columns; i++) {
    if (key[i].is_null) {
      return tn_fail(err, TARN_E_CORRUPT, "a null in key column '%s'",
                     schema->fields[schema->key_columns[i]].name);
    }
  }
  return TARN_OK;
}

static tarn_status key_range(tn_arena *arena, const tn_schema *schema, const tn_data_file *file,
                             tn_interval *out, tarn_error *err) {
  TN_TRY(key_of(arena, schema, file->min_key, &out->min, err));
  TN_TRY(key_of(arena, schema, file->max_key, &out->max, err));
  return tn_interval_compare(schema, out->min, out->max) <= 0
             ? TARN_OK
             : tn_fail(err, TARN_E_CORRUPT, "it ends before it begins");
}

/* The runs of one section; files has room for its files. */
static tarn_status make_section(tn_arena *arena, const tn_interval_section *from, int32_t *files,
                                tn_section *out, tarn_error *err) {
  out->min = from->min;
  out->max = from->max;
  out->n_runs = (int32_t)from->n_runs;
  out->runs = tn_arena_calloc(arena, (size_t)from->n_runs, sizeof(*out->runs));
  if (out->runs == NULL) {
    return tn_oom(err);
  }
  for (int32_t r = 0; r < out->n_runs; r++) {
    tn_sorted_run *run = &out->runs[r];
    run->files = files;
    for (const tn_interval *f = from->runs[r]; f != NULL; f = f->next) {
      run->files[run->n_files++] = (int32_t)f->file;
    }
    files += run->n_files;
  }
  return TARN_OK;
}

tarn_status tn_sections_make(tn_arena *arena, const tn_schema *schema, const tn_split *split,
                             tn_section **out, int32_t *n_out, tarn_error *err) {
  size_t n = (size_t)split->n_files;
  tn_interval *ranges = tn_arena_calloc(arena, n + 1, sizeof(*ranges));
  int32_t *files = tn_arena_calloc(arena, n + 1, sizeof(*files));
  tn_interval_section *found;
  tn_section *sections;
  int64_t n_sections;
  if (ranges == NULL || files == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < split->n_files; i++) {
    const tn_data_file *file = &split->files[i];
    tarn_status st = key_range(arena, schema, file, &ranges[i], err);
    ranges[i].file = i;
    if (st != TARN_OK) {
      return tn_error_context(err, st, "key range of data file %.*s",
                              TN_SLICE_ARG(file->file_name));
    }
  }
  TN_TRY(tn_intervals_arrange(arena, schema, ranges, (int64_t)n, &found, &n_sections, err));
  sections = tn_arena_calloc(arena, (size_t)n_sections + 1, sizeof(*sections));
  if (sections == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < n_sections; i++) {
    TN_TRY(make_section(arena, &found[i], files, &sections[i], err));
    files += found[i].n_files;
  }
  *out = sections;
  *n_out = (int32_t)n_sections;
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

typedef struct aged_file {
  const tn_data_file *file;
  int32_t index;
  int32_t run; /* for sequence ranges */
} aged_file;

static tarn_status sort_files(tn_arena *arena, const aged_file *items, int32_t n,
                              tn_sort_compare compare, const aged_file ***out, tarn_error *err) {
  const aged_file **files = tn_arena_alloc(arena, ((size_t)n + 1) * sizeof(*files));
  const aged_file **scratch = tn_arena_alloc(arena, ((size_t)n + 1) * sizeof(*scratch));
  if (files == NULL || scratch == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n; i++) {
    files[i] = &items[i];
  }
  tn_sort_stable((const void **)files, (const void **)scratch, n, compare, NULL);
  *out = files;
  return TARN_OK;
}

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int by_age(void *ctx, const void *a, const void *b) {
  const tn_data_file *x = ((const aged_file *)a)->file, *y = ((const aged_file *)b)->file;
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
  aged_file *items = tn_arena_calloc(arena, (size_t)split->n_files + 1, sizeof(*items));
  int32_t *out = tn_arena_calloc(arena, (size_t)split->n_files + 1, sizeof(*out));
  const aged_file **files;
  if (items == NULL || out == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < split->n_files; i++) {
    items[i].index = i;
    items[i].file = &split->files[i];
  }
  TN_TRY(sort_files(arena, items, split->n_files, by_age, &files, err));
  for (int32_t i = 0; i < split->n_files; i++) {
    out[files[i]->index] = i;
  }
  *ranks = out;
  return TARN_OK;
}

/* ------------------------------------------------------------------ sequence numbers */

static int by_min_sequence(void *ctx, const void *a, const void *b) {
  const tn_data_file *x = ((const aged_file *)a)->file, *y = ((const aged_file *)b)->file;
  (void)ctx;
  return COMPARE(x->min_sequence, y->min_sequence);
}

tarn_status tn_section_sequences_overlap(tn_arena *arena, const tn_split *split,
                                         const tn_section *section, bool *out, tarn_error *err) {
  aged_file *items = tn_arena_calloc(arena, (size_t)split->n_files + 1, sizeof(*items));
  const aged_file **files;
  /* The largest end so far, its run, and the largest end of all other runs. */
  int64_t end = INT64_MIN, other_end = INT64_MIN;
  int32_t end_run = -1, n = 0;
  if (items == NULL) {
    return tn_oom(err);
  }
  *out = true;
  for (int32_t r = 0; r < section->n_runs; r++) {
    for (int32_t i = 0; i < section->runs[r].n_files; i++) {
      const tn_data_file *file = &split->files[section->runs[r].files[i]];
      if (file->min_sequence < 0 || file->min_sequence > file->max_sequence) {
        return TARN_OK; /* not to be relied on */
      }
      items[n].run = r;
      items[n++].file = file;
    }
  }
  TN_TRY(sort_files(arena, items, n, by_min_sequence, &files, err));
  for (int32_t i = 0; i < n; i++) {
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
