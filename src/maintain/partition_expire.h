/* partition_expire.h - partitions that are too old are dropped.
 *
 * Rule: org.apache.paimon.operation.PartitionExpire, partition.*; spec: commit, 13.
 */
#ifndef TN_MAINTAIN_PARTITION_EXPIRE_H
#define TN_MAINTAIN_PARTITION_EXPIRE_H

#include "base/cancel.h"
#include "model/table.h"

/* When partitions expire, by the table's options. Immutable once made. */
typedef struct tn_partition_rule {
  const tn_table *table;
  bool is_set;    /* the table is partitioned and has partition.expiration-time */
  bool by_values; /* by the time that its values tell; else by that of its newest file */
  int64_t age_ms;
  const char *pattern;   /* NULL: the first column */
  const char *formatter; /* NULL: Java's default */
} tn_partition_rule;

/* Errors: INVALID (a strategy that is none), UNSUPPORTED (a formatter that is not understood). */
TN_CHECKED tarn_status tn_partition_rule_init(tn_partition_rule *rule, const tn_table *table,
                                              tarn_error *err);
/* Has a partition (its bytes) expired by its values at a local time? *knows false: they tell no
 * time, or the rule is not by values. */
TN_CHECKED tarn_status tn_partition_rule_test(const tn_partition_rule *rule, tn_slice partition,
                                              int64_t local_ms, bool *knows, bool *is_expired,
                                              tarn_error *err);

/* Drop them by OVERWRITE commits of this user and identifier, partition.expiration-max-num at most.
 * *n_expired: partitions (may be NULL). Errors: those of the rule, of reading, of committing. */
TN_CHECKED tarn_status tn_partitions_expire(tn_table *table, const char *user, int64_t identifier,
                                            const tarn_cancel *cancel, int64_t *n_expired,
                                            tarn_error *err);

#endif
