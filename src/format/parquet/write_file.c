/* write_file.c - batches to row groups, row groups to the sink, and the end of the file.
 *
 * A row group is the pages of all leaves until they, the open pages and the dictionaries take
 * block_bytes in memory, which is Java's measure too (ColumnWriteStore.getBufferedSize). It is
 * looked at after every slice of rows, a slice being a sixteenth of that at most. When the budget
 * of the environment runs short, a row group ends early.
 *
 * Working memory is taken for each call and given back to the environment's store, so that a writer
 * that waits for rows holds none.
 */
#include "base/ascii.h"
#include "base/bytes.h"
#include "column/datum.h"
#include "format/parquet/write.h"
#include "format/parquet/write_footer.h"

#define MAGIC "PAR1"

#define GROUP_BYTES ((int64_t)128 << 20)
#define PAGE_BYTES ((int64_t)1 << 20)
#define PAGE_ROWS 20000
#define DICTIONARY_BYTES ((int64_t)1 << 20)
/* What may be asked for; pages are told in 32 bits. */
#define MAX_PAGE_BYTES ((int64_t)1 << 30)
#define MAX_DICTIONARY_BYTES ((int64_t)256 << 20)
#define MAX_PAGE_ROWS ((int64_t)1 << 24)

#define MAX_SLICE_ROWS 16384
#define MIN_SLICE_BYTES ((int64_t)1 << 10)
#define MAX_SLICE_BYTES ((int64_t)4 << 20)
#define NESTED_SLICE_ENTRIES 16384
#define WORTH_A_GROUP ((int64_t)1 << 20) /* less than that does not help a short budget */

typedef struct parquet_writer {
  tn_format_writer base;
  tn_sink *sink; /* borrowed */
  const tn_field *fields;
  const tn_write_metadata *metadata;
  int32_t n_metadata;
  bool is_closed; /* finished, or failed: nothing more is written */
  tn_pq_write_settings settings;
  tn_pq_write_schema schema;
  tn_pq_leaf_writer *leaves;
  int32_t *twin_of; /* of each leaf: an earlier one with the same values, which does all; -1 */
  tn_pq_footer_writer footer;
  int64_t group_rows;
} parquet_writer;

/* ------------------------------------------------------------------ options */

typedef struct codec_name {
  const char *name;
  tn_codec_id codec;
  int32_t number; /* of the format */
} codec_name;

/* As org.apache.parquet.hadoop.metadata.CompressionCodecName; "lz4" is Hadoop's framing. */
static const codec_name codec_names[] = {
    {"zstd", TN_CODEC_ZSTD, 6},      {"snappy", TN_CODEC_SNAPPY, 1},
    {"lz4", TN_CODEC_LZ4_HADOOP, 5}, {"lz4_raw", TN_CODEC_LZ4_RAW, 7},
    {"gzip", TN_CODEC_GZIP, 2},      {"brotli", TN_CODEC_BROTLI, 4},
    {"none", TN_CODEC_NONE, 0},      {"uncompressed", TN_CODEC_NONE, 0},
};

static tarn_status find_codec(const char *name, const codec_name **out, tarn_error *err) {
  for (size_t i = 0; i < TN_COUNT(codec_names); i++) {
    if (tn_slice_is_nocase(tn_slice_text(name), codec_names[i].name)) {
      *out = &codec_names[i];
      return TARN_OK;
    }
  }
  return tn_fail(err, TARN_E_UNSUPPORTED, "compression \"%s\" of Parquet files is not supported",
                 name);
}

static int64_t option(int64_t given, int64_t usual, int64_t most) {
  return given <= 0 ? usual : given < most ? given : most;
}

static tarn_status read_options(tarn_env *env, const tn_write_options *o, tn_pq_write_settings *out,
                                tarn_error *err) {
  static const tn_write_options usual;
  const codec_name *codec = NULL;
  o = o != NULL ? o : &usual;
  TN_TRY(find_codec(o->compression != NULL ? o->compression : "zstd", &codec, err));
  out->env = env;
  out->codec = codec->codec;
  out->codec_number = codec->number;
  out->level = codec->codec == TN_CODEC_ZSTD ? o->zstd_level : 0;
  out->group_bytes = option(o->block_bytes, GROUP_BYTES, INT64_MAX / 4);
  out->page_bytes = option(o->page_bytes, PAGE_BYTES, MAX_PAGE_BYTES);
  out->page_rows = option(o->page_rows, PAGE_ROWS, MAX_PAGE_ROWS);
  out->dictionary_bytes = option(o->dictionary_bytes, DICTIONARY_BYTES, MAX_DICTIONARY_BYTES);
  out->has_dictionaries = !o->no_dictionary;
  return TARN_OK;
}

