/* test_sink.c - checkpoints: what is committed when, what a state brings back, and what does not
 * happen twice. */
#include "maintain/tags.h"
#include "sink/sink.h"
#include "stream/resume.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "support/torture.h"
#include "write_maker.h"

#define KEYED "0 k INT NOT NULL|1 v STRING"
#define LIMIT ((size_t)16 << 20)

/* The call fails with this status, and says so. */
#define FAILS(call, wanted, text)                \
  do {                                           \
    tarn_error fails_err_, *err = &fails_err_;   \
    tarn_status fails_st_ = call;                \
    assert_int_equal(fails_st_, wanted);         \
    assert_non_null(strstr(err->message, text)); \
  } while (0)

typedef struct sink_maker {
  write_maker w;
  tn_table_sink *sink;
  tn_table_sink_options options;
} sink_maker;

static void open_sink(sink_maker *m) {
  OK(tn_table_sink_create(m->w.table, &m->options, &m->sink, err));
}

static void begin(sink_maker *m, const char *keys, const char *options) {
  memset(m, 0, sizeof(*m));
  wm_begin(&m->w, KEYED, "", keys, options);
  m->options = (tn_table_sink_options){.user = "u", .n_writers = 1, .goes_on = true};
  open_sink(m);
}

static void end(sink_maker *m) {
  tn_table_sink_free(m->sink);
  wm_end(&m->w);
}

static void add(sink_maker *m, int32_t writer, int64_t id, const char *rows) {
  tn_committable c;
  m->w.identifier = id;
  if (rows[0] != '\0') {
    wm_write(&m->w, rows);
  }
  c = wm_prepare(&m->w);
  OK(tn_table_sink_add(m->sink, writer, id, c.messages, c.n_messages, err));
}

static void seal(sink_maker *m, int64_t id) {
  OK(tn_table_sink_seal(m->sink, id, NULL, 0, NULL, err));
}

static tn_table_sink_result complete(sink_maker *m, int64_t id) {
  tn_table_sink_result result;
  OK(tn_table_sink_complete(m->sink, id, &result, err));
  return result;
}

static tn_buf save(sink_maker *m, const char *caller) {
  tn_buf out;
  tn_buf_init(&out, &m->w.tm.env->mem, LIMIT);
  OK(tn_table_sink_save(m->sink, tn_slice_text(caller), &out, err));
  return out;
}

/* Another process: a new sink, which restores. */
static tarn_status restart(sink_maker *m, const tn_buf *state, tn_table_sink_result *result,
                           tarn_error *err) {
  tn_table_sink_free(m->sink);
  open_sink(m);
  wm_close(&m->w);
  wm_open(&m->w);
  return tn_table_sink_restore(m->sink, tn_buf_slice(state), NULL, result, err);
}

static tn_snapshot latest(sink_maker *m, tn_arena *arena) {
  int64_t id = 0;
  bool found = false;
  tn_snapshot s;
  OK(tn_snapshot_latest_id(m->w.tm.env, m->w.tm.storage, "/t", &id, err));
  tn_arena_init(arena, &m->w.tm.env->mem, LIMIT);
  OK(tn_snapshot_read(m->w.tm.env, m->w.tm.storage, "/t", id, arena, &s, err));
  (void)found;
  return s;
}

static int64_t latest_id(sink_maker *m) {
  int64_t id = 0;
  OK(tn_snapshot_latest_id(m->w.tm.env, m->w.tm.storage, "/t", &id, err));
  return id;
}

/* ------------------------------------------------------------------ checkpoints */

static void complete__commits_every_checkpoint_up_to_it_in_order(void **state) {
  sink_maker m;
  tn_table_sink_result r;
  tn_arena arena;
  (void)state;
  begin(&m, "k", "bucket=1");
  add(&m, 0, 3, "1|a");
  seal(&m, 3);
  add(&m, 0, 5, "1|b");
  seal(&m, 5);
  add(&m, 0, 9, "1|c");
  seal(&m, 9);
  assert_int_equal(tn_table_sink_pending(m.sink), 3);
  assert_string_equal(wm_rows(&m.w), "");
  r = complete(&m, 6);
  assert_int_equal(r.n_commits, 2);
  assert_int_equal(r.first_id, 1);
  assert_int_equal(r.last_id, 2);
  assert_string_equal(wm_rows(&m.w), "1|b");
  assert_int_equal(latest(&m, &arena).commit_identifier, 5);
  tn_arena_reset(&arena);
  r = complete(&m, 6);
  assert_int_equal(r.n_commits, 0);
  r = complete(&m, 9);
  assert_int_equal(r.n_commits, 1);
  assert_string_equal(wm_rows(&m.w), "1|c");
  assert_int_equal(tn_table_sink_pending(m.sink), 0);
  end(&m);
}

