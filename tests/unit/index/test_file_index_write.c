/* File indexes that are built: the bytes of Java, and answers where its order is that of a hash
 * table. */
#include <roaring.h>

#include "base/bytes.h"
#include "index/file_index_write.h"
#include "index_maker.h"
#include "support/torture.h"

/* ------------------------------------------------------------------ columns */

/* Values as a flat vector. */
static tarn_status to_vec(tarn_env *env, const tn_type *type, const tn_datum *values, int64_t n,
                          tn_vec *out, tarn_error *err) {
  tn_vec *single = calloc((size_t)n, sizeof(*single));
  const tn_vec **sources = calloc((size_t)n, sizeof(*sources));
  tn_row_ref *refs = calloc((size_t)n, sizeof(*refs));
  tarn_status st = TARN_OK;
  for (int64_t i = 0; i < n && st == TARN_OK; i++) {
    st = tn_datum_to_vec(env, type, &values[i], &single[i], err);
    sources[i] = &single[i];
    refs[i] = (tn_row_ref){(uint32_t)i, 0};
  }
  if (st == TARN_OK) {
    st = tn_vec_gather(env, type, sources, (int32_t)n, refs, n, out, err);
  }
  for (int64_t i = 0; i < n; i++) {
    tn_vec_reset(env, &single[i]);
  }
  free(single);
  free(sources);
  free(refs);
  return st;
}

static tarn_status build(tarn_env *env, const tn_index_spec *specs, int32_t n,
                         const tn_vec *columns, int64_t n_rows, tn_buf *out, tarn_error *err) {
  tn_index_writer *writer = NULL;
  tarn_status st = tn_index_writer_create(env, specs, n, &writer, err);
  if (st == TARN_OK) {
    st = tn_index_writer_add(writer, columns, n_rows, err);
  }
  if (st == TARN_OK) {
    st = tn_index_writer_finish(writer, out, err);
  }
  tn_index_writer_free(writer);
  return st;
}

/* ------------------------------------------------------------------ Java's bytes */

/* The settings of data/MakeFileIndexes.java. */
static tn_index_spec spec_of(const java_index *x, const tn_type *type, int32_t version) {
  bool is_range = strcmp(x->kind, "range-bitmap") == 0;
  return (tn_index_spec){.kind = x->kind,
                         .name = "c",
                         .type = type,
                         .bloom_items = 100,
                         .bloom_fpp = 0.1,
                         .bitmap_version = version,
                         .block_bytes = !is_range                       ? 256
                                        : strlen(x->type_text) % 2 == 0 ? 160
                                                                        : 0};
}

static void assert_same_answer(tarn_env *env, const tn_field *field, tn_slice ours, tn_slice javas,
                               tn_pred_op op, const tn_datum *literal) {
  tn_arena arena;
  tn_file_index *index[2] = {NULL, NULL};
  tn_index_result result[2] = {{0}, {0}};
  tarn_error err;
  const tn_pred *leaf;
  tn_arena_init(&arena, &env->mem, SIZE_MAX);
  leaf = tn_pred_leaf(&arena, op, field, literal, literal != NULL);
  for (int i = 0; i < 2; i++) {
    assert_works(tn_file_index_open(env, i == 0 ? ours : javas, "x", &index[i], &err), err);
    assert_works(tn_file_index_test(index[i], field, 1, JAVA_ROWS, leaf, &result[i], &err), err);
  }
  assert_int_equal(result[0].verdict, result[1].verdict);
  if (result[0].verdict == TN_INDEX_ROWS) {
    assert_true(roaring_bitmap_equals(result[0].rows, result[1].rows));
  }
  for (int i = 0; i < 2; i++) {
    tn_index_result_reset(&result[i]);
    tn_file_index_release(index[i]);
  }
  tn_arena_reset(&arena);
}

static void check_java(tarn_env *env, const java_index *x) {
  tn_field field = column_of(x->type_text);
  tn_index_spec spec;
  tn_datum values[JAVA_ROWS];
  tn_vec vec = {0};
  tn_buf out;
  tarn_error err;
  bool is_bitmap = strcmp(x->kind, "bitmap") == 0;
  int32_t version = is_bitmap ? first_payload(env, x->container).data[0] : 2;
  for (int64_t i = 0; i < JAVA_ROWS; i++) {
    values[i] = x->is_null ? (tn_datum){.is_null = true} : java_value(&field.type, i);
  }
  spec = spec_of(x, &field.type, version);
  tn_buf_init(&out, &env->mem, 1u << 24);
  assert_works(to_vec(env, &field.type, values, JAVA_ROWS, &vec, &err), err);
  assert_works(build(env, &spec, 1, &vec, JAVA_ROWS, &out, &err), err);
  assert_int_equal(out.len, x->container.len);
  if (!is_bitmap) {
    assert_memory_equal(out.data, x->container.data, out.len);
  }
  assert_same_answer(env, &field, tn_buf_slice(&out), x->container, TN_PRED_IS_NULL, NULL);
  for (int64_t d = 0; d < JAVA_VALUES; d++) {
    tn_datum value = java_distinct(&field.type, d);
    assert_same_answer(env, &field, tn_buf_slice(&out), x->container, TN_PRED_EQ, &value);
  }
  tn_buf_reset(&out);
  tn_vec_reset(env, &vec);
}

