/* memory.c - files in memory, for tests. Directories are there when a file is below them. */
#include <errno.h>
#include <pthread.h>

#include "base/map.h"
#include "io/file.h"

/* The bytes of one version of a file; a new version is a new blob. */
typedef struct blob {
  _Atomic int32_t refs;
  size_t len;
  uint8_t data[];
} blob;

typedef struct memory_entry {
  struct memory_entry *next;
  blob *content;
  char path[];
} memory_entry;

typedef struct memory_storage {
  tn_storage base;
  pthread_mutex_t mutex; /* guards the list */
  memory_entry *entries;
} memory_storage;

typedef struct memory_file {
  tn_file base;
  blob *content;
  char path[];
} memory_file;

static void blob_release(tn_mem *mem, blob *b) {
  if (b != NULL && atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) == 1) {
    tn_free(mem, b);
  }
}

static void memory_file_free(tn_file *file) {
  memory_file *f = TN_CONTAINER_OF(file, memory_file, base);
  blob_release(&file->env->mem, f->content);
  tn_free(&file->env->mem, f);
}

static tarn_status memory_file_read(tn_file *file, int64_t offset, void *out, size_t n_bytes,
                                    size_t *n_read, tarn_error *err) {
  const blob *b = TN_CONTAINER_OF(file, memory_file, base)->content;
  size_t left = (uint64_t)offset < b->len ? b->len - (size_t)offset : 0;
  (void)err;
  *n_read = n_bytes < left ? n_bytes : left;
  if (*n_read > 0) {
    memcpy(out, b->data + offset, *n_read);
  }
  return TARN_OK;
}

static const tn_file_ops memory_file_ops = {memory_file_free, memory_file_read};

/* With the mutex held. */
static memory_entry **find_entry(memory_storage *s, const char *path) {
  memory_entry **at = &s->entries;
  while (*at != NULL && strcmp((*at)->path, path) != 0) {
    at = &(*at)->next;
  }
  return at;
}

static bool is_below(const char *path, const char *directory, size_t n_directory) {
  return strncmp(path, directory, n_directory) == 0 &&
         (path[n_directory] == '/' || (n_directory > 0 && directory[n_directory - 1] == '/'));
}

static tarn_status memory_open(tn_storage *storage, const char *path, tn_file **out,
                               tarn_error *err) {
  memory_storage *s = TN_CONTAINER_OF(storage, memory_storage, base);
  size_t n = strlen(path) + 1;
  memory_file *f = tn_alloc(&storage->env->mem, sizeof(*f) + n);
  const memory_entry *entry;
  if (f == NULL) {
    return tn_oom(err);
  }
  pthread_mutex_lock(&s->mutex);
  entry = *find_entry(s, path);
  f->content = entry != NULL ? entry->content : NULL;
  if (f->content != NULL) {
    atomic_fetch_add_explicit(&f->content->refs, 1, memory_order_relaxed);
  }
  pthread_mutex_unlock(&s->mutex);
  if (f->content == NULL) {
    tn_free(&storage->env->mem, f);
    return tn_fail_errno(err, ENOENT, "open %s", path);
  }
  memcpy(f->path, path, n);
  tn_file_init(&f->base, &memory_file_ops, storage->env, f->path, (int64_t)f->content->len);
  *out = &f->base;
  return TARN_OK;
}

static tarn_status memory_info(tn_storage *storage, const char *path, tn_file_info *out,
                               tarn_error *err) {
  memory_storage *s = TN_CONTAINER_OF(storage, memory_storage, base);
  size_t n = strlen(path);
  bool is_found = false;
  memset(out, 0, sizeof(*out));
  pthread_mutex_lock(&s->mutex);
  for (const memory_entry *e = s->entries; e != NULL && !is_found; e = e->next) {
    if (strcmp(e->path, path) == 0) {
      out->size_bytes = (int64_t)e->content->len;
      is_found = true;
    } else if (is_below(e->path, path, n)) {
      out->is_directory = true;
      is_found = true;
    }
  }
  pthread_mutex_unlock(&s->mutex);
  return is_found ? TARN_OK : tn_fail_errno(err, ENOENT, "%s", path);
}

