/* test_source_split.c - splits of streams in Java's bytes: those that Java wrote, ours again, and
 * any others. */
#include <string.h>

#include "plan/plan_internal.h"
#include "stream/source_split.h"
#include "stream_maker.h"
#include "support/files.h"

/* Of Flink with Paimon 1.4.2: PendingSplitsCheckpoint with one FileStoreSourceSplit "split-1" (an
 * empty DataSplit of version 8, 5 rows to skip) and next snapshot 7. */
static const char pending_hex[] =
    "00000001000001780007"
    "73706c69742d31aced0005737200286f72672e6170616368652e7061696d6f6e2e7461626c652e736f757263652e44"
    "61746153706c697400000000000000070300094900066275636b65745a000b697353747265616d696e675a000e7261"
    "77436f6e7665727469626c654a000a736e617073686f7449644c000a6275636b6574506174687400124c6a6176612f"
    "6c616e672f537472696e673b4c00116461746144656c6574696f6e46696c65737400104c6a6176612f7574696c2f4c"
    "6973743b4c00096461746146696c657371007e00024c0009706172746974696f6e7400224c6f72672f617061636865"
    "2f7061696d6f6e2f646174612f42696e617279526f773b4c000c746f74616c4275636b6574737400134c6a6176612f"
    "6c616e672f496e74656765723b78707742"
    "dec3d2302c19ec660000000800000000000000010000000c000000000000000000000000000000"
    "00000b2f742f6275636b65742d30000000000000000000000001007800000000000000050000000000000007";
static const char empty_hex[] = "00000000ffffffffffffffff";

static void decode_hex(stream_maker *m, const char *hex, tn_split_queue *queue, bool *has_next,
                       int64_t *next) {
  size_t n;
  uint8_t *bytes = tn_test_hex(hex, &n);
  tn_split_queue_init(queue, &m->w.tm.env->mem);
  OK(tn_pending_splits_decode(m->w.table, tn_slice_of(bytes, n), queue, has_next, next, err));
  free(bytes);
}

static void expect_bytes(stream_maker *m, const tn_split_queue *queue, bool has_next, int64_t next,
                         const char *hex) {
  size_t n;
  uint8_t *bytes = tn_test_hex(hex, &n);
  tn_buf out;
  tn_buf_init(&out, &m->w.tm.env->mem, 1 << 20);
  OK(tn_pending_splits_encode(queue, 1, has_next, next, &out, err));
  assert_int_equal(out.len, n);
  assert_memory_equal(out.data, bytes, n);
  tn_buf_reset(&out);
  free(bytes);
}

static void pending_splits__of_java_are_read_and_written_alike(void **state) {
  stream_maker m;
  tn_split_queue queue;
  tn_source_split *split;
  bool has_next;
  int64_t next;
  (void)state;
  sm_begin(&m, "0 k INT NOT NULL|1 v STRING", "", "k", "bucket=1");
  decode_hex(&m, pending_hex, &queue, &has_next, &next);
  assert_true(has_next);
  assert_int_equal(next, 7);
  assert_int_equal(queue.count, 1);
  split = tn_split_queue_at(&queue, 0);
  assert_string_equal(split->id, "split-1");
  assert_int_equal(split->rows_to_skip, 5);
  assert_int_equal(split->split->snapshot_id, 1);
  assert_string_equal(split->split->bucket_path, "/t/bucket-0");
  assert_true(split->split->is_streaming);
  expect_bytes(&m, &queue, true, 7, pending_hex);
  tn_split_queue_reset(&queue);
  decode_hex(&m, empty_hex, &queue, &has_next, &next);
  assert_false(has_next);
  assert_int_equal(queue.count, 0);
  expect_bytes(&m, &queue, false, 0, empty_hex);
  tn_split_queue_reset(&queue);
  sm_end(&m);
}

/* The splits of a step of a stream. */
static void take_plan(stream_maker *m, tn_table *table, int64_t next, tn_split_queue *queue) {
  tn_stream_scan *scan = sm_scan(m, table);
  tn_stream_outcome outcome;
  tn_plan *plan;
  tn_stream_scan_restore(scan, true, next, false);
  OK(tn_stream_scan_plan(scan, &outcome, &plan, err));
  assert_int_equal(outcome, TN_STREAM_PLANNED);
  tn_split_queue_init(queue, &m->w.tm.env->mem);
  for (int32_t i = 0; i < plan->n_splits; i++) {
    tn_source_split split = {.id = "abc-1", .split = &plan->splits[i], .rows_to_skip = i};
    split.plan = tn_plan_retain(plan);
    OK(tn_split_queue_push(queue, &split, err));
  }
  tn_plan_release(plan);
  tn_stream_scan_free(scan);
}

