/* flush_merge.c - the rows of a bucket through the merge engine of the table.
 *
 * The rows in the store are one run, each spilled run is another. Keys are not unique in these
 * runs: batches end between two keys, so that the merger sees the rows of a key in one batch of
 * each run (merge.h, M2). The order within a key is that of the sort: user sequence fields,
 * arrival.
 */
#include "base/bytes.h"
#include "write/write_parts.h"

#define MAX_INPUTS 256

/* ------------------------------------------------------------------ rows of the store */

typedef struct stored_input {
  tn_merge_input input;
  tn_flush *f;
  const tn_sort_row *rows;
  int64_t n_rows, at; /* at: of the next batch */
  int64_t begin;      /* of the batch that next() gave */
  int64_t first_sequence;
} stored_input;

static tarn_status stored_next(tn_merge_input *input, int64_t max_rows, tn_merge_rows *out,
                               tarn_error *err) {
  stored_input *in = TN_CONTAINER_OF(input, stored_input, input);
  const tn_write *w = in->f->w;
  int64_t left = in->n_rows - in->at, n = left < max_rows ? left : max_rows;
  const tn_sort_row *rows = in->rows + in->at;
  bool has_kinds = false;
  if (n == 0) {
    return TARN_OK;
  }
  n = n < in->f->batch_rows ? n : in->f->batch_rows;
  while (n < left && tn_rows_same_key(&in->f->order, &rows[n - 1], &rows[n])) {
    n++;
  }
  TN_TRY(tn_flush_gather(in->f, rows, n, w->key_fields, w->key_columns,
                         w->n_keys + w->n_sequence_fields, &out->keys, err));
  TN_TRY(tn_buffer_create(w->env, (size_t)n * sizeof(int64_t), &out->sequences_buffer, err));
  TN_TRY(tn_buffer_create(w->env, (size_t)n, &out->kinds_buffer, err));
  out->sequences = (int64_t *)(void *)out->sequences_buffer->data;
  out->kinds = (int8_t *)out->kinds_buffer->data;
  for (int64_t i = 0; i < n; i++) {
    out->sequences[i] = in->first_sequence + rows[i].ordinal;
    out->kinds[i] = tn_flush_kind(in->f, &rows[i]);
    has_kinds |= out->kinds[i] != TN_ROW_INSERT;
  }
  if (!has_kinds) {
    tn_buffer_release(out->kinds_buffer);
    out->kinds_buffer = NULL;
    out->kinds = NULL;
  }
  out->path = "rows to be written";
  in->begin = in->at;
  in->at += n;
  return TARN_OK;
}

static tarn_status stored_values(tn_merge_input *input, tn_batch *out, tarn_error *err) {
  stored_input *in = TN_CONTAINER_OF(input, stored_input, input);
  const tn_write *w = in->f->w;
  return tn_flush_gather(in->f, in->rows + in->begin, in->at - in->begin, w->merge.value_fields,
                         w->value_columns, w->merge.n_value_fields, out, err);
}

static void stored_free(tn_merge_input *input) {
  stored_input *in = TN_CONTAINER_OF(input, stored_input, input);
  tn_free(&in->f->w->env->mem, in);
}

static const tn_merge_input_ops stored_ops = {stored_next, stored_values, stored_free};

/* ------------------------------------------------------------------ rows of a spilled run */

typedef struct spilled_input {
  tn_merge_input input;
  tn_write *w;
  tn_spill_rows *rows;
  tn_batch batch; /* that next() gave: all columns */
} spilled_input;

/* Some columns of a batch, shared. */
static tarn_status share_columns(tarn_env *env, const tn_batch *from, const tn_field *fields,
                                 const int32_t *columns, int32_t n, tn_batch *out,
                                 tarn_error *err) {
  tarn_status st;
  TN_TRY(tn_batch_init(env, fields, n, out, err));
  for (int32_t c = 0; c < n; c++) {
    st = tn_vec_share(env, &from->columns[columns[c]], &out->columns[c], err);
    if (st != TARN_OK) {
      tn_batch_reset(env, out);
      return st;
    }
  }
  out->n_rows = from->n_rows;
  return TARN_OK;
}

static tarn_status spilled_next(tn_merge_input *input, int64_t max_rows, tn_merge_rows *out,
                                tarn_error *err) {
  spilled_input *in = TN_CONTAINER_OF(input, spilled_input, input);
  tn_write *w = in->w;
  (void)max_rows; /* batches are what was spilled: they end between two keys */
  TN_TRY(tn_spill_next(in->rows, &in->batch, &out->sequences_buffer, &out->kinds_buffer, err));
  if (in->batch.n_rows == 0) {
    return TARN_OK;
  }
  TN_TRY(share_columns(w->env, &in->batch, w->key_fields, w->key_columns,
                       w->n_keys + w->n_sequence_fields, &out->keys, err));
  out->sequences = (int64_t *)(void *)out->sequences_buffer->data;
  out->kinds = out->kinds_buffer != NULL ? (int8_t *)out->kinds_buffer->data : NULL;
  out->path = "rows to be written";
  return TARN_OK;
}

static tarn_status spilled_values(tn_merge_input *input, tn_batch *out, tarn_error *err) {
  spilled_input *in = TN_CONTAINER_OF(input, spilled_input, input);
  const tn_write *w = in->w;
  return share_columns(w->env, &in->batch, w->merge.value_fields, w->value_columns,
                       w->merge.n_value_fields, out, err);
}

