/* The files of apache/parquet-testing (third-party data, not part of this tree): the folder that
 * the environment variable TARN_PARQUET_TESTING names. Expected rows were printed by data/make.py
 * --table, which reads with pyarrow; where pyarrow differs a remark says why ours is right.
 */
#include "format/parquet/parquet.h"
#include "rows_text.h"
#include "support/test.h"

typedef struct good_file {
  const char *name;
  int64_t n_rows;
  uint32_t crc; /* rows_crc() */
} good_file;

static const good_file good_files[] = {
    {"bad_data/ARROW-GH-43605.parquet", 21186, 0xdb1490ac},
    {"data/alltypes_dictionary.parquet", 2, 0xf3f682ab},
    {"data/alltypes_plain.parquet", 8, 0x728597f4},
    {"data/alltypes_plain.snappy.parquet", 2, 0xfdc952da},
    {"data/alltypes_tiny_pages.parquet", 7300, 0xdb0bb9ff},
    {"data/alltypes_tiny_pages_plain.parquet", 7300, 0xdb0bb9ff},
    {"data/binary.parquet", 12, 0x32b40ce2},
    {"data/binary_truncated_min_max.parquet", 12, 0x54d0f543},
    {"data/byte_array_decimal.parquet", 24, 0x5569c2b8},
    {"data/byte_stream_split.zstd.parquet", 300, 0x435c649d},
    {"data/byte_stream_split_extended.gzip.parquet", 200, 0xbad0d80f},
    {"data/column_chunk_key_value_metadata.parquet", 0, 0x00000000},
    {"data/concatenated_gzip_members.parquet", 513, 0xa93aa749},
    {"data/data_index_bloom_encoding_stats.parquet", 14, 0x79edf759},
    {"data/data_index_bloom_encoding_with_length.parquet", 14, 0x79edf759},
    {"data/datapage_v1-snappy-compressed-checksum.parquet", 5120, 0x001500c5},
    {"data/datapage_v1-uncompressed-checksum.parquet", 5120, 0x001500c5},
    {"data/datapage_v2.snappy.parquet", 5, 0xd22b1151},
    {"data/datapage_v2_empty_datapage.snappy.parquet", 1, 0x608fd35e},
    {"data/delta_binary_packed.parquet", 200, 0x62654381},
    {"data/delta_byte_array.parquet", 1000, 0xd62fef3b},
    {"data/delta_encoding_optional_column.parquet", 100, 0xf739ad92},
    {"data/delta_encoding_required_column.parquet", 100, 0x4ec0602d},
    {"data/delta_length_byte_array.parquet", 1000, 0x9e0d9847},
    {"data/dict-page-offset-zero.parquet", 39, 0x5decda1d},
    {"data/fixed_length_byte_array.parquet", 1000, 0xb9907ddd},
    {"data/fixed_length_decimal.parquet", 24, 0x5569c2b8},
    {"data/fixed_length_decimal_legacy.parquet", 24, 0x5569c2b8},
    {"data/float16_nonzeros_and_nans.parquet", 8, 0x744efa04},
    {"data/float16_zeros_and_nans.parquet", 3, 0x03bef185},
    {"data/floating_orders_nan_count.parquet", 50, 0x5d1f8495},
    {"data/geospatial/crs-arbitrary-value.parquet", 1, 0x1ddd86dd},
    {"data/geospatial/crs-default.parquet", 1, 0x4336dbb2},
    {"data/geospatial/crs-geography.parquet", 1, 0x4336dbb2},
    {"data/geospatial/crs-projjson.parquet", 1, 0x1ddd86dd},
    {"data/geospatial/crs-srid.parquet", 1, 0x1ddd86dd},
    {"data/geospatial/geography-lines.parquet", 499, 0x8c0a874b},
    {"data/geospatial/geography-points.parquet", 500, 0x62be47ad},
    {"data/geospatial/geography-polygons.parquet", 500, 0x29119157},
    {"data/geospatial/geospatial-with-nan.parquet", 3, 0x1069987a},
    {"data/geospatial/geospatial.parquet", 196, 0x752e86db},
    {"data/hadoop_lz4_compressed.parquet", 4, 0xdad4db13},
    {"data/hadoop_lz4_compressed_larger.parquet", 10000, 0x23e00ad3},
    {"data/incorrect_map_schema.parquet", 1, 0x3a83c6e8},  // pyarrow refuses optional keys
    {"data/int32_decimal.parquet", 24, 0x5569c2b8},
    {"data/int32_with_null_pages.parquet", 1000, 0xf457fb22},
    {"data/int64_decimal.parquet", 24, 0x5569c2b8},
    {"data/int96_from_spark.parquet", 6, 0xcf9a905c},  // pyarrow's 64-bit nanoseconds overflow
    {"data/list_columns.parquet", 3, 0x5a7e8b40},
    {"data/lz4_raw_compressed.parquet", 4, 0xdad4db13},
    {"data/lz4_raw_compressed_larger.parquet", 10000, 0x23e00ad3},
    {"data/map_no_value.parquet", 3, 0x750efae9},  // pyarrow makes a list of the keys
    {"data/nan_in_stats.parquet", 2, 0x9f3ff552},
    {"data/nation.dict-malformed.parquet", 25, 0x04162aa3},
    {"data/nested_lists.snappy.parquet", 3, 0x3b268470},
    {"data/nested_maps.snappy.parquet", 6, 0xb3a13e2f},
    {"data/nested_structs.rust.parquet", 1, 0x81bb18e0},
    {"data/non_hadoop_lz4_compressed.parquet", 4, 0xdad4db13},
    {"data/nonnullable.impala.parquet", 1, 0x0163e293},
    {"data/null_list.parquet", 1, 0x1e49f680},
    {"data/nullable.impala.parquet", 7, 0x33042971},
    {"data/nulls.snappy.parquet", 8, 0x749e9e1e},
    {"data/old_list_structure.parquet", 1, 0xf3497744},
    {"data/overflow_i16_page_cnt.parquet", 40000, 0xbf56e59e},
    {"data/page_v2_empty_compressed.parquet", 10, 0x18185115},
    {"data/plain-dict-uncompressed-checksum.parquet", 1000, 0x98b9398a},
    {"data/repeated_no_annotation.parquet", 6, 0xde74eb70},
    {"data/repeated_primitive_no_list.parquet", 4, 0xc745928a},
    {"data/rle-dict-snappy-checksum.parquet", 1000, 0xec9d58bd},
    {"data/rle_boolean_encoding.parquet", 68, 0xaf3f1b6e},
    {"data/single_nan.parquet", 1, 0x608fd35e},
    {"data/sort_columns.parquet", 6, 0x6af341a3},
    {"data/unknown-logical-type.parquet", 3, 0x0e21a320},
    {"shredded_variant/case-047.parquet", 1, 0xca20adc9},
    {"shredded_variant/case-048.parquet", 1, 0x3fa00b09},
    {"shredded_variant/case-049.parquet", 1, 0xfa50e608},
    {"shredded_variant/case-050.parquet", 1, 0x4c603858},
    {"shredded_variant/case-051.parquet", 1, 0x1c84c069},
    {"shredded_variant/case-052.parquet", 1, 0x43be29c5},
    {"shredded_variant/case-053.parquet", 1, 0x5b01d53c},
    {"shredded_variant/case-054.parquet", 1, 0xd5e32c84},
    {"shredded_variant/case-055.parquet", 1, 0xbd7a1477},
    {"shredded_variant/case-056.parquet", 1, 0xafe0a744},
    {"shredded_variant/case-057.parquet", 1, 0xd06c24c3},
    {"shredded_variant/case-058.parquet", 1, 0xe1a2159f},
    {"shredded_variant/case-059.parquet", 1, 0xf0292dd0},
    {"shredded_variant/case-060.parquet", 1, 0xdcba9b72},
    {"shredded_variant/case-061.parquet", 1, 0xcd31a33d},
    {"shredded_variant/case-062.parquet", 1, 0x50db49fd},
    {"shredded_variant/case-063.parquet", 1, 0xfd41c5ff},
    {"shredded_variant/case-064.parquet", 1, 0xac6ef99c},
    {"shredded_variant/case-065.parquet", 1, 0x76204479},
    {"shredded_variant/case-066.parquet", 1, 0xbe97fd27},
    {"shredded_variant/case-067.parquet", 1, 0x64d940c2},
    {"shredded_variant/case-068.parquet", 1, 0x80bf0516},
    {"shredded_variant/case-069.parquet", 1, 0x9ff54ffc},
    {"shredded_variant/case-070.parquet", 1, 0x8b09b66e},
    {"shredded_variant/case-071.parquet", 1, 0x8ba5ace0},
    {"shredded_variant/case-072.parquet", 1, 0x0e29c587},
    {"shredded_variant/case-073.parquet", 1, 0x19ac269c},
    {"shredded_variant/case-074.parquet", 1, 0x36084b46},
    {"shredded_variant/case-075.parquet", 1, 0xaf960c54},
    {"shredded_variant/case-076.parquet", 1, 0x4320ebe4},
    {"shredded_variant/case-077.parquet", 1, 0xe350df98},
    {"shredded_variant/case-078.parquet", 1, 0x3320c74a},
    {"shredded_variant/case-079.parquet", 1, 0x02b90b10},
    {"shredded_variant/case-080.parquet", 1, 0xd2c913c2},
    {"shredded_variant/case-081.parquet", 1, 0x1ab09139},
    {"shredded_variant/case-082.parquet", 1, 0x2d30bed9},
};

