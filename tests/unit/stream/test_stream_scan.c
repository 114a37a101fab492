/* test_stream_scan.c - where streams start, what they follow, and how they find out that they
 * cannot go on. */
#include <pthread.h>
#include <stdio.h>

#include "stream/follow.h"
#include "stream/kinds.h"
#include "stream_maker.h"

#define KEYED "0 k INT NOT NULL|1 v STRING"

static void step(stream_maker *m, tn_stream_scan *scan, tn_table *table, const char *wanted) {
  assert_string_equal(sm_step(m, scan, table), wanted);
}

/* The steps of a new stream with these options, one after the other. */
static void steps(stream_maker *m, const char *options, const char *const *wanted) {
  tn_table *table = sm_table(m, options);
  tn_stream_scan *scan = sm_scan(m, table);
  for (; *wanted != NULL; wanted++) {
    step(m, scan, table, *wanted);
  }
  tn_stream_scan_free(scan);
  tn_table_release(table);
}

#define STEPS(m, options, ...) steps(m, options, (const char *const[]){__VA_ARGS__, NULL})

/* ------------------------------------------------------------------ starts */

static void start__every_mode_finds_its_first_plan(void **state) {
  stream_maker m;
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=1");
  sm_commit(&m, "1|a");      // at 1000
  sm_commit(&m, "1|b;2|b");  // at 2000
  sm_commit(&m, "-D 2|b");   // at 3000
  STEPS(&m, "", "3: +I 1|b", "waiting");
  STEPS(&m, "scan.mode=latest-full", "3: +I 1|b", "waiting");
  STEPS(&m, "scan.mode=full", "3: +I 1|b", "waiting");
  STEPS(&m, "scan.mode=compacted-full", "3: +I 1|b", "waiting");
  STEPS(&m, "scan.mode=latest", "started 4", "waiting");
  STEPS(&m, "scan.snapshot-id=2", "started 2", "2: +I 1|b;+I 2|b", "3: -D 2|b", "waiting");
  STEPS(&m, "scan.mode=from-snapshot-full;scan.snapshot-id=2", "2: +I 1|b;+I 2|b", "3: -D 2|b");
  STEPS(&m, "scan.snapshot-id=9", "started 9", "waiting");
  STEPS(&m, "scan.timestamp-millis=2000", "started 2", "2: +I 1|b;+I 2|b");
  STEPS(&m, "scan.timestamp-millis=2001", "started 3", "3: -D 2|b");
  STEPS(&m, "scan.timestamp-millis=5", "started 1");
  STEPS(&m, "scan.timestamp-millis=9000", "started 4", "waiting");
  STEPS(&m, "scan.creation-time-millis=2000", "started 2");
  sm_end(&m);
}

static void start__ids_that_expired_are_moved_up(void **state) {
  stream_maker m;
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=1");
  sm_commit(&m, "1|a");
  sm_commit(&m, "2|a");
  sm_commit(&m, "3|a");
  sm_expire(&m, 1, false);
  STEPS(&m, "scan.snapshot-id=1", "started 2", "2: +I 2|a");
  STEPS(&m, "scan.mode=from-snapshot-full;scan.snapshot-id=1", "2: +I 1|a;+I 2|a");
  sm_end(&m);
}

static void start__waits_for_a_first_snapshot(void **state) {
  static const char *const options[] = {"", "scan.mode=latest", "scan.snapshot-id=1",
                                        "scan.timestamp-millis=0"};
  for (size_t i = 0; i < TN_COUNT(options); i++) {
    stream_maker m;
    tn_table *table;
    tn_stream_scan *scan;
    (void)state;
    sm_begin(&m, KEYED, "", "k", "bucket=1");
    table = sm_table(&m, options[i]);
    scan = sm_scan(&m, table);
    step(&m, scan, table, "waiting");
    sm_commit(&m, "1|a");
    // All that came while the stream was there is read, whatever the mode.
    if (i > 0) {
      step(&m, scan, table, "started 1");
    }
    step(&m, scan, table, "1: +I 1|a");
    tn_stream_scan_free(scan);
    tn_table_release(table);
    sm_end(&m);
  }
}

