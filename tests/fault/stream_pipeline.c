/* stream_pipeline.c - a small engine around a stream and a sink, to be killed (stream_kills).
 *
 *   stream_pipeline WAREHOUSE SOURCE TARGET STATE [--readers N] [--writers N] [--processes]
 *       [--asynchronous] [--aligned] [--every MS] [--batch ROWS] [--pause US] [--linger MS]
 * [--until-idle]
 *       [--no-sync] [--strict] [--pids FILE] [OPTION=VALUE...]
 *
 *   reader 0 --rows, barriers--> writer 0     The coordinator has the stream (enumerator) and the
 *           \                 /               sink (committer), and talks to each worker.
 *   reader 1 ----------------> writer 1       Rows go to the writer of their partition.
 *
 * Workers are threads, or processes of this program with the bytes of splits, of the state of
 * readers and of messages in between. A checkpoint:
 *
 *   1. The coordinator saves the stream, and tells the readers. What is behind the stream's state
 *      is what was dealt out before, in the same order in the reader's channel.
 *   2. A reader sends what it has read, then a barrier to each writer, then its own state.
 *   3. A writer that has the barriers of all readers (it takes nothing behind one meanwhile)
 *      prepares, and sends its messages.
 *   4. With all of it, the coordinator replaces STATE in one step, commits, and completes.
 *
 * With --asynchronous readers and writers go on at once, else when the commit is made; threads
 * always wait, as the stream saves their readers with it in step 4. OPTIONs are of the source.
 * --aligned, with processes: a checkpoint is a snapshot, with the OPTIONs for it.
 * --linger: between the steps of 4. --strict: a restore that has committed ends the program, as it
 * does a job of Flink.
 *
 * Exit: 0 all that there is was copied (--until-idle), 75 start again, 3 a worker is gone, 1 else.
 */
#define _POSIX_C_SOURCE 200809L

#include "stream_job.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ------------------------------------------------------------------ coordinator: state */

typedef struct engine {
  job *job;
  tarn_sink *sink;
  worker readers[MAX_WORKERS], writers[MAX_WORKERS];
  bool is_waiting[MAX_WORKERS]; /* for splits */
  /* the checkpoint that is being taken; 0: none */
  int64_t id, rows;
  bool may_end; /* nothing was on its way when it began */
  int32_t n_states, n_prepared;
  tarn_string position;
  char *states[MAX_WORKERS];
  uint32_t state_bytes[MAX_WORKERS];
} engine;

/* Replace the file at once. */
static void keep(const job *j, const tarn_string *state) {
  char path[4096];
  snprintf(path, sizeof(path), "%s.new", j->state);
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd < 0) {
    quit(EXIT_FAILED, "the state cannot be written", NULL);
  }
  send_bytes(fd, state->data, state->length);
  if ((!j->no_sync && fsync(fd) != 0) || close(fd) != 0 || rename(path, j->state) != 0) {
    quit(EXIT_FAILED, "the state cannot be kept", NULL);
  }
}

static char *read_state(const job *j, size_t *n_bytes) {
  FILE *file = fopen(j->state, "rb");
  struct stat facts;
  char *bytes = NULL;
  if (file == NULL && errno == ENOENT) {
    return NULL;
  }
  if (file == NULL || fstat(fileno(file), &facts) != 0 ||
      (bytes = malloc((size_t)facts.st_size + 1)) == NULL ||
      fread(bytes, 1, (size_t)facts.st_size, file) != (size_t)facts.st_size) {
    quit(EXIT_FAILED, "the state cannot be read", NULL);
  }
  fclose(file);
  *n_bytes = (size_t)facts.st_size;
  return bytes;
}

/* The source's part of a state: the stream's bytes, then those of readers elsewhere; an int of four
 * bytes, the length, before each. */
