/* Damaged, lying and hostile Parquet files: one clear error, in bounded memory and time; and what
 * is refused by name. */
#include "base/bytes.h"
#include "codec/hash.h"
#include "format/parquet/parquet.h"
#include "parquet_maker.h"
#include "rows_text.h"
#include "support/files.h"
#include "support/test.h"
#include "support/torture.h"

static tarn_status read_bytes(format_test *t, tn_slice bytes, rows_text *rows, tarn_error *err) {
  tn_format_file *file;
  rows_request request = {0};
  tarn_status st;
  memset(rows, 0, sizeof(*rows));
  TN_TRY(open_bytes(t, &tn_parquet_format, bytes, &file, err));
  st = read_rows(t, file, &request, rows, err);
  tn_format_file_release(file);
  return st;
}

static bool same_rows(const rows_text *a, const rows_text *b) {
  bool same = a->n == b->n;
  for (int64_t i = 0; same && i < a->n; i++) {
    same = strcmp(a->lines[i], b->lines[i]) == 0;
  }
  return same;
}

/* ------------------------------------------------------------------ every byte */

/* A file whose pages have CRCs. */
static uint8_t *crc_file(format_test *t, size_t *n) {
  return tn_test_read_file(data_path(t, "crc.parquet"), n);
}

static void damage__a_file_cut_anywhere_is_corrupt(void **state) {
  format_test t;
  tarn_error err;
  size_t n;
  (void)state;
  format_test_begin(&t);
  uint8_t *bytes = crc_file(&t, &n);
  for (size_t cut = 0; cut < n; cut++) {
    rows_text rows;
    assert_int_equal(read_bytes(&t, tn_slice_of(bytes, cut), &rows, &err), TARN_E_CORRUPT);
    assert_contains(err.message, "/file-");
  }
  free(bytes);
  format_test_end(&t);
}