static void start__modes_of_batches_are_refused(void **state) {
  static const struct {
    const char *options, *message;
  } cases[] = {
      {"scan.tag-name=x", "INVALID db.t: Cannot scan from tag in streaming mode."},
      {"scan.watermark=5", "INVALID db.t: Cannot scan from watermark in streaming mode."},
      {"incremental-between=1,2", "INVALID db.t: Cannot read incremental in streaming mode."},
      {"scan.mode=latest-delta",
       "INVALID db.t: 'latest-delta' scan mode is only supported for batch sources."},
  };
  stream_maker m;
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=1");
  sm_commit(&m, "1|a");
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    STEPS(&m, cases[i].options, cases[i].message);
  }
  sm_end(&m);
}

/* Of what a torn write left behind (known fault B82). */
static void start__a_consumer_file_that_is_none_is_told(void **state) {
  static const char *const contents[] = {"", "{\"nextSnapsh", "{}", "{\"nextSnapshot\": \"x\"}"};
  stream_maker m;
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=1");
  sm_commit(&m, "1|a");
  for (size_t i = 0; i < TN_COUNT(contents); i++) {
    tn_table *table = sm_table(&m, "consumer-id=c");
    tn_stream_scan *scan = sm_scan(&m, table);
    const char *told;
    tm_put(&m.w.tm, "consumer/consumer-c", contents[i]);
    told = sm_step(&m, scan, table);
    assert_true(strncmp(told, "CORRUPT ", 8) == 0);
    assert_contains(told, "/t/consumer/consumer-c");
    tn_stream_scan_free(scan);
    tn_table_release(table);
  }
  sm_end(&m);
}

static void start__a_consumer_comes_before_the_mode(void **state) {
  stream_maker m;
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=1");
  sm_commit(&m, "1|a");
  sm_commit(&m, "2|a");
  sm_commit(&m, "3|a");
  tm_put(&m.w.tm, "consumer/consumer-c", "{\"nextSnapshot\": 2}");
  STEPS(&m, "consumer-id=c;scan.mode=latest", "started 2", "2: +I 2|a", "3: +I 3|a", "waiting");
  STEPS(&m, "consumer-id=c;consumer.ignore-progress=true;scan.mode=latest", "started 4");
  STEPS(&m, "consumer-id=other;scan.mode=latest", "started 4");
  sm_expire(&m, 1, false);
  sm_expire(&m, 2, false);
  STEPS(&m, "consumer-id=c", "started 3");
  sm_end(&m);
}

/* Snapshots go one after the other while a start is looked for (known fault B83). */
static void *expire_all(void *ctx) {
  stream_maker *m = ctx;
  for (int64_t id = 1; id < 60; id++) {
    char path[64];
    snprintf(path, sizeof(path), "/t/snapshot/snapshot-%lld", (long long)id);
    tn_storage_memory_remove(m->w.tm.storage, path);
  }
  return NULL;
}

static void start__goes_on_while_snapshots_expire(void **state) {
  static const char *const options[] = {
      "scan.mode=from-timestamp;scan.timestamp-millis=1000", "scan.snapshot-id=2",
      "scan.mode=from-snapshot-full;scan.snapshot-id=2", "scan.mode=latest-full", ""};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(options); i++) {
    stream_maker m;
    tn_table *table;
    pthread_t expirer;
    int64_t last = 0;
    sm_begin(&m, KEYED, "", "k", "bucket=1");
    for (int k = 0; k < 60; k++) {
      sm_commit(&m, "1|a");
    }
    tn_storage_memory_remove(m.w.tm.storage, "/t/snapshot/EARLIEST");
    table = sm_table(&m, options[i]);
    assert_int_equal(pthread_create(&expirer, NULL, expire_all, &m), 0);
    for (int k = 0; k < 100; k++) {
      tn_stream_scan *scan = sm_scan(&m, table);
      tn_stream_outcome outcome;
      tn_plan *plan = NULL;
      tarn_error error = {0};
      int64_t next;
      tarn_status st = tn_stream_scan_plan(scan, &outcome, &plan, &error);
      if (st != TARN_OK && (i != 2 || st != TARN_E_NOT_FOUND)) {  // which one was asked for
        fail_msg("%s: %s", options[i], error.message);
      }
      if (st == TARN_OK) {
        assert_true(tn_stream_scan_position(scan, &next));
        assert_in_range(next, last, 61);
        last = next;  // what has expired does not come again
      }
      tn_plan_release(plan);
      tn_stream_scan_free(scan);
    }
    (void)pthread_join(expirer, NULL);
    assert_true(last >= 2);
    tn_table_release(table);
    sm_end(&m);
  }
}