/* ------------------------------------------------------------------ row groups */

/* The leaf that holds the values of leaf i. */
static tn_pq_leaf_writer *value_leaf(const parquet_writer *w, int32_t i) {
  return &w->leaves[w->twin_of[i] >= 0 ? w->twin_of[i] : i];
}

static int64_t held_bytes(const parquet_writer *w) {
  int64_t sum = 0;
  for (int32_t i = 0; i < w->schema.n_leaves; i++) {
    sum += tn_pq_leaf_writer_held_bytes(value_leaf(w, i));
  }
  return sum;
}

static tarn_status write_pieces(parquet_writer *w, const tn_pq_pieces *pieces, tarn_error *err) {
  for (size_t i = 0; i < pieces->count; i++) {
    TN_TRY(tn_sink_write(w->sink, pieces->items[i].buffer->data, pieces->items[i].len, err));
  }
  return TARN_OK;
}

/* Leaf i: a twin has the pages of the other one under its own name. */
static tarn_status write_chunk(parquet_writer *w, tn_pq_scratch *scratch, int32_t i,
                               tn_pq_group_note *group, tarn_error *err) {
  int64_t offset = tn_sink_size(w->sink), dictionary_bytes, plain_bytes;
  tn_pq_leaf_writer *leaf = value_leaf(w, i), named;
  if (w->twin_of[i] < 0) {
    TN_TRY(tn_pq_leaf_writer_close_page(leaf, scratch, err));
  }
  plain_bytes = leaf->plain_bytes;
  TN_TRY(tn_pq_leaf_writer_dictionary_page(leaf, scratch, err));
  if (w->twin_of[i] >= 0) {
    leaf->plain_bytes = plain_bytes; /* which has this page already */
  }
  dictionary_bytes = (int64_t)scratch->body.len;
  TN_TRY(tn_sink_write(w->sink, scratch->body.data, scratch->body.len, err));
  TN_TRY(write_pieces(w, &leaf->pages, err));
  named = *leaf;
  named.node = w->leaves[i].node;
  TN_TRY(tn_pq_footer_add_chunk(&w->footer, &named, offset, dictionary_bytes, err));
  group->packed_bytes += dictionary_bytes + (int64_t)leaf->pages.len;
  group->plain_bytes += leaf->plain_bytes;
  return TARN_OK;
}

static tarn_status end_group(parquet_writer *w, tn_pq_scratch *scratch, tarn_error *err) {
  tn_pq_group_note group = {.n_rows = w->group_rows, .offset = tn_sink_size(w->sink)};
  if (w->group_rows == 0) {
    return TARN_OK;
  }
  for (int32_t i = 0; i < w->schema.n_leaves; i++) {
    TN_TRY(write_chunk(w, scratch, i, &group, err));
  }
  for (int32_t i = 0; i < w->schema.n_leaves; i++) {
    if (w->twin_of[i] < 0) {
      TN_TRY(tn_pq_leaf_writer_next_chunk(&w->leaves[i], err));
    }
  }
  w->group_rows = 0;
  return tn_pq_footer_add_group(&w->footer, &group, err);
}

/* Could the budget not give what the next slice may need? */
static bool is_memory_short(const parquet_writer *w) {
  tarn_env *env = w->base.env;
  size_t wanted = (size_t)(2 * MAX_SLICE_BYTES);
  if (tn_env_reserve(env, wanted, "a row group", NULL) != TARN_OK) {
    return true;
  }
  tn_unreserve(&env->mem, wanted);
  return false;
}

/* ------------------------------------------------------------------ columns */

typedef struct entry_sink {
  parquet_writer *writer;
  tn_pq_scratch *scratch;
  int64_t n_rows;
} entry_sink;

static tarn_status put_entries(void *ctx, const tn_pq_write_node *leaf, const tn_vec *vec,
                               const tn_pq_entries *entries, tarn_error *err) {
  entry_sink *sink = ctx;
  return tn_pq_leaf_writer_put_entries(&sink->writer->leaves[leaf->leaf], sink->scratch, vec,
                                       entries, sink->n_rows, err);
}

/* Leaves below a node are numbered one after the other. */
static int32_t first_leaf(const tn_pq_write_node *node) {
  while (node->shape != TN_PQ_SHAPE_LEAF) {
    node = &node->children[0];
  }
  return node->leaf;
}

