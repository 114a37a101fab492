/* memory.c - files in memory, for tests, with the memory of a disk.
 *
 *   folder -> entries (name, node, is_live, is_synced)
 *   file   -> content (what readers see), synced (what a crash leaves)
 *
 *   M1  A name is live from its making to its removal. Syncing its folder makes the live names the
 *       synced ones; a crash makes the synced names the live ones. So a removed name comes back,
 *       and a made one goes, unless the folder was synced in between.
 *   M2  A crash gives each file the content of its last sync; one that was never synced is empty.
 *   M3  The bytes of a file that somebody has open never change or move: contents are counted, and
 *       copied before they grow in more than one hand.
 */
#include <errno.h>
#include <pthread.h>

#include "io/file.h"

/* The bytes of one version of a file. */
typedef struct blob {
  _Atomic int32_t refs;
  size_t len, capacity;
  uint8_t data[];
} blob;

typedef struct entry entry;

/* A file or folder; counted by the entries and sinks that have it. */
typedef struct node {
  int32_t refs; /* by the mutex */
  bool is_folder;
  int64_t modified_ms;
  blob *content; /* of a file; NULL: empty */
  blob *synced;
  entry *entries; /* of a folder */
} node;

struct entry {
  entry *next;
  node *node;
  bool is_live, is_synced;
  char name[];
};

typedef struct memory_storage {
  tn_storage base;
  pthread_mutex_t mutex; /* guards the tree of nodes, contents but for their bytes */
  node root;
} memory_storage;

typedef struct memory_file {
  tn_file base;
  blob *content;
  char path[];
} memory_file;

typedef struct memory_sink {
  tn_sink base;
  node *file;
  char path[];
} memory_sink;

/* ------------------------------------------------------------------ contents */

static void blob_release(tn_mem *mem, blob *b) {
  if (b != NULL && atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) == 1) {
    tn_free(mem, b);
  }
}

static blob *blob_retain(blob *b) {
  if (b != NULL) {
    atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
  }
  return b;
}

/* The content with more bytes behind it; takes the place of *content. (M3) */
static tarn_status blob_append(tn_mem *mem, blob **content, const void *data, size_t n_bytes,
                               tarn_error *err) {
  blob *old = *content, *b = old;
  size_t len = old != NULL ? old->len : 0;
  if (b == NULL || atomic_load(&b->refs) > 1 || b->capacity - len < n_bytes) {
    size_t capacity = len + n_bytes + len / 2;
    b = tn_alloc(mem, sizeof(*b) + capacity);
    if (b == NULL) {
      return tn_oom(err);
    }
    atomic_init(&b->refs, 1);
    b->capacity = capacity;
    b->len = len;
    if (len > 0) {
      memcpy(b->data, old->data, len);
    }
    blob_release(mem, old);
    *content = b;
  }
  if (n_bytes > 0) {
    memcpy(b->data + len, data, n_bytes);
  }
  b->len = len + n_bytes;
  return TARN_OK;
}

/* ------------------------------------------------------------------ the tree (mutex held) */

static entry **find_entry(node *folder, const char *name, size_t n_name) {
  entry **at = &folder->entries;
  while (*at != NULL && !((*at)->is_live && strlen((*at)->name) == n_name &&
                          memcmp((*at)->name, name, n_name) == 0)) {
    at = &(*at)->next;
  }
  return at;
}

static void free_entry(tn_mem *mem, entry *e);

static void release_contents(tn_mem *mem, node *n) {
  while (n->entries != NULL) {
    entry *e = n->entries;
    n->entries = e->next;
    free_entry(mem, e);
  }
  blob_release(mem, n->content);
  blob_release(mem, n->synced);
}

static void release_node(tn_mem *mem, node *n) {
  if (n != NULL && --n->refs == 0) {
    release_contents(mem, n); /* as deep as the longest path of a test */
    tn_free(mem, n);
  }
}

static void free_entry(tn_mem *mem, entry *e) {
  release_node(mem, e->node);
  tn_free(mem, e);
}

