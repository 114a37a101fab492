/* test_compact_table.c - whole tables compacted: what becomes of their files, rows and snapshots.
 */
#include "datafile/data_writer.h"
#include "dedicated/compact_table.h"
#include "edit/edit.h"
#include "plan/entries.h"
#include "support/torture.h"
#include "write_maker.h"

#define PK "0 k INT NOT NULL|1 v STRING"
#define APPEND "0 k INT|1 v STRING"
#define PARTED "0 p INT|1 k INT|2 v STRING"

static tn_table_compact_request request_of(const write_maker *m, bool is_full) {
  return (tn_table_compact_request){
      .table = m->table, .is_full = is_full, .user = "c", .identifier = INT64_MAX};
}

static tn_table_compact_result compact(write_maker *m, bool is_full) {
  const tn_table_compact_request q = request_of(m, is_full);
  tn_table_compact_result result;
  OK(tn_table_compact(&q, &result, NULL, err));
  return result;
}

static void commit_rows(write_maker *m, const char *rows) {
  wm_write(m, rows);
  wm_commit(m);
}

static tn_snapshot latest(write_maker *m) {
  tn_snapshot s;
  int64_t id;
  OK(tn_snapshot_latest_id(m->tm.env, m->tm.storage, "/t", &id, err));
  OK(tn_snapshot_read(m->tm.env, m->tm.storage, "/t", id, &m->tm.arena, &s, err));
  return s;
}