static void damage__a_flipped_bit_of_the_data_never_gives_other_rows(void **state) {
  format_test t;
  tarn_error err;
  size_t n, footer;
  rows_text good;
  (void)state;
  format_test_begin(&t);
  uint8_t *bytes = crc_file(&t, &n);
  footer = n - 8 - tn_load_le32(bytes + n - 8);
  assert_works(read_bytes(&t, tn_slice_of(bytes, n), &good, &err), err);
  for (size_t bit = 0; bit < footer * 8; bit++) {
    rows_text rows;
    bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    if (read_bytes(&t, tn_slice_of(bytes, n), &rows, &err) == TARN_OK) {
      assert_true(same_rows(&rows, &good));
    } else {
      assert_contains(err.message, "/file-");
    }
    bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  free(bytes);
  format_test_end(&t);
}

/* Flips of the footer may rename a column or change its type: then rows differ by right. */
static void damage__a_flipped_bit_of_the_footer_never_crashes(void **state) {
  format_test t;
  tarn_error err;
  size_t n, footer;
  (void)state;
  format_test_begin(&t);
  uint8_t *bytes = crc_file(&t, &n);
  footer = n - 8 - tn_load_le32(bytes + n - 8);
  for (size_t bit = footer * 8; bit < n * 8; bit++) {
    rows_text rows;
    bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    if (read_bytes(&t, tn_slice_of(bytes, n), &rows, &err) != TARN_OK) {
      assert_contains(err.message, "/file-");
    }
    bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  free(bytes);
  format_test_end(&t);
}

/* ------------------------------------------------------------------ made files */

typedef struct damage {
  const char *name;
  void (*make)(parquet_maker *m); /* one leaf `x`, ten rows; fills in chunk and pages */
  tn_pq_repetition repetition;
  tn_pq_physical physical;
  tarn_status status;
  const char *message;
} damage;

static const uint8_t zeros[4096];

static void page_of(parquet_maker *m, int32_t n_values, int32_t encoding, tn_slice values) {
  maker_page(m, &(maker_page_spec){.n_values = n_values, .encoding = encoding, .values = values});
}

static void too_few_values(parquet_maker *m) {
  maker_chunk(m, 10);
  page_of(m, 10, TN_PQ_PLAIN, tn_slice_of(zeros, 39));
}

static void too_few_pages(parquet_maker *m) {
  maker_chunk(m, 10);
  page_of(m, 9, TN_PQ_PLAIN, tn_slice_of(zeros, 36));
}

static void too_many_entries(parquet_maker *m) {
  maker_chunk(m, 10);
  page_of(m, 11, TN_PQ_PLAIN, tn_slice_of(zeros, 44));
}

static void other_count_of_values(parquet_maker *m) {
  maker_chunk(m, 11);
  page_of(m, 10, TN_PQ_PLAIN, tn_slice_of(zeros, 40));
}

static void huge_count_of_nulls(parquet_maker *m) {
  maker_chunk(m, 10);
  page_of(m, INT32_MAX, TN_PQ_PLAIN, LITERAL("\4\0\0\0\xfe\xff\xff\1"));
}

static void code_outside(parquet_maker *m) {
  maker_chunk(m, 10);
  maker_dictionary(m, 2, tn_slice_of(zeros, 8));
  page_of(m, 10, TN_PQ_RLE_DICTIONARY, LITERAL("\2\x14\2"));
}

static void no_dictionary(parquet_maker *m) {
  maker_chunk(m, 10);
  page_of(m, 10, TN_PQ_RLE_DICTIONARY, LITERAL("\1\x14\0"));
}

static void two_dictionaries(parquet_maker *m) {
  maker_chunk(m, 10);
  maker_dictionary(m, 2, tn_slice_of(zeros, 8));
  maker_dictionary(m, 2, tn_slice_of(zeros, 8));
  page_of(m, 10, TN_PQ_RLE_DICTIONARY, LITERAL("\1\x14\0"));
}

static void huge_dictionary(parquet_maker *m) {
  maker_chunk(m, 10);
  maker_dictionary(m, INT32_MAX, tn_slice_of(zeros, 8));
  page_of(m, 10, TN_PQ_RLE_DICTIONARY, LITERAL("\1\x14\0"));
}

static void wide_codes(parquet_maker *m) {
  maker_chunk(m, 10);
  maker_dictionary(m, 2, tn_slice_of(zeros, 8));
  page_of(m, 10, TN_PQ_RLE_DICTIONARY, LITERAL("\x21\x14\0\0\0\0\0"));
}

static void unknown_encoding(parquet_maker *m) {
  maker_chunk(m, 10);
  page_of(m, 10, 1, tn_slice_of(zeros, 40));
}

static void misplaced_encoding(parquet_maker *m) {
  maker_chunk(m, 10);
  page_of(m, 10, TN_PQ_DELTA_LENGTH_BYTE_ARRAY, tn_slice_of(zeros, 40));
}

static void short_levels(parquet_maker *m) {
  maker_chunk(m, 10);
  maker_page(m, &(maker_page_spec){.n_values = 10, .def = "111", .values = tn_slice_of(zeros, 40)});
}

static void high_levels(parquet_maker *m) {
  maker_chunk(m, 10);
  maker_page(
      m, &(maker_page_spec){.n_values = 10, .def = "1112111111", .values = tn_slice_of(zeros, 40)});
}

static void long_string(parquet_maker *m) {
  maker_chunk(m, 10);
  page_of(m, 10, TN_PQ_PLAIN,
          LITERAL("\xff\xff\xff\xff"
                  "abc"));
}

static void bad_delta(parquet_maker *m) {
  maker_chunk(m, 10);
  page_of(m, 10, TN_PQ_DELTA_BINARY_PACKED, LITERAL("\x07\4\x0a\0"));
}

static void short_delta(parquet_maker *m) {
  maker_chunk(m, 10);
  page_of(m, 10, TN_PQ_DELTA_BINARY_PACKED, LITERAL("\x80\1\4\x0a\0\2\x20\0\0\0"));
}

static void long_prefix(parquet_maker *m) {
  maker_chunk(m, 10);
  // prefixes: one value 5; suffixes: one value 1
  page_of(m, 10, TN_PQ_DELTA_BYTE_ARRAY,
          LITERAL("\x80\1\4\1\x0a\x80\1\4\1\2"
                  "a"));
}

static void wrong_crc(parquet_maker *m) {
  maker_chunk(m, 10);
  maker_page(
      m, &(maker_page_spec){
             .n_values = 10, .values = tn_slice_of(zeros, 40), .has_crc = true, .crc = 0x12345678});
}

static void row_goes_on_in_v2_page(parquet_maker *m) {
  maker_chunk(m, 20);
  maker_page(m, &(maker_page_spec){.n_values = 10,
                                   .n_rows = 10,
                                   .is_v2 = true,
                                   .rep = "0000000000",
                                   .def = "1111111111",
                                   .values = tn_slice_of(zeros, 40)});
  maker_page(m, &(maker_page_spec){.n_values = 10,
                                   .n_rows = 0,
                                   .is_v2 = true,
                                   .rep = "1111111111",
                                   .def = "1111111111",
                                   .values = tn_slice_of(zeros, 40)});
}

static void other_rows_in_v2_page(parquet_maker *m) {
  maker_chunk(m, 11);
  maker_page(m, &(maker_page_spec){.n_values = 10,
                                   .n_rows = 9,
                                   .is_v2 = true,
                                   .rep = "0000000000",
                                   .def = "1111111111",
                                   .values = tn_slice_of(zeros, 40)});
  maker_page(m, &(maker_page_spec){.n_values = 1,
                                   .n_rows = 1,
                                   .is_v2 = true,
                                   .rep = "0",
                                   .def = "1",
                                   .values = tn_slice_of(zeros, 4)});
}

static void first_row_goes_on(parquet_maker *m) {
  maker_chunk(m, 10);
  maker_page(m, &(maker_page_spec){.n_values = 10,
                                   .rep = "1000000000",
                                   .def = "1111111111",
                                   .values = tn_slice_of(zeros, 40)});
}

static void more_rows_than_told(parquet_maker *m) {
  maker_chunk(m, 12);
  maker_page(m, &(maker_page_spec){.n_values = 12,
                                   .rep = "000000000000",
                                   .def = "111111111111",
                                   .values = tn_slice_of(zeros, 48)});
}

static const damage damages[] = {
    {"too few values", too_few_values, TN_PQ_REQUIRED, TN_PQ_INT32, TARN_E_CORRUPT,
     "fewer values (PLAIN) than its 10 entries call for"},
    {"too few pages", too_few_pages, TN_PQ_REQUIRED, TN_PQ_INT32, TARN_E_CORRUPT,
     "ends after 9 rows of a row group of 10"},
    {"too many entries", too_many_entries, TN_PQ_REQUIRED, TN_PQ_INT32, TARN_E_CORRUPT,
     "rows 0 to 11, the row group has 10"},
    {"other count of values", other_count_of_values, TN_PQ_REQUIRED, TN_PQ_INT32, TARN_E_CORRUPT,
     "has 11 values, its row group 10 rows"},
    {"huge count of nulls", huge_count_of_nulls, TN_PQ_OPTIONAL, TN_PQ_INT32, TARN_E_CORRUPT,
     "the row group has 10"},
    {"code outside", code_outside, TN_PQ_REQUIRED, TN_PQ_INT32, TARN_E_CORRUPT,
     "code 2, the dictionary has 2 values"},
    {"no dictionary", no_dictionary, TN_PQ_REQUIRED, TN_PQ_INT32, TARN_E_CORRUPT, "there is none"},
    {"two dictionaries", two_dictionaries, TN_PQ_REQUIRED, TN_PQ_INT32, TARN_E_CORRUPT,
     "a second dictionary"},
    {"huge dictionary", huge_dictionary, TN_PQ_REQUIRED, TN_PQ_INT32, TARN_E_CORRUPT,
     "a dictionary of 2147483647 values in 8 bytes"},
    {"wide codes", wide_codes, TN_PQ_REQUIRED, TN_PQ_INT32, TARN_E_CORRUPT, "more than 32 bits"},
    {"unknown encoding", unknown_encoding, TN_PQ_REQUIRED, TN_PQ_INT32, TARN_E_CORRUPT,
     "the encoding is not known"},
    {"misplaced encoding", misplaced_encoding, TN_PQ_REQUIRED, TN_PQ_INT32, TARN_E_CORRUPT,
     "is for BYTE_ARRAY only"},
    {"short levels", short_levels, TN_PQ_OPTIONAL, TN_PQ_INT32, TARN_E_CORRUPT,
     "levels of 10 entries are cut short"},
    {"high levels", high_levels, TN_PQ_OPTIONAL, TN_PQ_INT32, TARN_E_CORRUPT,
     "above their maximum"},
    {"long string", long_string, TN_PQ_REQUIRED, TN_PQ_BYTE_ARRAY, TARN_E_CORRUPT,
     "fewer values (PLAIN)"},
    {"bad delta", bad_delta, TN_PQ_REQUIRED, TN_PQ_INT32, TARN_E_CORRUPT,
     "the header of DELTA_BINARY_PACKED is damaged"},
    {"short delta", short_delta, TN_PQ_REQUIRED, TN_PQ_INT64, TARN_E_CORRUPT,
     "fewer values (DELTA_BINARY_PACKED)"},
    {"long prefix", long_prefix, TN_PQ_REQUIRED, TN_PQ_BYTE_ARRAY, TARN_E_CORRUPT,
     "fewer values (DELTA_BYTE_ARRAY)"},
    {"wrong crc", wrong_crc, TN_PQ_REQUIRED, TN_PQ_INT32, TARN_E_CORRUPT,
     "page at offset 4: CRC-32 is "},
    {"row goes on in a v2 page", row_goes_on_in_v2_page, TN_PQ_REPEATED, TN_PQ_INT32, TARN_OK,
     NULL},  // the row is over with the page: what follows belongs to no row
    {"other rows in a v2 page", other_rows_in_v2_page, TN_PQ_REPEATED, TN_PQ_INT32, TARN_E_CORRUPT,
     "10 rows, 9 were said"},
    {"first row goes on", first_row_goes_on, TN_PQ_REPEATED, TN_PQ_INT32, TARN_E_CORRUPT,
     "it begins within a row"},
    {"more rows than told", more_rows_than_told, TN_PQ_REPEATED, TN_PQ_INT32, TARN_E_CORRUPT,
     "more rows than the 10 of the row group"},
};

static void damage__lies_of_pages_are_found(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(damages); i++) {
    const damage *d = &damages[i];
    format_test t;
    tarn_error err;
    rows_text rows;
    parquet_maker m;
    tarn_status st;
    format_test_begin(&t);
    memset(&err, 0, sizeof(err));
    maker_begin(&m);
    maker_leaf(&m, "x", d->repetition, d->physical, 0, MAKER_PLAIN_TYPE);
    d->make(&m);
    st = read_bytes(&t, maker_end(&m, 10), &rows, &err);
    if (st != d->status || (d->message != NULL && strstr(err.message, d->message) == NULL)) {
      fail_msg("%s: %s: %s", d->name, tarn_status_name(st), err.message);
    }
    if (st != TARN_OK) {
      assert_contains(err.message, "column `x`");
    }
    maker_free(&m);
    format_test_end(&t);
  }
}

/* ------------------------------------------------------------------ footers */

static void make_plain(parquet_maker *m) {
  maker_begin(m);
  maker_leaf(m, "x", TN_PQ_REQUIRED, TN_PQ_INT32, 0, MAKER_PLAIN_TYPE);
  maker_chunk(m, 10);
  page_of(m, 10, TN_PQ_PLAIN, tn_slice_of(zeros, 40));
}

static void footer__row_counts_must_agree(void **state) {
  format_test t;
  tarn_error err;
  rows_text rows;
  parquet_maker m;
  (void)state;
  format_test_begin(&t);
  make_plain(&m);
  m.footer_rows = 12;
  assert_int_equal(read_bytes(&t, maker_end(&m, 10), &rows, &err), TARN_E_CORRUPT);
  assert_contains(err.message, "the file has 12 rows, its row groups together 10");
  maker_free(&m);
  make_plain(&m);
  m.footer_rows = 0;  // early writers
  assert_works(read_bytes(&t, maker_end(&m, 10), &rows, &err), err);
  assert_int_equal(rows.n, 10);
  maker_free(&m);
  format_test_end(&t);
}

static void footer__encrypted_files_are_refused_by_name(void **state) {
  format_test t;
  tarn_error err;
  rows_text rows;
  parquet_maker m;
  tn_slice file;
  (void)state;
  format_test_begin(&t);
  make_plain(&m);
  m.is_encrypted = true;
  file = maker_end(&m, 10);
  assert_int_equal(read_bytes(&t, file, &rows, &err), TARN_E_UNSUPPORTED);
  assert_contains(err.message, "encrypted Parquet");
  memcpy(m.out.data + m.out.len - 4, "PARE", 4);
  assert_int_equal(read_bytes(&t, file, &rows, &err), TARN_E_UNSUPPORTED);
  assert_contains(err.message, "encrypted Parquet");
  maker_free(&m);
  format_test_end(&t);
}

static void footer__other_files_are_no_parquet(void **state) {
  static const tn_slice files[] = {{(const uint8_t *)"", 0},
                                   {(const uint8_t *)"PAR1", 4},
                                   {(const uint8_t *)"PAR1\xff\xff\xff\xffPAR1", 12},
                                   {(const uint8_t *)"PAR1\0\0\0\0PAR1", 12},
                                   {(const uint8_t *)"Obj\1 this is Avro", 17}};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(files); i++) {
    format_test t;
    tarn_error err;
    rows_text rows;
    format_test_begin(&t);
    assert_int_equal(read_bytes(&t, files[i], &rows, &err), TARN_E_CORRUPT);
    assert_contains(err.message, "/file-0");
    format_test_end(&t);
  }
}

