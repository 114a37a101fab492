/* view.h - the files of one snapshot, arranged so that those that may hold a key are found at once.
 * Internal.
 *
 *   view ── partitions (by value) ── buckets (by number) ── sections (by key range) ── files
 *
 * Planning is that of a batch read, so what is visible is the same: level 0, deletion vectors,
 * branches, time travel.
 */
#ifndef TN_LOOKUP_VIEW_H
#define TN_LOOKUP_VIEW_H

#include "base/map.h"
#include "lookup/store.h"
#include "plan/intervals.h"
#include "read/sections.h"

typedef struct tn_view_file {
  tn_lookup_slot *slot;  /* retained */
  const tn_split *split; /* that has it, and its place there */
  int32_t index;
  const tn_data_file *meta;
  tn_dv *deletions; /* retained; NULL: none */
  const tn_datum *min, *max;
  int32_t number;   /* of the view's files */
  int32_t rank;     /* larger is newer, within its bucket */
  int64_t rest_max; /* no row of this file or one behind it has a larger sequence number */
} tn_view_file;

/* Files of a section that follow each other: one, or those of a level that ascend and are disjoint,
 * of which one at most may have a key. */
typedef struct tn_view_group {
  int32_t begin, end;
} tn_view_group;

typedef struct tn_view_section {
  const tn_datum *min, *max;
  tn_view_file *files; /* newest first: level 0 by sequence number, then deeper and deeper */
  tn_view_group *groups;
  int32_t n_files, n_runs, n_groups;
  bool is_raw; /* a row that is not deleted is the row: nothing is merged, kinds mean nothing */
} tn_view_section;

typedef struct tn_view_bucket {
  int32_t number;
  int32_t n_buckets;         /* that its partition was hashed into; 0: no hash tells the bucket */
  tn_view_section *sections; /* ascending, disjoint */
  int32_t n_sections;
} tn_view_bucket;

typedef struct tn_view_partition {
  tn_view_bucket *buckets; /* by n_buckets, then number */
  int32_t n_buckets;
  int32_t *moduli; /* the different n_buckets, but 0 */
  int32_t n_moduli;
} tn_view_partition;

/* Counted, immutable. */
typedef struct tn_files_view {
  _Atomic int32_t refs;
  tarn_env *env;
  tn_plan *plan;       /* retained */
  int64_t snapshot_id; /* 0: none */
  tn_arena arena;
  int32_t n_files;
  tn_map slots;           /* tn_view_file by partition, bucket and name */
  tn_map partitions;      /* tn_view_partition by partition values, each as tn_row_put() has it */
  tn_view_partition *all; /* the same */
  int32_t n_partitions;
} tn_files_view;

typedef struct tn_files_view_setup {
  const tn_read_context *context;
  tn_lookup_store *store;
  const tn_files_view *previous; /* whose slots are shared; NULL: none */
} tn_files_view_setup;

/* Errors: those of planning, INVALID (options that read changes), CORRUPT. out: one reference. */
TN_CHECKED tarn_status tn_files_view_create(const tn_files_view_setup *setup, tn_files_view **out,
                                            tarn_error *err);
tn_files_view *tn_files_view_retain(tn_files_view *view);
void tn_files_view_release(tn_files_view *view); /* accepts NULL */

/* The section of a bucket that a key lies in; NULL: none. */
tn_view_section *tn_view_section_of(const tn_schema *schema, const tn_view_bucket *bucket,
                                    const tn_datum *key);
/* The file of a group that may have a key; -1: none. A group of one file: that, whatever its range.
 */
int32_t tn_view_file_of(const tn_schema *schema, const tn_view_section *section,
                        const tn_view_group *group, const tn_datum *key);
/* The buckets with this number of this modulus; NULL: none. */
const tn_view_bucket *tn_view_bucket_of(const tn_view_partition *partition, int32_t n_buckets,
                                        int32_t number);

#endif
