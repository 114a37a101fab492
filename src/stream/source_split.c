/* source_split.c - queues of splits, and Java's bytes of them. */
#include "stream/source_split.h"

#include <stdio.h>

#include "base/bytes.h"
#include "model/wire.h"
#include "stream/java_heads.inc"

#define BYTES_LIMIT ((size_t)1 << 30)
#define BLOCK 1024      /* bytes of a block of ObjectOutputStream */
#define SHORT_BLOCK 255 /* up to that its length takes one byte */
#define MAX_FIELDS 64   /* of a class */

/* Of java.io.ObjectStreamConstants. */
enum {
  TC_NULL = 0x70,
  TC_REFERENCE = 0x71,
  TC_CLASSDESC = 0x72,
  TC_OBJECT = 0x73,
  TC_STRING = 0x74,
  TC_BLOCKDATA = 0x77,
  TC_ENDBLOCKDATA = 0x78,
  TC_BLOCKDATALONG = 0x7a
};
#define STREAM_MAGIC 0xaced0005u

/* The frame in front of an incremental split, by which it is told from others (wire.h of plan/). */
static const uint8_t incremental_frame[16] = {0x53, 0x50, 0x4c, 0x49, 0x54, 0x5f, 0x56, 0x31,
                                              0,    0,    0,    1,    0,    0,    0,    2};

/* ------------------------------------------------------------------ queues */

void tn_source_split_reset(tn_source_split *split) {
  tn_plan_release(split->plan);
  memset(split, 0, sizeof(*split));
}

void tn_split_queue_init(tn_split_queue *q, tn_mem *mem) {
  memset(q, 0, sizeof(*q));
  q->mem = mem;
}

void tn_split_queue_reset(tn_split_queue *q) {
  tn_source_split split;
  while (tn_split_queue_pop(q, &split)) {
    tn_source_split_reset(&split);
  }
  if (q->mem != NULL) {
    tn_free(q->mem, q->items);
  }
  q->items = NULL;
  q->capacity = q->head = 0;
}

tn_source_split *tn_split_queue_at(const tn_split_queue *q, size_t i) {
  return &q->items[(q->head + i) % q->capacity];
}

static tarn_status make_room(tn_split_queue *q, tarn_error *err) {
  size_t capacity = q->capacity > 0 ? 2 * q->capacity : 16;
  tn_source_split *items;
  if (q->count < q->capacity) {
    return TARN_OK;
  }
  items = tn_calloc(q->mem, capacity, sizeof(*items));
  if (items == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < q->count; i++) {
    items[i] = *tn_split_queue_at(q, i);
  }
  tn_free(q->mem, q->items);
  q->items = items;
  q->capacity = capacity;
  q->head = 0;
  return TARN_OK;
}

tarn_status tn_split_queue_push(tn_split_queue *q, const tn_source_split *split, tarn_error *err) {
  TN_TRY(make_room(q, err));
  q->items[(q->head + q->count++) % q->capacity] = *split;
  return TARN_OK;
}

tarn_status tn_split_queue_push_front(tn_split_queue *q, const tn_source_split *split,
                                      tarn_error *err) {
  TN_TRY(make_room(q, err));
  q->head = (q->head + q->capacity - 1) % q->capacity;
  q->items[q->head] = *split;
  q->count++;
  return TARN_OK;
}

bool tn_split_queue_pop(tn_split_queue *q, tn_source_split *out) {
  if (q->count == 0) {
    return false;
  }
  *out = q->items[q->head];
  q->head = (q->head + 1) % q->capacity;
  q->count--;
  return true;
}

/* ------------------------------------------------------------------ writing */

static tarn_status put_byte(tn_buf *out, uint8_t byte, tarn_error *err) {
  return tn_buf_append(out, &byte, 1, err);
}

/* Bytes as block data, and its end. */
static tarn_status put_blocks(tn_buf *out, tn_slice bytes, tarn_error *err) {
  while (bytes.len > 0) {
    size_t n = bytes.len < BLOCK ? bytes.len : BLOCK;
    TN_TRY(put_byte(out, n <= SHORT_BLOCK ? TC_BLOCKDATA : TC_BLOCKDATALONG, err));
    TN_TRY(n <= SHORT_BLOCK ? put_byte(out, (uint8_t)n, err)
                            : tn_wire_put_i32(out, (int64_t)n, err));
    TN_TRY(tn_buf_append(out, bytes.data, n, err));
    bytes = tn_slice_of(bytes.data + n, bytes.len - n);
  }
  return put_byte(out, TC_ENDBLOCKDATA, err);
}

static tarn_status put_java_split(const tn_split *split, tn_buf *out, tarn_error *err) {
  const size_t frame = split->is_incremental ? sizeof(incremental_frame) : 0;
  tarn_status st;
  tn_buf body;
  TN_TRY(split->is_incremental
             ? tn_buf_append(out, incremental_split_head, sizeof(incremental_split_head) - 1, err)
             : tn_buf_append(out, data_split_head, sizeof(data_split_head) - 1, err));
  tn_buf_init(&body, out->mem, BYTES_LIMIT);
  st = tn_split_encode(split, &body, err);
  if (st == TARN_OK) {
    st = put_blocks(out, tn_slice_of(body.data + frame, body.len - frame), err);
  }
  tn_buf_reset(&body);
  return st;
}

