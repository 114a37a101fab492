/* fail_io.c - a preloaded library that lets N calls on a table's files pass and fails the next.
 *
 *   FAIL_IO_BELOW=/path FAIL_IO_AT=3 FAIL_IO_ERRNO=5 LD_PRELOAD=fail_io.so program ...
 *
 * Counted are open, openat, opendir, stat, fstat and reads of files below the path. The exit status
 * of the program says what became of it; FAIL_IO_LOG names a file that gets one line when the fault
 * was played, so that a run without one is told from a run that hid it.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FDS = 4096 };

static atomic_long n_calls;
static atomic_bool is_ours[MAX_FDS];

static int is_below(const char *path) {
  const char *below = getenv("FAIL_IO_BELOW");
  return below != NULL && path != NULL && strncmp(path, below, strlen(below)) == 0;
}

/* Whether this call is the one that fails; sets errno. */
static int fails(const char *what, const char *path) {
  const char *at = getenv("FAIL_IO_AT");
  if (at == NULL || atomic_fetch_add(&n_calls, 1) + 1 != atol(at)) {
    return 0;
  }
  const char *log = getenv("FAIL_IO_LOG");
  FILE *f = log != NULL ? fopen(log, "we") : NULL;
  if (f != NULL) {
    fprintf(f, "%s %s\n", what, path);
    fclose(f);
  }
  const char *code = getenv("FAIL_IO_ERRNO");
  errno = code != NULL ? atoi(code) : EIO;
  return 1;
}

static void *next(const char *name) {
  return dlsym(RTLD_NEXT, name);
}

static int remember(int fd) {
  if (fd >= 0 && fd < MAX_FDS) {
    atomic_store(&is_ours[fd], 1);
  }
  return fd;
}

static int is_ours_fd(int fd) {
  return fd >= 0 && fd < MAX_FDS && atomic_load(&is_ours[fd]);
}

static mode_t mode_of(int flags, va_list args) {
  return (flags & O_CREAT) != 0 ? va_arg(args, mode_t) : 0;
}

#define OPEN(name)                                                       \
  int name(const char *path, int flags, ...) {                           \
    va_list args;                                                        \
    va_start(args, flags);                                               \
    mode_t mode = mode_of(flags, args);                                  \
    va_end(args);                                                        \
    int (*real)(const char *, int, ...) = next(#name);                   \
    if (!is_below(path)) {                                               \
      return real(path, flags, mode);                                    \
    }                                                                    \
    return fails("open", path) ? -1 : remember(real(path, flags, mode)); \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                             \
  int name(int folder, const char *path, int flags, ...) {                       \
    va_list args;                                                                \
    va_start(args, flags);                                                       \
    mode_t mode = mode_of(flags, args);                                          \
    va_end(args);                                                                \
    int (*real)(int, const char *, int, ...) = next(#name);                      \
    if (!is_below(path)) {                                                       \
      return real(folder, path, flags, mode);                                    \
    }                                                                            \
    return fails("open", path) ? -1 : remember(real(folder, path, flags, mode)); \
  }
OPENAT(openat)
OPENAT(openat64)

#define PREAD(name, offset_type)                                              \
  ssize_t name(int fd, void *to, size_t n, offset_type at) {                  \
    ssize_t (*real)(int, void *, size_t, offset_type) = next(#name);          \
    return is_ours_fd(fd) && fails("read", #name) ? -1 : real(fd, to, n, at); \
  }
PREAD(pread, off_t)
PREAD(pread64, off64_t)

ssize_t read(int fd, void *to, size_t n) {
  ssize_t (*real)(int, void *, size_t) = next("read");
  return is_ours_fd(fd) && fails("read", "read") ? -1 : real(fd, to, n);
}

int close(int fd) {
  int (*real)(int) = next("close");
  if (fd >= 0 && fd < MAX_FDS) {
    atomic_store(&is_ours[fd], 0);
  }
  return real(fd);
}

DIR *opendir(const char *path) {
  DIR *(*real)(const char *) = next("opendir");
  return is_below(path) && fails("opendir", path) ? NULL : real(path);
}

#define STAT(name, type)                                                 \
  int name(const char *path, struct type *out) {                         \
    int (*real)(const char *, struct type *) = next(#name);              \
    return is_below(path) && fails("stat", path) ? -1 : real(path, out); \
  }
STAT(stat, stat)
STAT(stat64, stat64)
STAT(lstat, stat)

#define FSTAT(name, type)                                                \
  int name(int fd, struct type *out) {                                   \
    int (*real)(int, struct type *) = next(#name);                       \
    return is_ours_fd(fd) && fails("fstat", #name) ? -1 : real(fd, out); \
  }
FSTAT(fstat, stat)
FSTAT(fstat64, stat64)
