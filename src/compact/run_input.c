/* run_input.c - a run of files as input of a merge; runs that are copied to disk first.
 *
 * Of a run two batches are held, and what its reader needs for the pages that it is at. Where
 * that is too much for all runs of a section, the smallest ones are copied to disk, key part and
 * values, without deleted rows; there a run needs one batch. A copied run has the rows of each of
 * its files by themselves ("bucket" i of it is its i-th file), so that levels and ages are kept.
 */
#include <string.h>

#include "base/bytes.h"
#include "base/sort.h"
#include "compact/rewriter.h"

/* A file begins with batches of few rows: what its rows take is not known before some are read, and
 * all values of a batch must be held at once. */
#define FIRST_ROWS 256
/* Memory that an open file is taken to need. */
#define OPEN_FILE_BYTES ((int64_t)12 << 20)

/* ------------------------------------------------------------------ rows of files */

typedef struct file_input {
  tn_merge_input input;
  tn_pass *p;
  tn_pass_run run; /* rows, if any, are the lookup's */
  int32_t next;    /* file to be opened, in the run */
  int32_t number;  /* of the open file */
  tn_data_reader *reader;
  const char *path;
  int64_t key_bytes, max_rows, most_rows; /* of batches: now, and what they may grow to */
} file_input;

int64_t tn_pass_batch_rows(const tn_pass *p, int32_t number, int64_t max_bytes) {
  return tn_file_batch_rows(&p->r->reads, p->files[number].file->meta, TN_READ_BATCH_ROWS,
                            max_bytes);
}

static tarn_status open_next_file(file_input *in, tarn_error *err) {
  tn_pass *p = in->p;
  const tn_ranges *rows = in->run.rows != NULL ? &in->run.rows[in->next] : NULL;
  in->number = in->run.first + in->next++;
  in->most_rows = tn_pass_batch_rows(p, in->number, in->key_bytes);
  in->max_rows = in->most_rows < FIRST_ROWS ? in->most_rows : FIRST_ROWS;
  return tn_pass_open(p, in->number, p->merged, in->run.pushed, rows, in->most_rows, &in->reader,
                      &in->path, err);
}

tarn_status tn_pass_check_system(tn_pass *p, tn_vec *vec, const char *path, tarn_error *err) {
  TN_TRY(tn_vec_flatten(p->r->env, vec, err));
  if (vec->null_count > 0) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: a system column is missing or holds nulls", path);
  }
  return vec->layout == TN_LAYOUT_I8 ? tn_check_kinds(vec, path, err) : TARN_OK;
}

static tarn_status take_system_columns(file_input *in, tn_merge_rows *rows, tarn_error *err) {
  tn_pass *p = in->p;
  int32_t n = p->r->spec.n_key_fields;
  tn_buffer **buffers[] = {&rows->sequences_buffer, &rows->kinds_buffer};
  for (int32_t i = 0; i < 2; i++) {
    tn_vec *vec = &rows->keys.columns[n + i];
    TN_TRY(tn_pass_check_system(p, vec, in->path, err));
    *buffers[i] = tn_buffer_retain(vec->values_buffer);
    tn_vec_reset(p->r->env, vec);
  }
  rows->sequences = (int64_t *)(void *)rows->sequences_buffer->data;
  rows->kinds = (int8_t *)rows->kinds_buffer->data;
  rows->keys.n_columns = n;
  return TARN_OK;
}

/* A row that is looked up where vectors mark it must be met, expired or not: readers see it. And a
 * first row that expired is there all the same. */
static bool drops_expired(const file_input *in) {
  const tn_rewriter *r = in->p->r;
  return r->time_at >= 0 &&
         !(in->run.is_looked_up && (r->is_first_row || r->options->deletion_vectors));
}

static tarn_status take_alive(file_input *in, const uint8_t *alive, tn_merge_rows *rows,
                              tarn_error *err) {
  tn_pass *p = in->p;
  size_t n_bytes = TN_BITMAP_BYTES(rows->keys.n_rows);
  bool has_expiry = drops_expired(in);
  if (alive == NULL && !has_expiry) {
    return TARN_OK;
  }
  TN_TRY(tn_buffer_create(p->r->env, n_bytes + 8, &rows->alive_buffer, err));
  rows->alive = rows->alive_buffer->data;
  if (alive != NULL) {
    memcpy(rows->alive, alive, n_bytes);
  } else {
    memset(rows->alive, 0xff, n_bytes);
  }
  return has_expiry ? tn_expiry_apply(p->r, p->now_ms, &rows->keys.columns[p->r->time_at],
                                      rows->alive, err)
                    : TARN_OK;
}

