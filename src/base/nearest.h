/* nearest.h - "did you mean ...?": the known name that is closest to a mistyped one. */
#ifndef TN_BASE_NEAREST_H
#define TN_BASE_NEAREST_H

#include "base/slice.h"

/* Insertions, deletions, replacements and swaps of neighbours that turn a into b, letters compared
 * without case; more than `limit` is told as limit + 1. Texts are cut to 64 bytes. */
int tn_edit_distance(tn_slice a, tn_slice b, int limit);

/* Feed candidates one by one; `best` stays the closest one within a third of the name's length
 * (at least 1, at most 4 edits). */
typedef struct tn_nearest {
  tn_slice name;
  const char *best; /* NULL: none is near */
  int distance;
} tn_nearest;

void tn_nearest_init(tn_nearest *nearest, tn_slice name);
void tn_nearest_offer(tn_nearest *nearest, const char *candidate);

/* " (did you mean 'x'?)" for the end of a message; "" when none is near. */
typedef struct tn_nearest_text {
  char text[128];
} tn_nearest_text;
tn_nearest_text tn_nearest_hint(const tn_nearest *nearest);

#endif
