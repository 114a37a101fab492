/* The container of file indexes, predicates over several indexes, rows as ranges, and bad bytes. */
#include "index/file_index.h"

#include <roaring.h>

#include "base/bytes.h"
#include "codec/hash.h"
#include "index_maker.h"
#include "support/files.h"
#include "support/torture.h"

static tarn_env *env;
static tn_storage *storage;
static tn_arena arena;

static int set_up(void **state) {
  tarn_error err;
  (void)state;
  env = tn_test_env(1, 0);
  tn_arena_init(&arena, &env->mem, SIZE_MAX);
  assert_works(tn_storage_memory(env, &storage, &err), err);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  tn_arena_reset(&arena);
  tn_storage_release(storage);
  tarn_env_free(env);
  return 0;
}

static tn_file_index *open_bytes(tn_slice bytes) {
  tn_file_index *index;
  tarn_error err;
  assert_works(tn_file_index_open(env, bytes, "x.index", &index, &err), err);
  return index;
}

static tn_index_result ask(const tn_file_index *index, const tn_field *fields, int32_t n_fields,
                           int64_t n_rows, const tn_pred *pred) {
  tn_index_result result = {0};
  tarn_error err;
  assert_non_null(pred);
  assert_works(tn_file_index_test(index, fields, n_fields, n_rows, pred, &result, &err), err);
  return result;
}

static const tn_pred *leaf_int(tn_pred_op op, const tn_field *field, int64_t value) {
  tn_datum literal = {.v = {.i64 = value}};
  return tn_pred_leaf(&arena, op, field, &literal, 1);
}

/* ------------------------------------------------------------------ the container */

/* "two_columns_container_hex" of the format's vectors: id has a bloom filter and a bitmap, m[k] a
 * bitmap. */
static const char two_columns[] =
    "00054e4ed01a35ae0000000100000060000000020002696400000002000c626c6f6f6d2d66696c7465720000006000"
    "00"
    "000a00066269746d61700000006a0000002a00046d5b6b5d0000000100066269746d6170000000940000002c000000"
    "00"
    "0000000380000100400002000000010000000100000000010000000100000000000000100000000100000001ffffff"
    "ff"
    "ffffffff020000000100000001000000000100000001780000000000000011000000010000000178ffffffffffffff"
    "ff";

static void parts__are_those_of_each_column(void **state) {
  static const struct {
    const char *column, *kind;
    int64_t start, length;
  } expected[] = {
      {"id", "bloom-filter", 96, 10}, {"id", "bitmap", 106, 42}, {"m[k]", "bitmap", 148, 44}};
  size_t n_bytes;
  uint8_t *bytes = tn_test_hex(two_columns, &n_bytes);
  tn_file_index *index = open_bytes(tn_slice_of(bytes, n_bytes));
  int32_t n;
  const tn_index_part *parts = tn_file_index_parts(index, &n);
  (void)state;
  assert_int_equal(n, TN_COUNT(expected));
  for (int32_t i = 0; i < n; i++) {
    assert_true(tn_slice_is(parts[i].column, expected[i].column));
    assert_true(tn_slice_is(parts[i].kind, expected[i].kind));
    assert_int_equal(parts[i].start, expected[i].start);
    assert_int_equal(parts[i].length, expected[i].length);
  }
  tn_file_index_release(index);
  free(bytes);
}

static void describe__tells_kinds_and_what_they_hold(void **state) {
  static const char expected[] =
      "[{\"name\":\"id\",\"indexes\":[{\"type\":\"bloom-filter\",\"start\":96,\"length\":10,"
      "\"hashes\":3,\"bits\":48,\"bits_set\":3},{\"type\":\"bitmap\",\"start\":106,\"length\":42,"
      "\"version\":2,\"rows\":1,\"distinct\":1,\"has_nulls\":false,\"blocks\":1}]},"
      "{\"name\":\"m[k]\",\"indexes\":[{\"type\":\"bitmap\",\"start\":148,\"length\":44,"
      "\"version\":2,\"rows\":1,\"distinct\":1,\"has_nulls\":false,\"blocks\":1}]}]";
  size_t n_bytes;
  uint8_t *bytes = tn_test_hex(two_columns, &n_bytes);
  tn_file_index *index = open_bytes(tn_slice_of(bytes, n_bytes));
  tarn_error err;
  tn_buf text;
  (void)state;
  tn_buf_init(&text, &env->mem, SIZE_MAX);
  assert_works(tn_file_index_describe(index, &text, &err), err);
  assert_int_equal(text.len, strlen(expected));
  assert_memory_equal(text.data, expected, text.len);
  tn_buf_reset(&text);
  tn_file_index_release(index);
  free(bytes);
}