tarn_status tn_source_split_encode(const tn_source_split *split, tn_buf *out, tarn_error *err) {
  TN_TRY(tn_wire_put_text(out, split->id, err));
  TN_TRY(put_java_split(split->split, out, err));
  return tn_wire_put_i64(out, split->rows_to_skip, err);
}

tarn_status tn_pending_splits_encode(const tn_split_queue *queues, int32_t n_queues, bool has_next,
                                     int64_t next, tn_buf *out, tarn_error *err) {
  int64_t n = 0;
  for (int32_t i = 0; i < n_queues; i++) {
    n += (int64_t)queues[i].count;
  }
  TN_TRY(tn_wire_put_i32(out, n, err));
  for (int32_t i = 0; i < n_queues; i++) {
    for (size_t k = 0; k < queues[i].count; k++) {
      size_t at = out->len;
      TN_TRY(tn_wire_put_i32(out, 0, err));
      TN_TRY(tn_source_split_encode(tn_split_queue_at(&queues[i], k), out, err));
      tn_store_be32(out->data + at, (uint32_t)(out->len - at - 4));
    }
  }
  return tn_wire_put_i64(out, has_next ? next : -1, err);
}

/* ------------------------------------------------------------------ reading */

static tarn_status corrupt(const tn_wire_reader *r, const char *what, tarn_error *err) {
  return tn_fail(err, TARN_E_CORRUPT, "%s: byte %zu: %s", r->what, (size_t)(r->at - r->begin),
                 what);
}

static tarn_status take_raw(tn_wire_reader *r, size_t n, tn_slice *out, const char *part,
                            tarn_error *err) {
  if (tn_wire_left(r) < n) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: byte %zu: %s needs %zu bytes, %zu are left", r->what,
                   (size_t)(r->at - r->begin), part, n, tn_wire_left(r));
  }
  *out = tn_slice_of(r->at, n);
  r->at += n;
  return TARN_OK;
}

static tarn_status take_byte(tn_wire_reader *r, uint8_t *out, const char *part, tarn_error *err) {
  tn_slice s;
  TN_TRY(take_raw(r, 1, &s, part, err));
  *out = s.data[0];
  return TARN_OK;
}

static tarn_status expect(tn_wire_reader *r, uint8_t byte, const char *part, tarn_error *err) {
  uint8_t found;
  TN_TRY(take_byte(r, &found, part, err));
  return found == byte ? TARN_OK
                       : tn_fail(err, TARN_E_CORRUPT, "%s: byte %zu: %s is 0x%02x, expected 0x%02x",
                                 r->what, (size_t)(r->at - r->begin) - 1, part, found, byte);
}

/* A field of the class: its name and type are told, and not needed. */
static tarn_status skip_field(tn_wire_reader *r, tarn_error *err) {
  uint8_t type, tag;
  const char *name;
  tn_slice handle;
  TN_TRY(take_byte(r, &type, "type of a field", err));
  TN_TRY(tn_wire_take_text(r, &name, "name of a field", err));
  if (type != 'L' && type != '[') {
    return TARN_OK;
  }
  TN_TRY(take_byte(r, &tag, "type name of a field", err));
  if (tag == TC_STRING) {
    return tn_wire_take_text(r, &name, "type name of a field", err);
  }
  return tag == TC_REFERENCE ? take_raw(r, 4, &handle, "handle of a type name", err)
                             : corrupt(r, "a type name that is no string", err);
}

/* The head of a serialized object, up to its data. */
static tarn_status take_class(tn_wire_reader *r, const char **name, tarn_error *err) {
  tn_slice raw;
  TN_TRY(take_raw(r, 4, &raw, "head of the Java stream", err));
  if (tn_load_be32(raw.data) != STREAM_MAGIC) {
    r->at -= 4;
    return corrupt(r, "no stream of Java objects", err);
  }
  TN_TRY(expect(r, TC_OBJECT, "mark of an object", err));
  TN_TRY(expect(r, TC_CLASSDESC, "mark of a class", err));
  TN_TRY(tn_wire_take_text(r, name, "name of the class", err));
  TN_TRY(take_raw(r, 8 + 1 + 2, &raw, "head of the class", err));
  uint32_t n_fields = ((uint32_t)raw.data[9] << 8) | raw.data[10];
  if (n_fields > MAX_FIELDS) {
    return corrupt(r, "a class with more fields than any split has", err);
  }
  for (uint32_t i = 0; i < n_fields; i++) {
    TN_TRY(skip_field(r, err));
  }
  TN_TRY(expect(r, TC_ENDBLOCKDATA, "end of the class", err));
  return expect(r, TC_NULL, "class above", err);
}