static void seal__takes_all_writers_and_refuses_what_comes_later(void **state) {
  sink_maker m;
  tn_committable c;
  (void)state;
  begin(&m, "", "bucket=-1");
  tn_table_sink_free(m.sink);
  m.options.n_writers = 2;
  open_sink(&m);
  add(&m, 0, 1, "1|a");
  add(&m, 1, 1, "2|b");
  add(&m, 1, 2, "3|c");  // a writer that is ahead
  seal(&m, 1);
  assert_int_equal(complete(&m, 1).n_commits, 1);
  assert_string_equal(wm_rows(&m.w), "1|a;2|b");
  wm_write(&m.w, "4|d");
  m.w.identifier = 3;
  c = wm_prepare(&m.w);
  FAILS(tn_table_sink_add(m.sink, 0, 1, c.messages, c.n_messages, err), TARN_E_STATE,
        "Repeatedly commit the same checkpoint files");
  FAILS(tn_table_sink_add(m.sink, 2, 3, c.messages, c.n_messages, err), TARN_E_INVALID,
        "writer 2: the sink has 2");
  FAILS(tn_table_sink_seal(m.sink, 1, NULL, 0, NULL, err), TARN_E_STATE, "is sealed");
  OK(tn_table_sink_add(m.sink, 0, 3, c.messages, c.n_messages, err));
  seal(&m, 4);
  assert_int_equal(complete(&m, 4).n_commits, 2);  // of 2 and 3, each its own
  assert_string_equal(wm_rows(&m.w), "1|a;2|b;3|c;4|d");
  end(&m);
}

static void seal__gives_the_bytes_of_javas_committable(void **state) {
  const tn_property properties[] = {{"a", "b"}};
  sink_maker m;
  tn_committable c;
  tn_arena arena;
  tn_buf bytes;
  (void)state;
  begin(&m, "k", "bucket=2");
  tn_buf_init(&bytes, &m.w.tm.env->mem, LIMIT);
  tn_arena_init(&arena, &m.w.tm.env->mem, LIMIT);
  add(&m, 0, 7, "1|a;2|b;3|c;4|d");
  OK(tn_table_sink_watermark(m.sink, 0, 1234567890, err));
  OK(tn_table_sink_seal(m.sink, 7, properties, 1, &bytes, err));
  OK(tn_committable_decode(tn_buf_slice(&bytes), TN_COMMITTABLE_VERSION, &arena, &c, err));
  assert_int_equal(c.identifier, 7);
  assert_true(c.has_watermark);
  assert_int_equal(c.watermark, 1234567890);
  assert_int_equal(c.n_properties, 1);
  assert_string_equal(c.properties[0].value, "b");
  assert_int_equal(c.n_messages, 2);
  bytes.len = 0;
  OK(tn_table_sink_seal(m.sink, 8, NULL, 0, &bytes, err));
  assert_int_equal(bytes.len, 0);  // nothing to commit
  tn_arena_reset(&arena);
  tn_buf_reset(&bytes);
  end(&m);
}

static void seal__is_refused_when_too_much_is_pending(void **state) {
  sink_maker m;
  (void)state;
  begin(&m, "k", "bucket=1");
  tn_table_sink_free(m.sink);
  m.options.max_pending = 1;
  open_sink(&m);
  add(&m, 0, 1, "1|a");
  seal(&m, 1);
  add(&m, 0, 2, "2|b");
  FAILS(tn_table_sink_seal(m.sink, 2, NULL, 0, NULL, err), TARN_E_LIMIT, "complete some first");
  complete(&m, 1);
  seal(&m, 2);
  complete(&m, 2);
  assert_string_equal(wm_rows(&m.w), "1|a;2|b");
  end(&m);
}

