/* Trees of a bucket: order, loading, changes, sections. */
#include "tree_text.h"

#include "support/torture.h"

/* ------------------------------------------------------------------ loading */

static void levels_load__newest_file_of_level_0_comes_first(void **state) {
  static const struct {
    const char *name;
    int64_t max, min, time;
  } files[] = {
      /* larger max, then smaller min, then earlier time, then name */
      {"f", 10, 5, 2}, {"b", 20, 15, 1}, {"a", 30, 9, 9}, {"c", 10, 3, 1},
      {"e", 10, 5, 1}, {"d", 10, 4, 7},  {"g", 10, 5, 2},
  };
  tree_maker t;
  tn_levels *levels;
  (void)state;
  tree_begin(&t, "");
  for (size_t i = 0; i < TN_COUNT(files); i++) {
    tn_data_file *file = tree_file(&t, 0, files[i].name, 1, 0, 9);
    file->max_sequence = files[i].max;
    file->min_sequence = files[i].min;
    file->creation_time_ms = files[i].time;
    t.files[t.n_files++] = file;
  }
  OK(tree_load(&t, 6, &levels, err));
  assert_string_equal(tree_text(&t, levels), "0:a 0:b 0:c 0:d 0:e 0:f 0:g");
  assert_int_equal(levels->n_level_0, 7);
  tn_levels_free(levels);
  tree_end(&t);
}

static void levels_load__a_higher_level_is_one_run_by_key(void **state) {
  tree_maker t;
  tn_levels *levels;
  (void)state;
  tree_begin(&t, "");
  levels = tree_levels(&t, "5:z@100-200#7 0:a 2:y@50-60 5:x@0-99#3 2:w@-9-49 0:b 5:v@201-201");
  assert_string_equal(tree_text(&t, levels), "0:a 0:b 2:w,y 5:x,z,v");
  assert_int_equal(levels->n_runs, 4);
  assert_int_equal(levels->runs[3].size_bytes, 11);
  assert_int_equal(tn_levels_highest(levels), 5);
  tn_levels_free(levels);
  tree_end(&t);
}

static void levels_load__as_many_levels_as_options_or_files_say(void **state) {
  static const struct {
    int32_t num_levels;
    const char *files;
    int32_t n_levels, highest;
  } cases[] = {
      {6, "", 6, -1},
      {6, "0:a 0:b", 6, 0},
      {3, "5:a", 6, 5},
      {6, "2:a 5:b", 6, 5},
      {2, "0:a 1:b", 2, 1},
      {1, "5:a", 6, 5},
      {2147483647, "0:a 7:b", 2147483647, 7},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tree_maker t;
    tn_levels *levels;
    tree_begin(&t, "");
    tree_parse(&t, cases[i].files);
    OK(tree_load(&t, cases[i].num_levels, &levels, err));
    assert_int_equal(levels->n_levels, cases[i].n_levels);
    assert_int_equal(tn_levels_max(levels), cases[i].n_levels - 1);
    assert_int_equal(tn_levels_highest(levels), cases[i].highest);
    tn_levels_free(levels);
    tree_end(&t);
  }
}

static void levels_load__rejects_what_is_no_tree(void **state) {
  static const struct {
    int32_t num_levels;
    const char *files;
    tarn_status status;
    const char *says;
  } cases[] = {
      {1, "0:a", TARN_E_INVALID, "Number of levels must be at least 2."},
      {-5, "", TARN_E_INVALID, "Number of levels must be at least 2."},
      {6, "-1:a", TARN_E_CORRUPT, "level -1"},
      {6, "2147483647:a", TARN_E_CORRUPT, "level 2147483647"},
      {6, "5:a@0-10 5:b@10-20", TARN_E_CORRUPT, "a and b of level 5"},
      {6, "3:b@0-100 3:a@50-60", TARN_E_CORRUPT, "b and a of level 3"},
      {6, "5:a 5:a", TARN_E_CORRUPT, "a is in its bucket twice"},
      {6, "0:a@9-0", TARN_E_CORRUPT, "key range of data file a: it ends before it begins"},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tree_maker t;
    tn_levels *levels;
    tarn_error err = {0};
    tree_begin(&t, "");
    tree_parse(&t, cases[i].files);
    assert_int_equal(tree_load(&t, cases[i].num_levels, &levels, &err), cases[i].status);
    assert_null(levels);
    if (strstr(err.message, cases[i].says) == NULL) {
      fail_msg("'%s' lacks '%s'", err.message, cases[i].says);
    }
    tree_end(&t);
  }
}

