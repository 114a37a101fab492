/* test_write_compact.c - buckets that are compacted while they are written: levels commit by
 * commit, changelog, deletion vectors, waiting, conflicts, failures, and walks against a table that
 * is not compacted. */
#include <stdlib.h>

#include "plan/entries.h"
#include "support/random_vec.h"
#include "support/torture.h"
#include "tarn/write.h"
#include "write/write_parts.h"
#include "write_maker.h"

#include "data_maker.h"

#define FIELDS "0 k INT NOT NULL|1 v STRING"

/* A table and a writer that compacts; threads of the environment: 1. */
static void begin_with(write_maker *m, const char *fields, const char *partitions, const char *keys,
                       const char *options, bool waits) {
  memset(m, 0, sizeof(*m));
  tm_begin(&m->tm, 1);
  m->options.user = "u";
  m->options.first_row_id = -1;
  m->options.compacts = true;
  m->options.waits = waits;
  wm_table(m, fields, partitions, keys, options);
  wm_open(m);
}

static void begin(write_maker *m, const char *options) {
  begin_with(m, FIELDS, "", "k", options, true);
}

/* ------------------------------------------------------------------ what a snapshot holds */

static void latest(write_maker *m, tn_snapshot *s) {
  int64_t id;
  OK(tn_snapshot_latest_id(m->tm.env, m->tm.storage, "/t", &id, err));
  OK(tn_snapshot_read(m->tm.env, m->tm.storage, "/t", id, &m->tm.arena, s, err));
}

/* Files by level in the latest snapshot: "0:2 5:1". */
static const char *levels(write_maker *m) {
  tn_snapshot s;
  tn_manifest_refs manifests = {0};
  tn_scan_filter filter = {0};
  tn_entries entries = {0};
  tn_entries_request request = {.table = m->table, .filter = &filter, .row_limit = -1};
  int counts[8] = {0};
  char text[128] = "";
  size_t at = 0;
  latest(m, &s);
  OK(tn_scan_filter_init(&filter, m->table, NULL, &m->tm.arena, err));
  OK(tn_manifest_refs_read(&manifests, m->table, &s, &filter, &m->tm.arena, err));
  request.manifests = manifests.items;
  request.n_manifests = (int32_t)manifests.count;
  OK(tn_entries_read(&request, &entries, err));
  for (int64_t i = 0; i < entries.count; i++) {
    counts[entries.items[i]->level]++;
  }
  tn_entries_reset(&entries);
  for (int i = 0; i < 8; i++) {
    if (counts[i] > 0) {
      at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%d:%d", at > 0 ? " " : "", i,
                             counts[i]);
    }
  }
  return tn_arena_strdup(&m->tm.arena, text);
}

/* The kinds of the snapshots since one: "A C". */
static const char *kinds_since(write_maker *m, int64_t since) {
  static const char letters[] = {[TN_COMMIT_APPEND] = 'A',
                                 [TN_COMMIT_COMPACT] = 'C',
                                 [TN_COMMIT_OVERWRITE] = 'O',
                                 [TN_COMMIT_ANALYZE] = 'Z'};
  char text[64] = "";
  size_t at = 0;
  tn_snapshot s;
  latest(m, &s);
  for (int64_t id = since + 1, last = s.id; id <= last; id++) {
    OK(tn_snapshot_read(m->tm.env, m->tm.storage, "/t", id, &m->tm.arena, &s, err));
    at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%c", at > 0 ? " " : "",
                           letters[s.commit_kind]);
  }
  return tn_arena_strdup(&m->tm.arena, text);
}

static int64_t latest_id(write_maker *m) {
  int64_t id;
  OK(tn_snapshot_latest_id(m->tm.env, m->tm.storage, "/t", &id, err));
  return id;
}

/* The changelog of the snapshots (since, to]: "+I 1|a;-U 2|b", in the order of their files. */
static const char *changes(write_maker *m, int64_t since, int64_t to) {
  static const char *const names[] = {"+I", "-U", "+U", "-D"};
  char dynamic[128], *save = NULL, *copy;
  tn_scan scan = {.limit = -1};
  tn_read_options o = {.limit = -1, .with_row_kind = true, .keeps_deletes = true};
  tn_buf raw, text;
  const char *kept;
  tn_buf_init(&raw, &m->tm.env->mem, 1u << 24);
  tn_buf_init(&text, &m->tm.env->mem, 1u << 24);
  snprintf(dynamic, sizeof(dynamic),
           "incremental-between=%d,%d;incremental-between-scan-mode=changelog", (int)since,
           (int)to);
  o.table = scan.table = tm_table(&m->tm, dynamic);
  o.fields = o.table->schema->fields;
  o.n_fields = o.table->schema->n_fields;
  if (since < to) {
    wm_scan_text(m, &scan, &o, &raw);
  }
  tn_table_release(scan.table);
  copy = raw.len > 0 ? strndup((const char *)raw.data, raw.len) : strdup("");
  for (char *row = strtok_r(copy, ";", &save); row != NULL; row = strtok_r(NULL, ";", &save)) {
    OK(tn_buf_printf(&text, err, "%s%s %s", text.len > 0 ? ";" : "", names[row[0] - '0'], row + 2));
  }
  free(copy);
  tn_buf_reset(&raw);
  kept = tn_arena_strndup(&m->tm.arena, text.len > 0 ? (const char *)text.data : "", text.len);
  tn_buf_reset(&text);
  return kept;
}

