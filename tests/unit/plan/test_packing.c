/* How the files of a bucket become splits. */
#include "plan/packing.h"

#include <stdio.h>
#include <string.h>

#include "table_maker.h"

#define KEYED "0 k INT NOT NULL|1 v STRING"

/* One file of a bucket: its name is a letter. */
typedef struct file {
  char name;
  int32_t level, min, max;
  int64_t size;
  int64_t deletes; /* -1: not counted */
} file;

static char names[26];

static tn_scan_entry entry_of(table_maker *tm, const file *f) {
  tn_manifest_entry e = tm_entry_keyed(tm, "", f->level, f->min, f->max);
  tn_scan_entry out = {0};
  out.file_name = (const uint8_t *)&names[f->name - 'a'];
  out.file_name_len = 1;
  out.min_key = e.file.min_key.data;
  out.min_key_len = (uint32_t)e.file.min_key.len;
  out.max_key = e.file.max_key.data;
  out.max_key_len = (uint32_t)e.file.max_key.len;
  out.level = f->level;
  out.file_size = f->size;
  out.row_count = 1;
  out.min_sequence = f->min;
  out.has_delete_row_count = f->deletes >= 0;
  out.delete_row_count = f->deletes;
  return out;
}

/* "abc*|d": bins as letters; a star: raw. */
static void packs(table_maker *tm, const char *table_options, const file *files, size_t n,
                  const char *expected) {
  static tn_scan_entry entries[64];
  const tn_scan_entry *list[64];
  tn_table *table = tm_table(tm, table_options);
  tn_file_group group = {.files = list, .n_files = (int64_t)n};
  tn_packs out;
  char text[128] = "";
  size_t at = 0;
  memcpy(names, "abcdefghijklmnopqrstuvwxyz", 26);
  for (size_t i = 0; i < n; i++) {
    entries[i] = entry_of(tm, &files[i]);
    list[i] = &entries[i];
  }
  OK(tn_pack_group(table, &group, &tm->arena, &out, err));
  for (int32_t i = 0; i < out.count; i++) {
    text[at] = '|';
    at += i > 0;
    for (int32_t k = 0; k < out.items[i].n_files; k++) {
      text[at++] = (char)out.items[i].files[k]->file_name[0];
    }
    if (out.items[i].is_raw_convertible) {
      text[at++] = '*';
    }
  }
  text[at] = '\0';
  assert_string_equal(text, expected);
  tn_table_release(table);
}
#define N(files) (sizeof(files) / sizeof((files)[0]))

static void begin(table_maker *tm, const char *options) {
  tm_begin(tm, 1);
  tm_schema(tm, 0, KEYED, "", "k", options);
}

static void begin_append(table_maker *tm, const char *options) {
  tm_begin(tm, 1);
  tm_schema(tm, 0, KEYED, "", "", options);
}

/* The example of MergeTreeSplitGenerator: sections 1-2, 3-4, 5-190, 200-700. */
static const file EXAMPLE[] = {{'a', 0, 1, 2, 30, 0},     {'b', 0, 3, 4, 30, 0},
                               {'c', 0, 5, 180, 30, 0},   {'d', 0, 5, 190, 30, 0},
                               {'e', 0, 200, 600, 30, 0}, {'f', 0, 210, 700, 30, 0}};

static void pack__keeps_sections_together(void **state) {
  table_maker tm;
  (void)state;
  begin(&tm, "bucket=1;source.split.open-file-cost=1 b");
  packs(&tm, "source.split.target-size=60 b", EXAMPLE, N(EXAMPLE), "ab|cd|ef");
  packs(&tm, "source.split.target-size=1 b", EXAMPLE, N(EXAMPLE), "a*|b*|cd|ef");
  packs(&tm, "source.split.target-size=1 mb", EXAMPLE, N(EXAMPLE), "abcdef");
  tm_end(&tm);
}

