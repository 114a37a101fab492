/* What a written Parquet file says of itself: schema, pages, statistics, indexes.
 * The facts are those of files that Java 1.4.2 wrote. */
#include "write_test.h"

#include <math.h>

#include "base/bytes.h"
#include "format/parquet/file.h"
#include "format/parquet/parquet.h"
#include "support/test.h"

static format_test t;

/* ------------------------------------------------------------------ helpers */

static const tn_pq_footer *footer_of(tn_format_file *file) {
  return &tn_pq_file_of(file)->meta->footer;
}

static tn_format_file *must_write(const tn_field *fields, int32_t n, const tn_batch *batches,
                                  size_t n_batches, const tn_write_options *options) {
  tarn_error err;
  tn_format_file *file;
  tn_write_request request = {fields, n, options, NULL, 0};
  assert_works(write_file(&t, &request, batches, n_batches, &file, &err), err);
  return file;
}

/* n rows of one BIGINT or DOUBLE column by a function of the row's number. */
static void number_batch(const tn_field *fields, int64_t n, double (*value)(int64_t i),
                         tn_batch *out) {
  tarn_error err;
  assert_works(tn_batch_init(t.env, fields, 1, out, &err), err);
  assert_works(tn_vec_alloc(t.env, &out->columns[0], n, 0, &err), err);
  out->n_rows = n;
  for (int64_t i = 0; i < n; i++) {
    if (fields[0].type.root == TN_DOUBLE) {
      ((double *)out->columns[0].values)[i] = value(i);
    } else {
      ((int64_t *)out->columns[0].values)[i] = (int64_t)value(i);
    }
  }
}

/* A batch of one STRING column. */
static void text_batch(const tn_field *fields, const char *const *texts, int64_t n, tn_batch *out) {
  tarn_error err;
  size_t n_bytes = 0;
  assert_works(tn_batch_init(t.env, fields, 1, out, &err), err);
  for (int64_t i = 0; i < n; i++) {
    n_bytes += strlen(texts[i]);
  }
  assert_works(tn_vec_alloc(t.env, &out->columns[0], n, n_bytes, &err), err);
  out->n_rows = n;
  for (int64_t i = 0; i < n; i++) {
    int32_t at = out->columns[0].offsets[i], len = (int32_t)strlen(texts[i]);
    memcpy((uint8_t *)out->columns[0].values + at, texts[i], (size_t)len);
    out->columns[0].offsets[i + 1] = at + len;
  }
}

static double row_number(int64_t i) {
  return (double)i;
}

static double few_values(int64_t i) {
  return (double)(i % 5);
}

static double repeating_values(int64_t i) {
  return (double)(i * i % 1009 * 1000003 + i % 17);
}

/* ------------------------------------------------------------------ the schema */

/* An element as a line: what the file of Java 1.4.2 has. */
static void add_element(tn_buf *out, const tn_pq_element *e, int depth) {
  tarn_error err;
  static const char *const repetitions[] = {"required", "optional", "repeated"};
  char type[64] = "group";
  if (!e->is_group) {
    tn_pq_element_text(e, type, sizeof(type));
  } else if (e->logical.kind == TN_PQ_LIST || e->logical.kind == TN_PQ_MAP ||
             e->logical.kind == TN_PQ_MAP_KEY_VALUE) {
    snprintf(type, sizeof(type), "group %s",
             e->logical.kind == TN_PQ_LIST  ? "LIST"
             : e->logical.kind == TN_PQ_MAP ? "MAP"
                                            : "MAP_KEY_VALUE");
  }
  assert_works(tn_buf_printf(out, &err, "%*s%s %s %s %d\n", depth * 2, "",
                             repetitions[e->repetition], type, e->name, e->field_id),
               err);
}

static int32_t add_elements(tn_buf *out, const tn_pq_footer *footer, int32_t at, int depth) {
  const tn_pq_element *e = &footer->elements[at++];
  int32_t n = e->is_group ? e->n_children : 0;
  if (depth >= 0) {
    add_element(out, e, depth);
  }
  while (n-- > 0) {
    at = add_elements(out, footer, at, depth + 1);
  }
  return at;
}

static void check_schema(const char *row, const char *expected) {
  int32_t n;
  tn_buf out;
  const tn_field *fields = sql_fields(&t, row, &n);
  tn_format_file *file = must_write(fields, n, NULL, 0, NULL);
  tn_buf_init(&out, &t.env->mem, (size_t)1 << 20);
  add_elements(&out, footer_of(file), 0, -1);
  assert_int_equal(out.len, strlen(expected));
  assert_memory_equal(out.data, expected, out.len);
  assert_string_equal(footer_of(file)->elements[0].name, "paimon_schema");
  tn_buf_reset(&out);
  tn_format_file_release(file);
}

