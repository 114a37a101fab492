/* room: column */
/* Any bytes as a BinaryRow of any types: reading stays inside, and what was read, written again and
 * read again is the same. The first byte picks the types: field i has type (byte + i) of the list.
 */
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "column/binary_row.h"

static const tn_type types[] = {{.root = TN_BOOLEAN},
                                {.root = TN_TINYINT},
                                {.root = TN_SMALLINT},
                                {.root = TN_INT},
                                {.root = TN_BIGINT},
                                {.root = TN_FLOAT},
                                {.root = TN_DOUBLE},
                                {.root = TN_DECIMAL, .precision = 10, .scale = 2},
                                {.root = TN_DECIMAL, .precision = 38, .scale = 10},
                                {.root = TN_VARCHAR, .length = INT32_MAX},
                                {.root = TN_VARBINARY, .length = INT32_MAX},
                                {.root = TN_DATE},
                                {.root = TN_TIME, .precision = 3},
                                {.root = TN_TIMESTAMP, .precision = 3},
                                {.root = TN_TIMESTAMP, .precision = 6},
                                {.root = TN_TIMESTAMP_LTZ, .precision = 9}};

#define MAX_ARITY 300

static void need(bool holds) {
  if (!holds) {
    abort();
  }
}

static const tn_type *type_of(uint8_t pick, int32_t i) {
  return &types[((size_t)pick + (size_t)i) % TN_COUNT(types)];
}

static bool same(const tn_type *type, const tn_datum *a, const tn_datum *b) {
  if (a->is_null || b->is_null) {
    return a->is_null == b->is_null;
  }
  return tn_datum_compare_key(type, a, b) == 0;
}

static void check(const tn_binary_row *row, uint8_t pick) {
  static tn_datum values[MAX_ARITY];
  static bool is_read[MAX_ARITY];
  const tn_type *list[MAX_ARITY];
  tarn_error err;
  tn_mem mem;
  tn_buf out;
  tn_binary_row again;
  tn_binary_row_writer w;
  int32_t bucket;
  tn_mem_init(&mem, NULL, 1 << 24);
  tn_buf_init(&out, &mem, 1 << 26);
  need(tn_binary_row_begin(&w, &out, row->arity, &err) == TARN_OK);
  for (int32_t i = 0; i < row->arity; i++) {
    list[i] = type_of(pick, i);
    is_read[i] = tn_binary_row_get(row, i, list[i], &values[i], &err) == TARN_OK;
    if (is_read[i]) {
      need(tn_binary_row_set(&w, i, list[i], &values[i], &err) == TARN_OK);
    } else {
      tn_binary_row_set_null(&w, i);
    }
  }
  need(out.len % 8 == 0);
  need(tn_binary_row_view(tn_buf_slice(&out), row->arity, "again", &again, &err) == TARN_OK);
  for (int32_t i = 0; i < row->arity; i++) {
    tn_datum value;
    if (is_read[i]) {
      need(tn_binary_row_get(&again, i, list[i], &value, &err) == TARN_OK);
      need(same(list[i], &value, &values[i]));
    }
  }
  need(tn_bucket_of(TN_BUCKET_DEFAULT, &again, list, 7, &bucket, &err) == TARN_OK);
  need(bucket >= 0 && bucket < 7);
  if (tn_bucket_of(TN_BUCKET_HIVE, row, list, 5, &bucket, &err) == TARN_OK) {
    need(bucket >= 0 && bucket < 5);
  }
  tn_buf_reset(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tn_binary_row row;
  tarn_error err;
  tn_slice piece;
  if (size < 2) {
    return 0;
  }
  if (tn_binary_row_decode(tn_slice_of(data + 1, size - 1), "fuzz", &row, &err) == TARN_OK &&
      row.arity <= MAX_ARITY) {
    for (int32_t i = 0; i < row.arity; i++) {
      if (tn_binary_row_piece(&row, i, &piece, &err) == TARN_OK) {
        need(piece.data >= row.bytes.data &&
             piece.data + piece.len <= row.bytes.data + row.bytes.len);
      }
    }
    check(&row, data[0]);
  }
  return 0;
}
