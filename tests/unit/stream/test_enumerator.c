/* test_enumerator.c - discovery, back-pressure, who gets which split, and what consumers are told.
 */
#include "stream/enumerator.h"
#include "stream_maker.h"

#define KEYED "0 k INT NOT NULL|1 v STRING"
#define PARTED "0 p INT NOT NULL|1 k INT NOT NULL|2 v STRING"

static tn_enumerator *open_enumerator(tn_table *table, int32_t n_readers) {
  const tn_enumerator_options options = {.scan = {.table = table}, .n_readers = n_readers};
  tn_enumerator *e = NULL;
  OK(tn_enumerator_create(&options, &e, err));
  return e;
}

/* Snapshots and buckets of what a reader is given: "1/b0 1/b2", or "later", "never". */
static const char *request(stream_maker *m, tn_enumerator *e, int32_t reader) {
  tn_split_queue queue;
  tn_source_split split;
  tn_assignment assignment;
  tn_buf text;
  tn_buf_init(&text, &m->w.tm.env->mem, 1 << 20);
  tn_split_queue_init(&queue, &m->w.tm.env->mem);
  OK(tn_enumerator_request(e, reader, &queue, &assignment, err));
  assert_int_equal(assignment == TN_ASSIGNED, queue.count > 0);
  if (queue.count == 0) {
    OK(tn_buf_text(&text, assignment == TN_ASSIGN_NEVER ? "never" : "later", err));
  }
  while (tn_split_queue_pop(&queue, &split)) {
    OK(tn_buf_printf(&text, err, "%s%lld/b%d", text.len > 0 ? " " : "",
                     (long long)split.split->snapshot_id, (int)split.split->bucket));
    tn_source_split_reset(&split);
  }
  tn_split_queue_reset(&queue);
  return sm_keep(m, &text);
}

static tn_discovery discover(tn_enumerator *e) {
  tn_discovery out;
  OK(tn_enumerator_discover(e, &out, err));
  return out;
}

/* What the consumer's file says; 0: there is none. */
static int64_t consumer(stream_maker *m) {
  tn_consumer *all;
  int32_t n;
  OK(tn_consumer_list(m->w.tm.env, m->w.tm.storage, "/t", &m->w.tm.arena, &all, &n, err));
  assert_true(n <= 1);
  return n == 1 ? all[0].next_snapshot : 0;
}

static void checkpoint(stream_maker *m, tn_enumerator *e, int64_t id) {
  tn_buf bytes;
  tn_buf_init(&bytes, &m->w.tm.env->mem, 1 << 20);
  OK(tn_enumerator_checkpoint(e, id, &bytes, err));
  tn_buf_reset(&bytes);
}

/* ------------------------------------------------------------------ assignment */

static void request__one_bucket_goes_to_one_reader(void **state) {
  stream_maker m;
  tn_enumerator *e;
  tn_table *table;
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=4");
  sm_commit(&m, "1|a;2|a;3|a;4|a;5|a;6|a;7|a;8|a");
  sm_commit(&m, "1|b;2|b;3|b;4|b;5|b;6|b;7|b;8|b");
  table = sm_table(&m, "scan.snapshot-id=1;read.shuffle-bucket-with-partition=false");
  e = open_enumerator(table, 2);
  assert_int_equal(discover(e), TN_DISCOVERED_SPLITS);  // finds the start
  assert_int_equal(discover(e), TN_DISCOVERED_SPLITS);
  assert_int_equal(discover(e), TN_DISCOVERED_SPLITS);
  assert_int_equal(discover(e), TN_DISCOVERED_NOTHING);
  assert_string_equal(request(&m, e, 1), "1/b1 1/b3 2/b1 2/b3");
  assert_string_equal(request(&m, e, 0), "1/b2 1/b0 2/b2 2/b0");
  assert_string_equal(request(&m, e, 0), "later");
  tn_enumerator_free(e);
  tn_table_release(table);
  sm_end(&m);
}

static void request__partitions_shuffle_buckets(void **state) {
  stream_maker m;
  tn_enumerator *e;
  tn_table *table;
  const char *first, *second;
  (void)state;
  sm_begin(&m, PARTED, "p", "p,k", "bucket=1");
  sm_commit(&m, "1|1|a;2|1|a;3|1|a;4|1|a;5|1|a;6|1|a");
  table = sm_table(&m, "scan.snapshot-id=1");
  e = open_enumerator(table, 2);
  first = request(&m, e, 0);  // plans by itself, as nobody did
  assert_string_equal(first, "later");
  assert_int_equal(discover(e), TN_DISCOVERED_SPLITS);
  first = request(&m, e, 0);
  second = request(&m, e, 1);
  // Of one bucket in each of six partitions both readers have some.
  assert_int_equal(strlen(first) + strlen(second), 6 * 5 - 2);  // "1/b0" and a blank between
  assert_true(strlen(first) >= 4 && strlen(second) >= 4);
  tn_enumerator_free(e);
  tn_table_release(table);
  sm_end(&m);
}

