/* model_test.c - environment, storage and data files of the tests of this room. */
#include "unit/model/model_test.h"

static void on_log(void *ctx, tarn_log_level level, const char *message) {
  fixture *f = ctx;
  size_t n = strlen(f->log);
  (void)level;
  (void)snprintf(f->log + n, sizeof(f->log) - n, "%s\n", message);
}

int fixture_setup(void **state) {
  tarn_env_options options = TARN_ENV_OPTIONS_INIT;
  fixture *f = calloc(1, sizeof(*f));
  assert_non_null(f);
  options.log = on_log;
  options.log_ctx = f;
  assert_int_equal(tarn_env_create(&options, &f->env, NULL), TARN_OK);
  assert_int_equal(tn_storage_memory(f->env, &f->storage, NULL), TARN_OK);
  tn_arena_init(&f->arena, &f->env->mem, SIZE_MAX);
  *state = f;
  return 0;
}

int fixture_teardown(void **state) {
  fixture *f = *state;
  tn_arena_reset(&f->arena);
  tn_storage_release(f->storage);
  tarn_env_free(f->env);
  free(f);
  return 0;
}

void put_bytes(fixture *f, const char *path, tn_slice bytes) {
  assert_int_equal(tn_storage_memory_put(f->storage, path, bytes, NULL), TARN_OK);
}

void put_file(fixture *f, const char *path, const char *text) {
  put_bytes(f, path, tn_slice_text(text));
}

tn_slice data_file(fixture *f, const char *name) {
  char path[512];
  size_t n;
  uint8_t *bytes;
  const char *copy;
  (void)snprintf(path, sizeof(path), "%s/tests/unit/model/data/%s", TARN_SOURCE_DIR, name);
  bytes = tn_test_read_file(path, &n);
  copy = tn_arena_strndup(&f->arena, (const char *)bytes, n);
  assert_non_null(copy);
  free(bytes);
  return tn_slice_of(copy, n);
}

tn_slice hex(fixture *f, const char *text) {
  size_t n;
  uint8_t *bytes = tn_test_hex(text, &n);
  tn_slice out = {NULL, 0};
  assert_true(tn_arena_slice(&f->arena, tn_slice_of(bytes, n), &out));
  free(bytes);
  return out;
}

tn_slice data_hex(fixture *f, const char *name) {
  return hex(f, (const char *)data_file(f, name).data);
}

void expect_ok(fixture *f, tarn_status found) {
  if (found != TARN_OK) {
    fail_msg("status %d: %s", (int)found, f->err.message);
  }
}

void expect_error(fixture *f, tarn_status found, tarn_status wanted, const char *message) {
  if (found != wanted) {
    fail_msg("status %d, not %d: %s", (int)found, (int)wanted,
             found != TARN_OK ? f->err.message : "");
  }
  if (strstr(f->err.message, message) == NULL) {
    fail_msg("'%s' is not in: %s", message, f->err.message);
  }
  tn_error_reset(&f->err);
}
