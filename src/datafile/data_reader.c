/* data_reader.c - opening, reading in two groups of columns, deletions.
 *
 * Opening: schema of the file -> column maps of both groups -> row ranges (selection, file index,
 * statistics, wholly deleted stretches) -> format readers. Where the index leaves no row the file
 * is not opened. A columnar format gets one reader a group over the same ranges; the one of the
 * rest lags behind and is moved forward when it is asked. Another format gets one reader over both
 * groups, whose rest is kept until it is asked.
 */
#include "datafile/data_reader.h"

#include <string.h>

#include "base/bytes.h"
#include "column/pieces.h"
#include "datafile/column_map.h"
#include "datafile/index_filter.h"
#include "format/blob/blob.h"
#include "format/blob/blob_descriptor.h"
#include "model/partition.h"

#define ARENA_LIMIT (64u << 20)
/* Stretches of this many rows are skipped when every row of them is deleted. */
#define DELETED_STRETCH 1024

struct tn_data_reader {
  tn_data_request request;
  tarn_env *env;
  tn_arena arena;
  tn_table *table;           /* the shape's */
  const tn_shape_maps *maps; /* the shape's, for the schema of the file */
  const tn_format_ops *format;
  tn_format_file *file;
  const tn_pred **tests; /* what is pushed, on the file's columns: all have to hold */
  int32_t n_tests;
  tn_datum *partition; /* values of the partition keys; NULL: none are wanted */
  tn_ranges ranges;    /* what is left to be read */
  bool has_ranges;     /* false: everything */
  bool shares_reader;  /* `first` reads both groups */
  bool is_empty;       /* D4: lost, or ended by a failure */
  tn_reader *first;    /* NULL: no column of the group lies in the file */
  tn_reader *rest;     /* likewise, or first reads both groups */
  int64_t rest_lag;    /* rows that first has gone ahead */

  tn_batch raw;        /* as the format gave it */
  tn_batch early_rest; /* D4: with scan.ignore-corrupt-files the rest is read at once */
  int64_t n_rows;      /* of the batch that next() gave */
  int64_t position;    /* of its first row */
  int64_t n_total;     /* rows given so far */
  size_t range_at;     /* batches without a format reader: where in ranges */
  int64_t range_row;   /* the next position there */
  uint8_t *alive;
  size_t alive_capacity;
};

/* ------------------------------------------------------------------ row ranges */

static bool lies_in_files(void *ctx, int32_t field_id) {
  return tn_schema_partition_key(ctx, field_id) < 0 && tn_row_tracking_field(field_id) == NULL;
}

/* The positions of the rows whose ids the pushed predicate allows. */
static tarn_status select_row_ids(tn_data_reader *r, tarn_error *err) {
  const tn_data_file *file = r->request.file;
  int64_t first, last;
  tn_ranges ids, positions;
  tarn_status st = TARN_OK;
  if (r->request.pushed == NULL || !r->table->facts.row_tracking ||
      tn_data_file_may_store(file, &tn_row_tracking_fields[0]) ||
      !tn_data_file_row_ids(file, &first, &last)) {
    return TARN_OK;
  }
  tn_ranges_init(&ids, &r->env->mem);
  tn_ranges_init(&positions, &r->env->mem);
  TN_TRY_TO(done, tn_row_ids_of_predicate(r->request.pushed, &ids, err));
  for (size_t i = 0; i < ids.count; i++) {
    int64_t begin = ids.items[i].begin > first ? ids.items[i].begin - first : 0;
    if (ids.items[i].end > first) {
      TN_TRY_TO(done, tn_ranges_add(&positions, begin, ids.items[i].end - first, err));
    }
  }
  st = tn_ranges_intersect(&r->ranges, &positions, err);
done:
  tn_ranges_reset(&ids);
  tn_ranges_reset(&positions);
  return st;
}

/* The pushed predicate on the file's own columns. Parts on partition keys, or on what row tracking
 * tells of rows, say nothing about it. */