/* ------------------------------------------------------------------ following */

static void follow__compactions_and_overwrites_are_passed_over(void **state) {
  stream_maker m;
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=1");
  sm_commit(&m, "1|a;2|a");
  sm_changelog(&m, "9|x");  // a COMPACT snapshot
  sm_overwrite(&m, "3|c");
  sm_commit(&m, "4|d");
  STEPS(&m, "scan.snapshot-id=1", "started 1", "1: +I 1|a;+I 2|a", "4: +I 4|d", "waiting");
  STEPS(&m, "scan.snapshot-id=1;streaming-read-overwrite=true", "started 1", "1: +I 1|a;+I 2|a",
        "3: -D 1|a;-D 2|a;+I 3|c", "4: +I 4|d", "waiting");
  sm_end(&m);
}

typedef struct told {
  int32_t times;
  char text[512];
} told;

static void on_log(void *ctx, tarn_log_level level, const char *message) {
  told *t = ctx;
  if (level == TARN_LOG_WARN && strstr(message, "overwrite") != NULL) {
    t->times++;
    snprintf(t->text, sizeof(t->text), "%s", message);
  }
}

/* A stream that misses overwrites says so, and what to do; once. */
static void follow__overwrites_that_are_missed_are_told(void **state) {
  static const struct {
    const char *keys, *options, *message;
  } cases[] = {
      {"k", "bucket=1",
       "snapshot=2 passed over: it is an overwrite; set "
       "streaming-read-overwrite=true to read such snapshots"},
      {"k", "bucket=1;changelog-producer=lookup", "which is in no changelog of this table"},
      {"", "bucket=-1", "set streaming-read-append-overwrite=true"}};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    stream_maker m;
    tn_table *table;
    tn_stream_scan *scan;
    told t = {.times = 0};
    sm_begin(&m, KEYED, "", cases[i].keys, cases[i].options);
    m.w.tm.env->log = on_log;
    m.w.tm.env->log_ctx = &t;
    m.w.tm.env->log_level = TARN_LOG_WARN;
    sm_commit(&m, "1|a");
    sm_overwrite(&m, "2|b");
    sm_overwrite(&m, "3|c");
    table = sm_table(&m, "scan.snapshot-id=1");
    scan = sm_scan(&m, table);
    step(&m, scan, table, "started 1");
    if (strstr(cases[i].options, "lookup") == NULL) {
      step(&m, scan, table, "1: +I 1|a");
    }
    step(&m, scan, table, "waiting");
    assert_int_equal(t.times, 1);
    assert_contains(t.text, cases[i].message);
    assert_int_equal(tn_stream_scan_metrics(scan)->overwrites_passed_over, 2);
    tn_stream_scan_free(scan);
    tn_table_release(table);
    sm_end(&m);
  }
}

/* Rows that were deleted before are not removed again (known fault B80). */
static void follow__an_overwrite_removes_what_was_there(void **state) {
  stream_maker m;
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=1");
  sm_commit(&m, "1|a;2|a;3|a");
  sm_commit(&m, "-D 2|a");
  sm_overwrite(&m, "2|b;3|b");
  STEPS(&m, "scan.snapshot-id=3;streaming-read-overwrite=true", "started 3",
        "3: -D 1|a;-D 3|a;+I 2|b;+I 3|b", "waiting");
  sm_end(&m);
}

