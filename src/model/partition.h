/* partition.h - partition values as text, as folders, as rows.
 *
 * Rule: org.apache.paimon.utils.{PartitionPathUtils,InternalRowPartitionComputer}; spec: layout, 2.
 */
#ifndef TN_MODEL_PARTITION_H
#define TN_MODEL_PARTITION_H

#include "column/binary_row.h"
#include "model/table.h"

/* The values of a partition row (arity-prefixed bytes), in partition key order; arena. */
TN_CHECKED tarn_status tn_partition_values(tn_arena *arena, const tn_schema *schema,
                                           tn_slice partition, tn_datum **out, tarn_error *err);
/* Append "k1=v1/k2=v2/" (nothing for an unpartitioned table), escaped as Java does.
 * UNSUPPORTED: a BINARY key under legacy names (its folder cannot be known). */
TN_CHECKED tarn_status tn_partition_path(const tn_table *table, tn_slice partition, tn_buf *out,
                                         tarn_error *err);
/* The full path of the bucket's folder: root [/ data-file.path-directory] / partition / bucket-n.
 */
TN_CHECKED tarn_status tn_bucket_path(const tn_table *table, tn_slice partition, int32_t bucket,
                                      tn_buf *out, tarn_error *err);
/* The same, put into the arena. */
TN_CHECKED tarn_status tn_bucket_folder(const tn_table *table, tn_slice partition, int32_t bucket,
                                        tn_arena *arena, const char **out, tarn_error *err);
/* "k1=v1/k2=v2", unescaped, for people and JSON; "" when unpartitioned. Values are cast to STRING
 * whatever partition.legacy-name says, as in $partitions. */
TN_CHECKED tarn_status tn_partition_text(const tn_table *table, tn_slice partition, tn_buf *out,
                                         tarn_error *err);

#endif