static tarn_status devolve_pushed(tn_data_reader *r, tarn_error *err) {
  const tn_file_columns *columns = &r->maps->columns;
  const tn_pred **parts = NULL;
  int32_t n_parts = 0;
  if (r->request.pushed == NULL) {
    return TARN_OK;
  }
  TN_TRY(tn_pred_split_and(&r->arena, r->request.pushed, &parts, &n_parts, err));
  r->tests = parts;
  for (int32_t i = 0; i < n_parts; i++) {
    const tn_pred *pred = NULL;
    if (!tn_pred_only_uses(parts[i], lies_in_files, r->table->schema)) {
      continue;
    }
    TN_TRY(tn_pred_devolve(&r->arena, parts[i], columns->fields, columns->n_fields, &pred, err));
    if (pred != NULL && pred->op != TN_PRED_TRUE) {
      r->tests[r->n_tests++] = pred;
    }
  }
  return TARN_OK;
}

/* Let statistics in the file remove ranges. */
static tarn_status prune_by_statistics(tn_data_reader *r, tarn_error *err) {
  const tn_file_columns *columns = &r->maps->columns;
  for (int32_t i = 0; i < r->n_tests && tn_ranges_rows(&r->ranges) > 0; i++) {
    if (r->tests[i]->op == TN_PRED_FALSE) {
      tn_ranges_reset(&r->ranges);
    } else if (r->format->prune != NULL) {
      TN_TRY(r->format->prune(r->file, columns->fields, columns->n_fields, r->tests[i], &r->ranges,
                              err));
    }
  }
  return TARN_OK;
}

/* Leave out stretches in which every row is deleted. */
static tarn_status drop_deleted(tn_data_reader *r, tarn_error *err) {
  tn_ranges left;
  tarn_status st = TARN_OK;
  tn_ranges_init(&left, &r->env->mem);
  for (size_t i = 0; i < r->ranges.count; i++) {
    int64_t end = r->ranges.items[i].end, begin;
    for (int64_t at = r->ranges.items[i].begin; at < end; at = begin) {
      begin = at + DELETED_STRETCH < end ? at + DELETED_STRETCH : end;
      if (tn_dv_count(r->request.deletions, at, begin) < begin - at) {
        TN_TRY_TO(done, tn_ranges_add(&left, at, begin, err));
      }
    }
  }
  tn_ranges_reset(&r->ranges);
  r->ranges = left;
  memset(&left, 0, sizeof(left));
done:
  if (st != TARN_OK) {
    tn_ranges_reset(&left);
  }
  return st;
}

/* What can be told before the file is opened. */
static tarn_status choose_rows(tn_data_reader *r, tarn_error *err) {
  TN_TRY(tn_ranges_add(&r->ranges, 0, r->request.file->row_count, err));
  if (r->request.rows != NULL) {
    TN_TRY(tn_ranges_intersect(&r->ranges, r->request.rows, err));
  }
  TN_TRY(select_row_ids(r, err));
  TN_TRY(devolve_pushed(r, err));
  return tn_index_filter(&r->request, r->maps->schema, r->tests, r->n_tests, &r->ranges, err);
}

static tarn_status narrow_rows(tn_data_reader *r, tarn_error *err) {
  int64_t n_rows = r->request.file->row_count, n_left;
  TN_TRY(prune_by_statistics(r, err));
  if (r->request.deletions != NULL && tn_dv_cardinality(r->request.deletions) >=
                                          (n_rows < DELETED_STRETCH ? n_rows : DELETED_STRETCH)) {
    TN_TRY(drop_deleted(r, err));
  }
  n_left = tn_ranges_rows(&r->ranges);
  r->has_ranges = n_left < n_rows;
  r->range_row = r->ranges.count > 0 ? r->ranges.items[0].begin : 0;
  return TARN_OK;
}

/* ------------------------------------------------------------------ open */

