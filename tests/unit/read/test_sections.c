/* Files of a split as sections of sorted runs; their age; their sequence numbers. */
#include "read/sections.h"

#include <stdio.h>
#include <stdlib.h>

#include "read_test.h"

/* Files "min-max" of an INT key. */
static void add_files(read_test *t, const char *ranges) {
  rt_split(t, false);
  while (*ranges != '\0') {
    char *end;
    long min = strtol(ranges, &end, 10), max = strtol(end + 1, &end, 10);
    rt_add(t, tm_entry_keyed(&t->tm, "f", 0, (int32_t)min, (int32_t)max).file);
    ranges = *end == ' ' ? end + 1 : end;
  }
}

static const struct section_case {
  const char *ranges;
  const char *expected; /* sections in braces, runs parted by "/" (as sorted texts), file indexes */
} section_cases[] = {
    {"", ""},
    {"1-2", "{0}"},
    {"1-2 3-4", "{0}{1}"},
    {"3-4 1-2", "{1}{0}"},
    {"1-3 3-4", "{0/1}"}, /* touching keys overlap */
    {"1-2 3-4 5-180 5-190 200-600 210-700", "{0}{1}{2/3}{4/5}"},
    {"1-10 2-3 4-5 6-7", "{0/1 2 3}"},
    {"1-2 2-5 4-9 8-12 11-20", "{0 2 4/1 3}"},
    {"5-5 5-5 5-5", "{0/1/2}"},
};

static int by_first(const void *a, const void *b) {
  return ((const tn_sorted_run *)a)->files[0] - ((const tn_sorted_run *)b)->files[0];
}

static void sections__hold_what_overlaps(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(section_cases) / sizeof(section_cases[0]); i++) {
    read_test t;
    tn_section *sections;
    int32_t n;
    char text[256] = "";
    size_t at = 0;
    rt_begin(&t, 1);
    tm_schema(&t.tm, 0, "0 k INT NOT NULL", "", "k", "bucket=1");
    rt_open(&t, "");
    add_files(&t, section_cases[i].ranges);
    OK(tn_sections_make(&t.tm.arena, t.table->schema, &t.splits[0], &sections, &n, err));
    for (int32_t s = 0; s < n; s++) {
      qsort(sections[s].runs, (size_t)sections[s].n_runs, sizeof(tn_sorted_run), by_first);
      at += (size_t)sprintf(text + at, "{");
      for (int32_t r = 0; r < sections[s].n_runs; r++) {
        at += (size_t)sprintf(text + at, r > 0 ? "/" : "");
        for (int32_t f = 0; f < sections[s].runs[r].n_files; f++) {
          at += (size_t)sprintf(text + at, "%s%d", f > 0 ? " " : "",
                                (int)sections[s].runs[r].files[f]);
        }
      }
      at += (size_t)sprintf(text + at, "}");
    }
    assert_string_equal(text, section_cases[i].expected);
    rt_end(&t);
  }
}

static void sections__refuse_keys_that_are_none(void **state) {
  read_test t;
  tn_section *sections;
  int32_t n;
  tarn_error error;
  (void)state;
  rt_begin(&t, 1);
  tm_schema(&t.tm, 0, "0 k INT NOT NULL", "", "k", "bucket=1");
  rt_open(&t, "");
  add_files(&t, "1-2 7-9");
  t.files[0][1].max_key = tm_row(&t.tm, "INT|INT", "1|2");
  assert_int_equal(
      tn_sections_make(&t.tm.arena, t.table->schema, &t.splits[0], &sections, &n, &error),
      TARN_E_CORRUPT);
  t.files[0][1].max_key = tm_row(&t.tm, "INT", "null");
  assert_int_equal(
      tn_sections_make(&t.tm.arena, t.table->schema, &t.splits[0], &sections, &n, &error),
      TARN_E_CORRUPT);
  t.files[0][1].max_key = tm_row(&t.tm, "INT", "3"); /* below its beginning */
  assert_int_equal(
      tn_sections_make(&t.tm.arena, t.table->schema, &t.splits[0], &sections, &n, &error),
      TARN_E_CORRUPT);
  rt_end(&t);
}

static const struct start_case {
  const char *types, *ranges[4]; /* min and max of two files */
  const char *start;
} start_cases[] = {
    {"STRING", {"order-100", "order-250", "order-199", "order-299"}, "order-"},
    {"STRING", {"a", "a", "a", "a"}, "a"},
    {"STRING", {"A", "b", "a", "c"}, ""},
    {"STRING", {"ab", "abc", "ab", "abd"}, "ab"},
    {"INT", {"256", "300", "257", "301"}, ""},
};

