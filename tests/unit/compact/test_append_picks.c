/* Which files of append tables are compacted together: queues of buckets, small files. */
#include "support/test.h"

#include "compact/append_picks.h"
#include "support/torture.h"

#define OK(call)                \
  do {                          \
    tarn_error err_ = {0};      \
    tarn_error *err = &err_;    \
    assert_works((call), err_); \
  } while (0)

#define FILES 64

typedef struct picks {
  tarn_env *env;
  tn_arena arena;
  tn_compact_options options;
  tn_data_file files[FILES];
  int n_files;
} picks;

/* Target 100 bytes, small below 70, opening costs 4, five files are enough. */
static void begin(picks *p) {
  memset(p, 0, sizeof(*p));
  p->env = tn_test_env(1, 0);
  tn_arena_init(&p->arena, &p->env->mem, SIZE_MAX);
  p->options = (tn_compact_options){.target_file_bytes = 100,
                                    .small_file_bytes = 70,
                                    .open_file_bytes = 4,
                                    .append_min_files = 5,
                                    .delete_ratio = 0.2};
}

static void end(picks *p) {
  tn_arena_reset(&p->arena);
  tarn_env_free(p->env);
}

/* "a10 b20": a file for each, named by its letter, of so many bytes; sequence numbers ascend. */
static int add_files(picks *p, const char *text, const tn_data_file *out[FILES]) {
  int n = 0;
  for (const char *at = text; *at != '\0';) {
    tn_data_file *file = &p->files[p->n_files];
    assert_true(p->n_files < FILES);
    file->file_name = tn_slice_of(at, 1);
    file->file_size = strtol(at + 1, (char **)(uintptr_t)&at, 10);
    file->min_sequence = 10 * p->n_files++;
    file->row_count = 100;
    out[n++] = file;
    at += *at == ' ';
  }
  return n;
}

static const char *names(picks *p, const tn_data_file *const *files, int64_t n) {
  char *text = tn_arena_alloc(&p->arena, (size_t)n + 1);
  assert_non_null(text);
  for (int64_t i = 0; i < n; i++) {
    text[i] = (char)files[i]->file_name.data[0];
  }
  text[n] = '\0';
  return text;
}

/* ------------------------------------------------------------------ a bucket */

static void queue_pick__first_files_that_are_enough(void **state) {
  static const struct {
    const char *files, *picked, *left;
  } cases[] = {
      {"", "", ""},
      {"a1 b1 c1 d1", "", "abcd"},
      {"a1 b1 c1 d1 e1", "abcde", ""},
      {"a1 b1 c1 d1 e1 f1 g1", "abcde", "fg"},
      {"a200 b1 c1 d1 e1", "", "bcde"},           /* a is large enough alone */
      {"a200 b1 c1 d1 e1 f1", "bcdef", ""},       /* and is gone */
      {"a199 b1 c1 d1", "", "bcd"},               /* two are enough */
      {"a50 b50 c50 d50 e1", "", "bcde"},         /* the oldest one goes */
      {"a50 b50 c50 d49 e1", "abcde", ""},        /* five come before the size */
      {"a50 b50 c50 d50 e50 f50 g50", "", "efg"}, /* one after the other */
      {"a300 b300 c300", "", ""},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    picks p;
    tn_append_queue queue;
    tn_file_list list;
    const tn_data_file *files[FILES];
    int n;
    begin(&p);
    n = add_files(&p, cases[i].files, files);
    tn_append_queue_init(&queue, &p.env->mem, &p.options);
    OK(tn_append_queue_add(&queue, files, n, err));
    OK(tn_append_queue_pick(&queue, &p.arena, &list, err));
    assert_string_equal(names(&p, list.files, list.n_files), cases[i].picked);
    assert_string_equal(names(&p, queue.files, queue.n_files), cases[i].left);
    tn_append_queue_free(&queue);
    end(&p);
  }
}