/* ------------------------------------------------------------------ levels */

/* Spec: compaction, 2.3; the keys 0, 1, 2 in rotation, a row a commit. */
static void write__compacts_when_enough_runs_are_there(void **state) {
  static const char *const wanted[] = {"0:1",     "0:2",     "0:3",     "0:4", "5:1",
                                       "0:1 5:1", "0:2 5:1", "0:3 5:1", "5:1"};
  write_maker m;
  (void)state;
  begin(&m, "bucket=1");
  for (int i = 0; i < 9; i++) {
    char row[16];
    int64_t before = i > 0 ? latest_id(&m) : 0;
    snprintf(row, sizeof(row), "%d|v%d", i % 3, i);
    wm_write(&m, row);
    wm_commit(&m);
    assert_string_equal(levels(&m), wanted[i]);
    assert_string_equal(kinds_since(&m, before), i % 4 == 0 && i > 0 ? "A C" : "A");
  }
  assert_string_equal(wm_rows(&m), "0|v6;1|v7;2|v8");
  wm_end(&m);
}

/* The same with a writer for each commit: it finds the tree in the latest snapshot. */
static void write__finds_the_tree_of_the_latest_snapshot(void **state) {
  static const char *const wanted[] = {"0:1",     "0:2",     "0:3",     "0:4", "5:1",
                                       "0:1 5:1", "0:2 5:1", "0:3 5:1", "5:1"};
  write_maker m;
  (void)state;
  begin(&m, "bucket=1");
  for (int i = 0; i < 9; i++) {
    char row[16];
    snprintf(row, sizeof(row), "%d|v%d", i % 3, i);
    wm_open(&m);
    wm_write(&m, row);
    wm_commit(&m);
    assert_string_equal(levels(&m), wanted[i]);
  }
  assert_string_equal(wm_rows(&m), "0|v6;1|v7;2|v8");
  wm_end(&m);
}

static void write__only_compacts_nothing(void **state) {
  write_maker m;
  (void)state;
  begin(&m, "bucket=1;write-only=true;changelog-producer=lookup");
  for (int i = 0; i < 7; i++) {
    wm_write(&m, "1|a");
    wm_commit(&m);
  }
  assert_string_equal(levels(&m), "0:7");
  wm_end(&m);
}

/* Spec: compaction, 13.1. */
static void write__joins_files_of_append_buckets(void **state) {
  write_maker m;
  (void)state;
  begin_with(&m, FIELDS, "", "", "bucket=1;bucket-key=k", true);
  for (int i = 0; i < 7; i++) {
    wm_write(&m, "1|a;2|b");
    wm_commit(&m);
  }
  assert_string_equal(levels(&m), "0:3");
  assert_string_equal(kinds_since(&m, 0), "A A A A A C A A");
  wm_end(&m);
}

static void write__keeps_buckets_of_all_modes_compacted(void **state) {
  static const struct {
    const char *fields, *partitions, *keys, *options;
  } cases[] = {
      {"0 k INT NOT NULL|1 v STRING|2 p INT NOT NULL", "p", "k,p", "bucket=1"},
      {"0 k INT NOT NULL|1 v STRING|2 p INT NOT NULL", "p", "k,p", "bucket=-1"},
      {"0 k INT NOT NULL|1 v STRING|2 p INT NOT NULL", "p", "k", "bucket=-1"},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    write_maker m;
    begin_with(&m, cases[i].fields, cases[i].partitions, cases[i].keys, cases[i].options, true);
    for (int k = 0; k < 5; k++) {
      wm_write(&m, "1|a|7;2|b|8");
      wm_commit(&m);
    }
    assert_string_equal(levels(&m), "5:2");
    assert_string_equal(wm_rows(&m), "1|a|7;2|b|8");
    wm_end(&m);
  }
}

/* ------------------------------------------------------------------ changelog */

