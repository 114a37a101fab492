/* file_index.c - the container, and one question over the payloads in it.
 *
 *   be64 magic | be32 version 1 | be32 bytes of the head, from the magic on
 *   | be32 columns | columns x (name, be32 n | n x (kind, be32 start, be32 length))
 *   | be32 n | n bytes of something newer | payloads
 *
 * Names and kinds are what Java's writeUTF writes: be16 length, modified UTF-8. Starts count from
 * the magic. Rule: org.apache.paimon.fileindex.{FileIndexFormat, FileIndexPredicate},
 * empty.EmptyFileIndexReader; spec: indexes, 4.
 */
#include "index/file_index.h"

#include "base/bytes.h"
#include "base/utf8.h"
#include "index/file_index_payload.h"

#define MAGIC UINT64_C(0x00054E4ED01A35AE)
#define VERSION 1
#define FIXED_HEAD_BYTES ((size_t)20) /* magic, version, size, number of columns */
#define LEAST_COLUMN_BYTES ((size_t)6)
#define LEAST_PART_BYTES ((size_t)10)
#define EMPTY_START UINT32_MAX
/* A file of this size is read at once; of a larger one the head comes in this piece, mostly. */
#define FIRST_READ_BYTES ((size_t)64 << 10)
#define HEAD_LIMIT ((size_t)1 << 30)
#define QUESTION_LIMIT ((size_t)8 << 30)

struct tn_file_index {
  tarn_env *env;
  tn_arena arena;
  const char *path;
  tn_file *file;  /* NULL: all lies in `bytes` */
  tn_slice bytes; /* of the whole container, or borrowed by the head's parser */
  int64_t length;
  tn_index_part *parts;
  int32_t n_parts;
};

static const tn_payload_kind *const kinds[] = {&tn_bloom_filter_kind, &tn_bitmap_index_kind,
                                               &tn_bsi_index_kind, &tn_range_bitmap_kind};

static const tn_payload_kind *find_kind(tn_slice name) {
  for (size_t i = 0; i < TN_COUNT(kinds); i++) {
    if (tn_slice_is(name, kinds[i]->name)) {
      return kinds[i];
    }
  }
  return NULL;
}

/* ------------------------------------------------------------------ head */

/* Modified UTF-8 as UTF-8: NUL is C0 80, characters past U+FFFF are two surrogates of 3 bytes; one
 * alone becomes U+FFFD. `out` has room for as many bytes. SIZE_MAX: malformed. */
static size_t decode_modified_utf8(tn_slice from, uint8_t *out) {
  static const uint8_t REPLACEMENT[3] = {0xEF, 0xBF, 0xBD};
  const uint8_t *p = from.data, *end = from.data + from.len;
  size_t n = 0;
  while (p < end) {
    size_t left = (size_t)(end - p), step = tn_utf8_step(p, left);
    bool is_surrogate =
        left >= 3 && p[0] == 0xED && p[1] >= 0xA0 && p[1] <= 0xBF && (p[2] & 0xC0) == 0x80;
    if (left >= 2 && p[0] == 0xC0 && p[1] == 0x80) {
      out[n++] = 0;
      p += 2;
    } else if (is_surrogate && p[1] <= 0xAF && left >= 6 && p[3] == 0xED && p[4] >= 0xB0 &&
               p[4] <= 0xBF && (p[5] & 0xC0) == 0x80) {
      uint32_t c = 0x10000u + ((p[1] & 0xFu) << 16 | (p[2] & 0x3Fu) << 10 | (p[4] & 0xFu) << 6 |
                               (p[5] & 0x3Fu));
      out[n++] = (uint8_t)(0xF0 | c >> 18);
      out[n++] = (uint8_t)(0x80 | (c >> 12 & 0x3F));
      out[n++] = (uint8_t)(0x80 | (c >> 6 & 0x3F));
      out[n++] = (uint8_t)(0x80 | (c & 0x3F));
      p += 6;
    } else if (is_surrogate) {
      memcpy(out + n, REPLACEMENT, sizeof(REPLACEMENT));
      n += sizeof(REPLACEMENT);
      p += 3;
    } else if (step >= 1 && step <= 3) {
      memcpy(out + n, p, step);
      n += step;
      p += step;
    } else {
      return SIZE_MAX;
    }
  }
  return n;
}

/* The head's bytes and a place in them. */
typedef struct head {
  tn_file_index *index;
  tn_slice bytes;
  size_t at;
} head;

