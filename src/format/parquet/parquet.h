/* parquet.h - the Parquet format as a table of calls (format.h tells their contracts).
 *
 * Reads every encoding and codec of the format but LZO, pages of both versions, any nesting, and
 * the types of Paimon from every physical type that may hold them. Refused by name: encrypted
 * files, data in other files, shredded Variants, VECTOR.
 */
#ifndef TN_FORMAT_PARQUET_PARQUET_H
#define TN_FORMAT_PARQUET_PARQUET_H

#include "format/format.h"

extern const tn_format_ops tn_parquet_format;

#endif
