/* test_env.c - options of environments: defaults, bounds, older structs. */
#include "base/env.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/utf8.h"
#include "support/test.h"
#include "support/torture.h"

static void create__has_defaults(void **state) {
  tarn_env *env = NULL;
  tarn_error err;
  tarn_env_stats stats = TARN_ENV_STATS_INIT;
  (void)state;
  assert_works(tarn_env_create(NULL, &env, &err), err);
  tarn_env_stats_get(env, &stats);
  assert_int_equal(stats.memory_budget_bytes, 256 << 20);
  assert_int_equal(stats.memory_reserved_bytes, 0);
  assert_int_equal(stats.read_requests, 0);
  assert_int_equal(tn_pool_threads(env->pool), 1);
  assert_string_equal(tn_zone_name(env->zone), "UTC");
  assert_true(tn_env_now_ms(env) > INT64_C(1600000000000));
  assert_works(tn_env_check(env, &err), err);
  tarn_env_free(env);
  tarn_env_free(NULL);
}

static void create__refuses_values_out_of_range(void **state) {
  tarn_env_options bad[6] = {TARN_ENV_OPTIONS_INIT, TARN_ENV_OPTIONS_INIT, TARN_ENV_OPTIONS_INIT,
                             TARN_ENV_OPTIONS_INIT, TARN_ENV_OPTIONS_INIT, TARN_ENV_OPTIONS_INIT};
  static const char *const parts[] = {"budget",  "threads",     "threads",
                                      "Nowhere", "struct_size", "struct_size"};
  (void)state;
  bad[0].memory_budget_bytes = 1000;
  bad[1].threads = -1;
  bad[2].threads = 257;
  bad[3].time_zone = "Nowhere";
  bad[4].struct_size = 3;
  bad[5].struct_size = sizeof(tarn_env_options) + 8;
  for (size_t i = 0; i < TN_COUNT(bad); i++) {
    tarn_env *env = (tarn_env *)1;
    tarn_error err;
    assert_int_equal(tarn_env_create(&bad[i], &env, &err), TARN_E_INVALID);
    assert_null(env);
    assert_contains(err.message, parts[i]);
  }
}

static void create__takes_an_older_options_struct(void **state) {
  tarn_env_options options = TARN_ENV_OPTIONS_INIT;
  tarn_env *env = NULL;
  tarn_error err;
  (void)state;
  options.struct_size = offsetof(tarn_env_options, time_zone);
  options.time_zone = "not looked at";
  assert_works(tarn_env_create(&options, &env, &err), err);
  tarn_env_free(env);
}

static void create__leaves_nothing_behind_when_memory_is_out(void **state) {
  (void)state;
  for (int64_t n = 1;; n++) {
    tn_test_alloc alloc;
    tarn_allocator hooks;
    tarn_env_options options = TARN_ENV_OPTIONS_INIT;
    tarn_env *env = NULL;
    tarn_status st;
    tn_test_alloc_init(&alloc);
    hooks = tn_test_alloc_hooks(&alloc);
    options.allocator = &hooks;
    options.threads = 3;
    options.time_zone = "Europe/Berlin";
    atomic_store(&alloc.fail_at, n);
    st = tarn_env_create(&options, &env, NULL);
    assert_true(st == TARN_OK || st == TARN_E_NOMEM);
    tarn_env_free(env);
    assert_int_equal(atomic_load(&alloc.live_blocks), 0);
    if (st == TARN_OK) {
      assert_true(n > 5);
      break;
    }
  }
}

static void check__refuses_a_child_after_fork(void **state) {
  tarn_env *env = tn_test_env(1, 0);
  int status = 0;
  pid_t child;
  (void)state;
  child = fork();
  if (child == 0) {
    bool is_refused = tn_env_check(env, NULL) == TARN_E_STATE;
    env->fork_mark = NULL; /* as where the system has none: by the process's number */
    _exit(is_refused && tn_env_check(env, NULL) == TARN_E_STATE ? 42 : 1);
  }
  assert_int_equal(tn_env_check(env, NULL), TARN_OK);
  assert_true(child > 0);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 42);
  tarn_env_free(env);
}

static void count_up(void *ctx, void *out, size_t n_bytes) {
  uint8_t *next = ctx;
  for (size_t i = 0; i < n_bytes; i++) {
    ((uint8_t *)out)[i] = (*next)++;
  }
}

static void uuid__is_version_4_of_the_bytes_of_the_hook(void **state) {
  tarn_env_options options = TARN_ENV_OPTIONS_INIT;
  tarn_env *env = NULL;
  tarn_error err;
  uint8_t next = 0xF0;
  char text[TN_UUID_CHARS + 1];
  (void)state;
  options.random = count_up;
  options.random_ctx = &next;
  options.no_sync = 1;
  assert_works(tarn_env_create(&options, &env, &err), err);
  assert_false(env->syncs_files);
  assert_works(tn_env_uuid(env, text, &err), err);
  assert_string_equal(text, "f0f1f2f3-f4f5-46f7-b8f9-fafbfcfdfeff");
  tarn_env_free(env);
}

