/* test_write_lost.c - writers that compact beside others who compact and expire, too: compactions
 * that are lost or dropped, and are made again. */
#include <stdlib.h>

#include "write/write_parts.h"
#include "write_maker.h"

#include "support/test.h"

#define FIELDS "0 k INT NOT NULL|1 v STRING"

static int n_lost; /* compactions that the log tells of */

/* Each with what was said of its own bucket. */
static void count_lost(void *ctx, tarn_log_level level, const char *message) {
  const char *number = strstr(message, " bucket="), *path = strstr(message, "/bucket-");
  (void)ctx;
  (void)level;
  if (strncmp(message, "event=compaction_lost", 21) == 0) {
    n_lost++;
    assert_non_null(number);
    assert_non_null(path);
    assert_int_equal(strtol(number + 8, NULL, 10), strtol(path + 8, NULL, 10));
  }
}

/* A table, and no writer yet. */
static void begin(write_maker *m, int32_t threads, const char *options) {
  memset(m, 0, sizeof(*m));
  tm_begin(&m->tm, threads);
  m->tm.env->log = count_lost;
  m->tm.env->log_level = TARN_LOG_INFO;
  n_lost = 0;
  m->options.user = "u";
  m->options.first_row_id = -1;
  m->options.compacts = true;
  m->options.waits = true;
  wm_table(m, FIELDS, "", "k", options);
}

static tn_write *open_as(write_maker *m, const char *user) {
  m->write = NULL;
  m->options.user = user;
  OK(wm_try_open(m, err));
  return m->write;
}

static tn_committable prepare(write_maker *m, tn_write *write, int64_t identifier) {
  tn_committable c = {.identifier = identifier};
  OK(tn_write_prepare(write, identifier, &m->tm.arena, &c.messages, &c.n_messages, err));
  return c;
}

/* true: the compaction was dropped. */
static bool commit_it(write_maker *m, const char *user, const tn_committable *c) {
  tn_commit_options options = {.user = user, .drops_compaction = true};
  tn_commit_result result;
  OK(tn_commit_append(m->table, &options, c, &result, err));
  return result.has_dropped;
}

static void write_as(write_maker *m, tn_write *write, const char *rows) {
  m->write = write;
  wm_write(m, rows);
}

static void compact_fully(tn_write *write, int32_t bucket) {
  uint32_t only;
  OK(tn_partition_number(write, tn_binary_row_empty(), &only, err));
  OK(tn_write_compact(write, write->router.by_number[only], bucket, true, err));
}

static bool is_among(const tn_data_files *files, tn_slice name) {
  for (int32_t i = 0; i < files->n; i++) {
    if (tn_slice_equal(files->items[i].file_name, name)) {
      return true;
    }
  }
  return false;
}

/* Somebody else compacts the buckets fully, and what was before expires. */
static void compact_and_expire(write_maker *m, int32_t n_buckets) {
  tn_write *other = open_as(m, "other");
  tn_committable c;
  for (int32_t b = 0; b < n_buckets; b++) {
    compact_fully(other, b);
  }
  c = prepare(m, other, 1000);
  assert_false(commit_it(m, "other", &c));
  for (int32_t k = 0; k < c.n_messages; k++) {
    const tn_commit_message *done = &c.messages[k];
    for (int32_t i = 0; i < done->compact_before.n; i++) {
      const tn_data_file *f = &done->compact_before.items[i];
      if (!is_among(&done->compact_after, f->file_name)) {
        tn_data_file_delete(m->table, done->partition, done->bucket, f);
      }
    }
  }
  tn_write_free(other);
  m->write = NULL;
}

static const char *const kinds[] = {
    "", ";changelog-producer=lookup", ";deletion-vectors.enabled=true",
    ";changelog-producer=full-compaction;full-compaction.delta-commits=3"};

/* Nothing is lost, nothing comes back: a tree of the writer's own files alone would let the
 * deletion of 2 go, and the row that others have brought up be there again. */
