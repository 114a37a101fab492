/* tree_text.h - trees of a bucket out of short texts, and the texts of trees and picks.
 *
 * A file is "level:name", with "@min-max" its keys (0-9), "#size" its bytes (1); "*N" behind a
 * file of level 0 makes N of them. Files of level 0 come newest first. Include once in a program;
 * everything fails through cmocka.
 */
#ifndef TN_TESTS_UNIT_COMPACT_TREE_TEXT_H
#define TN_TESTS_UNIT_COMPACT_TREE_TEXT_H

#include "table_maker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compact/options.h"
#include "compact/strategy.h"

#define TREE_FILES 64

typedef struct tree_maker {
  table_maker tm;
  tn_table *table;
  tn_compact_options options;
  tn_data_file *files[TREE_FILES];
  int64_t n_files;
  int64_t sequence; /* of the next file of tree_file */
} tree_maker;

/* A table of key k INT with these options besides. */
static inline void tree_begin(tree_maker *t, const char *options) {
  char text[400];
  memset(t, 0, sizeof(*t));
  snprintf(text, sizeof(text), "bucket=1%s%s", options[0] != '\0' ? ";" : "", options);
  tm_begin(&t->tm, 1);
  tm_schema(&t->tm, 0, "0 k INT NOT NULL|1 v INT|2 ts BIGINT", "", "k", text);
  t->table = tm_table(&t->tm, "");
  OK(tn_compact_options_read(t->table, &t->tm.arena, &t->options, err));
  t->sequence = 1000;
}

static inline void tree_end(tree_maker *t) {
  tn_table_release(t->table);
  tm_end(&t->tm);
}

static inline tn_data_file *tree_file(tree_maker *t, int32_t level, const char *name, int64_t size,
                                      int32_t min, int32_t max) {
  tn_manifest_entry entry = tm_entry_keyed(&t->tm, name, level, min, max);
  tn_data_file *file = tn_arena_memdup(&t->tm.arena, &entry.file, sizeof(entry.file));
  assert_non_null(file);
  file->file_name =
      tn_slice_text(tn_arena_strdup(&t->tm.arena, name)); /* the caller's text may go */
  file->file_size = size;
  file->min_sequence = file->max_sequence = t->sequence--;
  return file;
}

/* Files of "0:a#5 0:b 5:c@0-9#100" to t->files. */
static inline void tree_parse(tree_maker *t, const char *text) {
  t->n_files = 0;
  for (const char *at = text; *at != '\0';) {
    char name[24] = "";
    int level = (int)strtol(at, (char **)(uintptr_t)&at, 10), n_name = 0, count = 1;
    long min = 0, max = 9, size = 1;
    assert_int_equal(*at++, ':');
    while (*at != '\0' && strchr("@#* ", *at) == NULL) {
      name[n_name++] = *at++;
    }
    if (*at == '@') {
      min = strtol(at + 1, (char **)(uintptr_t)&at, 10);
      max = strtol(at + 1, (char **)(uintptr_t)&at, 10);
    }
    if (*at == '#') {
      size = strtol(at + 1, (char **)(uintptr_t)&at, 10);
    }
    if (*at == '*') {
      count = (int)strtol(at + 1, (char **)(uintptr_t)&at, 10);
    }
    for (int i = 0; i < count; i++) {
      char full[32];
      snprintf(full, sizeof(full), i > 0 ? "%s%d" : "%s", name, i);
      assert_true(t->n_files < TREE_FILES);
      t->files[t->n_files++] = tree_file(t, level, full, size, (int32_t)min, (int32_t)max);
    }
    while (*at == ' ') {
      at++;
    }
  }
}

static inline tarn_status tree_load(tree_maker *t, int32_t num_levels, tn_levels **out,
                                    tarn_error *err) {
  return tn_levels_create(&t->tm.env->mem, t->table->schema, num_levels, t->options.checks_overlap,
                          (const tn_data_file *const *)t->files, t->n_files, out, err);
}

static inline tn_levels *tree_levels(tree_maker *t, const char *text) {
  tn_levels *levels = NULL;
  tree_parse(t, text);
  OK(tree_load(t, t->options.num_levels, &levels, err));
  return levels;
}

/* "0:a 0:b 1:c,d": run by run. */
static inline const char *tree_text(tree_maker *t, const tn_levels *levels) {
  char *text = tn_arena_strdup(&t->tm.arena, "");
  for (int64_t r = 0; r < levels->n_runs; r++) {
    const tn_level_run *run = &levels->runs[r];
    int64_t size = 0;
    text = tn_arena_printf(&t->tm.arena, "%s%s%d:", text, r > 0 ? " " : "", (int)run->level);
    for (int64_t i = 0; i < run->n_files; i++) {
      const tn_data_file *file = run->files[i]->file;
      assert_int_equal(file->level, run->level);
      size += file->file_size;
      text = tn_arena_printf(&t->tm.arena, "%s%s%.*s", text, i > 0 ? "," : "",
                             TN_SLICE_ARG(file->file_name));
    }
    assert_int_equal(size, run->size_bytes);
  }
  assert_non_null(text);
  return text;
}

/* "5 > 4 size-ratio", or "nothing". */
static inline const char *unit_text(tree_maker *t, const tn_compact_unit *unit) {
  char *text;
  if (unit->reason == TN_PICK_NONE) {
    assert_int_equal(unit->n_files, 0);
    return "nothing";
  }
  text = tn_arena_printf(&t->tm.arena, "%lld > %d %s", (long long)unit->n_files,
                         (int)unit->output_level, tn_pick_reason_text(unit->reason));
  assert_non_null(text);
  return text;
}

#endif