typedef struct refused_file {
  const char *name;
  tarn_status status;
  const char *message; /* a part of it */
} refused_file;

static const refused_file refused_files[] = {
    {"bad_data/ARROW-GH-41317.parquet", TARN_E_CORRUPT, "ends after 0 rows of a row group of 3"},
    {"bad_data/ARROW-GH-41321.parquet", TARN_E_CORRUPT, "dictionary codes of more than 32 bits"},
    {"bad_data/ARROW-GH-45185.parquet", TARN_E_CORRUPT, "it begins within a row"},
    {"bad_data/ARROW-GH-47662.parquet", TARN_E_CORRUPT,
     "fewer values (PLAIN) than its 100 entries call for"},
    {"bad_data/ARROW-RS-GH-6229-DICTHEADER.parquet", TARN_E_CORRUPT, "are outside of the data"},
    {"bad_data/ARROW-RS-GH-6229-LEVELS.parquet", TARN_E_CORRUPT,
     "21 values so far, the column has 1"},
    {"bad_data/PARQUET-1481.parquet", TARN_E_CORRUPT,
     "column `Handle` has unknown physical type -7"},
    {"data/datapage_v1-corrupt-checksum.parquet", TARN_E_CORRUPT,
     "column `a`: page at offset 4: CRC-32 is 0f4f6d0a, the header says bbce3b9d"},
    {"data/encrypt_columns_and_footer.parquet.encrypted", TARN_E_UNSUPPORTED,
     "encrypted Parquet is not supported"},
    {"data/encrypt_columns_and_footer_aad.parquet.encrypted", TARN_E_UNSUPPORTED,
     "encrypted Parquet is not supported"},
    {"data/encrypt_columns_and_footer_bloom_filter.parquet.encrypted", TARN_E_UNSUPPORTED,
     "encrypted Parquet is not supported"},
    {"data/encrypt_columns_and_footer_ctr.parquet.encrypted", TARN_E_UNSUPPORTED,
     "encrypted Parquet is not supported"},
    {"data/encrypt_columns_and_footer_disable_aad_storage.parquet.encrypted", TARN_E_UNSUPPORTED,
     "encrypted Parquet is not supported"},
    {"data/encrypt_columns_plaintext_footer.parquet.encrypted", TARN_E_UNSUPPORTED,
     "encrypted Parquet is not supported"},
    {"data/external_key_material_java.parquet.encrypted", TARN_E_UNSUPPORTED,
     "encrypted Parquet is not supported"},
    {"data/large_string_map.brotli.parquet", TARN_E_LIMIT, "needs 1073745920 bytes more"},
    {"data/rle-dict-uncompressed-corrupt-checksum.parquet", TARN_E_CORRUPT,
     "column `long_field`: page at offset 4: CRC-32 is 6522df69"},
    {"data/uniform_encryption.parquet.encrypted", TARN_E_UNSUPPORTED,
     "encrypted Parquet is not supported"},
};