static tarn_status add_entry(tn_mem *mem, node *folder, const char *name, size_t n_name, node *n,
                             bool is_synced, tarn_error *err) {
  entry *e = tn_alloc(mem, sizeof(*e) + n_name + 1);
  if (e == NULL) {
    return tn_oom(err);
  }
  memcpy(e->name, name, n_name);
  e->name[n_name] = '\0';
  e->is_live = true;
  e->is_synced = is_synced;
  e->node = n;
  n->refs++;
  e->next = folder->entries;
  folder->entries = e;
  return TARN_OK;
}

static tarn_status make_node(tn_mem *mem, node *folder, const char *name, size_t n_name,
                             bool is_folder, bool is_synced, node **out, tarn_error *err) {
  node *n = tn_calloc(mem, 1, sizeof(*n));
  tarn_status st;
  if (n == NULL) {
    return tn_oom(err);
  }
  n->refs = 1;
  n->is_folder = is_folder;
  st = add_entry(mem, folder, name, n_name, n, is_synced, err);
  *out = n;
  release_node(mem, n); /* the entry has it */
  return st;
}

/* A name ceases; it is kept for the crash that brings it back. */
static void end_entry(tn_mem *mem, entry **at) {
  entry *e = *at;
  e->is_live = false;
  if (!e->is_synced) {
    *at = e->next;
    free_entry(mem, e);
  }
}

static bool is_empty(const node *folder) {
  const entry *e = folder->entries;
  while (e != NULL && !e->is_live) {
    e = e->next;
  }
  return e == NULL;
}

/* The next name of a path; false at its end. */
static bool next_name(const char **path, const char **name, size_t *n_name) {
  *name = *path + strspn(*path, "/");
  *n_name = strcspn(*name, "/");
  *path = *name + *n_name;
  return *n_name > 0;
}

static bool is_last(const char *rest) {
  return rest[strspn(rest, "/")] == '\0';
}

static node *find_node(memory_storage *s, const char *path) {
  node *n = &s->root;
  const char *name;
  size_t n_name;
  while (n != NULL && next_name(&path, &name, &n_name)) {
    entry *e = n->is_folder ? *find_entry(n, name, n_name) : NULL;
    n = e != NULL ? e->node : NULL;
  }
  return n;
}

/* The folder in which a path ends, and the last name. ENOENT as errno. */
static node *find_parent(memory_storage *s, const char *path, const char **name, size_t *n_name) {
  node *n = &s->root;
  const char *rest = path;
  while (n != NULL && next_name(&rest, name, n_name)) {
    entry *e;
    if (is_last(rest)) {
      return n->is_folder ? n : NULL;
    }
    e = n->is_folder ? *find_entry(n, *name, *n_name) : NULL;
    n = e != NULL ? e->node : NULL;
  }
  return NULL;
}

/* Where the entry of a path hangs, or NULL. */
static entry **find_place(memory_storage *s, const char *path, node **parent) {
  const char *name;
  size_t n_name;
  node *folder = find_parent(s, path, &name, &n_name);
  entry **at = folder != NULL ? find_entry(folder, name, n_name) : NULL;
  *parent = folder;
  return at != NULL && *at != NULL ? at : NULL;
}

/* ------------------------------------------------------------------ reading */

static memory_storage *self(tn_storage *storage) {
  return TN_CONTAINER_OF(storage, memory_storage, base);
}

static void memory_file_free(tn_file *file) {
  memory_file *f = TN_CONTAINER_OF(file, memory_file, base);
  blob_release(&file->env->mem, f->content);
  tn_free(&file->env->mem, f);
}

/* The length is that of the opening: who appends meanwhile works on a copy. */
static tarn_status memory_file_read(tn_file *file, int64_t offset, void *out, size_t n_bytes,
                                    size_t *n_read, tarn_error *err) {
  const blob *b = TN_CONTAINER_OF(file, memory_file, base)->content;
  size_t left = offset < file->size_bytes ? (size_t)(file->size_bytes - offset) : 0;
  (void)err;
  *n_read = n_bytes < left ? n_bytes : left;
  if (*n_read > 0) {
    memcpy(out, b->data + offset, *n_read);
  }
  return TARN_OK;
}