typedef struct step {
  const char *rows;
  const char *kinds;   /* of the snapshots of its commit */
  const char *changes; /* of them */
} step;

static void run_steps(write_maker *m, const step *steps, size_t n) {
  int64_t before = 0;
  for (size_t i = 0; i < n; i++) {
    int64_t after;
    if (steps[i].rows[0] != '\0') {
      wm_write(m, steps[i].rows);
    }
    tn_committable c = wm_prepare(m);
    tn_commit_options options = {.user = "u", .commits_empty = true};
    tn_commit_result result;
    OK(tn_commit_append(m->table, &options, &c, &result, err));
    after = latest_id(m);
    assert_string_equal(kinds_since(m, before), steps[i].kinds);
    assert_string_equal(changes(m, before, after), steps[i].changes);
    before = after;
  }
}

/* Spec: changelog-producers, 4. */
static void write__tells_changes_by_looking_up(void **state) {
  static const step steps[] = {
      {"1|a;2|b", "A C", "+I 1|a;+I 2|b"},
      {"1|c;-D 2|b;-D 3|x", "A C", "-U 1|a;+U 1|c;-D 2|b"},
      {"1|c", "A C", "-U 1|c;+U 1|c"},
  };
  static const step deduplicated[] = {
      {"1|a;2|b", "A C", "+I 1|a;+I 2|b"},
      {"1|c;-D 2|b;-D 3|x", "A C", "-U 1|a;+U 1|c;-D 2|b"},
      {"1|c", "A C", ""},
  };
  write_maker m;
  (void)state;
  begin_with(&m, FIELDS, "", "k", "bucket=1;changelog-producer=lookup", false);
  run_steps(&m, steps, TN_COUNT(steps));
  assert_string_equal(wm_rows(&m), "1|c");
  wm_end(&m);
  begin_with(&m, FIELDS, "", "k",
             "bucket=1;changelog-producer=lookup;changelog-producer.row-deduplicate=true", false);
  run_steps(&m, deduplicated, TN_COUNT(deduplicated));
  wm_end(&m);
}

/* Spec: changelog-producers, 4.1; with one thread a compaction runs when its result is asked for.
 */
static void write__need_not_wait_for_lookup(void **state) {
  static const step steps[] = {
      {"1|a", "A", ""},
      {"1|b", "A C", "+I 1|a"},
      {"", "A C", "-U 1|a;+U 1|b"},
      {"", "A", ""},
  };
  write_maker m;
  (void)state;
  begin_with(&m, FIELDS, "", "k", "bucket=1;changelog-producer=lookup;lookup-wait=false", false);
  run_steps(&m, steps, TN_COUNT(steps));
  assert_string_equal(wm_rows(&m), "1|b");
  wm_end(&m);
}

/* Spec: changelog-producers, 5. */
static void write__compacts_fully_every_so_many_commits(void **state) {
  static const step each[] = {
      {"1|a;2|b;3|c", "A C", "+I 1|a;+I 2|b;+I 3|c"},
      {"1|a;-D 2|b;4|d;-D 9|x", "A C", "-U 1|a;+U 1|a;-D 2|b;+I 4|d"},
      {"4|e", "A C", "-U 4|d;+U 4|e"},
      {"", "A", ""},
  };
  static const step second[] = {
      {"1|a", "A C", "+I 1|a"},                               /* identifier 0 */
      {"1|b", "A", ""},         {"", "A C", "-U 1|a;+U 1|b"}, /* written since the last one */
      {"2|c", "A", ""},         {"2|d", "A C", "+I 2|d"},
  };
  write_maker m;
  (void)state;
  begin_with(&m, FIELDS, "", "k", "bucket=1;changelog-producer=full-compaction", false);
  run_steps(&m, each, TN_COUNT(each));
  wm_end(&m);
  begin_with(&m, FIELDS, "", "k",
             "bucket=1;changelog-producer=full-compaction;full-compaction.delta-commits=2", false);
  run_steps(&m, second, TN_COUNT(second));
  wm_end(&m);
}

static void write__overwrites_without_changelog(void **state) {
  write_maker m;
  int n_files;
  (void)state;
  begin(&m, "bucket=1;changelog-producer=lookup");
  wm_write(&m, "1|a");
  wm_commit(&m);
  n_files = wm_count_files(&m);
  m.options.ignores_previous = true;
  wm_open(&m);
  wm_write(&m, "2|b");
  tn_committable c = wm_prepare(&m);
  assert_int_equal(c.n_messages, 1);
  assert_int_equal(c.messages[0].compact_before.n, 1);
  assert_int_equal(c.messages[0].compact_changelog.n, 0);
  assert_int_equal(wm_count_files(&m), n_files + 1);
  wm_end(&m);
}

