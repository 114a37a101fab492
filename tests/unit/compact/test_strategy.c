/* Picks: tables of trees and what Java 1.4.2 picks of them, walks of commits, waiting, options. */
#include "tree_text.h"

#include "support/torture.h"

#define NOON 12

static const char *pick_at(tree_maker *t, tn_strategy *s, const tn_levels *levels, int64_t now_ms,
                           int32_t hour, tn_compact_unit *unit) {
  OK(tn_strategy_pick(s, levels, now_ms, hour, &t->tm.arena, unit, err));
  return unit_text(t, unit);
}

/* The first pick of a fresh strategy. */
static void expect_pick(const char *options, const char *files, int32_t hour, const char *wanted) {
  tree_maker t;
  tn_levels *levels;
  tn_strategy s;
  tn_compact_unit unit;
  const char *got;
  tree_begin(&t, options);
  levels = tree_levels(&t, files);
  tn_strategy_init(&s, &t.options);
  got = pick_at(&t, &s, levels, 1000, hour, &unit);
  if (strcmp(got, wanted) != 0) {
    fail_msg("[%s] of [%s]: '%s' instead of '%s'", options, files, got, wanted);
  }
  assert_int_equal(s.n_picks[unit.reason], unit.reason != TN_PICK_NONE);
  for (int64_t i = 0; i < unit.n_files; i++) { /* the newest ones */
    assert_ptr_equal(unit.files[i], levels->files[i]->file);
  }
  tn_levels_free(levels);
  tree_end(&t);
}

/* ------------------------------------------------------------------ universal */

/* Rows that Java 1.4.2 was asked for. */
static const struct {
  const char *files, *universal, *forced; /* NULL: the same */
} rows[] = {
    {"0:a#1*4", "nothing", "4 > 5 level-0"},
    {"0:a#1*5", "5 > 5 size-amplification", NULL},
    {"0:a#1*4 5:x#100", "4 > 4 size-ratio", NULL},
    {"0:a#1*4 5:x#1", "5 > 5 size-amplification", NULL},
    {"0:a#1 0:b#2 0:c#4 0:d#8 5:x#100", "nothing", "4 > 4 level-0"},
    {"0:a#1 0:b#2 0:c#4 0:d#8 0:e#16 5:x#100", "6 > 5 file-num", NULL},
    {"0:a#1 0:b#10 4:x#100 5:y#1000", "nothing", "2 > 3 level-0"},
    {"0:a#1*3 4:x#100 5:y#1000", "3 > 3 size-ratio", NULL},
    {"0:a#1*3 1:x#100 5:y#1000", "4 > 1 size-ratio", NULL},
    {"0:a#1 1:w#100 2:x#1000 3:y#10000 5:z#100000", "nothing", "2 > 1 level-0"},
    {"0:a#100 0:b#1 1:x#1 2:y#1000 5:z#100000", "3 > 1 size-ratio", NULL},
    {"0:a#1 5:x#1000", "nothing", "1 > 4 level-0"},
    {"0:a#1 1:x#10 5:y#1000", "nothing", "2 > 1 level-0"},
    {"5:x#1000", "nothing", NULL},
    {"0:a#7", "nothing", "1 > 5 level-0"},
    {"0:a#1*6 1:x#10 5:y#1000", "7 > 1 size-ratio", NULL},
    {"0:a#101 0:b#100 0:c#200 0:d#300 0:e#400 5:x#100000", "5 > 4 size-ratio", NULL},
    {"", "nothing", NULL},
};

static void universal__picks_what_java_picks(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(rows); i++) {
    expect_pick("", rows[i].files, NOON, rows[i].universal);
  }
}

static void force_level_0__picks_what_java_picks(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(rows); i++) {
    const char *forced = rows[i].forced != NULL ? rows[i].forced : rows[i].universal;
    expect_pick("compaction.force-up-level-0=true", rows[i].files, NOON, forced);
    expect_pick("force-lookup=true", rows[i].files, NOON, forced);
    expect_pick("changelog-producer=lookup", rows[i].files, NOON, forced);
    expect_pick("deletion-vectors.enabled=true", rows[i].files, NOON, forced);
    expect_pick("merge-engine=first-row", rows[i].files, NOON, forced);
  }
}

