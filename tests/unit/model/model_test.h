/* model_test.h - what the tests of this room share: an environment, files in memory, files that
 * Java wrote. Failures are cmocka's.
 */
#ifndef TN_TESTS_UNIT_MODEL_MODEL_TEST_H
#define TN_TESTS_UNIT_MODEL_MODEL_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "io/storage.h"

#include <cmocka.h>

#include "support/files.h"
#include "support/torture.h"

/* Made for each test (state of a test is a fixture *). */
typedef struct fixture {
  tarn_env *env;
  tn_storage *storage; /* in memory */
  tn_arena arena;
  tarn_error err;
  char log[4096]; /* what was logged, a line each */
} fixture;

int fixture_setup(void **state);
int fixture_teardown(void **state);

#define MODEL_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

void put_file(fixture *f, const char *path, const char *text);
/* A file of data/, NUL-terminated, in the fixture's arena. */
tn_slice data_file(fixture *f, const char *name);
/* The bytes of a .hex file of data/. */
tn_slice data_hex(fixture *f, const char *name);
/* Bytes of a hex text. */
tn_slice hex(fixture *f, const char *text);
void put_bytes(fixture *f, const char *path, tn_slice bytes);

/* The status is as wanted, and the message has that text in it. */
void expect_error(fixture *f, tarn_status found, tarn_status wanted, const char *message);
void expect_ok(fixture *f, tarn_status found);

#endif