/* ------------------------------------------------------------------ vectors, first row */

static void write__marks_rows_that_are_superseded(void **state) {
  write_maker m;
  tn_snapshot s;
  (void)state;
  for (int reopens = 0; reopens < 2; reopens++) {
    begin_with(&m, FIELDS, "", "k", "bucket=1;deletion-vectors.enabled=true", false);
    wm_write(&m, "1|a;2|b;3|c;4|d");
    wm_commit(&m);
    assert_string_equal(wm_rows(&m), "1|a;2|b;3|c;4|d");
    if (reopens) {
      wm_open(&m);
    }
    wm_write(&m, "2|B;-D 4|d");
    wm_commit(&m);
    latest(&m, &s);
    assert_non_null(s.index_manifest);
    assert_string_equal(levels(&m), "4:1 5:1");
    assert_string_equal(wm_rows(&m), "1|a;2|B;3|c");
    if (reopens) {
      wm_open(&m);
    }
    wm_write(&m, "1|A");
    wm_commit(&m);
    assert_string_equal(wm_rows(&m), "1|A;2|B;3|c");
    wm_end(&m);
  }
}

static void write__keeps_first_rows(void **state) {
  static const step steps[] = {
      {"1|a;2|b", "A C", "+I 1|a;+I 2|b"},
      {"1|c;3|d;3|e", "A C", "+I 3|d"},
  };
  write_maker m;
  (void)state;
  begin_with(&m, FIELDS, "", "k", "bucket=1;merge-engine=first-row;changelog-producer=lookup",
             false);
  run_steps(&m, steps, TN_COUNT(steps));
  assert_string_equal(wm_rows(&m), "1|a;2|b;3|d");
  wm_end(&m);
}

/* ------------------------------------------------------------------ on demand */

static void compact__is_told_with_the_next_commit(void **state) {
  write_maker m;
  (void)state;
  begin(&m, "bucket=1");
  wm_write(&m, "1|a");
  wm_commit(&m);
  wm_write(&m, "1|b");
  OK(tn_write_compact_all(m.write, true, err));
  wm_commit(&m);
  assert_string_equal(levels(&m), "5:1");
  assert_string_equal(wm_rows(&m), "1|b");
  wm_end(&m);
}

static void compact__opens_a_bucket_that_nobody_wrote(void **state) {
  write_maker m;
  uint32_t only;
  (void)state;
  begin(&m, "bucket=1");
  for (int i = 0; i < 2; i++) {
    wm_write(&m, "1|a");
    wm_commit(&m);
  }
  wm_open(&m);
  OK(tn_partition_number(m.write, tn_binary_row_empty(), &only, err));
  OK(tn_write_compact(m.write, m.write->router.by_number[only], 0, true, err));
  wm_commit(&m);
  assert_string_equal(levels(&m), "5:1");
  wm_end(&m);
}

/* Rule: CacheManager, made by every writer of a table with a primary key. */
static void write__checks_the_pool_ratio_as_java(void **state) {
  static const struct {
    const char *key, *ratio;
    bool is_good;
  } cases[] = {{"k", "0", true},   {"k", "0.99", true}, {"k", "1", false},
               {"k", "-1", false}, {"k", "NaN", false}, {"", "2", true}};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases) * 2; i++) {
    const char *key = cases[i / 2].key;
    write_maker m = {0};
    tarn_error err = {0};
    char options[128];
    tarn_status st;
    snprintf(options, sizeof(options),
             "bucket=1;bucket-key=k;lookup.cache.high-priority-pool-ratio=%s%s", cases[i / 2].ratio,
             i % 2 == 0 ? "" : ";write-only=true");
    tm_begin(&m.tm, 1);
    m.options = (tn_table_write_options){.user = "u", .first_row_id = -1, .compacts = true};
    wm_table(&m, FIELDS, "", key, options);
    st = wm_try_open(&m, &err);
    assert_int_equal(st, cases[i / 2].is_good ? TARN_OK : TARN_E_INVALID);
    if (st != TARN_OK) {
      assert_string_equal(err.message, "The high priority pool ratio should in the range [0, 1).");
    }
    wm_end(&m);
  }
}

/* ------------------------------------------------------------------ others */

