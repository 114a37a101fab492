/* container.h - what both readers of Avro container files share: header, blocks, and stepping over
 * encoded values.
 *
 *   file   = "Obj" 1, map of metadata, sync marker of 16 bytes, block*
 *   block  = number of records (long), size in bytes (long), data, sync marker
 *
 * Invariants
 *   A1  Nothing is read behind the end of a block's data, whatever its bytes say.
 *   A2  Work and memory for a block are bounded by its decompressed bytes and by
 *       TN_AVRO_MAX_EMPTY_ITEMS: a count is believed only when that many values can be there.
 *   A3  A program is finite: at most TN_AVRO_MAX_OPS steps, nested at most as deep as its schema.
 *
 * Rule: Apache Avro specification 1.11, "Binary Encoding", "Object Container Files"; spec:
 * manifest, 1; datafiles, 5.
 */
#ifndef TN_FORMAT_AVRO_CONTAINER_H
#define TN_FORMAT_AVRO_CONTAINER_H

#include "base/env.h"
#include "base/slice.h"
#include "codec/compress.h"
#include "format/avro/avro_schema.h"

#define TN_AVRO_SYNC_BYTES 16
#define TN_AVRO_MAX_HEADER_BYTES ((size_t)64 << 20)
#define TN_AVRO_MAX_BLOCK_BYTES ((size_t)1 << 30)  /* decompressed */
#define TN_AVRO_MAX_EMPTY_ITEMS ((int64_t)1 << 24) /* values without bytes in one block */
#define TN_AVRO_MAX_OPS (1 << 20)
#define TN_AVRO_BLOCK_HEADER_BYTES 20 /* the most that its two numbers take */

typedef struct tn_avro_header {
  tn_codec_id codec;
  const char *codec_name; /* as the file has it */
  tn_slice schema_json;
  const tn_avro_node *record; /* the root, taken out of a union with null */
  int32_t record_branch;      /* its branch in that union; -1: the root is the record itself */
  uint8_t sync[TN_AVRO_SYNC_BYTES];
  size_t n_bytes; /* where the first block begins */
} tn_avro_header;

/* Decode the header at the start of a file; all it holds is in the arena. *is_short: `bytes` end
 * before the header does, nothing else is told. Errors: CORRUPT, UNSUPPORTED (codec by name, a type
 * that contains itself), LIMIT, NOMEM. */
TN_CHECKED tarn_status tn_avro_header_decode(tn_arena *arena, tn_slice bytes, const char *path,
                                             tn_avro_header *out, bool *is_short, tarn_error *err);

typedef struct tn_avro_block {
  int64_t offset;      /* of the block in the file */
  int64_t data_offset; /* of its data */
  int64_t n_bytes;     /* of its data, as stored */
  int64_t n_records;
} tn_avro_block;

/* Decode the two numbers at the start of a block; `bytes` are those at `offset`, up to
 * TN_AVRO_BLOCK_HEADER_BYTES. Checks that data and marker lie within the file. Errors: CORRUPT. */
TN_CHECKED tarn_status tn_avro_block_decode(tn_slice bytes, int64_t offset, int64_t file_bytes,
                                            const char *path, tn_avro_block *out, tarn_error *err);

/* Compare the marker behind a block, found at `offset`. Errors: CORRUPT. */
TN_CHECKED tarn_status tn_avro_sync_check(const tn_avro_header *header, const uint8_t *marker,
                                          int64_t offset, const char *path, tarn_error *err);

/* Memory that is reused from block to block; its size counts against the environment's budget. */
typedef struct tn_avro_unpacker {
  tarn_env *env;
  tn_codec_context *context;
  tn_buf buf;
  size_t reserved_bytes;
} tn_avro_unpacker;

void tn_avro_unpacker_init(tn_avro_unpacker *unpacker, tarn_env *env);
void tn_avro_unpacker_reset(tn_avro_unpacker *unpacker);
/* The data of a block, decompressed: *out is `stored` itself or lies in the unpacker, valid until
 * its next use. Checks the CRC-32 of snappy blocks. Errors: CORRUPT (path and offset), LIMIT,
 * NOMEM. */
TN_CHECKED tarn_status tn_avro_unpack(tn_avro_unpacker *unpacker, const tn_avro_header *header,
                                      const tn_avro_block *block, tn_slice stored, const char *path,
                                      tn_slice *out, tarn_error *err);

/* ------------------------------------------------------------------ programs */

/* A schema is turned into a flat list of steps. Those below step over values; each reader adds its
 * own codes from TN_AVRO_OP_OWN on. A body is a list of steps that ends with TN_AVRO_OP_END. */
enum {
  TN_AVRO_OP_END,
  TN_AVRO_OP_SKIP_VARINTS,  /* n of them */
  TN_AVRO_OP_SKIP_BYTES,    /* n bytes */
  TN_AVRO_OP_SKIP_RUNS,     /* n values with their length in front */
  TN_AVRO_OP_SKIP_ITEMS,    /* array: body for each item */
  TN_AVRO_OP_SKIP_NULLABLE, /* a union of null and one value: body for the value */
  TN_AVRO_OP_SKIP_UNION,    /* n branches: a TN_AVRO_OP_BRANCH each follows; continue at next */
  TN_AVRO_OP_BRANCH,        /* body */
  TN_AVRO_OP_OWN
};

