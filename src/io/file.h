/* file.h - what the kinds of storage share; for this room only.
 */
#ifndef TN_IO_FILE_H
#define TN_IO_FILE_H

#include "io/storage.h"

typedef tarn_status (*tn_visit_fn)(void *ctx, const char *name, bool is_directory, tarn_error *err);

typedef struct tn_sink_ops {
  /* Store some bytes at the end: at least one, at most n_bytes (which is not 0). */
  tarn_status (*write)(tn_sink *sink, const void *data, size_t n_bytes, size_t *n_written,
                       tarn_error *err);
  tarn_status (*sync)(tn_sink *sink, tarn_error *err);
  /* Close and free, whatever comes of it. */
  tarn_status (*close)(tn_sink *sink, tarn_error *err);
} tn_sink_ops;

/* The head of an open sink; what is gathered belongs to writing.c alone. */
struct tn_sink {
  const tn_sink_ops *ops;
  tn_storage *storage; /* retained */
  const char *path;    /* owned by the sink */
  int64_t size_bytes;  /* with what is gathered */
  uint8_t *gathered;
  size_t n_gathered, capacity;
};

/* Fill in the common part; `path` is owned by the file from now on. One reference. */
static inline void tn_file_init(tn_file *file, const tn_file_ops *ops, tarn_env *env,
                                const char *path, int64_t size_bytes) {
  file->ops = ops;
  file->env = env;
  file->path = path;
  file->size_bytes = size_bytes;
  atomic_init(&file->refs, 1);
}

static inline void tn_storage_init(tn_storage *storage, const tn_storage_ops *ops, tarn_env *env) {
  storage->ops = ops;
  storage->env = env;
  atomic_init(&storage->refs, 1);
}

static inline void tn_sink_init(tn_sink *sink, const tn_sink_ops *ops, tn_storage *storage,
                                const char *path) {
  *sink = (tn_sink){.ops = ops, .storage = tn_storage_retain(storage), .path = path};
}

/* local_write.c: the rows of writing in the table of the local file system. */
tarn_status tn_local_create(tn_storage *storage, const char *path, tn_sink **out, tarn_error *err);
tarn_status tn_local_link(tn_storage *storage, const char *from, const char *to, tarn_error *err);
tarn_status tn_local_replace(tn_storage *storage, const char *from, const char *to,
                             tarn_error *err);
tarn_status tn_local_rename(tn_storage *storage, const char *from, const char *to, tarn_error *err);
tarn_status tn_local_remove(tn_storage *storage, const char *path, tarn_error *err);
tarn_status tn_local_remove_folder(tn_storage *storage, const char *path, tarn_error *err);
tarn_status tn_local_make_folder(tn_storage *storage, const char *path, tarn_error *err);
tarn_status tn_local_sync_folder(tn_storage *storage, const char *path, tarn_error *err);
int tn_local_lock_folder(tn_storage *storage, const char *path);
void tn_local_unlock_folder(int handle);

#endif
