/* follow_lock.c - one program at a time keeps its place in a state file. */
#include "follow_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "args.h"
#include "errors.h"
#include "follow_state.h"

#define TRIES 100 /* the file went while it was being locked: whoever had it has ended */

/* Is this still the file of that name? */
static bool is_named(int fd, const char *path) {
  struct stat a, b;
  return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static tarn_status fail_taken(int fd, const char *state_path, tarn_error *err) {
  struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  char who[48] = "";
  if (fcntl(fd, F_GETLK, &l) == 0 && l.l_type != F_UNLCK && l.l_pid > 0) {
    (void)snprintf(who, sizeof(who), " (process %ld)", (long)l.l_pid);
  }
  return cli_error(err, TARN_E_CONFLICT,
                   "%.600s: another run%s keeps its place in this file; each 'table tail --state' "
                   "and each 'table write --state' needs a file of its own",
                   state_path, who);
}

tarn_status cli_follow_lock_take(const char *state_path, cli_follow_lock *out, tarn_error *err) {
  size_t n = strlen(state_path) + sizeof(".lock");
  memset(out, 0, sizeof(*out));
  if (cli_follow_state_is_special(state_path)) {
    return TARN_OK;
  }
  out->path = malloc(n);
  if (out->path == NULL) {
    return cli_no_memory(err);
  }
  (void)snprintf(out->path, n, "%s.lock", state_path);
  for (int i = 0; i < TRIES; i++) {
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int number;
    out->fd = open(out->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (out->fd < 0) {
      break; /* a state cannot be kept there either, which is told when it is */
    }
    number = fcntl(out->fd, F_SETLK, &l) == 0 ? 0 : errno;
    if (number == EACCES || number == EAGAIN) {
      tarn_status st = fail_taken(out->fd, state_path, err);
      (void)close(out->fd);
      free(out->path);
      memset(out, 0, sizeof(*out));
      return st;
    }
    if (number != 0 || is_named(out->fd, out->path)) {
      return TARN_OK;
    }
    (void)close(out->fd);
  }
  free(out->path);
  memset(out, 0, sizeof(*out));
  return TARN_OK;
}

void cli_follow_lock_release(cli_follow_lock *lock) {
  if (lock->path != NULL) {
    (void)unlink(lock->path); /* before it is unlocked: who waits for the name makes it anew */
    (void)close(lock->fd);
    free(lock->path);
  }
  memset(lock, 0, sizeof(*lock));
}
