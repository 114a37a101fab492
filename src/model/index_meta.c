/* index_meta.c - IndexFileMeta rows.
 *
 *   0 type | 1 name | 2 size | 3 rows | 4 array of rows (name, offset, length, cardinality)?
 *   | 5 external path? (layout 3) | 6 row of a global index? (layout 4)
 */
#include "model/index_meta.h"

#include "base/bytes.h"

#define PIECE_LIMIT ((size_t)1 << 30) /* bytes of one nested piece */

static const tn_type INT_TYPE = {.root = TN_INT, .is_nullable = true};

typedef struct index_layout {
  int32_t n_fields, n_range_fields, n_global_fields;
} index_layout;

static const index_layout layouts[TN_INDEX_META_NEWEST + 1] = {
    [1] = {5, 3, 0}, [2] = {5, 4, 0}, [3] = {6, 4, 0}, [4] = {7, 4, 5}, [5] = {7, 4, 6},
};

enum { TYPE, NAME, SIZE, ROWS, RANGES, EXTERNAL_PATH, GLOBAL_INDEX };

/* ------------------------------------------------------------------ writing */

static tarn_status write_range(const tn_dv_range *range, tn_buf *out, tarn_error *err) {
  tn_binary_row_writer w;
  TN_TRY(tn_binary_row_begin(&w, out, 4, err));
  TN_TRY(tn_binary_row_set_bytes(&w, 0, range->data_file, err));
  tn_binary_row_set_slot(&w, 1, (uint32_t)range->offset);
  tn_binary_row_set_slot(&w, 2, (uint32_t)range->length);
  if (range->has_cardinality) {
    tn_binary_row_set_slot(&w, 3, (uint64_t)range->cardinality);
  } else {
    tn_binary_row_set_null(&w, 3);
  }
  return TARN_OK;
}

static tarn_status write_ranges(const tn_record_array *ranges, tn_buf *out, tarn_error *err) {
  tn_binary_row_writer w;
  tarn_status st = TARN_OK;
  tn_buf row;
  tn_buf_init(&row, out->mem, PIECE_LIMIT);
  TN_TRY_TO(done, tn_binary_array_begin(&w, out, ranges->count, 8, err));
  for (int32_t i = 0; i < ranges->count; i++) {
    row.len = 0;
    TN_TRY_TO(done, write_range(&((const tn_dv_range *)ranges->items)[i], &row, err));
    TN_TRY_TO(done, tn_binary_row_set_piece(&w, i, tn_buf_slice(&row), err));
  }
done:
  tn_buf_reset(&row);
  return st;
}

static tarn_status write_ints(const tn_record_array *ints, tn_buf *out, tarn_error *err) {
  tn_binary_row_writer w;
  TN_TRY(tn_binary_array_begin(&w, out, ints->count, 4, err));
  for (int32_t i = 0; i < ints->count; i++) {
    tn_datum datum = {.v.i64 = ((const int32_t *)ints->items)[i]};
    TN_TRY(tn_binary_row_set(&w, i, &INT_TYPE, &datum, err));
  }
  return TARN_OK;
}

static tarn_status write_global(const tn_global_index *g, tn_buf *out, tarn_error *err) {
  tn_binary_row_writer w;
  tarn_status st = TARN_OK;
  tn_buf ints;
  tn_buf_init(&ints, out->mem, PIECE_LIMIT);
  TN_TRY_TO(done, tn_binary_row_begin(&w, out, 5, err));
  tn_binary_row_set_slot(&w, 0, (uint64_t)g->first_row_id);
  tn_binary_row_set_slot(&w, 1, (uint64_t)g->last_row_id);
  tn_binary_row_set_slot(&w, 2, (uint32_t)g->field_id);
  if (g->has_extra_field_ids) {
    TN_TRY_TO(done, write_ints(&g->extra_field_ids, &ints, err));
    TN_TRY_TO(done, tn_binary_row_set_piece(&w, 3, tn_buf_slice(&ints), err));
  } else {
    tn_binary_row_set_null(&w, 3);
  }
  if (g->has_index_meta) {
    TN_TRY_TO(done, tn_binary_row_set_bytes(&w, 4, g->index_meta, err));
  } else {
    tn_binary_row_set_null(&w, 4);
  }
done:
  tn_buf_reset(&ints);
  return st;
}

