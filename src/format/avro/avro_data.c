/* avro_data.c - data files: container files of rows as batches of columns.
 *
 * The writer's schema and the wanted columns become one flat program (avro_data_compile.c). Each
 * wanted column is a builder whose buffers become the batch's; what nobody wants is stepped over. A
 * second program steps over whole rows, for selections of rows; blocks without a wanted row are not
 * read at all.
 *
 * Rule: spec: datafiles, 5; org.apache.paimon.format.avro.FieldReaderFactory.
 */
#include "format/avro/avro_data.h"
#include "base/bytes.h"
#include "base/map.h"
#include "format/avro/avro.h"
#include "format/avro/avro_file.h"
#include "format/wanted_rows.h"
#include "io/prefetch.h"

#define BATCH_ROWS 8192
#define MIN_BATCH_ROWS 64
#define BATCH_FIXED_BYTES ((int64_t)16 << 20) /* of fixed-width values that a batch starts with */
#define BATCH_INPUT_BYTES ((int64_t)8 << 20)  /* encoded bytes after which a batch ends */

typedef struct reader {
  tn_reader base;
  tn_avro_file *file; /* retained */
  tn_read_request request;
  tn_arena arena;          /* columns and all that is made once */
  tn_avro_column *columns; /* a wanted field each */
  bool reads_nothing;      /* the file has none of them: rows are only counted */
  tn_avro_program program, skip_program;
  tn_avro_unpacker unpacker;
  tn_prefetch *prefetch;
  int32_t *prefetch_of_block; /* the range of prefetch a block lies in; -1: no wanted row */
  int64_t batch_rows;

  tn_wanted_rows rows;

  /* Where decoding is. */
  size_t block;
  bool has_block;
  tn_slice data;
  const uint8_t *at;
  int64_t row, block_end; /* positions of the row at `at` and behind the block's last */
  tn_avro_walk walk;

  tn_avro_build build; /* its st: a failure that is not the walk's */
} reader;

/* ------------------------------------------------------------------ running */

static const uint8_t *run_body(reader *r, const tn_avro_op *op, const uint8_t *p);

static const uint8_t *fault_in(reader *r, const tn_avro_op *op, const uint8_t *p, const char *why) {
  r->walk.field = ((const tn_avro_column *)op->extra)->name;
  return tn_avro_fault(&r->walk, p, why);
}

static const uint8_t *run_null(reader *r, const tn_avro_op *op, tn_avro_column *c,
                               const uint8_t *p) {
  if (c->is_required) {
    return fault_in(r, op, p, "a null key or entry of a map");
  }
  return tn_avro_column_null(&r->build, c) ? p : NULL;
}

/* A big-endian two's complement number of any length. */
static const uint8_t *run_decimal(reader *r, const tn_avro_op *op, tn_avro_column *c,
                                  const uint8_t *p, size_t n) {
  const uint8_t *at = p;
  uint8_t sign = n > 0 && p[0] >= 0x80 ? 0xff : 0;
  tn_u128 v = sign != 0 ? ~(tn_u128)0 : 0;
  tn_i128 value;
  if (n == 0) {
    return fault_in(r, op, p, "a decimal without bytes");
  }
  for (; n > 16; n--) {
    if (*at++ != sign) {
      return fault_in(r, op, p, "a decimal of more digits than its type has");
    }
  }
  for (; n > 0; n--) {
    v = v << 8 | *at++;
  }
  value = (tn_i128)v;
  if (value >= c->decimal_bound || value <= -c->decimal_bound) {
    return fault_in(r, op, p, "a decimal of more digits than its type has");
  }
  if (!tn_avro_column_room(&r->build, c)) {
    return NULL;
  }
  tn_store_i128(c->values->data + (size_t)c->length * sizeof(tn_i128), value);
  c->length++;
  return at;
}

static const uint8_t *run_integer(reader *r, const tn_avro_op *op, tn_avro_column *c,
                                  const uint8_t *p) {
  int64_t v, least, most;
  uint8_t *out;
  int shift = op->code == TN_AVRO_DATA_I8 ? 7 : op->code == TN_AVRO_DATA_I16 ? 15 : 31;
  p = tn_avro_long(&r->walk, p, &v);
  if (TN_UNLIKELY(p == NULL)) {
    return NULL;
  }
  most = ((int64_t)1 << shift) - 1;
  least = -most - 1;
  if (TN_UNLIKELY(v < least || v > most)) {
    return fault_in(r, op, p, "a number that its type cannot hold");
  }
  if (TN_UNLIKELY(!tn_avro_column_room(&r->build, c))) {
    return NULL;
  }
  out = c->values->data;
  switch (op->code) {
    case TN_AVRO_DATA_I8:
      ((int8_t *)(void *)out)[c->length++] = (int8_t)v;
      break;
    case TN_AVRO_DATA_I16:
      ((int16_t *)(void *)out)[c->length++] = (int16_t)v;
      break;
    default:
      ((int32_t *)(void *)out)[c->length++] = (int32_t)v;
      break;
  }
  return p;
}

