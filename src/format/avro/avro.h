/* avro.h - the door of the Avro room: container files of data and of records. */
#ifndef TN_FORMAT_AVRO_AVRO_H
#define TN_FORMAT_AVRO_AVRO_H

#include "column/record.h"
#include "format/format.h"

extern const tn_format_ops tn_avro_format;

/* A tn_record_read_fn. */
TN_CHECKED tarn_status tn_avro_read_records(tarn_env *env, tn_slice file, const char *path,
                                            const tn_record_field *fields, int32_t n_fields,
                                            size_t record_bytes, tn_record_sink sink, void *ctx,
                                            tarn_error *err);

#endif