static void file_index_write__gives_the_bytes_of_java(void **state) {
  size_t n;
  const java_index *all = java_indexes(&n);
  tarn_env *env = tn_test_env(1, 0);
  (void)state;
  for (size_t i = 0; i < n; i++) {
    check_java(env, &all[i]);
  }
  assert_true(n > 50);
  tarn_env_free(env);
}

/* ------------------------------------------------------------------ options */

typedef struct wanted {
  const char *options; /* "key=value;..." */
  tarn_status status;
  const char *text; /* specs as "kind(column)settings ", or a part of the message */
} wanted;

static const wanted cases[] = {
    {"", TARN_OK, ""},
    {"file-index.bitmap.columns=a, s", TARN_OK, "bitmap(a)v2/16384 bitmap(s)v2/16384 "},
    {"file-index.bitmap.columns=a;file-index.bitmap.a.version=1;"
     "file-index.bitmap.a.index-block-size=1kb",
     TARN_OK, "bitmap(a)v1/1024 "},
    {"file-index.bloom-filter.columns=s;file-index.bloom-filter.s.items=200;"
     "file-index.bloom-filter.s.fpp=0.01",
     TARN_OK, "bloom-filter(s)200/0.010 "},
    {"file-index.bloom-filter.columns=m[k];file-index.bloom-filter.m.items=7;"
     "file-index.bloom-filter.m[k].fpp=0.5",
     TARN_OK, "bloom-filter(m[k])7/0.500 "},
    {"file-index.range-bitmap.columns=a,b", TARN_OK,
     "range-bitmap(a)v2/16384 range-bitmap(b)v2/0 "},
    {"file-index.bsi.columns=gone", TARN_E_INVALID, "no column 'gone'"},
    {"file-index.bsi.columns=a,,b", TARN_E_INVALID, "a column without a name"},
    {"file-index.bsi.columns=s", TARN_E_UNSUPPORTED, "column 's' is STRING"},
    {"file-index.bsi.columns=a[k]", TARN_E_INVALID, "no value of a MAP column"},
    {"file-index.btree.columns=a", TARN_E_UNSUPPORTED, "kind 'btree'"},
    {"file-index.bitmap.columns=a;file-index.bitmap.a.version=3", TARN_E_INVALID, "'3'"},
    {"file-index.bitmap.columns=a;file-index.bitmap.s.version=1", TARN_E_INVALID,
     "does not name that column"},
    {"file-index.bloom-filter.columns=a;file-index.bloom-filter.a.items=0", TARN_E_INVALID, "'0'"},
    {"file-index.bloom-filter.columns=a;file-index.bloom-filter.a.fpp=1", TARN_E_INVALID, "'1'"},
    {"file-index.read.enabled=false;file-index.in-manifest-threshold=1b", TARN_OK, ""},
};

static int32_t split_options(char *text, tn_option *out) {
  int32_t n = 0;
  for (char *item = strtok(text, ";"); item != NULL; item = strtok(NULL, ";")) {
    char *equals = strchr(item, '=');
    *equals = '\0';
    out[n++] = (tn_option){item, equals + 1};
  }
  return n;
}

static void tell_specs(const tn_index_spec *specs, int32_t n, char *text, size_t size) {
  text[0] = '\0';
  for (int32_t i = 0; i < n; i++) {
    size_t at = strlen(text);
    if (strcmp(specs[i].kind, "bloom-filter") == 0) {
      snprintf(text + at, size - at, "%s(%s)%d/%.3f ", specs[i].kind, specs[i].name,
               (int)specs[i].bloom_items, specs[i].bloom_fpp);
    } else {
      snprintf(text + at, size - at, "%s(%s)v%d/%d ", specs[i].kind, specs[i].name,
               (int)specs[i].bitmap_version, (int)specs[i].block_bytes);
    }
  }
}