static void empty_checkpoints__make_snapshots_only_when_asked(void **state) {
  static const struct {
    const char *options;
    bool commits_empty;
    int32_t n_commits;
  } cases[] = {{"bucket=1", false, 0},
               {"bucket=1", true, 1},
               {"bucket=1;commit.force-create-snapshot=true", false, 1}};
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    sink_maker m;
    begin(&m, "k", cases[i].options);
    tn_table_sink_free(m.sink);
    m.options.commits_empty = cases[i].commits_empty;
    open_sink(&m);
    add(&m, 0, 1, "");
    seal(&m, 1);
    assert_int_equal(complete(&m, 1).n_commits, cases[i].n_commits);
    assert_int_equal(latest_id(&m), cases[i].n_commits);
    end(&m);
  }
}

/* Hours of checkpoints after noon of a day, in UTC; those that make a snapshot of no rows. */
static int64_t now_ms(void *ctx) {
  return *(const int64_t *)ctx;
}

static void empty_checkpoints__make_a_snapshot_when_a_tag_is_due(void **state) {
#define BY_TIME "bucket=1;tag.automatic-creation=process-time;tag.creation-period=hourly"
  static const struct {
    const char *options;
    bool skips_maintenance;
    double hours[5];
    const char *commits; /* y: a snapshot */
  } cases[] = {
      {BY_TIME, false, {0, 0.1, 1, 1.1, 3.2}, "ynyny"},
      {BY_TIME ";tag.creation-delay=10 min", false, {0, 1.1, 1.2, 2.1, 2.2}, "ynyny"},
      {BY_TIME ";tag.automatic-completion=true", false, {0, 3.2, 3.3, 3.4, 3.5}, "yyyyn"},
      {BY_TIME ";sink.process-time-zone=+00:30", false, {0, 0.4, 0.5, 1.4, 1.6}, "ynyny"},
      // The tag that was made is gone at once; it is not asked for again.
      {BY_TIME ";tag.default-time-retained=1 ms", false, {0, 0.1, 0.2, 0.9, 1}, "ynnny"},
      {BY_TIME ";write-only=true", false, {0, 0.1, 1, 1.1, 3.2}, "nnnnn"},
      {BY_TIME, true, {0, 0.1, 1, 1.1, 3.2}, "nnnnn"},
      {"bucket=1;tag.automatic-creation=batch", false, {0, 30, 60, 90, 120}, "nnnnn"},
      {"bucket=1", false, {0, 30, 60, 90, 120}, "nnnnn"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    const int64_t noon_ms = 1728043200000;
    int64_t now = noon_ms;
    char commits[6] = "";
    sink_maker m;
    begin(&m, "k", cases[i].options);
    m.w.tm.env->clock_ms = now_ms;
    m.w.tm.env->clock_ctx = &now;
    m.options.skips_maintenance = cases[i].skips_maintenance;
    tn_table_sink_free(m.sink);
    open_sink(&m);
    for (int32_t k = 0; k < 5; k++) {
      now = noon_ms + (int64_t)(cases[i].hours[k] * 3600000);
      add(&m, 0, k + 1, "");
      seal(&m, k + 1);
      commits[k] = complete(&m, k + 1).n_commits > 0 ? 'y' : 'n';
    }
    if (strcmp(commits, cases[i].commits) != 0) {
      fail_msg("case %zu: %s, expected %s", i, commits, cases[i].commits);
    }
    end(&m);
  }
}

/* The tag itself is made by that snapshot; and what has rows is no second snapshot. */
static void due_tags__are_those_of_the_snapshot(void **state) {
  int64_t now = 1728043200000;
  sink_maker m;
  tn_tag *tags;
  tn_arena arena;
  int32_t n;
  (void)state;
  begin(&m, "k", BY_TIME);
  m.w.tm.env->clock_ms = now_ms;
  m.w.tm.env->clock_ctx = &now;
  add(&m, 0, 1, "1|a");
  seal(&m, 1);
  assert_int_equal(complete(&m, 1).n_commits, 1);
  now += 3600000;
  seal(&m, 2);
  assert_int_equal(complete(&m, 2).n_commits, 1);
  tn_arena_init(&arena, &m.w.tm.env->mem, LIMIT);
  OK(tn_tags_load(m.w.table, "/t", &arena, &tags, &n, err));
  assert_int_equal(n, 2);
  assert_string_equal(tags[0].name, "2024-10-04 11");
  assert_string_equal(tags[1].name, "2024-10-04 12");
  assert_int_equal(tags[1].snapshot.id, 2);
  tn_arena_reset(&arena);
  assert_string_equal(wm_rows(&m.w), "1|a");
  end(&m);
}

/* By watermark: when that of the latest snapshot has not moved for the time-out. */
static void empty_checkpoints__make_a_snapshot_when_the_watermark_is_idle(void **state) {
  int64_t now = 1728043200000;
  sink_maker m;
  (void)state;
  begin(&m, "k",
        "bucket=1;tag.automatic-creation=watermark;snapshot.watermark-idle-timeout=10 min");
  m.w.tm.env->clock_ms = now_ms;
  m.w.tm.env->clock_ctx = &now;
  seal(&m, 1);  // no snapshot yet
  assert_int_equal(complete(&m, 1).n_commits, 0);
  OK(tn_table_sink_watermark(m.sink, 0, now, err));
  add(&m, 0, 2, "1|a");
  seal(&m, 2);
  assert_int_equal(complete(&m, 2).n_commits, 1);
  now += 599999;
  seal(&m, 3);
  assert_int_equal(complete(&m, 3).n_commits, 0);
  now += 1;
  seal(&m, 4);
  assert_int_equal(complete(&m, 4).n_commits, 1);
  end(&m);
}

static void watermark__is_the_least_of_all_writers(void **state) {
  static const struct {
    int64_t first, second;  // -1: none
    bool has_one;
    int64_t wanted;
  } cases[] = {{5, 9, true, 5},
               {9, 5, true, 5},
               {5, -1, false, 0},
               {-1, -1, false, 0},
               {INT64_MAX, 5, false, 0},
               {7, 7, true, 7},
               {INT64_MIN, 3, true, INT64_MIN}};
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    sink_maker m;
    tn_arena arena;
    tn_snapshot s;
    begin(&m, "k", "bucket=1");
    tn_table_sink_free(m.sink);
    m.options.n_writers = 2;
    open_sink(&m);
    if (cases[i].first != -1) {
      OK(tn_table_sink_watermark(m.sink, 0, cases[i].first, err));
    }
    if (cases[i].second != -1) {
      OK(tn_table_sink_watermark(m.sink, 1, cases[i].second, err));
    }
    add(&m, 0, 1, "1|a");
    seal(&m, 1);
    complete(&m, 1);
    s = latest(&m, &arena);
    assert_int_equal(s.has_watermark, cases[i].has_one);
    if (cases[i].has_one) {
      assert_int_equal(s.watermark, cases[i].wanted);
    }
    tn_arena_reset(&arena);
    end(&m);
  }
}

