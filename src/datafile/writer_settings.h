/* writer_settings.h - options of tables as settings of the writers of file formats.
 *
 * Rule: CoreOptions (file.compression, file.compression.zstd-level, file.block-size), and the keys
 * that go to the writer of a format as they are ("parquet.page.size"; org.apache.parquet.hadoop.
 * ParquetOutputFormat, org.apache.paimon.format.avro.AvroFileFormat).
 */
#ifndef TN_DATAFILE_WRITER_SETTINGS_H
#define TN_DATAFILE_WRITER_SETTINGS_H

#include "format/writer.h"
#include "model/options.h"

/* format: "parquet", "avro". compression: that of 'file.compression', which an option of the format
 * may overrule. Texts in out are borrowed from the options.
 * Errors: INVALID (a value that does not parse), UNSUPPORTED (a layout that we do not write; both
 * name the option). */
TN_CHECKED tarn_status tn_writer_settings(const tn_options *options, const char *format,
                                          const char *compression, tn_write_options *out,
                                          tarn_error *err);
/* Is a key that begins with the name of a format one of those that are obeyed? */
bool tn_writer_settings_know(const char *key);

#endif
