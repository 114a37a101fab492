/* arena.h - memory that is freed at once: plans, manifest entries, schemas, parsed texts.
 *
 * An arena is used by one thread at a time. Blocks double up to 1 MiB.
 */
#ifndef TN_BASE_ARENA_H
#define TN_BASE_ARENA_H

#include "base/mem.h"
#include "base/slice.h"

typedef struct tn_arena {
  tn_mem *mem;
  struct tn_arena_block *blocks; /* newest first */
  uint8_t *at, *end;             /* free part of the newest block */
  size_t held_bytes;
  size_t limit_bytes;
} tn_arena;

/* limit_bytes: allocations past it fail as if memory were out. */
void tn_arena_init(tn_arena *arena, tn_mem *mem, size_t limit_bytes);
void tn_arena_reset(tn_arena *arena); /* frees everything; the arena can be used again */

void *tn_arena_alloc_slow(tn_arena *arena, size_t n_bytes);

/* 8-byte aligned; NULL when out of memory or past the limit. */
static inline void *tn_arena_alloc(tn_arena *arena, size_t n_bytes) {
  /* Nothing takes 8 bytes, too: every piece has a place of its own, and NULL says failure only. */
  size_t n = (n_bytes + (n_bytes == 0) + 7) & ~(size_t)7;
  if (n >= n_bytes && n <= (size_t)(arena->end - arena->at)) {
    void *p = arena->at;
    arena->at += n;
    return p;
  }
  return tn_arena_alloc_slow(arena, n_bytes);
}

void *tn_arena_calloc(tn_arena *arena, size_t count, size_t size);
/* Copies with a NUL behind the last byte; NULL when out of memory. */
char *tn_arena_strndup(tn_arena *arena, const char *text, size_t n_bytes);
char *tn_arena_strdup(tn_arena *arena, const char *text);
void *tn_arena_memdup(tn_arena *arena, const void *bytes, size_t n_bytes);
TN_CHECKED bool tn_arena_slice(tn_arena *arena, tn_slice s, tn_slice *out);
TN_CHECKED char *tn_arena_printf(tn_arena *arena, const char *fmt, ...) TN_PRINTF(2, 3);

/* A growing array in an arena (the old place is left behind): room for one element more. */
TN_CHECKED bool tn_arena_grow(tn_arena *arena, void **array, size_t *capacity, size_t count,
                              size_t element_bytes);

#endif
