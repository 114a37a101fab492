/* inspect_index.c - files of indexes: what they hold, and their rows. Spec: indexes. */
#include "api/inspect_parts.h"
#include "base/bytes.h"
#include "index/deletion_vector.h"
#include "index/file_index.h"

/* ------------------------------------------------------------------ kinds */

#define DV_FIRST_BLOB 1u
#define DV_FRAME 8u /* length word before, checksum behind */

/* Do the lengths of blobs lead exactly to the end? A hash index may begin with 01, too. */
static bool is_vectors(tn_slice bytes) {
  size_t at = DV_FIRST_BLOB;
  if (bytes.len == 0 || bytes.data[0] != 1) {
    return false;
  }
  while (at < bytes.len) {
    size_t length = bytes.len - at >= DV_FRAME ? tn_load_be32(bytes.data + at) : SIZE_MAX;
    if (bytes.len - at < DV_FRAME || length > bytes.len - at - DV_FRAME) {
      return bytes.len % 4 != 0; /* a damaged container rather than hashes */
    }
    at += length + DV_FRAME;
  }
  return true;
}

tn_index_file tn_inspect_index_kind(const tn_inspection *in, tn_slice bytes) {
  if (tn_file_index_is(bytes)) {
    return TN_INDEX_FILE_COLUMNS;
  }
  if (is_vectors(bytes)) {
    return TN_INDEX_FILE_VECTORS;
  }
  return strncmp(in->name, "index-", 6) == 0 && bytes.len % 4 == 0 ? TN_INDEX_FILE_HASHES
                                                                   : TN_INDEX_FILE_NONE;
}

/* ------------------------------------------------------------------ facts */

/* The vector at an offset of a container: [be32 L][L bytes][crc] (spec: indexes, 2). *end: where
 * the next one begins. */
static tarn_status vector_at(const tn_inspection *in, tn_slice bytes, size_t at, tn_dv **out,
                             size_t *end, tarn_error *err) {
  size_t length = bytes.len - at >= DV_FRAME ? tn_load_be32(bytes.data + at) : SIZE_MAX;
  if (bytes.len - at < DV_FRAME || length > bytes.len - at - DV_FRAME) {
    return tn_fail(err, TARN_E_CORRUPT,
                   "%s: a deletion vector at offset %zu does not fit the file's %zu bytes",
                   in->path, at, bytes.len);
  }
  *end = at + length + DV_FRAME;
  return tn_dv_decode(in->env, tn_slice_of(bytes.data + at, length + DV_FRAME), in->path, out, err);
}

static tarn_status describe_vectors(const tn_inspection *in, tn_slice bytes, tarn_error *err) {
  const char *between = "";
  TN_TRY(tn_buf_text(in->out, ",\"kind\":\"deletion vectors\",\"vectors\":[", err));
  for (size_t at = DV_FIRST_BLOB, end; at < bytes.len; at = end) {
    tn_dv *dv = NULL;
    tarn_status st;
    TN_TRY(vector_at(in, bytes, at, &dv, &end, err));
    st = tn_buf_printf(in->out, err,
                       "%s{\"offset\":%zu,\"length\":%zu,\"version\":%d,\"cardinality\":%lld}",
                       between, at, tn_dv_version(dv) == 1 ? end - at - DV_FRAME : end - at,
                       (int)tn_dv_version(dv), (long long)tn_dv_cardinality(dv));
    tn_dv_release(dv);
    TN_TRY(st);
    between = ",";
  }
  return tn_buf_text(in->out, "]", err);
}

static tarn_status describe_columns(const tn_inspection *in, tn_slice bytes, tarn_error *err) {
  tn_file_index *index;
  tarn_status st;
  TN_TRY(tn_file_index_open(in->env, bytes, in->path, &index, err));
  st = tn_buf_text(in->out, ",\"kind\":\"file index\",\"columns\":", err);
  if (st == TARN_OK) {
    st = tn_file_index_describe(index, in->out, err);
  }
  tn_file_index_release(index);
  return st;
}

tarn_status tn_inspect_index(const tn_inspection *in, tn_index_file kind, tn_slice bytes,
                             tarn_error *err) {
  switch (kind) {
    case TN_INDEX_FILE_VECTORS:
      return describe_vectors(in, bytes, err);
    case TN_INDEX_FILE_COLUMNS:
      return describe_columns(in, bytes, err);
    default:
      return tn_buf_printf(in->out, err, ",\"kind\":\"hash index\",\"hashes\":%zu", bytes.len / 4);
  }
}

/* ------------------------------------------------------------------ rows */

#define WINDOW 65536 /* positions that are looked at together */

static const tn_field vector_fields[] = {
    {.id = 0, .name = "vector", .type = {.root = TN_BIGINT}}, /* its offset in the file */
    {.id = 1, .name = "position", .type = {.root = TN_BIGINT}},
};
static const tn_field hash_fields[] = {{.id = 0, .name = "hash", .type = {.root = TN_INT}}};

typedef struct index_reader {
  tn_reader base;
  tn_inspection in; /* its path, for messages; nothing of it is owned */
  tn_buf bytes;     /* owned */
  size_t at, end;   /* the vector or hash that is read, and the next vector */
  tn_dv *dv;
  int64_t from, left; /* positions from here on; how many are deleted there */
} index_reader;

