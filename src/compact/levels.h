/* levels.h - the LSM tree of one bucket: which files are on which level, as sorted runs.
 *
 *   runs, newest first:   L0 file | L0 file | ... | files of level 1 | level 2 | ...
 *
 * Each file of level 0 is a run of its own; the files of a higher level are one run, ascending by
 * key, and do not overlap. Only levels that have files cost anything. A tree is used by one thread
 * at a time; what its runs and files point to is valid until the tree changes.
 * Rule: org.apache.paimon.mergetree.Levels, SortedRun, mergetree.compact.IntervalPartition. Spec:
 * compaction, 1 and 6.
 */
#ifndef TN_COMPACT_LEVELS_H
#define TN_COMPACT_LEVELS_H

#include "model/manifest.h"
#include "model/schema.h"

/* A file of the tree; keys are values for each key column, their bytes are the file's own. */
typedef struct tn_level_file {
  const tn_data_file *file; /* of the caller */
  const tn_datum *min_key, *max_key;
} tn_level_file;

typedef struct tn_level_run {
  int32_t level;
  const tn_level_file *const *files;
  int64_t n_files;
  int64_t size_bytes;
} tn_level_run;

typedef struct tn_levels {
  tn_mem *mem;
  const tn_schema *schema;
  bool checks_overlap;
  int32_t n_levels; /* of the option, or as many as the files it was made of need */
  /* Run by run, so in the order of `runs`. */
  const tn_level_file **files;
  int64_t n_files, file_room;
  int64_t n_level_0;
  tn_level_run *runs;
  int64_t n_runs, run_room;
} tn_levels;

/* Make the tree of a bucket.
 *
 * schema      with the key columns; must outlive the tree, as must everything files[i] points to
 * num_levels  of the options
 *
 * out: release with tn_levels_free. Errors: INVALID (fewer than 2 levels), CORRUPT (a key that does
 * not decode or ends before it begins, a level below 0, a file that is there twice, files of one
 * level that overlap), NOMEM. */
TN_CHECKED tarn_status tn_levels_create(tn_mem *mem, const tn_schema *schema, int32_t num_levels,
                                        bool checks_overlap, const tn_data_file *const *files,
                                        int64_t n_files, tn_levels **out, tarn_error *err);
void tn_levels_free(tn_levels *levels); /* accepts NULL */

/* A new file of level 0. Errors: as above; INTERNAL (another level). */
TN_CHECKED tarn_status tn_levels_add(tn_levels *levels, const tn_data_file *file, tarn_error *err);
/* A compaction is done: `before` leaves, `after` comes. Files are told apart by level and name, so
 * an upgraded file is in both. On failure nothing has changed. Errors: as above; INTERNAL (a file
 * of `before` that is not there, a level that the tree does not have). */
TN_CHECKED tarn_status tn_levels_update(tn_levels *levels, const tn_data_file *const *before,
                                        int64_t n_before, const tn_data_file *const *after,
                                        int64_t n_after, tarn_error *err);

static inline int32_t tn_levels_max(const tn_levels *levels) {
  return levels->n_levels - 1;
}
/* The highest level that has files; 0: only level 0 has; -1: there are none. */
int32_t tn_levels_highest(const tn_levels *levels);

/* ------------------------------------------------------------------ sections */

/* Files in ascending order of keys that do not overlap. */
typedef struct tn_compact_run {
  const tn_data_file **files;
  int64_t n_files;
  int64_t size_bytes;
} tn_compact_run;

/* Files whose key ranges hang together, as few runs as they fit in. */
typedef struct tn_compact_section {
  tn_compact_run *runs;
  int64_t n_runs, n_files;
  const tn_datum *min_key, *max_key; /* of all files */
} tn_compact_section;

/* Sections in key order, runs in Java's order; all in the arena. Errors: CORRUPT (keys), NOMEM. */
TN_CHECKED tarn_status tn_compact_sections_make(tn_arena *arena, const tn_schema *schema,
                                                const tn_data_file *const *files, int64_t n_files,
                                                tn_compact_section **out, int64_t *n_out,
                                                tarn_error *err);

#endif
