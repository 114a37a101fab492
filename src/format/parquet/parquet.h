/* parquet.h - the door of the Parquet room. */
#ifndef TN_FORMAT_PARQUET_PARQUET_H
#define TN_FORMAT_PARQUET_PARQUET_H

#include "column/record.h"
#include "format/format.h"

extern const tn_format_ops tn_parquet_format;

#endif
