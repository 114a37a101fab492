/* Arrow export: schemas and arrays, checked by nanoarrow. */
#include "column/arrow.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "column_test.h"
#include "nanoarrow/nanoarrow.h"
#include "support/torture.h"

/* ------------------------------------------------------------------ schemas */

static void make_field(column_test *t, const char *sql, tn_field *out) {
  memset(out, 0, sizeof(*out));
  out->id = 7;
  out->name = "c";
  out->type = *parse_type(t, sql);
}

static void assert_metadata(const struct ArrowSchema *schema, const char *key, const char *wanted) {
  struct ArrowStringView value = {NULL, 0};
  assert_int_equal(ArrowMetadataGetValue(schema->metadata, ArrowCharView(key), &value), 0);
  assert_non_null(value.data);
  assert_int_equal(value.size_bytes, strlen(wanted));
  assert_memory_equal(value.data, wanted, strlen(wanted));
}

static void arrow_schema__has_the_format_of_each_type(void **state) {
  column_test *t = *state;
  static const struct {
    const char *sql, *format;
    bool ns_as_us;
  } cases[] = {{"BOOLEAN", "b", false},
               {"TINYINT", "c", false},
               {"SMALLINT", "s", false},
               {"INT", "i", false},
               {"BIGINT", "l", false},
               {"FLOAT", "f", false},
               {"DOUBLE", "g", false},
               {"DECIMAL(38, 10)", "d:38,10", false},
               {"CHAR(3)", "u", false},
               {"STRING", "u", false},
               {"BINARY(2)", "z", false},
               {"BYTES", "z", false},
               {"BLOB", "z", false},
               {"DATE", "tdD", false},
               {"TIME(3)", "ttm", false},
               {"TIMESTAMP(0)", "tss:", false},
               {"TIMESTAMP(1)", "tsm:", false},
               {"TIMESTAMP(3)", "tsm:", true},
               {"TIMESTAMP(4)", "tsu:", false},
               {"TIMESTAMP(6)", "tsu:", true},
               {"TIMESTAMP(7)", "tsn:", false},
               {"TIMESTAMP(9)", "tsu:", true},
               {"TIMESTAMP_LTZ(0)", "tss:UTC", false},
               {"TIMESTAMP_LTZ(9)", "tsn:UTC", false},
               {"ARRAY<INT>", "+l", false},
               {"MAP<INT, INT>", "+m", false},
               {"MULTISET<INT>", "+m", false},
               {"ROW<a INT>", "+s", false},
               {"VARIANT", "+s", false},
               {"VECTOR<FLOAT, 3>", "+w:3", false}};
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tn_arrow_options options = {cases[i].ns_as_us};
    struct ArrowSchema schema;
    struct ArrowSchemaView view;
    tn_field field;
    tarn_error err;
    make_field(t, cases[i].sql, &field);
    assert_int_equal(tn_arrow_export_schema(t->env, &field, 1, &options, &schema, &err), TARN_OK);
    assert_string_equal(schema.format, "+s");
    assert_int_equal(schema.flags, 0);
    assert_string_equal(schema.children[0]->format, cases[i].format);
    assert_string_equal(schema.children[0]->name, "c");
    assert_int_equal(schema.children[0]->flags, ARROW_FLAG_NULLABLE);
    assert_metadata(schema.children[0], "paimon.id", "7");
    assert_int_equal(ArrowSchemaViewInit(&view, schema.children[0], NULL), NANOARROW_OK);
    schema.release(&schema);
    assert_null(schema.release);
  }
}

