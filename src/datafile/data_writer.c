/* data_writer.c - one open file, those that are closed, and their metadata. */
#include "datafile/data_writer.h"

#include "base/bytes.h"
#include "base/checked.h"
#include "datafile/file_place.h"
#include "datafile/parts_writer.h"
#include "datafile/write_shape.h"
#include "model/partition.h"

#define CHECK_ROWS TN_ROLL_CHECK_ROWS
#define BLOB_EXTRA 16 /* bytes around a value in a file of BLOBs */

/* What is known of the open file. */
typedef struct open_file {
  tn_sink *sink;
  tn_format_writer *format;
  tn_file_place place;       /* in the writer's arena */
  tn_stats_collector *stats; /* NULL: the format gathers them */
  tn_index_writer *indexes;  /* NULL: none are wanted */
  int64_t n_rows, n_deletes;
  int64_t min_sequence, max_sequence;
  tn_buf min_key, max_key; /* of key-value rows: the first and the last so far */
} open_file;

struct tn_data_writer {
  tarn_env *env;
  tn_write_shape *shape;
  tn_data_writer_request request;
  tn_parts_writer *parts; /* of rows in several files, which does all; NULL: of one */
  const tn_file_profile *profile;
  tn_arena arena; /* the metadata of closed files, places */
  tn_file_placer placer;
  tn_data_file_names own_names;
  tn_vec *columns; /* of the file, borrowed from a batch while it is written */

  open_file file;
  int64_t n_rows; /* of all files: rolling counts them */
  tn_data_file *closed;
  size_t n_closed, closed_capacity;
  tn_slice last_key; /* the greatest of the closed files */
  bool has_failed, is_finished;
};

/* ------------------------------------------------------------------ opening and giving up */

static void forget_file(tn_data_writer *w) {
  open_file *f = &w->file;
  if (f->format != NULL) {
    f->format->calls->free(f->format);
    f->format = NULL;
  }
  tn_sink_abort(f->sink);
  f->sink = NULL;
  tn_stats_collector_free(f->stats);
  f->stats = NULL;
  tn_index_writer_free(f->indexes);
  f->indexes = NULL;
  tn_buf_reset(&f->min_key);
  tn_buf_reset(&f->max_key);
  f->n_rows = 0;
}

/* Remove all that was written: the status and the message stay those of the failure. */
static tarn_status give_up(tn_data_writer *w, tarn_status st) {
  forget_file(w);
  for (size_t i = 0; i < w->n_closed; i++) {
    tn_file_remove(w->shape->table, tn_slice_text(w->placer.folder), &w->closed[i]);
  }
  w->n_closed = 0;
  w->has_failed = true;
  return st;
}

static tarn_status check_state(const tn_data_writer *w, tarn_error *err) {
  if (w->has_failed || w->is_finished) {
    return tn_fail(err, TARN_E_STATE, "a writer of data files that %s is used again",
                   w->has_failed ? "has failed" : "was finished");
  }
  return TARN_OK;
}

tarn_status tn_data_writer_create(const tn_data_writer_request *request, tn_data_writer **out,
                                  tarn_error *err) {
  tn_write_shape *shape = request->shape;
  tarn_env *env = shape->table->env;
  tn_data_writer *w = tn_calloc(&env->mem, 1, sizeof(*w));
  tarn_status st;
  *out = NULL;
  if (w == NULL) {
    return tn_oom(err);
  }
  w->env = env;
  w->shape = shape;
  w->request = *request;
  if (shape->n_parts > 0) {
    tn_arena_init(&w->arena, &env->mem, SIZE_MAX);
    st = tn_parts_writer_create(request, &w->parts, err);
    if (st != TARN_OK) {
      tn_data_writer_free(w);
      return st;
    }
    *out = w;
    return TARN_OK;
  }
  w->profile = tn_write_shape_profile(shape, request->level, request->is_changelog);
  tn_arena_init(&w->arena, &env->mem, SIZE_MAX);
  w->columns = tn_arena_calloc(&w->arena, (size_t)shape->n_file, sizeof(*w->columns));
  if (w->columns == NULL) {
    st = tn_oom(err);
  } else {
    st = tn_file_placer_init(&w->placer, shape, &w->arena, request->partition, request->bucket,
                             request->names != NULL ? request->names : &w->own_names, err);
  }
  if (st != TARN_OK) {
    tn_data_writer_free(w);
    return st;
  }
  *out = w;
  return TARN_OK;
}