static void file_index_write__reads_what_options_want(void **state) {
  tarn_env *env = tn_test_env(1, 0);
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tn_arena arena;
    tn_field fields[4] = {column_of("INT"), column_of("SMALLINT"), column_of("STRING"),
                          column_of("MAP<STRING, INT>")};
    static const char *const names[] = {"a", "b", "s", "m"};
    tn_option items[8];
    char text[512], options[256];
    tn_options merged = {items, 0};
    const tn_index_spec *specs;
    int32_t n;
    tarn_error err = {0};
    for (int k = 0; k < 4; k++) {
      fields[k].name = names[k];
    }
    snprintf(options, sizeof(options), "%s", cases[i].options);
    merged.count = split_options(options, items);
    tn_arena_init(&arena, &env->mem, SIZE_MAX);
    assert_int_equal(tn_index_specs_read(&arena, &merged, fields, 4, fields, 4, &specs, &n, &err),
                     cases[i].status);
    if (cases[i].status == TARN_OK) {
      tell_specs(specs, n, text, sizeof(text));
      assert_string_equal(text, cases[i].text);
    } else {
      assert_contains(err.message, cases[i].text);
    }
    tn_arena_reset(&arena);
  }
  tarn_env_free(env);
}

/* ------------------------------------------------------------------ map keys */

/* Rows of MAP<STRING, INT>: {k: 1}, null, {x: 5, k: 2}, {}, {k: null}. */
static void make_map(tarn_env *env, const tn_type *type, tn_vec *map) {
  static const int32_t ends[] = {0, 1, 1, 3, 3, 4};
  static const char *const keys[] = {"k", "x", "k", "k"};
  tn_datum texts[4], numbers[4] = {{.v.i64 = 1}, {.v.i64 = 5}, {.v.i64 = 2}, {.is_null = true}};
  tarn_error err;
  for (int i = 0; i < 4; i++) {
    texts[i] = (tn_datum){.v.bytes = tn_slice_text(keys[i])};
  }
  assert_works(tn_vec_init(env, type, map, &err), err);
  assert_works(tn_vec_alloc(env, map, 5, 0, &err), err);
  memcpy(map->offsets, ends, sizeof(ends));
  assert_works(tn_vec_alloc_valid(env, map, true, &err), err);
  tn_bit_clear(map->valid, 1);
  map->null_count = 1;
  assert_works(to_vec(env, &type->fields[0].type, texts, 4, &map->children[0].children[0], &err),
               err);
  assert_works(to_vec(env, &type->fields[1].type, numbers, 4, &map->children[0].children[1], &err),
               err);
  map->children[0].length = 4;
}

static void file_index_write__takes_the_values_of_map_keys(void **state) {
  tarn_env *env = tn_test_env(1, 0);
  tn_field field = column_of("MAP<STRING, INT>");
  const tn_type *type = &field.type.fields[1].type;
  tn_index_spec specs[2] = {
      {.kind = "bitmap", .name = "c[k]", .map_key = "k", .type = type, .bitmap_version = 1},
      {.kind = "bitmap", .name = "c[none]", .map_key = "none", .type = type, .bitmap_version = 1}};
  /* version, 5 rows, 2 values, nulls: at 0; 1: row 0, 2: row 2; the rows 1, 3 and 4. */
  static const uint8_t payload[] = {1, 0, 0, 0, 5,    0,    0,    0,    2,    1,    0,
                                    0, 0, 0, 0, 0,    0,    1,    0xff, 0xff, 0xff, 0xff,
                                    0, 0, 0, 2, 0xff, 0xff, 0xff, 0xfd, 0x3a, 0x30};
  const tn_index_part *parts;
  int32_t n;
  tn_vec map = {0};
  tn_buf out;
  tn_file_index *index = NULL;
  tarn_error err;
  (void)state;
  make_map(env, &field.type, &map);
  tn_buf_init(&out, &env->mem, 1u << 20);
  assert_works(build(env, specs, 2, &map, 5, &out, &err), err);
  assert_works(tn_file_index_open(env, tn_buf_slice(&out), "x", &index, &err), err);
  parts = tn_file_index_parts(index, &n);
  assert_int_equal(n, 2);
  assert_true(tn_slice_is(parts[0].column, "c[k]"));
  assert_memory_equal(out.data + parts[0].start, payload, sizeof(payload));
  assert_true(tn_slice_is(parts[1].column, "c[none]"));
  assert_int_equal(parts[1].start, -1);
  assert_int_equal(parts[1].length, 0);
  tn_file_index_release(index);
  tn_buf_reset(&out);
  tn_vec_reset(env, &map);
  tarn_env_free(env);
}

