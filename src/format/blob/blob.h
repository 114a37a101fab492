/* blob.h - files of BLOB values: records one behind the other, and an index of their lengths.
 *
 *   record   [int32 1481511375][bytes][int64 length of the record][int32 CRC-32 of all before]
 *   ...
 *   index    length of each record, -1: null, no record; -2: placeholder, no record
 *            as first value and differences, zigzag varints
 *   tail     [int32 bytes of the index][u8 version 1]                   little-endian throughout
 *
 * A file has one column without a name; whatever column is asked for is that one. Values come as
 * bytes, whose checksums are tested, or as descriptors (blob_descriptor.h), for which no record is
 * read. A batch holds at most the 32nd part of the budget, but one value. Records are written as
 * they come: a writer holds the index alone.
 * Rule: org.apache.paimon.format.blob.*; spec: datafiles, 8 "blob".
 */
#ifndef TN_FORMAT_BLOB_BLOB_H
#define TN_FORMAT_BLOB_BLOB_H

#include "format/writer.h"

extern const tn_format_ops tn_blob_format;
/* Files of one column of bytes; options have no effect. Not found by name: no table has all of its
 * columns in such files. */
extern const tn_format_writer_ops tn_blob_writer;

#endif
