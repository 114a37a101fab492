/* mem.h - the allocator hook and the memory budget of one environment.
 *
 * Everything Tarn allocates goes through a tn_mem. Big consumers (buffers of batches, page buffers,
 * read-ahead, caches, sort buffers) also reserve what they hold from its budget, so that the sum
 * stays within what the user stated. Small things are not counted.
 * All functions are thread-safe.
 */
#ifndef TN_BASE_MEM_H
#define TN_BASE_MEM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "tarn/env.h"

typedef struct tn_mem {
  tarn_allocator hooks;
  size_t budget_bytes;           /* what big consumers may hold together */
  _Atomic size_t reserved_bytes; /* what they hold now */
  _Atomic size_t peak_bytes;     /* the most they ever held */
} tn_mem;

/* hooks may be NULL: malloc. The struct is copied. */
void tn_mem_init(tn_mem *mem, const tarn_allocator *hooks, size_t budget_bytes);

/* NULL when the allocator has none left (or fails on purpose). n may be 0: then a unique pointer.
 * Alignment: that of max_align_t. */
void *tn_alloc(tn_mem *mem, size_t n_bytes) __attribute__((malloc));
void *tn_calloc(tn_mem *mem, size_t count, size_t size);  /* zeroed; checks count * size */
void *tn_realloc(tn_mem *mem, void *ptr, size_t n_bytes); /* on NULL ptr stays valid */
void tn_free(tn_mem *mem, void *ptr);                     /* accepts NULL */
char *tn_strdup(tn_mem *mem, const char *text);
char *tn_strndup(tn_mem *mem, const char *text, size_t n_bytes);

/* Reserve n bytes of the budget if they are free: for what can be done without (read-ahead,
 * caches). false: nothing reserved. */
bool tn_reserve_try(tn_mem *mem, size_t n_bytes);
/* Reserve what is needed to go on at all. Fails with LIMIT when the budget would be passed;
 * `what` names the consumer in the message. */
TN_CHECKED tarn_status tn_reserve(tn_mem *mem, size_t n_bytes, const char *what, tarn_error *err);
void tn_unreserve(tn_mem *mem, size_t n_bytes);

#endif
