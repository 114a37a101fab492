/* rows_text.h - the rows of a data file as lines of text, to compare with what another reader gave.
 *
 * A line is a JSON array with an item a column: true, 1, "text", null; FLOAT as %.9g and DOUBLE as
 * %.17g (bare nan and inf); DECIMAL as "1.50"; DATE, TIME and TIMESTAMP as the integers that are in
 * the vector; binary as "hex"; ARRAY as [...], MAP and MULTISET as [[key, value], ...] in stored
 * order, ROW as [...], VARIANT as its JSON text. data/make.py writes the same.
 */
#ifndef TN_TESTS_FORMAT_ROWS_TEXT_H
#define TN_TESTS_FORMAT_ROWS_TEXT_H

#include "format/format.h"

/* An environment, and files of one folder of it. Failures are cmocka's. */
typedef struct format_test {
  tarn_env *env;
  tn_storage *storage; /* local */
  tn_storage *memory;
  tn_arena arena; /* of fields and texts */
  int n_files;    /* put into memory */
} format_test;

void format_test_begin(format_test *t);
void format_test_end(format_test *t); /* also checks that no memory of the budget is held */

/* A test with a format_test, which is begun before it and ended behind it. */
#define format_unit_test(t, test) \
  cmocka_unit_test_prestate_setup_teardown(test, format_test_set_up, format_test_tear_down, (t))
int format_test_set_up(void **state);
int format_test_tear_down(void **state);

/* Files under tests/unit/format/data. */
const char *data_path(format_test *t, const char *name);
tn_format_file *must_open(format_test *t, const tn_format_ops *format, const char *path);
/* Bytes as a file in memory, whose name is given to messages. */
tarn_status open_bytes(format_test *t, const tn_format_ops *format, tn_slice bytes,
                       tn_format_file **out, tarn_error *err);
/* The fields of "ROW<a INT, b STRING>", ids from 0 on. */
const tn_field *sql_fields(format_test *t, const char *row, int32_t *n_fields);
/* The file's own columns. */
const tn_field *must_schema(format_test *t, tn_format_file *file, int32_t *n_fields);

/* How to read. All zero: everything, flat. */
typedef struct rows_request {
  const tn_field *fields; /* NULL: the file's own */
  int32_t n_fields;
  const tn_ranges *rows;
  bool allows_encoded;
  int64_t batch_rows;
  uint32_t skip_seed; /* not 0: between batches some rows are skipped, by this seed */
} rows_request;

/* Lines, without line ends; all in the test's arena. */
typedef struct rows_text {
  const char **lines;
  int64_t *positions; /* of each row in the file */
  int64_t *ordinals;  /* of each row among the wanted ones, skipped ones counted */
  int64_t n;
} rows_text;

/* Checks each batch on the way: its vectors are sound, it is at most as long as asked for, and its
 * rows are contiguous. */
tarn_status read_rows(format_test *t, tn_format_file *file, const rows_request *request,
                      rows_text *out, tarn_error *err);
/* CRC-32 of the lines, each with a line end. */
uint32_t rows_crc(const rows_text *rows);
/* One row of a vector, appended. */
tarn_status value_text(const tn_vec *vec, int64_t row, tn_buf *out, tarn_error *err);

/* The lines of a text file of the data folder. */
rows_text expected_rows(format_test *t, const char *name);

#endif