static void schema__of_atomic_types_is_that_of_java(void **state) {
  (void)state;
  check_schema(
      "ROW<id INT NOT NULL, f0 BOOLEAN, f1 TINYINT, f2 SMALLINT, f3 BIGINT, f4 FLOAT, f5 DOUBLE, "
      "f6 CHAR(3), f7 STRING, f8 BYTES, f9 BINARY(4), f10 DECIMAL(9, 2), f11 DECIMAL(18, 6), "
      "f12 DECIMAL(19, 1), f13 DECIMAL(38, 10), f14 DATE, f15 TIME(0), f16 TIMESTAMP(3), "
      "f17 TIMESTAMP(6), f18 TIMESTAMP_LTZ(0), f19 TIMESTAMP_LTZ(4), f20 TIMESTAMP(9)>",
      "required INT32 id 0\n"
      "optional BOOLEAN f0 1\n"
      "optional INT32 (INT(8, signed)) f1 2\n"
      "optional INT32 (INT(16, signed)) f2 3\n"
      "optional INT64 f3 4\n"
      "optional FLOAT f4 5\n"
      "optional DOUBLE f5 6\n"
      "optional BYTE_ARRAY (STRING) f6 7\n"
      "optional BYTE_ARRAY (STRING) f7 8\n"
      "optional BYTE_ARRAY f8 9\n"
      "optional BYTE_ARRAY f9 10\n"
      "optional INT32 (DECIMAL(9, 2)) f10 11\n"
      "optional INT64 (DECIMAL(18, 6)) f11 12\n"
      "optional FIXED_LEN_BYTE_ARRAY(9) (DECIMAL(19, 1)) f12 13\n"
      "optional FIXED_LEN_BYTE_ARRAY(16) (DECIMAL(38, 10)) f13 14\n"
      "optional INT32 (DATE) f14 15\n"
      "optional INT32 (TIME(MILLIS, UTC)) f15 16\n"
      "optional INT64 (TIMESTAMP(MILLIS)) f16 17\n"
      "optional INT64 (TIMESTAMP(MICROS)) f17 18\n"
      "optional INT64 (TIMESTAMP(MILLIS, UTC)) f18 19\n"
      "optional INT64 (TIMESTAMP(MICROS, UTC)) f19 20\n"
      "optional INT96 f20 21\n");
}

static void schema__of_nested_types_is_that_of_java(void **state) {
  (void)state;
  check_schema(
      "ROW<id INT, a ARRAY<INT>, m MAP<STRING, ARRAY<BIGINT>>, "
      "r ROW<x INT, q ARRAY<STRING NOT NULL>> NOT NULL, ms MULTISET<STRING>, v VARIANT>",
      "optional INT32 id 0\n"
      "optional group LIST a 1\n"
      "  repeated group list -1\n"
      "    optional INT32 element 536871936\n"
      "optional group MAP m 2\n"
      "  repeated group MAP_KEY_VALUE key_value -1\n"
      "    required BYTE_ARRAY (STRING) key 536868862\n"
      "    optional group LIST value 536872960\n"
      "      repeated group list -1\n"
      "        optional INT64 element 536872961\n"
      "required group r 5\n"
      "  optional INT32 x 3\n"
      "  optional group LIST q 4\n"
      "    repeated group list -1\n"
      "      required BYTE_ARRAY (STRING) element 536875008\n"
      "optional group MAP ms 6\n"
      "  repeated group MAP_KEY_VALUE key_value -1\n"
      "    required BYTE_ARRAY (STRING) key 536864766\n"
      "    required INT32 value 536877056\n"
      "optional group v 7\n"
      "  required BYTE_ARRAY value 0\n"
      "  required BYTE_ARRAY metadata 1\n");
}

static void schema__bytes_of_decimals_are_the_least(void **state) {
  static const int32_t bytes[] = {9,  9,  9,  10, 10, 11, 11, 11, 12, 12,
                                  13, 13, 13, 14, 14, 15, 15, 16, 16, 16};
  (void)state;
  for (int32_t p = 19; p <= 38; p++) {
    int32_t n;
    const char *row = tn_arena_printf(&t.arena, "ROW<d DECIMAL(%d, 0)>", (int)p);
    const tn_field *fields = sql_fields(&t, row, &n);
    tn_format_file *file = must_write(fields, n, NULL, 0, NULL);
    assert_int_equal(footer_of(file)->elements[1].type_length, bytes[p - 19]);
    tn_format_file_release(file);
  }
}

/* ------------------------------------------------------------------ the footer */

static void footer__tells_writer_version_orders_and_metadata(void **state) {
  tarn_error err;
  int32_t n;
  const tn_field *fields = sql_fields(&t, "ROW<a INT, b ARRAY<STRING>>", &n);
  const tn_write_metadata metadata[] = {{"k", "v"}, {"empty", ""}};
  tn_write_request request = {fields, n, NULL, metadata, 2};
  tn_format_file *file;
  const tn_pq_footer *footer;
  (void)state;
  assert_works(write_file(&t, &request, NULL, 0, &file, &err), err);
  footer = footer_of(file);
  assert_int_equal(footer->version, 1);
  assert_int_equal(footer->n_row_groups, 0);
  assert_true(tn_slice_starts_with(footer->created_by, tn_slice_text("tarn version ")));
  assert_int_equal(footer->orders[0], TN_PQ_ORDER_TYPE);
  assert_int_equal(footer->orders[1], TN_PQ_ORDER_TYPE);
  assert_int_equal(footer->n_key_values, 2);
  assert_true(tn_slice_is(footer->key_values[0].key, "k"));
  assert_true(tn_slice_is(footer->key_values[0].value, "v"));
  assert_true(tn_slice_is(footer->key_values[1].key, "empty"));
  assert_int_equal(footer->key_values[1].value.len, 0);
  tn_format_file_release(file);
}

