/* avro.c - the container around Avro records: header, blocks, stepping over encoded values; and
 * opening a data file. */
#include "format/avro/avro.h"
#include "base/bytes.h"
#include "base/checked.h"
#include "codec/hash.h"
#include "format/avro/avro_file.h"

#define FIRST_READ_BYTES ((size_t)32 << 10)

static const uint8_t magic[4] = {'O', 'b', 'j', 1};

typedef struct named_codec {
  const char *name;
  tn_codec_id id;
} named_codec;

static const named_codec codecs[] = {
    {"null", TN_CODEC_NONE},      {"deflate", TN_CODEC_DEFLATE}, {"snappy", TN_CODEC_SNAPPY},
    {"zstandard", TN_CODEC_ZSTD}, {"bzip2", TN_CODEC_BZIP2},     {"xz", TN_CODEC_XZ},
};

/* ------------------------------------------------------------------ header */

typedef enum step { STEP_OK, STEP_SHORT, STEP_BAD } step;

/* A long at `at`, moving it on. The bytes may end before it does. */
static step next_long(tn_slice bytes, size_t *at, int64_t *out) {
  uint64_t v = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    uint8_t b;
    if (*at >= bytes.len) {
      return STEP_SHORT;
    }
    b = bytes.data[(*at)++];
    if (shift == 63 && b > 1) {
      return STEP_BAD;
    }
    v |= (uint64_t)(b & 0x7f) << shift;
    if (b < 0x80) {
      *out = tn_avro_unzigzag(v);
      return STEP_OK;
    }
  }
  return STEP_BAD;
}

static step next_run(tn_slice bytes, size_t *at, tn_slice *out) {
  int64_t n;
  step s = next_long(bytes, at, &n);
  if (s != STEP_OK) {
    return s;
  }
  if (n < 0 || (uint64_t)n > TN_AVRO_MAX_HEADER_BYTES) {
    return STEP_BAD;
  }
  if ((size_t)n > bytes.len - *at) {
    return STEP_SHORT;
  }
  *out = tn_slice_of(bytes.data + *at, (size_t)n);
  *at += (size_t)n;
  return STEP_OK;
}

/* The metadata map; the values that matter are taken out of it, the last of a key wins. */
static step next_metadata(tn_slice bytes, size_t *at, tn_slice *schema, tn_slice *codec) {
  for (;;) {
    int64_t count, n_bytes;
    step s = next_long(bytes, at, &count);
    if (s != STEP_OK || count == 0) {
      return s;
    }
    if (count < 0) {
      count = count == INT64_MIN ? INT64_MAX : -count;
      s = next_long(bytes, at, &n_bytes);
      if (s != STEP_OK) {
        return s;
      }
    }
    for (; count > 0; count--) { /* an entry takes two bytes at least, so this ends */
      tn_slice key, value;
      if ((s = next_run(bytes, at, &key)) != STEP_OK ||
          (s = next_run(bytes, at, &value)) != STEP_OK) {
        return s;
      }
      if (tn_slice_is(key, "avro.schema")) {
        *schema = value;
      } else if (tn_slice_is(key, "avro.codec")) {
        *codec = value;
      }
    }
  }
}

static tarn_status find_codec(tn_slice name, const char *path, tn_codec_id *out, tarn_error *err) {
  for (size_t i = 0; i < TN_COUNT(codecs); i++) {
    if (tn_slice_is(name, codecs[i].name)) {
      *out = codecs[i].id;
      if (*out == TN_CODEC_BZIP2 || *out == TN_CODEC_XZ) {
        break;
      }
      return TARN_OK;
    }
  }
  return tn_fail(err, TARN_E_UNSUPPORTED,
                 "%s: Avro codec '%.*s' is not supported (null, deflate, snappy and zstandard are)",
                 path, TN_SLICE_ARG(name));
}

