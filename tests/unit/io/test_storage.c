/* Both kinds of storage by the same tests, and the one that fails on purpose. */
#include "io/storage.h"

#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "both_storages.h"

/* A file of both storages under the same path. */
static char *put(const char *name, const char *content) {
  char *path = tn_test_path(f.directory, name);
  tarn_error err;
  tn_test_write_file(path, content, strlen(content));
  assert_works(tn_storage_memory_put(f.memory, path, tn_slice_text(content), &err), err);
  return path;
}

static void read__gives_the_bytes_of_a_range(void **state) {
  char *path = put("a", "0123456789");
  (void)state;
  FOR_BOTH(storage) {
    tn_file *file = NULL;
    tarn_error err;
    char out[10];
    assert_works(tn_storage_open(storage, path, &file, &err), err);
    assert_int_equal(file->size_bytes, 10);
    assert_string_equal(file->path, path);
    assert_works(tn_file_read(file, 0, out, 10, &err), err);
    assert_memory_equal(out, "0123456789", 10);
    assert_works(tn_file_read(file, 7, out, 3, &err), err);
    assert_memory_equal(out, "789", 3);
    assert_works(tn_file_read(file, 10, out, 0, &err), err);
    tn_file_release(file);
  }
  free(path);
}

static void read__tells_what_is_missing(void **state) {
  char *path = put("a", "0123456789");
  (void)state;
  FOR_BOTH(storage) {
    tn_file *file = NULL;
    tarn_error err;
    char out[32];
    assert_works(tn_storage_open(storage, path, &file, &err), err);
    assert_int_equal(tn_file_read(file, 7, out, 20, &err), TARN_E_CORRUPT);
    assert_contains(err.message, path);
    assert_contains(err.message, "expected 20 bytes at offset 7, found 3");
    assert_int_equal(tn_file_read(file, 100, out, 1, &err), TARN_E_CORRUPT);
    assert_int_equal(tn_file_read(file, -1, out, 1, &err), TARN_E_CORRUPT);
    assert_int_equal(tn_file_read(file, INT64_MAX, out, 1, &err), TARN_E_CORRUPT);
    tn_file_release(file);
  }
  free(path);
}

static void read__is_counted(void **state) {
  char *path = put("a", "0123456789");
  tarn_env_stats before = TARN_ENV_STATS_INIT, after = TARN_ENV_STATS_INIT;
  (void)state;
  FOR_BOTH(storage) {
    tn_file *file = NULL;
    tarn_error err;
    char out[10];
    tarn_env_stats_get(f.env, &before);
    assert_works(tn_storage_open(storage, path, &file, &err), err);
    assert_works(tn_file_read(file, 0, out, 10, &err), err);
    assert_works(tn_file_read(file, 0, out, 4, &err), err);
    tn_file_release(file);
    tarn_env_stats_get(f.env, &after);
    assert_int_equal(after.read_requests - before.read_requests, 2);
    assert_int_equal(after.read_bytes - before.read_bytes, 14);
  }
  free(path);
}

static void open__tells_why_it_cannot(void **state) {
  char *path = tn_test_path(f.directory, "none");
  char *below = put("file", "x"), *under = tn_test_path(below, "x");
  (void)state;
  FOR_BOTH(storage) {
    const char *paths[] = {path, under};
    for (int i = 0; i < 2; i++) {
      tn_file *file = (tn_file *)1;
      tn_file_info info;
      tarn_error err;
      assert_int_equal(tn_storage_open(storage, paths[i], &file, &err), TARN_E_NOT_FOUND);
      assert_null(file);
      assert_contains(err.message, paths[i]);
      assert_int_equal(tn_storage_info(storage, paths[i], &info, &err), TARN_E_NOT_FOUND);
      assert_false(tn_storage_exists(storage, paths[i]));
    }
  }
  free(path);
  free(below);
  free(under);
}

static void open__refuses_directories_and_pipes(void **state) {
  char *pipe = tn_test_path(f.directory, "pipe");
  tn_file *file;
  tarn_error err;
  (void)state;
  assert_int_equal(tn_storage_open(f.local, f.directory, &file, &err), TARN_E_IO);
  assert_int_equal(err.os_errno, EISDIR);
  assert_int_equal(mkfifo(pipe, 0600), 0);
  assert_int_equal(tn_storage_open(f.local, pipe, &file, &err), TARN_E_IO);
  assert_contains(err.message, "not a regular file");
  free(pipe);
}