/* stream-scan-mode=file-monitor: files that each snapshot removed and added, whatever made it, of
 * tables that have no changelog, too. */
static void follow__a_monitor_sees_files_of_every_commit(void **state) {
  static const struct {
    const char *keys, *options, *appended, *compacted;
  } cases[] = {
      {"k", "bucket=1", "2: +I 1|b;+I 3|b",
       "4: -D 1|b;-D 2|a;-D 3|b;-D 4|c;+I 1|b;+I 2|a;+I 3|b;+I 4|c"},
      {"k", "bucket=1;merge-engine=partial-update", "2: +I 1|b;+I 3|b",
       "4: -D 1|b;-D 2|a;-D 3|b;-D 4|c;+I 1|b;+I 2|a;+I 3|b;+I 4|c"},
      {"k", "bucket=1;changelog-producer=input", "2: +I 1|b;+I 3|b",
       "4: -D 1|b;-D 2|a;-D 3|b;-D 4|c;+I 1|b;+I 2|a;+I 3|b;+I 4|c"},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    stream_maker m;
    tn_table *table;
    tn_stream_scan *scan;
    tn_stream_kinds kinds;
    sm_begin(&m, KEYED, "", cases[i].keys, cases[i].options);
    table = sm_table(&m, "stream-scan-mode=file-monitor;consumer-id=c;scan.mode=latest");
    OK(tn_stream_kinds_of(table, &kinds, err));
    assert_int_equal(kinds, TN_KINDS_ALL);
    scan = sm_scan(&m, table);
    assert_string_equal(sm_step(&m, scan, table), "waiting");
    sm_commit(&m, "1|a;2|a");
    assert_string_equal(sm_step(&m, scan, table), "1: +I 1|a;+I 2|a");  // not of scan.mode
    sm_commit(&m, "1|b;3|b");
    assert_string_equal(sm_step(&m, scan, table), cases[i].appended);
    wm_close(&m.w);
    m.w.options.compacts = m.w.options.waits = true;
    wm_open(&m.w);
    wm_write(&m.w, "4|c");
    OK(tn_write_compact_all(m.w.write, true, err));
    wm_commit(&m.w);
    assert_string_equal(sm_step(&m, scan, table), "3: +I 4|c");
    assert_string_equal(sm_step(&m, scan, table), cases[i].compacted);
    sm_overwrite(&m, "9|z");
    assert_string_equal(sm_step(&m, scan, table), "5: -D 1|b;-D 2|a;-D 3|b;-D 4|c;+I 9|z");
    assert_string_equal(sm_step(&m, scan, table), "waiting");
    tn_stream_scan_free(scan);
    tn_table_release(table);
    sm_end(&m);
  }
}

/* stream-scan-mode=compact-bucket-table: what came after the last compaction, as it was written. */
static void follow__what_compactions_still_have_to_do(void **state) {
  stream_maker m;
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=1;changelog-producer=input");
  sm_commit(&m, "1|a");
  STEPS(&m, "stream-scan-mode=compact-bucket-table", "started 1", "1: +I 1|a", "waiting");
  sm_changelog(&m, "9|x");  // a COMPACT snapshot
  sm_commit(&m, "2|b;-D 1|a");
  STEPS(&m, "stream-scan-mode=compact-bucket-table;scan.mode=latest-full", "started 3",
        "3: -D 1|a;+I 2|b", "waiting");
  sm_end(&m);
}

static void follow__overwrites_of_append_tables_are_their_new_rows(void **state) {
  stream_maker m;
  (void)state;
  sm_begin(&m, KEYED, "", "", "bucket=-1");
  sm_commit(&m, "1|a");
  sm_overwrite(&m, "2|b");
  STEPS(&m, "scan.snapshot-id=1", "started 1", "1: +I 1|a", "waiting");
  STEPS(&m, "scan.snapshot-id=1;streaming-read-append-overwrite=true", "started 1", "1: +I 1|a",
        "2: +I 2|b", "waiting");
  sm_end(&m);
}

