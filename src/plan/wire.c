/* wire.c - splits as Java's bytes.
 *
 *   i64 magic | i32 version | i64 snapshot | partition | i32 bucket | utf bucket path
 *   | bool [i32 total buckets] (6 and later) | i32 0 | u8 0 | files | deletion list
 *   | bool streaming | bool raw
 *
 * All is big-endian, but rows inside are little-endian. Version 1 has neither magic nor version.
 * Other kinds of splits:
 *
 *   i64 "SPLIT_V1" | i32 1 | i32 kind | body
 *   incremental: i32 version | i64 snapshot | partition | i32 bucket | i32 total buckets
 *                | files, deletion list (before) | files, deletion list (after) | bool streaming
 *   of a read over two branches: DataSplit | bool fallback, or bool fallback | a frame
 *
 * Rule: org.apache.paimon.table.source.{DataSplit,IncrementalSplit,DeletionFile,SplitSerializer},
 * table.FallbackReadFileStoreTable. Spec: wire, 1 to 4.
 */
#include "model/wire.h"
#include "base/bytes.h"
#include "model/file_meta.h"
#include "plan/fallback.h"
#include "plan/plan_internal.h"

#define MAGIC (-2394839472490812314LL)
#define FRAME_MAGIC 0x53504C49545F5631LL /* "SPLIT_V1": several kinds of splits in one form */
#define FRAME_VERSION 1
#define INCREMENTAL_WRITTEN 1
#define INCREMENTAL_MAX 2
#define VERSION_WRITTEN 8
#define VERSION_MAX 9
#define ROW_LIMIT ((size_t)1 << 30)

/* The kinds of splits in frames. */
enum {
  FRAME_DATA_SPLIT = 1,
  FRAME_INCREMENTAL = 2,
  FRAME_FALLBACK_DATA = 6,
  FRAME_FALLBACK = 7 /* of any other kind */
};

/* What versions differ by. */
typedef struct split_layout {
  int32_t n_file_fields;
  bool has_cardinality, has_total_buckets;
  bool ignores_last_field; /* it was reserved, and is null */
} split_layout;

static const split_layout layouts[VERSION_MAX + 1] = {
    [1] = {15, false, false, false}, [2] = {16, false, false, false},
    [3] = {17, false, false, false}, [4] = {17, true, false, false},
    [5] = {18, true, false, false},  [6] = {18, true, true, false},
    [7] = {20, true, true, true},    [8] = {20, true, true, false},
    [9] = {21, true, true, false},
};

/* ------------------------------------------------------------------ writing */

static tarn_status put_deletions(const tn_dv_place *places, int32_t n, tn_buf *out,
                                 tarn_error *err) {
  if (places == NULL) {
    return tn_wire_put_bool(out, false, err);
  }
  TN_TRY(tn_wire_put_bool(out, true, err));
  TN_TRY(tn_wire_put_i32(out, n, err));
  for (int32_t i = 0; i < n; i++) {
    const tn_dv_place *d = &places[i];
    TN_TRY(tn_wire_put_bool(out, d->path != NULL, err));
    if (d->path != NULL) {
      TN_TRY(tn_wire_put_text(out, d->path, err));
      TN_TRY(tn_wire_put_i64(out, d->offset, err));
      TN_TRY(tn_wire_put_i64(out, d->length, err));
      TN_TRY(tn_wire_put_i64(out, d->cardinality, err));
    }
  }
  return TARN_OK;
}

static tarn_status put_files(const tn_data_file *files, int32_t n, tn_buf *out, tarn_error *err) {
  tn_buf row;
  tarn_status st;
  tn_buf_init(&row, out->mem, ROW_LIMIT);
  TN_TRY_TO(done, tn_wire_put_i32(out, n, err));
  for (int32_t i = 0; i < n; i++) {
    row.len = 0;
    TN_TRY_TO(done, tn_file_meta_encode(&files[i], &row, err));
    TN_TRY_TO(done, tn_wire_put_bytes(out, tn_buf_slice(&row), err));
  }
done:
  tn_buf_reset(&row);
  return st;
}

