/* writing.c - what is common to all kinds of storage in writing.
 *
 * The kinds bring single steps (tn_storage_ops); here are the sequences of them that callers need:
 * gathered writes, files that appear whole, folders with those above and below them.
 *
 *   W1  A file is published by: create a hidden name, write, sync, close, link, sync the folder.
 *       Until the link nobody sees it, after the last step nothing can take it away.
 *   W2  Hidden names are ".<name>.<UUID>.tmp", as org.apache.paimon.fs.FileIO has them: their first
 *       character keeps them out of every listing by prefix, here and in Java. The UUID is one of
 *       version 8 (RFC 9562: of our own making).
 *   W3  Nothing below a folder that is removed is reached through a link.
 */
#include <errno.h>
#include <stdio.h>

#include "io/file.h"

#define MIN_GATHERED_BYTES ((size_t)1 << 10)
#define MAX_GATHERED_BYTES ((size_t)32 << 10)

static tarn_status check_writable(const tn_storage *storage, const char *path, tarn_error *err) {
  return storage->ops->create != NULL ? TARN_OK
                                      : tn_fail(err, TARN_E_UNSUPPORTED, "write %s: storage \"%s\"",
                                                path, storage->ops->name);
}

/* The length of the folder of a path: 0 for a name alone, 1 for what is below the root. */
static size_t folder_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
}

/* The folder of a path ("." for a name alone); freed by the caller. NULL: no memory. */
static char *folder_of(tn_mem *mem, const char *path) {
  size_t n = folder_length(path);
  return n == 0 ? tn_strdup(mem, ".") : tn_strndup(mem, path, n);
}

/* ------------------------------------------------------------------ folders */

tarn_status tn_storage_sync_folder(tn_storage *storage, const char *path, tarn_error *err) {
  TN_TRY(check_writable(storage, path, err));
  return storage->env->syncs_files ? storage->ops->sync_folder(storage, path, err) : TARN_OK;
}

tarn_status tn_storage_sync_folders(tn_storage *storage, const char *path, const char *root,
                                    tarn_error *err) {
  tn_mem *mem = &storage->env->mem;
  char *at = tn_strdup(mem, path);
  size_t n_root = strlen(root);
  tarn_status st = at != NULL ? TARN_OK : tn_oom(err);
  while (st == TARN_OK && strlen(at) >= n_root) {
    size_t n = folder_length(at);
    st = tn_storage_sync_folder(storage, at, err);
    if (n <= 1) {
      break;
    }
    at[n] = '\0';
  }
  tn_free(mem, at);
  return st;
}

int tn_storage_lock_folder(tn_storage *storage, const char *path) {
  return storage->ops->lock_folder != NULL ? storage->ops->lock_folder(storage, path) : -1;
}

void tn_storage_unlock_folder(tn_storage *storage, int handle) {
  if (handle >= 0 && storage->ops->unlock_folder != NULL) {
    storage->ops->unlock_folder(handle);
  }
}

static tarn_status sync_folder_of(tn_storage *storage, const char *path, tarn_error *err) {
  tn_mem *mem = &storage->env->mem;
  char *folder = folder_of(mem, path);
  tarn_status st = folder != NULL ? tn_storage_sync_folder(storage, folder, err) : tn_oom(err);
  tn_free(mem, folder);
  return st;
}

/* One folder of a chain. Somebody else may make it at the same time. */
static tarn_status make_one(tn_storage *storage, const char *path, bool syncs, tarn_error *err) {
  tarn_status st = storage->ops->make_folder(storage, path, err);
  if (st == TARN_E_EXISTS) {
    tn_error_reset(err);
    return TARN_OK;
  }
  return st == TARN_OK && syncs ? sync_folder_of(storage, path, err) : st;
}

/* `path` is written to meanwhile: its slashes become ends, one after the other, from the back until
 * there is something, and from there to the front. */
static tarn_status make_chain(tn_storage *storage, char *path, bool syncs, tarn_error *err) {
  size_t n = strlen(path), at = n;
  tarn_status st;
  for (;;) {
    st = make_one(storage, path, syncs, err);
    if (st != TARN_E_NOT_FOUND) {
      break;
    }
    at = folder_length(path);
    if (at <= 1) {
      return st;
    }
    path[at] = '\0';
  }
  while (st == TARN_OK && at < n) {
    path[at] = '/';
    at = strlen(path);
    st = make_one(storage, path, syncs, err);
  }
  return st;
}