/* The fields that may be null. */
static tarn_status write_optional(const tn_index_entry *index, tn_binary_row_writer *w,
                                  tn_buf *piece, tarn_error *err) {
  if (index->has_dv_ranges) {
    TN_TRY(write_ranges(&index->dv_ranges, piece, err));
    TN_TRY(tn_binary_row_set_piece(w, RANGES, tn_buf_slice(piece), err));
  } else {
    tn_binary_row_set_null(w, RANGES);
  }
  if (index->has_external_path) {
    TN_TRY(tn_binary_row_set_bytes(w, EXTERNAL_PATH, index->external_path, err));
  } else {
    tn_binary_row_set_null(w, EXTERNAL_PATH);
  }
  if (!index->has_global_index) {
    tn_binary_row_set_null(w, GLOBAL_INDEX);
    return TARN_OK;
  }
  piece->len = 0;
  TN_TRY(write_global(&index->global_index, piece, err));
  return tn_binary_row_set_piece(w, GLOBAL_INDEX, tn_buf_slice(piece), err);
}

tarn_status tn_index_meta_encode(const tn_index_entry *index, tn_buf *out, tarn_error *err) {
  tn_binary_row_writer w;
  tarn_status st = TARN_OK;
  tn_buf piece;
  if (index->has_global_index && index->global_index.has_source_meta) {
    return tn_fail(err, TARN_E_UNSUPPORTED,
                   "index file %.*s has _SOURCE_META of Paimon 2, which would be lost",
                   TN_SLICE_ARG(index->file_name));
  }
  tn_buf_init(&piece, out->mem, PIECE_LIMIT);
  TN_TRY_TO(done, tn_binary_row_begin(&w, out, layouts[TN_INDEX_META_WRITTEN].n_fields, err));
  TN_TRY_TO(done, tn_binary_row_set_bytes(&w, TYPE, index->index_type, err));
  TN_TRY_TO(done, tn_binary_row_set_bytes(&w, NAME, index->file_name, err));
  tn_binary_row_set_slot(&w, SIZE, (uint64_t)index->file_size);
  tn_binary_row_set_slot(&w, ROWS, (uint64_t)index->row_count);
  TN_TRY_TO(done, write_optional(index, &w, &piece, err));
done:
  tn_buf_reset(&piece);
  return st;
}

/* ------------------------------------------------------------------ reading */

#define WHAT "index file in a commit message"

/* Bytes of a field; *is_there false: null. */
static tarn_status read_piece(const tn_binary_row *row, int32_t i, tn_slice *out, bool *is_there,
                              tarn_error *err) {
  *is_there = !tn_binary_row_is_null(row, i);
  return *is_there ? tn_binary_row_piece(row, i, out, err) : TARN_OK;
}

static tarn_status must_be_there(const tn_binary_row *row, int32_t n, tarn_error *err) {
  for (int32_t i = 0; i < n; i++) {
    if (tn_binary_row_is_null(row, i)) {
      return tn_fail(err, TARN_E_CORRUPT, "%s: field %d is null", row->what, (int)i);
    }
  }
  return TARN_OK;
}

static tarn_status read_range(tn_slice bytes, int32_t n_fields, tn_dv_range *out, tarn_error *err) {
  tn_binary_row row;
  TN_TRY(tn_binary_row_view(bytes, n_fields, "range in an " WHAT, &row, err));
  TN_TRY(must_be_there(&row, 3, err));
  TN_TRY(tn_binary_row_piece(&row, 0, &out->data_file, err));
  out->offset = (int32_t)(uint32_t)tn_binary_row_slot(&row, 1);
  out->length = (int32_t)(uint32_t)tn_binary_row_slot(&row, 2);
  out->has_cardinality = n_fields > 3 && !tn_binary_row_is_null(&row, 3);
  out->cardinality = out->has_cardinality ? (int64_t)tn_binary_row_slot(&row, 3) : 0;
  return TARN_OK;
}