typedef struct tn_avro_op {
  uint8_t code;
  int8_t null_branch; /* the branch of null in a union of two; -1: no union */
  int8_t item_null;   /* the same for the items of an array (the reader's own) */
  bool is_nullable;   /* the branch stands in front of the value (the reader's own) */
  bool has_flag;      /* a null is noted, not refused (the reader's own) */
  int32_t body;       /* index of the first step of the body */
  int32_t next;       /* index behind the bodies */
  uint32_t n;
  uint32_t target;   /* where the value goes: the reader's own */
  uint32_t flag;     /* where presence goes (the reader's own) */
  int64_t min_bytes; /* the fewest bytes an item takes */
  const void *extra; /* the reader's own */
} tn_avro_op;

typedef struct tn_avro_program {
  tn_mem *mem;
  tn_avro_op *ops;
  int32_t count, capacity;
} tn_avro_program;

void tn_avro_program_init(tn_avro_program *program, tn_mem *mem);
void tn_avro_program_reset(tn_avro_program *program);
/* Append a step (all zero but code and null_branch -1); *index tells which. The array may move.
 * Errors: NOMEM, LIMIT (TN_AVRO_MAX_OPS). */
TN_CHECKED tarn_status tn_avro_emit(tn_avro_program *program, uint8_t code, int32_t *index,
                                    tarn_error *err);
/* Append steps over one value of this type; joins the last step where both are alike, but only
 * from index `from` on (the start of the current body). */
TN_CHECKED tarn_status tn_avro_emit_skip(tn_avro_program *program, const tn_avro_node *node,
                                         int32_t from, tarn_error *err);

/* A walk over the data of one block. Steps return where they ended, or NULL after noting why. */
typedef struct tn_avro_walk {
  const tn_avro_op *ops;
  const uint8_t *end;
  const char *fault;   /* why the walk failed; static text */
  const uint8_t *spot; /* where */
  const char *field;   /* of which field; NULL: not known */
  int64_t empty_items; /* how many items without bytes are still believed */
} tn_avro_walk;

void tn_avro_walk_begin(tn_avro_walk *walk, const tn_avro_program *program, tn_slice data);
/* CORRUPT with path, block and the byte within its data. */
TN_CHECKED tarn_status tn_avro_walk_fail(const tn_avro_walk *walk, tn_slice data,
                                         const tn_avro_block *block, const char *path,
                                         tarn_error *err);
/* Do one of the steps above, or a whole body of them. */
const uint8_t *tn_avro_skip_op(tn_avro_walk *walk, const tn_avro_op *op, const uint8_t *p);
const uint8_t *tn_avro_skip_body(tn_avro_walk *walk, int32_t body, const uint8_t *p);

/* ------------------------------------------------------------------ values */

static inline const uint8_t *tn_avro_fault(tn_avro_walk *walk, const uint8_t *p, const char *why) {
  walk->fault = why;
  walk->spot = p;
  return NULL;
}

const uint8_t *tn_avro_varint_slow(tn_avro_walk *walk, const uint8_t *p, uint64_t *out);

/* An int or long before the zigzag is undone. */
static TN_ALWAYS_INLINE const uint8_t *tn_avro_varint(tn_avro_walk *walk, const uint8_t *p,
                                                      uint64_t *out) {
  if (TN_LIKELY(walk->end - p >= 2)) {
    if (p[0] < 0x80) {
      *out = p[0];
      return p + 1;
    }
    if (p[1] < 0x80) {
      *out = (uint64_t)(p[0] & 0x7f) | (uint64_t)p[1] << 7;
      return p + 2;
    }
  }
  return tn_avro_varint_slow(walk, p, out);
}

static inline int64_t tn_avro_unzigzag(uint64_t v) {
  return (int64_t)((v >> 1) ^ (~(v & 1) + 1));
}

static TN_ALWAYS_INLINE const uint8_t *tn_avro_long(tn_avro_walk *walk, const uint8_t *p,
                                                    int64_t *out) {
  uint64_t v = 0;
  p = tn_avro_varint(walk, p, &v);
  *out = tn_avro_unzigzag(v);
  return p;
}

/* The length in front of bytes or a string; that many bytes are there. */
static TN_ALWAYS_INLINE const uint8_t *tn_avro_run(tn_avro_walk *walk, const uint8_t *p,
                                                   size_t *n_bytes) {
  int64_t n;
  p = tn_avro_long(walk, p, &n);
  if (TN_UNLIKELY(p == NULL)) {
    return NULL;
  }
  if (TN_UNLIKELY(n < 0 || n > walk->end - p)) {
    return tn_avro_fault(walk, p, "a length runs past the end of the block");
  }
  *n_bytes = (size_t)n;
  return p;
}

/* The head of the next batch of items of an array or map: *count, 0 at the end; *n_bytes is its
 * size when told, else -1. That many items of at least min_bytes fit. */
const uint8_t *tn_avro_items(tn_avro_walk *walk, const uint8_t *p, int64_t min_bytes,
                             int64_t *count, int64_t *n_bytes);

/* The branch of a union of null and a value: *is_null tells. */
static TN_ALWAYS_INLINE const uint8_t *tn_avro_branch(tn_avro_walk *walk, const uint8_t *p,
                                                      int null_branch, bool *is_null) {
  if (TN_UNLIKELY(p >= walk->end || (p[0] & ~2u) != 0)) {
    return tn_avro_fault(walk, p, "a union has no such branch");
  }
  *is_null = p[0] >> 1 == null_branch;
  return p + 1;
}

#endif