static int compare_texts(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "L5[3] L0[1]": the level and rows of each live file, sorted. */
static const char *live_files(write_maker *m) {
  tn_scan scan = {.table = m->table, .limit = -1, .keeps_stats = true};
  char *texts[64], *out = tn_arena_calloc(&m->tm.arena, 64, 64);
  tn_plan *plan;
  int n = 0;
  OK(tn_plan_create(&scan, &plan, err));
  for (int32_t i = 0; i < plan->n_splits; i++) {
    for (int32_t k = 0; k < plan->splits[i].n_files; k++) {
      const tn_data_file *f = &plan->splits[i].files[k];
      assert_true(n < 64);
      texts[n++] = tn_arena_printf(&m->tm.arena, "L%d[%d]", (int)f->level, (int)f->row_count);
    }
  }
  tn_plan_release(plan);
  qsort(texts, (size_t)n, sizeof(*texts), compare_texts);
  for (int i = 0; i < n; i++) {
    strcat(strcat(out, i > 0 ? " " : ""), texts[i]);
  }
  return out;
}

/* ------------------------------------------------------------------ primary keys */

static void full__puts_all_runs_on_the_top_level(void **state) {
  tn_table_compact_result r;
  write_maker m;
  (void)state;
  wm_begin(&m, PK, "", "k", "bucket=1");
  commit_rows(&m, "1|a;2|b");
  commit_rows(&m, "2|c;3|d");
  commit_rows(&m, "-D 1|a");
  r = compact(&m, true);
  assert_string_equal(live_files(&m), "L5[2]");
  assert_string_equal(wm_rows(&m), "2|c;3|d");
  assert_int_equal(latest(&m).commit_kind, TN_COMMIT_COMPACT);
  assert_int_equal(r.first_id, 4);
  assert_int_equal(r.n_files_in, 3);
  assert_int_equal(r.n_files_out, 1);
  assert_int_equal(r.n_rows_in, 5);
  assert_int_equal(r.n_rows_out, 2);
  wm_end(&m);
}

static void full__is_nothing_the_second_time(void **state) {
  write_maker m;
  (void)state;
  wm_begin(&m, PK, "", "k", "bucket=1");
  commit_rows(&m, "1|a;2|b");
  commit_rows(&m, "2|c;3|d");
  (void)compact(&m, true);
  assert_int_equal(compact(&m, true).last_id, 0);
  assert_int_equal(latest(&m).id, 3);
  wm_end(&m);
}

static void full__moves_a_lone_file(void **state) {
  tn_table_compact_result r;
  write_maker m;
  (void)state;
  wm_begin(&m, PK, "", "k", "bucket=1");
  commit_rows(&m, "1|a;2|b");
  r = compact(&m, true);
  assert_string_equal(live_files(&m), "L5[2]");
  assert_int_equal(r.n_upgraded, 1);
  assert_int_equal(r.n_files_in + r.n_files_out, 0);
  assert_string_equal(wm_rows(&m), "1|a;2|b");
  wm_end(&m);
}

/* As in Java: who is late by more than a full compaction is not late any more. */
static void full__forgets_a_delete_with_its_sequence(void **state) {
  (void)state;
  for (int is_compacted = 0; is_compacted < 2; is_compacted++) {
    write_maker m;
    wm_begin(&m, "0 k INT NOT NULL|1 v STRING|2 s BIGINT", "", "k",
             "bucket=1;write-only=true;sequence.field=s");
    commit_rows(&m, "1|a|2");
    commit_rows(&m, "-D 1|a|9223372036854775806");
    if (is_compacted != 0) {
      (void)compact(&m, true);
      assert_string_equal(live_files(&m), "");
    }
    commit_rows(&m, "1|b|1");
    assert_string_equal(wm_rows(&m), is_compacted != 0 ? "1|b|1" : "");
    wm_end(&m);
  }
}

static void minor__waits_for_the_trigger(void **state) {
  write_maker m;
  (void)state;
  wm_begin(&m, PK, "", "k", "bucket=1;write-only=true");
  for (int i = 0; i < 4; i++) {
    commit_rows(&m, "1|a;2|b");
  }
  assert_int_equal(compact(&m, false).n_picks, 0);
  commit_rows(&m, "3|c");
  assert_int_equal(compact(&m, false).n_picks, 1);
  assert_string_equal(live_files(&m), "L5[3]");
  wm_end(&m);
}

static void minor__shows_the_rows_of_a_first_row_table(void **state) {
  write_maker m;
  (void)state;
  wm_begin(&m, PK, "", "k", "bucket=1;merge-engine=first-row;write-only=true");
  commit_rows(&m, "1|a;2|b");
  commit_rows(&m, "1|x;3|c");
  assert_string_equal(wm_rows(&m), "");
  (void)compact(&m, false);
  assert_string_equal(wm_rows(&m), "1|a;2|b;3|c");
  wm_end(&m);
}

static void buckets_from_before__keep_their_count(void **state) {
  tn_table_compact_result r;
  write_maker m;
  (void)state;
  wm_begin(&m, PK, "", "k", "bucket=2;write-only=true");
  commit_rows(&m, "1|a;2|b;3|c");
  commit_rows(&m, "1|x;2|y;3|z");
  wm_close(&m);
  tn_table_release(m.table);
  (void)tm_schema(&m.tm, 1, PK, "", "k", "bucket=4;write-only=true");
  m.table = tm_table(&m.tm, "");
  r = compact(&m, true);
  assert_int_equal(r.n_files_in, 4);
  assert_int_equal(r.n_files_out, 2);
  assert_string_equal(wm_rows(&m), "1|x;2|y;3|z");
  wm_end(&m);
}

static void many_buckets__are_compacted_side_by_side(void **state) {
  tn_table_compact_request q;
  tn_table_compact_result r;
  write_maker m;
  tn_buf rows;
  (void)state;
  wm_begin_in(&m, tn_test_env(4, 0), "0 k INT NOT NULL|1 p INT NOT NULL", "p", "k,p",
              "bucket=3;write-only=true");
  wm_open(&m);
  tn_buf_init(&rows, &m.tm.env->mem, 1 << 20);
  for (int i = 0; i < 120; i++) {
    OK(tn_buf_printf(&rows, err, "%s%d|%d", i > 0 ? ";" : "", i, i % 5));
  }
  OK(tn_buf_append(&rows, "", 1, err));
  for (int i = 0; i < 3; i++) {
    commit_rows(&m, (const char *)rows.data);
  }
  q = request_of(&m, true);
  q.n_threads = 4;
  OK(tn_table_compact(&q, &r, NULL, err));
  assert_int_equal(r.n_buckets, 15);
  assert_int_equal(r.n_commits, 1);
  assert_int_equal(r.n_files_out, 15);
  assert_int_equal(r.n_rows_out, 120);
  assert_int_equal(latest(&m).total_record_count, 120);
  tn_buf_reset(&rows);
  wm_end(&m);
}

/* ------------------------------------------------------------------ others at the same time */

typedef struct meddler {
  write_maker *m;
  const char *rows; /* NULL: a compaction */
  bool is_done;
} meddler;

/* Before the job commits. */
static void meddle(void *ctx, const tn_compact_progress *progress) {
  meddler *d = ctx;
  assert_int_equal(progress->n_done, 1);
  assert_int_equal(progress->n_units, 1);
  if (d->is_done) {
    return;
  }
  d->is_done = true;
  if (d->rows != NULL) {
    commit_rows(d->m, d->rows);
  } else {
    (void)compact(d->m, true);
  }
}

static void append_meanwhile__stays(void **state) {
  tn_table_compact_request q;
  tn_table_compact_result r;
  write_maker m;
  meddler d = {&m, "3|c", false};
  (void)state;
  wm_begin(&m, PK, "", "k", "bucket=1;write-only=true");
  commit_rows(&m, "1|a;2|b");
  commit_rows(&m, "2|x");
  q = request_of(&m, true);
  q.progress = meddle;
  q.progress_ctx = &d;
  OK(tn_table_compact(&q, &r, NULL, err));
  assert_true(d.is_done);
  assert_int_equal(r.last_id, 4);
  assert_string_equal(live_files(&m), "L0[1] L5[2]");
  assert_string_equal(wm_rows(&m), "1|a;2|x;3|c");
  wm_end(&m);
}

static void compaction_meanwhile__is_a_conflict_that_leaves_no_file(void **state) {
  static const struct {
    const char *fields, *key, *options;
  } cases[] = {{PK, "k", "bucket=1;write-only=true"}, {APPEND, "", "bucket=-1"}};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tn_table_compact_request q;
    tn_table_compact_result r;
    write_maker m;
    meddler d = {&m, NULL, false};
    tarn_error error = {0};
    wm_begin(&m, cases[i].fields, "", cases[i].key, cases[i].options);
    commit_rows(&m, "1|a;2|b");
    commit_rows(&m, "3|x");
    q = request_of(&m, true);
    q.progress = meddle;
    q.progress_ctx = &d;
    assert_int_equal(tn_table_compact(&q, &r, NULL, &error), TARN_E_CONFLICT);
    assert_int_equal(wm_count_files(&m), 3); /* two old ones, and what the other one made */
    assert_int_equal(latest(&m).id, 3);
    assert_string_equal(wm_rows(&m), "1|a;2|b;3|x");
    wm_end(&m);
  }
}