static void describe__knows_every_kind_that_java_writes(void **state) {
  size_t n;
  const java_index *all = java_indexes(&n);
  (void)state;
  for (size_t i = 0; i < n; i++) {
    tn_file_index *index = open_bytes(all[i].container);
    tarn_error err;
    tn_buf text;
    tn_buf_init(&text, &env->mem, SIZE_MAX);
    assert_works(tn_file_index_describe(index, &text, &err), err);
    assert_works(tn_buf_append(&text, "", 1, &err), err);
    assert_contains((const char *)text.data,
                    strcmp(all[i].kind, "bloom-filter") == 0 ? "\"bits_set\":" : "\"rows\":400");
    tn_buf_reset(&text);
    tn_file_index_release(index);
  }
}

static void names__are_modified_utf8(void **state) {
  /* NUL, a character past U+FFFF as two surrogates, one surrogate alone */
  static const char name[] = "a\xC0\x80\xED\xA0\xBD\xED\xB8\x80\xED\xA0\xBD\xE2\x82\xAC";
  static const char expected[] = "a\0\xF0\x9F\x98\x80\xEF\xBF\xBD\xE2\x82\xAC";
  made_part part = {name, "bitmap", {NULL, 0}};
  size_t n_bytes;
  uint8_t *bytes = make_container(&part, 1, 0, &n_bytes);
  tn_file_index *index = open_bytes(tn_slice_of(bytes, n_bytes));
  int32_t n;
  const tn_index_part *parts = tn_file_index_parts(index, &n);
  (void)state;
  assert_int_equal(n, 1);
  assert_true(tn_slice_equal(parts[0].column, tn_slice_of(expected, sizeof(expected) - 1)));
  tn_file_index_release(index);
  free(bytes);
}

static void head__is_checked(void **state) {
  static const struct {
    size_t at;
    uint32_t word;
    tarn_status status;
    const char *part;
  } cases[] = {
      {0, 0x00054E4F, TARN_E_CORRUPT, "magic"},
      {8, 2, TARN_E_UNSUPPORTED, "version 2"},
      {12, 19, TARN_E_CORRUPT, "head of 19 bytes"},
      {12, 200000, TARN_E_CORRUPT, "head of 200000 bytes"},
      {12, 90, TARN_E_CORRUPT, "cut off"},
      {16, 0x7FFFFFFF, TARN_E_CORRUPT, "cut off"},
      {16, 3, TARN_E_CORRUPT, "cut off"},
      {20, 0xFFFF6964, TARN_E_CORRUPT, "cut off"}, /* length of the first name */
      {20, 0x0002FF64, TARN_E_CORRUPT, "modified UTF-8"},
      {24, 0x10000000, TARN_E_CORRUPT, "cut off"},    /* its indexes */
      {42, 190, TARN_E_CORRUPT, "10 bytes at 190"},   /* start of the first index */
      {46, 0x7FFFFFFF, TARN_E_CORRUPT, "not within"}, /* its length */
      {92, 1, TARN_E_CORRUPT, "cut off"},             /* bytes of something newer */
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    size_t n_bytes;
    uint8_t *bytes = tn_test_hex(two_columns, &n_bytes);
    tn_file_index *index = NULL;
    tarn_error err = {0};
    tn_store_be32(bytes + cases[i].at, cases[i].word);
    assert_int_equal(tn_file_index_open(env, tn_slice_of(bytes, n_bytes), "x.index", &index, &err),
                     cases[i].status);
    assert_null(index);
    assert_contains(err.message, "x.index");
    assert_contains(err.message, cases[i].part);
    free(bytes);
  }
}

static void head__may_hold_something_newer(void **state) {
  size_t n_bytes;
  uint8_t *bytes = tn_test_hex(two_columns, &n_bytes);
  int32_t n;
  (void)state;
  tn_store_be32(bytes + 12, 96 + 5); /* the five bytes are payload, which the head may cover */
  tn_store_be32(bytes + 92, 5);
  tn_file_index *index = open_bytes(tn_slice_of(bytes, n_bytes));
  tn_file_index_parts(index, &n);
  assert_int_equal(n, 3);
  tn_file_index_release(index);
  free(bytes);
}

