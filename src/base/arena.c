/* arena.c - a list of blocks; a pointer moves through the newest one. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"

#define FIRST_BLOCK_BYTES 4096u
#define MAX_BLOCK_BYTES (1024u * 1024u)

typedef struct tn_arena_block {
  struct tn_arena_block *next;
  size_t size;
  max_align_t data[];
} tn_arena_block;

void tn_arena_init(tn_arena *arena, tn_mem *mem, size_t limit_bytes) {
  memset(arena, 0, sizeof(*arena));
  arena->mem = mem;
  arena->limit_bytes = limit_bytes;
}

void tn_arena_reset(tn_arena *arena) {
  tn_arena_block *b = arena->blocks;
  while (b != NULL) {
    tn_arena_block *next = b->next;
    tn_free(arena->mem, b);
    b = next;
  }
  tn_arena_init(arena, arena->mem, arena->limit_bytes);
}

void *tn_arena_alloc_slow(tn_arena *arena, size_t n_bytes) {
  tn_arena_block *b;
  size_t size = arena->blocks == NULL ? FIRST_BLOCK_BYTES : arena->blocks->size * 2;
  size_t n, held, block_bytes;
  bool is_large;
  if (!tn_add_size(n_bytes + (n_bytes == 0), 7, &n)) {
    return NULL;
  }
  n &= ~(size_t)7;
  if (size > MAX_BLOCK_BYTES) {
    size = MAX_BLOCK_BYTES;
  }
  /* A large piece gets its own block behind the current one, whose rest stays in use. */
  is_large = arena->blocks != NULL && n > size / 4;
  if (n > size || is_large) {
    size = n;
  }
  if (!tn_add_size(arena->held_bytes, size, &held) || held > arena->limit_bytes ||
      !tn_add_size(sizeof(*b), size, &block_bytes)) {
    return NULL;
  }
  b = tn_alloc(arena->mem, block_bytes);
  if (b == NULL) {
    return NULL;
  }
  b->size = size;
  arena->held_bytes = held;
  if (is_large) {
    b->size = 0; /* not the base of the next block's size */
    b->next = arena->blocks->next;
    arena->blocks->next = b;
    return b->data;
  }
  b->next = arena->blocks;
  arena->blocks = b;
  arena->at = (uint8_t *)b->data + n;
  arena->end = (uint8_t *)b->data + size;
  return b->data;
}

void *tn_arena_calloc(tn_arena *arena, size_t count, size_t size) {
  size_t n;
  void *p;
  if (!tn_mul_size(count, size, &n)) {
    return NULL;
  }
  p = tn_arena_alloc(arena, n);
  if (p != NULL) {
    memset(p, 0, n);
  }
  return p;
}

char *tn_arena_strndup(tn_arena *arena, const char *text, size_t n_bytes) {
  size_t n;
  char *p = tn_add_size(n_bytes, 1, &n) ? tn_arena_alloc(arena, n) : NULL;
  if (p != NULL) {
    if (n_bytes > 0) {
      memcpy(p, text, n_bytes);
    }
    p[n_bytes] = '\0';
  }
  return p;
}

char *tn_arena_strdup(tn_arena *arena, const char *text) {
  return tn_arena_strndup(arena, text, strlen(text));
}

void *tn_arena_memdup(tn_arena *arena, const void *bytes, size_t n_bytes) {
  void *p = tn_arena_alloc(arena, n_bytes);
  if (p != NULL && n_bytes > 0) {
    memcpy(p, bytes, n_bytes);
  }
  return p;
}

bool tn_arena_slice(tn_arena *arena, tn_slice s, tn_slice *out) {
  out->len = s.len;
  out->data = tn_arena_memdup(arena, s.data, s.len);
  return out->data != NULL;
}

char *tn_arena_printf(tn_arena *arena, const char *fmt, ...) {
  va_list args;
  char *p = NULL;
  int n;
  va_start(args, fmt);
  n = vsnprintf(NULL, 0, fmt, args);
  va_end(args);
  if (n >= 0) {
    p = tn_arena_alloc(arena, (size_t)n + 1);
  }
  if (p != NULL) {
    va_start(args, fmt);
    vsnprintf(p, (size_t)n + 1, fmt, args);
    va_end(args);
  }
  return p;
}

bool tn_arena_grow(tn_arena *arena, void **array, size_t *capacity, size_t count,
                   size_t element_bytes) {
  size_t wanted, n;
  void *p;
  if (count < *capacity) {
    return true;
  }
  if (!tn_mul_size(*capacity > 0 ? *capacity : 4, 2, &wanted) ||
      !tn_mul_size(wanted, element_bytes, &n)) {
    return false;
  }
  p = tn_arena_alloc(arena, n);
  if (p == NULL) {
    return false;
  }
  if (count > 0) {
    memcpy(p, *array, count * element_bytes);
  }
  *array = p;
  *capacity = wanted;
  return true;
}