static void footer__tells_the_codec(void **state) {
  static const struct {
    const char *name;
    int32_t number;
  } codecs[] = {{NULL, 6},     {"ZSTD", 6}, {"snappy", 1},  {"gzip", 2},
                {"brotli", 4}, {"lz4", 5},  {"lz4_raw", 7}, {"none", 0}};
  int32_t n;
  const tn_field *fields = sql_fields(&t, "ROW<a BIGINT>", &n);
  tn_batch batch;
  (void)state;
  number_batch(fields, 100, few_values, &batch);
  for (size_t i = 0; i < TN_COUNT(codecs); i++) {
    tn_write_options options = {.compression = codecs[i].name};
    tn_format_file *file = must_write(fields, n, &batch, 1, &options);
    assert_int_equal(footer_of(file)->row_groups[0].chunks[0].codec, codecs[i].number);
    check_rows(&t, file, fields, n, &batch, 1, 1000, false);
    tn_format_file_release(file);
  }
  tn_batch_reset(t.env, &batch);
}

static void footer__level_of_zstd_is_followed(void **state) {
  int32_t n;
  const tn_field *fields = sql_fields(&t, "ROW<a BIGINT>", &n);
  int64_t bytes[2];
  tn_batch batch;
  (void)state;
  number_batch(fields, 20000, repeating_values, &batch);
  for (int i = 0; i < 2; i++) {
    tn_write_options options = {.zstd_level = i == 0 ? 1 : 19};
    tn_format_file *file = must_write(fields, n, &batch, 1, &options);
    bytes[i] = file->file->size_bytes;
    tn_format_file_release(file);
  }
  assert_true(bytes[1] < bytes[0]);
  tn_batch_reset(t.env, &batch);
}

/* ------------------------------------------------------------------ encodings */

#define HAS(encoding) (1u << (encoding))

static uint32_t encodings_of(double (*value)(int64_t i), int64_t n_rows,
                             const tn_write_options *options, int32_t *n_stats) {
  int32_t n;
  const tn_field *fields = sql_fields(&t, "ROW<a BIGINT NOT NULL>", &n);
  tn_batch batch;
  tn_format_file *file;
  uint32_t encodings;
  number_batch(fields, n_rows, value, &batch);
  file = must_write(fields, n, &batch, 1, options);
  check_rows(&t, file, fields, n, &batch, 1, 1000, false);
  encodings = footer_of(file)->row_groups[0].chunks[0].encodings;
  *n_stats = footer_of(file)->row_groups[0].chunks[0].n_encoding_stats;
  tn_format_file_release(file);
  tn_batch_reset(t.env, &batch);
  return encodings;
}

static void dictionary__is_used_where_it_pays(void **state) {
  int32_t n_stats;
  (void)state;
  assert_int_equal(encodings_of(few_values, 50000, NULL, &n_stats),
                   HAS(TN_PQ_PLAIN_DICTIONARY) | HAS(TN_PQ_RLE));
  assert_int_equal(n_stats, 2);
}

static void dictionary__is_given_up_where_all_is_new(void **state) {
  int32_t n_stats;
  (void)state;
  assert_int_equal(encodings_of(row_number, 50000, NULL, &n_stats),
                   HAS(TN_PQ_PLAIN) | HAS(TN_PQ_RLE));
  assert_int_equal(encodings_of(row_number, 10, NULL, &n_stats), HAS(TN_PQ_PLAIN) | HAS(TN_PQ_RLE));
  assert_int_equal(n_stats, 1);
}

/* Few values first, then new ones: the dictionary grows past its size. */
static double late_news(int64_t i) {
  return i < 30000 ? few_values(i) : (double)i;
}

static void dictionary__full_falls_back_to_plain(void **state) {
  tn_write_options options = {.dictionary_bytes = 4000};
  int32_t n_stats;
  (void)state;
  assert_int_equal(encodings_of(late_news, 60000, &options, &n_stats),
                   HAS(TN_PQ_PLAIN) | HAS(TN_PQ_PLAIN_DICTIONARY) | HAS(TN_PQ_RLE));
  assert_int_equal(n_stats, 3);
}

static void dictionary__can_be_turned_off(void **state) {
  tn_write_options options = {.no_dictionary = true};
  int32_t n_stats;
  (void)state;
  assert_int_equal(encodings_of(few_values, 50000, &options, &n_stats),
                   HAS(TN_PQ_PLAIN) | HAS(TN_PQ_RLE));
}

