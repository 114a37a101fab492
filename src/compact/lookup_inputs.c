/* lookup_inputs.c - deeper files as inputs of a merge: which of them, and which of their rows.
 *
 * What is looked up are keys of the files of level 0. Of each deeper run only files are opened
 * whose key range meets theirs, and pages of these by the range of the first key column.
 *
 * Few keys against many rows are looked for first: the keys of level 0 are held in memory, the key
 * columns of a deeper file are walked beside them, and the merge then gets the rows that were met
 * alone. So values are read of a few rows, not of all batches that have one.
 */
#include <string.h>

#include "base/bytes.h"
#include "base/sort.h"
#include "column/pieces.h"
#include "compact/rewriter.h"
#include "plan/intervals.h"

/* As many keys may be held, if rows outnumber them so. */
#define MOST_HELD_KEYS 65536
#define ROWS_A_KEY 64
/* A gap of fewer rows is read with its neighbours: a batch of its own costs more. */
#define LEAST_GAP 16
#define MOST_LITERALS 1024

/* ------------------------------------------------------------------ what is looked for */

/* The keys of one file of level 0, ascending. */
typedef struct held_keys {
  tn_batch batch;
  uint64_t *prefixes;
  int64_t at; /* of the file that is walked: the first key that may still be met */
} held_keys;

/* Keys that are looked up. */
typedef struct wanted {
  tn_pass *p;
  const tn_datum *min, *max; /* of all keys; NULL: there are none */
  int64_t n_rows;
  held_keys *held; /* NULL: they are too many */
  int32_t n_held;
  bool is_exact;         /* prefixes are whole keys */
  const tn_pred *pushed; /* on the first key column */
  uint64_t *prefixes;    /* of a batch of a deeper file */
  uint8_t *met;          /* bitmap of its rows */
} wanted;

static bool is_fresh(const tn_pass *p, int32_t number) {
  return p->files[number].file->meta->level <= 0;
}

static void find_range(wanted *w, const tn_pass_run *runs, int32_t n_runs) {
  const tn_schema *schema = w->p->r->table->schema;
  for (int32_t r = 0; r < n_runs; r++) {
    for (int32_t i = runs[r].first; i < runs[r].first + runs[r].n_files; i++) {
      const tn_pass_file *f = &w->p->files[i];
      if (!is_fresh(w->p, i)) {
        continue;
      }
      if (w->min == NULL || tn_interval_compare(schema, f->min, w->min) < 0) {
        w->min = f->min;
      }
      if (w->max == NULL || tn_interval_compare(schema, f->max, w->max) > 0) {
        w->max = f->max;
      }
      w->n_rows += f->file->meta->row_count > 0 ? f->file->meta->row_count : 0;
      w->n_held++;
    }
  }
}

static const tn_field *first_key(const tn_pass *p) {
  const tn_schema *schema = p->r->table->schema;
  return &schema->fields[schema->key_columns[0]];
}

/* Statistics of FLOAT and DOUBLE go by another order than keys do in old files. */
static bool can_push(const tn_field *field) {
  return field->type.root != TN_FLOAT && field->type.root != TN_DOUBLE;
}

static tarn_status push_range(wanted *w, const tn_pred **out, tarn_error *err) {
  const tn_field *field = first_key(w->p);
  tn_datum ends[2] = {w->min[0], w->max[0]};
  *out = NULL;
  if (!can_push(field) || ends[0].is_null || ends[1].is_null ||
      tn_datum_compare(&field->type, &ends[0], &ends[1]) > 0) {
    return TARN_OK;
  }
  *out = tn_pred_leaf(&w->p->arena, TN_PRED_BETWEEN, field, ends, 2);
  return *out != NULL ? TARN_OK : tn_oom(err);
}

/* ------------------------------------------------------------------ keys in memory */