/* Others compact the table once the job has done one part of it, and what was before expires. */
static void overtake(void *ctx, const tn_compact_progress *progress) {
  meddler *d = ctx;
  write_maker *m = d->m;
  tn_scan scan = {.table = m->table, .limit = -1, .keeps_stats = true};
  tn_plan *plan;
  (void)progress;
  if (d->is_done) {
    return;
  }
  d->is_done = true;
  OK(tn_plan_create(&scan, &plan, err));
  if (d->rows == NULL) {
    assert_true(compact(m, true).n_files_in > 0);
  }
  for (int32_t i = 0; i < plan->n_splits; i++) {
    const tn_split *s = &plan->splits[i];
    for (int32_t k = 0; k < s->n_files; k++) {
      tn_data_file_delete(m->table, s->partition, s->bucket, &s->files[k]);
    }
  }
  tn_plan_release(plan);
}

/* What is gone because others have compacted it needs no compaction; what only is gone is lost. */
static void files_expired_meanwhile__let_it_begin_anew(void **state) {
  static const struct {
    const char *fields, *key, *options, *live;
    int n_files;
  } cases[] = {
      {PK, "k,v", "bucket=1;write-only=true", "L5[1] L5[1] L5[1]", 3},
      {PK, "k,v", "bucket=1;write-only=true;changelog-producer=lookup", "L5[1] L5[1] L5[1]", 6},
      {APPEND, "", "bucket=-1;compaction.min.file-num=2", "L0[2] L0[2] L0[2]", 3}};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases) * 2; i++) {
    bool is_lost = i % 2 == 1;
    tn_table_compact_request q;
    tn_table_compact_result r;
    write_maker m;
    meddler d = {&m, is_lost ? "lost" : NULL, false};
    tarn_error error = {0};
    tarn_status st;
    wm_begin(&m, cases[i / 2].fields, "v", cases[i / 2].key, cases[i / 2].options);
    commit_rows(&m, "1|a;2|b;3|c");
    commit_rows(&m, "1|a;2|b;3|c");
    q = request_of(&m, true);
    q.progress = overtake;
    q.progress_ctx = &d;
    q.n_threads = 1;
    st = tn_table_compact(&q, &r, NULL, &error);
    if (st != TARN_OK && !is_lost) {
      fail_msg("%s: %s", cases[i / 2].options, error.message);
    }
    assert_true(d.is_done);
    if (is_lost) {
      assert_int_equal(st, TARN_E_NOT_FOUND);
    } else {
      assert_int_equal(st, TARN_OK);
      assert_int_equal(r.n_commits, 0);
      assert_int_equal(wm_count_files(&m), cases[i / 2].n_files);
      assert_string_equal(live_files(&m), cases[i / 2].live);
    }
    wm_end(&m);
  }
}

