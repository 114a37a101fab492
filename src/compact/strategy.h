/* strategy.h - which files of a bucket are compacted next, onto which level, and why.
 *
 * Universal compaction, level 0 forced up for tables that need lookup, early full compaction. A
 * pick is always the newest runs up to some run, and never goes to level 0: lower levels stay the
 * newer ones. State and picks of one bucket belong to one thread at a time.
 * Rule: org.apache.paimon.mergetree.compact.UniversalCompaction, ForceUpLevel0Compaction,
 * EarlyFullCompaction, CompactStrategy, MergeTreeCompactManager, as of 1.4.2. Spec: compaction,
 * 2-5 and 8.
 */
#ifndef TN_COMPACT_STRATEGY_H
#define TN_COMPACT_STRATEGY_H

#include "compact/levels.h"
#include "compact/options.h"

typedef enum tn_pick_reason {
  TN_PICK_NONE,
  TN_PICK_INTERVAL,         /* early full: the last full one is too long ago */
  TN_PICK_TOTAL_SIZE,       /* early full: the bucket is small */
  TN_PICK_INCREMENTAL_SIZE, /* early full: much lies above the top level */
  TN_PICK_SIZE_AMPLIFICATION,
  TN_PICK_SIZE_RATIO,
  TN_PICK_FILE_NUM,
  TN_PICK_LEVEL_0,          /* forced up */
  TN_PICK_FULL,             /* asked for */
  TN_PICK_REWRITE_ALL,      /* asked for; the only run is on the top level: force-rewrite-all */
  TN_PICK_EXPIRED_ROWS,     /* likewise: files with expired records */
  TN_PICK_DELETION_VECTORS, /* likewise: files with a deletion vector */
  TN_PICK_REASONS
} tn_pick_reason;

typedef struct tn_compact_unit {
  tn_pick_reason reason; /* NONE: there is nothing to do, and no files */
  int32_t output_level;
  const tn_data_file **files; /* newest run first, then by key */
  int64_t n_files, n_runs, size_bytes;
  bool is_file_rewrite; /* each file is rewritten alone */
  bool drops_deletes;   /* merged records that are deletes are not written */
  /* The numbers that decided, in the unit of the reason: see tn_compact_unit_text. */
  int64_t total_runs, measured, limit;
} tn_compact_unit;

typedef struct tn_strategy {
  const tn_compact_options *options; /* of the caller */
  int64_t last_full_ms;              /* when has_full */
  bool has_full;  /* a full pick since the strategy was made: a fresh one has had none */
  int32_t n_idle; /* GENTLE: tries that found nothing */
  int64_t n_picks[TN_PICK_REASONS];
} tn_strategy;

void tn_strategy_init(tn_strategy *strategy, const tn_compact_options *options);

/* Pick by the rules. The list of files is in the arena; what it points to is the levels' caller's.
 * A single file that already is on the output level is no unit. local_hour: 0 to 23.
 * Errors: NOMEM (state is as if the try had been made). */
TN_CHECKED tarn_status tn_strategy_pick(tn_strategy *strategy, const tn_levels *levels,
                                        int64_t now_ms, int32_t local_hour, tn_arena *arena,
                                        tn_compact_unit *out, tarn_error *err);

/* What a full compaction asks of the files when only the top level has some; NULL: no file. */
typedef struct tn_file_checks {
  void *ctx;
  bool (*has_expired_rows)(void *ctx, const tn_data_file *file);
  bool (*has_vector)(void *ctx, const tn_data_file *file);
} tn_file_checks;

/* A full compaction is asked for. Errors: NOMEM. */
TN_CHECKED tarn_status tn_strategy_pick_full(tn_strategy *strategy, const tn_levels *levels,
                                             const tn_file_checks *checks, tn_arena *arena,
                                             tn_compact_unit *out, tarn_error *err);

/* Does the writer wait for the running compaction before it writes on; before it prepares a commit?
 * A write-only writer never does. */
bool tn_compact_waits_for_latest(const tn_compact_options *options, const tn_levels *levels);
bool tn_compact_waits_for_commit(const tn_compact_options *options, const tn_levels *levels);
/* Is there something that a commit has to wait for, with lookup-wait: a task, or a level 0 that is
 * to go up? */
bool tn_compact_is_pending(const tn_compact_options *options, const tn_levels *levels,
                           bool is_running);

/* "size-amplification", for logs, plans and counters. */
const char *tn_pick_reason_text(tn_pick_reason reason);
/* "reason=size-ratio runs=4/5 files=4 bytes=400 output-level=4 ...", NUL-terminated, cut to size.
 */
void tn_compact_unit_text(const tn_compact_unit *unit, char *out, size_t size);

#endif
