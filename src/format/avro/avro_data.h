/* avro_data.h - the program that reads rows into columns: its steps, and how it is made. Internal
 * to avro/. */
#ifndef TN_FORMAT_AVRO_AVRO_DATA_H
#define TN_FORMAT_AVRO_AVRO_DATA_H

#include "format/avro/builder.h"
#include "format/avro/container.h"

enum {
  TN_AVRO_DATA_BOOL = TN_AVRO_OP_OWN,
  TN_AVRO_DATA_I8,
  TN_AVRO_DATA_I16,
  TN_AVRO_DATA_I32,
  TN_AVRO_DATA_I64,
  TN_AVRO_DATA_F32,
  TN_AVRO_DATA_F64,
  TN_AVRO_DATA_F64_OF_F32,
  TN_AVRO_DATA_RUN,           /* bytes, string */
  TN_AVRO_DATA_FIXED,         /* n bytes */
  TN_AVRO_DATA_ENUM,          /* the text of a symbol */
  TN_AVRO_DATA_DECIMAL,       /* bytes */
  TN_AVRO_DATA_DECIMAL_FIXED, /* n bytes */
  TN_AVRO_DATA_TIME_MICROS,
  TN_AVRO_DATA_TICKS_UP,   /* a timestamp in coarser units than the column's: times n */
  TN_AVRO_DATA_TICKS_DOWN, /* in finer ones: by n, rounded down */
  TN_AVRO_DATA_TICKS_WIDE, /* into 128 bits, times n */
  TN_AVRO_DATA_LIST,       /* body for an item */
  TN_AVRO_DATA_FIXED_LIST, /* body for an item */
  TN_AVRO_DATA_MAP,        /* bodies of key (text) and value, for an entry */
  TN_AVRO_DATA_STRUCT,     /* body for the fields */
  TN_AVRO_DATA_NULL,
  TN_AVRO_DATA_UNION, /* n branches, a TN_AVRO_OP_BRANCH each follows */
  TN_AVRO_DATA_MISFIT /* a branch of a union that cannot be the column's value */
};

/* Append the steps that read a value of `node` into a column, which is not missing then.
 *
 * path   of the file, for messages
 *
 * Errors: CORRUPT (a type that does not fit), UNSUPPORTED (VARIANT), NOMEM.
 */
TN_CHECKED tarn_status tn_avro_data_emit(tn_avro_program *program, const tn_avro_node *node,
                                         tn_avro_column *col, const char *path, tarn_error *err);

#endif
