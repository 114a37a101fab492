/* avro_records.c - manifests: container files of records straight into C structs.
 *
 * The writer's schema and the descriptors of the wanted fields become one flat program: nested
 * structs vanish into offsets, fields that nobody wants into steps that skip. Bytes and texts are
 * not copied: they point into the block. Arrays lie in a scratch that is used again for each
 * record.
 */
#include "format/avro/avro.h"
#include "format/avro/container.h"

enum {
  OP_FLAG = TN_AVRO_OP_OWN, /* a struct that is there */
  OP_INT,
  OP_LONG,
  OP_RUN,    /* bytes, string */
  OP_FIXED,  /* n bytes */
  OP_STRUCT, /* a struct that may be null: body */
  OP_INTS,   /* arrays; item_null tells whether items are nullable */
  OP_LONGS,
  OP_RUNS,
  OP_STRUCTS, /* body; n bytes a struct */
  OP_UNION,   /* n branches, a TN_AVRO_OP_BRANCH each follows */
  OP_NULL,    /* the value is null */
  OP_MISFIT   /* a branch of a union that cannot be the field's value */
};

/* ------------------------------------------------------------------ compiling */

typedef struct compiler {
  tn_avro_program program;
  const char *path;
  tarn_error *err;
} compiler;

/* Where a value goes. */
typedef struct place {
  const tn_record_field *field;
  size_t target, flag; /* offsets in the struct being filled */
} place;

static tarn_status emit_record(compiler *c, const tn_avro_node *record,
                               const tn_record_field *fields, int32_t n_fields, size_t base,
                               int32_t from);

static tarn_status misfit(compiler *c, const tn_record_field *field, const tn_avro_node *node) {
  return tn_fail(c->err, TARN_E_CORRUPT, "%s: field %s has the Avro type %s", c->path, field->name,
                 tn_avro_kind_name(node->kind));
}

static bool is_run(const tn_avro_node *node) {
  return node->kind == TN_AVRO_BYTES || node->kind == TN_AVRO_STRING;
}

static bool is_number(const tn_avro_node *node) {
  return node->kind == TN_AVRO_INT || node->kind == TN_AVRO_LONG;
}

/* Can a value of this type (no union) be read into the field? */
static bool fits(const tn_avro_node *node, tn_record_kind kind) {
  switch (kind) {
    case TN_RECORD_INT:
    case TN_RECORD_LONG:
      return is_number(node);
    case TN_RECORD_TEXT:
    case TN_RECORD_BYTES:
      return is_run(node) || node->kind == TN_AVRO_FIXED;
    case TN_RECORD_STRUCT:
      return node->kind == TN_AVRO_RECORD;
    default:
      return node->kind == TN_AVRO_ARRAY;
  }
}

static tarn_status emit_own(compiler *c, uint8_t code, const place *at, int null_branch,
                            int32_t *index) {
  tn_avro_op *op;
  TN_TRY(tn_avro_emit(&c->program, code, index, c->err));
  op = &c->program.ops[*index];
  op->null_branch = (int8_t)null_branch;
  op->is_nullable = null_branch >= 0;
  op->has_flag = at->field->flag_offset != TN_RECORD_NO_FLAG;
  op->target = (uint32_t)at->target;
  op->flag = op->has_flag ? (uint32_t)at->flag : 0;
  op->extra = at->field->name;
  return TARN_OK;
}

static tarn_status emit_array(compiler *c, const tn_avro_node *node, const place *at,
                              int null_branch) {
  const tn_record_field *field = at->field;
  const tn_avro_node *item;
  int item_null = tn_avro_nullable(node->children[0], &item);
  int32_t index, end;
  uint8_t code = OP_STRUCTS;
  bool does_fit = item_null >= -1;
  switch (field->kind) {
    case TN_RECORD_TEXTS:
      code = OP_RUNS;
      does_fit = does_fit && is_run(item);
      break;
    case TN_RECORD_LONGS:
    case TN_RECORD_INTS:
      code = field->kind == TN_RECORD_INTS ? OP_INTS : OP_LONGS;
      does_fit = does_fit && is_number(item);
      break;
    default:
      does_fit = does_fit && item->kind == TN_AVRO_RECORD;
      break;
  }
  if (!does_fit) {
    return tn_fail(c->err, TARN_E_CORRUPT, "%s: field %s is an array of the Avro type %s", c->path,
                   field->name, tn_avro_kind_name(item->kind));
  }
  TN_TRY(emit_own(c, code, at, null_branch, &index));
  c->program.ops[index].item_null = (int8_t)item_null;
  c->program.ops[index].min_bytes = node->children[0]->min_bytes;
  if (code == OP_STRUCTS) {
    int32_t body = c->program.count;
    c->program.ops[index].n = (uint32_t)field->struct_bytes;
    TN_TRY(emit_record(c, item, field->fields, field->n_fields, 0, body));
    TN_TRY(tn_avro_emit(&c->program, TN_AVRO_OP_END, &end, c->err));
    c->program.ops[index].body = body;
    c->program.ops[index].next = c->program.count;
  }
  return TARN_OK;
}

