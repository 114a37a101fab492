/* options.h - what a table's options say about compaction, as values.
 *
 * Defaults that depend on other options are worked out, and bounds that Java sets are applied.
 * Rule: org.apache.paimon.CoreOptions (1.4.2), mergetree.compact.OffPeakHours,
 * io.RecordLevelExpire. Spec: compaction, 1-5, 11, 13.
 */
#ifndef TN_COMPACT_OPTIONS_H
#define TN_COMPACT_OPTIONS_H

#include "model/table.h"

typedef enum tn_lookup_compact {
  TN_LOOKUP_COMPACT_RADICAL, /* each try compacts level 0 */
  TN_LOOKUP_COMPACT_GENTLE   /* each max_interval-th try does */
} tn_lookup_compact;

/* What the time column of record-level expiry counts. */
typedef enum tn_expiry_unit {
  TN_EXPIRY_SECONDS,      /* INT */
  TN_EXPIRY_BY_SIZE,      /* BIGINT: milliseconds from 1,000,000,000,000 on, else seconds */
  TN_EXPIRY_TIMESTAMP,    /* TIMESTAMP, a local time */
  TN_EXPIRY_TIMESTAMP_LTZ /* an instant */
} tn_expiry_unit;

/* Hours of the day in local time, 0 to 23; both -1 or equal: there is no window. */
typedef struct tn_off_peak {
  int32_t start_hour, end_hour; /* the start is in it, the end is not; it may wrap midnight */
  int32_t ratio;                /* percent, added to size_ratio within the window */
} tn_off_peak;

typedef struct tn_compact_options {
  /* The tree. */
  int32_t num_levels;   /* at least 2 for primary-key tables; a tree may have more (levels.h) */
  int32_t trigger;      /* sorted runs that set a compaction off */
  int32_t stop_trigger; /* more runs than this: the writer waits; >= trigger */
  int32_t size_ratio;   /* percent */
  int32_t size_amplification; /* percent */
  tn_off_peak off_peak;
  bool checks_overlap; /* files of a level above 0 must not overlap; not with
                          pk-clustering-override */

  /* Early full compaction; has_...: it is set. */
  int64_t optimization_interval_ms, total_size_threshold, incremental_size_threshold; /* bytes */
  bool has_optimization_interval, has_total_size_threshold, has_incremental_size_threshold;

  /* Level 0 goes up with every pick: the table needs lookup, or compaction.force-up-level-0. */
  bool force_up_level_0;
  bool needs_lookup;                /* as in tn_table_facts */
  bool deletion_vectors;            /* as in tn_table_facts */
  tn_lookup_compact lookup_compact; /* RADICAL when the table does not need lookup */
  int32_t lookup_max_interval;      /* tries, of GENTLE; >= trigger */
  bool lookup_wait;

  /* Files. */
  int64_t target_file_bytes;
  int64_t small_file_bytes; /* files below this are rewritten together with their neighbours */
  bool force_rewrite_all_files;
  int32_t sort_spill_threshold; /* readers of a section that are merged without spilling; >= 2 */
  bool write_only;

  /* Changelog made by compaction. */
  tn_changelog_producer changelog_producer;
  int32_t delta_commits; /* full-compaction.delta-commits; 0: not set */
  bool row_deduplicate;
  int32_t *ignored_columns; /* of row_deduplicate: fields of the effective schema */
  int32_t n_ignored_columns;

  /* Record-level expiry. */
  bool has_record_expiry;
  int64_t expire_seconds;
  int32_t time_column; /* a field of the effective schema */
  tn_expiry_unit time_unit;

  /* Append tables. */
  int32_t append_min_files;
  double delete_ratio; /* compaction.delete-ratio-threshold */
  int32_t file_num_limit;
  int64_t open_file_bytes; /* source.split.open-file-cost */
  bool append_is_ordered;  /* bucket-append-ordered */
} tn_compact_options;

/* Read them all; lists go to the arena, which must outlive *out. Dynamic options of the table
 * count. Errors: INVALID (values that do not parse, "Number of levels must be at least 2.", "The
 * sort spill threshold cannot be smaller than 2.", "You should set time field for record-level
 * expire.", a time field that is none or of another type), UNSUPPORTED (a time field that the
 * effective schema lacks). */
TN_CHECKED tarn_status tn_compact_options_read(const tn_table *table, tn_arena *arena,
                                               tn_compact_options *out, tarn_error *err);

/* What Java's writers and compactions of primary-key tables check of their lookup cache, which is
 * not this one: INVALID. Rule: org.apache.paimon.io.cache.CacheManager. */
TN_CHECKED tarn_status tn_compact_check_cache(const tn_table *table, tarn_error *err);

/* Percent that a run may be larger than the newer ones: size_ratio, more in off-peak hours. */
int64_t tn_compact_size_ratio(const tn_compact_options *options, int32_t local_hour);

#endif