static tarn_status put_data_split(const tn_split *split, tn_buf *out, tarn_error *err) {
  TN_TRY(tn_wire_put_i64(out, MAGIC, err));
  TN_TRY(tn_wire_put_i32(out, VERSION_WRITTEN, err));
  TN_TRY(tn_wire_put_i64(out, split->snapshot_id, err));
  TN_TRY(tn_wire_put_bytes(out, split->partition, err));
  TN_TRY(tn_wire_put_i32(out, split->bucket, err));
  TN_TRY(tn_wire_put_text(out, split->bucket_path, err));
  TN_TRY(tn_wire_put_bool(out, split->has_total_buckets, err));
  if (split->has_total_buckets) {
    TN_TRY(tn_wire_put_i32(out, split->total_buckets, err));
  }
  TN_TRY(tn_wire_put_i32(out, 0, err));
  TN_TRY(tn_wire_put_bool(out, false, err));
  TN_TRY(put_files(split->files, split->n_files, out, err));
  TN_TRY(put_deletions(split->deletions, split->n_files, out, err));
  TN_TRY(tn_wire_put_bool(out, split->is_streaming, err));
  return tn_wire_put_bool(out, split->is_raw_convertible, err);
}

static tarn_status put_frame(int32_t kind, tn_buf *out, tarn_error *err) {
  TN_TRY(tn_wire_put_i64(out, FRAME_MAGIC, err));
  TN_TRY(tn_wire_put_i32(out, FRAME_VERSION, err));
  return tn_wire_put_i32(out, kind, err);
}

static tarn_status put_incremental(const tn_split *split, tn_buf *out, tarn_error *err) {
  TN_TRY(put_frame(FRAME_INCREMENTAL, out, err));
  TN_TRY(tn_wire_put_i32(out, INCREMENTAL_WRITTEN, err));
  TN_TRY(tn_wire_put_i64(out, split->snapshot_id, err));
  TN_TRY(tn_wire_put_bytes(out, split->partition, err));
  TN_TRY(tn_wire_put_i32(out, split->bucket, err));
  TN_TRY(tn_wire_put_i32(out, split->total_buckets, err));
  TN_TRY(put_files(split->before, split->n_before, out, err));
  TN_TRY(put_deletions(split->before_deletions, split->n_before, out, err));
  TN_TRY(put_files(split->files, split->n_files, out, err));
  TN_TRY(put_deletions(split->deletions, split->n_files, out, err));
  return tn_wire_put_bool(out, split->is_streaming, err);
}

tarn_status tn_split_encode(const tn_split *split, tn_buf *out, tarn_error *err) {
  if (split->is_incremental) {
    if (split->has_branch) {
      TN_TRY(put_frame(FRAME_FALLBACK, out, err));
      TN_TRY(tn_wire_put_bool(out, split->is_fallback, err));
    }
    return put_incremental(split, out, err);
  }
  if (!split->has_branch) {
    return put_data_split(split, out, err);
  }
  TN_TRY(put_frame(FRAME_FALLBACK_DATA, out, err));
  TN_TRY(put_data_split(split, out, err));
  return tn_wire_put_bool(out, split->is_fallback, err);
}

/* ------------------------------------------------------------------ reading */

static tarn_status take_files(tn_wire_reader *r, const split_layout *layout,
                              const tn_data_file **out, int32_t *n_out, tarn_error *err) {
  tn_data_file *files;
  int32_t n;
  /* Rows have at least a header and a slot for each field, so that bytes bound the count. */
  TN_TRY(tn_wire_take_count(r, 8 * ((size_t)layout->n_file_fields + 1), &n, "files", err));
  files = tn_arena_calloc(r->arena, (size_t)n + 1, sizeof(*files));
  if (files == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n; i++) {
    tn_slice row;
    TN_TRY(tn_wire_take_bytes(r, &row, "a data file", err));
    TN_TRY(tn_file_meta_decode(row, layout->n_file_fields, r->arena, &files[i], err));
    if (layout->ignores_last_field) {
      files[i].has_write_cols = false;
    }
  }
  *out = files;
  *n_out = n;
  return TARN_OK;
}