static const tn_file_ops memory_file_ops = {memory_file_free, memory_file_read};

static tarn_status memory_open(tn_storage *storage, const char *path, tn_file **out,
                               tarn_error *err) {
  memory_storage *s = self(storage);
  size_t n = strlen(path) + 1;
  memory_file *f = tn_alloc(&storage->env->mem, sizeof(*f) + n);
  const node *found;
  int os_errno;
  if (f == NULL) {
    return tn_oom(err);
  }
  pthread_mutex_lock(&s->mutex);
  found = find_node(s, path);
  os_errno = found == NULL ? ENOENT : found->is_folder ? EISDIR : 0;
  f->content = os_errno == 0 ? blob_retain(found->content) : NULL;
  pthread_mutex_unlock(&s->mutex);
  if (os_errno != 0) {
    tn_free(&storage->env->mem, f);
    return tn_fail_errno(err, os_errno, "open %s", path);
  }
  memcpy(f->path, path, n);
  tn_file_init(&f->base, &memory_file_ops, storage->env, f->path,
               f->content != NULL ? (int64_t)f->content->len : 0);
  *out = &f->base;
  return TARN_OK;
}

static tarn_status memory_info(tn_storage *storage, const char *path, tn_file_info *out,
                               tarn_error *err) {
  memory_storage *s = self(storage);
  const node *found;
  memset(out, 0, sizeof(*out));
  pthread_mutex_lock(&s->mutex);
  found = find_node(s, path);
  if (found != NULL) {
    out->size_bytes = found->content != NULL ? (int64_t)found->content->len : 0;
    out->modified_ms = found->modified_ms;
    out->is_directory = found->is_folder;
  }
  pthread_mutex_unlock(&s->mutex);
  return found != NULL ? TARN_OK : tn_fail_errno(err, ENOENT, "%s", path);
}

typedef struct name_copy {
  struct name_copy *next;
  bool is_folder;
  char name[];
} name_copy;

static tarn_status copy_names(const node *folder, tn_arena *arena, name_copy **out,
                              tarn_error *err) {
  for (const entry *e = folder->entries; e != NULL; e = e->next) {
    if (e->is_live) {
      size_t n = strlen(e->name) + 1;
      name_copy *copy = tn_arena_alloc(arena, sizeof(*copy) + n);
      if (copy == NULL) {
        return tn_oom(err);
      }
      copy->is_folder = e->node->is_folder;
      memcpy(copy->name, e->name, n);
      copy->next = *out;
      *out = copy;
    }
  }
  return TARN_OK;
}

static tarn_status memory_list(tn_storage *storage, const char *path, tn_visit_fn visit, void *ctx,
                               tarn_error *err) {
  memory_storage *s = self(storage);
  const node *folder;
  name_copy *names = NULL;
  tn_arena arena;
  tarn_status st;
  tn_arena_init(&arena, &storage->env->mem, SIZE_MAX);
  pthread_mutex_lock(&s->mutex);
  folder = find_node(s, path);
  if (folder == NULL || !folder->is_folder) {
    st = tn_fail_errno(err, folder == NULL ? ENOENT : ENOTDIR, "list %s", path);
  } else {
    st = copy_names(folder, &arena, &names, err);
  }
  pthread_mutex_unlock(&s->mutex);
  for (; names != NULL && st == TARN_OK; names = names->next) {
    st = visit(ctx, names->name, names->is_folder, err);
  }
  tn_arena_reset(&arena);
  return st;
}

/* ------------------------------------------------------------------ writing */

static tarn_status sink_write(tn_sink *sink, const void *data, size_t n_bytes, size_t *n_written,
                              tarn_error *err) {
  memory_sink *w = TN_CONTAINER_OF(sink, memory_sink, base);
  memory_storage *s = self(sink->storage);
  tarn_status st;
  pthread_mutex_lock(&s->mutex);
  st = blob_append(&sink->storage->env->mem, &w->file->content, data, n_bytes, err);
  pthread_mutex_unlock(&s->mutex);
  *n_written = n_bytes;
  return st;
}