static void container__cut_off_anywhere_is_corrupt(void **state) {
  size_t n_bytes;
  uint8_t *bytes = tn_test_hex(two_columns, &n_bytes);
  (void)state;
  for (size_t n = 0; n < n_bytes; n++) {
    uint8_t *exact = malloc(n + 1); /* so that sanitizers see a read past the end */
    tn_file_index *index = NULL;
    memcpy(exact, bytes, n);
    assert_int_equal(tn_file_index_open(env, tn_slice_of(exact, n), "x.index", &index, NULL),
                     TARN_E_CORRUPT);
    free(exact);
  }
  free(bytes);
}

/* ------------------------------------------------------------------ several indexes */

/* Columns a (id 1) and c (id 7), both INT; a has Java's bitmap of INT, c its range-bitmap. */
typedef struct two {
  tn_field fields[2];
  uint8_t *bytes;
  tn_file_index *index;
} two;

static two open_two(void) {
  two t = {.fields = {column_of("INT"), column_of("INT")}};
  made_part parts[2] = {
      {"a", "bitmap", first_payload(env, java_index_of("INT", "bitmap")->container)},
      {"c", "range-bitmap", first_payload(env, java_index_of("INT", "range-bitmap")->container)}};
  size_t n_bytes;
  t.fields[0].id = 1;
  t.fields[0].name = "a";
  t.bytes = make_container(parts, 2, 0, &n_bytes);
  t.index = open_bytes(tn_slice_of(t.bytes, n_bytes));
  return t;
}

static void close_two(two *t) {
  tn_file_index_release(t->index);
  free(t->bytes);
}

/* Rows of Java's INT column for which test(value) holds. */
static int64_t count_rows(bool (*test)(int64_t value)) {
  tn_field field = column_of("INT");
  int64_t n = 0;
  for (int64_t row = 0; row < JAVA_ROWS; row++) {
    tn_datum value = java_value(&field.type, row);
    n += !value.is_null && test(value.v.i64);
  }
  return n;
}

static bool is_low(int64_t value) {
  return value < 0;
}
static bool is_one(int64_t value) {
  return value == -300 + 7 * 11;
}
static bool is_one_or_low(int64_t value) {
  return is_one(value) || is_low(value);
}
static bool is_one_or_386(int64_t value) {
  return is_one(value) || value == 386;
}

static void and__intersects_and_or__unites(void **state) {
  two t = open_two();
  const tn_pred *one = leaf_int(TN_PRED_EQ, &t.fields[0], -300 + 7 * 11);
  const tn_pred *absent = leaf_int(TN_PRED_EQ, &t.fields[0], -299);
  const tn_pred *low = leaf_int(TN_PRED_LT, &t.fields[1], 0);
  const tn_pred *not_low = leaf_int(TN_PRED_GE, &t.fields[1], 0);
  const tn_pred *high = leaf_int(TN_PRED_GE, &t.fields[1], 400);
  const tn_pred *unknown = leaf_int(TN_PRED_LT, &t.fields[0], 0); /* bitmaps know no order */
  const tn_pred *always = tn_pred_constant(&arena, true);
  const tn_pred *never = tn_pred_constant(&arena, false);
  const struct {
    tn_pred_op op;
    const tn_pred *children[3];
    int32_t n;
    tn_index_verdict verdict;
    bool (*rows)(int64_t value);
  } cases[] = {
      {TN_PRED_AND, {one, low}, 2, TN_INDEX_ROWS, is_one},
      {TN_PRED_AND, {one, not_low}, 2, TN_INDEX_SKIP, NULL},
      {TN_PRED_AND, {one, absent}, 2, TN_INDEX_SKIP, NULL},
      {TN_PRED_AND, {one, unknown}, 2, TN_INDEX_ROWS, is_one},
      {TN_PRED_AND, {unknown, unknown}, 2, TN_INDEX_REMAIN, NULL},
      {TN_PRED_AND, {one, high}, 2, TN_INDEX_SKIP, NULL},
      {TN_PRED_OR, {one, low}, 2, TN_INDEX_ROWS, is_one_or_low},
      {TN_PRED_OR, {one, leaf_int(TN_PRED_EQ, &t.fields[1], 386)}, 2, TN_INDEX_ROWS, is_one_or_386},
      {TN_PRED_OR, {absent, low}, 2, TN_INDEX_ROWS, is_low},
      {TN_PRED_OR, {absent, absent}, 2, TN_INDEX_SKIP, NULL},
      /* B52: what the index does not know may match anywhere. */
      {TN_PRED_OR, {one, unknown}, 2, TN_INDEX_REMAIN, NULL},
      {TN_PRED_OR, {unknown, one}, 2, TN_INDEX_REMAIN, NULL},
      {TN_PRED_OR, {absent, unknown}, 2, TN_INDEX_REMAIN, NULL},
      {TN_PRED_OR, {absent, unknown, low}, 3, TN_INDEX_REMAIN, NULL},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    const tn_pred *pred = tn_pred_compound(&arena, cases[i].op, cases[i].children, cases[i].n);
    tn_index_result result = ask(t.index, t.fields, 2, JAVA_ROWS, pred);
    assert_int_equal(result.verdict, cases[i].verdict);
    if (cases[i].rows != NULL) {
      assert_int_equal(tn_index_result_rows(&result), count_rows(cases[i].rows));
    }
    tn_index_result_reset(&result);
  }
  assert_int_equal(ask(t.index, t.fields, 2, JAVA_ROWS, always).verdict, TN_INDEX_REMAIN);
  assert_int_equal(ask(t.index, t.fields, 2, JAVA_ROWS, never).verdict, TN_INDEX_SKIP);
  close_two(&t);
}