static void universal__options_move_its_borders(void **state) {
  static const struct {
    const char *options, *files, *pick;
  } cases[] = {
      /* amplification is strict */
      {"", "0:a#1*4 5:x#2", "5 > 5 size-ratio"},
      {"compaction.size-ratio=0", "0:a#40 0:b#50 0:c#60 0:d#50 5:x#100", "nothing"},
      {"compaction.size-ratio=0", "0:a#40 0:b#50 0:c#60 0:d#51 5:x#100",
       "5 > 5 size-amplification"},
      {"compaction.max-size-amplification-percent=199;compaction.size-ratio=0",
       "0:a#40 0:b#50 0:c#60 0:d#50 5:x#100", "5 > 5 size-amplification"},
      /* so is the ratio */
      {"", "0:a#100 0:b#101 2:c#1000 3:d#10000 5:e#100000", "2 > 1 size-ratio"},
      {"", "0:a#100 0:b#102 2:c#1000 3:d#10000 5:e#100000", "nothing"},
      {"compaction.size-ratio=2", "0:a#100 0:b#102 2:c#1000 3:d#10000 5:e#100000",
       "2 > 1 size-ratio"},
      /* a run that is too large ends it, whatever its level */
      {"", "0:a#1 0:b#1 0:c#10 1:x#20 5:y#1000", "4 > 1 size-ratio"},
      {"", "0:a#1 0:b#1 2:w#10 3:x#20 5:y#1000", "2 > 1 size-ratio"},
      {"num-sorted-run.compaction-trigger=2", "0:a#1 0:b#1", "2 > 2 size-ratio"},
      {"num-sorted-run.compaction-trigger=2", "0:a#1", "nothing"},
      {"num-sorted-run.compaction-trigger=2;num-levels=9", "0:a#1 0:b#1", "2 > 8 size-ratio"},
      {"num-sorted-run.compaction-trigger=2147483647", "0:a#1*40", "nothing"},
      {"num-sorted-run.compaction-trigger=1", "0:a#1 1:b#100 2:c#1000", "3 > 2 file-num"},
      {"num-sorted-run.compaction-trigger=0;num-levels=4", "", "nothing"},
      {"num-sorted-run.compaction-trigger=0;num-levels=4", "0:a", "nothing"},
      {"num-sorted-run.compaction-trigger=-3;num-levels=4;sort-spill-threshold=2", "0:a#1 1:b#100",
       "2 > 3 file-num"},
      {"num-levels=3", "0:a#1*4 5:x#100", "4 > 4 size-ratio"}, /* the tree has six */
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    expect_pick(cases[i].options, cases[i].files, NOON, cases[i].pick);
  }
}

static void off_peak__adds_to_the_ratio_within_its_hours(void **state) {
  static const struct {
    int32_t start, end, hour;
    int64_t ratio; /* 1, or 1 and 10 */
  } cases[] = {
      {-1, -1, 3, 1},  {-1, 5, 3, 1},  {2, -1, 3, 1},  {3, 3, 3, 1},   {2, 5, 1, 1},
      {2, 5, 2, 11},   {2, 5, 4, 11},  {2, 5, 5, 1},   {22, 6, 21, 1}, {22, 6, 22, 11},
      {22, 6, 23, 11}, {22, 6, 0, 11}, {22, 6, 5, 11}, {22, 6, 6, 1},
  };
  static const char files[] = "0:a#100 0:b#105 2:c#1000 3:d#10000 5:e#100000";
  static const char format[] =
      "compaction.offpeak.start.hour=%d;compaction.offpeak.end.hour=%d;compaction.offpeak-ratio=10";
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    char text[160];
    tree_maker t;
    snprintf(text, sizeof(text), format, (int)cases[i].start, (int)cases[i].end);
    tree_begin(&t, text);
    assert_int_equal(tn_compact_size_ratio(&t.options, cases[i].hour), cases[i].ratio);
    tree_end(&t);
    expect_pick(text, files, cases[i].hour, cases[i].ratio > 1 ? "2 > 1 size-ratio" : "nothing");
  }
}

/* ------------------------------------------------------------------ early full */

