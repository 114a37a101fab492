/* test_stream_api.c - streams through the public calls, on real folders: readers here and
 * elsewhere, checkpoints, waiting, lag, plans by hand. */
#include <pthread.h>

#include "support/files.h"
#include "support/test.h"
#include "tarn/tarn.h"

typedef struct fixture {
  char *folder;
  tarn_env *env;
  tarn_catalog *catalog;
  tarn_table *table;
  tarn_scan *scan;
  tarn_writer *writer;
  tarn_committer *committer;
  int64_t id; /* of the next commit */
  tarn_error err;
} fixture;

static const char *const keyed =
    "{\"fields\":[{\"name\":\"k\",\"type\":\"INT NOT NULL\"},{\"name\":\"v\",\"type\":\"INT\"}],"
    "\"primaryKeys\":[\"k\"],\"options\":{\"bucket\":\"4\",\"consumer.expiration-time\":\"1 d\"}}";

static void open_scan(fixture *f, const tarn_option *options, size_t n) {
  tarn_scan_options o = TARN_SCAN_OPTIONS_INIT;
  tarn_scan_free(f->scan);
  tarn_table_free(f->table);
  o.with_row_kind = 1;
  assert_works(tarn_table_open(f->env, f->catalog, "db.t", options, n, &f->table, &f->err), f->err);
  assert_works(tarn_scan_create(f->table, &o, &f->scan, &f->err), f->err);
}

static const tarn_option from_1[] = {{"scan.mode", "from-timestamp"},
                                     {"scan.timestamp-millis", "0"}};

static void begin(fixture *f) {
  memset(f, 0, sizeof(*f));
  f->folder = tn_test_temp_dir();
  assert_works(tarn_env_create(NULL, &f->env, &f->err), f->err);
  assert_works(tarn_catalog_open(f->env, f->folder, &f->catalog, &f->err), f->err);
  assert_works(tarn_database_create(f->catalog, "db", &f->err), f->err);
  assert_works(tarn_table_create(f->catalog, "db.t", keyed, &f->err), f->err);
  open_scan(f, from_1, 2);
  assert_works(tarn_writer_create(f->table, NULL, &f->writer, &f->err), f->err);
  assert_works(tarn_committer_create(f->table, NULL, &f->committer, &f->err), f->err);
}

static void end(fixture *f) {
  tarn_committer_free(f->committer);
  tarn_writer_free(f->writer);
  tarn_scan_free(f->scan);
  tarn_table_free(f->table);
  tarn_catalog_free(f->catalog);
  tarn_env_free(f->env);
  tn_test_temp_dir_remove(f->folder);
}

static void keep_schema(struct ArrowSchema *schema) {
  (void)schema;
}

static void keep_array(struct ArrowArray *array) {
  (void)array;
}

/* Commit the keys [first, first + n) with a value. */
static void commit(fixture *f, int32_t first, int32_t n, int32_t value) {
  int32_t k[64], v[64];
  const void *k_buffers[] = {NULL, k}, *v_buffers[] = {NULL, v}, *none[] = {NULL};
  struct ArrowArray columns[2] = {
      {.length = n, .n_buffers = 2, .buffers = k_buffers, .release = keep_array},
      {.length = n, .n_buffers = 2, .buffers = v_buffers, .release = keep_array}};
  struct ArrowArray *children[] = {&columns[0], &columns[1]};
  struct ArrowArray array = {.length = n,
                             .n_buffers = 1,
                             .buffers = none,
                             .n_children = 2,
                             .children = children,
                             .release = keep_array};
  struct ArrowSchema fields[2] = {{.format = "i", .name = "k", .release = keep_schema},
                                  {.format = "i", .name = "v", .release = keep_schema}};
  struct ArrowSchema *field_list[] = {&fields[0], &fields[1]};
  struct ArrowSchema schema = {
      .format = "+s", .name = "", .n_children = 2, .children = field_list, .release = keep_schema};
  tarn_messages *messages;
  assert_true(n <= 64);
  for (int32_t i = 0; i < n; i++) {
    k[i] = first + i;
    v[i] = value;
  }
  assert_works(tarn_writer_write(f->writer, &schema, &array, &f->err), f->err);
  assert_works(tarn_writer_prepare(f->writer, ++f->id, &messages, &f->err), f->err);
  assert_works(tarn_committer_commit(f->committer, f->id, messages, NULL, NULL, &f->err), f->err);
  tarn_messages_free(messages);
}

