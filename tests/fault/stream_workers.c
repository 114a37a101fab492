/* stream_workers.c - readers and writers of stream_pipeline, whose head says how they work
 * together.
 */
#define _POSIX_C_SOURCE 200809L

#include "stream_job.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { WRITE_ROWS = 4096, SEND_ROWS = 512 };

/* ------------------------------------------------------------------ worker: reader */

typedef struct outbox {
  pipeline_row rows[SEND_ROWS];
  size_t n;
} outbox;

static void flush_outbox(outbox *box, int fd) {
  if (box->n > 0) {
    send_frame(fd, FRAME_ROWS, 0, 0, box->rows, box->n * sizeof(box->rows[0]));
    box->n = 0;
  }
}

typedef struct reader {
  worker *worker;
  tarn_stream_reader *source;
  outbox boxes[MAX_WORKERS];
  bool has_asked, is_empty, has_ended;
} reader;

static void take_checkpoint(reader *r, int64_t id) {
  const worker *w = r->worker;
  tarn_string state = {0};
  tarn_error error;
  int64_t finished = 0;
  for (int32_t i = 0; i < w->job->n_writers; i++) {
    flush_outbox(&r->boxes[i], w->data[i]);
    send_frame(w->data[i], FRAME_BARRIER, id, 0, NULL, 0);
  }
  if (w->job->processes) {
    MUST(tarn_stream_reader_checkpoint(r->source, &state, &error));
    finished = tarn_stream_reader_take_finished(r->source);
  }
  send_frame(w->control, FRAME_STATE, finished, r->is_empty, state.data, state.length);
  tarn_string_free(&state);
}

static void obey_reader(reader *r) {
  const worker *w = r->worker;
  frame head;
  char *bytes;
  tarn_error error;
  receive_frame(w->control, &head, &bytes);
  switch (head.kind) {
    case FRAME_SPLITS:
      MUST(tarn_stream_reader_add(r->source, bytes, head.n_bytes, &error));
      r->has_asked = false;
      break;
    case FRAME_CHECKPOINT:
      take_checkpoint(r, head.a);
      if (!w->job->asynchronous) {
        frame answer;
        char *none;
        do { /* splits that were on their way */
          receive_frame(w->control, &answer, &none);
          if (answer.kind == FRAME_SPLITS) {
            MUST(tarn_stream_reader_add(r->source, none, answer.n_bytes, &error));
            r->has_asked = false;
          }
          r->has_ended = r->has_ended || answer.kind == FRAME_END;
          free(none);
        } while (answer.kind != FRAME_RESUME && answer.kind != FRAME_END);
      }
      break;
    default:
      r->has_ended = true;
      break;
  }
  free(bytes);
}

static void forward(reader *r, const struct ArrowArray *rows) {
  const worker *w = r->worker;
  for (int64_t i = 0; i < rows->length; i++) {
    pipeline_row row;
    row_at(rows, i, true, &row);
    int32_t to = row.shard % w->job->n_writers;
    outbox *box = &r->boxes[to];
    box->rows[box->n++] = row;
    if (box->n == SEND_ROWS) {
      flush_outbox(box, w->data[to]);
    }
  }
}

void *run_reader(void *context) {
  worker *w = context;
  job *j = w->job;
  reader *r = calloc(1, sizeof(*r));
  tarn_error error;
  if (r == NULL) {
    quit(EXIT_FAILED, "no memory", NULL);
  }
  r->worker = w;
  if (j->processes) {
    make_scan(j);
    MUST(tarn_stream_reader_open(j->scan, NULL, &r->source, &error));
  } else {
    MUST(tarn_stream_reader_create(j->stream, w->number, &r->source, &error));
  }
  while (!r->has_ended) {
    struct ArrowArray rows = {0};
    tarn_stream_batch batch = TARN_STREAM_BATCH_INIT;
    int patience = !r->is_empty ? 0 : j->processes ? -1 : 3;
    if (is_ready(w->control, patience)) {
      obey_reader(r);
      r->is_empty = r->is_empty && r->has_asked;
      continue;
    }
    MUST(tarn_stream_reader_next(r->source, &rows, &batch, &error));
    r->is_empty = rows.release == NULL;
    if (!r->is_empty) {
      struct timespec pause = {j->pause_us / 1000000, (long)(j->pause_us % 1000000) * 1000};
      forward(r, &rows);
      rows.release(&rows);
      if (j->pause_us > 0) {
        nanosleep(&pause, NULL);
      }
    } else if (j->processes && !r->has_asked) {
      r->has_asked = true;
      send_frame(w->control, FRAME_REQUEST, tarn_stream_reader_take_finished(r->source), 0, NULL,
                 0);
    }
  }
  if (!j->processes) {
    tarn_stream_reader_free(r->source);
    free(r);
  }
  return NULL;
}

