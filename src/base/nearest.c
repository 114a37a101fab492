/* nearest.c - edit distance over three rows of the matrix. */
#include "base/nearest.h"

#include <stdio.h>

#include "base/ascii.h"

#define MAX_TEXT 64

static int min3(int a, int b, int c) {
  int m = a < b ? a : b;
  return m < c ? m : c;
}

int tn_edit_distance(tn_slice a, tn_slice b, int limit) {
  int rows[3][MAX_TEXT + 1];
  int n = (int)(a.len < MAX_TEXT ? a.len : MAX_TEXT);
  int m = (int)(b.len < MAX_TEXT ? b.len : MAX_TEXT);
  for (int j = 0; j <= m; j++) {
    rows[0][j] = j;
  }
  for (int i = 1; i <= n; i++) {
    int *before = rows[(i + 1) % 3], *above = rows[(i + 2) % 3], *row = rows[i % 3];
    int least = row[0] = i;
    for (int j = 1; j <= m; j++) {
      int cost = tn_lower(a.data[i - 1]) != tn_lower(b.data[j - 1]);
      row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + cost);
      if (i > 1 && j > 1 && tn_lower(a.data[i - 1]) == tn_lower(b.data[j - 2]) &&
          tn_lower(a.data[i - 2]) == tn_lower(b.data[j - 1]) && before[j - 2] + 1 < row[j]) {
        row[j] = before[j - 2] + 1;
      }
      least = row[j] < least ? row[j] : least;
    }
    if (least > limit) {
      return limit + 1;
    }
  }
  return rows[n % 3][m] <= limit ? rows[n % 3][m] : limit + 1;
}

void tn_nearest_init(tn_nearest *nearest, tn_slice name) {
  int allowed = (int)(name.len / 3);
  nearest->name = name;
  nearest->best = NULL;
  nearest->distance = (allowed < 1 ? 1 : allowed > 4 ? 4 : allowed) + 1;
}

void tn_nearest_offer(tn_nearest *nearest, const char *candidate) {
  int d = tn_edit_distance(nearest->name, tn_slice_text(candidate), nearest->distance - 1);
  if (d < nearest->distance) {
    nearest->distance = d;
    nearest->best = candidate;
  }
}

tn_nearest_text tn_nearest_hint(const tn_nearest *nearest) {
  tn_nearest_text hint = {""};
  if (nearest->best != NULL) {
    (void)snprintf(hint.text, sizeof(hint.text), " (did you mean '%.96s'?)", nearest->best);
  }
  return hint;
}
