/* The files of apache/parquet-testing (third-party data: an archive, unpacked into the folder that
 * the environment variable TARN_PARQUET_TESTING names). What comes of each is told by one table,
 * tests/interop/parquet-testing.txt, which its checker parquet_files holds pyarrow to.
 */
#include "column/variant.h"
#include "format/parquet/parquet.h"
#include "rows_text.h"
#include "support/files.h"
#include "support/test.h"

#define MAX_LINE 4096

typedef struct table_line {
  const char *name, *outcome, *detail;
} table_line;

static const char *folder(void) {
  const char *path = getenv("TARN_PARQUET_TESTING");
  if (path == NULL || *path == '\0') {
    printf("skipped: TARN_PARQUET_TESTING is not set\n");
    skip();
  }
  return path;
}

static const char *field(char **rest) {
  char *start = *rest, *tab = strchr(start, '\t');
  assert_non_null(tab);
  *tab = '\0';
  *rest = tab + 1;
  return start;
}

/* Calls check for each line of an outcome; how many there were. */
static int each_line(const char *outcome, void (*check)(const table_line *line, void *ctx),
                     void *ctx) {
  char text[MAX_LINE];
  int n = 0;
  FILE *f = fopen(TARN_SOURCE_DIR "/tests/interop/parquet-testing.txt", "r");
  assert_non_null(f);
  while (fgets(text, sizeof(text), f) != NULL) {
    char *rest = text;
    table_line line;
    if (*text == '#') {
      continue;
    }
    line.name = field(&rest);
    line.outcome = field(&rest);
    line.detail = field(&rest);
    if (strcmp(line.outcome, outcome) == 0) {
      check(&line, ctx);
      n++;
    }
  }
  fclose(f);
  return n;
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

/* ctx: how to read */
static void check_rows(const table_line *line, void *ctx) {
  char found[64];
  format_test t;
  tarn_error err;
  rows_text rows;
  format_test_begin(&t);
  assert_works(read_file(&t, line->name, ctx, &rows, &err), err);
  snprintf(found, sizeof(found), "%lld %08x", (long long)rows.n, (unsigned)rows_crc(&rows));
  if (strcmp(found, line->detail) != 0) {
    fail_msg("%s: rows and CRC are %s, expected %s", line->name, found, line->detail);
  }
  format_test_end(&t);
}

static void parquet_testing__gives_the_expected_rows(void **state) {
  rows_request request = {0};
  (void)state;
  (void)folder();
  assert_int_equal(each_line("rows", check_rows, &request), 202);
}

static void parquet_testing__gives_the_expected_rows_encoded_in_small_batches(void **state) {
  rows_request request = {0};
  (void)state;
  (void)folder();
  request.allows_encoded = true;
  request.batch_rows = 7;
  assert_int_equal(each_line("rows", check_rows, &request), 202);
}

/* Every third row, and runs of five. */
static void check_ranges(const table_line *line, void *ctx) {
  format_test t;
  tarn_error err;
  rows_text all, some;
  rows_request request = {0};
  tn_ranges rows;
  int64_t at = 0;
  (void)ctx;
  format_test_begin(&t);
  tn_ranges_init(&rows, &t.env->mem);
  assert_works(read_file(&t, line->name, &request, &all, &err), err);
  for (int64_t row = 1; row < all.n; row += row % 7 == 0 ? 8 : 3) {
    int64_t end = row % 7 == 0 ? row + 5 : row + 1;
    assert_works(tn_ranges_add(&rows, row, end < all.n ? end : all.n, &err), err);
  }
  request.rows = &rows;
  assert_works(read_file(&t, line->name, &request, &some, &err), err);
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

static void parquet_testing__gives_the_same_rows_by_ranges(void **state) {
  (void)state;
  (void)folder();
  assert_int_equal(each_line("rows", check_ranges, NULL), 202);
}

static void check_refused(const table_line *line, void *ctx) {
  format_test t;
  tarn_error err;
  rows_text rows;
  rows_request request = {0};
  const char *words = strstr(line->detail, ": ");
  const char *status;
  (void)ctx;
  assert_non_null(words);
  format_test_begin(&t);
  status = tarn_status_name(read_file(&t, line->name, &request, &rows, &err));
  if (strlen(status) != (size_t)(words - line->detail) ||
      strncmp(status, line->detail, strlen(status)) != 0) {
    fail_msg("%s: %s, expected %s", line->name, status, line->detail);
  }
  assert_contains(err.message, line->name);
  assert_contains(err.message, words + 2);
  format_test_end(&t);
}

static void parquet_testing__refuses_what_it_must(void **state) {
  (void)state;
  (void)folder();
  assert_int_equal(each_line("refused", check_refused, NULL), 31);
}

static void check_variant(const table_line *line, void *ctx) {
  format_test t;
  tarn_error err;
  tn_buf metadata, value, json;
  const char *path;
  (void)ctx;
  format_test_begin(&t);
  tn_buf_init(&metadata, &t.env->mem, 1 << 20);
  tn_buf_init(&value, &t.env->mem, 1 << 20);
  tn_buf_init(&json, &t.env->mem, 1 << 20);
  path = tn_arena_printf(&t.arena, "%s/%s", folder(), line->name);
  assert_works(tn_storage_read_all(t.storage, path, &value, &err), err);
  path = tn_arena_printf(&t.arena, "%.*s.metadata", (int)(strlen(path) - strlen(".value")), path);
  assert_works(tn_storage_read_all(t.storage, path, &metadata, &err), err);
  assert_works(tn_variant_to_json(tn_buf_slice(&metadata), tn_buf_slice(&value), NULL, &json, &err),
               err);
  assert_works(tn_buf_append(&json, "", 1, &err), err);
  assert_string_equal((const char *)json.data, line->detail);
  tn_buf_reset(&json);
  tn_buf_reset(&value);
  tn_buf_reset(&metadata);
  format_test_end(&t);
}

static void parquet_testing__prints_the_expected_variants(void **state) {
  (void)state;
  (void)folder();
  assert_int_equal(each_line("json", check_variant, NULL), 29);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parquet_testing__gives_the_expected_rows),
      cmocka_unit_test(parquet_testing__gives_the_expected_rows_encoded_in_small_batches),
      cmocka_unit_test(parquet_testing__gives_the_same_rows_by_ranges),
      cmocka_unit_test(parquet_testing__refuses_what_it_must),
      cmocka_unit_test(parquet_testing__prints_the_expected_variants),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
