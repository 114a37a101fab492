/* room: plan */
/* Any bytes as a split: decoded, and what was accepted is told as it is, encoded and decoded again.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds) {
  if (!holds) {
    abort();
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static tarn_env *env;
  tarn_error err;
  tn_plan *plan = NULL, *again = NULL;
  tn_arena arena;
  tn_buf first, second;
  if (env == NULL) {
    must(tarn_env_create(NULL, &env, &err) == TARN_OK);
  }
  if (tn_split_decode(env, NULL, tn_slice_of(data, size), &plan, &err) != TARN_OK) {
    return 0;
  }
  tn_arena_init(&arena, &env->mem, (size_t)64 << 20);
  tn_buf_init(&first, &env->mem, (size_t)64 << 20);
  tn_buf_init(&second, &env->mem, (size_t)64 << 20);
  (void)tn_split_row_count(plan->splits);
  for (int32_t i = 0; i < plan->splits->n_files; i++) {
    const char *path;
    must(tn_split_file_path(plan->splits, i, &arena, &path, &err) == TARN_OK);
  }
  // What was read from version 9 or an odd form settles after one round.
  if (tn_split_encode(plan->splits, &first, &err) == TARN_OK) {
    must(tn_split_decode(env, NULL, tn_buf_slice(&first), &again, &err) == TARN_OK);
    must(tn_split_encode(again->splits, &second, &err) == TARN_OK);
    must(tn_slice_equal(tn_buf_slice(&first), tn_buf_slice(&second)));
  }
  tn_buf_reset(&second);
  tn_buf_reset(&first);
  tn_arena_reset(&arena);
  tn_plan_release(again);
  tn_plan_release(plan);
  return 0;
}