static tarn_status read_all_keys(tn_pass *p, int32_t number, tn_batch *out, tarn_error *err) {
  tarn_env *env = p->r->env;
  tn_data_reader *reader = NULL;
  tn_pieces pieces = {0};
  tn_batch batch = {0};
  const uint8_t *alive;
  const char *path;
  tarn_status st;
  TN_TRY(tn_pass_open(p, number, p->keys, NULL, NULL, TN_READ_BATCH_ROWS, &reader, &path, err));
  for (;;) {
    TN_TRY_TO(done, tn_data_reader_next(reader, TN_READ_BATCH_ROWS, &batch, &alive, err));
    if (batch.n_rows == 0) {
      break;
    }
    TN_TRY_TO(done, tn_pieces_add(&pieces, env, &batch, err));
  }
  st = tn_pieces_join(&pieces, env, p->r->run_fields, p->r->spec.n_keys, out, err);
done:
  tn_batch_reset(env, &batch);
  tn_pieces_reset(&pieces, env);
  tn_data_reader_free(reader);
  return st;
}

static tarn_status hold_keys(wanted *w, const tn_pass_run *runs, int32_t n_runs, tarn_error *err) {
  tn_pass *p = w->p;
  int32_t n = 0;
  w->held = tn_arena_calloc(&p->arena, (size_t)w->n_held, sizeof(*w->held));
  if (w->held == NULL) {
    return tn_oom(err);
  }
  for (int32_t r = 0; r < n_runs; r++) {
    for (int32_t i = runs[r].first; i < runs[r].first + runs[r].n_files; i++) {
      held_keys *held = &w->held[n];
      if (!is_fresh(p, i)) {
        continue;
      }
      n++;
      TN_TRY(read_all_keys(p, i, &held->batch, err));
      held->prefixes = tn_alloc(&p->r->env->mem, (size_t)(held->batch.n_rows + 1) * 8);
      if (held->prefixes == NULL) {
        return tn_oom(err);
      }
      TN_TRY(tn_key_prefixes(&held->batch, p->r->spec.n_keys, tn_slice_of(NULL, 0), held->prefixes,
                             err));
    }
  }
  return TARN_OK;
}

static int by_value(void *ctx, const void *a, const void *b) {
  return tn_datum_compare(ctx, a, b);
}

/* The first key column is one of these values, if they are few; else the range. */
static tarn_status push_values(wanted *w, tarn_error *err) {
  const tn_field *field = first_key(w->p);
  tn_type type = field->type;
  tn_datum *values;
  const tn_datum **order, **scratch;
  int64_t n = 0, n_distinct = 0;
  if (!can_push(field) || w->n_rows > MOST_LITERALS) {
    return push_range(w, &w->pushed, err);
  }
  values = tn_arena_calloc(&w->p->arena, (size_t)w->n_rows * 2 + 1, sizeof(*values));
  order = tn_arena_calloc(&w->p->arena, (size_t)w->n_rows + 1, sizeof(*order));
  scratch = tn_arena_calloc(&w->p->arena, (size_t)w->n_rows + 1, sizeof(*scratch));
  if (values == NULL || order == NULL || scratch == NULL) {
    return tn_oom(err);
  }
  for (int32_t h = 0; h < w->n_held; h++) {
    for (int64_t i = 0; i < w->held[h].batch.n_rows && n < w->n_rows; i++) {
      values[n] = tn_vec_datum(&w->held[h].batch.columns[0], i);
      order[n] = &values[n];
      n++;
    }
  }
  tn_sort_stable((const void **)order, (const void **)scratch, n, by_value, &type);
  for (int64_t i = 0; i < n; i++) {
    if (i == 0 || tn_datum_compare(&type, order[i - 1], order[i]) != 0) {
      values[w->n_rows + n_distinct++] = *order[i];
    }
  }
  if (n_distinct == 0) {
    return TARN_OK;
  }
  w->pushed =
      tn_pred_leaf(&w->p->arena, TN_PRED_IN, field, values + w->n_rows, (int32_t)n_distinct);
  return w->pushed != NULL ? TARN_OK : tn_oom(err);
}

static void drop_keys(wanted *w) {
  tarn_env *env = w->p->r->env;
  for (int32_t h = 0; w->held != NULL && h < w->n_held; h++) {
    tn_batch_reset(env, &w->held[h].batch);
    tn_free(&env->mem, w->held[h].prefixes);
  }
  tn_free(&env->mem, w->prefixes);
  tn_free(&env->mem, w->met);
}