static void early_full__goes_before_everything_else(void **state) {
  static const struct {
    const char *options, *files, *pick;
  } cases[] = {
      {"compaction.optimization-interval=1 s", "0:a#1 5:x#1000", "2 > 5 optimization-interval"},
      {"compaction.optimization-interval=1 s", "0:a", "nothing"}, /* one run */
      {"compaction.optimization-interval=1 s", "5:x", "nothing"},
      {"compaction.optimization-interval=1 s", "", "nothing"},
      {"compaction.optimization-interval=1 s;compaction.total-size-threshold=1 gb", "0:a#1*5",
       "5 > 5 optimization-interval"},
      {"compaction.total-size-threshold=100 b", "0:a#9 5:x#90", "2 > 5 total-size"},
      {"compaction.total-size-threshold=100 b", "0:a#9 5:x#91", "nothing"},
      {"compaction.total-size-threshold=100 b", "0:a#9", "nothing"},
      {"compaction.incremental-size-threshold=100 b", "0:a#1 4:y#100 5:x#10000",
       "3 > 5 incremental-size"},
      {"compaction.incremental-size-threshold=100 b", "0:a#1 4:y#99 5:x#10000", "nothing"},
      {"compaction.incremental-size-threshold=100 b", "0:a#1 4:y#100", "2 > 5 incremental-size"},
      {"compaction.incremental-size-threshold=100 b;compaction.force-up-level-0=true", "0:a#101",
       "1 > 5 level-0"},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    expect_pick(cases[i].options, cases[i].files, NOON, cases[i].pick);
  }
}

static void early_full__every_full_pick_resets_its_clock(void **state) {
  static const struct {
    int64_t now_ms;
    const char *files, *pick;
  } steps[] = {
      {5000, "0:a#1 5:x#1000", "2 > 5 optimization-interval"}, /* none was made yet */
      {6000, "0:a#1 5:x#1000", "nothing"},                     /* not more than the interval */
      {6001, "0:a#1 5:x#1000", "2 > 5 optimization-interval"},
      {6500, "0:a#1*5", "5 > 5 size-amplification"}, /* sets it back */
      {7400, "0:a#1 5:x#1000", "nothing"},
      {7450, "0:a#1*4 4:y#4 5:x#8", "6 > 5 size-ratio"}, /* all runs by their ratio */
      {8450, "0:a#1 5:x#1000", "nothing"},
      {8451, "0:a#1", "nothing"}, /* one run does not count */
      {8452, "0:a#1*2", "2 > 5 optimization-interval"},
      {8460, "0:a#1*4 5:x#1000", "4 > 4 size-ratio"}, /* not a full one */
      {9452, "0:a#1*2", "nothing"},
      {9453, "0:a#1*2", "2 > 5 optimization-interval"},
  };
  tree_maker t;
  tn_strategy s;
  (void)state;
  tree_begin(&t,
             "compaction.optimization-interval=1 s;"
             "compaction.max-size-amplification-percent=300");
  tn_strategy_init(&s, &t.options);
  for (size_t i = 0; i < TN_COUNT(steps); i++) {
    tn_levels *levels = tree_levels(&t, steps[i].files);
    tn_compact_unit unit;
    const char *got = pick_at(&t, &s, levels, steps[i].now_ms, NOON, &unit);
    if (strcmp(got, steps[i].pick) != 0) {
      fail_msg("step %d: '%s' instead of '%s'", (int)i, got, steps[i].pick);
    }
    tn_levels_free(levels);
  }
  assert_int_equal(s.n_picks[TN_PICK_INTERVAL], 4);
  assert_int_equal(s.n_picks[TN_PICK_SIZE_RATIO], 2);
  tree_end(&t);
}

/* ------------------------------------------------------------------ walks of commits */

/* What a commit adds to level 0, in bytes, and what is picked then; the result is one file of
 * `output` bytes, or the same file when there is one. */
typedef struct commit {
  int64_t size;
  const char *pick;
  int64_t output;
} commit;