static void end_of_input__may_be_sealed_again_and_has_its_watermark(void **state) {
  sink_maker m;
  tn_arena arena;
  tn_snapshot s;
  (void)state;
  begin(&m, "", "bucket=-1;end-input.watermark=77");
  add(&m, 0, 1, "1|a");
  seal(&m, 1);
  m.w.identifier = 2;
  wm_write(&m.w, "2|b");
  tn_committable c = wm_prepare(&m.w);
  OK(tn_table_sink_add(m.sink, 0, TN_SINK_END, c.messages, c.n_messages, err));
  seal(&m, TN_SINK_END);
  wm_write(&m.w, "3|c");
  m.w.identifier = 3;
  c = wm_prepare(&m.w);
  OK(tn_table_sink_add(m.sink, 0, TN_SINK_END, c.messages, c.n_messages, err));
  seal(&m, TN_SINK_END);
  assert_int_equal(tn_table_sink_pending(m.sink), 2);
  assert_int_equal(complete(&m, TN_SINK_END).n_commits, 2);
  assert_string_equal(wm_rows(&m.w), "1|a;2|b;3|c");
  s = latest(&m, &arena);
  assert_true(s.commit_identifier == TN_SINK_END);
  assert_int_equal(s.watermark, 77);
  tn_arena_reset(&arena);
  end(&m);
}

/* ------------------------------------------------------------------ states */

