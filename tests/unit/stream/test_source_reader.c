/* test_source_reader.c - rows of splits, going on behind those that were given, whole states. */
#include <string.h>

#include "stream/state.h"
#include "stream_maker.h"
#include "support/torture.h"

#define KEYED "0 k INT NOT NULL|1 v STRING"
#define TEXT_LIMIT ((size_t)1 << 20)

/* Give a reader the splits of what follows from a snapshot on. */
static void feed(stream_maker *m, tn_table *table, int64_t next, bool is_full,
                 tn_source_reader *reader) {
  tn_stream_scan *scan = sm_scan(m, table);
  tn_stream_outcome outcome;
  tn_plan *plan;
  tn_stream_scan_restore(scan, true, next, is_full);
  do {
    OK(tn_stream_scan_plan(scan, &outcome, &plan, err));
    for (int32_t i = 0; plan != NULL && i < plan->n_splits; i++) {
      tn_source_split split = {.id = "abc-1", .split = &plan->splits[i]};
      split.plan = tn_plan_retain(plan);
      OK(tn_split_queue_push(tn_source_reader_splits(reader), &split, err));
    }
    tn_plan_release(plan);
  } while (outcome == TN_STREAM_PLANNED);
  tn_stream_scan_free(scan);
}

static void next__kinds_stay_as_they_were_written(void **state) {
  stream_maker m;
  tn_source_reader *reader;
  int64_t consumed;
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=1;changelog-producer=input");
  sm_commit(&m, "1|a;2|b");
  sm_commit(&m, "-U 1|a;+U 1|c;-D 2|b;3|d");
  reader = sm_reader(&m, m.w.table, 0);
  assert_false(tn_source_reader_consumed(reader, &consumed));
  feed(&m, m.w.table, 1, false, reader);
  assert_string_equal(sm_read_all(&m, reader), "+I 1|a;+I 2|b;-U 1|a;+U 1|c;-D 2|b;+I 3|d");
  assert_true(tn_source_reader_consumed(reader, &consumed));
  assert_int_equal(consumed, 2);
  tn_source_reader_free(reader);
  sm_end(&m);
}

/* The first n batches. */
static void read_batches(stream_maker *m, tn_source_reader *reader, int n, tn_buf *text) {
  for (int i = 0; i < n; i++) {
    tn_source_batch where;
    tn_batch batch;
    int64_t finished;
    OK(tn_source_reader_next(reader, &batch, &where, &finished, err));
    if (batch.n_rows > 0) {
      sm_put_rows(text, &batch);
    }
    tn_batch_reset(m->w.tm.env, &batch);
  }
}

/* A reader that has what another one had. */
static tn_source_reader *restored(stream_maker *m, tn_table *table, tn_source_reader *from) {
  tn_source_reader *reader = sm_reader(m, table, 2);
  bool has_next;
  int64_t next;
  tn_buf bytes;
  tn_buf_init(&bytes, &m->w.tm.env->mem, TEXT_LIMIT);
  OK(tn_source_reader_checkpoint(from, &bytes, err));
  OK(tn_pending_splits_decode(table, tn_buf_slice(&bytes), tn_source_reader_splits(reader),
                              &has_next, &next, err));
  assert_false(has_next);
  tn_buf_reset(&bytes);
  return reader;
}

/* Whatever was read before a checkpoint, the rest is what follows: of a state that is merged, of
 * changes, of an overwrite. */