static tarn_status emit_struct(compiler *c, const tn_avro_node *node, const place *at,
                               int null_branch, int32_t from) {
  int32_t index, body, end;
  if (null_branch < 0) {
    if (at->field->flag_offset != TN_RECORD_NO_FLAG) {
      TN_TRY(emit_own(c, OP_FLAG, at, -1, &index));
    }
    return emit_record(c, node, at->field->fields, at->field->n_fields, at->target, from);
  }
  TN_TRY(emit_own(c, OP_STRUCT, at, null_branch, &index));
  body = c->program.count;
  TN_TRY(emit_record(c, node, at->field->fields, at->field->n_fields, at->target, body));
  TN_TRY(tn_avro_emit(&c->program, TN_AVRO_OP_END, &end, c->err));
  c->program.ops[index].body = body;
  c->program.ops[index].next = c->program.count;
  return TARN_OK;
}

/* A value of a type that is no union; null_branch as in tn_avro_op. */
static tarn_status emit_plain(compiler *c, const tn_avro_node *node, const place *at,
                              int null_branch, int32_t from) {
  int32_t index;
  if (!fits(node, at->field->kind)) {
    return misfit(c, at->field, node);
  }
  switch (at->field->kind) {
    case TN_RECORD_INT:
      return emit_own(c, OP_INT, at, null_branch, &index);
    case TN_RECORD_LONG:
      return emit_own(c, OP_LONG, at, null_branch, &index);
    case TN_RECORD_TEXT:
    case TN_RECORD_BYTES:
      TN_TRY(emit_own(c, node->kind == TN_AVRO_FIXED ? OP_FIXED : OP_RUN, at, null_branch, &index));
      c->program.ops[index].n = (uint32_t)node->size;
      return TARN_OK;
    case TN_RECORD_STRUCT:
      return emit_struct(c, node, at, null_branch, from);
    default:
      return emit_array(c, node, at, null_branch);
  }
}

/* A union that is not simply null and one type: a body for each branch. */
static tarn_status emit_union(compiler *c, const tn_avro_node *node, const place *at) {
  int32_t index, branch, body, end;
  bool any_fits = false;
  TN_TRY(emit_own(c, OP_UNION, at, -1, &index));
  c->program.ops[index].has_flag = false; /* that is for the branch to say */
  c->program.ops[index].n = (uint32_t)node->n_children;
  for (int32_t i = 0; i < node->n_children; i++) {
    TN_TRY(tn_avro_emit(&c->program, TN_AVRO_OP_BRANCH, &branch, c->err));
  }
  for (int32_t i = 0; i < node->n_children; i++) {
    const tn_avro_node *value = node->children[i];
    body = c->program.count;
    if (value->kind == TN_AVRO_NULL || !fits(value, at->field->kind)) {
      TN_TRY(emit_own(c, value->kind == TN_AVRO_NULL ? OP_NULL : OP_MISFIT, at, -1, &branch));
      any_fits = any_fits || value->kind == TN_AVRO_NULL;
    } else {
      TN_TRY(emit_plain(c, value, at, -1, body));
      any_fits = true;
    }
    TN_TRY(tn_avro_emit(&c->program, TN_AVRO_OP_END, &end, c->err));
    c->program.ops[index + 1 + i].body = body;
  }
  c->program.ops[index].next = c->program.count;
  return any_fits ? TARN_OK : misfit(c, at->field, node);
}

static tarn_status emit_value(compiler *c, const tn_avro_node *node, const place *at,
                              int32_t from) {
  const tn_avro_node *value;
  int null_branch = tn_avro_nullable(node, &value);
  int32_t index;
  if (null_branch == -2) {
    return emit_union(c, node, at);
  }
  if (value->kind == TN_AVRO_NULL) {
    return emit_own(c, OP_NULL, at, -1, &index);
  }
  return emit_plain(c, value, at, null_branch, from);
}

