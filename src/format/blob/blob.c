/* blob.c - the index of a file of BLOBs, and its records as batches. */
#include "format/blob/blob.h"

#include <string.h>

#include "base/bytes.h"
#include "base/checked.h"
#include "codec/hash.h"
#include "format/blob/blob_descriptor.h"
#include "format/wanted_rows.h"

#define MAGIC 1481511375u
#define VERSION 1
#define TAIL_BYTES 5   /* length of the index, version */
#define RECORD_HEAD 4  /* magic */
#define RECORD_TAIL 12 /* length, CRC */
#define RECORD_EXTRA (RECORD_HEAD + RECORD_TAIL)
#define PLACEHOLDER (-2)
#define AT_ONCE ((int64_t)256 << 10) /* bytes of small records that are read together */
#define BATCH_ROWS 8192
#define LEAST_BATCH_BYTES ((int64_t)1 << 20)

typedef struct blob_file {
  tn_format_file base;
  int64_t *starts; /* of records, n_rows + 1; equal to the next: no record, null */
  size_t charged_bytes;
  int64_t n_nulls;
  uint8_t *placeholders; /* bitmap of rows; NULL: none */
} blob_file;

/* ------------------------------------------------------------------ opening */

static void free_file(tn_format_file *base) {
  blob_file *f = (blob_file *)base;
  tarn_env *env = f->base.env;
  tn_unreserve(&env->mem, f->charged_bytes);
  tn_file_release(f->base.file);
  tn_free(&env->mem, f->starts);
  tn_free(&env->mem, f->placeholders);
  tn_free(&env->mem, f);
}

/* The next zigzag varint at *at; false: it is cut, or of more than 64 bits. */
static bool next_varint(tn_slice bytes, size_t *at, int64_t *out) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    uint8_t b;
    if (*at == bytes.len) {
      return false;
    }
    b = bytes.data[(*at)++];
    if (shift == 63 && b > 1) {
      return false;
    }
    value |= (uint64_t)(b & 0x7f) << shift;
    if ((b & 0x80) == 0) {
      *out = (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
      return true;
    }
  }
  return false;
}

static tarn_status note_placeholder(blob_file *f, int64_t row, tarn_error *err) {
  if (f->placeholders == NULL) {
    f->placeholders = tn_calloc(&f->base.env->mem, TN_BITMAP_BYTES(f->base.n_rows), 1);
    if (f->placeholders == NULL) {
      return tn_oom(err);
    }
  }
  tn_bit_set(f->placeholders, row);
  return TARN_OK;
}

/* Starts of records out of the index, which lies behind them at records_end. */
static tarn_status decode_index(blob_file *f, tn_slice index, int64_t records_end,
                                tarn_error *err) {
  const char *path = f->base.file->path;
  int64_t length = 0, at = 0;
  size_t p = 0;
  for (int64_t row = 0; row < f->base.n_rows; row++) {
    int64_t delta;
    if (!next_varint(index, &p, &delta) || !tn_add_i64(length, delta, &length)) {
      return tn_fail(err, TARN_E_CORRUPT, "%s: row %lld: bad length in the index of BLOBs", path,
                     (long long)row);
    }
    f->starts[row] = at;
    if (length == -1 || length == PLACEHOLDER) {
      f->n_nulls++;
      if (length == PLACEHOLDER) {
        TN_TRY(note_placeholder(f, row, err));
      }
    } else if (length < RECORD_EXTRA || length > records_end - at) {
      return tn_fail(
          err, TARN_E_CORRUPT,
          "%s: row %lld: a record of %lld bytes at offset %lld; the index begins at %lld", path,
          (long long)row, (long long)length, (long long)at, (long long)records_end);
    } else {
      at += length;
    }
  }
  f->starts[f->base.n_rows] = at;
  if (at != records_end) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: records end at offset %lld, the index begins at %lld",
                   path, (long long)at, (long long)records_end);
  }
  return TARN_OK;
}

static tarn_status read_index(blob_file *f, uint8_t *index, int64_t offset, size_t n_bytes,
                              tarn_error *err) {
  tarn_env *env = f->base.env;
  int64_t n = 0;
  size_t room;
  TN_TRY(tn_file_read(f->base.file, offset, index, n_bytes, err));
  for (size_t i = 0; i < n_bytes; i++) {
    n += (index[i] & 0x80) == 0;
  }
  if (!tn_mul_size((size_t)n + 1, sizeof(*f->starts), &room)) {
    return tn_oom(err);
  }
  TN_TRY(tn_env_reserve(env, room, "an index of BLOBs", err));
  f->charged_bytes = room;
  f->starts = tn_alloc(&env->mem, room);
  if (f->starts == NULL) {
    return tn_oom(err);
  }
  f->base.n_rows = n;
  if (n_bytes > 0 && (index[n_bytes - 1] & 0x80) != 0) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: the index of BLOBs is cut", f->base.file->path);
  }
  return decode_index(f, tn_slice_of(index, n_bytes), offset, err);
}