static void walk(const char *options, const commit *commits, int n) {
  tree_maker t;
  tn_levels *levels;
  tn_strategy s;
  tree_begin(&t, options);
  t.n_files = 0;
  OK(tree_load(&t, t.options.num_levels, &levels, err));
  tn_strategy_init(&s, &t.options);
  for (int i = 0; i < n; i++) {
    char name[16];
    tn_compact_unit unit;
    tn_data_file *file;
    const char *got;
    snprintf(name, sizeof(name), "f%d", i);
    t.sequence = 10 * (i + 1);
    file = tree_file(&t, 0, name, commits[i].size, 0, 9);
    OK(tn_levels_add(levels, file, err));
    got = pick_at(&t, &s, levels, i, NOON, &unit);
    if (strcmp(got, commits[i].pick) != 0) {
      fail_msg("[%s] commit %d: '%s' instead of '%s'", options, i, got, commits[i].pick);
    }
    if (unit.n_files > 0) {
      const tn_data_file *made;
      snprintf(name, sizeof(name), "c%d", i);
      t.sequence = 10 * (i + 1);
      file =
          tree_file(&t, unit.output_level, unit.n_files > 1 ? name : "", commits[i].output, 0, 9);
      if (unit.n_files == 1) {
        file->file_name = unit.files[0]->file_name;
        file->file_size = unit.files[0]->file_size;
      }
      made = file;
      OK(tn_levels_update(levels, unit.files, unit.n_files, &made, 1, err));
    }
  }
  tn_levels_free(levels);
  tree_end(&t);
}

static void walk__deduplicate_compacts_every_fourth_commit(void **state) {
  static const commit commits[] = {
      {1, "nothing", 0},
      {1, "nothing", 0},
      {1, "nothing", 0},
      {1, "nothing", 0},
      {1, "5 > 5 size-amplification", 1},
      {1, "nothing", 0},
      {1, "nothing", 0},
      {1, "nothing", 0},
      {1, "5 > 5 size-amplification", 1},
      {1, "nothing", 0},
      {1, "nothing", 0},
      {1, "nothing", 0},
      {1, "5 > 5 size-amplification", 1},
  };
  (void)state;
  walk("", commits, TN_COUNT(commits));
}

static void walk__lookup_stacks_runs_downward(void **state) {
  static const commit commits[] = {
      {10000, "1 > 5 level-0", 0}, {1000, "1 > 4 level-0", 0}, {100, "1 > 3 level-0", 0},
      {10, "1 > 2 level-0", 0},    {1, "1 > 1 level-0", 0},    {1, "2 > 1 size-ratio", 2},
      {1, "2 > 1 level-0", 3},
  };
  (void)state;
  /* Seven runs never are: with the sixth one there are as many as the trigger asks for. */
  walk("changelog-producer=lookup", commits, 6);
  walk("changelog-producer=lookup;num-sorted-run.compaction-trigger=9;num-levels=6",
       (const commit[]){commits[0],
                        commits[1],
                        commits[2],
                        commits[3],
                        commits[4],
                        {1, "2 > 1 level-0", 2},
                        {1, "2 > 1 level-0", 3}},
       7);
}

static void walk__gentle_forces_level_0_each_interval(void **state) {
  static const commit commits[] = {
      {100, "nothing", 0},
      {100, "nothing", 0},
      {100, "3 > 3 size-ratio", 110},
      {100, "1 > 2 level-0", 0}, /* the third try that found nothing */
      {100, "3 > 3 size-ratio", 110},
      {100, "nothing", 0},
      {100, "3 > 3 size-ratio", 110},
      {100, "nothing", 0},
      {100, "3 > 3 size-ratio", 110},
      {100, "1 > 2 level-0", 0},
  };
  (void)state;
  walk(
      "changelog-producer=lookup;lookup-compact=GENTLE;num-sorted-run.compaction-trigger=3;"
      "lookup-compact.max-interval=3",
      commits, TN_COUNT(commits));
}

static void gentle__needs_a_table_that_looks_up(void **state) {
  (void)state;
  expect_pick("compaction.force-up-level-0=true;lookup-compact=GENTLE", "0:a", NOON,
              "1 > 5 level-0");
  expect_pick("force-lookup=true;lookup-compact=GENTLE", "0:a", NOON, "nothing");
}

/* ------------------------------------------------------------------ full */

static bool is_named(void *ctx, const tn_data_file *file) {
  const char *names = ctx;
  return memchr(names, file->file_name.data[0], strlen(names)) != NULL;
}

static bool is_y(void *ctx, const tn_data_file *file) {
  (void)ctx;
  return tn_slice_is(file->file_name, "y");
}