static const char *folder(void) {
  const char *path = getenv("TARN_PARQUET_TESTING");
  if (path == NULL || *path == '\0') {
    printf("skipped: TARN_PARQUET_TESTING is not set\n");
    skip();
  }
  return path;
}

static tarn_status read_file(format_test *t, const char *name, const rows_request *request,
                             rows_text *rows, tarn_error *err) {
  const char *path = tn_arena_printf(&t->arena, "%s/%s", folder(), name);
  tn_format_file *file;
  tarn_status st;
  TN_TRY(tn_format_open(t->env, t->storage, &tn_parquet_format, path, &file, err));
  st = read_rows(t, file, request, rows, err);
  tn_format_file_release(file);
  return st;
}

static void check_good(const rows_request *request) {
  for (size_t i = 0; i < TN_COUNT(good_files); i++) {
    const good_file *g = &good_files[i];
    format_test t;
    tarn_error err;
    rows_text rows;
    format_test_begin(&t);
    assert_works(read_file(&t, g->name, request, &rows, &err), err);
    if (rows.n != g->n_rows || rows_crc(&rows) != g->crc) {
      fail_msg("%s: %lld rows with CRC 0x%08x, expected %lld with 0x%08x", g->name,
               (long long)rows.n, (unsigned)rows_crc(&rows), (long long)g->n_rows,
               (unsigned)g->crc);
    }
    format_test_end(&t);
  }
}