static tarn_stream *open_stream(fixture *f, int32_t n_readers) {
  tarn_stream_options o = TARN_STREAM_OPTIONS_INIT;
  tarn_stream *stream;
  o.n_readers = n_readers;
  o.with_snapshot = 1;
  assert_works(tarn_stream_create(f->scan, &o, &stream, &f->err), f->err);
  return stream;
}

/* How often each key came, and the last value of it. */
typedef struct tally {
  int32_t times[256], last[256];
  int64_t rows, batches;
} tally;

static void count_batch(tally *t, struct ArrowArray *array) {
  // _row_kind, _snapshot, k, v
  const int32_t *k = array->children[2]->buffers[1], *v = array->children[3]->buffers[1];
  assert_int_equal(array->n_children, 4);
  for (int64_t i = 0; i < array->length; i++) {
    assert_true(k[i] >= 0 && k[i] < 256);
    t->times[k[i]]++;
    assert_true(v[i] >= t->last[k[i]]);  // rows of a key come in order
    t->last[k[i]] = v[i];
  }
  t->rows += array->length;
  t->batches++;
  array->release(array);
}

/* All that there is now, or max_batches of it. */
static bool read_all(tarn_stream_reader *reader, tally *t, int64_t max_batches, tarn_error *err) {
  for (int64_t i = 0; i < max_batches; i++) {
    tarn_stream_batch batch = TARN_STREAM_BATCH_INIT;
    struct ArrowArray array;
    assert_works(tarn_stream_reader_next(reader, &array, &batch, err), *err);
    if (array.release == NULL) {
      return batch.has_ended;
    }
    count_batch(t, &array);
  }
  return false;
}

static void expect_each(const tally *t, int32_t first, int32_t n, int32_t times) {
  for (int32_t k = first; k < first + n; k++) {
    assert_int_equal(t->times[k], times);
  }
}

/* ------------------------------------------------------------------ readers here */

static void reader__two_readers_share_the_rows(void **state) {
  fixture f;
  tarn_stream *stream;
  tarn_stream_reader *readers[2], *third;
  tally t = {.rows = 0}, own[2] = {{.rows = 0}, {.rows = 0}};
  (void)state;
  begin(&f);
  commit(&f, 0, 40, 1);
  commit(&f, 0, 40, 2);
  stream = open_stream(&f, 2);
  assert_int_equal(tarn_stream_max_readers(stream), 4);
  for (int32_t i = 0; i < 2; i++) {
    assert_works(tarn_stream_reader_create(stream, i, &readers[i], &f.err), f.err);
  }
  for (int round = 0; round < 3; round++) {
    for (int32_t i = 0; i < 2; i++) {
      (void)read_all(readers[i], &own[i], 1000, &f.err);
    }
  }
  for (int32_t k = 0; k < 40; k++) {
    assert_true(own[0].times[k] == 0 || own[1].times[k] == 0);  // a key has one reader
    t.times[k] = own[0].times[k] + own[1].times[k];
  }
  expect_each(&t, 0, 40, 2);
  assert_true(own[0].rows > 0 && own[1].rows > 0);
  assert_int_equal(tarn_stream_reader_create(stream, 1, &third, &f.err), TARN_E_INVALID);
  assert_int_equal(tarn_stream_position(stream), 3);
  tarn_stream_reader_free(readers[1]);
  assert_works(tarn_stream_reader_create(stream, 1, &readers[1], &f.err), f.err);
  (void)read_all(readers[1], &own[1], 1000, &f.err);
  assert_int_equal(own[0].rows + own[1].rows, 80);  // what was read does not come again
  tarn_stream_reader_free(readers[0]);
  tarn_stream_reader_free(readers[1]);
  tarn_stream_free(stream);
  end(&f);
}

typedef struct worker {
  tarn_stream_reader *reader;
  int64_t rows;
} worker;

