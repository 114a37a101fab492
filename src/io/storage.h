/* storage.h - the only door to files.
 *
 * A storage is a table of calls over one kind of place: the local file system, or memory (tests).
 * A read delivers all bytes or fails. Names are plain full paths: tn_path_plain takes "file:" URIs
 * apart. Everything here is thread-safe unless told otherwise.
 */
#ifndef TN_IO_STORAGE_H
#define TN_IO_STORAGE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/env.h"

typedef struct tn_storage tn_storage; /* counted */
typedef struct tn_file tn_file;       /* an open file for reading; counted, immutable content */
typedef struct tn_sink tn_sink;       /* a file being written front to back; one thread */

typedef struct tn_file_info {
  int64_t size_bytes;
  int64_t modified_ms;
  bool is_directory;
} tn_file_info;

typedef struct tn_storage_ops {
  const char *name; /* "local", "memory" */
  void (*free)(tn_storage *storage);
  tarn_status (*open)(tn_storage *storage, const char *path, tn_file **out, tarn_error *err);
  tarn_status (*info)(tn_storage *storage, const char *path, tn_file_info *out, tarn_error *err);
  /* Calls visit once for each entry, in no order; stops at its first failure. */
  tarn_status (*list)(tn_storage *storage, const char *path,
                      tarn_status (*visit)(void *ctx, const char *name, bool is_directory,
                                           tarn_error *err),
                      void *ctx, tarn_error *err);
  /* The single steps of writing; without `create` the storage is only read. Each does one thing or
   * fails: parents are not made, names that are taken are EXISTS, missing ones NOT_FOUND. */
  tarn_status (*create)(tn_storage *storage, const char *path, tn_sink **out, tarn_error *err);
  /* Give the file `from` the name `to` instead: the one step that makes it visible. */
  tarn_status (*link)(tn_storage *storage, const char *from, const char *to, tarn_error *err);
  tarn_status (*replace)(tn_storage *storage, const char *from, const char *to, tarn_error *err);
  /* The same as link for folders, too. */
  tarn_status (*rename)(tn_storage *storage, const char *from, const char *to, tarn_error *err);
  /* A file or a link, never a folder: IO with EISDIR. */
  tarn_status (*remove)(tn_storage *storage, const char *path, tarn_error *err);
  /* IO or EXISTS when it is not empty. */
  tarn_status (*remove_folder)(tn_storage *storage, const char *path, tarn_error *err);
  tarn_status (*make_folder)(tn_storage *storage, const char *path, tarn_error *err);
  tarn_status (*sync_folder)(tn_storage *storage, const char *path, tarn_error *err);
  /* As list, but what is a link itself is not followed: an error. */
  tarn_status (*list_unlinked)(tn_storage *storage, const char *path,
                               tarn_status (*visit)(void *ctx, const char *name, bool is_directory,
                                                    tarn_error *err),
                               void *ctx, tarn_error *err);
  /* A handle, or -1: not to be had in time. NULL: there is nothing to lock. */
  int (*lock_folder)(tn_storage *storage, const char *path);
  void (*unlock_folder)(int handle);
} tn_storage_ops;

struct tn_storage {
  const tn_storage_ops *ops;
  tarn_env *env;
  _Atomic int32_t refs;
};

typedef struct tn_file_ops {
  void (*free)(tn_file *file);
  /* Some bytes at offset: at least one and at most n_bytes (which is not 0), or *n_read = 0 at the
   * end of the file. */
  tarn_status (*read)(tn_file *file, int64_t offset, void *out, size_t n_bytes, size_t *n_read,
                      tarn_error *err);
} tn_file_ops;

struct tn_file {
  const tn_file_ops *ops;
  tarn_env *env;
  const char *path;   /* owned by the file */
  int64_t size_bytes; /* when it was opened */
  _Atomic int32_t refs;
};

/* The local file system. */
TN_CHECKED tarn_status tn_storage_local(tarn_env *env, tn_storage **out, tarn_error *err);
/* Files in memory, for tests; tn_storage_memory_put copies the bytes. */
TN_CHECKED tarn_status tn_storage_memory(tarn_env *env, tn_storage **out, tarn_error *err);
TN_CHECKED tarn_status tn_storage_memory_put(tn_storage *storage, const char *path, tn_slice bytes,
                                             tarn_error *err);
