/* storage.c - what is common to all kinds of storage: counting, whole reads, references. */
#include "io/storage.h"

tn_storage *tn_storage_retain(tn_storage *storage) {
  atomic_fetch_add_explicit(&storage->refs, 1, memory_order_relaxed);
  return storage;
}

void tn_storage_release(tn_storage *storage) {
  if (storage != NULL && atomic_fetch_sub_explicit(&storage->refs, 1, memory_order_acq_rel) == 1) {
    storage->ops->free(storage);
  }
}

tarn_status tn_storage_open(tn_storage *storage, const char *path, tn_file **out, tarn_error *err) {
  *out = NULL;
  return storage->ops->open(storage, path, out, err);
}

tarn_status tn_storage_info(tn_storage *storage, const char *path, tn_file_info *out,
                            tarn_error *err) {
  return storage->ops->info(storage, path, out, err);
}

tarn_status tn_storage_list(tn_storage *storage, const char *path,
                            tarn_status (*visit)(void *ctx, const char *name, bool is_directory,
                                                 tarn_error *err),
                            void *ctx, tarn_error *err) {
  return storage->ops->list(storage, path, visit, ctx, err);
}

bool tn_storage_exists(tn_storage *storage, const char *path) {
  tn_file_info info;
  return storage->ops->info(storage, path, &info, NULL) == TARN_OK;
}

tn_file *tn_file_retain(tn_file *file) {
  atomic_fetch_add_explicit(&file->refs, 1, memory_order_relaxed);
  return file;
}

void tn_file_release(tn_file *file) {
  if (file != NULL && atomic_fetch_sub_explicit(&file->refs, 1, memory_order_acq_rel) == 1) {
    file->ops->free(file);
  }
}

static void count_read(tarn_env *env, size_t n_bytes) {
  atomic_fetch_add_explicit(&env->read_requests, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&env->read_bytes, (int64_t)n_bytes, memory_order_relaxed);
}

tarn_status tn_file_read(tn_file *file, int64_t offset, void *out, size_t n_bytes,
                         tarn_error *err) {
  size_t done = 0;
  if (offset < 0 || n_bytes > (uint64_t)(INT64_MAX - offset)) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: no place in a file: offset %lld, %zu bytes",
                   file->path, (long long)offset, n_bytes);
  }
  while (done < n_bytes) {
    size_t n = 0;
    TN_TRY(file->ops->read(file, offset + (int64_t)done, (uint8_t *)out + done, n_bytes - done, &n,
                           err));
    if (n == 0) {
      return tn_fail(err, TARN_E_CORRUPT,
                     "%s: cut off: expected %zu bytes at offset %lld, found %zu", file->path,
                     n_bytes, (long long)offset, done);
    }
    count_read(file->env, n);
    done += n;
  }
  return TARN_OK;
}

tarn_status tn_storage_read_all(tn_storage *storage, const char *path, tn_buf *out,
                                tarn_error *err) {
  tn_file *file = NULL;
  tarn_status st = TARN_OK;
  size_t room, n;
  out->len = 0;
  TN_TRY(tn_storage_open(storage, path, &file, err));
  if ((uint64_t)file->size_bytes > out->limit_bytes) {
    TN_TRY_TO(done, tn_fail(err, TARN_E_LIMIT, "%s: %lld bytes, more than the allowed %zu", path,
                            (long long)file->size_bytes, out->limit_bytes));
  }
  /* The open file is one version of its name, whatever happens to the name. Should somebody write
   * into it, what it holds until its end is taken. One byte more than expected is asked for, so
   * that the usual case is one request. */
  room = (size_t)file->size_bytes + 1;
  do {
    if (out->len + room > out->limit_bytes) {
      room = out->limit_bytes - out->len; /* 0: not even one byte more may come */
    }
    TN_TRY_TO(done, tn_buf_reserve(out, room, err));
    n = 0;
    if (room > 0) {
      TN_TRY_TO(done,
                file->ops->read(file, (int64_t)out->len, out->data + out->len, room, &n, err));
      count_read(file->env, n);
    } else {
      uint8_t more;
      TN_TRY_TO(done, file->ops->read(file, (int64_t)out->len, &more, 1, &n, err));
      if (n > 0) {
        TN_TRY_TO(done, tn_fail(err, TARN_E_LIMIT, "%s: more than the allowed %zu bytes", path,
                                out->limit_bytes));
      }
    }
    out->len += n;
    room = 64 * 1024;
  } while (n > 0 && (int64_t)out->len != file->size_bytes);
done:
  tn_file_release(file);
  return st;
}