void tn_data_writer_free(tn_data_writer *writer) {
  if (writer != NULL) {
    tarn_env *env = writer->env;
    (void)give_up(writer, TARN_OK);
    tn_parts_writer_free(writer->parts);
    tn_arena_reset(&writer->arena);
    tn_free(&env->mem, writer);
  }
}

static tarn_status open_next(tn_data_writer *w, tarn_error *err) {
  const tn_write_shape *shape = w->shape;
  tn_write_request request = {.fields = shape->file_fields,
                              .n_fields = shape->n_file,
                              .same_as = shape->file_same,
                              .options = &w->profile->options};
  open_file *f = &w->file;
  *f = (open_file){.min_sequence = INT64_MAX, .max_sequence = INT64_MIN};
  tn_buf_init(&f->min_key, &w->env->mem, (size_t)INT32_MAX);
  tn_buf_init(&f->max_key, &w->env->mem, (size_t)INT32_MAX);
  TN_TRY(tn_file_placer_next(&w->placer,
                             w->request.is_changelog ? shape->changelog_prefix : shape->data_prefix,
                             w->profile->extension, &f->place, err));
  TN_TRY(tn_storage_create(shape->table->storage, f->place.path, &f->sink, err));
  TN_TRY(w->profile->format->create(w->env, f->sink, &request, &f->format, err));
  if (f->format->calls->stat == NULL) {
    TN_TRY(tn_stats_collector_create(w->env, shape->file_fields, shape->n_file, w->profile->modes,
                                     &f->stats, err));
  }
  if (shape->n_indexes > 0 && !w->request.is_changelog) {
    TN_TRY(tn_index_writer_create(w->env, shape->indexes, shape->n_indexes, &f->indexes, err));
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ keys and numbers */

/* The key of a row, its arity in front. */
static tarn_status put_key(const tn_data_writer *w, const tn_batch *batch, int64_t row, tn_buf *out,
                           tarn_error *err) {
  const tn_write_shape *shape = w->shape;
  tn_binary_row_writer key;
  uint8_t arity[4];
  out->len = 0;
  tn_store_be32(arity, (uint32_t)shape->n_keys);
  TN_TRY(tn_buf_append(out, arity, sizeof(arity), err));
  TN_TRY(tn_binary_row_begin(&key, out, shape->n_keys, err));
  for (int32_t i = 0; i < shape->n_keys; i++) {
    const tn_vec *vec = &batch->columns[shape->n_input_system + shape->key_values[i]];
    tn_datum value = tn_vec_datum(vec, row);
    TN_TRY(tn_binary_row_set(&key, i, &shape->key_fields[i].type, &value, err));
  }
  return TARN_OK;
}

/* Is a <= b, by the order of keys? */
static tarn_status check_order(const tn_data_writer *w, tn_slice a, tn_slice b, tarn_error *err) {
  tn_binary_row x, y;
  if (w->request.bucket == TN_POSTPONE_BUCKET) {
    return TARN_OK; /* rows lie there in the order in which they came */
  }
  TN_TRY(tn_binary_row_decode(a, "key", &x, err));
  TN_TRY(tn_binary_row_decode(b, "key", &y, err));
  for (int32_t i = 0; i < w->shape->n_keys; i++) {
    const tn_type *type = &w->shape->key_fields[i].type;
    bool no_x = tn_binary_row_is_null(&x, i), no_y = tn_binary_row_is_null(&y, i);
    tn_datum v, u;
    int order = no_y - no_x;
    if (!no_x && !no_y) {
      TN_TRY(tn_binary_row_get(&x, i, type, &v, err));
      TN_TRY(tn_binary_row_get(&y, i, type, &u, err));
      order = tn_datum_compare_key(type, &v, &u);
    }
    if (order != 0) {
      return order < 0 ? TARN_OK : TN_BUG(err, "rows that are not in the order of their keys");
    }
  }
  return TARN_OK;
}

static tarn_status note_keys(tn_data_writer *w, const tn_batch *batch, tarn_error *err) {
  open_file *f = &w->file;
  if (f->n_rows == 0) {
    TN_TRY(put_key(w, batch, 0, &f->min_key, err));
    if (w->last_key.len > 0) {
      TN_TRY(check_order(w, w->last_key, tn_buf_slice(&f->min_key), err));
    }
  }
  return put_key(w, batch, batch->n_rows - 1, &f->max_key, err);
}

static void note_sequence(open_file *f, int64_t number, int64_t kind) {
  f->min_sequence = number < f->min_sequence ? number : f->min_sequence;
  f->max_sequence = number > f->max_sequence ? number : f->max_sequence;
  f->n_deletes += kind & 1; /* -U is 1, -D is 3 */
}

static void note_sequences(open_file *f, const tn_vec *numbers, const tn_vec *kinds) {
  if (numbers->encoding == TN_VEC_FLAT && kinds->encoding == TN_VEC_FLAT) {
    const int64_t *number = numbers->values;
    const int8_t *kind = kinds->values;
    for (int64_t i = 0; i < numbers->length; i++) {
      note_sequence(f, number[i], kind[i]);
    }
    return;
  }
  for (int64_t i = 0; i < numbers->length; i++) {
    note_sequence(f, tn_vec_datum(numbers, i).v.i64, tn_vec_datum(kinds, i).v.i64);
  }
}

/* ------------------------------------------------------------------ metadata */

static tarn_status stats_of(tn_data_writer *w, tn_arena *arena, tn_column_stats **out,
                            tarn_error *err) {
  const tn_write_shape *shape = w->shape;
  const tn_format_writer *format = w->file.format;
  tn_column_stats *stats = tn_arena_calloc(arena, (size_t)shape->n_file, sizeof(*stats));
  if (stats == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < shape->n_file; i++) {
    const tn_type *type = &shape->file_fields[i].type;
    tn_stats_mode mode = w->profile->modes[i];
    tn_stat stat;
    if (w->file.stats != NULL) {
      tn_stats_collector_stat(w->file.stats, i, &stat);
    } else {
      format->calls->stat(format, i, &stat);
    }
    if (w->profile->is_columnar) {
      tn_layout layout = tn_type_layout(type);
      if (layout >= TN_LAYOUT_LIST) {
        mode = (tn_stats_mode){TN_STATS_NONE, 0}; /* columns of several leaves have no entry */
      }
      /* INT96 has no order. */
      stat.has_bounds = stat.has_bounds && !(layout == TN_LAYOUT_I128 && type->root != TN_DECIMAL);
    }
    TN_TRY(tn_stats_cut(arena, mode, type, &stat, &stats[i], err));
  }
  *out = stats;
  return TARN_OK;
}

static tarn_status put_stats(tn_data_writer *w, tn_data_file *meta, tarn_error *err) {
  const tn_write_shape *shape = w->shape;
  tn_column_stats *stats = NULL, *keys;
  tn_record_array none;
  bool has_none;
  TN_TRY(stats_of(w, &w->arena, &stats, err));
  TN_TRY(tn_stats_record(&w->arena, shape->file_fields + shape->first_value,
                         stats + shape->first_value, shape->n_told, shape->stats_are_dense,
                         &meta->value_stats, &meta->value_stats_cols, &meta->has_value_stats_cols,
                         err));
  keys = tn_arena_calloc(&w->arena, (size_t)shape->n_keys, sizeof(*keys));
  if (keys == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < shape->n_keys; i++) {
    keys[i] = stats[shape->is_thin ? shape->first_value + shape->key_values[i] : i];
  }
  return tn_stats_record(&w->arena, shape->key_fields, keys, shape->n_keys, false, &meta->key_stats,
                         &none, &has_none, err);
}

/* The writer's wall clock, as if it were UTC. */
static int64_t local_now_ms(const tarn_env *env) {
  int64_t now = tn_env_now_ms(env);
  return now + (int64_t)tn_zone_offset_at(env->zone, tn_floor_div(now, 1000)) * 1000;
}

static tarn_status put_keys(tn_data_writer *w, tn_data_file *meta, tarn_error *err) {
  open_file *f = &w->file;
  if (!w->shape->is_key_value) {
    meta->min_key = meta->max_key = tn_binary_row_empty();
    /* Files of a table with data evolution begin at 0: the commit numbers them (AppendOnlyWriter).
     */
    meta->max_sequence = w->shape->table->facts.data_evolution
                             ? f->n_rows - 1
                             : w->request.first_sequence + w->n_rows - 1;
    meta->min_sequence = meta->max_sequence - f->n_rows + 1;
    return TARN_OK;
  }
  meta->min_sequence = f->min_sequence;
  meta->max_sequence = f->max_sequence;
  TN_TRY(check_order(w, tn_buf_slice(&f->min_key), tn_buf_slice(&f->max_key), err));
  if (!tn_arena_slice(&w->arena, tn_buf_slice(&f->min_key), &meta->min_key) ||
      !tn_arena_slice(&w->arena, tn_buf_slice(&f->max_key), &meta->max_key)) {
    return tn_oom(err);
  }
  return TARN_OK;
}

static tarn_status describe_file(tn_data_writer *w, tn_data_file *meta, tarn_error *err) {
  const tn_write_shape *shape = w->shape;
  const open_file *f = &w->file;
  *meta = (tn_data_file){
      .file_name = tn_slice_text(f->place.name),
      .file_size = tn_sink_size(f->sink),
      .row_count = f->n_rows,
      .schema_id = shape->table->schema->id,
      .level = w->request.level,
      .creation_time_ms = local_now_ms(w->env),
      .delete_row_count = f->n_deletes,
      .source = w->request.is_compaction ? TN_SOURCE_COMPACT : TN_SOURCE_APPEND,
      .external_path = tn_slice_text(f->place.recorded),
      .has_external_path = f->place.recorded != NULL,
      .has_creation_time = true,
      .has_delete_row_count = true,
      .has_source = true,
  };
  if (shape->write_names != NULL) {
    meta->has_write_cols = true;
    meta->write_cols = (tn_record_array){shape->write_names, shape->n_told};
  }
  TN_TRY(put_keys(w, meta, err));
  return put_stats(w, meta, err);
}

/* ------------------------------------------------------------------ closing */

/* A file of its own beside the data file. */
static tarn_status write_index_file(tn_data_writer *w, tn_slice container, tn_data_file *meta,
                                    tarn_error *err) {
  const char *path = tn_arena_printf(&w->arena, "%s.index", w->file.place.path);
  const char *name = tn_arena_printf(&w->arena, "%s.index", w->file.place.name);
  tn_slice *extra = tn_arena_alloc(&w->arena, sizeof(*extra));
  tn_sink *sink = NULL;
  tarn_status st;
  if (path == NULL || name == NULL || extra == NULL) {
    return tn_oom(err);
  }
  *extra = tn_slice_text(name);
  TN_TRY(tn_storage_create(w->shape->table->storage, path, &sink, err));
  st = tn_sink_write(sink, container.data, container.len, err);
  if (st != TARN_OK) {
    tn_sink_abort(sink);
    return st;
  }
  TN_TRY(tn_sink_finish(sink, true, err));
  meta->extra_files = (tn_record_array){extra, 1};
  return TARN_OK;
}

static tarn_status put_index(tn_data_writer *w, tn_data_file *meta, tarn_error *err) {
  tarn_status st;
  tn_buf container;
  if (w->file.indexes == NULL) {
    return TARN_OK;
  }
  tn_buf_init(&container, &w->env->mem, (size_t)INT32_MAX);
  st = tn_index_writer_finish(w->file.indexes, &container, err);
  if (st == TARN_OK && (int64_t)container.len > w->shape->embedded_index_bytes) {
    st = write_index_file(w, tn_buf_slice(&container), meta, err);
  } else if (st == TARN_OK) {
    meta->has_embedded_index = true;
    if (!tn_arena_slice(&w->arena, tn_buf_slice(&container), &meta->embedded_index)) {
      st = tn_oom(err);
    }
  }
  tn_buf_reset(&container);
  return st;
}

static tarn_status close_file(tn_data_writer *w, tarn_error *err) {
  open_file *f = &w->file;
  tn_data_file meta = {0};
  tn_sink *sink = f->sink;
  tarn_status st;
  void *closed = w->closed;
  if (!tn_arena_grow(&w->arena, &closed, &w->closed_capacity, w->n_closed, sizeof(meta))) {
    return tn_oom(err);
  }
  w->closed = closed;
  TN_TRY(f->format->calls->finish(f->format, err));
  TN_TRY(describe_file(w, &meta, err));
  TN_TRY(put_index(w, &meta, err));
  f->sink = NULL;
  st = tn_sink_finish(sink, true, err);
  if (st != TARN_OK) { /* which removed the file, but not what lies beside it */
    tn_file_remove(w->shape->table, tn_slice_text(w->placer.folder), &meta);
    return st;
  }
  forget_file(w);
  w->closed[w->n_closed++] = meta;
  w->last_key = meta.max_key;
  return TARN_OK;
}

/* ------------------------------------------------------------------ rows */

/* Append a batch to the open file, whatever its size. */
static tarn_status append(tn_data_writer *w, const tn_batch *batch, tarn_error *err) {
  const tn_write_shape *shape = w->shape;
  open_file *f = &w->file;
  tn_batch file_batch = {.n_rows = batch->n_rows,
                         .n_columns = shape->n_file,
                         .fields = shape->file_fields,
                         .columns = w->columns,
                         .first_position = -1};
  if (f->format == NULL) {
    TN_TRY(open_next(w, err));
  }
  for (int32_t i = 0; i < shape->n_file; i++) {
    w->columns[i] = batch->columns[shape->file_inputs[i]];
  }
  TN_TRY(f->format->calls->write(f->format, &file_batch, err));
  if (f->stats != NULL) {
    TN_TRY(tn_stats_collector_add(f->stats, &file_batch, err));
  }
  if (f->indexes != NULL) {
    TN_TRY(tn_index_writer_add(f->indexes, w->columns + shape->first_value, batch->n_rows, err));
  }
  if (shape->is_key_value) {
    TN_TRY(note_keys(w, batch, err));
    note_sequences(f, &batch->columns[0], &batch->columns[1]);
  }
  f->n_rows += batch->n_rows;
  w->n_rows += batch->n_rows;
  return TARN_OK;
}

/* Bytes of the values of a vector, as they lie in memory: a file takes hardly more. Children of
 * nested types are bounded by TN_MAX_TYPE_DEPTH. */
static int64_t vec_bytes(const tn_vec *vec) {
  int64_t sum = vec->length;
  if (vec->encoding == TN_VEC_CONST) {
    return sum + (vec->length > 0 ? vec->length * vec_bytes(vec->constant) : 0);
  }
  if (vec->layout == TN_LAYOUT_BYTES) {
    if (vec->encoding == TN_VEC_FLAT) {
      return sum + 4 * vec->length + (vec->length > 0 ? vec->offsets[vec->length] : 0);
    }
    for (int64_t i = 0; i < vec->length; i++) {
      sum += 4 + (int64_t)tn_vec_bytes(vec, i).len;
    }
    return sum;
  }
  sum += (int64_t)tn_layout_width(vec->layout) * vec->length;
  for (int32_t i = 0; vec->encoding == TN_VEC_FLAT && i < vec->n_children; i++) {
    sum += vec_bytes(&vec->children[i]);
  }
  return sum;
}

static int64_t batch_bytes(const tn_batch *batch) {
  int64_t sum = 0;
  for (int32_t i = 0; i < batch->n_columns; i++) {
    sum += vec_bytes(&batch->columns[i]);
  }
  return sum;
}

static int64_t row_limit(const tn_data_writer *w) {
  bool counts_rows = !w->request.is_compaction && !w->request.is_changelog;
  return counts_rows ? w->shape->target_rows : INT64_MAX;
}

/* May the batch go whole into the open file? Then no file ends within it. */
static bool fits_whole(const tn_data_writer *w, const tn_batch *batch) {
  int64_t extra = w->shape->part == TN_PART_BLOB ? BLOB_EXTRA * batch->n_rows : 0;
  return !w->request.rolls ||
         (batch->n_rows < row_limit(w) - w->file.n_rows &&
          tn_data_writer_size(w) + batch_bytes(batch) + extra < w->shape->target_bytes);
}

/* The size is looked at after each thousandth row of all files; Avro's is that of whole blocks.
 * Rule: org.apache.paimon.io.RollingFileWriterImpl, format.FormatWriter#reachTargetSize; spec:
 * compaction, 12. */
static tarn_status roll(tn_data_writer *w, tarn_error *err) {
  int64_t size = w->profile->is_columnar ? tn_data_writer_size(w) : tn_sink_size(w->file.sink);
  bool is_full = w->file.n_rows >= row_limit(w) ||
                 ((w->n_rows % CHECK_ROWS == 0 || w->shape->part == TN_PART_BLOB) &&
                  size >= w->shape->target_bytes);
  return is_full ? close_file(w, err) : TARN_OK;
}

/* Rows of a batch up to the next one where a file may end. */
static int64_t step_rows(const tn_data_writer *w, int64_t n_left) {
  int64_t n = w->shape->part == TN_PART_BLOB ? 1 : CHECK_ROWS - w->n_rows % CHECK_ROWS,
          room = row_limit(w) - w->file.n_rows;
  n = n < n_left ? n : n_left;
  return n < room ? n : room;
}

static tarn_status append_part(tn_data_writer *w, const tn_batch *batch, int64_t begin, int64_t n,
                               tn_batch *part, tarn_error *err) {
  tn_batch_clear(w->env, part);
  for (int32_t i = 0; i < batch->n_columns; i++) {
    TN_TRY(tn_vec_copy_range(w->env, &batch->columns[i], begin, n, &part->columns[i], err));
  }
  part->n_rows = n;
  return append(w, part, err);
}

static tarn_status append_rolling(tn_data_writer *w, const tn_batch *batch, tarn_error *err) {
  tn_batch part;
  tarn_status st;
  TN_TRY(tn_batch_init(w->env, w->shape->input_fields, w->shape->n_input, &part, err));
  for (int64_t at = 0; at < batch->n_rows;) {
    int64_t n = step_rows(w, batch->n_rows - at);
    if (n == batch->n_rows) {
      TN_TRY_TO(done, append(w, batch, err));
    } else {
      TN_TRY_TO(done, append_part(w, batch, at, n, &part, err));
    }
    at += n;
    TN_TRY_TO(done, roll(w, err));
  }
  st = TARN_OK;
done:
  tn_batch_reset(w->env, &part);
  return st;
}

tarn_status tn_data_writer_write(tn_data_writer *writer, const tn_batch *batch, tarn_error *err) {
  tarn_status st;
  if (writer->parts != NULL) {
    return tn_parts_writer_write(writer->parts, batch, err);
  }
  TN_TRY(check_state(writer, err));
  if (batch->n_columns != writer->shape->n_input) {
    return TN_BUG(err, "a batch with other columns than the shape's");
  }
  if (batch->n_rows == 0) {
    return TARN_OK;
  }
  st = fits_whole(writer, batch) ? append(writer, batch, err) : append_rolling(writer, batch, err);
  return st == TARN_OK ? TARN_OK : give_up(writer, st);
}

int64_t tn_data_writer_size(const tn_data_writer *writer) {
  const tn_format_writer *format = writer->file.format;
  if (writer->parts != NULL) {
    return tn_parts_writer_size(writer->parts);
  }
  return format != NULL ? format->calls->size(format) : 0;
}

/* ------------------------------------------------------------------ the end */

static tarn_status hand_out(tn_data_writer *w, tn_arena *arena, tn_data_file **files,
                            tarn_error *err) {
  tn_data_file *out = tn_arena_calloc(arena, w->n_closed, sizeof(*out));
  if (out == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < w->n_closed; i++) {
    TN_TRY(tn_data_file_copy(arena, &w->closed[i], true, &out[i], err));
  }
  *files = out;
  return TARN_OK;
}

tarn_status tn_data_writer_finish(tn_data_writer *writer, tn_arena *arena, tn_data_file **files,
                                  int32_t *n_files, tarn_error *err) {
  tarn_status st = TARN_OK;
  *files = NULL;
  *n_files = 0;
  if (writer->parts != NULL) {
    return tn_parts_writer_finish(writer->parts, arena, files, n_files, err);
  }
  TN_TRY(check_state(writer, err));
  if (writer->file.format != NULL) {
    st = close_file(writer, err);
  }
  if (st == TARN_OK && writer->n_closed > 0) {
    st = tn_file_placer_sync(&writer->placer, err);
  }
  if (st == TARN_OK) {
    st = hand_out(writer, arena, files, err);
  }
  if (st != TARN_OK) {
    return give_up(writer, st);
  }
  *n_files = (int32_t)writer->n_closed;
  writer->n_closed = 0;
  writer->is_finished = true;
  return TARN_OK;
}

void tn_data_file_delete(tn_table *table, tn_slice partition, int32_t bucket,
                         const tn_data_file *file) {
  tn_buf folder;
  tn_buf_init(&folder, &table->env->mem, (size_t)1 << 20);
  if (tn_bucket_path(table, partition, bucket, &folder, NULL) == TARN_OK) {
    tn_file_remove(table, tn_buf_slice(&folder), file);
  }
  tn_buf_reset(&folder);
}
