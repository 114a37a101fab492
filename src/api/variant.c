/* variant.c - VARIANT values for tools. */
#include "api/handles.h"
#include "column/variant_json.h"

/* Bytes of the builder as a text of the library's. */
static tarn_status hand_out(tarn_env *env, tn_slice bytes, tarn_string *out, tarn_error *err) {
  tn_buf copy;
  tn_buf_init(&copy, &env->mem, TN_VARIANT_MAX_BYTES);
  return tn_api_string(tn_buf_append(&copy, bytes.data, bytes.len, err), &copy, out, err);
}

tarn_status tarn_variant_from_json(tarn_env *env, const char *text, size_t n_text,
                                   tarn_string *metadata, tarn_string *value, tarn_error *err) {
  tn_variant_builder builder;
  tn_arena arena;
  tn_slice names, bytes;
  tarn_status st = TARN_OK;
  tn_error_reset(err);
  memset(metadata, 0, sizeof(*metadata));
  memset(value, 0, sizeof(*value));
  TN_TRY(tn_env_check(env, err));
  tn_variant_builder_init(&builder, &env->mem);
  tn_arena_init(&arena, &env->mem, TN_VARIANT_MAX_BYTES);
  TN_TRY_TO(done, tn_variant_put_json(&builder, tn_slice_of(text, n_text), &arena, err));
  TN_TRY_TO(done, tn_variant_take(&builder, &names, &bytes, err));
  TN_TRY_TO(done, hand_out(env, names, metadata, err));
  TN_TRY_TO(done, hand_out(env, bytes, value, err));
done:
  if (st != TARN_OK) {
    tarn_string_free(metadata);
  }
  tn_variant_builder_free(&builder);
  tn_arena_reset(&arena);
  return st;
}