static tarn_status sink_sync(tn_sink *sink, tarn_error *err) {
  memory_sink *w = TN_CONTAINER_OF(sink, memory_sink, base);
  memory_storage *s = self(sink->storage);
  (void)err;
  pthread_mutex_lock(&s->mutex);
  blob_release(&sink->storage->env->mem, w->file->synced);
  w->file->synced = blob_retain(w->file->content);
  pthread_mutex_unlock(&s->mutex);
  return TARN_OK;
}

static tarn_status sink_close(tn_sink *sink, tarn_error *err) {
  memory_sink *w = TN_CONTAINER_OF(sink, memory_sink, base);
  memory_storage *s = self(sink->storage);
  tn_mem *mem = &sink->storage->env->mem;
  (void)err;
  pthread_mutex_lock(&s->mutex);
  release_node(mem, w->file);
  pthread_mutex_unlock(&s->mutex);
  tn_free(mem, w);
  return TARN_OK;
}

static const tn_sink_ops memory_sink_ops = {sink_write, sink_sync, sink_close};

/* A new file or folder under a name that is free. */
static tarn_status make_new(memory_storage *s, const char *path, const char *what, bool is_folder,
                            node **out, tarn_error *err) {
  const char *name;
  size_t n_name;
  node *parent = find_parent(s, path, &name, &n_name);
  if (find_node(s, path) != NULL) {
    return tn_fail_errno(err, EEXIST, "%s %s", what, path);
  }
  if (parent == NULL) {
    return tn_fail_errno(err, ENOENT, "%s %s", what, path);
  }
  TN_TRY(make_node(&s->base.env->mem, parent, name, n_name, is_folder, false, out, err));
  (*out)->modified_ms = tn_env_now_ms(s->base.env);
  return TARN_OK;
}

static tarn_status memory_create(tn_storage *storage, const char *path, tn_sink **out,
                                 tarn_error *err) {
  memory_storage *s = self(storage);
  size_t n = strlen(path) + 1;
  memory_sink *w = tn_alloc(&storage->env->mem, sizeof(*w) + n);
  tarn_status st;
  if (w == NULL) {
    return tn_oom(err);
  }
  pthread_mutex_lock(&s->mutex);
  st = make_new(s, path, "create", false, &w->file, err);
  if (st == TARN_OK) {
    w->file->refs++;
  }
  pthread_mutex_unlock(&s->mutex);
  if (st != TARN_OK) {
    tn_free(&storage->env->mem, w);
    return st;
  }
  memcpy(w->path, path, n);
  tn_sink_init(&w->base, &memory_sink_ops, storage, w->path);
  *out = &w->base;
  return TARN_OK;
}

static tarn_status memory_make_folder(tn_storage *storage, const char *path, tarn_error *err) {
  memory_storage *s = self(storage);
  tarn_status st;
  node *made;
  pthread_mutex_lock(&s->mutex);
  st = make_new(s, path, "make folder", true, &made, err);
  pthread_mutex_unlock(&s->mutex);
  return st;
}

/* With the mutex held. */
static tarn_status move(memory_storage *s, const char *from, const char *to, bool replaces,
                        tarn_error *err) {
  tn_mem *mem = &s->base.env->mem;
  const char *name;
  size_t n_name;
  node *from_folder, *to_folder = find_parent(s, to, &name, &n_name);
  entry **source = find_place(s, from, &from_folder), **target;
  node *moved;
  if (source == NULL || to_folder == NULL) {
    return tn_fail_errno(err, ENOENT, "rename %s to %s", from, to);
  }
  moved = (*source)->node;
  target = find_entry(to_folder, name, n_name);
  if (*target != NULL && (!replaces || (*target)->node->is_folder)) {
    return tn_fail_errno(err, replaces ? EISDIR : EEXIST, "rename %s to %s", from, to);
  }
  TN_TRY(add_entry(mem, to_folder, name, n_name, moved, false, err));
  /* The new entry is the first one of its folder, so that the old ones are searched for again. */
  for (entry **at = &to_folder->entries->next; *at != NULL; at = &(*at)->next) {
    if ((*at)->is_live && strlen((*at)->name) == n_name && memcmp((*at)->name, name, n_name) == 0) {
      end_entry(mem, at);
      break;
    }
  }
  source = find_place(s, from, &from_folder);
  if (source != NULL && (*source)->node == moved) {
    end_entry(mem, source);
  }
  return TARN_OK;
}

