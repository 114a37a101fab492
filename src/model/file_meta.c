/* file_meta.c - DataFileMeta rows, field by field.
 *
 * One table of fields drives both directions. Nested rows and arrays are pieces of the row.
 */
#include "model/file_meta.h"

#include <stddef.h>

#define PIECE_LIMIT ((size_t)1 << 30) /* bytes of one nested piece */

typedef enum meta_kind {
  META_TEXT,
  META_BYTES,
  META_LONG,
  META_INT,
  META_TINY,
  META_TIME, /* TIMESTAMP(3): milliseconds in the slot */
  META_STATS,
  META_TEXTS,
  META_IGNORED
} meta_kind;

typedef struct meta_field {
  const char *name;
  meta_kind kind;
  size_t offset;
  size_t flag; /* of a bool; SIZE_MAX: never null */
} meta_field;

#define AT(member) offsetof(tn_data_file, member)
#define ALWAYS SIZE_MAX

static const meta_field row_fields[] = {
    {"_FILE_NAME", META_TEXT, AT(file_name), ALWAYS},
    {"_FILE_SIZE", META_LONG, AT(file_size), ALWAYS},
    {"_ROW_COUNT", META_LONG, AT(row_count), ALWAYS},
    {"_MIN_KEY", META_BYTES, AT(min_key), ALWAYS},
    {"_MAX_KEY", META_BYTES, AT(max_key), ALWAYS},
    {"_KEY_STATS", META_STATS, AT(key_stats), ALWAYS},
    {"_VALUE_STATS", META_STATS, AT(value_stats), ALWAYS},
    {"_MIN_SEQUENCE_NUMBER", META_LONG, AT(min_sequence), ALWAYS},
    {"_MAX_SEQUENCE_NUMBER", META_LONG, AT(max_sequence), ALWAYS},
    {"_SCHEMA_ID", META_LONG, AT(schema_id), ALWAYS},
    {"_LEVEL", META_INT, AT(level), ALWAYS},
    {"_EXTRA_FILES", META_TEXTS, AT(extra_files), ALWAYS},
    {"_CREATION_TIME", META_TIME, AT(creation_time_ms), AT(has_creation_time)},
    {"_DELETE_ROW_COUNT", META_LONG, AT(delete_row_count), AT(has_delete_row_count)},
    {"_EMBEDDED_FILE_INDEX", META_BYTES, AT(embedded_index), AT(has_embedded_index)},
    {"_FILE_SOURCE", META_TINY, AT(source), AT(has_source)},
    {"_VALUE_STATS_COLS", META_TEXTS, AT(value_stats_cols), AT(has_value_stats_cols)},
    {"_EXTERNAL_PATH", META_TEXT, AT(external_path), AT(has_external_path)},
    {"_FIRST_ROW_ID", META_LONG, AT(first_row_id), AT(has_first_row_id)},
    {"_WRITE_COLS", META_TEXTS, AT(write_cols), AT(has_write_cols)},
    {"_WRITE_COLS_SEQUENCES", META_IGNORED, 0, ALWAYS},
};
#define N_FIELDS ((int32_t)TN_COUNT(row_fields))

/* ------------------------------------------------------------------ writing */

static tarn_status write_longs(const tn_record_array *array, tn_buf *out, tarn_error *err) {
  tn_binary_row_writer w;
  TN_TRY(tn_binary_array_begin(&w, out, array->count, 8, err));
  for (int32_t i = 0; i < array->count; i++) {
    int64_t value = ((const int64_t *)array->items)[i];
    if (value == INT64_MIN) {
      tn_binary_row_set_null(&w, i);
    } else {
      tn_binary_row_set_slot(&w, i, (uint64_t)value);
    }
  }
  return TARN_OK;
}

static tarn_status write_texts(const tn_record_array *array, tn_buf *out, tarn_error *err) {
  tn_binary_row_writer w;
  TN_TRY(tn_binary_array_begin(&w, out, array->count, 8, err));
  for (int32_t i = 0; i < array->count; i++) {
    TN_TRY(tn_binary_row_set_bytes(&w, i, ((const tn_slice *)array->items)[i], err));
  }
  return TARN_OK;
}

