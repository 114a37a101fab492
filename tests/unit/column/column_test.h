/* column_test.h - vectors from JSON text and back, for the tests of this room.
 *
 * A text is a JSON array with an item a row: true, 1, 2.5, "text", null; decimals and timestamps of
 * 128 bits as numbers or, from 19 digits on, "digits"; "NaN" for FLOAT and
 * DOUBLE; "hex:00ff" for binary; lists as [...]; MAP entries and ROWs as
 * arrays of their parts.
 */
#ifndef TN_TESTS_COLUMN_TEST_H
#define TN_TESTS_COLUMN_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "column/datum.h"
#include "column/vector.h"

/* An environment, an arena and the parsed types of a test; failures are cmocka's. */
typedef struct column_test {
  tarn_env *env;
  tn_arena arena;
} column_test;

void column_test_begin(column_test *t);
/* Also checks that no budget is held once freed blocks are given back. */
void column_test_end(column_test *t);

/* A test between the two, whose `*state` is the column_test. */
#define column_unit_test(f) \
  cmocka_unit_test_setup_teardown(f, column_test_setup, column_test_teardown)
int column_test_setup(void **state);
int column_test_teardown(void **state);

const tn_type *parse_type(column_test *t, const char *sql);

/* A flat vector; fails with NOMEM like the library (for torture). */
tarn_status build_vec(tarn_env *env, const tn_type *type, const char *json, tn_vec *out,
                      tarn_error *err);
void must_build(column_test *t, const tn_type *type, const char *json, tn_vec *out);

/* The same rows in another encoding: 'f' flat, 'd' dictionary, 'v' views, 'c' constant (row 0 for
 * all rows). `out` is raw memory. */
tarn_status encode_vec(tarn_env *env, const tn_vec *flat, char encoding, tn_vec *out,
                       tarn_error *err);

/* The rows as compact text in the form above; the string is freed by the caller with free(). */
char *vec_text(const tn_vec *vec);
void assert_vec(const tn_vec *vec, const char *expected);

/* The bytes of a hex text without blanks; returns how many. */
size_t from_hex(const char *hex, uint8_t *out);

#endif