static void queue__keeps_the_order_of_sequence_numbers(void **state) {
  picks p;
  tn_append_queue queue;
  const tn_data_file *files[FILES], *mixed[6];
  (void)state;
  begin(&p);
  add_files(&p, "a1 b1 c1 d1 e1 f1", files);
  p.files[4].min_sequence = p.files[3].min_sequence; /* e as d: by arrival */
  for (int i = 0; i < 6; i++) {
    mixed[i] = files[(i * 5 + 2) % 6]; /* c b a f e d */
  }
  tn_append_queue_init(&queue, &p.env->mem, &p.options);
  OK(tn_append_queue_add(&queue, mixed, 4, err));
  OK(tn_append_queue_add(&queue, mixed + 4, 2, err));
  assert_string_equal(names(&p, queue.files, queue.n_files), "abcedf");
  tn_append_queue_free(&queue);
  end(&p);
}

static void queue__walk_of_seven_commits(void **state) {
  picks p;
  tn_append_queue queue;
  tn_file_list list;
  const tn_data_file *files[FILES];
  tn_data_file made = {.file_name = tn_slice_text("M"), .file_size = 70};
  const tn_data_file *after = &made;
  (void)state;
  begin(&p);
  add_files(&p, "a2 b2 c2 d2 e2 f2 g2", files);
  tn_append_queue_init(&queue, &p.env->mem, &p.options);
  for (int i = 0; i < 7; i++) {
    OK(tn_append_queue_add(&queue, &files[i], 1, err));
    OK(tn_append_queue_pick(&queue, &p.arena, &list, err));
    assert_string_equal(names(&p, list.files, list.n_files), i == 4 ? "abcde" : "");
    if (list.n_files > 0) {
      OK(tn_append_queue_done(&queue, &after, 1, err)); /* not small: it does not come back */
    }
  }
  assert_string_equal(names(&p, queue.files, queue.n_files), "fg");
  made.file_size = 69;
  OK(tn_append_queue_done(&queue, &after, 1, err));
  OK(tn_append_queue_done(&queue, &after, 0, err));
  assert_string_equal(names(&p, queue.files, queue.n_files), "Mfg"); /* to the head */
  tn_append_queue_free(&queue);
  end(&p);
}

static bool is_upper(void *ctx, const tn_data_file *file) {
  (void)ctx;
  return file->file_name.data[0] <= 'Z';
}

static void queue_pick_full__what_is_worth_it(void **state) {
  static const struct {
    const char *files;
    bool has_vectors, is_forced;
    const char *picked, *left;
  } cases[] = {
      {"", false, false, "", ""},
      {"a1 b1", false, false, "", "ab"},
      {"a1 b1 c1", false, false, "abc", ""},
      {"a70 b1 c1 d1", false, false, "bcd", ""}, /* a is large */
      {"a69 b1 c1", false, false, "abc", ""},
      {"a70 b70 c1 d1", false, false, "", ""}, /* two are left: they stay */
      {"a1 b70 c70 d1", false, false, "", ""}, /* small ones are not the more */
      {"a1 b70 c1 d1", false, false, "abcd", ""},
      {"a70 b70 c70", false, false, "", ""},
      {"a70 b70 c70", false, true, "abc", ""},
      {"a70", false, true, "a", ""},
      {"", false, true, "", ""},
      {"a70 B70 c70", true, false, "Bc", ""}, /* B has a vector */
      {"a70 b1", true, false, "b", ""},
      {"a70 b70", true, false, "", ""},
      {"A70", true, false, "A", ""},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    picks p;
    tn_append_queue queue;
    tn_file_list list;
    const tn_data_file *files[FILES];
    int n;
    begin(&p);
    p.options.force_rewrite_all_files = cases[i].is_forced;
    n = add_files(&p, cases[i].files, files);
    tn_append_queue_init(&queue, &p.env->mem, &p.options);
    OK(tn_append_queue_add(&queue, files, n, err));
    OK(tn_append_queue_pick_full(&queue, cases[i].has_vectors ? is_upper : NULL, NULL, &p.arena,
                                 &list, err));
    assert_string_equal(names(&p, list.files, list.n_files), cases[i].picked);
    assert_string_equal(names(&p, queue.files, queue.n_files), cases[i].left);
    tn_append_queue_free(&queue);
    end(&p);
  }
}

/* ------------------------------------------------------------------ a partition without buckets */