static void arrow_schema__describes_nested_types(void **state) {
  column_test *t = *state;
  struct ArrowSchema schema, *child;
  tn_field fields[4];
  tarn_error err;
  int32_t ids = 20;
  make_field(t, "MAP<STRING, INT NOT NULL> NOT NULL", &fields[0]);
  make_field(t, "MULTISET<STRING>", &fields[1]);
  make_field(t, "VARIANT", &fields[2]);
  make_field(t, "INT", &fields[3]);
  assert_int_equal(tn_type_from_sql(&t->arena, "ROW<a INT, b ARRAY<STRING NOT NULL>>", &ids,
                                    &fields[3].type, &err),
                   TARN_OK);
  assert_int_equal(tn_arrow_export_schema(t->env, fields, 4, NULL, &schema, &err), TARN_OK);

  child = schema.children[0];
  assert_int_equal(child->flags, 0);
  assert_metadata(child, "paimon.type", "MAP<STRING, INT NOT NULL> NOT NULL");
  assert_string_equal(child->children[0]->name, "entries");
  assert_string_equal(child->children[0]->format, "+s");
  assert_int_equal(child->children[0]->flags, 0);
  assert_string_equal(child->children[0]->children[0]->name, "key");
  assert_int_equal(child->children[0]->children[0]->flags, 0);
  assert_string_equal(child->children[0]->children[1]->name, "value");
  assert_int_equal(child->children[0]->children[1]->flags, 0);

  child = schema.children[1];
  assert_metadata(child, "paimon.type", "MULTISET<STRING>");
  assert_string_equal(child->children[0]->children[1]->format, "i");
  assert_int_equal(child->children[0]->children[1]->flags, 0);

  child = schema.children[2];
  assert_metadata(child, "ARROW:extension:name", "arrow.parquet.variant");
  assert_metadata(child, "ARROW:extension:metadata", "");
  assert_string_equal(child->children[0]->name, "metadata");
  assert_string_equal(child->children[1]->name, "value");
  assert_int_equal(child->children[1]->flags, 0);

  child = schema.children[3];
  assert_metadata(child->children[0], "paimon.id", "20");
  assert_metadata(child->children[1], "paimon.id", "21");
  assert_string_equal(child->children[1]->children[0]->name, "item");
  assert_int_equal(child->children[1]->children[0]->flags, 0);
  assert_null(child->children[1]->children[0]->metadata);
  schema.release(&schema);
}

static void arrow_schema__lets_children_be_moved_out(void **state) {
  column_test *t = *state;
  struct ArrowSchema schema, moved;
  tn_field field;
  tarn_error err;
  make_field(t, "ROW<a INT, b STRING>", &field);
  assert_int_equal(tn_arrow_export_schema(t->env, &field, 1, NULL, &schema, &err), TARN_OK);
  ArrowSchemaMove(schema.children[0]->children[1], &moved);
  schema.release(&schema);
  assert_string_equal(moved.name, "b");
  assert_string_equal(moved.format, "u");
  moved.release(&moved);
}

/* ------------------------------------------------------------------ arrays */

static void print_view(FILE *f, const struct ArrowArrayView *view, int64_t i);

static void print_views(FILE *f, const struct ArrowArrayView *view, int64_t begin, int64_t end) {
  fputc('[', f);
  for (int64_t i = begin; i < end; i++) {
    fputs(i > begin ? "," : "", f);
    print_view(f, view, i);
  }
  fputc(']', f);
}

static void print_wide(FILE *f, uint64_t high, uint64_t low) {
  tn_i128 value = (tn_i128)(int64_t)high * ((tn_i128)1 << 64) + (tn_i128)low;
  char digits[48], *at = digits + sizeof(digits);
  bool is_negative = value < 0;
  *--at = 0;
  do {
    int digit = (int)(value % 10);
    *--at = (char)('0' + (digit < 0 ? -digit : digit));
    value /= 10;
  } while (value != 0);
  fprintf(f, "%s%s", is_negative ? "-" : "", at);
}

