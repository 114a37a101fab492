/* plan.h - from (table, options, predicate) to a list of splits.
 *
 * A plan is counted and immutable; its splits live in its arena. Planner and reader need not be in
 * one process: a split has Java's bytes (tn_split_encode, tn_split_decode).
 *
 * Rule: org.apache.paimon.table.source.*, operation.*FileStoreScan; spec: scan-plan, wire.
 */
#ifndef TN_PLAN_PLAN_H
#define TN_PLAN_PLAN_H

#include "column/predicate.h"
#include "index/deletion_vector.h"
#include "model/manifest.h"
#include "model/partition.h"
#include "model/snapshot.h"
#include "model/table.h"

/* No arena of a plan grows beyond this. */
#define TN_PLAN_ARENA_BYTES ((size_t)32 << 30)

typedef struct tn_plan tn_plan;

/* What is read of snapshots. */
typedef enum tn_plan_kind {
  TN_PLAN_STATE,     /* the rows of one snapshot */
  TN_PLAN_DELTA,     /* the files that the APPEND snapshots of a range added, not merged */
  TN_PLAN_CHANGELOG, /* the changelog files of a range, but of OVERWRITE snapshots; not merged */
  TN_PLAN_DIFF       /* the states of two snapshots, compared */
} tn_plan_kind;

/* DataSplit: whole files of one bucket that are read together. IncrementalSplit: those of two
 * states of it, to be compared. */
typedef struct tn_split {
  tn_plan *plan; /* its owner, not counted here */
  /* Whose rows these are, held by the plan: its own, or in reads over two branches the other one.
   * NULL: the table that the reader names. */
  tn_table *table;
  int64_t snapshot_id;
  tn_slice partition; /* arity-prefixed row */
  int32_t bucket;
  const char *bucket_path; /* NULL: not known (decoded incremental splits without a table) */
  bool has_total_buckets;
  int32_t total_buckets;
  const tn_data_file *files;
  int32_t n_files;
  const tn_dv_place *deletions; /* parallel to files, path NULL = none; NULL: no list */
  bool is_incremental;          /* an IncrementalSplit: `files` are the state after */
  const tn_data_file *before;   /* files of the state before, but those that tell nothing new */
  int32_t n_before;
  const tn_dv_place *before_deletions; /* parallel to before */
  bool is_streaming;                   /* changes: files are not merged, rows keep their kinds */
  bool is_raw_convertible;
  bool has_branch;  /* of a read over two branches (FallbackSplit); then */
  bool is_fallback; /* of the second one */
} tn_split;

/* What planning looked at; for explain. What is hidden is counted in the partitions and buckets
 * that the predicate leaves; in full only with tn_scan.keeps_stats, as planning for reading may
 * skip manifests that hold nothing visible. */
typedef struct tn_plan_stats {
  int64_t manifests_total, manifests_read;
  int64_t files_total;          /* live files of the snapshot, before any filter */
  int64_t files_pruned;         /* by partition, bucket, statistics and limit */
  int64_t files_hidden_level_0; /* not visible yet: they wait for a compaction */
  int64_t rows_hidden_level_0;
  int64_t files_hidden_postpone; /* in bucket-postpone */
  int64_t rows_hidden_postpone;
} tn_plan_stats;

struct tn_plan {
  _Atomic int32_t refs;
  tarn_env *env;
  tn_arena arena;
  tn_arena *parts; /* further arenas that splits point into; as many as threads read manifests */
  int32_t n_parts;
  tn_table *table;      /* retained; NULL for decoded splits */
  tn_plan *branches[2]; /* of a read over two branches: their plans, retained, whose splits these
                           are; NULL: none */
  tn_plan_kind kind;
  bool has_snapshot;    /* false: there is nothing to read */
  tn_snapshot snapshot; /* texts in the arena */
  int64_t after_id;     /* DELTA, CHANGELOG, DIFF: the snapshot before the range */
  bool has_min_creation;
  int64_t min_creation_ms; /* only files created since are in it; milliseconds since 1970 */
  tn_split *splits;
  int32_t n_splits;
  tn_plan_stats stats;
};