/* Longs that are turned into the ticks of the column. */
static const uint8_t *run_ticks(reader *r, const tn_avro_op *op, tn_avro_column *c,
                                const uint8_t *p) {
  int64_t v, n = op->n;
  p = tn_avro_long(&r->walk, p, &v);
  if (p == NULL || !tn_avro_column_room(&r->build, c)) {
    return NULL;
  }
  switch (op->code) {
    case TN_AVRO_DATA_TICKS_WIDE:
      tn_store_i128(c->values->data + (size_t)c->length++ * sizeof(tn_i128), (tn_i128)v * n);
      return p;
    case TN_AVRO_DATA_TICKS_UP:
      if (__builtin_mul_overflow(v, n, &v)) {
        return fault_in(r, op, p, "a timestamp that its type cannot hold");
      }
      break;
    default:
      v = v / n - (v % n < 0);
      break;
  }
  if (op->code == TN_AVRO_DATA_TIME_MICROS) {
    if (v < 0 || v >= 86400000) {
      return fault_in(r, op, p, "a time that is none of a day");
    }
    ((int32_t *)(void *)c->values->data)[c->length++] = (int32_t)v;
  } else {
    ((int64_t *)(void *)c->values->data)[c->length++] = v;
  }
  return p;
}

/* All items of an array or map, each by the body; *total counts them. */
static const uint8_t *run_items(reader *r, const tn_avro_op *op, const uint8_t *p, int64_t *total) {
  tn_avro_column *c = (tn_avro_column *)op->extra;
  *total = 0;
  for (;;) {
    int64_t count, n_bytes;
    p = tn_avro_items(&r->walk, p, op->min_bytes, &count, &n_bytes);
    if (p == NULL || count == 0) {
      return p;
    }
    *total += count;
    for (; count > 0; count--) {
      p = run_body(r, &r->walk.ops[op->body], p);
      if (p == NULL) {
        return NULL;
      }
      if (op->code == TN_AVRO_DATA_MAP) { /* the body has filled key and value */
        if (!tn_avro_column_room(&r->build, &c->children[0])) {
          return NULL;
        }
        c->children[0].length++;
      }
    }
  }
}

static const uint8_t *run_nested(reader *r, const tn_avro_op *op, tn_avro_column *c,
                                 const uint8_t *p) {
  int64_t total;
  if (op->code == TN_AVRO_DATA_STRUCT) {
    p = run_body(r, &r->walk.ops[op->body], p);
    if (p == NULL || !tn_avro_column_room(&r->build, c)) {
      return NULL;
    }
    c->length++;
    return p;
  }
  p = run_items(r, op, p, &total);
  if (p == NULL || !tn_avro_column_room(&r->build, c)) {
    return NULL;
  }
  if (op->code == TN_AVRO_DATA_FIXED_LIST) {
    if (total != c->type->length) {
      return fault_in(r, op, p, "a vector of another length than its type has");
    }
    c->length++;
    return p;
  }
  tn_avro_column_offsets(c)[++c->length] =
      (int32_t)c->children[0].length; /* below 2^31: grow_rows */
  return p;
}

static const uint8_t *run_union(reader *r, const tn_avro_op *op, const uint8_t *p) {
  const uint8_t *start = p;
  int64_t branch;
  p = tn_avro_long(&r->walk, p, &branch);
  if (p == NULL) {
    return NULL;
  }
  if (branch < 0 || branch >= op->n) {
    return fault_in(r, op, start, "a union has no such branch");
  }
  return run_body(r, &r->walk.ops[op[1 + branch].body], p);
}

static const uint8_t *run_enum(reader *r, const tn_avro_op *op, tn_avro_column *c,
                               const uint8_t *p) {
  const tn_avro_node *node = op[1].extra;
  int64_t symbol;
  p = tn_avro_long(&r->walk, p, &symbol);
  if (p == NULL) {
    return NULL;
  }
  if (symbol < 0 || symbol >= node->n_names) {
    return fault_in(r, op, p, "an enum has no such symbol");
  }
  return tn_avro_column_bytes(&r->build, c, node->names[symbol], strlen(node->names[symbol]))
             ? p
             : NULL;
}