static tarn_status read_ranges(tn_slice bytes, int32_t n_fields, tn_arena *arena,
                               tn_record_array *out, tarn_error *err) {
  tn_binary_row array;
  tn_dv_range *ranges;
  TN_TRY(tn_binary_array_view(bytes, "ranges in an " WHAT, &array, err));
  ranges = tn_arena_calloc(arena, (size_t)array.arity + 1, sizeof(*ranges));
  if (ranges == NULL) {
    return tn_oom(err);
  }
  TN_TRY(must_be_there(&array, array.arity, err));
  for (int32_t i = 0; i < array.arity; i++) {
    tn_slice row;
    TN_TRY(tn_binary_row_piece(&array, i, &row, err));
    TN_TRY(read_range(row, n_fields, &ranges[i], err));
  }
  *out = (tn_record_array){ranges, array.arity};
  return TARN_OK;
}

/* ARRAY<INT NOT NULL>: count, null bits in words of 4 bytes, elements of 4 bytes. */
static tarn_status read_ints(tn_slice bytes, tn_arena *arena, tn_record_array *out,
                             tarn_error *err) {
  int64_t count = bytes.len >= 4 ? (int32_t)tn_load_le32(bytes.data) : -1;
  size_t head = 4 + (size_t)(count + 31) / 32 * 4;
  int32_t *ints;
  if (count < 0 || head + (size_t)count * 4 > bytes.len) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: an array of %lld numbers in %zu bytes", WHAT,
                   (long long)count, bytes.len);
  }
  ints = tn_arena_calloc(arena, (size_t)count + 1, sizeof(*ints));
  if (ints == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < count; i++) {
    ints[i] = (int32_t)tn_load_le32(bytes.data + head + (size_t)i * 4);
  }
  *out = (tn_record_array){ints, count};
  return TARN_OK;
}

static tarn_status read_global(tn_slice bytes, int32_t n_fields, tn_arena *arena,
                               tn_global_index *out, tarn_error *err) {
  tn_binary_row row;
  tn_slice ints;
  TN_TRY(tn_binary_row_view(bytes, n_fields, "global index in an " WHAT, &row, err));
  TN_TRY(must_be_there(&row, 3, err));
  out->first_row_id = (int64_t)tn_binary_row_slot(&row, 0);
  out->last_row_id = (int64_t)tn_binary_row_slot(&row, 1);
  out->field_id = (int32_t)(uint32_t)tn_binary_row_slot(&row, 2);
  TN_TRY(read_piece(&row, 3, &ints, &out->has_extra_field_ids, err));
  if (out->has_extra_field_ids) {
    TN_TRY(read_ints(ints, arena, &out->extra_field_ids, err));
  }
  TN_TRY(read_piece(&row, 4, &out->index_meta, &out->has_index_meta, err));
  return n_fields > 5 ? read_piece(&row, 5, &out->source_meta, &out->has_source_meta, err)
                      : TARN_OK;
}

tarn_status tn_index_meta_decode(tn_slice bytes, int32_t layout, tn_arena *arena,
                                 tn_index_entry *out, tarn_error *err) {
  const index_layout *l = &layouts[layout];
  tn_binary_row row;
  tn_slice piece;
  memset(out, 0, sizeof(*out));
  TN_TRY(tn_binary_row_view(bytes, l->n_fields, WHAT, &row, err));
  TN_TRY(must_be_there(&row, RANGES, err));
  TN_TRY(tn_binary_row_piece(&row, TYPE, &out->index_type, err));
  TN_TRY(tn_binary_row_piece(&row, NAME, &out->file_name, err));
  out->file_size = (int64_t)tn_binary_row_slot(&row, SIZE);
  out->row_count = (int64_t)tn_binary_row_slot(&row, ROWS);
  TN_TRY(read_piece(&row, RANGES, &piece, &out->has_dv_ranges, err));
  if (out->has_dv_ranges) {
    TN_TRY(read_ranges(piece, l->n_range_fields, arena, &out->dv_ranges, err));
  }
  if (l->n_fields > EXTERNAL_PATH) {
    TN_TRY(read_piece(&row, EXTERNAL_PATH, &out->external_path, &out->has_external_path, err));
  }
  if (l->n_fields > GLOBAL_INDEX) {
    TN_TRY(read_piece(&row, GLOBAL_INDEX, &piece, &out->has_global_index, err));
  }
  return out->has_global_index
             ? read_global(piece, l->n_global_fields, arena, &out->global_index, err)
             : TARN_OK;
}