static void write__goes_on_when_its_files_were_compacted_and_expired(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(kinds) * 2; i++) {
    write_maker m;
    tn_write *own;
    char options[160];
    snprintf(options, sizeof(options), "bucket=1;num-sorted-run.compaction-trigger=3%s",
             kinds[i / 2]);
    begin(&m, i % 2 == 0 ? 1 : 3, options);
    own = open_as(&m, "u");
    for (int64_t id = 0; id < 2; id++) {
      write_as(&m, own, id == 0 ? "1|a;2|b;3|c" : "3|d;4|e");
      tn_committable c = prepare(&m, own, id);
      assert_false(commit_it(&m, "u", &c));
    }
    compact_and_expire(&m, 1);
    for (int64_t id = 2; id < 6; id++) {
      write_as(&m, own, id == 2 ? "-D 2|b" : id == 3 ? "5|f" : id == 4 ? "5|g" : "-D 1|a");
      tn_committable c = prepare(&m, own, id);
      assert_false(commit_it(&m, "u", &c));
    }
    if (n_lost == 0) {
      fail_msg("%s: nothing was lost", options);
    }
    assert_string_equal(wm_rows(&m), "3|d;4|e;5|g");
    tn_write_free(own);
    m.write = NULL;
    compact_and_expire(&m, 1);
    assert_string_equal(wm_rows(&m), "3|d;4|e;5|g");
    wm_end(&m);
  }
}

/* What is said of each bucket's loss is its own, though they are lost side by side. */
static void write__loses_many_buckets_at_once(void **state) {
  enum { BUCKETS = 8 };
  static const char rows[] =
      "10|j;11|k;12|l;13|m;14|n;15|o;16|p;1|a;2|b;3|c;4|d;5|e;6|f;7|g;8|h;9|i";
  write_maker m;
  tn_write *own;
  tn_committable c;
  (void)state;
  begin(&m, 4, "bucket=8;num-sorted-run.compaction-trigger=3");
  own = open_as(&m, "u");
  for (int64_t id = 0; id < 4; id++) {
    if (id == 2) {
      compact_and_expire(&m, BUCKETS);
    }
    write_as(&m, own, rows);
    c = prepare(&m, own, id);
    assert_int_equal(c.n_messages, BUCKETS);
    assert_false(commit_it(&m, "u", &c));
  }
  assert_int_equal(n_lost, BUCKETS);
  assert_string_equal(wm_rows(&m), rows);
  tn_write_free(own);
  m.write = NULL;
  wm_end(&m);
}

/* What was prepared is part of the tree: until it is visible the bucket is left alone. */
static void write__waits_for_its_commits_before_it_restores(void **state) {
  write_maker m;
  tn_write *own;
  tn_committable first, second, third;
  (void)state;
  begin(&m, 1, "bucket=1;num-sorted-run.compaction-trigger=4");
  own = open_as(&m, "u");
  for (int64_t id = 0; id < 2; id++) {
    write_as(&m, own, "1|a;2|b");
    tn_committable c = prepare(&m, own, id);
    assert_false(commit_it(&m, "u", &c));
  }
  compact_and_expire(&m, 1);
  write_as(&m, own, "2|m;9|i");
  first = prepare(&m, own, 2);
  assert_int_equal(n_lost, 0);
  /* Lost here; the deletion must not be compacted away without the row, which is not visible. */
  write_as(&m, own, "-D 9|i;1|m");
  second = prepare(&m, own, 3);
  assert_int_equal(n_lost, 1);
  compact_fully(own, 0);
  write_as(&m, own, "3|c");
  third = prepare(&m, own, 4);
  assert_false(commit_it(&m, "u", &first));
  assert_false(commit_it(&m, "u", &second));
  assert_false(commit_it(&m, "u", &third));
  assert_string_equal(wm_rows(&m), "1|m;2|m;3|c");
  for (int64_t id = 5; id < 10; id++) {
    write_as(&m, own, "4|d");
    tn_committable c = prepare(&m, own, id);
    assert_false(commit_it(&m, "u", &c));
  }
  assert_int_equal(n_lost, 1);
  assert_string_equal(wm_rows(&m), "1|m;2|m;3|c;4|d");
  tn_write_free(own);
  m.write = NULL;
  wm_end(&m);
}

/* A file that the latest snapshot has is not expired, but lost. */
static void write__fails_when_the_table_has_lost_a_file(void **state) {
  write_maker m;
  tn_write *own;
  tn_commit_message *messages;
  tarn_error err = {0};
  int32_t n;
  (void)state;
  begin(&m, 1, "bucket=1;num-sorted-run.compaction-trigger=3");
  own = open_as(&m, "u");
  for (int64_t id = 0; id < 2; id++) {
    write_as(&m, own, "1|a;2|b");
    tn_committable c = prepare(&m, own, id);
    assert_false(commit_it(&m, "u", &c));
    assert_int_equal(c.messages->new_files.n, 1);
    tn_data_file_delete(m.table, c.messages->partition, 0, &c.messages->new_files.items[0]);
  }
  write_as(&m, own, "1|c;2|d");
  assert_int_equal(tn_write_prepare(own, 2, &m.tm.arena, &messages, &n, &err), TARN_E_NOT_FOUND);
  assert_non_null(strstr(err.message, "compaction beside its writer"));
  tn_write_free(own);
  m.write = NULL;
  wm_end(&m);
}

