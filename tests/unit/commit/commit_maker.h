/* commit_maker.h - messages made by hand, and commits of them, for tests of the commit room.
 *
 * Tables come from table_maker.h; what fails unasked fails through cmocka.
 */
#ifndef TN_TESTS_UNIT_COMMIT_COMMIT_MAKER_H
#define TN_TESTS_UNIT_COMMIT_COMMIT_MAKER_H

#include "commit/commit.h"
#include "table_maker.h"

/* What a message says of a file or index. */
typedef enum cm_role {
  CM_NEW,
  CM_DELETED,
  CM_CHANGELOG,
  CM_BEFORE, /* of a compaction */
  CM_AFTER,
  CM_COMPACT_CHANGELOG,
  CM_COMPACT_DELETED /* indexes only */
} cm_role;

/* An empty committable. */
tn_committable cm_begin(int64_t identifier);
/* Add a message with one file, or one index; what it points into is the maker's. */
void cm_file(table_maker *tm, tn_committable *c, cm_role role, tn_manifest_entry entry);
void cm_index(table_maker *tm, tn_committable *c, cm_role role, tn_index_entry entry);
/* An index entry of an unpartitioned table; vectors: data files "a,b" it has vectors of, or NULL.
 */
tn_index_entry cm_index_entry(table_maker *tm, const char *type, const char *name,
                              const char *vectors);

tn_commit_options cm_user(const char *user);
/* Commit, and return the result's last id. */
int64_t cm_append(tn_table *table, const char *user, const tn_committable *c);
/* The same for one new file of an unpartitioned append table. */
int64_t cm_append_one(table_maker *tm, tn_table *table, const char *user, int64_t identifier,
                      const char *name, int64_t rows);

/* Snapshot `id` in the arena of the maker. */
tn_snapshot cm_snapshot(table_maker *tm, int64_t id);
/* "APPEND u:1 rows=3(+3)", and "changelog=2", "watermark=7", "next=4", "index", "statistics" where
 * it has them. */
const char *cm_snapshot_text(table_maker *tm, int64_t id);
/* "+a -b": the entries of a list's manifests, in their order; lists of a snapshot by 'b', 'd', 'c';
 * manifests are told apart by "|". */
const char *cm_entries(table_maker *tm, int64_t id, char which);
/* The index files of a snapshot, "a b". */
const char *cm_indexes(table_maker *tm, int64_t id);
/* The names of a folder of the table, sorted, each with a blank behind, without UUIDs. */
const char *cm_list(table_maker *tm, const char *folder);
/* How many files there are in it; 0 without the folder. */
int cm_count(table_maker *tm, const char *folder);

#endif