static tarn_status open_format_reader(tn_data_reader *r, const tn_field *fields, int32_t n_fields,
                                      tn_reader **out, tarn_error *err) {
  tn_read_request request = {
      .fields = fields,
      .n_fields = n_fields,
      .rows = r->has_ranges ? &r->ranges : NULL,
      .allows_encoded = !r->request.wants_flat,
      .batch_rows = r->request.batch_rows,
      .cancel = r->request.cancel,
      .blob_uri = r->request.shape->gives_descriptors
                      ? r->request.full_path != NULL ? r->request.full_path : r->request.path
                      : NULL,
  };
  return r->format->read(r->file, &request, out, err);
}

static tarn_status open_readers(tn_data_reader *r, tarn_error *err) {
  const tn_column_map *first = &r->maps->first, *rest = &r->maps->rest;
  r->shares_reader = !r->format->is_columnar;
  if (r->shares_reader) {
    return open_format_reader(r, r->maps->joined, first->n_physical + rest->n_physical, &r->first,
                              err);
  }
  if (first->n_physical > 0) {
    TN_TRY(open_format_reader(r, r->maps->joined, first->n_physical, &r->first, err));
  }
  if (rest->n_physical > 0) {
    TN_TRY(open_format_reader(r, rest->physical, rest->n_physical, &r->rest, err));
  }
  return TARN_OK;
}

/* Open the file; what its statistics leave of the rows. */
static tarn_status open_file(tn_data_reader *r, tarn_error *err) {
  const tn_data_request *q = &r->request;
  tarn_status st = tn_format_open(r->env, r->table->storage, r->format, q->path, &r->file, err);
  if (st == TARN_E_NOT_FOUND) {
    return tn_fail(err, TARN_E_NOT_FOUND,
                   "data file %s of table %s does not exist: the snapshot that lists it may have "
                   "been expired meanwhile",
                   q->path, r->table->full_name);
  }
  TN_TRY(st);
  if (r->file->n_rows >= 0 && r->file->n_rows != q->file->row_count) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: holds %lld rows, its manifest entry says %lld",
                   q->path, (long long)r->file->n_rows, (long long)q->file->row_count);
  }
  return narrow_rows(r, err);
}

/* A file of which no row is left is not opened, unless it has none at all: that is looked at. */
static bool needs_file(const tn_data_reader *r) {
  return tn_ranges_rows(&r->ranges) > 0 || r->request.file->row_count == 0;
}

/* Did the user allow to go on without (the rest of) the file (D4)? */
static bool is_forgiven(const tn_data_reader *r, tarn_status st, const tarn_error *err) {
  const tn_table_facts *facts = &r->table->facts;
  bool lost = st == TARN_E_NOT_FOUND && facts->ignore_lost_files;
  bool corrupt = (st == TARN_E_CORRUPT || st == TARN_E_IO) && facts->ignore_corrupt_files;
  if (lost || corrupt) {
    tn_log(r->env, TARN_LOG_WARN, "event=%s file=%s rows_read=%lld rows=%lld error=\"%s\"",
           lost ? "lost_file_skipped" : "corrupt_file_skipped", r->request.path,
           (long long)r->n_total, (long long)r->request.file->row_count,
           err != NULL ? err->message : "");
  }
  return lost || corrupt;
}

/* A reader that knows its rows, and reads none. */
static tarn_status prepare(const tn_data_request *request, tn_data_reader **out, tarn_error *err) {
  tn_table *table = request->shape->table;
  tarn_env *env = table->env;
  tn_data_reader *r = tn_calloc(&env->mem, 1, sizeof(*r));
  tarn_status st = TARN_OK;
  *out = NULL;
  if (r == NULL) {
    return tn_oom(err);
  }
  r->request = *request;
  r->table = table;
  r->env = env;
  tn_arena_init(&r->arena, &env->mem, ARENA_LIMIT);
  tn_ranges_init(&r->ranges, &env->mem);
  TN_TRY_TO(fail, tn_format_of_file(request->path, &r->format, err));
  TN_TRY_TO(fail, tn_data_shape_maps(request->shape, request->file, &r->maps, err));
  if (table->schema->n_partition_keys > 0) {
    TN_TRY_TO(fail, tn_partition_values(&r->arena, table->schema, request->partition, &r->partition,
                                        err));
  }
  if (request->file->row_count < 0) {
    st = tn_fail(err, TARN_E_CORRUPT, "%s: its manifest entry says %lld rows", request->path,
                 (long long)request->file->row_count);
    goto fail;
  }
  *out = r;
  return TARN_OK;
fail:
  tn_data_reader_free(r);
  return st;
}