/* Two writers compact one bucket: the compaction of the second one is dropped, its rows are not. */
static void write__loses_a_compaction_to_another_writer_but_no_row(void **state) {
  write_maker m;
  tn_write *own, *other;
  tn_commit_options options = {.user = "u", .drops_compaction = true};
  tn_commit_result result;
  int n_files;
  (void)state;
  begin(&m, "bucket=1");
  for (int i = 0; i < 4; i++) {
    wm_write(&m, "1|a;2|b");
    wm_commit(&m);
  }
  own = m.write;
  m.options.user = "o";
  OK(wm_try_open(&m, err));
  other = m.write;
  wm_write(&m, "2|o");
  tn_committable second = wm_prepare(&m);
  m.write = own;
  wm_write(&m, "1|m");
  tn_committable first = wm_prepare(&m);
  n_files = wm_count_files(&m);
  OK(tn_commit_append(m.table, &options, &first, &result, err));
  assert_false(result.has_dropped);
  options.user = "o";
  OK(tn_commit_append(m.table, &options, &second, &result, err));
  assert_true(result.has_dropped);
  assert_true(result.first_id == result.last_id);
  assert_int_equal(wm_count_files(&m), n_files - 1);
  assert_string_equal(wm_rows(&m), "1|m;2|o");
  m.write = other;
  OK(tn_write_refresh(m.write, err));
  for (int i = 0; i < 6; i++) {
    wm_write(&m, "1|x");
    tn_committable c = wm_prepare(&m);
    OK(tn_commit_append(m.table, &options, &c, &result, err));
    assert_false(result.has_dropped);
  }
  assert_string_equal(wm_rows(&m), "1|x;2|o");
  tn_write_free(own);
  wm_end(&m);
}

/* One commit of the writer that is open; true: its compaction was dropped. */
static bool commit_as(write_maker *m, const char *user, const char *rows) {
  tn_commit_options options = {.user = user, .drops_compaction = true};
  tn_commit_result result;
  tn_committable c;
  if (rows != NULL) {
    wm_write(m, rows);
  }
  c = wm_prepare(m);
  OK(tn_commit_append(m->table, &options, &c, &result, err));
  return result.has_dropped;
}

/* Larger than what comes after it, so that only level 0 is picked. */
#define LARGE "qwertyuiopasdfghjklzxcvbnm1234567890"

/* What another writer brought up to the levels is looked for there, though no file is common: else
 * a key would be there twice. */
static void write__looks_up_in_no_levels_that_are_gone(void **state) {
  static const struct {
    const char *options, *rows;
  } cases[] = {{"bucket=1;deletion-vectors.enabled=true", "20|m;50|" LARGE ";60|b;70|c"},
               {"bucket=1;merge-engine=first-row", "20|o;50|" LARGE ";60|b;70|c"},
               {"bucket=1;changelog-producer=lookup", "20|m;50|" LARGE ";60|b;70|c"}};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    write_maker m;
    tn_write *own;
    uint32_t only;
    begin(&m, cases[i].options);
    wm_write(&m, "50|" LARGE);
    OK(tn_partition_number(m.write, tn_binary_row_empty(), &only, err));
    OK(tn_write_compact(m.write, m.write->router.by_number[only], 0, true, err));
    assert_false(commit_as(&m, "u", NULL));
    assert_string_equal(levels(&m), "5:1");
    assert_false(commit_as(&m, "u", "60|b"));
    assert_string_equal(levels(&m), "4:1 5:1");
    own = m.write;
    m.options.user = "o";
    OK(wm_try_open(&m, err));
    assert_false(commit_as(&m, "o", "20|o"));
    OK(tn_partition_number(m.write, tn_binary_row_empty(), &only, err));
    OK(tn_write_compact(m.write, m.write->router.by_number[only], 0, true, err));
    assert_false(commit_as(&m, "o", NULL));
    assert_string_equal(levels(&m), "5:1");
    tn_write_free(m.write);
    m.write = own;
    assert_true(commit_as(&m, "u", "20|m"));
    assert_string_equal(levels(&m), "0:1 5:1");
    OK(tn_write_refresh(m.write, err));
    assert_false(commit_as(&m, "u", "70|c"));
    assert_string_equal(wm_rows(&m), cases[i].rows);
    wm_end(&m);
  }
}

/* ------------------------------------------------------------------ failures */

static const char *const failing_options[] = {"bucket=1;num-sorted-run.compaction-trigger=2",
                                              "bucket=1;changelog-producer=lookup",
                                              "bucket=1;deletion-vectors.enabled=true"};