static void request__without_order_takes_one_split_of_a_common_queue(void **state) {
  stream_maker m;
  tn_enumerator *e;
  tn_table *table;
  (void)state;
  sm_begin(&m, PARTED, "p", "", "bucket=-1");
  sm_commit(&m, "1|1|a;2|1|a;3|1|a");
  table = sm_table(&m, "scan.snapshot-id=1");
  e = open_enumerator(table, 2);
  (void)discover(e);
  (void)discover(e);
  assert_int_equal(tn_enumerator_pending(e), 3);
  assert_string_equal(request(&m, e, 1), "1/b0");
  assert_string_equal(request(&m, e, 1), "1/b0");
  assert_string_equal(request(&m, e, 0), "1/b0");
  assert_int_equal(tn_enumerator_pending(e), 0);
  tn_enumerator_free(e);
  tn_table_release(table);
  sm_end(&m);
}

static void request__plans_at_once_until_nothing_is_there(void **state) {
  stream_maker m;
  tn_enumerator *e;
  tn_table *table;
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=1");
  sm_commit(&m, "1|a");
  table = sm_table(&m, "scan.snapshot-id=1;scan.bounded.watermark=5");
  e = open_enumerator(table, 1);
  assert_string_equal(request(&m, e, 0), "later");  // found the start
  assert_string_equal(request(&m, e, 0), "1/b0");
  assert_string_equal(request(&m, e, 0), "later");
  sm_commit(&m, "2|a");
  // It waits for a discovery now, and does not look by itself.
  assert_string_equal(request(&m, e, 0), "later");
  assert_int_equal(discover(e), TN_DISCOVERED_SPLITS);
  assert_string_equal(request(&m, e, 0), "2/b0");
  sm_commit_at(&m, "3|a", 6);
  (void)discover(e);
  assert_string_equal(request(&m, e, 0), "never");
  assert_true(tn_enumerator_has_ended(e));
  tn_enumerator_free(e);
  tn_table_release(table);
  sm_end(&m);
}

static void add_back__comes_first_again(void **state) {
  stream_maker m;
  tn_enumerator *e;
  tn_table *table;
  tn_split_queue queue;
  tn_assignment assignment;
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=1");
  for (int i = 0; i < 4; i++) {
    sm_commit(&m, "1|a");
  }
  table = sm_table(&m, "scan.snapshot-id=1;scan.max-splits-per-task=3");
  e = open_enumerator(table, 1);
  while (discover(e) == TN_DISCOVERED_SPLITS) {
  }
  tn_split_queue_init(&queue, &m.w.tm.env->mem);
  OK(tn_enumerator_request(e, 0, &queue, &assignment, err));
  assert_int_equal(queue.count, 3);
  OK(tn_enumerator_add_back(e, 0, &queue, err));
  assert_int_equal(queue.count, 0);
  (void)discover(e);
  assert_string_equal(request(&m, e, 0), "1/b0 2/b0 3/b0");
  assert_string_equal(request(&m, e, 0), "4/b0");
  tn_split_queue_reset(&queue);
  tn_enumerator_free(e);
  tn_table_release(table);
  sm_end(&m);
}

/* ------------------------------------------------------------------ back-pressure */

static void discover__stops_while_enough_is_pending(void **state) {
  stream_maker m;
  tn_enumerator *e;
  tn_table *table;
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=1");
  for (int i = 0; i < 6; i++) {
    sm_commit(&m, "1|a");
  }
  table = sm_table(&m, "scan.snapshot-id=1;scan.max-splits-per-task=2");
  e = open_enumerator(table, 1);
  assert_int_equal(discover(e), TN_DISCOVERED_SPLITS);
  assert_int_equal(discover(e), TN_DISCOVERED_SPLITS);
  assert_int_equal(discover(e), TN_DISCOVERED_SPLITS);
  assert_int_equal(discover(e), TN_DISCOVERY_PAUSED);
  assert_int_equal(tn_enumerator_pending(e), 2);
  assert_string_equal(request(&m, e, 0), "1/b0 2/b0");
  assert_int_equal(discover(e), TN_DISCOVERED_SPLITS);
  tn_enumerator_free(e);
  tn_table_release(table);
  sm_end(&m);
}