/* Values of a fixed width that lie in the file as they do in memory. */
static const uint8_t *run_plain(reader *r, const tn_avro_op *op, tn_avro_column *c,
                                const uint8_t *p) {
  size_t n = op->code == TN_AVRO_DATA_BOOL ? 1 : op->code == TN_AVRO_DATA_F64 ? 8 : 4;
  if (TN_UNLIKELY((size_t)(r->walk.end - p) < n)) {
    return fault_in(r, op, p, "runs past the end of the block");
  }
  if (TN_UNLIKELY(!tn_avro_column_room(&r->build, c))) {
    return NULL;
  }
  switch (op->code) {
    case TN_AVRO_DATA_BOOL:
      if (p[0] > 1) {
        return fault_in(r, op, p, "a boolean that is neither 0 nor 1");
      }
      tn_bit_put(c->values->data, c->length, p[0] != 0);
      break;
    case TN_AVRO_DATA_F32:
      memcpy(c->values->data + (size_t)c->length * 4, p, 4);
      break;
    case TN_AVRO_DATA_F64:
      memcpy(c->values->data + (size_t)c->length * 8, p, 8);
      break;
    default:
      ((double *)(void *)c->values->data)[c->length] = (double)tn_load_f32(p);
      break;
  }
  c->length++;
  return p + n;
}

/* The steps from `op` to the end of its body. */
static const uint8_t *run_body(reader *r, const tn_avro_op *op, const uint8_t *p) {
  tn_avro_walk *walk = &r->walk;
  size_t n = 0;
  for (;; op = op->next > 0 ? &walk->ops[op->next] : op + 1) {
    tn_avro_column *c = (tn_avro_column *)op->extra;
    if (op->is_nullable) {
      bool is_null = false;
      p = tn_avro_branch(walk, p, op->null_branch, &is_null);
      if (p != NULL && is_null) {
        p = run_null(r, op, c, p);
      }
      if (TN_UNLIKELY(p == NULL)) {
        return NULL;
      }
      if (is_null) {
        continue;
      }
    }
    switch (op->code) {
      case TN_AVRO_OP_END:
        return p;
      case TN_AVRO_DATA_BOOL:
      case TN_AVRO_DATA_F32:
      case TN_AVRO_DATA_F64:
      case TN_AVRO_DATA_F64_OF_F32:
        p = run_plain(r, op, c, p);
        break;
      case TN_AVRO_DATA_I8:
      case TN_AVRO_DATA_I16:
      case TN_AVRO_DATA_I32:
        p = run_integer(r, op, c, p);
        break;
      case TN_AVRO_DATA_I64:
        if (TN_UNLIKELY(!tn_avro_column_room(&r->build, c))) {
          return NULL;
        }
        p = tn_avro_long(walk, p, &((int64_t *)(void *)c->values->data)[c->length]);
        c->length++;
        break;
      case TN_AVRO_DATA_RUN:
      case TN_AVRO_DATA_DECIMAL:
        p = tn_avro_run(walk, p, &n);
        if (TN_LIKELY(p != NULL)) {
          p = op->code == TN_AVRO_DATA_DECIMAL           ? run_decimal(r, op, c, p, n)
              : tn_avro_column_bytes(&r->build, c, p, n) ? p + n
                                                         : NULL;
        }
        break;
      case TN_AVRO_DATA_FIXED:
      case TN_AVRO_DATA_DECIMAL_FIXED:
        if (op->n > walk->end - p) {
          return fault_in(r, op, p, "runs past the end of the block");
        }
        p = op->code == TN_AVRO_DATA_DECIMAL_FIXED         ? run_decimal(r, op, c, p, op->n)
            : tn_avro_column_bytes(&r->build, c, p, op->n) ? p + op->n
                                                           : NULL;
        break;
      case TN_AVRO_DATA_ENUM:
        p = run_enum(r, op, c, p);
        break;
      case TN_AVRO_DATA_TIME_MICROS:
      case TN_AVRO_DATA_TICKS_UP:
      case TN_AVRO_DATA_TICKS_DOWN:
      case TN_AVRO_DATA_TICKS_WIDE:
        p = run_ticks(r, op, c, p);
        break;
      case TN_AVRO_DATA_LIST:
      case TN_AVRO_DATA_FIXED_LIST:
      case TN_AVRO_DATA_MAP:
      case TN_AVRO_DATA_STRUCT:
        p = run_nested(r, op, c, p);
        break;
      case TN_AVRO_DATA_NULL:
        p = run_null(r, op, c, p);
        break;
      case TN_AVRO_DATA_UNION:
        p = run_union(r, op, p);
        break;
      case TN_AVRO_DATA_MISFIT:
        return fault_in(r, op, p, "is of a type that does not fit");
      default:
        p = tn_avro_skip_op(walk, op, p);
        break;
    }
    if (TN_UNLIKELY(p == NULL)) {
      return NULL;
    }
  }
}