static void close_file(file_input *in) {
  tn_data_reader_free(in->reader);
  in->reader = NULL;
}

static tarn_status file_next(tn_merge_input *input, int64_t max_rows, tn_merge_rows *out,
                             tarn_error *err) {
  file_input *in = TN_CONTAINER_OF(input, file_input, input);
  const uint8_t *alive;
  for (;;) {
    if (in->reader == NULL) {
      while (in->next < in->run.n_files && in->run.rows != NULL &&
             in->run.rows[in->next].count == 0) {
        in->next++;
      }
      if (in->next == in->run.n_files) {
        return TARN_OK;
      }
      TN_TRY(open_next_file(in, err));
    }
    TN_TRY(tn_data_reader_next(in->reader, max_rows < in->max_rows ? max_rows : in->max_rows,
                               &out->keys, &alive, err));
    if (out->keys.n_rows > 0) {
      break;
    }
    close_file(in);
  }
  in->max_rows = in->max_rows * 2 < in->most_rows ? in->max_rows * 2 : in->most_rows;
  TN_TRY(take_system_columns(in, out, err));
  TN_TRY(take_alive(in, alive, out, err));
  out->level = in->p->files[in->number].file->meta->level;
  out->rank = in->p->ranks[in->number];
  out->path = in->path;
  out->file = in->number;
  out->is_looked_up = in->run.is_looked_up;
  return TARN_OK;
}

static tarn_status file_values(tn_merge_input *input, tn_batch *out, tarn_error *err) {
  file_input *in = TN_CONTAINER_OF(input, file_input, input);
  TN_TRY(tn_data_reader_rest(in->reader, out, err));
  if (out->n_rows <= FIRST_ROWS && out->n_rows > 0) {
    int64_t rows = in->key_bytes / (tn_batch_bytes(out) / out->n_rows + 1);
    rows = rows < TN_LEAST_ROWS ? TN_LEAST_ROWS : rows;
    in->most_rows = rows < in->most_rows ? rows : in->most_rows;
    in->max_rows = in->max_rows < in->most_rows ? in->max_rows : in->most_rows;
  }
  return TARN_OK;
}

static void file_free(tn_merge_input *input) {
  file_input *in = TN_CONTAINER_OF(input, file_input, input);
  close_file(in);
  tn_free(&in->p->r->env->mem, in);
}

static const tn_merge_input_ops file_ops = {file_next, file_values, file_free};

static tarn_status create_file_input(tn_pass *p, const tn_pass_run *run, int64_t key_bytes,
                                     tn_merge_input **out, tarn_error *err) {
  file_input *in;
  if (p->merged == NULL) {
    const tn_merge_spec *m = &p->r->spec;
    TN_TRY(tn_data_shape_create(p->r->table, p->r->read_fields, m->n_key_fields + 2,
                                m->value_fields, p->needs_values ? m->n_value_fields : 0, true,
                                &p->merged, err));
  }
  in = tn_calloc(&p->r->env->mem, 1, sizeof(*in));
  if (in == NULL) {
    return tn_oom(err);
  }
  in->input.ops = &file_ops;
  in->p = p;
  in->run = *run;
  in->key_bytes = key_bytes;
  *out = &in->input;
  return TARN_OK;
}

/* ------------------------------------------------------------------ rows on disk */

typedef struct spilled_input {
  tn_merge_input input;
  tn_pass *p;
  tn_pass_run run;
  int32_t next, number;
  tn_spill_rows *rows;
  tn_batch batch; /* that next() gave: all columns */
} spilled_input;

/* Columns [begin, begin + n) of the batch, shared. */
static tarn_status share_columns(spilled_input *in, int32_t begin, int32_t n, tn_batch *out,
                                 tarn_error *err) {
  tarn_env *env = in->p->r->env;
  tarn_status st;
  TN_TRY(tn_batch_init(env, in->p->r->run_fields + begin, n, out, err));
  for (int32_t c = 0; c < n; c++) {
    st = tn_vec_share(env, &in->batch.columns[begin + c], &out->columns[c], err);
    if (st != TARN_OK) {
      tn_batch_reset(env, out);
      return st;
    }
  }
  out->n_rows = in->batch.n_rows;
  return TARN_OK;
}

