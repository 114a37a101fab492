/* buffer.c - buffers, and the store of freed blocks that makes scans run without malloc.
 *
 * A block is one allocation: the tn_buffer itself, then its data on a 64-byte border, then slack.
 *
 *   | tn_buffer | pad | data, capacity bytes ... | 64 bytes of slack |
 *
 * B1  Blocks of 4 KiB and more have the capacity of a size class (4, 6, 8, 12, 16 KiB ... 16 MiB)
 *     or, past the largest, whole pages. Their capacity is charged to the budget from their
 *     creation to their return to the allocator, also while they lie in the store.
 * B2  The store holds at most an eighth of the budget, and takes nothing when three quarters of the
 *     budget are in use: it must not be the reason why somebody else finds none.
 * B3  Whoever finds the budget or the memory short empties the store first.
 */
#include "column/buffer.h"

#include "base/checked.h"

#define SLACK_BYTES 64
#define ALIGN_BYTES 64
#define MIN_CLASS_BYTES ((size_t)4096)
#define MAX_CLASS_BYTES ((size_t)16 << 20)
#define N_CLASSES 25

typedef struct buffer_store {
  tn_spare spare;              /* first; its mutex guards all below */
  tn_buffer *freed[N_CLASSES]; /* newest first, linked by `next` */
  size_t held_bytes;
} buffer_store;

/* ------------------------------------------------------------------ size classes */

static size_t class_bytes(int k) {
  return (k & 1 ? MIN_CLASS_BYTES + MIN_CLASS_BYTES / 2 : MIN_CLASS_BYTES) << (k / 2);
}

/* The smallest class with room for n_bytes; -1 when it is too small or too large for one. */
static int class_of(size_t n_bytes) {
  int k;
  if (n_bytes < MIN_CLASS_BYTES || n_bytes > MAX_CLASS_BYTES) {
    return -1;
  }
  k = 2 * (63 - __builtin_clzll((unsigned long long)n_bytes) - 12);
  while (class_bytes(k) < n_bytes) {
    k++;
  }
  return k;
}

/* ------------------------------------------------------------------ the store */

/* Give every block of the store back. */
static void store_trim(tarn_env *env, tn_spare *spare) {
  buffer_store *store = (buffer_store *)spare;
  tn_buffer *all = NULL;
  size_t n_bytes = 0;
  pthread_mutex_lock(&store->spare.mutex);
  for (int k = 0; k < N_CLASSES; k++) {
    while (store->freed[k] != NULL) {
      tn_buffer *b = store->freed[k];
      store->freed[k] = b->next;
      b->next = all;
      all = b;
    }
  }
  store->held_bytes = 0;
  pthread_mutex_unlock(&store->spare.mutex);
  while (all != NULL) {
    tn_buffer *next = all->next;
    n_bytes += all->charged_bytes;
    tn_free(&env->mem, all);
    all = next;
  }
  tn_unreserve(&env->mem, n_bytes);
}

static tn_buffer *store_take(tarn_env *env, int k) {
  buffer_store *store = (buffer_store *)tn_env_spare(env, TN_SPARE_BUFFERS);
  tn_buffer *b = NULL;
  if (store != NULL) {
    pthread_mutex_lock(&store->spare.mutex);
    b = store->freed[k];
    if (b != NULL) {
      store->freed[k] = b->next;
      store->held_bytes -= b->capacity;
    }
    pthread_mutex_unlock(&store->spare.mutex);
  }
  return b;
}

/* False: not taken (B2). */
static bool store_put(tarn_env *env, tn_buffer *b) {
  int k = class_of(b->capacity);
  size_t budget = env->mem.budget_bytes;
  buffer_store *store;
  bool fits;
  if (k < 0 || class_bytes(k) != b->capacity ||
      atomic_load_explicit(&env->mem.reserved_bytes, memory_order_relaxed) > budget / 4 * 3) {
    return false;
  }
  store = (buffer_store *)tn_env_make_spare(env, TN_SPARE_BUFFERS, sizeof(*store), store_trim);
  if (store == NULL) {
    return false;
  }
  pthread_mutex_lock(&store->spare.mutex);
  fits = b->capacity <= budget / 8 && store->held_bytes <= budget / 8 - b->capacity;
  if (fits) {
    b->next = store->freed[k];
    store->freed[k] = b;
    store->held_bytes += b->capacity;
  }
  pthread_mutex_unlock(&store->spare.mutex);
  return fits;
}