/* After folders were made, nothing is missing: what is in their place is no folder. */
static tarn_status in_the_way(tarn_status st, tarn_error *err) {
  if (st == TARN_E_NOT_FOUND && err != NULL) {
    err->status = TARN_E_IO;
  }
  return st == TARN_E_NOT_FOUND ? TARN_E_IO : st;
}

static tarn_status make_folders(tn_storage *storage, const char *path, bool syncs,
                                tarn_error *err) {
  tn_mem *mem = &storage->env->mem;
  char *copy = tn_strdup(mem, path);
  tarn_status st = copy != NULL ? make_chain(storage, copy, syncs, err) : tn_oom(err);
  tn_free(mem, copy);
  return in_the_way(st, err);
}

tarn_status tn_storage_make_folder(tn_storage *storage, const char *path, tarn_error *err) {
  tn_file_info info;
  TN_TRY(check_writable(storage, path, err));
  TN_TRY(make_folders(storage, path, false, err));
  TN_TRY(tn_storage_info(storage, path, &info, err));
  return info.is_directory ? TARN_OK : tn_fail_errno(err, EEXIST, "make folder %s", path);
}

bool tn_storage_remove_empty_folder(tn_storage *storage, const char *path) {
  return storage->ops->remove_folder != NULL &&
         storage->ops->remove_folder(storage, path, NULL) == TARN_OK;
}

/* ------------------------------------------------------------------ sinks */

/* Create a file, and the folders above it when they are missing. */
static tarn_status create_with_folders(tn_storage *storage, const char *path, bool syncs,
                                       tn_sink **out, tarn_error *err) {
  tn_mem *mem = &storage->env->mem;
  tarn_status st = storage->ops->create(storage, path, out, err);
  if (st == TARN_E_NOT_FOUND && folder_length(path) > 1) {
    char *folder = folder_of(mem, path);
    st = folder != NULL ? make_folders(storage, folder, syncs, err) : tn_oom(err);
    tn_free(mem, folder);
    if (st == TARN_OK) {
      tn_error_reset(err);
      st = storage->ops->create(storage, path, out, err);
    }
  }
  return in_the_way(st, err);
}

tarn_status tn_storage_create(tn_storage *storage, const char *path, tn_sink **out,
                              tarn_error *err) {
  *out = NULL;
  TN_TRY(check_writable(storage, path, err));
  return create_with_folders(storage, path, false, out, err);
}

static tarn_status write_all(tn_sink *sink, const uint8_t *data, size_t n_bytes, tarn_error *err) {
  while (n_bytes > 0) {
    size_t n = 0;
    TN_TRY(sink->ops->write(sink, data, n_bytes, &n, err));
    data += n;
    n_bytes -= n;
  }
  return TARN_OK;
}

static tarn_status write_gathered(tn_sink *sink, tarn_error *err) {
  size_t n = sink->n_gathered;
  sink->n_gathered = 0;
  return n > 0 ? write_all(sink, sink->gathered, n, err) : TARN_OK;
}

/* Room for n_bytes more among the gathered; what is there is written out when they are too many. */
static tarn_status make_room(tn_sink *sink, size_t n_bytes, tarn_error *err) {
  size_t wanted = sink->n_gathered + n_bytes, capacity = sink->capacity;
  uint8_t *grown;
  if (wanted <= capacity) {
    return TARN_OK;
  }
  if (wanted > MAX_GATHERED_BYTES) {
    TN_TRY(write_gathered(sink, err));
    wanted = n_bytes;
  }
  while (capacity < wanted) {
    capacity = capacity == 0 ? MIN_GATHERED_BYTES : capacity * 2;
  }
  if (capacity > sink->capacity) {
    grown = tn_realloc(&sink->storage->env->mem, sink->gathered, capacity);
    if (grown == NULL) {
      return tn_oom(err);
    }
    sink->gathered = grown;
    sink->capacity = capacity;
  }
  return TARN_OK;
}

tarn_status tn_sink_write(tn_sink *sink, const void *data, size_t n_bytes, tarn_error *err) {
  if (n_bytes > (uint64_t)(INT64_MAX - sink->size_bytes)) {
    return tn_fail(err, TARN_E_LIMIT, "write %s: %zu bytes behind %lld", sink->path, n_bytes,
                   (long long)sink->size_bytes);
  }
  if (n_bytes > MAX_GATHERED_BYTES / 2) {
    TN_TRY(write_gathered(sink, err));
    TN_TRY(write_all(sink, data, n_bytes, err));
  } else if (n_bytes > 0) {
    TN_TRY(make_room(sink, n_bytes, err));
    memcpy(sink->gathered + sink->n_gathered, data, n_bytes);
    sink->n_gathered += n_bytes;
  }
  sink->size_bytes += (int64_t)n_bytes;
  return TARN_OK;
}

