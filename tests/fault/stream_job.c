/* stream_job.c - tables, ends and frames of stream_pipeline. */
#define _POSIX_C_SOURCE 200809L

#include "stream_job.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_FRAME = 1 << 28 };

_Noreturn void quit(int code, const char *what, const tarn_error *error) {
  if (error != NULL) {
    fprintf(stderr, "%s: %s: %s\n", what, tarn_status_name(error->status), error->message);
  } else {
    fprintf(stderr, "%s\n", what);
  }
  fflush(NULL);
  _exit(code);
}

/* Somebody at the other end of a channel is gone. Killed, or is it a fault? The coordinator looks,
 * and its workers go with it. */
static _Noreturn void quit_gone(void) {
  struct timespec pause = {0, 10000000};
  int status;
  for (int i = 0; i < 50; i++) {
    pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid < 0) { /* a worker, or one with threads */
      break;
    } else if (pid == 0) {
      nanosleep(&pause, NULL);
    } else if (WIFSIGNALED(status) ? WTERMSIG(status) != SIGKILL
                                   : WEXITSTATUS(status) == EXIT_FAILED) {
      quit(EXIT_FAILED, "a worker failed", NULL);
    } else {
      i = i < 45 ? 45 : i; /* the first one is the reason, most likely */
    }
  }
  quit(EXIT_GONE, "the other end is gone", NULL);
}

/* ------------------------------------------------------------------ tables */

void open_tables(job *j) {
  tarn_env_options of_env = TARN_ENV_OPTIONS_INIT;
  tarn_error error;
  of_env.no_sync = j->no_sync;
  MUST(tarn_env_create(&of_env, &j->env, &error));
  MUST(tarn_catalog_open(j->env, j->warehouse, &j->catalog, &error));
  MUST(tarn_table_open(j->env, j->catalog, j->source, j->options, j->n_options, &j->source_table,
                       &error));
  MUST(tarn_table_open(j->env, j->catalog, j->target, NULL, 0, &j->target_table, &error));
}

void make_scan(job *j) {
  tarn_scan_options of_scan = TARN_SCAN_OPTIONS_INIT;
  tarn_error error;
  of_scan.with_row_kind = 1;
  of_scan.batch_rows = j->batch_rows;
  MUST(tarn_scan_create(j->source_table, &of_scan, &j->scan, &error));
}

/* ------------------------------------------------------------------ frames */

void send_bytes(int fd, const void *bytes, size_t n) {
  const char *at = bytes;
  while (n > 0) {
    ssize_t done = write(fd, at, n);
    if (done < 0 && errno != EINTR) {
      quit_gone();
    }
    at += done > 0 ? done : 0;
    n -= done > 0 ? (size_t)done : 0;
  }
}

void send_frame(int fd, frame_kind kind, int64_t a, int64_t b, const void *bytes, size_t n) {
  frame head = {(int32_t)kind, (uint32_t)n, a, b};
  send_bytes(fd, &head, sizeof(head));
  send_bytes(fd, bytes, n);
}

static void receive_bytes(int fd, void *bytes, size_t n) {
  char *at = bytes;
  while (n > 0) {
    ssize_t done = read(fd, at, n);
    if (done == 0 || (done < 0 && errno != EINTR)) {
      quit_gone();
    }
    at += done > 0 ? done : 0;
    n -= done > 0 ? (size_t)done : 0;
  }
}

void receive_frame(int fd, frame *head, char **bytes) {
  receive_bytes(fd, head, sizeof(*head));
  *bytes = head->n_bytes <= MAX_FRAME ? malloc((size_t)head->n_bytes + 1) : NULL;
  if (*bytes == NULL) {
    quit(EXIT_FAILED, "a frame that is too large", NULL);
  }
  receive_bytes(fd, *bytes, head->n_bytes);
}

bool is_ready(int fd, int timeout_ms) {
  struct pollfd p = {fd, POLLIN, 0};
  return poll(&p, 1, timeout_ms) > 0;
}