static int32_t end_leaf(const tn_pq_write_node *node) {
  while (node->shape != TN_PQ_SHAPE_LEAF) {
    node = &node->children[node->n_children - 1];
  }
  return node->leaf + 1;
}

/* How many rows to take at once, so that no page gets more rows than it may have. */
static int64_t nested_rows(const parquet_writer *w, const tn_pq_write_node *column,
                           const tn_vec *vec, int64_t begin, int64_t n) {
  for (int32_t i = first_leaf(column); i < end_leaf(column); i++) {
    int64_t room = w->settings.page_rows - w->leaves[i].n_rows;
    n = n < room ? n : room;
  }
  while (n > 1 && (tn_pq_levels_entries(vec, begin, n) > NESTED_SLICE_ENTRIES ||
                   tn_pq_levels_bytes(vec, begin, n) > w->settings.page_bytes / 4)) {
    n = (n + 1) / 2;
  }
  return n;
}

static tarn_status put_nested(parquet_writer *w, tn_pq_scratch *scratch,
                              const tn_pq_write_node *column, const tn_vec *vec, int64_t begin,
                              int64_t n, tarn_error *err) {
  while (n > 0) {
    entry_sink sink = {w, scratch, nested_rows(w, column, vec, begin, n)};
    tn_pq_leaf_sink each = {put_entries, &sink};
    TN_TRY(tn_pq_levels_walk(w->base.env, column, vec, begin, sink.n_rows, &each, err));
    for (int32_t i = first_leaf(column); i < end_leaf(column); i++) {
      TN_TRY(tn_pq_leaf_writer_close_full(&w->leaves[i], scratch, err));
    }
    begin += sink.n_rows;
    n -= sink.n_rows;
  }
  return TARN_OK;
}

static tarn_status put_column(parquet_writer *w, tn_pq_scratch *scratch,
                              const tn_pq_write_node *column, const tn_vec *vec, int64_t begin,
                              int64_t n, tarn_error *err) {
  tn_vec flat;
  tarn_status st;
  if (column->shape == TN_PQ_SHAPE_LEAF) {
    return tn_pq_leaf_writer_put(&w->leaves[column->leaf], scratch, vec, begin, n, err);
  }
  if (vec->encoding == TN_VEC_FLAT) {
    return put_nested(w, scratch, column, vec, begin, n, err);
  }
  memset(&flat, 0, sizeof(flat));
  TN_TRY(tn_vec_copy_range(w->base.env, vec, begin, n, &flat, err));
  st = put_nested(w, scratch, column, &flat, 0, n, err);
  tn_vec_reset(w->base.env, &flat);
  return st;
}

/* ------------------------------------------------------------------ batches */

static tarn_status check_batch(const parquet_writer *w, const tn_batch *batch, tarn_error *err) {
  if (batch->n_columns != w->schema.n_columns) {
    return tn_fail(err, TARN_E_INVALID, "a batch of %d columns for a file of %d",
                   (int)batch->n_columns, (int)w->schema.n_columns);
  }
  for (int32_t i = 0; i < batch->n_columns; i++) {
    const tn_vec *vec = &batch->columns[i];
    const tn_type *type = &w->fields[i].type;
    if (vec->length != batch->n_rows || vec->layout != tn_type_layout(type) ||
        (vec->type != type && !tn_type_equal(vec->type, type, false))) {
      return tn_fail(err, TARN_E_INVALID, "column `%s`: a vector of %lld rows of %s for %lld of %s",
                     w->fields[i].name, (long long)vec->length, tn_type_text_of(vec->type).text,
                     (long long)batch->n_rows, tn_type_text_of(type).text);
    }
  }
  return TARN_OK;
}

/* How many rows to take before the row group's size is looked at again. */
static int64_t slice_rows(const parquet_writer *w, const tn_batch *batch, int64_t begin) {
  int64_t n = batch->n_rows - begin, most = w->settings.group_bytes / 16;
  most = most < MIN_SLICE_BYTES ? MIN_SLICE_BYTES : most < MAX_SLICE_BYTES ? most : MAX_SLICE_BYTES;
  n = n < MAX_SLICE_ROWS ? n : MAX_SLICE_ROWS;
  for (;;) {
    int64_t bytes = 0;
    for (int32_t i = 0; i < batch->n_columns; i++) {
      bytes += tn_pq_levels_bytes(&batch->columns[i], begin, n);
    }
    if (n == 1 || bytes <= most) {
      return n;
    }
    n = (n + 1) / 2;
  }
}