int64_t tn_sink_size(const tn_sink *sink) {
  return sink->size_bytes;
}

/* End a sink; the file goes unless all went well. */
static tarn_status end_sink(tn_sink *sink, tarn_status st, tarn_error *err) {
  tn_storage *storage = sink->storage;
  tn_mem *mem = &storage->env->mem;
  tarn_status closed;
  char *path = NULL;
  /* Its path ends with the sink. Without memory for a copy the file goes before it is closed. */
  path = tn_strdup(mem, sink->path);
  if (path == NULL && st == TARN_OK) {
    st = tn_oom(err);
  }
  if (path == NULL) {
    (void)storage->ops->remove(storage, sink->path, NULL);
  }
  tn_free(mem, sink->gathered);
  closed = sink->ops->close(sink, st == TARN_OK ? err : NULL);
  st = st == TARN_OK ? closed : st;
  if (st != TARN_OK && path != NULL) {
    (void)storage->ops->remove(storage, path, NULL);
  }
  tn_free(mem, path);
  tn_storage_release(storage);
  return st;
}

tarn_status tn_sink_finish(tn_sink *sink, bool sync, tarn_error *err) {
  tarn_status st = write_gathered(sink, err);
  if (st == TARN_OK && sync && sink->storage->env->syncs_files) {
    st = sink->ops->sync(sink, err);
  }
  return end_sink(sink, st, err);
}

void tn_sink_abort(tn_sink *sink) {
  if (sink != NULL) {
    (void)end_sink(sink, TARN_E_CANCELLED, NULL);
  }
}

/* ------------------------------------------------------------------ small files, whole */

/* ".<name>.<UUID>.tmp" beside `path`; freed by the caller. */
static tarn_status hidden_name(tn_storage *storage, const char *path, char **out, tarn_error *err) {
  size_t n_folder = folder_length(path), n_path = strlen(path), n = n_path + TN_UUID_CHARS + 8;
  const char *name = path + n_folder + (path[n_folder] == '/' ? 1 : 0);
  char uuid[TN_UUID_CHARS + 1];
  *out = NULL;
  TN_TRY(tn_env_uuid(storage->env, uuid, err));
  uuid[TN_HIDDEN_VERSION_AT] = TN_HIDDEN_VERSION;
  *out = tn_alloc(&storage->env->mem, n);
  if (*out == NULL) {
    return tn_oom(err);
  }
  snprintf(*out, n, "%.*s.%s.%s.tmp", (int)(name - path), path, name, uuid);
  return TARN_OK;
}

/* A whole file under a hidden name (freed by the caller). */
static tarn_status write_hidden(tn_storage *storage, const char *path, tn_slice bytes, bool sync,
                                char **hidden, tarn_error *err) {
  tn_sink *sink;
  tarn_status st;
  TN_TRY(hidden_name(storage, path, hidden, err));
  TN_TRY(create_with_folders(storage, *hidden, sync, &sink, err));
  st = tn_sink_write(sink, bytes.data, bytes.len, err);
  if (st != TARN_OK) {
    tn_sink_abort(sink);
    return st;
  }
  return tn_sink_finish(sink, sync, err);
}

typedef tarn_status (*name_fn)(tn_storage *storage, const char *from, const char *to,
                               tarn_error *err);

static tarn_status write_whole(tn_storage *storage, const char *path, tn_slice bytes, bool sync,
                               name_fn give_name, tarn_error *err) {
  tarn_status st = TARN_OK;
  char *hidden = NULL;
  TN_TRY_TO(done, write_hidden(storage, path, bytes, sync, &hidden, err));
  st = give_name(storage, hidden, path, err);
  if (st != TARN_OK) {
    (void)storage->ops->remove(storage, hidden, NULL);
  } else if (sync) {
    st = sync_folder_of(storage, path, err);
  }
done:
  tn_free(&storage->env->mem, hidden);
  return st;
}

tarn_status tn_storage_publish(tn_storage *storage, const char *path, tn_slice bytes,
                               tarn_error *err) {
  TN_TRY(check_writable(storage, path, err));
  return write_whole(storage, path, bytes, true, storage->ops->link, err);
}

tarn_status tn_storage_replace(tn_storage *storage, const char *path, tn_slice bytes, bool sync,
                               tarn_error *err) {
  TN_TRY(check_writable(storage, path, err));
  return write_whole(storage, path, bytes, sync, storage->ops->replace, err);
}

