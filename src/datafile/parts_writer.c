/* parts_writer.c - one writer of data files for each part of a row, which end together. */
#include "datafile/parts_writer.h"

#include "format/blob/blob_descriptor.h"

struct tn_parts_writer {
  tarn_env *env;
  tn_write_shape *shape;
  tn_data_writer_request request;
  tn_data_file_names own_names;
  tn_arena arena;           /* of the files */
  tn_data_writer **writers; /* of the parts; NULL: none is open */
  int64_t n_rows;           /* of all files */
  int64_t n_open_rows;      /* of the open data file */
  tn_data_file *files;
  size_t n_files, capacity;
  bool has_failed, is_finished;
};

/* Remove all that was written: the status and the message stay those of the failure. */
static tarn_status give_up(tn_parts_writer *w, tarn_status st) {
  for (int32_t i = 0; w->writers != NULL && i < w->shape->n_parts; i++) {
    tn_data_writer_free(w->writers[i]);
    w->writers[i] = NULL;
  }
  for (size_t i = 0; i < w->n_files; i++) {
    tn_data_file_delete(w->shape->table, w->request.partition, w->request.bucket, &w->files[i]);
  }
  w->n_files = 0;
  w->has_failed = true;
  return st;
}

static tarn_status check_state(const tn_parts_writer *w, tarn_error *err) {
  if (w->has_failed || w->is_finished) {
    return tn_fail(err, TARN_E_STATE, "a writer of data files that %s is used again",
                   w->has_failed ? "has failed" : "was finished");
  }
  return TARN_OK;
}

tarn_status tn_parts_writer_create(const tn_data_writer_request *request, tn_parts_writer **out,
                                   tarn_error *err) {
  tarn_env *env = request->shape->table->env;
  tn_parts_writer *w = tn_calloc(&env->mem, 1, sizeof(*w));
  *out = NULL;
  if (w == NULL) {
    return tn_oom(err);
  }
  w->env = env;
  w->shape = request->shape;
  w->request = *request;
  if (request->names == NULL) {
    w->request.names = &w->own_names;
  }
  tn_arena_init(&w->arena, &env->mem, SIZE_MAX);
  w->writers = tn_arena_calloc(&w->arena, (size_t)w->shape->n_parts, sizeof(*w->writers));
  if (w->writers == NULL) {
    tn_parts_writer_free(w);
    return tn_oom(err);
  }
  *out = w;
  return TARN_OK;
}

void tn_parts_writer_free(tn_parts_writer *writer) {
  if (writer != NULL) {
    tarn_env *env = writer->env;
    (void)give_up(writer, TARN_OK);
    tn_arena_reset(&writer->arena);
    tn_free(&env->mem, writer);
  }
}

/* ------------------------------------------------------------------ one part */

/* The writer of a part, opened if need be. */
static tarn_status writer_of(tn_parts_writer *w, int32_t part, tn_data_writer **out,
                             tarn_error *err) {
  tn_data_writer_request request = w->request;
  if (w->writers[part] == NULL) {
    request.shape = w->shape->parts[part];
    request.rolls = request.shape->part != TN_PART_ROWS; /* the data file ends here */
    TN_TRY(tn_data_writer_create(&request, &w->writers[part], err));
  }
  *out = w->writers[part];
  return TARN_OK;
}

static bool has_descriptors(const tn_vec *vec) {
  for (int64_t i = 0; i < vec->length; i++) {
    if (!tn_vec_is_null(vec, i) && tn_blob_is_descriptor(tn_vec_bytes(vec, i))) {
      return true;
    }
  }
  return false;
}