static void columns__are_found_under_the_name_of_the_files_schema(void **state) {
  two t = open_two();
  tn_field renamed = t.fields[0];
  const tn_pred *absent;
  (void)state;
  renamed.name = "new name";
  absent = leaf_int(TN_PRED_EQ, &renamed, -299);
  assert_int_equal(ask(t.index, t.fields, 2, JAVA_ROWS, absent).verdict, TN_INDEX_SKIP);
  /* not under today's */
  assert_int_equal(ask(t.index, &renamed, 1, JAVA_ROWS, absent).verdict, TN_INDEX_REMAIN);
  /* and not when the file lacks the column */
  assert_int_equal(ask(t.index, t.fields + 1, 1, JAVA_ROWS, absent).verdict, TN_INDEX_REMAIN);
  close_two(&t);
}

static void leaves__of_another_type_or_of_nested_fields_remain(void **state) {
  two t = open_two();
  tn_field wide = column_of("BIGINT");
  int32_t path[1] = {3};
  tn_pred_column nested = {
      .field_id = 1, .name = "a.x", .type = &t.fields[0].type, .n_path = 1, .path = path};
  tn_datum literal = {.v = {.i64 = -299}};
  (void)state;
  wide.id = 1;
  assert_int_equal(ask(t.index, t.fields, 2, JAVA_ROWS, leaf_int(TN_PRED_EQ, &wide, -299)).verdict,
                   TN_INDEX_REMAIN);
  assert_int_equal(ask(t.index, t.fields, 2, JAVA_ROWS,
                       tn_pred_leaf_at(&arena, TN_PRED_EQ, &nested, &literal, 1))
                       .verdict,
                   TN_INDEX_REMAIN);
  close_two(&t);
}

static void indexes__of_one_column_are_all_asked(void **state) {
  made_part parts[2] = {
      {"c", "bloom-filter", first_payload(env, java_index_of("INT", "bloom-filter")->container)},
      {NULL, "bsi", first_payload(env, java_index_of("INT", "bsi")->container)}};
  tn_field field = column_of("INT");
  size_t n_bytes;
  uint8_t *bytes = make_container(parts, 2, 0, &n_bytes);
  tn_file_index *index = open_bytes(tn_slice_of(bytes, n_bytes));
  tn_index_result result = ask(index, &field, 1, JAVA_ROWS, leaf_int(TN_PRED_LT, &field, 0));
  (void)state;
  assert_int_equal(result.verdict, TN_INDEX_ROWS); /* the bloom filter cannot tell, bsi can */
  assert_int_equal(tn_index_result_rows(&result), count_rows(is_low));
  tn_index_result_reset(&result);
  tn_file_index_release(index);
  free(bytes);
}