static tarn_status collect(void *ctx, const char *name, bool is_directory, tarn_error *err) {
  char *text = ctx;
  size_t n = strlen(text);
  (void)err;
  snprintf(text + n, 1000 - n, "%s%s,", name, is_directory ? "/" : "");
  return TARN_OK;
}

static tarn_status stop(void *ctx, const char *name, bool is_directory, tarn_error *err) {
  (void)name;
  (void)is_directory;
  ++*(int *)ctx;
  return tn_fail(err, TARN_E_STATE, "stop");
}

static void make_tree(void) {
  static const char *const directories[] = {"t", "t/d", "t/e", "t/d/x"};
  for (size_t i = 0; i < TN_COUNT(directories); i++) {
    char *path = tn_test_path(f.directory, directories[i]);
    assert_int_equal(mkdir(path, 0755), 0);
    free(path);
  }
  free(put("t/a", "1"));
  free(put("t/d/b", "12"));
  free(put("t/d/x/c", "123"));
  free(put("t/e/f", "1234"));
}

static void list__gives_each_entry_once(void **state) {
  char *path = tn_test_path(f.directory, "t");
  (void)state;
  make_tree();
  FOR_BOTH(storage) {
    char names[1000] = "";
    tarn_error err;
    int calls = 0;
    tn_file_info info;
    char *file = tn_test_path(path, "d/b");
    assert_works(tn_storage_list(storage, path, collect, names, &err), err);
    assert_int_equal(strlen(names), strlen("a,d/,e/,"));
    assert_contains(names, "a,");
    assert_contains(names, "d/,");
    assert_contains(names, "e/,");
    assert_int_equal(tn_storage_list(storage, path, stop, &calls, &err), TARN_E_STATE);
    assert_int_equal(calls, 1);
    assert_works(tn_storage_info(storage, path, &info, &err), err);
    assert_true(info.is_directory);
    assert_works(tn_storage_info(storage, file, &info, &err), err);
    assert_false(info.is_directory);
    assert_int_equal(info.size_bytes, 2);
    assert_true(tn_storage_exists(storage, file));
    free(file);
    file = tn_test_path(path, "none");
    assert_int_equal(tn_storage_list(storage, file, collect, names, &err), TARN_E_NOT_FOUND);
    assert_contains(err.message, file);
    free(file);
  }
  free(path);
}

static void list__follows_links_and_modified_times(void **state) {
  char *target = tn_test_path(f.directory, "t"), *link = tn_test_path(f.directory, "t/link");
  char names[1000] = "";
  tn_file_info info;
  tarn_error err;
  (void)state;
  make_tree();
  assert_int_equal(symlink(f.directory, link), 0);
  assert_works(tn_storage_list(f.local, target, collect, names, &err), err);
  assert_contains(names, "link/,");
  assert_works(tn_storage_info(f.local, link, &info, &err), err);
  assert_true(info.is_directory);
  assert_true(info.modified_ms > INT64_C(1500000000000));
  free(target);
  free(link);
}

static void read_all__gives_the_whole_file(void **state) {
  char *path = put("a", "hello"), *empty = put("b", "");
  (void)state;
  FOR_BOTH(storage) {
    tn_buf out;
    tarn_error err;
    int64_t before = atomic_load(&f.env->read_requests);
    tn_buf_init(&out, &f.env->mem, 5);
    assert_works(tn_buf_text(&out, "old", &err), err);
    assert_works(tn_storage_read_all(storage, path, &out, &err), err);
    assert_true(tn_slice_is(tn_buf_slice(&out), "hello"));
    assert_int_equal(atomic_load(&f.env->read_requests) - before, 1);
    assert_works(tn_storage_read_all(storage, empty, &out, &err), err);
    assert_int_equal(out.len, 0);
    tn_buf_reset(&out);
    tn_buf_init(&out, &f.env->mem, 4);
    assert_int_equal(tn_storage_read_all(storage, path, &out, &err), TARN_E_LIMIT);
    assert_contains(err.message, path);
    assert_contains(err.message, "4");
    tn_buf_reset(&out);
  }
  free(path);
  free(empty);
}

/* A file whose size changes after it was opened: a storage of our own. */
typedef struct moving_file {
  tn_file base;
  const char *content;
} moving_file;

