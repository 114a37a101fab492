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

static tarn_status count_call(tn_storage_fault *fault, const char *what, const char *path,
                              tarn_error *err) {
  int64_t call = atomic_fetch_add(&fault->calls, 1) + 1;
  return fault->fail_at_call == call
             ? tn_fail_errno(err, fault->os_errno, "%s %s (call %lld, on purpose)", what, path,
                             (long long)call)
             : TARN_OK;
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

static void faulty_free(tn_storage *storage) {
  faulty_storage *s = TN_CONTAINER_OF(storage, faulty_storage, base);
  tarn_env *env = storage->env;
  tn_storage_release(s->inner);
  tn_free(&env->mem, s);
}

static const tn_storage_ops faulty_ops = {"faulty", faulty_free, faulty_open, faulty_info,
                                          faulty_list};

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
