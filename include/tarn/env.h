/* env.h - the environment: everything that libraries usually take from globals.
 *
 * An environment holds the allocator, the memory budget, the thread pool, the clock, the time zone,
 * the log sink and the caches. There is no other state: the library reads no environment
 * variables, prints nothing, calls neither tzset nor fork. Use in a child after fork is refused
 * (TARN_E_STATE).
 *
 * The environment must outlive everything opened through it. It is thread-safe.
 */
#ifndef TARN_ENV_H
#define TARN_ENV_H

#include <stddef.h>
#include <stdint.h>

#include "tarn/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tarn_env tarn_env;

/* Thread-safe hooks with the contracts of malloc, realloc and free. `alloc` and `realloc` may
 * return NULL: that is TARN_E_NOMEM to the caller of the library, never a crash. */
typedef struct tarn_allocator {
  void *(*alloc)(void *ctx, size_t n_bytes);
  void *(*realloc)(void *ctx, void *ptr, size_t n_bytes);
  void (*free)(void *ctx, void *ptr);
  void *ctx;
} tarn_allocator;

typedef enum tarn_log_level {
  TARN_LOG_ERROR = 0,
  TARN_LOG_WARN = 1,
  TARN_LOG_INFO = 2,
  TARN_LOG_DEBUG = 3
} tarn_log_level;

/* message: one line of UTF-8 with key=value fields, borrowed for the call. May be called from any
 * thread of the pool; must not call back into Tarn. */
typedef void (*tarn_log_fn)(void *ctx, tarn_log_level level, const char *message);

typedef struct tarn_env_options {
  size_t struct_size;              /* sizeof(tarn_env_options); set by the _INIT macro */
  const tarn_allocator *allocator; /* NULL: malloc; copied */
  size_t memory_budget_bytes;      /* 0: 256 MiB. What readers and writers may hold together */
  int32_t threads;                 /* 0: 1. At most 256 */
  const char *time_zone;           /* NULL: "UTC". IANA name, "+08:00", "GMT+8" or "Z"; copied */
  tarn_log_fn log;                 /* NULL: silent */
  void *log_ctx;
  tarn_log_level log_level;       /* the most talkative level that reaches `log` */
  int64_t (*clock_ms)(void *ctx); /* NULL: the system's clock; milliseconds since 1970 */
  void *clock_ctx;
  /* Not 0: writers do not wait until files and their names have reached the disk. A crash of the
   * machine may then lose commits that were reported as done, or leave a table damaged. */
  int32_t no_sync;
  /* Fill n_bytes; they become the unique parts of file names. NULL: the system's random numbers. */
  void (*random)(void *ctx, void *out, size_t n_bytes);
  void *random_ctx;
} tarn_env_options;

#define TARN_ENV_OPTIONS_INIT \
  {sizeof(tarn_env_options), 0, 0, 0, 0, 0, 0, TARN_LOG_WARN, 0, 0, 0, 0, 0}

/* Make an environment. options may be NULL: all defaults.
 *
 * out    owned by the caller: tarn_env_free(); NULL on failure
 * Errors: TARN_E_INVALID (a value out of its range, an unknown time zone), TARN_E_NOMEM.
 */
TARN_EXPORT TARN_CHECKED tarn_status tarn_env_create(const tarn_env_options *options,
                                                     tarn_env **out, tarn_error *err);

/* Free it; NULL is allowed. Everything opened through it must have been freed. */
TARN_EXPORT void tarn_env_free(tarn_env *env);

/* Counters since the environment was made; a snapshot, cheap, thread-safe. */
typedef struct tarn_env_stats {
  size_t struct_size;
  size_t memory_budget_bytes;
  size_t memory_reserved_bytes; /* held by readers, writers and caches now */
  size_t memory_peak_bytes;
  int64_t read_requests; /* to the storage */
  int64_t read_bytes;    /* by them */
  int64_t cache_hits;
  int64_t cache_misses;
} tarn_env_stats;

#define TARN_ENV_STATS_INIT {sizeof(tarn_env_stats), 0, 0, 0, 0, 0, 0, 0}

TARN_EXPORT void tarn_env_stats_get(const tarn_env *env, tarn_env_stats *out);

/* A flag that ends long calls: they fail with TARN_E_CANCELLED soon after. May be set from any
 * thread and from a signal handler. */
typedef struct tarn_cancel tarn_cancel;
TARN_EXPORT TARN_CHECKED tarn_status tarn_cancel_create(tarn_env *env, tarn_cancel **out,
                                                        tarn_error *err);
TARN_EXPORT void tarn_cancel_set(tarn_cancel *cancel);
TARN_EXPORT void tarn_cancel_free(tarn_cancel *cancel);

/* "0.1.0", and its numbers as major * 10000 + minor * 100 + patch. */
TARN_EXPORT const char *tarn_version(void);
TARN_EXPORT int32_t tarn_version_number(void);

#ifdef __cplusplus
}
#endif
#endif