static tarn_status next_hashes(tn_reader *reader, int64_t max_rows, tn_batch *out,
                               tarn_error *err) {
  index_reader *r = (index_reader *)reader;
  int64_t n = (int64_t)((r->bytes.len - r->at) / 4);
  tn_batch_clear(r->base.env, out);
  n = n < max_rows ? n : max_rows;
  TN_TRY(tn_vec_alloc(r->base.env, &out->columns[0], n, 0, err));
  for (int64_t i = 0; i < n; i++, r->at += 4) {
    ((int32_t *)out->columns[0].values)[i] = (int32_t)tn_load_be32(r->bytes.data + r->at);
  }
  out->n_rows = n;
  return TARN_OK;
}

/* Step to a window that holds a deleted position; there is one. Vectors of 64 bits may be sparse.
 */
static void find_window(index_reader *r) {
  int64_t width = WINDOW;
  while (tn_dv_count(r->dv, r->from, r->from + width) == 0) {
    r->from += width;
    width = r->from < INT64_MAX / 4 ? width * 2 : WINDOW;
  }
  while (width > WINDOW) {
    int64_t half = width / 2;
    if (tn_dv_count(r->dv, r->from, r->from + half) == 0) {
      r->from += half;
      width -= half;
    } else {
      width = half;
    }
  }
}

/* Positions of the vector at hand, up to max_rows in all; *n counts them. */
static void take_positions(index_reader *r, int64_t max_rows, int64_t *offsets, int64_t *positions,
                           int64_t *n) {
  uint8_t selected[WINDOW / 8];
  while (r->left > 0 && *n < max_rows) {
    int64_t begin, i = 0;
    find_window(r);
    begin = r->from;
    memset(selected, 0xFF, sizeof(selected));
    tn_dv_apply(r->dv, begin, WINDOW, selected);
    for (; i < WINDOW && *n < max_rows && r->left > 0; i++) {
      if (!tn_bit_get(selected, i)) {
        offsets[*n] = (int64_t)r->at;
        positions[(*n)++] = begin + i;
        r->left--;
      }
    }
    r->from = begin + i;
  }
}

static tarn_status next_positions(tn_reader *reader, int64_t max_rows, tn_batch *out,
                                  tarn_error *err) {
  index_reader *r = (index_reader *)reader;
  int64_t n = 0;
  tn_batch_clear(r->base.env, out);
  TN_TRY(tn_vec_alloc(r->base.env, &out->columns[0], max_rows, 0, err));
  TN_TRY(tn_vec_alloc(r->base.env, &out->columns[1], max_rows, 0, err));
  while (n < max_rows) {
    if (r->left == 0) {
      tn_dv_release(r->dv);
      r->dv = NULL;
      r->at = r->end;
      if (r->at >= r->bytes.len) {
        break;
      }
      TN_TRY(vector_at(&r->in, tn_buf_slice(&r->bytes), r->at, &r->dv, &r->end, err));
      r->from = 0;
      r->left = tn_dv_cardinality(r->dv);
    }
    take_positions(r, max_rows, out->columns[0].values, out->columns[1].values, &n);
  }
  out->columns[0].length = out->columns[1].length = out->n_rows = n;
  return TARN_OK;
}

static tarn_status skip_none(tn_reader *reader, int64_t n_rows, tarn_error *err) {
  (void)reader;
  (void)n_rows;
  return tn_fail(err, TARN_E_INTERNAL, "rows of an index file are read in order");
}

static void free_reader(tn_reader *reader) {
  index_reader *r = (index_reader *)reader;
  tarn_env *env = r->base.env;
  tn_dv_release(r->dv);
  tn_buf_reset(&r->bytes);
  tn_free(&env->mem, r);
}

static const tn_reader_ops vector_ops = {next_positions, skip_none, free_reader};
static const tn_reader_ops hash_ops = {next_hashes, skip_none, free_reader};

tarn_status tn_inspect_index_rows(const tn_inspection *in, tn_index_file kind, tn_buf *bytes,
                                  tn_api_file_rows *rows, tarn_error *err) {
  bool has_vectors = kind == TN_INDEX_FILE_VECTORS;
  index_reader *r;
  if (kind == TN_INDEX_FILE_COLUMNS) {
    return tn_fail(err, TARN_E_UNSUPPORTED, "%s has no rows to show: it is a file index", in->path);
  }
  r = tn_calloc(&in->env->mem, 1, sizeof(*r));
  if (r == NULL) {
    return tn_oom(err);
  }
  r->base.ops = has_vectors ? &vector_ops : &hash_ops;
  r->base.env = in->env;
  r->in.env = in->env;
  r->in.path = in->path;
  r->bytes = *bytes;
  tn_buf_init(bytes, &in->env->mem, bytes->limit_bytes);
  r->end = DV_FIRST_BLOB;
  rows->reader = &r->base;
  rows->fields = has_vectors ? vector_fields : hash_fields;
  rows->n_fields = has_vectors ? (int32_t)TN_COUNT(vector_fields) : (int32_t)TN_COUNT(hash_fields);
  return TARN_OK;
}
