/* Writing files: both kinds of storage by the same tests, failing steps, and loss of power. */
#define _GNU_SOURCE /* flock, O_DIRECTORY */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "both_storages.h"

static void expect_content(tn_storage *storage, const char *path, const char *wanted) {
  tn_buf all;
  tarn_error err;
  tn_buf_init(&all, &f.env->mem, 1 << 24);
  assert_works(tn_storage_read_all(storage, path, &all, &err), err);
  assert_int_equal(all.len, strlen(wanted));
  assert_memory_equal(all.data, wanted, all.len);
  tn_buf_reset(&all);
}

static tarn_status collect(void *ctx, const char *name, bool is_directory, tarn_error *err) {
  char *text = ctx;
  size_t n = strlen(text);
  (void)err;
  snprintf(text + n, 1000 - n, "%s%s,", name, is_directory ? "/" : "");
  return TARN_OK;
}

/* The names in a folder, each with a comma behind it. */
static const char *names_in(tn_storage *storage, const char *path) {
  static char names[1000];
  names[0] = '\0';
  if (tn_storage_list(storage, path, collect, names, NULL) != TARN_OK) {
    return "none";
  }
  return names;
}

static tarn_status write_file(tn_storage *storage, const char *path, const char *content, bool sync,
                              tarn_error *err) {
  tn_sink *sink;
  tarn_status st;
  TN_TRY(tn_storage_create(storage, path, &sink, err));
  st = tn_sink_write(sink, content, strlen(content), err);
  if (st != TARN_OK) {
    tn_sink_abort(sink);
    return st;
  }
  return tn_sink_finish(sink, sync, err);
}

/* ------------------------------------------------------------------ sinks */

static void sink__writes_all_bytes_in_order(void **state) {
  char *path = tn_test_path(f.directory, "d/e/file");
  size_t n = 0, n_all = 3 << 20;
  char *all = malloc(n_all + 1);
  (void)state;
  for (size_t i = 0; i < n_all; i++) {
    all[i] = (char)('a' + i * i % 26);
  }
  all[n_all] = '\0';
  FOR_BOTH(storage) {
    tn_sink *sink = NULL;
    tarn_error err;
    size_t step = 1;
    assert_works(tn_storage_create(storage, path, &sink, &err), err);
    for (n = 0; n < n_all; n += step, step = step % 40000 + 1 + step / 3) {
      step = step < n_all - n ? step : n_all - n;
      assert_works(tn_sink_write(sink, all + n, step, &err), err);
      assert_int_equal(tn_sink_size(sink), n + step);
    }
    assert_works(tn_sink_write(sink, NULL, 0, &err), err);
    assert_works(tn_sink_finish(sink, true, &err), err);
    expect_content(storage, path, all);
  }
  free(all);
  free(path);
}

static void create__refuses_a_name_that_is_taken(void **state) {
  char *path = tn_test_path(f.directory, "file"), *below = tn_test_path(path, "x");
  (void)state;
  FOR_BOTH(storage) {
    tn_sink *sink = (tn_sink *)1;
    tarn_error err;
    assert_works(write_file(storage, path, "first", false, &err), err);
    assert_int_equal(tn_storage_create(storage, path, &sink, &err), TARN_E_EXISTS);
    assert_null(sink);
    assert_contains(err.message, path);
    /* A file in place of a folder: nothing is missing. */
    assert_int_equal(tn_storage_create(storage, below, &sink, &err), TARN_E_IO);
    expect_content(storage, path, "first");
  }
  free(below);
  free(path);
}

static void abort__removes_the_file(void **state) {
  char *path = tn_test_path(f.directory, "file");
  (void)state;
  tn_sink_abort(NULL);
  FOR_BOTH(storage) {
    tn_sink *sink = NULL;
    tarn_error err;
    assert_works(tn_storage_create(storage, path, &sink, &err), err);
    assert_works(tn_sink_write(sink, "abc", 3, &err), err);
    tn_sink_abort(sink);
    assert_false(tn_storage_exists(storage, path));
  }
  free(path);
}

