/* pass.c - one rewrite: its files by number, opening them, writing rows. */
#include <string.h>

#include "base/bytes.h"
#include "compact/rewriter.h"
#include "model/partition.h"
#include "plan/intervals.h"

#define ARENA_LIMIT ((size_t)1 << 30)

/* ------------------------------------------------------------------ files */

static tarn_status list_files(tn_pass *p, const tn_rewrite_file **files, int32_t n,
                              tarn_error *err) {
  tn_data_file *metas = tn_arena_calloc(&p->arena, (size_t)n + 1, sizeof(*metas));
  p->files = tn_arena_calloc(&p->arena, (size_t)n + 1, sizeof(*p->files));
  if (metas == NULL || p->files == NULL) {
    return tn_oom(err);
  }
  p->n_files = n;
  for (int32_t i = 0; i < n; i++) {
    metas[i] = *files[i]->meta;
    p->files[i].file = files[i];
  }
  p->split =
      (tn_split){.partition = p->partition, .bucket = p->bucket, .files = metas, .n_files = n};
  return TARN_OK;
}

tarn_status tn_pass_begin(tn_pass *p, tn_rewriter *r, tn_slice partition, int32_t bucket,
                          const tn_rewrite_file **files, int32_t n, tarn_error *err) {
  *p = (tn_pass){.r = r, .partition = partition, .bucket = bucket};
  tn_arena_init(&p->arena, &r->env->mem, ARENA_LIMIT);
  TN_TRY(list_files(p, files, n, err));
  TN_TRY(tn_bucket_folder(r->table, partition, bucket, &p->arena, &p->split.bucket_path, err));
  return tn_sections_rank(&p->arena, &p->split, &p->ranks, err);
}

void tn_pass_end(tn_pass *p) {
  tn_data_writer_free(p->data);
  tn_data_writer_free(p->changelog);
  tn_data_shape_free(p->merged);
  tn_data_shape_free(p->keys);
  tn_data_shape_free(p->whole);
  tn_spill_free(p->spill);
  tn_arena_reset(&p->arena);
}

tarn_status tn_pass_read_keys(tn_pass *p, tarn_error *err) {
  const tn_schema *schema = p->r->table->schema;
  size_t n = (size_t)schema->n_key_columns;
  tn_datum *datums = tn_arena_calloc(&p->arena, (size_t)p->n_files * 2 * n + 1, sizeof(*datums));
  if (datums == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < p->n_files; i++) {
    const tn_data_file *meta = p->files[i].file->meta;
    tarn_status st = tn_interval_key(schema, meta->min_key, datums, err);
    if (st == TARN_OK) {
      st = tn_interval_key(schema, meta->max_key, datums + n, err);
    }
    if (st != TARN_OK) {
      return tn_error_context(err, st, "key range of data file %.*s",
                              TN_SLICE_ARG(meta->file_name));
    }
    p->files[i].min = datums;
    p->files[i].max = datums + n;
    datums += 2 * n;
  }
  return TARN_OK;
}

tarn_status tn_pass_open(tn_pass *p, int32_t number, tn_data_shape *shape, const tn_pred *pushed,
                         const tn_ranges *rows, int64_t batch_rows, tn_data_reader **out,
                         const char **path, tarn_error *err) {
  tn_data_request request = {
      .shape = shape,
      .file = p->files[number].file->meta,
      .partition = p->partition,
      .deletions = p->files[number].file->deletions,
      .pushed = pushed,
      .rows = rows,
      .batch_rows = batch_rows,
      .cancel = p->r->cancel,
  };
  *out = NULL;
  TN_TRY(tn_split_file_path(&p->split, number, &p->arena, &request.full_path, err));
  TN_TRY(tn_path_plain(&p->arena, request.full_path, &request.path, err));
  TN_TRY(tn_data_reader_open(&request, out, err));
  *path = request.path;
  return TARN_OK;
}

/* ------------------------------------------------------------------ writing */

static tarn_status writer_of(tn_pass *p, bool is_changelog, tn_data_writer **out, tarn_error *err) {
  tn_data_writer **writer = is_changelog ? &p->changelog : &p->data;
  if (*writer == NULL) {
    TN_TRY(tn_data_writer_create(is_changelog ? &p->changelog_request : &p->data_request, writer,
                                 err));
  }
  *out = *writer;
  return TARN_OK;
}

/* The rows whose bits are set, as a new batch. */
static tarn_status take_rows(tn_pass *p, const tn_batch *from, const uint8_t *alive, tn_batch *out,
                             tarn_error *err) {
  tarn_env *env = p->r->env;
  uint32_t *rows = tn_alloc(&env->mem, (size_t)from->n_rows * sizeof(*rows));
  int64_t n = 0;
  tarn_status st = TARN_OK;
  if (rows == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < from->n_rows; i++) {
    rows[n] = (uint32_t)i;
    n += tn_bit_get(alive, i);
  }
  for (int32_t c = 0; c < from->n_columns && n > 0; c++) {
    TN_TRY_TO(done, tn_vec_take(env, &from->columns[c], rows, n, &out->columns[c], err));
  }
  out->n_rows = n;
done:
  tn_free(&env->mem, rows);
  return st;
}

