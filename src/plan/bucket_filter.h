/* bucket_filter.h - the buckets that rows matching a predicate can be in.
 *
 * A predicate that fixes every bucket-key column to some values fixes the buckets: the hashes of
 * the combinations, modulo the bucket number of the entry (it differs by partition after a
 * rescale). Rule: org.apache.paimon.operation.{BucketSelectConverter,BucketSelector}; spec:
 * scan-plan, 6 "Bucket pruning from predicates".
 */
#ifndef TN_PLAN_BUCKET_FILTER_H
#define TN_PLAN_BUCKET_FILTER_H

#include "column/binary_row.h"
#include "column/predicate.h"
#include "model/table.h"

/* Combinations of values that are hashed at most; more: no pruning. */
#define TN_BUCKET_FILTER_MAX_KEYS 1000

/* The bucket keys of one partition; immutable once made, arena. */
typedef struct tn_bucket_keys {
  bool is_any; /* nothing is known: every bucket may match */
  tn_binary_row *rows;
  int32_t n_rows;
} tn_bucket_keys;

/* Buckets of a bucket number, for one partition; used by one thread. */
typedef struct tn_bucket_set {
  int32_t n_buckets;
  int32_t *buckets; /* ascending */
  int32_t count;
  bool is_any;
  struct tn_bucket_set *next;
} tn_bucket_set;

typedef struct tn_bucket_filter {
  const tn_table *table;
  const tn_pred *predicate;
  bool is_active;        /* false: no pruning at all */
  bool by_partition;     /* the predicate mentions partition columns: keys differ by partition */
  tn_bucket_keys common; /* unless by_partition */
} tn_bucket_filter;

/* Arena: of the scan; borrowed until the filter is no longer used. */
TN_CHECKED tarn_status tn_bucket_filter_init(tn_bucket_filter *filter, const tn_table *table,
                                             const tn_pred *predicate, tn_arena *arena,
                                             tarn_error *err);
/* The keys in a partition whose values are given in partition-key order. */
TN_CHECKED tarn_status tn_bucket_filter_keys(const tn_bucket_filter *filter,
                                             const tn_datum *partition, tn_arena *arena,
                                             tn_bucket_keys *out, tarn_error *err);
/* May a row be in this bucket? *sets is the caller's memory of what was computed before. */
TN_CHECKED tarn_status tn_bucket_filter_test(const tn_bucket_filter *filter,
                                             const tn_bucket_keys *keys, int32_t bucket,
                                             int32_t n_buckets, tn_arena *arena,
                                             tn_bucket_set **sets, bool *out, tarn_error *err);

#endif