static void footer__schemas_must_be_one_tree(void **state) {
  (void)state;
  for (int n_children = 0; n_children < 4; n_children++) {
    format_test t;
    tarn_error err;
    rows_text rows;
    parquet_maker m;
    format_test_begin(&t);
    maker_begin(&m);
    maker_group(&m, "g", TN_PQ_OPTIONAL, n_children, MAKER_PLAIN_TYPE);
    m.n_top = 1;  // whatever the group says
    maker_leaf(&m, "x", TN_PQ_OPTIONAL, TN_PQ_INT32, 0, MAKER_PLAIN_TYPE);
    m.n_top = 1;
    maker_chunk(&m, 1);
    page_of(&m, 1, TN_PQ_PLAIN, LITERAL("\2\0\0\0\2\0"));
    assert_int_equal(read_bytes(&t, maker_end(&m, 1), &rows, &err),
                     n_children == 1 ? TARN_OK : TARN_E_CORRUPT);
    maker_free(&m);
    format_test_end(&t);
  }
}

/* Nesting that would run the stack out is a limit. */
static void footer__deep_schemas_are_a_limit(void **state) {
  format_test t;
  tarn_error err;
  rows_text rows;
  parquet_maker m;
  (void)state;
  format_test_begin(&t);
  maker_begin(&m);
  for (int i = 0; i < 2000; i++) {
    maker_group(&m, "g", TN_PQ_OPTIONAL, 1, MAKER_PLAIN_TYPE);
  }
  maker_leaf(&m, "x", TN_PQ_OPTIONAL, TN_PQ_INT32, 0, MAKER_PLAIN_TYPE);
  maker_chunk(&m, 1);
  assert_int_equal(read_bytes(&t, maker_end(&m, 1), &rows, &err), TARN_E_LIMIT);
  assert_contains(err.message, "nested deeper than");
  maker_free(&m);
  format_test_end(&t);
}