static tarn_status write_alive(tn_pass *p, tn_data_writer *writer, const tn_batch *batch,
                               const uint8_t *alive, tarn_error *err) {
  tn_batch some;
  tarn_status st;
  TN_TRY(tn_batch_init(p->r->env, p->r->shape_fields, p->r->n_shape_fields, &some, err));
  st = take_rows(p, batch, alive, &some, err);
  if (st == TARN_OK && some.n_rows > 0) {
    st = tn_data_writer_write(writer, &some, err);
  }
  p->n_rows_out += some.n_rows;
  tn_batch_reset(p->r->env, &some);
  return st;
}

tarn_status tn_pass_write_whole(tn_pass *p, tn_batch *batch, const uint8_t *alive,
                                bool drops_retractions, tarn_error *err) {
  const int8_t *kinds = drops_retractions ? batch->columns[1].values : NULL;
  size_t n_bytes = TN_BITMAP_BYTES(batch->n_rows);
  bool has_retractions = false;
  uint8_t *kept;
  tn_data_writer *writer;
  tarn_status st;
  TN_TRY(writer_of(p, false, &writer, err));
  for (int64_t i = 0; kinds != NULL && i < batch->n_rows; i++) {
    has_retractions |= tn_row_kind_is_retract(kinds[i]);
  }
  if (alive == NULL && !has_retractions) {
    p->n_rows_out += batch->n_rows;
    return tn_data_writer_write(writer, batch, err);
  }
  kept = tn_alloc(&p->r->env->mem, n_bytes);
  if (kept == NULL) {
    return tn_oom(err);
  }
  if (alive != NULL) {
    memcpy(kept, alive, n_bytes);
  } else {
    memset(kept, 0xff, n_bytes);
  }
  for (int64_t i = 0; has_retractions && i < batch->n_rows; i++) {
    if (tn_row_kind_is_retract(kinds[i])) {
      tn_bit_clear(kept, i);
    }
  }
  st = write_alive(p, writer, batch, kept, err);
  tn_free(&p->r->env->mem, kept);
  return st;
}

/* Take a buffer as the values of a flat column. */
static void take_values(tn_vec *vec, tn_buffer **values, int64_t n) {
  vec->length = n;
  vec->values_buffer = *values;
  vec->values = (*values)->data;
  *values = NULL;
}

tarn_status tn_pass_write(tn_pass *p, bool is_changelog, tn_batch *values, tn_buffer **sequences,
                          tn_buffer **kinds, tarn_error *err) {
  tarn_env *env = p->r->env;
  int64_t n = values->n_rows;
  tn_data_writer *writer;
  tn_batch batch = {0};
  tarn_status st;
  TN_TRY_TO(done, writer_of(p, is_changelog, &writer, err));
  TN_TRY_TO(done, tn_batch_init(env, p->r->shape_fields, p->r->n_shape_fields, &batch, err));
  take_values(&batch.columns[0], sequences, n);
  take_values(&batch.columns[1], kinds, n);
  for (int32_t c = 0; c < values->n_columns; c++) {
    tn_vec_reset(env, &batch.columns[2 + c]);
    tn_vec_move(&batch.columns[2 + c], &values->columns[c]);
  }
  batch.n_rows = n;
  p->n_rows_out += is_changelog ? 0 : n;
  st = tn_data_writer_write(writer, &batch, err);
done:
  tn_buffer_release(*sequences);
  tn_buffer_release(*kinds);
  *sequences = *kinds = NULL;
  tn_batch_reset(env, &batch);
  tn_batch_reset(env, values);
  return st;
}

/* ------------------------------------------------------------------ the end */

static void count_bytes(tn_rewrite_result *out) {
  for (int32_t i = 0; i < out->n_files; i++) {
    out->n_bytes_out += out->files[i].file_size;
  }
  for (int32_t i = 0; i < out->n_changelog; i++) {
    out->n_bytes_out += out->changelog[i].file_size;
  }
}

tarn_status tn_pass_finish(tn_pass *p, tn_arena *arena, tn_rewrite_result *out, tarn_error *err) {
  tarn_status st;
  if (p->data != NULL) {
    TN_TRY(tn_data_writer_finish(p->data, arena, &out->files, &out->n_files, err));
  }
  if (p->changelog != NULL) {
    st = tn_data_writer_finish(p->changelog, arena, &out->changelog, &out->n_changelog, err);
    if (st != TARN_OK) {
      for (int32_t i = 0; i < out->n_files; i++) {
        tn_data_file_delete(p->r->table, p->partition, p->bucket, &out->files[i]);
      }
      return st;
    }
  }
  out->n_rows_out = p->n_rows_out;
  out->n_spilled_bytes = p->n_spilled_bytes;
  count_bytes(out);
  return TARN_OK;
}
