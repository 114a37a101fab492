/* test_arrow_import.c - Arrow arrays as vectors: by name, converted, refused. */
#include "column/arrow_import.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "column/arrow.h"
#include "column/equal.h"
#include "column_test.h"
#include "support/random_vec.h"
#include "support/test.h"

/* ------------------------------------------------------------------ arrays by hand */

/* A struct array of one column "c", whose buffers are given. */
typedef struct made {
  struct ArrowSchema schema, column_schema, child_schema, dictionary_schema;
  struct ArrowSchema *schema_children[1], *list_children[1];
  struct ArrowArray array, column, child, dictionary;
  struct ArrowArray *array_children[1], *column_children[1];
  const void *top_buffers[1], *buffers[5], *child_buffers[3], *dictionary_buffers[3];
} made;

static void keep_schema(struct ArrowSchema *schema) {
  (void)schema;
}

static void keep_array(struct ArrowArray *array) {
  (void)array;
}

static void make_column(made *m, const char *format, int64_t n, int64_t n_buffers,
                        const void *valid, const void *first, const void *second) {
  memset(m, 0, sizeof(*m));
  m->schema_children[0] = &m->column_schema;
  m->schema = (struct ArrowSchema){.format = "+s",
                                   .name = "",
                                   .n_children = 1,
                                   .children = m->schema_children,
                                   .release = keep_schema};
  m->column_schema = (struct ArrowSchema){
      .format = format, .name = "c", .flags = ARROW_FLAG_NULLABLE, .release = keep_schema};
  m->array_children[0] = &m->column;
  m->array = (struct ArrowArray){.length = n,
                                 .n_buffers = 1,
                                 .buffers = m->top_buffers,
                                 .n_children = 1,
                                 .children = m->array_children,
                                 .release = keep_array};
  m->buffers[0] = valid;
  m->buffers[1] = first;
  m->buffers[2] = second;
  m->column = (struct ArrowArray){.length = n,
                                  .null_count = -1,
                                  .n_buffers = n_buffers,
                                  .buffers = m->buffers,
                                  .release = keep_array};
}

static void make_dictionary(made *m, const char *format, int64_t n, int64_t n_buffers,
                            const void *valid, const void *first, const void *second) {
  m->dictionary_schema = (struct ArrowSchema){.format = format, .name = "", .release = keep_schema};
  m->dictionary_buffers[0] = valid;
  m->dictionary_buffers[1] = first;
  m->dictionary_buffers[2] = second;
  m->dictionary = (struct ArrowArray){.length = n,
                                      .null_count = -1,
                                      .n_buffers = n_buffers,
                                      .buffers = m->dictionary_buffers,
                                      .release = keep_array};
  m->column_schema.dictionary = &m->dictionary_schema;
  m->column.dictionary = &m->dictionary;
}

static void make_list(made *m, const char *format, int64_t n, const void *first) {
  m->child_schema = (struct ArrowSchema){.format = format, .name = "item", .release = keep_schema};
  m->list_children[0] = &m->child_schema;
  m->column_schema.n_children = 1;
  m->column_schema.children = m->list_children;
  m->child_buffers[1] = first;
  m->child = (struct ArrowArray){
      .length = n, .n_buffers = 2, .buffers = m->child_buffers, .release = keep_array};
  m->column_children[0] = &m->child;
  m->column.n_children = 1;
  m->column.children = m->column_children;
}

/* Rows [begin, begin + n) as a column of type `sql`. */
static tarn_status import(column_test *t, const made *m, const char *sql, int64_t begin, int64_t n,
                          tn_batch *out, tarn_error *err) {
  tn_field *field = tn_arena_calloc(&t->arena, 1, sizeof(*field));
  tn_arrow_import *plan;
  const int8_t *kinds;
  assert_non_null(field);
  field->name = "c";
  field->type = *parse_type(t, sql);
  TN_TRY(tn_arrow_import_prepare(&t->arena, &m->schema, field, 1, "_row_kind", &plan, err));
  return tn_arrow_import_rows(t->env, plan, &m->array, begin, n, out, &kinds, err);
}