static void open__keeps_what_it_saw_while_a_file_grows(void **state) {
  tn_sink *sink = NULL;
  tn_file *file = NULL;
  tarn_error err;
  char out[8];
  char *big = calloc(1, 100000);
  (void)state;
  memset(big, 'x', 100000);
  assert_works(tn_storage_create(f.memory, "/grow", &sink, &err), err);
  assert_works(tn_sink_write(sink, big, 100000, &err), err);
  assert_works(tn_storage_open(f.memory, "/grow", &file, &err), err);
  assert_int_equal(file->size_bytes, 100000);
  assert_works(tn_sink_write(sink, big, 100000, &err), err);
  assert_works(tn_sink_finish(sink, true, &err), err);
  assert_works(tn_file_read(file, 99992, out, 8, &err), err);
  assert_memory_equal(out, "xxxxxxxx", 8);
  assert_int_equal(tn_file_read(file, 99993, out, 8, &err), TARN_E_CORRUPT);
  tn_file_release(file);
  free(big);
}

static void sink__tells_of_a_full_disk_and_leaves_nothing(void **state) {
  char *path = tn_test_path(f.directory, "big"), *bytes = calloc(1, 1 << 20);
  struct rlimit old, low;
  tn_sink *sink = NULL;
  tarn_error err;
  tarn_status st;
  (void)state;
  signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
  low = old;
  low.rlim_cur = 300 * 1000;
  assert_works(tn_storage_create(f.local, path, &sink, &err), err);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
  st = tn_sink_write(sink, bytes, 1 << 20, &err); /* short at first */
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
  assert_int_equal(st, TARN_E_IO);
  assert_int_equal(err.os_errno, EFBIG);
  assert_contains(err.message, path);
  tn_sink_abort(sink);
  assert_string_equal(names_in(f.local, f.directory), "");
  free(bytes);
  free(path);
}

/* ------------------------------------------------------------------ publish and replace */

static void publish__makes_a_file_once(void **state) {
  char *path = tn_test_path(f.directory, "t/snapshot/snapshot-1");
  char *folder = tn_test_path(f.directory, "t/snapshot");
  (void)state;
  FOR_BOTH(storage) {
    tarn_error err;
    assert_works(tn_storage_publish(storage, path, tn_slice_text("one"), &err), err);
    assert_int_equal(tn_storage_publish(storage, path, tn_slice_text("two"), &err), TARN_E_EXISTS);
    assert_contains(err.message, path);
    expect_content(storage, path, "one");
    assert_string_equal(names_in(storage, folder), "snapshot-1,");
  }
  free(folder);
  free(path);
}

static void replace__takes_the_place_of_a_file(void **state) {
  char *path = tn_test_path(f.directory, "t/LATEST"), *folder = tn_test_path(f.directory, "t");
  (void)state;
  FOR_BOTH(storage) {
    tarn_error err;
    assert_works(tn_storage_replace(storage, path, tn_slice_text("1"), false, &err), err);
    expect_content(storage, path, "1");
    assert_works(tn_storage_replace(storage, path, tn_slice_text("22"), true, &err), err);
    expect_content(storage, path, "22");
    assert_works(tn_storage_replace(storage, path, tn_slice_text(""), true, &err), err);
    expect_content(storage, path, "");
    assert_string_equal(names_in(storage, folder), "LATEST,");
  }
  free(folder);
  free(path);
}

#define N_RACERS 4
#define N_RACES 50

typedef struct racer {
  tn_storage *storage;
  int who;
  bool won[N_RACES];
} racer;

static void *race(void *ctx) {
  racer *r = ctx;
  for (int i = 0; i < N_RACES; i++) {
    char path[200], text[20];
    tarn_status st;
    snprintf(path, sizeof(path), "%s/race/snapshot-%d", f.directory, i);
    snprintf(text, sizeof(text), "by %d", r->who);
    st = tn_storage_publish(r->storage, path, tn_slice_text(text), NULL);
    require_in_thread(st == TARN_OK || st == TARN_E_EXISTS);
    r->won[i] = st == TARN_OK;
  }
  return NULL;
}