static void follow__a_producer_gives_its_changelog_of_any_commit(void **state) {
  stream_maker m;
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=1;changelog-producer=input");
  sm_commit(&m, "1|a;-D 2|b");
  sm_changelog(&m, "-U 1|a;+U 1|b");
  STEPS(&m, "scan.snapshot-id=1", "started 1", "1: +I 1|a;-D 2|b", "2: -U 1|a;+U 1|b", "waiting");
  sm_end(&m);
}

static void follow__the_full_phase_leaves_out_what_comes_again(void **state) {
  stream_maker m;
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=1;changelog-producer=lookup;write-only=true");
  sm_commit(&m, "1|a");
  // Its only file is on level 0: no compaction has told its changelog yet.
  STEPS(&m, "", "1: ", "waiting");
  STEPS(&m, "changelog-producer=none", "1: +I 1|a", "waiting");
  sm_end(&m);
}

static void follow__a_bounded_stream_ends_behind_its_watermark(void **state) {
  stream_maker m;
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=1");
  sm_commit_at(&m, "1|a", 10);
  sm_commit_at(&m, "2|a", 20);
  sm_commit_at(&m, "3|a", 30);
  STEPS(&m, "scan.snapshot-id=1;scan.bounded.watermark=20", "started 1", "1: +I 1|a", "2: +I 2|a",
        "ended", "ended");
  STEPS(&m, "scan.bounded.watermark=20", "3: +I 1|a;+I 2|a;+I 3|a", "ended");
  STEPS(&m, "scan.bounded.watermark=30", "3: +I 1|a;+I 2|a;+I 3|a", "waiting");
  sm_end(&m);
}

static void follow__a_delay_lets_snapshots_age(void **state) {
  stream_maker m;
  tn_table *table;
  tn_stream_scan *scan;
  int64_t left;
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=1");
  sm_commit(&m, "1|a");  // at 1000
  table = sm_table(&m, "scan.snapshot-id=1;streaming.read.snapshot.delay=5 s");
  scan = sm_scan(&m, table);
  step(&m, scan, table, "started 1");
  m.now = 5999;
  assert_false(tn_stream_scan_held_back(scan, &left));
  step(&m, scan, table, "waiting");
  assert_true(tn_stream_scan_held_back(scan, &left));
  assert_int_equal(left, 1);
  m.now = 6000;
  step(&m, scan, table, "1: +I 1|a");
  tn_stream_scan_free(scan);
  tn_table_release(table);
  sm_end(&m);
}

static void watermark__is_that_of_the_last_plan(void **state) {
  stream_maker m;
  tn_table *table;
  tn_stream_scan *scan;
  int64_t mark;
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=1");
  sm_commit(&m, "1|a");
  sm_commit_at(&m, "2|a", 20);
  table = sm_table(&m, "scan.snapshot-id=1");
  scan = sm_scan(&m, table);
  step(&m, scan, table, "started 1");
  step(&m, scan, table, "1: +I 1|a");
  assert_false(tn_stream_scan_watermark(scan, &mark));
  step(&m, scan, table, "2: +I 2|a");
  assert_true(tn_stream_scan_watermark(scan, &mark));
  assert_int_equal(mark, 20);
  tn_stream_scan_free(scan);
  tn_table_release(table);
  sm_end(&m);
}

static void restore__goes_on_there_or_reads_it_in_full(void **state) {
  stream_maker m;
  tn_table *table;
  tn_stream_scan *scan;
  int64_t next;
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=1");
  sm_commit(&m, "1|a");
  sm_commit(&m, "2|a");
  table = sm_table(&m, "");
  scan = sm_scan(&m, table);
  tn_stream_scan_restore(scan, true, 2, false);
  step(&m, scan, table, "2: +I 2|a");
  tn_stream_scan_restore(scan, true, 2, true);
  step(&m, scan, table, "2: +I 1|a;+I 2|a");
  assert_true(tn_stream_scan_position(scan, &next));
  assert_int_equal(next, 3);
  tn_stream_scan_restore(scan, false, 0, false);
  assert_false(tn_stream_scan_position(scan, &next));
  step(&m, scan, table, "2: +I 1|a;+I 2|a");
  tn_stream_scan_free(scan);
  tn_table_release(table);
  sm_end(&m);
}

