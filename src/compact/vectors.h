/* vectors.h - the deletion vectors of one bucket, by data file. For this room only.
 *
 * Between two index files they change in memory: files get new vectors, and those that leave the
 * bucket lose theirs. One thread at a time changes them; the vectors themselves are shared freely.
 * Rule: org.apache.paimon.deletionvectors.BucketedDvMaintainer; spec: compaction, 9.
 */
#ifndef TN_COMPACT_VECTORS_H
#define TN_COMPACT_VECTORS_H

#include "base/map.h"
#include "datafile/data_writer.h"
#include "index/deletion_vector.h"
#include "model/commit_message.h"

typedef struct tn_vectors {
  tn_table *table; /* borrowed */
  tn_slice partition;
  int32_t bucket;
  tn_arena arena; /* names of files */
  tn_map by_file; /* name -> tn_dv, counted; NULL: the file has none any more */
  bool has_changed;
  tn_slice index_file;      /* that holds them now; empty: none */
  tn_slice next_file;       /* that is being written */
  tn_data_file_names names; /* of index files */
} tn_vectors;

/* partition is borrowed. */
void tn_vectors_init(tn_vectors *vectors, tn_table *table, tn_slice partition, int32_t bucket);
void tn_vectors_reset(tn_vectors *vectors);
/* Load what index files hold of these files. Vectors of others are forgotten: Java 1.4.2 leaves
 * some of files that went (FileRewriteCompactTask). Errors: CORRUPT, NOT_FOUND, IO, NOMEM. */
TN_CHECKED tarn_status tn_vectors_load(tn_vectors *vectors, const tn_index_entry *entries,
                                       int32_t n_entries, const tn_data_file *files,
                                       int32_t n_files, tarn_error *err);
tn_dv *tn_vectors_find(const tn_vectors *vectors, tn_slice data_file); /* borrowed; NULL: none */
/* Room for a vector of a file that has none yet. */
TN_CHECKED tarn_status tn_vectors_reserve(tn_vectors *vectors, tn_slice data_file, tarn_error *err);
/* Give a file another vector (taken over); NULL: none any more. A file that is to get its first one
 * has been reserved room for. */
void tn_vectors_set(tn_vectors *vectors, tn_slice data_file, tn_dv *dv);
/* If any changed since the last time: write all of them to one new index file, synced with its
 * name, and tell it (arena of the caller). An index file without vectors is written, too: it
 * replaces the one before. *replaced: that one; of vectors that are the bucket's first the new file
 * itself. A commit that finds another one there conflicts (tn_conflicts_find). */
TN_CHECKED tarn_status tn_vectors_write(tn_vectors *vectors, tn_arena *arena, tn_index_files *out,
                                        tn_index_files *replaced, tarn_error *err);

#endif