/* Others commit, so that it might have expired; a writer that never waits fails, too, once it has
 * looked. */
static void write__that_never_waits_fails_when_the_table_has_lost_a_file(void **state) {
  write_maker m;
  tn_write *own, *other;
  tn_commit_message *messages;
  tarn_error err = {0};
  tarn_status st = TARN_OK;
  char name[80] = "";
  int32_t n;
  (void)state;
  begin(&m, 1, "bucket=1;num-sorted-run.compaction-trigger=3");
  m.options.waits = false;
  own = open_as(&m, "u");
  other = open_as(&m, "o");
  for (int64_t id = 0; id < 9 && st == TARN_OK; id++) {
    tn_committable c = {.identifier = id};
    write_as(&m, other, "3|x");
    c = prepare(&m, other, id);
    assert_false(commit_it(&m, "o", &c) && id < 2);
    write_as(&m, own, "1|a;2|b");
    st = tn_write_prepare(own, id, &m.tm.arena, &messages, &n, &err);
    if (st == TARN_OK) {
      c = (tn_committable){.identifier = id, .messages = messages, .n_messages = n};
      (void)commit_it(&m, "u", &c);
    }
    if (id == 0) {
      const tn_data_file *f = &messages->new_files.items[0];
      snprintf(name, sizeof(name), "%.*s", TN_SLICE_ARG(f->file_name));
      tn_data_file_delete(m.table, messages->partition, 0, f);
      tn_write_free(other); /* it only writes from here on */
      m.options.compacts = false;
      other = open_as(&m, "o");
    }
  }
  assert_int_equal(st, TARN_E_NOT_FOUND);
  assert_int_equal(n_lost, 1);
  assert_non_null(strstr(err.message, "compaction beside its writer"));
  assert_non_null(strstr(err.message, name));
  tn_write_free(own);
  tn_write_free(other);
  m.write = NULL;
  wm_end(&m);
}

/* What the writer tells of its compactions. */
static void stats__count_compactions(void **state) {
  write_maker m;
  tn_write *own;
  tn_write_stats stats;
  (void)state;
  for (int32_t threads = 1; threads < 4; threads += 2) {
    begin(&m, threads, "bucket=1;num-sorted-run.compaction-trigger=3");
    own = open_as(&m, "u");
    tn_write_get_stats(own, &stats);
    assert_int_equal(stats.compactions.n_started, 0);
    for (int64_t id = 0; id < 2; id++) {
      write_as(&m, own, "1|a;2|b");
      tn_committable c = prepare(&m, own, id);
      assert_false(commit_it(&m, "u", &c));
    }
    compact_fully(own, 0);
    tn_committable c = prepare(&m, own, 2);
    assert_false(commit_it(&m, "u", &c));
    tn_write_get_stats(own, &stats);
    assert_int_equal(stats.compactions.n_started, 1);
    assert_int_equal(stats.compactions.n_completed, 1);
    assert_int_equal(stats.compactions.n_waiting + stats.compactions.n_running, 0);
    assert_true(stats.compactions.bytes_in > stats.compactions.bytes_out);
    assert_int_equal(stats.compactions.bytes_out, c.messages->compact_after.items[0].file_size);
    assert_int_equal(stats.compactions.max_bytes_out, stats.compactions.bytes_out);
    assert_int_equal(stats.n_trees, 1);
    assert_int_equal(stats.max_level_0, 0);
    write_as(&m, own, "1|c");
    c = prepare(&m, own, 3);
    assert_false(commit_it(&m, "u", &c));
    tn_write_get_stats(own, &stats);
    assert_int_equal(stats.max_level_0, 1);
    assert_int_equal(stats.n_level_0, 1);
    tn_write_free(own);
    m.write = NULL;
    wm_end(&m);
  }
}

/* Level 0 is not seen in such tables: what a conflict has dropped is made again by the next
 * prepare, without any rows. */