/* Three batches, each prepared; the first is committed. */
static tarn_status write_twice(write_maker *m, tarn_error *err) {
  tarn_status st = wm_try_open(m, err);
  for (int i = 0; i < 3 && st == TARN_OK; i++) {
    tn_commit_message *messages;
    int32_t n;
    st = wm_try_write(m, i == 0 ? "1|a;2|b" : "2|c;3|d", err);
    st = st == TARN_OK ? tn_write_prepare(m->write, i, &m->tm.arena, &messages, &n, err) : st;
    if (st == TARN_OK) {
      tn_committable c = {.identifier = i, .messages = messages, .n_messages = n};
      tn_commit_options options = {.user = "u"};
      tn_commit_result result;
      st = tn_commit_append(m->table, &options, &c, &result, err);
      if (st != TARN_OK) {
        tn_snapshot s;
        latest(m, &s);
        if (s.commit_identifier < i) { /* the appended part is not there either */
          tarn_error other = {0};
          assert_int_equal(tn_commit_abort(m->table, &c, &other), TARN_OK);
        }
      }
    }
  }
  return st;
}

/* A commit whose rows are visible and whose compaction is not leaves no file of it. */
static void commit__failing_behind_its_rows_leaves_no_file(void **state) {
  int n_behind = 0;
  (void)state;
  for (size_t i = 0; i < TN_COUNT(failing_options); i++) {
    for (int64_t n = 1;; n++) {
      tn_storage_fault fault = {.os_errno = 28};
      tn_commit_options options = {.user = "u", .drops_compaction = n % 2 == 0};
      tn_commit_result result;
      tn_storage *inner;
      tn_committable c;
      write_maker m;
      tarn_error why = {0};
      tarn_status st;
      int n_files;
      begin(&m, failing_options[i]);
      wm_write(&m, "1|z;9|z");
      wm_commit(&m);
      wm_write(&m, "1|a;2|c");
      OK(tn_write_compact_all(m.write, true, err));
      c = wm_prepare(&m);
      assert_true(c.messages->compact_after.n > 0);
      n_files = wm_count_files(&m);
      inner = m.table->storage;
      OK(tn_storage_faulty(inner, &fault, &m.table->storage, err));
      fault.fail_at_write = n;
      st = tn_commit_append(m.table, &options, &c, &result, &why);
      tn_storage_release(m.table->storage);
      m.table->storage = inner;
      if (st != TARN_OK && result.last_id != 0) {
        n_behind++;
        assert_int_equal(st, TARN_E_IO);
        assert_non_null(strstr(why.message, "the rows are in snapshot"));
        assert_int_equal(wm_count_files(&m), n_files - c.messages->compact_after.n -
                                                 c.messages->compact_changelog.n -
                                                 c.messages->compact_new_indexes.n);
      } else {
        assert_int_equal(wm_count_files(&m), n_files);
      }
      wm_close(&m);
      wm_end(&m);
      if (fault.writes < n) {
        break;
      }
    }
  }
  assert_true(n_behind > 5);
}

static void write__failing_storage_leaves_the_table_right(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(failing_options); i++) {
    for (int64_t n = 1;; n++) {
      tn_storage_fault fault = {.os_errno = 28};
      tn_storage *inner;
      write_maker m;
      tarn_error why = {0};
      tarn_status st;
      begin(&m, failing_options[i]);
      wm_write(&m, "1|z;9|z");
      wm_commit(&m);
      wm_close(&m);
      inner = m.table->storage;
      OK(tn_storage_faulty(inner, &fault, &m.table->storage, err));
      fault.fail_at_write = n;
      st = write_twice(&m, &why);
      assert_true(st == TARN_OK || st == TARN_E_IO);
      wm_close(&m);
      tn_storage_release(m.table->storage);
      m.table->storage = inner;
      wm_open(&m);
      m.identifier = 10;
      wm_write(&m, "1|a;2|c;3|d");
      wm_commit(&m);
      assert_string_equal(wm_rows(&m), "1|a;2|c;3|d;9|z");
      wm_end(&m);
      if (fault.writes < n) {
        break;
      }
    }
  }
}

static tarn_status torture_write(void *ctx, tarn_env *env, tarn_error *err) {
  write_maker *m = ctx;
  tn_commit_message *messages;
  int32_t n;
  tn_arena arena;
  tarn_status st;
  tn_arena_init(&arena, &env->mem, SIZE_MAX);
  st = wm_try_open(m, err);
  for (int i = 0; i < 2 && st == TARN_OK; i++) {
    tn_batch batch = {0};
    st = tn_batch_init(env, m->table->schema->fields, 2, &batch, err);
    st = st == TARN_OK ? tn_vec_alloc(env, &batch.columns[0], 1, 0, err) : st;
    st = st == TARN_OK ? tn_vec_alloc(env, &batch.columns[1], 1, 1, err) : st;
    if (st == TARN_OK) {
      ((int32_t *)batch.columns[0].values)[0] = 1;
      ((char *)batch.columns[1].values)[0] = 'x';
      batch.columns[1].offsets[1] = 1;
      batch.n_rows = 1;
      st = tn_write_batch(m->write, &batch, NULL, err);
    }
    tn_batch_reset(env, &batch);
    st = st == TARN_OK ? tn_write_prepare(m->write, i, &arena, &messages, &n, err) : st;
    if (st == TARN_OK) {
      tn_committable c = {.messages = messages, .n_messages = n};
      st = tn_commit_abort(m->table, &c, err);
      if (st != TARN_OK) { /* no allocation fails twice */
        tarn_error other = {0};
        assert_int_equal(tn_commit_abort(m->table, &c, &other), TARN_OK);
      }
      st = st == TARN_OK ? tn_write_refresh(m->write, err) : st;
    }
  }
  wm_close(m);
  tn_arena_reset(&arena);
  return st;
}