/* ------------------------------------------------------------------ pages */

static tn_pq_offset_index pages_of(tn_format_file *file, int32_t leaf) {
  tarn_error err;
  tn_pq_offset_index index;
  assert_works(tn_pq_offset_index_load(tn_pq_file_of(file), &footer_of(file)->row_groups[0], leaf,
                                       &t.arena, &(tn_pq_index_bytes){0}, &index, &err),
               err);
  return index;
}

static tn_pq_column_index bounds_of(tn_format_file *file, int32_t leaf) {
  tarn_error err;
  tn_pq_column_index index;
  assert_works(tn_pq_column_index_load(tn_pq_file_of(file), &footer_of(file)->row_groups[0], leaf,
                                       &t.arena, &(tn_pq_index_bytes){0}, &index, &err),
               err);
  return index;
}

static void pages__have_the_rows_they_may_have(void **state) {
  int32_t n;
  const tn_field *fields = sql_fields(&t, "ROW<a BIGINT>", &n);
  tn_write_options options = {.page_rows = 1000, .block_bytes = 1 << 30};
  tn_format_file *file;
  tn_pq_offset_index pages;
  tn_batch batch;
  (void)state;
  number_batch(fields, 45500, row_number, &batch);
  file = must_write(fields, n, &batch, 1, NULL);
  pages = pages_of(file, 0);
  assert_int_equal(pages.n_pages, 3);
  assert_int_equal(pages.pages[1].first_row, 20000);
  assert_int_equal(pages.pages[2].first_row, 40000);
  tn_format_file_release(file);
  file = must_write(fields, n, &batch, 1, &options);
  pages = pages_of(file, 0);
  assert_int_equal(pages.n_pages, 46);
  assert_int_equal(pages.pages[45].first_row, 45000);
  tn_format_file_release(file);
  tn_batch_reset(t.env, &batch);
}

static void pages__have_about_the_bytes_they_may_have(void **state) {
  int32_t n;
  const tn_field *fields = sql_fields(&t, "ROW<a BIGINT NOT NULL>", &n);
  tn_write_options options = {.page_bytes = 8000, .compression = "none", .no_dictionary = true};
  tn_format_file *file;
  tn_pq_offset_index pages;
  tn_batch batch;
  (void)state;
  number_batch(fields, 20000, row_number, &batch);
  file = must_write(fields, n, &batch, 1, &options);
  pages = pages_of(file, 0);
  assert_int_equal(pages.n_pages, 20);
  for (int32_t i = 0; i + 1 < pages.n_pages; i++) {
    assert_int_equal(pages.pages[i + 1].first_row - pages.pages[i].first_row, 1000);
  }
  tn_format_file_release(file);
  tn_batch_reset(t.env, &batch);
}

/* A bit flipped in any page is found when it is read. */
static void pages__have_checksums(void **state) {
  tarn_error err;
  int32_t n;
  const tn_field *fields = sql_fields(&t, "ROW<a BIGINT>", &n);
  tn_write_options options = {.compression = "none", .page_rows = 500};
  tn_format_file *file;
  tn_pq_offset_index pages;
  tn_batch batch;
  uint8_t *bytes;
  size_t n_bytes;
  (void)state;
  number_batch(fields, 2000, few_values, &batch);
  file = must_write(fields, n, &batch, 1, &options);
  pages = pages_of(file, 0);
  n_bytes = (size_t)file->file->size_bytes;
  bytes = tn_arena_alloc(&t.arena, n_bytes);
  assert_non_null(bytes);
  assert_works(tn_file_read(file->file, 0, bytes, n_bytes, &err), err);
  for (int32_t i = -1; i < pages.n_pages; i++) {
    int64_t offset = i < 0 ? 4 : pages.pages[i].offset;
    int64_t end = i < 0 ? pages.pages[0].offset : offset + pages.pages[i].bytes;
    tn_format_file *damaged;
    rows_text rows;
    bytes[end - 1] ^= 4;
    assert_works(open_bytes(&t, &tn_parquet_format, tn_slice_of(bytes, n_bytes), &damaged, &err),
                 err);
    assert_int_equal(
        read_rows(&t, damaged, &(rows_request){.fields = fields, .n_fields = n}, &rows, &err),
        TARN_E_CORRUPT);
    assert_contains(err.message, "CRC");
    bytes[end - 1] ^= 4;
    tn_format_file_release(damaged);
  }
  tn_format_file_release(file);
  tn_batch_reset(t.env, &batch);
}

static void groups__end_by_their_bytes(void **state) {
  int32_t n;
  const tn_field *fields = sql_fields(&t, "ROW<a BIGINT NOT NULL>", &n);
  tn_write_options options = {.block_bytes = 64000, .compression = "none", .no_dictionary = true};
  tn_format_file *file;
  const tn_pq_footer *footer;
  tn_batch batch;
  int64_t rows = 0;
  (void)state;
  number_batch(fields, 40000, row_number, &batch);
  file = must_write(fields, n, &batch, 1, &options);
  footer = footer_of(file);
  assert_int_equal(footer->n_row_groups, 5);
  for (int32_t i = 0; i < footer->n_row_groups; i++) {
    assert_true(footer->row_groups[i].n_rows <= 8512);
    rows += footer->row_groups[i].n_rows;
  }
  assert_int_equal(rows, 40000);
  tn_format_file_release(file);
  tn_batch_reset(t.env, &batch);
}