static void *work(void *ctx) {
  worker *w = ctx;
  for (;;) {
    tarn_stream_batch batch = TARN_STREAM_BATCH_INIT;
    struct ArrowArray array;
    tarn_error err;
    require_in_thread(tarn_stream_reader_next(w->reader, &array, &batch, &err) == TARN_OK);
    if (array.release == NULL && batch.has_ended) {
      return NULL;
    }
    if (array.release != NULL) {
      w->rows += array.length;
      array.release(&array);
    }
  }
}

static void reader__work_on_threads_of_their_own(void **state) {
  static const tarn_option bounded[] = {{"scan.mode", "from-timestamp"},
                                        {"scan.timestamp-millis", "0"}};
  tarn_stream_options o = TARN_STREAM_OPTIONS_INIT;
  fixture f;
  tarn_stream *stream;
  worker workers[3];
  pthread_t threads[3];
  int64_t rows = 0;
  (void)state;
  begin(&f);
  for (int32_t i = 0; i < 20; i++) {
    commit(&f, 0, 40, i);
  }
  open_scan(&f, bounded, 2);
  o.n_readers = 3;
  o.max_plans = 21;  // so that it ends
  assert_works(tarn_stream_create(f.scan, &o, &stream, &f.err), f.err);
  for (int32_t i = 0; i < 3; i++) {
    workers[i] = (worker){.rows = 0};
    assert_works(tarn_stream_reader_create(stream, i, &workers[i].reader, &f.err), f.err);
  }
  for (int i = 0; i < 3; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
  }
  for (int i = 0; i < 3; i++) {
    pthread_join(threads[i], NULL);
    rows += workers[i].rows;
    tarn_stream_reader_free(workers[i].reader);
  }
  assert_int_equal(rows, 20 * 40);
  tarn_stream_free(stream);
  end(&f);
}

/* ------------------------------------------------------------------ checkpoints */

static void restore__every_row_once_with_any_number_of_readers(void **state) {
  fixture f;
  (void)state;
  begin(&f);
  for (int32_t i = 0; i < 3; i++) {
    commit(&f, 0, 40, i);
  }
  for (int64_t n_batches = 0; n_batches <= 12; n_batches += 3) {
    for (int32_t n_readers = 1; n_readers <= 3; n_readers++) {
      tarn_stream *stream = open_stream(&f, 2);
      tarn_stream_reader *readers[3];
      tarn_string bytes;
      tally t = {.rows = 0};
      int64_t rows = 0;
      for (int32_t i = 0; i < 2; i++) {
        assert_works(tarn_stream_reader_create(stream, i, &readers[i], &f.err), f.err);
        (void)read_all(readers[i], &t, n_batches, &f.err);
      }
      assert_works(tarn_stream_checkpoint(stream, 1, t.rows, &bytes, &f.err), f.err);
      tarn_stream_reader_free(readers[0]);
      tarn_stream_reader_free(readers[1]);
      tarn_stream_free(stream);
      stream = open_stream(&f, n_readers);
      assert_works(tarn_stream_restore(stream, bytes.data, bytes.length, &rows, &f.err), f.err);
      assert_int_equal(rows, t.rows);
      for (int32_t i = 0; i < n_readers; i++) {
        assert_works(tarn_stream_reader_create(stream, i, &readers[i], &f.err), f.err);
      }
      for (int round = 0; round < 8; round++) {
        for (int32_t i = 0; i < n_readers; i++) {
          (void)read_all(readers[i], &t, 1000, &f.err);
        }
      }
      expect_each(&t, 0, 40, 3);
      for (int32_t i = 0; i < n_readers; i++) {
        tarn_stream_reader_free(readers[i]);
      }
      tarn_stream_free(stream);
      tarn_string_free(&bytes);
    }
  }
  end(&f);
}

static void restore__comes_before_readers(void **state) {
  fixture f;
  tarn_stream *stream;
  tarn_stream_reader *reader;
  (void)state;
  begin(&f);
  stream = open_stream(&f, 1);
  assert_works(tarn_stream_reader_create(stream, 0, &reader, &f.err), f.err);
  assert_int_equal(tarn_stream_restore(stream, "x", 1, NULL, &f.err), TARN_E_STATE);
  tarn_stream_reader_free(reader);
  assert_int_equal(tarn_stream_restore(stream, "x", 1, NULL, &f.err), TARN_E_CORRUPT);
  tarn_stream_free(stream);
  end(&f);
}