static void refresh__makes_dropped_compactions_again(void **state) {
  static const struct {
    const char *options, *rows;
  } cases[] = {{"bucket=1;deletion-vectors.enabled=true", "1|m;2|o;3|m"},
               {"bucket=1;merge-engine=first-row", "1|a;2|o;3|m"},
               {"bucket=1;changelog-producer=lookup", "1|m;2|o;3|m"},
               {"bucket=1;changelog-producer=full-compaction", "1|m;2|o;3|m"}};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases) * 2; i++) {
    bool is_batch = i % 2 == 1;
    int64_t identifier = is_batch ? INT64_MAX : 1;
    write_maker m;
    tn_write *own, *other;
    tn_committable first, second;
    begin(&m, 1, cases[i / 2].options);
    own = open_as(&m, "u");
    write_as(&m, own, "1|a");
    first = prepare(&m, own, 0);
    assert_false(commit_it(&m, "u", &first));
    write_as(&m, own, "1|m;3|m");
    other = open_as(&m, "o");
    write_as(&m, other, "2|o");
    first = prepare(&m, other, 0);
    second = prepare(&m, own, identifier);
    assert_false(commit_it(&m, "o", &first));
    assert_true(commit_it(&m, "u", &second));
    OK(tn_write_refresh(own, err));
    second = prepare(&m, own, identifier);
    assert_int_equal(second.n_messages, 1);
    assert_int_equal(second.messages->new_files.n, 0);
    assert_false(commit_it(&m, "u", &second));
    assert_string_equal(wm_rows(&m), cases[i / 2].rows);
    OK(tn_write_refresh(own, err)); /* nothing is left to do then */
    second = prepare(&m, own, identifier);
    assert_int_equal(second.n_messages, 0);
    tn_write_free(own);
    tn_write_free(other);
    m.write = NULL;
    wm_end(&m);
  }
}

/* The same of an overwrite: the rows are there, but behind them somebody whose tree had nothing
 * before brought others to the top level. What is made again looks at the snapshot, though the
 * writer itself ignores what was before. */
static void refresh__makes_the_dropped_compaction_of_an_overwrite_again(void **state) {
  static const struct {
    const char *options, *rows;
  } cases[] = {{"bucket=1;deletion-vectors.enabled=true", "1|m;2|o;3|m"},
               {"bucket=1;merge-engine=first-row", "1|m;2|o;3|m"},
               {"bucket=1;changelog-producer=lookup", "1|m;2|o;3|m"}};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tn_commit_message rows, compacted;
    tn_committable theirs, ours;
    write_maker m;
    tn_write *own, *other;
    begin(&m, 1, cases[i].options);
    other = open_as(&m, "o");
    write_as(&m, other, "2|o");
    theirs = prepare(&m, other, 0);
    m.options.ignores_previous = true;
    own = open_as(&m, "u");
    write_as(&m, own, "1|m;3|m");
    ours = prepare(&m, own, INT64_MAX);
    assert_int_equal(ours.n_messages, 1);
    rows = compacted = ours.messages[0];
    rows.compact_before = rows.compact_after = (tn_data_files){NULL, 0};
    rows.compact_new_indexes = rows.compact_deleted_indexes = (tn_index_files){NULL, 0};
    compacted.new_files = (tn_data_files){NULL, 0};
    ours.messages = &rows; /* nothing is there to be overwritten */
    assert_false(commit_it(&m, "u", &ours));
    assert_false(commit_it(&m, "o", &theirs));
    ours.messages = &compacted;
    assert_true(commit_it(&m, "u", &ours));
    OK(tn_write_refresh(own, err));
    ours = prepare(&m, own, INT64_MAX);
    assert_int_equal(ours.n_messages, 1);
    assert_int_equal(ours.messages->new_files.n, 0);
    assert_int_equal(ours.messages->compact_changelog.n, 0);
    assert_false(commit_it(&m, "u", &ours));
    assert_string_equal(wm_rows(&m), cases[i].rows);
    OK(tn_write_refresh(own, err));
    ours = prepare(&m, own, INT64_MAX);
    assert_int_equal(ours.n_messages, 0);
    tn_write_free(own);
    tn_write_free(other);
    m.write = NULL;
    wm_end(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(write__goes_on_when_its_files_were_compacted_and_expired),
      cmocka_unit_test(write__loses_many_buckets_at_once),
      cmocka_unit_test(write__waits_for_its_commits_before_it_restores),
      cmocka_unit_test(write__fails_when_the_table_has_lost_a_file),
      cmocka_unit_test(write__that_never_waits_fails_when_the_table_has_lost_a_file),
      cmocka_unit_test(stats__count_compactions),
      cmocka_unit_test(refresh__makes_dropped_compactions_again),
      cmocka_unit_test(refresh__makes_the_dropped_compaction_of_an_overwrite_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
