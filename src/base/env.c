/* env.c - the user's options checked, the parts of an environment made and ended, its log. */
#define _DEFAULT_SOURCE /* getentropy, madvise */

#include "base/env.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_BUDGET_BYTES ((size_t)256 << 20)
#define MIN_BUDGET_BYTES ((size_t)4 << 20)
#define MAX_THREADS 256

static int64_t system_clock_ms(void *ctx) {
  struct timespec now;
  (void)ctx;
  clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A page that is all zero in a child after fork, and 1 here: looking at it costs less than
 * getpid(), which is a call of the system, and nothing of the process is changed for it. NULL:
 * there is no such page to be had (Linux before 4.14). */
static volatile uint8_t *make_fork_mark(void) {
#ifdef MADV_WIPEONFORK
  uint8_t *page = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) {
    return NULL;
  }
  if (madvise(page, 1, MADV_WIPEONFORK) == 0) {
    *page = 1;
    return page;
  }
  (void)munmap(page, 1);
#endif
  return NULL;
}

tarn_status tarn_env_create(const tarn_env_options *options, tarn_env **out, tarn_error *err) {
  tarn_env_options o = TARN_ENV_OPTIONS_INIT;
  tarn_status st = TARN_OK;
  tarn_env *env;
  tn_mem mem;
  tn_error_reset(err);
  *out = NULL;
  if (options != NULL) {
    if (options->struct_size < sizeof(size_t) || options->struct_size > sizeof(o)) {
      return tn_fail(err, TARN_E_INVALID,
                     "tarn_env_options.struct_size is %zu, expected at most %zu: use "
                     "TARN_ENV_OPTIONS_INIT",
                     options->struct_size, sizeof(o));
    }
    memcpy(&o, options, options->struct_size);
  }
  if (o.memory_budget_bytes == 0) {
    o.memory_budget_bytes = DEFAULT_BUDGET_BYTES;
  }
  if (o.threads == 0) {
    o.threads = 1;
  }
  if (o.memory_budget_bytes < MIN_BUDGET_BYTES) {
    return tn_fail(err, TARN_E_INVALID, "memory budget of %zu bytes: at least %zu are needed",
                   o.memory_budget_bytes, MIN_BUDGET_BYTES);
  }
  if (o.threads < 1 || o.threads > MAX_THREADS) {
    return tn_fail(err, TARN_E_INVALID, "%d threads: 1 to %d are allowed", (int)o.threads,
                   MAX_THREADS);
  }
  tn_mem_init(&mem, o.allocator, o.memory_budget_bytes);
  env = tn_calloc(&mem, 1, sizeof(*env));
  if (env == NULL) {
    return tn_oom(err);
  }
  tn_mem_init(&env->mem, o.allocator, o.memory_budget_bytes);
  env->log = o.log;
  env->log_ctx = o.log_ctx;
  env->log_level = o.log_level;
  env->clock_ms = o.clock_ms != NULL ? o.clock_ms : system_clock_ms;
  env->clock_ctx = o.clock_ctx;
  env->syncs_files = o.no_sync == 0;
  env->random = o.random;
  env->random_ctx = o.random_ctx;
  env->pid = getpid();
  env->fork_mark = make_fork_mark();
  TN_TRY_TO(fail,
            tn_zone_open(&env->mem, o.time_zone != NULL ? o.time_zone : "UTC", &env->zone, err));
  TN_TRY_TO(fail, tn_cache_create(&env->mem, o.memory_budget_bytes / 4, &env->cache, err));
  TN_TRY_TO(fail, tn_pool_create(&env->mem, o.threads, &env->pool, err));
  *out = env;
  return TARN_OK;
fail:
  tarn_env_free(env);
  return st;
}

static void end_spare(tarn_env *env, tn_spare *spare) {
  pthread_mutex_destroy(&spare->mutex);
  tn_free(&env->mem, spare);
}

tn_spare *tn_env_make_spare(tarn_env *env, tn_spare_slot slot, size_t n_bytes,
                            void (*trim)(tarn_env *env, tn_spare *spare)) {
  tn_spare *found = tn_env_spare(env, slot), *made;
  if (TN_LIKELY(found != NULL)) {
    return found;
  }
  made = tn_calloc(&env->mem, 1, n_bytes);
  if (made == NULL) {
    return NULL;
  }
  made->trim = trim;
  if (pthread_mutex_init(&made->mutex, NULL) != 0) {
    tn_free(&env->mem, made);
    return NULL;
  }
  // another thread may have been faster
  if (!atomic_compare_exchange_strong_explicit(&env->spares[slot], &found, made,
                                               memory_order_acq_rel, memory_order_acquire)) {
    end_spare(env, made);
    return found;
  }
  return made;
}

void tarn_env_free(tarn_env *env) {
  if (env != NULL) {
    tn_mem mem = env->mem;
    tn_pool_free(env->pool);
    tn_cache_free(env->cache);
    for (int slot = TN_N_SPARE_SLOTS - 1; slot >= 0; slot--) {
      tn_spare *spare = tn_env_spare(env, (tn_spare_slot)slot);
      if (spare != NULL) {
        spare->trim(env, spare);
        end_spare(env, spare);
      }
    }
    tn_zone_free(&env->mem, env->zone);
    if (env->fork_mark != NULL) {
      (void)munmap((void *)(uintptr_t)env->fork_mark, 1);
    }
    tn_free(&mem, env);
  }
}