static void levels_load__rejects_a_file_of_level_0_twice(void **state) {
  tree_maker t;
  tn_levels *levels;
  tarn_error err = {0};
  (void)state;
  tree_begin(&t, "");
  tree_parse(&t, "0:a 0:b");
  t.files[t.n_files++] = t.files[0];
  assert_int_equal(tree_load(&t, 6, &levels, &err), TARN_E_CORRUPT);
  assert_non_null(strstr(err.message, "a is in its bucket twice"));
  tree_end(&t);
}

static void levels_load__rejects_keys_that_do_not_decode(void **state) {
  static const char *const keys[] = {"", "\0\0\0", "\0\0\0\2abcdefghijklmnop"};
  static const size_t lens[] = {0, 3, 20};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(keys); i++) {
    tree_maker t;
    tn_levels *levels;
    tarn_error err = {0};
    tree_begin(&t, "");
    tree_parse(&t, "0:a 0:b");
    t.files[1]->max_key = tn_slice_of(keys[i], lens[i]);
    assert_int_equal(tree_load(&t, 6, &levels, &err), TARN_E_CORRUPT);
    assert_non_null(strstr(err.message, "key range of data file b"));
    tree_end(&t);
  }
}

static void levels_load__clustered_levels_may_overlap(void **state) {
  tree_maker t;
  tn_levels *levels;
  (void)state;
  tree_begin(&t, "");
  t.options.checks_overlap = false;
  levels = tree_levels(&t, "1:a@0-10 1:b@5-20");
  assert_string_equal(tree_text(&t, levels), "1:a,b");
  tn_levels_free(levels);
  tree_end(&t);
}

static void levels_load__sizes_do_not_overflow(void **state) {
  tree_maker t;
  tn_levels *levels;
  (void)state;
  tree_begin(&t, "");
  tree_parse(&t, "5:a@0-1 5:b@2-3 5:c@4-5");
  t.files[0]->file_size = INT64_MAX - 1;
  t.files[1]->file_size = INT64_MAX - 1;
  t.files[2]->file_size = -7;
  OK(tree_load(&t, 6, &levels, err));
  assert_int_equal(levels->runs[0].size_bytes, INT64_MAX);
  tn_levels_free(levels);
  tree_end(&t);
}

/* ------------------------------------------------------------------ changes */

static void levels_add__takes_the_place_of_its_age(void **state) {
  tree_maker t;
  tn_levels *levels;
  tn_data_file *file;
  (void)state;
  tree_begin(&t, "");
  levels = tree_levels(&t, "0:b 0:d 5:x");
  for (int i = 0; i < 40; i++) { /* growing on the way */
    char name[16];
    snprintf(name, sizeof(name), "n%d", i);
    file = tree_file(&t, 0, name, 2, 0, 9);
    file->min_sequence = file->max_sequence = 5000 + i;
    OK(tn_levels_add(levels, file, err));
  }
  file = tree_file(&t, 0, "c", 2, 0, 9);
  file->min_sequence = file->max_sequence = t.files[0]->max_sequence;
  file->min_sequence--; /* the smaller one is the newer one */
  OK(tn_levels_add(levels, file, err));
  assert_int_equal(levels->n_runs, 44);
  assert_int_equal(levels->n_level_0, 43);
  assert_true(tn_slice_is(levels->files[0]->file->file_name, "n39"));
  assert_non_null(strstr(tree_text(&t, levels), "0:n1 0:n0 0:c 0:b 0:d 5:x"));
  tn_levels_free(levels);
  tree_end(&t);
}

