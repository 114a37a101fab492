/* index_place.h - where index files lie: hashes of keys, deletion vectors.
 *
 * Rule: org.apache.paimon.index.IndexPathFactory, IndexInDataFileDirPathFactory; spec: layout, 1.
 */
#ifndef TN_DATAFILE_INDEX_PLACE_H
#define TN_DATAFILE_INDEX_PLACE_H

#include "base/arena.h"
#include "datafile/data_writer.h"
#include "index/deletion_vector_write.h"
#include "model/commit_message.h"
#include "model/manifest.h"
#include "model/table.h"

/* The whole path of an index file: its own one outside of the table, beside the data files of its
 * bucket (index-file-in-data-file-dir), or in the table's index folder. In the arena. Errors:
 * CORRUPT (a partition that does not decode), NOMEM. */
TN_CHECKED tarn_status tn_index_file_path(const tn_table *table, const tn_index_entry *entry,
                                          tn_arena *arena, const char **out, tarn_error *err);

/* Names of new index files in the folder of this one become durable. Errors: IO, NOMEM. */
TN_CHECKED tarn_status tn_index_folder_sync(const tn_table *table, const char *path,
                                            tn_arena *arena, tarn_error *err);

/* New deletion vectors of a bucket, in as many files as target_bytes asks for (0: one), synced.
 *
 * place   tells partition and bucket, which the entries get
 * made    appended to; has room for n more. After a failure those that were written are in it, too,
 *         and their files are the caller's to remove
 * Errors: those of tn_dv_file_write() and tn_index_file_path(). Entries are in the arena. */
TN_CHECKED tarn_status tn_index_vectors_write(tn_table *table, const tn_index_entry *place,
                                              tn_data_file_names *names, const tn_dv_named *vectors,
                                              size_t n, int64_t target_bytes, tn_arena *arena,
                                              tn_index_files *made, tarn_error *err);

/* Remove files that no commit has; what cannot be is logged. */
void tn_index_files_remove(const tn_table *table, const tn_index_files *files);

#endif
