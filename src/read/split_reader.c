/* split_reader.c - which way a split is read, what a read asks of every split, and going on. */
#include "read/split_reader.h"

#include <string.h>

#include "base/bytes.h"

/* ------------------------------------------------------------------ the way */

static bool knows_delete_counts(const tn_split *split) {
  for (int32_t i = 0; i < split->n_files; i++) {
    if (!split->files[i].has_delete_row_count) {
      return false;
    }
  }
  return true;
}

#define POSTPONE_BUCKET (-2)

tn_split_way tn_split_choose_way(const tn_read_context *c, const tn_split *split) {
  if (!c->o.table->facts.has_primary_key) {
    return TN_SPLIT_RAW;
  }
  if (!c->o.keeps_deletes && !split->is_streaming && split->is_raw_convertible &&
      knows_delete_counts(split)) {
    return TN_SPLIT_RAW;
  }
  if (split->is_streaming || split->bucket == POSTPONE_BUCKET) {
    return TN_SPLIT_NOT_MERGED;
  }
  return TN_SPLIT_MERGED;
}

/* ------------------------------------------------------------------ files */

tarn_status tn_open_file_open(const tn_open_request *q, tn_open_file *out, tarn_error *err) {
  const tn_read_context *c = q->context;
  tn_dv_place place = {0};
  const char *full_path;
  tn_data_request request = {
      .shape = q->shape,
      .file = &q->split->files[q->index],
      .partition = q->split->partition,
      .pushed = q->pushed,
      .batch_rows = q->batch_rows,
      .cancel = c->o.cancel,
  };
  tarn_status st = TARN_OK;
  memset(out, 0, sizeof(*out));
  tn_arena_init(&out->arena, &c->env->mem, 1u << 20);
  tn_ranges_init(&out->rows, &c->env->mem);
  TN_TRY_TO(fail, tn_split_file_path(q->split, q->index, &out->arena, &full_path, err));
  TN_TRY_TO(fail, tn_path_plain(&out->arena, full_path, &out->path, err));
  request.full_path = full_path;
  if (!q->gives_deleted && q->split->deletions != NULL &&
      q->split->deletions[q->index].path != NULL) {
    place = q->split->deletions[q->index];
    TN_TRY_TO(fail, tn_path_plain(&out->arena, place.path, &place.path, err));
    TN_TRY_TO(fail, tn_dv_load(c->env, c->o.table->storage, &place, &out->deletions, err));
  }
  if (q->rows != NULL) {
    TN_TRY_TO(fail, tn_ranges_unite(&out->rows, q->rows, err));
    request.rows = &out->rows;
  } else if (q->first_position > 0) {
    TN_TRY_TO(fail, tn_ranges_add(&out->rows, q->first_position, INT64_MAX, err));
    request.rows = &out->rows;
  }
  request.path = out->path;
  request.deletions = out->deletions;
  request.wants_flat = q->wants_flat && out->deletions == NULL;
  TN_TRY_TO(fail, tn_data_reader_open(&request, &out->reader, err));
  return TARN_OK;
fail:
  tn_open_file_close(out);
  return st;
}

tarn_status tn_open_file_prune(const tn_read_context *c, const tn_split *split, int32_t index,
                               tn_data_shape *shape, const tn_pred *pred, tn_ranges *out,
                               tarn_error *err) {
  tn_data_request request = {
      .shape = shape,
      .file = &split->files[index],
      .partition = split->partition,
      .pushed = pred,
      .cancel = c->o.cancel,
  };
  tn_arena arena;
  tarn_status st;
  tn_arena_init(&arena, &c->env->mem, 1u << 20);
  TN_TRY_TO(done, tn_split_file_path(split, index, &arena, &request.full_path, err));
  TN_TRY_TO(done, tn_path_plain(&arena, request.full_path, &request.path, err));
  st = tn_data_file_prune(&request, out, err);
done:
  tn_arena_reset(&arena);
  return st;
}

void tn_open_file_close(tn_open_file *file) {
  tn_data_reader_free(file->reader);
  tn_dv_release(file->deletions);
  if (file->arena.mem != NULL) {
    tn_arena_reset(&file->arena);
    tn_ranges_reset(&file->rows);
  }
  memset(file, 0, sizeof(*file));
}

bool tn_file_needs_kinds(const tn_read_context *c, const tn_data_file *file) {
  return c->o.with_row_kind || !file->has_delete_row_count || file->delete_row_count != 0;
}

