/* uri.c - full paths as Paimon writes them. */
#include "base/ascii.h"
#include "io/storage.h"

/* The length of the scheme in front of a colon, or 0. A colon behind a slash is part of a name. */
static size_t scheme_length(const char *path) {
  size_t n = 0;
  while (tn_is_letter((uint8_t)path[n]) ||
         (n > 0 &&
          (tn_is_digit((uint8_t)path[n]) || path[n] == '+' || path[n] == '-' || path[n] == '.'))) {
    n++;
  }
  return path[n] == ':' ? n : 0;
}

/* In place: doubled slashes become one, trailing ones go. */
static void tidy_slashes(char *path) {
  size_t to = 0;
  for (size_t from = 0; path[from] != '\0'; from++) {
    if (path[from] != '/' || to == 0 || path[to - 1] != '/') {
      path[to++] = path[from];
    }
  }
  if (to > 1 && path[to - 1] == '/') {
    to--;
  }
  path[to] = '\0';
}

tarn_status tn_path_plain(tn_arena *arena, const char *path, const char **out, tarn_error *err) {
  size_t n_scheme = scheme_length(path);
  const char *rest = path;
  char *plain;
  *out = NULL;
  if (n_scheme > 0) {
    if (n_scheme != 4 || memcmp(path, "file", 4) != 0) {
      return tn_fail(
          err, TARN_E_UNSUPPORTED,
          "storage scheme \"%.*s\" of %s is not supported: expected a path of a local or "
          "mounted folder, or file:///PATH",
          (int)n_scheme, path, path);
    }
    rest = path + n_scheme + 1;
    if (rest[0] == '/' && rest[1] == '/') {
      const char *host = rest + 2;
      size_t n_host = strcspn(host, "/");
      if (n_host > 0 && !(n_host == 9 && memcmp(host, "localhost", 9) == 0)) {
        return tn_fail(err, TARN_E_INVALID, "%s: a file URI must not name a host", path);
      }
      rest = host + n_host;
    }
    if (rest[0] != '/') {
      return tn_fail(err, TARN_E_INVALID, "%s: a file URI needs an absolute path", path);
    }
  }
  if (rest[0] == '\0') {
    return tn_fail(err, TARN_E_INVALID, "an empty path");
  }
  plain = tn_arena_strdup(arena, rest);
  if (plain == NULL) {
    return tn_oom(err);
  }
  tidy_slashes(plain);
  *out = plain;
  return TARN_OK;
}

tarn_status tn_storage_for_uri(tarn_env *env, tn_arena *arena, const char *uri, tn_storage **out,
                               const char **path, tarn_error *err) {
  *out = NULL;
  TN_TRY(tn_path_plain(arena, uri, path, err));
  return tn_storage_local(env, out, err);
}