static void levels_add__rejects_other_levels_and_a_file_that_is_there(void **state) {
  tree_maker t;
  tn_levels *levels;
  tarn_error err = {0};
  (void)state;
  tree_begin(&t, "");
  levels = tree_levels(&t, "0:a 5:x");
  assert_int_equal(tn_levels_add(levels, tree_file(&t, 1, "b", 1, 20, 30), &err), TARN_E_INTERNAL);
  assert_int_equal(tn_levels_add(levels, t.files[0], &err), TARN_E_CORRUPT);
  assert_string_equal(tree_text(&t, levels), "0:a 5:x");
  tn_levels_free(levels);
  tree_end(&t);
}

static const tn_data_file *file_of(const tree_maker *t, const char *name) {
  for (int64_t i = 0; i < t->n_files; i++) {
    if (tn_slice_is(t->files[i]->file_name, name)) {
      return t->files[i];
    }
  }
  fail_msg("no file %s", name);
  return NULL;
}

/* The files of `text` leave "0:c 0:b 0:a 3:e@0-9 5:x@0-9,y@10-19" and those of `after` come. */
static void update(const char *before, const char *after, tarn_status wanted, const char *result) {
  static const char start[] = "0:c 0:b 0:a 3:e 5:x 5:y@10-19";
  const tn_data_file *gone[8];
  int64_t n_gone = 0;
  tree_maker t;
  tn_levels *levels;
  tarn_error err = {0};
  tree_begin(&t, "");
  levels = tree_levels(&t, start);
  for (const char *at = before; *at != '\0'; at += *at == ' ') {
    char name[16];
    size_t n = strcspn(at, " ");
    snprintf(name, sizeof(name), "%.*s", (int)n, at);
    if (strcmp(name, "?") == 0) {
      gone[n_gone++] = tree_file(&t, 0, "unknown", 1, 0, 9);
    } else {
      gone[n_gone++] = file_of(&t, name);
    }
    at += n;
  }
  tree_parse(&t, after);
  assert_int_equal(
      tn_levels_update(levels, gone, n_gone, (const tn_data_file *const *)t.files, t.n_files, &err),
      wanted);
  assert_string_equal(tree_text(&t, levels), wanted == TARN_OK ? result : "0:c 0:b 0:a 3:e 5:x,y");
  tn_levels_free(levels);
  tree_end(&t);
}

static void levels_update__before_leaves_and_after_comes(void **state) {
  (void)state;
  update("c b a", "3:m@10-19 1:n@0-4 1:o@5-9", TARN_OK, "1:n,o 3:e,m 5:x,y");
  update("a b c e x y", "5:m@0-19", TARN_OK, "5:m");
  update("x", "", TARN_OK, "0:c 0:b 0:a 3:e 5:y");
  update("a b c e x y", "", TARN_OK, "");
  update("", "", TARN_OK, "0:c 0:b 0:a 3:e 5:x,y");
}

static void levels_update__an_upgraded_file_changes_its_level(void **state) {
  (void)state;
  update("e", "4:e", TARN_OK, "0:c 0:b 0:a 4:e 5:x,y");
  update("c b a", "2:c", TARN_OK, "2:c 3:e 5:x,y");
}

static void levels_update__a_failure_changes_nothing(void **state) {
  (void)state;
  update("a", "5:m@5-6", TARN_E_CORRUPT, NULL);         /* overlaps x */
  update("x", "5:m@0-10", TARN_E_CORRUPT, NULL);        /* overlaps y */
  update("a", "4:m@0-5 4:n@5-6", TARN_E_CORRUPT, NULL); /* one another */
  update("a", "6:m", TARN_E_INTERNAL, NULL);            /* no such level */
  update("a", "4:m@9-0", TARN_E_CORRUPT, NULL);         /* no range */
  update("a ?", "4:m", TARN_E_INTERNAL, NULL);          /* not there */
  update("a a", "4:m", TARN_E_INTERNAL, NULL);          /* twice */
}

/* ------------------------------------------------------------------ sections */