/* ------------------------------------------------------------------ worker: writer */

typedef struct writer {
  worker *worker;
  tarn_writer *target;
  row_array rows;
  int64_t n_rows; /* since the last checkpoint */
  bool is_blocked[MAX_WORKERS];
  int32_t n_blocked;
  bool has_ended;
} writer;

static void write_rows(writer *w) {
  tarn_error error;
  if (w->rows.array.length > 0) {
    MUST(tarn_writer_write(w->target, &w->rows.schema, &w->rows.array, &error));
    row_array_clear(&w->rows);
  }
}

static void take_rows(writer *w, const char *bytes, size_t n_bytes) {
  pipeline_row row;
  for (size_t at = 0; at + sizeof(row) <= n_bytes; at += sizeof(row)) {
    memcpy(&row, bytes + at, sizeof(row));
    if (!row_array_add(&w->rows, &row)) {
      write_rows(w);
      (void)row_array_add(&w->rows, &row);
    }
    w->n_rows++;
  }
}

/* All barriers are here. */
static void prepare(writer *w, int64_t id) {
  const job *j = w->worker->job;
  tarn_messages *messages = NULL;
  tarn_string bytes = {0};
  tarn_error error;
  write_rows(w);
  MUST(tarn_writer_prepare(w->target, id, &messages, &error));
  if (j->processes) {
    MUST(tarn_messages_encode(messages, &bytes, &error));
    send_frame(w->worker->control, FRAME_PREPARED, id, w->n_rows, bytes.data, bytes.length);
    tarn_string_free(&bytes);
    tarn_messages_free(messages);
  } else { /* the coordinator frees them */
    send_frame(w->worker->control, FRAME_PREPARED, id, w->n_rows, &messages, sizeof(messages));
  }
  w->n_rows = 0;
  if (!j->asynchronous) {
    frame head;
    char *none;
    receive_frame(w->worker->control, &head, &none);
    free(none);
    w->has_ended = head.kind == FRAME_END;
    if (head.kind == FRAME_RESUME && head.a != 0) {
      MUST(tarn_writer_refresh(w->target, &error));
    }
  }
  memset(w->is_blocked, 0, sizeof(w->is_blocked));
  w->n_blocked = 0;
}

static void obey_writer(writer *w, int32_t from) {
  frame head;
  char *bytes;
  if (recv(w->worker->data[from], &head, 1, MSG_PEEK) <= 0) {
    w->is_blocked[from] = true; /* the reader has ended, or is gone: the coordinator tells */
    return;
  }
  receive_frame(w->worker->data[from], &head, &bytes);
  if (head.kind == FRAME_ROWS) {
    take_rows(w, bytes, head.n_bytes);
  } else {
    w->is_blocked[from] = true;
    w->n_blocked++;
    if (w->n_blocked == w->worker->job->n_readers) {
      prepare(w, head.a);
    }
  }
  free(bytes);
}

void *run_writer(void *context) {
  worker *self = context;
  job *j = self->job;
  writer *w = calloc(1, sizeof(*w));
  tarn_writer_options of_writer = TARN_WRITER_OPTIONS_INIT;
  tarn_error error;
  if (w == NULL || !row_array_init(&w->rows, WRITE_ROWS, true)) {
    quit(EXIT_FAILED, "no memory", NULL);
  }
  w->worker = self;
  of_writer.commit_user = j->commit_user;
  MUST(tarn_writer_create(j->target_table, &of_writer, &w->target, &error));
  while (!w->has_ended) {
    struct pollfd list[MAX_WORKERS + 1];
    int32_t froms[MAX_WORKERS + 1], n = 0;
    list[n] = (struct pollfd){self->control, POLLIN, 0};
    froms[n++] = -1;
    for (int32_t i = 0; i < j->n_readers; i++) {
      if (!w->is_blocked[i]) {
        list[n] = (struct pollfd){self->data[i], POLLIN, 0};
        froms[n++] = i;
      }
    }
    (void)!poll(list, (nfds_t)n, -1);
    for (int32_t i = 1; i < n && !w->has_ended; i++) {
      if (list[i].revents != 0 && !w->is_blocked[froms[i]]) {
        obey_writer(w, froms[i]);
        break; /* who is blocked may have changed */
      }
    }
    if (list[0].revents != 0 && !w->has_ended && is_ready(self->control, 0)) {
      frame head;
      char *none;
      receive_frame(self->control, &head, &none);
      free(none);
      w->has_ended = head.kind == FRAME_END;
    }
  }
  tarn_writer_free(w->target);
  row_array_reset(&w->rows);
  free(w);
  return NULL;
}