static void spilled_free(tn_merge_input *input) {
  spilled_input *in = TN_CONTAINER_OF(input, spilled_input, input);
  tn_spill_close(in->rows);
  tn_batch_reset(in->w->env, &in->batch);
  tn_free(&in->w->env->mem, in);
}

static const tn_merge_input_ops spilled_ops = {spilled_next, spilled_values, spilled_free};

/* ------------------------------------------------------------------ retractions */

/* One row of the store through the engine, as if there were more of its key. */
static tarn_status try_row(tn_flush *f, const tn_sort_row *row, tarn_error *err) {
  tn_write *w = f->w;
  stored_input *in = tn_calloc(&w->env->mem, 1, sizeof(*in));
  tn_merge_input *input;
  tn_merge_spec spec = w->merge;
  tn_merger *merger = NULL;
  tn_buffer *kinds, *sequences;
  tn_batch batch;
  tarn_status st;
  if (in == NULL) {
    return tn_oom(err);
  }
  *in = (stored_input){.input = {&stored_ops}, .f = f, .rows = row, .n_rows = 1};
  input = &in->input;
  spec.batch_rows = spec.input_rows = 2;
  spec.cancel = w->options.cancel;
  spec.merges_single_rows = true;
  TN_TRY(tn_merger_create(w->env, &spec, &input, 1, &merger, err));
  st = tn_merger_next(merger, &batch, &kinds, &sequences, err);
  if (st == TARN_OK) {
    tn_batch_reset(w->env, &batch);
    tn_buffer_release(kinds);
    tn_buffer_release(sequences);
  }
  tn_merger_free(merger);
  return st;
}

tarn_status tn_flush_try_retractions(tn_flush *f, tarn_error *err) {
  tn_write *w = f->w;
  bool has_kinds = false;
  if (!w->sorts || w->merge.engine == &tn_engine_deduplicate ||
      (w->has_tried[TN_ROW_UPDATE_BEFORE] && w->has_tried[TN_ROW_DELETE])) {
    return TARN_OK;
  }
  for (size_t i = 0; i < w->store.n_items; i++) {
    has_kinds |= w->store.items[i].kinds != NULL;
  }
  for (int64_t i = 0; i < f->n_rows && has_kinds; i++) {
    int8_t kind = tn_flush_kind(f, &f->rows[i]);
    if (tn_row_kind_is_retract(kind) && !w->has_tried[kind]) {
      TN_TRY(try_row(f, &f->rows[i], err));
      w->has_tried[kind] = true;
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ merging */

static tarn_status open_inputs(tn_flush *f, tn_open_bucket *b, const tn_sort_row *rows, int64_t n,
                               tn_merge_input **inputs, int32_t *n_inputs, tarn_error *err) {
  tn_write *w = f->w;
  tn_mem *mem = &w->env->mem;
  stored_input *stored;
  for (int32_t i = 0; b->n_spilled > 0 && i < tn_spill_runs(w->spill); i++) {
    tn_spill_rows *run;
    spilled_input *in;
    TN_TRY(tn_spill_open(w->spill, i, b->number, &run, err));
    if (run == NULL) {
      continue;
    }
    in = *n_inputs < MAX_INPUTS - 1 ? tn_calloc(mem, 1, sizeof(*in)) : NULL;
    if (in == NULL) {
      tn_spill_close(run);
      return tn_oom(err);
    }
    *in = (spilled_input){.input = {&spilled_ops}, .w = w, .rows = run};
    inputs[(*n_inputs)++] = &in->input;
  }
  if (n > 0) {
    stored = tn_calloc(mem, 1, sizeof(*stored));
    if (stored == NULL) {
      return tn_oom(err);
    }
    *stored = (stored_input){.input = {&stored_ops},
                             .f = f,
                             .rows = rows,
                             .n_rows = n,
                             .first_sequence = b->next_sequence - b->n_stored};
    inputs[(*n_inputs)++] = &stored->input;
  }
  return TARN_OK;
}

tarn_status tn_flush_merged(tn_flush *f, tn_open_bucket *bucket, const tn_sort_row *rows, int64_t n,
                            tn_data_writer *writer, tarn_error *err) {
  tn_write *w = f->w;
  tn_merge_input *inputs[MAX_INPUTS];
  int32_t n_inputs = 0;
  tn_merger *merger = NULL;
  tn_merge_spec spec = w->merge;
  int64_t n_all = n + bucket->n_spilled;
  tarn_status st;
  spec.batch_rows = n_all < f->batch_rows ? n_all + 1 : f->batch_rows;
  spec.input_rows = f->batch_rows;
  spec.cancel = w->options.cancel;
  st = open_inputs(f, bucket, rows, n, inputs, &n_inputs, err);
  if (st != TARN_OK) {
    for (int32_t i = 0; i < n_inputs; i++) {
      inputs[i]->ops->free(inputs[i]);
    }
    return st;
  }
  TN_TRY(tn_merger_create(w->env, &spec, inputs, n_inputs, &merger, err));
  for (;;) {
    tn_batch batch;
    tn_buffer *kinds, *sequences;
    TN_TRY_TO(done, tn_merger_next(merger, &batch, &kinds, &sequences, err));
    if (batch.n_rows == 0) {
      tn_batch_reset(w->env, &batch);
      break;
    }
    TN_TRY_TO(done, tn_flush_write(w, writer, &batch, sequences, kinds, err));
  }
done:
  tn_merger_free(merger);
  return st;
}