void tn_storage_memory_remove(tn_storage *storage, const char *path);
/* The loss of power: what was not synced is forgotten, each content and each name. What a folder
 * held at its last sync is in it again; a file whose content was never synced is empty. What was
 * put is synced. */
void tn_storage_memory_crash(tn_storage *storage);

/* For a warehouse or path with a scheme: local for none and "file"; UNSUPPORTED naming the scheme
 * otherwise. *path gets the plain path (arena). */
TN_CHECKED tarn_status tn_storage_for_uri(tarn_env *env, tn_arena *arena, const char *uri,
                                          tn_storage **out, const char **path, tarn_error *err);
/* The plain path of a full path as Paimon records it ("file:/a/b", "file:///a/b", "/a/b"): without
 * doubled and trailing slashes, nothing decoded. Errors: UNSUPPORTED (another scheme, named),
 * INVALID (empty, a host, a relative path behind a scheme). Rule: org.apache.paimon.fs.Path. */
TN_CHECKED tarn_status tn_path_plain(tn_arena *arena, const char *path, const char **out,
                                     tarn_error *err);

tn_storage *tn_storage_retain(tn_storage *storage);
void tn_storage_release(tn_storage *storage);

/* Errors of all three: NOT_FOUND, AUTH, IO; path and cause in the message. */
TN_CHECKED tarn_status tn_storage_open(tn_storage *storage, const char *path, tn_file **out,
                                       tarn_error *err);
TN_CHECKED tarn_status tn_storage_info(tn_storage *storage, const char *path, tn_file_info *out,
                                       tarn_error *err);
/* NOT_FOUND when the directory is absent. */
TN_CHECKED tarn_status tn_storage_list(tn_storage *storage, const char *path,
                                       tarn_status (*visit)(void *ctx, const char *name,
                                                            bool is_directory, tarn_error *err),
                                       void *ctx, tarn_error *err);
/* A whole small file (emptied buffer first); LIMIT past the buffer's limit. The content is that of
 * one moment: a file that is replaced meanwhile is read old or new, never mixed. */
TN_CHECKED tarn_status tn_storage_read_all(tn_storage *storage, const char *path, tn_buf *out,
                                           tarn_error *err);
bool tn_storage_exists(tn_storage *storage, const char *path);

tn_file *tn_file_retain(tn_file *file);
void tn_file_release(tn_file *file); /* accepts NULL */
/* Exactly n_bytes at offset. Counts into the environment's statistics. Errors: CORRUPT when the
 * file is shorter (expected and found in the message), IO. */
TN_CHECKED tarn_status tn_file_read(tn_file *file, int64_t offset, void *out, size_t n_bytes,
                                    tarn_error *err);

/* ------------------------------------------------------------------ writing
 *
 * What survives a loss of power is what was synced: the content of a file by tn_sink_finish(sync)
 * or the calls below, its name by tn_storage_sync_folder() of its folder (and of that folder's, if
 * it is new). env->syncs_files == false turns every sync into nothing. Writers follow one order:
 * contents, names, then the one file that makes them visible, by tn_storage_publish().
 */

/* A new file; missing folders are made. Nobody else may have it: EXISTS when the name is taken. */
TN_CHECKED tarn_status tn_storage_create(tn_storage *storage, const char *path, tn_sink **out,
                                         tarn_error *err);
/* Append all bytes (small ones are gathered) or fail; after a failure only tn_sink_abort(). */
TN_CHECKED tarn_status tn_sink_write(tn_sink *sink, const void *data, size_t n_bytes,
                                     tarn_error *err);
int64_t tn_sink_size(const tn_sink *sink); /* bytes so far */
/* Write out what is gathered, sync the content if asked, close and free. On failure the file is
 * removed. */
TN_CHECKED tarn_status tn_sink_finish(tn_sink *sink, bool sync, tarn_error *err);
/* Close, remove the file and free. Accepts NULL. */
void tn_sink_abort(tn_sink *sink);