tarn_status tn_data_reader_open(const tn_data_request *request, tn_data_reader **out,
                                tarn_error *err) {
  tarn_error local;
  tarn_error *e = err != NULL ? err : &local;
  tn_data_reader *r;
  tarn_status st;
  *out = NULL;
  TN_TRY(prepare(request, &r, e));
  st = choose_rows(r, e);
  if (st == TARN_OK && needs_file(r)) {
    st = open_file(r, e);
  }
  if (st == TARN_OK && tn_ranges_rows(&r->ranges) > 0) {
    st = open_readers(r, e);
  }
  if (st != TARN_OK && is_forgiven(r, st, e)) {
    r->is_empty = true;
    st = TARN_OK;
  }
  if (st != TARN_OK) {
    tn_data_reader_free(r);
    return st;
  }
  *out = r;
  return TARN_OK;
}

tarn_status tn_data_file_prune(const tn_data_request *request, tn_ranges *out, tarn_error *err) {
  tarn_error local;
  tarn_error *e = err != NULL ? err : &local;
  tn_data_reader *r;
  tarn_status st;
  TN_TRY(prepare(request, &r, e));
  st = choose_rows(r, e);
  if (st == TARN_OK && r->format->prune != NULL && needs_file(r)) {
    st = open_file(r, e);
  }
  if (st == TARN_OK) {
    tn_ranges_reset(out);
    *out = r->ranges;
    memset(&r->ranges, 0, sizeof(r->ranges));
  } else if (is_forgiven(r, st, e)) {
    st = TARN_OK; /* whoever reads it meets the same; rows of other files stay */
    tn_ranges_reset(out);
    st = tn_ranges_add(out, 0, request->file->row_count, e);
  }
  tn_data_reader_free(r);
  return st;
}

void tn_data_reader_free(tn_data_reader *r) {
  if (r == NULL) {
    return;
  }
  tn_batch_reset(r->env, &r->raw);
  tn_batch_reset(r->env, &r->early_rest);
  tn_reader_free(r->first);
  tn_reader_free(r->rest);
  tn_format_file_release(r->file);
  tn_ranges_reset(&r->ranges);
  tn_arena_reset(&r->arena);
  tn_free(&r->env->mem, r->alive);
  tn_free(&r->env->mem, r);
}

int64_t tn_data_reader_selected_rows(const tn_data_reader *r) {
  return r->is_empty ? 0 : tn_ranges_rows(&r->ranges);
}

/* ------------------------------------------------------------------ columns of a batch */

/* A column of row tracking: the values that the file stores (may be NULL), else what the entry of
 * the file tells of the rows at `position` and after. */
