/* test_normaliser_api.c - upserts made a complete changelog, through the public calls. */
#include "api_test.h"

static int64_t snapshots[] = {1, 1, 2, 2, 2};
static int32_t ids[] = {1, 2, 1, 2, 3};
static int32_t values[] = {10, 20, 11, 20, 0};
static int8_t kinds[] = {0, 0, 2, 3, 3};

typedef struct rows {
  struct ArrowSchema schema, columns[4];
  struct ArrowSchema *schema_children[4];
  struct ArrowArray array, arrays[4];
  struct ArrowArray *children[4];
  const void *buffers[4][2], *none[1];
} rows;

static void make_rows(rows *r) {
  static const char *const names[] = {"_row_kind", "_snapshot", "id", "v"};
  static const char *const formats[] = {"c", "l", "i", "i"};
  const void *data[] = {kinds, snapshots, ids, values};
  memset(r, 0, sizeof(*r));
  for (int i = 0; i < 4; i++) {
    r->columns[i] = (struct ArrowSchema){.format = formats[i],
                                         .name = names[i],
                                         .flags = i == 3 ? ARROW_FLAG_NULLABLE : 0,
                                         .release = keep_schema};
    r->schema_children[i] = &r->columns[i];
    r->buffers[i][1] = data[i];
    r->arrays[i] = (struct ArrowArray){
        .length = 5, .n_buffers = 2, .buffers = r->buffers[i], .release = keep_array};
    r->children[i] = &r->arrays[i];
  }
  r->schema = (struct ArrowSchema){
      .format = "+s", .n_children = 4, .children = r->schema_children, .release = keep_schema};
  r->array = (struct ArrowArray){.length = 5,
                                 .n_buffers = 1,
                                 .n_children = 4,
                                 .buffers = r->none,
                                 .children = r->children,
                                 .release = keep_array};
}

static void normaliser_api__gives_changes_and_goes_on(void **state) {
  static const char *const keys[] = {"id"}, *const passed[] = {"_snapshot"};
  static const int8_t want_kinds[] = {0, 0, 1, 2, 3};
  static const int32_t want_values[] = {10, 20, 10, 11, 20};
  static const int64_t want_snapshots[] = {1, 1, 2, 2, 2};
  tarn_normaliser_options o = TARN_NORMALISER_OPTIONS_INIT;
  tarn_normaliser_stats stats = TARN_NORMALISER_STATS_INIT;
  struct ArrowArray out;
  tarn_normaliser *n;
  tarn_string bytes;
  tarn_error err;
  tarn_env *env;
  rows r;
  char *folder = tn_test_temp_dir();
  (void)state;
  make_rows(&r);
  assert_works(tarn_env_create(NULL, &env, &err), err);
  assert_int_equal(tarn_normaliser_create(env, &r.schema, keys, 1, &o, &n, &err), TARN_E_INVALID);
  assert_contains(err.message, "folder");
  o.folder = folder;
  o.passed = passed;
  o.n_passed = 1;
  assert_int_equal(tarn_normaliser_create(env, &r.schema, passed, 1, &o, &n, &err), TARN_E_INVALID);
  assert_works(tarn_normaliser_create(env, &r.schema, keys, 1, &o, &n, &err), err);
  assert_works(tarn_normaliser_apply(n, &r.array, &out, &err), err);
  assert_int_equal(out.length, 5);
  assert_memory_equal(out.children[0]->buffers[1], want_kinds, sizeof(want_kinds));
  assert_memory_equal(out.children[1]->buffers[1], want_snapshots, sizeof(want_snapshots));
  assert_memory_equal(out.children[3]->buffers[1], want_values, sizeof(want_values));
  out.release(&out);
  assert_works(tarn_normaliser_checkpoint(n, &bytes, &err), err);
  tarn_normaliser_complete(n);
  assert_works(tarn_normaliser_complete_until(n, bytes.data, bytes.length, &err), err);
  assert_int_equal(tarn_normaliser_complete_until(n, bytes.data, 9, &err), TARN_E_CORRUPT);
  tarn_normaliser_free(n);
  assert_works(tarn_normaliser_create(env, &r.schema, keys, 1, &o, &n, &err), err);
  assert_works(tarn_normaliser_restore(n, bytes.data, bytes.length, &err), err);
  tarn_normaliser_get_stats(n, &stats);
  assert_int_equal(stats.keys, 1);
  r.array.length = 1; /* 1, 10 again: it was 11 */
  assert_works(tarn_normaliser_apply(n, &r.array, &out, &err), err);
  assert_int_equal(out.length, 2);
  out.release(&out);
  assert_works(tarn_normaliser_apply(n, &r.array, &out, &err), err);
  assert_null(out.release); /* once more as it was */
  tarn_normaliser_free(n);
  tarn_string_free(&bytes);
  tarn_env_free(env);
  tn_test_temp_dir_remove(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(normaliser_api__gives_changes_and_goes_on),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