static void same_identifier__is_done_once(void **state) {
  tn_table_compact_request q;
  tn_table_compact_result r;
  write_maker m;
  (void)state;
  wm_begin(&m, PK, "", "k", "bucket=1;write-only=true");
  q = request_of(&m, true);
  q.identifier = 7;
  q.is_once = true;
  commit_rows(&m, "1|a;2|b");
  OK(tn_table_compact(&q, &r, NULL, err));
  assert_int_equal(r.last_id, 2);
  commit_rows(&m, "2|x");
  OK(tn_table_compact(&q, &r, NULL, err));
  assert_int_equal(r.last_id, 0);
  q.identifier = 8;
  OK(tn_table_compact(&q, &r, NULL, err));
  assert_int_equal(r.last_id, 4);
  wm_end(&m);
}

static tarn_cancel *cancelled(write_maker *m) {
  tarn_cancel *cancel;
  OK(tarn_cancel_create(m->tm.env, &cancel, err));
  tarn_cancel_set(cancel);
  return cancel;
}

static void cancelled__leaves_the_table_as_it_was(void **state) {
  tn_table_compact_request q;
  tn_table_compact_result r;
  tarn_cancel *cancel;
  tarn_error error;
  write_maker m;
  (void)state;
  wm_begin(&m, PK, "", "k", "bucket=1;write-only=true");
  commit_rows(&m, "1|a;2|b");
  commit_rows(&m, "2|x");
  q = request_of(&m, true);
  q.cancel = cancel = cancelled(&m);
  assert_int_equal(tn_table_compact(&q, &r, NULL, &error), TARN_E_CANCELLED);
  assert_int_equal(wm_count_files(&m), 2);
  assert_int_equal(latest(&m).id, 2);
  tarn_cancel_free(cancel);
  wm_end(&m);
}

/* ------------------------------------------------------------------ partitions, dry runs */