static void checkpoint__goes_on_behind_any_row(void **state) {
  stream_maker m;
  tn_table *table;
  const char *all;
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=1");
  sm_commit(&m, "1|a;2|a;3|a;4|a;5|a");
  sm_commit(&m, "2|b;4|b");
  sm_commit(&m, "6|c;7|c;8|c");
  sm_overwrite(&m, "1|z;9|z;10|z");
  table = sm_table(&m, "streaming-read-overwrite=true");
  {
    tn_source_reader *reader = sm_reader(&m, table, 2);
    feed(&m, table, 2, true, reader);
    all = sm_read_all(&m, reader);
    tn_source_reader_free(reader);
  }
  assert_string_equal(all,
                      "+I 1|a;+I 2|b;+I 3|a;+I 4|b;+I 5|a;+I 6|c;+I 7|c;+I 8|c;"
                      "-D 1|a;-D 2|b;-D 3|a;-D 4|b;-D 5|a;-D 6|c;-D 7|c;-D 8|c;"
                      "+I 1|z;+I 9|z;+I 10|z");
  for (int n = 0; n <= 13; n++) {
    tn_source_reader *first = sm_reader(&m, table, 2), *second;
    tn_buf text;
    const char *rest;
    tn_buf_init(&text, &m.w.tm.env->mem, TEXT_LIMIT);
    feed(&m, table, 2, true, first);
    read_batches(&m, first, n, &text);
    second = restored(&m, table, first);
    rest = sm_read_all(&m, second);
    if (rest[0] != '\0') {
      OK(tn_buf_printf(&text, err, "%s%s", text.len > 0 ? ";" : "", rest));
    }
    assert_string_equal(sm_keep(&m, &text), all);
    tn_source_reader_free(first);
    tn_source_reader_free(second);
  }
  tn_table_release(table);
  sm_end(&m);
}

static void next__skips_no_more_than_there_is(void **state) {
  stream_maker m;
  tn_source_reader *reader;
  tn_source_batch where;
  tn_batch batch;
  int64_t finished;
  tarn_error error = {0};
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=1");
  sm_commit(&m, "1|a;2|a");
  reader = sm_reader(&m, m.w.table, 0);
  feed(&m, m.w.table, 1, false, reader);
  tn_split_queue_at(tn_source_reader_splits(reader), 0)->rows_to_skip = 3;
  assert_int_equal(tn_source_reader_next(reader, &batch, &where, &finished, &error),
                   TARN_E_CORRUPT);
  assert_contains(error.message, "skip(3) more than the number of remaining elements.");
  tn_source_reader_free(reader);
  sm_end(&m);
}

static void next__a_limit_counts_over_all_splits(void **state) {
  stream_maker m;
  tn_source_reader *reader = NULL;
  tn_read_options options = {.limit = 3, .with_row_kind = true};
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=1");
  sm_commit(&m, "1|a;2|a");
  sm_commit(&m, "3|a;4|a");
  options.table = m.w.table;
  options.fields = m.w.table->schema->fields;
  options.n_fields = m.w.table->schema->n_fields;
  OK(tn_source_reader_create(m.w.tm.env, &options, &reader, err));
  feed(&m, m.w.table, 1, false, reader);
  assert_string_equal(sm_read_all(&m, reader), "+I 1|a;+I 2|a;+I 3|a");
  assert_true(tn_source_reader_is_full(reader));
  tn_source_reader_free(reader);
  // Of a split that was begun before, its rows count.
  OK(tn_source_reader_create(m.w.tm.env, &options, &reader, err));
  feed(&m, m.w.table, 1, false, reader);
  tn_split_queue_at(tn_source_reader_splits(reader), 0)->rows_to_skip = 1;
  assert_string_equal(sm_read_all(&m, reader), "+I 2|a;+I 3|a");
  tn_source_reader_free(reader);
  sm_end(&m);
}

static void take_back__gives_rows_again(void **state) {
  stream_maker m;
  tn_source_reader *reader;
  tn_source_batch where;
  tn_batch batch;
  int64_t finished;
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=1");
  sm_commit(&m, "1|a;2|a;3|a");
  reader = sm_reader(&m, m.w.table, 2);
  feed(&m, m.w.table, 1, false, reader);
  OK(tn_source_reader_next(reader, &batch, &where, &finished, err));
  assert_int_equal(batch.n_rows, 2);
  assert_int_equal(where.first_row, 0);
  assert_int_equal(where.snapshot_id, 1);
  tn_batch_reset(m.w.tm.env, &batch);
  tn_source_reader_take_back(reader, 2);
  assert_string_equal(sm_read_all(&m, reader), "+I 1|a;+I 2|a;+I 3|a");
  tn_source_reader_free(reader);
  sm_end(&m);
}

/* ------------------------------------------------------------------ whole states */

static tn_enumerator *open_enumerator(tn_table *table, int32_t n_readers) {
  const tn_enumerator_options options = {.scan = {.table = table}, .n_readers = n_readers};
  tn_enumerator *e = NULL;
  OK(tn_enumerator_create(&options, &e, err));
  return e;
}

