/* stream_sink.c - a sink whose bytes go to a function. */
#include "io/stream_sink.h"

#include "io/file.h"

typedef struct stream_sink {
  tn_sink base;
  tn_stream_write_fn write;
  void *ctx;
  char name[];
} stream_sink;

static tarn_status stream_write(tn_sink *sink, const void *data, size_t n_bytes, size_t *n_written,
                                tarn_error *err) {
  stream_sink *s = TN_CONTAINER_OF(sink, stream_sink, base);
  *n_written = n_bytes;
  return s->write(s->ctx, data, n_bytes, err);
}

static tarn_status stream_sync(tn_sink *sink, tarn_error *err) {
  (void)sink;
  (void)err;
  return TARN_OK;
}

static tarn_status stream_close(tn_sink *sink, tarn_error *err) {
  stream_sink *s = TN_CONTAINER_OF(sink, stream_sink, base);
  (void)err;
  tn_free(&sink->storage->env->mem, s);
  return TARN_OK;
}

static const tn_sink_ops stream_ops = {stream_write, stream_sync, stream_close};

/* Every sink lies in a storage. This one has no names, so that there is nothing to remove. */
static void free_storage(tn_storage *storage) {
  tn_free(&storage->env->mem, storage);
}

static tarn_status remove_nothing(tn_storage *storage, const char *path, tarn_error *err) {
  (void)storage;
  (void)path;
  (void)err;
  return TARN_OK;
}

static const tn_storage_ops storage_ops = {
    .name = "stream", .free = free_storage, .remove = remove_nothing};

tarn_status tn_stream_sink(tarn_env *env, const char *name, tn_stream_write_fn write, void *ctx,
                           tn_sink **out, tarn_error *err) {
  size_t n = strlen(name) + 1;
  tn_storage *storage = tn_alloc(&env->mem, sizeof(*storage));
  stream_sink *s = tn_alloc(&env->mem, sizeof(*s) + n);
  *out = NULL;
  if (storage == NULL || s == NULL) {
    tn_free(&env->mem, storage);
    tn_free(&env->mem, s);
    return tn_oom(err);
  }
  tn_storage_init(storage, &storage_ops, env);
  memcpy(s->name, name, n);
  s->write = write;
  s->ctx = ctx;
  tn_sink_init(&s->base, &stream_ops, storage, s->name); /* retains the storage */
  tn_storage_release(storage);
  *out = &s->base;
  return TARN_OK;
}
