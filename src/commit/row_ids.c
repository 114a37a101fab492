/* row_ids.c - ids of rows, in the order of the files.
 *
 *   data file        the next free ids
 *   .blob file       one column of the rows of the data file before it; several of one column
 *                    follow each other
 *   .vector. file    the same for the columns of vectors
 */
#include "commit/row_ids.h"

/* Where the files of one BLOB column have come to. */
typedef struct blob_column {
  tn_slice name;
  int64_t next;
  struct blob_column *older;
} blob_column;

typedef struct assignment {
  tn_arena *arena;
  int64_t next, blobs_begin, vectors_next;
  blob_column *blobs; /* of the data file met last */
  tarn_error *err;
} assignment;

static bool has_part(tn_slice name, const char *part, bool at_end) {
  size_t n = strlen(part);
  for (size_t i = at_end && name.len >= n ? name.len - n : 0; i + n <= name.len; i++) {
    if (memcmp(name.data + i, part, n) == 0) {
      return true;
    }
  }
  return false;
}

static bool writes_row_id(const tn_data_file *file) {
  const tn_slice *columns = file->write_cols.items;
  for (int64_t i = 0; file->has_write_cols && i < file->write_cols.count; i++) {
    if (tn_slice_is(columns[i], "_ROW_ID")) {
      return true;
    }
  }
  return false;
}

static tarn_status advance(const assignment *a, int64_t *at, int64_t rows) {
  return __builtin_add_overflow(*at, rows, at)
             ? tn_fail(a->err, TARN_E_LIMIT, "row ids are used up")
             : TARN_OK;
}

static tarn_status check_begin(const assignment *a, const tn_data_file *file, int64_t begin) {
  return begin < a->next
             ? TARN_OK
             : tn_fail(a->err, TARN_E_INVALID,
                       "file %.*s has columns of rows %lld and on, but there are only %lld",
                       TN_SLICE_ARG(file->file_name), (long long)begin, (long long)a->next);
}

static tarn_status assign_blob(assignment *a, tn_data_file *file) {
  const tn_slice *columns = file->write_cols.items;
  blob_column *column = a->blobs;
  if (!file->has_write_cols || file->write_cols.count == 0) {
    return tn_fail(a->err, TARN_E_INVALID, "file %.*s does not tell its column",
                   TN_SLICE_ARG(file->file_name));
  }
  while (column != NULL && !tn_slice_equal(column->name, columns[0])) {
    column = column->older;
  }
  if (column == NULL) {
    column = tn_arena_calloc(a->arena, 1, sizeof(*column));
    if (column == NULL) {
      return tn_oom(a->err);
    }
    *column = (blob_column){columns[0], a->blobs_begin, a->blobs};
    a->blobs = column;
  }
  TN_TRY(check_begin(a, file, column->next));
  file->first_row_id = column->next;
  return advance(a, &column->next, file->row_count);
}

static tarn_status assign(assignment *a, tn_data_file *file) {
  if (!file->has_source) {
    return tn_fail(a->err, TARN_E_INVALID,
                   "file %.*s of a table with row tracking does not tell its source",
                   TN_SLICE_ARG(file->file_name));
  }
  if (file->source != TN_SOURCE_APPEND || file->has_first_row_id || writes_row_id(file)) {
    return TARN_OK;
  }
  file->has_first_row_id = true;
  if (has_part(file->file_name, ".blob", true)) {
    return assign_blob(a, file);
  }
  if (has_part(file->file_name, ".vector.", false)) {
    TN_TRY(check_begin(a, file, a->vectors_next));
    file->first_row_id = a->vectors_next;
    return advance(a, &a->vectors_next, file->row_count);
  }
  file->first_row_id = a->next;
  a->blobs_begin = a->next;
  a->blobs = NULL;
  return advance(a, &a->next, file->row_count);
}

tarn_status tn_row_ids_assign(int64_t snapshot_id, const tn_commit_changes *in, tn_arena *arena,
                              int64_t *next, tn_commit_changes *out, tarn_error *err) {
  assignment a = {arena, *next, *next, *next, NULL, err};
  size_t n = in->files.count;
  *out = *in;
  out->files.items = tn_arena_memdup(arena, in->files.items, n * sizeof(*in->files.items));
  out->files.capacity = n;
  if (out->files.items == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < n; i++) {
    tn_data_file *file = &out->files.items[i].file;
    if (out->files.items[i].kind != TN_FILE_ADD) {
      continue; /* what goes has its ids */
    }
    if (file->min_sequence == 0) {
      file->min_sequence = file->max_sequence = snapshot_id;
    }
    TN_TRY(assign(&a, file));
  }
  *next = a.next;
  return TARN_OK;
}
