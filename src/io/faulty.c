/* faulty.c - a storage around another one that fails when it is told to. */
#include "io/file.h"

typedef struct faulty_storage {
  tn_storage base;
  tn_storage *inner;
  tn_storage_fault *fault;
} faulty_storage;

typedef struct faulty_file {
  tn_file base;
  tn_file *inner;
  tn_storage_fault *fault;
} faulty_file;

typedef struct faulty_sink {
  tn_sink base;
  tn_sink *inner; /* whose own gathering is passed by */
  tn_storage_fault *fault;
} faulty_sink;

static tarn_status fail_call(tn_storage_fault *fault, int64_t call, const char *what,
                             const char *path, tarn_error *err) {
  if (fault->is_fatal) {
    atomic_store(&fault->is_dead, true);
  }
  return tn_fail_errno(err, fault->os_errno, "%s %s (call %lld, on purpose)", what, path,
                       (long long)call);
}

static tarn_status count_call(tn_storage_fault *fault, const char *what, const char *path,
                              tarn_error *err) {
  int64_t call = atomic_fetch_add(&fault->calls, 1) + 1;
  return fault->fail_at_call == call || atomic_load(&fault->is_dead)
             ? fail_call(fault, call, what, path, err)
             : TARN_OK;
}

/* A step of writing is counted; *is_done tells whether to carry it out. */
static tarn_status count_write(tn_storage_fault *fault, const char *what, const char *path,
                               bool *is_done, tarn_error *err) {
  bool was_dead = atomic_load(&fault->is_dead);
  int64_t call = atomic_fetch_add(&fault->writes, 1) + 1;
  tarn_status st =
      fault->fail_at_write == call || was_dead ? fail_call(fault, call, what, path, err) : TARN_OK;
  *is_done = st == TARN_OK || (fault->is_done_anyway && !was_dead);
  return st;
}

static void faulty_file_free(tn_file *file) {
  faulty_file *f = TN_CONTAINER_OF(file, faulty_file, base);
  tarn_env *env = file->env;
  tn_file_release(f->inner);
  tn_free(&env->mem, f);
}

static tarn_status faulty_file_read(tn_file *file, int64_t offset, void *out, size_t n_bytes,
                                    size_t *n_read, tarn_error *err) {
  faulty_file *f = TN_CONTAINER_OF(file, faulty_file, base);
  size_t max = f->fault->max_read_bytes;
  TN_TRY(count_call(f->fault, "read", file->path, err));
  return f->inner->ops->read(f->inner, offset, out, max > 0 && n_bytes > max ? max : n_bytes,
                             n_read, err);
}

static const tn_file_ops faulty_file_ops = {faulty_file_free, faulty_file_read};

static tarn_status faulty_open(tn_storage *storage, const char *path, tn_file **out,
                               tarn_error *err) {
  faulty_storage *s = TN_CONTAINER_OF(storage, faulty_storage, base);
  tn_file *inner;
  faulty_file *f;
  TN_TRY(count_call(s->fault, "open", path, err));
  TN_TRY(tn_storage_open(s->inner, path, &inner, err));
  f = tn_alloc(&storage->env->mem, sizeof(*f));
  if (f == NULL) {
    tn_file_release(inner);
    return tn_oom(err);
  }
  f->inner = inner;
  f->fault = s->fault;
  tn_file_init(&f->base, &faulty_file_ops, storage->env, inner->path, inner->size_bytes);
  *out = &f->base;
  return TARN_OK;
}

static tarn_status faulty_info(tn_storage *storage, const char *path, tn_file_info *out,
                               tarn_error *err) {
  faulty_storage *s = TN_CONTAINER_OF(storage, faulty_storage, base);
  TN_TRY(count_call(s->fault, "info", path, err));
  return tn_storage_info(s->inner, path, out, err);
}

static tarn_status faulty_list(tn_storage *storage, const char *path,
                               tarn_status (*visit)(void *ctx, const char *name, bool is_directory,
                                                    tarn_error *err),
                               void *ctx, tarn_error *err) {
  faulty_storage *s = TN_CONTAINER_OF(storage, faulty_storage, base);
  TN_TRY(count_call(s->fault, "list", path, err));
  return tn_storage_list(s->inner, path, visit, ctx, err);
}

static tarn_status faulty_list_unlinked(tn_storage *storage, const char *path, tn_visit_fn visit,
                                        void *ctx, tarn_error *err) {
  faulty_storage *s = TN_CONTAINER_OF(storage, faulty_storage, base);
  TN_TRY(count_call(s->fault, "list", path, err));
  return s->inner->ops->list_unlinked(s->inner, path, visit, ctx, err);
}

/* ------------------------------------------------------------------ writing */

static tarn_status faulty_sink_write(tn_sink *sink, const void *data, size_t n_bytes,
                                     size_t *n_written, tarn_error *err) {
  faulty_sink *s = TN_CONTAINER_OF(sink, faulty_sink, base);
  size_t max = s->fault->max_write_bytes;
  bool is_done;
  tarn_status st = count_write(s->fault, "write", sink->path, &is_done, err);
  if (st == TARN_OK) {
    return s->inner->ops->write(s->inner, data, max > 0 && n_bytes > max ? max : n_bytes, n_written,
                                err);
  }
  if (is_done || (s->fault->tears_write && n_bytes > 1 &&
                  s->fault->fail_at_write == atomic_load(&s->fault->writes))) {
    (void)s->inner->ops->write(s->inner, data, is_done ? n_bytes : n_bytes / 2, n_written, NULL);
  }
  return st;
}

