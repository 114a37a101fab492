/* room: model */
/* Commit messages and committables of every version; what was read is written and read again. The
 * first byte tells which: a version, and from 128 on one of a committable.
 */
#include <stdlib.h>

#include "model/commit_message.h"

static void must(bool holds) {
  if (!holds) {
    abort();
  }
}

/* What was read settles after one round. */
static void fuzz_message(tn_slice bytes, int32_t version, tn_arena *arena, tn_buf *first,
                         tn_buf *second) {
  tn_commit_message m;
  if (tn_commit_message_decode(bytes, version, arena, &m, NULL) != TARN_OK ||
      tn_commit_message_encode(&m, first, NULL) != TARN_OK) {
    return;
  }
  must(tn_commit_message_decode(tn_buf_slice(first), TN_COMMIT_MESSAGE_VERSION, arena, &m, NULL) ==
       TARN_OK);
  must(tn_commit_message_encode(&m, second, NULL) == TARN_OK);
  must(tn_slice_equal(tn_buf_slice(first), tn_buf_slice(second)));
}

static void fuzz_committable(tn_slice bytes, int32_t version, tn_arena *arena, tn_buf *first,
                             tn_buf *second) {
  tn_committable c;
  if (tn_committable_decode(bytes, version, arena, &c, NULL) != TARN_OK ||
      tn_committable_encode(&c, first, NULL) != TARN_OK) {
    return;
  }
  must(tn_committable_decode(tn_buf_slice(first), TN_COMMITTABLE_VERSION, arena, &c, NULL) ==
       TARN_OK);
  must(tn_committable_encode(&c, second, NULL) == TARN_OK);
  must(tn_slice_equal(tn_buf_slice(first), tn_buf_slice(second)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static tarn_env *env;
  tn_arena arena;
  tn_buf first, second;
  if (env == NULL) {
    must(tarn_env_create(NULL, &env, NULL) == TARN_OK);
  }
  if (size == 0) {
    return 0;
  }
  tn_arena_init(&arena, &env->mem, (size_t)64 << 20);
  tn_buf_init(&first, &env->mem, (size_t)64 << 20);
  tn_buf_init(&second, &env->mem, (size_t)64 << 20);
  if (data[0] < 128) {
    fuzz_message(tn_slice_of(data + 1, size - 1), data[0], &arena, &first, &second);
  } else {
    fuzz_committable(tn_slice_of(data + 1, size - 1), data[0] - 128, &arena, &first, &second);
  }
  tn_buf_reset(&second);
  tn_buf_reset(&first);
  tn_arena_reset(&arena);
  return 0;
}