static void small_file__is_small_or_mostly_deleted(void **state) {
  static const struct {
    int64_t size;
    const char *index;
    bool has_cardinality;
    int64_t cardinality; /* of 100 rows */
    bool is_one;
  } cases[] = {
      {69, "", false, 0, true},  {70, "", false, 0, false},  {70, "", true, 90, false},
      {70, "i", false, 0, true}, {70, "i", true, 20, false}, {70, "i", true, 21, true},
      {1, "i", true, 1, true},
  };
  picks p;
  (void)state;
  begin(&p);
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tn_data_file file = {.file_size = cases[i].size, .row_count = 100};
    tn_small_file small = {&file, tn_slice_text(cases[i].index), cases[i].has_cardinality,
                           cases[i].cardinality};
    assert_int_equal(tn_small_file_is_one(&p.options, &small), cases[i].is_one);
  }
  end(&p);
}

/* "a10 b20/i": the second one is covered by index file "i". */
static void add_small(picks *p, tn_small_files *small, const char *text) {
  for (const char *at = text; *at != '\0';) {
    const tn_data_file *files[FILES];
    char one[16];
    size_t n = strcspn(at, " /");
    tn_small_file file = {0};
    snprintf(one, sizeof(one), "%.*s", (int)n, at);
    add_files(p, one, files);
    file.file = files[0];
    p->files[p->n_files - 1].file_name = tn_slice_of(at, 1); /* not the one of `one` */
    at += n;
    if (*at == '/') {
      file.index_file = tn_slice_of(at + 1, 1);
      at += 2;
    }
    at += *at == ' ';
    OK(tn_small_files_add(small, &file, 1, err));
  }
}

static const char *pick_text(picks *p, tn_small_files *small) {
  tn_file_list *tasks;
  int64_t n;
  char *text = tn_arena_strdup(&p->arena, "");
  OK(tn_small_files_pick(small, &p->arena, &tasks, &n, err));
  for (int64_t i = 0; i < n; i++) {
    text = tn_arena_printf(&p->arena, "%s%s%s", text, i > 0 ? " " : "",
                           names(p, tasks[i].files, tasks[i].n_files));
  }
  assert_non_null(text);
  return text;
}

static void small_files_pick__packs_the_smallest_first(void **state) {
  static const struct {
    const char *files;
    bool has_vectors;
    const char *tasks;
    int64_t n_left;
  } cases[] = {
      {"", false, "", 0},
      {"a1 b1 c1 d1", false, "", 4},
      {"a1 b1 c1 d1 e1", false, "abcde", 0},
      {"a5 b4 c3 d2 e1", false, "edcba", 0},
      {"a100 b70 c1", false, "", 1}, /* large ones are left out */
      /* weights 64, 65, 66, 67: 262 >= 200 with the fourth */
      {"a60 b61 c62 d63", false, "abcd", 0},
      {"a69 b68 c67", false, "cba", 0}, /* 71 + 72 + 73 */
      {"a69 b68 c50", false, "", 3},    /* 54 + 72 + 73 = 199 */
      {"a60 b60 c60 d60 e60 f60 g60 h60 i60", false, "abcd efgh", 1},
      {"a1 b1 c1 d1 e1 f60 g60 h60", false, "abcdefgh", 0},
      /* with vectors: files of one index file together, the rest of them always */
      {"a10/i", true, "a", 0},
      {"a90/i b90/j c90/i", true, "bac", 0},
      {"a99/i b99/i c99/i d99/j", true, "dabc", 0},
      {"a150/i b150/j", true, "ab", 0},
      {"a250/i b250/j c1/k", true, "ca b", 0},
      {"a1/i b1", true, "a", 1},
      {"a1/i b1 c1 d1 e1 f1", true, "a bcdef", 0},
      {"a1 b1 c1", true, "", 3},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    picks p;
    tn_small_files small;
    const char *got;
    begin(&p);
    p.options.deletion_vectors = cases[i].has_vectors;
    tn_small_files_init(&small, &p.env->mem, &p.options);
    add_small(&p, &small, cases[i].files);
    got = pick_text(&p, &small);
    if (strcmp(got, cases[i].tasks) != 0) {
      fail_msg("[%s]: '%s' instead of '%s'", cases[i].files, got, cases[i].tasks);
    }
    assert_int_equal(small.n_files, cases[i].n_left);
    tn_small_files_free(&small);
    end(&p);
  }
}

