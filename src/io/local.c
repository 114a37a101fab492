/* local.c - the local file system. */
#define _DEFAULT_SOURCE /* d_type of directory entries: saves a stat an entry */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file.h"

typedef struct local_file {
  tn_file base;
  int fd;
  char path[];
} local_file;

static void local_file_free(tn_file *file) {
  local_file *f = TN_CONTAINER_OF(file, local_file, base);
  close(f->fd);
  tn_free(&file->env->mem, f);
}

/* The kernel takes no more at once; larger counts are cut by it as well. */
#define MAX_READ_BYTES ((size_t)0x7FFFF000)

static tarn_status local_file_read(tn_file *file, int64_t offset, void *out, size_t n_bytes,
                                   size_t *n_read, tarn_error *err) {
  local_file *f = TN_CONTAINER_OF(file, local_file, base);
  ssize_t n;
  do {
    n = pread(f->fd, out, n_bytes > MAX_READ_BYTES ? MAX_READ_BYTES : n_bytes, offset);
  } while (n < 0 && errno == EINTR);
  if (n < 0) {
    return tn_fail_errno(err, errno, "read %s, offset %lld, %zu bytes", file->path,
                         (long long)offset, n_bytes);
  }
  *n_read = (size_t)n;
  return TARN_OK;
}

static const tn_file_ops local_file_ops = {local_file_free, local_file_read};

static tarn_status open_fd(const char *path, int *fd, struct stat *info, tarn_error *err) {
  /* Without O_NONBLOCK a pipe in the place of a file would hold us for ever. */
  do {
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  } while (*fd < 0 && errno == EINTR);
  if (*fd < 0) {
    return tn_fail_errno(err, errno, "open %s", path);
  }
  if (fstat(*fd, info) == 0 && S_ISREG(info->st_mode)) {
    return TARN_OK;
  }
  close(*fd);
  return S_ISDIR(info->st_mode) ? tn_fail_errno(err, EISDIR, "open %s", path)
                                : tn_fail(err, TARN_E_IO, "open %s: not a regular file", path);
}

static tarn_status local_open(tn_storage *storage, const char *path, tn_file **out,
                              tarn_error *err) {
  struct stat info = {.st_mode = 0};
  size_t n = strlen(path) + 1;
  local_file *f;
  int fd;
  TN_TRY(open_fd(path, &fd, &info, err));
  f = tn_alloc(&storage->env->mem, sizeof(*f) + n);
  if (f == NULL) {
    close(fd);
    return tn_oom(err);
  }
  memcpy(f->path, path, n);
  f->fd = fd;
  tn_file_init(&f->base, &local_file_ops, storage->env, f->path, info.st_size);
  *out = &f->base;
  return TARN_OK;
}

static tarn_status local_info(tn_storage *storage, const char *path, tn_file_info *out,
                              tarn_error *err) {
  struct stat info;
  (void)storage;
  if (stat(path, &info) != 0) {
    return tn_fail_errno(err, errno, "%s", path);
  }
  out->size_bytes = info.st_size;
  out->modified_ms = (int64_t)info.st_mtim.tv_sec * 1000 + info.st_mtim.tv_nsec / 1000000;
  out->is_directory = S_ISDIR(info.st_mode);
  return TARN_OK;
}

/* An entry that vanished meanwhile is no directory. */
static bool is_directory(DIR *directory, const struct dirent *entry) {
  struct stat info;
  if (entry->d_type != DT_UNKNOWN && entry->d_type != DT_LNK) {
    return entry->d_type == DT_DIR;
  }
  return fstatat(dirfd(directory), entry->d_name, &info, 0) == 0 && S_ISDIR(info.st_mode);
}

/* Ends the directory's stream. */
static tarn_status visit_entries(DIR *directory, const char *path, tn_visit_fn visit, void *ctx,
                                 tarn_error *err) {
  tarn_status st = TARN_OK;
  for (;;) {
    const struct dirent *entry;
    errno = 0;
    entry = readdir(directory); /* the stream is ours alone, so this is thread-safe */
    if (entry == NULL) {
      st = errno == 0 ? TARN_OK : tn_fail_errno(err, errno, "list %s", path);
      break;
    }
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
      TN_TRY_TO(done, visit(ctx, entry->d_name, is_directory(directory, entry), err));
    }
  }
done:
  closedir(directory);
  return st;
}

static tarn_status local_list(tn_storage *storage, const char *path, tn_visit_fn visit, void *ctx,
                              tarn_error *err) {
  DIR *directory = opendir(path);
  (void)storage;
  if (directory == NULL) {
    return tn_fail_errno(err, errno, "list %s", path);
  }
  return visit_entries(directory, path, visit, ctx, err);
}

static tarn_status local_list_unlinked(tn_storage *storage, const char *path, tn_visit_fn visit,
                                       void *ctx, tarn_error *err) {
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
  (void)storage;
  if (directory == NULL) {
    int os_errno = errno;
    if (fd >= 0) {
      close(fd);
    }
    return tn_fail_errno(err, os_errno, "list %s", path);
  }
  return visit_entries(directory, path, visit, ctx, err);
}

static void local_free(tn_storage *storage) {
  tn_free(&storage->env->mem, storage);
}

static const tn_storage_ops local_ops = {.name = "local",
                                         .free = local_free,
                                         .open = local_open,
                                         .info = local_info,
                                         .list = local_list,
                                         .create = tn_local_create,
                                         .link = tn_local_link,
                                         .replace = tn_local_replace,
                                         .rename = tn_local_rename,
                                         .remove = tn_local_remove,
                                         .remove_folder = tn_local_remove_folder,
                                         .make_folder = tn_local_make_folder,
                                         .sync_folder = tn_local_sync_folder,
                                         .list_unlinked = local_list_unlinked,
                                         .lock_folder = tn_local_lock_folder,
                                         .unlock_folder = tn_local_unlock_folder};

tarn_status tn_storage_local(tarn_env *env, tn_storage **out, tarn_error *err) {
  tn_storage *storage = tn_alloc(&env->mem, sizeof(*storage));
  *out = storage;
  if (storage == NULL) {
    return tn_oom(err);
  }
  tn_storage_init(storage, &local_ops, env);
  return TARN_OK;
}