/* ------------------------------------------------------------------ readers elsewhere */

static void assign__readers_elsewhere_are_fed_with_bytes(void **state) {
  fixture f;
  tarn_stream *stream;
  tarn_stream_options o = TARN_STREAM_OPTIONS_INIT;
  tarn_stream_reader *reader;
  tarn_string bytes, left;
  tally t = {.rows = 0};
  int64_t n, given = 0;
  int32_t ended, more = 1;
  (void)state;
  begin(&f);
  for (int32_t i = 0; i < 3; i++) {
    commit(&f, 0, 40, i);
  }
  stream = open_stream(&f, 1);
  o.with_snapshot = 1;
  while (more) {
    assert_works(tarn_stream_discover(stream, &more, &f.err), f.err);
  }
  // It takes a first assignment, reads one batch of it, and fails.
  assert_works(tarn_stream_reader_open(f.scan, &o, &reader, &f.err), f.err);
  assert_works(tarn_stream_assign(stream, 0, &bytes, &n, &ended, &f.err), f.err);
  assert_int_equal(n, 10);
  assert_works(tarn_stream_reader_add(reader, bytes.data, bytes.length, &f.err), f.err);
  tarn_string_free(&bytes);
  (void)read_all(reader, &t, 2, &f.err);
  given = tarn_stream_reader_take_finished(reader);
  assert_int_equal(given, 1);
  assert_int_equal(tarn_stream_reader_take_finished(reader), 0);
  assert_works(tarn_stream_finished(stream, 0, given, &f.err), f.err);
  assert_works(tarn_stream_reader_checkpoint(reader, &left, &f.err), f.err);
  tarn_stream_reader_free(reader);
  assert_works(tarn_stream_add_back(stream, 0, left.data, left.length, &f.err), f.err);
  tarn_string_free(&left);
  // Another one goes on with all the rest.
  assert_works(tarn_stream_reader_open(f.scan, &o, &reader, &f.err), f.err);
  do {
    assert_works(tarn_stream_assign(stream, 0, &bytes, &n, &ended, &f.err), f.err);
    assert_works(tarn_stream_reader_add(reader, bytes.data, bytes.length, &f.err), f.err);
    tarn_string_free(&bytes);
    (void)read_all(reader, &t, 1000, &f.err);
    assert_works(tarn_stream_finished(stream, 0, tarn_stream_reader_take_finished(reader), &f.err),
                 f.err);
  } while (n > 0);
  expect_each(&t, 0, 40, 3);
  assert_int_equal(ended, 0);
  assert_int_equal(tarn_stream_reader_add(reader, "abc", 3, &f.err), TARN_E_CORRUPT);
  assert_int_equal(tarn_stream_finished(stream, 1, 1, &f.err), TARN_E_INVALID);
  assert_int_equal(tarn_stream_assign(stream, -1, &bytes, &n, &ended, &f.err), TARN_E_INVALID);
  tarn_stream_reader_free(reader);
  tarn_stream_free(stream);
  end(&f);
}

/* ------------------------------------------------------------------ plans by hand, waiting, lag */

