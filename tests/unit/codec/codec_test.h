/* codec_test.h - an environment and a context of codecs, for each test anew. Include once in a
 * program.
 */
#ifndef TN_TESTS_UNIT_CODEC_CODEC_TEST_H
#define TN_TESTS_UNIT_CODEC_CODEC_TEST_H

#include "codec/compress.h"
#include "support/test.h"
#include "support/torture.h"

static tarn_env *env;
static tn_codec_context *context;

static int set_up(void **state) {
  tarn_error err;
  (void)state;
  env = tn_test_env(1, 0);
  assert_works(tn_codec_context_take(env, &context, &err), err);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  tn_codec_context_give(context);
  tarn_env_free(env);
  return 0;
}

#endif