static void write__failing_allocations_leave_no_file(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(failing_options); i++) {
    tn_test_alloc alloc;
    tn_test_alloc_init(&alloc);
    tarn_allocator hooks = tn_test_alloc_hooks(&alloc);
    tarn_env_options options = TARN_ENV_OPTIONS_INIT;
    tarn_env *env = NULL;
    write_maker m;
    int n_files;
    options.allocator = &hooks;
    options.threads = 1;
    OK(tarn_env_create(&options, &env, err));
    wm_begin_in(&m, env, FIELDS, "", "k", failing_options[i]);
    m.options.compacts = m.options.waits = true;
    wm_open(&m);
    wm_write(&m, "1|a;2|b");
    wm_commit(&m);
    wm_close(&m);
    n_files = wm_count_files(&m);
    for (int64_t n = 1;; n++) {
      tarn_error why = {0};
      tarn_status st;
      alloc.fail_at = alloc.calls + n;
      st = torture_write(&m, env, &why);
      bool has_failed = alloc.calls >= alloc.fail_at;
      alloc.fail_at = 0;
      assert_true(st == TARN_OK || st == TARN_E_NOMEM);
      if (wm_count_files(&m) != n_files) {
        fail_msg("%s: allocation %lld: %s %s: %d files instead of %d", failing_options[i],
                 (long long)n, tarn_status_name(st), why.message, wm_count_files(&m), n_files);
      }
      if (!has_failed) {
        assert_int_equal(st, TARN_OK);
        break;
      }
    }
    wm_end(&m);
    assert_int_equal(alloc.live_blocks, 0);
  }
}

/* ------------------------------------------------------------------ walks */

#define N_KEYS 40

typedef struct walk_case {
  const char *engine, *options;
  bool has_deletes, has_changelog;
} walk_case;

static const walk_case walk_cases[] = {
    {"deduplicate", "", true, false},
    {"deduplicate", "changelog-producer=lookup", true, true},
    {"deduplicate", "changelog-producer=lookup;lookup-wait=false", true, false},
    {"deduplicate", "changelog-producer=full-compaction", true, true},
    {"deduplicate", "deletion-vectors.enabled=true", true, false},
    {"deduplicate", "deletion-vectors.enabled=true;changelog-producer=lookup", true, true},
    {"deduplicate", "force-lookup=true", true, false},
    {"partial-update", "", false, false},
    {"partial-update", "changelog-producer=lookup", false, true},
    {"partial-update", "deletion-vectors.enabled=true", false, false},
    {"aggregation", "fields.v.aggregate-function=listagg", false, false},
    {"aggregation", "fields.v.aggregate-function=listagg;changelog-producer=lookup", false, true},
    {"aggregation", "fields.v.aggregate-function=listagg;changelog-producer=full-compaction", false,
     true},
};

static const char *random_rows(random_source *random, const walk_case *c, char *text, size_t size) {
  uint32_t n = 1 + random_below(random, 8);
  size_t at = 0;
  for (uint32_t i = 0; i < n; i++) {
    bool is_delete = c->has_deletes && random_below(random, 5) == 0;
    at += (size_t)snprintf(text + at, size - at, "%s%s%u|%c", i > 0 ? ";" : "",
                           is_delete ? "-D " : "", random_below(random, N_KEYS),
                           (char)('a' + random_below(random, 26)));
  }
  return text;
}

/* What a changelog makes of a table: "+I 1|a" puts a row, "-D 1|a" takes it away. */
typedef struct replica {
  char rows[N_KEYS][64];
} replica;