/* ------------------------------------------------------------------ statistics */

static const tn_pq_stats *stats_of(tn_format_file *file) {
  return &footer_of(file)->row_groups[0].chunks[0].stats;
}

static void stats__of_floats(void **state) {
  static const struct {
    double values[3];
    bool has_bounds;
    double min, max;
  } cases[] = {
      {{1.5, -2, 3}, true, -2, 3},
      {{0.0, 0.0, 0.0}, true, -0.0, 0.0},
      {{-0.0, -0.0, -0.0}, true, -0.0, 0.0},
      {{-1, 0.0, -0.0}, true, -1, 0.0},
      {{INFINITY, -INFINITY, 0}, true, -INFINITY, INFINITY},
      {{NAN, 1, 2}, false, 0, 0},
      {{1, 2, -NAN}, false, 0, 0},
      {{NAN, NAN, NAN}, false, 0, 0},
  };
  int32_t n;
  const tn_field *fields = sql_fields(&t, "ROW<d DOUBLE>", &n);
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    for (int no_dictionary = 0; no_dictionary < 2; no_dictionary++) {
      tn_write_options options = {.no_dictionary = no_dictionary != 0};
      tn_batch batch;
      tn_format_file *file;
      number_batch(fields, 3, row_number, &batch);
      memcpy(batch.columns[0].values, cases[i].values, sizeof(cases[i].values));
      file = must_write(fields, n, &batch, 1, &options);
      assert_int_equal(stats_of(file)->has_bounds, cases[i].has_bounds);
      assert_int_equal(stats_of(file)->null_count, 0);
      if (cases[i].has_bounds) {
        assert_memory_equal(stats_of(file)->min.data, &cases[i].min, 8);
        assert_memory_equal(stats_of(file)->max.data, &cases[i].max, 8);
      }
      assert_int_equal(
          tn_pq_chunk_has_index(&footer_of(file)->row_groups[0].chunks[0], TN_PQ_COLUMN_INDEX),
          cases[i].has_bounds);
      tn_format_file_release(file);
      tn_batch_reset(t.env, &batch);
    }
  }
}

static void stats__of_texts_are_by_unsigned_bytes(void **state) {
  static const char *const texts[] = {"b", "", "a\xc3\xa9", "\xf0\x9f\x98\x80", "zz", "a"};
  int32_t n;
  const tn_field *fields = sql_fields(&t, "ROW<s STRING>", &n);
  (void)state;
  for (int no_dictionary = 0; no_dictionary < 2; no_dictionary++) {
    tn_write_options options = {.no_dictionary = no_dictionary != 0};
    tn_batch batch;
    tn_format_file *file;
    text_batch(fields, texts, TN_COUNT(texts), &batch);
    file = must_write(fields, n, &batch, 1, &options);
    assert_true(stats_of(file)->has_bounds);
    assert_int_equal(stats_of(file)->min.len, 0);
    assert_true(tn_slice_is(stats_of(file)->max, "\xf0\x9f\x98\x80"));
    assert_false(stats_of(file)->has_old_bounds);
    tn_format_file_release(file);
    tn_batch_reset(t.env, &batch);
  }
}

/* Bounds of 4,096 bytes and more are left out of the footer, and cut in the index. */
static void stats__of_long_texts_are_left_out(void **state) {
  char a[3001], b[3001];
  const char *texts[] = {a, b};
  int32_t n;
  const tn_field *fields = sql_fields(&t, "ROW<s STRING>", &n);
  tn_batch batch;
  tn_format_file *file;
  tn_pq_column_index index;
  (void)state;
  memset(a, 'a', 3000);
  memset(b, 'b', 3000);
  a[3000] = b[3000] = '\0';
  text_batch(fields, texts, 2, &batch);
  file = must_write(fields, n, &batch, 1, NULL);
  assert_false(stats_of(file)->has_bounds);
  assert_int_equal(stats_of(file)->null_count, 0);
  index = bounds_of(file, 0);
  assert_int_equal(index.min[0].len, 64);
  assert_int_equal(index.max[0].len, 64);
  assert_int_equal(index.min[0].data[63], 'a');
  assert_int_equal(index.max[0].data[62], 'b');
  assert_int_equal(index.max[0].data[63], 'c');
  tn_format_file_release(file);
  tn_batch_reset(t.env, &batch);
}