static void small_files_pick__one_file_is_never_copied_alone(void **state) {
  picks p;
  tn_small_files small;
  (void)state;
  begin(&p);
  p.options.append_min_files = 1;
  tn_small_files_init(&small, &p.env->mem, &p.options);
  add_small(&p, &small, "a1");
  assert_string_equal(pick_text(&p, &small), "");
  add_small(&p, &small, "b1");
  assert_string_equal(pick_text(&p, &small), "ab");
  tn_small_files_free(&small);
  end(&p);
}

static void small_files__go_together_when_they_are_old(void **state) {
  picks p;
  tn_small_files small;
  (void)state;
  begin(&p);
  tn_small_files_init(&small, &p.env->mem, &p.options);
  add_small(&p, &small, "a1 b1");
  for (int i = 0; i < 5; i++) {
    assert_string_equal(pick_text(&p, &small), "");
  }
  add_small(&p, &small, "c1"); /* a new file makes them young */
  for (int i = 0; i < 5; i++) {
    assert_string_equal(pick_text(&p, &small), "");
    assert_false(tn_small_files_is_done(&small));
  }
  assert_string_equal(pick_text(&p, &small), "abc");
  assert_true(tn_small_files_is_done(&small));
  tn_small_files_free(&small);
  end(&p);
}

static void small_files__a_lone_one_is_forgotten(void **state) {
  picks p;
  tn_small_files small;
  (void)state;
  begin(&p);
  tn_small_files_init(&small, &p.env->mem, &p.options);
  add_small(&p, &small, "a1");
  for (int i = 0; i < 11; i++) {
    assert_false(tn_small_files_is_done(&small));
    assert_string_equal(pick_text(&p, &small), "");
  }
  assert_true(tn_small_files_is_done(&small));
  tn_small_files_free(&small);
  end(&p);
}

/* ------------------------------------------------------------------ memory */

static tarn_status pick_once(void *ctx, tarn_env *env, tarn_error *err) {
  picks *p = ctx;
  const tn_data_file *files[FILES];
  tn_append_queue queue;
  tn_small_files small;
  tn_small_file covered[6];
  tn_file_list list, *tasks;
  tn_arena arena;
  int64_t n;
  tarn_status st;
  tn_arena_init(&arena, &env->mem, SIZE_MAX);
  tn_append_queue_init(&queue, &env->mem, &p->options);
  tn_small_files_init(&small, &env->mem, &p->options);
  for (int i = 0; i < 6; i++) {
    files[i] = &p->files[5 - i];
    covered[i] = (tn_small_file){.file = files[i], .index_file = tn_slice_text(i < 3 ? "i" : "")};
  }
  TN_TRY_TO(done, tn_append_queue_add(&queue, files, 6, err));
  TN_TRY_TO(done, tn_append_queue_pick(&queue, &arena, &list, err));
  TN_TRY_TO(done, tn_append_queue_pick_full(&queue, is_upper, NULL, &arena, &list, err));
  TN_TRY_TO(done, tn_small_files_add(&small, covered, 6, err));
  TN_TRY_TO(done, tn_small_files_pick(&small, &arena, &tasks, &n, err));
done:
  tn_append_queue_free(&queue);
  tn_small_files_free(&small);
  tn_arena_reset(&arena);
  return st;
}

static void append_picks__every_allocation_may_fail(void **state) {
  picks p;
  const tn_data_file *files[FILES];
  (void)state;
  begin(&p);
  add_files(&p, "a1 b1 c1 d1 e1 f1", files);
  assert_true(tn_torture(pick_once, &p, TARN_OK) > 3);
  end(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(queue_pick__first_files_that_are_enough),
      cmocka_unit_test(queue__keeps_the_order_of_sequence_numbers),
      cmocka_unit_test(queue__walk_of_seven_commits),
      cmocka_unit_test(queue_pick_full__what_is_worth_it),
      cmocka_unit_test(small_file__is_small_or_mostly_deleted),
      cmocka_unit_test(small_files_pick__packs_the_smallest_first),
      cmocka_unit_test(small_files_pick__one_file_is_never_copied_alone),
      cmocka_unit_test(small_files__go_together_when_they_are_old),
      cmocka_unit_test(small_files__a_lone_one_is_forgotten),
      cmocka_unit_test(append_picks__every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