static void publish__has_one_winner(void **state) {
  (void)state;
  FOR_BOTH(storage) {
    pthread_t threads[N_RACERS];
    racer racers[N_RACERS] = {{0}};
    for (int i = 0; i < N_RACERS; i++) {
      racers[i].storage = storage;
      racers[i].who = i;
      assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
    }
    for (int i = 0; i < N_RACERS; i++) {
      pthread_join(threads[i], NULL);
    }
    for (int n = 0; n < N_RACES; n++) {
      int winner = -1;
      char path[200], text[20];
      for (int i = 0; i < N_RACERS; i++) {
        if (racers[i].won[n]) {
          assert_int_equal(winner, -1);
          winner = i;
        }
      }
      assert_int_not_equal(winner, -1);
      snprintf(path, sizeof(path), "%s/race/snapshot-%d", f.directory, n);
      snprintf(text, sizeof(text), "by %d", winner);
      expect_content(storage, path, text);
    }
  }
}

static void publish__knows_its_own_link_again(void **state) {
  /* A file server that carries out a link and loses the reply is asked again by the kernel, and
   * says EEXIST. To the caller it is as if the temporary name had a second one. */
  char *path = tn_test_path(f.directory, "a"), *other = tn_test_path(f.directory, "b");
  tarn_error err;
  (void)state;
  assert_works(write_file(f.local, path, "mine", false, &err), err);
  assert_int_equal(link(path, other), 0);
  assert_works(f.local->ops->link(f.local, path, other, &err), err);
  assert_string_equal(names_in(f.local, f.directory), "b,");
  free(path);
  free(other);
}

/* ------------------------------------------------------------------ names and folders */

static void rename__never_takes_a_name_away(void **state) {
  char *a = tn_test_path(f.directory, "a"), *b = tn_test_path(f.directory, "b"),
       *c = tn_test_path(f.directory, "c"), *inside = tn_test_path(f.directory, "a/x"),
       *moved = tn_test_path(f.directory, "c/x");
  (void)state;
  FOR_BOTH(storage) {
    tarn_error err;
    assert_works(write_file(storage, inside, "in", false, &err), err);
    assert_works(write_file(storage, b, "b", false, &err), err);
    assert_int_equal(tn_storage_rename(storage, b, inside, &err), TARN_E_EXISTS);
    assert_int_equal(tn_storage_rename(storage, a, b, &err), TARN_E_EXISTS);
    assert_works(tn_storage_rename(storage, a, c, &err), err);
    expect_content(storage, moved, "in");
    assert_false(tn_storage_exists(storage, a));
    assert_int_equal(tn_storage_rename(storage, a, c, &err), TARN_E_NOT_FOUND);
    assert_contains(err.message, a);
  }
  free(a);
  free(b);
  free(c);
  free(inside);
  free(moved);
}

static void remove__is_content_with_what_is_gone(void **state) {
  char *path = tn_test_path(f.directory, "a"), *none = tn_test_path(f.directory, "n/o/n/e");
  (void)state;
  FOR_BOTH(storage) {
    tarn_error err;
    assert_works(write_file(storage, path, "x", false, &err), err);
    assert_works(tn_storage_remove(storage, path, &err), err);
    assert_works(tn_storage_remove(storage, path, &err), err);
    assert_works(tn_storage_remove(storage, none, &err), err);
    assert_int_equal(err.status, TARN_OK);
    assert_int_equal(tn_storage_remove(storage, f.directory, &err), TARN_E_IO);
  }
  free(path);
  free(none);
}

static void make_folder__makes_those_above(void **state) {
  char *path = tn_test_path(f.directory, "x/y/z"), *file = tn_test_path(f.directory, "file"),
       *below = tn_test_path(f.directory, "file/z");
  (void)state;
  FOR_BOTH(storage) {
    tarn_error err;
    tn_file_info info;
    assert_works(tn_storage_make_folder(storage, path, &err), err);
    assert_works(tn_storage_make_folder(storage, path, &err), err);
    assert_works(tn_storage_info(storage, path, &info, &err), err);
    assert_true(info.is_directory);
    assert_works(write_file(storage, file, "", false, &err), err);
    assert_int_equal(tn_storage_make_folder(storage, file, &err), TARN_E_EXISTS);
    assert_int_not_equal(tn_storage_make_folder(storage, below, &err), TARN_OK);
  }
  free(path);
  free(file);
  free(below);
}

