/* test_evolved_picks.c - which files of a table with data evolution become one. */
#include "dedicated/evolved_picks.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/torture.h"
#include "write_maker.h"

#define MAX_FILES 32

typedef struct pick_case {
  /* "a 0+100" rows, "b.blob 0+100 x@1" a column of a schema, "!a" stays; ";" between */
  const char *files;
  int64_t target, min_files;
  const char *tasks; /* "0+150: a b; .." */
} pick_case;

typedef struct fixture {
  tarn_env *env;
  tn_arena arena;
} fixture;

/* Each weighs 10. */
static int32_t parse_files(fixture *f, const char *text, tn_data_file *files) {
  char *rest = tn_arena_strdup(&f->arena, text), *item;
  int32_t n = 0;
  while ((item = strtok_r(rest, ";", &rest)) != NULL) {
    char *name = strtok_r(item, " ", &item), *span = strtok_r(item, " ", &item);
    char *column = strtok_r(item, " ", &item), *end;
    tn_data_file *file = &files[n++];
    assert_true(n <= MAX_FILES);
    *file = (tn_data_file){.file_name = tn_slice_text(name), .file_size = 10};
    file->has_first_row_id = strcmp(span, "-") != 0;
    if (file->has_first_row_id) {
      file->first_row_id = strtoll(span, &end, 10);
      file->row_count = strtoll(end + 1, NULL, 10);
    }
    if (column != NULL) {
      char *at = strchr(column, '@');
      tn_slice *columns = tn_arena_calloc(&f->arena, 1, sizeof(*columns));
      file->schema_id = at != NULL ? strtoll(at + 1, NULL, 10) : 0;
      *columns =
          tn_slice_of((const uint8_t *)column, at != NULL ? (size_t)(at - column) : strlen(column));
      file->write_cols = (tn_record_array){columns, 1};
      file->has_write_cols = true;
    }
  }
  return n;
}

static const char *pick(fixture *f, const pick_case *c) {
  const tn_evolved_rules rules = {
      .target_bytes = c->target, .open_bytes = 1, .min_files = c->min_files};
  tn_data_file files[MAX_FILES];
  bool stays[MAX_FILES];
  int32_t n = parse_files(f, c->files, files);
  char *out = tn_arena_calloc(&f->arena, 1, 4096);
  for (int32_t i = 0; i < n; i++) {
    stays[i] = files[i].file_name.data[0] == '!';
  }
  tn_evolved_task *tasks;
  int64_t n_tasks;
  OK(tn_evolved_pick(&rules, files, stays, n, &f->arena, &tasks, &n_tasks, err));
  for (int64_t i = 0; i < n_tasks; i++) {
    size_t len = strlen(out);
    snprintf(out + len, 4096 - len, "%s%lld+%lld:", i > 0 ? "; " : "",
             (long long)tasks[i].first_row_id, (long long)tasks[i].n_rows);
    assert_int_equal(tasks[i].n_bytes, 10 * tasks[i].n_files);
    for (int64_t k = 0; k < tasks[i].n_files; k++) {
      len = strlen(out);
      snprintf(out + len, 4096 - len, " %.*s", TN_SLICE_ARG(files[tasks[i].files[k]].file_name));
    }
  }
  return out;
}

static void run_cases(const pick_case *cases, size_t n) {
  fixture f = {.env = tn_test_env(1, 0)};
  for (size_t i = 0; i < n; i++) {
    tn_arena_init(&f.arena, &f.env->mem, SIZE_MAX);
    assert_string_equal(pick(&f, &cases[i]), cases[i].tasks);
    tn_arena_reset(&f.arena);
  }
  tarn_env_free(f.env);
}

static void rows__that_follow_each_other_become_one_file(void **state) {
  static const pick_case cases[] = {
      {"a 0+5;b 5+5;c 10+1", 100, 2, "0+11: a b c"},
      {"c 10+1;a 0+5;b 5+5", 100, 3, "0+11: a b c"},
      {"a 0+5;b 5+5;c 10+1", 100, 4, ""},
      {"a 0+5;b 5+5;c 11+1;d 12+1", 100, 2, "0+10: a b; 11+2: c d"}, /* one is missing */
      {"a 0+5;u 0+5;b 5+5", 100, 3, "0+10: a u b"},                  /* columns side by side */
      {"a 0+5;u 0+5;b 6+5", 100, 2, "0+5: a u"},
      {"a 0+5", 100, 2, ""},
      {"a 0+5", 100, 1, "0+5: a"},
      {"", 100, 2, ""},
  };
  (void)state;
  run_cases(cases, TN_COUNT(cases));
}

