/* progress.c - rows so far and their rate, on a terminal. */
#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define FIRST_MS 500
#define EVERY_MS 200

static int64_t now_ms(void) {
  struct timespec t = {0, 0};
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void put(const char *text, int n) {
  if (n > 0) {
    (void)!write(STDERR_FILENO, text, (size_t)n);
  }
}

void cli_progress_start(cli_progress *progress, bool is_wanted) {
  progress->is_on = is_wanted && isatty(STDERR_FILENO) == 1;
  progress->is_shown = false;
  progress->start_ms = progress->is_on ? now_ms() : 0;
  progress->shown_ms = progress->start_ms + FIRST_MS - EVERY_MS;
}

/* Is it time to show something? *elapsed_ms: milliseconds since the start. */
static bool is_due(cli_progress *progress, int64_t *elapsed_ms) {
  int64_t now = progress->is_on ? now_ms() : 0;
  if (!progress->is_on || now - progress->shown_ms < EVERY_MS) {
    return false;
  }
  *elapsed_ms = now - progress->start_ms;
  progress->shown_ms = now;
  progress->is_shown = true;
  return true;
}

void cli_progress_update(cli_progress *progress, int64_t n_rows) {
  char line[96];
  int64_t elapsed;
  if (is_due(progress, &elapsed)) {
    put(line, snprintf(line, sizeof(line), "\r\x1b[K%lld rows, %lld rows/s", (long long)n_rows,
                       (long long)(n_rows * 1000 / (elapsed + 1))));
  }
}

void cli_progress_units(cli_progress *progress, int64_t n_done, int64_t n_units, int64_t n_bytes) {
  char line[96];
  int64_t elapsed;
  if (is_due(progress, &elapsed)) {
    put(line, snprintf(line, sizeof(line), "\r\x1b[K%lld of %lld, %lld MB read", (long long)n_done,
                       (long long)n_units, (long long)(n_bytes >> 20)));
  }
}

void cli_progress_clear(void *ctx) {
  static const char clear[] = "\r\x1b[K";
  cli_progress *progress = ctx;
  if (progress->is_shown) {
    put(clear, (int)sizeof(clear) - 1);
    progress->is_shown = false;
  }
}