static void remove_empty_folder__leaves_what_is_in_use(void **state) {
  char *path = tn_test_path(f.directory, "x"), *file = tn_test_path(f.directory, "x/y");
  (void)state;
  FOR_BOTH(storage) {
    tarn_error err;
    assert_false(tn_storage_remove_empty_folder(storage, path));
    assert_works(write_file(storage, file, "", false, &err), err);
    assert_false(tn_storage_remove_empty_folder(storage, path));
    assert_false(tn_storage_remove_empty_folder(storage, file));
    assert_works(tn_storage_remove(storage, file, &err), err);
    assert_true(tn_storage_remove_empty_folder(storage, path));
    assert_false(tn_storage_exists(storage, path));
  }
  free(path);
  free(file);
}

static void remove_tree__removes_all_of_a_folder(void **state) {
  static const char *const files[] = {"t/a", "t/b/c", "t/b/d/e", "t/b/d/f", "t/g/h"};
  char *path = tn_test_path(f.directory, "t");
  (void)state;
  FOR_BOTH(storage) {
    tarn_error err;
    for (size_t i = 0; i < TN_COUNT(files); i++) {
      char *file = tn_test_path(f.directory, files[i]);
      assert_works(write_file(storage, file, "x", false, &err), err);
      free(file);
    }
    assert_works(tn_storage_remove_tree(storage, path, &err), err);
    assert_string_equal(names_in(storage, f.directory), "");
    assert_works(tn_storage_remove_tree(storage, path, &err), err);
  }
  free(path);
}

static void remove_tree__does_not_follow_links(void **state) {
  char *kept = tn_test_path(f.directory, "kept/file"), *folder = tn_test_path(f.directory, "kept"),
       *tree = tn_test_path(f.directory, "t"), *file = tn_test_path(f.directory, "t/d/f"),
       *to_folder = tn_test_path(f.directory, "t/d/link"),
       *to_file = tn_test_path(f.directory, "t/link"), *root = tn_test_path(f.directory, "root");
  tarn_error err;
  (void)state;
  assert_works(write_file(f.local, kept, "kept", false, &err), err);
  assert_works(write_file(f.local, file, "x", false, &err), err);
  assert_int_equal(symlink(folder, to_folder), 0);
  assert_int_equal(symlink(kept, to_file), 0);
  assert_int_equal(symlink(folder, root), 0);
  assert_works(tn_storage_remove_tree(f.local, tree, &err), err);
  assert_works(tn_storage_remove_tree(f.local, root, &err), err);
  assert_string_equal(names_in(f.local, f.directory), "kept/,");
  expect_content(f.local, kept, "kept");
  free(kept);
  free(folder);
  free(tree);
  free(file);
  free(to_folder);
  free(to_file);
  free(root);
}

static void write__is_refused_by_what_is_only_read(void **state) {
  static const tn_storage_ops OPS = {.name = "frozen"};
  tn_storage frozen = {.ops = &OPS, .env = f.env, .refs = 1};
  tn_sink *sink;
  tarn_error err;
  (void)state;
  assert_int_equal(tn_storage_create(&frozen, "/a", &sink, &err), TARN_E_UNSUPPORTED);
  assert_contains(err.message, "frozen");
  assert_int_equal(tn_storage_publish(&frozen, "/a", tn_slice_text(""), &err), TARN_E_UNSUPPORTED);
  assert_int_equal(tn_storage_remove(&frozen, "/a", &err), TARN_E_UNSUPPORTED);
  assert_false(tn_storage_remove_empty_folder(&frozen, "/a"));
}

/* ------------------------------------------------------------------ loss of power */