static tarn_status take_root(const tn_avro_node *root, const char *path, tn_avro_header *out,
                             tarn_error *err) {
  out->record = root;
  out->record_branch = -1;
  if (root->kind == TN_AVRO_UNION) {
    /* Paimon before 1.1 wrote the root of data files so. */
    for (int32_t i = 0; i < root->n_children; i++) {
      if (root->children[i]->kind == TN_AVRO_RECORD && out->record_branch < 0) {
        out->record = root->children[i];
        out->record_branch = i;
      }
    }
  }
  if (out->record->kind != TN_AVRO_RECORD) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: the root of the Avro schema is of type %s, not record",
                   path, tn_avro_kind_name(out->record->kind));
  }
  return TARN_OK;
}

static tarn_status parse_schema(tn_arena *arena, const char *path, tn_avro_header *out,
                                tarn_error *err) {
  tn_json_doc *doc = NULL;
  const tn_avro_node *root;
  tarn_status st;
  TN_TRY_TO(done, tn_json_parse(arena->mem, out->schema_json, path, &doc, err));
  TN_TRY_TO(done, tn_avro_schema_parse(arena, tn_json_root(doc), path, &root, err));
  TN_TRY_TO(done, take_root(root, path, out, err));
done:
  tn_json_free(doc);
  return st;
}

tarn_status tn_avro_header_decode(tn_arena *arena, tn_slice bytes, const char *path,
                                  tn_avro_header *out, bool *is_short, tarn_error *err) {
  tn_slice schema = {NULL, 0};
  tn_slice codec = tn_slice_text("null");
  size_t at = sizeof(magic);
  step s;
  memset(out, 0, sizeof(*out));
  *is_short = bytes.len < sizeof(magic);
  if (bytes.len > 0 && memcmp(bytes.data, magic, *is_short ? bytes.len : sizeof(magic)) != 0) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: not an Avro file: it does not begin with \"Obj\" 01",
                   path);
  }
  if (*is_short) {
    return TARN_OK;
  }
  s = next_metadata(bytes, &at, &schema, &codec);
  if (s == STEP_BAD) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: byte %zu: bad metadata of the Avro file", path, at);
  }
  if (s == STEP_SHORT || bytes.len - at < TN_AVRO_SYNC_BYTES) {
    *is_short = true;
    return TARN_OK;
  }
  memcpy(out->sync, bytes.data + at, TN_AVRO_SYNC_BYTES);
  out->n_bytes = at + TN_AVRO_SYNC_BYTES;
  if (schema.data == NULL) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: no avro.schema in the Avro file", path);
  }
  TN_TRY(find_codec(codec, path, &out->codec, err));
  out->codec_name = tn_arena_strndup(arena, (const char *)codec.data, codec.len);
  if (out->codec_name == NULL || !tn_arena_slice(arena, schema, &out->schema_json)) {
    return tn_oom(err);
  }
  return parse_schema(arena, path, out, err);
}

/* ------------------------------------------------------------------ blocks */

tarn_status tn_avro_block_decode(tn_slice bytes, int64_t offset, int64_t file_bytes,
                                 const char *path, tn_avro_block *out, tarn_error *err) {
  size_t at = 0;
  out->offset = offset;
  if (next_long(bytes, &at, &out->n_records) != STEP_OK ||
      next_long(bytes, &at, &out->n_bytes) != STEP_OK || out->n_records < 0 || out->n_bytes < 0) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: offset %lld: bad or cut head of an Avro block", path,
                   (long long)offset);
  }
  out->data_offset = offset + (int64_t)at;
  if (out->n_bytes > file_bytes - out->data_offset - TN_AVRO_SYNC_BYTES) {
    return tn_fail(
        err, TARN_E_CORRUPT,
        "%s: offset %lld: an Avro block of %lld bytes runs past the end of the file at %lld", path,
        (long long)offset, (long long)out->n_bytes, (long long)file_bytes);
  }
  return TARN_OK;
}

tarn_status tn_avro_sync_check(const tn_avro_header *header, const uint8_t *marker, int64_t offset,
                               const char *path, tarn_error *err) {
  if (memcmp(header->sync, marker, TN_AVRO_SYNC_BYTES) != 0) {
    return tn_fail(err, TARN_E_CORRUPT,
                   "%s: offset %lld: the sync marker behind an Avro block is another than that of "
                   "the file",
                   path, (long long)offset);
  }
  return TARN_OK;
}

