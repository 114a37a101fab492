/* file_meta.c - DataFileMeta rows, field by field.
 *
 * One table of fields drives both directions. Nested rows and arrays are pieces of the row:
 *
 *   BinaryArray   i32 count | null bits, words of 4 bytes | elements | padding to 8 | variable part
 */
#include "plan/file_meta.h"

#include <stddef.h>

#include "base/bytes.h"
#include "base/checked.h"

#define PIECE_LIMIT ((size_t)1 << 30) /* bytes of one nested piece */
#define INLINE_MAX 7                  /* bytes that fit a slot beside their length */

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

static tarn_status append_zeros(tn_buf *out, size_t n, tarn_error *err) {
  TN_TRY(tn_buf_reserve(out, n, err));
  memset(out->data + out->len, 0, n);
  out->len += n;
  return TARN_OK;
}

/* Count, null bits and room for 8-byte elements; *elements: where those begin, from the start. */
static tarn_status begin_array(tn_buf *out, int64_t count, size_t *start, size_t *elements,
                               tarn_error *err) {
  size_t header, fixed;
  if (count < 0 || count > INT32_MAX) {
    return tn_fail(err, TARN_E_LIMIT, "an array of %lld elements", (long long)count);
  }
  header = 4 + (((size_t)count + 31) / 32) * 4;
  fixed = tn_round_up(header + 8 * (size_t)count, 8);
  *start = out->len;
  *elements = header;
  TN_TRY(append_zeros(out, fixed, err));
  tn_store_le32(out->data + *start, (uint32_t)count);
  return TARN_OK;
}

static tarn_status write_longs(const tn_record_array *array, tn_buf *out, tarn_error *err) {
  size_t start, elements;
  TN_TRY(begin_array(out, array->count, &start, &elements, err));
  for (int64_t i = 0; i < array->count; i++) {
    int64_t value = ((const int64_t *)array->items)[i];
    uint8_t *base = out->data + start;
    if (value == INT64_MIN) {
      tn_bit_set(base + 4, i);
    } else {
      tn_store_le64(base + elements + 8 * (size_t)i, (uint64_t)value);
    }
  }
  return TARN_OK;
}

static tarn_status write_texts(const tn_record_array *array, tn_buf *out, tarn_error *err) {
  size_t start, elements;
  TN_TRY(begin_array(out, array->count, &start, &elements, err));
  for (int64_t i = 0; i < array->count; i++) {
    tn_slice text = ((const tn_slice *)array->items)[i];
    uint8_t slot[8] = {0};
    if (text.len <= INLINE_MAX) {
      if (text.len > 0) {
        memcpy(slot, text.data, text.len);
      }
      slot[7] = (uint8_t)(0x80 | text.len);
    } else {
      size_t offset = out->len - start;
      if (text.len > INT32_MAX || offset > INT32_MAX) {
        return tn_fail(err, TARN_E_LIMIT, "an array of more than %d bytes", INT32_MAX);
      }
      tn_store_le64(slot, (uint64_t)offset << 32 | text.len);
      TN_TRY(tn_buf_append(out, text.data, text.len, err));
      TN_TRY(append_zeros(out, tn_round_up(text.len, 8) - text.len, err));
    }
    memcpy(out->data + start + elements + 8 * (size_t)i, slot, sizeof(slot));
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
    return tn_binary_row_set_null(w, i, err);
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
      break;
  }
  return tn_binary_row_set_null(w, i, err);
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

/* A checked view of an array of 8-byte elements. */
typedef struct array_view {
  tn_slice bytes;
  int64_t count;
  size_t elements;
} array_view;

static tarn_status view_array(tn_slice bytes, const char *what, array_view *out, tarn_error *err) {
  size_t need;
  if (bytes.len < 4) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: an array of %zu bytes", what, bytes.len);
  }
  out->bytes = bytes;
  out->count = (int32_t)tn_load_le32(bytes.data);
  if (out->count < 0 || (uint64_t)out->count > bytes.len / 8) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: an array of %lld elements in %zu bytes", what,
                   (long long)out->count, bytes.len);
  }
  out->elements = 4 + (((size_t)out->count + 31) / 32) * 4;
  need = out->elements + 8 * (size_t)out->count;
  if (need > bytes.len) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: an array of %lld elements in %zu bytes", what,
                   (long long)out->count, bytes.len);
  }
  return TARN_OK;
}

static tarn_status read_longs(tn_slice bytes, const char *what, tn_arena *arena,
                              tn_record_array *out, tarn_error *err) {
  array_view a;
  int64_t *items;
  TN_TRY(view_array(bytes, what, &a, err));
  items = tn_arena_alloc(arena, (size_t)a.count * sizeof(*items));
  if (items == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < a.count; i++) {
    items[i] = tn_bit_get(bytes.data + 4, i)
                   ? INT64_MIN
                   : (int64_t)tn_load_le64(bytes.data + a.elements + 8 * (size_t)i);
  }
  *out = (tn_record_array){items, a.count};
  return TARN_OK;
}

static tarn_status read_texts(tn_slice bytes, const char *what, tn_arena *arena,
                              tn_record_array *out, tarn_error *err) {
  array_view a;
  tn_slice *items;
  TN_TRY(view_array(bytes, what, &a, err));
  items = tn_arena_alloc(arena, (size_t)a.count * sizeof(*items));
  if (items == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < a.count; i++) {
    const uint8_t *at = bytes.data + a.elements + 8 * (size_t)i;
    uint64_t slot = tn_load_le64(at);
    if (slot >> 63 != 0) {
      size_t len = (size_t)(slot >> 56 & 0x7F);
      if (len > INLINE_MAX) {
        return tn_fail(err, TARN_E_CORRUPT, "%s: an element of %zu bytes in 7", what, len);
      }
      items[i] = tn_slice_of(at, len);
      continue;
    }
    if ((slot >> 32) > bytes.len || (uint32_t)slot > bytes.len - (slot >> 32)) {
      return tn_fail(err, TARN_E_CORRUPT, "%s: element %lld lies outside of the array", what,
                     (long long)i);
    }
    items[i] = tn_slice_of(bytes.data + (slot >> 32), (uint32_t)slot);
  }
  *out = (tn_record_array){items, a.count};
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