static tarn_status take_blocks(tn_wire_reader *r, tn_buf *out, tarn_error *err) {
  for (;;) {
    tn_slice bytes;
    uint8_t tag, short_length;
    int32_t n = 0;
    TN_TRY(take_byte(r, &tag, "mark of a block", err));
    if (tag == TC_ENDBLOCKDATA) {
      return TARN_OK;
    }
    if (tag == TC_BLOCKDATA) {
      TN_TRY(take_byte(r, &short_length, "length of a block", err));
      n = short_length;
    } else if (tag == TC_BLOCKDATALONG) {
      TN_TRY(tn_wire_take_i32(r, &n, "length of a block", err));
    } else {
      return corrupt(r, "neither a block nor the end of them", err);
    }
    if (n < 0) {
      return corrupt(r, "a block with a negative length", err);
    }
    TN_TRY(take_raw(r, (size_t)n, &bytes, "block", err));
    TN_TRY(tn_buf_append(out, bytes.data, bytes.len, err));
  }
}

static tarn_status take_java_split(tn_wire_reader *r, tn_table *table, tn_plan **out,
                                   tarn_error *err) {
  static const char package[] = "org.apache.paimon.table.source.";
  const char *name, *simple;
  tarn_status st = TARN_OK;
  tn_buf body;
  TN_TRY(take_class(r, &name, err));
  simple = strncmp(name, package, sizeof(package) - 1) == 0 ? name + sizeof(package) - 1 : "";
  tn_buf_init(&body, &table->env->mem, BYTES_LIMIT);
  if (strcmp(simple, "IncrementalSplit") == 0) {
    st = tn_buf_append(&body, incremental_frame, sizeof(incremental_frame), err);
  } else if (strcmp(simple, "DataSplit") != 0) {
    st = tn_fail(err, TARN_E_UNSUPPORTED, "%s: a split of class %.200s", r->what, name);
  }
  if (st == TARN_OK) {
    st = take_blocks(r, &body, err);
  }
  if (st == TARN_OK) {
    st = tn_split_decode(table->env, table, tn_buf_slice(&body), out, err);
  }
  tn_buf_reset(&body);
  return st;
}

tarn_status tn_source_split_decode(tn_table *table, tn_slice bytes, tn_source_split *out,
                                   tarn_error *err) {
  tn_source_split split = {.plan = NULL};
  tn_wire_reader r;
  tn_arena arena;
  const char *id;
  tarn_status st = TARN_OK;
  memset(out, 0, sizeof(*out));
  tn_arena_init(&arena, &table->env->mem, BYTES_LIMIT);
  r = tn_wire_reader_of(bytes, &arena, "split of a stream");
  TN_TRY_TO(done, tn_wire_take_text(&r, &id, "id", err));
  if (strlen(id) >= sizeof(split.id)) {
    st = tn_fail(err, TARN_E_UNSUPPORTED, "split of a stream: an id of %zu bytes", strlen(id));
    goto done;
  }
  memcpy(split.id, id, strlen(id) + 1);
  TN_TRY_TO(done, take_java_split(&r, table, &split.plan, err));
  split.split = &split.plan->splits[0];
  TN_TRY_TO(done, tn_wire_take_i64(&r, &split.rows_to_skip, "rows to skip", err));
  TN_TRY_TO(done, tn_wire_take_end(&r, err));
  if (split.rows_to_skip < 0) {
    st = tn_fail(err, TARN_E_CORRUPT, "split of a stream: %lld rows to skip",
                 (long long)split.rows_to_skip);
  }
done:
  tn_arena_reset(&arena);
  if (st == TARN_OK) {
    *out = split;
  } else {
    tn_source_split_reset(&split);
  }
  return st;
}

tarn_status tn_pending_splits_decode(tn_table *table, tn_slice bytes, tn_split_queue *queue,
                                     bool *has_next, int64_t *next, tarn_error *err) {
  tn_wire_reader r;
  tn_arena arena;
  tarn_status st = TARN_OK;
  int32_t n;
  tn_arena_init(&arena, &table->env->mem, BYTES_LIMIT);
  r = tn_wire_reader_of(bytes, &arena, "pending splits");
  TN_TRY_TO(done, tn_wire_take_count(&r, 4, &n, "number of splits", err));
  for (int32_t i = 0; i < n; i++) {
    tn_source_split split;
    tn_slice one;
    TN_TRY_TO(done, tn_wire_take_bytes(&r, &one, "split", err));
    TN_TRY_TO(done, tn_source_split_decode(table, one, &split, err));
    st = tn_split_queue_push(queue, &split, err);
    if (st != TARN_OK) {
      tn_source_split_reset(&split);
      goto done;
    }
  }
  TN_TRY_TO(done, tn_wire_take_i64(&r, next, "next snapshot", err));
  TN_TRY_TO(done, tn_wire_take_end(&r, err));
  *has_next = *next != -1;
  if (*has_next && *next < 1) {
    st =
        tn_fail(err, TARN_E_CORRUPT, "pending splits: the next snapshot is %lld", (long long)*next);
  }
done:
  tn_arena_reset(&arena);
  return st;
}
