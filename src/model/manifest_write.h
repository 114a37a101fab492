/* manifest_write.h - manifest lists, manifests and index manifests under construction.
 *
 * A file of the format room's record writer, with the Avro schemas of Java 1.4.2, which every
 * reader takes. Files grow in memory, so that whoever rolls them knows their size.
 *
 * Rule: org.apache.paimon.manifest.{ManifestFileMeta,ManifestEntry,IndexManifestEntry}Serializer;
 * spec: manifest, 1 and 3 to 5.
 */
#ifndef TN_MODEL_MANIFEST_WRITE_H
#define TN_MODEL_MANIFEST_WRITE_H

#include "model/manifest.h"

#define TN_MANIFEST_VERSION 2 /* of records of lists and manifests */
#define TN_INDEX_MANIFEST_VERSION 1

typedef enum tn_manifest_kind { TN_MANIFEST_LIST, TN_MANIFEST, TN_INDEX_MANIFEST } tn_manifest_kind;

typedef struct tn_manifest_writer {
  const tn_record_writer_ops *ops;
  tn_record_writer *records; /* owned */
  int64_t n_records;
} tn_manifest_writer;

/* `writer` is all zero after a failure. compression: a value of manifest.compression. Errors:
 * UNSUPPORTED (the compression, by name), NOMEM. */
TN_CHECKED tarn_status tn_manifest_writer_begin(tarn_env *env, const tn_record_writer_ops *ops,
                                                tn_manifest_kind kind, const char *compression,
                                                tn_manifest_writer *writer, tarn_error *err);
/* Append a record of the writer's kind; its version is not looked at. Statistics without bytes are
 * written as those of no column. Errors: NOMEM, LIMIT, UNSUPPORTED (what the schema of 1.4.2 cannot
 * hold, by name). */
TN_CHECKED tarn_status tn_manifest_writer_add_file(tn_manifest_writer *writer,
                                                   const tn_manifest_file *record, tarn_error *err);
TN_CHECKED tarn_status tn_manifest_writer_add_entry(tn_manifest_writer *writer,
                                                    const tn_manifest_entry *record,
                                                    tarn_error *err);
TN_CHECKED tarn_status tn_manifest_writer_add_index(tn_manifest_writer *writer,
                                                    const tn_index_entry *record, tarn_error *err);
/* Bytes so far. */
int64_t tn_manifest_writer_size(const tn_manifest_writer *writer);
/* The whole file; valid until the end. */
TN_CHECKED tarn_status tn_manifest_writer_finish(tn_manifest_writer *writer, tn_slice *file,
                                                 tarn_error *err);
/* Accepts an all-zero writer, and leaves one. */
void tn_manifest_writer_end(tn_manifest_writer *writer);

/* Which fields of a file's records go where in its struct (manifest.c). */
const tn_record_field *tn_manifest_fields(tn_manifest_kind kind, int32_t *n_fields);

#endif