static void empty_index__skips_what_no_null_satisfies(void **state) {
  static const struct {
    tn_pred_op op;
    tn_index_verdict verdict;
  } cases[] = {
      {TN_PRED_EQ, TN_INDEX_SKIP},          {TN_PRED_IN, TN_INDEX_SKIP},
      {TN_PRED_LT, TN_INDEX_SKIP},          {TN_PRED_LE, TN_INDEX_SKIP},
      {TN_PRED_GT, TN_INDEX_SKIP},          {TN_PRED_GE, TN_INDEX_SKIP},
      {TN_PRED_STARTS_WITH, TN_INDEX_SKIP}, {TN_PRED_ENDS_WITH, TN_INDEX_SKIP},
      {TN_PRED_CONTAINS, TN_INDEX_SKIP},    {TN_PRED_NE, TN_INDEX_REMAIN},
      {TN_PRED_NOT_IN, TN_INDEX_REMAIN},    {TN_PRED_LIKE, TN_INDEX_REMAIN},
  };
  made_part part = {"c", "bitmap", {NULL, 0}};
  tn_field field = column_of("STRING");
  size_t n_bytes;
  uint8_t *bytes = make_container(&part, 1, 0, &n_bytes);
  tn_file_index *index = open_bytes(tn_slice_of(bytes, n_bytes));
  tn_datum pair[2] = {{.v = {.bytes = tn_slice_text("x")}}, {.v = {.bytes = tn_slice_text("y")}}};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    const tn_pred *leaf = tn_pred_leaf(&arena, cases[i].op, &field, pair, 1);
    assert_int_equal(ask(index, &field, 1, 5, leaf).verdict, cases[i].verdict);
  }
  assert_int_equal(
      ask(index, &field, 1, 5, tn_pred_leaf(&arena, TN_PRED_BETWEEN, &field, pair, 2)).verdict,
      TN_INDEX_REMAIN);
  assert_int_equal(
      ask(index, &field, 1, 5, tn_pred_leaf(&arena, TN_PRED_IS_NULL, &field, NULL, 0)).verdict,
      TN_INDEX_REMAIN);
  assert_int_equal(
      ask(index, &field, 1, 5, tn_pred_leaf(&arena, TN_PRED_IS_NOT_NULL, &field, NULL, 0)).verdict,
      TN_INDEX_SKIP);
  tn_file_index_release(index);
  free(bytes);
}

static void what_is_not_understood__remains(void **state) {
  static const char *const kinds[] = {"bitmap", "bsi", "range-bitmap"};
  static const size_t version_at[] = {0, 0, 4};
  tn_field field = column_of("INT");
  (void)state;
  for (size_t i = 0; i < TN_COUNT(kinds); i++) {
    tn_slice good = first_payload(env, java_index_of("INT", kinds[i])->container);
    uint8_t *newer = malloc(good.len), *bytes;
    made_part part = {"c", kinds[i], tn_slice_of(newer, good.len)};
    const tn_pred *leaves[2] = {leaf_int(TN_PRED_EQ, &field, -299),
                                leaf_int(TN_PRED_EQ, &field, -298)};
    size_t n_bytes;
    memcpy(newer, good.data, good.len);
    newer[version_at[i]] = 9;
    bytes = make_container(&part, 1, 0, &n_bytes);
    tn_file_index *index = open_bytes(tn_slice_of(bytes, n_bytes));
    /* twice: the second leaf must not go on with what the first one left */
    assert_int_equal(
        ask(index, &field, 1, JAVA_ROWS, tn_pred_compound(&arena, TN_PRED_AND, leaves, 2)).verdict,
        TN_INDEX_REMAIN);
    tn_file_index_release(index);
    free(bytes);
    part.kind = "newer-kind";
    bytes = make_container(&part, 1, 0, &n_bytes);
    index = open_bytes(tn_slice_of(bytes, n_bytes));
    assert_int_equal(ask(index, &field, 1, JAVA_ROWS, leaves[0]).verdict, TN_INDEX_REMAIN);
    tn_file_index_release(index);
    free(bytes);
    free(newer);
  }
}

/* B52 as it was told: a has the value 1 in row 1, b no index. */
static void or__with_a_column_without_index_remains(void **state) {
  tn_field fields[2] = {column_of("INT"), column_of("INT")};
  tn_file_index *index = open_bytes(make_bitmap_of(&arena, "a", "0,1,2,null,2"));
  const tn_pred *parts[2];
  tn_index_result result;
  (void)state;
  fields[0].id = 1;
  fields[0].name = "a";
  parts[0] = leaf_int(TN_PRED_EQ, &fields[0], 1);
  parts[1] = leaf_int(TN_PRED_EQ, &fields[1], 9);
  result = ask(index, fields, 2, 5, parts[0]);
  assert_int_equal(result.verdict, TN_INDEX_ROWS);
  assert_int_equal(tn_index_result_rows(&result), 1);
  tn_index_result_reset(&result);
  result = ask(index, fields, 2, 5, tn_pred_compound(&arena, TN_PRED_OR, parts, 2));
  assert_int_equal(result.verdict, TN_INDEX_REMAIN);
  tn_file_index_release(index);
}

/* ------------------------------------------------------------------ in a file */