static void full__picks_all_or_what_must_be_rewritten(void **state) {
  static const char expiring[] = "record-level.expire-time=1 h;record-level.time-field=ts";
  static const char both[] =
      "record-level.expire-time=1 h;record-level.time-field=ts;"
      "deletion-vectors.enabled=true";
  static const struct {
    const char *options, *files;
    const char *expired; /* names; y has a vector */
    const char *pick;
    bool is_file_rewrite;
  } cases[] = {
      {"", "", "", "nothing", false},
      {"", "0:a", "", "1 > 5 full", false},
      {"", "4:x", "", "1 > 5 full", false},
      {"", "0:a 0:b 4:x 5:y", "", "4 > 5 full", false},
      {"", "5:x 5:y@10-19", "xy", "nothing", false},
      {"num-levels=3", "5:x 5:y@10-19", "", "nothing", false},
      {"num-levels=8", "5:x 5:y@10-19", "", "2 > 7 full", false},
      {"compaction.force-rewrite-all-files=true", "5:x 5:y@10-19", "",
       "2 > 5 force-rewrite-all-files", true},
      {"compaction.force-rewrite-all-files=true", "0:a 5:x", "", "2 > 5 full", false},
      {expiring, "5:x 5:y@10-19", "x", "1 > 5 expired-rows", true},
      {expiring, "5:x 5:y@10-19", "", "nothing", false},
      {expiring, "5:x 5:y@10-19", "xy", "2 > 5 expired-rows", true},
      {"deletion-vectors.enabled=true", "5:x 5:y@10-19 5:z@20-20", "xz", "1 > 5 deletion-vectors",
       true},
      {"deletion-vectors.enabled=true", "5:x 5:z@20-20", "", "nothing", false},
      {both, "5:x 5:y@10-19 5:z@20-20", "x", "2 > 5 expired-rows", true},
      {both, "5:x 5:y@10-19 5:z@20-20", "", "1 > 5 deletion-vectors", true},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tree_maker t;
    tn_strategy s;
    tn_compact_unit unit;
    tn_file_checks checks = {(void *)(uintptr_t)cases[i].expired, is_named, is_y};
    tn_levels *levels;
    tree_begin(&t, cases[i].options);
    levels = tree_levels(&t, cases[i].files);
    tn_strategy_init(&s, &t.options);
    OK(tn_strategy_pick_full(&s, levels, &checks, &t.tm.arena, &unit, err));
    if (strcmp(unit_text(&t, &unit), cases[i].pick) != 0) {
      fail_msg("[%s] of [%s]: '%s' instead of '%s'", cases[i].options, cases[i].files,
               unit_text(&t, &unit), cases[i].pick);
    }
    assert_int_equal(unit.is_file_rewrite, cases[i].is_file_rewrite);
    tn_levels_free(levels);
    tree_end(&t);
  }
}

static void full__without_checks_no_file_has_anything(void **state) {
  tree_maker t;
  tn_strategy s;
  tn_compact_unit unit;
  tn_levels *levels;
  (void)state;
  tree_begin(&t, "deletion-vectors.enabled=true");
  levels = tree_levels(&t, "5:x 5:y@10-19");
  tn_strategy_init(&s, &t.options);
  OK(tn_strategy_pick_full(&s, levels, NULL, &t.tm.arena, &unit, err));
  assert_int_equal(unit.reason, TN_PICK_NONE);
  tn_levels_free(levels);
  tree_end(&t);
}

/* ------------------------------------------------------------------ deletes, waiting, words */

static void unit__drops_deletes_where_nothing_older_is(void **state) {
  static const struct {
    const char *options, *files;
    bool drops;
  } cases[] = {
      {"force-lookup=true", "0:a#1", true},                      /* to 5, nothing there */
      {"force-lookup=true", "0:a#1 5:x#1000", false},            /* to 4 */
      {"force-lookup=true", "0:a#1000 5:x#1", true},             /* to 5 with all of it */
      {"force-lookup=true", "0:a#1 1:w#1 3:x#1000", false},      /* to 2 */
      {"deletion-vectors.enabled=true", "0:a#1 5:x#1000", true}, /* old rows are marked */
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tree_maker t;
    tn_strategy s;
    tn_compact_unit unit;
    tn_levels *levels;
    tree_begin(&t, cases[i].options);
    levels = tree_levels(&t, cases[i].files);
    tn_strategy_init(&s, &t.options);
    pick_at(&t, &s, levels, 0, NOON, &unit);
    assert_true(unit.n_files > 0);
    assert_int_equal(unit.drops_deletes, cases[i].drops);
    tn_levels_free(levels);
    tree_end(&t);
  }
}