static tarn_status cut_off(const head *h, tarn_error *err) {
  return tn_fail(err, TARN_E_CORRUPT, "%s: file index: head of %zu bytes is cut off at %zu",
                 h->index->path, h->bytes.len, h->at);
}

static tarn_status take_u32(head *h, uint32_t *out, tarn_error *err) {
  if (h->bytes.len - h->at < 4) {
    return cut_off(h, err);
  }
  *out = tn_load_be32(h->bytes.data + h->at);
  h->at += 4;
  return TARN_OK;
}

static tarn_status take_utf(head *h, tn_slice *out, tarn_error *err) {
  size_t length, n;
  uint8_t *text;
  if (h->bytes.len - h->at < 2) {
    return cut_off(h, err);
  }
  length = tn_load_be16(h->bytes.data + h->at);
  if (h->bytes.len - h->at - 2 < length) {
    return cut_off(h, err);
  }
  text = tn_arena_alloc(&h->index->arena, length);
  if (text == NULL) {
    return tn_oom(err);
  }
  n = decode_modified_utf8(tn_slice_of(h->bytes.data + h->at + 2, length), text);
  if (n == SIZE_MAX) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: file index: a name at %zu is not modified UTF-8",
                   h->index->path, h->at);
  }
  *out = tn_slice_of(text, n);
  h->at += 2 + length;
  return TARN_OK;
}

static tarn_status take_part(head *h, tn_slice column, tn_index_part *out, tarn_error *err) {
  uint32_t start, length;
  out->column = column;
  TN_TRY(take_utf(h, &out->kind, err));
  TN_TRY(take_u32(h, &start, err));
  TN_TRY(take_u32(h, &length, err));
  if (start == EMPTY_START && length == 0) {
    out->start = -1;
    return TARN_OK;
  }
  out->start = start;
  out->length = length;
  if (out->start > h->index->length || out->length > h->index->length - out->start) {
    return tn_fail(err, TARN_E_CORRUPT,
                   "%s: file index: %.*s of column %.*s: %lld bytes at %lld are not within %lld",
                   h->index->path, TN_SLICE_ARG(out->kind), TN_SLICE_ARG(column),
                   (long long)out->length, (long long)out->start, (long long)h->index->length);
  }
  return TARN_OK;
}

static tarn_status take_columns(head *h, uint32_t n_columns, tarn_error *err) {
  tn_file_index *index = h->index;
  void *parts = NULL;
  size_t capacity = 0;
  for (uint32_t i = 0; i < n_columns; i++) {
    tn_slice name;
    uint32_t n;
    TN_TRY(take_utf(h, &name, err));
    TN_TRY(take_u32(h, &n, err));
    if (n > (h->bytes.len - h->at) / LEAST_PART_BYTES) {
      return cut_off(h, err);
    }
    for (; n > 0; n--) {
      if (!tn_arena_grow(&index->arena, &parts, &capacity, (size_t)index->n_parts,
                         sizeof(tn_index_part))) {
        return tn_oom(err);
      }
      index->parts = parts;
      index->parts[index->n_parts] = (tn_index_part){0};
      TN_TRY(take_part(h, name, &index->parts[index->n_parts], err));
      index->n_parts++;
    }
  }
  return TARN_OK;
}

bool tn_file_index_is(tn_slice bytes) {
  return bytes.len >= 8 && tn_load_be64(bytes.data) == MAGIC;
}

/* The size of the head, from its fixed part. */
static tarn_status head_size(const tn_file_index *index, tn_slice bytes, size_t *out,
                             tarn_error *err) {
  uint32_t version, size;
  if (bytes.len < FIXED_HEAD_BYTES || !tn_file_index_is(bytes)) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: not a file index: %zu bytes, or another magic",
                   index->path, bytes.len);
  }
  version = tn_load_be32(bytes.data + 8);
  size = tn_load_be32(bytes.data + 12);
  if (version != VERSION) {
    return tn_fail(err, TARN_E_UNSUPPORTED, "%s: file index of version %lu", index->path,
                   (unsigned long)version);
  }
  if (size < FIXED_HEAD_BYTES || (int64_t)size > index->length) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: file index: head of %lu bytes in %lld", index->path,
                   (unsigned long)size, (long long)index->length);
  }
  *out = size;
  return TARN_OK;
}

static tarn_status parse_head(tn_file_index *index, tn_slice bytes, tarn_error *err) {
  head h = {index, bytes, FIXED_HEAD_BYTES};
  uint32_t n_columns = tn_load_be32(bytes.data + FIXED_HEAD_BYTES - 4), n_more;
  if (n_columns > (bytes.len - h.at) / LEAST_COLUMN_BYTES) {
    return cut_off(&h, err);
  }
  TN_TRY(take_columns(&h, n_columns, err));
  TN_TRY(take_u32(&h, &n_more, err));
  return n_more <= bytes.len - h.at ? TARN_OK : cut_off(&h, err);
}