/* Splits with files, of several blocks and of overwrites, say the same after a round trip. */
static void pending_splits__read_the_same_rows_after_a_round_trip(void **state) {
  stream_maker m;
  tn_table *table;
  (void)state;
  sm_begin(&m, "0 p INT NOT NULL|1 k INT NOT NULL|2 v STRING", "p", "p,k", "bucket=2");
  sm_commit(&m, "1|1|a;1|2|b;2|3|c;2|4|d;2|5|e");
  sm_overwrite(&m, "1|1|z;3|9|y");
  table = sm_table(&m, "streaming-read-overwrite=true");
  for (int64_t id = 1; id <= 2; id++) {
    tn_split_queue queue, again;
    tn_source_reader *first = sm_reader(&m, table, 0), *second = sm_reader(&m, table, 0);
    tn_source_split split;
    tn_buf bytes;
    bool has_next;
    int64_t next;
    take_plan(&m, table, id, &queue);
    assert_true(queue.count > 1);
    tn_buf_init(&bytes, &m.w.tm.env->mem, 1 << 20);
    OK(tn_pending_splits_encode(&queue, 1, true, id, &bytes, err));
    tn_split_queue_init(&again, &m.w.tm.env->mem);
    OK(tn_pending_splits_decode(table, tn_buf_slice(&bytes), &again, &has_next, &next, err));
    assert_int_equal(again.count, queue.count);
    while (tn_split_queue_pop(&queue, &split)) {
      assert_int_equal(tn_split_queue_at(&again, 0)->rows_to_skip, split.rows_to_skip);
      split.rows_to_skip = 0;
      OK(tn_split_queue_push(tn_source_reader_splits(first), &split, err));
      assert_true(tn_split_queue_pop(&again, &split));
      split.rows_to_skip = 0;
      OK(tn_split_queue_push(tn_source_reader_splits(second), &split, err));
    }
    assert_string_equal(sm_read_all(&m, first), sm_read_all(&m, second));
    tn_source_reader_free(first);
    tn_source_reader_free(second);
    tn_split_queue_reset(&queue);
    tn_split_queue_reset(&again);
    tn_buf_reset(&bytes);
  }
  tn_table_release(table);
  sm_end(&m);
}

/* ------------------------------------------------------------------ bad bytes */

static tarn_status decode_bytes(stream_maker *m, const uint8_t *bytes, size_t n, tarn_error *err) {
  tn_split_queue queue;
  bool has_next;
  int64_t next;
  tarn_status st;
  tn_split_queue_init(&queue, &m->w.tm.env->mem);
  st = tn_pending_splits_decode(m->w.table, tn_slice_of(bytes, n), &queue, &has_next, &next, err);
  tn_split_queue_reset(&queue);
  return st;
}

static void pending_splits__cut_anywhere_are_corrupt(void **state) {
  stream_maker m;
  size_t n;
  uint8_t *bytes = tn_test_hex(pending_hex, &n);
  (void)state;
  sm_begin(&m, "0 k INT NOT NULL|1 v STRING", "", "k", "bucket=1");
  for (size_t i = 0; i < n; i++) {
    tarn_error error = {0};
    uint8_t *cut = malloc(i + 1);  // so that reading behind the end is found
    assert_non_null(cut);
    memcpy(cut, bytes, i);
    assert_int_equal(decode_bytes(&m, cut, i, &error), TARN_E_CORRUPT);
    assert_true(error.message[0] != '\0');
    free(cut);
  }
  free(bytes);
  sm_end(&m);
}

static void pending_splits__that_are_none_are_refused(void **state) {
  static const struct {
    size_t at; /* in pending_hex */
    uint8_t byte;
    tarn_status status;
    const char *message;
  } cases[] = {
      {17, 0xab, TARN_E_CORRUPT, "no stream of Java objects"},
      {21, 0x74, TARN_E_CORRUPT, "mark of an object is 0x74, expected 0x73"},
      {60, 'X', TARN_E_UNSUPPORTED, "a split of class org.apache.paimon.table.source.D"},
      {376, 0x80, TARN_E_CORRUPT, "rows to skip"},
      {384, 0x80, TARN_E_CORRUPT, "the next snapshot is"},
  };
  stream_maker m;
  (void)state;
  sm_begin(&m, "0 k INT NOT NULL|1 v STRING", "", "k", "bucket=1");
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    size_t n;
    uint8_t *bytes = tn_test_hex(pending_hex, &n);
    tarn_error error = {0};
    assert_true(cases[i].at < n);
    bytes[cases[i].at] = cases[i].byte;
    if (decode_bytes(&m, bytes, n, &error) != cases[i].status) {
      fail_msg("byte %zu: %s", cases[i].at, error.message);
    }
    assert_contains(error.message, cases[i].message);
    free(bytes);
  }
  sm_end(&m);
}

static void queue__gives_back_to_the_front(void **state) {
  stream_maker m;
  tn_split_queue queue;
  tn_source_split split = {.rows_to_skip = 0};
  (void)state;
  sm_begin(&m, "0 k INT NOT NULL|1 v STRING", "", "k", "bucket=1");
  tn_split_queue_init(&queue, &m.w.tm.env->mem);
  split.plan = tn_plan_new(m.w.tm.env, NULL);
  for (int i = 0; i < 40; i++) {  // it grows around its end
    split.rows_to_skip = i;
    (void)tn_plan_retain(split.plan);
    OK(i % 2 == 0 ? tn_split_queue_push(&queue, &split, err)
                  : tn_split_queue_push_front(&queue, &split, err));
  }
  tn_plan_release(split.plan);
  for (int i = 39; i >= 1; i -= 2) {
    assert_true(tn_split_queue_pop(&queue, &split));
    assert_int_equal(split.rows_to_skip, i);
    tn_source_split_reset(&split);
  }
  for (int i = 0; i < 40; i += 2) {
    assert_true(tn_split_queue_pop(&queue, &split));
    assert_int_equal(split.rows_to_skip, i);
    tn_source_split_reset(&split);
  }
  assert_false(tn_split_queue_pop(&queue, &split));
  tn_split_queue_reset(&queue);
  sm_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pending_splits__of_java_are_read_and_written_alike),
      cmocka_unit_test(pending_splits__read_the_same_rows_after_a_round_trip),
      cmocka_unit_test(pending_splits__cut_anywhere_are_corrupt),
      cmocka_unit_test(pending_splits__that_are_none_are_refused),
      cmocka_unit_test(queue__gives_back_to_the_front),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