static void writer__waits_when_runs_pile_up(void **state) {
  static const struct {
    const char *options, *files;
    bool for_latest, for_commit;
  } cases[] = {
      {"", "0:a*8", false, false}, /* trigger 5, stop 8 */
      {"", "0:a*9", true, false},
      {"", "0:a*9 5:x", true, true},
      {"num-sorted-run.stop-trigger=2", "0:a*5", false, false}, /* never below the trigger */
      {"num-sorted-run.stop-trigger=2", "0:a*6", true, false},
      {"num-sorted-run.compaction-trigger=2", "0:a*5", false, false},
      {"num-sorted-run.compaction-trigger=2", "0:a*6", true, false},
      {"num-sorted-run.stop-trigger=2147483647", "0:a*60", false, false},
      {"write-only=true", "0:a*60", false, false},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tree_maker t;
    tn_levels *levels;
    tree_begin(&t, cases[i].options);
    levels = tree_levels(&t, cases[i].files);
    assert_int_equal(tn_compact_waits_for_latest(&t.options, levels), cases[i].for_latest);
    assert_int_equal(tn_compact_waits_for_commit(&t.options, levels), cases[i].for_commit);
    tn_levels_free(levels);
    tree_end(&t);
  }
}

static void pending__is_a_task_or_a_level_0_that_must_go_up(void **state) {
  static const struct {
    const char *options, *files;
    bool is_running, is_pending;
  } cases[] = {
      {"", "0:a", false, false},
      {"", "5:x", true, true},
      {"force-lookup=true", "0:a 5:x", false, true},
      {"force-lookup=true", "5:x", false, false},
      {"compaction.force-up-level-0=true", "0:a", false, false},
      {"force-lookup=true;write-only=true", "0:a", false, false},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tree_maker t;
    tn_levels *levels;
    tree_begin(&t, cases[i].options);
    levels = tree_levels(&t, cases[i].files);
    assert_int_equal(tn_compact_is_pending(&t.options, levels, cases[i].is_running),
                     cases[i].is_pending);
    tn_levels_free(levels);
    tree_end(&t);
  }
}

static void unit__tells_its_reason_and_numbers(void **state) {
  static const struct {
    const char *options, *files, *text;
  } cases[] = {
      {"", "0:a#10*4 5:x#1000",
       "reason=size-ratio runs=4/5 files=4 bytes=40 output-level=4 ratio-percent=1 trigger=5"},
      {"", "0:a#10*4 5:x#10",
       "reason=size-amplification runs=5/5 files=5 bytes=50 output-level=5 newer-percent=400 "
       "limit-percent=200"},
      {"", "5:x", "reason=none"},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    char text[200], cut[9];
    tree_maker t;
    tn_strategy s;
    tn_compact_unit unit;
    tn_levels *levels;
    tree_begin(&t, cases[i].options);
    levels = tree_levels(&t, cases[i].files);
    tn_strategy_init(&s, &t.options);
    pick_at(&t, &s, levels, 0, NOON, &unit);
    tn_compact_unit_text(&unit, text, sizeof(text));
    assert_string_equal(text, cases[i].text);
    tn_compact_unit_text(&unit, cut, sizeof(cut));
    assert_string_equal(cut, unit.reason == TN_PICK_NONE ? "reason=n" : "reason=s");
    tn_levels_free(levels);
    tree_end(&t);
  }
}

static void reasons__all_have_a_word(void **state) {
  (void)state;
  for (int i = 0; i < TN_PICK_REASONS; i++) {
    assert_non_null(tn_pick_reason_text((tn_pick_reason)i));
  }
  assert_string_equal(tn_pick_reason_text(TN_PICK_REASONS), "none");
}

/* ------------------------------------------------------------------ options */

