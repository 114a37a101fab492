/* room: index */
/* File indexes: a container, or one payload in a container that is right.
 *
 *   u8 type | u8 what: 0 container, 1.. a kind | be16 rows | bytes
 *
 * Answers must name rows of the file only, and be the same from memory and from a file.
 */
#include <stdio.h>
#include <stdlib.h>

#include <roaring.h>

#include "base/bytes.h"
#include "index/file_index.h"

#define HEAD_BYTES ((size_t)4)
#define MAX_BYTES ((size_t)1 << 20)

static const char *const types[] = {
    "BOOLEAN",        "TINYINT",      "SMALLINT",     "INT",         "BIGINT",  "FLOAT",
    "DOUBLE",         "STRING",       "BYTES",        "DATE",        "TIME(3)", "CHAR(3)",
    "DECIMAL(10, 2)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)"};
static const char *const kinds[] = {NULL, "bloom-filter", "bitmap", "bsi", "range-bitmap"};

static size_t put(uint8_t *at, const void *bytes, size_t n) {
  if (n > 0) {
    memcpy(at, bytes, n);
  }
  return n;
}

static size_t put_u32(uint8_t *at, size_t n) {
  tn_store_be32(at, (uint32_t)n);
  return 4;
}

/* Malloc'ed. */
static uint8_t *wrap(const char *kind, const uint8_t *payload, size_t n, size_t n_filler,
                     size_t *n_bytes) {
  size_t n_kind = strlen(kind), n_head = 20 + 3 + 4 + 2 + n_kind + 8 + 4, at = 0;
  uint8_t *out = calloc(1, n_head + n_filler + n);
  at += put_u32(out + at, 0x00054E4E);
  at += put_u32(out + at, 0xD01A35AE);
  at += put_u32(out + at, 1);
  at += put_u32(out + at, n_head);
  at += put_u32(out + at, 1);
  at += put(out + at, "\0\1c", 3);
  at += put_u32(out + at, 1);
  tn_store_be16(out + at, (uint16_t)n_kind);
  at += 2;
  at += put(out + at, kind, n_kind);
  at += put_u32(out + at, n_head + n_filler);
  at += put_u32(out + at, n);
  at += put_u32(out + at, 0) + n_filler;
  at += put(out + at, payload, n);
  *n_bytes = at;
  return out;
}

/* A literal of the type out of input bytes. */
static tn_datum make_literal(const tn_type *type, const uint8_t *bytes, size_t n) {
  tn_datum out = {0};
  int64_t number = n >= 8   ? (int64_t)tn_load_be64(bytes)
                   : n >= 4 ? (int32_t)tn_load_be32(bytes)
                   : n > 0  ? (int8_t)bytes[0]
                            : 0;
  if (type->root == TN_BOOLEAN) {
    out.v.boolean = number & 1;
  } else if (type->root == TN_FLOAT || type->root == TN_DOUBLE) {
    out.v.f64 = type->root == TN_FLOAT ? (double)(float)number
                : n >= 8               ? tn_load_f64(bytes)
                                       : (double)number;
  } else if (tn_type_is_string(type) || tn_type_is_bytes(type)) {
    out.v.bytes = tn_slice_of(bytes, n < 3 ? n : 3);
  } else if (tn_type_layout(type) == TN_LAYOUT_I128) {
    out.v.i128 = (tn_i128)number * (n % 3 == 0 ? 1000 : 1);
  } else {
    out.v.i64 = number;
  }
  return out;
}

static const tn_pred *make_predicate(tn_arena *arena, const tn_field *field, const uint8_t *bytes,
                                     size_t n) {
  static const tn_pred_op ops[] = {
      TN_PRED_EQ,     TN_PRED_NE,      TN_PRED_LT,          TN_PRED_GE,      TN_PRED_IN,
      TN_PRED_NOT_IN, TN_PRED_BETWEEN, TN_PRED_NOT_BETWEEN, TN_PRED_IS_NULL, TN_PRED_IS_NOT_NULL};
  static const int32_t n_literals[] = {1, 1, 1, 1, 3, 3, 2, 2, 0, 0};
  const tn_pred *parts[TN_COUNT(ops)];
  for (size_t i = 0; i < TN_COUNT(ops); i++) {
    tn_datum literals[3];
    for (size_t k = 0; k < 3; k++) {
      size_t at = n > 0 ? (i * 7 + k * 13) % n : 0;
      literals[k] = make_literal(&field->type, bytes + at, n - at < 8 ? n - at : 8);
    }
    parts[i] = tn_pred_leaf(arena, ops[i], field, literals, n_literals[i]);
  }
  return tn_pred_compound(arena, TN_PRED_OR, parts, TN_COUNT(ops));
}

