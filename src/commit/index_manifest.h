/* index_manifest.h - the complete list of index files behind a commit. Internal.
 *
 * Rule: org.apache.paimon.manifest.IndexManifestFileHandler; spec: manifest, 5.
 */
#ifndef TN_COMMIT_INDEX_MANIFEST_H
#define TN_COMMIT_INDEX_MANIFEST_H

#include "commit/changes.h"

/* The entries of an index manifest, in full; NULL: none. */
TN_CHECKED tarn_status tn_index_list_read(tn_table *table, const char *name, tn_arena *arena,
                                          tn_index_list *out, tarn_error *err);
/* The index manifest of a snapshot: `before` (NULL: none) and what changes. Without changes *name
 * is `before`. Errors: CONFLICT (in Java's words: a file that is there already, or is not). */
TN_CHECKED tarn_status tn_index_manifest_combine(tn_commit_job *job, const char *before,
                                                 const tn_index_list *changes, tn_arena *arena,
                                                 const char **name, tarn_error *err);

#endif