tarn_status tn_storage_rename(tn_storage *storage, const char *from, const char *to,
                              tarn_error *err) {
  TN_TRY(check_writable(storage, from, err));
  return storage->ops->rename(storage, from, to, err);
}

/* ------------------------------------------------------------------ removing */

tarn_status tn_storage_remove(tn_storage *storage, const char *path, tarn_error *err) {
  tarn_status st;
  TN_TRY(check_writable(storage, path, err));
  st = storage->ops->remove(storage, path, err);
  if (st == TARN_E_NOT_FOUND) {
    tn_error_reset(err);
    st = TARN_OK;
  }
  return st;
}

/* A folder on the way: to be emptied, or to be removed because it was emptied. */
typedef struct tree_folder {
  struct tree_folder *next;
  int rounds; /* that found something in it */
  bool is_emptied;
  char path[];
} tree_folder;

typedef struct tree {
  tn_storage *storage;
  tn_arena arena;
  tree_folder *stack;
} tree;

/* Something may arrive in a folder while it goes; who never stops wins. */
#define MAX_ROUNDS 5

static tarn_status push_folder(tree *t, const char *folder, const char *name, tarn_error *err) {
  size_t n = strlen(folder) + strlen(name) + 2;
  tree_folder *f = tn_arena_calloc(&t->arena, 1, sizeof(*f) + n);
  if (f == NULL) {
    return tn_oom(err);
  }
  snprintf(f->path, n, "%s%s%s", folder, name[0] != '\0' ? "/" : "", name);
  f->next = t->stack;
  t->stack = f;
  return TARN_OK;
}

typedef struct tree_visit {
  tree *tree;
  const char *folder;
} tree_visit;

static tarn_status visit_entry(void *ctx, const char *name, bool is_directory, tarn_error *err) {
  tree_visit *v = ctx;
  tn_mem *mem = &v->tree->storage->env->mem;
  size_t n = strlen(v->folder) + strlen(name) + 2;
  tarn_status st;
  char *path;
  if (is_directory) {
    return push_folder(v->tree, v->folder, name, err);
  }
  path = tn_alloc(mem, n);
  if (path == NULL) {
    return tn_oom(err);
  }
  snprintf(path, n, "%s/%s", v->folder, name);
  st = tn_storage_remove(v->tree->storage, path, err);
  tn_free(mem, path);
  return st;
}

static tarn_status hand_over(const tarn_error *why, tarn_error *err) {
  if (err != NULL) {
    *err = *why;
  }
  return why->status;
}

/* The folder on top of the stack: its files go, its folders are put above it. It may be a link,
 * which goes itself. */
static tarn_status empty_folder(tree *t, tree_folder *f, tarn_error *err) {
  tree_visit visit = {t, f->path};
  tarn_error why;
  tarn_status st = t->storage->ops->remove(t->storage, f->path, &why);
  if (st == TARN_OK || st == TARN_E_NOT_FOUND) {
    t->stack = f->next;
    return TARN_OK;
  }
  if (why.os_errno != EISDIR) {
    return hand_over(&why, err);
  }
  f->is_emptied = true;
  return t->storage->ops->list_unlinked(t->storage, f->path, visit_entry, &visit, err);
}

static tarn_status remove_emptied(tree *t, tree_folder *f, tarn_error *err) {
  tarn_error why;
  tarn_status st = t->storage->ops->remove_folder(t->storage, f->path, &why);
  if (st == TARN_OK || st == TARN_E_NOT_FOUND) {
    t->stack = f->next;
    return TARN_OK;
  }
  if ((why.os_errno == ENOTEMPTY || why.os_errno == EEXIST) && ++f->rounds < MAX_ROUNDS) {
    f->is_emptied = false;
    return TARN_OK;
  }
  return hand_over(&why, err);
}

tarn_status tn_storage_remove_tree(tn_storage *storage, const char *path, tarn_error *err) {
  tarn_status st = TARN_OK;
  tree t = {.storage = storage};
  TN_TRY(check_writable(storage, path, err));
  tn_arena_init(&t.arena, &storage->env->mem, SIZE_MAX);
  TN_TRY_TO(done, push_folder(&t, path, "", err));
  while (t.stack != NULL) {
    TN_TRY_TO(done, t.stack->is_emptied ? remove_emptied(&t, t.stack, err)
                                        : empty_folder(&t, t.stack, err));
  }
done:
  tn_arena_reset(&t.arena);
  return st;
}
