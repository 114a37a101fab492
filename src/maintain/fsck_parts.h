/* fsck_parts.h - what the files of fsck share. Internal. */
#ifndef TN_MAINTAIN_FSCK_PARTS_H
#define TN_MAINTAIN_FSCK_PARTS_H

#include "maintain/fsck.h"
#include "maintain/sweep.h"

/* A file that entries add and take away. */
typedef struct tn_fsck_file {
  int64_t count; /* ADD less DELETE entries */
  tn_slice partition;
  int32_t bucket, total_buckets;
  tn_data_file file;
  const char *path;
} tn_fsck_file;

/* The files of a snapshot, by partition, bucket, level and name. */
typedef struct tn_fsck_state {
  tn_arena arena;
  tn_map files; /* value: tn_fsck_file */
  int64_t n_rows;
  tn_listed *manifests; /* base, then delta */
  size_t n_manifests;
  bool is_whole; /* all of it could be read */
} tn_fsck_state;

typedef struct tn_fsck_run {
  tn_table *table;
  const tn_fsck_request *request;
  tn_buf *out;
  int64_t n_faults, n_snapshots, n_files, n_bytes, n_unreachable, n_unread;
  tn_arena arena;
  tn_map paths;        /* every file that is named; value: 1 when it is there */
  tn_map read_deep;    /* data files whose rows have been read */
  tn_branch *branches; /* but main */
  int32_t n_branches;
  const char *root; /* the branch at hand */
  tn_table *branch; /* the same as a table: its schema and options */
  int64_t *schemas; /* its ids */
  int32_t n_schemas;
  const char *place; /* what names files: "snapshot 5", "tag 'a'" */
  bool is_lenient;   /* below EARLIEST: what is missing was expired */
} tn_fsck_run;

/* Tell a fault; path may be NULL. */
TN_CHECKED tarn_status tn_fsck_fault(tn_fsck_run *f, const char *fault, const char *path,
                                     tarn_error *err, const char *fmt, ...) TN_PRINTF(5, 6);
/* A call that failed with st told `why`: a fault if that is the content's, else the failure. */
TN_CHECKED tarn_status tn_fsck_told(tn_fsck_run *f, tarn_status st, const char *path,
                                    const tarn_error *why, tarn_error *err);
/* A file is named: is it there, of that size (-1: unknown)? */
TN_CHECKED tarn_status tn_fsck_reach(tn_fsck_run *f, const char *path, int64_t size_bytes,
                                     bool *is_there, tarn_error *err);
/* One in manifest/ or statistics/. */
TN_CHECKED tarn_status tn_fsck_reach_meta(tn_fsck_run *f, const char *folder, const char *name,
                                          int64_t size_bytes, bool *is_there, tarn_error *err);
TN_CHECKED tarn_status tn_fsck_reach_data(tn_fsck_run *f, tn_slice partition, int32_t bucket,
                                          const tn_data_file *file, const char **path,
                                          tarn_error *err);

/* A snapshot against the state of the one before, if that is whole; state becomes its own. */
TN_CHECKED tarn_status tn_fsck_snapshot(tn_fsck_run *f, const tn_snapshot *s, tn_fsck_state *state,
                                        tarn_error *err);
/* What a list names alone is there: also the files that its manifests add, or (of the delta of a
 * long-lived changelog) those of them that writers wrote. *n_rows: of its ADD entries. */
typedef enum tn_fsck_list_kind {
  TN_FSCK_CHANGELOG,
  TN_FSCK_DELTA,
  TN_FSCK_NAMES
} tn_fsck_list_kind;
TN_CHECKED tarn_status tn_fsck_list(tn_fsck_run *f, const char *name, int64_t size_bytes,
                                    tn_fsck_list_kind kind, int64_t *n_rows, bool *is_whole,
                                    tarn_error *err);
/* Levels, buckets and row ids of the live files of a snapshot. */
TN_CHECKED tarn_status tn_fsck_layout(tn_fsck_run *f, const tn_snapshot *s,
                                      const tn_fsck_state *state, tarn_error *err);
/* Index files, and deletion vectors against the live files. */
TN_CHECKED tarn_status tn_fsck_indexes(tn_fsck_run *f, const tn_snapshot *s,
                                       const tn_fsck_state *state, tarn_error *err);
/* Read the rows of all live files that were not read before. */
TN_CHECKED tarn_status tn_fsck_rows(tn_fsck_run *f, const tn_fsck_state *state, tarn_error *err);

void tn_fsck_state_init(tn_fsck_state *state, tn_mem *mem);
void tn_fsck_state_reset(tn_fsck_state *state); /* it can be used again */
bool tn_fsck_has_schema(const tn_fsck_run *f, int64_t id);

#endif