/* In the notation of column_test.h. */
static void print_view(FILE *f, const struct ArrowArrayView *view, int64_t i) {
  struct ArrowDecimal decimal;
  struct ArrowStringView s;
  if (ArrowArrayViewIsNull(view, i)) {
    fputs("null", f);
    return;
  }
  switch (view->storage_type) {
    case NANOARROW_TYPE_BOOL:
      fputs(ArrowArrayViewGetIntUnsafe(view, i) ? "true" : "false", f);
      break;
    case NANOARROW_TYPE_FLOAT:
    case NANOARROW_TYPE_DOUBLE:
      fprintf(f, "%g", ArrowArrayViewGetDoubleUnsafe(view, i));
      break;
    case NANOARROW_TYPE_DECIMAL128:
      ArrowDecimalInit(&decimal, 128, 38, 0);
      ArrowArrayViewGetDecimalUnsafe(view, i, &decimal);
      print_wide(f, decimal.words[decimal.high_word_index], decimal.words[decimal.low_word_index]);
      break;
    case NANOARROW_TYPE_STRING:
    case NANOARROW_TYPE_BINARY:
      s = ArrowArrayViewGetStringUnsafe(view, i);
      fprintf(f, "\"%.*s\"", (int)s.size_bytes, s.data);
      break;
    case NANOARROW_TYPE_LIST:
    case NANOARROW_TYPE_MAP:
      print_views(f, view->children[0], ArrowArrayViewListChildOffset(view, i),
                  ArrowArrayViewListChildOffset(view, i + 1));
      break;
    case NANOARROW_TYPE_FIXED_SIZE_LIST:
      print_views(f, view->children[0], i * view->layout.child_size_elements,
                  (i + 1) * view->layout.child_size_elements);
      break;
    case NANOARROW_TYPE_STRUCT:
      fputc('[', f);
      for (int64_t c = 0; c < view->n_children; c++) {
        fputs(c > 0 ? "," : "", f);
        print_view(f, view->children[c], i);
      }
      fputc(']', f);
      break;
    default:
      fprintf(f, "%" PRId64, ArrowArrayViewGetIntUnsafe(view, i));
      break;
  }
}

/* The rows of the only column of an array, and that nanoarrow finds it well made. */
static void assert_array(const struct ArrowSchema *schema, const struct ArrowArray *array,
                         const char *expected) {
  struct ArrowArrayView view;
  struct ArrowError error;
  char *text = NULL;
  size_t n;
  FILE *f = open_memstream(&text, &n);
  assert_non_null(f);
  assert_int_equal(ArrowArrayViewInitFromSchema(&view, schema, &error), NANOARROW_OK);
  if (ArrowArrayViewSetArray(&view, array, &error) != NANOARROW_OK ||
      ArrowArrayViewValidate(&view, NANOARROW_VALIDATION_LEVEL_FULL, &error) != NANOARROW_OK) {
    fail_msg("%s", error.message);
  }
  print_views(f, view.children[0], 0, array->length);
  fclose(f);
  assert_string_equal(text, expected);
  free(text);
  ArrowArrayViewReset(&view);
}

/* A batch of one column; the vector is moved in. */
static void make_batch(column_test *t, const tn_field *field, tn_vec *vec, tn_batch *batch) {
  tarn_error err;
  assert_int_equal(tn_batch_init(t->env, field, 1, batch, &err), TARN_OK);
  batch->n_rows = vec->length;
  tn_vec_reset(t->env, &batch->columns[0]);
  tn_vec_move(&batch->columns[0], vec);
}

/* The same of values in the notation of column_test.h. */
static void build_batch(column_test *t, const char *sql, const char *json, tn_field *field,
                        tn_batch *batch) {
  tn_vec vec;
  make_field(t, sql, field);
  must_build(t, &field->type, json, &vec);
  make_batch(t, field, &vec, batch);
}

static const struct array_case {
  const char *sql, *json, *encodings;
} array_cases[] = {{"BOOLEAN", "[true,null,false]", "fdc"},
                   {"TINYINT", "[-1,2,null]", "fdc"},
                   {"SMALLINT", "[-1,2,null]", "fdc"},
                   {"INT", "[-1,2,3]", "fdc"},
                   {"BIGINT", "[-1,2,null]", "fdc"},
                   {"FLOAT", "[-1.5,2,null]", "fdc"},
                   {"DOUBLE", "[-1.5,2,null]", "fdc"},
                   {"DECIMAL(20, 2)", "[-1,2,null]", "fdc"},
                   {"STRING", "[\"a\",\"\",null,\"a longer text than that\"]", "fdvc"},
                   {"BYTES", "[\"a\",\"\",null]", "fdvc"},
                   {"DATE", "[-1,2,null]", "fdc"},
                   {"TIME(3)", "[1,86399999,null]", "fdc"},
                   {"TIMESTAMP(3)", "[-1,2,null]", "fdc"},
                   {"TIMESTAMP_LTZ(6)", "[-1,2,null]", "fdc"},
                   {"TIMESTAMP(9)", "[-1,922337203685477580,null]", "fdc"},
                   {"ARRAY<STRING>", "[[\"a\",null],null,[]]", "fc"},
                   {"ARRAY<TIMESTAMP(9)>", "[[-1,null],null,[5]]", "fc"},
                   {"MAP<STRING, ARRAY<INT>>", "[[[\"a\",[1]],[\"b\",null]],null,[]]", "fc"},
                   {"MULTISET<INT>", "[[[1,1]],[],null]", "fc"},
                   {"ROW<a INT, b STRING>", "[[1,\"x\"],null,[null,null]]", "fc"},
                   {"ROW<a ROW<b ARRAY<BIGINT>>>", "[[[[1,2]]],[null],[[null]]]", "fc"},
                   {"VECTOR<FLOAT, 2>", "[[1,2],[3,4],[5,6]]", "fc"},
                   {"VARIANT", "[[\"m\",\"v\"],[\"\",\"\"],[\"n\",\"w\"]]", "fc"}};