/* One value at a time is fetched: they are large. */
static tarn_status write_fetched(tn_parts_writer *w, tn_data_writer *writer, const tn_batch *batch,
                                 tarn_error *err) {
  tarn_status st = TARN_OK;
  for (int64_t i = 0; i < batch->n_rows && st == TARN_OK; i++) {
    tn_batch one;
    TN_TRY(tn_batch_init(w->env, batch->fields, 1, &one, err));
    st = tn_vec_copy_range(w->env, &batch->columns[0], i, 1, &one.columns[0], err);
    if (st == TARN_OK) {
      one.n_rows = 1;
      st = tn_blob_resolve(w->env, w->shape->table->storage, &one.columns[0], err);
    }
    st = st == TARN_OK ? tn_data_writer_write(writer, &one, err) : st;
    tn_batch_reset(w->env, &one);
  }
  return st;
}

/* BLOBs that stay in data files are descriptors. Rule:
 * ParquetRowDataWriter.BlobDescriptorWriter. */
static tarn_status check_descriptors(const tn_batch *batch, tarn_error *err) {
  for (int32_t c = 0; c < batch->n_columns; c++) {
    for (int64_t i = 0; batch->fields[c].type.root == TN_BLOB && i < batch->n_rows; i++) {
      const tn_vec *vec = &batch->columns[c];
      if (!tn_vec_is_null(vec, i) && !tn_blob_is_descriptor(tn_vec_bytes(vec, i))) {
        return tn_fail(err, TARN_E_INVALID,
                       "column '%s': blob-descriptor-field requires blob field value to be a "
                       "serialized BlobDescriptor (magic 'BLOBDESC').",
                       batch->fields[c].name);
      }
    }
  }
  return TARN_OK;
}

/* The columns of a part of a batch of all columns. */
static tarn_status write_part(tn_parts_writer *w, int32_t part, const tn_batch *batch,
                              tarn_error *err) {
  const tn_write_shape *shape = w->shape->parts[part];
  tn_data_writer *writer;
  tn_batch columns = {.n_rows = batch->n_rows,
                      .n_columns = shape->n_input,
                      .fields = shape->input_fields,
                      .first_position = -1};
  tarn_status st;
  TN_TRY(writer_of(w, part, &writer, err));
  columns.columns = tn_calloc(&w->env->mem, (size_t)shape->n_input, sizeof(*columns.columns));
  if (columns.columns == NULL) {
    return tn_oom(err);
  }
  for (int32_t c = 0; c < shape->n_input; c++) {
    columns.columns[c] = batch->columns[w->shape->part_inputs[part][c]]; /* borrowed */
  }
  if (shape->part == TN_PART_BLOB && has_descriptors(&columns.columns[0])) {
    st = write_fetched(w, writer, &columns, err);
  } else {
    st = shape->part == TN_PART_ROWS ? check_descriptors(&columns, err) : TARN_OK;
    st = st == TARN_OK ? tn_data_writer_write(writer, &columns, err) : st;
  }
  tn_free(&w->env->mem, columns.columns);
  return st;
}

/* ------------------------------------------------------------------ files that end together */

static tarn_status close_part(tn_parts_writer *w, int32_t part, tarn_error *err) {
  tn_data_file *files;
  int32_t n;
  tarn_status st;
  if (w->writers[part] == NULL) {
    return TARN_OK;
  }
  st = tn_data_writer_finish(w->writers[part], &w->arena, &files, &n, err);
  tn_data_writer_free(w->writers[part]);
  w->writers[part] = NULL;
  TN_TRY(st);
  for (int32_t i = 0; i < n; i++) {
    void *items = w->files;
    if (!tn_arena_grow(&w->arena, &items, &w->capacity, w->n_files, sizeof(*files))) {
      for (; i < n; i++) {
        tn_data_file_delete(w->shape->table, w->request.partition, w->request.bucket, &files[i]);
      }
      return tn_oom(err);
    }
    w->files = items;
    w->files[w->n_files++] = files[i];
  }
  return TARN_OK;
}

static tarn_status close_files(tn_parts_writer *w, tarn_error *err) {
  for (int32_t i = 0; i < w->shape->n_parts; i++) {
    TN_TRY(close_part(w, i, err));
  }
  w->n_open_rows = 0;
  return TARN_OK;
}