/* The state of a stream of which one split of two was begun. */
static void make_state(stream_maker *m, tn_table *table, tn_buf *out) {
  tn_enumerator *e = open_enumerator(table, 1);
  tn_source_reader *reader = sm_reader(m, table, 2);
  tn_assignment assignment;
  tn_discovery discovery;
  tn_buf text;
  do {
    OK(tn_enumerator_discover(e, &discovery, err));
  } while (discovery == TN_DISCOVERED_SPLITS);
  OK(tn_enumerator_request(e, 0, tn_source_reader_splits(reader), &assignment, err));
  tn_buf_init(&text, &m->w.tm.env->mem, TEXT_LIMIT);
  read_batches(m, reader, 1, &text);
  tn_buf_reset(&text);
  tn_buf_init(out, &m->w.tm.env->mem, TEXT_LIMIT);
  OK(tn_stream_state_save(table, e, &reader, 1, 1, 42, out, err));
  tn_source_reader_free(reader);
  tn_enumerator_free(e);
}

static void state__goes_on_with_other_readers(void **state) {
  stream_maker m;
  tn_table *table;
  tn_buf bytes;
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=1");
  sm_commit(&m, "1|a;2|a;3|a");
  sm_commit(&m, "4|a");
  table = sm_table(&m, "scan.snapshot-id=1;scan.max-splits-per-task=1");
  make_state(&m, table, &bytes);
  for (int32_t n = 1; n <= 3; n++) {
    tn_enumerator *e = open_enumerator(table, n);
    tn_source_reader *reader = sm_reader(&m, table, 0);
    tn_buf text;
    int64_t rows, next;
    tn_buf_init(&text, &m.w.tm.env->mem, TEXT_LIMIT);
    OK(tn_stream_state_load(table, tn_buf_slice(&bytes), e, &rows, err));
    assert_int_equal(rows, 42);
    assert_true(tn_stream_scan_position(tn_enumerator_scan(e), &next));
    assert_int_equal(next, 2);
    for (int i = 0; i < 6; i++) {
      for (int32_t r = 0; r < n; r++) {
        tn_assignment assignment;
        const char *read;
        OK(tn_enumerator_request(e, r, tn_source_reader_splits(reader), &assignment, err));
        read = sm_read_all(&m, reader);
        if (read[0] != '\0') {
          OK(tn_buf_printf(&text, err, "%s%s", text.len > 0 ? ";" : "", read));
        }
      }
    }
    assert_string_equal(sm_keep(&m, &text), "+I 3|a;+I 4|a");
    tn_source_reader_free(reader);
    tn_enumerator_free(e);
  }
  tn_buf_reset(&bytes);
  tn_table_release(table);
  sm_end(&m);
}

static void expect_refused(tn_table *table, const uint8_t *bytes, size_t n, tarn_status status,
                           const char *message) {
  tn_enumerator *e = open_enumerator(table, 1);
  tarn_error error = {0};
  int64_t rows = 0, next;
  tarn_status st = tn_stream_state_load(table, tn_slice_of(bytes, n), e, &rows, &error);
  if (st != status) {
    fail_msg("%s: %s", tarn_status_name(st), error.message);
  }
  assert_contains(error.message, message);
  assert_false(tn_stream_scan_position(tn_enumerator_scan(e), &next));  // as it was
  tn_enumerator_free(e);
}

static void state__that_is_none_is_refused(void **state) {
  stream_maker m;
  tn_buf bytes;
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=1");
  sm_commit(&m, "1|a;2|a;3|a");
  {
    tn_table *table = sm_table(&m, "scan.snapshot-id=1");
    make_state(&m, table, &bytes);
    tn_table_release(table);
  }
  for (size_t n = 0; n < bytes.len; n++) {
    expect_refused(m.w.table, bytes.data, n, TARN_E_CORRUPT, "state of a stream");
  }
  for (size_t i = 0; i < bytes.len; i++) {
    bool is_version = i >= 8 && i < 12;
    bytes.data[i] ^= 0x41;
    expect_refused(m.w.table, bytes.data, bytes.len,
                   is_version ? TARN_E_UNSUPPORTED : TARN_E_CORRUPT,
                   is_version ? "version" : "state of a stream");
    bytes.data[i] ^= 0x41;
  }
  tn_buf_reset(&bytes);
  sm_end(&m);
}