static void assert_imports(column_test *t, const made *m, const char *sql, const char *expected) {
  tn_batch batch;
  tarn_error err;
  assert_works(import(t, m, sql, 0, m->array.length, &batch, &err), err);
  assert_works(tn_arrow_own(t->env, &batch.columns[0], &err), err);
  assert_false(tn_arrow_is_borrowed(&batch.columns[0]));
  assert_works(tn_vec_flatten(t->env, &batch.columns[0], &err), err);
  assert_works(tn_vec_validate(&batch.columns[0], &err), err);
  assert_vec(&batch.columns[0], expected);
  tn_batch_reset(t->env, &batch);
}

static void assert_refuses(column_test *t, const made *m, const char *sql, tarn_status status,
                           const char *text) {
  tn_batch batch = {0};
  tarn_error err;
  assert_int_equal(import(t, m, sql, 0, m->array.length, &batch, &err), status);
  assert_contains(err.message, text);
  assert_null(batch.columns);
}

/* ------------------------------------------------------------------ what is exported comes back */

static void import__takes_back_what_is_exported(void **state) {
  column_test *t = *state;
  random_source r = {.state = 17};
  for (int round = 0; round < 400; round++) {
    tn_field field = {.id = 3, .name = "c"};
    tn_batch batch, back;
    struct ArrowSchema schema;
    struct ArrowArray array;
    tn_arrow_import *plan;
    const int8_t *kinds;
    tn_vec copy = {0};
    tarn_error err;
    int64_t n = 1 + random_below(&r, 70), begin = random_below(&r, (uint32_t)n),
            len = random_below(&r, (uint32_t)(n - begin) + 1);
    do {
      assert_true(random_type(&t->arena, &r, 3, &field.type));
    } while (field.type.precision > 6 || field.type.root == TN_TIMESTAMP ||
             field.type.root == TN_TIMESTAMP_LTZ || field.type.root == TN_TIME ||
             (field.type.n_fields > 0 && round % 2 == 0));
    assert_works(tn_batch_init(t->env, &field, 1, &batch, &err), err);
    assert_works(random_vec(t->env, &field.type, n, &r, &batch.columns[0], &err), err);
    batch.n_rows = n;
    assert_works(tn_vec_copy_range(t->env, &batch.columns[0], 0, n, &copy, &err), err);
    assert_works(tn_arrow_export_schema(t->env, &field, 1, NULL, &schema, &err), err);
    if (tn_arrow_export_batch(t->env, &batch, NULL, &array, &err) == TARN_OK) {
      tarn_status st = tn_arrow_import_prepare(&t->arena, &schema, &field, 1, NULL, &plan, &err);
      st = st == TARN_OK
               ? tn_arrow_import_rows(t->env, plan, &array, begin, len, &back, &kinds, &err)
               : st;
      if (st != TARN_OK) {
        /* random values need not keep to their type */
        assert_true(strstr(err.message, "does not fit") != NULL ||
                    strstr(err.message, "no time of day") != NULL);
      } else {
        for (int64_t i = 0; i < len; i++) {
          bool is_equal;
          assert_works(tn_vec_rows_equal(&t->env->mem, &copy, begin + i, &back.columns[0], i,
                                         &is_equal, &err),
                       err);
          assert_true(is_equal);
        }
        tn_batch_reset(t->env, &back);
      }
      array.release(&array);
    }
    schema.release(&schema);
    tn_vec_reset(t->env, &copy);
  }
}

/* ------------------------------------------------------------------ conversions */

