/* store.c - which data files have a lookup file at hand. */
#include "lookup/store.h"

struct tn_lookup_store {
  tn_lookup_store_setup setup;
  tarn_env *env;
  pthread_mutex_t mutex; /* guards the rest, but for what is atomic */
  bool has_mutex;
  tn_lookup_slot *slots;
  uint32_t next_number;
  _Atomic int64_t n_made, n_drops;
  tn_lookup_store_stats stats;
};

tarn_status tn_lookup_store_create(const tn_lookup_store_setup *setup, tn_lookup_store **out,
                                   tarn_error *err) {
  tarn_env *env = setup->context->env;
  tn_lookup_store *s = tn_calloc(&env->mem, 1, sizeof(*s));
  *out = NULL;
  if (s == NULL) {
    return tn_oom(err);
  }
  s->setup = *setup;
  s->env = env;
  s->has_mutex = pthread_mutex_init(&s->mutex, NULL) == 0;
  if (!s->has_mutex) {
    tn_lookup_store_free(s);
    return tn_oom(err);
  }
  *out = s;
  return TARN_OK;
}

void tn_lookup_store_free(tn_lookup_store *s) {
  if (s != NULL) {
    if (s->has_mutex) {
      pthread_mutex_destroy(&s->mutex);
    }
    tn_free(&s->env->mem, s);
  }
}

/* ------------------------------------------------------------------ slots */

tarn_status tn_lookup_slot_create(tn_lookup_store *store, tn_lookup_slot **out, tarn_error *err) {
  tn_lookup_slot *slot = tn_calloc(&store->env->mem, 1, sizeof(*slot));
  *out = NULL;
  if (slot == NULL) {
    return tn_oom(err);
  }
  if (pthread_mutex_init(&slot->mutex, NULL) != 0) {
    tn_free(&store->env->mem, slot);
    return tn_oom(err);
  }
  atomic_init(&slot->refs, 1);
  slot->store = store;
  pthread_mutex_lock(&store->mutex);
  slot->next = store->slots;
  if (slot->next != NULL) {
    slot->next->before = slot;
  }
  store->slots = slot;
  pthread_mutex_unlock(&store->mutex);
  *out = slot;
  return TARN_OK;
}

tn_lookup_slot *tn_lookup_slot_retain(tn_lookup_slot *slot) {
  atomic_fetch_add_explicit(&slot->refs, 1, memory_order_relaxed);
  return slot;
}

/* Take the file out of a slot whose lock is held; the store's lock is held, too. */
static void drop_file(tn_lookup_store *s, tn_lookup_slot *slot) {
  if (slot->file != NULL) {
    s->stats.n_files--;
    s->stats.disk_bytes -= slot->file->data.size_bytes;
    s->stats.n_dropped++;
    atomic_fetch_add_explicit(&s->n_drops, 1, memory_order_release);
    tn_lookup_file_release(slot->file);
    slot->file = NULL;
  }
}

void tn_lookup_slot_release(tn_lookup_slot *slot) {
  tn_lookup_store *s;
  if (slot == NULL || atomic_fetch_sub_explicit(&slot->refs, 1, memory_order_acq_rel) != 1) {
    return;
  }
  s = slot->store;
  pthread_mutex_lock(&s->mutex);
  if (slot->before != NULL) {
    slot->before->next = slot->next;
  } else {
    s->slots = slot->next;
  }
  if (slot->next != NULL) {
    slot->next->before = slot->before;
  }
  drop_file(s, slot);
  pthread_mutex_unlock(&s->mutex);
  pthread_mutex_destroy(&slot->mutex);
  tn_free(&s->env->mem, slot);
}

/* ------------------------------------------------------------------ budget */

static bool is_older(const tn_lookup_slot *a, const tn_lookup_slot *b) {
  int64_t x = a->use, y = b->use;
  return x != y ? x < y : a->used_ms < b->used_ms;
}

/* The slot with a file that was used least lately and nobody is busy with, locked; NULL: none. */
static tn_lookup_slot *lock_oldest(tn_lookup_store *s, const tn_lookup_slot *but) {
  tn_lookup_slot *oldest = NULL;
  for (tn_lookup_slot *slot = s->slots; slot != NULL; slot = slot->next) {
    if (slot == but || pthread_mutex_trylock(&slot->mutex) != 0) {
      continue;
    }
    if (slot->file != NULL && (oldest == NULL || is_older(slot, oldest))) {
      if (oldest != NULL) {
        pthread_mutex_unlock(&oldest->mutex);
      }
      oldest = slot;
    } else {
      pthread_mutex_unlock(&slot->mutex);
    }
  }
  return oldest;
}

