/* The JSON of a Parquet file's footer, and opening by name and through the cache. */
#include "format/parquet/parquet.h"
#include "parquet_maker.h"
#include "rows_text.h"
#include "support/test.h"

static void inspect__tells_footer_schema_and_chunks(void **state) {
  static const char expected[] =
      "{\"format\": \"parquet\", \"created_by\": \"by \\\"hand\\\"\", \"version\": 1, "
      "\"num_rows\": 2, "
      "\"schema\": [{\"name\": \"x\", \"repetition\": \"optional\", \"physical\": \"INT32\", "
      "\"logical\": \"DATE\"}, {\"name\": \"l\", \"repetition\": \"optional\", \"logical\": "
      "\"LIST\", "
      "\"fields\": [{\"name\": \"array\", \"repetition\": \"repeated\", "
      "\"physical\": \"FIXED_LEN_BYTE_ARRAY\", \"length\": 2}]}, {\"name\": \"z\", "
      "\"repetition\": \"required\", \"physical\": \"BYTE_ARRAY\", \"logical\": \"STRING\"}], "
      "\"row_groups\": [{\"rows\": 2, \"bytes\": 92, \"columns\": [{\"path\": \"x\", "
      "\"encodings\": [\"PLAIN\"], \"codec\": \"UNCOMPRESSED\", \"values\": 2, "
      "\"compressed_bytes\": 37, \"uncompressed_bytes\": 37, \"data_page_offset\": 4, "
      "\"null_count\": 1, \"min\": \"1970-01-02\", \"max\": \"1970-01-03\", "
      "\"has_column_index\": false}, {\"path\": \"l.array\", \"encodings\": [], "
      "\"codec\": \"UNCOMPRESSED\", \"values\": 2, \"compressed_bytes\": 0, "
      "\"uncompressed_bytes\": 0, \"data_page_offset\": 41, \"has_column_index\": false}, "
      "{\"path\": \"z\", \"encodings\": [\"RLE_DICTIONARY\"], \"codec\": \"UNCOMPRESSED\", "
      "\"values\": 2, \"compressed_bytes\": 51, \"uncompressed_bytes\": 51, "
      "\"data_page_offset\": 65, \"dictionary_page_offset\": 41, \"has_column_index\": false}]}], "
      "\"key_value_metadata\": []}";
  format_test t;
  tarn_error err;
  parquet_maker m;
  tn_format_file *file;
  maker_chunk_spec *c;
  tn_buf text;
  (void)state;
  format_test_begin(&t);
  tn_buf_init(&text, &t.env->mem, 1 << 20);
  maker_begin(&m);
  m.created_by = "by \"hand\"";
  maker_leaf(&m, "x", TN_PQ_OPTIONAL, TN_PQ_INT32, 0, MAKER_DATE);
  maker_group(&m, "l", TN_PQ_OPTIONAL, 1, MAKER_LIST);
  maker_leaf(&m, "array", TN_PQ_REPEATED, TN_PQ_FIXED, 2, MAKER_PLAIN_TYPE);
  maker_leaf(&m, "z", TN_PQ_REQUIRED, TN_PQ_BYTE_ARRAY, 0, MAKER_UTF8);
  c = maker_chunk(&m, 2);
  c->min = LITERAL("\1\0\0\0");
  c->max = LITERAL("\2\0\0\0");
  c->null_count = 1;
  maker_page(&m, &(maker_page_spec){.n_values = 2, .def = "10", .values = LITERAL("\1\0\0\0")});
  maker_chunk(&m, 2);
  maker_chunk(&m, 2);
  maker_dictionary(&m, 1, LITERAL("\1\0\0\0a"));
  maker_page(&m, &(maker_page_spec){
                     .n_values = 2, .encoding = TN_PQ_RLE_DICTIONARY, .values = LITERAL("\0\4")});
  assert_works(open_bytes(&t, &tn_parquet_format, maker_end(&m, 2), &file, &err), err);
  assert_works(file->ops->inspect(file, &text, &err), err);
  assert_works(tn_buf_append(&text, "", 1, &err), err);
  assert_string_equal((const char *)text.data, expected);
  tn_buf_reset(&text);
  tn_format_file_release(file);
  maker_free(&m);
  format_test_end(&t);
}