/* However small the target, files that share keys stay in one split. */
static void pack__never_parts_overlapping_files(void **state) {
  static const file SAME[] = {{'a', 0, 1, 9, 30, 0}, {'b', 0, 1, 9, 30, 0}, {'c', 0, 1, 9, 30, 0}};
  static const file LEVELS[] = {{'a', 5, 1, 9, 30, 0}, {'b', 4, 9, 12, 30, 0}};
  table_maker tm;
  (void)state;
  begin(&tm, "bucket=1;source.split.target-size=1 b;source.split.open-file-cost=1 b");
  packs(&tm, "", SAME, N(SAME), "acb");
  packs(&tm, "", LEVELS, N(LEVELS), "ab");
  tm_end(&tm);
}

/* Keys that touch are one section; runs come out as Java's heap holds them. */
static void pack__lays_out_runs_of_a_section(void **state) {
  static const file RUNS[] = {{'a', 0, 1, 5, 1, 0},
                              {'b', 0, 2, 9, 1, 0},
                              {'c', 0, 6, 12, 1, 0},
                              {'d', 0, 10, 11, 1, 0},
                              {'e', 0, 11, 20, 1, 0}};
  table_maker tm;
  (void)state;
  begin(&tm, "bucket=1");
  // Runs: a c, b d, e; their greatest keys 12, 11, 20.
  packs(&tm, "", RUNS, N(RUNS), "bdeac");
  tm_end(&tm);
}

static void pack__sorts_sections_by_key(void **state) {
  static const file MIXED[] = {
      {'a', 0, 50, 60, 5, 0}, {'b', 0, 1, 2, 5, 0}, {'c', 0, 20, 30, 5, 0}};
  table_maker tm;
  (void)state;
  begin(&tm, "bucket=1;source.split.target-size=1 b;source.split.open-file-cost=1 b");
  packs(&tm, "", MIXED, N(MIXED), "b*|c*|a*");
  tm_end(&tm);
}

static void pack__raw_needs_one_level_above_zero_without_deletes(void **state) {
  static const file TOP[] = {{'a', 5, 1, 2, 5, 0}, {'b', 5, 3, 4, 5, 0}};
  static const file UNCOUNTED[] = {{'a', 5, 1, 2, 5, -1}, {'b', 5, 3, 4, 5, 0}};
  static const file DELETES[] = {{'a', 5, 1, 2, 5, 1}, {'b', 5, 3, 4, 5, 0}};
  static const file LEVELS[] = {{'a', 5, 1, 2, 5, 0}, {'b', 4, 3, 4, 5, 0}};
  static const file SINGLE[] = {{'a', 0, 1, 2, 5, 0}};
  static const file SINGLE_DELETES[] = {{'a', 0, 1, 2, 5, 3}};
  table_maker tm;
  (void)state;
  begin(&tm, "bucket=1");
  packs(&tm, "", TOP, N(TOP), "ab*");
  packs(&tm, "", UNCOUNTED, N(UNCOUNTED), "ab*");
  packs(&tm, "", DELETES, N(DELETES), "ab");
  packs(&tm, "", LEVELS, N(LEVELS), "ab");
  packs(&tm, "", SINGLE, N(SINGLE), "a*");
  packs(&tm, "", SINGLE_DELETES, N(SINGLE_DELETES), "a");
  tm_end(&tm);
}

/* With deletion vectors, and with first-row, versions on several levels need no merge. */
static void pack__raw_on_several_levels(void **state) {
  static const file LEVELS[] = {{'a', 5, 1, 9, 5, 0}, {'b', 4, 1, 9, 5, 0}};
  static const file LEVEL_0[] = {{'a', 5, 1, 9, 5, 0}, {'b', 0, 1, 9, 5, 0}};
  table_maker tm;
  (void)state;
  begin(&tm, "bucket=1;deletion-vectors.enabled=true");
  packs(&tm, "", LEVELS, N(LEVELS), "ab*");
  packs(&tm, "", LEVEL_0, N(LEVEL_0), "ba");
  tm_end(&tm);
  begin(&tm, "bucket=1;merge-engine=first-row");
  packs(&tm, "", LEVELS, N(LEVELS), "ab*");
  tm_end(&tm);
}

