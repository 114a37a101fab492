/* deletion_vector_write.h - building deletion vectors, and files of several of them.
 *
 * What is written is Java's, byte for byte, for vectors in the order given.
 * Rule: org.apache.paimon.deletionvectors.{BitmapDeletionVector, Bitmap64DeletionVector,
 * DeletionFileWriter}; spec: indexes, 2.
 */
#ifndef TN_INDEX_DELETION_VECTOR_WRITE_H
#define TN_INDEX_DELETION_VECTOR_WRITE_H

#include "base/arena.h"
#include "index/deletion_vector.h"
#include "model/manifest.h"

/* The positions of one data file, collected in any order. One thread. */
typedef struct tn_dv_builder tn_dv_builder;

/* Version 1 (32 bit) or 2 (64 bit: 'deletion-vectors.bitmap64'). `from` (may be NULL; not changed)
 * gives what is deleted already; its version is kept then, as Java keeps it. Errors: NOMEM. */
TN_CHECKED tarn_status tn_dv_builder_create(tarn_env *env, int32_t version, const tn_dv *from,
                                            tn_dv_builder **out, tarn_error *err);
/* *is_new (may be NULL): the position was not there. Errors: INVALID (negative), LIMIT (past what
 * the version holds: 2147483647 in version 1), NOMEM. */
TN_CHECKED tarn_status tn_dv_builder_add(tn_dv_builder *b, int64_t position, bool *is_new,
                                         tarn_error *err);
/* All positions of another vector. Errors: INVALID when it has another version (Java's merge). */
TN_CHECKED tarn_status tn_dv_builder_unite(tn_dv_builder *b, const tn_dv *other, tarn_error *err);
bool tn_dv_builder_contains(const tn_dv_builder *b, int64_t position);
int64_t tn_dv_builder_cardinality(const tn_dv_builder *b);
/* The vector of what was collected; the builder is empty then. After a failure as it was. */
TN_CHECKED tarn_status tn_dv_builder_build(tn_dv_builder *b, tn_dv **out, tarn_error *err);
void tn_dv_builder_free(tn_dv_builder *b); /* accepts NULL */

/* Append the stored blob of a vector: length word, magic, bitmaps, CRC. Errors: LIMIT (past 2 GiB:
 * the length word), NOMEM. */
TN_CHECKED tarn_status tn_dv_encode(const tn_dv *dv, tn_buf *out, tarn_error *err);

/* The vector of one data file. */
typedef struct tn_dv_named {
  tn_slice data_file; /* its bare name */
  const tn_dv *dv;
} tn_dv_named;

/* Write a new file, whose path's last part becomes the entry's name. As many vectors are written
 * as it takes until it passes target_bytes (looked at after each one; 0: all of them); *n_written
 * says how many, and the rest goes into further files: append tables have several files
 * ('deletion-vector.index-file.target-size'), bucketed ones a single file. An empty list makes the
 * legal file without vectors.
 * *entry gets all but partition, bucket and external path; its memory is the arena's. The content
 * is synced, the folder's names are not (tn_storage_sync_folders). After a failure there is no
 * file. Errors: EXISTS, IO, LIMIT (a file past 2 GiB), NOMEM. */
TN_CHECKED tarn_status tn_dv_file_write(tarn_env *env, tn_storage *storage, const char *path,
                                        const tn_dv_named *list, size_t n, int64_t target_bytes,
                                        tn_arena *arena, tn_index_entry *entry, size_t *n_written,
                                        tarn_error *err);

#endif