static tarn_status fill_tracked(tn_data_reader *r, const tn_field *field, tn_vec *stored,
                                int64_t position, int64_t n_rows, tn_vec *to, tarn_error *err) {
  const tn_data_file *file = r->request.file;
  bool is_id = field->id == TN_FIELD_ID_ROW_ID;
  int64_t first = file->max_sequence, last;
  int64_t *values;
  if (is_id && !file->has_first_row_id) {
    if (stored == NULL) {
      return tn_vec_init_nulls(r->env, &field->type, n_rows, false, to, err);
    }
    tn_vec_move(to, stored);
    tn_vec_retype(to, &field->type);
    return TARN_OK;
  }
  if (is_id && !tn_data_file_row_ids(file, &first, &last)) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: its manifest entry says that row ids begin with %lld",
                   r->request.path, (long long)file->first_row_id);
  }
  first += is_id ? position : 0;
  if (stored != NULL) {
    TN_TRY(tn_vec_flatten(r->env, stored, err));
    if (stored->null_count == 0) {
      tn_vec_move(to, stored);
      tn_vec_retype(to, &field->type);
      return TARN_OK;
    }
  }
  TN_TRY(tn_vec_init(r->env, &field->type, to, err));
  TN_TRY(tn_vec_alloc(r->env, to, n_rows, 0, err));
  values = to->values;
  for (int64_t i = 0; i < n_rows; i++) {
    values[i] = is_id ? first + i : first;
  }
  for (int64_t i = 0; stored != NULL && i < n_rows; i++) {
    if (tn_bit_get(stored->valid, i)) {
      values[i] = ((const int64_t *)stored->values)[i];
    }
  }
  return TARN_OK;
}

/* BLOBs that lie elsewhere: their descriptors in `vec` replaced by what they refer to. */
static tarn_status resolve_blobs(tn_data_reader *r, const tn_field *field, tn_vec *vec,
                                 tarn_error *err) {
  tarn_status st;
  if (field->type.root != TN_BLOB || r->request.shape->gives_descriptors ||
      r->format == &tn_blob_format) {
    return TARN_OK;
  }
  st = tn_blob_resolve(r->env, r->table->storage, vec, err);
  return st == TARN_OK ? st
                       : tn_error_context(err, st, "%s: column '%s'", r->request.path, field->name);
}

/* out = the wanted columns of a group, out of the physical columns raw[0 .. n_physical), which are
 * moved out. position: of the first row. */
static tarn_status fill_columns(tn_data_reader *r, const tn_column_map *map, tn_vec *raw,
                                int64_t position, int64_t n_rows, tn_batch *out, tarn_error *err) {
  TN_TRY(tn_batch_init(r->env, map->wanted, map->n_wanted, out, err));
  for (int32_t i = 0; i < map->n_wanted; i++) {
    const tn_column_place *place = &map->places[i];
    const tn_field *field = &map->wanted[i];
    tn_vec *to = &out->columns[i];
    tn_vec constant = {0};
    tarn_status st = TARN_OK;
    tn_vec_reset(r->env, to);
    switch (place->origin) {
      case TN_FROM_PARTITION:
        st = tn_datum_to_vec(r->env, &field->type, &r->partition[place->index], &constant, err);
        if (st == TARN_OK) {
          st = tn_vec_init_const(r->env, &field->type, n_rows, &constant, to, err);
          tn_vec_reset(r->env, &constant);
        }
        break;
      case TN_FROM_NOTHING:
        st = tn_vec_init_nulls(r->env, &field->type, n_rows, false, to, err);
        break;
      case TN_FROM_ENTRY:
        st = fill_tracked(r, field, place->index >= 0 ? &raw[place->index] : NULL, position, n_rows,
                          to, err);
        break;
      default:
        if (place->needs_cast) {
          st = tn_cast_vec(r->env, &raw[place->index], &field->type, field->name, to, err);
          if (st != TARN_OK) {
            tn_error_context(err, st, "%s", r->request.path);
          }
        } else {
          tn_vec_move(to, &raw[place->index]);
          tn_vec_retype(to, &field->type);
          st = resolve_blobs(r, field, to, err);
        }
    }
    if (st == TARN_OK && r->request.wants_flat) {
      st = tn_vec_flatten(r->env, to, err);
    }
    TN_TRY(st);
  }
  out->n_rows = n_rows;
  return TARN_OK;
}