static void predicate__chooses_partitions(void **state) {
  tn_table_compact_request q;
  tn_table_compact_result r;
  tarn_error error;
  write_maker m;
  (void)state;
  wm_begin(&m, PARTED, "p", "", "bucket=-1");
  commit_rows(&m, "1|1|a;2|1|b");
  commit_rows(&m, "1|2|c;2|2|d");
  q = request_of(&m, true);
  q.predicate = tm_where(&m.tm, m.table, "p = 2");
  OK(tn_table_compact(&q, &r, NULL, err));
  assert_string_equal(live_files(&m), "L0[1] L0[1] L0[2]");
  q.predicate = tm_where(&m.tm, m.table, "p = 1 AND k = 1");
  assert_int_equal(tn_table_compact(&q, &r, NULL, &error), TARN_E_INVALID);
  assert_non_null(strstr(error.message, "partition columns"));
  wm_end(&m);
}

static void dry_run__tells_and_writes_nothing(void **state) {
  static const struct {
    const char *fields, *key, *options, *said;
  } cases[] = {
      {PK, "k", "bucket=1;write-only=true", "\"bucket\":0,\"reason\":\"reason=full"},
      {APPEND, "", "bucket=-1", "\"output_level\":0,\"files\":2,"},
      {PK, "k", "bucket=-2", "\"bucket\":-2,\"reason\":\"postponed\""},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tn_table_compact_request q;
    tn_table_compact_result r;
    write_maker m;
    tn_buf picks;
    int n_files;
    wm_begin(&m, cases[i].fields, "", cases[i].key, cases[i].options);
    commit_rows(&m, "1|a;2|b");
    commit_rows(&m, "3|x");
    n_files = wm_count_files(&m);
    tn_buf_init(&picks, &m.tm.env->mem, 1 << 20);
    q = request_of(&m, true);
    q.is_dry_run = true;
    OK(tn_table_compact(&q, &r, &picks, err));
    OK(tn_buf_append(&picks, "", 1, err));
    assert_non_null(strstr((const char *)picks.data, cases[i].said));
    assert_non_null(strstr((const char *)picks.data, "\"names\":[\"data-"));
    assert_int_equal(r.n_picks, 1);
    assert_int_equal(r.n_files_in, 2);
    assert_int_equal(r.last_id, 0);
    assert_int_equal(wm_count_files(&m), n_files);
    assert_int_equal(latest(&m).id, 2);
    tn_buf_reset(&picks);
    wm_end(&m);
  }
}

/* ------------------------------------------------------------------ tables without buckets */

static void bucketless_full__is_one_file_a_partition(void **state) {
  write_maker m;
  (void)state;
  wm_begin(&m, PARTED, "p", "", "bucket=-1");
  commit_rows(&m, "1|1|a;2|1|b");
  commit_rows(&m, "1|2|c;2|2|d");
  commit_rows(&m, "1|3|e;3|3|f");
  assert_int_equal(compact(&m, true).n_picks, 2);
  assert_string_equal(live_files(&m), "L0[1] L0[2] L0[3]");
  assert_string_equal(wm_rows(&m), "1|1|a;1|2|c;1|3|e;2|1|b;2|2|d;3|3|f");
  assert_int_equal(compact(&m, true).last_id, 0);
  wm_end(&m);
}

static void bucketless_minor__waits_for_enough_files(void **state) {
  write_maker m;
  (void)state;
  wm_begin(&m, APPEND, "", "", "bucket=-1");
  for (int i = 0; i < 4; i++) {
    commit_rows(&m, "1|a");
  }
  assert_int_equal(compact(&m, false).n_picks, 0);
  commit_rows(&m, "1|a");
  assert_int_equal(compact(&m, false).n_picks, 1);
  assert_string_equal(live_files(&m), "L0[5]");
  wm_end(&m);
}

static void delete_rows(write_maker *m, const char *where) {
  const tn_edit_request q = {
      .table = m->table, .predicate = tm_where(&m->tm, m->table, where), .user = "e"};
  tn_commit_options o = {.user = "e"};
  tn_committable c = {.identifier = INT64_MAX};
  tn_commit_result r;
  tn_edit *edit;
  int64_t n;
  OK(tn_edit_create(m->tm.env, &q, &edit, err));
  do {
    OK(tn_edit_next(edit, NULL, &n, err));
  } while (n > 0);
  OK(tn_edit_prepare(edit, INT64_MAX, &m->tm.arena, &c.messages, &c.n_messages, err));
  OK(tn_commit_append(m->table, &o, &c, &r, err));
  tn_edit_free(edit);
}