/* ------------------------------------------------------------------ walking a deeper file */

/* The first row from `at` on whose prefix is not below. */
static int64_t gallop(const uint64_t *prefixes, int64_t at, int64_t n, uint64_t least) {
  int64_t low = at, step = 1;
  while (at < n && prefixes[at] < least) {
    low = at + 1;
    at += step;
    step *= 2;
  }
  at = at < n ? at : n;
  while (low < at) {
    int64_t mid = low + (at - low) / 2;
    if (prefixes[mid] < least) {
      low = mid + 1;
    } else {
      at = mid;
    }
  }
  return low;
}

static void meet(const wanted *w, held_keys *held, const tn_batch *batch) {
  int64_t at = 0, n = batch->n_rows;
  while (held->at < held->batch.n_rows) {
    uint64_t prefix = held->prefixes[held->at];
    int order;
    at = gallop(w->prefixes, at, n, prefix);
    if (at == n) {
      return;
    }
    order = w->prefixes[at] > prefix ? 1
            : w->is_exact            ? 0
                          : tn_key_compare(batch, at, &held->batch, held->at, w->p->r->spec.n_keys);
    if (order == 0) {
      tn_bit_set(w->met, at);
    }
    at += order <= 0;
    held->at += order >= 0;
  }
}

static tarn_status note_met(const wanted *w, const tn_batch *batch, tn_range *open, tn_ranges *out,
                            tarn_error *err) {
  for (int64_t i = 0; i < batch->n_rows; i++) {
    int64_t position = batch->first_position + i;
    if (!tn_bit_get(w->met, i)) {
      continue;
    }
    if (open->end > open->begin && position - open->end >= LEAST_GAP) {
      TN_TRY(tn_ranges_add(out, open->begin, open->end, err));
      open->end = open->begin;
    }
    open->begin = open->end > open->begin ? open->begin : position;
    open->end = position + 1;
  }
  return TARN_OK;
}

/* The rows of a deeper file that have one of the keys, and some between. */
static tarn_status find_rows(wanted *w, int32_t number, tn_ranges *out, tarn_error *err) {
  tn_pass *p = w->p;
  tn_data_reader *reader = NULL;
  tn_batch batch = {0};
  tn_range open = {0, 0};
  const uint8_t *alive;
  const char *path;
  tarn_status st;
  for (int32_t h = 0; h < w->n_held; h++) {
    w->held[h].at = 0;
  }
  TN_TRY(
      tn_pass_open(p, number, p->keys, w->pushed, NULL, TN_READ_BATCH_ROWS, &reader, &path, err));
  for (;;) {
    TN_TRY_TO(done, tn_data_reader_next(reader, TN_READ_BATCH_ROWS, &batch, &alive, err));
    if (batch.n_rows == 0) {
      break;
    }
    st = tn_key_prefixes(&batch, p->r->spec.n_keys, tn_slice_of(NULL, 0), w->prefixes, err);
    if (st != TARN_OK) {
      tn_error_context(err, st, "%s", path);
      goto done;
    }
    memset(w->met, 0, TN_BITMAP_BYTES(batch.n_rows));
    for (int32_t h = 0; h < w->n_held; h++) {
      meet(w, &w->held[h], &batch);
    }
    TN_TRY_TO(done, note_met(w, &batch, &open, out, err));
  }
  st = open.end > open.begin ? tn_ranges_add(out, open.begin, open.end, err) : TARN_OK;
done:
  tn_batch_reset(p->r->env, &batch);
  tn_data_reader_free(reader);
  return st;
}

/* ------------------------------------------------------------------ runs */

/* The files of a deeper run that the range meets; they lie side by side. */
static void choose_files(const wanted *w, int32_t number, int32_t n_files, tn_pass_run *out) {
  const tn_schema *schema = w->p->r->table->schema;
  int32_t first = number, end = number + n_files;
  while (first < end && tn_interval_compare(schema, w->p->files[first].max, w->min) < 0) {
    first++;
  }
  while (end > first && tn_interval_compare(schema, w->p->files[end - 1].min, w->max) > 0) {
    end--;
  }
  *out = (tn_pass_run){.first = first, .n_files = end - first, .is_looked_up = true, .spilled = -1};
}