/* A row of minima or maxima; one without columns where there are no statistics. */
static tn_slice row_or_empty(tn_slice row) {
  return row.len > 0 ? row : tn_binary_row_empty();
}

/* SimpleStats: ROW<bytes, bytes, ARRAY<BIGINT>>. */
static tarn_status write_stats(const tn_simple_stats *stats, tn_buf *out, tarn_error *err) {
  tn_binary_row_writer w;
  tn_buf array;
  tarn_status st;
  tn_buf_init(&array, out->mem, PIECE_LIMIT);
  TN_TRY_TO(done, tn_binary_row_begin(&w, out, 3, err));
  TN_TRY_TO(done, tn_binary_row_set_bytes(&w, 0, row_or_empty(stats->min_values), err));
  TN_TRY_TO(done, tn_binary_row_set_bytes(&w, 1, row_or_empty(stats->max_values), err));
  TN_TRY_TO(done, write_longs(&stats->null_counts, &array, err));
  TN_TRY_TO(done, tn_binary_row_set_piece(&w, 2, tn_buf_slice(&array), err));
done:
  tn_buf_reset(&array);
  return st;
}

static tarn_status write_field(tn_binary_row_writer *w, int32_t i, const tn_data_file *file,
                               tn_buf *piece, tarn_error *err) {
  const meta_field *f = &row_fields[i];
  const void *at = (const uint8_t *)file + f->offset;
  if (f->flag != ALWAYS && !*(const bool *)((const uint8_t *)file + f->flag)) {
    tn_binary_row_set_null(w, i);
    return TARN_OK;
  }
  piece->len = 0;
  switch (f->kind) {
    case META_TEXT:
    case META_BYTES:
      return tn_binary_row_set_bytes(w, i, *(const tn_slice *)at, err);
    case META_LONG:
    case META_TIME:
      tn_binary_row_set_slot(w, i, (uint64_t)*(const int64_t *)at);
      return TARN_OK;
    case META_INT:
      tn_binary_row_set_slot(w, i, (uint32_t)*(const int32_t *)at);
      return TARN_OK;
    case META_TINY:
      tn_binary_row_set_slot(w, i, (uint8_t)*(const int32_t *)at);
      return TARN_OK;
    case META_STATS:
      TN_TRY(write_stats(at, piece, err));
      return tn_binary_row_set_piece(w, i, tn_buf_slice(piece), err);
    case META_TEXTS:
      TN_TRY(write_texts(at, piece, err));
      return tn_binary_row_set_piece(w, i, tn_buf_slice(piece), err);
    case META_IGNORED:
      tn_binary_row_set_null(w, i);
      break;
  }
  return TARN_OK;
}

tarn_status tn_file_meta_encode(const tn_data_file *file, tn_buf *out, tarn_error *err) {
  tn_binary_row_writer w;
  tn_buf piece;
  tarn_status st;
  tn_buf_init(&piece, out->mem, PIECE_LIMIT);
  TN_TRY_TO(done, tn_binary_row_begin(&w, out, TN_FILE_META_FIELDS, err));
  for (int32_t i = 0; i < TN_FILE_META_FIELDS; i++) {
    TN_TRY_TO(done, write_field(&w, i, file, &piece, err));
  }
done:
  tn_buf_reset(&piece);
  return st;
}

/* ------------------------------------------------------------------ reading */

static tarn_status read_longs(tn_slice bytes, const char *what, tn_arena *arena,
                              tn_record_array *out, tarn_error *err) {
  tn_binary_row array;
  int64_t *items;
  TN_TRY(tn_binary_array_view(bytes, what, &array, err));
  items = tn_arena_alloc(arena, (size_t)array.arity * sizeof(*items));
  if (items == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < array.arity; i++) {
    items[i] =
        tn_binary_row_is_null(&array, i) ? INT64_MIN : (int64_t)tn_binary_row_slot(&array, i);
  }
  *out = (tn_record_array){items, array.arity};
  return TARN_OK;
}