static void stats__of_int96_are_nulls_only(void **state) {
  tarn_error err;
  int32_t n;
  const tn_field *fields = sql_fields(&t, "ROW<s TIMESTAMP(9)>", &n);
  tn_batch batch;
  tn_format_file *file;
  (void)state;
  assert_works(tn_batch_init(t.env, fields, n, &batch, &err), err);
  assert_works(tn_vec_alloc(t.env, &batch.columns[0], 3, 0, &err), err);
  assert_works(tn_vec_alloc_valid(t.env, &batch.columns[0], true, &err), err);
  memset(batch.columns[0].values, 0, 48);
  tn_bit_clear(batch.columns[0].valid, 1);
  batch.columns[0].null_count = 1;
  batch.n_rows = 3;
  file = must_write(fields, n, &batch, 1, NULL);
  assert_false(stats_of(file)->has_bounds);
  assert_int_equal(stats_of(file)->null_count, 1);
  assert_false(
      tn_pq_chunk_has_index(&footer_of(file)->row_groups[0].chunks[0], TN_PQ_COLUMN_INDEX));
  assert_true(tn_pq_chunk_has_index(&footer_of(file)->row_groups[0].chunks[0], TN_PQ_OFFSET_INDEX));
  tn_format_file_release(file);
  tn_batch_reset(t.env, &batch);
}

/* Nanoseconds of day are not negative before 1970. */
static void int96__before_1970_has_nanoseconds_of_day(void **state) {
  tarn_error err;
  int32_t n;
  const tn_field *fields = sql_fields(&t, "ROW<s TIMESTAMP(9) NOT NULL>", &n);
  tn_write_options options = {.compression = "none", .no_dictionary = true};
  tn_batch batch;
  tn_format_file *file;
  tn_pq_offset_index pages;
  uint8_t page[256];
  (void)state;
  assert_works(tn_batch_init(t.env, fields, n, &batch, &err), err);
  assert_works(tn_vec_alloc(t.env, &batch.columns[0], 1, 0, &err), err);
  tn_store_i128(batch.columns[0].values, -270517230);
  batch.n_rows = 1;
  file = must_write(fields, n, &batch, 1, &options);
  pages = pages_of(file, 0);
  assert_works(
      tn_file_read(file->file, pages.pages[0].offset, page, (size_t)pages.pages[0].bytes, &err),
      err);
  assert_true((int64_t)tn_load_le64(page + pages.pages[0].bytes - 12) ==
              (int64_t)86400 * 1000000000 - 270517230);
  assert_int_equal(tn_load_le32(page + pages.pages[0].bytes - 4), 2440587);
  check_rows(&t, file, fields, n, &batch, 1, 10, false);
  tn_format_file_release(file);
  tn_batch_reset(t.env, &batch);
}

/* ------------------------------------------------------------------ bounds of the file */

static tn_stat stat_of(const tn_field *fields, int32_t n, const tn_batch *batches, size_t n_batches,
                       const tn_write_options *options, int32_t column, tn_format_writer **writer,
                       tn_sink **sink) {
  tarn_error err;
  tn_stat stat;
  tn_write_request request = {fields, n, options, NULL, 0};
  const char *path = tn_arena_printf(&t.arena, "/stat-%d", t.n_files++);
  assert_works(tn_storage_create(t.memory, path, sink, &err), err);
  assert_works(tn_parquet_writer_ops.create(t.env, *sink, &request, writer, &err), err);
  for (size_t i = 0; i < n_batches; i++) {
    assert_works((*writer)->calls->write(*writer, &batches[i], &err), err);
  }
  assert_works((*writer)->calls->finish(*writer, &err), err);
  (*writer)->calls->stat(*writer, column, &stat);
  return stat;
}

static void file_bounds__are_javas_over_all_row_groups(void **state) {
  static const double values[][2] = {{-0.0, 7}, {0.0, 3}, {NAN, 5}};
  int32_t n;
  const tn_field *fields = sql_fields(&t, "ROW<d DOUBLE>", &n);
  tn_write_options options = {.block_bytes = 1};
  tn_batch batches[3];
  tn_format_writer *writer;
  tn_sink *sink;
  tn_stat stat;
  (void)state;
  for (size_t i = 0; i < 3; i++) {
    number_batch(fields, 2, row_number, &batches[i]);
    memcpy(batches[i].columns[0].values, values[i], sizeof(values[i]));
  }
  stat = stat_of(fields, n, batches, 2, &options, 0, &writer, &sink);
  assert_true(stat.has_bounds && stat.min.v.f64 == 0 && signbit(stat.min.v.f64));
  assert_true(stat.max.v.f64 == 7);
  assert_int_equal(stat.row_count, 4);
  assert_int_equal(stat.null_count, 0);
  writer->calls->free(writer);
  tn_sink_abort(sink);
  stat = stat_of(fields, n, batches, 3, &options, 0, &writer, &sink);
  assert_true(stat.has_bounds && isnan(stat.max.v.f64));
  writer->calls->free(writer);
  tn_sink_abort(sink);
  for (size_t i = 0; i < 3; i++) {
    tn_batch_reset(t.env, &batches[i]);
  }
}