static void apply(replica *r, const char *text) {
  char *copy = strdup(text), *save = NULL;
  for (char *row = strtok_r(copy, ";", &save); row != NULL; row = strtok_r(NULL, ";", &save)) {
    int k = atoi(row + 3);
    bool is_put = row[0] == '+';
    if (is_put) {
      snprintf(r->rows[k], sizeof(r->rows[k]), "%s", row + 3);
    } else {
      assert_string_equal(r->rows[k], row + 3); /* what goes is what was there */
      r->rows[k][0] = '\0';
    }
  }
  free(copy);
}

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void assert_replica(const replica *r, const char *wanted) {
  const char *rows[N_KEYS];
  size_t n = 0, at = 0;
  char text[N_KEYS * 64] = "";
  for (int k = 0; k < N_KEYS; k++) {
    if (r->rows[k][0] != '\0') {
      rows[n++] = r->rows[k];
    }
  }
  qsort(rows, n, sizeof(*rows), by_text);
  for (size_t i = 0; i < n; i++) {
    at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", i > 0 ? ";" : "", rows[i]);
  }
  assert_string_equal(text, wanted);
}

/* A table that compacts has the rows of one that does not, whatever comes between. */
static void walk(const walk_case *c, int32_t threads, uint32_t seed) {
  write_maker m, twin;
  random_source random = {.state = seed * 7919};
  replica r = {{{0}}};
  int64_t before = 0;
  char options[512];
  tarn_env *env = tn_test_env(threads, 0);
  snprintf(options, sizeof(options),
           "bucket=2;num-sorted-run.compaction-trigger=3;merge-engine=%s%s%s", c->engine,
           c->options[0] != '\0' ? ";" : "", c->options);
  wm_begin_in(&m, env, FIELDS, "", "k", options);
  m.options.compacts = true;
  m.options.waits = seed % 2 == 0;
  wm_open(&m);
  wm_begin(&twin, FIELDS, "", "k",
           strcmp(c->engine, "aggregation") == 0
               ? "bucket=2;merge-engine=aggregation;fields.v.aggregate-function=listagg"
           : c->has_deletes ? "bucket=2"
                            : "bucket=2;merge-engine=partial-update");
  for (int i = 0; i < 25; i++) {
    char text[512];
    uint32_t what = random_below(&random, 10);
    for (uint32_t k = random_below(&random, 3); k > 0; k--) {
      random_rows(&random, c, text, sizeof(text));
      wm_write(&m, text);
      wm_write(&twin, text);
    }
    if (what == 0) {
      OK(tn_write_compact_all(m.write, random_below(&random, 2) == 0, err));
    }
    wm_commit(&m);
    wm_commit(&twin);
    if (wm_count_files(&m) > 0) {
      assert_string_equal(wm_rows(&m), wm_rows(&twin));
    }
    if (c->has_changelog && wm_count_files(&m) > 0) {
      int64_t after = latest_id(&m);
      apply(&r, changes(&m, before, after));
      before = after;
      assert_replica(&r, wm_rows(&m));
    }
    if (what == 1) {
      OK(tn_write_refresh(m.write, err));
    } else if (what == 2) {
      wm_open(&m);
    }
  }
  assert_string_equal(wm_rows(&m), wm_rows(&twin));
  wm_end(&twin);
  wm_end(&m);
}

static void write__walks_like_a_table_that_is_not_compacted(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(walk_cases); i++) {
    for (uint32_t seed = 1; seed < 5; seed++) {
      walk(&walk_cases[i], seed < 3 ? 1 : 3, seed);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(write__compacts_when_enough_runs_are_there),
      cmocka_unit_test(write__finds_the_tree_of_the_latest_snapshot),
      cmocka_unit_test(write__only_compacts_nothing),
      cmocka_unit_test(write__joins_files_of_append_buckets),
      cmocka_unit_test(write__keeps_buckets_of_all_modes_compacted),
      cmocka_unit_test(write__tells_changes_by_looking_up),
      cmocka_unit_test(write__need_not_wait_for_lookup),
      cmocka_unit_test(write__compacts_fully_every_so_many_commits),
      cmocka_unit_test(write__overwrites_without_changelog),
      cmocka_unit_test(write__marks_rows_that_are_superseded),
      cmocka_unit_test(write__keeps_first_rows),
      cmocka_unit_test(compact__is_told_with_the_next_commit),
      cmocka_unit_test(compact__opens_a_bucket_that_nobody_wrote),
      cmocka_unit_test(write__checks_the_pool_ratio_as_java),
      cmocka_unit_test(write__loses_a_compaction_to_another_writer_but_no_row),
      cmocka_unit_test(write__looks_up_in_no_levels_that_are_gone),
      cmocka_unit_test(commit__failing_behind_its_rows_leaves_no_file),
      cmocka_unit_test(write__failing_storage_leaves_the_table_right),
      cmocka_unit_test(write__failing_allocations_leave_no_file),
      cmocka_unit_test(write__walks_like_a_table_that_is_not_compacted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