/* Make a small file visible whole and synced, or not at all: content under a temporary name beside
 * it, then a name that must not exist yet (link(2)). EXISTS when somebody was first. When the call
 * fails otherwise, the outcome may be unknown: whoever needs it looks. Folders that are missing are
 * made, and their names synced. Temporary names are Java's, ".<name>.<UUID>.tmp"; they may stay
 * behind after a crash. Ours have UUIDs of a version that Java and Python do not make: who has such
 * a file takes no name that another has. */
#define TN_HIDDEN_VERSION_AT 14
#define TN_HIDDEN_VERSION '8'
TN_CHECKED tarn_status tn_storage_publish(tn_storage *storage, const char *path, tn_slice bytes,
                                          tarn_error *err);
/* The same, replacing what is there (rename(2)). sync: false for hints. */
TN_CHECKED tarn_status tn_storage_replace(tn_storage *storage, const char *path, tn_slice bytes,
                                          bool sync, tarn_error *err);
/* Remove a file. One that is not there is fine. */
TN_CHECKED tarn_status tn_storage_remove(tn_storage *storage, const char *path, tarn_error *err);
/* An empty folder: true when it was removed; one that is not empty or not there stays. */
bool tn_storage_remove_empty_folder(tn_storage *storage, const char *path);
/* A folder with all that is in it, links not followed; not there is fine. */
TN_CHECKED tarn_status tn_storage_remove_tree(tn_storage *storage, const char *path,
                                              tarn_error *err);
/* A folder, and those above it. Fine when it is there. */
TN_CHECKED tarn_status tn_storage_make_folder(tn_storage *storage, const char *path,
                                              tarn_error *err);
/* Give a file or folder another name in the same storage. EXISTS when it is taken. */
TN_CHECKED tarn_status tn_storage_rename(tn_storage *storage, const char *from, const char *to,
                                         tarn_error *err);
/* Keep other holders, of this process or others, out of a folder while several steps are made that
 * should be one: of snapshot/ while a name is looked at and taken, or given up. Waits for 2 s at
 * most. Advice alone: Java does not ask, and there are file systems without locks (-1); who goes on
 * without it has to look afterwards. Ends with the process. */
int tn_storage_lock_folder(tn_storage *storage, const char *path);
void tn_storage_unlock_folder(tn_storage *storage, int handle); /* accepts -1 */
/* Sync the names in a folder. */
TN_CHECKED tarn_status tn_storage_sync_folder(tn_storage *storage, const char *path,
                                              tarn_error *err);
/* The same for it and those above it, up to and with `root`: after writing into folders that may be
 * new. `path` is `root` or below it, both as tn_path_plain() gives them. */
TN_CHECKED tarn_status tn_storage_sync_folders(tn_storage *storage, const char *path,
                                               const char *root, tarn_error *err);

/* Wraps a storage so that the n-th call fails with an errno, or reads and writes are short (tests;
 * fault walks). The fault must outlive the wrapper and its files; inner is retained. */
typedef struct tn_storage_fault {
  int64_t fail_at_call; /* counts opens, infos, lists and reads from 1; 0: never */
  int os_errno;
  _Atomic int64_t calls;
  size_t max_read_bytes; /* a read delivers no more at once; 0: no limit */
  /* The steps of writing: creates, writes, syncs, closes, links, replaces, renames, removes,
   * folders made, removed and synced. */
  int64_t fail_at_write; /* counts them from 1; 0: never */
  _Atomic int64_t writes;
  size_t max_write_bytes; /* a write takes no more at once; 0: no limit */
  bool tears_write;       /* a write that fails has stored the first half */
  bool is_done_anyway;    /* the step that fails was carried out all the same: its reply was lost */
  bool is_fatal;          /* every later call fails, too: the process is dead */
  _Atomic bool is_dead;
} tn_storage_fault;
TN_CHECKED tarn_status tn_storage_faulty(tn_storage *inner, tn_storage_fault *fault,
                                         tn_storage **out, tarn_error *err);

#endif
