/* statistics.h - the table statistics that an ANALYZE commit leaves, both ways.
 *
 * Rule: org.apache.paimon.stats.{Statistics,ColStats}; spec: snapshot-schema, 6.
 */
#ifndef TN_MODEL_STATISTICS_H
#define TN_MODEL_STATISTICS_H

#include "base/arena.h"
#include "base/buf.h"

/* Numbers are -1 and texts NULL when unknown. */
typedef struct tn_column_statistics {
  const char *name;
  int32_t field_id;
  int64_t distinct_count, null_count, avg_len, max_len;
  const char *min, *max; /* as SQL casts them to text; DATE: days since 1970 */
} tn_column_statistics;

typedef struct tn_statistics {
  int64_t snapshot_id, schema_id;
  int64_t merged_record_count, merged_record_size; /* -1: unknown */
  tn_column_statistics *columns;
  int32_t n_columns;
} tn_statistics;

/* Errors: CORRUPT (path and key), NOMEM. Texts go to the arena. */
TN_CHECKED tarn_status tn_statistics_decode(tn_mem *mem, tn_arena *arena, tn_slice json,
                                            const char *path, tn_statistics *out, tarn_error *err);
/* Append the file as Java 1.4.2 writes it. */
TN_CHECKED tarn_status tn_statistics_encode(const tn_statistics *statistics, tn_buf *out,
                                            tarn_error *err);

#endif