static void state__of_another_table_is_refused(void **state) {
  stream_maker m;
  tn_table *branch = NULL;
  tn_buf bytes;
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=1");
  sm_commit(&m, "1|a;2|a;3|a");
  make_state(&m, m.w.table, &bytes);
  OK(tn_table_create(m.w.tm.env, m.w.tm.storage, "db.t", "/t", "b", "/t/branch/branch-b",
                     m.w.tm.schema, NULL, 0, &branch, err));
  expect_refused(branch, bytes.data, bytes.len, TARN_E_INVALID,
                 "the state is of another table: of /t@");
  tn_table_release(branch);
  tn_buf_reset(&bytes);
  sm_end(&m);
}

/* ------------------------------------------------------------------ no memory */

/* Start, plan, read, keep, restore; all but that has enough memory. */
static tarn_status follow_once(tn_table *table, tarn_env *env, tarn_error *why) {
  const tn_enumerator_options options = {.scan = {.table = table}, .n_readers = 2};
  const tn_read_options read = {.table = table,
                                .fields = table->schema->fields,
                                .n_fields = table->schema->n_fields,
                                .limit = -1,
                                .with_row_kind = true,
                                .batch_rows = 2};
  tn_enumerator *e = NULL, *again = NULL;
  tn_source_reader *reader = NULL;
  tn_assignment assignment;
  tn_source_batch where;
  tn_batch batch = {0};
  int64_t finished, rows;
  tarn_status st = TARN_OK;
  tn_buf bytes;
  tn_buf_init(&bytes, &env->mem, TEXT_LIMIT);
  TN_TRY_TO(done, tn_enumerator_create(&options, &e, why));
  TN_TRY_TO(done, tn_source_reader_create(env, &read, &reader, why));
  for (int i = 0; i < 6; i++) {
    tn_discovery discovery;
    TN_TRY_TO(done, tn_enumerator_discover(e, &discovery, why));
  }
  for (int32_t r = 0; r < 2; r++) {
    TN_TRY_TO(done, tn_enumerator_request(e, r, tn_source_reader_splits(reader), &assignment, why));
  }
  for (int i = 0; i < 3; i++) {
    tn_batch_reset(env, &batch);
    TN_TRY_TO(done, tn_source_reader_next(reader, &batch, &where, &finished, why));
  }
  TN_TRY_TO(done, tn_stream_state_save(table, e, &reader, 1, 1, 1, &bytes, why));
  TN_TRY_TO(done, tn_enumerator_create(&options, &again, why));
  TN_TRY_TO(done, tn_stream_state_load(table, tn_buf_slice(&bytes), again, &rows, why));
done:
  tn_batch_reset(env, &batch);
  tn_source_reader_free(reader);
  tn_enumerator_free(e);
  tn_enumerator_free(again);
  tn_buf_reset(&bytes);
  return st;
}

static tarn_status torture_once(void *ctx, tarn_env *env, tarn_error *why) {
  tn_test_alloc *alloc = env->mem.hooks.ctx;
  int64_t fail_at = alloc->fail_at, calls = alloc->calls;
  stream_maker m;
  tn_table *table;
  tarn_status st;
  alloc->fail_at = 0;
  sm_begin_in(&m, env, KEYED, "", "k", "bucket=2");
  sm_commit(&m, "1|a;2|a;3|a;4|a");
  sm_overwrite(&m, "1|z");
  table = sm_table(&m, ctx);
  alloc->calls = calls;
  alloc->fail_at = fail_at;
  st = follow_once(table, env, why);
  alloc->fail_at = 0;
  tn_table_release(table);
  sm_end_in(&m);
  return st;
}

static void follow__runs_out_of_memory_anywhere(void **state) {
  (void)state;
  (void)tn_torture(torture_once, "scan.snapshot-id=1;streaming-read-overwrite=true", TARN_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(next__kinds_stay_as_they_were_written),
      cmocka_unit_test(checkpoint__goes_on_behind_any_row),
      cmocka_unit_test(next__skips_no_more_than_there_is),
      cmocka_unit_test(next__a_limit_counts_over_all_splits),
      cmocka_unit_test(take_back__gives_rows_again),
      cmocka_unit_test(state__goes_on_with_other_readers),
      cmocka_unit_test(state__that_is_none_is_refused),
      cmocka_unit_test(state__of_another_table_is_refused),
      cmocka_unit_test(follow__runs_out_of_memory_anywhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
