/* test_cli_rows.c - rows in every output format. */
#include "rows.h"

#include <unistd.h>

#include "grid.h"
#include "nanoarrow/nanoarrow_ipc.h"
#include "support/test.h"

/* Rows of columns "n" (INT) and "s" (STRING), 5, NULL, -7 and "plain", "a,\"b\"", NULL. */
static void make_rows(struct ArrowSchema *schema, struct ArrowArray *array) {
  ArrowSchemaInit(schema);
  assert_int_equal(ArrowSchemaSetTypeStruct(schema, 2), NANOARROW_OK);
  assert_int_equal(ArrowSchemaSetType(schema->children[0], NANOARROW_TYPE_INT32), NANOARROW_OK);
  assert_int_equal(ArrowSchemaSetName(schema->children[0], "n"), NANOARROW_OK);
  assert_int_equal(ArrowSchemaSetType(schema->children[1], NANOARROW_TYPE_STRING), NANOARROW_OK);
  assert_int_equal(ArrowSchemaSetName(schema->children[1], "s"), NANOARROW_OK);
  assert_int_equal(ArrowArrayInitFromSchema(array, schema, NULL), NANOARROW_OK);
  assert_int_equal(ArrowArrayStartAppending(array), NANOARROW_OK);
  for (int i = 0; i < 3; i++) {
    struct ArrowArray *n = array->children[0], *s = array->children[1];
    static const char *const texts[] = {"plain", "a,\"b\"", NULL};
    assert_int_equal(i == 1 ? ArrowArrayAppendNull(n, 1) : ArrowArrayAppendInt(n, i == 0 ? 5 : -7),
                     NANOARROW_OK);
    assert_int_equal(texts[i] == NULL ? ArrowArrayAppendNull(s, 1)
                                      : ArrowArrayAppendString(s, ArrowCharView(texts[i])),
                     NANOARROW_OK);
    assert_int_equal(ArrowArrayFinishElement(array), NANOARROW_OK);
  }
  assert_int_equal(ArrowArrayFinishBuildingDefault(array, NULL), NANOARROW_OK);
}

/* Print the rows `times` times over; the text stays in the output, which is never written. */
static tarn_status print_rows(const cli_row_style *style, int times, cli_output *output,
                              tarn_error *err) {
  struct ArrowSchema schema;
  struct ArrowArray array;
  cli_rows *rows;
  tarn_status st;
  make_rows(&schema, &array);
  st = cli_rows_begin(NULL, &schema, style, output, &rows, err);
  for (int i = 0; i < times && st == TARN_OK; i++) {
    st = cli_rows_add(rows, &array, err);
  }
  if (st == TARN_OK) {
    st = cli_rows_end(rows, err);
  }
  cli_rows_free(rows);
  array.release(&array);
  return st;
}

/* What comes out, through a pipe. */
static size_t print_to(const cli_row_style *style, int times, char *out, size_t size) {
  cli_output output;
  tarn_error err;
  int ends[2];
  ssize_t n;
  assert_int_equal(pipe(ends), 0);
  cli_output_init(&output, ends[1]);
  assert_works(print_rows(style, times, &output, &err), err);
  close(ends[1]);
  n = read(ends[0], out, size - 1);
  close(ends[0]);
  cli_output_reset(&output);
  assert_true(n >= 0);
  out[n] = '\0';
  return (size_t)n;
}

