/* stream_job.h - what the coordinator and the workers of stream_pipeline share: the job, the way it
 * ends, and the frames that go between them.
 */
#ifndef TARN_TESTS_STREAM_JOB_H
#define TARN_TESTS_STREAM_JOB_H

#include <pthread.h>
#include <sys/types.h>

#include "stream_rows.h"

enum { MAX_WORKERS = 8, MAX_OPTIONS = 16, MAX_ARGUMENTS = 64 };
enum { EXIT_FAILED = 1, EXIT_GONE = 3, EXIT_AGAIN = 75 };

typedef struct job {
  const char *warehouse, *source, *target, *state, *pids;
  int32_t n_readers, n_writers;
  bool processes, asynchronous, aligned, until_idle, no_sync, is_strict;
  int64_t every_ms, batch_rows, pause_us, linger_ms;
  tarn_option options[MAX_OPTIONS];
  size_t n_options;
  char **argv; /* for workers */
  int argc;
  tarn_env *env;
  tarn_catalog *catalog;
  tarn_table *source_table, *target_table;
  tarn_scan *scan;
  tarn_stream *stream; /* of the coordinator, and of readers that are threads */
  char commit_user[256];
} job;

/* The tables of a job, and a scan of its source. */
void open_tables(job *j);
void make_scan(job *j);

/* ------------------------------------------------------------------ ends */

/* error: NULL: there is nothing more to say. */
_Noreturn void quit(int code, const char *what, const tarn_error *error);
/* What has to work; the program ends when it does not. */
#define MUST(call)                      \
  do {                                  \
    if ((call) != TARN_OK) {            \
      quit(EXIT_FAILED, #call, &error); \
    }                                   \
  } while (0)

/* ------------------------------------------------------------------ frames */

typedef enum frame_kind {
  FRAME_ROWS,       /* reader to writer: n_bytes of pipeline_row */
  FRAME_BARRIER,    /* reader to writer: a = checkpoint */
  FRAME_REQUEST,    /* reader to coordinator: splits, please; a = finished so far */
  FRAME_SPLITS,     /* coordinator to reader: their bytes */
  FRAME_CHECKPOINT, /* coordinator to reader: a = checkpoint */
  FRAME_STATE,      /* reader to coordinator: its bytes; a = finished, b = 1: it has nothing */
  FRAME_PREPARED,   /* writer to coordinator: its messages; a = checkpoint, b = rows in them */
  FRAME_RESUME,     /* coordinator to all, when not asynchronous; a = 1: refresh */
  FRAME_END         /* coordinator to all */
} frame_kind;

typedef struct frame {
  int32_t kind;
  uint32_t n_bytes;
  int64_t a, b;
} frame;

/* All end the program when the other end is gone. */
void send_bytes(int fd, const void *bytes, size_t n);
void send_frame(int fd, frame_kind kind, int64_t a, int64_t b, const void *bytes, size_t n);
/* *bytes: to be freed. */
void receive_frame(int fd, frame *head, char **bytes);
bool is_ready(int fd, int timeout_ms);

/* ------------------------------------------------------------------ workers */

typedef struct worker {
  job *job;
  int32_t number;
  bool is_writer;
  int control;           /* to the coordinator */
  int data[MAX_WORKERS]; /* to each writer, or from each reader */
  pid_t pid;
  pthread_t thread;
} worker;

/* Each takes its worker, and returns NULL when the coordinator ends it. */
void *run_reader(void *context);
void *run_writer(void *context);

#endif