static bool is_twin(const parquet_writer *w, const tn_pq_write_node *column) {
  return column->shape == TN_PQ_SHAPE_LEAF && w->twin_of[column->leaf] >= 0;
}

static tarn_status put_batch(parquet_writer *w, tn_pq_scratch *scratch, const tn_batch *batch,
                             tarn_error *err) {
  for (int64_t begin = 0; begin < batch->n_rows;) {
    int64_t n = slice_rows(w, batch, begin), held;
    for (int32_t i = 0; i < batch->n_columns; i++) {
      if (!is_twin(w, &w->schema.columns[i])) {
        TN_TRY(put_column(w, scratch, &w->schema.columns[i], &batch->columns[i], begin, n, err));
      }
    }
    w->group_rows += n;
    begin += n;
    held = held_bytes(w);
    if (held >= w->settings.group_bytes || (held >= WORTH_A_GROUP && is_memory_short(w))) {
      TN_TRY(end_group(w, scratch, err));
    }
  }
  return TARN_OK;
}

static tarn_status check_open(const parquet_writer *w, tarn_error *err) {
  return w->is_closed
             ? tn_fail(err, TARN_E_STATE, "the writer of a Parquet file is finished or has failed")
             : TARN_OK;
}

static tarn_status writer_write(tn_format_writer *writer, const tn_batch *batch, tarn_error *err) {
  parquet_writer *w = TN_CONTAINER_OF(writer, parquet_writer, base);
  tn_pq_scratch scratch;
  tarn_status st;
  TN_TRY(check_open(w, err));
  TN_TRY(check_batch(w, batch, err));
  tn_pq_scratch_init(&scratch, writer->env);
  st = put_batch(w, &scratch, batch, err);
  w->is_closed = st != TARN_OK;
  tn_pq_scratch_reset(&scratch);
  return st;
}

static int64_t writer_size(const tn_format_writer *writer) {
  const parquet_writer *w = TN_CONTAINER_OF(writer, parquet_writer, base);
  int64_t sum = tn_sink_size(w->sink) + (w->is_closed ? 0 : tn_pq_footer_bytes(&w->footer));
  for (int32_t i = 0; !w->is_closed && i < w->schema.n_leaves; i++) {
    sum += tn_pq_leaf_writer_file_bytes(value_leaf(w, i));
  }
  return sum;
}

static tarn_status writer_finish(tn_format_writer *writer, tarn_error *err) {
  parquet_writer *w = TN_CONTAINER_OF(writer, parquet_writer, base);
  tn_pq_scratch scratch;
  tarn_status st = TARN_OK;
  TN_TRY(check_open(w, err));
  w->is_closed = true;
  tn_pq_scratch_init(&scratch, writer->env);
  TN_TRY_TO(done, end_group(w, &scratch, err));
  TN_TRY_TO(done, tn_pq_footer_encode(&w->footer, tn_sink_size(w->sink), w->metadata, w->n_metadata,
                                      &scratch.body, err));
  TN_TRY_TO(done, tn_sink_write(w->sink, scratch.body.data, scratch.body.len, err));
done:
  tn_pq_scratch_reset(&scratch);
  return st;
}

/* ------------------------------------------------------------------ statistics */

static double float_of_key(tn_pq_bound_kind kind, int64_t key) {
  uint8_t plain[8];
  /* Bounds of a file as such: this zero, not both. */
  if (key == 0 || key == -1) {
    return key == 0 ? 0.0 : -0.0;
  }
  tn_pq_bound_plain(kind, key, true, plain);
  return kind == TN_PQ_BOUND_F32 ? (double)tn_load_f32(plain) : tn_load_f64(plain);
}

static void set_datum(const tn_pq_write_node *leaf, int64_t key, tn_slice bytes, tn_datum *out) {
  memset(out, 0, sizeof(*out));
  switch (leaf->bound) {
    case TN_PQ_BOUND_BOOL:
      out->v.boolean = key != 0;
      break;
    case TN_PQ_BOUND_F32:
    case TN_PQ_BOUND_F64:
      out->v.f64 = float_of_key(leaf->bound, key);
      break;
    case TN_PQ_BOUND_BYTES:
      out->v.bytes = bytes;
      break;
    case TN_PQ_BOUND_FIXED:
      out->v.i128 = (int8_t)bytes.data[0] < 0 ? -1 : 0;
      for (size_t i = 0; i < bytes.len; i++) {
        out->v.i128 = (tn_i128)((tn_u128)out->v.i128 << 8 | bytes.data[i]);
      }
      break;
    default:
      if (leaf->layout == TN_LAYOUT_I128) {
        out->v.i128 = key;
      } else {
        out->v.i64 = key;
      }
      break;
  }
}