static void arrow_export__hands_over_every_type_and_encoding(void **state) {
  column_test *t = *state;
  for (size_t i = 0; i < TN_COUNT(array_cases); i++) {
    for (const char *e = array_cases[i].encodings; *e != '\0'; e++) {
      struct ArrowSchema schema;
      struct ArrowArray array;
      tn_field field;
      tn_vec flat, encoded;
      tn_batch batch;
      tarn_error err;
      char *text;
      make_field(t, array_cases[i].sql, &field);
      must_build(t, &field.type, array_cases[i].json, &flat);
      assert_int_equal(encode_vec(t->env, &flat, *e, &encoded, &err), TARN_OK);
      text = vec_text(&encoded);
      make_batch(t, &field, &encoded, &batch);
      assert_int_equal(tn_arrow_export_schema(t->env, &field, 1, NULL, &schema, &err), TARN_OK);
      assert_int_equal(tn_arrow_export_batch(t->env, &batch, NULL, &array, &err), TARN_OK);
      assert_null(batch.columns);
      tn_vec_reset(t->env, &flat);
      assert_array(&schema, &array, text);
      free(text);
      array.release(&array);
      assert_null(array.release);
      schema.release(&schema);
    }
  }
}

static void arrow_export__makes_empty_arrays_complete(void **state) {
  column_test *t = *state;
  for (size_t i = 0; i < TN_COUNT(array_cases); i++) {
    struct ArrowSchema schema;
    struct ArrowArray array;
    tn_field field;
    tn_batch batch;
    tarn_error err;
    make_field(t, array_cases[i].sql, &field);
    assert_int_equal(tn_batch_init(t->env, &field, 1, &batch, &err), TARN_OK);
    assert_int_equal(tn_arrow_export_schema(t->env, &field, 1, NULL, &schema, &err), TARN_OK);
    assert_int_equal(tn_arrow_export_batch(t->env, &batch, NULL, &array, &err), TARN_OK);
    for (int64_t b = 1; b < array.children[0]->n_buffers; b++) {
      assert_non_null(array.children[0]->buffers[b]);
    }
    assert_array(&schema, &array, "[]");
    array.release(&array);
    schema.release(&schema);
  }
}

static void arrow_export__copies_nothing_that_is_flat(void **state) {
  column_test *t = *state;
  struct ArrowArray array;
  tn_field field;
  tn_vec vec;
  tn_batch batch;
  tarn_error err;
  const void *values, *valid;
  make_field(t, "BIGINT", &field);
  must_build(t, &field.type, "[1,null]", &vec);
  values = vec.values;
  valid = vec.valid;
  make_batch(t, &field, &vec, &batch);
  assert_int_equal(tn_arrow_export_batch(t->env, &batch, NULL, &array, &err), TARN_OK);
  assert_ptr_equal(array.children[0]->buffers[0], valid);
  assert_ptr_equal(array.children[0]->buffers[1], values);
  assert_int_equal(array.children[0]->null_count, 1);
  assert_int_equal(array.n_buffers, 1);
  assert_null(array.buffers[0]);
  array.release(&array);
}

