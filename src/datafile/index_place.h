/* index_place.h - where index files lie: hashes of keys, deletion vectors.
 *
 * Rule: org.apache.paimon.index.IndexPathFactory, IndexInDataFileDirPathFactory; spec: layout, 1.
 */
#ifndef TN_DATAFILE_INDEX_PLACE_H
#define TN_DATAFILE_INDEX_PLACE_H

#include "base/arena.h"
#include "model/manifest.h"
#include "model/table.h"

/* The whole path of an index file: its own one outside of the table, beside the data files of its
 * bucket (index-file-in-data-file-dir), or in the table's index folder. In the arena. Errors:
 * CORRUPT (a partition that does not decode), NOMEM. */
TN_CHECKED tarn_status tn_index_file_path(const tn_table *table, const tn_index_entry *entry,
                                          tn_arena *arena, const char **out, tarn_error *err);

#endif