static void crash__forgets_what_was_not_synced(void **state) {
  tarn_error err;
  (void)state;
  assert_works(tn_storage_memory_put(f.memory, "/t/old", tn_slice_text("old"), &err), err);
  assert_works(write_file(f.memory, "/t/unnamed", "u", true, &err), err);
  tn_storage_memory_crash(f.memory);
  assert_string_equal(names_in(f.memory, "/t"), "old,");
  assert_works(write_file(f.memory, "/t/empty", "e", false, &err), err);
  assert_works(write_file(f.memory, "/t/whole", "w", true, &err), err);
  assert_works(tn_storage_sync_folder(f.memory, "/t", &err), err);
  assert_works(write_file(f.memory, "/t/late", "l", true, &err), err);
  tn_storage_memory_crash(f.memory);
  assert_false(tn_storage_exists(f.memory, "/t/late"));
  expect_content(f.memory, "/t/empty", "");
  expect_content(f.memory, "/t/whole", "w");
  expect_content(f.memory, "/t/old", "old");
}

static void crash__brings_back_what_was_removed(void **state) {
  tarn_error err;
  (void)state;
  assert_works(tn_storage_memory_put(f.memory, "/t/a", tn_slice_text("a"), &err), err);
  assert_works(tn_storage_memory_put(f.memory, "/t/b", tn_slice_text("b"), &err), err);
  assert_works(tn_storage_remove(f.memory, "/t/a", &err), err);
  assert_works(tn_storage_rename(f.memory, "/t/b", "/t/c", &err), err);
  assert_works(tn_storage_replace(f.memory, "/t/a", tn_slice_text("new"), false, &err), err);
  assert_string_equal(names_in(f.memory, "/t"), "c,a,");
  tn_storage_memory_crash(f.memory);
  expect_content(f.memory, "/t/a", "a");
  expect_content(f.memory, "/t/b", "b");
  assert_int_equal(strlen(names_in(f.memory, "/t")), 4);
  assert_works(tn_storage_remove(f.memory, "/t/a", &err), err);
  assert_works(tn_storage_sync_folder(f.memory, "/t", &err), err);
  tn_storage_memory_crash(f.memory);
  assert_string_equal(names_in(f.memory, "/t"), "b,");
}

static void crash__loses_folders_whose_name_was_not_synced(void **state) {
  tarn_error err;
  (void)state;
  assert_works(write_file(f.memory, "/n/o/file", "x", true, &err), err);
  assert_works(tn_storage_sync_folder(f.memory, "/n/o", &err), err);
  assert_works(tn_storage_sync_folder(f.memory, "/", &err), err);
  tn_storage_memory_crash(f.memory);
  assert_string_equal(names_in(f.memory, "/n"), "");
}

/* A lock of its own tells who has the folder. */
static bool is_locked(const char *path) {
  int fd = open(path, O_RDONLY | O_DIRECTORY);
  bool is_free = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
  assert_true(fd >= 0);
  close(fd);
  return !is_free;
}

static void lock_folder__keeps_others_out_until_it_ends(void **state) {
  int handle, none;
  (void)state;
  handle = tn_storage_lock_folder(f.local, f.directory);
  assert_true(handle >= 0);
  assert_true(is_locked(f.directory));
  tn_storage_unlock_folder(f.local, handle);
  assert_false(is_locked(f.directory));
  none = tn_storage_lock_folder(f.memory, f.directory);
  assert_int_equal(none, -1);
  tn_storage_unlock_folder(f.memory, none);
}

static void sync_folders__keeps_new_folders_up_to_the_root(void **state) {
  tn_storage_fault fault = {0};
  tn_storage *faulty;
  tarn_error err;
  (void)state;
  assert_works(tn_storage_memory_put(f.memory, "/w/t/schema/schema-0", tn_slice_text("s"), &err),
               err);
  assert_works(tn_storage_faulty(f.memory, &fault, &faulty, &err), err);
  assert_works(write_file(f.memory, "/w/t/p=1/bucket-0/data", "x", true, &err), err);
  assert_works(tn_storage_sync_folders(faulty, "/w/t/p=1/bucket-0", "/w/t", &err), err);
  assert_int_equal(atomic_load(&fault.writes), 3);
  tn_storage_memory_crash(f.memory);
  expect_content(f.memory, "/w/t/p=1/bucket-0/data", "x");
  tn_storage_release(faulty);
}

