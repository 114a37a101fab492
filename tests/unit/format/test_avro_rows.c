/* Avro data files as batches: the columns and rows that are wanted, damage, need. */
#include "unit/format/avro_reading.h"

#include "support/torture.h"

/* ------------------------------------------------------------------ columns */

static void avro_rows__steps_over_columns_that_nobody_wants(void **state) {
  static const char *const COLUMNS[] = {"b STRING", "a INT", NULL};
  avro_bytes file = {0}, rows = {0};
  avro_many_rows(&rows, 4);
  avro_one_block(&file, AVRO_RECORD(AVRO_MANY), 4, &rows);
  avro_expect(&(avro_reading){.bytes = avro_slice(&file), .columns = COLUMNS},
              "@0 ('e', 0) ('o', 10) ('e', 20) ('o', 30)\n");
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

static void avro_rows__gives_null_for_columns_that_the_file_lacks(void **state) {
  static const char *const COLUMNS[] = {"lost STRING", "a INT", "gone ROW<x INT>", NULL};
  avro_bytes file = {0}, rows = {0};
  avro_long(&rows, 1);
  avro_long(&rows, 2);
  avro_one_block(&file, AVRO_RECORD("a 'int'"), 2, &rows);
  avro_expect(&(avro_reading){.bytes = avro_slice(&file), .columns = COLUMNS},
              "@0 (null, 1, null) (null, 2, null)\n");
  avro_expect(
      &(avro_reading){.bytes = avro_slice(&file), .columns = COLUMNS, .allows_encoded = true},
      "@0 const const (null, 1, null) (null, 2, null)\n");
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

static void avro_rows__refuses_one_column_twice(void **state) {
  static const char *const COLUMNS[] = {"a INT", "a INT", NULL};
  avro_bytes file = {0}, rows = {0};
  avro_long(&rows, 1);
  avro_one_block(&file, AVRO_RECORD("a 'int'"), 1, &rows);
  avro_expect_failure(&(avro_reading){.bytes = avro_slice(&file), .columns = COLUMNS},
                      TARN_E_INVALID, "column a is asked for twice");
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

/* Files of releases before 1.1: each row begins with the branch of the root. */
static void avro_rows__reads_a_root_that_is_a_union(void **state) {
  avro_bytes file = {0}, rows = {0};
  avro_long(&rows, 1);
  avro_long(&rows, 11);
  avro_long(&rows, 1);
  avro_long(&rows, 12);
  avro_one_block(&file, AVRO_NULLABLE_RECORD("a 'int'"), 2, &rows);
  avro_expect(&(avro_reading){.bytes = avro_slice(&file)}, "@0 (11) (12)\n");
  file.len = 0;
  avro_long(&rows, 0);
  avro_one_block(&file, AVRO_NULLABLE_RECORD("a 'int'"), 1, &rows);
  avro_expect_failure(&(avro_reading){.bytes = avro_slice(&file)}, TARN_E_CORRUPT,
                      "a row that is null");
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

/* ------------------------------------------------------------------ rows */

/* Blocks of 3, 0, 4 and 5 rows; a is the position times 10. */
static void four_blocks(avro_bytes *file, const char *codec) {
  avro_bytes rows = {0};
  static const int COUNTS[] = {3, 0, 4, 5};
  int n = 0;
  avro_begin(file, AVRO_RECORD("a 'int'"), codec);
  for (size_t i = 0; i < TN_COUNT(COUNTS); i++) {
    for (int k = 0; k < COUNTS[i]; k++) {
      avro_long(&rows, 10 * n++);
    }
    avro_block(file, codec, COUNTS[i], &rows);
  }
  avro_free(&rows);
}

static void avro_rows__reads_blocks_of_every_codec(void **state) {
  static const char *const CODECS[] = {"null", "deflate", "snappy", "zstandard"};
  for (size_t i = 0; i < TN_COUNT(CODECS); i++) {
    avro_bytes file = {0};
    four_blocks(&file, CODECS[i]);
    avro_expect(&(avro_reading){.bytes = avro_slice(&file)},
                "@0 (0) (10) (20) (30) (40) (50) (60) (70) (80) (90) (100) (110)\n");
    avro_free(&file);
  }
  (void)state;
}

static void avro_rows__cuts_batches_at_their_size(void **state) {
  avro_bytes file = {0};
  four_blocks(&file, "zstandard");
  avro_expect(&(avro_reading){.bytes = avro_slice(&file), .batch_rows = 5},
              "@0 (0) (10) (20) (30) (40)\n@5 (50) (60) (70) (80) (90)\n@10 (100) (110)\n");
  avro_free(&file);
  (void)state;
}

static void avro_rows__gives_wanted_rows_with_their_positions(void **state) {
  static const tn_range RANGES[] = {{1, 2}, {6, 9}, {11, 40}};
  static const tn_range LATE[] = {{50, 60}};
  avro_bytes file = {0};
  four_blocks(&file, "snappy");
  avro_expect(&(avro_reading){.bytes = avro_slice(&file), .ranges = RANGES, .n_ranges = 3},
              "@1 (10)\n@6 (60) (70) (80)\n@11 (110)\n");
  avro_expect(
      &(avro_reading){.bytes = avro_slice(&file), .ranges = RANGES, .n_ranges = 3, .batch_rows = 2},
      "@1 (10)\n@6 (60) (70)\n@8 (80)\n@11 (110)\n");
  avro_expect(&(avro_reading){.bytes = avro_slice(&file), .ranges = LATE, .n_ranges = 1}, "");
  avro_free(&file);
  (void)state;
}

static void avro_rows__skips_rows(void **state) {
  static const tn_range RANGES[] = {{1, 3}, {6, 9}};
  avro_bytes file = {0};
  four_blocks(&file, "null");
  avro_expect(&(avro_reading){.bytes = avro_slice(&file), .skip_first = 9},
              "@9 (90) (100) (110)\n");
  avro_expect(
      &(avro_reading){.bytes = avro_slice(&file), .ranges = RANGES, .n_ranges = 2, .skip_first = 3},
      "@7 (70) (80)\n");
  avro_expect(&(avro_reading){.bytes = avro_slice(&file), .skip_first = 100}, "");
  avro_free(&file);
  (void)state;
}

static void avro_rows__does_not_read_blocks_without_a_wanted_row(void **state) {
  static const tn_range FIRST[] = {{0, 3}};
  avro_bytes file = {0};
  four_blocks(&file, "null");
  memset(file.data + file.len - 16 - 5, 0x80, 5); /* the last block's values */
  avro_expect(&(avro_reading){.bytes = avro_slice(&file), .ranges = FIRST, .n_ranges = 1},
              "@0 (0) (10) (20)\n");
  avro_expect_failure(&(avro_reading){.bytes = avro_slice(&file)}, TARN_E_CORRUPT,
                      "Avro block at offset");
  avro_free(&file);
  (void)state;
}

static void avro_rows__counts_rows_without_reading_them(void **state) {
  static const char *const NONE[] = {NULL};
  avro_bytes file = {0};
  four_blocks(&file, "null");
  avro_expect(&(avro_reading){.bytes = avro_slice(&file), .columns = NONE, .batch_rows = 10},
              "@0 () () () () () () () () () ()\n@10 () ()\n");
  avro_free(&file);
  (void)state;
}

static void avro_rows__reads_a_file_without_blocks(void **state) {
  avro_bytes file = {0};
  avro_begin(&file, AVRO_RECORD("a 'int'"), NULL);
  avro_expect(&(avro_reading){.bytes = avro_slice(&file)}, "");
  avro_free(&file);
  (void)state;
}

/* ------------------------------------------------------------------ damage and need */

/* Every byte of a small file changed, every length cut: an answer or an error, never a crash. */
static void avro_rows__survives_damage_of_every_byte(void **state) {
  static const char *const CODECS[] = {"null", "snappy", "zstandard"};
  static const char *const COLUMNS[] = {"b STRING", "skip4 ARRAY<MAP<STRING, BOOLEAN>>", "a INT",
                                        "skip6 STRING", NULL};
  tarn_env *env = avro_env();
  shown *out = malloc(sizeof(*out));
  assert_non_null(out);
  for (size_t c = 0; c < TN_COUNT(CODECS); c++) {
    avro_bytes file = {0}, rows = {0};
    avro_begin(&file, AVRO_RECORD(AVRO_MANY), CODECS[c]);
    avro_many_rows(&rows, 2);
    avro_block(&file, CODECS[c], 2, &rows);
    for (size_t i = 0; i < file.len; i++) {
      static const uint8_t FLIPS[] = {0x01, 0x80, 0xff};
      for (size_t k = 0; k < TN_COUNT(FLIPS); k++) {
        tarn_error err = {0};
        tarn_status st;
        file.data[i] ^= FLIPS[k];
        st = avro_read_text(env, &(avro_reading){.bytes = avro_slice(&file), .columns = COLUMNS},
                            out, &err);
        assert_true(st == TARN_OK || st == TARN_E_CORRUPT || st == TARN_E_UNSUPPORTED ||
                    st == TARN_E_LIMIT);
        assert_true(st == TARN_OK || err.message[0] != '\0');
        file.data[i] ^= FLIPS[k];
      }
    }
    for (size_t n = 0; n < file.len; n++) {
      tarn_error err = {0};
      tarn_status st = avro_read_text(
          env, &(avro_reading){.bytes = tn_slice_of(file.data, n), .columns = COLUMNS}, out, &err);
      /* Cut behind the header is a whole file without rows. */
      assert_true(st == TARN_E_CORRUPT || (st == TARN_OK && out->len == 0));
    }
    avro_free(&file);
    avro_free(&rows);
  }
  free(out);
  tarn_env_free(env);
  (void)state;
}

static tarn_status read_in_need(void *ctx, tarn_env *env, tarn_error *err) {
  static shown out;
  return avro_read_text(env, ctx, &out, err);
}

static void avro_rows__survives_any_failed_allocation(void **state) {
  static const char *const COLUMNS[] = {"m MAP<STRING, BIGINT>", "r ROW<x INT, y STRING>", NULL};
  avro_bytes file = {0}, rows = {0};
  avro_reading q = {.columns = COLUMNS, .batch_rows = 64};
  tarn_env *env = avro_env(); /* the wanted columns are made without need */
  tn_arena arena;
  tn_arena_init(&arena, &env->mem, SIZE_MAX);
  assert_int_equal(avro_columns(&q, &arena, &q.fields, &q.n_fields, NULL), TARN_OK);
  q.columns = NULL;
  for (int i = 0; i < 200; i++) {
    avro_long(&rows, 1);
    avro_text(&rows, "key of some length");
    avro_long(&rows, i);
    avro_long(&rows, 0);
    avro_long(&rows, i % 2);
    if (i % 2 == 1) {
      avro_long(&rows, i);
    }
  }
  avro_begin(
      &file,
      AVRO_RECORD("m {'type':'map','values':'long'}",
                  "r ['null',{'type':'record','name':'r','fields':[{'name':'x','type':'int'}]}]"),
      "zstandard");
  avro_block(&file, "zstandard", 200, &rows);
  q.bytes = avro_slice(&file);
  assert_true(tn_torture(read_in_need, &q, TARN_OK) > 20);
  tn_arena_reset(&arena);
  tarn_env_free(env);
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(avro_rows__steps_over_columns_that_nobody_wants),
      cmocka_unit_test(avro_rows__gives_null_for_columns_that_the_file_lacks),
      cmocka_unit_test(avro_rows__refuses_one_column_twice),
      cmocka_unit_test(avro_rows__reads_a_root_that_is_a_union),
      cmocka_unit_test(avro_rows__reads_blocks_of_every_codec),
      cmocka_unit_test(avro_rows__cuts_batches_at_their_size),
      cmocka_unit_test(avro_rows__gives_wanted_rows_with_their_positions),
      cmocka_unit_test(avro_rows__skips_rows),
      cmocka_unit_test(avro_rows__does_not_read_blocks_without_a_wanted_row),
      cmocka_unit_test(avro_rows__counts_rows_without_reading_them),
      cmocka_unit_test(avro_rows__reads_a_file_without_blocks),
      cmocka_unit_test(avro_rows__survives_damage_of_every_byte),
      cmocka_unit_test(avro_rows__survives_any_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
