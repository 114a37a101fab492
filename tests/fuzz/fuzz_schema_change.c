/* room: model */
/* A new table and changes of it, as users write them: the first line is the schema, the second one
 * the changes. What is taken must be written, and read again as the same. */
#include <stdlib.h>

#include "base/env.h"
#include "model/schema_check.h"
#include "model/schema_json_in.h"
#include "model/schema_write.h"

/* Would a file of this schema be read as this schema? */
static void require_readable(tarn_env *env, const tn_schema *schema) {
  tn_schema *read = NULL;
  tn_buf bytes, again;
  tarn_error err;
  tn_buf_init(&bytes, &env->mem, (size_t)1 << 28);
  tn_buf_init(&again, &env->mem, (size_t)1 << 28);
  if (tn_schema_encode(schema, &bytes, &err) != TARN_OK ||
      tn_schema_decode(env, tn_buf_slice(&bytes), "f", &read, &err) != TARN_OK ||
      tn_schema_encode(read, &again, &err) != TARN_OK ||
      !tn_slice_equal(tn_buf_slice(&bytes), tn_buf_slice(&again))) {
    abort();
  }
  tn_schema_release(read);
  tn_buf_reset(&bytes);
  tn_buf_reset(&again);
}

static bool is_right(tn_schema *schema, tarn_error *err) {
  return tn_schema_normalize(schema, NULL, 0, err) == TARN_OK &&
         tn_schema_check(schema, err) == TARN_OK;
}

static void change(tarn_env *env, const tn_schema *old, tn_slice json, tarn_error *err) {
  tn_change_context context = {"d.t", json.len % 2 == 0, 1, env->zone};
  tn_schema_change *changes;
  tn_schema next;
  tn_arena arena;
  int32_t n;
  tn_arena_init(&arena, &env->mem, SIZE_MAX);
  if (tn_changes_from_json(&arena, json, &changes, &n, err) == TARN_OK) {
    if (tn_schema_apply(old, changes, n, &context, &next, err) == TARN_OK &&
        tn_schema_check(&next, err) == TARN_OK) {
      require_readable(env, &next);
    }
    tn_arena_reset(&next.arena);
  }
  tn_arena_reset(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const uint8_t *line = size > 0 ? memchr(data, '\n', size) : NULL;
  size_t n = line != NULL ? (size_t)(line - data) : size;
  tn_schema schema;
  tarn_env *env;
  tarn_error err;
  if (tarn_env_create(NULL, &env, NULL) != TARN_OK) {
    return 0;
  }
  if (tn_schema_from_json(env, tn_slice_of(data, n), &schema, &err) == TARN_OK &&
      is_right(&schema, &err)) {
    require_readable(env, &schema);
    if (line != NULL) {
      change(env, &schema, tn_slice_of(line + 1, size - n - 1), &err);
    }
  }
  tn_arena_reset(&schema.arena);
  tarn_env_free(env);
  return 0;
}
