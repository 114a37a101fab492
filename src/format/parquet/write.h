/* write.h - Parquet files written: the operations for format/writer.h.
 *
 * Files are as Java 1.4.2 writes them (spec: datafiles, 3): format version 1 with data pages V1,
 * dictionaries with fall-back to plain values, CRCs of pages, column and offset indexes, the same
 * schema with field ids on every level. Different are created_by, INT96 before 1970 (whose
 * nanoseconds of day are never negative), bounds of floats (both zeros, no NaN), and what readers
 * do not need (deprecated bounds, histograms of levels).
 */
#ifndef TN_FORMAT_PARQUET_WRITE_H
#define TN_FORMAT_PARQUET_WRITE_H

#include "format/writer.h"

extern const tn_format_writer_ops tn_parquet_writer_ops;

#endif
