/* follow_state.c - small files, replaced whole. */
#include "follow_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_BYTES ((size_t)1 << 30)

static tarn_status fail(tarn_error *err, tarn_status status, const char *what, const char *path,
                        int number) {
  err->status = status;
  err->os_errno = number;
  (void)snprintf(err->message, sizeof(err->message), "%s %s: %s", what, path,
                 number != 0 ? strerror(number) : "out of memory");
  return status;
}

static tarn_status no_file(tarn_error *err, const char *path) {
  err->status = TARN_E_IO;
  err->os_errno = EINVAL;
  (void)snprintf(err->message, sizeof(err->message), "%s: not a regular file", path);
  return TARN_E_IO;
}

bool cli_follow_state_is_special(const char *path) {
  struct stat s;
  return stat(path, &s) == 0 && !S_ISREG(s.st_mode);
}

tarn_status cli_follow_state_read(const char *path, cli_text *out, bool *found, tarn_error *err) {
  int fd;
  tarn_status st = TARN_OK;
  *found = false;
  if (cli_follow_state_is_special(path)) {
    return no_file(err, path);
  }
  fd = open(path, O_RDONLY | O_CLOEXEC);
  *found = fd >= 0;
  if (fd < 0) {
    return errno == ENOENT ? TARN_OK : fail(err, TARN_E_IO, "read", path, errno);
  }
  for (;;) {
    char *to = cli_text_room(out, 1 << 16);
    ssize_t n = to != NULL ? read(fd, to, 1 << 16) : 0;
    if (to == NULL || out->len > MAX_BYTES) {
      st = to == NULL ? fail(err, TARN_E_NOMEM, "read", path, 0)
                      : fail(err, TARN_E_LIMIT, "read", path, EFBIG);
      break;
    }
    if (n > 0) {
      out->len += (size_t)n;
    } else if (n == 0 || errno != EINTR) {
      st = n == 0 ? TARN_OK : fail(err, TARN_E_IO, "read", path, errno);
      break;
    }
  }
  (void)close(fd);
  return st;
}

static int write_all(int fd, const char *bytes, size_t n) {
  while (n > 0) {
    ssize_t written = write(fd, bytes, n);
    if (written >= 0) {
      bytes += written;
      n -= (size_t)written;
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

/* Let the new name reach the disk. A file system that cannot do that is no error. */
static void sync_folder(const char *path) {
  const char *slash = strrchr(path, '/');
  char *folder = slash == NULL   ? strdup(".")
                 : slash == path ? strdup("/")
                                 : strndup(path, (size_t)(slash - path));
  int fd = folder != NULL ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  if (fd >= 0) {
    (void)fsync(fd);
    (void)close(fd);
  }
  free(folder);
}

void cli_follow_state_settle(const char *path) {
  sync_folder(path);
}

static tarn_status write_special(const char *path, const void *bytes, size_t n, tarn_error *err) {
  int fd = open(path, O_WRONLY | O_CLOEXEC), number = fd < 0 ? errno : 0;
  if (fd >= 0) {
    number = write_all(fd, bytes, n);
    (void)close(fd);
  }
  return number == 0 ? TARN_OK : fail(err, TARN_E_IO, "write", path, number);
}

tarn_status cli_follow_state_write(const char *path, const void *bytes, size_t n, bool has_sync,
                                   tarn_error *err) {
  size_t n_path = strlen(path) + 5;
  char *temporary = malloc(n_path);
  int fd, number = 0;
  if (temporary == NULL) {
    return fail(err, TARN_E_NOMEM, "write", path, 0);
  }
  if (cli_follow_state_is_special(path)) {
    free(temporary);
    return has_sync ? no_file(err, path) : write_special(path, bytes, n, err);
  }
  (void)snprintf(temporary, n_path, "%s.tmp", path);
  fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) {
    number = errno;
  } else {
    number = write_all(fd, bytes, n);
    if (number == 0 && has_sync && fsync(fd) != 0) {
      number = errno;
    }
    if (close(fd) != 0 && number == 0) {
      number = errno;
    }
    if (number == 0 && rename(temporary, path) != 0) {
      number = errno;
    }
    if (number != 0) {
      (void)unlink(temporary);
    } else if (has_sync) {
      sync_folder(path);
    }
  }
  free(temporary);
  return number == 0 ? TARN_OK : fail(err, TARN_E_IO, "write", path, number);
}
