/* write_thrift.c - headers of fields, zigzag varints. */
#include "format/parquet/write_thrift.h"

#define MAX_VARINT_BYTES 10
#define LONG_LIST 15 /* counts from here on are a varint of their own */

static bool reserve(tn_thrift_out *t, size_t n_bytes) {
  if (t->status == TARN_OK) {
    t->status = tn_pq_bytes_reserve(t->to, n_bytes, NULL);
  }
  return t->status == TARN_OK;
}

static void put_byte(tn_thrift_out *t, uint8_t byte) {
  if (reserve(t, 1)) {
    t->to->data[t->to->len++] = byte;
  }
}

static void put_varint(tn_thrift_out *t, uint64_t v) {
  if (!reserve(t, MAX_VARINT_BYTES)) {
    return;
  }
  while (v >= 0x80) {
    t->to->data[t->to->len++] = (uint8_t)(v | 0x80);
    v >>= 7;
  }
  t->to->data[t->to->len++] = (uint8_t)v;
}

static void put_zigzag(tn_thrift_out *t, int64_t v) {
  put_varint(t, ((uint64_t)v << 1) ^ (uint64_t)(v >> 63));
}

static void put_field(tn_thrift_out *t, int32_t id, uint8_t type) {
  int32_t delta = id - t->last_id[t->depth];
  if (delta > 0 && delta <= 15) {
    put_byte(t, (uint8_t)((uint32_t)delta << 4 | type));
  } else {
    put_byte(t, type);
    put_zigzag(t, id);
  }
  t->last_id[t->depth] = id;
}

void tn_thrift_out_begin(tn_thrift_out *t, tn_pq_bytes *to) {
  memset(t, 0, sizeof(*t));
  t->to = to;
}

tarn_status tn_thrift_out_end(tn_thrift_out *t, tarn_error *err) {
  put_byte(t, TN_THRIFT_STOP);
  return tn_thrift_out_status(t, err);
}

tarn_status tn_thrift_out_status(const tn_thrift_out *t, tarn_error *err) {
  if (t->depth != 0) {
    return TN_BUG(err, "a Thrift struct is left open");
  }
  if (t->status == TARN_E_LIMIT) {
    return tn_fail(err, t->status, "memory budget is used up: metadata of a Parquet file");
  }
  return t->status != TARN_OK ? tn_oom(err) : TARN_OK;
}

void tn_thrift_put_int(tn_thrift_out *t, int32_t id, tn_thrift_type type, int64_t value) {
  put_field(t, id, (uint8_t)type);
  if (type == TN_THRIFT_BYTE) {
    put_byte(t, (uint8_t)value);
  } else {
    put_zigzag(t, value);
  }
}

void tn_thrift_put_bool(tn_thrift_out *t, int32_t id, bool value) {
  put_field(t, id, value ? TN_THRIFT_TRUE : TN_THRIFT_FALSE);
}

void tn_thrift_put_binary(tn_thrift_out *t, int32_t id, tn_slice value) {
  put_field(t, id, TN_THRIFT_BINARY);
  tn_thrift_put_binary_element(t, value);
}

static void open_struct(tn_thrift_out *t) {
  if (t->depth + 1 < TN_THRIFT_OUT_DEPTH) {
    t->last_id[++t->depth] = 0;
  } else {
    t->status = TARN_E_INTERNAL;
  }
}

void tn_thrift_put_struct(tn_thrift_out *t, int32_t id) {
  put_field(t, id, TN_THRIFT_STRUCT);
  open_struct(t);
}

void tn_thrift_put_end(tn_thrift_out *t) {
  put_byte(t, TN_THRIFT_STOP);
  t->depth--;
}

void tn_thrift_put_empty_struct(tn_thrift_out *t, int32_t id) {
  tn_thrift_put_struct(t, id);
  tn_thrift_put_end(t);
}

void tn_thrift_put_list(tn_thrift_out *t, int32_t id, tn_thrift_type type, size_t count) {
  put_field(t, id, TN_THRIFT_LIST);
  if (count < LONG_LIST) {
    put_byte(t, (uint8_t)(count << 4 | type));
  } else {
    put_byte(t, (uint8_t)(LONG_LIST << 4 | type));
    put_varint(t, count);
  }
}

void tn_thrift_put_int_element(tn_thrift_out *t, int64_t value) {
  put_zigzag(t, value);
}

void tn_thrift_put_bool_element(tn_thrift_out *t, bool value) {
  put_byte(t, value ? TN_THRIFT_TRUE : TN_THRIFT_FALSE);
}

void tn_thrift_put_binary_element(tn_thrift_out *t, tn_slice value) {
  put_varint(t, value.len);
  tn_thrift_put_raw(t, value);
}

void tn_thrift_put_struct_element(tn_thrift_out *t) {
  open_struct(t);
}

void tn_thrift_put_raw(tn_thrift_out *t, tn_slice bytes) {
  if (t->status == TARN_OK) {
    t->status = tn_pq_bytes_append(t->to, bytes.data, bytes.len, NULL);
  }
}

void tn_thrift_put_raw_struct(tn_thrift_out *t, int32_t id, tn_slice bytes) {
  put_field(t, id, TN_THRIFT_STRUCT);
  tn_thrift_put_raw(t, bytes);
}