/* Larger than what is read at once, so that payloads are read in pieces. */
static void file__answers_as_bytes_do(void **state) {
  size_t n;
  const java_index *all = java_indexes(&n);
  (void)state;
  for (size_t i = 0; i < n; i++) {
    tn_field field = column_of(all[i].type_text);
    made_part part = {"c", all[i].kind, first_payload(env, all[i].container)};
    tn_file_index *in_memory = open_bytes(all[i].container), *in_file;
    size_t n_bytes;
    uint8_t *bytes = make_container(&part, 1, 100000, &n_bytes);
    tarn_error err;
    assert_works(tn_storage_memory_put(storage, "/t/x.index", tn_slice_of(bytes, n_bytes), &err),
                 err);
    assert_works(tn_file_index_load(env, storage, "/t/x.index", &in_file, &err), err);
    for (int64_t d = 0; d < JAVA_VALUES; d += 9) {
      tn_datum literals[3] = {java_distinct(&field.type, d),
                              java_distinct(&field.type, (d + 40) % JAVA_VALUES),
                              java_distinct(&field.type, 99 - d)};
      static const tn_pred_op ops[] = {TN_PRED_EQ, TN_PRED_IN, TN_PRED_NOT_IN, TN_PRED_LT,
                                       TN_PRED_IS_NULL};
      for (size_t k = 0; k < TN_COUNT(ops); k++) {
        int32_t n_literals = ops[k] == TN_PRED_IS_NULL                          ? 0
                             : ops[k] == TN_PRED_IN || ops[k] == TN_PRED_NOT_IN ? 3
                                                                                : 1;
        const tn_pred *leaf = tn_pred_leaf(&arena, ops[k], &field, literals, n_literals);
        tn_index_result a = ask(in_memory, &field, 1, JAVA_ROWS, leaf),
                        b = ask(in_file, &field, 1, JAVA_ROWS, leaf);
        assert_int_equal(a.verdict, b.verdict);
        assert_true(a.verdict != TN_INDEX_ROWS || roaring_bitmap_equals(a.rows, b.rows));
        tn_index_result_reset(&a);
        tn_index_result_reset(&b);
      }
    }
    tn_file_index_release(in_memory);
    tn_file_index_release(in_file);
    free(bytes);
  }
  assert_int_equal(atomic_load(&env->mem.reserved_bytes), 0);
}

static void file__that_is_gone_or_small_is_told(void **state) {
  tn_file_index *index = NULL;
  tarn_error err;
  (void)state;
  assert_int_equal(tn_file_index_load(env, storage, "/t/gone.index", &index, &err),
                   TARN_E_NOT_FOUND);
  assert_works(tn_storage_memory_put(storage, "/t/small.index", tn_slice_text("x"), &err), err);
  assert_int_equal(tn_file_index_load(env, storage, "/t/small.index", &index, &err),
                   TARN_E_CORRUPT);
  assert_contains(err.message, "/t/small.index");
  assert_works(tn_storage_memory_put(storage, "/t/empty.index", tn_slice_text(""), &err), err);
  assert_int_equal(tn_file_index_load(env, storage, "/t/empty.index", &index, &err),
                   TARN_E_CORRUPT);
  assert_null(index);
}

/* A head that is larger than what is read at once. */
static void file__may_have_a_long_head(void **state) {
  enum { N = 6000 };
  made_part *parts = calloc(N + 1, sizeof(*parts));
  tn_field field = column_of("INT");
  tn_file_index *index;
  size_t n_bytes;
  uint8_t *bytes;
  tarn_error err;
  int32_t n;
  (void)state;
  for (size_t i = 0; i < N; i++) {
    parts[i] = (made_part){"another", "none", {NULL, 0}};
  }
  parts[N] =
      (made_part){"c", "bitmap", first_payload(env, java_index_of("INT", "bitmap")->container)};
  bytes = make_container(parts, N + 1, 1000, &n_bytes);
  assert_true(tn_load_be32(bytes + 12) > 65536);
  assert_works(tn_storage_memory_put(storage, "/t/long.index", tn_slice_of(bytes, n_bytes), &err),
               err);
  assert_works(tn_file_index_load(env, storage, "/t/long.index", &index, &err), err);
  tn_file_index_parts(index, &n);
  assert_int_equal(n, N + 1);
  assert_int_equal(ask(index, &field, 1, JAVA_ROWS, leaf_int(TN_PRED_EQ, &field, -299)).verdict,
                   TN_INDEX_SKIP);
  tn_file_index_release(index);
  free(bytes);
  free(parts);
}

/* ------------------------------------------------------------------ rows as ranges */