static void options__defaults_are_those_of_java(void **state) {
  tree_maker t;
  const tn_compact_options *o = &t.options;
  (void)state;
  tree_begin(&t, "");
  assert_int_equal(o->trigger, 5);
  assert_int_equal(o->num_levels, 6);
  assert_int_equal(o->stop_trigger, 8);
  assert_int_equal(o->size_ratio, 1);
  assert_int_equal(o->size_amplification, 200);
  assert_int_equal(o->sort_spill_threshold, 9);
  assert_int_equal(o->lookup_max_interval, 10);
  assert_true(o->lookup_wait);
  assert_int_equal(o->target_file_bytes, 134217728);
  assert_int_equal(o->small_file_bytes, 93952404); /* in integers, as 1.4.2 has it */
  assert_int_equal(o->append_min_files, 5);
  assert_int_equal(o->file_num_limit, 100000);
  assert_int_equal(o->open_file_bytes, 4 << 20);
  assert_true(o->delete_ratio == 0.2);
  assert_true(o->checks_overlap && o->append_is_ordered);
  assert_false(o->force_up_level_0 || o->needs_lookup || o->write_only || o->has_record_expiry ||
               o->row_deduplicate || o->has_optimization_interval);
  assert_int_equal(o->delta_commits, 0);
  tree_end(&t);
}

static void options__depend_on_one_another(void **state) {
  tree_maker t;
  const tn_compact_options *o = &t.options;
  (void)state;
  tree_begin(&t,
             "num-sorted-run.compaction-trigger=20;lookup-compact.max-interval=4;"
             "target-file-size=1000 b;compaction.small-file-ratio=0.5;"
             "full-compaction.delta-commits=7");
  assert_int_equal(o->num_levels, 21);
  assert_int_equal(o->stop_trigger, 23);
  assert_int_equal(o->sort_spill_threshold, 24);
  assert_int_equal(o->lookup_max_interval, 20);
  assert_int_equal(o->small_file_bytes, 500);
  assert_int_equal(o->delta_commits, 7);
  tree_end(&t);
  tree_begin(&t, "num-sorted-run.compaction-trigger=2147483647");
  assert_int_equal(o->num_levels, 2147483647);
  assert_int_equal(o->stop_trigger, 2147483647);
  assert_int_equal(o->sort_spill_threshold, 2147483647);
  assert_int_equal(o->lookup_max_interval, 2147483647);
  tree_end(&t);
}

static void options__columns_are_found_by_their_names(void **state) {
  tree_maker t;
  const tn_compact_options *o = &t.options;
  (void)state;
  tree_begin(&t,
             "changelog-producer=lookup;changelog-producer.row-deduplicate=true;"
             "changelog-producer.row-deduplicate-ignore-fields=ts,nothing, v,v;"
             "record-level.expire-time=90 min;record-level.time-field=ts");
  assert_true(o->row_deduplicate && o->has_record_expiry);
  assert_int_equal(o->n_ignored_columns, 2); /* " v" is no column */
  assert_int_equal(o->ignored_columns[0], 2);
  assert_int_equal(o->ignored_columns[1], 1);
  assert_int_equal(o->expire_seconds, 5400);
  assert_int_equal(o->time_column, 2);
  assert_int_equal(o->time_unit, TN_EXPIRY_BY_SIZE);
  assert_int_equal(o->changelog_producer, TN_CHANGELOG_LOOKUP);
  tree_end(&t);
}

static void options__rejects_what_java_rejects(void **state) {
  static const struct {
    const char *options, *says;
  } cases[] = {
      {"num-levels=1", "Number of levels must be at least 2."},
      {"num-sorted-run.compaction-trigger=0", "Number of levels must be at least 2."},
      {"num-levels=many", "option 'num-levels': cannot parse 'many'"},
      {"sort-spill-threshold=1", "The sort spill threshold cannot be smaller than 2."},
      {"record-level.expire-time=1 h", "You should set time field for record-level expire."},
      {"record-level.expire-time=1 h;record-level.time-field=s",
       "The record level time field type should be one of INT, BIGINT, or TIMESTAMP, but field "
       "type is STRING NOT NULL."},
      {"record-level.expire-time=1 h;record-level.time-field=nope",
       "Can not find time field nope for record level expire."},
      {"compaction.small-file-ratio=half", "option 'compaction.small-file-ratio'"},
      {"compaction.delete-ratio-threshold=x", "option 'compaction.delete-ratio-threshold'"},
      {"lookup-compact=SOFT", "option 'lookup-compact'"},
      {"compaction.optimization-interval=soon", "option 'compaction.optimization-interval'"},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    table_maker tm;
    tn_table *table;
    tn_compact_options o;
    tarn_error err = {0};
    char text[200];
    snprintf(text, sizeof(text), "bucket=1;%s", cases[i].options);
    tm_begin(&tm, 1);
    tm_schema(&tm, 0, "0 k INT NOT NULL|1 s STRING NOT NULL", "", "k", text);
    table = tm_table(&tm, "");
    assert_int_equal(tn_compact_options_read(table, &tm.arena, &o, &err), TARN_E_INVALID);
    if (strstr(err.message, cases[i].says) == NULL) {
      fail_msg("'%s' lacks '%s'", err.message, cases[i].says);
    }
    tn_table_release(table);
    tm_end(&tm);
  }
}

