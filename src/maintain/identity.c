/* identity.c - tables by path and age. */
#define _XOPEN_SOURCE 700 /* realpath() */
#include "maintain/identity.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT ((size_t)1 << 20)

/* Append a path as no other is written; *is_there: it can be known. */
static tarn_status put_path(const tn_table *table, const char *path, tn_buf *out, bool *is_there,
                            tarn_error *err) {
  char *real = NULL;
  tarn_status st;
  *is_there = true;
  if (strcmp(table->storage->ops->name, "local") == 0) {
    real = realpath(path, NULL);
    *is_there = real != NULL;
  }
  st = tn_buf_append(out, real != NULL ? real : path, strlen(real != NULL ? real : path), err);
  free(real);
  return st;
}

tarn_status tn_table_identity(tn_table *table, tn_buf *out, tarn_error *err) {
  tn_schema *first = NULL;
  int64_t made_ms = 0;
  bool is_there;
  tarn_status st = tn_table_schema(table, 0, &first, err);
  if (st == TARN_OK) {
    made_ms = first->time_ms;
    tn_schema_release(first);
  } else if (st == TARN_E_NOT_FOUND) {
    tn_error_reset(err);
  } else {
    return st;
  }
  TN_TRY(put_path(table, table->branch_path, out, &is_there, err));
  TN_TRY(tn_buf_printf(out, err, "@%" PRId64, made_ms));
  return tn_buf_append(out, "", 1, err);
}

/* ------------------------------------------------------------------ those of before */

/* The name behind the last slash, trailing ones left out. */
static tn_slice last_part(const char *path, size_t n) {
  size_t begin;
  while (n > 1 && path[n - 1] == '/') {
    n--;
  }
  begin = n;
  while (begin > 0 && path[begin - 1] != '/') {
    begin--;
  }
  return tn_slice_of(path + begin, n - begin);
}

/* "db.t/main" or "t/main": the path of a table tells its database only sometimes. */
static bool is_name_of(const tn_table *table, const char *found, size_t n) {
  tn_slice branch = last_part(found, n), own = last_part(table->path, strlen(table->path)), name;
  size_t begin = n - branch.len;
  if (begin == 0 || !tn_slice_equal(branch, tn_slice_text(table->branch))) {
    return false;
  }
  name = tn_slice_of(found, begin - 1);
  for (size_t i = 0; i < name.len; i++) {
    if (name.data[i] == '.') {
      name = tn_slice_of(name.data + i + 1, name.len - i - 1);
      break;
    }
  }
  return tn_slice_equal(name, own);
}

/* A path as it was given. A relative one may be from somewhere else: then its end has to do. */
static tarn_status is_path_of(const tn_table *table, const char *own, size_t n_own,
                              const char *found, size_t n, bool *out, tarn_error *err) {
  bool is_there;
  tn_buf path;
  tarn_status st;
  tn_buf_init(&path, &table->env->mem, LIMIT);
  st = tn_buf_append(&path, found, n, err);
  st = st == TARN_OK ? tn_buf_append(&path, "", 1, err) : st;
  if (st == TARN_OK) {
    size_t begin = path.len;
    st = put_path(table, (const char *)path.data, &path, &is_there, err);
    *out = st == TARN_OK && path.len - begin == n_own && memcmp(path.data + begin, own, n_own) == 0;
  }
  if (st == TARN_OK && !*out && !is_there && n > 0 && found[0] != '/') {
    *out = tn_slice_equal(last_part(found, n), last_part(own, n_own));
  }
  tn_buf_reset(&path);
  return st;
}

tarn_status tn_table_identity_is(const tn_table *table, const char *own, const char *found,
                                 bool *out, tarn_error *err) {
  const char *own_age = strrchr(own, '@'), *age = strrchr(found, '@');
  *out = strcmp(own, found) == 0;
  if (*out || age == NULL || own_age == NULL || strcmp(age, own_age) != 0) {
    return TARN_OK;
  }
  *out = is_name_of(table, found, (size_t)(age - found));
  return *out ? TARN_OK
              : is_path_of(table, own, (size_t)(own_age - own), found, (size_t)(age - found), out,
                           err);
}

tarn_status tn_table_identity_check(const tn_table *table, const char *own, const char *found,
                                    tarn_error *err) {
  bool is_own;
  TN_TRY(tn_table_identity_is(table, own, found, &is_own, err));
  return is_own ? TARN_OK
                : tn_fail(err, TARN_E_INVALID,
                          "%s: the state is of another table: of %.300s, expected %.300s. If the "
                          "table was made anew, start without state",
                          table->full_name, found, own);
}