static tarn_status emit_record(compiler *c, const tn_avro_node *record,
                               const tn_record_field *fields, int32_t n_fields, size_t base,
                               int32_t from) {
  for (int32_t i = 0; i < record->n_children; i++) {
    const tn_record_field *field = NULL;
    for (int32_t k = 0; k < n_fields && field == NULL; k++) {
      field = strcmp(fields[k].name, record->names[i]) == 0 ? &fields[k] : NULL;
    }
    if (field == NULL) {
      TN_TRY(tn_avro_emit_skip(&c->program, record->children[i], from, c->err));
    } else {
      place at = {field, base + field->offset, base + field->flag_offset};
      TN_TRY(emit_value(c, record->children[i], &at, from));
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ scratch */

/* Arrays of one record. What does not fit goes to the arena, and the room grows for the next
 * record. */
typedef struct scratch {
  tn_mem *mem;
  uint8_t *room;
  size_t used, capacity, wanted;
  tn_arena overflow;
} scratch;

static void scratch_init(scratch *s, tn_mem *mem) {
  memset(s, 0, sizeof(*s));
  s->mem = mem;
  tn_arena_init(&s->overflow, mem, TN_AVRO_MAX_BLOCK_BYTES);
}

static void scratch_reset(scratch *s) {
  tn_free(s->mem, s->room);
  tn_arena_reset(&s->overflow);
}

/* Forget the arrays of the last record. */
static void scratch_rewind(scratch *s) {
  if (TN_UNLIKELY(s->wanted > s->capacity)) {
    size_t capacity = s->wanted < (size_t)1 << 20 ? s->wanted * 2 : (size_t)1 << 20;
    tn_arena_reset(&s->overflow);
    if (capacity > s->capacity) {
      tn_free(s->mem, s->room);
      s->room = tn_alloc(s->mem, capacity); /* without it all goes to the arena */
      s->capacity = s->room != NULL ? capacity : 0;
    }
  }
  s->used = s->wanted = 0;
}

static void *scratch_alloc(scratch *s, size_t n_bytes) {
  size_t n = (n_bytes + 7) & ~(size_t)7;
  s->wanted += n;
  if (TN_LIKELY(n <= s->capacity - s->used)) {
    void *p = s->room + s->used;
    s->used += n;
    return p;
  }
  return tn_arena_alloc(&s->overflow, n);
}

/* ------------------------------------------------------------------ running */

typedef struct reader {
  tn_avro_walk walk;
  scratch scratch;
  bool out_of_memory;
} reader;

static const uint8_t *run_body(reader *r, const tn_avro_op *op, const uint8_t *p, uint8_t *base);

static const uint8_t *fault_in(reader *r, const tn_avro_op *op, const uint8_t *p, const char *why) {
  r->walk.field = op->extra;
  return tn_avro_fault(&r->walk, p, why);
}

/* One item of an array; *is_null tells. */
static const uint8_t *run_item(reader *r, const tn_avro_op *op, const uint8_t *p, uint8_t *item,
                               bool *is_null) {
  tn_avro_walk *walk = &r->walk;
  int64_t value;
  size_t n_bytes;
  *is_null = false;
  if (op->item_null >= 0) {
    p = tn_avro_branch(walk, p, op->item_null, is_null);
    if (p == NULL || *is_null) {
      return p;
    }
  }
  switch (op->code) {
    case OP_LONGS:
      return tn_avro_long(walk, p, (int64_t *)(void *)item);
    case OP_INTS:
      p = tn_avro_long(walk, p, &value);
      if (p != NULL && (value < INT32_MIN || value > INT32_MAX)) {
        return fault_in(r, op, p, "a number of more than 32 bits");
      }
      *(int32_t *)(void *)item = (int32_t)value;
      return p;
    case OP_RUNS:
      p = tn_avro_run(walk, p, &n_bytes);
      if (p == NULL) {
        return NULL;
      }
      *(tn_slice *)(void *)item = tn_slice_of(p, n_bytes);
      return p + n_bytes;
    default:
      memset(item, 0, op->n);
      return run_body(r, &walk->ops[op->body], p, item);
  }
}

static size_t item_bytes(const tn_avro_op *op) {
  switch (op->code) {
    case OP_LONGS:
      return sizeof(int64_t);
    case OP_INTS:
      return sizeof(int32_t);
    case OP_RUNS:
      return sizeof(tn_slice);
    default:
      return op->n;
  }
}

static const uint8_t *run_array(reader *r, const tn_avro_op *op, const uint8_t *p,
                                tn_record_array *out) {
  size_t width = item_bytes(op);
  uint8_t *items = NULL;
  int64_t total = 0;
  for (;;) {
    int64_t count, n_bytes;
    uint8_t *grown;
    p = tn_avro_items(&r->walk, p, op->min_bytes, &count, &n_bytes);
    if (p == NULL || count == 0) {
      break;
    }
    /* Bounded: items take bytes of a block, or are among the believed ones without. */
    grown = (uint64_t)(total + count) <= TN_AVRO_MAX_BLOCK_BYTES / (width > 0 ? width : 1)
                ? scratch_alloc(&r->scratch, (size_t)(total + count) * width)
                : NULL;
    if (grown == NULL) {
      r->out_of_memory = true;
      return NULL;
    }
    if (total > 0) {
      memcpy(grown, items, (size_t)total * width);
    }
    items = grown;
    for (int64_t i = 0; i < count; i++) {
      uint8_t *item = items + (size_t)(total + i) * width;
      bool is_null;
      p = run_item(r, op, p, item, &is_null);
      if (p == NULL) {
        return NULL;
      }
      if (is_null) {
        if (op->code != OP_LONGS) {
          return fault_in(r, op, p, "a null in an array");
        }
        *(int64_t *)(void *)item = INT64_MIN;
      }
    }
    total += count;
  }
  out->items = items;
  out->count = total;
  return p;
}

static const uint8_t *run_union(reader *r, const tn_avro_op *op, const uint8_t *p, uint8_t *base) {
  const uint8_t *start = p;
  int64_t branch;
  p = tn_avro_long(&r->walk, p, &branch);
  if (p == NULL) {
    return NULL;
  }
  if (branch < 0 || branch >= op->n) {
    return fault_in(r, op, start, "a union has no such branch");
  }
  return run_body(r, &r->walk.ops[op[1 + branch].body], p, base);
}

/* The steps from `op` to the end of its body. */
static const uint8_t *run_body(reader *r, const tn_avro_op *op, const uint8_t *p, uint8_t *base) {
  tn_avro_walk *walk = &r->walk;
  int64_t value = 0;
  size_t n_bytes = 0;
  for (;; op = op->next > 0 ? &walk->ops[op->next] : op + 1) {
    if (op->is_nullable) {
      bool is_null;
      p = tn_avro_branch(walk, p, op->null_branch, &is_null);
      if (TN_UNLIKELY(p == NULL)) {
        return NULL;
      }
      if (is_null) {
        if (TN_UNLIKELY(!op->has_flag)) {
          return fault_in(r, op, p, "is null");
        }
        continue;
      }
    }
    if (op->has_flag) {
      *(bool *)(base + op->flag) = op->code != OP_NULL;
    }
    switch (op->code) {
      case TN_AVRO_OP_END:
        return p;
      case OP_INT:
        p = tn_avro_long(walk, p, &value);
        if (TN_UNLIKELY(p != NULL && value != (int32_t)value)) {
          return fault_in(r, op, p, "a number of more than 32 bits");
        }
        *(int32_t *)(void *)(base + op->target) = (int32_t)value;
        break;
      case OP_LONG:
        p = tn_avro_long(walk, p, (int64_t *)(void *)(base + op->target));
        break;
      case OP_RUN:
        p = tn_avro_run(walk, p, &n_bytes);
        if (TN_UNLIKELY(p == NULL)) {
          return NULL;
        }
        *(tn_slice *)(void *)(base + op->target) = tn_slice_of(p, n_bytes);
        p += n_bytes;
        break;
      case OP_FIXED:
        if (op->n > walk->end - p) {
          return fault_in(r, op, p, "runs past the end of the block");
        }
        *(tn_slice *)(void *)(base + op->target) = tn_slice_of(p, op->n);
        p += op->n;
        break;
      case OP_FLAG:
        break;
      case OP_NULL:
        if (!op->has_flag) {
          return fault_in(r, op, p, "is null");
        }
        break;
      case OP_STRUCT:
        p = run_body(r, &walk->ops[op->body], p, base);
        break;
      case OP_INTS:
      case OP_LONGS:
      case OP_RUNS:
      case OP_STRUCTS:
        p = run_array(r, op, p, (tn_record_array *)(void *)(base + op->target));
        break;
      case OP_UNION:
        p = run_union(r, op, p, base);
        break;
      case OP_MISFIT:
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

/* ------------------------------------------------------------------ files */

typedef struct record_file {
  tn_slice bytes;
  const char *path;
  tn_avro_header header;
  tn_avro_program program;
  reader reader;
  uint8_t *record;
  size_t record_bytes;
  tn_record_sink sink;
  void *ctx;
} record_file;

static tarn_status fail_at(record_file *f, tn_slice data, const tn_avro_block *block,
                           tarn_error *err) {
  if (f->reader.out_of_memory) {
    return tn_oom(err);
  }
  return tn_avro_walk_fail(&f->reader.walk, data, block, f->path, err);
}

static tarn_status read_block(record_file *f, tn_slice data, const tn_avro_block *block,
                              tarn_error *err) {
  reader *r = &f->reader;
  const uint8_t *p = data.data;
  tn_avro_walk_begin(&r->walk, &f->program, data);
  if (f->header.record->min_bytes == 0 && f->header.record_branch < 0 &&
      block->n_records > TN_AVRO_MAX_EMPTY_ITEMS) {
    tn_avro_fault(&r->walk, p, "too many records without bytes");
    return fail_at(f, data, block, err);
  }
  for (int64_t i = 0; i < block->n_records; i++) {
    int64_t branch = f->header.record_branch;
    scratch_rewind(&r->scratch);
    memset(f->record, 0, f->record_bytes);
    if (branch >= 0) {
      p = tn_avro_long(&r->walk, p, &branch);
      if (p != NULL && branch != f->header.record_branch) {
        p = tn_avro_fault(&r->walk, p, "a record that is null");
      }
    }
    p = p != NULL ? run_body(r, f->program.ops, p, f->record) : NULL;
    if (p == NULL) {
      return fail_at(f, data, block, err);
    }
    TN_TRY(f->sink(f->ctx, f->record, err));
  }
  if (p != r->walk.end) {
    tn_avro_fault(&r->walk, p, "bytes are left behind the last record");
    return fail_at(f, data, block, err);
  }
  return TARN_OK;
}

static tarn_status read_blocks(record_file *f, tn_avro_unpacker *unpacker, tarn_error *err) {
  int64_t at = (int64_t)f->header.n_bytes;
  int64_t size = (int64_t)f->bytes.len;
  while (at < size) {
    tn_avro_block block;
    tn_slice data;
    size_t head = (size_t)(size - at) < TN_AVRO_BLOCK_HEADER_BYTES ? (size_t)(size - at)
                                                                   : TN_AVRO_BLOCK_HEADER_BYTES;
    TN_TRY(tn_avro_block_decode(tn_slice_of(f->bytes.data + at, head), at, size, f->path, &block,
                                err));
    data = tn_slice_of(f->bytes.data + block.data_offset, (size_t)block.n_bytes);
    at = block.data_offset + block.n_bytes;
    TN_TRY(tn_avro_sync_check(&f->header, f->bytes.data + at, at, f->path, err));
    at += TN_AVRO_SYNC_BYTES;
    TN_TRY(tn_avro_unpack(unpacker, &f->header, &block, data, f->path, &data, err));
    TN_TRY(read_block(f, data, &block, err));
  }
  return TARN_OK;
}

tarn_status tn_avro_read_records(tarn_env *env, tn_slice file, const char *path,
                                 const tn_record_field *fields, int32_t n_fields,
                                 size_t record_bytes, tn_record_sink sink, void *ctx,
                                 tarn_error *err) {
  tarn_status st = TARN_OK;
  record_file f = {
      .bytes = file, .path = path, .record_bytes = record_bytes, .sink = sink, .ctx = ctx};
  compiler c = {.path = path, .err = err};
  tn_avro_unpacker unpacker;
  tn_arena arena;
  int32_t end;
  bool is_short;
  tn_arena_init(&arena, &env->mem, SIZE_MAX);
  tn_avro_program_init(&c.program, &env->mem);
  tn_avro_unpacker_init(&unpacker, env);
  scratch_init(&f.reader.scratch, &env->mem);
  TN_TRY_TO(done, tn_avro_header_decode(&arena, file, path, &f.header, &is_short, err));
  if (is_short) {
    st = tn_fail(err, TARN_E_CORRUPT, "%s: the file of %zu bytes ends within its Avro header", path,
                 file.len);
    goto done;
  }
  TN_TRY_TO(done, emit_record(&c, f.header.record, fields, n_fields, 0, 0));
  TN_TRY_TO(done, tn_avro_emit(&c.program, TN_AVRO_OP_END, &end, err));
  f.program = c.program;
  f.record = tn_calloc(&env->mem, 1, record_bytes);
  if (f.record == NULL) {
    st = tn_oom(err);
    goto done;
  }
  TN_TRY_TO(done, read_blocks(&f, &unpacker, err));
done:
  tn_free(&env->mem, f.record);
  scratch_reset(&f.reader.scratch);
  tn_avro_unpacker_reset(&unpacker);
  tn_avro_program_reset(&c.program);
  tn_arena_reset(&arena);
  return st;
}