static tarn_status memory_rename(tn_storage *storage, const char *from, const char *to,
                                 tarn_error *err) {
  memory_storage *s = self(storage);
  tarn_status st;
  pthread_mutex_lock(&s->mutex);
  st = move(s, from, to, false, err);
  pthread_mutex_unlock(&s->mutex);
  return st;
}

static tarn_status memory_replace(tn_storage *storage, const char *from, const char *to,
                                  tarn_error *err) {
  memory_storage *s = self(storage);
  tarn_status st;
  pthread_mutex_lock(&s->mutex);
  st = move(s, from, to, true, err);
  pthread_mutex_unlock(&s->mutex);
  return st;
}

/* A file, or a folder with nothing in it. */
static tarn_status remove_node(tn_storage *storage, const char *path, bool is_folder,
                               tarn_error *err) {
  memory_storage *s = self(storage);
  node *parent;
  entry **at;
  int os_errno;
  pthread_mutex_lock(&s->mutex);
  at = find_place(s, path, &parent);
  if (at == NULL) {
    os_errno = ENOENT;
  } else if ((*at)->node->is_folder != is_folder) {
    os_errno = is_folder ? ENOTDIR : EISDIR;
  } else {
    os_errno = is_folder && !is_empty((*at)->node) ? ENOTEMPTY : 0;
  }
  if (os_errno == 0) {
    end_entry(&storage->env->mem, at);
  }
  pthread_mutex_unlock(&s->mutex);
  return os_errno == 0 ? TARN_OK : tn_fail_errno(err, os_errno, "remove %s", path);
}

static tarn_status memory_remove(tn_storage *storage, const char *path, tarn_error *err) {
  return remove_node(storage, path, false, err);
}

static tarn_status memory_remove_folder(tn_storage *storage, const char *path, tarn_error *err) {
  return remove_node(storage, path, true, err);
}

static tarn_status memory_sync_folder(tn_storage *storage, const char *path, tarn_error *err) {
  memory_storage *s = self(storage);
  node *folder;
  bool is_folder;
  pthread_mutex_lock(&s->mutex);
  folder = find_node(s, path);
  is_folder = folder != NULL && folder->is_folder;
  for (entry **at = is_folder ? &folder->entries : NULL; at != NULL && *at != NULL;) {
    entry *e = *at;
    if (e->is_live) {
      e->is_synced = true;
      at = &e->next;
    } else {
      *at = e->next;
      free_entry(&storage->env->mem, e);
    }
  }
  pthread_mutex_unlock(&s->mutex);
  return is_folder ? TARN_OK
                   : tn_fail_errno(err, folder == NULL ? ENOENT : ENOTDIR, "sync folder %s", path);
}

/* ------------------------------------------------------------------ making, ending, losing power
 */

static void memory_free(tn_storage *storage) {
  memory_storage *s = self(storage);
  tarn_env *env = storage->env;
  release_contents(&env->mem, &s->root);
  pthread_mutex_destroy(&s->mutex);
  tn_free(&env->mem, s);
}

static const tn_storage_ops memory_ops = {.name = "memory",
                                          .free = memory_free,
                                          .open = memory_open,
                                          .info = memory_info,
                                          .list = memory_list,
                                          .create = memory_create,
                                          .link = memory_rename,
                                          .replace = memory_replace,
                                          .rename = memory_rename,
                                          .remove = memory_remove,
                                          .remove_folder = memory_remove_folder,
                                          .make_folder = memory_make_folder,
                                          .sync_folder = memory_sync_folder,
                                          .list_unlinked = memory_list};

