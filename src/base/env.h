/* env.h - the inside of tarn_env, which every room is handed.
 *
 * Lower rooms use its parts (mem, pool, zone) directly. The struct is immutable after creation but
 * for its counters, the cache and the spare memory, which lock themselves.
 */
#ifndef TN_BASE_ENV_H
#define TN_BASE_ENV_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "base/cache.h"
#include "base/cancel.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/zone.h"
#include "tarn/env.h"

/* Memory that a room above keeps for reuse, in the environment's slot for it. It is given back when
 * the budget is short, and with the environment. */
typedef enum tn_spare_slot {
  TN_SPARE_CODECS,  /* working memory of codecs (codec/context.c) */
  TN_SPARE_BUFFERS, /* freed blocks (column/buffer.c) */
  TN_N_SPARE_SLOTS
} tn_spare_slot;

/* The head of such memory; what the room keeps follows it, in the same block. */
typedef struct tn_spare {
  void (*trim)(tarn_env *env, struct tn_spare *spare); /* give all back; any thread */
  pthread_mutex_t mutex;                               /* guards what follows */
} tn_spare;

struct tarn_env {
  tn_mem mem;
  tn_pool *pool;
  tn_zone *zone;
  tn_cache *cache;
  tarn_log_fn log;
  void *log_ctx;
  tarn_log_level log_level;
  int64_t (*clock_ms)(void *ctx);
  void *clock_ctx;
  bool syncs_files; /* storages wait for the disk where they promise it */
  void (*random)(void *ctx, void *out, size_t n_bytes); /* NULL: the system's */
  void *random_ctx;
  pid_t pid;                   /* of the process that made it; see tn_env_check */
  volatile uint8_t *fork_mark; /* 0 in a child after fork, else 1; NULL: the pid tells */
  _Atomic int64_t read_requests, read_bytes;
  _Atomic(tn_spare *) spares[TN_N_SPARE_SLOTS]; /* NULL until a room keeps some */
};

/* What is kept in a slot; NULL: nothing yet. */
static inline tn_spare *tn_env_spare(tarn_env *env, tn_spare_slot slot) {
  return atomic_load_explicit(&env->spares[slot], memory_order_acquire);
}
/* The same, made at first need: n_bytes with the head, all zero behind it. NULL: no memory for it.
 * The environment ends it after a last trim. */
tn_spare *tn_env_make_spare(tarn_env *env, tn_spare_slot slot, size_t n_bytes,
                            void (*trim)(tarn_env *env, tn_spare *spare));

/* STATE when used in a child after fork; called by every public entry. */
TN_CHECKED tarn_status tn_env_check(const tarn_env *env, tarn_error *err);

int64_t tn_env_now_ms(const tarn_env *env);

/* Bytes that nobody can guess, at most 256. IO when the system has none. */
TN_CHECKED tarn_status tn_env_random(const tarn_env *env, void *out, size_t n_bytes,
                                     tarn_error *err);

#define TN_UUID_CHARS 36
/* A random UUID (version 4), lower case, NUL-terminated: as java.util.UUID.randomUUID(). */
TN_CHECKED tarn_status tn_env_uuid(const tarn_env *env, char out[TN_UUID_CHARS + 1],
                                   tarn_error *err);

/* One line with key=value fields; nothing happens below the level or without a sink. */
void tn_log(const tarn_env *env, tarn_log_level level, const char *fmt, ...) TN_PRINTF(3, 4);

/* Reserve what is needed to go on; spare memory and cached things go first when the budget is
 * short. */
TN_CHECKED tarn_status tn_env_reserve(tarn_env *env, size_t n_bytes, const char *what,
                                      tarn_error *err);

#endif