static int64_t count_vectors(write_maker *m) {
  tn_scan scan = {.table = m->table, .limit = -1};
  int64_t n = 0;
  tn_plan *plan;
  OK(tn_plan_create(&scan, &plan, err));
  for (int32_t i = 0; i < plan->n_splits; i++) {
    for (int32_t k = 0; plan->splits[i].deletions != NULL && k < plan->splits[i].n_files; k++) {
      n += plan->splits[i].deletions[k].path != NULL;
    }
  }
  tn_plan_release(plan);
  return n;
}

/* The vector of a file that stays is kept, whatever index file it shared. */
static void bucketless__keeps_vectors_of_files_that_stay(void **state) {
  tn_table_compact_request q;
  tn_table_compact_result r;
  write_maker m;
  (void)state;
  wm_begin(&m, APPEND, "", "",
           "bucket=-1;deletion-vectors.enabled=true;compaction.delete-ratio-threshold=0.4;"
           "target-file-size=10 b;source.split.open-file-cost=1 b");
  commit_rows(&m, "1|a;2|b;3|c;4|d");
  commit_rows(&m, "5|e;6|f");
  delete_rows(&m, "k = 1 OR k = 5");
  assert_int_equal(count_vectors(&m), 2);
  q = request_of(&m, false);
  OK(tn_table_compact(&q, &r, NULL, err)); /* the first file: a quarter; the second: half */
  assert_int_equal(r.n_files_in, 1);
  assert_int_equal(r.n_rows_out, 1);
  assert_int_equal(count_vectors(&m), 1);
  assert_string_equal(wm_rows(&m), "2|b;3|c;4|d;6|f");
  (void)compact(&m, true);
  assert_int_equal(count_vectors(&m), 0);
  assert_string_equal(wm_rows(&m), "2|b;3|c;4|d;6|f");
  wm_end(&m);
}

static void delete_in_between(void *ctx, const tn_compact_progress *progress) {
  (void)progress;
  delete_rows(ctx, "k = 2");
}

/* Rows that somebody marks while their file is rewritten would come back. */
static void rows_deleted_meanwhile__are_a_conflict(void **state) {
  static const char *const options[] = {
      "bucket=-1;deletion-vectors.enabled=true",
      "bucket=1;bucket-key=k;write-only=true;deletion-vectors.enabled=true"};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(options); i++) {
    tn_table_compact_request q;
    tn_table_compact_result r;
    tarn_error error = {0};
    write_maker m;
    wm_begin(&m, APPEND, "", "", options[i]);
    commit_rows(&m, "1|a;2|b");
    commit_rows(&m, "3|c");
    q = request_of(&m, true);
    q.progress = delete_in_between;
    q.progress_ctx = &m;
    assert_int_equal(tn_table_compact(&q, &r, NULL, &error), TARN_E_CONFLICT);
    assert_string_equal(wm_rows(&m), "1|a;3|c");
    wm_end(&m);
  }
}

static void bucketed_append__keeps_its_order(void **state) {
  write_maker m;
  (void)state;
  wm_begin(&m, APPEND, "", "", "bucket=1;bucket-key=k;write-only=true");
  commit_rows(&m, "1|a");
  commit_rows(&m, "1|b");
  commit_rows(&m, "1|c");
  (void)compact(&m, true);
  assert_string_equal(live_files(&m), "L0[3]");
  assert_string_equal(wm_rows(&m), "1|a;1|b;1|c");
  wm_end(&m);
}

/* ------------------------------------------------------------------ sorted */

