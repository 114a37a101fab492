/* parquet.h - the Parquet format as a table of calls (format.h tells their contracts).
 *
 * Reads every encoding and codec of the format but LZO, pages of both versions, any nesting, and
 * the types of Paimon from every physical type that may hold them. Refused by name: encrypted
 * files, data in other files, VECTOR.
 */
#ifndef TN_FORMAT_PARQUET_PARQUET_H
#define TN_FORMAT_PARQUET_PARQUET_H

#include "column/record.h"
#include "format/format.h"

extern const tn_format_ops tn_parquet_format;

/* A tn_record_read_fn: manifests in Parquet. Errors: CORRUPT, UNSUPPORTED, LIMIT, NOMEM; the
 * sink's. */
TN_CHECKED tarn_status tn_pq_read_records(tarn_env *env, tn_slice file, const char *path,
                                          const tn_record_field *fields, int32_t n_fields,
                                          size_t record_bytes, tn_record_sink sink, void *ctx,
                                          tarn_error *err);

#endif
