/* detection.h - one search for conflicts, as its rules share it. Internal.
 */
#ifndef TN_COMMIT_DETECTION_H
#define TN_COMMIT_DETECTION_H

#include "commit/conflicts.h"

/* A file that is there, comes or goes. */
typedef struct tn_conflict_file {
  tn_slice partition, name, min_key, max_key;
  tn_slice vectors;         /* index file with its deletion vector */
  const tn_data_file *rest; /* what else is part of its identity; NULL: nothing */
  int64_t row_count, first_row_id;
  int32_t bucket, total_buckets, level;
  bool is_add, has_first_row_id, has_vectors;
} tn_conflict_file;

typedef struct tn_conflict_files {
  tn_conflict_file *items;
  size_t count, capacity;
} tn_conflict_files;

typedef struct tn_detection {
  const tn_conflict_check *check;
  tn_commit_job *job;
  tn_arena *arena;
  tn_conflict_files base, delta;
  const tn_conflict_file **live; /* base and delta merged */
  int64_t n_live;
  tarn_error *err;
} tn_detection;

tn_conflict_file tn_conflict_file_of(const tn_scan_entry *e, bool is_add);
/* CONFLICT with as much of the facts as an error holds. cause: "" where the message says it all. */
TN_CHECKED tarn_status tn_conflict(const tn_detection *d, const char *message, const char *cause);

/* The rules of row ids (conflicts_rows.c); of tables with data evolution only. */
/* Files of one range hold columns of the same rows, and rows of files that come with ids exist. */
TN_CHECKED tarn_status tn_conflicts_in_row_ids(const tn_detection *d);
/* The second half alone. */
TN_CHECKED tarn_status tn_conflicts_in_rows_gone(const tn_detection *d);
/* checks_row_ids of the options: nobody has updated the rows since then. */
TN_CHECKED tarn_status tn_conflicts_in_row_ids_since(const tn_detection *d);

#endif