static tarn_status spilled_next(tn_merge_input *input, int64_t max_rows, tn_merge_rows *out,
                                tarn_error *err) {
  spilled_input *in = TN_CONTAINER_OF(input, spilled_input, input);
  tn_pass *p = in->p;
  (void)max_rows; /* batches are what was spilled */
  for (;;) {
    if (in->rows == NULL) {
      if (in->next == in->run.n_files) {
        return TARN_OK;
      }
      in->number = in->run.first + in->next;
      TN_TRY(tn_spill_open(p->spill, in->run.spilled, (uint32_t)in->next++, &in->rows, err));
      if (in->rows == NULL) {
        continue;
      }
    }
    TN_TRY(tn_spill_next(in->rows, &in->batch, &out->sequences_buffer, &out->kinds_buffer, err));
    if (in->batch.n_rows > 0) {
      break;
    }
    tn_spill_close(in->rows);
    in->rows = NULL;
  }
  TN_TRY(share_columns(in, 0, p->r->spec.n_key_fields, &out->keys, err));
  out->sequences = (int64_t *)(void *)out->sequences_buffer->data;
  out->kinds = out->kinds_buffer != NULL ? (int8_t *)out->kinds_buffer->data : NULL;
  out->level = p->files[in->number].file->meta->level;
  out->rank = p->ranks[in->number];
  out->path = "rows copied to disk";
  out->file = in->number;
  return TARN_OK;
}

static tarn_status spilled_values(tn_merge_input *input, tn_batch *out, tarn_error *err) {
  spilled_input *in = TN_CONTAINER_OF(input, spilled_input, input);
  const tn_merge_spec *m = &in->p->r->spec;
  return share_columns(in, m->n_key_fields, m->n_value_fields, out, err);
}

static void spilled_free(tn_merge_input *input) {
  spilled_input *in = TN_CONTAINER_OF(input, spilled_input, input);
  tn_spill_close(in->rows);
  tn_batch_reset(in->p->r->env, &in->batch);
  tn_free(&in->p->r->env->mem, in);
}

static const tn_merge_input_ops spilled_ops = {spilled_next, spilled_values, spilled_free};

tarn_status tn_run_input_create(tn_pass *p, const tn_pass_run *run, int64_t key_bytes,
                                tn_merge_input **out, tarn_error *err) {
  spilled_input *in;
  if (run->spilled < 0) {
    return create_file_input(p, run, key_bytes, out, err);
  }
  in = tn_calloc(&p->r->env->mem, 1, sizeof(*in));
  if (in == NULL) {
    return tn_oom(err);
  }
  *in = (spilled_input){.input = {&spilled_ops}, .p = p, .run = *run};
  *out = &in->input;
  return TARN_OK;
}

/* ------------------------------------------------------------------ copying */

/* Columns of a run on disk. */
static int32_t copied_columns(const tn_pass *p) {
  return p->needs_values ? p->r->n_run_fields : p->r->spec.n_key_fields;
}

/* The rows of a batch that are alive, key part and values, in the columns of a run on disk. */
typedef struct copied {
  tn_batch batch;
  int64_t *sequences;
  int8_t *kinds;
} copied;

static tarn_status copy_rows(tn_pass *p, const tn_merge_rows *from, const tn_batch *values,
                             uint32_t *rows, copied *to, tarn_error *err) {
  tarn_env *env = p->r->env;
  int32_t n_key = p->r->spec.n_key_fields;
  int64_t n = 0;
  tn_batch_clear(env, &to->batch);
  for (int64_t i = 0; i < from->keys.n_rows; i++) {
    if (from->alive == NULL || tn_bit_get(from->alive, i)) {
      to->sequences[n] = from->sequences[i];
      to->kinds[n] = from->kinds[i];
      rows[n++] = (uint32_t)i;
    }
  }
  for (int32_t c = 0; c < to->batch.n_columns && n > 0; c++) {
    const tn_vec *vec = c < n_key ? &from->keys.columns[c] : &values->columns[c - n_key];
    TN_TRY(tn_vec_take(env, vec, rows, n, &to->batch.columns[c], err));
  }
  to->batch.n_rows = n;
  return TARN_OK;
}