static char *join_position(const engine *e, size_t *n_bytes) {
  size_t n = sizeof(uint32_t) + e->position.length, at = 0;
  uint32_t length = (uint32_t)e->position.length;
  for (int32_t i = 0; i < e->job->n_readers; i++) {
    n += sizeof(uint32_t) + e->state_bytes[i];
  }
  char *all = malloc(n);
  if (all == NULL) {
    quit(EXIT_FAILED, "no memory", NULL);
  }
  memcpy(all, &length, sizeof(length));
  memcpy(all + sizeof(length), e->position.data, length);
  at = sizeof(length) + length;
  for (int32_t i = 0; i < e->job->n_readers; i++) {
    memcpy(all + at, &e->state_bytes[i], sizeof(uint32_t));
    at += sizeof(uint32_t);
    if (e->state_bytes[i] > 0) {
      memcpy(all + at, e->states[i], e->state_bytes[i]);
    }
    at += e->state_bytes[i];
  }
  *n_bytes = n;
  return all;
}

static void restore_position(const job *j, const tarn_string *position) {
  size_t at = 0;
  tarn_error error;
  for (int32_t i = -1; at < position->length; i++) {
    uint32_t n;
    memcpy(&n, position->data + at, sizeof(n));
    at += sizeof(n);
    if (i < 0) {
      MUST(tarn_stream_restore(j->stream, position->data + at, n, NULL, &error));
    } else if (n > 0) { /* there may have been more readers */
      MUST(tarn_stream_add_back(j->stream, i % j->n_readers, position->data + at, n, &error));
    }
    at += n;
  }
}

static void restore(engine *e) {
  job *j = e->job;
  size_t n_bytes = 0;
  char *bytes = read_state(j, &n_bytes);
  tarn_string position = {0};
  tarn_sink_result result = TARN_SINK_RESULT_INIT;
  tarn_error error;
  if (bytes == NULL) {
    return;
  }
  tarn_status status = tarn_sink_restore(e->sink, bytes, n_bytes, &position, &result, &error);
  if (status == TARN_E_STATE && j->is_strict) {
    quit(EXIT_AGAIN, "committed, and to be started again", &error);
  }
  if (status != TARN_OK) {
    quit(EXIT_FAILED, "restore", &error);
  }
  restore_position(j, &position);
  fprintf(stderr, "restored checkpoint %" PRId64 ": %d committed, %d filtered\n",
          tarn_sink_last_checkpoint(e->sink), (int)result.commits, (int)result.filtered);
  tarn_string_free(&position);
  free(bytes);
}

/* ------------------------------------------------------------------ coordinator: checkpoints */

/* Has all that is there been dealt out? */
static bool has_all(const engine *e) {
  tarn_stream_status status = TARN_STREAM_STATUS_INIT;
  tarn_error error;
  MUST(tarn_stream_get_status(e->job->stream, &status, &error));
  return status.lag_snapshots == 0 && status.pending_splits == 0;
}

/* Do all readers wait for splits? */
static bool all_wait(const engine *e) {
  for (int32_t i = 0; i < e->job->n_readers; i++) {
    if (!e->is_waiting[i]) {
      return false;
    }
  }
  return true;
}

/* May a checkpoint begin? When they are aligned: behind one snapshot that is read. *is_last: it
 * will never, as there is nothing to come. */
static bool is_aligned(const engine *e, bool *is_last) {
  const job *j = e->job;
  tarn_stream_status status = TARN_STREAM_STATUS_INIT;
  tarn_error error;
  int64_t snapshot;
  *is_last = false;
  if (!j->aligned) {
    return true;
  }
  tarn_status st = tarn_stream_align(j->stream, NULL, &snapshot, &error);
  if (st == TARN_E_TIMEOUT) {
    *is_last = j->until_idle && all_wait(e) && has_all(e);
    return false;
  }
  if (st != TARN_OK) {
    quit(EXIT_FAILED, "align", &error);
  }
  MUST(tarn_stream_get_status(j->stream, &status, &error));
  return status.pending_splits == 0 && all_wait(e);
}