static void import__converts_numbers_without_loss(void **state) {
  column_test *t = *state;
  static const int8_t i8[] = {-1, 0, 127};
  static const uint8_t u8[] = {0, 255, 3};
  static const int16_t i16[] = {-300, 0, 300};
  static const uint32_t u32[] = {0, 4294967295u, 1};
  static const int64_t i64[] = {-5, 0, 5};
  static const uint16_t f16[] = {0x3c00, 0xc000, 0x0001};
  static const float f32[] = {1.5f, -2, 0};
  static const struct {
    const char *format, *sql, *expected;
    const void *values;
  } cases[] = {{"c", "TINYINT", "[-1,0,127]", i8},
               {"c", "BIGINT", "[-1,0,127]", i8},
               {"C", "SMALLINT", "[0,255,3]", u8},
               {"s", "INT", "[-300,0,300]", i16},
               {"I", "BIGINT", "[0,4294967295,1]", u32},
               {"l", "BIGINT", "[-5,0,5]", i64},
               {"f", "DOUBLE", "[1.5,-2,0]", f32},
               {"f", "FLOAT", "[1.5,-2,0]", f32},
               {"e", "DOUBLE", "[1,-2,5.9604644775390625e-08]", f16}};
  made m;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    make_column(&m, cases[i].format, 3, 2, NULL, cases[i].values, NULL);
    if (strcmp(cases[i].format, "e") == 0) {
      tn_batch batch;
      tarn_error err;
      assert_works(import(t, &m, cases[i].sql, 0, 3, &batch, &err), err);
      assert_true(((double *)batch.columns[0].values)[0] == 1.0);
      assert_true(((double *)batch.columns[0].values)[1] == -2.0);
      assert_true(((double *)batch.columns[0].values)[2] == 0x1p-24);
      tn_batch_reset(t->env, &batch);
    } else {
      assert_imports(t, &m, cases[i].sql, cases[i].expected);
    }
  }
  make_column(&m, "l", 3, 2, NULL, i64, NULL);
  assert_refuses(t, &m, "INT", TARN_E_INVALID,
                 "column 'c': Arrow's int64 cannot become INT without loss");
  make_column(&m, "C", 3, 2, NULL, u8, NULL);
  assert_refuses(t, &m, "TINYINT", TARN_E_INVALID, "Arrow's uint8 cannot become TINYINT");
  make_column(&m, "L", 3, 2, NULL, i64, NULL);
  assert_refuses(t, &m, "BIGINT", TARN_E_INVALID, "uint64");
}

static void import__decimals_fit_or_are_refused(void **state) {
  column_test *t = *state;
  static const int64_t wide[][4] = {{125, 0, 0, 0}, {-125, -1, -1, -1}, {0, 0, 1, 0}};
  static const int64_t d128[][2] = {{12345, 0}, {-1, -1}};
  static const int32_t d32[] = {125, -3};
  static const uint8_t valid[] = {0x3};
  made m;
  make_column(&m, "d:10,2", 2, 2, NULL, d128, NULL);
  assert_imports(t, &m, "DECIMAL(10, 2)", "[12345,-1]");
  assert_imports(t, &m, "DECIMAL(12, 4)", "[1234500,-100]");
  assert_refuses(t, &m, "DECIMAL(4, 2)", TARN_E_INVALID,
                 "row 0, column 'c': the value does not fit DECIMAL(4, 2)");
  assert_refuses(t, &m, "DECIMAL(10, 1)", TARN_E_INVALID, "without loss");
  make_column(&m, "d:60,2,256", 2, 2, NULL, wide, NULL);
  assert_imports(t, &m, "DECIMAL(10, 2)", "[125,-125]");
  make_column(&m, "d:60,2,256", 3, 2, NULL, wide, NULL);
  assert_refuses(t, &m, "DECIMAL(38, 2)", TARN_E_INVALID, "row 2");
  make_column(&m, "d:60,2,256", 3, 2, valid, wide, NULL); /* a null has any value */
  assert_imports(t, &m, "DECIMAL(38, 2)", "[125,-125,null]");
  make_column(&m, "d:5,2,32", 2, 2, NULL, d32, NULL);
  assert_imports(t, &m, "DECIMAL(10, 2)", "[125,-3]");
}