/* Called with the lock of `made` held, which stays. */
static void note_made(tn_lookup_store *s, const tn_lookup_slot *made, const tn_data_file *meta) {
  pthread_mutex_lock(&s->mutex);
  s->stats.n_files++;
  s->stats.n_made++;
  s->stats.rows_made += made->file->n_rows;
  s->stats.disk_bytes += made->file->data.size_bytes;
  s->stats.read_bytes += meta->file_size;
  while (s->stats.disk_bytes > s->setup.max_disk_bytes) {
    tn_lookup_slot *oldest = lock_oldest(s, made);
    if (oldest == NULL) {
      break;
    }
    drop_file(s, oldest);
    pthread_mutex_unlock(&oldest->mutex);
  }
  pthread_mutex_unlock(&s->mutex);
}

void tn_lookup_store_age(tn_lookup_store *s, int64_t now_ms) {
  pthread_mutex_lock(&s->mutex);
  for (tn_lookup_slot *slot = s->slots; slot != NULL; slot = slot->next) {
    if (pthread_mutex_trylock(&slot->mutex) != 0) {
      continue;
    }
    if (slot->file != NULL && now_ms - slot->used_ms > s->setup.retention_ms) {
      drop_file(s, slot);
    }
    pthread_mutex_unlock(&slot->mutex);
  }
  pthread_mutex_unlock(&s->mutex);
}

/* ------------------------------------------------------------------ files */

static tarn_status make_file(tn_lookup_slot *slot, const tn_split *split, int32_t index,
                             tarn_error *err) {
  tn_lookup_store *s = slot->store;
  tn_lookup_source source = {.context = s->setup.context,
                             .split = split,
                             .index = index,
                             .layout = s->setup.layout,
                             .folder = s->setup.folder,
                             .cache = s->setup.cache};
  tn_lookup_file *file;
  pthread_mutex_lock(&s->mutex);
  source.number = s->next_number++;
  pthread_mutex_unlock(&s->mutex);
  if (source.number == UINT32_MAX) {
    return tn_fail(err, TARN_E_LIMIT, "lookup files were made 2^32 times: open the lookup anew");
  }
  TN_TRY(tn_lookup_file_make(&source, &file, err));
  slot->file = file;
  atomic_fetch_add_explicit(&s->n_made, 1, memory_order_relaxed);
  note_made(s, slot, &split->files[index]);
  return TARN_OK;
}

/* A reference to the file of a slot whose lock is held. */
static tn_lookup_file *use_file(tn_lookup_slot *slot, int64_t now_ms) {
  tn_lookup_slot_touch(slot, now_ms, tn_lookup_store_made(slot->store));
  return tn_lookup_file_retain(slot->file);
}

tarn_status tn_lookup_slot_file(tn_lookup_slot *slot, const tn_split *split, int32_t index,
                                int64_t now_ms, tn_lookup_file **out, tarn_error *err) {
  tarn_status st;
  pthread_mutex_lock(&slot->mutex);
  st = slot->file != NULL ? TARN_OK : make_file(slot, split, index, err);
  if (st == TARN_OK) {
    *out = use_file(slot, now_ms);
  }
  pthread_mutex_unlock(&slot->mutex);
  return st;
}

void tn_lookup_slot_peek(tn_lookup_slot *slot, int64_t now_ms, tn_lookup_file **out) {
  *out = NULL;
  if (pthread_mutex_trylock(&slot->mutex) == 0) {
    if (slot->file != NULL) {
      *out = use_file(slot, now_ms);
    }
    pthread_mutex_unlock(&slot->mutex);
  }
}

int64_t tn_lookup_store_made(const tn_lookup_store *s) {
  return atomic_load_explicit(&s->n_made, memory_order_relaxed);
}

int64_t tn_lookup_store_drops(const tn_lookup_store *s) {
  return atomic_load_explicit(&s->n_drops, memory_order_acquire);
}

void tn_lookup_store_get_stats(tn_lookup_store *s, tn_lookup_store_stats *out) {
  pthread_mutex_lock(&s->mutex);
  *out = s->stats;
  pthread_mutex_unlock(&s->mutex);
}