static tarn_status open_snappy(tn_codec_context *context, tn_slice stored, tn_buf *buf,
                               tarn_error *err) {
  uint32_t expected, found;
  if (stored.len < 4) {
    return tn_fail(err, TARN_E_CORRUPT, "no room for the checksum behind snappy data");
  }
  stored.len -= 4;
  expected = tn_load_be32(stored.data + stored.len);
  TN_TRY(tn_decompress_all(context, TN_CODEC_SNAPPY, stored, buf, err));
  found = tn_crc32(0, buf->data, buf->len);
  if (expected != found) {
    return tn_fail(err, TARN_E_CORRUPT, "checksum of snappy data is %08x, expected %08x", found,
                   expected);
  }
  return TARN_OK;
}

void tn_avro_unpacker_init(tn_avro_unpacker *unpacker, tarn_env *env) {
  size_t limit = env->mem.budget_bytes < TN_AVRO_MAX_BLOCK_BYTES ? env->mem.budget_bytes
                                                                 : TN_AVRO_MAX_BLOCK_BYTES;
  memset(unpacker, 0, sizeof(*unpacker));
  unpacker->env = env;
  tn_buf_init(&unpacker->buf, &env->mem, limit);
}

void tn_avro_unpacker_reset(tn_avro_unpacker *unpacker) {
  if (unpacker->env == NULL) {
    return;
  }
  tn_codec_context_give(unpacker->context);
  tn_buf_reset(&unpacker->buf);
  tn_unreserve(&unpacker->env->mem, unpacker->reserved_bytes);
  memset(unpacker, 0, sizeof(*unpacker));
}

static tarn_status unpack(tn_avro_unpacker *unpacker, tn_codec_id codec, tn_slice stored,
                          tarn_error *err) {
  if (unpacker->context == NULL) {
    TN_TRY(tn_codec_context_take(unpacker->env, &unpacker->context, err));
  }
  if (codec == TN_CODEC_SNAPPY) {
    TN_TRY(open_snappy(unpacker->context, stored, &unpacker->buf, err));
  } else {
    TN_TRY(tn_decompress_all(unpacker->context, codec, stored, &unpacker->buf, err));
  }
  if (unpacker->buf.capacity > unpacker->reserved_bytes) {
    size_t more = unpacker->buf.capacity - unpacker->reserved_bytes;
    TN_TRY(tn_env_reserve(unpacker->env, more, "an Avro block", err));
    unpacker->reserved_bytes += more;
  }
  return TARN_OK;
}

tarn_status tn_avro_unpack(tn_avro_unpacker *unpacker, const tn_avro_header *header,
                           const tn_avro_block *block, tn_slice stored, const char *path,
                           tn_slice *out, tarn_error *err) {
  tarn_status st;
  if (header->codec == TN_CODEC_NONE) {
    *out = stored;
    return TARN_OK;
  }
  st = unpack(unpacker, header->codec, stored, err);
  if (st != TARN_OK) {
    return tn_error_context(err, st, "%s: Avro block at offset %lld", path,
                            (long long)block->offset);
  }
  *out = tn_buf_slice(&unpacker->buf);
  return TARN_OK;
}

/* ------------------------------------------------------------------ programs */

void tn_avro_program_init(tn_avro_program *program, tn_mem *mem) {
  memset(program, 0, sizeof(*program));
  program->mem = mem;
}

void tn_avro_program_reset(tn_avro_program *program) {
  tn_free(program->mem, program->ops);
  tn_avro_program_init(program, program->mem);
}

tarn_status tn_avro_emit(tn_avro_program *program, uint8_t code, int32_t *index, tarn_error *err) {
  tn_avro_op *op;
  if (program->count == program->capacity) {
    int32_t more = program->capacity > 0 ? program->capacity * 2 : 64;
    tn_avro_op *ops;
    if (program->count >= TN_AVRO_MAX_OPS) {
      return tn_fail(err, TARN_E_LIMIT, "the Avro schema unfolds to more than %d steps",
                     TN_AVRO_MAX_OPS);
    }
    ops = tn_realloc(program->mem, program->ops, (size_t)more * sizeof(*ops));
    if (ops == NULL) {
      return tn_oom(err);
    }
    program->ops = ops;
    program->capacity = more;
  }
  op = &program->ops[program->count];
  memset(op, 0, sizeof(*op));
  op->code = code;
  op->null_branch = -1;
  op->item_null = -1;
  *index = program->count++;
  return TARN_OK;
}