static void uuid__of_the_system_is_new_each_time(void **state) {
  tarn_env *env = tn_test_env(1, 0);
  char a[TN_UUID_CHARS + 1], b[TN_UUID_CHARS + 1];
  tarn_error err;
  (void)state;
  assert_true(env->syncs_files);
  assert_works(tn_env_uuid(env, a, &err), err);
  assert_works(tn_env_uuid(env, b, &err), err);
  assert_int_equal(strlen(a), TN_UUID_CHARS);
  assert_int_equal(a[14], '4');
  assert_non_null(strchr("89ab", a[19]));
  assert_string_not_equal(a, b);
  tarn_env_free(env);
}

typedef struct log_sink {
  int count;
  tarn_log_level level;
  char message[2048];
} log_sink;

static void sink(void *ctx, tarn_log_level level, const char *message) {
  log_sink *s = ctx;
  s->count++;
  s->level = level;
  snprintf(s->message, sizeof(s->message), "%s", message);
}

static void log__reaches_the_sink_up_to_its_level(void **state) {
  log_sink s = {0};
  tarn_env_options options = TARN_ENV_OPTIONS_INIT;
  tarn_env *env = NULL;
  tarn_error err;
  char text[3000];
  (void)state;
  options.log = sink;
  options.log_ctx = &s;
  options.log_level = TARN_LOG_INFO;
  assert_works(tarn_env_create(&options, &env, &err), err);
  tn_log(env, TARN_LOG_DEBUG, "no");
  assert_int_equal(s.count, 0);
  tn_log(env, TARN_LOG_INFO, "a=%d\nb", 1);
  assert_int_equal(s.count, 1);
  assert_int_equal(s.level, TARN_LOG_INFO);
  assert_string_equal(s.message, "a=1 b");
  memset(text, 'x', sizeof(text));
  for (size_t i = 1; i + 2 < sizeof(text); i += 2) {
    memcpy(text + i, "\xC3\xA9", 3);
  }
  tn_log(env, TARN_LOG_ERROR, "%s", text);
  assert_int_equal(tn_utf8_check((const uint8_t *)s.message, strlen(s.message)), strlen(s.message));
  tarn_env_free(env);
}

static int64_t fixed_clock(void *ctx) {
  return *(int64_t *)ctx;
}

static void clock__comes_from_the_caller(void **state) {
  int64_t now = 12345;
  tarn_env_options options = TARN_ENV_OPTIONS_INIT;
  tarn_env *env = NULL;
  tarn_error err;
  (void)state;
  options.clock_ms = fixed_clock;
  options.clock_ctx = &now;
  assert_works(tarn_env_create(&options, &env, &err), err);
  assert_int_equal(tn_env_now_ms(env), 12345);
  tarn_env_free(env);
}

static void keep(void *value) {
  (void)value;
}

static void reserve__drops_caches_first(void **state) {
  static const tn_cache_ops ops = {"test", keep, keep};
  tarn_env *env = tn_test_env(1, 4 << 20);
  tarn_error err;
  (void)state;
  tn_cache_put(env->cache, &ops, tn_slice_text("k"), env, 200000);
  assert_int_equal(tn_reserve(&env->mem, 4 << 20, "x", &err), TARN_E_LIMIT);
  assert_works(tn_env_reserve(env, 4 << 20, "x", &err), err);
  assert_null(tn_cache_get(env->cache, &ops, tn_slice_text("k")));
  assert_int_equal(tn_env_reserve(env, 1, "reading", &err), TARN_E_LIMIT);
  assert_contains(err.message, "reading");
  tn_unreserve(&env->mem, 4 << 20);
  tarn_env_free(env);
}

static void cancel__ends_long_calls(void **state) {
  tarn_env *env = tn_test_env(1, 0);
  tarn_cancel *cancel = NULL;
  tarn_error err;
  (void)state;
  assert_works(tn_cancel_check(NULL, &err), err);
  assert_works(tarn_cancel_create(env, &cancel, &err), err);
  assert_works(tn_cancel_check(cancel, &err), err);
  tarn_cancel_set(cancel);
  assert_int_equal(tn_cancel_check(cancel, &err), TARN_E_CANCELLED);
  tarn_cancel_free(cancel);
  tarn_cancel_free(NULL);
  tarn_env_free(env);
}

static void version__is_text_and_number(void **state) {
  int major, minor, patch;
  (void)state;
  assert_int_equal(sscanf(tarn_version(), "%d.%d.%d", &major, &minor, &patch), 3);
  assert_int_equal(tarn_version_number(), major * 10000 + minor * 100 + patch);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(create__has_defaults),
      cmocka_unit_test(create__refuses_values_out_of_range),
      cmocka_unit_test(create__takes_an_older_options_struct),
      cmocka_unit_test(create__leaves_nothing_behind_when_memory_is_out),
      cmocka_unit_test(uuid__is_version_4_of_the_bytes_of_the_hook),
      cmocka_unit_test(uuid__of_the_system_is_new_each_time),
      cmocka_unit_test(check__refuses_a_child_after_fork),
      cmocka_unit_test(log__reaches_the_sink_up_to_its_level),
      cmocka_unit_test(clock__comes_from_the_caller),
      cmocka_unit_test(reserve__drops_caches_first),
      cmocka_unit_test(cancel__ends_long_calls),
      cmocka_unit_test(version__is_text_and_number),
  };
  return cmocka_run_group_tests_name("env", tests, NULL, NULL);
}
