/* records.c - manifests in Parquet: batches of the wanted columns into C structs, row by row.
 *
 *   wanted fields    laid over the file's columns become slots, each with the type it is read as
 *   a batch          arrays of all its rows are made at once (prepare)
 *   a row            each slot puts its value, or where its array lies, into the struct (fill)
 *
 * Texts are not copied: they point into the batch. What the file lacks stays zero.
 */
#include "base/bytes.h"
#include "format/parquet/file.h"
#include "format/parquet/parquet.h"

#define BATCH_ROWS 1024

/* A wanted field that the file has. */
typedef struct slot {
  const tn_record_field *field;
  const tn_vec *vec; /* of the batch at hand */
  void *items;       /* arrays: of all rows of the batch */
  int32_t n_children;
  struct slot *children; /* STRUCT, STRUCTS */
} slot;

typedef struct record_reader {
  const char *path;
  tn_arena arena; /* slots and types */
  tn_arena items; /* of the batch at hand */
  int64_t first_record;
  tarn_error *err;
} record_reader;

/* ------------------------------------------------------------------ bytes as a file */

typedef struct bytes_file {
  tn_file base;
  tn_slice bytes;
} bytes_file;

static tarn_status bytes_read(tn_file *file, int64_t offset, void *out, size_t n_bytes,
                              size_t *n_read, tarn_error *err) {
  tn_slice bytes = TN_CONTAINER_OF(file, bytes_file, base)->bytes;
  size_t left = offset >= 0 && (uint64_t)offset < bytes.len ? bytes.len - (size_t)offset : 0;
  (void)err;
  *n_read = n_bytes < left ? n_bytes : left;
  if (*n_read > 0) {
    memcpy(out, bytes.data + offset, *n_read);
  }
  return TARN_OK;
}

/* It lives on the caller's stack. */
static void bytes_free(tn_file *file) {
  (void)file;
}

static const tn_file_ops bytes_ops = {bytes_free, bytes_read};

/* ------------------------------------------------------------------ laying out */

static void set_bytes(tn_type *type) {
  type->root = TN_VARBINARY;
  type->length = INT32_MAX;
}

/* The type that a value is read as; reading refuses columns that cannot be read so. */
static void set_scalar(const tn_record_field *field, const tn_pq_node *node, tn_type *type) {
  switch (field->kind) {
    case TN_RECORD_INT:
    case TN_RECORD_INTS:
      type->root = TN_INT;
      break;
    case TN_RECORD_LONG:
    case TN_RECORD_LONGS:
      type->root = TN_BIGINT;
      if (node->kind == TN_PQ_NODE_LEAF && node->element->logical.kind == TN_PQ_TIMESTAMP) {
        type->root = TN_TIMESTAMP;
        type->precision = 3;
      }
      break;
    default:
      set_bytes(type);
      break;
  }
}

static bool is_array(const tn_record_field *field) {
  return field->kind == TN_RECORD_TEXTS || field->kind == TN_RECORD_LONGS ||
         field->kind == TN_RECORD_INTS || field->kind == TN_RECORD_STRUCTS;
}

static bool has_fields(const tn_record_field *field) {
  return field->kind == TN_RECORD_STRUCT || field->kind == TN_RECORD_STRUCTS;
}

