/* snapshot_write.h - the bytes of snapshot, tag, changelog and consumer files, and of hints, as
 * Java 1.4.2 writes them.
 *
 * Rule: org.apache.paimon.{Snapshot,Changelog}, tag.Tag, consumer.Consumer, utils.HintFileUtils;
 * spec: snapshot-schema, 0, 1, 3 to 5; layout, 3.
 */
#ifndef TN_MODEL_SNAPSHOT_WRITE_H
#define TN_MODEL_SNAPSHOT_WRITE_H

#include "model/snapshot.h"

/* Append a snapshot, changelog or tag: what is unset is left out (sizes of lists: -1). The members
 * of tags come when has_tag_create or has_tag_retained is set: a tag without retention has
 * neither. Errors: NOMEM, LIMIT. */
TN_CHECKED tarn_status tn_snapshot_encode(const tn_snapshot *snapshot, tn_buf *out,
                                          tarn_error *err);
TN_CHECKED tarn_status tn_consumer_encode(int64_t next_snapshot, tn_buf *out, tarn_error *err);

/* Set a hint: <root>/<folder>/<name> gets the id. folder: "snapshot", "changelog"; name: "LATEST",
 * "EARLIEST". It is replaced, not synced: a hint that is lost costs a listing. */
TN_CHECKED tarn_status tn_hint_write(tn_storage *storage, const char *root, const char *folder,
                                     const char *name, int64_t id, tarn_error *err);
/* A hint that is not there is fine. */
TN_CHECKED tarn_status tn_hint_remove(tn_storage *storage, const char *root, const char *folder,
                                      const char *name, tarn_error *err);

#endif
