/* finder.h - looking for snapshots of a table by id, time, watermark and kind. Internal.
 *
 * Snapshots may expire meanwhile: ids between earliest and latest are contiguous, searches halve
 * that range, and its lower end moves up when a snapshot vanishes under them. Of snapshots with
 * equal times the last one counts, of equal watermarks the first one.
 *
 * Rule: org.apache.paimon.utils.SnapshotManager, TagManager.
 */
#ifndef TN_PLAN_FINDER_H
#define TN_PLAN_FINDER_H

#include "model/snapshot.h"
#include "model/table.h"

typedef struct tn_finder {
  tn_table *table;
  const char *root;         /* of the branch; the table's own, unless said otherwise */
  tn_arena *arena;          /* of the texts of what is found */
  int64_t earliest, latest; /* ids; 0: the table has no snapshot */
} tn_finder;

/* Find the range of ids; also anew, when what it ended with has gone. */
TN_CHECKED tarn_status tn_finder_init(tn_finder *f, tn_table *table, tn_arena *arena,
                                      tarn_error *err);
/* The same in another branch of the table; `root`, its branch_path, is borrowed. */
TN_CHECKED tarn_status tn_finder_init_branch(tn_finder *f, tn_table *table, const char *root,
                                             tn_arena *arena, tarn_error *err);

/* Snapshot `id`, as asked for by option `key`. Errors: EXPIRED (below the earliest), NOT_FOUND. */
TN_CHECKED tarn_status tn_find_id(tn_finder *f, const char *key, int64_t id, tn_snapshot *out,
                                  tarn_error *err);
/* The earliest snapshot that can still be read; there is one. */
TN_CHECKED tarn_status tn_find_earliest(tn_finder *f, tn_snapshot *out, tarn_error *err);
/* The latest one; *found false: the table has none (any more). */
TN_CHECKED tarn_status tn_find_latest(tn_finder *f, bool *found, tn_snapshot *out, tarn_error *err);
/* The last snapshot with time <= ms. *found false: there is none; *out is then the earliest one, if
 * the table has any. */
TN_CHECKED tarn_status tn_find_time(tn_finder *f, int64_t ms, bool *found, tn_snapshot *out,
                                    tarn_error *err);
/* The first snapshot with watermark >= mark. */
TN_CHECKED tarn_status tn_find_watermark(tn_finder *f, int64_t mark, bool *found, tn_snapshot *out,
                                         tarn_error *err);
/* The last snapshot for which test(ctx, s); *found false: none, or all that are have gone. */
TN_CHECKED tarn_status tn_find_last(tn_finder *f,
                                    bool (*test)(const void *ctx, const tn_snapshot *s),
                                    const void *ctx, bool *found, tn_snapshot *out,
                                    tarn_error *err);
/* The snapshot of a tag. */
TN_CHECKED tarn_status tn_find_tag(tn_finder *f, const char *name, tn_snapshot *out,
                                   tarn_error *err);

/* A text of an option as a point in time, in the session's zone: milliseconds since 1970. */
TN_CHECKED tarn_status tn_find_parse_time(const tn_finder *f, const char *key, const char *text,
                                          int64_t *ms, tarn_error *err);
/* Java's Long.parseLong. */
bool tn_find_parse_id(const char *text, int64_t *out);

#endif