/* allows_more: vectors behind those of the files are nobody's, as Java takes them. */
static tarn_status take_deletions(tn_wire_reader *r, const split_layout *layout, int32_t n_files,
                                  bool allows_more, const tn_dv_place **out, tarn_error *err) {
  tn_dv_place *places;
  bool has_list;
  int32_t n;
  TN_TRY(tn_wire_take_bool(r, &has_list, "the mark of a deletion list", err));
  if (!has_list) {
    return TARN_OK;
  }
  TN_TRY(tn_wire_take_count(r, 1, &n, "deletion list", err));
  if (n < n_files || (n > n_files && !allows_more)) {
    return tn_fail(err, TARN_E_CORRUPT, "split: %d deletion vectors for %d files", (int)n,
                   (int)n_files);
  }
  places = tn_arena_calloc(r->arena, (size_t)n + 1, sizeof(*places));
  if (places == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n; i++) {
    tn_dv_place *d = &places[i];
    bool is_there;
    d->cardinality = -1;
    TN_TRY(tn_wire_take_bool(r, &is_there, "the mark of a deletion vector", err));
    if (!is_there) {
      continue;
    }
    TN_TRY(tn_wire_take_text(r, &d->path, "path of a deletion vector", err));
    TN_TRY(tn_wire_take_i64(r, &d->offset, "offset of a deletion vector", err));
    TN_TRY(tn_wire_take_i64(r, &d->length, "length of a deletion vector", err));
    if (layout->has_cardinality) {
      TN_TRY(tn_wire_take_i64(r, &d->cardinality, "cardinality of a deletion vector", err));
    }
    if (d->offset < 0 || d->length < 0 || d->cardinality < -1) {
      return tn_fail(err, TARN_E_CORRUPT, "split: deletion vector at %lld, %lld bytes, %lld rows",
                     (long long)d->offset, (long long)d->length, (long long)d->cardinality);
    }
  }
  *out = places;
  return TARN_OK;
}

/* Magic and version, or the snapshot id of version 1. */
static tarn_status take_head(tn_wire_reader *r, int32_t *version, tn_split *split,
                             tarn_error *err) {
  int64_t first;
  TN_TRY(tn_wire_take_i64(r, &first, "magic", err));
  *version = 1;
  split->snapshot_id = first;
  if (first == MAGIC) {
    TN_TRY(tn_wire_take_i32(r, version, "version", err));
    if (*version < 2 || *version > VERSION_MAX) {
      return tn_fail(err, TARN_E_UNSUPPORTED, "split: version %d, known are 1 to %d", (int)*version,
                     VERSION_MAX);
    }
    TN_TRY(tn_wire_take_i64(r, &split->snapshot_id, "snapshot", err));
  }
  return TARN_OK;
}

/* Before files were those of incremental reads of old releases; today's readers refuse them, too.
 */
static tarn_status take_before(tn_wire_reader *r, tarn_error *err) {
  int32_t n;
  bool has_list;
  TN_TRY(tn_wire_take_i32(r, &n, "before files", err));
  if (n == 0) {
    TN_TRY(tn_wire_take_bool(r, &has_list, "the mark of before deletions", err));
    if (!has_list) {
      return TARN_OK;
    }
  }
  return n < 0 ? tn_fail(err, TARN_E_CORRUPT, "split: %d before files", (int)n)
               : tn_fail(err, TARN_E_UNSUPPORTED,
                         "split: with before files, of an incremental read "
                         "of an old release");
}

static tarn_status take_partition(tn_wire_reader *r, tn_split *split, tarn_error *err) {
  tn_binary_row row;
  TN_TRY(tn_wire_take_bytes(r, &split->partition, "partition", err));
  return tn_binary_row_decode(split->partition, "split: partition", &row, err);
}

static tarn_status take_data_split(tn_wire_reader *r, tn_split *split, tarn_error *err) {
  const split_layout *layout;
  int32_t version;
  TN_TRY(take_head(r, &version, split, err));
  layout = &layouts[version];
  TN_TRY(take_partition(r, split, err));
  TN_TRY(tn_wire_take_i32(r, &split->bucket, "bucket", err));
  TN_TRY(tn_wire_take_text(r, &split->bucket_path, "bucket path", err));
  if (layout->has_total_buckets) {
    TN_TRY(tn_wire_take_bool(r, &split->has_total_buckets, "the mark of total buckets", err));
  }
  if (split->has_total_buckets) {
    TN_TRY(tn_wire_take_i32(r, &split->total_buckets, "total buckets", err));
  }
  TN_TRY(take_before(r, err));
  TN_TRY(take_files(r, layout, &split->files, &split->n_files, err));
  TN_TRY(take_deletions(r, layout, split->n_files, false, &split->deletions, err));
  TN_TRY(tn_wire_take_bool(r, &split->is_streaming, "streaming", err));
  return tn_wire_take_bool(r, &split->is_raw_convertible, "raw convertible", err);
}

