/* sink_parts.h - what the files of this room share. */
#ifndef TN_SINK_SINK_PARTS_H
#define TN_SINK_SINK_PARTS_H

#include <pthread.h>

#include "commit/commit.h"
#include "maintain/after_commit.h"
#include "maintain/tags.h"
#include "sink/sink.h"

#define TN_SINK_LIMIT ((size_t)1 << 30) /* of a checkpoint, and of a state */

/* A checkpoint on its way. */
typedef struct tn_table_sink_group {
  struct tn_table_sink_group *next;
  int64_t id;
  bool is_sealed;
  int32_t n_messages;
  tn_buf messages;    /* their bytes, one behind the other */
  tn_buf committable; /* is_sealed: Java's bytes of all */
} tn_table_sink_group;

/* What a writer said last. */
typedef struct tn_table_sink_clock {
  bool has_watermark;
  int64_t watermark;
} tn_table_sink_clock;

struct tn_table_sink {
  tarn_env *env;
  tn_table *table; /* retained */
  tn_buf name;     /* the identity of the table, with a NUL */
  tn_table_sink_options options;
  char *user;
  bool forces_snapshots; /* the table's commit.force-create-snapshot */
  bool must_filter;      /* K4 */
  bool has_begun;        /* something was added or sealed */
  tn_maintenance maintenance;

  pthread_mutex_t mutex; /* guards what follows */
  bool has_mutex;
  bool is_busy;                /* somebody commits: the first group stays */
  tn_table_sink_group *groups; /* by id */
  int64_t n_pending;
  int64_t last_sealed; /* 0: none */
  tn_table_sink_clock *clocks;
  tn_tags_due tags_due;
  tn_table_sink_stats stats;
};

/* A state, taken apart; lies in the arena. */
typedef struct tn_table_sink_saved {
  const char *user;
  int64_t last_sealed;
  tn_committable *committables;
  int32_t n_committables;
  tn_slice caller;
} tn_table_sink_saved;

/* Append the state; the mutex is held. */
TN_CHECKED tarn_status tn_table_sink_state_encode(const tn_table_sink *sink, tn_slice caller,
                                                  tn_buf *out, tarn_error *err);
TN_CHECKED tarn_status tn_table_sink_state_decode(const tn_table_sink *sink, tn_slice bytes,
                                                  tn_arena *arena, tn_table_sink_saved *out,
                                                  tarn_error *err);

/* Count a commit that was made. */
TN_CHECKED tarn_status tn_table_sink_stats_add(tn_table_sink *sink, const tn_committable *all,
                                               const tn_commit_result *result, int64_t duration_ms,
                                               tarn_error *err);

#endif
