/* listing.c - numbered and named files of a folder. */
#include "model/listing.h"

#include <stdarg.h>
#include <stdlib.h>

char *tn_path_join(tn_arena *arena, const char *first, ...) {
  va_list parts;
  size_t n = strlen(first);
  char *path, *at;
  va_start(parts, first);
  for (const char *part = va_arg(parts, const char *); part != NULL;
       part = va_arg(parts, const char *)) {
    n += 1 + strlen(part);
  }
  va_end(parts);
  path = tn_arena_alloc(arena, n + 1);
  if (path == NULL) {
    return NULL;
  }
  n = strlen(first);
  memcpy(path, first, n);
  at = path + n;
  va_start(parts, first);
  for (const char *part = va_arg(parts, const char *); part != NULL;
       part = va_arg(parts, const char *)) {
    *at++ = '/';
    n = strlen(part);
    memcpy(at, part, n);
    at += n;
  }
  va_end(parts);
  *at = '\0';
  return path;
}

bool tn_listing_number(tn_slice text, int64_t *out) {
  int64_t v = 0;
  if (text.len == 0 || text.len > 19 || (text.len > 1 && text.data[0] == '0')) {
    return false;
  }
  for (size_t i = 0; i < text.len; i++) {
    uint8_t digit = (uint8_t)(text.data[i] - '0');
    if (digit > 9 || __builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, digit, &v)) {
      return false;
    }
  }
  *out = v;
  return true;
}

typedef struct collector {
  tn_arena *arena;
  const char *prefix;
  bool wants_directories;
  int64_t *numbers;
  const char **names;
  size_t count, capacity;
} collector;

static bool strip_prefix(const collector *c, const char *name, tn_slice *rest) {
  size_t n = strlen(c->prefix);
  if (strncmp(name, c->prefix, n) != 0) {
    return false;
  }
  *rest = tn_slice_text(name + n);
  return true;
}

static tarn_status check_count(const collector *c, tarn_error *err) {
  return c->count < INT32_MAX ? TARN_OK
                              : tn_fail(err, TARN_E_LIMIT, "a folder with more than 2^31 files");
}

static tarn_status take_number(void *ctx, const char *name, bool is_directory, tarn_error *err) {
  collector *c = ctx;
  tn_slice rest;
  int64_t number;
  if (is_directory || !strip_prefix(c, name, &rest) || !tn_listing_number(rest, &number)) {
    return TARN_OK;
  }
  TN_TRY(check_count(c, err));
  if (!tn_arena_grow(c->arena, (void **)&c->numbers, &c->capacity, c->count, sizeof(int64_t))) {
    return tn_oom(err);
  }
  c->numbers[c->count++] = number;
  return TARN_OK;
}

static tarn_status take_name(void *ctx, const char *name, bool is_directory, tarn_error *err) {
  collector *c = ctx;
  tn_slice rest;
  if (is_directory != c->wants_directories || !strip_prefix(c, name, &rest) || rest.len == 0) {
    return TARN_OK;
  }
  TN_TRY(check_count(c, err));
  if (!tn_arena_grow(c->arena, (void **)&c->names, &c->capacity, c->count, sizeof(*c->names))) {
    return tn_oom(err);
  }
  c->names[c->count] = tn_arena_strndup(c->arena, (const char *)rest.data, rest.len);
  return c->names[c->count++] != NULL ? TARN_OK : tn_oom(err);
}

static int compare_numbers(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static tarn_status list(tn_storage *storage, const char *directory,
                        tarn_status (*visit)(void *, const char *, bool, tarn_error *),
                        collector *c, tarn_error *err) {
  tarn_status st = tn_storage_list(storage, directory, visit, c, err);
  if (st == TARN_E_NOT_FOUND) {
    tn_error_reset(err);
    return TARN_OK;
  }
  return st;
}

tarn_status tn_listing_numbers(tn_storage *storage, const char *directory, const char *prefix,
                               tn_arena *arena, int64_t **out, int32_t *n_out, tarn_error *err) {
  collector c = {.arena = arena, .prefix = prefix};
  *out = NULL;
  *n_out = 0;
  TN_TRY(list(storage, directory, take_number, &c, err));
  if (c.count > 1) {
    qsort(c.numbers, c.count, sizeof(int64_t), compare_numbers);
  }
  *out = c.numbers;
  *n_out = (int32_t)c.count;
  return TARN_OK;
}

tarn_status tn_listing_names(tn_storage *storage, const char *directory, const char *prefix,
                             bool wants_directories, tn_arena *arena, const char ***out,
                             int32_t *n_out, tarn_error *err) {
  collector c = {.arena = arena, .prefix = prefix, .wants_directories = wants_directories};
  *out = NULL;
  *n_out = 0;
  TN_TRY(list(storage, directory, take_name, &c, err));
  if (c.count > 1) {
    qsort(c.names, c.count, sizeof(*c.names), compare_names);
  }
  *out = c.names;
  *n_out = (int32_t)c.count;
  return TARN_OK;
}