void tn_buffers_trim(tarn_env *env) {
  tn_spare *spare = tn_env_spare(env, TN_SPARE_BUFFERS);
  if (spare != NULL) {
    store_trim(env, spare);
  }
}

/* ------------------------------------------------------------------ buffers */

static tarn_status charge(tarn_env *env, size_t n_bytes, tarn_error *err) {
  if (TN_LIKELY(tn_reserve_try(&env->mem, n_bytes))) {
    return TARN_OK;
  }
  return tn_env_reserve(env, n_bytes, "a buffer of values", err);
}

static void *allocate(tarn_env *env, size_t n_bytes) {
  void *block = tn_alloc(&env->mem, n_bytes);
  if (TN_UNLIKELY(block == NULL)) {
    tn_buffers_trim(env);
    block = tn_alloc(&env->mem, n_bytes);
  }
  return block;
}

static void set_up(tn_buffer *b, tarn_env *env, uint8_t *data, size_t capacity, size_t charged) {
  memset(b, 0, sizeof(*b));
  b->data = data;
  b->capacity = capacity;
  b->env = env;
  atomic_init(&b->refs, 1);
  b->charged_bytes = charged;
}

tarn_status tn_buffer_create(tarn_env *env, size_t capacity, tn_buffer **out, tarn_error *err) {
  const size_t extra = sizeof(tn_buffer) + ALIGN_BYTES + SLACK_BYTES;
  int k = class_of(capacity);
  size_t rounded, charged;
  tn_buffer *b;
  *out = NULL;
  if (k >= 0) {
    b = store_take(env, k);
    if (b != NULL) {
      set_up(b, env, b->data, b->capacity, b->charged_bytes);
      *out = b;
      return TARN_OK;
    }
    rounded = class_bytes(k);
  } else {
    if (capacity > SIZE_MAX / 2) {
      return tn_oom(err);
    }
    rounded = tn_round_up(capacity > 0 ? capacity : 1,
                          capacity < MIN_CLASS_BYTES ? ALIGN_BYTES : MIN_CLASS_BYTES);
  }
  charged = rounded >= MIN_CLASS_BYTES ? rounded : 0;
  if (charged > 0) {
    TN_TRY(charge(env, charged, err));
  }
  b = allocate(env, rounded + extra);
  if (b == NULL) {
    tn_unreserve(&env->mem, charged);
    return tn_oom(err);
  }
  set_up(b, env, (uint8_t *)tn_round_up((uintptr_t)(b + 1), ALIGN_BYTES), rounded, charged);
  *out = b;
  return TARN_OK;
}

tarn_status tn_buffer_create_zeroed(tarn_env *env, size_t capacity, tn_buffer **out,
                                    tarn_error *err) {
  TN_TRY(tn_buffer_create(env, capacity, out, err));
  memset((*out)->data, 0, tn_round_up(capacity, ALIGN_BYTES));
  return TARN_OK;
}

tarn_status tn_buffer_grow(tn_buffer **buffer, size_t used_bytes, size_t capacity,
                           tarn_error *err) {
  tn_buffer *old = *buffer, *grown;
  if (capacity <= old->capacity) {
    return TARN_OK;
  }
  TN_TRY(tn_buffer_create(old->env, capacity, &grown, err));
  memcpy(grown->data, old->data, used_bytes);
  tn_buffer_release(old);
  *buffer = grown;
  return TARN_OK;
}

void tn_buffer_release(tn_buffer *buffer) {
  tarn_env *env;
  if (buffer == NULL || atomic_fetch_sub_explicit(&buffer->refs, 1, memory_order_acq_rel) != 1) {
    return;
  }
  env = buffer->env;
  if (buffer->charged_bytes > 0) {
    if (store_put(env, buffer)) {
      return;
    }
    tn_unreserve(&env->mem, buffer->charged_bytes);
  }
  tn_free(&env->mem, buffer);
}