/* ------------------------------------------------------------------ out of reach */

static void expect_reach(tn_stream_scan *scan, int64_t next, tarn_status status,
                         const char *message) {
  tarn_error err = {0};
  tn_stream_scan_restore(scan, true, next, false);
  assert_int_equal(tn_stream_scan_check(scan, &err), status);
  if (status != TARN_OK) {
    assert_contains(err.message, message);
  }
}

static void range__each_way_out_has_its_message(void **state) {
  stream_maker m;
  tn_table *table;
  tn_stream_scan *scan;
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=1");
  sm_commit(&m, "1|a");
  sm_commit(&m, "2|a");
  sm_commit(&m, "3|a");
  sm_expire(&m, 1, false);
  table = sm_table(&m, "");
  scan = sm_scan(&m, table);
  expect_reach(scan, 2, TARN_OK, "");
  expect_reach(scan, 4, TARN_OK, "");
  expect_reach(scan, 1, TARN_E_EXPIRED,
               "The snapshot with id 1 has expired. Earliest Snapshot ID: 2, Time: 2000; Latest "
               "Snapshot ID: 3, Time: 3000. You can: 1. increase the snapshot or changelog "
               "expiration time");
  expect_reach(scan, 1, TARN_E_EXPIRED, "2. use consumer-id");
  expect_reach(scan, 5, TARN_E_INVALID,
               "The next expected snapshot is too big! Most possible cause might be the table had "
               "been recreated.The next snapshot id is 5, while the latest snapshot id is 3");
  sm_expire(&m, 2, false);
  sm_expire(&m, 3, false);
  expect_reach(scan, 1, TARN_OK, "");
  expect_reach(scan, 2, TARN_E_INVALID, "while the latest snapshot id is null");
  tn_stream_scan_free(scan);
  tn_table_release(table);
  sm_end(&m);
}

/* Snapshots from `id` on go, and others are committed in their place. */
static void roll_back(stream_maker *m, int64_t id, int64_t latest) {
  for (; latest >= id; latest--) {
    sm_expire(m, latest, false);
  }
  tn_storage_memory_remove(m->w.tm.storage, "/t/snapshot/LATEST");
}

static void range__a_past_that_was_rolled_back_is_told(void **state) {
  stream_maker m;
  tn_table *table;
  tn_stream_scan *scan;
  uint64_t past;
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=1");
  sm_commit(&m, "1|a");
  sm_commit(&m, "2|a");
  table = sm_table(&m, "");
  scan = sm_scan(&m, table);
  step(&m, scan, table, "2: +I 1|a;+I 2|a");
  past = tn_stream_scan_past(scan);
  assert_true(past != 0);
  step(&m, scan, table, "waiting");
  roll_back(&m, 2, 2);
  sm_commit(&m, "3|b");
  sm_commit(&m, "4|b");
  // it goes on, and it is restored
  assert_contains(sm_step(&m, scan, table), "snapshot 2 is not the one that was read before");
  expect_reach(scan, 3, TARN_OK, ""); /* a position alone tells no past */
  tn_stream_scan_restore(scan, true, 3, false);
  tn_stream_scan_set_past(scan, past);
  assert_int_equal(tn_stream_scan_check(scan, NULL), TARN_E_INVALID);
  assert_contains(sm_step(&m, scan, table), "snapshot 2 is not the one that was read before");
  sm_expire(&m, 2, false); /* nobody can know then */
  step(&m, scan, table, "3: +I 4|b");
  tn_stream_scan_free(scan);
  tn_table_release(table);
  sm_end(&m);
}

static void range__plans_look_at_every_16th_miss(void **state) {
  stream_maker m;
  tn_table *table;
  tn_stream_scan *scan;
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=1");
  sm_commit(&m, "1|a");
  table = sm_table(&m, "");
  scan = sm_scan(&m, table);
  tn_stream_scan_restore(scan, true, 7, false);
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < 15; i++) {
      step(&m, scan, table, "waiting");
    }
    assert_contains(sm_step(&m, scan, table), "INVALID db.t: The next expected snapshot is too");
  }
  tn_stream_scan_free(scan);
  tn_table_release(table);
  sm_end(&m);
}

