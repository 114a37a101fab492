/* write_handles.h - what is inside the handles of writing. */
#ifndef TN_API_WRITE_HANDLES_H
#define TN_API_WRITE_HANDLES_H

#include "api/handles.h"
#include "commit/commit.h"
#include "write/write.h"

/* Messages own what they point into: the arena they were made in, and those of messages that were
 * joined with them. */
struct tarn_messages {
  tarn_env *env;
  tn_arena arena;
  tn_commit_message *items;
  int32_t n_items;
  bool checks_vectors; /* of an edit: what tn_commit_options says, in the arena */
  const char *vectors_before;
  struct tarn_messages *joined; /* emptied lists whose arenas live on */
};

TN_CHECKED tarn_status tn_api_messages_create(tarn_env *env, tarn_messages **out, tarn_error *err);

/* What a writer writes with. */
tn_write *tn_api_writer_write(tarn_writer *writer);
/* The table that is written through a handle. INVALID: a system table. */
TN_CHECKED tarn_status tn_api_written_table(tarn_table *table, tn_table **out, tarn_error *err);
/* A user of commits: the given one, or one made up as Java does (commit.user-prefix). Owned by the
 * caller: tn_free(). */
TN_CHECKED tarn_status tn_api_commit_user(const tn_table *table, const char *given, char **out,
                                          tarn_error *err);

#endif
