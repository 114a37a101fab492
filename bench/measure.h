/* measure.h - what the bench programs measure with, and the numbers that their rows are made of. */
#ifndef TN_BENCH_MEASURE_H
#define TN_BENCH_MEASURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline double seconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A line of /proc/self/status ("VmHWM", "VmRSS"), in MiB; 0 if there is none. */
static inline double memory_mb(const char *name) {
  FILE *f = fopen("/proc/self/status", "r");
  char line[256];
  double found = 0;
  size_t n = strlen(name);
  while (f != NULL && fgets(line, sizeof line, f) != NULL) {
    if (strncmp(line, name, n) == 0) {
      found = strtod(line + n + 1, NULL) / 1024;
    }
  }
  if (f != NULL) {
    fclose(f);
  }
  return found;
}

/* Is the name in a list like "a,b,c"? In none (NULL) all names are. */
static inline bool is_listed(const char *names, const char *name) {
  size_t n = strlen(name);
  for (const char *at = names; at != NULL && *at != '\0';) {
    const char *end = strchr(at, ',');
    size_t len = end != NULL ? (size_t)(end - at) : strlen(at);
    if (len == n && memcmp(at, name, n) == 0) {
      return true;
    }
    at += len + (end != NULL);
  }
  return names == NULL;
}

/* The splitmix64 of a number: the same rows here and in bench/peers. */
static inline uint64_t mix(uint64_t z) {
  z += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

#endif
