/* files.c - files of tests. */
#define _XOPEN_SOURCE 700 /* nftw */
#include "support/files.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

char *tn_test_temp_dir(void) {
  const char *base = getenv("TMPDIR");
  char *directory = tn_test_path(base != NULL ? base : "/tmp", "tarn-test-XXXXXX");
  assert_non_null(mkdtemp(directory));
  return directory;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *walk) {
  (void)info;
  (void)kind;
  (void)walk;
  return remove(path);
}

void tn_test_temp_dir_remove(char *directory) {
  if (directory != NULL) {
    assert_int_equal(nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
    free(directory);
  }
}

char *tn_test_path(const char *directory, const char *name) {
  size_t n = strlen(directory) + strlen(name) + 2;
  char *path = malloc(n);
  assert_non_null(path);
  snprintf(path, n, "%s/%s", directory, name);
  return path;
}

void tn_test_write_file(const char *path, const void *bytes, size_t n_bytes) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(bytes, 1, n_bytes, f), n_bytes);
  assert_int_equal(fclose(f), 0);
}

uint8_t *tn_test_read_file(const char *path, size_t *n_bytes) {
  FILE *f = fopen(path, "rb");
  long size;
  uint8_t *bytes;
  assert_non_null(f);
  assert_int_equal(fseek(f, 0, SEEK_END), 0);
  size = ftell(f);
  assert_true(size >= 0);
  rewind(f);
  bytes = malloc((size_t)size + 1);
  assert_non_null(bytes);
  assert_int_equal(fread(bytes, 1, (size_t)size, f), size);
  fclose(f);
  *n_bytes = (size_t)size;
  return bytes;
}

static int digit_of(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

uint8_t *tn_test_hex(const char *hex, size_t *n_bytes) {
  uint8_t *bytes = malloc(strlen(hex) / 2 + 1);
  size_t n = 0;
  assert_non_null(bytes);
  while (*hex != '\0') {
    if (*hex == ' ' || *hex == '\n') {
      hex++;
      continue;
    }
    assert_true(digit_of(hex[0]) >= 0 && digit_of(hex[1]) >= 0);
    bytes[n++] = (uint8_t)(digit_of(hex[0]) << 4 | digit_of(hex[1]));
    hex += 2;
  }
  *n_bytes = n;
  return bytes;
}