static void parquet_testing__gives_the_expected_rows(void **state) {
  rows_request request = {0};
  (void)state;
  (void)folder();
  check_good(&request);
}

static void parquet_testing__gives_the_expected_rows_encoded_in_small_batches(void **state) {
  rows_request request = {0};
  (void)state;
  (void)folder();
  request.allows_encoded = true;
  request.batch_rows = 7;
  check_good(&request);
}

/* Every third row, and runs of five. */
static void parquet_testing__gives_the_same_rows_by_ranges(void **state) {
  (void)state;
  (void)folder();
  for (size_t i = 0; i < TN_COUNT(good_files); i++) {
    const good_file *g = &good_files[i];
    format_test t;
    tarn_error err;
    rows_text all, some;
    rows_request request = {0};
    tn_ranges rows;
    int64_t at = 0;
    format_test_begin(&t);
    tn_ranges_init(&rows, &t.env->mem);
    for (int64_t row = 1; row < g->n_rows; row += row % 7 == 0 ? 8 : 3) {
      int64_t end = row % 7 == 0 ? row + 5 : row + 1;
      assert_works(tn_ranges_add(&rows, row, end < g->n_rows ? end : g->n_rows, &err), err);
    }
    assert_works(read_file(&t, g->name, &request, &all, &err), err);
    request.rows = &rows;
    assert_works(read_file(&t, g->name, &request, &some, &err), err);
    assert_int_equal(some.n, tn_ranges_rows(&rows));
    for (size_t k = 0; k < rows.count; k++) {
      for (int64_t row = rows.items[k].begin; row < rows.items[k].end; row++, at++) {
        assert_int_equal(some.positions[at], row);
        assert_string_equal(some.lines[at], all.lines[row]);
      }
    }
    tn_ranges_reset(&rows);
    format_test_end(&t);
  }
}

static void check_refused(const char *name, tarn_status status, const char *message) {
  format_test t;
  tarn_error err;
  rows_text rows;
  rows_request request = {0};
  format_test_begin(&t);
  if (read_file(&t, name, &request, &rows, &err) != status) {
    fail_msg("%s is not refused as %s", name, tarn_status_name(status));
  }
  assert_contains(err.message, name);
  assert_contains(err.message, message);
  format_test_end(&t);
}

static void parquet_testing__refuses_what_it_must(void **state) {
  (void)state;
  (void)folder();
  for (size_t i = 0; i < TN_COUNT(refused_files); i++) {
    check_refused(refused_files[i].name, refused_files[i].status, refused_files[i].message);
  }
}

static bool is_good(const char *name) {
  for (size_t i = 0; i < TN_COUNT(good_files); i++) {
    if (strcmp(good_files[i].name, name) == 0) {
      return true;
    }
  }
  return false;
}

/* Variants that have a typed_value somewhere are refused by name. */
static void parquet_testing__refuses_shredded_variants(void **state) {
  int64_t n_refused = 0;
  (void)state;
  (void)folder();
  for (int i = 1; i <= 138; i++) {
    char name[64], path[4096];
    snprintf(name, sizeof(name), "shredded_variant/case-%03d.parquet", i);
    snprintf(path, sizeof(path), "%s/%s", folder(), name);
    FILE *file = fopen(path, "rb");
    if (file != NULL) {
      fclose(file);
      if (!is_good(name)) {
        check_refused(name, TARN_E_UNSUPPORTED, "shredded VARIANT");
        n_refused++;
      }
    }
  }
  assert_int_equal(n_refused, 98);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parquet_testing__gives_the_expected_rows),
      cmocka_unit_test(parquet_testing__gives_the_expected_rows_encoded_in_small_batches),
      cmocka_unit_test(parquet_testing__gives_the_same_rows_by_ranges),
      cmocka_unit_test(parquet_testing__refuses_what_it_must),
      cmocka_unit_test(parquet_testing__refuses_shredded_variants),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