/* ------------------------------------------------------------------ open */

static tarn_status create_index(tarn_env *env, const char *path, tn_file_index **out,
                                tarn_error *err) {
  tn_file_index *index = tn_calloc(&env->mem, 1, sizeof(*index));
  *out = NULL;
  if (index == NULL) {
    return tn_oom(err);
  }
  index->env = env;
  tn_arena_init(&index->arena, &env->mem, HEAD_LIMIT);
  index->path = tn_arena_strdup(&index->arena, path);
  if (index->path == NULL) {
    tn_file_index_release(index);
    return tn_oom(err);
  }
  *out = index;
  return TARN_OK;
}

static tarn_status open_bytes(tn_file_index *index, tn_slice bytes, tarn_error *err) {
  size_t n;
  index->bytes = bytes;
  index->length = (int64_t)bytes.len;
  TN_TRY(head_size(index, bytes, &n, err));
  return parse_head(index, tn_slice_of(bytes.data, n), err);
}

tarn_status tn_file_index_open(tarn_env *env, tn_slice bytes, const char *path, tn_file_index **out,
                               tarn_error *err) {
  tarn_status st;
  TN_TRY(create_index(env, path, out, err));
  st = open_bytes(*out, bytes, err);
  if (st != TARN_OK) {
    tn_file_index_release(*out);
    *out = NULL;
  }
  return st;
}

static tarn_status read_piece(tn_file_index *index, int64_t offset, uint8_t *to, size_t n,
                              tarn_error *err) {
  return n > 0 ? tn_file_read(index->file, offset, to, n, err) : TARN_OK;
}

static tarn_status open_file(tn_file_index *index, tarn_error *err) {
  size_t n_first, n_head;
  uint8_t *first, *whole;
  index->length = index->file->size_bytes;
  n_first = index->length < (int64_t)FIRST_READ_BYTES ? (size_t)index->length : FIRST_READ_BYTES;
  first = tn_arena_alloc(&index->arena, n_first);
  if (first == NULL) {
    return tn_oom(err);
  }
  TN_TRY(read_piece(index, 0, first, n_first, err));
  if ((int64_t)n_first == index->length) {
    tn_file_release(index->file);
    index->file = NULL;
    return open_bytes(index, tn_slice_of(first, n_first), err);
  }
  TN_TRY(head_size(index, tn_slice_of(first, n_first), &n_head, err));
  whole = first;
  if (n_head > n_first) {
    TN_TRY(tn_env_reserve(index->env, n_head, "the head of a file index", err));
    tn_unreserve(&index->env->mem, n_head);
    whole = tn_arena_alloc(&index->arena, n_head);
    if (whole == NULL) {
      return tn_oom(err);
    }
    memcpy(whole, first, n_first);
    TN_TRY(read_piece(index, (int64_t)n_first, whole + n_first, n_head - n_first, err));
  }
  return parse_head(index, tn_slice_of(whole, n_head), err);
}

tarn_status tn_file_index_load(tarn_env *env, tn_storage *storage, const char *path,
                               tn_file_index **out, tarn_error *err) {
  tarn_status st;
  TN_TRY(create_index(env, path, out, err));
  st = tn_storage_open(storage, path, &(*out)->file, err);
  if (st == TARN_OK) {
    st = open_file(*out, err);
  }
  if (st != TARN_OK) {
    tn_file_index_release(*out);
    *out = NULL;
  }
  return st;
}

void tn_file_index_release(tn_file_index *index) {
  if (index != NULL) {
    tn_file_release(index->file);
    tn_arena_reset(&index->arena);
    tn_free(&index->env->mem, index);
  }
}

const tn_index_part *tn_file_index_parts(const tn_file_index *index, int32_t *n_parts) {
  *n_parts = index->n_parts;
  return index->parts;
}

/* ------------------------------------------------------------------ questions */

typedef struct question {
  const tn_file_index *index;
  const tn_field *fields;
  int32_t n_fields;
  int64_t n_rows;
  tn_arena arena;
  size_t reserved_bytes;
  tn_payload *payloads; /* a part each; kind NULL: not opened yet, or not understood */
} question;

