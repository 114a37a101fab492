/* random_file.c - pread and pwrite. */
#include "io/random_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_BYTES_AT_ONCE ((size_t)1 << 30)

struct tn_random_file {
  tarn_env *env;
  int fd;
  char path[];
};

tarn_status tn_random_file_open(tarn_env *env, const char *path, bool is_new, tn_random_file **out,
                                tarn_error *err) {
  int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | (is_new ? O_CREAT | O_TRUNC : 0);
  size_t n = strlen(path) + 1;
  tn_random_file *f = tn_alloc(&env->mem, sizeof(*f) + n);
  *out = NULL;
  if (f == NULL) {
    return tn_oom(err);
  }
  f->env = env;
  memcpy(f->path, path, n);
  do {
    f->fd = open(path, flags, (mode_t)0666);
  } while (f->fd < 0 && errno == EINTR);
  if (f->fd < 0) {
    int os_errno = errno;
    tn_free(&env->mem, f);
    return tn_fail_errno(err, os_errno, "open %s", path);
  }
  *out = f;
  return TARN_OK;
}

void tn_random_file_close(tn_random_file *f) {
  if (f != NULL) {
    (void)close(f->fd);
    tn_free(&f->env->mem, f);
  }
}

tarn_status tn_random_file_size(tn_random_file *f, int64_t *out, tarn_error *err) {
  struct stat info;
  if (fstat(f->fd, &info) != 0) {
    return tn_fail_errno(err, errno, "%s", f->path);
  }
  if (!S_ISREG(info.st_mode)) {
    return tn_fail(err, TARN_E_IO, "%s: not a regular file", f->path);
  }
  *out = info.st_size;
  return TARN_OK;
}

tarn_status tn_random_file_read(tn_random_file *f, int64_t offset, void *out, size_t n_bytes,
                                size_t *n_read, tarn_error *err) {
  size_t done = 0;
  while (done < n_bytes) {
    size_t left = n_bytes - done;
    ssize_t n = pread(f->fd, (uint8_t *)out + done,
                      left < MAX_BYTES_AT_ONCE ? left : MAX_BYTES_AT_ONCE, offset + (int64_t)done);
    if (n == 0) {
      break;
    }
    if (n > 0) {
      done += (size_t)n;
    } else if (errno != EINTR) {
      return tn_fail_errno(err, errno, "read %s, offset %lld, %zu bytes", f->path,
                           (long long)offset, n_bytes);
    }
  }
  *n_read = done;
  atomic_fetch_add_explicit(&f->env->read_requests, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&f->env->read_bytes, (int64_t)done, memory_order_relaxed);
  return TARN_OK;
}

tarn_status tn_random_file_write(tn_random_file *f, int64_t offset, const void *bytes,
                                 size_t n_bytes, tarn_error *err) {
  size_t done = 0;
  while (done < n_bytes) {
    size_t left = n_bytes - done;
    ssize_t n = pwrite(f->fd, (const uint8_t *)bytes + done,
                       left < MAX_BYTES_AT_ONCE ? left : MAX_BYTES_AT_ONCE, offset + (int64_t)done);
    if (n >= 0) {
      done += (size_t)n;
    } else if (errno != EINTR) {
      return tn_fail_errno(err, errno, "write %s, offset %lld, %zu bytes", f->path,
                           (long long)offset, n_bytes);
    }
  }
  return TARN_OK;
}

tarn_status tn_random_file_sync(tn_random_file *f, tarn_error *err) {
  if (!f->env->syncs_files || fdatasync(f->fd) == 0) {
    return TARN_OK;
  }
  return tn_fail_errno(err, errno, "sync %s", f->path);
}

tarn_status tn_random_file_unlink(tn_random_file *f, tarn_error *err) {
  return unlink(f->path) == 0 ? TARN_OK : tn_fail_errno(err, errno, "remove %s", f->path);
}