static tn_dv *deletions_of(const uint32_t *positions, size_t n) {
  roaring_bitmap_t *bitmap = roaring_bitmap_of_ptr(n, positions);
  size_t size = roaring_bitmap_portable_size_in_bytes(bitmap);
  uint8_t *blob = malloc(size + 12);
  tn_dv *dv;
  tarn_error err;
  tn_store_be32(blob, (uint32_t)size + 4);
  tn_store_be32(blob + 4, 0x5E43F2D0u);
  roaring_bitmap_portable_serialize(bitmap, (char *)blob + 8);
  tn_store_be32(blob + 8 + size, tn_crc32(0, blob + 4, size + 4));
  assert_works(tn_dv_decode(env, tn_slice_of(blob, size + 12), "x.dv", &dv, &err), err);
  roaring_bitmap_free(bitmap);
  free(blob);
  return dv;
}

static void ranges__leave_out_deleted_runs_and_bridge_gaps(void **state) {
  static const uint32_t rows[] = {2, 3, 4, 8, 20, 21, 40, 100};
  static const uint32_t deleted[] = {3, 8, 100};
  static const struct {
    bool has_deletions;
    int64_t max_gap;
    size_t n;
    tn_range ranges[6];
  } cases[] = {
      {false, 0, 5, {{2, 5}, {8, 9}, {20, 22}, {40, 41}, {100, 101}}},
      {false, 4, 4, {{2, 9}, {20, 22}, {40, 41}, {100, 101}}},
      {false, 3, 5, {{2, 5}, {8, 9}, {20, 22}, {40, 41}, {100, 101}}},
      {false, 20, 2, {{2, 41}, {100, 101}}},
      {true, 0, 3, {{2, 5}, {20, 22}, {40, 41}}},
      {true, 1000, 1, {{2, 41}}},
  };
  tn_dv *dv = deletions_of(deleted, TN_COUNT(deleted));
  tn_index_result result = {TN_INDEX_ROWS, roaring_bitmap_of_ptr(TN_COUNT(rows), rows)};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tarn_error err;
    tn_ranges out;
    tn_ranges_init(&out, &env->mem);
    assert_works(tn_index_result_ranges(&result, cases[i].has_deletions ? dv : NULL,
                                        cases[i].max_gap, &out, &err),
                 err);
    assert_int_equal(out.count, cases[i].n);
    for (size_t k = 0; k < out.count; k++) {
      assert_int_equal(out.items[k].begin, cases[i].ranges[k].begin);
      assert_int_equal(out.items[k].end, cases[i].ranges[k].end);
    }
    tn_ranges_reset(&out);
  }
  tn_index_result_reset(&result);
  tn_dv_release(dv);
}

/* ------------------------------------------------------------------ bad payloads */

static void payloads__of_another_number_of_rows_are_corrupt(void **state) {
  static const char *const kinds[] = {"bitmap", "bsi", "range-bitmap"};
  tn_field field = column_of("INT");
  (void)state;
  for (size_t i = 0; i < TN_COUNT(kinds); i++) {
    tn_file_index *index = open_bytes(java_index_of("INT", kinds[i])->container);
    tn_index_result result = {0};
    tarn_error err;
    assert_int_equal(tn_file_index_test(index, &field, 1, JAVA_ROWS + 1,
                                        leaf_int(TN_PRED_EQ, &field, 1), &result, &err),
                     TARN_E_CORRUPT);
    assert_contains(err.message, "an index of 400 rows, but the data file has 401");
    assert_contains(err.message, kinds[i]);
    tn_file_index_release(index);
  }
}

/* Nothing is checked against a sum, so that changed bytes may give changed rows; but never a crash
 * or rows that the file does not have. */
