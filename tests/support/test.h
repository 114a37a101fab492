/* test.h - what each unit test includes: cmocka with what it needs in front.
 */
#ifndef TN_TESTS_SUPPORT_TEST_H
#define TN_TESTS_SUPPORT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A call that must work: its message is shown when it does not. `err` is the tarn_error it fills.
 */
#define assert_works(call, err)                 \
  do {                                          \
    if ((call) != TARN_OK) {                    \
      fail_msg("%s: %s", #call, (err).message); \
    }                                           \
  } while (0)

#define assert_contains(text, part)                        \
  do {                                                     \
    if (strstr((text), (part)) == NULL) {                  \
      fail_msg("\"%s\" is not in \"%s\"", (part), (text)); \
    }                                                      \
  } while (0)

/* For threads that are not the test's own: cmocka's asserts jump and must not be used there. */
#define require_in_thread(condition)                                  \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      abort();                                                        \
    }                                                                 \
  } while (0)

#endif