void tarn_env_stats_get(const tarn_env *env, tarn_env_stats *out) {
  tarn_env_stats s = TARN_ENV_STATS_INIT;
  size_t n = out->struct_size < sizeof(s) ? out->struct_size : sizeof(s);
  s.memory_budget_bytes = env->mem.budget_bytes;
  s.memory_reserved_bytes = atomic_load(&env->mem.reserved_bytes);
  s.memory_peak_bytes = atomic_load(&env->mem.peak_bytes);
  s.read_requests = atomic_load(&env->read_requests);
  s.read_bytes = atomic_load(&env->read_bytes);
  tn_cache_stats(env->cache, &s.cache_hits, &s.cache_misses);
  s.struct_size = out->struct_size;
  memcpy(out, &s, n);
}

tarn_status tarn_cancel_create(tarn_env *env, tarn_cancel **out, tarn_error *err) {
  tarn_cancel *cancel = tn_alloc(&env->mem, sizeof(*cancel));
  *out = cancel;
  if (cancel == NULL) {
    return tn_oom(err);
  }
  cancel->mem = &env->mem;
  atomic_init(&cancel->is_set, false);
  return TARN_OK;
}

void tarn_cancel_set(tarn_cancel *cancel) {
  atomic_store(&cancel->is_set, true);
}

void tarn_cancel_free(tarn_cancel *cancel) {
  if (cancel != NULL) {
    tn_free(cancel->mem, cancel);
  }
}

#define TN_STRINGIFY_(x) #x
#define TN_STRINGIFY(x) TN_STRINGIFY_(x)

const char *tarn_version(void) {
  return TN_STRINGIFY(TARN_VERSION_MAJOR) "." TN_STRINGIFY(TARN_VERSION_MINOR) "." TN_STRINGIFY(
      TARN_VERSION_PATCH);
}

int32_t tarn_version_number(void) {
  return TARN_VERSION_MAJOR * 10000 + TARN_VERSION_MINOR * 100 + TARN_VERSION_PATCH;
}

tarn_status tn_env_check(const tarn_env *env, tarn_error *err) {
  bool is_child = env->fork_mark != NULL ? *env->fork_mark == 0 : env->pid != getpid();
  if (TN_UNLIKELY(is_child)) {
    return tn_fail(err, TARN_E_STATE,
                   "the environment was made by process %ld before a fork: make a new one in the "
                   "child",
                   (long)env->pid);
  }
  return TARN_OK;
}

int64_t tn_env_now_ms(const tarn_env *env) {
  return env->clock_ms(env->clock_ctx);
}

tarn_status tn_env_random(const tarn_env *env, void *out, size_t n_bytes, tarn_error *err) {
  if (env->random != NULL) {
    env->random(env->random_ctx, out, n_bytes);
    return TARN_OK;
  }
  return getentropy(out, n_bytes) == 0
             ? TARN_OK
             : tn_fail_errno(err, errno, "%zu random bytes of the system", n_bytes);
}

tarn_status tn_env_uuid(const tarn_env *env, char out[TN_UUID_CHARS + 1], tarn_error *err) {
  static const char digits[] = "0123456789abcdef";
  uint8_t bytes[16];
  char *at = out;
  out[0] = '\0';
  TN_TRY(tn_env_random(env, bytes, sizeof(bytes), err));
  bytes[6] = (uint8_t)((bytes[6] & 0x0F) | 0x40); /* version 4 */
  bytes[8] = (uint8_t)((bytes[8] & 0x3F) | 0x80); /* RFC 9562's variant */
  for (int i = 0; i < 16; i++) {
    if (i == 4 || i == 6 || i == 8 || i == 10) {
      *at++ = '-';
    }
    *at++ = digits[bytes[i] >> 4];
    *at++ = digits[bytes[i] & 15];
  }
  *at = '\0';
  return TARN_OK;
}

void tn_log(const tarn_env *env, tarn_log_level level, const char *fmt, ...) {
  char message[1024];
  va_list args;
  if (env->log == NULL || level > env->log_level) {
    return;
  }
  va_start(args, fmt);
  vsnprintf(message, sizeof(message), fmt, args);
  va_end(args);
  tn_text_tidy(message, sizeof(message));
  env->log(env->log_ctx, level, message);
}

tarn_status tn_env_reserve(tarn_env *env, size_t n_bytes, const char *what, tarn_error *err) {
  if (tn_reserve_try(&env->mem, n_bytes)) {
    return TARN_OK;
  }
  for (int slot = TN_N_SPARE_SLOTS - 1; slot >= 0; slot--) {
    tn_spare *spare = tn_env_spare(env, (tn_spare_slot)slot);
    if (spare != NULL) {
      spare->trim(env, spare);
      if (tn_reserve_try(&env->mem, n_bytes)) {
        return TARN_OK;
      }
    }
  }
  tn_cache_shrink(env->cache, n_bytes);
  return tn_reserve(&env->mem, n_bytes, what, err);
}