/* B56: vectors that were switched on later say nothing about files from before. */
static void pack__merges_files_from_before_deletion_vectors(void **state) {
  static const file LEVELS[] = {{'a', 5, 1, 9, 5, 0}, {'b', 4, 1, 9, 5, 0}};
  table_maker tm;
  (void)state;
  begin(&tm, "bucket=1;changelog-producer=lookup");
  tm_schema(&tm, 1, KEYED, "", "k", "bucket=1;deletion-vectors.enabled=true");
  packs(&tm, "", LEVELS, N(LEVELS), "ba");
  tm_end(&tm);
  begin(&tm, "bucket=1;deletion-vectors.enabled=true");
  tm_schema(&tm, 1, KEYED, "", "k", "bucket=1;deletion-vectors.enabled=true;write-only=true");
  packs(&tm, "", LEVELS, N(LEVELS), "ab*");
  tm_end(&tm);
}

static void pack__append_files_by_sequence(void **state) {
  static const file FILES[] = {
      {'a', 0, 7, 7, 10, 0}, {'b', 0, 3, 3, 10, 0}, {'c', 0, 7, 7, 10, 0}, {'d', 0, 1, 1, 10, 0}};
  table_maker tm;
  (void)state;
  begin_append(&tm, "bucket=-1;source.split.open-file-cost=1 b");
  packs(&tm, "", FILES, N(FILES), "dbac*");
  packs(&tm, "source.split.target-size=20 b", FILES, N(FILES), "db*|ac*");
  packs(&tm, "source.split.target-size=19 b", FILES, N(FILES), "d*|b*|a*|c*");
  tm_end(&tm);
}

/* Small files weigh what opening them costs; one beyond the target is alone. */
static void pack__weighs_opening(void **state) {
  static const file FILES[] = {
      {'a', 0, 1, 1, 1, 0}, {'b', 0, 2, 2, 1, 0}, {'c', 0, 3, 3, 500, 0}, {'d', 0, 4, 4, 1, 0}};
  table_maker tm;
  (void)state;
  begin_append(&tm, "bucket=-1;source.split.open-file-cost=10 b;source.split.target-size=20 b");
  packs(&tm, "", FILES, N(FILES), "ab*|c*|d*");
  tm_end(&tm);
}

static void pack__a_sum_of_sizes_does_not_wrap(void **state) {
  static const file FILES[] = {
      {'a', 0, 1, 9, INT64_MAX, 0}, {'b', 0, 1, 9, INT64_MAX, 0}, {'c', 0, 10, 11, 1, 0}};
  table_maker tm;
  (void)state;
  begin(&tm, "bucket=1");
  packs(&tm, "", FILES, N(FILES), "ba|c*");
  tm_end(&tm);
}

static void pack__rejects_keys_of_another_width(void **state) {
  table_maker tm;
  file f = {'a', 0, 1, 2, 5, 0};
  tn_scan_entry entry;
  const tn_scan_entry *list[2] = {&entry, &entry};
  tn_file_group group = {.files = list, .n_files = 2};
  tn_packs out;
  tn_table *table;
  tarn_error error = {0};
  (void)state;
  begin(&tm, "bucket=1");
  table = tm_table(&tm, "");
  entry = entry_of(&tm, &f);
  entry.max_key = tm_row(&tm, "INT|INT", "1|2").data;
  entry.max_key_len = 4 + 8 + 16;
  assert_int_equal(tn_pack_group(table, &group, &tm.arena, &out, &error), TARN_E_CORRUPT);
  entry.max_key_len = 3;
  assert_int_equal(tn_pack_group(table, &group, &tm.arena, &out, &error), TARN_E_CORRUPT);
  tn_table_release(table);
  tm_end(&tm);
}