static void arrow_export__converts_timestamps(void **state) {
  column_test *t = *state;
  static const struct {
    const char *sql, *json;
    bool ns_as_us;
    tarn_status status;
    const char *expected; /* rows, or words of the message */
  } cases[] = {{"TIMESTAMP(0)", "[-1000,5000,null]", false, TARN_OK, "[-1,5,null]"},
               {"TIMESTAMP_LTZ(0)", "[1500]", false, TARN_E_LIMIT, "column \"c\""},
               {"TIMESTAMP(0)", "[-1]", true, TARN_E_LIMIT, "whole seconds"},
               {"TIMESTAMP(9)", "[-1,-1000,-1001,1999]", true, TARN_OK, "[-1,-1,-2,1]"},
               {"TIMESTAMP(9)", "[-9223372036854775808,9223372036854775807]", false, TARN_OK,
                "[-9223372036854775808,9223372036854775807]"},
               {"TIMESTAMP(9)", "[1,\"9223372036854775808\"]", false, TARN_E_LIMIT,
                "64 bits of nanoseconds"},
               {"TIMESTAMP(8)", "[\"-9223372036854775809\"]", false, TARN_E_LIMIT, "column \"c\""},
               {"TIMESTAMP(8)", "[\"9223372036854775808000\"]", true, TARN_E_LIMIT, "microseconds"},
               {"ROW<a ARRAY<TIMESTAMP_LTZ(7)>>", "[[[\"9223372036854775808\"]]]", false,
                TARN_E_LIMIT, "column \"c\""},
               {"ROW<a ARRAY<TIMESTAMP_LTZ(7)>>", "[[[\"9223372036854775808\"]]]", true, TARN_OK,
                "[[[9223372036854775]]]"},
               {"MAP<INT, INT>", "[[[null,1]]]", false, TARN_E_UNSUPPORTED, "null key"}};
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tn_arrow_options options = {cases[i].ns_as_us};
    struct ArrowSchema schema;
    struct ArrowArray array;
    tn_field field;
    tn_batch batch;
    tarn_error err;
    build_batch(t, cases[i].sql, cases[i].json, &field, &batch);
    assert_int_equal(tn_arrow_export_schema(t->env, &field, 1, &options, &schema, &err), TARN_OK);
    assert_int_equal(tn_arrow_export_batch(t->env, &batch, &options, &array, &err),
                     cases[i].status);
    assert_null(batch.columns);
    if (cases[i].status == TARN_OK) {
      assert_array(&schema, &array, cases[i].expected);
      array.release(&array);
    } else {
      assert_null(array.release);
      assert_non_null(strstr(err.message, cases[i].expected));
    }
    schema.release(&schema);
  }
}

/* Every TIMESTAMP(7-9) as seconds with nine digits, nothing cut; nested ones tell their type, too.
 */
static void arrow_export__gives_every_time_as_a_decimal(void **state) {
  column_test *t = *state;
  static const struct {
    const char *sql, *json, *format, *expected;
  } cases[] = {
      {"TIMESTAMP(9)", "[\"253402300799999999999\",\"-62135596800000000001\",null,1]", "d:38,9",
       "[253402300799999999999,-62135596800000000001,null,1]"},
      {"TIMESTAMP_LTZ(7)", "[\"9223372036854775808\"]", "d:38,9", "[9223372036854775808]"},
      {"TIMESTAMP(6)", "[-1]", "tsu:", "[-1]"},
      {"ARRAY<TIMESTAMP(8)>", "[[\"-9223372036854775809\"]]", "+l", "[[-9223372036854775809]]"}};
  const tn_arrow_options options = {.timestamp_ns_as_decimal = true};
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    struct ArrowSchema schema;
    struct ArrowArray array;
    tn_field field;
    tn_batch batch;
    tarn_error err;
    const struct ArrowSchema *time;
    build_batch(t, cases[i].sql, cases[i].json, &field, &batch);
    assert_int_equal(tn_arrow_export_schema(t->env, &field, 1, &options, &schema, &err), TARN_OK);
    assert_int_equal(tn_arrow_export_batch(t->env, &batch, &options, &array, &err), TARN_OK);
    time = schema.children[0];
    assert_string_equal(time->format, cases[i].format);
    time = time->n_children > 0 ? time->children[0] : time;
    if (time->format[0] == 'd') {
      assert_non_null(time->metadata);
    }
    assert_array(&schema, &array, cases[i].expected);
    array.release(&array);
    schema.release(&schema);
  }
}

static void *release_there(void *array) {
  ((struct ArrowArray *)array)->release(array);
  return NULL;
}