/* Metadata of one pair, "paimon.type" and its value. */
static const char *type_metadata(const char *sql, uint8_t room[64]) {
  static const char key[] = "paimon.type";
  size_t n = strlen(sql);
  tn_store_le32(room, 1);
  tn_store_le32(room + 4, sizeof(key) - 1);
  memcpy(room + 8, key, sizeof(key) - 1);
  tn_store_le32(room + 19, (uint32_t)n);
  memcpy(room + 23, sql, n);
  return (const char *)room;
}

/* Seconds with nine digits: 64 bits of nanoseconds end in 1677 and 2262. */
static void import__decimal_seconds_are_far_times(void **state) {
  column_test *t = *state;
  static const char far[] = "[\"253402300799000000001\",-1,\"-62135596800000000000\"]";
  uint64_t values[3][2], bounds[4][2];
  const tn_i128 least = (tn_i128)INT64_MIN * 1000000;
  const tn_i128 most = (tn_i128)INT64_MAX * 1000000 + 999999;
  uint8_t room[64];
  made m;
  tn_store_i128((uint8_t *)values[0], (tn_i128)253402300799 * 1000000000 + 1); /* the year 9999 */
  tn_store_i128((uint8_t *)values[1], -1);
  tn_store_i128((uint8_t *)values[2], (tn_i128)-62135596800 * 1000000000); /* the year 1 */
  tn_store_i128((uint8_t *)bounds[0], least);
  tn_store_i128((uint8_t *)bounds[1], most);
  tn_store_i128((uint8_t *)bounds[2], least - 1);
  tn_store_i128((uint8_t *)bounds[3], most + 1);
  make_column(&m, "d:38,9", 3, 2, NULL, values, NULL);
  assert_imports(t, &m, "TIMESTAMP(9)", far);
  assert_imports(t, &m, "TIMESTAMP_LTZ(7)", far);
  assert_refuses(t, &m, "TIMESTAMP(6)", TARN_E_INVALID, "without loss");
  m.column_schema.metadata = type_metadata("TIMESTAMP(9)", room);
  assert_imports(t, &m, "TIMESTAMP(9)", far);
  assert_refuses(t, &m, "DECIMAL(38, 9)", TARN_E_INVALID, "without loss");
  assert_refuses(t, &m, "TIMESTAMP_LTZ(9)", TARN_E_INVALID, "without loss");
  m.column_schema.metadata = type_metadata("TIMESTAMP(9) WITH LOCAL TIME ZONE", room);
  assert_imports(t, &m, "TIMESTAMP_LTZ(9)", far);
  assert_refuses(t, &m, "TIMESTAMP(9)", TARN_E_INVALID, "without loss");
  m.column_schema.metadata = type_metadata("DECIMAL(38, 9)", room);
  assert_refuses(t, &m, "TIMESTAMP(9)", TARN_E_INVALID, "without loss");
  make_column(&m, "d:38,8", 3, 2, NULL, values, NULL);
  assert_refuses(t, &m, "TIMESTAMP(9)", TARN_E_INVALID, "without loss");
  make_column(&m, "d:38,9", 2, 2, NULL, bounds, NULL);
  assert_imports(t, &m, "TIMESTAMP(9)",
                 "[\"-9223372036854775808000000\",\"9223372036854775807999999\"]");
  make_column(&m, "d:38,9", 3, 2, NULL, bounds, NULL);
  assert_refuses(t, &m, "TIMESTAMP(9)", TARN_E_INVALID,
                 "row 2, column 'c': the value does not fit TIMESTAMP(9)");
  make_column(&m, "d:38,9", 2, 2, NULL, bounds[2], NULL);
  m.column.offset = 1;
  m.column.length = m.array.length = 1;
  assert_refuses(t, &m, "TIMESTAMP(9)", TARN_E_INVALID, "row 0, column 'c'");
}

