/* parts_writer.h - rows whose columns lie in several files: a data file, and beside it files of
 * BLOBs and of vectors. For this room only.
 *
 *   data file   [ 0 ................. 999 ][ 1000 ... 1702 ]   when it ends,
 *   BLOB a      [ 0 .. 371 ][ 372 ... 999 ][ 1000 ... 1702 ]   all of its rows' other files do
 *   vectors     [ 0 ................. 999 ][ 1000 ... 1702 ]
 *
 * Files are told in the order data file, files of each BLOB column, of vectors: row ids of a commit
 * follow from that. Rule: org.apache.paimon.append.{DedicatedFormatRollingFileWriter,
 * MultipleBlobFileWriter}; spec: datafiles, 8 "blob".
 */
#ifndef TN_DATAFILE_PARTS_WRITER_H
#define TN_DATAFILE_PARTS_WRITER_H

#include "datafile/write_shape.h"

#define TN_ROLL_CHECK_ROWS 1000 /* RollingFileWriter.CHECK_ROLLING_RECORD_CNT */

typedef struct tn_parts_writer tn_parts_writer;

/* request: of a shape with parts. */
TN_CHECKED tarn_status tn_parts_writer_create(const tn_data_writer_request *request,
                                              tn_parts_writer **out, tarn_error *err);
/* BLOBs that are descriptors become the bytes that they refer to. Errors: those of
 * tn_blob_resolve(); INVALID (a BLOB kept as descriptor that is none). */
TN_CHECKED tarn_status tn_parts_writer_write(tn_parts_writer *writer, const tn_batch *batch,
                                             tarn_error *err);
/* Of the open data file: those beside it hold next to nothing in memory. */
int64_t tn_parts_writer_size(const tn_parts_writer *writer);
TN_CHECKED tarn_status tn_parts_writer_finish(tn_parts_writer *writer, tn_arena *arena,
                                              tn_data_file **files, int32_t *n_files,
                                              tarn_error *err);
void tn_parts_writer_free(tn_parts_writer *writer); /* accepts NULL; see tn_data_writer_free */

#endif
