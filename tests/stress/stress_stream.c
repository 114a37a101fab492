/* stress_stream.c - a stream with three readers and a sink with three writers, all threads of one
 * process, while another one writes the source and yet another one asks how far they are.
 *
 *   stress_stream [GOLDEN_FOLDER]
 *
 * Every reader takes its rows to its own writer, of a table without keys; checkpoints stop all of
 * them. In the middle stream and sink are freed and made anew from the last state, with one reader
 * fewer. At the end the target has each id of the source once. Under ThreadSanitizer this shows
 * races; elsewhere rows that are lost or come twice.
 */
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tarn/tarn.h"

enum { MOST_READERS = 3, N_COMMITS = 60, COMMIT_ROWS = 200, N_ROWS = N_COMMITS * COMMIT_ROWS };

typedef struct stress {
  tarn_env *env;
  tarn_catalog *catalog;
  tarn_table *fed, *source, *target; /* fed: the source as it is written */
  tarn_scan *scan;
  tarn_stream *stream;
  tarn_sink *sink;
  struct ArrowSchema schema; /* of the stream */
  int32_t n_readers;
  int64_t checkpoint;
  pthread_barrier_t stopped, resumed;
  atomic_int wants_stop, has_ended, is_fed, n_idle; /* readers that had nothing to read */
  atomic_llong rows;                                /* read */
} stress;

typedef struct worker {
  stress *all;
  int32_t number;
} worker;