static void plan__one_snapshot_after_the_other(void **state) {
  fixture f;
  tarn_stream *stream;
  tarn_stream_outcome outcome;
  tarn_plan *plan;
  (void)state;
  begin(&f);
  commit(&f, 0, 4, 1);
  commit(&f, 0, 4, 2);
  stream = open_stream(&f, 1);
  assert_int_equal(tarn_stream_position(stream), 0);
  assert_works(tarn_stream_plan(stream, &outcome, &plan, &f.err), f.err);
  assert_int_equal(outcome, TARN_STREAM_STARTED);
  assert_null(plan);
  for (int64_t id = 1; id <= 2; id++) {
    assert_works(tarn_stream_plan(stream, &outcome, &plan, &f.err), f.err);
    assert_int_equal(outcome, TARN_STREAM_PLANNED);
    assert_int_equal(tarn_plan_snapshot_id(plan), id);
    assert_int_equal(tarn_stream_position(stream), id + 1);
    tarn_plan_free(plan);
  }
  assert_works(tarn_stream_plan(stream, &outcome, &plan, &f.err), f.err);
  assert_int_equal(outcome, TARN_STREAM_WAITING);
  assert_works(tarn_stream_seek(stream, 9, 0, &f.err), f.err);
  assert_int_equal(tarn_stream_check(stream, &f.err), TARN_E_INVALID);
  assert_works(tarn_stream_seek(stream, 2, 1, &f.err), f.err);
  assert_works(tarn_stream_plan(stream, &outcome, &plan, &f.err), f.err);
  assert_int_equal(outcome, TARN_STREAM_PLANNED);
  tarn_plan_free(plan);
  assert_works(tarn_stream_seek(stream, 0, 0, &f.err), f.err);
  assert_int_equal(tarn_stream_position(stream), 0);
  tarn_stream_free(stream);
  end(&f);
}

static void wait__ends_with_a_commit(void **state) {
  fixture f;
  tarn_stream *stream;
  tarn_stream_status status = TARN_STREAM_STATUS_INIT;
  tarn_stream_reader *reader;
  tarn_cancel *cancel;
  tally t = {.rows = 0};
  int32_t news;
  (void)state;
  begin(&f);
  commit(&f, 0, 4, 1);
  stream = open_stream(&f, 1);
  assert_works(tarn_stream_reader_create(stream, 0, &reader, &f.err), f.err);
  (void)read_all(reader, &t, 100, &f.err);
  assert_int_equal(t.rows, 4);
  commit(&f, 0, 4, 2);
  commit(&f, 0, 8, 3);
  assert_works(tarn_stream_wait(stream, 600000, NULL, &news, &f.err), f.err);
  assert_int_equal(news, 1);
  assert_works(tarn_stream_get_status(stream, &status, &f.err), f.err);
  assert_int_equal(status.is_prompt, 1);
  assert_int_equal(status.next_snapshot, 2);
  assert_int_equal(status.latest_snapshot, 3);
  assert_int_equal(status.lag_snapshots, 2);
  assert_int_equal(status.lag_rows, 12);
  assert_int_equal(status.planned_snapshot, 1);
  (void)read_all(reader, &t, 100, &f.err);
  assert_int_equal(t.rows, 16);
  assert_works(tarn_stream_wait(stream, 0, NULL, &news, &f.err), f.err);
  assert_int_equal(news, 0);
  assert_works(tarn_cancel_create(f.env, &cancel, &f.err), f.err);
  tarn_cancel_set(cancel);
  assert_int_equal(tarn_stream_wait(stream, 600000, cancel, &news, &f.err), TARN_E_CANCELLED);
  tarn_cancel_free(cancel);
  assert_int_equal(tarn_stream_get_consumer_lag(stream, "none", &status, &f.err), TARN_E_NOT_FOUND);
  tarn_stream_reader_free(reader);
  tarn_stream_free(stream);
  end(&f);
}

static void complete__moves_the_consumer(void **state) {
  static const tarn_option options[] = {
      {"scan.mode", "from-timestamp"}, {"scan.timestamp-millis", "0"}, {"consumer-id", "c"}};
  fixture f;
  tarn_stream *stream;
  tarn_stream_status status = TARN_STREAM_STATUS_INIT;
  tarn_stream_reader *reader;
  tarn_string bytes;
  tally t = {.rows = 0};
  (void)state;
  begin(&f);
  commit(&f, 0, 4, 1);
  commit(&f, 0, 4, 2);
  open_scan(&f, options, 3);
  stream = open_stream(&f, 1);
  assert_works(tarn_stream_reader_create(stream, 0, &reader, &f.err), f.err);
  (void)read_all(reader, &t, 100, &f.err);
  assert_works(tarn_stream_checkpoint(stream, 1, 0, &bytes, &f.err), f.err);
  tarn_string_free(&bytes);
  assert_int_equal(tarn_stream_get_consumer_lag(stream, "c", &status, &f.err), TARN_E_NOT_FOUND);
  assert_works(tarn_stream_complete(stream, 1, &f.err), f.err);
  commit(&f, 0, 4, 3);
  assert_works(tarn_stream_get_consumer_lag(stream, "c", &status, &f.err), f.err);
  assert_int_equal(status.next_snapshot, 3);
  assert_int_equal(status.lag_snapshots, 1);
  assert_int_equal(status.lag_rows, 4);
  tarn_stream_reader_free(reader);
  tarn_stream_free(stream);
  end(&f);
}

