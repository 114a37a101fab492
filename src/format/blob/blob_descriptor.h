/* blob_descriptor.h - where the bytes of a BLOB lie.
 *
 *   [u8 version 2][int64 "BLOBDESC"][int32 n][n bytes: URI][int64 offset][int64 length]
 *
 * little-endian; a length of -1 reaches to the end of the file. Columns that are named by option
 * blob-descriptor-field hold descriptors instead of bytes; which of the two a value is, is told by
 * its first bytes. Rule: org.apache.paimon.data.BlobDescriptor; spec: read, 11.
 */
#ifndef TN_FORMAT_BLOB_BLOB_DESCRIPTOR_H
#define TN_FORMAT_BLOB_BLOB_DESCRIPTOR_H

#include "column/vector.h"
#include "io/storage.h"

typedef struct tn_blob_descriptor {
  tn_slice uri;
  int64_t offset, length;
} tn_blob_descriptor;

bool tn_blob_is_descriptor(tn_slice value);
/* Bytes are borrowed. Untrusted. Errors: CORRUPT. */
TN_CHECKED tarn_status tn_blob_descriptor_decode(tn_slice value, tn_blob_descriptor *out,
                                                 tarn_error *err);
/* Bytes of a descriptor with a URI of so many. */
size_t tn_blob_descriptor_bytes(size_t uri_bytes);
/* Write so many bytes. */
void tn_blob_descriptor_encode(const tn_blob_descriptor *descriptor, uint8_t *out);

/* Replace the descriptors among the values of a BYTES vector by what they refer to; other values
 * stay. A vector without descriptors stays as it is, encoded or not. Errors: UNSUPPORTED (a scheme,
 * named), NOT_FOUND, CORRUPT (beyond the end of the file), IO, LIMIT (memory: ask for fewer rows),
 * NOMEM. */
TN_CHECKED tarn_status tn_blob_resolve(tarn_env *env, tn_storage *storage, tn_vec *vec,
                                       tarn_error *err);

#endif