/* What a value takes in memory, for a guess. */
static int64_t guessed_bytes(const tn_type *type, int32_t depth) {
  size_t width = tn_layout_width(tn_type_layout(type));
  int64_t sum = width > 0 ? (int64_t)width : tn_type_is_nested(type) ? 8 : 32;
  for (int32_t i = 0; i < type->n_fields && depth < 4; i++) {
    sum += (type->root == TN_ROW ? 1 : 4) * guessed_bytes(&type->fields[i].type, depth + 1);
  }
  return sum;
}

int64_t tn_file_batch_rows(const tn_read_context *c, const tn_data_file *file, int64_t max_rows,
                           int64_t max_bytes) {
  int64_t by_type = 16, by_size, rows;
  for (int32_t i = 0; i < c->o.n_fields; i++) {
    by_type += guessed_bytes(&c->o.fields[i].type, 0);
  }
  /* Data seldom shrinks to less than a quarter when it consists of large values. */
  by_size = file->row_count > 0 && file->file_size > 0 ? file->file_size / file->row_count : 0;
  by_size = by_size < max_bytes ? by_size * 4 : max_bytes;
  rows = max_bytes / (by_type > by_size ? by_type : by_size);
  rows = rows < TN_LEAST_ROWS ? TN_LEAST_ROWS : rows;
  return rows < max_rows ? rows : max_rows;
}

/* Depth: that of a type. */
static int64_t vec_bytes(const tn_vec *vec) {
  int64_t bytes = vec->length * (int64_t)tn_layout_width(vec->layout);
  const tn_vec *nested = vec->encoding == TN_VEC_CONST ? vec->constant : vec;
  for (int64_t i = 0; vec->layout == TN_LAYOUT_BYTES && i < vec->length; i++) {
    bytes += (int64_t)tn_vec_bytes(vec, i).len;
  }
  for (int32_t i = 0; i < nested->n_children; i++) {
    bytes += vec_bytes(&nested->children[i]);
  }
  return bytes;
}

int64_t tn_batch_bytes(const tn_batch *batch) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < batch->n_columns; i++) {
    bytes += vec_bytes(&batch->columns[i]);
  }
  return bytes;
}

const tn_field tn_kind_field = {
    .id = TN_FIELD_ID_VALUE_KIND, .name = "_VALUE_KIND", .type = {.root = TN_TINYINT}};

tarn_status tn_check_kinds(const tn_vec *kinds, const char *path, tarn_error *err) {
  const int8_t *values = kinds->values;
  bool is_bad = kinds->null_count > 0;
  for (int64_t i = 0; i < kinds->length; i++) {
    is_bad |= (values[i] & ~3) != 0;
  }
  return is_bad ? tn_fail(err, TARN_E_CORRUPT,
                          "%s: _VALUE_KIND holds values other than the four row kinds", path)
                : TARN_OK;
}

/* ------------------------------------------------------------------ lists of columns */

int32_t tn_fields_add(tn_field *fields, int32_t *n, const tn_field *field) {
  for (int32_t i = 0; i < *n; i++) {
    if (fields[i].id == field->id && tn_type_equal(&fields[i].type, &field->type, false)) {
      return i;
    }
  }
  fields[*n] = *field;
  return (*n)++;
}

const tn_field *tn_read_field(const tn_read_context *c, int32_t id) {
  const tn_schema *schema = c->o.table->schema;
  int32_t at = tn_fields_find_id(schema->fields, schema->n_fields, id);
  return at >= 0                          ? &schema->fields[at]
         : c->o.table->facts.row_tracking ? tn_row_tracking_field(id)
                                          : NULL;
}

typedef struct tested {
  const tn_read_context *c;
  tn_field *fields;
  int32_t *n;
} tested;

static void add_tested(void *ctx, const tn_pred *leaf) {
  tested *t = ctx;
  const tn_field *field = tn_read_field(t->c, leaf->field_id);
  if (field != NULL) {
    tn_fields_add(t->fields, t->n, field);
  }
}

void tn_fields_add_tested(const tn_read_context *c, const tn_pred *pred, tn_field *fields,
                          int32_t *n) {
  tested t = {c, fields, n};
  if (pred != NULL) {
    tn_pred_each_leaf(pred, add_tested, &t);
  }
}