#define MUST(call)                                                                           \
  do {                                                                                       \
    if ((call) != TARN_OK) {                                                                 \
      fprintf(stderr, "%s: %s: %s\n", #call, tarn_status_name(error.status), error.message); \
      exit(1);                                                                               \
    }                                                                                        \
  } while (0)

static void rest(int ms) {
  (void)!poll(NULL, 0, ms);
}

/* ------------------------------------------------------------------ the source */

static void keep_schema(struct ArrowSchema *schema) {
  schema->release = NULL;
}

static void keep_array(struct ArrowArray *array) {
  array->release = NULL;
}

static void write_ids(tarn_writer *writer, int64_t first, int64_t n) {
  int64_t ids[COMMIT_ROWS];
  const void *values[2] = {NULL, ids}, *none[1] = {NULL};
  struct ArrowSchema id = {.format = "l", .name = "id", .release = keep_schema},
                     *columns[1] = {&id};
  struct ArrowSchema schema = {
      .format = "+s", .name = "", .n_children = 1, .children = columns, .release = keep_schema};
  struct ArrowArray child = {.length = n, .n_buffers = 2, .buffers = values, .release = keep_array};
  struct ArrowArray *children[1] = {&child};
  struct ArrowArray array = {.length = n,
                             .n_buffers = 1,
                             .n_children = 1,
                             .buffers = none,
                             .children = children,
                             .release = keep_array};
  tarn_error error;
  for (int64_t i = 0; i < n; i++) {
    ids[i] = first + i;
  }
  MUST(tarn_writer_write(writer, &schema, &array, &error));
}

static void *feed(void *context) {
  stress *s = context;
  tarn_writer *writer = NULL;
  tarn_committer *committer = NULL;
  tarn_writer_options of_writer = TARN_WRITER_OPTIONS_INIT;
  tarn_committer_options of_committer = TARN_COMMITTER_OPTIONS_INIT;
  tarn_error error;
  of_writer.commit_user = of_committer.commit_user = "feed";
  MUST(tarn_writer_create(s->fed, &of_writer, &writer, &error));
  MUST(tarn_committer_create(s->fed, &of_committer, &committer, &error));
  for (int64_t i = 0; i < N_COMMITS; i++) {
    tarn_messages *messages = NULL;
    write_ids(writer, i * COMMIT_ROWS, COMMIT_ROWS);
    MUST(tarn_writer_prepare(writer, i + 1, &messages, &error));
    MUST(tarn_committer_commit(committer, i + 1, messages, NULL, NULL, &error));
    tarn_messages_free(messages);
  }
  tarn_committer_free(committer);
  tarn_writer_free(writer);
  atomic_store(&s->is_fed, 1);
  return NULL;
}

/* ------------------------------------------------------------------ readers and writers */

/* Between the two barriers the main thread has the stream and the sink for itself. */
static void stop(stress *s, int32_t number, bool is_idle, tarn_writer *writer) {
  tarn_messages *messages = NULL;
  tarn_error error;
  MUST(tarn_writer_prepare(writer, s->checkpoint, &messages, &error));
  MUST(tarn_sink_add(s->sink, number, s->checkpoint, messages, &error));
  tarn_messages_free(messages);
  atomic_fetch_add(&s->n_idle, is_idle);
  pthread_barrier_wait(&s->stopped);
  pthread_barrier_wait(&s->resumed);
}

static void *read_and_write(void *context) {
  worker *w = context;
  stress *s = w->all;
  tarn_stream_reader *reader = NULL;
  tarn_writer *writer = NULL;
  tarn_writer_options of_writer = TARN_WRITER_OPTIONS_INIT;
  tarn_error error;
  bool is_idle = false;
  of_writer.commit_user = tarn_sink_commit_user(s->sink);
  MUST(tarn_stream_reader_create(s->stream, w->number, &reader, &error));
  MUST(tarn_writer_create(s->target, &of_writer, &writer, &error));
  while (!atomic_load(&s->has_ended)) {
    struct ArrowArray rows = {0};
    tarn_stream_batch batch = TARN_STREAM_BATCH_INIT;
    if (atomic_load(&s->wants_stop)) {
      stop(s, w->number, is_idle, writer);
      continue;
    }
    MUST(tarn_stream_reader_next(reader, &rows, &batch, &error));
    is_idle = rows.release == NULL;
    if (!is_idle) {
      MUST(tarn_writer_write(writer, &s->schema, &rows, &error));
      atomic_fetch_add(&s->rows, rows.length);
      rows.release(&rows);
    } else {
      rest(1);
    }
  }
  tarn_writer_free(writer);
  tarn_stream_reader_free(reader);
  return NULL;
}

static void *watch(void *context) {
  stress *s = context;
  tarn_error error;
  while (!atomic_load(&s->has_ended)) {
    tarn_stream_status status = TARN_STREAM_STATUS_INIT;
    tarn_sink_stats stats = TARN_SINK_STATS_INIT;
    tarn_env_stats memory = TARN_ENV_STATS_INIT;
    int32_t has_news;
    MUST(tarn_stream_get_status(s->stream, &status, &error));
    tarn_sink_get_stats(s->sink, &stats);
    tarn_env_stats_get(s->env, &memory);
    (void)tarn_stream_position(s->stream);
    MUST(tarn_stream_wait(s->stream, 2, NULL, &has_news, &error));
  }
  return NULL;
}

/* ------------------------------------------------------------------ checkpoints */

static void take_checkpoint(stress *s, tarn_string *state) {
  tarn_string position = {0};
  tarn_error error;
  s->checkpoint = tarn_sink_last_checkpoint(s->sink) + 1;
  atomic_store(&s->n_idle, 0);
  atomic_store(&s->wants_stop, 1);
  pthread_barrier_wait(&s->stopped);
  atomic_store(&s->wants_stop, 0);
  tarn_string_free(state);
  MUST(tarn_sink_seal(s->sink, s->checkpoint, NULL, 0, NULL, &error));
  MUST(tarn_stream_checkpoint(s->stream, s->checkpoint, 0, &position, &error));
  MUST(tarn_sink_save(s->sink, position.data, position.length, state, &error));
  MUST(tarn_sink_complete(s->sink, s->checkpoint, NULL, &error));
  MUST(tarn_stream_complete(s->stream, s->checkpoint, &error));
  tarn_string_free(&position);
  pthread_barrier_wait(&s->resumed);
}

/* One run of the job, until it has read so many rows since its begin; negative: until all that
 * there will be is in the target. */
static void run_job(stress *s, int32_t n_readers, int64_t n_rows, tarn_string *state) {
  tarn_stream_options of_stream = TARN_STREAM_OPTIONS_INIT;
  tarn_sink_options of_sink = TARN_SINK_OPTIONS_INIT;
  pthread_t threads[MOST_READERS + 1];
  worker workers[MOST_READERS];
  tarn_string position = {0};
  tarn_error error;
  bool is_through = false;
  of_stream.n_readers = of_sink.n_writers = s->n_readers = n_readers;
  of_sink.goes_on = 1;
  MUST(tarn_stream_create(s->scan, &of_stream, &s->stream, &error));
  MUST(tarn_sink_create(s->target, &of_sink, &s->sink, &error));
  if (state->length > 0) {
    MUST(tarn_sink_restore(s->sink, state->data, state->length, &position, NULL, &error));
    MUST(tarn_stream_restore(s->stream, position.data, position.length, NULL, &error));
    tarn_string_free(&position);
  }
  atomic_store(&s->has_ended, 0);
  atomic_store(&s->rows, 0);
  pthread_barrier_init(&s->stopped, NULL, (unsigned)n_readers + 1);
  pthread_barrier_init(&s->resumed, NULL, (unsigned)n_readers + 1);
  for (int32_t i = 0; i < n_readers; i++) {
    workers[i] = (worker){s, i};
    pthread_create(&threads[i], NULL, read_and_write, &workers[i]);
  }
  pthread_create(&threads[n_readers], NULL, watch, s);
  while (!is_through) {
    bool is_fed = atomic_load(&s->is_fed);
    tarn_stream_status status = TARN_STREAM_STATUS_INIT;
    rest(5);
    take_checkpoint(s, state);
    MUST(tarn_stream_get_status(s->stream, &status, &error));
    is_through = n_rows >= 0 ? atomic_load(&s->rows) >= n_rows
                             : is_fed && atomic_load(&s->n_idle) == n_readers &&
                                   status.lag_snapshots == 0 && status.pending_splits == 0;
  }
  atomic_store(&s->has_ended, 1);
  for (int32_t i = 0; i <= n_readers; i++) {
    pthread_join(threads[i], NULL);
  }
  pthread_barrier_destroy(&s->stopped);
  pthread_barrier_destroy(&s->resumed);
  tarn_sink_free(s->sink);
  tarn_stream_free(s->stream);
}

/* ------------------------------------------------------------------ the end */

static int check_target(stress *s) {
  static uint8_t seen[N_ROWS];
  tarn_scan *scan = NULL;
  struct ArrowArrayStream stream;
  tarn_error error;
  int64_t n = 0, n_faults = 0;
  MUST(tarn_scan_create(s->target, NULL, &scan, &error));
  MUST(tarn_scan_read(scan, &stream, &error));
  for (;;) {
    struct ArrowArray rows = {0};
    if (stream.get_next(&stream, &rows) != 0 || rows.release == NULL) {
      break;
    }
    const struct ArrowArray *column = rows.children[0];
    const int64_t *ids = column->buffers[1];
    for (int64_t i = 0; i < rows.length; i++, n++) {
      int64_t id = ids[rows.offset + column->offset + i];
      n_faults += id < 0 || id >= N_ROWS || seen[id]++ > 0;
    }
    rows.release(&rows);
  }
  stream.release(&stream);
  tarn_scan_free(scan);
  printf("%" PRId64 " rows of %d, %" PRId64 " of them more than once\n", n, (int)N_ROWS, n_faults);
  return n != N_ROWS || n_faults > 0;
}

int main(void) {
  static const char keyed[] =
      "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT NOT NULL\"}],\"primaryKeys\":[\"id\"],"
      "\"options\":{\"bucket\":\"4\",\"changelog-producer\":\"input\"}}";
  static const char plain[] =
      "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT NOT NULL\"}],"
      "\"options\":{\"bucket\":\"-1\"}}";
  static const tarn_option from_the_first[] = {{"scan.mode", "from-snapshot"},
                                               {"scan.snapshot-id", "1"}};
  static stress s;
  char folder[] = "/tmp/stress_stream.XXXXXX", command[64];
  tarn_env_options of_env = TARN_ENV_OPTIONS_INIT;
  tarn_string state = {0};
  tarn_error error;
  pthread_t feeder;
  int result;
  of_env.threads = 2;
  of_env.no_sync = 1;
  if (mkdtemp(folder) == NULL) {
    return 1;
  }
  MUST(tarn_env_create(&of_env, &s.env, &error));
  MUST(tarn_catalog_open(s.env, folder, &s.catalog, &error));
  MUST(tarn_database_create(s.catalog, "d", &error));
  MUST(tarn_table_create(s.catalog, "d.source", keyed, &error));
  MUST(tarn_table_create(s.catalog, "d.target", plain, &error));
  MUST(tarn_table_open(s.env, s.catalog, "d.source", NULL, 0, &s.fed, &error));
  MUST(tarn_table_open(s.env, s.catalog, "d.source", from_the_first, 2, &s.source, &error));
  MUST(tarn_table_open(s.env, s.catalog, "d.target", NULL, 0, &s.target, &error));
  MUST(tarn_scan_create(s.source, NULL, &s.scan, &error));
  MUST(tarn_scan_schema(s.scan, &s.schema, &error));
  pthread_create(&feeder, NULL, feed, &s);
  run_job(&s, 3, N_ROWS / 3, &state);
  run_job(&s, 2, N_ROWS / 4, &state);
  run_job(&s, 3, -1, &state);
  pthread_join(feeder, NULL);
  result = check_target(&s);
  tarn_string_free(&state);
  s.schema.release(&s.schema);
  tarn_scan_free(s.scan);
  tarn_table_free(s.fed);
  tarn_table_free(s.source);
  tarn_table_free(s.target);
  tarn_catalog_free(s.catalog);
  tarn_env_free(s.env);
  snprintf(command, sizeof(command), "rm -rf %s", folder);
  return system(command) != 0 || result;
}