/* One more of a kind of step, joined with the last one when that is of the same kind. */
static tarn_status emit_count(tn_avro_program *program, uint8_t code, uint32_t n, int32_t from,
                              tarn_error *err) {
  int32_t last = program->count - 1;
  if (n == 0) {
    return TARN_OK;
  }
  if (last < from || program->ops[last].code != code || program->ops[last].n > UINT32_MAX / 2 ||
      n > UINT32_MAX / 2) {
    TN_TRY(tn_avro_emit(program, code, &last, err));
  }
  program->ops[last].n += n;
  return TARN_OK;
}

/* A body of its own: steps over `node`, then the end. */
static tarn_status emit_skip_body(tn_avro_program *program, const tn_avro_node *node, bool has_key,
                                  int32_t *body, tarn_error *err) {
  int32_t end;
  *body = program->count;
  if (has_key) {
    TN_TRY(emit_count(program, TN_AVRO_OP_SKIP_RUNS, 1, *body, err));
  }
  TN_TRY(tn_avro_emit_skip(program, node, *body, err));
  return tn_avro_emit(program, TN_AVRO_OP_END, &end, err);
}

static tarn_status emit_skip_items(tn_avro_program *program, const tn_avro_node *node,
                                   tarn_error *err) {
  int32_t at, body;
  bool is_map = node->kind == TN_AVRO_MAP;
  TN_TRY(tn_avro_emit(program, TN_AVRO_OP_SKIP_ITEMS, &at, err));
  TN_TRY(emit_skip_body(program, node->children[0], is_map, &body, err));
  program->ops[at].body = body;
  program->ops[at].next = program->count;
  program->ops[at].min_bytes = node->children[0]->min_bytes + is_map;
  return TARN_OK;
}

static tarn_status emit_skip_union(tn_avro_program *program, const tn_avro_node *node,
                                   tarn_error *err) {
  const tn_avro_node *value;
  int null_branch = tn_avro_nullable(node, &value);
  int32_t at, body;
  if (null_branch >= 0) {
    TN_TRY(tn_avro_emit(program, TN_AVRO_OP_SKIP_NULLABLE, &at, err));
    TN_TRY(emit_skip_body(program, value, false, &body, err));
    program->ops[at].null_branch = (int8_t)null_branch;
    program->ops[at].body = body;
    program->ops[at].next = program->count;
    return TARN_OK;
  }
  TN_TRY(tn_avro_emit(program, TN_AVRO_OP_SKIP_UNION, &at, err));
  program->ops[at].n = (uint32_t)node->n_children;
  for (int32_t i = 0; i < node->n_children; i++) {
    TN_TRY(tn_avro_emit(program, TN_AVRO_OP_BRANCH, &body, err));
  }
  for (int32_t i = 0; i < node->n_children; i++) {
    TN_TRY(emit_skip_body(program, node->children[i], false, &body, err));
    program->ops[at + 1 + i].body = body;
  }
  program->ops[at].next = program->count;
  return TARN_OK;
}

tarn_status tn_avro_emit_skip(tn_avro_program *program, const tn_avro_node *node, int32_t from,
                              tarn_error *err) {
  switch (node->kind) {
    case TN_AVRO_NULL:
      return TARN_OK;
    case TN_AVRO_BOOLEAN:
    case TN_AVRO_FLOAT:
    case TN_AVRO_DOUBLE:
    case TN_AVRO_FIXED:
      return emit_count(program, TN_AVRO_OP_SKIP_BYTES, (uint32_t)node->min_bytes, from, err);
    case TN_AVRO_INT:
    case TN_AVRO_LONG:
    case TN_AVRO_ENUM:
      return emit_count(program, TN_AVRO_OP_SKIP_VARINTS, 1, from, err);
    case TN_AVRO_BYTES:
    case TN_AVRO_STRING:
      return emit_count(program, TN_AVRO_OP_SKIP_RUNS, 1, from, err);
    case TN_AVRO_RECORD:
      for (int32_t i = 0; i < node->n_children; i++) {
        TN_TRY(tn_avro_emit_skip(program, node->children[i], from, err));
      }
      return TARN_OK;
    case TN_AVRO_ARRAY:
    case TN_AVRO_MAP:
      return emit_skip_items(program, node, err);
    case TN_AVRO_UNION:
      return emit_skip_union(program, node, err);
  }
  return TN_BUG(err, "an Avro type without a kind");
}