static void publish__is_whole_or_not_there_after_each_crash(void **state) {
  int64_t n_steps = 0;
  (void)state;
  for (int64_t n = 1; n_steps == 0; n++) {
    tn_storage_fault fault = {.fail_at_write = n, .os_errno = EIO, .is_fatal = true};
    tn_storage *memory, *faulty;
    tarn_error err;
    tarn_status st;
    assert_works(tn_storage_memory(f.env, &memory, &err), err);
    assert_works(tn_storage_faulty(memory, &fault, &faulty, &err), err);
    st = tn_storage_publish(faulty, "/w/t/s/snapshot-1", tn_slice_text("whole"), &err);
    tn_storage_memory_crash(memory);
    if (st == TARN_OK) {
      assert_true(atomic_load(&fault.writes) < n);
      n_steps = n;
    }
    if (st == TARN_OK || tn_storage_exists(memory, "/w/t/s/snapshot-1")) {
      expect_content(memory, "/w/t/s/snapshot-1", "whole");
    }
    tn_storage_release(faulty);
    tn_storage_release(memory);
  }
  /* /w/t/s and the two above, each with a failing try; create, write, sync, close, link, sync */
  assert_in_range(n_steps, 12, 20);
}

static void sync__is_nothing_when_it_is_turned_off(void **state) {
  tarn_env_options options = TARN_ENV_OPTIONS_INIT;
  tn_storage_fault fault = {0};
  tn_storage *memory, *faulty;
  tarn_env *env;
  tarn_error err;
  (void)state;
  options.no_sync = 1;
  assert_works(tarn_env_create(&options, &env, &err), err);
  assert_works(tn_storage_memory(env, &memory, &err), err);
  assert_works(tn_storage_faulty(memory, &fault, &faulty, &err), err);
  assert_works(tn_storage_publish(faulty, "/a", tn_slice_text("x"), &err), err);
  assert_int_equal(atomic_load(&fault.writes), 4); /* create, write, close, link */
  assert_works(tn_storage_sync_folder(faulty, "/", &err), err);
  assert_int_equal(atomic_load(&fault.writes), 4);
  tn_storage_memory_crash(memory);
  assert_false(tn_storage_exists(memory, "/a"));
  tn_storage_release(faulty);
  tn_storage_release(memory);
  tarn_env_free(env);
}

/* ------------------------------------------------------------------ failing steps */

static void drop(tn_storage *storage, const char *path) {
  tarn_status st = tn_storage_remove_tree(storage, path, NULL);
  (void)st;
}

static tarn_status write_all_ways(tn_storage *storage, const char *folder, tarn_error *err) {
  tarn_status st = TARN_OK;
  char *file = tn_test_path(folder, "x/file"), *published = tn_test_path(folder, "x/p"),
       *tree = tn_test_path(folder, "x"), *moved = tn_test_path(folder, "y");
  TN_TRY_TO(done, write_file(storage, file, "0123456789", true, err));
  TN_TRY_TO(done, tn_storage_sync_folder(storage, tree, err));
  TN_TRY_TO(done, tn_storage_publish(storage, published, tn_slice_text("p"), err));
  TN_TRY_TO(done, tn_storage_replace(storage, published, tn_slice_text("q"), true, err));
  TN_TRY_TO(done, tn_storage_remove(storage, file, err));
  TN_TRY_TO(done, tn_storage_rename(storage, tree, moved, err));
  TN_TRY_TO(done, tn_storage_remove_tree(storage, moved, err));
done:
  drop(storage, tree);
  drop(storage, moved);
  free(file);
  free(published);
  free(tree);
  free(moved);
  return st;
}

static void write__tells_each_step_that_fails(void **state) {
  static const int ERRNOS[] = {EIO, ENOSPC};
  (void)state;
  FOR_BOTH(storage) {
    for (size_t i = 0; i < TN_COUNT(ERRNOS); i++) {
      tarn_status st = TARN_E_IO;
      int64_t n;
      for (n = 1; st != TARN_OK; n++) {
        tn_storage_fault fault = {.fail_at_write = n, .os_errno = ERRNOS[i], .tears_write = true};
        tn_storage *faulty;
        tarn_error err;
        assert_works(tn_storage_faulty(storage, &fault, &faulty, &err), err);
        st = write_all_ways(faulty, f.directory, &err);
        if (st != TARN_OK) {
          assert_int_equal(st, TARN_E_IO);
          assert_int_equal(err.os_errno, ERRNOS[i]);
          assert_contains(err.message, "on purpose");
        }
        assert_string_equal(names_in(storage, f.directory), "");
        tn_storage_release(faulty);
      }
      assert_true(n > 20);
    }
  }
}

