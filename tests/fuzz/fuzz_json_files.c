/* room: model */
/* Snapshots, schemas and statistics: what was read is written as Java writes it, and settles. The
 * first byte tells which.
 */
#include <stdlib.h>

#include "model/schema_write.h"
#include "model/snapshot_write.h"
#include "model/statistics.h"

static tarn_env *env;

static void must(bool holds) {
  if (!holds) {
    abort();
  }
}

typedef tarn_status (*rewrite_fn)(tn_arena *arena, tn_slice json, tn_buf *out);

static tarn_status rewrite_snapshot(tn_arena *arena, tn_slice json, tn_buf *out) {
  tn_snapshot s;
  TN_TRY(tn_snapshot_decode(&env->mem, arena, json, "f", &s, NULL));
  return tn_snapshot_encode(&s, out, NULL);
}

static tarn_status rewrite_schema(tn_arena *arena, tn_slice json, tn_buf *out) {
  tn_schema *s = NULL;
  tarn_status st;
  (void)arena;
  TN_TRY(tn_schema_decode(env, json, "f", &s, NULL));
  st = tn_schema_encode(s, out, NULL);
  tn_schema_release(s);
  return st;
}

static tarn_status rewrite_statistics(tn_arena *arena, tn_slice json, tn_buf *out) {
  tn_statistics s;
  TN_TRY(tn_statistics_decode(&env->mem, arena, json, "f", &s, NULL));
  return tn_statistics_encode(&s, out, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const rewrite_fn REWRITES[] = {rewrite_snapshot, rewrite_schema, rewrite_statistics};
  rewrite_fn rewrite;
  tn_arena arena;
  tn_buf first, second;
  if (env == NULL) {
    must(tarn_env_create(NULL, &env, NULL) == TARN_OK);
  }
  if (size == 0) {
    return 0;
  }
  rewrite = REWRITES[data[0] % TN_COUNT(REWRITES)];
  tn_arena_init(&arena, &env->mem, (size_t)64 << 20);
  tn_buf_init(&first, &env->mem, (size_t)64 << 20);
  tn_buf_init(&second, &env->mem, (size_t)64 << 20);
  if (rewrite(&arena, tn_slice_of(data + 1, size - 1), &first) == TARN_OK) {
    must(rewrite(&arena, tn_buf_slice(&first), &second) == TARN_OK);
    must(tn_slice_equal(tn_buf_slice(&first), tn_buf_slice(&second)));
  }
  tn_buf_reset(&second);
  tn_buf_reset(&first);
  tn_arena_reset(&arena);
  return 0;
}