/* ------------------------------------------------------------------ walking */

void tn_avro_walk_begin(tn_avro_walk *walk, const tn_avro_program *program, tn_slice data) {
  walk->ops = program->ops;
  walk->end = data.data + data.len;
  walk->fault = NULL;
  walk->spot = NULL;
  walk->field = NULL;
  walk->empty_items = TN_AVRO_MAX_EMPTY_ITEMS;
}

tarn_status tn_avro_walk_fail(const tn_avro_walk *walk, tn_slice data, const tn_avro_block *block,
                              const char *path, tarn_error *err) {
  return tn_fail(
      err, TARN_E_CORRUPT, "%s: Avro block at offset %lld, byte %lld of its data: %s%s%s", path,
      (long long)block->offset, walk->spot != NULL ? (long long)(walk->spot - data.data) : -1LL,
      walk->field != NULL ? walk->field : "", walk->field != NULL ? ": " : "",
      walk->fault != NULL ? walk->fault : "cannot be decoded");
}

const uint8_t *tn_avro_varint_slow(tn_avro_walk *walk, const uint8_t *p, uint64_t *out) {
  uint64_t v = 0;
  const uint8_t *start = p;
  for (int shift = 0; shift < 64; shift += 7) {
    uint8_t b;
    if (p >= walk->end) {
      return tn_avro_fault(walk, start, "a number runs past the end of the block");
    }
    b = *p++;
    if (shift == 63 && b > 1) {
      break;
    }
    v |= (uint64_t)(b & 0x7f) << shift;
    if (b < 0x80) {
      *out = v;
      return p;
    }
  }
  return tn_avro_fault(walk, start, "a number of more than 64 bits");
}

const uint8_t *tn_avro_items(tn_avro_walk *walk, const uint8_t *p, int64_t min_bytes,
                             int64_t *count, int64_t *n_bytes) {
  const uint8_t *start = p;
  *n_bytes = -1;
  p = tn_avro_long(walk, p, count);
  if (p == NULL) {
    return NULL;
  }
  if (*count < 0) { /* a negative count has the size of the items behind it */
    if (*count == INT64_MIN) {
      return tn_avro_fault(walk, start, "a count of items that cannot be");
    }
    *count = -*count;
    p = tn_avro_long(walk, p, n_bytes);
    if (p == NULL) {
      return NULL;
    }
    if (*n_bytes < 0 || *n_bytes > walk->end - p) {
      return tn_avro_fault(walk, start, "items run past the end of the block");
    }
  }
  if (min_bytes > 0) {
    if (*count > (walk->end - p) / min_bytes) {
      return tn_avro_fault(walk, start, "more items than bytes for them");
    }
  } else {
    walk->empty_items -= *count <= walk->empty_items ? *count : walk->empty_items + 1;
    if (walk->empty_items < 0) {
      return tn_avro_fault(walk, start, "too many items without bytes");
    }
  }
  return p;
}

static const uint8_t *skip_items(tn_avro_walk *walk, const tn_avro_op *op, const uint8_t *p) {
  for (;;) {
    int64_t count, n_bytes;
    p = tn_avro_items(walk, p, op->min_bytes, &count, &n_bytes);
    if (p == NULL || count == 0) {
      return p;
    }
    if (n_bytes >= 0) {
      p += n_bytes;
      continue;
    }
    for (; count > 0 && p != NULL; count--) {
      p = tn_avro_skip_body(walk, op->body, p);
    }
    if (p == NULL) {
      return NULL;
    }
  }
}