static tarn_status open_question(const tn_file_index *index, int64_t n_rows, question *q,
                                 tarn_error *err) {
  *q = (question){.index = index, .n_rows = n_rows};
  tn_arena_init(&q->arena, &index->env->mem, QUESTION_LIMIT);
  q->payloads = tn_arena_calloc(&q->arena, (size_t)index->n_parts + 1, sizeof(*q->payloads));
  return q->payloads != NULL ? TARN_OK : tn_oom(err);
}

static void close_question(question *q) {
  for (int32_t i = 0; i < q->index->n_parts && q->payloads != NULL; i++) {
    tn_payload *p = &q->payloads[i];
    if (p->kind != NULL && p->kind->drop_state != NULL && p->state != NULL) {
      p->kind->drop_state(p->state);
    }
  }
  tn_arena_reset(&q->arena);
  tn_unreserve(&q->index->env->mem, q->reserved_bytes);
}

/* type NULL: not known. */
static tarn_status open_payload(question *q, int32_t i, const tn_payload_kind *kind,
                                const tn_type *type, tn_payload **out, tarn_error *err) {
  const tn_file_index *index = q->index;
  const tn_index_part *part = &index->parts[i];
  tn_payload *p = &q->payloads[i];
  *out = p;
  if (p->kind != NULL) {
    return TARN_OK;
  }
  p->env = index->env;
  p->where = tn_arena_printf(&q->arena, "%s: %s index of column %.*s", index->path, kind->name,
                             TN_SLICE_ARG(part->column));
  if (p->where == NULL) {
    return tn_oom(err);
  }
  p->file = index->file;
  p->start = part->start;
  p->length = (size_t)part->length;
  if (index->file == NULL) {
    p->bytes = tn_slice_of(index->bytes.data + part->start, p->length);
  }
  p->arena = &q->arena;
  p->reserved_bytes = &q->reserved_bytes;
  p->type = type;
  p->n_rows = q->n_rows;
  if (type != NULL) {
    p->code = tn_index_code_of(type);
  }
  p->kind = kind;
  return TARN_OK;
}

/* An index that saw no value: every row has null. Rule: EmptyFileIndexReader. */
static tn_index_verdict test_empty(tn_pred_op op) {
  switch (op) {
    case TN_PRED_EQ:
    case TN_PRED_IN:
    case TN_PRED_LT:
    case TN_PRED_LE:
    case TN_PRED_GT:
    case TN_PRED_GE:
    case TN_PRED_IS_NOT_NULL:
    case TN_PRED_STARTS_WITH:
    case TN_PRED_ENDS_WITH:
    case TN_PRED_CONTAINS:
      return TN_INDEX_SKIP;
    default:
      return TN_INDEX_REMAIN;
  }
}

/* No rows are SKIP, all rows REMAIN. */
static void tidy(tn_index_result *result, int64_t n_rows) {
  if (result->verdict == TN_INDEX_ROWS) {
    int64_t n = tn_index_result_rows(result);
    if (n == 0 || n == n_rows) {
      tn_index_result_reset(result);
      result->verdict = n_rows == 0 || n > 0 ? TN_INDEX_REMAIN : TN_INDEX_SKIP;
    }
  }
}

static tarn_status test_part(question *q, int32_t i, const tn_field *field, const tn_pred *leaf,
                             tn_index_result *out, tarn_error *err) {
  const tn_payload_kind *kind = find_kind(q->index->parts[i].kind);
  tn_payload *payload;
  tarn_status st;
  if (q->index->parts[i].start < 0) {
    out->verdict = test_empty(leaf->op);
    return TARN_OK;
  }
  if (kind == NULL) {
    return TARN_OK;
  }
  TN_TRY(open_payload(q, i, kind, &field->type, &payload, err));
  if (payload->code.form == TN_INDEX_NONE || payload->is_unknown) {
    return TARN_OK;
  }
  st = kind->test(payload, leaf, out, err);
  if (st == TARN_E_UNSUPPORTED) {
    payload->is_unknown = true;
    tn_log(q->index->env, TARN_LOG_DEBUG, "event=file_index_not_understood index=\"%s\"",
           payload->where);
    return TARN_OK;
  }
  tidy(out, q->n_rows);
  return st;
}