static void discover__stops_after_so_many_snapshots_of_a_checkpoint(void **state) {
  stream_maker m;
  tn_enumerator *e;
  tn_table *table;
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=1");
  for (int i = 0; i < 5; i++) {
    sm_commit(&m, "1|a");
  }
  table = sm_table(&m, "scan.snapshot-id=1;scan.max-snapshot.count=2");
  e = open_enumerator(table, 1);
  while (discover(e) == TN_DISCOVERED_SPLITS) {
  }
  assert_int_equal(tn_enumerator_pending(e), 2);
  assert_string_equal(request(&m, e, 0), "1/b0 2/b0");
  assert_int_equal(discover(e), TN_DISCOVERY_PAUSED);
  checkpoint(&m, e, 1);
  OK(tn_enumerator_complete(e, 1, err));
  assert_int_equal(discover(e), TN_DISCOVERED_SPLITS);
  tn_enumerator_free(e);
  tn_table_release(table);
  sm_end(&m);
}

/* ------------------------------------------------------------------ checkpoints */

static void restore__deals_out_to_any_number_of_readers(void **state) {
  stream_maker m;
  tn_enumerator *e;
  tn_table *table;
  tn_split_queue held;
  tn_assignment assignment;
  tn_buf bytes;
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=4");
  sm_commit(&m, "1|a;2|a;3|a;4|a;5|a;6|a;7|a;8|a");
  sm_commit(&m, "1|b;2|b;3|b;4|b;5|b;6|b;7|b;8|b");
  table = sm_table(&m, "scan.snapshot-id=1;read.shuffle-bucket-with-partition=false");
  e = open_enumerator(table, 2);
  (void)discover(e);
  (void)discover(e);
  tn_split_queue_init(&held, &m.w.tm.env->mem);
  OK(tn_enumerator_request(e, 1, &held, &assignment, err));  // 1/b1 1/b3
  (void)discover(e);
  tn_buf_init(&bytes, &m.w.tm.env->mem, 1 << 20);
  OK(tn_enumerator_checkpoint(e, 1, &bytes, err));
  tn_enumerator_free(e);
  for (int32_t n = 1; n <= 3; n += 2) {
    tn_split_queue again;
    tn_source_split split;
    e = open_enumerator(table, n);
    tn_split_queue_init(&again, &m.w.tm.env->mem);
    for (size_t i = 0; i < held.count; i++) {
      split = *tn_split_queue_at(&held, i);
      (void)tn_plan_retain(split.plan);
      OK(tn_split_queue_push(&again, &split, err));
    }
    OK(tn_enumerator_restore(e, tn_buf_slice(&bytes), &again, err));
    if (n == 1) {
      // What a reader had comes first; of each bucket the snapshots are in order.
      assert_string_equal(request(&m, e, 0), "1/b1 1/b3 1/b2 1/b0 2/b2 2/b0 2/b1 2/b3");
    } else {
      assert_string_equal(request(&m, e, 0), "1/b3 1/b0 2/b0 2/b3");
      assert_string_equal(request(&m, e, 1), "1/b1 2/b1");
      assert_string_equal(request(&m, e, 2), "1/b2 2/b2");
    }
    sm_commit(&m, "1|c");  // and it goes on behind snapshot 2
    (void)discover(e);
    assert_true(tn_enumerator_pending(e) > 0);
    tn_split_queue_reset(&again);
    tn_enumerator_free(e);
  }
  tn_split_queue_reset(&held);
  tn_buf_reset(&bytes);
  tn_table_release(table);
  sm_end(&m);
}

static void expect_state_error(stream_maker *m, tn_enumerator *e, const char *message) {
  tarn_error error = {0};
  tn_buf bytes;
  tn_buf_init(&bytes, &m->w.tm.env->mem, 1 << 20);
  assert_int_equal(tn_enumerator_checkpoint(e, 1, &bytes, &error), TARN_E_STATE);
  assert_contains(error.message, message);
  tn_buf_reset(&bytes);
}