static tarn_status take_incremental(tn_wire_reader *r, tn_split *split, tarn_error *err) {
  static const split_layout *const by_version[] = {NULL, &layouts[8], &layouts[9]};
  const split_layout *layout;
  int32_t version;
  TN_TRY(tn_wire_take_i32(r, &version, "version", err));
  if (version < 1 || version > INCREMENTAL_MAX) {
    return tn_fail(err, TARN_E_UNSUPPORTED,
                   "split: version %d of an incremental split, known are 1 to %d", (int)version,
                   INCREMENTAL_MAX);
  }
  layout = by_version[version];
  split->is_incremental = true;
  TN_TRY(tn_wire_take_i64(r, &split->snapshot_id, "snapshot", err));
  TN_TRY(take_partition(r, split, err));
  TN_TRY(tn_wire_take_i32(r, &split->bucket, "bucket", err));
  split->has_total_buckets = true;
  TN_TRY(tn_wire_take_i32(r, &split->total_buckets, "total buckets", err));
  TN_TRY(take_files(r, layout, &split->before, &split->n_before, err));
  TN_TRY(take_deletions(r, layout, split->n_before, true, &split->before_deletions, err));
  TN_TRY(take_files(r, layout, &split->files, &split->n_files, err));
  TN_TRY(take_deletions(r, layout, split->n_files, true, &split->deletions, err));
  return tn_wire_take_bool(r, &split->is_streaming, "streaming", err);
}

/* Is there the head of a frame? Then take it. */
static tarn_status take_frame(tn_wire_reader *r, int32_t *kind, tarn_error *err) {
  int32_t version;
  *kind = FRAME_DATA_SPLIT;
  if (tn_wire_left(r) < 8 || (int64_t)tn_load_be64(r->at) != FRAME_MAGIC) {
    return TARN_OK;
  }
  r->at += 8;
  TN_TRY(tn_wire_take_i32(r, &version, "version of the frame", err));
  TN_TRY(tn_wire_take_i32(r, kind, "kind of the split", err));
  return version == FRAME_VERSION
             ? TARN_OK
             : tn_fail(err, TARN_E_UNSUPPORTED, "split: frame version %d, known is %d",
                       (int)version, FRAME_VERSION);
}

static tarn_status take_split(tn_wire_reader *r, tn_split *split, tarn_error *err) {
  int32_t kind, outer = 0;
  TN_TRY(take_frame(r, &kind, err));
  if (kind == FRAME_FALLBACK) {
    outer = kind;
    split->has_branch = true;
    TN_TRY(tn_wire_take_bool(r, &split->is_fallback, "the mark of a fallback branch", err));
    TN_TRY(take_frame(r, &kind, err));
  }
  if (kind == FRAME_DATA_SPLIT || (kind == FRAME_FALLBACK_DATA && outer == 0)) {
    TN_TRY(take_data_split(r, split, err));
  } else if (kind == FRAME_INCREMENTAL) {
    TN_TRY(take_incremental(r, split, err));
  } else {
    return tn_fail(err, TARN_E_UNSUPPORTED, "split: of kind %d", (int)kind);
  }
  if (kind == FRAME_FALLBACK_DATA) {
    split->has_branch = true;
    TN_TRY(tn_wire_take_bool(r, &split->is_fallback, "the mark of a fallback branch", err));
  }
  return tn_wire_take_end(r, err);
}

/* What the bytes do not tell: the table of the branch, the folder of an incremental split. */
static tarn_status find_place(tn_plan *plan, tn_table *table, tn_split *split, tarn_error *err) {
  if (split->has_branch) {
    TN_TRY(tn_fallback_branch(table, split->is_fallback, &plan->table, err));
    split->table = plan->table;
    table = split->table != NULL ? split->table : table;
  }
  if (split->bucket_path != NULL) {
    return TARN_OK;
  }
  return tn_bucket_folder(table, split->partition, split->bucket, &plan->arena, &split->bucket_path,
                          err);
}

tarn_status tn_split_decode(tarn_env *env, tn_table *table, tn_slice bytes, tn_plan **out,
                            tarn_error *err) {
  tn_plan *plan = tn_plan_new(env, NULL);
  tn_wire_reader r = {0};
  tn_slice own;
  tarn_status st = TARN_OK;
  *out = NULL;
  if (plan == NULL) {
    return tn_oom(err);
  }
  plan->splits = tn_arena_calloc(&plan->arena, 1, sizeof(*plan->splits));
  if (plan->splits == NULL || !tn_arena_slice(&plan->arena, bytes, &own)) {
    st = tn_oom(err);
    goto done;
  }
  r = tn_wire_reader_of(own, &plan->arena, "split");
  plan->splits->plan = plan;
  TN_TRY_TO(done, take_split(&r, plan->splits, err));
  if (table != NULL) {
    TN_TRY_TO(done, find_place(plan, table, plan->splits, err));
  }
  plan->n_splits = 1;
  *out = plan;
done:
  if (st != TARN_OK) {
    tn_plan_release(plan);
  }
  return st;
}