/* The next rows of a format reader in r->raw. */
static tarn_status read_raw(tn_data_reader *r, tn_reader *reader, const tn_field *fields,
                            int32_t n_fields, int64_t max_rows, tarn_error *err) {
  tn_batch_reset(r->env, &r->raw);
  TN_TRY(tn_batch_init(r->env, fields, n_fields, &r->raw, err));
  return tn_reader_next(reader, max_rows, &r->raw, err);
}

/* Rows without a format reader: no wanted column lies in the file, only their number counts. */
static void count_rows(tn_data_reader *r, int64_t max_rows, int64_t *n_rows, int64_t *position) {
  const tn_range *range;
  *n_rows = 0;
  if (r->range_at == r->ranges.count) {
    return;
  }
  range = &r->ranges.items[r->range_at];
  *position = r->range_row;
  *n_rows = range->end - r->range_row < max_rows ? range->end - r->range_row : max_rows;
  r->range_row += *n_rows;
  if (r->range_row == range->end && ++r->range_at < r->ranges.count) {
    r->range_row = r->ranges.items[r->range_at].begin;
  }
}

static tarn_status check_end(const tn_data_reader *r, tarn_error *err) {
  int64_t expected = tn_ranges_rows(&r->ranges);
  if (r->n_total != expected) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: gave %lld of the %lld rows that were to be read",
                   r->request.path, (long long)r->n_total, (long long)expected);
  }
  return TARN_OK;
}

static tarn_status find_alive(tn_data_reader *r, int64_t position, int64_t n_rows,
                              const uint8_t **alive, tarn_error *err) {
  size_t n_bytes = TN_BITMAP_BYTES(n_rows);
  *alive = NULL;
  if (r->request.deletions == NULL ||
      tn_dv_count(r->request.deletions, position, position + n_rows) == 0) {
    return TARN_OK;
  }
  if (n_bytes > r->alive_capacity) {
    tn_free(&r->env->mem, r->alive);
    r->alive_capacity = 0;
    r->alive = tn_alloc(&r->env->mem, n_bytes);
    if (r->alive == NULL) {
      return tn_oom(err);
    }
    r->alive_capacity = n_bytes;
  }
  memset(r->alive, 0xff, n_bytes);
  tn_dv_apply(r->request.deletions, position, n_rows, r->alive);
  *alive = r->alive;
  return TARN_OK;
}

static tarn_status next_rows(tn_data_reader *r, int64_t max_rows, tn_batch *first,
                             const uint8_t **alive, tarn_error *err) {
  int64_t n_rows = 0, position = 0;
  TN_TRY(tn_cancel_check(r->request.cancel, err));
  if (r->first != NULL) {
    int32_t n = r->maps->first.n_physical + (r->shares_reader ? r->maps->rest.n_physical : 0);
    TN_TRY(read_raw(r, r->first, r->maps->joined, n, max_rows, err));
    n_rows = r->raw.n_rows;
    position = r->raw.first_position;
  } else {
    count_rows(r, max_rows, &n_rows, &position);
  }
  if (n_rows == 0) {
    r->n_rows = 0;
    return check_end(r, err);
  }
  if (n_rows > max_rows || position < 0 || position + n_rows > r->request.file->row_count) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: rows %lld to %lld of %lld", r->request.path,
                   (long long)position, (long long)(position + n_rows - 1),
                   (long long)r->request.file->row_count);
  }
  TN_TRY(fill_columns(r, &r->maps->first, r->raw.columns, position, n_rows, first, err));
  first->first_position = position;
  r->position = position;
  r->n_rows = n_rows;
  r->n_total += n_rows;
  r->rest_lag += n_rows;
  return find_alive(r, position, n_rows, alive, err);
}

/* ------------------------------------------------------------------ the rest */

/* The rows of the current batch out of the reader of the rest, in r->raw: its batches may end
 * elsewhere than those of the first. */
