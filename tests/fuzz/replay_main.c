/* replay_main.c - run a fuzz target over the files of a folder (not below), without libFuzzer. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

extern int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whether the file was read and given to the target; what is no regular file is passed over. */
static int replay_file(const char *path, long *n_files) {
  struct stat facts;
  if (stat(path, &facts) != 0) {
    perror(path);
    return 0;
  }
  if (!S_ISREG(facts.st_mode)) {
    return 1;
  }
  FILE *f = fopen(path, "rb");
  // Not a byte more than the file has: a sanitizer must see a read past its end.
  uint8_t *data = malloc(facts.st_size > 0 ? (size_t)facts.st_size : 1);
  int ok = f != NULL && data != NULL &&
           fread(data, 1, (size_t)facts.st_size, f) == (size_t)facts.st_size;
  if (ok) {
    LLVMFuzzerTestOneInput(data, (size_t)facts.st_size);
    ++*n_files;
  } else {
    perror(path);
  }
  free(data);
  if (f != NULL) {
    fclose(f);
  }
  return ok;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  DIR *folder = opendir(argv[1]);
  if (folder == NULL) {
    perror(argv[1]);
    return 1;
  }
  long n_files = 0;
  int ok = 1;
  for (struct dirent *entry; ok && (entry = readdir(folder)) != NULL;) {
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
    ok = n > 0 && (size_t)n < sizeof path && replay_file(path, &n_files);
  }
  closedir(folder);
  printf("%ld inputs\n", n_files);
  return ok ? 0 : 1;
}