static void checkpoint__aligned_holds_one_snapshot(void **state) {
  stream_maker m;
  tn_enumerator *e;
  tn_table *table;
  int64_t id, timeout_ms;
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=1");
  sm_commit(&m, "1|a");
  sm_commit(&m, "1|b");
  table = sm_table(&m, "scan.snapshot-id=1;source.checkpoint-align.enabled=true");
  e = open_enumerator(table, 1);
  assert_true(tn_enumerator_is_aligned(e, &timeout_ms));
  assert_int_equal(timeout_ms, 30000);
  expect_state_error(&m, e, "no snapshot was read since the one before");
  assert_int_equal(discover(e), TN_DISCOVERED_SPLITS);  // finds the start
  assert_false(tn_enumerator_aligned(e, &id));
  assert_int_equal(discover(e), TN_DISCOVERED_SPLITS);
  assert_true(tn_enumerator_aligned(e, &id));
  assert_int_equal(id, 1);
  assert_int_equal(discover(e), TN_DISCOVERY_PAUSED);
  expect_state_error(&m, e, "snapshot 1 is not read yet: 1 splits wait, 0 are being read");
  assert_string_equal(request(&m, e, 0), "1/b0");
  expect_state_error(&m, e, "0 splits wait, 1 are being read");
  tn_enumerator_finished(e, 0, 1);
  assert_string_equal(request(&m, e, 0), "later");
  checkpoint(&m, e, 1);
  assert_int_equal(discover(e), TN_DISCOVERED_SPLITS);
  assert_true(tn_enumerator_aligned(e, &id));
  assert_int_equal(id, 2);
  tn_enumerator_free(e);
  tn_table_release(table);
  sm_end(&m);
}

/* ------------------------------------------------------------------ consumers */

static void complete__tells_the_least_of_all_readers(void **state) {
  stream_maker m;
  tn_enumerator *e;
  tn_table *table;
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=2");
  sm_commit(&m, "1|a;2|a;3|a;4|a;5|a;6|a");
  sm_commit(&m, "1|b;2|b;3|b;4|b;5|b;6|b");
  table = sm_table(&m,
                   "scan.snapshot-id=1;consumer-id=c;consumer.expiration-time=1 d;"
                   "read.shuffle-bucket-with-partition=false");
  e = open_enumerator(table, 2);
  checkpoint(&m, e, 1);  // nothing is known yet
  OK(tn_enumerator_complete(e, 1, err));
  assert_int_equal(consumer(&m), 0);
  while (discover(e) == TN_DISCOVERED_SPLITS) {
  }
  assert_string_equal(request(&m, e, 0), "1/b0 2/b0");
  assert_string_equal(request(&m, e, 1), "1/b1 2/b1");
  checkpoint(&m, e, 2);  // both read snapshot 1
  tn_enumerator_finished(e, 0, 2);
  checkpoint(&m, e, 3);  // the second one still does
  tn_enumerator_finished(e, 1, 1);
  checkpoint(&m, e, 4);  // that one reads snapshot 2
  OK(tn_enumerator_complete(e, 2, err));
  assert_int_equal(consumer(&m), 1);
  OK(tn_enumerator_complete(e, 4, err));  // 3 and 4 at once
  assert_int_equal(consumer(&m), 2);
  tn_enumerator_finished(e, 1, 1);
  checkpoint(&m, e, 5);
  OK(tn_enumerator_complete(e, 5, err));
  assert_int_equal(consumer(&m), 3);
  tn_enumerator_free(e);
  tn_table_release(table);
  sm_end(&m);
}

/* Two readers have snapshots 2 and 1; one reader takes over what both have, the newer part first.
 */
static void complete__tells_what_waits_behind_newer_splits(void **state) {
  static const char *const modes[] = {"exactly-once", "at-least-once"};
  (void)state;
  for (int i = 0; i < 2; i++) {
    stream_maker m;
    tn_enumerator *e;
    tn_table *table;
    tn_split_queue held;
    tn_assignment assignment;
    tn_source_split split;
    tn_buf bytes, options;
    sm_begin(&m, KEYED, "", "k", "bucket=2");
    sm_commit(&m, "1|a;2|a;3|a;4|a;5|a;6|a");
    sm_commit(&m, "1|b;2|b;3|b;4|b;5|b;6|b");
    tn_buf_init(&options, &m.w.tm.env->mem, 1 << 20);
    OK(tn_buf_printf(&options, err,
                     "scan.snapshot-id=1;consumer-id=c;consumer.expiration-time=1 d;"
                     "consumer.mode=%s;scan.max-splits-per-task=2;"
                     "read.shuffle-bucket-with-partition=false",
                     modes[i]));
    table = sm_table(&m, sm_keep(&m, &options));
    e = open_enumerator(table, 2);
    while (discover(e) == TN_DISCOVERED_SPLITS) {
    }
    tn_split_queue_init(&held, &m.w.tm.env->mem);
    OK(tn_enumerator_request(e, 0, &held, &assignment, err));  // 1/b0 2/b0
    assert_true(tn_split_queue_pop(&held, &split));            // it is through with the first
    tn_source_split_reset(&split);
    OK(tn_enumerator_request(e, 1, &held, &assignment, err));  // 1/b1 2/b1
    tn_buf_init(&bytes, &m.w.tm.env->mem, 1 << 20);
    OK(tn_enumerator_checkpoint(e, 1, &bytes, err));
    tn_enumerator_free(e);
    e = open_enumerator(table, 1);
    OK(tn_enumerator_restore(e, tn_buf_slice(&bytes), &held, err));
    checkpoint(&m, e, 2);
    assert_string_equal(request(&m, e, 0), "2/b0 1/b1");
    checkpoint(&m, e, 3);
    tn_enumerator_finished(e, 0, 1);
    checkpoint(&m, e, 4);
    OK(tn_enumerator_complete(e, 2, err));
    assert_int_equal(consumer(&m), i == 0 ? 1 : 0);
    OK(tn_enumerator_complete(e, 3, err));
    assert_int_equal(consumer(&m), 1);
    OK(tn_enumerator_complete(e, 4, err));
    assert_int_equal(consumer(&m), 1);
    tn_split_queue_reset(&held);
    tn_buf_reset(&bytes);
    tn_enumerator_free(e);
    tn_table_release(table);
    sm_end(&m);
  }
}