static void import__times_of_other_units_lose_no_digit(void **state) {
  column_test *t = *state;
  static const int64_t us[] = {1000000, -2000, 0}, days[] = {86400000, -86400000, 0};
  static const int32_t seconds[] = {1, 86399, 0};
  static const struct {
    const char *format, *sql, *expected;
    const void *values;
  } cases[] = {{"tsu:", "TIMESTAMP(6)", "[1000000,-2000,0]", us},
               {"tsu:", "TIMESTAMP(3)", "[1000,-2,0]", us},
               {"tsu:", "TIMESTAMP(9)", "[1000000000,-2000000,0]", us},
               {"tsu:Asia/Tokyo", "TIMESTAMP_LTZ(6)", "[1000000,-2000,0]", us},
               {"tdm", "DATE", "[1,-1,0]", days},
               {"tts", "TIME(3)", "[1000,86399000,0]", seconds},
               {"tdD", "DATE", "[1,86399,0]", seconds},
               {"tss:", "TIMESTAMP(0)", "[1000000000,-2000000,0]", us}};
  made m;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    make_column(&m, cases[i].format, 3, 2, NULL, cases[i].values, NULL);
    assert_imports(t, &m, cases[i].sql, cases[i].expected);
  }
  make_column(&m, "tsu:", 3, 2, NULL, us, NULL);
  assert_refuses(t, &m, "TIMESTAMP(0)", TARN_E_INVALID, "row 1, column 'c': the value -2000");
  assert_refuses(t, &m, "TIMESTAMP_LTZ(6)", TARN_E_INVALID, "without loss");
  make_column(&m, "tsn:", 3, 2, NULL, us, NULL);
  assert_imports(t, &m, "TIMESTAMP(6)", "[1000,-2,0]");
  make_column(&m, "tdm", 3, 2, NULL, us, NULL);
  assert_refuses(t, &m, "DATE", TARN_E_INVALID, "row 0");
  make_column(&m, "ttm", 3, 2, NULL, (const int32_t[]){0, 86400000, 1}, NULL);
  assert_refuses(t, &m, "TIME(3)", TARN_E_INVALID, "row 1, column 'c': 86400000 ms are no time");
}

static void import__texts_of_every_layout(void **state) {
  column_test *t = *state;
  static const int32_t at[] = {2, 4, 4, 7};
  static const int64_t large_at[] = {2, 4, 4, 7};
  static const uint8_t middle_null[] = {0x5};
  static const char text[] = "xxabcde";
  static const int64_t sizes[] = {20};
  static const char long_text[] = "0123456789abcdefghij";
  uint8_t views[48] = {0};
  made m;
  make_column(&m, "u", 3, 3, NULL, at, text);
  assert_imports(t, &m, "STRING", "[\"ab\",\"\",\"cde\"]");
  assert_imports(t, &m, "VARCHAR(3)", "[\"ab\",\"\",\"cde\"]");
  assert_refuses(t, &m, "VARCHAR(2)", TARN_E_INVALID, "row 2, column 'c': a value of 3 characters");
  assert_refuses(t, &m, "BYTES", TARN_E_INVALID, "without loss");
  make_column(&m, "U", 3, 3, middle_null, large_at, text);
  assert_imports(t, &m, "STRING", "[\"ab\",null,\"cde\"]");
  make_column(&m, "z", 3, 3, NULL, at, text);
  assert_imports(t, &m, "BYTES", "[\"ab\",\"\",\"cde\"]");
  assert_refuses(t, &m, "VARBINARY(2)", TARN_E_INVALID, "3 bytes does not fit");
  make_column(&m, "w:2", 3, 2, middle_null, text, NULL);
  assert_imports(t, &m, "BYTES", "[\"xx\",null,\"cd\"]");
  tn_store_le32(views, 2);
  memcpy(views + 4, "ab", 2);
  tn_store_le32(views + 16, 18);
  tn_store_le32(views + 16 + 12, 2); /* offset 2 of buffer 0 */
  tn_store_le32(views + 32, 12);
  memcpy(views + 36, "abcdefghijkl", 12);
  make_column(&m, "vu", 3, 4, NULL, views, long_text);
  m.buffers[3] = sizes;
  assert_imports(t, &m, "STRING", "[\"ab\",\"23456789abcdefghij\",\"abcdefghijkl\"]");
  tn_store_le32(views + 16 + 12, 3);
  assert_refuses(t, &m, "STRING", TARN_E_INVALID, "row 1, column 'c': a view outside");
}