static void range__kept_changelogs_are_followed_then_missed(void **state) {
  stream_maker m;
  tn_table *table;
  tn_stream_scan *scan;
  (void)state;
  sm_begin(&m, KEYED, "", "k",
           "bucket=1;changelog-producer=input;changelog.num-retained.max=2147483647;"
           "changelog.num-retained.min=100;snapshot.num-retained.max=100");
  sm_commit(&m, "1|a");
  sm_commit(&m, "2|a");
  sm_commit(&m, "3|a");
  sm_expire(&m, 1, false);
  sm_expire(&m, 2, true);
  table = sm_table(&m, "scan.snapshot-id=1");
  scan = sm_scan(&m, table);
  step(&m, scan, table, "started 2");
  step(&m, scan, table, "2: +I 2|a");
  step(&m, scan, table, "3: +I 3|a");
  // Java waits for ever for what is gone here, too.
  expect_reach(scan, 1, TARN_E_EXPIRED, "its long-lived changelog is gone, too");
  expect_reach(scan, 2, TARN_OK, "");
  tn_stream_scan_free(scan);
  tn_table_release(table);
  sm_end(&m);
}

/* ------------------------------------------------------------------ lag */

static void lag__counts_snapshots_rows_and_time(void **state) {
  stream_maker m;
  tn_table *table;
  tn_stream_scan *scan;
  tn_stream_lag lag;
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=1");
  sm_commit(&m, "1|a");
  sm_commit(&m, "2|a;3|a");
  sm_commit(&m, "4|a");
  table = sm_table(&m, "");
  scan = sm_scan(&m, table);
  m.now = 10000;
  OK(tn_stream_scan_lag(scan, true, 2, &lag, err));
  assert_int_equal(lag.snapshots, 2);
  assert_int_equal(lag.rows, 3);
  assert_int_equal(lag.ms, 8000);
  assert_int_equal(lag.latest, 3);
  sm_commit(&m, "5|a;6|a");
  OK(tn_stream_scan_lag(scan, true, 3, &lag, err));  // both ends have moved
  assert_int_equal(lag.snapshots, 2);
  assert_int_equal(lag.rows, 3);
  OK(tn_stream_scan_lag(scan, true, 1, &lag, err));  // back again
  assert_int_equal(lag.rows, 6);
  OK(tn_stream_scan_lag(scan, true, 5, &lag, err));
  assert_int_equal(lag.snapshots, 0);
  assert_int_equal(lag.rows, 0);
  assert_int_equal(lag.ms, 0);
  tn_stream_scan_free(scan);
  tn_table_release(table);
  sm_end(&m);
}

/* ------------------------------------------------------------------ what is refused, and kinds */

static void check__refuses_what_java_refuses(void **state) {
  static const struct {
    const char *fields, *keys, *options, *dynamic, *message;
  } cases[] = {
      {KEYED, "k", "bucket=1;merge-engine=partial-update", "",
       "Partial update streaming reading is not supported. You can use 'lookup' or "},
      {KEYED, "k", "bucket=1;merge-engine=aggregation", "",
       "Pre-aggregate streaming reading is not supported"},
      {KEYED, "k", "bucket=1;merge-engine=first-row", "",
       "First row streaming reading is not supported"},
      {KEYED, "k", "bucket=1;changelog-producer=lookup;write-only=true",
       "streaming-read-overwrite=true", "because it will read duplicated changes"},
      {KEYED, "", "bucket=-1", "streaming-read-overwrite=true",
       "Please use streaming-read-append-overwrite"},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    stream_maker m;
    tn_table *table;
    tarn_error error = {0};
    sm_begin(&m, cases[i].fields, "", cases[i].keys, cases[i].options);
    table = sm_table(&m, cases[i].dynamic);
    assert_int_equal(tn_stream_check(table, &error), TARN_E_INVALID);
    assert_contains(error.message, cases[i].message);
    tn_table_release(table);
    sm_end(&m);
  }
}

