/* append.c - rows of append tables straight to their files, and files that are done.
 *
 * As long as few buckets are written at once each has a file open; then rows go there as they come,
 * and nothing waits. From write-max-writers-to-spill buckets on rows wait in the store, where an
 * open bucket costs next to nothing.
 *
 * Rule: org.apache.paimon.append.AppendOnlyWriter, operation.BaseAppendFileStoreWrite; spec:
 * write-path, 1 and 10.
 */
#include "write/write_parts.h"

/* ------------------------------------------------------------------ writers of files */

tarn_status tn_open_data_writer(tn_write *w, tn_open_bucket *bucket, bool is_changelog,
                                int64_t first_sequence, tn_data_writer **out, tarn_error *err) {
  tn_data_writer_request request = {.shape = w->shape,
                                    .partition = bucket->partition,
                                    .bucket = bucket->bucket,
                                    .is_changelog = is_changelog,
                                    .rolls = w->options.columns == NULL,
                                    .first_sequence = first_sequence,
                                    .names = &bucket->names};
  return tn_data_writer_create(&request, out, err);
}

static tarn_status add_files(tn_write *w, tn_file_list *list, const tn_data_file *files, int32_t n,
                             tarn_error *err) {
  for (int32_t i = 0; i < n; i++) {
    void *items = list->items;
    if (!tn_arena_grow(&w->files_arena, &items, &list->capacity, list->n, sizeof(*files))) {
      return tn_oom(err);
    }
    list->items = items;
    list->items[list->n++] = files[i];
    w->stats.n_files++;
    w->stats.n_bytes += files[i].file_size;
  }
  return TARN_OK;
}

tarn_status tn_close_data_writer(tn_write *w, tn_open_bucket *bucket, bool is_changelog,
                                 tn_data_writer *writer, tarn_error *err) {
  tn_data_file *files;
  int32_t n;
  tarn_status st = tn_data_writer_finish(writer, &w->files_arena, &files, &n, err);
  if (st == TARN_OK) {
    for (int32_t i = 0; i < n && w->options.columns != NULL; i++) {
      files[i].has_first_row_id = true;
      files[i].first_row_id = w->next_row_id;
      w->next_row_id += files[i].row_count;
    }
    st = add_files(w, is_changelog ? &bucket->changelog_files : &bucket->files, files, n, err);
    for (int32_t i = 0; i < n && st != TARN_OK; i++) {
      tn_data_file_delete(w->table, bucket->partition, bucket->bucket, &files[i]);
    }
  }
  tn_data_writer_free(writer);
  return st;
}

static tarn_status close_writer(tn_write *w, tn_open_bucket *b, tarn_error *err) {
  tn_data_writer *writer = b->writer;
  b->writer = NULL;
  if (writer == NULL) {
    return TARN_OK;
  }
  w->n_writers--;
  return tn_close_data_writer(w, b, false, writer, err);
}

tarn_status tn_close_writers(tn_write *w, tarn_error *err) {
  for (size_t i = 0; i < w->router.n_buckets; i++) {
    TN_TRY(close_writer(w, w->router.buckets[i], err));
  }
  return TARN_OK;
}

/* Files that are open hold their compressed rows in memory: the largest one ends when all together
 * hold more than a buffer may. */
static tarn_status close_largest(tn_write *w, tarn_error *err) {
  for (;;) {
    tn_open_bucket *largest = NULL;
    int64_t sum = 0, most = 0;
    for (size_t i = 0; i < w->router.n_buckets; i++) {
      tn_open_bucket *b = w->router.buckets[i];
      int64_t size = b->writer != NULL ? tn_data_writer_size(b->writer) : 0;
      sum += size;
      if (size > most) {
        most = size;
        largest = b;
      }
    }
    if (largest == NULL || w->n_writers < 2 || sum <= w->buffer_bytes) {
      return TARN_OK;
    }
    TN_TRY(close_writer(w, largest, err));
  }
}

/* ------------------------------------------------------------------ rows */