tarn_status tn_storage_memory(tarn_env *env, tn_storage **out, tarn_error *err) {
  memory_storage *s = tn_calloc(&env->mem, 1, sizeof(*s));
  *out = NULL;
  if (s == NULL) {
    return tn_oom(err);
  }
  tn_storage_init(&s->base, &memory_ops, env);
  pthread_mutex_init(&s->mutex, NULL);
  s->root.refs = 1;
  s->root.is_folder = true;
  *out = &s->base;
  return TARN_OK;
}

/* What a crash would bring back under a name. */
static void drop_dead(tn_mem *mem, node *folder, const char *name, size_t n_name) {
  for (entry **at = &folder->entries; *at != NULL;) {
    entry *e = *at;
    if (!e->is_live && strlen(e->name) == n_name && memcmp(e->name, name, n_name) == 0) {
      *at = e->next;
      free_entry(mem, e);
    } else {
      at = &e->next;
    }
  }
}

/* The file of a path, made with the folders above it, all synced. */
static tarn_status put_node(memory_storage *s, const char *path, node **out, tarn_error *err) {
  tn_mem *mem = &s->base.env->mem;
  node *n = &s->root;
  const char *name;
  size_t n_name;
  while (next_name(&path, &name, &n_name)) {
    bool is_folder = !is_last(path);
    entry *e = *find_entry(n, name, n_name);
    if (!n->is_folder) {
      return tn_fail_errno(err, ENOTDIR, "put %s", path);
    }
    drop_dead(mem, n, name, n_name);
    if (e == NULL) {
      TN_TRY(make_node(mem, n, name, n_name, is_folder, true, &n, err));
    } else {
      e->is_synced = true;
      n = e->node;
    }
  }
  *out = n;
  return TARN_OK;
}

tarn_status tn_storage_memory_put(tn_storage *storage, const char *path, tn_slice bytes,
                                  tarn_error *err) {
  memory_storage *s = self(storage);
  tn_mem *mem = &storage->env->mem;
  blob *content = NULL;
  tarn_status st;
  node *n;
  TN_TRY(blob_append(mem, &content, bytes.data, bytes.len, err));
  pthread_mutex_lock(&s->mutex);
  st = put_node(s, path, &n, err);
  if (st == TARN_OK && n->is_folder) {
    st = tn_fail_errno(err, EISDIR, "put %s", path);
  }
  if (st == TARN_OK) {
    blob_release(mem, n->content);
    blob_release(mem, n->synced);
    n->content = content;
    n->synced = blob_retain(content);
    content = NULL;
  }
  pthread_mutex_unlock(&s->mutex);
  blob_release(mem, content);
  return st;
}

void tn_storage_memory_remove(tn_storage *storage, const char *path) {
  memory_storage *s = self(storage);
  node *parent;
  entry **at;
  pthread_mutex_lock(&s->mutex);
  at = find_place(s, path, &parent);
  if (at != NULL) {
    (*at)->is_synced = false;
    end_entry(&storage->env->mem, at);
  }
  pthread_mutex_unlock(&s->mutex);
}

/* Names and contents of a folder and those below it, as they were synced. */
static void forget_unsynced(tn_mem *mem, node *folder) {
  for (entry **at = &folder->entries; *at != NULL;) {
    entry *e = *at;
    if (!e->is_synced) {
      *at = e->next;
      free_entry(mem, e);
      continue;
    }
    e->is_live = true;
    if (e->node->is_folder) {
      forget_unsynced(mem, e->node); /* as deep as the longest path of a test */
    } else {
      blob_release(mem, e->node->content);
      e->node->content = blob_retain(e->node->synced);
    }
    at = &e->next;
  }
}

void tn_storage_memory_crash(tn_storage *storage) {
  memory_storage *s = self(storage);
  pthread_mutex_lock(&s->mutex);
  forget_unsynced(&storage->env->mem, &s->root);
  pthread_mutex_unlock(&s->mutex);
}
