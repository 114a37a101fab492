/* mem.c - the allocator hook and reservations, one atomic sum. */
#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *default_alloc(void *ctx, size_t n) {
  (void)ctx;
  return malloc(n);
}

static void *default_realloc(void *ctx, void *ptr, size_t n) {
  (void)ctx;
  return realloc(ptr, n);
}

static void default_free(void *ctx, void *ptr) {
  (void)ctx;
  free(ptr);
}

void tn_mem_init(tn_mem *mem, const tarn_allocator *hooks, size_t budget_bytes) {
  static const tarn_allocator standard = {default_alloc, default_realloc, default_free, NULL};
  mem->hooks = hooks != NULL ? *hooks : standard;
  mem->budget_bytes = budget_bytes;
  atomic_init(&mem->reserved_bytes, 0);
  atomic_init(&mem->peak_bytes, 0);
}

void *tn_alloc(tn_mem *mem, size_t n_bytes) {
  return mem->hooks.alloc(mem->hooks.ctx, n_bytes > 0 ? n_bytes : 1);
}

void *tn_calloc(tn_mem *mem, size_t count, size_t size) {
  void *ptr;
  size_t n;
  if (__builtin_mul_overflow(count, size, &n)) {
    return NULL;
  }
  ptr = tn_alloc(mem, n);
  if (ptr != NULL) {
    memset(ptr, 0, n);
  }
  return ptr;
}

void *tn_realloc(tn_mem *mem, void *ptr, size_t n_bytes) {
  if (ptr == NULL) {
    return tn_alloc(mem, n_bytes);
  }
  return mem->hooks.realloc(mem->hooks.ctx, ptr, n_bytes > 0 ? n_bytes : 1);
}

void tn_free(tn_mem *mem, void *ptr) {
  if (ptr != NULL) {
    mem->hooks.free(mem->hooks.ctx, ptr);
  }
}

char *tn_strndup(tn_mem *mem, const char *text, size_t n_bytes) {
  char *copy = n_bytes < SIZE_MAX ? tn_alloc(mem, n_bytes + 1) : NULL;
  if (copy != NULL) {
    if (n_bytes > 0) {
      memcpy(copy, text, n_bytes);
    }
    copy[n_bytes] = '\0';
  }
  return copy;
}

char *tn_strdup(tn_mem *mem, const char *text) {
  return tn_strndup(mem, text, strlen(text));
}

static void note_peak(tn_mem *mem, size_t now) {
  size_t peak = atomic_load_explicit(&mem->peak_bytes, memory_order_relaxed);
  while (now > peak &&
         !atomic_compare_exchange_weak_explicit(&mem->peak_bytes, &peak, now, memory_order_relaxed,
                                                memory_order_relaxed)) {
  }
}

bool tn_reserve_try(tn_mem *mem, size_t n_bytes) {
  size_t old = atomic_load_explicit(&mem->reserved_bytes, memory_order_relaxed);
  size_t now;
  do {
    if (__builtin_add_overflow(old, n_bytes, &now) || now > mem->budget_bytes) {
      return false;
    }
  } while (!atomic_compare_exchange_weak_explicit(&mem->reserved_bytes, &old, now,
                                                  memory_order_relaxed, memory_order_relaxed));
  note_peak(mem, now);
  return true;
}

tarn_status tn_reserve(tn_mem *mem, size_t n_bytes, const char *what, tarn_error *err) {
  if (tn_reserve_try(mem, n_bytes)) {
    return TARN_OK;
  }
  return tn_fail(err, TARN_E_LIMIT,
                 "memory budget of %zu bytes is used up: %s needs %zu bytes more and %zu are held; "
                 "raise the budget",
                 mem->budget_bytes, what, n_bytes,
                 atomic_load_explicit(&mem->reserved_bytes, memory_order_relaxed));
}

void tn_unreserve(tn_mem *mem, size_t n_bytes) {
  atomic_fetch_sub_explicit(&mem->reserved_bytes, n_bytes, memory_order_relaxed);
}