static void writer_stat(const tn_format_writer *writer, int32_t column, tn_stat *out) {
  const parquet_writer *w = TN_CONTAINER_OF(writer, parquet_writer, base);
  const tn_pq_write_node *node = &w->schema.columns[column];
  const tn_pq_leaf_writer *leaf;
  const tn_pq_write_bounds *b;
  memset(out, 0, sizeof(*out));
  out->row_count = w->footer.n_rows;
  out->null_count = -1;
  if (node->shape != TN_PQ_SHAPE_LEAF) {
    return;
  }
  leaf = value_leaf(w, node->leaf);
  b = &leaf->file_bounds.bounds;
  out->null_count = leaf->file_nulls;
  out->has_bounds = b->is_set;
  if (b->is_set) {
    set_datum(node, b->min, b->min_bytes, &out->min);
    set_datum(node, b->max, b->max_bytes, &out->max);
  }
}

/* ------------------------------------------------------------------ life */

static void writer_free(tn_format_writer *writer) {
  parquet_writer *w;
  if (writer == NULL) {
    return;
  }
  w = TN_CONTAINER_OF(writer, parquet_writer, base);
  for (int32_t i = 0; w->leaves != NULL && i < w->schema.n_leaves; i++) {
    tn_pq_leaf_writer_reset(&w->leaves[i]);
  }
  tn_free(&writer->env->mem, w->leaves);
  tn_free(&writer->env->mem, w->twin_of);
  tn_pq_footer_writer_reset(&w->footer);
  tn_pq_write_schema_reset(&w->schema);
  tn_free(&writer->env->mem, w);
}

static const tn_format_writer_calls calls = {.write = writer_write,
                                             .size = writer_size,
                                             .finish = writer_finish,
                                             .stat = writer_stat,
                                             .free = writer_free};

static void find_twins(parquet_writer *w, const int32_t *same_as) {
  for (int32_t i = 0; i < w->schema.n_leaves; i++) {
    w->twin_of[i] = -1;
  }
  for (int32_t i = 0; same_as != NULL && i < w->schema.n_columns; i++) {
    const tn_pq_write_node *node = &w->schema.columns[i];
    if (same_as[i] >= 0 && node->shape == TN_PQ_SHAPE_LEAF) {
      w->twin_of[node->leaf] = w->schema.columns[same_as[i]].leaf;
    }
  }
}

static tarn_status parquet_create(tarn_env *env, tn_sink *sink, const tn_write_request *request,
                                  tn_format_writer **out, tarn_error *err) {
  parquet_writer *w = tn_calloc(&env->mem, 1, sizeof(*w));
  tarn_status st = TARN_OK;
  *out = NULL;
  if (w == NULL) {
    return tn_oom(err);
  }
  w->base = (tn_format_writer){&calls, env};
  w->sink = sink;
  w->fields = request->fields;
  w->metadata = request->metadata;
  w->n_metadata = request->n_metadata;
  tn_arena_init(&w->schema.arena, &env->mem, 0);
  TN_TRY_TO(failed, read_options(env, request->options, &w->settings, err));
  TN_TRY_TO(failed,
            tn_pq_write_schema_init(&w->schema, env, request->fields, request->n_fields, err));
  w->leaves = tn_calloc(&env->mem, (size_t)w->schema.n_leaves + 1, sizeof(*w->leaves));
  w->twin_of = tn_alloc(&env->mem, ((size_t)w->schema.n_leaves + 1) * sizeof(*w->twin_of));
  if (w->leaves == NULL || w->twin_of == NULL) {
    st = tn_oom(err);
    goto failed;
  }
  find_twins(w, request->same_as);
  for (int32_t i = 0; i < w->schema.n_leaves; i++) {
    tn_pq_leaf_writer_init(&w->leaves[i], w->schema.leaves[i], &w->settings);
  }
  tn_pq_footer_writer_init(&w->footer, &w->schema, &w->settings);
  TN_TRY_TO(failed, tn_sink_write(sink, MAGIC, sizeof(MAGIC) - 1, err));
  *out = &w->base;
  return TARN_OK;
failed:
  writer_free(&w->base);
  return st;
}

const tn_format_writer_ops tn_parquet_writer_ops = {.name = "parquet", .create = parquet_create};