static void faulty__can_carry_out_what_it_says_failed(void **state) {
  tn_storage_fault fault = {.fail_at_write = 5, .os_errno = EIO, .is_done_anyway = true};
  tn_storage *faulty;
  tarn_error err;
  (void)state;
  assert_works(tn_storage_faulty(f.memory, &fault, &faulty, &err), err);
  /* create, write, sync, close, link */
  assert_int_equal(tn_storage_publish(faulty, "/a", tn_slice_text("done"), &err), TARN_E_IO);
  expect_content(f.memory, "/a", "done");
  tn_storage_release(faulty);
}

static void faulty__takes_short_writes_that_are_completed(void **state) {
  tn_storage_fault fault = {.max_write_bytes = 3};
  char *path = tn_test_path(f.directory, "a");
  tn_storage *faulty;
  tarn_error err;
  (void)state;
  assert_works(tn_storage_faulty(f.local, &fault, &faulty, &err), err);
  assert_works(write_file(faulty, path, "0123456789", true, &err), err);
  expect_content(f.local, path, "0123456789");
  assert_int_equal(atomic_load(&fault.writes), 1 + 4 + 2);
  tn_storage_release(faulty);
  free(path);
}

static tarn_status torture(void *ctx, tarn_env *env, tarn_error *err) {
  tn_storage *storages[2] = {NULL, NULL};
  tarn_status st = TARN_OK;
  TN_TRY_TO(done, tn_storage_local(env, &storages[0], err));
  TN_TRY_TO(done, tn_storage_memory(env, &storages[1], err));
  for (int i = 0; i < 2; i++) {
    TN_TRY_TO(done, write_all_ways(storages[i], ctx, err));
  }
done:
  tn_storage_release(storages[0]);
  tn_storage_release(storages[1]);
  drop(f.local, ctx); /* what could not be removed without memory */
  return st;
}

static void write__survives_failing_allocations(void **state) {
  char *path = tn_test_path(f.directory, "torture");
  (void)state;
  assert_true(tn_torture(torture, path, TARN_OK) > 20);
  free(path);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(sink__writes_all_bytes_in_order),
      TEST(create__refuses_a_name_that_is_taken),
      TEST(abort__removes_the_file),
      TEST(open__keeps_what_it_saw_while_a_file_grows),
      TEST(sink__tells_of_a_full_disk_and_leaves_nothing),
      TEST(publish__makes_a_file_once),
      TEST(replace__takes_the_place_of_a_file),
      TEST(publish__has_one_winner),
      TEST(publish__knows_its_own_link_again),
      TEST(rename__never_takes_a_name_away),
      TEST(remove__is_content_with_what_is_gone),
      TEST(make_folder__makes_those_above),
      TEST(remove_empty_folder__leaves_what_is_in_use),
      TEST(remove_tree__removes_all_of_a_folder),
      TEST(remove_tree__does_not_follow_links),
      TEST(write__is_refused_by_what_is_only_read),
      TEST(crash__forgets_what_was_not_synced),
      TEST(crash__brings_back_what_was_removed),
      TEST(crash__loses_folders_whose_name_was_not_synced),
      TEST(lock_folder__keeps_others_out_until_it_ends),
      TEST(sync_folders__keeps_new_folders_up_to_the_root),
      TEST(publish__is_whole_or_not_there_after_each_crash),
      TEST(sync__is_nothing_when_it_is_turned_off),
      TEST(write__tells_each_step_that_fails),
      TEST(faulty__can_carry_out_what_it_says_failed),
      TEST(faulty__takes_short_writes_that_are_completed),
      TEST(write__survives_failing_allocations),
  };
  return cmocka_run_group_tests_name("writing", tests, NULL, NULL);
}