/* Whatever a file holds, the object is JSON. */
static void inspect__gives_json(void **state) {
  static const char *const names[] = {"plain_v1", "nested_v2", "edges_index", "no_rows"};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(names); i++) {
    format_test t;
    tarn_error err;
    tn_buf text;
    tn_json_doc *doc;
    format_test_begin(&t);
    tn_buf_init(&text, &t.env->mem, 1 << 20);
    tn_format_file *file = must_open(
        &t, &tn_parquet_format, data_path(&t, tn_arena_printf(&t.arena, "%s.parquet", names[i])));
    assert_works(file->ops->inspect(file, &text, &err), err);
    assert_works(tn_json_parse(&t.env->mem, tn_buf_slice(&text), "inspect", &doc, &err), err);
    tn_json_free(doc);
    tn_buf_reset(&text);
    tn_format_file_release(file);
    format_test_end(&t);
  }
}

/* ------------------------------------------------------------------ opening */

static void format__by_the_name_of_a_file(void **state) {
  static const struct {
    const char *file;
    const char *format; /* NULL: refused, with the text */
    const char *message;
  } cases[] = {
      {"data-1.parquet", "parquet", NULL},
      {"/a.orc/data-1.zst.parquet", "parquet", NULL},
      {"data-1.PARQUET", "parquet", NULL},
      {"data-1.avro", "avro", NULL},
      {"data-1.vector.avro", "avro", NULL},
      {"data-1.orc", NULL, "file format \"orc\" is not supported"},
      {"data-1.csv.gz", NULL, "file format \"csv\" is not supported"},
      {"data-1.json.ZST", NULL, "file format \"json\" is not supported"},
      {"data-1.blob", "blob", NULL},
      {"data-1.parquet2", NULL, "file format \"parquet2\" is not known"},
      {"/dir.parquet/data-1", NULL, "no extension"},
      {"x.gz", NULL, "no extension"},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    const tn_format_ops *format;
    tarn_error err;
    tarn_status st = tn_format_of_file(cases[i].file, &format, &err);
    if (cases[i].format != NULL) {
      assert_int_equal(st, TARN_OK);
      assert_string_equal(format->name, cases[i].format);
    } else {
      assert_int_equal(st, TARN_E_UNSUPPORTED);
      assert_null(format);
      assert_contains(err.message, cases[i].file);
      assert_contains(err.message, cases[i].message);
    }
  }
}

static void open__takes_the_footer_from_the_cache(void **state) {
  format_test t;
  tarn_env_stats before = TARN_ENV_STATS_INIT, after = TARN_ENV_STATS_INIT;
  tn_format_file *first, *second;
  const char *path;
  (void)state;
  format_test_begin(&t);
  path = data_path(&t, "crc.parquet");
  first = must_open(&t, &tn_parquet_format, path);
  tarn_env_stats_get(t.env, &before);
  second = must_open(&t, &tn_parquet_format, path);
  tarn_env_stats_get(t.env, &after);
  assert_int_equal(after.read_requests, before.read_requests);
  assert_int_equal(after.cache_hits, before.cache_hits + 1);
  assert_int_equal(second->n_rows, first->n_rows);
  tn_format_file_release(first);
  tn_format_file_release(second);
  format_test_end(&t);
}

static void open__a_missing_file_is_not_found(void **state) {
  format_test t;
  tarn_error err;
  tn_format_file *file;
  (void)state;
  format_test_begin(&t);
  assert_int_equal(tn_format_open(t.env, t.storage, &tn_parquet_format,
                                  data_path(&t, "nowhere.parquet"), &file, &err),
                   TARN_E_NOT_FOUND);
  assert_null(file);
  assert_contains(err.message, "nowhere.parquet");
  format_test_end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(inspect__tells_footer_schema_and_chunks),
      cmocka_unit_test(inspect__gives_json),
      cmocka_unit_test(format__by_the_name_of_a_file),
      cmocka_unit_test(open__takes_the_footer_from_the_cache),
      cmocka_unit_test(open__a_missing_file_is_not_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
