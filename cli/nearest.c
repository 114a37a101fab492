/* nearest.c - "did you mean ...?": edits are insertions, deletions, replacements and swaps of
 * neighbours. */
#include "nearest.h"

#include <string.h>

#define MAX_NAME 48 /* longer names are not compared */

static int lower(char c) {
  return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

static int min_int(int a, int b) {
  return a < b ? a : b;
}

static int edits(const char *a, const char *b) {
  size_t na = strlen(a), nb = strlen(b);
  int rows[3][MAX_NAME + 1]; /* of the matrix: the last two and this one, in turn */
  if (na > MAX_NAME || nb > MAX_NAME) {
    return MAX_NAME;
  }
  for (size_t j = 0; j <= nb; j++) {
    rows[0][j] = (int)j;
  }
  for (size_t i = 1; i <= na; i++) {
    int *row = rows[i % 3], *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
    row[0] = (int)i;
    for (size_t j = 1; j <= nb; j++) {
      int same = lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1;
      row[j] = min_int(min_int(above[j] + 1, row[j - 1] + 1), above[j - 1] + same);
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
          lower(a[i - 2]) == lower(b[j - 1])) {
        row[j] = min_int(row[j], above2[j - 2] + 1);
      }
    }
  }
  return rows[na % 3][nb];
}

void cli_nearest_init(cli_nearest *nearest, const char *name) {
  int third = (int)(strlen(name) / 3);
  nearest->name = name;
  nearest->best = NULL;
  nearest->distance = (third < 1 ? 1 : third > 4 ? 4 : third) + 1;
}

void cli_nearest_offer(cli_nearest *nearest, const char *candidate) {
  int distance = edits(nearest->name, candidate);
  if (distance < nearest->distance) {
    nearest->distance = distance;
    nearest->best = candidate;
  }
}