static tarn_status faulty_sink_sync(tn_sink *sink, tarn_error *err) {
  faulty_sink *s = TN_CONTAINER_OF(sink, faulty_sink, base);
  bool is_done;
  tarn_status st = count_write(s->fault, "sync", sink->path, &is_done, err);
  if (is_done) {
    tarn_status synced = s->inner->ops->sync(s->inner, st == TARN_OK ? err : NULL);
    st = st == TARN_OK ? synced : st;
  }
  return st;
}

static tarn_status faulty_sink_close(tn_sink *sink, tarn_error *err) {
  faulty_sink *s = TN_CONTAINER_OF(sink, faulty_sink, base);
  tn_mem *mem = &sink->storage->env->mem;
  tn_storage *inner = s->inner->storage;
  bool is_done;
  tarn_status st = count_write(s->fault, "close", sink->path, &is_done, err), closed;
  closed = s->inner->ops->close(s->inner, st == TARN_OK ? err : NULL);
  tn_storage_release(inner);
  tn_free(mem, s);
  return st != TARN_OK ? st : closed;
}

static const tn_sink_ops faulty_sink_ops = {faulty_sink_write, faulty_sink_sync, faulty_sink_close};

static tarn_status faulty_create(tn_storage *storage, const char *path, tn_sink **out,
                                 tarn_error *err) {
  faulty_storage *s = TN_CONTAINER_OF(storage, faulty_storage, base);
  faulty_sink *sink = tn_alloc(&storage->env->mem, sizeof(*sink));
  bool is_done;
  tarn_status st;
  if (sink == NULL) {
    return tn_oom(err);
  }
  st = count_write(s->fault, "create", path, &is_done, err);
  if (is_done) {
    tarn_status made =
        s->inner->ops->create(s->inner, path, &sink->inner, st == TARN_OK ? err : NULL);
    if (made == TARN_OK && st != TARN_OK) {
      (void)sink->inner->ops->close(sink->inner, NULL);
      tn_storage_release(s->inner);
    }
    st = st == TARN_OK ? made : st;
  }
  if (st != TARN_OK) {
    tn_free(&storage->env->mem, sink);
    return st;
  }
  sink->fault = s->fault;
  tn_sink_init(&sink->base, &faulty_sink_ops, storage, sink->inner->path);
  *out = &sink->base;
  return TARN_OK;
}

/* What the inner step gives is the result, unless this is the call that fails. */
#define STEP(what, path, call)                                          \
  do {                                                                  \
    faulty_storage *s = TN_CONTAINER_OF(storage, faulty_storage, base); \
    bool is_done;                                                       \
    tarn_status st = count_write(s->fault, what, path, &is_done, err);  \
    tarn_error *inner_err = st == TARN_OK ? err : NULL;                 \
    tarn_status done = is_done ? s->inner->ops->call : TARN_OK;         \
    return st != TARN_OK ? st : done;                                   \
  } while (0)

static tarn_status faulty_link(tn_storage *storage, const char *from, const char *to,
                               tarn_error *err) {
  STEP("link", to, link(s->inner, from, to, inner_err));
}

static tarn_status faulty_replace(tn_storage *storage, const char *from, const char *to,
                                  tarn_error *err) {
  STEP("replace", to, replace(s->inner, from, to, inner_err));
}

static tarn_status faulty_rename(tn_storage *storage, const char *from, const char *to,
                                 tarn_error *err) {
  STEP("rename", from, rename(s->inner, from, to, inner_err));
}

static tarn_status faulty_remove(tn_storage *storage, const char *path, tarn_error *err) {
  STEP("remove", path, remove(s->inner, path, inner_err));
}

static tarn_status faulty_remove_folder(tn_storage *storage, const char *path, tarn_error *err) {
  STEP("remove", path, remove_folder(s->inner, path, inner_err));
}

static tarn_status faulty_make_folder(tn_storage *storage, const char *path, tarn_error *err) {
  STEP("make folder", path, make_folder(s->inner, path, inner_err));
}

static tarn_status faulty_sync_folder(tn_storage *storage, const char *path, tarn_error *err) {
  STEP("sync folder", path, sync_folder(s->inner, path, inner_err));
}

static int faulty_lock_folder(tn_storage *storage, const char *path) {
  return tn_storage_lock_folder(TN_CONTAINER_OF(storage, faulty_storage, base)->inner, path);
}

static void faulty_free(tn_storage *storage) {
  faulty_storage *s = TN_CONTAINER_OF(storage, faulty_storage, base);
  tarn_env *env = storage->env;
  tn_storage_release(s->inner);
  tn_free(&env->mem, s);
}

static const tn_storage_ops faulty_ops = {.name = "faulty",
                                          .free = faulty_free,
                                          .open = faulty_open,
                                          .info = faulty_info,
                                          .list = faulty_list,
                                          .create = faulty_create,
                                          .link = faulty_link,
                                          .replace = faulty_replace,
                                          .rename = faulty_rename,
                                          .remove = faulty_remove,
                                          .remove_folder = faulty_remove_folder,
                                          .make_folder = faulty_make_folder,
                                          .sync_folder = faulty_sync_folder,
                                          .list_unlinked = faulty_list_unlinked,
                                          .lock_folder = faulty_lock_folder,
                                          .unlock_folder = tn_local_unlock_folder};

tarn_status tn_storage_faulty(tn_storage *inner, tn_storage_fault *fault, tn_storage **out,
                              tarn_error *err) {
  faulty_storage *s = tn_alloc(&inner->env->mem, sizeof(*s));
  *out = NULL;
  if (s == NULL) {
    return tn_oom(err);
  }
  tn_storage_init(&s->base, &faulty_ops, inner->env);
  s->inner = tn_storage_retain(inner);
  s->fault = fault;
  *out = &s->base;
  return TARN_OK;
}