static void restore__commits_what_is_not_committed_once(void **state) {
  sink_maker m;
  tn_table_sink_result r;
  tn_buf kept;
  (void)state;
  begin(&m, "k", "bucket=1");
  add(&m, 0, 1, "1|a");
  seal(&m, 1);
  add(&m, 0, 2, "2|b");
  seal(&m, 2);
  kept = save(&m, "position");
  complete(&m, 1);  // and dies before the second one
  OK(restart(&m, &kept, &r, err));
  assert_int_equal(r.n_filtered, 1);
  assert_int_equal(r.n_commits, 1);
  assert_true(r.must_refresh);
  assert_string_equal(wm_rows(&m.w), "1|a;2|b");
  OK(restart(&m, &kept, &r, err));  // dies again before a new state is kept
  assert_int_equal(r.n_filtered, 2);
  assert_int_equal(r.n_commits, 0);
  assert_false(r.must_refresh);
  assert_int_equal(latest_id(&m), 2);
  add(&m, 0, 3, "3|c");
  seal(&m, 3);
  complete(&m, 3);
  assert_string_equal(wm_rows(&m.w), "1|a;2|b;3|c");
  tn_buf_reset(&kept);
  end(&m);
}

static void restore__fails_after_it_committed_so_that_writers_start_again(void **state) {
  sink_maker m;
  tn_table_sink_result r;
  tn_buf kept;
  (void)state;
  begin(&m, "k", "bucket=1");
  m.options.goes_on = false;
  add(&m, 0, 1, "1|a");
  seal(&m, 1);
  kept = save(&m, "");
  FAILS(restart(&m, &kept, &r, err), TARN_E_STATE, "This exception is intentionally thrown");
  assert_int_equal(r.n_commits, 1);
  assert_string_equal(wm_rows(&m.w), "1|a");
  OK(restart(&m, &kept, &r, err));
  assert_int_equal(r.n_filtered, 1);
  tn_buf_reset(&kept);
  end(&m);
}

static void restore__of_tables_without_buckets_goes_on(void **state) {
  sink_maker m;
  tn_table_sink_result r;
  tn_buf kept;
  (void)state;
  begin(&m, "", "bucket=-1");
  m.options.goes_on = false;
  add(&m, 0, 1, "1|a");
  seal(&m, 1);
  kept = save(&m, "");
  OK(restart(&m, &kept, &r, err));
  assert_int_equal(r.n_commits, 1);
  assert_false(r.must_refresh);
  tn_buf_reset(&kept);
  end(&m);
}

static void restore__takes_the_user_and_the_callers_bytes(void **state) {
  sink_maker m;
  tn_buf kept, caller;
  (void)state;
  begin(&m, "k", "bucket=1");
  add(&m, 0, 4, "1|a");
  seal(&m, 4);
  kept = save(&m, "at row 17");
  tn_table_sink_free(m.sink);
  m.options.user = "another";
  open_sink(&m);
  assert_string_equal(tn_table_sink_user(m.sink), "another");
  tn_buf_init(&caller, &m.w.tm.env->mem, LIMIT);
  OK(tn_table_sink_restore(m.sink, tn_buf_slice(&kept), &caller, NULL, err));
  assert_string_equal(tn_table_sink_user(m.sink), "u");
  assert_int_equal(caller.len, 9);
  assert_memory_equal(caller.data, "at row 17", 9);
  tn_table_sink_stats stats;
  tn_table_sink_get_stats(m.sink, &stats);
  assert_int_equal(stats.last_checkpoint, 4);
  assert_int_equal(stats.n_recovered, 1);
  FAILS(tn_table_sink_seal(m.sink, 4, NULL, 0, NULL, err), TARN_E_STATE, "is sealed");
  tn_buf_reset(&caller);
  tn_buf_reset(&kept);
  end(&m);
}

static void restore__refuses_a_state_that_is_not_the_latest(void **state) {
  sink_maker m;
  tn_table_sink_result r;
  tn_buf old;
  (void)state;
  begin(&m, "k", "bucket=1");
  add(&m, 0, 1, "1|a");
  seal(&m, 1);
  old = save(&m, "");
  complete(&m, 1);
  add(&m, 0, 2, "2|b");
  seal(&m, 2);
  complete(&m, 2);
  FAILS(restart(&m, &old, &r, err), TARN_E_INVALID,
        "the state ends with checkpoint 1, but user u has committed 2 since");
  tn_buf_reset(&old);
  end(&m);
}

static void restore__of_files_that_are_gone_says_so(void **state) {
  sink_maker m;
  tn_table_sink_result r;
  tn_buf kept;
  (void)state;
  begin(&m, "k", "bucket=1");
  add(&m, 0, 1, "1|a");
  seal(&m, 1);
  kept = save(&m, "");
  OK(tn_table_sink_abort(m.sink, err));
  assert_int_equal(wm_count_files(&m.w), 0);
  FAILS(restart(&m, &kept, &r, err), TARN_E_NOT_FOUND, "Cannot recover from this checkpoint");
  tn_buf_reset(&kept);
  end(&m);
}