/* Files of one range of row ids stay together; a blob file weighs as opening one when asked so. */
static void pack__data_evolution_by_row_ids(void **state) {
  static const struct {
    const char *name;
    int64_t first, rows, size;
  } FILES[] = {{"b1", 10, 10, 5}, {"a1", 0, 10, 5}, {"a2.blob", 0, 10, 900}, {"c1", 20, 5, 5}};
  table_maker tm;
  tn_scan_entry entries[4];
  tn_data_file rest[4];
  const tn_scan_entry *list[4];
  tn_file_group group = {.files = list, .n_files = 4};
  tn_packs out;
  tn_table *table;
  (void)state;
  begin_append(&tm,
               "bucket=-1;row-tracking.enabled=true;source.split.open-file-cost=1 b;"
               "source.split.target-size=12 b;blob.split-by-file-size=false");
  table = tm_table(&tm, "");
  table->facts.data_evolution = true;
  memset(entries, 0, sizeof(entries));
  memset(rest, 0, sizeof(rest));
  for (int i = 0; i < 4; i++) {
    rest[i].has_first_row_id = true;
    rest[i].first_row_id = FILES[i].first;
    rest[i].row_count = FILES[i].rows;
    entries[i].rest = &rest[i];
    entries[i].row_count = FILES[i].rows;
    entries[i].file_size = FILES[i].size;
    entries[i].file_name = (const uint8_t *)FILES[i].name;
    entries[i].file_name_len = (uint32_t)strlen(FILES[i].name);
    list[i] = &entries[i];
  }
  OK(tn_pack_group(table, &group, &tm.arena, &out, err));
  assert_int_equal(out.count, 2);
  assert_int_equal(out.items[0].n_files, 3);
  assert_false(out.items[0].is_raw_convertible);
  assert_memory_equal(out.items[0].files[0]->file_name, "a1", 2);
  assert_memory_equal(out.items[0].files[1]->file_name, "a2", 2);
  assert_memory_equal(out.items[0].files[2]->file_name, "b1", 2);
  assert_int_equal(out.items[1].n_files, 1);
  assert_true(out.items[1].is_raw_convertible);
  tn_table_release(table);
  tm_end(&tm);
}

static void never_overlaps__one_level_above_zero(void **state) {
  tn_scan_entry entries[3] = {{.level = 5}, {.level = 5}, {.level = 0}};
  const tn_scan_entry *list[3] = {&entries[0], &entries[1], &entries[2]};
  tn_file_group group = {.files = list};
  (void)state;
  group.n_files = 2;
  assert_true(tn_group_never_overlaps(&group));
  group.n_files = 3;
  assert_false(tn_group_never_overlaps(&group));
  group.files = list + 2;
  group.n_files = 1;
  assert_true(tn_group_never_overlaps(&group));  // a single file of level 0
  list[0] = list[1] = &entries[2];
  group.files = list;
  group.n_files = 2;
  assert_false(tn_group_never_overlaps(&group));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pack__keeps_sections_together),
      cmocka_unit_test(pack__never_parts_overlapping_files),
      cmocka_unit_test(pack__lays_out_runs_of_a_section),
      cmocka_unit_test(pack__sorts_sections_by_key),
      cmocka_unit_test(pack__raw_needs_one_level_above_zero_without_deletes),
      cmocka_unit_test(pack__raw_on_several_levels),
      cmocka_unit_test(pack__merges_files_from_before_deletion_vectors),
      cmocka_unit_test(pack__append_files_by_sequence),
      cmocka_unit_test(pack__weighs_opening),
      cmocka_unit_test(pack__a_sum_of_sizes_does_not_wrap),
      cmocka_unit_test(pack__rejects_keys_of_another_width),
      cmocka_unit_test(pack__data_evolution_by_row_ids),
      cmocka_unit_test(never_overlaps__one_level_above_zero),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