/* Against the values themselves, by the order of filters. */
static void file_bounds__of_every_type_are_exact(void **state) {
  static const char *const row =
      "ROW<a BOOLEAN, b TINYINT, c SMALLINT, d INT, e BIGINT, f FLOAT, g DOUBLE, h DECIMAL(5, 2), "
      "i DECIMAL(15, 2), j DECIMAL(30, 2), k STRING, l DATE, m TIME(3), n TIMESTAMP(3), "
      "o TIMESTAMP(6), p TIMESTAMP(9), q ARRAY<INT>, r INT NOT NULL>";
  int32_t n;
  const tn_field *fields = sql_fields(&t, row, &n);
  (void)state;
  for (uint64_t seed = 1; seed <= 30; seed++) {
    random_source r = {.state = seed};
    tn_write_options options = {.block_bytes = seed % 2 != 0 ? 3000 : 0,
                                .no_dictionary = seed % 3 == 0};
    tn_format_writer *writer;
    tn_sink *sink;
    tn_batch batch;
    random_batch(&t, fields, n, 1 + (int64_t)seed * 7, &r, &batch);
    for (int32_t c = 0; c < n; c++) {
      const tn_vec *vec = &batch.columns[c];
      tn_datum min = {.is_null = true}, max = {.is_null = true};
      tn_stat stat = stat_of(fields, n, &batch, 1, &options, c, &writer, &sink);
      bool is_nested = tn_type_is_nested(&fields[c].type);
      bool is_int96 = fields[c].type.root == TN_TIMESTAMP && fields[c].type.precision > 6;
      assert_int_equal(stat.null_count, is_nested ? -1 : vec->null_count);
      for (int64_t i = 0; !is_nested && i < vec->length; i++) {
        tn_datum d = tn_vec_datum(vec, i);
        if (!d.is_null) {
          min = min.is_null || tn_datum_compare(vec->type, &d, &min) < 0 ? d : min;
          max = max.is_null || tn_datum_compare(vec->type, &d, &max) > 0 ? d : max;
        }
      }
      assert_int_equal(stat.has_bounds, !min.is_null && !is_int96);
      if (stat.has_bounds) {
        assert_int_equal(tn_datum_compare(vec->type, &stat.min, &min), 0);
        assert_int_equal(tn_datum_compare(vec->type, &stat.max, &max), 0);
      }
      writer->calls->free(writer);
      tn_sink_abort(sink);
    }
    tn_batch_reset(t.env, &batch);
  }
}

/* ------------------------------------------------------------------ page index */

static void index__tells_bounds_order_and_nulls_of_pages(void **state) {
  tarn_error err;
  int32_t n;
  const tn_field *fields = sql_fields(&t, "ROW<a BIGINT>", &n);
  tn_write_options options = {.page_rows = 100};
  tn_format_file *file;
  tn_pq_column_index index;
  tn_batch batch;
  (void)state;
  number_batch(fields, 400, row_number, &batch);
  assert_works(tn_vec_alloc_valid(t.env, &batch.columns[0], true, &err), err);
  for (int64_t i = 100; i < 210; i++) {
    tn_bit_clear(batch.columns[0].valid, i);
  }
  batch.columns[0].null_count = 110;
  file = must_write(fields, n, &batch, 1, &options);
  index = bounds_of(file, 0);
  assert_int_equal(index.n_pages, 4);
  assert_false(index.null_pages[0]);
  assert_true(index.null_pages[1]);
  assert_int_equal(index.null_counts[1], 100);
  assert_int_equal(index.null_counts[2], 10);
  assert_int_equal(index.min[1].len, 0);
  assert_int_equal(tn_load_le64(index.min[2].data), 210);
  assert_int_equal(tn_load_le64(index.max[3].data), 399);
  tn_format_file_release(file);
  tn_batch_reset(t.env, &batch);
}

/* Pages that cannot match are pruned, and none that can. */
static void index__prunes_pages(void **state) {
  static const struct {
    const char *where;
    int64_t begin, end;
  } cases[] = {{"a = 777", 700, 800},
               {"a < 50", 0, 100},
               {"a >= 2950", 2900, 3000},
               {"a = 5000", 0, 0},
               {"s = 'k01234'", 1200, 1300},
               {"s > 'k02999'", 0, 0},
               {"a > 150 AND s < 'k00170'", 100, 200}};
  tarn_error err;
  int32_t n;
  const tn_field *fields = sql_fields(&t, "ROW<a BIGINT, s STRING>", &n);
  tn_write_options options = {.page_rows = 100};
  tn_format_file *file;
  tn_batch batch;
  (void)state;
  assert_works(tn_batch_init(t.env, fields, n, &batch, &err), err);
  assert_works(tn_vec_alloc(t.env, &batch.columns[0], 3000, 0, &err), err);
  assert_works(tn_vec_alloc(t.env, &batch.columns[1], 3000, 3000 * 6 + 1, &err), err);
  batch.n_rows = 3000;
  for (int32_t i = 0; i < 3000; i++) {
    ((int64_t *)batch.columns[0].values)[i] = i;
    snprintf((char *)batch.columns[1].values + 6 * i, 7, "k%05d", (int)i);
    batch.columns[1].offsets[i + 1] = 6 * (i + 1);
  }
  file = must_write(fields, n, &batch, 1, &options);
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    const tn_pred *pred;
    tn_ranges ranges;
    tn_ranges_init(&ranges, &t.env->mem);
    assert_works(tn_ranges_add(&ranges, 0, file->n_rows, &err), err);
    assert_works(tn_pred_parse(&t.arena, fields, n, t.env->zone, tn_slice_text(cases[i].where),
                               &pred, NULL, &err),
                 err);
    assert_works(file->ops->prune(file, fields, n, pred, &ranges, &err), err);
    assert_int_equal(ranges.count, cases[i].end > cases[i].begin);
    if (ranges.count > 0) {
      assert_int_equal(ranges.items[0].begin, cases[i].begin);
      assert_int_equal(ranges.items[0].end, cases[i].end);
    }
    tn_ranges_reset(&ranges);
  }
  tn_format_file_release(file);
  tn_batch_reset(t.env, &batch);
}