static void begin_checkpoint(engine *e) {
  const job *j = e->job;
  tarn_error error;
  e->id = tarn_sink_last_checkpoint(e->sink) + 1;
  e->rows = 0;
  e->n_states = e->n_prepared = 0;
  e->may_end = j->until_idle;
  if (j->processes) {
    e->may_end = e->may_end && !j->aligned && all_wait(e) && has_all(e);
    MUST(tarn_stream_checkpoint(j->stream, e->id, 0, &e->position, &error));
  }
  for (int32_t i = 0; i < j->n_readers; i++) {
    send_frame(e->readers[i].control, FRAME_CHECKPOINT, e->id, 0, NULL, 0);
  }
}

static void tell_workers(const engine *e, frame_kind kind, int64_t a) {
  const job *j = e->job;
  for (int32_t i = 0; i < j->n_readers; i++) {
    send_frame(e->readers[i].control, kind, a, 0, NULL, 0);
  }
  for (int32_t i = 0; i < j->n_writers; i++) {
    send_frame(e->writers[i].control, kind, a, 0, NULL, 0);
  }
}

/* All parts are there. true: it was the last one. */
static bool finish_checkpoint(engine *e) {
  const job *j = e->job;
  tarn_sink_result result = TARN_SINK_RESULT_INIT;
  tarn_string state = {0};
  tarn_error error;
  size_t n_position;
  char *position;
  bool is_last;
  if (!j->processes) { /* the readers stand still */
    MUST(tarn_stream_checkpoint(j->stream, e->id, 0, &e->position, &error));
    e->may_end = e->may_end && has_all(e);
  }
  position = join_position(e, &n_position);
  MUST(tarn_sink_seal(e->sink, e->id, NULL, 0, NULL, &error));
  MUST(tarn_sink_save(e->sink, position, n_position, &state, &error));
  keep(j, &state);
  poll(NULL, 0, (int)j->linger_ms);
  MUST(tarn_sink_complete(e->sink, e->id, &result, &error));
  poll(NULL, 0, (int)j->linger_ms);
  MUST(tarn_stream_complete(j->stream, e->id, &error));
  is_last = e->may_end;
  for (int32_t i = 0; i < j->n_readers; i++) {
    free(e->states[i]);
    e->states[i] = NULL;
    e->state_bytes[i] = 0;
  }
  free(position);
  tarn_string_free(&state);
  tarn_string_free(&e->position);
  if (result.must_refresh && j->asynchronous) {
    quit(EXIT_AGAIN, "writers have to look at the table again", NULL);
  }
  if (is_last || !j->asynchronous) {
    tell_workers(e, is_last ? FRAME_END : FRAME_RESUME, result.must_refresh);
  }
  e->id = 0;
  return is_last;
}

static void take_prepared(engine *e, int32_t number, const frame *head, const char *bytes) {
  tarn_messages *messages = NULL;
  tarn_error error;
  if (e->job->processes) {
    MUST(tarn_messages_decode(e->job->target_table, bytes, head->n_bytes, &messages, &error));
  } else {
    memcpy(&messages, bytes, sizeof(messages));
  }
  MUST(tarn_sink_add(e->sink, number, head->a, messages, &error));
  tarn_messages_free(messages);
  e->n_prepared++;
  e->rows += head->b;
}

static void obey_worker(engine *e, const worker *w) {
  frame head;
  char *bytes;
  tarn_error error;
  receive_frame(w->control, &head, &bytes);
  switch (head.kind) {
    case FRAME_PREPARED:
      take_prepared(e, w->number, &head, bytes);
      break;
    case FRAME_STATE:
      MUST(tarn_stream_finished(e->job->stream, w->number, head.a, &error));
      e->states[w->number] = bytes;
      e->state_bytes[w->number] = head.n_bytes;
      e->n_states++;
      e->may_end = e->may_end && (e->job->processes || head.b != 0);
      return;
    default: /* a request */
      MUST(tarn_stream_finished(e->job->stream, w->number, head.a, &error));
      e->is_waiting[w->number] = true;
      break;
  }
  free(bytes);
}