static tarn_status read_texts(tn_slice bytes, const char *what, tn_arena *arena,
                              tn_record_array *out, tarn_error *err) {
  tn_binary_row array;
  tn_slice *items;
  TN_TRY(tn_binary_array_view(bytes, what, &array, err));
  items = tn_arena_alloc(arena, (size_t)array.arity * sizeof(*items));
  if (items == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < array.arity; i++) {
    TN_TRY(tn_binary_row_piece(&array, i, &items[i], err));
  }
  *out = (tn_record_array){items, array.arity};
  return TARN_OK;
}

static tarn_status read_stats(tn_slice bytes, const char *what, tn_arena *arena,
                              tn_simple_stats *out, tarn_error *err) {
  tn_binary_row row;
  tn_slice counts;
  TN_TRY(tn_binary_row_view(bytes, 3, what, &row, err));
  TN_TRY(tn_binary_row_piece(&row, 0, &out->min_values, err));
  TN_TRY(tn_binary_row_piece(&row, 1, &out->max_values, err));
  TN_TRY(tn_binary_row_piece(&row, 2, &counts, err));
  out->has_null_counts = true;
  return read_longs(counts, what, arena, &out->null_counts, err);
}

static tarn_status read_field(const tn_binary_row *row, int32_t i, tn_arena *arena,
                              tn_data_file *file, tarn_error *err) {
  const meta_field *f = &row_fields[i];
  void *at = (uint8_t *)file + f->offset;
  tn_slice piece;
  if (f->kind == META_IGNORED) {
    return TARN_OK;
  }
  if (tn_binary_row_is_null(row, i)) {
    return f->flag != ALWAYS
               ? TARN_OK
               : tn_fail(err, TARN_E_CORRUPT, "data file in a split: %s is null", f->name);
  }
  if (f->flag != ALWAYS) {
    *(bool *)((uint8_t *)file + f->flag) = true;
  }
  switch (f->kind) {
    case META_TEXT:
    case META_BYTES:
      return tn_binary_row_piece(row, i, at, err);
    case META_LONG:
    case META_TIME:
      *(int64_t *)at = (int64_t)tn_binary_row_slot(row, i);
      return TARN_OK;
    case META_INT:
      *(int32_t *)at = (int32_t)(uint32_t)tn_binary_row_slot(row, i);
      return TARN_OK;
    case META_TINY:
      *(int32_t *)at = (int8_t)(uint8_t)tn_binary_row_slot(row, i);
      return TARN_OK;
    case META_STATS:
      TN_TRY(tn_binary_row_piece(row, i, &piece, err));
      return read_stats(piece, f->name, arena, at, err);
    case META_TEXTS:
      TN_TRY(tn_binary_row_piece(row, i, &piece, err));
      return read_texts(piece, f->name, arena, at, err);
    case META_IGNORED:
      break;
  }
  return TARN_OK;
}

/* Keys, embedded and other rows with their arity in front must be rows. */
static tarn_status check_row(tn_slice bytes, const char *what, tarn_error *err) {
  tn_binary_row row;
  return tn_binary_row_decode(bytes, what, &row, err);
}

tarn_status tn_file_meta_decode(tn_slice bytes, int32_t n_fields, tn_arena *arena,
                                tn_data_file *out, tarn_error *err) {
  tn_binary_row row;
  memset(out, 0, sizeof(*out));
  TN_TRY(tn_binary_row_view(bytes, n_fields, "data file in a split", &row, err));
  for (int32_t i = 0; i < n_fields && i < N_FIELDS; i++) {
    TN_TRY(read_field(&row, i, arena, out, err));
  }
  TN_TRY(check_row(out->min_key, "_MIN_KEY", err));
  TN_TRY(check_row(out->max_key, "_MAX_KEY", err));
  if (out->row_count < 0 || out->file_size < 0) {
    return tn_fail(err, TARN_E_CORRUPT, "data file %.*s in a split: %lld rows in %lld bytes",
                   TN_SLICE_ARG(out->file_name), (long long)out->row_count,
                   (long long)out->file_size);
  }
  return TARN_OK;
}