/* ------------------------------------------------------------------ CRCs */

static void crc__is_checked_when_present(void **state) {
  format_test t;
  tarn_error err;
  rows_text rows;
  parquet_maker m;
  (void)state;
  format_test_begin(&t);
  maker_begin(&m);
  maker_leaf(&m, "x", TN_PQ_REQUIRED, TN_PQ_INT32, 0, MAKER_PLAIN_TYPE);
  maker_chunk(&m, 10);
  maker_page(&m, &(maker_page_spec){.n_values = 10,
                                    .values = tn_slice_of(zeros, 40),
                                    .has_crc = true,
                                    .crc = tn_crc32(0, zeros, 40)});
  assert_works(read_bytes(&t, maker_end(&m, 10), &rows, &err), err);
  maker_free(&m);
  format_test_end(&t);
}

/* ------------------------------------------------------------------ allocation failures */

typedef struct torture {
  tn_slice bytes;
} torture;

static tarn_status read_once(void *ctx, tarn_env *env, tarn_error *err) {
  const torture *torture_file = ctx;
  tarn_status st = TARN_OK;
  tn_storage *storage = NULL;
  tn_format_file *file = NULL;
  tn_reader *reader = NULL;
  tn_field *fields;
  tn_read_request request;
  tn_ranges ranges;
  tn_arena arena;
  tn_batch batch;
  tn_buf text;
  const tn_pred *pred;
  memset(&request, 0, sizeof(request));
  memset(&batch, 0, sizeof(batch));
  tn_ranges_init(&ranges, &env->mem);
  tn_arena_init(&arena, &env->mem, 1 << 22);
  tn_buf_init(&text, &env->mem, 1 << 22);
  TN_TRY_TO(done, tn_storage_memory(env, &storage, err));
  TN_TRY_TO(done, tn_storage_memory_put(storage, "/f", torture_file->bytes, err));
  TN_TRY_TO(done, tn_format_open(env, storage, &tn_parquet_format, "/f", &file, err));
  TN_TRY_TO(done, file->ops->inspect(file, &text, err));
  TN_TRY_TO(done, file->ops->schema(file, &arena, &fields, &request.n_fields, err));
  TN_TRY_TO(done, tn_ranges_add(&ranges, 3, file->n_rows - 7, err));
  pred = tn_pred_leaf(&arena, TN_PRED_IS_NOT_NULL, &fields[0], NULL, 0);
  if (pred == NULL) {
    st = tn_oom(err);
    goto done;
  }
  TN_TRY_TO(done, file->ops->prune(file, fields, request.n_fields, pred, &ranges, err));
  request.fields = fields;
  request.rows = &ranges;
  request.allows_encoded = true;
  TN_TRY_TO(done, file->ops->read(file, &request, &reader, err));
  TN_TRY_TO(done, tn_batch_init(env, fields, request.n_fields, &batch, err));
  do {
    TN_TRY_TO(done, tn_reader_next(reader, 50, &batch, err));
  } while (batch.n_rows > 0);
done:
  tn_batch_reset(env, &batch);
  tn_reader_free(reader);
  tn_format_file_release(file);
  tn_storage_release(storage);
  tn_ranges_reset(&ranges);
  tn_buf_reset(&text);
  tn_arena_reset(&arena);
  return st;
}

