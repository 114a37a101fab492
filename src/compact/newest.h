/* newest.h - the table with its latest schema, for jobs that were opened with an older one.
 *
 * Somebody adds a column, or widens one, while a writer or a compaction runs, and writes rows.
 * Files of such a schema hold what an older one has no place for: a rewrite with that would lose it
 * for good. So who rewrites files first sees to it that no file is newer than its table.
 *
 * Rule: none of Java's, which rewrites with the schema that the job was opened with.
 */
#ifndef TN_COMPACT_NEWEST_H
#define TN_COMPACT_NEWEST_H

#include "model/table.h"

/* *out: the table itself, or, if files are of a newer schema than its own, one of the latest schema
 * with its options; what the caller had set beside the schema stays. Release it. files_id: the
 * newest schema of the files. Errors: those of tn_schema_load and tn_table_create. */
TN_CHECKED tarn_status tn_table_renew(tn_table *table, int64_t files_id, tn_table **out,
                                      tarn_error *err);

/* Can a writer that has begun with the one go on with files of the other? Else STATE, which says
 * what has changed: keys, buckets, or how rows are merged and changes are told. */
TN_CHECKED tarn_status tn_table_check_alike(const tn_table *before, const tn_table *now,
                                            tarn_error *err);

#endif