static void rows__text_formats(void **state) {
  static const struct {
    cli_row_style style;
    int times;
    const char *text;
  } cases[] = {
      {{.format = CLI_FORMAT_JSONL},
       1,
       "{\"n\":5,\"s\":\"plain\"}\n{\"n\":null,\"s\":\"a,\\\"b\\\"\"}\n{\"n\":-7,\"s\":null}\n"},
      {{.format = CLI_FORMAT_JSONL}, 0, ""},
      {{.format = CLI_FORMAT_JSON},
       1,
       "[\n{\"n\":5,\"s\":\"plain\"},\n{\"n\":null,\"s\":\"a,\\\"b\\\"\"},\n"
       "{\"n\":-7,\"s\":null}\n]\n"},
      {{.format = CLI_FORMAT_JSON}, 0, "[]\n"},
      {{.format = CLI_FORMAT_CSV, .has_header = true}, 1, "n,s\n5,plain\n,\"a,\"\"b\"\"\"\n-7,\n"},
      {{.format = CLI_FORMAT_CSV, .null_text = "plain"},
       1,
       "5,\"plain\"\nplain,\"a,\"\"b\"\"\"\n-7,plain\n"},
      {{.format = CLI_FORMAT_CSV, .has_header = true}, 0, "n,s\n"},
      {{.format = CLI_FORMAT_TABLE, .has_header = true},
       1,
       "   n  s\n----  -----\n   5  plain\nNULL  a,\"b\"\n  -7  NULL\n"},
      {{.format = CLI_FORMAT_TABLE, .null_text = "~"}, 1, " 5  plain\n ~  a,\"b\"\n-7  ~\n"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    char out[1024];
    print_to(&cases[i].style, cases[i].times, out, sizeof(out));
    assert_string_equal(out, cases[i].text);
  }
}

static void rows__json_of_several_batches_is_one_list(void **state) {
  const cli_row_style style = {.format = CLI_FORMAT_JSON};
  char out[2048];
  size_t n_commas = 0;
  (void)state;
  print_to(&style, 3, out, sizeof(out));
  for (const char *p = out; (p = strstr(p, ",\n")) != NULL; p++) {
    n_commas++;
  }
  assert_int_equal(n_commas, 8);
  assert_null(strstr(out, "]\n["));
}

static void rows__arrow_is_an_ipc_stream(void **state) {
  const cli_row_style style = {.format = CLI_FORMAT_ARROW};
  static char out[16384];
  size_t n = print_to(&style, 2, out, sizeof(out));
  struct ArrowIpcInputStream input;
  struct ArrowArrayStream stream;
  struct ArrowSchema schema;
  struct ArrowBuffer buffer;
  int64_t n_rows = 0;
  (void)state;
  ArrowBufferInit(&buffer);
  assert_int_equal(ArrowBufferAppend(&buffer, out, (int64_t)n), NANOARROW_OK);
  assert_int_equal(ArrowIpcInputStreamInitBuffer(&input, &buffer), NANOARROW_OK);
  assert_int_equal(ArrowIpcArrayStreamReaderInit(&stream, &input, NULL), NANOARROW_OK);
  assert_int_equal(stream.get_schema(&stream, &schema), NANOARROW_OK);
  assert_int_equal(schema.n_children, 2);
  assert_string_equal(schema.children[1]->name, "s");
  schema.release(&schema);
  for (;;) {
    struct ArrowArray array;
    assert_int_equal(stream.get_next(&stream, &array), NANOARROW_OK);
    if (array.release == NULL) {
      break;
    }
    assert_int_equal(((const int32_t *)array.children[0]->buffers[1])[2], -7);
    assert_int_equal(array.children[1]->null_count, 1);
    n_rows += array.length;
    array.release(&array);
  }
  stream.release(&stream);
  assert_int_equal(n_rows, 6);
}

static void rows__row_kinds_are_text(void **state) {
  static const int8_t kinds[] = {0, 1, 2, 3};
  struct ArrowSchema schema;
  const void *kind_buffers[2] = {NULL, kinds}, *no_buffers[1] = {NULL};
  struct ArrowArray column = {4, 0, 0, 2, 0, kind_buffers, NULL, NULL, NULL, NULL};
  struct ArrowArray *columns[1] = {&column};
  struct ArrowArray batch = {4, 0, 0, 1, 1, no_buffers, columns, NULL, NULL, NULL};
  const cli_row_style style = {.format = CLI_FORMAT_JSONL, .has_kind = true};
  cli_output output;
  cli_rows *rows;
  tarn_error err;
  (void)state;
  cli_output_init(&output, -1);
  ArrowSchemaInit(&schema);
  assert_int_equal(ArrowSchemaSetTypeStruct(&schema, 1), NANOARROW_OK);
  assert_int_equal(ArrowSchemaSetType(schema.children[0], NANOARROW_TYPE_INT8), NANOARROW_OK);
  assert_int_equal(ArrowSchemaSetName(schema.children[0], "_row_kind"), NANOARROW_OK);
  assert_works(cli_rows_begin(NULL, &schema, &style, &output, &rows, &err), err);
  assert_works(cli_rows_add(rows, &batch, &err), err);
  cli_text_char(&output.pending, '\0');
  assert_string_equal(output.pending.data,
                      "{\"_row_kind\":\"+I\"}\n{\"_row_kind\":\"-U\"}\n"
                      "{\"_row_kind\":\"+U\"}\n{\"_row_kind\":\"-D\"}\n");
  cli_rows_free(rows);
  cli_output_reset(&output);
}

static void rows__a_failed_write_is_an_error(void **state) {
  const cli_row_style style = {.format = CLI_FORMAT_JSONL};
  cli_output output;
  tarn_error err;
  (void)state;
  cli_output_init(&output, -1);
  assert_int_equal(print_rows(&style, 1, &output, &err), TARN_E_IO);
  assert_contains(err.message, "standard output");
  assert_int_equal(output.state, CLI_OUTPUT_FAILED);
  cli_output_reset(&output);
}

static void output__drops_what_has_not_left(void **state) {
  cli_output output;
  char out[64];
  int ends[2];
  (void)state;
  assert_int_equal(pipe(ends), 0);
  cli_output_init(&output, ends[1]);
  cli_text_puts(&output.pending, "a row\n");
  assert_true(cli_output_row(&output)); /* too little to leave */
  cli_output_drop(&output);
  assert_true(cli_output_flush(&output));
  close(ends[1]);
  assert_int_equal(read(ends[0], out, sizeof(out)), 0);
  close(ends[0]);
  cli_output_reset(&output);
}

/* ------------------------------------------------------------------ grid */

static void grid__cuts_wide_cells_for_a_terminal(void **state) {
  cli_grid grid;
  cli_text out = {0};
  (void)state;
  assert_true(cli_grid_init(&grid, 2));
  grid.max_width = 30;
  cli_grid_add(&grid, "id", 2, CLI_STYLE_HEADER);
  cli_grid_add(&grid, "text", 4, CLI_STYLE_HEADER);
  cli_grid_rule(&grid);
  cli_grid_add(&grid, "12345", 5, CLI_STYLE_PLAIN);
  cli_grid_add(&grid, "0123456789012345678901234567890123456789", 40, CLI_STYLE_PLAIN);
  cli_grid_print(&grid, &out);
  cli_text_char(&out, '\0');
  assert_string_equal(out.data,
                      "id     text\n-----  -----------------------\n"
                      "12345  0123456789012345678901\xE2\x80\xA6\n");
  cli_grid_reset(&grid);
  cli_text_reset(&out);
}

static void grid__counts_columns_not_bytes(void **state) {
  cli_grid grid;
  cli_text out = {0};
  (void)state;
  assert_true(cli_grid_init(&grid, 2));
  cli_grid_add(&grid, "\xE6\xBC\xA2\xE5\xAD\x97", 6, CLI_STYLE_PLAIN);
  cli_grid_add(&grid, "x", 1, CLI_STYLE_PLAIN);
  cli_grid_add(&grid, "abcd", 4, CLI_STYLE_PLAIN);
  cli_grid_add(&grid, "y", 1, CLI_STYLE_PLAIN);
  cli_grid_print(&grid, &out);
  cli_text_char(&out, '\0');
  assert_string_equal(out.data, "\xE6\xBC\xA2\xE5\xAD\x97  x\nabcd  y\n");
  cli_grid_reset(&grid);
  cli_text_reset(&out);
}

static void grid__colors_do_not_count(void **state) {
  cli_grid grid;
  cli_text out = {0};
  (void)state;
  assert_true(cli_grid_init(&grid, 1));
  grid.has_colors = true;
  grid.columns[0].is_right = true;
  cli_grid_add(&grid, "n", 1, CLI_STYLE_HEADER);
  cli_grid_add(&grid, "NULL", 4, CLI_STYLE_NULL);
  cli_grid_print(&grid, &out);
  cli_text_char(&out, '\0');
  assert_string_equal(out.data, "   \x1b[1mn\x1b[0m\n\x1b[2mNULL\x1b[0m\n");
  cli_grid_reset(&grid);
  cli_text_reset(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows__text_formats),
      cmocka_unit_test(rows__json_of_several_batches_is_one_list),
      cmocka_unit_test(rows__arrow_is_an_ipc_stream),
      cmocka_unit_test(rows__row_kinds_are_text),
      cmocka_unit_test(rows__a_failed_write_is_an_error),
      cmocka_unit_test(output__drops_what_has_not_left),
      cmocka_unit_test(grid__cuts_wide_cells_for_a_terminal),
      cmocka_unit_test(grid__counts_columns_not_bytes),
      cmocka_unit_test(grid__colors_do_not_count),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
