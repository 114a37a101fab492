/* source.c - text that is read in pieces. */
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "args.h"
#include "ending.h"
#include "errors.h"
#include "signals.h"
#include "utf8.h"

#define PIECE_BYTES ((size_t)1 << 20)

int64_t cli_now_ms(void) {
  struct timespec t = {0, 0};
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t cli_wake_ms(int64_t after_ms) {
  int64_t when;
  if (after_ms <= 0) {
    return 0;
  }
  return __builtin_add_overflow(cli_now_ms(), after_ms, &when) ? INT64_MAX : when;
}

static tarn_status fail_errno(const char *name, int number, tarn_error *err) {
  return cli_error_errno(err, number == ENOENT ? TARN_E_NOT_FOUND : TARN_E_IO, name, number);
}

tarn_status cli_source_open(const char *path, cli_source *out, tarn_error *err) {
  struct stat facts;
  memset(out, 0, sizeof(*out));
  out->fd = STDIN_FILENO;
  out->name = "standard input";
  out->line = 1;
  if (path != NULL && strcmp(path, "-") != 0) {
    out->name = path;
    out->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (out->fd < 0) {
      return fail_errno(path, errno, err);
    }
    if (fstat(out->fd, &facts) == 0 && S_ISDIR(facts.st_mode)) {
      return fail_errno(path, EISDIR, err);
    }
  }
  return TARN_OK;
}

/* A lock of a range of the pipe: both ends are one file, and locks are shown to who asks. It goes
 * with the process. */
void cli_source_hold(cli_source *source) {
  struct stat facts;
  struct flock l = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
  if (fstat(source->fd, &facts) == 0 && S_ISFIFO(facts.st_mode)) {
    (void)fcntl(source->fd, F_SETLK, &l);
  }
}

int64_t cli_pipe_keeper(int fd) {
  struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  if (fcntl(fd, F_GETLK, &l) != 0 || l.l_type == F_UNLCK) {
    return 0;
  }
  return l.l_pid > 0 ? (int64_t)l.l_pid : -1;
}

bool cli_pipe_is_closed(int fd) {
  struct pollfd p = {fd, 0, 0};
  return poll(&p, 1, 0) == 1 && (p.revents & (POLLERR | POLLHUP)) != 0;
}

int cli_pipe_unread(int fd) {
  int n = 0;
  return ioctl(fd, FIONREAD, &n) == 0 ? n : 0;
}

bool cli_source_replays(const char *path) {
  struct stat facts;
  int code =
      path == NULL || strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &facts) : stat(path, &facts);
  return code == 0 && S_ISREG(facts.st_mode);
}

void cli_source_close(cli_source *source) {
  if (source->fd > STDIN_FILENO) {
    (void)close(source->fd);
  }
  free(source->data);
  memset(source, 0, sizeof(*source));
}

/* Room for a piece behind the text, and a line break behind that. */
static tarn_status make_room(cli_source *s, tarn_error *err) {
  size_t left = cli_source_left(s), capacity = s->capacity;
  char *grown;
  if (s->begin > 0) {
    memmove(s->data, s->data + s->begin, left);
    s->begin = 0;
    s->end = left;
  }
  if (left + PIECE_BYTES / 2 + 2 <= capacity) {
    return TARN_OK;
  }
  if (left > CLI_SOURCE_MAX_RECORD) {
    return cli_error(err, TARN_E_LIMIT,
                     "%s, line %lld: longer than %zu MiB: is this what --format says?", s->name,
                     (long long)s->line, CLI_SOURCE_MAX_RECORD >> 20);
  }
  capacity = capacity == 0 ? PIECE_BYTES + 2 : capacity * 2;
  grown = realloc(s->data, capacity);
  if (grown == NULL) {
    return cli_no_memory(err);
  }
  s->data = grown;
  s->capacity = capacity;
  return TARN_OK;
}

/* Wait for bytes until the time comes. */
static bool is_ready(int fd, int64_t wake_ms) {
  struct pollfd p = {fd, POLLIN, 0};
  int64_t left = wake_ms - cli_now_ms();
  return poll(&p, 1, left <= 0 ? 0 : left < 1000000 ? (int)left : 1000000) != 0;
}

tarn_status cli_source_fill(cli_source *s, int64_t wake_ms, bool *is_idle, tarn_error *err) {
  tarn_status st = make_room(s, err);
  *is_idle = false;
  while (st == TARN_OK && !s->is_end) {
    ssize_t n;
    if (cli_ending_came()) {
      s->is_end = true;
      break;
    }
    if (cli_signals_interrupted()) {
      return cli_error(err, TARN_E_CANCELLED, "interrupted");
    }
    if (wake_ms != 0 && !is_ready(s->fd, wake_ms)) {
      *is_idle = true;
      return TARN_OK;
    }
    n = read(s->fd, s->data + s->end, s->capacity - s->end - 2);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      return fail_errno(s->name, errno, err);
    }
    s->end += (size_t)n;
    s->data[s->end] = '\n';
    s->is_end = n == 0;
    break;
  }
  return st;
}

tarn_status cli_source_find_line(cli_source *s, int64_t wake_ms, size_t *n, bool *has_break,
                                 tarn_error *err) {
  size_t looked_at = 0;
  bool is_idle = false;
  *n = 0;
  *has_break = false;
  for (;;) {
    size_t left = cli_source_left(s);
    const char *end =
        left > looked_at ? memchr(cli_source_text(s) + looked_at, '\n', left - looked_at) : NULL;
    tarn_status st;
    if (end != NULL || s->is_end) {
      *has_break = end != NULL;
      *n = end != NULL ? (size_t)(end - cli_source_text(s)) + 1 : left;
      return TARN_OK;
    }
    looked_at = left;
    st = cli_source_fill(s, wake_ms, &is_idle, err);
    if (st != TARN_OK || is_idle) {
      return st;
    }
  }
}

void cli_source_consume(cli_source *s, size_t n) {
  const char *at = cli_source_text(s), *end = at + n;
  while ((at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
    s->line++;
    at++;
  }
  s->begin += n;
}

void cli_source_place(const cli_source *s, size_t at, int64_t *line, int64_t *column) {
  const char *text = cli_source_text(s);
  size_t begin = 0;
  *line = s->line;
  for (size_t i = 0; i < at; i++) {
    if (text[i] == '\n') {
      (*line)++;
      begin = i + 1;
    }
  }
  *column = 1;
  for (size_t i = begin; i < at; i++) {
    *column += ((unsigned char)text[i] & 0xC0) != 0x80;
  }
}