static tarn_status copy_batches(tn_pass *p, const tn_pass_run *run, tn_merge_input *input,
                                tn_spill_run *spilled, tarn_error *err) {
  tarn_env *env = p->r->env;
  tn_merge_rows rows = {0};
  tn_batch values = {0};
  copied to = {0};
  uint32_t *picked = tn_alloc(&env->mem, TN_READ_BATCH_ROWS * sizeof(*picked));
  tarn_status st = tn_batch_init(env, p->r->run_fields, copied_columns(p), &to.batch, err);
  if (st != TARN_OK) {
    memset(&to.batch, 0, sizeof(to.batch));
    goto done;
  }
  to.sequences = tn_alloc(&env->mem, TN_READ_BATCH_ROWS * sizeof(*to.sequences));
  to.kinds = tn_alloc(&env->mem, TN_READ_BATCH_ROWS);
  if (picked == NULL || to.sequences == NULL || to.kinds == NULL) {
    st = tn_oom(err);
    goto done;
  }
  for (;;) {
    TN_TRY_TO(done, input->ops->next(input, TN_READ_BATCH_ROWS, &rows, err));
    if (rows.keys.n_rows == 0) {
      break;
    }
    if (p->needs_values) {
      TN_TRY_TO(done, input->ops->values(input, &values, err));
    }
    TN_TRY_TO(done, copy_rows(p, &rows, &values, picked, &to, err));
    if (to.batch.n_rows > 0) {
      TN_TRY_TO(done, tn_spill_add(spilled, (uint32_t)(rows.file - run->first), &to.batch,
                                   to.sequences, to.kinds, err));
    }
    tn_merge_rows_reset(env, &rows);
    tn_batch_reset(env, &values);
  }
done:
  tn_merge_rows_reset(env, &rows);
  tn_batch_reset(env, &values);
  tn_batch_reset(env, &to.batch);
  tn_free(&env->mem, picked);
  tn_free(&env->mem, to.sequences);
  tn_free(&env->mem, to.kinds);
  return st;
}

static tarn_status copy_run(tn_pass *p, tn_pass_run *run, tarn_error *err) {
  tn_rewriter *r = p->r;
  tn_spill_run *spilled = NULL;
  tn_merge_input *input = NULL;
  int32_t place;
  tarn_status st;
  if (p->spill == NULL) {
    TN_TRY(
        tn_spill_create(r->env, r->spill_folder, r->run_fields, copied_columns(p), &p->spill, err));
  }
  place = tn_spill_runs(p->spill);
  TN_TRY(tn_spill_begin(p->spill, &spilled, err));
  TN_TRY_TO(fail, create_file_input(p, run, r->share_bytes / 16, &input, err));
  TN_TRY_TO(fail, copy_batches(p, run, input, spilled, err));
  input->ops->free(input);
  TN_TRY(tn_spill_end(spilled, err));
  run->spilled = place;
  return TARN_OK;
fail:
  if (input != NULL) {
    input->ops->free(input);
  }
  tn_spill_abandon(spilled);
  return st;
}

/* ------------------------------------------------------------------ which runs */

typedef struct sized_run {
  tn_pass_run *run;
  int64_t n_bytes;
} sized_run;

static int by_size(void *ctx, const void *a, const void *b) {
  const sized_run *x = a, *y = b;
  (void)ctx;
  return (x->n_bytes > y->n_bytes) - (x->n_bytes < y->n_bytes);
}

tarn_status tn_runs_spill(tn_pass *p, tn_pass_run *runs, int32_t n_runs, tarn_error *err) {
  int64_t most = p->r->share_bytes / 2 / OPEN_FILE_BYTES, before;
  int32_t n_copied, n = 0;
  sized_run *sized;
  const sized_run **order, **scratch;
  most = most < p->r->options->sort_spill_threshold ? most : p->r->options->sort_spill_threshold;
  most = most < 2 ? 2 : most;
  if (n_runs <= most || p->r->spill_folder == NULL) {
    return TARN_OK;
  }
  sized = tn_arena_calloc(&p->arena, (size_t)n_runs, sizeof(*sized));
  order = tn_arena_calloc(&p->arena, (size_t)n_runs, sizeof(*order));
  scratch = tn_arena_calloc(&p->arena, (size_t)n_runs, sizeof(*scratch));
  if (sized == NULL || order == NULL || scratch == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n_runs; i++) {
    if (runs[i].is_looked_up) {
      continue;
    }
    sized[n].run = &runs[i];
    for (int32_t f = 0; f < runs[i].n_files; f++) {
      sized[n].n_bytes += p->files[runs[i].first + f].file->meta->file_size;
    }
    order[n] = &sized[n];
    n++;
  }
  tn_sort_stable((const void **)order, (const void **)scratch, n, by_size, NULL);
  n_copied = n_runs - (int32_t)most < n ? n_runs - (int32_t)most : n;
  before = p->spill != NULL ? tn_spill_bytes(p->spill) : 0;
  for (int32_t i = 0; i < n_copied; i++) {
    TN_TRY(copy_run(p, order[i]->run, err));
  }
  p->n_spilled_bytes += (p->spill != NULL ? tn_spill_bytes(p->spill) : 0) - before;
  return TARN_OK;
}
