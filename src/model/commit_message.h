/* commit_message.h - what a writer hands to a committer, and what a committer keeps until it is
 * committed, as values and as Java's bytes.
 *
 * Rule: org.apache.paimon.table.sink.{CommitMessageImpl,CommitMessageSerializer},
 * manifest.ManifestCommittableSerializer; spec: wire, 5 and 6.
 */
#ifndef TN_MODEL_COMMIT_MESSAGE_H
#define TN_MODEL_COMMIT_MESSAGE_H

#include "model/manifest.h"
#include "model/snapshot.h"

#define TN_COMMIT_MESSAGE_VERSION 11 /* of Paimon 1.4; written */
#define TN_COMMITTABLE_VERSION 5     /* of Paimon 1.4; written */

typedef struct tn_data_files {
  tn_data_file *items;
  int32_t n;
} tn_data_files;

/* kind, partition and bucket of the entries are those of the message. */
typedef struct tn_index_files {
  tn_index_entry *items;
  int32_t n;
} tn_index_files;

/* What happened to the files of one bucket. The first part becomes an APPEND (or OVERWRITE)
 * snapshot, the second a COMPACT one. */
typedef struct tn_commit_message {
  tn_slice partition; /* BinaryRow with arity prefix */
  int32_t bucket;
  int32_t total_buckets; /* of the table when it was written */
  bool has_total_buckets;

  tn_data_files new_files, deleted_files, changelog_files;
  tn_index_files new_indexes, deleted_indexes;

  tn_data_files compact_before, compact_after, compact_changelog;
  tn_index_files compact_new_indexes, compact_deleted_indexes;
} tn_commit_message;

/* Append the bytes of TN_COMMIT_MESSAGE_VERSION, which do not tell their version. Errors: NOMEM,
 * LIMIT, UNSUPPORTED (metadata of Paimon 2, which would be lost). */
TN_CHECKED tarn_status tn_commit_message_encode(const tn_commit_message *message, tn_buf *out,
                                                tarn_error *err);
/* Of versions 3 (Paimon 0.9) to 13. Bytes are borrowed; arrays go to the arena. Untrusted. Errors:
 * CORRUPT, UNSUPPORTED (other versions), NOMEM. */
TN_CHECKED tarn_status tn_commit_message_decode(tn_slice bytes, int32_t version, tn_arena *arena,
                                                tn_commit_message *out, tarn_error *err);

/* All messages of one commit (ManifestCommittable). */
typedef struct tn_committable {
  int64_t identifier;
  int64_t watermark;
  bool has_watermark;
  tn_property *properties;
  int32_t n_properties;
  tn_commit_message *messages;
  int32_t n_messages;
} tn_committable;

/* The same for TN_COMMITTABLE_VERSION; versions 2 to 5 are read. */
TN_CHECKED tarn_status tn_committable_encode(const tn_committable *committable, tn_buf *out,
                                             tarn_error *err);
TN_CHECKED tarn_status tn_committable_decode(tn_slice bytes, int32_t version, tn_arena *arena,
                                             tn_committable *out, tarn_error *err);

#endif
