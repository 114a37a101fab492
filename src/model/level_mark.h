/* level_mark.h - the files above level 0 that a compaction leaves behind, as a number.
 *
 * What comes up from level 0 is looked for in the levels below: a key that another compaction put
 * there meanwhile would be there twice, or be new in the changelog though it is old. No file tells
 * that, as the two have none in common. So the compaction tells which files the levels of its
 * bucket must have with it, and the commit compares.
 *
 * The number travels in the message as an index file of a type of its own that goes: that is where
 * Java's bytes have room, and whoever does not know the type has no such file.
 */
#ifndef TN_MODEL_LEVEL_MARK_H
#define TN_MODEL_LEVEL_MARK_H

#include "model/manifest.h"

typedef struct tn_level_mark {
  uint64_t sum; /* of a hash of each file, so in any order */
  int64_t n_files;
} tn_level_mark;

/* A file above level 0; others do not count. */
void tn_level_mark_add(tn_level_mark *mark, tn_slice file_name, int32_t level);
static inline bool tn_level_mark_equal(const tn_level_mark *a, const tn_level_mark *b) {
  return a->sum == b->sum && a->n_files == b->n_files;
}

/* As an entry of a message (text in the arena). */
TN_CHECKED tarn_status tn_level_mark_put(const tn_level_mark *mark, tn_arena *arena,
                                         tn_index_entry *out, tarn_error *err);
static inline bool tn_is_level_mark(const tn_index_entry *entry) {
  return tn_slice_is(entry->index_type, "TARN_LEVELS");
}
/* Errors: INVALID (a text that is none). */
TN_CHECKED tarn_status tn_level_mark_get(const tn_index_entry *entry, tn_level_mark *out,
                                         tarn_error *err);

#endif
