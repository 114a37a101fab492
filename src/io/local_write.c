/* local_write.c - the single steps of writing in the local file system.
 *
 * Names are given by link(2), which cannot take the place of another file, as rename(2) would: of
 * several processes one wins. File systems without hard links get renameat2(2).
 */
#define _GNU_SOURCE /* renameat2, flock */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "io/file.h"

typedef struct local_sink {
  tn_sink base;
  int fd;
  char path[];
} local_sink;

/* A holder that was stopped does not stop all others. */
#define LOCK_TRIES 2000
#define LOCK_PAUSE_NS 1000000

/* The kernel takes no more at once. */
#define MAX_WRITE_BYTES ((size_t)0x7FFFF000)

static tarn_status local_write(tn_sink *sink, const void *data, size_t n_bytes, size_t *n_written,
                               tarn_error *err) {
  local_sink *s = TN_CONTAINER_OF(sink, local_sink, base);
  ssize_t n;
  do {
    n = write(s->fd, data, n_bytes > MAX_WRITE_BYTES ? MAX_WRITE_BYTES : n_bytes);
  } while (n < 0 && errno == EINTR);
  if (n <= 0) {
    return tn_fail_errno(err, n == 0 ? EIO : errno, "write %s, %zu bytes", sink->path, n_bytes);
  }
  *n_written = (size_t)n;
  return TARN_OK;
}

static tarn_status local_sync(tn_sink *sink, tarn_error *err) {
  int rc;
  /* Never again after an error: the kernel may have dropped the pages and would say all is well. */
  do {
    rc = fdatasync(TN_CONTAINER_OF(sink, local_sink, base)->fd);
  } while (rc != 0 && errno == EINTR);
  return rc == 0 ? TARN_OK : tn_fail_errno(err, errno, "sync %s", sink->path);
}

static tarn_status local_close(tn_sink *sink, tarn_error *err) {
  local_sink *s = TN_CONTAINER_OF(sink, local_sink, base);
  tarn_env *env = sink->storage->env;
  tarn_status st = TARN_OK;
  if (close(s->fd) != 0 && errno != EINTR) {
    st = tn_fail_errno(err, errno, "close %s", sink->path);
  }
  tn_free(&env->mem, s);
  return st;
}

static const tn_sink_ops sink_ops = {local_write, local_sync, local_close};

tarn_status tn_local_create(tn_storage *storage, const char *path, tn_sink **out, tarn_error *err) {
  size_t n = strlen(path) + 1;
  local_sink *s = tn_alloc(&storage->env->mem, sizeof(*s) + n);
  if (s == NULL) {
    return tn_oom(err);
  }
  do {
    s->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (s->fd < 0 && errno == EINTR);
  if (s->fd < 0) {
    int os_errno = errno;
    tn_free(&storage->env->mem, s);
    return tn_fail_errno(err, os_errno, "create %s", path);
  }
  memcpy(s->path, path, n);
  tn_sink_init(&s->base, &sink_ops, storage, s->path);
  *out = &s->base;
  return TARN_OK;
}

/* Did a link that "exists" come from us? A file server may have carried out a request whose reply
 * was lost, and refuse the second one. The file has a second name then. */
static bool has_second_name(const char *from, const char *to) {
  struct stat a, b;
  return lstat(from, &a) == 0 && lstat(to, &b) == 0 && a.st_nlink == 2 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

static bool is_without_links(int os_errno) {
  return os_errno == EPERM || os_errno == EOPNOTSUPP || os_errno == ENOSYS || os_errno == EMLINK;
}

tarn_status tn_local_link(tn_storage *storage, const char *from, const char *to, tarn_error *err) {
  (void)storage;
  if (link(from, to) == 0 || (errno == EEXIST && has_second_name(from, to))) {
    (void)unlink(from); /* a temporary name that stays is hidden, and nothing refers to it */
    return TARN_OK;
  }
  if (is_without_links(errno) && renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) {
    return TARN_OK;
  }
  return tn_fail_errno(err, errno, "create %s", to);
}

tarn_status tn_local_replace(tn_storage *storage, const char *from, const char *to,
                             tarn_error *err) {
  (void)storage;
  return rename(from, to) == 0 ? TARN_OK : tn_fail_errno(err, errno, "replace %s", to);
}

/* Without renameat2: a file by link, a folder by a look and rename(2), which fails where another
 * folder with something in it has the name. */
static tarn_status rename_by_look(tn_storage *storage, const char *from, const char *to,
                                  tarn_error *err) {
  struct stat info;
  if (lstat(from, &info) != 0) {
    return tn_fail_errno(err, errno, "rename %s to %s", from, to);
  }
  if (!S_ISDIR(info.st_mode)) {
    return tn_local_link(storage, from, to, err);
  }
  if (lstat(to, &info) == 0) {
    return tn_fail_errno(err, EEXIST, "rename %s to %s", from, to);
  }
  return rename(from, to) == 0
             ? TARN_OK
             : tn_fail_errno(err, errno == ENOTEMPTY ? EEXIST : errno, "rename %s to %s", from, to);
}

tarn_status tn_local_rename(tn_storage *storage, const char *from, const char *to,
                            tarn_error *err) {
  if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) {
    return TARN_OK;
  }
  if (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP) {
    return rename_by_look(storage, from, to, err);
  }
  return tn_fail_errno(err, errno, "rename %s to %s", from, to);
}

tarn_status tn_local_remove(tn_storage *storage, const char *path, tarn_error *err) {
  (void)storage;
  return unlink(path) == 0 ? TARN_OK : tn_fail_errno(err, errno, "remove %s", path);
}

tarn_status tn_local_remove_folder(tn_storage *storage, const char *path, tarn_error *err) {
  (void)storage;
  return rmdir(path) == 0 ? TARN_OK : tn_fail_errno(err, errno, "remove %s", path);
}

tarn_status tn_local_make_folder(tn_storage *storage, const char *path, tarn_error *err) {
  (void)storage;
  return mkdir(path, 0777) == 0 ? TARN_OK : tn_fail_errno(err, errno, "make folder %s", path);
}

tarn_status tn_local_sync_folder(tn_storage *storage, const char *path, tarn_error *err) {
  tarn_status st = TARN_OK;
  int fd;
  (void)storage;
  do {
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) {
    return tn_fail_errno(err, errno, "sync folder %s", path);
  }
  /* EINVAL: a file system that cannot, because its names are synced with each call. */
  if (fsync(fd) != 0 && errno != EINVAL) {
    st = tn_fail_errno(err, errno, "sync folder %s", path);
  }
  close(fd);
  return st;
}

/* flock(2) needs no file of its own, and goes with the descriptor: threads exclude each other. */
int tn_local_lock_folder(tn_storage *storage, const char *path) {
  const struct timespec pause = {0, LOCK_PAUSE_NS};
  int fd;
  (void)storage;
  do {
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  } while (fd < 0 && errno == EINTR);
  for (int i = 0; fd >= 0 && i < LOCK_TRIES; i++) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
      return fd;
    }
    if (errno != EWOULDBLOCK && errno != EINTR) {
      break;
    }
    (void)nanosleep(&pause, NULL);
  }
  if (fd >= 0) {
    close(fd);
  }
  return -1;
}

void tn_local_unlock_folder(int handle) {
  close(handle);
}
