/* kinds.h - what a stream of a table gives: its row kinds, and whether it can be streamed at all.
 *
 *   table                           full phase   then                      kinds
 *   without primary key             +I           +I                        INSERT
 *   first-row                       +I           +I                        INSERT
 *   producer none                   +I           rows as written, no -U    UPSERT
 *   producer none, remove-normalize +I           the same, told as ALL     ALL
 *   producer input                  +I           the kinds that came in    ALL
 *   producer lookup, full-comp.     +I           +I, -U, +U, -D            ALL
 *   any, by file-monitor            +I           -D, +I                    ALL
 *
 * (In the full phase a merged row has the kind of its last version, which may be +U.)
 *
 * UPSERT is no complete changelog: who needs -U keeps the rows himself (Flink's
 * ChangelogNormalize).
 *
 * Rule: org.apache.paimon.flink.source.BaseDataTableSource#getChangelogMode, utils.TableScanUtils,
 * flink.source.FlinkSourceBuilder. Spec: streaming-source, 1, 13.
 */
#ifndef TN_STREAM_KINDS_H
#define TN_STREAM_KINDS_H

#include "model/table.h"

typedef enum tn_stream_kinds {
  TN_KINDS_INSERT, /* +I alone */
  TN_KINDS_UPSERT, /* +I, +U, -D by key */
  TN_KINDS_ALL     /* +I, -U, +U, -D */
} tn_stream_kinds;

/* Errors: INVALID (a nullable primary key without a changelog producer). */
TN_CHECKED tarn_status tn_stream_kinds_of(const tn_table *table, tn_stream_kinds *out,
                                          tarn_error *err);

/* stream-scan-mode = file-monitor: a stream of files, not of rows: every snapshot is planned, of
 * any kind, as the files that it removed and those that it added. Who reads them all the same gets
 * -D and +I. */
bool tn_stream_monitors_files(const tn_table *table);

/* Can the table be streamed with these options? Errors: INVALID with Java's words, UNSUPPORTED. */
TN_CHECKED tarn_status tn_stream_check(const tn_table *table, tarn_error *err);
/* A consumer that nobody expires keeps snapshots for ever when its reader is gone. Errors: INVALID
 * (a consumer-id without consumer.expiration-time), as Flink's source; Java's core allows it. */
TN_CHECKED tarn_status tn_stream_check_consumer(const tn_table *table, tarn_error *err);

#endif