/* Rows without numbers: those of bucket-postpone. */
static tarn_status write_key_values(tn_write *w, tn_open_bucket *b, const tn_batch *batch,
                                    const int8_t *kinds, tarn_error *err) {
  size_t n = (size_t)batch->n_rows;
  tn_batch values;
  tn_buffer *own_kinds = NULL;
  tarn_status st = TARN_OK;
  TN_TRY(tn_batch_init(w->env, w->fields, w->n_fields, &values, err));
  for (int32_t c = 0; c < w->n_fields && st == TARN_OK; c++) {
    st = tn_vec_share(w->env, &batch->columns[c], &values.columns[c], err);
  }
  values.n_rows = batch->n_rows;
  if (st == TARN_OK && kinds != NULL) {
    st = tn_buffer_create(w->env, n, &own_kinds, err);
  }
  if (st != TARN_OK) {
    tn_batch_reset(w->env, &values);
    return st;
  }
  if (own_kinds != NULL) {
    memcpy(own_kinds->data, kinds, n);
  }
  return tn_flush_write(w, b->writer, &values, NULL, own_kinds, err);
}

static tarn_status write_to_bucket(tn_write *w, tn_open_bucket *b, const tn_batch *batch,
                                   const int8_t *kinds, tarn_error *err) {
  if (b->writer == NULL) {
    TN_TRY(tn_open_data_writer(w, b, false, b->next_sequence, &b->writer, err));
    w->n_writers++;
  }
  TN_TRY(w->is_key_value ? write_key_values(w, b, batch, kinds, err)
                         : tn_data_writer_write(b->writer, batch, err));
  b->next_sequence += batch->n_rows;
  return TARN_OK;
}

/* The rows rows[0 .. n) of a batch. */
static tarn_status write_some(tn_write *w, tn_open_bucket *b, const tn_batch *batch,
                              const int8_t *kinds, const uint32_t *rows, int64_t n,
                              tarn_error *err) {
  tn_batch part;
  int8_t *part_kinds = NULL;
  tarn_status st = TARN_OK;
  if (n == batch->n_rows) {
    return write_to_bucket(w, b, batch, kinds, err);
  }
  TN_TRY(tn_batch_init(w->env, w->fields, w->n_fields, &part, err));
  for (int32_t c = 0; c < w->n_fields; c++) {
    TN_TRY_TO(done, tn_vec_take(w->env, &batch->columns[c], rows, n, &part.columns[c], err));
  }
  part.n_rows = n;
  if (kinds != NULL) {
    part_kinds = tn_alloc(&w->env->mem, (size_t)n);
    if (part_kinds == NULL) {
      st = tn_oom(err);
      goto done;
    }
    for (int64_t i = 0; i < n; i++) {
      part_kinds[i] = kinds[rows[i]];
    }
  }
  st = write_to_bucket(w, b, &part, part_kinds, err);
done:
  tn_free(&w->env->mem, part_kinds);
  tn_batch_reset(w->env, &part);
  return st;
}

tarn_status tn_append_rows(tn_write *w, const tn_batch *batch, const int8_t *kinds,
                           const uint32_t *bucket_of, tarn_error *err) {
  tn_mem *mem = &w->env->mem;
  size_t n = (size_t)batch->n_rows, n_buckets = w->router.n_buckets;
  uint32_t *order = tn_alloc(mem, n * sizeof(*order));
  int64_t *at = tn_calloc(mem, n_buckets, sizeof(*at)), begin = 0, sum = 0;
  tarn_status st = TARN_OK;
  if (order == NULL || at == NULL) {
    st = tn_oom(err);
    goto done;
  }
  for (size_t i = 0; i < n; i++) {
    at[bucket_of[i]]++;
  }
  for (size_t b = 0; b < n_buckets; b++) {
    int64_t count = at[b];
    at[b] = sum;
    sum += count;
  }
  for (size_t i = 0; i < n; i++) {
    order[at[bucket_of[i]]++] = (uint32_t)i;
  }
  for (size_t b = 0; b < n_buckets; b++) { /* at[b] is the end of its rows now */
    if (at[b] > begin) {
      TN_TRY_TO(done, write_some(w, w->router.buckets[b], batch, kinds, order + begin,
                                 at[b] - begin, err));
    }
    begin = at[b];
  }
  st = close_largest(w, err);
done:
  tn_free(mem, order);
  tn_free(mem, at);
  return st;
}
