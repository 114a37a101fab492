/* interloper.h - somebody else who comes in the middle of a commit: the storage lets him do what a
 * test asks for, at the step that it asks for.
 */
#ifndef TN_TESTS_UNIT_COMMIT_INTERLOPER_H
#define TN_TESTS_UNIT_COMMIT_INTERLOPER_H

#include "commit_maker.h"

typedef enum il_step {
  IL_AT_LINK, /* a snapshot is about to get its name */
  IL_BEHIND_LINK,
  IL_AT_LIST_WRITTEN, /* a manifest list */
  IL_AT_LIST_READ
} il_step;

typedef struct interloper {
  table_maker *tm;
  tn_table *table;
  const tn_storage_ops *ops; /* of the storage itself */
  tn_storage_ops hooked;     /* what it does now; a test may change more of it */
  il_step when;
  int times; /* how often he comes */
  int n_come;
  void (*act)(struct interloper *self);
  bool is_busy;            /* he is there: what he does is not hooked */
  int n_links;             /* of snapshots, but his own */
  const char *first_delta; /* the manifest list of the first of them, when it was visible */
} interloper;

#define IL_QUICK "bucket=-1;commit.min-retry-wait=1 ms;commit.max-retry-wait=2 ms"

/* A table of one column, and who comes in the middle of its commits. */
void il_begin(table_maker *tm, interloper *self, const char *options, il_step when,
              void (*act)(interloper *), int times);
void il_end(table_maker *tm, interloper *self);
/* Whose storage it is: for hooks. */
interloper *il_of(const tn_storage *storage);
bool il_is_snapshot(const char *path);

/* What he can do. */
void il_append_as(interloper *self, const char *user, int64_t identifier, const char *name);
void il_remove_snapshot(interloper *self, int64_t id);
const char *il_snapshot_path(interloper *self, int64_t id);

/* The commit of ours, by user "u", that he comes into the middle of. */
tarn_status il_append(interloper *self, const char *name, int64_t identifier,
                      tn_commit_result *result, tarn_error *why);

#endif