static const uint8_t *skip_union(tn_avro_walk *walk, const tn_avro_op *op, const uint8_t *p) {
  const uint8_t *start = p;
  int64_t branch;
  p = tn_avro_long(walk, p, &branch);
  if (p == NULL) {
    return NULL;
  }
  if (branch < 0 || branch >= op->n) {
    return tn_avro_fault(walk, start, "a union has no such branch");
  }
  return tn_avro_skip_body(walk, op[1 + branch].body, p);
}

const uint8_t *tn_avro_skip_op(tn_avro_walk *walk, const tn_avro_op *op, const uint8_t *p) {
  uint64_t ignored;
  size_t n_bytes = 0;
  bool is_null = false;
  switch (op->code) {
    case TN_AVRO_OP_SKIP_VARINTS:
      for (uint32_t i = 0; i < op->n && p != NULL; i++) {
        p = tn_avro_varint(walk, p, &ignored);
      }
      return p;
    case TN_AVRO_OP_SKIP_BYTES:
      if (op->n > walk->end - p) {
        return tn_avro_fault(walk, p, "a value runs past the end of the block");
      }
      return p + op->n;
    case TN_AVRO_OP_SKIP_RUNS:
      for (uint32_t i = 0; i < op->n; i++) {
        p = tn_avro_run(walk, p, &n_bytes);
        if (p == NULL) {
          return NULL;
        }
        p += n_bytes;
      }
      return p;
    case TN_AVRO_OP_SKIP_ITEMS:
      return skip_items(walk, op, p);
    case TN_AVRO_OP_SKIP_NULLABLE:
      p = tn_avro_branch(walk, p, op->null_branch, &is_null);
      return p == NULL || is_null ? p : tn_avro_skip_body(walk, op->body, p);
    case TN_AVRO_OP_SKIP_UNION:
      return skip_union(walk, op, p);
    default:
      return tn_avro_fault(walk, p, "a step that is none");
  }
}

const uint8_t *tn_avro_skip_body(tn_avro_walk *walk, int32_t body, const uint8_t *p) {
  const tn_avro_op *op = &walk->ops[body];
  while (op->code != TN_AVRO_OP_END) {
    p = tn_avro_skip_op(walk, op, p);
    if (p == NULL) {
      return NULL;
    }
    op = op->next > 0 ? &walk->ops[op->next] : op + 1;
  }
  return p;
}

/* ------------------------------------------------------------------ opening a file */

static void release_file(tn_format_file *base) {
  tn_avro_file *f = (tn_avro_file *)base;
  tarn_env *env = base->env;
  tn_file_release(base->file);
  tn_arena_reset(&f->arena);
  tn_free(&env->mem, f);
}

/* A piece of the file that is at hand while it is opened: bytes [begin, begin + len). */
typedef struct piece {
  tn_buf buf;
  int64_t begin;
} piece;

/* Have `want` bytes at `offset` at hand, or what the file has of them. */
static tarn_status fetch(tn_file *file, piece *p, int64_t offset, size_t want, tn_slice *out,
                         tarn_error *err) {
  int64_t left = file->size_bytes - offset;
  size_t n = left < (int64_t)want ? (size_t)(left > 0 ? left : 0) : want;
  if (offset < p->begin || offset + (int64_t)n > p->begin + (int64_t)p->buf.len) {
    p->buf.len = 0;
    p->begin = offset;
    TN_TRY(tn_buf_reserve(&p->buf, n, err));
    TN_TRY(tn_file_read(file, offset, p->buf.data, n, err));
    p->buf.len = n;
  }
  *out = tn_slice_of(n > 0 ? p->buf.data + (offset - p->begin) : NULL, n);
  return TARN_OK;
}