static void moving_free(tn_file *file) {
  (void)file;
}

static tarn_status moving_read(tn_file *file, int64_t offset, void *out, size_t n_bytes,
                               size_t *n_read, tarn_error *err) {
  const char *content = TN_CONTAINER_OF(file, moving_file, base)->content;
  size_t left = (size_t)offset < strlen(content) ? strlen(content) - (size_t)offset : 0;
  (void)err;
  *n_read = n_bytes < left ? n_bytes : left;
  memcpy(out, content + (left > 0 ? offset : 0), *n_read);
  return TARN_OK;
}

static moving_file moving;

static tarn_status moving_open(tn_storage *storage, const char *path, tn_file **out,
                               tarn_error *err) {
  static const tn_file_ops ops = {moving_free, moving_read};
  (void)err;
  moving.base.ops = &ops;
  moving.base.env = storage->env;
  moving.base.path = path;
  moving.base.size_bytes = 5;
  atomic_init(&moving.base.refs, 1);
  *out = &moving.base;
  return TARN_OK;
}

static void read_all__takes_what_the_open_file_has(void **state) {
  static const tn_storage_ops ops = {"moving", NULL, moving_open, NULL, NULL};
  tn_storage storage = {.ops = &ops, .env = f.env};
  static const char *const contents[] = {"", "abc", "abcde", "abcdef", "abcdefghijklmnop"};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(contents); i++) {
    tn_buf out;
    tarn_error err;
    moving.content = contents[i];
    tn_buf_init(&out, &f.env->mem, 16);
    assert_works(tn_storage_read_all(&storage, "m", &out, &err), err);
    assert_true(tn_slice_is(tn_buf_slice(&out), contents[i]));
    tn_buf_reset(&out);
  }
  {
    tn_buf out;
    tarn_error err;
    moving.content = "abcdefghijklmnop";
    tn_buf_init(&out, &f.env->mem, 15);
    assert_int_equal(tn_storage_read_all(&storage, "m", &out, &err), TARN_E_LIMIT);
    tn_buf_reset(&out);
  }
}

static void *replace_often(void *arg) {
  char *path = arg, *next = tn_test_path(f.directory, "next");
  char content[20000];
  for (int i = 0; i < 300; i++) {
    memset(content, 'a' + i % 26, sizeof(content));
    tn_test_write_file(next, content, 1 + (size_t)(i * 617) % sizeof(content));
    require_in_thread(rename(next, path) == 0);
  }
  free(next);
  return NULL;
}

static void read_all__never_mixes_versions(void **state) {
  char *path = put("a", "x");
  pthread_t thread;
  tn_buf out;
  (void)state;
  tn_buf_init(&out, &f.env->mem, 1 << 20);
  assert_int_equal(pthread_create(&thread, NULL, replace_often, path), 0);
  for (int i = 0; i < 300; i++) {
    tarn_error err;
    assert_works(tn_storage_read_all(f.local, path, &out, &err), err);
    for (size_t k = 1; k < out.len; k++) {
      assert_int_equal(out.data[k], out.data[0]);
    }
  }
  pthread_join(thread, NULL);
  tn_buf_reset(&out);
  free(path);
}

static void memory__keeps_the_version_that_was_opened(void **state) {
  tn_file *file = NULL;
  tarn_error err;
  char out[3];
  (void)state;
  assert_works(tn_storage_memory_put(f.memory, "/a", tn_slice_text("old"), &err), err);
  assert_works(tn_storage_open(f.memory, "/a", &file, &err), err);
  assert_works(tn_storage_memory_put(f.memory, "/a", tn_slice_text("newer"), &err), err);
  assert_works(tn_file_read(file, 0, out, 3, &err), err);
  assert_memory_equal(out, "old", 3);
  tn_file_release(file);
  tn_storage_memory_remove(f.memory, "/a");
  tn_storage_memory_remove(f.memory, "/a");
  assert_false(tn_storage_exists(f.memory, "/a"));
}