static void check__a_consumer_needs_an_expiration_time(void **state) {
  stream_maker m;
  tn_table *table;
  tarn_error error = {0};
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=1");
  table = sm_table(&m, "consumer-id=c");
  assert_int_equal(tn_stream_check_consumer(table, &error), TARN_E_INVALID);
  assert_contains(error.message, "You need to configure 'consumer.expiration-time'");
  tn_table_release(table);
  table = sm_table(&m, "consumer-id=c;consumer.expiration-time=1 d");
  OK(tn_stream_check_consumer(table, err));
  tn_table_release(table);
  sm_end(&m);
}

static void kinds__of_each_table(void **state) {
  static const struct {
    const char *keys, *options, *dynamic;
    tn_stream_kinds kinds;
  } cases[] = {
      {"", "bucket=-1", "", TN_KINDS_INSERT},
      {"k", "bucket=1;merge-engine=first-row;changelog-producer=lookup;write-only=true", "",
       TN_KINDS_INSERT},
      {"k", "bucket=1", "", TN_KINDS_UPSERT},
      {"k", "bucket=1", "scan.remove-normalize=true", TN_KINDS_ALL},
      {"k", "bucket=1;changelog-producer=input", "", TN_KINDS_ALL},
      {"k", "bucket=1;changelog-producer=lookup;write-only=true", "", TN_KINDS_ALL},
      {"k", "bucket=1;changelog-producer=full-compaction;write-only=true", "", TN_KINDS_ALL},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    stream_maker m;
    tn_table *table;
    tn_stream_kinds kinds;
    sm_begin(&m, KEYED, "", cases[i].keys, cases[i].options);
    table = sm_table(&m, cases[i].dynamic);
    OK(tn_stream_kinds_of(table, &kinds, err));
    assert_int_equal(kinds, cases[i].kinds);
    tn_table_release(table);
    sm_end(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(start__every_mode_finds_its_first_plan),
      cmocka_unit_test(start__ids_that_expired_are_moved_up),
      cmocka_unit_test(start__waits_for_a_first_snapshot),
      cmocka_unit_test(start__goes_on_while_snapshots_expire),
      cmocka_unit_test(start__modes_of_batches_are_refused),
      cmocka_unit_test(start__a_consumer_file_that_is_none_is_told),
      cmocka_unit_test(start__a_consumer_comes_before_the_mode),
      cmocka_unit_test(follow__compactions_and_overwrites_are_passed_over),
      cmocka_unit_test(follow__overwrites_that_are_missed_are_told),
      cmocka_unit_test(follow__an_overwrite_removes_what_was_there),
      cmocka_unit_test(follow__a_monitor_sees_files_of_every_commit),
      cmocka_unit_test(follow__what_compactions_still_have_to_do),
      cmocka_unit_test(follow__overwrites_of_append_tables_are_their_new_rows),
      cmocka_unit_test(follow__a_producer_gives_its_changelog_of_any_commit),
      cmocka_unit_test(follow__the_full_phase_leaves_out_what_comes_again),
      cmocka_unit_test(follow__a_bounded_stream_ends_behind_its_watermark),
      cmocka_unit_test(follow__a_delay_lets_snapshots_age),
      cmocka_unit_test(watermark__is_that_of_the_last_plan),
      cmocka_unit_test(restore__goes_on_there_or_reads_it_in_full),
      cmocka_unit_test(range__each_way_out_has_its_message),
      cmocka_unit_test(range__a_past_that_was_rolled_back_is_told),
      cmocka_unit_test(range__plans_look_at_every_16th_miss),
      cmocka_unit_test(range__kept_changelogs_are_followed_then_missed),
      cmocka_unit_test(lag__counts_snapshots_rows_and_time),
      cmocka_unit_test(check__refuses_what_java_refuses),
      cmocka_unit_test(check__a_consumer_needs_an_expiration_time),
      cmocka_unit_test(kinds__of_each_table),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