static tarn_status open_header(tn_avro_file *f, piece *p, tarn_error *err) {
  tn_file *file = f->base.file;
  size_t want = FIRST_READ_BYTES;
  for (;;) {
    bool is_short;
    tn_slice bytes;
    TN_TRY(fetch(file, p, 0, want, &bytes, err));
    TN_TRY(tn_avro_header_decode(&f->arena, bytes, file->path, &f->header, &is_short, err));
    if (!is_short) {
      return TARN_OK;
    }
    if ((int64_t)bytes.len >= file->size_bytes || want >= TN_AVRO_MAX_HEADER_BYTES) {
      return tn_fail(err, TARN_E_CORRUPT, "%s: the file of %lld bytes ends within its Avro header",
                     file->path, (long long)file->size_bytes);
    }
    want *= 4;
  }
}

static tarn_status add_block(tn_avro_file *f, const tn_avro_block *block, size_t *capacity,
                             tarn_error *err) {
  if (block->n_records == 0) {
    return TARN_OK;
  }
  if (!tn_arena_grow(&f->arena, (void **)&f->blocks, capacity, f->n_blocks, sizeof(*f->blocks))) {
    return tn_oom(err);
  }
  f->blocks[f->n_blocks].block = *block;
  f->blocks[f->n_blocks].first_row = f->base.n_rows;
  f->n_blocks++;
  if (!tn_add_i64(f->base.n_rows, block->n_records, &f->base.n_rows)) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: offset %lld: Avro blocks of more than 2^63 rows",
                   f->base.file->path, (long long)block->offset);
  }
  return TARN_OK;
}

/* Hop from block to block: their heads and markers are read, their data is not. */
static tarn_status open_blocks(tn_avro_file *f, piece *p, tarn_error *err) {
  tn_file *file = f->base.file;
  int64_t at = (int64_t)f->header.n_bytes;
  size_t capacity = 0;
  while (at < file->size_bytes) {
    tn_avro_block block;
    tn_slice head, tail;
    TN_TRY(fetch(file, p, at, TN_AVRO_BLOCK_HEADER_BYTES, &head, err));
    TN_TRY(tn_avro_block_decode(head, at, file->size_bytes, file->path, &block, err));
    at = block.data_offset + block.n_bytes;
    /* With the marker comes the head of the next block. */
    TN_TRY(fetch(file, p, at, TN_AVRO_SYNC_BYTES + TN_AVRO_BLOCK_HEADER_BYTES, &tail, err));
    TN_TRY(tn_avro_sync_check(&f->header, tail.data, at, file->path, err));
    at += TN_AVRO_SYNC_BYTES;
    TN_TRY(add_block(f, &block, &capacity, err));
  }
  return TARN_OK;
}

static tarn_status open_avro(tarn_env *env, tn_file *file, tn_format_file **out, tarn_error *err) {
  tarn_status st = TARN_OK;
  piece p = {.begin = 0};
  tn_avro_file *f = tn_calloc(&env->mem, 1, sizeof(*f));
  *out = NULL;
  if (f == NULL) {
    return tn_oom(err);
  }
  f->base.ops = &tn_avro_format;
  f->base.env = env;
  f->base.file = tn_file_retain(file);
  atomic_init(&f->base.refs, 1);
  tn_arena_init(&f->arena, &env->mem, SIZE_MAX);
  tn_buf_init(&p.buf, &env->mem, TN_AVRO_MAX_HEADER_BYTES * 4);
  TN_TRY_TO(done, open_header(f, &p, err));
  TN_TRY_TO(done, open_blocks(f, &p, err));
  *out = &f->base;
done:
  tn_buf_reset(&p.buf);
  if (st != TARN_OK) {
    release_file(&f->base);
  }
  return st;
}

/* Avro files have no statistics: nothing can be left out. */
static tarn_status prune_nothing(tn_format_file *file, const tn_field *fields, int32_t n_fields,
                                 const tn_pred *pred, tn_ranges *ranges, tarn_error *err) {
  (void)file, (void)fields, (void)n_fields, (void)pred, (void)ranges, (void)err;
  return TARN_OK;
}

const tn_format_ops tn_avro_format = {
    .name = "avro",
    .is_columnar = false,
    .open = open_avro,
    .release = release_file,
    .prune = prune_nothing,
    .read = tn_avro_file_read,
    .inspect = tn_avro_file_inspect,
    .schema = tn_avro_file_schema,
};