/* Every byte changed, every length cut: an error, and nothing is committed. */
static void restore__refuses_damaged_states(void **state) {
  sink_maker m;
  tn_table_sink_result r;
  tarn_error failure;
  tn_buf kept;
  (void)state;
  begin(&m, "k", "bucket=1");
  add(&m, 0, 1, "1|a");
  seal(&m, 1);
  kept = save(&m, "x");
  for (size_t i = 0; i < kept.len; i++) {
    kept.data[i] ^= 0x10;
    assert_int_not_equal(restart(&m, &kept, &r, &failure), TARN_OK);
    kept.data[i] ^= 0x10;
  }
  for (size_t n = kept.len; n-- > 0;) {
    tn_buf cut = kept;
    cut.len = n;
    assert_int_equal(restart(&m, &cut, &r, &failure), TARN_E_CORRUPT);
  }
  kept.data[11] = 9;
  FAILS(restart(&m, &kept, &r, err), TARN_E_UNSUPPORTED, "version 9, known is 1");
  assert_int_equal(latest_id(&m), 0);
  tn_buf_reset(&kept);
  end(&m);
}

static void restore__comes_first(void **state) {
  sink_maker m;
  tn_buf kept;
  (void)state;
  begin(&m, "k", "bucket=1");
  kept = save(&m, "");
  add(&m, 0, 1, "1|a");
  FAILS(tn_table_sink_restore(m.sink, tn_buf_slice(&kept), NULL, NULL, err), TARN_E_STATE,
        "before anything is added");
  tn_buf_reset(&kept);
  end(&m);
}

/* The metrics writerBuffer: buckets that are open, rows that wait, how often they made room. */
static void stats__tell_the_buffers_of_writers(void **state) {
  static const struct {
    const char *options;
    bool is_full;
  } cases[] = {{"bucket=2", false}, {"bucket=2;write-buffer-size=64 kb", true}};
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    tn_write_stats stats;
    sink_maker m;
    begin(&m, "k", cases[i].options);
    tn_write_get_stats(m.w.write, &stats);
    assert_int_equal(stats.n_buckets, 0);
    assert_int_equal(stats.held_bytes, 0);
    assert_true(stats.room_bytes > 0);
    for (int k = 0; k < 2000; k++) {
      char rows[64];
      snprintf(rows, sizeof(rows), "%d|text that takes some room", k);
      wm_write(&m.w, rows);
    }
    tn_write_get_stats(m.w.write, &stats);
    assert_int_equal(stats.n_buckets, 2);
    assert_true(stats.held_bytes <= stats.room_bytes);
    assert_int_equal(stats.n_preempted > 0, cases[i].is_full);
    assert_true(cases[i].is_full || stats.held_bytes > 0);
    add(&m, 0, 1, "");
    tn_write_get_stats(m.w.write, &stats);
    assert_int_equal(stats.held_bytes, 0);
    end(&m);
  }
}

/* ------------------------------------------------------------------ compactions left behind */

/* Rows of the changelog of all snapshots. */
static int64_t changelog_rows(sink_maker *m) {
  int64_t n = 0;
  for (int64_t id = latest_id(m); id > 0; id--) {
    tn_arena arena;
    tn_snapshot s;
    tn_arena_init(&arena, &m->w.tm.env->mem, LIMIT);
    OK(tn_snapshot_read(m->w.tm.env, m->w.tm.storage, "/t", id, &arena, &s, err));
    n += s.has_changelog_record_count ? s.changelog_record_count : 0;
    tn_arena_reset(&arena);
  }
  return n;
}

/* A writer that ends before its compactions do owes their changelog; the next one pays, also for
 * buckets that no rows come for. */