static void align__waits_for_a_snapshot_and_says_which(void **state) {
  static const tarn_option options[] = {{"scan.mode", "from-timestamp"},
                                        {"scan.timestamp-millis", "0"},
                                        {"source.checkpoint-align.enabled", "true"},
                                        {"source.checkpoint-align.timeout", "0 ms"}};
  fixture f;
  tarn_stream *stream;
  tarn_stream_reader *reader;
  tarn_string bytes;
  tally t = {.rows = 0};
  int64_t snapshot;
  (void)state;
  begin(&f);
  commit(&f, 0, 4, 1);
  commit(&f, 0, 4, 2);
  open_scan(&f, options, 4);
  stream = open_stream(&f, 1);
  assert_works(tarn_stream_reader_create(stream, 0, &reader, &f.err), f.err);
  for (int64_t id = 1; id <= 2; id++) {
    assert_int_equal(tarn_stream_checkpoint(stream, id, 0, &bytes, &f.err), TARN_E_STATE);
    assert_works(tarn_stream_align(stream, NULL, &snapshot, &f.err), f.err);
    assert_int_equal(snapshot, id);
    (void)read_all(reader, &t, 100, &f.err);
    assert_int_equal(t.rows, 4 * id);  // no further than the checkpoint
    assert_works(tarn_stream_checkpoint(stream, id, 0, &bytes, &f.err), f.err);
    tarn_string_free(&bytes);
  }
  assert_int_equal(tarn_stream_align(stream, NULL, &snapshot, &f.err), TARN_E_TIMEOUT);
  assert_contains(f.err.message,
                  "Timeout while waiting for snapshot from paimon source. Snapshot 3");
  tarn_stream_reader_free(reader);
  tarn_stream_free(stream);
  open_scan(&f, from_1, 2);
  stream = open_stream(&f, 1);
  assert_int_equal(tarn_stream_align(stream, NULL, &snapshot, &f.err), TARN_E_STATE);
  tarn_stream_free(stream);
  end(&f);
}

static void create__refuses_what_cannot_be(void **state) {
  fixture f;
  tarn_stream_options o = TARN_STREAM_OPTIONS_INIT;
  tarn_stream *stream;
  tarn_stream_kinds kinds;
  (void)state;
  begin(&f);
  assert_works(tarn_stream_get_kinds(f.table, &kinds, &f.err), f.err);
  assert_int_equal(kinds, TARN_STREAM_UPSERTS);
  o.n_readers = -1;
  assert_int_equal(tarn_stream_create(f.scan, &o, &stream, &f.err), TARN_E_INVALID);
  o.n_readers = 0;
  o.with_snapshot = 1;
  o.snapshot_name = "v";
  assert_int_equal(tarn_stream_create(f.scan, &o, &stream, &f.err), TARN_E_EXISTS);
  o.struct_size = sizeof(o) + 8;
  assert_int_equal(tarn_stream_create(f.scan, &o, &stream, &f.err), TARN_E_INVALID);
  assert_null(stream);
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reader__two_readers_share_the_rows),
      cmocka_unit_test(reader__work_on_threads_of_their_own),
      cmocka_unit_test(restore__every_row_once_with_any_number_of_readers),
      cmocka_unit_test(restore__comes_before_readers),
      cmocka_unit_test(assign__readers_elsewhere_are_fed_with_bytes),
      cmocka_unit_test(plan__one_snapshot_after_the_other),
      cmocka_unit_test(wait__ends_with_a_commit),
      cmocka_unit_test(complete__moves_the_consumer),
      cmocka_unit_test(align__waits_for_a_snapshot_and_says_which),
      cmocka_unit_test(create__refuses_what_cannot_be),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
