/* watch.c - inotify. */
#include "io/watch.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#define SLICE_MS 100 /* a cancel that no signal comes with is seen after that */
#define EVENT_BYTES 4096

struct tn_watch {
  tarn_env *env;
  int fd;
  size_t n_prefix;
  char prefix[];
};

tarn_status tn_watch_create(tn_storage *storage, const char *folder, const char *prefix,
                            tn_watch **out, tarn_error *err) {
  const uint32_t events = IN_CREATE | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
  tarn_env *env = storage->env;
  size_t n = strlen(prefix);
  tn_watch *w;
  int number;
  *out = NULL;
  if (strcmp(storage->ops->name, "local") != 0) {
    return tn_fail(err, TARN_E_UNSUPPORTED, "no news of folders from storage '%s'",
                   storage->ops->name);
  }
  w = tn_alloc(&env->mem, sizeof(*w) + n + 1);
  if (w == NULL) {
    return tn_oom(err);
  }
  w->env = env;
  w->n_prefix = n;
  memcpy(w->prefix, prefix, n + 1);
  w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (w->fd >= 0 && inotify_add_watch(w->fd, folder, events) >= 0) {
    *out = w;
    return TARN_OK;
  }
  number = errno;
  tn_watch_free(w);
  return number == ENOENT || number == ENOTDIR
             ? tn_fail(err, TARN_E_NOT_FOUND, "watch %s: there is no such folder", folder)
             : tn_fail(err, TARN_E_UNSUPPORTED, "watch %s: %s", folder, strerror(number));
}

void tn_watch_free(tn_watch *w) {
  if (w != NULL) {
    tarn_env *env = w->env;
    if (w->fd >= 0) {
      close(w->fd);
    }
    tn_free(&env->mem, w);
  }
}

/* Take what was told so far. */
static void take_events(tn_watch *w, bool *has_news, bool *is_gone) {
  union {
    char bytes[EVENT_BYTES];
    struct inotify_event align;
  } buf;
  ssize_t n;
  while ((n = read(w->fd, buf.bytes, sizeof(buf.bytes))) > 0) {
    size_t at = 0;
    while (at + sizeof(struct inotify_event) <= (size_t)n) {
      struct inotify_event event;
      const char *name = buf.bytes + at + sizeof(event);
      memcpy(&event, buf.bytes + at, sizeof(event));
      if ((event.mask & IN_Q_OVERFLOW) != 0) {
        *has_news = true;
      } else if ((event.mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED)) != 0) {
        *is_gone = true;
      } else if (event.len > w->n_prefix && memcmp(name, w->prefix, w->n_prefix) == 0) {
        *has_news = true;
      }
      at += sizeof(event) + event.len;
    }
  }
}

static int64_t now_ms(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Wait for fd (-1: for nothing); both flags stay false when the time has passed. */
static tarn_status wait_for(tn_watch *w, int64_t timeout_ms, const tarn_cancel *cancel,
                            bool *has_news, bool *is_gone, tarn_error *err) {
  const int64_t begin = now_ms();
  struct pollfd poll_fd = {.fd = w != NULL ? w->fd : -1, .events = POLLIN};
  for (;;) {
    int64_t left = timeout_ms - (now_ms() - begin);
    int slice = left < SLICE_MS || cancel == NULL ? (int)(left < 60000 ? left : 60000) : SLICE_MS;
    TN_TRY(tn_cancel_check(cancel, err));
    if (poll(&poll_fd, 1, slice > 0 ? slice : 0) > 0 && w != NULL) {
      take_events(w, has_news, is_gone);
      if (*has_news || *is_gone) {
        return TARN_OK;
      }
    }
    if (left <= 0) {
      return tn_cancel_check(cancel, err);
    }
  }
}

tarn_status tn_watch_wait(tn_watch *w, int64_t timeout_ms, const tarn_cancel *cancel,
                          bool *has_news, bool *is_gone, tarn_error *err) {
  *has_news = *is_gone = false;
  return wait_for(w, timeout_ms, cancel, has_news, is_gone, err);
}

tarn_status tn_watch_sleep(int64_t timeout_ms, const tarn_cancel *cancel, tarn_error *err) {
  bool has_news, is_gone;
  return wait_for(NULL, timeout_ms, cancel, &has_news, &is_gone, err);
}