/* Splits for readers that wait, if there are any. */
static void deal_out(engine *e) {
  tarn_error error;
  for (int32_t i = 0; i < e->job->n_readers; i++) {
    tarn_string splits = {0};
    int64_t n;
    int32_t has_ended;
    if (!e->is_waiting[i]) {
      continue;
    }
    MUST(tarn_stream_assign(e->job->stream, i, &splits, &n, &has_ended, &error));
    if (n > 0) {
      e->is_waiting[i] = false;
      send_frame(e->readers[i].control, FRAME_SPLITS, n, 0, splits.data, splits.length);
    }
    tarn_string_free(&splits);
  }
}

static void coordinate(engine *e) {
  const job *j = e->job;
  int64_t due = now_ms() + j->every_ms;
  for (;;) {
    struct pollfd list[2 * MAX_WORKERS];
    const worker *workers[2 * MAX_WORKERS];
    nfds_t n = 0;
    bool is_last = false;
    for (int32_t i = 0; i < j->n_readers + j->n_writers; i++) {
      workers[n] = i < j->n_readers ? &e->readers[i] : &e->writers[i - j->n_readers];
      list[n++] = (struct pollfd){workers[i]->control, POLLIN, 0};
    }
    (void)!poll(list, n, 5);
    for (nfds_t i = 0; i < n; i++) {
      if (list[i].revents != 0) {
        obey_worker(e, workers[i]);
      }
    }
    if (e->id > 0 && e->n_states == j->n_readers && e->n_prepared == j->n_writers) {
      int64_t id = e->id;
      is_last = finish_checkpoint(e);
      fprintf(stderr, "checkpoint %" PRId64 ": %" PRId64 " rows\n", id, e->rows);
      if (is_last) {
        return;
      }
      due = now_ms() + j->every_ms;
    }
    if (j->processes) {
      deal_out(e);
    }
    if (e->id == 0 && now_ms() >= due && is_aligned(e, &is_last)) {
      begin_checkpoint(e);
    }
    if (is_last) {
      tell_workers(e, FRAME_END, 0);
      return;
    }
  }
}

/* ------------------------------------------------------------------ begin */

static void connect_pair(int ends[2]) {
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
    quit(EXIT_FAILED, "socketpair", NULL);
  }
}

/* A worker of its own: this program again, with its ends of the channels. */
static void spawn(worker *w, int n_data) {
  const job *j = w->job;
  char place[128], *argv[MAX_ARGUMENTS];
  int n = 0, at;
  at = snprintf(place, sizeof(place), "%s,%d,%d", w->is_writer ? "writer" : "reader",
                (int)w->number, w->control);
  for (int i = 0; i < n_data; i++) {
    at += snprintf(place + at, sizeof(place) - (size_t)at, ",%d", w->data[i]);
  }
  for (; n < j->argc && n < MAX_ARGUMENTS - 5; n++) {
    argv[n] = j->argv[n];
  }
  argv[n++] = "--worker";
  argv[n++] = place;
  argv[n++] = "--user";
  argv[n++] = (char *)j->commit_user;
  argv[n] = NULL;
  w->pid = fork();
  if (w->pid == 0) {
    fcntl(w->control, F_SETFD, 0);
    for (int i = 0; i < n_data; i++) {
      fcntl(w->data[i], F_SETFD, 0);
    }
    execv("/proc/self/exe", argv);
    _exit(127);
  }
}

/* For who wants to kill some: at once, so that nobody sees half of them. */
static void note_pids(const engine *e) {
  const job *j = e->job;
  char path[4096];
  FILE *file;
  if (j->pids == NULL) {
    return;
  }
  snprintf(path, sizeof(path), "%s.new", j->pids);
  file = fopen(path, "w");
  for (int32_t i = 0; file != NULL && i < j->n_readers + j->n_writers; i++) {
    const worker *w = i < j->n_readers ? &e->readers[i] : &e->writers[i - j->n_readers];
    fprintf(file, "%s %d\n", w->is_writer ? "writer" : "reader", (int)w->pid);
  }
  if (file == NULL || fclose(file) != 0 || rename(path, j->pids) != 0) {
    quit(EXIT_FAILED, "the workers cannot be listed", NULL);
  }
}