static void import__nulls_with_bytes_become_empty(void **state) {
  column_test *t = *state;
  static const int32_t at[] = {0, 2, 4, 6};
  static const uint8_t valid[] = {0x5};
  made m;
  make_column(&m, "u", 3, 3, valid, at,
              "ab\xff\xff"
              "cd"); /* nobody looks at the null's bytes */
  assert_imports(t, &m, "STRING", "[\"ab\",null,\"cd\"]");
}

static void import__texts_must_be_utf8(void **state) {
  column_test *t = *state;
  static const int32_t at[] = {0, 2, 4, 5}, split[] = {0, 1, 2, 2};
  made m;
  make_column(&m, "u", 3, 3, NULL, at, "ab\xc3\xa9z");
  assert_imports(t, &m, "STRING", "[\"ab\",\"\xc3\xa9\",\"z\"]");
  assert_imports(t, &m, "CHAR(2)", "[\"ab\",\"\xc3\xa9\",\"z\"]");
  make_column(&m, "u", 3, 3, NULL, at, "abc\xffz");
  assert_refuses(t, &m, "STRING", TARN_E_INVALID,
                 "row 1, column 'c': the text is not UTF-8 at byte 1");
  make_column(&m, "u", 3, 3, NULL, split, "\xc3\xa9"); /* a character over two rows */
  assert_refuses(t, &m, "STRING", TARN_E_INVALID, "row 0");
}

static void import__dictionaries(void **state) {
  column_test *t = *state;
  static const int8_t codes[] = {1, 0, 1, 2};
  static const int32_t at[] = {0, 1, 3, 3};
  static const uint8_t valid[] = {0xb}, values_valid[] = {0x5};
  made m;
  make_column(&m, "c", 4, 2, NULL, codes, NULL);
  make_dictionary(&m, "u", 3, 3, NULL, at, "abb");
  assert_imports(t, &m, "STRING", "[\"bb\",\"a\",\"bb\",\"\"]");
  make_column(&m, "c", 4, 2, valid, codes, NULL);
  make_dictionary(&m, "u", 3, 3, values_valid, at, "abb"); /* a value that is null */
  assert_imports(t, &m, "STRING", "[null,\"a\",null,\"\"]");
  make_column(&m, "c", 4, 2, NULL, codes, NULL);
  make_dictionary(&m, "u", 2, 3, NULL, at, "abb");
  assert_refuses(t, &m, "STRING", TARN_E_INVALID, "row 3, column 'c': code 2");
}

static void import__lists_of_every_layout(void **state) {
  column_test *t = *state;
  static const int32_t at[] = {1, 3, 3, 4}, backwards[] = {2, 0, 1}, sizes[] = {2, 1, 0};
  static const int32_t items[] = {10, 11, 12, 13, 14, 15};
  static const uint8_t valid[] = {0x5};
  made m;
  make_column(&m, "+l", 3, 2, NULL, at, NULL);
  make_list(&m, "i", 6, items);
  assert_imports(t, &m, "ARRAY<INT>", "[[11,12],[],[13]]");
  assert_imports(t, &m, "ARRAY<BIGINT>", "[[11,12],[],[13]]");
  make_column(&m, "+w:2", 3, 1, valid, NULL, NULL);
  make_list(&m, "i", 6, items);
  assert_imports(t, &m, "ARRAY<INT>", "[[10,11],null,[14,15]]");
  make_column(&m, "+vl", 3, 3, NULL, backwards, sizes);
  make_list(&m, "i", 6, items);
  assert_imports(t, &m, "ARRAY<INT>", "[[12,13],[10],[]]");
  make_column(&m, "+l", 3, 2, NULL, at, NULL);
  make_list(&m, "i", 3, items);
  assert_refuses(t, &m, "ARRAY<INT>", TARN_E_INVALID, "a list outside of its elements");
}