/* ------------------------------------------------------------------ moving through the file */

static const char *path_of(const reader *r) {
  return r->file->base.file->path;
}

static tarn_status fail_at(reader *r) {
  if (r->build.st != TARN_OK) {
    return r->build.st;
  }
  return tn_avro_walk_fail(&r->walk, r->data, &r->file->blocks[r->block].block, path_of(r),
                           r->build.err);
}

static tarn_status open_block(reader *r, size_t block) {
  const tn_avro_file *f = r->file;
  const tn_avro_block_place *place = &f->blocks[block];
  const uint8_t *stored = NULL;
  r->block = block;
  r->has_block = false;
  if (place->block.n_bytes > 0) {
    TN_TRY(tn_prefetch_get(r->prefetch, r->prefetch_of_block[block], place->block.data_offset,
                           (size_t)place->block.n_bytes, &stored, r->build.err));
  }
  TN_TRY(tn_avro_unpack(&r->unpacker, &f->header, &place->block,
                        tn_slice_of(stored, (size_t)place->block.n_bytes), path_of(r), &r->data,
                        r->build.err));
  tn_avro_walk_begin(&r->walk, &r->program, r->data);
  r->at = r->data.data;
  r->row = place->first_row;
  r->block_end = place->first_row + place->block.n_records;
  r->has_block = true;
  if (f->header.record->min_bytes == 0 && f->header.record_branch < 0 &&
      place->block.n_records > TN_AVRO_MAX_EMPTY_ITEMS) {
    tn_avro_fault(&r->walk, r->at, "too many rows without bytes");
    return fail_at(r);
  }
  return TARN_OK;
}

/* After the last row of a block nothing may be left of it. */
static tarn_status check_block_end(reader *r) {
  if (r->row == r->block_end && r->at != r->walk.end) {
    tn_avro_fault(&r->walk, r->at, "bytes are left behind the last row");
    return fail_at(r);
  }
  return TARN_OK;
}

/* One row by a program: that of the columns, or the one that steps over it. */
static tarn_status run_row(reader *r, const tn_avro_program *program) {
  const uint8_t *p = r->at;
  int32_t expected = r->file->header.record_branch;
  if (expected >= 0) {
    int64_t branch;
    p = tn_avro_long(&r->walk, p, &branch);
    if (p != NULL && branch != expected) {
      p = tn_avro_fault(&r->walk, p, "a row that is null");
    }
  }
  if (p != NULL) {
    r->walk.ops = program->ops;
    p = program == &r->program ? run_body(r, program->ops, p) : tn_avro_skip_body(&r->walk, 0, p);
  }
  if (TN_UNLIKELY(p == NULL)) {
    return fail_at(r);
  }
  r->build.weight += p - r->at;
  r->at = p;
  r->row++;
  return check_block_end(r);
}

