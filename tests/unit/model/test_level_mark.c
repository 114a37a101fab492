/* What a compaction says of the levels of its bucket. */
#include "model/level_mark.h"
#include "unit/model/model_test.h"

static tn_level_mark mark_of(const char *const *names, const int32_t *levels, size_t n) {
  tn_level_mark mark = {0};
  for (size_t i = 0; i < n; i++) {
    tn_level_mark_add(&mark, tn_slice_text(names[i]), levels[i]);
  }
  return mark;
}

static void level_mark__counts_files_above_level_0_in_any_order(void **state) {
  static const char *const names[] = {"a", "b", "c"}, *const turned[] = {"c", "b"};
  tn_level_mark all = mark_of(names, (int32_t[]){0, 4, 5}, 3);
  tn_level_mark same = mark_of(turned, (int32_t[]){5, 4}, 2);
  tn_level_mark moved = mark_of(turned, (int32_t[]){4, 5}, 2);
  tn_level_mark fewer = mark_of(turned, (int32_t[]){5, 4}, 1);
  (void)state;
  assert_int_equal(all.n_files, 2);
  assert_true(tn_level_mark_equal(&all, &same));
  assert_false(tn_level_mark_equal(&all, &moved));
  assert_false(tn_level_mark_equal(&all, &fewer));
}

static void level_mark__comes_back_from_its_text(void **state) {
  static const char *const names[] = {"data-1.parquet", "data-2.parquet"};
  fixture *f = *state;
  tn_level_mark marks[] = {{0, 0}, mark_of(names, (int32_t[]){1, 5}, 2), {UINT64_MAX, 7}};
  for (size_t i = 0; i < TN_COUNT(marks); i++) {
    tn_index_entry entry;
    tn_level_mark back;
    expect_ok(f, tn_level_mark_put(&marks[i], &f->arena, &entry, &f->err));
    assert_true(tn_is_level_mark(&entry));
    assert_int_equal(entry.kind, TN_FILE_DELETE);
    expect_ok(f, tn_level_mark_get(&entry, &back, &f->err));
    assert_true(tn_level_mark_equal(&marks[i], &back));
  }
}

static void level_mark__rejects_other_texts(void **state) {
  static const char *const texts[] = {
      "",
      "levels-",
      "levels-1",
      "levels-1-",
      "levels-1-1 ",
      "levels-x-1",
      "level-1-1",
      "levels-1-00000000000000001",
      "levels-1-1 and more than there is room for, which is 64 bytes"};
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(texts); i++) {
    tn_index_entry entry = {.file_name = tn_slice_text(texts[i])};
    tn_level_mark back;
    assert_int_equal(tn_level_mark_get(&entry, &back, &f->err), TARN_E_INVALID);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      MODEL_TEST(level_mark__counts_files_above_level_0_in_any_order),
      MODEL_TEST(level_mark__comes_back_from_its_text),
      MODEL_TEST(level_mark__rejects_other_texts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