static void options__append_tables_have_their_own_sizes(void **state) {
  table_maker tm;
  tn_table *table;
  tn_compact_options o;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 k INT", "", "", "num-levels=1;bucket-append-ordered=false");
  table = tm_table(&tm, "");
  OK(tn_compact_options_read(table, &tm.arena, &o, err));
  assert_int_equal(o.target_file_bytes, 268435456);
  assert_int_equal(o.small_file_bytes, 187904815);
  assert_false(o.append_is_ordered);
  tn_table_release(table);
  tm_end(&tm);
}

/* ------------------------------------------------------------------ memory */

typedef struct pick_run {
  tree_maker *t;
  tn_levels *levels;
  bool is_full;
} pick_run;

static tarn_status pick_once(void *ctx, tarn_env *env, tarn_error *err) {
  pick_run *run = ctx;
  tn_arena arena;
  tn_strategy s;
  tn_compact_unit unit;
  tarn_status st;
  tn_arena_init(&arena, &env->mem, SIZE_MAX);
  tn_strategy_init(&s, &run->t->options);
  st = run->is_full ? tn_strategy_pick_full(&s, run->levels, NULL, &arena, &unit, err)
                    : tn_strategy_pick(&s, run->levels, 0, NOON, &arena, &unit, err);
  tn_arena_reset(&arena);
  return st;
}

static void picks__every_allocation_may_fail(void **state) {
  static const char *const trees[] = {"0:a*5 5:x", "5:x 5:y@10-19"};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(trees); i++) {
    tree_maker t;
    pick_run run = {&t, NULL, i == 1};
    tree_begin(&t, "compaction.force-rewrite-all-files=true");
    run.levels = tree_levels(&t, trees[i]);
    assert_true(tn_torture(pick_once, &run, TARN_OK) > 1);
    tn_levels_free(run.levels);
    tree_end(&t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(universal__picks_what_java_picks),
      cmocka_unit_test(force_level_0__picks_what_java_picks),
      cmocka_unit_test(universal__options_move_its_borders),
      cmocka_unit_test(off_peak__adds_to_the_ratio_within_its_hours),
      cmocka_unit_test(early_full__goes_before_everything_else),
      cmocka_unit_test(early_full__every_full_pick_resets_its_clock),
      cmocka_unit_test(walk__deduplicate_compacts_every_fourth_commit),
      cmocka_unit_test(walk__lookup_stacks_runs_downward),
      cmocka_unit_test(walk__gentle_forces_level_0_each_interval),
      cmocka_unit_test(gentle__needs_a_table_that_looks_up),
      cmocka_unit_test(full__picks_all_or_what_must_be_rewritten),
      cmocka_unit_test(full__without_checks_no_file_has_anything),
      cmocka_unit_test(unit__drops_deletes_where_nothing_older_is),
      cmocka_unit_test(writer__waits_when_runs_pile_up),
      cmocka_unit_test(pending__is_a_task_or_a_level_0_that_must_go_up),
      cmocka_unit_test(unit__tells_its_reason_and_numbers),
      cmocka_unit_test(reasons__all_have_a_word),
      cmocka_unit_test(options__defaults_are_those_of_java),
      cmocka_unit_test(options__depend_on_one_another),
      cmocka_unit_test(options__columns_are_found_by_their_names),
      cmocka_unit_test(options__rejects_what_java_rejects),
      cmocka_unit_test(options__append_tables_have_their_own_sizes),
      cmocka_unit_test(picks__every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