/* ------------------------------------------------------------------ columns that repeat others */

static void columns__that_repeat_others_have_the_same_bytes(void **state) {
  static const char *const types[] = {"BIGINT", "STRING", "DECIMAL(30, 2)"};
  static const int32_t same_as[] = {-1, -1, 0};
  tn_write_options options = {.block_bytes = 20000, .page_rows = 500, .dictionary_bytes = 2000};
  (void)state;
  for (size_t k = 0; k < TN_COUNT(types); k++) {
    char row[80];
    int32_t n;
    const tn_field *fields;
    tn_batch batches[4];
    tn_format_file *files[2];
    uint8_t *bytes[2];
    tarn_error err;
    random_source r = {.state = k + 1};
    snprintf(row, sizeof(row), "ROW<a %s, m INT, b %s>", types[k], types[k]);
    fields = sql_fields(&t, row, &n);
    for (size_t i = 0; i < TN_COUNT(batches); i++) {
      random_batch(&t, fields, n, 2000, &r, &batches[i]);
      tn_vec_reset(t.env, &batches[i].columns[2]);
      assert_works(tn_vec_share(t.env, &batches[i].columns[0], &batches[i].columns[2], &err), err);
    }
    for (int i = 0; i < 2; i++) {
      tn_write_request request = {fields, n, &options, NULL, 0, i == 0 ? NULL : same_as};
      size_t n_bytes;
      assert_works(write_file(&t, &request, batches, TN_COUNT(batches), &files[i], &err), err);
      n_bytes = (size_t)files[i]->file->size_bytes;
      bytes[i] = malloc(n_bytes);
      assert_works(tn_file_read(files[i]->file, 0, bytes[i], n_bytes, &err), err);
    }
    assert_true(footer_of(files[0])->n_row_groups > 2);
    assert_int_equal(files[0]->file->size_bytes, files[1]->file->size_bytes);
    assert_memory_equal(bytes[0], bytes[1], (size_t)files[0]->file->size_bytes);
    for (int i = 0; i < 2; i++) {
      tn_format_file_release(files[i]);
      free(bytes[i]);
    }
    for (size_t i = 0; i < TN_COUNT(batches); i++) {
      tn_batch_reset(t.env, &batches[i]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      format_unit_test(&t, columns__that_repeat_others_have_the_same_bytes),
      format_unit_test(&t, schema__of_atomic_types_is_that_of_java),
      format_unit_test(&t, schema__of_nested_types_is_that_of_java),
      format_unit_test(&t, schema__bytes_of_decimals_are_the_least),
      format_unit_test(&t, footer__tells_writer_version_orders_and_metadata),
      format_unit_test(&t, footer__tells_the_codec),
      format_unit_test(&t, footer__level_of_zstd_is_followed),
      format_unit_test(&t, dictionary__is_used_where_it_pays),
      format_unit_test(&t, dictionary__is_given_up_where_all_is_new),
      format_unit_test(&t, dictionary__full_falls_back_to_plain),
      format_unit_test(&t, dictionary__can_be_turned_off),
      format_unit_test(&t, pages__have_the_rows_they_may_have),
      format_unit_test(&t, pages__have_about_the_bytes_they_may_have),
      format_unit_test(&t, pages__have_checksums),
      format_unit_test(&t, groups__end_by_their_bytes),
      format_unit_test(&t, stats__of_floats),
      format_unit_test(&t, stats__of_texts_are_by_unsigned_bytes),
      format_unit_test(&t, stats__of_long_texts_are_left_out),
      format_unit_test(&t, stats__of_int96_are_nulls_only),
      format_unit_test(&t, int96__before_1970_has_nanoseconds_of_day),
      format_unit_test(&t, file_bounds__are_javas_over_all_row_groups),
      format_unit_test(&t, file_bounds__of_every_type_are_exact),
      format_unit_test(&t, index__tells_bounds_order_and_nulls_of_pages),
      format_unit_test(&t, index__prunes_pages),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
