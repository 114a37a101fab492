/* write_test.h - batches to Parquet files in memory, and whether their rows come back. */
#ifndef TN_TESTS_FORMAT_WRITE_TEST_H
#define TN_TESTS_FORMAT_WRITE_TEST_H

#include "format/parquet/write.h"
#include "rows_text.h"
#include "support/random_vec.h"

/* Write all batches and open what came out. */
tarn_status write_file(format_test *t, const tn_write_request *request, const tn_batch *batches,
                       size_t n_batches, tn_format_file **out, tarn_error *err);

/* Read the file back and compare it with the batches, row by row. Failures are cmocka's. */
void check_rows(format_test *t, tn_format_file *file, const tn_field *fields, int32_t n_fields,
                const tn_batch *batches, size_t n_batches, int64_t read_rows, bool allows_encoded);

/* A batch of random rows, flat. */
void random_batch(format_test *t, const tn_field *fields, int32_t n_fields, int64_t n_rows,
                  random_source *r, tn_batch *out);
/* Let columns be DICT, VIEW or CONST; rows change where that is needed. */
void encode_batch(format_test *t, random_source *r, tn_batch *batch);

/* The file's footer as `tarn inspect` tells it, as text in the test's arena. */
const char *inspect_text(format_test *t, tn_format_file *file);

#endif