static tarn_status roll(tn_parts_writer *w, tarn_error *err) {
  const tn_write_shape *rows = w->shape->parts[0];
  bool is_full = w->request.rolls && (w->n_open_rows >= rows->target_rows ||
                                      (w->n_rows % TN_ROLL_CHECK_ROWS == 0 &&
                                       tn_data_writer_size(w->writers[0]) >= rows->target_bytes));
  return is_full ? close_files(w, err) : TARN_OK;
}

/* Rows of a batch up to the next one where the data file may end. */
static int64_t step_rows(const tn_parts_writer *w, int64_t n_left) {
  int64_t n = TN_ROLL_CHECK_ROWS - w->n_rows % TN_ROLL_CHECK_ROWS;
  int64_t room = w->shape->parts[0]->target_rows - w->n_open_rows;
  if (!w->request.rolls) {
    return n_left;
  }
  n = n < n_left ? n : n_left;
  return n < room ? n : room;
}

static tarn_status write_rows(tn_parts_writer *w, const tn_batch *batch, tarn_error *err) {
  for (int32_t i = 0; i < w->shape->n_parts; i++) {
    TN_TRY(write_part(w, i, batch, err));
  }
  w->n_rows += batch->n_rows;
  w->n_open_rows += batch->n_rows;
  return roll(w, err);
}

static tarn_status write_steps(tn_parts_writer *w, const tn_batch *batch, tarn_error *err) {
  tn_batch step;
  tarn_status st = TARN_OK;
  TN_TRY(tn_batch_init(w->env, w->shape->input_fields, w->shape->n_input, &step, err));
  for (int64_t at = 0; at < batch->n_rows;) {
    int64_t n = step_rows(w, batch->n_rows - at);
    if (n == batch->n_rows) {
      TN_TRY_TO(done, write_rows(w, batch, err));
    } else {
      tn_batch_clear(w->env, &step);
      for (int32_t c = 0; c < batch->n_columns; c++) {
        TN_TRY_TO(done,
                  tn_vec_copy_range(w->env, &batch->columns[c], at, n, &step.columns[c], err));
      }
      step.n_rows = n;
      TN_TRY_TO(done, write_rows(w, &step, err));
    }
    at += n;
  }
done:
  tn_batch_reset(w->env, &step);
  return st;
}

tarn_status tn_parts_writer_write(tn_parts_writer *w, const tn_batch *batch, tarn_error *err) {
  tarn_status st;
  TN_TRY(check_state(w, err));
  if (batch->n_columns != w->shape->n_input) {
    return TN_BUG(err, "a batch with other columns than the shape's");
  }
  st = write_steps(w, batch, err);
  return st == TARN_OK ? TARN_OK : give_up(w, st);
}

int64_t tn_parts_writer_size(const tn_parts_writer *w) {
  return w->writers[0] != NULL ? tn_data_writer_size(w->writers[0]) : 0;
}

/* ------------------------------------------------------------------ the end */

static tarn_status hand_out(tn_parts_writer *w, tn_arena *arena, tn_data_file **files,
                            tarn_error *err) {
  tn_data_file *out;
  TN_TRY(close_files(w, err));
  out = tn_arena_calloc(arena, w->n_files, sizeof(*out));
  if (out == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < w->n_files; i++) {
    TN_TRY(tn_data_file_copy(arena, &w->files[i], true, &out[i], err));
  }
  *files = out;
  return TARN_OK;
}

tarn_status tn_parts_writer_finish(tn_parts_writer *w, tn_arena *arena, tn_data_file **files,
                                   int32_t *n_files, tarn_error *err) {
  tarn_status st;
  *files = NULL;
  *n_files = 0;
  TN_TRY(check_state(w, err));
  st = hand_out(w, arena, files, err);
  if (st != TARN_OK) {
    *files = NULL;
    return give_up(w, st);
  }
  *n_files = (int32_t)w->n_files;
  w->n_files = 0;
  w->is_finished = true;
  return TARN_OK;
}