static tarn_status load(blob_file *f, tarn_error *err) {
  tarn_env *env = f->base.env;
  tn_file *file = f->base.file;
  uint8_t tail[TAIL_BYTES];
  uint8_t *index;
  int64_t end = file->size_bytes - TAIL_BYTES;
  size_t n_bytes;
  tarn_status st;
  if (end < 0) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: %lld bytes are no file of BLOBs", file->path,
                   (long long)file->size_bytes);
  }
  TN_TRY(tn_file_read(file, end, tail, sizeof(tail), err));
  if (tail[4] != VERSION) {
    return tn_fail(err, tail[4] > VERSION ? TARN_E_UNSUPPORTED : TARN_E_CORRUPT,
                   "%s: version %d of files of BLOBs; only %d is known", file->path, (int)tail[4],
                   VERSION);
  }
  n_bytes = tn_load_le32(tail);
  if ((int64_t)n_bytes > end) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: an index of %zu bytes in a file of %lld", file->path,
                   n_bytes, (long long)file->size_bytes);
  }
  TN_TRY(tn_env_reserve(env, n_bytes, "an index of BLOBs", err));
  index = tn_alloc(&env->mem, n_bytes);
  st = index != NULL ? read_index(f, index, end - (int64_t)n_bytes, n_bytes, err) : tn_oom(err);
  tn_free(&env->mem, index);
  tn_unreserve(&env->mem, n_bytes);
  return st;
}

static tarn_status open_file(tarn_env *env, tn_file *file, tn_format_file **out, tarn_error *err) {
  blob_file *f = tn_calloc(&env->mem, 1, sizeof(*f));
  tarn_status st;
  *out = NULL;
  if (f == NULL) {
    return tn_oom(err);
  }
  f->base.ops = &tn_blob_format;
  f->base.env = env;
  f->base.file = tn_file_retain(file);
  f->base.refs = 1;
  st = load(f, err);
  if (st != TARN_OK) {
    free_file(&f->base);
    return st;
  }
  *out = &f->base;
  return TARN_OK;
}

/* ------------------------------------------------------------------ reading */

typedef struct reader {
  tn_reader base;
  blob_file *file;
  tn_read_request request;
  tn_wanted_rows rows;
  int64_t most_bytes; /* of a batch */
  uint8_t *scratch;   /* AT_ONCE bytes; NULL until it is needed */
} reader;

static bool is_null(const blob_file *f, int64_t row) {
  return f->starts[row] == f->starts[row + 1];
}

/* Bytes of a row's value, not null. */
static int64_t value_bytes(const reader *r, int64_t row) {
  const int64_t *starts = r->file->starts;
  return r->request.blob_uri != NULL
             ? (int64_t)tn_blob_descriptor_bytes(strlen(r->request.blob_uri))
             : starts[row + 1] - starts[row] - RECORD_EXTRA;
}

/* At most n rows from next_row on; *sum: bytes of their values. */
static tarn_status choose_rows(const reader *r, int64_t *n, int64_t *sum, tarn_error *err) {
  const uint8_t *placeholders = r->file->placeholders;
  *sum = 0;
  for (int64_t i = 0; i < *n; i++) {
    int64_t row = r->rows.position + i;
    int64_t bytes = is_null(r->file, row) ? 0 : value_bytes(r, row);
    if (i > 0 && bytes > r->most_bytes - *sum) {
      *n = i;
      break;
    }
    if (placeholders != NULL && tn_bit_get(placeholders, row)) {
      return tn_fail(
          err, TARN_E_UNSUPPORTED,
          "%s: row %lld is a placeholder for a BLOB in an older file, as Paimon 2 writes "
          "them; they cannot be read",
          r->file->base.file->path, (long long)row);
    }
    if (bytes > INT32_MAX - *sum) {
      return tn_fail(
          err, TARN_E_LIMIT,
          "%s: row %lld: a BLOB of %lld bytes; 'blob-as-descriptor' = true reads where it "
          "lies",
          r->file->base.file->path, (long long)row, (long long)bytes);
    }
    *sum += bytes;
  }
  return TARN_OK;
}

static tarn_status bad_record(const reader *r, int64_t row, const char *what, tarn_error *err) {
  return tn_fail(err, TARN_E_CORRUPT, "%s: row %lld: record at offset %lld: %s",
                 r->file->base.file->path, (long long)row, (long long)r->file->starts[row], what);
}

