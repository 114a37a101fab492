/* arrow.h - vectors and schemas to and from the Arrow C data interface.
 *
 * The table of types is in docs/arch/arrow.md. Field ids travel as field metadata "paimon.id"
 * (nested fields too), the SQL type of every column as "paimon.type". What is exported owns itself:
 * it may be moved apart and released by any thread, as the interface allows, but before the
 * environment is freed.
 */
#ifndef TN_COLUMN_ARROW_H
#define TN_COLUMN_ARROW_H

#include "column/vector.h"
#include "tarn/arrow.h"

typedef struct tn_arrow_options {
  /* How TIMESTAMP(7-9) is given; neither: as int64 nanoseconds, which end in 1677 and 2262. */
  bool timestamp_ns_as_us;      /* as microseconds: cuts digits, fits every value */
  bool timestamp_ns_as_decimal; /* as DECIMAL(38, 9), seconds since 1970: nothing is cut, fits every
                                   value; "paimon.type" says TIMESTAMP, of nested fields, too */
} tn_arrow_options;

/* Does timestamp_ns_as_decimal have values of this type? options may be NULL. */
bool tn_arrow_gives_decimal(const tn_type *type, const tn_arrow_options *options);

/* A struct schema of these columns. out->release is set on success only. */
TN_CHECKED tarn_status tn_arrow_export_schema(tarn_env *env, const tn_field *fields,
                                              int32_t n_fields, const tn_arrow_options *options,
                                              struct ArrowSchema *out, tarn_error *err);
/* Move a batch out as a struct array: buffers are handed over, the batch is reset on success and
 * on failure alike. Encoded columns are made flat first. out->release is set on success only.
 * Errors: LIMIT naming the column when a TIMESTAMP(7-9) does not fit int64 nanoseconds, or a
 * TIMESTAMP(0) is not a whole second; UNSUPPORTED naming it when a map has a null key. */
TN_CHECKED tarn_status tn_arrow_export_batch(tarn_env *env, tn_batch *batch,
                                             const tn_arrow_options *options,
                                             struct ArrowArray *out, tarn_error *err);

/* A pair of the metadata of a schema; false: it is not there. The counts are as trusted as the
 * structure. */
bool tn_arrow_metadata(const char *metadata, const char *key, tn_slice *out);

#endif