/* The slots of the wanted fields that a group has, and the columns they are read from. */
static tarn_status lay_out(record_reader *r, const tn_pq_node *group, const tn_record_field *fields,
                           int32_t n_fields, slot **slots, const tn_field **columns,
                           int32_t *n_out) {
  tn_field *made = tn_arena_calloc(&r->arena, (size_t)n_fields + 1, sizeof(*made));
  *slots = tn_arena_calloc(&r->arena, (size_t)n_fields + 1, sizeof(**slots));
  *columns = made;
  *n_out = 0;
  if (made == NULL || *slots == NULL) {
    return tn_oom(r->err);
  }
  for (int32_t i = 0; i < n_fields; i++) {
    const tn_pq_node *node = tn_pq_node_child(group, fields[i].name);
    tn_field *column = &made[*n_out];
    slot *s = &(*slots)[*n_out];
    tn_type *type = &column->type;
    if (node == NULL) {
      continue;
    }
    ++*n_out;
    s->field = &fields[i];
    column->id = -1;
    column->name = fields[i].name;
    if (is_array(&fields[i])) {
      tn_field *item = tn_arena_calloc(&r->arena, 1, sizeof(*item));
      if (item == NULL) {
        return tn_oom(r->err);
      }
      item->name = "element";
      item->type.is_nullable = true;
      *type = (tn_type){.root = TN_ARRAY, .is_nullable = true, .n_fields = 1, .fields = item};
      type = &item->type;
      node = node->kind == TN_PQ_NODE_LIST ? &node->children[0] : node;
    }
    type->is_nullable = true;
    if (has_fields(&fields[i])) {
      type->root = TN_ROW;
      TN_TRY(lay_out(r, node, fields[i].fields, fields[i].n_fields, &s->children, &type->fields,
                     &type->n_fields));
      s->n_children = type->n_fields;
    } else {
      set_scalar(&fields[i], node, type);
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ a batch */

static tarn_status fail_null(const record_reader *r, const slot *s, int64_t row) {
  return tn_fail(r->err, TARN_E_CORRUPT, "%s: record %lld: field %s is null", r->path,
                 (long long)(r->first_record + row), s->field->name);
}

static tarn_status fill(const record_reader *r, const slot *s, int64_t row, uint8_t *record);

static size_t item_bytes(const tn_record_field *field) {
  return field->kind == TN_RECORD_TEXTS   ? sizeof(tn_slice)
         : field->kind == TN_RECORD_LONGS ? sizeof(int64_t)
         : field->kind == TN_RECORD_INTS  ? sizeof(int32_t)
                                          : field->struct_bytes;
}

/* Items that are null: no number for LONGS, a fault for all others. */
static tarn_status make_items(record_reader *r, slot *s, const tn_vec *list) {
  const tn_vec *items = &list->children[0];
  size_t n = (size_t)items->length + 1;
  size_t width = item_bytes(s->field);
  s->items = tn_arena_calloc(&r->items, n, width);
  if (s->items == NULL) {
    return tn_oom(r->err);
  }
  for (int64_t i = 0; i < items->length; i++) {
    bool is_null = tn_vec_is_null(items, i);
    if (s->field->kind == TN_RECORD_LONGS) {
      ((int64_t *)s->items)[i] = is_null ? INT64_MIN : ((const int64_t *)items->values)[i];
      continue;
    }
    if (is_null) {
      return tn_fail(r->err, TARN_E_CORRUPT, "%s: records %lld and behind: an item of %s is null",
                     r->path, (long long)r->first_record, s->field->name);
    }
    if (s->field->kind == TN_RECORD_TEXTS) {
      ((tn_slice *)s->items)[i] = tn_vec_bytes(items, i);
    } else if (s->field->kind == TN_RECORD_INTS) {
      ((int32_t *)s->items)[i] = ((const int32_t *)items->values)[i];
    }
    for (int32_t k = 0; k < s->n_children; k++) {
      TN_TRY(fill(r, &s->children[k], i, (uint8_t *)s->items + (size_t)i * width));
    }
  }
  return TARN_OK;
}

static tarn_status prepare(record_reader *r, slot *s, const tn_vec *vec) {
  const tn_vec *group = is_array(s->field) ? &vec->children[0] : vec;
  s->vec = vec;
  for (int32_t i = 0; i < s->n_children; i++) {
    TN_TRY(prepare(r, &s->children[i], &group->children[i]));
  }
  return is_array(s->field) ? make_items(r, s, vec) : TARN_OK;
}

static tarn_status fill(const record_reader *r, const slot *s, int64_t row, uint8_t *record) {
  const tn_record_field *field = s->field;
  uint8_t *target = record + field->offset;
  bool has_flag = field->flag_offset != TN_RECORD_NO_FLAG;
  if (tn_vec_is_null(s->vec, row)) {
    return has_flag ? TARN_OK : fail_null(r, s, row);
  }
  if (has_flag) {
    record[field->flag_offset] = true;
  }
  switch (field->kind) {
    case TN_RECORD_INT:
      memcpy(target, (const int32_t *)s->vec->values + row, sizeof(int32_t));
      return TARN_OK;
    case TN_RECORD_LONG:
      memcpy(target, (const int64_t *)s->vec->values + row, sizeof(int64_t));
      return TARN_OK;
    case TN_RECORD_TEXT:
    case TN_RECORD_BYTES:
      *(tn_slice *)(void *)target = tn_vec_bytes(s->vec, row);
      return TARN_OK;
    case TN_RECORD_STRUCT:
      for (int32_t i = 0; i < s->n_children; i++) {
        TN_TRY(fill(r, &s->children[i], row, target));
      }
      return TARN_OK;
    default: {
      tn_record_array *array = (tn_record_array *)(void *)target;
      int32_t begin = s->vec->offsets[row];
      array->items = (uint8_t *)s->items + (size_t)begin * item_bytes(field);
      array->count = s->vec->offsets[row + 1] - begin;
      return TARN_OK;
    }
  }
}

static tarn_status hand_on(record_reader *r, slot *slots, const tn_batch *batch, void *record,
                           size_t record_bytes, tn_record_sink sink, void *ctx) {
  tn_arena_reset(&r->items);
  for (int32_t i = 0; i < batch->n_columns; i++) {
    TN_TRY(prepare(r, &slots[i], &batch->columns[i]));
  }
  for (int64_t row = 0; row < batch->n_rows; row++) {
    memset(record, 0, record_bytes);
    for (int32_t i = 0; i < batch->n_columns; i++) {
      TN_TRY(fill(r, &slots[i], row, record));
    }
    TN_TRY(sink(ctx, record, r->err));
  }
  r->first_record += batch->n_rows;
  return TARN_OK;
}

tarn_status tn_pq_read_records(tarn_env *env, tn_slice file, const char *path,
                               const tn_record_field *fields, int32_t n_fields, size_t record_bytes,
                               tn_record_sink sink, void *ctx, tarn_error *err) {
  tarn_status st = TARN_OK;
  bytes_file bytes = {.base = {&bytes_ops, env, path, (int64_t)file.len, 1}, .bytes = file};
  tn_read_request request = {.batch_rows = BATCH_ROWS};
  record_reader r = {.path = path, .err = err};
  tn_format_file *opened = NULL;
  tn_reader *reader = NULL;
  tn_batch batch;
  slot *slots;
  void *record;
  memset(&batch, 0, sizeof(batch));
  tn_arena_init(&r.arena, &env->mem, SIZE_MAX / 2);
  tn_arena_init(&r.items, &env->mem, env->mem.budget_bytes);
  TN_TRY_TO(done, tn_pq_file_open_once(env, &bytes.base, &opened, err));
  TN_TRY_TO(done, lay_out(&r, &tn_pq_file_of(opened)->meta->schema.root, fields, n_fields, &slots,
                          &request.fields, &request.n_fields));
  record = tn_arena_alloc(&r.arena, record_bytes);
  if (record == NULL) {
    st = tn_oom(err);
    goto done;
  }
  TN_TRY_TO(done, tn_batch_init(env, request.fields, request.n_fields, &batch, err));
  TN_TRY_TO(done, tn_pq_read(opened, &request, &reader, err));
  do {
    TN_TRY_TO(done, tn_reader_next(reader, BATCH_ROWS, &batch, err));
    TN_TRY_TO(done, hand_on(&r, slots, &batch, record, record_bytes, sink, ctx));
  } while (batch.n_rows > 0);
done:
  tn_reader_free(reader);
  tn_batch_reset(env, &batch);
  tn_format_file_release(opened);
  tn_arena_reset(&r.items);
  tn_arena_reset(&r.arena);
  return st;
}
