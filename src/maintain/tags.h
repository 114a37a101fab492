/* tags.h - tags: names for snapshots, which keep what they need.
 *
 * Invariants
 *   T1  A tag is there whole or not at all; names are taken exclusively.
 *   T2  A tag of a snapshot that is being expired meanwhile is either seen by the expiry or refused
 *       (the expiry moves EARLIEST first and then looks for tags; who tags looks at EARLIEST last).
 *   T3  A deleted tag is gone at once. Where files go with it, it first gets the hidden name
 *       ".tag-<name>.deleted"; it keeps nothing any more, and whoever deletes tags or expires next
 *       completes it.
 *
 * Rule: org.apache.paimon.utils.TagManager, tag.*; spec: commit, 10.
 */
#ifndef TN_MAINTAIN_TAGS_H
#define TN_MAINTAIN_TAGS_H

#include "base/cancel.h"
#include "model/snapshot.h"
#include "model/table.h"

typedef struct tn_tag {
  const char *name;
  tn_snapshot snapshot;
} tn_tag;

/* All tags under a root (branch_path) by id, then name; in the arena. Those that vanish meanwhile
 * are left out. */
TN_CHECKED tarn_status tn_tags_load(tn_table *table, const char *root, tn_arena *arena,
                                    tn_tag **out, int32_t *n_out, tarn_error *err);

/* The bytes of the snapshot file of a tag whose snapshot has expired, appended. A changelog that
 * expired with it is not named: readers of streams would look for it. */
TN_CHECKED tarn_status tn_tag_encode_snapshot(tn_table *table, const tn_snapshot *tag, tn_buf *out,
                                              tarn_error *err);

#define TN_TAG_RETAINED_BY_OPTION INT64_MIN
#define TN_TAG_RETAINED_FOREVER -1

/* snapshot_id 0: the latest; an expired one can be taken from a tag of that id. retained_ms: or one
 * of the above. Errors: EXISTS, INVALID (the name), NOT_FOUND (the snapshot), EXPIRED (it is being
 * expired). */
TN_CHECKED tarn_status tn_tag_create(tn_table *table, const char *name, int64_t snapshot_id,
                                     int64_t retained_ms, tarn_error *err);
/* With the files that only this tag kept. Errors: NOT_FOUND. */
TN_CHECKED tarn_status tn_tag_delete(tn_table *table, const char *name, tarn_error *err);
/* Errors: NOT_FOUND, EXISTS, INVALID. */
TN_CHECKED tarn_status tn_tag_rename(tn_table *table, const char *from, const char *to,
                                     tarn_error *err);
/* Delete tags that are older than their retention. n_expired may be NULL. */
TN_CHECKED tarn_status tn_tags_expire(tn_table *table, int64_t *n_expired, tarn_error *err);
/* Complete deletions that did not end (T3). */
TN_CHECKED tarn_status tn_tags_finish(tn_table *table, tarn_error *err);

/* The tags that tag.automatic-creation asks for by the snapshots that are there (process-time,
 * watermark), and tag.num-retained-max among them. */
TN_CHECKED tarn_status tn_tags_create_automatic(tn_table *table, tarn_error *err);

/* What one committer remembers of tn_tags_force_snapshot(); begins all zero. */
typedef struct tn_tags_due {
  bool has_next;
  int64_t next;     /* the local time that the next tag is of */
  int64_t asked_ms; /* when that was found; 0: never */
  int64_t quiet_ms; /* for so long after it nothing can be due */
} tn_tags_due;

/* Is an automatic tag due that only a snapshot can give? By process time: when a period has ended
 * behind the newest automatic tag, or there is none yet; each tag is asked for once. By watermark:
 * when that of the latest snapshot lies back as long as snapshot.watermark-idle-timeout. Never with
 * write-only. Rule: TagAutoCreation#forceCreatingSnapshot. */
TN_CHECKED tarn_status tn_tags_force_snapshot(tn_table *table, tn_tags_due *due, bool *out,
                                              tarn_error *err);
/* The tag of a batch job (tag.automatic-creation = batch) at the latest snapshot, replacing one of
 * the same name; and tag.num-retained-max among all. */
TN_CHECKED tarn_status tn_tags_create_batch(tn_table *table, tarn_error *err);

#endif