static void sorted__rows_are_in_order_and_marked_ones_gone(void **state) {
  static const int32_t columns[] = {1, 0};
  tn_table_compact_request q;
  tn_table_compact_result r;
  write_maker m;
  (void)state;
  wm_begin(&m, APPEND, "", "", "bucket=-1;deletion-vectors.enabled=true");
  commit_rows(&m, "3|c;1|b;2|null");
  commit_rows(&m, "9|a;5|b;4|c");
  delete_rows(&m, "k = 5");
  q = request_of(&m, true);
  q.order_columns = columns;
  q.n_order_columns = 2;
  OK(tn_table_compact(&q, &r, NULL, err));
  assert_int_equal(latest(&m).commit_kind, TN_COMMIT_OVERWRITE);
  assert_string_equal(live_files(&m), "L0[5]");
  assert_int_equal(count_vectors(&m), 0);
  assert_int_equal(r.n_rows_out, 5);
  assert_int_equal(wm_count_files(&m), 4); /* two old ones, their vectors, the new one */
  wm_end(&m);
}

static void sorted__keeps_what_came_meanwhile(void **state) {
  static const int32_t columns[] = {0};
  tn_table_compact_request q;
  tn_table_compact_result r;
  write_maker m;
  meddler d = {&m, "7|x", false};
  (void)state;
  wm_begin(&m, APPEND, "", "", "bucket=-1");
  commit_rows(&m, "3|c;1|b");
  q = request_of(&m, true);
  q.order_columns = columns;
  q.n_order_columns = 1;
  q.progress = meddle;
  q.progress_ctx = &d;
  OK(tn_table_compact(&q, &r, NULL, err));
  assert_true(d.is_done);
  assert_string_equal(wm_rows(&m), "1|b;3|c;7|x");
  wm_end(&m);
}

static void sorted__refuses_tables_with_buckets(void **state) {
  static const int32_t columns[] = {0};
  tn_table_compact_request q;
  tn_table_compact_result r;
  tarn_error error;
  write_maker m;
  (void)state;
  wm_begin(&m, PK, "", "k", "bucket=1;write-only=true");
  commit_rows(&m, "3|c;1|b");
  q = request_of(&m, true);
  q.order_columns = columns;
  q.n_order_columns = 1;
  assert_int_equal(tn_table_compact(&q, &r, NULL, &error), TARN_E_UNSUPPORTED);
  wm_end(&m);
}

/* ------------------------------------------------------------------ postponed buckets */

static void postponed__rows_go_into_real_buckets_in_their_order(void **state) {
  tn_table_compact_result r;
  write_maker m;
  (void)state;
  wm_begin(&m, PK, "", "k", "bucket=-2;postpone.default-bucket-num=2");
  commit_rows(&m, "1|a;2|b;3|c");
  commit_rows(&m, "1|x;-D 2|b");
  assert_string_equal(wm_rows(&m), "");
  r = compact(&m, false);
  assert_int_equal(r.n_commits, 1);
  assert_string_equal(wm_rows(&m), "1|x;3|c");
  assert_int_equal(latest(&m).commit_kind, TN_COMMIT_COMPACT);
  commit_rows(&m, "1|y;4|d"); /* once more, into as many buckets */
  (void)compact(&m, true);
  assert_string_equal(wm_rows(&m), "1|y;3|c;4|d");
  assert_int_equal(compact(&m, true).last_id, 0);
  wm_end(&m);
}

/* ------------------------------------------------------------------ failing memory */

typedef struct torture_case {
  const char *fields, *key, *options, *rows;
  bool is_sorted;
} torture_case;