static void section_common_start__is_that_of_the_range(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(start_cases) / sizeof(start_cases[0]); i++) {
    const struct start_case *c = &start_cases[i];
    read_test t;
    tn_section *sections;
    int32_t n;
    char fields[64];
    rt_begin(&t, 1);
    sprintf(fields, "0 k %s NOT NULL", c->types);
    tm_schema(&t.tm, 0, fields, "", "k", "bucket=1");
    rt_open(&t, "");
    add_files(&t, "1-2 1-2");
    for (int f = 0; f < 2; f++) {
      t.files[0][f].min_key = tm_row(&t.tm, c->types, c->ranges[2 * f]);
      t.files[0][f].max_key = tm_row(&t.tm, c->types, c->ranges[2 * f + 1]);
    }
    OK(tn_sections_make(&t.tm.arena, t.table->schema, &t.splits[0], &sections, &n, err));
    assert_int_equal(n, 1);
    assert_true(tn_slice_is(tn_section_common_start(t.table->schema, &sections[0]), c->start));
    rt_end(&t);
  }
}

static void sections_rank__orders_by_level_sequence_time_and_place(void **state) {
  read_test t;
  int32_t *ranks;
  (void)state;
  rt_begin(&t, 1);
  tm_schema(&t.tm, 0, "0 k INT NOT NULL", "", "k", "bucket=1");
  rt_open(&t, "");
  add_files(&t, "1-2 1-2 1-2 1-2 1-2");
  tn_data_file *f = t.files[0];
  f[0].max_sequence = 9;
  f[1].max_sequence = 5;
  f[1].creation_time_ms = 20;
  f[2].max_sequence = 5;
  f[2].creation_time_ms = 10;
  f[3].max_sequence = 100;
  f[3].level = 5;
  f[4] = f[2]; /* later in the list */
  OK(tn_sections_rank(&t.tm.arena, &t.splits[0], &ranks, err));
  assert_int_equal(ranks[3], 0);
  assert_int_equal(ranks[2], 1);
  assert_int_equal(ranks[4], 2);
  assert_int_equal(ranks[1], 3);
  assert_int_equal(ranks[0], 4);
  rt_end(&t);
}

static const struct sequence_case {
  int64_t ranges[4][2]; /* of files 0 to 3; runs: {0, 1} {2} {3} */
  bool overlaps;
} sequence_cases[] = {
    {{{0, 4}, {5, 9}, {10, 14}, {15, 19}}, false},
    {{{0, 6}, {5, 9}, {10, 14}, {15, 19}}, false}, /* within one run */
    {{{0, 4}, {30, 39}, {10, 14}, {15, 19}}, false},
    {{{0, 20}, {30, 39}, {20, 24}, {25, 29}}, true}, /* one number in common */
    {{{0, 4}, {5, 12}, {10, 14}, {15, 19}}, true},
    {{{0, 100}, {5, 9}, {10, 14}, {15, 19}}, true},
    {{{15, 19}, {5, 9}, {10, 14}, {0, 5}}, true},
    {{{-1, -1}, {5, 9}, {10, 14}, {15, 19}}, true}, /* unknown */
    {{{4, 0}, {5, 9}, {10, 14}, {15, 19}}, true},
};

static void section_sequences__overlap_between_runs_alone(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(sequence_cases) / sizeof(sequence_cases[0]); i++) {
    read_test t;
    static int32_t files[][2] = {{0, 1}, {2}, {3}};
    tn_sorted_run runs[] = {{files[0], 2}, {files[1], 1}, {files[2], 1}};
    const tn_section section = {runs, 3};
    bool overlaps;
    rt_begin(&t, 1);
    tm_schema(&t.tm, 0, "0 k INT NOT NULL", "", "k", "bucket=1");
    rt_open(&t, "");
    add_files(&t, "1-2 3-4 1-4 1-4");
    for (int f = 0; f < 4; f++) {
      t.files[0][f].min_sequence = sequence_cases[i].ranges[f][0];
      t.files[0][f].max_sequence = sequence_cases[i].ranges[f][1];
    }
    OK(tn_section_sequences_overlap(&t.tm.arena, &t.splits[0], &section, &overlaps, err));
    if (overlaps != sequence_cases[i].overlaps) {
      fail_msg("case %d", (int)i);
    }
    rt_end(&t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sections__hold_what_overlaps),
      cmocka_unit_test(sections__refuse_keys_that_are_none),
      cmocka_unit_test(section_common_start__is_that_of_the_range),
      cmocka_unit_test(sections_rank__orders_by_level_sequence_time_and_place),
      cmocka_unit_test(section_sequences__overlap_between_runs_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