static void file_index_write__gives_long_values_a_block_of_their_own(void **state) {
  tarn_env *env = tn_test_env(1, 0);
  tn_field field = column_of("STRING");
  tn_index_spec spec = {
      .kind = "bitmap", .name = "c", .type = &field.type, .bitmap_version = 2, .block_bytes = 40};
  char text[3][100];
  tn_datum values[JAVA_ROWS];
  tn_vec vec = {0};
  tn_buf out;
  tarn_error err;
  (void)state;
  for (int i = 0; i < 3; i++) {
    memset(text[i], 'a' + i, sizeof(text[i]));
  }
  for (int64_t i = 0; i < JAVA_ROWS; i++) {
    values[i] = (tn_datum){.v.bytes = tn_slice_of(text[i % 3], i % 3 == 1 ? 5 : 100)};
  }
  tn_buf_init(&out, &env->mem, 1u << 24);
  assert_works(to_vec(env, &field.type, values, JAVA_ROWS, &vec, &err), err);
  assert_works(build(env, &spec, 1, &vec, JAVA_ROWS, &out, &err), err);
  for (int i = 0; i < 3; i++) {
    tn_file_index *index;
    tn_index_result result = {0};
    tn_arena arena;
    tn_arena_init(&arena, &env->mem, SIZE_MAX);
    assert_works(tn_file_index_open(env, tn_buf_slice(&out), "x", &index, &err), err);
    assert_works(
        tn_file_index_test(index, &field, 1, JAVA_ROWS,
                           tn_pred_leaf(&arena, TN_PRED_EQ, &field, &values[i], 1), &result, &err),
        err);
    assert_int_equal(tn_index_result_rows(&result), i == 0 ? 134 : 133);
    tn_index_result_reset(&result);
    tn_file_index_release(index);
    tn_arena_reset(&arena);
  }
  tn_buf_reset(&out);
  tn_vec_reset(env, &vec);
  tarn_env_free(env);
}

/* ------------------------------------------------------------------ refusals, memory */

static void file_index_write__refuses_what_bsi_cannot_hold(void **state) {
  tarn_env *env = tn_test_env(1, 0);
  tn_field field = column_of("BIGINT");
  tn_index_spec spec = {.kind = "bsi", .name = "c", .type = &field.type};
  tn_datum least = {.v.i64 = INT64_MIN};
  tn_vec vec = {0};
  tn_buf out;
  tarn_error err;
  (void)state;
  tn_buf_init(&out, &env->mem, 1u << 20);
  assert_works(to_vec(env, &field.type, &least, 1, &vec, &err), err);
  assert_int_equal(build(env, &spec, 1, &vec, 1, &out, &err), TARN_E_INVALID);
  assert_contains(err.message, "has no place in a bsi index");
  tn_vec_reset(env, &vec);
  tn_buf_reset(&out);
  tarn_env_free(env);
}

static tarn_status build_all(void *ctx, tarn_env *env, tarn_error *err) {
  const tn_field *field = ctx;
  static const char *const kinds[] = {"bitmap", "bloom-filter", "range-bitmap"};
  tn_index_spec specs[3];
  tn_datum values[40];
  tn_vec vec = {0};
  tn_buf out;
  tarn_status st;
  for (int i = 0; i < 3; i++) {
    specs[i] = (tn_index_spec){.kind = kinds[i],
                               .name = "c",
                               .type = &field->type,
                               .bloom_items = 50,
                               .bloom_fpp = 0.1,
                               .bitmap_version = 2,
                               .block_bytes = 100};
  }
  for (int64_t i = 0; i < 40; i++) {
    values[i] = java_value(&field->type, i);
  }
  tn_buf_init(&out, &env->mem, 1u << 24);
  st = to_vec(env, &field->type, values, 40, &vec, err);
  if (st == TARN_OK) {
    st = build(env, specs, 3, &vec, 40, &out, err);
  }
  tn_buf_reset(&out);
  tn_vec_reset(env, &vec);
  return st;
}

static void file_index_write__survives_failing_allocations(void **state) {
  tn_field field = column_of("STRING");
  (void)state;
  assert_true(tn_torture(build_all, &field, TARN_OK) > 50);
}

static void file_index_write__keeps_to_the_budget(void **state) {
  tarn_env *env = tn_test_env(1, 4u << 20);
  tn_field field = column_of("INT");
  tn_index_spec spec = {.kind = "bloom-filter",
                        .name = "c",
                        .type = &field.type,
                        .bloom_items = 100000000,
                        .bloom_fpp = 0.1};
  tn_index_writer *writer = NULL;
  tarn_error err;
  (void)state;
  assert_int_equal(tn_index_writer_create(env, &spec, 1, &writer, &err), TARN_E_LIMIT);
  assert_null(writer);
  assert_int_equal(env->mem.reserved_bytes, 0);
  tarn_env_free(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(file_index_write__gives_the_bytes_of_java),
      cmocka_unit_test(file_index_write__reads_what_options_want),
      cmocka_unit_test(file_index_write__takes_the_values_of_map_keys),
      cmocka_unit_test(file_index_write__gives_long_values_a_block_of_their_own),
      cmocka_unit_test(file_index_write__refuses_what_bsi_cannot_hold),
      cmocka_unit_test(file_index_write__survives_failing_allocations),
      cmocka_unit_test(file_index_write__keeps_to_the_budget),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