/* Only the first n rows by one column are wanted, and the reader of the rows sorts them. */
typedef struct tn_top_n {
  int32_t field_id;
  int64_t n;
  bool is_descending, nulls_first;
} tn_top_n;

typedef struct tn_scan {
  tn_table *table;
  const tn_pred *predicate; /* on the table's columns; NULL: none. Borrowed for the call */
  int64_t limit;            /* -1: none */
  const tn_top_n *top;      /* splits that hold none of these rows may be left out; NULL: none */
  bool keeps_stats;         /* keep statistics of files (explain, serialised splits) */
  const tarn_cancel *cancel;
} tn_scan;

/* The table as the dynamic options make it: scan.* checked, and the effective schema switched to
 * that of the snapshot travelled to (spec: scan-plan, 3). Resolution failures are left to
 * tn_plan_create. */
TN_CHECKED tarn_status tn_plan_travel(tn_table *table, tn_table **out, tarn_error *err);

/* Plan a batch read. Errors: NOT_FOUND (snapshot, tag, time; a manifest that is gone), EXPIRED (an
 * id below the earliest), INVALID (options; branches that do not go together), CORRUPT, IO. */
TN_CHECKED tarn_status tn_plan_create(const tn_scan *scan, tn_plan **out, tarn_error *err);
tn_plan *tn_plan_retain(tn_plan *plan);
void tn_plan_release(tn_plan *plan); /* accepts NULL */

/* Rows a split holds for certain (spec: scan-plan, 9 "mergedRowCount"); -1: unknown. */
int64_t tn_split_row_count(const tn_split *split);
/* The split of one state of an incremental split: the files before, or those after. */
tn_split tn_split_state(const tn_split *split, bool is_before);
/* The full path of file i, arena of the caller. */
TN_CHECKED tarn_status tn_split_file_path(const tn_split *split, int32_t i, tn_arena *arena,
                                          const char **out, tarn_error *err);

/* Java's DataSplit bytes, version 8 (spec: wire, 3). Splits of other kinds (IncrementalSplit,
 * version 1; splits of reads over two branches) come in a SplitSerializer frame that tells the
 * kind. */
TN_CHECKED tarn_status tn_split_encode(const tn_split *split, tn_buf *out, tarn_error *err);
/* DataSplits of versions 1 to 9, and framed splits but those with index results, authorization or
 * chains. The result is a plan of one split. Untrusted. table: gives incremental splits, which do
 * not tell it, their folder, and fallback splits their branch; NULL: only tn_split_encode() may
 * then be used on them. Errors: CORRUPT, UNSUPPORTED, those of opening the branch. */
TN_CHECKED tarn_status tn_split_decode(tarn_env *env, tn_table *table, tn_slice bytes,
                                       tn_plan **out, tarn_error *err);
/* One JSON object, as Java's plan files in golden cases and more (reference README). */
TN_CHECKED tarn_status tn_split_to_json(const tn_table *table, const tn_split *split, tn_buf *out,
                                        tarn_error *err);

/* Live partitions of a snapshot, from manifests alone (spec: scan-plan, 9 "Partition listing"). */
typedef struct tn_partition_info {
  tn_slice partition;
  int64_t row_count, file_size, file_count;
  int64_t last_creation_ms; /* of its newest file: the writer's local wall clock, as if UTC */
  int32_t total_buckets;    /* of its newest entry */
} tn_partition_info;
/* In order of their first file; level 0 and bucket-postpone count. */
TN_CHECKED tarn_status tn_plan_partitions(tn_table *table, tn_arena *arena, tn_partition_info **out,
                                          int32_t *n_out, tarn_error *err);

#endif