static void faulty__fails_the_call_it_is_told_to(void **state) {
  char *path = put("a", "0123456789");
  (void)state;
  for (int64_t n = 1; n <= 5; n++) {
    tn_storage_fault fault = {.fail_at_call = n, .os_errno = EIO};
    tn_storage *storage = NULL;
    tn_file *file = NULL;
    tn_file_info info;
    tarn_error err;
    char out[10], names[1000] = "";
    tarn_status st = TARN_OK;
    assert_works(tn_storage_faulty(f.local, &fault, &storage, &err), err);
    st = tn_storage_info(storage, path, &info, &err);
    assert_int_equal(st, n == 1 ? TARN_E_IO : TARN_OK);
    st = tn_storage_list(storage, f.directory, collect, names, &err);
    assert_int_equal(st, n == 2 ? TARN_E_IO : TARN_OK);
    st = tn_storage_open(storage, path, &file, &err);
    assert_int_equal(st, n == 3 ? TARN_E_IO : TARN_OK);
    if (file != NULL) {
      st = tn_file_read(file, 0, out, 10, &err);
      assert_int_equal(st, n == 4 ? TARN_E_IO : TARN_OK);
      if (n == 4) {
        assert_int_equal(err.os_errno, EIO);
        assert_contains(err.message, path);
      }
      tn_file_release(file);
    }
    assert_int_equal(atomic_load(&fault.calls), n == 3 ? 3 : 4);
    tn_storage_release(storage);
  }
  free(path);
}

static void faulty__delivers_short_reads_that_are_completed(void **state) {
  char *path = put("a", "0123456789");
  tn_storage_fault fault = {.max_read_bytes = 3};
  tn_storage *storage = NULL;
  tn_file *file = NULL;
  tarn_error err;
  char out[10];
  tn_buf all;
  (void)state;
  tn_buf_init(&all, &f.env->mem, 100);
  assert_works(tn_storage_faulty(f.local, &fault, &storage, &err), err);
  assert_works(tn_storage_open(storage, path, &file, &err), err);
  assert_works(tn_file_read(file, 0, out, 10, &err), err);
  assert_memory_equal(out, "0123456789", 10);
  assert_works(tn_storage_read_all(storage, path, &all, &err), err);
  assert_true(tn_slice_is(tn_buf_slice(&all), "0123456789"));
  tn_buf_reset(&all);
  tn_file_release(file);
  tn_storage_release(storage);
  free(path);
}

static tarn_status use_storage(void *ctx, tarn_env *env, tarn_error *err) {
  tn_storage *storages[2] = {NULL, NULL};
  const char *path = ctx;
  tn_file *file = NULL;
  tarn_status st = TARN_OK;
  char names[1000] = "";
  tn_buf out;
  tn_buf_init(&out, &env->mem, 100);
  TN_TRY_TO(done, tn_storage_local(env, &storages[0], err));
  TN_TRY_TO(done, tn_storage_memory(env, &storages[1], err));
  TN_TRY_TO(done, tn_storage_memory_put(storages[1], path, tn_slice_text("abc"), err));
  TN_TRY_TO(done, tn_storage_memory_put(storages[1], path, tn_slice_text("abcd"), err));
  TN_TRY_TO(done, tn_storage_list(storages[1], f.directory, collect, names, err));
  for (int i = 0; i < 2; i++) {
    TN_TRY_TO(done, tn_storage_open(storages[i], path, &file, err));
    tn_file_release(file);
    file = NULL;
    TN_TRY_TO(done, tn_storage_read_all(storages[i], path, &out, err));
  }
done:
  tn_file_release(file);
  tn_buf_reset(&out);
  tn_storage_release(storages[0]);
  tn_storage_release(storages[1]);
  return st;
}

static void storage__survives_failing_allocations(void **state) {
  char *path = put("a", "0123456789");
  (void)state;
  assert_true(tn_torture(use_storage, path, TARN_OK) > 10);
  free(path);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(read__gives_the_bytes_of_a_range),
      TEST(read__tells_what_is_missing),
      TEST(read__is_counted),
      TEST(open__tells_why_it_cannot),
      TEST(open__refuses_directories_and_pipes),
      TEST(list__gives_each_entry_once),
      TEST(list__follows_links_and_modified_times),
      TEST(read_all__gives_the_whole_file),
      TEST(read_all__takes_what_the_open_file_has),
      TEST(read_all__never_mixes_versions),
      TEST(memory__keeps_the_version_that_was_opened),
      TEST(faulty__fails_the_call_it_is_told_to),
      TEST(faulty__delivers_short_reads_that_are_completed),
      TEST(storage__survives_failing_allocations),
  };
  return cmocka_run_group_tests_name("storage", tests, NULL, NULL);
}