/* All indexes of the leaf's column. */
static tarn_status test_leaf(question *q, const tn_pred *leaf, tn_index_result *out,
                             tarn_error *err) {
  int32_t at = tn_fields_find_id(q->fields, q->n_fields, leaf->field_id);
  if (at < 0 || leaf->n_path > 0 || !tn_type_equal(&q->fields[at].type, &leaf->type, false)) {
    return TARN_OK;
  }
  for (int32_t i = 0; i < q->index->n_parts && out->verdict != TN_INDEX_SKIP; i++) {
    tn_index_result one = {0};
    if (!tn_slice_is(q->index->parts[i].column, q->fields[at].name)) {
      continue;
    }
    TN_TRY(test_part(q, i, &q->fields[at], leaf, &one, err));
    tn_index_result_and(out, &one);
  }
  return TARN_OK;
}

/* Depth: TN_PRED_MAX_DEPTH. */
static tarn_status test_node(question *q, const tn_pred *pred, tn_index_result *out,
                             tarn_error *err) {
  bool is_or = pred->op == TN_PRED_OR;
  if (pred->op == TN_PRED_TRUE || pred->op == TN_PRED_FALSE) {
    out->verdict = pred->op == TN_PRED_TRUE ? TN_INDEX_REMAIN : TN_INDEX_SKIP;
    return TARN_OK;
  }
  if (pred->op != TN_PRED_AND && !is_or) {
    return test_leaf(q, pred, out, err);
  }
  out->verdict = is_or ? TN_INDEX_SKIP : TN_INDEX_REMAIN;
  for (int32_t i = 0; i < pred->n_children; i++) {
    tn_index_result child = {0};
    tarn_status st = test_node(q, pred->children[i], &child, err);
    if (st != TARN_OK) {
      tn_index_result_reset(&child);
      return st;
    }
    if (is_or) {
      tn_index_result_or(out, &child);
    } else {
      tn_index_result_and(out, &child);
    }
    if (out->verdict == (is_or ? TN_INDEX_REMAIN : TN_INDEX_SKIP)) {
      break;
    }
  }
  return TARN_OK;
}

tarn_status tn_file_index_test(const tn_file_index *index, const tn_field *fields, int32_t n_fields,
                               int64_t n_rows, const tn_pred *pred, tn_index_result *out,
                               tarn_error *err) {
  question q;
  tarn_status st;
  if (n_rows < 0 || n_rows > INT32_MAX) {
    return TN_BUG(err, "a file index of a file with more than 2^31 - 1 rows");
  }
  st = open_question(index, n_rows, &q, err);
  q.fields = fields;
  q.n_fields = n_fields;
  if (st == TARN_OK) {
    st = test_node(&q, pred, out, err);
    tidy(out, n_rows);
  }
  close_question(&q);
  if (st != TARN_OK) {
    tn_index_result_reset(out);
  }
  return st;
}

/* ------------------------------------------------------------------ describe */

static tarn_status describe_part(question *q, int32_t i, tn_buf *out, tarn_error *err) {
  const tn_index_part *part = &q->index->parts[i];
  const tn_payload_kind *kind = find_kind(part->kind);
  tn_payload *payload;
  TN_TRY(tn_buf_text(out, "{\"type\":", err));
  TN_TRY(tn_json_quote(out, part->kind, err));
  TN_TRY(tn_buf_printf(out, err, ",\"start\":%lld,\"length\":%lld", (long long)part->start,
                       (long long)part->length));
  if (kind != NULL && part->start >= 0) {
    TN_TRY(open_payload(q, i, kind, NULL, &payload, err));
    TN_TRY(kind->describe(payload, out, err));
  }
  return tn_buf_text(out, "}", err);
}

static tarn_status describe_all(question *q, tn_buf *out, tarn_error *err) {
  const tn_index_part *parts = q->index->parts;
  TN_TRY(tn_buf_text(out, "[", err));
  for (int32_t i = 0; i < q->index->n_parts; i++) {
    /* Parts of one column follow each other and share its name's bytes. */
    if (i == 0 || parts[i].column.data != parts[i - 1].column.data) {
      TN_TRY(tn_buf_text(out, i == 0 ? "{\"name\":" : "]},{\"name\":", err));
      TN_TRY(tn_json_quote(out, parts[i].column, err));
      TN_TRY(tn_buf_text(out, ",\"indexes\":[", err));
    } else {
      TN_TRY(tn_buf_text(out, ",", err));
    }
    TN_TRY(describe_part(q, i, out, err));
  }
  return tn_buf_text(out, q->index->n_parts > 0 ? "]}]" : "]", err);
}

tarn_status tn_file_index_describe(const tn_file_index *index, tn_buf *out, tarn_error *err) {
  question q;
  tarn_status st = open_question(index, -1, &q, err);
  if (st == TARN_OK) {
    st = describe_all(&q, out, err);
  }
  close_question(&q);
  return st;
}