static void import__lists_of_one_length_are_vectors(void **state) {
  column_test *t = *state;
  static const int32_t even[] = {1, 3, 5}, with_null[] = {0, 2, 3, 5}, backwards[] = {4, 0, 1};
  static const int32_t uneven[] = {0, 2, 3}, sizes[] = {2, 9, 2}, nothing[] = {0, 0, 0};
  static const int32_t items[] = {10, 11, 12, 13, 14, 15};
  static const uint8_t valid[] = {0x5}, none[] = {0};
  made m;
  make_column(&m, "+l", 2, 2, NULL, even, NULL);
  make_list(&m, "i", 6, items);
  assert_imports(t, &m, "VECTOR<INT, 2>", "[[11,12],[13,14]]");
  assert_imports(t, &m, "VECTOR<BIGINT, 2>", "[[11,12],[13,14]]");
  assert_refuses(t, &m, "VECTOR<INT, 3>", TARN_E_INVALID,
                 "row 0, column 'c': a list of 2 elements is no VECTOR<INT, 3>");
  make_column(&m, "+l", 3, 2, valid, with_null, NULL);
  make_list(&m, "i", 6, items);
  assert_imports(t, &m, "VECTOR<INT, 2>", "[[10,11],null,[13,14]]");
  make_column(&m, "+vl", 3, 3, valid, backwards, sizes);
  make_list(&m, "i", 6, items);
  assert_imports(t, &m, "VECTOR<INT, 2>", "[[14,15],null,[11,12]]");
  make_column(&m, "+l", 2, 2, none, nothing, NULL);
  make_list(&m, "i", 0, items);
  assert_imports(t, &m, "VECTOR<INT, 2>", "[null,null]");
  make_column(&m, "+l", 2, 2, NULL, uneven, NULL);
  make_list(&m, "i", 6, items);
  assert_refuses(t, &m, "VECTOR<INT, 2>", TARN_E_INVALID, "row 1, column 'c': a list of 1 element");
}

static void import__slices_and_offsets(void **state) {
  column_test *t = *state;
  static const int32_t values[] = {1, 2, 3, 4, 5, 6, 7, 8};
  static const uint8_t valid[] = {0xdf};
  made m;
  tn_batch batch;
  tarn_error err;
  make_column(&m, "i", 3, 2, valid, values, NULL);
  m.column.offset = 2;
  m.column.length = 6;
  m.array.offset = 1;
  m.array.length = 5;
  assert_works(import(t, &m, "INT", 1, 3, &batch, &err), err); /* rows 4 to 6 */
  assert_works(tn_arrow_own(t->env, &batch.columns[0], &err), err);
  assert_vec(&batch.columns[0], "[5,null,7]");
  tn_batch_reset(t->env, &batch);
  assert_int_equal(import(t, &m, "INT", 3, 3, &batch, &err), TARN_E_INVALID);
  m.column.length = 3;
  assert_int_equal(import(t, &m, "INT", 0, 5, &batch, &err), TARN_E_INVALID);
}

/* ------------------------------------------------------------------ matching */