/* Ask each part by itself, and all of them. */
static tarn_status ask(const tn_file_index *index, const tn_field *field, int64_t n_rows,
                       const tn_pred *pred, tn_index_result *out) {
  tarn_status st = TARN_OK;
  for (int32_t i = 0; i <= pred->n_children && st == TARN_OK; i++) {
    tn_index_result one = {0};
    st = tn_file_index_test(index, field, 1, n_rows,
                            i < pred->n_children ? pred->children[i] : pred, &one, NULL);
    if (one.verdict == TN_INDEX_ROWS && (int64_t)roaring_bitmap_maximum(one.rows) >= n_rows) {
      abort();
    }
    tn_index_result_and(out, &one);
  }
  if (st != TARN_OK && st != TARN_E_CORRUPT && st != TARN_E_LIMIT) {
    abort();
  }
  return st;
}

static void use(tarn_env *env, tn_slice bytes, const tn_field *field, int64_t n_rows,
                const tn_pred *pred, tn_index_result *out, tarn_status *answer) {
  tn_file_index *index = NULL;
  tarn_status st = tn_file_index_open(env, bytes, "fuzz", &index, NULL);
  tn_buf text;
  tn_buf_init(&text, &env->mem, MAX_BYTES);
  if (st == TARN_OK) {
    (void)!tn_file_index_describe(index, &text, NULL);
    *answer = ask(index, field, n_rows, pred, out);
  } else if (st != TARN_E_CORRUPT && st != TARN_E_UNSUPPORTED) {
    abort();
  }
  tn_buf_reset(&text);
  tn_file_index_release(index);
}

/* The same payload behind so many bytes that it is read in pieces. */
static void check_in_file(tarn_env *env, const char *kind, const uint8_t *payload, size_t n,
                          const tn_field *field, int64_t n_rows, const tn_pred *pred,
                          const tn_index_result *expected, tarn_status answer) {
  tn_index_result result = {0};
  tn_storage *storage = NULL;
  tn_file_index *index = NULL;
  size_t n_bytes;
  uint8_t *bytes = wrap(kind, payload, n, 70000, &n_bytes);
  if (tn_storage_memory(env, &storage, NULL) == TARN_OK &&
      tn_storage_memory_put(storage, "/x", tn_slice_of(bytes, n_bytes), NULL) == TARN_OK &&
      tn_file_index_load(env, storage, "/x", &index, NULL) == TARN_OK) {
    if (ask(index, field, n_rows, pred, &result) != answer ||
        (answer == TARN_OK &&
         (result.verdict != expected->verdict ||
          (result.rows != NULL && !roaring_bitmap_equals(result.rows, expected->rows))))) {
      abort();
    }
  } else {
    abort();
  }
  tn_index_result_reset(&result);
  tn_file_index_release(index);
  tn_storage_release(storage);
  free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tarn_env *env = NULL;
  tn_field field = {.id = 1, .name = "c"};
  tn_index_result result = {0};
  tarn_status answer = TARN_OK;
  tn_arena arena;
  const char *kind;
  const tn_pred *pred;
  int64_t n_rows;
  if (size < HEAD_BYTES || size > MAX_BYTES || tarn_env_create(NULL, &env, NULL) != TARN_OK) {
    return 0;
  }
  kind = kinds[data[1] % TN_COUNT(kinds)];
  n_rows = tn_load_be16(data + 2);
  tn_arena_init(&arena, &env->mem, SIZE_MAX);
  if (tn_type_from_sql(&arena, types[data[0] % TN_COUNT(types)], NULL, &field.type, NULL) !=
      TARN_OK) {
    abort();
  }
  data += HEAD_BYTES;
  size -= HEAD_BYTES;
  pred = make_predicate(&arena, &field, data, size);
  if (kind == NULL) {
    use(env, tn_slice_of(data, size), &field, n_rows, pred, &result, &answer);
  } else {
    size_t n_bytes;
    uint8_t *bytes = wrap(kind, data, size, 0, &n_bytes);
    use(env, tn_slice_of(bytes, n_bytes), &field, n_rows, pred, &result, &answer);
    if (size % 4 == 0) {
      check_in_file(env, kind, data, size, &field, n_rows, pred, &result, answer);
    }
    free(bytes);
  }
  tn_index_result_reset(&result);
  if (atomic_load(&env->mem.reserved_bytes) != 0) {
    abort();
  }
  tn_arena_reset(&arena);
  tarn_env_free(env);
  return 0;
}
