/* entries.h - the live entries of a snapshot's manifests, pruned, in manifest order.
 *
 * Manifests are read in parallel, each once. One thread at a time uses one worker: an arena for
 * what entries keep, the partitions it met, and what it remembers of the filter. ADD entries that a
 * DELETE entry of the same identity takes back are dropped afterwards; identities are never added
 * again, so order does not matter.
 *
 *   manifests  [m0][m1][m2]...         each: a run of entries of one worker
 *   worker     chunks of entries ----> names, keys in its arena; partitions, one copy each
 *
 * Invariants
 *   E1  The order of items is that of the manifests and of the records in them, whatever the
 *       threads.
 *   E2  Filters on partition, bucket and level apply to ADD and DELETE entries alike; statistics
 *       prune ADD entries only (DELETE entries may come without them).
 *   E3  Where changes are read (is_changes) there is nothing to take back: DELETE is CORRUPT.
 *
 * Rule: org.apache.paimon.operation.AbstractFileStoreScan, manifest.FileEntry. Spec: manifest, 6;
 * scan-plan, 6.
 */
#ifndef TN_PLAN_ENTRIES_H
#define TN_PLAN_ENTRIES_H

#include "base/cancel.h"
#include "base/map.h"
#include "model/manifest.h"
#include "model/snapshot.h"
#include "plan/scan_filter.h"

#define TN_NO_INDEX UINT32_MAX

/* One partition as one worker met it. */
typedef struct tn_scan_partition {
  tn_slice bytes;
  bool is_kept; /* by the partition filter */
  tn_bucket_keys keys;
  tn_bucket_set *sets;
  uint32_t index; /* among the partitions of the whole scan; TN_NO_INDEX until it is given */
} tn_scan_partition;

/* What later stages need of an entry. Most files have nothing but these; `rest` holds the whole
 * record of those that do, or of all when statistics are kept. */
typedef struct tn_scan_entry {
  tn_scan_partition *partition;
  const tn_data_file *rest;
  const uint8_t *file_name, *min_key, *max_key;
  uint32_t file_name_len, min_key_len, max_key_len;
  int32_t bucket, total_buckets, level;
  int64_t file_size, row_count, min_sequence, max_sequence, schema_id;
  int64_t creation_time_ms, delete_row_count;
  int8_t source;
  bool has_creation_time, has_delete_row_count, has_source;
  bool is_add;
  bool may_match; /* the value filter, on primary-key tables that prune by bucket */
} tn_scan_entry;

/* A manifest to read. */
typedef struct tn_manifest_ref {
  const char *name;
  int64_t size_bytes, n_added, n_deleted;
} tn_manifest_ref;

/* Manifests to read, in the order of their lists. */
typedef struct tn_manifest_refs {
  tn_manifest_ref *items;
  size_t count, capacity;
} tn_manifest_refs;

/* Add an entry of a manifest list; its name is copied. Errors: LIMIT, NOMEM. */
TN_CHECKED tarn_status tn_manifest_refs_add(tn_manifest_refs *refs, tn_arena *arena,
                                            const tn_manifest_file *manifest, tarn_error *err);

/* How the files of manifests and of their lists are read. */
extern const tn_record_readers tn_plan_readers;

/* Add the manifests of a snapshot's state that hold entries and may match; names in the arena.
 * Errors: NOT_FOUND (a list is gone), CORRUPT, IO, LIMIT, NOMEM. */
TN_CHECKED tarn_status tn_manifest_refs_read(tn_manifest_refs *refs, tn_table *table,
                                             const tn_snapshot *snapshot,
                                             const tn_scan_filter *filter, tn_arena *arena,
                                             tarn_error *err);

typedef struct tn_entries_request {
  tn_table *table;
  const tn_scan_filter *filter;
  const tn_manifest_ref *manifests;
  int32_t n_manifests;
  int32_t max_threads;  /* 0: as the pool has */
  bool hides_level_0;   /* entries of level 0 are counted, not given */
  bool hides_postpone;  /* entries of bucket -2 likewise */
  bool prunes_by_value; /* the value filter drops single files (else: only marks them) */
  bool keeps_stats;
  bool is_changes; /* E3 */
  bool has_bucket; /* only this bucket: */
  int32_t bucket;
  bool has_min_creation;   /* only files created since: */
  int64_t min_creation_ms; /* milliseconds since 1970; files without a time are kept */
  const tn_map *without;   /* partitions, by their bytes, that are left out; NULL: none */
  int64_t row_limit;       /* stop when so many rows are found; -1: none */
  const tarn_cancel *cancel;
} tn_entries_request;

typedef struct tn_entries {
  tn_mem *mem;
  struct tn_scan_worker **workers;
  int32_t n_workers;
  const tn_scan_entry **items; /* live entries, E1 */
  int64_t count;
  int64_t n_manifests_read;
  int64_t hidden_level_0, hidden_level_0_rows, hidden_postpone, hidden_postpone_rows;
} tn_entries;

/* Errors: NOT_FOUND (a manifest is gone), CORRUPT, IO, CANCELLED, UNSUPPORTED, NOMEM.
 * out: tn_entries_reset(), also after a failure. */
TN_CHECKED tarn_status tn_entries_read(const tn_entries_request *request, tn_entries *out,
                                       tarn_error *err);
void tn_entries_reset(tn_entries *entries);
/* Hand over the arenas that entries point into (names, keys, partitions); the chunks of entries
 * stay. arenas: n_workers of them. */
void tn_entries_take_arenas(tn_entries *entries, tn_arena *arenas);

/* Do two entries name one file: partition, bucket, level, name, and what is kept beside it
 * (spec: manifest, 6)? */
bool tn_scan_entry_same(const tn_scan_entry *a, const tn_scan_entry *b);
/* The whole record of an entry; pointers stay those of the entry. */
void tn_scan_entry_file(const tn_scan_entry *entry, tn_data_file *out);

#endif