/* Be at row `target`, which lies in a wanted block. */
static tarn_status seek(reader *r, int64_t target) {
  if (!r->has_block || target >= r->block_end || target < r->row) {
    size_t low = 0, high = r->file->n_blocks; /* the last block that begins at or before target */
    while (high - low > 1) {
      size_t middle = low + (high - low) / 2;
      if (r->file->blocks[middle].first_row <= target) {
        low = middle;
      } else {
        high = middle;
      }
    }
    TN_TRY(open_block(r, low));
  }
  while (r->row < target) {
    TN_TRY(run_row(r, &r->skip_program));
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ batches */

static tarn_status decode_rows(reader *r, int64_t n, int64_t *n_done) {
  for (int32_t i = 0; i < r->request.n_fields; i++) {
    if (!r->columns[i].is_missing) {
      TN_TRY(tn_avro_column_start(&r->build, &r->columns[i], n));
    }
  }
  r->build.weight = 0;
  TN_TRY(seek(r, r->rows.position));
  for (*n_done = 0; *n_done < n && r->build.weight < BATCH_INPUT_BYTES; ++*n_done) {
    if (r->row == r->block_end) {
      TN_TRY(open_block(r, r->block + 1));
    }
    TN_TRY(run_row(r, &r->program));
  }
  return TARN_OK;
}

static tarn_status next_batch(tn_reader *base, int64_t max_rows, tn_batch *out, tarn_error *err) {
  reader *r = (reader *)base;
  int64_t n, n_done = 0;
  tarn_status st = TARN_OK;
  tn_batch_clear(r->base.env, out);
  out->n_rows = 0;
  TN_TRY(tn_cancel_check(r->request.cancel, err));
  n = tn_wanted_rows_find(&r->rows);
  if (n == 0) {
    return TARN_OK;
  }
  r->build.err = err;
  r->build.st = TARN_OK;
  n = n < max_rows ? n : max_rows;
  n = n < r->batch_rows ? n : r->batch_rows;
  if (r->reads_nothing) {
    n_done = n;
  } else {
    TN_TRY_TO(failed, decode_rows(r, n, &n_done));
  }
  for (int32_t i = 0; i < r->request.n_fields; i++) {
    TN_TRY_TO(failed, tn_avro_column_finish(&r->build, &r->columns[i], n_done,
                                            r->request.allows_encoded, &out->columns[i]));
  }
  out->n_rows = n_done;
  out->first_position = r->rows.position;
  r->rows.position += n_done;
  return TARN_OK;
failed:
  tn_avro_column_drop(r->columns, r->request.n_fields);
  tn_batch_clear(r->base.env, out);
  r->has_block = false; /* the walk may have stopped within a row */
  return st;
}

static tarn_status skip_rows(tn_reader *base, int64_t n_rows, tarn_error *err) {
  reader *r = (reader *)base;
  (void)err; /* the rows are stepped over when the next batch is asked for */
  tn_wanted_rows_skip(&r->rows, n_rows);
  return TARN_OK;
}

/* ------------------------------------------------------------------ making a reader */

static void free_reader(tn_reader *base) {
  reader *r = (reader *)base;
  tarn_env *env = r->base.env;
  if (r->columns != NULL) {
    tn_avro_column_drop(r->columns, r->request.n_fields);
  }
  tn_prefetch_free(r->prefetch);
  tn_avro_unpacker_reset(&r->unpacker);
  tn_avro_program_reset(&r->program);
  tn_avro_program_reset(&r->skip_program);
  tn_arena_reset(&r->arena);
  tn_format_file_release(&r->file->base);
  tn_free(&env->mem, r);
}

static tarn_status make_columns(reader *r, tarn_error *err) {
  r->columns = tn_arena_calloc(&r->arena, (size_t)r->request.n_fields + 1, sizeof(tn_avro_column));
  if (r->columns == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < r->request.n_fields; i++) {
    const tn_field *field = &r->request.fields[i];
    tn_vec model;
    tarn_status st;
    TN_TRY(tn_vec_init(r->base.env, &field->type, &model, err));
    st = tn_avro_column_init(&r->arena, &model, field->name, &r->columns[i], err);
    tn_vec_reset(r->base.env, &model);
    TN_TRY(st);
  }
  return TARN_OK;
}

/* The wanted columns by name. */
static tarn_status index_columns(reader *r, tn_map *by_name, tarn_error *err) {
  for (int32_t i = 0; i < r->request.n_fields; i++) {
    tn_map_entry *entry;
    bool is_new;
    TN_TRY(tn_map_put(by_name, tn_slice_text(r->request.fields[i].name), &entry, &is_new, err));
    if (!is_new) {
      return tn_fail(err, TARN_E_INVALID, "%s: column %s is asked for twice", path_of(r),
                     r->request.fields[i].name);
    }
    entry->value.ptr = &r->columns[i];
  }
  return TARN_OK;
}

static tarn_status compile_columns(reader *r, const tn_map *by_name, tarn_error *err) {
  const tn_avro_node *record = r->file->header.record;
  for (int32_t i = 0; i < record->n_children; i++) {
    tn_map_entry *entry = tn_map_find(by_name, tn_slice_text(record->names[i]));
    tn_avro_column *col = entry != NULL ? entry->value.ptr : NULL;
    if (col != NULL && col->is_missing) {
      TN_TRY(tn_avro_data_emit(&r->program, record->children[i], col, path_of(r), err));
      r->reads_nothing = false;
    } else {
      TN_TRY(tn_avro_emit_skip(&r->program, record->children[i], 0, err));
    }
  }
  return TARN_OK;
}

static tarn_status compile(reader *r, tarn_error *err) {
  tarn_status st = TARN_OK;
  int32_t end;
  tn_map by_name;
  r->reads_nothing = true;
  tn_map_init(&by_name, &r->base.env->mem);
  TN_TRY_TO(done, index_columns(r, &by_name, err));
  TN_TRY_TO(done, compile_columns(r, &by_name, err));
  TN_TRY_TO(done, tn_avro_emit(&r->program, TN_AVRO_OP_END, &end, err));
  TN_TRY_TO(done, tn_avro_emit_skip(&r->skip_program, r->file->header.record, 0, err));
  TN_TRY_TO(done, tn_avro_emit(&r->skip_program, TN_AVRO_OP_END, &end, err));
done:
  tn_map_reset(&by_name);
  return st;
}

static void choose_batch_rows(reader *r) {
  int64_t width = tn_avro_column_width(r->columns, r->request.n_fields, BATCH_FIXED_BYTES);
  r->batch_rows = r->request.batch_rows > 0 ? r->request.batch_rows : BATCH_ROWS;
  if (width > 0 && BATCH_FIXED_BYTES / width < r->batch_rows) {
    r->batch_rows = BATCH_FIXED_BYTES / width;
    r->batch_rows = r->batch_rows < MIN_BATCH_ROWS ? MIN_BATCH_ROWS : r->batch_rows;
  }
}

/* One byte range for each run of blocks with wanted rows. */
static tarn_status plan_reads(reader *r, tarn_error *err) {
  const tn_avro_file *f = r->file;
  tn_byte_range *runs = tn_arena_calloc(&r->arena, f->n_blocks + 1, sizeof(*runs));
  const tn_range all = {0, f->base.n_rows};
  const tn_range *ranges = r->rows.ranges != NULL ? r->rows.ranges->items : &all;
  size_t n_ranges = r->rows.ranges != NULL ? r->rows.ranges->count : 1, range = 0;
  int32_t n_runs = 0;
  r->prefetch_of_block = tn_arena_calloc(&r->arena, f->n_blocks + 1, sizeof(int32_t));
  if (runs == NULL || r->prefetch_of_block == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < f->n_blocks; i++) {
    const tn_avro_block *block = &f->blocks[i].block;
    int64_t first = f->blocks[i].first_row;
    while (range < n_ranges && ranges[range].end <= first) {
      range++;
    }
    r->prefetch_of_block[i] = -1;
    if (range == n_ranges || ranges[range].begin >= first + block->n_records) {
      continue;
    }
    if (i == 0 || r->prefetch_of_block[i - 1] < 0) {
      runs[n_runs++].offset = block->data_offset;
    }
    r->prefetch_of_block[i] = n_runs - 1;
    runs[n_runs - 1].length = block->data_offset + block->n_bytes - runs[n_runs - 1].offset;
  }
  return n_runs > 0 ? tn_prefetch_create(f->base.file, runs, n_runs, &r->prefetch, err) : TARN_OK;
}

tarn_status tn_avro_file_read(tn_format_file *file, const tn_read_request *request, tn_reader **out,
                              tarn_error *err) {
  static const tn_reader_ops reader_ops = {next_batch, skip_rows, free_reader};
  tarn_status st = TARN_OK;
  reader *r = tn_calloc(&file->env->mem, 1, sizeof(*r));
  *out = NULL;
  if (r == NULL) {
    return tn_oom(err);
  }
  r->base.ops = &reader_ops;
  r->base.env = file->env;
  r->build.env = file->env;
  r->file = (tn_avro_file *)tn_format_file_retain(file);
  r->request = *request;
  tn_arena_init(&r->arena, &file->env->mem, SIZE_MAX);
  tn_avro_program_init(&r->program, &file->env->mem);
  tn_avro_program_init(&r->skip_program, &file->env->mem);
  tn_avro_unpacker_init(&r->unpacker, file->env);
  r->rows = (tn_wanted_rows){.ranges = request->rows, .n_rows = file->n_rows};
  TN_TRY_TO(failed, make_columns(r, err));
  TN_TRY_TO(failed, compile(r, err));
  choose_batch_rows(r);
  if (!r->reads_nothing) {
    TN_TRY_TO(failed, plan_reads(r, err));
  }
  *out = &r->base;
  return TARN_OK;
failed:
  free_reader(&r->base);
  return st;
}