static void complete__at_least_once_tells_what_is_being_read(void **state) {
  stream_maker m;
  tn_enumerator *e;
  tn_table *table;
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=1");
  sm_commit(&m, "1|a");
  sm_commit(&m, "1|b");
  table = sm_table(&m,
                   "scan.snapshot-id=1;consumer-id=c;consumer.expiration-time=1 d;"
                   "consumer.mode=at-least-once;scan.max-splits-per-task=1");
  e = open_enumerator(table, 1);
  (void)discover(e);
  (void)discover(e);
  checkpoint(&m, e, 1);  // the reader has not said anything
  OK(tn_enumerator_complete(e, 1, err));
  assert_int_equal(consumer(&m), 0);
  assert_string_equal(request(&m, e, 0), "1/b0");
  tn_enumerator_finished(e, 0, 1);
  checkpoint(&m, e, 2);  // through with it, but it has not asked for more
  OK(tn_enumerator_complete(e, 2, err));
  assert_int_equal(consumer(&m), 1);
  (void)discover(e);
  assert_string_equal(request(&m, e, 0), "2/b0");
  checkpoint(&m, e, 3);
  OK(tn_enumerator_complete(e, 3, err));
  assert_int_equal(consumer(&m), 2);
  tn_enumerator_finished(e, 0, 1);
  assert_string_equal(request(&m, e, 0), "later");  // it waits: nothing of 2 is left
  checkpoint(&m, e, 4);
  OK(tn_enumerator_complete(e, 4, err));
  assert_int_equal(consumer(&m), 3);
  tn_enumerator_free(e);
  tn_table_release(table);
  sm_end(&m);
}

static void create__checks_its_options(void **state) {
  stream_maker m;
  tn_enumerator *e = NULL;
  tn_enumerator_options options = {.n_readers = 0};
  tarn_error error = {0};
  (void)state;
  sm_begin(&m, KEYED, "", "k", "bucket=3");
  options.scan.table = m.w.table;
  assert_int_equal(tn_enumerator_create(&options, &e, &error), TARN_E_INVALID);
  assert_contains(error.message, "0 readers");
  e = open_enumerator(m.w.table, 1);
  assert_int_equal(tn_enumerator_max_readers(e), 3);
  tn_enumerator_free(e);
  sm_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(request__one_bucket_goes_to_one_reader),
      cmocka_unit_test(request__partitions_shuffle_buckets),
      cmocka_unit_test(request__without_order_takes_one_split_of_a_common_queue),
      cmocka_unit_test(request__plans_at_once_until_nothing_is_there),
      cmocka_unit_test(add_back__comes_first_again),
      cmocka_unit_test(discover__stops_while_enough_is_pending),
      cmocka_unit_test(discover__stops_after_so_many_snapshots_of_a_checkpoint),
      cmocka_unit_test(restore__deals_out_to_any_number_of_readers),
      cmocka_unit_test(checkpoint__aligned_holds_one_snapshot),
      cmocka_unit_test(complete__tells_the_least_of_all_readers),
      cmocka_unit_test(complete__tells_what_waits_behind_newer_splits),
      cmocka_unit_test(complete__at_least_once_tells_what_is_being_read),
      cmocka_unit_test(create__checks_its_options),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
