/* maintain_maker.h - tables whose snapshots were committed and whose data files exist, for tests of
 * the maintain room.
 *
 * The clock stands at `now` of the maker, which tests move. Snapshot n is committed at n * 1000.
 * Data files are named by letters; what is left of a table is told as text.
 */
#ifndef TN_TESTS_UNIT_MAINTAIN_MAINTAIN_MAKER_H
#define TN_TESTS_UNIT_MAINTAIN_MAINTAIN_MAKER_H

#include "commit_maker.h"
#include "maintain/expire.h"

typedef struct maintain_maker {
  table_maker tm;
  tn_table *table;
  int64_t now;
} maintain_maker;

/* A primary-key table with one bucket (columns k, v), or, partitioned, an append table with a
 * column p; options as "a=1;b=2". */
void mm_begin(maintain_maker *mm, const char *options);
void mm_begin_partitioned(maintain_maker *mm, const char *options);
void mm_end(maintain_maker *mm);
/* In an environment that is the caller's. */
void mm_begin_in(maintain_maker *mm, tarn_env *env, const char *options);
void mm_end_in(maintain_maker *mm);
/* The same table opened again with other options; of a branch. */
void mm_options(maintain_maker *mm, const char *options);
tn_table *mm_branch(maintain_maker *mm, const char *branch);

/* Commit file changes as one snapshot: "+a" adds a file of level 0 written by a writer, "^a" one of
 * a compaction at level 5, "-a" takes a away, "-^a" the compacted a; "~a" adds a changelog file.
 * Changes with "^" or "-" make a COMPACT snapshot, others APPEND. Files are put. */
int64_t mm_commit(maintain_maker *mm, const char *changes);
int64_t mm_commit_to(maintain_maker *mm, tn_table *table, const char *changes);
/* The same in a partition. */
int64_t mm_commit_in(maintain_maker *mm, int32_t partition, const char *changes);

/* The names in a folder below the table, sorted, separated by blanks; numbers only of numbered
 * files, so "1 2 EARLIEST=1 LATEST=2" of "snapshot". */
const char *mm_list(maintain_maker *mm, const char *folder);
/* How many manifests, lists and the like there are. */
int mm_count(maintain_maker *mm, const char *folder);
/* Everything that snapshots, tags, changelogs of all branches name is there. Gives the number of
 * files in manifest/ that nobody names. */
int mm_check(maintain_maker *mm);
/* Expire with these numbers, without age; gives how many. */
int64_t mm_expire(maintain_maker *mm, int32_t max, int32_t min);

#endif