static const char *sections_text(tree_maker *t) {
  tn_compact_section *sections;
  int64_t n;
  char *text = tn_arena_strdup(&t->tm.arena, "");
  OK(tn_compact_sections_make(&t->tm.arena, t->table->schema, (const tn_data_file *const *)t->files,
                              t->n_files, &sections, &n, err));
  for (int64_t s = 0; s < n; s++) {
    for (int64_t r = 0; r < sections[s].n_runs; r++) {
      const tn_compact_run *run = &sections[s].runs[r];
      int64_t size = 0;
      text = tn_arena_printf(&t->tm.arena, "%s%s{", text, r == 0 && s > 0 ? " | " : "");
      for (int64_t i = 0; i < run->n_files; i++) {
        size += run->files[i]->file_size;
        text = tn_arena_printf(&t->tm.arena, "%s%s%.*s", text, i > 0 ? " " : "",
                               TN_SLICE_ARG(run->files[i]->file_name));
      }
      assert_int_equal(size, run->size_bytes);
      text = tn_arena_printf(&t->tm.arena, "%s}", text);
    }
  }
  return text;
}

static void sections__hang_together_and_have_the_fewest_runs(void **state) {
  static const struct {
    const char *files, *sections;
  } cases[] = {
      {"", ""},
      {"0:a", "{a}"},
      {"0:b@5-9 0:a@0-4", "{a} | {b}"},
      {"0:a@0-5 5:b@5-9", "{a}{b}"}, /* touching keys belong together */
      {"0:f1@0-30 0:f2@31-50#4 0:f3@10-40 0:f5@60-70#2 0:f6@75-100#3 0:f7@65-80",
       "{f3}{f1 f2} | {f7}{f5 f6}"},
      {"0:a@0-100 5:b@0-10 5:c@20-30 5:d@90-101 5:e@102-103", "{a}{b c d} | {e}"},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tree_maker t;
    tree_begin(&t, "");
    tree_parse(&t, cases[i].files);
    assert_string_equal(sections_text(&t), cases[i].sections);
    tree_end(&t);
  }
}

/* ------------------------------------------------------------------ memory */

static tarn_status change_tree(void *ctx, tarn_env *env, tarn_error *err) {
  tree_maker *t = ctx;
  const tn_data_file *const *files = (const tn_data_file *const *)t->files;
  tn_levels *levels;
  tarn_status st;
  TN_TRY(tn_levels_create(&env->mem, t->table->schema, 6, true, files, 4, &levels, err));
  TN_TRY_TO(done, tn_levels_add(levels, files[4], err));
  TN_TRY_TO(done, tn_levels_add(levels, files[5], err));
  TN_TRY_TO(done, tn_levels_update(levels, files, 2, files + 6, 2, err));
done:
  tn_levels_free(levels);
  return st;
}

static void levels__every_allocation_may_fail(void **state) {
  tree_maker t;
  (void)state;
  tree_begin(&t, "");
  tree_parse(&t, "0:a 0:b 4:c 5:d 0:e 0:f 1:g@0-4 1:h@5-9");
  assert_true(tn_torture(change_tree, &t, TARN_OK) > 10);
  tree_end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(levels_load__newest_file_of_level_0_comes_first),
      cmocka_unit_test(levels_load__a_higher_level_is_one_run_by_key),
      cmocka_unit_test(levels_load__as_many_levels_as_options_or_files_say),
      cmocka_unit_test(levels_load__rejects_what_is_no_tree),
      cmocka_unit_test(levels_load__rejects_a_file_of_level_0_twice),
      cmocka_unit_test(levels_load__rejects_keys_that_do_not_decode),
      cmocka_unit_test(levels_load__clustered_levels_may_overlap),
      cmocka_unit_test(levels_load__sizes_do_not_overflow),
      cmocka_unit_test(levels_add__takes_the_place_of_its_age),
      cmocka_unit_test(levels_add__rejects_other_levels_and_a_file_that_is_there),
      cmocka_unit_test(levels_update__before_leaves_and_after_comes),
      cmocka_unit_test(levels_update__an_upgraded_file_changes_its_level),
      cmocka_unit_test(levels_update__a_failure_changes_nothing),
      cmocka_unit_test(sections__hang_together_and_have_the_fewest_runs),
      cmocka_unit_test(levels__every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
