/* inspect_parts.h - what the files of inspect share. Internal to api/. */
#ifndef TN_API_INSPECT_PARTS_H
#define TN_API_INSPECT_PARTS_H

#include "api/handles.h"

typedef struct tn_inspection {
  tarn_env *env;
  tn_storage *storage; /* owned */
  const char *path;    /* plain */
  const char *name;    /* behind the last slash */
  tn_file *file;       /* owned */
  uint8_t head[4];     /* first bytes; zero behind a shorter file */
  tn_buf *out;         /* the JSON object; NULL when rows are wanted */
} tn_inspection;

/* Files of indexes, by their bytes. */
typedef enum tn_index_file {
  TN_INDEX_FILE_NONE,
  TN_INDEX_FILE_VECTORS, /* deletion vectors */
  TN_INDEX_FILE_COLUMNS, /* file index */
  TN_INDEX_FILE_HASHES   /* of a dynamic bucket */
} tn_index_file;

tn_index_file tn_inspect_index_kind(const tn_inspection *in, tn_slice bytes);
/* Append "kind" and more. Errors: CORRUPT. */
TN_CHECKED tarn_status tn_inspect_index(const tn_inspection *in, tn_index_file kind, tn_slice bytes,
                                        tarn_error *err);
/* Rows of deletion vectors (offset of the vector, deleted position) and of hash indexes (hash).
 * Takes the bytes. Errors: UNSUPPORTED (a file index has none), CORRUPT. */
TN_CHECKED tarn_status tn_inspect_index_rows(const tn_inspection *in, tn_index_file kind,
                                             tn_buf *bytes, tn_api_file_rows *rows,
                                             tarn_error *err);

#endif