static tarn_status read_rest(tn_data_reader *r, tarn_error *err) {
  const tn_column_map *map = &r->maps->rest;
  int64_t behind = r->rest_lag - r->n_rows;
  tn_pieces p = {0};
  tarn_status st = TARN_OK;
  if (behind > 0) {
    TN_TRY(tn_reader_skip(r->rest, behind, err));
    r->rest_lag -= behind;
  }
  while (p.n_rows < r->n_rows) {
    TN_TRY_TO(done,
              read_raw(r, r->rest, map->physical, map->n_physical, r->n_rows - p.n_rows, err));
    if (r->raw.n_rows == 0 || r->raw.n_rows > r->n_rows - p.n_rows) {
      st =
          tn_fail(err, TARN_E_CORRUPT, "%s: columns of different numbers of rows", r->request.path);
      goto done;
    }
    r->rest_lag -= r->raw.n_rows;
    if (p.count == 0 && r->raw.n_rows == r->n_rows) {
      goto done;
    }
    TN_TRY_TO(done, tn_pieces_add(&p, r->env, &r->raw, err));
  }
  tn_batch_reset(r->env, &r->raw);
  st = tn_pieces_join(&p, r->env, map->physical, map->n_physical, &r->raw, err);
done:
  tn_pieces_reset(&p, r->env);
  return st;
}

static tarn_status rest_rows(tn_data_reader *r, tn_batch *rest, tarn_error *err) {
  tn_vec *raw = r->shares_reader ? r->raw.columns + r->maps->first.n_physical : NULL;
  tarn_status st = TARN_OK;
  tn_batch_reset(r->env, rest);
  if (r->rest != NULL) {
    st = read_rest(r, err);
    raw = r->raw.columns;
  }
  if (st == TARN_OK) {
    st = fill_columns(r, &r->maps->rest, raw, r->position, r->n_rows, rest, err);
  }
  tn_batch_reset(r->env, &r->raw);
  if (st != TARN_OK) {
    tn_batch_reset(r->env, rest);
  }
  return st;
}

tarn_status tn_data_reader_next(tn_data_reader *r, int64_t max_rows, tn_batch *first,
                                const uint8_t **alive, tarn_error *err) {
  tarn_error local;
  tarn_error *e = err != NULL ? err : &local;
  tarn_status st;
  tn_batch_reset(r->env, first);
  *alive = NULL;
  r->n_rows = 0;
  if (r->is_empty) {
    return TARN_OK;
  }
  st = next_rows(r, max_rows, first, alive, e);
  if (st == TARN_OK && r->n_rows > 0 && r->table->facts.ignore_corrupt_files &&
      r->maps->rest.n_wanted > 0) {
    st = rest_rows(r, &r->early_rest, e); /* what fails must fail before the rows are given */
  }
  if (st != TARN_OK) {
    tn_batch_reset(r->env, first);
    *alive = NULL;
    if (is_forgiven(r, st, e)) {
      r->is_empty = true;
      r->n_rows = 0;
      st = TARN_OK;
    }
  }
  return st;
}

tarn_status tn_data_reader_rest(tn_data_reader *r, tn_batch *rest, tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_batch_reset(r->env, rest);
  if (r->n_rows == 0) {
    return TN_BUG(err, "the rest of a batch that is not there");
  }
  if (r->table->facts.ignore_corrupt_files && r->maps->rest.n_wanted > 0) {
    tn_batch_move(rest, &r->early_rest);
  } else {
    st = rest_rows(r, rest, err);
  }
  r->n_rows = 0;
  return st;
}

tarn_status tn_data_reader_skip(tn_data_reader *r, int64_t n_rows, tarn_error *err) {
  r->n_rows = 0;
  if (r->is_empty) {
    return TARN_OK;
  }
  if (r->first != NULL) {
    TN_TRY(tn_reader_skip(r->first, n_rows, err));
  }
  for (int64_t left = n_rows, n = 0, at = 0; r->first == NULL && left > 0; left -= n) {
    count_rows(r, left, &n, &at);
    if (n == 0) {
      break;
    }
  }
  r->n_total += n_rows;
  r->rest_lag += n_rows;
  return TARN_OK;
}