/* head, value and tail of a record. */
static tarn_status check_record(const reader *r, int64_t row, const uint8_t *head, tn_slice value,
                                const uint8_t *tail, tarn_error *err) {
  uint32_t crc;
  if (tn_load_le32(head) != MAGIC) {
    return bad_record(r, row, "no magic number", err);
  }
  if (tn_load_le64(tail) != value.len + RECORD_EXTRA) {
    return bad_record(r, row, "another length than in the index", err);
  }
  crc = tn_crc32(0, head, RECORD_HEAD);
  crc = tn_crc32(crc, value.data, value.len);
  crc = tn_crc32(crc, tail, 8);
  return crc == tn_load_le32(tail + 8) ? TARN_OK : bad_record(r, row, "wrong checksum", err);
}

/* The value of one large record straight to its place. */
static tarn_status read_large(reader *r, int64_t row, uint8_t *to, tarn_error *err) {
  tn_file *file = r->file->base.file;
  int64_t start = r->file->starts[row], n = r->file->starts[row + 1] - start - RECORD_EXTRA;
  uint8_t head[RECORD_HEAD], tail[RECORD_TAIL];
  TN_TRY(tn_file_read(file, start, head, sizeof(head), err));
  TN_TRY(tn_file_read(file, start + RECORD_HEAD, to, (size_t)n, err));
  TN_TRY(tn_file_read(file, start + RECORD_HEAD + n, tail, sizeof(tail), err));
  return check_record(r, row, head, tn_slice_of(to, (size_t)n), tail, err);
}

/* The values of rows [row, end), whose records are small together. */
static tarn_status read_small(reader *r, int64_t row, int64_t end, uint8_t *to, tarn_error *err) {
  const int64_t *starts = r->file->starts;
  int64_t from = starts[row];
  if (r->scratch == NULL) {
    r->scratch = tn_alloc(&r->base.env->mem, (size_t)AT_ONCE);
    if (r->scratch == NULL) {
      return tn_oom(err);
    }
  }
  TN_TRY(tn_file_read(r->file->base.file, from, r->scratch, (size_t)(starts[end] - from), err));
  for (; row < end; row++) {
    const uint8_t *head = r->scratch + (starts[row] - from);
    size_t n = (size_t)(starts[row + 1] - starts[row]);
    if (n == 0) {
      continue;
    }
    n -= RECORD_EXTRA;
    TN_TRY(check_record(r, row, head, tn_slice_of(head + RECORD_HEAD, n), head + RECORD_HEAD + n,
                        err));
    memcpy(to, head + RECORD_HEAD, n);
    to += n;
  }
  return TARN_OK;
}

static tarn_status read_values(reader *r, int64_t n, tn_vec *out, tarn_error *err) {
  const int64_t *starts = r->file->starts;
  int64_t end = r->rows.position + n;
  for (int64_t row = r->rows.position, next; row < end; row = next) {
    uint8_t *to = (uint8_t *)out->values + out->offsets[row - r->rows.position];
    for (next = row; next < end && starts[next + 1] - starts[row] <= AT_ONCE; next++) {
    }
    TN_TRY(tn_cancel_check(r->request.cancel, err));
    if (next > row) {
      if (starts[next] > starts[row]) {
        TN_TRY(read_small(r, row, next, to, err));
      }
    } else {
      TN_TRY(read_large(r, row, to, err));
      next = row + 1;
    }
  }
  return TARN_OK;
}

static void make_descriptors(reader *r, int64_t n, tn_vec *out) {
  const int64_t *starts = r->file->starts;
  for (int64_t i = 0; i < n; i++) {
    int64_t row = r->rows.position + i;
    tn_blob_descriptor d = {tn_slice_text(r->request.blob_uri), starts[row] + RECORD_HEAD,
                            starts[row + 1] - starts[row] - RECORD_EXTRA};
    if (!is_null(r->file, row)) {
      tn_blob_descriptor_encode(&d, (uint8_t *)out->values + out->offsets[i]);
    }
  }
}

/* The column of the next n rows, whose values take `sum` bytes. */
static tarn_status fill_column(reader *r, int64_t n, int64_t sum, tn_vec *out, tarn_error *err) {
  int32_t at = 0;
  TN_TRY(tn_vec_alloc(r->base.env, out, n, (size_t)sum, err));
  for (int64_t i = 0; i < n; i++) {
    int64_t row = r->rows.position + i;
    at += is_null(r->file, row) ? 0 : (int32_t)value_bytes(r, row);
    out->offsets[i + 1] = at;
    if (is_null(r->file, row)) {
      if (out->valid == NULL) {
        TN_TRY(tn_vec_alloc_valid(r->base.env, out, true, err));
      }
      tn_bit_clear(out->valid, i);
      out->null_count++;
    }
  }
  if (r->request.blob_uri != NULL) {
    make_descriptors(r, n, out);
    return TARN_OK;
  }
  return read_values(r, n, out, err);
}