static void arrow_array__outlives_its_parent_and_is_released_by_any_thread(void **state) {
  column_test *t = *state;
  struct ArrowArray array, moved;
  tn_field field;
  tn_batch batch;
  tarn_error err;
  pthread_t thread;
  build_batch(t, "ROW<a ARRAY<INT>, b STRING>", "[[[1,2],\"x\"],[[3],\"y\"]]", &field, &batch);
  assert_int_equal(tn_arrow_export_batch(t->env, &batch, NULL, &array, &err), TARN_OK);
  ArrowArrayMove(array.children[0]->children[0], &moved);
  array.release(&array);
  assert_int_equal(moved.length, 2);
  assert_int_equal(((const int32_t *)moved.children[0]->buffers[1])[2], 3);
  assert_int_equal(pthread_create(&thread, NULL, release_there, &moved), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_null(moved.release);
}

static void arrow_export__shares_buffers_with_other_vectors(void **state) {
  column_test *t = *state;
  struct ArrowArray array;
  tn_field field;
  tn_vec vec, other;
  tn_batch batch;
  tarn_error err;
  memset(&other, 0, sizeof(other));
  make_field(t, "STRING", &field);
  must_build(t, &field.type, "[\"a\",\"b\"]", &vec);
  assert_int_equal(tn_vec_share(t->env, &vec, &other, &err), TARN_OK);
  make_batch(t, &field, &vec, &batch);
  assert_int_equal(tn_arrow_export_batch(t->env, &batch, NULL, &array, &err), TARN_OK);
  array.release(&array);
  assert_vec(&other, "[\"a\",\"b\"]");
  tn_vec_reset(t->env, &other);
}

/* ------------------------------------------------------------------ torture */

typedef struct export_case {
  tn_field field;
  const char *json;
  char encoding;
} export_case;

static tarn_status export_once(void *ctx, tarn_env *env, tarn_error *err) {
  const export_case *c = ctx;
  tarn_status st = TARN_OK;
  struct ArrowSchema schema = {.release = NULL};
  struct ArrowArray array = {.release = NULL};
  tn_vec flat;
  tn_batch batch;
  memset(&flat, 0, sizeof(flat));
  memset(&batch, 0, sizeof(batch));
  TN_TRY_TO(done, build_vec(env, &c->field.type, c->json, &flat, err));
  TN_TRY_TO(done, tn_batch_init(env, &c->field, 1, &batch, err));
  tn_vec_reset(env, &batch.columns[0]);
  TN_TRY_TO(done, encode_vec(env, &flat, c->encoding, &batch.columns[0], err));
  batch.n_rows = flat.length;
  TN_TRY_TO(done, tn_arrow_export_schema(env, &c->field, 1, NULL, &schema, err));
  TN_TRY_TO(done, tn_arrow_export_batch(env, &batch, NULL, &array, err));
  array.release(&array);
done:
  assert_null(array.release);
  if (schema.release != NULL) {
    schema.release(&schema);
  }
  tn_batch_reset(env, &batch);
  tn_vec_reset(env, &flat);
  return st;
}

static void arrow_export__survives_failing_allocations(void **state) {
  column_test *t = *state;
  for (size_t i = 0; i < TN_COUNT(array_cases); i++) {
    for (const char *e = array_cases[i].encodings; *e != '\0'; e++) {
      export_case c = {.json = array_cases[i].json, .encoding = *e};
      make_field(t, array_cases[i].sql, &c.field);
      assert_true(tn_torture(export_once, &c, TARN_OK) > 5);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      column_unit_test(arrow_schema__has_the_format_of_each_type),
      column_unit_test(arrow_schema__describes_nested_types),
      column_unit_test(arrow_schema__lets_children_be_moved_out),
      column_unit_test(arrow_export__hands_over_every_type_and_encoding),
      column_unit_test(arrow_export__makes_empty_arrays_complete),
      column_unit_test(arrow_export__copies_nothing_that_is_flat),
      column_unit_test(arrow_export__converts_timestamps),
      column_unit_test(arrow_export__gives_every_time_as_a_decimal),
      column_unit_test(arrow_array__outlives_its_parent_and_is_released_by_any_thread),
      column_unit_test(arrow_export__shares_buffers_with_other_vectors),
      column_unit_test(arrow_export__survives_failing_allocations)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