static tarn_status choose_rows(wanted *w, tn_pass_run *runs, int32_t n_runs, tarn_error *err) {
  tn_mem *mem = &w->p->r->env->mem;
  w->prefixes = tn_alloc(mem, TN_READ_BATCH_ROWS * sizeof(*w->prefixes));
  w->met = tn_alloc(mem, TN_BITMAP_BYTES(TN_READ_BATCH_ROWS));
  if (w->prefixes == NULL || w->met == NULL) {
    return tn_oom(err);
  }
  for (int32_t r = 0; r < n_runs; r++) {
    runs[r].rows = tn_arena_calloc(&w->p->arena, (size_t)runs[r].n_files, sizeof(*runs[r].rows));
    if (runs[r].rows == NULL) {
      return tn_oom(err);
    }
    for (int32_t i = 0; i < runs[r].n_files; i++) {
      tn_ranges_init(&runs[r].rows[i], mem);
    }
    for (int32_t i = 0; i < runs[r].n_files; i++) {
      TN_TRY(find_rows(w, runs[r].first + i, &runs[r].rows[i], err));
    }
  }
  return TARN_OK;
}

void tn_lookup_runs_reset(tn_pass_run *runs, int32_t n_runs) {
  for (int32_t r = 0; r < n_runs; r++) {
    for (int32_t i = 0; runs[r].rows != NULL && i < runs[r].n_files; i++) {
      tn_ranges_reset(&runs[r].rows[i]);
    }
    runs[r].rows = NULL;
  }
}

static int64_t rows_of(const tn_pass *p, const tn_pass_run *run) {
  int64_t n = 0;
  for (int32_t i = 0; i < run->n_files; i++) {
    n += p->files[run->first + i].file->meta->row_count;
  }
  return n;
}

static tarn_status make_keys_shape(tn_pass *p, tarn_error *err) {
  if (p->keys != NULL) {
    return TARN_OK;
  }
  return tn_data_shape_create(p->r->table, p->r->run_fields, p->r->spec.n_keys, NULL, 0, true,
                              &p->keys, err);
}

tarn_status tn_lookup_runs(tn_pass *p, const tn_pass_run *runs, int32_t n_runs,
                           const tn_rewrite_run *deeper, int32_t n_deeper, int32_t number,
                           tn_pass_run *out, int32_t *n_out, tarn_error *err) {
  wanted w = {.p = p};
  int64_t n_rows = 0;
  int32_t n = 0;
  tarn_status st = TARN_OK;
  *n_out = 0;
  find_range(&w, runs, n_runs);
  if (w.min == NULL) {
    return TARN_OK;
  }
  for (int32_t d = 0; d < n_deeper; number += deeper[d++].n_files) {
    choose_files(&w, number, deeper[d].n_files, &out[n]);
    n_rows += rows_of(p, &out[n]);
    n += out[n].n_files > 0;
  }
  if (n > 0 && w.n_rows <= MOST_HELD_KEYS && w.n_rows <= n_rows / ROWS_A_KEY) {
    w.is_exact = tn_key_is_prefix_exact(p->r->run_fields, p->r->spec.n_keys);
    TN_TRY_TO(done, make_keys_shape(p, err));
    TN_TRY_TO(done, hold_keys(&w, runs, n_runs, err));
    TN_TRY_TO(done, push_values(&w, err));
    TN_TRY_TO(done, choose_rows(&w, out, n, err));
  } else if (n > 0) {
    TN_TRY_TO(done, push_range(&w, &w.pushed, err));
    for (int32_t i = 0; i < n; i++) {
      out[i].pushed = w.pushed;
    }
  }
done:
  drop_keys(&w);
  if (st != TARN_OK) {
    tn_lookup_runs_reset(out, n);
    n = 0;
  }
  *n_out = n;
  return st;
}