/* The names directly below a directory, each once; value.num tells directories. */
static tarn_status collect_names(memory_storage *s, const char *path, tn_arena *arena,
                                 tn_map *names, tarn_error *err) {
  size_t n = strlen(path);
  for (const memory_entry *e = s->entries; e != NULL; e = e->next) {
    if (is_below(e->path, path, n)) {
      const char *name = e->path + n + (e->path[n] == '/' ? 1 : 0);
      size_t n_name = strcspn(name, "/");
      const char *copy = tn_arena_strndup(arena, name, n_name);
      tn_map_entry *entry;
      if (copy == NULL) {
        return tn_oom(err);
      }
      TN_TRY(tn_map_put(names, tn_slice_of(copy, n_name), &entry, NULL, err));
      entry->value.num = name[n_name] == '/' ? 1 : 0;
    }
  }
  return TARN_OK;
}

static tarn_status memory_list(tn_storage *storage, const char *path,
                               tarn_status (*visit)(void *ctx, const char *name, bool is_directory,
                                                    tarn_error *err),
                               void *ctx, tarn_error *err) {
  memory_storage *s = TN_CONTAINER_OF(storage, memory_storage, base);
  tarn_status st;
  tn_arena arena;
  tn_map names;
  tn_arena_init(&arena, &storage->env->mem, SIZE_MAX);
  tn_map_init(&names, &storage->env->mem);
  pthread_mutex_lock(&s->mutex);
  st = collect_names(s, path, &arena, &names, err);
  pthread_mutex_unlock(&s->mutex);
  if (st == TARN_OK && names.count == 0) {
    st = tn_fail_errno(err, ENOENT, "list %s", path);
  }
  for (size_t i = 0; i < names.count && st == TARN_OK; i++) {
    const tn_map_entry *e = &names.entries[i];
    st = visit(ctx, (const char *)e->key.data, e->value.num != 0, err);
  }
  tn_map_reset(&names);
  tn_arena_reset(&arena);
  return st;
}

static void memory_free(tn_storage *storage) {
  memory_storage *s = TN_CONTAINER_OF(storage, memory_storage, base);
  while (s->entries != NULL) {
    tn_storage_memory_remove(storage, s->entries->path);
  }
  pthread_mutex_destroy(&s->mutex);
  tn_free(&storage->env->mem, s);
}

static const tn_storage_ops memory_ops = {"memory", memory_free, memory_open, memory_info,
                                          memory_list};

tarn_status tn_storage_memory(tarn_env *env, tn_storage **out, tarn_error *err) {
  memory_storage *s = tn_calloc(&env->mem, 1, sizeof(*s));
  *out = NULL;
  if (s == NULL) {
    return tn_oom(err);
  }
  tn_storage_init(&s->base, &memory_ops, env);
  pthread_mutex_init(&s->mutex, NULL);
  *out = &s->base;
  return TARN_OK;
}

tarn_status tn_storage_memory_put(tn_storage *storage, const char *path, tn_slice bytes,
                                  tarn_error *err) {
  memory_storage *s = TN_CONTAINER_OF(storage, memory_storage, base);
  tn_mem *mem = &storage->env->mem;
  size_t n = strlen(path) + 1;
  memory_entry *entry = tn_alloc(mem, sizeof(*entry) + n), **at;
  blob *content = tn_alloc(mem, sizeof(*content) + bytes.len), *old = NULL;
  if (entry == NULL || content == NULL) {
    tn_free(mem, entry);
    tn_free(mem, content);
    return tn_oom(err);
  }
  atomic_init(&content->refs, 1);
  content->len = bytes.len;
  if (bytes.len > 0) {
    memcpy(content->data, bytes.data, bytes.len);
  }
  memcpy(entry->path, path, n);
  pthread_mutex_lock(&s->mutex);
  at = find_entry(s, path);
  if (*at != NULL) {
    old = (*at)->content;
    (*at)->content = content;
  } else {
    entry->content = content;
    entry->next = NULL;
    *at = entry;
    entry = NULL;
  }
  pthread_mutex_unlock(&s->mutex);
  blob_release(mem, old);
  tn_free(mem, entry);
  return TARN_OK;
}

void tn_storage_memory_remove(tn_storage *storage, const char *path) {
  memory_storage *s = TN_CONTAINER_OF(storage, memory_storage, base);
  memory_entry **at, *found;
  pthread_mutex_lock(&s->mutex);
  at = find_entry(s, path);
  found = *at;
  if (found != NULL) {
    *at = found->next;
  }
  pthread_mutex_unlock(&s->mutex);
  if (found != NULL) {
    blob_release(&storage->env->mem, found->content);
    tn_free(&storage->env->mem, found);
  }
}
