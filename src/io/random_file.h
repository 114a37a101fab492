/* random_file.h - a local file that is read and written in any order: for state of our own, which
 * is grown and synced by whoever keeps it. Tables never have such files. One thread at a time.
 */
#ifndef TN_IO_RANDOM_FILE_H
#define TN_IO_RANDOM_FILE_H

#include "base/env.h"

typedef struct tn_random_file tn_random_file;

/* Open a file; is_new: it is made, or emptied if there is one. The folder exists. out:
 * tn_random_file_close(). Errors: NOT_FOUND, AUTH, IO, NOMEM. */
TN_CHECKED tarn_status tn_random_file_open(tarn_env *env, const char *path, bool is_new,
                                           tn_random_file **out, tarn_error *err);
void tn_random_file_close(tn_random_file *file); /* accepts NULL; syncs nothing */
/* Bytes it has now. */
TN_CHECKED tarn_status tn_random_file_size(tn_random_file *file, int64_t *out, tarn_error *err);
/* Bytes at offset; fewer than n_bytes only at the end of the file. Counted in the environment. */
TN_CHECKED tarn_status tn_random_file_read(tn_random_file *file, int64_t offset, void *out,
                                           size_t n_bytes, size_t *n_read, tarn_error *err);
TN_CHECKED tarn_status tn_random_file_write(tn_random_file *file, int64_t offset, const void *bytes,
                                            size_t n_bytes, tarn_error *err);
/* Its content is on the disk. Nothing where env->syncs_files is off. */
TN_CHECKED tarn_status tn_random_file_sync(tn_random_file *file, tarn_error *err);
/* Take its name away; it lives until it is closed. */
TN_CHECKED tarn_status tn_random_file_unlink(tn_random_file *file, tarn_error *err);

#endif
