/* file.h - what the kinds of storage share; for this room only.
 */
#ifndef TN_IO_FILE_H
#define TN_IO_FILE_H

#include "io/storage.h"

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

#endif