static void payloads__with_changed_bytes_are_survived(void **state) {
  static const char *const types[] = {"INT", "STRING", "TINYINT"};
  size_t n;
  const java_index *all = java_indexes(&n);
  (void)state;
  for (size_t i = 0; i < n; i++) {
    bool is_tried = false;
    for (size_t t = 0; t < TN_COUNT(types); t++) {
      is_tried = is_tried || strcmp(types[t], all[i].type_text) == 0;
    }
    if (!is_tried) {
      continue;
    }
    tn_field field = column_of(all[i].type_text);
    tn_datum literal = java_distinct(&field.type, 30);
    const tn_pred *children[3] = {tn_pred_leaf(&arena, TN_PRED_NE, &field, &literal, 1),
                                  tn_pred_leaf(&arena, TN_PRED_GE, &field, &literal, 1),
                                  tn_pred_leaf(&arena, TN_PRED_IS_NOT_NULL, &field, NULL, 0)};
    const tn_pred *pred = tn_pred_compound(&arena, TN_PRED_AND, children, 3);
    uint8_t *bytes = malloc(all[i].container.len);
    memcpy(bytes, all[i].container.data, all[i].container.len);
    for (size_t at = 0; at < all[i].container.len; at += at < 400 ? 1 : 7) {
      uint8_t flip = (uint8_t)(1u << (at % 8));
      tn_file_index *index = NULL;
      tn_index_result result = {0};
      tarn_status st;
      bytes[at] ^= flip;
      st = tn_file_index_open(env, tn_slice_of(bytes, all[i].container.len), "x.index", &index,
                              NULL);
      if (st == TARN_OK) {
        st = tn_file_index_test(index, &field, 1, JAVA_ROWS, pred, &result, NULL);
      }
      assert_true(st == TARN_OK || st == TARN_E_CORRUPT || st == TARN_E_UNSUPPORTED);
      if (result.verdict == TN_INDEX_ROWS) {
        assert_true(roaring_bitmap_maximum(result.rows) < JAVA_ROWS);
      }
      tn_index_result_reset(&result);
      tn_file_index_release(index);
      bytes[at] ^= flip;
    }
    free(bytes);
  }
  assert_int_equal(atomic_load(&env->mem.reserved_bytes), 0);
}

/* ------------------------------------------------------------------ out of memory */

static tarn_status load_once(void *ctx, tarn_env *own, tarn_error *err) {
  made_part part = {"c", "range-bitmap",
                    first_payload(env, java_index_of("INT", "range-bitmap")->container)};
  tn_field field = column_of("INT");
  tn_index_result result = {0};
  tn_file_index *index = NULL;
  tn_storage *mine = NULL;
  size_t n_bytes;
  uint8_t *bytes = make_container(&part, 1, 100000, &n_bytes);
  tarn_status st = tn_storage_memory(own, &mine, err);
  (void)ctx;
  if (st == TARN_OK) {
    st = tn_storage_memory_put(mine, "/x.index", tn_slice_of(bytes, n_bytes), err);
  }
  if (st == TARN_OK) {
    st = tn_file_index_load(own, mine, "/x.index", &index, err);
  }
  if (st == TARN_OK) {
    st = tn_file_index_test(index, &field, 1, JAVA_ROWS, leaf_int(TN_PRED_LT, &field, 0), &result,
                            err);
  }
  if (st == TARN_OK) {
    tn_ranges ranges;
    tn_ranges_init(&ranges, &own->mem);
    st = tn_index_result_ranges(&result, NULL, 0, &ranges, err);
    tn_ranges_reset(&ranges);
  }
  tn_index_result_reset(&result);
  tn_file_index_release(index);
  tn_storage_release(mine);
  free(bytes);
  return st;
}

static void loading__survives_failing_allocations(void **state) {
  (void)state;
  assert_true(tn_torture(load_once, NULL, TARN_OK) > 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parts__are_those_of_each_column),
      cmocka_unit_test(describe__tells_kinds_and_what_they_hold),
      cmocka_unit_test(describe__knows_every_kind_that_java_writes),
      cmocka_unit_test(names__are_modified_utf8),
      cmocka_unit_test(head__is_checked),
      cmocka_unit_test(head__may_hold_something_newer),
      cmocka_unit_test(container__cut_off_anywhere_is_corrupt),
      cmocka_unit_test(and__intersects_and_or__unites),
      cmocka_unit_test(columns__are_found_under_the_name_of_the_files_schema),
      cmocka_unit_test(leaves__of_another_type_or_of_nested_fields_remain),
      cmocka_unit_test(indexes__of_one_column_are_all_asked),
      cmocka_unit_test(empty_index__skips_what_no_null_satisfies),
      cmocka_unit_test(what_is_not_understood__remains),
      cmocka_unit_test(or__with_a_column_without_index_remains),
      cmocka_unit_test(file__answers_as_bytes_do),
      cmocka_unit_test(file__that_is_gone_or_small_is_told),
      cmocka_unit_test(file__may_have_a_long_head),
      cmocka_unit_test(ranges__leave_out_deleted_runs_and_bridge_gaps),
      cmocka_unit_test(payloads__of_another_number_of_rows_are_corrupt),
      cmocka_unit_test(payloads__with_changed_bytes_are_survived),
      cmocka_unit_test(loading__survives_failing_allocations),
  };
  return cmocka_run_group_tests_name("file_index", tests, set_up, tear_down);
}