static void tasks__end_behind_the_target_size(void **state) {
  static const pick_case cases[] = {
      {"a 0+1;b 1+1;c 2+1;d 3+1;e 4+1", 19, 2, "0+2: a b; 2+2: c d"},
      {"a 0+1;b 1+1;c 2+1;d 3+1;e 4+1", 20, 2, "0+3: a b c; 3+2: d e"},
      /* Larger alone: those before it do not wait for those behind it. */
      {"a 0+1;b 1+1;c 2+1;d 2+1;e 2+1;f 3+1;g 4+1", 29, 2, "0+2: a b; 2+1: c d e; 3+2: f g"},
      {"a 0+1;b 1+1;c 2+1", 9, 2, ""},
  };
  (void)state;
  run_cases(cases, TN_COUNT(cases));
}

static void files__of_blobs_cover_all_rows_or_none(void **state) {
  static const pick_case cases[] = {
      {"a 0+5;a.blob 0+5 x;b 5+5;b.blob 5+5 x", 100, 2, "0+10: a b"},
      {"a 0+5;a.blob 0+3 x;c.blob 3+2 x;b 5+5;b.blob 5+5 x", 100, 2, "0+10: a b"},
      {"a 0+5;b 5+5;b.blob 5+5 x", 100, 2, ""},
      {"a 0+5;a.blob 0+5 x;b 5+5", 100, 2, ""},
      {"a 0+5;u 0+5;a.blob 0+5 x;b 5+5;c 10+5", 100, 2, "0+5: a u; 5+10: b c"},
      {"a 0+5;a.blob 0+5 x;b 5+5;b.blob 5+5 y", 100, 2, ""},
      {"a 0+5;a.blob 0+5 x@0;b 5+5;b.blob 5+5 x@1", 100, 2, ""}, /* another column, perhaps */
      {"a 0+5;a.blob 0+5 x;c.blob 0+5 y;b 5+5;b.blob 5+5 x;d.blob 5+5 y", 100, 2, "0+10: a b"},
      {"a 0+5;a.blob 0+5 x;c.blob 0+5 y;b 5+5;b.blob 5+5 x", 100, 2, ""},
      /* Written anew. */
      {"a 0+5;a.blob 0+5 x;c.blob 0+5 x;b 5+5;b.blob 5+5 x", 100, 2, "0+10: a b"},
      /* Gaps in front, in between, behind. */
      {"a 0+5;a.blob 1+4 x;b 5+5;b.blob 5+5 x", 100, 2, ""},
      {"a 0+5;a.blob 0+1 x;c.blob 2+3 x;b 5+5;b.blob 5+5 x", 100, 2, ""},
      {"a 0+5;a.blob 0+4 x;b 5+5;b.blob 5+5 x", 100, 2, ""},
      {"a 0+5;u 0+5;a.blob 0+4 x;b 5+5;b.blob 5+5 x", 100, 2, "0+5: a u"},
      {"a 0+5;a.blob 0+4 x;c.blob 0+5 y;b 5+5;b.blob 5+5 x;d.blob 5+5 y", 100, 2, ""},
      /* Of rows that no data file has. */
      {"a 0+5;u 0+5;a.blob 0+6 x", 100, 2, ""},
      {"a.blob 0+5 x;b.blob 5+5 x", 100, 1, ""},
  };
  (void)state;
  run_cases(cases, TN_COUNT(cases));
}

static void files__of_vectors_have_the_rows_of_a_data_file(void **state) {
  static const pick_case cases[] = {
      {"a 0+5;a.vector.avro 0+5 e;b 5+5;b.vector.avro 5+5 e", 100, 2, ""},
      {"a 0+5;u 0+5;a.vector.avro 0+5 e;b 5+5;b.vector.avro 5+5 e", 100, 2, "0+5: a u"},
  };
  (void)state;
  run_cases(cases, TN_COUNT(cases));
}

static void files__of_a_part_of_the_rows_are_put_together(void **state) {
  static const pick_case cases[] = {
      {"a 0+5;u 0+3", 100, 5, "0+5: a u"},
      {"a 0+5;b 5+5;u 3+4;c 10+2", 100, 5, "0+12: a b u c"},
      {"a 0+5;b 5+5;u 3+4;c 11+2", 100, 2, "0+10: a b u"},
  };
  (void)state;
  run_cases(cases, TN_COUNT(cases));
}

static void files__that_tell_no_row_ids_or_hold_more_stay(void **state) {
  static const pick_case cases[] = {
      {"a -;b -;c 0+5;d 5+5", 100, 1, "0+10: c d"},
      {"a -", 100, 1, ""},
      {"a 0+5;b 5+5;!c 10+5;d 15+5;u 15+5", 100, 2, "0+10: a b; 15+5: d u"},
      {"!a 0+5;u 0+5", 100, 1, ""},
  };
  (void)state;
  run_cases(cases, TN_COUNT(cases));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows__that_follow_each_other_become_one_file),
      cmocka_unit_test(tasks__end_behind_the_target_size),
      cmocka_unit_test(files__of_blobs_cover_all_rows_or_none),
      cmocka_unit_test(files__of_vectors_have_the_rows_of_a_data_file),
      cmocka_unit_test(files__of_a_part_of_the_rows_are_put_together),
      cmocka_unit_test(files__that_tell_no_row_ids_or_hold_more_stay),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
