/* room: model */
/* The JSON of snapshots, tags and changelogs. */
#include "base/env.h"
#include "model/snapshot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tarn_env *env;
  tarn_error err;
  tn_arena arena;
  tn_snapshot snapshot;
  if (tarn_env_create(NULL, &env, NULL) != TARN_OK) {
    return 0;
  }
  tn_arena_init(&arena, &env->mem, SIZE_MAX);
  if (tn_snapshot_decode(&env->mem, &arena, tn_slice_of(data, size), "f", &snapshot, &err) ==
          TARN_OK &&
      (snapshot.base_manifest_list == NULL || snapshot.delta_manifest_list == NULL ||
       tn_commit_kind_name(snapshot.commit_kind) == NULL)) {
    __builtin_trap();
  }
  tn_arena_reset(&arena);
  tarn_env_free(env);
  return 0;
}