static void start_workers(engine *e) {
  job *j = e->job;
  int theirs[2 * MAX_WORKERS], data[2][MAX_WORKERS][MAX_WORKERS];
  int n_workers = j->n_readers + j->n_writers;
  for (int r = 0; r < j->n_readers; r++) {
    for (int w = 0; w < j->n_writers; w++) {
      int ends[2];
      connect_pair(ends);
      data[0][r][w] = ends[0];
      data[1][w][r] = ends[1];
      fcntl(ends[0], F_SETFD, FD_CLOEXEC);
      fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    }
  }
  for (int i = 0; i < n_workers; i++) {
    bool is_writer = i >= j->n_readers;
    int number = is_writer ? i - j->n_readers : i, ends[2];
    worker *w = is_writer ? &e->writers[number] : &e->readers[number];
    *w = (worker){.job = j, .number = number, .is_writer = is_writer};
    memcpy(w->data, data[is_writer][number], sizeof(w->data));
    connect_pair(ends);
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    if (j->processes) {
      w->control = ends[1];
      spawn(w, is_writer ? j->n_readers : j->n_writers);
      w->control = ends[0];
      theirs[i] = ends[1];
    } else { /* the thread has a copy with the other end */
      worker *own = malloc(sizeof(*own));
      if (own == NULL) {
        quit(EXIT_FAILED, "no memory", NULL);
      }
      *own = *w;
      own->control = ends[1];
      w->control = ends[0];
      if (pthread_create(&w->thread, NULL, is_writer ? run_writer : run_reader, own) != 0) {
        quit(EXIT_FAILED, "no thread", NULL);
      }
    }
  }
  if (j->processes) { /* that the death of one is seen by the others */
    for (int i = 0; i < n_workers; i++) {
      close(theirs[i]);
    }
    for (int r = 0; r < j->n_readers; r++) {
      for (int w = 0; w < j->n_writers; w++) {
        close(data[0][r][w]);
        close(data[1][w][r]);
      }
    }
    note_pids(e);
  }
}

static void join_workers(engine *e) {
  const job *j = e->job;
  for (int32_t i = 0; i < j->n_readers + j->n_writers; i++) {
    worker *w = i < j->n_readers ? &e->readers[i] : &e->writers[i - j->n_readers];
    if (j->processes) {
      waitpid(w->pid, NULL, 0);
    } else {
      pthread_join(w->thread, NULL);
    }
  }
}

static int run_coordinator(job *j) {
  engine *e = calloc(1, sizeof(*e));
  tarn_stream_options of_stream = TARN_STREAM_OPTIONS_INIT;
  tarn_sink_options of_sink = TARN_SINK_OPTIONS_INIT;
  struct ArrowSchema schema;
  tarn_error error;
  if (e == NULL) {
    return EXIT_FAILED;
  }
  e->job = j;
  of_stream.n_readers = j->n_readers;
  of_sink.n_writers = j->n_writers;
  of_sink.goes_on = !j->is_strict; /* writers are made behind the restore */
  open_tables(j);
  make_scan(j);
  MUST(tarn_stream_create(j->scan, &of_stream, &j->stream, &error));
  MUST(tarn_stream_schema(j->stream, &schema, &error));
  if (!schema_fits(&schema, true)) {
    quit(EXIT_FAILED, "the source has other columns", NULL);
  }
  schema.release(&schema);
  MUST(tarn_sink_create(j->target_table, &of_sink, &e->sink, &error));
  restore(e);
  snprintf(j->commit_user, sizeof(j->commit_user), "%s", tarn_sink_commit_user(e->sink));
  start_workers(e);
  coordinate(e);
  join_workers(e);
  tarn_sink_free(e->sink);
  tarn_stream_free(j->stream);
  tarn_scan_free(j->scan);
  tarn_table_free(j->target_table);
  tarn_table_free(j->source_table);
  tarn_catalog_free(j->catalog);
  tarn_env_free(j->env);
  free(e);
  return 0;
}