static void torture__every_allocation_may_fail(void **state) {
  static const char *const files[] = {"fallback.parquet", "nested_index.parquet",
                                      "delta_bytes.parquet", "edges.parquet"};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(files); i++) {
    format_test t;
    torture file;
    size_t n;
    format_test_begin(&t);
    uint8_t *bytes = tn_test_read_file(data_path(&t, files[i]), &n);
    file.bytes = tn_slice_of(bytes, n);
    assert_true(tn_torture(read_once, &file, TARN_OK) > 20);
    free(bytes);
    format_test_end(&t);
  }
}

/* A reader that has failed says so, and gives no more rows. */
static void reader__stays_failed(void **state) {
  format_test t;
  tarn_error err;
  parquet_maker m;
  tn_format_file *file;
  tn_reader *reader;
  tn_batch batch;
  tn_read_request request;
  (void)state;
  format_test_begin(&t);
  maker_begin(&m);
  maker_leaf(&m, "x", TN_PQ_REQUIRED, TN_PQ_INT32, 0, MAKER_PLAIN_TYPE);
  maker_chunk(&m, 10);
  page_of(&m, 5, TN_PQ_PLAIN, tn_slice_of(zeros, 20));
  page_of(&m, 5, TN_PQ_PLAIN, tn_slice_of(zeros, 19));
  assert_works(open_bytes(&t, &tn_parquet_format, maker_end(&m, 10), &file, &err), err);
  memset(&request, 0, sizeof(request));
  request.fields = must_schema(&t, file, &request.n_fields);
  assert_works(file->ops->read(file, &request, &reader, &err), err);
  assert_works(tn_batch_init(t.env, request.fields, 1, &batch, &err), err);
  assert_works(tn_reader_next(reader, 5, &batch, &err), err);
  assert_int_equal(tn_reader_next(reader, 5, &batch, &err), TARN_E_CORRUPT);
  assert_int_equal(batch.n_rows, 0);
  assert_int_equal(tn_reader_next(reader, 5, &batch, &err), TARN_E_STATE);
  tn_batch_reset(t.env, &batch);
  tn_reader_free(reader);
  tn_format_file_release(file);
  maker_free(&m);
  format_test_end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(damage__a_file_cut_anywhere_is_corrupt),
      cmocka_unit_test(damage__a_flipped_bit_of_the_data_never_gives_other_rows),
      cmocka_unit_test(damage__a_flipped_bit_of_the_footer_never_crashes),
      cmocka_unit_test(damage__lies_of_pages_are_found),
      cmocka_unit_test(footer__row_counts_must_agree),
      cmocka_unit_test(footer__encrypted_files_are_refused_by_name),
      cmocka_unit_test(footer__other_files_are_no_parquet),
      cmocka_unit_test(footer__schemas_must_be_one_tree),
      cmocka_unit_test(footer__deep_schemas_are_a_limit),
      cmocka_unit_test(crc__is_checked_when_present),
      cmocka_unit_test(torture__every_allocation_may_fail),
      cmocka_unit_test(reader__stays_failed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