static tarn_status next_batch(tn_reader *base, int64_t max_rows, tn_batch *out, tarn_error *err) {
  reader *r = (reader *)base;
  int64_t n, sum = 0;
  tarn_status st;
  tn_batch_clear(r->base.env, out);
  out->n_rows = 0;
  TN_TRY(tn_cancel_check(r->request.cancel, err));
  n = tn_wanted_rows_find(&r->rows);
  if (n == 0) {
    return TARN_OK;
  }
  n = n < max_rows ? n : max_rows;
  n = n < r->request.batch_rows || r->request.batch_rows <= 0 ? n : r->request.batch_rows;
  n = n < BATCH_ROWS || r->request.batch_rows > 0 ? n : BATCH_ROWS;
  if (r->request.n_fields > 0) {
    TN_TRY(choose_rows(r, &n, &sum, err));
    st = fill_column(r, n, sum, &out->columns[0], err);
    if (st != TARN_OK) {
      tn_batch_clear(r->base.env, out);
      return st;
    }
  }
  out->n_rows = n;
  out->first_position = r->rows.position;
  r->rows.position += n;
  return TARN_OK;
}

static tarn_status skip_rows(tn_reader *base, int64_t n_rows, tarn_error *err) {
  reader *r = (reader *)base;
  (void)err;
  tn_wanted_rows_skip(&r->rows, n_rows);
  return TARN_OK;
}

static void free_reader(tn_reader *base) {
  reader *r = (reader *)base;
  tarn_env *env = r->base.env;
  tn_format_file_release(&r->file->base);
  tn_free(&env->mem, r->scratch);
  tn_free(&env->mem, r);
}

static tarn_status read_file(tn_format_file *file, const tn_read_request *request, tn_reader **out,
                             tarn_error *err) {
  static const tn_reader_ops ops = {next_batch, skip_rows, free_reader};
  tarn_env *env = file->env;
  reader *r;
  *out = NULL;
  if (request->n_fields > 1 ||
      (request->n_fields == 1 && !tn_type_is_bytes(&request->fields[0].type))) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: a file of BLOBs has one column, of type BLOB",
                   file->file->path);
  }
  r = tn_calloc(&env->mem, 1, sizeof(*r));
  if (r == NULL) {
    return tn_oom(err);
  }
  r->base.ops = &ops;
  r->base.env = env;
  r->file = (blob_file *)tn_format_file_retain(file);
  r->request = *request;
  r->rows = (tn_wanted_rows){.ranges = request->rows, .n_rows = file->n_rows};
  r->most_bytes = (int64_t)(env->mem.budget_bytes / 32);
  r->most_bytes = r->most_bytes > LEAST_BATCH_BYTES ? r->most_bytes : LEAST_BATCH_BYTES;
  *out = &r->base;
  return TARN_OK;
}

/* ------------------------------------------------------------------ inspecting */

static tarn_status inspect(tn_format_file *file, tn_buf *out, tarn_error *err) {
  const blob_file *f = (const blob_file *)file;
  const int64_t *starts = f->starts;
  int64_t n_rows = f->base.n_rows, largest = 0;
  for (int64_t i = 0; i < n_rows; i++) {
    int64_t n = starts[i + 1] - starts[i] - RECORD_EXTRA;
    largest = n > largest ? n : largest;
  }
  return tn_buf_printf(out, err,
                       "{\"format\":\"blob\",\"version\":%d,\"rows\":%lld,\"nulls\":%lld,"
                       "\"value_bytes\":%lld,\"largest_value_bytes\":%lld}",
                       VERSION, (long long)n_rows, (long long)f->n_nulls,
                       (long long)(starts[n_rows] - (n_rows - f->n_nulls) * RECORD_EXTRA),
                       (long long)largest);
}

static tarn_status schema(tn_format_file *file, tn_arena *arena, tn_field **fields,
                          int32_t *n_fields, tarn_error *err) {
  (void)file;
  *fields = tn_arena_calloc(arena, 1, sizeof(**fields));
  if (*fields == NULL) {
    return tn_oom(err);
  }
  (*fields)->name = "blob";
  (*fields)->type.root = TN_BLOB;
  (*fields)->type.is_nullable = true;
  *n_fields = 1;
  return TARN_OK;
}

const tn_format_ops tn_blob_format = {
    .name = "blob",
    .is_columnar = true,
    .open = open_file,
    .release = free_file,
    .read = read_file,
    .inspect = inspect,
    .schema = schema,
};