/* Only the job runs short of memory. */
static tarn_status run_once(void *ctx, tarn_env *env, tarn_error *why) {
  static const int32_t columns[] = {0, 1};
  const torture_case *c = ctx;
  tn_test_alloc *alloc = env->mem.hooks.ctx;
  int64_t fail_at = alloc->fail_at, calls = alloc->calls;
  tn_table_compact_request q;
  tn_table_compact_result r;
  write_maker m;
  tarn_status st;
  alloc->fail_at = 0;
  wm_begin_in(&m, env, c->fields, "", c->key, c->options);
  wm_open(&m);
  commit_rows(&m, "1|a;2|b");
  commit_rows(&m, "2|x;3|c");
  wm_close(&m);
  q = request_of(&m, true);
  q.order_columns = columns;
  q.n_order_columns = c->is_sorted ? 2 : 0;
  q.order = TN_ORDER_ZORDER;
  alloc->calls = calls;
  alloc->fail_at = fail_at;
  st = tn_table_compact(&q, &r, NULL, why);
  fail_at = alloc->fail_at;
  calls = alloc->calls;
  alloc->fail_at = 0;
  if (st != TARN_OK && r.n_commits == 0) {
    /* A snapshot that may be part of the table keeps its files. */
    bool is_unsure = strstr(why->message, "it cannot be told whether") != NULL;
    if (!is_unsure && (wm_count_files(&m) != 2 || latest(&m).id != 2)) {
      fail_msg("%s: allocation %lld: %s", c->options, (long long)fail_at, why->message);
    }
  }
  (void)compact(&m, true);
  assert_string_equal(wm_rows(&m), c->rows);
  m.tm.env = NULL; /* tn_torture() frees it */
  wm_end(&m);
  alloc->fail_at = fail_at;
  alloc->calls = calls;
  return st;
}

static void torture__leaves_rows_and_no_files(void **state) {
  static const torture_case cases[] = {
      {PK, "k", "bucket=1;write-only=true", "1|a;2|x;3|c", false},
      {APPEND, "", "bucket=-1", "1|a;2|b;2|x;3|c", false},
      {APPEND, "", "bucket=-1", "1|a;2|b;2|x;3|c", true},
      {PK, "k", "bucket=-2", "1|a;2|x;3|c", false},
      {APPEND, "", "bucket=-1;row-tracking.enabled=true;data-evolution.enabled=true",
       "1|a;2|b;2|x;3|c", false},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    torture_case c = cases[i];
    assert_true(tn_torture(run_once, &c, TARN_OK) > 20);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(full__puts_all_runs_on_the_top_level),
      cmocka_unit_test(full__is_nothing_the_second_time),
      cmocka_unit_test(full__moves_a_lone_file),
      cmocka_unit_test(full__forgets_a_delete_with_its_sequence),
      cmocka_unit_test(minor__waits_for_the_trigger),
      cmocka_unit_test(minor__shows_the_rows_of_a_first_row_table),
      cmocka_unit_test(buckets_from_before__keep_their_count),
      cmocka_unit_test(many_buckets__are_compacted_side_by_side),
      cmocka_unit_test(append_meanwhile__stays),
      cmocka_unit_test(compaction_meanwhile__is_a_conflict_that_leaves_no_file),
      cmocka_unit_test(files_expired_meanwhile__let_it_begin_anew),
      cmocka_unit_test(same_identifier__is_done_once),
      cmocka_unit_test(cancelled__leaves_the_table_as_it_was),
      cmocka_unit_test(predicate__chooses_partitions),
      cmocka_unit_test(dry_run__tells_and_writes_nothing),
      cmocka_unit_test(bucketless_full__is_one_file_a_partition),
      cmocka_unit_test(bucketless_minor__waits_for_enough_files),
      cmocka_unit_test(bucketless__keeps_vectors_of_files_that_stay),
      cmocka_unit_test(rows_deleted_meanwhile__are_a_conflict),
      cmocka_unit_test(bucketed_append__keeps_its_order),
      cmocka_unit_test(sorted__rows_are_in_order_and_marked_ones_gone),
      cmocka_unit_test(sorted__keeps_what_came_meanwhile),
      cmocka_unit_test(sorted__refuses_tables_with_buckets),
      cmocka_unit_test(postponed__rows_go_into_real_buckets_in_their_order),
      cmocka_unit_test(torture__leaves_rows_and_no_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