static void resume__makes_the_changelog_that_is_owed(void **state) {
  static const struct {
    const char *options;
    bool resumes;
    int64_t n_buckets, rows; /* of the changelog, at the end */
  } cases[] = {
      {"bucket=3;changelog-producer=lookup;lookup-wait=false", true, 3, 6},
      {"bucket=3;changelog-producer=lookup;lookup-wait=false", false, 0, 0},
      {"bucket=3;changelog-producer=full-compaction;full-compaction.delta-commits=10", true, 3, 6},
      {"bucket=3;changelog-producer=full-compaction;full-compaction.delta-commits=10", false, 0, 0},
      {"bucket=3;changelog-producer=lookup;lookup-wait=false;write-only=true", true, 0, 0},
      {"bucket=3;changelog-producer=input", true, 0, 6},
      {"bucket=3", true, 0, 0},
  };
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    int64_t n_buckets = 0;
    sink_maker m;
    tn_buf bytes;
    begin(&m, "k", cases[i].options);
    wm_close(&m.w);  // a writer that does not come to compact anything
    m.w.options.compacts = false;
    wm_open(&m.w);
    add(&m, 0, 1, "1|a;2|a;3|a;4|a;5|a;6|a");
    seal(&m, 1);
    complete(&m, 1);
    bytes = save(&m, "");
    m.w.options.compacts = m.w.options.waits = true;
    OK(restart(&m, &bytes, NULL, err));
    if (cases[i].resumes) {
      OK(tn_writer_resume(m.w.table, m.w.write, 0, 1, NULL, &n_buckets, err));
    }
    assert_int_equal(n_buckets, cases[i].n_buckets);
    for (int64_t id = 2; id <= 4; id++) {
      add(&m, 0, id, "");
      seal(&m, id);
      complete(&m, id);
    }
    if (changelog_rows(&m) != cases[i].rows) {
      fail_msg("case %zu: %d rows", i, (int)changelog_rows(&m));
    }
    assert_string_equal(wm_rows(&m.w), "1|a;2|a;3|a;4|a;5|a;6|a");
    tn_buf_reset(&bytes);
    end(&m);
  }
}

/* Each bucket belongs to one of the writers. */
static void resume__deals_buckets_out(void **state) {
  (void)state;
  for (int32_t n = 1; n <= 5; n++) {
    int64_t sum = 0, one = 0;
    sink_maker m;
    begin(&m, "k", "bucket=3;changelog-producer=lookup;lookup-wait=false");
    wm_close(&m.w);
    m.w.options.compacts = false;
    wm_open(&m.w);
    add(&m, 0, 1, "1|a;2|a;3|a;4|a;5|a;6|a");
    seal(&m, 1);
    complete(&m, 1);
    wm_close(&m.w);
    m.w.options.compacts = true;
    for (int32_t i = 0; i < n; i++) {
      wm_open(&m.w);
      OK(tn_writer_resume(m.w.table, m.w.write, i, n, NULL, &one, err));
      sum += one;
      wm_close(&m.w);
    }
    assert_int_equal(sum, 3);
    wm_open(&m.w);
    FAILS(tn_writer_resume(m.w.table, m.w.write, n, n, NULL, &one, err), TARN_E_INVALID, "writer");
    end(&m);
  }
}

static void abort__leaves_no_file(void **state) {
  sink_maker m;
  (void)state;
  begin(&m, "k", "bucket=2");
  add(&m, 0, 1, "1|a;2|b;3|c");
  seal(&m, 1);
  add(&m, 0, 2, "4|d");
  OK(tn_table_sink_abort(m.sink, err));
  assert_int_equal(wm_count_files(&m.w), 0);
  assert_int_equal(complete(&m, 9).n_commits, 0);
  end(&m);
}

static void stats__tell_the_last_commit(void **state) {
  sink_maker m;
  tn_table_sink_stats s;
  (void)state;
  begin(&m, "k", "bucket=1");
  tn_table_sink_get_stats(m.sink, &s);
  assert_int_equal(s.snapshot_id, -1);
  add(&m, 0, 1, "1|a;2|b");
  seal(&m, 1);
  complete(&m, 1);
  add(&m, 0, 2, "3|c");
  seal(&m, 2);
  complete(&m, 2);
  tn_table_sink_get_stats(m.sink, &s);
  assert_int_equal(s.n_commits, 2);
  assert_int_equal(s.snapshot_id, 2);
  assert_int_equal(s.files_appended, 1);
  assert_int_equal(s.delta_rows, 1);
  assert_int_equal(s.rows, 3);
  assert_int_equal(s.n_partitions, 1);
  assert_int_equal(s.n_buckets, 1);
  assert_int_equal(s.n_attempts, 1);
  end(&m);
}