static int run_worker(job *j, char *place) {
  worker w = {.job = j};
  char *at = strchr(place, ',');
  w.is_writer = strncmp(place, "writer", 6) == 0;
  w.number = at != NULL ? (int32_t)strtol(at + 1, &at, 10) : 0;
  w.control = at != NULL && *at == ',' ? (int)strtol(at + 1, &at, 10) : -1;
  for (int i = 0; i < MAX_WORKERS && at != NULL && *at == ','; i++) {
    w.data[i] = (int)strtol(at + 1, &at, 10);
  }
  open_tables(j);
  (void)(w.is_writer ? run_writer(&w) : run_reader(&w));
  return 0;
}

int main(int argc, char **argv) {
  job j = {.n_readers = 1, .n_writers = 1, .every_ms = 100, .argv = argv, .argc = argc};
  char *place = NULL;
  struct {
    const char *name;
    bool *flag;
    int64_t *number;
    int32_t *count;
    const char **text;
  } words[] = {{.name = "--readers", .count = &j.n_readers},
               {.name = "--writers", .count = &j.n_writers},
               {.name = "--processes", .flag = &j.processes},
               {.name = "--asynchronous", .flag = &j.asynchronous},
               {.name = "--aligned", .flag = &j.aligned},
               {.name = "--every", .number = &j.every_ms},
               {.name = "--batch", .number = &j.batch_rows},
               {.name = "--pause", .number = &j.pause_us},
               {.name = "--linger", .number = &j.linger_ms},
               {.name = "--until-idle", .flag = &j.until_idle},
               {.name = "--no-sync", .flag = &j.no_sync},
               {.name = "--strict", .flag = &j.is_strict},
               {.name = "--pids", .text = &j.pids},
               {.name = "--worker", .text = (const char **)&place},
               {.name = "--user", .text = NULL}};
  signal(SIGPIPE, SIG_IGN);
  if (argc < 5) {
    fprintf(stderr, "usage: stream_pipeline WAREHOUSE SOURCE TARGET STATE [OPTION...]\n");
    return 2;
  }
  j.warehouse = argv[1];
  j.source = argv[2];
  j.target = argv[3];
  j.state = argv[4];
  for (int i = 5; i < argc; i++) {
    size_t k = 0;
    char *value = strchr(argv[i], '=');
    while (k < sizeof(words) / sizeof(*words) && strcmp(argv[i], words[k].name) != 0) {
      k++;
    }
    if (k == sizeof(words) / sizeof(*words) && value != NULL && j.n_options < MAX_OPTIONS) {
      char *copy = strdup(argv[i]); /* argv itself goes on to the workers */
      if (copy != NULL) {
        copy[value - argv[i]] = '\0';
        j.options[j.n_options++] = (tarn_option){copy, copy + (value - argv[i]) + 1};
      }
    } else if (k < sizeof(words) / sizeof(*words) && words[k].flag != NULL) {
      *words[k].flag = true;
    } else if (k < sizeof(words) / sizeof(*words) && i + 1 < argc) {
      const char *text = argv[++i];
      if (words[k].number != NULL) {
        *words[k].number = strtoll(text, NULL, 10);
      } else if (words[k].count != NULL) {
        *words[k].count = (int32_t)strtol(text, NULL, 10);
      } else if (words[k].text != NULL) {
        *words[k].text = text;
      } else {
        snprintf(j.commit_user, sizeof(j.commit_user), "%s", text);
      }
    } else {
      fprintf(stderr, "stream_pipeline: what is %s?\n", argv[i]);
      return 2;
    }
  }
  j.asynchronous = j.asynchronous && j.processes;
  j.aligned = j.aligned && j.processes;
  if (j.n_readers < 1 || j.n_readers > MAX_WORKERS || j.n_writers < 1 ||
      j.n_writers > MAX_WORKERS) {
    return 2;
  }
  return place != NULL ? run_worker(&j, place) : run_coordinator(&j);
}