static void import__unknown_and_missing_columns(void **state) {
  column_test *t = *state;
  static const int32_t values[] = {1};
  tn_field fields[2] = {{.name = "count"}, {.name = "other"}};
  made m;
  tn_arrow_import *plan;
  tn_batch batch;
  const int8_t *kinds;
  tarn_error err;
  fields[0].type = *parse_type(t, "INT");
  fields[1].type = *parse_type(t, "STRING");
  make_column(&m, "i", 1, 2, NULL, values, NULL);
  m.column_schema.name = "coumt";
  assert_int_equal(
      tn_arrow_import_prepare(&t->arena, &m.schema, fields, 2, "_row_kind", &plan, &err),
      TARN_E_NOT_FOUND);
  assert_contains(err.message, "there is no column 'coumt' (did you mean 'count'?)");
  m.column_schema.name = "count";
  assert_works(tn_arrow_import_prepare(&t->arena, &m.schema, fields, 2, "_row_kind", &plan, &err),
               err);
  assert_true(tn_arrow_import_has(plan, 0));
  assert_false(tn_arrow_import_has(plan, 1));
  assert_works(tn_arrow_import_rows(t->env, plan, &m.array, 0, 1, &batch, &kinds, &err), err);
  assert_null(kinds);
  assert_works(tn_arrow_own(t->env, &batch.columns[0], &err), err);
  assert_vec(&batch.columns[0], "[1]");
  assert_int_equal(batch.columns[1].null_count, 1);
  tn_batch_reset(t->env, &batch);
  m.column_schema.name = "_row_kind";
  assert_int_equal(
      tn_arrow_import_prepare(&t->arena, &m.schema, fields, 2, "_row_kind", &plan, &err),
      TARN_E_INVALID);
  assert_contains(err.message, "must be int8, not int32");
}

static void import__row_kinds_are_no_column(void **state) {
  column_test *t = *state;
  static const int8_t values[] = {0, 3, 2};
  tn_field field = {.name = "a"};
  made m;
  tn_arrow_import *plan;
  tn_batch batch;
  const int8_t *kinds;
  tarn_error err;
  field.type = *parse_type(t, "INT");
  make_column(&m, "c", 3, 2, NULL, values, NULL);
  m.column_schema.name = "_row_kind";
  assert_works(tn_arrow_import_prepare(&t->arena, &m.schema, &field, 1, "_row_kind", &plan, &err),
               err);
  assert_works(tn_arrow_import_rows(t->env, plan, &m.array, 1, 2, &batch, &kinds, &err), err);
  assert_int_equal(kinds[0], 3);
  assert_int_equal(kinds[1], 2);
  tn_batch_reset(t->env, &batch);
}

static void import__arrays_that_are_not_what_they_say(void **state) {
  column_test *t = *state;
  static const int32_t at[] = {0, 3, 2, 4};
  made m;
  make_column(&m, "u", 3, 3, NULL, at, "abcd");
  assert_refuses(t, &m, "STRING", TARN_E_INVALID, "row 1, column 'c': offsets that descend");
  make_column(&m, "u", 3, 2, NULL, at, "abcd");
  assert_refuses(t, &m, "STRING", TARN_E_INVALID, "not what its schema says");
  make_column(&m, "i", 3, 2, NULL, NULL, NULL);
  assert_refuses(t, &m, "INT", TARN_E_INVALID, "without values");
  make_column(&m, "i", 3, 2, NULL, at, NULL);
  m.column.release = NULL;
  assert_refuses(t, &m, "INT", TARN_E_INVALID, "released");
  make_column(&m, "i", 3, 2, NULL, at, NULL);
  m.column.offset = -1;
  assert_refuses(t, &m, "INT", TARN_E_INVALID, "offset -1");
  make_column(&m, "+r", 3, 2, NULL, at, NULL);
  assert_refuses(t, &m, "INT", TARN_E_INVALID, "run_end_encoded");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      column_unit_test(import__takes_back_what_is_exported),
      column_unit_test(import__converts_numbers_without_loss),
      column_unit_test(import__decimals_fit_or_are_refused),
      column_unit_test(import__times_of_other_units_lose_no_digit),
      column_unit_test(import__texts_of_every_layout),
      column_unit_test(import__nulls_with_bytes_become_empty),
      column_unit_test(import__texts_must_be_utf8),
      column_unit_test(import__dictionaries),
      column_unit_test(import__lists_of_every_layout),
      column_unit_test(import__lists_of_one_length_are_vectors),
      column_unit_test(import__decimal_seconds_are_far_times),
      column_unit_test(import__slices_and_offsets),
      column_unit_test(import__unknown_and_missing_columns),
      column_unit_test(import__row_kinds_are_no_column),
      column_unit_test(import__arrays_that_are_not_what_they_say),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