/* One checkpoint from messages to its commit, through a state; a second sink restores the state. */
static tarn_status sink_once(sink_maker *m, const tn_committable *c, tarn_env *env,
                             tarn_error *why) {
  const tn_property property = {"a", "b"};
  tn_table_sink *first = NULL, *second = NULL;
  tarn_status st = TARN_OK;
  tn_buf kept, bytes;
  tn_buf_init(&kept, &env->mem, LIMIT);
  tn_buf_init(&bytes, &env->mem, LIMIT);
  TN_TRY_TO(done, tn_table_sink_create(m->w.table, &m->options, &first, why));
  TN_TRY_TO(done, tn_table_sink_add(first, 0, 1, c->messages, c->n_messages, why));
  TN_TRY_TO(done, tn_table_sink_seal(first, 1, &property, 1, &bytes, why));
  TN_TRY_TO(done, tn_table_sink_save(first, tn_slice_text("x"), &kept, why));
  TN_TRY_TO(done, tn_table_sink_complete(first, 1, NULL, why));
  TN_TRY_TO(done, tn_table_sink_create(m->w.table, &m->options, &second, why));
  bytes.len = 0;
  TN_TRY_TO(done, tn_table_sink_restore(second, tn_buf_slice(&kept), &bytes, NULL, why));
done:
  tn_table_sink_free(first);
  tn_table_sink_free(second);
  tn_buf_reset(&kept);
  tn_buf_reset(&bytes);
  return st;
}

static tarn_status torture_once(void *ctx, tarn_env *env, tarn_error *why) {
  tn_test_alloc *alloc = env->mem.hooks.ctx;
  int64_t fail_at = alloc->fail_at, calls = alloc->calls;
  sink_maker m = {0};
  tn_committable c;
  tarn_status st;
  (void)ctx;
  alloc->fail_at = 0;
  wm_begin_in(&m.w, env, KEYED, "", "k", "bucket=2");
  wm_open(&m.w);
  m.w.identifier = 1;
  m.options = (tn_table_sink_options){
      .user = "u", .n_writers = 1, .goes_on = true, .skips_maintenance = true};
  wm_write(&m.w, "1|a;2|b;3|c");
  c = wm_prepare(&m.w);
  alloc->calls = calls;
  alloc->fail_at = fail_at;
  st = sink_once(&m, &c, env, why);
  alloc->fail_at = 0;
  wm_close(&m.w);
  tn_table_release(m.w.table);
  m.w.tm.env = NULL;
  tm_end(&m.w.tm);
  return st;
}

static void sinks__run_out_of_memory_anywhere(void **state) {
  (void)state;
  (void)tn_torture(torture_once, NULL, TARN_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(complete__commits_every_checkpoint_up_to_it_in_order),
      cmocka_unit_test(seal__takes_all_writers_and_refuses_what_comes_later),
      cmocka_unit_test(seal__gives_the_bytes_of_javas_committable),
      cmocka_unit_test(seal__is_refused_when_too_much_is_pending),
      cmocka_unit_test(empty_checkpoints__make_snapshots_only_when_asked),
      cmocka_unit_test(empty_checkpoints__make_a_snapshot_when_a_tag_is_due),
      cmocka_unit_test(due_tags__are_those_of_the_snapshot),
      cmocka_unit_test(empty_checkpoints__make_a_snapshot_when_the_watermark_is_idle),
      cmocka_unit_test(watermark__is_the_least_of_all_writers),
      cmocka_unit_test(end_of_input__may_be_sealed_again_and_has_its_watermark),
      cmocka_unit_test(restore__commits_what_is_not_committed_once),
      cmocka_unit_test(restore__fails_after_it_committed_so_that_writers_start_again),
      cmocka_unit_test(restore__of_tables_without_buckets_goes_on),
      cmocka_unit_test(restore__takes_the_user_and_the_callers_bytes),
      cmocka_unit_test(restore__refuses_a_state_that_is_not_the_latest),
      cmocka_unit_test(restore__of_files_that_are_gone_says_so),
      cmocka_unit_test(restore__refuses_damaged_states),
      cmocka_unit_test(restore__comes_first),
      cmocka_unit_test(resume__makes_the_changelog_that_is_owed),
      cmocka_unit_test(resume__deals_buckets_out),
      cmocka_unit_test(abort__leaves_no_file),
      cmocka_unit_test(stats__tell_the_last_commit),
      cmocka_unit_test(stats__tell_the_buffers_of_writers),
      cmocka_unit_test(sinks__run_out_of_memory_anywhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
